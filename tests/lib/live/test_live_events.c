/* SPDX-License-Identifier: MIT */
/*
 * Events of other providers than the kernel's, from a live session to the page: what Windows adds
 * to them when it is asked to, classic providers, and processes that a user session names by
 * itself. Against tests/fake_etw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/temporary.h"

#define ENABLED "{11111111-2222-3333-4444-555555555555}"

static const GUID enabled_provider = {
	0x11111111, 0x2222, 0x3333, { 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 }
};
static const GUID kernel_process = {
	0x22fb2cd6, 0x0e7b, 0x422b, { 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16 }
};
static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};

/* As begin_live(), with a collector that needs these kernel events and counts etw_test_total with
 * these labels for the event. */
static void begin_needing(struct side *side, const char *kernel, const char *event,
			  const char *labels, const char *sessions)
{
	static const char path[] = "./live_events.yaml";
	char collector[512], config[512];

	snprintf(collector, sizeof collector,
		 "collector: live_events\nhelp: Test.\ndefault: on\nneeds: { kernel: [%s] }\n"
		 "metrics:\n  - name: etw_test_total\n    type: counter\n    help: Events.\n"
		 "    labels: { %s }\n    events: [ { event: '%s' } ]\n",
		 kernel, labels, event);
	snprintf(config, sizeof config, "collector_files: ['%s']\nsessions: { %s }\n", path,
		 sessions);
	temporary_write(path, collector, strlen(collector));
	begin_live(side, config);
	remove(path);
}

static void begin_counting(struct side *side, const char *event, const char *labels,
			   const char *sessions)
{
	begin_needing(side, "", event, labels, sessions);
}

/* EVENT_ENABLE_PROPERTY_*: the fake adds S-1-5-18, terminal session 1, a start key with the process
 * in its low bits and a stack of two frames. */
static void what_windows_adds_reaches_rules(void **state)
{
	const struct fake_etw_event event = { .provider = enabled_provider,
					      .descriptor = { .Id = 7, .Level = 4 },
					      .process_id = 8 };
	struct side side;

	(void)state;
	begin_counting(&side, ENABLED "/7",
		       "sid: Event.Sid, terminal: Event.TerminalSession, key: "
		       "Event.ProcessStartKey, depth: Event.StackDepth",
		       "etw_exporter: { providers: [{ provider: '" ENABLED
		       "', properties: [sid, session_id, stack, process_start_key] }] }");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_test_total{sid=\"S-1-5-18\",terminal=\"1\",key="
					 "\"281474976710664\",depth=\"2\"} "),
			 1);
	end_live(&side);
}

/* Their events come by default, the ids of the containers by choice. */
static void programs_in_containers_are_counted(void **state)
{
	struct fake_etw_event event = { .provider = enabled_provider,
					.descriptor = { .Id = 7, .Level = 4 },
					.process_id = 8,
					.container = "c0ffee" };
	struct side side;

	(void)state;
	for (int by_choice = 0; by_choice < 2; by_choice++) {
		begin_counting(&side, ENABLED "/7", "container: Event.ContainerId",
			       by_choice ? "etw_exporter: { providers: [{ provider: '" ENABLED
					   "', properties: [container_id] }] }" :
					   "etw_exporter: { providers: ['" ENABLED "'] }");
		open_live(&side);
		assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
		assert_int_equal(fake_etw_emit(&event), 1);
		assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
		assert_int_equal(value_of(&side, by_choice ?
							 "\netw_test_total{container=\"c0ffee\"} " :
							 "\netw_test_total{container=\"_none\"} "),
				 1);
		end_live(&side);
	}
}

/* What was not enabled is not there. */
static void without_a_request_windows_adds_nothing(void **state)
{
	const struct fake_etw_event event = { .provider = enabled_provider,
					      .descriptor = { .Id = 7, .Level = 4 },
					      .process_id = 8 };
	struct side side;

	(void)state;
	begin_counting(&side, ENABLED "/7", "sid: Event.Sid",
		       "etw_exporter: { providers: ['" ENABLED "'] }");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	take_page(&side);
	assert_null(strstr(side.page.data, "S-1-5-18"));
	end_live(&side);
}

/* "EventWriteString function", Microsoft Learn. */
static void a_text_alone_is_a_field(void **state)
{
	static const uint8_t text[] = { 'h', 0, 'i', 0, 0, 0 };
	const struct fake_etw_event event = { .provider = enabled_provider,
					      .descriptor = { .Level = 4 },
					      .flags = EVENT_HEADER_FLAG_STRING_ONLY,
					      .payload = text,
					      .payload_size = sizeof text,
					      .process_id = 8 };
	struct side side;

	(void)state;
	begin_counting(&side, ENABLED "/EventWriteString", "message: Message",
		       "etw_exporter: { providers: ['" ENABLED "'] }");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_test_total{message=\"hi\"} "), 1);
	end_live(&side);
}

static void a_classic_provider_is_counted_by_event_class(void **state)
{
	static const GUID event_class = {
		0xc1a55e50, 0x0001, 0x0002, { 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04 }
	};
	const struct fake_etw_event event = { .provider = event_class,
					      .descriptor = { .Opcode = 10, .Level = 4 },
					      .classic = true,
					      .process_id = 8 };
	struct side side;

	(void)state;
	begin_counting(&side, "{c1a55e50-0001-0002-0003-000000000004}/10", "session: Session",
		       "noise: { logger: user, providers: ['" ENABLED "'] }");
	fake_etw_add_classic(&enabled_provider, &event_class);
	open_live(&side);
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("noise", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_consumer_events_total{session=\"noise\",provider="
					 "\"c1a55e50-0001-0002-0003-000000000004\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_test_total{session=\"noise\"} "), 1);
	end_live(&side);
}

/* Microsoft-Windows-Kernel-Process, version 1: ProcessStart (1) or ProcessRundown (15) of a
 * process. Returns how many sessions got it. */
static unsigned announce_process(uint16_t id, uint32_t process_id, const char *image)
{
	struct fake_etw_event event = { .provider = kernel_process,
					.descriptor = { .Id = id, .Level = 4, .Keyword = 0x10 } };
	struct etw_payload payload;
	unsigned sessions;

	event.descriptor.Version = id == 1;
	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, process_id);
	etw_payload_u64(&payload, 0); /* CreateTime */
	etw_payload_u32(&payload, 4); /* ParentProcessID */
	etw_payload_u32(&payload, 1); /* SessionID */
	etw_payload_u32(&payload, 0); /* Flags */
	etw_payload_wstring(&payload, image);
	event.payload = payload.bytes;
	event.payload_size = payload.size;
	sessions = fake_etw_emit(&event);
	etw_payload_done(&payload);
	return sessions;
}

static void tell_what_runs(void *context, const struct fake_etw_callback *callback)
{
	(void)context;
	if (callback->is_enabled == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		announce_process(15, 12, "\\Device\\HarddiskVolume3\\Windows\\System32\\lsass.exe");
	}
}

static void emit_by(uint32_t process_id)
{
	const struct fake_etw_event event = { .provider = enabled_provider,
					      .descriptor = { .Id = 7, .Level = 4 },
					      .process_id = process_id };

	assert_int_equal(fake_etw_emit(&event), 1);
}

/* The kernel reports the same start, to the session of the kernel events; so many seconds ago. */
static void announce_kernel_start(uint32_t process_id, unsigned seconds)
{
	struct fake_etw_event event = { .provider = process_class,
					.descriptor = { .Opcode = 1, .Version = 4 },
					.classic = true,
					.timed = true,
					.process_id = process_id };
	struct etw_payload payload;
	LARGE_INTEGER now, frequency;

	QueryPerformanceCounter(&now);
	QueryPerformanceFrequency(&frequency);
	event.raw_time = now.QuadPart - seconds * frequency.QuadPart;

	etw_payload_init(&payload, 8);
	etw_payload_pointer(&payload, 0xffff); /* UniqueProcessKey */
	etw_payload_u32(&payload, process_id);
	etw_payload_u32(&payload, 4);     /* ParentId */
	etw_payload_u32(&payload, 1);     /* SessionId */
	etw_payload_u32(&payload, 0);     /* ExitStatus */
	etw_payload_pointer(&payload, 0); /* DirectoryTableBase */
	etw_payload_u32(&payload, 0);     /* Flags */
	etw_payload_user_sid(&payload, NULL);
	etw_payload_astring(&payload, "notepad.exe");
	etw_payload_wstring(&payload, ""); /* CommandLine */
	etw_payload_wstring(&payload, "");
	etw_payload_wstring(&payload, "");
	event.payload = payload.bytes;
	event.payload_size = payload.size;
	assert_int_equal(fake_etw_emit(&event), 1);
	etw_payload_done(&payload);
}

static void a_user_session_names_processes_by_itself(void **state)
{
	struct fake_etw_provider *provider;
	struct side side;

	(void)state;
	begin_counting(&side, ENABLED "/7", "process: Process, session: Session",
		       "noise: { logger: user, providers: ['" ENABLED "'] }");
	provider = fake_etw_provider_open(&kernel_process, tell_what_runs, NULL);
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	emit_by(8);  /* not reported yet */
	emit_by(12); /* it ran when the session asked */
	assert_int_equal(announce_process(1, 8, "\\Device\\HarddiskVolume3\\Windows\\notepad.exe"),
			 1);
	announce_kernel_start(8, 0);
	emit_by(8);
	emit_by(8);
	assert_true(fake_etw_drain("noise", WAIT_MS));
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(
		value_of(&side, "\netw_test_total{process=\"notepad\",session=\"noise\"} "), 2);
	assert_int_equal(value_of(&side, "\netw_test_total{process=\"lsass\",session=\"noise\"} "),
			 1);
	assert_int_equal(
		value_of(&side, "\netw_test_total{process=\"_unknown\",session=\"noise\"} "), 1);
	assert_null(strstr(side.page.data, "etw_test_total{process=\"notepad\",session=\"etw_"));
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"notepad\",provider="
					 "\"Windows Kernel\"} "),
			 1);
	assert_null(strstr(side.page.data, "etw_process_starts_total{process=\"notepad\",provider="
					   "\"Microsoft"));
	assert_int_equal(value_of(&side, "\netw_process_instances{process=\"notepad\",provider="
					 "\"Windows Kernel\"} "),
			 1);
	fake_etw_provider_close(provider);
	end_live(&side);
}

/* It is older than an event that was delivered already. */
static void a_start_that_comes_late_names_what_follows(void **state)
{
	struct side side;

	(void)state;
	begin_counting(&side, ENABLED "/7", "process: Process",
		       "etw_exporter: { providers: ['" ENABLED "'] }");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	emit_by(8);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	announce_kernel_start(8, 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	emit_by(8);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_test_total{process=\"_unknown\"} "), 1);
	assert_int_equal(value_of(&side, "\netw_test_total{process=\"notepad\"} "), 1);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"notepad\",provider="
					 "\"Windows Kernel\"} "),
			 1);
	end_live(&side);
}

/* What Windows has registered of them can be broken; known ones, unknown versions and opcodes. */
static void kernel_classes_are_never_queried(void **state)
{
	static const uint8_t opcodes[] = { 1, 2, 200 };
	static const uint8_t versions[] = { 0, 4, 99 };
	static const uint8_t payload[16];
	struct side side;

	(void)state;
	begin_counting(&side, ENABLED "/7", "process: Process",
		       "etw_exporter: { logger: private, providers: ['" ENABLED "'] }");
	open_live_unwatched(&side); /* canaries are described, and asked for */
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	for (size_t i = 0; i < 9; i++) {
		const struct fake_etw_event event = { .provider = process_class,
						      .descriptor = { .Opcode = opcodes[i / 3],
								      .Version = versions[i % 3] },
						      .classic = true,
						      .payload = payload,
						      .payload_size = sizeof payload };

		fake_etw_emit(&event);
	}
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), 0);
	emit_by(8); /* of others it is asked */
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_true(fake_etw_calls("TdhGetEventInformation") > 0);
	end_live(&side);
}

/* PERF_POOL and PERF_OB_HANDLE: bits of the second and the fifth word. The shipped collectors,
 * which are all on, need three of minifilters besides. */
static void kernel_events_beyond_the_flags_are_those_of_collectors(void **state)
{
	struct fake_etw_session session;
	struct side side;

	(void)state;
	begin_needing(&side, "POOL, DPC, OB_HANDLE", ENABLED "/7", "session: Session",
		      "etw_exporter: { logger: private }");
	open_live(&side);
	assert_true(fake_etw_session("etw_exporter", &session));
	assert_true(session.flags & EVENT_TRACE_FLAG_DPC);
	assert_int_equal(session.masks[1] & 0x40, 0x40);
	assert_int_equal(session.masks[4], 0x40 | 0x700000);
	end_live(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_windows_adds_reaches_rules),
		cmocka_unit_test(programs_in_containers_are_counted),
		cmocka_unit_test(without_a_request_windows_adds_nothing),
		cmocka_unit_test(a_text_alone_is_a_field),
		cmocka_unit_test(a_classic_provider_is_counted_by_event_class),
		cmocka_unit_test(a_user_session_names_processes_by_itself),
		cmocka_unit_test(a_start_that_comes_late_names_what_follows),
		cmocka_unit_test(kernel_classes_are_never_queried),
		cmocka_unit_test(kernel_events_beyond_the_flags_are_those_of_collectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
