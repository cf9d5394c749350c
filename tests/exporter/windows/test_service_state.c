/* SPDX-License-Identifier: MIT */
/*
 * What a service reports to the service manager; numbers are those of winsvc.h and winerror.h.
 */
#include "exporter/windows/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STOPPED = 1, START_PENDING = 2, STOP_PENDING = 3, RUNNING = 4 };

static void a_start_that_takes_time_counts_its_steps(void **state)
{
	struct service_state service = { PHASE_NONE, 0 };
	struct service_report report;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		assert_true(service_state_move(&service, PHASE_STARTING, 0, &report));
		assert_int_equal(report.state, START_PENDING);
		assert_int_equal(report.checkpoint, i);
		assert_int_equal(report.accepted, 0);
		assert_true(report.wait_hint_ms >= 10000);
	}
	assert_true(service_state_move(&service, PHASE_SERVING, 0, &report));
	assert_int_equal(report.state, RUNNING);
	assert_int_equal(report.checkpoint, 0);
	assert_int_equal(report.wait_hint_ms, 0);
	/* stop, shutdown, parameter change, preshutdown */
	assert_int_equal(report.accepted, 0x1 | 0x4 | 0x8 | 0x100);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_true(service_state_move(&service, PHASE_STOPPING, 0, &report));
		assert_int_equal(report.state, STOP_PENDING);
		assert_int_equal(report.checkpoint, i);
		assert_int_equal(report.accepted, 0);
	}
	assert_true(service_state_move(&service, PHASE_STOPPED, 0, &report));
	assert_int_equal(report.state, STOPPED);
	assert_int_equal(report.checkpoint, 0);
	assert_int_equal(report.exit_code, 0);
}

/* A provider may take a minute for its state, at the start as at the stop, and the manager waits
 * half of that for a sign of progress. */
static void a_start_and_a_stop_go_on_being_reported_for_a_while(void **state)
{
	struct service_state service = { PHASE_NONE, 0 };
	struct service_report report;

	(void)state;
	assert_false(service_state_unfinished(&service));
	for (enum service_phase phase = PHASE_STARTING; phase <= PHASE_STOPPING; phase++) {
		unsigned reports = 0;

		assert_true(service_state_move(&service, phase, 0, &report));
		while (service_state_unfinished(&service) && reports < 100) {
			assert_true(service_state_move(&service, phase, 0, &report));
			reports++;
		}
		/* every ten seconds, for two minutes */
		assert_int_equal(reports, phase == PHASE_SERVING ? 0 : 12);
	}
	assert_true(service_state_move(&service, PHASE_STOPPED, 0, &report));
	assert_false(service_state_unfinished(&service));
}

static void a_service_that_cannot_run_says_its_own_exit_code(void **state)
{
	struct service_state service = { PHASE_NONE, 0 };
	struct service_report report;

	(void)state;
	assert_true(service_state_move(&service, PHASE_STARTING, 0, &report));
	assert_true(service_state_move(&service, PHASE_STOPPED, 2, &report));
	assert_int_equal(report.state, STOPPED);
	assert_int_equal(report.exit_code, 1066);
	assert_int_equal(report.specific_exit_code, 2);
}

static void nothing_goes_back(void **state)
{
	static const enum service_phase phases[] = { PHASE_STARTING, PHASE_SERVING, PHASE_STOPPING,
						     PHASE_STOPPED };

	(void)state;
	for (unsigned now = 0; now < 4; now++) {
		for (unsigned next = 0; next < 4; next++) {
			struct service_state service = { phases[now], 7 };
			struct service_report report;
			bool again = next == now && now != 1 && now != 3;

			assert_int_equal(service_state_move(&service, phases[next], 0, &report),
					 next > now || again);
			assert_int_equal(service.phase, phases[next > now ? next : now]);
		}
	}
}

static void controls_ask_for_what_they_are_for(void **state)
{
	static const struct {
		uint32_t control;
		enum service_request request;
		const char *reason;
	} cases[] = {
		{ 1, REQUEST_STOP, "service stop" },
		{ 2, REQUEST_UNKNOWN, NULL }, /* pause */
		{ 3, REQUEST_UNKNOWN, NULL }, /* continue */
		{ 4, REQUEST_NOTHING, NULL }, /* interrogate */
		{ 5, REQUEST_STOP, "shutdown" },
		{ 6, REQUEST_RELOAD, NULL },      /* parameter change */
		{ 15, REQUEST_STOP, "shutdown" }, /* preshutdown */
		{ 128, REQUEST_RECORD, NULL }, /* SERVICE_RECORD */
		{ 129, REQUEST_UNKNOWN, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *reason = "old";

		assert_int_equal(service_request_of(cases[i].control, &reason), cases[i].request);
		if (cases[i].reason) {
			assert_string_equal(reason, cases[i].reason);
		} else {
			assert_null(reason);
		}
	}
}

static void count(void *context)
{
	++*(int *)context;
}

static void a_recording_is_requested_only_while_there_is_a_recorder(void **state)
{
	int calls = 0;

	(void)state;
	assert_false(service_record());
	service_on_record(count, &calls);
	assert_true(service_record());
	assert_true(service_record());
	service_on_record(NULL, NULL);
	assert_false(service_record());
	assert_int_equal(calls, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_that_takes_time_counts_its_steps),
		cmocka_unit_test(a_start_and_a_stop_go_on_being_reported_for_a_while),
		cmocka_unit_test(a_service_that_cannot_run_says_its_own_exit_code),
		cmocka_unit_test(nothing_goes_back),
		cmocka_unit_test(controls_ask_for_what_they_are_for),
		cmocka_unit_test(a_recording_is_requested_only_while_there_is_a_recorder),
	};

	return cmocka_run_group_tests_name("service_state", tests, NULL, NULL);
}
