/* SPDX-License-Identifier: MIT */
/*
 * What exists when a session starts: running processes and their threads, for those that no event
 * tells of, and drives.
 *
 * Source: "CreateToolhelp32Snapshot function", "THREADENTRY32 structure", "QueryDosDeviceW
 * function", Microsoft Learn.
 */
#include "live/live_internal_win32.h"

#include <string.h>
#include <tlhelp32.h>

enum { DRIVES = 26, DEVICE_MAX = 1024 };

static void announce_processes(const struct event_sink *sink, HANDLE snapshot)
{
	/* Three bytes of UTF-8 for each unit of UTF-16 at most. */
	char name[3 * MAX_PATH + 1];
	PROCESSENTRY32W entry = { .dwSize = sizeof entry };

	for (BOOL more = Process32FirstW(snapshot, &entry); more;
	     more = Process32NextW(snapshot, &entry)) {
		/* Process 0 is called "[System Process]" here, and Idle in events. */
		if (entry.th32ProcessID != 0 && live_narrow(entry.szExeFile, name, sizeof name)) {
			sink->on_process(sink->context, entry.th32ProcessID, name, strlen(name));
		}
	}
}

static void announce_threads(const struct event_sink *sink, HANDLE snapshot)
{
	THREADENTRY32 entry = { .dwSize = sizeof entry };

	for (BOOL more = Thread32First(snapshot, &entry); more;
	     more = Thread32Next(snapshot, &entry)) {
		sink->on_thread(sink->context, entry.th32ThreadID, entry.th32OwnerProcessID);
	}
}

static void tell_what_runs(const struct event_sink *sink)
{
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);

	if (snapshot == INVALID_HANDLE_VALUE) {
		return; /* names come with the events all the same */
	}
	if (sink->on_process) {
		announce_processes(sink, snapshot);
	}
	if (sink->on_thread) {
		announce_threads(sink, snapshot);
	}
	CloseHandle(snapshot);
}

static void announce_drives(const struct event_sink *sink)
{
	DWORD drives = GetLogicalDrives();

	for (unsigned i = 0; i < DRIVES; i++) {
		WCHAR drive[] = { (WCHAR)('A' + i), ':', 0 };
		const char dos_path[] = { (char)('A' + i), ':', '\0' };
		WCHAR device[DEVICE_MAX];
		char nt_path[3 * DEVICE_MAX];

		/* A drive made with SUBST maps to "\??\C:\folder": no device. */
		if ((drives >> i & 1) && QueryDosDeviceW(drive, device, DEVICE_MAX) > 0 &&
		    live_narrow(device, nt_path, sizeof nt_path) &&
		    strncmp(nt_path, "\\Device\\", 8) == 0) {
			sink->on_volume(sink->context, nt_path, dos_path);
		}
	}
}

void snapshot_announce(const struct event_sink *sink)
{
	tell_what_runs(sink);
	if (sink->on_volume) {
		announce_drives(sink);
	}
	if (sink->on_snapshot_end) {
		sink->on_snapshot_end(sink->context);
	}
}
