/* SPDX-License-Identifier: MIT */
/*
 * Damaged headers of buffers: every reader delivers the records of all
 * buffers that the damage does not touch, and says how much was passed over. Which records these
 * are follows from how the recording was made, not from a reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/cursor.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/order.h"
#include "lib/etl/writer.h"
#include "tests/support/collected.h"
#include "tests/support/exact_copy.h"

enum {
	BUFFER_SIZE = 4096,
	HEADER_SIZE = 1024, /* of the first buffer */
	BUFFERS = 12,       /* behind it */
	PER_BUFFER = 38,    /* records of 104 bytes */
	SECTOR = 512,
};

/* Records have the times from here on, in ticks, one each: a machine that runs for a day. */
static const int64_t first_time = INT64_C(864000000000);

/* ---- a recording ---- */

struct image {
	uint8_t *bytes;
	size_t size;
	size_t starts[BUFFERS + 2]; /* of buffers; then the end */
};

static struct image build(bool compressed)
{
	const struct etw_writer_options options = { .buffer_size = BUFFER_SIZE,
						    .header_buffer_size = HEADER_SIZE,
						    .start_raw = first_time - 1000,
						    .compressed = compressed };
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(NULL, &options, &err);
	struct image image = { 0 };
	const uint8_t *bytes;
	uint32_t noise = 1;
	unsigned count = 0;

	assert_non_null(writer);
	for (unsigned i = 0; i < BUFFERS * PER_BUFFER; i++) {
		uint8_t payload[72] = { 0 };

		for (size_t j = 0; j < 24 + i % 5; j++) {
			noise = noise * 1103515245 + 12345;
			payload[j] = (uint8_t)(noise >> 16);
		}
		etw_writer_add(writer, &(struct etw_out_record){
					       .type = ETW_RECORD_SYSTEM,
					       .raw_time = first_time + i,
					       .group = 0x01,
					       .opcode = 10,
					       .payload = payload,
					       .payload_size = sizeof payload,
				       });
	}
	assert_true(etw_writer_finish(writer, &err));
	bytes = etl_writer_bytes(writer, &image.size);
	image.bytes = exact_copy(bytes, image.size);
	etw_writer_close(writer);
	for (size_t at = 0; at < image.size; at += etw_load_u32(image.bytes + at)) {
		assert_true(count <= BUFFERS);
		image.starts[count++] = at;
	}
	image.starts[count] = image.size;
	assert_int_equal(count, BUFFERS + 1);
	return image;
}

/* ---- what readers deliver ---- */

struct reading {
	struct collected collected;
	struct etw_damage damage;
};

typedef void read_function(struct etw_file *file, struct reading *reading);

static void read_first_pass(struct etw_file *file, struct reading *reading)
{
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = 1 << 20 };
	struct etw_visitor visitor = { .record_context = &reading->collected,
				       .on_record = collect };
	struct etw_error err;

	assert_true(etl_index_build(&index, file, &reading->damage, &visitor, &err));
	etl_index_done(&index);
}

static void read_second_pass_of(struct etw_file *file, struct reading *reading, size_t entries_max)
{
	struct etl_index index = { .entries_max = entries_max, .keep_bytes = BUFFER_SIZE };
	struct etw_visitor look = { 0 };
	struct etw_visitor visitor = { .record_context = &reading->collected,
				       .on_record = collect };
	struct etl_progress progress = { 0 };
	struct etw_error err;

	assert_true(etl_index_build(&index, file, &reading->damage, &look, &err));
	assert_true(etl_order_run(file, &index, ETL_OPEN_MAX, &progress, &visitor, &err));
	etl_index_done(&index);
}

static void read_second_pass(struct etw_file *file, struct reading *reading)
{
	read_second_pass_of(file, reading, ETL_INDEX_MAX);
}

/* From a place in the file on, there is no index. */
static void read_rest_of_second_pass(struct etw_file *file, struct reading *reading)
{
	read_second_pass_of(file, reading, 2);
}

static void read_single_pass(struct etw_file *file, struct reading *reading)
{
	struct etw_visitor visitor = { .record_context = &reading->collected,
				       .on_record = collect };
	struct etl_progress progress = { 0 };
	struct etw_error err;

	assert_true(
		etl_order_stream(file, BUFFER_SIZE, &reading->damage, &progress, &visitor, &err));
}

static enum etw_mirror_action keep(void *context, const struct etw_record *record,
				   struct etw_mirror_bytes *bytes)
{
	(void)context;
	(void)record;
	(void)bytes;
	return ETW_MIRROR_KEEP;
}

/* What is written again has all that was intact, and no damage. */
static void read_mirror_of(struct etw_file *file, struct reading *reading, enum etw_packing packing,
			   etw_mirror_decide *decide)
{
	const struct etw_mirror_visitor visitor = { .decide = decide };
	struct reading of_copy = { 0 };
	struct etw_error err;
	struct etw_mirror *mirror =
		etw_mirror_open(NULL, (struct etw_mirror_form){ packing, 1 }, &file, 1, &err);
	struct etw_file *copy;
	const uint8_t *bytes;
	size_t size;

	assert_non_null(mirror);
	assert_true(etw_mirror_copy(mirror, file, &visitor, &reading->damage, &err));
	assert_true(etw_mirror_finish(mirror, &err));
	bytes = etw_mirror_bytes(mirror, &size);
	copy = etw_file_over(bytes, size, 0, &err);
	assert_non_null(copy);
	read_first_pass(copy, &of_copy);
	assert_int_equal(of_copy.damage.bad_buffers + of_copy.damage.bad_bytes, 0);
	assert_false(of_copy.damage.truncated);
	reading->collected = of_copy.collected;
	etw_file_close(copy);
	etw_mirror_close(mirror);
}

static void read_mirror(struct etw_file *file, struct reading *reading)
{
	read_mirror_of(file, reading, ETW_AS_READ, NULL);
}

static void read_compressed_mirror(struct etw_file *file, struct reading *reading)
{
	read_mirror_of(file, reading, ETW_COMPRESSED, NULL);
}

static void read_filtered_mirror(struct etw_file *file, struct reading *reading)
{
	read_mirror_of(file, reading, ETW_PLAIN, keep);
}

static const struct reader {
	const char *name;
	read_function *read;
} readers[] = {
	{ "first pass", read_first_pass },
	{ "second pass", read_second_pass },
	{ "rest of the second pass", read_rest_of_second_pass },
	{ "single pass", read_single_pass },
	{ "mirror", read_mirror },
	{ "compressed mirror", read_compressed_mirror },
	{ "filtered mirror", read_filtered_mirror },
};

enum { READERS = sizeof readers / sizeof readers[0] };

static struct reading read_image(const struct image *image, const struct reader *reader)
{
	uint8_t *copy = exact_copy(image->bytes, image->size);
	struct reading reading = { 0 };
	struct etw_error err;
	struct etw_file *file = etw_file_over(copy, image->size, 0, &err);

	assert_non_null(file);
	reader->read(file, &reading);
	etw_file_close(file);
	free(copy);
	return reading;
}

/* The times of the records of a buffer follow from its number, counted from the first behind the
 * one with the logfile header. */
static bool has_all_of(const struct reading *reading, unsigned buffer)
{
	unsigned count = 0;

	for (size_t i = 0; i < reading->collected.count; i++) {
		int64_t record = reading->collected.records[i].raw_time - first_time;

		count += record / PER_BUFFER == buffer && record >= 0;
	}
	return count == PER_BUFFER;
}

/* ---- damage ---- */

enum kind {
	ZEROS,
	FILLER,
	TEXT,
	NOISE,
	OTHER_NOISE,
	SIZE_0,
	SIZE_TINY,
	SIZE_INSIDE,
	SIZE_LARGER,
	SIZE_OF_THREE,
	SIZE_BEYOND_END,
	SIZE_HUGE,
	SIZE_LARGEST,
	FIRST_BYTES,
	KINDS
};

static const char *const kind_names[KINDS] = {
	"zeros",         "ones",        "text",        "noise",         "other noise",
	"size 0",        "size 71",     "size 200",    "size 16 more",  "size of three buffers",
	"size too long", "size 16 MiB", "size of u32", "16 bytes of it"
};

static void damage_header(struct image *image, size_t at, enum kind kind)
{
	uint8_t *header = image->bytes + at;
	uint32_t size = etw_load_u32(header), noise = kind == NOISE ? 77 : 4711;

	switch (kind) {
	case ZEROS:
		memset(header, 0, ETL_BUFFER_HEADER_SIZE);
		return;
	case FILLER:
		memset(header, 0xff, ETL_BUFFER_HEADER_SIZE);
		return;
	case TEXT:
		memset(header, ' ', ETL_BUFFER_HEADER_SIZE);
		return;
	case FIRST_BYTES:
		memset(header, 0, 16);
		return;
	case NOISE:
	case OTHER_NOISE:
		for (unsigned i = 0; i < ETL_BUFFER_HEADER_SIZE; i++) {
			noise = noise * 1103515245 + 12345;
			header[i] = (uint8_t)(noise >> 16);
		}
		return;
	case SIZE_0:
		size = 0;
		break;
	case SIZE_TINY:
		size = ETL_BUFFER_HEADER_SIZE - 1;
		break;
	case SIZE_INSIDE:
		size = 200;
		break;
	case SIZE_LARGER:
		size += 16;
		break;
	case SIZE_OF_THREE:
		size = 3 * BUFFER_SIZE;
		break;
	case SIZE_BEYOND_END:
		size = (uint32_t)(image->size - at) + 1;
		break;
	case SIZE_HUGE:
		size = ETL_BUFFER_MAX;
		break;
	case SIZE_LARGEST:
		size = UINT32_MAX;
		break;
	case KINDS:
		break;
	}
	store_u32(header, size);
}

/* Buffers by their bits: which are damaged, the first behind the logfile header being bit 0. */
static const struct {
	const char *name;
	unsigned buffers;
} places[] = {
	{ "the first", 0x001 },
	{ "the second", 0x002 },
	{ "one in the middle", 0x020 },
	{ "the last", 0x800 },
	{ "two in a row", 0x060 },
	{ "four in a row", 0x1e0 },
	{ "the first two", 0x003 },
	{ "the last two", 0xc00 },
	{ "every second one", 0x555 },
	{ "two with one between", 0x050 },
	{ "all but the first", 0xffe },
	{ "all but one", 0xfbf },
	{ "all", 0xfff },
};

enum { PLACES = sizeof places / sizeof places[0] };

/* Buffers, by the size of gaps between those that can be recognised, and their bytes. */
static void add_gaps(const struct image *image, unsigned damaged, struct etw_damage *expected)
{
	size_t gap = 0;

	for (unsigned i = 0; i <= BUFFERS; i++) {
		if (i < BUFFERS && (damaged >> i & 1)) {
			gap += image->starts[i + 2] - image->starts[i + 1];
			continue;
		}
		expected->bad_buffers += (gap + BUFFER_SIZE - 1) / BUFFER_SIZE;
		expected->bad_bytes += gap;
		gap = 0;
	}
}

/* Whether the file may as well end within the last buffer. */
static bool is_like_a_cut(unsigned damaged, enum kind kind, bool compressed)
{
	bool fits = kind == SIZE_LARGER || kind == SIZE_OF_THREE || kind == SIZE_BEYOND_END ||
		    kind == SIZE_HUGE;

	return (damaged >> (BUFFERS - 1) & 1) && fits && (compressed || kind != SIZE_LARGEST);
}

static void a_damaged_header_costs_its_buffer_only(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2u * PLACES * KINDS; n++) {
		bool compressed = n % 2;
		unsigned damaged = places[n / 2 % PLACES].buffers;
		enum kind kind = (enum kind)(n / 2 / PLACES);
		struct image image = build(compressed);
		struct etw_damage expected = { 0 };
		bool cut = is_like_a_cut(damaged, kind, compressed);

		for (unsigned i = 0; i < BUFFERS; i++) {
			if (damaged >> i & 1) {
				damage_header(&image, image.starts[i + 1], kind);
			}
		}
		add_gaps(&image, cut ? damaged & ~(1u << (BUFFERS - 1)) : damaged, &expected);
		for (unsigned r = 0; r < READERS; r++) {
			struct reading reading = read_image(&image, &readers[r]);
			unsigned read = cut ? 1 : 0; /* what a cut buffer has is used */

			for (unsigned i = 0; i < BUFFERS; i++) {
				read += !(damaged >> i & 1);
				if (!(damaged >> i & 1) && !has_all_of(&reading, i)) {
					fail_msg("%s, %s, %s, compressed %d: no buffer %u",
						 kind_names[kind], places[n / 2 % PLACES].name,
						 readers[r].name, compressed, i);
				}
			}
			/* A compressed buffer that seems to be shorter is read up to there. */
			if (compressed && kind == SIZE_INSIDE) {
				assert_true(reading.damage.bad_buffers > 0);
			} else if (reading.collected.count != 1 + read * PER_BUFFER ||
				   reading.damage.bad_buffers != expected.bad_buffers ||
				   reading.damage.bad_bytes != expected.bad_bytes ||
				   reading.damage.bad_records != 0 ||
				   reading.damage.truncated != cut) {
				fail_msg("%s, %s, %s, compressed %d: %zu records, %u buffers of %u "
					 "bytes, %u records, cut %d",
					 kind_names[kind], places[n / 2 % PLACES].name,
					 readers[r].name, compressed, reading.collected.count,
					 (unsigned)reading.damage.bad_buffers,
					 (unsigned)reading.damage.bad_bytes,
					 (unsigned)reading.damage.bad_records,
					 reading.damage.truncated);
			}
			collected_done(&reading.collected);
		}
		free(image.bytes);
	}
}

/* A power failure leaves whole sectors, wherever they are in a buffer. */
static void a_sector_of_zeros_costs_the_buffers_it_touches(void **state)
{
	(void)state;
	for (int compressed = 0; compressed < 2; compressed++) {
		struct image intact = build(compressed);

		for (size_t at = 2 * SECTOR; at + SECTOR <= intact.size; at += SECTOR) {
			struct image image = build(compressed);

			memset(image.bytes + at, 0, SECTOR);
			for (unsigned r = 0; r < READERS; r++) {
				struct reading reading = read_image(&image, &readers[r]);
				const struct etw_damage *damage = &reading.damage;

				for (unsigned i = 0; i < BUFFERS; i++) {
					bool touched = intact.starts[i + 1] < at + SECTOR &&
						       intact.starts[i + 2] > at;

					if (!touched && !has_all_of(&reading, i)) {
						fail_msg("%zu, %s, compressed %d: no buffer %u", at,
							 readers[r].name, compressed, i);
					}
				}
				if (reading.collected.count < 1 + BUFFERS * PER_BUFFER &&
				    damage->bad_buffers + damage->bad_records == 0) {
					fail_msg("%zu, %s, compressed %d: a silent loss", at,
						 readers[r].name, compressed);
				}
				assert_false(damage->truncated);
				collected_done(&reading.collected);
			}
			free(image.bytes);
		}
		free(intact.bytes);
	}
}

static void a_cut_behind_damage_is_a_cut_and_damage(void **state)
{
	(void)state;
	for (int compressed = 0; compressed < 2; compressed++) {
		struct image image = build(compressed);

		damage_header(&image, image.starts[3], ZEROS);
		image.size = image.starts[8] + ETL_BUFFER_HEADER_SIZE + 900u;
		for (unsigned r = 0; r < READERS; r++) {
			struct reading reading = read_image(&image, &readers[r]);

			for (unsigned i = 0; i < 7; i++) {
				assert_int_equal(has_all_of(&reading, i), i != 2);
			}
			assert_true(reading.collected.count > 1 + 6 * PER_BUFFER);
			assert_true(reading.damage.truncated);
			assert_int_equal(reading.damage.bad_buffers, 1);
			collected_done(&reading.collected);
		}
		/* Between two buffers, only their number shows it. */
		image.size = image.starts[8];
		for (unsigned r = 0; r < READERS; r++) {
			struct reading reading = read_image(&image, &readers[r]);

			assert_int_equal(reading.damage.bad_buffers, 1);
			assert_true(compressed || reading.damage.truncated);
			collected_done(&reading.collected);
		}
		free(image.bytes);
	}
}

/* A file that was overwritten can have blocks of an older recording. */
static void a_buffer_of_another_time_is_not_taken_for_the_next_one(void **state)
{
	static const int64_t times[] = { INT64_MIN, -1, INT64_C(1) << 50, INT64_MAX };
	enum { TIME_STAMP = 0x10 };

	(void)state;
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		struct image image = build(false);
		struct reading reading;

		damage_header(&image, image.starts[3], ZEROS);
		store_u64(image.bytes + image.starts[4] + TIME_STAMP, (uint64_t)times[i]);
		reading = read_image(&image, &readers[0]);
		assert_int_equal(reading.damage.bad_bytes, 2 * BUFFER_SIZE);
		assert_true(has_all_of(&reading, 4));
		collected_done(&reading.collected);
		free(image.bytes);
	}
}

/* A payload can be anything. Here it ends like a header, whose first record is the one behind. */
static void a_payload_that_looks_like_a_header_costs_no_buffer(void **state)
{
	enum { WIDTH = 104, RECORD_8 = ETL_BUFFER_HEADER_SIZE + 8 * WIDTH };
	static const struct {
		const char *name;
		uint32_t size, end;
	} fakes[] = {
		{ "small", 200, 112 },
		{ "as large as a buffer", BUFFER_SIZE, 2048 },
		{ "over the next buffer", 2 * BUFFER_SIZE, 2 * BUFFER_SIZE },
		{ "over all", ETL_BUFFER_MAX, ETL_BUFFER_MAX },
	};

	(void)state;
	for (unsigned n = 0; n < 2 * sizeof fakes / sizeof fakes[0]; n++) {
		struct image image = build(false);
		/* In the buffer before the damaged one, and in that. */
		uint8_t *fake =
			image.bytes + image.starts[4 + n % 2] + RECORD_8 - ETL_BUFFER_HEADER_SIZE;

		memset(fake, 0, ETL_BUFFER_HEADER_SIZE);
		store_u32(fake, fakes[n / 2].size);
		store_u32(fake + 0x30, fakes[n / 2].end);
		store_u64(fake + 0x10, (uint64_t)first_time);
		store_u64(fake + 0x18, 7);
		damage_header(&image, image.starts[5], ZEROS);
		for (unsigned r = 0; r < READERS; r++) {
			struct reading reading = read_image(&image, &readers[r]);

			for (unsigned i = 0; i < BUFFERS; i++) {
				if (i != 4 && !has_all_of(&reading, i)) {
					fail_msg("%s, %u, %s: no buffer %u", fakes[n / 2].name,
						 n % 2, readers[r].name, i);
				}
			}
			assert_true(reading.damage.bad_buffers > 0);
			collected_done(&reading.collected);
		}
		free(image.bytes);
	}
}

/* The logfile header, without which nothing can be read, is in the first buffer. */
static void a_wrong_size_of_the_first_buffer_costs_nothing(void **state)
{
	static const enum kind kinds[] = { SIZE_LARGER, SIZE_OF_THREE, SIZE_BEYOND_END, SIZE_HUGE };

	(void)state;
	for (unsigned n = 0; n < 2 * sizeof kinds / sizeof kinds[0]; n++) {
		struct image image = build(n % 2);

		damage_header(&image, 0, kinds[n / 2]);
		for (unsigned r = 0; r < READERS; r++) {
			struct reading reading = read_image(&image, &readers[r]);

			assert_int_equal(reading.collected.count, 1 + BUFFERS * PER_BUFFER);
			assert_false(reading.damage.truncated);
			collected_done(&reading.collected);
		}
		free(image.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_header_costs_its_buffer_only),
		cmocka_unit_test(a_sector_of_zeros_costs_the_buffers_it_touches),
		cmocka_unit_test(a_cut_behind_damage_is_a_cut_and_damage),
		cmocka_unit_test(a_buffer_of_another_time_is_not_taken_for_the_next_one),
		cmocka_unit_test(a_payload_that_looks_like_a_header_costs_no_buffer),
		cmocka_unit_test(a_wrong_size_of_the_first_buffer_costs_nothing),
	};

	return cmocka_run_group_tests_name("etl_damage", tests, NULL, NULL);
}
