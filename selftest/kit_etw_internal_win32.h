/* SPDX-License-Identifier: MIT */
/*
 * The files kit_etw_*_win32.c share these: sessions, consumers and a provider of the kit, and
 * functions by which a probe reports what it saw.
 */
#ifndef SELFTEST_KIT_ETW_INTERNAL_WIN32_H
#define SELFTEST_KIT_ETW_INTERNAL_WIN32_H

#include "lib/live/live_source_internal_win32.h"
#include "selftest/kit_etw.h"

enum { PROBE_SESSIONS = 8 };

/* ---- reports of a probe ---- */

/* Adds "; " and the text to finding->seen. */
void finding_say(struct kit_finding *finding, const char *format, ...) ETW_PRINTF_LIKE(2, 3);
/* Confirms the assumption if `holds` and nothing has refuted it before; refutes it if not. Adds the
 * text in either case. */
void finding_check(struct kit_finding *finding, bool holds, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);
/* Checks that the status of a call is the expected one. */
void finding_status(struct kit_finding *finding, const char *what, ULONG expected, ULONG status);
/* A step that the probe needs failed: the assumption is not tested, even if it was confirmed
 * before. */
void finding_skip(struct kit_finding *finding, const char *what, ULONG status);

/* ---- sessions ---- */

struct probe_session {
	TRACEHANDLE handle;                   /* 0: does not run */
	struct session_properties properties; /* as Windows returned them last */
	WCHAR name[SESSION_NAME_MAX];
};

/* Zeros have the same meaning as in EVENT_TRACE_PROPERTIES, except that mode 0 means real time. */
struct probe_settings {
	ULONG mode;
	ULONG flags;
	ULONG buffer_kb, buffers_min, buffers_max;
	bool no_guid;
};

/* The mode of a private logger of kernel events. */
#define PROBE_SYSTEM (EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE)

/* Fills in name and properties of probe session `number` (1 to PROBE_SESSIONS), for a start. */
void probe_prepare(struct probe_session *session, unsigned number,
		   const struct probe_settings *settings);
/* Starts a prepared session. */
ULONG probe_start_prepared(struct probe_session *session);
/* Prepares and starts a session. A leftover session of that name is stopped first. */
ULONG probe_start(struct probe_session *session, unsigned number,
		  const struct probe_settings *settings);
ULONG probe_control(struct probe_session *session, ULONG code);
/* Stops the session; does nothing if it does not run. */
ULONG probe_stop(struct probe_session *session);

/* Enables or disables SeSystemProfilePrivilege. Returns false if the account does not have it. */
bool probe_profile_privilege(bool on);

/* Reads the group masks of a system logger. */
ULONG probe_masks(TRACEHANDLE session, ULONG masks[KERNEL_MASKS]);

/* ---- consumers ---- */

typedef void probe_on_record(void *context, const EVENT_RECORD *record);

struct probe_consumer {
	probe_on_record *on_record; /* runs on the consumer's thread; NULL: records are counted */
	void *context;
	uint64_t records; /* guarded by lock */
	bool ended;       /* guarded by lock */
	ULONG status;     /* returned by ProcessTrace(), once it has ended */
	TRACEHANDLE trace;
	struct os_mutex lock;
	struct os_condition changed;
	struct os_thread thread;
	bool runs;
};

/* Opens the trace and starts the thread. Returns the status of OpenTraceW(). The caller owns
 * *consumer, sets on_record and context, and keeps it until probe_consumer_end(). */
ULONG probe_consume(struct probe_consumer *consumer, const WCHAR *session);
/* Waits until the consumer has ended, which it does when its session is stopped. After some seconds
 * its trace is closed. Returns false if it had not ended by itself before that. */
bool probe_consumer_end(struct probe_consumer *consumer);

/* Calls until() every few milliseconds, for at most `ms`. Returns false if it never returned
 * true. */
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
	struct probe_callback callbacks[PROBE_CALLBACKS]; /* guarded by lock; the first calls */
	size_t callback_count;                            /* guarded by lock; number of all calls */
};

ULONG probe_provider_open(struct probe_provider *provider);
void probe_provider_close(struct probe_provider *provider);
/* Returns the last call of the enable callback. Returns false if there was none. */
bool probe_provider_last(struct probe_provider *provider, struct probe_callback *callback);
/* Writes an event of level 4 and keyword 1 whose payload is a number. */
ULONG probe_provider_write(struct probe_provider *provider, uint32_t number);

/* Enables the provider and waits for its callback. */
ULONG probe_enable(const struct probe_session *session, const GUID *provider, ULONG code,
		   UCHAR level, ULONGLONG any, ULONGLONG all);

/* ---- probes of providers and records (kit_etw_records_win32.c) ---- */

#define PROBE(name) void name(struct kit_finding *finding);
PROBE(probe_two_consumers)
PROBE(probe_capture)
PROBE(probe_union)
PROBE(probe_capture_nothing)
PROBE(probe_stop_disables)
PROBE(probe_enable_control_guid)
PROBE(probe_enable_gone)
PROBE(probe_disable_filters)
PROBE(probe_filter_sizes)
PROBE(probe_items)
PROBE(probe_system_provider)
PROBE(probe_system_profile)
PROBE(probe_rundown_once)
PROBE(probe_file_names)
PROBE(probe_names_alone)
PROBE(probe_system_config)
PROBE(probe_filter_data)
PROBE(probe_changes)
PROBE(probe_own_stop)
PROBE(probe_session_end)
PROBE(probe_empty_payload)
PROBE(probe_enabled_is_reported)
#undef PROBE

#endif
