/* SPDX-License-Identifier: MIT */
/*
 * Clocks, threads and locks of Windows 8 and newer.
 *
 * os.h must not include windows.h, so its structs have the size of the types of Windows, which is
 * checked at compile time. A wait can end one clock interrupt too early, and a timeout of many
 * weeks is shortened; both count as a return without a reason.
 *
 * The locks of Windows are used although the pthreads of MinGW-w64 would need no code for a second
 * system. A mutex of MinGW-w64 needs memory and an event, so locking it can fail. Its conditions
 * have no monotonic clock, and on a busy machine handing work to a waiting thread took 5 to 60
 * times as long (measured under Wine).
 */
#include "base/os.h"

#include <windows.h>

#include <assert.h>
#include <process.h>
#include <stdlib.h>

#include "base/os_win32.h"

/* ---- clocks ---- */

#define NS_PER_SECOND    UINT64_C(1000000000)
#define UNIX_EPOCH_100NS UINT64_C(116444736000000000) /* 1970 in FILETIME, counted from 1601 */

uint64_t filetime_100ns(const FILETIME *time)
{
	return (uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime;
}

uint64_t filetime_unix_ns(const FILETIME *time)
{
	return (filetime_100ns(time) - UNIX_EPOCH_100NS) * 100;
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

uint64_t os_thread_cpu_ns(void)
{
	return cpu_ns_of(GetCurrentThread());
}

uint64_t os_thread_cpu_ns_of(const struct os_thread *thread)
{
	return WaitForSingleObject(thread->handle, 0) == WAIT_TIMEOUT ? cpu_ns_of(thread->handle) :
									0;
}

uint64_t os_unix_time_ns(void)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	return filetime_unix_ns(&now);
}

void os_utc(time_t unix_seconds, struct tm *utc)
{
	*utc = (struct tm){ 0 };
	gmtime_s(utc, &unix_seconds);
}

/* ---- threads and locks ---- */

static_assert(sizeof(struct os_mutex) == sizeof(SRWLOCK), "os.h knows an SRWLOCK as one pointer");
static_assert(sizeof(struct os_condition) == sizeof(CONDITION_VARIABLE),
	      "os.h knows a CONDITION_VARIABLE as one pointer");
static_assert(sizeof(struct os_once) == sizeof(INIT_ONCE),
	      "os.h knows an INIT_ONCE as one pointer");

struct thread_start {
	void (*run)(void *context);
	void *context;
};

/* A TLS slot of Windows, not a thread-local variable: the first use of such a variable allocates
 * memory, and a thread that has faulted cannot do that. */
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

/* Bytes of each stack that are reserved for the code that runs after a stack overflow. */
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
