/* SPDX-License-Identifier: MIT */
/*
 * What the fake ETW reports about itself and the machine: rows I (information), M (machine) and T
 * (schemas) of tests/fake_etw/BEHAVIOUR.md, one test a row.
 */
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const GUID some_provider = { 0x12345678, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };
static const GUID other_provider = { 0x87654321, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

static int all_is_closed(void **state)
{
	(void)state;
	return fake_etw_open_things().handles == 0 ? 0 : -1;
}

static void group_masks_are_set_and_returned(void **state)
{
	uint32_t masks[8] = { EVENT_TRACE_FLAG_PROCESS, 0x4, 0, 0, 0x8000 };
	uint32_t read_back[8] = { 0 };
	ULONG returned = 0;
	TRACEHANDLE user;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"user", false, 0, &user), 0);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_THREAD, &one), 0);
	assert_int_equal(TraceSetInformation(user, TraceSystemTraceEnableFlagsInfo, masks, 32),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(TraceSetInformation(one + 1, TraceSystemTraceEnableFlagsInfo, masks, 32),
			 ERROR_WMI_INSTANCE_NOT_FOUND);
	assert_int_equal(TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks, 31),
			 ERROR_BAD_LENGTH);
	assert_int_equal(TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, NULL, 32),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks, 32), 0);
	assert_int_equal(TraceQueryInformation(one, TraceSystemTraceEnableFlagsInfo, read_back, 32,
					       &returned),
			 0);
	assert_int_equal(returned, 32);
	assert_memory_equal(read_back, masks, 32);
	assert_int_equal(TraceQueryInformation(one, TraceSystemTraceEnableFlagsInfo, read_back, 4,
					       &returned),
			 ERROR_BAD_LENGTH);
	masks[0] |= EVENT_TRACE_FLAG_PROFILE;
	assert_int_equal(TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks, 32),
			 ERROR_PRIVILEGE_NOT_HELD);
}

static void stacks_are_enabled_by_event(void **state)
{
	CLASSIC_EVENT_ID ids[257] = { 0 };
	struct fake_etw_session session;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, &one), 0);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, 25),
			 ERROR_BAD_LENGTH);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, sizeof(ids)),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, 2 * sizeof(*ids)), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.stack_events, 2);
}

static void the_machine_has_limits_and_intervals(void **state)
{
	ULONG loggers = 0;
	ULONG returned;
	TRACE_PROFILE_INTERVAL interval = { 0, 0 };

	(void)state;
	assert_int_equal(TraceQueryInformation(0, TraceMaxLoggersQuery, &loggers, sizeof(loggers),
					       &returned),
			 0);
	assert_int_equal(loggers, 64);
	loggers = 0;
	assert_int_equal(EnumerateTraceGuidsEx(TraceMaxLoggersQuery, NULL, 0, &loggers,
					       sizeof(loggers), &returned),
			 0);
	assert_int_equal(loggers, 64);
	assert_int_equal(TraceQueryInformation(0, TraceSampledProfileIntervalInfo, &interval,
					       sizeof(interval), NULL),
			 0);
	assert_int_equal(interval.Interval, 10000);
	assert_int_equal(TraceSetInformation(0, TraceSampledProfileIntervalInfo, &interval,
					     sizeof(interval)),
			 ERROR_PRIVILEGE_NOT_HELD);
	assert_int_equal(TraceQueryInformation(0, TraceGuidQueryProcess, &loggers, sizeof(loggers),
					       &returned),
			 ERROR_NOT_SUPPORTED);
}

static void queries_list_registrations_and_enabling_sessions(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	uint8_t bytes[256];
	GUID guids[4];
	ULONG returned = 0;
	TRACE_GUID_INFO head;
	TRACE_PROVIDER_INSTANCE_INFO instance;
	TRACE_ENABLE_INFO info;
	GUID guid = some_provider;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 1, 4, 0x12, 0x2, 1000, NULL), 0);
	assert_int_equal(EnableTraceEx2(one, &other_provider, 1, 4, 0, 0, 1000, NULL), 0);
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, NULL, 0, &returned),
			 ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(returned, 2 * sizeof(GUID));
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, guids, sizeof(guids),
					       &returned),
			 0);
	assert_memory_equal(&guids[0], &some_provider, sizeof(GUID));
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryProcess, NULL, 0, guids, sizeof(guids),
					       &returned),
			 0);
	assert_int_equal(returned, 0); /* the provider is in another process */
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryInfo, &guid, sizeof(guid), bytes, 8,
					       &returned),
			 ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(returned, sizeof(head) + sizeof(instance) + sizeof(info));
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryInfo, &guid, sizeof(guid), bytes,
					       sizeof(bytes), &returned),
			 0);
	memcpy(&head, bytes, sizeof(head));
	memcpy(&instance, bytes + sizeof(head), sizeof(instance));
	memcpy(&info, bytes + sizeof(head) + sizeof(instance), sizeof(info));
	assert_int_equal(head.InstanceCount, 1);
	assert_int_equal(instance.EnableCount, 1);
	assert_int_equal(instance.NextOffset, 0);
	assert_int_equal(info.Level, 4);
	assert_int_equal(info.MatchAnyKeyword, 0x12);
	assert_int_equal(info.MatchAllKeyword, 0x2);
	guid = other_provider; /* enabled, but not registered */
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryInfo, &guid, sizeof(guid), bytes,
					       sizeof(bytes), &returned),
			 ERROR_WMI_GUID_NOT_FOUND);
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryInfo, NULL, 0, bytes, sizeof(bytes),
					       &returned),
			 ERROR_INVALID_PARAMETER);
	fake_etw_provider_close(provider);
}

static void snapshots_list_processes(void **state)
{
	PROCESSENTRY32W entry = { 0 };
	HANDLE snapshot;

	(void)state;
	fake_etw_add_process(1234, 4, "b\xc3\xa4r.exe");
	snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	assert_true(snapshot != INVALID_HANDLE_VALUE);
	fake_etw_add_process(1235, 4, "later.exe"); /* not in the snapshot */
	assert_false(Process32FirstW(snapshot, &entry));
	assert_int_equal(GetLastError(), ERROR_BAD_LENGTH);
	entry.dwSize = sizeof(entry);
	assert_true(Process32FirstW(snapshot, &entry));
	assert_int_equal(entry.th32ProcessID, 0);
	assert_true(Process32NextW(snapshot, &entry));
	assert_int_equal(entry.th32ProcessID, 4);
	assert_true(Process32NextW(snapshot, &entry));
	assert_int_equal(entry.th32ProcessID, 1234);
	assert_int_equal(entry.th32ParentProcessID, 4);
	assert_memory_equal(entry.szExeFile, u"b\u00e4r.exe", 8 * sizeof(WCHAR));
	assert_false(Process32NextW(snapshot, &entry));
	assert_int_equal(GetLastError(), ERROR_NO_MORE_FILES);
	fake_etw_fail("CreateToolhelp32Snapshot", ERROR_ACCESS_DENIED, 0);
	assert_true(CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) == INVALID_HANDLE_VALUE);
	assert_int_equal(GetLastError(), ERROR_ACCESS_DENIED);
	assert_true(CloseHandle(snapshot));
}

static void snapshots_list_threads(void **state)
{
	PROCESSENTRY32W process = { .dwSize = sizeof(process) };
	THREADENTRY32 entry = { 0 };
	HANDLE snapshot;

	(void)state;
	fake_etw_add_thread(20, 8);
	fake_etw_add_thread(24, 4);
	snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
	fake_etw_add_thread(28, 4); /* not in the snapshot */
	assert_false(Thread32First(snapshot, &entry));
	assert_int_equal(GetLastError(), ERROR_BAD_LENGTH);
	entry.dwSize = sizeof(entry);
	assert_true(Thread32First(snapshot, &entry));
	assert_int_equal(entry.th32ThreadID, 20);
	assert_int_equal(entry.th32OwnerProcessID, 8);
	assert_true(Thread32Next(snapshot, &entry));
	assert_int_equal(entry.th32ThreadID, 24);
	assert_int_equal(entry.th32OwnerProcessID, 4);
	assert_false(Thread32Next(snapshot, &entry));
	assert_int_equal(GetLastError(), ERROR_NO_MORE_FILES);
	assert_false(Process32FirstW(snapshot, &process));
	assert_int_equal(GetLastError(), ERROR_NO_MORE_FILES);
	assert_true(CloseHandle(snapshot));
	snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);
	assert_true(Process32FirstW(snapshot, &process));
	assert_true(Thread32First(snapshot, &entry));
	assert_true(CloseHandle(snapshot));
}

static void drives_have_targets(void **state)
{
	WCHAR target[64];
	WCHAR list[7];

	(void)state;
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	fake_etw_add_volume("d:", "\\Device\\CdRom0");
	assert_int_equal(GetLogicalDrives(), 0xc);
	assert_int_equal(QueryDosDeviceW(u"c:", target, 64),
			 25); /* the string, its NUL and the list's */
	assert_memory_equal(target, u"\\Device\\HarddiskVolume3", 24 * sizeof(WCHAR));
	assert_int_equal(QueryDosDeviceW(u"C:\\", target, 64), 0);
	assert_int_equal(GetLastError(), ERROR_FILE_NOT_FOUND);
	assert_int_equal(QueryDosDeviceW(u"C:", target, 10), 0);
	assert_int_equal(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(QueryDosDeviceW(NULL, list, 7), 7);
	assert_memory_equal(list, u"C:\0d:\0", 7 * sizeof(WCHAR));
}

static void privileges_have_names(void **state)
{
	TOKEN_PRIVILEGES privileges = { .PrivilegeCount = 1 };
	HANDLE token;
	LUID luid;

	(void)state;
	assert_false(LookupPrivilegeValueW(NULL, u"SeNonsense", &luid));
	assert_int_equal(GetLastError(), ERROR_NO_SUCH_PRIVILEGE);
	assert_true(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token));
	assert_false(
		AdjustTokenPrivileges(token, FALSE, &privileges, sizeof(privileges), NULL, NULL));
	assert_int_equal(GetLastError(), ERROR_ACCESS_DENIED);
	assert_true(CloseHandle(token));
}

static void clocks_can_be_set_and_jump(void **state)
{
	LARGE_INTEGER frequency;
	LARGE_INTEGER before;
	LARGE_INTEGER after;
	FILETIME time;
	uint64_t system;

	(void)state;
	fake_etw_set_clock(2337949, 500, 133600000000000000);
	QueryPerformanceFrequency(&frequency);
	assert_int_equal(frequency.QuadPart, 2337949);
	QueryPerformanceCounter(&before);
	assert_true(before.QuadPart >= 500 && before.QuadPart < 500 + 2337949);
	fake_etw_jump_system_time(-36000000000);
	GetSystemTimePreciseAsFileTime(&time);
	system = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
	assert_true(system >= 133599964000000000 && system < 133599964010000000);
	QueryPerformanceCounter(&after);
	assert_true(after.QuadPart - before.QuadPart < 2337949);
}

static void schemas_are_queried_twice_for_their_size(void **state)
{
	static const EVENT_DESCRIPTOR descriptor = { .Id = 7, .Version = 2 };
	static const TRACE_EVENT_INFO information = { .PropertyCount = 1 };
	EVENT_RECORD record = { .EventHeader = { .ProviderId = some_provider,
						 .EventDescriptor = descriptor } };
	TRACE_EVENT_INFO got;
	ULONG size = 0;

	(void)state;
	fake_etw_tdh_event(&some_provider, &descriptor, false, &information, sizeof(information));
	assert_int_equal(TdhGetEventInformation(&record, 0, NULL, NULL, &size),
			 ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(size, sizeof(information));
	assert_int_equal(TdhGetEventInformation(&record, 0, NULL, &got, &size), 0);
	assert_int_equal(got.PropertyCount, 1);
	record.EventHeader.EventDescriptor.Version = 3;
	assert_int_equal(TdhGetEventInformation(&record, 0, NULL, &got, &size), ERROR_NOT_FOUND);
	record.EventHeader.EventDescriptor.Version = 2;
	record.EventHeader.Flags = EVENT_HEADER_FLAG_CLASSIC_HEADER;
	assert_int_equal(TdhGetEventInformation(&record, 0, NULL, &got, &size), ERROR_NOT_FOUND);
	assert_int_equal(TdhGetEventInformation(NULL, 0, NULL, &got, &size),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(TdhGetEventInformation(&record, 1, NULL, &got, &size),
			 ERROR_INVALID_PARAMETER);
}

static void maps_have_names(void **state)
{
	static const EVENT_MAP_INFO map = { .EntryCount = 1 };
	EVENT_RECORD record = { .EventHeader = { .ProviderId = some_provider } };
	WCHAR name[] = u"States";
	WCHAR wrong[] = u"Stages";
	EVENT_MAP_INFO got;
	ULONG size = sizeof(got);

	(void)state;
	fake_etw_tdh_map(&some_provider, "States", &map, sizeof(map));
	assert_int_equal(TdhGetEventMapInformation(&record, name, &got, &size), 0);
	assert_int_equal(got.EntryCount, 1);
	assert_int_equal(TdhGetEventMapInformation(&record, wrong, &got, &size), ERROR_NOT_FOUND);
}

static void providers_have_names(void **state)
{
	uint8_t bytes[256];
	PROVIDER_ENUMERATION_INFO *information = (PROVIDER_ENUMERATION_INFO *)(void *)bytes;
	ULONG size = 0;

	(void)state;
	fake_etw_tdh_provider(&some_provider, "Some-Provider", true);
	fake_etw_tdh_provider(&other_provider, "Other", false);
	assert_int_equal(TdhEnumerateProviders(NULL, &size), ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(size, 8 + 2 * 24 + 14 * 2 + 6 * 2);
	assert_int_equal(TdhEnumerateProviders(information, &size), 0);
	assert_int_equal(information->NumberOfProviders, 2);
	assert_memory_equal(bytes + information->TraceProviderInfoArray[0].ProviderNameOffset,
			    u"Some-Provider", 28);
	assert_int_equal(information->TraceProviderInfoArray[0].SchemaSource, 0);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, reset, all_is_closed)
	const struct CMUnitTest tests[] = {
		ROW(group_masks_are_set_and_returned),
		ROW(stacks_are_enabled_by_event),
		ROW(the_machine_has_limits_and_intervals),
		ROW(queries_list_registrations_and_enabling_sessions),
		ROW(snapshots_list_processes),
		ROW(snapshots_list_threads),
		ROW(drives_have_targets),
		ROW(privileges_have_names),
		ROW(clocks_can_be_set_and_jump),
		ROW(schemas_are_queried_twice_for_their_size),
		ROW(maps_have_names),
		ROW(providers_have_names),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_machine", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}
