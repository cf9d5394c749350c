/* SPDX-License-Identifier: MIT */
/*
 * Minifilters in the collectors as they ship: what their calls cost (minifilter), and the requests
 * that they make themselves (file, file_other, file_latency, file_errors), whose layouts differ by
 * the size of the payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/shipped_collectors.h"

enum { W = SHIPPED_SHARD, O = SHIPPED_OTHER, NO_PROCESS = SHIPPED_NO_PROCESS, MS = SHIPPED_MS };

#define KERNEL ",provider=\"Windows Kernel\""

/* ---- calls ---- */

#define DRIVER(path, base)                                                          \
	{                                                                           \
		"Image/Load", 0, (uint32_t)NO_PROCESS,                              \
		{                                                                   \
			{ "ImageBase", base, NULL }, { "ImageSize", 0x1000, NULL }, \
			{                                                           \
				"FileName", 0, path                                 \
			}                                                           \
		}                                                                   \
	}
#define CALL(what, at, process, began, routine, major)                      \
	{                                                                   \
		"FileIo/Flt" what, at, process,                             \
		{                                                           \
			{ "InitialTime", began, NULL },                     \
				{ "RoutineAddr", UINT64_C(routine), NULL }, \
			{                                                   \
				"MajorFunction", major, NULL                \
			}                                                   \
		}                                                           \
	}
#define FAILURE(what, process, routine, major, code)                \
	{                                                           \
		"FileIo/Flt" what, 0, process,                      \
		{                                                   \
			{ "RoutineAddr", UINT64_C(routine), NULL }, \
				{ "MajorFunction", major, NULL },   \
			{                                           \
				"Status", code, NULL                \
			}                                           \
		}                                                   \
	}
#define FROM(time) (SHIPPED_START + (time))

static void calls_cost_their_driver_by_process_and_operation(void **state)
{
	static const struct built_event events[] = {
		DRIVER("\\SystemRoot\\System32\\drivers\\WdFilter.sys", 0xfffff80a10000000),
		DRIVER("\\SystemRoot\\System32\\drivers\\cldflt.sys", 0xfffff80a20000000),
		CALL("PreOpCompletion", 2 * MS, W, FROM(1 * MS), 0xfffff80a10000000, 0),
		CALL("PostOpCompletion", 6 * MS, W, FROM(4 * MS), 0xfffff80a10000fff, 0),
		CALL("PreOpCompletion", 9 * MS, W, FROM(5 * MS), 0xfffff80a10000010, 3),
		CALL("PreOpCompletion", 10 * MS, O, FROM(10 * MS), 0xfffff80a20000000, 4),
		/* The announcement of a call is none of its own. */
		{ "FileIo/FltPreOpInit",
		  11 * MS,
		  W,
		  { { "RoutineAddr", UINT64_C(0xfffff80a10000000), NULL } } },
		/* A call without an IRP, of a routine that no image contains. */
		CALL("PreOpCompletion", 12 * MS, O, FROM(11 * MS), 0xfffff80a10001000, 249),
		/* No name for the operation; no process. */
		CALL("PreOpCompletion", 14 * MS, (uint32_t)NO_PROCESS, FROM(13 * MS),
		     0xfffff80a20000000, 99),
		{ 0 },
	};
	static const char *const lines[] = {
#define SECONDS(process, driver, operation)                                               \
	"etw_minifilter_seconds_total{process=\"" process "\"" KERNEL ",driver=\"" driver \
	"\",operation=\"" operation "\"} "
#define CALLS(process, driver, operation)                                               \
	"etw_minifilter_calls_total{process=\"" process "\"" KERNEL ",driver=\"" driver \
	"\",operation=\"" operation "\"} "
#define DURATION(what, driver, operation, more)                          \
	"etw_minifilter_call_duration_seconds_" what "{driver=\"" driver \
	"\",operation=\"" operation "\"" more "} "
		SECONDS("writer", "wdfilter.sys", "create") "0.003",
		CALLS("writer", "wdfilter.sys", "create") "2",
		SECONDS("writer", "wdfilter.sys", "read") "0.004",
		CALLS("writer", "wdfilter.sys", "read") "1",
		SECONDS("other", "cldflt.sys", "write") "0",
		CALLS("other", "cldflt.sys", "write") "1",
		SECONDS("other", "_unknown", "query_open") "0.001",
		SECONDS("_none", "cldflt.sys", "99") "0.001",
		DURATION("count", "wdfilter.sys", "create", "") "2",
		DURATION("sum", "wdfilter.sys", "create", "") "0.003",
		/* Bounds of 1 µs times powers of 4: …, 0.256, 1.024, 4.096 ms. */
		DURATION("bucket", "wdfilter.sys", "create", ",le=\"0.000256\"") "0",
		DURATION("bucket", "wdfilter.sys", "create", ",le=\"0.001024\"") "1",
		DURATION("bucket", "wdfilter.sys", "create", ",le=\"0.004096\"") "2",
		DURATION("bucket", "cldflt.sys", "write", ",le=\"0.000001\"") "1",
		"!etw_minifilter_failures_total",
		NULL,
	};

	(void)state;
	check_shipped("minifilter", events, lines);
}

/* A call that began before Windows noted the times of calls has a start of 0; a start after the end
 * or before all time comes from damaged recordings. */
static void starts_that_cannot_be_take_no_wrong_time(void **state)
{
	static const struct built_event events[] = {
		CALL("PreOpCompletion", 2 * MS, W, 0, 0, 0),
		CALL("PreOpCompletion", 3 * MS, W, FROM(20 * MS), 0, 0),
		CALL("PreOpCompletion", 5 * MS, O, UINT64_C(1) << 63, 0, 2),
		{ 0 },
	};
	static const char *const lines[] = {
		CALLS("writer", "_unknown", "create") "2",
		"!etw_minifilter_seconds_total{",
		"!etw_minifilter_call_duration_seconds_count{",
		CALLS("other", "_unknown", "close") "1",
		"etw_invalid_durations_total{metric=\"etw_minifilter_seconds_total\",reason=\"negative\"} 1",
		"etw_invalid_durations_total{metric=\"etw_minifilter_seconds_total\",reason=\"too_long\"} 1",
		NULL,
	};

	(void)state;
	check_shipped("minifilter", events, lines);
}

static void failures_have_their_status(void **state)
{
	static const struct built_event events[] = {
		DRIVER("\\SystemRoot\\System32\\drivers\\WdFilter.sys", 0x10000),
		FAILURE("PreOpFailure", W, 0x10000, 0, 0xc0000022),
		FAILURE("PreOpFailure", W, 0x10000, 0, 0xc0000022),
		FAILURE("PostOpFailure", O, 0x10000, 0, 0xc0000034),
		FAILURE("PostOpFailure", O, 0x20000, 4, 0xc0009999),
		{ 0 },
	};
	static const char *const lines[] = {
#define FAILURES(process, driver, operation, status)                                       \
	"etw_minifilter_failures_total{process=\"" process "\"" KERNEL ",driver=\"" driver \
	"\",operation=\"" operation "\",status=\"" status "\"} "
		FAILURES("writer", "wdfilter.sys", "create", "access_denied") "2",
		FAILURES("other", "wdfilter.sys", "create", "object_name_not_found") "1",
		FAILURES("other", "_unknown", "write", "error") "1",
		"!etw_minifilter_calls_total",
		NULL,
	};

	(void)state;
	check_shipped("minifilter", events, lines);
}

/* ---- requests of minifilters themselves ---- */

enum { IRP = 0x7700, OBJECT = 0x5500, KEY = 0x3300, FLAG_PAGING = 2 };

static void begin(struct rule_run *run, const char *collector)
{
	rule_run_open_shipped(run, collector);
	rule_run_process(run, "Process/DCStart", W, "writer.exe", 0);
	rule_run_blank(run, "Thread/DCStart");
	rule_run_set(run, "ProcessId", W);
	rule_run_set(run, "TThreadId", 10 * W);
	rule_run_feed(run);
	rule_run_blank(run, "FileIo/Name");
	rule_run_set(run, "FileObject", KEY);
	rule_run_set_text(run, "FileName", "D:\\a");
	rule_run_feed(run);
	run->record.process_id = run->record.thread_id = (uint32_t)NO_PROCESS;
}

/* In the layout of Read: Offset, IrpPtr, FileObject, FileKey, TTID, IoSize, IoFlags. */
static void transfer(struct rule_run *run, const char *event, uint32_t bytes, uint32_t flags)
{
	rule_run_event(run, event);
	run->payload.pointer_size = run->record.pointer_size;
	etw_payload_u64(&run->payload, 0);
	etw_payload_pointer(&run->payload, IRP);
	etw_payload_pointer(&run->payload, OBJECT);
	etw_payload_pointer(&run->payload, KEY);
	etw_payload_u32(&run->payload, 10 * W);
	etw_payload_u32(&run->payload, bytes);
	etw_payload_u32(&run->payload, flags);
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

/* In the layout of SetInfo: IrpPtr, FileObject, FileKey, ExtraInfo, TTID, InfoClass. */
static enum record_outcome information(struct rule_run *run, const char *event)
{
	rule_run_event(run, event);
	run->payload.pointer_size = run->record.pointer_size;
	etw_payload_pointer(&run->payload, IRP);
	etw_payload_pointer(&run->payload, OBJECT);
	etw_payload_pointer(&run->payload, KEY);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u32(&run->payload, 10 * W);
	etw_payload_u32(&run->payload, 4);
	return rule_run_feed(run);
}

static void ends(struct rule_run *run, uint32_t status)
{
	rule_run_event(run, "FileIo/OperationEnd");
	etw_payload_pointer(&run->payload, IRP);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u32(&run->payload, status);
	rule_run_feed(run);
}

#define OF_WRITER             "{process=\"writer\"" KERNEL
#define OPERATIONS(operation) "etw_file_operations_total" OF_WRITER ",operation=\"" operation "\"} "

static void their_bytes_are_never_those_of_programs(void **state)
{
	static const uint8_t pointers[] = { 8, 4 };

	(void)state;
	for (size_t i = 0; i < sizeof pointers; i++) {
		struct rule_run run;

		begin(&run, "file");
		run.record.pointer_size = pointers[i];
		transfer(&run, "FileIo/FltRead", 1000, 0);
		transfer(&run, "FileIo/FltRead", 24, FLAG_PAGING);
		transfer(&run, "FileIo/FltWrite", 7, 0);
		transfer(&run, "FileIo/Read", 3, 0);
		rule_run_expect(&run, OPERATIONS("flt_read") "2");
		rule_run_expect(&run, OPERATIONS("flt_write") "1");
		rule_run_expect(&run, OPERATIONS("read") "1");
		rule_run_expect(&run, "etw_file_filter_read_bytes_total" OF_WRITER
				      ",volume=\"D:\"} 1024");
		rule_run_expect(&run, "etw_file_filter_written_bytes_total" OF_WRITER
				      ",volume=\"D:\"} 7");
		rule_run_expect(&run, "etw_file_read_bytes_total" OF_WRITER ",volume=\"D:\"} 3");
		rule_run_expect_none(&run, "etw_file_written_bytes_total{");
		rule_run_expect_none(&run, "etw_file_paging");
		rule_run_close(&run);
	}
}

/* The layouts differ by their size alone: what has that of SetInfo holds no bytes, and of any other
 * size nothing is known but that it happened. */
static void a_payload_is_read_by_its_size(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run, "file");
	information(&run, "FileIo/FltWrite");
	rule_run_expect(&run, OPERATIONS("flt_write") "1");
	transfer(&run, "FileIo/FltWrite", 7, 0);
	information(&run, "FileIo/FltWrite");
	rule_run_expect(&run, OPERATIONS("flt_write") "3");
	rule_run_expect(&run, "etw_file_filter_written_bytes_total" OF_WRITER ",volume=\"D:\"} 7");
	for (size_t size = 0; size < 80; size++) {
		if (size != 40 && size != 44) {
			rule_run_event(&run, "FileIo/FltWrite");
			etw_payload_zeros(&run.payload, size);
			rule_run_feed(&run);
		}
	}
	rule_run_expect(&run, OPERATIONS("flt_write") "3");
	rule_run_expect(&run, "etw_file_operations_total{process=\"_none\"" KERNEL
			      ",operation=\"flt_write\"} 78");
	rule_run_expect(&run, "etw_file_filter_written_bytes_total" OF_WRITER ",volume=\"D:\"} 7");
	rule_run_expect_none(&run, "etw_file_filter_written_bytes_total{process=\"_none\"");
	rule_run_close(&run);
	begin(&run, "file_other");
	assert_int_equal(information(&run, "FileIo/FltSetInfo"), OUTCOME_COUNTED);
	assert_int_equal(information(&run, "FileIo/FltQueryInfo"), OUTCOME_COUNTED);
	rule_run_expect(&run, OPERATIONS("flt_set_info") "1");
	rule_run_expect(&run, OPERATIONS("flt_query_info") "1");
	rule_run_close(&run);
}

static void ends_find_the_requests_of_minifilters(void **state)
{
	static const struct {
		const char *event, *operation;
	} cases[] = { { "FileIo/FltRead", "flt_read" },
		      { "FileIo/FltWrite", "flt_write" },
		      { "FileIo/FltSetInfo", "flt_set_info" },
		      { "FileIo/FltQueryInfo", "flt_query_info" } };
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rule_run run;
		int64_t time;

		for (int errors = 0; errors < 2; errors++) {
			begin(&run, errors ? "file_errors" : "file_latency");
			time = run.record.raw_time;
			if (i < 2) {
				transfer(&run, cases[i].event, 1, 0);
			} else {
				information(&run, cases[i].event);
			}
			run.record.raw_time = time + 3 * MS;
			ends(&run, 0xc0000022);
			snprintf(line, sizeof line,
				 errors ?
					 "etw_file_operation_errors_total" OF_WRITER
					 ",operation=\"%s\",status=\"access_denied\"} 1" :
					 "etw_file_process_operation_duration_seconds_sum" OF_WRITER
					 ",operation=\"%s\"} 0.003",
				 cases[i].operation);
			rule_run_expect(&run, line);
			rule_run_close(&run);
		}
	}
}

/* Payloads that end anywhere, each in a block of exactly its size. */
static void short_payloads_are_no_danger(void **state)
{
	static const char *const events[] = {
		"FileIo/FltRead",         "FileIo/FltSetInfo",         "FileIo/FltPreOpInit",
		"FileIo/FltPostOpInit",   "FileIo/FltPreOpCompletion", "FileIo/FltPostOpCompletion",
		"FileIo/FltPreOpFailure", "FileIo/FltPostOpFailure",
	};
	static const char *const collectors[] = { "minifilter", "file", "file_other",
						  "file_latency" };

	(void)state;
	for (size_t i = 0; i < sizeof collectors / sizeof collectors[0]; i++) {
		struct rule_run run;

		begin(&run, collectors[i]);
		for (size_t j = 0; j < sizeof events / sizeof events[0]; j++) {
			for (size_t size = 0; size < 64; size++) {
				rule_run_event(&run, events[j]);
				etw_payload_zeros(&run.payload, size);
				for (size_t k = 0; k < size; k++) {
					run.payload.bytes[k] = 0xff;
				}
				rule_run_feed(&run);
			}
		}
		rule_run_close(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_cost_their_driver_by_process_and_operation),
		cmocka_unit_test(starts_that_cannot_be_take_no_wrong_time),
		cmocka_unit_test(failures_have_their_status),
		cmocka_unit_test(their_bytes_are_never_those_of_programs),
		cmocka_unit_test(a_payload_is_read_by_its_size),
		cmocka_unit_test(ends_find_the_requests_of_minifilters),
		cmocka_unit_test(short_payloads_are_no_danger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
