/* SPDX-License-Identifier: MIT */
/*
 * The gauges of process memory from recordings: events of the kernel and of
 * Microsoft-Windows-Kernel-Memory, in both layouts and pointer sizes, whole and damaged. Payloads
 * are built by hand from the layout that TraceEvent reads (exporter/track/process_memory.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/provider.h>

#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define SECOND INT64_C(10000000) /* ticks of the recordings */
#define KERNEL "Windows Kernel"
#define OTHER  "Microsoft-Windows-Kernel-Memory"

enum { ALPHA = 100, ALPHA_TOO = 104, BETA = 200, PAGE = 4096, PROCESS_MEM_INFO = 125 };

struct making {
	char path[TEMPORARY_PATH_SIZE];
	struct etw_writer *writer;
	struct kernel_events k;
	struct etw_payload payload;
	int64_t now;
};

static void begin(struct making *making, uint8_t pointer_size)
{
	static const struct kernel_process processes[] = {
		{ .id = ALPHA, .image = "alpha.exe", .command_line = "" },
		{ .id = ALPHA_TOO, .image = "alpha.exe", .command_line = "" },
		{ .id = BETA, .image = "beta.exe", .command_line = "" },
	};
	const struct etw_writer_options options = { .pointer_size = pointer_size };
	struct etw_error err = { 0 };

	*making = (struct making){ .now = SECOND };
	temporary_path(making->path, "etl");
	making->writer = etw_writer_open(making->path, &options, &err);
	assert_non_null(making->writer);
	kernel_events_init(&making->k, making->writer, pointer_size);
	etw_payload_init(&making->payload, pointer_size);
	kernel_events_at(&making->k, 0, making->now, 4, 8);
	for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++) {
		event_process(&making->k, OP_DC_START, &processes[i]);
	}
}

static void add_count(struct making *making, uint32_t count)
{
	etw_payload_u32(&making->payload, count);
}

static void add_process(struct making *making, uint8_t version, uint32_t id, uint32_t working_set,
			uint32_t private_working_set, uint32_t commit)
{
	struct etw_payload *payload = &making->payload;

	etw_payload_u32(payload, id);
	etw_payload_pointer(payload, working_set);
	etw_payload_pointer(payload, commit);
	etw_payload_pointer(payload, 123456); /* virtual size */
	etw_payload_pointer(payload, private_working_set);
	for (unsigned i = 0; version >= 2 && i < 4; i++) {
		etw_payload_pointer(payload, 99);
	}
}

/* The payload so far becomes an event of the kernel or of the provider, a second later. */
static void put(struct making *making, bool kernel, uint8_t version)
{
	struct etw_out_record record = {
		.type = ETW_RECORD_EVENT,
		.pointer_size = making->payload.pointer_size,
		.provider = &etw_known_providers[ETW_PROVIDER_KERNEL_MEMORY].guid,
		.id = ETW_MEMORY_EVENT_PROCESSES,
		.version = version,
		.level = 4
	};

	making->now += SECOND;
	if (kernel) {
		struct kernel_events *k = &making->k;

		kernel_events_at(k, 0, making->now, 4, 8);
		etw_payload_clear(&k->payload);
		etw_payload_bytes(&k->payload, making->payload.bytes, making->payload.size);
		event_add(k, ETW_RECORD_SYSTEM, GROUP_PAGE_FAULT, PROCESS_MEM_INFO, version);
	} else {
		record.raw_time = making->now;
		etl_writer_add_payload(making->writer, &record, &making->payload);
	}
	etw_payload_clear(&making->payload);
}

static struct etw_text replay(struct making *making)
{
	struct etw_error err = { 0 };

	kernel_events_done(&making->k);
	etw_payload_done(&making->payload);
	assert_true(etw_writer_finish(making->writer, &err));
	etw_writer_close(making->writer);
	return program_replay(making->path, NULL, &(struct setup_options){ 0 },
			      (struct runner_options){ 0 });
}

static void expect(const struct etw_text *page, const char *family, const char *process,
		   const char *provider, unsigned pages)
{
	char line[200];

	snprintf(line, sizeof line, "\netw_process_%s{process=\"%s\",provider=\"%s\"} %llu\n", family,
		 process, provider, (unsigned long long)pages * PAGE);
	if (!strstr(page->data, line)) {
		fail_msg("not on the page: %s\n%s", line, page->data);
	}
}

static void expect_none(const struct etw_text *page, const char *start)
{
	const char *at = strstr(page->data, start);

	if (at) {
		fail_msg("on the page: %.200s", at);
	}
}

/* The last reading counts; processes of one name add up; a name that is not in it goes to 0. */
static void the_last_reading_is_shown_by_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) { /* source, pointer size, version */
		bool kernel = i & 1;
		uint8_t version = (uint8_t)(i / 4);
		const char *provider = kernel ? KERNEL : OTHER;
		struct making making;
		struct etw_text page;

		begin(&making, i & 2 ? 4 : 8);
		add_count(&making, 2);
		add_process(&making, version, ALPHA, 900, 800, 700);
		add_process(&making, version, BETA, 90, 80, 70);
		put(&making, kernel, version);
		add_count(&making, 2);
		add_process(&making, version, ALPHA, 30, 20, 50);
		add_process(&making, version, ALPHA_TOO, 3, 2, 5);
		put(&making, kernel, version);
		page = replay(&making);
		expect(&page, "working_set_bytes", "alpha", provider, 33);
		expect(&page, "private_working_set_bytes", "alpha", provider, 22);
		expect(&page, "commit_bytes", "alpha", provider, 55);
		expect(&page, "working_set_bytes", "beta", provider, 0);
		expect_none(&page, "\netw_process_handles{");
		text_free(&page);
	}
}

/* In either order the kernel's events alone are shown, however old. */
static void two_sources_are_never_added_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct making making;
		struct etw_text page;

		begin(&making, 8);
		for (unsigned k = 0; k < 2; k++) {
			bool kernel = k == i;

			add_count(&making, 1);
			add_process(&making, 2, ALPHA, kernel ? 10 : 1000, 5, 7);
			put(&making, kernel, 2);
		}
		page = replay(&making);
		expect(&page, "working_set_bytes", "alpha", KERNEL, 10);
		assert_int_equal(page_value(&page, "etw_process_working_set_bytes"), 10 * PAGE);
		text_free(&page);
	}
}

static void damage_costs_what_is_damaged(void **state)
{
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making, 8);
	add_count(&making, UINT32_MAX); /* more than there are */
	add_process(&making, 2, ALPHA, 10, 5, 7);
	etw_payload_u32(&making.payload, BETA);
	etw_payload_u64(&making.payload, 90); /* and no more */
	put(&making, true, 2);
	page = replay(&making);
	expect(&page, "working_set_bytes", "alpha", KERNEL, 10);
	expect_none(&page, "etw_process_working_set_bytes{process=\"beta\"");
	text_free(&page);

	begin(&making, 8);
	add_count(&making, 1);
	etw_payload_u32(&making.payload, ALPHA);
	etw_payload_u64(&making.payload, UINT64_MAX); /* pages that no process has */
	etw_payload_u64(&making.payload, 7);
	etw_payload_zeros(&making.payload, 6 * 8);
	put(&making, true, 2);
	put(&making, true, 2); /* an event without a payload: a reading of nothing */
	add_count(&making, 1);
	etw_payload_u32(&making.payload, ALPHA);
	etw_payload_u64(&making.payload, UINT64_MAX);
	etw_payload_u64(&making.payload, 7);
	etw_payload_zeros(&making.payload, 6 * 8);
	put(&making, true, 2);
	page = replay(&making);
	expect(&page, "working_set_bytes", "alpha", KERNEL, 0);
	expect(&page, "commit_bytes", "alpha", KERNEL, 7);
	text_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_reading_is_shown_by_name),
		cmocka_unit_test(two_sources_are_never_added_up),
		cmocka_unit_test(damage_costs_what_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
