/* SPDX-License-Identifier: MIT */
/*
 * Formats values of etwtool report for people, in findings and Markdown. The script of the page
 * (page/report_page.js, ../../exporter/http/page/chart.js) formats them in the same way.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <etw/record.h>

#include "etwtool/report/report.h"
#include "base/utc.h"

#define SECOND UINT64_C(10000000)

void report_add_number(struct etw_text *out, uint64_t number)
{
	char digits[24];
	int size = snprintf(digits, sizeof digits, "%" PRIu64, number);

	for (int i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0) {
			text_add_char(out, ',');
		}
		text_add_char(out, digits[i]);
	}
}

void report_add_counted(struct etw_text *out, uint64_t number, const char *noun)
{
	report_add_number(out, number);
	text_add_format(out, " %s%s", noun, number == 1 ? "" : "s");
}

static void add_bytes(struct etw_text *out, double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	size_t i = 0;
	int decimals;

	while (bytes >= 999.5 && i + 1 < sizeof units / sizeof units[0]) {
		bytes /= 1000;
		i++;
	}
	/* A rate may have a fraction of a byte. */
	decimals = (i > 0 || bytes != floor(bytes)) && bytes < 99.95 ? 1 : 0;
	text_add_format(out, "%.*f %s", decimals, bytes, units[i]);
}

/* Adds a number with about three digits. */
static void add_real(struct etw_text *out, double value)
{
	if (value > 0 && value < 0.0005) {
		text_add_string(out, "< 0.001");
	} else if (value >= 99.95) {
		report_add_number(out, (uint64_t)(value + 0.5));
	} else {
		text_add_format(out, "%.*f", value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3, value);
	}
}

static void add_seconds(struct etw_text *out, double seconds)
{
	if (seconds >= 0.9995 || seconds == 0) {
		add_real(out, seconds);
		text_add_string(out, " s");
	} else if (seconds >= 0.0009995) {
		add_real(out, seconds * 1e3);
		text_add_string(out, " ms");
	} else {
		add_real(out, seconds * 1e6);
		text_add_string(out, " µs");
	}
}

void report_add_value(struct etw_text *out, enum report_unit unit, uint64_t value)
{
	switch (unit) {
	case REPORT_BYTES:
		add_bytes(out, (double)value);
		break;
	case REPORT_SECONDS:
		add_seconds(out, (double)value / 1e9);
		break;
	case REPORT_COUNT:
		report_add_number(out, value);
		break;
	}
}

void report_add_share(struct etw_text *out, uint64_t part, uint64_t whole)
{
	double share = whole > 0 ? 100 * (double)part / (double)whole : 0;

	text_add_format(out, "%s%.*f %%", share > 0 && share < 0.05 ? "< " : "",
			share < 9.95 ? 1 : 0, share > 0 && share < 0.05 ? 0.1 : share);
}

void report_add_rate(struct etw_text *out, const struct report_chart *chart, uint64_t value,
		     uint64_t time_100ns)
{
	double rate = (double)value * (double)SECOND / (double)time_100ns;

	if (time_100ns == 0) {
		text_add_string(out, "–");
		return;
	}
	switch (chart->unit) {
	case REPORT_BYTES:
		add_bytes(out, rate);
		text_add_string(out, "/s");
		break;
	case REPORT_COUNT:
		add_real(out, rate);
		text_add_string(out, "/s");
		break;
	case REPORT_SECONDS:
		add_real(out, rate / (chart->noun ? 1e9 : 1e7));
		text_add_format(out, " %s", chart->noun ? chart->noun : "%");
		break;
	}
}

void report_add_duration(struct etw_text *out, uint64_t time_100ns)
{
	uint64_t seconds = time_100ns / SECOND, minutes = seconds / 60, hours = minutes / 60;

	if (hours >= 48) {
		text_add_format(out, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	} else if (hours > 0) {
		text_add_format(out, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	} else if (minutes > 0) {
		text_add_format(out, "%" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
	} else {
		add_seconds(out, (double)time_100ns / (double)SECOND);
	}
}

void report_add_clock(struct etw_text *out, const struct report *report, int64_t time)
{
	const struct report_steps *steps = &report->charted.steps;
	const uint64_t day = 24 * 3600 * SECOND;
	char text[UTC_TEXT_SIZE];

	if (time == ETW_RECORD_NO_TIME || !utc_format(time, text)) {
		text_add_string(out, "–");
		return;
	}
	/* The text reads "2020-07-29T00:07:00.6236167Z". */
	if (etw_time_since_1970(steps->first) / day != etw_time_since_1970(steps->last) / day) {
		text_add(out, text, 10);
		text_add_char(out, ' ');
	}
	text_add(out, text + 11, steps->step < (int64_t)SECOND ? 12 : 8);
}
