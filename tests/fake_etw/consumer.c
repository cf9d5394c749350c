/* SPDX-License-Identifier: MIT */
/*
 * OpenTraceW, ProcessTrace, CloseTrace.
 *
 * ProcessTrace merges the buffers it has by time, but holds an event back while an open buffer of
 * another processor still has an older one: that is how ETW keeps the order, and why an event can
 * wait for a flush that other processors need. With disorder it goes by the later times that
 * buffers.c gives to events instead. Each record, its items and its payload are copies of
 * their own that are freed behind the callback, so that a sanitizer sees who keeps or overruns
 * them.
 */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

/* RT_LostEvent ("RT_LostEvent class", Microsoft Learn). */
static const GUID lost_event_guid = {
	0x6a399ae0, 0x4bc6, 0x4de9, { 0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e }
};
enum { LOST_EVENT = 32, LOST_BUFFER = 33 };

/* A buffer that is being delivered, and how far. */
struct open_buffer {
	struct fake_buffer *buffer;
	size_t offset;
};

struct delivery {
	struct fake_trace *trace;
	struct open_buffer *open;
	size_t count;
	size_t capacity;
};

static struct fake_trace *trace_of(TRACEHANDLE handle)
{
	for (size_t i = 0; i < FAKE_TRACES; i++) {
		if (handle != 0 && fake.traces[i].handle == handle) {
			return &fake.traces[i];
		}
	}
	return NULL;
}

void fake_consumer_queue(struct fake_session *session, struct fake_buffer *buffer)
{
	for (size_t i = 0; i < FAKE_TRACES; i++) {
		struct fake_trace *trace = &fake.traces[i];

		if (trace->processing && trace->session == session->handle && !trace->closing) {
			fake_queue_add(&trace->queue, buffer);
			if (fake_otherwise("C19")) {
				return;
			}
		}
	}
}

void fake_consumer_session_gone(uint64_t session)
{
	for (size_t i = 0; i < FAKE_TRACES; i++) {
		if (fake.traces[i].processing && fake.traces[i].session == session) {
			fake.traces[i].session_gone = true;
		}
	}
	os_condition_wake_all(&fake.changed);
}

unsigned fake_consumer_count(const struct fake_session *session)
{
	unsigned count = 0;

	for (size_t i = 0; i < FAKE_TRACES; i++) {
		count += fake.traces[i].processing && fake.traces[i].session == session->handle &&
			 !fake.traces[i].closing;
	}
	return count;
}

/* --- one record --- */

/* NULL when there is nothing to copy. */
static void *copy_of(const void *bytes, size_t size)
{
	void *copy = NULL;

	if (size > 0) {
		copy = malloc(size);
		if (!copy) {
			abort();
		}
		memcpy(copy, bytes, size);
	}
	return copy;
}

static void forget(void *bytes, size_t size)
{
	if (bytes) {
		memset(bytes, 0xdd, size);
		free(bytes);
	}
}

/* A call of EventRecordCallback. */
struct call {
	const struct fake_trace *trace;
	EVENT_RECORD *record;
};

static void call_record(void *context)
{
	const struct call *call = context;

	call->trace->log.EventRecordCallback(call->record);
}

static void call_buffer(void *context)
{
	struct fake_trace *trace = context;

	trace->wants_more = trace->log.BufferCallback(&trace->log);
}

/* False when the callback faults. */
static bool deliver(const struct fake_trace *trace, const struct fake_stored *stored, int64_t time)
{
	EVENT_HEADER_EXTENDED_DATA_ITEM *items = NULL;
	const uint8_t *at = (const uint8_t *)(stored + 1);
	EVENT_RECORD *record = calloc(1, sizeof(*record));
	struct call call = { trace, record };
	bool done = true;
	void *payload = copy_of(at + stored->items_size, stored->payload_size);
	static uint8_t nothing;

	if (!record) {
		abort();
	}
	record->EventHeader = stored->header;
	record->EventHeader.TimeStamp.QuadPart = time;
	record->BufferContext = stored->context;
	record->UserContext = trace->log.Context;
	record->UserData = payload || !fake_otherwise("C12a") ? payload : &nothing;
	record->UserDataLength = stored->payload_size;
	if (stored->item_count > 0) {
		items = calloc(stored->item_count, sizeof(*items));
		if (!items) {
			abort();
		}
	}
	for (unsigned i = 0; i < stored->item_count; i++) {
		struct fake_item item;

		memcpy(&item, at, sizeof(item));
		items[i].ExtType = item.type;
		items[i].Linkage = i + 1u < stored->item_count;
		items[i].DataSize = item.size;
		items[i].DataPtr = (ULONGLONG)(ULONG_PTR)copy_of(at + sizeof(item),
								 item.missing ? 0 : item.size);
		at += sizeof(item) + item.padded;
	}
	record->ExtendedData = items;
	record->ExtendedDataCount = stored->item_count;
	if (trace->kept) {
		fake_keep(trace->kept, record);
	}
	if (trace->log.EventRecordCallback) {
		done = fake_guard(call_record, &call);
	}
	for (unsigned i = 0; i < stored->item_count; i++) {
		forget((void *)(ULONG_PTR)items[i].DataPtr, items[i].DataSize);
	}
	forget(items, stored->item_count * sizeof(*items));
	forget(payload, stored->payload_size);
	forget(record, sizeof(*record));
	return done;
}

static bool deliver_loss(const struct fake_trace *trace, const struct fake_stored *next,
			 int64_t time, UCHAR opcode)
{
	struct fake_stored stored = { .size = sizeof(stored), .context = next->context };

	stored.header.Size = FAKE_EVENT_HEADER;
	stored.header.Flags = EVENT_HEADER_FLAG_CLASSIC_HEADER | EVENT_HEADER_FLAG_64_BIT_HEADER;
	stored.header.ProviderId = lost_event_guid;
	stored.header.EventDescriptor.Opcode = opcode;
	return deliver(trace, &stored, time);
}

/* --- a batch of buffers --- */

/* The open buffer with the oldest event; NULL when there is none. */
static struct open_buffer *oldest(struct delivery *delivery)
{
	struct open_buffer *best = NULL;
	const struct fake_stored *first = NULL;

	for (size_t i = 0; i < delivery->count; i++) {
		struct open_buffer *open = &delivery->open[i];
		const struct fake_stored *stored = fake_buffer_at(open->buffer, open->offset);

		if (!best || stored->due < first->due ||
		    (stored->due == first->due && stored->order < first->order)) {
			best = open;
			first = stored;
		}
	}
	return best;
}

/* What the lock protects, for one round outside it. */
struct round {
	int64_t watermark;
	uint64_t settled;
	int64_t start_raw; /* to convert times without the session */
	bool loss;
	bool buffer_loss;
};

/* With the lock: takes what is queued, and what is known about it. */
static void take_round(struct delivery *delivery, struct round *round)
{
	struct fake_trace *trace = delivery->trace;
	struct fake_session *session = fake_session_by_handle(trace->session);

	for (size_t i = 0; i < trace->queue.count; i++) {
		if (delivery->count == delivery->capacity) {
			size_t capacity = delivery->capacity ? delivery->capacity * 2 : 64;
			struct open_buffer *open =
				realloc(delivery->open, capacity * sizeof(*open));

			if (!open) {
				abort();
			}
			delivery->open = open;
			delivery->capacity = capacity;
		}
		delivery->open[delivery->count++] =
			(struct open_buffer){ trace->queue.buffers[i], 0 };
	}
	trace->queue.count = 0; /* the references are the delivery's now */
	round->watermark = INT64_MAX;
	round->settled = 0;
	round->loss = false;
	round->buffer_loss = false;
	if (session) {
		if (!trace->closing && !trace->session_gone) {
			round->watermark = fake_buffer_watermark(session);
			round->settled = session->settled;
		}
		round->loss = session->lost > trace->lost_reported;
		round->buffer_loss = session->realtime_lost > trace->buffers_lost_reported;
	}
}

static void losses_reported(struct fake_trace *trace)
{
	const struct fake_session *session = fake_session_by_handle(trace->session);

	if (session) {
		trace->lost_reported = session->lost;
		trace->buffers_lost_reported = session->realtime_lost;
	}
}

/* Behind the last event of a buffer. Returns the error that ends ProcessTrace, or 0. */
static uint32_t buffer_end(struct delivery *delivery, struct open_buffer *open)
{
	struct fake_trace *trace = delivery->trace;
	struct fake_buffer *buffer = open->buffer;
	struct fake_session *session;

	trace->log.BuffersRead++;
	trace->log.Filled = buffer->used;
	fake_lock();
	session = fake_session_by_handle(buffer->session);
	if (session && buffer->references == 1) {
		session->delivered += buffer->events;
	}
	fake_buffer_release(buffer);
	os_condition_wake_all(&fake.changed);
	fake_unlock();
	*open = delivery->open[--delivery->count];
	trace->wants_more = true;
	if (trace->log.BufferCallback && !fake_guard(call_buffer, trace)) {
		return ERROR_NOACCESS;
	}
	return trace->wants_more ? 0 : ERROR_CANCELLED;
}

static uint32_t deliver_round(struct delivery *delivery, struct round *round,
			      const struct fake_session *clock)
{
	struct fake_trace *trace = delivery->trace;
	struct open_buffer *open;

	while ((open = oldest(delivery)) != NULL) {
		const struct fake_stored *stored = fake_buffer_at(open->buffer, open->offset);
		int64_t raw = stored->header.TimeStamp.QuadPart;
		int64_t time = fake_clock_to_time(clock, raw);
		int64_t report_time = trace->raw ? raw : time;

		if ((stored->due > round->watermark && stored->order >= round->settled) ||
		    trace->held) {
			return 0;
		}
		trace->log.CurrentTime = time;
		if (round->loss || round->buffer_loss) {
			if ((round->loss &&
			     !deliver_loss(trace, stored, report_time, LOST_EVENT)) ||
			    (round->buffer_loss &&
			     !deliver_loss(trace, stored, report_time, LOST_BUFFER))) {
				return ERROR_NOACCESS;
			}
			round->loss = round->buffer_loss = false;
			fake_lock();
			losses_reported(trace);
			fake_unlock();
		}
		if (!deliver(trace, stored, report_time)) {
			return ERROR_NOACCESS;
		}
		open->offset += stored->size;
		if (open->offset >= open->buffer->stored_size) {
			uint32_t error = buffer_end(delivery, open);

			if (error != 0) {
				return error;
			}
		}
		if (trace->end_with != 0) {
			return trace->end_with;
		}
	}
	return 0;
}

/* --- the calls --- */

/* With the lock. Blocks until there is something to do; false: the end. */
static bool wait_for_buffers(struct delivery *delivery)
{
	struct fake_trace *trace = delivery->trace;

	for (;;) {
		struct fake_session *session = fake_session_by_handle(trace->session);
		uint64_t now = fake_clock_monotonic_ns();
		uint64_t due = UINT64_MAX;

		if (trace->end_with != 0) {
			return false;
		}
		if (trace->task) {
			fake_run_task(trace);
			continue;
		}
		if (session && !trace->session_gone && !trace->closing) {
			fake_buffer_tick(session, now);
			due = fake_buffer_due_ns(session);
		}
		if (trace->held) {
			os_condition_wait(&fake.changed, &fake.lock, 100000000);
			continue;
		}
		if (trace->queue.count > 0) {
			return true;
		}
		if (delivery->count > 0) { /* held back: may they go now? */
			struct open_buffer *open = oldest(delivery);
			const struct fake_stored *stored =
				fake_buffer_at(open->buffer, open->offset);

			if (!session || trace->session_gone || trace->closing ||
			    stored->due <= fake_buffer_watermark(session) ||
			    stored->order < session->settled) {
				return true;
			}
		} else if (trace->closing ||
			   ((!session || trace->session_gone) && !fake_otherwise("C9a"))) {
			return false;
		}
		os_condition_wait(&fake.changed, &fake.lock,
				  due > now ? (due - now < 100000000 ? due - now : 100000000) :
					      1000000);
	}
}

/* With the lock, which is released while callbacks run. */
static uint32_t process(struct fake_trace *trace, struct fake_session *session)
{
	struct delivery delivery = { .trace = trace };
	struct fake_session clock = { .clock = session->clock,
				      .start_raw = session->start_raw,
				      .start_time = session->start_time };
	struct round round;
	uint32_t error = 0;

	fake_guard_begin();
	trace->processing = true;
	trace->session_gone = false;
	trace->end_with = 0;
	trace->held = false;
	trace->session = session->handle;
	trace->lost_reported = 0;
	trace->buffers_lost_reported = 0;
	trace->log.BufferSize = session->buffer_size_kb * 1024;
	for (size_t i = 0; i < session->playback.count; i++) {
		fake_queue_add(&trace->queue, session->playback.buffers[i]);
	}
	fake_queue_done(&session->playback);
	os_condition_wake_all(&fake.changed);
	while (error == 0 && wait_for_buffers(&delivery)) {
		take_round(&delivery, &round);
		fake_unlock();
		error = deliver_round(&delivery, &round, &clock);
		fake_lock();
	}
	if (trace->end_with != 0) {
		error = trace->end_with;
	}
	for (size_t i = 0; i < delivery.count; i++) {
		fake_buffer_release(delivery.open[i].buffer);
	}
	free(delivery.open);
	fake_queue_done(&trace->queue);
	trace->processing = false;
	trace->task = NULL;
	trace->kept = NULL;
	if (trace->closing) {
		*trace = (struct fake_trace){ 0 };
	}
	os_condition_wake_all(&fake.changed);
	return error;
}

static void fill_header(const struct fake_session *session, EVENT_TRACE_LOGFILEW *log)
{
	TRACE_LOGFILE_HEADER *header = &log->LogfileHeader;

	memset(header, 0, sizeof(*header));
	header->BufferSize = session->buffer_size_kb * 1024;
	header->VersionDetail.MajorVersion = 10;
	header->ProviderVersion = fake.options.os_build;
	header->NumberOfProcessors = fake.options.processors;
	header->LogFileMode = session->mode;
	header->PointerSize = 8;
	header->ReservedFlags = fake_otherwise("C3a") ? 0 : session->clock;
	if (fake.options.bare_log_header) {
		return;
	}
	header->TimerResolution = 156250;
	header->CpuSpeedInMHz = 2400;
	header->StartBuffers = 1;
	header->BuffersWritten = session->written;
	header->EventsLost = (ULONG)session->lost;
	header->PerfFreq.QuadPart = fake_clock_frequency();
	header->BootTime.QuadPart = fake_clock_boot_time();
	header->StartTime.QuadPart = session->start_time;
}

static uint32_t open_trace(PEVENT_TRACE_LOGFILEW log, TRACEHANDLE *handle)
{
	struct fake_session *session;
	struct fake_trace *trace = NULL;

	if (!log) {
		return ERROR_INVALID_PARAMETER;
	}
	if (!log->LoggerName) {
		return ERROR_BAD_PATHNAME; /* recordings are for our own reader */
	}
	if (log->LogFileName || (log->ProcessTraceMode & PROCESS_TRACE_MODE_REAL_TIME) == 0) {
		return ERROR_INVALID_PARAMETER;
	}
	if ((log->ProcessTraceMode & PROCESS_TRACE_MODE_EVENT_RECORD) == 0) {
		fake_refuse("OpenTraceW", "consumers without PROCESS_TRACE_MODE_EVENT_RECORD");
		return ERROR_NOT_SUPPORTED;
	}
	if (fake.options.rights == FAKE_ETW_NO_RIGHTS) {
		return ERROR_ACCESS_DENIED;
	}
	session = fake_session_by_name(log->LoggerName);
	if (!session) {
		return ERROR_WMI_INSTANCE_NOT_FOUND;
	}
	for (size_t i = 0; i < FAKE_TRACES && !trace; i++) {
		trace = fake.traces[i].handle == 0 ? &fake.traces[i] : NULL;
	}
	if (!trace) {
		return ERROR_NO_SYSTEM_RESOURCES;
	}
	fill_header(session, log);
	log->BuffersRead = 0;
	log->CurrentTime = 0;
	*trace = (struct fake_trace){ .log = *log };
	trace->handle = ++fake.next_handle << 16 | 0x8000u;
	trace->raw = (log->ProcessTraceMode & PROCESS_TRACE_MODE_RAW_TIMESTAMP) != 0;
	memcpy(trace->name, session->name, sizeof(trace->name));
	trace->log.LoggerName = trace->name;
	*handle = trace->handle;
	return 0;
}

TRACEHANDLE WMIAPI OpenTraceW(PEVENT_TRACE_LOGFILEW log)
{
	TRACEHANDLE handle = INVALID_PROCESSTRACE_HANDLE;
	uint32_t error = fake_enter(CALL_OpenTraceW);

	if (error == 0) {
		error = open_trace(log, &handle);
	}
	fake_unlock();
	if (error != 0) {
		SetLastError(error);
	}
	return handle;
}

static uint64_t of_file_time(const FILETIME *time)
{
	return (uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime;
}

static uint32_t process_trace(PTRACEHANDLE handles, ULONG count, LPFILETIME start, LPFILETIME end)
{
	struct fake_trace *trace;
	struct fake_session *session;

	if (!handles) {
		return ERROR_INVALID_PARAMETER;
	}
	if (count == 0 || count > 64) {
		return ERROR_BAD_LENGTH;
	}
	if (start && end && of_file_time(end) < of_file_time(start)) {
		return ERROR_INVALID_TIME;
	}
	for (ULONG i = 0; i < count; i++) {
		trace = trace_of(handles[i]);
		if (!trace || trace->closing || trace->processing) {
			return ERROR_INVALID_HANDLE;
		}
	}
	if (count > 1) {
		return ERROR_WMI_ALREADY_ENABLED;
	}
	if (start || end) {
		fake_refuse("ProcessTrace", "start and end times");
		return ERROR_NOT_SUPPORTED;
	}
	trace = trace_of(handles[0]);
	session = fake_session_by_name(trace->name);
	if (!session || (session->mode & EVENT_TRACE_REAL_TIME_MODE) == 0) {
		return ERROR_WMI_INSTANCE_NOT_FOUND;
	}
	trace->priority = GetThreadPriority(GetCurrentThread());
	return process(trace, session);
}

int fake_etw_consumer_priority(const char *name)
{
	const struct fake_session *session;
	int priority = THREAD_PRIORITY_ERROR_RETURN;

	fake_lock();
	session = fake_session_by_utf8(name);
	for (size_t i = 0; session && i < FAKE_TRACES; i++) {
		if (fake.traces[i].processing && fake.traces[i].session == session->handle) {
			priority = fake.traces[i].priority;
		}
	}
	fake_unlock();
	return priority;
}

ULONG WMIAPI ProcessTrace(PTRACEHANDLE handles, ULONG count, LPFILETIME start, LPFILETIME end)
{
	uint32_t error = fake_enter(CALL_ProcessTrace);

	if (error == 0) {
		error = process_trace(handles, count, start, end);
	}
	fake_unlock();
	return error;
}

ULONG WMIAPI CloseTrace(TRACEHANDLE handle)
{
	uint32_t error = fake_enter(CALL_CloseTrace);
	struct fake_trace *trace;

	if (error != 0) {
		fake_unlock();
		return error;
	}
	trace = handle == INVALID_PROCESSTRACE_HANDLE ? NULL : trace_of(handle);
	if (!trace || trace->closing) {
		error = ERROR_INVALID_HANDLE;
	} else if (trace->processing) {
		trace->closing = true;
		if (fake.options.close_drops) {
			fake_queue_done(&trace->queue);
		}
		error = ERROR_CTX_CLOSE_PENDING;
		os_condition_wake_all(&fake.changed);
	} else {
		*trace = (struct fake_trace){ 0 };
	}
	fake_unlock();
	return error;
}

IMPORTED(OpenTraceW);
IMPORTED(ProcessTrace);
IMPORTED(CloseTrace);
