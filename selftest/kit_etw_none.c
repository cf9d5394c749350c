/* SPDX-License-Identifier: MIT */
/* Replaces the probes on systems without event tracing, which have no assumptions to test. Tests
 * link kit_etw_*_win32.c with a simulated event tracing instead of this file. */
#include "selftest/kit_etw.h"

const struct kit_assumption kit_assumptions[] = { { .row = NULL } };

void kit_probe(const struct kit_assumption *assumption, struct kit_finding *finding)
{
	(void)assumption;
	(void)finding;
}

void kit_timeline(struct etw_text *csv)
{
	(void)csv;
}

void kit_loggers(struct etw_text *csv, bool without_rights)
{
	(void)csv;
	(void)without_rights;
}

bool kit_record_kernel(const char *path, unsigned ms, struct etw_text *csv)
{
	(void)path;
	(void)ms;
	(void)csv;
	return false;
}

void kit_sessions(struct etw_text *csv)
{
	(void)csv;
}

void kit_etw_facts(struct etw_text *csv)
{
	(void)csv;
}

void kit_etw_clean(void)
{
}

struct kit_samples *kit_samples_start(const char *session, struct etw_error *err)
{
	(void)session;
	error_set(err, ETW_ERROR_UNSUPPORTED, "only Windows has event tracing");
	return NULL;
}

void kit_samples_end(struct kit_samples *samples, struct etw_text *csv)
{
	(void)samples;
	(void)csv;
}
