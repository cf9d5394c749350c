/* SPDX-License-Identifier: MIT */
/*
 * What a scrape costs: each format and encoding over HTTP, compression alone, and a replay at full
 * speed while a large page is rendered again and again.
 *
 * Costs are CPU time of the whole program without that of the clients, which are threads of it. So
 * a busy machine changes them less than it changes times by the clock.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/os.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/http/negotiate.h"
#include "exporter/http/server.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "metrics/exposition.h"
#include "tests/bench/bench.h"
#include "tests/support/system.h"

enum { RUNS_MAX = 64, CLIENTS_MAX = 64 };

static uint64_t process_cpu_ns(void)
{
	struct os_process_stats stats;

	os_process_stats(&stats);
	return stats.cpu_ns;
}

/* ---- compression ---- */

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return !((struct etw_text *)context)->failed;
}

static bool count_bytes(void *context, const char *bytes, size_t size)
{
	(void)bytes;
	*(size_t *)context += size;
	return true;
}

/* zlib's level 1, on the whole page in memory. Returns the size. */
static size_t deflate_whole(const struct etw_text *page)
{
	uLongf size = compressBound((uLong)page->size);
	Bytef *out = malloc(size);

	if (!out ||
	    compress2(out, &size, (const Bytef *)page->data, (uLong)page->size, 1) != Z_OK) {
		exit(1);
	}
	free(out);
	return size;
}

static size_t encode_whole(enum content_encoding encoding, const struct etw_text *page)
{
	enum { CHUNK = 64 * 1024 };
	size_t size = 0;
	struct encoder *encoder = encoder_new(encoding, count_bytes, &size);

	for (size_t at = 0; encoder && at < page->size; at += CHUNK) {
		size_t left = page->size - at;

		encoder_add(encoder, page->data + at, left < CHUNK ? left : CHUNK);
	}
	if (!encoder || !encoder_end(encoder)) {
		exit(1);
	}
	encoder_free(encoder);
	return size;
}

int bench_encode(int argc, char **argv)
{
	static const char *const names[] = { "encode.zlib_1_whole", "encode.gzip", "encode.zstd" };
	uint64_t series = argc == 2 ? strtoull(argv[0], NULL, 10) : 0;
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct etw_text page = { 0 };
	double rates[3][RUNS_MAX];
	size_t sizes[3];
	struct registry *registry;
	char name[64];

	if (series < BENCH_FAMILIES || runs == 0 || runs > RUNS_MAX) {
		return 2;
	}
	registry = bench_registry(series);
	exposition_write(registry, NULL, append, &page);
	for (unsigned long i = 0; i < 3 * runs; i++) {
		uint64_t start_ns = os_thread_cpu_ns();
		unsigned long which = i % 3;

		sizes[which] = which == 0 ? deflate_whole(&page) :
					    encode_whole(which == 1 ? ENCODING_GZIP : ENCODING_ZSTD,
							 &page);
		rates[which][i / 3] =
			(double)page.size * 1e3 / (double)(os_thread_cpu_ns() - start_ns);
	}
	for (unsigned which = 0; which < 3; which++) {
		bench_print(names[which], rates[which], runs, "MB/s");
		snprintf(name, sizeof name, "%s.ratio", names[which]);
		bench_print_one(name, (double)page.size / (double)sizes[which], "x");
	}
	text_free(&page);
	registry_free(registry);
	return 0;
}

/* ---- over HTTP ---- */

static const struct variant {
	const char *name, *headers;
} variants[] = {
	{ "text", "" },
	{ "text.gzip", "Accept-Encoding: gzip\r\n" },
	{ "text.zstd", "Accept-Encoding: zstd\r\n" },
	{ "openmetrics", "Accept: application/openmetrics-text\r\n" },
	{ "openmetrics.gzip", "Accept: application/openmetrics-text\r\nAccept-Encoding: gzip\r\n" },
	{ "protobuf",
	  "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n" },
	{ "protobuf.gzip",
	  "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\nAccept-Encoding: gzip\r\n" },
};

struct client {
	struct os_thread thread;
	const struct variant *variant;
	unsigned port;
	uint64_t bytes, cpu_ns;
	bool good;
};

/* One scrape; what is read is not looked at, except the status and the last chunk. */
static void scrape_once(void *context)
{
	static char dump[CLIENTS_MAX][256 * 1024];
	static atomic_uint next;
	struct client *client = context;
	char *bytes = dump[atomic_fetch_add(&next, 1) % CLIENTS_MAX];
	char request[512], last[8] = "";
	connection c = connection_open(client->port);
	size_t got;

	client->bytes = 0;
	client->good = false;
	snprintf(request, sizeof request,
		 "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
		 client->variant->headers);
	if (c >= 0 && connection_send(c, request, strlen(request)) == strlen(request)) {
		while ((got = connection_receive(c, bytes, sizeof dump[0])) > 0) {
			if (client->bytes == 0) {
				client->good = strncmp(bytes, "HTTP/1.1 200", 12) == 0;
			}
			client->bytes += got;
			if (got >= 5) {
				memcpy(last, bytes + got - 5, 5);
			}
		}
	}
	client->good &= memcmp(last, "0\r\n\r\n", 5) == 0;
	connection_close(c);
	client->cpu_ns = os_thread_cpu_ns();
}

static void time_variant(const struct variant *variant, unsigned port, uint64_t series,
			 unsigned long runs, unsigned long client_count)
{
	static struct client clients[CLIENTS_MAX];
	double cpu_ms[RUNS_MAX], wall_ms[RUNS_MAX];
	char name[96];
	uint64_t bytes = 0;

	for (unsigned long run = 0; run < runs; run++) {
		uint64_t start_ns = os_monotonic_ns(), start_cpu_ns = process_cpu_ns(),
			 clients_ns = 0;

		for (unsigned long i = 0; i < client_count; i++) {
			clients[i].variant = variant;
			clients[i].port = port;
			if (!os_thread_start(&clients[i].thread, scrape_once, &clients[i], NULL)) {
				exit(1);
			}
		}
		for (unsigned long i = 0; i < client_count; i++) {
			os_thread_join(&clients[i].thread);
			clients_ns += clients[i].cpu_ns;
			bytes = clients[i].bytes;
			if (!clients[i].good) {
				fprintf(stderr, "%s: a page was not whole\n", variant->name);
				exit(1);
			}
		}
		wall_ms[run] = (double)(os_monotonic_ns() - start_ns) / 1e6;
		cpu_ms[run] = (double)(process_cpu_ns() - start_cpu_ns - clients_ns) / 1e6 /
			      (double)client_count;
	}
	snprintf(name, sizeof name, "scrape.%s.%llu.%luc.cpu", variant->name,
		 (unsigned long long)series, client_count);
	bench_print(name, cpu_ms, runs, "ms/page");
	snprintf(name, sizeof name, "scrape.%s.%llu.%luc.all", variant->name,
		 (unsigned long long)series, client_count);
	bench_print(name, wall_ms, runs, "ms");
	if (client_count == 1) {
		snprintf(name, sizeof name, "scrape.%s.%llu.bytes", variant->name,
			 (unsigned long long)series);
		bench_print_one(name, (double)bytes / 1e6, "MB");
	}
}

int bench_scrape(int argc, char **argv)
{
	static const char *const address = "127.0.0.1:0";
	const struct http_options options = { .listen_addresses = &address,
					      .listen_address_count = 1,
					      .telemetry_path = "/metrics" };
	uint64_t series = argc == 3 ? strtoull(argv[0], NULL, 10) : 0;
	unsigned long runs = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long clients = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct etw_error err = { 0 };
	struct registry *registry;
	struct http_server *server;
	long resident_kib;

	if (series < BENCH_FAMILIES || runs == 0 || runs > RUNS_MAX || clients == 0 ||
	    clients > CLIENTS_MAX) {
		return 2;
	}
	registry = bench_registry(series);
	server = http_start(&options, registry, &err);
	if (!server) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	resident_kib = bench_resident_kib();
	for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
		time_variant(&variants[i], http_port(server, 0), series, runs, clients);
	}
	bench_print_one("scrape.resident_growth",
			(double)(bench_resident_kib() - resident_kib) / 1024, "MiB");
	http_stop(server);
	registry_free(registry);
	return 0;
}

/* ---- beside a replay ---- */

/* How a registry is scraped during a replay. */
enum scrape_pace { ALONE, EACH_SECOND, BACK_TO_BACK, PACES };

struct scraper {
	struct os_thread thread;
	struct registry *registry;
	enum scrape_pace pace;
	atomic_bool done;
	unsigned pages;
};

static bool is_done(struct scraper *scraper)
{
	return atomic_load_explicit(&scraper->done, memory_order_relaxed);
}

static void render_on(void *context)
{
	struct scraper *scraper = context;

	while (!is_done(scraper)) {
		uint64_t start_ns = os_monotonic_ns();
		size_t size = 0;

		exposition_write(scraper->registry, NULL, count_bytes, &size);
		scraper->pages++;
		while (scraper->pace == EACH_SECOND && !is_done(scraper) &&
		       os_monotonic_ns() - start_ns < UINT64_C(1000000000)) {
			system_sleep_ms(10);
		}
	}
}

/* The sum of all counters of a name on a page. */
static uint64_t total_of(struct registry *registry, const char *family)
{
	struct etw_text page = { 0 };
	uint64_t sum = 0;
	size_t size = strlen(family);

	exposition_write(registry, NULL, append, &page);
	for (const char *line = page.data; line && *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, family, size) == 0 && line[size] == '{') {
			sum += strtoull(strstr(line, "} ") + 2, NULL, 10);
		}
	}
	text_free(&page);
	return sum;
}

/* Replays a file with so many more series in the registry. Returns CPU time of the consumer. */
static bool replay_beside(const char *path, uint64_t series, enum scrape_pace pace, double *ns,
			  uint64_t *events, unsigned *pages, struct etw_error *err)
{
	struct config *config = setup_config(NULL, NULL, err);
	struct setup setup;
	const struct setup_options options = { .switches = NULL };
	const struct runner_options replay = { .setup = &setup, .paths = &path, .path_count = 1 };
	struct scraper scraper = { .pace = pace };
	struct runner_session session;
	struct runner *runner;
	bool done;

	if (config) {
		config->limits.series_per_family = 16000000;
		config->limits.series = 100000000;
		config->limits.strings_bytes = (uint64_t)1 << 30;
	}
	runner = setup_open(&setup, config, &options, err) ? runner_new(&replay, err) : NULL;
	if (!runner) {
		return false;
	}
	bench_add_counters(setup.registry, series);
	scraper.registry = setup.registry;
	if (pace != ALONE && !os_thread_start(&scraper.thread, render_on, &scraper, NULL)) {
		return false;
	}
	done = runner_run(runner, err);
	if (pace != ALONE) {
		atomic_store_explicit(&scraper.done, true, memory_order_relaxed);
		os_thread_join(&scraper.thread);
	}
	runner_session(runner, 0, &session);
	*ns = (double)session.busy_ns / (double)session.statistics.records;
	*events = total_of(setup.registry, "etw_events_total");
	*pages += scraper.pages;
	runner_free(runner);
	setup_close(&setup);
	return done;
}

int bench_beside_replay(int argc, char **argv)
{
	static const char *const names[PACES] = { "beside_replay.alone",
						  "beside_replay.each_second",
						  "beside_replay.back_to_back" };
	uint64_t series = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, events[PACES];
	unsigned long runs = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	double times[PACES][RUNS_MAX];
	struct etw_error err = { 0 };
	unsigned pages[PACES] = { 0 };
	bool lost = false;
	char name[64];

	if (series < BENCH_FAMILIES || runs == 0 || runs > RUNS_MAX) {
		return 2;
	}
	for (unsigned long i = 0; i < runs; i++) {
		for (enum scrape_pace pace = ALONE; pace < PACES; pace++) {
			if (!replay_beside(argv[0], series, pace, &times[pace][i], &events[pace],
					   &pages[pace], &err)) {
				fprintf(stderr, "etw_bench: %s\n", err.text);
				return 1;
			}
			lost |= events[pace] != events[ALONE];
		}
	}
	for (enum scrape_pace pace = ALONE; pace < PACES; pace++) {
		bench_print(names[pace], times[pace], runs, "ns/record");
		/* bench_print() has sorted them. Of the smallest times, which other work on the
		 * machine has disturbed least. */
		snprintf(name, sizeof name, "%s.ratio", names[pace]);
		bench_print_one(name, times[pace][0] / times[ALONE][0], "");
		snprintf(name, sizeof name, "%s.pages", names[pace]);
		bench_print_one(name, pages[pace], "pages");
	}
	bench_print_one("beside_replay.lost", lost ? 1 : 0, "");
	return 0;
}
