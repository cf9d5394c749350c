/* SPDX-License-Identifier: MIT */
/*
 * etwtool diff A B: compares two recordings by the metrics of the collectors.
 *
 * Each recording is replayed as the exporter does, and the exposition that a scrape would return is
 * read back into series (page_series.h); so every number here is one that `--once` prints.
 * diff_rows.c chooses what is compared, and the order. Lost events are reported first, because they
 * make every difference doubtful. Conditions (diff_conditions.c) use all series, including those
 * that the table does not show.
 */
#include <stdlib.h>
#include <string.h>

#include "config/problems.h"
#include "etwtool/diff/diff.h"
#include "etwtool/diff/fail_if.h"
#include "etwtool/tool.h"
#include "exporter/setup.h"

enum diff_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct request {
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

static void show_problem(void *context, const char *sentence, bool warning)
{
	(void)context;
	tool_complain(warning ? TOOL_DONE : TOOL_BAD_USAGE, "diff", "%s", sentence);
}

static bool read_side(struct diff *diff, struct request *request, unsigned number,
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

#define AT(member) .offset = offsetof(struct request, member)

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
		diff_add_doubt(&doubt, diff, i);
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
	struct request *request = (struct request *)arguments;
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
	problems_show(&problems, show_problem, NULL);
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
	struct request *request = (struct request *)arguments;

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
	.size = sizeof(struct request),
	.run = run,
	.done = done,
};
