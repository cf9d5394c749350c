/* SPDX-License-Identifier: MIT */
/*
 * The collectors file_latency and file_errors as they ship: the end of a file operation names
 * neither the process nor the operation, and counts for the process that made the request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

enum {
	STARTS = 100,
	MICROSECONDS = RUN_FREQUENCY / 1000000,
	READER = 8,
	OTHER = 12,
	NO_PROCESS = -1,
};

static const uint64_t irp = 0xffffc00012345678;

/* FileIo/Read version 3: Offset, IrpPtr, FileObject, FileKey, TTID, IOSize, IoFlags. */
static void request(struct rule_run *run, int64_t time, uint32_t process)
{
	rule_run_event(run, "FileIo/Read");
	run->record.raw_time = time;
	run->record.process_id = process;
	etw_payload_u64(&run->payload, 0);
	etw_payload_u64(&run->payload, irp);
	etw_payload_u64(&run->payload, 1);
	etw_payload_u64(&run->payload, 2);
	etw_payload_u32(&run->payload, 10 * process);
	etw_payload_u32(&run->payload, 4096);
	etw_payload_u32(&run->payload, 0);
	etw_payload_u32(&run->payload, 0);
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

/* FileIo/OperationEnd: IrpPtr, ExtraInfo, NtStatus; its header has no process. */
static void end(struct rule_run *run, int64_t time, uint32_t status)
{
	rule_run_event(run, "FileIo/OperationEnd");
	run->record.raw_time = time;
	run->record.process_id = (uint32_t)NO_PROCESS;
	run->record.thread_id = (uint32_t)NO_PROCESS;
	etw_payload_u64(&run->payload, irp);
	etw_payload_u64(&run->payload, 0);
	etw_payload_u32(&run->payload, status);
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

static void start_processes(struct rule_run *run)
{
	run->record.raw_time = STARTS;
	rule_run_process(run, "Process/Start", READER, "reader.exe", 0);
	rule_run_process(run, "Process/Start", OTHER, "other.exe", 0);
}

static void durations_count_for_the_process_that_started_them(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_latency");
	start_processes(&run);
	request(&run, STARTS + 1000, READER);
	end(&run, STARTS + 1000 + 100 * MICROSECONDS, 0);
	rule_run_expect(&run, "etw_file_operation_duration_seconds_sum{operation=\"read\"} 0.0001");
	rule_run_expect(&run, "etw_file_process_operation_duration_seconds_sum{process=\"reader\","
			      "provider=\"Windows Kernel\",operation=\"read\"} 0.0001");
	rule_run_expect(&run,
			"etw_file_process_operation_duration_seconds_bucket{process=\"reader\","
			"provider=\"Windows Kernel\",operation=\"read\",le=\"0.000064\"} 0");
	rule_run_expect(&run,
			"etw_file_process_operation_duration_seconds_bucket{process=\"reader\","
			"provider=\"Windows Kernel\",operation=\"read\",le=\"0.000512\"} 1");
	/* Its request was not seen: there is no duration. */
	end(&run, STARTS + 5000, 0);
	rule_run_expect(&run, "etw_file_operation_duration_seconds_count{operation=\"read\"} 1");
	rule_run_expect_none(&run, "etw_file_process_operation_duration_seconds_sum{process=\"_");
	rule_run_close(&run);
}

static void failures_count_for_the_process_that_started_them(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_errors");
	start_processes(&run);
	request(&run, STARTS + 1000, OTHER);
	end(&run, STARTS + 2000, 0xC0000034);
	request(&run, STARTS + 3000, OTHER);
	end(&run, STARTS + 4000, 0); /* went well */
	rule_run_expect(&run,
			"etw_file_operation_errors_total{process=\"other\",provider=\"Windows "
			"Kernel\",operation=\"read\",status=\"object_name_not_found\"} 1");
	/* A failure whose request was lost counts as well. */
	end(&run, STARTS + 5000, 0xC0000034);
	rule_run_expect(&run,
			"etw_file_operation_errors_total{process=\"_unknown\",provider=\"Windows "
			"Kernel\",operation=\"_unknown\",status=\"object_name_not_found\"} 1");
	rule_run_close(&run);
}

/* FileIo/DirNotify version 3: IrpPtr, FileObject, FileKey, TTID, Length, InfoClass, FileIndex,
 * FileName. It waits until something changes in a directory. */
static void watch(struct rule_run *run, int64_t time, uint32_t process)
{
	rule_run_event(run, "FileIo/DirNotify");
	run->record.raw_time = time;
	run->record.process_id = process;
	etw_payload_u64(&run->payload, irp);
	etw_payload_u64(&run->payload, 1);
	etw_payload_u64(&run->payload, 2);
	etw_payload_u32(&run->payload, 10 * process);
	etw_payload_u32(&run->payload, 4096);
	etw_payload_u32(&run->payload, 0);
	etw_payload_u32(&run->payload, 0);
	etw_payload_wstring(&run->payload, "");
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

/* Its end is not that of an older request with the same IRP, whose end was lost. */
static void watching_a_directory_is_a_request(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_latency");
	start_processes(&run);
	request(&run, STARTS + 1000, OTHER);
	watch(&run, STARTS + 1000 + 100 * MICROSECONDS, READER);
	end(&run, STARTS + 1000 + 300 * MICROSECONDS, 0);
	rule_run_expect(&run, "etw_file_operation_duration_seconds_sum{operation=\"dir_notify\"} "
			      "0.0002");
	rule_run_expect(&run, "etw_file_process_operation_duration_seconds_sum{process=\"reader\","
			      "provider=\"Windows Kernel\",operation=\"dir_notify\"} 0.0002");
	rule_run_expect(&run, "etw_file_operation_duration_seconds_count{operation=\"read\"} 0");
	rule_run_close(&run);
}

/* Maps a file object to a path, with FileIo/Create, whose IRP is another one. */
static void open_file(struct rule_run *run, uint64_t object, const char *path)
{
	rule_run_event(run, "FileIo/Create");
	run->record.process_id = READER;
	etw_payload_u64(&run->payload, irp + 8);
	etw_payload_u64(&run->payload, object);
	etw_payload_u32(&run->payload, 10 * READER);
	etw_payload_zeros(&run->payload, 3 * 4);
	etw_payload_wstring(&run->payload, path);
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

/* The end names no file: it is that of the request, as it was then. */
static void durations_count_for_the_volume_of_the_request(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_latency");
	start_processes(&run);
	run.record.raw_time = STARTS + 10;
	open_file(&run, 1, "\\Device\\Mup\\FS1\\Data\\a.txt");
	request(&run, STARTS + 1000, READER);
	/* The object goes to another file before the request ends. */
	run.record.raw_time = STARTS + 1001;
	open_file(&run, 1, "\\Device\\HarddiskVolume3\\b.txt");
	end(&run, STARTS + 1000 + 100 * MICROSECONDS, 0);
	request(&run, STARTS + 3000, READER);
	end(&run, STARTS + 3000 + 300 * MICROSECONDS, 0);
	rule_run_expect(&run, "etw_file_volume_operation_duration_seconds_sum{volume=\"Mup\","
			      "operation=\"read\"} 0.0001");
	rule_run_expect(&run,
			"etw_file_volume_operation_duration_seconds_sum{volume=\"HarddiskVolume3\","
			"operation=\"read\"} 0.0003");
	/* Its request was not seen. */
	end(&run, STARTS + 9000, 0);
	rule_run_expect_none(&run, "etw_file_volume_operation_duration_seconds_sum{volume=\"_");
	/* Waiting for a change in a directory is no latency of its volume. */
	watch(&run, STARTS + 10000, READER);
	end(&run, STARTS + 20000, 0);
	rule_run_expect_none(
		&run,
		"etw_file_volume_operation_duration_seconds_sum{volume=\"HarddiskVolume3\",operation=\"other\"");
	rule_run_close(&run);
}

/* A rule of one's own with the path of an end makes the tracker remember requests. */
static void ends_of_requests_have_a_path(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
		      "- { name: a_total, type: counter, help: h, labels: { file: { field: Path, "
		      "decode: [basename] } }, events: [{ event: FileIo/OperationEnd }] }\n",
		      NULL);
	start_processes(&run);
	run.record.raw_time = STARTS + 10;
	open_file(&run, 1, "\\Device\\HarddiskVolume3\\b.txt");
	request(&run, STARTS + 1000, READER);
	end(&run, STARTS + 2000, 0);
	rule_run_expect(&run, "a_total{file=\"b.txt\"} 1");
	rule_run_close(&run);
}

/* FileIo/MapFile: ViewBase, FileObject (a key), MiscInfo, ViewSize, ByteOffset, ProcessId. */
static void map_file(struct rule_run *run, uint64_t key)
{
	rule_run_event(run, "FileIo/MapFile");
	etw_payload_u64(&run->payload, 0x10000);
	etw_payload_u64(&run->payload, key);
	etw_payload_u64(&run->payload, 0);
	etw_payload_u64(&run->payload, 4096);
	etw_payload_u64(&run->payload, 0);
	etw_payload_u32(&run->payload, READER);
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
}

static void the_file_of_an_end_is_not_that_of_the_next_event(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
		      "- { name: a_total, type: counter, help: h, labels: { file: { field: Path, "
		      "decode: [basename] } }, events: [{ event: FileIo/OperationEnd }, "
		      "{ event: FileIo/MapFile }] }\n",
		      NULL);
	start_processes(&run);
	run.record.raw_time = STARTS + 10;
	open_file(&run, 1, "\\Device\\HarddiskVolume3\\b.txt");
	request(&run, STARTS + 1000, READER);
	end(&run, STARTS + 2000, 0);
	run.record.raw_time = STARTS + 3000;
	map_file(&run, 77);
	rule_run_expect(&run, "a_total{file=\"b.txt\"} 1");
	rule_run_expect(&run, "a_total{file=\"_unknown\"} 1");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_count_for_the_process_that_started_them),
		cmocka_unit_test(failures_count_for_the_process_that_started_them),
		cmocka_unit_test(watching_a_directory_is_a_request),
		cmocka_unit_test(durations_count_for_the_volume_of_the_request),
		cmocka_unit_test(ends_of_requests_have_a_path),
		cmocka_unit_test(the_file_of_an_end_is_not_that_of_the_next_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
