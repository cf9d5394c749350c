/* SPDX-License-Identifier: MIT */
#include "tests/support/shipped_collectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void start_process(struct rule_run *run, uint32_t process, const char *image)
{
	rule_run_process(run, "Process/DCStart", process, image, 0);
	rule_run_blank(run, "Thread/DCStart");
	rule_run_set(run, "ProcessId", process);
	rule_run_set(run, "TThreadId", 10 * process);
	rule_run_feed(run);
}

static void feed_event(struct rule_run *run, const struct built_event *event)
{
	rule_run_blank(run, event->event);
	for (size_t i = 0; i < SHIPPED_FIELDS && event->fields[i].name; i++) {
		if (strcmp(event->fields[i].name, RECORD_CPU) == 0) {
			run->record.processor = (uint16_t)event->fields[i].value;
		} else if (event->fields[i].text) {
			rule_run_set_text(run, event->fields[i].name, event->fields[i].text);
		} else {
			rule_run_set(run, event->fields[i].name, event->fields[i].value);
		}
	}
	run->record.raw_time = SHIPPED_START + event->time;
	run->record.process_id = event->process;
	run->record.thread_id = event->process == (uint32_t)SHIPPED_NO_PROCESS ?
					(uint32_t)SHIPPED_NO_PROCESS :
					10 * event->process;
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

void check_shipped(const char *collector, const struct built_event *events,
		   const char *const *lines)
{
	struct rule_run run;

	rule_run_open_shipped(&run, collector);
	start_process(&run, SHIPPED_SHARD, "writer.exe");
	start_process(&run, SHIPPED_OTHER, "other.exe");
	for (; events->event; events++) {
		feed_event(&run, events);
	}
	for (; *lines; lines++) {
		if ((*lines)[0] == '!') {
			rule_run_expect_none(&run, *lines + 1);
		} else {
			rule_run_expect(&run, *lines);
		}
	}
	rule_run_close(&run);
}
