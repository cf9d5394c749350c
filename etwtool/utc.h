/* SPDX-License-Identifier: MIT */
/*
 * Times as people write them: RFC 3339 in UTC.
 */
#ifndef ETWTOOL_UTC_H
#define ETWTOOL_UTC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

enum { UTC_TEXT_SIZE = 96 };

/* "2020-07-29T00:07:00.6236167Z" of 100 ns since 1601; false for no time, and beyond year 9999. */
bool utc_format(int64_t time_100ns, char text[UTC_TEXT_SIZE]);

/* A member of an object: the time as such text, or null where utc_format() is false. */
void utc_member(struct json *json, const char *key, int64_t time_100ns);

/* The other way round, with any number of digits behind the seconds, of which seven count. */
bool utc_parse(const char *text, int64_t *time_100ns);

/* "12", "0.5": seconds; "500ms", "10s", "5m", "2h". From 0 to a hundred years. */
bool utc_parse_duration(const char *text, int64_t *time_100ns);

/* Likewise, in milliseconds, and longer ones if they are whole and have a unit. */
bool utc_parse_ms(const char *text, uint64_t *ms);

/* What a text that is nearly a time lacks: "lacks the Z"; NULL: it is not nearly one. */
const char *utc_lacks(const char *text);

#endif
