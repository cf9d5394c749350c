/* SPDX-License-Identifier: MIT */
/*
 * Providers of a session: found by name, enabled with their filters, asked for their state.
 *
 * To capture state, the keywords that are asked for are enabled too, the state is asked for, and
 * then the keywords alone are enabled again: a provider emits only what its keywords allow, the
 * answer included.
 *
 * Source: "EnableTraceEx2 function", "EVENT_FILTER_DESCRIPTOR structure", Microsoft Learn.
 */
#include "live/live_internal_win32.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "live/registered.h"
#include "source/provider_names.h"

enum {
	FILTERS_MAX = 4,
	EXECUTABLES_MAX = 1024, /* characters; MAX_EVENT_FILTER_DATA_SIZE allows half of it */
	NO_WAIT = 0,            /* callbacks of providers run when they run */
	CAPTURE_WAIT_MS = 1000, /* what is captured at the stop must be written before it */
	RUNDOWN_KEYWORD = 0x10, /* names of files */
};

/* Microsoft-Windows-Kernel rundown: the names of files that are open (observed in System Informer,
 * plugins/ExtendedTools/etwmon.c). */
static const GUID rundown_provider = {
	0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
};

/* ---- names ---- */

static bool registered_guid(const char *name, struct guid *guid)
{
	struct registered_providers providers;
	bool found = false;

	if (!registered_read(&providers, NULL)) {
		return false;
	}
	for (size_t i = 0; i < providers.count && !found; i++) {
		const struct registered_provider *provider = &providers.list[i];

		found = text_equal_nocase(provider->name, strlen(provider->name), name,
					  strlen(name));
		if (found) {
			*guid = provider->guid;
		}
	}
	registered_done(&providers);
	return found;
}

bool enable_resolve(struct live *live, struct error *err)
{
	for (size_t i = 0; i < live->provider_count; i++) {
		struct provider_spec *provider = &live->providers[i];

		if (provider_spec_nameless(provider) &&
		    !provider_guid(provider->name, &provider->guid) &&
		    !registered_guid(provider->name, &provider->guid)) {
			return error_set(
				err, ERROR_CONFIG,
				"session %s: no provider called '%s' is registered; give its "
				"GUID",
				live->name, provider->name);
		}
	}
	return true;
}

/* ---- enabling ---- */

struct filters {
	EVENT_FILTER_DESCRIPTOR descriptors[FILTERS_MAX];
	ULONG count;
	struct { /* EVENT_FILTER_EVENT_ID, with all its ids */
		BOOLEAN filter_in;
		UCHAR reserved;
		USHORT count;
		USHORT ids[PROVIDER_IDS_MAX];
	} ids;
	ULONG process_ids[PROVIDER_PROCESSES_MAX];
	WCHAR executables[EXECUTABLES_MAX];
};

static void add_filter(struct filters *filters, ULONG type, const void *data, size_t size)
{
	filters->descriptors[filters->count++] = (EVENT_FILTER_DESCRIPTOR){
		.Ptr = (ULONGLONG)(uintptr_t)data, .Size = (ULONG)size, .Type = type
	};
}

static void fill_filters(struct filters *filters, const struct provider_spec *provider)
{
	filters->count = 0;
	if (provider->id_count > 0) {
		filters->ids.filter_in = !provider->ids_out;
		filters->ids.reserved = 0;
		filters->ids.count = (USHORT)provider->id_count;
		for (size_t i = 0; i < provider->id_count; i++) {
			filters->ids.ids[i] = provider->ids[i];
		}
		add_filter(filters, EVENT_FILTER_TYPE_EVENT_ID, &filters->ids,
			   4 + 2 * provider->id_count);
	}
	if (provider->process_id_count > 0) {
		for (size_t i = 0; i < provider->process_id_count; i++) {
			filters->process_ids[i] = provider->process_ids[i];
		}
		add_filter(filters, EVENT_FILTER_TYPE_PID, filters->process_ids,
			   provider->process_id_count * sizeof filters->process_ids[0]);
	}
	if (provider->executables &&
	    live_wide(provider->executables, filters->executables, EXECUTABLES_MAX)) {
		size_t length = 0;

		while (filters->executables[length] != 0) {
			length++;
		}
		add_filter(filters, EVENT_FILTER_TYPE_EXECUTABLE_NAME, filters->executables,
			   (length + 1) * sizeof filters->executables[0]);
	}
}

static ULONG enable_property(uint32_t properties)
{
	static const struct {
		uint32_t ours;
		ULONG theirs;
	} pairs[] = {
		{ PROVIDER_SID, EVENT_ENABLE_PROPERTY_SID },
		{ PROVIDER_SESSION_ID, EVENT_ENABLE_PROPERTY_TS_ID },
		{ PROVIDER_STACK, EVENT_ENABLE_PROPERTY_STACK_TRACE },
		{ PROVIDER_PROCESS_START_KEY, EVENT_ENABLE_PROPERTY_PROCESS_START_KEY },
		{ PROVIDER_NO_KEYWORD_0, EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0 },
	};
	ULONG property = 0;

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		if (properties & pairs[i].ours) {
			property |= pairs[i].theirs;
		}
	}
	return property;
}

static ULONG control_with(TRACEHANDLE session, const struct provider_spec *provider, ULONG code,
			  uint64_t any, ULONG timeout_ms, const EVENT_FILTER_DESCRIPTOR *payload)
{
	GUID guid = live_windows_guid(&provider->guid);
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2 };
	struct filters filters;

	parameters.EnableProperty = enable_property(provider->properties);
	fill_filters(&filters, provider);
	if (payload) {
		filters.descriptors[filters.count++] = *payload;
	}
	if (filters.count > 0) {
		parameters.EnableFilterDesc = filters.descriptors;
		parameters.FilterDescCount = filters.count;
	}
	return EnableTraceEx2(session, &guid, code, provider->level, any, provider->all, timeout_ms,
			      &parameters);
}

/* A provider that nobody has registered yet is enabled all the same, for when it appears. */
void enable_complain(const struct live *live, const struct provider_spec *provider,
		     const char *what, ULONG status)
{
	char label[GUID_TEXT_SIZE + 2];
	char text[160];

	if (status != ERROR_SUCCESS) {
		live_news(live, NEWS_PROVIDER, "provider %s: %s: %s",
			  provider_spec_label(provider, label), what,
			  live_error_text(status, text));
	}
}

/* A filter by payload that Windows does not take is left out: better too many events than none. */
static ULONG control(struct live *live, TRACEHANDLE session, const struct provider_spec *provider,
		     ULONG code, uint64_t any, ULONG timeout_ms)
{
	EVENT_FILTER_DESCRIPTOR payload;
	ULONG status, without;

	if (!filter_of(live, provider, &payload)) {
		return control_with(session, provider, code, any, timeout_ms, NULL);
	}
	status = control_with(session, provider, code, any, timeout_ms, &payload);
	if (status == ERROR_SUCCESS || status == ERROR_TIMEOUT) {
		return status;
	}
	without = control_with(session, provider, code, any, timeout_ms, NULL);
	if (without == ERROR_SUCCESS && filter_give_up(live, provider)) {
		enable_complain(live, provider, "its events are not filtered by their payload",
				status);
	}
	return without;
}

/* Enables it with more keywords, asks for its state, and enables it without them. */
static ULONG capture(struct live *live, TRACEHANDLE session, const struct provider_spec *provider,
		     uint64_t keywords)
{
	uint64_t any = provider->any | keywords;
	ULONG enabled = control(live, session, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, any,
				CAPTURE_WAIT_MS);
	ULONG captured;

	if (enabled != ERROR_SUCCESS && enabled != ERROR_TIMEOUT) {
		return enabled;
	}
	/* Who did not answer in time is enabled all the same, and gets the request when he does. */
	captured = control(live, session, provider, EVENT_CONTROL_CODE_CAPTURE_STATE, any,
			   enabled == ERROR_TIMEOUT ? NO_WAIT : CAPTURE_WAIT_MS);
	enable_complain(live, provider, "its state could not be captured",
			captured != ERROR_SUCCESS ? captured : enabled);
	return control(live, session, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, provider->any,
		       NO_WAIT);
}

void enable_capture(struct live *live, TRACEHANDLE session, const struct provider_spec *provider,
		    uint64_t keywords)
{
	enable_complain(live, provider, "it could not be enabled",
			capture(live, session, provider, keywords));
}

ULONG enable_provider(struct live *live, TRACEHANDLE session, size_t index)
{
	const struct provider_spec *provider = &live->providers[index];
	ULONG status = provider->capture_at_start != 0 ?
			       capture(live, session, provider, provider->capture_at_start) :
			       control(live, session, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
				       provider->any, NO_WAIT);

	enable_complain(live, provider, "it could not be enabled", status);
	if (status == ERROR_SUCCESS && live->canary && index == live->canary_index) {
		book_begin(live);
	}
	return status;
}

void enable_providers(struct live *live, TRACEHANDLE session)
{
	for (size_t i = 0; i < live->provider_count; i++) {
		enable_provider(live, session, i);
	}
}

void enable_rundown(struct live *live, TRACEHANDLE session)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2 };
	char text[160];
	ULONG status = EnableTraceEx2(session, &rundown_provider,
				      EVENT_CONTROL_CODE_ENABLE_PROVIDER, TRACE_LEVEL_NONE,
				      RUNDOWN_KEYWORD, 0, NO_WAIT, &parameters);

	if (status != ERROR_SUCCESS) {
		live_news(live, NEWS_PROVIDER, "names of open files are not told: %s",
			  live_error_text(status, text));
	}
}

void disable_providers(struct live *live, TRACEHANDLE session)
{
	for (size_t i = 0; i < live->provider_count; i++) {
		const struct provider_spec *provider = &live->providers[i];

		if (provider->capture_at_stop != 0) {
			enable_capture(live, session, provider, provider->capture_at_stop);
		}
		control(live, session, provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, NO_WAIT);
	}
}
