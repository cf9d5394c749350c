/* SPDX-License-Identifier: MIT */
/*
 * Implements what all probes of the kit use: sessions, consumers and the kit's provider.
 *
 * A probe session has a number that determines its name and GUID. Thus a session that a killed run
 * left behind is found again: a start stops it first, and kit_etw_clean() stops all of them. The
 * sessions are small and short, because the machine that they run on belongs to another person.
 *
 * A consumer is a thread inside ProcessTrace. It ends by itself when its session is stopped. If
 * Windows does not let it end, its trace is closed, and if that does not help either, the function
 * that runs the probe gives up on the thread of the probe (selftest/kit.c).
 *
 * The provider belongs to this process, so its enable callbacks show what Windows passes to
 * providers, and each of its events has a number that a consumer can look for.
 *
 * Source: "StartTraceW function", "ControlTraceW function", "ProcessTrace function",
 * "EnableTraceEx2 function", "EventRegister function", Microsoft Learn.
 */
#include <etw/kernel.h>

#include "selftest/kit_etw_internal_win32.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	STALE_TRIES = 3,
	STALE_WAIT_MS = 100,
	LOOK_MS = 5,
	ENABLE_WAIT_MS = 5000,
	CONSUMER_END_MS = 5000,
};

#define NS_PER_MS UINT64_C(1000000)

/* A GUID made for the kit; the first byte of its last part is replaced by the number of the
 * session. */
static const GUID session_guid = {
	0x6d1c0c3e, 0x5f0b, 0x4c39, { 0x9c, 0x5e, 0x7b, 0x11, 0x82, 0x40, 0x5a, 0xd3 }
};

const GUID probe_provider_guid = {
	0x2f5b7e61, 0x94d8, 0x4b0e, { 0x8a, 0x2d, 0x63, 0xc7, 0x1f, 0x0e, 0x95, 0x48 }
};

/* ---- reports of a probe ---- */

static void add_sentence(struct kit_finding *finding, const char *format, va_list arguments)
{
	char text[256];

	vsnprintf(text, sizeof text, format, arguments);
	text_add_format(&finding->seen, "%s%s", finding->seen.size > 0 ? "; " : "", text);
}

void finding_say(struct kit_finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_sentence(finding, format, arguments);
	va_end(arguments);
}

void finding_check(struct kit_finding *finding, bool holds, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_sentence(finding, format, arguments);
	va_end(arguments);
	if (finding->skipped) {
		return;
	}
	if (!holds) {
		finding->state = KIT_REFUTED;
	} else if (finding->state == KIT_NOT_TESTED) {
		finding->state = KIT_CONFIRMED;
	}
}

void finding_status(struct kit_finding *finding, const char *what, ULONG expected, ULONG status)
{
	if (status == expected) {
		finding_check(finding, true, "%s: %lu", what, (unsigned long)status);
	} else {
		finding_check(finding, false, "%s: %lu instead of %lu", what, (unsigned long)status,
			      (unsigned long)expected);
	}
}

void finding_skip(struct kit_finding *finding, const char *what, ULONG status)
{
	char text[160];

	text_clear(&finding->seen);
	finding_say(finding, "%s: %s", what, live_error_text(status, text));
	finding->state = KIT_NOT_TESTED;
	finding->skipped = true;
}

/* ---- sessions ---- */

static void name_of(unsigned number, WCHAR name[SESSION_NAME_MAX])
{
	char text[32];

	snprintf(text, sizeof text, "etw_exporter_probe_%u", number);
	live_wide(text, name, SESSION_NAME_MAX);
}

static void init_properties(struct session_properties *properties)
{
	memset(properties, 0, sizeof *properties);
	properties->base.Wnode.BufferSize = (ULONG)sizeof *properties;
	properties->base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	properties->base.LoggerNameOffset = (ULONG)offsetof(struct session_properties, logger_name);
}

void probe_prepare(struct probe_session *session, unsigned number,
		   const struct probe_settings *settings)
{
	EVENT_TRACE_PROPERTIES *base = &session->properties.base;

	session->handle = 0;
	name_of(number, session->name);
	init_properties(&session->properties);
	base->Wnode.ClientContext = 1; /* the clock is the performance counter */
	if (!settings->no_guid) {
		base->Wnode.Guid = session_guid;
		base->Wnode.Guid.Data4[2] = (UCHAR)number;
	}
	base->LogFileMode = settings->mode != 0 ? settings->mode : EVENT_TRACE_REAL_TIME_MODE;
	base->EnableFlags = settings->flags;
	base->BufferSize = settings->buffer_kb;
	base->MinimumBuffers = settings->buffers_min;
	base->MaximumBuffers = settings->buffers_max;
}

ULONG probe_start_prepared(struct probe_session *session)
{
	struct session_properties requested = session->properties;
	ULONG status = ERROR_ALREADY_EXISTS;

	for (unsigned tries = 0; status == ERROR_ALREADY_EXISTS && tries < STALE_TRIES; tries++) {
		if (tries > 0) {
			Sleep((tries - 1) * STALE_WAIT_MS);
		}
		session->properties = requested;
		session->handle = 0;
		status = StartTraceW(&session->handle, session->name, &session->properties.base);
		if (status == ERROR_ALREADY_EXISTS) {
			struct session_properties stale;

			init_properties(&stale);
			ControlTraceW(0, session->name, &stale.base, EVENT_TRACE_CONTROL_STOP);
		}
	}
	if (status != ERROR_SUCCESS) {
		session->handle = 0;
	}
	return status;
}

ULONG probe_start(struct probe_session *session, unsigned number,
		  const struct probe_settings *settings)
{
	probe_prepare(session, number, settings);
	return probe_start_prepared(session);
}

ULONG probe_control(struct probe_session *session, ULONG code)
{
	init_properties(&session->properties);
	return ControlTraceW(session->handle, NULL, &session->properties.base, code);
}

ULONG probe_stop(struct probe_session *session)
{
	ULONG status = ERROR_SUCCESS;

	if (session->handle != 0) {
		status = probe_control(session, EVENT_TRACE_CONTROL_STOP);
		session->handle = 0;
	}
	return status;
}

void kit_etw_clean(void)
{
	struct session_properties properties;
	WCHAR name[SESSION_NAME_MAX];

	for (unsigned number = 1; number <= PROBE_SESSIONS; number++) {
		name_of(number, name);
		init_properties(&properties);
		ControlTraceW(0, name, &properties.base, EVENT_TRACE_CONTROL_STOP);
	}
	if (live_wide(KIT_SERVICE_SESSION, name, SESSION_NAME_MAX)) {
		init_properties(&properties);
		ControlTraceW(0, name, &properties.base, EVENT_TRACE_CONTROL_STOP);
	}
}

bool probe_profile_privilege(bool on)
{
	TOKEN_PRIVILEGES privileges = { .PrivilegeCount = 1 };
	HANDLE token;
	bool done;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token)) {
		return false;
	}
	privileges.Privileges[0].Attributes = on ? SE_PRIVILEGE_ENABLED : 0;
	done = LookupPrivilegeValueW(NULL, L"SeSystemProfilePrivilege",
				     &privileges.Privileges[0].Luid) &&
	       AdjustTokenPrivileges(token, FALSE, &privileges, 0, NULL, NULL) &&
	       GetLastError() == ERROR_SUCCESS;
	CloseHandle(token);
	return done;
}

ULONG probe_masks(TRACEHANDLE session, ULONG masks[KERNEL_MASKS])
{
	ULONG returned = 0;

	memset(masks, 0, KERNEL_MASKS * sizeof masks[0]);
	return TraceQueryInformation(session, TraceSystemTraceEnableFlagsInfo, masks,
				     KERNEL_MASKS * sizeof masks[0], &returned);
}

/* ---- consumers ---- */

static VOID WINAPI on_record(PEVENT_RECORD record)
{
	struct probe_consumer *consumer = record->UserContext;

	if (consumer->on_record) {
		consumer->on_record(consumer->context, record);
	}
	os_mutex_lock(&consumer->lock);
	consumer->records++;
	os_mutex_unlock(&consumer->lock);
}

static void consumer_run(void *context)
{
	struct probe_consumer *consumer = context;
	TRACEHANDLE trace = consumer->trace;
	ULONG status = ProcessTrace(&trace, 1, NULL, NULL);

	os_mutex_lock(&consumer->lock);
	consumer->status = status;
	consumer->ended = true;
	os_condition_wake_all(&consumer->changed);
	os_mutex_unlock(&consumer->lock);
}

ULONG probe_consume(struct probe_consumer *consumer, const WCHAR *session)
{
	EVENT_TRACE_LOGFILEW log_file = { 0 };
	WCHAR name[SESSION_NAME_MAX];

	memcpy(name, session, sizeof name);
	log_file.LoggerName = name;
	log_file.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD |
				    PROCESS_TRACE_MODE_RAW_TIMESTAMP;
	log_file.EventRecordCallback = on_record;
	log_file.Context = consumer;
	consumer->trace = OpenTraceW(&log_file);
	if (consumer->trace == INVALID_PROCESSTRACE_HANDLE) {
		ULONG status = GetLastError();

		return status == ERROR_SUCCESS ? ERROR_INVALID_HANDLE : status;
	}
	os_mutex_init(&consumer->lock);
	os_condition_init(&consumer->changed);
	consumer->runs = os_thread_start(&consumer->thread, consumer_run, consumer, NULL);
	if (!consumer->runs) {
		CloseTrace(consumer->trace);
		return ERROR_NOT_ENOUGH_MEMORY;
	}
	return ERROR_SUCCESS;
}

bool probe_consumer_end(struct probe_consumer *consumer)
{
	uint64_t until = os_monotonic_ns() + CONSUMER_END_MS * NS_PER_MS;
	bool ended;

	if (!consumer->runs) {
		return false;
	}
	os_mutex_lock(&consumer->lock);
	while (!consumer->ended && os_monotonic_ns() < until) {
		os_condition_wait(&consumer->changed, &consumer->lock, 100 * NS_PER_MS);
	}
	ended = consumer->ended;
	os_mutex_unlock(&consumer->lock);
	CloseTrace(consumer->trace);
	os_thread_join(&consumer->thread);
	os_condition_done(&consumer->changed);
	os_mutex_done(&consumer->lock);
	consumer->runs = false;
	return ended;
}

bool probe_wait(bool (*until)(void *context), void *context, unsigned ms)
{
	uint64_t end = os_monotonic_ns() + ms * NS_PER_MS;
	bool holds;

	while (!(holds = until(context)) && os_monotonic_ns() < end) {
		Sleep(LOOK_MS);
	}
	return holds;
}

/* ---- a provider ---- */

static VOID NTAPI on_enable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
			    PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
	struct probe_provider *provider = context;
	size_t at;

	(void)source;
	(void)filter;
	os_mutex_lock(&provider->lock);
	at = provider->callback_count++;
	provider->callbacks[at % PROBE_CALLBACKS] =
		(struct probe_callback){ .code = code, .level = level, .any = any, .all = all };
	os_mutex_unlock(&provider->lock);
}

ULONG probe_provider_open(struct probe_provider *provider)
{
	ULONG status;

	memset(provider, 0, sizeof *provider);
	os_mutex_init(&provider->lock);
	status = EventRegister(&probe_provider_guid, on_enable, provider, &provider->handle);
	if (status != ERROR_SUCCESS) {
		os_mutex_done(&provider->lock);
	}
	return status;
}

void probe_provider_close(struct probe_provider *provider)
{
	EventUnregister(provider->handle); /* waits for a callback that is running */
	os_mutex_done(&provider->lock);
}

bool probe_provider_last(struct probe_provider *provider, struct probe_callback *callback)
{
	bool any;

	os_mutex_lock(&provider->lock);
	any = provider->callback_count > 0;
	if (any) {
		*callback = provider->callbacks[(provider->callback_count - 1) % PROBE_CALLBACKS];
	}
	os_mutex_unlock(&provider->lock);
	return any;
}

ULONG probe_provider_write(struct probe_provider *provider, uint32_t number)
{
	const EVENT_DESCRIPTOR descriptor = { .Id = 1, .Level = 4, .Keyword = 1 };
	EVENT_DATA_DESCRIPTOR data = { .Ptr = (ULONGLONG)(ULONG_PTR)&number,
				       .Size = sizeof number };

	return EventWriteTransfer(provider->handle, &descriptor, NULL, NULL, 1, &data);
}

ULONG probe_enable(const struct probe_session *session, const GUID *provider, ULONG code,
		   UCHAR level, ULONGLONG any, ULONGLONG all)
{
	return EnableTraceEx2(session->handle, provider, code, level, any, all, ENABLE_WAIT_MS,
			      NULL);
}

/* ---- one probe ---- */

void kit_probe(const struct kit_assumption *assumption, struct kit_finding *finding)
{
	if (assumption->probe) {
		assumption->probe(finding);
		kit_etw_clean();
	} else {
		finding_say(finding, "%s",
			    assumption->why_not ? assumption->why_not :
						  "the recording of kernel events shows it");
	}
}

/* ---- a recording of all kernel events ---- */

/*
 * Records every kernel event that the exporter can enable for some seconds, into a file that
 * Windows writes: its layouts, record headers and group masks answer what no page says.
 *
 * Flags are given at the start, groups are added afterwards, as a live session does it. A group
 * that Windows refuses together with the others is tried alone, so the table says which one it was.
 * The masks are read back after each step, because Windows keeps some flags in other words.
 *
 * Source: "StartTraceW function", "EVENT_TRACE_PROPERTIES structure", "TraceSetInformation
 * function", Microsoft Learn.
 */

enum { BUFFER_KB = 1024, BUFFERS_MIN = 64, BUFFERS_MAX = 256, FILE_MB = 256 };

#define OR_FLAG(name, value, keyword) | (value)

static const ULONG all_flags = 0 ETW_KERNEL_FLAGS(OR_FLAG);

static void add_masks(struct etw_text *csv, const char *step, ULONG status,
		      const ULONG masks[KERNEL_MASKS])
{
	text_add_format(csv, "%s,%lu", step, (unsigned long)status);
	for (unsigned i = 0; i < KERNEL_MASKS; i++) {
		text_add_format(csv, ",0x%08lx", (unsigned long)masks[i]);
	}
	text_add_char(csv, '\n');
}

static void add_masks_of(struct etw_text *csv, const char *step,
			 const struct probe_session *session)
{
	ULONG masks[KERNEL_MASKS];
	ULONG status = probe_masks(session->handle, masks);

	add_masks(csv, step, status, masks);
}

/* Adds groups to those of the session. */
static ULONG enable_groups(const struct probe_session *session, uint32_t groups)
{
	ULONG masks[KERNEL_MASKS];
	ULONG status = probe_masks(session->handle, masks);

	if (status != ERROR_SUCCESS) {
		return status;
	}
	for (size_t i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
		if (groups & (1U << i)) {
			masks[etw_kernel_groups[i].word] |= etw_kernel_groups[i].bit;
		}
	}
	return TraceSetInformation(session->handle, TraceSystemTraceEnableFlagsInfo, masks,
				   sizeof masks);
}

static void enable_all_groups(struct etw_text *csv, const struct probe_session *session)
{
	const uint32_t all = (1U << ETW_KERNEL_GROUP_COUNT) - 1;
	ULONG status = enable_groups(session, all);
	static const ULONG none[KERNEL_MASKS];

	add_masks(csv, "TraceSetInformation with all groups", status, none);
	for (size_t i = 0; status != ERROR_SUCCESS && i < ETW_KERNEL_GROUP_COUNT; i++) {
		add_masks(csv, etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + i],
			  enable_groups(session, 1U << i), none);
	}
}

/* Starts the session; without the privilege for samples, without them. */
static ULONG start_kernel_session(struct probe_session *session, const WCHAR *path, ULONG flags)
{
	const struct probe_settings settings = { .mode = EVENT_TRACE_SYSTEM_LOGGER_MODE |
							 EVENT_TRACE_FILE_MODE_SEQUENTIAL,
						 .flags = flags,
						 .buffer_kb = BUFFER_KB,
						 .buffers_min = BUFFERS_MIN,
						 .buffers_max = BUFFERS_MAX };
	EVENT_TRACE_PROPERTIES *base = &session->properties.base;

	probe_prepare(session, 1, &settings);
	base->MaximumFileSize = FILE_MB;
	base->LogFileNameOffset = (ULONG)offsetof(struct session_properties, log_file_name);
	memcpy(session->properties.log_file_name, path, SESSION_NAME_MAX * sizeof *path);
	return probe_start_prepared(session);
}

bool kit_record_kernel(const char *path, unsigned ms, struct etw_text *csv)
{
	static struct probe_session session;
	static WCHAR wide[SESSION_NAME_MAX];
	ULONG requested[KERNEL_MASKS] = { all_flags };
	ULONG flags = all_flags;
	ULONG status;

	text_add_string(csv, "step,status,mask0,mask1,mask2,mask3,mask4,mask5,mask6,mask7\n");
	if (!live_wide(path, wide, SESSION_NAME_MAX)) {
		return false;
	}
	if (!probe_profile_privilege(true)) {
		flags &= ~(ULONG)EVENT_TRACE_FLAG_PROFILE;
	}
	requested[0] = flags;
	status = start_kernel_session(&session, wide, flags);
	add_masks(csv, "StartTraceW with all flags", status, requested);
	if (status == ERROR_SUCCESS) {
		add_masks_of(csv, "the masks after it", &session);
		enable_all_groups(csv, &session);
		add_masks_of(csv, "the masks after the groups", &session);
		Sleep(ms);
		add_masks_of(csv, "the masks before the stop", &session);
		status = probe_stop(&session);
		text_add_format(csv, "STOP,%lu,,,,,,,,\nevents lost,%lu,,,,,,,,\n",
				(unsigned long)status,
				(unsigned long)session.properties.base.EventsLost);
	}
	probe_profile_privilege(false);
	kit_etw_clean();
	return status == ERROR_SUCCESS || status == ERROR_MORE_DATA;
}
