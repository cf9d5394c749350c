/* SPDX-License-Identifier: MIT */
/* Formats and parses times as people write them: RFC 3339 in UTC. */
#ifndef BASE_UTC_H
#define BASE_UTC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

enum { UTC_TEXT_SIZE = 96 };

/*
 * Formats 100 ns since 1601 as "2020-07-29T00:07:00.6236167Z". Returns false for 0 and below, which
 * includes ETW_RECORD_NO_TIME, and for times after the year 9999.
 */
bool utc_format(int64_t time_100ns, char text[UTC_TEXT_SIZE]);

/* Adds a member with the time as such text, or null if utc_format() returns false. */
void utc_member(struct json *json, const char *key, int64_t time_100ns);

/* Parses such text. The seconds may have any number of decimals, of which seven count. */
bool utc_parse(const char *text, int64_t *time_100ns);

/*
 * Parses a duration from 0 to a hundred years: "12" and "0.5" are seconds; "500ms", "10s", "5m",
 * "2h".
 */
bool utc_parse_duration(const char *text, int64_t *time_100ns);

/*
 * Parses a duration in milliseconds. Whole numbers with a unit may be longer than a hundred years.
 */
bool utc_parse_ms(const char *text, uint64_t *ms);

/* An option_read: reads such a duration above 0 into a uint64_t. */
bool utc_read_ms(void *ms, const char *text, struct etw_error *err);
#define UTC_MS_TAKES "a time such as 30s or 5m"

/*
 * Returns what a text that is almost a time lacks: "lacks the Z"; NULL if it is not almost a time.
 */
const char *utc_lacks(const char *text);

/* One end of a time range. */
struct utc_moment {
	bool set;
	bool relative; /* counted from the start of the recording */
	int64_t time_100ns;
};

#define UTC_MOMENT "a time such as 2020-07-29T00:07:00Z, or seconds such as 10 or 10s"

/*
 * An option_read: reads a struct utc_moment from "2020-07-29T00:07:00Z", or from "10", "10s" or
 * "1m", which count from the start of the recording.
 */
bool utc_moment_read(void *moment, const char *text, struct etw_error *err);

#endif
