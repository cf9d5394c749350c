/* SPDX-License-Identifier: MIT */
/*
 * --self-test: whether this machine's events are counted as they should be.
 *
 * Starts a live session of its own, performs a known activity, stops, and compares what was counted
 * for this process with what was done. The program uses activity_run(); tests use one of their own.
 */
#ifndef EXPORTER_SELF_TEST_H
#define EXPORTER_SELF_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* Its session: a service that runs meanwhile keeps the one named etw_exporter. */
#define SELF_TEST_SESSION "etw_exporter_self_test"

/* What was done by one process and its children of the same name. */
struct activity {
	uint64_t processes; /* started, and exited with status 0 */
	uint64_t written_bytes;
	uint64_t read_bytes;
	uint64_t deletes;
	uint64_t sent_bytes; /* TCP, as received_bytes */
	uint64_t received_bytes;
	uint64_t connects;
	uint64_t accepts;
};

/* A child process, a file that is written, read and deleted, a TCP connection over the loopback.
 * Windows only; elsewhere it fails. */
bool activity_run(void *context, struct activity *done, struct error *err);

/* The image base name of this process without .exe, to be freed. NULL without memory, and where
 * there is no self-test: not on Windows. */
char *activity_process(struct error *err);

enum self_test_state { SELF_TEST_OK, SELF_TEST_FAILED, SELF_TEST_SKIPPED };

/* A row of the table, for programs. Its texts are valid during the call that gets it. */
struct self_test_result {
	const char *what; /* "bytes written to a file" */
	uint64_t expected, counted;
	bool at_least; /* counted may be more than expected */
	enum self_test_state state;
	const char *look_at; /* FAILED: what to check; SKIPPED: why; OK: "" */
};

/* Pointers are borrowed during the call. */
struct self_test_options {
	/* Performs the activity and fills in *done; false when that was not possible. */
	bool (*act)(void *context, struct activity *done, struct error *err);
	void *context;
	const char *process; /* the label value of the process that performs it */
	/* Waits; false if the program was requested to stop meanwhile. */
	bool (*wait)(void *context, uint64_t ms);
	uint32_t idle_ms;     /* at most, until the names of processes are known */
	uint32_t duration_ms; /* from the activity until the session is stopped */
	/* Gets every row in the order of the table, once all are known; may be NULL. */
	void (*on_result)(void *result_context, const struct self_test_result *result);
	/* Gets the expositions that the counts are read from, at the moments "before" and "after"
	 * (the activity); may be NULL. */
	void (*on_page)(void *result_context, const char *moment, const struct text *page);
	void *result_context;
	/* A recording (.etl) that the session writes beside real time; NULL: none. */
	const char *recording_path;
};

/*
 * Writes a table of expected against counted to report; *passed is set if no row failed. False
 * when there is nothing to compare: no session, no activity, or a stop.
 */
bool self_test_run(const struct self_test_options *options, struct text *report, bool *passed,
		   struct error *err);

#endif
