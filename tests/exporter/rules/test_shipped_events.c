/* SPDX-License-Identifier: MIT */
/*
 * The collectors events and payload as they ship.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

static const char other[] = "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7";

enum { NO_PROCESS = -1 };

static void feed(struct rule_run *run, size_t size)
{
	etw_payload_clear(&run->payload);
	etw_payload_zeros(&run->payload, size);
	rule_run_feed(run);
}

static void every_record_counts_once_for_its_process(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "events");
	rule_run_process(&run, "Process/DCStart", 8, "writer.exe", 0); /* rundown is among them */
	for (unsigned i = 0; i < 3; i++) {
		rule_run_other(&run, other, 7);
		run.record.process_id = 8;
		feed(&run, 10);
	}
	rule_run_other(&run, other, 9);
	run.record.process_id = (uint32_t)NO_PROCESS;
	run.record.thread_id = (uint32_t)NO_PROCESS;
	feed(&run, 0);
	rule_run_event(&run, "DiskIo/Read");
	run.record.process_id = 12;
	feed(&run, 2); /* cut short: it was delivered all the same */
	rule_run_expect(&run, "etw_events_total{process=\"writer\",provider=\"Windows Kernel\"} 1");
	rule_run_expect(&run, "etw_events_total{process=\"writer\",provider=\""
			      "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7\"} 3");
	rule_run_expect(&run, "etw_events_total{process=\"_none\",provider=\""
			      "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7\"} 1");
	rule_run_expect(&run,
			"etw_events_total{process=\"_unknown\",provider=\"Windows Kernel\"} 1");
	rule_run_expect(&run, "etw_provider_events_total{provider=\"Windows Kernel\",event=\""
			      "Process/DCStart\"} 1");
	rule_run_expect(&run, "etw_provider_events_total{provider=\"Windows Kernel\",event=\""
			      "DiskIo/Read\"} 1");
	rule_run_expect(&run, "etw_provider_events_total{provider=\""
			      "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7\",event=\"7\"} 3");
	rule_run_expect(&run, "etw_provider_events_total{provider=\""
			      "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7\",event=\"9\"} 1");
	rule_run_close(&run);
}

static void payloads_count_by_provider(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "payload");
	rule_run_other(&run, other, 7);
	feed(&run, 100);
	rule_run_other(&run, other, 8);
	feed(&run, 0);
	rule_run_other(&run, other, 8);
	feed(&run, 65000);
	rule_run_event(&run, "DiskIo/Read");
	feed(&run, 3);
	rule_run_expect(&run, "etw_event_payload_bytes_total{provider=\""
			      "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7\"} 65100");
	rule_run_expect(&run, "etw_event_payload_bytes_total{provider=\"Windows Kernel\"} 3");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_counts_once_for_its_process),
		cmocka_unit_test(payloads_count_by_provider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
