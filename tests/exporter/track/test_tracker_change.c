/* SPDX-License-Identifier: MIT */
/*
 * Another configuration for a tracker at work: state gauges that come and go, features and limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/tracker_run.h"

static const struct tracker_options none;
static const struct tracker_options every_gauge = { .process_gauges = true,
						    .disk_info = true,
						    .image_info = true,
						    .top_paths = true,
						    .disk_cause = true };

static void change(struct player *player, const struct tracker_options *options)
{
	struct etw_error err = { 0 };

	assert_true(tracker_change(player->tracker, options, &err));
	assert_string_equal(err.text, "");
}

/* What runs is known without the gauges, in one pass and in two. */
static void a_gauge_that_comes_shows_what_runs_already(void **state)
{
	static const enum passes both[] = { ONE_PASS, TWO_PASSES };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct player player;
		struct tape tape;

		player_init(&player, &none);
		tape_init(&tape, 8);
		tape_process(&tape, 1, 1, 7, "a.exe");
		tape_process(&tape, 3, 2, 8, "a.exe");
		tape_process(&tape, 1, 3, 9, "gone.exe");
		tape_thread(&tape, 1, 4, 70, 7);
		tape_thread(&tape, 1, 5, 71, 7);
		tape_thread(&tape, 1, 6, 90, 9);
		tape_thread(&tape, 2, 7, 90, 9);
		tape_process(&tape, 2, 8, 9, "gone.exe");
		player_play(&player, &tape, both[i]);
		change(&player, &every_gauge);
		assert_int_equal(player_instances(&player, "a"), 2);
		assert_int_equal(player_threads(&player, "a"), 2);
		assert_int_equal(player_instances(&player, "gone"), 0);
		assert_int_equal(player_threads(&player, "gone"), 0);
		tape_rewind(&tape);
		tape_process(&tape, 2, 10, 8, "a.exe");
		tape_thread(&tape, 2, 11, 70, 7);
		player_play(&player, &tape, ONE_PASS);
		assert_int_equal(player_instances(&player, "a"), 1);
		assert_int_equal(player_threads(&player, "a"), 1);
		tape_done(&tape);
		player_done(&player);
	}
}

/* What runs is what ran at the time of the latest record, although a late one came after it. */
static void after_a_late_event_a_gauge_shows_what_runs_now(void **state)
{
	static const struct tracker_options live = { .live = true };
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &live);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 10, 7, "gone.exe");
	tape_process(&tape, 2, 20, 7, "gone.exe");
	tape_process(&tape, 1, 21, 8, "a.exe");
	tape_header(&tape, 15, 7, 70)->process = "gone";
	player_play(&player, &tape, UNSORTED);
	change(&player, &every_gauge);
	assert_int_equal(player_instances(&player, "gone"), 0);
	assert_int_equal(player_instances(&player, "a"), 1);
	tape_done(&tape);
	player_done(&player);
}

/* Its family may be shown again later: nothing of it may be left. */
static void a_gauge_that_goes_takes_back_what_it_showed(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &every_gauge);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 1, 7, "a.exe");
	tape_thread(&tape, 1, 2, 70, 7);
	player_play(&player, &tape, ONE_PASS);
	tracker_find_disk(player.tracker, 0, "A", 512);
	assert_true(player_shows(&player, "etw_disk_info", LABELS("0", "A", "512")));
	for (int i = 0; i < 3; i++) {
		change(&player, &none);
		assert_int_equal(player_instances(&player, "a"), 0);
		assert_int_equal(player_threads(&player, "a"), 0);
		assert_false(player_shows(&player, "etw_disk_info", LABELS("0", "A", "512")));
		/* The session goes on finding disks, and nothing comes of it. */
		tracker_find_disk(player.tracker, 0, "A", 512);
		change(&player, &every_gauge);
		assert_int_equal(player_instances(&player, "a"), 1);
		assert_int_equal(player_threads(&player, "a"), 1);
		tracker_find_disk(player.tracker, 0, "A", 512);
		assert_true(player_shows(&player, "etw_disk_info", LABELS("0", "A", "512")));
	}
	tape_done(&tape);
	player_done(&player);
}

/* The names of processes stay in any case; what only a feature needs goes with it. */
static void features_come_and_go(void **state)
{
	static const struct tracker_options files = { .features = TRACK_FILES | TRACK_SERVICES };
	struct tracker_statistics before, after;
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &none);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 1, 7, "a.exe");
	player_play(&player, &tape, ONE_PASS);
	assert_false(tracker_uses_volumes(player.tracker));
	assert_false(tracker_uses_services(player.tracker));
	change(&player, &files);
	assert_true(tracker_uses_volumes(player.tracker));
	assert_true(tracker_uses_services(player.tracker));
	tape_rewind(&tape);
	etw_payload_pointer(&tape.payload, 0x1000);
	etw_payload_wstring(&tape.payload, "\\Device\\HarddiskVolume1\\x");
	tape_add(&tape, "FileIo", 0, 2, 2);
	tape_header(&tape, 3, 7, 70)->process = "a";
	player_play(&player, &tape, ONE_PASS);
	tracker_statistics(player.tracker, &before);
	assert_int_equal(before.entries[TABLE_FILE], 1);
	change(&player, &files);
	tracker_statistics(player.tracker, &after);
	assert_int_equal(after.entries[TABLE_FILE], 1);
	change(&player, &none);
	tracker_statistics(player.tracker, &after);
	assert_int_equal(after.entries[TABLE_FILE], 0);
	assert_int_equal(after.entries[TABLE_PROCESS], before.entries[TABLE_PROCESS]);
	tape_done(&tape);
	player_done(&player);
}

/* Counts of evictions are counters: they do not fall. */
static void limits_change_for_what_comes(void **state)
{
	/* As many names: Idle, System, a. */
	static const struct tracker_options few = { .process_gauges = true, .processes = 3 };
	static const struct tracker_options many = { .process_gauges = true, .processes = 6 };
	static const struct tracker_options off = { .processes = 6 };
	struct tracker_statistics statistics;
	struct player player;
	struct tape tape;
	uint64_t evictions;

	(void)state;
	player_init(&player, &few);
	tape_init(&tape, 8);
	for (uint32_t i = 0; i < 4; i++) {
		tape_process(&tape, 1, i + 1, 7 + i, "a.exe");
	}
	player_play(&player, &tape, ONE_PASS);
	assert_int_equal(player_instances(&player, "a"), 3);
	tracker_statistics(player.tracker, &statistics);
	evictions = statistics.evictions[TABLE_PROCESS];
	assert_true(evictions > 0);
	change(&player, &many);
	tape_rewind(&tape);
	for (uint32_t i = 0; i < 3; i++) {
		tape_process(&tape, 1, i + 10, 17 + i, "a.exe");
	}
	player_play(&player, &tape, ONE_PASS);
	assert_int_equal(player_instances(&player, "a"), 6);
	change(&player, &off);
	change(&player, &many);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.evictions[TABLE_PROCESS], evictions);
	tape_done(&tape);
	player_done(&player);
}

static void path_groups_that_come_have_their_counters(void **state)
{
	static const char *globs[] = { "**\\*.log" };
	static const struct config_path_group group = { .name = "logs",
							.globs = globs,
							.glob_count = 1 };
	static const struct tracker_options grouped = { .features = TRACK_FILES,
							.path_groups = &group,
							.path_group_count = 1 };
	static const char name[] = "etw_consumer_ungrouped_paths_total";
	struct player player;

	(void)state;
	player_init(&player, &none);
	assert_null(registry_find_family(player.registry, name));
	for (int i = 0; i < 2; i++) {
		change(&player, &grouped);
		assert_true(player_shows(&player, name, LABELS("long")));
		assert_true(player_shows(&player, name, LABELS("work")));
		change(&player, &none);
	}
	player_done(&player);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gauge_that_comes_shows_what_runs_already),
		cmocka_unit_test(after_a_late_event_a_gauge_shows_what_runs_now),
		cmocka_unit_test(a_gauge_that_goes_takes_back_what_it_showed),
		cmocka_unit_test(features_come_and_go),
		cmocka_unit_test(limits_change_for_what_comes),
		cmocka_unit_test(path_groups_that_come_have_their_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
