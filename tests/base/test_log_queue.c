/* SPDX-License-Identifier: MIT */
/*
 * The queue for slow log writers: no thread that logs waits, and lost lines are reported.
 */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "tests/support/patience.h"

#define LONG_NS (WAIT_MS * UINT64_C(1000000))

/* A writer that waits at a gate. */
struct writer {
	struct os_mutex lock;
	struct os_condition changed;
	bool open;
	bool waiting; /* a line is at the gate */
	unsigned lines;
	struct etw_text text; /* what was written, a line each */
	enum log_level last_level;
};

static void write_line(void *context, enum log_level level, const char *line, size_t size)
{
	struct writer *writer = context;

	os_mutex_lock(&writer->lock);
	writer->waiting = true;
	os_condition_wake_all(&writer->changed);
	while (!writer->open) {
		os_condition_wait(&writer->changed, &writer->lock, LONG_NS);
	}
	writer->waiting = false;
	writer->lines++;
	writer->last_level = level;
	text_add(&writer->text, line, size);
	text_add_char(&writer->text, '\n');
	os_mutex_unlock(&writer->lock);
}

static struct log_queue *open_queue(struct writer *writer, bool open)
{
	struct log_queue *queue;

	memset(writer, 0, sizeof *writer);
	os_mutex_init(&writer->lock);
	os_condition_init(&writer->changed);
	writer->open = open;
	queue = log_queue_open(write_line, writer, NULL);
	assert_non_null(queue);
	return queue;
}

static void open_gate(struct writer *writer)
{
	os_mutex_lock(&writer->lock);
	writer->open = true;
	os_condition_wake_all(&writer->changed);
	os_mutex_unlock(&writer->lock);
}

static void wait_at_gate(struct writer *writer)
{
	os_mutex_lock(&writer->lock);
	while (!writer->waiting) {
		os_condition_wait(&writer->changed, &writer->lock, LONG_NS);
	}
	os_mutex_unlock(&writer->lock);
}

static void done_shard(struct writer *writer)
{
	os_condition_done(&writer->changed);
	os_mutex_done(&writer->lock);
	text_free(&writer->text);
}

static void lines_arrive_in_order_before_the_queue_is_closed(void **state)
{
	struct writer writer;
	struct log_queue *queue;

	(void)state;
	queue = open_queue(&writer, true);
	log_queue_add(queue, LOG_INFO, "onexx", 3);
	log_queue_add(queue, LOG_WARNING, "two", 3);
	log_queue_add(queue, LOG_ERROR, "three", 5);
	assert_true(log_queue_close(queue, LONG_NS));
	assert_string_equal(writer.text.data, "one\ntwo\nthree\n");
	assert_int_equal(writer.last_level, LOG_ERROR);
	done_shard(&writer);
}

static void the_log_may_go_through_it(void **state)
{
	struct writer writer;
	struct log_queue *queue;

	(void)state;
	queue = open_queue(&writer, true);
	log_to(log_queue_add, queue);
	log_warning("Replay ended", log_u64("passes", 2));
	log_debug("below the level");
	log_to(NULL, NULL);
	assert_true(log_queue_close(queue, LONG_NS));
	assert_int_equal(writer.lines, 1);
	assert_int_equal(writer.last_level, LOG_WARNING);
	assert_non_null(strstr(writer.text.data, " level=warning msg=\"Replay ended\" passes=2\n"));
	done_shard(&writer);
}

static void a_writer_that_hangs_does_not_block_logging(void **state)
{
	struct writer writer;
	struct log_queue *queue;
	char expected[96];

	(void)state;
	queue = open_queue(&writer, false);
	log_queue_add(queue, LOG_INFO, "at the gate", 11);
	wait_at_gate(&writer);
	for (unsigned i = 0; i < LOG_QUEUE_LINES + 7; i++) {
		log_queue_add(queue, LOG_INFO, "line", 4);
	}
	assert_false(log_queue_close(queue, 1000000));
	assert_int_equal(writer.lines, 0);
	open_gate(&writer);
	assert_true(log_queue_close(queue, LONG_NS));
	assert_int_equal(writer.lines, 1 + LOG_QUEUE_LINES + 1);
	snprintf(expected, sizeof expected,
		 "at the gate\nline\nlevel=warning msg=\"Log lines dropped\" lines=7\nline\n");
	assert_memory_equal(writer.text.data, expected, strlen(expected));
	done_shard(&writer);
}

static void closing_none_is_fine(void **state)
{
	(void)state;
	assert_true(log_queue_close(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_arrive_in_order_before_the_queue_is_closed),
		cmocka_unit_test(the_log_may_go_through_it),
		cmocka_unit_test(a_writer_that_hangs_does_not_block_logging),
		cmocka_unit_test(closing_none_is_fine),
	};

	return cmocka_run_group_tests_name("log_queue", tests, NULL, NULL);
}
