/* SPDX-License-Identifier: MIT */
/*
 * Which process's value leaves a `set` gauge when Microsoft-Windows-Kernel-Process reports
 * processes, alone or together with the kernel's own events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

#define KERNEL_PROCESS_GUID "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
#define PROVIDER            "a1a1a1a1-0000-0000-0000-000000000001"

enum { STARTED = 1, STOPPED = 2 };

static const char lifetimes[] =
	"<events><event value='1' symbol='ProcessStart' template='t'/>"
	"<event value='2' symbol='ProcessStop' template='t'/></events><templates>"
	"<template tid='t'><data name='ProcessID' inType='win:UInt32'/>"
	"<data name='ImageName' inType='win:UnicodeString'/></template></templates>";

static const char threads[] = "<events><event value='5' symbol='Threads' template='t'/></events>"
			      "<templates><template tid='t'>"
			      "<data name='Count' inType='win:UInt32'/></template></templates>";

static void begin_with(struct rule_run *run, const char *keys)
{
	char collector[512];

	snprintf(collector, sizeof collector,
		 "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
		 "- { name: a, type: gauge, %shelp: h, op: set, events: [{ event: '{" PROVIDER
		 "}/5', value: Count }] }\n",
		 keys);
	rule_run_open(run, collector, NULL);
	rule_run_announce(run, PROVIDER, "Alpha", threads);
	rule_run_announce(run, KERNEL_PROCESS_GUID, "Microsoft-Windows-Kernel-Process", lifetimes);
	run->record.raw_time = 1;
}

static void begin(struct rule_run *run)
{
	begin_with(run, "");
}

static void set(struct rule_run *run, uint32_t process, uint32_t count)
{
	rule_run_other(run, PROVIDER, 5);
	etw_payload_u32(&run->payload, count);
	run->record.process_id = process;
	run->record.raw_time++;
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
}

/* An event that reports a process, logged in the context of the process `by`. */
static void report(struct rule_run *run, uint16_t event, uint32_t by, uint32_t process)
{
	rule_run_other(run, KERNEL_PROCESS_GUID, event);
	etw_payload_u32(&run->payload, process);
	etw_payload_wstring(&run->payload, "\\Device\\x\\a.exe");
	run->record.process_id = by;
	run->record.raw_time++;
	rule_run_feed(run);
}

static void a_stop_takes_the_share_of_the_process_it_names(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	report(&run, STARTED, 4, 100);
	report(&run, STARTED, 4, 200);
	set(&run, 100, 5);
	set(&run, 200, 7);
	rule_run_expect(&run, "a 12");
	report(&run, STOPPED, 200, 200);
	rule_run_expect(&run, "a 5");
	/* Stopped from elsewhere. */
	report(&run, STOPPED, 4, 100);
	rule_run_expect(&run, "a 0");
	rule_run_close(&run);
}

static void a_process_that_starts_another_keeps_its_own_share(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	report(&run, STARTED, 4, 100);
	set(&run, 100, 5);
	set(&run, 200, 7);
	report(&run, STARTED, 100, 300);
	rule_run_expect(&run, "a 12");
	/* The stop of 200 was lost, but its id starts again. */
	report(&run, STARTED, 100, 200);
	rule_run_expect(&run, "a 5");
	rule_run_close(&run);
}

/* Both report the same processes, a moment apart and in either order. */
static void an_instance_ends_once_when_both_providers_report_it(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	for (unsigned kernel_first = 0; kernel_first < 2; kernel_first++) {
		run.record.raw_time++;
		rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
		set(&run, 100, 3);
		report(&run, STARTED, 4, 100);
		set(&run, 200, 7);
		rule_run_expect(&run, "a 10");
		set(&run, 100, 5);
		rule_run_expect(&run, "a 12");
		if (!kernel_first) {
			report(&run, STOPPED, 100, 100);
		}
		run.record.raw_time++;
		rule_run_process(&run, "Process/Stop", 100, "a.exe", 0);
		rule_run_expect(&run, "a 7");
		if (kernel_first) {
			report(&run, STOPPED, 100, 100);
		}
		rule_run_expect(&run, "a 7");
	}
	rule_run_close(&run);
}

/* Three values of 4294967295 with nine digits of a fraction pass 2^63. */
static void a_sum_that_is_too_large_is_shown_as_the_largest_number(void **state)
{
	static const uint32_t processes[] = { 100, 200, 300 };
	struct rule_run run;

	(void)state;
	begin_with(&run, "decimals: 9, ");
	for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++) {
		report(&run, STARTED, 4, processes[i]);
		set(&run, processes[i], UINT32_MAX);
	}
	rule_run_expect(&run, "a 9223372036.854775807");
	set(&run, 300, 1);
	rule_run_expect(&run, "a 8589934591");
	set(&run, 300, UINT32_MAX);
	rule_run_expect(&run, "a 9223372036.854775807");
	report(&run, STOPPED, 200, 200);
	rule_run_expect(&run, "a 8589934590");
	report(&run, STOPPED, 100, 100);
	report(&run, STOPPED, 300, 300);
	rule_run_expect(&run, "a 0");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_that_is_too_large_is_shown_as_the_largest_number),
		cmocka_unit_test(a_stop_takes_the_share_of_the_process_it_names),
		cmocka_unit_test(a_process_that_starts_another_keeps_its_own_share),
		cmocka_unit_test(an_instance_ends_once_when_both_providers_report_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
