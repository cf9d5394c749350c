/* SPDX-License-Identifier: MIT */
/*
 * What rules make of records: values, conditions, labels, gauges, filters, outcomes. Records are
 * built by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

#define X "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
#define COUNTER(labels, events)                                                               \
	X "- { name: a_total, type: counter, help: h, labels: {" labels "}, events: [" events \
	  "] }\n"
#define SECONDS(events) \
	X "- { name: a_seconds_total, type: counter, help: h, events: [" events "] }\n"
#define GAUGE(labels, events) \
	X "- { name: a, type: gauge, help: h, labels: {" labels "}, events: [" events "] }\n"

/* DiskIo/Read or Write of version 3. */
static void disk(struct rule_run *run, const char *event, uint32_t number, uint32_t flags,
		 uint32_t size, uint64_t ticks)
{
	rule_run_event(run, event);
	etw_payload_u32(&run->payload, number);
	etw_payload_u32(&run->payload, flags);
	etw_payload_u32(&run->payload, size);
	etw_payload_u32(&run->payload, 0);
	etw_payload_u64(&run->payload, 0);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u64(&run->payload, ticks);
	etw_payload_u32(&run->payload, 40);
}

static void image_load(struct rule_run *run, uint32_t process, const char *file)
{
	rule_run_event(run, "Image/Load");
	etw_payload_pointer(&run->payload, 0x10000);
	etw_payload_pointer(&run->payload, 0x2000);
	etw_payload_u32(&run->payload, process);
	etw_payload_u32(&run->payload, 7);
	etw_payload_zeros(&run->payload, 8);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_zeros(&run->payload, 16);
	etw_payload_wstring(&run->payload, file);
}

static void a_rule_counts_its_events_and_no_others(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, COUNTER("", "{ event: DiskIo/Read }"), NULL);
	rule_run_expect(&run, "a_total 0");
	disk(&run, "DiskIo/Read", 0, 0, 512, 0);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	disk(&run, "DiskIo/Write", 0, 0, 512, 0);
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_RULE);
	disk(&run, "DiskIo/Read", 0, 0, 512, 0);
	run.record.type = ETW_RECORD_FULL;
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_total 2");
	rule_run_close(&run);
}

static void versions_are_listed_or_at_least(void **state)
{
	static const uint8_t versions[] = { 0, 1, 2, 3, 255 };
	static const struct {
		const char *version;
		const char *line;
	} cases[] = {
		{ "[1, 3]", "a_total 2" },   { "[0x2]", "a_total 1" }, { "'>=2'", "a_total 3" },
		{ "'>= 200'", "a_total 1" }, { "'>=0'", "a_total 5" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[256];

		snprintf(text, sizeof text, COUNTER("", "{ event: DiskIo/Read, version: %s }"),
			 cases[i].version);
		rule_run_open(&run, text, NULL);
		for (size_t j = 0; j < sizeof versions; j++) {
			rule_run_version(&run, "DiskIo/Read", versions[j]);
			rule_run_feed(&run);
		}
		rule_run_expect(&run, cases[i].line);
		rule_run_close(&run);
	}
}

static void values_become_bytes_and_nanoseconds(void **state)
{
	static const struct {
		const char *collector;
		uint32_t size;
		uint64_t ticks;
		const char *line;
	} cases[] = {
		{ COUNTER("", "{ event: DiskIo/Read, value: TransferSize }"), 4096, 0,
		  "a_total 4096" },
		{ COUNTER("", "{ event: DiskIo/Read, value: Cpu }"), 4096, 0, "a_total 3" },
		{ X
		  "- { name: a_bytes_total, type: counter, help: h, events: [{ event: DiskIo/Read, value: TransferSize, unit: KB }] }\n",
		  3, 0, "a_bytes_total 3072" },
		/* The performance counter ticks two million times a second here. */
		{ SECONDS("{ event: DiskIo/Read, value: HighResResponseTime, unit: ticks }"), 0,
		  3000001, "a_seconds_total 1.5000005" },
		/* Any other tick is the session's, of which there are ten million. */
		{ SECONDS("{ event: DiskIo/Read, value: TransferSize, unit: ticks }"), 5, 0,
		  "a_seconds_total 0.0000005" },
		{ SECONDS("{ event: DiskIo/Read, value: TransferSize, unit: ns }"), 15, 0,
		  "a_seconds_total 0.000000015" },
		{ SECONDS("{ event: DiskIo/Read, value: TransferSize, unit: 100ns }"), 15, 0,
		  "a_seconds_total 0.0000015" },
		{ SECONDS("{ event: DiskIo/Read, value: TransferSize, unit: us }"), 15, 0,
		  "a_seconds_total 0.000015" },
		{ SECONDS("{ event: DiskIo/Read, value: TransferSize, unit: ms }"), 15, 0,
		  "a_seconds_total 0.015" },
		{ SECONDS("{ event: DiskIo/Read, value: TransferSize, unit: s }"), 15, 0,
		  "a_seconds_total 15" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;

		rule_run_open(&run, cases[i].collector, NULL);
		run.record.processor = 3;
		disk(&run, "DiskIo/Read", 0, 0, cases[i].size, cases[i].ticks);
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
		rule_run_expect(&run, cases[i].line);
		rule_run_close(&run);
	}
}

#define REAL_GUID "a1a1a1a1-0000-0000-0000-000000000001"
#define REAL      "'{" REAL_GUID "}/1'"

static void real(struct rule_run *run, double d, float f, enum record_outcome outcome)
{
	uint64_t wide;
	uint32_t narrow;

	memcpy(&wide, &d, sizeof wide);
	memcpy(&narrow, &f, sizeof narrow);
	rule_run_other(run, REAL_GUID, 1);
	etw_payload_u64(&run->payload, wide);
	etw_payload_u32(&run->payload, narrow);
	assert_int_equal(rule_run_feed(run), outcome);
}

static void fractions_are_dropped_in_the_unit_that_is_counted(void **state)
{
	static const double bad[] = {
		(double)NAN, (double)INFINITY, -(double)INFINITY, -1e-9, -1, 9.3e18, 1e300
	};
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      X "- { name: a_total, type: counter, help: h, events: [{ event: " REAL
			", value: d }] }\n"
			"- { name: b_bytes_total, type: counter, help: h, events: [{ event: " REAL
			", value: f, unit: KB }] }\n"
			"- { name: c_seconds_total, type: counter, help: h, events: [{ event: " REAL
			", value: d, unit: ns }] }\n"
			"- { name: d_seconds_total, type: counter, help: h, events: [{ event: " REAL
			", value: d, unit: ms }] }\n"
			"- { name: e_seconds_total, type: counter, help: h, events: [{ event: " REAL
			", value: d, unit: ticks }] }\n"
			"- { name: f_total, type: counter, help: h, labels: { d: d }, events: [{ "
			"event: " REAL ", where: [{ field: d, eq: '2.75' }] }] }\n",
		      NULL);
	rule_run_announce(
		&run, REAL_GUID, "Alpha",
		"<events><event value='1' symbol='Real' template='t'/></events><templates>"
		"<template tid='t'><data name='d' inType='win:Double'/>"
		"<data name='f' inType='win:Float'/></template></templates>");
	real(&run, 2.75, 0.5F, OUTCOME_COUNTED);
	real(&run, 0.5, 0, OUTCOME_COUNTED);
	rule_run_expect(&run, "a_total 2");
	rule_run_expect(&run, "b_bytes_total 512");
	rule_run_expect(&run, "c_seconds_total 0.000000002");
	rule_run_expect(&run, "d_seconds_total 0.00325");
	/* Of 100 ns. */
	rule_run_expect(&run, "e_seconds_total 0.000000325");
	rule_run_expect(&run, "f_total{d=\"2.75\"} 1");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		real(&run, bad[i], -1, OUTCOME_NO_RULE);
	}
	rule_run_expect(&run, "a_total 2");
	rule_run_expect(&run, "b_bytes_total 512");
	rule_run_expect(&run, "d_seconds_total 0.00325");
	/* Two rules for each of them, and three in seconds for what is no number. */
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"bad_type\"} 17");
	rule_run_expect(
		&run,
		"etw_invalid_durations_total{metric=\"d_seconds_total\",reason=\"negative\"} 3");
	rule_run_expect(
		&run,
		"etw_invalid_durations_total{metric=\"d_seconds_total\",reason=\"too_long\"} 3");
	/* The payload ends within it. */
	rule_run_other(&run, REAL_GUID, 1);
	etw_payload_u32(&run.payload, 0);
	assert_int_equal(rule_run_feed(&run), OUTCOME_UNDECODABLE);
	rule_run_close(&run);
}

static void gauges_round_to_the_digits_that_they_keep(void **state)
{
	static const struct {
		double d;
		const char *a, *b, *c, *d_seconds, *e;
	} cases[] = {
		/* 0.29 * 1000 is 289.99999999999997 in doubles. */
		{ 0.29, "0.29", "0", "0.0029", "0.00029", "290000" },
		{ 12.3456, "12.346", "12", "0.123456", "0.0123456", "12345600" },
		{ -1.75, "-1.75", "-2", "-0.0175", "-0.00175", "-1750000" },
		/* 2^53 - 1; of the others, three cannot show it. */
		{ 9007199254740991, "9007199254740991", "9007199254740991", NULL, NULL, NULL },
		{ 0, "0", "0", "0", "0", "0" },
	};
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X "- { name: a, type: gauge, decimals: 3, op: set, help: h, events: [{ event: " REAL
		  ", value: d }] }\n"
		  "- { name: b_bytes, type: gauge, op: set, help: h, events: [{ event: " REAL
		  ", value: d }] }\n"
		  "- { name: c_ratio, type: gauge, op: set, help: h, events: [{ event: " REAL
		  ", value: d, unit: percent }] }\n"
		  "- { name: d_seconds, type: gauge, op: set, help: h, events: [{ event: " REAL
		  ", value: d, unit: ms }] }\n"
		  "- { name: e_bytes, type: gauge, op: set, help: h, events: [{ event: " REAL
		  ", value: d, unit: MB }] }\n"
		  "- { name: f, type: gauge, decimals: 9, op: inc, help: h, events: [{ event: " REAL
		  " }] }\n"
		  "- { name: g, type: gauge, decimals: 1, op: inc, help: h, events: [{ event: " REAL
		  ", value: f }] }\n",
		NULL);
	rule_run_announce(
		&run, REAL_GUID, "Alpha",
		"<events><event value='1' symbol='Real' template='t'/></events><templates>"
		"<template tid='t'><data name='d' inType='win:Double'/>"
		"<data name='f' inType='win:Float'/></template></templates>");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *const values[] = { cases[i].a, cases[i].b, cases[i].c,
					       cases[i].d_seconds, cases[i].e };
		static const char *const names[] = { "a", "b_bytes", "c_ratio", "d_seconds",
						     "e_bytes" };

		real(&run, cases[i].d, 0.5F, OUTCOME_COUNTED);
		for (size_t k = 0; k < 5; k++) {
			char line[64];

			snprintf(line, sizeof line, "%s %s", names[k], values[k] ? values[k] : "");
			if (values[k]) {
				rule_run_expect(&run, line);
			}
		}
	}
	/* Gauges that go up by one, and by halves. */
	rule_run_expect(&run, "f 5");
	rule_run_expect(&run, "g 2.5");
	/* What is no number, and what no gauge can show, leaves the value as it was. */
	real(&run, 7, 0, OUTCOME_COUNTED);
	real(&run, (double)NAN, 0, OUTCOME_COUNTED);
	real(&run, -(double)INFINITY, 0, OUTCOME_COUNTED);
	real(&run, 1e300, 0, OUTCOME_COUNTED);
	rule_run_expect(&run, "a 7");
	rule_run_expect(&run, "c_ratio 0.07");
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"bad_type\"} 18");
	rule_run_close(&run);
}

#define LAYOUT_GUID "a1a1a1a1-0000-0000-0000-000000000002"
#define LAYOUT      "'{" LAYOUT_GUID "}/1'"

/* Events of one name may have several layouts: `exists` chooses one, and is no mismatch. */
static void a_rule_is_for_the_layouts_that_have_a_field(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      X "- { name: a_total, type: counter, help: h, events: [{ event: " LAYOUT
			", value: mean, where: [{ field: mean, exists: on }] }] }\n"
			"- { name: b_total, type: counter, help: h, events: [{ event: " LAYOUT
			", where: [{ field: mean, exists: off }] }] }\n"
			"- { name: c_total, type: counter, help: h, events: [{ event: " LAYOUT
			", value: mean }] }\n",
		      NULL);
	rule_run_announce(
		&run, LAYOUT_GUID, "Alpha",
		"<events><event value='1' version='0' symbol='A' template='t'/>"
		"<event value='1' version='1' symbol='B' template='u'/></events><templates>"
		"<template tid='t'><data name='mean' inType='win:UInt32'/></template>"
		"<template tid='u'><data name='sum' inType='win:UInt32'/></template>"
		"</templates>");
	rule_run_other(&run, LAYOUT_GUID, 1);
	etw_payload_u32(&run.payload, 7);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_total 7");
	rule_run_expect(&run, "b_total 0");
	rule_run_other(&run, LAYOUT_GUID, 1);
	run.record.version = 1;
	etw_payload_u32(&run.payload, 8);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_total 7");
	rule_run_expect(&run, "b_total 1");
	/* Only the rule without it lacks the field. */
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"rule\"} 1");
	rule_run_close(&run);
}

static void hard_fault(struct rule_run *run, int64_t initial)
{
	rule_run_event(run, "PageFault/HardFault");
	etw_payload_u64(&run->payload, (uint64_t)initial);
	etw_payload_u64(&run->payload, 0);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u32(&run->payload, 40);
	etw_payload_u32(&run->payload, 4096);
}

static void since_is_the_time_that_has_passed(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, SECONDS("{ event: PageFault/HardFault, since: InitialTime }"), NULL);
	run.record.raw_time = 50000000;
	hard_fault(&run, 20000000);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_seconds_total 3");
	/* Clocks of two processors may differ by a little: the time is not known then. */
	run.record.raw_time = 50000000;
	hard_fault(&run, 50000005);
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_RULE);
	rule_run_expect(&run, "a_seconds_total 3");
	rule_run_close(&run);
}

static void histograms_take_durations(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      X "- { name: a_seconds, type: histogram, help: h, buckets: [1, 2.5],\n"
			"    events: [{ event: PageFault/HardFault, since: InitialTime }] }\n",
		      NULL);
	run.record.raw_time = 50000000;
	hard_fault(&run, 30000000);
	rule_run_feed(&run);
	rule_run_expect(&run, "a_seconds_bucket{le=\"1\"} 0");
	rule_run_expect(&run, "a_seconds_bucket{le=\"2.5\"} 1");
	rule_run_expect(&run, "a_seconds_bucket{le=\"+Inf\"} 1");
	rule_run_expect(&run, "a_seconds_sum 2");
	rule_run_expect(&run, "a_seconds_count 1");
	rule_run_close(&run);
}

/* Feeds the conditions one DiskIo/Read with flags 0x6 and one image load, and says how often they
 * held. */
static void conditions_hold_or_not(void **state)
{
	static const struct {
		const char *where;
		bool holds;
	} cases[] = {
		{ "{ field: IrpFlags, eq: 6 }", true },
		{ "{ field: IrpFlags, eq: 0x6 }", true },
		{ "{ field: IrpFlags, eq: 7 }", false },
		{ "{ field: IrpFlags, ne: 7 }", true },
		{ "{ field: IrpFlags, ne: 6 }", false },
		{ "{ field: IrpFlags, lt: 7 }", true },
		{ "{ field: IrpFlags, lt: 6 }", false },
		{ "{ field: IrpFlags, le: 6 }", true },
		{ "{ field: IrpFlags, le: 5 }", false },
		{ "{ field: IrpFlags, gt: 5 }", true },
		{ "{ field: IrpFlags, gt: 6 }", false },
		{ "{ field: IrpFlags, ge: 6 }", true },
		{ "{ field: IrpFlags, ge: 7 }", false },
		{ "{ field: IrpFlags, gt: -1 }", true },
		{ "{ field: IrpFlags, eq: -1 }", false },
		{ "{ field: IrpFlags, in: [1, 6] }", true },
		{ "{ field: IrpFlags, in: [1, 5] }", false },
		{ "{ field: IrpFlags, has: 2 }", true },
		{ "{ field: IrpFlags, has: 6 }", true },
		{ "{ field: IrpFlags, has: 3 }", false },
		{ "{ field: IrpFlags, lacks: 9 }", true },
		{ "{ field: IrpFlags, lacks: 3 }", false },
		{ "{ field: Opcode, eq: 10 }", true },
		{ "{ field: Opcode, in: [11, 12] }", false },
		{ "{ field: Event, eq: diskio/read }", true },
		{ "{ field: Event, ends: /write }", false },
		{ "{ field: Provider, starts: windows }", true },
		{ "{ field: Session, eq: test.etl }", true },
		{ "{ field: Process, eq: SYSTEM }", true },
		{ "{ field: Process, ne: system }", false },
		{ "{ field: Process, in: [a, System] }", true },
		{ "{ field: Process, starts: sys }", true },
		{ "{ field: Process, ends: TEM }", true },
		{ "{ field: Process, ends: a }", false },
		{ "{ field: Process, matches: '^s.*m$' }", true },
		{ "{ field: Process, matches: '^y' }", false },
		{ "{ field: ProcessId, eq: 4 }", true },
		{ "{ field: ThreadId, eq: 40 }", true },
		{ "{ field: Cpu, eq: 0 }", true },
		{ "{ field: Level, gt: 0 }", false },
		{ "{ field: IrpFlags, eq: 6 }, { field: Cpu, eq: 1 }", false },
		{ "{ field: IrpFlags, eq: 6 }, { field: Cpu, eq: 0 }", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[512];

		snprintf(text, sizeof text, COUNTER("", "{ event: DiskIo/Read, where: [%s] }"),
			 cases[i].where);
		rule_run_open(&run, text, NULL);
		/* Twice: the second time verdicts are remembered. */
		for (unsigned j = 0; j < 2; j++) {
			disk(&run, "DiskIo/Read", 0, 6, 512, 0);
			if ((rule_run_feed(&run) == OUTCOME_COUNTED) != cases[i].holds) {
				fail_msg("%s", cases[i].where);
			}
		}
		rule_run_expect(&run, cases[i].holds ? "a_total 2" : "a_total 0");
		rule_run_close(&run);
	}
}

static void conditions_read_text_of_payloads(void **state)
{
	static const struct {
		const char *where;
		bool holds;
	} cases[] = {
		{ "{ field: FileName, eq: '\\WINDOWS\\a.sys' }", true },
		{ "{ field: FileName, ne: '\\WINDOWS\\a.sys' }", false },
		{ "{ field: FileName, in: [b, '\\windows\\A.SYS'] }", true },
		{ "{ field: FileName, starts: '\\win' }", true },
		{ "{ field: FileName, ends: '.dll' }", false },
		{ "{ field: FileName, matches: '\\\\A\\.SYS$' }", true },
		{ "{ field: FileName, matches: 'b' }", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[512];

		snprintf(text, sizeof text, COUNTER("", "{ event: Image/Load, where: [%s] }"),
			 cases[i].where);
		rule_run_open(&run, text, NULL);
		for (unsigned j = 0; j < 2; j++) {
			image_load(&run, 4, "\\Windows\\a.sys");
			if ((rule_run_feed(&run) == OUTCOME_COUNTED) != cases[i].holds) {
				fail_msg("%s", cases[i].where);
			}
		}
		rule_run_close(&run);
	}
}

static void a_signed_field_meets_its_code_in_hex(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		COUNTER("",
			"{ event: Process/Stop, where: [{ field: ExitStatus, eq: 0xC0000005 }, { field: ExitStatus, lt: 0 }] }"),
		NULL);
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_process(&run, "Process/Stop", 100, "a.exe", 0xc0000005);
	rule_run_process(&run, "Process/Start", 101, "a.exe", 259);
	rule_run_process(&run, "Process/Stop", 101, "a.exe", 0xc0000006);
	rule_run_expect(&run, "a_total 1");
	rule_run_close(&run);
}

#define INTEGERS_GUID "a1a1a1a1-0000-0000-0000-000000000002"
#define INTEGERS      "event: '{" INTEGERS_GUID "}/1'"

static const char integers[] = "<events><event value='1' symbol='Integers' template='t'/></events>"
			       "<templates><template tid='t'><data name='s' inType='win:Int64'/>"
			       "<data name='u' inType='win:UInt64'/>"
			       "<data name='small' inType='win:Int16'/></template></templates>";

/* The same bits in each field, as far as they fit. */
static void feed_bits(struct rule_run *run, uint64_t bits)
{
	rule_run_other(run, INTEGERS_GUID, 1);
	etw_payload_u64(&run->payload, bits);
	etw_payload_u64(&run->payload, bits);
	etw_payload_u16(&run->payload, (uint16_t)bits);
	run->record.process_id = 100;
	rule_run_feed(run);
}

/* All bits are set: -1, or the highest number. */
static void literals_mean_the_bits_of_a_field_or_its_number(void **state)
{
	static const struct {
		const char *condition;
		bool holds;
	} cases[] = {
		{ "{ field: s, eq: -1 }", true },
		{ "{ field: s, eq: 0xffffffffffffffff }", true },
		{ "{ field: s, ne: 0xffffffffffffffff }", false },
		{ "{ field: s, in: [5, 0xffffffffffffffff] }", true },
		{ "{ field: s, lt: 0 }", true },
		{ "{ field: s, gt: -2 }", true },
		{ "{ field: s, le: 0x7fffffffffffffff }", true },
		{ "{ field: s, ge: 0x8000000000000000 }", true }, /* the lowest one */
		{ "{ field: small, eq: -1 }", true },
		{ "{ field: small, eq: 0xffff }", true },
		{ "{ field: small, ne: 0xffff }", false },
		{ "{ field: small, lt: 0x7fff }", true },
		/* Of more bits than the field has: no value of it. */
		{ "{ field: small, eq: 0x1ffff }", false },
		{ "{ field: small, ne: 0x1ffff }", true },
		{ "{ field: small, lt: 0x1ffff }", true },
		{ "{ field: u, eq: -1 }", false },
		{ "{ field: u, ne: -1 }", true },
		{ "{ field: u, in: [-1, 5] }", false },
		{ "{ field: u, gt: -1 }", true },
		{ "{ field: u, le: -1 }", false },
		{ "{ field: u, eq: 0xffffffffffffffff }", true },
		{ "{ field: u, ge: 18446744073709551615 }", true },
		{ "{ field: u, lt: 0xffffffffffffffff }", false },
		{ "{ field: u, has: 0x8000000000000001 }", true },
		{ "{ field: s, lacks: 0x8000000000000000 }", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[256];

		print_message("  %s\n", cases[i].condition);
		snprintf(text, sizeof text, COUNTER("", "{ " INTEGERS ", where: [%s] }"),
			 cases[i].condition);
		rule_run_open(&run, text, NULL);
		rule_run_announce(&run, INTEGERS_GUID, "Alpha", integers);
		for (unsigned j = 0; j < 2; j++) {
			feed_bits(&run, UINT64_MAX);
		}
		rule_run_expect(&run, cases[i].holds ? "a_total 2" : "a_total 0");
		rule_run_close(&run);
	}
}

static void labels_are_made_of_numbers_and_text(void **state)
{
	static const struct {
		const char *label;
		const char *value;
	} cases[] = {
		{ "Process", "System" },
		{ "Provider", "Windows Kernel" },
		{ "Event", "Image/Load" },
		{ "Session", "test.etl" },
		{ "ProcessId", "4" },
		{ "Cpu", "2" },
		{ "Opcode", "10" },
		{ "ImageSize", "8192" },
		{ "FileName", "\\\\Device\\\\HarddiskVolume3\\\\Dir\\\\Name.SYS" },
		{ "{ text: some text }", "some text" },
		{ "{ field: ImageSize, map: { 1: one, 0x2000: page }, default: none }", "page" },
		{ "{ field: ImageSize, map: { 1: one }, default: none }", "none" },
		{ "{ field: Process, map: { SYSTEM: kernel }, default: user }", "kernel" },
		{ "{ field: Process, map: { Idle: kernel }, default: user }", "user" },
		{ "{ field: FileName, map: { b: c }, default: none }", "none" },
		{ "{ field: ImageSize, decode: [hex] }", "0x2000" },
		{ "{ field: FileName, decode: [lower] }",
		  "\\\\device\\\\harddiskvolume3\\\\dir\\\\name.sys" },
		{ "{ field: FileName, decode: [basename] }", "Name.SYS" },
		{ "{ field: FileName, decode: [directory] }",
		  "\\\\Device\\\\HarddiskVolume3\\\\Dir" },
		{ "{ field: FileName, decode: [directory, basename, lower] }", "dir" },
		{ "{ field: FileName, decode: [extension] }", "SYS" },
		{ "{ field: FileName, decode: [drive] }", "HarddiskVolume3" },
		{ "{ field: FileName, decode: [{ regex: 'volume(\\d)', replace: 'v$1' }, basename] }",
		  "Name.SYS" },
		{ "{ field: FileName, decode: [directory, { regex: '.*volume(\\d).*', replace: 'v$1' }] }",
		  "v3" },
		{ "{ field: ImageChecksum, decode: [win32_error] }", "7" },
		{ "{ field: ImageChecksum, decode: [ntstatus] }", "success" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[512];

		snprintf(text, sizeof text, COUNTER("l: %s", "{ event: Image/Load }"),
			 cases[i].label);
		rule_run_open(&run, text, NULL);
		run.record.processor = 2;
		for (unsigned j = 0; j < 2; j++) {
			image_load(&run, 4, "\\Device\\HarddiskVolume3\\Dir\\Name.SYS");
			assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
		}
		snprintf(text, sizeof text, "a_total{l=\"%s\"} 2", cases[i].value);
		rule_run_expect(&run, text);
		rule_run_close(&run);
	}
}

/* Neither the whole text nor a wrong one: the author of the text chose what is too hard. */
static void what_a_regular_expression_cannot_take_is_unknown(void **state)
{
	static const struct {
		const char *regex, *replace;
	} cases[] = {
		{ "(a+)+$", "b" }, /* over the match limit */
		{ "a", "0123456789012345678901234567890123456789012345678901234567890123456789"
		       "0123456789012345678901234567890123456789012345678901234567890123456789" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[1024];

		snprintf(text, sizeof text,
			 COUNTER("l: { field: FileName, decode: [{ regex: '%s', replace: '%s' }] }",
				 "{ event: Image/Load }"),
			 cases[i].regex, cases[i].replace);
		rule_run_open(&run, text, NULL);
		image_load(&run, 4,
			   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
		rule_run_expect(&run, "a_total{l=\"_unknown\"} 1");
		rule_run_close(&run);
	}
}

static void many_values_of_a_label_keep_apart(void **state)
{
	struct rule_run run;
	char text[128];

	(void)state;
	rule_run_open(&run,
		      COUNTER("disk: DiskNumber, flags: { field: IrpFlags, decode: [hex] }",
			      "{ event: DiskIo/Read }"),
		      NULL);
	for (uint32_t i = 0; i < 3000; i++) {
		disk(&run, "DiskIo/Read", i % 300, i % 300, 0, 0);
		rule_run_feed(&run);
	}
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(text, sizeof text, "a_total{disk=\"%u\",flags=\"0x%x\"} 10", (unsigned)i,
			 (unsigned)i);
		rule_run_expect(&run, text);
	}
	rule_run_close(&run);
}

/* Three labels with the same few values, in every order, each label set twice in a row. */
static void more_labels_than_a_key_holds_keep_apart(void **state)
{
	enum { VALUES = 7, SETS = VALUES * VALUES * VALUES, ROUNDS = 3 };
	struct rule_run run;
	char text[128];

	(void)state;
	rule_run_open(&run,
		      COUNTER("d: DiskNumber, f: IrpFlags, s: TransferSize",
			      "{ event: DiskIo/Read }"),
		      NULL);
	for (uint32_t i = 0; i < 2 * SETS * ROUNDS; i++) {
		uint32_t set = i / 2 % SETS;

		disk(&run, "DiskIo/Read", set % VALUES, set / VALUES % VALUES,
		     set / VALUES / VALUES, 0);
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	}
	for (unsigned set = 0; set < SETS; set++) {
		snprintf(text, sizeof text, "a_total{d=\"%u\",f=\"%u\",s=\"%u\"} %d", set % VALUES,
			 set / VALUES % VALUES, set / VALUES / VALUES, 2 * ROUNDS);
		rule_run_expect(&run, text);
	}
	rule_run_close(&run);
}

static void rules_of_one_event_keep_their_labels_apart(void **state)
{
	struct rule_run run;
	char text[128];

	(void)state;
	/* Labels in different orders, twice the same field, more than a key can hold, none. */
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, labels: { d: DiskNumber, f: IrpFlags }, events: [{ event: DiskIo/Read }] }\n"
		"- { name: b_total, type: counter, help: h, labels: { f: IrpFlags, d: DiskNumber }, events: [{ event: DiskIo/Read }] }\n"
		"- { name: c_total, type: counter, help: h, labels: { x: DiskNumber, y: DiskNumber }, events: [{ event: DiskIo/Read }] }\n"
		"- { name: d_total, type: counter, help: h, labels: { d: DiskNumber, f: IrpFlags, s: TransferSize }, events: [{ event: DiskIo/Read }] }\n"
		"- { name: e_total, type: counter, help: h, events: [{ event: DiskIo/Read, where: [{ field: DiskNumber, eq: 3 }] }] }\n"
		"- { name: f_total, type: counter, help: h, labels: { d: { field: DiskNumber, decode: [hex] } }, events: [{ event: DiskIo/Read, value: TransferSize }] }\n",
		NULL);
	for (uint32_t i = 0; i < 800; i++) {
		disk(&run, "DiskIo/Read", i % 40, 1000 + i % 8, i % 5, 0);
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	}
	for (uint32_t i = 0; i < 40; i++) {
		unsigned d = i, f = 1000 + i % 8, s = i % 5;

		snprintf(text, sizeof text, "a_total{d=\"%u\",f=\"%u\"} 20", d, f);
		rule_run_expect(&run, text);
		snprintf(text, sizeof text, "b_total{f=\"%u\",d=\"%u\"} 20", f, d);
		rule_run_expect(&run, text);
		snprintf(text, sizeof text, "c_total{x=\"%u\",y=\"%u\"} 20", d, d);
		rule_run_expect(&run, text);
		snprintf(text, sizeof text, "d_total{d=\"%u\",f=\"%u\",s=\"%u\"} 20", d, f, s);
		rule_run_expect(&run, text);
		snprintf(text, sizeof text, "f_total{d=\"0x%x\"} %u", d, 20 * s);
		rule_run_expect(&run, text);
	}
	rule_run_expect(&run, "e_total 20");
	rule_run_close(&run);
}

static void exit_statuses_fall_into_classes(void **state)
{
	static const struct {
		uint32_t status;
		const char *result;
	} cases[] = {
		{ 0, "success" },        { 1, "error" },          { 0xc0000005, "crash" },
		{ 0xcfffffff, "crash" }, { 0xd0000000, "error" }, { 0xbfffffff, "error" },
		{ 0x80000003, "crash" }, { 0x80000004, "error" }, { 0xe0434352, "crash" },
		{ 0xe06d7363, "crash" }, { 259, "error" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[64];

		rule_run_open(&run, COUNTER("r: ExitResult", "{ event: Process/Stop }"), NULL);
		rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
		rule_run_process(&run, "Process/Stop", 100, "a.exe", cases[i].status);
		snprintf(text, sizeof text, "a_total{r=\"%s\"} 1", cases[i].result);
		rule_run_expect(&run, text);
		rule_run_close(&run);
	}
}

static void a_field_that_an_old_layout_lacks_is_resolved_once(void **state)
{
	struct rule_run run;

	(void)state;
	/* DiskIo version 0 has no HighResResponseTime; a label of it is unknown, a value cannot
	 * be added. */
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, labels: { t: HighResResponseTime }, events: [{ event: DiskIo/Read }] }\n"
		"- { name: b_seconds_total, type: counter, help: h, events: [{ event: DiskIo/Read, value: HighResResponseTime, unit: ticks }] }\n"
		"- { name: c_total, type: counter, help: h, events: [{ event: DiskIo/Read, where: [{ field: Irp, eq: 0 }] }] }\n",
		NULL);
	for (unsigned i = 0; i < 3; i++) {
		rule_run_version(&run, "DiskIo/Read", 0);
		etw_payload_zeros(&run.payload, 32);
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	}
	rule_run_expect(&run, "a_total{t=\"_unknown\"} 3");
	rule_run_expect(&run, "b_seconds_total 0");
	rule_run_expect(&run, "c_total 0");
	rule_run_expect(&run,
			"etw_decode_errors_total{provider=\"Windows Kernel\",reason=\"rule\"} 1");
	rule_run_close(&run);
}

static void a_payload_that_ends_early_is_undecodable_for_its_rules_only(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, events: [{ event: DiskIo/Read }] }\n"
		"- { name: b_total, type: counter, help: h, events: [{ event: DiskIo/Read, value: TransferSize }] }\n"
		"- { name: c_total, type: counter, help: h, events: [{ event: DiskIo/Read, value: DiskNumber }] }\n",
		NULL);
	for (size_t size = 0; size <= 12; size++) {
		static const uint8_t ones[12] = { 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0 };

		rule_run_event(&run, "DiskIo/Read");
		etw_payload_bytes(&run.payload, ones, size);
		assert_int_equal(rule_run_feed(&run),
				 size < 12 ? OUTCOME_UNDECODABLE : OUTCOME_COUNTED);
	}
	rule_run_expect(&run, "a_total 13");
	rule_run_expect(&run, "b_total 1");
	rule_run_expect(&run, "c_total 9");
	rule_run_expect(
		&run,
		"etw_decode_errors_total{provider=\"Windows Kernel\",reason=\"truncated\"} 12");
	rule_run_close(&run);
}

static void text_behind_varying_fields_is_found(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      COUNTER("image: ImageFileName, line: CommandLine",
			      "{ event: Process/Start }"),
		      NULL);
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_expect(&run, "a_total{image=\"a.exe\",line=\"\"} 1");
	rule_run_event(&run, "Process/Start");
	etw_payload_zeros(&run.payload, 30);
	assert_int_equal(rule_run_feed(&run), OUTCOME_UNDECODABLE);
	rule_run_close(&run);
}

static void every_record_has_one_outcome(void **state)
{
	static const char guid[] = "11111111-2222-3333-4444-555555555555";
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, labels: { process: Process, provider: Provider }, events: [{ event: '*' }] }\n"
		"- { name: b_total, type: counter, help: h, events: [{ event: '{11111111-2222-3333-4444-555555555555}/7' },\n"
		"      { event: '{11111111-2222-3333-4444-555555555555}/8', value: Size }] }\n",
		NULL);
	rule_run_event(&run, "DiskIo/Read");
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_RULE);
	rule_run_other(&run, guid, 6);
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_SCHEMA);
	rule_run_other(&run, guid, 7);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	/* The rule needs a field whose place is not known. */
	rule_run_other(&run, guid, 8);
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_SCHEMA);
	rule_run_other(&run, guid, 8);
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_SCHEMA);
	rule_run_other(&run, guid, 7);
	run.record.type = ETW_RECORD_TIMED;
	assert_int_equal(rule_run_feed(&run), OUTCOME_UNDECODABLE);
	rule_run_expect(&run, "b_total 1");
	rule_run_expect(&run, "a_total{process=\"System\",provider=\"Windows Kernel\"} 1");
	rule_run_expect(
		&run,
		"a_total{process=\"System\",provider=\"11111111-2222-3333-4444-555555555555\"} 5");
	rule_run_expect(
		&run,
		"etw_decode_errors_total{provider=\"11111111-2222-3333-4444-555555555555\",reason=\"no_schema\"} 2");
	rule_run_expect(
		&run,
		"etw_decode_errors_total{provider=\"11111111-2222-3333-4444-555555555555\",reason=\"bad_type\"} 1");
	rule_run_close(&run);
}

/* Messages of WPP have a GUID of their source file and a number, and nothing else identifies them.
 */
static void messages_count_by_guid_and_number(void **state)
{
	static const char guid[] = "11111111-2222-3333-4444-555555555555";
	static const uint16_t numbers[] = { 10, 11, 10 };
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, labels: { event: Event, provider: Provider }, events: [{ event: '*' }] }\n"
		"- { name: b_total, type: counter, help: h, events: [{ event: '{11111111-2222-3333-4444-555555555555}/10' }] }\n",
		NULL);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		rule_run_other(&run, guid, numbers[i]);
		run.record.type = ETW_RECORD_MESSAGE;
		etw_payload_astring(&run.payload, "what the message says");
		assert_int_equal(rule_run_feed(&run),
				 numbers[i] == 10 ? OUTCOME_COUNTED : OUTCOME_NO_SCHEMA);
	}
	rule_run_expect(&run, "b_total 2");
	rule_run_expect(
		&run, "a_total{event=\"10\",provider=\"11111111-2222-3333-4444-555555555555\"} 2");
	rule_run_expect(
		&run, "a_total{event=\"11\",provider=\"11111111-2222-3333-4444-555555555555\"} 1");
	rule_run_close(&run);
}

static void samples_with_fixed_labels_are_0_from_the_start(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, events: [\n"
		"    { event: TcpIp/Fail, labels: { r: { field: FailureCode, map: { 1: one, 2: two }, default: many }, s: { text: t } } }] }\n",
		NULL);
	rule_run_expect(&run, "a_total{r=\"one\",s=\"t\"} 0");
	rule_run_expect(&run, "a_total{r=\"two\",s=\"t\"} 0");
	rule_run_expect(&run, "a_total{r=\"many\",s=\"t\"} 0");
	rule_run_event(&run, "TcpIp/Fail");
	etw_payload_u16(&run.payload, 2);
	etw_payload_u16(&run.payload, 2);
	rule_run_feed(&run);
	rule_run_expect(&run, "a_total{r=\"two\",s=\"t\"} 1");
	rule_run_close(&run);
}

static void dynamic_labels_read_other_at_the_limit_and_fixed_ones_stay(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X
		"- { name: a_total, type: counter, help: h, max_series: 2,\n"
		"    labels: { disk: DiskNumber, provider: Provider, op: { text: read } }, events: [{ event: DiskIo/Read }] }\n",
		NULL);
	for (uint32_t i = 0; i < 10; i++) {
		disk(&run, "DiskIo/Read", i, 0, 0, 0);
		rule_run_feed(&run);
		disk(&run, "DiskIo/Read", i, 0, 0, 0);
		rule_run_feed(&run);
	}
	rule_run_expect(&run, "a_total{disk=\"0\",provider=\"Windows Kernel\",op=\"read\"} 2");
	rule_run_expect(&run, "a_total{disk=\"1\",provider=\"Windows Kernel\",op=\"read\"} 2");
	rule_run_expect(&run,
			"a_total{disk=\"_other\",provider=\"Windows Kernel\",op=\"read\"} 16");
	rule_run_expect(&run, "etw_exporter_series_overflow_total{metric=\"a_total\"} 16");
	rule_run_close(&run);
}

static void gauges_go_up_and_down(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		GAUGE("",
		      "{ event: DiskIo/Read, op: inc, value: TransferSize }, { event: DiskIo/Write, op: dec }"),
		NULL);
	disk(&run, "DiskIo/Read", 0, 0, 2, 0);
	rule_run_feed(&run);
	rule_run_expect(&run, "a 2");
	for (unsigned i = 0; i < 3; i++) {
		disk(&run, "DiskIo/Write", 0, 0, 0, 0);
		rule_run_feed(&run);
	}
	rule_run_expect(&run, "a -1");
	rule_run_close(&run);
}

static const char signed_families[] = X
	"- { name: inc, type: gauge, help: h, op: inc, events: [{ " INTEGERS ", value: s }] }\n"
	"- { name: dec, type: gauge, help: h, op: dec, events: [{ " INTEGERS ", value: s }] }\n"
	"- { name: set, type: gauge, help: h, op: set, events: [{ " INTEGERS ", value: s }] }\n"
	"- { name: kb_bytes, type: gauge, help: h, op: inc, events: [{ " INTEGERS
	", value: s, unit: KB }] }\n"
	"- { name: ms_seconds, type: gauge, help: h, op: set, events: [{ " INTEGERS
	", value: s, unit: ms }] }\n"
	"- { name: ticks_seconds, type: gauge, help: h, op: set, events: [{ " INTEGERS
	", value: s, unit: ticks }] }\n"
	"- { name: since_seconds, type: gauge, help: h, op: set, events: [{ " INTEGERS
	", since: s }] }\n"
	"- { name: unsigned, type: gauge, help: h, op: set, events: [{ " INTEGERS
	", value: u }] }\n"
	"- { name: a_total, type: counter, help: h, events: [{ " INTEGERS ", value: s }] }\n"
	"- { name: sizes, type: histogram, help: h, buckets: [1], events: [{ " INTEGERS
	", value: s }] }\n";

static void gauges_take_amounts_below_0_and_counters_do_not(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, signed_families, NULL);
	rule_run_announce(&run, INTEGERS_GUID, "Alpha", integers);
	feed_bits(&run, 0 - UINT64_C(5));
	rule_run_expect(&run, "inc -5");
	rule_run_expect(&run, "dec 5");
	rule_run_expect(&run, "set -5");
	rule_run_expect(&run, "kb_bytes -5120");
	rule_run_expect(&run, "ms_seconds -0.005");
	/* Of 100 ns. */
	rule_run_expect(&run, "ticks_seconds -0.0000005");
	rule_run_expect(&run, "a_total 0");
	rule_run_expect(&run, "sizes_count 0");
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"bad_type\"} 2");
	feed_bits(&run, 7);
	rule_run_expect(&run, "inc 2");
	rule_run_expect(&run, "dec -2");
	rule_run_expect(&run, "set 7");
	rule_run_expect(&run, "kb_bytes 2048");
	rule_run_expect(&run, "ms_seconds 0.007");
	rule_run_expect(&run, "ticks_seconds 0.0000007");
	rule_run_expect(&run, "a_total 7");
	rule_run_expect(&run, "sizes_sum 7");
	rule_run_close(&run);
}

/* 2^63 - 1 is the most that a gauge can be. */
static void an_amount_that_no_gauge_can_hold_keeps_its_sign(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, signed_families, NULL);
	rule_run_announce(&run, INTEGERS_GUID, "Alpha", integers);
	feed_bits(&run, INT64_MAX);
	rule_run_expect(&run, "kb_bytes 9223372036854775807");
	rule_run_expect(&run, "ms_seconds 9223372036.854775807");
	rule_run_expect(&run, "ticks_seconds 9223372036.854775807");
	feed_bits(&run, UINT64_C(1) << 63);
	rule_run_expect(
		&run,
		"etw_invalid_durations_total{metric=\"since_seconds\",reason=\"too_long\"} 1");
	rule_run_expect(&run, "unsigned 9223372036854775807");
	rule_run_expect(&run, "kb_bytes 0");
	rule_run_expect(&run, "ms_seconds -9223372036.854775807");
	rule_run_expect(&run, "ticks_seconds -9223372036.854775807");
	rule_run_close(&run);
}

/* A set gauge is the sum over the processes that run. */
static void a_set_gauge_drops_processes_that_exit(void **state)
{
	static const struct {
		uint32_t process;
		uint32_t value;
	} sets[] = { { 100, 5 }, { 101, 7 }, { 100, 6 }, { 102, 1 } };
	struct rule_engine_statistics statistics;
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      GAUGE("process: Process",
			    "{ event: PageFault/VirtualAlloc, op: set, value: RegionSize }"),
		      NULL);
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_process(&run, "Process/Start", 101, "A.exe", 259);
	rule_run_process(&run, "Process/Start", 102, "b.exe", 259);
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		rule_run_event(&run, "PageFault/VirtualAlloc");
		etw_payload_pointer(&run.payload, 0);
		etw_payload_pointer(&run.payload, sets[i].value);
		etw_payload_u32(&run.payload, sets[i].process);
		etw_payload_u32(&run.payload, 0);
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	}
	rule_run_expect(&run, "a{process=\"a\"} 13");
	rule_run_expect(&run, "a{process=\"b\"} 1");
	rule_run_process(&run, "Process/Stop", 100, "a.exe", 0);
	rule_run_expect(&run, "a{process=\"a\"} 7");
	/* The same id again is another process. */
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_expect(&run, "a{process=\"a\"} 7");
	rule_run_process(&run, "Process/Stop", 100, "a.exe", 0);
	rule_run_expect(&run, "a{process=\"a\"} 7");
	/* Its stop was lost, but a start with its id shows the same. */
	rule_run_process(&run, "Process/Start", 102, "b.exe", 259);
	rule_run_expect(&run, "a{process=\"b\"} 0");
	rule_engine_statistics(run.engine, &statistics);
	assert_int_equal(statistics.entries[ENGINE_GAUGES], 1);
	assert_int_equal(statistics.evictions[ENGINE_GAUGES], 0);
	rule_engine_reset(run.engine);
	rule_run_expect(&run, "a{process=\"a\"} 0");
	rule_run_expect(&run, "a{process=\"b\"} 0");
	rule_run_close(&run);
}

static void processes_without_a_name_are_instances_by_their_id(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      GAUGE("process: Process",
			    "{ event: DiskIo/Read, op: set, value: TransferSize }"),
		      NULL);
	for (uint32_t process = 100; process < 103; process++) {
		run.record.process_id = process;
		run.record.thread_id = ETW_RECORD_NO_ID;
		rule_run_version(&run, "DiskIo/Read", 2); /* it names no thread */
		etw_payload_zeros(&run.payload, 8);
		etw_payload_u32(&run.payload, process);
		etw_payload_zeros(&run.payload, 36);
		rule_run_feed(&run);
	}
	rule_run_expect(&run, "a{process=\"_unknown\"} 303");
	/* One of them goes. */
	rule_run_process(&run, "Process/Stop", 101, "a.exe", 0);
	rule_run_expect(&run, "a{process=\"_unknown\"} 202");
	rule_run_close(&run);
}

static void filters_take_events_out_before_any_counter(void **state)
{
	static const char collector[] = COUNTER("process: Process, provider: Provider",
						"{ event: '*' }, { event: Thread/SetName }");
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector,
		      "filters:\n"
		      "  processes: { include: [^a, ^b], exclude: ['^AB$'] }\n"
		      "  events: [{ event: PageFault/VirtualAlloc }]\n");
	rule_run_process(&run, "Process/Start", 100, "a.exe", 259);
	rule_run_process(&run, "Process/Start", 101, "ab.exe", 259);
	rule_run_process(&run, "Process/Start", 102, "c.exe", 259);
	for (unsigned i = 0; i < 2; i++) {
		run.record.process_id = 100;
		rule_run_event(&run, "PageFault/DemandZeroFault");
		assert_int_equal(rule_run_feed(&run), OUTCOME_NO_RULE);
		run.record.process_id = 101;
		rule_run_event(&run, "PageFault/DemandZeroFault");
		assert_int_equal(rule_run_feed(&run), OUTCOME_FILTERED);
		run.record.process_id = 102;
		rule_run_event(&run, "PageFault/DemandZeroFault");
		assert_int_equal(rule_run_feed(&run), OUTCOME_FILTERED);
		run.record.process_id = 100;
		rule_run_event(&run, "PageFault/VirtualAlloc");
		assert_int_equal(rule_run_feed(&run), OUTCOME_FILTERED);
	}
	rule_run_expect(&run, "a_total{process=\"a\",provider=\"Windows Kernel\"} 3");
	rule_run_expect_none(&run, "a_total{process=\"ab\"");
	rule_run_expect_none(&run, "a_total{process=\"c\"");
	rule_run_close(&run);
}

/* Its events then have the name _other, and that is what filters see. */
static void a_process_whose_name_has_no_room_is_filtered_as_other(void **state)
{
	static const struct {
		const char *filters;
		enum record_outcome outcome;
	} cases[] = {
		{ "include: ['^a']", OUTCOME_FILTERED },
		{ "exclude: ['^a']", OUTCOME_COUNTED },
		{ "include: ['^_other$']", OUTCOME_COUNTED },
		{ "exclude: ['^_other$']", OUTCOME_FILTERED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		char text[128], name[220];

		snprintf(text, sizeof text,
			 "filters: { processes: { %s } }\nlimits: { strings: 64KiB }\n",
			 cases[i].filters);
		rule_run_open(&run,
			      COUNTER("process: Process", "{ event: PageFault/VirtualAlloc }"),
			      text);
		for (uint32_t process = 100; process < 500; process++) {
			snprintf(name, sizeof name, "a%u%0200u.exe", (unsigned)process, 0U);
			rule_run_process(&run, "Process/Start", process, name, 259);
		}
		for (unsigned j = 0; j < 2; j++) {
			rule_run_blank(&run, "PageFault/VirtualAlloc");
			rule_run_set(&run, "ProcessId", 499);
			assert_int_equal(rule_run_feed(&run), cases[i].outcome);
		}
		if (cases[i].outcome == OUTCOME_COUNTED) {
			rule_run_expect(&run, "a_total{process=\"_other\"} 2");
		} else {
			rule_run_expect_none(&run, "a_total{process=\"_other\"}");
		}
		rule_run_close(&run);
	}
}

static void an_expression_that_would_try_forever_matches_nothing(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		COUNTER("",
			"{ event: Image/Load, where: [{ field: FileName, matches: '^(a+)+$' }] }"),
		NULL);
	image_load(&run, 4,
		   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	assert_int_equal(rule_run_feed(&run), OUTCOME_NO_RULE);
	image_load(&run, 4, "aaaa");
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_close(&run);
}

static void label_text_is_cut_and_bounded(void **state)
{
	struct rule_run run;
	char name[4000], line[1200];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	rule_run_open(&run, COUNTER("l: FileName", "{ event: Image/Load }"),
		      "limits: { strings: 64KiB }\n");
	image_load(&run, 4, name);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	snprintf(line, sizeof line, "a_total{l=\"%.1024s\"} 1", name);
	rule_run_expect(&run, line);
	name[1024] = '\0';
	/* The budget for text ends somewhere in here; nothing is lost. */
	for (unsigned i = 0; i < 300; i++) {
		snprintf(name + 1000, 16, "%u", i);
		image_load(&run, 4, name);
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	}
	rule_run_expect_none(&run, "a_total{l=\"_other\"} 0");
	rule_run_close(&run);
}

/* Their maps differ, so no two of the labels can share a value. */
static void one_event_may_have_thousands_of_labels(void **state)
{
	enum { RULES = 4150 }; /* more than 4,096, in the nodes that one file may have */
	struct etw_text text = { 0 };
	struct rule_run run;

	(void)state;
	text_add_string(&text, X);
	for (unsigned i = 0; i < RULES; i++) {
		text_add_format(
			&text,
			"- { name: a%u_total, type: counter, help: h, labels: { x: { field: "
			"TransferSize, map: { 1: one }, default: v%u } }, events: "
			"[{ event: DiskIo/Read }] }\n",
			i, i);
	}
	rule_run_open(&run, text.data, NULL);
	rule_run_blank(&run, "DiskIo/Read");
	rule_run_set(&run, "TransferSize", 4096);
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a0_total{x=\"v0\"} 1");
	rule_run_expect(&run, "a4149_total{x=\"v4149\"} 1");
	rule_run_close(&run);
	text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_event_may_have_thousands_of_labels),
		cmocka_unit_test(a_rule_counts_its_events_and_no_others),
		cmocka_unit_test(versions_are_listed_or_at_least),
		cmocka_unit_test(values_become_bytes_and_nanoseconds),
		cmocka_unit_test(fractions_are_dropped_in_the_unit_that_is_counted),
		cmocka_unit_test(gauges_round_to_the_digits_that_they_keep),
		cmocka_unit_test(a_rule_is_for_the_layouts_that_have_a_field),
		cmocka_unit_test(since_is_the_time_that_has_passed),
		cmocka_unit_test(histograms_take_durations),
		cmocka_unit_test(conditions_hold_or_not),
		cmocka_unit_test(conditions_read_text_of_payloads),
		cmocka_unit_test(a_signed_field_meets_its_code_in_hex),
		cmocka_unit_test(literals_mean_the_bits_of_a_field_or_its_number),
		cmocka_unit_test(labels_are_made_of_numbers_and_text),
		cmocka_unit_test(what_a_regular_expression_cannot_take_is_unknown),
		cmocka_unit_test(many_values_of_a_label_keep_apart),
		cmocka_unit_test(more_labels_than_a_key_holds_keep_apart),
		cmocka_unit_test(rules_of_one_event_keep_their_labels_apart),
		cmocka_unit_test(exit_statuses_fall_into_classes),
		cmocka_unit_test(a_field_that_an_old_layout_lacks_is_resolved_once),
		cmocka_unit_test(a_payload_that_ends_early_is_undecodable_for_its_rules_only),
		cmocka_unit_test(text_behind_varying_fields_is_found),
		cmocka_unit_test(every_record_has_one_outcome),
		cmocka_unit_test(messages_count_by_guid_and_number),
		cmocka_unit_test(samples_with_fixed_labels_are_0_from_the_start),
		cmocka_unit_test(dynamic_labels_read_other_at_the_limit_and_fixed_ones_stay),
		cmocka_unit_test(gauges_go_up_and_down),
		cmocka_unit_test(gauges_take_amounts_below_0_and_counters_do_not),
		cmocka_unit_test(an_amount_that_no_gauge_can_hold_keeps_its_sign),
		cmocka_unit_test(a_set_gauge_drops_processes_that_exit),
		cmocka_unit_test(processes_without_a_name_are_instances_by_their_id),
		cmocka_unit_test(filters_take_events_out_before_any_counter),
		cmocka_unit_test(a_process_whose_name_has_no_room_is_filtered_as_other),
		cmocka_unit_test(an_expression_that_would_try_forever_matches_nothing),
		cmocka_unit_test(label_text_is_cut_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
