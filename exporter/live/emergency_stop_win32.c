/* SPDX-License-Identifier: MIT */
/*
 * The sessions that this process runs, written down where a dying process finds them: no lock, no
 * memory of the heap. A session outlives the program that started it, and one of ours costs the
 * machine its events until somebody stops it.
 */
#include <stdatomic.h>
#include <string.h>

#include "live/live_internal_win32.h"

enum { SESSIONS_MAX = 64 }; /* as many as Windows runs ("Event Tracing Sessions") */

enum { FREE, CHANGING, RUNS };

static struct {
	_Atomic(int) state;
	GUID guid;
	WCHAR name[SESSION_NAME_MAX];
} sessions[SESSIONS_MAX];

unsigned emergency_stop_add(const WCHAR name[SESSION_NAME_MAX], const GUID *guid)
{
	for (unsigned i = 0; i < SESSIONS_MAX; i++) {
		int expected = FREE;

		if (atomic_compare_exchange_strong(&sessions[i].state, &expected, CHANGING)) {
			sessions[i].guid = *guid;
			memcpy(sessions[i].name, name, sizeof sessions[i].name);
			/* Pairs with the acquire in live_emergency_stop(): name and GUID are whole.
			 */
			atomic_store_explicit(&sessions[i].state, RUNS, memory_order_release);
			return i + 1;
		}
	}
	return 0;
}

void emergency_stop_remove(unsigned number)
{
	if (number > 0) {
		atomic_store_explicit(&sessions[number - 1].state, FREE, memory_order_release);
	}
}

/* One of that name that another program has started meanwhile stays. */
static void stop(const WCHAR *name, const GUID *guid)
{
	static struct session_properties properties; /* too large for a stack that may be short */
	ULONG status;

	session_init_properties(&properties);
	status = ControlTraceW(0, name, &properties.base, EVENT_TRACE_CONTROL_QUERY);
	if ((status != ERROR_SUCCESS && status != ERROR_MORE_DATA) ||
	    memcmp(&properties.base.Wnode.Guid, guid, sizeof *guid) != 0) {
		return;
	}
	session_init_properties(&properties);
	ControlTraceW(0, name, &properties.base, EVENT_TRACE_CONTROL_STOP);
}

void live_emergency_stop(void)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		if (atomic_load_explicit(&sessions[i].state, memory_order_acquire) == RUNS) {
			stop(sessions[i].name, &sessions[i].guid);
		}
	}
}
