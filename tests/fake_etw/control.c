/* SPDX-License-Identifier: MIT */
/* ControlTraceW and its four shorthands, QueryAllTracesW. */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <string.h>

void fake_properties_fill(const struct fake_session *session, EVENT_TRACE_PROPERTIES *properties)
{
	properties->Wnode.HistoricalContext = session->given;
	properties->Wnode.Guid = session->guid;
	properties->Wnode.ClientContext = session->clock;
	properties->BufferSize = session->buffer_size_kb;
	properties->MinimumBuffers = session->minimum_buffers;
	properties->MaximumBuffers = session->maximum_buffers;
	properties->MaximumFileSize = 0;
	properties->LogFileMode = session->mode;
	properties->FlushTimer = session->flush_timer;
	properties->EnableFlags = session->masks[0];
	properties->NumberOfBuffers = session->allocated;
	properties->FreeBuffers = session->free;
	properties->EventsLost = (ULONG)session->lost;
	properties->BuffersWritten = session->written;
	properties->LogBuffersLost = 0;
	properties->RealTimeBuffersLost = session->realtime_lost;
	properties->LoggerThreadId = (HANDLE)(ULONG_PTR)(0x1000u + session->id * 4u);
}

/* Copies the names behind the properties; false when there is no room for them. */
static bool copy_names(const struct fake_session *session, EVENT_TRACE_PROPERTIES *properties)
{
	size_t size = (fake_wide_length(session->name) + 1) * sizeof(WCHAR);
	ULONG at = properties->LoggerNameOffset;
	ULONG file = properties->LogFileNameOffset;
	size_t end = file > at ? file : properties->Wnode.BufferSize;

	if (at == 0 || end - at < size ||
	    (file != 0 && properties->Wnode.BufferSize - file < sizeof(WCHAR))) {
		return false;
	}
	memcpy((char *)properties + at, session->name, size);
	if (file != 0) {
		memset((char *)properties + file, 0, sizeof(WCHAR)); /* it writes no file */
	}
	return true;
}

/* What a query answers: of each session one that no program gave. */
static GUID query_guid(const struct fake_session *session)
{
	GUID guid = { .Data1 = (ULONG)(session->handle >> 16), .Data2 = 0x9e77 };

	return fake.options.other_guid ? guid : session->guid;
}

static bool offset_valid(const EVENT_TRACE_PROPERTIES *properties, ULONG offset)
{
	return offset == 0 ||
	       (offset >= sizeof(*properties) && offset < properties->Wnode.BufferSize);
}

static uint32_t update(struct fake_session *session, const EVENT_TRACE_PROPERTIES *properties)
{
	if ((properties->Wnode.Flags & WNODE_FLAG_TRACED_GUID) == 0) {
		return ERROR_INVALID_PARAMETER;
	}
	if (properties->EnableFlags != 0 && !session->system_logger) {
		return ERROR_INVALID_PARAMETER;
	}
	if ((properties->EnableFlags & EVENT_TRACE_FLAG_PROFILE) != 0 &&
	    !fake_machine_profile_privilege()) {
		return ERROR_PRIVILEGE_NOT_HELD;
	}
	if (properties->LogFileNameOffset != 0) {
		return ERROR_BAD_PATHNAME; /* it writes no file that could be changed */
	}
	if (session->system_logger) {
		fake_session_set_flags(session, properties->EnableFlags);
	}
	if (properties->FlushTimer != 0) {
		session->flush_timer = properties->FlushTimer;
		session->next_flush_ns = fake_clock_monotonic_ns();
		fake_buffer_tick(session, session->next_flush_ns);
	}
	if (properties->MaximumBuffers != 0) {
		session->maximum_buffers = properties->MaximumBuffers > session->allocated ?
						   properties->MaximumBuffers :
						   session->allocated;
	}
	fake_session_set_realtime(session,
				  (properties->LogFileMode & EVENT_TRACE_REAL_TIME_MODE) != 0);
	fake_changes_session(session, FAKE_CHANGE_CONFIGURED, GetCurrentProcessId());
	os_condition_wake_all(&fake.changed);
	return 0;
}

void fake_session_set_realtime(struct fake_session *session, bool realtime)
{
	if (realtime) {
		session->mode |= EVENT_TRACE_REAL_TIME_MODE;
	} else if ((session->mode & EVENT_TRACE_REAL_TIME_MODE) != 0) {
		fake_buffer_flush(session);
		session->mode &= ~(uint32_t)EVENT_TRACE_REAL_TIME_MODE;
		fake_consumer_session_gone(session->handle);
	}
}

static uint32_t check_control(TRACEHANDLE handle, LPCWSTR name,
			      const EVENT_TRACE_PROPERTIES *properties, ULONG code)
{
	if (!properties || (!name && handle == 0)) {
		return ERROR_INVALID_PARAMETER;
	}
	if (properties->Wnode.BufferSize < sizeof(*properties)) {
		return ERROR_BAD_LENGTH;
	}
	if (!offset_valid(properties, properties->LoggerNameOffset) ||
	    !offset_valid(properties, properties->LogFileNameOffset)) {
		return ERROR_INVALID_PARAMETER;
	}
	if (code > EVENT_TRACE_CONTROL_FLUSH) {
		fake_refuse("ControlTraceW", "this control code");
		return ERROR_NOT_SUPPORTED;
	}
	return 0;
}

static uint32_t control(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties,
			ULONG code)
{
	uint32_t error = check_control(handle, name, properties, code);
	struct fake_session *session;
	bool fits;

	if (error != 0) {
		return error;
	}
	session = name ? fake_session_by_name(name) : fake_session_by_given(handle);
	if (fake_guid_equal(&properties->Wnode.Guid, &fake_system_trace_control_guid) && session &&
	    !fake_session_kernel(session)) {
		return ERROR_INVALID_PARAMETER;
	}
	if (fake.options.rights == FAKE_ETW_NO_RIGHTS) {
		return ERROR_ACCESS_DENIED;
	}
	if (!session) {
		return ERROR_WMI_INSTANCE_NOT_FOUND;
	}
	if (!fake_rights_for(session->system_logger)) {
		return ERROR_ACCESS_DENIED;
	}
	fake_buffer_tick(session, fake_clock_monotonic_ns());
	fake_session_settle(session);
	if (code == EVENT_TRACE_CONTROL_UPDATE) {
		error = update(session, properties);
		if (error != 0) {
			return error;
		}
	} else if (code == EVENT_TRACE_CONTROL_FLUSH) {
		fake_buffer_flush(session);
	} else if (code == EVENT_TRACE_CONTROL_STOP) {
		fake.stops_while_consumed += fake_consumer_count(session) > 0;
		fake_session_stop(session, GetCurrentProcessId()); /* its numbers stay, until
								      another takes the place */
		session->emitted += fake.options.lost_at_stop;
		session->lost += fake.options.lost_at_stop;
	}
	fits = copy_names(session, properties);
	fake_properties_fill(session, properties);
	properties->Wnode.Guid = query_guid(session);
	properties->Wnode.Guid.Data1 ^= fake_otherwise("W1a");
	if (code == EVENT_TRACE_CONTROL_STOP) {
		properties->FreeBuffers = properties->NumberOfBuffers;
	}
	return fits || code == EVENT_TRACE_CONTROL_UPDATE ? 0 : ERROR_MORE_DATA;
}

ULONG WMIAPI ControlTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties,
			   ULONG code)
{
	uint32_t error = fake_enter(CALL_ControlTraceW);

	if (error == 0) {
		error = control(handle, name, properties, code);
	}
	fake_unlock();
	return error;
}

ULONG WMIAPI StopTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties)
{
	return ControlTraceW(handle, name, properties, EVENT_TRACE_CONTROL_STOP);
}

ULONG WMIAPI QueryTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties)
{
	return ControlTraceW(handle, name, properties, EVENT_TRACE_CONTROL_QUERY);
}

ULONG WMIAPI UpdateTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties)
{
	return ControlTraceW(handle, name, properties, EVENT_TRACE_CONTROL_UPDATE);
}

ULONG WMIAPI FlushTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties)
{
	return ControlTraceW(handle, name, properties, EVENT_TRACE_CONTROL_FLUSH);
}

static uint32_t query_all(PEVENT_TRACE_PROPERTIES *array, ULONG count, PULONG sessions)
{
	ULONG running = 0;

	if (!array || !sessions || count == 0 || count > fake.options.max_loggers) {
		return ERROR_INVALID_PARAMETER;
	}
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		const struct fake_session *session = &fake.sessions[i];

		if (!session->used || !fake_rights_for(session->system_logger)) {
			continue;
		}
		if (running < count) {
			if (!array[running] || array[running]->Wnode.BufferSize < sizeof(**array) ||
			    !offset_valid(array[running], array[running]->LoggerNameOffset) ||
			    !offset_valid(array[running], array[running]->LogFileNameOffset)) {
				return ERROR_INVALID_PARAMETER;
			}
			(void)copy_names(session, array[running]);
			fake_properties_fill(session, array[running]);
			array[running]->Wnode.Guid = query_guid(session);
		}
		running++;
	}
	*sessions = running;
	return running > count ? ERROR_MORE_DATA : 0;
}

ULONG WMIAPI QueryAllTracesW(PEVENT_TRACE_PROPERTIES *array, ULONG count, PULONG sessions)
{
	uint32_t error = fake_enter(CALL_QueryAllTracesW);

	if (error == 0) {
		error = query_all(array, count, sessions);
	}
	fake_unlock();
	return error;
}

IMPORTED(ControlTraceW);
IMPORTED(StopTraceW);
IMPORTED(QueryTraceW);
IMPORTED(UpdateTraceW);
IMPORTED(FlushTraceW);
IMPORTED(QueryAllTracesW);
