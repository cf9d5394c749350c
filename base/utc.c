/* SPDX-License-Identifier: MIT */
#include "base/utc.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SECOND INT64_C(10000000)
#define DAY    (86400 * SECOND)

enum { FIRST_YEAR = 1601 };

static bool is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Returns the days of a year before a month; month is 0 to 12. */
static int64_t days_before_month(int64_t year, int64_t month)
{
	static const uint16_t days[] = {
		0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365
	};

	return days[month] + (month > 1 && is_leap(year));
}

/* Returns the days from the start of 1601 to the start of a year. */
static int64_t days_before_year(int64_t year)
{
	int64_t years = year - FIRST_YEAR;

	return 365 * years + years / 4 - years / 100 + years / 400;
}

bool utc_format(int64_t time_100ns, char text[UTC_TEXT_SIZE])
{
	int64_t days = time_100ns / DAY;
	int64_t rest = time_100ns % DAY;
	int64_t year = FIRST_YEAR + days / 366; /* a lower bound */
	int64_t month = 0;

	if (time_100ns <= 0 || days >= days_before_year(10000)) {
		return false;
	}
	while (days_before_year(year + 1) <= days) {
		year++;
	}
	days -= days_before_year(year);
	while (days_before_month(year, month + 1) <= days) {
		month++;
	}
	days -= days_before_month(year, month);
	snprintf(text, UTC_TEXT_SIZE,
		 "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64
		 ".%07" PRId64 "Z",
		 year, month + 1, days + 1, rest / (3600 * SECOND), rest / (60 * SECOND) % 60,
		 rest / SECOND % 60, rest % SECOND);
	return true;
}

void utc_member(struct json *json, const char *key, int64_t time_100ns)
{
	char text[UTC_TEXT_SIZE];

	json_member_string(json, key, utc_format(time_100ns, text) ? text : NULL);
}

/* Parses the ".5" of a second and returns it in 100 ns; -1 when no digit follows the point. */
static int64_t take_fraction(const char **at)
{
	int64_t rest = 0, unit = SECOND / 10;
	const char *start;

	if (**at != '.') {
		return 0;
	}
	start = ++*at;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		rest += (**at - '0') * unit;
		unit /= 10;
	}
	return *at > start ? rest : -1;
}

bool utc_parse(const char *text, int64_t *time_100ns)
{
	enum { YEAR, MONTH, DAY_OF_MONTH, HOUR, MINUTE, SECONDS, COUNT };
	int64_t numbers[COUNT] = { 0 }, month, day, fraction;
	const char *at = text;
	size_t part = 0;

	for (const char *form = "0000-00-00T00:00:00"; *form; form++, at++) {
		if (*form == '0' && *at >= '0' && *at <= '9') {
			numbers[part] = 10 * numbers[part] + (*at - '0');
		} else if (*form != '0' && *at == *form) {
			part++;
		} else {
			return false;
		}
	}
	month = numbers[MONTH] - 1;
	day = numbers[DAY_OF_MONTH] - 1;
	fraction = take_fraction(&at);
	if (fraction < 0 || strcmp(at, "Z") != 0 || numbers[YEAR] < FIRST_YEAR || month < 0 ||
	    month > 11 || day < 0 ||
	    day >= days_before_month(numbers[YEAR], month + 1) -
			    days_before_month(numbers[YEAR], month) ||
	    numbers[HOUR] > 23 || numbers[MINUTE] > 59 || numbers[SECONDS] > 59) {
		return false;
	}
	day += days_before_year(numbers[YEAR]) + days_before_month(numbers[YEAR], month);
	*time_100ns = day * DAY +
		      ((numbers[HOUR] * 60 + numbers[MINUTE]) * 60 + numbers[SECONDS]) * SECOND +
		      fraction;
	return true;
}

bool utc_parse_duration(const char *text, int64_t *time_100ns)
{
	/* The units are in 1/1000 of a second, so that all are integers. */
	static const struct {
		const char *name;
		int64_t thousandths;
	} units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	const int64_t most = 100 * 366 * DAY;
	size_t digits = strspn(text, "0123456789");
	const char *at = text + digits;
	uint64_t number;
	int64_t fraction;

	if (digits > 10 || !parse_u64(text, digits, &number)) {
		return false;
	}
	fraction = take_fraction(&at);
	for (size_t i = 0; i < sizeof units / sizeof units[0] && fraction >= 0; i++) {
		int64_t unit = units[i].thousandths * (SECOND / 1000);

		if (strcmp(at, units[i].name) == 0) {
			if ((int64_t)number > most / unit) {
				return false;
			}
			*time_100ns =
				(int64_t)number * unit + fraction * units[i].thousandths / 1000;
			return true;
		}
	}
	return false;
}

bool utc_parse_ms(const char *text, uint64_t *ms)
{
	int64_t time_100ns;

	if (parse_duration(text, strlen(text), ms)) {
		return true;
	}
	if (!utc_parse_duration(text, &time_100ns)) {
		return false;
	}
	*ms = (uint64_t)time_100ns / (SECOND / 1000);
	return true;
}

bool utc_read_ms(void *ms, const char *text, struct etw_error *err)
{
	(void)err;
	return utc_parse_ms(text, ms) && *(uint64_t *)ms > 0;
}

const char *utc_lacks(const char *text)
{
	/* A 0 stands for any digit; a fraction of a second may follow. */
	static const struct {
		const char *form, *lacks;
	} forms[] = {
		{ "00:00", "lacks the date and the Z" },
		{ "00:00:00", "lacks the date and the Z" },
		{ "0000-00-00", "lacks the time" },
		{ "0000-00-00T00:00", "lacks the seconds and the Z" },
		{ "0000-00-00T00:00Z", "lacks the seconds" },
		{ "0000-00-00T00:00:00", "lacks the Z" },
		{ "0000-00-00 00:00:00", "has a blank in place of the T, and lacks the Z" },
		{ "0000-00-00 00:00:00Z", "has a blank in place of the T" },
	};

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		const char *form = forms[i].form, *at = text;

		for (; *form && (*form == '0' ? *at >= '0' && *at <= '9' : *at == *form); form++) {
			at++;
		}
		if (*form == '\0' && take_fraction(&at) >= 0 && *at == '\0') {
			return forms[i].lacks;
		}
	}
	return NULL;
}

bool utc_moment_read(void *target, const char *text, struct etw_error *err)
{
	struct utc_moment *moment = target;
	const char *lacks = utc_lacks(text);

	moment->relative = utc_parse_duration(text, &moment->time_100ns);
	moment->set = moment->relative || utc_parse(text, &moment->time_100ns);
	return moment->set ||
	       (lacks &&
		error_set(err, ETW_ERROR_CONFIG,
			  "times are in UTC and written as 2020-07-29T00:07:00Z, but \"%s\" %s",
			  text, lacks));
}
