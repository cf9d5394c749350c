/* SPDX-License-Identifier: MIT */
/*
 * What etwtool top reads from pages of metrics, also from broken ones.
 */
#include "etwtool/top/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "tests/support/exact_copy.h"

static void read_text(struct top_page *page, const char *text, size_t size)
{
	uint8_t *copy = exact_copy(text, size);

	memset(page, 0, sizeof *page);
	top_page_read(page, (const char *)copy, size);
	free(copy);
}

static void read_page(struct top_page *page, const char *text)
{
	read_text(page, text, strlen(text));
}

static double value(const struct top_page *page, const char *process, enum top_column column)
{
	const struct top_process *found = top_page_find(page, process);

	assert_non_null(found);
	return found->values[column];
}

static void samples_of_a_process_are_added(void **state)
{
	struct top_page page;

	(void)state;
	read_page(&page, "# HELP etw_file_written_bytes_total Bytes.\n"
			 "etw_file_written_bytes_total{process=\"a\",volume=\"C:\"} 10\n"
			 "etw_file_written_bytes_total{process=\"a\",volume=\"D:\"} 5\n"
			 "etw_file_written_bytes_total{process=\"b\",volume=\"D:\"} 1e3\n"
			 "etw_network_sent_bytes_total{provider=\"x\",process=\"a\"} 3\n"
			 "etw_network_received_bytes_total{provider=\"x\",process=\"a\"} 4\n"
			 "etw_process_cpu_seconds_total{process=\"a\"} 0.25 1700000000000\n");
	assert_int_equal(page.count, 2);
	assert_true(value(&page, "a", TOP_WRITTEN) == 15);
	assert_true(value(&page, "b", TOP_WRITTEN) == 1000);
	assert_true(value(&page, "a", TOP_NETWORK) == 7);
	assert_true(value(&page, "a", TOP_CPU) == 0.25);
	assert_true(page.present[TOP_NETWORK]);
	assert_false(page.present[TOP_READ]);
	top_page_done(&page);
}

static void facts_of_all_sessions_are_added(void **state)
{
	struct top_page page;

	(void)state;
	read_page(&page, "etw_session_events_lost_total{session=\"a\"} 3\n"
			 "etw_session_events_lost_total{session=\"b\"} 4\n"
			 "etw_session_realtime_buffers_lost_total{session=\"a\"} 1\n"
			 "etw_session_log_buffers_lost_total{session=\"a\"} 2\n"
			 "etw_consumer_records_total{session=\"a\",outcome=\"counted\"} 90\n"
			 "etw_consumer_records_total{session=\"a\",outcome=\"undecodable\"} 9\n"
			 "etw_exporter_build_info 1\n");
	assert_true(page.facts[FACT_EVENTS_LOST] == 7);
	assert_true(page.facts[FACT_BUFFERS_LOST] == 3);
	assert_true(page.facts[FACT_RECORDS] == 99);
	assert_true(page.facts[FACT_UNDECODABLE] == 9);
	assert_true(page.has_fact[FACT_EVENTS_LOST]);
	assert_false(page.has_fact[FACT_BAD_BUFFERS]);
	top_page_done(&page);
}

static void names_are_unescaped(void **state)
{
	struct top_page page;

	(void)state;
	read_page(&page, "etw_events_total{event=\"}\",process=\"a\\\"b\\\\c\\nd}, e\"} 1\n"
			 "etw_events_total{process=\"\"} 2\n");
	assert_true(value(&page, "a\"b\\c\nd}, e", TOP_EVENTS) == 1);
	assert_true(value(&page, "", TOP_EVENTS) == 2);
	top_page_done(&page);
}

static void a_label_is_found_by_its_whole_name(void **state)
{
	struct top_page page;

	(void)state;
	read_page(&page, "etw_events_total{parent_process=\"a\",process_id=\"b\"} 1\n"
			 "etw_events_totals{process=\"c\"} 1\n"
			 "etw_events_total{text=\"process=\\\"d\\\"\",process=\"e\"} 1\n");
	assert_int_equal(page.count, 1);
	assert_non_null(top_page_find(&page, "e"));
	top_page_done(&page);
}

static void what_is_no_sample_is_skipped(void **state)
{
	static const char *const lines[] = {
		"",
		"etw_",
		"etw_events_total",
		"etw_events_total ",
		"etw_events_total{process=\"a\"}",
		"etw_events_total{process=\"a\"}1",
		"etw_events_total{process=\"a\"} ",
		"etw_events_total{process=\"a\"} x",
		"etw_events_total{process=\"a\"} 1x",
		"etw_events_total{process=\"a\"} NaN",
		"etw_events_total{process=\"a\"} +Inf",
		"etw_events_total{process=\"a\"} 1e999",
		"etw_events_total{process=\"a",
		"etw_events_total{process=\"a\\",
		"etw_events_total{process=a} 1",
		"etw_events_total{process} 1",
		"etw_events_total{=} 1",
		"etw_events_total{process= 1",
		"etw_events_total}process=\"a\"{ 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		struct top_page page;

		read_page(&page, lines[i]);
		assert_int_equal(page.count, 0);
		top_page_done(&page);
	}
}

static void every_cut_of_a_page_is_safe(void **state)
{
	static const char text[] = "etw_session_up 1\n"
				   "etw_events_total{a=\"\\\\\",process=\"x\\ny\"} 12 3\n";

	(void)state;
	for (size_t size = 0; size < sizeof text; size++) {
		struct top_page page;

		read_text(&page, text, size);
		assert_true(page.count <= 1);
		top_page_done(&page);
	}
}

static void more_processes_than_the_limit_are_left_out(void **state)
{
	struct etw_text text = { 0 };
	struct top_page page;

	(void)state;
	for (unsigned i = 0; i < TOP_PROCESSES_MOST + 2; i++) {
		text_add_format(&text, "etw_events_total{process=\"%u\"} 1\n", i);
	}
	text_add_string(&text, "etw_events_total{process=\"0\"} 1\n");
	assert_false(text.failed);
	read_text(&page, text.data, text.size);
	assert_int_equal(page.count, TOP_PROCESSES_MOST);
	assert_true(page.full);
	assert_true(value(&page, "0", TOP_EVENTS) == 2);
	top_page_done(&page);
	text_free(&text);
}

static void a_counter_that_has_fallen_began_again(void **state)
{
	(void)state;
	assert_true(top_growth(10, 15) == 5);
	assert_true(top_growth(10, 10) == 0);
	assert_true(top_growth(10, 3) == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_a_process_are_added),
		cmocka_unit_test(facts_of_all_sessions_are_added),
		cmocka_unit_test(names_are_unescaped),
		cmocka_unit_test(a_label_is_found_by_its_whole_name),
		cmocka_unit_test(what_is_no_sample_is_skipped),
		cmocka_unit_test(every_cut_of_a_page_is_safe),
		cmocka_unit_test(more_processes_than_the_limit_are_left_out),
		cmocka_unit_test(a_counter_that_has_fallen_began_again),
	};

	return cmocka_run_group_tests_name("top_page", tests, NULL, NULL);
}
