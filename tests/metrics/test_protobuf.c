/* SPDX-License-Identifier: MIT */
/*
 * Native buckets: their bounds, counting, merging; and the messages of the protobuf format, byte by
 * byte. tests/e2e/formats.sh reads whole pages with code that protoc made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "metrics/exposition.h"
#include "metrics/registry_internal.h"

/* ---- bounds ---- */

/* A number of up to 640 bits, in digits of 32 bits, lowest first. */
struct big {
	uint32_t digits[20];
};

static void multiply(struct big *number, uint64_t factor)
{
	uint64_t high = 0;
	struct big low = *number;

	for (unsigned half = 0; half < 2; half++) {
		uint32_t part = (uint32_t)(factor >> 32 * half);
		uint64_t rest = 0;

		for (unsigned i = 0; i < 20; i++) {
			uint64_t digit = rest +
					 (uint64_t)part * (i >= half ? low.digits[i - half] : 0) +
					 (half == 1 ? number->digits[i] : 0);

			number->digits[i] = (uint32_t)digit;
			rest = digit >> 32;
		}
		high |= rest;
	}
	assert_int_equal(high, 0);
}

/* Whether a^8 * 2^left <= b^8 * 2^right; a and b up to 64 bits. */
static bool eighth_power_up_to(uint64_t a, unsigned left, uint64_t b, unsigned right)
{
	struct big x = { { 1 } }, y = { { 1 } };

	for (unsigned i = 0; i < 8; i++) {
		multiply(&x, a);
		multiply(&y, b);
	}
	for (unsigned i = 0; i < left; i++) {
		multiply(&x, 2);
	}
	for (unsigned i = 0; i < right; i++) {
		multiply(&y, 2);
	}
	for (unsigned i = 20; i-- > 0;) {
		if (x.digits[i] != y.digits[i]) {
			return x.digits[i] < y.digits[i];
		}
	}
	return true;
}

/* v is up to 2^(i/8) * 10^d if v^8 is up to 2^i * (10^d)^8. */
static bool is_up_to(uint64_t value, int index, uint64_t unit)
{
	return index < 0 ? eighth_power_up_to(value, (unsigned)-index, unit, 0) :
			   eighth_power_up_to(value, 0, unit, (unsigned)index);
}

static void bounds_are_exact(void **state)
{
	struct native_scale *scale = calloc(1, sizeof *scale);
	uint64_t unit = 1;

	(void)state;
	assert_non_null(scale);
	for (unsigned decimals = 0; decimals <= 9; decimals++, unit *= 10) {
		native_scale_init(scale, decimals);
		/* No bucket below the first has an integer. */
		assert_false(is_up_to(1, scale->first_index - 1, unit));
		for (int i = 1; i < NATIVE_POSITIONS; i++) {
			uint64_t bound = scale->bounds[i];
			int index = scale->first_index + i - 1;

			assert_true(is_up_to(bound, index, unit));
			if (bound < UINT64_MAX) {
				assert_false(is_up_to(bound + 1, index, unit));
				assert_true(native_position(scale, bound + 1) > (unsigned)i);
			}
			assert_true(native_position(scale, bound) <= (unsigned)i);
			assert_true(bound == scale->bounds[native_position(scale, bound)]);
		}
		assert_true(scale->bounds[NATIVE_POSITIONS - 1] == UINT64_MAX);
		assert_int_equal(native_position(scale, 0), 0);
		assert_int_equal(native_position(scale, 1), 1);
	}
	free(scale);
}

/* ---- counting ---- */

struct fixture {
	struct registry *registry;
	struct shard *shard;
};

static int make(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	const struct registry_limits limits = { .series_per_family = 100000,
						.native_histograms = true };

	assert_non_null(fixture);
	fixture->registry = registry_new(&limits, NULL);
	assert_non_null(fixture->registry);
	fixture->shard = registry_shard(fixture->registry, false, NULL);
	*state = fixture;
	return fixture->shard ? 0 : -1;
}

static int done(void **state)
{
	struct fixture *fixture = *state;

	registry_free(fixture->registry);
	free(fixture);
	return 0;
}

static struct family *declare(struct fixture *fixture, const struct family_options *options)
{
	struct family *family = registry_family(fixture->registry, options, NULL);

	assert_non_null(family);
	return family;
}

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

static bool is_under_test(void *context, const struct family *family)
{
	(void)context;
	return strncmp(family_name(family), "etw_exporter_", 13) != 0;
}

static struct etw_text page_in_order(struct fixture *fixture, bool sorted)
{
	const struct exposition_options options = { .format = EXPOSITION_PROTOBUF,
						    .sorted = sorted,
						    .requested = is_under_test };
	struct etw_text page = { 0 };

	assert_true(exposition_write(fixture->registry, &options, append, &page));
	assert_false(page.failed);
	return page;
}

static struct etw_text page_of(struct fixture *fixture)
{
	return page_in_order(fixture, false);
}

/* ---- a reader of messages ---- */

struct bytes {
	const unsigned char *at, *end;
};

static uint64_t read_varint(struct bytes *in)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		assert_true(in->at < in->end && shift < 64);
		value |= (uint64_t)(*in->at & 127) << shift;
		shift += 7;
	} while (*in->at++ >= 128);
	return value;
}

static struct bytes read_bytes(struct bytes *in)
{
	uint64_t size = read_varint(in);
	struct bytes part = { in->at, in->at + size };

	assert_true(size <= (uint64_t)(in->end - in->at));
	in->at += size;
	return part;
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Field `number` of a message, the n-th of them: its number or its bytes. False if there is none.
 */
static bool field_of(struct bytes message, unsigned number, unsigned n, uint64_t *value,
		     struct bytes *bytes)
{
	while (message.at < message.end) {
		uint64_t tag = read_varint(&message), got = 0;
		struct bytes part = { 0 };

		switch (tag & 7) {
		case 0:
			got = read_varint(&message);
			break;
		case 1:
			assert_true(message.end - message.at >= 8);
			for (unsigned i = 0; i < 8; i++) {
				got |= (uint64_t)message.at[i] << 8 * i;
			}
			message.at += 8;
			break;
		case 2:
			part = read_bytes(&message);
			break;
		default:
			fail_msg("wire type %d", (int)(tag & 7));
		}
		if (tag >> 3 == number && n-- == 0) {
			*value = got;
			*bytes = part;
			return true;
		}
	}
	return false;
}

static uint64_t number_of(struct bytes message, unsigned number)
{
	struct bytes bytes;
	uint64_t value = 0;

	assert_true(field_of(message, number, 0, &value, &bytes));
	return value;
}

static double double_of(struct bytes message, unsigned number)
{
	uint64_t bits = number_of(message, number);
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static struct bytes part_of(struct bytes message, unsigned number, unsigned n)
{
	struct bytes bytes = { 0 };
	uint64_t value;

	assert_true(field_of(message, number, n, &value, &bytes));
	return bytes;
}

static bool has(struct bytes message, unsigned number, unsigned n)
{
	struct bytes bytes;
	uint64_t value;

	return field_of(message, number, n, &value, &bytes);
}

static void expect_text(struct bytes bytes, const char *text)
{
	assert_int_equal(bytes.end - bytes.at, strlen(text));
	assert_memory_equal(bytes.at, text, strlen(text));
}

static struct bytes first_message(const struct etw_text *page)
{
	struct bytes all = { (const unsigned char *)page->data,
			     (const unsigned char *)page->data + page->size };

	return read_bytes(&all);
}

/* ---- messages ---- */

static void a_counter_has_labels_value_and_time(void **state)
{
	struct fixture *fixture = *state;
	struct family *family =
		declare(fixture, &(struct family_options){ .name = "a_seconds_total",
							   .help = "A \"b\"\\\n.",
							   .type = FAMILY_COUNTER,
							   .decimals = 9,
							   .labels = { "x", "long_name" },
							   .label_count = 2 });
	struct intern *strings = registry_strings(fixture->registry);
	uint32_t ids[2] = { intern_string(strings, "q\"\\\n}"), intern_string(strings, "") };
	struct bytes message, metric, created;
	struct etw_text page;

	family_add(family, fixture->shard, ids, 1500000000);
	page = page_of(fixture);
	message = first_message(&page);
	expect_text(part_of(message, 1, 0), "a_seconds_total");
	expect_text(part_of(message, 2, 0), "A \"b\"\\\n.");
	assert_int_equal(number_of(message, 3), 0);
	expect_text(part_of(message, 5, 0), "seconds");
	metric = part_of(message, 4, 0);
	expect_text(part_of(part_of(metric, 1, 0), 1, 0), "x");
	expect_text(part_of(part_of(metric, 1, 0), 2, 0), "q\"\\\n}");
	expect_text(part_of(part_of(metric, 1, 1), 1, 0), "long_name");
	expect_text(part_of(part_of(metric, 1, 1), 2, 0), "");
	assert_true(double_of(part_of(metric, 3, 0), 1) == 1.5);
	created = part_of(part_of(metric, 3, 0), 3, 0);
	assert_in_range(number_of(created, 1), os_unix_time_ns() / 1000000000 - 3600,
			os_unix_time_ns() / 1000000000);
	assert_true(number_of(created, 2) < 1000000000);
	text_free(&page);
}

static void hidden_gauges_make_no_message(void **state)
{
	struct fixture *fixture = *state;
	struct family *family = declare(fixture, &(struct family_options){ .name = "g",
									   .help = "G.",
									   .type = FAMILY_GAUGE });
	struct etw_text page;

	family_hide(family, fixture->shard, NULL);
	page = page_of(fixture);
	assert_int_equal(page.size, 0);
	family_set(family, fixture->shard, NULL, -5);
	text_free(&page);
	page = page_of(fixture);
	assert_true(double_of(part_of(part_of(first_message(&page), 4, 0), 2, 0), 1) == -5);
	text_free(&page);
}

static void a_histogram_has_classic_and_native_buckets(void **state)
{
	static const uint64_t bounds[] = { 1000000000, 4000000000 };
	/* Seconds: 0; 0.5 (index -8), 1 (index 0) twice, just above 1 (1), 4 (16), 1 ns (-239). */
	static const uint64_t values[] = { 0,          500000000,  1000000000, 1000000000,
					   1000000001, 4000000000, 1 };
	static const struct {
		int64_t offset, length;
	} spans[] = { { -239, 1 }, { 230, 1 }, { 7, 2 }, { 14, 1 } };
	static const int64_t deltas[] = { 1, 0, 1, -1, 0 };
	struct fixture *fixture = *state;
	struct family *family = declare(fixture, &(struct family_options){ .name = "d_seconds",
									   .help = "D.",
									   .type = FAMILY_HISTOGRAM,
									   .decimals = 9,
									   .buckets = bounds,
									   .bucket_count = 2 });
	struct shard *other = registry_shard(fixture->registry, true, NULL);
	struct bytes histogram, packed;
	struct etw_text page;

	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		family_observe(family, i % 2 ? other : fixture->shard, NULL, values[i]);
	}
	page = page_of(fixture);
	assert_int_equal(number_of(first_message(&page), 3), 4);
	histogram = part_of(part_of(first_message(&page), 4, 0), 7, 0);
	assert_int_equal(number_of(histogram, 1), 7);
	assert_true(double_of(histogram, 2) == 7.500000002);
	assert_int_equal(number_of(part_of(histogram, 3, 0), 1), 5);
	assert_true(double_of(part_of(histogram, 3, 0), 2) == 1);
	assert_int_equal(number_of(part_of(histogram, 3, 1), 1), 7);
	assert_true(double_of(part_of(histogram, 3, 1), 2) == 4);
	assert_false(has(histogram, 3, 2));
	assert_int_equal(unzigzag(number_of(histogram, 5)), 3);
	assert_true(double_of(histogram, 6) > 0 && double_of(histogram, 6) < 1e-9);
	assert_int_equal(number_of(histogram, 7), 1);
	for (unsigned i = 0; i < 4; i++) {
		struct bytes span = part_of(histogram, 12, i);

		assert_int_equal(unzigzag(number_of(span, 1)), spans[i].offset);
		assert_int_equal(number_of(span, 2), spans[i].length);
	}
	assert_false(has(histogram, 12, 4));
	packed = part_of(histogram, 13, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(unzigzag(read_varint(&packed)), deltas[i]);
	}
	assert_ptr_equal(packed.at, packed.end);
	text_free(&page);
}

/* 64 powers of two with 8 buckets each: two of the smaller schemas are needed for at most 160. */
static void many_buckets_are_merged(void **state)
{
	struct fixture *fixture = *state;
	struct family *family =
		declare(fixture, &(struct family_options){
					 .name = "b", .help = "B.", .type = FAMILY_HISTOGRAM });
	struct bytes histogram, deltas;
	int64_t count = 0;
	uint64_t sum = 0, observed = 0;
	unsigned buckets = 0;
	struct etw_text page;

	for (unsigned power = 0; power < 64; power++) {
		for (uint64_t eighth = 8; eighth < 16; eighth++) {
			uint64_t value = power < 3 ? eighth << power >> 3 : eighth << (power - 3);

			family_observe(family, fixture->shard, NULL, value);
			observed++;
		}
	}
	page = page_of(fixture);
	histogram = part_of(part_of(first_message(&page), 4, 0), 7, 0);
	assert_int_equal(unzigzag(number_of(histogram, 5)), 1);
	assert_int_equal(number_of(histogram, 1), observed);
	deltas = part_of(histogram, 13, 0);
	for (; deltas.at < deltas.end; buckets++) {
		count += unzigzag(read_varint(&deltas));
		sum += (uint64_t)count;
	}
	assert_int_equal(sum, observed);
	assert_in_range(buckets, 100, 160);
	text_free(&page);
}

static void without_native_histograms_the_classic_buckets_remain(void **state)
{
	static const uint64_t bound = 5;
	struct fixture plain = { .registry = registry_new(NULL, NULL) };
	struct bytes histogram;
	struct etw_text page;

	(void)state;
	assert_non_null(plain.registry);
	plain.shard = registry_shard(plain.registry, false, NULL);
	family_observe(declare(&plain, &(struct family_options){ .name = "d",
								 .help = "D.",
								 .type = FAMILY_HISTOGRAM,
								 .buckets = &bound,
								 .bucket_count = 1 }),
		       plain.shard, NULL, 7);
	page = page_of(&plain);
	histogram = part_of(part_of(first_message(&page), 4, 0), 7, 0);
	assert_int_equal(number_of(histogram, 1), 1);
	assert_int_equal(number_of(part_of(histogram, 3, 0), 1), 0);
	for (unsigned field = 5; field <= 14; field++) {
		assert_false(has(histogram, field, 0));
	}
	text_free(&page);
	registry_free(plain.registry);
}

/* Each client that takes the page needs memory for the largest message. */
enum { MESSAGE_MOST = 80 * 1024 };

/* Several messages of the same name, with every sample once. */
static void a_great_family_comes_in_several_messages(void **state)
{
	enum { SERIES_MADE = 6000 };
	struct fixture *fixture = *state;
	struct family *family = declare(fixture, &(struct family_options){ .name = "x_total",
									   .help = "X.",
									   .type = FAMILY_COUNTER,
									   .labels = { "a" },
									   .label_count = 1 });
	unsigned messages = 0, samples = 0;
	double sum = 0;
	struct bytes all;
	struct etw_text page;

	for (uint64_t i = 1; i <= SERIES_MADE; i++) {
		char name[64];
		uint32_t id;

		snprintf(name, sizeof name, "%060u", (unsigned)i);
		id = intern_string(registry_strings(fixture->registry), name);
		family_add(family, fixture->shard, &id, i);
	}
	page = page_of(fixture);
	all = (struct bytes){ (const unsigned char *)page.data,
			      (const unsigned char *)page.data + page.size };
	while (all.at < all.end) {
		struct bytes message = read_bytes(&all);

		assert_in_range(message.end - message.at, 1, MESSAGE_MOST);
		expect_text(part_of(message, 1, 0), "x_total");
		messages++;
		while (message.at < message.end) {
			uint64_t tag = read_varint(&message);

			if ((tag & 7) == 0) {
				read_varint(&message);
			} else if (tag >> 3 == 4) {
				sum += double_of(part_of(read_bytes(&message), 3, 0), 1);
				samples++;
			} else {
				read_bytes(&message);
			}
		}
	}
	assert_true(messages >= 2);
	assert_int_equal(samples, SERIES_MADE);
	assert_true(sum == (double)SERIES_MADE * (SERIES_MADE + 1) / 2);
	text_free(&page);
}

enum { COUNTERS = 4, OBSERVATIONS = 20000 };

struct counting {
	struct os_thread thread;
	struct family *family;
	struct shard *shard;
	unsigned number;
};

/* Values of all sizes, so that pages of buckets are made all the while. */
static void observe(void *context)
{
	struct counting *counting = context;

	for (uint64_t i = 0; i < OBSERVATIONS; i++) {
		uint64_t value = i % 64 == 63 ? 0 : (i + counting->number) << i % 48;

		family_observe(counting->family, counting->shard, NULL, value);
	}
}

struct scraper {
	struct os_thread thread;
	struct fixture *fixture;
	atomic_bool done;
};

/* The count of a histogram. Its native buckets must add up to it. */
static uint64_t count_of_histogram(struct bytes histogram)
{
	struct bytes deltas;
	uint64_t count = number_of(histogram, 1), sum = number_of(histogram, 7);
	int64_t bucket = 0;

	if (has(histogram, 13, 0)) {
		deltas = part_of(histogram, 13, 0);
		while (deltas.at < deltas.end) {
			bucket += unzigzag(read_varint(&deltas));
			assert_true(bucket > 0);
			sum += (uint64_t)bucket;
		}
	}
	assert_int_equal(sum, count);
	return count;
}

/* The counts of all histograms of the first family of a page. */
static uint64_t count_of_page(struct fixture *fixture)
{
	struct etw_text page = page_of(fixture);
	uint64_t count = 0;

	for (unsigned i = 0; page.size > 0 && has(first_message(&page), 4, i); i++) {
		count += count_of_histogram(part_of(part_of(first_message(&page), 4, i), 7, 0));
	}
	text_free(&page);
	return count;
}

static void scrape(void *context)
{
	struct scraper *scraper = context;
	uint64_t last = 0;

	while (!atomic_load(&scraper->done)) {
		uint64_t count = count_of_page(scraper->fixture);

		assert_true(count >= last);
		last = count;
	}
}

/* Two threads have a shard each, two share one. */
static void no_native_count_is_lost_between_threads(void **state)
{
	struct fixture *fixture = *state;
	struct shard *common = registry_shard(fixture->registry, true, NULL);
	struct family *family =
		declare(fixture, &(struct family_options){
					 .name = "b", .help = "B.", .type = FAMILY_HISTOGRAM });
	struct scraper scraper = { .fixture = fixture };
	struct counting countings[COUNTERS];

	assert_true(os_thread_start(&scraper.thread, scrape, &scraper, NULL));
	for (unsigned i = 0; i < COUNTERS; i++) {
		countings[i] = (struct counting){
			.family = family,
			.number = i,
			.shard = i < 2 ? registry_shard(fixture->registry, false, NULL) : common,
		};
		assert_true(os_thread_start(&countings[i].thread, observe, &countings[i], NULL));
	}
	for (unsigned i = 0; i < COUNTERS; i++) {
		os_thread_join(&countings[i].thread);
	}
	atomic_store(&scraper.done, true);
	os_thread_join(&scraper.thread);
	assert_int_equal(count_of_page(fixture), COUNTERS * OBSERVATIONS);
}

/* ---- in the order of labels ---- */

static void sorted_metrics_are_in_the_order_of_their_labels(void **state)
{
	static const char *const values[] = { "m", "", "z", "a", "M" };
	static const char *const sorted[] = { "", "M", "a", "m", "z" };
	enum { VALUES = sizeof values / sizeof values[0] };
	struct fixture *fixture = *state;
	struct family *family = declare(fixture, &(struct family_options){ .name = "b",
									   .help = "B.",
									   .type = FAMILY_HISTOGRAM,
									   .labels = { "x" },
									   .label_count = 1 });
	struct bytes message, histogram;
	struct etw_text page;

	for (uint64_t i = 0; i < VALUES; i++) {
		uint32_t id = intern_string(registry_strings(fixture->registry), values[i]);

		for (size_t j = 0; j < 1 + strlen(values[i]); j++) {
			family_observe(family, fixture->shard, &id, 1 + (uint64_t)values[i][0]);
		}
	}
	page = page_in_order(fixture, true);
	message = first_message(&page);
	for (unsigned i = 0; i < VALUES; i++) {
		struct bytes metric = part_of(message, 4, i);

		expect_text(part_of(part_of(metric, 1, 0), 2, 0), sorted[i]);
		histogram = part_of(metric, 7, 0);
		assert_int_equal(count_of_histogram(histogram), 1 + strlen(sorted[i]));
		assert_true(double_of(histogram, 2) ==
			    (double)(1 + strlen(sorted[i])) * (1 + sorted[i][0]));
	}
	assert_false(has(message, 4, VALUES));
	text_free(&page);
}

static void a_great_family_is_sorted_over_its_messages(void **state)
{
	enum { SERIES_MADE = 6000 };
	struct fixture *fixture = *state;
	struct family *family = declare(fixture, &(struct family_options){ .name = "x_total",
									   .help = "X.",
									   .type = FAMILY_COUNTER,
									   .labels = { "a" },
									   .label_count = 1 });
	unsigned messages = 0, next = 0;
	struct bytes all;
	struct etw_text page;

	for (unsigned i = 0; i < SERIES_MADE; i++) {
		unsigned number = (unsigned)((uint64_t)i * 7919 % SERIES_MADE);
		char name[64];
		uint32_t id;

		snprintf(name, sizeof name, "%060u", number);
		id = intern_string(registry_strings(fixture->registry), name);
		family_add(family, fixture->shard, &id, number);
	}
	page = page_in_order(fixture, true);
	all = (struct bytes){ (const unsigned char *)page.data,
			      (const unsigned char *)page.data + page.size };
	for (; all.at < all.end; messages++) {
		struct bytes message = read_bytes(&all);

		while (message.at < message.end) {
			uint64_t tag = read_varint(&message);

			if ((tag & 7) == 0) {
				read_varint(&message);
			} else if (tag >> 3 == 4) {
				struct bytes metric = read_bytes(&message);

				assert_true(double_of(part_of(metric, 3, 0), 1) == next++);
			} else {
				read_bytes(&message);
			}
		}
	}
	assert_int_equal(next, SERIES_MADE);
	assert_true(messages >= 2);
	text_free(&page);
}

static void forget(void *context)
{
	(void)context;
}

/* Samples are used again. What a name observed before is not in the buckets of the next one. */
static void an_evicted_series_leaves_no_native_counts(void **state)
{
	enum { NAMES = 16, NEW = 2 }; /* an eighth of the names makes room */
	const struct registry_limits limits = { .series_per_family = NAMES,
						.native_histograms = true };
	struct fixture fixture = { .registry = registry_new(&limits, NULL) };
	const int64_t second = 10000000;
	struct family *family;
	uint32_t metric;
	int64_t evicted;

	(void)state;
	assert_non_null(fixture.registry);
	fixture.shard = registry_shard(fixture.registry, false, NULL);
	shard_attend(fixture.shard, &(struct shard_owner){ .forget_cells = forget });
	family = declare(&fixture, &(struct family_options){ .name = "b",
							     .help = "B.",
							     .type = FAMILY_HISTOGRAM,
							     .labels = { "process" },
							     .label_count = 1,
							     .dynamic_labels = 1 });
	for (unsigned i = 0; i < NAMES + NEW; i++) {
		char name[16];
		uint32_t id;

		if (i == NAMES) {
			shard_tend(fixture.shard, 0, 10 * second);
			shard_tend(fixture.shard, 10 * second, 660 * second);
		}
		snprintf(name, sizeof name, "n%u", i);
		id = intern_string(registry_strings(fixture.registry), name);
		family_observe(family, fixture.shard, &id, (uint64_t)1 << i);
	}
	assert_int_equal(count_of_page(&fixture), NAMES); /* a page counts what was evicted */
	metric = intern_string(registry_strings(fixture.registry), "b");
	assert_true(family_value(registry_find_family(fixture.registry,
						      "etw_exporter_series_evicted_total"),
				 &metric, &evicted));
	assert_int_equal(evicted, NEW);
	registry_free(fixture.registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_are_exact),
		cmocka_unit_test_setup_teardown(a_counter_has_labels_value_and_time, make, done),
		cmocka_unit_test_setup_teardown(hidden_gauges_make_no_message, make, done),
		cmocka_unit_test_setup_teardown(a_histogram_has_classic_and_native_buckets, make,
						done),
		cmocka_unit_test_setup_teardown(many_buckets_are_merged, make, done),
		cmocka_unit_test(without_native_histograms_the_classic_buckets_remain),
		cmocka_unit_test_setup_teardown(a_great_family_comes_in_several_messages, make,
						done),
		cmocka_unit_test_setup_teardown(no_native_count_is_lost_between_threads, make,
						done),
		cmocka_unit_test_setup_teardown(sorted_metrics_are_in_the_order_of_their_labels,
						make, done),
		cmocka_unit_test_setup_teardown(a_great_family_is_sorted_over_its_messages, make,
						done),
		cmocka_unit_test(an_evicted_series_leaves_no_native_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
