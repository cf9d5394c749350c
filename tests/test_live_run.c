/* SPDX-License-Identifier: MIT */
/*
 * Live sessions through the whole program, against tests/fake_etw: a machine that plays a recording
 * counts as the replay of that recording does.
 */
#include "live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "health.h"
#include "metrics/exposition.h"
#include "replay.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/every_collector.h"
#include "tests/support/kernel_events.h"
#include "tests/support/sample.h"
#include "tests/support/temporary.h"

enum { WAIT_MS = 20000 };

/* One side of the comparison. */
struct side {
	struct config *config;
	struct registry *registry;
	struct rule_set *rules;
	struct health *health;
	struct replay *replay;
	struct live_runner *live;
	struct text page;
};

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

static void take_page(struct side *side)
{
	text_clear(&side->page);
	assert_true(exposition_write(side->registry, add_chunk, &side->page) > 0);
}

static struct config *config_of(const char *text)
{
	char path[TEMPORARY_PATH_SIZE];
	struct error err = { 0 };
	struct config *config;

	temporary_path(path, "yaml");
	temporary_write(path, text, strlen(text));
	config = config_load(path, &err);
	remove(path);
	assert_string_equal(err.text, "");
	return config;
}

static void open_side(struct side *side, const char *config)
{
	memset(side, 0, sizeof *side);
	side->config = config_of(config);
	side->registry = registry_new(&(struct registry_limits){ 0 }, NULL);
	assert_non_null(side->registry);
	side->rules = every_collector(side->config, side->registry);
}

static void close_side(struct side *side)
{
	health_free(side->health);
	replay_free(side->replay);
	live_free(side->live);
	rule_set_free(side->rules);
	registry_free(side->registry);
	config_free(side->config);
	text_free(&side->page);
}

static void open_live(struct side *side)
{
	const struct live_runner_options options = { .registry = side->registry,
						     .rules = side->rules,
						     .config = side->config,
						     .watch_ms = 20,
						     .retry_ms = 10 };
	struct error err = { 0 };

	side->live = live_new(&options, &err);
	assert_string_equal(err.text, "");
	side->health = health_new_live(side->registry, side->live, side->rules, &err);
	assert_non_null(side->health);
	assert_true(live_start(side->live, &err));
}

static void run_replay(struct side *side, const char *path, bool single_pass)
{
	const struct replay_options options = { .paths = &path,
						.path_count = 1,
						.file = { .single_pass = single_pass },
						.registry = side->registry,
						.rules = side->rules,
						.config = side->config };
	struct error err = { 0 };

	side->replay = replay_new(&options, &err);
	assert_string_equal(err.text, "");
	side->health = health_new(side->registry, side->replay, side->rules, &err);
	assert_non_null(side->health);
	assert_true(replay_run(side->replay, &err));
	take_page(side);
}

/* ---- a machine that plays a recording ---- */

/* Everything, whatever the session has enabled; what no live session delivers is left out. */
static void play(const char *path, const char *session)
{
	const struct fake_etw_play_options options = { .only = session };
	struct fake_etw_played played;
	struct error err = { 0 };

	assert_true(fake_etw_play(path, &options, &played, &err));
	assert_true(played.emitted > 0);
	assert_int_equal(played.unwanted, 0);
	assert_true(fake_etw_drain(session, WAIT_MS));
}

/* ---- comparing ---- */

/* Facts of sessions, of our own process, of how tables were filled; and counts of the header
 * record. */
static const char *const left_out[] = { "etw_session_",
					"etw_replay_",
					"process_",
					"etw_exporter_scrape",
					"etw_exporter_series",
					"etw_consumer_buffers_total",
					"etw_consumer_busy_seconds_total",
					"etw_consumer_lag_seconds",
					"etw_consumer_events_total",
					"etw_consumer_records_total",
					"etw_schema_cache_",
					"etw_state_",
					NULL };

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct lines {
	char *lines[50000];
	size_t count;
};

static void split(struct lines *lines, const struct text *page)
{
	char *at = page->data;

	lines->count = 0;
	while (at && *at) {
		char *end = strchr(at, '\n');
		bool keep = *at != '#';

		if (end) {
			*end = '\0';
		}
		for (size_t i = 0; left_out[i] && keep; i++) {
			keep = strncmp(at, left_out[i], strlen(left_out[i])) != 0;
		}
		if (keep) {
			assert_true(lines->count < 50000);
			lines->lines[lines->count++] = at;
		}
		at = end ? end + 1 : NULL;
	}
	qsort(lines->lines, lines->count, sizeof lines->lines[0], compare_lines);
}

static void assert_same(struct side *replay, struct side *live)
{
	static struct lines a, b;
	size_t i = 0, j = 0, different = 0;

	split(&a, &replay->page);
	split(&b, &live->page);

	while (i < a.count || j < b.count) {
		int order = i == a.count ? 1 : j == b.count ? -1 : strcmp(a.lines[i], b.lines[j]);

		if (order != 0 && different++ < 40) {
			print_message("%s %s\n", order < 0 ? "replay" : "live  ",
				      order < 0 ? a.lines[i] : b.lines[j]);
		}
		i += order <= 0;
		j += order >= 0;
	}
	print_message("  %zu lines, %zu differ\n", a.count, different);
	assert_int_equal(different, 0);
}

/* Taken out before any counter: what no live session delivers. */
#define FILTERS                                                                \
	"filters: { events: [ { event: EventTrace/* }, { event: ImageID/* }, " \
	"{ event: '{bbccf6c1-6cd1-48c4-80ff-839482e37671}/*' } ] }\n"

static void assert_plays_as_it_replays(const char *path, bool single_pass)
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	const char *session = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct side replay, live;
	char config[1024];

	fake_etw_reset(&machine);
	assert_true(fake_etw_clock_like(path, NULL));
	open_side(&replay, FILTERS);
	run_replay(&replay, path, single_pass);
	snprintf(config, sizeof config, FILTERS "sessions: { '%s': {} }\n", session);
	open_side(&live, config);
	open_live(&live);
	assert_true(fake_etw_wait_consumer(session, WAIT_MS));
	play(path, session);
	live_stop(live.live);
	live_join(live.live);
	take_page(&live);
	assert_same(&replay, &live);
	close_side(&live);
	close_side(&replay);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
}

/* ---- recordings ---- */

static void told(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t id,
		 const char *image)
{
	const struct kernel_process process = {
		.id = id, .parent_id = 4, .image = image, .command_line = image
	};
	const struct kernel_thread thread = { .process_id = id, .id = id + 1 };

	event_process(k, opcode, &process);
	event_thread(k, opcode, &thread);
}

/* A machine that tells at the start what exists, as a live session does. */
static void write_told_at_the_start(const char *path)
{
	const struct etl_builder_options options = { .processors = 2 };
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = 101
	};
	const struct kernel_disk disk = { .size = 512, .response_ticks = 100, .thread_id = 201 };
	const struct kernel_hard_fault fault = { .thread_id = 101, .size = 4096 };
	struct etl_builder *builder = etl_builder_open(path, &options, NULL);
	struct kernel_events k;
	int64_t time = 1000;

	assert_non_null(builder);
	kernel_events_init(&k, builder, 8);
	kernel_events_at(&k, 0, time, 4, 8);
	event_volume_mapping(&k, "\\Device\\HarddiskVolume3\\", "C:\\");
	told(&k, OP_DC_START, 100, "alpha.exe");
	told(&k, OP_DC_START, 200, "Beta.EXE");
	event_file_name(&k, OP_FILE_NAME, 0xbee, "\\Device\\HarddiskVolume3\\data\\log.txt");
	for (unsigned i = 0; i < 2000; i++) {
		time += 10;
		kernel_events_at(&k, (uint16_t)(i % 2), time, i % 3 ? 100 : 200, i % 3 ? 101 : 201);
		event_file_transfer(&k, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
		event_disk(&k, OP_DISK_READ, &disk);
		event_hard_fault(&k, &fault);
		event_sample(&k, 0x1000, i % 2 ? 101 : 201);
		if (i % 100 == 0) {
			told(&k, OP_START, 300 + i, "gamma.exe");
		} else if (i % 100 == 50) {
			told(&k, OP_STOP, 300 + i - 50, "gamma.exe");
		}
	}
	kernel_events_done(&k);
	assert_true(etl_builder_finish(builder, NULL));
	etl_builder_close(builder);
}

static void what_is_told_at_the_start_counts_as_in_a_replay(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	write_told_at_the_start(path);
	assert_plays_as_it_replays(path, false);
	remove(path);
}

/* Without a look ahead, because the sample tells the names of files at its end. */
static void the_sample_counts_as_in_a_replay(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(sample_write(path, NULL, &err));
	assert_plays_as_it_replays(path, true);
	remove(path);
}

/* The recordings of real machines, where they are at hand. */
static void real_recordings_count_as_in_a_replay(void **state)
{
	static const struct {
		const char *name;
		bool told_at_the_end;
	} recordings[] = {
		{ "net.4.5.2.x64.etl", true },       { "ShutdownPerfDiagLogger.etl", true },
		{ "gcevents.etl", false },           { "lxcore_kernel.etl", false },
		{ "primitive-types.etl", false },    { "SelfDescribingSingleEvent.etl", false },
		{ "image_data_32_v0.etl", false },   { "image_data_32_v2.etl", false },
		{ "process_data_32_v1.etl", false }, { "process_data_32_v3.etl", false },
	};
	unsigned found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
		char path[512];
		FILE *file;

		snprintf(path, sizeof path, "%s/../shared/traces/%s", SOURCE_DIR,
			 recordings[i].name);
		file = fopen(path, "rb");
		if (!file) {
			continue;
		}
		fclose(file);
		found++;
		print_message("  %s\n", recordings[i].name);
		assert_plays_as_it_replays(path, true);
		if (!recordings[i].told_at_the_end) {
			assert_plays_as_it_replays(path, false);
		}
	}
	if (found == 0) {
		skip();
	}
}

/* ---- the runner ---- */

static uint64_t value_of(struct side *side, const char *line)
{
	const char *at;

	take_page(side);
	at = strstr(side->page.data, line);
	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

static void begin_live(struct side *side, const char *config)
{
	static const struct fake_etw_options machine = { .manual_flush = true };

	fake_etw_reset(&machine);
	open_side(side, config);
}

static void end_live(struct side *side)
{
	live_stop(side->live);
	live_join(side->live);
	close_side(side);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
}

static void emit_process(uint8_t opcode, uint32_t pid)
{
	/* Process, version 4, of a 64-bit kernel: id at 8, the rest too short to name it. */
	static const GUID process_class = {
		0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	uint8_t payload[12] = { [8] = (uint8_t)pid };
	struct fake_etw_event event = { .provider = process_class,
					.descriptor = { .Opcode = opcode, .Version = 4 },
					.classic = true,
					.process_id = pid,
					.payload = payload,
					.payload_size = sizeof payload };

	fake_etw_emit(&event);
}

static void health_tells_of_the_session(void **state)
{
	struct side side;

	(void)state;
	begin_live(&side, "");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	fake_etw_lose_events("etw_exporter", 3);
	for (int i = 0; i < 5; i++) {
		emit_process(1, 8);
	}
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	take_page(&side);
	assert_non_null(strstr(side.page.data,
			       "\netw_session_info{session=\"etw_exporter\",kind=\"system_logger\","
			       "clock=\"qpc\",mode=\"real_time\"} 1\n"));
	assert_null(strstr(side.page.data, "etw_replay_"));
	while (value_of(&side, "\netw_session_events_lost_total{session=\"etw_exporter\"} ") != 3) {
		Sleep(2);
	}
	assert_int_equal(value_of(&side, "\netw_session_up{session=\"etw_exporter\"} "), 1);
	assert_int_equal(value_of(&side, "\netw_session_buffers_max{session=\"etw_exporter\"} "),
			 128);
	assert_int_equal(value_of(&side, "\netw_session_restarts_total{session=\"etw_exporter\","
					 "reason=\"stopped\"} "),
			 0);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 5);
	live_stop(side.live);
	live_join(side.live);
	assert_int_equal(value_of(&side, "\netw_session_up{session=\"etw_exporter\"} "), 0);
	end_live(&side);
}

static void processes_that_no_event_names_are_named_by_the_snapshot(void **state)
{
	struct side side;

	(void)state;
	begin_live(&side, "");
	fake_etw_add_process(8, 4, "notepad.exe");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	emit_process(1, 8);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"notepad\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	end_live(&side);
}

static void ready_when_every_process_found_was_seen(void **state)
{
	struct side side;

	(void)state;
	begin_live(&side, "sessions: { etw_exporter: { flush: 1h } }\n");
	fake_etw_add_process(8, 4, "notepad.exe");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_false(live_ready(side.live));
	emit_process(3, 8);
	emit_process(3, 4);
	for (int i = 0; i < 500 && !live_ready(side.live); i++) {
		emit_process(3, (uint32_t)(i & 0xff)); /* whoever else the machine runs */
		assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	}
	assert_true(live_ready(side.live));
	end_live(&side);
}

static void ready_after_one_flush_interval(void **state)
{
	struct side side;

	(void)state;
	begin_live(&side, "");
	fake_etw_add_process(8, 4, "notepad.exe");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_false(live_ready(side.live));
	for (int i = 0; i < 3000 && !live_ready(side.live); i++) {
		Sleep(1);
	}
	assert_true(live_ready(side.live));
	end_live(&side);
}

static void a_restart_forgets_what_ran_and_keeps_what_was_counted(void **state)
{
	struct side side;

	(void)state;
	begin_live(&side, "");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	emit_process(1, 8);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_instances{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	assert_true(fake_etw_other_stop("etw_exporter"));
	while (value_of(&side, "\netw_session_restarts_total{session=\"etw_exporter\","
			       "reason=\"stopped\"} ") == 0) {
		Sleep(2);
	}
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	emit_process(1, 9);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_instances{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 2);
	end_live(&side);
}

static void user_sessions_run_beside_the_kernel_session(void **state)
{
	static const GUID provider = {
		0x11111111, 0x2222, 0x3333, { 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 }
	};
	struct fake_etw_event event = { .provider = provider,
					.descriptor = { .Id = 7, .Level = 4 } };
	struct side side;

	(void)state;
	begin_live(&side, "sessions: { noise: { logger: user, providers: "
			  "['{11111111-2222-3333-4444-555555555555}'] } }\n");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	assert_int_equal(fake_etw_emit(&event), 1);
	emit_process(1, 8);
	assert_true(fake_etw_drain("noise", WAIT_MS));
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_consumer_events_total{session=\"noise\",provider="
					 "\"11111111-2222-3333-4444-555555555555\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_consumer_events_total{session=\"etw_exporter\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	end_live(&side);
}

static const GUID kernel_process = {
	0x22fb2cd6, 0x0e7b, 0x422b, { 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16 }
};

/* Microsoft-Windows-Kernel-Process tells of a process: 1 starts, 15 runs. */
static unsigned tell_process(uint16_t id)
{
	const struct fake_etw_event event = {
		.provider = kernel_process, .descriptor = { .Id = id, .Level = 4, .Keyword = 0x10 }
	};

	return fake_etw_emit(&event);
}

static void on_callback(void *context, const struct fake_etw_callback *callback)
{
	(void)context;
	if (callback->is_enabled == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		tell_process(15);
	}
}

/* Whoever needs its events for names does not count them; who needs them to count them does. */
static void a_start_counts_once_however_many_sessions_need_names(void **state)
{
	static const char collector[] =
		"collector: kernel_process\nhelp: Test.\ndefault: on\n"
		"needs: { providers: ['{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}:4::0x10'] }\n"
		"metrics:\n"
		"  - name: etw_test_starts_total\n"
		"    type: counter\n    help: Starts.\n    labels: { session: Session }\n"
		"    events: [ { event: '{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}/1' } ]\n";
	static const char *const sessions[] = { "a", "b", "etw_exporter" };
	const char *path = "./kernel_process.yaml";
	struct fake_etw_provider *provider;
	struct fake_etw_session session;
	struct side side;

	(void)state;
	temporary_write(path, collector, strlen(collector));
	begin_live(&side, "collector_files: ['./kernel_process.yaml']\n"
			  "sessions:\n"
			  "  a: { logger: user, providers: "
			  "['{11111111-2222-3333-4444-555555555555}'] }\n"
			  "  b: { logger: user, providers: "
			  "['{11111111-2222-3333-4444-555555555555}'] }\n");
	remove(path);
	provider = fake_etw_provider_open(&kernel_process, on_callback, NULL);
	open_live(&side);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fake_etw_wait_consumer(sessions[i], WAIT_MS));
	}
	assert_int_equal(tell_process(1), 3);
	emit_process(1, 8);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fake_etw_drain(sessions[i], WAIT_MS));
	}
	assert_true(fake_etw_session("b", &session));
	assert_int_equal(session.delivered, 2); /* what ran already, and the start */
	assert_int_equal(value_of(&side, "\netw_test_starts_total{session=\"etw_exporter\"} "), 1);
	assert_null(strstr(side.page.data, "etw_test_starts_total{session=\"a\"}"));
	assert_null(strstr(side.page.data, "etw_test_starts_total{session=\"b\"}"));
	assert_int_equal(value_of(&side, "\netw_consumer_records_total{session=\"b\",outcome="
					 "\"counted\"} "),
			 0);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	fake_etw_provider_close(provider);
	end_live(&side);
}

static void a_second_session_that_cannot_start_stops_the_first(void **state)
{
	struct side side;
	struct live_runner_options options;
	struct error err = { 0 };

	(void)state;
	begin_live(&side, "sessions: { noise: { logger: user, providers: "
			  "['{11111111-2222-3333-4444-555555555555}'] } }\n");
	options = (struct live_runner_options){ .registry = side.registry,
						.rules = side.rules,
						.config = side.config };
	fake_etw_fail("StartTraceW", ERROR_NO_SYSTEM_RESOURCES, 1);
	assert_null(live_new(&options, &err));
	assert_memory_equal(err.text, "session noise: ", 15);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	close_side(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_at_the_start_counts_as_in_a_replay),
		cmocka_unit_test(the_sample_counts_as_in_a_replay),
		cmocka_unit_test(real_recordings_count_as_in_a_replay),
		cmocka_unit_test(health_tells_of_the_session),
		cmocka_unit_test(processes_that_no_event_names_are_named_by_the_snapshot),
		cmocka_unit_test(ready_when_every_process_found_was_seen),
		cmocka_unit_test(ready_after_one_flush_interval),
		cmocka_unit_test(a_restart_forgets_what_ran_and_keeps_what_was_counted),
		cmocka_unit_test(user_sessions_run_beside_the_kernel_session),
		cmocka_unit_test(a_start_counts_once_however_many_sessions_need_names),
		cmocka_unit_test(a_second_session_that_cannot_start_stops_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
