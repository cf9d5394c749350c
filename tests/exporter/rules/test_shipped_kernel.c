/* SPDX-License-Identifier: MIT */
/*
 * The other collectors of kernel events as they ship: process, memory, page_faults, virtual_alloc,
 * cpu, sched, interrupt, image, registry. What each family shows of a few events, computed by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/shipped_collectors.h"

enum { W = SHIPPED_SHARD, O = SHIPPED_OTHER, NO_PROCESS = SHIPPED_NO_PROCESS, MS = SHIPPED_MS };

#define KERNEL ",provider=\"Windows Kernel\""
#define WRITER "{process=\"writer\"" KERNEL
#define OTHER  "{process=\"other\"" KERNEL

/* A process that lives for 5 ms leaves its counts; rundown is no start. */
static void process(void **state)
{
#define PROCESS(what, at, id, status)                                              \
	{                                                                          \
		"Process/" what, at, W,                                            \
		{                                                                  \
			{ "ProcessId", id, NULL }, { "ExitStatus", status, NULL }, \
			{                                                          \
				"ImageFileName", 0, "short.exe"                    \
			}                                                          \
		}                                                                  \
	}
#define THREAD(what, at, id, process_id)                      \
	{                                                     \
		"Thread/" what, at, W,                        \
		{                                             \
			{ "TThreadId", id, NULL },            \
			{                                     \
				"ProcessId", process_id, NULL \
			}                                     \
		}                                             \
	}
	static const struct built_event events[] = {
		PROCESS("Start", 0, 100, 0),
		THREAD("Start", 0, 1000, 100),
		THREAD("Start", 1 * MS, 1001, 100),
		PROCESS("Stop", 5 * MS, 100, 0),
		PROCESS("Start", 6 * MS, 100, 0), /* the id again */
		PROCESS("Stop", 7 * MS, 100, 0xC0000005),
		PROCESS("Start", 8 * MS, 104, 0),
		PROCESS("Stop", 9 * MS, 104, 1),
		PROCESS("DCStart", 10 * MS, 108, 0),
		THREAD("DCStart", 10 * MS, 1008, 108),
		{ 0 },
	};
#undef PROCESS
#undef THREAD
	static const char *const lines[] = {
		"etw_process_starts_total{process=\"short\"" KERNEL "} 3",
		"etw_process_exits_total{process=\"short\"" KERNEL ",result=\"success\"} 1",
		"etw_process_exits_total{process=\"short\"" KERNEL ",result=\"crash\"} 1",
		"etw_process_exits_total{process=\"short\"" KERNEL ",result=\"error\"} 1",
		"etw_thread_starts_total{process=\"short\"" KERNEL "} 2",
		"!etw_process_starts_total" WRITER,
		"!etw_thread_starts_total" WRITER,
		NULL,
	};

	(void)state;
	check_shipped("process", events, lines);
}

static void memory(void **state)
{
#define FAULT(at, thread, bytes, began)                                              \
	{                                                                            \
		"PageFault/HardFault", at, (uint32_t)NO_PROCESS,                     \
		{                                                                    \
			{ "TThreadId", thread, NULL }, { "ByteCount", bytes, NULL }, \
			{                                                            \
				"InitialTime", SHIPPED_START + (began), NULL         \
			}                                                            \
		}                                                                    \
	}
	static const struct built_event events[] = {
		FAULT(10 * MS, 10 * W, 4096, 0),
		FAULT(20 * MS, 10 * W, 8192, 19 * MS),
		FAULT(30 * MS, 10 * O, 1, 30 * MS),
		{ 0 },
	};
#undef FAULT
	static const char *const lines[] = {
		"etw_memory_hard_faults_total" WRITER "} 2",
		"etw_memory_hard_faults_total" OTHER "} 1",
		"etw_memory_hard_fault_read_bytes_total" WRITER "} 12288",
		"etw_memory_hard_fault_read_bytes_total" OTHER "} 1",
		"etw_memory_hard_fault_duration_seconds_sum 0.011",
		"etw_memory_hard_fault_duration_seconds_count 3",
		"etw_memory_hard_fault_duration_seconds_bucket{le=\"0.000128\"} 1",
		"etw_memory_hard_fault_duration_seconds_bucket{le=\"0.001024\"} 2",
		"etw_memory_hard_fault_duration_seconds_bucket{le=\"0.008192\"} 2",
		"etw_memory_hard_fault_duration_seconds_bucket{le=\"0.016384\"} 3",
		NULL,
	};

	(void)state;
	check_shipped("memory", events, lines);
}

static void page_faults(void **state)
{
	static const struct built_event events[] = {
		{ "PageFault/TransitionFault", 0, W, { { 0 } } },
		{ "PageFault/DemandZeroFault", 0, W, { { 0 } } },
		{ "PageFault/DemandZeroFault", 0, W, { { 0 } } },
		{ "PageFault/CopyOnWrite", 0, O, { { 0 } } },
		{ "PageFault/GuardPageFault", 0, W, { { 0 } } },
		{ "PageFault/HardPageFault", 0, W, { { 0 } } },
		{ "PageFault/AccessViolation", 0, (uint32_t)NO_PROCESS, { { 0 } } },
		{ 0 },
	};
	static const char *const lines[] = {
		"etw_memory_page_faults_total" WRITER ",type=\"transition\"} 1",
		"etw_memory_page_faults_total" WRITER ",type=\"demand_zero\"} 2",
		"etw_memory_page_faults_total" OTHER ",type=\"copy_on_write\"} 1",
		"etw_memory_page_faults_total" WRITER ",type=\"guard_page\"} 1",
		"etw_memory_page_faults_total" WRITER ",type=\"hard\"} 1",
		"etw_memory_page_faults_total{process=\"_none\"" KERNEL
		",type=\"access_violation\"} 1",
		NULL,
	};

	(void)state;
	check_shipped("page_faults", events, lines);
}

static void virtual_alloc(void **state)
{
	static const struct built_event events[] = {
		/* The process stands in the payload. */
		{ "PageFault/VirtualAlloc",
		  0,
		  O,
		  { { "ProcessId", W, NULL }, { "RegionSize", 65536, NULL } } },
		{ "PageFault/VirtualAlloc",
		  0,
		  O,
		  { { "ProcessId", W, NULL }, { "RegionSize", UINT64_C(1) << 40, NULL } } },
		{ "PageFault/VirtualFree",
		  0,
		  O,
		  { { "ProcessId", W, NULL }, { "RegionSize", 4096, NULL } } },
		{ 0 },
	};
	static const char *const lines[] = {
		"etw_memory_virtual_allocated_bytes_total" WRITER "} 1099511693312",
		"etw_memory_virtual_freed_bytes_total" WRITER "} 4096",
		"!etw_memory_virtual_freed_bytes_total" OTHER,
		NULL,
	};

	(void)state;
	check_shipped("virtual_alloc", events, lines);
}

static void cpu(void **state)
{
	static const struct built_event events[] = {
		{ "PerfInfo/SampleProf",
		  0,
		  (uint32_t)NO_PROCESS,
		  { { "ThreadId", 10 * W, NULL } } },
		{ "PerfInfo/SampleProf",
		  0,
		  (uint32_t)NO_PROCESS,
		  { { "ThreadId", 10 * W, NULL } } },
		{ "PerfInfo/SampleProf",
		  0,
		  (uint32_t)NO_PROCESS,
		  { { "ThreadId", 10 * O, NULL } } },
		{ "PerfInfo/SampleProf", 0, (uint32_t)NO_PROCESS, { { "ThreadId", 0, NULL } } },
		{ "PerfInfo/SampleProf", 0, (uint32_t)NO_PROCESS, { { "ThreadId", 9999, NULL } } },
		{ 0 },
	};
	static const char *const lines[] = {
		"etw_process_cpu_samples_total" WRITER "} 2",
		"etw_process_cpu_samples_total" OTHER "} 1",
		"!etw_process_cpu_samples_total{process=\"Idle\"",
		/* A thread that nothing names was no idle one, and had a process. */
		"etw_process_cpu_samples_total{process=\"_unknown\"" KERNEL "} 1",
		NULL,
	};

	(void)state;
	check_shipped("cpu", events, lines);
}

static void sched(void **state)
{
#define SWITCH(at, cpu, new_thread, old_thread, old_state, reason)                                \
	{                                                                                         \
		"Thread/CSwitch", at, (uint32_t)NO_PROCESS,                                       \
		{                                                                                 \
			{ "NewThreadId", new_thread, NULL }, { "OldThreadId", old_thread, NULL }, \
				{ "OldThreadState", old_state, NULL },                            \
				{ "OldThreadWaitReason", reason, NULL },                          \
			{                                                                         \
				RECORD_CPU, cpu, NULL                                             \
			}                                                                         \
		}                                                                                 \
	}
	static const struct built_event events[] = {
		SWITCH(0, 0, 10 * W, 0, 2, 0), /* W runs from 0 … */
		{ "Thread/ReadyThread",
		  4 * MS,
		  (uint32_t)NO_PROCESS,
		  { { "TThreadId", 10 * O, NULL } } },
		SWITCH(6 * MS, 0, 10 * O, 10 * W, 5,
		       6),                           /* … to 6, and waits; O was ready since 4 */
		SWITCH(7 * MS, 0, 0, 10 * O, 1, 32), /* O ran for 1, and did not wait */
		SWITCH(8 * MS, 1, 10 * W, 0, 2, 0),
		SWITCH(10 * MS, 1, 0, 10 * W, 5, 99),
		{ 0 },
	};
#undef SWITCH
	static const char *const lines[] = {
		"etw_process_cpu_seconds_total" WRITER "} 0.008",
		"etw_process_cpu_seconds_total" OTHER "} 0.001",
		"!etw_process_cpu_seconds_total{process=\"Idle\"",
		"etw_thread_context_switches_total{cpu=\"0\"} 3",
		"etw_thread_context_switches_total{cpu=\"1\"} 2",
		"etw_thread_process_context_switches_total" WRITER "} 2",
		"etw_thread_process_context_switches_total" OTHER "} 1",
		"etw_thread_process_context_switches_total{process=\"Idle\"" KERNEL "} 2",
		"etw_thread_process_waits_total" WRITER "} 2",
		"!etw_thread_process_waits_total" OTHER,
		"etw_thread_ready_duration_seconds_count 1",
		"etw_thread_ready_duration_seconds_sum 0.002",
		"etw_thread_ready_duration_seconds_bucket{le=\"0.001024\"} 0",
		"etw_thread_ready_duration_seconds_bucket{le=\"0.002048\"} 1",
		/* The latest version does not have the mode. */
		"etw_thread_waits_total{reason=\"user_request\",mode=\"_unknown\"} 1",
		"etw_thread_waits_total{reason=\"other\",mode=\"_unknown\"} 1",
		"etw_thread_waits_total{reason=\"preempted\",mode=\"user\"} 0",
		NULL,
	};

	(void)state;
	check_shipped("sched", events, lines);
}

#define DRIVER(path, at, base)                                                      \
	{                                                                           \
		"Image/Load", at, (uint32_t)NO_PROCESS,                             \
		{                                                                   \
			{ "ImageBase", base, NULL }, { "ImageSize", 0x1000, NULL }, \
			{                                                           \
				"FileName", 0, path                                 \
			}                                                           \
		}                                                                   \
	}

static void interrupt(void **state)
{
#define CALL(what, at, began, routine)                                    \
	{                                                                 \
		"PerfInfo/" what, at, (uint32_t)NO_PROCESS,               \
		{                                                         \
			{ "InitialTime", SHIPPED_START + (began), NULL }, \
			{                                                 \
				"Routine", routine, NULL                  \
			}                                                 \
		}                                                         \
	}
	static const struct built_event events[] = {
		DRIVER("\\SystemRoot\\System32\\drivers\\NDIS.SYS", 0, 0x10000),
		DRIVER("\\SystemRoot\\System32\\drivers\\storport.sys", 0, 0x20000),
		CALL("DPC", 2 * MS, 1 * MS, 0x10000),
		CALL("ThreadedDPC", 4 * MS, 3 * MS, 0x10fff),
		CALL("TimerDPC", 8 * MS, 4 * MS, 0x20010),
		CALL("DPC", 9 * MS, 9 * MS, 0x11000), /* behind the image */
		CALL("ISR", 11 * MS, 10 * MS, 0x20000),
		CALL("ISR-MSI", 14 * MS, 12 * MS, 0x20000),
		{ 0 },
	};
#undef CALL
	static const char *const lines[] = {
		"etw_dpc_duration_seconds_sum{driver=\"ndis.sys\"} 0.002",
		"etw_dpc_duration_seconds_count{driver=\"ndis.sys\"} 2",
		"etw_dpc_duration_seconds_bucket{driver=\"ndis.sys\",le=\"0.000512\"} 0",
		"etw_dpc_duration_seconds_bucket{driver=\"ndis.sys\",le=\"0.001024\"} 2",
		"etw_dpc_duration_seconds_sum{driver=\"storport.sys\"} 0.004",
		"etw_dpc_duration_seconds_count{driver=\"_unknown\"} 1",
		"etw_isr_duration_seconds_sum{driver=\"storport.sys\"} 0.003",
		"etw_isr_duration_seconds_count{driver=\"storport.sys\"} 2",
		NULL,
	};

	(void)state;
	check_shipped("interrupt", events, lines);
}

static void image(void **state)
{
	static const struct built_event events[] = {
		DRIVER("\\SystemRoot\\System32\\drivers\\NDIS.SYS", 0, 0x10000),
		DRIVER("\\SystemRoot\\System32\\drivers\\Ndis.sys", 1, 0x20000),
		{ "Image/Load",
		  2,
		  O,
		  { { "ProcessId", W, NULL }, { "FileName", 0, "C:\\w\\writer.exe" } } },
		{ "Image/Load",
		  3,
		  O,
		  { { "ProcessId", W, NULL }, { "FileName", 0, "C:\\w\\a.dll" } } },
		{ "Image/DCStart", 4, O, { { "ProcessId", W, NULL } } },
		{ 0 },
	};
	static const char *const lines[] = {
		"etw_image_loads_total" WRITER "} 2",
		"etw_image_loads_total{process=\"Idle\"" KERNEL "} 2",
		"etw_driver_loads_total{driver=\"ndis.sys\"} 2",
		"!etw_driver_loads_total{driver=\"a.dll\"",
		"!etw_driver_loads_total{driver=\"writer.exe\"",
		NULL,
	};

	(void)state;
	check_shipped("image", events, lines);
}

static void registry(void **state)
{
#define OPERATION(what, at, process, status, began)                          \
	{                                                                    \
		"Registry/" what, at, process,                               \
		{                                                            \
			{ "Status", status, NULL },                          \
			{                                                    \
				"InitialTime", SHIPPED_START + (began), NULL \
			}                                                    \
		}                                                            \
	}
	static const struct {
		const char *event, *operation;
	} operations[] = {
		{ "Create", "create" },
		{ "Open", "open" },
		{ "Delete", "delete" },
		{ "Query", "query" },
		{ "SetValue", "set_value" },
		{ "DeleteValue", "delete_value" },
		{ "QueryValue", "query_value" },
		{ "EnumerateKey", "enumerate_key" },
		{ "EnumerateValueKey", "enumerate_value_key" },
		{ "QueryMultipleValue", "query_multiple_value" },
		{ "SetInformation", "set_information" },
		{ "Flush", "flush" },
		{ "Close", "close" },
	};
	static const struct {
		uint32_t status;
		const char *result;
	} results[] = {
		{ 0, "success" },
		{ 0x80000005, "buffer_too_small" },
		{ 0xC0000023, "buffer_too_small" },
		{ 0x8000001A, "no_more_entries" },
		{ 0xC0000022, "access_denied" },
		{ 0xC0000034, "not_found" },
		{ 0xC0000001, "error" },
	};
	char event[64], line[256], sum[256];

	(void)state;
	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
		const struct built_event events[] = {
			OPERATION("Open", 2 * MS, W, 0, 0),
			{ 0 },
		};
		struct built_event one[] = { events[0], events[1] };
		const char *const lines[] = { line, sum, NULL };
		const char *result = results[i % 7].result;

		snprintf(event, sizeof event, "Registry/%s", operations[i].event);
		one[0].event = event;
		one[0].fields[0].value = results[i % 7].status;
		snprintf(line, sizeof line,
			 "etw_registry_operations_total" WRITER
			 ",result=\"%s\",operation=\"%s\"} 1",
			 result, operations[i].operation);
		snprintf(sum, sizeof sum,
			 "etw_registry_operation_duration_seconds_sum{operation=\"%s\"} 0.002",
			 operations[i].operation);
		check_shipped("registry", one, lines);
	}
#undef OPERATION
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process),     cmocka_unit_test(memory),
		cmocka_unit_test(page_faults), cmocka_unit_test(virtual_alloc),
		cmocka_unit_test(cpu),         cmocka_unit_test(sched),
		cmocka_unit_test(interrupt),   cmocka_unit_test(image),
		cmocka_unit_test(registry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
