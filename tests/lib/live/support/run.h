/* SPDX-License-Identifier: MIT */
/*
 * A live session that runs on a thread of its own against tests/fake_etw, and what it delivered.
 *
 * For the thread of the test; what goes wrong fails it.
 */
#ifndef LIVE_SUPPORT_RUN_H
#define LIVE_SUPPORT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/session.h>

#include "base/os.h"
#include "lib/source/event_record.h"
#include "tests/fake_etw/fake_etw.h"

enum { RUN_NAMES_MAX = 8, RUN_SESSION_EVENTS_MAX = 32 };

/* The provider of process events ("Process class", Microsoft Learn). */
extern const GUID process_class;
/* Of no one; in text SOME_PROVIDER. */
extern const GUID some_provider;
#define SOME_PROVIDER "{11111111-2222-3333-4444-555555555555}"

/* Owned by the test; read it when the session has stopped, or with the lock. */
struct run {
	struct etw_source *source;       /* owned */
	struct etw_live_options options; /* for the test to change before it opens the session */
	struct os_thread thread;
	bool returned;
	struct os_mutex lock;
	struct os_condition changed;
	uint64_t events;
	uint64_t restarts;
	uint64_t snapshots;
	uint64_t known_files; /* records of what exists: names of files, and all others */
	uint64_t known_others;
	char names[RUN_NAMES_MAX][64]; /* "8 = notepad.exe" */
	size_t name_count;
	char volumes[RUN_NAMES_MAX][64];
	size_t volume_count;
	enum etw_session_event session_events[RUN_SESSION_EVENTS_MAX];
	char sentences[RUN_SESSION_EVENTS_MAX][200];
	size_t session_event_count;
	/* Every record, with the lock held; NULL: none. Set it before the session runs. */
	void (*on_record)(void *context, const struct etw_record *record);
	void *context;
	/* the last record */
	struct etw_record record;
	struct etw_guid provider, activity;
	uint8_t payload[256];
	uint8_t items[4096];
	bool had_activity;
};

/* Waits for a number that another thread sets. */
#define WAIT_UNTIL(condition)                                                     \
	do {                                                                      \
		uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000); \
		while (!(condition) && os_monotonic_ns() < until) {               \
			Sleep(2);                                                 \
		}                                                                 \
		assert_true(condition);                                           \
	} while (0)

/* Processes and threads, quick to look and to try again, session events to the run. */
struct etw_live_options run_private_session(struct run *run);

void run_begin(struct run *run);
void run_open(struct run *run, const struct etw_live_options *options);
void run_start(struct run *run, const struct etw_live_options *options);
void run_start_and_wait(struct run *run,
			const struct etw_live_options *options); /* until consumed */
void run_source_thread(void *run); /* for a source that the test has opened itself */
void run_stop(struct run *run);
/* Closes the source, if there is one; nothing of the fake is open then. */
void run_end(struct run *run);

/* Waits until one of the run's counts has reached a value. Returns false when it has not changed
 * for WAIT_MS. */
bool run_wait(struct run *run, const uint64_t *count, uint64_t value);
bool run_wait_session_event(struct run *run, enum etw_session_event event);
/* The first sentence of that type; empty when there is none. */
const char *run_sentence(const struct run *run, enum etw_session_event event);
struct etw_source_statistics run_statistics(struct run *run);

/* The kernel reports that a process starts. */
void emit_process_start(uint32_t pid);

/* Set-ups of tests: a new machine; one whose sessions flush only when they are asked to. */
int run_reset(void **state);
int run_reset_manual(void **state);
/* The same, and *state is a run that has begun, with the options of run_private_session(). The test
 * ends it with run_end(). */
int run_set_up(void **state);
int run_set_up_manual(void **state);

#endif
