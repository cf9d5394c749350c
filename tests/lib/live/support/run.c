/* SPDX-License-Identifier: MIT */
#include "tests/lib/live/support/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/source.h>

const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};

const GUID some_provider = {
	0x11111111, 0x2222, 0x3333, { 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 }
};

static void note(struct run *run, uint64_t *count)
{
	os_mutex_lock(&run->lock);
	++*count;
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
}

static void on_event(void *context, const struct etw_record *record)
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
	if (run->on_record) {
		run->on_record(run->context, record);
	}
	run->events++;
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
}

static void on_known(void *context, const struct etw_record *record)
{
	struct run *run = context;

	note(run, record->opcode == 36 ? &run->known_files : &run->known_others);
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
	if (run->name_count < RUN_NAMES_MAX) {
		snprintf(run->names[run->name_count++], sizeof run->names[0], "%u = %.*s",
			 (unsigned)process_id, (int)size, name);
	}
	os_mutex_unlock(&run->lock);
}

static void on_volume(void *context, const char *nt_path, const char *dos_path)
{
	struct run *run = context;

	os_mutex_lock(&run->lock);
	if (run->volume_count < RUN_NAMES_MAX) {
		snprintf(run->volumes[run->volume_count++], sizeof run->volumes[0], "%s = %s",
			 nt_path, dos_path);
	}
	os_mutex_unlock(&run->lock);
}

static void on_session_event(void *context, enum etw_session_event event, const char *sentence)
{
	struct run *run = context;

	os_mutex_lock(&run->lock);
	if (run->session_event_count < RUN_SESSION_EVENTS_MAX) {
		run->session_events[run->session_event_count] = event;
		snprintf(run->sentences[run->session_event_count++], sizeof run->sentences[0], "%s",
			 sentence);
	}
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
}

void run_source_thread(void *context)
{
	struct run *run = context;
	const struct etw_event_sink sink = { .context = run,
					     .on_event = on_event,
					     .on_restart = on_restart,
					     .on_known = on_known,
					     .on_process = on_process,
					     .on_volume = on_volume,
					     .on_snapshot_end = on_snapshot_end };

	run->returned = etw_source_run(run->source, &sink, NULL);
}

struct etw_live_options run_private_session(struct run *run)
{
	return (struct etw_live_options){ .name = "etw_test",
					  .kernel_flags = ETW_KERNEL_FLAG_PROCESS |
							  ETW_KERNEL_FLAG_THREAD,
					  .on_session_event = on_session_event,
					  .session_event_context = run,
					  .watch_ms = 20,
					  .retry_ms = 10,
					  .stop_grace_ms = 2000,
					  .harvest_ms = 1,
					  .harvest_again_ms = 1 };
}

void run_begin(struct run *run)
{
	memset(run, 0, sizeof *run);
	run->options = run_private_session(run);
	os_mutex_init(&run->lock);
	os_condition_init(&run->changed);
}

void run_open(struct run *run, const struct etw_live_options *options)
{
	struct etw_error err = { 0 };

	run->source = etw_source_open_live(options, &err);
	assert_string_equal(err.text, "");
	assert_non_null(run->source);
}

void run_start(struct run *run, const struct etw_live_options *options)
{
	run_open(run, options);
	assert_true(os_thread_start(&run->thread, run_source_thread, run, NULL));
}

void run_start_and_wait(struct run *run, const struct etw_live_options *options)
{
	run_start(run, options);
	assert_true(fake_etw_wait_consumer(options->name, WAIT_MS));
}

void run_stop(struct run *run)
{
	etw_source_stop(run->source);
	os_thread_join(&run->thread);
	assert_true(run->returned);
}

void run_end(struct run *run)
{
	struct fake_etw_open open;

	etw_source_close(run->source);
	os_condition_done(&run->changed);
	os_mutex_done(&run->lock);
	open = fake_etw_open_things();
	assert_int_equal(open.sessions, 0);
	assert_int_equal(open.traces, 0);
	assert_int_equal(open.handles, 0);
}

bool run_wait(struct run *run, const uint64_t *count, uint64_t value)
{
	uint64_t before = 0, since = os_monotonic_ns();
	bool reached;

	os_mutex_lock(&run->lock);
	while (*count < value && os_monotonic_ns() - since < WAIT_MS * UINT64_C(1000000)) {
		os_condition_wait(&run->changed, &run->lock, 10000000);
		if (*count != before) {
			before = *count;
			since = os_monotonic_ns();
		}
	}
	reached = *count >= value;
	os_mutex_unlock(&run->lock);
	return reached;
}

bool run_wait_session_event(struct run *run, enum etw_session_event event)
{
	uint64_t deadline = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	bool reported = false;

	os_mutex_lock(&run->lock);
	for (;;) {
		for (size_t i = 0; i < run->session_event_count; i++) {
			reported = reported || run->session_events[i] == event;
		}
		if (reported || os_monotonic_ns() > deadline) {
			break;
		}
		os_condition_wait(&run->changed, &run->lock, 10000000);
	}
	os_mutex_unlock(&run->lock);
	return reported;
}

const char *run_sentence(const struct run *run, enum etw_session_event event)
{
	for (size_t i = 0; i < run->session_event_count; i++) {
		if (run->session_events[i] == event) {
			return run->sentences[i];
		}
	}
	return "";
}

struct etw_source_statistics run_statistics(struct run *run)
{
	struct etw_source_statistics now;

	etw_source_statistics(run->source, &now);
	return now;
}

void emit_process_start(uint32_t pid)
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

int run_reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

int run_reset_manual(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&manual);
	return 0;
}

static int begin(void **state)
{
	static struct run run; /* tests follow one another */

	run_begin(&run);
	*state = &run;
	return 0;
}

int run_set_up(void **state)
{
	run_reset(state);
	return begin(state);
}

int run_set_up_manual(void **state)
{
	run_reset_manual(state);
	return begin(state);
}
