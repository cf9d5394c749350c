/* SPDX-License-Identifier: MIT */
/*
 * Several threads that read a recording in ranges show the same records as one that reads it alone:
 * recordings and cuts of chance, and recordings large enough for ranges to be chosen.
 */
#include "etl/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/os.h"
#include "etl/writer.h"
#include "tests/support/chance.h"
#include "tests/support/collected.h"
#include "tests/support/temporary.h"
#include "tests/support/thorough.h"

enum {
	PROCESSORS_MOST = 12,
	HEADER_SIZE = 72, /* of a buffer */
	HEADERS = 40,     /* of a record, about */
	MIB = 1 << 20,
	QUEUES_MOST =
		20 * MIB, /* what may wait for the visitor: of the range that it is at 4 MiB */
	CHUNKS_MOST = 18 * 128 << 10, /* one that each thread fills, and two on their way */
};

/* ---- recordings ---- */

/* How the times of a recording run. */
enum shape {
	RISING,    /* as in life: the processors share one clock */
	EQUAL,     /* many ties, also between processors */
	BACKWARDS, /* steps back now and then, and messages without a time */
	WILD,
	SHAPES
};

struct times {
	enum shape shape;
	int64_t now;                   /* of all processors */
	int64_t last[PROCESSORS_MOST]; /* of each, where they have clocks of their own */
};

static int64_t next_time(struct times *times, uint16_t processor)
{
	switch (times->shape) {
	case RISING:
		times->now += (int64_t)chance(5);
		return times->now;
	case EQUAL:
		times->now += chance(40) == 0;
		return times->now;
	case BACKWARDS:
		times->last[processor] += chance(30) == 0 ? -(int64_t)chance(500) :
							    (int64_t)chance(50);
		return times->last[processor];
	default:
		return (int64_t)chance(1000000) - 500000;
	}
}

/* Gives the record one of the headers that records have, with what only some of them have. */
static void dress(struct etl_out_record *record, uint64_t number, bool without_time)
{
	static const struct guid providers[] = { { { 1, 2, 3, 4 } }, { { 5, 6, 7, 8 } } };
	static const struct guid activities[] = { { { 9, 1, 1, 1 } }, { { 10, 2, 2, 2 } } };
	static const uint64_t stack[] = { 1, 0xfffff80012345678, 0x7ff812345678, 4 };
	static const struct etl_out_item items[] = {
		{ EXTENDED_STACK64, sizeof stack, stack },
		{ EXTENDED_RELATED_ACTIVITY, sizeof activities[0], &activities[0] },
		{ EXTENDED_PROVIDER_TRAITS, 5, "trait" },
	};

	record->provider = &providers[number % 2];
	record->process_id = (uint32_t)chance(1000);
	record->thread_id = (uint32_t)chance(1000);
	record->id = (uint16_t)number;
	switch (number % 8) {
	case 0:
		record->type = RECORD_SYSTEM;
		break;
	case 1:
		record->type = RECORD_COMPACT;
		break;
	case 2:
		record->type = RECORD_FULL;
		break;
	case 3:
		/* Its provider is in no buffer. With 0x08 it has a time. */
		record->type = RECORD_MESSAGE;
		record->flags = without_time ? 0x04 : 0x04 | 0x08;
		record->component = (uint32_t)number;
		break;
	case 4:
	case 5:
		record->type = RECORD_EVENT;
		record->activity = &activities[number / 8 % 2];
		record->items = items;
		record->item_count = (size_t)chance(4);
		break;
	default:
		record->type = RECORD_PERFINFO;
	}
}

struct form {
	enum shape shape;
	uint16_t processors; /* at most PROCESSORS_MOST */
	uint32_t buffer_size;
	uint64_t bytes;      /* of records, about */
	size_t payload_most; /* of a record */
	bool compressed;
};

static void add_record(struct etl_writer *writer, const struct form *form, struct times *times,
		       uint8_t *payload, uint64_t *bytes)
{
	/* Some processors are much busier than others. */
	uint16_t processor = (uint16_t)chance(1 + chance(form->processors));
	uint64_t number = chance(1 << 16);
	struct etl_out_record record = {
		.processor = processor,
		.raw_time = next_time(times, processor),
		.group = 0x0f,
		.opcode = 46,
		.payload = payload,
		.payload_size = (size_t)chance(form->payload_most),
	};

	dress(&record, number, form->shape >= BACKWARDS && chance(50) == 0);
	payload[chance(form->payload_most)] = (uint8_t)number;
	etl_writer_add(writer, &record);
	*bytes += HEADERS + record.payload_size;
}

/* A buffer without records: WMI_BUFFER_HEADER alone, docs/etl-format.md section 1.1. */
static void add_empty_buffer(struct etl_writer *writer, uint32_t size)
{
	uint8_t bytes[HEADER_SIZE] = { 0 };

	for (unsigned i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(size >> 8 * i);
	}
	bytes[0x04] = HEADER_SIZE; /* SavedOffset */
	bytes[0x30] = HEADER_SIZE; /* Offset */
	etl_writer_add_buffer(writer, bytes, HEADER_SIZE, size);
}

static struct etl_writer *build(const struct form *form)
{
	const struct etl_writer_options options = { .processors = form->processors,
						    .buffer_size = form->buffer_size,
						    .compressed = form->compressed,
						    .processor_index = true };
	struct times times = { .shape = form->shape, .now = 1000 };
	struct error err;
	struct etl_writer *writer = etl_writer_open(NULL, &options, &err);
	uint8_t *payload = malloc(form->payload_most);
	uint64_t bytes = 0;

	assert_true(writer && payload);
	for (size_t i = 0; i < form->payload_most; i++) {
		payload[i] = (uint8_t)(i * 7);
	}
	for (size_t i = 0; i < PROCESSORS_MOST; i++) {
		times.last[i] = (int64_t)chance(1000);
	}
	while (bytes < form->bytes) {
		add_record(writer, form, &times, payload, &bytes);
		if (chance(2000) == 0) {
			etl_writer_flush(writer);
		}
		if (chance(1000) == 0) {
			add_empty_buffer(writer, form->buffer_size);
		}
	}
	assert_true(etl_writer_finish(writer, &err));
	free(payload);
	return writer;
}

/* ---- what one thread shows ---- */

/* A recording, and what a pass of one thread shows of it. */
struct recording {
	struct etl_writer *writer; /* owned; NULL: it is in a file */
	struct etl_file *file;
	struct etl_index index;
	struct collected records; /* in time order */
	size_t *places; /* owned; of each record by its index in the file: its place in the order */
	struct etl_progress progress;
	uint64_t bytes_read;
};

static void make_index(struct recording *recording, size_t keep_bytes)
{
	struct etl_damage damage = { 0 };
	struct error err;

	etl_index_done(&recording->index);
	recording->index =
		(struct etl_index){ .entries_max = ETL_INDEX_MAX, .keep_bytes = keep_bytes };
	assert_true(etl_index_build(&recording->index, recording->file, &damage,
				    &(struct etl_visitor){ 0 }, &err));
}

static void note_bytes(void *context, uint64_t bytes_read)
{
	*(uint64_t *)context = bytes_read;
}

/* Such a pass takes the unpacked buffers out of the index, which is made anew. */
static void read_whole(struct recording *recording, size_t keep_bytes)
{
	const struct etl_visitor visitor = { .record_context = &recording->records,
					     .on_record = collect,
					     .buffer_context = &recording->bytes_read,
					     .on_buffer = note_bytes };
	struct error err;

	make_index(recording, keep_bytes);
	recording->progress.last_time = RECORD_NO_TIME;
	assert_true(etl_order_run(recording->file, &recording->index, ETL_OPEN_MAX,
				  &recording->progress, &visitor, &err));
	recording->places = calloc(recording->records.count, sizeof *recording->places);
	assert_non_null(recording->places);
	for (size_t i = 0; i < recording->records.count; i++) {
		assert_true(recording->records.records[i].index < recording->records.count);
		recording->places[recording->records.records[i].index] = i;
	}
	make_index(recording, keep_bytes);
}

/* Takes over the writer. keep_bytes: of unpacked buffers, in the index. */
static void open_recording(struct recording *recording, struct etl_writer *writer,
			   size_t keep_bytes)
{
	struct error err;
	size_t size;
	const uint8_t *bytes = etl_writer_bytes(writer, &size);

	*recording =
		(struct recording){ .writer = writer, .file = etl_file_over(bytes, size, 0, &err) };
	assert_non_null(recording->file);
	read_whole(recording, keep_bytes);
}

static void open_file(struct recording *recording, const char *path, size_t keep_bytes)
{
	struct error err;

	*recording = (struct recording){ .file = etl_file_open(path, 0, &err) };
	assert_non_null(recording->file);
	read_whole(recording, keep_bytes);
}

static void close_recording(struct recording *recording)
{
	collected_done(&recording->records);
	free(recording->places);
	etl_index_done(&recording->index);
	etl_file_close(recording->file);
	etl_writer_close(recording->writer);
}

/* ---- what several threads show ---- */

/* Which records a helper leaves to the visitor, by their index. */
enum leaving { LEAVE_ALL, LEAVE_NONE, LEAVE_THIRD, LEAVE_RUNS, LEAVINGS };

static bool leaves(enum leaving leaving, uint64_t index)
{
	return leaving == LEAVE_ALL || (leaving == LEAVE_THIRD && index % 3 == 0) ||
	       (leaving == LEAVE_RUNS && index / 700 % 2 == 0);
}

/* One of the helpers. */
struct hand {
	struct team *team;
	struct collected records;
	size_t *part_ends; /* owned; of records, at each on_idle */
	size_t part_count, part_capacity;
};

/* What a visitor has seen at the end of a range. */
struct seen_range {
	size_t left; /* records shown before it */
	struct etl_progress progress;
};

/* Helpers, and the visitor of what they leave. */
struct team {
	enum leaving leaving;
	struct hand hands[EVENT_HELPERS_MAX];
	struct event_helper helpers[EVENT_HELPERS_MAX];
	size_t count;
	struct collected left; /* by the visitor */
	struct etl_progress progress;
	uint64_t bytes_read;
	struct seen_range *ranges; /* owned */
	size_t range_count, range_capacity;
	atomic_bool stopping;
	size_t stop_after;        /* so many records were left; SIZE_MAX: never */
	uint64_t helper_stops_at; /* the record with this index; UINT64_MAX: none does */
};

static bool show_hand(void *context, const struct event_record *record)
{
	struct hand *hand = context;
	struct team *team = hand->team;

	collect(&hand->records, record);
	if (record->index == team->helper_stops_at) {
		atomic_store(&team->stopping, true);
	}
	return !leaves(team->leaving, record->index);
}

static void end_part(void *context)
{
	struct hand *hand = context;
	size_t *ends =
		array_grow(hand->part_ends, &hand->part_capacity, hand->part_count, sizeof *ends);

	assert_non_null(ends);
	hand->part_ends = ends;
	ends[hand->part_count++] = hand->records.count;
}

static void see_left(void *context, const struct event_record *record)
{
	struct team *team = context;

	collect(&team->left, record);
	if (team->left.count == team->stop_after) {
		atomic_store(&team->stopping, true);
	}
}

static void see_range(void *context, uint64_t bytes_read)
{
	struct team *team = context;
	struct seen_range *ranges =
		array_grow(team->ranges, &team->range_capacity, team->range_count, sizeof *ranges);

	assert_non_null(ranges);
	team->ranges = ranges;
	ranges[team->range_count++] =
		(struct seen_range){ .left = team->left.count, .progress = team->progress };
	assert_true(bytes_read >= team->bytes_read);
	team->bytes_read = bytes_read;
}

static void team_init(struct team *team, size_t count, enum leaving leaving)
{
	*team = (struct team){ .leaving = leaving,
			       .count = count,
			       .progress = { .last_time = RECORD_NO_TIME },
			       .stop_after = SIZE_MAX,
			       .helper_stops_at = UINT64_MAX };
	for (size_t i = 0; i < count; i++) {
		team->hands[i].team = team;
		team->helpers[i] = (struct event_helper){ .context = &team->hands[i],
							  .on_event = show_hand,
							  .on_idle = end_part };
	}
}

static void team_done(struct team *team)
{
	for (size_t i = 0; i < team->count; i++) {
		collected_done(&team->hands[i].records);
		free(team->hands[i].part_ends);
	}
	collected_done(&team->left);
	free(team->ranges);
}

static bool team_run(struct team *team, struct recording *recording,
		     const struct etl_ranges *ranges, struct error *err)
{
	const struct etl_visitor visitor = { .record_context = team,
					     .on_record = see_left,
					     .buffer_context = team,
					     .on_buffer = see_range,
					     .stopping = &team->stopping };

	return etl_order_run_ranges(recording->file, &recording->index, ranges, team->helpers,
				    team->count, &team->progress, &visitor, err);
}

/* ---- comparisons ---- */

static bool record_equal(const struct collected_record *a, const struct collected_record *b)
{
	return a->index == b->index && a->raw_time == b->raw_time && a->hash == b->hash;
}

/* What was left is the order from its beginning on, without the records that helpers have counted,
 * up to where the pass ended. */
static void assert_left_in_order(const struct team *team, const struct recording *recording)
{
	size_t at = 0;

	for (size_t i = 0; i < team->left.count; i++) {
		while (at < recording->records.count &&
		       !leaves(team->leaving, recording->records.records[at].index)) {
			at++;
		}
		assert_true(at < recording->records.count);
		assert_true(record_equal(&team->left.records[i], &recording->records.records[at]));
		at++;
	}
}

/* Number of the range in which a time is. */
static size_t range_of(const struct etl_ranges *ranges, int64_t time)
{
	size_t range = 0;

	while (range + 1 < ranges->count && ranges->starts[range + 1] <= time) {
		range++;
	}
	return range;
}

/*
 * Between two times when a helper was idle, it was shown one range, whole and in order. shown[i]
 * counts how often the record at a place of the order was shown.
 */
static void assert_parts_are_ranges(const struct hand *hand, const struct recording *recording,
				    const struct etl_ranges *ranges, uint8_t *shown)
{
	size_t at = 0;

	for (size_t part = 0; part < hand->part_count; part++) {
		size_t first = at;

		for (; at < hand->part_ends[part]; at++) {
			const struct collected_record *record = &hand->records.records[at];
			size_t place = recording->places[record->index];

			assert_true(record_equal(record, &recording->records.records[place]));
			assert_true(at == first ||
				    place == recording->places[record[-1].index] + 1);
			assert_int_equal(range_of(ranges, record->raw_time),
					 range_of(ranges, hand->records.records[first].raw_time));
			shown[place]++;
		}
	}
	assert_int_equal(at, hand->records.count);
}

static void assert_progress_equal(const struct etl_progress *a, const struct etl_progress *b)
{
	assert_int_equal(a->records, b->records);
	assert_int_equal(a->buffers, b->buffers);
	assert_int_equal(a->late_records, b->late_records);
	assert_true(a->last_time == b->last_time);
}

/* At the end of each range, all of it was shown and counted, and nothing after it. */
static void assert_range_ends(const struct team *team, const struct recording *recording,
			      const struct etl_ranges *ranges)
{
	size_t at = 0, left = 0;

	assert_int_equal(team->range_count, ranges->count);
	for (size_t i = 0; i < ranges->count; i++) {
		for (; at < recording->records.count &&
		       range_of(ranges, recording->records.records[at].raw_time) <= i;
		     at++) {
			left += leaves(team->leaving, recording->records.records[at].index);
		}
		assert_int_equal(team->ranges[i].left, left);
		assert_int_equal(team->ranges[i].progress.records, at);
	}
}

/* Reads the recording with so many threads, and compares. */
static void compare(struct recording *recording, const struct etl_ranges *ranges, size_t threads,
		    enum leaving leaving)
{
	uint8_t *shown = calloc(recording->records.count, 1);
	struct error err = { 0 };
	struct team team;

	assert_non_null(shown);
	team_init(&team, threads, leaving);
	if (!team_run(&team, recording, ranges, &err)) {
		fail_msg("%s", err.text);
	}
	assert_left_in_order(&team, recording);
	for (size_t i = 0; i < threads; i++) {
		assert_parts_are_ranges(&team.hands[i], recording, ranges, shown);
	}
	for (size_t i = 0; i < recording->records.count; i++) {
		assert_int_equal(shown[i], 1);
	}
	assert_range_ends(&team, recording, ranges);
	assert_progress_equal(&team.progress, &recording->progress);
	assert_int_equal(team.bytes_read, recording->bytes_read);
	free(shown);
	team_done(&team);
}

/* ---- cuts of chance ---- */

enum { CUTS_MOST = 12 };

static const size_t thread_counts[] = { 1, 2, 5, EVENT_HELPERS_MAX };

enum { THREAD_COUNTS = sizeof thread_counts / sizeof thread_counts[0] };

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

struct cuts {
	int64_t starts[CUTS_MOST];
	struct etl_ranges ranges; /* of these starts */
};

/* At times of records, and just before and after; also before the first and after the last one. */
static void cut_by_chance(const struct recording *recording, struct cuts *cuts)
{
	size_t count = 1 + (size_t)chance(CUTS_MOST);
	int64_t *starts = cuts->starts;

	for (size_t i = 1; i < count; i++) {
		size_t at = (size_t)chance(recording->records.count);
		int64_t time = recording->records.records[at].raw_time;

		starts[i] = time == RECORD_NO_TIME ? INT64_MIN + 1 : time + (int64_t)chance(3) - 1;
	}
	if (chance(3) == 0) {
		starts[count - 1] = INT64_MAX;
	}
	starts[0] = INT64_MIN;
	qsort(starts, count, sizeof *starts, compare_times);
	cuts->ranges = (struct etl_ranges){ .starts = starts, .count = 1 };
	for (size_t i = 1; i < count; i++) {
		if (starts[i] > starts[cuts->ranges.count - 1]) {
			starts[cuts->ranges.count++] = starts[i];
		}
	}
}

static void open_by_chance(struct recording *recording, enum shape shape, bool compressed)
{
	const struct form form = { .shape = shape,
				   .processors = (uint16_t)(1 + chance(PROCESSORS_MOST)),
				   .buffer_size = UINT32_C(1024) << chance(4),
				   .bytes = chance(256) * 500,
				   .payload_most = 1 + (size_t)chance(300),
				   .compressed = compressed };

	/* None, some or all of the unpacked buffers are kept. */
	open_recording(recording, build(&form), (size_t)chance(3) * 50000);
}

static void any_cuts_give_the_records_of_one_thread_in_its_order(void **state)
{
	const unsigned rounds = is_thorough() ? 96 : 32; /* four of each form, at least */

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		struct recording recording;
		struct cuts cuts;

		open_by_chance(&recording, round % SHAPES, round / SHAPES % 2);
		for (unsigned i = 0; i < LEAVINGS; i++) {
			cut_by_chance(&recording, &cuts);
			compare(&recording, &cuts.ranges,
				thread_counts[(round + i) % THREAD_COUNTS], i);
		}
		close_recording(&recording);
	}
}

/* Four records of each time, of two processors and in two buffers of each, and every cut. */
static void a_cut_at_equal_times_has_all_of_them_on_one_side(void **state)
{
	enum { TIMES = 40, BETWEEN = 12 };
	const struct etl_writer_options options = { .processors = 2, .buffer_size = 4096 };
	struct error err;
	struct etl_writer *writer = etl_writer_open(NULL, &options, &err);
	struct recording recording;

	(void)state;
	assert_non_null(writer);
	for (unsigned i = 0; i < 4 * TIMES; i++) {
		etl_writer_add(writer, &(struct etl_out_record){
					       .type = RECORD_PERFINFO,
					       .processor = i % 2,
					       .raw_time = 10 + i / 4,
					       .group = 0x0f,
					       .payload = &i,
					       .payload_size = sizeof i,
				       });
		if (i % BETWEEN == 1) { /* within the records of a time */
			etl_writer_flush(writer);
		}
	}
	assert_true(etl_writer_finish(writer, &err));
	open_recording(&recording, writer, 0);
	assert_int_equal(recording.records.count, 4 * TIMES + 1);
	for (int64_t cut = 9; cut < 10 + TIMES + 2; cut++) {
		int64_t starts[] = { INT64_MIN, cut, cut + 1 };

		for (size_t count = 2; count <= 3; count++) {
			const struct etl_ranges ranges = { .starts = starts, .count = count };

			compare(&recording, &ranges, 2, LEAVE_THIRD);
		}
	}
	close_recording(&recording);
}

/* A second time after the first one, and by one thread after that. */
static void the_index_serves_other_passes_too(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		struct collected again = { 0 };
		const struct etl_visitor visitor = { .record_context = &again,
						     .on_record = collect };
		struct etl_progress progress = { .last_time = RECORD_NO_TIME };
		struct recording recording;
		struct cuts cuts;
		struct error err;

		open_by_chance(&recording, RISING, true);
		make_index(&recording, ETL_KEEP_MAX);
		cut_by_chance(&recording, &cuts);
		compare(&recording, &cuts.ranges, 2, LEAVE_ALL);
		compare(&recording, &cuts.ranges, 3, LEAVE_THIRD);
		assert_true(etl_order_run(recording.file, &recording.index, ETL_OPEN_MAX, &progress,
					  &visitor, &err));
		assert_true(collected_equal(&again, &recording.records));
		collected_done(&again);
		close_recording(&recording);
	}
}

static void without_helpers_the_visitor_is_shown_everything(void **state)
{
	struct recording recording;
	struct cuts cuts;
	struct error err;
	struct team team;

	(void)state;
	open_by_chance(&recording, RISING, false);
	cut_by_chance(&recording, &cuts);
	team_init(&team, 0, LEAVE_NONE);
	assert_true(team_run(&team, &recording, &cuts.ranges, &err));
	assert_true(collected_equal(&team.left, &recording.records));
	assert_progress_equal(&team.progress, &recording.progress);
	team_done(&team);
	close_recording(&recording);
}

/* ---- one range ---- */

/* With an index of its own: all buffers that begin before the end of the range. */
static void run_range(struct recording *recording, const struct etl_range *range,
		      struct collected *records, struct etl_progress *progress)
{
	const struct etl_visitor visitor = { .record_context = records, .on_record = collect };
	struct etl_file file = *recording->file;
	struct etl_index index = { .complete = true, .borrows = true };
	struct error err;

	file.input.blocks = (struct etl_blocks){ .unused = NULL };
	index.entries = calloc(recording->index.count, sizeof *index.entries);
	assert_non_null(index.entries);
	while (index.count < recording->index.count &&
	       recording->index.entries[index.count].first_time < range->until) {
		index.entries[index.count] = recording->index.entries[index.count];
		index.count++;
	}
	assert_true(etl_order_run_range(&file, &index, range, progress, &visitor, &err));
	free(index.entries);
	etl_blocks_done(&file.input.blocks);
}

/* Buffers that end before the range do no harm. */
static void a_range_has_the_records_from_its_start_and_below_its_end(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 64; round++) {
		struct collected records = { 0 };
		struct etl_progress progress = { .last_time = RECORD_NO_TIME };
		struct recording recording;
		struct cuts cuts;

		open_by_chance(&recording, round % SHAPES, round / SHAPES % 2);
		cut_by_chance(&recording, &cuts);
		for (size_t i = 0; i < cuts.ranges.count; i++) {
			const struct etl_range range = {
				.from = cuts.starts[i],
				.until = i + 1 < cuts.ranges.count ? cuts.starts[i + 1] : INT64_MAX,
			};

			run_range(&recording, &range, &records, &progress);
			assert_int_equal(progress.records, records.count);
		}
		assert_true(collected_equal(&records, &recording.records));
		assert_int_equal(progress.late_records, 0);
		assert_true(progress.last_time == recording.progress.last_time);
		collected_done(&records);
		close_recording(&recording);
	}
}

/* ---- the index ---- */

/* The index in the file of the record behind those of a buffer. */
static uint64_t end_of(const struct recording *recording, const struct etl_entry *entry)
{
	uint64_t end = recording->records.count;

	for (size_t i = 0; i < recording->index.count; i++) {
		uint64_t other = recording->index.entries[i].first_record;

		end = other > entry->first_record && other < end ? other : end;
	}
	return end;
}

static void the_times_of_a_buffer_hold_those_of_its_records(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct recording recording;
		size_t in_order = 0;

		open_by_chance(&recording, round % SHAPES, round / SHAPES % 2);
		assert_false(recording.index.borrows);
		for (size_t i = 0; i < recording.index.count; i++) {
			const struct etl_entry *entry = &recording.index.entries[i];
			uint64_t end = end_of(&recording, entry);
			int64_t first = INT64_MAX, last = INT64_MIN;
			bool unordered = false;

			for (uint64_t index = entry->first_record; index < end; index++) {
				size_t place = recording.places[index];
				int64_t time = recording.records.records[place].raw_time;

				unordered |= time < last;
				first = time < first ? time : first;
				last = time > last ? time : last;
			}
			assert_true(entry->first_time == first);
			assert_true(entry->last_time >= last);
			assert_true(unordered || entry->last_time == last);
			in_order += !unordered;
		}
		assert_true(in_order > 0); /* that of the header */
		close_recording(&recording);
	}
}

/* ---- large recordings ---- */

/* Some 17 MiB: four ranges. */
static const struct form large = {
	.shape = RISING,
	.processors = 5,
	.buffer_size = 32 << 10,
	.bytes = 16 * MIB,
	.payload_most = 400,
};

static void open_large(struct recording *recording, uint64_t bytes)
{
	struct form form = large;

	form.bytes = bytes;
	open_recording(recording, build(&form), 0);
}

static void choose(const struct recording *recording, size_t threads, struct etl_ranges *ranges)
{
	assert_true(etl_ranges_choose(&recording->index, threads, ranges));
}

static void chosen_ranges_give_the_records_of_one_thread_in_its_order(void **state)
{
	static const struct {
		enum shape shape;
		bool compressed;
	} forms[] = { { RISING, false }, { EQUAL, false }, { RISING, true } };

	(void)state;
	for (unsigned number = 0; number < sizeof forms / sizeof forms[0]; number++) {
		struct form form = large;
		struct recording recording;
		struct etl_ranges ranges;

		form.shape = forms[number].shape;
		form.compressed = forms[number].compressed;
		/* Half of what is unpacked is kept. */
		open_recording(&recording, build(&form), 8 * MIB);
		assert_true(recording.index.empty_buffers > 0);
		for (unsigned i = 0; i < THREAD_COUNTS; i++) {
			if (is_thorough() ? i % 2 != number % 2 : i != 1 + number % 2) {
				continue;
			}
			choose(&recording, thread_counts[i], &ranges);
			assert_in_range(ranges.count, 3, 5);
			compare(&recording, &ranges, thread_counts[i],
				(enum leaving)((number + i) % LEAVINGS));
			etl_ranges_done(&ranges);
		}
		close_recording(&recording);
	}
}

static void a_recording_in_no_order_has_no_ranges(void **state)
{
	struct form form = large;
	struct recording recording;
	struct etl_ranges ranges;

	(void)state;
	form.shape = WILD;
	open_recording(&recording, build(&form), 0);
	assert_false(etl_ranges_choose(&recording.index, 2, &ranges));
	close_recording(&recording);
}

/* ---- a slow visitor ---- */

/* What helpers have left and the visitor has not been shown yet, in bytes of payload. */
struct backlog {
	struct os_mutex lock;
	struct os_condition grew;
	uint64_t left, shown, most;
	uint64_t until; /* the visitor waits at its first record until so much was left */
	struct collected records;
};

static bool leave_to_backlog(void *context, const struct event_record *record)
{
	struct backlog *backlog = context;
	uint64_t waiting;

	os_mutex_lock(&backlog->lock);
	backlog->left += record->payload_size;
	waiting = backlog->left - backlog->shown;
	backlog->most = waiting > backlog->most ? waiting : backlog->most;
	os_condition_wake_all(&backlog->grew);
	os_mutex_unlock(&backlog->lock);
	return false;
}

static void see_late(void *context, const struct event_record *record)
{
	struct backlog *backlog = context;

	collect(&backlog->records, record);
	os_mutex_lock(&backlog->lock);
	while (backlog->records.count == 1 && backlog->left < backlog->until) {
		os_condition_wait(&backlog->grew, &backlog->lock, UINT64_C(1000000000));
	}
	backlog->shown += record->payload_size;
	os_mutex_unlock(&backlog->lock);
}

static void run_slowly(struct recording *recording, size_t threads)
{
	struct backlog backlog = { .until = threads == 1 ? 3 * MIB : 12 * MIB };
	struct event_helper helpers[EVENT_HELPERS_MAX];
	struct etl_progress progress = { .last_time = RECORD_NO_TIME };
	const struct etl_visitor visitor = { .record_context = &backlog, .on_record = see_late };
	struct etl_ranges ranges;
	struct error err;

	os_mutex_init(&backlog.lock);
	os_condition_init(&backlog.grew);
	for (size_t i = 0; i < threads; i++) {
		helpers[i] =
			(struct event_helper){ .context = &backlog, .on_event = leave_to_backlog };
	}
	choose(recording, threads, &ranges);
	assert_true(etl_order_run_ranges(recording->file, &recording->index, &ranges, helpers,
					 threads, &progress, &visitor, &err));
	assert_true(collected_equal(&backlog.records, &recording->records));
	assert_progress_equal(&progress, &recording->progress);
	assert_true(backlog.most <= QUEUES_MOST + CHUNKS_MOST);
	etl_ranges_done(&ranges);
	collected_done(&backlog.records);
	os_condition_done(&backlog.grew);
	os_mutex_done(&backlog.lock);
}

/* The visitor begins when nearly as much waits as may wait, and everything is left to it. */
static void helpers_wait_for_a_slow_visitor_and_lose_nothing(void **state)
{
	struct form form = large;
	struct recording recording;

	(void)state;
	form.bytes = 24 * MIB;
	form.payload_most = 4000;
	open_recording(&recording, build(&form), 0);
	for (unsigned i = 0; i < THREAD_COUNTS; i++) {
		run_slowly(&recording, thread_counts[i]);
	}
	close_recording(&recording);
}

/* ---- passes that end early ---- */

static void stop_after(struct recording *recording, size_t threads, size_t records)
{
	struct etl_ranges ranges;
	struct error err;
	struct team team;

	choose(recording, threads, &ranges);
	team_init(&team, threads, LEAVE_ALL);
	team.stop_after = records;
	assert_true(team_run(&team, recording, &ranges, &err));
	assert_int_equal(team.left.count, records);
	assert_left_in_order(&team, recording);
	team_done(&team);
	etl_ranges_done(&ranges);
}

static void a_visitor_that_stops_is_shown_nothing_more(void **state)
{
	struct recording recording;

	(void)state;
	open_large(&recording, 9 * MIB);
	for (unsigned i = 0; i < THREAD_COUNTS; i++) {
		const size_t all = recording.records.count;
		const size_t after[] = { 1, 1001, all / 2, all };

		for (size_t j = 0; j < sizeof after / sizeof after[0]; j++) {
			stop_after(&recording, thread_counts[i], after[j]);
		}
	}
	close_recording(&recording);
}

/* Helpers are far ahead then, or wait already. */
static void a_stop_while_much_is_left_ends_the_pass(void **state)
{
	struct recording recording;

	(void)state;
	open_large(&recording, 24 * MIB);
	for (unsigned i = 0; i < THREAD_COUNTS; i++) {
		stop_after(&recording, thread_counts[i], 1);
	}
	close_recording(&recording);
}

static void a_stop_by_another_thread_ends_the_pass(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct recording recording;
		struct cuts cuts;
		struct error err;
		struct team team;

		open_by_chance(&recording, RISING, round % 2);
		cut_by_chance(&recording, &cuts);
		team_init(&team, thread_counts[round % THREAD_COUNTS],
			  (enum leaving)(round % LEAVINGS));
		team.helper_stops_at = chance(recording.records.count);
		assert_true(team_run(&team, &recording, &cuts.ranges, &err));
		assert_left_in_order(&team, &recording);
		team_done(&team);
		/* It is stopped already. */
		team_init(&team, 2, LEAVE_ALL);
		atomic_store(&team.stopping, true);
		assert_true(team_run(&team, &recording, &cuts.ranges, &err));
		assert_int_equal(team.left.count, 0);
		team_done(&team);
		close_recording(&recording);
	}
}

/* ---- files ---- */

static struct etl_writer *build_of_8_mib(bool compressed)
{
	struct form form = large;

	form.bytes = 9 * MIB;
	form.compressed = compressed;
	return build(&form);
}

/* The first so many eighths of a recording. */
static void write_file(const char *path, const struct etl_writer *writer, unsigned eighths)
{
	size_t size;
	const uint8_t *bytes = etl_writer_bytes(writer, &size);

	temporary_write(path, bytes, eighths == 8 ? size : size / 8 * eighths);
}

/* All threads read the one file. */
static void a_file_is_read_by_several_threads(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct etl_writer *writer = build_of_8_mib(compressed);
		struct recording recording;
		struct etl_ranges ranges;

		write_file(path, writer, 8);
		open_file(&recording, path, MIB);
		choose(&recording, 3, &ranges);
		compare(&recording, &ranges, 3, LEAVE_THIRD);
		etl_ranges_done(&ranges);
		close_recording(&recording);
		etl_writer_close(writer);
	}
	assert_int_equal(remove(path), 0);
}

/* The file is cut after its index was made. What is shown before the error is in order. */
static void read_cut_file(const char *path, const struct etl_writer *writer, unsigned eighths,
			  size_t threads)
{
	struct recording recording;
	struct etl_ranges ranges;
	struct error err = { 0 };
	struct team team;

	write_file(path, writer, 8);
	open_file(&recording, path, 0);
	choose(&recording, 2, &ranges);
	write_file(path, writer, eighths);
	team_init(&team, threads, (enum leaving)(eighths % LEAVINGS));
	assert_false(team_run(&team, &recording, &ranges, &err));
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_true(strstr(err.text, "cut short meanwhile") != NULL);
	assert_left_in_order(&team, &recording);
	team_done(&team);
	etl_ranges_done(&ranges);
	close_recording(&recording);
}

static void a_file_that_was_cut_ends_with_an_error(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct etl_writer *writer = build_of_8_mib(compressed);

		for (unsigned i = 0; i < THREAD_COUNTS; i++) {
			if (!is_thorough() && i != 1 + compressed) {
				continue;
			}
			read_cut_file(path, writer, 2 * i + compressed, thread_counts[i]);
		}
		etl_writer_close(writer);
	}
	assert_int_equal(remove(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_cuts_give_the_records_of_one_thread_in_its_order),
		cmocka_unit_test(a_cut_at_equal_times_has_all_of_them_on_one_side),
		cmocka_unit_test(the_index_serves_other_passes_too),
		cmocka_unit_test(without_helpers_the_visitor_is_shown_everything),
		cmocka_unit_test(a_range_has_the_records_from_its_start_and_below_its_end),
		cmocka_unit_test(the_times_of_a_buffer_hold_those_of_its_records),
		cmocka_unit_test(chosen_ranges_give_the_records_of_one_thread_in_its_order),
		cmocka_unit_test(a_recording_in_no_order_has_no_ranges),
		cmocka_unit_test(helpers_wait_for_a_slow_visitor_and_lose_nothing),
		cmocka_unit_test(a_visitor_that_stops_is_shown_nothing_more),
		cmocka_unit_test(a_stop_while_much_is_left_ends_the_pass),
		cmocka_unit_test(a_stop_by_another_thread_ends_the_pass),
		cmocka_unit_test(a_file_is_read_by_several_threads),
		cmocka_unit_test(a_file_that_was_cut_ends_with_an_error),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
