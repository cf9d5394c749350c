/* SPDX-License-Identifier: MIT */
/*
 * Probes of sessions. They test arguments that Windows should refuse with a certain status, numbers
 * that it should change, and what a running session answers.
 *
 * Each probe makes the calls of one row of tests/fake_etw/BEHAVIOUR.md and compares the statuses. A
 * call that succeeds although it should fail refutes the assumption, as another status does; the
 * session that it started is stopped. If a step fails that the probe does not test (no rights, no
 * free session), the assumption is not tested, and the finding names the step.
 */
#include "selftest/kit_etw_internal_win32.h"

#include <stdio.h>
#include <string.h>
#include <tlhelp32.h>

#include "selftest/kit_etw.h"

/* Starts a prepared session and checks the status; expected 0: the start should succeed. The
 * session is stopped again. */
static void check_start(struct kit_finding *finding, const char *what, ULONG expected,
			struct probe_session *session)
{
	ULONG status = probe_start_prepared(session);

	if (status == ERROR_ACCESS_DENIED && expected != ERROR_ACCESS_DENIED) {
		finding_skip(finding, what, status);
		return;
	}
	finding_status(finding, what, expected, status);
	probe_stop(session);
}

/* Starts a session that the probe needs. Returns false on failure; then the assumption is not
 * tested. */
static bool start_session(struct kit_finding *finding, struct probe_session *session,
			  unsigned number, const struct probe_settings *settings)
{
	ULONG status = probe_start(session, number, settings);

	if (status != ERROR_SUCCESS) {
		finding_skip(finding, "a probe session cannot be started", status);
	}
	return status == ERROR_SUCCESS;
}

static const struct probe_settings user = { 0 };
static const struct probe_settings system_logger = { .mode = PROBE_SYSTEM };

/* ---- starting ---- */

static void probe_start_arguments(struct kit_finding *finding)
{
	struct probe_session session;

	probe_prepare(&session, 1, &user);
	session.name[0] = 0;
	check_start(finding, "StartTraceW with an empty name", ERROR_INVALID_PARAMETER, &session);
	probe_prepare(&session, 1, &user);
	session.properties.base.Wnode.Flags = 0;
	check_start(finding, "without WNODE_FLAG_TRACED_GUID", ERROR_INVALID_PARAMETER, &session);
	probe_prepare(&session, 1, &user);
	session.properties.base.Wnode.ClientContext = 4;
	check_start(finding, "with ClientContext 4", ERROR_INVALID_PARAMETER, &session);
}

static void probe_long_name(struct kit_finding *finding)
{
	static struct {
		EVENT_TRACE_PROPERTIES base;
		WCHAR name[SESSION_NAME_MAX + 8];
	} properties;
	static WCHAR name[SESSION_NAME_MAX + 2];
	TRACEHANDLE handle = 0;
	struct probe_session like;
	ULONG status;

	probe_prepare(&like, 1, &user);
	properties.base = like.properties.base;
	properties.base.Wnode.BufferSize = (ULONG)sizeof properties;
	properties.base.LoggerNameOffset = (ULONG)sizeof properties.base;
	for (size_t i = 0; i <= SESSION_NAME_MAX;
	     i++) { /* one character more than Windows accepts */
		name[i] = 'n';
	}
	name[SESSION_NAME_MAX + 1] = 0;
	status = StartTraceW(&handle, name, &properties.base);
	finding_status(finding, "StartTraceW with a name of 1025 characters", ERROR_BAD_LENGTH,
		       status);
	if (status == ERROR_SUCCESS) {
		like.handle = handle;
		probe_stop(&like);
	}
}

static void probe_buffer_numbers(struct kit_finding *finding)
{
	/* These use one buffer for all processors, so that they need little memory on machines with
	 * many processors. */
	static const struct {
		struct probe_settings settings;
		ULONG kb;
	} cases[] = {
		{ { .buffer_kb = 1 }, 4 },
		{ { .buffer_kb = 0 }, 64 },
		{ { .buffer_kb = 20000 }, 16384 },
	};
	struct probe_session session;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct probe_settings settings = cases[i].settings;

		settings.mode = EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING;
		if (!start_session(finding, &session, 1, &settings)) {
			return;
		}
		finding_check(finding, session.properties.base.BufferSize == cases[i].kb,
			      "BufferSize %lu became %lu, expected %lu",
			      (unsigned long)settings.buffer_kb,
			      (unsigned long)session.properties.base.BufferSize,
			      (unsigned long)cases[i].kb);
		probe_stop(&session);
	}
	if (start_session(finding, &session, 1,
			  &(struct probe_settings){
				  .buffers_min = 200, .buffers_max = 150, .buffer_kb = 4 })) {
		const EVENT_TRACE_PROPERTIES *base = &session.properties.base;

		finding_check(finding, base->MaximumBuffers == base->MinimumBuffers,
			      "buffers 200 to 150 became %lu to %lu",
			      (unsigned long)base->MinimumBuffers,
			      (unsigned long)base->MaximumBuffers);
		probe_stop(&session);
	}
}

static void probe_modes(struct kit_finding *finding)
{
	struct probe_session session;

	probe_prepare(&session, 1,
		      &(struct probe_settings){ .mode = EVENT_TRACE_REAL_TIME_MODE |
							EVENT_TRACE_BUFFERING_MODE });
	check_start(finding, "REAL_TIME with BUFFERING", ERROR_INVALID_PARAMETER, &session);
}

static void probe_log_user(struct kit_finding *finding)
{
	struct probe_session session;

	if (!start_session(finding, &session, 1, &user)) {
		return;
	}
	probe_stop(&session);
	if (probe_start(&session, 1, &system_logger) == ERROR_SUCCESS) {
		probe_stop(&session);
		finding_say(finding, "this account may control system loggers: run as a member of "
				     "Performance Log Users that is no administrator");
		return;
	}
	check_start(finding, "a system logger of a member of Performance Log Users",
		    ERROR_ACCESS_DENIED, &session);
}

static void probe_ninth_logger(struct kit_finding *finding)
{
	static struct probe_session sessions[PROBE_SESSIONS];
	unsigned count = 0;
	ULONG status = ERROR_SUCCESS;

	while (count < PROBE_SESSIONS && status == ERROR_SUCCESS) {
		status = probe_start(&sessions[count], count + 1, &system_logger);
		count += status == ERROR_SUCCESS;
	}
	for (unsigned i = 0; i < count; i++) {
		probe_stop(&sessions[i]);
	}
	if (status == ERROR_ACCESS_DENIED) {
		finding_skip(finding, "a system logger cannot be started", status);
		return;
	}
	finding_say(finding, "%u system loggers could be started", count);
	finding_status(finding, "one more", ERROR_NO_SYSTEM_RESOURCES, status);
}

static void probe_logger_guid(struct kit_finding *finding)
{
	struct probe_session session;

	probe_prepare(&session, 1,
		      &(struct probe_settings){ .mode = PROBE_SYSTEM, .no_guid = true });
	check_start(finding, "a system logger without GUID", ERROR_INVALID_PARAMETER, &session);
	probe_prepare(&session, 1,
		      &(struct probe_settings){ .mode = PROBE_SYSTEM |
							EVENT_TRACE_USE_PAGED_MEMORY });
	check_start(finding, "a system logger in paged memory", ERROR_INVALID_PARAMETER, &session);
}

static void probe_flags_of_user_session(struct kit_finding *finding)
{
	struct probe_session session;

	probe_prepare(&session, 1, &(struct probe_settings){ .flags = EVENT_TRACE_FLAG_PROCESS });
	check_start(finding, "EnableFlags of a session that is no system logger",
		    ERROR_INVALID_PARAMETER, &session);
}

static void probe_profile(struct kit_finding *finding)
{
	static const struct probe_settings profile = { .mode = PROBE_SYSTEM,
						       .flags = EVENT_TRACE_FLAG_PROFILE };
	struct probe_session session;
	bool held = probe_profile_privilege(false);

	probe_prepare(&session, 1, &profile);
	check_start(finding, "PROFILE without SeSystemProfilePrivilege", ERROR_PRIVILEGE_NOT_HELD,
		    &session);
	if (held && !finding->skipped && probe_profile_privilege(true)) {
		ULONG status = probe_start(&session, 1, &profile);

		finding_status(finding, "with it", ERROR_SUCCESS, status);
		probe_stop(&session);
		probe_profile_privilege(false);
	}
}

/* ---- control ---- */

static void probe_handles(struct kit_finding *finding)
{
	struct probe_session first, second;
	ULONG status;

	if (!start_session(finding, &first, 1, &user)) {
		return;
	}
	second = first;
	probe_stop(&first);
	first.handle = second.handle;
	status = probe_control(&first, EVENT_TRACE_CONTROL_QUERY);
	finding_status(finding, "QUERY by the handle of a stopped session",
		       ERROR_WMI_INSTANCE_NOT_FOUND, status);
	if (!start_session(finding, &second, 1, &user)) {
		return;
	}
	finding_check(finding, second.handle != first.handle,
		      "the next session's handle is %s one (0x%llx, 0x%llx)",
		      second.handle != first.handle ? "another" : "the same",
		      (unsigned long long)first.handle, (unsigned long long)second.handle);
	probe_stop(&second);
}

static void probe_name_room(struct kit_finding *finding)
{
	struct session_properties properties = { 0 };
	struct probe_session session;
	ULONG status;

	if (!start_session(finding, &session, 1, &user)) {
		return;
	}
	properties.base.Wnode.BufferSize = (ULONG)sizeof properties;
	properties.base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	status = ControlTraceW(session.handle, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY);
	finding_status(finding, "QUERY with LoggerNameOffset 0", ERROR_MORE_DATA, status);
	probe_stop(&session);
}

/* Updates a running session with one change, and checks the status. */
static void check_update(struct kit_finding *finding, const char *what, ULONG expected,
			 ULONG wnode_flags, ULONG enable_flags, bool file)
{
	struct session_properties properties;
	struct probe_session session;
	ULONG status;

	if (!start_session(finding, &session, 1, &user)) {
		return;
	}
	properties = session.properties;
	properties.base.Wnode.Flags = wnode_flags;
	properties.base.EnableFlags = enable_flags;
	properties.base.LogFileNameOffset =
		file ? (ULONG)offsetof(struct session_properties, log_file_name) : 0;
	status = ControlTraceW(session.handle, NULL, &properties.base, EVENT_TRACE_CONTROL_UPDATE);
	finding_status(finding, what, expected, status);
	probe_stop(&session);
}

static void probe_update(struct kit_finding *finding)
{
	check_update(finding, "UPDATE with flags of no system logger", ERROR_INVALID_PARAMETER,
		     WNODE_FLAG_TRACED_GUID, EVENT_TRACE_FLAG_PROCESS, false);
	check_update(finding, "without WNODE_FLAG_TRACED_GUID", ERROR_INVALID_PARAMETER, 0, 0,
		     false);
	check_update(finding, "with a file name offset", ERROR_BAD_PATHNAME, WNODE_FLAG_TRACED_GUID,
		     0, true);
}

static void probe_masks_of_user_session(struct kit_finding *finding)
{
	struct probe_session session;
	ULONG masks[KERNEL_MASKS];

	if (!start_session(finding, &session, 1, &user)) {
		return;
	}
	finding_status(finding, "group masks of a session that is no system logger",
		       ERROR_INVALID_PARAMETER, probe_masks(session.handle, masks));
	probe_stop(&session);
}

static void probe_stacks(struct kit_finding *finding)
{
	static const GUID process_class = {
		0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	CLASSIC_EVENT_ID events[] = { { .EventGuid = process_class, .Type = 1 },
				      { .EventGuid = process_class, .Type = 2 } };
	CLASSIC_EVENT_ID listed[4];
	struct probe_session session;
	ULONG size = 0;
	ULONG status;

	if (!start_session(finding, &session, 1,
			   &(struct probe_settings){ .mode = PROBE_SYSTEM,
						     .flags = EVENT_TRACE_FLAG_PROCESS })) {
		return;
	}
	for (ULONG count = 2; count > 0; count--) {
		finding_status(finding, "a list of events with call stacks", ERROR_SUCCESS,
			       TraceSetInformation(session.handle, TraceStackTracingInfo, events,
						   count * (ULONG)sizeof events[0]));
	}
	status = TraceQueryInformation(session.handle, TraceStackTracingInfo, listed, sizeof listed,
				       &size);
	if (status != ERROR_SUCCESS) {
		finding_say(finding, "the list cannot be read: %lu", (unsigned long)status);
	} else {
		finding_check(finding, size == sizeof events[0],
			      "after a list of two and one of one, %lu bytes are listed",
			      (unsigned long)size);
	}
	events[0].EventGuid.Data1 = 0;
	finding_status(finding, "a class that is none", ERROR_INVALID_PARAMETER,
		       TraceSetInformation(session.handle, TraceStackTracingInfo, events,
					   sizeof events[0]));
	probe_stop(&session);
}

/* ---- consumers and snapshots ---- */

static void probe_open_nothing(struct kit_finding *finding)
{
	WCHAR name[SESSION_NAME_MAX] = L"etw_exporter_probe_none";
	struct probe_consumer consumer = { 0 };
	ULONG status = probe_consume(&consumer, name);

	finding_status(finding, "OpenTraceW of a session that does not run",
		       ERROR_WMI_INSTANCE_NOT_FOUND, status);
	if (status == ERROR_SUCCESS) {
		probe_consumer_end(&consumer);
		finding_say(finding, "ProcessTrace then: %lu", (unsigned long)consumer.status);
	}
}

static void probe_trace_clock(struct kit_finding *finding)
{
	enum { SYSTEM_TIME = 2 };
	EVENT_TRACE_LOGFILEW log_file = { 0 };
	struct probe_session session;
	TRACEHANDLE trace;
	ULONG status;

	probe_prepare(&session, 1, &user);
	session.properties.base.Wnode.ClientContext = SYSTEM_TIME;
	status = probe_start_prepared(&session);
	if (status != ERROR_SUCCESS) {
		finding_skip(finding, "a session with system time cannot be started", status);
		return;
	}
	log_file.LoggerName = session.name;
	log_file.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD |
				    PROCESS_TRACE_MODE_RAW_TIMESTAMP;
	trace = OpenTraceW(&log_file);
	if (trace == INVALID_PROCESSTRACE_HANDLE) {
		finding_skip(finding, "OpenTraceW", GetLastError());
	} else {
		CloseTrace(trace);
		finding_check(finding, log_file.LogfileHeader.ReservedFlags == SYSTEM_TIME,
			      "of a session with system time, ReservedFlags is %lu",
			      (unsigned long)log_file.LogfileHeader.ReservedFlags);
	}
	probe_stop(&session);
}

static void probe_snapshot_size(struct kit_finding *finding)
{
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W entry = { .dwSize = 0 };

	if (snapshot == INVALID_HANDLE_VALUE) {
		finding_skip(finding, "no snapshot", GetLastError());
		return;
	}
	SetLastError(ERROR_SUCCESS);
	finding_status(finding, "Process32FirstW with dwSize 0", ERROR_BAD_LENGTH,
		       Process32FirstW(snapshot, &entry) ? ERROR_SUCCESS : GetLastError());
	CloseHandle(snapshot);
}

static void probe_snapshot_lists(struct kit_finding *finding)
{
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	THREADENTRY32 entry = { .dwSize = sizeof entry };

	if (snapshot == INVALID_HANDLE_VALUE) {
		finding_skip(finding, "no snapshot", GetLastError());
		return;
	}
	finding_status(finding, "Thread32First in a snapshot of processes", ERROR_NO_MORE_FILES,
		       Thread32First(snapshot, &entry) ? ERROR_SUCCESS : GetLastError());
	CloseHandle(snapshot);
}

/* ---- what QUERY answers ---- */

static void probe_query_guid(struct kit_finding *finding)
{
	struct probe_session session;
	GUID guid;
	ULONG status;

	if (!start_session(finding, &session, 1, &system_logger)) {
		return;
	}
	guid = session.properties.base.Wnode.Guid;
	status = probe_control(&session, EVENT_TRACE_CONTROL_QUERY);
	if (status != ERROR_SUCCESS) {
		finding_skip(finding, "QUERY", status);
	} else {
		const WNODE_HEADER *node = &session.properties.base.Wnode;

		finding_check(finding, memcmp(&guid, &node->Guid, sizeof guid) == 0,
			      "QUERY answers {%08lx-...}, StartTraceW {%08lx-...}",
			      (unsigned long)node->Guid.Data1, (unsigned long)guid.Data1);
		finding_check(finding, node->HistoricalContext == session.handle,
			      "HistoricalContext 0x%llx, handle 0x%llx",
			      (unsigned long long)node->HistoricalContext,
			      (unsigned long long)session.handle);
	}
	probe_stop(&session);
}

static void probe_our_modes(struct kit_finding *finding)
{
	struct probe_session session;

	probe_prepare(&session, 1,
		      &(struct probe_settings){ .mode = PROBE_SYSTEM |
							EVENT_TRACE_INDEPENDENT_SESSION_MODE |
							EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN });
	check_start(finding, "a session with INDEPENDENT and PERSIST_ON_HYBRID_SHUTDOWN",
		    ERROR_SUCCESS, &session);
}

static void probe_query_all(struct kit_finding *finding)
{
	enum { LOGGERS = 64, LOGGERS_MAX = 256 };
	/* All answers overwrite one struct, because only the status is checked. */
	static struct session_properties properties;
	EVENT_TRACE_PROPERTIES *array[LOGGERS_MAX + 1];
	ULONG loggers = 0, returned = 0, count = 0;

	if (TraceQueryInformation(0, TraceMaxLoggersQuery, &loggers, sizeof loggers, &returned) !=
		    ERROR_SUCCESS ||
	    loggers > LOGGERS_MAX) {
		loggers = LOGGERS;
	}
	properties.base.Wnode.BufferSize = (ULONG)sizeof properties;
	properties.base.LoggerNameOffset = (ULONG)offsetof(struct session_properties, logger_name);
	properties.base.LogFileNameOffset =
		(ULONG)offsetof(struct session_properties, log_file_name);
	for (ULONG i = 0; i <= loggers; i++) {
		array[i] = &properties.base;
	}
	finding_say(finding, "this machine has %lu loggers", (unsigned long)loggers);
	finding_status(finding, "QueryAllTracesW for one more", ERROR_INVALID_PARAMETER,
		       QueryAllTracesW(array, loggers + 1, &count));
}

/* Starts a session with these modes and reads the modes that QUERY reports. */
static bool modes_of(struct kit_finding *finding, ULONG mode, ULONG *answered)
{
	struct probe_session session;
	ULONG status;

	if (!start_session(finding, &session, 1, &(struct probe_settings){ .mode = mode })) {
		return false;
	}
	status = probe_control(&session, EVENT_TRACE_CONTROL_QUERY);
	*answered = session.properties.base.LogFileMode;
	probe_stop(&session);
	if (status != ERROR_SUCCESS) {
		finding_skip(finding, "QUERY", status);
	}
	return status == ERROR_SUCCESS;
}

static void probe_independent(struct kit_finding *finding)
{
	const ULONG independent = EVENT_TRACE_INDEPENDENT_SESSION_MODE;
	ULONG alone, together;

	if (modes_of(finding, EVENT_TRACE_REAL_TIME_MODE | independent, &alone) &&
	    modes_of(finding,
		     EVENT_TRACE_REAL_TIME_MODE | independent |
			     EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN,
		     &together)) {
		finding_say(finding, "INDEPENDENT alone: QUERY answers 0x%08lx",
			    (unsigned long)alone);
		finding_check(finding, (together & independent) != 0,
			      "with PERSIST_ON_HYBRID_SHUTDOWN: 0x%08lx", (unsigned long)together);
	}
}

static void probe_masks_stay(struct kit_finding *finding)
{
	enum { LATER_MS = 200 };
	/* The last five are kept in another word. */
	const ULONG flags = EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_IO |
			    EVENT_TRACE_FLAG_CSWITCH | EVENT_TRACE_FLAG_DISPATCHER |
			    EVENT_TRACE_FLAG_DPC | EVENT_TRACE_FLAG_INTERRUPT |
			    EVENT_TRACE_FLAG_VIRTUAL_ALLOC;
	ULONG masks[KERNEL_MASKS], later[KERNEL_MASKS];
	uint32_t words[ETW_KERNEL_WORDS];
	struct probe_session session;
	ULONG status;

	if (!start_session(finding, &session, 1,
			   &(struct probe_settings){ .mode = PROBE_SYSTEM, .flags = flags })) {
		return;
	}
	status = probe_masks(session.handle, masks);
	Sleep(LATER_MS);
	if (status == ERROR_SUCCESS) {
		status = probe_masks(session.handle, later);
	}
	if (status != ERROR_SUCCESS) {
		finding_skip(finding, "group masks", status);
	} else {
		etw_kernel_words(flags, 0, words);
		finding_check(finding, masks[0] == words[0] && masks[1] == words[1],
			      "flags 0x%08lx: the first two masks are 0x%08lx and 0x%08lx",
			      (unsigned long)flags, (unsigned long)masks[0],
			      (unsigned long)masks[1]);
		finding_check(finding, memcmp(masks, later, sizeof masks) == 0,
			      "200 ms later it is 0x%08lx", (unsigned long)later[0]);
	}
	probe_stop(&session);
}

/* ---- the table of assumptions ---- */

/*
 * The table of the assumptions about Windows. Each row names the row of
 * tests/fake_etw/BEHAVIOUR.md, or W and the section of docs/windows.md, that marks it **assumed**,
 * and the probe that tests it.
 *
 * tests/selftest/test_kit_rows.py keeps this table equal to both documents: a new assumption needs
 * a probe here, an answer from the recording of kernel events, or the reason why there is neither.
 */

#define BY(function)       .probe = (function)
#define RECORDED(function) .recorded = (function)
#define CANNOT(why)        .why_not = (why)

/* clang-format off */
const struct kit_assumption kit_assumptions[] = {
	/* docs/windows.md */
	{ "W1a", "QUERY answers the GUID and the handle of StartTraceW", BY(probe_query_guid) },
	{ "W1b", "INDEPENDENT_SESSION_MODE stays when PERSIST_ON_HYBRID_SHUTDOWN is set with it", BY(probe_independent) },
	{ "W1c", "the group masks are those that were requested, and stay so", BY(probe_masks_stay) },
	{ "W1d", "processor samples need SeSystemProfilePrivilege: row S13", BY(probe_profile) },
	{ "W1e", "events of drivers and of their routines have addresses, also without SeDebugPrivilege",
	  RECORDED(recorded_addresses) },
	{ "W2a", "the rundown provider reports the names of open files before the stop", BY(probe_file_names) },
	{ "W2c", "DISK_FILE_IO alone, without DISK_IO, brings the names of open files at the stop", BY(probe_names_alone) },
	{ "W2b", "SystemConfig comes when a session stops, and not before", BY(probe_system_config) },
	{ "W3", "a level of 0 and keywords of 0 count as all: row P1a", BY(probe_union) },
	{ "W4", "ProcessTrace returns 998 when a callback faults",
	  CANNOT("it would need a fault in this process") },
	{ "W7", "events of Microsoft-Windows-Kernel-File say what those of FileIo say",
	  CANNOT("a run with `kernel_events: off` shows it") },
	{ "W8", "how cached, write-through, unbuffered and mapped writes appear",
	  CANNOT("rows of the self-test show it") },
	{ "W9", "names of accounts may take long where no domain controller answers",
	  CANNOT("a machine of a domain that is cut off from it would show it") },
	{ "W10", "sessions with kernel events may be started on GitHub's machines",
	  CANNOT("the run of the workflow shows it") },
	{ "W11a", "calls of minifilters come by group mask, with a thread, a start in the session's clock and one event each",
	  RECORDED(recorded_filter_calls) },
	{ "W11b", "requests of minifilters come with FILE_IO_INIT, and have payloads of 44 or 40 bytes",
	  RECORDED(recorded_filter_requests) },

	/* sessions */
	{ "S1a", "StartTraceW: 87 for an empty name, no traced GUID, ClientContext above 3", BY(probe_start_arguments) },
	{ "S2a", "StartTraceW: 24 for a name of more than 1024 characters", BY(probe_long_name) },
	{ "S4a", "buffer sizes become 4 to 16384 KB, 64 by default; a maximum at least the minimum", BY(probe_buffer_numbers) },
	{ "S4b", "a session whose first buffers have no memory is not started: 1450",
	  CANNOT("it would need a machine that is short of memory") },
	{ "S5", "real time together with buffering: 87", BY(probe_modes) },
	{ "S7a", "members of Performance Log Users cannot start system loggers: 5", BY(probe_log_user) },
	{ "S9", "one system logger too many: 1450", BY(probe_ninth_logger) },
	{ "S10", "a system logger without GUID, or in paged memory: 87", BY(probe_logger_guid) },
	{ "S12", "EnableFlags of a session that is no system logger: 87", BY(probe_flags_of_user_session) },
	{ "S13", "PROFILE without SeSystemProfilePrivilege: 1314", BY(probe_profile) },
	{ "S15", "handles of sessions are not used again", BY(probe_handles) },
	{ "S16", "QUERY with LoggerNameOffset 0: 234", BY(probe_name_room) },
	{ "S19", "UPDATE: 87 for flags of no system logger and without traced GUID, 161 for a file name", BY(probe_update) },

	{ "S24", "Windows strips no logging mode but a lone INDEPENDENT_SESSION_MODE", CANNOT("row W1b shows it") },
	{ "S25", "Windows refuses none of the logging modes of our sessions", BY(probe_our_modes) },
	{ "S26", "kernel events that one session has no room for are given to the others",
	  CANNOT("it would need a session of this machine that loses events") },
	{ "S26a", "each session's own mode decides whether it loses with another one",
	  CANNOT("it would need a session of this machine that loses events") },
	{ "S27", "QUERY answers the GUID of StartTraceW", CANNOT("row W1a shows it") },
	{ "S28", "a session gets no handle that another one had", CANNOT("row S15 shows it") },
	{ "S29", "group masks gain no bits by themselves", CANNOT("row W1c shows it") },
	{ "S31", "QueryAllTracesW: 87 for more places than EtwMaxLoggers",
	  BY(probe_query_all) },
	{ "S33", "before build 15063 a third type of clock of system loggers: 87",
	  CANNOT("it would need two system loggers with other clocks on an old build") },

	/* consumers */
	{ "C7a", "CloseTrace drops no buffer that was flushed before",
	  CANNOT("the exporter waits for all buffers before, so nothing depends on it") },
	{ "C1a", "OpenTraceW of a session that does not run: 4201", BY(probe_open_nothing) },
	{ "C3a", "OpenTraceW reports the clock of a session in ReservedFlags", BY(probe_trace_clock) },
	{ "C9a", "ProcessTrace returns when its session stops", BY(probe_session_end) },
	{ "C12a", "an event without payload has no UserData", BY(probe_empty_payload) },
	{ "C10a", "events that a cancelled consumer was about to get are not counted as lost",
	  CANNOT("which events a consumer was about to get is not visible") },
	{ "C15", "events wait for older ones in buffers of other processors",
	  CANNOT("that they wait is not visible from outside") },
	{ "C16", "the record of a loss comes before the next event",
	  CANNOT("the place of a lost event is not known") },
	{ "C19", "two consumers of a session both get every event", BY(probe_two_consumers) },

	{ "C20", "a buffer comes at most a flush interval late",
	  CANNOT("it depends on the load; the pages have etw_consumer_late_records_total") },
	{ "C21", "ProcessTrace returns 998 when a callback faults, and locks stay as they were",
	  CANNOT("it would need a fault in this process") },

	/* buffers */
	{ "B5", "the playback file holds as many buffers as the session may have",
	  CANNOT("it would need to fill the playback file of the machine") },
	{ "B7", "events in lost real-time buffers are not in EventsLost",
	  CANNOT("a loss of whole buffers cannot be caused on purpose") },

	/* providers */
	{ "P1", "a capture carries the level and keywords of the capturing call", BY(probe_capture) },
	{ "P1a", "in a union level 0 counts as 255, keywords 0 as all; all-keywords are and-ed", BY(probe_union) },
	{ "P3", "a capture of what is not enabled succeeds and reaches no provider", BY(probe_capture_nothing) },
	{ "P4", "a session that stops disables its providers with a callback", BY(probe_stop_disables) },
	{ "P7", "EnableTraceEx2 of SystemTraceControlGuid: 87", BY(probe_enable_control_guid) },
	{ "P7a", "EnableTraceEx2 of a session that has stopped: 4201", BY(probe_enable_gone) },
	{ "P7b", "a DISABLE with filters: 87", BY(probe_disable_filters) },
	{ "P11", "filters whose sizes do not fit: 87", BY(probe_filter_sizes) },
	{ "P11a", "a filter of more than 1024 bytes: 87", BY(probe_filter_data) },
	{ "P12", "properties add items in the order SID, terminal session, process start key", BY(probe_items) },
	{ "P12a", "events of containers come with ENABLE_SILOS only; 87 before build 17763",
	  CANNOT("it needs a program in a container") },
	{ "P17", "a system provider in a session that is no system logger: 87", BY(probe_system_provider) },
	{ "P17a", "processor samples by system provider need the privilege; masks do not show system providers", BY(probe_system_profile) },
	{ "P18", "what exists is reported once each time its flag is switched on", BY(probe_rundown_once) },

	{ "P21", "Kernel-EventTracing reports which process starts and stops sessions", BY(probe_changes) },
	{ "P21a", "the event that a session is stopped comes to the other sessions only", BY(probe_own_stop) },
	{ "P22a", "no buffer comes back from the consumer while STOP writes its records",
	  CANNOT("it depends on the load; a harvest that lost names counts them") },
	{ "P23", "the rundown provider reports the names of open files", CANNOT("row W2a shows it") },
	{ "P24", "masks that go off bring the rundown of the end without SystemConfig",
	  CANNOT("the exporter turns no masks off") },
	{ "P26", "a consumer keeps up with what is reported when flags come on",
	  CANNOT("the losses of the session show it") },

	/* Rows about filters by payload. */
	{ "F2", "events without filter pass; a field beyond the payload fulfils no condition",
	  CANNOT("it needs a provider whose manifest is installed") },
	{ "F3", "a condition on a field that is not there: 1168 or 87",
	  CANNOT("it needs a provider whose manifest is installed") },

	/* information, machine */
	{ "I1", "group masks of a session that is no system logger: 87", BY(probe_masks_of_user_session) },
	{ "I1a", "some flags are kept in another word of the group masks", CANNOT("row W1c shows it") },
	{ "I2", "a list of events with call stacks replaces the one before; a class that is none: 87", BY(probe_stacks) },
	{ "I4a", "a provider is reported as enabled right after it was enabled", BY(probe_enabled_is_reported) },
	{ "M1", "Process32FirstW with a wrong dwSize: 24", BY(probe_snapshot_size) },
	{ "M1a", "a snapshot of processes lists no threads", BY(probe_snapshot_lists) },
	{ "M6", "FindFirstVolumeW: 206 for too little room",
	  CANNOT("the exporter gives room for the longest name") },
	{ "M7", "the device number of a volume on several disks: 1",
	  CANNOT("it needs such a volume") },
	{ "M9", "GetVolumeInformationW: 24 for too little room",
	  CANNOT("the exporter gives room for the longest name") },
	{ "M11", "I_QueryTagInformation lists the services of a process with their tags",
	  CANNOT("a row of the self-test shows it: events of services with a name") },
	{ "M13", "ContainerType exists in process-isolated containers only",
	  CANNOT("it needs a container; the facts of the machine say whether this is one") },

	/* TDH */
	{ "T4", "TdhGetEventMapInformation finds maps for a record without a payload",
	  CANNOT("etwtool providers --export-manifests shows it: fields have maps") },

	{ .row = NULL },
};
/* clang-format on */
