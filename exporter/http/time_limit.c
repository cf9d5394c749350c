/* SPDX-License-Identifier: MIT */
#include "exporter/http/time_limit.h"

#include <stdlib.h>
#include <string.h>

uint64_t time_limit_ns(const char *header, uint64_t offset_ns)
{
	/* Seconds as Go prints them: "10", "0.5", "1e-05". strtod() alone would also take blanks,
	 * names and hexadecimal numbers. */
	char *end;
	double seconds;
	uint64_t limit;

	if (!header || header[0] == '\0' || strspn(header, "0123456789.eE+-") != strlen(header)) {
		return TIME_LIMIT_MAX_NS;
	}
	seconds = strtod(header, &end);
	if (*end != '\0' || !(seconds > 0)) {
		return TIME_LIMIT_MAX_NS;
	}
	/* This also bounds infinity. One is added because a limit of 0 would end the scrape before
	 * it begins. */
	limit = seconds < 3600 ? (uint64_t)(seconds * 1e9) + 1 : UINT64_C(3600000000000);
	limit = limit / 2 > offset_ns ? limit - offset_ns : limit - limit / 2;
	return limit < TIME_LIMIT_MAX_NS ? limit : TIME_LIMIT_MAX_NS;
}
