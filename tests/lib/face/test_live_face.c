/* SPDX-License-Identifier: MIT */
/*
 * Live sessions through the face of the library, against tests/fake_etw: events and their fields,
 * JSON, losses, notices, and the ends of a session.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/etw.h>
#include <etw/session.h>

#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"

#define SESSION  "face"
#define PROVIDER "{10adf00d-10ad-10ad-0102-030405060708}"

/* Wine, where this runs too, has no event tracing, but the fake is one. */
bool etw_here(struct etw_error *err)
{
	(void)err;
	return true;
}

/* ---- a session that runs on a thread ---- */

struct run {
	struct etw_trace *trace;
	struct os_thread thread;
	bool done; /* the result of etw_run() */
	struct etw_error err;
	unsigned events;
	uint64_t sum; /* of the field "value" */
	char json[1024];
	unsigned stop_at; /* 0: never */
	atomic_uint buffers, notices;
};

static void on_event(void *context, struct etw_event *event)
{
	static struct etw_reader reader = ETW_READER("value");
	struct run *run = context;
	uint64_t value;

	if (etw_event_is(event, "Contoso-Load", "Work") && etw_read_u64(&reader, event, &value)) {
		run->events++;
		run->sum += value;
		snprintf(run->json, sizeof run->json, "%s", etw_event_json(event, NULL));
	}
	if (run->events > 0 && run->events == run->stop_at) {
		etw_stop(run->trace);
	}
}

static void on_buffer(void *context)
{
	struct run *run = context;

	atomic_fetch_add(&run->buffers, 1);
}

static void on_notice(void *context, const char *sentence)
{
	struct run *run = context;

	assert_true(strlen(sentence) > 0);
	atomic_fetch_add(&run->notices, 1);
}

static void run_thread(void *context)
{
	struct run *run = context;
	const struct etw_callbacks callbacks = { .context = run,
						 .on_event = on_event,
						 .on_buffer = on_buffer };

	run->done = etw_run(run->trace, &callbacks, &run->err);
}

static void start_with(struct run *run, void (*notice)(void *context, const char *sentence))
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	static const char *const providers[] = { PROVIDER ":4" };
	const struct etw_session_options options = { .name = SESSION,
						     .providers = providers,
						     .provider_count = 1,
						     .on_notice = notice,
						     .notice_context = run };

	fake_etw_reset(&machine);
	run->trace = etw_open_session(&options, &run->err);
	assert_string_equal(run->err.text, "");
	assert_non_null(run->trace);
	assert_true(os_thread_start(&run->thread, run_thread, run, &run->err));
	assert_true(fake_etw_wait_consumer(SESSION, WAIT_MS));
}

static void start(struct run *run)
{
	start_with(run, on_notice);
}

static void end(struct run *run)
{
	os_thread_join(&run->thread);
	etw_close(run->trace);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
	fake_etw_reset(NULL);
}

/* A TraceLogging event Work { UInt32 value; }. */
static void emit(uint32_t value)
{
	static const char traits[] = "\x0f\0Contoso-Load";
	static const char metadata[] = "\x0f\0\0Work\0value\0\x08";
	const struct fake_etw_item items[] = {
		{ EVENT_HEADER_EXT_TYPE_PROV_TRAITS, sizeof traits, traits },
		{ EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL, sizeof metadata - 1, metadata },
	};
	const struct fake_etw_event event = {
		.provider = { 0x10adf00d, 0x10ad, 0x10ad, { 1, 2, 3, 4, 5, 6, 7, 8 } },
		.descriptor = { .Channel = 11, .Level = 4, .Keyword = 1 },
		.process_id = 4712,
		.thread_id = 4716,
		.items = items,
		.item_count = 2,
		.payload = &value,
		.payload_size = sizeof value,
	};

	assert_int_equal(fake_etw_emit(&event), 1);
}

/* ---- tests ---- */

static void events_of_a_session_have_names_and_fields(void **state)
{
	struct run run = { .done = false };
	struct etw_facts facts;

	(void)state;
	start(&run);
	assert_true(etw_facts(run.trace, &facts, NULL));
	assert_true(facts.live);
	assert_string_equal(facts.name, SESSION);
	for (uint32_t i = 1; i <= 10; i++) {
		emit(i);
	}
	assert_true(fake_etw_drain(SESSION, WAIT_MS));
	etw_stop(run.trace);
	os_thread_join(&run.thread);
	assert_true(run.done);
	assert_int_equal(run.events, 10);
	assert_int_equal(run.sum, 55);
	assert_true(atomic_load(&run.buffers) > 0);
	assert_true(atomic_load(&run.notices) > 0); /* it started, and it stopped */
	assert_non_null(strstr(run.json, "\"pid\": 4712, \"tid\": 4716"));
	assert_non_null(strstr(run.json, "\"provider_name\": \"Contoso-Load\""));
	assert_non_null(strstr(run.json, "\"event\": \"Work\", \"fields\": {\"value\": 10}"));
	etw_close(run.trace);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	fake_etw_reset(NULL);
}

static void the_callback_can_stop_a_session(void **state)
{
	struct run run = { .stop_at = 3 };
	struct etw_error err = { 0 };

	(void)state;
	start(&run);
	emit(1);
	emit(2);
	emit(3);
	fake_etw_flush(SESSION);
	os_thread_join(&run.thread);
	assert_true(run.done);
	assert_int_equal(run.events, 3);
	/* It stays stopped. */
	assert_true(etw_run(run.trace, &(struct etw_callbacks){ .on_event = on_event }, &err));
	etw_close(run.trace);
	fake_etw_reset(NULL);
}

static void what_a_session_loses_is_counted(void **state)
{
	struct run run = { .done = false };
	struct etw_losses losses;

	(void)state;
	start(&run);
	emit(1);
	fake_etw_lose_events(SESSION, 5);
	assert_true(fake_etw_drain(SESSION, WAIT_MS));
	etw_stop(run.trace);
	os_thread_join(&run.thread);
	assert_true(etw_losses(run.trace, &losses, NULL));
	assert_int_equal(losses.events_lost, 5);
	assert_int_equal(run.events, 1);
	etw_close(run.trace);
	fake_etw_reset(NULL);
}

static void a_session_that_never_runs_is_stopped_by_closing(void **state)
{
	static const char *const providers[] = { PROVIDER };
	static const char *const flags[] = { "PROCESS", "POOL" };
	const struct etw_session_options options = { .name = SESSION,
						     .providers = providers,
						     .provider_count = 1,
						     .kernel_flags = flags,
						     .kernel_flag_count = 2 };
	struct fake_etw_session session;
	struct etw_trace *trace;

	(void)state;
	fake_etw_reset(NULL);
	trace = etw_open_session(&options, NULL);
	assert_non_null(trace);
	assert_true(fake_etw_session(SESSION, &session));
	assert_int_equal(session.masks[0] & 1, 1);       /* EVENT_TRACE_FLAG_PROCESS */
	assert_int_equal(session.masks[1] & 0x40, 0x40); /* PERF_POOL */
	etw_close(trace);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	fake_etw_reset(NULL);
}

static void closing_stops_a_session_that_runs(void **state)
{
	struct run run = { .done = false };

	(void)state;
	start(&run);
	etw_close(run.trace);
	end(&run);
	assert_true(run.done);
}

static void close_in_notice(void *context, const char *sentence)
{
	struct run *run = context;

	(void)sentence;
	if (run->trace) { /* the session is open */
		etw_close(run->trace);
	}
}

/* The notice that another program has stopped the session comes on a thread of the library, which
 * ends with the run. Without the closing the session would start again and the run go on. */
static void a_notice_can_close_the_trace(void **state)
{
	struct run run = { .done = false };

	(void)state;
	start_with(&run, close_in_notice);
	assert_true(fake_etw_other_stop(SESSION));
	end(&run);
	assert_true(run.done);
}

static void what_a_session_cannot_start_with_is_an_error(void **state)
{
	static const char *const bad_provider[] = { PROVIDER ":300" };
	static const char *const no_provider[] = { NULL };
	static const char *const bad_flag[] = { "PROCESSES" };
	struct etw_session_options options = { .name = SESSION, .provider_count = 1 };
	struct etw_error err = { 0 };

	(void)state;
	fake_etw_reset(NULL);
	assert_null(etw_open_session(&options, &err));
	assert_string_equal(err.text, "providers is NULL, and their count is not 0");
	options.providers = no_provider;
	assert_null(etw_open_session(&options, &err));
	assert_string_equal(err.text, "provider number 0 is NULL");
	options.providers = bad_provider;
	assert_null(etw_open_session(&options, &err));
	assert_non_null(strstr(err.text, "provider \"" PROVIDER ":300\": "));
	options = (struct etw_session_options){ .name = SESSION, .kernel_flag_count = 1 };
	assert_null(etw_open_session(&options, &err));
	assert_string_equal(err.text, "kernel_flags is NULL, and their count is not 0");
	options.kernel_flags = bad_flag;
	assert_null(etw_open_session(&options, &err));
	assert_string_equal(err.text, "there is no kernel flag \"PROCESSES\"");
	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	options.kernel_flags = (const char *const[]){ "PROCESS" };
	assert_null(etw_open_session(&options, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	fake_etw_reset(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_a_session_have_names_and_fields),
		cmocka_unit_test(the_callback_can_stop_a_session),
		cmocka_unit_test(what_a_session_loses_is_counted),
		cmocka_unit_test(a_session_that_never_runs_is_stopped_by_closing),
		cmocka_unit_test(closing_stops_a_session_that_runs),
		cmocka_unit_test(a_notice_can_close_the_trace),
		cmocka_unit_test(what_a_session_cannot_start_with_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
