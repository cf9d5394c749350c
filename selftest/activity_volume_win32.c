/* SPDX-License-Identifier: MIT */
/*
 * Makes a volume that did not exist when the session started: a virtual hard disk in the temporary
 * folder, on which diskpart.exe makes a formatted volume with a drive letter.
 *
 * diskpart ends a script at its first error, and every command here acts on the disk that the
 * command before has created or selected by the path of its file; no other disk is touched. The
 * script is ASCII, because diskpart documents no other encoding.
 *
 * Sources: "diskpart", "create vdisk", "attach vdisk", "detach vdisk", Microsoft Learn.
 */
#include "selftest/activity_win32.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/os_win32.h"

enum { PIECES = 16, DISKPART_WAIT_MS = 90000, SCRIPT = 2048 };

static bool is_ascii(const wchar_t *text)
{
	while (*text != L'\0' && *text < 128) {
		text++;
	}
	return *text == L'\0';
}

/* Returns a drive letter that no volume has, from the end of the alphabet; 0 if there is none. */
static wchar_t free_letter(void)
{
	DWORD drives = GetLogicalDrives();

	for (wchar_t letter = L'Z'; letter > L'C'; letter--) {
		if ((drives >> (letter - L'A') & 1) == 0) {
			return letter;
		}
	}
	return 0;
}

static bool write_script(const wchar_t *path, const char *script, struct etw_error *err)
{
	HANDLE file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW,
				  FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	DWORD size = 0;

	if (file == INVALID_HANDLE_VALUE) {
		return error_set_last(err, "a script for diskpart cannot be created");
	}
	if (!WriteFile(file, script, (DWORD)strlen(script), &size, NULL)) {
		error_set_last(err, "a script for diskpart cannot be written");
	}
	CloseHandle(file);
	return size > 0;
}

/* Finds the path of diskpart.exe. Only the one in the system folder is trusted. */
static bool find_diskpart(const struct activity_work *work, wchar_t path[MAX_PATH],
			  struct etw_error *err)
{
	static const wchar_t name[] = L"\\diskpart.exe";
	UINT size;

	if (work->options.diskpart) {
		return wcslen(work->options.diskpart) < MAX_PATH &&
		       wcscpy(path, work->options.diskpart) != NULL;
	}
	size = GetSystemDirectoryW(path, MAX_PATH);
	if (size == 0 || size + sizeof name / sizeof name[0] > MAX_PATH) {
		return error_set(err, ETW_ERROR_SYSTEM, "there is no system folder");
	}
	wcscat(path, name);
	return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES ||
	       error_set(err, ETW_ERROR_UNSUPPORTED, "there is no diskpart.exe");
}

static bool run_diskpart(const struct activity_work *work, const char *script,
			 struct etw_error *err)
{
	wchar_t program[MAX_PATH], path[MAX_PATH], arguments[MAX_PATH + 16];
	HANDLE process;
	bool good;

	if (!find_diskpart(work, program, err) ||
	    !activity_path(work, L"diskpart.txt", path, err) || !write_script(path, script, err)) {
		return false;
	}
	_snwprintf(arguments, MAX_PATH + 16, L"/s \"%ls\"", path);
	process = activity_start(program, arguments, NULL, err);
	good = process && activity_wait(process, DISKPART_WAIT_MS, err);
	if (!good) {
		error_prefix(err, "diskpart.exe");
	}
	DeleteFileW(path);
	return good;
}

bool activity_attach_volume(struct activity_work *work, struct activity *done,
			    struct etw_error *err)
{
	wchar_t letter = work->options.drive ? work->options.drive : free_letter();
	char script[SCRIPT];

	(void)done;
	if (work->options.no_new_volume) {
		return error_set(err, ETW_ERROR_UNSUPPORTED, "no virtual disk is wanted");
	}
	if (letter == 0) {
		return error_set(err, ETW_ERROR_LIMIT, "all drive letters are in use");
	}
	if (!is_ascii(work->folder)) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "the temporary folder has a name outside ASCII");
	}
	snprintf(script, sizeof script,
		 "create vdisk file=\"%ls\\later.vhd\" maximum=64 type=expandable\r\n"
		 "attach vdisk\r\n"
		 "create partition primary\r\n"
		 "format fs=ntfs label=etw_self_test quick\r\n"
		 "assign letter=%c\r\n",
		 work->folder, (char)letter);
	work->drive = letter; /* set before a failure is known: the volume may be attached anyway */
	if (!run_diskpart(work, script, err)) {
		return false;
	}
	work->drive_since = GetTickCount64();
	return true;
}

bool activity_use_volume(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	ULONGLONG due = work->drive_since + work->options.volume_ms;
	wchar_t path[MAX_PATH];
	ULONGLONG now = GetTickCount64();

	if (!activity_sleep(work, now < due ? due - now : 0, err)) {
		return false;
	}
	_snwprintf(path, MAX_PATH, L"%lc:\\etw_self_test_later", work->drive);
	if (!CreateDirectoryW(path, NULL)) {
		return error_set_last(err, "the virtual disk cannot be written to");
	}
	wcscat(path, L"\\later.dat");
	snprintf(done->later_volume, sizeof done->later_volume, "%c:", (char)work->drive);
	return activity_write_file(path, 0, PIECES, &done->written_bytes[ACTIVITY_LATER_VOLUME],
				   err);
}

void activity_detach_volume(struct activity_work *work)
{
	wchar_t path[MAX_PATH];
	char script[SCRIPT];

	if (work->drive == 0 || !activity_path(work, L"later.vhd", path, NULL)) {
		return;
	}
	snprintf(script, sizeof script, "select vdisk file=\"%ls\"\r\ndetach vdisk\r\n", path);
	if (GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES) {
		run_diskpart(work, script, NULL);
		DeleteFileW(path);
	}
	work->drive = 0;
}
