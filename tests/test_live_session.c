/* SPDX-License-Identifier: MIT */
/*
 * Live sessions as a source, against tests/fake_etw: what is asked of Windows, what comes back, and
 * what happens when others interfere.
 */
#include "source/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "source/kernel_flags.h"
#include "tests/fake_etw/fake_etw.h"

enum { WAIT_MS = 10000, NAMES_MAX = 8, NEWS_MAX = 32 };

static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};
static const GUID nt_kernel_guid = {
	0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 }
};
static const GUID some_provider = {
	0x11111111, 0x2222, 0x3333, { 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 }
};

/* A source that runs on a thread, and what it delivered. */
struct run {
	struct source *source;
	struct os_thread thread;
	bool returned;
	struct os_mutex lock;
	struct os_condition changed;
	uint64_t events;
	uint64_t restarts;
	uint64_t snapshots;
	char names[NAMES_MAX][64]; /* "8 = notepad.exe" */
	size_t name_count;
	char volumes[NAMES_MAX][64];
	size_t volume_count;
	enum live_news news[NEWS_MAX];
	char sentences[NEWS_MAX][200];
	size_t news_count;
	/* the last record */
	struct event_record record;
	struct guid provider, activity;
	uint8_t payload[256];
	uint8_t items[4096];
	bool had_activity;
};

static void note(struct run *run, uint64_t *count)
{
	os_mutex_lock(&run->lock);
	++*count;
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
}

static void on_event(void *context, const struct event_record *record)
{
	struct run *run = context;

	os_mutex_lock(&run->lock);
	run->record = *record;
	run->provider = *record->provider;
	run->had_activity = record->activity != NULL;
	if (record->activity) {
		run->activity = *record->activity;
	}
	memcpy(run->payload, record->payload,
	       record->payload_size < sizeof run->payload ? record->payload_size :
							    sizeof run->payload);
	if (record->extended_size > 0 && record->extended_size <= sizeof run->items) {
		memcpy(run->items, record->extended, record->extended_size);
		run->record.extended = run->items;
	}
	run->events++;
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
}

static void on_restart(void *context)
{
	struct run *run = context;

	note(run, &run->restarts);
}

static void on_snapshot_end(void *context)
{
	struct run *run = context;

	note(run, &run->snapshots);
}

static void on_process(void *context, uint32_t process_id, const char *name, size_t size)
{
	struct run *run = context;

	os_mutex_lock(&run->lock);
	if (run->name_count < NAMES_MAX) {
		snprintf(run->names[run->name_count++], sizeof run->names[0], "%u = %.*s",
			 (unsigned)process_id, (int)size, name);
	}
	os_mutex_unlock(&run->lock);
}

static void on_volume(void *context, const char *nt_path, const char *dos_path)
{
	struct run *run = context;

	os_mutex_lock(&run->lock);
	if (run->volume_count < NAMES_MAX) {
		snprintf(run->volumes[run->volume_count++], sizeof run->volumes[0], "%s = %s",
			 nt_path, dos_path);
	}
	os_mutex_unlock(&run->lock);
}

static void on_news(void *context, enum live_news news, const char *sentence)
{
	struct run *run = context;

	os_mutex_lock(&run->lock);
	if (run->news_count < NEWS_MAX) {
		run->news[run->news_count] = news;
		snprintf(run->sentences[run->news_count++], sizeof run->sentences[0], "%s",
			 sentence);
	}
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
}

static void run_thread(void *context)
{
	struct run *run = context;
	const struct event_sink sink = { .context = run,
					 .on_event = on_event,
					 .on_restart = on_restart,
					 .on_process = on_process,
					 .on_volume = on_volume,
					 .on_snapshot_end = on_snapshot_end };

	run->returned = source_run(run->source, &sink, NULL);
}

static struct live_options private_session(struct run *run)
{
	return (struct live_options){ .name = "etw_test",
				      .kernel_flags = KERNEL_FLAG_PROCESS | KERNEL_FLAG_THREAD,
				      .on_news = on_news,
				      .news_context = run,
				      .watch_ms = 20,
				      .retry_ms = 10,
				      .stop_grace_ms = 2000 };
}

static void begin(struct run *run)
{
	memset(run, 0, sizeof *run);
	os_mutex_init(&run->lock);
	os_condition_init(&run->changed);
}

static void open_session(struct run *run, const struct live_options *options)
{
	struct error err = { 0 };

	run->source = source_open_live(options, &err);
	assert_string_equal(err.text, "");
	assert_non_null(run->source);
}

static void start(struct run *run, const struct live_options *options)
{
	open_session(run, options);
	assert_true(os_thread_start(&run->thread, run_thread, run, NULL));
}

/* The session is consumed. */
static void start_and_wait(struct run *run, const struct live_options *options)
{
	start(run, options);
	assert_true(fake_etw_wait_consumer(options->name, WAIT_MS));
}

static void stop(struct run *run)
{
	source_stop(run->source);
	os_thread_join(&run->thread);
	assert_true(run->returned);
}

static void end(struct run *run)
{
	struct fake_etw_open open;

	source_close(run->source);
	os_condition_done(&run->changed);
	os_mutex_done(&run->lock);
	open = fake_etw_open_things();
	assert_int_equal(open.sessions, 0);
	assert_int_equal(open.traces, 0);
	assert_int_equal(open.handles, 0);
}

static bool wait_for(struct run *run, const uint64_t *count, uint64_t value)
{
	uint64_t deadline = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	bool reached;

	os_mutex_lock(&run->lock);
	while (*count < value && os_monotonic_ns() < deadline) {
		os_condition_wait(&run->changed, &run->lock, 10000000);
	}
	reached = *count >= value;
	os_mutex_unlock(&run->lock);
	return reached;
}

static bool wait_for_news(struct run *run, enum live_news news)
{
	uint64_t deadline = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	bool told = false;

	os_mutex_lock(&run->lock);
	for (;;) {
		for (size_t i = 0; i < run->news_count; i++) {
			told = told || run->news[i] == news;
		}
		if (told || os_monotonic_ns() > deadline) {
			break;
		}
		os_condition_wait(&run->changed, &run->lock, 10000000);
	}
	os_mutex_unlock(&run->lock);
	return told;
}

static const char *sentence_of(const struct run *run, enum live_news news)
{
	for (size_t i = 0; i < run->news_count; i++) {
		if (run->news[i] == news) {
			return run->sentences[i];
		}
	}
	return "";
}

static struct source_statistics statistics(struct run *run)
{
	struct source_statistics now;

	source_statistics(run->source, &now);
	return now;
}

/* Waits for a figure that the watcher sets. */
#define WAIT_UNTIL(condition)                                                     \
	do {                                                                      \
		uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000); \
		while (!(condition) && os_monotonic_ns() < until) {               \
			Sleep(2);                                                 \
		}                                                                 \
		assert_true(condition);                                           \
	} while (0)

static void emit_process(uint32_t pid)
{
	struct fake_etw_event event = { .provider = process_class,
					.descriptor = { .Opcode = 1, .Version = 4 },
					.classic = true,
					.process_id = pid,
					.thread_id = pid + 1,
					.payload = &pid,
					.payload_size = sizeof pid };

	fake_etw_emit(&event);
}

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

static int reset_manual(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&manual);
	return 0;
}

/* ---- the session ---- */

static void a_private_session_asks_for_what_does_not_lose(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	open_session(&run, &options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_SYSTEM_LOGGER_MODE,
			 EVENT_TRACE_SYSTEM_LOGGER_MODE);
	assert_int_equal(session.mode & EVENT_TRACE_REAL_TIME_MODE, EVENT_TRACE_REAL_TIME_MODE);
	assert_memory_not_equal(&session.guid, &nt_kernel_guid, sizeof(GUID));
	assert_int_equal(session.masks[0], KERNEL_FLAG_PROCESS | KERNEL_FLAG_THREAD);
	assert_int_equal(session.buffer_size_kb, 256);
	assert_int_equal(session.minimum_buffers, 64);
	assert_int_equal(session.maximum_buffers, 128);
	assert_int_equal(session.flush_timer, 1);
	assert_int_equal(session.clock, 1);
	assert_string_equal(source_facts(run.source)->name, "etw_test");
	assert_string_equal(source_facts(run.source)->kind, "system_logger");
	assert_string_equal(source_facts(run.source)->mode, "real_time");
	assert_int_equal(source_facts(run.source)->clock.kind, CLOCK_QPC);
	end(&run); /* closing one that never ran stops the session */
	assert_false(fake_etw_session("etw_test", &session));
}

static void many_processors_need_more_buffers(void **state)
{
	static const struct fake_etw_options machine = { .processors = 32 };
	uint32_t buffers; /* under Windows the processors are the real ones */
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	fake_etw_reset(&machine);
	begin(&run);
	buffers = 4 * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
	buffers = buffers > 64 ? buffers : 64;
	open_session(&run, &options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.minimum_buffers, buffers);
	assert_int_equal(session.maximum_buffers, 2 * buffers);
	end(&run);
}

static void buffers_are_those_of_the_configuration(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	options.logger = LIVE_USER;
	options.kernel_flags = 0;
	options.buffer_size_bytes = 65536;
	options.buffers_min = 70;
	options.buffers_max = 75;
	options.flush_ms = 3000;
	open_session(&run, &options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_INDEPENDENT_SESSION_MODE,
			 EVENT_TRACE_INDEPENDENT_SESSION_MODE);
	assert_int_equal(session.mode & EVENT_TRACE_SYSTEM_LOGGER_MODE, 0);
	assert_int_equal(session.buffer_size_kb, 64);
	assert_int_equal(session.minimum_buffers, 70);
	assert_int_equal(session.maximum_buffers, 75);
	assert_int_equal(session.flush_timer, 3);
	end(&run);
}

static void a_stale_session_is_stopped_and_started_again(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	assert_true(fake_etw_other_start(
		"etw_test", EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE,
		KERNEL_FLAG_PROCESS));
	start_and_wait(&run, &options);
	assert_int_equal(run.news[0], NEWS_STALE);
	assert_int_equal(run.news[1], NEWS_STARTED);
	emit_process(8);
	assert_true(wait_for(&run, &run.events, 1));
	stop(&run);
	end(&run);
}

static void who_may_not_is_told_in_one_line(void **state)
{
	static const struct {
		uint32_t error;
		const char *sentence;
	} cases[] = {
		{ ERROR_ACCESS_DENIED, "session etw_test: access is denied (error 5): run as "
				       "administrator" },
		{ ERROR_NO_SYSTEM_RESOURCES,
		  "session etw_test: Windows has no room for it (error 1450): of 64 sessions, 8 of "
		  "them with kernel events, all are in use, or its buffers are too large" },
		{ ERROR_NO_SUCH_PRIVILEGE,
		  "session etw_test: a privilege is missing (error 1313): processor samples need "
		  "\"Profile system performance\"; switch the collector cpu off, or run as "
		  "administrator" },
		{ ERROR_INVALID_PARAMETER,
		  "session etw_test: it cannot be started: a parameter is not valid (error 87)" },
	};
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err = { 0 };

		fake_etw_fail("StartTraceW", cases[i].error, 0);
		assert_null(source_open_live(&options, &err));
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(err.code, ERROR_SYSTEM);
	}
	run.source = NULL;
	end(&run);
}

static void a_user_without_rights_may_not(void **state)
{
	static const struct fake_etw_options machine = { .rights = FAKE_ETW_NOBODY };
	struct run run;
	struct live_options options = private_session(&run);
	struct error err = { 0 };

	(void)state;
	fake_etw_reset(&machine);
	begin(&run);
	assert_null(source_open_live(&options, &err));
	assert_non_null(strstr(err.text, "run as administrator"));
	end(&run);
}

static void who_may_not_consume_is_told_as_well(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct error err = { 0 };

	(void)state;
	begin(&run);
	fake_etw_fail("OpenTraceW", ERROR_ACCESS_DENIED, 0);
	assert_null(source_open_live(&options, &err));
	assert_string_equal(err.text, "session etw_test: access is denied (error 5): run as "
				      "administrator");
	fake_etw_fail("OpenTraceW", ERROR_NOACCESS, 0);
	assert_null(source_open_live(&options, &err));
	assert_string_equal(err.text, "session etw_test: it cannot be consumed: an address is not "
				      "valid (error 998)");
	run.source = NULL;
	end(&run);
}

static void samples_need_a_privilege_that_is_switched_on(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	options.kernel_flags |= KERNEL_FLAG_PROFILE;
	open_session(&run, &options);
	end(&run);
}

/* ---- events ---- */

static void an_event_arrives_as_it_was_written(void **state)
{
	static const uint8_t sid[] = { 1, 2, 3, 4, 5 };
	static const uint64_t key = 0x1122334455667788;
	const struct fake_etw_item items[] = {
		{ .type = EXTENDED_SID, .size = sizeof sid, .data = sid },
		{ .type = EXTENDED_PROCESS_START_KEY, .size = sizeof key, .data = &key },
	};
	struct fake_etw_event event = {
		.provider = some_provider,
		.descriptor = { .Id = 300,
				.Version = 2,
				.Channel = 3,
				.Level = 4,
				.Opcode = 5,
				.Task = 600,
				.Keyword = 0x10 },
		.process_id = 77,
		.thread_id = 78,
		.processor = 3,
		.pointer_size = 4,
		.activity = { 1, 2, 3, { 4 } },
		.items = items,
		.item_count = 2,
		.payload = "payload",
		.payload_size = 7,
	};
	struct provider_spec provider;
	struct run run;
	struct live_options options = private_session(&run);
	struct extended_item item;

	(void)state;
	begin(&run);
	assert_true(provider_spec_parse(&provider, "{11111111-2222-3333-4444-555555555555}", NULL));
	options.providers = &provider;
	options.provider_count = 1;
	start_and_wait(&run, &options);
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(wait_for(&run, &run.events, 1));
	stop(&run);
	assert_memory_equal(run.provider.bytes, &some_provider, 16);
	assert_int_equal(run.record.id, 300);
	assert_int_equal(run.record.version, 2);
	assert_int_equal(run.record.channel, 3);
	assert_int_equal(run.record.level, 4);
	assert_int_equal(run.record.opcode, 5);
	assert_int_equal(run.record.task, 600);
	assert_int_equal(run.record.keyword, 0x10);
	assert_int_equal(run.record.process_id, 77);
	assert_int_equal(run.record.thread_id, 78);
	assert_int_equal(run.record.processor, 3);
	assert_int_equal(run.record.pointer_size, 4);
	assert_int_equal(run.record.kind, RECORD_EVENT);
	assert_false(run.record.classic);
	assert_true(run.had_activity);
	assert_int_equal(run.activity.bytes[0], 1);
	assert_int_equal(run.record.payload_size, 7);
	assert_memory_equal(run.payload, "payload", 7);
	assert_true(run.record.raw_time > 0);
	assert_int_equal(run.record.time,
			 clock_time(&source_facts(run.source)->clock, run.record.raw_time));
	assert_int_equal(run.record.extended_size, 32);
	assert_true(record_find_extended(&run.record, EXTENDED_SID, &item));
	assert_int_equal(item.size, 5);
	assert_memory_equal(item.data, sid, 5);
	assert_true(record_find_extended(&run.record, EXTENDED_PROCESS_START_KEY, &item));
	assert_int_equal(item.size, 8);
	assert_memory_equal(item.data, &key, 8);
	end(&run);
	provider_spec_done(&provider);
}

static void a_kernel_event_is_a_classic_one(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	emit_process(8);
	assert_true(wait_for(&run, &run.events, 1));
	stop(&run);
	assert_true(run.record.classic);
	assert_int_equal(run.record.kind, RECORD_FULL);
	assert_int_equal(run.record.opcode, 1);
	assert_int_equal(run.record.version, 4);
	assert_int_equal(run.record.id, 0);
	assert_int_equal(run.record.pointer_size, 8);
	assert_int_equal(run.record.process_id, 8);
	assert_false(run.had_activity);
	assert_memory_equal(run.provider.bytes, &process_class, 16);
	end(&run);
}

static void what_the_session_holds_at_the_stop_is_delivered(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	for (uint32_t i = 0; i < 500; i++) {
		emit_process(i);
	}
	stop(&run); /* nobody flushed */
	assert_int_equal(run.events, 500);
	assert_int_equal(statistics(&run).records, 500);
	assert_true(statistics(&run).buffers > 0);
	assert_true(statistics(&run).last_time == run.record.time);
	end(&run);
}

static void what_exists_is_told_before_events(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	fake_etw_add_process(4, 0, "System");
	fake_etw_add_process(8, 4,
			     "notep\xc3\xa4"
			     "d.exe");
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	fake_etw_add_volume("D:", "\\??\\C:\\folder");
	begin(&run);
	start_and_wait(&run, &options);
	stop(&run);
	assert_int_equal(run.snapshots, 1);
	assert_int_equal(run.restarts, 0);
	assert_true(run.name_count >= 2);
	for (size_t i = 0; i < 2; i++) {
		const char *wanted = i == 0 ? "4 = System" :
					      "8 = notep\xc3\xa4"
					      "d.exe";
		bool found = false;

		for (size_t j = 0; j < run.name_count; j++) {
			found = found || strcmp(run.names[j], wanted) == 0;
		}
		assert_true(found);
	}
	assert_int_equal(run.volume_count, 1);
	assert_string_equal(run.volumes[0], "\\Device\\HarddiskVolume3 = C:");
	end(&run);
}

/* ---- losses ---- */

static void losses_are_counted_over_restarts(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	fake_etw_lose_events("etw_test", 7);
	WAIT_UNTIL(statistics(&run).events_lost == 7);
	assert_true(fake_etw_other_stop("etw_test"));
	WAIT_UNTIL(statistics(&run).restarts[RESTART_STOPPED] == 1);
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	fake_etw_lose_events("etw_test", 5);
	stop(&run); /* the last figures are those that the stop returns */
	assert_int_equal(statistics(&run).events_lost, 12);
	end(&run);
}

static void losses_survive_a_wrap(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	for (unsigned i = 1; i <= 3; i++) {
		fake_etw_lose_events("etw_test", 0x70000000);
		WAIT_UNTIL(statistics(&run).events_lost == i * UINT64_C(0x70000000));
	}
	stop(&run);
	assert_true(statistics(&run).events_lost == UINT64_C(0x150000000));
	end(&run);
}

static void buffers_are_told(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	WAIT_UNTIL(statistics(&run).up);
	WAIT_UNTIL(statistics(&run).buffers_allocated > 0);
	assert_int_equal(statistics(&run).buffers_max, 128);
	assert_int_equal(statistics(&run).buffer_size_bytes, 262144);
	stop(&run);
	assert_false(statistics(&run).up);
	end(&run);
}

/* ---- others ---- */

static void a_session_that_somebody_stops_is_started_again(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	emit_process(8);
	assert_true(wait_for(&run, &run.events, 1));
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(wait_for(&run, &run.restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_process(9);
	assert_true(wait_for(&run, &run.events, 2));
	assert_int_equal(run.snapshots, 2);
	stop(&run);
	assert_int_equal(statistics(&run).restarts[RESTART_STOPPED], 1);
	assert_string_equal(sentence_of(&run, NEWS_LOST), "another program stopped it");
	end(&run);
}

static void a_session_that_somebody_takes_is_taken_back(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	assert_true(fake_etw_other_steal("etw_test"));
	assert_true(wait_for(&run, &run.restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	stop(&run);
	assert_int_equal(statistics(&run).restarts[RESTART_STOLEN], 1);
	end(&run);
}

static void changed_flags_are_put_back(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	assert_true(fake_etw_other_set_flags("etw_test", KERNEL_FLAG_CSWITCH));
	WAIT_UNTIL(statistics(&run).restarts[RESTART_FLAGS_CHANGED] == 1);
	WAIT_UNTIL(fake_etw_session("etw_test", &session) &&
		   session.masks[0] == (KERNEL_FLAG_PROCESS | KERNEL_FLAG_THREAD));
	stop(&run);
	assert_int_equal(run.restarts, 0); /* the session went on */
	end(&run);
}

static void a_lost_real_time_mode_is_put_back(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	assert_true(fake_etw_other_set_realtime("etw_test", false));
	WAIT_UNTIL(fake_etw_session("etw_test", &session) &&
		   (session.mode & EVENT_TRACE_REAL_TIME_MODE));
	emit_process(8);
	assert_true(wait_for(&run, &run.events, 1));
	stop(&run);
	assert_true(statistics(&run).restarts[RESTART_FLAGS_CHANGED] >= 1);
	end(&run);
}

static void a_consumer_that_windows_ends_goes_on(void **state)
{
	static const uint32_t errors[] = { ERROR_CANCELLED, ERROR_NOACCESS, ERROR_BAD_LENGTH,
					   ERROR_INVALID_DATA };
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
		fake_etw_end_consumer("etw_test", errors[i]);
		WAIT_UNTIL(statistics(&run).restarts[RESTART_ERROR] == i + 1);
	}
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_process(8);
	assert_true(wait_for(&run, &run.events, 1));
	stop(&run);
	assert_int_equal(run.restarts, 0);
	assert_int_equal(fake_etw_calls("StartTraceW"), 1); /* it was the session's all the time */
	end(&run);
}

static void a_restart_that_fails_is_tried_on(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	start_and_wait(&run, &options);
	fake_etw_fail_always("StartTraceW", ERROR_NO_SYSTEM_RESOURCES);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(wait_for_news(&run, NEWS_NOT_AGAIN));
	assert_false(statistics(&run).up);
	fake_etw_fail_never("StartTraceW");
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	stop(&run);
	assert_non_null(strstr(sentence_of(&run, NEWS_NOT_AGAIN), "Windows has no room"));
	end(&run);
}

/* ---- the NT Kernel Logger ---- */

static void the_kernel_logger_of_another_program_is_waited_for(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	options.name = "NT Kernel Logger";
	options.logger = LIVE_NT_KERNEL;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 KERNEL_FLAG_CSWITCH));
	start(&run, &options);
	assert_true(wait_for_news(&run, NEWS_CONFLICT));
	WAIT_UNTIL(fake_etw_calls("StartTraceW") >= 3);
	assert_false(statistics(&run).up);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_int_equal(session.masks[0], KERNEL_FLAG_CSWITCH); /* theirs, untouched */
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	assert_true(fake_etw_wait_consumer("NT Kernel Logger", WAIT_MS));
	WAIT_UNTIL(statistics(&run).up);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_int_equal(session.masks[0], KERNEL_FLAG_PROCESS | KERNEL_FLAG_THREAD);
	stop(&run);
	end(&run);
}

static void waiting_for_the_kernel_logger_can_be_stopped(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	options.name = "NT Kernel Logger";
	options.logger = LIVE_NT_KERNEL;
	options.retry_ms = 600000;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 KERNEL_FLAG_CSWITCH));
	start(&run, &options);
	stop(&run);
	assert_true(fake_etw_session("NT Kernel Logger", &session)); /* still theirs */
	source_close(run.source);
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	run.source = NULL;
	end(&run);
}

static void a_stolen_kernel_logger_is_not_stolen_back(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	options.name = "NT Kernel Logger";
	options.logger = LIVE_NT_KERNEL;
	start_and_wait(&run, &options);
	assert_true(fake_etw_other_steal("NT Kernel Logger"));
	assert_true(wait_for_news(&run, NEWS_CONFLICT));
	assert_int_equal(statistics(&run).restarts[RESTART_STOLEN], 1);
	stop(&run);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	source_close(run.source);
	run.source = NULL;
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	end(&run);
}

static void the_kernel_logger_is_taken_over_when_configured(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;

	(void)state;
	begin(&run);
	options.name = "NT Kernel Logger";
	options.logger = LIVE_NT_KERNEL;
	options.takeover = true;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 KERNEL_FLAG_CSWITCH));
	start_and_wait(&run, &options);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_int_equal(session.masks[0], KERNEL_FLAG_PROCESS | KERNEL_FLAG_THREAD);
	assert_int_equal(run.news[0], NEWS_STALE);
	stop(&run);
	end(&run);
}

/* ---- providers ---- */

static void providers_are_told_to_capture_their_state(void **state)
{
	static const struct {
		uint32_t is_enabled;
		uint64_t any;
	} expected[] = { { 1, 3 }, { 2, 3 }, { 1, 1 }, { 1, 5 }, { 2, 5 }, { 1, 1 }, { 0, 0 } };
	struct fake_etw_callback callbacks[16];
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct provider_spec spec;
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	assert_true(
		provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}:5::1", NULL));
	spec.capture_at_start = 2;
	spec.capture_at_stop = 4;
	options.providers = &spec;
	options.provider_count = 1;
	options.logger = LIVE_USER;
	options.kernel_flags = 0;
	start_and_wait(&run, &options);
	stop(&run);
	assert_true(fake_etw_settle(WAIT_MS));
	assert_int_equal(fake_etw_provider_callbacks(provider, callbacks, 16), 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(callbacks[i].is_enabled, expected[i].is_enabled);
		assert_int_equal(callbacks[i].match_any, expected[i].any);
		assert_int_equal(callbacks[i].level, expected[i].is_enabled ? 5 : 0);
	}
	end(&run);
	fake_etw_provider_close(provider);
	provider_spec_done(&spec);
}

static void state_is_captured_again_and_again(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct provider_spec spec;
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	assert_true(
		provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}:5::1", NULL));
	spec.capture_at_start = 2;
	spec.capture_every_ms = 30;
	options.providers = &spec;
	options.provider_count = 1;
	start_and_wait(&run, &options);
	WAIT_UNTIL(fake_etw_provider_callbacks(provider, NULL, 0) >= 9);
	stop(&run);
	end(&run);
	fake_etw_provider_close(provider);
	provider_spec_done(&spec);
}

static void a_provider_is_found_by_name(void **state)
{
	struct provider_spec specs[2];
	struct run run;
	struct live_options options = private_session(&run);
	struct fake_etw_session session;
	struct error err = { 0 };

	(void)state;
	fake_etw_tdh_provider(&some_provider, "Some-Provider", true);
	begin(&run);
	assert_true(provider_spec_parse(&specs[0], "some-provider", NULL));
	assert_true(provider_spec_parse(&specs[1], "Microsoft-Windows-DNS-Client", NULL));
	options.providers = specs;
	options.provider_count = 2;
	open_session(&run, &options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.providers, 2);
	source_close(run.source);
	run.source = NULL;
	provider_spec_done(&specs[1]);
	assert_true(provider_spec_parse(&specs[1], "No-Such", NULL));
	assert_null(source_open_live(&options, &err));
	assert_string_equal(err.text,
			    "session etw_test: no provider called 'No-Such' is registered; give "
			    "its GUID");
	end(&run);
	provider_spec_done(&specs[0]);
	provider_spec_done(&specs[1]);
}

static void a_provider_that_cannot_be_enabled_is_told(void **state)
{
	struct provider_spec spec;
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	assert_true(provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}", NULL));
	options.providers = &spec;
	options.provider_count = 1;
	fake_etw_fail("EnableTraceEx2", ERROR_ACCESS_DENIED, 0);
	start_and_wait(&run, &options);
	stop(&run);
	assert_string_equal(sentence_of(&run, NEWS_PROVIDER),
			    "provider {11111111-2222-3333-4444-555555555555}: it could not be "
			    "enabled: access is denied (error 5)");
	end(&run);
	provider_spec_done(&spec);
}

static void filters_reach_windows(void **state)
{
	static const uint16_t ids[] = { 1, 2, 3 };
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct provider_spec spec;
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	begin(&run);
	assert_true(
		provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}::2,3", NULL));
	spec.process_ids[0] = 50;
	spec.process_id_count = 1;
	options.providers = &spec;
	options.provider_count = 1;
	start_and_wait(&run, &options);
	for (size_t i = 0; i < 3; i++) {
		event.descriptor.Id = ids[i];
		event.process_id = 50;
		fake_etw_emit(&event);
	}
	stop(&run);
	assert_int_equal(run.events, 2);
	end(&run);
	provider_spec_done(&spec);
}

static void names_of_open_files_are_asked_for_once_the_trace_is_open(void **state)
{
	static const GUID rundown = {
		0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
	};
	static const GUID file_class = {
		0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
	};
	struct fake_etw_event name = {
		.provider = file_class,
		.descriptor = { .Opcode = 36, .Version = 2, .Keyword = 0x10 },
		.classic = true,
		.payload = "12345678a",
		.payload_size = 10
	};
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	fake_etw_add_rundown(&name, &rundown);
	begin(&run);
	options.kernel_flags |= KERNEL_FLAG_DISK_FILE_IO | KERNEL_FLAG_FILE_IO_INIT;
	options.rundown = true;
	start_and_wait(&run, &options);
	assert_true(wait_for(&run, &run.events, 1));
	stop(&run);
	assert_int_equal(run.record.opcode, 36);
	end(&run);
}

/* ---- many times ---- */

static void a_thousand_starts_and_stops_leave_nothing(void **state)
{
	struct run run;
	struct live_options options = private_session(&run);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		begin(&run);
		options = private_session(&run);
		start(&run, &options);
		stop(&run);
		end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_private_session_asks_for_what_does_not_lose, reset),
		cmocka_unit_test_setup(many_processors_need_more_buffers, reset),
		cmocka_unit_test_setup(buffers_are_those_of_the_configuration, reset),
		cmocka_unit_test_setup(a_stale_session_is_stopped_and_started_again, reset),
		cmocka_unit_test_setup(who_may_not_is_told_in_one_line, reset),
		cmocka_unit_test_setup(a_user_without_rights_may_not, reset),
		cmocka_unit_test_setup(who_may_not_consume_is_told_as_well, reset),
		cmocka_unit_test_setup(samples_need_a_privilege_that_is_switched_on, reset),
		cmocka_unit_test_setup(an_event_arrives_as_it_was_written, reset),
		cmocka_unit_test_setup(a_kernel_event_is_a_classic_one, reset),
		cmocka_unit_test_setup(what_the_session_holds_at_the_stop_is_delivered,
				       reset_manual),
		cmocka_unit_test_setup(what_exists_is_told_before_events, reset),
		cmocka_unit_test_setup(losses_are_counted_over_restarts, reset),
		cmocka_unit_test_setup(losses_survive_a_wrap, reset),
		cmocka_unit_test_setup(buffers_are_told, reset),
		cmocka_unit_test_setup(a_session_that_somebody_stops_is_started_again, reset),
		cmocka_unit_test_setup(a_session_that_somebody_takes_is_taken_back, reset),
		cmocka_unit_test_setup(changed_flags_are_put_back, reset),
		cmocka_unit_test_setup(a_lost_real_time_mode_is_put_back, reset),
		cmocka_unit_test_setup(a_consumer_that_windows_ends_goes_on, reset),
		cmocka_unit_test_setup(a_restart_that_fails_is_tried_on, reset),
		cmocka_unit_test_setup(the_kernel_logger_of_another_program_is_waited_for, reset),
		cmocka_unit_test_setup(waiting_for_the_kernel_logger_can_be_stopped, reset),
		cmocka_unit_test_setup(a_stolen_kernel_logger_is_not_stolen_back, reset),
		cmocka_unit_test_setup(the_kernel_logger_is_taken_over_when_configured, reset),
		cmocka_unit_test_setup(providers_are_told_to_capture_their_state, reset),
		cmocka_unit_test_setup(state_is_captured_again_and_again, reset),
		cmocka_unit_test_setup(a_provider_is_found_by_name, reset),
		cmocka_unit_test_setup(a_provider_that_cannot_be_enabled_is_told, reset),
		cmocka_unit_test_setup(filters_reach_windows, reset),
		cmocka_unit_test_setup(names_of_open_files_are_asked_for_once_the_trace_is_open,
				       reset),
		cmocka_unit_test_setup(a_thousand_starts_and_stops_leave_nothing, reset_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
