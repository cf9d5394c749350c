/* SPDX-License-Identifier: MIT */
/*
 * Tests whether this machine's events are counted correctly.
 *
 * The self-test starts its own live session, performs a known activity, compares the counts of this
 * process with what was done, and stops. The program performs activity_run(); tests perform another
 * activity.
 */
#ifndef SELFTEST_SELF_TEST_H
#define SELFTEST_SELF_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "base/error.h"
#include "base/text.h"

/* The name of its session differs, so that a service that runs meanwhile keeps the session named
 * etw_exporter. */
#define SELF_TEST_SESSION "etw_exporter_self_test"

/* The parts of the activity. A part that is not possible on this machine is skipped. */
enum activity_part {
	ACTIVITY_BASICS,    /* a child process, reading, deleting, IPv4: never skipped */
	ACTIVITY_HELD_FILE, /* opened before the session starts, written while it runs */
	ACTIVITY_CACHED,
	ACTIVITY_WRITE_THROUGH,
	ACTIVITY_UNBUFFERED,
	ACTIVITY_MAPPED,
	ACTIVITY_TREE,         /* processes that start processes, each of which writes a file */
	ACTIVITY_LATER_VOLUME, /* a volume that did not exist when the session started */
	ACTIVITY_IPV6,
	ACTIVITY_PARTS
};

enum { ACTIVITY_TEXT = 256 };

/* TCP connections of which this process has both ends. */
struct activity_network {
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t connects;
	uint64_t accepts;
};

/* What one process and its children of the same name have done. */
struct activity {
	uint64_t processes; /* processes that were started and exited with status 0 */
	uint64_t written_bytes[ACTIVITY_PARTS];
	uint64_t read_bytes;
	uint64_t deletes;
	struct activity_network ipv4, ipv6;
	char volume[ACTIVITY_TEXT];       /* the label value of the volume of the files: "C:" */
	char later_volume[ACTIVITY_TEXT]; /* the same for ACTIVITY_LATER_VOLUME */
	char skipped[ACTIVITY_PARTS][ACTIVITY_TEXT]; /* why a part was not done; "" if it was */
};

/* ---- the activity of the program; Windows only: elsewhere its functions fail ---- */

struct activity_work; /* opaque; the folder of its files and what is open */

struct activity_work_options {
	unsigned branches;  /* children that start further children; 0: 2 */
	unsigned leaves;    /* children that each branch starts; 0: 99 */
	uint32_t tree_ms;   /* longest time without a further file of the tree; 0: 90 s */
	bool no_new_volume; /* ACTIVITY_LATER_VOLUME is skipped */
	uint32_t volume_ms; /* time in which the exporter must find the volume; 0: 15 s */
	/* Waits that many milliseconds; returns false if the program was requested to stop
	 * meanwhile. NULL: it is never requested to. */
	bool (*wait)(void *context, uint64_t ms);
	void *wait_context;
	/* For tests: path of a program that replaces diskpart.exe (borrowed), and the letter of the
	 * drive that it makes. */
	const wchar_t *diskpart;
	wchar_t drive;
};

struct activity_work *activity_open(const struct activity_work_options *options,
				    struct etw_error *err);
/* Deletes the remaining files of the activity and frees it. NULL is fine. */
void activity_close(struct activity_work *work);

/* Callbacks for struct self_test_options: the first runs before the session starts, the second
 * while it runs. context: the struct activity_work. */
bool activity_prepare(void *context, struct etw_error *err);
bool activity_run(void *context, struct activity *done, struct etw_error *err);

/* Does the work of a child process. work: the value of --child with which the activity started
 * it. */
bool activity_child(const char *work, struct etw_error *err);

/* Returns the image base name of this process without .exe, which the caller frees. Returns NULL
 * without memory, and on systems other than Windows, which have no self-test. */
char *activity_process(struct etw_error *err);

enum self_test_state { SELF_TEST_OK, SELF_TEST_FAILED, SELF_TEST_SKIPPED };

/* A row of the table for callbacks. Its texts are valid during the call. */
struct self_test_result {
	const char *what;           /* "bytes of cached writes" */
	uint64_t expected, counted; /* not set if the row is skipped */
	bool at_least;              /* counted may be more than expected */
	enum self_test_state state;
	const char *look_at; /* FAILED: what to check; SKIPPED: why; OK: "" */
};

/* Pointers are borrowed during the call. */
struct self_test_options {
	/* Runs before the session starts, and opens what must exist by then. May be NULL. */
	bool (*prepare)(void *context, struct etw_error *err);
	/* Performs the activity and fills in *done. Returns false if that was not possible. */
	bool (*act)(void *context, struct activity *done, struct etw_error *err);
	void *context;
	const char *process; /* the label value of the process that performs the activity */
	/* Waits that many milliseconds; returns false if the program was requested to stop
	 * meanwhile. */
	bool (*wait)(void *context, uint64_t ms);
	uint32_t idle_ms;     /* longest wait until the names of processes are known */
	uint32_t duration_ms; /* longest wait until all events have been delivered */
	/* Gets every row in the order of the table, after all counts are known; may be NULL. */
	void (*on_result)(void *result_context, const struct self_test_result *result);
	/* Gets the exposition directly after the counts were read; moment: "before" or "after" the
	 * activity. May be NULL. */
	void (*on_page)(void *result_context, const char *moment, const struct etw_text *page);
	void *result_context;
	uint32_t watch_ms;     /* for tests: see struct runner_options */
	bool system_providers; /* the session uses system providers in place of kernel flags */
};

/*
 * Adds a table of expected and counted values to report, and sets *passed if no row failed. Returns
 * false if there is nothing to compare: no session, no activity, or a stop.
 */
bool self_test_run(const struct self_test_options *options, struct etw_text *report, bool *passed,
		   struct etw_error *err);

#endif
