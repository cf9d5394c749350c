/* SPDX-License-Identifier: MIT */
/*
 * A token bucket: it has `burst` tokens at first, gets one more in each interval, and never has
 * more than `burst`.
 *
 * The state is the time at which the bucket will be full. A request takes a token by moving that
 * time one interval later. There is no token if that time would then be more than `burst` intervals
 * away.
 */
#ifndef EXPORTER_HTTP_RATE_LIMIT_H
#define EXPORTER_HTTP_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { RATE_BURST_MOST = 100000 };
#define RATE_INTERVAL_MOST_NS (UINT64_C(86400) * 1000000000)

struct rate_limit {
	uint64_t interval_ns; /* at most RATE_INTERVAL_MOST_NS; 0: no limit */
	uint64_t burst;       /* at most RATE_BURST_MOST */
	uint64_t full_ns;     /* 0 at first */
};

/* Takes a token and returns true, or returns false if there is none. now_ns: of os_monotonic_ns().
 * One thread at a time may call it. */
static inline bool rate_limit_take(struct rate_limit *limit, uint64_t now_ns)
{
	uint64_t full = limit->full_ns > now_ns ? limit->full_ns : now_ns;

	if (limit->interval_ns == 0) {
		return true;
	}
	full += limit->interval_ns;
	if (full - now_ns > limit->burst * limit->interval_ns) {
		return false;
	}
	limit->full_ns = full;
	return true;
}

#endif
