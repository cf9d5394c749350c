/* SPDX-License-Identifier: MIT */
/*
 * Whether the providers of a session are still enabled in it, and enabling again those that are
 * not: whoever may control sessions may disable a provider in ours, and no one tells.
 *
 * Source: "EnumerateTraceGuidsEx function", "TRACE_GUID_INFO structure",
 * "TRACE_PROVIDER_INSTANCE_INFO structure", "TRACE_ENABLE_INFO structure", Microsoft Learn.
 */
#include <stdlib.h>
#include <string.h>

#include "live/live_internal_win32.h"

enum {
	ASK_TRIES = 8, /* processes may come between two calls */
	ANSWER_MAX = 16 << 20,
	LOGGER_ID = 0xffff, /* of a session's handle: TRACE_ENABLE_CONTEXT, evntrace.h */
};

enum answer { ANSWER_UNKNOWN, ANSWER_ENABLED, ANSWER_DISABLED };

/* What Windows says of a provider; NULL when it says nothing. The caller's to free. */
static uint8_t *ask(const GUID *provider, ULONG *size)
{
	GUID asked = *provider;
	uint8_t *bytes = NULL;
	ULONG needed = 1024;

	for (unsigned i = 0; i < ASK_TRIES && needed <= ANSWER_MAX; i++) {
		uint8_t *larger = realloc(bytes, needed);
		ULONG status;

		if (!larger) {
			break;
		}
		bytes = larger;
		*size = needed;
		status = EnumerateTraceGuidsEx(TraceGuidQueryInfo, &asked, sizeof asked, bytes,
					       *size, &needed);
		if (status == ERROR_SUCCESS) {
			*size = needed < *size ? needed : *size;
			return bytes;
		}
		if (status != ERROR_INSUFFICIENT_BUFFER) {
			break;
		}
	}
	free(bytes);
	return NULL;
}

/* Whether one of the processes that registered the provider has it enabled for the session. */
static enum answer read_answer(const uint8_t *bytes, size_t size, USHORT logger)
{
	TRACE_GUID_INFO head;
	size_t at = sizeof head;

	if (size < sizeof head) {
		return ANSWER_UNKNOWN;
	}
	memcpy(&head, bytes, sizeof head);
	for (ULONG i = 0; i < head.InstanceCount; i++) {
		TRACE_PROVIDER_INSTANCE_INFO instance;
		TRACE_ENABLE_INFO info;
		size_t room;

		if (at > size || size - at < sizeof instance) {
			return ANSWER_UNKNOWN;
		}
		memcpy(&instance, bytes + at, sizeof instance);
		room = (size - at - sizeof instance) / sizeof info;
		for (ULONG j = 0; j < instance.EnableCount && j < room; j++) {
			memcpy(&info, bytes + at + sizeof instance + j * sizeof info, sizeof info);
			if (info.LoggerId == logger && info.IsEnabled) {
				return ANSWER_ENABLED;
			}
		}
		at += instance.NextOffset;
	}
	return head.InstanceCount > 0 ? ANSWER_DISABLED : ANSWER_UNKNOWN;
}

/* Enabled for some processes only: the others' answers say nothing. */
static bool is_for_some(const struct provider_spec *provider)
{
	return provider->process_id_count > 0 || provider->executables;
}

/* False when it was found disabled. */
static bool guard(struct live *live, TRACEHANDLE session, size_t index)
{
	const struct provider_spec *provider = &live->providers[index];
	GUID guid = live_windows_guid(&provider->guid);
	enum answer answer = ANSWER_UNKNOWN;
	char label[GUID_TEXT_SIZE + 2];
	uint8_t *bytes;
	ULONG size = 0;

	if (live->guards[index] == GUARD_GIVEN_UP || is_for_some(provider)) {
		return true;
	}
	bytes = ask(&guid, &size);
	if (bytes) {
		answer = read_answer(bytes, size, (USHORT)(session & LOGGER_ID));
		free(bytes);
	}
	if (answer != ANSWER_DISABLED) {
		live->guards[index] = GUARD_FINE;
		return true;
	}
	if (live->guards[index] == GUARD_DOUBT) {
		live->guards[index] = GUARD_GIVEN_UP;
		return true;
	}
	/* Handles are used again: not in a session that is no longer ours. */
	if (session_watch(live) == ERROR_SUCCESS && session_running(live) == session &&
	    enable_provider(live, session, index) == ERROR_SUCCESS) {
		live->guards[index] = GUARD_DOUBT;
		counters_restart(live, RESTART_FLAGS_CHANGED);
		live_news(live, NEWS_PUT_BACK,
			  "another program disabled provider %s: enabled again",
			  provider_spec_label(provider, label));
	}
	return false;
}

bool watchdog_check_providers(struct live *live, TRACEHANDLE session)
{
	bool known = true, enabled;

	os_mutex_lock(&live->lock);
	enabled = live->providers_enabled && live->session == session;
	os_mutex_unlock(&live->lock);
	if (!enabled || live->provider_count == 0) {
		return false;
	}
	if (live->canary) {
		known = guard(live, session, live->canary_index);
	}
	live->guard_next = (live->guard_next + 1) % live->provider_count;
	if (!live->canary || live->guard_next != live->canary_index) {
		guard(live, session, live->guard_next);
	}
	return known;
}
