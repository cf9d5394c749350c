/* SPDX-License-Identifier: MIT */
/*
 * Trying rules: what each came to with the events it is about, and which can never count.
 */
#include "rules/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define PROVIDER "a1a1a1a1-0000-0000-0000-000000000001"
#define X        "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
#define RULE(rule)                                                                              \
	X "- { name: a_total, type: counter, help: h, labels: { p: Process }, events: [{ " rule \
	  " }] }\n"

static const char xml[] =
	"<instrumentationManifest xmlns='http://schemas.microsoft.com/win/2004/08/events'>"
	"<instrumentation><events><provider name='My-Alpha/Beta' guid='{" PROVIDER "}'>"
	"<tasks><task name='Work' value='1'/></tasks>"
	"<events><event value='1' symbol='Begin' task='Work' template='t'/>"
	"<event value='1' version='1' symbol='Begin' task='Work' template='u'/>"
	"<event value='2' symbol='Empty'/></events><templates>"
	"<template tid='t'><data name='a' inType='win:UInt32'/></template>"
	"<template tid='u'><data name='a' inType='win:UInt32'/>"
	"<data name='b' inType='win:UInt32'/></template></templates></provider></events>"
	"</instrumentation></instrumentationManifest>";

/* NULL: it can count. */
static void assert_never(const char *collector, const struct manifest_set *manifests,
			 const char *reason)
{
	struct rule_run run;
	struct rule_trial *trial;
	struct text why = { 0 };
	struct error err;
	bool never;

	rule_run_open(&run, collector, NULL);
	trial = rule_trial_new(run.set, &err);
	assert_non_null(trial);
	never = rule_trial_never(rule_trial_at(trial, 0), &manifests, 1, &why);
	if (never != (reason != NULL)) {
		fail_msg("%s\n%s", collector, never ? why.data : "it can");
	}
	if (never) {
		assert_string_equal(why.data, reason);
	}
	assert_null(rule_trial_at(trial, 1));
	text_free(&why);
	rule_trial_free(trial);
	rule_run_close(&run);
}

static void conditions_can_contradict_each_other(void **state)
{
	static const struct {
		const char *where;
		bool never;
	} cases[] = {
		{ "{ field: a, eq: 1 }, { field: a, eq: 2 }", true },
		{ "{ field: a, eq: 1 }, { field: a, eq: 0x1 }", false },
		{ "{ field: a, eq: 1 }, { field: b, eq: 2 }", false },
		{ "{ field: a, eq: 1 }, { field: a, ne: 1 }", true },
		{ "{ field: a, eq: x }, { field: a, eq: X }", false },
		{ "{ field: a, eq: x }, { field: a, eq: y }", true },
		{ "{ field: a, in: [1, 2] }, { field: a, in: [2, 3] }", false },
		{ "{ field: a, in: [1, 2] }, { field: a, in: [3, 4] }", true },
		{ "{ field: a, in: [1, 2] }, { field: a, gt: 2 }", true },
		/* The name of a value may be any number. */
		{ "{ field: a, eq: x }, { field: a, in: [1, 2] }", false },
		{ "{ field: a, in: [1, 2] }, { field: a, ne: x }", false },
		{ "{ field: a, eq: x }, { field: a, ne: X }", true },
		{ "{ field: a, in: [1, 2] }, { field: a, ne: 1 }, { field: a, lt: 2 }", true },
		{ "{ field: a, gt: 4 }, { field: a, lt: 6 }", false },
		{ "{ field: a, gt: 4 }, { field: a, lt: 5 }", true },
		{ "{ field: a, ge: 4 }, { field: a, le: 4 }", false },
		{ "{ field: a, lt: -4 }, { field: a, ge: 0 }", true },
		{ "{ field: a, has: 6 }, { field: a, lacks: 9 }", false },
		{ "{ field: a, has: 6 }, { field: a, lacks: 4 }", true },
		{ "{ field: a, eq: 5 }, { field: a, has: 2 }", true },
		/* Of a signed field these two are the same number. */
		{ "{ field: a, eq: 0xC0000005 }, { field: a, lt: 0 }", false },
		{ "{ field: a, starts: ab }, { field: a, starts: ABc }", false },
		{ "{ field: a, starts: ab }, { field: a, starts: ac }", true },
		{ "{ field: a, ends: .exe }, { field: a, ends: .dll }", true },
		{ "{ field: a, eq: a.exe }, { field: a, ends: .dll }", true },
		{ "{ field: a, eq: a.exe }, { field: a, starts: b }", true },
		{ "{ field: a, matches: '^a$' }, { field: a, eq: b }", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];

		snprintf(text, sizeof text, RULE("event: Nobody/1, where: [%s]"), cases[i].where);
		assert_never(text, NULL,
			     cases[i].never ? "its conditions on 'a' contradict each other" : NULL);
	}
}

static void a_manifest_knows_what_events_there_are(void **state)
{
	static const struct {
		const char *rule;
		const char *reason;
	} cases[] = {
		{ "event: My-Alpha/Beta/1", NULL },
		{ "event: my-alpha/beta/2", NULL },
		{ "event: '{" PROVIDER "}/1'", NULL },
		{ "event: My-Alpha/Beta/Work", NULL },
		{ "event: My-Alpha/Beta/Begin", NULL },
		{ "event: My-Alpha/Beta/*", NULL },
		{ "event: My-Alpha/1", NULL }, /* another provider, of which nothing is known */
		{ "event: My-Alpha/Beta/3",
		  "the manifest of its provider has no event 'My-Alpha/Beta/3'" },
		{ "event: '{" PROVIDER "}/3'",
		  "the manifest of its provider has no event '{" PROVIDER "}/3'" },
		{ "event: My-Alpha/Beta/End",
		  "the manifest of its provider has no event 'My-Alpha/Beta/End'" },
		{ "event: My-Alpha/Beta/1, version: [1]", NULL },
		{ "event: My-Alpha/Beta/1, version: '>=2'",
		  "the manifest of its provider has no event 'My-Alpha/Beta/1' of such a version" },
		{ "event: My-Alpha/Beta/1, value: b", NULL },
		{ "event: My-Alpha/Beta/1, version: [0], value: b",
		  "event 'My-Alpha/Beta/1' has no field 'b'" },
		{ "event: My-Alpha/Beta/1, value: c", "event 'My-Alpha/Beta/1' has no field 'c'" },
		{ "event: My-Alpha/Beta/1, where: [{ field: c, eq: 1 }]",
		  "event 'My-Alpha/Beta/1' has no field 'c'" },
		{ "event: My-Alpha/Beta/1, value: Cpu, where: [{ field: Event.StackDepth, gt: 1 }]",
		  NULL },
		{ "event: My-Alpha/Beta/1, where: [{ field: Pair.x, eq: 1 }], pair: { start: "
		  "My-Alpha/Beta/2, stop: My-Alpha/Beta/1, key: [Cpu], carry: { x: Cpu } }",
		  NULL },
		{ "event: My-Alpha/Beta/*, value: c", "event 'My-Alpha/Beta/*' has no field 'c'" },
		{ "event: My-Alpha/Beta/1, labels: { l: c }", NULL },
	};
	struct error err;
	struct manifest_set *set = manifest_set_new(&err);
	struct manifest *manifest = manifest_read_checked(xml, sizeof xml - 1, &err);

	(void)state;
	assert_non_null(set);
	if (!manifest) {
		fail_msg("%s", err.text);
	}
	assert_true(manifest_set_add(set, manifest, &err));
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];

		snprintf(text, sizeof text, RULE("%s"), cases[i].rule);
		assert_never(text, set, cases[i].reason);
		assert_never(text, NULL, NULL);
	}
	manifest_set_free(set);
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
	payload_u32(&run->payload, a);
	if (version == 0) {
		payload_wstring(&run->payload, "text");
	} else {
		payload_u32(&run->payload, b);
	}
	rule_run_feed(run);
}

static void a_trial_tells_what_became_of_the_events(void **state)
{
	struct rule_trial *trial;
	const struct trial_rule *tried;
	struct text why = { 0 };
	struct error err;
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
	trial = rule_trial_new(run.set, &err);
	assert_non_null(trial);
	rule_run_try(&run, trial);
	feed(&run, 0, 2, 0);
	feed(&run, 1, 2, 7);
	feed(&run, 1, 1, 7);
	feed(&run, 1, 3, 7);
	rule_run_other(&run, PROVIDER, 1);
	run.record.version = 1;
	payload_u16(&run.payload, 1);
	rule_run_feed(&run);

	tried = rule_trial_at(trial, 0);
	assert_int_equal(tried->events, 5);
	assert_int_equal(tried->counted, 2);
	assert_int_equal(tried->left_out, 1);
	assert_int_equal(tried->cut, 1);
	assert_int_equal(tried->missing_count, 2);
	assert_string_equal(tried->missing[0].field, "b"); /* of version 0 */
	assert_int_equal(tried->missing[0].events, 1);
	assert_string_equal(tried->missing[1].field, "s"); /* the label, of version 1 */
	assert_int_equal(tried->missing[1].events, 4);
	assert_false(rule_trial_never(tried, NULL, 0, &why));

	tried = rule_trial_at(trial, 1);
	assert_int_equal(tried->events, 5);
	assert_int_equal(tried->counted, 0);
	assert_int_equal(tried->left_out, 0);
	assert_string_equal(tried->missing[0].field, "Event.Sid");
	assert_int_equal(tried->missing[0].events, 5);

	tried = rule_trial_at(trial, 2);
	assert_int_equal(tried->events, 1);
	assert_int_equal(tried->wrong_type, 1);
	assert_int_equal(tried->counted, 0);

	tried = rule_trial_at(trial, 3);
	assert_int_equal(tried->events, 5);
	assert_int_equal(tried->left_out, 5);
	text_free(&why);
	rule_run_close(&run);
	rule_trial_free(trial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_can_contradict_each_other),
		cmocka_unit_test(a_manifest_knows_what_events_there_are),
		cmocka_unit_test(a_trial_tells_what_became_of_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
