/* SPDX-License-Identifier: MIT */
/*
 * Functions that the files of the face share: open handles, and the decoder, which makes a struct
 * etw_event from a record.
 */
#ifndef LIB_FACE_FACE_INTERNAL_H
#define LIB_FACE_FACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/etw.h>
#include <etw/event_table.h>

#include "base/text.h"
#include "lib/decode/event_schema.h"

/* ---- handles (event.c) ---- */

/*
 * The set of all open handles, of every type. A public function checks its handle here before it
 * uses the pointer, so a closed handle or any other pointer is an error and not a crash. Any thread
 * may call these functions; there is no lock.
 */
bool face_handle_add(const void *handle, struct etw_error *err);
bool face_handle_is_open(const void *handle);
/* Returns whether the handle was open. If several threads close a handle at once, only one gets
 * true. */
bool face_handle_remove(const void *handle);

/* ---- arguments (event.c) ---- */

/* Checks a path. whose: what the path leads to, for the error. */
bool face_check_path(const char *path, const char *whose, struct etw_error *err);
/* Checks a pointer size, which may be 0 for the default. */
bool face_check_pointer_size(uint8_t pointer_size, struct etw_error *err);

/* The name, in errors, of a recording without a path. */
#define FACE_IN_MEMORY "recording in memory"

/* ---- events (event.c) ---- */

struct etw_decoder {
	struct etw_event event; /* the current event */
	struct etw_usual_classes *usual;
	/* There is no first pass: layouts become known while records are delivered. */
	bool learns;
	bool has_texts;         /* texts were made for the current event */
	uint64_t memory_losses; /* memory_losses of the program before the run */
	struct etw_event_table *table;
	struct etw_schema_origins origins;
	struct etw_schema_origins named; /* origins of provider names in JSON */
	struct etw_trace_schemas *trace;
	struct etw_inband_manifests *inband;
	struct etw_configured_manifests manifests;
	struct etw_tdh *tdh; /* NULL for a recording */
	/* Texts that calls for the current event have returned. Later events reuse their memory. */
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

/* Call face_decoder_close() also after a failure. */
bool face_decoder_open(struct etw_decoder *decoder, const struct face_decoder_options *options,
		       struct etw_error *err);
void face_decoder_close(struct etw_decoder *decoder);

/* Chooses the records that a first pass must pass to face_decoder_look(). */
void face_decoder_choose(struct etw_kernel_choice *choice, struct etw_id_choice *ids);
void face_decoder_look(struct etw_decoder *decoder, const struct etw_record *record);

/* Finds or resolves the event class of a record that etw_event_table_usual() does not find. Returns
 * NULL if there is no memory. */
struct etw_event_class *face_decoder_find(struct etw_decoder *decoder,
					  const struct etw_record *record);
void face_decoder_forget_texts(struct etw_decoder *decoder);

/* Sets the current event to that of the record and returns it. Returns NULL if there is no
 * memory. */
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

/* Call these before and after a run. face_decoder_end() returns false if memory was missing during
 * the run, so that events may have lacked layouts or texts. */
void face_decoder_begin(struct etw_decoder *decoder);
bool face_decoder_end(struct etw_decoder *decoder, struct etw_error *err);

/* Sets the current event to that of an empty record. */
void face_decoder_hide(struct etw_decoder *decoder);

#endif
