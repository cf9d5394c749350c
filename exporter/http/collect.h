/* SPDX-License-Identifier: MIT */
/*
 * Which families a scrape has: collect[] and exclude[] of its query, as other exporters have them.
 *
 * Both name collectors. What no collector counts has two names of its own: `exporter` is the
 * families etw_exporter_* and process_*, which --web.disable-exporter-metrics leaves out, and
 * `health` is the rest: sessions, consumers, losses, tables, replays.
 */
#ifndef EXPORTER_HTTP_COLLECT_H
#define EXPORTER_HTTP_COLLECT_H

#include <stdbool.h>

#include "base/map.h"
#include "base/text.h"
#include "exporter/http/server.h"
#include "metrics/registry.h"

struct collect {
	bool everything;     /* every family; nothing else is set then */
	bool health;         /* the families of `health` */
	bool exporter;       /* those of `exporter` */
	struct map families; /* address of a family of a collector -> whether the scrape has it */
};

/*
 * Reads the query of a request (as it arrived; NULL: none), to be freed with collect_done() either
 * way. options->collectors is called only if the query has collect[] or exclude[]. Returns an HTTP
 * status: 200; 400, with a sentence in why about the query; 500 without memory.
 */
int collect_init(struct collect *collect, const char *query, const struct http_options *options,
		 struct etw_text *why);
void collect_done(struct collect *collect);

/* Whether the scrape has a family; context is a struct collect. */
bool collect_includes(void *context, const struct family *family);

#endif
