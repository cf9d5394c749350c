/* SPDX-License-Identifier: MIT */
/*
 * Which providers each live session enables: each once, where the configuration has it, and one for
 * the names of processes in user sessions.
 */
#include "exporter/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "metrics/registry.h"
#include "tests/support/one_collector.h"
#include "tests/support/program.h"

#define NAMES    "Microsoft-Windows-Kernel-Process"
#define DNS      "Microsoft-Windows-DNS-Client"
#define DNS_GUID "'{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}'"
#define COLLECTOR \
	"collector: %c\nhelp: Test.\ndefault: on\nneeds: { providers: [%s%s%s] }\nmetrics: []\n"

struct enabled {
	struct config *config;
	struct registry *registry;
	struct rule_set *rules;
};

/* need: a provider in its short form, or a map; NULL: none. */
static void write_collector(char *text, size_t size, char name, const char *need)
{
	const char *quote = need && need[0] == '{' && need[1] == ' ' ? "" : "'";

	snprintf(text, size, COLLECTOR, name, quote, need ? need : "", quote);
}

/* Two collectors that need something, NULL: none, and sessions. */
static void open_providers(struct enabled *enabled, const char *need_x, const char *need_y,
			   const char *sessions)
{
	char x[500], y[500];
	const char *const texts[3] = { need_x ? x : NULL, need_y ? y : NULL, NULL };
	struct etw_error err = { 0 };

	write_collector(x, sizeof x, 'x', need_x);
	write_collector(y, sizeof y, 'y', need_y);
	enabled->config = config_of(sessions);
	enabled->registry = registry_new(&(struct registry_limits){ 0 }, NULL);
	enabled->rules = three_collectors(texts, enabled->config, enabled->registry, &err);
	assert_string_equal(err.text, "");
}

static void close_providers(struct enabled *enabled)
{
	rule_set_free(enabled->rules);
	registry_free(enabled->registry);
	config_free(enabled->config);
}

/* A session's providers as "name:level:any", with a space between. */
static void assert_session(const struct enabled *enabled, size_t index, const char *expected,
			   bool names_only)
{
	struct live_providers providers;
	struct etw_text text = { 0 };

	assert_true(live_providers_init(&providers, enabled->config, enabled->rules, index, NULL));
	text_add_string(&text, "");
	for (size_t i = 0; i < providers.count; i++) {
		char label[GUID_TEXT_SIZE + 2];

		text_add_format(&text, "%s%s:%u:%llx", i > 0 ? " " : "",
				etw_provider_spec_label(&providers.list[i], label),
				providers.list[i].level, (unsigned long long)providers.list[i].any);
	}
	assert_string_equal(text.data ? text.data : "", expected);
	assert_int_equal(providers.names_only, names_only);
	text_free(&text);
	live_providers_done(&providers);
}

static void what_collectors_need_goes_into_the_first_session(void **state)
{
	struct enabled enabled;

	(void)state;
	open_providers(&enabled, DNS ":4::2", "Other:3::1",
		       "sessions: { noise: { logger: user, providers: ['Third:5::8'] } }\n");
	assert_session(&enabled, 0, DNS ":4:2 Other:3:1", false);
	assert_session(&enabled, 1, "Third:5:8 " NAMES ":4:10", true);
	close_providers(&enabled);
}

/* In a session of another program nothing can be enabled. */
static void beside_an_attached_session_the_next_one_has_what_collectors_need(void **state)
{
	struct enabled enabled;

	(void)state;
	open_providers(&enabled, DNS ":4::2", NULL,
		       "sessions: { noise: { logger: user, providers: ['Third:5::8'] }, theirs: "
		       "{ logger: attach } }\n");
	assert_session(&enabled, 0, "", false);
	assert_session(&enabled, 1, DNS ":4:2 Third:5:8 " NAMES ":4:10", true);
	close_providers(&enabled);
	open_providers(&enabled, DNS ":4::2", NULL, "sessions: { theirs: { logger: attach } }\n");
	assert_session(&enabled, 0, "", false);
	close_providers(&enabled);
}

static void one_provider_that_two_collectors_need_is_enabled_for_both(void **state)
{
	struct enabled enabled;
	struct live_providers providers;

	(void)state;
	open_providers(&enabled, DNS ":2:7:1:3", "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}:4:8:2:6",
		       "sessions: {}\n");
	assert_session(&enabled, 0, DNS ":4:3", false);
	assert_true(live_providers_init(&providers, enabled.config, enabled.rules, 0, NULL));
	assert_int_equal(providers.list[0].all, 2);
	assert_int_equal(providers.list[0].id_count, 2);
	assert_int_equal(providers.list[0].ids[0], 7);
	assert_int_equal(providers.list[0].ids[1], 8);
	live_providers_done(&providers);
	close_providers(&enabled);
}

/* A session has one set of arguments for a provider: that of the first collector that has any. */
static void the_first_arguments_of_collectors_are_passed(void **state)
{
	static const struct {
		const char *x, *y, *arguments;
		size_t size;
	} cases[] = {
		{ "{ provider: '" DNS ":1', arguments: { a: 1 } }", DNS ":4",
		  "a\0"
		  "1",
		  4 },
		{ DNS ":4", "{ provider: '" DNS ":1', arguments: { a: 1, b: 2 } }",
		  "a\0"
		  "1\0"
		  "b\0"
		  "2",
		  8 },
		{ "{ provider: '" DNS ":1', arguments: { a: 1 } }",
		  "{ provider: '" DNS ":4', arguments: { a: 2 } }",
		  "a\0"
		  "1",
		  4 },
		{ DNS ":4", "{ provider: '" DNS ":4' }", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct live_providers providers;
		struct enabled enabled;

		open_providers(&enabled, cases[i].x, cases[i].y, "sessions: {}\n");
		assert_true(
			live_providers_init(&providers, enabled.config, enabled.rules, 0, NULL));
		assert_int_equal(providers.count, 1);
		assert_int_equal(providers.list[0].level, 4);
		assert_int_equal(providers.list[0].arguments_size, cases[i].size);
		if (cases[i].size > 0) {
			assert_memory_equal(providers.list[0].arguments, cases[i].arguments,
					    cases[i].size);
		}
		live_providers_done(&providers);
		close_providers(&enabled);
	}
}

/* A level of 0 and keywords of 0 are all of them, however little the other collector needs. */
static void all_that_one_collector_needs_is_enabled_for_both(void **state)
{
	static const struct {
		const char *x, *y, *both;
	} cases[] = {
		{ DNS ":0::0", DNS ":4::2", DNS ":0:0" }, { DNS ":4::2", DNS ":0::0", DNS ":0:0" },
		{ DNS ":0::1", DNS ":4::2", DNS ":0:3" }, { DNS ":4::2", DNS ":0::1", DNS ":0:3" },
		{ DNS ":3::0", DNS ":4::2", DNS ":4:0" }, { DNS ":4::2", DNS ":3::0", DNS ":4:0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct enabled enabled;

		open_providers(&enabled, cases[i].x, cases[i].y, "sessions: {}\n");
		assert_session(&enabled, 0, cases[i].both, false);
		close_providers(&enabled);
	}
}

/* A filter by id takes 64 of them: what the collectors have in common counts once, and when there
 * are more, every event is delivered. */
static void ids_that_two_collectors_need_count_once(void **state)
{
	static const struct {
		unsigned first, last; /* ids of the second collector; the first needs 1 to 40 */
		size_t ids;           /* of both; 0: every event */
	} cases[] = { { 1, 40, 40 }, { 30, 64, 64 }, { 30, 65, 0 }, { 41, 80, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct enabled enabled;
		struct live_providers providers;
		struct etw_text x = { 0 }, y = { 0 };

		for (unsigned id = 1; id <= 40; id++) {
			text_add_format(&x, "%s%u", id > 1 ? "," : DNS ":4:", id);
		}
		for (unsigned id = cases[i].first; id <= cases[i].last; id++) {
			text_add_format(&y, "%s%u", id > cases[i].first ? "," : DNS ":4:", id);
		}
		open_providers(&enabled, x.data, y.data, "sessions: {}\n");
		assert_true(
			live_providers_init(&providers, enabled.config, enabled.rules, 0, NULL));
		assert_int_equal(providers.count, 1);
		assert_int_equal(providers.list[0].id_count, cases[i].ids);
		live_providers_done(&providers);
		close_providers(&enabled);
		text_free(&x);
		text_free(&y);
	}
}

static void who_needs_every_event_of_a_provider_gets_them(void **state)
{
	struct enabled enabled;
	struct live_providers providers;

	(void)state;
	open_providers(&enabled, DNS ":4:7", DNS ":4", "sessions: {}\n");
	assert_true(live_providers_init(&providers, enabled.config, enabled.rules, 0, NULL));
	assert_int_equal(providers.count, 1);
	assert_int_equal(providers.list[0].id_count, 0);
	live_providers_done(&providers);
	close_providers(&enabled);
}

static void a_provider_is_enabled_where_the_configuration_has_it(void **state)
{
	static const char *const sessions[] = {
		"sessions: { noise: { logger: user, providers: [" DNS ":5::8] } }\n",
		"sessions: { noise: { logger: user, providers: [{ provider: " DNS_GUID
		", any: 8 }] } }\n",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct enabled enabled;

		open_providers(&enabled, DNS ":4::2", NULL, sessions[i]);
		assert_session(&enabled, 0, "", false); /* or its events would count twice */
		assert_session(&enabled, 1,
			       i == 0 ? DNS ":5:8 " NAMES ":4:10" :
					"{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}:5:8 " NAMES ":4:10",
			       true);
		close_providers(&enabled);
	}
}

static void the_configuration_says_how_the_first_session_has_a_provider(void **state)
{
	struct enabled enabled;

	(void)state;
	open_providers(&enabled, DNS ":4::2", NULL,
		       "sessions: { etw_exporter: { providers: [" DNS ":3::8] } }\n");
	assert_session(&enabled, 0, DNS ":3:8", false);
	close_providers(&enabled);
}

static void names_of_processes_are_enabled_unless_they_are_configured(void **state)
{
	struct enabled enabled;

	(void)state;
	open_providers(&enabled, NULL, NULL,
		       "sessions: { a: { logger: user, providers: "
		       "['{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}:5::0x50'] } }\n");
	assert_session(&enabled, 1, "{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}:5:50", false);
	close_providers(&enabled);
}

/* Where no session has kernel events, the first user session gets what collectors need. */
static void without_kernel_events_their_substitutes_are_enabled(void **state)
{
#define SUBSTITUTE                                                                              \
	"collector: x\nhelp: Test.\ndefault: on\nneeds: { kernel: [FILE_IO], providers: ['" DNS \
	":3::1'], without_kernel: ['Other:4::0x30'] }\nmetrics: []\n"
	static const struct {
		const char *config, *expected[2];
		bool names_only;
	} cases[] = {
		{ "sessions: { a: { logger: user, providers: ['Third:5::8'] } }\n",
		  { DNS ":3:1", "Third:5:8 " NAMES ":4:10" },
		  false },
		{ "kernel_events: off\n", { DNS ":3:1 Other:4:30 " NAMES ":4:10", NULL }, true },
		{ "kernel_events: off\nsessions: { a: { logger: user, providers: ['Third:5::8'] }, "
		  "b: { logger: user, providers: ['Fourth:5::8'] } }\n",
		  { DNS ":3:1 Other:4:30 Third:5:8 " NAMES ":4:10", "Fourth:5:8 " NAMES ":4:10" },
		  true },
		/* The configuration says where and how a substitute is enabled. */
		{ "kernel_events: off\nsessions: { a: { logger: user, providers: ['Third:5::8'] }, "
		  "b: { logger: user, providers: ['Other:5::8'] } }\n",
		  { DNS ":3:1 Third:5:8 " NAMES ":4:10", "Other:5:8 " NAMES ":4:10" },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *const texts[3] = { SUBSTITUTE, NULL, NULL };
		struct enabled enabled = { .config = config_of(cases[i].config) };
		struct etw_error err = { 0 };

		enabled.registry = registry_new(&(struct registry_limits){ 0 }, NULL);
		enabled.rules = three_collectors(texts, enabled.config, enabled.registry, &err);
		assert_string_equal(err.text, "");
		assert_session(&enabled, 0, cases[i].expected[0], cases[i].names_only);
		if (cases[i].expected[1]) {
			assert_session(&enabled, 1, cases[i].expected[1], true);
		} else {
			assert_int_equal(enabled.config->session_count, 1);
		}
		close_providers(&enabled);
	}
}

/* A collector that counts the events of the names' provider gets these, and the session gets the
 * names of processes that run already, by the one entry. */
static void a_need_for_the_provider_of_names_is_enabled_with_the_names(void **state)
{
	static const char *const texts[3] = {
		"collector: x\nhelp: Test.\ndefault: on\nneeds: { kernel: [THREAD], without_kernel: "
		"['" NAMES ":4:3:0x20'] }\nmetrics: []\n",
		NULL, NULL
	};
	struct enabled enabled = { .config = config_of("kernel_events: off\n") };
	struct live_providers providers;
	struct etw_error err = { 0 };

	(void)state;
	enabled.registry = registry_new(&(struct registry_limits){ 0 }, NULL);
	enabled.rules = three_collectors(texts, enabled.config, enabled.registry, &err);
	assert_string_equal(err.text, "");
	assert_session(&enabled, 0, NAMES ":4:30", false);
	assert_true(live_providers_init(&providers, enabled.config, enabled.rules, 0, NULL));
	assert_int_equal(providers.list[0].capture_at_start, 0x10);
	assert_int_equal(providers.list[0].id_count, 4); /* 3, and 1, 2, 15 of names */
	live_providers_done(&providers);
	close_providers(&enabled);
}

/* However little of that provider a collector needs, its names are events of level 4, with keyword
 * 0x10, and have three ids. */
static void no_need_for_the_provider_of_names_leaves_them_out(void **state)
{
	static const struct {
		unsigned level, ids; /* of the need; the ids are 20, 21, … */
		const char *rest;
		const char *expected;
		unsigned all, expected_ids;
	} cases[] = {
		{ 2, 1, ":0x20", NAMES ":4:30", 0, 4 },
		{ 5, 1, ":0x20", NAMES ":5:30", 0, 4 },
		{ 0, 1, ":0", NAMES ":0:0", 0, 4 },
		{ 4, 1, ":0x30:0x20", NAMES ":4:30", 0, 4 },
		{ 4, 1, ":0x30:0x10", NAMES ":4:30", 0x10, 4 },
		{ 4, 61, ":0x20", NAMES ":4:30", 0, 64 },
		{ 4, 62, ":0x20", NAMES ":4:30", 0, 0 },
		{ 4, 64, ":0x20", NAMES ":4:30", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct enabled enabled;
		struct live_providers providers;
		struct etw_text need = { 0 };

		text_add_format(&need, NAMES ":%u:20", cases[i].level);
		for (unsigned id = 1; id < cases[i].ids; id++) {
			text_add_format(&need, ",%u", 20 + id);
		}
		text_add_string(&need, cases[i].rest);
		open_providers(&enabled, need.data, NULL, "kernel_events: off\n");
		assert_session(&enabled, 0, cases[i].expected, false);
		assert_true(
			live_providers_init(&providers, enabled.config, enabled.rules, 0, NULL));
		assert_int_equal(providers.list[0].capture_at_start, 0x10);
		assert_int_equal(providers.list[0].all, cases[i].all);
		assert_int_equal(providers.list[0].id_count, cases[i].expected_ids);
		live_providers_done(&providers);
		close_providers(&enabled);
		text_free(&need);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_collectors_need_goes_into_the_first_session),
		cmocka_unit_test(beside_an_attached_session_the_next_one_has_what_collectors_need),
		cmocka_unit_test(one_provider_that_two_collectors_need_is_enabled_for_both),
		cmocka_unit_test(the_first_arguments_of_collectors_are_passed),
		cmocka_unit_test(all_that_one_collector_needs_is_enabled_for_both),
		cmocka_unit_test(ids_that_two_collectors_need_count_once),
		cmocka_unit_test(who_needs_every_event_of_a_provider_gets_them),
		cmocka_unit_test(a_provider_is_enabled_where_the_configuration_has_it),
		cmocka_unit_test(the_configuration_says_how_the_first_session_has_a_provider),
		cmocka_unit_test(names_of_processes_are_enabled_unless_they_are_configured),
		cmocka_unit_test(without_kernel_events_their_substitutes_are_enabled),
		cmocka_unit_test(a_need_for_the_provider_of_names_is_enabled_with_the_names),
		cmocka_unit_test(no_need_for_the_provider_of_names_leaves_them_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
