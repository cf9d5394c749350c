/* SPDX-License-Identifier: MIT */
/*
 * Attaches to a session that another program controls, such as an autologger.
 *
 * Such a session is read and nothing else: it is never started, changed, flushed or stopped, no
 * provider is enabled in it, and a crash leaves it alone. Its controller decides about its events,
 * buffers and flush timer, and may end it at any time; then the source waits until a session of
 * that name runs again. What the session counted before it was attached to does not count.
 *
 * Windows gives a real-time session more than one consumer (assumed; docs/windows.md section 1). A
 * session without real time mode has none.
 *
 * Its clock need not be the performance counter. The source has the clock of the session that ran
 * when it was opened; a later one with another clock cannot be read.
 *
 * Source: "ControlTraceW function", "OpenTraceW function", "EVENT_TRACE_PROPERTIES structure",
 * "Configuring and Starting an AutoLogger Session", Microsoft Learn.
 */
#include <etw/kernel.h>
#include <etw/session.h>

#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"

static void add_missing(struct etw_text *out, uint32_t flags, uint32_t groups)
{
	for (unsigned i = 0; etw_kernel_flag_names[i]; i++) {
		if (etw_kernel_flag_among(i, flags, groups)) {
			text_add_format(out, "%s%s", out->size > 0 ? ", " : "",
					etw_kernel_flag_names[i]);
		}
	}
}

void attach_report_missing(const struct live *live, TRACEHANDLE session)
{
	uint32_t flags = kernel_flags_of(live), groups = kernel_groups_of(live);
	ULONG masks[KERNEL_MASKS] = { 0 }, returned = 0;
	uint32_t words[ETW_KERNEL_WORDS];
	struct etw_text missing = { 0 };

	/* A session that is no system logger has none, and the query fails. */
	if (TraceQueryInformation(session, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks,
				  &returned) == ERROR_SUCCESS) {
		for (size_t i = 0; i < ETW_KERNEL_WORDS; i++) {
			words[i] = masks[i];
		}
		flags &= ~etw_kernel_flags_in(words);
		for (size_t i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
			if (masks[etw_kernel_groups[i].word] & etw_kernel_groups[i].bit) {
				groups &= ~(1U << i);
			}
		}
	}
	add_missing(&missing, flags, groups);
	if (missing.size > 0) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "its controller has not enabled kernel events that are needed: %s",
			    missing.data);
	}
	text_free(&missing);
}

/* The caller holds `settings`. */
static ULONG find_session(struct live *live)
{
	struct session_properties properties;
	const EVENT_TRACE_PROPERTIES *base = &properties.base;
	TRACEHANDLE session;
	ULONG status;

	live->obstacle = NULL;
	session_properties_init(&properties);
	status = ControlTraceW(0, live->wide_name, &properties.base, EVENT_TRACE_CONTROL_QUERY);
	if (status != ERROR_SUCCESS && status != ERROR_MORE_DATA) {
		return status;
	}
	if ((base->LogFileMode & EVENT_TRACE_REAL_TIME_MODE) == 0) {
		live->obstacle = "its controller has not started it in real time mode";
		return ERROR_NOT_SUPPORTED;
	}
	counters_begin(live, base);
	counters_add(live, counters_generation(live), base);
	session = base->Wnode.HistoricalContext; /* the handle ("WNODE_HEADER structure") */
	os_mutex_lock(&live->lock);
	live->identity = (struct session_identity){ .context = session,
						    .guid = base->Wnode.Guid,
						    .guid_known = true };
	live->session = session;
	live->mode = base->LogFileMode;
	os_mutex_unlock(&live->lock);
	attach_report_missing(live, session);
	return ERROR_SUCCESS;
}

ULONG attach_start(struct live *live)
{
	ULONG status;

	os_mutex_lock(&live->settings);
	status = find_session(live);
	os_mutex_unlock(&live->settings);
	return status;
}
