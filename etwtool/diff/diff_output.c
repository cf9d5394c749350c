/* SPDX-License-Identifier: MIT */
/*
 * Writes a comparison as a table for people, as JSON and as CSV.
 *
 * All three have the same rows in the same order. Reasons to doubt the comparison come before the
 * table; JSON has the numbers behind them, and for CSV they go to standard error, because CSV
 * output may contain only rows. A value that does not exist, such as the mean of no observation, is
 * a dash, null, or an empty cell. Labels come from an exposition, which escapes quotes and line
 * feeds, but may contain any other character. For people, characters that control a terminal are
 * escaped as well.
 */
#include <inttypes.h>
#include <math.h>

#include "base/os.h"
#include "etwtool/diff/diff.h"
#include "etwtool/diff/fail_if.h"
#include "etwtool/tool.h"
#include "etwtool/top/top_view.h"

static void add_side_text(struct etw_text *out, const struct diff *diff, unsigned number)
{
	const struct diff_side *side = &diff->sides[number];
	char letter = number == 0 ? 'A' : 'B';
	double seconds = record_times_seconds(&side->times);

	text_add_format(out, "%c: ", letter);
	text_add_shown(out, os_path_name(side->path));
	text_add_format(out, ": %" PRIu64 " records in %.1f s", side->times.records, seconds);
	if (seconds > 0) {
		text_add_format(out, ", %.1f per second", (double)side->times.records / seconds);
	}
	text_add_char(out, '\n');
}

void diff_add_doubt(struct etw_text *out, const struct diff *diff, unsigned number)
{
	const struct etw_source_statistics *source = &diff->sides[number].source;
	char letter = number == 0 ? 'A' : 'B';

	if (source->events_lost > 0 || source->buffers_lost > 0) {
		text_add_format(out,
				"%c lost %" PRIu64 " events and %" PRIu64
				" buffers while it was recorded: its values are too low, and the "
				"comparison is doubtful\n",
				letter, source->events_lost, source->buffers_lost);
	}
	if (source->truncated || source->bad_buffers > 0 || source->bad_records > 0) {
		text_add_format(out,
				"%c is damaged or cut short: its values are too low, and the "
				"comparison is doubtful\n",
				letter);
	}
	if (diff->absolute && !diff->options.absolute &&
	    !(record_times_seconds(&diff->sides[number].times) > 0)) {
		text_add_format(out,
				"%c lasts no time, so nothing can be divided by it: totals are "
				"compared\n",
				letter);
	}
}

static void add_percent(struct etw_text *out, const struct diff_row *row)
{
	double percent = percent_change(row->values[0], row->values[1]);

	if (isnan(percent)) {
		text_add_format(out, " %10s", "-");
	} else if (isinf(percent)) {
		text_add_format(out, " %10s", "new");
	} else {
		text_add_format(out, " %+8.1f %%", percent);
	}
}

/*
 * Writes a number as etwtool top does. A small one, such as a duration, gets its first significant
 * digits.
 */
static void add_number(struct etw_text *out, double number, bool with_sign, bool exact)
{
	struct etw_text digits = { 0 };

	if (isnan(number)) {
		text_add_char(&digits, '-');
	} else {
		text_add_string(&digits, number < 0 ? "-" : with_sign ? "+" : "");
		number = fabs(number);
		if (exact) {
			text_add_format(&digits, "%.15g", number);
		} else if (number >= 999.5) {
			top_add_scaled(&digits, number);
		} else {
			text_add_format(&digits, "%.3g", number);
		}
	}
	text_add_format(out, " %14s", digits.failed ? "" : digits.data);
	out->failed |= digits.failed;
	text_free(&digits);
}

static void add_row_text(struct etw_text *out, const struct diff_row *row,
			 const struct etw_text *name, bool exact)
{
	add_number(out, row->values[0], false, exact);
	add_number(out, row->values[1], false, exact);
	add_number(out, row->values[1] - row->values[0], true, exact);
	add_percent(out, row);
	text_add_string(out, "  ");
	text_add_string(out, name->data);
	if (row->series->labels[0] != '\0') {
		text_add_char(out, '{');
		text_add_shown(out, row->series->labels);
		text_add_char(out, '}');
	}
	text_add_char(out, '\n');
}

void diff_add_text(struct etw_text *out, const struct diff *diff)
{
	struct etw_text name = { 0 };
	size_t shown = 0, smaller = 0;

	for (unsigned i = 0; i < SIDES; i++) {
		add_side_text(out, diff, i);
	}
	for (unsigned i = 0; i < SIDES; i++) {
		diff_add_doubt(out, diff, i);
	}
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (!diff_row_shown(diff, row, &name)) {
			smaller += diff_row_differs(row);
			continue;
		}
		if (shown++ == 0) {
			text_add_format(out, "\n%15s%15s%15s %10s  %s\n", "A", "B", "change", "",
					diff->absolute ? "series" :
							 "series (counters: per second)");
		}
		diff_row_name(diff, row, &name);
		if (name.failed) {
			break;
		}
		add_row_text(out, row, &name, diff->options.exact);
	}
	if (shown == 0) {
		text_add_string(out,
				smaller > 0 ? "\nno difference to show\n" : "\nno difference\n");
	}
	if (smaller > 0) {
		text_add_format(
			out,
			"%zu more differ: by less than 1 %% of all series of their name, or "
			"other than what was asked for; --all shows all\n",
			smaller);
	}
	out->failed |= name.failed;
	text_free(&name);
}

static void add_side_json(struct json *json, const char *key, const struct diff_side *side)
{
	json_member_object(json, key);
	json_member_string(json, "file", os_path_name(side->path));
	json_member_u64(json, "records", side->times.records);
	json_member_double(json, "seconds", record_times_seconds(&side->times));
	json_member_u64(json, "events_lost", side->source.events_lost);
	json_member_u64(json, "buffers_lost", side->source.buffers_lost);
	json_key(json, "damaged");
	json_bool(json, side->source.truncated || side->source.bad_buffers > 0 ||
				side->source.bad_records > 0);
	json_object_end(json);
}

static void add_labels_json(struct json *json, const struct series *series)
{
	struct etw_text name = { 0 }, value = { 0 };
	const char *at = series->labels;

	json_member_object(json, "labels");
	while (series_next_label(&at, &name, &value)) {
		json_key(json, name.data ? name.data : "");
		json_text(json, value.data ? value.data : "", value.size);
	}
	json_object_end(json);
	json->out->failed |= name.failed || value.failed;
	text_free(&name);
	text_free(&value);
}

static void add_row_json(struct json *json, const struct diff_row *row, const struct etw_text *name)
{
	json_object_begin(json);
	json_member_string(json, "series", name->data);
	add_labels_json(json, row->series);
	json_member_double(json, "a", row->values[0]); /* NaN is written as null */
	json_member_double(json, "b", row->values[1]);
	json_member_double(json, "change", row->values[1] - row->values[0]);
	json_member_double(json, "percent", percent_change(row->values[0], row->values[1]));
	json_object_end(json);
}

void diff_add_json(struct etw_text *out, const struct diff *diff)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);
	struct etw_text name = { 0 };

	add_side_json(json, "a", &diff->sides[0]);
	add_side_json(json, "b", &diff->sides[1]);
	json_key(json, "per_second");
	json_bool(json, !diff->absolute);
	json_member_array(json, "series");
	for (size_t i = 0; i < diff->count; i++) {
		if (diff_row_shown(diff, &diff->rows[i], &name)) {
			diff_row_name(diff, &diff->rows[i], &name);
			if (name.failed) {
				break;
			}
			add_row_json(json, &diff->rows[i], &name);
		}
	}
	json_array_end(json);
	tool_json_end(&page, out);
	out->failed |= name.failed;
	text_free(&name);
}

static void add_csv_number(struct etw_text *out, double number)
{
	struct json json;

	text_add_char(out, ',');
	if (isfinite(number)) { /* NaN leaves the cell empty */
		json_init(&json, out, false);
		json_double(&json, number);
	}
}

void diff_add_csv(struct etw_text *out, const struct diff *diff)
{
	struct etw_text name = { 0 };

	text_add_string(out, "series,labels,a,b,change,percent\n");
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (!diff_row_shown(diff, row, &name)) {
			continue;
		}
		diff_row_name(diff, row, &name);
		if (name.failed) {
			break;
		}
		text_add_string(out, name.data);
		text_add_char(out, ',');
		text_clear(&name);
		text_add_shown(&name, row->series->labels);
		out->failed |= name.failed;
		text_add_csv(out, name.data ? name.data : "", name.size);
		add_csv_number(out, row->values[0]);
		add_csv_number(out, row->values[1]);
		add_csv_number(out, row->values[1] - row->values[0]);
		add_csv_number(out, percent_change(row->values[0], row->values[1]));
		text_add_char(out, '\n');
	}
	out->failed |= name.failed;
	text_free(&name);
}
