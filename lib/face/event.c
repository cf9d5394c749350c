/* SPDX-License-Identifier: MIT */
/*
 * Events of the face: finds the names and the layout of a record, and reads fields by name.
 *
 * Layouts and names come from the event table, as everywhere in this repository: one look-up leads
 * to the event class, which was resolved when its first event came. The face adds a number to each
 * class, so that a reader can remember where a field is without a pointer to anything that may be
 * freed. The number is never reused, not even by another trace, and a class that is resolved again
 * gets a new number.
 *
 * There is one struct etw_event for each trace. Outside of the callback it describes an empty
 * record, and its class number is 0: all fields are missing, and nothing points to freed memory.
 *
 * JSON contains only provider names from the recording itself, like `etwtool dump`. All other names
 * also come from the list of well-known providers.
 */
#include <etw/event_json.h>
#include <etw/schema.h>
#include <etw/version.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "lib/face/face_internal.h"

/* ---- handles ---- */

/*
 * A list of the open handles. Its entries are never freed, only reused, so a thread can walk the
 * list while another one opens or closes a handle. Its length is the highest number of handles that
 * were open at one time.
 */

struct handle_slot {
	_Atomic(uintptr_t) handle; /* 0: the entry is free */
	struct handle_slot *next;  /* never changes */
};

/* An entry is complete before it is published here with release; readers load with acquire. */
static _Atomic(struct handle_slot *) places;

bool face_handle_add(const void *handle, struct etw_error *err)
{
	struct handle_slot *place;

	for (place = atomic_load_explicit(&places, memory_order_acquire); place;
	     place = place->next) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&place->handle, &none, (uintptr_t)handle)) {
			return true;
		}
	}
	place = malloc(sizeof *place);
	if (!place) {
		return error_no_memory(err, "a handle");
	}
	atomic_init(&place->handle, (uintptr_t)handle);
	place->next = atomic_load_explicit(&places, memory_order_acquire);
	while (!atomic_compare_exchange_weak(&places, &place->next, place)) {
	}
	return true;
}

static struct handle_slot *find_place(const void *handle)
{
	struct handle_slot *place = atomic_load_explicit(&places, memory_order_acquire);

	while (place &&
	       atomic_load_explicit(&place->handle, memory_order_acquire) != (uintptr_t)handle) {
		place = place->next;
	}
	return place;
}

bool face_handle_is_open(const void *handle)
{
	return handle && find_place(handle);
}

bool face_handle_remove(const void *handle)
{
	struct handle_slot *place = handle ? find_place(handle) : NULL;
	uintptr_t expected = (uintptr_t)handle;

	return place && atomic_compare_exchange_strong(&place->handle, &expected, 0);
}

/* ---- arguments ---- */

bool face_check_path(const char *path, const char *whose, struct etw_error *err)
{
	return (path && path[0]) || error_set(err, ETW_ERROR_MISUSE, "the path of the %s is %s",
					      whose, path ? "empty" : "NULL");
}

bool face_check_pointer_size(uint8_t pointer_size, struct etw_error *err)
{
	return pointer_size == 0 || pointer_size == 4 || pointer_size == 8 ||
	       error_set(err, ETW_ERROR_MISUSE, "the pointer size is %u; it can be 4, 8 or 0",
			 (unsigned)pointer_size);
}

/* ---- events ---- */

enum { CLASSES_MOST = 32768 };

static const struct etw_guid no_provider;
static const uint8_t no_payload;
static const struct etw_record no_record = {
	.provider = &no_provider,
	.payload = &no_payload,
	.pointer_size = 8,
	.type = ETW_RECORD_UNKNOWN,
	.kernel_group = ETW_RECORD_NO_GROUP,
	.thread_id = ETW_RECORD_NO_ID,
	.process_id = ETW_RECORD_NO_ID,
	.raw_time = ETW_RECORD_NO_TIME,
	.time = ETW_RECORD_NO_TIME,
};

/* Counter of class numbers, shared by all traces. */
static _Atomic(uint64_t) last_class;

/* ---- from records to events ---- */

void face_decoder_choose(struct etw_kernel_choice *choice, struct etw_id_choice *ids)
{
	*choice = (struct etw_kernel_choice){ .hooks = { 0 } };
	*ids = (struct etw_id_choice){ .ids = { 0 } };
	etw_kernel_choose(choice, ETW_KERNEL_GROUP_PROCESS, ETW_KERNEL_OPCODE_START);
	etw_kernel_choose(choice, ETW_KERNEL_GROUP_PROCESS, ETW_KERNEL_OPCODE_STOP);
	etw_trace_schemas_choose_ids(ids);
}

void face_decoder_look(struct etw_decoder *decoder, const struct etw_record *record)
{
	etw_trace_schemas_look(decoder->trace, record);
}

RARE struct etw_event_class *face_decoder_find(struct etw_decoder *decoder,
					       const struct etw_record *record)
{
	struct etw_event_class *class;
	bool added;

	if (decoder->learns && etw_event_schema_may_learn(record)) {
		etw_event_schema_learn(&decoder->origins, record);
	}
	class = etw_event_table_find(decoder->table, record, &added);
	if (!class) {
		memory_note_loss();
	} else if (added) {
		class->serial = atomic_fetch_add_explicit(&last_class, 1, memory_order_relaxed) + 1;
	}
	return class;
}

static uint64_t memory_losses(void)
{
	struct memory_statistics statistics;

	memory_statistics(&statistics);
	return statistics.losses;
}

void face_decoder_begin(struct etw_decoder *decoder)
{
	decoder->memory_losses = memory_losses();
}

bool face_decoder_end(struct etw_decoder *decoder, struct etw_error *err)
{
	face_decoder_hide(decoder);
	return memory_losses() == decoder->memory_losses ||
	       error_no_memory(err, "all events and their layouts");
}

void face_decoder_hide(struct etw_decoder *decoder)
{
	decoder->event = (struct etw_event){
		.record = &no_record, .provider_name = "", .event_name = "", .decoder = decoder
	};
	face_decoder_forget_texts(decoder);
}

void face_decoder_forget_texts(struct etw_decoder *decoder)
{
	decoder->text_count = 0;
	decoder->has_json = false;
	decoder->has_texts = false;
}

static void release_class(void *context, struct etw_event_class *class)
{
	(void)context;
	(void)class; /* the face has no part of it to free */
}

static void on_forget(void *context, uint32_t manifest_id)
{
	struct etw_decoder *decoder = context;

	etw_event_table_drop(decoder->table, manifest_id, release_class, NULL);
}

static bool add_manifests(struct etw_decoder *decoder, const struct face_decoder_options *options,
			  struct etw_error *err)
{
	if (options->manifest_count > 0 && !options->manifests) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "manifests is NULL, and their count is not 0");
	}
	for (size_t i = 0; i < options->manifest_count; i++) {
		if (!options->manifests[i]) {
			return error_set(err, ETW_ERROR_MISUSE, "manifest number %zu is NULL", i);
		}
		if (!etw_configured_manifests_add(&decoder->manifests, options->manifests[i], false,
						  err)) {
			return false;
		}
	}
	return true;
}

bool face_decoder_open(struct etw_decoder *decoder, const struct face_decoder_options *options,
		       struct etw_error *err)
{
	decoder->learns = options->learns;
	face_decoder_hide(decoder);
	if (!add_manifests(decoder, options, err)) {
		return false;
	}
	decoder->trace = etw_trace_schemas_new(err);
	if (!decoder->trace) {
		return false;
	}
	if (options->learns) {
		decoder->inband = etw_inband_manifests_new(on_forget, decoder, err);
	}
	if (options->live) {
		decoder->tdh = etw_tdh_new(err);
	}
	if ((options->learns && !decoder->inband) || (options->live && !decoder->tdh)) {
		return false;
	}
	decoder->origins = (struct etw_schema_origins){
		.live = options->live,
		.trace = decoder->trace,
		.inband = decoder->inband,
		.configured = decoder->manifests.configured,
		.builtin_names = true,
	};
	if (decoder->tdh) {
		decoder->origins.system = etw_tdh_system(decoder->tdh);
	}
	decoder->named = decoder->origins;
	decoder->named.builtin_names = options->live;
	decoder->table = etw_event_table_new(CLASSES_MOST, &decoder->origins, err);
	if (!decoder->table) {
		return false;
	}
	decoder->usual = etw_event_table_usual_classes(decoder->table);
	return true;
}

void face_decoder_close(struct etw_decoder *decoder)
{
	etw_event_table_free(decoder->table);
	etw_inband_manifests_free(decoder->inband);
	etw_trace_schemas_free(decoder->trace);
	etw_tdh_free(decoder->tdh);
	etw_configured_manifests_done(&decoder->manifests);
	for (size_t i = 0; i < decoder->text_made; i++) {
		text_free(&decoder->texts[i]);
	}
	free(decoder->texts);
	text_free(&decoder->json);
}

/* ---- fields by name ---- */

struct found {
	struct etw_field field; /* the field; for an element, the element's type */
	struct etw_field_slice slice;
	bool is_count; /* the value is the number of elements instead */
	uint32_t count;
};

/* Finds a field by its path: an element, a member of an element, or a number of elements. */
static NOINLINE bool find_by_path(const struct etw_event *event, const char *name,
				  struct found *found)
{
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	struct etw_field_path path;

	if (!etw_field_path_find(event->schema, name, &path)) {
		return false;
	}
	etw_fields_walk(event->schema, path.top, event->record, slices, NULL);
	if (etw_field_path_locate(event->schema, &path, event->record, slices, &found->slice,
				  &found->count) != ETW_FIELD_PATH_FOUND) {
		return false;
	}
	found->field = path.value;
	found->is_count = path.is_count;
	return true;
}

static bool find(const struct etw_event *event, const char *name, struct found *found)
{
	int index;

	if (!event || !name || !event->schema || !event->record) {
		return false;
	}
	*found = (struct found){ .is_count = false };
	index = etw_schema_find_field(event->schema, name);
	if (index < 0) {
		return find_by_path(event, name, found);
	}
	found->field = event->schema->fields[index];
	return etw_field_locate(event->schema, (unsigned)index, event->record, &found->slice);
}

/* Finds the value of an integer or a count. Signed numbers are sign-extended. */
static bool find_integer(const struct etw_event *event, const char *name, uint64_t *value,
			 struct found *found)
{
	if (!find(event, name, found)) {
		return false;
	}
	if (found->is_count) {
		*value = found->count;
		return true;
	}
	if (!etw_field_is_integer(&found->field)) {
		return false;
	}
	*value = etw_field_u64(&found->field, &found->slice);
	return true;
}

bool etw_event_u64(const struct etw_event *event, const char *name, uint64_t *value)
{
	struct found found;

	return value && find_integer(event, name, value, &found);
}

bool etw_event_i64(const struct etw_event *event, const char *name, int64_t *value)
{
	struct found found;
	uint64_t number;

	if (!value || !find_integer(event, name, &number, &found)) {
		return false;
	}
	*value = (int64_t)number;
	return true;
}

bool etw_event_double(const struct etw_event *event, const char *name, double *value)
{
	struct found found;
	uint64_t number;

	if (!value) {
		return false;
	}
	if (find_integer(event, name, &number, &found)) {
		*value = !found.is_count && etw_field_is_signed(&found.field) ?
				 (double)(int64_t)number :
				 (double)number;
		return true;
	}
	if (!find(event, name, &found) || !etw_field_is_real(&found.field)) {
		return false;
	}
	*value = etw_field_double(&found.field, &found.slice);
	return true;
}

bool etw_event_guid(const struct etw_event *event, const char *name, struct etw_guid *value)
{
	struct found found;

	if (!value || !find(event, name, &found) || found.is_count ||
	    found.field.type != ETW_FIELD_GUID || found.field.count_type != ETW_FIELD_SCALAR ||
	    found.slice.size != sizeof value->bytes) {
		return false;
	}
	memcpy(value->bytes, found.slice.at, sizeof value->bytes);
	return true;
}

const uint8_t *etw_event_bytes(const struct etw_event *event, const char *name, size_t *size)
{
	struct found found;

	if (!size || !find(event, name, &found) || found.is_count ||
	    found.field.type == ETW_FIELD_STRUCT || !found.slice.at) {
		return NULL;
	}
	*size = found.slice.size;
	return found.slice.at;
}

/* ---- texts ---- */

/* Returns an empty text that is valid until the next event; NULL if there is no memory. */
static struct etw_text *next_text(struct etw_decoder *decoder)
{
	if (decoder->text_count == decoder->text_made) {
		struct etw_text *grown = array_grow(decoder->texts, &decoder->text_capacity,
						    decoder->text_made, sizeof *grown);

		if (!grown) {
			return NULL;
		}
		decoder->texts = grown;
		decoder->texts[decoder->text_made++] = (struct etw_text){ .data = NULL };
	}
	decoder->has_texts = true;
	text_clear(&decoder->texts[decoder->text_count]);
	return &decoder->texts[decoder->text_count++];
}

static const char *finished(const struct etw_text *text, size_t *size)
{
	if (text->failed) {
		return NULL;
	}
	if (size) {
		*size = text->size;
	}
	return text->size > 0 ? text->data : "";
}

const char *etw_event_text(const struct etw_event *event, const char *name, size_t *size)
{
	struct found found;
	struct etw_text *text;

	if (!find(event, name, &found) || found.field.type == ETW_FIELD_STRUCT || !event->decoder) {
		return NULL;
	}
	text = next_text(event->decoder);
	if (!text) {
		return NULL;
	}
	if (found.is_count) {
		text_add_u64(text, found.count);
	} else {
		etw_field_text(&found.field, &found.slice, text);
	}
	return finished(text, size);
}

const char *etw_event_json(const struct etw_event *event, size_t *size)
{
	struct etw_decoder *decoder = event ? event->decoder : NULL;

	if (!decoder || event->class_id == 0) {
		return NULL;
	}
	if (!decoder->has_json) {
		const struct etw_schema *naming =
			etw_event_schema_naming(&decoder->named, event->record, event->schema);

		text_clear(&decoder->json);
		etw_event_json_add(&decoder->json, event->record,
				   etw_event_provider_name(&decoder->named,
							   event->record->provider),
				   naming ? naming->event : NULL, event->schema, NULL, NULL);
		decoder->has_json = true;
		decoder->has_texts = true;
	}
	return finished(&decoder->json, size);
}

bool etw_event_is(const struct etw_event *event, const char *provider_name, const char *event_name)
{
	return event && event->class_id != 0 &&
	       (!event_name || strcmp(event->event_name, event_name) == 0) &&
	       (!provider_name || strcmp(event->provider_name, provider_name) == 0);
}

/* ---- readers ---- */

RARE void etw_reader_resolve(struct etw_reader *reader, const struct etw_event *event)
{
	struct etw_reader_class *place;
	int index = -1;

	if (!reader || !event) {
		return;
	}
	place = &reader->classes[event->class_id % ETW_READER_CLASSES];
	if (event->schema && reader->name) {
		index = etw_schema_find_field(event->schema, reader->name);
	}
	place->class_id = event->class_id;
	place->field = event->schema ? etw_field_reader_of(event->schema, index,
							   event->record->pointer_size) :
				       (struct etw_field_reader){ .size = 0 };
}

/* ---- version ---- */

const char *etw_version(void)
{
	return ETWX_VERSION; /* CMake defines it for this file alone. */
}
