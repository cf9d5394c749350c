/* SPDX-License-Identifier: MIT */
/*
 * Chooses the families of a scrape by collect[] and exclude[] of its query, as other exporters do.
 *
 * Both name collectors. Families without a collector have two further names: `exporter` means the
 * families etw_exporter_* and process_*, which --web.disable-exporter-metrics leaves out, and
 * `health` means the others: sessions, consumers, losses, tables, replays.
 */
#ifndef EXPORTER_HTTP_COLLECT_H
#define EXPORTER_HTTP_COLLECT_H

#include <stdbool.h>

#include "base/map.h"
#include "base/text.h"
#include "exporter/http/server.h"
#include "metrics/registry.h"

struct collect {
	bool everything;     /* the scrape has every family; the other members are unset */
	bool health;         /* the families of `health` */
	bool exporter;       /* those of `exporter` */
	struct map families; /* address of a collector's family -> bool: the scrape has it */
};

/*
 * Parses the query of a request (as it arrived; NULL: none). The caller calls collect_done() in
 * either case. options->collectors is called only if the query has collect[] or exclude[]. Returns
 * an HTTP status: 200; 400 with a sentence about the query in why; 500 without memory.
 */
int collect_init(struct collect *collect, const char *query, const struct http_options *options,
		 struct etw_text *why);
void collect_done(struct collect *collect);

/* Returns whether the scrape has a family; context is a struct collect. */
bool collect_includes(void *context, const struct family *family);

#endif
