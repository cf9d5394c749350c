/* SPDX-License-Identifier: MIT */
/*
 * Rendering, counting and the memory of series.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "exporter/http/server.h"
#include "metrics/exposition.h"
#include "tests/bench/bench.h"

enum { RUNS_MAX = 64, COUNTER_SERIES = 10000 };

struct stand {
	struct registry *registry;
	struct shard *shard;
};

static struct stand make_stand(void)
{
	/* Room for every series that is asked for. */
	struct registry_limits limits = { .series_per_family = 16000000,
					  .series = 100000000,
					  .strings_bytes = (size_t)1 << 30 };
	struct etw_error err = { 0 };
	struct stand stand = { .registry = registry_new(&limits, &err) };

	if (stand.registry) {
		stand.shard = registry_shard(stand.registry, false, &err);
	}
	if (!stand.shard) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return stand;
}

static struct family *add_family(struct stand *stand, const struct family_options *options)
{
	struct etw_error err = { 0 };
	struct family *family = registry_family(stand->registry, options, &err);

	if (!family) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return family;
}

static struct family *add_counter(struct stand *stand, const char *name)
{
	return add_family(stand, &(struct family_options){ .name = name,
							   .help = "ETW events seen.",
							   .type = FAMILY_COUNTER,
							   .labels = { "process", "provider" },
							   .label_count = 2,
							   .dynamic_labels = 1 });
}

static void ids_of_pair(struct stand *stand, uint64_t pair, uint32_t ids[2])
{
	struct intern *strings = registry_strings(stand->registry);
	char text[BENCH_TEXT_SIZE];

	bench_process(text, pair / BENCH_PROVIDERS);
	ids[0] = intern_string(strings, text);
	bench_provider(text, pair % BENCH_PROVIDERS);
	ids[1] = intern_string(strings, text);
}

static void add_counters(struct stand *stand, uint64_t count)
{
	uint64_t per_family = count / BENCH_FAMILIES;

	for (unsigned f = 0; f < BENCH_FAMILIES; f++) {
		char name[32];
		struct family *family;

		snprintf(name, sizeof name, "etw_events_f%u_total", f);
		family = add_counter(stand, name);
		for (uint64_t pair = 0; pair < per_family; pair++) {
			uint32_t ids[2];

			ids_of_pair(stand, pair, ids);
			family_add(family, stand->shard, ids, bench_value(f * per_family + pair));
		}
	}
}

void bench_add_counters(struct registry *registry, uint64_t count)
{
	struct stand stand = { .registry = registry,
			       .shard = registry_shard(registry, false, NULL) };

	if (!stand.shard) {
		exit(1);
	}
	add_counters(&stand, count - count % BENCH_FAMILIES);
}

struct registry *bench_registry(uint64_t count)
{
	struct stand stand = make_stand();

	add_counters(&stand, count - count % BENCH_FAMILIES);
	return stand.registry;
}

static bool take(void *context, const char *bytes, size_t size)
{
	(void)bytes;
	*(size_t *)context += size;
	return true;
}

/* Times the rendering of all there is; lines is what a run is divided by. */
static void time_rendering(const struct stand *stand, const char *what, uint64_t lines,
			   const char *unit, unsigned runs)
{
	uint64_t inner = lines < 2000000 ? 2000000 / lines : 1;
	double times[RUNS_MAX];
	char name[96];
	size_t size = 0;

	inner = inner > 200 ? 200 : inner;
	exposition_write(stand->registry, NULL, take, &size);
	for (unsigned run = 0; run < runs; run++) {
		uint64_t start_ns = os_monotonic_ns();

		for (uint64_t i = 0; i < inner; i++) {
			size = 0;
			exposition_write(stand->registry, NULL, take, &size);
		}
		times[run] = (double)(os_monotonic_ns() - start_ns) / (double)inner / (double)lines;
	}
	snprintf(name, sizeof name, "render.ours.%s.%llu", what, (unsigned long long)lines);
	bench_print(name, times, runs, unit);
	snprintf(name, sizeof name, "render.ours.%s.%llu.page_us", what, (unsigned long long)lines);
	bench_print_one(name, times[runs / 2] * (double)lines / 1e3, "us");
	snprintf(name, sizeof name, "render.ours.%s.%llu.rate", what, (unsigned long long)lines);
	bench_print_one(name, (double)size / (double)lines / times[runs / 2] * 1e3, "MB/s");
}

static bool read_arguments(int argc, char **argv, uint64_t *count, unsigned *runs)
{
	*count = argc > 0 ? strtoull(argv[0], NULL, 10) : 0;
	*runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	*runs = *runs > RUNS_MAX ? RUNS_MAX : *runs;
	return *count >= BENCH_FAMILIES && *runs > 0;
}

int bench_render(int argc, char **argv)
{
	struct stand stand;
	uint64_t count;
	unsigned runs;

	if (!read_arguments(argc, argv, &count, &runs)) {
		return 2;
	}
	count -= count % BENCH_FAMILIES;
	stand = make_stand();
	add_counters(&stand, count);
	time_rendering(&stand, "counters", count, "ns/series", runs);
	registry_free(stand.registry);
	return 0;
}

int bench_hist(int argc, char **argv)
{
	enum { LINES_EACH = 14 }; /* 11 buckets, +Inf, sum, count */
	static const uint64_t bounds_ms[] = {
		5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000
	};
	uint64_t bounds_ns[11], count;
	struct stand stand;
	struct family *family;
	unsigned runs;

	if (!read_arguments(argc, argv, &count, &runs)) {
		return 2;
	}
	for (size_t i = 0; i < 11; i++) {
		bounds_ns[i] = bounds_ms[i] * 1000000;
	}
	stand = make_stand();
	family = add_family(&stand, &(struct family_options){ .name = "etw_latency_seconds",
							      .help = "Latency.",
							      .type = FAMILY_HISTOGRAM,
							      .decimals = 9,
							      .labels = { "process", "provider" },
							      .label_count = 2,
							      .dynamic_labels = 1,
							      .buckets = bounds_ns,
							      .bucket_count = 11 });
	for (uint64_t pair = 0; pair < count / LINES_EACH; pair++) {
		uint32_t ids[2];

		ids_of_pair(&stand, pair, ids);
		for (uint64_t i = 0; i < 5; i++) {
			family_observe(family, stand.shard, ids,
				       bench_mix(pair * 5 + i) % 12000 * 1000000);
		}
	}
	time_rendering(&stand, "hist_lines", count / LINES_EACH * LINES_EACH, "ns/line", runs);
	registry_free(stand.registry);
	return 0;
}

/* An observation, with and without native buckets. */
int bench_observe(int argc, char **argv)
{
	enum { RUNS = 7, OBSERVATIONS = 5000000 };
	static const char *const names[] = { "observe.classic", "observe.native" };
	static const uint64_t bounds[] = { 1000,     10000,     100000,    1000000,
					   10000000, 100000000, 1000000000 };
	double times[2][RUNS];

	(void)argv;
	for (unsigned i = 0; argc == 0 && i < 2 * RUNS; i++) {
		const struct registry_limits limits = { .native_histograms = i % 2 };
		struct stand stand = { .registry = registry_new(&limits, NULL) };
		const struct family_options options = { .name = "etw_latency_seconds",
							.help = "Latency.",
							.type = FAMILY_HISTOGRAM,
							.decimals = 9,
							.buckets = bounds,
							.bucket_count = 7 };
		struct family *family;
		uint64_t start_ns;
		cell *cells;

		stand.shard = registry_shard(stand.registry, false, NULL);
		family = add_family(&stand, &options);
		cells = family_cells(family, stand.shard, NULL, NULL);
		start_ns = os_monotonic_ns();
		for (uint64_t n = 0; n < OBSERVATIONS; n++) {
			/* Durations from some 16 us to 16 ms. */
			cells_observe(family, stand.shard, cells, bench_mix(n) >> (40 + n % 10));
		}
		times[i % 2][i / 2] = (double)(os_monotonic_ns() - start_ns) / OBSERVATIONS;
		registry_free(stand.registry);
	}
	for (unsigned i = 0; argc == 0 && i < 2; i++) {
		bench_print(names[i], times[i], RUNS, "ns/op");
	}
	return argc == 0 ? 0 : 2;
}

/* ---- counting ---- */

struct counting {
	struct os_thread thread;
	struct family *family;
	struct shard *shard;
	cell *cells;                      /* of one sample */
	uint32_t process_id, provider_id; /* ids of the first names; the others follow */
	unsigned number;
	uint64_t additions;
};

static void count_cached(void *context)
{
	struct counting *counting = context;
	cell *cells = counting->cells;

	for (uint64_t i = 0; i < counting->additions; i++) {
		cell_add(cells, 1);
	}
}

/* The ids come without touching memory, as a decoder has them in hand. */
static void count_by_ids(void *context)
{
	struct counting *counting = context;

	for (uint64_t i = 0; i < counting->additions; i++) {
		uint64_t pair = bench_mix(i + counting->number * UINT64_C(7777)) % COUNTER_SERIES;
		uint32_t ids[2] = {
			counting->process_id + (uint32_t)(pair / BENCH_PROVIDERS),
			counting->provider_id + (uint32_t)(pair % BENCH_PROVIDERS),
		};

		family_add(counting->family, counting->shard, ids, 1);
	}
}

static void time_counting(const char *name, struct counting *countings, unsigned threads,
			  uint64_t additions, void (*run)(void *context))
{
	enum { RUNS = 7 };
	double times[RUNS];

	for (unsigned r = 0; r < RUNS; r++) {
		uint64_t start_ns = os_monotonic_ns();

		for (unsigned t = 0; t < threads; t++) {
			countings[t].additions = additions;
			if (!os_thread_start(&countings[t].thread, run, &countings[t], NULL)) {
				exit(1);
			}
		}
		for (unsigned t = 0; t < threads; t++) {
			os_thread_join(&countings[t].thread);
		}
		times[r] = (double)(os_monotonic_ns() - start_ns) / (double)additions;
	}
	bench_print(name, times, RUNS, "ns/op");
}

static void ids_of_counter(const struct counting *counting, uint32_t pair, uint32_t ids[2])
{
	ids[0] = counting->process_id + pair / BENCH_PROVIDERS;
	ids[1] = counting->provider_id + pair % BENCH_PROVIDERS;
}

/* Makes COUNTER_SERIES samples of a family whose labels' ids follow each other. */
static void prepare_counting(struct stand *stand, struct family *family, struct shard *shard,
			     struct counting *counting)
{
	enum { PROCESSES = COUNTER_SERIES / BENCH_PROVIDERS };
	struct intern *strings = registry_strings(stand->registry);
	char text[BENCH_TEXT_SIZE];

	for (uint32_t i = 0; i < PROCESSES; i++) {
		bench_process(text, i);
		counting->process_id = intern_string(strings, text) - i;
	}
	for (uint32_t i = 0; i < BENCH_PROVIDERS; i++) {
		bench_provider(text, i);
		counting->provider_id = intern_string(strings, text) - i;
	}
	counting->family = family;
	counting->shard = shard;
	for (uint32_t pair = 0; pair < COUNTER_SERIES; pair++) {
		uint32_t ids[2];

		ids_of_counter(counting, pair, ids);
		counting->cells = family_cells(family, shard, ids, NULL);
	}
	if (family_series(family) != COUNTER_SERIES || !counting->cells) {
		fprintf(stderr, "ids do not follow each other\n");
		exit(1);
	}
}

int bench_counter(int argc, char **argv)
{
	struct stand stand;
	struct family *family;
	struct counting countings[2] = { { .number = 0 }, { .number = 1 } };

	(void)argv;
	if (argc != 0) {
		return 2;
	}
	stand = make_stand();
	family = add_counter(&stand, "etw_events_total");
	prepare_counting(&stand, family, stand.shard, &countings[0]);
	prepare_counting(&stand, family, registry_shard(stand.registry, false, NULL),
			 &countings[1]);
	time_counting("counter.ours.cached.1t", countings, 1, 20000000, count_cached);
	time_counting("counter.ours.cached.2t", countings, 2, 20000000, count_cached);
	time_counting("counter.ours.intkey.10000.1t", countings, 1, 2000000, count_by_ids);
	time_counting("counter.ours.intkey.10000.2t", countings, 2, 2000000, count_by_ids);
	registry_free(stand.registry);
	return 0;
}

/* ---- counting while others scrape ---- */

struct beside {
	struct os_thread thread;
	struct registry *registry;
	atomic_bool done;
	unsigned pages;
};

static void scrape_on(void *context)
{
	struct beside *beside = context;

	while (!atomic_load_explicit(&beside->done, memory_order_relaxed)) {
		size_t size = 0;

		exposition_write(beside->registry, NULL, take, &size);
		beside->pages++;
	}
}

/* Counts in small steps; returns ns an addition, and the longest step. */
static double count_in_steps(struct counting *counting, uint64_t *longest_ns)
{
	enum { STEPS = 20000, STEP_ADDITIONS = 250 };
	uint64_t start_ns = os_monotonic_ns(), before_ns = start_ns, now_ns = start_ns;

	counting->additions = STEP_ADDITIONS;
	*longest_ns = 0;
	for (unsigned i = 0; i < STEPS; i++) {
		count_by_ids(counting);
		now_ns = os_monotonic_ns();
		*longest_ns = now_ns - before_ns > *longest_ns ? now_ns - before_ns : *longest_ns;
		before_ns = now_ns;
	}
	return (double)(now_ns - start_ns) / STEPS / STEP_ADDITIONS;
}

static bool same_sum(struct family *family, const struct counting *counting, int64_t expected)
{
	int64_t sum = 0, value;

	for (uint32_t pair = 0; pair < COUNTER_SERIES; pair++) {
		uint32_t ids[2];

		ids_of_counter(counting, pair, ids);
		sum += family_value(family, ids, &value) ? value : 0;
	}
	return sum == expected;
}

int bench_beside(int argc, char **argv)
{
	enum { RUNS = 7, ADDITIONS = 5000000 };
	double alone[RUNS], scraped[RUNS], stalls_us[RUNS], alone_stalls_us[RUNS];
	struct counting counting = { 0 };
	struct stand stand;
	struct family *family;
	uint64_t count, longest_ns;
	unsigned runs, pages = 0;

	if (!read_arguments(argc, argv, &count, &runs)) {
		return 2;
	}
	stand = make_stand();
	family = add_counter(&stand, "etw_beside_total");
	prepare_counting(&stand, family, stand.shard, &counting);
	add_counters(&stand, count - count % BENCH_FAMILIES);
	for (unsigned r = 0; r < RUNS; r++) {
		struct beside beside = { .registry = stand.registry };

		alone[r] = count_in_steps(&counting, &longest_ns);
		alone_stalls_us[r] = (double)longest_ns / 1e3;
		if (!os_thread_start(&beside.thread, scrape_on, &beside, NULL)) {
			return 1;
		}
		scraped[r] = count_in_steps(&counting, &longest_ns);
		stalls_us[r] = (double)longest_ns / 1e3;
		atomic_store_explicit(&beside.done, true, memory_order_relaxed);
		os_thread_join(&beside.thread);
		pages += beside.pages;
	}
	bench_print("beside.alone", alone, RUNS, "ns/op");
	bench_print("beside.scraped", scraped, RUNS, "ns/op");
	bench_print("beside.alone.longest", alone_stalls_us, RUNS, "us");
	bench_print("beside.scraped.longest", stalls_us, RUNS, "us");
	bench_print_one("beside.pages", pages, "pages");
	bench_print_one("beside.lost",
			same_sum(family, &counting, 2 * (int64_t)RUNS * ADDITIONS) ? 0 : 1, "");
	registry_free(stand.registry);
	return 0;
}

/* ---- memory ---- */

static void forget_nothing(void *context)
{
	(void)context;
}

int bench_mem(int argc, char **argv)
{
	const struct shard_owner owner = { .forget_cells = forget_nothing };
	char name[64];
	struct stand stand;
	uint64_t count;
	unsigned runs;
	long before_kib;

	if (!read_arguments(argc, argv, &count, &runs)) {
		return 2;
	}
	count -= count % BENCH_FAMILIES;
	before_kib = bench_resident_kib();
	stand = make_stand();
	shard_attend(stand.shard, &owner);
	shard_enter(stand.shard);
	add_counters(&stand, count);
	shard_tend(stand.shard, 0, 0); /* as consumers do every ten seconds */
	snprintf(name, sizeof name, "mem.ours.%llu", (unsigned long long)count);
	bench_print_one(name, (double)(bench_resident_kib() - before_kib) * 1024 / (double)count,
			"B/series");
	registry_free(stand.registry);
	return 0;
}

int bench_serve(int argc, char **argv)
{
	struct http_options options = { .listen_address_count = 1, .telemetry_path = "/metrics" };
	struct etw_error err = { 0 };
	struct http_server *server;
	struct stand stand;
	uint64_t count = argc > 0 ? strtoull(argv[0], NULL, 10) : 0;
	const char *address = argc > 1 ? argv[1] : NULL;

	if (!address) {
		return 2;
	}
	options.listen_addresses = &address;
	stand = make_stand();
	add_counters(&stand, count - count % BENCH_FAMILIES);
	server = http_start(&options, stand.registry, &err);
	if (!server) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	fprintf(stderr, "port %u, %ld KiB resident\n", http_port(server, 0), bench_resident_kib());
	while (getchar() != EOF) {
	}
	http_stop(server);
	registry_free(stand.registry);
	return 0;
}
