/* SPDX-License-Identifier: MIT */
/*
 * What etwtool prints about the sessions that run and the providers that are registered, against
 * tests/fake_etw.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/session.h>

#include "etwtool/tool.h"
#include "tests/fake_etw/fake_etw.h"

static const GUID alpha = { 0xa1, 0, 0, { 0 } };
static const GUID beta = { 0xbe, 0, 0, { 0 } };

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

/* Two sessions of other programs, one of which has a provider of two processes enabled. */
static void start_sessions(void)
{
	assert_true(fake_etw_other_start(
		"Kernel", EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE,
		ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_DISK_IO | EVENT_TRACE_FLAG_SYSTEMCALL));
	assert_true(fake_etw_other_start("Apps", EVENT_TRACE_REAL_TIME_MODE, 0));
	fake_etw_provider_open(&alpha, NULL, NULL);
	fake_etw_provider_open(&alpha, NULL, NULL);
	fake_etw_provider_open(&beta, NULL, NULL);
	assert_true(fake_etw_other_enable("Apps", &alpha, 4, 0x10));
	fake_etw_tdh_provider(&alpha, "Company-Alpha", true);
	fake_etw_tdh_provider(&beta, "Beta \x1b[31m", false);
}

static void sessions_are_listed_with_what_they_have_enabled(void **state)
{
	struct etw_running_sessions sessions;
	struct fake_etw_session kernel;
	struct etw_error err = { 0 };

	(void)state;
	start_sessions();
	fake_etw_lose_events("Kernel", 7);
	assert_true(etw_running_read(&sessions, &err));
	assert_int_equal(sessions.count, 2);
	assert_true(fake_etw_session("Kernel", &kernel));
	assert_string_equal(sessions.list[0].name, "Kernel");
	assert_string_equal(sessions.list[0].file, "");
	assert_int_equal(sessions.list[0].mode, kernel.mode);
	assert_int_equal(sessions.list[0].kernel_flags, kernel.flags);
	assert_int_equal(sessions.list[0].buffer_size_bytes, kernel.buffer_size_kb * 1024);
	assert_int_equal(sessions.list[0].buffers_min, kernel.minimum_buffers);
	assert_int_equal(sessions.list[0].buffers_max, kernel.maximum_buffers);
	assert_int_equal(sessions.list[0].buffers, kernel.buffers);
	assert_int_equal(sessions.list[0].buffers_free, kernel.free_buffers);
	assert_int_equal(sessions.list[0].events_lost, 7);
	assert_int_equal(sessions.list[0].provider_count, 0);
	assert_string_equal(sessions.list[1].name, "Apps");
	assert_int_equal(sessions.list[1].provider_count, 1); /* once for two processes */
	assert_memory_equal(&sessions.list[1].providers[0].guid, &alpha, sizeof alpha);
	assert_int_equal(sessions.list[1].providers[0].level, 4);
	assert_int_equal(sessions.list[1].providers[0].any, 0x10);
	etw_running_done(&sessions);
}

/* "The session name is limited to 1024 characters" ("StartTraceW function", Microsoft Learn). */
static void a_session_with_the_longest_name_is_listed(void **state)
{
	struct etw_running_sessions sessions;
	struct etw_error err = { 0 };
	char name[1025];

	(void)state;
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_true(fake_etw_other_start(name, EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(fake_etw_other_start("Apps", EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(etw_running_read(&sessions, &err));
	assert_int_equal(sessions.count, 2);
	assert_string_equal(sessions.list[0].name, name);
	assert_string_equal(sessions.list[1].name, "Apps");
	etw_running_done(&sessions);
}

static void all_sessions_of_a_machine_are_listed(void **state)
{
	static const struct {
		struct fake_etw_options machine;
		unsigned sessions;
	} cases[] = {
		{ { .max_loggers = 256 }, 250 },
		{ { .max_loggers = 32 }, 32 },
		{ { .os_build = 15063 }, 64 },
	};

	struct etw_running_sessions sessions;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };
		char name[32];

		fake_etw_reset(&cases[i].machine);
		for (unsigned j = 0; j < cases[i].sessions; j++) {
			snprintf(name, sizeof name, "session %u", j);
			assert_true(fake_etw_other_start(name, EVENT_TRACE_REAL_TIME_MODE, 0));
		}
		assert_true(etw_running_read(&sessions, &err));
		assert_int_equal(sessions.count, cases[i].sessions);
		assert_string_equal(sessions.list[sessions.count - 1].name, name);
		etw_running_done(&sessions);
	}
	/* A Windows that takes the 64 of the page, and no more. */
	fake_etw_reset(&cases[0].machine);
	assert_true(fake_etw_other_start("one", EVENT_TRACE_REAL_TIME_MODE, 0));
	fake_etw_fail("QueryAllTracesW", ERROR_INVALID_PARAMETER, 0);
	assert_true(etw_running_read(&sessions, NULL));
	assert_int_equal(sessions.count, 1);
	etw_running_done(&sessions);
}

static void assert_has(const struct etw_text *text, const char *part)
{
	if (!text->data || !strstr(text->data, part)) {
		fail_msg("'%s' is not in:\n%s", part, text->data ? text->data : "");
	}
}

static void sessions_are_shown_as_a_table_and_as_json(void **state)
{
	struct etw_running_sessions sessions;
	struct etw_registered_providers names;
	struct etw_text table = { 0 }, json = { 0 };

	(void)state;
	start_sessions();
	assert_true(etw_running_read(&sessions, NULL));
	assert_true(etw_registered_read(&names, NULL));
	add_sessions(&table, &sessions, &names, false);
	assert_has(&table,
		   "  Kernel\n  mode real_time system_logger\n  kernel PROCESS DISK_IO 0x80\n");
	assert_has(&table, "  Apps\n  mode real_time\n"
			   "  provider Company-Alpha  level 4  any 0x10  all 0x0\n");
	add_sessions(&json, &sessions, &names, true);
	assert_has(&json, "\"name\": \"Company-Alpha\"");
	assert_has(&json, "\"guid\": \"000000a1-0000-0000-0000-000000000000\"");
	text_free(&table);
	text_free(&json);
	etw_registered_done(&names);
	etw_running_done(&sessions);
}

static void registered_providers_are_listed_by_a_word(void **state)
{
	struct etw_registered_providers providers;
	struct etw_text all = { 0 }, some = { 0 }, json = { 0 };

	(void)state;
	start_sessions();
	assert_true(etw_registered_read(&providers, NULL));
	add_installed(&all, &providers, NULL, false);
	assert_string_equal(all.data,
			    "{000000be-0000-0000-0000-000000000000}  mof       Beta \\u001b[31m\n"
			    "{000000a1-0000-0000-0000-000000000000}  manifest  Company-Alpha\n");
	add_installed(&some, &providers, "aLPHa", false);
	assert_string_equal(some.data,
			    "{000000a1-0000-0000-0000-000000000000}  manifest  Company-Alpha\n");
	add_installed(&json, &providers, "000000BE", true);
	assert_has(&json, "\"kind\": \"mof\"");
	assert_null(strstr(json.data, "Alpha"));
	text_free(&all);
	text_free(&some);
	text_free(&json);
	etw_registered_done(&providers);
}

static void what_windows_refuses_is_one_sentence(void **state)
{
	static const char *const calls[] = { "QueryAllTracesW", "EnumerateTraceGuidsEx" };
	struct etw_running_sessions sessions;
	struct etw_registered_providers providers;
	struct etw_error err = { 0 };

	(void)state;
	start_sessions();
	for (unsigned i = 0; i < 2; i++) {
		fake_etw_fail_always(calls[i], ERROR_ACCESS_DENIED);
		assert_false(etw_running_read(&sessions, &err));
		assert_string_equal(err.text,
				    i ? "providers cannot be listed: access is denied (error 5)" :
					"sessions cannot be listed: access is denied (error 5)");
		fake_etw_fail_never(calls[i]);
	}
	fake_etw_fail_always("TdhEnumerateProviders", ERROR_ACCESS_DENIED);
	assert_false(etw_registered_read(&providers, &err));
	assert_string_equal(err.text, "the registered providers cannot be listed: access is denied "
				      "(error 5)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sessions_are_listed_with_what_they_have_enabled,
						reset, reset),
		cmocka_unit_test_setup_teardown(a_session_with_the_longest_name_is_listed, reset,
						reset),
		cmocka_unit_test_setup_teardown(all_sessions_of_a_machine_are_listed, reset, reset),
		cmocka_unit_test_setup_teardown(sessions_are_shown_as_a_table_and_as_json, reset,
						reset),
		cmocka_unit_test_setup_teardown(registered_providers_are_listed_by_a_word, reset,
						reset),
		cmocka_unit_test_setup_teardown(what_windows_refuses_is_one_sentence, reset, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
