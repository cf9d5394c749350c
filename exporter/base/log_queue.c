/* SPDX-License-Identifier: MIT */
#include "base/log_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/text.h"

struct waiting_line {
	enum log_level level;
	char *text; /* owned */
	size_t size;
};

struct log_queue {
	log_sink *write;
	void *context;
	struct os_thread thread;
	struct os_mutex lock;
	struct os_condition changed;
	/* Guarded by lock. */
	struct waiting_line lines[LOG_QUEUE_LINES]; /* a ring */
	size_t first;
	size_t count;
	uint64_t dropped; /* since the last word about it */
	bool closing;
	bool ended; /* the thread touches nothing any more */
};

static void write_dropped(struct log_queue *queue, uint64_t dropped)
{
	char line[96];
	int size = snprintf(line, sizeof line,
			    "level=warning msg=\"Log lines dropped\" lines=%" PRIu64, dropped);

	queue->write(queue->context, LOG_WARNING, line, (size_t)size);
}

/* The oldest line, and how many were dropped so far; false when the queue ends. */
static bool take(struct log_queue *queue, struct waiting_line *line, uint64_t *dropped)
{
	bool taken;

	os_mutex_lock(&queue->lock);
	while (queue->count == 0 && !queue->closing) {
		os_condition_wait(&queue->changed, &queue->lock, UINT64_MAX);
	}
	taken = queue->count > 0;
	if (taken) {
		*line = queue->lines[queue->first];
		queue->first = (queue->first + 1) % LOG_QUEUE_LINES;
		queue->count--;
	}
	*dropped = queue->dropped;
	queue->dropped = 0;
	queue->ended = !taken;
	os_condition_wake_all(&queue->changed);
	os_mutex_unlock(&queue->lock);
	return taken;
}

static void run(void *context)
{
	struct log_queue *queue = context;
	struct waiting_line line;
	uint64_t dropped;

	while (take(queue, &line, &dropped)) {
		queue->write(queue->context, line.level, line.text, line.size);
		free(line.text);
		if (dropped > 0) {
			write_dropped(queue, dropped);
		}
	}
}

struct log_queue *log_queue_open(log_sink *write, void *context, struct error *err)
{
	struct log_queue *queue = calloc(1, sizeof *queue);

	if (!queue) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the log");
		return NULL;
	}
	queue->write = write;
	queue->context = context;
	os_mutex_init(&queue->lock);
	os_condition_init(&queue->changed);
	if (!os_thread_start(&queue->thread, run, queue, err)) {
		os_condition_done(&queue->changed);
		os_mutex_done(&queue->lock);
		free(queue);
		return NULL;
	}
	return queue;
}

void log_queue_add(void *context, enum log_level level, const char *line, size_t size)
{
	struct log_queue *queue = context;
	char *copy = text_duplicate(line, size);

	os_mutex_lock(&queue->lock);
	if (copy && queue->count < LOG_QUEUE_LINES) {
		size_t last = (queue->first + queue->count++) % LOG_QUEUE_LINES;

		queue->lines[last] =
			(struct waiting_line){ .level = level, .text = copy, .size = size };
		copy = NULL;
		os_condition_wake_all(&queue->changed);
	} else {
		queue->dropped++;
	}
	os_mutex_unlock(&queue->lock);
	free(copy);
}

static bool wait_ended(struct log_queue *queue, uint64_t timeout_ns)
{
	uint64_t start = os_monotonic_ns();
	uint64_t passed = 0;
	bool ended;

	os_mutex_lock(&queue->lock);
	queue->closing = true;
	os_condition_wake_all(&queue->changed);
	while (!queue->ended && passed < timeout_ns) {
		os_condition_wait(&queue->changed, &queue->lock, timeout_ns - passed);
		passed = os_monotonic_ns() - start;
	}
	ended = queue->ended;
	os_mutex_unlock(&queue->lock);
	return ended;
}

bool log_queue_close(struct log_queue *queue, uint64_t timeout_ns)
{
	if (!queue) {
		return true;
	}
	if (!wait_ended(queue, timeout_ns)) {
		return false;
	}
	os_thread_join(&queue->thread);
	os_condition_done(&queue->changed);
	os_mutex_done(&queue->lock);
	free(queue);
	return true;
}
