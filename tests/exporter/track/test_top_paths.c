/* SPDX-License-Identifier: MIT */
/*
 * etw_file_top_written_bytes: the list of the most written paths of the last minute, made anew
 * every ten seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/track/top_paths.h"
#include "tests/support/page.h"
#include "tests/support/tracker_run.h"

#define SECOND INT64_C(10000000)
#define BEGIN  (INT64_C(133000000000000000))

enum { WRITER = 8, OTHER = 12, PAGING = 2, PLACES = 3 };

static struct tape tape;
static struct player player;

static const struct tracker_options options = { .top_paths = true, .top_path_count = PLACES };

static int set_up(void **state)
{
	(void)state;
	tape_init(&tape, 8);
	player_init(&player, &options);
	tape_process(&tape, 1, BEGIN, WRITER, "writer.exe");
	tape_process(&tape, 1, BEGIN, OTHER, "other.exe");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	player_done(&player);
	tape_done(&tape);
	return 0;
}

/* What the tape has so far; the next events follow it. */
static void play(void)
{
	player_play(&player, &tape, ONE_PASS);
	tape_rewind(&tape);
}

static void name(uint64_t key, const char *path)
{
	etw_payload_pointer(&tape.payload, key);
	etw_payload_wstring(&tape.payload, path);
	tape_add(&tape, "FileIo", 0, 2, BEGIN);
}

static void write_at(int64_t second, uint32_t process, uint64_t key, uint32_t bytes, uint32_t flags)
{
	struct tape_event *event = tape_zeros(&tape, "FileIo", 68, 3, BEGIN + second * SECOND);

	tape_poke(event, "FileKey", key);
	tape_poke(event, "IoSize", bytes);
	tape_poke(event, "IoFlags", flags);
	event->record.process_id = process;
	event->record.thread_id = 10 * process;
}

/* Any event ends a slice. */
static void pass_to(int64_t second)
{
	tape_header(&tape, BEGIN + second * SECOND, WRITER, 10 * WRITER);
	play();
}

static int64_t shown(const char *path, const char *process)
{
	const char *const labels[] = { path, process, "Windows Kernel", NULL };

	return player_shows(&player, "etw_file_top_written_bytes", labels) ?
		       player_gauge(&player, "etw_file_top_written_bytes", labels) :
		       -1;
}

static unsigned lines_shown(void)
{
	struct etw_text page = page_of(player.registry);
	unsigned lines = 0;

	for (const char *at = page.data; (at = strstr(at, "\netw_file_top_written_bytes{")) != NULL;
	     at++) {
		lines++;
	}
	text_free(&page);
	return lines;
}

static void the_list_has_what_was_written_in_the_last_minute(void **state)
{
	(void)state;
	etw_payload_wstring(&tape.payload, "\\Device\\HarddiskVolume3\\");
	etw_payload_wstring(&tape.payload, "C:\\");
	tape_add(&tape, "SysConfig", 35, 2, BEGIN);
	name(1, "\\Device\\HarddiskVolume3\\a.log");
	name(2, "\\Device\\HarddiskVolume9\\b.log");
	write_at(0, WRITER, 1, 100, 0);
	write_at(9, WRITER, 1, 1, 0);
	play();
	assert_int_equal(lines_shown(), 0); /* the first ten seconds have not ended */
	write_at(10, WRITER, 1, 200, 0);
	play();
	assert_int_equal(shown("C:\\a.log", "writer"), 101);
	write_at(20, OTHER, 1, 50, 0);
	write_at(30, WRITER, 2, 40, 0);
	write_at(30, WRITER, 2, 5000, PAGING);
	write_at(59, WRITER, 2, 2, 0);
	pass_to(60);
	assert_int_equal(shown("C:\\a.log", "writer"), 301);
	assert_int_equal(shown("C:\\a.log", "other"), 50);
	assert_int_equal(shown("\\Device\\HarddiskVolume9\\b.log", "writer"), 42);
	assert_int_equal(lines_shown(), 3);
	/* The minute slides: each ten seconds the oldest ten leave it. */
	pass_to(70);
	assert_int_equal(shown("C:\\a.log", "writer"), 200);
	pass_to(80);
	assert_int_equal(shown("C:\\a.log", "writer"), -1);
	assert_int_equal(shown("C:\\a.log", "other"), 50);
	pass_to(110);
	assert_int_equal(shown("\\Device\\HarddiskVolume9\\b.log", "writer"), 2);
	assert_int_equal(lines_shown(), 1);
	pass_to(120);
	assert_int_equal(lines_shown(), 0);
}

static void a_pause_leaves_what_is_within_a_minute(void **state)
{
	(void)state;
	name(1, "a");
	write_at(0, WRITER, 1, 100, 0);
	write_at(30, WRITER, 1, 10, 0);
	pass_to(75); /* the list is that of 10 to 70 */
	assert_int_equal(shown("a", "writer"), 10);
	pass_to(500);
	assert_int_equal(lines_shown(), 0);
	write_at(501, WRITER, 1, 3, 0);
	pass_to(511);
	assert_int_equal(shown("a", "writer"), 3);
	pass_to(INT64_C(100000000)); /* three years */
	assert_int_equal(lines_shown(), 0);
}

static void the_list_has_so_many_places(void **state)
{
	char path[8];

	(void)state;
	for (uint32_t key = 1; key <= 3 * PLACES; key++) {
		snprintf(path, sizeof path, "%u", (unsigned)key);
		name(key, path);
		write_at(0, WRITER, key, 100 * key, 0);
	}
	pass_to(60);
	assert_int_equal(lines_shown(), PLACES);
	assert_int_equal(shown("9", "writer"), 900);
	assert_int_equal(shown("8", "writer"), 800);
	assert_int_equal(shown("7", "writer"), 700);
}

static void a_listed_path_yields_to_one_with_twice_its_bytes_only(void **state)
{
	(void)state;
	for (uint32_t key = 1; key <= 5; key++) {
		name(key, (const char *[]){ "a", "b", "c", "d", "e" }[key - 1]);
	}
	write_at(0, WRITER, 1, 1000, 0);
	write_at(0, WRITER, 2, 1000, 0);
	write_at(0, WRITER, 3, 100, 0);
	write_at(0, WRITER, 4, 90, 0);
	pass_to(10);
	assert_int_equal(shown("c", "writer"), 100);
	assert_int_equal(shown("d", "writer"), -1);
	write_at(11, WRITER, 4, 109, 0); /* 199 in all: more, but not twice as much */
	pass_to(20);
	assert_int_equal(shown("c", "writer"), 100);
	assert_int_equal(shown("d", "writer"), -1);
	write_at(21, WRITER, 4, 2, 0);
	pass_to(30);
	assert_int_equal(shown("c", "writer"), -1);
	assert_int_equal(shown("d", "writer"), 201);
	assert_int_equal(lines_shown(), PLACES);
}

static void the_end_shows_the_minute_up_to_then(void **state)
{
	(void)state;
	name(1, "a");
	write_at(0, WRITER, 1, 100, 0);
	write_at(12, WRITER, 1, 20, 0);
	play();
	assert_int_equal(shown("a", "writer"), 100);
	tracker_end(player.tracker);
	assert_int_equal(shown("a", "writer"), 120);
	tracker_end(player.tracker); /* nothing has come since */
	assert_int_equal(shown("a", "writer"), 120);
}

/* Between two passes of a replay there is a list. The files of the new pass are numbered anew. */
static void the_list_stays_until_the_next_pass_has_one(void **state)
{
	(void)state;
	name(1, "a");
	write_at(0, WRITER, 1, 100, 0);
	play();
	tracker_end(player.tracker);
	tracker_reset(player.tracker);
	assert_int_equal(shown("a", "writer"), 100);
	tape_process(&tape, 1, BEGIN, WRITER, "writer.exe");
	name(7, "b");
	write_at(0, WRITER, 7, 5, 0);
	play();
	assert_int_equal(shown("a", "writer"), 100);
	pass_to(10);
	assert_int_equal(shown("a", "writer"), -1);
	assert_int_equal(shown("b", "writer"), 5);
	/* A pass that writes nothing has an empty list. */
	tracker_reset(player.tracker);
	pass_to(0);
	tracker_end(player.tracker);
	assert_int_equal(lines_shown(), 0);
}

/* A replay in a loop has a new tracker for each pass. */
static void the_list_of_a_tracker_that_has_gone_is_replaced(void **state)
{
	(void)state;
	name(1, "a");
	write_at(0, WRITER, 1, 100, 0);
	play();
	tracker_end(player.tracker);
	player_new_tracker(&player, &options);
	assert_int_equal(shown("a", "writer"), 100);
	tape_process(&tape, 1, BEGIN, WRITER, "writer.exe");
	name(1, "b");
	write_at(0, WRITER, 1, 7, 0);
	play();
	tracker_end(player.tracker);
	assert_int_equal(shown("a", "writer"), -1);
	assert_int_equal(shown("b", "writer"), 7);
}

static void files_without_a_name_are_one_unknown_path(void **state)
{
	(void)state;
	write_at(0, WRITER, 1, 100, 0);
	write_at(0, WRITER, 2, 10, 0);
	write_at(0, 999, 3, 1, 0);
	pass_to(60);
	assert_int_equal(shown("_unknown", "writer"), 110);
	assert_int_equal(shown("_unknown", "_unknown"), 1);
}

/* For any name of a file the page stays readable, and the path has a bounded size. */
static void hostile_paths_are_labels_like_others(void **state)
{
	enum { LONG = 5000 };
	char path[LONG + 1], cut[TOP_PATH_SIZE_MAX + 1];

	(void)state;
	memset(path, 'p', LONG);
	path[LONG] = '\0';
	memset(cut, 'p', TOP_PATH_SIZE_MAX);
	cut[TOP_PATH_SIZE_MAX] = '\0';
	name(1, path);
	path[LONG - 1] = 'q';
	name(2, path); /* the same as far as it is shown */
	name(3, "a\n\"b\\");
	/* A surrogate without its other half. */
	etw_payload_pointer(&tape.payload, 4);
	etw_payload_bytes(&tape.payload, "x\0\x00\xd8y\0\0\0", 8);
	tape_add(&tape, "FileIo", 0, 2, BEGIN);
	for (uint64_t key = 1; key <= 4; key++) {
		write_at(0, WRITER, key, 100, 0);
	}
	tape_header(&tape, BEGIN + 60 * SECOND, WRITER, 10 * WRITER);
	play();
	assert_int_equal(shown(cut, "writer"), 200);
	page_expect(player.registry, "\netw_file_top_written_bytes{path=\"a\\n\\\"b\\\\\","
				     "process=\"writer\",provider=\"Windows Kernel\"} 100\n");
}

/* A clock that is set back, or a damaged time, does not stop the minute. */
static void a_time_that_jumps_back_begins_a_slice(void **state)
{
	(void)state;
	name(1, "a");
	write_at(100000, WRITER, 1, 5, 0);
	play();
	write_at(0, WRITER, 1, 100, 0);
	pass_to(10);
	assert_int_equal(shown("a", "writer"), 105);
	pass_to(70);
	assert_int_equal(lines_shown(), 0);
}

/* One record with a time far ahead costs the minute before it, and nothing of what follows. */
static void a_time_far_ahead_is_left_again(void **state)
{
	(void)state;
	name(1, "a");
	write_at(0, WRITER, 1, 5, 0);
	write_at(1000000, OTHER, 1, 1, 0);
	play(); /* in the order of times */
	write_at(1, WRITER, 1, 30, 0);
	pass_to(11);
	assert_int_equal(shown("a", "writer"), 30);
	assert_int_equal(shown("a", "other"), 1);
}

/* Events that come a little late belong to the present slice. */
static void a_late_event_counts_where_it_comes(void **state)
{
	(void)state;
	name(1, "a");
	write_at(0, WRITER, 1, 1, 0);
	write_at(15, WRITER, 1, 10, 0);
	play(); /* in the order of times */
	write_at(8, WRITER, 1, 100, 0);
	pass_to(20);
	assert_int_equal(shown("a", "writer"), 111);
	pass_to(70); /* the slice of 0 to 10 has left the minute */
	assert_int_equal(shown("a", "writer"), 110);
}

/* Past the limit on series what is listed is one sample, with the sum of all. */
static void past_the_limit_the_list_is_one_sum(void **state)
{
	enum { SERIES = 2000 };
	char path[16];

	(void)state;
	for (uint32_t window = 0; window <= SERIES / PLACES; window++) {
		for (uint32_t i = 1; i <= PLACES; i++) {
			snprintf(path, sizeof path, "%u", (unsigned)(window * PLACES + i));
			name(window * PLACES + i, path);
			write_at(60 * window, WRITER, window * PLACES + i, i, 0);
		}
		pass_to(60 * (window + 1));
	}
	assert_int_equal(lines_shown(), 3); /* two of the last three were within it */
	name(1000000, "a");
	name(1000001, "b");
	write_at(60 * (SERIES / PLACES + 1), WRITER, 1000000, 10, 0);
	write_at(60 * (SERIES / PLACES + 1), OTHER, 1000001, 20, 0);
	pass_to(60 * (SERIES / PLACES + 2));
	assert_int_equal(lines_shown(), 1);
	page_expect(player.registry,
		    "\netw_file_top_written_bytes{path=\"_other\",process=\"_other\","
		    "provider=\"Windows Kernel\"} 30\n");
}

int main(void)
{
#define TEST(behaviour) cmocka_unit_test_setup_teardown(behaviour, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_list_has_what_was_written_in_the_last_minute),
		TEST(a_pause_leaves_what_is_within_a_minute),
		TEST(the_list_has_so_many_places),
		TEST(a_listed_path_yields_to_one_with_twice_its_bytes_only),
		TEST(the_end_shows_the_minute_up_to_then),
		TEST(the_list_stays_until_the_next_pass_has_one),
		TEST(the_list_of_a_tracker_that_has_gone_is_replaced),
		TEST(files_without_a_name_are_one_unknown_path),
		TEST(hostile_paths_are_labels_like_others),
		TEST(past_the_limit_the_list_is_one_sum),
		TEST(a_time_that_jumps_back_begins_a_slice),
		TEST(a_time_far_ahead_is_left_again),
		TEST(a_late_event_counts_where_it_comes),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
