/* SPDX-License-Identifier: MIT */
/*
 * Probes of providers and records. They test what enable callbacks get and what consumers get.
 *
 * The provider belongs to the kit and is in this process, so the probes see both ends: what a
 * session enables, what the callback gets, what was written and what arrived. Records of the kernel
 * come from a private logger and are counted by class and opcode.
 *
 * A wait ends as soon as its event has come. If the event does not come within some seconds, the
 * probe assumes that it never will, so an answer "never" takes longer than an answer "yes".
 */
#include "selftest/kit_etw_internal_win32.h"

#include <stdatomic.h>
#include <string.h>

enum {
	WAIT_MS = 3000,
	EVENTS = 100,
	MARK = 1000, /* events with this number and above are marks and are not counted */
	MARK_WAIT_MS = 20,
	OP_DC_START = 3,
	OP_FILE_NAME = 36,
	PROCESS_ID_OFFSET = 8, /* in Process_V2 and later it follows UniqueProcessKey, 64 bits */
	SYSTEM_PROVIDERS = 20348,
};

static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};
static const GUID file_class = {
	0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
};
static const GUID config_class = {
	0x01853a65, 0x418f, 0x4f36, { 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35 }
};
/* docs/windows.md section 2 names this provider. */
static const GUID rundown_provider = {
	0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
};
/* SystemProcessProviderGuid ("System Providers", Microsoft Learn) */
static const GUID system_process = {
	0x151f55dc, 0x467d, 0x471f, { 0x83, 0xb5, 0x5f, 0x88, 0x9d, 0x46, 0xff, 0x66 }
};
static const GUID system_profile = {
	0xbfeb0324, 0x1cee, 0x496f, { 0xa4, 0x09, 0x2a, 0xc2, 0xb4, 0x8a, 0x63, 0x22 }
};
static const GUID control_guid = {
	0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 }
};

static const struct probe_settings user = { 0 };

static bool check_step(struct kit_finding *finding, const char *what, ULONG status)
{
	if (status != ERROR_SUCCESS) {
		finding_skip(finding, what, status);
	}
	return status == ERROR_SUCCESS;
}

static bool start_session(struct kit_finding *finding, struct probe_session *session,
			  unsigned number, const struct probe_settings *settings)
{
	return check_step(finding, "a probe session cannot be started",
			  probe_start(session, number, settings));
}

static bool open_provider(struct kit_finding *finding, struct probe_provider *provider)
{
	return check_step(finding, "EventRegister", probe_provider_open(provider));
}

/* ---- enable callbacks ---- */

static void check_callback(struct kit_finding *finding, struct probe_provider *provider,
			   const struct probe_callback *expected)
{
	struct probe_callback last = { 0 };

	if (!probe_provider_last(provider, &last)) {
		finding_check(finding, false, "no callback");
		return;
	}
	finding_check(finding,
		      last.code == expected->code && last.level == expected->level &&
			      last.any == expected->any && last.all == expected->all,
		      "callback code %lu, level %u, keywords 0x%llx, all 0x%llx",
		      (unsigned long)last.code, last.level, (unsigned long long)last.any,
		      (unsigned long long)last.all);
}

void probe_capture(struct kit_finding *finding)
{
	struct probe_callback expected;
	struct probe_provider provider;
	struct probe_session session;

	if (!open_provider(finding, &provider)) {
		return;
	}
	memset(&expected, 0, sizeof expected);
	expected.code = EVENT_CONTROL_CODE_CAPTURE_STATE;
	expected.level = 3;
	expected.any = 0x2;
	if (start_session(finding, &session, 1, &user)) {
		if (check_step(finding, "enabling",
			       probe_enable(&session, &probe_provider_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0x1, 0)) &&
		    check_step(finding, "capturing",
			       probe_enable(&session, &probe_provider_guid,
					    EVENT_CONTROL_CODE_CAPTURE_STATE, 3, 0x2, 0))) {
			check_callback(finding, &provider, &expected);
		}
		probe_stop(&session);
	}
	probe_provider_close(&provider);
}

void probe_union(struct kit_finding *finding)
{
	struct probe_callback expected;
	struct probe_session first, second = { 0 };
	struct probe_provider provider;

	if (!open_provider(finding, &provider)) {
		return;
	}
	memset(&expected, 0, sizeof expected);
	expected.code = EVENT_CONTROL_CODE_ENABLE_PROVIDER;
	expected.level = UINT8_MAX;
	expected.any = UINT64_MAX;
	expected.all = 0x1;
	if (start_session(finding, &first, 1, &user)) {
		if (start_session(finding, &second, 2, &user) &&
		    check_step(finding, "enabling",
			       probe_enable(&first, &probe_provider_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0x1, 0x3)) &&
		    check_step(finding, "enabling",
			       probe_enable(&second, &probe_provider_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, 0, 0x1))) {
			check_callback(finding, &provider, &expected);
		}
		probe_stop(&second);
		probe_stop(&first);
	}
	probe_provider_close(&provider);
}

void probe_capture_nothing(struct kit_finding *finding)
{
	struct probe_callback last;
	struct probe_provider provider;
	struct probe_session session;

	if (!open_provider(finding, &provider)) {
		return;
	}
	if (start_session(finding, &session, 1, &user)) {
		finding_status(finding, "a capture of what is not enabled", ERROR_SUCCESS,
			       probe_enable(&session, &probe_provider_guid,
					    EVENT_CONTROL_CODE_CAPTURE_STATE, 5, 0x1, 0));
		finding_check(finding, !probe_provider_last(&provider, &last), "%s",
			      probe_provider_last(&provider, &last) ? "it reached the provider" :
								      "no callback");
		probe_stop(&session);
	}
	probe_provider_close(&provider);
}

static bool is_disabled(void *context)
{
	struct probe_callback last;

	return probe_provider_last(context, &last) &&
	       last.code == EVENT_CONTROL_CODE_DISABLE_PROVIDER;
}

void probe_stop_disables(struct kit_finding *finding)
{
	struct probe_provider provider;
	struct probe_session session;

	if (!open_provider(finding, &provider)) {
		return;
	}
	if (start_session(finding, &session, 1, &user)) {
		bool enabled =
			check_step(finding, "enabling",
				   probe_enable(&session, &probe_provider_guid,
						EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0x1, 0));

		probe_stop(&session);
		if (enabled) {
			bool disabled = probe_wait(is_disabled, &provider, WAIT_MS);

			finding_check(finding, disabled,
				      "after the stop there was %s callback that "
				      "disables",
				      disabled ? "a" : "no");
		}
	}
	probe_provider_close(&provider);
}

/* ---- arguments ---- */

void probe_enable_control_guid(struct kit_finding *finding)
{
	struct probe_session session;

	if (start_session(finding, &session, 1, &user)) {
		finding_status(finding, "EnableTraceEx2 of SystemTraceControlGuid",
			       ERROR_INVALID_PARAMETER,
			       probe_enable(&session, &control_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0));
		probe_stop(&session);
	}
}

void probe_enable_gone(struct kit_finding *finding)
{
	struct probe_session session, gone;

	if (start_session(finding, &session, 1, &user)) {
		gone = session;
		probe_stop(&session);
		finding_status(finding, "EnableTraceEx2 of a session that has stopped",
			       ERROR_WMI_INSTANCE_NOT_FOUND,
			       probe_enable(&gone, &probe_provider_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0));
	}
}

static ULONG control_filtered(const struct probe_session *session, ULONG code, ULONG type,
			      const void *data, ULONG size)
{
	EVENT_FILTER_DESCRIPTOR filter = { .Ptr = (ULONGLONG)(ULONG_PTR)data,
					   .Size = size,
					   .Type = type };
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableFilterDesc = &filter,
					       .FilterDescCount = 1 };

	return EnableTraceEx2(session->handle, &probe_provider_guid, code, 5, 0, 0, 0, &parameters);
}

static ULONG enable_filtered(const struct probe_session *session, ULONG type, const void *data,
			     ULONG size)
{
	return control_filtered(session, EVENT_CONTROL_CODE_ENABLE_PROVIDER, type, data, size);
}

void probe_disable_filters(struct kit_finding *finding)
{
	static const ULONG pid = 4;
	struct probe_session session;

	if (!start_session(finding, &session, 1, &user)) {
		return;
	}
	if (check_step(finding, "enabling with a filter",
		       enable_filtered(&session, EVENT_FILTER_TYPE_PID, &pid, sizeof pid))) {
		finding_status(finding, "DISABLE with the same filter", ERROR_INVALID_PARAMETER,
			       control_filtered(&session, EVENT_CONTROL_CODE_DISABLE_PROVIDER,
						EVENT_FILTER_TYPE_PID, &pid, sizeof pid));
	}
	probe_stop(&session);
}

void probe_filter_sizes(struct kit_finding *finding)
{
	/* The filter has FilterIn, Reserved and Count 2, but only one id. */
	static const USHORT ids[] = { 0x0001, 2, 7 };
	static const ULONG pids[] = { 4, 8 };
	struct probe_session session;

	if (start_session(finding, &session, 1, &user)) {
		finding_status(
			finding, "a filter of 2 ids with room for one", ERROR_INVALID_PARAMETER,
			enable_filtered(&session, EVENT_FILTER_TYPE_EVENT_ID, ids, sizeof ids));
		finding_status(finding, "a filter of process ids of 6 bytes",
			       ERROR_INVALID_PARAMETER,
			       enable_filtered(&session, EVENT_FILTER_TYPE_PID, pids, 6));
		probe_stop(&session);
	}
}

void probe_filter_data(struct kit_finding *finding)
{
	enum { NAME = 513 }; /* characters including the NUL: 1026 bytes */
	struct probe_session session;
	WCHAR name[NAME];

	for (size_t i = 0; i < NAME; i++) {
		name[i] = i + 1 < NAME ? 'n' : 0;
	}
	if (start_session(finding, &session, 1, &user)) {
		finding_status(finding, "a filter of 1026 bytes of executables",
			       ERROR_INVALID_PARAMETER,
			       enable_filtered(&session, EVENT_FILTER_TYPE_EXECUTABLE_NAME, name,
					       sizeof name));
		probe_stop(&session);
	}
}

static uint32_t windows_build(void)
{
	RTL_OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof version };

	return RtlGetVersion(&version) == 0 ? version.dwBuildNumber : 0;
}

static bool has_system_providers(struct kit_finding *finding)
{
	uint32_t build = windows_build();

	if (build < SYSTEM_PROVIDERS) {
		finding_say(finding, "system providers need build %d, this is build %u",
			    SYSTEM_PROVIDERS, (unsigned)build);
	}
	return build >= SYSTEM_PROVIDERS;
}

void probe_system_provider(struct kit_finding *finding)
{
	struct probe_session session;

	if (has_system_providers(finding) && start_session(finding, &session, 1, &user)) {
		finding_status(finding, "a system provider in a session that is no system logger",
			       ERROR_INVALID_PARAMETER,
			       probe_enable(&session, &system_process,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 4, 0x1, 0));
		probe_stop(&session);
	}
}

void probe_system_profile(struct kit_finding *finding)
{
	struct probe_session session;
	ULONG masks[KERNEL_MASKS];
	ULONG status;

	if (!has_system_providers(finding) ||
	    !start_session(finding, &session, 1,
			   &(struct probe_settings){ .mode = PROBE_SYSTEM })) {
		return;
	}
	probe_profile_privilege(false);
	finding_status(finding, "SystemProfileProvider without the privilege",
		       ERROR_PRIVILEGE_NOT_HELD,
		       probe_enable(&session, &system_profile, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
				    4, 0x1, 0));
	if (check_step(finding, "enabling SystemProcessProvider",
		       probe_enable(&session, &system_process, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
				    4, 0x1, 0))) {
		status = probe_masks(session.handle, masks);
		if (check_step(finding, "group masks", status)) {
			finding_check(finding, (masks[0] & EVENT_TRACE_FLAG_PROCESS) == 0,
				      "with SystemProcessProvider the first mask is 0x%08lx",
				      (unsigned long)masks[0]);
		}
	}
	probe_stop(&session);
}

/* ---- records of the own provider ---- */

/* What a consumer got of these records. */
struct received {
	_Atomic(unsigned) events;
	_Atomic(unsigned) marks;
	_Atomic(unsigned) empty;      /* without payload */
	_Atomic(unsigned) pointing;   /* of these, records that have a pointer to one */
	_Atomic(unsigned) item_count; /* extended items of the last event */
	_Atomic(unsigned) items[8];
};

static void on_own(void *context, const EVENT_RECORD *record)
{
	struct received *got = context;
	uint32_t number;

	if (memcmp(&record->EventHeader.ProviderId, &probe_provider_guid, sizeof(GUID)) != 0) {
		return;
	}
	if (record->UserDataLength != sizeof number) {
		atomic_fetch_add(&got->pointing, record->UserDataLength == 0 && record->UserData);
		atomic_fetch_add(&got->empty, record->UserDataLength == 0);
		return;
	}
	memcpy(&number, record->UserData, sizeof number);
	atomic_store(&got->item_count, record->ExtendedDataCount);
	for (unsigned i = 0; i < record->ExtendedDataCount && i < 8; i++) {
		atomic_store(&got->items[i], record->ExtendedData[i].ExtType);
	}
	atomic_fetch_add(number >= MARK ? &got->marks : &got->events, 1);
}

static bool marked(void *context)
{
	struct received *got = context;

	return atomic_load(&got->marks) > 0;
}

/* Writes marks until every consumer has got one. Returns false if one of them gets none in time. */
static bool wait_for_marks(struct probe_provider *provider, struct probe_session *session,
			   struct received *got, size_t count)
{
	uint64_t end = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);

	for (size_t i = 0; i < count; i++) {
		bool has = false;

		do {
			probe_provider_write(provider, MARK);
			probe_control(session, EVENT_TRACE_CONTROL_FLUSH);
			has = probe_wait(marked, &got[i], MARK_WAIT_MS);
		} while (!has && os_monotonic_ns() < end);
		if (!has) {
			return false;
		}
	}
	return true;
}

static void compare_consumers(struct kit_finding *finding, struct probe_provider *provider,
			      struct probe_session *session)
{
	struct received got[2] = { 0 };
	struct probe_consumer consumers[2] = { { .on_record = on_own, .context = &got[0] },
					       { .on_record = on_own, .context = &got[1] } };
	ULONG first = probe_consume(&consumers[0], session->name);
	ULONG second = probe_consume(&consumers[1], session->name);
	bool both = false;

	if (check_step(finding, "the first consumer", first)) {
		finding_status(finding, "OpenTraceW of the second consumer", ERROR_SUCCESS, second);
		both = second == ERROR_SUCCESS && wait_for_marks(provider, session, got, 2);
	}
	for (uint32_t i = 0; both && i < EVENTS; i++) {
		probe_provider_write(provider, i);
	}
	probe_stop(session);
	probe_consumer_end(&consumers[0]);
	probe_consumer_end(&consumers[1]);
	if (first != ERROR_SUCCESS || second != ERROR_SUCCESS) {
		return;
	}
	if (!marked(&got[0]) && !marked(&got[1])) {
		finding_skip(finding, "no consumer gets anything", ERROR_TIMEOUT);
	} else if (session->properties.base.EventsLost > 0) {
		finding_skip(finding, "events were lost", ERROR_NOT_ENOUGH_MEMORY);
	} else {
		unsigned a = atomic_load(&got[0].events), b = atomic_load(&got[1].events);

		finding_check(finding, both && a == EVENTS && b == EVENTS,
			      "of %d events they got %u and %u; ProcessTrace: %lu and %lu", EVENTS,
			      a, b, (unsigned long)consumers[0].status,
			      (unsigned long)consumers[1].status);
	}
}

void probe_two_consumers(struct kit_finding *finding)
{
	struct probe_provider provider;
	struct probe_session session;

	if (!open_provider(finding, &provider)) {
		return;
	}
	if (start_session(finding, &session, 1, &user)) {
		if (check_step(finding, "enabling",
			       probe_enable(&session, &probe_provider_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0))) {
			compare_consumers(finding, &provider, &session);
		}
		probe_stop(&session);
	}
	probe_provider_close(&provider);
}

static void look_at_items(struct kit_finding *finding, struct probe_provider *provider,
			  struct probe_session *session)
{
	static const unsigned expected[] = { EVENT_HEADER_EXT_TYPE_SID, EVENT_HEADER_EXT_TYPE_TS_ID,
					     EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY };
	enum { EXPECTED = sizeof expected / sizeof expected[0] };
	struct received got = { 0 };
	struct probe_consumer consumer = { .on_record = on_own, .context = &got };
	bool came;

	if (!check_step(finding, "OpenTraceW", probe_consume(&consumer, session->name))) {
		return;
	}
	came = wait_for_marks(provider, session, &got, 1);
	probe_stop(session);
	probe_consumer_end(&consumer);
	if (!came) {
		finding_skip(finding, "no event arrives", ERROR_TIMEOUT);
	} else {
		unsigned count = atomic_load(&got.item_count);
		bool same = count == EXPECTED;

		for (unsigned i = 0; i < count && i < EXPECTED; i++) {
			same = same && atomic_load(&got.items[i]) == expected[i];
		}
		finding_check(finding, same, "%u items of types %u %u %u", count,
			      atomic_load(&got.items[0]), atomic_load(&got.items[1]),
			      atomic_load(&got.items[2]));
	}
}

void probe_items(struct kit_finding *finding)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableProperty =
						       EVENT_ENABLE_PROPERTY_SID |
						       EVENT_ENABLE_PROPERTY_TS_ID |
						       EVENT_ENABLE_PROPERTY_PROCESS_START_KEY };
	struct probe_provider provider;
	struct probe_session session;

	if (!open_provider(finding, &provider)) {
		return;
	}
	if (start_session(finding, &session, 1, &user)) {
		if (check_step(finding, "enabling with properties",
			       EnableTraceEx2(session.handle, &probe_provider_guid,
					      EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, WAIT_MS,
					      &parameters))) {
			look_at_items(finding, &provider, &session);
		}
		probe_stop(&session);
	}
	probe_provider_close(&provider);
}

/* The kit's provider, a session that has it enabled, and a consumer of that session. */
struct own_session {
	struct probe_provider provider;
	struct probe_session session;
	struct probe_consumer consumer;
	struct received got;
};

/* Opens all three. On failure returns false and closes what it has opened. */
static bool own_begin(struct kit_finding *finding, struct own_session *own)
{
	if (!open_provider(finding, &own->provider)) {
		return false;
	}
	own->consumer.on_record = on_own;
	own->consumer.context = &own->got;
	if (start_session(finding, &own->session, 1, &user)) {
		if (check_step(finding, "enabling",
			       probe_enable(&own->session, &probe_provider_guid,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0)) &&
		    check_step(finding, "OpenTraceW",
			       probe_consume(&own->consumer, own->session.name))) {
			if (wait_for_marks(&own->provider, &own->session, &own->got, 1)) {
				return true;
			}
			finding_skip(finding, "no event arrives", ERROR_TIMEOUT);
		}
		probe_stop(&own->session);
		probe_consumer_end(&own->consumer);
	}
	probe_provider_close(&own->provider);
	return false;
}

/* Stops the session and closes all three. Returns whether the consumer ended by itself when its
 * session was stopped. */
static bool own_end(struct own_session *own)
{
	bool ended;

	probe_stop(&own->session);
	ended = probe_consumer_end(&own->consumer);
	probe_provider_close(&own->provider);
	return ended;
}

void probe_session_end(struct kit_finding *finding)
{
	struct own_session own = { 0 };

	if (own_begin(finding, &own)) {
		bool ended = own_end(&own);

		finding_check(finding, ended, "ProcessTrace %s",
			      ended ? "returned" : "returned only when its trace was closed");
	}
}

void probe_empty_payload(struct kit_finding *finding)
{
	const EVENT_DESCRIPTOR descriptor = { .Id = 2, .Level = 4, .Keyword = 1 };
	struct own_session own = { 0 };
	ULONG status;
	bool came;

	if (!own_begin(finding, &own)) {
		return;
	}
	atomic_store(&own.got.marks, 0);
	status = EventWriteTransfer(own.provider.handle, &descriptor, NULL, NULL, 0, NULL);
	came = wait_for_marks(&own.provider, &own.session, &own.got, 1);
	own_end(&own);
	if (check_step(finding, "EventWriteTransfer", status)) {
		if (!came || atomic_load(&own.got.empty) == 0) {
			finding_skip(finding, "the event does not arrive", ERROR_TIMEOUT);
		} else {
			finding_check(finding, atomic_load(&own.got.pointing) == 0,
				      "UserData is %s",
				      atomic_load(&own.got.pointing) ? "not NULL" : "NULL");
		}
	}
}

void probe_enabled_is_reported(struct kit_finding *finding)
{
	struct own_session own = { 0 };

	if (!own_begin(finding, &own)) {
		return;
	}
	if (check_step(finding, "enabling again",
		       probe_enable(&own.session, &probe_provider_guid,
				    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 4, 0, 0))) {
		bool disabled = running_is_disabled(&probe_provider_guid, own.session.handle);

		finding_check(finding, !disabled, "it is %s",
			      disabled ? "not reported" : "reported");
	}
	own_end(&own);
}

/* ---- events about changes of sessions ---- */

/* Microsoft-Windows-Kernel-EventTracing */
static const GUID event_tracing = {
	0xb675ec37, 0xbdb6, 0x4648, { 0xbc, 0x92, 0xf3, 0xfd, 0xc7, 0x4d, 0x3c, 0xa2 }
};

/* Numbers of events of that provider that this process caused. */
struct session_changes {
	_Atomic(unsigned) starts;
	_Atomic(unsigned) stops;
};

static void on_change(void *context, const EVENT_RECORD *record)
{
	enum { EVENT_STARTED = 10, EVENT_STOPPED = 11 };
	struct session_changes *changes = context;
	USHORT id = record->EventHeader.EventDescriptor.Id;

	if (memcmp(&record->EventHeader.ProviderId, &event_tracing, sizeof(GUID)) != 0 ||
	    record->EventHeader.ProcessId != GetCurrentProcessId()) {
		return;
	}
	atomic_fetch_add(&changes->starts, id == EVENT_STARTED);
	atomic_fetch_add(&changes->stops, id == EVENT_STOPPED);
}

struct change_probe {
	struct probe_session session;
	struct probe_consumer consumer;
	struct session_changes changes;
};

static bool has_stop(void *context)
{
	struct change_probe *probe = context;

	probe_control(&probe->session, EVENT_TRACE_CONTROL_FLUSH);
	return atomic_load(&probe->changes.stops) > 0;
}

/* Starts and stops a second session while the first has the provider enabled, then stops the first.
 * *before: gets the number of stops reported before the first session was stopped. Returns false if
 * a step failed, so that nothing is tested. */
static bool see_changes(struct kit_finding *finding, struct change_probe *probe, unsigned *before)
{
	struct probe_session other;
	bool seen = false;

	memset(probe, 0, sizeof *probe);
	probe->consumer.on_record = on_change;
	probe->consumer.context = &probe->changes;
	if (!start_session(finding, &probe->session, 1, &user)) {
		return false;
	}
	if (check_step(finding, "OpenTraceW",
		       probe_consume(&probe->consumer, probe->session.name))) {
		if (check_step(finding, "enabling Kernel-EventTracing",
			       probe_enable(&probe->session, &event_tracing,
					    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0)) &&
		    start_session(finding, &other, 2, &user)) {
			probe_stop(&other);
			probe_wait(has_stop, probe, WAIT_MS);
			*before = atomic_load(&probe->changes.stops);
			seen = true;
		}
		probe_stop(&probe->session);
		probe_consumer_end(&probe->consumer);
	}
	probe_stop(&probe->session);
	return seen;
}

void probe_changes(struct kit_finding *finding)
{
	struct change_probe probe;
	unsigned before;

	if (see_changes(finding, &probe, &before)) {
		unsigned starts = atomic_load(&probe.changes.starts);

		finding_check(finding, starts == 1 && before == 1,
			      "of a start and a stop by this process %u and %u were reported",
			      starts, before);
	}
}

void probe_own_stop(struct kit_finding *finding)
{
	struct change_probe probe;
	unsigned before;

	if (see_changes(finding, &probe, &before)) {
		unsigned own = atomic_load(&probe.changes.stops) - before;

		finding_check(finding, own == 0, "its own stop was reported %u times", own);
	}
}

/* ---- records of the kernel ---- */

struct kernel_counts {
	_Atomic(unsigned) own_starts; /* Process DCStart of this process */
	_Atomic(unsigned) file_names;
	_Atomic(unsigned) configs;
	_Atomic(unsigned) others;
};

static bool of_class(const EVENT_RECORD *record, const GUID *guid)
{
	return memcmp(&record->EventHeader.ProviderId, guid, sizeof *guid) == 0;
}

static void on_kernel(void *context, const EVENT_RECORD *record)
{
	struct kernel_counts *counts = context;
	UCHAR opcode = record->EventHeader.EventDescriptor.Opcode;
	uint32_t id = 0;

	if (of_class(record, &process_class) && opcode == OP_DC_START &&
	    record->UserDataLength >= PROCESS_ID_OFFSET + sizeof id) {
		memcpy(&id, (const char *)record->UserData + PROCESS_ID_OFFSET, sizeof id);
		if (id == GetCurrentProcessId()) {
			atomic_fetch_add(&counts->own_starts, 1);
		}
	} else if (of_class(record, &file_class) && opcode == OP_FILE_NAME) {
		atomic_fetch_add(&counts->file_names, 1);
	} else if (of_class(record, &config_class)) {
		atomic_fetch_add(&counts->configs, 1);
	} else {
		atomic_fetch_add(&counts->others, 1);
	}
}

/* A private logger with a consumer. The consumer writes to the caller's counts until
 * kernel_end(). */
struct kernel_probe {
	struct probe_session session;
	struct probe_consumer consumer;
	struct kernel_counts counts;
};

static bool kernel_begin(struct kit_finding *finding, struct kernel_probe *probe, ULONG flags)
{
	/* The buffers have room for the names of all open files, which come at once when the
	 * session stops. */
	const struct probe_settings settings = { .mode = PROBE_SYSTEM,
						 .flags = flags,
						 .buffer_kb = 1024,
						 .buffers_min = 16,
						 .buffers_max = 64 };

	memset(probe, 0, sizeof *probe);
	probe->consumer.on_record = on_kernel;
	probe->consumer.context = &probe->counts;
	if (!start_session(finding, &probe->session, 1, &settings)) {
		return false;
	}
	if (!check_step(finding, "OpenTraceW",
			probe_consume(&probe->consumer, probe->session.name))) {
		probe_stop(&probe->session);
		return false;
	}
	return true;
}

static void kernel_end(struct kernel_probe *probe)
{
	probe_stop(&probe->session);
	probe_consumer_end(&probe->consumer);
}

static bool has_own_start(void *context)
{
	struct kernel_probe *probe = context;

	probe_control(&probe->session, EVENT_TRACE_CONTROL_FLUSH);
	return atomic_load(&probe->counts.own_starts) > 0;
}

static bool has_second_start(void *context)
{
	struct kernel_probe *probe = context;

	probe_control(&probe->session, EVENT_TRACE_CONTROL_FLUSH);
	return atomic_load(&probe->counts.own_starts) > 1;
}

static ULONG set_masks(const struct kernel_probe *probe, ULONG flags)
{
	ULONG masks[KERNEL_MASKS] = { flags };

	return TraceSetInformation(probe->session.handle, TraceSystemTraceEnableFlagsInfo, masks,
				   sizeof masks);
}

void probe_rundown_once(struct kit_finding *finding)
{
	struct kernel_probe probe;

	if (!kernel_begin(finding, &probe, EVENT_TRACE_FLAG_PROCESS)) {
		return;
	}
	if (!probe_wait(has_own_start, &probe, WAIT_MS)) {
		finding_check(finding, false, "no DCStart of this process within %d ms", WAIT_MS);
	} else if (check_step(finding, "switching off", set_masks(&probe, 0)) &&
		   check_step(finding, "switching on",
			      set_masks(&probe, EVENT_TRACE_FLAG_PROCESS))) {
		bool again = probe_wait(has_second_start, &probe, WAIT_MS);

		finding_check(finding, again,
			      "DCStart of this process: one at the start, %s when its flag was "
			      "switched off and on",
			      again ? "one more" : "none");
	}
	kernel_end(&probe);
	if (!finding->skipped && finding->state == KIT_CONFIRMED) {
		unsigned starts = atomic_load(&probe.counts.own_starts);

		finding_check(finding, starts == 2, "%u in all", starts);
	}
}

static bool has_file_name(void *context)
{
	struct kernel_probe *probe = context;

	probe_control(&probe->session, EVENT_TRACE_CONTROL_FLUSH);
	return atomic_load(&probe->counts.file_names) > 0;
}

void probe_file_names(struct kit_finding *finding)
{
	enum { KEYWORD = 0x10 };
	struct kernel_probe probe;

	if (!kernel_begin(finding, &probe,
			  EVENT_TRACE_FLAG_DISK_IO | EVENT_TRACE_FLAG_DISK_FILE_IO)) {
		return;
	}
	if (check_step(finding, "enabling the rundown provider",
		       probe_enable(&probe.session, &rundown_provider,
				    EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, KEYWORD, 0))) {
		bool reported = probe_wait(has_file_name, &probe, WAIT_MS);
		unsigned before = atomic_load(&probe.counts.file_names);

		kernel_end(&probe);
		finding_check(finding, reported, "%u names of files before the stop, %u in all",
			      before, atomic_load(&probe.counts.file_names));
		return;
	}
	kernel_end(&probe);
}

void probe_names_alone(struct kit_finding *finding)
{
	struct kernel_probe probe;

	if (kernel_begin(finding, &probe,
			 EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_FILE_IO)) {
		unsigned names;

		probe_wait(has_own_start, &probe, WAIT_MS); /* then a consumer is there */
		kernel_end(&probe);
		names = atomic_load(&probe.counts.file_names);
		finding_check(finding, names > 0, "%u names of files", names);
	}
}

void probe_system_config(struct kit_finding *finding)
{
	struct kernel_probe probe;
	unsigned before;

	if (!kernel_begin(finding, &probe, EVENT_TRACE_FLAG_PROCESS)) {
		return;
	}
	probe_wait(has_own_start, &probe, WAIT_MS); /* then all records of the start have come */
	before = atomic_load(&probe.counts.configs);
	kernel_end(&probe);
	finding_check(finding, before == 0 && atomic_load(&probe.counts.configs) > 0,
		      "%u SystemConfig records before the stop, %u in all", before,
		      atomic_load(&probe.counts.configs));
}
