/* SPDX-License-Identifier: MIT */
/*
 * Runs the activity of the self-test on the system: it reports what it did, and removes its files.
 */
#include "selftest/self_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <tlhelp32.h>

#include <cmocka.h>

#include "tests/support/patience.h"

enum { PIECE = 4096, BRANCHES = 2, LEAVES = 10, TREE = BRANCHES * (1 + LEAVES) };

static WCHAR own_folder[MAX_PATH];

/* Gives the tests a temporary folder of their own, because another self-test may run meanwhile. */
static int make_own_folder(void **state)
{
	WCHAR name[32];

	(void)state;
	swprintf(name, sizeof name / sizeof name[0], L"activity-%lu", GetCurrentProcessId());
	return GetFullPathNameW(name, MAX_PATH, own_folder, NULL) == 0 ||
	       !CreateDirectoryW(own_folder, NULL) || !SetEnvironmentVariableW(L"TMP", own_folder);
}

static int remove_own_folder(void **state)
{
	(void)state;
	return !RemoveDirectoryW(own_folder);
}

/* Returns the number of temporary folders of activities. last: receives the path of one, if any. */
static unsigned temporary_folders(WCHAR last[2 * MAX_PATH])
{
	WCHAR temporary[MAX_PATH + 1], pattern[MAX_PATH + 32];
	WIN32_FIND_DATAW entry;
	HANDLE search;
	unsigned count = 0;

	GetTempPathW(MAX_PATH, temporary);
	_snwprintf(pattern, MAX_PATH + 32, L"%lsetw_self_test_*", temporary);
	search = FindFirstFileW(pattern, &entry);
	if (search == INVALID_HANDLE_VALUE) {
		return 0;
	}
	do {
		count++;
		if (last) {
			_snwprintf(last, 2 * MAX_PATH, L"%ls%ls", temporary, entry.cFileName);
		}
	} while (FindNextFileW(search, &entry));
	FindClose(search);
	return count;
}

static void assert_network(const struct activity_network *done)
{
	assert_int_equal(done->sent_bytes, 64 * PIECE);
	assert_int_equal(done->received_bytes, 64 * PIECE);
	assert_int_equal(done->connects, 1);
	assert_int_equal(done->accepts, 1);
}

static void the_activity_says_what_it_did(void **state)
{
	const struct activity_work_options options = { .branches = BRANCHES,
						       .leaves = LEAVES,
						       .volume_ms = 1 };
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work = activity_open(&options, &err);

	(void)state;
	assert_non_null(work);
	assert_int_equal(temporary_folders(NULL), 1);
	assert_true(activity_prepare(work, &err));
	if (!activity_run(work, &done, &err)) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(done.processes, TREE);
	assert_int_equal(done.written_bytes[ACTIVITY_TREE], TREE * 1000);
	assert_int_equal(done.written_bytes[ACTIVITY_CACHED], 64 * PIECE);
	assert_int_equal(done.read_bytes, 64 * PIECE);
	assert_int_equal(done.written_bytes[ACTIVITY_HELD_FILE], 64 * PIECE);
	assert_int_equal(done.written_bytes[ACTIVITY_WRITE_THROUGH], 16 * PIECE);
	assert_int_equal(done.written_bytes[ACTIVITY_UNBUFFERED], 16 * PIECE);
	assert_int_equal(done.written_bytes[ACTIVITY_MAPPED], 64 * PIECE);
	/* One of each process of the tree, and cached, held, through, unbuffered, mapped. */
	assert_int_equal(done.deletes, TREE + 5);
	assert_network(&done.ipv4);
	if (done.skipped[ACTIVITY_IPV6][0] == '\0') {
		assert_network(&done.ipv6);
	} else {
		assert_memory_equal(done.skipped[ACTIVITY_IPV6], "IPv6: ", 6);
		assert_int_equal(done.ipv6.connects, 0);
	}
	assert_int_equal(strlen(done.volume), 2);
	assert_int_equal(done.volume[1], ':');
	/* Wine has no virtual disks, and on Windows it takes rights. */
	if (done.skipped[ACTIVITY_LATER_VOLUME][0] == '\0') {
		assert_int_equal(done.written_bytes[ACTIVITY_LATER_VOLUME], 16 * PIECE);
	} else {
		assert_memory_equal(done.skipped[ACTIVITY_LATER_VOLUME], "virtual disk: ", 14);
		assert_int_equal(done.written_bytes[ACTIVITY_LATER_VOLUME], 0);
	}
	for (unsigned i = 0; i < ACTIVITY_PARTS; i++) {
		if (i != ACTIVITY_IPV6 && i != ACTIVITY_LATER_VOLUME) {
			assert_string_equal(done.skipped[i], "");
		}
	}
	activity_close(work);
	assert_int_equal(temporary_folders(NULL), 0);
}

static void what_cannot_be_done_is_skipped(void **state)
{
	const struct activity_work_options options = { .branches = 1,
						       .leaves = 1,
						       .no_new_volume = true };
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work = activity_open(&options, &err);

	(void)state;
	/* Without activity_prepare() no file was opened before the session. */
	assert_true(activity_run(work, &done, &err));
	assert_string_equal(done.skipped[ACTIVITY_HELD_FILE],
			    "file opened earlier: no file was opened before the session");
	assert_non_null(strstr(done.skipped[ACTIVITY_LATER_VOLUME], "no virtual disk is wanted"));
	assert_int_equal(done.written_bytes[ACTIVITY_HELD_FILE], 0);
	activity_close(work);
}

/* A process of an earlier tree that was ended late must not write into the next folder. */
static void no_folder_has_a_name_of_before(void **state)
{
	const struct activity_work_options options = { .no_new_volume = true };
	WCHAR first[2 * MAX_PATH], second[2 * MAX_PATH];
	struct activity_work *work = activity_open(&options, NULL);

	(void)state;
	assert_int_equal(temporary_folders(first), 1);
	activity_close(work);
	work = activity_open(&options, NULL);
	assert_int_equal(temporary_folders(second), 1);
	activity_close(work);
	assert_int_not_equal(wcscmp(first, second), 0);
}

/* Creates a file in the folder of our activity. */
static void put_file(const WCHAR *name)
{
	WCHAR path[2 * MAX_PATH];
	HANDLE file;

	assert_int_equal(temporary_folders(path), 1);
	wcscat(path, L"\\");
	wcscat(path, name);
	file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
	assert_true(file != INVALID_HANDLE_VALUE);
	CloseHandle(file);
}

static void a_file_that_exists_ends_or_skips_what_would_create_it(void **state)
{
	const struct activity_work_options options = { .branches = 1,
						       .leaves = 2,
						       .no_new_volume = true };
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work = activity_open(&options, &err);

	(void)state;
	put_file(L"through.dat");
	assert_true(activity_run(work, &done, &err));
	assert_non_null(strstr(done.skipped[ACTIVITY_WRITE_THROUGH],
			       "write-through: a temporary file cannot be created: "));
	assert_int_equal(done.written_bytes[ACTIVITY_WRITE_THROUGH], 0);
	assert_int_equal(done.written_bytes[ACTIVITY_UNBUFFERED], 16 * PIECE);

	/* A process of the tree fails, and the one that started it with it. */
	put_file(L"tree-0-1.dat");
	assert_false(activity_run(work, &done, &err));
	assert_string_equal(err.text, "tree of processes: a child process ended with status 0x1");
	activity_close(work);
}

static bool never(void *context, uint64_t ms)
{
	(void)context;
	(void)ms;
	return false;
}

static void a_request_to_stop_ends_the_activity(void **state)
{
	const struct activity_work_options options = { .wait = never };
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work = activity_open(&options, &err);

	(void)state;
	assert_false(activity_run(work, &done, &err));
	assert_string_equal(err.text, "the self-test was stopped");
	assert_int_equal(done.processes, 0);
	activity_close(work);
}

/* ---- a virtual disk ---- */

/* Reads a script of diskpart, and checks that it has this form, in which %s is the folder and %c a
 * letter. */
static bool is_script(const char *script, const char *form, char folder[MAX_PATH], char *letter)
{
	while (*form != '\0') {
		if (strncmp(form, "%s", 2) == 0) {
			size_t size = strcspn(script, "\"");

			memcpy(folder, script, size);
			folder[size] = '\0';
			*strrchr(folder, '\\') = '\0'; /* the file is written out in the form */
			script += strlen(folder);
			form += 2;
		} else if (strncmp(form, "%c", 2) == 0) {
			*letter = *script++;
			form += 2;
		} else if (*form++ != *script++) {
			return false;
		}
	}
	return *script == '\0';
}

/*
 * This program in place of diskpart: it only makes the file of the virtual disk, and "attached"
 * beside it while it is attached. The status of the process.
 */
static int be_diskpart(const char *script_path)
{
	char script[2048] = "", folder[MAX_PATH], path[MAX_PATH + 16], letter = 0;
	FILE *file = fopen(script_path, "rb");

	if (!file || fread(script, 1, sizeof script - 1, file) == 0) {
		return 2;
	}
	fclose(file);
	if (is_script(script,
		      "create vdisk file=\"%s\\later.vhd\" maximum=64 type=expandable\r\n"
		      "attach vdisk\r\n"
		      "create partition primary\r\n"
		      "format fs=ntfs label=etw_self_test quick\r\n"
		      "assign letter=%c\r\n",
		      folder, &letter)) {
		snprintf(path, sizeof path, "%s\\later.vhd", folder);
		fclose(fopen(path, "wb"));
		snprintf(path, sizeof path, "%s\\attached", folder);
		fclose(fopen(path, "wb"));
		return letter == 'C' ? 0 : 3;
	}
	if (is_script(script, "select vdisk file=\"%s\\later.vhd\"\r\ndetach vdisk\r\n", folder,
		      &letter)) {
		snprintf(path, sizeof path, "%s\\attached", folder);
		return remove(path) == 0 ? 0 : 5;
	}
	return 4;
}

static void a_volume_is_attached_used_and_detached(void **state)
{
	struct activity_work_options options = {
		.branches = 1, .leaves = 1, .volume_ms = 1, .drive = L'C'
	};
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work;
	WCHAR program[MAX_PATH];

	(void)state;
	GetModuleFileNameW(NULL, program, MAX_PATH);
	options.diskpart = program;
	work = activity_open(&options, &err);
	assert_true(activity_run(work, &done, &err));
	assert_string_equal(done.skipped[ACTIVITY_LATER_VOLUME], "");
	assert_int_equal(done.written_bytes[ACTIVITY_LATER_VOLUME], 16 * PIECE);
	assert_string_equal(done.later_volume, "C:");
	/* They would be gone with the volume. */
	assert_true(DeleteFileW(L"C:\\etw_self_test_later\\later.dat"));
	assert_true(RemoveDirectoryW(L"C:\\etw_self_test_later"));
	activity_close(work);
	assert_int_equal(temporary_folders(NULL), 0); /* an attached disk would have kept it */

	/* diskpart fails: the part is skipped, what it made of the disk is detached and removed. */
	options.drive = L'B';
	done = (struct activity){ 0 };
	work = activity_open(&options, &err);
	assert_true(activity_run(work, &done, &err));
	assert_string_equal(done.skipped[ACTIVITY_LATER_VOLUME],
			    "virtual disk: diskpart.exe: a child process ended with status 0x3");
	assert_int_equal(done.processes, 2);
	activity_close(work);
	assert_int_equal(temporary_folders(NULL), 0);
}

static const WCHAR hang[] = L"ETW_EXPORTER_TEST_HANG"; /* children that find it set do not end */

/* Processes of this program. */
static unsigned processes_of_ours(void)
{
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W entry = { .dwSize = sizeof entry };
	unsigned count = 0;

	assert_true(snapshot != INVALID_HANDLE_VALUE);
	for (BOOL more = Process32FirstW(snapshot, &entry); more;
	     more = Process32NextW(snapshot, &entry)) {
		count += _wcsicmp(entry.szExeFile, L"test_activity_win32.exe") == 0;
	}
	CloseHandle(snapshot);
	return count;
}

static void a_tree_that_hangs_is_ended_with_all_its_processes(void **state)
{
	const struct activity_work_options options = {
		.branches = 2, .leaves = 2, .tree_ms = 2000, .no_new_volume = true
	};
	unsigned before = processes_of_ours();
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work = activity_open(&options, &err);

	(void)state;
	SetEnvironmentVariableW(hang, L"1");
	assert_false(activity_run(work, &done, &err));
	SetEnvironmentVariableW(hang, NULL);
	assert_string_equal(err.text, "tree of processes: a child process did not end in time");
	assert_int_equal(done.processes, 0);
	activity_close(work);
	for (unsigned i = 0; i < WAIT_MS / 10 && processes_of_ours() > before; i++) {
		Sleep(10); /* Windows ends them after the call has returned */
	}
	assert_int_equal(processes_of_ours(), before);
}

/* Children have no console. They note here why they fail. */
static const char failures[] = "failed_children.txt";

static void note_failed_child(const char *work, const char *why)
{
	FILE *file = fopen(failures, "a");

	if (file) {
		fprintf(file, "%s: %s\n", work, why);
		fclose(file);
	}
}

static void print_failed_children(void)
{
	FILE *file = fopen(failures, "r");
	char line[1024];

	while (file && fgets(line, sizeof line, file)) {
		print_message("%s", line);
	}
	if (file) {
		fclose(file);
		remove(failures);
	}
}

static const WCHAR slow[] = L"ETW_EXPORTER_TEST_SLOW"; /* how many ms children that find it take */

/* Runs 18 processes, one after another: together longer than the limit, each far below it. Returns
 * whether none took longer than the limit. */
static bool slow_tree_ends(uint32_t tree_ms)
{
	const struct activity_work_options options = {
		.branches = 1, .leaves = 17, .tree_ms = tree_ms, .no_new_volume = true
	};
	struct activity done = { 0 };
	struct etw_error err = { 0 };
	struct activity_work *work = activity_open(&options, &err);
	ULONGLONG since = GetTickCount64();
	WCHAR ms[16];
	bool good;

	swprintf(ms, sizeof ms / sizeof ms[0], L"%lu", (unsigned long)tree_ms / 16);
	SetEnvironmentVariableW(slow, ms);
	good = activity_run(work, &done, &err);
	SetEnvironmentVariableW(slow, NULL);
	activity_close(work);
	print_failed_children();
	if (!good) {
		assert_string_equal(err.text,
				    "tree of processes: a child process did not end in time");
		return false;
	}
	assert_string_equal(err.text, "");
	assert_int_equal(done.processes, 18);
	assert_true(GetTickCount64() - since > tree_ms);
	return true;
}

/* On a busy machine a single process may take longer than the limit: a longer one is tried then. */
static void a_tree_may_take_as_long_as_it_goes_on(void **state)
{
	uint32_t tree_ms = 8000;

	(void)state;
	while (!slow_tree_ends(tree_ms)) {
		assert_true(tree_ms < WAIT_MS);
		tree_ms *= 4;
	}
}

static void a_child_takes_what_the_activity_gives_it_alone(void **state)
{
	static const char *const wrong[] = { "",
					     "1",
					     "1-2",
					     "1-2,0",
					     "1-2,0,",
					     "-1-2,0,C:\\",
					     "1-2,100000,C:\\",
					     "99-0,0,C:\\",
					     "x-0,0,C:\\",
					     "1- 2,0,C:\\" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct etw_error err = { 0 };

		assert_false(activity_child(wrong[i], &err));
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
}

static void the_process_is_named_as_the_label_has_it(void **state)
{
	char *process = activity_process(NULL);

	(void)state;
	assert_non_null(process);
	assert_string_equal(process, "test_activity_win32");
	free(process);
}

int main(int argc, char **argv)
{
	static const char child[] = "--child=";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_activity_says_what_it_did),
		cmocka_unit_test(what_cannot_be_done_is_skipped),
		cmocka_unit_test(a_file_that_exists_ends_or_skips_what_would_create_it),
		cmocka_unit_test(no_folder_has_a_name_of_before),
		cmocka_unit_test(a_request_to_stop_ends_the_activity),
		cmocka_unit_test(a_volume_is_attached_used_and_detached),
		cmocka_unit_test(a_tree_that_hangs_is_ended_with_all_its_processes),
		cmocka_unit_test(a_tree_may_take_as_long_as_it_goes_on),
		cmocka_unit_test(a_child_takes_what_the_activity_gives_it_alone),
		cmocka_unit_test(the_process_is_named_as_the_label_has_it),
	};

	if (argc == 3 && strcmp(argv[1], "/s") == 0) {
		return be_diskpart(argv[2]);
	}
	/* A child that the activity starts: this program again. */
	if (argc == 2 && strncmp(argv[1], child, sizeof child - 1) == 0) {
		struct etw_error err = { 0 };
		bool good = activity_child(argv[1] + sizeof child - 1, &err);
		WCHAR ms[16];

		if (!good) {
			note_failed_child(argv[1], err.text);
		}
		if (GetEnvironmentVariableW(slow, ms, 16) > 0) {
			Sleep(wcstoul(ms, NULL, 10));
		}
		while (GetEnvironmentVariableW(hang, NULL, 0) > 0) {
			Sleep(1000);
		}
		return good ? 0 : 1;
	}
	return cmocka_run_group_tests_name("activity_win32", tests, make_own_folder,
					   remove_own_folder);
}
