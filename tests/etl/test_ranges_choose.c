/* SPDX-License-Identifier: MIT */
/*
 * Which ranges of a recording are chosen for a number of threads, and which recordings have none:
 * indexes made by hand.
 */
#include "etl/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

enum { MADE_MOST = 4096, BUFFER = 64 << 10 }; /* together 256 MiB */

/* An index of buffers of 64 KiB, each with the times from i * 10 to i * 10 + length. */
static void make_index(struct etl_index *index, struct etl_entry entries[MADE_MOST], size_t count,
		       int64_t length)
{
	assert_true(count <= MADE_MOST);
	for (size_t i = 0; i < count; i++) {
		entries[i] = (struct etl_entry){ .offset = i * BUFFER,
						 .first_time = (int64_t)i * 10,
						 .last_time = (int64_t)i * 10 + length,
						 .disk_size = BUFFER,
						 .end = BUFFER };
	}
	*index = (struct etl_index){ .entries = entries, .count = count, .complete = true };
}

static bool are_chosen(const struct etl_index *index, size_t threads)
{
	struct etl_ranges ranges;
	bool chosen = etl_ranges_choose(index, threads, &ranges);

	assert_true(chosen || (!ranges.starts && ranges.count == 0));
	etl_ranges_done(&ranges);
	return chosen;
}

static void a_small_recording_has_no_ranges(void **state)
{
	static struct etl_entry entries[MADE_MOST];
	struct etl_index index;

	(void)state;
	make_index(&index, entries, 8 * MIB / BUFFER - 1, 9);
	assert_false(are_chosen(&index, 1));
	assert_false(are_chosen(&index, 4));
	make_index(&index, entries, 8 * MIB / BUFFER, 9);
	assert_true(are_chosen(&index, 1));
	assert_true(are_chosen(&index, 4));
	assert_false(are_chosen(&index, 0));
	make_index(&index, entries, 0, 9);
	assert_false(are_chosen(&index, 4));
}

static void an_incomplete_index_has_no_ranges(void **state)
{
	static struct etl_entry entries[MADE_MOST];
	struct etl_index index;

	(void)state;
	make_index(&index, entries, MADE_MOST, 9);
	assert_true(are_chosen(&index, 4));
	index.complete = false;
	assert_false(are_chosen(&index, 4));
}

/* Of 256 MiB there are at least four ranges, which have up to 64 MiB. Buffers that last as long as
 * half of such a range would be read twice too often, however the recording is cut. */
static void buffers_that_last_too_long_have_no_ranges(void **state)
{
	enum { LARGEST_RANGE = 64 * MIB / BUFFER, SMALLEST_RANGE = 4 * MIB / BUFFER };
	static struct etl_entry entries[MADE_MOST];
	struct etl_index index;

	(void)state;
	make_index(&index, entries, MADE_MOST, 9);
	assert_true(are_chosen(&index, 4));
	make_index(&index, entries, MADE_MOST, SMALLEST_RANGE / 16 * 10);
	assert_true(are_chosen(&index, 4));
	make_index(&index, entries, MADE_MOST, LARGEST_RANGE / 2 * 10);
	assert_false(are_chosen(&index, 4));
	make_index(&index, entries, MADE_MOST, INT64_MAX / 2);
	assert_false(are_chosen(&index, 4));
	/* One buffer in four is not in order, and may have any times. */
	make_index(&index, entries, MADE_MOST, 9);
	for (size_t i = 0; i < MADE_MOST; i += 4) {
		entries[i].last_time = INT64_MAX;
	}
	assert_false(are_chosen(&index, 4));
}

enum { LARGE = 20480 };

/* An index of buffers of 1 MiB, together 20 GiB, one behind the other. */
static struct etl_index make_large_index(void)
{
	struct etl_index index = { .count = LARGE, .complete = true };

	index.entries = calloc(LARGE, sizeof *index.entries);
	assert_non_null(index.entries);
	for (size_t i = 0; i < LARGE; i++) {
		index.entries[i] = (struct etl_entry){ .offset = i * MIB,
						       .first_time = (int64_t)i * 10,
						       .last_time = (int64_t)i * 10 + 9,
						       .disk_size = MIB,
						       .end = MIB };
	}
	return index;
}

/* In the middle of 20 GiB, 300 MiB are open at once: little is read twice, but threads with a
 * quarter of 256 MiB each have no room for it. */
static void more_open_buffers_than_there_is_room_for_have_no_ranges(void **state)
{
	enum { OPEN = 300 };
	struct etl_index index = make_large_index();
	struct etl_entry *entries = index.entries;

	(void)state;
	assert_true(are_chosen(&index, 4));
	for (size_t i = 0; i < OPEN; i++) {
		entries[LARGE / 2 + i].last_time = (LARGE / 2 + OPEN) * 10;
	}
	assert_false(are_chosen(&index, 4));
	free(entries);
}

/* The order of the records of a buffer whose times go backwards takes up to four times its size:
 * 16 bytes for each record of 8, in an array that doubles. */
static void open_buffers_that_are_not_in_order_take_more_room(void **state)
{
	struct etl_index index = make_large_index();

	(void)state;
	for (size_t i = LARGE - 10; i < LARGE; i++) {
		index.entries[i].last_time = INT64_MAX;
		index.entries[i].unordered = true;
	}
	assert_true(are_chosen(&index, 2)); /* 50 MiB, of the half of 256 */
	for (size_t i = LARGE - 60; i < LARGE; i++) {
		index.entries[i].last_time = INT64_MAX;
	}
	assert_true(are_chosen(&index, 2)); /* 100 MiB */
	for (size_t i = LARGE - 60; i < LARGE; i++) {
		index.entries[i].unordered = true;
	}
	assert_false(are_chosen(&index, 2)); /* 300 MiB */
	free(index.entries);
}

/* A range until the last time of all includes it (struct etl_range), so none begins there. */
static void no_range_begins_at_the_last_time(void **state)
{
	static struct etl_entry entries[MADE_MOST];
	struct etl_index index;
	struct etl_ranges ranges;

	(void)state;
	make_index(&index, entries, MADE_MOST, 9);
	for (size_t i = MADE_MOST - 32 * MIB / BUFFER; i < MADE_MOST; i++) {
		entries[i].first_time = entries[i].last_time = INT64_MAX;
	}
	assert_true(etl_ranges_choose(&index, 4, &ranges));
	assert_true(ranges.starts[ranges.count - 1] < INT64_MAX);
	etl_ranges_done(&ranges);
}

static void what_has_no_times_has_no_ranges(void **state)
{
	static struct etl_entry entries[MADE_MOST];
	struct etl_index index;

	(void)state;
	make_index(&index, entries, MADE_MOST, 9);
	for (size_t i = 0; i < MADE_MOST; i++) {
		entries[i].first_time = entries[i].last_time = RECORD_NO_TIME;
	}
	assert_false(are_chosen(&index, 4));
}

/* Bytes of the buffers that begin in each range. */
static void assert_sizes(const struct etl_index *index, const struct etl_ranges *ranges)
{
	uint64_t bytes = 0;
	size_t at = 0;

	for (size_t range = 0; range + 1 < ranges->count; range++, bytes = 0) {
		while (index->entries[at].first_time < ranges->starts[range + 1]) {
			bytes += index->entries[at++].end;
		}
		/* The next range begins where a buffer does. */
		assert_true(index->entries[at].first_time == ranges->starts[range + 1]);
		assert_in_range(bytes, 4 * MIB, 64 * MIB + BUFFER);
	}
}

static void ranges_begin_with_a_buffer_and_are_enough_for_all_threads(void **state)
{
	static const size_t counts[] = { 8 * MIB / BUFFER, 1000, MADE_MOST };
	static struct etl_entry entries[MADE_MOST];

	(void)state;
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		for (size_t threads = 1; threads <= EVENT_HELPERS_MAX; threads++) {
			size_t most = counts[i] * BUFFER / (4 * MIB);
			struct etl_ranges ranges;
			struct etl_index index;

			make_index(&index, entries, counts[i], 9);
			assert_true(etl_ranges_choose(&index, threads, &ranges));
			assert_true(ranges.starts[0] == INT64_MIN);
			for (size_t j = 1; j < ranges.count; j++) {
				assert_true(ranges.starts[j] > ranges.starts[j - 1]);
			}
			assert_sizes(&index, &ranges);
			assert_true(ranges.count >= (threads < most ? threads : most));
			etl_ranges_done(&ranges);
			assert_null(ranges.starts);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_recording_has_no_ranges),
		cmocka_unit_test(an_incomplete_index_has_no_ranges),
		cmocka_unit_test(buffers_that_last_too_long_have_no_ranges),
		cmocka_unit_test(more_open_buffers_than_there_is_room_for_have_no_ranges),
		cmocka_unit_test(open_buffers_that_are_not_in_order_take_more_room),
		cmocka_unit_test(no_range_begins_at_the_last_time),
		cmocka_unit_test(what_has_no_times_has_no_ranges),
		cmocka_unit_test(ranges_begin_with_a_buffer_and_are_enough_for_all_threads),
	};

	return cmocka_run_group_tests_name("ranges_choose", tests, NULL, NULL);
}
