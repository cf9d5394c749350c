/* SPDX-License-Identifier: MIT */
/*
 * etwtool diff A B: what is different between two recordings, by the metrics of the collectors.
 *
 * Each recording is replayed as the exporter does it, and the page that a scrape would show is read
 * back into series (series.h); so every number here is one of `--once`. Recordings last differently
 * long, so counters are divided by the time between the first and the last record of their
 * recording. Gauges show a state at the end and are compared as they are. A histogram becomes
 * several rows: its count and its sum, which are counters, and mean, median and 99th percentile,
 * which are not divided.
 *
 * A table over all families mixes bytes, events and seconds, and a sort by the size of the change
 * would show bytes only. So a row's weight is its change as a share of what all series of its name
 * add up to, in the recording where that is more: a process whose writes double and that does half
 * of all writes weighs more than one that does one in a thousand. Statistics of a histogram, which
 * cannot be added up, have their relative change, times the share of the series in all observations
 * of the family. Rows are sorted by weight, and those below one percent are left out unless --all
 * asks for them. Rows without a change are only shown by --all.
 *
 * Lost events are said first, since then no difference can be trusted. Conditions (fail_if.h)
 * look at all series, also at those that the table does not show.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/os.h"
#include "config/problems.h"
#include "tool/fail_if.h"
#include "tool/recording.h"
#include "tool/series.h"
#include "tool/tool.h"

enum { CONDITIONS_MOST = 32 };

#define WEIGHT_LEAST 0.01

enum diff_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct conditions {
	struct fail_if *rows[CONDITIONS_MOST]; /* owned */
	size_t count;
};

struct request {
	struct tool_arguments arguments;
	const char *config, *metric, *process; /* NULL: not given */
	struct collector_switches switches;
	struct conditions conditions;
	unsigned format; /* enum diff_format */
	bool all, absolute;
};

/* What is compared of a series. */
enum measure { VALUE, COUNT, SUM, MEAN, MEDIAN, HIGH, MEASURES };

static const struct {
	const char *suffix;
	bool adds_up; /* else it is a statistic of a histogram */
} measures[MEASURES] = {
	[VALUE] = { "", true },      [COUNT] = { "_count", true }, [SUM] = { "_sum", true },
	[MEAN] = { "_mean", false }, [MEDIAN] = { "_p50", false }, [HIGH] = { "_p99", false },
};

struct row {
	const struct series *series;
	enum measure measure;
	double values[SIDES]; /* NaN: there is none */
	double weight;
};

struct side {
	const char *path;
	struct record_times times;
	struct source_statistics source;
};

struct diff {
	const struct request *request;
	struct side sides[SIDES];
	struct series_table table;
	struct row *rows; /* owned */
	size_t count;
	bool absolute; /* counters are not divided */
};

/* ---- the recordings ---- */

static void on_record(void *context, struct recording *recording, const struct event_record *record,
		      const struct event_class *class)
{
	struct side *side = context;

	(void)recording;
	(void)class;
	record_times_add(&side->times, record);
}

static void show_problem(void *context, const char *sentence, bool warning)
{
	(void)context;
	tool_complain(warning ? TOOL_DONE : TOOL_BAD_USAGE, "diff", "%s", sentence);
}

static bool read_side(struct diff *diff, unsigned number, struct problems *problems,
		      struct error *err)
{
	struct request *request = (struct request *)(uintptr_t)diff->request;
	struct side *side = &diff->sides[number];
	const struct recording_options options = { .collectors = true,
						   .config_path = request->config,
						   .problems = problems,
						   .switches = &request->switches,
						   .context = side,
						   .on_record = on_record };
	struct recording *recording;
	struct text page = { 0 };
	bool done;

	side->path = request->arguments.words[number];
	side->times = RECORD_TIMES_NONE;
	recording = recording_open(&request->arguments, side->path, &options, err);
	done = recording && recording_run(recording, err);
	if (done) {
		recording_statistics(recording, &side->source);
		text_add_exposition(&page, recording_registry(recording));
		text_add_string(&page, "");
		done = page.failed ? error_no_memory(err, "a page") :
				     series_table_add(&diff->table, page.data, number, err);
	}
	text_free(&page);
	recording_close(recording);
	return done;
}

/* ---- rows ---- */

static double value_of(const struct diff *diff, const struct series *series, enum measure measure,
		       unsigned number)
{
	const struct series_family *family = &diff->table.families[series->family];
	const struct series_side *side = &series->sides[number];
	double seconds = record_times_seconds(&diff->sides[number].times);
	double divisor = diff->absolute ? 1 : seconds;

	switch (measure) {
	case VALUE:
		return family->type == FAMILY_GAUGE ? side->value : side->value / divisor;
	case COUNT:
		return side->count / divisor;
	case SUM:
		return side->sum / divisor;
	case MEAN:
		return side->count > 0 ? side->sum / side->count : NAN;
	case MEDIAN:
		return series_quantile(family, side, 0.5);
	default:
		return series_quantile(family, side, 0.99);
	}
}

static bool differs(const struct row *row)
{
	return isnan(row->values[0]) != isnan(row->values[1]) ||
	       (!isnan(row->values[0]) && fabs(row->values[0] - row->values[1]) > 0);
}

/* A value that is not there as 0. */
static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

static double larger(const double values[SIDES])
{
	return fmax(fabs(or_zero(values[0])), fabs(or_zero(values[1])));
}

/* What all series of a family add up to. */
struct sums {
	double of[MEASURES][SIDES];
};

static void weigh(const struct diff *diff, struct row *row, const struct sums *sums)
{
	double change = fabs(or_zero(row->values[1]) - or_zero(row->values[0]));
	double most = larger(row->values), share = 0;

	if (measures[row->measure].adds_up) {
		double whole = larger(sums->of[row->measure]);

		row->weight = whole > 0 ? change / whole : 0;
		return;
	}
	for (unsigned i = 0; i < SIDES; i++) {
		double all = sums->of[COUNT][i];

		if (all > 0) {
			share = fmax(share, value_of(diff, row->series, COUNT, i) / all);
		}
	}
	row->weight = share * (isnan(row->values[0]) != isnan(row->values[1]) ? 1 :
			       most > 0                                       ? change / most :
										0);
}

static void add_series(struct diff *diff, const struct series *series, struct sums *sums)
{
	bool histogram = diff->table.families[series->family].type == FAMILY_HISTOGRAM;
	enum measure first = histogram ? COUNT : VALUE, last = histogram ? HIGH : VALUE;

	for (enum measure m = first; m <= last; m++) {
		struct row *row = &diff->rows[diff->count++];

		*row = (struct row){ .series = series, .measure = m };
		for (unsigned side = 0; side < SIDES; side++) {
			row->values[side] = value_of(diff, series, m, side);
			sums->of[m][side] += fabs(or_zero(row->values[side]));
		}
	}
}

static const char *name_of(const struct diff *diff, const struct row *row)
{
	return diff->table.families[row->series->family].name;
}

/* The name of a row: that of its family and what is compared. */
static void row_name(const struct diff *diff, const struct row *row, struct text *name)
{
	text_clear(name);
	text_add_string(name, name_of(diff, row));
	text_add_string(name, measures[row->measure].suffix);
}

static const struct diff *sorted; /* qsort() has no context */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order;

	if (x->weight < y->weight || x->weight > y->weight) {
		return x->weight < y->weight ? 1 : -1;
	}
	order = strcmp(name_of(sorted, x), name_of(sorted, y));
	if (order == 0) {
		order = strcmp(x->series->labels, y->series->labels);
	}
	return order != 0 ? order : (int)x->measure - (int)y->measure;
}

static bool make_rows(struct diff *diff, struct error *err)
{
	const struct series_table *table = &diff->table;
	struct sums *sums = calloc(table->family_count + 1, sizeof *sums);

	diff->rows = calloc(table->count * MEASURES + 1, sizeof *diff->rows);
	if (!sums || !diff->rows) {
		free(sums);
		return error_no_memory(err, "the table");
	}
	for (size_t i = 0; i < table->count; i++) {
		add_series(diff, &table->rows[i], &sums[table->rows[i].family]);
	}
	for (size_t i = 0; i < diff->count; i++) {
		weigh(diff, &diff->rows[i], &sums[diff->rows[i].series->family]);
	}
	free(sums);
	sorted = diff;
	qsort(diff->rows, diff->count, sizeof *diff->rows, compare_rows);
	return true;
}

/* Whether the table has the row. */
static bool is_shown(const struct diff *diff, const struct row *row, struct text *name)
{
	const struct request *request = diff->request;
	bool shown = request->all || (differs(row) && row->weight >= WEIGHT_LEAST &&
				      row->measure != SUM); /* of interest: count and mean */

	if (shown && request->metric) {
		row_name(diff, row, name);
		shown = !name->failed && (glob_matches(request->metric, name->data) ||
					  glob_matches(request->metric, name_of(diff, row)));
	}
	if (shown && request->process) {
		series_label(row->series, "process", name);
		shown = !name->failed && name->size > 0 &&
			glob_matches_nocase(request->process, name->data);
	}
	return shown;
}

/* ---- output ---- */

static void add_side_text(struct text *out, const struct diff *diff, unsigned number)
{
	const struct side *side = &diff->sides[number];
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

/* What makes a comparison with a recording doubtful; nothing if there is no reason to doubt. */
static void add_doubt(struct text *out, const struct diff *diff, unsigned number)
{
	const struct source_statistics *source = &diff->sides[number].source;
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
	if (diff->absolute && !diff->request->absolute &&
	    !(record_times_seconds(&diff->sides[number].times) > 0)) {
		text_add_format(out,
				"%c lasts no time, so nothing can be divided by it: totals are "
				"compared\n",
				letter);
	}
}

static void add_percent(struct text *out, const struct row *row)
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

static void add_number(struct text *out, double number, bool with_sign)
{
	if (isnan(number)) {
		text_add_format(out, " %14s", "-");
	} else {
		text_add_format(out, with_sign ? " %+14.6g" : " %14.6g", number);
	}
}

static void add_row_text(struct text *out, const struct row *row, const struct text *name)
{
	add_number(out, row->values[0], false);
	add_number(out, row->values[1], false);
	add_number(out, row->values[1] - row->values[0], true);
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

static void add_text(struct text *out, const struct diff *diff)
{
	struct text name = { 0 };
	size_t shown = 0, smaller = 0;

	for (unsigned i = 0; i < SIDES; i++) {
		add_side_text(out, diff, i);
	}
	for (unsigned i = 0; i < SIDES; i++) {
		add_doubt(out, diff, i);
	}
	for (size_t i = 0; i < diff->count; i++) {
		const struct row *row = &diff->rows[i];

		if (!is_shown(diff, row, &name)) {
			smaller += differs(row);
			continue;
		}
		if (shown++ == 0) {
			text_add_format(out, "\n%15s%15s%15s %10s  %s\n", "A", "B", "change", "",
					diff->absolute ? "series" :
							 "series (counters: per second)");
		}
		row_name(diff, row, &name);
		add_row_text(out, row, &name);
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

static void add_side_json(struct json *json, const char *key, const struct side *side)
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
	struct text name = { 0 }, value = { 0 };
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

static void add_row_json(struct json *json, const struct row *row, const struct text *name)
{
	json_object_begin(json);
	json_member_string(json, "series", name->data);
	add_labels_json(json, row->series);
	json_member_double(json, "a", row->values[0]); /* null: there is none */
	json_member_double(json, "b", row->values[1]);
	json_member_double(json, "change", row->values[1] - row->values[0]);
	json_member_double(json, "percent", percent_change(row->values[0], row->values[1]));
	json_object_end(json);
}

static void add_json(struct text *out, const struct diff *diff)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);
	struct text name = { 0 };

	add_side_json(json, "a", &diff->sides[0]);
	add_side_json(json, "b", &diff->sides[1]);
	json_key(json, "per_second");
	json_bool(json, !diff->absolute);
	json_member_array(json, "series");
	for (size_t i = 0; i < diff->count; i++) {
		if (is_shown(diff, &diff->rows[i], &name)) {
			row_name(diff, &diff->rows[i], &name);
			add_row_json(json, &diff->rows[i], &name);
		}
	}
	json_array_end(json);
	tool_json_end(&page, out);
	out->failed |= name.failed;
	text_free(&name);
}

static void add_csv_number(struct text *out, double number)
{
	struct json json;

	text_add_char(out, ',');
	if (isfinite(number)) { /* a value that is not there is empty */
		json_init(&json, out, false);
		json_double(&json, number);
	}
}

/* Labels always have quotes in them. */
static void add_csv_quoted(struct text *out, const char *string)
{
	struct text shown = { 0 };

	text_add_shown(&shown, string);
	text_add_char(out, '"');
	for (size_t i = 0; i < shown.size; i++) {
		if (shown.data[i] == '"') {
			text_add_char(out, '"');
		}
		text_add_char(out, shown.data[i]);
	}
	text_add_char(out, '"');
	out->failed |= shown.failed;
	text_free(&shown);
}

static void add_csv(struct text *out, const struct diff *diff)
{
	struct text name = { 0 };

	text_add_string(out, "series,labels,a,b,change,percent\n");
	for (size_t i = 0; i < diff->count; i++) {
		const struct row *row = &diff->rows[i];

		if (!is_shown(diff, row, &name)) {
			continue;
		}
		row_name(diff, row, &name);
		text_add_string(out, name.data);
		text_add_char(out, ',');
		add_csv_quoted(out, row->series->labels);
		add_csv_number(out, row->values[0]);
		add_csv_number(out, row->values[1]);
		add_csv_number(out, row->values[1] - row->values[0]);
		add_csv_number(out, percent_change(row->values[0], row->values[1]));
		text_add_char(out, '\n');
	}
	out->failed |= name.failed;
	text_free(&name);
}

/* ---- conditions ---- */

enum verdict { FALSE_ONE, TRUE_ONE, NOTHING_SELECTED };

static void say_held(const struct fail_if *condition, const struct diff *diff,
		     const struct row *row, double a, double b)
{
	struct text name = { 0 };

	text_add_string(&name, "all selected series together");
	if (row) {
		row_name(diff, row, &name);
		text_add_format(&name, "{%.300s}", row->series->labels);
	}
	tool_complain(TOOL_FAILED, "diff", "%s holds: %s was %.6g in A and is %.6g in B",
		      fail_if_text(condition), name.failed ? "a series" : name.data, a, b);
	text_free(&name);
}

static enum verdict judge(const struct fail_if *condition, const struct diff *diff)
{
	enum verdict verdict = NOTHING_SELECTED;
	struct text name = { 0 };
	double a = 0, b = 0;

	for (size_t i = 0; i < diff->count; i++) {
		const struct row *row = &diff->rows[i];

		row_name(diff, row, &name);
		if (name.failed || !fail_if_selects(condition, name.data, row->series)) {
			continue;
		}
		a += or_zero(row->values[0]);
		b += or_zero(row->values[1]);
		verdict = verdict == NOTHING_SELECTED ? FALSE_ONE : verdict;
		if (!fail_if_sums(condition) &&
		    fail_if_holds(condition, row->values[0], row->values[1])) {
			verdict = TRUE_ONE;
			say_held(condition, diff, row, row->values[0], row->values[1]);
		}
	}
	text_free(&name);
	if (verdict == FALSE_ONE && fail_if_sums(condition) && fail_if_holds(condition, a, b)) {
		verdict = TRUE_ONE;
		say_held(condition, diff, NULL, a, b);
	}
	return verdict;
}

/* An exit status. */
static int judge_all(const struct conditions *conditions, const struct diff *diff)
{
	int status = TOOL_DONE;

	for (size_t i = 0; i < conditions->count; i++) {
		switch (judge(conditions->rows[i], diff)) {
		case NOTHING_SELECTED:
			status = tool_complain(TOOL_BAD_USAGE, "diff",
					       "--fail-if %s: neither recording has such a series",
					       fail_if_text(conditions->rows[i]));
			break;
		case TRUE_ONE:
			status = status == TOOL_DONE ? TOOL_FAILED : status;
			break;
		case FALSE_ONE:
			break;
		}
	}
	return status;
}

/* ---- the command ---- */

static bool read_condition(void *member, const char *value, struct error *err)
{
	struct conditions *conditions = member;
	struct fail_if *condition;

	if (conditions->count == CONDITIONS_MOST) {
		return error_set(err, ERROR_CONFIG, "more than %d --fail-if", CONDITIONS_MOST);
	}
	condition = fail_if_parse(value, err);
	if (!condition) {
		return error_prefix(err, "--fail-if %s", value);
	}
	conditions->rows[conditions->count++] = condition;
	return true;
}

static const char *const formats[] = { "text", "json", "csv", NULL };

#define AT(member) .offset = offsetof(struct request, member)

static const struct command_option option_rows[] = {
	{ "--absolute", NULL, "compare totals, not rates", OPTION_SET, AT(absolute) },
	{ "--all", NULL, "also series that differ little or not at all", OPTION_SET, AT(all) },
	{ "--metric", "PATTERN", "only metrics whose name matches: * any text, ? one character",
	  OPTION_TEXT, AT(metric) },
	{ "--process", "PATTERN", "only series of processes whose name matches, in any case",
	  OPTION_TEXT, AT(process) },
	{ "--fail-if", "CONDITION", "exit status 1 if it holds; repeatable, see below", OPTION_READ,
	  AT(conditions), .takes = "a condition", .read = read_condition },
	{ "--config", "FILE", "the configuration of the exporter, instead of the built-in one",
	  OPTION_TEXT, AT(config) },
	{ "--collector.", "NAME", "switch a collector on or off; overrides the configuration",
	  OPTION_SWITCH, AT(switches), .read = collector_switches_read },
	{ "--format", "FORMAT", "text (default), json or csv", OPTION_WORD, AT(format),
	  .words = formats },
	{ NULL },
};

static void warn_beside_csv(const struct diff *diff)
{
	struct text doubt = { 0 };
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

static int run(struct tool_arguments *arguments)
{
	struct request *request = (struct request *)arguments;
	struct diff diff = { .request = request };
	struct problems problems = { 0 };
	struct error err = { 0 };
	struct text out = { 0 };
	int status, judged;
	bool good;

	if (arguments->word_count != SIDES) {
		return tool_complain(TOOL_BAD_USAGE, "diff", "takes two recordings");
	}
	good = read_side(&diff, 0, &problems, &err) && read_side(&diff, 1, NULL, &err);
	problems_show(&problems, show_problem, NULL);
	diff.absolute = request->absolute;
	for (unsigned i = 0; i < SIDES; i++) {
		diff.absolute |= !(record_times_seconds(&diff.sides[i].times) > 0);
	}
	if (good && make_rows(&diff, &err)) {
		static void (*const adds[])(struct text *, const struct diff *) = {
			[FORMAT_TEXT] = add_text, [FORMAT_JSON] = add_json, [FORMAT_CSV] = add_csv
		};

		adds[request->format](&out, &diff);
		if (request->format != FORMAT_TEXT) {
			warn_beside_csv(&diff);
		}
		status = tool_print("diff", &out);
		judged = judge_all(&request->conditions, &diff);
		status = status == TOOL_DONE ? judged : status;
	} else {
		status = err.code == ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
		if (problems.errors == 0) {
			tool_complain(status, "diff", "%s", err.text);
		}
	}
	problems_done(&problems);
	series_table_done(&diff.table);
	free(diff.rows);
	return status;
}

static void done(struct tool_arguments *arguments)
{
	struct request *request = (struct request *)arguments;

	for (size_t i = 0; i < request->conditions.count; i++) {
		fail_if_free(request->conditions.rows[i]);
	}
	collector_switches_done(&request->switches);
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
		"Exit status: 0 no condition holds, 1 one holds or a recording could not be read, 2 bad\n"
		"usage, or neither recording has a series that a condition selects.\n",
	.options = option_rows,
	.shared = TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = SIDES,
	.too_many = "compares two recordings, not also",
	.size = sizeof(struct request),
	.run = run,
	.done = done,
};
