/* SPDX-License-Identifier: MIT */
/*
 * The order of delivery is that of a stable sort of all records by time, however the buffers look
 * like: recordings of chance, read with limits large and small.
 */
#include "lib/etl/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/writer.h"
#include "tests/support/chance.h"
#include "tests/support/collected.h"

/* How the times of a processor's records run. */
enum shape {
	RISING,    /* as in life */
	EQUAL,     /* many ties */
	BACKWARDS, /* steps back now and then, inside and between buffers */
	WILD,
	SHAPES
};

static int64_t next_time(enum shape shape, int64_t last)
{
	switch (shape) {
	case RISING:
		return last + (int64_t)chance(100);
	case EQUAL:
		return last + (chance(20) == 0);
	case BACKWARDS:
		return chance(30) == 0 ? last - (int64_t)chance(500) : last + (int64_t)chance(50);
	default:
		return (int64_t)chance(1000000) - 500000;
	}
}

static struct etw_writer *build(enum shape shape, unsigned records, bool compressed)
{
	uint16_t processors = (uint16_t)(1 + chance(12));
	struct etw_writer_options options = {
		.processors = processors,
		.buffer_size = UINT32_C(512) << chance(4),
		.compressed = compressed,
		.processor_index = true,
	};
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(NULL, &options, &err);
	int64_t times[12];
	uint8_t payload[200];

	assert_non_null(writer);
	for (size_t i = 0; i < 12; i++) {
		times[i] = (int64_t)chance(1000);
	}
	memset(payload, 'x', sizeof payload);
	for (unsigned i = 0; i < records; i++) {
		/* Some processors are much busier than others. */
		uint16_t processor = (uint16_t)(chance(1 + chance(processors)));
		struct etw_out_record record = {
			.type = ETW_RECORD_PERFINFO,
			.processor = processor,
			.raw_time = next_time(shape, times[processor]),
			.group = 0x0f,
			.opcode = 46,
			.payload = payload,
			.payload_size = (size_t)chance(sizeof payload),
		};

		times[processor] = record.raw_time;
		if (shape != RISING && chance(200) == 0) {
			record.type = ETW_RECORD_MESSAGE; /* without flags: without time */
		}
		payload[chance(sizeof payload)] = (uint8_t)i;
		etw_writer_add(writer, &record);
		if (chance(500) == 0) {
			etl_writer_flush(writer);
		}
	}
	assert_true(etw_writer_finish(writer, &err));
	return writer;
}

struct run {
	struct etw_file *file;
	struct etl_index index;
	struct etw_damage damage;
	struct etl_progress progress;
	struct collected looked;
	struct collected delivered;
};

static void open_run(struct run *run, const struct etw_writer *writer)
{
	struct etw_error err;
	size_t size;
	const uint8_t *bytes = etl_writer_bytes(writer, &size);

	*run = (struct run){ .index = { .entries_max = ETL_INDEX_MAX,
					.keep_bytes = ETL_KEEP_MAX } };
	run->file = etw_file_over(bytes, size, 0, &err);
	assert_non_null(run->file);
}

static void close_run(struct run *run)
{
	collected_done(&run->looked);
	collected_done(&run->delivered);
	etl_index_done(&run->index);
	etw_file_close(run->file);
}

static void look(struct run *run)
{
	struct etw_visitor visitor = { .record_context = &run->looked, .on_record = collect };
	struct etw_error err;

	assert_true(etl_index_build(&run->index, run->file, &run->damage, &visitor, &err));
}

static void deliver(struct run *run, size_t open_bytes)
{
	struct etw_visitor visitor = { .record_context = &run->delivered, .on_record = collect };
	struct etw_error err;

	assert_true(
		etl_order_run(run->file, &run->index, open_bytes, &run->progress, &visitor, &err));
	assert_int_equal(run->progress.records, run->delivered.count);
	assert_int_equal(run->progress.buffers, run->index.buffers);
}

static void stream(struct run *run, size_t window_bytes)
{
	struct etw_visitor visitor = { .record_context = &run->delivered, .on_record = collect };
	struct etw_error err;

	assert_true(etl_order_stream(run->file, window_bytes, &run->damage, &run->progress,
				     &visitor, &err));
	assert_int_equal(run->progress.records, run->delivered.count);
}

static void the_order_is_that_of_a_stable_sort(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 120; round++) {
		enum shape shape = round % SHAPES;
		struct etw_writer *writer =
			build(shape, (unsigned)chance(4000), round / SHAPES % 2);
		struct run run;

		open_run(&run, writer);
		run.index.keep_bytes = (size_t)chance(3) * 5000;
		look(&run);
		for (size_t i = 0; i < run.looked.count; i++) {
			assert_int_equal(run.looked.records[i].index, i);
		}
		collected_sort(&run.looked);
		deliver(&run, ETL_OPEN_MAX);
		assert_true(collected_equal(&run.looked, &run.delivered));
		assert_int_equal(run.progress.late_records, 0);
		assert_int_equal(run.index.kept_bytes, 0);
		/* Again, without what was kept. */
		collected_done(&run.delivered);
		run.progress = (struct etl_progress){ 0 };
		deliver(&run, ETL_OPEN_MAX);
		assert_true(collected_equal(&run.looked, &run.delivered));
		close_run(&run);
		etw_writer_close(writer);
	}
}

static void a_window_that_holds_all_gives_the_same_order(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct etw_writer *writer =
			build(round % SHAPES, (unsigned)chance(3000), round / SHAPES % 2);
		struct run run;

		open_run(&run, writer);
		look(&run);
		collected_sort(&run.looked);
		stream(&run, SIZE_MAX);
		assert_true(collected_equal(&run.looked, &run.delivered));
		assert_int_equal(run.progress.late_records, 0);
		assert_int_equal(run.progress.buffers, run.index.buffers);
		close_run(&run);
		etw_writer_close(writer);
	}
}

/* Records that come after one with a later time. */
static uint64_t count_late(const struct collected *collected)
{
	int64_t last = INT64_MIN;
	uint64_t late = 0;

	for (size_t i = 0; i < collected->count; i++) {
		int64_t time = collected->records[i].raw_time;

		if (time >= last) {
			last = time;
		} else if (time != ETW_RECORD_NO_TIME) {
			late++;
		}
	}
	return late;
}

/* Too little memory, too small an index, too small a window: late records are counted, and none is
 * lost or comes twice. */
static void beyond_a_limit_the_order_is_best_effort(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct etw_writer *writer =
			build(round % SHAPES, (unsigned)chance(3000), round / SHAPES % 2);
		struct run run;

		open_run(&run, writer);
		run.index.keep_bytes = (size_t)chance(20000);
		if (round % 3 == 0) {
			run.index.entries_max = (size_t)chance(50);
		}
		look(&run);
		if (round % 3 == 1) {
			stream(&run, 1 + (size_t)chance(50000));
		} else {
			deliver(&run, 1 + (size_t)chance(round % 3 == 0 ? 1000000 : 30000));
		}
		assert_int_equal(run.delivered.count, run.looked.count);
		assert_true(run.delivered.touched == run.looked.touched);
		assert_int_equal(run.progress.late_records, count_late(&run.delivered));
		close_run(&run);
		etw_writer_close(writer);
	}
}

/* What processors really write needs only the buffers that overlap in time to be open. */
static void a_recording_as_in_life_stays_in_order_with_few_buffers_open(void **state)
{
	struct etw_writer_options options = { .processors = 4, .buffer_size = 4096 };
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(NULL, &options, &err);
	static const uint8_t payload[100];
	struct run run;

	(void)state;
	assert_non_null(writer);
	for (unsigned i = 0; i < 50000; i++) {
		etw_writer_add(writer, &(struct etw_out_record){
					       .type = ETW_RECORD_PERFINFO,
					       .processor = (uint16_t)(i % 4),
					       .raw_time = i,
					       .group = 0x0f,
					       .payload = payload,
					       .payload_size = sizeof payload,
				       });
	}
	assert_true(etw_writer_finish(writer, &err));
	open_run(&run, writer);
	look(&run);
	collected_sort(&run.looked);
	deliver(&run, 16 * (4096 + 4096));
	assert_true(collected_equal(&run.looked, &run.delivered));
	assert_int_equal(run.progress.late_records, 0);
	close_run(&run);
	etw_writer_close(writer);
}

/* A block of memory is larger than a small buffer: what is open is bounded by the blocks. */
static void small_buffers_count_as_the_blocks_that_they_take(void **state)
{
	enum { BUFFERS = 500 };
	const struct etw_writer_options options = { .buffer_size = 512 };
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(NULL, &options, &err);
	struct etl_blocks blocks = { .unused = NULL };
	struct etl_block *block = etl_block_get(&blocks, 1);
	struct etw_out_record record = { .type = ETW_RECORD_PERFINFO, .group = 0x0f };
	struct run run;

	(void)state;
	assert_non_null(writer);
	assert_non_null(block);
	/* Each is open until all have been opened. */
	for (unsigned i = 0; i < BUFFERS; i++) {
		record.raw_time = 1 + i;
		etw_writer_add(writer, &record);
		record.raw_time = 1 + BUFFERS + i;
		etw_writer_add(writer, &record);
		etl_writer_flush(writer);
	}
	assert_true(etw_writer_finish(writer, &err));
	open_run(&run, writer);
	look(&run);
	deliver(&run, BUFFERS / 2 * block->capacity);
	assert_true(run.progress.late_records > 0);
	run.progress = (struct etl_progress){ 0 };
	collected_done(&run.delivered);
	stream(&run, BUFFERS / 2 * block->capacity);
	assert_true(run.progress.late_records > 0);
	run.progress = (struct etl_progress){ 0 };
	collected_done(&run.delivered);
	deliver(&run, BUFFERS * 2 * block->capacity);
	assert_int_equal(run.progress.late_records, 0);
	close_run(&run);
	etl_block_free(block);
	etw_writer_close(writer);
}

struct stop_after {
	struct collected collected;
	size_t count;
	atomic_bool stopping;
};

static void collect_and_stop(void *context, const struct etw_record *record)
{
	struct stop_after *stop = context;

	collect(&stop->collected, record);
	if (stop->collected.count == stop->count) {
		atomic_store(&stop->stopping, true);
	}
}

static void a_pass_that_is_stopped_ends_at_the_record(void **state)
{
	struct etw_writer *writer = build(RISING, 1000, true);

	(void)state;
	for (size_t count = 1; count < 1000; count += 37) {
		struct stop_after stop = { .count = count };
		struct etw_visitor visitor = { .record_context = &stop,
					       .on_record = collect_and_stop,
					       .stopping = &stop.stopping };
		struct etw_error err;
		struct run run;

		open_run(&run, writer);
		assert_true(etl_index_build(&run.index, run.file, &run.damage, &visitor, &err));
		assert_int_equal(stop.collected.count, count);
		collected_done(&stop.collected);
		atomic_store(&stop.stopping, false);
		look(&run);
		assert_true(etl_order_run(run.file, &run.index, ETL_OPEN_MAX, &run.progress,
					  &visitor, &err));
		assert_int_equal(stop.collected.count, count);
		collected_done(&stop.collected);
		atomic_store(&stop.stopping, false);
		assert_true(etl_order_stream(run.file, 10000, &run.damage, &run.progress, &visitor,
					     &err));
		assert_int_equal(stop.collected.count, count);
		collected_done(&stop.collected);
		close_run(&run);
	}
	etw_writer_close(writer);
}

/* Compressed buffers full of records, each like the one before or a tick later. */
static struct etw_writer *build_full(unsigned records, int64_t ticks)
{
	const struct etw_writer_options options = { .buffer_size = 1 << 20,
						    .header_buffer_size = 4096,
						    .compressed = true };
	struct etw_out_record record = { .type = ETW_RECORD_SYSTEM, .group = 0x05, .opcode = 50 };
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(NULL, &options, &err);

	assert_non_null(writer);
	for (unsigned i = 0; i < records; i++) {
		record.raw_time += ticks;
		etw_writer_add(writer, &record);
	}
	assert_true(etw_writer_finish(writer, &err));
	return writer;
}

/*
 * 195 bytes of a file can hold 32,764 records, so a file of some megabytes would keep a reader busy
 * for hours. All passes stop at the same buffer, also where the index is full before it.
 */
static void buffers_that_unpack_to_too_much_are_dropped(void **state)
{
	enum { RECORDS = 2 * ETL_WORK_FREE };
	struct etw_writer *writer = build_full(RECORDS, 0);
	size_t size;

	(void)state;
	etl_writer_bytes(writer, &size);
	for (unsigned kind = 0; kind < 3; kind++) {
		struct run run;

		open_run(&run, writer);
		run.looked.count_only = run.delivered.count_only = true;
		if (kind == 2) {
			stream(&run, 1 << 20);
		} else {
			run.index.entries_max = kind == 0 ? ETL_INDEX_MAX : 3;
			look(&run);
			deliver(&run, ETL_OPEN_MAX);
			assert_int_equal(run.looked.count, run.delivered.count);
		}
		assert_in_range(run.delivered.count, ETL_WORK_FREE / 2, ETL_WORK_FREE + size);
		/* All are counted: a buffer has (2^20 - 72) / 32 of them, and the header is one. */
		assert_true(run.damage.bad_buffers > 0);
		assert_int_equal(run.delivered.count + 32765 * run.damage.bad_buffers, RECORDS + 1);
		assert_int_equal(run.damage.bad_records, 0);
		close_run(&run);
	}
	etw_writer_close(writer);
}

/* What a walk passes over is work, too: else the passes before and after it is known, which number
 * the records, would drop different buffers. */
static void records_that_are_passed_over_count_as_work(void **state)
{
	enum { RECORDS = 16 * (((1 << 20) - 72) / 32) }; /* 16 full buffers */
	struct etw_writer *writer = build_full(RECORDS, 0);
	struct chosen passed_over = { .bits = NULL };
	struct run before, run;

	(void)state;
	for (unsigned i = 1; i <= RECORDS; i++) {
		assert_true(chosen_add(&passed_over, i));
	}
	open_run(&before, writer);
	open_run(&run, writer);
	run.file->format.passed_over = &passed_over;
	before.looked.count_only = run.looked.count_only = true;
	look(&before);
	look(&run);
	assert_true(before.damage.bad_buffers > 0);
	assert_int_equal(run.damage.bad_buffers, before.damage.bad_buffers);
	close_run(&run);
	close_run(&before);
	chosen_done(&passed_over);
	etw_writer_close(writer);
}

static void records_that_differ_are_all_delivered(void **state)
{
	struct etw_writer *writer = build_full(2 * ETL_WORK_FREE, 1);
	struct run run;

	(void)state;
	open_run(&run, writer);
	run.looked.count_only = run.delivered.count_only = true;
	look(&run);
	deliver(&run, ETL_OPEN_MAX);
	assert_int_equal(run.delivered.count, 2 * ETL_WORK_FREE + 1); /* and the header */
	assert_int_equal(run.damage.bad_buffers, 0);
	close_run(&run);
	etw_writer_close(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_is_that_of_a_stable_sort),
		cmocka_unit_test(a_window_that_holds_all_gives_the_same_order),
		cmocka_unit_test(beyond_a_limit_the_order_is_best_effort),
		cmocka_unit_test(a_recording_as_in_life_stays_in_order_with_few_buffers_open),
		cmocka_unit_test(small_buffers_count_as_the_blocks_that_they_take),
		cmocka_unit_test(buffers_that_unpack_to_too_much_are_dropped),
		cmocka_unit_test(records_that_are_passed_over_count_as_work),
		cmocka_unit_test(records_that_differ_are_all_delivered),
		cmocka_unit_test(a_pass_that_is_stopped_ends_at_the_record),
	};

	return cmocka_run_group_tests_name("etl_order", tests, NULL, NULL);
}
