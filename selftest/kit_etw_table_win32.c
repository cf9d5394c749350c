/* SPDX-License-Identifier: MIT */
/*
 * The table of the assumptions about Windows. Each row names the row of
 * tests/fake_etw/BEHAVIOUR.md, or W and the section of docs/windows.md, that marks it **assumed**,
 * and the probe that tests it.
 *
 * tests/selftest/test_kit_rows.py keeps this table equal to both documents: a new assumption needs
 * a probe here, an answer from the recording of kernel events, or the reason why there is neither.
 */
#include "selftest/kit_etw_internal_win32.h"
#include "selftest/kit_kernel.h"

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
