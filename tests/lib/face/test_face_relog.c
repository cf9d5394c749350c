/* SPDX-License-Identifier: MIT */
/*
 * The relogger of the face: what its callback keeps, drops, changes and adds, as a reader of the
 * result sees it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>
#include <etw/relog.h>

#include "tests/support/in_memory.h"
#include "tests/support/temporary.h"

static const struct etw_guid provider =
	ETW_GUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55);
static const struct etw_guid other =
	ETW_GUID_INIT(0x66666666, 0x7777, 0x8888, 0x99, 0x99, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa);
static const struct etw_guid image_class =
	ETW_GUID_INIT(0x2cb15d1d, 0x5fc1, 0x11d2, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18);

enum { EVENTS = 40 };

/* ---- recordings ---- */

/* Events with the ids 1 to EVENTS at the times of their ids, with their id as payload. */
static struct etw_writer *numbered(const uint8_t **bytes, size_t *size)
{
	const struct etw_writer_options options = { .processors = 2, .buffer_size = 4096 };
	struct etw_writer *writer = open_in_memory(&options);

	for (uint16_t i = 1; i <= EVENTS; i++) {
		const uint32_t payload = i;
		const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
						       .processor = i % 2,
						       .raw_time = i,
						       .provider = &provider,
						       .id = i,
						       .process_id = 100,
						       .thread_id = 101,
						       .payload = &payload,
						       .payload_size = sizeof payload };

		etw_writer_add(writer, &record);
	}
	*bytes = finish_in_memory(writer, size);
	return writer;
}

/* What a reader sees of the result, the header left out: an entry for each event. */
struct result {
	unsigned count;
	struct {
		uint16_t id;
		uint8_t first_byte;
		uint32_t payload_size;
		int64_t raw_time;
		bool of_other;
		bool is_image;
		uint32_t thread_id;
		uint64_t keyword;
	} events[EVENTS + 8];
};

static void see(void *context, struct etw_event *event)
{
	const struct etw_record *record = event->record;
	struct result *result = context;

	if (record->index == 0) {
		return;
	}
	assert_true(result->count < EVENTS + 8);
	result->events[result->count].id = record->id;
	result->events[result->count].first_byte = record->payload_size ? record->payload[0] : 0;
	result->events[result->count].payload_size = record->payload_size;
	result->events[result->count].raw_time = record->raw_time;
	result->events[result->count].of_other = etw_guid_equal(record->provider, &other);
	result->events[result->count].is_image = etw_event_is(event, NULL, "Image/Load");
	result->events[result->count].thread_id = record->thread_id;
	result->events[result->count].keyword = record->keyword;
	result->count++;
}

static void read_result(const uint8_t *bytes, size_t size, struct result *result)
{
	struct etw_error err = { 0 };
	struct etw_trace *trace = etw_open_bytes(bytes, size, NULL, &err);
	struct etw_losses losses;

	result->count = 0;
	assert_string_equal(err.text, "");
	assert_true(etw_run(trace, &(struct etw_callbacks){ .context = result, .on_event = see },
			    NULL));
	assert_true(etw_losses(trace, &losses, NULL));
	assert_int_equal(losses.damaged_buffers + losses.damaged_records, 0);
	etw_close(trace);
}

/* Relogs the numbered recording in memory; context is also that of the callback. */
static void relog_numbered(etw_decide *decide, void *context, const struct etw_new_event *added,
			   struct result *result, struct etw_relog_counts *counts)
{
	const uint8_t *bytes, *written;
	size_t size, written_size;
	struct etw_writer *writer = numbered(&bytes, &size);
	struct etw_error err = { 0 };
	struct etw_relog *relog = etw_open_relog_bytes(bytes, size, NULL, NULL, &err);

	assert_non_null(relog);
	if (added) {
		assert_true(etw_inject(relog, added, &err));
	}
	assert_true(etw_relog_run(relog, decide, context, &err));
	written = etw_relog_bytes(relog, &written_size, &err);
	assert_string_equal(err.text, "");
	assert_non_null(written);
	read_result(written, written_size, result);
	assert_true(etw_close_relog(relog, counts, &err));
	etw_writer_close(writer);
}

/* ---- tests ---- */

static enum etw_action keep(void *context, struct etw_relog *relog, struct etw_event *event)
{
	(void)context;
	(void)relog;
	(void)event;
	return ETW_KEEP;
}

static void what_is_kept_stays_as_it_is(void **state)
{
	const uint8_t *bytes, *written;
	size_t size, written_size;
	struct etw_writer *writer = numbered(&bytes, &size);
	struct etw_relog *relog = etw_open_relog_bytes(bytes, size, NULL, NULL, NULL);
	struct etw_relog_counts counts;

	(void)state;
	assert_true(etw_relog_run(relog, keep, NULL, NULL));
	written = etw_relog_bytes(relog, &written_size, NULL);
	assert_int_equal(written_size, size);
	assert_memory_equal(written, bytes, size);
	assert_true(etw_close_relog(relog, &counts, NULL));
	assert_int_equal(counts.events, EVENTS + 1);
	assert_int_equal(counts.changed + counts.dropped + counts.injected, 0);
	etw_writer_close(writer);
}

static enum etw_action drop_odd(void *context, struct etw_relog *relog, struct etw_event *event)
{
	(void)context;
	(void)relog;
	/* The header of the recording cannot be dropped. */
	return event->record->index == 0 || event->record->id % 2 == 1 ? ETW_DROP : ETW_KEEP;
}

static void what_is_dropped_is_missing(void **state)
{
	struct etw_relog_counts counts;
	struct result result;

	(void)state;
	relog_numbered(drop_odd, NULL, NULL, &result, &counts);
	assert_int_equal(result.count, EVENTS / 2);
	for (unsigned i = 0; i < result.count; i++) {
		assert_int_equal(result.events[i].id, 2 * i + 2);
	}
	assert_int_equal(counts.dropped, EVENTS / 2);
	assert_int_equal(counts.events, EVENTS / 2 + 1);
}

static enum etw_action change(void *context, struct etw_relog *relog, struct etw_event *event)
{
	static const uint8_t longer[300] = { 0xaa };
	static const uint8_t shorter[2] = { 0xbb };
	struct etw_error err = { 0 };

	(void)context;
	switch (event->record->id) {
	case 3:
		assert_true(etw_set_provider(relog, &other, &err));
		break;
	case 4: /* the last payload counts, and the header before and after it */
		assert_true(etw_set_header(relog, ETW_HEADER_THREAD_ID, 7, &err));
		assert_true(etw_set_payload(relog, longer, sizeof longer, &err));
		assert_true(etw_set_provider(relog, &other, &err));
		assert_true(etw_set_payload(relog, shorter, sizeof shorter, &err));
		assert_true(etw_set_header(relog, ETW_HEADER_KEYWORD, UINT64_MAX, &err));
		assert_int_equal(event->record->payload_size, 4); /* the event itself stays */
		break;
	case 5:
		assert_true(etw_set_payload(relog, longer, sizeof longer, &err));
		break;
	case 6:
		assert_true(etw_set_payload(relog, NULL, 0, &err));
		break;
	case 7: /* a change that fails changes nothing */
		assert_false(etw_set_header(relog, ETW_HEADER_ID, 65536, &err));
		assert_string_equal(err.text, "id: at most 65535 fits in a header");
		assert_false(etw_set_payload(relog, longer, UINT16_MAX, &err));
		assert_string_equal(err.text, "a payload of 65535 bytes fits into no record");
		break;
	default:
		break;
	}
	return ETW_KEEP;
}

static void changes_are_in_the_result(void **state)
{
	struct etw_relog_counts counts;
	struct result result;

	(void)state;
	relog_numbered(change, NULL, NULL, &result, &counts);
	assert_int_equal(result.count, EVENTS);
	for (unsigned i = 0; i < result.count; i++) { /* all are there, in their order */
		assert_int_equal(result.events[i].id, i + 1);
		assert_int_equal(result.events[i].of_other, i + 1 == 3 || i + 1 == 4);
	}
	assert_int_equal(result.events[3].first_byte, 0xbb);
	assert_int_equal(result.events[3].payload_size, 2);
	assert_int_equal(result.events[3].thread_id, 7);
	assert_true(result.events[3].keyword == UINT64_MAX);
	assert_int_equal(result.events[4].first_byte, 0xaa);
	assert_int_equal(result.events[4].payload_size, 300);
	assert_int_equal(result.events[5].payload_size, 0);
	assert_int_equal(result.events[6].first_byte, 7);
	assert_int_equal(result.events[6].payload_size, 4);
	assert_int_equal(counts.changed, 4);
}

static const uint8_t image[] = { 0, 0, 0, 0x40, 1, 0, 0, 0, 0, 0x10, 0, 0, 'a', 0, 0, 0 };

static void new_events_come_at_their_time(void **state)
{
	const struct etw_new_event event = { .provider = &image_class,
					     .classic = true,
					     .opcode = 10,
					     .raw_time = 17,
					     .processor = 1,
					     .thread_id = 9,
					     .pointer_size = 8,
					     .payload = image,
					     .payload_size = sizeof image };
	struct etw_relog_counts counts;
	struct result result;

	(void)state;
	relog_numbered(keep, NULL, &event, &result, &counts);
	assert_int_equal(result.count, EVENTS + 1);
	assert_int_equal(result.events[16].id, 17);
	assert_true(result.events[17].is_image); /* behind the other event of its time */
	assert_int_equal(result.events[17].raw_time, 17);
	assert_int_equal(result.events[17].thread_id, 9);
	assert_int_equal(result.events[18].id, 18);
	assert_int_equal(counts.injected, 1);
	assert_int_equal(counts.events, EVENTS + 2);
}

/* Adds two events for each of three, the later one first. */
static enum etw_action inject(void *context, struct etw_relog *relog, struct etw_event *event)
{
	struct etw_new_event added = { .provider = &other,
				       .id = 1000,
				       .pointer_size = 8,
				       .raw_time = event->record->raw_time + 20 };

	(void)context;
	if (event->record->id >= 1 && event->record->id <= 3) {
		assert_true(etw_inject(relog, &added, NULL));
		added.id = 2000;
		added.raw_time = etw_relog_raw_time(relog, event->record->time);
		assert_true(etw_inject(relog, &added, NULL));
	}
	return ETW_KEEP;
}

static void the_callback_adds_events_in_any_order(void **state)
{
	static const uint16_t first[] = { 1, 2000, 2, 2000, 3, 2000, 4 };
	static const uint16_t later[] = { 21, 1000, 22, 1000, 23, 1000, 24 };
	struct etw_relog_counts counts;
	struct result result;

	(void)state;
	relog_numbered(inject, NULL, NULL, &result, &counts);
	assert_int_equal(result.count, EVENTS + 6);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(result.events[i].id, first[i]);
		assert_int_equal(result.events[20 + 3 + i].id, later[i]);
	}
}

static void a_new_event_must_fit_into_the_recording(void **state)
{
	const uint8_t *bytes;
	size_t size;
	struct etw_writer *writer = numbered(&bytes, &size);
	struct etw_relog *relog = etw_open_relog_bytes(bytes, size, NULL, NULL, NULL);
	struct etw_new_event event = { .provider = &other, .processor = 2 };
	struct etw_error err = { 0 };

	(void)state;
	assert_false(etw_inject(relog, &event, &err));
	assert_string_equal(err.text, "new event: cpu: expected a number from 0 to 1, found 2");
	event.processor = 0;
	event.payload = bytes;
	event.payload_size = 65500;
	assert_false(etw_inject(relog, &event, &err));
	assert_string_equal(err.text, "a payload of 65500 bytes fits into no record");
	event.payload_size = SIZE_MAX;
	assert_false(etw_inject(relog, &event, &err));
	etw_close_relog(relog, NULL, NULL);
	etw_writer_close(writer);
}

static enum etw_action change_kernel(void *context, struct etw_relog *relog,
				     struct etw_event *event)
{
	struct etw_error err = { 0 };

	(void)context;
	(void)event;
	assert_false(etw_set_provider(relog, &other, &err));
	assert_string_equal(err.text, "a header of type system has no provider");
	assert_false(etw_set_header(relog, ETW_HEADER_KEYWORD, 1, &err));
	assert_string_equal(err.text, "a header of type system has no keyword");
	assert_false(etw_set_header(relog, ETW_HEADER_KEYWORD, 0, &err));
	assert_string_equal(err.text, "a header of type system has no keyword");
	return ETW_KEEP;
}

static void a_kernel_event_has_no_provider(void **state)
{
	struct etw_writer *writer = open_in_memory(&(struct etw_writer_options){ 0 });
	struct etw_relog_counts counts;
	struct etw_relog *relog;
	const uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = finish_in_memory(writer, &size);
	relog = etw_open_relog_bytes(bytes, size, NULL, NULL, NULL);
	assert_true(etw_relog_run(relog, change_kernel, NULL, NULL));
	assert_true(etw_close_relog(relog, &counts, NULL));
	assert_int_equal(counts.changed, 0);
	etw_writer_close(writer);
}

/* ---- files ---- */

static void *read_file(const char *path, size_t *size)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "rb");

	if (!file) {
		return NULL;
	}
	*size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	return bytes;
}

static enum etw_action stop(void *context, struct etw_relog *relog, struct etw_event *event)
{
	(void)context;
	(void)relog;
	return event->record->id == 20 ? ETW_STOP : ETW_KEEP;
}

static enum etw_action stop_for_a_change(void *context, struct etw_relog *relog,
					 struct etw_event *event)
{
	(void)context;
	if (event->record->id == 10) {
		etw_set_header(relog, ETW_HEADER_LEVEL, 256, NULL); /* of another event */
	}
	if (event->record->id == 20) {
		etw_set_header(relog, ETW_HEADER_ID, 65536, NULL);
		return ETW_STOP;
	}
	return ETW_KEEP;
}

static void a_copy_that_stops_for_a_change_has_its_error(void **state)
{
	const uint8_t *bytes;
	size_t size;
	struct etw_writer *writer = numbered(&bytes, &size);
	struct etw_relog *relog = etw_open_relog_bytes(bytes, size, NULL, NULL, NULL);
	struct etw_error err = { 0 };

	(void)state;
	assert_false(etw_relog_run(relog, stop_for_a_change, NULL, NULL));
	assert_false(etw_close_relog(relog, NULL, &err));
	assert_string_equal(err.text, "id: at most 65535 fits in a header");
	etw_writer_close(writer);
}

static void a_stopped_copy_leaves_the_output_as_it_was(void **state)
{
	const uint8_t *bytes;
	size_t size;
	struct etw_writer *writer = numbered(&bytes, &size);
	char path[TEMPORARY_PATH_SIZE];
	struct etw_relog *relog;
	struct etw_error err = { 0 };
	void *left;

	(void)state;
	temporary_path(path, "etl");
	temporary_write(path, "before", 6);
	relog = etw_open_relog_bytes(bytes, size, path, NULL, NULL);
	assert_false(etw_relog_run(relog, stop, NULL, &err));
	assert_string_equal(err.text, "the callback stopped the copy");
	err = (struct etw_error){ 0 };
	assert_false(etw_close_relog(relog, NULL, &err));
	assert_string_equal(err.text, "the callback stopped the copy");
	left = read_file(path, &size);
	assert_int_equal(size, 6);
	assert_memory_equal(left, "before", 6);
	remove(path);
	etw_writer_close(writer);
}

static void the_result_takes_the_place_of_the_output(void **state)
{
	const struct etw_relog_options options = { .packing = ETW_COMPRESSED };
	const uint8_t *bytes;
	size_t size;
	struct etw_writer *writer = numbered(&bytes, &size);
	char path[TEMPORARY_PATH_SIZE];
	struct etw_relog *relog;
	struct result result;
	struct etw_error err = { 0 };
	void *written;

	(void)state;
	temporary_path(path, "etl");
	relog = etw_open_relog_bytes(bytes, size, path, &options, NULL);
	assert_true(etw_relog_run(relog, keep, NULL, &err));
	assert_null(etw_relog_bytes(relog, &size, &err));
	assert_string_equal(err.text, "the relog has no result in memory, but an output");
	assert_true(etw_close_relog(relog, NULL, &err));
	written = read_file(path, &size);
	assert_non_null(written);
	read_result(written, size, &result);
	assert_int_equal(result.count, EVENTS);
	remove(path);
	etw_writer_close(writer);
}

static void an_output_that_cannot_be_written_is_an_error(void **state)
{
	const uint8_t *bytes;
	size_t size;
	struct etw_writer *writer = numbered(&bytes, &size);
	struct etw_relog *relog;
	struct etw_error err = { 0 };

	(void)state;
	relog = etw_open_relog_bytes(bytes, size, "no such folder/out.etl", NULL, &err);
	if (relog) {
		etw_relog_run(relog, keep, NULL, NULL);
		assert_false(etw_close_relog(relog, NULL, &err));
	}
	assert_non_null(strstr(err.text, "no such folder"));
	etw_writer_close(writer);
}

/* ---- recordings from nothing ---- */

static void what_is_written_is_what_is_read(void **state)
{
	const struct etw_new_recording_options options = { .session_name = "made",
							   .processors = 2,
							   .pointer_size = 4,
							   .clock_frequency = 1000,
							   .start_time =
								   INT64_C(133700000000000000) };
	struct etw_new_event image_load = { .provider = &image_class,
					    .classic = true,
					    .opcode = 10,
					    .raw_time = 5,
					    .processor = 1,
					    .pointer_size = 8,
					    .payload = image,
					    .payload_size = sizeof image };
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };
	struct etw_new_recording *writer;
	struct etw_trace *trace;
	struct etw_facts facts;
	struct result result = { .count = 0 };

	(void)state;
	temporary_path(path, "etl");
	writer = etw_open_writer(path, &options, &err);
	assert_non_null(writer);
	assert_true(etw_write(writer, &image_load, &err));
	for (uint16_t i = 1; i <= 10; i++) {
		assert_true(etw_write(writer,
				      &(struct etw_new_event){ .provider = &other,
							       .id = i,
							       .keyword = i,
							       .raw_time = i,
							       .payload = &i,
							       .payload_size = sizeof i },
				      &err));
	}
	image_load.processor = 2;
	assert_false(etw_write(writer, &image_load, &err));
	assert_string_equal(err.text, "processor 2: the recording has 2 of them");
	assert_true(etw_close_writer(writer, &err));
	assert_false(etw_close_writer(writer, &err));
	assert_string_equal(err.text, "the writer is closed");
	trace = etw_open_recording(path, NULL, NULL);
	assert_true(etw_facts(trace, &facts, NULL));
	assert_int_equal(facts.processors, 2);
	assert_int_equal(facts.clock_frequency, 1000);
	assert_true(etw_run(trace, &(struct etw_callbacks){ .context = &result, .on_event = see },
			    NULL));
	etw_close(trace);
	remove(path);
	assert_int_equal(result.count, 11);
	assert_int_equal(result.events[0].id, 1);
	assert_int_equal(result.events[0].first_byte, 1);
	assert_true(result.events[4].is_image || result.events[5].is_image);
	assert_int_equal(result.events[10].id, 10);
	assert_true(result.events[10].keyword == 10);
}

static void a_writer_says_what_is_wrong(void **state)
{
	const struct etw_new_recording_options sizes = { .pointer_size = 5 };
	static char long_name[40000];
	const struct etw_new_recording_options named = { .session_name = long_name };
	const struct etw_new_event event = { .provider = &other };
	struct etw_error err = { 0 };

	(void)state;
	memset(long_name, 'n', sizeof long_name - 1);
	assert_null(etw_open_writer(NULL, NULL, &err));
	assert_string_equal(err.text, "the path of the recording is NULL");
	assert_null(etw_open_writer("", NULL, &err));
	assert_string_equal(err.text, "the path of the recording is empty");
	assert_null(etw_open_writer("made.etl", &sizes, &err));
	assert_string_equal(err.text, "the pointer size is 5; it can be 4, 8 or 0");
	assert_int_equal(err.code, ETW_ERROR_MISUSE);
	assert_null(etw_open_writer("made.etl", &named, &err));
	assert_string_equal(err.text, "made.etl: record of 80314 bytes: the most are 65535");
	assert_null(etw_open_writer("no such folder/made.etl", NULL, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_false(etw_write(NULL, &event, &err));
	assert_string_equal(err.text, "the writer is NULL");
	assert_false(etw_close_writer(NULL, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_stays_as_it_is),
		cmocka_unit_test(what_is_dropped_is_missing),
		cmocka_unit_test(changes_are_in_the_result),
		cmocka_unit_test(new_events_come_at_their_time),
		cmocka_unit_test(the_callback_adds_events_in_any_order),
		cmocka_unit_test(a_new_event_must_fit_into_the_recording),
		cmocka_unit_test(a_kernel_event_has_no_provider),
		cmocka_unit_test(a_copy_that_stops_for_a_change_has_its_error),
		cmocka_unit_test(a_stopped_copy_leaves_the_output_as_it_was),
		cmocka_unit_test(the_result_takes_the_place_of_the_output),
		cmocka_unit_test(an_output_that_cannot_be_written_is_an_error),
		cmocka_unit_test(what_is_written_is_what_is_read),
		cmocka_unit_test(a_writer_says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
