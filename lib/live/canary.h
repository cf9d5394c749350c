/* SPDX-License-Identifier: MIT */
/*
 * The exporter's own provider: "etw_exporter", TraceLogging, {07f70771-7647-53cf-f7a8-a8c8660b66d7}
 * (the GUID that TraceLogging makes of the name). A process registers it once. It writes canaries
 * and state, both at level 4 (information):
 *
 * *Canaries*, keyword 0x100 << slot. Every session that the exporter runs has a slot, enables the
 * keyword of its slot and no other, and gets a few canaries a second. A write goes to one of our
 * sessions only; a session of another program gets it if it enables the same keyword. A session
 * counts
 *
 *   sent      canaries that were written into it. A canary counts as sent when the session is known
 *             to have run after the write, with the provider enabled, or when a later canary came
 *             back. A canary that was written around the moment at which another program stopped
 *             the session may be in it or not, so it counts only if it comes back. A write that
 *             Windows refuses never counts: the session loses it and reports the loss.
 *   received  canaries of these that came back to the consumer, each once.
 *
 * So sent - received is the number of canaries that are still on their way or that were lost
 * without a report by Windows.
 *
 * *State*, keyword 0x1, only when a session captures state (EVENT_CONTROL_CODE_CAPTURE_STATE): one
 * event "Exporter", then an event "Session" for each session. All of them are written before the
 * call that captures the state returns.
 *
 * The union of what all sessions have enabled decides whether an event is written. The last
 * callback with is_enabled 1 or 0 reports this union; capturing state does not change it.
 *
 * Source: TraceLoggingProvider.h of the Windows SDK; docs/etl-format.md sections 9 and 10;
 * "EnableTraceEx2 function", "PENABLECALLBACK callback function", Microsoft Learn; how callbacks
 * follow each other: measured on Windows.
 */
#ifndef LIB_LIVE_CANARY_H
#define LIB_LIVE_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/session.h>

#include "base/error.h"
#include "lib/source/provider_names.h"

enum {
	CANARY_LEVEL = 4,
	CANARY_STATE_KEYWORD = 0x1,
	CANARY_SLOTS =
		8, /* the most sessions that may enable a provider ("EnableTraceEx2 function") */
};

struct etw_canary; /* opaque; any thread */

/* The level and the keywords that all sessions together have enabled. Returns false if none has. */
bool canary_enabled(struct etw_canary *canary, uint8_t *level, uint64_t *keywords);

#endif
