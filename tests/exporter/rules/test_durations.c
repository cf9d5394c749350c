/* SPDX-License-Identifier: MIT */
/*
 * Times that are no durations: below 0, or longer than the machine had run. Wherever a rule counts
 * a time, such a one is left out and counted by its reason, the rest of the event counts, and the
 * next duration is added as usual. And amounts that no event can have leave a counter alive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

#define ALPHA "a1a1a1a1-0000-0000-0000-000000000001"
#define X     "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
#define EVENT "event: '{" ALPHA "}/1'"

#define SECOND_NS UINT64_C(1000000000)

enum { SECOND = RUN_FREQUENCY, UPTIME_S = 100 };

static void expect(struct rule_run *run, const char *series, const char *value)
{
	char line[512];

	snprintf(line, sizeof line, "%s %s", series, value);
	rule_run_expect(run, line);
}

static void expect_invalid(struct rule_run *run, const char *metric, unsigned negative,
			   unsigned too_long)
{
	char line[256];

	snprintf(line, sizeof line,
		 "etw_invalid_durations_total{metric=\"%s\",reason=\"negative\"} %u", metric,
		 negative);
	rule_run_expect(run, line);
	snprintf(line, sizeof line,
		 "etw_invalid_durations_total{metric=\"%s\",reason=\"too_long\"} %u", metric,
		 too_long);
	rule_run_expect(run, line);
}

/* ---- numbers of the payload: every unit, type and size ---- */

static const struct {
	const char *name;
	uint64_t ns; /* of one */
} units[] = {
	{ "ns", 1 },       { "100ns", 100 },   { "us", 1000 },
	{ "ms", 1000000 }, { "s", SECOND_NS }, { "ticks", SECOND_NS / RUN_FREQUENCY },
};

static const struct {
	const char *name, *type;
	unsigned bits;
	bool is_signed;
} types[] = {
	{ "u16", "UInt16", 16, false }, { "i16", "Int16", 16, true },
	{ "u32", "UInt32", 32, false }, { "i32", "Int32", 32, true },
	{ "u64", "UInt64", 64, false }, { "i64", "Int64", 64, true },
	{ "ptr", "Pointer", 0, false },
};

enum { UNITS = sizeof units / sizeof units[0], TYPES = sizeof types / sizeof types[0] };

/* The least that the sum of a family has in its sub-second digits is one ns. */
static void format_seconds(char *text, size_t size, uint64_t ns)
{
	int length = snprintf(text, size, "%llu.%09llu", (unsigned long long)(ns / SECOND_NS),
			      (unsigned long long)(ns % SECOND_NS));

	while (text[length - 1] == '0') {
		text[--length] = '\0';
	}
	if (text[length - 1] == '.') {
		text[--length] = '\0';
	}
}

/* Feeds values whose lowest bits are the field, and compares with what arithmetic says. */
static void check_field(size_t unit, size_t type, uint8_t pointer_size)
{
	unsigned bits = types[type].bits ? types[type].bits : pointer_size * 8U;
	const uint64_t most = UPTIME_S * SECOND_NS / units[unit].ns;
	const uint64_t values[] = { 0,
				    1,
				    most,
				    most + 1,
				    0 - UINT64_C(1),
				    0 - UINT64_C(256),
				    UINT64_C(1) << (bits - 1),
				    (UINT64_C(1) << (bits - 1)) - 1,
				    UINT64_C(1) << 32,
				    5 };
	unsigned negative = 0, too_long = 0, count = 0;
	uint64_t sum = 0;
	char collector[1024], manifest[256], seconds[64], number[16];
	struct rule_run run;

	snprintf(collector, sizeof collector,
		 X "- { name: a_seconds_total, type: counter, help: h, events: [{ " EVENT
		   ", value: f, unit: %s }] }\n"
		   "- { name: a_events_total, type: counter, help: h, events: [{ " EVENT " }] }\n"
		   "- { name: b_seconds, type: histogram, help: h, buckets: [1], events: [{ " EVENT
		   ", value: f, unit: %s }] }\n",
		 units[unit].name, units[unit].name);
	snprintf(manifest, sizeof manifest,
		 "<events><event value='1' symbol='E' template='t'/></events><templates>"
		 "<template tid='t'><data name='f' inType='win:%s'/></template></templates>",
		 types[type].type);
	rule_run_open(&run, collector, NULL);
	rule_run_uptime(&run, UPTIME_S * SECOND_NS);
	rule_run_announce(&run, ALPHA, "Alpha", manifest);
	run.record.pointer_size = pointer_size;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		uint64_t value = bits < 64 ? values[i] & ((UINT64_C(1) << bits) - 1) : values[i];
		bool below = (types[type].is_signed || bits == 64) && value >> (bits - 1) == 1;

		rule_run_other(&run, ALPHA, 1);
		for (unsigned byte = 0; byte < bits / 8; byte++) {
			etw_payload_u8(&run.payload, (uint8_t)(value >> 8 * byte));
		}
		run.record.raw_time = 0;
		assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
		if (below) {
			negative++;
		} else if (value > most) {
			too_long++;
		} else {
			count++;
			sum += value * units[unit].ns;
		}
	}
	format_seconds(seconds, sizeof seconds, sum);
	expect(&run, "a_seconds_total", seconds);
	expect(&run, "a_events_total", "10");
	expect(&run, "b_seconds_sum", seconds);
	snprintf(number, sizeof number, "%u", count);
	expect(&run, "b_seconds_count", number);
	expect_invalid(&run, "a_seconds_total", negative, too_long);
	expect_invalid(&run, "b_seconds", negative, too_long);
	rule_run_close(&run);
}

static void numbers_of_every_unit_type_and_size(void **state)
{
	(void)state;
	for (size_t unit = 0; unit < UNITS; unit++) {
		for (size_t type = 0; type < TYPES; type++) {
			check_field(unit, type, 8);
			if (types[type].bits == 0) {
				check_field(unit, type, 4);
			}
		}
	}
}

static void fractions(void **state)
{
	static const double values[] = {
		1.5, -0.25, -1e300, 1e300, 99999.5, 1e-3, 1e5, 2e5, 1e17, 0
	};
	static const char collector[] = X
		"- { name: a_seconds_total, type: counter, help: h, events: [{ " EVENT
		", value: f, unit: ms }] }\n";
	double nan;
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector, NULL);
	rule_run_uptime(&run, UPTIME_S * SECOND_NS);
	rule_run_announce(&run, ALPHA, "Alpha",
			  "<events><event value='1' symbol='E' template='t'/></events><templates>"
			  "<template tid='t'><data name='f' inType='win:Double'/></template>"
			  "</templates>");
	memset(&nan, 0xff, sizeof nan);
	for (size_t i = 0; i <= sizeof values / sizeof values[0]; i++) {
		const double *value = i < sizeof values / sizeof values[0] ? &values[i] : &nan;
		uint64_t bits;

		memcpy(&bits, value, sizeof bits);
		rule_run_other(&run, ALPHA, 1);
		etw_payload_u64(&run.payload, bits);
		run.record.raw_time = 0;
		rule_run_feed(&run);
	}
	/* 1.5 + 99999.5 + 0.001 + 100000 ms */
	expect(&run, "a_seconds_total", "200.001001");
	expect_invalid(&run, "a_seconds_total", 2, 3);
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"bad_type\"} 1");
	rule_run_close(&run);
}

/* ---- the events of the kernel ---- */

/* What a shipped collector counts of an event: the event itself, perhaps its bytes, and its time in
 * two families at most. */
struct timed_event {
	const char *collector, *event;
	uint8_t version;
	const char *field;
	bool since;          /* the field has the time of the start */
	const char *counted; /* a series, one for each event */
	const char *bytes;   /* its field of bytes; NULL: none */
	const char *bytes_counted;
	const char *sums[2];    /* series in seconds; NULL: none */
	const char *metrics[2]; /* their families */
	const char *thread;     /* a field with a thread id, which must not be that of Idle */
};

#define KERNEL "provider=\"Windows Kernel\""
#define REGISTRY(event, operation)                                                             \
	{                                                                                      \
		"registry", "Registry/" event, 2, "InitialTime", true, NULL, NULL, NULL,       \
			{ "etw_registry_operation_duration_seconds_sum{operation=\"" operation \
			  "\"}" },                                                             \
			{ "etw_registry_operation_duration_seconds" }, NULL                    \
	}
#define INTERRUPT(event, version, kind)                                                         \
	{                                                                                       \
		"interrupt", "PerfInfo/" event, version, "InitialTime", true, NULL, NULL, NULL, \
			{ "etw_" kind "_duration_seconds_sum{driver=\"_unknown\"}" },           \
			{ "etw_" kind "_duration_seconds" }, NULL                               \
	}
#define CALL(event)                                                                       \
	{                                                                                 \
		"minifilter", "FileIo/" event, 2, "InitialTime", true,                    \
			"etw_minifilter_calls_total{process=\"System\"," KERNEL           \
			",driver=\"_unknown\",operation=\"create\"}",                     \
			NULL, NULL,                                                       \
			{ "etw_minifilter_seconds_total{process=\"System\"," KERNEL       \
			  ",driver=\"_unknown\",operation=\"create\"}",                   \
			  "etw_minifilter_call_duration_seconds_sum{driver=\"_unknown\"," \
			  "operation=\"create\"}" },                                      \
			{ "etw_minifilter_seconds_total",                                 \
			  "etw_minifilter_call_duration_seconds" },                       \
			NULL                                                              \
	}

/* clang-format off */
static const struct timed_event timed_events[] = {
#define OPERATION(name, lower, version, bytes, counted)                                         \
	{ "disk", "DiskIo/" name, version, "HighResResponseTime", false,                        \
	  "etw_disk_operations_total{disk=\"0\",operation=\"" lower "\"}", bytes, counted,      \
	  { "etw_disk_operation_duration_seconds_sum{disk=\"0\",operation=\"" lower "\"}",      \
	    "etw_disk_process_io_seconds_total{process=\"System\"," KERNEL                      \
	    ",operation=\"" lower "\"}" },                                                      \
	  { "etw_disk_operation_duration_seconds", "etw_disk_process_io_seconds_total" },       \
	  version == 3 ? "IssuingThreadId" : NULL }
	OPERATION("Read", "read", 1, "TransferSize", "etw_disk_read_bytes_total{disk=\"0\"}"),
	OPERATION("Read", "read", 2, "TransferSize", "etw_disk_read_bytes_total{disk=\"0\"}"),
	OPERATION("Read", "read", 3, "TransferSize", "etw_disk_read_bytes_total{disk=\"0\"}"),
	OPERATION("Write", "write", 2, "TransferSize", "etw_disk_written_bytes_total{disk=\"0\"}"),
	OPERATION("Write", "write", 3, "TransferSize", "etw_disk_written_bytes_total{disk=\"0\"}"),
	OPERATION("FlushBuffers", "flush", 2, NULL, NULL),
	OPERATION("FlushBuffers", "flush", 3, NULL, NULL),
	{ "memory", "PageFault/HardFault", 2, "InitialTime", true,
	  "etw_memory_hard_faults_total{process=\"System\"," KERNEL "}", "ByteCount",
	  "etw_memory_hard_fault_read_bytes_total{process=\"System\"," KERNEL "}",
	  { "etw_memory_hard_fault_duration_seconds_sum" },
	  { "etw_memory_hard_fault_duration_seconds" }, "TThreadId" },
	INTERRUPT("DPC", 2, "dpc"), INTERRUPT("ThreadedDPC", 2, "dpc"), INTERRUPT("TimerDPC", 2, "dpc"),
	INTERRUPT("ISR", 2, "isr"), INTERRUPT("ISR-MSI", 2, "isr"),
	REGISTRY("Create", "create"), REGISTRY("Open", "open"), REGISTRY("Delete", "delete"),
	REGISTRY("Query", "query"), REGISTRY("SetValue", "set_value"),
	REGISTRY("DeleteValue", "delete_value"), REGISTRY("QueryValue", "query_value"),
	REGISTRY("EnumerateKey", "enumerate_key"), REGISTRY("EnumerateValueKey", "enumerate_value_key"),
	REGISTRY("QueryMultipleValue", "query_multiple_value"),
	REGISTRY("SetInformation", "set_information"), REGISTRY("Flush", "flush"), REGISTRY("Close", "close"),
	CALL("FltPreOpCompletion"), CALL("FltPostOpCompletion"),
};
/* clang-format on */

static void feed_time(struct rule_run *run, const struct timed_event *event, uint64_t value)
{
	rule_run_version(run, event->event, event->version);
	rule_run_zeros(run);
	rule_run_set(run, event->field, value);
	if (event->bytes) {
		rule_run_set(run, event->bytes, 512);
	}
	if (event->thread) {
		rule_run_set(run, event->thread, 4444);
	}
	run->record.process_id = 4;
	run->record.thread_id = ETW_RECORD_NO_ID;
	run->record.raw_time = SECOND;
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

static void check_timed(const struct timed_event *event, uint8_t pointer_size)
{
	/* Raw times, or ticks of the performance counter: 2 ms; below 0; too long; 3 ms. */
	static const uint64_t since[] = { SECOND - SECOND / 500,
					  SECOND + 1,
					  INT64_MAX,
					  0 - (uint64_t)UPTIME_S * SECOND - 1,
					  UINT64_C(1) << 63,
					  SECOND - 3 * (SECOND / 1000) };
	static const uint64_t taken[] = { RUN_PERF_FREQUENCY / 500,
					  0 - UINT64_C(256),
					  UINT64_C(1) << 63,
					  UINT64_C(30) * 86400 * RUN_PERF_FREQUENCY,
					  INT64_MAX,
					  3 * (RUN_PERF_FREQUENCY / 1000) };
	struct rule_run run;

	rule_run_open_shipped(&run, event->collector);
	rule_run_uptime(&run, UPTIME_S * SECOND_NS);
	run.record.pointer_size = pointer_size;
	for (unsigned i = 0; i < 6; i++) {
		feed_time(&run, event, event->since ? since[i] : taken[i]);
	}
	if (event->counted) {
		expect(&run, event->counted, "6");
	}
	if (event->bytes) {
		expect(&run, event->bytes_counted, "3072");
	}
	for (unsigned i = 0; i < 2 && event->sums[i]; i++) {
		expect(&run, event->sums[i], "0.005");
		expect_invalid(&run, event->metrics[i], 2, 2);
	}
	rule_run_close(&run);
}

static void events_of_the_kernel(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof timed_events / sizeof timed_events[0]; i++) {
		check_timed(&timed_events[i], 8);
		check_timed(&timed_events[i], 4);
	}
}

/* ---- times between two events ---- */

static void feed_file(struct rule_run *run, const char *event, uint64_t irp, int64_t time)
{
	rule_run_blank(run, event);
	rule_run_set(run, "IrpPtr", irp);
	run->record.raw_time = time;
	rule_run_feed(run);
}

static void file_operations(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_latency");
	rule_run_uptime(&run, UPTIME_S * SECOND_NS);
	feed_file(&run, "FileIo/Read", 8, -(UPTIME_S + 1) * (int64_t)SECOND);
	feed_file(&run, "FileIo/OperationEnd", 8, 0);
	feed_file(&run, "FileIo/Read", 16, SECOND);
	feed_file(&run, "FileIo/OperationEnd", 16, SECOND + SECOND / 500);
	expect(&run, "etw_file_operation_duration_seconds_sum{operation=\"read\"}", "0.002");
	expect(&run, "etw_file_operation_duration_seconds_count{operation=\"read\"}", "1");
	expect_invalid(&run, "etw_file_operation_duration_seconds", 0, 1);
	expect_invalid(&run, "etw_file_process_operation_duration_seconds", 0, 1);
	rule_run_close(&run);
}

static void feed_switch(struct rule_run *run, uint32_t from, uint32_t to, int64_t time)
{
	rule_run_blank(run, "Thread/CSwitch");
	rule_run_set(run, "OldThreadId", from);
	rule_run_set(run, "NewThreadId", to);
	run->record.raw_time = time;
	rule_run_feed(run);
}

static void threads(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "sched");
	rule_run_uptime(&run, UPTIME_S * SECOND_NS);
	rule_run_blank(&run, "Thread/ReadyThread");
	rule_run_set(&run, "TThreadId", 8);
	run.record.raw_time = -(UPTIME_S + 1) * (int64_t)SECOND;
	rule_run_feed(&run);
	feed_switch(&run, 0, 8, SECOND);      /* ready for 102 s */
	feed_switch(&run, 8, 12, SECOND / 2); /* ran for -0.5 s */
	feed_switch(&run, 12, 0, SECOND);     /* 0.5 s */
	expect(&run, "etw_thread_ready_duration_seconds_count", "0");
	expect(&run, "etw_thread_context_switches_total{cpu=\"0\"}", "3");
	expect_invalid(&run, "etw_thread_ready_duration_seconds", 0, 1);
	expect_invalid(&run, "etw_process_cpu_seconds_total", 1, 0);
	rule_run_expect(&run, "etw_process_cpu_seconds_total{process=\"_none\"," KERNEL "} 0.5");
	rule_run_close(&run);
}

/* The clocks of two processors may differ: the stop has the labels of its start, and no time. */
static void pairs(void **state)
{
	static const char collector[] = X
		"- { name: a_seconds, type: histogram, help: h, buckets: [1], events: [{ event: '{" ALPHA
		"}/2', value: Duration, pair: { start: '{" ALPHA "}/1', stop: '{" ALPHA
		"}/2', key: [id], timeout: 1h } }] }\n"
		"- { name: b_total, type: counter, help: h, events: [{ event: '{" ALPHA
		"}/2', pair: { start: '{" ALPHA "}/1', stop: '{" ALPHA
		"}/2', key: [id], timeout: 1h } }] }\n";
	static const int64_t times[][2] = { { SECOND, SECOND + SECOND / 500 },
					    { 2 * SECOND, 2 * SECOND - 100 },
					    { -(UPTIME_S + 1) * (int64_t)SECOND, 0 } };
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector, NULL);
	rule_run_uptime(&run, UPTIME_S * SECOND_NS);
	rule_run_announce(
		&run, ALPHA, "Alpha",
		"<events><event value='1' symbol='A' template='t'/>"
		"<event value='2' symbol='B' template='t'/></events><templates>"
		"<template tid='t'><data name='id' inType='win:UInt32'/></template></templates>");
	for (uint32_t i = 0; i < 3; i++) {
		for (uint16_t side = 0; side < 2; side++) {
			rule_run_other(&run, ALPHA, side + 1);
			etw_payload_u32(&run.payload, i);
			run.record.raw_time = times[i][side];
			rule_run_feed(&run);
		}
	}
	expect(&run, "a_seconds_sum", "0.002");
	expect(&run, "a_seconds_count", "1");
	expect(&run, "b_total", "3");
	expect_invalid(&run, "a_seconds", 1, 1);
	rule_run_expect(&run, "etw_state_unmatched_total{table=\"pair\",side=\"stop\"} 0");
	rule_run_close(&run);
}

/* ---- amounts that are no times ---- */

static void an_amount_that_cannot_be_leaves_the_counter_alive(void **state)
{
	static const char collector[] = X
		"- { name: a_bytes_total, type: counter, help: h, events: [{ " EVENT
		", value: f }] }\n"
		"- { name: b_bytes_total, type: counter, help: h, events: [{ " EVENT
		", value: f, unit: KB }] }\n"
		"- { name: c, type: histogram, help: h, buckets: [1], events: [{ " EVENT
		", value: f }] }\n";
	static const uint64_t values[] = { 3, 0 - UINT64_C(1), UINT64_C(1) << 63, 4 };
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector, NULL);
	rule_run_announce(&run, ALPHA, "Alpha",
			  "<events><event value='1' symbol='E' template='t'/></events><templates>"
			  "<template tid='t'><data name='f' inType='win:UInt64'/></template>"
			  "</templates>");
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		rule_run_other(&run, ALPHA, 1);
		etw_payload_u64(&run.payload, values[i]);
		rule_run_feed(&run);
	}
	expect(&run, "a_bytes_total", "7");
	expect(&run, "b_bytes_total", "7168");
	expect(&run, "c_sum", "7");
	expect(&run, "c_count", "2");
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"bad_type\"} 6");
	/* 2^62 KB do not fit, and 2^62 twice are half of what does. */
	for (size_t i = 0; i < 5; i++) {
		rule_run_other(&run, ALPHA, 1);
		etw_payload_u64(&run.payload, UINT64_C(1) << 62);
		rule_run_feed(&run);
	}
	expect(&run, "a_bytes_total", "4611686018427387911");
	expect(&run, "b_bytes_total", "7168");
	expect(&run, "c_count", "7");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_every_unit_type_and_size),
		cmocka_unit_test(fractions),
		cmocka_unit_test(events_of_the_kernel),
		cmocka_unit_test(file_operations),
		cmocka_unit_test(threads),
		cmocka_unit_test(pairs),
		cmocka_unit_test(an_amount_that_cannot_be_leaves_the_counter_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
