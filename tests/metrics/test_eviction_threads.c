/* SPDX-License-Identifier: MIT */
/*
 * Consumers with caches of cells count under names that come and go, while label sets are given
 * back and used again and while scrapes and visits run: none of them shows the labels of one sample
 * with the value of another. Also run by ThreadSanitizer.
 *
 * A name with the number n is only counted in multiples of n + 1, so that a value under a wrong
 * name is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "metrics/exposition.h"
#include "metrics/visit.h"
#include "tests/support/page.h"

enum { CONSUMERS = 3, SCRAPERS = 3, NAMES = 997, LIMIT = 128, CACHED = 64, ROUNDS = 400 };

#define STEP (INT64_C(60) * 10000000)

struct shared {
	struct registry *registry;
	struct family *bytes;
	uint32_t ids[NAMES];
	_Atomic(int64_t) now;
	atomic_bool done;
	atomic_uint wrong, pages;
};

struct consumer {
	struct shared *shared;
	struct shard *shard;
	struct os_thread thread;
	unsigned number;
	cell *cached[CACHED]; /* of the names from first on */
	unsigned forgotten;
};

static void forget(void *context)
{
	struct consumer *consumer = context;

	memset(consumer->cached, 0, sizeof consumer->cached);
	consumer->forgotten++;
}

static void count(struct consumer *consumer, unsigned name, unsigned place)
{
	struct shared *shared = consumer->shared;
	bool overflowed = false;
	cell *at = consumer->cached[place];

	if (!at) {
		at = family_cells(shared->bytes, consumer->shard, &shared->ids[name], &overflowed);
		consumer->cached[place] = overflowed ? NULL : at;
	}
	cell_add(at, name + 1);
}

static void consume(void *context)
{
	struct consumer *consumer = context;
	struct shared *shared = consumer->shared;
	const _Atomic(uint64_t) *epoch = registry_epoch(shared->registry);
	uint64_t entered = 0;

	/* At least until there was a page, and until something was evicted twice, however late
	 * the threads begin that this takes. */
	for (unsigned round = 0;
	     round < ROUNDS || atomic_load(&shared->pages) == 0 || consumer->forgotten < 2;
	     round++) {
		unsigned first = (round * 23 + consumer->number * 31) % (NAMES - CACHED);
		int64_t now;

		memset(consumer->cached, 0, sizeof consumer->cached);
		for (unsigned i = 0; i < 20 * CACHED; i++) {
			if (atomic_load_explicit(epoch, memory_order_relaxed) != entered) {
				entered = shard_enter(consumer->shard);
			}
			count(consumer, first + i % CACHED, i % CACHED);
		}
		now = atomic_fetch_add(&shared->now, STEP);
		shard_tend(consumer->shard, now, now + STEP);
		if (round % 3 == consumer->number) {
			shard_leave(consumer->shard);
			entered = 0;
		}
	}
	shard_leave(consumer->shard);
}

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* How many lines of the page have a value that their name cannot have. */
static unsigned wrong_lines(const char *page)
{
	static const char start[] = "\netw_bytes_total{name=\"n";
	unsigned wrong = 0;

	for (const char *line = strstr(page, start); line; line = strstr(line + 1, start)) {
		unsigned long name = strtoul(line + sizeof start - 1, NULL, 10);

		wrong += strtoull(strstr(line, "} ") + 2, NULL, 10) % (name + 1) != 0;
	}
	return wrong;
}

static void scrape(void *context)
{
	struct shared *shared = context;

	while (!atomic_load(&shared->done)) {
		struct etw_text page = { 0 };

		exposition_write(shared->registry, NULL, append, &page);
		text_add_char(&page, '\0');
		atomic_fetch_add(&shared->wrong, wrong_lines(page.data));
		text_free(&page);
		atomic_fetch_add(&shared->pages, 1);
	}
}

static void check_sample(void *context, const struct visited_sample *sample)
{
	struct shared *shared = context;
	const char *name = sample_label(sample, "name");

	if (sample->family == shared->bytes && name[0] == 'n') {
		bool wrong = sample->value % (strtoul(name + 1, NULL, 10) + 1) != 0;

		atomic_fetch_add(&shared->wrong, wrong);
	}
}

static void visit(void *context)
{
	struct shared *shared = context;
	const struct registry_visitor visitor = { .on_sample = check_sample, .context = shared };

	while (!atomic_load(&shared->done)) {
		atomic_fetch_add(&shared->wrong, !registry_visit(shared->registry, &visitor));
	}
}

static uint64_t page_sum(struct registry *registry, const char *name)
{
	struct etw_text page = page_of(registry);
	uint64_t sum = 0;
	char start[64];

	text_add_char(&page, '\0');
	snprintf(start, sizeof start, "\n%s{", name);
	for (const char *line = strstr(page.data, start); line; line = strstr(line + 1, start)) {
		sum += strtoull(strstr(line, "} ") + 2, NULL, 10);
	}
	text_free(&page);
	return sum;
}

static void no_page_or_visit_shows_a_value_under_another_name(void **state)
{
	const struct registry_limits limits = { .series_per_family = LIMIT };
	const struct family_options options = { .name = "etw_bytes_total",
						.help = "Bytes.",
						.type = FAMILY_COUNTER,
						.labels = { "name" },
						.label_count = 1,
						.dynamic_labels = 1 };
	struct consumer consumers[CONSUMERS] = { { .number = 0 } };
	struct os_thread scrapers[SCRAPERS];
	struct shared shared = { .now = 0 };

	(void)state;
	shared.registry = registry_new(&limits, NULL);
	assert_non_null(shared.registry);
	shared.bytes = registry_family(shared.registry, &options, NULL);
	for (unsigned i = 0; i < NAMES; i++) {
		char text[16];

		snprintf(text, sizeof text, "n%u", i);
		shared.ids[i] = intern_string(registry_strings(shared.registry), text);
	}
	for (unsigned i = 0; i < CONSUMERS; i++) {
		struct consumer *consumer = &consumers[i];

		consumer->shared = &shared;
		consumer->number = i;
		consumer->shard = registry_shard(shared.registry, false, NULL);
		shard_attend(consumer->shard,
			     &(struct shard_owner){ .context = consumer, .forget_cells = forget });
	}
	for (unsigned i = 0; i < SCRAPERS; i++) {
		assert_true(os_thread_start(&scrapers[i], i < 2 ? scrape : visit, &shared, NULL));
	}
	for (unsigned i = 0; i < CONSUMERS; i++) {
		assert_true(os_thread_start(&consumers[i].thread, consume, &consumers[i], NULL));
	}
	for (unsigned i = 0; i < CONSUMERS; i++) {
		os_thread_join(&consumers[i].thread);
		assert_true(consumers[i].forgotten > 1);
	}
	atomic_store(&shared.done, true);
	for (unsigned i = 0; i < SCRAPERS; i++) {
		os_thread_join(&scrapers[i]);
	}
	assert_true(atomic_load(&shared.pages) > 0);
	assert_int_equal(atomic_load(&shared.wrong), 0);
	assert_true(page_sum(shared.registry, "etw_exporter_series_evicted_total") > 0);
	assert_true(family_series(shared.bytes) <= LIMIT + LIMIT / 8 + 1);
	print_message("  %u pages, %llu label sets evicted\n", atomic_load(&shared.pages),
		      (unsigned long long)page_sum(shared.registry,
						   "etw_exporter_series_evicted_total"));
	registry_free(shared.registry);
}

/* ---- a family that grows while its former tables are freed ---- */

enum { GROWING = 20000 };

struct grower {
	struct registry *registry;
	struct family *family;
	struct shard *shard;
	struct os_thread thread;
	const uint32_t *ids;
	unsigned forgotten;
};

static void note_forgotten(void *context)
{
	++*(unsigned *)context;
}

static void grow(void *context)
{
	struct grower *grower = context;
	const _Atomic(uint64_t) *epoch = registry_epoch(grower->registry);
	uint64_t entered = 0;

	for (int64_t i = 0; i < GROWING; i++) {
		if (atomic_load_explicit(epoch, memory_order_relaxed) != entered) {
			entered = shard_enter(grower->shard);
		}
		family_add(grower->family, grower->shard, &grower->ids[i], 1);
		if (i % 256 == 255) {
			shard_tend(grower->shard, i, i + 1);
		}
	}
	shard_leave(grower->shard);
}

static void a_family_that_grows_loses_no_count(void **state)
{
	const struct registry_limits limits = { .series_per_family = 2 * GROWING };
	const struct family_options options = { .name = "etw_growing_total",
						.help = "Events.",
						.type = FAMILY_COUNTER,
						.labels = { "name" },
						.label_count = 1,
						.dynamic_labels = 1 };
	struct registry *registry = registry_new(&limits, NULL);
	struct family *family = registry_family(registry, &options, NULL);
	uint32_t *ids = calloc(GROWING, sizeof *ids);
	struct grower growers[2] = { { .forgotten = 0 } };
	unsigned forgotten = 0;

	(void)state;
	assert_non_null(ids);
	for (unsigned i = 0; i < GROWING; i++) {
		char text[16];

		snprintf(text, sizeof text, "n%u", i);
		ids[i] = intern_string(registry_strings(registry), text);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct shard *shard = registry_shard(registry, false, NULL);

		growers[i] = (struct grower){
			.registry = registry, .family = family, .shard = shard, .ids = ids
		};
		shard_attend(shard, &(struct shard_owner){ .context = &growers[i].forgotten,
							   .forget_cells = note_forgotten });
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_true(os_thread_start(&growers[i].thread, grow, &growers[i], NULL));
	}
	for (unsigned i = 0; i < 2; i++) {
		os_thread_join(&growers[i].thread);
		forgotten += growers[i].forgotten;
	}
	assert_true(forgotten > 2); /* tables were freed */
	assert_int_equal(family_series(family), GROWING);
	assert_int_equal(page_sum(registry, "etw_growing_total"), 2 * GROWING);
	free(ids);
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_that_grows_loses_no_count),
		cmocka_unit_test(no_page_or_visit_shows_a_value_under_another_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
