/* SPDX-License-Identifier: MIT */
/*
 * A dry run of rules: what each rule did with the events it is about.
 */
#include "exporter/rules/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define PROVIDER "a1a1a1a1-0000-0000-0000-000000000001"
#define X        "collector: x\nhelp: h\ndefault: on\nmetrics:\n"

/* Events of one field, by their ids. */
static const char one_field[] =
	"<events><event value='1' symbol='Number' template='t'/>"
	"<event value='2' symbol='Text' template='u'/></events><templates>"
	"<template tid='t'><data name='a' inType='win:Int32'/></template>"
	"<template tid='u'><data name='a' inType='win:UnicodeString'/></template></templates>";

static void feed_numbers(struct rule_run *run)
{
	static const uint32_t numbers[] = { 0, 1, 2, 3, 4, 5, 6, (uint32_t)-5, 0xc0000005 };

	for (size_t i = 0; i < COUNT(numbers); i++) {
		rule_run_other(run, PROVIDER, 1);
		etw_payload_u32(&run->payload, numbers[i]);
		rule_run_feed(run);
	}
}

static void feed_texts(struct rule_run *run)
{
	static const char *const texts[] = {
		"1", "x", "y", "a", "b", "ac", "abcd", "a.exe", "b.dll"
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		rule_run_other(run, PROVIDER, 2);
		etw_payload_wstring(&run->payload, texts[i]);
		rule_run_feed(run);
	}
}

/* Conditions that contradict each other leave every event out; the report shows 0 counted. */
static void contradicting_conditions_count_nothing(void **state)
{
	static const struct {
		const char *where;
		unsigned id; /* of the events that are fed */
		bool counts;
	} cases[] = {
		{ "{ field: a, eq: 1 }, { field: a, eq: 2 }", 1, false },
		{ "{ field: a, eq: 1 }, { field: a, eq: 0x1 }", 1, true },
		{ "{ field: a, eq: 1 }, { field: Opcode, eq: 2 }", 1, false },
		{ "{ field: a, eq: 1 }, { field: a, ne: 1 }", 1, false },
		{ "{ field: a, eq: x }, { field: a, eq: X }", 2, true },
		{ "{ field: a, eq: x }, { field: a, eq: y }", 2, false },
		{ "{ field: a, in: [1, 2] }, { field: a, in: [2, 3] }", 1, true },
		{ "{ field: a, in: [1, 2] }, { field: a, in: [3, 4] }", 1, false },
		{ "{ field: a, in: [1, 2] }, { field: a, gt: 2 }", 1, false },
		{ "{ field: a, eq: x }, { field: a, in: [1, 2] }", 2, false },
		{ "{ field: a, in: [1, 2] }, { field: a, ne: x }", 2, true },
		{ "{ field: a, eq: x }, { field: a, ne: X }", 2, false },
		{ "{ field: a, in: [1, 2] }, { field: a, ne: 1 }, { field: a, lt: 2 }", 1, false },
		{ "{ field: a, gt: 4 }, { field: a, lt: 6 }", 1, true },
		{ "{ field: a, gt: 4 }, { field: a, lt: 5 }", 1, false },
		{ "{ field: a, ge: 4 }, { field: a, le: 4 }", 1, true },
		{ "{ field: a, lt: -4 }, { field: a, ge: 0 }", 1, false },
		{ "{ field: a, has: 6 }, { field: a, lacks: 9 }", 1, true },
		{ "{ field: a, has: 6 }, { field: a, lacks: 4 }", 1, false },
		{ "{ field: a, eq: 5 }, { field: a, has: 2 }", 1, false },
		/* Of a signed field these two are the same number. */
		{ "{ field: a, eq: 0xC0000005 }, { field: a, lt: 0 }", 1, true },
		{ "{ field: a, starts: ab }, { field: a, starts: ABc }", 2, true },
		{ "{ field: a, starts: ab }, { field: a, starts: ac }", 2, false },
		{ "{ field: a, ends: .exe }, { field: a, ends: .dll }", 2, false },
		{ "{ field: a, eq: a.exe }, { field: a, ends: .dll }", 2, false },
		{ "{ field: a, eq: a.exe }, { field: a, starts: b }", 2, false },
		{ "{ field: a, matches: '^a$' }, { field: a, eq: b }", 2, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct dry_run_rule *tried;
		struct dry_run *dry_run;
		struct rule_run run;
		struct etw_error err;
		char text[512];

		snprintf(text, sizeof text,
			 X
			 "- { name: a_total, type: counter, help: h, events: [{ event: '{" PROVIDER
			 "}/%u', where: [%s] }] }\n",
			 cases[i].id, cases[i].where);
		rule_run_open(&run, text, NULL);
		rule_run_announce(&run, PROVIDER, "Alpha", one_field);
		dry_run = dry_run_new(run.set, &err);
		assert_non_null(dry_run);
		rule_run_try(&run, dry_run);
		feed_numbers(&run);
		feed_texts(&run);
		print_message("  %s\n", cases[i].where);
		tried = dry_run_at(dry_run, 0);
		assert_int_equal(tried->events, 9);
		assert_int_equal(tried->counted + tried->left_out, 9);
		assert_int_equal(tried->counted > 0, cases[i].counts);
		assert_int_equal(tried->missing_count, 0);
		assert_null(dry_run_at(dry_run, 1));
		rule_run_close(&run);
		dry_run_free(dry_run);
	}
}

/* ---- what happened ---- */

static const char events[] =
	"<events><event value='1' symbol='One' template='t'/>"
	"<event value='1' version='1' symbol='One' template='u'/></events><templates>"
	"<template tid='t'><data name='a' inType='win:UInt32'/>"
	"<data name='s' inType='win:UnicodeString'/></template>"
	"<template tid='u'><data name='a' inType='win:UInt32'/><data name='b' inType='win:UInt32'/>"
	"</template></templates>";

static void feed(struct rule_run *run, uint8_t version, uint32_t a, uint32_t b)
{
	rule_run_other(run, PROVIDER, 1);
	run->record.version = version;
	etw_payload_u32(&run->payload, a);
	if (version == 0) {
		etw_payload_wstring(&run->payload, "text");
	} else {
		etw_payload_u32(&run->payload, b);
	}
	rule_run_feed(run);
}

static void a_dry_run_counts_what_became_of_the_events(void **state)
{
	struct dry_run *dry_run;
	const struct dry_run_rule *tried;
	struct etw_error err;
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, labels: { l: s }, events: [{ event: '{" PROVIDER
		"}/1', value: b, where: [{ field: a, gt: 1 }] }] }\n"
		"- { name: b_total, type: counter, help: h, events: [{ event: '{" PROVIDER
		"}/1', value: a, where: [{ field: Event.Sid, ne: S-1-1 }] }] }\n"
		"- { name: c_total, type: counter, help: h, events: [{ event: '{" PROVIDER
		"}/1', version: [0], value: s }] }\n"
		"- { name: d_total, type: counter, help: h, events: [{ event: '{" PROVIDER
		"}/1', where: [{ field: Provider, eq: Beta }] }] }\n",
		NULL);
	rule_run_announce(&run, PROVIDER, "Alpha", events);
	dry_run = dry_run_new(run.set, &err);
	assert_non_null(dry_run);
	rule_run_try(&run, dry_run);
	feed(&run, 0, 2, 0);
	feed(&run, 1, 2, 7);
	feed(&run, 1, 1, 7);
	feed(&run, 1, 3, 7);
	rule_run_other(&run, PROVIDER, 1);
	run.record.version = 1;
	etw_payload_u16(&run.payload, 1);
	rule_run_feed(&run);

	tried = dry_run_at(dry_run, 0);
	assert_int_equal(tried->events, 5);
	assert_int_equal(tried->counted, 2);
	assert_int_equal(tried->left_out, 1);
	assert_int_equal(tried->cut, 1);
	assert_int_equal(tried->missing_count, 2);
	assert_string_equal(tried->missing[0].field, "b"); /* of version 0 */
	assert_int_equal(tried->missing[0].events, 1);
	assert_string_equal(tried->missing[1].field, "s"); /* the label, of version 1 */
	assert_int_equal(tried->missing[1].events, 4);

	tried = dry_run_at(dry_run, 1);
	assert_int_equal(tried->events, 5);
	assert_int_equal(tried->counted, 0);
	assert_int_equal(tried->left_out, 0);
	assert_string_equal(tried->missing[0].field, "Event.Sid");
	assert_int_equal(tried->missing[0].events, 5);

	tried = dry_run_at(dry_run, 2);
	assert_int_equal(tried->events, 1);
	assert_int_equal(tried->wrong_type, 1);
	assert_int_equal(tried->counted, 0);

	tried = dry_run_at(dry_run, 3);
	assert_int_equal(tried->events, 5);
	assert_int_equal(tried->left_out, 5);
	rule_run_close(&run);
	dry_run_free(dry_run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contradicting_conditions_count_nothing),
		cmocka_unit_test(a_dry_run_counts_what_became_of_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
