/* SPDX-License-Identifier: MIT */
/*
 * The exporter's own provider: "etw_exporter", TraceLogging, {07f70771-7647-53cf-f7a8-a8c8660b66d7}
 * (the GUID that TraceLogging makes of the name). One for the process. It writes two kinds of
 * events, both at level 4 (information):
 *
 * *Canaries*, keyword 0x100 << slot. Every session that the exporter runs has a slot, enables the
 * keyword of its slot and no other, and gets a few canaries a second: one write goes to one of our
 * sessions, although it would go to every session of another program that asks for its keyword. A
 * session counts
 *
 *   sent      canaries that were written into it: it is known to have run, with the provider
 *             enabled, after the write, or a later one came back. What is written around the moment
 *             at which another program stops the session may be in it or not: it is not
 *             sent unless it comes back; nor is what Windows refuses (the session loses it, and
 *             reports the loss).
 *   received  those of them that came back to the consumer, each once.
 *
 * So sent - received is what is still under way, and what got lost without a report by Windows.
 *
 * *State*, keyword 0x1, only when a session asks for it (EVENT_CONTROL_CODE_CAPTURE_STATE): one
 * "Exporter", then a "Session" for each session; all is written when the asking call returns.
 *
 * What is written when is decided by the union of what all sessions have enabled, as the last
 * callback with is_enabled 1 or 0 said; a capture does not change it.
 *
 * Source: TraceLoggingProvider.h of the Windows SDK; docs/etl-format.md sections 9 and 10;
 * "EnableTraceEx2 function", "PENABLECALLBACK callback function", Microsoft Learn; how callbacks
 * follow each other: measured on Windows.
 */
#ifndef LIVE_CANARY_H
#define LIVE_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "source/provider_names.h"

enum {
	CANARY_LEVEL = 4,
	CANARY_STATE_KEYWORD = 0x1,
	CANARY_SLOTS = 8, /* as many sessions may enable a provider ("EnableTraceEx2 function") */
};

struct canary; /* opaque; any thread */

/* Registers the provider. version: of the exporter; copied. */
struct canary *canary_open(const char *version, struct error *err);
/* When no session uses it any more. NULL is fine. */
void canary_close(struct canary *canary);

/* What all sessions together ask for now; false: none does. */
bool canary_wanted(struct canary *canary, uint8_t *level, uint64_t *keywords);

#endif
