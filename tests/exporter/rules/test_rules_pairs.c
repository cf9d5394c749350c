/* SPDX-License-Identifier: MIT */
/*
 * Pairs: two events with the same key, and the time between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

#define PROVIDER "a1a1a1a1-0000-0000-0000-000000000001"
#define START    "'{" PROVIDER "}/1'"
#define STOP     "'{" PROVIDER "}/2'"
#define FAILED   "'{" PROVIDER "}/3'"
#define PAIR     "pair: { start: " START ", stop: " STOP ", key: [ProcessId, name, id], timeout: 2s }"
#define CARRY(more)                                                                               \
	"pair: { start: " START ", stop: " STOP                                                   \
	", key: [id], timeout: 2s, carry: { who: { field: "                                       \
	"name, decode: [lower, { regex: '/.*', replace: '' }] }, by: Process, fixed: { text: f }" \
	" }" more " }"
#define X       "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
#define SECONDS X "- { name: a_seconds_total, type: counter, help: h, "

enum { SECOND = RUN_FREQUENCY };

static const char events[] =
	"<events><event value='1' symbol='Ask' template='ask'/>"
	"<event value='2' symbol='Answer' template='answer'/>"
	"<event value='3' symbol='Fail' template='ask'/></events><templates>"
	"<template tid='ask'><data name='name' inType='win:UnicodeString'/>"
	"<data name='id' inType='win:UInt32'/></template>"
	"<template tid='answer'><data name='id' inType='win:UInt64'/>"
	"<data name='Duration' inType='win:UInt32'/>"
	"<data name='name' inType='win:UnicodeString'/></template></templates>";

static void open(struct rule_run *run, const char *collector)
{
	rule_run_open(run, collector, NULL);
	rule_run_announce(run, PROVIDER, "Alpha", events);
}

static enum record_outcome ask(struct rule_run *run, uint16_t event, int64_t time, const char *name,
			       uint32_t id)
{
	rule_run_other(run, PROVIDER, event);
	etw_payload_wstring(&run->payload, name);
	etw_payload_u32(&run->payload, id);
	run->record.raw_time = time;
	return rule_run_feed(run);
}

static enum record_outcome answer(struct rule_run *run, int64_t time, const char *name, uint64_t id)
{
	rule_run_other(run, PROVIDER, 2);
	etw_payload_u64(&run->payload, id);
	etw_payload_u32(&run->payload, 12345);
	etw_payload_wstring(&run->payload, name);
	/* The text ends with the payload, without its NUL: it is the same text. */
	run->payload.size -= 2;
	run->record.raw_time = time;
	return rule_run_feed(run);
}

static void expect_unmatched(struct rule_run *run, unsigned starts, unsigned stops)
{
	char line[128];

	snprintf(line, sizeof line, "etw_state_unmatched_total{table=\"pair\",side=\"start\"} %u",
		 starts);
	rule_run_expect(run, line);
	snprintf(line, sizeof line, "etw_state_unmatched_total{table=\"pair\",side=\"stop\"} %u",
		 stops);
	rule_run_expect(run, line);
}

static void the_second_event_has_the_time_since_the_first(void **state)
{
	/* At the event, and at the metric for all its events. */
	static const char *const collectors[] = {
		SECONDS "events: [{ event: " STOP ", value: Duration, " PAIR " }] }\n",
		SECONDS PAIR ", events: [{ event: " STOP ", value: Duration }] }\n",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct rule_run run;

		open(&run, collectors[i]);
		expect_unmatched(&run, 0, 0);
		assert_int_equal(ask(&run, 1, 0, "one", 7), OUTCOME_NO_RULE);
		assert_int_equal(ask(&run, 1, SECOND, "two", 7), OUTCOME_NO_RULE);
		assert_int_equal(answer(&run, SECOND + SECOND / 4, "two", 7), OUTCOME_COUNTED);
		rule_run_expect(&run, "a_seconds_total 0.25");
		assert_int_equal(answer(&run, SECOND + SECOND / 2, "one", 7), OUTCOME_COUNTED);
		rule_run_expect(&run, "a_seconds_total 1.75");
		expect_unmatched(&run, 0, 0);
		rule_run_close(&run);
	}
}

static void another_key_does_not_end_it(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, SECONDS "events: [{ event: " STOP ", value: Duration, " PAIR " }] }\n");
	ask(&run, 1, 0, "one", 7);
	assert_int_equal(answer(&run, 1, "One", 7), OUTCOME_NO_RULE);
	assert_int_equal(answer(&run, 2, "one", 8), OUTCOME_NO_RULE);
	run.record.process_id = 5;
	assert_int_equal(answer(&run, 3, "one", 7), OUTCOME_NO_RULE);
	rule_run_expect(&run, "a_seconds_total 0");
	expect_unmatched(&run, 0, 3);
	run.record.process_id = 4;
	assert_int_equal(answer(&run, SECOND, "one", 7), OUTCOME_COUNTED);
	assert_int_equal(answer(&run, SECOND, "one", 7), OUTCOME_NO_RULE);
	rule_run_expect(&run, "a_seconds_total 1");
	expect_unmatched(&run, 0, 4);
	rule_run_close(&run);
}

static void an_answer_after_the_time_out_is_none(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, SECONDS "events: [{ event: " STOP ", value: Duration, " PAIR " }] }\n");
	ask(&run, 1, 0, "one", 7);
	assert_int_equal(answer(&run, 2 * SECOND + 1, "one", 7), OUTCOME_NO_RULE);
	rule_run_expect(&run, "a_seconds_total 0");
	expect_unmatched(&run, 1, 1);
	rule_run_close(&run);
}

/* What begins alike is one pair, whichever event ends it, and is ended once however many rules
 * ask. */
static void several_ends_share_one_beginning(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, X
	     "- { name: a_seconds, type: histogram, help: h, buckets: [1], events: [{ event: " STOP
	     ", value: Duration, " PAIR " }] }\n"
	     "- { name: b_seconds_total, type: counter, help: h, labels: { l: id }, events: [\n"
	     "  { event: " STOP ", value: Duration, " PAIR " },\n"
	     "  { event: " FAILED ", value: Duration, pair: { start: " START ", stop: " FAILED
	     ", key: [ProcessId, name, id], timeout: 2000ms } }] }\n"
	     "- { name: c_total, type: counter, help: h, events: [{ event: " STOP
	     ", where: [{ field: Duration, gt: 1000000000 }], " PAIR " }] }\n"
	     /* Without a pair the name is the payload's. */
	     "- { name: d_total, type: counter, help: h, events: [{ event: " STOP
	     ", value: Duration }] }\n");
	ask(&run, 1, 0, "one", 1);
	ask(&run, 1, 0, "one", 2);
	answer(&run, SECOND, "one", 1);
	ask(&run, 3, SECOND * 3 / 2, "one", 2);
	ask(&run, 1, SECOND * 2, "one", 1);
	answer(&run, SECOND * 4, "one", 1);
	rule_run_expect(&run, "a_seconds_bucket{le=\"1\"} 1");
	rule_run_expect(&run, "a_seconds_count 2");
	rule_run_expect(&run, "b_seconds_total{l=\"1\"} 3");
	rule_run_expect(&run, "b_seconds_total{l=\"2\"} 1.5");
	rule_run_expect(&run, "c_total 1");
	rule_run_expect(&run, "d_total 24690");
	expect_unmatched(&run, 0, 0);
	rule_run_close(&run);
}

static void one_event_can_end_and_begin(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, SECONDS "events: [{ event: " START ", value: Duration, pair: { start: " START
			   ", stop: " START ", key: [name] } }] }\n");
	for (int64_t i = 0; i < 4; i++) {
		ask(&run, 1, i * SECOND, "tick", 1);
	}
	rule_run_expect(&run, "a_seconds_total 3");
	expect_unmatched(&run, 0, 1);
	rule_run_close(&run);
}

static void events_of_the_kernel_pair_too(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      SECONDS "events: [{ event: Process/Stop, value: Duration, pair: { start: "
			      "Process/Start, stop: Process/Stop, key: [UniqueProcessKey, "
			      "OfProcess], timeout: 24h } }] }\n",
		      NULL);
	run.record.raw_time = 0;
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	run.record.raw_time = SECOND;
	rule_run_process(&run, "Process/Start", 200, "b.exe", 259);
	run.record.raw_time = 3 * SECOND;
	rule_run_process(&run, "Process/Stop", 200, "b.exe", 0);
	rule_run_expect(&run, "a_seconds_total 2");
	run.record.raw_time = 4 * SECOND;
	rule_run_process(&run, "Process/Stop", 100, "a.exe", 0);
	rule_run_expect(&run, "a_seconds_total 6");
	rule_run_close(&run);
}

static void a_key_that_cannot_be_read_is_counted(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, SECONDS "events: [{ event: " STOP ", value: Duration, " PAIR " }] }\n");
	/* The payload ends inside the key. */
	rule_run_other(&run, PROVIDER, 1);
	etw_payload_wstring(&run.payload, "one");
	etw_payload_u16(&run.payload, 7);
	assert_int_equal(rule_run_feed(&run), OUTCOME_UNDECODABLE);
	rule_run_other(&run, PROVIDER, 2);
	etw_payload_u32(&run.payload, 7);
	assert_int_equal(rule_run_feed(&run), OUTCOME_UNDECODABLE);
	expect_unmatched(&run, 1, 1);
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"truncated\"} 2");
	rule_run_close(&run);
}

static void tables_of_the_rules_show_their_size(void **state)
{
	struct rule_engine_statistics statistics;
	struct rule_run run;

	(void)state;
	open(&run, SECONDS "events: [{ event: " STOP ", value: Duration, " PAIR " }] }\n");
	ask(&run, 1, 0, "one", 1);
	ask(&run, 1, 0, "one", 2);
	rule_engine_statistics(run.engine, &statistics);
	assert_int_equal(statistics.entries[ENGINE_SPANS], 2);
	assert_int_equal(statistics.evictions[ENGINE_SPANS], 0);
	rule_engine_reset(run.engine);
	rule_engine_statistics(run.engine, &statistics);
	assert_int_equal(statistics.entries[ENGINE_SPANS], 0);
	expect_unmatched(&run, 2, 0);
	rule_run_close(&run);
}

/* What the stop does not say it has of the start, decoded there. */
static void texts_of_a_start_reach_its_stop(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run,
	     X "- { name: a_total, type: counter, help: h, labels: { who: Pair.who, by: "
	       "Pair.by, last: { field: Pair.who, map: { one: '1' }, default: more }, f: "
	       "Pair.fixed }, events: [{ event: " STOP
	       ", " CARRY("") " }] }\n"
			      "- { name: b_total, type: counter, help: h, events: [{ event: " STOP
			      ", where: [{ field: Pair.who, starts: T }], " CARRY("") " }] }\n");
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	run.record.process_id = 4;
	ask(&run, 1, 0, "ONE/first", 1);
	run.record.process_id = 100;
	ask(&run, 1, 0, "one/second", 2);
	ask(&run, 1, 0, "two", 3);
	run.record.process_id = 4;
	for (uint64_t id = 1; id <= 3; id++) {
		assert_int_equal(answer(&run, SECOND, "three", id), OUTCOME_COUNTED);
	}
	rule_run_expect(&run, "a_total{who=\"one\",by=\"System\",last=\"1\",f=\"f\"} 1");
	rule_run_expect(&run, "a_total{who=\"one\",by=\"a\",last=\"1\",f=\"f\"} 1");
	rule_run_expect(&run, "a_total{who=\"two\",by=\"a\",last=\"more\",f=\"f\"} 1");
	rule_run_expect(&run, "b_total 1");
	expect_unmatched(&run, 0, 0);
	/* Without its start a stop counts as well, except with a condition on what is unknown. */
	assert_int_equal(answer(&run, SECOND, "three", 3), OUTCOME_COUNTED);
	rule_run_expect(
		&run,
		"a_total{who=\"_unknown\",by=\"_unknown\",last=\"_unknown\",f=\"_unknown\"} 1");
	rule_run_expect(&run, "b_total 1");
	expect_unmatched(&run, 0, 1);
	rule_run_close(&run);
}

static void texts_of_an_event_in_between_reach_the_stop_too(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, SECONDS "labels: { who: Pair.who }, events: [{ event: " STOP
			   ", value: Duration, " CARRY(", carried_by: " FAILED) " }] }\n");
	ask(&run, 3, 0, "early", 1); /* nothing waits for it */
	ask(&run, 1, 0, "start", 1);
	ask(&run, 1, 0, "start", 2);
	ask(&run, 3, 1, "first", 1);
	ask(&run, 3, 1, "middle", 1);
	answer(&run, SECOND, "stop", 1);
	answer(&run, SECOND, "stop", 2);
	rule_run_expect(&run, "a_seconds_total{who=\"middle\"} 1");
	rule_run_expect(&run, "a_seconds_total{who=\"_unknown\"} 1");
	expect_unmatched(&run, 0, 0);
	rule_run_close(&run);
}

static void what_is_cut_short_or_empty_captures_nothing(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, X "- { name: a_total, type: counter, help: h, labels: { who: Pair.who }, "
		     "events: [{ event: " FAILED ", pair: { start: " STOP ", stop: " FAILED
		     ", key: [id], carry: { who: name } } }] }\n");
	/* The payload ends before the text. */
	rule_run_other(&run, PROVIDER, 2);
	etw_payload_u64(&run.payload, 1);
	etw_payload_u16(&run.payload, 0);
	assert_int_equal(rule_run_feed(&run), OUTCOME_UNDECODABLE);
	answer(&run, 0, "", 2);
	answer(&run, 0, "x", 3);
	for (uint32_t id = 1; id <= 3; id++) {
		assert_int_equal(ask(&run, 3, SECOND, "", id), OUTCOME_COUNTED);
	}
	rule_run_expect(&run, "a_total{who=\"_unknown\"} 2");
	rule_run_expect(&run, "a_total{who=\"x\"} 1");
	expect_unmatched(&run, 0, 0);
	rule_run_close(&run);
}

/* Spans with the same start that capture different labels are two. */
static void spans_that_capture_differently_are_two(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, X "- { name: a_total, type: counter, help: h, labels: { w: Pair.w }, events: [{ "
		     "event: " STOP ", pair: { start: " START ", stop: " STOP
		     ", key: [id], carry: { w: name } } }] }\n"
		     "- { name: b_total, type: counter, help: h, labels: { w: Pair.w }, events: [{ "
		     "event: " STOP ", pair: { start: " START ", stop: " STOP
		     ", key: [id], carry: { w: { text: fixed } } } }] }\n"
		     "- { name: c_total, type: counter, help: h, labels: { w: Pair.w }, events: [{ "
		     "event: " FAILED ", pair: { start: " START ", stop: " FAILED
		     ", key: [id], carry: { w: name } } }] }\n");
	ask(&run, 1, 0, "one", 1);
	answer(&run, 1, "stop", 1);
	rule_run_expect(&run, "a_total{w=\"one\"} 1");
	rule_run_expect(&run, "b_total{w=\"fixed\"} 1");
	/* The third is the first: its beginning has ended. */
	ask(&run, 3, 2, "end", 1);
	rule_run_expect(&run, "c_total{w=\"_unknown\"} 1");
	expect_unmatched(&run, 0, 1);
	rule_run_close(&run);
}

/* A pair with a name serves several stops, which share its table. */
static void a_named_pair_ends_with_the_event_of_its_rule(void **state)
{
	static const char collector[] =
		"collector: x\nhelp: h\ndefault: on\n"
		"decoders: { first: [lower, { regex: '/.*', replace: '' }] }\n"
		"pairs: { asked: { start: " START ", key: [id], timeout: 2s, "
		"carry: { who: { field: name, decode: [first] } } } }\nmetrics:\n"
		"- { name: a_seconds_total, type: counter, help: h, labels: { who: Pair.who }, "
		"events: [{ event: " STOP ", pair: asked, value: Duration, "
		"labels: { end: { text: answer } } }, { event: " FAILED
		", pair: asked, value: Duration, labels: { end: { text: failure } } }] }\n"
		/* At the metric it is the pair of each event. */
		"- { name: b_total, type: counter, help: h, labels: { who: Pair.who }, "
		"pair: asked, events: [{ event: " STOP " }, { event: " FAILED " }] }\n";
	struct rule_run run;

	(void)state;
	open(&run, collector);
	ask(&run, 1, 0, "ONE/first", 1);
	ask(&run, 1, 0, "Two/second", 2);
	assert_int_equal(answer(&run, SECOND / 4, "stop", 1), OUTCOME_COUNTED);
	assert_int_equal(ask(&run, 3, SECOND / 2, "fail", 2), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_seconds_total{who=\"one\",end=\"answer\"} 0.25");
	rule_run_expect(&run, "a_seconds_total{who=\"two\",end=\"failure\"} 0.5");
	rule_run_expect(&run, "b_total{who=\"one\"} 1");
	rule_run_expect(&run, "b_total{who=\"two\"} 1");
	expect_unmatched(&run, 0, 0);
	rule_run_close(&run);
}

/* A name for decoders stands for those of its own collector. */
static void named_decoders_of_another_file_make_another_pair(void **state)
{
	static const char with[] =
		"collector: x\nhelp: h\ndefault: on\ndecoders: { short: [%s] }\nmetrics:\n"
		"- { name: a_total, type: counter, help: h, labels: { who: Pair.who }, events: [{ "
		"event: " STOP ", pair: { start: " START ", key: [id], keep: on, "
		"carry: { who: { field: name, decode: [short] } } } }] }\n";
	char lower[1024], directory[1024];
	struct rule_run run;

	(void)state;
	snprintf(lower, sizeof lower, with, "lower");
	snprintf(directory, sizeof directory, with, "directory");
	open(&run, lower);
	ask(&run, 1, 0, "Dir\\One", 1);
	rule_run_reload(&run, lower); /* it is the same pair */
	answer(&run, 1, "stop", 1);
	rule_run_expect(&run, "a_total{who=\"dir\\\\one\"} 1");
	rule_run_reload(&run, directory);
	answer(&run, 2, "stop", 1);
	rule_run_expect(&run, "a_total{who=\"_unknown\"} 1");
	ask(&run, 1, 3, "Dir\\One", 1);
	answer(&run, 4, "stop", 1);
	rule_run_expect(&run, "a_total{who=\"Dir\"} 1");
	rule_run_close(&run);
}

/* With keep the texts of a start serve all stops with its key, until none has come for the
 * timeout. */
static void a_start_that_is_kept_serves_many_stops(void **state)
{
	static const char kept[] = X
		"- { name: a_total, type: counter, help: h, labels: { who: Pair.who }, events: "
		"[{ event: " STOP ", pair: { start: " START
		", key: [id], timeout: 2s, keep: on, carry: { who: name } } }] }\n";
	struct rule_run run;

	(void)state;
	open(&run, kept);
	ask(&run, 1, 0, "one", 1);
	ask(&run, 1, 0, "two", 2);
	for (unsigned i = 1; i <= 5; i++) {
		answer(&run, i * SECOND, "stop", 1);
	}
	rule_run_expect(&run, "a_total{who=\"one\"} 5");
	expect_unmatched(&run, 1, 0); /* the second one has timed out */
	answer(&run, 5 * SECOND, "stop", 2);
	rule_run_expect(&run, "a_total{who=\"_unknown\"} 1");
	/* Another start with the key takes the place of the first. */
	ask(&run, 1, 6 * SECOND, "three", 1);
	answer(&run, 6 * SECOND, "stop", 1);
	rule_run_expect(&run, "a_total{who=\"three\"} 1");
	answer(&run, 9 * SECOND, "stop", 1);
	rule_run_expect(&run, "a_total{who=\"_unknown\"} 2");
	/* Starts that had a stop are not counted when they end. */
	expect_unmatched(&run, 1, 2);
	ask(&run, 1, 10 * SECOND, "four", 1);
	answer(&run, 10 * SECOND, "stop", 1);
	ask(&run, 1, 10 * SECOND, "five", 2);
	rule_run_reload(&run, kept);
	expect_unmatched(&run, 1, 2);
	answer(&run, 10 * SECOND, "stop", 1);
	rule_run_expect(&run, "a_total{who=\"four\"} 2");
	rule_engine_reset(run.engine);
	expect_unmatched(&run, 2, 2);
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_event_has_the_time_since_the_first),
		cmocka_unit_test(another_key_does_not_end_it),
		cmocka_unit_test(an_answer_after_the_time_out_is_none),
		cmocka_unit_test(several_ends_share_one_beginning),
		cmocka_unit_test(one_event_can_end_and_begin),
		cmocka_unit_test(events_of_the_kernel_pair_too),
		cmocka_unit_test(a_key_that_cannot_be_read_is_counted),
		cmocka_unit_test(texts_of_a_start_reach_its_stop),
		cmocka_unit_test(texts_of_an_event_in_between_reach_the_stop_too),
		cmocka_unit_test(what_is_cut_short_or_empty_captures_nothing),
		cmocka_unit_test(spans_that_capture_differently_are_two),
		cmocka_unit_test(a_named_pair_ends_with_the_event_of_its_rule),
		cmocka_unit_test(named_decoders_of_another_file_make_another_pair),
		cmocka_unit_test(a_start_that_is_kept_serves_many_stops),
		cmocka_unit_test(tables_of_the_rules_show_their_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
