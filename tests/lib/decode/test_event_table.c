/* SPDX-License-Identifier: MIT */
/*
 * The event classes that a consumer remembers: what a process that makes up classes costs others,
 * and when an event class is resolved again.
 */
#include <etw/kernel.h>

#include <etw/event_table.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/decode/event_schema.h"
#include "lib/decode/trace_schemas.h"
#include "lib/source/event_record.h"

enum { MOST = 512, HONEST = 40, HOSTILE = 66, HONEST_CLASSES = 40, ROUNDS = 4000 };

static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid evil = { { 0xe0 } };

static struct etw_record event(const struct etw_guid *provider, uint32_t process_id, uint16_t id)
{
	return (struct etw_record){ .provider = provider,
				    .type = ETW_RECORD_EVENT,
				    .id = id,
				    .process_id = process_id,
				    .payload = (const uint8_t *)"",
				    .pointer_size = 8,
				    .kernel_group = 0xff };
}

static struct etw_event_class *find(struct etw_event_table *event_table,
				    const struct etw_record *record, bool *added)
{
	struct etw_event_class *usual =
		etw_event_table_usual(etw_event_table_usual_classes(event_table), record);
	struct etw_event_class *class = etw_event_table_find(event_table, record, added);

	assert_non_null(class);
	if (usual) {
		assert_ptr_equal(usual, class);
		assert_false(*added);
	}
	assert_int_equal(class->id, record->id);
	assert_int_equal(class->version, record->version);
	assert_int_equal(class->opcode, record->opcode);
	assert_true(etw_guid_equal(&class->provider, record->provider));
	return class;
}

/* The well-behaved processes write all their event classes in turn, each between some made-up ones
 * of another process. */
static void a_process_that_makes_up_event_classes_evicts_no_other(void **state)
{
	struct etw_event_table *event_table = etw_event_table_new(MOST, NULL, NULL);
	struct etw_event_table_statistics statistics;
	unsigned worked_out = 0;
	uint32_t made_up = 0;
	bool added;

	(void)state;
	assert_non_null(event_table);
	for (; made_up < 10 * MOST; made_up++) {
		const struct etw_record record = event(&evil, HOSTILE, (uint16_t)made_up);

		find(event_table, &record, &added);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct etw_record honest =
			event(&alpha, HONEST, (uint16_t)(i % HONEST_CLASSES));

		for (unsigned j = 0; j < 4; j++, made_up++) {
			struct etw_record record = event(&evil, HOSTILE, (uint16_t)made_up);

			record.version = (uint8_t)(made_up >> 16);
			find(event_table, &record, &added);
		}
		find(event_table, &honest, &added);
		worked_out += added;
	}
	assert_in_range(worked_out, HONEST_CLASSES, 2 * HONEST_CLASSES);
	etw_event_table_statistics(event_table, &statistics);
	assert_int_equal(statistics.entries, MOST);
	assert_int_equal(statistics.hits, ROUNDS - worked_out);
	assert_int_equal(statistics.misses, made_up + worked_out);
	assert_int_equal(statistics.evictions, statistics.misses - MOST);
	etw_event_table_free(event_table);
}

/* Where everything is in use as well, something has to go. */
static void more_event_classes_in_use_than_there_is_room_for_are_all_found(void **state)
{
	struct etw_event_table *event_table = etw_event_table_new(MOST, NULL, NULL);
	bool added;

	(void)state;
	assert_non_null(event_table);
	for (unsigned i = 0; i < 20 * MOST; i++) {
		const struct etw_record record =
			event(&alpha, HONEST, (uint16_t)(i / 2 % (2 * MOST)));

		find(event_table, &record, &added);
		assert_false(added && i % 2 == 1);
	}
	etw_event_table_free(event_table);
}

/* They are found by group and opcode, a way of their own. */
static void kernel_event_classes_are_evicted_like_others(void **state)
{
	struct etw_event_table *event_table = etw_event_table_new(3, NULL, NULL);
	uint32_t random = 1;
	bool added;

	(void)state;
	assert_non_null(event_table);
	for (unsigned i = 0; i < 10000; i++) {
		struct etw_record record = event(&alpha, 0, 0);

		random = random * 1664525 + 1013904223;
		record.type = ETW_RECORD_PERFINFO;
		record.classic = true;
		record.kernel_group = random & 0x10000 ? 3 : 4;
		record.provider = random & 0x10000 ? &alpha : &evil;
		record.opcode = (uint8_t)(random >> 20 & 1);
		record.version = (uint8_t)(random >> 24 & 1);
		if (random >> 28 & 1) {
			record.kernel_group = 0xff; /* the same with another header */
		}
		find(event_table, &record, &added);
	}
	etw_event_table_free(event_table);
}

/* A minifilter's request has one of two layouts, or none that is known. The records of all three
 * come in turn, in both ways in which classes are found. */
static void a_layout_that_the_size_decides_is_that_of_each_record(void **state)
{
	static const uint8_t zeros[64];
	static const struct {
		uint32_t size;
		const char *layout;
	} sizes[] = {
		{ 44, "FileIo_ReadWrite" }, { 40, "FileIo_Info" }, { 43, NULL }, { 64, NULL }
	};
	enum { FILE_IO = 4, SIZES = sizeof sizes / sizeof sizes[0] };
	struct etw_event_table *event_table = etw_event_table_new(MOST, NULL, NULL);
	unsigned resolved = 0;

	(void)state;
	assert_non_null(event_table);
	for (unsigned i = 0; i < 10 * SIZES; i++) {
		const char *layout = sizes[i * 3 % SIZES].layout;
		struct etw_record record = event(etw_kernel_group_guid(FILE_IO), 0, 0);
		const struct etw_event_class *class;
		bool added;

		record.type = ETW_RECORD_PERFINFO;
		record.classic = true;
		record.opcode = ETW_KERNEL_OPCODE_FILE_IO_FLT_WRITE;
		record.version = 3;
		record.kernel_group = i / SIZES % 2 ? FILE_IO : 0xff;
		record.payload = zeros;
		record.payload_size = sizes[i * 3 % SIZES].size;
		class = find(event_table, &record, &added);
		if (layout) {
			assert_non_null(class->schema);
			assert_string_equal(class->schema->event, layout);
		} else {
			assert_null(class->schema);
		}
		assert_string_equal(class->event_name, "FileIo/FltWrite");
		resolved += added;
	}
	assert_int_equal(resolved, 3); /* those of unknown sizes share a class */
	etw_event_table_free(event_table);
}

/* ---- event classes that are resolved again ---- */

struct windows {
	bool busy;
	bool knows;
	unsigned queries;
};

static const struct etw_schema known = { .event = "Known", .origin = ETW_SCHEMA_EVENT_INFO };

static const struct etw_schema *ask(void *context, const struct etw_record *record,
				    struct etw_system_answer *answer)
{
	struct windows *windows = context;

	(void)record;
	windows->queries++;
	answer->later = windows->busy;
	return windows->knows && !windows->busy ? &known : NULL;
}

static void an_event_class_is_resolved_again_when_the_system_was_busy(void **state)
{
	(void)state;
	for (unsigned knows = 0; knows < 2; knows++) {
		struct windows windows = { .busy = true, .knows = knows };
		const struct etw_schema_origins origins = { .live = true,
							    .system = { &windows, ask, NULL } };
		struct etw_event_table *event_table = etw_event_table_new(MOST, &origins, NULL);
		const struct etw_record record = event(&alpha, HOSTILE, 5);
		const struct etw_event_class *class;
		bool added;

		assert_non_null(event_table);
		find(event_table, &record, &added);
		assert_true(added);
		class = find(event_table, &record, &added);
		assert_false(added);
		assert_null(class->schema);
		assert_int_equal(windows.queries, 2);
		windows.busy = false;
		class = find(event_table, &record, &added);
		assert_true(added);
		assert_ptr_equal(class->schema, knows ? &known : NULL);
		assert_string_equal(class->event_name, knows ? "Known" : "5");
		windows.queries = 0;
		find(event_table, &record, &added);
		assert_false(added);
		assert_int_equal(windows.queries, 0); /* what it says once is said */
		etw_event_table_free(event_table);
	}
}

static void an_event_class_has_the_provider_name_once_it_is_announced(void **state)
{
	struct etw_trace_schemas *trace = etw_trace_schemas_new(NULL);
	const struct etw_schema_origins origins = { .live = true, .trace = trace };
	struct etw_event_table *event_table = etw_event_table_new(MOST, &origins, NULL);
	const struct etw_record record = event(&alpha, HONEST, 5);
	bool added;

	(void)state;
	assert_true(trace && event_table);
	find(event_table, &record, &added);
	trace_schemas_claim_name(trace, &evil, "Evil");
	assert_string_equal(find(event_table, &record, &added)->provider_name,
			    "000000a1-0000-0000-0000-000000000000");
	assert_false(added);
	trace_schemas_claim_name(trace, &alpha, "Alpha");
	assert_string_equal(find(event_table, &record, &added)->provider_name, "Alpha");
	assert_true(added);
	trace_schemas_claim_name(trace, &alpha, "Another");
	assert_string_equal(find(event_table, &record, &added)->provider_name, "Alpha");
	assert_false(added);
	etw_event_table_free(event_table);
	etw_trace_schemas_free(trace);
}

/* A TraceLogging event without fields; bytes has room for it. */
static struct etw_record self_describing(const struct etw_guid *provider, uint8_t bytes[32],
					 uint32_t number)
{
	struct etw_record record = event(provider, HONEST, 0);

	memset(bytes, 0, 32);
	bytes[0] = 32;
	bytes[2] = ETW_EXTENDED_TRACELOGGING;
	bytes[6] = 14; /* of the item */
	bytes[8] = 14;
	snprintf((char *)bytes + 11, 11, "E%09u", (unsigned)number);
	record.extended = bytes;
	record.extended_size = 32;
	return record;
}

static void made_up_metadata_blanks_no_event_of_others(void **state)
{
	const struct etw_schema_origins origins = { .live = true };
	struct etw_event_table *event_table = etw_event_table_new(MOST, &origins, NULL);
	struct etw_event_table_statistics statistics;
	uint8_t bytes[32];
	bool added;

	(void)state;
	assert_non_null(event_table);
	for (uint32_t i = 1; i < 50000; i++) {
		struct etw_record record = self_describing(&evil, bytes, i);

		assert_non_null(find(event_table, &record, &added)->schema);
		assert_true(added);
		record = self_describing(&alpha, bytes, i % 10 == 0 ? i : 0);
		assert_non_null(find(event_table, &record, &added)->schema);
	}
	etw_event_table_statistics(event_table, &statistics);
	assert_true(statistics.evictions > 50000 - MOST);
	etw_event_table_free(event_table);
}

static bool is_usual(struct etw_event_table *event_table, const struct etw_record *record)
{
	return etw_event_table_usual(etw_event_table_usual_classes(event_table), record) != NULL;
}

/* An event of the kernel in a live session: its provider has a name at once. */
static struct etw_record thread_event(uint8_t opcode)
{
	struct etw_record record = event(etw_kernel_record_guid(3, opcode), HONEST, 0);

	record.type = ETW_RECORD_FULL;
	record.classic = true;
	record.opcode = opcode;
	return record;
}

static void a_usual_event_class_is_found_without_a_call_until_it_is_resolved_again(void **state)
{
	static const struct {
		const char *name;
		uint8_t opcode;
		uint8_t group;
		bool extended, usual;
	} cases[] = {
		{ "an event that announces nothing", 50, ETW_RECORD_NO_GROUP, false, true },
		{ "the start of a process", 1, ETW_RECORD_NO_GROUP, false, false },
		{ "the end of a process", 2, ETW_RECORD_NO_GROUP, false, false },
		{ "extended items", 50, ETW_RECORD_NO_GROUP, true, false },
		{ "a kernel record that announces nothing", 51, 3, false, true },
		{ "a kernel record with the start of a process", 1, 3, false, false },
	};
	struct etw_event_table *event_table = etw_event_table_new(MOST, NULL, NULL);
	uint8_t items[32];
	bool added;

	(void)state;
	assert_non_null(event_table);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_record record = thread_event(cases[i].opcode);

		print_message("  %s\n", cases[i].name);
		record.kernel_group = cases[i].group;
		if (cases[i].extended) {
			record.extended = self_describing(&alpha, items, 0).extended;
			record.extended_size = sizeof items;
		}
		find(event_table, &record, &added);
		assert_int_equal(is_usual(event_table, &record), cases[i].usual);
		etw_event_table_renew(event_table, NULL);
		assert_false(is_usual(event_table, &record));
		find(event_table, &record, &added);
		assert_true(added);
		assert_int_equal(is_usual(event_table, &record), cases[i].usual);
	}
	etw_event_table_free(event_table);
}

/* Records of one group and opcode that differ in version or pointer size are of two classes. */
static void a_usual_kernel_record_is_of_the_last_event_class(void **state)
{
	struct etw_event_table *event_table = etw_event_table_new(MOST, NULL, NULL);
	struct etw_record first = thread_event(50), second, third;
	bool added;

	(void)state;
	assert_non_null(event_table);
	first.kernel_group = 3;
	second = third = first;
	second.version++;
	third.pointer_size = 4;
	find(event_table, &first, &added);
	assert_true(is_usual(event_table, &first));
	assert_false(is_usual(event_table, &second));
	assert_false(is_usual(event_table, &third));
	find(event_table, &second, &added);
	assert_true(added);
	assert_false(is_usual(event_table, &first));
	assert_true(is_usual(event_table, &second));
	find(event_table, &first, &added);
	assert_false(added);
	assert_true(is_usual(event_table, &first));
	etw_event_table_free(event_table);
}

static void the_class_key_is_that_of_the_members(void **state)
{
	const struct etw_record record = { .class_key = record_class_key(0x1234, 5, 6, 8,
									 ETW_RECORD_FULL, true,
									 ETW_RECORD_NO_GROUP) };

	(void)state;
	assert_int_equal(record.id, 0x1234);
	assert_int_equal(record.version, 5);
	assert_int_equal(record.opcode, 6);
	assert_int_equal(record.pointer_size, 8);
	assert_int_equal(record.type, ETW_RECORD_FULL);
	assert_true(record.classic);
	assert_int_equal(record.kernel_group, ETW_RECORD_NO_GROUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_makes_up_event_classes_evicts_no_other),
		cmocka_unit_test(more_event_classes_in_use_than_there_is_room_for_are_all_found),
		cmocka_unit_test(kernel_event_classes_are_evicted_like_others),
		cmocka_unit_test(a_layout_that_the_size_decides_is_that_of_each_record),
		cmocka_unit_test(an_event_class_is_resolved_again_when_the_system_was_busy),
		cmocka_unit_test(an_event_class_has_the_provider_name_once_it_is_announced),
		cmocka_unit_test(made_up_metadata_blanks_no_event_of_others),
		cmocka_unit_test(
			a_usual_event_class_is_found_without_a_call_until_it_is_resolved_again),
		cmocka_unit_test(a_usual_kernel_record_is_of_the_last_event_class),
		cmocka_unit_test(the_class_key_is_that_of_the_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
