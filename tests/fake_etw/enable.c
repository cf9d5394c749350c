/* SPDX-License-Identifier: MIT */
/* EnableTraceEx2: what each session enables of which provider, and how providers are notified. */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUILD_WITH_SILOS = 17763 };

static const uint64_t all_keywords = UINT64_MAX;

bool fake_enable_passes(uint8_t level, uint64_t match_any, uint64_t match_all, uint8_t event_level,
			uint64_t keyword)
{
	if (level != 0 && event_level > level) {
		return false;
	}
	if (keyword == 0 || match_any == 0) {
		return true;
	}
	return (keyword & match_any) != 0 && (keyword & match_all) == match_all;
}

const struct fake_enable *fake_enable_of(const struct fake_session *session, const GUID *provider)
{
	for (unsigned i = 0; i < session->enable_count; i++) {
		if (fake_guid_equal(&session->enables[i].provider, provider)) {
			return &session->enables[i];
		}
	}
	return NULL;
}

struct fake_union fake_enable_union(const GUID *provider)
{
	struct fake_union sum = { .match_all = all_keywords };

	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		const struct fake_enable *enable;

		enable = fake.sessions[i].used ? fake_enable_of(&fake.sessions[i], provider) : NULL;
		if (enable) {
			uint8_t level = enable->level == 0 && !fake_otherwise("P1a") ?
						UINT8_MAX :
						enable->level;

			sum.is_enabled = 1;
			sum.level = level > sum.level ? level : sum.level;
			sum.match_any |= enable->match_any == 0 ? all_keywords : enable->match_any;
			sum.match_all &= enable->match_all;
		}
	}
	if (sum.is_enabled == 0) {
		sum.match_all = 0;
	}
	return sum;
}

/* Notifies a provider of what is enabled now. */
static uint64_t notify_union(const GUID *provider, const GUID *source,
			     const struct fake_provider_filter *filter)
{
	struct fake_union sum = fake_enable_union(provider);

	return fake_providers_notify(provider, source, sum.is_enabled, sum.level, sum.match_any,
				     sum.match_all, filter);
}

static void free_filters(struct fake_enable *enable)
{
	free(enable->executables);
	free(enable->payload);
	enable->executables = NULL;
	enable->payload = NULL;
}

/* One session has a classic provider: the last that enabled it. */
static void clear_elsewhere(const struct fake_session *session, const GUID *provider)
{
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used && &fake.sessions[i] != session) {
			(void)fake_enable_clear(&fake.sessions[i], provider);
		}
	}
}

uint32_t fake_enable_set(struct fake_session *session, const struct fake_enable *enable)
{
	struct fake_enable *place = NULL;
	unsigned elsewhere = 0;

	for (unsigned i = 0; i < session->enable_count; i++) {
		if (fake_guid_equal(&session->enables[i].provider, &enable->provider)) {
			place = &session->enables[i];
		}
	}
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		elsewhere += fake.sessions[i].used && &fake.sessions[i] != session &&
			     fake_enable_of(&fake.sessions[i], &enable->provider) != NULL;
	}
	if (!place) {
		if (elsewhere >= FAKE_PROVIDER_SESSIONS || session->enable_count >= FAKE_ENABLES) {
			return ERROR_NO_SYSTEM_RESOURCES;
		}
		place = &session->enables[session->enable_count++];
		memset(place, 0, sizeof(*place));
	}
	if (fake_classic_provider(&enable->provider)) {
		clear_elsewhere(session, &enable->provider);
	}
	free_filters(place);
	*place = *enable;
	fake_kernel_update(session);
	fake_session_gain(session);
	fake_kernel_provider_rundown(session, place);
	return 0;
}

bool fake_enable_clear(struct fake_session *session, const GUID *provider)
{
	for (unsigned i = 0; i < session->enable_count; i++) {
		if (fake_guid_equal(&session->enables[i].provider, provider)) {
			free_filters(&session->enables[i]);
			session->enables[i] = session->enables[--session->enable_count];
			memset(&session->enables[session->enable_count], 0,
			       sizeof(*session->enables));
			fake_kernel_update(session);
			return true;
		}
	}
	return false;
}

void fake_enable_session_gone(struct fake_session *session)
{
	while (session->enable_count > 0) {
		GUID provider = session->enables[session->enable_count - 1].provider;

		fake_enable_clear(session, &provider);
		if (!fake_otherwise("P4")) {
			(void)notify_union(&provider, &fake_no_guid, NULL);
		}
	}
}

/* --- filters --- */

static const void *filter_data(const EVENT_FILTER_DESCRIPTOR *filter)
{
	return (const void *)(ULONG_PTR)filter->Ptr;
}

/* EVENT_FILTER_EVENT_ID: a BOOLEAN, a byte, u16 count, the ids; a size of exactly that. */
static bool read_ids(const EVENT_FILTER_DESCRIPTOR *filter, bool *in, uint16_t *ids,
		     unsigned *count)
{
	const uint8_t *at = filter_data(filter);
	uint16_t listed;

	if (filter->Size < 4 + sizeof(USHORT)) {
		return false;
	}
	memcpy(&listed, at + 2, sizeof(listed));
	if (listed == 0 || listed > FAKE_MAX_FILTER_IDS ||
	    filter->Size != 4 + listed * sizeof(USHORT)) {
		return false;
	}
	*in = at[0] != 0;
	*count = listed;
	memcpy(ids, at + 4, listed * sizeof(USHORT));
	return true;
}

static bool read_pids(const EVENT_FILTER_DESCRIPTOR *filter, struct fake_enable *enable)
{
	size_t count = filter->Size / sizeof(ULONG);

	if (count == 0 || count > FAKE_MAX_FILTER_PIDS || filter->Size % sizeof(ULONG) != 0) {
		return false;
	}
	enable->pids_set = true;
	enable->pid_count = (unsigned)count;
	memcpy(enable->pids, filter_data(filter), filter->Size);
	return true;
}

static bool read_executables(const EVENT_FILTER_DESCRIPTOR *filter, struct fake_enable *enable)
{
	size_t count = filter->Size / sizeof(WCHAR);
	WCHAR last;

	if (count < 2 || filter->Size % sizeof(WCHAR) != 0) {
		return false;
	}
	memcpy(&last, (const char *)filter_data(filter) + (count - 1) * sizeof(WCHAR),
	       sizeof(last));
	enable->executables = malloc(filter->Size);
	if (last != 0 || !enable->executables) {
		return false; /* the terminator is part of the size */
	}
	memcpy(enable->executables, filter_data(filter), filter->Size);
	return true;
}

static bool read_payload(const EVENT_FILTER_DESCRIPTOR *filter, struct fake_enable *enable)
{
	if (!fake_payload_good(filter_data(filter), filter->Size)) {
		return false;
	}
	enable->payload = malloc(filter->Size);
	if (!enable->payload) {
		abort();
	}
	memcpy(enable->payload, filter_data(filter), filter->Size);
	return true;
}

/* A filter of these types is the provider's own: Windows passes it on and looks at nothing in it.
 */
static bool keep_for_provider(const EVENT_FILTER_DESCRIPTOR *filter,
			      struct fake_provider_filter *own)
{
	own->type = filter->Type;
	own->size = filter->Size;
	memcpy(own->data, filter_data(filter), filter->Size);
	return true;
}

static bool read_filter(const EVENT_FILTER_DESCRIPTOR *filter, struct fake_enable *enable,
			struct fake_provider_filter *own)
{
	if (filter->Ptr == 0 || filter->Size == 0 ||
	    filter->Size > (filter->Type == EVENT_FILTER_TYPE_PAYLOAD ? FAKE_MAX_FILTER_PAYLOAD :
									FAKE_MAX_FILTER_DATA)) {
		return false;
	}
	switch (filter->Type) {
	case EVENT_FILTER_TYPE_NONE:
	case EVENT_FILTER_TYPE_SCHEMATIZED:
		return keep_for_provider(filter, own);
	case EVENT_FILTER_TYPE_PID:
		return read_pids(filter, enable);
	case EVENT_FILTER_TYPE_EXECUTABLE_NAME:
		return read_executables(filter, enable);
	case EVENT_FILTER_TYPE_EVENT_ID:
		enable->ids_set = true;
		return read_ids(filter, &enable->ids_in, enable->ids, &enable->id_count);
	case EVENT_FILTER_TYPE_STACKWALK:
		enable->stack_ids_set = true;
		return read_ids(filter, &enable->stack_ids_in, enable->stack_ids,
				&enable->stack_id_count);
	case EVENT_FILTER_TYPE_STACKWALK_LEVEL_KW:
		return filter->Size ==
		       24; /* sizeof(EVENT_FILTER_LEVEL_KW); accepted, but not imitated */
	case EVENT_FILTER_TYPE_PAYLOAD:
		return read_payload(filter, enable);
	default:
		fake_refuse("EnableTraceEx2", "this type of filter");
		return false;
	}
}

static uint32_t read_parameters(const ENABLE_TRACE_PARAMETERS *parameters,
				struct fake_enable *enable, struct fake_provider_filter *own)
{
	ULONG count;

	if (parameters->Version != ENABLE_TRACE_PARAMETERS_VERSION &&
	    parameters->Version != ENABLE_TRACE_PARAMETERS_VERSION_2) {
		return ERROR_INVALID_PARAMETER;
	}
	if (parameters->ControlFlags != 0 ||
	    (parameters->EnableProperty &
	     (fake.options.os_build < FIRST_BUILD_WITH_SILOS ? ~0x3ffu : ~0xfffu)) != 0) {
		return ERROR_INVALID_PARAMETER;
	}
	if ((parameters->EnableProperty & 0x20) != 0) {
		fake_refuse("EnableTraceEx2", "provider groups");
		return ERROR_NOT_SUPPORTED;
	}
	enable->properties = parameters->EnableProperty;
	enable->source = parameters->SourceId;
	/* Version 1 ends before the count. */
	count = parameters->Version == ENABLE_TRACE_PARAMETERS_VERSION_2 ?
			parameters->FilterDescCount :
			parameters->EnableFilterDesc != NULL;
	if (count > FAKE_MAX_FILTERS || (count > 0 && !parameters->EnableFilterDesc)) {
		return ERROR_INVALID_PARAMETER;
	}
	for (ULONG i = 0; i < count; i++) {
		for (ULONG j = 0; j < i; j++) {
			if (parameters->EnableFilterDesc[j].Type ==
			    parameters->EnableFilterDesc[i].Type) {
				return ERROR_INVALID_PARAMETER;
			}
		}
		if (!read_filter(&parameters->EnableFilterDesc[i], enable, own)) {
			return ERROR_INVALID_PARAMETER;
		}
	}
	return 0;
}

/* --- the call --- */

static uint32_t enable_trace(TRACEHANDLE handle, LPCGUID provider, ULONG code,
			     struct fake_enable *enable, const ENABLE_TRACE_PARAMETERS *parameters,
			     uint64_t *ticket)
{
	struct fake_provider_filter own = { .size = 0 };
	struct fake_session *session;
	uint32_t masks[8];
	uint32_t error;

	if (!provider || handle == 0 || code > EVENT_CONTROL_CODE_CAPTURE_STATE ||
	    fake_guid_equal(provider, &fake_no_guid) ||
	    fake_guid_equal(provider, &fake_system_trace_control_guid)) {
		return ERROR_INVALID_PARAMETER;
	}
	if (parameters) {
		error = read_parameters(parameters, enable, &own);
		if (error != 0) {
			return error;
		}
	}
	session = fake_session_by_given(handle);
	if (!session) {
		return ERROR_WMI_INSTANCE_NOT_FOUND;
	}
	if (!fake_rights_for(session->system_logger)) {
		return ERROR_ACCESS_DENIED;
	}
	if (code == EVENT_CONTROL_CODE_DISABLE_PROVIDER && parameters &&
	    parameters->EnableFilterDesc) {
		return ERROR_INVALID_PARAMETER;
	}
	enable->provider = *provider;
	if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER) {
		if (!session->system_logger &&
		    fake_kernel_system_provider(provider, enable->match_any, masks)) {
			return ERROR_INVALID_PARAMETER;
		}
		if (fake_kernel_system_provider(provider, enable->match_any, masks) &&
		    (masks[0] & EVENT_TRACE_FLAG_PROFILE) != 0 &&
		    !fake_machine_profile_privilege()) {
			return ERROR_PRIVILEGE_NOT_HELD;
		}
		error = fake_enable_set(session, enable);
		if (error == 0) {
			enable->executables = NULL; /* the session's now */
			enable->payload = NULL;
			*ticket = notify_union(provider, &enable->source, &own);
			fake_changes_provider(session, provider, enable, GetCurrentProcessId());
		}
		return error;
	}
	if (code == EVENT_CONTROL_CODE_DISABLE_PROVIDER) {
		if (fake_enable_clear(session, provider)) {
			*ticket = notify_union(provider, &enable->source, NULL);
			fake_changes_provider(session, provider, NULL, GetCurrentProcessId());
		}
		return 0;
	}
	if (fake_enable_of(session, provider)) {
		*ticket = fake_providers_notify(provider, &enable->source,
						EVENT_CONTROL_CODE_CAPTURE_STATE,
						fake_otherwise("P1") ? 5 : enable->level,
						enable->match_any, enable->match_all, &own);
	}
	return 0;
}

ULONG WMIAPI EnableTraceEx2(TRACEHANDLE handle, LPCGUID provider, ULONG code, UCHAR level,
			    ULONGLONG match_any, ULONGLONG match_all, ULONG timeout,
			    PENABLE_TRACE_PARAMETERS parameters)
{
	struct fake_enable enable = { .level = level,
				      .match_any = match_any,
				      .match_all = match_all };
	uint32_t error = fake_enter(CALL_EnableTraceEx2);
	uint64_t ticket = 0;

	if (error == 0) {
		error = enable_trace(handle, provider, code, &enable, parameters, &ticket);
	}
	free_filters(&enable);
	if (error == 0 && ticket != 0 && timeout != 0 && !fake_providers_wait(ticket, timeout)) {
		error = ERROR_TIMEOUT;
	}
	fake_unlock();
	return error;
}

IMPORTED(EnableTraceEx2);
