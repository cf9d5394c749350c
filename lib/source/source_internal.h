/* SPDX-License-Identifier: MIT */
/*
 * The interface between source.c and the files that implement a type of source.
 */
#ifndef LIB_SOURCE_SOURCE_INTERNAL_H
#define LIB_SOURCE_SOURCE_INTERNAL_H

#include <stdatomic.h>

#include <etw/source.h>

#include "base/os.h"

struct source_operations {
	bool (*run)(struct etw_source *source, const struct etw_event_sink *sink,
		    struct etw_error *err);
	void (*stop)(struct etw_source *source); /* wakes a waiting etw_source_run(), on any thread;
						    may be NULL */
	void (*sink_changed)(struct etw_source *source); /* may be NULL */
	void (*wake)(struct etw_source *source);
	void (*close)(struct etw_source
			      *source); /* frees everything, also the struct etw_source itself */
};

/* The first member of the struct of each implementation. */
struct etw_source {
	const struct source_operations *operations;
	struct etw_source_facts facts;
	atomic_bool stopping;
	struct os_mutex own_mutex;
	struct os_mutex *mutex; /* points to own_mutex, so that const callers can lock it; guards
				   statistics */
	struct etw_source_statistics statistics;
};

void source_init(struct etw_source *source, const struct source_operations *operations);
void source_done(struct etw_source *source);

/*
 * Makes new statistics visible to other threads. Only the thread of the source calls it, once for
 * each buffer and not for each record.
 */
void source_publish(struct etw_source *source, const struct etw_source_statistics *statistics);

#endif
