/* SPDX-License-Identifier: MIT */
/*
 * A thread that reads ahead makes no difference for what gets the records: the same records, ends
 * of buffers and counts, wherever a batch begins or the visitor stops.
 */
#include "etl/reading_thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "etl/writer.h"
#include "source/kernel_group.h"
#include "tests/support/chance.h"
#include "tests/support/collected.h"

/* So many records, and no more, are ahead of the visitor (etl/reading_thread.h). */
enum { AHEAD_MAX = 8192, BATCH = 1024 };

/* ---- what a visitor sees ---- */

/* The end of a buffer, and what was counted then. */
struct seen_buffer {
	size_t records; /* shown before it */
	uint64_t bytes_read;
	struct etl_progress progress;
	uint64_t bad_buffers, bad_records;
};

struct seen {
	struct collected records;
	struct seen_buffer *buffers; /* owned */
	size_t buffer_count, buffer_capacity;
	struct etl_progress progress;
	struct etl_damage damage;
	atomic_bool stopping;
	size_t stop_after;         /* records; 0: never */
	size_t stop_after_buffers; /* likewise */
	/* In file order: after so many records only opcode 46 is left of the choice; 0: all are
	 * shown always */
	size_t choose_less_after;
	struct kernel_choice choice;
	bool good;
	struct error err;
};

static void see_record(void *context, const struct event_record *record)
{
	struct seen *seen = context;

	collect(&seen->records, record);
	if (seen->records.count == seen->choose_less_after) {
		seen->choice = (struct kernel_choice){ 0 };
		kernel_choose(&seen->choice, 0x0f, 46);
	}
	if (seen->records.count == seen->stop_after) {
		atomic_store(&seen->stopping, true);
	}
}

static void see_buffer(void *context, uint64_t bytes_read)
{
	struct seen *seen = context;
	struct seen_buffer *buffers = array_grow(seen->buffers, &seen->buffer_capacity,
						 seen->buffer_count, sizeof *buffers);

	assert_non_null(buffers);
	seen->buffers = buffers;
	seen->buffers[seen->buffer_count++] = (struct seen_buffer){
		.records = seen->records.count,
		.bytes_read = bytes_read,
		.progress = seen->progress,
		.bad_buffers = seen->damage.bad_buffers,
		.bad_records = seen->damage.bad_records,
	};
	if (seen->buffer_count == seen->stop_after_buffers) {
		atomic_store(&seen->stopping, true);
	}
}

static void seen_done(struct seen *seen)
{
	collected_done(&seen->records);
	free(seen->buffers);
}

static bool progress_equal(const struct etl_progress *a, const struct etl_progress *b)
{
	return a->buffers == b->buffers && a->records == b->records &&
	       a->late_records == b->late_records && a->last_time == b->last_time;
}

static void assert_same(const struct seen *here, const struct seen *aside)
{
	assert_int_equal(here->good, aside->good);
	assert_int_equal(here->records.count, aside->records.count);
	assert_true(collected_equal(&here->records, &aside->records));
	assert_int_equal(here->buffer_count, aside->buffer_count);
	for (size_t i = 0; i < here->buffer_count; i++) {
		const struct seen_buffer *a = &here->buffers[i], *b = &aside->buffers[i];

		assert_int_equal(a->records, b->records);
		assert_int_equal(a->bytes_read, b->bytes_read);
		assert_true(progress_equal(&a->progress, &b->progress));
	}
	assert_true(progress_equal(&here->progress, &aside->progress));
	if (!here->good) {
		assert_int_equal(here->err.code, aside->err.code);
		assert_string_equal(here->err.text, aside->err.text);
	}
}

static bool run_first(void *context, struct etl_progress *progress, struct etl_damage *damage,
		      const struct etl_visitor *visitor, struct error *err);

typedef bool read_in_a_way(const struct etl_reading *reading, const struct etl_visitor *visitor,
			   struct error *err);

/* Runs a pass; the limits of *seen are set. */
static void see(read_in_a_way *read, etl_pass *pass, void *context, struct etl_blocks *blocks,
		struct seen *seen)
{
	const struct etl_visitor visitor = {
		.record_context = seen,
		.on_record = see_record,
		.only = seen->choose_less_after > 0 ? &seen->choice : NULL,
		.buffer_context = seen,
		.on_buffer = see_buffer,
		.stopping = &seen->stopping,
	};
	const struct etl_reading reading = {
		.pass = pass,
		.context = context,
		.blocks = blocks,
		.progress = &seen->progress,
		.damage = &seen->damage,
		.in_file_order = pass == run_first,
	};

	kernel_choose(&seen->choice, 0x0f, 46);
	kernel_choose(&seen->choice, 0x0f, 47);
	seen->progress.last_time = RECORD_NO_TIME;
	seen->good = read(&reading, &visitor, &seen->err);
}

/* ---- recordings ---- */

/* Of 4 processors, with records out of order, with messages, whose provider may be in no buffer. */
static struct etl_writer *build(unsigned records, uint32_t buffer_size, bool compressed)
{
	const struct etl_writer_options options = { .processors = 4,
						    .buffer_size = buffer_size,
						    .compressed = compressed };
	struct error err;
	struct etl_writer *writer = etl_writer_open(NULL, &options, &err);
	uint8_t payload[64];
	int64_t time = 1000;

	assert_non_null(writer);
	memset(payload, 'x', sizeof payload);
	for (unsigned i = 0; i < records; i++) {
		struct etl_out_record record = {
			.type = RECORD_PERFINFO,
			.processor = (uint16_t)chance(4),
			.raw_time = chance(500) == 0 ? time - 900 : time,
			.group = 0x0f,
			.opcode = chance(4) ? 46 : 47,
			.payload = payload,
			.payload_size = (size_t)chance(sizeof payload),
		};

		time += (int64_t)chance(3);
		payload[chance(sizeof payload)] = (uint8_t)i;
		if (chance(20) == 0) {
			record.type = RECORD_MESSAGE;
			record.flags = 0x04 | 0x08; /* a component in place of a GUID; a time */
			record.id = (uint16_t)i;
		}
		etl_writer_add(writer, &record);
	}
	assert_true(etl_writer_finish(writer, &err));
	return writer;
}

struct recording {
	struct etl_file *file;
	struct etl_index index;
	size_t open_bytes;
};

static void open_recording(struct recording *recording, const struct etl_writer *writer)
{
	struct etl_damage damage = { 0 };
	struct error err;
	size_t size;
	const uint8_t *bytes = etl_writer_bytes(writer, &size);

	*recording = (struct recording){
		.index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = ETL_KEEP_MAX },
		.open_bytes = ETL_OPEN_MAX,
	};
	recording->file = etl_file_over(bytes, size, 0, &err);
	assert_non_null(recording->file);
	assert_true(etl_index_build(&recording->index, recording->file, &damage,
				    &(struct etl_visitor){ 0 }, &err));
}

static void close_recording(struct recording *recording)
{
	etl_index_done(&recording->index);
	etl_file_close(recording->file);
}

static bool run_index(void *context, struct etl_progress *progress, struct etl_damage *damage,
		      const struct etl_visitor *visitor, struct error *err)
{
	struct recording *recording = context;

	(void)damage;
	return etl_order_run(recording->file, &recording->index, recording->open_bytes, progress,
			     visitor, err);
}

static bool run_first(void *context, struct etl_progress *progress, struct etl_damage *damage,
		      const struct etl_visitor *visitor, struct error *err)
{
	struct recording *recording = context;

	(void)progress;
	return etl_index_build(&recording->index, recording->file, damage, visitor, err);
}

static bool run_stream(void *context, struct etl_progress *progress, struct etl_damage *damage,
		       const struct etl_visitor *visitor, struct error *err)
{
	struct recording *recording = context;

	return etl_order_stream(recording->file, 100000, damage, progress, visitor, err);
}

/* Reads a recording here and aside, and compares. The index is made anew, because a pass takes the
 * unpacked buffers out of it. */
static void compare(const struct etl_writer *writer, etl_pass *pass, size_t open_bytes,
		    const struct seen *limits)
{
	struct seen here = { .stop_after = limits->stop_after,
			     .stop_after_buffers = limits->stop_after_buffers,
			     .choose_less_after = limits->choose_less_after };
	struct seen aside = { .stop_after = limits->stop_after,
			      .stop_after_buffers = limits->stop_after_buffers,
			      .choose_less_after = limits->choose_less_after };
	struct recording recording;

	open_recording(&recording, writer);
	recording.open_bytes = open_bytes;
	see(etl_read_here, pass, &recording, &recording.file->input.blocks, &here);
	close_recording(&recording);
	open_recording(&recording, writer);
	recording.open_bytes = open_bytes;
	see(etl_read_aside, pass, &recording, &recording.file->input.blocks, &aside);
	close_recording(&recording);
	assert_true(here.good);
	assert_same(&here, &aside);
	seen_done(&here);
	seen_done(&aside);
}

static void records_buffers_and_counts_are_the_same(void **state)
{
	const struct seen no_limits = { 0 };

	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		struct etl_writer *writer =
			build(round % 3 ? 20000 + (unsigned)chance(3000) : (unsigned)chance(50),
			      UINT32_C(512) << chance(8), round % 2);

		compare(writer, run_index, ETL_OPEN_MAX, &no_limits);
		compare(writer, run_index, 10000, &no_limits);
		compare(writer, run_stream, 0, &no_limits);
		compare(writer, run_first, ETL_OPEN_MAX, &no_limits);
		etl_writer_close(writer);
	}
}

static void a_choice_that_shrinks_is_that_of_the_next_record(void **state)
{
	static const size_t counts[] = { 1, BATCH - 1, BATCH, BATCH + 1, AHEAD_MAX, 14999 };

	(void)state;
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct etl_writer *writer = build(20000, 4096, compressed);

		for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
			const struct seen limits = { .choose_less_after = counts[i] };

			compare(writer, run_first, ETL_OPEN_MAX, &limits);
		}
		etl_writer_close(writer);
	}
}

static void a_visitor_that_stops_has_seen_and_counted_the_same(void **state)
{
	static const size_t counts[] = { 1,         2,    500,   BATCH - 1,     BATCH, BATCH + 1,
					 AHEAD_MAX, 9999, 14999, AHEAD_MAX + 1, 15000, 15001 };
	struct etl_writer *writer = build(15000, 4096, true);

	(void)state;
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		const struct seen after_records = { .stop_after = counts[i] };
		const struct seen after_buffers = { .stop_after_buffers = 1 + i * 7 };

		compare(writer, run_index, ETL_OPEN_MAX, &after_records);
		compare(writer, run_stream, 0, &after_records);
		compare(writer, run_index, ETL_OPEN_MAX, &after_buffers);
		compare(writer, run_first, ETL_OPEN_MAX, &after_records);
		compare(writer, run_first, ETL_OPEN_MAX, &after_buffers);
	}
	etl_writer_close(writer);
}

/* ---- passes made by hand ---- */

/* Shows so many records, with the end of a buffer after each so many. */
struct made {
	size_t records, buffer_every; /* 0: no buffer ends */
	bool fails;                   /* in the end */
	size_t block_size;            /* of a buffer for each record; 0: records have no buffers */
	struct etl_blocks blocks;
	_Atomic(size_t) made; /* records so far */
	_Atomic(size_t) shown;
	size_t most_ahead;
};

static const struct guid no_provider;

static bool make(void *context, struct etl_progress *progress, struct etl_damage *damage,
		 const struct etl_visitor *visitor, struct error *err)
{
	struct made *made = context;

	progress->newest_raw = INT64_MIN;
	for (size_t i = 0; i < made->records && !etl_visitor_stopping(visitor); i++) {
		struct etl_block *block =
			made->block_size ? etl_block_get(&made->blocks, made->block_size) : NULL;
		struct event_record record = { .provider = &no_provider,
					       .payload = (const uint8_t *)"",
					       .raw_time = (int64_t)i,
					       .time = (int64_t)i,
					       .index = i };
		size_t ahead;

		if (block) {
			memcpy(block->bytes, &i, sizeof i);
			record.payload = block->bytes;
			record.payload_size = sizeof i;
		}
		etl_progress_add(progress, &record);
		ahead = atomic_fetch_add(&made->made, 1) + 1 - atomic_load(&made->shown);
		made->most_ahead = ahead > made->most_ahead ? ahead : made->most_ahead;
		visitor->on_record(visitor->record_context, &record);
		if (block && visitor->on_block) {
			visitor->on_block(visitor->block_context, block);
		} else {
			etl_block_put(&made->blocks, block);
		}
		if (made->buffer_every && (i + 1) % made->buffer_every == 0) {
			progress->buffers++;
			damage->bad_records += 2;
			visitor->on_buffer(visitor->buffer_context, i);
		}
	}
	etl_blocks_done(&made->blocks);
	return !made->fails || error_set(err, ERROR_SYSTEM, "the disk is gone");
}

static void compare_made(const struct made *given)
{
	struct made made = *given;
	struct seen here = { 0 }, aside = { 0 };

	see(etl_read_here, make, &made, &made.blocks, &here);
	made = *given;
	see(etl_read_aside, make, &made, &made.blocks, &aside);
	assert_same(&here, &aside);
	for (size_t i = 0; i < here.buffer_count; i++) {
		assert_int_equal(here.buffers[i].bad_records, aside.buffers[i].bad_records);
	}
	assert_int_equal(here.damage.bad_records, aside.damage.bad_records);
	seen_done(&here);
	seen_done(&aside);
}

static void any_number_of_records_and_buffers_fits(void **state)
{
	static const size_t records[] = {
		0, 1, 2, BATCH - 1, BATCH, BATCH + 1, AHEAD_MAX - 1, AHEAD_MAX, AHEAD_MAX + 1, 30000
	};
	static const size_t every[] = { 0, 1, 64, BATCH, BATCH + 1, 5000 };

	(void)state;
	for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
		for (size_t j = 0; j < sizeof every / sizeof every[0]; j++) {
			compare_made(
				&(struct made){ .records = records[i], .buffer_every = every[j] });
		}
	}
}

static void an_error_comes_after_the_records_before_it(void **state)
{
	static const size_t records[] = { 0, 1, BATCH, AHEAD_MAX + 5 };

	(void)state;
	for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
		compare_made(
			&(struct made){ .records = records[i], .buffer_every = 10, .fails = true });
	}
}

static void the_bytes_of_a_record_stay_until_it_was_shown(void **state)
{
	(void)state;
	compare_made(&(struct made){ .records = 20000, .buffer_every = 1, .block_size = 4096 });
	compare_made(&(struct made){ .records = 100, .buffer_every = 1, .block_size = 600 << 10 });
}

/* ---- a slow visitor ---- */

static void show_late(void *context, const struct event_record *record)
{
	struct made *made = context;
	size_t most = made->block_size ? 9 : AHEAD_MAX;

	/* The reading thread gets as far as it can. */
	while (record->index == 0 && atomic_load(&made->made) < most) {
	}
	atomic_fetch_add(&made->shown, 1);
}

static void reading_is_ahead_by_a_bounded_number_of_records_and_bytes(void **state)
{
	struct etl_progress progress = { 0 };
	struct etl_damage damage = { 0 };
	struct made few = { .records = 50000 };
	struct made large = { .records = 200, .block_size = (1 << 20) + 1 };
	struct made *passes[] = { &few, &large };
	struct error err;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct etl_visitor visitor = { .record_context = passes[i],
						     .on_record = show_late };
		const struct etl_reading reading = { .pass = make,
						     .context = passes[i],
						     .blocks = &passes[i]->blocks,
						     .progress = &progress,
						     .damage = &damage };

		assert_true(etl_read_aside(&reading, &visitor, &err));
		assert_int_equal(passes[i]->shown, passes[i]->records);
	}
	assert_true(few.most_ahead <= AHEAD_MAX);
	assert_true(large.most_ahead <= 10); /* 8 MiB, one buffer, and the one that is shown */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_buffers_and_counts_are_the_same),
		cmocka_unit_test(a_choice_that_shrinks_is_that_of_the_next_record),
		cmocka_unit_test(a_visitor_that_stops_has_seen_and_counted_the_same),
		cmocka_unit_test(any_number_of_records_and_buffers_fits),
		cmocka_unit_test(an_error_comes_after_the_records_before_it),
		cmocka_unit_test(the_bytes_of_a_record_stay_until_it_was_shown),
		cmocka_unit_test(reading_is_ahead_by_a_bounded_number_of_records_and_bytes),
	};

	return cmocka_run_group_tests_name("reading_thread", tests, NULL, NULL);
}
