/* SPDX-License-Identifier: MIT */
/*
 * Consumes a session: every EVENT_RECORD becomes a struct etw_record and goes to the sink. Between
 * two buffers the sink gets the facts that the snapshot has found meanwhile (snapshot_win32.c).
 *
 * Windows delivers extended items as an array of pointers, and a struct etw_record has them as
 * they are in recordings. So they are copied into that form, into one buffer that is reused for
 * each event, and all readers of items know one form only. Nearly all events have no items and cost
 * nothing. Sizes and counts of an EVENT_RECORD come from the program that wrote the event: an item
 * that does not fit is left out and counted.
 *
 * Windows merges the buffers of all processors, but the buffer of a quiet one may come up to a
 * flush interval late. Records that are older than an earlier record are counted, and delivered.
 *
 * ProcessTrace() catches exceptions of callbacks, and returns ERROR_NOACCESS. The work of the
 * callback is then incomplete, and a lock may still be held. So a fault in a callback ends the
 * process (os_use_fault_flag()). If ProcessTrace() caught it nevertheless, on_fault() is called
 * before any of our data is used.
 *
 * ProcessTrace() runs on the consumer thread until the session ends. Another thread makes it return
 * by closing the trace; `closed` makes sure that the trace is closed once.
 *
 * Source: "EVENT_RECORD structure", "EVENT_HEADER structure", "ProcessTrace function", Microsoft
 * Learn; docs/etl-format.md section 9.
 */
#include <string.h>

#include <etw/kernel.h>

#include "lib/live/live_source_internal_win32.h"
#include "lib/live/session_changes.h"

enum { ITEM_HEADER = 8, COUNTS_100NS = 10000000 };

#define ATTACHED_NS (UINT64_C(200) * 1000 * 1000)

static const uint8_t no_payload[8];

/* ---- one event ---- */

static void store_u16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value & 0xff);
	at[1] = (uint8_t)(value >> 8 & 0xff);
}

static void read_items(struct live *live, const EVENT_RECORD *from, struct etw_record *record)
{
	size_t size = 0;
	uint8_t *last = NULL;

	for (unsigned i = 0; i < from->ExtendedDataCount; i++) {
		const EVENT_HEADER_EXTENDED_DATA_ITEM *item = &from->ExtendedData[i];
		size_t item_size = ITEM_HEADER + (((size_t)item->DataSize + 7) & ~(size_t)7);
		uint8_t *to = live->items + size;

		if (item_size > UINT16_MAX || item_size > LIVE_ITEMS_BYTES - size ||
		    (item->DataPtr == 0 && item->DataSize > 0)) {
			live->bad_records++;
			continue;
		}
		store_u16(to, item_size);
		store_u16(to + 2, item->ExtType);
		store_u16(to + 4, 0);
		store_u16(to + 6, item->DataSize);
		if (item->DataSize > 0) {
			memcpy(to + ITEM_HEADER, (const void *)(uintptr_t)item->DataPtr,
			       item->DataSize);
		}
		if (last) {
			store_u16(last + 4, 1); /* another item follows */
		}
		last = to;
		size += item_size;
	}
	if (size > 0) {
		record->extended = live->items;
		record->extended_size = (uint32_t)size;
	}
}

/* Passes on a report about one of our sessions, with the name that the sink has for the process. */
static NOINLINE void observe_change(const struct live *live, const struct etw_record *record)
{
	const struct etw_event_sink *sink = live->sink;

	session_changes_observe(live->options.changes, record, GetCurrentProcessId(),
				sink->process_name ? sink->process_name(sink->context) : NULL);
}

/*
 * At the performance counter's frequency under Windows 10 and later (10 MHz), a time differs from
 * its raw time by a constant. This computes the constant, and the range of raw times that cannot
 * overflow.
 */
void consume_use_clock(struct live *live, const struct etw_source_clock *clock)
{
	static const int64_t most = INT64_MAX / 2;

	live->clock = *clock;
	live->even_count = 0;
	if (clock->frequency == COUNTS_100NS && clock->anchor_raw >= 0 &&
	    clock->anchor_raw < most && clock->anchor_time >= 0 && clock->anchor_time < most) {
		live->even_first = clock->anchor_raw;
		live->even_count = (uint64_t)(most - clock->anchor_raw);
		live->even_distance = clock->anchor_time - clock->anchor_raw;
	}
}

static inline int64_t time_of(const struct live *live, int64_t raw)
{
	return (uint64_t)raw - (uint64_t)live->even_first < live->even_count ?
		       raw + live->even_distance :
		       etw_clock_time(&live->clock, raw);
}

static RARE void set_no_payload(struct etw_record *record)
{
	record->payload = no_payload;
	record->payload_size = 0;
}

/* Reads the members that all headers have. */
static inline void read_common(struct etw_record *record, const EVENT_RECORD *from)
{
	const EVENT_HEADER *header = &from->EventHeader;

	/* GUID has the same 16 bytes as struct etw_guid and a stricter alignment. */
	record->provider = (const struct etw_guid *)(const void *)&header->ProviderId;
	record->thread_id = header->ThreadId;
	record->process_id = header->ProcessId;
	record->processor = header->Flags & EVENT_HEADER_FLAG_PROCESSOR_INDEX ?
				    from->BufferContext.ProcessorIndex :
				    from->BufferContext.ProcessorNumber;
	record->level = header->EventDescriptor.Level;
	record->cpu_times =
		header->Flags & (EVENT_HEADER_FLAG_NO_CPUTIME | EVENT_HEADER_FLAG_PRIVATE_SESSION) ?
			ETW_RECORD_NO_CPU_TIMES :
			header->ProcessorTime;
	record->payload = from->UserData;
	record->payload_size = from->UserDataLength;
	if (!record->payload) {
		set_no_payload(record);
	}
}

/* Reads the members for a classic event, in which the others have no meaning. */
static inline void read_classic(struct etw_record *record, const EVENT_HEADER *header)
{
	const EVENT_DESCRIPTOR *descriptor = &header->EventDescriptor;

	record->class_key = record_class_key(0, descriptor->Version, descriptor->Opcode,
					     consume_pointer_size(header->Flags), ETW_RECORD_FULL,
					     true, ETW_RECORD_NO_GROUP);
	record->task = 0;
	record->channel = 0;
	record->keyword = 0;
	record->activity = NULL;
}

static inline void read_described(struct etw_record *record, const EVENT_HEADER *header)
{
	const EVENT_DESCRIPTOR *descriptor = &header->EventDescriptor;
	enum etw_record_type type =
		header->Flags & EVENT_HEADER_FLAG_TRACE_MESSAGE ? ETW_RECORD_MESSAGE :
		header->Flags & EVENT_HEADER_FLAG_STRING_ONLY   ? ETW_RECORD_STRING :
								  ETW_RECORD_EVENT;

	record->class_key = record_class_key(descriptor->Id, descriptor->Version,
					     descriptor->Opcode,
					     consume_pointer_size(header->Flags), type, false,
					     ETW_RECORD_NO_GROUP);
	record->task = descriptor->Task;
	record->channel = descriptor->Channel;
	record->keyword = descriptor->Keyword;
	record->activity = (const struct etw_guid *)(const void *)&header->ActivityId;
}

static NOINLINE void deliver_with_items(struct live *live, const EVENT_RECORD *from)
{
	struct etw_record *record = &live->record;

	read_items(live, from, record);
	live->sink->on_event(live->sink->context, record);
	record->extended = NULL;
	record->extended_size = 0;
}

static inline void deliver(struct live *live, const EVENT_RECORD *from)
{
	const EVENT_HEADER *header = &from->EventHeader;
	int64_t raw_time = header->TimeStamp.QuadPart;
	struct etw_record *record = &live->record;

	read_common(record, from);
	record->raw_time = raw_time;
	record->time = time_of(live, raw_time);
	record->index = live->records++;
	if (header->Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) {
		read_classic(record, header);
		if (header->EventDescriptor.Opcode == ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN &&
		    known_is_file_name(header)) {
			live->names[ETW_NAMES_RUNDOWN_PROVIDER]++;
		}
	} else {
		read_described(record, header);
		if (live->canary) {
			canaries_arrival(live, record);
		}
	}
	known_deliver_due(live, raw_time);
	if (raw_time >= live->newest_raw) {
		live->newest_raw = raw_time;
	} else {
		live->late_records++;
	}
	if (from->ExtendedDataCount > 0 && from->ExtendedData) {
		deliver_with_items(live, from);
	} else {
		live->sink->on_event(live->sink->context, record);
	}
	if (!record->classic && etw_guid_equal(record->provider, &session_changes_provider)) {
		observe_change(live, record);
	}
}

/* Callbacks call these two functions first and last. A fault between them is ours and ends the
 * process. */
static inline void enter_callback(struct live *live)
{
	live->in_callback = true;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void leave_callback(struct live *live)
{
	atomic_signal_fence(memory_order_seq_cst);
	live->in_callback = false;
}

/* Takes over a new anchor. Called between buffers, so that all times of a buffer use one anchor. */
static void take_anchor(struct live *live)
{
	/* Pairs with the release in anchor_when_due(). */
	if (!atomic_load_explicit(&live->anchored_anew, memory_order_acquire)) {
		return;
	}
	os_mutex_lock(&live->lock);
	consume_use_clock(live, &live->anchored);
	atomic_store_explicit(&live->anchored_anew, false, memory_order_relaxed);
	os_mutex_unlock(&live->lock);
}

static VOID WINAPI on_record(PEVENT_RECORD from)
{
	struct live *live = from->UserContext;

	enter_callback(live);
	deliver(live, from);
	leave_callback(live);
}

static ULONG WINAPI on_buffer(PEVENT_TRACE_LOGFILEW log_file)
{
	struct live *live = log_file->Context;

	enter_callback(live);
	live->buffers++;
	take_anchor(live);
	snapshot_choose(live);
	known_first_buffer(live);
	known_deliver_due(live, live->newest_raw);
	counters_delivered(live);
	snapshot_announce_changes(live);
	if (live->sink->on_buffer) {
		live->sink->on_buffer(live->sink->context);
	}
	leave_callback(live);
	return TRUE; /* FALSE would end ProcessTrace() */
}

/* ---- the trace ---- */

/* Uses the clock of a session that is attached to. type: that in the header of the trace. Returns
 * false if that is not possible; live->obstacle has the reason. */
static bool use_clock_of(struct live *live, ULONG type)
{
	struct etw_source_clock *clock = &live->source.facts.clock;

	live->obstacle = NULL;
	if (type == ETW_CLOCK_SYSTEM_TIME && !live->sink) {
		consume_system_clock(clock);
		consume_use_clock(live, clock);
	}
	/* 0: it is not reported; the performance counter is the default. */
	if (type != 0 && type != (ULONG)clock->type) {
		live->obstacle = type == ETW_CLOCK_CPU_CYCLE ?
					 "its clock is the cycle counter of the processor" :
					 "its clock is another one than at the start of the "
					 "program, or than the default if no such session ran "
					 "then; restart the program";
		return false;
	}
	return true;
}

ULONG consume_open(struct live *live)
{
	EVENT_TRACE_LOGFILEW log_file = { 0 };
	TRACEHANDLE trace;

	if (live->consuming) { /* only this thread sets it */
		return ERROR_SUCCESS;
	}
	log_file.LoggerName = live->wide_name;
	/* Use raw times, because payloads contain them too, and both must use the same clock. */
	log_file.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD |
				    PROCESS_TRACE_MODE_RAW_TIMESTAMP;
	log_file.EventRecordCallback = on_record;
	log_file.BufferCallback = on_buffer;
	log_file.Context = live;
	trace = OpenTraceW(&log_file);
	if (trace == INVALID_PROCESSTRACE_HANDLE) {
		ULONG status = GetLastError();

		return status == ERROR_SUCCESS ? ERROR_INVALID_HANDLE : status;
	}
	if (is_attached(live) && !use_clock_of(live, log_file.LogfileHeader.ReservedFlags)) {
		CloseTrace(trace);
		return ERROR_NOT_SUPPORTED;
	}
	os_mutex_lock(&live->lock);
	live->trace = trace;
	live->closed = false;
	live->consuming = true;
	live->real_time_lost = false;
	os_mutex_unlock(&live->lock);
	return ERROR_SUCCESS;
}

ULONG consume_trace(TRACEHANDLE trace)
{
	HANDLE thread = GetCurrentThread();
	int before = GetThreadPriority(thread);
	ULONG status;

	/* If this fails, the session is consumed at the priority that the thread has. */
	SetThreadPriority(thread, THREAD_PRIORITY_HIGHEST);
	status = ProcessTrace(&trace, 1, NULL, NULL);
	if (before != THREAD_PRIORITY_ERROR_RETURN) {
		SetThreadPriority(thread, before);
	}
	return status;
}

ULONG consume_run(struct live *live)
{
	TRACEHANDLE trace = live->trace;
	ULONG status;

	os_mutex_lock(&live->lock);
	if (live->flags_wait) {
		/* When the first buffer comes, Windows has attached the consumer. A session without
		 * events has none. */
		live->late_due_ns = os_monotonic_ns() + ATTACHED_NS;
		os_condition_wake_all(&live->changed);
	}
	os_mutex_unlock(&live->lock);
	counters_up(live, true);
	os_use_fault_flag(&live->in_callback);
	status = consume_trace(trace);
	if (status == ERROR_NOACCESS) {
		live->faulted = true;
		live->options.on_fault("an exception in a callback of ProcessTrace (error 998)");
	}
	os_use_fault_flag(NULL);
	counters_up(live, false);
	counters_delivered(live);
	return status;
}

void consume_abandon(struct live *live)
{
	bool close;
	TRACEHANDLE trace;

	os_mutex_lock(&live->lock);
	close = live->consuming && !live->closed;
	trace = live->trace;
	if (close) {
		live->closed = true;
	}
	os_mutex_unlock(&live->lock);
	if (close) {
		/* ERROR_CTX_CLOSE_PENDING means that ProcessTrace() returns a little later. */
		CloseTrace(trace);
	}
}

void consume_close(struct live *live)
{
	consume_abandon(live);
	os_mutex_lock(&live->lock);
	live->consuming = false;
	os_condition_wake_all(&live->changed);
	os_mutex_unlock(&live->lock);
}
