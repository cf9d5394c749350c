/* SPDX-License-Identifier: MIT */
/*
 * Some records of anything at all, decoded as a consumer does it: what they say about providers
 * first or meanwhile, then the event class of each, its names, its fields by every name that rules
 * have.
 *
 * The first byte says how they are decoded, and whether the next one is there: the number of an
 * allocation that fails. A record is: flags, family of header, number of an
 * event class or provider, id (2), version, opcode, process, then up to three extended items, each
 * with type and size (2) in front, then the size of the payload (2) and the payload.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/event_table.h>
#include <etw/schema.h>

#include "base/cursor.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/trace_schemas.h"
#include "tests/fuzz/failing_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MOST = 64, ITEMS_MOST = 3, CLASSES_MOST = 6, FIELDS_LOOKED_AT = 4 };

enum how {
	IS_LIVE = 1,
	BUILTIN_NAMES = 2,
	ANNOUNCED_MEANWHILE = 4,
	WITH_CONFIGURED = 8,
	WITH_SYSTEM = 16,
	MEMORY_FAILS = 32,
};

enum record_flags {
	IS_CLASSIC = 1,
	POINTERS_OF_4 = 2,
	IS_META_DATA = 4,
	OF_CLASS = 8, /* the number is that of a kernel class */
	ITEM_COUNT_SHIFT = 4,
	HAS_GROUP = 64,
};

struct records {
	struct etw_record all[RECORDS_MOST];
	uint8_t *bytes[2 * RECORDS_MOST]; /* owned: payload and items of each */
	size_t count;
};

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* A heap block of its own, so that the sanitizer watches its end. */
static uint8_t *take(struct cursor *c, size_t size)
{
	size_t left = cursor_left(c);
	size_t taken = size < left ? size : left;
	uint8_t *copy = calloc(1, size > 0 ? size : 1);

	check(copy != NULL);
	memcpy(copy, cursor_take(c, taken), taken);
	return copy;
}

static const struct etw_guid *provider_of(unsigned flags, uint8_t number)
{
	static const struct etw_guid meta_data = ETW_META_DATA_CLASS;
	static struct etw_guid classes[256];
	static const struct etw_guid others[4] = {
		{ { 0xaa } }, { { 0xbb } }, { { 0xcc } }, { { 0 } }
	};

	if (flags & IS_META_DATA) {
		return &meta_data;
	}
	if ((flags & OF_CLASS) && etw_kernel_class_at(number, &classes[number])) {
		return &classes[number];
	}
	return &others[number & 3];
}

/* Items as they stand on disk: docs/etl-format.md section 9. */
static void take_items(struct cursor *c, unsigned count, struct etw_record *record, uint8_t **bytes)
{
	struct etw_text items = { 0 };

	for (unsigned i = 0; i < count; i++) {
		uint8_t type = cursor_u8(c);
		uint16_t size = cursor_u16(c) & 0xfff;
		size_t whole = (8U + size + 7U) / 8 * 8;
		uint8_t *data = take(c, size);
		char header[8] = { (char)whole, (char)(whole >> 8), (char)type,       0, 0,
				   0,           (char)size,         (char)(size >> 8) };

		text_add(&items, header, sizeof header);
		text_add(&items, (const char *)data, size);
		while (items.size % 8 != 0) {
			text_add_char(&items, 0);
		}
		free(data);
	}
	check(!items.failed);
	if (items.size > 0) {
		*bytes = malloc(items.size);
		check(*bytes != NULL);
		memcpy(*bytes, items.data, items.size);
		record->extended = *bytes;
		record->extended_size = (uint32_t)items.size;
	}
	text_free(&items);
}

static void take_record(struct records *records, struct cursor *c)
{
	struct etw_record *record = &records->all[records->count];
	unsigned flags = cursor_u8(c);
	uint8_t family = cursor_u8(c) % ETW_RECORD_TYPE_COUNT;
	uint8_t number = cursor_u8(c);
	uint16_t size;

	*record = (struct etw_record){
		.provider = provider_of(flags, number),
		.type = family,
		.classic = (flags & IS_CLASSIC) != 0,
		.pointer_size = flags & POINTERS_OF_4 ? 4 : 8,
		.kernel_group = flags & HAS_GROUP ? number : 0xff,
		.time = (int64_t)records->count * 100000000,
		.index = records->count,
	};
	record->id = cursor_u16(c);
	record->version = cursor_u8(c);
	record->opcode = cursor_u8(c);
	record->process_id = cursor_u8(c);
	take_items(c, flags >> ITEM_COUNT_SHIFT & ITEMS_MOST, record,
		   &records->bytes[2 * records->count]);
	size = cursor_u16(c);
	size = size < cursor_left(c) ? size : (uint16_t)cursor_left(c);
	records->bytes[2 * records->count + 1] = take(c, size);
	record->payload = records->bytes[2 * records->count + 1];
	record->payload_size = size;
	records->count++;
}

static void free_records(struct records *records)
{
	for (size_t i = 0; i < 2 * records->count; i++) {
		free(records->bytes[i]);
	}
}

/* ---- decoding ---- */

static void look_by_path(const struct etw_schema *schema, const char *name,
			 const struct etw_record *record)
{
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST], slice = { .at = NULL };
	struct etw_field_path path;
	struct etw_text text = { 0 };
	uint32_t count = 0;

	if (!name || !etw_field_path_find(schema, name, &path)) {
		return;
	}
	etw_fields_walk(schema, path.top, record, slices, NULL);
	if (etw_field_path_locate(schema, &path, record, slices, &slice, &count) ==
		    ETW_FIELD_PATH_FOUND &&
	    !path.is_count) {
		check(slice.at >= record->payload &&
		      slice.size <= (size_t)(record->payload + record->payload_size - slice.at));
		etw_field_text(&path.value, &slice, &text);
	}
	text_free(&text);
}

/* Fields by name, elements, counts, places. The first ones, or some that the size of the payload
 * chooses, because each is looked up in many ways. */
static void look_at_fields(const struct etw_schema *schema, bool chosen,
			   const struct etw_record *record)
{
	static const char *const behind[] = { "", "[0]", "[1].b", ".count", "[2]x", "." };
	unsigned count = schema->field_count;
	unsigned first = chosen && count > 0 ? record->payload_size % count : 0;
	struct etw_text name = { 0 };

	for (unsigned i = first; i < count && i < first + FIELDS_LOOKED_AT; i++) {
		for (size_t j = 0; j < sizeof behind / sizeof behind[0]; j++) {
			text_clear(&name);
			text_add_string(&name, schema->fields[i].name);
			text_add_string(&name, behind[j]);
			look_by_path(schema, name.data, record);
		}
		for (unsigned j = 0; j < 4 && i + j < count; j++) {
			text_clear(&name);
			text_add_format(&name, "%s[%u].%s", schema->fields[i].name, j & 1,
					schema->fields[i + j].name);
			look_by_path(schema, name.data, record);
			text_clear(&name);
			text_add_format(&name, "[%u]", i + j);
			look_by_path(schema, name.data, record);
		}
	}
	text_free(&name);
}

/* The names of a class's events lead back to their opcodes. */
static void look_at_class(const struct etw_event_class *class)
{
	const char *kernel_class = etw_kernel_class_name(&class->provider);
	const char *event = etw_kernel_event_name(&class->provider, class->opcode);
	struct etw_guid guid;
	uint8_t opcode;

	(void)etw_kernel_class_is_kernel(&class->provider);
	if (kernel_class) {
		check(etw_kernel_class_find(kernel_class, strlen(kernel_class), &guid));
		check(etw_guid_equal(&guid, &class->provider));
	}
	if (event) {
		check(etw_kernel_event_find(&class->provider, event, strlen(event), &opcode));
	}
	check(!etw_kernel_class_find(class->event_name, strlen(class->event_name), &guid) ||
	      strchr(class->event_name, '/') == NULL);
}

struct consumer {
	struct etw_event_table *event_table;
	struct etw_inband_manifests *inband;
	uint32_t manifest_id; /* of the last event class that has one */
};

static void release(void *context, struct etw_event_class *class)
{
	(void)context;
	(void)class;
}

static void on_forget(void *context, uint32_t manifest_id)
{
	struct consumer *consumer = context;

	etw_event_table_drop(consumer->event_table, manifest_id, release, NULL);
}

static void visit(void *context, struct etw_event_class *class)
{
	size_t *count = context;

	check(class->provider_name && class->event_name);
	++*count;
}

static void decode(struct consumer *consumer, const struct records *records, bool chosen)
{
	struct etw_event_table_statistics statistics;
	size_t count = 0;

	for (size_t i = 0; i < records->count; i++) {
		const struct etw_record *record = &records->all[i];
		struct etw_event_class *class;
		bool added;

		class = etw_event_table_find(consumer->event_table, record, &added);
		if (!class) {
			check(failing_memory_stop());
			continue;
		}
		consumer->manifest_id = class->manifest_id ? class->manifest_id :
							     consumer->manifest_id;
		if (class->schema) {
			look_at_fields(class->schema, chosen, record);
		}
		look_at_class(class);
	}
	etw_event_table_statistics(consumer->event_table, &statistics);
	etw_event_table_each(consumer->event_table, visit, &count);
	check(count >= statistics.entries && statistics.entries <= CLASSES_MOST);
}

/* ---- what else there is to ask ---- */

static const struct etw_schema *system_schema(void *context, const struct etw_record *record,
					      struct etw_system_answer *answer)
{
	static const struct etw_field fields[] = {
		{ .name = "first", .type = ETW_FIELD_U8, .offset = { 0, 0 }, .size = { 1, 1 } }
	};
	static const struct etw_schema schema = { .event = "System/win:Info",
						  .fields = fields,
						  .field_count = 1,
						  .first_variable = 1,
						  .origin = ETW_SCHEMA_EVENT_INFO };

	(void)context;
	answer->later = (record->id & 3) == 2 && (record->time & 1) != 0;
	answer->provider_name = (record->id & 7) == 7 ? "Answered" : NULL;
	return record->id & 1 ? &schema : NULL;
}

static const char *system_name(void *context, const struct etw_guid *provider)
{
	(void)context;
	return provider->bytes[0] == 0xcc ? "System" : NULL;
}

/* The first record's payload, behind what may be the head of a chunk, as a configured manifest. */
static struct etw_manifest_set *configured(const struct records *records)
{
	struct etw_manifest_set *set = manifest_set_new(NULL);
	struct etw_manifest *manifest = NULL;

	if (set && records->count > 0 && records->all[0].payload_size > 8) {
		manifest = etw_manifest_read((const char *)records->all[0].payload + 8,
					     records->all[0].payload_size - 8U, NULL);
	}
	if (manifest) {
		(void)manifest_set_add(set, manifest, NULL);
	}
	return set;
}

static void first_pass(struct etw_trace_schemas *trace, unsigned how, const struct records *records)
{
	struct etw_trace_schemas_counts counts;

	for (size_t i = 0; i < records->count; i++) {
		if (how & ANNOUNCED_MEANWHILE) {
			trace_schemas_look_at_name(trace, &records->all[i]);
		} else {
			etw_trace_schemas_look(trace, &records->all[i]);
		}
	}
	etw_trace_schemas_finish(trace);
	etw_trace_schemas_count(trace, &counts);
}

static void consume(struct consumer *consumer, unsigned how, const struct records *records)
{
	struct etw_inband_statistics inband;

	for (size_t i = 0; (how & ANNOUNCED_MEANWHILE) && i < records->count; i++) {
		(void)inband_manifests_add(consumer->inband, &records->all[i]);
	}
	decode(consumer, records, false);
	on_forget(consumer, consumer->manifest_id ? consumer->manifest_id : 1);
	decode(consumer, records, true);
	etw_inband_manifests_statistics(consumer->inband, &inband);
}

static void try_records(unsigned how, const struct records *records)
{
	struct consumer consumer = { .event_table = NULL };
	struct etw_trace_schemas *trace = etw_trace_schemas_new(NULL);
	struct etw_schema_origins origins = { .trace = trace,
					      .live = (how & IS_LIVE) != 0,
					      .builtin_names = (how & BUILTIN_NAMES) != 0 };
	struct etw_manifest_set *set = how & WITH_CONFIGURED ? configured(records) : NULL;

	consumer.inband = etw_inband_manifests_new(on_forget, &consumer, NULL);
	origins.inband = how & ANNOUNCED_MEANWHILE ? consumer.inband : NULL;
	origins.configured = set;
	if (how & WITH_SYSTEM) {
		origins.system.schema = system_schema;
		origins.system.provider_name = system_name;
	}
	consumer.event_table = etw_event_table_new(CLASSES_MOST, &origins, NULL);
	if (trace && consumer.inband && consumer.event_table) {
		first_pass(trace, how, records);
		consume(&consumer, how, records);
	} else {
		check(failing_memory_stop());
	}
	etw_event_table_free(consumer.event_table);
	manifest_set_free(set);
	etw_inband_manifests_free(consumer.inband);
	etw_trace_schemas_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	unsigned how = cursor_u8(&c);
	unsigned fails = how & MEMORY_FAILS ? cursor_u8(&c) : 0;
	struct records *records = calloc(1, sizeof *records);

	check(records != NULL);
	while (cursor_left(&c) > 0 && records->count < RECORDS_MOST) {
		take_record(records, &c);
	}
	failing_memory_start(fails);
	try_records(how, records);
	(void)failing_memory_stop();
	free_records(records);
	free(records);
	return 0;
}
