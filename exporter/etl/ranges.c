/* SPDX-License-Identifier: MIT */
/*
 * Reads a recording in ranges, on several threads.
 *
 * The index says from when to when each buffer has records. So the recording can be cut at any
 * times into ranges that are read, unpacked and merged independently: a range consists of the
 * buffers that have records between two times. A buffer that has records on both sides of a cut
 * belongs to both ranges, and each shows its own records of it. One range after the other, the
 * records are those of order.c in the same order.
 *
 * Each thread takes the next range, and shows its records to its helper. What
 * the helper leaves to the visitor is copied into chunks, which form a queue for each range. The
 * caller empties the queues in the order of the ranges. What waits in them is bounded: a thread
 * that would add more waits. The range that the caller is at has a bound of its own, so that it
 * goes on however much of the others waits.
 */
#include "etl/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/os.h"
#include "base/sort.h"

enum {
	RANGE_LEAST = 4 << 20,   /* bytes of a range */
	RANGE_USUAL = 16 << 20,  /* at most; what is left of a larger one has no room to wait */
	RANGE_MOST = 64 << 20,   /* where buffers are so many that smaller ones overlap */
	RANGES_PER_THREAD = 8,   /* so that the threads end at about the same time */
	CHUNK_BYTES = 128 << 10, /* the largest record needs less than 66 KiB */
	QUEUES_BYTES = 16 << 20, /* of all chunks that wait … */
	SHOWN_BYTES = 4 << 20,   /* … and of those of the range that the caller is at */
	OVERLAP_MOST = 6,        /* no more than one byte in so many is in another range, too */
};

/* Of the buffers that all threads have open: half of what one thread may have, because each thread
 * has unused blocks, too. */
#define OPEN_MOST ((uint64_t)ETL_OPEN_MAX / 2)

#define WAIT_NS UINT64_C(1000000000)

/* ---- where ranges begin ---- */

/* The number of starts that are not above a time. */
static size_t starts_up_to(const struct etl_ranges *ranges, int64_t time)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->starts[middle] <= time) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static bool add_start(struct etl_ranges *ranges, size_t *capacity, int64_t time)
{
	int64_t *starts = array_grow(ranges->starts, capacity, ranges->count, sizeof *starts);

	if (!starts) {
		return false;
	}
	ranges->starts = starts;
	ranges->starts[ranges->count++] = time;
	return true;
}

static bool choose_starts(const struct etl_index *index, uint64_t range_bytes,
			  struct etl_ranges *ranges)
{
	size_t capacity = 0;
	uint64_t bytes = 0;
	bool good = add_start(ranges, &capacity, INT64_MIN);

	for (size_t i = 0; good && i < index->count; i++) {
		const struct etl_entry *entry = &index->entries[i];

		/* Records without a time come first, all in one range. None begins at INT64_MAX:
		 * one until there includes it (struct etl_range). */
		if (bytes >= range_bytes && entry->first_time > ranges->starts[ranges->count - 1] &&
		    entry->first_time != INT64_MAX) {
			good = add_start(ranges, &capacity, entry->first_time);
			bytes = 0;
		}
		bytes += entry->end;
	}
	return good;
}

/* How many bytes are in more than one range, counted once for each further one. */
static uint64_t overlap_bytes(const struct etl_index *index, const struct etl_ranges *ranges)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < index->count; i++) {
		const struct etl_entry *entry = &index->entries[i];

		bytes += (starts_up_to(ranges, entry->last_time) -
			  starts_up_to(ranges, entry->first_time)) *
			 (uint64_t)entry->end;
	}
	return bytes;
}

/* The usual size of a range. */
static uint64_t usual_bytes(uint64_t bytes, size_t threads)
{
	uint64_t usual = bytes / threads / RANGES_PER_THREAD;

	return usual < RANGE_LEAST ? RANGE_LEAST : usual > RANGE_USUAL ? RANGE_USUAL : usual;
}

/* A buffer that is open until a time. */
struct opened {
	int64_t until;
	uint64_t bytes;
};

static int compare_opened(const void *a, const void *b)
{
	int64_t x = ((const struct opened *)a)->until, y = ((const struct opened *)b)->until;

	return (x > y) - (x < y);
}

/* Whether the buffers that have records before and after any time fit into so many bytes. Without
 * memory they do not. */
static bool open_buffers_fit(const struct etl_index *index, uint64_t most)
{
	struct opened *opened = malloc(index->count * sizeof *opened);
	uint64_t bytes = 0;
	size_t closed = 0;
	bool fit = opened != NULL;

	for (size_t i = 0; fit && i < index->count; i++) {
		const struct etl_entry *entry = &index->entries[i];

		opened[i] = (struct opened){ entry->last_time, etl_open_cost(entry) };
	}
	if (fit) {
		sort_items(opened, index->count, sizeof *opened, compare_opened);
	}
	/* The entries are in the order of their first times. */
	for (size_t i = 0; fit && i < index->count; i++) {
		while (opened[closed].until < index->entries[i].first_time) {
			bytes -= opened[closed++].bytes;
		}
		bytes += etl_open_cost(&index->entries[i]);
		fit = bytes <= most;
	}
	free(opened);
	return fit;
}

bool etl_ranges_choose(const struct etl_index *index, size_t threads, struct etl_ranges *ranges)
{
	uint64_t bytes = 0;

	*ranges = (struct etl_ranges){ .starts = NULL };
	for (size_t i = 0; i < index->count; i++) {
		bytes += index->entries[i].end;
	}
	if (!index->complete || threads == 0 || bytes < 2 * RANGE_LEAST ||
	    !open_buffers_fit(index, OPEN_MOST / threads)) {
		return false;
	}
	for (uint64_t size = usual_bytes(bytes, threads); size <= RANGE_MOST; size *= 2) {
		if (choose_starts(index, size, ranges) && ranges->count > 1 &&
		    overlap_bytes(index, ranges) <= bytes / OVERLAP_MOST) {
			return true;
		}
		etl_ranges_done(ranges);
	}
	return false;
}

void etl_ranges_done(struct etl_ranges *ranges)
{
	free(ranges->starts);
	*ranges = (struct etl_ranges){ .starts = NULL };
}

/* ---- ranges ---- */

/* Records that a helper has left, one behind the other, each before what it borrows. */
struct chunk {
	struct chunk *next;
	size_t used;
	_Alignas(struct event_record) uint8_t bytes[CHUNK_BYTES];
};

/* A range that a thread reads, or has read, until the caller has shown what was left of it. */
struct range {
	struct chunk *first, *last; /* owned: complete chunks */
	size_t queued_bytes;        /* of them */
	bool ended;
	struct etl_progress progress; /* once it has ended */
	uint64_t file_bytes;          /* of the buffers that begin in it */
	uint64_t buffers;
};

struct range_pass {
	struct etl_file *file;
	const struct etl_index *index;
	const struct etl_ranges *chosen;
	const struct etl_visitor *visitor;
	struct os_mutex lock;
	struct os_condition changed;
	/* ---- with the lock ---- */
	struct range *ranges;      /* owned; chosen->count */
	const struct range *shown; /* the one that the caller is at */
	struct chunk *unused;      /* owned */
	size_t queued_bytes;       /* of the chunks in all queues */
	size_t taken;              /* ranges */
	size_t next_entry; /* of the index: the first one that begins after the ranges taken */
	size_t *reaching;  /* owned; entries that begin before next_entry and may reach further */
	size_t reaching_count, reaching_capacity;
	bool failed;
	struct error err;
};

struct range_thread {
	struct range_pass *pass;
	const struct event_helper *helper;
	struct os_thread thread;
	struct etl_file file; /* the same bytes, with blocks of its own */
	struct range *range;  /* that it reads */
	struct chunk *chunk;  /* that it fills; NULL: none yet */
	bool failed;          /* no memory for a chunk */
};

static bool is_stopping(const struct range_pass *pass)
{
	return etl_visitor_stopping(pass->visitor);
}

/* With the lock. */
static void fail(struct range_pass *pass, const struct error *err)
{
	if (!pass->failed) {
		pass->failed = true;
		pass->err = *err;
	}
	os_condition_wake_all(&pass->changed);
}

/* ---- the threads: what is left to the visitor ---- */

/* Whether there is no room for another chunk of a range; with the lock. */
static bool is_full(const struct range_pass *pass, const struct range *range)
{
	return range == pass->shown ? range->queued_bytes >= SHOWN_BYTES :
				      pass->queued_bytes >= QUEUES_BYTES;
}

/* Whether a thread may not give another chunk to the caller; with the lock. */
static bool must_wait(const struct range_pass *pass, const struct range *range)
{
	return is_full(pass, range) && !pass->failed && !is_stopping(pass);
}

/* Gives the chunk to the caller, when there is room for it. */
static void send_chunk(struct range_thread *thread)
{
	struct range_pass *pass = thread->pass;
	struct range *range = thread->range;
	struct chunk *chunk = thread->chunk;

	thread->chunk = NULL;
	if (!chunk) {
		return;
	}
	os_mutex_lock(&pass->lock);
	while (must_wait(pass, range)) {
		os_condition_wait(&pass->changed, &pass->lock, WAIT_NS);
	}
	if (range->last) {
		range->last->next = chunk;
	} else {
		range->first = chunk;
	}
	range->last = chunk;
	range->queued_bytes += sizeof *chunk;
	pass->queued_bytes += sizeof *chunk;
	if (range == pass->shown) {
		os_condition_wake_all(&pass->changed);
	}
	os_mutex_unlock(&pass->lock);
}

/* NULL without memory. */
static struct chunk *new_chunk(struct range_pass *pass)
{
	struct chunk *chunk;

	os_mutex_lock(&pass->lock);
	chunk = pass->unused;
	if (chunk) {
		pass->unused = chunk->next;
	}
	os_mutex_unlock(&pass->lock);
	if (!chunk) {
		chunk = malloc(sizeof *chunk);
	}
	if (chunk) {
		chunk->next = NULL;
		chunk->used = 0;
	}
	return chunk;
}

static size_t aligned(size_t size)
{
	const size_t alignment = _Alignof(struct event_record);

	return (size + alignment - 1) / alignment * alignment;
}

/* The size of a record in a chunk, with what it borrows. */
static size_t size_of(const struct event_record *record)
{
	return aligned(sizeof *record + sizeof *record->provider +
		       (record->activity ? sizeof *record->activity : 0) + record->extended_size +
		       record->payload_size);
}

static uint8_t *copy_bytes(uint8_t **to, const void *bytes, size_t size)
{
	uint8_t *copy = *to;

	if (size > 0) {
		memcpy(copy, bytes, size);
	}
	*to += size;
	return copy;
}

static void leave_record(struct range_thread *thread, const struct event_record *record)
{
	size_t size = size_of(record);
	struct event_record *copy;
	uint8_t *to;

	if (thread->chunk && size > sizeof thread->chunk->bytes - thread->chunk->used) {
		send_chunk(thread);
	}
	if (!thread->chunk) {
		thread->chunk = new_chunk(thread->pass);
		if (!thread->chunk) {
			thread->failed = true;
			return;
		}
	}
	to = thread->chunk->bytes + thread->chunk->used;
	thread->chunk->used += size;
	copy = (void *)to;
	*copy = *record;
	to += sizeof *copy;
	copy->provider =
		(const struct guid *)copy_bytes(&to, record->provider, sizeof *record->provider);
	if (record->activity) {
		copy->activity = (const struct guid *)copy_bytes(&to, record->activity,
								 sizeof *record->activity);
	}
	if (record->extended) {
		copy->extended = copy_bytes(&to, record->extended, record->extended_size);
	}
	copy->payload = copy_bytes(&to, record->payload, record->payload_size);
}

static void show_helper(void *context, const struct event_record *record)
{
	struct range_thread *thread = context;

	if (!thread->helper->on_event(thread->helper->context, record) && !thread->failed) {
		leave_record(thread, record);
	}
}

/* ---- the threads: ranges ---- */

static bool add_entry(struct etl_index *index, const struct etl_entry *entry)
{
	struct etl_entry *entries =
		array_grow(index->entries, &index->capacity, index->count, sizeof *entries);

	if (!entries) {
		return false;
	}
	index->entries = entries;
	index->entries[index->count++] = *entry;
	return true;
}

/* With the lock: takes the next range and lists its buffers. False: there is none, or it failed. */
static bool take_range(struct range_pass *pass, struct range **range, size_t *number,
		       struct etl_index *index)
{
	const struct etl_entry *entries = pass->index->entries;
	size_t kept = 0;
	bool good = true;
	int64_t start;

	if (pass->taken == pass->chosen->count || pass->failed || is_stopping(pass)) {
		return false;
	}
	*number = pass->taken++;
	*range = &pass->ranges[*number];
	start = pass->chosen->starts[*number];
	for (size_t i = 0; i < pass->reaching_count; i++) {
		const struct etl_entry *entry = &entries[pass->reaching[i]];

		if (entry->last_time >= start) {
			pass->reaching[kept++] = pass->reaching[i];
			good = good && add_entry(index, entry);
		}
	}
	pass->reaching_count = kept;
	while (good && pass->next_entry < pass->index->count &&
	       (pass->taken == pass->chosen->count ||
		entries[pass->next_entry].first_time < pass->chosen->starts[pass->taken])) {
		const struct etl_entry *entry = &entries[pass->next_entry];
		size_t *reaching = array_grow(pass->reaching, &pass->reaching_capacity,
					      pass->reaching_count, sizeof *reaching);

		if (!reaching) {
			good = false;
			break;
		}
		pass->reaching = reaching;
		pass->reaching[pass->reaching_count++] = pass->next_entry++;
		(*range)->buffers++;
		(*range)->file_bytes += entry->disk_size;
		good = add_entry(index, entry);
	}
	if (!good) {
		struct error err;

		error_no_memory(&err, "the buffers of a range");
		fail(pass, &err);
	}
	return good;
}

static void read_range(struct range_thread *thread, size_t number, struct etl_index *index)
{
	struct range_pass *pass = thread->pass;
	struct etl_progress progress = { .last_time = RECORD_NO_TIME };
	const struct etl_visitor visitor = {
		.record_context = thread,
		.on_record = show_helper,
		.stopping = pass->visitor->stopping,
	};
	const struct etl_range range = {
		.from = pass->chosen->starts[number],
		.until = number + 1 < pass->chosen->count ? pass->chosen->starts[number + 1] :
							    INT64_MAX,
	};
	struct error err = { 0 };
	bool good;

	good = etl_order_run_range(&thread->file, index, &range, &progress, &visitor, &err);
	if (good && thread->failed) {
		good = error_no_memory(&err, "the records that wait for their turn");
	}
	send_chunk(thread);
	if (thread->helper->on_idle) {
		thread->helper->on_idle(thread->helper->context);
	}
	os_mutex_lock(&pass->lock);
	thread->range->progress = progress;
	thread->range->ended = true;
	if (!good) {
		fail(pass, &err);
	}
	os_condition_wake_all(&pass->changed);
	os_mutex_unlock(&pass->lock);
}

static void run_thread(void *context)
{
	struct range_thread *thread = context;
	struct range_pass *pass = thread->pass;
	struct etl_index index = { .complete = true, .borrows = true };
	size_t number;
	bool taken;

	thread->file = *pass->file;
	thread->file.input.blocks = (struct etl_blocks){ .unused = NULL };
	do {
		index.count = 0;
		os_mutex_lock(&pass->lock);
		taken = take_range(pass, &thread->range, &number, &index);
		os_mutex_unlock(&pass->lock);
		if (taken) {
			read_range(thread, number, &index);
		}
	} while (taken);
	free(index.entries);
	etl_blocks_done(&thread->file.input.blocks);
}

/* ---- the caller ---- */

/* Gives a chunk back, and takes the next one of the range. NULL: there is none any more, or the
 * pass ends early. */
static struct chunk *take_chunk(struct range_pass *pass, struct range *range, struct chunk *before)
{
	struct chunk *chunk;

	os_mutex_lock(&pass->lock);
	if (before) {
		before->next = pass->unused;
		pass->unused = before;
	}
	while (!range->first && !range->ended && !pass->failed && !is_stopping(pass)) {
		os_condition_wait(&pass->changed, &pass->lock, WAIT_NS);
	}
	chunk = pass->failed ? NULL : range->first;
	if (chunk) {
		range->first = chunk->next;
		range->last = range->first ? range->last : NULL;
		if (is_full(pass, range) || pass->queued_bytes >= QUEUES_BYTES) {
			os_condition_wake_all(&pass->changed);
		}
		range->queued_bytes -= sizeof *chunk;
		pass->queued_bytes -= sizeof *chunk;
	}
	os_mutex_unlock(&pass->lock);
	return chunk;
}

static void show_chunk(const struct etl_visitor *visitor, const struct chunk *chunk)
{
	for (size_t at = 0; at < chunk->used && !etl_visitor_stopping(visitor);) {
		const struct event_record *record = (const void *)(chunk->bytes + at);

		at += size_of(record);
		if (visitor->on_record) {
			visitor->on_record(visitor->record_context, record);
		}
	}
}

/* False: the pass ends early. */
static bool show_range(struct range_pass *pass, struct range *range, struct etl_progress *progress,
		       uint64_t *bytes_read)
{
	const struct etl_visitor *visitor = pass->visitor;
	struct chunk *chunk = NULL;
	bool failed;

	os_mutex_lock(&pass->lock);
	pass->shown = range;
	os_condition_wake_all(&pass->changed);
	os_mutex_unlock(&pass->lock);
	while ((chunk = take_chunk(pass, range, chunk)) != NULL) {
		show_chunk(visitor, chunk);
	}
	os_mutex_lock(&pass->lock);
	failed = pass->failed;
	os_mutex_unlock(&pass->lock);
	if (failed || is_stopping(pass)) {
		return false;
	}
	progress->records += range->progress.records;
	progress->late_records += range->progress.late_records;
	if (range->progress.last_time != RECORD_NO_TIME) {
		progress->last_time = range->progress.last_time;
	}
	progress->buffers += range->buffers;
	*bytes_read += range->file_bytes;
	if (visitor->on_buffer) {
		visitor->on_buffer(visitor->buffer_context, *bytes_read);
	}
	return true;
}

static void free_chunks(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

static void free_ranges(struct range_pass *pass)
{
	for (size_t i = 0; pass->ranges && i < pass->chosen->count; i++) {
		free_chunks(pass->ranges[i].first);
	}
	free_chunks(pass->unused);
	free(pass->ranges);
	free(pass->reaching);
	os_condition_done(&pass->changed);
	os_mutex_done(&pass->lock);
}

bool etl_order_run_ranges(struct etl_file *file, struct etl_index *index,
			  const struct etl_ranges *ranges, const struct event_helper *helpers,
			  size_t helper_count, struct etl_progress *progress,
			  const struct etl_visitor *visitor, struct error *err)
{
	struct range_pass pass = {
		.file = file, .index = index, .chosen = ranges, .visitor = visitor
	};
	struct range_thread threads[EVENT_HELPERS_MAX] = { { NULL } };
	size_t count = 0, shown = 0;
	uint64_t bytes_read = 0;
	bool good = true;

	os_mutex_init(&pass.lock);
	os_condition_init(&pass.changed);
	pass.ranges = calloc(ranges->count, sizeof *pass.ranges);
	for (size_t i = 0; pass.ranges && i < helper_count && i < EVENT_HELPERS_MAX; i++) {
		threads[count] = (struct range_thread){ .pass = &pass, .helper = &helpers[i] };
		count += os_thread_start(&threads[count].thread, run_thread, &threads[count], NULL);
	}
	if (!pass.ranges || count == 0) {
		free_ranges(&pass);
		return etl_order_run(file, index, ETL_OPEN_MAX, progress, visitor, err);
	}
	while (shown < ranges->count &&
	       show_range(&pass, &pass.ranges[shown], progress, &bytes_read)) {
		shown++;
	}
	os_mutex_lock(&pass.lock);
	os_condition_wake_all(&pass.changed);
	os_mutex_unlock(&pass.lock);
	for (size_t i = 0; i < count; i++) {
		os_thread_join(&threads[i].thread);
	}
	if (pass.failed) {
		good = error_set(err, pass.err.code, "%s", pass.err.text);
	} else if (shown == ranges->count) {
		progress->buffers += index->empty_buffers;
	}
	free_ranges(&pass);
	return good;
}
