/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads: which name a process id had at a time, and which process a thread id
 * belonged to. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/etl-format.md section 16.2; docs/metrics.md ("process").
 */
#ifndef TRACK_PROCESSES_H
#define TRACK_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "exporter/track/identities.h"
#include "exporter/track/lifetimes.h"
#include "exporter/track/names.h"
#include "metrics/registry.h"

/* ---- threads ---- */

/* Thread id 0 is the idle thread of every processor. It belongs to process 0 without any event. */
struct threads {
	struct timeline timeline; /* thread id -> process id + 1; 0: the process is not known */
	struct map found; /* thread id -> process id: threads that a live session found running */
	uint32_t limit;   /* the most entries of found */
};

static inline void threads_init(struct threads *threads, uint32_t limit)
{
	timeline_init(&threads->timeline, limit);
	threads->found = (struct map){ 0 };
	threads->limit = limit;
}

static inline void threads_set_limit(struct threads *threads, uint32_t limit)
{
	timeline_set_limit(&threads->timeline, limit);
	threads->limit = limit;
}

static inline void threads_clear(struct threads *threads)
{
	timeline_clear(&threads->timeline);
	map_done(&threads->found);
}

/* Announces a change of a thread at a raw time. process_id: ETW_RECORD_NO_ID if it is not known. */
static inline void threads_announce(struct threads *threads, enum lifetime_change change,
				    uint32_t thread_id, int64_t time, uint32_t process_id)
{
	if (thread_id != 0 && thread_id != ETW_RECORD_NO_ID) {
		timeline_announce(&threads->timeline, change, thread_id, time, process_id + 1);
	}
}

/* Adds a thread that a live session found running. It is used if no event names the thread. */
void threads_found(struct threads *threads, uint32_t thread_id, uint32_t process_id);

/* Returns the process id of a thread that no event has named, if it was found running; otherwise
 * ETW_RECORD_NO_ID. */
uint32_t threads_process_otherwise(const struct threads *threads, uint32_t thread_id);

/* Returns the process id that a thread belonged to at a raw time; ETW_RECORD_NO_ID if it is not
 * known. */
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
	struct timeline timeline; /* process id -> number in identities; 0: no name yet */
	struct timeline images;   /* the same from Microsoft-Windows-Kernel-Process: for processes
				     without a name */
	bool merged; /* the latter's changes are in `timeline`, and `images` is empty */
	struct identities identities;
	struct registry *registry; /* borrowed */
	struct names *names;       /* borrowed */
	size_t texts_bytes;        /* budget of identities, and of found_texts */
	/* Processes that a live session found running; used if no event names them. */
	struct map found;           /* process id -> id in found_texts | label id << 32 */
	struct intern *found_texts; /* owned; NULL until needed */
	uint32_t idle;              /* label ids of the processes Idle and System */
	uint32_t system;
};

/*
 * limit: the most instances. texts_bytes: the budget of names and command lines (names beyond it
 * read "_other"), and of the names of processes that a live session found running (those beyond it
 * are left out).
 */
void processes_init(struct processes *processes, struct registry *registry, struct names *names,
		    uint32_t limit, size_t texts_bytes);

/* Drops all instances and frees their memory. */
void processes_clear(struct processes *processes);
/* The same, and frees what processes_set_rules() has made. */
void processes_done(struct processes *processes);

/* Changes the rules that name processes, which are borrowed (NULL: none), and names all processes
 * anew. names_most: the most names that rules give. owners: whether the owners of processes are
 * asked for. */
bool processes_set_rules(struct processes *processes, const struct process_names *rules,
			 size_t names_most, bool owners, struct etw_error *err);

/* Begins the first pass: until processes_build(), changes may be announced in any order. */
void processes_begin_first_pass(struct processes *processes);

/* Announces a change of a process at a raw time. */
void processes_announce(struct processes *processes, enum lifetime_change change,
			uint32_t process_id, int64_t time,
			const struct process_announced *announced);

/*
 * Announces a change from Microsoft-Windows-Kernel-Process; path is that of the image. It creates
 * no instances of processes, but names those that the kernel's events leave without a name, unless
 * processes_build() has merged both. The name of a stop may be cut; names_complete() then completes
 * it, unless the process was found running under a name that begins so.
 */
void processes_announce_image(struct processes *processes, enum lifetime_change change,
			      uint32_t process_id, int64_t time, const char *path, size_t path_size,
			      uint32_t parent_id, uint32_t terminal_session);

/* Adds a process that a live session found running. Its name is used if no instance has one.
 * name: UTF-8, as a file name. */
void processes_found(struct processes *processes, uint32_t process_id, const char *name,
		     size_t name_size);

/* The number of processes from processes_found() that no event has named yet. */
size_t processes_unseen(struct processes *processes);

/* Ends the first pass: fixes the spelling of names and gives the instances their labels.
 * kernel_reports: the kernel reports which processes start and stop. If it only lists some, their
 * starts and stops are those of Microsoft-Windows-Kernel-Process, so both timelines are merged. */
void processes_build(struct processes *processes, bool kernel_reports);

/* Returns the timeline that Microsoft-Windows-Kernel-Process changes. */
static inline struct timeline *processes_of_provider(struct processes *processes)
{
	return processes->merged ? &processes->timeline : &processes->images;
}

/*
 * Reports to the registry which names of processes were alive up to now, and when the others ended
 * (registry_alive()). raw_now: now, in ticks of the clock; now: the same in units of 100 ns.
 */
void processes_report_alive(struct processes *processes, const struct etw_source_clock *clock,
			    int64_t raw_now, int64_t now);

/* Returns the label id of a process that has no instance, or whose instance has no name. */
uint32_t processes_label_otherwise(struct processes *processes, uint32_t process_id, int64_t time);

/* Returns what is known about the process that had the id at a raw time; NULL: no event has named
 * it. It is valid until the next announcement. */
const struct identity *processes_identity(struct processes *processes, uint32_t process_id,
					  int64_t time);

/* Returns the label id of the account that a process runs as, or of its SID; identity may be
 * NULL. */
uint32_t processes_owner(const struct processes *processes, const struct identity *identity,
			 bool sid);

/* Calls visit for each process that an event has named: with its id, and the label ids of its name
 * and of its image. */
void processes_each(const struct processes *processes,
		    void (*visit)(void *context, uint32_t process_id, uint32_t name,
				  uint32_t image),
		    void *context);

/* Returns the label id of the name of that process's program, also if rules have given the process
 * another name; INTERN_NONE if it is not known. */
uint32_t processes_image(struct processes *processes, uint32_t process_id, int64_t time);

/*
 * Returns the label id of a process id at a raw time: that of its instance, otherwise that of its
 * image, otherwise "Idle" or "System" for the ids of the kernel, otherwise that of a process found
 * running, otherwise INTERN_NONE. Sets *serial, if not NULL, to the number of the instance; 0 if
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
	return instance && instance->value != 0 ?
		       processes->identities.rows[instance->value].label :
		       processes_label_otherwise(processes, process_id, time);
}

/* ---- services of threads ---- */

/*
 * Services: which service a thread of a service host (svchost) works for. Only one consumer uses
 * it, so it has no lock.
 *
 * The service control manager assigns a sub-process tag to each service, and each thread has
 * the tag of its service. SystemConfig records contain the service of each process and tag. Both
 * tables are bounded. A live session reads from the service control manager which services run, and
 * where it cannot read their tags, a process with a single service has the tag 0 for it.
 *
 * Source: docs/etl-format.md section 15, Thread 1 to 4 and 69, SystemConfig 15; TEB.SubProcessTag,
 * System Informer, phnt/include/ntpebteb.h.
 */

struct services {
	struct registry *registry; /* borrowed */
	struct timeline tags;      /* thread id -> tag + 1 */
	struct map
		names; /* process id and tag -> label id; tag 0: the only service of the process */
	uint32_t host; /* label id of the image svchost; INTERN_NONE: not seen yet */
	uint64_t refused; /* services that did not fit into names */
};

enum { SERVICES_MAX = 16384 };

/* limit: the most threads. */
void services_init(struct services *services, struct registry *registry, uint32_t limit);
void services_clear(struct services *services); /* frees all memory */

/* A thread starts or exists with a tag, takes another tag, or ends. time: raw. */
static inline void services_tag(struct services *services, enum lifetime_change change,
				uint32_t thread_id, int64_t time, uint32_t tag)
{
	timeline_announce(&services->tags, change, thread_id, time, tag + 1);
}

/* A record names the service that has a tag in a process. name: UTF-8. */
void services_name(struct services *services, uint32_t process_id, uint32_t tag, const char *name,
		   size_t size);

/* A live session found the service that has a tag in a process. tag 0: the only service of the
 * process. name: UTF-8; NULL: the service no longer runs. */
void services_find(struct services *services, uint32_t process_id, uint32_t tag, const char *name);

/* Returns whether the label of an image is that of the service host (svchost). */
bool services_is_host(struct services *services, uint32_t image);

/* Returns the label id of a thread's service at a raw time. `_none`: it works for no service.
 * `_unknown`: no record names its tag or its service. */
uint32_t services_label(struct services *services, uint32_t process_id, uint32_t thread_id,
			int64_t time);

/* ---- processes named by stacks ---- */

/*
 * The processes that StackWalk records name, for samples of threads that no event announces. Only
 * one consumer uses it, so it has no lock.
 *
 * Windows writes the stack of an event as a record of its own after it, with the thread, the time
 * of the event, and the process that the thread worked for. A recording may have stacks although it
 * lacks the thread's start and rundown. A first pass collects them, because the stack comes after
 * its sample.
 *
 * Source: docs/etl-format.md section 16.1.
 */

/* Zero-initialise it and set `limit`. */
struct stack_owners {
	struct map processes; /* thread and time -> thread id << 32 | process id */
	size_t limit;         /* the most stacks that are kept */
	uint64_t refused;     /* stacks of this pass that were beyond the limit */
	uint64_t evictions;   /* refused stacks of all passes whose processes may be missing */
};

/* Adds the stack of an event that the thread wrote at a raw time. process_id: from the stack. */
void stack_owners_add(struct stack_owners *owners, uint32_t thread_id, int64_t time,
		      uint32_t process_id);

/* Ends a first pass: keeps only stacks of threads that are still unknown, and frees the others.
 * If no such stack exists, refused stacks do not count as evictions. */
void stack_owners_keep(struct stack_owners *owners,
		       bool (*is_unknown)(void *context, uint32_t thread_id), void *context);

/* Returns the process id of the thread's event at a raw time; ETW_RECORD_NO_ID if it has no
 * stack here. */
uint32_t stack_owners_find(const struct stack_owners *owners, uint32_t thread_id, int64_t time);

void stack_owners_clear(struct stack_owners *owners); /* frees all memory */

#endif
