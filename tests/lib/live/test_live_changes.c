/* SPDX-License-Identifier: MIT */
/*
 * Which program stopped or changed a live session: what Windows reports, when, and in which session
 * (rows P21 and P21a of tests/fake_etw/BEHAVIOUR.md).
 */
#include <etw/kernel.h>

#include "lib/live/session_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

#define THEY "process 4242" /* the fake's other program; its name is the sink's to know */

static struct etw_session_changes *changes;

/* One session, or a second one that reports what happens to the first. */
static void start_sessions(struct run *stopped, struct run *other)
{
	changes = etw_session_changes_new(NULL);
	assert_non_null(changes);
	stopped->options.changes = changes;
	if (other) {
		run_begin(other);
		other->options.name = "other";
		other->options.logger = ETW_LIVE_USER;
		other->options.changes = changes;
		run_start_and_wait(other, &other->options);
	}
	run_start_and_wait(stopped, &stopped->options);
}

static void end_sessions(struct run *stopped, struct run *other)
{
	run_stop(stopped);
	if (other) {
		run_stop(other);
		etw_source_close(other->source);
		other->source = NULL;
	}
	run_end(stopped);
	if (other) {
		run_end(other);
	}
	etw_session_changes_free(changes);
}

/* The first sentence, as long as the event has not been reported: empty. */
static void assert_sentence(struct run *run, enum etw_session_event event, const char *expected)
{
	assert_true(run_wait_session_event(run, event));
	os_mutex_lock(&run->lock);
	assert_string_equal(run_sentence(run, event), expected);
	os_mutex_unlock(&run->lock);
}

static void another_session_reports_the_stop(void **state)
{
	struct run *run = *state;
	struct run other;

	start_sessions(run, &other);
	assert_true(fake_etw_other_stop("etw_test"));
	/* The stop is noticed at once; the report waits in a buffer of the other session. */
	assert_sentence(run, ETW_SESSION_LOST, "another program stopped it");
	fake_etw_flush("other");
	assert_sentence(run, ETW_SESSION_EXPLAINED, THEY " stopped it");
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	end_sessions(run, &other);
	assert_string_equal(run_sentence(&other, ETW_SESSION_EXPLAINED), "");
	assert_int_equal(run->restarts, 1);
}

/* The flags of the session change, and the watcher sees it only when the report has arrived. */
static void change_flags_unseen(struct run *changed, struct run *reporter)
{
	fake_etw_fail_always("ControlTraceW", ERROR_NO_SYSTEM_RESOURCES); /* what it looks with */
	assert_true(fake_etw_other_set_flags(changed->options.name, ETW_KERNEL_FLAG_PROCESS));
	assert_true(fake_etw_other_set_flags(changed->options.name, ETW_KERNEL_FLAG_PROCESS));
	fake_etw_flush(reporter->options.name);
	/* When the second report is delivered, the first has been read. */
	assert_true(run_wait(reporter, &reporter->events, 2));
	fake_etw_fail_never("ControlTraceW");
	assert_sentence(changed, ETW_SESSION_RESTORED, THEY " changed its kernel flags: restored");
}

static void a_report_that_came_first_is_in_the_line(void **state)
{
	struct run *run = *state;
	struct run other;

	start_sessions(run, &other);
	WAIT_UNTIL(fake_etw_calls("TraceQueryInformation") > 0); /* the masks are known */
	change_flags_unseen(run, &other);
	end_sessions(run, &other);
	assert_string_equal(run_sentence(run, ETW_SESSION_EXPLAINED), "");
}

static void the_last_events_of_a_session_may_report_its_stop(void **state)
{
	static const struct fake_etw_options machine = { .own_stop_is_reported = true };
	struct run *run = *state;

	fake_etw_reset(&machine);
	start_sessions(run, NULL);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_sentence(run, ETW_SESSION_LOST, THEY " stopped it");
	end_sessions(run, NULL);
	assert_string_equal(run_sentence(run, ETW_SESSION_EXPLAINED), "");
}

static void alone_a_session_does_not_know_who_stopped_it(void **state)
{
	struct run *run = *state;

	start_sessions(run, NULL);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_sentence(run, ETW_SESSION_LOST, "another program stopped it");
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	assert_true(fake_etw_other_steal("etw_test"));
	WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_STOLEN] == 1);
	end_sessions(run, NULL);
	assert_string_equal(run_sentence(run, ETW_SESSION_EXPLAINED), "");
}

static void a_consumer_that_does_not_notice_the_end_is_ended(void **state)
{
	struct run *run = *state;

	fake_etw_otherwise("C9a");
	start_sessions(run, NULL);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	end_sessions(run, NULL);
	assert_int_equal(run->restarts, 1);
}

static void a_session_reports_who_changed_it(void **state)
{
	struct run *run = *state;

	start_sessions(run, NULL);
	WAIT_UNTIL(fake_etw_calls("TraceQueryInformation") > 0);
	change_flags_unseen(run, run);
	end_sessions(run, NULL);
}

static void who_disabled_a_provider_is_reported(void **state)
{
	struct fake_etw_provider *registered = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	start_sessions(run, NULL);
	assert_true(fake_etw_other_disable("etw_test", &some_provider));
	fake_etw_flush("etw_test");
	assert_true(run_wait_session_event(run, ETW_SESSION_RESTORED));
	os_mutex_lock(&run->lock);
	assert_non_null(strstr(run_sentence(run, ETW_SESSION_RESTORED),
			       "disabled provider " SOME_PROVIDER ": enabled again"));
	os_mutex_unlock(&run->lock);
	if (!strstr(run_sentence(run, ETW_SESSION_RESTORED), THEY)) {
		assert_sentence(run, ETW_SESSION_EXPLAINED, THEY " disabled a provider in it");
	}
	fake_etw_provider_close(registered);
	end_sessions(run, NULL);
	etw_provider_spec_done(&spec);
}

/* What the exporter does itself is not reported as the act of a stranger. */
static void our_own_changes_are_no_news(void **state)
{
	struct run *run = *state;
	struct run other;

	start_sessions(run, &other);
	fake_etw_flush(NULL);
	end_sessions(run, &other);
	assert_string_equal(run_sentence(run, ETW_SESSION_LOST), "");
	assert_string_equal(run_sentence(run, ETW_SESSION_EXPLAINED), "");
	assert_string_equal(run_sentence(&other, ETW_SESSION_EXPLAINED), "");
	/* Nor do its own stop and its own providers come as events. */
	assert_int_equal(run->events, 0);
}

static void without_the_provider_a_session_works(void **state)
{
	struct run *run = *state;

	changes = etw_session_changes_new(NULL);
	assert_non_null(changes);
	run->options.changes = changes;
	fake_etw_fail_always("EnableTraceEx2", ERROR_NO_SYSTEM_RESOURCES);
	run_start_and_wait(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	fake_etw_fail_never("EnableTraceEx2");
	assert_true(fake_etw_other_stop("etw_test"));
	assert_sentence(run, ETW_SESSION_LOST, "another program stopped it");
	run_stop(run);
	run_end(run);
	etw_session_changes_free(changes);
}

static unsigned reporters(const char *const names[3])
{
	unsigned count = 0;

	for (int i = 0; i < 3; i++) {
		struct fake_etw_session session;

		count += fake_etw_session(names[i], &session) && session.providers > 0;
	}
	return count;
}

/* Windows lets eight sessions enable a provider. One session reports for the other ones, and
 * another one for that. */
static void two_sessions_report_for_all(void **state)
{
	static const char *const names[3] = { "first", "second", "third" };
	struct run runs[3];

	(void)state;
	changes = etw_session_changes_new(NULL);
	assert_non_null(changes);
	for (int i = 0; i < 3; i++) {
		run_begin(&runs[i]);
		runs[i].options.name = names[i];
		runs[i].options.changes = changes;
		run_start_and_wait(&runs[i], &runs[i].options);
	}
	assert_int_equal(reporters(names), 2);
	/* When one of the two is closed, the third takes its part. */
	run_stop(&runs[0]);
	etw_source_close(runs[0].source);
	runs[0].source = NULL;
	WAIT_UNTIL(reporters(names) == 2);
	for (int i = 1; i < 3; i++) {
		run_stop(&runs[i]);
		etw_source_close(runs[i].source);
		runs[i].source = NULL;
	}
	for (int i = 0; i < 3; i++) {
		run_end(&runs[i]);
	}
	etw_session_changes_free(changes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(another_session_reports_the_stop, run_set_up_manual),
		cmocka_unit_test_setup(a_report_that_came_first_is_in_the_line, run_set_up_manual),
		cmocka_unit_test_setup(the_last_events_of_a_session_may_report_its_stop,
				       run_set_up),
		cmocka_unit_test_setup(alone_a_session_does_not_know_who_stopped_it, run_set_up),
		cmocka_unit_test_setup(a_consumer_that_does_not_notice_the_end_is_ended,
				       run_set_up),
		cmocka_unit_test_setup(a_session_reports_who_changed_it, run_set_up_manual),
		cmocka_unit_test_setup(who_disabled_a_provider_is_reported, run_set_up_manual),
		cmocka_unit_test_setup(our_own_changes_are_no_news, run_set_up_manual),
		cmocka_unit_test_setup(without_the_provider_a_session_works, run_set_up),
		cmocka_unit_test_setup(two_sessions_report_for_all, run_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
