/* SPDX-License-Identifier: MIT */
/*
 * Another rule set for an engine at work: what both sets have goes on, also what is under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/problems.h"
#include "config/yaml.h"
#include "tests/support/rule_run.h"

#define PROVIDER      "a1a1a1a1-0000-0000-0000-000000000001"
#define X             "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
#define START         "'{" PROVIDER "}/1'"
#define STOP          "'{" PROVIDER "}/2'"
#define PAIR(timeout) "pair: { start: " START ", stop: " STOP ", key: [id], timeout: " timeout " }"
#define SECONDS(timeout)                                            \
	"- { name: a_seconds_total, type: counter, help: h, " PAIR( \
		timeout) ", events: [{ event: " STOP ", value: Duration }] }\n"
#define COUNT(name, label)                                                                 \
	"- { name: " name ", type: counter, help: h, labels: { " label ": { text: v } }, " \
	"events: [{ event: " START " }] }\n"
#define SET(name)                                                                 \
	"- { name: " name                                                         \
	", type: gauge, help: h, labels: { process: Process }, op: set, events: " \
	"[{ event: PageFault/VirtualAlloc, value: RegionSize }] }\n"
#define UP(name) \
	"- { name: " name ", type: gauge, help: h, op: inc, events: [{ event: " START " }] }\n"

enum { SECOND = RUN_FREQUENCY };

static const char events[] =
	"<events><event value='1' symbol='Ask' template='ask'/>"
	"<event value='2' symbol='Answer' template='ask'/></events><templates>"
	"<template tid='ask'><data name='id' inType='win:UInt32'/></template></templates>";

static void open(struct rule_run *run, const char *collector)
{
	rule_run_open(run, collector, NULL);
	rule_run_announce(run, PROVIDER, "Alpha", events);
}

static void feed(struct rule_run *run, uint16_t event, int64_t time, uint32_t id)
{
	rule_run_other(run, PROVIDER, event);
	etw_payload_u32(&run->payload, id);
	run->record.raw_time = time;
	rule_run_feed(run);
}

static void allocate(struct rule_run *run, uint32_t process, uint64_t size)
{
	rule_run_event(run, "PageFault/VirtualAlloc");
	etw_payload_pointer(&run->payload, 0);
	etw_payload_pointer(&run->payload, size);
	etw_payload_u32(&run->payload, process);
	etw_payload_u32(&run->payload, 0);
	rule_run_feed(run);
}

static void a_pair_that_stays_keeps_its_starts(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, X SECONDS("5s"));
	feed(&run, 1, SECOND, 7);
	/* It gets another number, because another pair comes before it. */
	rule_run_reload(&run,
			X "- { name: b_seconds_total, type: counter, help: h, pair: { "
			  "start: " STOP ", stop: " START ", key: [id] }, events: [{ event: " START
			  ", value: Duration }] }\n" SECONDS("5s"));
	feed(&run, 2, 3 * SECOND, 7);
	rule_run_expect(&run, "a_seconds_total 2");
	rule_run_expect(&run, "etw_state_unmatched_total{table=\"pair\",side=\"stop\"} 0");
	rule_run_close(&run);
}

static void a_pair_that_is_different_or_gone_loses_its_starts_and_counts_them(void **state)
{
	static const char *const next[] = { X SECONDS("6s"), X COUNT("c_total", "one") };
	char line[80];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct rule_run run;

		open(&run, X SECONDS("5s"));
		feed(&run, 1, SECOND, 7);
		feed(&run, 1, SECOND, 8);
		rule_run_reload(&run, next[i]);
		snprintf(line, sizeof line,
			 "etw_state_unmatched_total{table=\"pair\",side=\"start\"} 2");
		rule_run_expect(&run, line);
		feed(&run, 2, 3 * SECOND, 7);
		rule_run_expect_none(&run, "a_seconds_total 2");
		rule_run_close(&run);
	}
}

static void values_of_gauges_that_stay_are_those_of_their_processes(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, X SET("a") SET("b"), NULL);
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_process(&run, "Process/Start", 101, "a.exe", 259);
	allocate(&run, 100, 5);
	allocate(&run, 101, 7);
	rule_run_reload(&run, X SET("a"));
	rule_run_expect(&run, "a{process=\"a\"} 12");
	rule_run_expect_none(&run, "b");
	/* What was set before the reload still leaves with its process. */
	rule_run_process(&run, "Process/Stop", 100, "a.exe", 0);
	rule_run_expect(&run, "a{process=\"a\"} 7");
	/* The one that returns begins at 0, and ends of processes do not take it below. */
	rule_run_reload(&run, X SET("a") SET("b"));
	rule_run_expect(&run, "b{process=\"a\"} 0");
	rule_run_process(&run, "Process/Stop", 101, "a.exe", 0);
	rule_run_expect(&run, "a{process=\"a\"} 0");
	rule_run_expect(&run, "b{process=\"a\"} 0");
	rule_run_close(&run);
}

static void counters_go_on_and_gauges_that_count_begin_again(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, X COUNT("c_total", "one") UP("g"));
	feed(&run, 1, SECOND, 7);
	feed(&run, 1, SECOND, 7);
	rule_run_reload(&run, X COUNT("c_total", "one") UP("g"));
	feed(&run, 1, SECOND, 7);
	rule_run_expect(&run, "c_total{one=\"v\"} 3");
	rule_run_expect(&run, "g 3");
	/* Another label: another family. */
	rule_run_reload(&run, X COUNT("c_total", "two"));
	feed(&run, 1, SECOND, 7);
	rule_run_expect(&run, "c_total{two=\"v\"} 1");
	rule_run_expect_none(&run, "c_total{one");
	rule_run_expect_none(&run, "g");
	rule_run_reload(&run, X COUNT("c_total", "one") UP("g"));
	rule_run_expect(&run, "c_total{one=\"v\"} 3");
	feed(&run, 1, SECOND, 7);
	rule_run_expect(&run, "c_total{one=\"v\"} 4");
	rule_run_expect(&run, "g 1");
	rule_run_close(&run);
}

/* Once for the event class, however often it is compiled. */
static void a_field_that_is_missing_counts_once(void **state)
{
	static const char missing[] = X
		"- { name: c_total, type: counter, help: h, events: [{ event: " START
		", value: nothing }] }\n";
	struct rule_run run;

	(void)state;
	open(&run, missing);
	feed(&run, 1, SECOND, 7);
	for (int i = 0; i < 3; i++) {
		rule_run_reload(&run, missing);
		feed(&run, 1, SECOND, 7);
	}
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"rule\"} 1");
	rule_run_close(&run);
}

static void keep_sentence(void *context, const char *sentence, bool warning)
{
	assert_true(warning);
	snprintf(context, 200, "%s", sentence);
}

static void a_help_that_is_different_waits_for_a_restart(void **state)
{
#define HELP(help) \
	X "- { name: z_total, type: counter, help: " help ", events: [{ event: " START " }] }\n"
	char sentence[200] = "";
	struct rule_run run;

	(void)state;
	open(&run, HELP("former"));
	feed(&run, 1, SECOND, 7);
	rule_run_reload(&run, HELP("next"));
	feed(&run, 1, SECOND, 7);
	rule_run_expect(&run, "# HELP z_total former");
	rule_run_expect(&run, "z_total 2");
	problems_show(yaml_problems(run.config->tree), keep_sentence, sentence);
	assert_string_equal(sentence,
			    "x.yaml:5:11: warning: the new help of 'z_total' needs a restart");
	rule_run_close(&run);
#undef HELP
}

static void filters_that_are_different_are_asked_again(void **state)
{
	static const char collector[] = X
		"- { name: c_total, type: counter, help: h, labels: { process: Process }, "
		"events: [{ event: PageFault/VirtualAlloc }] }\n";
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector, "filters: { processes: { include: ['^a'] } }\n");
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_process(&run, "Process/Start", 101, "b.exe", 259);
	for (uint32_t process = 100; process <= 101; process++) {
		allocate(&run, process, 1);
	}
	rule_run_expect(&run, "c_total{process=\"a\"} 1");
	rule_run_expect_none(&run, "c_total{process=\"b\"}");
	rule_run_reload_with(&run, collector, "filters: { processes: { include: ['^b'] } }\n");
	for (uint32_t process = 100; process <= 101; process++) {
		allocate(&run, process, 1);
	}
	rule_run_expect(&run, "c_total{process=\"a\"} 1");
	rule_run_expect(&run, "c_total{process=\"b\"} 1");
	/* Without filters, and with them again. */
	rule_run_reload_with(&run, collector, NULL);
	for (uint32_t process = 100; process <= 101; process++) {
		allocate(&run, process, 1);
	}
	rule_run_expect(&run, "c_total{process=\"a\"} 2");
	rule_run_expect(&run, "c_total{process=\"b\"} 2");
	rule_run_reload_with(&run, collector, "filters: { processes: { exclude: ['^b'] } }\n");
	for (uint32_t process = 100; process <= 101; process++) {
		allocate(&run, process, 1);
	}
	rule_run_expect(&run, "c_total{process=\"a\"} 3");
	rule_run_expect(&run, "c_total{process=\"b\"} 2");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_that_stays_keeps_its_starts),
		cmocka_unit_test(a_pair_that_is_different_or_gone_loses_its_starts_and_counts_them),
		cmocka_unit_test(values_of_gauges_that_stay_are_those_of_their_processes),
		cmocka_unit_test(counters_go_on_and_gauges_that_count_begin_again),
		cmocka_unit_test(a_field_that_is_missing_counts_once),
		cmocka_unit_test(a_help_that_is_different_waits_for_a_restart),
		cmocka_unit_test(filters_that_are_different_are_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
