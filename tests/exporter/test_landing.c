/* SPDX-License-Identifier: MIT */
/*
 * What the landing page says about losses: the numbers, and nothing good without a source that
 * runs.
 */
#include "exporter/landing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/builtin.h"
#include "exporter/setup.h"

/* The text without its markup. */
static struct etw_text visible(const struct etw_text *html)
{
	struct etw_text out = { 0 };
	bool tag = false;

	for (size_t i = 0; i < html->size; i++) {
		tag |= html->data[i] == '<';
		if (!tag) {
			text_add_char(&out, html->data[i]);
		}
		tag &= html->data[i] != '>';
	}
	assert_false(out.failed);
	return out;
}

#define GOOD "\xe2\x9c\x93 "
#define BAD  "\xe2\x9a\xa0 "

static void losses_are_reported_with_their_numbers(void **state)
{
	static const struct {
		struct landing_losses losses;
		const char *sentences;
	} cases[] = {
		{ { .live = true, .sources = 1, .up = 1 },
		  GOOD "No event was lost since the exporter started.\n" },
		{ { .sources = 1 },
		  GOOD "No event was lost when the recordings were made, nor in reading them.\n" },
		{ { .live = true, .sources = 2 },
		  BAD "No session runs. No event arrives, so nothing is counted. The log of the "
		      "exporter says why.\n" },
		{ { .live = true, .sources = 2, .up = 1 },
		  GOOD "No event was lost since the exporter started.\n" BAD
		       "Events are missing: 1 session of 2 does not run.\n" },
		{ { .live = true, .sources = 3, .up = 1 },
		  GOOD "No event was lost since the exporter started.\n" BAD
		       "Events are missing: 2 sessions of 3 do not run.\n" },
#define LOW ". The counters are too low by what these would have added.\n"
		{ { .live = true, .sources = 1, .up = 1, .events = 1 },
		  BAD "Lost since the exporter started: 1 event" LOW },
		{ { .live = true, .sources = 1, .events = 5 },
		  BAD "Lost since the exporter started: 5 events" LOW BAD
		      "Events are missing: 1 session of 1 does not run.\n" },
		{ { .sources = 1, .events = 1234567, .buffers = 1, .damaged = 2 },
		  BAD
		  "Lost when the recordings were made or read: 1,234,567 events, 1 buffer with an "
		  "unknown number of events, 2 damaged places of a recording" LOW },
		{ { .live = true, .sources = 1, .up = 1, .buffers = UINT64_MAX },
		  BAD "Lost since the exporter started: 18,446,744,073,709,551,615 buffers with an "
		      "unknown number of events" LOW },
		{ { .live = true, .sources = 1, .up = 1, .damaged = 1001 },
		  BAD "Lost since the exporter started: 1,001 damaged places" LOW },
#undef LOW
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text html = { 0 }, sentences;

		landing_add_losses(&html, &cases[i].losses);
		sentences = visible(&html);
		assert_string_equal(sentences.data, cases[i].sentences);
		text_free(&sentences);
		text_free(&html);
	}
}

static void help_in_backticks_is_code(void **state)
{
	static const char text[] = "collector: mine\nhelp: 'Counts `a<b`, `c` and an odd `d.'\n"
				   "default: on\nmetrics: []\n";
	const struct builtin_file file = { .name = "mine", .text = text, .size = sizeof text - 1 };
	const struct setup_options options = { .collectors = &file, .collector_count = 1 };
	struct setup setup;
	struct etw_text html = { 0 };

	(void)state;
	assert_true(setup_open(&setup, config_default(NULL), &options, NULL));
	landing_add_collectors(&html, setup.rules, "/metrics");
	assert_non_null(html.data);
	assert_non_null(strstr(html.data, "<td>Counts <code>a&lt;b</code>, <code>c</code> and an "
					  "odd `d.\n"));
	assert_non_null(strstr(html.data, "named pipes have the volume <code>pipe</code>, mail slots"));
	text_free(&html);
	setup_close(&setup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_reported_with_their_numbers),
		cmocka_unit_test(help_in_backticks_is_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
