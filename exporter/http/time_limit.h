/* SPDX-License-Identifier: MIT */
/*
 * Computes how long a scrape may take. Prometheus sends the time after which it gives up in the
 * header X-Prometheus-Scrape-Timeout-Seconds.
 */
#ifndef EXPORTER_HTTP_TIME_LIMIT_H
#define EXPORTER_HTTP_TIME_LIMIT_H

#include <stdint.h>

/* The greatest limit, which also applies to a scrape without the header. */
#define TIME_LIMIT_MAX_NS UINT64_C(60000000000)

/*
 * Returns the value of the header minus offset_ns, but at least half of the value and at most
 * TIME_LIMIT_MAX_NS. Returns TIME_LIMIT_MAX_NS if header is NULL or not a positive number of
 * seconds.
 */
uint64_t time_limit_ns(const char *header, uint64_t offset_ns);

#endif
