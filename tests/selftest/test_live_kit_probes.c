/* SPDX-License-Identifier: MIT */
/*
 * The probes of assumptions against tests/fake_etw: each is confirmed by the fake as it is, and
 * refuted by one that behaves otherwise or answers with another status.
 */
#include "selftest/kit_etw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/existing.h"

enum { OTHER_STATUS = 31 };

/* How a row is refuted. */
enum way {
	STATUS,    /* a call answers with another status */
	OTHERWISE, /* fake_etw_otherwise() */
	NOTHING,   /* what exists is not reported */
};

static const struct {
	const char *row;
	enum way way;
} rows[] = {
	{ "W1a", OTHERWISE },  { "W1b", OTHERWISE }, { "W1c", OTHERWISE }, { "W1d", STATUS },
	{ "W2a", NOTHING },    { "W3", OTHERWISE },  { "S1a", STATUS },    { "S2a", STATUS },
	{ "S4a", OTHERWISE },  { "S5", STATUS },     { "S7a", STATUS },    { "S9", STATUS },
	{ "S10", STATUS },     { "S12", STATUS },    { "S13", STATUS },    { "S15", OTHERWISE },
	{ "S16", STATUS },     { "S19", STATUS },    { "C1a", STATUS },    { "C19", OTHERWISE },
	{ "P1", OTHERWISE },   { "P1a", OTHERWISE }, { "P3", STATUS },     { "P4", OTHERWISE },
	{ "P7", STATUS },      { "P7a", STATUS },    { "P11", STATUS },    { "P12", OTHERWISE },
	{ "P17", STATUS },     { "P17a", STATUS },   { "P18", OTHERWISE }, { "I1", STATUS },
	{ "M1", STATUS },      { "M1a", OTHERWISE }, { "S25", STATUS },    { "S31", STATUS },
	{ "P7b", STATUS },     { "P11a", STATUS },   { "P21", STATUS },    { "P21a", OTHERWISE },
	{ "W2b", NOTHING },    { "W2c", NOTHING },   { "C3a", OTHERWISE }, { "C9a", OTHERWISE },
	{ "C12a", OTHERWISE }, { "I4a", OTHERWISE }, { "I2", OTHERWISE },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct kit_assumption *assumption_of(const char *row)
{
	const struct kit_assumption *assumption = kit_assumptions;

	while (assumption->row && strcmp(assumption->row, row) != 0) {
		assumption++;
	}
	assert_non_null(assumption->row);
	return assumption;
}

static void set_up(const char *row, bool exists)
{
	fake_etw_reset(&(struct fake_etw_options){ .rights = strcmp(row, "S7a") == 0 ?
								     FAKE_ETW_PERFORMANCE_LOG_USER :
								     FAKE_ETW_ADMINISTRATOR });
	fake_etw_add_thread(77, 4);
	if (exists) {
		existing_add();
	}
}

static void nothing_is_left(const char *row)
{
	struct fake_etw_open open = fake_etw_open_things();

	if (open.sessions != 0 || open.traces != 0 || open.registrations != 0 ||
	    open.handles != 0) {
		print_message("%s leaves %u sessions, %u traces, %u registrations, %u handles\n",
			      row, open.sessions, open.traces, open.registrations, open.handles);
		fail();
	}
}

static enum kit_state probe(const char *row, bool show)
{
	struct kit_finding finding = { 0 };

	kit_probe(assumption_of(row), &finding);
	assert_false(finding.seen.failed);
	assert_true(finding.seen.size > 0);
	if (show) {
		print_message("%s: %s\n", row, finding.seen.data);
	}
	text_free(&finding.seen);
	nothing_is_left(row);
	return finding.state;
}

static void each_is_confirmed_by_the_fake_as_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		set_up(rows[i].row, true);
		if (probe(rows[i].row, true) != KIT_CONFIRMED) {
			print_message("%s is not confirmed\n", rows[i].row);
			fail();
		}
	}
}

static void each_is_refuted_by_one_that_behaves_otherwise(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const char *row = rows[i].row;

		if (rows[i].way == STATUS) {
			continue;
		}
		set_up(row, rows[i].way == OTHERWISE);
		if (strcmp(row, "P21a") == 0) {
			fake_etw_reset(&(struct fake_etw_options){ .own_stop_is_reported = true });
		} else if (rows[i].way == OTHERWISE) {
			fake_etw_otherwise(strcmp(row, "W3") == 0 ? "P1a" : row);
		}
		if (probe(row, true) != KIT_REFUTED) {
			print_message("%s is not refuted\n", row);
			fail();
		}
	}
}

/* Every call that the probe makes fails once. Returns whether one of these refuted the row. */
static bool is_refuted_by_a_status(const char *row)
{
	static const char *const calls[] = { "StartTraceW",      "ControlTraceW",
					     "EnableTraceEx2",   "TraceQueryInformation",
					     "OpenTraceW",       "Process32FirstW",
					     "EventRegister",    "CreateToolhelp32Snapshot",
					     "OpenProcessToken", "QueryAllTracesW" };
	bool refuted = false;

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		for (unsigned after = 0;; after++) {
			set_up(row, true);
			fake_etw_fail(calls[i], OTHER_STATUS, after);
			refuted = probe(row, false) == KIT_REFUTED || refuted;
			if (fake_etw_calls(calls[i]) <= after) {
				break;
			}
		}
	}
	return refuted;
}

static void each_is_refuted_by_another_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].way == STATUS && !is_refuted_by_a_status(rows[i].row)) {
			print_message("%s is refuted by no status\n", rows[i].row);
			fail();
		}
	}
}

/* What behaves otherwise shows only in a session that runs. */
static void without_rights_a_probe_that_needs_a_session_tests_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		enum kit_state found;

		set_up(rows[i].row, true);
		fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
		found = probe(rows[i].row, false);
		if (rows[i].way == OTHERWISE && rows[i].row[0] != 'M' && found != KIT_NOT_TESTED) {
			print_message("%s is tested without rights\n", rows[i].row);
			fail();
		}
	}
}

static void each_row_has_a_probe_that_is_tested_here_or_a_reason(void **state)
{
	(void)state;
	for (const struct kit_assumption *assumption = kit_assumptions; assumption->row;
	     assumption++) {
		size_t i = 0;

		assert_int_equal((assumption->probe != NULL) + (assumption->recorded != NULL) +
					 (assumption->why_not != NULL),
				 1);
		while (i < ROWS && strcmp(rows[i].row, assumption->row) != 0) {
			i++;
		}
		if (assumption->probe && i == ROWS) {
			print_message("%s is not tested\n", assumption->row);
			fail();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_confirmed_by_the_fake_as_it_is),
		cmocka_unit_test(each_is_refuted_by_one_that_behaves_otherwise),
		cmocka_unit_test(each_is_refuted_by_another_status),
		cmocka_unit_test(without_rights_a_probe_that_needs_a_session_tests_nothing),
		cmocka_unit_test(each_row_has_a_probe_that_is_tested_here_or_a_reason),
	};

	return cmocka_run_group_tests_name("live_kit_probes", tests, NULL, NULL);
}
