/* SPDX-License-Identifier: MIT */
/*
 * Durations of requests and of the scheduler.
 *
 * ETW reports the start and the end of an operation as two events. The table of starts is a
 * set-associative cache: the hash of the key selects a set of four entries, and one of them is
 * replaced. It needs no list of entries by age and no growing memory, and a flood of starts
 * without ends cannot make it slow. An IRP identifies an I/O request, a thread id a thread that
 * became ready.
 *
 * The time that a thread ran needs no table of starts. Each processor runs one thread, so it is
 * enough to remember the thread that was switched in last and the time. If the next switch names
 * another old thread, a switch event was lost, and the duration is unknown.
 *
 * A live session may deliver the record of one processor after newer ones of another. So a start is
 * never paired with an end before it. A start that comes after its end must not wait for the next
 * end of its key. This can be detected for threads: a thread that is switched out was ready before
 * it was switched in, so a start that still waits with an earlier time is dropped.
 */
#include "exporter/track/durations.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

/* ---- what is a duration ---- */

const char *duration_verdict_name(enum duration_verdict verdict)
{
	static const char *const names[DURATION_VERDICTS] = { "fits", "negative", "too_long" };

	return names[verdict];
}

/* ---- starts that wait for their end ---- */

enum { WAYS = 4 };

void recent_init(struct recent *recent, size_t sets)
{
	*recent = (struct recent){ .sets = sets };
}

void recent_clear(struct recent *recent)
{
	free(recent->entries);
	recent->entries = NULL;
	recent->count = 0;
}

static struct recent_entry *set_of(const struct recent *recent, uint64_t key)
{
	return recent->entries + (hash_u64(key) & (recent->sets - 1)) * WAYS;
}

void recent_begin(struct recent *recent, const struct recent_entry *begin)
{
	struct recent_entry *set, *place;

	if (!recent->entries) {
		recent->entries = calloc(recent->sets * WAYS, sizeof *recent->entries);
		if (!recent->entries) {
			memory_note_loss();
			recent->evictions++;
			return;
		}
	}
	set = set_of(recent, begin->key);
	place = &set[0];
	for (unsigned way = 0; way < WAYS; way++) {
		struct recent_entry *entry = &set[way];

		if (entry->taken && entry->key == begin->key) {
			if (entry->time > begin->time) {
				return;
			}
			place = entry;
			break;
		}
		if (place->taken && (!entry->taken || entry->time < place->time)) {
			place = entry;
		}
	}
	if (!place->taken) {
		recent->count++;
	} else if (place->key != begin->key) {
		recent->evictions++;
	}
	*place = *begin;
	place->taken = true;
}

bool recent_end(struct recent *recent, uint64_t key, int64_t time, struct recent_entry *begin)
{
	struct recent_entry *set = recent->entries ? set_of(recent, key) : NULL;

	for (unsigned way = 0; set && way < WAYS; way++) {
		if (set[way].taken && set[way].key == key && set[way].time <= time) {
			*begin = set[way];
			set[way].taken = false;
			recent->count--;
			return true;
		}
	}
	return false;
}

/* ---- the scheduler ---- */

struct scheduler_processor {
	uint32_t thread_id;
	bool known;
	int64_t since;
};

enum { READY_SETS = 4096 };

void scheduler_init(struct scheduler *scheduler)
{
	*scheduler = (struct scheduler){ 0 };
	recent_init(&scheduler->ready, READY_SETS);
}

void scheduler_clear(struct scheduler *scheduler)
{
	free(scheduler->processors);
	scheduler->processors = NULL;
	scheduler->processor_count = 0;
	recent_clear(&scheduler->ready);
}

void scheduler_ready(struct scheduler *scheduler, uint32_t thread_id, int64_t time)
{
	recent_begin(&scheduler->ready,
		     &(const struct recent_entry){ .key = thread_id, .time = time });
}

static struct scheduler_processor *processor_at(struct scheduler *scheduler, uint16_t number)
{
	if (number >= scheduler->processor_count) {
		uint32_t count = number + 8U;
		struct scheduler_processor *processors =
			realloc(scheduler->processors, count * sizeof *processors);

		if (!processors) {
			memory_note_loss();
			return NULL;
		}
		memset(processors + scheduler->processor_count, 0,
		       (count - scheduler->processor_count) * sizeof *processors);
		scheduler->processors = processors;
		scheduler->processor_count = count;
	}
	return &scheduler->processors[number];
}

bool scheduler_running(const struct scheduler *scheduler, uint16_t processor, uint32_t *thread_id)
{
	if (processor >= scheduler->processor_count || !scheduler->processors[processor].known) {
		return false;
	}
	*thread_id = scheduler->processors[processor].thread_id;
	return true;
}

void scheduler_switch(struct scheduler *scheduler, uint16_t processor, uint32_t old_thread,
		      uint32_t new_thread, int64_t time, struct scheduler_switch *out)
{
	struct scheduler_processor *at = processor_at(scheduler, processor);
	struct recent_entry begin;

	*out = (struct scheduler_switch){ ETW_RECORD_NO_TIME, ETW_RECORD_NO_TIME };
	if (at) {
		/* If the old thread is not the expected one, a switch event was lost. */
		if (at->known && at->thread_id == old_thread) {
			out->on_cpu_since = at->since;
			recent_end(&scheduler->ready, old_thread, at->since, &begin);
		}
		*at = (struct scheduler_processor){ new_thread, true, time };
	}
	if (recent_end(&scheduler->ready, new_thread, time, &begin)) {
		out->ready_since = begin.time;
	}
}
