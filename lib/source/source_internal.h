/* SPDX-License-Identifier: MIT */
/*
 * The interface between source.c and the files that implement a type of source.
 */
#ifndef LIB_SOURCE_SOURCE_INTERNAL_H
#define LIB_SOURCE_SOURCE_INTERNAL_H

#include <stdatomic.h>

#include "base/os.h"
#include "lib/source/source.h"

struct source_operations {
	bool (*run)(struct source *source, const struct event_sink *sink, struct error *err);
	void (*stop)(struct source *source); /* wakes a waiting source_run(); any thread; or NULL */
	void (*sink_changed)(struct source *source); /* or NULL, as is wake */
	void (*wake)(struct source *source);
	void (*close)(struct source *source); /* frees everything, also the struct source itself */
};

/* The first member of the struct of each implementation. */
struct source {
	const struct source_operations *operations;
	struct source_facts facts;
	atomic_bool stopping;
	struct os_mutex own_mutex;
	struct os_mutex *mutex; /* own_mutex, for const callers; guards statistics */
	struct source_statistics statistics;
};

void source_init(struct source *source, const struct source_operations *operations);
void source_done(struct source *source);

/*
 * Makes new statistics visible to other threads. Only the thread of the source calls it, once for
 * each buffer and not for each record.
 */
void source_publish(struct source *source, const struct source_statistics *statistics);

#endif
