/* SPDX-License-Identifier: MIT */
/*
 * Payloads of anything at all: against every kernel layout, and as what a recording says about its
 * providers.
 *
 * The first byte picks what the others are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"
#include "lib/decode/trace_schemas.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LAYOUTS_MOST = 1024 };

static const struct etw_schema *layouts[LAYOUTS_MOST];
static size_t layout_count;

static void collect_layouts(void)
{
	const struct etw_schema *schema;
	struct etw_guid guid;

	for (unsigned class = 0; etw_kernel_class_at(class, &guid); class ++) {
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			for (unsigned i = 0;
			     (schema = etw_kernel_schema_at(&guid, (uint8_t)opcode, i, NULL));
			     i++) {
				if (layout_count < LAYOUTS_MOST) {
					layouts[layout_count++] = schema;
				}
			}
		}
	}
}

/* One walk and single look-ups agree, stay inside the payload, and every field has a text. */
static void check_layout(const struct etw_schema *schema, const struct etw_record *record)
{
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST], slice;
	struct etw_text text = { 0 };
	uint32_t rest;
	unsigned whole;

	if (schema->field_count == 0) {
		return;
	}
	whole = etw_fields_walk(schema, schema->field_count - 1u, record, slices, &rest);
	for (unsigned i = 0; i < schema->field_count; i++) {
		if (etw_field_locate(schema, i, record, &slice) != (i < whole) ||
		    slice.at != slices[i].at || slice.size != slices[i].size ||
		    slice.count != slices[i].count) {
			abort();
		}
		if (slice.at &&
		    (slice.at < record->payload ||
		     slice.size > (size_t)(record->payload + record->payload_size - slice.at))) {
			abort();
		}
		if (slice.at) {
			text_clear(&text);
			etw_field_text(&schema->fields[i], &slice, &text);
			(void)etw_field_u64(&schema->fields[i], &slice);
		}
	}
	text_free(&text);
}

static void fuzz_layouts(struct cursor *c)
{
	struct etw_record record = { .pointer_size = cursor_u8(c) & 1 ? 8 : 4 };
	size_t layout = cursor_u16(c);

	if (layout_count == 0) {
		collect_layouts();
	}
	record.payload = c->at;
	record.payload_size = (uint32_t)cursor_left(c);
	check_layout(layouts[layout % layout_count], &record);
}

static void visit_strings(const struct etw_record *record)
{
	struct etw_event_info info;
	struct etw_event_map map;
	struct etw_text text = { 0 };

	if (etw_event_info_read(record, &info)) {
		for (uint32_t i = 0; i < info.property_count; i++) {
			struct etw_event_property property;

			etw_event_info_property(&info, i, &property);
			etw_event_info_string(info.bytes, info.size, property.name, &text);
			text_clear(&text);
		}
	}
	if (etw_event_map_read(record, &map)) {
		for (uint32_t i = 0; i < map.entry_count; i++) {
			struct etw_event_map_entry entry;

			etw_event_map_entry(&map, i, &entry);
			etw_event_info_string(map.bytes, map.size, entry.name, &text);
			text_clear(&text);
		}
	}
	text_free(&text);
}

static uint8_t *exact(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);

	if (!copy) {
		abort();
	}
	memcpy(copy, bytes, size);
	return copy;
}

/* A record in front of its bytes: what it is, one extended item, a payload. */
static void look_at_one(struct etw_trace_schemas *schemas, struct cursor *c)
{
	static const struct etw_guid providers[] = { ETW_META_DATA_CLASS, { { 1 } }, { { 2 } } };
	uint8_t what = cursor_u8(c);
	bool described = (what & 3) == 0;
	size_t item_size = cursor_u8(c);
	size_t payload_size = cursor_u16(c);
	uint8_t item[8 + 256] = { 0 };
	uint8_t *payload, *extended;
	struct etw_record record = {
		.provider = &providers[described ? 0 : what >> 2 & 1],
		.type = described ? ETW_RECORD_FULL : ETW_RECORD_EVENT,
		.classic = described,
		.opcode = what & 8 ? META_DATA_EVENT_INFO : META_DATA_EVENT_MAP_INFO,
		.process_id = what >> 4 & 1,
		.pointer_size = 8,
		.id = what & 32 ? ETW_MANIFEST_EVENT_ID : 0,
	};

	item_size = item_size < cursor_left(c) ? item_size : cursor_left(c);
	item[0] = (uint8_t)((8 + item_size + 7) / 8 * 8);
	item[1] = (uint8_t)((8 + item_size + 7) / 8 * 8 >> 8);
	item[2] = ETW_EXTENDED_PROVIDER_TRAITS;
	item[6] = (uint8_t)item_size;
	memcpy(item + 8, cursor_take(c, item_size), item_size);
	payload_size = payload_size < cursor_left(c) ? payload_size : cursor_left(c);
	payload = exact(cursor_take(c, payload_size), payload_size);
	extended = exact(item, etw_load_u16(item));
	record.payload = payload;
	record.payload_size = (uint32_t)payload_size;
	if (item_size > 0) {
		record.extended = extended;
		record.extended_size = etw_load_u16(item);
	}
	etw_trace_schemas_look(schemas, &record);
	(void)trace_schemas_provider_name(schemas, record.provider);
	/* Schemas are usually looked up at the end; here none is kept. */
	record.version = 0;
	(void)trace_schemas_find(schemas, &record, NULL);
	visit_strings(&record);
	free(payload);
	free(extended);
}

static void fuzz_trace_schemas(struct cursor *c)
{
	struct etw_trace_schemas *schemas = etw_trace_schemas_new(NULL);
	struct etw_trace_schemas_counts counts;

	if (!schemas) {
		return;
	}
	while (cursor_left(c) > 0) {
		look_at_one(schemas, c);
	}
	etw_trace_schemas_finish(schemas);
	etw_trace_schemas_count(schemas, &counts);
	etw_trace_schemas_free(schemas);
}

static void fuzz_manifest(struct cursor *c)
{
	etw_manifest_free(etw_manifest_read((const char *)c->at, cursor_left(c), NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);

	switch (cursor_u8(&c) & 3) {
	case 0:
		fuzz_manifest(&c);
		break;
	case 1:
		fuzz_trace_schemas(&c);
		break;
	default:
		fuzz_layouts(&c);
		break;
	}
	return 0;
}
