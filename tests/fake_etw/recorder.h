/* SPDX-License-Identifier: MIT */
/*
 * A plain program around the API, for tests of the fake itself: starts sessions and consumes one on
 * a thread, keeping what came.
 */
#ifndef FAKE_ETW_RECORDER_H
#define FAKE_ETW_RECORDER_H

#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"

/* Properties with room for two names behind them. */
struct recorder_properties {
	EVENT_TRACE_PROPERTIES base;
	WCHAR name[1025];
	WCHAR file[1025];
};

/* A real-time session: flags and GUID fit a system logger when system_logger is set. */
void recorder_properties(struct recorder_properties *properties, bool system_logger);

/* Starts a session with these properties; returns what StartTraceW does. */
ULONG recorder_start(const WCHAR *name, bool system_logger, ULONG flags, TRACEHANDLE *handle);
ULONG recorder_query(const WCHAR *name, struct recorder_properties *properties);
ULONG recorder_stop(const WCHAR *name);

enum { RECORDER_EVENTS = 4096, RECORDER_PAYLOAD = 64 };

struct recorded {
	EVENT_HEADER header;
	ETW_BUFFER_CONTEXT context;
	USHORT payload_size;
	bool has_payload; /* UserData is not NULL */
	uint8_t payload[RECORDER_PAYLOAD];
	USHORT item_count;
	USHORT item_types[8];
	USHORT item_sizes[8];
	uint64_t item_starts[8]; /* the first 8 bytes of each, or fewer */
};

struct recorder {
	TRACEHANDLE trace;
	EVENT_TRACE_LOGFILEW log;
	struct os_thread thread;
	struct os_mutex lock;
	ULONG result;       /* of ProcessTrace, after recorder_join() */
	unsigned cancel_at; /* BufferCallback returns FALSE at this buffer, from 1; 0: never */
	unsigned buffers;
	size_t count;
	struct recorded *events;         /* owned, RECORDER_EVENTS */
	void (*on_event)(void *context); /* or NULL: called on the consumer's thread */
	void *context;
};

/* Opens a trace; mode is added to real time and event records. Returns the error of OpenTraceW, or
 * 0. */
ULONG recorder_open(struct recorder *recorder, const WCHAR *name, ULONG mode);

/* Runs ProcessTrace on a thread of its own. */
void recorder_run(struct recorder *recorder);

/* Waits for it to return. */
ULONG recorder_join(struct recorder *recorder);

/* Any thread: how many events came so far. */
size_t recorder_count(struct recorder *recorder);

/* Waits until that many came; false after five seconds. */
bool recorder_wait(struct recorder *recorder, size_t count);

/* Enables SeSystemProfilePrivilege as a program does. Returns the last error. */
DWORD recorder_enable_profile_privilege(void);

/* Closes the trace if it is open, and frees what was kept. After recorder_join(). */
void recorder_close(struct recorder *recorder);

#endif
