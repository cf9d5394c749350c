/* SPDX-License-Identifier: MIT */
/*
 * etwtool diff A B: compares two recordings by the metrics of the collectors.
 *
 * Each recording is replayed as the exporter does, and the exposition that a scrape would return is
 * read back into series (page_series.h); so every number here is one that `--once` prints.
 * diff_rows.c chooses what is compared, and the order. Lost events are reported first, because they
 * make every difference doubtful. Conditions use all series, including those that the table does
 * not show.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "config/problems.h"
#include "etwtool/diff/diff.h"
#include "etwtool/tool.h"
#include "etwtool/top/top.h"
#include "exporter/setup.h"

/* ---- output ---- */

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

/*
 * Adds one line for each reason to doubt the comparison with side `number`; adds nothing if there
 * is no reason.
 */
static void add_doubt(struct etw_text *out, const struct diff *diff, unsigned number)
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

static void diff_add_text(struct etw_text *out, const struct diff *diff)
{
	struct etw_text name = { 0 };
	size_t shown = 0, smaller = 0;

	for (unsigned i = 0; i < SIDES; i++) {
		add_side_text(out, diff, i);
	}
	for (unsigned i = 0; i < SIDES; i++) {
		add_doubt(out, diff, i);
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
			"%zu more differ, but are left out: they change by less than 1 %% of all "
			"series of their name, or an option excludes them; --all shows them\n",
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

static void diff_add_json(struct etw_text *out, const struct diff *diff)
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

static void diff_add_csv(struct etw_text *out, const struct diff *diff)
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

enum diff_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct diff_request {
	struct tool_arguments arguments;
	const char *config; /* NULL: not given */
	struct conditions conditions;
	struct diff_options options;
	unsigned format; /* enum diff_format */
};

/* ---- the recordings ---- */

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct diff_side *side = context;

	(void)recording;
	(void)class;
	record_times_add(&side->times, record);
}

static bool read_side(struct diff *diff, struct diff_request *request, unsigned number,
		      struct problems *problems, struct etw_error *err)
{
	struct diff_side *side = &diff->sides[number];
	const struct recording_options options = { .collectors = true,
						   .config_path = request->config,
						   .problems = problems,
						   .switches = &request->arguments.switches,
						   .context = side,
						   .on_record = on_record };
	struct recording *recording;
	struct etw_text page = { 0 };
	bool done;

	side->path = request->arguments.words[number];
	side->times = RECORD_TIMES_NONE;
	recording = recording_open(&request->arguments, side->path, &options, err);
	done = recording && recording_run(recording, err);
	if (done) {
		recording_statistics(recording, &side->source);
		text_add_exposition(&page, recording_registry(recording));
		text_add_string(&page, "");
		done = page.failed ?
			       error_no_memory(err, "a page") :
			       series_table_add(&diff->table, page.data, number, err) &&
				       diff_declare(diff, recording_setup(recording)->rules, err);
	}
	text_free(&page);
	recording_close(recording);
	return done;
}

/* ---- the command ---- */

static bool read_condition(void *member, const char *value, struct etw_error *err)
{
	struct conditions *conditions = member;
	struct fail_if *condition;

	if (conditions->count == CONDITIONS_MOST) {
		return error_set(err, ETW_ERROR_CONFIG, "more than %d --fail-if", CONDITIONS_MOST);
	}
	condition = fail_if_parse(value, err);
	if (!condition) {
		return error_prefix(err, "--fail-if %s", value);
	}
	conditions->rows[conditions->count++] = condition;
	return true;
}

static const char *const formats[] = { "text", "json", "csv", NULL };

#define AT(member) .offset = offsetof(struct diff_request, member)

static const struct command_option option_rows[] = {
	{ "--absolute", NULL, "compare totals, not rates", OPTION_SET, AT(options.absolute) },
	{ "--exact", NULL, "all digits in place of 12.3M", OPTION_SET, AT(options.exact) },
	{ "--all", NULL, "also series that differ little or not at all", OPTION_SET,
	  AT(options.all) },
	{ "--metric", "PATTERN", "only metrics whose name matches: * any text, ? one character",
	  OPTION_TEXT, AT(options.metric) },
	{ "--process", "PATTERN", "only series of processes whose name matches, in any case",
	  OPTION_TEXT, AT(options.process) },
	{ "--fail-if", "CONDITION", "exit status 1 if it holds; repeatable, see below", OPTION_READ,
	  AT(conditions), .takes = "a condition", .read = read_condition },
	{ "--config.file", "FILE", "collectors and limits, as for the exporter", OPTION_TEXT,
	  AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ "--format", "FORMAT", "text (default), json or csv", OPTION_WORD, AT(format),
	  .words = formats },
	{ NULL },
};

static void warn_beside_csv(const struct diff *diff)
{
	struct etw_text doubt = { 0 };
	const char *end;

	for (unsigned i = 0; i < SIDES; i++) {
		add_doubt(&doubt, diff, i);
	}
	for (char *line = doubt.data; line && (end = strchr(line, '\n')) != NULL;
	     line = (char *)(uintptr_t)end + 1) {
		tool_complain(TOOL_DONE, "diff", "warning: %.*s", (int)(end - line), line);
	}
	text_free(&doubt);
}

/* Without this warning a mistyped name would look like "no difference". */
static void warn_of_patterns(const struct diff *diff)
{
	bool metric, process;

	diff_find_patterns(diff, &metric, &process);
	if (!metric && diff->options.metric) {
		tool_complain(TOOL_DONE, "diff",
			      "warning: neither recording has a metric that --metric '%s' matches",
			      diff->options.metric);
	}
	if (!process && diff->options.process) {
		tool_complain(
			TOOL_DONE, "diff",
			"warning: neither recording has a process that --process '%s' matches",
			diff->options.process);
	}
}

static int run(struct tool_arguments *arguments)
{
	struct diff_request *request = (struct diff_request *)arguments;
	struct diff diff = { .options = request->options };
	struct problems problems = { 0 };
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };
	int status, judged;
	bool good;

	if (arguments->word_count != SIDES) {
		return tool_complain(TOOL_BAD_USAGE, "diff", "takes two recordings");
	}
	good = read_side(&diff, request, 0, &problems, &err) &&
	       read_side(&diff, request, 1, NULL, &err);
	tool_show_problems("diff", &problems);
	diff.absolute = request->options.absolute;
	for (unsigned i = 0; i < SIDES; i++) {
		diff.absolute |= !(record_times_seconds(&diff.sides[i].times) > 0);
	}
	if (good && diff_make_rows(&diff, &err)) {
		static void (*const adds[])(struct etw_text *,
					    const struct diff *) = { [FORMAT_TEXT] = diff_add_text,
								     [FORMAT_JSON] = diff_add_json,
								     [FORMAT_CSV] = diff_add_csv };

		adds[request->format](&out, &diff);
		if (request->format != FORMAT_TEXT) {
			warn_beside_csv(&diff);
		}
		warn_of_patterns(&diff);
		/* The table is not printed above a mistake, because it would hide the complaint. */
		status = diff_has_mistake(&diff, &request->conditions) ? TOOL_DONE :
									 tool_print("diff", &out);
		judged = diff_judge(&diff, &request->conditions);
		status = status == TOOL_DONE ? judged : status;
	} else {
		status = err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
		if (problems.errors == 0) {
			tool_complain(status, "diff", "%s", err.text);
		}
	}
	text_free(&out);
	problems_done(&problems);
	series_table_done(&diff.table);
	diff_declared_done(&diff.declared);
	free(diff.rows);
	return status;
}

static void done(struct tool_arguments *arguments)
{
	struct diff_request *request = (struct diff_request *)arguments;

	for (size_t i = 0; i < request->conditions.count; i++) {
		fail_if_free(request->conditions.rows[i]);
	}
}

const struct tool_command tool_diff = {
	.name = "diff",
	.synopsis = "A B",
	.about = "Compare the metrics of two recordings",
	.more = "Counters are divided by the time from the first to the last record of their recording.\n"
		"Gauges show the end of a recording. A histogram is shown as NAME_count, NAME_sum\n"
		"(only with --all), NAME_mean, NAME_p50 and NAME_p99. Rows are sorted by their change as\n"
		"a share of what all series of the name add up to; what is below 1 % is left out.\n"
		"\n"
		"A condition is a selector as in PromQL, a comparison (> >= < <= == !=), and a number for\n"
		"the value in B, or a percentage for the change from A:\n"
		"  --fail-if 'etw_file_written_bytes_total{process=\"sqlservr\"} > +20 %'\n"
		"  --fail-if 'sum(etw_process_exits_total{result=~\"crash|error\"}) > 0'\n"
		"It holds if it holds for one of the selected series, with sum(…) for all of them together.\n"
		"\n"
		"Where neither recording has such a series, sum(…) is 0. A change from 0 is above every\n"
		"percentage, and no comparison holds for a value that is not there (a mean of nothing).\n"
		"\n"
		"Exit status: 0 no condition holds; 1 a condition holds, or a recording cannot be read; 2 bad\n"
		"usage or configuration, no collector has the metric or label of a condition, or neither\n"
		"recording has a series that a condition without sum(…) selects.\n",
	.options = option_rows,
	.shared = TOOL_COLLECTORS | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = SIDES,
	.too_many = "compares two recordings, not also",
	.size = sizeof(struct diff_request),
	.run = run,
	.done = done,
};
