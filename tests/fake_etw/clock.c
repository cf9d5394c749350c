/* SPDX-License-Identifier: MIT */
/*
 * The clocks of the machine: a performance counter whose frequency and reading a test can choose,
 * and a system time that can jump.
 *
 * Both go on by the real monotonic clock, so that waiting works; what a test sets is an offset.
 * Atomics, because the functions are called with and without the lock of the fake.
 */
#define _KERNEL32_
#include "tests/fake_etw/internal.h"

#include <stdatomic.h>

enum { CPU_MHZ = 2400 };

static _Atomic int64_t frequency;
static _Atomic int too_fast_ppm;
static _Atomic int64_t counter_base; /* at base_ns */
static _Atomic int64_t time_base;    /* likewise, 100 ns since 1601 UTC */
static _Atomic int64_t base_ns;

#ifdef _WIN32
typedef BOOL(WINAPI *read_counter)(LARGE_INTEGER *);
typedef void(WINAPI *read_time)(LPFILETIME);

/* The real functions by address: their names are ours here, and the C library's clocks call them
 * too. Looked up once: that takes longer than all else that is done for an event. */
static void *real(_Atomic(uintptr_t) *known, const char *name)
{
	uintptr_t address = atomic_load(known);

	if (address == 0) {
		address = (uintptr_t)GetProcAddress(GetModuleHandleA("kernel32.dll"), name);
		atomic_store(known, address);
	}
	return (void *)address;
}

static int64_t real_frequency(void)
{
	static _Atomic(uintptr_t) function;
	static _Atomic int64_t known; /* the same until the machine starts again */
	LARGE_INTEGER ticks = { .QuadPart = atomic_load(&known) };

	if (ticks.QuadPart == 0) {
		((read_counter)real(&function, "QueryPerformanceFrequency"))(&ticks);
		atomic_store(&known, ticks.QuadPart);
	}
	return ticks.QuadPart;
}

uint64_t fake_clock_monotonic_ns(void)
{
	static _Atomic(uintptr_t) function;
	int64_t ticks = real_frequency();
	LARGE_INTEGER now;

	((read_counter)real(&function, "QueryPerformanceCounter"))(&now);
	return (uint64_t)(now.QuadPart / ticks * 1000000000 +
			  now.QuadPart % ticks * 1000000000 / ticks);
}

static int64_t real_system_time(void)
{
	static _Atomic(uintptr_t) function;
	FILETIME now;

	((read_time)real(&function, "GetSystemTimePreciseAsFileTime"))(&now);
	return (int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
}
#else
uint64_t fake_clock_monotonic_ns(void)
{
	return os_monotonic_ns();
}

static int64_t real_system_time(void)
{
	return (int64_t)(os_unix_time_ns() / 100) + 116444736000000000;
}
#endif

static int64_t monotonic_ns(void)
{
	return (int64_t)fake_clock_monotonic_ns();
}

static int64_t counter_at(int64_t now_ns)
{
	int64_t ns = now_ns - atomic_load(&base_ns);
	int64_t ticks = atomic_load(&frequency);

	ns += ns / 1000000 * atomic_load(&too_fast_ppm);
	return atomic_load(&counter_base) + ns / 1000000000 * ticks +
	       ns % 1000000000 * ticks / 1000000000;
}

static int64_t system_time_at(int64_t now_ns)
{
	return atomic_load(&time_base) + (now_ns - atomic_load(&base_ns)) / 100;
}

int64_t fake_clock_frequency(void)
{
	return atomic_load(&frequency);
}

int64_t fake_clock_qpc(void)
{
	return counter_at(monotonic_ns());
}

int64_t fake_clock_system_time(void)
{
	return system_time_at(monotonic_ns());
}

int64_t fake_clock_boot_time(void)
{
	int64_t ticks = atomic_load(&frequency);
	int64_t counter = fake_clock_qpc();

	return fake_clock_system_time() -
	       (counter / ticks * 10000000 + counter % ticks * 10000000 / ticks);
}

int64_t fake_clock_raw_at(uint32_t clock, uint64_t now_ns)
{
	switch (clock) {
	case 2:
		return system_time_at((int64_t)now_ns);
	case 3:
		return (int64_t)now_ns / 1000 * CPU_MHZ;
	default:
		return counter_at((int64_t)now_ns);
	}
}

int64_t fake_clock_raw(uint32_t clock)
{
	return fake_clock_raw_at(clock, fake_clock_monotonic_ns());
}

static int64_t ticks_per_second(const struct fake_session *session)
{
	return session->clock == 2 ? 10000000 :
	       session->clock == 3 ? (int64_t)CPU_MHZ * 1000000 :
				     atomic_load(&frequency);
}

int64_t fake_clock_ticks_of_ms(const struct fake_session *session, unsigned ms)
{
	return ticks_per_second(session) / 1000 * ms;
}

int64_t fake_clock_to_time(const struct fake_session *session, int64_t raw)
{
	int64_t ticks = ticks_per_second(session);
	int64_t since = raw - session->start_raw;

	if (session->clock == 2) {
		return raw;
	}
	return session->start_time + since / ticks * 10000000 + since % ticks * 10000000 / ticks;
}

void fake_etw_set_clock(uint64_t new_frequency, int64_t counter, int64_t system_time)
{
	atomic_store(&frequency, (int64_t)new_frequency);
	atomic_store(&counter_base, counter);
	atomic_store(&time_base, system_time);
	atomic_store(&base_ns, monotonic_ns());
}

void fake_etw_jump_system_time(int64_t delta_100ns)
{
	atomic_fetch_add(&time_base, delta_100ns);
}

void fake_clock_advance_to(int64_t counter)
{
	int64_t ahead = counter - fake_clock_qpc();
	int64_t ticks = atomic_load(&frequency);

	if (ahead > 0) {
		atomic_fetch_add(&counter_base, ahead);
		atomic_fetch_add(&time_base,
				 ahead / ticks * 10000000 + ahead % ticks * 10000000 / ticks);
	}
}

void fake_clock_reset(void)
{
	atomic_store(&too_fast_ppm, fake.options.counter_ppm);
	fake_etw_set_clock(10000000, monotonic_ns() / 100, real_system_time());
}

BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *count)
{
	count->QuadPart = fake_clock_qpc();
	return TRUE;
}

BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *result)
{
	result->QuadPart = fake_clock_frequency();
	return TRUE;
}

static void to_file_time(LPFILETIME result)
{
	uint64_t now = (uint64_t)fake_clock_system_time();

	result->dwLowDateTime = (DWORD)now;
	result->dwHighDateTime = (DWORD)(now >> 32);
}

void WINAPI GetSystemTimePreciseAsFileTime(LPFILETIME result)
{
	to_file_time(result);
}

void WINAPI GetSystemTimeAsFileTime(LPFILETIME result)
{
	to_file_time(result);
}

IMPORTED(QueryPerformanceCounter);
IMPORTED(QueryPerformanceFrequency);
IMPORTED(GetSystemTimePreciseAsFileTime);
IMPORTED(GetSystemTimeAsFileTime);
