/* SPDX-License-Identifier: MIT */
/*
 * etw_selftest --out=DIR: the self-test, and with it everything about the machine that an expert
 * would ask for, as files in a folder. One run on a real Windows shows which assumptions about
 * Windows hold there.
 *
 * Each part is independent: one that fails, hangs or lacks rights is a line of summary.txt, and the
 * others go on. Sessions of the kit's own are stopped in any case.
 */
#ifndef SELFTEST_KIT_H
#define SELFTEST_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "selftest/self_test.h"

struct kit_options {
	const char *folder; /* made if it does not exist; one with files gets a new folder in it */
	bool private_names; /* names are masked; no event logs */
	uint32_t call_ms;   /* that a part may take that calls event tracing; 0: a minute */
	bool service;       /* install, run and remove a service of a name of its own */
	/* What the self-test does. on_result, on_page, result_context are the kit's. wait() also
	 * says whether the program was requested to stop. */
	struct self_test_options self_test;
};

/*
 * Writes the files, and adds the summary to report. *passed: the self-test ran and no row of it
 * failed; an assumption that is refuted is a finding and no failure. False when there is no folder
 * to write to.
 */
bool kit_run(const struct kit_options *options, struct etw_text *report, bool *passed,
	     struct etw_error *err);

#endif
