/* SPDX-License-Identifier: MIT */
/*
 * The parts of the kit (selftest/kit.h) that call event tracing: the probes that test the
 * assumptions about Windows, and tables of what the kit's own sessions show.
 *
 * Each function starts sessions named etw_exporter_probe_1 to _8 and stops them before it returns;
 * those that an earlier run left over are stopped as well. No other session is touched. On systems
 * without event tracing there are no assumptions, and the tables say so.
 */
#ifndef SELFTEST_KIT_ETW_H
#define SELFTEST_KIT_ETW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os.h"
#include "base/text.h"

/* The session of the kit's service (selftest/kit_machine.h). It has its own name, so that an
 * exporter that runs meanwhile keeps the session named etw_exporter. */
#define KIT_SERVICE_SESSION "etw_exporter_probe_service"

/* ---- assumptions ---- */

struct kit_kernel; /* opaque; see below */

enum kit_state { KIT_NOT_TESTED, KIT_CONFIRMED, KIT_REFUTED };

struct kit_finding {
	enum kit_state state;
	bool skipped;         /* a step that the probe needs failed */
	struct etw_text seen; /* owned; what Windows answered, or why it was not tested */
};

/*
 * row: a row of tests/fake_etw/BEHAVIOUR.md, or W and a section of docs/windows.md. Each assumption
 * has one of these: a probe; recorded, which finds the answer in the recording of kernel events; or
 * why_not, the reason why it cannot be tested from outside.
 */
struct kit_assumption {
	const char *row;
	const char *sentence;
	void (*probe)(struct kit_finding *finding);
	void (*recorded)(const struct kit_kernel *kernel, struct kit_finding *finding);
	const char *why_not;
};

extern const struct kit_assumption kit_assumptions[]; /* the last one has row NULL */

/* Tests one assumption. This takes some seconds at most unless Windows hangs. One thread at a time
 * may call it. */
void kit_probe(const struct kit_assumption *assumption, struct kit_finding *finding);

/* ---- tables: each is CSV with a line of titles ---- */

/*
 * Shows when records come in a private session with the flags of processes, disks and names of
 * files, which also requests the names of open files. The table has the times of the session's
 * steps and, for each type of record, how many came before and after the stop.
 */
void kit_timeline(struct etw_text *csv);

/* Shows which sorts of sessions can be started, and what each delivers. without_rights: the thread
 * has given up its rights; then the names of the rows say so, and there is no line of titles. */
void kit_loggers(struct etw_text *csv, bool without_rights);

/*
 * Records all kernel events that the exporter can enable, for ms milliseconds, into a file that
 * Windows writes (at most 256 MB). The table has the status of each step and the group masks that
 * Windows answered. Returns false if there is no complete file.
 */
bool kit_record_kernel(const char *path, unsigned ms, struct etw_text *csv);

/* Lists the sessions that run, including those of other programs. */
void kit_sessions(struct etw_text *csv);

/* Adds facts that event tracing reports, as lines "name,value" without a line of titles. */
void kit_etw_facts(struct etw_text *csv);

/* Stops leftover probe sessions, and the session of the kit's service. */
void kit_etw_clean(void);

/* ---- a session of another part over time ---- */

/*
 * Samples the answers of QUERY and the group masks of a session on a thread of its own: each 100 ms
 * for two seconds, then each second.
 */
struct kit_samples;

struct kit_samples *kit_samples_start(const char *session, struct etw_error *err);
/* Takes a last sample, ends the thread, writes the CSV and frees the samples. NULL is fine. */
void kit_samples_end(struct kit_samples *samples, struct etw_text *csv);

/* ---- the recording of kernel events (kit_kernel.c) ---- */

/*
 * Counts the events of a recording of kernel events, and answers what only such a recording shows.
 *
 * The recording is one of Windows' own (kit_record_kernel()), so that its
 * layouts and its record headers are those of this version of Windows.
 */

/* Reads the recording. Returns NULL on failure. */
struct kit_kernel *kit_kernel_read(const char *path, struct etw_error *err);
void kit_kernel_free(struct kit_kernel *kernel); /* NULL is fine */

uint64_t kit_kernel_records(const struct kit_kernel *kernel);

/* Writes a line for each class, opcode, version, type of header and size of payload: how many
 * records there are, how many headers have a process and a thread, and how many of the addresses of
 * drivers and their routines are 0. */
void kit_kernel_table(const struct kit_kernel *kernel, struct etw_text *csv);

/* Adds the versions of context switches, and whether page faults have a thread: two lines for the
 * summary. Adds nothing if the recording has neither. */
void kit_kernel_lines(const struct kit_kernel *kernel, struct etw_text *out);

/* The answers to rows of kit_assumptions[] that name one of them. Not tested: the recording has no
 * such event. */
void recorded_addresses(const struct kit_kernel *kernel, struct kit_finding *finding);
void recorded_filter_calls(const struct kit_kernel *kernel, struct kit_finding *finding);
void recorded_filter_requests(const struct kit_kernel *kernel, struct kit_finding *finding);

#endif
