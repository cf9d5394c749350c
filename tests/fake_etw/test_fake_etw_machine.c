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

#include "base/os.h"

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

static size_t length_of(const WCHAR *text)
{
	size_t length = 0;

	while (text[length] != 0) {
		length++;
	}
	return length;
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

static void flags_with_a_group_are_kept_as_that_group(void **state)
{
	/* As PerfView's recording net.4.5.2.x64.etl says of 0x0101270f, PROFILE included; and what
	 * phnt calls equivalent. */
	static const struct {
		uint32_t flag;
		unsigned index;
		uint32_t group;
	} moved[] = {
		{ EVENT_TRACE_FLAG_PROFILE, 1, 0x2 },
		{ EVENT_TRACE_FLAG_CSWITCH, 1, 0x4 },
		{ EVENT_TRACE_FLAG_DRIVER, 1, 0x10 },
		{ EVENT_TRACE_FLAG_DPC, 1, 0x80 },
		{ EVENT_TRACE_FLAG_DISPATCHER, 1, 0x200 },
		{ EVENT_TRACE_FLAG_INTERRUPT, 1, 0x4000 },
		{ EVENT_TRACE_FLAG_VIRTUAL_ALLOC, 1, 0x8000 },
		{ EVENT_TRACE_FLAG_SYSTEMCALL, 2, 0x40 },
	};
	struct fake_etw_session session;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", true, 0, &one), 0);
	assert_int_equal(recorder_enable_profile_privilege(), ERROR_SUCCESS);
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		uint32_t masks[8] = { EVENT_TRACE_FLAG_THREAD | moved[i].flag };

		assert_int_equal(TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks,
						     sizeof(masks)),
				 0);
		masks[0] = EVENT_TRACE_FLAG_THREAD;
		masks[moved[i].index] = moved[i].group;
		assert_true(fake_etw_session("one", &session));
		assert_memory_equal(session.masks, masks, sizeof(masks));
		assert_int_equal(session.flags, EVENT_TRACE_FLAG_THREAD | moved[i].flag);
		/* Clearing the flag clears nothing: its bit is elsewhere. */
		assert_int_equal(TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks,
						     sizeof(masks)),
				 0);
		assert_true(fake_etw_session("one", &session));
		assert_memory_equal(session.masks, masks, sizeof(masks));
		/* The flags of an update take the place of all flags. */
		assert_true(fake_etw_other_set_flags("one", moved[i].flag));
		assert_true(fake_etw_session("one", &session));
		assert_int_equal(session.masks[0], 0);
		assert_int_equal(session.masks[moved[i].index], moved[i].group);
		assert_true(fake_etw_other_set_flags("one", EVENT_TRACE_FLAG_PROCESS));
		assert_true(fake_etw_session("one", &session));
		assert_int_equal(session.masks[moved[i].index], 0);
	}
}

static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};

static void stacks_are_enabled_by_event(void **state)
{
	CLASSIC_EVENT_ID ids[257];
	struct fake_etw_session session;
	TRACEHANDLE one;

	(void)state;
	for (size_t i = 0; i < 257; i++) {
		ids[i] = (CLASSIC_EVENT_ID){ .EventGuid = process_class, .Type = (UCHAR)i };
	}
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, &one), 0);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, 25),
			 ERROR_BAD_LENGTH);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, sizeof(ids)),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, 2 * sizeof(*ids)), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.stack_events, 2);
	/* A call replaces the events of the one before. */
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids + 1, sizeof(*ids)), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.stack_events, 1);
	ids[0].EventGuid = some_provider;
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, ids, 2 * sizeof(*ids)),
			 ERROR_INVALID_PARAMETER);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.stack_events, 1);
}

static void a_stack_follows_its_event(void **state)
{
	CLASSIC_EVENT_ID start = { .EventGuid = process_class, .Type = 1 };
	struct fake_etw_event event = {
		.provider = process_class, .classic = true, .process_id = 4, .thread_id = 8
	};
	struct recorder recorder = { 0 };
	uint64_t words[3];
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, &one), 0);
	assert_int_equal(TraceSetInformation(one, TraceStackTracingInfo, &start, sizeof(start)), 0);
	assert_int_equal(recorder_open(&recorder, u"one", PROCESS_TRACE_MODE_RAW_TIMESTAMP), 0);
	recorder_run(&recorder);
	event.descriptor.Opcode = 2;
	assert_int_equal(fake_etw_emit(&event), 1);
	event.descriptor.Opcode = 1;
	assert_int_equal(fake_etw_emit(&event), 1);
	fake_etw_flush("one");
	assert_true(recorder_wait(&recorder, 3));
	assert_int_equal(recorder_stop(u"one"), 0);
	recorder_join(&recorder);
	assert_int_equal(recorder.count, 3);
	assert_int_equal(recorder.events[0].header.EventDescriptor.Opcode, 2);
	assert_int_equal(recorder.events[1].header.EventDescriptor.Opcode, 1);
	assert_int_equal(recorder.events[2].header.EventDescriptor.Opcode, 32);
	assert_int_equal(recorder.events[2].header.ProviderId.Data1, 0xdef2fe46);
	assert_int_equal(recorder.events[2].header.ThreadId, UINT32_MAX);
	memcpy(words, recorder.events[2].payload, sizeof(words));
	assert_true(words[0] == (uint64_t)recorder.events[1].header.TimeStamp.QuadPart);
	assert_true(words[1] == ((uint64_t)8 << 32 | 4));
	assert_true(words[2] == 0xfffff80000001000);
	recorder_close(&recorder);
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

static void letters_come_go_and_move(void **state)
{
	WCHAR target[64];

	(void)state;
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	assert_int_equal(GetLogicalDrives(), 0x10);
	fake_etw_add_volume("e:", "\\Device\\HarddiskVolume9");
	assert_int_equal(QueryDosDeviceW(u"E:", target, 64), 25);
	assert_memory_equal(target, u"\\Device\\HarddiskVolume9", 24 * sizeof(WCHAR));
	fake_etw_remove_drive("E:");
	assert_int_equal(GetLogicalDrives(), 0);
	assert_int_equal(QueryDosDeviceW(u"E:", target, 64), 0);
	assert_int_equal(GetLastError(), ERROR_FILE_NOT_FOUND);
	fake_etw_attach_volume(&(struct fake_etw_volume){ .device = "\\Device\\HarddiskVolume9" });
	fake_etw_add_volume("F:", "\\Device\\HarddiskVolume9");
	fake_etw_detach_volume("\\Device\\HarddiskVolume9");
	assert_int_equal(GetLogicalDrives(), 0);
}

static void volumes_are_listed_with_their_folders(void **state)
{
	static const struct fake_etw_volume first = { .device = "\\Device\\HarddiskVolume3" };
	static const struct fake_etw_volume second = { .device = "\\Device\\HarddiskVolume4",
						       .folders = { "C:\\data\\", "C:\\x\\" } };
	WCHAR name[50], paths[32], target[64], list[200];
	DWORD needed = 0;
	HANDLE find;

	(void)state;
	assert_true(FindFirstVolumeW(name, 50) == INVALID_HANDLE_VALUE);
	assert_int_equal(GetLastError(), ERROR_NO_MORE_FILES);
	fake_etw_attach_volume(&first);
	fake_etw_attach_volume(&second);
	fake_etw_attach_disk(12, NULL, "Disk", 0);
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	fake_etw_add_volume("D:", "\\Device\\HarddiskVolume4");
	assert_true(FindFirstVolumeW(name, 10) == INVALID_HANDLE_VALUE);
	assert_int_equal(GetLastError(), ERROR_FILENAME_EXCED_RANGE);
	find = FindFirstVolumeW(name, 50);
	assert_true(find != INVALID_HANDLE_VALUE);
	assert_memory_equal(name, u"\\\\?\\Volume{", 11 * sizeof(WCHAR));
	assert_true(GetVolumePathNamesForVolumeNameW(name, paths, 32, &needed));
	assert_int_equal(needed, 5);
	assert_memory_equal(paths, u"C:\\\0", 5 * sizeof(WCHAR));
	assert_true(FindNextVolumeW(find, name, 50));
	assert_false(GetVolumePathNamesForVolumeNameW(name, paths, 19, &needed));
	assert_int_equal(GetLastError(), ERROR_MORE_DATA);
	assert_int_equal(needed, 20);
	assert_true(GetVolumePathNamesForVolumeNameW(name, paths, 20, &needed));
	assert_memory_equal(paths, u"D:\\\0C:\\data\\\0C:\\x\\\0", 20 * sizeof(WCHAR));
	name[length_of(name) - 1] = 0; /* "Volume{…}" is a name of the object manager */
	assert_int_equal(QueryDosDeviceW(name + 4, target, 64), 25);
	assert_memory_equal(target, u"\\Device\\HarddiskVolume4", 24 * sizeof(WCHAR));
	assert_false(FindNextVolumeW(find, name, 50));
	assert_int_equal(GetLastError(), ERROR_NO_MORE_FILES);
	assert_true(FindVolumeClose(find));
	assert_false(FindVolumeClose(find));
	/* The list of all names ends with that of the disk. */
	needed = QueryDosDeviceW(NULL, list, 200);
	assert_true(needed > 16);
	assert_memory_equal(list + needed - 18, u"\0PhysicalDrive12\0", 18 * sizeof(WCHAR));
}

static HANDLE open_device(const WCHAR *path)
{
	return CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0,
			   NULL);
}

static bool control(HANDLE device, DWORD code, void *out, DWORD size, DWORD *returned)
{
	STORAGE_PROPERTY_QUERY query = { .PropertyId = StorageDeviceProperty,
					 .QueryType = PropertyStandardQuery };
	bool asks = code == IOCTL_STORAGE_QUERY_PROPERTY;

	return DeviceIoControl(device, code, asks ? &query : NULL, asks ? sizeof query : 0, out,
			       size, returned, NULL);
}

static void disks_and_volumes_answer_control_codes(void **state)
{
	static const struct fake_etw_volume spanned = { .device = "\\Device\\HarddiskVolume3",
							.disks = { 1, 2 },
							.disk_count = 2 };
	static const struct fake_etw_volume plain = { .device = "\\Device\\HarddiskVolume4",
						      .disks = { 1 },
						      .disk_count = 1,
						      .partition = 3 };
	union {
		STORAGE_DEVICE_DESCRIPTOR descriptor;
		VOLUME_DISK_EXTENTS extents;
		STORAGE_DEVICE_NUMBER number;
		DISK_GEOMETRY geometry;
		char bytes[128];
	} out;
	HANDLE disk, volume;
	WCHAR name[50];
	DWORD got;
	HANDLE find;

	(void)state;
	assert_true(open_device(u"\\\\.\\PhysicalDrive1") == INVALID_HANDLE_VALUE);
	assert_int_equal(GetLastError(), ERROR_FILE_NOT_FOUND);
	fake_etw_attach_disk(1, "ACME", "Disk 9", 4096);
	fake_etw_attach_volume(&spanned);
	disk = open_device(u"\\\\.\\PhysicalDrive1");
	assert_true(disk != INVALID_HANDLE_VALUE);
	assert_true(control(disk, IOCTL_STORAGE_QUERY_PROPERTY, &out, sizeof out, &got));
	assert_string_equal(out.bytes + out.descriptor.VendorIdOffset, "ACME");
	assert_string_equal(out.bytes + out.descriptor.ProductIdOffset, "Disk 9");
	assert_int_equal(out.descriptor.Size, got);
	assert_true(control(disk, IOCTL_STORAGE_QUERY_PROPERTY, &out, 8, &got));
	assert_int_equal(got, 8); /* what fits */
	assert_true(control(disk, IOCTL_DISK_GET_DRIVE_GEOMETRY, &out, sizeof out, &got));
	assert_int_equal(out.geometry.BytesPerSector, 4096);
	assert_false(control(disk, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, &out, sizeof out, &got));
	assert_int_equal(GetLastError(), ERROR_INVALID_FUNCTION);
	find = FindFirstVolumeW(name, 50);
	name[length_of(name) - 1] = 0;
	volume = open_device(name);
	assert_true(volume != INVALID_HANDLE_VALUE);
	assert_false(control(volume, IOCTL_STORAGE_GET_DEVICE_NUMBER, &out, sizeof out, &got));
	assert_int_equal(GetLastError(), ERROR_INVALID_FUNCTION);
	assert_false(control(volume, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, &out, sizeof out.extents,
			     &got));
	assert_int_equal(GetLastError(), ERROR_MORE_DATA);
	assert_int_equal(out.extents.NumberOfDiskExtents, 2);
	assert_true(control(volume, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, &out, sizeof out, &got));
	assert_int_equal(got, 8 + 2 * sizeof(DISK_EXTENT));
	assert_int_equal(out.extents.Extents[0].DiskNumber, 1);
	assert_true(CloseHandle(volume));
	fake_etw_detach_volume(spanned.device);
	fake_etw_attach_volume(&plain);
	assert_false(FindNextVolumeW(find, name, 10)); /* the new one, for which there is no room */
	assert_true(FindNextVolumeW(find, name, 50));
	name[length_of(name) - 1] = 0;
	volume = open_device(name);
	assert_true(control(volume, IOCTL_STORAGE_GET_DEVICE_NUMBER, &out, sizeof out, &got));
	assert_int_equal(out.number.DeviceNumber, 1);
	assert_int_equal(out.number.PartitionNumber, 3);
	assert_true(FindVolumeClose(find));
	assert_true(CloseHandle(volume));
	fake_etw_detach_disk(1);
	assert_false(control(disk, IOCTL_DISK_GET_DRIVE_GEOMETRY, &out, sizeof out, &got));
	assert_int_equal(GetLastError(), ERROR_FILE_NOT_FOUND);
	assert_true(CloseHandle(disk));
}

static void hold_device(void *context)
{
	DISK_GEOMETRY geometry;
	DWORD got;

	control(context, IOCTL_DISK_GET_DRIVE_GEOMETRY, &geometry, sizeof geometry, &got);
}

static void devices_answer_wrongly_late_or_never(void **state)
{
	struct os_thread thread;
	char bytes[8];
	HANDLE disk;
	DWORD got;

	(void)state;
	fake_etw_attach_disk(0, NULL, "Disk", 512);
	disk = open_device(u"\\\\.\\PhysicalDrive0");
	fake_etw_device_answer("PhysicalDrive0", IOCTL_DISK_GET_DRIVE_GEOMETRY, ERROR_NOT_READY,
			       "xyz", 3);
	assert_false(control(disk, IOCTL_DISK_GET_DRIVE_GEOMETRY, bytes, sizeof bytes, &got));
	assert_int_equal(GetLastError(), ERROR_NOT_READY);
	assert_int_equal(got, 3);
	assert_memory_equal(bytes, "xyz", 3);
	fake_etw_device_hang("PhysicalDrive0", true);
	assert_true(os_thread_start(&thread, hold_device, disk, NULL));
	while (fake_etw_hanging() == 0) {
		Sleep(1);
	}
	fake_etw_device_hang("PhysicalDrive0", false);
	os_thread_join(&thread);
	assert_true(CloseHandle(disk));
}

static void paths_of_volumes_need_not_end(void **state)
{
	static const uint16_t units[] = { 'C', ':', 0xd800 };
	WCHAR name[50], paths[4];
	DWORD needed;
	HANDLE find;

	(void)state;
	fake_etw_attach_volume(&(struct fake_etw_volume){ .device = "\\Device\\HarddiskVolume9" });
	fake_etw_volume_paths("\\Device\\HarddiskVolume9", units, 3);
	find = FindFirstVolumeW(name, 50);
	assert_false(GetVolumePathNamesForVolumeNameW(name, paths, 2, &needed));
	assert_int_equal(GetLastError(), ERROR_MORE_DATA);
	assert_true(GetVolumePathNamesForVolumeNameW(name, paths, 4, &needed));
	assert_int_equal(needed, 3);
	assert_memory_equal(paths, units, 3 * sizeof *units);
	assert_true(FindVolumeClose(find));
}

static void a_machine_can_be_restless(void **state)
{
	static const struct fake_etw_options restless = { .restless_drives = true };
	WCHAR first[64] = { 0 }, now[64];
	bool differs = false;

	(void)state;
	fake_etw_reset(&restless);
	for (unsigned i = 0; !differs && i < 16; i++) {
		if (GetLogicalDrives() == 0) {
			continue;
		}
		assert_int_equal(QueryDosDeviceW(u"Q:", now, 64), 28);
		if (first[0] == 0) {
			memcpy(first, now, sizeof first);
		}
		differs = memcmp(first, now, 27 * sizeof(WCHAR)) != 0;
	}
	assert_true(differs);
}

static void volumes_have_a_file_system_or_none(void **state)
{
	static const struct fake_etw_volume ntfs = { .device = "\\Device\\HarddiskVolume3",
						     .file_system = "NTFS" };
	static const struct fake_etw_volume raw = { .device = "\\Device\\HarddiskVolume4" };
	WCHAR name[50], file_system[8];
	HANDLE find;

	(void)state;
	fake_etw_attach_volume(&ntfs);
	fake_etw_attach_volume(&raw);
	find = FindFirstVolumeW(name, 50);
	assert_true(GetVolumeInformationW(name, NULL, 0, NULL, NULL, NULL, file_system, 8));
	assert_memory_equal(file_system, u"NTFS", 5 * sizeof(WCHAR));
	assert_false(GetVolumeInformationW(name, NULL, 0, NULL, NULL, NULL, file_system, 4));
	assert_true(FindNextVolumeW(find, name, 50));
	assert_false(GetVolumeInformationW(name, NULL, 0, NULL, NULL, NULL, file_system, 8));
	assert_int_equal(GetLastError(), ERROR_UNRECOGNIZED_VOLUME);
	assert_true(FindVolumeClose(find));
}

static void services_are_listed_in_parts(void **state)
{
	ENUM_SERVICE_STATUS_PROCESSW list[8];
	DWORD needed, count, resume = 0;
	SC_HANDLE manager =
		OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE);

	(void)state;
	assert_non_null(manager);
	fake_etw_add_service("Dnscache", 8, 5);
	fake_etw_add_service("Schedule", 12, 6);
	fake_etw_add_service("Themes", 12, 7);
#define LIST(at, size)                                                                      \
	EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, SERVICE_ACTIVE, \
			      (LPBYTE)(at), size, &needed, &count, &resume, NULL)
	assert_false(LIST(NULL, 0));
	assert_int_equal(GetLastError(), ERROR_MORE_DATA);
	assert_int_equal(count, 0);
	assert_int_equal(needed, 3 * sizeof *list + 2 * 2 * (9 + 9 + 7));
	assert_false(LIST(list, 200));
	assert_int_equal(count, 2);
	assert_int_equal(resume, 2);
	assert_int_equal(needed, sizeof *list + 2 * 2 * 7);
	assert_memory_equal(list[1].lpServiceName, u"Schedule", 9 * sizeof(WCHAR));
	assert_int_equal(list[0].ServiceStatusProcess.dwServiceType, SERVICE_WIN32_OWN_PROCESS);
	assert_int_equal(list[1].ServiceStatusProcess.dwServiceType, SERVICE_WIN32_SHARE_PROCESS);
	assert_true(LIST(list, sizeof list));
	assert_int_equal(count, 1);
	assert_int_equal(resume, 0);
	assert_int_equal(list[0].ServiceStatusProcess.dwProcessId, 12);
	assert_true(CloseServiceHandle(manager));
}

static void services_have_tags(void **state)
{
	struct {
		ULONG pid;
		struct {
			ULONG count;
			struct {
				ULONG type, tag;
				PWSTR name, group;
			} * elements;
		} * list;
	} query = { .pid = 12 };
	typedef ULONG(WINAPI * query_tags)(PCWSTR, ULONG, PVOID);
	query_tags function;

	(void)state;
#ifdef _WIN32
	(void)query;
	(void)function;
	skip(); /* the function is found by name in the real advapi32.dll */
#else
	fake_etw_add_service("Dnscache", 8, 5);
	fake_etw_add_service("Schedule", 12, 6);
	fake_etw_add_service("Themes", 12, 7);
	assert_null(GetProcAddress(GetModuleHandleW(u"advapi32.dll"), "Nonsense"));
	function = (query_tags)(void (*)(void))GetProcAddress(GetModuleHandleW(u"advapi32.dll"),
							      "I_QueryTagInformation");
	assert_non_null(function);
	assert_int_equal(function(NULL, 3, &query), 0);
	assert_int_equal(query.list->count, 2);
	assert_int_equal(query.list->elements[1].tag, 7);
	assert_memory_equal(query.list->elements[1].name, u"Themes", 7 * sizeof(WCHAR));
	assert_null(LocalFree(query.list));
	query.pid = 13;
	assert_int_equal(function(NULL, 3, &query), ERROR_SERVICE_NOT_ACTIVE);
#endif
}

static void processes_have_memory(void **state)
{
	typedef LONG(WINAPI * query_system)(ULONG, PVOID, ULONG, ULONG *);
	query_system function;
	uint8_t answer[2048];
	uint64_t working_set;
	uint32_t next, pid;
	ULONG size = 0;

	(void)state;
#ifdef _WIN32
	(void)function;
	(void)answer;
	(void)working_set;
	(void)next;
	(void)pid;
	(void)size;
	skip(); /* the function is found by name in the real ntdll.dll */
#else
	fake_etw_add_process(1234, 4, "b.exe");
	fake_etw_set_memory(1234, 5000, 3000, 9000, 77);
	function = (query_system)(void (*)(void))GetProcAddress(GetModuleHandleW(u"ntdll.dll"),
								"NtQuerySystemInformation");
	assert_non_null(function);
	assert_int_equal((uint32_t)function(5, answer, 100, &size), 0xC0000004);
	assert_true(size > 100 && size <= sizeof answer);
	assert_int_equal(function(5, answer, sizeof answer, &size), 0);
	/* Idle, System, b.exe */
	memcpy(&next, answer, sizeof next);
	memcpy(&pid, answer + 2 * next + 80, sizeof pid);
	memcpy(&working_set, answer + 2 * next + 144, sizeof working_set);
	assert_int_equal(pid, 1234);
	assert_int_equal(working_set, 5000);
	memcpy(&next, answer + 2 * next, sizeof next);
	assert_int_equal(next, 0);
#endif
}

static void the_registry_has_numbers(void **state)
{
	uint32_t number = 0;
	DWORD size = sizeof number;

	(void)state;
	fake_etw_set_registry("SOFTWARE\\Fake", "Number", 7);
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, u"software\\fake", u"Number",
				      RRF_RT_REG_DWORD, NULL, &number, &size),
			 0);
	assert_int_equal(number, 7);
	assert_int_equal(size, 4);
	size = 2;
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, u"SOFTWARE\\Fake", u"Number",
				      RRF_RT_REG_DWORD, NULL, &number, &size),
			 ERROR_MORE_DATA);
	size = 4;
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, u"SOFTWARE\\Fake", u"Other",
				      RRF_RT_REG_DWORD, NULL, &number, &size),
			 ERROR_FILE_NOT_FOUND);
}

#define A_KEY "SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\CurrentVersion\\Winevt\\Publishers\\{a}"

static void the_registry_has_values_of_providers(void **state)
{
	static const WCHAR path[] = u"SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\"
				    u"CurrentVersion\\Winevt\\Publishers\\{a}";
	uint8_t bytes[8];
	HKEY key;

	(void)state;
	assert_int_equal(RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, NULL, REG_OPTION_VOLATILE,
					 KEY_SET_VALUE, NULL, &key, NULL),
			 0);
	assert_int_equal(RegSetValueExW(key, u"Name", 0, REG_BINARY, (const BYTE *)"abc", 3), 0);
	assert_int_equal(RegSetValueExW(key, u"Name", 0, REG_BINARY, (const BYTE *)"de", 2), 0);
	assert_int_equal(RegCloseKey(key), 0);
	assert_int_equal(fake_etw_registry_values(), 1);
	assert_int_equal(fake_etw_registry_bytes(A_KEY, "Name", bytes, sizeof bytes), 2);
	assert_memory_equal(bytes, "de", 2);
	assert_int_equal(RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, path, u"Name"), 0);
	assert_int_equal(RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, path, u"Name"),
			 ERROR_FILE_NOT_FOUND);
	assert_int_equal(fake_etw_registry_values(), 0);
}

static void containers_have_no_system_loggers(void **state)
{
	static const struct fake_etw_options container = { .container = true };
	uint32_t number = 0;
	DWORD size = sizeof number;
	TRACEHANDLE one;

	(void)state;
	fake_etw_reset(&container);
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, u"SYSTEM\\CurrentControlSet\\Control",
				      u"ContainerType", RRF_RT_REG_DWORD, NULL, &number, &size),
			 0);
	assert_true(number != 0);
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, u"SYSTEM\\CurrentControlSet\\Control",
				      u"ContainerType", RRF_RT_ANY, NULL, NULL, NULL),
			 0);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, &one),
			 ERROR_ACCESS_DENIED);
	assert_int_equal(recorder_start(u"user", false, 0, &one), 0);
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

/* Rounded up. */
static int64_t seconds_since(uint64_t begun_ns)
{
	return 1 + (int64_t)((os_monotonic_ns() - begun_ns) / UINT64_C(1000000000));
}

static void clocks_can_be_set_and_jump(void **state)
{
	const uint64_t begun_ns = os_monotonic_ns();
	LARGE_INTEGER frequency;
	LARGE_INTEGER before;
	LARGE_INTEGER after;
	FILETIME time;
	int64_t system;

	(void)state;
	fake_etw_set_clock(2337949, 500, 133600000000000000);
	QueryPerformanceFrequency(&frequency);
	assert_int_equal(frequency.QuadPart, 2337949);
	QueryPerformanceCounter(&before);
	assert_true(before.QuadPart >= 500 &&
		    before.QuadPart < 500 + 2337949 * seconds_since(begun_ns));
	fake_etw_jump_system_time(-36000000000);
	GetSystemTimePreciseAsFileTime(&time);
	system = (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
	assert_true(system >= 133599964000000000 &&
		    system < 133599964000000000 + 10000000 * seconds_since(begun_ns));
	QueryPerformanceCounter(&after);
	assert_true(after.QuadPart - before.QuadPart < 2337949 * seconds_since(begun_ns));
}

static int64_t system_now(void)
{
	FILETIME time;

	GetSystemTimePreciseAsFileTime(&time);
	return (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
}

static void the_counter_may_be_too_fast(void **state)
{
	static const struct fake_etw_options machine = { .counter_ppm = 1000000 };
	LARGE_INTEGER before, after;
	int64_t system;

	(void)state;
	fake_etw_reset(&machine);
	fake_etw_set_clock(10000000, 0, 133600000000000000);
	QueryPerformanceCounter(&before);
	system = system_now();
	Sleep(50);
	system = system_now() - system;
	QueryPerformanceCounter(&after);
	/* Twice as fast, in steps of a millisecond. */
	assert_true(after.QuadPart - before.QuadPart >= 2 * system - 20000);
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

static void manifests_describe_their_events(void **state)
{
	static const TRACE_EVENT_INFO information = { .PropertyCount = 1 };
	static const EVENT_MAP_INFO map = { .EntryCount = 1 };
	EVENT_DESCRIPTOR descriptor = { .Id = 7, .Version = 2 };
	EVENT_RECORD record = { .EventHeader = { .ProviderId = some_provider,
						 .EventDescriptor = descriptor } };
	GUID provider = some_provider;
	WCHAR name[] = u"States";
	EVENT_MAP_INFO got_map;
	TRACE_EVENT_INFO got;
	ULONG size = 0;

	(void)state;
	fake_etw_tdh_event(&some_provider, &descriptor, false, &information, sizeof(information));
	fake_etw_tdh_map(&some_provider, "States", &map, sizeof(map));
	assert_int_equal(TdhGetManifestEventInformation(&provider, &descriptor, NULL, &size),
			 ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(size, sizeof(information));
	assert_int_equal(TdhGetManifestEventInformation(&provider, &descriptor, &got, &size), 0);
	assert_int_equal(got.PropertyCount, 1);
	size = sizeof(got_map);
	assert_int_equal(TdhGetEventMapInformation(&record, name, &got_map, &size), 0);
	descriptor.Version = 3;
	assert_int_equal(TdhGetManifestEventInformation(&provider, &descriptor, &got, &size),
			 ERROR_NOT_FOUND);
	assert_int_equal(TdhGetManifestEventInformation(NULL, &descriptor, &got, &size),
			 ERROR_INVALID_PARAMETER);
}

static void providers_list_their_keywords(void **state)
{
	uint8_t bytes[256];
	PROVIDER_FIELD_INFOARRAY *list = (PROVIDER_FIELD_INFOARRAY *)(void *)bytes;
	GUID provider = some_provider, other = other_provider;
	ULONG size = 0;

	(void)state;
	fake_etw_tdh_keyword(&some_provider, "Reads", 1);
	fake_etw_tdh_keyword(&other_provider, "Other", 2);
	fake_etw_tdh_keyword(&some_provider, "Writes", 0x30);
	assert_int_equal(TdhEnumerateProviderFieldInformation(&provider, EventKeywordInformation,
							      NULL, &size),
			 ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(size, 8 + 2 * 16 + 6 * 2 + 7 * 2);
	assert_int_equal(TdhEnumerateProviderFieldInformation(&provider, EventKeywordInformation,
							      list, &size),
			 0);
	assert_int_equal(list->NumberOfElements, 2);
	assert_int_equal(list->FieldInfoArray[1].Value, 0x30);
	assert_memory_equal(bytes + list->FieldInfoArray[1].NameOffset, u"Writes", 14);
	fake_etw_reset(NULL);
	assert_int_equal(TdhEnumerateProviderFieldInformation(&other, EventKeywordInformation, list,
							      &size),
			 ERROR_NOT_FOUND);
	assert_int_equal(TdhEnumerateProviderFieldInformation(NULL, EventKeywordInformation, list,
							      &size),
			 ERROR_INVALID_PARAMETER);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, reset, all_is_closed)
	const struct CMUnitTest tests[] = {
		ROW(group_masks_are_set_and_returned),
		ROW(flags_with_a_group_are_kept_as_that_group),
		ROW(stacks_are_enabled_by_event),
		ROW(a_stack_follows_its_event),
		ROW(the_machine_has_limits_and_intervals),
		ROW(queries_list_registrations_and_enabling_sessions),
		ROW(snapshots_list_processes),
		ROW(snapshots_list_threads),
		ROW(drives_have_targets),
		ROW(letters_come_go_and_move),
		ROW(volumes_are_listed_with_their_folders),
		ROW(disks_and_volumes_answer_control_codes),
		ROW(devices_answer_wrongly_late_or_never),
		ROW(paths_of_volumes_need_not_end),
		ROW(a_machine_can_be_restless),
		ROW(volumes_have_a_file_system_or_none),
		ROW(services_are_listed_in_parts),
		ROW(services_have_tags),
		ROW(processes_have_memory),
		ROW(the_registry_has_numbers),
		ROW(the_registry_has_values_of_providers),
		ROW(containers_have_no_system_loggers),
		ROW(privileges_have_names),
		ROW(clocks_can_be_set_and_jump),
		ROW(the_counter_may_be_too_fast),
		ROW(schemas_are_queried_twice_for_their_size),
		ROW(maps_have_names),
		ROW(providers_have_names),
		ROW(manifests_describe_their_events),
		ROW(providers_list_their_keywords),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_machine", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}
