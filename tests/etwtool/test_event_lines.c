/* SPDX-License-Identifier: MIT */
/*
 * Lines of a dump become records that dump alike, for every record of the sample and the reference
 * recordings; and lines by hand, right and wrong.
 */
#include "etwtool/relog/relog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "etwtool/dump/dump.h"
#include "lib/etl/record.h"
#include "lib/etl/writer.h"
#include "tests/support/each_event.h"
#include "tests/support/temporary.h"

#define TRACES SOURCE_DIR "/../shared/traces"

/* ---- every record of recordings ---- */

struct round {
	struct event_lines *lines;
	struct etw_schema_origins origins; /* a copy: the lines borrow it */
	struct etw_source_clock clock;
	unsigned long records, refused;
};

/* Without the list of extended items, of which a dump has only the sizes. */
static void cut_items(struct etw_text *line)
{
	char *start = strstr(line->data, ", \"ext\": [");
	char *end = start ? strstr(start, "]]") : NULL;

	if (end) {
		memmove(start, end + 2, strlen(end + 2) + 1);
		line->size = strlen(line->data);
	}
}

static void dump_again(const struct etw_out_record *out, const struct seen_event *event,
		       struct etw_text *line)
{
	uint8_t bytes[UINT16_MAX + 8] = { 0 };
	struct etl_walk walk;

	etl_out_record_store(out, event->format->pointer_size, bytes);
	etl_walk_start(&walk, event->format, bytes, (uint32_t)etw_out_record_size(out),
		       out->processor, 0);
	assert_true(etl_walk_seek(&walk, 0, event->record->index));
	dump_add_line(line, &walk.record, event->origins, event->tracelogging, NULL);
}

static void round_trip(void *context, const struct seen_event *event)
{
	struct round *round = context;
	struct etw_text before = { 0 }, after = { 0 };
	struct etw_out_record out;
	struct etw_error err = { 0 };

	if (!round->lines) {
		struct event_lines_options options = { .origins = &round->origins,
						       .clock = &round->clock,
						       .pointer_size =
							       event->format->pointer_size };

		round->origins = *event->origins;
		round->clock = event->format->clock;
		round->lines = event_lines_new(&options, &err);
		assert_non_null(round->lines);
	}
	assert_true(event_lines_learn(round->lines, event->record, &err));
	if (event->seen_often) {
		return;
	}
	dump_add_line(&before, event->record, event->origins, event->tracelogging, NULL);
	round->records++;
	if (!event_lines_read(round->lines, before.data, before.size, &out, &err)) {
		round->refused++;
		if (!strstr(before.data, "\"decoded_by\": \"metadata\"") &&
		    !strstr(before.data, "\"decoded_by\": \"manifestdata\"") &&
		    event->record->type <= ETW_RECORD_STRING &&
		    !strstr(err.text, "this GUID is of none")) {
			fail_msg("%s: %s", err.text, before.data);
		}
	} else {
		dump_again(&out, event, &after);
		cut_items(&before);
		cut_items(&after);
		assert_string_equal(after.data, before.data);
	}
	text_free(&before);
	text_free(&after);
}

static void round_trip_all(const char *path)
{
	struct round round = { .lines = NULL };

	for_each_event(path, round_trip, &round);
	print_message("    %lu records, of %lu only a summary is in a dump\n", round.records,
		      round.refused);
	event_lines_free(round.lines);
}

static void each_line_of_a_dump_becomes_a_record_that_dumps_alike(void **state)
{
	(void)state;
	for_each_recording(TRACES, round_trip_all);
}

/* ---- lines by hand ---- */

static const struct etw_source_clock ten_mhz = { .type = ETW_CLOCK_QPC,
						 .frequency = 10000000,
						 .perf_frequency = 10000000,
						 .anchor_raw = 1000,
						 .anchor_time = 132404548206236167 };

static struct event_lines *lines_by_hand(void)
{
	struct event_lines *lines = event_lines_new(
		&(struct event_lines_options){ .clock = &ten_mhz, .pointer_size = 8 }, NULL);

	assert_non_null(lines);
	return lines;
}

static void a_short_line_is_a_kernel_event(void **state)
{
	static const char line[] =
		"{\"provider_name\": \"Image\", \"opcode\": 10, \"version\": 0, \"pid\": 7, "
		"\"filetime\": 132404548206236267, \"fields\": {\"ImageBase\": 4096, "
		"\"ImageSize\": 8192, \"FileName\": \"C:\\\\x.dll\"}}";
	static const uint8_t payload[] = { 0,   16, 0,   0, 0,   0, 0,    0, 0,   32,
					   0,   0,  'C', 0, ':', 0, '\\', 0, 'x', 0,
					   '.', 0,  'd', 0, 'l', 0, 'l',  0, 0,   0 };
	struct event_lines *lines = lines_by_hand();
	struct etw_out_record out;
	struct etw_error err = { 0 };

	(void)state;
	if (!event_lines_read(lines, line, sizeof line - 1, &out, &err)) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(out.type, ETW_RECORD_SYSTEM);
	assert_int_equal(out.group, 3); /* images are logged in the group of processes */
	assert_int_equal(out.opcode, 10);
	assert_int_equal(out.process_id, 7);
	assert_int_equal(out.raw_time, 1100);
	assert_int_equal(out.payload_size, sizeof payload);
	assert_memory_equal(out.payload, payload, sizeof payload);
	event_lines_free(lines);
}

/* Requests of minifilters have two layouts, which differ by size: a line without `len` is of the
 * one that has its fields. */
static void fields_choose_the_layout_that_a_size_would(void **state)
{
	static const struct {
		const char *fields;
		uint32_t size; /* of the payload; 0: refused */
	} cases[] = {
#define ALL_HAVE "{\"IrpPtr\": 1, \"FileObject\": 2, \"FileKey\": 3, \"TTID\": 4, "
		{ ALL_HAVE "\"Offset\": 0, \"IoSize\": 4096, \"IoFlags\": 0}", 44 },
		{ ALL_HAVE "\"ExtraInfo\": 0, \"InfoClass\": 4}", 40 },
		{ ALL_HAVE "\"ExtraInfo\": 0, \"IoSize\": 4096}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct event_lines *lines = lines_by_hand();
		struct etw_out_record out;
		struct etw_error err = { 0 };
		char line[320];
		bool good;

		snprintf(line, sizeof line,
			 "{\"provider_name\": \"FileIo\", \"opcode\": 84, \"version\": 3, "
			 "\"filetime\": 132404548206236267, \"fields\": %s}",
			 cases[i].fields);
		good = event_lines_read(lines, line, strlen(line), &out, &err);
		assert_int_equal(good, cases[i].size != 0);
		if (good) {
			assert_int_equal(out.payload_size, cases[i].size);
		}
		event_lines_free(lines);
	}
}

static void an_unknown_event_gets_the_layout_of_its_values(void **state)
{
	static const char line[] =
		"{\"kind\": \"event\", \"provider\": \"11111111-2222-3333-4444-555555550002\", "
		"\"provider_name\": \"Contoso.Shop\", \"ts\": 5, \"event\": \"Sold\", \"fields\": "
		"{\"name\": \"tea\", \"count\": 3, \"delta\": -1, \"price\": 2.5, \"new\": true, "
		"\"tags\": [\"a\", \"b\"], \"in\": {\"x\": 1}, \"each\": [{\"y\": 1}, {\"y\": 2}]}}";
	static const char expected[] =
		"\"decoded_by\": \"tracelogging\", \"event\": \"Sold\", \"fields\": {\"name\": "
		"\"tea\", \"count\": 3, \"delta\": -1, \"price\": 2.5, \"new\": true, \"tags\": "
		"[\"a\", \"b\"], \"in\": {\"x\": 1}, \"each\": [{\"y\": 1}, {\"y\": 2}]}";
	struct event_lines *lines = lines_by_hand();
	struct etw_tracelogging_cache *cache = etw_tracelogging_cache_new(NULL);
	struct etw_schema_origins origins = { .live = false };
	struct etl_format format;
	struct seen_event event = { .format = &format,
				    .origins = &origins,
				    .tracelogging = cache,
				    .record = &(struct etw_record){ .index = 1 } };
	struct etw_out_record out;
	struct etw_error err = { 0 };
	struct etw_text dumped = { 0 };

	(void)state;
	if (!event_lines_read(lines, line, sizeof line - 1, &out, &err)) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(out.item_count, 2);
	etl_format_init(&format, &ten_mhz, 8, 0);
	dump_again(&out, &event, &dumped);
	assert_non_null(strstr(dumped.data, expected));
	text_free(&dumped);
	etw_tracelogging_cache_free(cache);
	event_lines_free(lines);
}

/* A line about an unknown event with so many fields, half of them in structures. */
static void add_line_of_fields(struct etw_text *line, unsigned count)
{
	text_add_string(line, "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 5, "
			      "\"event\": \"Wide\", \"fields\": {");
	for (unsigned i = 0; i < count; i += 2) {
		text_add_format(line, "%s\"f%u\": {\"m\": 1}", i > 0 ? ", " : "", i);
	}
	text_add_string(line, "}}");
}

/* docs/etl-format.md section 18: a reader takes 1,024 fields. */
static void an_event_of_too_many_fields_is_refused_as_such(void **state)
{
	struct event_lines *lines = lines_by_hand();
	struct etw_text line = { 0 };
	struct etw_out_record out;
	struct etw_error err = { 0 };

	(void)state;
	add_line_of_fields(&line, 1024);
	if (!event_lines_read(lines, line.data, line.size, &out, &err)) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(out.payload_size, 512 * 8);
	text_clear(&line);
	add_line_of_fields(&line, 1026);
	assert_false(event_lines_read(lines, line.data, line.size, &out, &err));
	assert_string_equal(err.text, "fields: f1024: an event has at most 1024 fields");
	text_free(&line);
	event_lines_free(lines);
}

static void the_name_of_a_provider_is_taken_as_a_whole_or_refused(void **state)
{
	static const struct {
		size_t size;
		const char *end, *sentence; /* NULL: it is taken */
	} cases[] = {
		{ 1, "", NULL },
		{ 1023, "", NULL },
		{ 1024, "", NULL },
		{ 60000, "", NULL },
		{ 65532, "", "the record would be longer than 65535 bytes" },
		{ 65533, "",
		  "provider_name: expected at most 65532 bytes without a NUL, found "
		  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" },
		{ 2, "\\u0000x",
		  "provider_name: expected at most 65532 bytes without a NUL, found nn" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct event_lines *lines = lines_by_hand();
		struct etw_text line = { 0 };
		struct etw_out_record out;
		struct etw_error err = { 0 };
		bool good;

		text_add_string(&line, "{\"provider\": \"11111111-2222-3333-4444-555555550002\", "
				       "\"ts\": 5, \"event\": \"E\", \"fields\": {\"a\": 1}, "
				       "\"provider_name\": \"");
		for (size_t j = 0; j < cases[i].size; j++) {
			text_add_char(&line, 'n');
		}
		text_add_format(&line, "%s\"}", cases[i].end);
		good = event_lines_read(lines, line.data, line.size, &out, &err);
		assert_string_equal(err.text, cases[i].sentence ? cases[i].sentence : "");
		assert_true(good == !cases[i].sentence);
		if (good) {
			assert_int_equal(out.item_count, 2);
			assert_int_equal(out.items[0].type, ETW_EXTENDED_PROVIDER_TRAITS);
			/* The size of all, the name and its NUL. */
			assert_int_equal(out.items[0].size, 2 + cases[i].size + 1);
			assert_int_equal(etw_load_u16(out.items[0].data), out.items[0].size);
		}
		text_free(&line);
		event_lines_free(lines);
	}
}

static bool count_line(void *context, const struct etw_out_record *record, struct etw_error *err)
{
	unsigned *count = context;

	(void)err;
	assert_int_equal(record->process_id, ++*count);
	return true;
}

static void a_file_is_read_line_by_line(void **state)
{
	static const char right[] = "{\"provider_name\": \"Image\", \"ts\": 1, \"pid\": 1}\r\n\n"
				    "{\"provider_name\": \"Image\", \"ts\": 1, \"pid\": 2}";
	static const char wrong[] = "{\"provider_name\": \"Image\", \"ts\": 1, \"pid\": 1}\n\n{}\n";
	struct event_lines *lines = lines_by_hand();
	char path[TEMPORARY_PATH_SIZE], sentence[256];
	struct etw_error err = { 0 };
	unsigned count = 0;

	(void)state;
	temporary_path(path, "jsonl");
	temporary_write(path, right, sizeof right - 1);
	assert_true(event_lines_each(lines, path, count_line, &count, &err));
	assert_int_equal(count, 2);
	temporary_write(path, wrong, sizeof wrong - 1);
	count = 0;
	assert_false(event_lines_each(lines, path, count_line, &count, &err));
	assert_int_equal(count, 1);
	snprintf(sentence, sizeof sentence,
		 "%s:3: provider: expected a GUID (or the name of a kernel class as "
		 "provider_name), but it is missing",
		 path);
	assert_string_equal(err.text, sentence);
	remove(path);
	assert_false(event_lines_each(lines, path, count_line, &count, &err));
	event_lines_free(lines);
}

static void mistakes_name_their_key(void **state)
{
	static const struct {
		const char *line, *sentence;
	} cases[] = {
		{ "{", "expected a key in quotes at character 2" },
		{ "[]", "expected an object, found a list" },
		{ "{\"feilds\": {}}", "feilds: a line has no such key" },
		{ "{\"ts\": 1}", "provider: expected a GUID (or the name of a kernel class as "
				 "provider_name), but it is missing" },
		{ "{\"provider_name\": \"Image\", \"opcode\": 10}",
		  "filetime: expected 100 ns since 1601, a whole number (or ts), but it is "
		  "missing" },
		{ "{\"provider_name\": \"Image\", \"opcode\": 256, \"ts\": 1}",
		  "opcode: expected a whole number from 0 to 255, found 256" },
		{ "{\"provider_name\": \"Image\", \"kind\": \"wnode\", \"ts\": 1}",
		  "kind: expected system, compact, perfinfo, event, full or instance, found "
		  "wnode" },
		{ "{\"provider_name\": \"Image\", \"ptr\": 5, \"ts\": 1}",
		  "ptr: expected 4 or 8, found 5" },
		{ "{\"provider_name\": \"Image\", \"opcode\": 10, \"ts\": 1, \"fields\": "
		  "{\"ImageBase\": -1}}",
		  "fields: ImageBase: expected a whole number from 0 to 18446744073709551615, "
		  "found -1" },
		{ "{\"provider_name\": \"Image\", \"ts\": 1, \"raw\": \"0g\"}",
		  "raw: expected bytes in hexadecimal, two digits each, found \"0g\"" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"kind\": "
		  "\"system\"}",
		  "provider: a record of type system is of a kernel group, but this GUID is of "
		  "none; type \"full\" takes it" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"kind\": "
		  "\"full\", \"fields\": {}}",
		  "fields: no schema is known of this event (provider, id, version and opcode); "
		  "raw takes the bytes of its payload" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, "
		  "\"event\": \"E\", \"fields\": {\"a\": [[1]]}}",
		  "fields: a: a list of lists has no type" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"pid\": -1}",
		  "pid: expected a whole number from 0 to 4294967295, found -1" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"tid\": 4294967296}",
		  "tid: expected a whole number from 0 to 4294967295, found 4294967296" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"id\": 65536}",
		  "id: expected a whole number from 0 to 65535, found 65536" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"version\": 256}",
		  "version: expected a whole number from 0 to 255, found 256" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"level\": true}",
		  "level: expected a whole number from 0 to 255, found true" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"task\": null}",
		  "task: expected a whole number from 0 to 65535, found null" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"cpu\": \"x\"}",
		  "cpu: expected a whole number from 0 to 65535, found x" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"ptr\": 9}",
		  "ptr: expected a whole number from 0 to 8, found 9" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"keyword\": \"0x10000000000000000\"}",
		  "keyword: expected a whole number from 0 to 18446744073709551615, found 0x10000000000000000" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"fields\": [1]}",
		  "fields: expected an object, found a list" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"fields\": {\"a\": 1}}",
		  "event: expected the name of the event, but it is missing" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"fields\": {\"a\": 1}, \"event\": 7}",
		  "event: expected the name of the event, found 7" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"fields\": {\"a\": 1}, \"event\": \"E\", \"len\": 65536}",
		  "len: expected a whole number from 0 to 65535, found 65536" },
		{ "{\"provider\": \"11111111-2222-3333-4444-555555550002\", \"ts\": 1, \"decoded_by\": \"metadata\"}",
		  "decoded_by: a record that describes events is not in a dump as a whole, so none can be made of it" },
		{ "{\"provider_name\": \"Image\", \"ts\": \"1\"}",
		  "ts: expected ticks of the recording's clock, a whole number, found 1" },
		{ "{\"provider_name\": \"Image\", \"filetime\": 1.5}",
		  "filetime: expected 100 ns since 1601, a whole number (or ts), found 1.5" },
		{ "{\"provider_name\": \"Image\", \"kind\": 7, \"ts\": 1}",
		  "kind: expected system, compact, perfinfo, event, full or instance, found 7" },
	};
	struct event_lines *lines = lines_by_hand();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_out_record out;
		struct etw_error err = { 0 };

		assert_false(
			event_lines_read(lines, cases[i].line, strlen(cases[i].line), &out, &err));
		assert_string_equal(err.text, cases[i].sentence);
	}
	event_lines_free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_of_a_dump_becomes_a_record_that_dumps_alike),
		cmocka_unit_test(a_short_line_is_a_kernel_event),
		cmocka_unit_test(fields_choose_the_layout_that_a_size_would),
		cmocka_unit_test(an_unknown_event_gets_the_layout_of_its_values),
		cmocka_unit_test(an_event_of_too_many_fields_is_refused_as_such),
		cmocka_unit_test(the_name_of_a_provider_is_taken_as_a_whole_or_refused),
		cmocka_unit_test(a_file_is_read_line_by_line),
		cmocka_unit_test(mistakes_name_their_key),
	};

	return cmocka_run_group_tests_name("event_lines", tests, NULL, NULL);
}
