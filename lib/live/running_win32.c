/* SPDX-License-Identifier: MIT */
/*
 * Queries of Windows about event tracing: the running sessions, the sessions that have a provider
 * enabled, and the registered providers.
 *
 * The answers can grow between the call that returns the needed size and the next call, so
 * live_ask() repeats the call, a bounded number of times. Counts and offsets inside an answer are
 * compared with its size before they are used.
 *
 * Windows has no query for the providers of a session. It only lists the sessions of a provider,
 * and it lists a provider once for each process that has registered it. So the providers of all
 * sessions are found by a query for each provider, and a session that was already found in another
 * process is skipped.
 */
#include <stdlib.h>
#include <string.h>

#include <etw/session.h>

#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"

enum { SESSIONS_BY_DEFAULT = 64, SESSIONS_MOST = 256 }; /* EtwMaxLoggers, "StartTraceW function" */

static bool failed(const char *what, ULONG status, struct etw_error *err)
{
	char words[160];

	return error_set(err, ETW_ERROR_SYSTEM, "%s cannot be listed: %s", what,
			 live_error_text(status, words));
}

/* ---- sessions ---- */

static char *text_of(ULONG offset, const WCHAR *at)
{
	char text[4 * SESSION_NAME_MAX] = "";

	if (offset == 0 || !live_narrow(at, text, sizeof text)) {
		text[0] = '\0';
	}
	return text_duplicate(text, strlen(text));
}

/* Returns the flags of a session, also those that Windows keeps in other words than EnableFlags. */
static uint32_t flags_of(const EVENT_TRACE_PROPERTIES *base)
{
	uint32_t words[ETW_KERNEL_WORDS] = { 0 };
	ULONG returned = 0;

	if (TraceQueryInformation(base->Wnode.HistoricalContext, TraceSystemTraceEnableFlagsInfo,
				  words, sizeof words, &returned) != ERROR_SUCCESS) {
		return base->EnableFlags; /* it is no session with kernel events */
	}
	return base->EnableFlags | etw_kernel_flags_in(words);
}

static bool take_session(const struct session_properties *properties,
			 struct etw_running_session *session)
{
	const EVENT_TRACE_PROPERTIES *base = &properties->base;

	*session = (struct etw_running_session){
		.name = text_of(base->LoggerNameOffset, properties->logger_name),
		.file = text_of(base->LogFileNameOffset, properties->log_file_name),
		.id = (uint32_t)(base->Wnode.HistoricalContext & 0xffff),
		.mode = base->LogFileMode,
		.kernel_flags = flags_of(base),
		.buffer_size_bytes = (uint64_t)base->BufferSize * 1024,
		.buffers_min = base->MinimumBuffers,
		.buffers_max = base->MaximumBuffers,
		.buffers = base->NumberOfBuffers,
		.buffers_free = base->FreeBuffers,
		.buffers_written = base->BuffersWritten,
		.events_lost = base->EventsLost,
		.log_buffers_lost = base->LogBuffersLost,
		.realtime_buffers_lost = base->RealTimeBuffersLost,
	};
	return session->name && session->file;
}

uint32_t running_places(void)
{
	ULONG places = 0, returned = 0;
	ULONG status =
		TraceQueryInformation(0, TraceMaxLoggersQuery, &places, sizeof places, &returned);

	if (status != ERROR_SUCCESS || places == 0) {
		return SESSIONS_BY_DEFAULT; /* Windows before 1709, which runs at most 64 */
	}
	return places < SESSIONS_MOST ? places : SESSIONS_MOST;
}

/* Queries Windows with room for `room` sessions. The caller frees *properties, also on failure. */
static ULONG query_sessions(ULONG room, struct session_properties **properties, ULONG *count)
{
	EVENT_TRACE_PROPERTIES *pointers[SESSIONS_MOST];

	free(*properties);
	*properties = calloc(room, sizeof **properties);
	if (!*properties) {
		return ERROR_NOT_ENOUGH_MEMORY;
	}
	for (size_t i = 0; i < room; i++) {
		struct session_properties *one = &(*properties)[i];

		one->base.Wnode.BufferSize = sizeof *one;
		one->base.LoggerNameOffset = offsetof(struct session_properties, logger_name);
		one->base.LogFileNameOffset = offsetof(struct session_properties, log_file_name);
		pointers[i] = &one->base;
	}
	return QueryAllTracesW(pointers, room, count);
}

static bool read_sessions(struct etw_running_sessions *sessions, struct etw_error *err)
{
	struct session_properties *properties = NULL;
	ULONG count = 0, room = running_places();
	ULONG status = query_sessions(room, &properties, &count);
	bool good = false;

	if (status == ERROR_INVALID_PARAMETER && room > SESSIONS_BY_DEFAULT) {
		/* The documentation of the function allows 64 and does not mention
		 * EtwMaxLoggers. */
		room = SESSIONS_BY_DEFAULT;
		status = query_sessions(room, &properties, &count);
	}
	if (status != ERROR_SUCCESS && status != ERROR_MORE_DATA) {
		failed("sessions", status, err);
		goto done;
	}
	count = count < room ? count : room;
	sessions->list = calloc(count + 1, sizeof *sessions->list);
	good = sessions->list || error_no_memory(err, "the sessions");
	for (ULONG i = 0; good && i < count; i++) {
		good = take_session(&properties[i], &sessions->list[sessions->count++]) ||
		       error_no_memory(err, "the sessions");
	}

done:
	free(properties);
	return good;
}

/* ---- providers ---- */

struct guids_question {
	TRACE_QUERY_INFO_CLASS class;
	GUID provider; /* for TraceGuidQueryInfo */
};

static ULONG ask_guids(void *context, void *answer, ULONG *size)
{
	struct guids_question *question = context;
	bool of_one = question->class == TraceGuidQueryInfo;
	ULONG room = *size;

	return EnumerateTraceGuidsEx(question->class, of_one ? &question->provider : NULL,
				     of_one ? sizeof question->provider : 0, answer, room, size);
}

/* Called for a session (info->LoggerId) that has the provider enabled. Returns false to end the
 * search. */
typedef bool on_enabled(void *context, const GUID *provider, const TRACE_ENABLE_INFO *info);

/*
 * Calls `each` for every session that has the provider enabled, once for each process that has
 * registered the provider. Returns false if no process has registered it or the answer of Windows
 * is malformed.
 */
static bool each_enabled(const GUID *provider, on_enabled *each, void *context)
{
	struct guids_question question = { TraceGuidQueryInfo, *provider };
	ULONG size, status;
	uint8_t *bytes = live_ask(ask_guids, &question, &size, &status);
	TRACE_GUID_INFO head = { .InstanceCount = 0 };
	size_t at = sizeof head;
	bool more = true, whole;

	if (bytes && size >= sizeof head) {
		memcpy(&head, bytes, sizeof head);
	}
	whole = head.InstanceCount > 0;
	for (ULONG i = 0; more && i < head.InstanceCount; i++) {
		TRACE_PROVIDER_INSTANCE_INFO instance;
		TRACE_ENABLE_INFO info;
		size_t room;

		if (at > size || size - at < sizeof instance) {
			whole = false;
			break;
		}
		memcpy(&instance, bytes + at, sizeof instance);
		room = (size - at - sizeof instance) / sizeof info;
		for (ULONG j = 0; more && j < instance.EnableCount && j < room; j++) {
			memcpy(&info, bytes + at + sizeof instance + j * sizeof info, sizeof info);
			more = !info.IsEnabled || each(context, provider, &info);
		}
		if (instance.NextOffset == 0) {
			break;
		}
		at += instance.NextOffset;
	}
	free(bytes);
	return whole;
}

enum { LOGGER_ID = 0xffff }; /* bits of a session's handle: TRACE_ENABLE_CONTEXT, evntrace.h */

struct enabled_search {
	USHORT logger;
	bool found;
};

static bool find_logger(void *context, const GUID *provider, const TRACE_ENABLE_INFO *info)
{
	struct enabled_search *search = context;

	(void)provider;
	search->found = info->LoggerId == search->logger;
	return !search->found;
}

bool running_is_disabled(const GUID *provider, TRACEHANDLE session)
{
	struct enabled_search search = { .logger = (USHORT)(session & LOGGER_ID) };

	return each_enabled(provider, find_logger, &search) && !search.found;
}

struct reading {
	struct etw_running_sessions *sessions;
	bool no_memory;
};

static bool add_provider(void *context, const GUID *guid, const TRACE_ENABLE_INFO *info)
{
	struct reading *reading = context;
	const struct etw_guid ours = live_guid(guid);

	for (size_t i = 0; i < reading->sessions->count; i++) {
		struct etw_running_session *session = &reading->sessions->list[i];
		size_t count = session->provider_count;
		struct etw_running_provider *grown;

		if (session->id != info->LoggerId ||
		    (count > 0 && etw_guid_equal(&session->providers[count - 1].guid, &ours))) {
			continue; /* another session, or already found in another process */
		}
		grown = realloc(session->providers, (count + 1) * sizeof *grown);
		if (!grown) {
			reading->no_memory = true;
			return false;
		}
		grown[count] = (struct etw_running_provider){ .guid = ours,
							      .level = info->Level,
							      .any = info->MatchAnyKeyword,
							      .all = info->MatchAllKeyword };
		session->providers = grown;
		session->provider_count++;
	}
	return true;
}

static bool read_providers(struct etw_running_sessions *sessions, struct etw_error *err)
{
	struct guids_question question = { .class = TraceGuidQueryList };
	struct reading reading = { .sessions = sessions };
	ULONG size, status;
	GUID *guids = live_ask(ask_guids, &question, &size, &status);

	if (!guids) {
		return failed("providers", status, err);
	}
	for (size_t i = 0; !reading.no_memory && i < size / sizeof *guids; i++) {
		each_enabled(&guids[i], add_provider, &reading);
	}
	free(guids);
	return !reading.no_memory || error_no_memory(err, "the enabled providers");
}

bool etw_running_read(struct etw_running_sessions *sessions, struct etw_error *err)
{
	struct etw_running_sessions read = { .list = NULL };

	if (!read_sessions(&read, err) || !read_providers(&read, err)) {
		etw_running_done(&read);
		return false;
	}
	*sessions = read;
	return true;
}

/* ---- registered providers ---- */

static ULONG ask_registered(void *context, void *answer, ULONG *size)
{
	(void)context;
	return TdhEnumerateProviders(answer, size);
}

/* Returns the name at an offset of the list; "" if there is none. */
static char *name_at(const PROVIDER_ENUMERATION_INFO *list, ULONG size, ULONG offset)
{
	const WCHAR *name = (const WCHAR *)(const void *)((const uint8_t *)list + offset);
	size_t most = offset < size ? (size - offset) / sizeof *name : 0, length = 0;
	char text[1024] = "";

	while (length < most && name[length] != 0) {
		length++;
	}
	if (offset == 0 || offset % sizeof *name != 0 || length == most ||
	    !live_narrow(name, text, sizeof text)) {
		text[0] = '\0';
	}
	return text_duplicate(text, strlen(text));
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct etw_guid));
}

bool etw_registered_read(struct etw_registered_providers *providers, struct etw_error *err)
{
	struct etw_registered_providers read = { .list = NULL };
	ULONG size, status;
	PROVIDER_ENUMERATION_INFO *list = live_ask(ask_registered, NULL, &size, &status);
	size_t header = offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray);

	if (!list) {
		return failed("the registered providers", status, err);
	}
	if (size < header ||
	    list->NumberOfProviders > (size - header) / sizeof list->TraceProviderInfoArray[0]) {
		error_set(err, ETW_ERROR_SYSTEM, "the list of registered providers is cut short");
		goto fail;
	}
	read.list = calloc(list->NumberOfProviders + 1U, sizeof *read.list);
	for (ULONG i = 0; read.list && i < list->NumberOfProviders; i++) {
		const TRACE_PROVIDER_INFO *info = &list->TraceProviderInfoArray[i];
		char *name = name_at(list, size, info->ProviderNameOffset);

		if (!name) {
			etw_registered_done(&read);
			break;
		}
		read.list[read.count++] = (struct etw_registered_provider){
			.guid = live_guid(&info->ProviderGuid),
			.name = name,
			.manifest = info->SchemaSource == 0,
		};
	}
	if (!read.list) {
		error_no_memory(err, "the registered providers");
		goto fail;
	}
	qsort(read.list, read.count, sizeof *read.list, compare);
	free(list);
	*providers = read;
	return true;

fail:
	free(list);
	return false;
}
