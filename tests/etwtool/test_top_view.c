/* SPDX-License-Identifier: MIT */
/*
 * How etwtool top lays out its frames.
 */
#include "etwtool/top/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "lib/source/event_record.h"

static void values_are_short(void **state)
{
	static const struct {
		double value;
		enum top_unit unit;
		bool rate, exact;
		const char *text;
	} rows[] = {
		{ 0, UNIT_BYTES, false, false, "0" },
		{ 999, UNIT_BYTES, false, false, "999" },
		{ 999.4, UNIT_BYTES, true, false, "999" },
		{ 999.6, UNIT_BYTES, true, false, "1.00k" },
		{ 1000, UNIT_COUNT, false, false, "1.00k" },
		{ 9994, UNIT_COUNT, false, false, "9.99k" },
		{ 9996, UNIT_COUNT, false, false, "10.0k" },
		{ 99960, UNIT_COUNT, false, false, "100k" },
		{ 999499, UNIT_COUNT, false, false, "999k" },
		{ 999500, UNIT_COUNT, false, false, "1.00M" },
		{ 12345678, UNIT_BYTES, false, false, "12.3M" },
		{ 9e18, UNIT_BYTES, false, false, "9.00E" },
		{ 1e300, UNIT_BYTES, false, false, ">999E" },
		{ 0.25, UNIT_COUNT, true, false, "0.2" },
		{ 12345678, UNIT_BYTES, false, true, "12345678" },
		{ 1.5, UNIT_COUNT, true, true, "1.500" },
		{ 0.4, UNIT_SECONDS, true, false, "40.0%" },
		{ 64, UNIT_SECONDS, true, false, "6.40k%" },
		{ 1.25, UNIT_SECONDS, false, true, "1.250s" },
		{ 12.34, UNIT_SECONDS, false, false, "12.3s" },
		{ 123.4, UNIT_SECONDS, false, false, "123s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct etw_text out = { 0 };

		top_add_value(&out, rows[i].value, rows[i].unit, rows[i].rate, rows[i].exact);
		assert_string_equal(out.data, rows[i].text);
		text_free(&out);
	}
}

static void names_are_cut_by_columns(void **state)
{
	static const struct {
		const char *name;
		unsigned columns;
		const char *text;
		unsigned used;
	} rows[] = {
		{ "sqlservr", 20, "sqlservr", 8 },
		{ "sqlservr", 8, "sqlservr", 8 },
		{ "sqlservr", 7, "sqlserv", 7 },
		{ "\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97", 4 }, /* two of two */
		{ "\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2", 2 },
		{ "a\033[2J", 20, "a\\u001b[2J", 10 },
		{ "a\033[2J", 4, "a\\u0", 4 },
		{ "\xff", 4, "\xef\xbf\xbd", 1 },
		{ "x", 0, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct etw_text out = { 0 };

		text_add_string(&out, "");
		assert_int_equal(top_add_cut(&out, rows[i].name, rows[i].columns), rows[i].used);
		assert_string_equal(out.data ? out.data : "", rows[i].text);
		text_free(&out);
	}
}

/* Two pages of two processes, ten seconds apart. */
static void make_frame(struct top_frame *frame)
{
	static const char before[] = "etw_file_written_bytes_total{process=\"idle\"} 7\n"
				     "etw_file_written_bytes_total{process=\"log\"} 1000\n"
				     "etw_file_read_bytes_total{process=\"cat\"} 50\n"
				     "etw_consumer_records_total{outcome=\"counted\"} 100\n"
				     "etw_session_events_lost_total 1\n";
	static const char now[] = "etw_file_written_bytes_total{process=\"idle\"} 7\n"
				  "etw_file_written_bytes_total{process=\"log\"} 3000\n"
				  "etw_file_written_bytes_total{process=\"new\"} 900\n"
				  "etw_file_read_bytes_total{process=\"cat\"} 20\n"
				  "etw_consumer_records_total{outcome=\"counted\"} 350\n"
				  "etw_session_events_lost_total 5\n";

	*frame =
		(struct top_frame){ .has_before = true, .seconds = 10, .time = ETW_RECORD_NO_TIME };
	top_page_read(&frame->before, before, sizeof before - 1);
	top_page_read(&frame->now, now, sizeof now - 1);
}

static void free_frame(struct top_frame *frame)
{
	top_page_done(&frame->now);
	top_page_done(&frame->before);
}

static void assert_frame(const struct top_view *view, const struct top_frame *frame,
			 const char *expected)
{
	struct etw_text out = { 0 };

	top_view_add(view, frame, &out);
	assert_false(out.failed);
	assert_string_equal(out.data, expected);
	text_free(&out);
}

static void rates_are_differences_over_time(void **state)
{
	const struct top_view view = { .name = "a.etl", .columns = 40 };
	struct top_frame frame;

	(void)state;
	make_frame(&frame);
	assert_frame(&view, &frame,
		     "a.etl  per second  events 25/s\n"
		     "lost events 5 (+4)  bad buffers 0\n"
		     " >WRITTEN     READ  FILEOPS  PROCESS\n"
		     "      290      2.0        -  = all of 4\n"
		     "      200        0        -  log\n"
		     "       90        0        -  new\n"
		     "        0      2.0        -  cat\n");
	free_frame(&frame);
}

static void totals_are_those_of_the_page(void **state)
{
	const struct top_view view = {
		.name = "a.etl", .columns = 60, .totals = true, .sort = TOP_READ
	};
	struct top_frame frame;

	(void)state;
	make_frame(&frame);
	assert_frame(&view, &frame,
		     "a.etl  totals  events 350  lost events 5 (+4)  bad buffers 0\n"
		     "  WRITTEN    >READ  FILEOPS      NET      CPU  PROCESS\n"
		     "    3.91k       20        -        -        -  = all of 4\n"
		     "        0       20        -        -        -  cat\n"
		     "        7        0        -        -        -  idle\n"
		     "    3.00k        0        -        -        -  log\n"
		     "      900        0        -        -        -  new\n");
	free_frame(&frame);
}

static void a_frame_without_a_time_before_has_no_rates(void **state)
{
	const struct top_view view = { .name = "a", .columns = 80 };
	struct top_frame frame;

	(void)state;
	make_frame(&frame);
	frame.seconds = 0;
	assert_frame(
		&view, &frame,
		"a  per second  events -  lost events 5 (+4)  bad buffers 0\n"
		" >WRITTEN     READ  FILEOPS      NET      CPU    WAITS     DISK  PROCESS\n"
		"        -        -        -        -        -        -        -  = all of 4\n");
	free_frame(&frame);
}

static void the_column_that_sorts_is_always_there(void **state)
{
	const struct top_view view = {
		.name = "a", .columns = 40, .totals = true, .sort = TOP_EVENTS, .filter = "LO"
	};
	struct top_frame frame;

	(void)state;
	make_frame(&frame);
	assert_frame(&view, &frame,
		     "a  totals  events 350\n"
		     "lost events 5 (+4)  bad buffers 0\n"
		     "  WRITTEN     READ  >EVENTS  PROCESS\n"
		     "    3.91k       20        -  = all of 4\n"
		     "    3.00k        0        -  log\n");
	assert_int_equal(top_view_count(&view, &frame), 1);
	free_frame(&frame);
}

/* The columns of the widest line, without control sequences, and the number of lines. */
static unsigned widest(const char *at, unsigned *lines)
{
	unsigned used = 0, most = 0;

	for (*lines = 1; *at;) {
		uint32_t codepoint;

		if (*at == '\033') {
			at += strcspn(at, "hlHKm") + 1;
			continue;
		}
		at += utf8_decode(at, strlen(at), &codepoint);
		if (codepoint == '\n') {
			++*lines;
		}
		used = codepoint == '\r' ? 0 :
		       codepoint == '\n' ? used :
					   used + utf8_columns(codepoint);
		most = used > most ? used : most;
	}
	return most;
}

static void a_frame_fills_a_terminal_of_any_size(void **state)
{
	struct top_view view = { .name = "\xe6\xbc\xa2\xe5\xad\x97.etl",
				 .terminal = true,
				 .note = "a note that is longer than some terminals are wide" };
	struct top_frame frame;

	(void)state;
	make_frame(&frame);
	for (view.columns = 1; view.columns < 130; view.columns++) {
		for (view.rows = 1; view.rows < 30; view.rows++) {
			for (unsigned way = 0; way < 4; way++) {
				struct etw_text out = { 0 };
				unsigned lines;

				view.help = way == 1;
				view.totals = way == 2;
				top_view_add(&view, way == 3 ? NULL : &frame, &out);
				assert_false(out.failed);
				assert_true(widest(out.data, &lines) <= view.columns);
				assert_int_equal(lines, view.rows);
				text_free(&out);
			}
		}
	}
	free_frame(&frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_short),
		cmocka_unit_test(names_are_cut_by_columns),
		cmocka_unit_test(rates_are_differences_over_time),
		cmocka_unit_test(totals_are_those_of_the_page),
		cmocka_unit_test(a_frame_without_a_time_before_has_no_rates),
		cmocka_unit_test(the_column_that_sorts_is_always_there),
		cmocka_unit_test(a_frame_fills_a_terminal_of_any_size),
	};

	return cmocka_run_group_tests_name("top_view", tests, NULL, NULL);
}
