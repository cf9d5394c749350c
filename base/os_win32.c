/* SPDX-License-Identifier: MIT */
/*
 * The operating system layer for Windows 8 and newer.
 *
 * Text is UTF-16 in Windows and UTF-8 everywhere else. Functions whose name ends in A, and C
 * library functions that take a path, use the ANSI code page and are not used here.
 *
 * os.h must not include windows.h, so its structs have the size of the types of Windows, which is
 * checked at compile time. Requests to end the program arrive on a thread that the system creates;
 * the handler stores the reason and sets an event for os_stop_wait(). Except for Ctrl-C and
 * Ctrl-Break, Windows ends the process as soon as the handler returns, so it waits until main() has
 * finished. A wait can end one clock interrupt too early, and it can end before a timeout of many
 * weeks; both count as a return without a reason.
 */
#define _CRT_RAND_S /* rand_s() */
#include "base/os.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <psapi.h>
#include <sddl.h>
#include <shellapi.h>

#include "base/os_win32.h"

#define NS_PER_SECOND    UINT64_C(1000000000)
#define NS_PER_MS        UINT64_C(1000000)
#define UNIX_EPOCH_100NS UINT64_C(116444736000000000) /* 1970 in FILETIME, counted from 1601 */
#define HANDLES_MAX      UINT64_C(16777216)           /* "Pushing the Limits of Windows: Handles" */
#define ERROR_TEXT_SIZE  256
#define PATH_CHARACTERS  32768 /* the longest path of Windows, with its end */

static_assert(sizeof(struct os_mutex) == sizeof(SRWLOCK), "os.h knows an SRWLOCK as one pointer");
static_assert(sizeof(struct os_condition) == sizeof(CONDITION_VARIABLE),
	      "os.h knows a CONDITION_VARIABLE as one pointer");
static_assert(sizeof(struct os_once) == sizeof(INIT_ONCE),
	      "os.h knows an INIT_ONCE as one pointer");

struct thread_start {
	void (*run)(void *context);
	void *context;
};

/* What os_file_change() compares. */
struct file_seen {
	uint64_t size;
	uint64_t written; /* FILETIME */
	DWORD links;
};

struct os_file {
	HANDLE handle;
	uint64_t size;
	struct file_seen seen;
	bool is_stream; /* it is read from its beginning to its end, once */
	bool temporary; /* nothing else can change it */
};

/* ---- errors ---- */

bool os_is_terminal(FILE *stream)
{
	DWORD mode;

	return GetConsoleMode((HANDLE)_get_osfhandle(_fileno(stream)), &mode) != 0;
}

bool os_is_file(FILE *stream)
{
	return GetFileType((HANDLE)_get_osfhandle(_fileno(stream))) == FILE_TYPE_DISK;
}

/* Consoles support colours since Windows 10, if a program enables them ("Console Virtual Terminal
 * Sequences", Microsoft Learn). */
bool os_has_colours(FILE *stream)
{
	HANDLE console = (HANDLE)_get_osfhandle(_fileno(stream));
	DWORD mode;

	return GetConsoleMode(console, &mode) &&
	       SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

void os_error_text(int number, char *text, size_t text_size)
{
	wchar_t wide[ERROR_TEXT_SIZE];
	DWORD size = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
					    FORMAT_MESSAGE_MAX_WIDTH_MASK,
				    NULL, (DWORD)number, 0, wide, ERROR_TEXT_SIZE, NULL);
	char *utf8;

	while (size > 0 && (wide[size - 1] <= L' ' || wide[size - 1] == L'.')) {
		size--;
	}
	wide[size] = L'\0';
	utf8 = size > 0 ? narrow_from(wide) : NULL;
	if (utf8) {
		snprintf(text, text_size, "%s", utf8);
	} else {
		snprintf(text, text_size, "error %d", number);
	}
	free(utf8);
}

/* "Winsock Error Codes" and "Using SO_REUSEADDR and SO_EXCLUSIVEADDRUSE", Microsoft Learn. */
const char *os_listen_advice(int number)
{
	switch (number) {
	case WSAEADDRINUSE:
		return "another program listens there; \"netstat -ano -p tcp\" shows its process id";
	case WSAEACCES:
		return "another account uses the port exclusively, or Windows has reserved it; "
		       "\"netsh int ipv4 show excludedportrange protocol=tcp\" shows what is "
		       "reserved";
	default:
		return NULL;
	}
}

/* ---- the console ---- */

static UINT console_code_page; /* before console_utf8(); 0: it was not changed */

void console_restore(void)
{
	if (console_code_page != 0) {
		SetConsoleOutputCP(console_code_page);
		console_code_page = 0;
	}
}

/*
 * The code page belongs to the console, so shells and later programs would keep it ("Console Code
 * Pages", Microsoft Learn). Without a console it is 0.
 */
void console_utf8(void)
{
	UINT code_page = GetConsoleOutputCP();

	if (code_page != 0 && code_page != CP_UTF8 && console_code_page == 0 &&
	    SetConsoleOutputCP(CP_UTF8)) {
		console_code_page = code_page;
		atexit(console_restore);
	}
}

/* ---- the program ---- */

/* Never freed: the arguments are valid until the program ends. */
bool os_program_start(int *argc, char ***argv, struct etw_error *err)
{
	int count = 0;
	wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
	char **arguments;

	/* DLLs that are loaded from now on come from the folder of the system, never from that of
	 * the program, where a stranger may have put one ("SetDefaultDllDirectories function",
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
	/* It is reset by the thread that waits. */
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

static DWORD whole_ms(uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS > 0);

	return ms < INFINITE ? (DWORD)ms : INFINITE - 1;
}

void os_reload_ask(void)
{
	SetEvent(reload_event);
}

const char *os_stop_wait(uint64_t timeout_ns, void (*on_reload)(void *context), void *context)
{
	/* Of two events that are set, the first one counts. */
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

/* ---- threads ---- */

/* Not thread-local variables: the first use of one by a thread allocates memory, and a thread that
 * faults cannot. */
static DWORD fault_flags = TLS_OUT_OF_INDEXES; /* the address of the thread's flag, or NULL */
static struct os_once fault_flags_once = { OS_ONCE_INIT };

static void allocate_fault_flags(void)
{
	fault_flags = TlsAlloc();
}

void os_use_fault_flag(volatile bool *fatal)
{
	os_once(&fault_flags_once, allocate_fault_flags);
	TlsSetValue(fault_flags, (void *)(uintptr_t)fatal);
}

/* TlsGetValue() sets the last error, which the code that raised an exception may still need. */
static volatile bool *fault_flag(void)
{
	DWORD error = GetLastError();
	volatile bool *flag = fault_flags != TLS_OUT_OF_INDEXES ? TlsGetValue(fault_flags) : NULL;

	SetLastError(error);
	return flag;
}

bool os_set_faults_fatal(bool fatal)
{
	volatile bool *flag = fault_flag();
	bool before = flag && *flag;

	if (flag) {
		*flag = fatal;
	}
	return before;
}

bool os_faults_fatal(void)
{
	volatile bool *flag = fault_flag();

	return flag && *flag;
}

/* Of the stack of each thread, for what runs when the rest has overflowed. */
enum { STACK_LEFT_BYTES = 65536 };

static unsigned __stdcall thread_main(void *argument)
{
	struct thread_start *argument_start = argument;
	struct thread_start start = *argument_start;
	ULONG stack_bytes = STACK_LEFT_BYTES;

	free(argument_start);
	SetThreadStackGuarantee(&stack_bytes);
	start.run(start.context);
	return 0;
}

bool os_thread_start(struct os_thread *thread, void (*run)(void *context), void *context,
		     struct etw_error *err)
{
	struct thread_start *start = calloc(1, sizeof *start);
	uintptr_t handle;

	if (!start) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory to start a thread");
	}
	start->run = run;
	start->context = context;
	handle = _beginthreadex(NULL, 0, thread_main, start, 0, NULL);
	if (handle == 0) {
		free(start);
		return error_set_last(err, "a thread cannot be started");
	}
	thread->handle = (HANDLE)handle;
	return true;
}

void os_thread_join(struct os_thread *thread)
{
	WaitForSingleObject(thread->handle, INFINITE);
	os_thread_detach(thread);
}

void os_thread_detach(struct os_thread *thread)
{
	CloseHandle(thread->handle);
	thread->handle = NULL;
}

static SRWLOCK *lock_of(struct os_mutex *mutex)
{
	return (SRWLOCK *)&mutex->lock;
}

void os_mutex_init(struct os_mutex *mutex)
{
	InitializeSRWLock(lock_of(mutex));
}

void os_mutex_done(struct os_mutex *mutex)
{
	(void)mutex;
}

void os_mutex_lock(struct os_mutex *mutex)
{
	AcquireSRWLockExclusive(lock_of(mutex));
}

void os_mutex_unlock(struct os_mutex *mutex)
{
	ReleaseSRWLockExclusive(lock_of(mutex));
}

static CONDITION_VARIABLE *variable_of(struct os_condition *condition)
{
	return (CONDITION_VARIABLE *)&condition->variable;
}

void os_condition_init(struct os_condition *condition)
{
	InitializeConditionVariable(variable_of(condition));
}

void os_condition_done(struct os_condition *condition)
{
	(void)condition;
}

bool os_condition_wait(struct os_condition *condition, struct os_mutex *mutex, uint64_t timeout_ns)
{
	uint64_t start = os_monotonic_ns();

	/* Waits are limited to some weeks; an earlier end counts as a return without a reason. */
	if (SleepConditionVariableSRW(variable_of(condition), lock_of(mutex), whole_ms(timeout_ns),
				      0)) {
		return true;
	}
	/* The system counts in clock interrupts and may return one too early. */
	return os_monotonic_ns() - start < timeout_ns;
}

void os_condition_wake_all(struct os_condition *condition)
{
	WakeAllConditionVariable(variable_of(condition));
}

void os_condition_wake_one(struct os_condition *condition)
{
	WakeConditionVariable(variable_of(condition));
}

static BOOL CALLBACK run_once(INIT_ONCE *once, void *run, void **context)
{
	(void)once;
	(void)context;
	(*(void (**)(void))run)();
	return TRUE;
}

void os_once(struct os_once *once, void (*run)(void))
{
	InitOnceExecuteOnce((INIT_ONCE *)&once->state, run_once, &run, NULL);
}

/* ---- clocks ---- */

static uint64_t filetime_100ns(const FILETIME *time)
{
	return (uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime;
}

uint64_t os_monotonic_ns(void)
{
	LARGE_INTEGER frequency, now;
	uint64_t per_second, ticks;

	/* Neither fails on Windows XP or later ("QueryPerformanceCounter", Microsoft Learn). */
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&now);
	per_second = (uint64_t)frequency.QuadPart;
	ticks = (uint64_t)now.QuadPart;
	return ticks / per_second * NS_PER_SECOND + ticks % per_second * NS_PER_SECOND / per_second;
}

static uint64_t cpu_ns_of(HANDLE thread)
{
	FILETIME created, ended, kernel, user;

	if (!GetThreadTimes(thread, &created, &ended, &kernel, &user)) {
		return 0;
	}
	return (filetime_100ns(&kernel) + filetime_100ns(&user)) * 100;
}

unsigned os_processors(void)
{
	DWORD_PTR own, all;
	unsigned count = 0;

	if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all)) {
		return 1;
	}
	for (; own != 0; own &= own - 1) {
		count++;
	}
	return count > 0 ? count : 1; /* 0: the process has threads in several processor groups */
}

uint64_t os_thread_cpu_ns(void)
{
	return cpu_ns_of(GetCurrentThread());
}

uint64_t os_thread_cpu_ns_of(const struct os_thread *thread)
{
	return WaitForSingleObject(thread->handle, 0) == WAIT_TIMEOUT ? cpu_ns_of(thread->handle) :
									0;
}

static uint64_t unix_ns(const FILETIME *time)
{
	return (filetime_100ns(time) - UNIX_EPOCH_100NS) * 100;
}

uint64_t os_unix_time_ns(void)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	return unix_ns(&now);
}

void os_utc(time_t unix_seconds, struct tm *utc)
{
	*utc = (struct tm){ 0 };
	gmtime_s(utc, &unix_seconds);
}

/* ---- this process ---- */

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
		stats->start_time_unix_ns = unix_ns(&created);
	}
	if (K32GetProcessMemoryInfo(self, (PROCESS_MEMORY_COUNTERS *)&memory, sizeof memory)) {
		stats->resident_bytes = memory.WorkingSetSize;
		stats->virtual_bytes = memory.PrivateUsage;
	}
	if (GetProcessHandleCount(self, &handles)) {
		stats->open_fds = handles;
	}
}

/* Large pages of Windows need a privilege that programs seldom have. */
void *os_large_alloc(size_t size)
{
	return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void os_large_free(void *memory, size_t size)
{
	(void)size;
	VirtualFree(memory, 0, MEM_RELEASE);
}

void os_share_heaps(void)
{
	/* There is one. */
}

void os_release_memory(void)
{
	_heapmin();
}

void os_stderr_write(const char *bytes, size_t size)
{
	HANDLE handle = GetStdHandle(STD_ERROR_HANDLE);

	while (size > 0) {
		DWORD part = size < UINT32_MAX ? (DWORD)size : UINT32_MAX;
		DWORD written = 0;

		if (!WriteFile(handle, bytes, part, &written, NULL) || written == 0) {
			return;
		}
		bytes += written;
		size -= written;
	}
}

/* ---- files ---- */

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

static bool has_drive(const char *path)
{
	return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) &&
	       path[1] == ':';
}

const char *os_path_name(const char *path)
{
	const char *name = has_drive(path) ? path + 2 : path;

	for (const char *at = name; *at; at++) {
		if (is_separator(*at)) {
			name = at + 1;
		}
	}
	return name;
}

/* A path that starts at the root of the current drive, or in the current folder of a drive, counts
 * as absolute: a folder must not be put before it. */
bool os_path_is_absolute(const char *path)
{
	return is_separator(path[0]) || has_drive(path);
}

char *os_path_absolute(const char *path)
{
	wchar_t *wide = wide_from(path);
	wchar_t *full = calloc(PATH_CHARACTERS, sizeof *full);
	DWORD size = wide && full ? GetFullPathNameW(wide, PATH_CHARACTERS, full, NULL) : 0;
	char *absolute = size > 0 && size < PATH_CHARACTERS ? narrow_from(full) : NULL;

	free(wide);
	free(full);
	return absolute;
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

/* Returns ERROR_SUCCESS, or why the folder could not be read to its end. */
static DWORD read_folder(const char *path, bool (*each)(void *context, const char *name),
			 void *context, bool *more)
{
	size_t size = strlen(path) + sizeof "\\*";
	char *pattern = calloc(size, 1);
	wchar_t *wide;
	WIN32_FIND_DATAW entry;
	HANDLE search;
	DWORD number = ERROR_NOT_ENOUGH_MEMORY;

	*more = true;
	if (!pattern) {
		return number;
	}
	snprintf(pattern, size, "%s\\*", path);
	wide = wide_from(pattern);
	free(pattern);
	if (!wide) {
		return number;
	}
	search = FindFirstFileW(wide, &entry);
	number = search == INVALID_HANDLE_VALUE ? GetLastError() : ERROR_SUCCESS;
	free(wide);
	if (search == INVALID_HANDLE_VALUE) {
		return number;
	}
	do {
		char *name = narrow_from(entry.cFileName);

		if (name) {
			*more = each(context, name);
		} else {
			number = ERROR_NOT_ENOUGH_MEMORY;
		}
		free(name);
	} while (*more && FindNextFileW(search, &entry));
	if (*more && GetLastError() != ERROR_NO_MORE_FILES) {
		number = GetLastError();
	}
	FindClose(search);
	return number;
}

bool os_folder_list(const char *path, bool (*each)(void *context, const char *name), void *context)
{
	bool more;

	read_folder(path, each, context, &more);
	return more;
}

bool os_folder_read(const char *path, bool (*each)(void *context, const char *name), void *context,
		    struct etw_error *err)
{
	bool more;
	DWORD number = read_folder(path, each, context, &more);
	char text[256];

	if (number == ERROR_SUCCESS || number == ERROR_FILE_NOT_FOUND ||
	    number == ERROR_PATH_NOT_FOUND) {
		return true;
	}
	os_error_text((int)number, text, sizeof text);
	return error_set(err,
			 number == ERROR_NOT_ENOUGH_MEMORY ? ETW_ERROR_NO_MEMORY : ETW_ERROR_SYSTEM,
			 "%s: the folder cannot be read: %s", path, text);
}

bool os_folder_make(const char *path, bool *made, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	DWORD attributes;
	bool new, there;

	if (!wide) {
		return error_no_memory(err, "a folder");
	}
	there = new = CreateDirectoryW(wide, NULL);
	if (!there) {
		error_set_last(err, path);
		error_prefix(err, "the folder cannot be made");
		attributes = GetFileAttributesW(wide);
		there = attributes != INVALID_FILE_ATTRIBUTES &&
			(attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
	}
	if (there && made) {
		*made = new;
	}
	free(wide);
	return there;
}

void os_folder_remove(const char *path)
{
	wchar_t *wide = wide_from(path);

	if (wide) {
		RemoveDirectoryW(wide);
	}
	free(wide);
}

FILE *os_file_stream(const char *path, const char *mode)
{
	wchar_t *wide = wide_from(path), *wide_mode = wide_from(mode);
	FILE *stream = wide && wide_mode ? _wfopen(wide, wide_mode) : NULL;

	free(wide);
	free(wide_mode);
	return stream;
}

/*
 * Without rights of its own a file would take those of its folder, and every account may read what
 * stands below C:\ProgramData. P: nothing is taken from the folder; all rights (FA) for the owner,
 * the system and administrators ("Security Descriptor String Format", "SID Strings", Microsoft
 * Learn). INVALID_HANDLE_VALUE: GetLastError() says why.
 */
static HANDLE create_private(const char *path)
{
	static const wchar_t rights[] = L"D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)";
	SECURITY_ATTRIBUTES security = { .nLength = sizeof security };
	HANDLE file = INVALID_HANDLE_VALUE;
	wchar_t *wide = wide_from(path);
	DWORD error;

	if (wide && ConvertStringSecurityDescriptorToSecurityDescriptorW(
			    rights, SDDL_REVISION_1, &security.lpSecurityDescriptor, NULL)) {
		file = CreateFileW(wide, GENERIC_WRITE, FILE_SHARE_READ, &security, CREATE_ALWAYS,
				   FILE_ATTRIBUTE_NORMAL, NULL);
	}
	error = GetLastError();
	LocalFree(security.lpSecurityDescriptor);
	free(wide);
	SetLastError(error);
	return file;
}

FILE *os_file_create(const char *path, struct etw_error *err)
{
	HANDLE handle = create_private(path);
	int fd = -1;
	FILE *file = NULL;

	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "cannot create");
		return NULL;
	}
	fd = _open_osfhandle((intptr_t)handle, _O_BINARY);
	if (fd < 0) {
		CloseHandle(handle);
	} else {
		file = _fdopen(fd, "wb");
	}
	if (!file) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot create: too many open files");
		if (fd >= 0) {
			_close(fd);
		}
	}
	return file;
}

static bool flush_to_disk(const wchar_t *path, struct etw_error *err)
{
	HANDLE file = CreateFileW(path, GENERIC_WRITE,
				  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
				  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
	bool flushed = file != INVALID_HANDLE_VALUE && FlushFileBuffers(file);

	if (!flushed) {
		error_set_last(err, "cannot be written to the disk");
	}
	if (file != INVALID_HANDLE_VALUE) {
		CloseHandle(file);
	}
	return flushed;
}

bool os_file_publish(const char *from, const char *to, struct etw_error *err)
{
	wchar_t *wide_from_name = wide_from(from), *wide_to_name = wide_from(to);
	bool good = wide_from_name && wide_to_name;

	if (!good) {
		error_set_last(err, "cannot be renamed");
	} else if (!flush_to_disk(wide_from_name, err)) {
		good = false;
	} else if (!MoveFileExW(wide_from_name, wide_to_name, MOVEFILE_REPLACE_EXISTING)) {
		error_set_last(err, "cannot be renamed");
		good = false;
	}
	free(wide_from_name);
	free(wide_to_name);
	return good;
}

bool os_file_remove(const char *path, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	bool good = wide && (DeleteFileW(wide) || GetLastError() == ERROR_FILE_NOT_FOUND);

	if (!good) {
		error_set_last(err, "cannot be removed");
	}
	free(wide);
	return good;
}

uint64_t os_disk_free_bytes(const char *folder)
{
	wchar_t *wide = wide_from(folder);
	ULARGE_INTEGER bytes;
	bool known = wide && GetDiskFreeSpaceExW(wide, &bytes, NULL, NULL);

	free(wide);
	return known ? bytes.QuadPart : UINT64_MAX;
}

bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err)
{
	enum { PIECE = 1 << 20 };
	HANDLE file = create_private(path);
	bool written = file != INVALID_HANDLE_VALUE;

	for (size_t at = 0; written && at < size;) {
		DWORD more = 0;

		written = WriteFile(file, bytes + at,
				    (DWORD)(size - at < PIECE ? size - at : PIECE), &more, NULL) &&
			  more > 0;
		at += more;
	}
	if (!written) {
		error_set_last(err, "cannot be written");
	}
	if (file != INVALID_HANDLE_VALUE) {
		CloseHandle(file);
	}
	return written;
}

static struct file_seen seen_of(const BY_HANDLE_FILE_INFORMATION *facts)
{
	return (struct file_seen){
		.size = (uint64_t)facts->nFileSizeHigh << 32 | facts->nFileSizeLow,
		.written = (uint64_t)facts->ftLastWriteTime.dwHighDateTime << 32 |
			   facts->ftLastWriteTime.dwLowDateTime,
		.links = facts->nNumberOfLinks,
	};
}

const char *os_file_change(struct os_file *file)
{
	const struct file_seen before = file->seen;
	BY_HANDLE_FILE_INFORMATION facts;

	if (file->temporary || !GetFileInformationByHandle(file->handle, &facts)) {
		return NULL;
	}
	file->seen = seen_of(&facts);
	return file->seen.size > before.size             ? "has become longer" :
	       file->seen.size < before.size             ? "has become shorter" :
	       file->seen.links == 0 && before.links > 0 ? "was removed" :
	       file->seen.written != before.written      ? "was overwritten" :
							   NULL;
}

/* Takes the handle over, also when it fails. */
static struct os_file *file_over(HANDLE handle, bool any, struct etw_error *err)
{
	struct os_file *file = calloc(1, sizeof *file);
	BY_HANDLE_FILE_INFORMATION facts;
	LARGE_INTEGER size;
	DWORD type = GetFileType(handle), mode;
	bool examined;

	if (!file) {
		CloseHandle(handle);
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to open a file");
		return NULL;
	}
	file->handle = handle;
	examined = type == FILE_TYPE_DISK && GetFileInformationByHandle(handle, &facts) &&
		   GetFileSizeEx(handle, &size);
	/* Wine knows nothing about a file that its standard input is redirected from. */
	if (any && !examined) {
		file->is_stream = !GetConsoleMode(handle, &mode);
		if (file->is_stream) {
			return file;
		}
		error_set(err, ETW_ERROR_UNSUPPORTED, "is a terminal, not a regular file");
		goto fail;
	}
	if (type != FILE_TYPE_DISK) {
		error_set(err, ETW_ERROR_UNSUPPORTED,
			  "is a device, pipe or socket, not a regular file");
		goto fail;
	}
	if (!examined) {
		error_set_last(err, "cannot be examined");
		goto fail;
	}
	if (facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
		error_set(err, ETW_ERROR_UNSUPPORTED, "is a directory, not a regular file");
		goto fail;
	}
	file->size = (uint64_t)size.QuadPart;
	file->seen = seen_of(&facts);
	return file;

fail:
	os_file_close(file);
	return NULL;
}

static struct os_file *file_open(const char *path, bool any, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	HANDLE handle;

	if (!wide) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened: its name is not UTF-8");
		return NULL;
	}
	/* Other programs may continue to write, rename and delete the file, since recordings are
	 * often still written. Without backup semantics the error for a folder would be "access
	 * denied". */
	handle = CreateFileW(wide, GENERIC_READ,
			     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			     OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	free(wide);
	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "cannot be opened");
		return NULL;
	}
	return file_over(handle, any, err);
}

struct os_file *os_file_open(const char *path, struct etw_error *err)
{
	return file_open(path, false, err);
}

static HANDLE duplicate(HANDLE handle)
{
	HANDLE other;

	return DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &other, 0, FALSE,
			       DUPLICATE_SAME_ACCESS) ?
		       other :
		       NULL;
}

struct os_file *os_file_open_any(const char *path, struct etw_error *err)
{
	HANDLE handle;

	if (strcmp(path, "-") != 0) {
		return file_open(path, true, err);
	}
	handle = duplicate(GetStdHandle(STD_INPUT_HANDLE));
	if (!handle) {
		error_set_last(err, "cannot be opened");
		return NULL;
	}
	return file_over(handle, true, err);
}

bool os_file_is_stream(const struct os_file *file)
{
	return file->is_stream;
}

bool os_file_next(struct os_file *file, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	/*
	 * A writer may write nothing at all into a pipe; its end is an error. On Wine the end of a
	 * pipe of the host is an endless number of such reads.
	 */
	enum { EMPTY_READS_MAX = 16 };
	DWORD part = size < 1 << 30 ? (DWORD)size : 1 << 30;
	DWORD step = 0;

	for (unsigned i = 0; step == 0 && i < EMPTY_READS_MAX; i++) {
		if (!ReadFile(file->handle, bytes, part, &step, NULL)) {
			if (GetLastError() != ERROR_BROKEN_PIPE &&
			    GetLastError() != ERROR_HANDLE_EOF) {
				return error_set_last(err, "cannot be read");
			}
			step = 0;
			break;
		}
	}
	*got = step;
	return true;
}

struct os_file *os_file_temporary(struct etw_error *err)
{
	wchar_t folder[MAX_PATH + 1], path[MAX_PATH];
	struct os_file *file;
	HANDLE handle;

	/* Makes the file, too. It is then opened without sharing, so no other program opens it. */
	if (GetTempPathW(MAX_PATH + 1, folder) == 0 ||
	    GetTempFileNameW(folder, L"etw", 0, path) == 0) {
		error_set_last(err, "no temporary file can be made");
		return NULL;
	}
	handle = CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL, CREATE_ALWAYS,
			     FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "no temporary file can be made");
		DeleteFileW(path);
		return NULL;
	}
	file = file_over(handle, false, err);
	if (file) {
		file->temporary = true;
	}
	return file;
}

bool os_file_is_temporary(const struct os_file *file)
{
	return file->temporary;
}

bool os_file_append(struct os_file *file, const void *bytes, size_t size, struct etw_error *err)
{
	for (size_t done = 0; done < size;) {
		uint64_t at = file->size + done;
		OVERLAPPED position = { .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
		DWORD part = size - done < 1 << 30 ? (DWORD)(size - done) : 1 << 30;
		DWORD step = 0;

		if (!WriteFile(file->handle, (const char *)bytes + done, part, &step, &position)) {
			return error_set_last(err, "a temporary file cannot be written");
		}
		done += step;
	}
	file->size += size;
	return true;
}

struct os_file *os_file_share(const struct os_file *file, struct etw_error *err)
{
	HANDLE handle = duplicate(file->handle);
	struct os_file *shared;

	if (!handle) {
		error_set_last(err, "cannot be opened once more");
		return NULL;
	}
	shared = file_over(handle, file->is_stream, err);
	if (shared) {
		shared->temporary = file->temporary;
	}
	return shared;
}

void os_file_close(struct os_file *file)
{
	if (!file) {
		return;
	}
	if (file->handle != INVALID_HANDLE_VALUE) {
		CloseHandle(file->handle);
	}
	free(file);
}

uint64_t os_file_size(const struct os_file *file)
{
	return file->size;
}

void os_file_stamp(const char *path, struct os_file_stamp *stamp)
{
	struct os_file *file = os_file_open(path, NULL);
	BY_HANDLE_FILE_INFORMATION facts;

	*stamp = (struct os_file_stamp){ 0 };
	if (file && GetFileInformationByHandle(file->handle, &facts)) {
		stamp->volume = facts.dwVolumeSerialNumber;
		stamp->number = (uint64_t)facts.nFileIndexHigh << 32 | facts.nFileIndexLow;
		stamp->size = (uint64_t)facts.nFileSizeHigh << 32 | facts.nFileSizeLow;
		stamp->written = (uint64_t)facts.ftLastWriteTime.dwHighDateTime << 32 |
				 facts.ftLastWriteTime.dwLowDateTime;
		stamp->changed = (uint64_t)facts.ftCreationTime.dwHighDateTime << 32 |
				 facts.ftCreationTime.dwLowDateTime;
	}
	os_file_close(file);
}

bool os_file_is_public(const char *path)
{
	(void)path;
	return false;
}

bool os_file_read(struct os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	size_t done = 0;

	if (offset >= file->size) {
		*got = 0;
		return true;
	}
	if (size > file->size - offset) {
		size = (size_t)(file->size - offset);
	}
	while (done < size) {
		uint64_t at = offset + done;
		/* The position for ReadFile() on a handle that was opened for synchronous reading.
		 */
		OVERLAPPED position = {
			.Offset = (DWORD)at,
			.OffsetHigh = (DWORD)(at >> 32),
		};
		DWORD part = size - done < 1 << 30 ? (DWORD)(size - done) : 1 << 30;
		DWORD step = 0;

		if (!ReadFile(file->handle, (char *)bytes + done, part, &step, &position) &&
		    GetLastError() != ERROR_HANDLE_EOF) {
			error_set_last(err, "cannot be read");
			return error_prefix(err, "%zu bytes at %" PRIu64, size - done, at);
		}
		if (step == 0) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "ends at %" PRIu64 ", but had %" PRIu64
					 " bytes when it was opened: cut short meanwhile",
					 at, file->size);
		}
		done += step;
	}
	*got = done;
	return true;
}

/* ---- UTF-16 ---- */

wchar_t *wide_from(const char *text)
{
	int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
	wchar_t *wide = size > 0 ? calloc((size_t)size, sizeof *wide) : NULL;

	if (wide && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, size) == 0) {
		free(wide);
		return NULL;
	}
	return wide;
}

char *narrow_from(const wchar_t *wide)
{
	int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
	char *text = size > 0 ? calloc((size_t)size, 1) : NULL;

	if (text && WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL) == 0) {
		free(text);
		return NULL;
	}
	return text;
}

void *os_utf8_start(void)
{
	return NULL;
}

void os_utf8_end(void *started)
{
	(void)started;
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

bool error_set_last(struct etw_error *err, const char *what)
{
	char text[ERROR_TEXT_SIZE];

	os_error_text((int)GetLastError(), text, sizeof text);
	return error_set(err, ETW_ERROR_SYSTEM, "%s: %s", what, text);
}
