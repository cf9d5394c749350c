/* SPDX-License-Identifier: MIT */
/*
 * etw_process_info: which accounts and terminal sessions the running processes of a name have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "exporter/track/names.h"
#include "exporter/track/process_gauges.h"
#include "tests/support/page.h"
#include "tests/support/patience.h"
#include "tests/support/system.h"
#include "tests/support/tracker_run.h"

#define ANNA "S-1-5-21-1-2-3-1105"
#define BERT "S-1-5-21-1-2-3-1106"

static const struct tracker_options info = { .process_info = true, .features = TRACK_OWNERS };

static void put(struct tape *tape, uint8_t opcode, int64_t time, uint32_t id, uint32_t session,
		const char *sid)
{
	const struct taped_process process = { .id = id,
					       .parent_id = 4,
					       .session_id = session,
					       .image = "app.exe",
					       .command_line = "app.exe --for finance",
					       .sid = sid };

	tape_process_of(tape, opcode, time, &process);
}

static bool shows(struct player *player, const char *process, const char *owner,
		  const char *session)
{
	const char *const labels[] = { process, owner, session, NULL };

	return player_shows(player, "etw_process_info", labels) &&
	       player_gauge(player, "etw_process_info", labels) == 1;
}

static void play(struct player *player, struct tape *tape, enum passes passes)
{
	player_play(player, tape, passes);
	tape_rewind(tape);
}

/* Two processes with the same labels have one sample, which is 1 and goes with the second. */
static void a_sample_is_there_while_a_process_with_its_labels_runs(void **state)
{
	static const enum passes both[] = { ONE_PASS, TWO_PASSES };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct player player;
		struct tape tape;

		player_init(&player, &info);
		tape_init(&tape, 8);
		put(&tape, 3, 1, 7, 2, ANNA);
		put(&tape, 1, 2, 8, 2, ANNA);
		put(&tape, 1, 3, 9, 3, BERT);
		put(&tape, 1, 4, 10, UINT32_MAX, "S-1-5-18");
		put(&tape, 4, 5, 7, 2, ANNA); /* the rundown at the end says it again */
		play(&player, &tape, both[i]);
		assert_true(shows(&player, "app", ANNA, "2"));
		assert_true(shows(&player, "app", BERT, "3"));
		assert_true(shows(&player, "app", "NT AUTHORITY\\SYSTEM", "_none"));
		put(&tape, 2, 6, 7, 2, ANNA);
		put(&tape, 2, 7, 9, 3, BERT);
		play(&player, &tape, ONE_PASS);
		assert_true(shows(&player, "app", ANNA, "2"));
		assert_false(shows(&player, "app", BERT, "3"));
		put(&tape, 2, 8, 8, 2, ANNA);
		play(&player, &tape, ONE_PASS);
		assert_false(shows(&player, "app", ANNA, "2"));
		tracker_reset(player.tracker);
		assert_false(shows(&player, "app", "NT AUTHORITY\\SYSTEM", "_none"));
		tape_done(&tape);
		player_done(&player);
	}
}

static void a_process_without_a_stop_gives_way_to_the_next_with_its_id(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &info);
	tape_init(&tape, 8);
	put(&tape, 1, 1, 7, 2, ANNA);
	put(&tape, 1, 2, 7, 3, BERT);
	play(&player, &tape, ONE_PASS);
	assert_false(shows(&player, "app", ANNA, "2"));
	assert_true(shows(&player, "app", BERT, "3"));
	tape_done(&tape);
	player_done(&player);
}

static void change(struct player *player, const struct tracker_options *options)
{
	struct etw_error err = { 0 };

	assert_true(tracker_change(player->tracker, options, &err));
	assert_string_equal(err.text, "");
}

static void a_reload_shows_what_runs_and_takes_it_back(void **state)
{
	struct config_process_name names[] = {
		{ .image = "app", .command_line = "--for (\\w+)", .name = "app/$1" }
	};
	struct config config = { .process_names = names, .process_name_count = 1 };
	struct etw_error err = { 0 };
	struct process_names *rules = process_names_new(&config, &err);
	const struct tracker_options live = { .live = true };
	struct tracker_options plain = info, named = info;
	struct player player;
	struct tape tape;

	(void)state;
	assert_non_null(rules);
	plain.live = named.live = true;
	named.process_names = rules;
	named.process_names_most = 9;
	player_init(&player, &live);
	tape_init(&tape, 8);
	put(&tape, 1, 1, 7, 2, ANNA);
	put(&tape, 1, 2, 8, 3, BERT);
	put(&tape, 2, 3, 8, 3, BERT);
	play(&player, &tape, ONE_PASS);
	for (unsigned i = 0; i < 3; i++) {
		change(&player, &plain);
		assert_true(shows(&player, "app", ANNA, "2"));
		assert_false(shows(&player, "app", BERT, "3"));
		change(&player, &named);
		assert_false(shows(&player, "app", ANNA, "2"));
		assert_true(shows(&player, "app/finance", ANNA, "2"));
		change(&player, &live);
		assert_false(shows(&player, "app/finance", ANNA, "2"));
	}
	tape_done(&tape);
	player_done(&player);
	process_names_free(rules);
}

static atomic_bool held;

static char *find_slowly(const char *sid)
{
	static const char name[] = "CONTOSO\\anna";

	while (atomic_load(&held)) {
		system_sleep_ms(1);
	}
	return strcmp(sid, ANNA) == 0 ? text_duplicate(name, strlen(name)) : NULL;
}

/* Begins a live session on a machine that gives no name before `held` is false. */
static void begin_held(struct player *player, struct tape *tape)
{
	struct tracker_options options = info;

	atomic_store(&held, true);
	options.live = true;
	options.find_account = find_slowly;
	player_init(player, &options);
	tape_init(tape, 8);
}

/* The machine does not know at once who it is: until then the SID says it. */
static void the_name_of_an_account_that_comes_late_takes_the_place_of_its_sid(void **state)
{
	struct player player;
	struct tape tape;
	int64_t time = 1;

	(void)state;
	begin_held(&player, &tape);
	put(&tape, 1, time++, 7, 2, ANNA);
	play(&player, &tape, ONE_PASS);
	assert_true(shows(&player, "app", ANNA, "2"));
	atomic_store(&held, false);
	for (unsigned waited = 0; !shows(&player, "app", "CONTOSO\\anna", "2"); waited++) {
		assert_true(waited < WAIT_MS);
		system_sleep_ms(1);
		put(&tape, 1, time++, 8, 0, "S-1-5-18");
		put(&tape, 2, time++, 8, 0, "S-1-5-18");
		play(&player, &tape, ONE_PASS);
	}
	assert_false(shows(&player, "app", ANNA, "2"));
	put(&tape, 2, time++, 7, 2, ANNA);
	play(&player, &tape, ONE_PASS);
	assert_false(shows(&player, "app", "CONTOSO\\anna", "2"));
	tape_done(&tape);
	player_done(&player);
}

/* The name comes with the next event about a process, even if that one changes nothing: here the
 * end of an earlier process 8, which is late. */
static void a_late_event_brings_the_name_of_an_account_too(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	begin_held(&player, &tape);
	put(&tape, 1, 10, 7, 2, ANNA);
	put(&tape, 1, 11, 8, 0, "S-1-5-18");
	play(&player, &tape, ONE_PASS);
	assert_true(shows(&player, "app", ANNA, "2"));
	atomic_store(&held, false);
	for (unsigned waited = 0; !shows(&player, "app", "CONTOSO\\anna", "2"); waited++) {
		assert_true(waited < WAIT_MS);
		system_sleep_ms(1);
		put(&tape, 2, 5, 8, 0, "S-1-5-18");
		play(&player, &tape, UNSORTED);
	}
	assert_false(shows(&player, "app", ANNA, "2"));
	assert_true(shows(&player, "app", "NT AUTHORITY\\SYSTEM", "0")); /* process 8 runs */
	tape_done(&tape);
	player_done(&player);
}

/* The time of such an event may be that of an earlier process with an id: process 8 ran as another
 * account then. */
static void a_late_event_brings_no_labels_of_its_time(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	begin_held(&player, &tape);
	put(&tape, 1, 10, 7, 2, ANNA);
	put(&tape, 1, 11, 8, 5, "S-1-5-19");
	put(&tape, 2, 13, 8, 5, "S-1-5-19");
	put(&tape, 1, 20, 8, 0, "S-1-5-18");
	play(&player, &tape, ONE_PASS);
	atomic_store(&held, false);
	for (unsigned waited = 0; !shows(&player, "app", "CONTOSO\\anna", "2"); waited++) {
		assert_true(waited < WAIT_MS);
		system_sleep_ms(1);
		put(&tape, 2, 12, 9, 0, "S-1-5-18");
		play(&player, &tape, UNSORTED);
	}
	assert_false(shows(&player, "app", "NT AUTHORITY\\LOCAL SERVICE", "5"));
	assert_true(shows(&player, "app", "NT AUTHORITY\\SYSTEM", "0"));
	tape_done(&tape);
	player_done(&player);
}

static void no_more_processes_are_shown_than_the_limit_allows(void **state)
{
	struct tracker_options few = info;
	struct tracker_statistics statistics;
	struct player player;
	struct tape tape;
	unsigned shown = 0;

	(void)state;
	few.processes = 5;
	player_init(&player, &few);
	tape_init(&tape, 8);
	for (uint32_t i = 1; i <= 50; i++) {
		put(&tape, 1, i, i, i, ANNA);
	}
	play(&player, &tape, ONE_PASS);
	for (uint32_t i = 1; i <= 50; i++) {
		char session[16];

		snprintf(session, sizeof session, "%u", (unsigned)i);
		shown += shows(&player, "app", ANNA, session);
	}
	assert_int_equal(shown, 5);
	tracker_statistics(player.tracker, &statistics);
	assert_true(statistics.evictions[TABLE_PROCESS] >= 45);
	tape_done(&tape);
	player_done(&player);
}

/* Beyond the limit on series, processes of different labels share the overflow series. */
static void the_overflow_series_is_there_while_one_of_its_processes_runs(void **state)
{
	static const char other[] = "etw_process_info{process=\"_other\",owner=\"_other\","
				    "terminal_session=\"_other\"} 1\n";
	const struct registry_limits limits = { .series_per_family = 2 };
	struct registry *registry = registry_new(&limits, NULL);
	struct intern *strings = registry_strings(registry);
	struct shard *shard = registry_shard(registry, false, NULL);
	uint32_t labels[4][3];
	struct info_metric table;

	(void)state;
	assert_true(info_metric_init(&table, &process_info_family, registry, shard, 10, NULL));
	for (uint32_t i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof name, "app%u", (unsigned)i);
		labels[i][0] = intern_string(strings, name);
		labels[i][1] = intern_string(strings, ANNA);
		labels[i][2] = intern_string(strings, "1");
		info_metric_set(&table, i, labels[i], 0);
	}
	page_expect(registry, other);
	info_metric_forget(&table, 3, 1);
	page_expect(registry, other); /* app2 still runs */
	/* There is room again when that one ends. */
	info_metric_forget(&table, 0, 1);
	info_metric_forget(&table, 1, 1);
	shard_tend(shard, 0, 1);
	shard_tend(shard, 1, 2);
	shard_tend(shard, 2, 3);
	info_metric_set(&table, 0, labels[0], 0);
	page_expect(registry, "etw_process_info{process=\"app0\"");
	info_metric_forget(&table, 2, 1);
	page_expect_none(registry, other);
	info_metric_clear(&table);
	page_expect_none(registry, "etw_process_info{");
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_there_while_a_process_with_its_labels_runs),
		cmocka_unit_test(a_process_without_a_stop_gives_way_to_the_next_with_its_id),
		cmocka_unit_test(a_reload_shows_what_runs_and_takes_it_back),
		cmocka_unit_test(the_name_of_an_account_that_comes_late_takes_the_place_of_its_sid),
		cmocka_unit_test(a_late_event_brings_the_name_of_an_account_too),
		cmocka_unit_test(a_late_event_brings_no_labels_of_its_time),
		cmocka_unit_test(no_more_processes_are_shown_than_the_limit_allows),
		cmocka_unit_test(the_overflow_series_is_there_while_one_of_its_processes_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
