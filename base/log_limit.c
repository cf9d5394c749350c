/* SPDX-License-Identifier: MIT */
/*
 * Counts how often each message was logged in a minute.
 *
 * A session that cannot be restarted, or a client that breaks its connections, can produce the same
 * message forever. So each message is limited to a number of lines per minute. Fields are not
 * compared, because they come from outside and differ in each line. Minutes are counted by the
 * monotonic clock and are the same for all messages, so a burst across the end of a minute can have
 * twice as many lines.
 *
 * The program has a few dozen messages, all of them literals, so a small table is searched in full.
 * A message keeps its entry until the program ends. The minute and the number of lines share one
 * 64-bit word, which is changed only by compare and exchange. So no lock can be held when a thread
 * crashes (the crash handler logs as well), and each suppressed line is reported exactly once.
 */
#include "base/log_limit.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define NS_PER_MINUTE UINT64_C(60000000000)

struct message {
	_Atomic(const char *) text; /* NULL: this entry and all after it are free */
	atomic_int level;           /* level of the last line */
	/* High bits: the number of the minute, from 1; low bits: the number of lines in it. 0: no
	 * minute yet. */
	_Atomic uint64_t state;
};

static struct message messages[LOG_MESSAGES_MOST];

static uint64_t state_of(uint64_t minute, uint32_t lines)
{
	return minute << 32 | lines;
}

static uint64_t minute_of(uint64_t state)
{
	return state >> 32;
}

static uint32_t lines_of(uint64_t state)
{
	return (uint32_t)state;
}

static uint32_t suppressed_of(uint64_t state)
{
	return lines_of(state) > LOG_LINES_A_MINUTE ? lines_of(state) - LOG_LINES_A_MINUTE : 0;
}

static uint64_t minute_at(uint64_t now_ns)
{
	return now_ns / NS_PER_MINUTE + 1;
}

/* Finds or adds the entry of a message; NULL if the table is full. */
static struct message *find(const char *text)
{
	for (size_t i = 0; i < LOG_MESSAGES_MOST; i++) {
		const char *known = NULL;

		/* Relaxed order suffices, because only the pointer to a literal is published. */
		if (atomic_compare_exchange_strong_explicit(&messages[i].text, &known, text,
							    memory_order_relaxed,
							    memory_order_relaxed) ||
		    strcmp(known, text) == 0) {
			return &messages[i];
		}
	}
	return NULL;
}

static bool replace(struct message *message, uint64_t *state, uint64_t next)
{
	return atomic_compare_exchange_weak_explicit(&message->state, state, next,
						     memory_order_relaxed, memory_order_relaxed);
}

bool log_limit_pass(const char *text, int level, uint64_t now_ns, uint64_t *before)
{
	struct message *message = find(text);
	uint64_t minute = minute_at(now_ns), state, next;

	*before = 0;
	if (!message) {
		return true;
	}
	atomic_store_explicit(&message->level, level, memory_order_relaxed);
	state = atomic_load_explicit(&message->state, memory_order_relaxed);
	do {
		/* A thread that was suspended may still have the time of an earlier minute. */
		bool same = minute <= minute_of(state);

		if (same && lines_of(state) == UINT32_MAX) {
			return false;
		}
		next = same ? state + 1 : state_of(minute, 1);
	} while (!replace(message, &state, next));
	if (minute_of(next) != minute_of(state)) {
		*before = suppressed_of(state);
	}
	return suppressed_of(next) == 0;
}

bool log_limit_take(uint64_t now_ns, bool at_end, struct log_suppressed *taken)
{
	uint64_t minute = minute_at(now_ns);

	for (size_t i = 0; i < LOG_MESSAGES_MOST; i++) {
		struct message *message = &messages[i];
		uint64_t state = atomic_load_explicit(&message->state, memory_order_relaxed);
		uint64_t next;

		while (suppressed_of(state) > 0 && (at_end || minute_of(state) < minute)) {
			/* In a minute that has not ended the limit stays reached. */
			next = state_of(minute_of(state), LOG_LINES_A_MINUTE);
			if (replace(message, &state, next)) {
				taken->message =
					atomic_load_explicit(&message->text, memory_order_relaxed);
				taken->level =
					atomic_load_explicit(&message->level, memory_order_relaxed);
				taken->lines = suppressed_of(state);
				return true;
			}
		}
	}
	return false;
}

void log_limit_reset(void)
{
	for (size_t i = 0; i < LOG_MESSAGES_MOST; i++) {
		atomic_store(&messages[i].text, NULL);
		atomic_store(&messages[i].state, 0);
	}
}
