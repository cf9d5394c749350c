/* SPDX-License-Identifier: MIT */
/*
 * Two questions: what sessions there are, and, provider by provider, which of them has it enabled.
 */
#include "live/running.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "live/live_internal_win32.h"

enum {
	SESSIONS_MOST = 64, /* "QueryAllTracesW function": as many as can run */
	TRIES = 8,          /* what is told may grow between two calls */
};

static bool failed(const char *what, ULONG status, struct error *err)
{
	char words[160];

	return error_set(err, ERROR_SYSTEM, "%s cannot be listed: %s", what,
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

static bool take_session(const struct session_properties *properties,
			 struct running_session *session)
{
	const EVENT_TRACE_PROPERTIES *base = &properties->base;

	*session = (struct running_session){
		.name = text_of(base->LoggerNameOffset, properties->logger_name),
		.file = text_of(base->LogFileNameOffset, properties->log_file_name),
		.id = (uint32_t)(base->Wnode.HistoricalContext & 0xffff),
		.mode = base->LogFileMode,
		.kernel_flags = base->EnableFlags,
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

static bool read_sessions(struct running_sessions *sessions, struct error *err)
{
	struct session_properties *properties = calloc(SESSIONS_MOST, sizeof *properties);
	EVENT_TRACE_PROPERTIES *pointers[SESSIONS_MOST];
	ULONG count = 0, status;
	bool good = false;

	sessions->list = calloc(SESSIONS_MOST, sizeof *sessions->list);
	if (!properties || !sessions->list) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the sessions");
		goto done;
	}
	for (size_t i = 0; i < SESSIONS_MOST; i++) {
		properties[i].base.Wnode.BufferSize = sizeof properties[i];
		properties[i].base.LoggerNameOffset =
			offsetof(struct session_properties, logger_name);
		properties[i].base.LogFileNameOffset =
			offsetof(struct session_properties, log_file_name);
		pointers[i] = &properties[i].base;
	}
	status = QueryAllTracesW(pointers, SESSIONS_MOST, &count);
	if (status != ERROR_SUCCESS && status != ERROR_MORE_DATA) {
		failed("sessions", status, err);
		goto done;
	}
	good = true;
	for (ULONG i = 0; good && i < count && i < SESSIONS_MOST; i++) {
		good = take_session(&properties[i], &sessions->list[sessions->count++]) ||
		       error_set(err, ERROR_NO_MEMORY, "no memory for the sessions");
	}

done:
	free(properties);
	return good;
}

/* ---- providers ---- */

/* The answer to a question, owned; NULL: none, *status says why. */
static void *ask(TRACE_QUERY_INFO_CLASS class, void *in, ULONG in_size, ULONG *size, ULONG *status)
{
	void *out = NULL;
	ULONG room = 0;

	*status = ERROR_INSUFFICIENT_BUFFER;
	*size = 0;
	for (unsigned i = 0; i < TRIES && *status == ERROR_INSUFFICIENT_BUFFER; i++) {
		void *larger = *size > 0 ? realloc(out, *size) : out;

		if (*size > 0 && !larger) {
			*status = ERROR_NOT_ENOUGH_MEMORY;
			break;
		}
		out = larger;
		room = *size;
		*status = EnumerateTraceGuidsEx(class, in, in_size, out, room, size);
	}
	if (*status != ERROR_SUCCESS || *size > room) {
		free(out);
		return NULL;
	}
	return out;
}

static bool add_provider(struct running_sessions *sessions, const GUID *guid,
			 const TRACE_ENABLE_INFO *info)
{
	const struct guid ours = live_guid(guid);

	for (size_t i = 0; i < sessions->count; i++) {
		struct running_session *session = &sessions->list[i];
		size_t count = session->provider_count;
		struct running_provider *grown;

		if (session->id != info->LoggerId ||
		    (count > 0 && guid_equal(&session->providers[count - 1].guid, &ours))) {
			continue; /* or another process has told it already */
		}
		grown = realloc(session->providers, (count + 1) * sizeof *grown);
		if (!grown) {
			return false;
		}
		grown[count] = (struct running_provider){ .guid = ours,
							  .level = info->Level,
							  .any = info->MatchAnyKeyword,
							  .all = info->MatchAllKeyword };
		session->providers = grown;
		session->provider_count++;
	}
	return true;
}

/* Which sessions have a provider enabled, told for each process that has registered it. */
static bool read_provider(struct running_sessions *sessions, GUID *guid)
{
	ULONG size, status;
	uint8_t *bytes = ask(TraceGuidQueryInfo, guid, sizeof *guid, &size, &status);
	TRACE_GUID_INFO head = { .InstanceCount = 0 };
	size_t at = sizeof head;
	bool good = true;

	if (bytes && size >= sizeof head) {
		memcpy(&head, bytes, sizeof head);
	}
	for (ULONG i = 0; good && i < head.InstanceCount; i++) {
		TRACE_PROVIDER_INSTANCE_INFO instance;

		if (at > size || size - at < sizeof instance) {
			break;
		}
		memcpy(&instance, bytes + at, sizeof instance);
		for (ULONG j = 0; good && j < instance.EnableCount; j++) {
			TRACE_ENABLE_INFO info;
			size_t from = at + sizeof instance + (size_t)j * sizeof info;

			if (from > size || size - from < sizeof info) {
				break;
			}
			memcpy(&info, bytes + from, sizeof info);
			good = !info.IsEnabled || add_provider(sessions, guid, &info);
		}
		if (instance.NextOffset == 0) {
			break;
		}
		at += instance.NextOffset;
	}
	free(bytes);
	return good;
}

static bool read_providers(struct running_sessions *sessions, struct error *err)
{
	ULONG size, status;
	GUID *guids = ask(TraceGuidQueryList, NULL, 0, &size, &status);
	bool good = true;

	if (!guids && status != ERROR_SUCCESS) {
		return failed("providers", status, err);
	}
	for (size_t i = 0; good && guids && i < size / sizeof *guids; i++) {
		good = read_provider(sessions, &guids[i]);
	}
	free(guids);
	return good || error_set(err, ERROR_NO_MEMORY, "no memory for the enabled providers");
}

bool running_read(struct running_sessions *sessions, struct error *err)
{
	struct running_sessions read = { .list = NULL };

	if (!read_sessions(&read, err) || !read_providers(&read, err)) {
		running_done(&read);
		return false;
	}
	*sessions = read;
	return true;
}
