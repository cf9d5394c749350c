/* SPDX-License-Identifier: MIT */
/*
 * Calls of minifilters from a live session to the page: the collector's group masks bring them,
 * with flags and with system providers. Against tests/fake_etw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

static const GUID image_class = {
	0x2cb15d1d, 0x5fc1, 0x11d2, { 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18 }
};

enum { WRITER = 8 };

#define SCANNER UINT64_C(0xfffff80a10000000)

/* Returns how many sessions got it. */
static unsigned emit(const GUID *class, uint8_t opcode, int64_t raw_time,
		     struct etw_payload *payload)
{
	const struct fake_etw_event event = { .provider = *class,
					      .descriptor = { .Opcode = opcode, .Version = 3 },
					      .classic = true,
					      .timed = true,
					      .raw_time = raw_time,
					      .process_id = WRITER,
					      .thread_id = 10 * WRITER,
					      .payload = payload->bytes,
					      .payload_size = payload->size };
	unsigned sessions = fake_etw_emit(&event);

	etw_payload_clear(payload);
	return sessions;
}

static void load_scanner(int64_t raw_time, struct etw_payload *payload)
{
	etw_payload_pointer(payload, SCANNER);
	etw_payload_pointer(payload, 0x1000);
	etw_payload_u32(payload, 0); /* ProcessId: a driver */
	etw_payload_u32(payload, 0);
	etw_payload_u32(payload, 0);
	etw_payload_u32(payload, 0);
	etw_payload_pointer(payload, SCANNER);
	etw_payload_zeros(payload, 16);
	etw_payload_wstring(payload, "\\SystemRoot\\System32\\drivers\\WdFilter.sys");
	assert_int_equal(emit(&image_class, 10, raw_time, payload), 1);
}

/* The fields that all of them have. */
static void add_call(struct etw_payload *payload)
{
	etw_payload_pointer(payload, SCANNER + 0x10);
	etw_payload_pointer(payload, 1); /* FileObject, FileContext, IrpPtr, CallbackDataPtr */
	etw_payload_pointer(payload, 2);
	etw_payload_pointer(payload, 3);
	etw_payload_pointer(payload, 4);
	etw_payload_u32(payload, 0); /* IRP_MJ_CREATE */
}

static void calls_come_by_group_mask(void **state)
{
	static const char *const configs[] = {
		"", "sessions: { etw_exporter: { logger: system_providers } }\n"
	};

	(void)state;
	for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
		struct fake_etw_session session;
		struct etw_payload payload;
		LARGE_INTEGER now, frequency;
		struct side side;

		begin_live(&side, configs[i]);
		fake_etw_add_process(WRITER, 4, "writer.exe");
		open_live(&side);
		assert_true(
			fake_etw_wait_flag("etw_exporter", EVENT_TRACE_FLAG_IMAGE_LOAD, WAIT_MS));
		assert_true(fake_etw_session("etw_exporter", &session));
		assert_int_equal(session.masks[4] & 0x780000, 0x700000);
		QueryPerformanceCounter(&now);
		QueryPerformanceFrequency(&frequency);
		etw_payload_init(&payload, 8);
		load_scanner(now.QuadPart, &payload);
		add_call(&payload); /* its beginning, which no collector needs */
		assert_int_equal(emit(&fake_file_class, 96, now.QuadPart, &payload), 0);
		for (uint8_t opcode = 98; opcode <= 99; opcode++) {
			etw_payload_u64(&payload,
					(uint64_t)(now.QuadPart - 2 * frequency.QuadPart));
			add_call(&payload);
			assert_int_equal(emit(&fake_file_class, opcode, now.QuadPart, &payload), 1);
		}
		add_call(&payload);
		etw_payload_u32(&payload, 0xc0000022);
		assert_int_equal(emit(&fake_file_class, 100, now.QuadPart, &payload), 1);
		etw_payload_done(&payload);
		assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
#define LABELS                                                                                 \
	"{process=\"writer\",provider=\"Windows Kernel\",driver=\"wdfilter.sys\",operation=\"" \
	"create\""
		assert_int_equal(value_of(&side, "\netw_minifilter_seconds_total" LABELS "} "), 4);
		assert_int_equal(value_of(&side, "\netw_minifilter_calls_total" LABELS "} "), 2);
		assert_int_equal(value_of(&side, "\netw_minifilter_failures_total" LABELS
						 ",status=\"access_denied\"} "),
				 1);
		end_live(&side);
	}
}

/* Without the collector the session has none of the groups. */
static void no_collector_no_mask(void **state)
{
	struct fake_etw_session session;
	struct side side;

	(void)state;
	begin_live(&side, "collectors: { minifilter: off }\n");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_true(fake_etw_session("etw_exporter", &session));
	assert_int_equal(session.masks[4] & 0x780000, 0);
	end_live(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_come_by_group_mask),
		cmocka_unit_test(no_collector_no_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
