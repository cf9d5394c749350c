/* SPDX-License-Identifier: MIT */
/*
 * A simple consumer for tests of the fake itself: starts sessions, consumes one of them on a
 * thread, and keeps the events.
 */
#ifndef FAKE_ETW_RECORDER_H
#define FAKE_ETW_RECORDER_H

#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"

/* Properties, followed by room for two names. */
struct recorder_properties {
	EVENT_TRACE_PROPERTIES base;
	WCHAR name[1025];
	WCHAR file[1025];
};

/* Fills in the properties of a real-time session; with the mode and a GUID of its own if it is a
 * system logger. */
void recorder_properties(struct recorder_properties *properties, bool system_logger);

/* Start a session with such properties, query it, and stop it. They return what StartTraceW and
 * ControlTraceW return. */
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
	ULONG result;       /* result of ProcessTrace, after recorder_join() */
	unsigned cancel_at; /* BufferCallback returns FALSE at this buffer, from 1; 0: never */
	unsigned buffers;
	size_t count;
	struct recorded *events;         /* owned, RECORDER_EVENTS */
	void (*on_event)(void *context); /* called on the consumer's thread; may be NULL */
	void *context;
};

/* Opens a trace in real time with event records; mode is added to that. Returns 0 or the error of
 * OpenTraceW. */
ULONG recorder_open(struct recorder *recorder, const WCHAR *name, ULONG mode);

/* Runs ProcessTrace on a thread of its own. */
void recorder_run(struct recorder *recorder);

/* Opens the trace, runs it, and waits until its consumer is connected to the session. Returns false
 * if the trace cannot be opened, or after WAIT_MS. */
bool recorder_consume(struct recorder *recorder, const WCHAR *name);

/* Waits until ProcessTrace returns, and returns its result. */
ULONG recorder_join(struct recorder *recorder);

/* Returns the number of events so far. Any thread may call it. */
size_t recorder_count(struct recorder *recorder);

/* Waits until that many events have come; returns false after WAIT_MS. */
bool recorder_wait(struct recorder *recorder, size_t count);

/* Enables SeSystemProfilePrivilege as a program does. Returns the last error. */
DWORD recorder_enable_profile_privilege(void);

/* Closes the trace if it is open, and frees the events. Call it after recorder_join(). */
void recorder_close(struct recorder *recorder);

/* Closes the trace, which ends its consumer, waits for that, and frees the events. */
void recorder_end(struct recorder *recorder);

#endif
