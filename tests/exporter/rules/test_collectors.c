/* SPDX-License-Identifier: MIT */
/*
 * The shipped collectors of manifest providers, on recordings built by hand: what the catalogue
 * promises is what is counted. The built-in manifests have the layouts.
 */
#include "exporter/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/writer.h"
#include "tests/support/kernel_events.h"
#include "tests/support/page.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct etw_guid dns =
	ETW_GUID_INIT(0x1c95126e, 0x7eea, 0x49a9, 0xa3, 0xfe, 0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d);
static const struct etw_guid dotnet =
	ETW_GUID_INIT(0xe13c0d23, 0xccbc, 0x4e12, 0x93, 0x1b, 0xd9, 0xcc, 0x2e, 0xee, 0x27, 0xe4);
static const struct etw_guid http =
	ETW_GUID_INIT(0xdd5ef90a, 0x6398, 0x47a4, 0xad, 0x34, 0x4d, 0xce, 0xcd, 0xef, 0x79, 0x5f);
static const struct etw_guid tcpip =
	ETW_GUID_INIT(0x2f07e2ee, 0x15db, 0x40f1, 0x90, 0xef, 0x9d, 0x7b, 0xa2, 0x82, 0x18, 0x8a);

enum {
	ALPHA = 100, /* processes: alpha.exe, and two instances of beta.exe */
	BETA = 200,
	BETA_TOO = 204,
	MS = 10000, /* ticks of the recording */
};

/* A recording under construction: one provider's events. */
struct scene {
	char path[TEMPORARY_PATH_SIZE];
	struct etw_writer *writer;
	struct kernel_events kernel;
	struct etw_payload payload; /* of the next event */
	const struct etw_guid *provider;
};

static void process(struct scene *scene, enum lifetime_opcode opcode, uint32_t id,
		    const char *image)
{
	const struct kernel_process fields = {
		.id = id, .parent_id = 4, .exit_status = 259, .image = image, .command_line = image
	};

	event_process(&scene->kernel, opcode, &fields);
}

static void begin(struct scene *scene, const struct etw_guid *provider)
{
	const struct etw_writer_options options = { .pointer_size = 8 };
	struct etw_error err = { 0 };

	scene->provider = provider;
	temporary_path(scene->path, "etl");
	scene->writer = etw_writer_open(scene->path, &options, &err);
	assert_non_null(scene->writer);
	kernel_events_init(&scene->kernel, scene->writer, 8);
	etw_payload_init(&scene->payload, 8);
	kernel_events_at(&scene->kernel, 0, 0, 4, 8);
	process(scene, OP_DC_START, ALPHA, "alpha.exe");
	process(scene, OP_DC_START, BETA, "beta.exe");
	process(scene, OP_DC_START, BETA_TOO, "Beta.exe");
}

/* The payload built so far, as an event of thread process_id + 1. */
static void event(struct scene *scene, double ms, uint32_t process_id, uint16_t id, uint8_t version)
{
	const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					       .pointer_size = 8,
					       .raw_time = (int64_t)(ms * MS),
					       .process_id = process_id,
					       .thread_id = process_id + 1,
					       .provider = scene->provider,
					       .id = id,
					       .version = version };

	etl_writer_add_payload(scene->writer, &record, &scene->payload);
	etw_payload_clear(&scene->payload);
}

/* The order of samples depends on what came first. */
static void assert_contains(const char *found, const char *lines)
{
	char line[512];

	for (const char *at = lines; *at; at += strcspn(at, "\n") + 1) {
		snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n") + 1, at);
		if (!strstr(found, line)) {
			print_message("%s", found);
			fail_msg("there is no %s", line);
		}
	}
}

/* Replays the scene with one collector. The lines of its families are these; those of the page
 * contain the other ones. */
static void expect_both(struct scene *scene, const char *collector, const char *lines,
			const char *others)
{
	char name[16];
	const char *const paths[] = { scene->path };
	const struct config_switch on = { .collector = name, .on = true };
	struct etw_error err = { 0 };
	struct program program;
	struct etw_text page, found = { 0 };

	snprintf(name, sizeof name, "%s", collector);
	assert_true(etw_writer_finish(scene->writer, &err));
	etw_writer_close(scene->writer);
	kernel_events_done(&scene->kernel);
	etw_payload_done(&scene->payload);
	program_set_up(&program, NULL,
		       &(struct setup_options){
			       .switches = &on, .switch_count = 1, .disable_defaults = true });
	program_run(&program, (struct runner_options){ .paths = paths, .path_count = 1 });
	assert_true(runner_run(program.runner, &err));
	page = program_page(&program);
	for (const char *line = page.data; line && *line; line += strcspn(line, "\n") + 1) {
		size_t size = strlen(collector);

		if (strncmp(line, "etw_", 4) == 0 && strncmp(line + 4, collector, size) == 0 &&
		    line[4 + size] == '_') {
			text_add(&found, line, strcspn(line, "\n") + 1);
		}
	}
	if (lines) {
		assert_contains(found.data, lines);
		assert_int_equal(strlen(found.data), strlen(lines));
	}
	assert_contains(page.data, others);
	assert_null(strstr(page.data, "etw_decode_errors_total{"));
	text_free(&found);
	text_free(&page);
	program_close(&program);
	remove(scene->path);
}

static void expect(struct scene *scene, const char *collector, const char *lines)
{
	expect_both(scene, collector, lines,
		    "\netw_state_unmatched_total{table=\"pair\",side=\"start\"} 0\n");
}

/* ---- dns ---- */

static void query(struct scene *scene, double ms, uint32_t process_id, const char *name,
		  uint32_t type)
{
	etw_payload_wstring(&scene->payload, name);
	etw_payload_u32(&scene->payload, type);
	etw_payload_u64(&scene->payload, 0x40006000);
	etw_payload_wstring(&scene->payload, "");
	etw_payload_zeros(&scene->payload, 4 * 4);
	event(scene, ms, process_id, 3006, 0);
}

static void answer(struct scene *scene, double ms, uint32_t process_id, const char *name,
		   uint32_t type, uint32_t status)
{
	etw_payload_wstring(&scene->payload, name);
	etw_payload_u32(&scene->payload, type);
	etw_payload_u64(&scene->payload, 0x40006000);
	etw_payload_u32(&scene->payload, status);
	etw_payload_wstring(&scene->payload, status == 0 ? "10.0.0.1;" : "");
	event(scene, ms, process_id, 3008, 0);
}

static void dns_queries_are_counted_and_timed(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, &dns);
	/* Two processes ask the same, and one of them for both types of address. */
	query(&scene, 10, ALPHA, "example.org", 1);
	query(&scene, 11, ALPHA, "example.org", 28);
	query(&scene, 12, BETA, "example.org", 1);
	answer(&scene, 13, BETA, "example.org", 1, 0);      /* 1 ms */
	answer(&scene, 20, ALPHA, "example.org", 28, 9501); /* 9 ms */
	answer(&scene, 50, ALPHA, "example.org", 1, 0);     /* 40 ms */
	query(&scene, 60, BETA_TOO, "nobody.invalid", 33);
	answer(&scene, 62, BETA_TOO, "nobody.invalid", 33, 9003); /* 2 ms */
	query(&scene, 70, BETA, "odd.invalid", 99);
	answer(&scene, 71, BETA, "odd.invalid", 99, 87); /* 1 ms */
	expect(&scene, "dns",
	       "etw_dns_domain_failures_total{domain=\"example.org\",status=\"no_records\"} 1\n"
	       "etw_dns_domain_failures_total{domain=\"nobody.invalid\",status=\"name_error\"} 1\n"
	       "etw_dns_domain_failures_total{domain=\"odd.invalid\",status=\"other\"} 1\n"
	       "etw_dns_failures_total{process=\"alpha\",provider=\"Microsoft-Windows-DNS-Client\",status=\"no_records\"} 1\n"
	       "etw_dns_failures_total{process=\"beta\",provider=\"Microsoft-Windows-DNS-Client\",status=\"name_error\"} 1\n"
	       "etw_dns_failures_total{process=\"beta\",provider=\"Microsoft-Windows-DNS-Client\",status=\"other\"} 1\n"
	       "etw_dns_queries_total{process=\"alpha\",provider=\"Microsoft-Windows-DNS-Client\",type=\"A\"} 1\n"
	       "etw_dns_queries_total{process=\"alpha\",provider=\"Microsoft-Windows-DNS-Client\",type=\"AAAA\"} 1\n"
	       "etw_dns_queries_total{process=\"beta\",provider=\"Microsoft-Windows-DNS-Client\",type=\"A\"} 1\n"
	       "etw_dns_queries_total{process=\"beta\",provider=\"Microsoft-Windows-DNS-Client\",type=\"SRV\"} 1\n"
	       "etw_dns_queries_total{process=\"beta\",provider=\"Microsoft-Windows-DNS-Client\",type=\"other\"} 1\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.0005\"} 0\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.001\"} 2\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.002\"} 3\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.004\"} 3\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.008\"} 3\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.016\"} 4\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.032\"} 4\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.064\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.128\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.256\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"0.512\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"1.024\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"2.048\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"4.096\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"8.192\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"16.384\"} 5\n"
	       "etw_dns_query_duration_seconds_bucket{le=\"+Inf\"} 5\n"
	       "etw_dns_query_duration_seconds_sum 0.053\n"
	       "etw_dns_query_duration_seconds_count 5\n");
}

static void failed_queries_are_grouped_by_domain(void **state)
{
	static const struct {
		const char *name, *domain;
	} cases[] = {
		{ "dc1.Contoso.example", "contoso.example" },
		{ "a.b.c.contoso.example.", "contoso.example" },
		{ "www.shop.co.uk", "shop.co.uk" },
		{ "co.uk", "co.uk" },
		{ "4.3.2.10.in-addr.arpa", "in-addr.arpa" },
		{ "wpad", "wpad" },
		{ "", "_none" },
		{ ".", "." },
	};
	char lines[2048] = "";
	struct scene scene;

	(void)state;
	begin(&scene, &dns);
	for (size_t i = 0; i < COUNT(cases); i++) {
		/* As often as it is in the table. */
		for (size_t k = 0; k <= i; k++) {
			query(&scene, 10 + (double)i, ALPHA, cases[i].name, 1);
			answer(&scene, 10.5 + (double)i, ALPHA, cases[i].name, 1, 9003);
		}
		if (i != 1) {
			snprintf(
				lines + strlen(lines), sizeof lines - strlen(lines),
				"etw_dns_domain_failures_total{domain=\"%s\",status=\"name_error\"} %zu\n",
				cases[i].domain, i == 0 ? 3 : i + 1);
		}
	}
	expect_both(&scene, "dns", NULL, lines);
}

/* ---- dotnet ---- */

static void gc(struct scene *scene, double ms, uint32_t process_id, uint32_t generation,
	       double pause_ms)
{
	etw_payload_u32(&scene->payload, 1); /* Reason: a collection */
	etw_payload_u32(&scene->payload, 7);
	etw_payload_u16(&scene->payload, 6);
	event(scene, ms, process_id, 9, 1);
	etw_payload_u32(&scene->payload, 7);
	etw_payload_u32(&scene->payload, generation);
	etw_payload_zeros(&scene->payload, 4 + 4);
	etw_payload_u16(&scene->payload, 6);
	etw_payload_u64(&scene->payload, 0);
	event(scene, ms + 0.1, process_id, 1, 2);
	etw_payload_u16(&scene->payload, 6);
	event(scene, ms + pause_ms, process_id, 3, 1);
}

/* Sizes: base, base + 1, … */
static void heap(struct scene *scene, double ms, uint32_t process_id, uint64_t base,
		 uint8_t version)
{
	for (uint64_t generation = 0; generation < 4; generation++) {
		etw_payload_u64(&scene->payload, base + generation);
		etw_payload_u64(&scene->payload, 0);
	}
	etw_payload_zeros(&scene->payload, 8 + 8 + 4 + 4 + 4);
	if (version >= 1) {
		etw_payload_u16(&scene->payload, 6);
	}
	if (version >= 2) {
		etw_payload_u64(&scene->payload, base + 4);
		etw_payload_u64(&scene->payload, 0);
	}
	event(scene, ms, process_id, 4, version);
}

static void allocation(struct scene *scene, double ms, uint8_t version, uint32_t amount)
{
	etw_payload_u32(&scene->payload, amount);
	etw_payload_u32(&scene->payload, 0);
	if (version >= 1) {
		etw_payload_u16(&scene->payload, 6);
	}
	if (version >= 2) {
		etw_payload_u64(&scene->payload, 0x100000000 + amount);
		etw_payload_pointer(&scene->payload, 1);
		etw_payload_wstring(&scene->payload, "System.String");
		etw_payload_u32(&scene->payload, 0);
	}
	event(scene, ms, ALPHA, 10, version);
}

static void workers(struct scene *scene, double ms, uint32_t process_id, uint16_t id,
		    uint32_t active)
{
	etw_payload_u32(&scene->payload, active);
	etw_payload_u32(&scene->payload, 0);
	etw_payload_u16(&scene->payload, 6);
	event(scene, ms, process_id, id, 0);
}

static void contention(struct scene *scene, double ms, uint16_t id, uint8_t version)
{
	etw_payload_u8(&scene->payload, 0);
	etw_payload_u16(&scene->payload, 6);
	if (id == 91 && version == 1) {
		etw_payload_u64(&scene->payload, 0x40f86a0000000000); /* 100000.0 */
	}
	event(scene, ms, ALPHA, id, version);
}

#define NET ",provider=\"Microsoft-Windows-DotNETRuntime\""

static void the_runtime_reports_collections_heaps_locks_and_threads(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, &dotnet);
	gc(&scene, 10, ALPHA, 0, 0.3);
	gc(&scene, 20, ALPHA, 2, 30);
	gc(&scene, 15, BETA, 0, 1);
	heap(&scene, 60, ALPHA, 1000, 1);
	heap(&scene, 61, BETA, 100, 2);
	heap(&scene, 62, BETA_TOO, 20, 2);
	heap(&scene, 63, BETA, 200, 2); /* replaces what it said before */
	allocation(&scene, 70, 1, 1000);
	allocation(&scene, 71, 2, 24);
	etw_payload_wstring(&scene.payload, "System.Exception");
	etw_payload_wstring(&scene.payload, "sorry");
	etw_payload_pointer(&scene.payload, 1);
	etw_payload_u32(&scene.payload, 0x80131500);
	etw_payload_u16(&scene.payload, 0);
	etw_payload_u16(&scene.payload, 6);
	event(&scene, 72, BETA, 80, 1);
	contention(&scene, 80, 81, 1);
	contention(&scene, 80.5, 91, 0);
	contention(&scene, 81, 81, 1);
	contention(&scene, 83, 91, 1); /* its own time is not that since the start */
	etw_payload_u64(&scene.payload, 1);
	etw_payload_u64(&scene.payload, 2);
	etw_payload_zeros(&scene.payload, 4 + 4);
	etw_payload_wstring(&scene.payload, "N");
	etw_payload_wstring(&scene.payload, "M");
	etw_payload_wstring(&scene.payload, "void ()");
	etw_payload_u16(&scene.payload, 6);
	event(&scene, 90, ALPHA, 145, 1);
	workers(&scene, 91, BETA, 50, 3);
	workers(&scene, 92, BETA_TOO, 50, 2);
	workers(&scene, 93, BETA, 57, 4);
	workers(&scene, 94, ALPHA, 51, 9);
	/* Its shares of the gauges go with it. */
	kernel_events_at(&scene.kernel, 0, 100 * MS, 4, 8);
	process(&scene, OP_STOP, BETA_TOO, "Beta.exe");
	expect(&scene, "dotnet",
	       "etw_dotnet_allocated_bytes_total{process=\"alpha\"" NET "} 4294968320\n"
	       "etw_dotnet_contention_seconds_total{process=\"alpha\"" NET "} 0.0006\n"
	       "etw_dotnet_contentions_total{process=\"alpha\"" NET "} 2\n"
	       "etw_dotnet_exceptions_total{process=\"beta\"" NET "} 1\n"
	       "etw_dotnet_gc_collections_total{process=\"alpha\"" NET ",generation=\"0\"} 1\n"
	       "etw_dotnet_gc_collections_total{process=\"beta\"" NET ",generation=\"0\"} 1\n"
	       "etw_dotnet_gc_collections_total{process=\"alpha\"" NET ",generation=\"2\"} 1\n"
	       "etw_dotnet_gc_heap_bytes{process=\"alpha\"" NET ",generation=\"0\"} 1000\n"
	       "etw_dotnet_gc_heap_bytes{process=\"alpha\"" NET ",generation=\"1\"} 1001\n"
	       "etw_dotnet_gc_heap_bytes{process=\"alpha\"" NET ",generation=\"2\"} 1002\n"
	       "etw_dotnet_gc_heap_bytes{process=\"alpha\"" NET ",generation=\"3\"} 1003\n"
	       "etw_dotnet_gc_heap_bytes{process=\"beta\"" NET ",generation=\"0\"} 200\n"
	       "etw_dotnet_gc_heap_bytes{process=\"beta\"" NET ",generation=\"1\"} 201\n"
	       "etw_dotnet_gc_heap_bytes{process=\"beta\"" NET ",generation=\"2\"} 202\n"
	       "etw_dotnet_gc_heap_bytes{process=\"beta\"" NET ",generation=\"3\"} 203\n"
	       "etw_dotnet_gc_heap_bytes{process=\"beta\"" NET ",generation=\"4\"} 204\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.0001\"} 0\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.0004\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.0016\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.0064\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.0256\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.1024\"} 2\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"0.4096\"} 2\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"1.6384\"} 2\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"6.5536\"} 2\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"alpha\"" NET ",le=\"+Inf\"} 2\n"
	       "etw_dotnet_gc_pause_seconds_sum{process=\"alpha\"" NET "} 0.0303\n"
	       "etw_dotnet_gc_pause_seconds_count{process=\"alpha\"" NET "} 2\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.0001\"} 0\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.0004\"} 0\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.0016\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.0064\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.0256\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.1024\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"0.4096\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"1.6384\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"6.5536\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_bucket{process=\"beta\"" NET ",le=\"+Inf\"} 1\n"
	       "etw_dotnet_gc_pause_seconds_sum{process=\"beta\"" NET "} 0.001\n"
	       "etw_dotnet_gc_pause_seconds_count{process=\"beta\"" NET "} 1\n"
	       "etw_dotnet_methods_jitted_total{process=\"alpha\"" NET "} 1\n"
	       "etw_dotnet_threadpool_threads{process=\"alpha\"" NET "} 9\n"
	       "etw_dotnet_threadpool_threads{process=\"beta\"" NET "} 4\n");
}

/* ---- http ---- */

static void request(struct scene *scene, double ms, uint64_t id)
{
	etw_payload_u64(&scene->payload, id);
	etw_payload_u64(&scene->payload, 0x70);
	etw_payload_u32(&scene->payload, 0);
	event(scene, ms, 4, 1, 0);
}

static void response(struct scene *scene, double ms, uint16_t event_id, uint64_t id, uint16_t code,
		     const char *verb)
{
	etw_payload_u64(&scene->payload, id);
	etw_payload_u64(&scene->payload, 0x70);
	etw_payload_u16(&scene->payload, code);
	etw_payload_astring(&scene->payload, verb);
	etw_payload_zeros(&scene->payload, 4 + 2 + 4);
	event(scene, ms, ALPHA, event_id, 0);
}

static void sent(struct scene *scene, double ms, uint16_t event_id, uint64_t id, uint16_t code)
{
	etw_payload_u64(&scene->payload, id);
	etw_payload_u16(&scene->payload, code);
	event(scene, ms, 4, event_id, 0);
}

static void delivered(struct scene *scene, double ms, uint64_t id, const char *url)
{
	etw_payload_pointer(&scene->payload, 0x77);
	etw_payload_u64(&scene->payload, id);
	etw_payload_u32(&scene->payload, 1);
	etw_payload_wstring(&scene->payload, "DefaultAppPool");
	etw_payload_wstring(&scene->payload, url);
	etw_payload_u32(&scene->payload, 0);
	event(scene, ms, ALPHA, 3, 0);
}

static void requests_are_counted_and_timed_by_their_id(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, &http);
	etw_payload_pointer(&scene.payload, 0x70);
	etw_payload_u32(&scene.payload, 0);
	etw_payload_u32(&scene.payload, 0);
	event(&scene, 1, 4, 21, 0);
	request(&scene, 10, 1);
	request(&scene, 11, 2);
	request(&scene, 12, 3);
	delivered(&scene, 12.1, 3, "http://Shop.Example:80/cart?user=7");
	delivered(&scene, 12.2, 1, "https://shop.example:8443/");
	response(&scene, 12.5, 8, 3, 304, "GET");
	sent(&scene, 13, 12, 3, 304);           /* 1 ms */
	response(&scene, 20, 4, 2, 200, "get"); /* its delivery was lost */
	sent(&scene, 21, 10, 2, 200);           /* 10 ms */
	response(&scene, 110, 4, 1, 500, "PROPFIND");
	sent(&scene, 110, 10, 1, 500); /* 100 ms */
	/* All but the response was lost: no start, no time. */
	response(&scene, 120, 4, 9, 200, "PUT");
	sent(&scene, 121, 10, 9, 200);
	expect(&scene, "http",
	       "etw_http_connections_total 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.0005\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.001\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.002\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.004\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.008\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.016\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.032\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.064\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.128\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.256\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"0.512\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"1.024\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"2.048\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"4.096\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"8.192\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"16.384\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example\",cache=\"miss\",le=\"+Inf\"} 1\n"
	       "etw_http_request_duration_seconds_sum{site=\"shop.example\",cache=\"miss\"} 0.001\n"
	       "etw_http_request_duration_seconds_count{site=\"shop.example\",cache=\"miss\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.0005\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.001\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.002\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.004\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.008\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.016\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.032\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.064\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.128\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.256\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"0.512\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"1.024\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"2.048\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"4.096\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"8.192\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"16.384\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"_unknown\",cache=\"miss\",le=\"+Inf\"} 1\n"
	       "etw_http_request_duration_seconds_sum{site=\"_unknown\",cache=\"miss\"} 0.01\n"
	       "etw_http_request_duration_seconds_count{site=\"_unknown\",cache=\"miss\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.0005\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.001\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.002\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.004\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.008\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.016\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.032\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.064\"} 0\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.128\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.256\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"0.512\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"1.024\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"2.048\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"4.096\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"8.192\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"16.384\"} 1\n"
	       "etw_http_request_duration_seconds_bucket{site=\"shop.example:8443\",cache=\"miss\",le=\"+Inf\"} 1\n"
	       "etw_http_request_duration_seconds_sum{site=\"shop.example:8443\",cache=\"miss\"} 0.1\n"
	       "etw_http_request_duration_seconds_count{site=\"shop.example:8443\",cache=\"miss\"} 1\n"
	       "etw_http_requests_total{site=\"shop.example\",method=\"GET\",code=\"304\",pool=\"DefaultAppPool\",cache=\"miss\"} 1\n"
	       "etw_http_requests_total{site=\"_unknown\",method=\"GET\",code=\"200\",pool=\"_unknown\",cache=\"miss\"} 1\n"
	       "etw_http_requests_total{site=\"shop.example:8443\",method=\"other\",code=\"500\",pool=\"DefaultAppPool\",cache=\"miss\"} 1\n"
	       "etw_http_requests_total{site=\"_unknown\",method=\"PUT\",code=\"200\",pool=\"_unknown\",cache=\"miss\"} 1\n");
}

static void parsed(struct scene *scene, double ms, uint64_t object, uint32_t verb, const char *url)
{
	etw_payload_pointer(&scene->payload, object);
	etw_payload_u32(&scene->payload, verb);
	etw_payload_wstring(&scene->payload, url);
	event(scene, ms, 4, 2, 0);
}

static void from_cache(struct scene *scene, double ms, uint16_t event_id, uint8_t version,
		       uint64_t object, uint64_t id)
{
	etw_payload_pointer(&scene->payload, object);
	etw_payload_zeros(&scene->payload, 8);
	if (version > 0) {
		etw_payload_u64(&scene->payload, id);
		etw_payload_astring(&scene->payload, "gzip");
	}
	event(scene, ms, 4, event_id, version);
}

/* A request that the cache of HTTP.sys answers is never delivered: its URL is in Parse alone. */
static void answers_of_the_cache_are_counted_and_leave_no_pair(void **state)
{
	enum { GET = 4, HEAD = 5 }; /* HTTP_VERB enumeration, Microsoft Learn */
	struct scene scene;

	(void)state;
	begin(&scene, &http);
	/* The first answer fills the cache and ends with 11. */
	request(&scene, 10, 1);
	parsed(&scene, 10.1, 0x77, GET, "http://shop.example/logo.png");
	delivered(&scene, 10.2, 1, "http://shop.example/logo.png");
	response(&scene, 11, 8, 1, 200, "GET");
	sent(&scene, 12, 11, 1, 200);
	/* Then come two hits, of both versions, and two answers that need no body. */
	request(&scene, 20, 2);
	parsed(&scene, 20, 0x70, GET, "http://shop.example/logo.png");
	from_cache(&scene, 20.25, 16, 1, 0x70, 2);
	request(&scene, 30, 3);
	parsed(&scene, 30, 0x70, GET, "http://shop.example/logo.png");
	from_cache(&scene, 30.25, 16, 0, 0x70, 3);
	request(&scene, 40, 4);
	parsed(&scene, 40, 0x70, HEAD, "http://shop.example/logo.png");
	from_cache(&scene, 40.25, 17, 1, 0x70, 4);
	request(&scene, 50, 5);
	parsed(&scene, 50, 0x77, GET, "http://shop.example/none");
	delivered(&scene, 50, 5, "http://shop.example/none");
	response(&scene, 51, 8, 5, 204, "GET");
	sent(&scene, 52, 13, 5, 204);
	/* The client of the last one has gone. */
	request(&scene, 60, 6);
	parsed(&scene, 60, 0x77, GET, "http://shop.example/gone");
	delivered(&scene, 60, 6, "http://shop.example/gone");
	response(&scene, 61, 8, 6, 200, "GET");
	sent(&scene, 62, 14, 6, 200);
	/* Later than pairs time out. The arrival of the hit of version 0 does: it has no id. */
	request(&scene, 400e3, 7);
	expect_both(&scene, "http", NULL,
#define SITE "site=\"shop.example\","
#define MISS "\",pool=\"DefaultAppPool\",cache=\"miss\"} "
#define HIT  "\",pool=\"_none\",cache=\"hit\"} "
		    "etw_http_requests_total{" SITE "method=\"GET\",code=\"200" MISS "2\n"
		    "etw_http_requests_total{" SITE "method=\"GET\",code=\"204" MISS "1\n"
		    "etw_http_requests_total{" SITE "method=\"GET\",code=\"200" HIT "2\n"
		    "etw_http_requests_total{" SITE "method=\"HEAD\",code=\"304" HIT "1\n"
		    "etw_http_request_duration_seconds_count{" SITE "cache=\"miss\"} 2\n"
		    "etw_http_request_duration_seconds_sum{" SITE "cache=\"hit\"} 0.00075\n"
		    "etw_http_request_duration_seconds_count{" SITE "cache=\"hit\"} 3\n"
		    "etw_http_send_errors_total{site=\"shop.example\"} 1\n"
		    "etw_state_unmatched_total{table=\"pair\",side=\"start\"} 1\n"
		    "etw_state_unmatched_total{table=\"pair\",side=\"stop\"} 0\n");
#undef SITE
#undef MISS
#undef HIT
}

/* Path, query, user and password may hold secrets, and are without bound. */
static void nothing_of_a_url_but_its_host_is_shown(void **state)
{
	static const struct {
		const char *url, *site;
	} cases[] = {
		{ "http://a.example:80/x", "a.example" },
		{ "HTTP://A.Example:80/X", "a.example" },
		{ "http://a.example:80", "a.example" },
		{ "http://a.example/x:80/", "a.example" },
		{ "https://a.example:443/", "a.example" },
		{ "http://a.example?q=http://secret:80/", "a.example" },
		{ "http://a.example#/@", "a.example" },
		{ "http://a.example:443/", "a.example:443" },
		{ "https://a.example:80/", "a.example:80" },
		{ "http://[::1]:80/", "[::1]" },
		{ "http://[FE80::1]:8080/x", "[fe80::1]:8080" },
		{ "http://b\xc3\xbc"
		  "cher.example/",
		  "b\xc3\xbc"
		  "cher.example" },
		{ "http://a.example/two\nlines\n", "a.example" },
		{ "", "_unknown" },
		{ "/path?secret", "_unknown" },
		{ "http:///path", "_unknown" },
		{ "http://user:secret@a.example/", "_unknown" },
		{ "http://a.example\\secret/", "_unknown" },
		{ "http://a.example secret/", "_unknown" },
		{ "ftp://a.example/secret", "_unknown" },
		{ "secret http://a.example/", "_unknown" },
		{ NULL, "_unknown" }, /* a host of 20000 characters */
	};
	char lines[4096] = "etw_http_connections_total 0\n", url[20016] = "http://";
	struct scene scene;

	(void)state;
	memset(url + 7, 'a', 20000);
	begin(&scene, &http);
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t used = strlen(lines);

		delivered(&scene, 2 + (double)i, i, cases[i].url ? cases[i].url : url);
		response(&scene, 2.5 + (double)i, 8, i, (uint16_t)(200 + i), "GET");
		snprintf(lines + used, sizeof lines - used,
			 "etw_http_requests_total{site=\"%s\",method=\"GET\",code=\"%zu\",pool="
			 "\"DefaultAppPool\",cache=\"miss\"} 1\n",
			 cases[i].site, 200 + i);
	}
	expect(&scene, "http", lines);
}

/* ---- tcp ---- */

static void addresses(struct scene *scene)
{
	static const uint8_t local[16] = { 2, 0, 0xc0, 0, 10, 0, 0, 5 };
	static const uint8_t remote[16] = { 2, 0, 1, 0xbb, 10, 0, 0, 9 };

	etw_payload_u32(&scene->payload, sizeof local);
	etw_payload_bytes(&scene->payload, local, sizeof local);
	etw_payload_u32(&scene->payload, sizeof remote);
	etw_payload_bytes(&scene->payload, remote, sizeof remote);
}

static void connect(struct scene *scene, double ms, uint64_t tcb)
{
	etw_payload_pointer(&scene->payload, tcb);
	addresses(scene);
	etw_payload_zeros(&scene->payload, 4 + 4);
	event(scene, ms, 4, 1002, 0);
}

/* In a thread of the system: the payload names the process. */
static void connected(struct scene *scene, double ms, uint16_t id, uint64_t tcb, uint32_t status,
		      uint32_t process_id)
{
	addresses(scene);
	etw_payload_u32(&scene->payload, status);
	etw_payload_u32(&scene->payload, process_id);
	etw_payload_u32(&scene->payload, 1);
	etw_payload_pointer(&scene->payload, tcb);
	etw_payload_u64(&scene->payload, 0);
	event(scene, ms, 4, id, 1);
}

static void connections_are_timed_and_their_failures_counted(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, &tcpip);
	connect(&scene, 10, 0xa);
	connect(&scene, 11, 0xb);
	connected(&scene, 12, 1033, 0xb, 0, ALPHA); /* 1 ms */
	connected(&scene, 50, 1033, 0xa, 0, BETA);  /* 40 ms */
	connected(&scene, 60, 1034, 0xc, 0xc0000236, ALPHA);
	connected(&scene, 61, 1034, 0xd, 0xc0000236, ALPHA);
	connected(&scene, 62, 1034, 0xe, 0xc00000b5, BETA);
	connected(&scene, 63, 1034, 0xf, 0xc0000999, BETA);
	expect(&scene, "tcp",
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.0005\"} 0\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.001\"} 1\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.002\"} 1\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.004\"} 1\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.008\"} 1\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.016\"} 1\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.032\"} 1\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.064\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.128\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.256\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"0.512\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"1.024\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"2.048\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"4.096\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"8.192\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"16.384\"} 2\n"
	       "etw_tcp_connect_duration_seconds_bucket{le=\"+Inf\"} 2\n"
	       "etw_tcp_connect_duration_seconds_sum 0.041\n"
	       "etw_tcp_connect_duration_seconds_count 2\n"
	       "etw_tcp_process_connect_failures_total{process=\"alpha\",provider=\"Microsoft-Windows-TCPIP\",reason=\"connection_refused\"} 2\n"
	       "etw_tcp_process_connect_failures_total{process=\"beta\",provider=\"Microsoft-Windows-TCPIP\",reason=\"io_timeout\"} 1\n"
	       "etw_tcp_process_connect_failures_total{process=\"beta\",provider=\"Microsoft-Windows-TCPIP\",reason=\"error\"} 1\n");
}

/* The summary at the end of a connection (1352, 1477) names no process. */
static void summary(struct scene *scene, double ms, uint16_t id, uint64_t tcb, uint64_t sent,
		    uint32_t retransmitted, uint32_t rtt_us)
{
	etw_payload_pointer(&scene->payload, tcb);
	etw_payload_u64(&scene->payload, sent);
	etw_payload_zeros(&scene->payload, 5 * 8 + 3 * 4);
	etw_payload_u32(&scene->payload, retransmitted);
	etw_payload_zeros(&scene->payload, 6 * 4 + 3 * (2 * 4 + 8));
	if (id == 1477) {
		etw_payload_zeros(&scene->payload, 8 + 4);
		etw_payload_u32(&scene->payload, rtt_us);
		etw_payload_zeros(&scene->payload, 5 * 4);
		addresses(scene);
		etw_payload_zeros(&scene->payload, 5 * 4);
	}
	event(scene, ms, 4, id, 0);
}

static void connections_sum_up_for_the_process_that_made_or_accepted_them(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, &tcpip);
	connected(&scene, 10, 1033, 0xa, 0, ALPHA);
	connected(&scene, 11, 1017, 0xb, 0, BETA); /* accepted */
	connected(&scene, 12, 1017, 0xc, 0, BETA);
	summary(&scene, 5000, 1477, 0xa, 100000, 3000, 20000);
	summary(&scene, 5001, 1477, 0xb, 500, 0, 0); /* without a measurement */
	summary(&scene, 5002, 1352, 0xc, 7, 1, 0);
	/* Another connection with the same block of memory, and one whose beginning was not seen.
	 */
	connected(&scene, 5003, 1017, 0xa, 0, ALPHA);
	summary(&scene, 5004, 1477, 0xa, 50, 5, 1000);
	summary(&scene, 5005, 1477, 0xd, 9999, 9999, 9999);
	expect_both(
		&scene, "tcp", NULL,
		"etw_tcp_connection_rtt_seconds_count{process=\"alpha\",provider=\"Microsoft-Windows-TCPIP\"} 2\n"
		"etw_tcp_connection_rtt_seconds_sum{process=\"alpha\",provider=\"Microsoft-Windows-TCPIP\"} 0.021\n"
		"etw_tcp_connection_rtt_seconds_bucket{process=\"alpha\",provider=\"Microsoft-Windows-TCPIP\",le=\"0.002\"} 1\n"
		"etw_tcp_connection_sent_bytes_total{process=\"alpha\",provider=\"Microsoft-Windows-TCPIP\"} 100050\n"
		"etw_tcp_connection_sent_bytes_total{process=\"beta\",provider=\"Microsoft-Windows-TCPIP\"} 507\n"
		"etw_tcp_connection_retransmitted_bytes_total{process=\"alpha\",provider=\"Microsoft-Windows-TCPIP\"} 3005\n"
		"etw_tcp_connection_retransmitted_bytes_total{process=\"beta\",provider=\"Microsoft-Windows-TCPIP\"} 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dns_queries_are_counted_and_timed),
		cmocka_unit_test(failed_queries_are_grouped_by_domain),
		cmocka_unit_test(the_runtime_reports_collections_heaps_locks_and_threads),
		cmocka_unit_test(requests_are_counted_and_timed_by_their_id),
		cmocka_unit_test(answers_of_the_cache_are_counted_and_leave_no_pair),
		cmocka_unit_test(nothing_of_a_url_but_its_host_is_shown),
		cmocka_unit_test(connections_are_timed_and_their_failures_counted),
		cmocka_unit_test(connections_sum_up_for_the_process_that_made_or_accepted_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
