/* SPDX-License-Identifier: MIT */
/*
 * etwtool report: shows what is in a recording, as one HTML file for people, as a JSON document, or
 * as Markdown.
 *
 * The recording is replayed as in the exporter, with every collector on. Three observers watch the
 * replay: report_series.c samples the counters over time, report_events.c reads the records of
 * processes, files and the machine, and a dry run notes which rules had events. The report is made
 * from these in memory. Its size depends on the number of charts and steps, not on the size of the
 * recording.
 *
 * The report replaces the output file when it is complete. So an interrupted run leaves no partial
 * report, and a report that is open elsewhere stays readable. A file of the same name that is no
 * report is not replaced, because FILE.html could be anything.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "config/builtin.h"
#include "config/problems.h"
#include "etwtool/report/report.h"
#include "etwtool/tool.h"
#include "exporter/health.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/setup.h"
#include "exporter/version.h"

/* ---- the page ---- */

/*
 * The page of etwtool report: page/report.html with its fields filled in.
 *
 * A field is a name in double braces, and a row of the table below adds its text. The page is one
 * file that loads nothing. It contains the document (report_json.c), which is its only data about
 * the recording, the style, and the scripts that draw the document. Without JavaScript the page
 * shows the Markdown (report_markdown.c). The Content Security Policy allows only these scripts and
 * styles, by their hashes. So if the name of a process or file became markup by a bug, it could
 * still not run, load or send anything.
 *
 * Nothing on the page depends on when or where it was made: the same recording gives the same
 * bytes.
 */

static const struct builtin_file *find_file(const char *name)
{
	size_t i = 0;

	while (i < builtin_report_file_count && strcmp(builtin_report_files[i].name, name) != 0) {
		i++;
	}
	assert(i < builtin_report_file_count);
	return &builtin_report_files[i];
}

/* The files that the page contains, in this order; the last is NULL. */
static const char *const styles[] = { "style", "report_style", NULL };
static const char *const scripts[] = { "chart", "report_page", "report_script", NULL };

static void add_hashes(struct etw_text *html, const char *const *names)
{
	for (; *names; names++) {
		size_t index = (size_t)(find_file(*names) - builtin_report_files);

		text_add_format(html, " '%s'", builtin_report_file_hashes[index]);
	}
}

static void add_policy(struct etw_text *html, const struct report *report)
{
	(void)report;
	text_add_string(html, "default-src 'none'; style-src");
	add_hashes(html, styles);
	text_add_string(html, "; script-src");
	add_hashes(html, scripts);
	text_add_string(html, "; base-uri 'none'; form-action 'none'");
}

static void add_styles(struct etw_text *html, const struct report *report)
{
	(void)report;
	for (const char *const *name = styles; *name; name++) {
		text_add_format(html, "<style>%s</style>\n", find_file(*name)->text);
	}
}

static void add_scripts(struct etw_text *html, const struct report *report)
{
	(void)report;
	for (const char *const *name = scripts; *name; name++) {
		text_add_format(html, "<script>%s</script>\n", find_file(*name)->text);
	}
}

/*
 * Escapes "<", because nothing else can end a script element or begin a comment in it. In JSON it
 * occurs only inside strings.
 */
static void add_data(struct etw_text *html, const struct report *report)
{
	struct etw_text data = { 0 };

	report_add_json(&data, report, true);
	for (size_t i = 0; i < data.size; i++) {
		if (data.data[i] == '<') {
			text_add_string(html, "\\u003c");
		} else {
			text_add_char(html, data.data[i]);
		}
	}
	html->failed |= data.failed;
	text_free(&data);
}

static void add_markdown(struct etw_text *html, const struct report *report)
{
	struct etw_text text = { 0 };
	char *line, *end;

	report_add_markdown(&text, report);
	/* Lines are added one by one, because text_add_html() would replace line feeds. */
	for (line = text.data; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		text_add_html(html, line);
		text_add_char(html, '\n');
	}
	html->failed |= text.failed;
	text_free(&text);
}

static const struct {
	const char *name;
	void (*add)(struct etw_text *html, const struct report *report);
} fields[] = {
	{ "policy", add_policy }, { "styles", add_styles },     { "scripts", add_scripts },
	{ "data", add_data },     { "markdown", add_markdown },
};

/* Adds the text of the field at `at`, "{{name}}", and returns its end. */
static const char *add_field(struct etw_text *html, const struct report *report, const char *at)
{
	const char *name = at + strlen("{{"), *end = strstr(name, "}}");

	for (size_t i = 0; end && i < sizeof fields / sizeof fields[0]; i++) {
		if (strlen(fields[i].name) == (size_t)(end - name) &&
		    memcmp(fields[i].name, name, (size_t)(end - name)) == 0) {
			fields[i].add(html, report);
			return end + strlen("}}");
		}
	}
	html->failed = true; /* page/report.html has a field without a row */
	return at + strlen(at);
}

/* Adds the HTML page. */
static void report_add_page(struct etw_text *html, const struct report *report)
{
	const char *at = find_file("report")->text, *field;

	text_add_format(html, REPORT_HTML_MARK "%s -->\n", program_version.number);
	while ((field = strstr(at, "{{")) != NULL) {
		text_add(html, at, (size_t)(field - at));
		at = add_field(html, report, field);
	}
	text_add_string(html, at);
}

struct report_request {
	struct tool_arguments arguments;
	unsigned format; /* index of formats */
	bool no_steps;
	const char *output; /* "-": standard output; NULL: FILE.html, or the ending of the format */
	const char *config;
	struct problems problems; /* problems of the configuration */
};

#define AT(member) .offset = offsetof(struct report_request, member)

enum { FORMAT_HTML, FORMAT_JSON, FORMAT_MARKDOWN };

static const char *const formats[] = { "html", "json", "markdown", NULL };
static const char *const marks[] = { REPORT_HTML_MARK, REPORT_JSON_MARK, REPORT_MARKDOWN_MARK };

static const struct command_option option_rows[] = {
	{ "--format", "FORMAT", "html (default), json or markdown", OPTION_WORD, AT(format),
	  .words = formats },
	{ "--no-steps", NULL, "json without the values over time: much smaller", OPTION_SET,
	  AT(no_steps) },
	{ "-o", "FILE",
	  "the report; also --output FILE; default: RECORDING.html, and for json and markdown "
	  "the standard output, -",
	  OPTION_TEXT, AT(output) },
	{ "--output", "FILE", NULL, OPTION_TEXT, AT(output) },
	{ "--config.file", "FILE", "collectors and limits, as for the exporter", OPTION_TEXT,
	  AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ NULL },
};

struct report_making {
	struct report report;
	struct setup setup;
	struct runner *runner; /* runs the replay */
};

/* ---- the replay ---- */

static void on_time(void *context, int64_t time)
{
	struct report_making *making = context;

	report_sample(&making->report.charted, making->setup.registry, time);
	if (making->report.charted.failed || making->report.events.failed) {
		runner_stop(making->runner);
	}
}

static bool complete_report(struct report_making *making, struct etw_error *err)
{
	struct report *report = &making->report;
	struct runner_session session;

	report_finish(&report->charted, making->setup.registry);
	if (report->charted.failed || report->events.failed) {
		return error_no_memory(err, "a report");
	}
	runner_session(making->runner, 0, &session);
	report->statistics = session.statistics;
	report->statistics.events_lost = session.lost_events;
	report->statistics.buffers_lost = session.lost_buffers;
	return true;
}

static void add_report(const struct report_request *request, struct etw_text *out,
		       const struct report *report)
{
	if (request->format == FORMAT_JSON) {
		report_add_json(out, report, !request->no_steps);
		text_add_char(out, '\n');
	} else if (request->format == FORMAT_MARKDOWN) {
		report_add_markdown(out, report);
	} else {
		report_add_page(out, report);
	}
}

static bool replay(struct report_making *making, struct report_request *request,
		   struct etw_text *out, struct etw_error *err)
{
	struct report *report = &making->report;
	struct dry_run *dry_run = dry_run_new(making->setup.rules, err);
	const struct pipeline_observer observer = { .context = &report->events,
						    .on_record = report_events_record,
						    .evicts = true,
						    .dry_run = dry_run };
	struct progress progress;
	const struct runner_options options = {
		.setup = &making->setup,
		.paths = request->arguments.words,
		.path_count = 1,
		.file = { .pointer_size = request->arguments.pointer_size },
		.on_time = on_time,
		.time_context = making,
		.observer = &observer,
		.progress = &progress,
	};
	struct runner *runner = dry_run ? runner_new(&options, err) : NULL;
	struct health *health = runner ? health_new(&making->setup, runner, err) : NULL;
	bool good;

	making->runner = runner;
	progress_start(&progress, "etwtool", tool_report.name, tool_report.output);
	good = health && report_events_init(&report->events, making->setup.registry, err) &&
	       runner_run(runner, err) && complete_report(making, err);
	progress_end(&progress);
	if (good) {
		report->registry = making->setup.registry;
		report->rules = making->setup.rules;
		report->manifests = &request->arguments.manifests;
		report->dry_run = dry_run;
		add_report(request, out, report);
		good = !out->failed || error_no_memory(err, "a report");
	}
	health_free(health);
	runner_free(runner);
	dry_run_free(dry_run);
	return good;
}

/* Adds the report. Returns false with an error. */
static bool make_report(struct report_request *request, struct etw_text *out, struct etw_error *err)
{
	const struct setup_options setup = { .manifests = &request->arguments.manifests,
					     .switches = request->arguments.switches.rows,
					     .switch_count = request->arguments.switches.count,
					     .every_collector = true };
	const char *path = request->arguments.words[0];
	struct report_making *making = calloc(1, sizeof *making);
	struct etw_file *file = making ? etw_file_open(path, 0, err) : NULL;
	bool good;

	if (!making) {
		return error_no_memory(err, "a report");
	}
	good = file &&
	       setup_open(&making->setup, setup_config(request->config, &request->problems, err),
			  &setup, err);
	tool_show_problems("report", &request->problems);
	if (good) {
		making->report.name = os_path_name(path);
		making->report.header = etw_file_header(file);
		making->report.clock_doubt = etw_file_clock_doubt(file);
		making->report.size_bytes = etw_file_size_bytes(file);
		making->report.charted.steps.guess = etw_file_header(file)->end_time;
		good = replay(making, request, out, err);
	}
	report_charted_done(&making->report.charted);
	report_events_done(&making->report.events);
	setup_close(&making->setup);
	etw_file_close(file);
	free(making);
	return good;
}

/* ---- the file ---- */

static bool may_write(const struct report_request *request, const char *path, struct etw_error *err)
{
	static const char refusal[] = "no report, so it stays as it is: remove it, or name another "
				      "file with -o";
	bool replaces;

	return tool_may_write(path, marks[request->format], refusal, &replaces, err);
}

static int write_report(struct report_request *request, const char *path, struct etw_error *err)
{
	bool to_file = strcmp(path, "-") != 0;
	struct etw_text out = { 0 };
	int status = TOOL_FAILED;

	if ((to_file && !may_write(request, path, err)) || !make_report(request, &out, err)) {
		status = err->code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	} else if (!to_file) {
		status = tool_write("report", &out) ? TOOL_DONE : TOOL_FAILED;
	} else if (tool_write_file(path, &out, err)) {
		struct etw_text line = { 0 };

		text_add_shown(&line, path);
		text_add_format(&line, ": %zu kB\n", (out.size + 999) / 1000);
		status = tool_print("report", &line);
	}
	text_free(&out);
	return status;
}

static int run(struct tool_arguments *arguments)
{
	struct report_request *request = (struct report_request *)arguments;
	struct etw_text path = { 0 };
	struct etw_error err = { 0 };
	int status = TOOL_FAILED;

	if (request->no_steps && request->format != FORMAT_JSON) {
		return tool_complain(TOOL_BAD_USAGE, "report", "--no-steps needs --format json");
	}
	if (!request->output && request->format != FORMAT_HTML) {
		request->output = "-";
	}
	if (!request->output && strcmp(arguments->words[0], "-") == 0) {
		return tool_complain(TOOL_BAD_USAGE, "report",
				     "the standard input has no name for the report: name it "
				     "with -o FILE");
	}
	text_add_string(&path, request->output ? request->output : arguments->words[0]);
	text_add_string(&path, request->output ? "" : ".html");
	if (path.failed) {
		error_no_memory(&err, "a name");
	} else {
		status = write_report(request, path.data, &err);
	}
	/* Problems of the configuration were shown before. */
	if (err.code != ETW_ERROR_NONE && status != TOOL_DONE &&
	    (request->problems.errors == 0 || err.code != ETW_ERROR_CONFIG)) {
		tool_complain(status, "report", "%s", err.text);
	}
	problems_done(&request->problems);
	text_free(&path);
	return status;
}

const struct tool_command tool_report = {
	.name = "report",
	.synopsis = "FILE",
	.about = "Write a report of a recording as one HTML file: who did what, and when",
	.more = "The page needs no network and no server: open it in a browser, print it, send it.\n"
		"json is the document that the page draws, for programs; markdown is short, for a ticket.\n"
		"A report has names of processes, files, users and machines as the recording has them.\n"
		"A file of the same name is replaced if it is a report of the same form, and else left alone.\n",
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_COLLECTORS,
	.words_most = 1,
	.output = OUTPUT_AT_END,
	.size = sizeof(struct report_request),
	.run = run,
};
