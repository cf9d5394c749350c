/* SPDX-License-Identifier: MIT */
/*
 * Stores the elements of a manifest as rows.
 *
 * Elements may refer to later elements (events to templates, fields to maps, all of them to
 * strings), so this file stores names as text, and manifest.c resolves them at the end. Texts are
 * collected in one block and identified by their offset until then, because the block moves while
 * it grows.
 *
 * Every type of element has its rows in an array, and the number of rows is bounded. A map leads
 * from the hash of a name to its row; if two rows have one name, the first is found. A mistake in
 * an element stops the reader of a checked manifest; in an in-band manifest the element is left
 * out.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "lib/decode/manifest/manifest_internal.h"
#include "lib/decode/tdh_types.h"

void manifest_refuse(struct manifest_reader *reader, const struct manifest_at *at,
		     const char *format, ...)
{
	char sentence[sizeof reader->why.text];
	va_list arguments;

	/* If memory was missing, texts are incomplete, and an error about them would be wrong. */
	if (reader->refused || manifest_lacks_memory(reader)) {
		return;
	}
	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	reader->refused = true;
	reader->why_at = *at;
	error_set(&reader->why, ETW_ERROR_FORMAT, "%s", sentence);
}

void manifest_warn(struct manifest_reader *reader, const struct manifest_at *at, const char *format,
		   ...)
{
	struct manifest_warning *warning;
	va_list arguments;

	if (!reader->checked || reader->warning_count++ >= MANIFEST_WARNINGS_MOST) {
		return;
	}
	warning = &reader->warnings[reader->warning_count - 1];
	warning->at = *at;
	va_start(arguments, format);
	vsnprintf(warning->sentence, sizeof warning->sentence, format, arguments);
	va_end(arguments);
}

uint64_t manifest_key(const struct manifest_reader *reader, uint64_t provider, uint64_t type,
		      const char *name)
{
	return hash_seeded(text_hash(name, strlen(name), reader->seed) + (type << 32 | provider),
			   reader->seed);
}

/* Returns the offset of a copy of the text; NO_TEXT for NULL, beyond the bound or if there is no
 * memory. */
static uint32_t keep_text(struct manifest_reader *reader, const char *text)
{
	struct etw_text *texts = &reader->manifest->texts;
	uint32_t offset = (uint32_t)texts->size;

	if (!text) {
		return NO_TEXT;
	}
	if (texts->size > MANIFEST_TEXTS_SIZE_MOST) {
		MANIFEST_FAULT(reader, &reader->at, "too much text");
		return NO_TEXT;
	}
	text_add(texts, text, strlen(text) + 1);
	if (texts->failed) {
		reader->failed = true;
		return NO_TEXT;
	}
	return offset;
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
	uint64_t value;

	if (!text || !parse_u64(text, strlen(text), &value) || value > most) {
		return false;
	}
	*number = value;
	return true;
}

/* Makes room for one more element of `size` bytes. Returns false beyond the bound or if there is no
 * memory. */
static bool make_room(struct manifest_reader *reader, void *array, size_t *capacity, size_t count,
		      size_t most, size_t size)
{
	void *old, *grown;

	if (count >= most) {
		MANIFEST_FAULT(reader, &reader->at, "more than %zu elements of one type", most);
		return false;
	}
	memcpy(&old, array, sizeof old);
	grown = array_grow(old, capacity, count, size);
	if (!grown) {
		reader->failed = true;
		return false;
	}
	memcpy(array, &grown, sizeof grown);
	return true;
}

#define MAKE_ROOM(reader, owner, rows)                                                        \
	make_room((reader), &(owner)->rows, &(owner)->rows##_capacity, (owner)->rows##_count, \
		  MANIFEST_ROWS_MOST, sizeof *(owner)->rows)

static uint32_t current_provider(const struct manifest_reader *reader)
{
	return (uint32_t)(reader->manifest->providers_count - 1);
}

/* ---- providers and their named numbers ---- */

void manifest_read_provider(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	struct etw_manifest *manifest = reader->manifest;
	struct manifest_provider *provider;

	if (!make_room(reader, &manifest->providers, &manifest->providers_capacity,
		       manifest->providers_count, MANIFEST_PROVIDERS_MOST,
		       sizeof *manifest->providers)) {
		manifest_refuse(reader, &reader->at, "too many providers");
		return;
	}
	provider = &manifest->providers[manifest->providers_count];
	*provider = (struct manifest_provider){ .name = keep_text(reader, a->name ? a->name : "") };
	provider->has_guid = a->guid && etw_guid_parse(a->guid, &provider->guid);
	if (provider->name == NO_TEXT) {
		manifest_refuse(reader, &reader->at, "too much text");
		return;
	}
	if (!a->name || !a->name[0]) {
		MANIFEST_FAULT(reader, &reader->at, "the provider has no name");
	}
	if (!provider->has_guid) {
		MANIFEST_FAULT(reader, &reader->at, "provider '%s' has no valid 'guid'",
			       a->name ? a->name : "");
	}
	manifest->providers_count++;
}

void manifest_read_named(struct manifest_reader *reader, const struct manifest_attributes *a,
			 enum manifest_word word)
{
	struct etw_manifest *manifest = reader->manifest;
	const char *number = word == WORD_KEYWORD ? a->mask : a->value;
	const char *task = manifest_text(manifest, reader->task);
	struct manifest_named *named;
	uint64_t value = 0;
	uint64_t *known;

	if (!a->name) {
		MANIFEST_FAULT(reader, &reader->at, "the element has no 'name'");
		return;
	}
	if (number && !read_number(number, UINT64_MAX, &value)) {
		MANIFEST_FAULT(reader, &reader->at, "'%s' is not a number", number);
		return;
	}
	if (!MAKE_ROOM(reader, manifest, named)) {
		return;
	}
	known = map_put(&reader->known_named,
			manifest_key(reader, current_provider(reader), word, a->name) ^
				(word == WORD_OPCODE && task ?
					 manifest_key(reader, 0, WORD_TASK, task) :
					 0),
			NULL);
	if (!known) {
		reader->failed = true;
		return;
	}
	named = &manifest->named[manifest->named_count];
	*named = (struct manifest_named){
		.value = value,
		.provider = current_provider(reader),
		.name = keep_text(reader, a->name),
		.task = word == WORD_OPCODE ? reader->task : (uint32_t)NO_TEXT,
		.word = (uint8_t)word,
	};
	if (named->name != NO_TEXT) {
		manifest->named_count++;
		*known = *known == 0 ? manifest->named_count : *known;
		reader->task = word == WORD_TASK ? named->name : reader->task;
	}
}

/* ---- maps and strings ---- */

void manifest_read_map(struct manifest_reader *reader, const struct manifest_attributes *a,
		       bool bits)
{
	struct etw_manifest *manifest = reader->manifest;
	uint64_t *known;

	if (!a->name) {
		MANIFEST_FAULT(reader, &reader->at, "the map has no 'name'");
	}
	if (!MAKE_ROOM(reader, manifest, maps)) {
		return;
	}
	known = map_put(&reader->known_maps,
			manifest_key(reader, current_provider(reader), 0, a->name ? a->name : ""),
			NULL);
	if (!known) {
		reader->failed = true;
		return;
	}
	if (*known != 0) {
		MANIFEST_FAULT(reader, &reader->at, "map '%s' is defined twice",
			       a->name ? a->name : "");
	}
	manifest->maps[manifest->maps_count++] =
		(struct manifest_map){ .map = { .bits = bits },
				       .first = reader->map_entries_count,
				       .name = keep_text(reader, a->name) };
	*known = manifest->maps_count;
}

void manifest_read_map_entry(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	struct etw_manifest *manifest = reader->manifest;
	uint64_t value;

	if (!read_number(a->value, UINT32_MAX, &value)) {
		MANIFEST_FAULT(reader, &reader->at,
			       "'value' is missing or is not a number below 2^32");
		return;
	}
	if (manifest->maps_count == 0 || !MAKE_ROOM(reader, reader, map_entries)) {
		return;
	}
	reader->map_entries[reader->map_entries_count++] =
		(struct manifest_map_entry){ .value = (uint32_t)value,
					     .message = keep_text(reader, a->message) };
	manifest->maps[manifest->maps_count - 1].map.count++;
}

void manifest_read_string(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	uint32_t text;
	uint64_t *known;

	if (!a->id || !a->value) {
		return;
	}
	known = reader->known_strings.count < MANIFEST_ROWS_MOST ?
			map_put(&reader->known_strings, manifest_key(reader, 0, 0, a->id), NULL) :
			NULL;
	if (!known || (*known != 0 && !reader->preferred_strings)) {
		return;
	}
	text = keep_text(reader, a->value);
	*known = text != NO_TEXT ? (uint64_t)text + 1 : 0;
}

/* ---- events ---- */

/* Makes the name of an event: "Task/Opcode". Without a task it is the symbol, else the opcode, else
 * the id. */
static uint32_t event_name(struct manifest_reader *reader, const struct manifest_attributes *a,
			   uint16_t id)
{
	static const char prefix[] = "win:";
	const char *opcode = a->opcode;
	struct etw_text name = { 0 };
	uint32_t kept;

	if (opcode && strncmp(opcode, prefix, sizeof prefix - 1) == 0) {
		opcode += sizeof prefix - 1;
	}
	if (a->task && *a->task) {
		text_add_string(&name, a->task);
		if (opcode && *opcode) {
			text_add_char(&name, '/');
			text_add_string(&name, opcode);
		}
	} else if (a->symbol && *a->symbol) {
		text_add_string(&name, a->symbol);
	} else if (opcode && *opcode) {
		text_add_string(&name, opcode);
	} else {
		text_add_u64(&name, id);
	}
	reader->failed |= name.failed;
	kept = name.failed ? (uint32_t)NO_TEXT : keep_text(reader, name.data);
	text_free(&name);
	return kept;
}

void manifest_read_event(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	struct etw_manifest *manifest = reader->manifest;
	uint64_t id, version = 0;
	struct manifest_event_row event;

	if (!read_number(a->value, UINT16_MAX, &id)) {
		MANIFEST_FAULT(reader, &reader->at,
			       "the event's 'value' is not a number up to 65535");
		return;
	}
	if (a->version && !read_number(a->version, UINT8_MAX, &version)) {
		MANIFEST_FAULT(reader, &reader->at, "event %u: 'version' is not a number up to 255",
			       (unsigned)id);
		return;
	}
	if (!MAKE_ROOM(reader, manifest, events)) {
		return;
	}
	event = (struct manifest_event_row){
		.provider = current_provider(reader),
		.id = (uint16_t)id,
		.version = (uint8_t)version,
		.order = (uint32_t)manifest->events_count,
		.at = reader->at,
		.name = event_name(reader, a, (uint16_t)id),
		.symbol = keep_text(reader, a->symbol),
		.template = keep_text(reader, a->template),
		.task_name = keep_text(reader, a->task),
		.opcode_name = keep_text(reader, a->opcode),
		.level_name = keep_text(reader, a->level),
		.keyword_names = keep_text(reader, a->keywords),
	};
	if (event.name != NO_TEXT) {
		manifest->events[manifest->events_count++] = event;
	}
}

/* ---- templates ---- */

void manifest_open_template(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	if (!a->tid) {
		MANIFEST_FAULT(reader, &reader->at, "the template has no 'tid'");
	}
	reader->template_id = keep_text(reader, a->tid);
	reader->template_at = reader->at;
	reader->template_uses = reader->map_uses_count;
}

/* Reads a count or length, which is a number or the name of an earlier field. */
static void read_number_or_field(struct manifest_reader *reader, const char *what, const char *text,
				 uint8_t fixed, uint8_t by_field, uint8_t *type,
				 uint16_t *number_or_index)
{
	uint64_t number;
	int index;

	if (!text) {
		return;
	}
	if (read_number(text, UINT16_MAX, &number)) {
		*type = fixed;
		*number_or_index = (uint16_t)number;
		return;
	}
	index = schema_build_find(&reader->builder, text);
	if (index >= 0) {
		*type = by_field;
		*number_or_index = (uint16_t)index;
	}
	if (index < 0 || !etw_field_is_integer(&reader->builder.fields[index])) {
		MANIFEST_FAULT(
			reader, &reader->at,
			"%s '%s' is neither a number up to 65535 nor an integer field before "
			"this one",
			what, text);
	}
}

static int add_field(struct manifest_reader *reader, const struct manifest_attributes *a,
		     const struct etw_field *field)
{
	const char *name = a->name;
	int index = schema_build_add(&reader->builder, field, name ? name : "",
				     name ? strlen(name) : 0);

	if (!name) {
		MANIFEST_FAULT(reader, &reader->at, "the field has no 'name'");
	}
	if (index < 0) {
		MANIFEST_FAULT(reader, &reader->at,
			       "more than %d fields, or structures more than %d deep",
			       ETW_SCHEMA_FIELDS_MOST, ETW_SCHEMA_DEPTH_MOST);
	}
	return index;
}

static void read_count(struct manifest_reader *reader, const struct manifest_attributes *a,
		       struct etw_field *field)
{
	read_number_or_field(reader, "count", a->count, ETW_FIELD_COUNT_FIXED,
			     ETW_FIELD_COUNT_FIELD, &field->count_type, &field->count);
}

static void use_map(struct manifest_reader *reader, const char *name, int field)
{
	struct manifest_map_use use = { .at = reader->at,
					.provider = (uint16_t)current_provider(reader),
					.field = (uint16_t)field };

	if (MAKE_ROOM(reader, reader, map_uses)) {
		use.name = keep_text(reader, name);
		reader->map_uses[reader->map_uses_count++] = use;
	}
}

void manifest_read_data(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	int in_type = a->in_type ? tdh_in_type(a->in_type) : -1;
	unsigned out_type = a->out_type ? (unsigned)tdh_out_type(a->out_type) : TDH_OUT_DEFAULT;
	struct etw_field field = { .count_type = ETW_FIELD_SCALAR };
	int index;

	if (in_type < 0 || !tdh_field_type(&field, (unsigned)in_type, out_type)) {
		MANIFEST_FAULT(reader, &reader->at, "unknown 'inType' '%s' of field '%s'",
			       a->in_type ? a->in_type : "", a->name ? a->name : "");
		schema_build_stop(&reader->builder);
		return;
	}
	read_count(reader, a, &field);
	read_number_or_field(reader, "length", a->length, ETW_FIELD_LENGTH_FIXED,
			     ETW_FIELD_LENGTH_FIELD, &field.length_type, &field.length);
	tdh_field_finish(&field, out_type);
	index = add_field(reader, a, &field);
	if (index >= 0 && a->map && field.type <= ETW_FIELD_PORT) {
		use_map(reader, a->map, index);
	}
}

void manifest_open_struct(struct manifest_reader *reader, const struct manifest_attributes *a)
{
	struct etw_field field = { .type = ETW_FIELD_STRUCT };

	read_count(reader, a, &field);
	add_field(reader, a, &field);
}

void manifest_close_template(struct manifest_reader *reader)
{
	struct etw_manifest *manifest = reader->manifest;
	const char *id = manifest_text(manifest, reader->template_id);
	struct built_fields *fields;
	uint64_t *known;

	if (!id || !MAKE_ROOM(reader, manifest, templates)) {
		reader->map_uses_count = reader->template_uses;
		schema_build_done(&reader->builder);
		return;
	}
	fields = &manifest->templates[manifest->templates_count];
	known = map_put(&reader->known_templates,
			manifest_key(reader, current_provider(reader), 0, id), NULL);
	if (!known || !schema_build_finish(&reader->builder, fields)) {
		schema_build_done(&reader->builder);
		reader->failed = true;
		return;
	}
	if (*known != 0) {
		MANIFEST_FAULT(reader, &reader->template_at, "template '%s' is defined twice", id);
	}
	for (size_t i = reader->template_uses; i < reader->map_uses_count; i++) {
		reader->map_uses[i].template = (uint32_t)manifest->templates_count;
	}
	manifest->field_bytes += fields->bytes;
	*known = ++manifest->templates_count;
}
