/* SPDX-License-Identifier: MIT */
/*
 * File events of Microsoft-Windows-Kernel-File in live sessions, against tests/fake_etw: where no
 * session has kernel events they take the place of these, and beside a session that has them they
 * count nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/mirror.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

enum { CREATE = 12, WRITE = 16, SET_LINK = 29, FILE_IO_WRITE = 68, BYTES = 5000 };

#define KEYWORD_FILEIO UINT64_C(0x20)
#define WRITTEN        "\netw_file_written_bytes_total{process=\"notepad\",provider=\""
#define OURS           "Microsoft-Windows-Kernel-File\",volume=\"C:\"} "

static const GUID kernel_file = {
	0xedd08927, 0x9cc4, 0x4e65, { 0xb9, 0x70, 0xc2, 0x56, 0x0f, 0xb5, 0xc2, 0x89 }
};
static const GUID file_io_class = {
	0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
};

/* Emits an event of process 8, version 1; returns the number of sessions that wanted it. */
static unsigned emit(uint16_t id, struct etw_payload *payload)
{
	const struct fake_etw_event event = {
		.provider = kernel_file,
		.descriptor = { .Id = id, .Version = 1, .Level = 4, .Keyword = KEYWORD_FILEIO },
		.process_id = 8,
		.thread_id = 20,
		.payload = payload->bytes,
		.payload_size = payload->size
	};
	unsigned sessions = fake_etw_emit(&event);

	etw_payload_clear(payload);
	return sessions;
}

/* The program opens a file and writes to it; returns how many sessions wanted the write. */
static unsigned open_and_write(struct etw_payload *payload)
{
	etw_payload_pointer(payload, 0x1000); /* Irp */
	etw_payload_pointer(payload, 0xf00);  /* FileObject */
	etw_payload_u32(payload, 20);
	etw_payload_zeros(payload, 12);
	etw_payload_wstring(payload, "\\Device\\HarddiskVolume3\\a.txt");
	emit(CREATE, payload);
	etw_payload_u64(payload, 0); /* ByteOffset */
	etw_payload_pointer(payload, 0x1000);
	etw_payload_pointer(payload, 0xf00);
	etw_payload_pointer(payload, 0xbee); /* FileKey */
	etw_payload_u32(payload, 20);
	etw_payload_u32(payload, BYTES);
	etw_payload_u32(payload, 0x60a00);
	etw_payload_u32(payload, 0);
	return emit(WRITE, payload);
}

static unsigned emit_kernel_write(void)
{
	static const uint8_t payload[64];
	const struct fake_etw_event event = { .provider = file_io_class,
					      .descriptor = { .Opcode = FILE_IO_WRITE,
							      .Version = 3 },
					      .classic = true,
					      .process_id = 8,
					      .thread_id = 20,
					      .payload = payload,
					      .payload_size = 44 };

	return fake_etw_emit(&event);
}

static void add_machine(void)
{
	fake_etw_add_process(8, 4, "notepad.exe");
	fake_etw_add_thread(20, 8);
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
}

static void without_kernel_events_the_provider_takes_their_place(void **state)
{
	struct fake_etw_session session;
	struct etw_payload payload;
	struct side side;

	(void)state;
	etw_payload_init(&payload, 8);
	add_machine();
	start_live(&side, "kernel_events: off\n");
	assert_true(fake_etw_session("etw_exporter", &session));
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(session.masks[i], 0);
	}
	assert_int_equal(emit_kernel_write(), 0);
	assert_int_equal(open_and_write(&payload), 1);
	/* No collector counts it, so that the filter by id keeps it away. */
	etw_payload_zeros(&payload, 64);
	assert_int_equal(emit(SET_LINK, &payload), 0);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, WRITTEN OURS), BYTES);
	assert_int_equal(value_of(&side, "\netw_consumer_repeated_events_total{session=\""
					 "etw_exporter\"} "),
			 0);
	end_live(&side);
	etw_payload_done(&payload);
}

/* Even before the kernel's first event: the other session has enabled them. */
static void beside_a_session_with_kernel_events_it_counts_nothing(void **state)
{
	struct etw_payload payload;
	struct side side;

	(void)state;
	etw_payload_init(&payload, 8);
	add_machine();
	start_live(&side, "sessions:\n  files: { logger: user, providers: "
			  "['Microsoft-Windows-Kernel-File:4::0x20'] }\n");
	assert_true(fake_etw_wait_consumer("files", WAIT_MS));
	assert_int_equal(open_and_write(&payload), 1);
	assert_true(fake_etw_drain("files", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_consumer_repeated_events_total{session=\""
					 "files\"} "),
			 2);
	take_page(&side);
	assert_null(strstr(side.page.data, WRITTEN "Microsoft-Windows-Kernel-File"));
	end_live(&side);
	etw_payload_done(&payload);
}

/* Kernel events of the session itself: the provider counts nothing once there is one. */
static void the_consumer_of_kernel_events_prefers_them(void **state)
{
	struct etw_payload payload;
	struct side side;

	(void)state;
	etw_payload_init(&payload, 8);
	add_machine();
	start_live(&side, "sessions:\n  etw_exporter: { providers: "
			  "['Microsoft-Windows-Kernel-File:4::0x20'] }\n");
	assert_int_equal(emit_kernel_write(), 1);
	assert_int_equal(open_and_write(&payload), 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_consumer_repeated_events_total{session=\""
					 "etw_exporter\"} "),
			 2);
	take_page(&side);
	assert_null(strstr(side.page.data, WRITTEN "Microsoft-Windows-Kernel-File"));
	end_live(&side);
	etw_payload_done(&payload);
}

/* What the controller of such a session has enabled, no configuration says. */
static void in_a_session_of_another_program_the_first_event_of_the_kernel_decides(void **state)
{
	static const ULONG modes[] = { EVENT_TRACE_REAL_TIME_MODE,
				       EVENT_TRACE_REAL_TIME_MODE |
					       EVENT_TRACE_SYSTEM_LOGGER_MODE };
	static const char theirs[] = "theirs";

	(void)state;
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		bool kernel = i == 1;
		struct etw_payload payload;
		struct side side;

		etw_payload_init(&payload, 8);
		begin_live(&side, "sessions: { theirs: { logger: attach } }\n");
		add_machine();
		assert_true(fake_etw_other_start(theirs, modes[i],
						 kernel ? ETW_KERNEL_FLAG_FILE_IO_INIT : 0));
		assert_true(fake_etw_other_enable(theirs, &kernel_file, 4, KEYWORD_FILEIO));
		open_live(&side);
		assert_true(fake_etw_wait_consumer(theirs, WAIT_MS));
		assert_int_equal(emit_kernel_write(), kernel);
		assert_int_equal(open_and_write(&payload), 1);
		assert_true(fake_etw_drain(theirs, WAIT_MS));
		assert_int_equal(value_of(&side, "\netw_consumer_repeated_events_total{session=\""
						 "theirs\"} "),
				 kernel ? 2 : 0);
		take_page(&side);
		if (kernel) {
			assert_null(
				strstr(side.page.data, WRITTEN "Microsoft-Windows-Kernel-File"));
		} else {
			assert_int_equal(value_of(&side, WRITTEN OURS), BYTES);
		}
		stop_live(&side);
		assert_true(fake_etw_other_stop(theirs));
		end_live(&side);
		etw_payload_done(&payload);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_kernel_events_the_provider_takes_their_place,
				       run_reset_manual),
		cmocka_unit_test_setup(beside_a_session_with_kernel_events_it_counts_nothing,
				       run_reset_manual),
		cmocka_unit_test_setup(the_consumer_of_kernel_events_prefers_them,
				       run_reset_manual),
		cmocka_unit_test(
			in_a_session_of_another_program_the_first_event_of_the_kernel_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
