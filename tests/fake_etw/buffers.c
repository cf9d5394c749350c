/* SPDX-License-Identifier: MIT */
/*
 * Buffers of a session: one open per processor, which fill, are flushed to the consumers and come
 * back; and what happens when there is none left.
 *
 * A buffer counts its bytes as ETW does (72 of its own header, records aligned to 8), and stores
 * its events in a form of its own. While no consumer has a session open, what is flushed goes to
 * the playback file, which is bounded too.
 *
 * Disorder: the events of one processor in one flush interval are delivered as if they had happened
 * up to that interval later. How much later depends on the seed, the processor and the time alone,
 * so a test that emits the same events gets the same order, however its threads run. Delivery puts
 * events in the order of these later times (`due`), and a processor's never overtake each other.
 */
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

void fake_queue_add(struct fake_queue *queue, struct fake_buffer *buffer)
{
	if (queue->count == queue->capacity) {
		size_t capacity = queue->capacity ? queue->capacity * 2 : 64;
		struct fake_buffer **buffers = realloc(queue->buffers, capacity * sizeof(*buffers));

		if (!buffers) {
			abort();
		}
		queue->buffers = buffers;
		queue->capacity = capacity;
	}
	queue->buffers[queue->count++] = buffer;
	buffer->references++;
}

void fake_queue_done(struct fake_queue *queue)
{
	for (size_t i = 0; i < queue->count; i++) {
		fake_buffer_release(queue->buffers[i]);
	}
	free(queue->buffers);
	*queue = (struct fake_queue){ 0 };
}

const struct fake_stored *fake_buffer_at(const struct fake_buffer *buffer, size_t offset)
{
	return (const struct fake_stored *)(const void *)(buffer->stored + offset);
}

static void buffer_free(struct fake_buffer *buffer)
{
	free(buffer->stored);
	free(buffer);
}

void fake_buffer_release(struct fake_buffer *buffer)
{
	struct fake_session *session;

	if (--buffer->references > 0) {
		return;
	}
	session = fake_session_by_handle(buffer->session);
	if (!session || !buffer->pooled) {
		buffer_free(buffer);
		return;
	}
	session->free++;
	buffer->next = session->spare;
	session->spare = buffer;
}

/* A buffer from the pool, which grows up to its maximum; NULL when all are in use. */
static struct fake_buffer *new_buffer(struct fake_session *session, uint16_t processor)
{
	struct fake_buffer *buffer;

	if (session->free > 0) {
		session->free--;
	} else if (session->allocated < session->maximum_buffers) {
		session->allocated++;
	} else {
		return NULL;
	}
	buffer = session->spare;
	if (buffer) {
		session->spare = buffer->next;
	} else {
		buffer = calloc(1, sizeof(*buffer));
		if (!buffer) {
			abort();
		}
	}
	buffer->next = NULL;
	buffer->session = session->handle;
	buffer->processor = processor;
	buffer->used = FAKE_BUFFER_HEADER;
	buffer->events = 0;
	buffer->stored_size = 0;
	buffer->pooled = true;
	buffer->references = 0;
	return buffer;
}

static unsigned playback_limit(const struct fake_session *session)
{
	return fake.options.playback_buffers ? fake.options.playback_buffers :
					       session->maximum_buffers;
}

static bool playback_full(const struct fake_session *session)
{
	return (session->mode & EVENT_TRACE_REAL_TIME_MODE) != 0 &&
	       fake_consumer_count(session) == 0 &&
	       session->playback.count >= playback_limit(session);
}

/* Hands an open buffer on and leaves the processor without one. */
static void flush_one(struct fake_session *session, unsigned processor)
{
	struct fake_buffer *buffer = session->active[processor];

	session->active[processor] = NULL;
	session->written++;
	buffer->references = 1;
	if ((session->mode & EVENT_TRACE_REAL_TIME_MODE) == 0) {
		session->delivered += buffer->events; /* nothing reads them */
	} else if (session->lose_buffers > 0) {
		session->lose_buffers--;
		session->realtime_lost++;
		session->lost_in_buffers += buffer->events;
	} else if (fake_consumer_count(session) == 0) {
		/* The playback file keeps it; the buffer itself is free again. */
		buffer->pooled = false;
		session->free++;
		fake_queue_add(&session->playback, buffer);
	} else {
		fake_consumer_queue(session, buffer);
	}
	fake_buffer_release(buffer);
	os_condition_wake_all(&fake.changed);
}

static void flush_all(struct fake_session *session)
{
	for (unsigned i = 0; i < session->active_end; i++) {
		if (session->active[i] && session->active[i]->events > 0 &&
		    !playback_full(session)) {
			flush_one(session, i);
		}
	}
}

void fake_buffer_flush(struct fake_session *session)
{
	flush_all(session);
	session->settled = fake.options.disorder_ms > 0 ? fake.next_order : 0;
	os_condition_wake_all(&fake.changed);
}

static uint64_t flush_interval_ns(const struct fake_session *session)
{
	if ((session->mode & EVENT_TRACE_USE_MS_FLUSH_TIMER) != 0) {
		return (uint64_t)session->flush_timer * 1000000;
	}
	return (uint64_t)session->flush_timer * 1000000000;
}

uint64_t fake_buffer_due_ns(const struct fake_session *session)
{
	if (fake.options.manual_flush || session->flush_timer == 0) {
		return UINT64_MAX;
	}
	return session->next_flush_ns;
}

void fake_buffer_tick(struct fake_session *session, uint64_t now_ns)
{
	if (now_ns >= fake_buffer_due_ns(session)) {
		fake_buffer_flush(session);
		session->next_flush_ns = now_ns + flush_interval_ns(session);
	}
}

int64_t fake_buffer_watermark(const struct fake_session *session)
{
	int64_t watermark = fake.options.disorder_ms > 0 ? session->newest_time : INT64_MAX;

	for (unsigned i = 0; i < session->active_end; i++) {
		const struct fake_buffer *buffer = session->active[i];

		if (buffer && buffer->events > 0 && buffer->first_due < watermark) {
			watermark = buffer->first_due;
		}
	}
	return watermark;
}

static uint8_t *reserve(struct fake_buffer *buffer, size_t size)
{
	if (buffer->capacity - buffer->stored_size < size) {
		size_t capacity = buffer->capacity ? buffer->capacity * 2 : 8192;
		uint8_t *stored;

		while (capacity - buffer->stored_size < size) {
			capacity *= 2;
		}
		stored = realloc(buffer->stored, capacity);
		if (!stored) {
			abort();
		}
		buffer->stored = stored;
		buffer->capacity = capacity;
	}
	memset(buffer->stored + buffer->stored_size, 0, size);
	return buffer->stored + buffer->stored_size;
}

/* The time at which delivery puts an event of that time. */
static int64_t due_of(struct fake_session *session, unsigned processor, int64_t time)
{
	int64_t interval = fake_clock_ticks_of_ms(session, fake.options.disorder_ms);
	uint64_t mixed;
	int64_t due = time;

	if (interval == 0) {
		return time;
	}
	if (time > session->newest_time) {
		session->newest_time = time;
	}
	/* The finaliser of SplitMix64; every second interval of a processor is late. */
	mixed = (uint64_t)(time / interval) * 64 + processor + 1;
	mixed = (mixed ^ (uint64_t)fake.options.disorder_seed << 40) * 0x9e3779b97f4a7c15;
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	mixed ^= mixed >> 31;
	if ((mixed & 1) != 0) {
		due += (int64_t)((mixed >> 1) % ((uint64_t)interval + 1));
	}
	if (due > session->last_due[processor]) {
		session->last_due[processor] = due;
	}
	return session->last_due[processor];
}

static size_t payload_size(const struct fake_write *write)
{
	size_t size = 0;

	for (size_t i = 0; i < write->payload_count; i++) {
		size += write->payload[i].size;
	}
	return size;
}

static size_t items_size(const struct fake_write *write)
{
	size_t size = 0;

	for (size_t i = 0; i < write->item_count; i++) {
		size += sizeof(struct fake_item) + aligned(write->items[i].size);
	}
	return size;
}

static void store(struct fake_session *session, struct fake_buffer *buffer,
		  const struct fake_write *write, size_t items, size_t payload)
{
	size_t size = sizeof(struct fake_stored) + items + aligned(payload);
	uint8_t *at = reserve(buffer, size);
	struct fake_stored *stored = (struct fake_stored *)(void *)at;

	stored->size = (uint32_t)size;
	stored->item_count = (uint16_t)write->item_count;
	stored->payload_size = (uint16_t)payload;
	stored->items_size = (uint32_t)items;
	stored->order = fake.next_order++;
	stored->due = due_of(session, buffer->processor, write->header.TimeStamp.QuadPart);
	stored->header = write->header;
	stored->header.Size = (USHORT)(FAKE_EVENT_HEADER + items + payload);
	if (write->item_count > 0) {
		stored->header.Flags |= EVENT_HEADER_FLAG_EXTENDED_INFO;
	}
	stored->context.ProcessorIndex = write->processor;
	stored->context.LoggerId = session->id;
	at += sizeof(*stored);
	for (size_t i = 0; i < write->item_count; i++) {
		struct fake_item item = { write->item_types[i], (uint16_t)write->items[i].size,
					  (uint32_t)aligned(write->items[i].size),
					  !write->items[i].at };

		memcpy(at, &item, sizeof(item));
		if (item.size > 0 && !item.missing) {
			memcpy(at + sizeof(item), write->items[i].at, item.size);
		}
		at += sizeof(item) + item.padded;
	}
	for (size_t i = 0; i < write->payload_count; i++) {
		if (write->payload[i].size > 0) {
			memcpy(at, write->payload[i].at, write->payload[i].size);
			at += write->payload[i].size;
		}
	}
	if (buffer->events == 0) {
		buffer->first_due = stored->due;
	}
	buffer->events++;
	buffer->stored_size += size;
	buffer->used += (uint32_t)aligned(FAKE_EVENT_HEADER + items + payload);
}

static unsigned slot_of(const struct fake_session *session, uint16_t processor)
{
	return (session->mode & EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING) != 0 ?
		       0 :
		       processor % FAKE_PROCESSORS;
}

static bool has_room(const struct fake_session *session, uint16_t processor, size_t size)
{
	const struct fake_buffer *active = session->active[slot_of(session, processor)];

	/* Where a timer runs it may take the open buffer away before the event is in it. */
	if (active && fake_buffer_due_ns(session) == UINT64_MAX &&
	    active->used + aligned(size) <= (size_t)session->buffer_size_kb * 1024) {
		return true;
	}
	if (active && playback_full(session)) {
		return false;
	}
	/* A flush to the playback file gives the buffer back, one to a consumer does not. */
	return session->free > 0 || session->allocated < session->maximum_buffers ||
	       (active && fake_consumer_count(session) == 0);
}

/* The session that has no buffer for that many bytes, so that the event would be lost; NULL: none.
 */
static struct fake_session *full_session(uint16_t processor, size_t size)
{
	for (size_t i = 0; i < fake.session_end; i++) {
		struct fake_session *session = &fake.sessions[i];

		if (session->used && !has_room(session, processor, size)) {
			return session;
		}
	}
	return NULL;
}

bool fake_buffer_wait_for_room(uint16_t processor, size_t size, unsigned timeout_ms)
{
	struct fake_session *session = full_session(processor, size);
	uint64_t end, settle;

	if (!session) {
		return true;
	}
	settle = fake_clock_monotonic_ns() + 1000000000;
	end = settle - 1000000000 + (uint64_t)timeout_ms * 1000000;
	while (session) {
		if (fake_clock_monotonic_ns() > end) {
			return false;
		}
		/* A consumer may hold events back until other processors are heard of. */
		flush_all(session);
		if (fake_clock_monotonic_ns() > settle) {
			fake_buffer_flush(session); /* or because all buffers are held back */
		}
		os_condition_wait(&fake.changed, &fake.lock, 5000000);
		session = full_session(processor, size);
	}
	return true;
}

uint32_t fake_buffer_make_room(struct fake_session *session, const struct fake_write *write)
{
	unsigned processor = slot_of(session, write->processor);
	size_t bytes = FAKE_EVENT_HEADER + items_size(write) + payload_size(write);
	size_t capacity = (size_t)session->buffer_size_kb * 1024;

	if (aligned(bytes) > capacity - FAKE_BUFFER_HEADER || bytes > UINT16_MAX) {
		return ERROR_MORE_DATA;
	}
	if (session->full) {
		return ERROR_NOT_ENOUGH_MEMORY;
	}
	if (session->active[processor] &&
	    session->active[processor]->used + aligned(bytes) > capacity) {
		if (playback_full(session)) {
			return ERROR_LOG_FILE_FULL;
		}
		flush_one(session, processor);
	}
	if (!session->active[processor]) {
		session->active[processor] = new_buffer(session, (uint16_t)processor);
		if (processor >= session->active_end) {
			session->active_end = processor + 1;
		}
	}
	return session->active[processor] ? 0 : ERROR_NOT_ENOUGH_MEMORY;
}

uint32_t fake_buffer_write(struct fake_session *session, const struct fake_write *write)
{
	uint32_t error = fake_buffer_make_room(session, write);

	session->emitted++;
	if (error != 0) {
		session->lost++;
		return error;
	}
	store(session, session->active[slot_of(session, write->processor)], write,
	      items_size(write), payload_size(write));
	return 0;
}

void fake_buffer_done(struct fake_session *session)
{
	for (unsigned i = 0; i < session->active_end; i++) {
		if (session->active[i]) {
			buffer_free(session->active[i]);
			session->active[i] = NULL;
		}
	}
	while (session->spare) {
		struct fake_buffer *next = session->spare->next;

		buffer_free(session->spare);
		session->spare = next;
	}
	fake_queue_done(&session->playback);
}
