/* SPDX-License-Identifier: MIT */
/*
 * How long a scrape may take: Prometheus says in the header X-Prometheus-Scrape-Timeout-Seconds
 * when it gives up.
 */
#ifndef EXPORTER_HTTP_TIME_LIMIT_H
#define EXPORTER_HTTP_TIME_LIMIT_H

#include <stdint.h>

/* Also what a scrape without the header may take. */
#define TIME_LIMIT_MAX_NS UINT64_C(60000000000)

/*
 * The value of the header minus offset_ns, but at least half of the value and at most
 * TIME_LIMIT_MAX_NS. header: NULL, and what is no positive number of seconds, give
 * TIME_LIMIT_MAX_NS.
 */
uint64_t time_limit_ns(const char *header, uint64_t offset_ns);

#endif
