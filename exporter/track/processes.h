/* SPDX-License-Identifier: MIT */
/*
 * Processes: which name a process id had at a time.
 *
 * Source: docs/etl-format.md section 16.2, docs/metrics.md ("process").
 */
#ifndef TRACK_PROCESSES_H
#define TRACK_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "metrics/registry.h"
#include "source/event_record.h"
#include "track/lifetimes.h"
#include "track/names.h"

/* ---- threads ---- */

/*
 * Threads: which process a thread id belonged to at a time.
 *
 * Thread id 0 is that of every processor's idle thread and belongs to process 0, told or not.
 *
 * Source: docs/etl-format.md section 16.2.
 */
struct threads {
	struct timeline timeline; /* thread id -> process id + 1; 0: not told */
	struct map found; /* of a live session: threads that ran, for those that no event told of;
			     thread id -> process id */
	uint32_t limit;   /* of found */
};

static inline void threads_init(struct threads *threads, uint32_t limit)
{
	timeline_init(&threads->timeline, limit);
	threads->found = (struct map){ 0 };
	threads->limit = limit;
}

static inline void threads_done(struct threads *threads)
{
	timeline_done(&threads->timeline);
	map_done(&threads->found);
}

static inline void threads_clear(struct threads *threads)
{
	timeline_clear(&threads->timeline);
	map_done(&threads->found);
}

/* process_id: RECORD_NO_ID when not known. */
static inline void threads_announce(struct threads *threads, enum lifetime_change change,
				    uint32_t thread_id, int64_t time, uint32_t process_id)
{
	if (thread_id != 0 && thread_id != RECORD_NO_ID) {
		timeline_announce(&threads->timeline, change, thread_id, time, process_id + 1);
	}
}

static inline void threads_build(struct threads *threads)
{
	timeline_sort(&threads->timeline);
	timeline_build(&threads->timeline);
}

/* A thread that was found running: serves where no event tells whose it is. */
void threads_found(struct threads *threads, uint32_t thread_id, uint32_t process_id);

/* Of a thread that no event tells of. */
uint32_t threads_process_otherwise(const struct threads *threads, uint32_t thread_id);

/* The process a thread belonged to; RECORD_NO_ID when nobody told. */
static inline uint32_t threads_process(struct threads *threads, uint32_t thread_id, int64_t time)
{
	const struct lifetime *instance;

	if (thread_id == 0) {
		return 0;
	}
	instance = lifetimes_at(&threads->timeline.table, thread_id, time);
	return instance ? instance->value - 1 : threads_process_otherwise(threads, thread_id);
}

/* ---- processes ---- */

enum { PROCESS_IDLE = 0, PROCESS_SYSTEM = 4 };

struct processes {
	struct timeline timeline;  /* process id -> label id; while looking ahead: text id */
	struct timeline images;    /* the same, as another provider tells: for those without name */
	struct registry *registry; /* borrowed */
	struct names *names;       /* borrowed */
	struct intern *texts;      /* owned: image names as recorded, while looking ahead */
	/* Processes that a live session found running, for those that no event names. */
	struct map found;           /* process id -> text id in found_texts | label id << 32 */
	struct intern *found_texts; /* owned; NULL until needed */
	uint32_t idle;              /* label ids */
	uint32_t system;
};

/* limit: instances. */
void processes_init(struct processes *processes, struct registry *registry, struct names *names,
		    uint32_t limit);
void processes_done(struct processes *processes);

/* Forgets the instances. */
void processes_clear(struct processes *processes);

/* The changes to come are told in any order, until processes_build(). False without memory. */
bool processes_begin_first_pass(struct processes *processes);

/* name: UTF-8, as recorded; may be empty. */
void processes_announce(struct processes *processes, enum lifetime_change change,
			uint32_t process_id, int64_t time, const char *name, size_t name_size);

/*
 * What Microsoft-Windows-Kernel-Process says of a process: path is that of its image. Makes no
 * instances, only names for those that the kernel's events leave without one.
 */
void processes_announce_image(struct processes *processes, enum lifetime_change change,
			      uint32_t process_id, int64_t time, const char *path,
			      size_t path_size);

/* A process that was found running, told by no event: its name serves where no instance has one.
 * name: UTF-8, as a file name. */
void processes_found(struct processes *processes, uint32_t process_id, const char *name,
		     size_t name_size);

/* How many of those no event has told about. */
size_t processes_unseen(struct processes *processes);

/* The end of the look-ahead: the spelling of names is decided, instances get their labels. */
void processes_build(struct processes *processes);

/* Of a process that its instance, if there is one, does not name. */
uint32_t processes_label_otherwise(struct processes *processes, uint32_t process_id, int64_t time);

/*
 * The label of a process id at a time: of the instance, else by its image, else that of the
 * kernel's own ids, else INTERN_NONE. *serial, if not NULL: the number of the instance, 0 when
 * there is none.
 */
static inline uint32_t processes_label(struct processes *processes, uint32_t process_id,
				       int64_t time, uint32_t *serial)
{
	const struct lifetime *instance =
		lifetimes_at(&processes->timeline.table, process_id, time);

	if (serial) {
		*serial = instance ? instance->serial : 0;
	}
	return instance && instance->value != INTERN_NONE ?
		       instance->value :
		       processes_label_otherwise(processes, process_id, time);
}

#endif
