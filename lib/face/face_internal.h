/* SPDX-License-Identifier: MIT */
/*
 * What the files of the library's face share: handles that are open, and the decoder, which makes a
 * struct etw_event of a record.
 */
#ifndef LIB_FACE_FACE_INTERNAL_H
#define LIB_FACE_FACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lib/decode/event_table.h"
#include "lib/decode/tdh.h"
#include <etw/etw.h>

/* ---- handles (handles.c) ---- */

/*
 * The handles that are open, of all types. So a call with one that is closed, or with any other
 * pointer, is found before the pointer is used. Any thread; no lock.
 */
bool face_handle_add(const void *handle, struct etw_error *err);
bool face_handle_is_open(const void *handle);
/* Returns whether it was open; of several threads that close a handle, one gets true. */
bool face_handle_remove(const void *handle);

/* ---- events (event.c) ---- */

struct etw_decoder {
	struct etw_event event; /* the present one */
	struct etw_usual_classes *usual;
	bool learns;    /* there is no first pass: records announce their layouts on the way */
	bool has_texts; /* texts of the present event have been made */
	uint64_t memory_losses; /* of the program, before the run */
	struct etw_event_table *table;
	struct etw_schema_origins origins;
	struct etw_schema_origins named; /* for names in JSON */
	struct etw_trace_schemas *trace;
	struct etw_inband_manifests *inband;
	struct etw_configured_manifests manifests;
	struct etw_tdh *tdh; /* NULL: of a recording */
	/* Those that calls for the present event have returned; their memory is used again. */
	struct etw_text *texts;
	size_t text_count, text_made, text_capacity;
	struct etw_text json;
	bool has_json;
};

struct face_decoder_options {
	const char *const *manifests;
	size_t manifest_count;
	bool live;
	bool learns;
};

/* A failed one is to be closed, too. */
bool face_decoder_open(struct etw_decoder *decoder, const struct face_decoder_options *options,
		       struct etw_error *err);
void face_decoder_close(struct etw_decoder *decoder);

/* The records that a first pass needs to look at (face_decoder_look()). */
void face_decoder_choose(struct etw_kernel_choice *choice, struct etw_id_choice *ids);
void face_decoder_look(struct etw_decoder *decoder, const struct etw_record *record);

/* Finds the class of a record that is not a usual one. NULL without memory. */
struct etw_event_class *face_decoder_find(struct etw_decoder *decoder,
					  const struct etw_record *record);
void face_decoder_forget_texts(struct etw_decoder *decoder);

/* From now on the event is that of the record. NULL without memory. */
static inline struct etw_event *face_decoder_show(struct etw_decoder *decoder,
						  const struct etw_record *record)
{
	struct etw_event_class *class = etw_event_table_usual(decoder->usual, record);
	struct etw_event *event = &decoder->event;

	if (!class) {
		class = face_decoder_find(decoder, record);
		if (!class) {
			return NULL;
		}
	}
	if (decoder->has_texts) {
		face_decoder_forget_texts(decoder);
	}
	event->record = record;
	event->schema = class->schema;
	event->provider_name = class->provider_name;
	event->event_name = class->event_name;
	event->class_id = class->serial;
	return event;
}

/* Before a run, and at its end: false if memory was lacking meanwhile, so that events may have been
 * without layouts or texts. */
void face_decoder_begin(struct etw_decoder *decoder);
bool face_decoder_end(struct etw_decoder *decoder, struct etw_error *err);

/* From now on the event is none. */
void face_decoder_hide(struct etw_decoder *decoder);

/* ---- new events (writer.c) ---- */

struct etw_new_event;
struct etw_out_record;

/* Makes a record, whose payload and provider are those of the event. False if the event makes no
 * sense. */
bool face_new_record(const struct etw_new_event *event, struct etw_out_record *record,
		     struct etw_error *err);

#endif
