/* SPDX-License-Identifier: MIT */
/*
 * Recordings as sources: the two passes, statistics, stopping, and what any damage does to
 * the whole.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/recording.h>

#include "lib/etl/file.h"
#include "lib/etl/order.h"
#include "lib/etl/writer.h"
#include "tests/support/collected.h"
#include "tests/support/exact_copy.h"
#include "tests/support/temporary.h"

enum { RECORDS = 2000, PROCESSORS = 3 };

static char path[TEMPORARY_PATH_SIZE];

static struct etw_source *open_source(bool single_pass, struct etw_error *err)
{
	const struct etw_source_file_options options = { .single_pass = single_pass };

	return etw_source_open_file(path, &options, err);
}

static int make_path(void **state)
{
	(void)state;
	temporary_path(path, "etl");
	temporary_write(path, "", 0);
	return 0;
}

static int remove_path(void **state)
{
	(void)state;
	return remove(path);
}

static const struct etw_guid provider =
	ETW_GUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x00, 0x01);

/* Whether a record has the parts that only some of its type have: in every second round. */
static bool has_more(unsigned number)
{
	return number / ETW_RECORD_UNKNOWN % 2 == 1;
}

/* Every type of record, with extended items, so that damage reaches every type of field. */
static void add_records(struct etw_writer *writer, unsigned count)
{
	static const uint8_t bytes[40] = "forty bytes of data for items, payloads";
	static const struct etw_out_item items[] = {
		{ ETW_EXTENDED_RELATED_ACTIVITY, 16, bytes },
		{ ETW_EXTENDED_STACK64, 24, bytes },
	};
	static const uint64_t counters[] = { 1, 2 };

	for (unsigned i = 0; i < count; i++) {
		struct etw_out_record record = {
			.type = (enum etw_record_type)(i % ETW_RECORD_UNKNOWN),
			.pointer_size = i % 5 ? 8 : 4,
			.processor = (uint16_t)(i % PROCESSORS),
			.raw_time = 10 * (int64_t)i,
			.process_id = 4,
			.thread_id = 8,
			.group = 0x0f,
			.opcode = 46,
			.version = 2,
			.id = (uint16_t)i,
			.flags = i % ETW_RECORD_UNKNOWN == ETW_RECORD_MESSAGE ? 0x2b : 0,
			.provider = &provider,
			.payload = bytes,
			.payload_size = 8 + i % (sizeof bytes - 8),
		};

		if (record.type == ETW_RECORD_EVENT && has_more(i)) {
			record.items = items;
			record.item_count = 2;
		}
		if (record.type == ETW_RECORD_SYSTEM && has_more(i)) {
			record.counters = counters;
			record.counter_count = 2;
		}
		etw_writer_add(writer, &record);
	}
}

static struct etw_writer *build(const char *to, unsigned records, bool compressed)
{
	struct etw_writer_options options = {
		.processors = PROCESSORS,
		.buffer_size = 4096,
		.header_buffer_size = 512,
		.compressed = compressed,
		.events_lost = 7,
		.buffers_lost = 2,
		.os_build = 19045,
		.start_time = 132404548206236167,
	};
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(to, &options, &err);

	assert_non_null(writer);
	add_records(writer, records);
	assert_true(etw_writer_finish(writer, &err));
	return writer;
}

struct sink {
	struct collected looked;
	struct collected delivered;
	unsigned first_pass_ends;
	unsigned buffers;
	bool mixed_up; /* a pass began before the other ended */
};

static void on_first_pass(void *context, const struct etw_record *record)
{
	struct sink *sink = context;

	sink->mixed_up |= sink->first_pass_ends > 0;
	collect(&sink->looked, record);
}

static void on_first_pass_end(void *context)
{
	struct sink *sink = context;

	sink->first_pass_ends++;
}

static void on_event(void *context, const struct etw_record *record)
{
	struct sink *sink = context;

	collect(&sink->delivered, record);
}

static void on_buffer(void *context)
{
	struct sink *sink = context;

	sink->buffers++;
}

static void sink_done(struct sink *sink)
{
	collected_done(&sink->looked);
	collected_done(&sink->delivered);
	*sink = (struct sink){ 0 };
}

static struct etw_event_sink sink_to(struct sink *sink)
{
	return (struct etw_event_sink){
		.context = sink,
		.on_first_pass = on_first_pass,
		.on_first_pass_end = on_first_pass_end,
		.on_event = on_event,
		.on_buffer = on_buffer,
	};
}

static void the_first_pass_is_in_file_order_and_delivery_in_time_order(void **state)
{
	struct etw_source_statistics statistics;
	struct sink sink = { 0 };
	struct etw_event_sink to = sink_to(&sink);
	struct etw_source *source;
	struct etw_error err;

	(void)state;
	etw_writer_close(build(path, RECORDS, true));
	source = open_source(false, &err);
	assert_non_null(source);
	etw_source_statistics(source, &statistics);
	assert_int_equal(statistics.events_lost, 7);
	assert_int_equal(statistics.buffers_lost, 2);
	assert_int_equal(statistics.records, 0);
	assert_true(statistics.last_time == ETW_RECORD_NO_TIME);
	assert_true(etw_source_run(source, &to, &err));
	assert_false(sink.mixed_up);
	assert_int_equal(sink.first_pass_ends, 1);
	assert_int_equal(sink.looked.count, RECORDS + 1);
	for (size_t i = 0; i < sink.looked.count; i++) {
		assert_int_equal(sink.looked.records[i].index, i);
	}
	collected_sort(&sink.looked);
	assert_true(collected_equal(&sink.looked, &sink.delivered));
	etw_source_statistics(source, &statistics);
	assert_int_equal(statistics.records, RECORDS + 1);
	assert_int_equal(statistics.buffers, statistics.buffers_written);
	assert_true(sink.buffers >= statistics.buffers);
	assert_true(statistics.bytes_total > 0);
	assert_int_equal(statistics.bytes_read, statistics.bytes_total);
	assert_int_equal(statistics.bad_buffers + statistics.bad_records, 0);
	assert_int_equal(statistics.late_records, 0);
	assert_false(statistics.truncated);
	assert_int_equal(statistics.buffer_size_bytes, 4096);
	assert_true(statistics.last_time > 132404548206236167);
	assert_true(statistics.last_time <= 132404548206236167 + 10 * RECORDS);
	etw_source_close(source);
	sink_done(&sink);
}

static void facts_are_those_of_the_header(void **state)
{
	const struct etw_source_facts *facts;
	struct etw_source *source;
	struct etw_error err;

	(void)state;
	etw_writer_close(build(path, 1, false));
	source = open_source(false, &err);
	assert_non_null(source);
	facts = etw_source_facts(source);
	assert_string_equal(facts->name, strrchr(path, '/') + 1);
	assert_string_equal(facts->type, "replay");
	assert_string_equal(facts->mode, "sequential");
	assert_int_equal(facts->os_build, 19045);
	assert_int_equal(facts->processors, PROCESSORS);
	assert_int_equal(facts->clock.type, ETW_CLOCK_QPC);
	assert_true(facts->clock.anchor_time == 132404548206236167);
	etw_source_close(source);
	assert_null(etw_source_open_file("/nonexistent.etl", NULL, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	etw_source_close(NULL);
}

/* Damage counts once, what is delivered counts again; a sink without a first pass needs no
 * first pass the second time. */
static void a_second_run_delivers_the_same(void **state)
{
	struct etw_source_statistics first, second;
	struct sink sink = { 0 };
	struct etw_event_sink to = sink_to(&sink);
	struct collected delivered;
	struct etw_source *source;
	struct etw_error err;
	FILE *file;

	(void)state;
	for (int look = 0; look < 2; look++) {
		for (int single_pass = 0; single_pass < 2; single_pass++) {
			etw_writer_close(build(path, RECORDS, true));
			file = fopen(path, "r+b");
			assert_non_null(file);
			assert_int_equal(fseek(file, 512 + 0x30, SEEK_SET), 0);
			assert_int_equal(fputc(1, file),
					 1); /* the second buffer's data end nowhere */
			assert_int_equal(fputc(0, file), 0);
			assert_int_equal(fclose(file), 0);
			if (!look) {
				to.on_first_pass = NULL;
				to.on_first_pass_end = NULL;
			}
			source = open_source(single_pass, &err);
			assert_non_null(source);
			assert_true(etw_source_run(source, &to, &err));
			etw_source_statistics(source, &first);
			assert_int_equal(first.bad_buffers, 1);
			assert_int_equal(first.buffers, first.buffers_written);
			delivered = sink.delivered;
			sink.delivered = (struct collected){ 0 };
			assert_int_equal(sink.first_pass_ends, look && !single_pass);
			sink_done(&sink);
			assert_true(etw_source_run(source, &to, &err));
			assert_int_equal(sink.first_pass_ends, look && !single_pass);
			assert_true(collected_equal(&sink.delivered, &delivered));
			etw_source_statistics(source, &second);
			assert_int_equal(second.records, 2 * first.records);
			assert_int_equal(second.buffers, 2 * first.buffers);
			assert_int_equal(second.bad_buffers, 1);
			assert_int_equal(second.events_lost, 7);
			collected_done(&delivered);
			sink_done(&sink);
			etw_source_close(source);
			to = sink_to(&sink);
		}
	}
}

static void on_event_after_change(void *context, const struct etw_record *record)
{
	struct sink *sink = context;

	if (sink->delivered.count == 0) {
		assert_int_equal(truncate(path, 5000), 0);
	}
	collect(&sink->delivered, record);
}

static void a_file_that_another_program_cuts_short_meanwhile_is_an_error(void **state)
{
	struct sink sink = { 0 };
	struct etw_event_sink to = sink_to(&sink);
	struct etw_source *source;
	struct etw_error err;

	(void)state;
	/* More of them than another thread reads ahead. */
	etw_writer_close(build(path, 100 * RECORDS, false));
	source = open_source(false, &err);
	assert_non_null(source);
	to.on_event = on_event_after_change;
	assert_false(etw_source_run(source, &to, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "cut short"));
	etw_source_close(source);
	sink_done(&sink);
}

static struct etw_source *shared;

static void on_event_stop(void *context, const struct etw_record *record)
{
	struct sink *sink = context;

	collect(&sink->delivered, record);
	if (sink->delivered.count == 100) {
		etw_source_stop(shared);
	}
}

static void a_source_stops_at_the_next_record_and_stays_stopped(void **state)
{
	struct sink sink = { 0 };
	struct etw_event_sink to = sink_to(&sink);
	struct etw_source_statistics statistics;
	struct etw_error err;

	(void)state;
	etw_writer_close(build(path, RECORDS, false));
	shared = open_source(false, &err);
	assert_non_null(shared);
	to.on_event = on_event_stop;
	assert_false(etw_source_stopping(shared));
	assert_true(etw_source_run(shared, &to, &err));
	assert_true(etw_source_stopping(shared));
	assert_int_equal(sink.delivered.count, 100);
	etw_source_statistics(shared, &statistics);
	assert_int_equal(statistics.records, 100);
	assert_true(etw_source_run(shared, &to, &err));
	assert_int_equal(sink.delivered.count, 100);
	etw_source_close(shared);
	sink_done(&sink);
}

/* Reads a recording in memory in every way; returns whether it was one. */
static bool read_every_way(const uint8_t *bytes, size_t size)
{
	struct collected looked = { .count_only = true };
	struct collected delivered = { .count_only = true };
	struct etw_visitor look = { .record_context = &looked, .on_record = collect };
	struct etw_visitor deliver = { .record_context = &delivered, .on_record = collect };
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = 5000 };
	struct etl_progress progress = { 0 };
	struct etw_damage damage = { 0 };
	struct etw_error err;
	struct etw_file *file = etw_file_over(bytes, size, 0, &err);

	if (!file) {
		assert_true(err.text[0] != '\0');
		return false;
	}
	assert_true(etl_index_build(&index, file, &damage, &look, &err));
	assert_true(etl_order_run(file, &index, ETL_OPEN_MAX, &progress, &deliver, &err));
	assert_int_equal(delivered.count, looked.count);
	assert_true(delivered.touched == looked.touched);
	assert_int_equal(progress.late_records, 0);
	etl_index_done(&index);
	assert_true(etl_order_stream(file, 3000, &damage, &progress, &deliver, &err));
	assert_int_equal(delivered.count, 2 * looked.count);
	assert_true(delivered.touched == 2 * looked.touched);
	etw_file_close(file);
	return true;
}

/* A recording of 8 to 16 KiB with every type of record. */
static uint8_t *small_image(bool compressed, size_t *size)
{
	struct etw_writer *writer = build(NULL, 80, compressed);
	const uint8_t *bytes = etl_writer_bytes(writer, size);
	uint8_t *copy = exact_copy(bytes, *size);

	assert_true(*size <= 16384);
	etw_writer_close(writer);
	return copy;
}

static void truncation_at_every_byte_is_survived(void **state)
{
	(void)state;
	for (int compressed = 0; compressed < 2; compressed++) {
		size_t size;
		uint8_t *image = small_image(compressed, &size);

		for (size_t cut = 0; cut < size; cut++) {
			uint8_t *copy = exact_copy(image, cut);

			read_every_way(copy, cut);
			free(copy);
		}
		assert_true(read_every_way(image, size));
		free(image);
	}
}

/* Every place that could be a length: two and four bytes, all zeros and all ones.
 */
static void every_field_at_its_ends_is_survived(void **state)
{
	(void)state;
	for (int compressed = 0; compressed < 2; compressed++) {
		size_t size;
		uint8_t *image = small_image(compressed, &size);

		for (size_t at = 0; at + 4 <= size; at += 2) {
			/* The first buffer is mostly names and padding; filler needs no more than a
			 * sample. */
			if (image[at] == 0xff && image[at + 1] == 0xff && at % 64 != 0) {
				continue;
			}
			for (size_t width = 2; width <= 4; width += 2) {
				uint8_t saved[4];

				memcpy(saved, image + at, width);
				memset(image + at, 0, width);
				read_every_way(image, size);
				memset(image + at, 0xff, width);
				read_every_way(image, size);
				memcpy(image + at, saved, width);
			}
		}
		assert_true(read_every_way(image, size));
		free(image);
	}
}

/* How many of the first records (add_records) are kernel records, which have opcode 46. */
static unsigned kernel_records(unsigned count)
{
	unsigned kernel = 0;

	for (unsigned i = 0; i < count; i++) {
		kernel += i % ETW_RECORD_UNKNOWN <= ETW_RECORD_PERFINFO;
	}
	return kernel;
}

static void kernel_records_that_are_not_chosen_are_left_out_of_the_first_pass(void **state)
{
	static const struct etw_kernel_choice nothing;
	struct etw_kernel_choice opcode_46 = nothing;
	const struct {
		const char *name;
		const struct etw_kernel_choice *choice;
		size_t left_out;
	} cases[] = {
		{ "all are wanted", NULL, 0 },
		{ "they are chosen", &opcode_46, 1 },
		{ "none is", &nothing, 1 + kernel_records(RECORDS) },
	};

	(void)state;
	etw_kernel_choose(&opcode_46, 0x0f, 46);
	etw_writer_close(build(path, RECORDS, false));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sink sink = { 0 };
		struct etw_event_sink to = sink_to(&sink);
		struct etw_source_statistics statistics;
		struct etw_error err;
		struct etw_source *source = open_source(false, &err);

		print_message("  %s\n", cases[i].name);
		assert_non_null(source);
		to.first_pass_choice = cases[i].choice;
		assert_true(etw_source_run(source, &to, &err));
		/* The record that heads the recording is one of the kernel's too. */
		assert_int_equal(sink.looked.count, RECORDS + 1 - cases[i].left_out);
		assert_int_equal(sink.delivered.count, RECORDS + 1);
		etw_source_statistics(source, &statistics);
		assert_int_equal(statistics.bad_buffers + statistics.bad_records, 0);
		assert_int_equal(statistics.late_records, 0);
		etw_source_close(source);
		sink_done(&sink);
	}
}

struct shrinking {
	struct sink sink; /* the first member */
	struct etw_kernel_choice choice;
	size_t records, kernel_records; /* after nothing is chosen any more */
};

static void look_and_choose_less(void *context, const struct etw_record *record)
{
	static const struct etw_kernel_choice nothing;
	struct shrinking *shrinking = context;

	if (shrinking->sink.looked.count >= RECORDS / 2) {
		shrinking->records++;
		shrinking->kernel_records += record->kernel_group != ETW_RECORD_NO_GROUP;
	}
	on_first_pass(context, record);
	if (shrinking->sink.looked.count == RECORDS / 2) {
		shrinking->choice = nothing;
	}
}

static void a_choice_that_shrinks_is_that_of_the_next_record(void **state)
{
	(void)state;
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct shrinking shrinking = { .records = 0 };
		struct etw_event_sink to = sink_to(&shrinking.sink);
		struct etw_error err;
		struct etw_source *source;

		etw_writer_close(build(path, RECORDS, compressed));
		source = open_source(false, &err);
		assert_non_null(source);
		etw_kernel_choose(&shrinking.choice, 0x0f, 46);
		to.first_pass_choice = &shrinking.choice;
		to.on_first_pass = look_and_choose_less;
		assert_true(etw_source_run(source, &to, &err));
		assert_true(shrinking.records > 0);
		assert_int_equal(shrinking.kernel_records, 0);
		assert_int_equal(shrinking.sink.delivered.count, RECORDS + 1);
		etw_source_close(source);
		sink_done(&shrinking.sink);
	}
}

/* Of those without extended items. */
static unsigned plain_events(unsigned count)
{
	unsigned events = 0;

	for (unsigned i = 0; i < count; i++) {
		events += i % ETW_RECORD_UNKNOWN == ETW_RECORD_EVENT && !has_more(i);
	}
	return events;
}

static void events_whose_ids_are_not_chosen_are_left_out_of_the_first_pass(void **state)
{
	static const struct etw_id_choice nothing;
	struct etw_id_choice one = nothing; /* the first event without extended items */
	const struct {
		const char *name;
		const struct etw_id_choice *choice;
		size_t left_out;
	} cases[] = {
		{ "all are wanted", NULL, 0 },
		{ "one is chosen", &one, plain_events(RECORDS) - 1 },
		{ "none is", &nothing, plain_events(RECORDS) },
	};

	(void)state;
	etw_id_choose(&one, ETW_RECORD_EVENT);
	etw_writer_close(build(path, RECORDS, false));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sink sink = { 0 };
		struct etw_event_sink to = sink_to(&sink);
		struct etw_error err;
		struct etw_source *source = open_source(false, &err);

		print_message("  %s\n", cases[i].name);
		assert_non_null(source);
		to.first_pass_ids = cases[i].choice;
		assert_true(etw_source_run(source, &to, &err));
		assert_int_equal(sink.looked.count, RECORDS + 1 - cases[i].left_out);
		assert_int_equal(sink.delivered.count, RECORDS + 1);
		etw_source_close(source);
		sink_done(&sink);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_pass_is_in_file_order_and_delivery_in_time_order),
		cmocka_unit_test(kernel_records_that_are_not_chosen_are_left_out_of_the_first_pass),
		cmocka_unit_test(a_choice_that_shrinks_is_that_of_the_next_record),
		cmocka_unit_test(events_whose_ids_are_not_chosen_are_left_out_of_the_first_pass),
		cmocka_unit_test(facts_are_those_of_the_header),
		cmocka_unit_test(a_second_run_delivers_the_same),
		cmocka_unit_test(a_file_that_another_program_cuts_short_meanwhile_is_an_error),
		cmocka_unit_test(a_source_stops_at_the_next_record_and_stays_stopped),
	};
	const struct CMUnitTest passes[] = {
		cmocka_unit_test(truncation_at_every_byte_is_survived),
		cmocka_unit_test(every_field_at_its_ends_is_survived),
	};

	return cmocka_run_group_tests_name("source_file_passes", passes, NULL, NULL) +
	       cmocka_run_group_tests_name("source_file", tests, make_path, remove_path);
}
