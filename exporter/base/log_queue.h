/* SPDX-License-Identifier: MIT */
/*
 * Hands log lines to a writer that may be slow, or hang, on a thread of its own.
 *
 * Whoever logs never waits for the writer: beyond LOG_QUEUE_LINES lines that wait, lines are
 * dropped, and a line of the queue's own says how many as soon as the writer goes on.
 */
#ifndef BASE_LOG_QUEUE_H
#define BASE_LOG_QUEUE_H

#include "base/error.h"
#include "base/log.h"

enum { LOG_QUEUE_LINES = 256 };

struct log_queue; /* opaque */

/* write is called by the queue's thread alone. */
struct log_queue *log_queue_open(log_sink *write, void *context, struct error *err);

/* A log_sink for log_to(): queue is the struct log_queue. Any thread. */
void log_queue_add(void *queue, enum log_level level, const char *line, size_t size);

/*
 * Waits until the writer has all lines, and frees the queue. False: it has not within that time;
 * the queue lives on with its thread, for another try or for the end of the program. NULL is fine.
 */
bool log_queue_close(struct log_queue *queue, uint64_t timeout_ns);

#endif
