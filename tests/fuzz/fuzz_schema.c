/* SPDX-License-Identifier: MIT */
/*
 * Schemas of anything at all, and payloads of anything at all decoded by them: TraceLogging
 * metadata, manifests, descriptions of events, and fields put together by chance.
 *
 * The first byte picks what the schema is made of, the next two how long the payload is, which
 * follows; the rest is the schema.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "base/cursor.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAYLOAD_MOST = 4096 };

/* A payload that is decoded by a schema. */
struct decoded {
	const struct etw_schema *schema;
	const struct etw_record *record;
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	struct etw_text text;
	unsigned values; /* visited so far; an array of arrays of arrays can have many */
};

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void visit_fields(struct decoded *decoded, unsigned first, unsigned end);

static void visit_value(struct decoded *decoded, unsigned index)
{
	const struct etw_field *field = &decoded->schema->fields[index];
	const struct etw_field_slice *slice = &decoded->slices[index];
	const struct etw_record *record = decoded->record;
	struct etw_field_slice element;
	uint32_t offset = 0, elements = 0;

	if (!slice->at) {
		return;
	}
	check(slice->at >= record->payload &&
	      slice->size <= (size_t)(record->payload + record->payload_size - slice->at));
	if (etw_field_is_integer(field)) {
		(void)etw_field_u64(field, slice);
	}
	text_clear(&decoded->text);
	etw_field_text(field, slice, &decoded->text);
	while (etw_field_next_element(field, slice, &offset, &element)) {
		check(offset <= slice->size && ++elements <= UINT16_MAX);
	}
}

static void visit_structs(struct decoded *decoded, unsigned index)
{
	const struct etw_field_slice *slice = &decoded->slices[index];
	unsigned end = index + 1U + decoded->schema->fields[index].span;
	uint32_t offset = 0, before = 0;

	while (decoded->values < 100000 &&
	       etw_field_next_struct(decoded->schema, index, decoded->record, decoded->slices,
				     &offset)) {
		check(offset > before && offset <= slice->size);
		before = offset;
		visit_fields(decoded, index + 1, end);
	}
}

static void visit_fields(struct decoded *decoded, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end;) {
		const struct etw_field *field = &decoded->schema->fields[i];

		check(i + 1U + field->span <= end);
		decoded->values++;
		if (etw_field_is_struct_array(field)) {
			visit_structs(decoded, i);
			i += 1U + field->span;
		} else {
			visit_value(decoded, i);
			i++; /* into a structure */
		}
	}
}

/* Replaces what it can by what is longer, shorter or zero. */
static enum etw_encode_answer replace(void *context, const struct etw_field *field,
				      const struct etw_field_slice *element,
				      struct etw_text *new_value)
{
	unsigned *turn = context;

	check(element->size == 0 || element->at);
	if (etw_field_is_text(field) && !element->cut) {
		size_t room = etw_encode_room(field, element);

		for (size_t i = 0; i < room && i < ++*turn % 40; i++) {
			text_add_char(new_value, 'x');
		}
		return ETW_ENCODE_TEXT;
	}
	for (uint32_t i = 0; i < element->size; i++) {
		text_add_char(new_value, '\0');
	}
	return etw_field_is_integer(field) ? ETW_ENCODE_KEEP : ETW_ENCODE_BYTES;
}

/* Without a change the bytes are the same; changes end, with a payload or a sentence. */
static void check_encoding(const struct etw_schema *schema, const struct etw_record *record)
{
	struct etw_payload out;
	struct etw_error err = { 0 };
	unsigned turn = record->payload_size;

	etw_payload_init(&out, record->pointer_size);
	if (etw_encode_changed(schema, record, NULL, 0, NULL, NULL, &out, &err)) {
		check(out.size == record->payload_size &&
		      (out.size == 0 || memcmp(out.bytes, record->payload, out.size) == 0));
	} else {
		check(err.code == ETW_ERROR_LIMIT || err.code == ETW_ERROR_NO_MEMORY);
	}
	etw_payload_clear(&out);
	(void)etw_encode_changed(schema, record, NULL, 0, replace, &turn, &out, &err);
	etw_payload_done(&out);
}

/* One walk and single look-ups agree, and every value is inside the payload. */
static void check_schema(const struct etw_schema *schema, const struct etw_record *record)
{
	struct decoded *decoded;
	struct etw_field_slice slice;
	uint32_t rest = 0;
	unsigned whole;

	if (!schema || schema->field_count == 0) {
		return;
	}
	check(schema->field_count <= ETW_SCHEMA_FIELDS_MOST);
	decoded = calloc(1, sizeof *decoded);
	if (!decoded) {
		return;
	}
	decoded->schema = schema;
	decoded->record = record;
	whole = etw_fields_walk(schema, schema->field_count - 1U, record, decoded->slices, &rest);
	check(rest <= record->payload_size);
	for (unsigned i = 0; i < schema->field_count;) {
		const struct etw_field *field = &schema->fields[i];
		bool located = etw_field_locate(schema, i, record, &slice);

		check(located == (i < whole));
		check(slice.at == decoded->slices[i].at && slice.size == decoded->slices[i].size &&
		      slice.count == decoded->slices[i].count);
		for (unsigned k = 1; etw_field_is_struct_array(field) && k <= field->span; k++) {
			check(!etw_field_locate(schema, i + k, record, &slice));
			decoded->slices[i + k].at = NULL;
		}
		(void)etw_schema_find_field(schema, field->name);
		i += etw_field_is_struct_array(field) ? 1U + field->span : 1U;
	}
	visit_fields(decoded, 0, schema->field_count);
	text_clear(&decoded->text);
	if (schema->event) {
		etw_event_schema_name(schema, &decoded->text);
	}
	text_free(&decoded->text);
	free(decoded);
	check_encoding(schema, record);
}

static void try_tracelogging(struct cursor *c, const struct etw_record *record)
{
	struct etw_tracelogging_cache *cache = etw_tracelogging_cache_new(NULL);
	size_t size = cursor_left(c) < UINT16_MAX ? cursor_left(c) : UINT16_MAX;
	struct etw_extended_item metadata = { .type = ETW_EXTENDED_TRACELOGGING,
					      .size = (uint16_t)size,
					      .data = c->at };

	if (cache) {
		const struct etw_schema *schema = etw_tracelogging_schema(cache, &metadata);

		check_schema(schema, record);
		check(etw_tracelogging_schema(cache, &metadata) == schema);
		etw_tracelogging_cache_free(cache);
	}
}

static void try_manifest(struct cursor *c, const struct etw_record *record)
{
	struct etw_manifest *manifest =
		etw_manifest_read((const char *)c->at, cursor_left(c), NULL);

	if (!manifest) {
		return;
	}
	for (size_t i = 0; i < manifest_provider_count(manifest) && i < 4; i++) {
		struct etw_guid guid;

		check(etw_manifest_provider_name(manifest, i) != NULL);
		(void)manifest_provider_guid(manifest, i, &guid);
		for (uint16_t id = 0; id < 16; id++) {
			for (uint8_t version = 0; version < 3; version++) {
				check_schema(manifest_schema(manifest, i, id, version, 0), record);
			}
		}
	}
	check(etw_manifest_bytes(manifest) > 0);
	etw_manifest_free(manifest);
}

static void try_event_info(struct cursor *c, const struct etw_record *record)
{
	static const struct etw_guid meta_data = ETW_META_DATA_CLASS;
	const struct etw_record described = {
		.provider = &meta_data,
		.type = ETW_RECORD_FULL,
		.classic = true,
		.opcode = META_DATA_EVENT_INFO,
		.payload = c->at,
		.payload_size =
			(uint32_t)(cursor_left(c) < UINT16_MAX ? cursor_left(c) : UINT16_MAX),
	};
	struct built_fields fields;
	struct etw_event_info info;
	struct etw_text name = { 0 };

	if (!etw_event_info_read(&described, &info)) {
		return;
	}
	event_info_name(&info, &name);
	check(name.size > 0);
	if (event_info_fields(&info, &fields, NULL)) {
		const struct etw_schema schema = { .event = name.data,
						   .fields = fields.fields,
						   .field_count = fields.count,
						   .first_variable = fields.first_variable,
						   .origin = ETW_SCHEMA_EVENT_INFO };

		check_schema(&schema, record);
		free(fields.fields);
	}
	text_free(&name);
}

/* Each field: type, types of count and length, form, count, length; type 0xff closes a structure.
 */
static void try_fields(struct cursor *c, const struct etw_record *record)
{
	struct schema_builder builder = { .count = 0 };
	struct built_fields fields;

	while (cursor_left(c) > 0) {
		struct etw_field field = { .type = cursor_u8(c) };
		uint8_t types = cursor_u8(c);
		char name[2] = { (char)('a' + builder.count % 26), '\0' };

		if (field.type == 0xff) {
			schema_build_close(&builder);
			continue;
		}
		field.type %= ETW_FIELD_STRUCT + 1;
		field.count_type = (types & 15) % (ETW_FIELD_COUNT_PREFIX + 1);
		field.length_type = (types >> 4 & 3) % (ETW_FIELD_LENGTH_REST + 1);
		field.form = (types >> 6) % (ETW_FIELD_FORM_SOCKADDR + 1);
		field.count = cursor_u16(c);
		field.length = cursor_u16(c);
		if (types & 8) {
			field.count &= 15; /* earlier fields are hit more often */
			field.length &= 15;
		}
		schema_build_add(&builder, &field, name, 1);
	}
	if (schema_build_finish(&builder, &fields)) {
		const struct etw_schema schema = { .fields = fields.fields,
						   .field_count = fields.count,
						   .first_variable = fields.first_variable };

		check_schema(&schema, record);
		free(fields.fields);
	}
}

static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);

	check(copy != NULL);
	memcpy(copy, bytes, size);
	return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	uint8_t what = cursor_u8(&c);
	size_t payload_size = cursor_u16(&c) % (PAYLOAD_MOST + 1);
	struct etw_record record = { .pointer_size = what & 4 ? 4 : 8 };
	uint8_t *payload, *rest;

	/* Heap blocks of their own, so that the sanitizer watches their ends. */
	payload_size = payload_size < cursor_left(&c) ? payload_size : cursor_left(&c);
	payload = copy_of(cursor_take(&c, payload_size), payload_size);
	rest = copy_of(c.at, cursor_left(&c));
	record.payload = payload;
	record.payload_size = (uint32_t)payload_size;
	c = cursor_over(rest, cursor_left(&c));
	switch (what & 3) {
	case 0:
		try_tracelogging(&c, &record);
		break;
	case 1:
		try_manifest(&c, &record);
		break;
	case 2:
		try_event_info(&c, &record);
		break;
	default:
		try_fields(&c, &record);
		break;
	}
	free(payload);
	free(rest);
	return 0;
}
