/* SPDX-License-Identifier: MIT */
/*
 * What base/os.h promises of Windows alone: UTF-8 paths, files that others go on using.
 */
#include "base/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <sddl.h>
#include <winioctl.h>

#include <cmocka.h>

#include "base/os_win32.h"
#include "tests/support/temporary.h"

static void a_path_is_utf8(void **state)
{
	static const char name[] = "temporary-\xc3\xa9\xe2\x82\xac\xf0\x9f\x93\x88.etl";
	HANDLE writer = CreateFileW(L"temporary-\x00e9\x20ac\xd83d\xdcc8.etl", GENERIC_WRITE, 0,
				    NULL, CREATE_ALWAYS, 0, NULL);
	struct os_file *file;
	struct etw_error err = { 0 };

	(void)state;
	assert_true(writer != INVALID_HANDLE_VALUE);
	CloseHandle(writer);
	file = os_file_open(name, &err);
	assert_string_equal(err.text, "");
	assert_non_null(file);
	os_file_close(file);
	assert_true(DeleteFileW(L"temporary-\x00e9\x20ac\xd83d\xdcc8.etl"));
	assert_null(os_file_open("\xff.etl", &err));
	assert_string_equal(err.text, "cannot be opened: its name is not UTF-8");
}

static void a_recording_may_be_written_renamed_and_deleted_while_it_is_read(void **state)
{
	char path[TEMPORARY_PATH_SIZE], other[TEMPORARY_PATH_SIZE], bytes[16];
	struct os_file *file;
	DWORD written;
	HANDLE writer;
	size_t got;

	(void)state;
	temporary_path(path, "etl");
	temporary_path(other, "etl");
	writer = CreateFileA(path, GENERIC_WRITE | DELETE,
			     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			     CREATE_ALWAYS, 0, NULL);
	assert_true(writer != INVALID_HANDLE_VALUE);
	assert_true(WriteFile(writer, "0123", 4, &written, NULL));
	file = os_file_open(path, NULL);
	assert_non_null(file);
	assert_true(WriteFile(writer, "4567", 4, &written, NULL));
	CloseHandle(writer);
	assert_true(MoveFileA(path, other));
	assert_true(DeleteFileA(other));
	assert_true(os_file_read(file, 1, bytes, sizeof bytes, &got, NULL));
	assert_int_equal(got, 3);
	assert_memory_equal(bytes, "123", 3);
	os_file_close(file);
}

static void devices_are_no_files(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	assert_null(os_file_open("NUL", &err));
	assert_string_equal(err.text, "is a device, pipe or socket, not a regular file");
}

static void an_error_number_has_a_sentence(void **state)
{
	char text[128];

	(void)state;
	os_error_text(ERROR_ACCESS_DENIED, text, sizeof text);
	assert_true(strlen(text) > 5);
	assert_true(text[strlen(text) - 1] != '.' && text[strlen(text) - 1] != '\n');
	os_error_text(0x7ffffff, text, sizeof text);
	assert_string_equal(text, "error 134217727");
}

/* 10013 says "access", and no page of Windows connects it with reserved ports. */
static void a_port_that_cannot_be_used_comes_with_advice(void **state)
{
	(void)state;
	assert_non_null(strstr(os_listen_advice(10013), "Windows has reserved it"));
	assert_non_null(strstr(os_listen_advice(10013),
			       "\"netsh int ipv4 show excludedportrange protocol=tcp\""));
	assert_non_null(strstr(os_listen_advice(10048), "another program listens there"));
	assert_null(os_listen_advice(10049)); /* not an address of this machine */
}

/* Under Wine there is a console in a terminal only: tests/e2e/windows.sh runs this test in one. */
static void a_console_shows_utf_8_and_is_left_as_it_was(void **state)
{
	(void)state;
	if (GetConsoleOutputCP() == 0) {
		console_utf8(); /* does nothing */
		console_restore();
		skip();
	}
	assert_true(SetConsoleOutputCP(850));
	console_utf8();
	assert_int_equal(GetConsoleOutputCP(), CP_UTF8);
	console_utf8();
	console_restore();
	assert_int_equal(GetConsoleOutputCP(), 850);
	console_restore();
	assert_int_equal(GetConsoleOutputCP(), 850);
}

static void stop_after_reload(void *context)
{
	++*(unsigned *)context;
	os_stop_ask("reloaded");
}

/* As the control of a service does it. */
static void the_program_asks_itself_to_reload(void **state)
{
	struct etw_error err = { 0 };
	unsigned count = 0;

	(void)state;
	assert_true(os_stop_catch_service(&err));
	os_reload_ask();
	assert_string_equal(os_stop_wait(UINT64_MAX, stop_after_reload, &count), "reloaded");
	assert_int_equal(count, 1);
}

static void check_owner_alone(const char *path)
{
	/* Everyone, authenticated users, users: what a folder usually passes on. */
	static const wchar_t *const others[] = { L"S-1-1-0", L"S-1-5-11", L"S-1-5-32-545" };
	union {
		SECURITY_DESCRIPTOR descriptor;
		uint8_t bytes[4096];
	} security;
	DWORD size;
	BOOL there, defaulted;
	PACL list;

	assert_true(GetFileSecurityA(path, DACL_SECURITY_INFORMATION, &security.descriptor,
				     sizeof security, &size));
	assert_true(GetSecurityDescriptorDacl(&security.descriptor, &there, &list, &defaulted));
	assert_true(there && list); /* without a list, all have all rights */
	for (DWORD i = 0; i < list->AceCount; i++) {
		ACCESS_ALLOWED_ACE *entry;
		wchar_t *who;

		assert_true(GetAce(list, i, (void **)&entry));
		assert_true(ConvertSidToStringSidW(&entry->SidStart, &who));
		for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
			assert_true(wcscmp(who, others[k]) != 0 || entry->Mask == 0 ||
				    entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE);
		}
		LocalFree(who);
	}
}

static void a_file_that_is_created_is_for_its_owner_alone(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(os_file_write_whole(path, "a", 1, &err));
	check_owner_alone(path);
	assert_true(DeleteFileA(path));
}

/* SY: the system; BA: administrators; WD: everyone ("SID Strings", Microsoft Learn). */
static void a_folder_that_others_may_write_to_has_advice(void **state)
{
	static const struct {
		const wchar_t *rights;
		bool open;
	} cases[] = {
		{ L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)", false },
		{ L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;OW)(A;OICI;FR;;;WD)", false }, /* read */
		{ L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;OW)(A;OICI;FA;;;WD)", true },
	};
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		PSECURITY_DESCRIPTOR rights;

		temporary_path(path, "folder");
		assert_true(CreateDirectoryA(path, NULL));
		assert_true(ConvertStringSecurityDescriptorToSecurityDescriptorW(
			cases[i].rights, SDDL_REVISION_1, &rights, NULL));
		/* Not when it is created: in Wine the umask would be taken from it. */
		assert_true(SetFileSecurityA(path, DACL_SECURITY_INFORMATION, rights));
		LocalFree(rights);
		assert_int_equal(os_folder_open_to_others(path) != NULL, cases[i].open);
		assert_true(RemoveDirectoryA(path));
	}
}

static bool count_name(void *context, const char *name)
{
	*(unsigned *)context += name[0] != '.';
	return true;
}

static unsigned count_names(const char *folder)
{
	unsigned count = 0;

	os_folder_list(folder, count_name, &count);
	return count;
}

static void a_temporary_file_is_gone_when_its_last_handle_is_closed(void **state)
{
	char folder[TEMPORARY_PATH_SIZE];
	wchar_t full[MAX_PATH], before[MAX_PATH] = L"";
	struct etw_error err = { 0 };
	struct os_file *file, *shared;
	wchar_t *wide;

	(void)state;
	temporary_path(folder, "folder");
	assert_true(os_folder_make(folder, NULL, &err));
	wide = wide_from(folder);
	assert_non_null(wide);
	assert_true(GetFullPathNameW(wide, MAX_PATH, full, NULL) > 0);
	/* "GetTempPathW function": the first place that is looked at. */
	GetEnvironmentVariableW(L"TMP", before, MAX_PATH);
	assert_true(SetEnvironmentVariableW(L"TMP", full));
	file = os_file_temporary(&err);
	assert_string_equal(err.text, "");
	assert_non_null(file);
	assert_int_equal(count_names(folder), 1);
	assert_true(os_file_append(file, "abc", 3, &err));
	shared = os_file_share(file, &err);
	assert_non_null(shared);
	os_file_close(file);
	assert_int_equal(os_file_size(shared), 3);
	os_file_close(shared);
	assert_int_equal(count_names(folder), 0);
	assert_true(SetEnvironmentVariableW(L"TMP", before[0] ? before : NULL));
	assert_true(RemoveDirectoryW(wide));
	free(wide);
}

/*
 * Makes a folder that leads to another one ("REPARSE_DATA_BUFFER structure", ntifs.h, Microsoft
 * Learn: a mount point). False where the system has none: Wine 8.
 */
static bool make_junction(const char *path, const char *target)
{
	struct {
		DWORD tag;
		WORD size, reserved;
		WORD substitute_at, substitute_size, print_at, print_size;
		wchar_t names[2 * MAX_PATH];
	} junction = { .tag = IO_REPARSE_TAG_MOUNT_POINT };
	wchar_t full[MAX_PATH], *wide = wide_from(target);
	HANDLE folder;
	DWORD size;
	bool made;

	assert_non_null(wide);
	size = GetFullPathNameW(wide, MAX_PATH, full, NULL);
	free(wide);
	assert_in_range(size, 1, MAX_PATH - 1);
	size = (DWORD)swprintf(junction.names, MAX_PATH + 4, L"\\??\\%ls", full) * sizeof(wchar_t);
	junction.substitute_size = (WORD)size;
	junction.print_at = (WORD)(size + sizeof(wchar_t)); /* an empty name */
	junction.size = (WORD)(4 * sizeof(WORD) + size + 2 * sizeof(wchar_t));
	assert_true(CreateDirectoryA(path, NULL));
	folder = CreateFileA(path, GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
			     FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	assert_true(folder != INVALID_HANDLE_VALUE);
	made = DeviceIoControl(folder, FSCTL_SET_REPARSE_POINT, &junction, 8u + junction.size, NULL,
			       0, &size, NULL);
	CloseHandle(folder);
	if (!made) {
		assert_true(RemoveDirectoryA(path));
	}
	return made;
}

/* A file is written neither through a junction nor in its place. */
static void a_junction_leads_no_file_elsewhere(void **state)
{
	char outside[TEMPORARY_PATH_SIZE], path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(outside, "folder");
	temporary_path(path, "etl");
	assert_true(CreateDirectoryA(outside, NULL));
	if (!make_junction(path, outside)) {
		assert_true(RemoveDirectoryA(outside));
		skip();
	}
	assert_false(os_file_is_regular(path));
	assert_null(os_file_new(path, false, &err));
	assert_null(os_file_new(path, true, &err));
	assert_string_equal(err.text, "is a directory, not a regular file");
	assert_false(os_file_write_whole(path, "a", 1, &err));
	assert_false(os_file_remove(path, &err));
	assert_int_equal(count_names(outside), 0);
	assert_true(GetFileAttributesA(path) & FILE_ATTRIBUTE_REPARSE_POINT);
	assert_true(RemoveDirectoryA(path));
	assert_true(RemoveDirectoryA(outside));
}

/* A link gives way to the file, and what it led to stays. Wine 8 makes no links; on Windows it
 * takes the mode for developers, or an administrator. */
static void a_link_gives_way_to_a_file(void **state)
{
	char outside[TEMPORARY_PATH_SIZE], path[TEMPORARY_PATH_SIZE], bytes[16];
	wchar_t full[MAX_PATH], *target, *link;
	struct etw_error err = { 0 };
	struct os_file *file;
	size_t got;
	bool made;

	(void)state;
	temporary_path(outside, "etl");
	temporary_path(path, "etl");
	assert_true(os_file_write_whole(outside, "outside", 7, &err));
	target = wide_from(outside);
	link = wide_from(path);
	assert_true(target && link && GetFullPathNameW(target, MAX_PATH, full, NULL) > 0);
	made = CreateSymbolicLinkW(link, full, 2 /* without privileges */) &&
	       GetFileAttributesW(link) != INVALID_FILE_ATTRIBUTES;
	free(target);
	free(link);
	if (!made) {
		assert_true(DeleteFileA(outside));
		skip();
	}
	assert_false(os_file_is_regular(path));
	assert_true(os_file_write_whole(path, "new", 3, &err));
	assert_true(os_file_is_regular(path));
	file = os_file_open(outside, &err);
	assert_non_null(file);
	assert_true(os_file_read(file, 0, bytes, sizeof bytes, &got, &err));
	os_file_close(file);
	assert_int_equal(got, 7);
	assert_memory_equal(bytes, "outside", 7);
	assert_true(DeleteFileA(path));
	assert_true(DeleteFileA(outside));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_utf8),
		cmocka_unit_test(a_recording_may_be_written_renamed_and_deleted_while_it_is_read),
		cmocka_unit_test(devices_are_no_files),
		cmocka_unit_test(an_error_number_has_a_sentence),
		cmocka_unit_test(a_port_that_cannot_be_used_comes_with_advice),
		cmocka_unit_test(a_file_that_is_created_is_for_its_owner_alone),
		cmocka_unit_test(a_folder_that_others_may_write_to_has_advice),
		cmocka_unit_test(a_temporary_file_is_gone_when_its_last_handle_is_closed),
		cmocka_unit_test(a_junction_leads_no_file_elsewhere),
		cmocka_unit_test(a_link_gives_way_to_a_file),
		cmocka_unit_test(the_program_asks_itself_to_reload),
		cmocka_unit_test(a_console_shows_utf_8_and_is_left_as_it_was),
	};

	return cmocka_run_group_tests_name("os_win32", tests, NULL, NULL);
}
