/* SPDX-License-Identifier: MIT */
/*
 * How often a message is logged, by a clock of the test's own.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"

#define MINUTE UINT64_C(60000000000)

enum { LIMIT = LOG_LINES_A_MINUTE, THREADS = 4, LINES_EACH = 5000 };

static uint64_t now;
static struct os_mutex lock;
static struct etw_text lines; /* without their timestamps; under the lock */
static unsigned line_count;
static uint64_t suppressed_before;

static uint64_t test_clock(void)
{
	return now;
}

static void add_line(void *context, enum log_level level, const char *line, size_t size)
{
	const char *from = strchr(line, ' ') + 1;

	(void)context;
	(void)level;
	os_mutex_lock(&lock);
	text_add(&lines, from, size - (size_t)(from - line));
	text_add_char(&lines, '\n');
	line_count++;
	os_mutex_unlock(&lock);
}

static int set_up(void **state)
{
	struct log_statistics statistics;

	(void)state;
	now = 1000 * MINUTE;
	log_limit_reset();
	log_configure(LOG_INFO, LOG_LOGFMT);
	log_set_clock(test_clock);
	log_to(add_line, NULL);
	text_clear(&lines);
	line_count = 0;
	log_statistics(&statistics);
	suppressed_before = statistics.suppressed;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	log_to(NULL, NULL);
	log_set_clock(NULL);
	text_free(&lines);
	return 0;
}

static uint64_t suppressed(void)
{
	struct log_statistics statistics;

	log_statistics(&statistics);
	return statistics.suppressed - suppressed_before;
}

static void log_times(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		log_warning("Again", log_u64("number", i));
	}
}

static void lines_become(const char *expected)
{
	assert_string_equal(lines.data ? lines.data : "", expected);
	text_clear(&lines);
	line_count = 0;
}

static void a_message_has_its_lines_each_minute(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++, now += MINUTE) {
		log_times(LIMIT);
	}
	assert_int_equal(line_count, 5 * LIMIT);
	assert_int_equal(suppressed(), 0);
	log_report_suppressed(true);
	assert_int_equal(line_count, 5 * LIMIT);
}

static void what_is_beyond_them_is_one_line_when_the_message_comes_again(void **state)
{
	(void)state;
	log_times(LIMIT + 1000);
	assert_int_equal(line_count, LIMIT);
	assert_int_equal(suppressed(), 1000);
	now += MINUTE;
	text_clear(&lines);
	log_times(1);
	lines_become("level=warning msg=\"Again\" suppressed=1000\n"
		     "level=warning msg=\"Again\" number=0\n");
	now += MINUTE;
	log_times(1);
	lines_become("level=warning msg=\"Again\" number=0\n");
}

static void it_is_also_one_line_when_the_minute_ends(void **state)
{
	(void)state;
	log_times(LIMIT + 2);
	text_clear(&lines);
	log_report_suppressed(false);
	lines_become("");
	now += MINUTE;
	log_report_suppressed(false);
	lines_become("level=warning msg=\"Again\" suppressed=2\n");
	log_report_suppressed(false);
	log_report_suppressed(true);
	lines_become("");
	log_times(1);
	lines_become("level=warning msg=\"Again\" number=0\n");
}

static void at_the_end_nothing_is_kept_back(void **state)
{
	(void)state;
	log_times(LIMIT + 3);
	text_clear(&lines);
	log_report_suppressed(true);
	lines_become("level=warning msg=\"Again\" suppressed=3\n");
	log_times(4); /* in the same minute: still too many */
	log_always(LOG_ERROR, "Again", log_text("error", "the last one"));
	lines_become("level=error msg=\"Again\" error=\"the last one\"\n");
	log_report_suppressed(true);
	lines_become("level=warning msg=\"Again\" suppressed=4\n");
}

static void other_messages_and_debug_lines_are_not_touched(void **state)
{
	char again[] = "Again"; /* equal text, another literal */

	(void)state;
	log_configure(LOG_DEBUG, LOG_LOGFMT);
	log_times(LIMIT + 5);
	line_count = 0;
	log_warning("Another");
	assert_int_equal(line_count, 1);
	for (unsigned i = 0; i < 3 * LIMIT; i++) {
		log_debug("Again");
	}
	assert_int_equal(line_count, 1 + 3 * LIMIT);
	log_warning(again);
	assert_int_equal(line_count, 1 + 3 * LIMIT);
	assert_int_equal(suppressed(), 6);
	log_configure(LOG_ERROR, LOG_LOGFMT); /* what the level silences is not suppressed */
	log_times(5);
	assert_int_equal(suppressed(), 6);
}

static void more_messages_than_the_table_has_are_logged(void **state)
{
	static char texts[2 * LOG_MESSAGES_MOST][8];

	(void)state;
	for (unsigned i = 0; i < 2 * LOG_MESSAGES_MOST; i++) {
		snprintf(texts[i], sizeof texts[i], "m%u", i);
		for (unsigned j = 0; j < LIMIT + 1; j++) {
			log_info(texts[i]);
		}
	}
	assert_int_equal(suppressed(), LOG_MESSAGES_MOST);
	assert_int_equal(line_count, 2 * LOG_MESSAGES_MOST * (LIMIT + 1) - LOG_MESSAGES_MOST);
	log_limit_reset(); /* the texts end with this test */
}

static void log_and_look(void *context)
{
	for (unsigned i = 0; i < LINES_EACH; i++) {
		log_warning("Again", log_text("from", context));
		if (i % 100 == 0) {
			log_report_suppressed(true);
		}
	}
}

/* Each line is either written, or in one of the sums. */
static void threads_lose_no_line(void **state)
{
	static const char sum[] = "suppressed=";
	static char name[] = "thread";
	struct os_thread threads[THREADS];
	uint64_t reported = 0;
	unsigned written = 0;

	(void)state;
	for (size_t i = 0; i < THREADS; i++) {
		assert_true(os_thread_start(&threads[i], log_and_look, name, NULL));
	}
	for (size_t i = 0; i < THREADS; i++) {
		os_thread_join(&threads[i]);
	}
	log_report_suppressed(true);
	for (char *at = lines.data; (at = strstr(at, sum)) != NULL; at++) {
		reported += strtoull(at + strlen(sum), NULL, 10);
	}
	for (char *at = lines.data; (at = strstr(at, "from=")) != NULL; at++) {
		written++;
	}
	assert_int_equal(written, LIMIT);
	assert_int_equal(reported, THREADS * LINES_EACH - LIMIT);
	assert_int_equal(suppressed(), reported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_message_has_its_lines_each_minute, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_beyond_them_is_one_line_when_the_message_comes_again, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(it_is_also_one_line_when_the_minute_ends, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(at_the_end_nothing_is_kept_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_messages_and_debug_lines_are_not_touched,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_messages_than_the_table_has_are_logged, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(threads_lose_no_line, set_up, tear_down),
	};

	os_mutex_init(&lock);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
