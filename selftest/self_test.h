/* SPDX-License-Identifier: MIT */
/*
 * Whether this machine's events are counted as they should be.
 *
 * Starts a live session of its own, performs a known activity, compares what was counted for this
 * process with what was done, and stops. The program uses activity_run(); tests use one of their
 * own.
 */
#ifndef SELFTEST_SELF_TEST_H
#define SELFTEST_SELF_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "base/error.h"
#include "base/text.h"

/* Its session: a service that runs meanwhile keeps the one named etw_exporter. */
#define SELF_TEST_SESSION "etw_exporter_self_test"

/* What is done; a part that cannot be done on this machine is skipped. */
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

/* TCP, both ends of which are ours. */
struct activity_network {
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t connects;
	uint64_t accepts;
};

/* What was done by one process and its children of the same name. */
struct activity {
	uint64_t processes; /* started, and exited with status 0 */
	uint64_t written_bytes[ACTIVITY_PARTS];
	uint64_t read_bytes;
	uint64_t deletes;
	struct activity_network ipv4, ipv6;
	char volume[ACTIVITY_TEXT];       /* the label value of the volume of the files: "C:" */
	char later_volume[ACTIVITY_TEXT]; /* likewise, of ACTIVITY_LATER_VOLUME */
	char skipped[ACTIVITY_PARTS][ACTIVITY_TEXT]; /* why a part was not done; "": it was */
};

/* ---- the activity of the program; Windows only: elsewhere its functions fail ---- */

struct activity_work; /* opaque; the folder of its files, what is open */

struct activity_work_options {
	unsigned branches;  /* children that start children of their own; 0: 2 */
	unsigned leaves;    /* that each of them starts; 0: 99 */
	uint32_t tree_ms;   /* at most, without a further file of the tree; 0: 90 s */
	bool no_new_volume; /* ACTIVITY_LATER_VOLUME is skipped */
	uint32_t volume_ms; /* for the exporter to see a new volume; 0: 15 s */
	/* Waits; false if the program was requested to stop meanwhile. NULL: nothing asks it to. */
	bool (*wait)(void *context, uint64_t ms);
	void *wait_context;
	/* For tests: the path of a program in place of diskpart.exe, borrowed, and the drive that
	 * it makes. */
	const wchar_t *diskpart;
	wchar_t drive;
};

struct activity_work *activity_open(const struct activity_work_options *options,
				    struct etw_error *err);
/* Deletes what the activity has left. NULL is fine. */
void activity_close(struct activity_work *work);

/* For struct self_test_options: before the session starts, and while it runs. context: the struct
 * activity_work. */
bool activity_prepare(void *context, struct etw_error *err);
bool activity_run(void *context, struct activity *done, struct etw_error *err);

/* What a child process does: the value of --child, which the activity starts it with. */
bool activity_child(const char *work, struct etw_error *err);

/* The image base name of this process without .exe, to be freed. NULL without memory, and where
 * there is no self-test: not on Windows. */
char *activity_process(struct etw_error *err);

enum self_test_state { SELF_TEST_OK, SELF_TEST_FAILED, SELF_TEST_SKIPPED };

/* A row of the table, for programs. Its texts are valid during the call that gets it. */
struct self_test_result {
	const char *what;           /* "bytes of cached writes" */
	uint64_t expected, counted; /* without meaning when the row is skipped */
	bool at_least;              /* counted may be more than expected */
	enum self_test_state state;
	const char *look_at; /* FAILED: what to check; SKIPPED: why; OK: "" */
};

/* Pointers are borrowed during the call. */
struct self_test_options {
	/* Before the session starts: opens what must exist by then. May be NULL. */
	bool (*prepare)(void *context, struct etw_error *err);
	/* Performs the activity and fills in *done; false when that was not possible. */
	bool (*act)(void *context, struct activity *done, struct etw_error *err);
	void *context;
	const char *process; /* the label value of the process that performs it */
	/* Waits; false if the program was requested to stop meanwhile. */
	bool (*wait)(void *context, uint64_t ms);
	uint32_t idle_ms;     /* at most, until the names of processes are known */
	uint32_t duration_ms; /* at most, until what was done has been delivered */
	/* Gets every row in the order of the table, once all are known; may be NULL. */
	void (*on_result)(void *result_context, const struct self_test_result *result);
	/* Gets the exposition at the moments "before" and "after" (the activity), right after the
	 * counts were read; may be NULL. */
	void (*on_page)(void *result_context, const char *moment, const struct etw_text *page);
	void *result_context;
	uint32_t watch_ms;     /* for tests: see struct runner_options */
	bool system_providers; /* the session has them in place of kernel flags */
};

/*
 * Writes a table of expected against counted to report; *passed is set if no row failed. False
 * when there is nothing to compare: no session, no activity, or a stop.
 */
bool self_test_run(const struct self_test_options *options, struct etw_text *report, bool *passed,
		   struct etw_error *err);

#endif
