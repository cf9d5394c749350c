/* SPDX-License-Identifier: MIT */
/*
 * A part of a recording is useful only with the records that describe its events, such as names of
 * processes that started earlier, and layouts at the end of the recording. These can be anywhere,
 * so searching for them would mean reading the whole recording for each part.
 *
 * Therefore a first pass copies them into a recording of their own, a small file beside the output,
 * and notes the position and the times of each buffer. A part is then made from two inputs: from
 * the small file it gets the records of other times, and from the buffers that overlap its time
 * span the records of that span. So no part has a record twice, and records with the same time come
 * from one input, in its order.
 *
 * Only opens of files are missing in the small file: there may be as many as other events, and most
 * recordings also name their files by rundown.
 *
 * Call stacks belong to the time of their event, which may be in the previous part. Keys of stacks
 * are defined after they are used, so definitions get a second small file. A part takes only the
 * definitions that it needs (etwtool/relog/relog.h), because a session defines stacks as long
 * as it runs, and all of them would be too many.
 *
 * Cuts by size follow the buffers in the order of their first times. The whole size of a buffer
 * that overlaps a cut counts for both parts, so a part is rather smaller than the limit than
 * larger.
 *
 * The notes of the first pass are limited: at the limit each two are joined into one, which stands
 * for all buffers from the first to the last of both. Parts then have the same records, but more of
 * the input is read for each, and a cut by size lies between such runs of buffers.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/record.h>
#include <etw/stack_walk.h>

#include "base/array.h"
#include "base/os.h"
#include "base/text.h"
#include "etwtool/relog/relog.h"
#include "exporter/track/repeats.h"

enum { PARTS_MOST = 999999 };

bool split_by_read(void *target, const char *text, struct etw_error *err)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = { { "KB", 1000 },     { "MB", 1000000 },  { "GB", 1000000000 },
		      { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 } };
	struct split_by *by = target;
	size_t digits = strspn(text, "0123456789");
	uint64_t number;

	(void)err;
	*by = (struct split_by){ 0 };
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(text + digits, units[i].name) == 0) {
			if (!parse_u64(text, digits, &number) ||
			    number > UINT64_MAX / units[i].bytes) {
				return false;
			}
			by->size_bytes = number * units[i].bytes;
			return by->size_bytes > 0;
		}
	}
	return parse_duration(text, strlen(text), &by->duration_ms) && by->duration_ms > 0;
}

/* ---- the first pass ---- */

/*
 * A note about a buffer with records, or about several buffers that follow each other in the file.
 */
struct buffer_run {
	struct etw_mirror_place place;
	uint64_t end;        /* offset of the byte after the last buffer */
	int64_t first, last; /* lowest and highest raw time */
	uint64_t size;       /* estimated size of the copy in bytes */
};

struct split {
	struct etw_file *input;
	const struct split_request *request;
	struct buffer_run *runs; /* owned; in file order */
	size_t count;
	size_t capacity;
	const struct buffer_run **by_time; /* the runs sorted by first time; owned */
	struct describing describing;
	/* Temporary recordings beside the output; owned. */
	struct etw_file *names;
	struct etw_file *definitions; /* definitions of stacks; NULL without references */
	bool has_references;
	uint64_t defined_bytes; /* bytes of all definitions */
	/* bytes of definitions that are cached at the end of the recording */
	uint64_t cached_bytes;
	struct part_stacks stacks; /* stacks of the present part */

	struct buffer_run present; /* the buffer that the first pass reads */
	bool has_records;
	bool no_memory;

	int64_t from, to; /* raw times of the part; `to` is excluded … */
	bool open_end;    /* … unless this is the last part */
	size_t next;      /* index of the run that the part reads next */
	uint64_t kept;    /* records of its time span */
	bool goes_on;     /* the buffers that it has read have records after its time span … */
	int64_t later;    /* … the first of them at this raw time */
	unsigned parts;
};

/*
 * Returns the raw time that decides to which part a record belongs. Sets *stack to whether it is of
 * StackWalk, and *walk if so.
 */
static int64_t time_of(const struct etw_record *record, struct etw_stack_walk *walk, bool *stack)
{
	*stack = etw_stack_walk_read(record, walk);
	return *stack && walk->type != ETW_STACK_WALK_DEFINITION &&
			       walk->event_time != ETW_RECORD_NO_TIME &&
			       walk->event_time < record->raw_time ?
		       walk->event_time :
		       record->raw_time;
}

static void note_stack(struct split *split, const struct etw_record *record,
		       const struct etw_stack_walk *walk)
{
	split->has_references |= walk->type == ETW_STACK_WALK_REFERENCE;
	if (walk->type == ETW_STACK_WALK_DEFINITION) {
		split->defined_bytes += record->payload_size;
		if (record->opcode == ETW_KERNEL_OPCODE_STACK_WALK_KEY_RUNDOWN) {
			split->cached_bytes += record->payload_size;
		}
	}
}

/* Returns whether a describing record is FileIo/Create: it says what a file object means. */
static bool is_file_open(const struct etw_record *record)
{
	return record->classic ?
		       record->opcode == ETW_KERNEL_OPCODE_FILE_IO_CREATE &&
			       etw_kernel_class_of(record->provider) == ETW_KERNEL_FILE_IO :
		       (record->id == ETW_FILE_EVENT_CREATE ||
			record->id == ETW_FILE_EVENT_CREATE_NEW_FILE) &&
			       etw_provider_is(record->provider, ETW_PROVIDER_KERNEL_FILE);
}

static enum etw_mirror_action keep_describing(void *context, const struct etw_record *record,
					      struct etw_mirror_bytes *bytes)
{
	struct split *split = context;
	struct buffer_run *present = &split->present;
	struct etw_stack_walk walk;
	bool stack;
	int64_t time = time_of(record, &walk, &stack);

	(void)bytes;
	if (stack) {
		note_stack(split, record, &walk);
	}
	if (!split->has_records || time < present->first) {
		present->first = time;
	}
	if (!split->has_records || time > present->last) {
		present->last = time;
	}
	if (!split->has_records) {
		split->has_records = true;
		present->place.records = record->index;
	}
	return is_describing(&split->describing, record) && !is_file_open(record) ?
		       ETW_MIRROR_KEEP :
		       ETW_MIRROR_DROP;
}

/* Joins each two runs into one. */
static void join_runs(struct split *split)
{
	size_t count = 0;

	for (size_t i = 0; i < split->count; i += 2) {
		struct buffer_run joined = split->runs[i];

		if (i + 1 < split->count) {
			const struct buffer_run *other = &split->runs[i + 1];

			joined.end = other->end;
			joined.first = other->first < joined.first ? other->first : joined.first;
			joined.last = other->last > joined.last ? other->last : joined.last;
			joined.size += other->size;
		}
		split->runs[count++] = joined;
	}
	split->count = count;
}

static void add_run(struct split *split, uint64_t end)
{
	struct buffer_run *present = &split->present, *runs;
	uint64_t usual = etw_file_header(split->input)->buffer_size_bytes;

	present->end = end;
	present->size = end - present->place.offset;
	if (split->request->form.packing == ETW_PLAIN && present->size < usual) {
		present->size = usual;
	}
	if (split->count == split->request->notes_most) {
		join_runs(split);
	}
	runs = array_grow(split->runs, &split->capacity, split->count, sizeof *runs);
	if (!runs) {
		split->no_memory = true;
		return;
	}
	runs[split->count++] = *present;
	split->runs = runs;
}

static void note_buffer(void *context, uint64_t bytes_read)
{
	struct split *split = context;
	struct buffer_run *present = &split->present;

	if (split->has_records) {
		add_run(split, bytes_read);
	}
	split->has_records = false;
	present->place.offset = bytes_read;
	present->place.buffers++;
	if (split->request->on_buffer) {
		split->request->on_buffer(split->request->context, bytes_read);
	}
}

static int compare_times(const void *a, const void *b)
{
	const struct buffer_run *x = *(const struct buffer_run *const *)a;
	const struct buffer_run *y = *(const struct buffer_run *const *)b;

	if (x->first != y->first) {
		return x->first < y->first ? -1 : 1;
	}
	return x->place.offset < y->place.offset ? -1 : 1;
}

static enum etw_mirror_action keep_definition(void *context, const struct etw_record *record,
					      struct etw_mirror_bytes *bytes)
{
	struct etw_stack_walk walk;

	(void)context;
	(void)bytes;
	return etw_stack_walk_read(record, &walk) && walk.type == ETW_STACK_WALK_DEFINITION ?
		       ETW_MIRROR_KEEP :
		       ETW_MIRROR_DROP;
}

/* Copies records of the input into a temporary recording, and opens it. */
static bool make_small(struct split *split, struct etw_file **small,
		       const struct etw_mirror_visitor *visitor, struct etw_damage *damage,
		       struct etw_error *err)
{
	struct etw_mirror *mirror = etw_mirror_open_temporary(
		split->request->output, split->request->form, &split->input, 1, err);

	if (mirror && etw_mirror_copy(mirror, split->input, visitor, damage, err) &&
	    etw_mirror_finish(mirror, err)) {
		*small = etw_mirror_result(mirror, 0, err);
	}
	etw_mirror_close(mirror);
	return *small != NULL;
}

static bool first_pass(struct split *split, struct etw_damage *damage, struct etw_error *err)
{
	const struct etw_mirror_visitor describing = {
		.context = split,
		.decide = keep_describing,
		.buffer_context = split,
		.on_buffer = note_buffer,
	};
	const struct etw_mirror_visitor definitions = { .decide = keep_definition };
	struct etw_damage known = { 0 };

	if (!make_small(split, &split->names, &describing, damage, err) ||
	    (split->has_references && split->defined_bytes > 0 &&
	     !make_small(split, &split->definitions, &definitions, &known, err))) {
		return false;
	}
	split->by_time = calloc(split->count + 1, sizeof(struct buffer_run *));
	if (split->no_memory || !split->by_time) {
		return error_no_memory(err, "the buffers of the recording");
	}
	for (size_t i = 0; i < split->count; i++) {
		split->by_time[i] = &split->runs[i];
	}
	if (split->count > 0) {
		sort_items(split->by_time, split->count, sizeof(struct buffer_run *),
			   compare_times);
	}
	return true;
}

/* ---- a part ---- */

static bool is_inside(const struct split *split, int64_t time)
{
	return time >= split->from && (split->open_end || time < split->to);
}

static enum etw_mirror_action keep_outside(void *context, const struct etw_record *record,
					   struct etw_mirror_bytes *bytes)
{
	(void)bytes;
	return is_inside(context, record->raw_time) ? ETW_MIRROR_DROP : ETW_MIRROR_KEEP;
}

static enum etw_mirror_action keep_inside(void *context, const struct etw_record *record,
					  struct etw_mirror_bytes *bytes)
{
	struct split *split = context;
	struct etw_stack_walk walk;
	bool stack;
	int64_t time = time_of(record, &walk, &stack);

	(void)bytes;
	if (!is_inside(split, time)) {
		if (time >= split->to && (!split->goes_on || time < split->later)) {
			split->goes_on = true;
			split->later = time;
		}
		return ETW_MIRROR_DROP;
	}
	if (stack && walk.type == ETW_STACK_WALK_REFERENCE && split->definitions) {
		part_stacks_refer(&split->stacks, walk.key, record->raw_time);
	}
	split->kept++;
	return ETW_MIRROR_KEEP;
}

/*
 * Implements seek() of a struct etw_mirror_visitor: finds the next buffer that overlaps the time
 * span of the part.
 */
static bool seek_inside(void *context, struct etw_mirror_place *place)
{
	struct split *split = context;

	while (split->next < split->count) {
		const struct buffer_run *run = &split->runs[split->next];

		if (run->end > place->offset && run->last >= split->from &&
		    (split->open_end || run->first < split->to)) {
			if (run->place.offset > place->offset) {
				*place = run->place;
			}
			return true;
		}
		split->next++;
	}
	return false;
}

static enum etw_mirror_action define_stack(void *context, const struct etw_record *record,
					   struct etw_mirror_bytes *bytes)
{
	struct split *split = context;
	struct etw_stack_walk walk;

	(void)bytes;
	if (etw_stack_walk_read(record, &walk)) {
		part_stacks_define(&split->stacks, walk.key, record->raw_time);
	}
	return ETW_MIRROR_DROP;
}

/* Keeps the definitions that the part needs from after its end. Earlier ones it has. */
static enum etw_mirror_action keep_needed(void *context, const struct etw_record *record,
					  struct etw_mirror_bytes *bytes)
{
	const struct split *split = context;
	struct etw_stack_walk walk;

	(void)bytes;
	return etw_stack_walk_read(record, &walk) && !split->open_end &&
			       record->raw_time >= split->to &&
			       part_stacks_need(&split->stacks, walk.key, record->raw_time) ?
		       ETW_MIRROR_KEEP :
		       ETW_MIRROR_DROP;
}

/* Adds the definitions that records of the part need. */
static bool add_definitions(struct split *split, struct etw_mirror *mirror, struct etw_error *err)
{
	const struct etw_mirror_visitor defining = { .context = split, .decide = define_stack };
	const struct etw_mirror_visitor add = { .context = split, .decide = keep_needed };
	struct etw_file *file = split->definitions;
	struct etw_damage known = { 0 };

	if (split->stacks.references.count > 0 &&
	    !(etw_mirror_copy(mirror, file, &defining, &known, err) &&
	      etw_mirror_copy(mirror, file, &add, &known, err))) {
		return false;
	}
	return !split->stacks.no_memory || error_no_memory(err, "the stacks of a part");
}

/* Adds the path of a part: "out_000001.etl" for "out.etl". */
static void add_part_path(struct etw_text *path, const char *output, unsigned number)
{
	size_t size = strlen(output);

	if (text_ends_nocase(output, size, ".etl", 4)) {
		size -= 4;
	}
	text_add(path, output, size);
	text_add_format(path, "_%06u.etl", number);
}

static bool write_part(struct split *split, struct etw_error *err)
{
	const struct etw_mirror_visitor outside = { .context = split, .decide = keep_outside };
	const struct etw_mirror_visitor inside = {
		.context = split, .decide = keep_inside, .seek_context = split, .seek = seek_inside
	};
	struct etw_damage known = { 0 }; /* the first pass has counted it */
	struct etw_mirror_counts counts;
	struct etw_text path = { 0 };
	struct etw_mirror *mirror;
	bool good;

	add_part_path(&path, split->request->output, split->parts + 1);
	if (path.failed) {
		return error_no_memory(err, "the name of a part");
	}
	split->next = 0;
	split->kept = 0;
	split->goes_on = false;
	if (split->request->may_write &&
	    !split->request->may_write(split->request->context, path.data, err)) {
		text_free(&path);
		return false;
	}
	mirror = etw_mirror_open(path.data, split->request->form, &split->names, 1, err);
	good = mirror && etw_mirror_copy(mirror, split->names, &outside, &known, err) &&
	       etw_mirror_copy(mirror, split->input, &inside, &known, err) &&
	       add_definitions(split, mirror, err);
	part_stacks_done(&split->stacks);
	if (good && split->kept > 0) {
		good = etw_mirror_finish(mirror, err);
		split->parts += good;
		if (good && split->request->on_part) {
			etw_mirror_counts(mirror, &counts);
			split->request->on_part(split->request->context, path.data, &counts);
		}
	}
	etw_mirror_close(mirror);
	text_free(&path);
	return good;
}

/* ---- cuts ---- */

static bool too_many(struct etw_error *err)
{
	return error_set(err, ETW_ERROR_LIMIT, "--split: there would be more than %d parts",
			 (int)PARTS_MOST);
}

static bool by_duration(struct split *split, struct etw_error *err)
{
	const struct etw_source_clock *clock = etw_file_clock(split->input);
	uint64_t ticks = etw_ticks_of_ms(split->request->by.duration_ms, clock->frequency);
	int64_t start = clock->anchor_raw;
	size_t next = 0;

	if (ticks == 0 || ticks > INT64_MAX) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "--split: a part cannot be that short or that long");
	}
	split->from = INT64_MIN; /* records before the start belong to the first part */
	for (;;) {
		uint64_t passed;

		split->open_end = start > INT64_MAX - (int64_t)ticks;
		split->to = split->open_end ? INT64_MAX : start + (int64_t)ticks;
		if (split->parts >= PARTS_MOST) {
			return too_many(err);
		}
		if (!write_part(split, err)) {
			return false;
		}
		while (next < split->count && split->by_time[next]->first < split->to) {
			next++;
		}
		/*
		 * The next record is in a buffer that this part has read, or in a buffer that
		 * begins later.
		 */
		if (next < split->count &&
		    (!split->goes_on || split->by_time[next]->first < split->later)) {
			split->goes_on = true;
			split->later = split->by_time[next]->first;
		}
		if (split->open_end || !split->goes_on) {
			return true;
		}
		passed = (uint64_t)split->later - (uint64_t)start;
		start = (int64_t)((uint64_t)start + passed / ticks * ticks);
		split->from = start;
	}
}

/*
 * Estimates the bytes of definitions that a part needs from after its end. These are the stacks
 * that are cached then, about as many as are cached at the end of the recording.
 */
static uint64_t size_of_cached(const struct split *split)
{
	return split->definitions ?
		       (uint64_t)((double)etw_file_size_bytes(split->definitions) *
				  (double)split->cached_bytes / (double)split->defined_bytes) :
		       0;
}

static bool by_size(struct split *split, struct etw_error *err)
{
	uint64_t most = split->request->by.size_bytes;
	uint64_t names = etw_file_size_bytes(split->names);
	uint64_t stacks = size_of_cached(split);
	const struct buffer_run **open; /* buffers that overlap the present part */
	size_t open_count = 0, next = 0;
	bool good = true;

	if (names >= most) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "what every part needs is %" PRIu64
				 " bytes, which leaves no room for other records",
				 names);
	}
	open = calloc(split->count + 1, sizeof(struct buffer_run *));
	if (!open) {
		return error_no_memory(err, "the buffers of the recording");
	}
	split->from = INT64_MIN;
	while (good && next < split->count) {
		uint64_t size = names + stacks;
		size_t left = 0;

		for (size_t i = 0; i < open_count; i++) {
			size += open[i]->size;
		}
		/* A part has at least one buffer, and all that begin at the same time. */
		do {
			size += split->by_time[next]->size;
			open[open_count++] = split->by_time[next++];
		} while (next < split->count &&
			 (split->by_time[next]->first <= split->from ||
			  split->by_time[next]->first == split->by_time[next - 1]->first ||
			  size + split->by_time[next]->size <= most));
		split->open_end = next == split->count;
		split->to = split->open_end ? INT64_MAX : split->by_time[next]->first;
		good = split->parts < PARTS_MOST ? write_part(split, err) : too_many(err);
		for (size_t i = 0; i < open_count; i++) {
			if (open[i]->last >= split->to) {
				open[left++] = open[i];
			}
		}
		open_count = left;
		split->from = split->to;
	}
	free(open);
	return good;
}

/* Removes the parts after a failure, because they would look like the complete set. */
static void remove_parts(struct split *split)
{
	for (; split->parts > 0; split->parts--) {
		struct etw_text path = { 0 };

		add_part_path(&path, split->request->output, split->parts);
		if (!path.failed) {
			os_file_remove(path.data, NULL);
		}
		text_free(&path);
	}
}

bool split_recording(struct etw_file *input, const struct split_request *request,
		     struct etw_damage *damage, struct etw_error *err)
{
	struct split split = { .input = input, .request = request };
	bool good;

	describing_init(&split.describing);
	good = first_pass(&split, damage, err) &&
	       (request->by.size_bytes > 0 ? by_size(&split, err) : by_duration(&split, err));
	if (!good) {
		remove_parts(&split);
	}
	etw_file_close(split.names);
	etw_file_close(split.definitions);
	describing_done(&split.describing);
	free(split.by_time);
	free(split.runs);
	return good;
}
