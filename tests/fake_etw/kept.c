/* SPDX-License-Identifier: MIT */
/*
 * Records that a session has delivered, kept to be delivered again.
 *
 * ProcessTrace of the fake makes each record anew and frees it behind the callback, which costs
 * several times what the callback costs. For measurements a session's records are therefore kept in
 * the form in which the callback gets them. A function of the program that measures then runs on
 * the consumer's thread, inside ProcessTrace, and calls the callbacks with the records that are
 * kept, as often as it likes. Nothing else is delivered meanwhile.
 *
 * A record that comes again happens later: it is stamped with another time. Payloads of kernel
 * events that begin with a time of the same clock (InitialTime of interrupts, page faults and
 * registry operations, EventTimeStamp of stacks) move with it, so that durations stay what they
 * were.
 */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

/* How long before its event a time in a payload may be, seconds. */
enum { EARLIER_S = 10 };

/* ---- keeping ---- */

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static bool begins_with_time(const EVENT_RECORD *record)
{
	int64_t time = record->EventHeader.TimeStamp.QuadPart, first;

	if (!(record->EventHeader.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) ||
	    record->UserDataLength < sizeof first) {
		return false;
	}
	memcpy(&first, record->UserData, sizeof first);
	return first > 0 && first <= time && time - first < EARLIER_S * fake_clock_frequency();
}

/* One block: the record, its items, their data, the payload. */
static struct fake_etw_kept_record *copy_record(const EVENT_RECORD *record)
{
	size_t items = record->ExtendedDataCount * sizeof *record->ExtendedData;
	size_t size = sizeof(struct fake_etw_kept_record) + items;
	struct fake_etw_kept_record *copy;
	uint8_t *at;

	for (unsigned i = 0; i < record->ExtendedDataCount; i++) {
		size += padded(record->ExtendedData[i].DataSize);
	}
	copy = malloc(size + padded(record->UserDataLength));
	if (!copy) {
		abort();
	}
	copy->record = *record;
	copy->begins_with_time = begins_with_time(record);
	at = (uint8_t *)(copy + 1);
	if (items > 0) {
		copy->record.ExtendedData = (EVENT_HEADER_EXTENDED_DATA_ITEM *)(void *)at;
		memcpy(at, record->ExtendedData, items);
		at += items;
	}
	for (unsigned i = 0; i < record->ExtendedDataCount; i++) {
		EVENT_HEADER_EXTENDED_DATA_ITEM *item = &copy->record.ExtendedData[i];

		if (item->DataPtr != 0) {
			memcpy(at, (const void *)(ULONG_PTR)item->DataPtr, item->DataSize);
			item->DataPtr = (ULONGLONG)(ULONG_PTR)at;
		}
		at += padded(item->DataSize);
	}
	if (record->UserData) {
		memcpy(at, record->UserData, record->UserDataLength);
		copy->record.UserData = at;
	}
	return copy;
}

void fake_keep(struct fake_etw_kept *kept, const EVENT_RECORD *record)
{
	if (kept->count == kept->capacity) {
		size_t capacity = kept->capacity ? 2 * kept->capacity : 1024;
		struct fake_etw_kept_record **records =
			realloc((void *)kept->records, capacity * sizeof(*records));

		if (!records) {
			abort();
		}
		kept->records = records;
		kept->capacity = capacity;
	}
	kept->records[kept->count++] = copy_record(record);
}

void fake_etw_kept_done(struct fake_etw_kept *kept)
{
	for (size_t i = 0; i < kept->count; i++) {
		free(kept->records[i]);
	}
	free((void *)kept->records);
	*kept = (struct fake_etw_kept){ 0 };
}

static struct fake_trace *trace_of_session(const char *name)
{
	const struct fake_session *session = fake_session_by_utf8(name);

	for (size_t i = 0; session && i < FAKE_TRACES; i++) {
		if (fake.traces[i].processing && fake.traces[i].session == session->handle) {
			return &fake.traces[i];
		}
	}
	return NULL;
}

bool fake_etw_keep(const char *name, struct fake_etw_kept *kept)
{
	struct fake_trace *trace;

	fake_lock();
	trace = trace_of_session(name);
	if (trace) {
		trace->kept = kept;
	}
	fake_unlock();
	return trace != NULL;
}

void fake_etw_restamp(struct fake_etw_kept_record *kept, int64_t raw_time)
{
	LARGE_INTEGER *time = &kept->record.EventHeader.TimeStamp;

	if (kept->begins_with_time) {
		int64_t first;

		memcpy(&first, kept->record.UserData, sizeof first);
		first += raw_time - time->QuadPart;
		memcpy(kept->record.UserData, &first, sizeof first);
	}
	time->QuadPart = raw_time;
}

size_t fake_etw_kept_buffer(const struct fake_etw_kept *kept, size_t from, size_t size)
{
	size_t used = FAKE_BUFFER_HEADER, to = from;

	while (to < kept->count) {
		used += padded(kept->records[to]->record.EventHeader.Size);
		if (to > from && used > size) {
			break;
		}
		to++;
	}
	return to;
}

/* ---- on the consumer's thread ---- */

struct fake_task {
	void (*run)(void *context, EVENT_TRACE_LOGFILEW *log_file);
	void *context;
	bool done;
};

void fake_run_task(struct fake_trace *trace)
{
	struct fake_task *task = trace->task;

	fake_unlock();
	task->run(task->context, &trace->log);
	fake_lock();
	task->done = true;
	trace->task = NULL;
	os_condition_wake_all(&fake.changed);
}

bool fake_etw_run_on_consumer(const char *name,
			      void (*run)(void *context, EVENT_TRACE_LOGFILEW *log_file),
			      void *context)
{
	struct fake_task task = { .run = run, .context = context };
	struct fake_trace *trace;

	fake_lock();
	trace = trace_of_session(name);
	if (trace && !trace->task) {
		trace->task = &task;
		os_condition_wake_all(&fake.changed);
		while (trace->task == &task) {
			os_condition_wait(&fake.changed, &fake.lock, 100000000);
		}
	}
	fake_unlock();
	return task.done;
}

/* ---- at a pace ---- */

struct pace {
	struct fake_etw_kept *kept;
	uint64_t rate; /* events a second */
	uint64_t length_ns;
	struct fake_etw_paced paced;
};

/* Stamps a buffer with the times at which its events happened, and delivers it. */
static void deliver_buffer(struct pace *pace, EVENT_TRACE_LOGFILEW *log_file, int64_t start,
			   size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		double ticks = (double)pace->paced.delivered++ / (double)pace->rate *
			       (double)fake_clock_frequency();

		fake_etw_restamp(pace->kept->records[i], start + (int64_t)ticks);
		log_file->EventRecordCallback(&pace->kept->records[i]->record);
	}
	(void)log_file->BufferCallback(log_file);
}

/* How many events happen in a time. */
static uint64_t happened_in(const struct pace *pace, uint64_t ns)
{
	return (uint64_t)((double)ns / (double)NS_PER_S * (double)pace->rate);
}

/* How long that many events take. */
static uint64_t time_of(const struct pace *pace, uint64_t events)
{
	double ns = pace->rate > 0 ? (double)events / (double)pace->rate * (double)NS_PER_S :
				     (double)pace->length_ns;

	return ns < (double)pace->length_ns ? (uint64_t)ns : pace->length_ns;
}

/* Sleeps until a moment, or a millisecond longer. */
static void sleep_until(uint64_t until_ns)
{
	uint64_t now_ns = fake_clock_monotonic_ns();

	if (until_ns > now_ns) {
		Sleep((DWORD)((until_ns - now_ns) / 1000000 + 1));
	}
}

/* A buffer is delivered when its last event has happened, or when the flush interval of a second
 * is over. */
static void run_pace(void *context, EVENT_TRACE_LOGFILEW *log_file)
{
	struct pace *pace = context;
	uint64_t start_ns = fake_clock_monotonic_ns(), ns = 0, flush_ns = NS_PER_S;
	uint64_t cpu_ns = os_thread_cpu_ns();
	int64_t start = fake_clock_qpc();
	size_t from = 0;

	while (ns < pace->length_ns) {
		size_t to = fake_etw_kept_buffer(pace->kept, from, log_file->BufferSize);
		uint64_t due = happened_in(pace, ns) - pace->paced.delivered;
		uint64_t full_ns = time_of(pace, pace->paced.delivered + (to - from));

		if (due < to - from && ns < flush_ns) {
			sleep_until(start_ns + (full_ns < flush_ns ? full_ns : flush_ns));
			ns = fake_clock_monotonic_ns() - start_ns;
			continue;
		}
		to = due < to - from ? from + (size_t)due : to;
		deliver_buffer(pace, log_file, start, from, to);
		ns = fake_clock_monotonic_ns() - start_ns;
		flush_ns = ns + NS_PER_S;
		from = to < pace->kept->count ? to : 0;
	}
	pace->paced.ns = ns;
	pace->paced.consumer_cpu_ns = os_thread_cpu_ns() - cpu_ns;
}

bool fake_etw_pace(const char *name, struct fake_etw_kept *kept, uint64_t rate, unsigned seconds,
		   struct fake_etw_paced *paced)
{
	struct pace pace = { .kept = kept, .rate = rate, .length_ns = seconds * NS_PER_S };
	struct os_process_stats before, after;
	bool done;

	os_process_stats(&before);
	done = kept->count > 0 && fake_etw_run_on_consumer(name, run_pace, &pace);
	os_process_stats(&after);
	*paced = pace.paced;
	paced->process_cpu_ns = after.cpu_ns - before.cpu_ns;
	return done;
}
