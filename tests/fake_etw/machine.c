/* SPDX-License-Identifier: MIT */
/* What the machine around ETW is like: its processes, processors, and the privileges of our
 * account. Its disks are in disks.c, its services and registry in services.c. */
#define _KERNEL32_
#define _ADVAPI32_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 1024, THREADS = 1024, HANDLES = 256, SE_PROFILE = 11, SE_DEBUG = 20 };

struct process {
	uint32_t pid;
	uint32_t parent;
	WCHAR image[MAX_PATH];
	uint64_t working_set, private_working_set, commit;
	uint32_t handles;
};

struct thread {
	uint32_t tid;
	uint32_t pid;
};

struct snapshot {
	struct process processes[PROCESSES];
	size_t process_count;
	size_t process_at;
	struct thread threads[THREADS];
	size_t thread_count;
	size_t thread_at;
};

struct handle {
	HANDLE handle; /* NULL: free */
	DWORD token_access;
	struct snapshot *snapshot; /* owned; NULL: a token or a device */
	const void *device;        /* NULL: a token or a snapshot */
};

static struct process processes[PROCESSES];
static size_t process_count;
static struct thread threads[THREADS];
static size_t thread_count;
static struct handle handles[HANDLES];
static bool profile_enabled;

static void add_process(uint32_t pid, uint32_t parent, const char *image)
{
	struct process *process = &processes[process_count];

	if (process_count == PROCESSES || !fake_wide_from_utf8(image, process->image, MAX_PATH)) {
		abort();
	}
	process->pid = pid;
	process->parent = parent;
	process->working_set = process->private_working_set = process->commit = 0;
	process->handles = 0;
	process_count++;
}

void fake_etw_add_process(uint32_t pid, uint32_t parent, const char *image)
{
	fake_lock();
	add_process(pid, parent, image);
	fake_unlock();
}

void fake_etw_set_memory(uint32_t pid, uint64_t working_set, uint64_t private_working_set,
			 uint64_t commit, uint32_t handle_count)
{
	fake_lock();
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].pid == pid) {
			processes[i].working_set = working_set;
			processes[i].private_working_set = private_working_set;
			processes[i].commit = commit;
			processes[i].handles = handle_count;
		}
	}
	fake_unlock();
}

void fake_etw_add_thread(uint32_t tid, uint32_t pid)
{
	fake_lock();
	if (thread_count == THREADS) {
		abort();
	}
	threads[thread_count++] = (struct thread){ .tid = tid, .pid = pid };
	fake_unlock();
}

bool fake_machine_profile_privilege(void)
{
	return profile_enabled;
}

bool fake_machine_process_name(uint32_t pid, WCHAR *name, size_t size)
{
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].pid == pid && fake_wide_length(processes[i].image) < size) {
			memcpy(name, processes[i].image,
			       (fake_wide_length(processes[i].image) + 1) * sizeof(WCHAR));
			return true;
		}
	}
	return false;
}

void fake_machine_reset(void)
{
	fake_lock();
	for (size_t i = 0; i < HANDLES; i++) {
		free(handles[i].snapshot);
		handles[i] = (struct handle){ 0 };
	}
	fake_disks_reset();
	fake_services_reset();
	fake_registry_reset();
	process_count = 0;
	thread_count = 0;
	profile_enabled = false;
	add_process(0, 0, "[System Process]");
	add_process(4, 0, "System");
	fake_unlock();
}

/* --- handles --- */

static struct handle *handle_of(HANDLE value)
{
	for (size_t i = 0; i < HANDLES; i++) {
		if (value && handles[i].handle == value) {
			return &handles[i];
		}
	}
	return NULL;
}

static struct handle *new_handle(void)
{
#ifdef _WIN32
	HANDLE value = CreateEventW(NULL, TRUE, FALSE, NULL); /* CloseHandle is the real one */
#else
	static ULONG_PTR next = 0x100;
	HANDLE value = (HANDLE)(next += 4);
#endif
	struct handle *stale = handle_of(value);

	if (stale) {
		free(stale->snapshot);
		*stale = (struct handle){ 0 };
	}
	for (size_t i = 0; i < HANDLES; i++) {
		if (!handles[i].handle) {
			handles[i] = (struct handle){ .handle = value };
#ifndef _WIN32
			fake.handles++;
#endif
			return &handles[i];
		}
	}
	abort();
}

#ifndef _WIN32
BOOL WINAPI CloseHandle(HANDLE value)
{
	struct handle *handle;
	bool found;

	fake_lock();
	handle = handle_of(value);
	found = handle != NULL;
	if (found) {
		free(handle->snapshot);
		*handle = (struct handle){ 0 };
		fake.handles--;
	}
	fake_unlock();
	if (!found) {
		SetLastError(ERROR_INVALID_HANDLE);
	}
	return found;
}
#endif

HANDLE fake_handle_of_device(const void *device)
{
	struct handle *handle = new_handle();

	handle->device = device;
	return handle->handle;
}

const void *fake_device_of_handle(HANDLE value)
{
	const struct handle *handle = handle_of(value);

	return handle ? handle->device : NULL;
}

/* --- the list of processes with their memory --- */

enum { SYSTEM_PROCESSES = 5, ENTRY_BYTES = 256, THREAD_BYTES = 80 };

static void put_bytes(uint8_t *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
}

/* Each process has one thread behind it. */
LONG WINAPI fake_machine_query_system(ULONG what, PVOID answer, ULONG size, ULONG *needed)
{
	uint32_t error = fake_enter(CALL_NtQuerySystemInformation);
	ULONG each = ENTRY_BYTES + THREAD_BYTES;
	LONG status = 0;

	if (what != SYSTEM_PROCESSES) {
		fake_refuse("NtQuerySystemInformation", "anything but processes");
	}
	*needed = (ULONG)process_count * each;
	if (error != 0) {
		status = (LONG)error;
	} else if (what != SYSTEM_PROCESSES) {
		status = (LONG)0xC0000003; /* STATUS_INVALID_INFO_CLASS */
	} else if (size < *needed) {
		status = (LONG)0xC0000004; /* STATUS_INFO_LENGTH_MISMATCH */
	}
	for (size_t i = 0; status == 0 && i < process_count; i++) {
		uint8_t *entry = (uint8_t *)answer + i * each;

		memset(entry, 0, each);
		put_bytes(entry, i + 1 < process_count ? each : 0, 4);
		put_bytes(entry + 4, 1, 4);
		put_bytes(entry + 8, processes[i].private_working_set, 8);
		put_bytes(entry + 80, processes[i].pid, 8);
		put_bytes(entry + 96, processes[i].handles, 4);
		put_bytes(entry + 144, processes[i].working_set, 8);
		put_bytes(entry + 184, processes[i].commit, 8);
	}
	fake_unlock();
	return status;
}

/* --- snapshots --- */

static struct snapshot *take_snapshot(DWORD flags)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot) {
		abort();
	}
	if (flags & TH32CS_SNAPPROCESS) {
		memcpy(snapshot->processes, processes, sizeof(processes));
		snapshot->process_count = process_count;
	}
	if ((flags & TH32CS_SNAPTHREAD) || fake_otherwise("M1a")) {
		memcpy(snapshot->threads, threads, sizeof(threads));
		snapshot->thread_count = thread_count;
	}
	return snapshot;
}

HANDLE WINAPI CreateToolhelp32Snapshot(DWORD flags, DWORD process)
{
	uint32_t error = fake_enter(CALL_CreateToolhelp32Snapshot);
	HANDLE value = INVALID_HANDLE_VALUE;

	(void)process;
	if (error == 0 &&
	    (flags == 0 || (flags & ~(DWORD)(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD)) != 0)) {
		fake_refuse("CreateToolhelp32Snapshot", "anything but processes and threads");
		error = ERROR_NOT_SUPPORTED;
	}
	if (error == 0) {
		struct handle *handle = new_handle();

		handle->snapshot = take_snapshot(flags);
		value = handle->handle;
	}
	fake_leave(error);
	return value;
}

static uint32_t next_process(HANDLE value, LPPROCESSENTRY32W entry, bool first)
{
	struct handle *handle = handle_of(value);
	struct snapshot *snapshot = handle ? handle->snapshot : NULL;
	const struct process *process;

	if (!snapshot) {
		return ERROR_INVALID_HANDLE;
	}
	if (entry->dwSize < sizeof(*entry)) {
		return ERROR_BAD_LENGTH;
	}
	if (first) {
		snapshot->process_at = 0;
	}
	if (snapshot->process_at == snapshot->process_count) {
		return ERROR_NO_MORE_FILES;
	}
	process = &snapshot->processes[snapshot->process_at++];
	entry->cntUsage = 0;
	entry->th32ProcessID = process->pid;
	entry->th32DefaultHeapID = 0;
	entry->th32ModuleID = 0;
	entry->cntThreads = 1;
	entry->th32ParentProcessID = process->parent;
	entry->pcPriClassBase = 8;
	entry->dwFlags = 0;
	memcpy(entry->szExeFile, process->image, sizeof(process->image));
	return 0;
}

BOOL WINAPI Process32FirstW(HANDLE snapshot, LPPROCESSENTRY32W entry)
{
	uint32_t error = fake_enter(CALL_Process32FirstW);

	return fake_leave(error != 0 ? error : next_process(snapshot, entry, true));
}

BOOL WINAPI Process32NextW(HANDLE snapshot, LPPROCESSENTRY32W entry)
{
	uint32_t error = fake_enter(CALL_Process32NextW);

	return fake_leave(error != 0 ? error : next_process(snapshot, entry, false));
}

static uint32_t next_thread(HANDLE value, LPTHREADENTRY32 entry, bool first)
{
	struct handle *handle = handle_of(value);
	struct snapshot *snapshot = handle ? handle->snapshot : NULL;
	const struct thread *thread;

	if (!snapshot) {
		return ERROR_INVALID_HANDLE;
	}
	if (entry->dwSize < sizeof(*entry)) {
		return ERROR_BAD_LENGTH;
	}
	if (first) {
		snapshot->thread_at = 0;
	}
	if (snapshot->thread_at == snapshot->thread_count) {
		return ERROR_NO_MORE_FILES;
	}
	thread = &snapshot->threads[snapshot->thread_at++];
	*entry = (THREADENTRY32){ .dwSize = entry->dwSize,
				  .th32ThreadID = thread->tid,
				  .th32OwnerProcessID = thread->pid,
				  .tpBasePri = 8 };
	return 0;
}

BOOL WINAPI Thread32First(HANDLE snapshot, LPTHREADENTRY32 entry)
{
	uint32_t error = fake_enter(CALL_Thread32First);

	return fake_leave(error != 0 ? error : next_thread(snapshot, entry, true));
}

BOOL WINAPI Thread32Next(HANDLE snapshot, LPTHREADENTRY32 entry)
{
	uint32_t error = fake_enter(CALL_Thread32Next);

	return fake_leave(error != 0 ? error : next_thread(snapshot, entry, false));
}

/* --- privileges --- */

BOOL WINAPI OpenProcessToken(HANDLE process, DWORD access, PHANDLE token)
{
	uint32_t error = fake_enter(CALL_OpenProcessToken);

	if (error == 0 && process != GetCurrentProcess()) {
		error = ERROR_INVALID_HANDLE;
	}
	if (error == 0) {
		struct handle *handle = new_handle();

		handle->token_access = access;
		*token = handle->handle;
	}
	return fake_leave(error);
}

BOOL WINAPI LookupPrivilegeValueW(LPCWSTR system, LPCWSTR name, PLUID luid)
{
	uint32_t error = fake_enter(CALL_LookupPrivilegeValueW);
	LUID value = { 0 };

	(void)system;
	if (fake_wide_equal(name, u"SeSystemProfilePrivilege")) {
		value.LowPart = SE_PROFILE;
	} else if (fake_wide_equal(name, u"SeDebugPrivilege")) {
		value.LowPart = SE_DEBUG;
	} else if (error == 0) {
		error = ERROR_NO_SUCH_PRIVILEGE;
	}
	if (error == 0) {
		*luid = value;
	}
	return fake_leave(error);
}

BOOL WINAPI AdjustTokenPrivileges(HANDLE token, BOOL disable_all, PTOKEN_PRIVILEGES requested,
				  DWORD size, PTOKEN_PRIVILEGES previous, PDWORD returned)
{
	uint32_t error = fake_enter(CALL_AdjustTokenPrivileges);
	const struct handle *handle = handle_of(token);
	bool held = fake.options.rights == FAKE_ETW_ADMINISTRATOR &&
		    !fake.options.no_profile_privilege;
	bool all = true;

	(void)size;
	(void)previous;
	(void)returned;
	if (error == 0 && (!handle || handle->snapshot || handle->device)) {
		error = ERROR_INVALID_HANDLE;
	} else if (error == 0 && (handle->token_access & TOKEN_ADJUST_PRIVILEGES) == 0) {
		error = ERROR_ACCESS_DENIED;
	} else if (error == 0 && (disable_all || !requested)) {
		profile_enabled = false;
	} else if (error == 0) {
		for (DWORD i = 0; i < requested->PrivilegeCount; i++) {
			bool on = (requested->Privileges[i].Attributes & SE_PRIVILEGE_ENABLED) != 0;

			if (requested->Privileges[i].Luid.LowPart != SE_PROFILE || !held) {
				all = false;
			} else {
				profile_enabled = on;
			}
		}
	}
	if (!fake_leave(error)) {
		return FALSE;
	}
	SetLastError(all ? ERROR_SUCCESS : ERROR_NOT_ALL_ASSIGNED); /* success all the same */
	return TRUE;
}

#ifndef _WIN32
static void system_info(LPSYSTEM_INFO info)
{
	memset(info, 0, sizeof(*info));
	info->wProcessorArchitecture = 9; /* AMD64 */
	info->dwPageSize = 4096;
	fake_lock();
	info->dwNumberOfProcessors = fake.options.processors;
	fake_unlock();
	info->dwAllocationGranularity = 65536;
}

void WINAPI GetSystemInfo(LPSYSTEM_INFO info)
{
	system_info(info);
}

void WINAPI GetNativeSystemInfo(LPSYSTEM_INFO info)
{
	system_info(info);
}

DWORD WINAPI GetActiveProcessorCount(WORD group)
{
	SYSTEM_INFO info;

	(void)group;
	system_info(&info);
	return info.dwNumberOfProcessors;
}
#endif

LONG WINAPI RtlGetVersion(PRTL_OSVERSIONINFOW version)
{
	version->dwMajorVersion = 10;
	version->dwMinorVersion = 0;
	fake_lock();
	version->dwBuildNumber = fake.options.os_build;
	fake_unlock();
	version->dwPlatformId = 2;
	version->szCSDVersion[0] = 0;
	return 0;
}

IMPORTED(CreateToolhelp32Snapshot);
IMPORTED(Process32FirstW);
IMPORTED(Process32NextW);
IMPORTED(Thread32First);
IMPORTED(Thread32Next);
IMPORTED(OpenProcessToken);
IMPORTED(LookupPrivilegeValueW);
IMPORTED(AdjustTokenPrivileges);
IMPORTED(RtlGetVersion);
