/* SPDX-License-Identifier: MIT */
/* TraceSetInformation, TraceQueryInformation, EnumerateTraceGuidsEx. */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP_MASK_SIZE = 32, MAX_GUIDS = 512, MAX_INSTANCES = 64 };
enum { FIRST_BUILD_WITH_MAX_LOGGERS = 16299 };

/* The session that a class of information is about. */
static uint32_t system_logger_of(TRACEHANDLE handle, struct fake_session **session)
{
	*session = fake_session_by_given(handle);
	if (!*session) {
		return ERROR_WMI_INSTANCE_NOT_FOUND;
	}
	fake_session_settle(*session);
	if (!fake_rights_for((*session)->system_logger)) {
		return ERROR_ACCESS_DENIED;
	}
	return (*session)->system_logger ? 0 : ERROR_INVALID_PARAMETER;
}

static uint32_t set_group_masks(TRACEHANDLE handle, const void *information, ULONG size)
{
	struct fake_session *session;
	uint32_t masks[8];
	uint32_t error = system_logger_of(handle, &session);

	if (error != 0) {
		return error;
	}
	if (size != GROUP_MASK_SIZE) {
		return ERROR_BAD_LENGTH;
	}
	memcpy(masks, information, sizeof(masks));
	if (((masks[0] & EVENT_TRACE_FLAG_PROFILE) != 0 || (masks[1] & 0x2) != 0) &&
	    !fake_machine_profile_privilege()) {
		return ERROR_PRIVILEGE_NOT_HELD;
	}
	fake_session_set_masks(session, masks);
	return 0;
}

static uint32_t set_stack_events(TRACEHANDLE handle, const void *information, ULONG size)
{
	struct fake_session *session;
	uint32_t error = system_logger_of(handle, &session);
	ULONG count = size / sizeof(CLASSIC_EVENT_ID);
	const CLASSIC_EVENT_ID *ids = information;

	if (error != 0) {
		return error;
	}
	if (size % sizeof(CLASSIC_EVENT_ID) != 0) {
		return ERROR_BAD_LENGTH;
	}
	if (count > FAKE_STACK_EVENTS) {
		return ERROR_INVALID_PARAMETER;
	}
	for (ULONG i = 0; i < count; i++) {
		if (!fake_kernel_class(&ids[i].EventGuid) && !fake_otherwise("I2")) {
			return ERROR_INVALID_PARAMETER;
		}
	}
	memcpy(session->stack_events, information, size);
	session->stack_event_count = count;
	return 0;
}

static uint32_t set_interval(const void *information, ULONG size)
{
	TRACE_PROFILE_INTERVAL interval;

	if (size != sizeof(interval)) {
		return ERROR_BAD_LENGTH;
	}
	if (fake.options.rights != FAKE_ETW_ADMINISTRATOR) {
		return ERROR_ACCESS_DENIED;
	}
	if (!fake_machine_profile_privilege()) {
		return ERROR_PRIVILEGE_NOT_HELD;
	}
	memcpy(&interval, information, sizeof(interval));
	fake.profile_interval = interval.Interval;
	return 0;
}

ULONG WMIAPI TraceSetInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
				 PVOID information, ULONG size)
{
	uint32_t error = fake_enter(CALL_TraceSetInformation);

	if (error == 0 && (!information || size == 0)) {
		error = ERROR_INVALID_PARAMETER;
	} else if (error == 0) {
		switch ((int)information_class) {
		case TraceSystemTraceEnableFlagsInfo:
			error = set_group_masks(handle, information, size);
			break;
		case TraceStackTracingInfo:
			error = set_stack_events(handle, information, size);
			break;
		case TraceSampledProfileIntervalInfo:
			error = set_interval(information, size);
			break;
		default:
			error = ERROR_NOT_SUPPORTED;
			break;
		}
	}
	fake_unlock();
	return error;
}

/* Copies what was asked for; a buffer that is too small is a length that is wrong. */
static uint32_t copy_out(const void *bytes, ULONG needed, void *out, ULONG size, PULONG returned)
{
	if (returned) {
		*returned = needed;
	}
	if (size < needed) {
		return ERROR_BAD_LENGTH;
	}
	memcpy(out, bytes, needed);
	return 0;
}

ULONG WMIAPI TraceQueryInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
				   PVOID information, ULONG size, PULONG returned)
{
	uint32_t error = fake_enter(CALL_TraceQueryInformation);
	ULONG loggers = fake.options.max_loggers;
	TRACE_PROFILE_INTERVAL interval = { 0, 0 };
	TRACE_VERSION_INFO version = { 2, 0 };
	struct fake_session *session;

	if (error == 0 && !information) {
		error = ERROR_INVALID_PARAMETER;
	} else if (error == 0) {
		switch ((int)information_class) {
		case TraceSystemTraceEnableFlagsInfo:
			error = system_logger_of(handle, &session);
			if (error == 0 && fake_otherwise("W1c")) {
				session->masks[0]++; /* other groups each time */
			}
			if (error == 0) {
				error = copy_out(session->masks, sizeof(session->masks),
						 information, size, returned);
			}
			break;
		case TraceStackTracingInfo:
			error = system_logger_of(handle, &session);
			if (error == 0) {
				error = copy_out(session->stack_events,
						 (ULONG)(session->stack_event_count *
							 sizeof(CLASSIC_EVENT_ID)),
						 information, size, returned);
			}
			break;
		case TraceSampledProfileIntervalInfo:
			interval.Interval = fake.profile_interval;
			error = copy_out(&interval, sizeof(interval), information, size, returned);
			break;
		case TraceVersionInfo:
			error = copy_out(&version, sizeof(version), information, size, returned);
			break;
		case TraceMaxLoggersQuery:
			error = fake.options.os_build < FIRST_BUILD_WITH_MAX_LOGGERS ?
					ERROR_NOT_SUPPORTED :
					copy_out(&loggers, sizeof(loggers), information, size,
						 returned);
			break;
		default:
			error = ERROR_NOT_SUPPORTED;
			break;
		}
	}
	fake_unlock();
	return error;
}

/* --- EnumerateTraceGuidsEx --- */

static uint32_t copy_list_out(const void *bytes, size_t needed, void *out, ULONG size,
			      PULONG returned)
{
	*returned = (ULONG)needed;
	if (!out || size < needed) {
		return ERROR_INSUFFICIENT_BUFFER;
	}
	memcpy(out, bytes, needed);
	return 0;
}

static size_t add_guid(GUID *guids, size_t count, const GUID *guid)
{
	for (size_t i = 0; i < count; i++) {
		if (fake_guid_equal(&guids[i], guid)) {
			return count;
		}
	}
	if (count < MAX_GUIDS) {
		guids[count++] = *guid;
	}
	return count;
}

/* Of all providers, or of those that our own process registered. */
static uint32_t list_guids(bool own, void *out, ULONG size, PULONG returned)
{
	GUID *guids = calloc(MAX_GUIDS, sizeof(*guids));
	size_t count = 0;
	uint32_t error;
	uint32_t pid;
	GUID guid;

	if (!guids) {
		abort();
	}
	for (size_t i = 0; fake_providers_at(i, &guid, &pid); i++) {
		if (!own || pid == GetCurrentProcessId()) {
			count = add_guid(guids, count, &guid);
		}
	}
	for (size_t i = 0; !own && i < FAKE_SESSIONS; i++) {
		for (unsigned j = 0; fake.sessions[i].used && j < fake.sessions[i].enable_count;
		     j++) {
			count = add_guid(guids, count, &fake.sessions[i].enables[j].provider);
		}
	}
	error = copy_list_out(guids, count * sizeof(*guids), out, size, returned);
	free(guids);
	return error;
}

/* Writes the sessions that have the provider enabled; returns how many. */
static ULONG enable_infos(const GUID *guid, TRACE_ENABLE_INFO *infos)
{
	ULONG count = 0;

	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		const struct fake_session *session = &fake.sessions[i];
		const struct fake_enable *enable = session->used ? fake_enable_of(session, guid) :
								   NULL;

		if (enable && !fake_otherwise("I4a")) {
			infos[count++] =
				(TRACE_ENABLE_INFO){ .IsEnabled = 1,
						     .Level = enable->level,
						     .LoggerId = session->id,
						     .EnableProperty = enable->properties,
						     .MatchAnyKeyword = enable->match_any,
						     .MatchAllKeyword = enable->match_all };
		}
	}
	return count;
}

static uint32_t guid_info(const GUID *guid, void *out, ULONG size, PULONG returned)
{
	TRACE_ENABLE_INFO infos[FAKE_SESSIONS];
	ULONG enabled = enable_infos(guid, infos);
	size_t instance_size = sizeof(TRACE_PROVIDER_INSTANCE_INFO) + enabled * sizeof(*infos);
	uint32_t pids[MAX_INSTANCES];
	TRACE_GUID_INFO head = { 0, 0 };
	uint8_t *bytes;
	uint8_t *at;
	uint32_t error;
	uint32_t pid;
	GUID found;

	for (size_t i = 0; fake_providers_at(i, &found, &pid); i++) {
		if (fake_guid_equal(&found, guid) && head.InstanceCount < MAX_INSTANCES) {
			pids[head.InstanceCount++] = pid;
		}
	}
	if (head.InstanceCount == 0) {
		return ERROR_WMI_GUID_NOT_FOUND;
	}
	bytes = calloc(1, sizeof(head) + head.InstanceCount * instance_size);
	if (!bytes) {
		abort();
	}
	memcpy(bytes, &head, sizeof(head));
	at = bytes + sizeof(head);
	for (ULONG i = 0; i < head.InstanceCount; i++) {
		TRACE_PROVIDER_INSTANCE_INFO instance = { .EnableCount = enabled, .Pid = pids[i] };

		instance.NextOffset = i + 1 < head.InstanceCount ? (ULONG)instance_size : 0;
		memcpy(at, &instance, sizeof(instance));
		memcpy(at + sizeof(instance), infos, enabled * sizeof(*infos));
		at += instance_size;
	}
	error = copy_list_out(bytes, sizeof(head) + head.InstanceCount * instance_size, out, size,
			      returned);
	free(bytes);
	return error;
}

ULONG WMIAPI EnumerateTraceGuidsEx(TRACE_QUERY_INFO_CLASS information_class, PVOID in,
				   ULONG in_size, PVOID out, ULONG out_size, PULONG returned)
{
	uint32_t error = fake_enter(CALL_EnumerateTraceGuidsEx);
	ULONG loggers = fake.options.max_loggers;

	if (error != 0) {
		/* as asked */
	} else if (!returned) {
		error = ERROR_INVALID_PARAMETER;
	} else if (information_class == TraceGuidQueryList) {
		error = list_guids(false, out, out_size, returned);
	} else if (information_class == TraceGuidQueryProcess) {
		error = list_guids(true, out, out_size, returned);
	} else if (information_class == TraceMaxLoggersQuery) {
		error = copy_list_out(&loggers, sizeof(loggers), out, out_size, returned);
	} else if (information_class == TraceGuidQueryInfo) {
		error = in && in_size == sizeof(GUID) ? guid_info(in, out, out_size, returned) :
							ERROR_INVALID_PARAMETER;
	} else {
		fake_refuse("EnumerateTraceGuidsEx", "this class of information");
		error = ERROR_NOT_SUPPORTED;
	}
	fake_unlock();
	return error;
}

IMPORTED(TraceSetInformation);
IMPORTED(TraceQueryInformation);
IMPORTED(EnumerateTraceGuidsEx);
