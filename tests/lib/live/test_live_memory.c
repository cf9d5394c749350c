/* SPDX-License-Identifier: MIT */
/*
 * The memory of processes in live sessions, against tests/fake_etw: the system's list of processes
 * is read once for each scrape at most, by one session, and not where events list it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

enum { NOTEPAD = 8, NOTEPAD_TOO = 12 };

#define OF(family, provider) \
	"\netw_process_" family "{process=\"notepad\",provider=\"" provider "\"} "
#define KERNEL "Windows Kernel"
#define OTHER  "Microsoft-Windows-Kernel-Memory"

static const GUID kernel_memory = {
	0xd1d93ef7, 0xe1f2, 0x4f45, { 0x99, 0x43, 0x03, 0xd2, 0x45, 0xfe, 0x6c, 0x00 }
};

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

/* Under Wine the function is found by name in the real ntdll.dll, so the list is not the fake's. */
static void need_list_of_fake(void)
{
#ifdef _WIN32
	skip();
#endif
}

static void add_machine(void)
{
	fake_etw_add_process(NOTEPAD, 4, "notepad.exe");
	fake_etw_add_process(NOTEPAD_TOO, 4, "notepad.exe");
	fake_etw_set_memory(NOTEPAD, 5000, 3000, 9000, 70);
	fake_etw_set_memory(NOTEPAD_TOO, 500, 300, 900, 7);
}

/* An event between two of which the consumer takes what was read. */
static void emit_something(void)
{
	static const uint8_t payload[4];

	fake_etw_emit(&(struct fake_etw_event){ .provider = process_class,
						.descriptor = { .Opcode = 39, .Version = 2 },
						.classic = true,
						.payload = payload,
						.payload_size = sizeof payload });
}

/* Emits the event of Microsoft-Windows-Kernel-Memory: notepad has this many pages. */
static void emit_reading(uint64_t pages)
{
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, 1);
	etw_payload_u32(&payload, NOTEPAD);
	etw_payload_u64(&payload, pages);
	etw_payload_zeros(&payload, 7 * 8);
	assert_int_equal(
		fake_etw_emit(&(struct fake_etw_event){
			.provider = kernel_memory,
			.descriptor = { .Id = 2, .Version = 2, .Level = 4, .Keyword = 0x40 },
			.payload = payload.bytes,
			.payload_size = payload.size }),
		1);
	etw_payload_done(&payload);
}

/* Waits until a page shows the value; each look is a scrape. */
static void wait_for(struct side *side, const char *line, uint64_t value)
{
	uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	uint64_t now = 0;

	do {
		const char *at;

		emit_something();
		Sleep(2);
		take_page(side);
		at = strstr(side->page.data, line);
		now = at ? strtoull(at + strlen(line), NULL, 10) : UINT64_MAX;
	} while (now != value && os_monotonic_ns() < until);
	assert_int_equal(now, value);
}

static void the_list_is_shown_by_name_without_an_event(void **state)
{
	static const char *const configs[] = {
		"{}\n", "kernel_events: off\n",
		"sessions: { a: { logger: user, providers: ['" SOME_PROVIDER "'] } }\n"
	};

	(void)state;
	need_list_of_fake();
	for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
		struct side side;

		add_machine();
		start_live(&side, configs[i]);
		wait_for(&side, OF("working_set_bytes", KERNEL), 5500);
		wait_for(&side, OF("private_working_set_bytes", KERNEL), 3300);
		wait_for(&side, OF("commit_bytes", KERNEL), 9900);
		wait_for(&side, OF("handles", KERNEL), 77);
		fake_etw_set_memory(NOTEPAD, 0, 0, 0, 0);
		wait_for(&side, OF("commit_bytes", KERNEL), 900);
		end_live(&side);
		fake_etw_reset(NULL);
	}
}

/* The first reading needs no scrape, so that the first page has values; the next ones do. */
static void it_is_read_once_for_a_scrape_at_most(void **state)
{
	struct side side;
	unsigned before;

	(void)state;
	need_list_of_fake();
	add_machine();
	start_live(&side, "{}\n");
	WAIT_UNTIL(fake_etw_calls("NtQuerySystemInformation") == 1);
	before = fake_etw_calls("GetLogicalDrives");
	WAIT_UNTIL(fake_etw_calls("GetLogicalDrives") > before + 3); /* periods go by */
	assert_int_equal(fake_etw_calls("NtQuerySystemInformation"), 1);
	take_page(&side);
	WAIT_UNTIL(fake_etw_calls("NtQuerySystemInformation") == 2);
	before = fake_etw_calls("GetLogicalDrives");
	WAIT_UNTIL(fake_etw_calls("GetLogicalDrives") > before + 3);
	assert_int_equal(fake_etw_calls("NtQuerySystemInformation"), 2);
	end_live(&side);
}

static void events_take_its_place_and_give_it_back(void **state)
{
	struct side side;

	(void)state;
	need_list_of_fake();
	add_machine();
	start_live(&side, "sessions: { etw_exporter: { providers: ['" OTHER ":4::0x40'] } }\n");
	wait_for(&side, OF("working_set_bytes", KERNEL), 5500);
	emit_reading(3);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, OF("working_set_bytes", OTHER)), 3 * 4096);
	assert_int_equal(value_of(&side, OF("working_set_bytes", KERNEL)), 0);
	/* No further event: what the list says is true again. */
	wait_for(&side, OF("working_set_bytes", KERNEL), 5500);
	assert_int_equal(value_of(&side, OF("working_set_bytes", OTHER)), 0);
	end_live(&side);
}

static void off_is_off(void **state)
{
	struct side side;

	(void)state;
	need_list_of_fake();
	add_machine();
	start_live(&side, "collectors: { process_memory: off }\n");
	emit_something();
	WAIT_UNTIL(fake_etw_calls("GetLogicalDrives") > 4);
	take_page(&side);
	assert_null(strstr(side.page.data, "etw_process_working_set_bytes"));
	assert_int_equal(fake_etw_calls("NtQuerySystemInformation"), 0);
	end_live(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_list_is_shown_by_name_without_an_event, reset),
		cmocka_unit_test_setup(it_is_read_once_for_a_scrape_at_most, reset),
		cmocka_unit_test_setup(events_take_its_place_and_give_it_back, reset),
		cmocka_unit_test_setup(off_is_off, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
