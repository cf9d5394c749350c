/* SPDX-License-Identifier: MIT */
/*
 * What the flight recorder writes, read again: records of every type come back as they were, those
 * of two consumers are merged, and what existed before is there as a rundown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/event_table.h>
#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/provider.h>
#include <etw/recording.h>

#include "exporter/recorder/recording.h"
#include "exporter/recorder/tap.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "tests/support/decoded_text.h"
#include "tests/support/temporary.h"

enum { RECORDS_MOST = 64, PAYLOAD_MOST = 1024, FLOOD = 200000 };
#define MEMORY (UINT64_C(4) << 20)

static const struct etw_guid provider = { { 0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
					    1 } };
static const struct etw_guid activity = { { 0x77, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 } };
static const struct config_recorder everything = { .dir = "." };

/* ---- reading ---- */

struct copy {
	struct etw_record record; /* its pointers lead into this struct, or are NULL */
	struct etw_guid provider, activity;
	uint8_t payload[PAYLOAD_MOST], extended[PAYLOAD_MOST];
};

struct copies {
	struct copy list[RECORDS_MOST];
	size_t count; /* may be more */
};

static void on_event(void *context, const struct etw_record *record)
{
	struct copies *copies = context;
	struct copy *copy;

	if (copies->count++ >= RECORDS_MOST || record->payload_size > PAYLOAD_MOST) {
		return;
	}
	copy = &copies->list[copies->count - 1];
	copy->record = *record;
	copy->provider = *record->provider;
	memcpy(copy->payload, record->payload, record->payload_size);
	if (record->activity) {
		copy->activity = *record->activity;
	}
	if (record->extended) {
		assert_true(record->extended_size <= sizeof copy->extended);
		memcpy(copy->extended, record->extended, record->extended_size);
	}
}

static void read_again(const char *path, struct copies *copies)
{
	const struct etw_event_sink sink = { .context = copies, .on_event = on_event };
	struct etw_source *source = etw_source_open_file(path, NULL, NULL);

	memset(copies, 0, sizeof *copies);
	assert_non_null(source);
	assert_true(etw_source_run(source, &sink, NULL));
	etw_source_close(source);
}

/* ---- a consumer ---- */

struct consumer {
	struct tap *tap;
	struct etw_event_table *classes;
	bool kernel_names; /* the kernel's events name the processes */
};

static struct consumer open_consumer_of_clock(uint64_t frequency)
{
	const struct etw_source_facts facts = {
		.name = "test",
		.os_build = 19045,
		.processors = 4,
		.clock = { .type = ETW_CLOCK_QPC,
			   .frequency = frequency,
			   .perf_frequency = frequency,
			   .anchor_raw = 0,
			   .anchor_time = INT64_C(133601436000000000) },
	};
	struct consumer consumer = { .tap = tap_new(&everything, MEMORY, NULL),
				     .classes = etw_event_table_new(1000, NULL, NULL) };

	assert_non_null(consumer.tap);
	assert_non_null(consumer.classes);
	tap_begin(consumer.tap, &facts);
	return consumer;
}

static struct consumer open_consumer(void)
{
	return open_consumer_of_clock(10000000);
}

static void release(void *context, struct etw_event_class *class)
{
	(void)context;
	tap_release(class);
}

static void close_consumer(struct consumer *consumer)
{
	etw_event_table_each(consumer->classes, release, NULL);
	etw_event_table_free(consumer->classes);
	tap_free(consumer->tap);
}

static void take(struct consumer *consumer, const struct etw_record *record)
{
	bool added;
	struct etw_event_class *class = etw_event_table_find(consumer->classes, record, &added);

	assert_non_null(class);
	if (added) {
		assert_true(tap_prepare(consumer->tap, class, !consumer->kernel_names));
	}
	tap_add_event(consumer->tap, record, class, NULL);
}

static void write_to(const char *path, struct consumer *consumers, size_t count,
		     struct recording_result *result)
{
	struct tap *taps[4];
	struct etw_error err = { 0 };

	for (size_t i = 0; i < count; i++) {
		taps[i] = consumers[i].tap;
	}
	if (!recording_write(path, taps, count, NULL, result, &err)) {
		fail_msg("%s", err.text);
	}
}

/* ---- tests ---- */

static void check_equal(const struct copy *copy, const struct etw_record *expected)
{
	const struct etw_record *got = &copy->record;

	assert_int_equal(got->type, expected->type);
	assert_int_equal(got->raw_time, expected->raw_time);
	assert_int_equal(got->processor, expected->processor);
	assert_int_equal(got->process_id, expected->process_id);
	assert_int_equal(got->thread_id, expected->thread_id);
	assert_int_equal(got->id, expected->id);
	assert_int_equal(got->task, expected->task);
	assert_int_equal(got->version, expected->version);
	assert_int_equal(got->opcode, expected->opcode);
	assert_int_equal(got->level, expected->level);
	assert_int_equal(got->channel, expected->channel);
	assert_int_equal(got->pointer_size, expected->pointer_size);
	assert_int_equal(got->classic, expected->classic);
	assert_int_equal(got->kernel_group, expected->kernel_group);
	assert_true(got->keyword == expected->keyword);
	assert_memory_equal(&copy->provider, expected->provider, sizeof provider);
	assert_int_equal(got->activity != NULL, expected->activity != NULL);
	if (expected->activity) {
		assert_memory_equal(&copy->activity, expected->activity, sizeof activity);
	}
	assert_int_equal(got->payload_size, expected->payload_size);
	assert_memory_equal(copy->payload, expected->payload, expected->payload_size);
	assert_int_equal(got->extended_size, expected->extended_size);
	if (expected->extended) {
		assert_memory_equal(copy->extended, expected->extended, expected->extended_size);
	}
}

static void records_of_every_type_come_back(void **state)
{
	/* Two items (docs/etl-format.md section 9): a session id of 4 bytes, and 3 bytes. */
	static const uint8_t items[] = { 16, 0, 3,  0, 1, 0, 4, 0, 9, 8, 7, 6, 0, 0, 0, 0,
					 16, 0, 10, 0, 0, 0, 3, 0, 5, 4, 3, 0, 0, 0, 0, 0 };
	static const uint8_t payload[] = "a payload of 25 characters";
	/* clang-format off */
	struct etw_record rows[] = {
		{ .type = ETW_RECORD_SYSTEM, .classic = true, .kernel_group = 0x0e, .opcode = 10, .version = 3, .process_id = 4, .thread_id = 8 },
		{ .type = ETW_RECORD_COMPACT, .classic = true, .kernel_group = 0x04, .opcode = 67, .version = 2, .process_id = 12, .thread_id = 16 },
		{ .type = ETW_RECORD_PERFINFO, .classic = true, .kernel_group = 0x0f, .opcode = 46, .version = 2, .process_id = ETW_RECORD_NO_ID, .thread_id = ETW_RECORD_NO_ID },
		{ .type = ETW_RECORD_EVENT, .kernel_group = 0xff, .provider = &provider, .activity = &activity, .id = 300, .task = 7, .opcode = 1, .version = 2, .level = 4, .channel = 11, .keyword = UINT64_C(0x8000000000000001), .process_id = 20, .thread_id = 24, .extended = items, .extended_size = sizeof items },
		{ .type = ETW_RECORD_FULL, .classic = true, .kernel_group = 0xff, .provider = &provider, .opcode = 33, .version = 1, .level = 2, .process_id = 28, .thread_id = 32 },
		{ .type = ETW_RECORD_STRING, .kernel_group = 0xff, .provider = &provider, .activity = &activity, .level = 4, .keyword = 1, .process_id = 36, .thread_id = 40 },
	};
	/* clang-format on */
	const size_t count = sizeof rows / sizeof rows[0];
	struct consumer consumer = open_consumer();
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		rows[i].payload = payload;
		rows[i].payload_size = (uint32_t)(sizeof payload - i);
		rows[i].pointer_size = i % 2 ? 4 : 8;
		rows[i].processor = (uint16_t)(i % 4);
		rows[i].raw_time = 1000 + (int64_t)i;
		if (!rows[i].provider) {
			rows[i].provider =
				etw_kernel_record_guid(rows[i].kernel_group, rows[i].opcode);
		}
		take(&consumer, &rows[i]);
	}
	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.records, count);
	assert_int_equal(result.lost + result.too_large + result.other_clock + result.facts, 0);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + count); /* the header */
	for (size_t i = 0; i < count; i++) {
		check_equal(&copies.list[1 + i], &rows[i]);
	}
	remove(path);
	close_consumer(&consumer);
}

static void records_of_two_consumers_are_in_order_of_time(void **state)
{
	struct consumer consumers[] = { open_consumer(), open_consumer() };
	static const uint8_t payload[8];
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		const struct etw_record record = { .type = ETW_RECORD_EVENT,
						   .kernel_group = 0xff,
						   .provider = &provider,
						   .id = (uint16_t)i,
						   .pointer_size = 8,
						   .payload = payload,
						   .payload_size = 8,
						   .raw_time = 50 + i };

		take(&consumers[i % 3 != 0], &record);
	}
	temporary_path(path, "etl");
	write_to(path, consumers, 2, &result);
	assert_int_equal(result.records, 40);
	assert_int_equal(result.span_ns, 40 * 100); /* from a tick before the first */
	read_again(path, &copies);
	assert_int_equal(copies.count, 41);
	for (unsigned i = 0; i < 40; i++) {
		assert_int_equal(copies.list[1 + i].record.id, i);
	}
	remove(path);
	close_consumer(&consumers[0]);
	close_consumer(&consumers[1]);
}

static void take_at(struct consumer *consumer, uint16_t id, int64_t raw_time)
{
	static const uint8_t payload[8];
	const struct etw_record record = { .type = ETW_RECORD_EVENT,
					   .kernel_group = 0xff,
					   .provider = &provider,
					   .id = id,
					   .pointer_size = 8,
					   .payload = payload,
					   .payload_size = 8,
					   .raw_time = raw_time };

	take(consumer, &record);
}

/* A recording has one clock, that of its first record. What another session has by another clock is
 * left out and counted, also what comes later. */
static void records_by_another_clock_are_left_out(void **state)
{
	struct consumer consumers[] = { open_consumer(), open_consumer_of_clock(3000000) };
	struct tap *const taps[] = { consumers[0].tap, consumers[1].tap };
	struct etw_error err = { 0 };
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];
	struct ring_writer *writer;

	(void)state;
	temporary_path(path, "etl");
	writer = ring_writer_open(path, taps, 2, 0, &err);
	assert_non_null(writer);
	for (uint16_t i = 0; i < 3; i++) {
		take_at(&consumers[0], 1 + i, 1000 + i);
		take_at(&consumers[1], 100 + i, 2000 + i);
	}
	assert_true(ring_writer_follow(writer, true, &err));
	assert_int_equal(ring_writer_result(writer)->records, 3);
	assert_int_equal(ring_writer_result(writer)->other_clock, 3);
	take_at(&consumers[1], 103, 3000);
	take_at(&consumers[0], 4, 3001);
	assert_true(ring_writer_follow(writer, true, &err));
	assert_true(ring_writer_finish(writer, 0, 0, &err));
	assert_int_equal(ring_writer_result(writer)->records, 4);
	assert_int_equal(ring_writer_result(writer)->other_clock, 4);
	assert_int_equal(ring_writer_result(writer)->too_large, 0);
	assert_int_equal(ring_writer_result(writer)->lost, 0);
	ring_writer_close(writer);
	read_again(path, &copies);
	assert_int_equal(copies.count, 5);
	for (unsigned i = 1; i <= 4; i++) {
		assert_int_equal(copies.list[i].record.id, i);
	}
	remove(path);
	close_consumer(&consumers[0]);
	close_consumer(&consumers[1]);
}

/* A record has a size of 16 bits: a payload that leaves no room for the header of its event cannot
 * be written. It is counted as that and not as one of the recording. */
static void records_that_are_too_large_are_left_out(void **state)
{
	static const uint8_t payload[UINT16_MAX];
	struct consumer consumer = open_consumer();
	struct tap *const taps[] = { consumer.tap };
	struct etw_record record = { .provider = &provider,
				     .type = ETW_RECORD_EVENT,
				     .pointer_size = 8,
				     .payload = payload,
				     .kernel_group = ETW_RECORD_NO_GROUP };
	struct recording_result result;
	struct etw_error err = { 0 };
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	for (uint16_t i = 0; i < 4; i++) {
		record.id = i;
		record.raw_time = 1000 + i;
		record.payload_size = i % 2 == 0 ? 100 : UINT16_MAX;
		take(&consumer, &record);
	}
	temporary_path(path, "etl");
	assert_true(recording_write(path, taps, 1, NULL, &result, &err));
	assert_int_equal(result.records, 2);
	assert_int_equal(result.too_large, 2);
	assert_int_equal(result.other_clock + result.lost, 0);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + 2); /* the header */
	assert_int_equal(copies.list[1].record.id, 0);
	assert_int_equal(copies.list[2].record.id, 2);
	remove(path);
	close_consumer(&consumer);
}

/* One session is ahead of the other, by less than it is waited for. */
static void a_recording_that_grows_is_in_order_of_time(void **state)
{
	enum { SECOND = 10000000 };
	struct consumer consumers[] = { open_consumer(), open_consumer() };
	struct tap *const taps[] = { consumers[0].tap, consumers[1].tap };
	struct etw_error err = { 0 };
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];
	struct ring_writer *writer;

	(void)state;
	temporary_path(path, "etl");
	writer = ring_writer_open(path, taps, 2, 1000000000, &err);
	assert_non_null(writer);
	assert_true(ring_writer_follow(writer, false, &err)); /* there is nothing */
	take_at(&consumers[0], 2, SECOND);
	take_at(&consumers[0], 3, SECOND + 2);
	assert_true(ring_writer_follow(writer, false, &err));
	assert_int_equal(ring_writer_result(writer)->records, 0);
	take_at(&consumers[1], 1, SECOND - 5); /* late */
	take_at(&consumers[0], 4, 3 * SECOND);
	assert_true(ring_writer_follow(writer, false, &err));
	assert_int_equal(ring_writer_result(writer)->records, 3); /* the last one waits */
	take_at(&consumers[1], 5, 3 * SECOND + 1);
	assert_true(ring_writer_follow(writer, true, &err));
	assert_true(ring_writer_finish(writer, 7, 3, &err));
	assert_int_equal(ring_writer_result(writer)->records, 5);
	assert_int_equal(ring_writer_result(writer)->lost, 0);
	ring_writer_close(writer);
	read_again(path, &copies);
	assert_int_equal(copies.count, 6);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(copies.list[i].record.id, i);
	}
	remove(path);
	close_consumer(&consumers[0]);
	close_consumer(&consumers[1]);
}

/* Process_V3_TypeGroup1, docs/kernel-events.csv. */
static void take_process(struct consumer *consumer, uint8_t opcode, uint32_t id, const char *name)
{
	struct etw_payload payload;
	struct etw_record record = { .type = ETW_RECORD_SYSTEM,
				     .classic = true,
				     .kernel_group = ETW_KERNEL_GROUP_PROCESS,
				     .opcode = opcode,
				     .version = 3,
				     .pointer_size = 8,
				     .raw_time = 10 };

	etw_payload_init(&payload, 8);
	etw_payload_pointer(&payload, 0xfffff);
	etw_payload_u32(&payload, id);
	etw_payload_zeros(&payload, 12);
	etw_payload_pointer(&payload, 0);
	etw_payload_user_sid(&payload, NULL);
	etw_payload_astring(&payload, name);
	etw_payload_wstring(&payload, name);
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	record.provider = etw_kernel_record_guid(record.kernel_group, opcode);
	take(consumer, &record);
	etw_payload_done(&payload);
}

static void what_existed_before_is_a_rundown(void **state)
{
	struct consumer consumer = open_consumer();
	static const uint8_t payload[32];
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	take_process(&consumer, ETW_KERNEL_OPCODE_START, 100, "stays.exe");
	take_process(&consumer, ETW_KERNEL_OPCODE_START, 200, "ends.exe");
	take_process(&consumer, ETW_KERNEL_OPCODE_STOP, 200, "ends.exe");
	tap_add_process(consumer.tap, 300, "known.exe");
	for (unsigned i = 0; i < FLOOD; i++) {
		const struct etw_record record = { .type = ETW_RECORD_PERFINFO,
						   .classic = true,
						   .kernel_group = 0x0f,
						   .opcode = 46,
						   .version = 2,
						   .pointer_size = 8,
						   .provider = etw_kernel_record_guid(0x0f, 46),
						   .payload = payload,
						   .payload_size = sizeof payload,
						   .raw_time = 1000 + i };

		take(&consumer, &record);
	}
	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.facts, 2);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + 2 + result.records);
	for (unsigned i = 0; i < 2; i++) {
		static const char *const names[] = { "stays.exe", "known.exe" };
		const struct copy *copy = &copies.list[1 + i];

		assert_int_equal(etw_kernel_class_of(&copy->provider), ETW_KERNEL_PROCESS);
		assert_int_equal(copy->record.opcode, ETW_KERNEL_OPCODE_DC_START);
		assert_string_equal((const char *)copy->payload + 36, names[i]);
		/* Before the first event, and not at its own time. */
		assert_true(copy->record.raw_time > 10);
		assert_true(copy->record.raw_time < copies.list[3].record.raw_time);
	}
	remove(path);
	close_consumer(&consumer);
}

/* ---- processes that Microsoft-Windows-Kernel-Process starts ---- */

static void take_provider_event(struct consumer *consumer, uint16_t id, struct etw_payload *payload)
{
	const struct etw_record record = {
		.type = ETW_RECORD_EVENT,
		.kernel_group = 0xff,
		.provider = &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].guid,
		.id = id,
		.level = 4,
		.pointer_size = 8,
		.payload = payload->bytes,
		.payload_size = (uint32_t)payload->size,
		.raw_time = 20,
	};

	take(consumer, &record);
	etw_payload_done(payload);
}

static void take_provider_start(struct consumer *consumer, uint32_t id, const char *path)
{
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, id);
	etw_payload_u64(&payload, 0); /* CreateTime */
	etw_payload_u32(&payload, 4); /* ParentProcessID */
	etw_payload_u32(&payload, 2); /* SessionID */
	etw_payload_wstring(&payload, path);
	take_provider_event(consumer, ETW_PROCESS_EVENT_START, &payload);
}

static void take_provider_stop(struct consumer *consumer, uint32_t id)
{
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, id);
	etw_payload_zeros(&payload, 44);
	etw_payload_astring(&payload, "any.exe");
	take_provider_event(consumer, ETW_PROCESS_EVENT_STOP, &payload);
}

static struct consumer open_consumer_with_manifests(struct etw_configured_manifests *manifests,
						    bool kernel_names)
{
	struct consumer consumer = open_consumer();
	struct etw_schema_origins origins = { 0 };

	*manifests = (struct etw_configured_manifests){ 0 };
	assert_true(etw_configured_manifests_add_builtin(manifests, NULL));
	origins.builtin = manifests->builtin;
	etw_event_table_free(consumer.classes);
	consumer.classes = etw_event_table_new(1000, &origins, NULL);
	assert_non_null(consumer.classes);
	consumer.kernel_names = kernel_names;
	return consumer;
}

/* Without kernel events, the provider's starts and stops change what the snapshot at the start
 * found. Those in the window are events of the recording. */
static void what_the_provider_has_started_is_a_rundown(void **state)
{
	static const struct {
		const char *path, *fields;
		uint32_t id;
	} started[] = {
		{ "\\Device\\HarddiskVolume3\\bin\\new.exe",
		  "UniqueProcessKey=0 ProcessId=100 ParentId=4 SessionId=2 ExitStatus=0 "
		  "DirectoryTableBase=0 UserSID= ImageFileName=new.exe CommandLine=",
		  100 },
		{ "plain.exe",
		  "UniqueProcessKey=0 ProcessId=300 ParentId=4 SessionId=2 ExitStatus=0 "
		  "DirectoryTableBase=0 UserSID= ImageFileName=plain.exe CommandLine=",
		  300 },
	};
	const size_t count = sizeof started / sizeof started[0];
	struct etw_configured_manifests manifests;
	struct consumer consumer = open_consumer_with_manifests(&manifests, false);
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	tap_add_process(consumer.tap, 100, "old.exe");
	tap_add_process(consumer.tap, 200, "ends.exe");
	tap_add_process(consumer.tap, 500, "former.exe");
	for (size_t i = 0; i < count; i++) {
		take_provider_start(&consumer, started[i].id, started[i].path);
	}
	take_provider_stop(&consumer, 200);
	take_provider_start(&consumer, 400, "\\short.exe");
	take_provider_stop(&consumer, 400);
	take_provider_start(&consumer, 500, ""); /* it is not the former process */
	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.facts, 3);
	assert_int_equal(result.records, 6);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + 3 + 6); /* the header, the snapshot, the events */
	for (size_t i = 4; i < copies.count; i++) {
		assert_int_equal(copies.list[i].record.type, ETW_RECORD_EVENT);
	}
	for (unsigned i = 0; i < FLOOD; i++) {
		take_at(&consumer, 1, 1000 + i);
	}
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.facts, count);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + count + result.records);
	for (size_t i = 0; i < count; i++) {
		struct copy *copy = &copies.list[1 + i];

		copy->record.provider = &copy->provider;
		assert_int_equal(etw_kernel_class_of(&copy->provider), ETW_KERNEL_PROCESS);
		assert_int_equal(copy->record.opcode, ETW_KERNEL_OPCODE_DC_START);
		assert_decoded(etw_kernel_schema_of(&copy->record), copy->payload,
			       copy->record.payload_size, 8, started[i].fields, 0);
	}
	remove(path);
	close_consumer(&consumer);
	etw_configured_manifests_done(&manifests);
}

/* Its name is in the rundown or in its start, wherever the window begins. */
static void no_process_loses_its_name_at_the_edge_of_the_window(void **state)
{
	enum { FILL = 12000, STEP = 137, ROUNDS = 12 };
	struct etw_configured_manifests manifests;
	struct consumer consumer = open_consumer_with_manifests(&manifests, false);
	struct recording_result result;
	char path[TEMPORARY_PATH_SIZE];
	uint32_t started = 0;

	(void)state;
	temporary_path(path, "etl");
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (; started < FILL + round * STEP; started++) {
			/* Records of several sizes, so that their places in blocks vary. */
			take_provider_start(&consumer, 4 + 4 * started,
					    &"abcdefghijklmnopqrstuvwxyz.exe"[started % 23]);
		}
		write_to(path, &consumer, 1, &result);
		assert_true(result.facts > 0);
		/* The process at the edge may be in both. */
		assert_in_range(result.facts + result.records, started, started + 1);
	}
	remove(path);
	close_consumer(&consumer);
	etw_configured_manifests_done(&manifests);
}

/* They know more of a process, such as its command line. */
static void where_the_kernel_names_processes_the_provider_does_not(void **state)
{
	struct etw_configured_manifests manifests;
	struct consumer consumer = open_consumer_with_manifests(&manifests, true);
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	take_process(&consumer, ETW_KERNEL_OPCODE_START, 100, "kernel.exe");
	take_provider_start(&consumer, 100, "\\provider.exe");
	take_provider_start(&consumer, 200, "\\provider.exe");
	take_process(&consumer, ETW_KERNEL_OPCODE_START, 300, "kernel.exe");
	take_provider_stop(&consumer, 300);
	for (unsigned i = 0; i < FLOOD; i++) {
		take_at(&consumer, 1, 1000 + i);
	}
	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.facts, 2);
	read_again(path, &copies);
	for (unsigned i = 1; i <= 2; i++) {
		assert_string_equal((const char *)copies.list[i].payload + 36, "kernel.exe");
	}
	remove(path);
	close_consumer(&consumer);
	etw_configured_manifests_done(&manifests);
}

/* The layouts are those of docs/kernel-events.csv; what nothing is known of is 0 or empty. */
static void what_a_live_session_found_is_recorded(void **state)
{
	static const struct {
		enum etw_kernel_class class;
		uint8_t opcode;
		const char *fields;
	} expected[] = {
		{ ETW_KERNEL_SYS_CONFIG, 35, "NtPath=\\Device\\HarddiskVolume3\\ DosPath=C:\\" },
		{ ETW_KERNEL_SYSTEM_CONFIG, 11,
		  "DiskNumber=1 BytesPerSector=4096 SectorsPerTrack=0 TracksPerCylinder=0 Cylinders=0 "
		  "SCSIPort=0 SCSIPath=0 SCSITarget=0 SCSILun=0 Manufacturer=A disk PartitionCount=0 "
		  "WriteCacheEnabled=0 Pad=0 BootDriveLetter= Spare=" },
		{ ETW_KERNEL_SYSTEM_CONFIG, 12,
		  "StartOffset=0 PartitionSize=0 DiskNumber=1 Size=0 DriveType=0 DriveLetterString=D: "
		  "Pad1=0 PartitionNumber=2 SectorsPerCluster=0 BytesPerSector=0 Pad2=0 "
		  "NumberOfFreeClusters=0 TotalNumberOfClusters=0 FileSystem=NTFS VolumeExt=0 Pad3=0" },
		{ ETW_KERNEL_SYSTEM_CONFIG, 15,
		  "ProcessId=300 ServiceState=4 SubProcessTag=7 ServiceName=Spooler DisplayName= "
		  "ProcessName=" },
	};
	const size_t count = sizeof expected / sizeof expected[0];
	const struct etw_record record = {
		.type = ETW_RECORD_EVENT,
		.kernel_group = 0xff,
		.provider = &provider,
		.payload = (const uint8_t *)"",
		.pointer_size = 8,
		.raw_time = 1000,
	};
	struct consumer consumer = open_consumer();
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	tap_add_volume(consumer.tap, "\\Device\\HarddiskVolume3\\", "C:\\");
	tap_add_disk(consumer.tap, 1, "A disk", 4096);
	tap_add_partition(consumer.tap, 1, 2, "D:", "NTFS");
	tap_add_service(consumer.tap, 300, 7, "Spooler");
	/* Nothing is known of these, or a record has no place for it. */
	tap_add_volume(consumer.tap, "\\Device\\HarddiskVolume4\\", NULL);
	tap_add_disk(consumer.tap, 2, NULL, 512);
	tap_add_partition(consumer.tap, 1, 3, "E:", NULL);
	tap_add_partition(consumer.tap, 1, ETW_SOURCE_NO_PARTITION, "F:", "NTFS");
	tap_add_partition(consumer.tap, 1, 4, "C:\\mounted", "NTFS");
	tap_add_service(consumer.tap, 301, 0, "Alone");
	tap_add_service(consumer.tap, 302, 8, NULL);
	take(&consumer, &record);

	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.facts, count);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + count + 1); /* the header, the facts, the record */
	for (size_t i = 0; i < count; i++) {
		struct copy *copy = &copies.list[1 + i];

		copy->record.provider = &copy->provider;
		assert_int_equal(etw_kernel_class_of(&copy->provider), expected[i].class);
		assert_int_equal(copy->record.opcode, expected[i].opcode);
		assert_decoded(etw_kernel_schema_of(&copy->record), copy->payload,
			       copy->record.payload_size, 8, expected[i].fields, 0);
	}
	remove(path);
	close_consumer(&consumer);
}

/* A record of a recording has 16 bits for its size, header included (docs/etl-format.md section 3):
 * a payload of 65,535 bytes fits into the rings alone, and a larger one not even into them. */
static void what_no_recording_can_hold_is_counted_as_left_out_alone(void **state)
{
	static const uint8_t payload[1 << 17];
	struct etw_record record = {
		.type = ETW_RECORD_EVENT,
		.kernel_group = 0xff,
		.provider = &provider,
		.payload = payload,
		.payload_size = UINT16_MAX,
		.pointer_size = 8,
		.raw_time = 1000,
	};
	struct consumer consumer = open_consumer();
	struct recording_result result;
	struct ring_statistics ring;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	tap_add_description(consumer.tap, 32, payload, UINT16_MAX);
	tap_add_description(consumer.tap, 32, payload, sizeof payload);
	tap_add_description(consumer.tap, 32, payload, 100);
	take(&consumer, &record);
	record.payload_size = 8;
	take(&consumer, &record);

	ring_statistics(tap_ring(consumer.tap), &ring);
	assert_int_equal(ring.too_large, 1);
	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.too_large, 2);
	assert_int_equal(result.facts, 1);
	assert_int_equal(result.records, 1);
	read_again(path, &copies);
	assert_int_equal(copies.count, 1 + 2); /* the header */
	remove(path);
	close_consumer(&consumer);
}

/* Two versions of an EventSource can begin with the same chunk. */
static void each_process_keeps_its_chunks_of_manifests(void **state)
{
	struct consumer consumer = open_consumer();
	struct recording_result result;
	static struct copies copies;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	for (unsigned turn = 0; turn < 2; turn++) { /* what comes again is kept once */
		for (uint8_t i = 0; i < 4; i++) {
			const uint8_t number = i % 2, process = i / 2;
			const uint8_t chunk[] = { 1,      0, 0,
						  0x5b,   2, 0,
						  number, 0, number ? 'x' + process : '<' };
			const struct etw_record record = { .type = ETW_RECORD_EVENT,
							   .kernel_group = 0xff,
							   .provider = &provider,
							   .id = ETW_MANIFEST_EVENT_ID,
							   .process_id = 100U + process,
							   .pointer_size = 8,
							   .payload = chunk,
							   .payload_size = sizeof chunk,
							   .raw_time = 10 };

			take(&consumer, &record);
		}
	}
	for (unsigned i = 0; i < FLOOD; i++) {
		take_at(&consumer, 1, 1000 + i);
	}
	temporary_path(path, "etl");
	write_to(path, &consumer, 1, &result);
	assert_int_equal(result.facts, 4);
	read_again(path, &copies);
	for (unsigned i = 0; i < 4; i++) {
		const struct copy *copy = &copies.list[1 + i];

		assert_int_equal(copy->record.id, ETW_MANIFEST_EVENT_ID);
		assert_int_equal(copy->record.process_id, 100 + i / 2);
		assert_int_equal(copy->payload[6], i % 2);
		assert_int_equal(copy->payload[8], i % 2 ? 'x' + i / 2 : '<');
	}
	remove(path);
	close_consumer(&consumer);
}

enum {
	TIME_ZONE = 172,     /* bytes of TIME_ZONE_INFORMATION */
	TIME_ZONE_64 = 0x48, /* where it is in the header of a log file; docs/etl-format.md 5 */
};

/* A SYSTEMTIME that says "the week-th Sunday of a month". */
static void add_change_of_time(struct etw_payload *payload, uint16_t month, uint16_t week)
{
	const uint16_t words[8] = { 0, month, 0, week, 2 };

	for (size_t i = 0; i < 8; i++) {
		etw_payload_u16(payload, words[i]);
	}
}

/* The header that a session delivers first, of a machine in New York. */
static void take_header(struct consumer *consumer, uint8_t zone[TIME_ZONE])
{
	struct etw_payload payload;
	struct etw_record record = { .type = ETW_RECORD_SYSTEM,
				     .classic = true,
				     .kernel_group = ETW_KERNEL_GROUP_EVENT_TRACE,
				     .version = 2,
				     .pointer_size = 8 };

	etw_payload_init(&payload, 8);
	etw_payload_zeros(&payload, TIME_ZONE_64);
	etw_payload_u32(&payload, 300);
	etw_payload_wchars(&payload, "@tzres.dll,-112", 32);
	add_change_of_time(&payload, 11, 1);
	etw_payload_u32(&payload, 0);
	etw_payload_wchars(&payload, "@tzres.dll,-111", 32);
	add_change_of_time(&payload, 3, 2);
	etw_payload_u32(&payload, (uint32_t)-60);
	assert_int_equal(payload.size, TIME_ZONE_64 + TIME_ZONE);
	etw_payload_zeros(&payload, 4 + 3 * 8 + 2 * 4 + 2 * 2);
	memcpy(zone, payload.bytes + TIME_ZONE_64, TIME_ZONE);
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	record.provider = etw_kernel_record_guid(record.kernel_group, record.opcode);
	take(consumer, &record);
	etw_payload_done(&payload);
}

/* Readers show local times by the bias and by the rules of daylight saving time. */
static void the_time_zone_is_that_of_the_machine(void **state)
{
	(void)state;
	for (unsigned known = 0; known <= 1; known++) {
		struct consumer consumer = open_consumer();
		struct recording_result result;
		static struct copies copies;
		uint8_t zone[TIME_ZONE] = { 0 }; /* UTC, without daylight saving time */
		char path[TEMPORARY_PATH_SIZE];

		if (known) {
			take_header(&consumer, zone);
		}
		take_at(&consumer, 1, 1000);
		temporary_path(path, "etl");
		write_to(path, &consumer, 1, &result);
		read_again(path, &copies);
		assert_int_equal(copies.count, 2);
		assert_int_equal(copies.list[0].record.pointer_size, 8);
		assert_memory_equal(copies.list[0].payload + TIME_ZONE_64, zone, TIME_ZONE);
		remove(path);
		close_consumer(&consumer);
	}
}

static void without_a_record_there_is_no_recording(void **state)
{
	struct consumer consumer = open_consumer();
	struct recording_result result;
	struct etw_error err;

	(void)state;
	assert_false(recording_write("unused.etl", &consumer.tap, 1, NULL, &result, &err));
	assert_non_null(strstr(err.text, "no event has been received yet"));
	close_consumer(&consumer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_every_type_come_back),
		cmocka_unit_test(records_of_two_consumers_are_in_order_of_time),
		cmocka_unit_test(records_by_another_clock_are_left_out),
		cmocka_unit_test(records_that_are_too_large_are_left_out),
		cmocka_unit_test(a_recording_that_grows_is_in_order_of_time),
		cmocka_unit_test(what_existed_before_is_a_rundown),
		cmocka_unit_test(what_the_provider_has_started_is_a_rundown),
		cmocka_unit_test(no_process_loses_its_name_at_the_edge_of_the_window),
		cmocka_unit_test(where_the_kernel_names_processes_the_provider_does_not),
		cmocka_unit_test(what_a_live_session_found_is_recorded),
		cmocka_unit_test(what_no_recording_can_hold_is_counted_as_left_out_alone),
		cmocka_unit_test(each_process_keeps_its_chunks_of_manifests),
		cmocka_unit_test(the_time_zone_is_that_of_the_machine),
		cmocka_unit_test(without_a_record_there_is_no_recording),
	};

	return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
