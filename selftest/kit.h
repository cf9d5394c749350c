/* SPDX-License-Identifier: MIT */
/*
 * etw_selftest --out=DIR runs the kit: the self-test, and everything about the machine that an
 * expert would request, as files in a folder. One run on a real Windows shows which assumptions
 * about Windows hold there.
 *
 * The parts are independent: one that fails, hangs or lacks rights is reported in a line of
 * summary.txt, and the others continue. The kit stops its own sessions in any case.
 */
#ifndef SELFTEST_KIT_H
#define SELFTEST_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "selftest/self_test.h"

struct kit_options {
	const char *folder; /* created if missing; if it has files, a new folder in it is used */
	bool private_names; /* names are masked, and event logs are left out */
	uint32_t call_ms;   /* time limit of a part that calls event tracing; 0: a minute */
	uint32_t kernel_ms; /* length of the recording of kernel events; 0: five seconds */
	bool service;       /* install, run and remove a service with its own name */
	/* Options of the self-test. The kit sets on_result, on_page and result_context. The kit
	 * also uses wait() to check whether the program was requested to stop. */
	struct self_test_options self_test;
};

/*
 * Writes the files, and adds the summary to report. *passed is set if the self-test ran and none of
 * its rows failed; a refuted assumption is a finding and not a failure. Returns false if there is
 * no folder to write to.
 */
bool kit_run(const struct kit_options *options, struct etw_text *report, bool *passed,
	     struct etw_error *err);

#endif
