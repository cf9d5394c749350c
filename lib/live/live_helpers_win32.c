/* SPDX-License-Identifier: MIT */
/*
 * Helpers for all files of a live session: error codes as sentences, texts, GUIDs, queries of
 * Windows, the clock, and the statistics of the session.
 *
 * Error codes get our own sentences instead of those of FormatMessage(), which are in the language
 * of the machine and say nothing about sessions.
 *
 * Windows counts losses and buffers in 32 bits and from 0 for each session. The statistics of the
 * source count in 64 bits over all its sessions: each query adds the growth since the query before.
 * Each session has a generation number, so that an answer about an earlier session is not added to
 * the statistics of the running one. All statistics are guarded by source.mutex.
 *
 * Source: "StartTraceW function", "EnableTraceEx2 function", "OpenTraceW function", "ProcessTrace
 * function", Microsoft Learn.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/live/live_source_internal_win32.h"

/* ---- texts ---- */

static const struct {
	ULONG status;
	const char *text;
} words[] = {
	{ ERROR_PATH_NOT_FOUND, "there is no such folder" },
	{ ERROR_ACCESS_DENIED, "access is denied" },
	{ ERROR_INVALID_HANDLE, "the handle is not valid" },
	{ ERROR_NOT_ENOUGH_MEMORY, "no memory" },
	{ ERROR_OUTOFMEMORY, "no memory" },
	{ ERROR_BAD_LENGTH, "a size is wrong" },
	{ ERROR_NOT_SUPPORTED, "this Windows does not support it" },
	{ ERROR_INVALID_PARAMETER, "a parameter is not valid" },
	{ ERROR_DISK_FULL, "the disk has not enough space; Windows needs 200 MB besides" },
	{ ERROR_CALL_NOT_IMPLEMENTED, "this Windows does not have it" },
	{ ERROR_BAD_PATHNAME, "the name is not valid, or another session writes that file" },
	{ ERROR_ALREADY_EXISTS, "one of that name or GUID exists" },
	{ ERROR_MORE_DATA, "the buffer is too small for the data" },
	{ ERROR_NOACCESS, "an address is not valid" },
	{ ERROR_NOT_FOUND, "it was not found" },
	{ ERROR_CANCELLED, "it was cancelled" },
	{ ERROR_NO_SUCH_PRIVILEGE, "a privilege is missing" },
	{ ERROR_PRIVILEGE_NOT_HELD, "a privilege is missing" },
	{ ERROR_NO_SYSTEM_RESOURCES, "Windows has no resources for it" },
	{ ERROR_TIMEOUT, "it took too long" },
	{ ERROR_WMI_GUID_NOT_FOUND, "no such provider" },
	{ ERROR_WMI_INSTANCE_NOT_FOUND, "no such session runs" },
};

const char *live_error_text(ULONG status, char text[160])
{
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (words[i].status == status) {
			snprintf(text, 160, "%s (error %lu)", words[i].text, (unsigned long)status);
			return text;
		}
	}
	snprintf(text, 160, "error %lu", (unsigned long)status);
	return text;
}

bool live_wide(const char *text, WCHAR *wide, size_t size)
{
	return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, (int)size) > 0;
}

bool live_narrow(const WCHAR *wide, char *text, size_t size)
{
	return WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) > 0;
}

void live_report(const struct live *live, enum etw_session_event event, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	if (!live->options.on_session_event) {
		return;
	}
	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	live->options.on_session_event(live->options.session_event_context, event, sentence);
}

bool windows_in_container(void)
{
	/* The value exists only in containers, as dotnet/runtime uses it
	 * (PlatformDetection.Windows.cs). */
	static const char key[] = "SYSTEM\\CurrentControlSet\\Control";
	static const char value[] = "ContainerType";
	WCHAR wide_key[sizeof key], wide_value[sizeof value];

	return live_wide(key, wide_key, sizeof key) && live_wide(value, wide_value, sizeof value) &&
	       RegGetValueW(HKEY_LOCAL_MACHINE, wide_key, wide_value, RRF_RT_ANY, NULL, NULL,
			    NULL) == ERROR_SUCCESS;
}

/* Both have the same 16 bytes in memory, because Windows runs only on little-endian machines. */
_Static_assert(sizeof(GUID) == sizeof(struct etw_guid), "GUID");

struct etw_guid live_guid(const GUID *guid)
{
	struct etw_guid ours;

	memcpy(&ours, guid, sizeof ours);
	return ours;
}

GUID live_windows_guid(const struct etw_guid *guid)
{
	GUID theirs;

	memcpy(&theirs, guid, sizeof theirs);
	return theirs;
}

enum { ASK_TRIES = 8, ASK_FIRST = 1024, ASK_MOST = 16 << 20 };

void *live_ask(live_question *question, void *context, ULONG *size, ULONG *status)
{
	ULONG room = 0;
	void *answer = NULL;

	*status = ERROR_INSUFFICIENT_BUFFER;
	*size = ASK_FIRST;
	for (unsigned i = 0; i < ASK_TRIES && *status == ERROR_INSUFFICIENT_BUFFER; i++) {
		void *larger = *size <= ASK_MOST ? realloc(answer, *size) : NULL;

		if (!larger) {
			*status = ERROR_NOT_ENOUGH_MEMORY;
			break;
		}
		answer = larger;
		room = *size;
		*status = question(context, answer, size);
		/* Not documented, and realloc() to 0 bytes would free the answer. */
		if (*status == ERROR_INSUFFICIENT_BUFFER && *size <= room) {
			*size = 2 * room;
		}
	}
	if (*status != ERROR_SUCCESS) {
		free(answer);
		return NULL;
	}
	*size = *size < room ? *size : room;
	return answer;
}

/* ---- clock ---- */

enum { ANCHOR_TRIES = 16, COUNTS_100NS = 10000000 };

int64_t consume_counter(void)
{
	LARGE_INTEGER counter;

	QueryPerformanceCounter(&counter);
	return counter.QuadPart;
}

static int64_t system_now(void)
{
	ULARGE_INTEGER now;
	FILETIME time;

	GetSystemTimePreciseAsFileTime(&time);
	now.u.LowPart = time.dwLowDateTime;
	now.u.HighPart = time.dwHighDateTime;
	return (int64_t)now.QuadPart;
}

void consume_system_clock(struct etw_source_clock *clock)
{
	int64_t now = system_now();

	clock->type = ETW_CLOCK_SYSTEM_TIME;
	clock->frequency = COUNTS_100NS;
	clock->anchor_raw = now;
	clock->anchor_time = now;
}

uint64_t consume_clock(struct etw_source_clock *clock)
{
	int64_t closest = INT64_MAX;
	LARGE_INTEGER frequency;

	QueryPerformanceFrequency(&frequency);
	*clock = (struct etw_source_clock){
		.type = ETW_CLOCK_QPC,
		.frequency = frequency.QuadPart > 0 ? (uint64_t)frequency.QuadPart : 10000000,
	};
	clock->perf_frequency = clock->frequency;
	/* Both clocks cannot be read at the same time: use the fastest of several tries. */
	for (unsigned i = 0; i < ANCHOR_TRIES; i++) {
		int64_t before = consume_counter();
		int64_t time = system_now();
		int64_t after = consume_counter();

		if (after - before < closest) {
			closest = after - before;
			clock->anchor_raw = before + (after - before) / 2;
			clock->anchor_time = time;
		}
	}
	etw_clock_find_uptime(clock, 0);
	return (uint64_t)closest;
}

/* ---- statistics ---- */

/*
 * Unsigned differences are correct across one wrap, and a session is queried every second. Two
 * threads query it, so a count that is lower by less than half the range is from an older answer.
 */
static void add(uint64_t *total, uint32_t *seen, ULONG now)
{
	uint32_t more = (uint32_t)now - *seen;

	if (more <= UINT32_MAX / 2) {
		*total += more;
		*seen = (uint32_t)now;
	}
}

void counters_begin(struct live *live, const EVENT_TRACE_PROPERTIES *before)
{
	os_mutex_lock(live->source.mutex);
	live->seen = (struct session_counters){ 0 };
	if (before) {
		live->seen = (struct session_counters){
			.events_lost = (uint32_t)before->EventsLost,
			.log_buffers_lost = (uint32_t)before->LogBuffersLost,
			.realtime_buffers_lost = (uint32_t)before->RealTimeBuffersLost,
			.buffers_written = (uint32_t)before->BuffersWritten,
		};
	}
	live->buffers_before = live->source.statistics.buffers;
	live->generation++;
	os_mutex_unlock(live->source.mutex);
}

unsigned counters_generation(struct live *live)
{
	unsigned generation;

	os_mutex_lock(live->source.mutex);
	generation = live->generation;
	os_mutex_unlock(live->source.mutex);
	return generation;
}

void counters_add(struct live *live, unsigned generation, const EVENT_TRACE_PROPERTIES *properties)
{
	struct etw_source_statistics *statistics = &live->source.statistics;
	struct session_counters *seen = &live->seen;

	os_mutex_lock(live->source.mutex);
	if (generation != live->generation) {
		os_mutex_unlock(live->source.mutex);
		return;
	}
	add(&statistics->events_lost, &seen->events_lost, properties->EventsLost);
	add(&statistics->buffers_lost, &seen->log_buffers_lost, properties->LogBuffersLost);
	add(&statistics->realtime_buffers_lost, &seen->realtime_buffers_lost,
	    properties->RealTimeBuffersLost);
	add(&statistics->buffers_written, &seen->buffers_written, properties->BuffersWritten);
	statistics->buffers_allocated = properties->NumberOfBuffers;
	statistics->buffers_free = properties->FreeBuffers;
	statistics->buffers_max = properties->MaximumBuffers;
	statistics->buffer_size_bytes = (uint64_t)properties->BufferSize * 1024;
	os_mutex_unlock(live->source.mutex);
}

void counters_restart(struct live *live, enum etw_restart_reason reason)
{
	os_mutex_lock(live->source.mutex);
	live->source.statistics.restarts[reason]++;
	os_mutex_unlock(live->source.mutex);
}

void counters_given_up(struct live *live)
{
	os_mutex_lock(live->source.mutex);
	live->source.statistics.restores_given_up++;
	os_mutex_unlock(live->source.mutex);
}

void counters_up(struct live *live, bool up)
{
	os_mutex_lock(live->source.mutex);
	live->source.statistics.up = up;
	if (!up) {
		live->source.statistics.buffers_allocated = 0;
		live->source.statistics.buffers_free = 0;
	}
	os_mutex_unlock(live->source.mutex);
}

/* Returns the age of the newest event in nanoseconds. It uses the counter that stamps events,
 * because the system time may have been set since. */
static uint64_t lag_ns(const struct live *live)
{
	const struct etw_source_clock *clock = &live->source.facts.clock;
	int64_t now = clock->type == ETW_CLOCK_SYSTEM_TIME ? system_now() : consume_counter();

	return etw_ticks_to_ns(etw_time_between(live->newest_raw, now), clock->frequency);
}

void counters_delivered(struct live *live)
{
	struct etw_source_statistics *statistics = &live->source.statistics;
	bool any = live->newest_raw != ETW_RECORD_NO_TIME;
	uint64_t lag = any ? lag_ns(live) : 0;

	os_mutex_lock(live->source.mutex);
	statistics->records = live->records;
	statistics->buffers = live->buffers;
	statistics->bad_records = live->bad_records;
	statistics->late_records = live->late_records;
	statistics->last_time = any ? etw_clock_time(&live->clock, live->newest_raw) :
				      ETW_RECORD_NO_TIME;
	statistics->lag_ns = lag;
	memcpy(statistics->names, live->names, sizeof live->names);
	os_mutex_unlock(live->source.mutex);
}

bool counters_caught_up(struct live *live, uint64_t *buffers)
{
	const struct session_counters *seen = &live->seen;
	uint64_t expected;

	os_mutex_lock(live->source.mutex);
	*buffers = live->source.statistics.buffers;
	expected = seen->buffers_written > seen->realtime_buffers_lost ?
			   seen->buffers_written - seen->realtime_buffers_lost :
			   0;
	expected += live->buffers_before;
	os_mutex_unlock(live->source.mutex);
	return *buffers >= expected;
}
