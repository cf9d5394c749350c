/* SPDX-License-Identifier: MIT */
/*
 * The ring of the flight recorder: which records it holds, what it knows of earlier ones, and what
 * readers see while a consumer adds. Also run by ThreadSanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/os.h"
#include "exporter/recorder/ring.h"

enum { PAYLOAD_MAX = 600, RECORDS = 60000, LARGE_PAYLOAD = 60000, LARGE_RECORDS = 5000 };

static const struct etw_source_clock clock_100ns = { .type = ETW_CLOCK_QPC,
						     .frequency = 10000000,
						     .perf_frequency = 10000000 };

static const struct etw_guid provider = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
					    16 } };
static const struct ring_fact no_fact;

static struct ring *make_ring(void)
{
	struct ring *ring = ring_new(RING_BYTES_LEAST, NULL);

	assert_non_null(ring);
	ring_begin(ring, &clock_100ns);
	return ring;
}

/* A size that differs from record to record, and is seldom a multiple of 8. */
static uint32_t size_of(uint64_t serial)
{
	return (uint32_t)(8 + serial * 7919 % (PAYLOAD_MAX - 8));
}

/* The serial number, and bytes that depend on it. */
static void fill(uint8_t *payload, uint64_t serial)
{
	store_u64(payload, serial);
	memset(payload + 8, (int)(serial % 251), size_of(serial) - 8);
}

static void add(struct ring *ring, uint64_t serial, const struct ring_fact *fact)
{
	uint8_t payload[PAYLOAD_MAX];
	const struct etw_record record = {
		.provider = &provider,
		.payload = payload,
		.payload_size = size_of(serial),
		.process_id = 4,
		.thread_id = 8,
		.id = (uint16_t)serial,
		.pointer_size = 8,
		.type = ETW_RECORD_EVENT,
		.kernel_group = 0xff,
		.keyword = ~serial,
		.raw_time = (int64_t)serial * 100,
	};

	fill(payload, serial);
	ring_add(ring, &record, fact);
}

/* The record is whole; returns its serial number. */
static uint64_t check(const struct kept_record *kept)
{
	uint8_t expected[PAYLOAD_MAX];
	struct etw_record record;
	uint64_t serial;

	kept_read(kept, &record);
	assert_true(record.payload_size >= 8);
	serial = etw_load_u64(record.payload);
	assert_int_equal(record.payload_size, size_of(serial));
	fill(expected, serial);
	assert_memory_equal(record.payload, expected, record.payload_size);
	assert_memory_equal(record.provider, &provider, sizeof provider);
	assert_true(record.keyword == ~serial);
	assert_int_equal(record.id, (uint16_t)serial);
	assert_true(record.raw_time == (int64_t)serial * 100);
	return serial;
}

static void the_newest_records_are_there_one_by_one(void **state)
{
	struct ring *ring = make_ring();
	struct ring_statistics statistics;
	struct ring_reader reader;
	const struct kept_record *kept;
	uint64_t next, bytes = 0;

	(void)state;
	for (uint64_t serial = 0; serial < RECORDS; serial++) {
		add(ring, serial, &no_fact);
	}
	ring_statistics(ring, &statistics);
	assert_int_equal(statistics.added, RECORDS);
	assert_true(statistics.overwritten > 0);
	assert_int_equal(statistics.too_large, 0);
	assert_true(ring_reader_open(&reader, ring, NULL));
	next = statistics.overwritten; /* none of them is missing */
	while ((kept = ring_reader_next(&reader)) != NULL) {
		assert_int_equal(check(kept), next);
		next++;
		bytes += kept->words * 8;
	}
	assert_int_equal(next, RECORDS);
	assert_int_equal(reader.lost, 0);
	/* All blocks of the window but the one that is being filled. */
	assert_true(bytes > (RING_BLOCKS_LEAST - 2) * (RING_BLOCK_BYTES - 1024));
	/* 100 ticks of 100 ns lie between two records. */
	assert_int_equal(statistics.span_ns, (RECORDS - 1 - statistics.overwritten) * 10000);
	ring_reader_close(&reader);
	ring_free(ring);
}

static void an_empty_ring_holds_nothing(void **state)
{
	struct ring *ring = ring_new(RING_BYTES_LEAST, NULL);
	struct ring_statistics statistics;
	struct ring_reader reader;

	(void)state;
	assert_non_null(ring);
	/* Before its consumer begins. */
	ring_statistics(ring, &statistics);
	assert_int_equal(statistics.span_ns, 0);
	assert_true(ring_reader_open(&reader, ring, NULL));
	assert_null(ring_reader_next(&reader));
	ring_reader_close(&reader);
	ring_begin(ring, &clock_100ns);
	assert_true(ring_reader_open(&reader, ring, NULL));
	assert_null(ring_reader_next(&reader));
	assert_int_equal(reader.facts.count, 0);
	ring_reader_close(&reader);
	add(ring, 1, &no_fact);
	ring_begin(ring, &clock_100ns);
	assert_true(ring_reader_open(&reader, ring, NULL));
	assert_null(ring_reader_next(&reader));
	assert_int_equal(reader.lost, 0);
	ring_reader_close(&reader);
	add(ring, 2, &no_fact);
	assert_true(ring_reader_open(&reader, ring, NULL));
	assert_int_equal(check(ring_reader_next(&reader)), 2);
	assert_null(ring_reader_next(&reader));
	ring_reader_close(&reader);
	ring_free(ring);
}

static void a_record_without_a_time_has_no_part_in_the_span(void **state)
{
	struct ring *ring = make_ring();
	static const uint8_t payload[8];
	const struct etw_record message = { .provider = &provider,
					    .payload = payload,
					    .payload_size = sizeof payload,
					    .type = ETW_RECORD_MESSAGE,
					    .raw_time = ETW_RECORD_NO_TIME };
	struct ring_statistics statistics;

	(void)state;
	ring_add(ring, &message, &no_fact);
	add(ring, 5, &no_fact);
	add(ring, 7, &no_fact);
	ring_add(ring, &message, &no_fact);
	ring_statistics(ring, &statistics);
	assert_int_equal(statistics.added, 4);
	/* From the anchor of the clock, raw time 0. */
	assert_int_equal(statistics.span_ns, 7 * 10000);
	ring_free(ring);
}

static void a_record_that_no_recording_can_hold_is_counted(void **state)
{
	struct ring *ring = make_ring();
	static uint8_t payload[70000];
	struct etw_record record = { .provider = &provider,
				     .payload = payload,
				     .payload_size = sizeof payload,
				     .type = ETW_RECORD_EVENT };
	struct ring_statistics statistics;

	(void)state;
	ring_add(ring, &record, &no_fact);
	record.payload_size = 65535;
	ring_add(ring, &record, &no_fact);
	ring_statistics(ring, &statistics);
	assert_int_equal(statistics.too_large, 1);
	assert_int_equal(statistics.added, 1);
	ring_free(ring);
}

/* Adds records until those from before have left the ring. */
static uint64_t flood(struct ring *ring, uint64_t serial)
{
	for (uint64_t end = serial + RECORDS; serial < end; serial++) {
		add(ring, serial, &no_fact);
	}
	return serial;
}

/* The serial number of the only fact; UINT64_MAX: there is none. */
static uint64_t only_fact(struct ring *ring)
{
	struct ring_reader reader;
	uint64_t serial = UINT64_MAX;

	assert_true(ring_reader_open(&reader, ring, NULL));
	if (reader.facts.count > 0) {
		const struct kept_record *kept = (const void *)reader.facts.words;

		serial = check(kept);
		assert_int_equal(kept->words, reader.facts.count);
	}
	ring_reader_close(&reader);
	return serial;
}

static void facts_outlive_their_records_until_they_end(void **state)
{
	const struct ring_fact exists = { .type = FACT_PROCESS, .key = 77 };
	const struct ring_fact ends = { .type = FACT_ENDS, .key = 77 };
	struct ring *ring = make_ring();
	uint64_t serial = 1;

	(void)state;
	add(ring, serial++, &exists);
	assert_true(only_fact(ring) == UINT64_MAX); /* it is in the ring itself */
	serial = flood(ring, serial);
	assert_int_equal(only_fact(ring), 1);
	add(ring, 5000000, &exists); /* replaces it */
	serial = flood(ring, serial);
	assert_int_equal(only_fact(ring), 5000000);
	add(ring, serial++, &ends);
	/* The end is in the ring: at its oldest record the fact is still true. */
	assert_int_equal(only_fact(ring), 5000000);
	flood(ring, serial);
	assert_true(only_fact(ring) == UINT64_MAX);
	ring_free(ring);
}

static void facts_of_one_block_are_taken_in_their_order(void **state)
{
	struct ring *ring = make_ring();
	struct ring_reader reader;
	uint64_t serial = 0, expected = 0;

	(void)state;
	for (; serial < 50; serial++) {
		add(ring, serial,
		    &(struct ring_fact){ .type = FACT_PROCESS, .key = 1000 + serial });
	}
	/* The even ones end. */
	for (uint64_t key = 1000; key < 1050; key += 2) {
		add(ring, serial++, &(struct ring_fact){ .type = FACT_ENDS, .key = key });
	}
	flood(ring, serial);
	assert_true(ring_reader_open(&reader, ring, NULL));
	for (size_t at = 0; at < reader.facts.count;) {
		const struct kept_record *kept = (const void *)(reader.facts.words + at);

		assert_int_equal(check(kept), 2 * expected + 1);
		expected++;
		at += kept->words;
	}
	assert_int_equal(expected, 25);
	ring_reader_close(&reader);
	ring_free(ring);
}

/* What there is most of makes room for itself. */
static void many_facts_do_not_push_out_those_of_other_types(void **state)
{
	static const enum fact_type many[] = { FACT_THREAD, FACT_IMAGE, FACT_NAME, FACT_SYSTEM };
	const struct ring_fact process = { .type = FACT_PROCESS, .key = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
		struct ring *ring = make_ring();
		struct ring_statistics statistics;
		struct ring_reader reader;

		add(ring, 0, &process);
		for (uint64_t serial = 1; serial < RECORDS; serial++) {
			add(ring, serial,
			    &(struct ring_fact){ .type = many[i], .key = 1 + serial });
		}
		ring_statistics(ring, &statistics);
		assert_true(statistics.facts_dropped > 0);
		assert_true(ring_reader_open(&reader, ring, NULL));
		assert_int_equal(check((const void *)reader.facts.words), 0);
		assert_true(reader.facts.count * 8 < RING_BYTES_LEAST / 4);
		ring_reader_close(&reader);
		ring_free(ring);
	}
}

/* ---- threads ---- */

struct shared {
	struct ring *ring;
	atomic_bool done;
	atomic_uint read; /* times that the ring was read */
};

static void consume(void *context)
{
	struct shared *shared = context;

	/* Until readers have read often enough, so that they meet the consumer. */
	for (uint64_t serial = 0; serial < RECORDS || atomic_load(&shared->read) < 20; serial++) {
		const struct ring_fact fact = { .type = serial % 50 == 0 ? FACT_PROCESS : FACT_NONE,
						.key = 1 + serial % 1000 };

		add(shared->ring, serial, &fact);
	}
	atomic_store(&shared->done, true);
}

/* Reads the ring once: all records are whole, in order, and those that are missing are counted. */
static void read_once(struct shared *shared)
{
	struct ring_reader reader;
	const struct kept_record *kept;
	uint64_t first, seen = 0, last = 0;

	assert_true(ring_reader_open(&reader, shared->ring, NULL));
	first = reader.expected;
	for (size_t at = 0; at < reader.facts.count;) {
		kept = (const void *)(reader.facts.words + at);
		assert_true(check(kept) < first);
		at += kept->words;
	}
	while ((kept = ring_reader_next(&reader)) != NULL) {
		uint64_t serial = check(kept);

		assert_true(serial >= first && (seen == 0 || serial > last));
		last = serial;
		seen++;
	}
	/* Records that came between the two looks at the end are read, but not promised. */
	assert_true(seen + reader.lost >= reader.last_index - first);
	if (seen > 0) {
		assert_true(seen + reader.lost ==
			    (last + 1 > reader.last_index ? last + 1 : reader.last_index) - first);
	}
	ring_reader_close(&reader);
	atomic_fetch_add(&shared->read, 1);
}

static void readers_see_whole_records_while_the_consumer_adds(void **state)
{
	struct shared shared = { .ring = make_ring() };
	struct os_thread thread;

	(void)state;
	assert_true(os_thread_start(&thread, consume, &shared, NULL));
	while (!atomic_load(&shared.done)) {
		read_once(&shared);
	}
	os_thread_join(&thread);
	read_once(&shared);
	ring_free(shared.ring);
}

/* What a reader has that goes on again and again. */
static void a_reader_that_follows_counts_what_it_misses(void **state)
{
	struct shared shared = { .ring = make_ring() };
	uint64_t seen = 0, next = 0, missing = 0;
	struct ring_statistics statistics;
	struct ring_reader reader;
	struct os_thread thread;
	bool over = false;

	(void)state;
	assert_true(ring_reader_open(&reader, shared.ring, NULL));
	assert_true(os_thread_start(&thread, consume, &shared, NULL));
	while (!over) {
		const struct kept_record *kept;

		over = atomic_load(&shared.done); /* then this is the last look */
		ring_reader_more(&reader);
		while ((kept = ring_reader_next(&reader)) != NULL) {
			uint64_t serial = check(kept);

			assert_true(serial >= next);
			missing += serial - next;
			next = serial + 1;
			seen++;
		}
		atomic_fetch_add(&shared.read, 1);
	}
	os_thread_join(&thread);
	ring_statistics(shared.ring, &statistics);
	assert_true(next == statistics.added);
	assert_true(seen + missing == statistics.added);
	assert_true(reader.lost == missing);
	ring_reader_close(&reader);
	ring_free(shared.ring);
}

static void a_reader_that_follows_has_each_record_once(void **state)
{
	struct ring *ring = make_ring();
	const struct kept_record *kept;
	struct ring_reader reader;
	uint64_t next = 0;

	(void)state;
	assert_true(ring_reader_open(&reader, ring, NULL));
	/* Steps of 1 to 40 records end anywhere in a block. */
	for (uint64_t step = 1, added = 0; step <= 40; step++) {
		for (uint64_t i = 0; i < step; i++) {
			add(ring, added++, &no_fact);
		}
		assert_null(ring_reader_next(&reader)); /* before it goes on */
		ring_reader_more(&reader);
		while ((kept = ring_reader_next(&reader)) != NULL) {
			assert_true(check(kept) == next++);
		}
		assert_true(next == added);
		assert_false(ring_reader_is_late(&reader));
	}
	assert_int_equal(reader.lost, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		add(ring, i, &no_fact);
	}
	assert_true(ring_reader_is_late(&reader));
	ring_reader_close(&reader);
	ring_free(ring);
}

/* Adds records so large that a block holds two of them, and never runs away from the reader. */
static void consume_large(void *context)
{
	static const uint8_t payload[LARGE_PAYLOAD];
	struct shared *shared = context;

	for (uint32_t serial = 0; serial < LARGE_RECORDS; serial++) {
		const struct etw_record record = {
			.provider = &provider,
			.payload = payload,
			.payload_size = sizeof payload,
			.pointer_size = 8,
			.type = ETW_RECORD_EVENT,
			.kernel_group = 0xff,
			.raw_time = serial,
		};

		while (serial - atomic_load(&shared->read) > 4) {
			continue;
		}
		ring_add(shared->ring, &record, &no_fact);
	}
}

/* The copy of a large record takes long, so that the reader often looks at a block that has been
 * begun and holds no record yet. */
static void a_block_that_was_seen_empty_is_read_when_it_is_filled(void **state)
{
	struct shared shared = { .ring = make_ring() };
	struct ring_reader reader;
	struct os_thread thread;
	uint32_t next = 0;

	(void)state;
	assert_true(ring_reader_open(&reader, shared.ring, NULL));
	assert_true(os_thread_start(&thread, consume_large, &shared, NULL));
	while (next < LARGE_RECORDS) {
		const struct kept_record *kept;

		ring_reader_more(&reader);
		while ((kept = ring_reader_next(&reader)) != NULL) {
			assert_true(kept->raw_time == next++);
		}
		assert_int_equal(reader.lost, 0);
		atomic_store(&shared.read, next);
	}
	os_thread_join(&thread);
	ring_reader_close(&reader);
	ring_free(shared.ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_records_are_there_one_by_one),
		cmocka_unit_test(an_empty_ring_holds_nothing),
		cmocka_unit_test(a_record_without_a_time_has_no_part_in_the_span),
		cmocka_unit_test(a_record_that_no_recording_can_hold_is_counted),
		cmocka_unit_test(facts_outlive_their_records_until_they_end),
		cmocka_unit_test(facts_of_one_block_are_taken_in_their_order),
		cmocka_unit_test(many_facts_do_not_push_out_those_of_other_types),
		cmocka_unit_test(readers_see_whole_records_while_the_consumer_adds),
		cmocka_unit_test(a_reader_that_follows_counts_what_it_misses),
		cmocka_unit_test(a_reader_that_follows_has_each_record_once),
		cmocka_unit_test(a_block_that_was_seen_empty_is_read_when_it_is_filled),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
