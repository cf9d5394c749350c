/* SPDX-License-Identifier: MIT */
/*
 * What a kind of source brings; for the files that implement one.
 */
#ifndef SOURCE_SOURCE_INTERNAL_H
#define SOURCE_SOURCE_INTERNAL_H

#include "base/os.h"
#include "source/source.h"

struct source_operations {
	bool (*run)(struct source *source, const struct event_sink *sink, struct error *err);
	void (*stop)(struct source *source);  /* wakes what waits; any thread; NULL: nothing does */
	void (*close)(struct source *source); /* frees what the kind added, and the source itself */
};

/* The first member of every kind's own struct. */
struct source {
	const struct source_operations *operations;
	struct source_facts facts;
	atomic_bool stopping;
	struct os_mutex own_mutex;
	struct os_mutex *mutex; /* own_mutex, in reach of const callers; guards statistics */
	struct source_statistics statistics;
};

void source_init(struct source *source, const struct source_operations *operations);
void source_done(struct source *source);

/*
 * Makes new statistics visible to other threads. For the source's thread; once a buffer, not per
 * record.
 */
void source_publish(struct source *source, const struct source_statistics *statistics);

#endif
