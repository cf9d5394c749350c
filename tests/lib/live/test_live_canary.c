/* SPDX-License-Identifier: MIT */
/*
 * The exporter's own provider in live sessions: canaries that come back or get lost, and the state
 * that other sessions ask for.
 */
#include <etw/kernel.h>
#include <etw/source.h>

#include "lib/live/canary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "lib/decode/event_schema.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/support/decoded_text.h"

#define PROVIDER "{07f70771-7647-53cf-f7a8-a8c8660b66d7}"

enum { CANARY_SIZE = 24, FIRST_KEYWORD = 0x100, HOUR_MS = 3600000 };

static const GUID provider = {
	0x07f70771, 0x7647, 0x53cf, { 0xf7, 0xa8, 0xa8, 0xc8, 0x66, 0x0b, 0x66, 0xd7 }
};

static struct etw_canary *open_canary(void)
{
	struct etw_error err = { 0 };
	struct etw_canary *canary = etw_canary_open("1.2.3", &err);

	assert_string_equal(err.text, "");
	assert_non_null(canary);
	return canary;
}

static void close_canary(struct etw_canary *canary)
{
	etw_canary_close(canary);
	assert_int_equal(fake_etw_open_things().registrations, 0);
}

static struct etw_live_options with_canaries(struct run *run, struct etw_canary *canary)
{
	struct etw_live_options options = run_private_session(run);

	options.canary = canary;
	return options;
}

static uint64_t events_so_far(struct run *run)
{
	uint64_t events;

	os_mutex_lock(&run->lock);
	events = run->events;
	os_mutex_unlock(&run->lock);
	return events;
}

/* What was sent came back, and the consumer saw nothing else. */
static void assert_all_came_back(struct run *run)
{
	struct etw_source_statistics now = run_statistics(run);

	assert_int_equal(now.canary_sent, now.canary_received);
	assert_int_equal(now.canary_received, run->events);
}

/* ---- canaries ---- */

static void a_canary_decodes(void **state)
{
	static const uint8_t traits[] = "\x0f\0etw_exporter";
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	struct etw_tracelogging_cache *cache = etw_tracelogging_cache_new(NULL);
	const struct etw_schema *schema;
	struct etw_extended_item item;
	char expected[200];

	(void)state;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	assert_true(run_wait(&run, &run.events, 3));
	run_stop(&run);
	assert_memory_equal(run.provider.bytes, &provider, sizeof provider);
	assert_int_equal(run.record.process_id, GetCurrentProcessId());
	assert_int_equal(run.record.channel, 11);
	assert_int_equal(run.record.level, CANARY_LEVEL);
	assert_int_equal(run.record.keyword, FIRST_KEYWORD);
	assert_true(etw_record_find_extended(&run.record, ETW_EXTENDED_PROVIDER_TRAITS, &item));
	assert_int_equal(item.size, sizeof traits);
	assert_memory_equal(item.data, traits, sizeof traits);
	assert_true(etw_tracelogging_metadata(&run.record, &item));
	schema = etw_tracelogging_schema(cache, &item);
	assert_non_null(schema);
	assert_string_equal(schema->event, "Canary");
	/* The numbers are all that may differ; the last record is the last canary. */
	snprintf(expected, sizeof expected,
		 "Instance=%llu Slot=0 Epoch=1 Number=%u Session=etw_test",
		 (unsigned long long)etw_load_u64(run.payload), (unsigned)run.events);
	assert_decoded(schema, run.payload, run.record.payload_size, 8, expected, 0);
	assert_all_came_back(&run);
	run_end(&run);
	etw_tracelogging_cache_free(cache);
	close_canary(canary);
}

/* Without traits Windows takes the description of a canary for its payload (row P14a): none would
 * be recognised, and all would count as lost. */
static void without_traits_there_are_no_canaries(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	fake_etw_fail("EventSetInformation", ERROR_NOT_SUPPORTED, 0);
	assert_null(etw_canary_open("1.2.3", &err));
	assert_string_equal(err.text, "the exporter's own provider cannot describe its events: "
				      "this Windows does not support it (error 50)");
	assert_int_equal(fake_etw_open_things().registrations, 0);
}

static void each_session_gets_its_own_canaries(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run runs[2];
	struct etw_live_options first = with_canaries(&runs[0], canary);
	struct etw_live_options second = with_canaries(&runs[1], canary);

	(void)state;
	second.name = "etw_second";
	second.logger = ETW_LIVE_USER;
	second.kernel_flags = 0;
	run_begin(&runs[0]);
	run_begin(&runs[1]);
	run_start_and_wait(&runs[0], &first);
	run_start_and_wait(&runs[1], &second);
	for (size_t i = 0; i < 2; i++) {
		assert_true(run_wait(&runs[i], &runs[i].events, 4));
	}
	run_stop(&runs[0]);
	run_stop(&runs[1]);
	assert_int_equal(runs[0].record.keyword, FIRST_KEYWORD);
	assert_int_equal(runs[1].record.keyword, FIRST_KEYWORD << 1);
	assert_all_came_back(&runs[0]);
	assert_all_came_back(&runs[1]);
	run_end(&runs[0]);
	run_end(&runs[1]);
	close_canary(canary);
}

static void a_session_that_is_down_sends_nothing(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	uint64_t sent;

	(void)state;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	assert_true(run_wait(&run, &run.events, 2));
	fake_etw_fail_always("StartTraceW", ERROR_NO_SYSTEM_RESOURCES);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait_session_event(&run, ETW_SESSION_NOT_RESTARTED));
	sent = run_statistics(&run).canary_sent;
	assert_int_equal(sent, run_statistics(&run).canary_received);
	/* The watcher goes on meanwhile: it has as many occasions as attempts to start. */
	WAIT_UNTIL(fake_etw_calls("StartTraceW") >= 4);
	assert_int_equal(run_statistics(&run).canary_sent, sent);
	fake_etw_fail_never("StartTraceW");
	assert_true(run_wait(&run, &run.events, sent + 3));
	run_stop(&run);
	assert_all_came_back(&run);
	run_end(&run);
	close_canary(canary);
}

static void hold(void *context, const struct etw_record *record)
{
	atomic_bool *held = context;

	(void)record;
	while (atomic_load(held)) {
		Sleep(1);
	}
}

/* As long as another program records the provider, all that is written reaches a session. */
static void what_went_to_another_recorder_only_is_not_sent(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	struct fake_etw_session recorder;
	atomic_bool held = false;
	uint64_t written;

	(void)state;
	assert_true(fake_etw_other_start("recorder", EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(fake_etw_other_enable("recorder", &provider, 5, UINT64_MAX));
	run_begin(&run);
	run.on_record = hold;
	run.context = &held;
	run_start_and_wait(&run, &options);
	assert_true(run_wait(&run, &run.events, 2));
	/* The consumer cannot see that its session ends before three more were written. */
	atomic_store(&held, true);
	assert_true(fake_etw_session("recorder", &recorder));
	written = recorder.emitted;
	WAIT_UNTIL(fake_etw_session("recorder", &recorder) && recorder.emitted > written);
	fake_etw_flush("etw_test");
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(fake_etw_session("recorder", &recorder));
	written = recorder.emitted;
	WAIT_UNTIL(fake_etw_session("recorder", &recorder) && recorder.emitted >= written + 3);
	atomic_store(&held, false);
	assert_true(run_wait(&run, &run.restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	run_stop(&run);
	assert_all_came_back(&run);
	assert_true(fake_etw_session("recorder", &recorder));
	assert_true(recorder.emitted >= run.events + 3);
	assert_true(fake_etw_other_stop("recorder"));
	run_end(&run);
	close_canary(canary);
}

/* Others stop it at any moment, most often between a write and the look behind it. */
static void restarts_leave_no_gap_between_sent_and_received(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);

	(void)state;
	options.watch_ms = 4;
	options.retry_ms = 1;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	for (uint64_t i = 1; i <= 4; i++) {
		assert_true(run_wait(&run, &run.events, 2 * i));
		assert_true(fake_etw_other_stop("etw_test"));
		assert_true(run_wait(&run, &run.restarts, i));
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	}
	run_stop(&run);
	assert_all_came_back(&run);
	run_end(&run);
	close_canary(canary);
}

static void loss_that_is_not_reported_shows(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	struct fake_etw_session session;
	struct etw_source_statistics now;
	uint64_t lost;

	(void)state;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	WAIT_UNTIL(fake_etw_session("etw_test", &session) && session.emitted >= 3);
	fake_etw_lose_buffers("etw_test", 1);
	fake_etw_flush("etw_test");
	assert_true(fake_etw_session("etw_test", &session));
	lost = session.events_in_lost_buffers;
	assert_true(lost >= 3);
	WAIT_UNTIL(fake_etw_session("etw_test", &session) && session.emitted > lost + 2);
	run_stop(&run);
	now = run_statistics(&run);
	assert_int_equal(now.events_lost, 0);
	assert_true(now.canary_received >= 2);
	assert_int_equal(now.canary_sent - now.canary_received, lost);
	run_end(&run);
	close_canary(canary);
}

static void what_windows_refuses_is_not_sent(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	unsigned calls;

	(void)state;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	assert_true(run_wait(&run, &run.events, 2));
	fake_etw_fail_always("EventWriteTransfer", ERROR_NOT_ENOUGH_MEMORY);
	calls = fake_etw_calls("EventWriteTransfer");
	WAIT_UNTIL(fake_etw_calls("EventWriteTransfer") >= calls + 3);
	fake_etw_fail_never("EventWriteTransfer");
	assert_true(run_statistics(&run).canary_refused >= 3);
	assert_true(run_wait(&run, &run.events, 10));
	run_stop(&run);
	assert_all_came_back(&run);
	run_end(&run);
	close_canary(canary);
}

/*
 * Another session has the provider enabled and no room. On a machine where the mode of that session
 * decides, our session loses every event of the provider, and only the refusals show it.
 */
static void what_another_session_has_no_room_for_shows_as_refused(void **state)
{
	static const struct fake_etw_options machines[] = { { .processors = 4 },
							    { .full_decides = true } };

	(void)state;
	for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
		struct etw_canary *canary;
		struct etw_live_options options;
		struct fake_etw_session session;
		struct etw_source_statistics now;
		struct run run;
		uint64_t events;

		fake_etw_reset(&machines[i]);
		canary = open_canary();
		options = with_canaries(&run, canary);
		run_begin(&run);
		run_start_and_wait(&run, &options);
		assert_true(fake_etw_other_start("full", EVENT_TRACE_REAL_TIME_MODE, 0));
		assert_true(fake_etw_other_enable("full", &provider, 0, 0));
		fake_etw_fill("full", true);
		WAIT_UNTIL(run_statistics(&run).canary_refused >= 5);
		assert_true(fake_etw_session("etw_test", &session));
		assert_int_equal(session.events_lost, 0);
		assert_int_equal(session.withheld > 0, machines[i].full_decides);
		assert_int_equal(run_statistics(&run).events_lost, 0);
		fake_etw_fill("full", false);
		events = events_so_far(&run);
		assert_true(run_wait(&run, &run.events, events + 3));
		run_stop(&run);
		now = run_statistics(&run);
		assert_int_equal(now.canary_sent, now.canary_received);
		assert_true(fake_etw_other_stop("full"));
		run_end(&run);
		close_canary(canary);
	}
}

/* Any process may claim the GUID, and ours may have had a predecessor of the same id. */
static void canaries_of_others_are_not_ours(void **state)
{
	static const struct {
		const char *name;
		bool other_process;
		size_t changed; /* byte of the payload that is not as ours */
		size_t size;
		uint64_t keyword;
	} cases[] = {
		{ "another process", true, 1000, CANARY_SIZE, FIRST_KEYWORD },
		{ "another instance", false, 7, CANARY_SIZE, FIRST_KEYWORD },
		{ "another session's", false, 8, CANARY_SIZE, FIRST_KEYWORD << 1 | FIRST_KEYWORD },
		{ "an epoch that never was", false, 15, CANARY_SIZE, FIRST_KEYWORD },
		{ "cut short", false, 1000, CANARY_SIZE - 1, FIRST_KEYWORD },
		{ "of another keyword", false, 1000, CANARY_SIZE, FIRST_KEYWORD | 1 },
	};
	enum { FORGED = sizeof cases / sizeof cases[0] };
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	struct fake_etw_event event = { .provider = provider,
					.descriptor = { .Level = CANARY_LEVEL, .Channel = 11 } };
	uint8_t payload[CANARY_SIZE];
	struct etw_source_statistics now;

	(void)state;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	assert_true(run_wait(&run, &run.events, 1));
	for (size_t i = 0; i < FORGED; i++) {
		os_mutex_lock(&run.lock);
		memcpy(payload, run.payload, sizeof payload);
		os_mutex_unlock(&run.lock);
		payload[16] = 200; /* a number that was not written yet */
		if (cases[i].changed < sizeof payload) {
			payload[cases[i].changed] ^= 1;
		}
		event.process_id = (uint32_t)GetCurrentProcessId() + cases[i].other_process;
		event.descriptor.Keyword = cases[i].keyword;
		event.payload = payload;
		event.payload_size = cases[i].size;
		print_message("  %s\n", cases[i].name);
		assert_int_equal(fake_etw_emit(&event), 1);
		assert_true(fake_etw_drain("etw_test", WAIT_MS));
		os_mutex_lock(&run.lock); /* the next one starts from one of ours again */
		memcpy(run.payload, payload, sizeof payload);
		if (cases[i].changed < sizeof payload) {
			run.payload[cases[i].changed] ^= 1;
		}
		os_mutex_unlock(&run.lock);
	}
	run_stop(&run);
	now = run_statistics(&run);
	assert_int_equal(now.canary_sent, now.canary_received);
	assert_int_equal(now.canary_received, run.events - FORGED);
	run_end(&run);
	close_canary(canary);
}

struct delays {
	uint64_t count;
	uint64_t longest_ns;
};

static void on_canary(void *context, uint64_t delay_ns)
{
	struct delays *delays = context;

	delays->count++;
	delays->longest_ns = delay_ns > delays->longest_ns ? delay_ns : delays->longest_ns;
}

static void the_delay_is_from_the_write_to_the_delivery(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);
	struct delays delays = { 0 };
	struct fake_etw_session session;
	uint64_t began;

	(void)state;
	run_begin(&run);
	options.on_canary = on_canary;
	options.canary_context = &delays;
	run_start_and_wait(&run, &options);
	WAIT_UNTIL(fake_etw_session("etw_test", &session) && session.emitted >= 1);
	began = os_monotonic_ns();
	WAIT_UNTIL(os_monotonic_ns() - began > 30000000); /* nothing is flushed meanwhile */
	run_stop(&run);
	assert_int_equal(delays.count, run.events);
	assert_true(delays.longest_ns >= 30000000);
	assert_true(delays.longest_ns < UINT64_C(1000000) * WAIT_MS);
	run_end(&run);
	close_canary(canary);
}

static void a_ninth_session_and_the_kernel_logger_do_without(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run runs[CANARY_SLOTS + 2];
	char names[CANARY_SLOTS + 2][32];
	struct fake_etw_session session;

	(void)state;
	for (size_t i = 0; i < CANARY_SLOTS + 2; i++) {
		struct etw_live_options options = with_canaries(&runs[i], canary);

		snprintf(names[i], sizeof names[i], "session %zu", i);
		options.name = names[i];
		options.logger = ETW_LIVE_USER;
		if (i == 0) {
			options.name = "NT Kernel Logger";
			options.logger = ETW_LIVE_NT_KERNEL;
		}
		run_begin(&runs[i]);
		run_open(&runs[i], &options);
		assert_true(fake_etw_session(options.name, &session));
		assert_int_equal(session.providers, i > 0 && i <= CANARY_SLOTS);
	}
	for (size_t i = 0; i < CANARY_SLOTS + 2; i++) {
		etw_source_close(runs[i].source);
		runs[i].source = NULL;
	}
	for (size_t i = 0; i < CANARY_SLOTS + 2; i++) {
		run_end(&runs[i]);
	}
	close_canary(canary);
}

static void canaries_return_after_another_program_disabled_them(void **state)
{
	struct etw_canary *canary = open_canary();
	struct run run;
	struct etw_live_options options = with_canaries(&run, canary);

	(void)state;
	run_begin(&run);
	run_start_and_wait(&run, &options);
	assert_true(run_wait(&run, &run.events, 2));
	assert_true(fake_etw_other_disable("etw_test", &provider));
	assert_true(run_wait_session_event(&run, ETW_SESSION_RESTORED));
	assert_true(run_wait(&run, &run.events, events_so_far(&run) + 10));
	run_stop(&run);
	assert_string_equal(run_sentence(&run, ETW_SESSION_RESTORED),
			    "another program disabled provider " PROVIDER ": enabled again");
	assert_int_equal(run_statistics(&run).restarts[ETW_RESTART_FLAGS_CHANGED], 1);
	assert_all_came_back(&run);
	run_end(&run);
	close_canary(canary);
}

/* ---- state ---- */

/* A session of our own that asks for the provider's state like another program would. */
static struct etw_live_options asking(struct run *run, struct etw_provider_spec *spec,
				      const char *name, const char *text, uint64_t at_start,
				      uint64_t at_stop)
{
	struct etw_live_options options = run_private_session(run);

	assert_true(etw_provider_spec_parse(spec, text, NULL));
	spec->capture_at_start = at_start;
	spec->capture_at_stop = at_stop;
	options.name = name;
	options.logger = ETW_LIVE_USER;
	options.kernel_flags = 0;
	options.providers = spec;
	options.provider_count = 1;
	return options;
}

/* What the provider takes for wanted, seen right behind each of its callbacks. */
struct views {
	struct etw_canary *canary;
	struct fake_etw_callback received[32];
	struct fake_etw_callback seen[32];
	size_t count;
};

static void see(void *context, const struct fake_etw_callback *callback)
{
	struct views *views = context;
	struct fake_etw_callback *seen = &views->seen[views->count];

	if (views->count < 32) {
		views->received[views->count++] = *callback;
		seen->is_enabled = canary_enabled(views->canary, &seen->level, &seen->match_any);
	}
}

static void the_enabled_state_follows_the_union_and_no_capture(void **state)
{
	/* Two recorder sessions and one TraceLogging provider, measured on Windows. */
	static const struct {
		struct {
			uint32_t is_enabled;
			uint8_t level;
			uint64_t any;
		} received, expected;
	} steps[] = {
		/* session 1 starts */
		{ { 1, 5, 0x3 }, { 1, 5, 0x3 } },
		{ { 2, 5, 0x3 }, { 1, 5, 0x3 } },
		{ { 1, 5, 0x1 }, { 1, 5, 0x1 } },
		/* session 2 starts */
		{ { 1, 7, 0x19 }, { 1, 7, 0x19 } },
		{ { 2, 7, 0x18 }, { 1, 7, 0x19 } },
		{ { 1, 7, 0x9 }, { 1, 7, 0x9 } },
		/* session 1 stops */
		{ { 1, 7, 0xd }, { 1, 7, 0xd } },
		{ { 2, 5, 0x5 }, { 1, 7, 0xd } },
		{ { 1, 7, 0x9 }, { 1, 7, 0x9 } },
		{ { 1, 7, 0x8 }, { 1, 7, 0x8 } },
		/* session 2 stops */
		{ { 1, 7, 0x28 }, { 1, 7, 0x28 } },
		{ { 2, 7, 0x28 }, { 1, 7, 0x28 } },
		{ { 1, 7, 0x8 }, { 1, 7, 0x8 } },
		{ { 0, 0, 0 }, { 0, 0, 0 } },
	};
	struct views views = { .canary = open_canary() };
	/* Registered behind ours, so it gets the callback that ours has just got. */
	struct fake_etw_provider *beside = fake_etw_provider_open(&provider, see, &views);
	struct etw_provider_spec specs[2];
	struct run runs[2];
	struct etw_live_options first =
		asking(&runs[0], &specs[0], "first", PROVIDER ":5::1", 2, 4);
	struct etw_live_options second =
		asking(&runs[1], &specs[1], "second", PROVIDER ":7::8", 0x10, 0x20);

	(void)state;
	run_begin(&runs[0]);
	run_begin(&runs[1]);
	run_start_and_wait(&runs[0], &first);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	run_start_and_wait(&runs[1], &second);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	run_stop(&runs[0]);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	run_stop(&runs[1]);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	assert_int_equal(views.count, sizeof steps / sizeof steps[0]);
	for (size_t i = 0; i < views.count; i++) {
		print_message("  callback %zu\n", i);
		assert_int_equal(views.received[i].is_enabled, steps[i].received.is_enabled);
		assert_int_equal(views.received[i].level, steps[i].received.level);
		assert_int_equal(views.received[i].match_any, steps[i].received.any);
		assert_int_equal(views.seen[i].is_enabled, steps[i].expected.is_enabled);
		assert_int_equal(views.seen[i].level, steps[i].expected.level);
		assert_int_equal(views.seen[i].match_any, steps[i].expected.any);
	}
	/* The first asked for the keyword of the state, at its start and its stop. */
	assert_int_equal(runs[0].events, 2);
	assert_int_equal(runs[1].events, 0);
	run_end(&runs[0]);
	run_end(&runs[1]);
	fake_etw_provider_close(beside);
	etw_provider_spec_done(&specs[0]);
	etw_provider_spec_done(&specs[1]);
	close_canary(views.canary);
}

/* Compares the events of a capture with texts. */
struct received {
	struct etw_tracelogging_cache *cache;
	char session[400];
	size_t count;
};

static void compare(void *context, const struct etw_record *record)
{
	static const char *const events[] = { "Exporter", "Session" };
	struct received *received = context;
	const struct etw_schema *schema;
	struct etw_extended_item item;
	char exporter[100];

	assert_true(received->count < 2);
	assert_true(etw_tracelogging_metadata(record, &item));
	schema = etw_tracelogging_schema(received->cache, &item);
	assert_non_null(schema);
	assert_string_equal(schema->event, events[received->count]);
	assert_int_equal(record->keyword, CANARY_STATE_KEYWORD);
	/* How long it runs is behind the version. */
	snprintf(exporter, sizeof exporter, "Version=1.2.3 UptimeSeconds=%u Sessions=1",
		 (unsigned)etw_load_u64(record->payload + sizeof "1.2.3"));
	assert_decoded(schema, record->payload, record->payload_size, 8,
		       received->count++ == 0 ? exporter : received->session, 0);
}

static void state_is_complete_when_the_asking_session_stops(void **state)
{
	struct received received = { .cache = etw_tracelogging_cache_new(NULL) };
	struct etw_canary *canary = open_canary();
	struct run run, other;
	struct etw_live_options options = with_canaries(&run, canary);
	struct etw_provider_spec spec;
	struct etw_live_options asks = asking(&other, &spec, "other", PROVIDER ":5::1", 0, 1);
	struct etw_source_statistics now;

	(void)state;
	options.watch_ms = HOUR_MS; /* nothing changes meanwhile, and no canary is written */
	run_begin(&run);
	run_start_and_wait(&run, &options);
	WAIT_UNTIL(run_statistics(&run).up);
	now = run_statistics(&run);
	assert_true(now.buffers_max > 0);
	snprintf(received.session, sizeof received.session,
		 "Session=etw_test Up=1 Events=0 EventsLost=0 RealTimeBuffersLost=0 Buffers=%llu "
		 "BuffersFree=%llu BuffersMax=%llu LagNanoseconds=0 CanariesSent=0 "
		 "CanariesReceived=0",
		 (unsigned long long)now.buffers_allocated, (unsigned long long)now.buffers_free,
		 (unsigned long long)now.buffers_max);
	run_begin(&other);
	other.on_record = compare;
	other.context = &received;
	run_start_and_wait(&other, &asks);
	run_stop(&other); /* asks, and stops at once */
	assert_int_equal(received.count, 2);
	run_stop(&run);
	run_end(&other);
	run_end(&run);
	etw_provider_spec_done(&spec);
	etw_tracelogging_cache_free(received.cache);
	close_canary(canary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_canary_decodes, run_reset),
		cmocka_unit_test_setup(without_traits_there_are_no_canaries, run_reset),
		cmocka_unit_test_setup(each_session_gets_its_own_canaries, run_reset),
		cmocka_unit_test_setup(a_session_that_is_down_sends_nothing, run_reset),
		cmocka_unit_test_setup(what_went_to_another_recorder_only_is_not_sent, run_reset),
		cmocka_unit_test_setup(restarts_leave_no_gap_between_sent_and_received, run_reset),
		cmocka_unit_test_setup(loss_that_is_not_reported_shows, run_reset_manual),
		cmocka_unit_test_setup(what_windows_refuses_is_not_sent, run_reset),
		cmocka_unit_test_setup(what_another_session_has_no_room_for_shows_as_refused,
				       run_reset),
		cmocka_unit_test_setup(canaries_of_others_are_not_ours, run_reset),
		cmocka_unit_test_setup(the_delay_is_from_the_write_to_the_delivery,
				       run_reset_manual),
		cmocka_unit_test_setup(a_ninth_session_and_the_kernel_logger_do_without, run_reset),
		cmocka_unit_test_setup(canaries_return_after_another_program_disabled_them,
				       run_reset),
		cmocka_unit_test_setup(the_enabled_state_follows_the_union_and_no_capture,
				       run_reset_manual),
		cmocka_unit_test_setup(state_is_complete_when_the_asking_session_stops,
				       run_reset_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
