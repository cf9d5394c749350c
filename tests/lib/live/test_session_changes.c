/* SPDX-License-Identifier: MIT */
/*
 * Reports of Microsoft-Windows-Kernel-EventTracing about our sessions: which of them are kept, and
 * which question they answer. The live sessions around it: test_live_changes.c.
 */
#include <etw/mirror.h>

#include "lib/live/session_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

enum { OURS = 100, THEIRS = 200 };

/* repnz/etw-providers-docs, Manifests-Win10-18990/Microsoft-Windows-Kernel-EventTracing.xml */
enum {
	SESSION_STARTED = 10,
	SESSION_STOPPED = 11,
	SESSION_CONFIGURED = 12,
	PROVIDER_DISABLED = 15
};

static const struct etw_guid kernel_event_tracing =
	GUID_PARTS(0xb675ec37, 0xbdb6, 0x4648, 0xbc92, 0xf3fdc74d3ca2);
static const struct etw_guid some_guid =
	GUID_PARTS(0x11111111, 0x2222, 0x3333, 0x4444, 0x555555555555);
static const struct etw_guid other_guid =
	GUID_PARTS(0x22222222, 0x2222, 0x3333, 0x4444, 0x555555555555);

static struct etw_session_changes *changes;
static struct session_change_member *ours;

static int set_up(void **state)
{
	(void)state;
	changes = etw_session_changes_new(NULL);
	assert_non_null(changes);
	ours = session_changes_join(changes, "ours");
	assert_non_null(ours);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	session_changes_leave(ours);
	etw_session_changes_free(changes);
	return 0;
}

/* One report, cut to a size: 0 is whole. Events about sessions have a GUID that is not asked for.
 */
static void observe_cut(const struct etw_guid *from, uint16_t id, uint32_t pid,
			const struct etw_guid *guid, const char *session, const char *process,
			size_t cut)
{
	struct etw_record record = { .provider = from, .id = id, .process_id = pid };
	struct etw_payload payload;
	uint8_t *copy;

	etw_payload_init(&payload, 8);
	etw_payload_guid(&payload, guid);
	if (id != PROVIDER_DISABLED) {
		etw_payload_u32(&payload, 0x100);
	}
	etw_payload_wstring(&payload, session);
	record.payload_size = (uint32_t)(cut > 0 && cut < payload.size ? cut : payload.size);
	copy = exact_copy(payload.bytes, record.payload_size);
	record.payload = copy;
	session_changes_observe(changes, &record, OURS, process);
	free(copy);
	etw_payload_done(&payload);
}

static void observe(uint16_t id, uint32_t pid, const char *session, const char *process)
{
	observe_cut(&kernel_event_tracing, id, pid, &some_guid, session, process, 0);
}

static void assert_who(enum session_change kind, const char *expected)
{
	char who[SESSION_CHANGES_WHO];

	assert_string_equal(session_changes_who(ours, kind, NULL, who), expected);
}

static void assert_nothing_late(void)
{
	char sentence[SESSION_CHANGES_SENTENCE];

	assert_false(session_changes_late(ours, sentence));
}

static void a_report_that_came_before_answers_once(void **state)
{
	(void)state;
	observe(SESSION_STOPPED, THEIRS, "ours", "logman");
	assert_nothing_late(); /* it was not asked for */
	assert_who(CHANGE_STOPPED, "logman (process id 200)");
	assert_who(CHANGE_STOPPED, "another program");
	observe(SESSION_CONFIGURED, 7, "ours", NULL);
	assert_who(CHANGE_SETTINGS, "process 7");
}

static void a_report_that_comes_late_answers_once(void **state)
{
	char sentence[SESSION_CHANGES_SENTENCE];

	(void)state;
	assert_who(CHANGE_STOPPED, "another program");
	assert_nothing_late();
	observe(SESSION_CONFIGURED, THEIRS, "ours", "logman"); /* not what was asked */
	assert_nothing_late();
	observe(SESSION_STOPPED, THEIRS, "ours", "logman");
	assert_true(session_changes_late(ours, sentence));
	assert_string_equal(sentence, "logman (process id 200) stopped it");
	observe(SESSION_STOPPED, THEIRS, "ours", "logman");
	assert_nothing_late();
}

static void the_newest_report_answers(void **state)
{
	(void)state;
	for (uint32_t pid = 1; pid <= 20; pid++) {
		observe(SESSION_STOPPED, pid, "ours", NULL);
	}
	assert_who(CHANGE_STOPPED, "process 20");
	assert_who(CHANGE_STOPPED, "another program"); /* the others were of earlier stops */
}

/* A session that is stopped loses its providers, all at once. */
static void disabled_providers_push_no_stop_out(void **state)
{
	(void)state;
	observe(SESSION_STOPPED, THEIRS, "ours", "logman");
	for (uint32_t i = 0; i < 100; i++) {
		observe(PROVIDER_DISABLED, THEIRS, "ours", "logman");
	}
	assert_who(CHANGE_STOPPED, "logman (process id 200)");
}

static void a_disabled_provider_is_told_by_its_guid(void **state)
{
	char who[SESSION_CHANGES_WHO];

	(void)state;
	observe_cut(&kernel_event_tracing, PROVIDER_DISABLED, 1, &some_guid, "ours", "a", 0);
	observe_cut(&kernel_event_tracing, PROVIDER_DISABLED, 2, &other_guid, "ours", "b", 0);
	assert_string_equal(session_changes_who(ours, CHANGE_DISABLED, &some_guid, who),
			    "a (process id 1)");
	assert_string_equal(session_changes_who(ours, CHANGE_DISABLED, &some_guid, who),
			    "another program");
	assert_string_equal(session_changes_who(ours, CHANGE_DISABLED, &other_guid, who),
			    "b (process id 2)");
}

static void other_records_are_left_alone(void **state)
{
	(void)state;
	observe(SESSION_STARTED, THEIRS, "ours", "logman");
	observe(SESSION_STOPPED, OURS, "ours", "etw_exporter"); /* ourselves */
	observe(SESSION_STOPPED, THEIRS, "our", "logman");
	observe(SESSION_STOPPED, THEIRS, "ours2", "logman");
	observe(SESSION_STOPPED, THEIRS, "", "logman");
	observe_cut(&some_guid, SESSION_STOPPED, THEIRS, &some_guid, "ours", "logman", 0);
	/* Too short at every byte: GUID, mode, name and its end take 16 + 4 + 10. */
	for (size_t size = 1; size < 30; size++) {
		observe_cut(&kernel_event_tracing, SESSION_STOPPED, THEIRS, &some_guid, "ours",
			    "logman", size);
	}
	for (size_t size = 1; size < 26; size++) {
		observe_cut(&kernel_event_tracing, PROVIDER_DISABLED, THEIRS, &some_guid, "ours",
			    "logman", size);
	}
	assert_who(CHANGE_STOPPED, "another program");
	assert_who(CHANGE_DISABLED, "another program");
	assert_nothing_late();
}

static void names_of_sessions_may_be_any_text(void **state)
{
	static const char *const names[] = { "gr\xc3\xb6\xc3\x9f"
					     "e \xe2\x82\xac",
					     "\xf0\x9f\x93\x88 chart" };
	char who[SESSION_CHANGES_WHO];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct session_change_member *member = session_changes_join(changes, names[i]);

		observe(SESSION_STOPPED, THEIRS, names[i], "logman");
		assert_string_equal(session_changes_who(member, CHANGE_STOPPED, NULL, who),
				    "logman (process id 200)");
		session_changes_leave(member);
	}
	assert_who(CHANGE_STOPPED, "another program");
}

/* Names of processes are texts of others: they are cut, and the id is never lost. */
static void a_long_name_is_cut(void **state)
{
	char name[600], who[SESSION_CHANGES_WHO], sentence[SESSION_CHANGES_SENTENCE];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	observe(SESSION_STOPPED, UINT32_MAX, "ours", name);
	assert_non_null(strstr(session_changes_who(ours, CHANGE_STOPPED, NULL, who),
			       "xx (process id 4294967295)"));
	assert_who(CHANGE_STOPPED, "another program");
	observe(SESSION_STOPPED, UINT32_MAX, "ours", name);
	assert_true(session_changes_late(ours, sentence));
	assert_non_null(strstr(sentence, "xx (process id 4294967295) stopped it"));
}

static void without_it_nothing_is_known(void **state)
{
	char who[SESSION_CHANGES_WHO], sentence[SESSION_CHANGES_SENTENCE];
	struct etw_record record = { .provider = &kernel_event_tracing };

	(void)state;
	assert_null(session_changes_join(NULL, "ours"));
	session_changes_observe(NULL, &record, OURS, NULL);
	assert_string_equal(session_changes_who(NULL, CHANGE_STOPPED, NULL, who),
			    "another program");
	assert_false(session_changes_late(NULL, sentence));
	session_changes_leave(NULL);
	etw_session_changes_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_report_that_came_before_answers_once),
		TEST(a_report_that_comes_late_answers_once),
		TEST(the_newest_report_answers),
		TEST(disabled_providers_push_no_stop_out),
		TEST(a_disabled_provider_is_told_by_its_guid),
		TEST(other_records_are_left_alone),
		TEST(names_of_sessions_may_be_any_text),
		TEST(a_long_name_is_cut),
		cmocka_unit_test(without_it_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
