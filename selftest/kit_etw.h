/* SPDX-License-Identifier: MIT */
/*
 * The parts of the kit (selftest/kit.h) that call event tracing: the assumptions about Windows with
 * the probes that test them, and what a session of the kit's own shows.
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

/* Of the service of the kit (selftest/kit_machine.h). An exporter that runs meanwhile keeps the
 * session named etw_exporter. */
#define KIT_SERVICE_SESSION "etw_exporter_probe_service"

/* ---- assumptions ---- */

enum kit_state { KIT_NOT_TESTED, KIT_CONFIRMED, KIT_REFUTED };

struct kit_finding {
	enum kit_state state;
	bool skipped;         /* a step that the probe needs failed */
	struct etw_text seen; /* what Windows answered, or why it was not tested; owned */
};

/*
 * row: of tests/fake_etw/BEHAVIOUR.md, or W and a section of docs/windows.md. Either a probe or
 * the reason why the assumption cannot be tested from outside.
 */
struct kit_assumption {
	const char *row;
	const char *sentence;
	void (*probe)(struct kit_finding *finding);
	const char *why_not;
};

extern const struct kit_assumption kit_assumptions[]; /* the last has no row */

/* Tests one assumption. It takes some seconds at most unless Windows hangs. One thread at a time.
 */
void kit_probe(const struct kit_assumption *assumption, struct kit_finding *finding);

/* ---- tables; each is CSV with a line of titles ---- */

/*
 * What came when in a private session with the flags of processes, disks and names of files, which
 * also requests the names of open files: moments of the session, and for each type of record how
 * many came before and after the stop.
 */
void kit_timeline(struct etw_text *csv);

/* Which sorts of sessions can be started, and what each delivers. without_rights: the thread has
 * given up its rights; the names of the rows say so. Adds lines without a title then. */
void kit_loggers(struct etw_text *csv, bool without_rights);

/* The sessions that run, those of other programs included. */
void kit_sessions(struct etw_text *csv);

/* Facts that event tracing knows, lines "name,value" without a title. */
void kit_etw_facts(struct etw_text *csv);

/* Stops the probe sessions that are left over, and the one of the service. */
void kit_etw_clean(void);

/* ---- a session of another part over time ---- */

/*
 * Samples the answers of QUERY and the group masks of a session on a thread of its own: each 100 ms
 * for two seconds, then each second.
 */
struct kit_samples;

struct kit_samples *kit_samples_start(const char *session, struct etw_error *err);
/* Takes a last sample, ends the thread and writes the CSV; NULL is allowed. */
void kit_samples_end(struct kit_samples *samples, struct etw_text *csv);

#endif
