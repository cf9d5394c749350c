/* SPDX-License-Identifier: MIT */
/*
 * This process on Windows: its start, requests to end it, its memory and numbers about it.
 *
 * Requests to end the program arrive on a thread that the system creates; the handler stores the
 * reason and sets an event for os_stop_wait(). Except for Ctrl-C and Ctrl-Break, Windows ends the
 * process as soon as the handler returns, so it waits until main() has finished.
 */
#define _CRT_RAND_S /* rand_s() */
#include "base/os.h"

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
/* after windows.h */
#include <psapi.h>
#include <sddl.h>
#include <shellapi.h>

#include "base/os_win32.h"

#define HANDLES_MAX UINT64_C(16777216) /* "Pushing the Limits of Windows: Handles" */

/* Never freed: the arguments are valid until the program ends. */
bool os_program_start(int *argc, char ***argv, struct etw_error *err)
{
	int count = 0;
	wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
	char **arguments;

	/* DLLs that are loaded from now on come from the system folder, not from the folder of the
	 * program, where an attacker may have put one ("SetDefaultDllDirectories function",
	 * Microsoft Learn). */
	SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
	if (!wide) {
		return error_set_last(err, "the command line cannot be read");
	}
	arguments = calloc((size_t)count + 1, sizeof *arguments);
	for (int i = 0; arguments && i < count; i++) {
		arguments[i] = narrow_from(wide[i]);
		if (!arguments[i]) {
			arguments = NULL;
		}
	}
	LocalFree(wide);
	if (!arguments) {
		return error_no_memory(err, "the command line");
	}
	_setmode(_fileno(stdout), _O_BINARY);
	_setmode(_fileno(stderr), _O_BINARY);
	if (os_is_terminal(stdout) || os_is_terminal(stderr)) {
		console_utf8();
	}
	*argc = count;
	*argv = arguments;
	return true;
}

static HANDLE stop_event, reload_event;
static const char *volatile stop_reason;

/*
 * The system calls it on a new thread. Except for Ctrl-C and Ctrl-Break, the system ends the
 * process when it returns ("HandlerRoutine callback function", Microsoft Learn). It therefore waits
 * until main() has cleaned up and ends the process.
 */
static BOOL WINAPI on_console_control(DWORD type)
{
	static const char *const names[] = {
		[CTRL_C_EVENT] = "Ctrl-C",          [CTRL_BREAK_EVENT] = "Ctrl-Break",
		[CTRL_CLOSE_EVENT] = "close",       [CTRL_LOGOFF_EVENT] = "log-off",
		[CTRL_SHUTDOWN_EVENT] = "shutdown",
	};

	if (type >= sizeof names / sizeof names[0] || !names[type]) {
		return FALSE;
	}
	os_stop_ask(names[type]);
	if (type != CTRL_C_EVENT && type != CTRL_BREAK_EVENT) {
		Sleep(INFINITE);
	}
	return TRUE;
}

bool os_stop_catch_service(struct etw_error *err)
{
	stop_event = CreateEventW(NULL, TRUE, FALSE, NULL);
	/* The waiting thread resets it. */
	reload_event = stop_event ? CreateEventW(NULL, FALSE, FALSE, NULL) : NULL;
	return reload_event || error_set_last(err, "a stop cannot be waited for");
}

bool os_stop_catch(struct etw_error *err)
{
	if (!os_stop_catch_service(err)) {
		return false;
	}
	if (!SetConsoleCtrlHandler(on_console_control, TRUE)) {
		return error_set_last(err, "Ctrl-C cannot be caught");
	}
	return true;
}

/* SetEvent() makes the reason visible to the thread that waits. */
void os_stop_ask(const char *reason)
{
	stop_reason = reason;
	SetEvent(stop_event);
}

void os_reload_ask(void)
{
	SetEvent(reload_event);
}

const char *os_stop_wait(uint64_t timeout_ns, void (*on_reload)(void *context), void *context)
{
	/* If both events are set, the wait returns the first one. */
	const HANDLE events[] = { stop_event, reload_event };
	uint64_t start = os_monotonic_ns(), passed = 0;
	DWORD set;

	do {
		set = WaitForMultipleObjects(2, events, FALSE, whole_ms(timeout_ns - passed));
		if (set == WAIT_OBJECT_0) {
			return stop_reason;
		}
		if (set == WAIT_OBJECT_0 + 1 && on_reload) {
			on_reload(context);
		}
		passed = os_monotonic_ns() - start;
	} while (passed < timeout_ns);
	return NULL;
}

uint32_t os_process_id(void)
{
	return GetCurrentProcessId();
}

unsigned os_processors(void)
{
	DWORD_PTR own, all;
	unsigned count = 0;

	if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all)) {
		return 1;
	}
	/* The masks are those of one processor group: since Windows 11 and Server 2022 that of the
	 * first one although threads run in all, before that 0 for a process in several groups
	 * ("GetProcessAffinityMask function", Microsoft Learn). */
	if (own == all) { /* nothing restricts the process */
		count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
	} else {
		for (; own != 0; own &= own - 1) {
			count++;
		}
	}
	return count > 0 ? count : 1;
}

void os_computer_name(char *name, size_t size)
{
	DWORD count = (DWORD)size;

	if (!GetComputerNameExA(ComputerNameDnsFullyQualified, name, &count)) {
		name[0] = '\0';
	}
}

/* The names with K32 are in kernel32, so no other DLL is needed. */
void os_process_stats(struct os_process_stats *stats)
{
	HANDLE self = GetCurrentProcess();
	FILETIME created, ended, kernel, user;
	PROCESS_MEMORY_COUNTERS_EX memory = { .cb = sizeof memory };
	DWORD handles;

	*stats = (struct os_process_stats){
		.cpu_ns = UINT64_MAX,
		.resident_bytes = UINT64_MAX,
		.virtual_bytes = UINT64_MAX,
		.start_time_unix_ns = UINT64_MAX,
		.open_fds = UINT64_MAX,
		.max_fds = HANDLES_MAX,
	};
	if (GetProcessTimes(self, &created, &ended, &kernel, &user)) {
		stats->cpu_ns = (filetime_100ns(&kernel) + filetime_100ns(&user)) * 100;
		stats->start_time_unix_ns = filetime_unix_ns(&created);
	}
	if (K32GetProcessMemoryInfo(self, (PROCESS_MEMORY_COUNTERS *)&memory, sizeof memory)) {
		stats->resident_bytes = memory.WorkingSetSize;
		stats->virtual_bytes = memory.PrivateUsage;
	}
	if (GetProcessHandleCount(self, &handles)) {
		stats->open_fds = handles;
	}
}

void *os_pages_alloc(size_t size)
{
	return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void os_pages_free(void *memory, size_t size)
{
	(void)size;
	VirtualFree(memory, 0, MEM_RELEASE);
}

/* Large pages of Windows need a privilege that programs seldom have. */
void *os_large_alloc(size_t size)
{
	return os_pages_alloc(size);
}

void os_large_free(void *memory, size_t size)
{
	os_pages_free(memory, size);
}

void os_share_heaps(void)
{
	/* Windows has one heap for all threads, so there is nothing to do. */
}

void os_release_memory(void)
{
	_heapmin();
}

wchar_t *wide_program_path(void)
{
	wchar_t *path = calloc(PATH_CHARACTERS, sizeof *path);

	if (path && GetModuleFileNameW(NULL, path, PATH_CHARACTERS) >= PATH_CHARACTERS) {
		free(path);
		return NULL;
	}
	return path;
}

bool os_random(void *bytes, size_t size)
{
	uint8_t *at = bytes;
	unsigned word;

	for (size_t i = 0; i < size; i++) {
		if (rand_s(&word) != 0) {
			return false;
		}
		at[i] = (uint8_t)word;
	}
	return true;
}

/* A name has at most 256 characters, and so has a domain ("LookupAccountSidW function", Microsoft
 * Learn, and lmcons.h: UNLEN, DNLEN). */
enum { ACCOUNT_NAME_MOST = 257 };

char *os_account_name(const char *sid)
{
	wchar_t user[ACCOUNT_NAME_MOST], domain[ACCOUNT_NAME_MOST];
	wchar_t whole[2 * ACCOUNT_NAME_MOST + 2];
	DWORD user_size = ACCOUNT_NAME_MOST, domain_size = ACCOUNT_NAME_MOST;
	wchar_t *wide = wide_from(sid);
	char *name = NULL;
	SID_NAME_USE use;
	PSID binary = NULL;

	if (wide && ConvertStringSidToSidW(wide, &binary) &&
	    LookupAccountSidW(NULL, binary, user, &user_size, domain, &domain_size, &use)) {
		whole[0] = L'\0';
		if (domain[0] != L'\0') {
			wcscat(whole, domain);
			wcscat(whole, L"\\");
		}
		wcscat(whole, user);
		name = narrow_from(whole);
	}
	LocalFree(binary);
	free(wide);
	return name;
}
