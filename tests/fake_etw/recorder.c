/* SPDX-License-Identifier: MIT */
#include "tests/fake_etw/recorder.h"

#include <stdlib.h>
#include <string.h>

void recorder_properties(struct recorder_properties *properties, bool system_logger)
{
	static ULONG next = 0x5e550000;

	memset(properties, 0, sizeof(*properties));
	properties->base.Wnode.BufferSize = sizeof(*properties);
	properties->base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	properties->base.Wnode.ClientContext = 1;
	properties->base.LogFileMode = EVENT_TRACE_REAL_TIME_MODE;
	properties->base.LoggerNameOffset = offsetof(struct recorder_properties, name);
	properties->base.LogFileNameOffset = 0;
	if (system_logger) {
		properties->base.LogFileMode |= EVENT_TRACE_SYSTEM_LOGGER_MODE;
		properties->base.Wnode.Guid.Data1 = ++next;
		properties->base.Wnode.Guid.Data2 = 1;
	}
}

ULONG recorder_start(const WCHAR *name, bool system_logger, ULONG flags, TRACEHANDLE *handle)
{
	struct recorder_properties properties;
	TRACEHANDLE ignored;

	recorder_properties(&properties, system_logger);
	properties.base.EnableFlags = flags;
	return StartTraceW(handle ? handle : &ignored, name, &properties.base);
}

ULONG recorder_query(const WCHAR *name, struct recorder_properties *properties)
{
	recorder_properties(properties, false);
	return ControlTraceW(0, name, &properties->base, EVENT_TRACE_CONTROL_QUERY);
}

ULONG recorder_stop(const WCHAR *name)
{
	struct recorder_properties properties;

	recorder_properties(&properties, false);
	return ControlTraceW(0, name, &properties.base, EVENT_TRACE_CONTROL_STOP);
}

static VOID WINAPI on_record(PEVENT_RECORD record)
{
	struct recorder *recorder = record->UserContext;
	struct recorded *kept;

	if (recorder->on_event) {
		recorder->on_event(recorder->context);
	}
	os_mutex_lock(&recorder->lock);
	if (recorder->count < RECORDER_EVENTS) {
		kept = &recorder->events[recorder->count];
		kept->header = record->EventHeader;
		kept->context = record->BufferContext;
		kept->payload_size = record->UserDataLength;
		kept->has_payload = record->UserData != NULL;
		if (kept->has_payload) {
			memcpy(kept->payload, record->UserData,
			       record->UserDataLength < RECORDER_PAYLOAD ? record->UserDataLength :
									   RECORDER_PAYLOAD);
		}
		kept->item_count = record->ExtendedDataCount;
		for (unsigned i = 0; i < record->ExtendedDataCount && i < 8; i++) {
			const EVENT_HEADER_EXTENDED_DATA_ITEM *item = &record->ExtendedData[i];

			kept->item_types[i] = item->ExtType;
			kept->item_sizes[i] = item->DataSize;
			if (item->DataPtr != 0) {
				memcpy(&kept->item_starts[i],
				       (const void *)(ULONG_PTR)item->DataPtr,
				       item->DataSize < 8 ? item->DataSize : 8);
			}
		}
	}
	recorder->count++;
	os_mutex_unlock(&recorder->lock);
}

static ULONG WINAPI on_buffer(PEVENT_TRACE_LOGFILEW log)
{
	struct recorder *recorder = log->Context;

	os_mutex_lock(&recorder->lock);
	recorder->buffers++;
	os_mutex_unlock(&recorder->lock);
	return recorder->cancel_at == 0 || log->BuffersRead != recorder->cancel_at;
}

ULONG recorder_open(struct recorder *recorder, const WCHAR *name, ULONG mode)
{
	WCHAR copy[1025];
	size_t i = 0;

	do {
		copy[i] = name[i];
	} while (name[i++] != 0);
	recorder->events = calloc(RECORDER_EVENTS, sizeof(*recorder->events));
	if (!recorder->events) {
		abort();
	}
	os_mutex_init(&recorder->lock);
	recorder->log.LoggerName = copy;
	recorder->log.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME |
					 PROCESS_TRACE_MODE_EVENT_RECORD | mode;
	recorder->log.EventRecordCallback = on_record;
	recorder->log.BufferCallback = on_buffer;
	recorder->log.Context = recorder;
	recorder->trace = OpenTraceW(&recorder->log);
	return recorder->trace == INVALID_PROCESSTRACE_HANDLE ? GetLastError() : 0;
}

static void consume(void *context)
{
	struct recorder *recorder = context;

	recorder->result = ProcessTrace(&recorder->trace, 1, NULL, NULL);
}

void recorder_run(struct recorder *recorder)
{
	if (!os_thread_start(&recorder->thread, consume, recorder, NULL)) {
		abort();
	}
}

bool recorder_consume(struct recorder *recorder, const WCHAR *name)
{
	char narrow[64] = "";

	for (size_t i = 0; name[i] != 0 && i < sizeof(narrow) - 1; i++) {
		narrow[i] = (char)name[i];
	}
	if (recorder_open(recorder, name, 0) != 0) {
		return false;
	}
	recorder_run(recorder);
	return fake_etw_wait_consumer(narrow, WAIT_MS);
}

ULONG recorder_join(struct recorder *recorder)
{
	os_thread_join(&recorder->thread);
	return recorder->result;
}

size_t recorder_count(struct recorder *recorder)
{
	size_t count;

	os_mutex_lock(&recorder->lock);
	count = recorder->count;
	os_mutex_unlock(&recorder->lock);
	return count;
}

bool recorder_wait(struct recorder *recorder, size_t count)
{
	for (int i = 0; i < WAIT_MS; i++) {
		if (recorder_count(recorder) >= count) {
			return true;
		}
		Sleep(1);
	}
	return false;
}

DWORD recorder_enable_profile_privilege(void)
{
	TOKEN_PRIVILEGES privileges = { .PrivilegeCount = 1 };
	HANDLE token;
	DWORD error;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token)) {
		return GetLastError();
	}
	privileges.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
	if (LookupPrivilegeValueW(NULL, u"SeSystemProfilePrivilege",
				  &privileges.Privileges[0].Luid)) {
		AdjustTokenPrivileges(token, FALSE, &privileges, sizeof(privileges), NULL, NULL);
	}
	error = GetLastError();
	CloseHandle(token);
	return error;
}

void recorder_close(struct recorder *recorder)
{
	if (recorder->trace != 0 && recorder->trace != INVALID_PROCESSTRACE_HANDLE) {
		CloseTrace(recorder->trace);
	}
	free(recorder->events);
	os_mutex_done(&recorder->lock);
	recorder->events = NULL;
}

void recorder_end(struct recorder *recorder)
{
	CloseTrace(recorder->trace);
	recorder_join(recorder);
	recorder_close(recorder);
}
