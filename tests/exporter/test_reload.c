/* SPDX-License-Identifier: MIT */
/*
 * Reloads while a recording is replayed at full speed on a thread of its own: nothing that both
 * configurations count is lost or counted twice, and a configuration with an error changes nothing.
 *
 * The replay is cut into parts. At the end of each it is slow until the next reload has begun, so
 * each reload meets it at work.
 */
#include "exporter/reload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "tests/support/patience.h"
#include "tests/support/program.h"
#include "tests/support/sample.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum { SLOW_NS = 5000000 }; /* for a record, until a reload begins */

static char recording[TEMPORARY_PATH_SIZE];
static char config_path[TEMPORARY_PATH_SIZE];
static uint64_t records;
static double speed; /* of the next replay; 0: full */

struct running {
	struct program program;
	struct setup_options setup;
	struct reload *reload;
	/* Parts of the replay; 0: it does not wait. */
	uint64_t parts, seen, met;
	struct os_mutex lock;
	struct os_condition changed;
	uint64_t begun; /* reloads; guarded by lock */
};

/* On the consumer's thread, before each record is counted. It must not stop: the reload that has
 * begun waits for it. */
static void on_time(void *context, int64_t time)
{
	struct running *running = context;
	uint64_t part = running->seen++ * (running->parts + 2) / records;

	(void)time;
	if (running->parts > 0 && part > running->met) {
		os_mutex_lock(&running->lock);
		if (running->begun < part) {
			os_condition_wait(&running->changed, &running->lock, SLOW_NS);
		}
		running->met = running->begun;
		os_mutex_unlock(&running->lock);
	}
}

static void write_config(const char *text)
{
	remove(config_path);
	temporary_write(config_path, text, strlen(text));
}

static void start(struct running *running, const char *config, uint64_t parts, bool threaded)
{
	const char *const paths[] = { recording };
	struct etw_error err = { 0 };
	struct problems problems = { .list = NULL };

	memset(running, 0, sizeof *running);
	running->parts = parts;
	os_mutex_init(&running->lock);
	os_condition_init(&running->changed);
	write_config(config);
	setup_open(&running->program.setup, setup_config(config_path, &problems, &err),
		   &running->setup, &err);
	problems_done(&problems);
	assert_string_equal(err.text, "");
	program_run(&running->program, (struct runner_options){ .paths = paths,
								.path_count = 1,
								.speed = speed,
								.on_time = on_time,
								.time_context = running });
	running->reload = reload_new(&(struct reload_options){ .config_file = config_path,
							       .setup = &running->setup,
							       .current = &running->program.setup,
							       .runner = running->program.runner,
							       .health = running->program.health,
							       .log_level_set = true,
							       .log_level = LOG_ERROR },
				     &err);
	assert_string_equal(err.text, "");
	if (threaded) {
		assert_true(runner_start(running->program.runner, &err));
	}
}

static struct registry *registry;

static void take_registry(void *context, const struct setup *setup)
{
	(void)context;
	registry = setup->registry;
}

static struct etw_text page_of_running(struct running *running)
{
	struct program now;

	reload_use_setup(running->reload, take_registry, NULL);
	now.setup = (struct setup){ .registry = registry };
	return program_page(&now);
}

static void finish(struct running *running)
{
	runner_join(running->program.runner);
}

static void close_running(struct running *running)
{
	reload_end(running->reload);
	health_free(running->program.health);
	runner_free(running->program.runner);
	reload_free(running->reload);
	setup_close(&running->program.setup);
	os_condition_done(&running->changed);
	os_mutex_done(&running->lock);
}

static void begin_part(struct running *running)
{
	os_mutex_lock(&running->lock);
	running->begun++;
	os_condition_wake_all(&running->changed);
	os_mutex_unlock(&running->lock);
}

/* Reloads between the parts of the replay, with each of the configurations in turn. */
static void reload_between(struct running *running, const char *const configs[2])
{
	for (uint64_t i = 0; i < running->parts; i++) {
		struct etw_error err = { 0 };

		write_config(configs[(i + 1) % 2]);
		begin_part(running);
		reload_now(running->reload, &err);
		assert_string_equal(err.text, "");
	}
	begin_part(running); /* the last one */
}

/* What depends on the machine, on the time, or counts the exporter's own work. */
static bool is_about_the_run(const struct page_line *line)
{
	static const char *const families[] = {
		"process_",
		"etw_exporter_config_",
		"etw_consumer_busy_seconds",
		"etw_schema_cache_lookups",
		"etw_exporter_series ",
		"#",
	};

	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		if (line->size >= strlen(families[i]) &&
		    memcmp(line->text, families[i], strlen(families[i])) == 0) {
			return true;
		}
	}
	return false;
}

/* Fails unless each line of `of` is in `in`. Both pages are in the order of families, samples may
 * be in another order. */
static void expect_lines(const struct etw_text *of, const struct etw_text *in)
{
	struct page_line line = { 0 };

	while (page_next_line(of, &line)) {
		struct page_line other = { 0 };
		bool found = is_about_the_run(&line);

		while (!found && page_next_line(in, &other)) {
			found = other.size == line.size &&
				memcmp(other.text, line.text, line.size) == 0;
		}
		if (!found) {
			fail_msg("not on the other page: %.*s", (int)line.size, line.text);
		}
	}
}

static const char *const everything =
	"collectors: { file_other: on, file_latency: on, file_errors: on, file_top: on, disk_cause: on, "
	"page_faults: on, virtual_alloc: on, registry: on, cpu: on, image: on, process_info: on, interrupt: on, "
	"sched: on, dns: on, tcp: on, tcp_peers: on, http: on, dotnet: on, payload: on }\n";

static void reloads_of_the_same_file_change_no_value(void **state)
{
	const char *const same[] = { everything, everything };
	struct running without, with;
	struct etw_text page, other;

	(void)state;
	start(&without, everything, 0, true);
	finish(&without);
	page = page_of_running(&without);
	start(&with, everything, 100, true);
	reload_between(&with, same);
	finish(&with);
	other = page_of_running(&with);
	assert_int_equal(page_value(&other, "etw_consumer_records_total"), records);
	expect_lines(&page, &other);
	expect_lines(&other, &page);
	text_free(&page);
	text_free(&other);
	close_running(&without);
	close_running(&with);
}

/* Collectors come and go, filters and limits change; those that stay count every event. */
static void what_two_configurations_both_count_goes_on(void **state)
{
	static const char first[] = "collectors: { memory: off, sched: on, http: on }\n"
				    "limits: { series_per_family: 3000 }\n";
	static const char second[] = "collectors: { sched: off, dns: on, http: on, image: on, "
				     "file_top: on, process: off }\n";
	const char *const both[] = { first, second };
	static const char *const stay[] = {
		"etw_events_total",
		"etw_provider_events_total",
		"etw_file_written_bytes_total",
		"etw_disk_read_bytes_total",
		"etw_network_sent_bytes_total",
		"etw_http_request_duration_seconds_count",
		"etw_consumer_records_total",
	};
	struct running without, with;
	struct etw_text page, other;

	(void)state;
	start(&without, first, 0, true);
	finish(&without);
	page = page_of_running(&without);
	start(&with, first, 20, true);
	reload_between(&with, both);
	finish(&with);
	other = page_of_running(&with);
	for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++) {
		assert_int_equal(page_value(&other, stay[i]), page_value(&page, stay[i]));
	}
	/* Of the last configuration, which is the first one, and counted half the time. */
	assert_in_range(page_value(&other, "etw_thread_context_switches_total"), 1,
			page_value(&page, "etw_thread_context_switches_total") - 1);
	assert_int_equal(page_value(&other, "etw_dns_queries_total"), UINT64_MAX);
	/* Running processes are known without the collector. */
	assert_int_equal(page_value(&other, "etw_process_instances"),
			 page_value(&page, "etw_process_instances"));
	assert_int_equal(page_value(&other, "etw_process_threads"),
			 page_value(&page, "etw_process_threads"));
	text_free(&page);
	text_free(&other);
	close_running(&without);
	close_running(&with);
}

/* A consumer that is still busy before its first wait needs longer than the reload waits for it. */
static bool leaves_the_first_setup(struct running *running)
{
	const struct setup *first = &running->program.setup;
	uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);

	while (runner_uses(running->program.runner, first) && os_monotonic_ns() < until) {
		system_sleep_ms(1);
	}
	return !runner_uses(running->program.runner, first);
}

/* The next record is due in years. */
static void a_replay_that_waits_is_reloaded_at_once(void **state)
{
	struct running running;
	struct etw_error err = { 0 };
	struct etw_text page;

	(void)state;
	speed = 1e-9;
	start(&running, "collectors: { disk: off }\n", 0, true);
	speed = 0;
	for (unsigned i = 0; i < 20; i++) {
		write_config(i % 2 == 0 ? "{}\n" : "collectors: { disk: off }\n");
		assert_true(reload_now(running.reload, &err));
		assert_true(leaves_the_first_setup(&running));
	}
	page = page_of_running(&running);
	assert_int_equal(page_value(&page, "etw_replay_finished"), 0);
	text_free(&page);
	runner_stop(running.program.runner);
	finish(&running);
	close_running(&running);
}

static void a_configuration_with_errors_changes_nothing(void **state)
{
	struct running running;
	struct etw_error err = { 0 };
	struct etw_text before, after;

	(void)state;
	start(&running, "{}\n", 0, true);
	finish(&running);
	before = page_of_running(&running);
	assert_int_equal(page_value(&before, "etw_exporter_config_last_reload_successful"), 1);
	assert_in_range(page_value(&before,
				   "etw_exporter_config_last_reload_success_timestamp_seconds"),
			os_unix_time_ns() / 1000000000 - 1000, os_unix_time_ns() / 1000000000 + 1);
	write_config("collectors: { disk: off, nothing_of_this_name: on }\n"
		     "limits: { series: many }\nunknown: 1\n");
	log_configure(LOG_ERROR + 1, LOG_LOGFMT);
	assert_false(reload_now(running.reload, &err));
	log_configure(LOG_INFO, LOG_LOGFMT);
	assert_non_null(strstr(err.text, ":2:"));
	assert_non_null(strstr(err.text, ":3:"));
	after = page_of_running(&running);
	assert_int_equal(page_value(&after, "etw_exporter_config_last_reload_successful"), 0);
	expect_lines(&before, &after);
	expect_lines(&after, &before);
	text_free(&before);
	text_free(&after);
	write_config("collectors: { disk: off }\n");
	assert_true(reload_now(running.reload, &err));
	after = page_of_running(&running);
	assert_int_equal(page_value(&after, "etw_exporter_config_last_reload_successful"), 1);
	assert_int_equal(page_value(&after, "etw_disk_read_bytes_total"), UINT64_MAX);
	assert_int_equal(page_value(&after, "etw_exporter_collector_enabled{collector=\"disk\"}"),
			 0);
	text_free(&after);
	close_running(&running);
}

static int make_recording(void **state)
{
	struct sample_totals totals;

	(void)state;
	temporary_path(recording, "etl");
	temporary_path(config_path, "yaml");
	assert_true(sample_write(recording, &totals, NULL));
	records = totals.records;
	log_configure(LOG_ERROR, LOG_LOGFMT);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	remove(config_path);
	return remove(recording);
}

/* A page of the web server shows them: as many as one sentence has room for, and how many others
 * there are, also of those that the log does not show. */
static void errors_that_have_no_room_are_counted(void **state)
{
	enum { ERRORS = 60 }; /* more than the log shows, PROBLEMS_SHOWN */
	struct running running;
	struct etw_error err = { 0 };
	struct etw_text config = { 0 };
	char rest[32];
	size_t shown = 0;

	(void)state;
	for (unsigned i = 0; i < ERRORS; i++) {
		text_add_format(&config, "nothing_%02u: 1\n", i);
	}
	start(&running, "{}\n", 0, true);
	finish(&running);
	write_config(config.data);
	log_configure(LOG_ERROR + 1, LOG_LOGFMT);
	assert_false(reload_now(running.reload, &err));
	log_configure(LOG_INFO, LOG_LOGFMT);
	for (const char *at = err.text; (at = strstr(at, "'nothing_")) != NULL; at++) {
		shown++;
	}
	assert_in_range(shown, 1, ERRORS - 1);
	snprintf(rest, sizeof rest, "; and %zu more", ERRORS - shown);
	assert_true(strlen(err.text) > strlen(rest));
	assert_string_equal(err.text + strlen(err.text) - strlen(rest), rest);
	text_free(&config);
	close_running(&running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reloads_of_the_same_file_change_no_value),
		cmocka_unit_test(what_two_configurations_both_count_goes_on),
		cmocka_unit_test(a_replay_that_waits_is_reloaded_at_once),
		cmocka_unit_test(a_configuration_with_errors_changes_nothing),
		cmocka_unit_test(errors_that_have_no_room_are_counted),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_files);
}
