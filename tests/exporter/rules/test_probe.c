/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "exporter/rules/rules.h"
#include "tests/support/rule_run.h"

static const char collector[] = "collector: x\nhelp: C.\ndefault: on\nmetrics:\n"
				"  - { name: c_total, type: counter, help: H.,\n"
				"      events: [{ event: DiskIo/Write }] }\n";

/* Whether a write of 8192 bytes by "chrome" fulfils all of the texts. */
static bool write_fulfils(const char *const *texts)
{
	struct etw_error err = { 0 };
	struct probe *probe = probe_new(&err);
	struct rule_run run;
	bool fulfils;

	assert_non_null(probe);
	for (; *texts; texts++) {
		if (!probe_add(probe, *texts, &err)) {
			fail_msg("%s", err.text);
		}
	}
	rule_run_open_probe(&run, collector, NULL, probe);
	rule_run_process(&run, "Process/Start", 12, "chrome.exe", 0);
	rule_run_event(&run, "DiskIo/Write");
	etw_payload_u32(&run.payload, 2);    /* DiskNumber */
	etw_payload_u32(&run.payload, 0x43); /* IrpFlags */
	etw_payload_u32(&run.payload, 8192); /* TransferSize */
	etw_payload_u32(&run.payload, 0);
	etw_payload_u64(&run.payload, UINT64_MAX); /* ByteOffset, signed */
	etw_payload_pointer(&run.payload, 0);
	etw_payload_pointer(&run.payload, 0);
	etw_payload_u64(&run.payload, 77);  /* HighResResponseTime */
	etw_payload_u32(&run.payload, 120); /* IssuingThreadId */
	rule_run_feed(&run);
	fulfils = run.fulfils;
	rule_run_close(&run);
	probe_free(probe);
	return fulfils;
}

static void conditions_are_those_of_rules(void **state)
{
	static const struct {
		const char *texts[3];
		bool holds;
	} cases[] = {
		{ { "TransferSize gt 4096" }, true },
		{ { "TransferSize gt 8192" }, false },
		{ { "TransferSize ge 0x2000" }, true },
		{ { "  TransferSize\tlt  0x2001" }, true },
		{ { "TransferSize ne 8192" }, false },
		{ { "DiskNumber in 0, 2,4" }, true },
		{ { "DiskNumber in 0,1" }, false },
		{ { "IrpFlags has 0x41" }, true },
		{ { "IrpFlags lacks 4" }, true },
		{ { "IrpFlags lacks 3" }, false },
		{ { "Process eq CHROME" }, true },
		{ { "Process starts chr" }, true },
		{ { "Process ends me" }, true },
		{ { "Process matches ^ch.+e$" }, true },
		{ { "Process in svchost, chrome" }, true },
		{ { "Process eq chrome.exe" }, false },
		{ { "Event eq DiskIo/Write" }, true },
		{ { "Provider eq Windows Kernel" }, true },
		{ { "TransferSize gt 1", "DiskNumber eq 2" }, true },
		{ { "TransferSize gt 1", "DiskNumber eq 3" }, false },
		/* Other spellings, for which blanks may be left out. */
		{ { "TransferSize > 4096" }, true },
		{ { "TransferSize > 8192" }, false },
		{ { "TransferSize >= 8192" }, true },
		{ { "TransferSize < 8192" }, false },
		{ { "TransferSize <= 8192" }, true },
		{ { "TransferSize = 8192" }, true },
		{ { "TransferSize == 8193" }, false },
		{ { "TransferSize != 8192" }, false },
		{ { "TransferSize>4096" }, true },
		{ { "TransferSize >8192" }, false },
		{ { "TransferSize!= 1" }, true },
		{ { "Process =~ ^ch.+e$" }, true },
		{ { "Process=~^x" }, false },
		{ { "Process == CHROME" }, true },
		/* What such events lack, or have as another type. */
		{ { "FileName starts C" }, false },
		{ { "FileName ne C" }, false },
		{ { "TransferSize starts 8" }, false },
		{ { "TransferSize eq many" }, false },
		{ { "Process gt 1" }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("  %s\n", cases[i].texts[0]);
		assert_int_equal(write_fulfils(cases[i].texts), cases[i].holds);
	}
}

static void what_is_no_condition_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{ "", "'': wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096" },
		{ "TransferSize",
		  "'TransferSize': wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096" },
		{ "TransferSize gt ",
		  "'TransferSize gt ': wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096" },
		{ "Path start C:",
		  "'Path start C:': unknown comparison 'start'; did you mean 'starts'?" },
		{ "Path !~ x",
		  "'Path !~ x': unknown comparison '!~'; there are eq ne lt le gt ge in "
		  "has lacks starts ends matches" },
		{ "> 4", "'> 4': wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096" },
		{ "Size >",
		  "'Size >': wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096" },
		{ "Size > many", "'Size > many': '>' wants a number, not 'many'" },
		{ "Size gt many", "'Size gt many': 'gt' wants a number, not 'many'" },
	};
	struct etw_error err = { 0 };
	struct probe *probe = probe_new(&err);

	(void)state;
	assert_non_null(probe);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_false(probe_add(probe, cases[i].text, &err));
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
	assert_false(probe_add(probe, "Path matches (", &err));
	assert_null(probe_field(probe, 0));
	assert_true(probe_add(probe, "Path matches \\.log$", &err));
	assert_string_equal(probe_field(probe, 0), "Path");
	assert_null(probe_field(probe, 1));
	probe_free(probe);
	probe_free(NULL);
}

static void more_conditions_than_a_probe_holds_are_refused(void **state)
{
	struct etw_error err = { 0 };
	struct probe *probe = probe_new(&err);

	(void)state;
	assert_non_null(probe);
	for (unsigned i = 0; i < PROBE_CONDITIONS_MOST; i++) {
		assert_true(probe_add(probe, "TransferSize gt 4096", &err));
	}
	assert_false(probe_add(probe, "TransferSize gt 4096", &err));
	assert_string_equal(err.text, "more than 64 conditions");
	assert_int_equal(err.code, ETW_ERROR_LIMIT);
	probe_free(probe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_those_of_rules),
		cmocka_unit_test(what_is_no_condition_is_refused),
		cmocka_unit_test(more_conditions_than_a_probe_holds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
