/* SPDX-License-Identifier: MIT */
/*
 * Merges the records of all open buffers in the order of their times. A heap has one entry for each
 * open buffer, with the time of its next record as the key, so the buffer at the top of the heap
 * has the next record.
 *
 * The heap changes only when another buffer has the next record. The records of the top buffer are
 * delivered without the heap until their time reaches that of the second entry, or of the first
 * buffer that is not open yet. If processors are equally busy, the next record is in another buffer
 * about every second time, so the cost of a change of the heap matters as well. run_open(), the
 * loop over both cases, is the hot path of a replay.
 *
 * Buffers of the index are opened when the merge reaches their first time; this order is exact as
 * long as the buffers that overlap fit into memory. Buffers that are not indexed, and those of a
 * recording that is read in one pass, are read in file order through a window: as many buffers are
 * open at once as fit into it, and late records are counted. A buffer whose own times go backwards
 * is sorted when it is opened.
 */
#include "lib/etl/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A record of a buffer whose times go backwards. */
struct position {
	int64_t time; /* raw time */
	uint32_t at;
	uint32_t ordinal; /* number of the record in its buffer */
};

struct open {
	struct etl_walk walk;
	struct etl_block *block; /* owned */
	uint64_t offset;
	uint64_t first_record;
	uint32_t disk_size;
	struct position *positions; /* owned, sorted; NULL: the buffer is already in order */
	size_t position_count;
	size_t next_position;
	size_t cost_bytes;
	struct open *next_unused;
};

/* ---- the heap ---- */

/*
 * Open buffers by the time of their next record, ties by their place in the file; the earliest is
 * entries[0].
 */
struct heap_entry {
	int64_t time;      /* raw time of the next record */
	struct open *open; /* borrowed */
};

/* Zero-initialise it. */
struct heap {
	struct heap_entry *entries; /* owned */
	size_t count;
	size_t capacity;
};

static inline bool is_before(int64_t time, const struct open *open, const struct heap_entry *other)
{
	return time < other->time || (time == other->time && open->offset < other->open->offset);
}

/* Returns false when memory runs out. */
static bool heap_push(struct heap *heap, int64_t time, struct open *open)
{
	size_t at = heap->count;
	struct heap_entry *entries =
		array_grow(heap->entries, &heap->capacity, heap->count, sizeof *entries);

	if (!entries) {
		return false;
	}
	heap->entries = entries;
	heap->count++;
	while (at > 0 && is_before(time, open, &entries[(at - 1) / 2])) {
		entries[at] = entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	entries[at] = (struct heap_entry){ .time = time, .open = open };
	return true;
}

/* Returns the index of the earlier child of an entry; heap->count or more if it has none. */
static inline size_t earlier_child(const struct heap *heap, size_t at)
{
	size_t child = 2 * at + 1;
	const struct heap_entry *entries = heap->entries;

	return child + 1 < heap->count && is_before(entries[child + 1].time,
						    entries[child + 1].open, &entries[child]) ?
		       child + 1 :
		       child;
}

/*
 * Moves an entry down from a free place whose earlier child is known. The members are passed in
 * registers, and nothing is read that was just stored: reading an entry whose members were stored
 * one by one makes a processor wait until these and all earlier stores are complete.
 */
static inline void sink(struct heap *heap, size_t at, size_t child, int64_t time, struct open *open)
{
	struct heap_entry *entries = heap->entries;

	while (child < heap->count && !is_before(time, open, &entries[child])) {
		entries[at] = entries[child];
		at = child;
		child = earlier_child(heap, at);
	}
	entries[at] = (struct heap_entry){ .time = time, .open = open };
}

static void heap_pop(struct heap *heap)
{
	heap->count--;
	if (heap->count > 0) {
		const struct heap_entry last = heap->entries[heap->count];

		sink(heap, 0, earlier_child(heap, 0), last.time, last.open);
	}
}

/* ---- a pass ---- */

struct pass {
	struct etw_file *file;
	const struct etw_visitor *visitor;
	struct etl_progress *progress;
	int64_t newest_raw; /* in ticks; a record with a lower time is late */
	struct heap heap;
	struct open *unused; /* owned */
	size_t open_bytes;
	size_t open_bytes_max;
	uint64_t bytes_read;

	struct etl_index *index; /* NULL: none */
	size_t next_entry;
	/* The next entry must be opened when the top of the heap reaches this time and place.
	 * INT64_MAX and UINT64_MAX: no entry is left, or too many buffers are open and one must end
	 * first. */
	int64_t due_time;
	uint64_t due_offset;
	struct etl_loader loader;

	bool streaming;
	size_t window_bytes;
	struct etl_scan scan; /* reads the buffers that are not indexed */
	struct etw_damage *damage;
	struct etl_so_far so_far; /* sums over the buffers of the scan */
};

static int compare_positions(const void *a, const void *b)
{
	const struct position *x = a;
	const struct position *y = b;

	if (x->time != y->time) {
		return x->time < y->time ? -1 : 1;
	}
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Lists the records of an open buffer sorted by time. Moves its walk to the end. */
static bool sort_positions(struct open *open, struct etw_error *err)
{
	struct etl_walk *walk = &open->walk;
	size_t capacity = 0;

	while (etl_walk_next(walk)) {
		struct position *positions = array_grow(open->positions, &capacity,
							open->position_count, sizeof *positions);

		if (!positions) {
			return error_no_memory(err, "the order of the records of a buffer");
		}
		open->positions = positions;
		open->positions[open->position_count] = (struct position){
			.time = walk->record.raw_time,
			.at = etl_walk_record_at(walk),
			.ordinal = (uint32_t)(walk->record.index - open->first_record),
		};
		open->position_count++;
	}
	open->cost_bytes += capacity * sizeof *open->positions;
	if (open->position_count > 0) {
		sort_items(open->positions, open->position_count, sizeof *open->positions,
			   compare_positions);
	}
	return true;
}

/* Returns the memory that counts for an open buffer whose records are in order. The real block may
 * be larger, depending on the pool, but the order of delivery must not depend on the pool. */
static size_t cost_in_order(uint32_t end)
{
	return sizeof(struct open) + etl_block_cost(end);
}

static inline bool next_record(struct open *open)
{
	const struct position *position;

	if (!open->positions) {
		return etl_walk_next(&open->walk);
	}
	if (open->next_position == open->position_count) {
		return false;
	}
	position = &open->positions[open->next_position++];
	return etl_walk_seek(&open->walk, position->at, open->first_record + position->ordinal);
}

static void close_buffer(struct pass *pass, struct open *open)
{
	pass->open_bytes -= open->cost_bytes;
	etl_block_put(&pass->file->input.blocks, open->block);
	free(open->positions);
	open->next_unused = pass->unused;
	pass->unused = open;
}

static void buffer_done(struct pass *pass, uint32_t disk_size)
{
	pass->bytes_read += disk_size;
	pass->progress->buffers++;
	if (pass->visitor->on_buffer) {
		pass->visitor->on_buffer(pass->visitor->buffer_context, pass->bytes_read);
	}
}

/* Adds a buffer to the merge. The pass owns the block afterwards, also on failure. */
static bool open_buffer(struct pass *pass, const struct etl_place *place, struct etl_block *block,
			uint64_t first_record, bool unordered, struct etw_error *err)
{
	struct open *open = pass->unused;
	bool good;

	if (open) {
		pass->unused = open->next_unused;
	} else {
		open = malloc(sizeof *open);
	}
	if (!open) {
		etl_block_put(&pass->file->input.blocks, block);
		return error_no_memory(err, "another open buffer");
	}
	*open = (struct open){
		.block = block,
		.offset = place->offset,
		.first_record = first_record,
		.disk_size = place->disk_size,
		.cost_bytes = cost_in_order(place->end),
	};
	etl_walk_start(&open->walk, &pass->file->format, block->bytes, place->end, place->processor,
		       first_record);
	good = !unordered || sort_positions(open, err);
	pass->open_bytes += open->cost_bytes;
	if (good && next_record(open)) {
		if (heap_push(&pass->heap, open->walk.record.raw_time, open)) {
			return true;
		}
		good = error_no_memory(err, "another open buffer");
	}
	/* A buffer without a record: the file was changed since the first pass. */
	close_buffer(pass, open);
	return good;
}

static bool open_entry(struct pass *pass, const struct etl_entry *entry, struct etw_error *err)
{
	struct etl_place place = {
		.offset = entry->offset,
		.disk_size = entry->disk_size,
		.end = entry->end,
		.processor = entry->processor,
		.compressed = entry->compressed,
	};
	struct etl_block *block = etl_loader_take(&pass->loader, pass->next_entry, &place.end, err);

	return block &&
	       open_buffer(pass, &place, block, entry->first_record, entry->unordered, err);
}

/* Returns whether the top of the heap comes before the next buffer that is not open yet. */
static inline bool top_is_next(const struct pass *pass)
{
	const struct heap_entry *top = &pass->heap.entries[0];

	return top->time < pass->due_time ||
	       (top->time == pass->due_time && top->open->offset < pass->due_offset);
}

/* Opens the buffers of the index that are due. */
static bool open_due(struct pass *pass, struct etw_error *err)
{
	const struct etl_index *index = pass->index;

	for (; pass->next_entry < index->count; pass->next_entry++) {
		const struct etl_entry *entry = &index->entries[pass->next_entry];

		pass->due_time = entry->first_time;
		pass->due_offset = entry->offset;
		if (pass->heap.count > 0 && top_is_next(pass)) {
			return true;
		}
		if (pass->heap.count > 0 &&
		    pass->open_bytes + cost_in_order(entry->end) > pass->open_bytes_max) {
			break; /* continues when a buffer has ended */
		}
		if (!open_entry(pass, entry, err)) {
			return false;
		}
	}
	pass->due_time = INT64_MAX;
	pass->due_offset = UINT64_MAX;
	return true;
}

static bool open_scanned(struct pass *pass, const struct etl_buffer *buffer, struct etw_error *err)
{
	static const struct etw_visitor no_visitor;
	uint64_t first_record = pass->so_far.records;
	struct etl_times times =
		etl_survey_buffer(pass->file, buffer, &pass->so_far, pass->damage, &no_visitor);
	struct etl_block *block;

	if (times.records == 0) {
		buffer_done(pass, buffer->place.disk_size);
		return true;
	}
	if (buffer->place.compressed) {
		block = etl_scan_take_unpacked(&pass->scan);
	} else {
		block = etl_block_get(&pass->file->input.blocks, buffer->place.end);
		if (!block) {
			return error_no_memory(err, "another open buffer");
		}
		memcpy(block->bytes, buffer->bytes, buffer->place.end);
	}
	return open_buffer(pass, &buffer->place, block, first_record, times.unordered, err);
}

/* Reads ahead, in file order, until the window is full. */
static bool fill_window(struct pass *pass, struct etw_error *err)
{
	while (pass->streaming && pass->open_bytes < pass->window_bytes &&
	       !etl_visitor_stopping(pass->visitor)) {
		struct etl_buffer buffer;

		switch (etl_scan_next(&pass->scan, &buffer, err)) {
		case ETL_STEP_FAILED:
			return false;
		case ETL_STEP_END:
			pass->streaming = false;
			break;
		case ETL_STEP_BUFFER:
			if (!buffer.bytes) {
				buffer_done(pass, buffer.place.disk_size);
			} else if (!open_scanned(pass, &buffer, err)) {
				return false;
			}
			break;
		}
	}
	return true;
}

/* Makes sure that the top of the heap has the next record. It need be called only when a buffer has
 * ended or the top reaches due_time. */
static bool fill(struct pass *pass, struct etw_error *err)
{
	if (pass->index && !open_due(pass, err)) {
		return false;
	}
	if (pass->index && pass->next_entry < pass->index->count) {
		return true;
	}
	return fill_window(pass, err);
}

/* Returns the time up to which the records of the top can be delivered one after the other. For a
 * record of exactly this time the place in the file decides. */
static inline int64_t top_until(const struct pass *pass, size_t second)
{
	const struct heap *heap = &pass->heap;
	int64_t until = pass->due_time;

	return second < heap->count && heap->entries[second].time < until ?
		       heap->entries[second].time :
		       until;
}

static inline void count_record(struct pass *pass, const struct etw_record *record)
{
	struct etl_progress *progress = pass->progress;

	if (record->raw_time >= pass->newest_raw) {
		pass->newest_raw = record->raw_time;
	} else if (record->raw_time != ETW_RECORD_NO_TIME) {
		progress->late_records++;
	}
	if (record->time != ETW_RECORD_NO_TIME) {
		progress->last_time = record->time;
	}
	progress->records++;
}

/*
 * Delivers the records of the open buffers. Returns true when another buffer must be opened; false
 * when the top buffer has ended or the visitor stops.
 */
static bool run_open(struct pass *pass)
{
	const struct etw_visitor visitor = *pass->visitor;

	do {
		struct open *open = pass->heap.entries[0].open;
		const struct etw_record *record = &open->walk.record;
		size_t second = earlier_child(&pass->heap, 0);
		int64_t until = top_until(pass, second);

		do {
			if (etl_visitor_stopping(&visitor)) {
				return false;
			}
			count_record(pass, record);
			if (visitor.on_record) {
				visitor.on_record(visitor.record_context, record);
			}
			if (!next_record(open)) {
				return false;
			}
		} while (record->raw_time < until);
		sink(&pass->heap, 0, second, record->raw_time, open);
	} while (top_is_next(pass));
	return true;
}

static bool run(struct pass *pass, struct etw_error *err)
{
	for (;;) {
		struct open *open;
		uint32_t disk_size;

		if (!fill(pass, err)) {
			return false;
		}
		if (pass->heap.count == 0 || etl_visitor_stopping(pass->visitor)) {
			return true;
		}
		if (run_open(pass)) {
			continue;
		}
		if (etl_visitor_stopping(pass->visitor)) {
			return true;
		}
		open = pass->heap.entries[0].open;
		disk_size = open->disk_size;
		heap_pop(&pass->heap);
		close_buffer(pass, open);
		buffer_done(pass, disk_size);
	}
}

static void pass_done(struct pass *pass)
{
	while (pass->heap.count > 0) {
		struct open *open = pass->heap.entries[0].open;

		heap_pop(&pass->heap);
		close_buffer(pass, open);
	}
	while (pass->unused) {
		struct open *next = pass->unused->next_unused;

		free(pass->unused);
		pass->unused = next;
	}
	free(pass->heap.entries);
	etl_blocks_done(&pass->file->input.blocks);
}

bool etl_order_run(struct etw_file *file, struct etl_index *index, size_t open_bytes_max,
		   struct etl_progress *progress, const struct etw_visitor *visitor,
		   struct etw_error *err)
{
	struct etw_damage known = { 0 }; /* the first pass has counted it already */
	struct pass pass = {
		.file = file,
		.visitor = visitor,
		.progress = progress,
		.newest_raw = INT64_MIN,
		.open_bytes_max = open_bytes_max,
		.index = index,
		.window_bytes = ETL_WINDOW_MAX < open_bytes_max ? ETL_WINDOW_MAX : open_bytes_max,
		.damage = &known,
	};
	bool good;

	etl_file_scan(file, &pass.scan, &known, index->rest_offset, index->rest_sequence);
	pass.so_far = index->rest;
	pass.streaming = !index->complete;
	etl_loader_start(&pass.loader, &file->input, index);
	good = run(&pass, err);
	if (good && !etl_visitor_stopping(visitor)) {
		progress->buffers += index->empty_buffers;
	}
	etl_loader_done(&pass.loader);
	etl_scan_done(&pass.scan);
	pass_done(&pass);
	return good;
}

bool etl_order_stream(struct etw_file *file, size_t window_bytes, struct etw_damage *damage,
		      struct etl_progress *progress, const struct etw_visitor *visitor,
		      struct etw_error *err)
{
	struct pass pass = {
		.file = file,
		.visitor = visitor,
		.progress = progress,
		.newest_raw = INT64_MIN,
		.due_time = INT64_MAX,
		.due_offset = UINT64_MAX,
		.streaming = true,
		.window_bytes = window_bytes,
		.damage = damage,
	};
	bool good;

	etl_file_scan(file, &pass.scan, damage, 0, 0);
	good = run(&pass, err);
	if (good && !pass.streaming) {
		etl_check_count(file, pass.scan.sequence, damage);
	}
	etl_scan_done(&pass.scan);
	pass_done(&pass);
	return good;
}
