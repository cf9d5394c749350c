/* SPDX-License-Identifier: MIT */
/*
 * What the files kit_etw_*_win32.c share: sessions, consumers and a provider of the kit's own, and
 * how a probe says what it saw.
 */
#ifndef SELFTEST_KIT_ETW_INTERNAL_WIN32_H
#define SELFTEST_KIT_ETW_INTERNAL_WIN32_H

#include "lib/live/live_source_internal_win32.h"
#include "selftest/kit_etw.h"

enum { PROBE_SESSIONS = 8 };

/* ---- what a probe says ---- */

/* Adds "; " and the text to what was seen. */
void finding_say(struct kit_finding *finding, const char *format, ...) ETW_PRINTF_LIKE(2, 3);
/* Confirms the assumption if nothing refuted it before, or refutes it; adds the text either way. */
void finding_check(struct kit_finding *finding, bool holds, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);
/* Checks the status of a call. */
void finding_status(struct kit_finding *finding, const char *what, ULONG expected, ULONG status);
/* A step that the probe needs failed: the assumption is not tested, even if it was confirmed
 * before. */
void finding_skip(struct kit_finding *finding, const char *what, ULONG status);

/* ---- sessions ---- */

struct probe_session {
	TRACEHANDLE handle;                   /* 0: does not run */
	struct session_properties properties; /* as Windows returned them */
	WCHAR name[SESSION_NAME_MAX];
};

/* Zero means what it means in EVENT_TRACE_PROPERTIES, except that mode 0 is real time. */
struct probe_settings {
	ULONG mode;
	ULONG flags;
	ULONG buffer_kb, buffers_min, buffers_max;
	bool no_guid;
};

/* A private logger of kernel events. */
#define PROBE_SYSTEM (EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE)

/* Fills in name and properties of probe session `number` (1 to PROBE_SESSIONS), for a start. */
void probe_prepare(struct probe_session *session, unsigned number,
		   const struct probe_settings *settings);
/* Starts a prepared session. */
ULONG probe_start_prepared(struct probe_session *session);
/* Both; a session of that name that is left over is stopped first. */
ULONG probe_start(struct probe_session *session, unsigned number,
		  const struct probe_settings *settings);
ULONG probe_control(struct probe_session *session, ULONG code);
/* Does nothing when it does not run. */
ULONG probe_stop(struct probe_session *session);

/* Switches SeSystemProfilePrivilege; false: the account does not hold it. */
bool probe_profile_privilege(bool on);

/* The group masks of a system logger. */
ULONG probe_masks(TRACEHANDLE session, ULONG masks[KERNEL_MASKS]);

/* ---- consumers ---- */

typedef void probe_on_record(void *context, const EVENT_RECORD *record);

struct probe_consumer {
	probe_on_record *on_record; /* runs on the consumer's thread; NULL: records are counted */
	void *context;
	uint64_t records; /* guarded by lock */
	bool ended;       /* guarded by lock */
	ULONG status;     /* of ProcessTrace, once it has ended */
	TRACEHANDLE trace;
	struct os_mutex lock;
	struct os_condition changed;
	struct os_thread thread;
	bool runs;
};

/* Opens the trace and starts the thread. Returns the status of OpenTraceW. *consumer is the
 * caller's, with on_record and context set, and must stay until probe_consumer_end(). */
ULONG probe_consume(struct probe_consumer *consumer, const WCHAR *session);
uint64_t probe_consumer_records(struct probe_consumer *consumer);
/* Waits until the consumer has ended by itself, which it does when its session was stopped; after
 * some seconds its trace is closed. False: it had not ended by then. */
bool probe_consumer_end(struct probe_consumer *consumer);

/* Calls until() each few milliseconds; false: it did not hold within that time. */
bool probe_wait(bool (*until)(void *context), void *context, unsigned ms);

/* ---- a provider ---- */

extern const GUID probe_provider_guid;

enum { PROBE_CALLBACKS = 32 };

struct probe_callback {
	ULONG code;
	UCHAR level;
	ULONGLONG any, all;
};

struct probe_provider {
	REGHANDLE handle;
	struct os_mutex lock;
	struct probe_callback callbacks[PROBE_CALLBACKS]; /* guarded by lock; the first ones */
	size_t callback_count;                            /* guarded by lock; of all */
};

ULONG probe_provider_open(struct probe_provider *provider);
void probe_provider_close(struct probe_provider *provider);
/* The last callback; false: there was none. */
bool probe_provider_last(struct probe_provider *provider, struct probe_callback *callback);
/* An event of level 4, keyword 1 and a number as payload. */
ULONG probe_provider_write(struct probe_provider *provider, uint32_t number);

/* Enables the provider and waits for its callback. */
ULONG probe_enable(const struct probe_session *session, const GUID *provider, ULONG code,
		   UCHAR level, ULONGLONG any, ULONGLONG all);

/* ---- probes ---- */

#define PROBE(name) void name(struct kit_finding *finding);
PROBE(probe_start_arguments)
PROBE(probe_long_name)
PROBE(probe_buffer_numbers)
PROBE(probe_modes)
PROBE(probe_log_user)
PROBE(probe_ninth_logger)
PROBE(probe_logger_guid)
PROBE(probe_flags_of_user_session)
PROBE(probe_profile)
PROBE(probe_handles)
PROBE(probe_name_room)
PROBE(probe_update)
PROBE(probe_open_nothing)
PROBE(probe_masks_of_user_session)
PROBE(probe_snapshot_size)
PROBE(probe_snapshot_lists)
PROBE(probe_query_guid)
PROBE(probe_independent)
PROBE(probe_masks_stay)
PROBE(probe_two_consumers)
PROBE(probe_capture)
PROBE(probe_union)
PROBE(probe_capture_nothing)
PROBE(probe_stop_disables)
PROBE(probe_enable_control_guid)
PROBE(probe_enable_gone)
PROBE(probe_filter_sizes)
PROBE(probe_items)
PROBE(probe_system_provider)
PROBE(probe_system_profile)
PROBE(probe_rundown_once)
PROBE(probe_file_names)
PROBE(probe_system_config)
PROBE(probe_our_modes)
PROBE(probe_query_all)
PROBE(probe_filter_data)
PROBE(probe_changes)
PROBE(probe_own_stop)
PROBE(probe_session_end)
PROBE(probe_empty_payload)
PROBE(probe_enabled_is_reported)
#undef PROBE

#endif
