/* SPDX-License-Identifier: MIT */
/*
 * Consumers count on several threads while others scrape: nothing is lost, every page is whole.
 * Also run by ThreadSanitizer.
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
#include "tests/support/page.h"

enum { CONSUMERS = 4, SCRAPERS = 2, ROUNDS = 20000, PROCESSES = 700, LIMIT = 500 };

struct shared {
	struct registry *registry;
	struct family *events, *bytes, *duration;
	uint32_t processes[PROCESSES];
	uint32_t providers[2];
	atomic_bool done;
	atomic_uint pages;
};

struct consumer {
	struct shared *shared;
	struct shard *shard;
	struct os_thread thread;
	unsigned number;
};

static void consume(void *context)
{
	struct consumer *consumer = context;
	struct shared *shared = consumer->shared;

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned process = i * (2 * consumer->number + 1) % PROCESSES;
		uint32_t ids[2] = { shared->processes[process], shared->providers[i % 2] };

		family_add(shared->events, consumer->shard, ids, 1);
		family_add(shared->bytes, consumer->shard, ids, i);
		family_observe(shared->duration, consumer->shard, ids, i % 30);
	}
}

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* The sum of a family's lines on a page, and how many there are. */
static uint64_t sum_of(const struct etw_text *page, const char *name, size_t *lines)
{
	uint64_t sum = 0;
	size_t name_size = strlen(name);
	const char *line = page->data, *end;

	*lines = 0;
	for (; (end = memchr(line, '\n', page->size - (size_t)(line - page->data)));
	     line = end + 1) {
		if ((size_t)(end - line) > name_size && memcmp(line, name, name_size) == 0 &&
		    line[name_size] == '{') {
			const char *digit = end;
			uint64_t value = 0;

			while (digit > line && digit[-1] != ' ') {
				digit--;
			}
			for (; digit < end; digit++) {
				assert_in_range(*digit, '0', '9');
				value = value * 10 + (uint64_t)(*digit - '0');
			}
			sum += value;
			++*lines;
		}
	}
	return sum;
}

static void scrape(void *context)
{
	struct shared *shared = context;
	uint64_t last = 0;

	while (!atomic_load(&shared->done)) {
		struct etw_text page = { 0 };
		size_t lines;
		uint64_t sum;

		assert_true(exposition_write(shared->registry, NULL, append, &page));
		sum = sum_of(&page, "etw_events_total", &lines);
		assert_true(sum >= last);
		assert_true(lines <= LIMIT + 2);
		last = sum;
		text_free(&page);
		atomic_fetch_add(&shared->pages, 1);
	}
}

static void make_families(struct shared *shared)
{
	static const uint64_t bounds[] = { 0, 10, 20 };
	struct family_options options = { .name = "etw_events_total",
					  .help = "Events.",
					  .type = FAMILY_COUNTER,
					  .labels = { "process", "provider" },
					  .label_count = 2,
					  .dynamic_labels = 1 };

	shared->events = registry_family(shared->registry, &options, NULL);
	options.name = "etw_bytes_total";
	options.max_series = 3 * PROCESSES; /* is never reached */
	shared->bytes = registry_family(shared->registry, &options, NULL);
	options.name = "etw_duration_seconds";
	options.type = FAMILY_HISTOGRAM;
	options.buckets = bounds;
	options.bucket_count = 3;
	shared->duration = registry_family(shared->registry, &options, NULL);
	assert_non_null(shared->events);
	assert_non_null(shared->bytes);
	assert_non_null(shared->duration);
	for (unsigned i = 0; i < PROCESSES; i++) {
		char text[32];

		snprintf(text, sizeof text, "process %u", i);
		shared->processes[i] = intern_string(registry_strings(shared->registry), text);
	}
	shared->providers[0] = intern_string(registry_strings(shared->registry), "Windows Kernel");
	shared->providers[1] = intern_string(registry_strings(shared->registry), "Other");
}

static void no_addition_is_lost(void **state)
{
	struct registry_limits limits = { .series_per_family = LIMIT };
	struct shared shared = { .registry = registry_new(&limits, NULL) };
	struct consumer consumers[CONSUMERS];
	struct os_thread scrapers[SCRAPERS];
	struct shard *common;
	struct etw_text page;
	uint64_t sum;
	size_t lines;

	(void)state;
	assert_non_null(shared.registry);
	make_families(&shared);
	common = registry_shard(shared.registry, true, NULL);
	for (unsigned i = 0; i < SCRAPERS; i++) {
		assert_true(os_thread_start(&scrapers[i], scrape, &shared, NULL));
	}
	for (unsigned i = 0; i < CONSUMERS; i++) {
		/* Two threads have a writer each, two share one. */
		consumers[i] = (struct consumer){
			.shared = &shared,
			.number = i,
			.shard = i < 2 ? registry_shard(shared.registry, false, NULL) : common
		};
		assert_non_null(consumers[i].shard);
		assert_true(os_thread_start(&consumers[i].thread, consume, &consumers[i], NULL));
	}
	for (unsigned i = 0; i < CONSUMERS; i++) {
		os_thread_join(&consumers[i].thread);
	}
	atomic_store(&shared.done, true);
	for (unsigned i = 0; i < SCRAPERS; i++) {
		os_thread_join(&scrapers[i]);
	}
	print_message("  %u pages\n", atomic_load(&shared.pages));

	page = page_of(shared.registry);
	sum = sum_of(&page, "etw_events_total", &lines);
	assert_int_equal(sum, CONSUMERS * ROUNDS);
	assert_int_equal(lines, LIMIT + 2);
	sum = sum_of(&page, "etw_bytes_total", &lines);
	assert_int_equal(sum, CONSUMERS * (uint64_t)ROUNDS * (ROUNDS - 1) / 2);
	sum = sum_of(&page, "etw_duration_seconds_count", &lines);
	assert_int_equal(sum, CONSUMERS * ROUNDS);
	text_free(&page);
	registry_free(shared.registry);
}

enum { DISKS = 40, PASSES = 5000 };

static void scrape_disks(void *context)
{
	struct shared *shared = context;

	while (!atomic_load(&shared->done)) {
		struct etw_text page = page_of(shared->registry);
		size_t lines;
		uint64_t sum = sum_of(&page, "etw_disk_info", &lines);

		/* Each is 1, so no line has 0 or the values of two shards. */
		assert_int_equal(sum, lines);
		assert_true(lines <= DISKS);
		text_free(&page);
		atomic_fetch_add(&shared->pages, 1);
	}
}

/* Pass after pass, a replay holds its gauges, hides them, sets them again and releases them. */
static void gauges_are_held_while_pages_are_read(void **state)
{
	static const struct family_options options = {
		.name = "etw_disk_info",
		.help = "Disks.",
		.type = FAMILY_GAUGE,
		.labels = { "disk" },
		.label_count = 1,
		.dynamic_labels = 1,
	};
	struct shared shared = { .registry = registry_new(NULL, NULL) };
	struct family *family = registry_family(shared.registry, &options, NULL);
	struct shard *shard = registry_shard(shared.registry, false, NULL);
	struct os_thread scrapers[SCRAPERS];
	uint32_t ids[DISKS];

	(void)state;
	assert_non_null(family);
	for (unsigned disk = 0; disk < DISKS; disk++) {
		char text[16];

		snprintf(text, sizeof text, "%u", disk);
		ids[disk] = intern_string(registry_strings(shared.registry), text);
	}
	family_set(family, shard, &ids[0], 1);
	shard_hold_gauges(shard);
	for (unsigned i = 0; i < SCRAPERS; i++) {
		assert_true(os_thread_start(&scrapers[i], scrape_disks, &shared, NULL));
	}
	for (unsigned pass = 0; pass < PASSES || atomic_load(&shared.pages) < PASSES; pass++) {
		for (unsigned disk = 0; disk < DISKS; disk++) {
			/* In the first passes there are new ones. */
			if (disk <= pass) {
				family_set(family, shard, &ids[disk], 1);
			}
		}
		shard_release_gauges(shard);
		shard_hold_gauges(shard);
		family_hide_all(family, shard);
	}
	atomic_store(&shared.done, true);
	for (unsigned i = 0; i < SCRAPERS; i++) {
		os_thread_join(&scrapers[i]);
	}
	registry_free(shared.registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_addition_is_lost),
		cmocka_unit_test(gauges_are_held_while_pages_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
