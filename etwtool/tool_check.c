/* SPDX-License-Identifier: MIT */
/*
 * etwtool check FILE: checks whether the exporter would start with a configuration, and lists the
 * families of its collectors.
 *
 * With a recording the configuration is tried on it. The pipeline of the exporter replays the
 * recording with a dry run of its rules. The dry run notes for each rule how many events it applies
 * to, how many of them it counted, and why it did not count the others. The report lists these
 * numbers, as text or as JSON, and ends with the exposition that a scrape would return. With a
 * number of hosts it lists the cost of each family instead (budget.c).
 *
 * Everything that is wrong with a configuration is reported as lines "file:line:column: sentence"
 * without a prefix, because editors read that form. The exit status is then that of bad usage, so
 * that a script can distinguish it from a recording that cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/files.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/os.h"
#include "base/print.h"
#include "base/text.h"
#include "config/config.h"
#include "config/problems.h"
#include "config/yaml.h"
#include "etwtool/budget.h"
#include "etwtool/class_rows.h"
#include "etwtool/recording.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/collector.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/setup.h"
#include "exporter/track/names.h"

/* ---- names of processes ---- */

enum { IDS_SHOWN = 8 };

/* The texts are those of the registry. */
struct process_row {
	const char *name, *image;
	uint64_t processes;
	uint32_t ids[IDS_SHOWN]; /* of the first ones */
};

struct process_rows {
	const struct process_names *rules;
	struct process_row *rows; /* owned */
	size_t count, capacity;
	bool no_memory;
};

static void add_process(void *context, uint32_t process_id, const char *name, const char *image)
{
	struct process_rows *all = context;
	struct process_row *row, *rows;
	size_t i = 0;

	if (name == image && !process_names_ask_for(all->rules, image)) {
		return;
	}
	/* The same text of the registry is the same pointer. */
	while (i < all->count && (all->rows[i].name != name || all->rows[i].image != image)) {
		i++;
	}
	if (i == all->count) {
		rows = array_grow(all->rows, &all->capacity, all->count, sizeof *rows);
		if (!rows) {
			all->no_memory = true;
			return;
		}
		all->rows = rows;
		rows[all->count++] = (struct process_row){ .name = name, .image = image };
	}
	row = &all->rows[i];
	if (row->processes < IDS_SHOWN) {
		row->ids[row->processes] = process_id;
	}
	row->processes++;
}

static int by_id(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int by_name(const void *left, const void *right)
{
	const struct process_row *a = left, *b = right;
	int order = strcmp(a->image, b->image);

	return order != 0 ? order : strcmp(a->name, b->name);
}

static size_t shown_ids(const struct process_row *row)
{
	return row->processes < IDS_SHOWN ? (size_t)row->processes : IDS_SHOWN;
}

static struct process_rows rows_of(const struct recording *recording)
{
	struct process_rows all = { .rules = recording_setup(recording)->process_names };

	if (all.rules) {
		recording_each_process(recording, add_process, &all);
	}
	for (size_t i = 0; i < all.count; i++) {
		qsort(all.rows[i].ids, shown_ids(&all.rows[i]), sizeof all.rows[i].ids[0], by_id);
	}
	if (all.count > 0) {
		qsort(all.rows, all.count, sizeof *all.rows, by_name);
	}
	return all;
}

/* Adds a section of a report; nothing if the configuration gives no names. */
static void process_rows_text(struct etw_text *out, const struct recording *recording)
{
	struct process_rows all = rows_of(recording);

	if (all.rules) {
		text_add_string(out, "names of processes:\n");
	}
	for (size_t i = 0; i < all.count; i++) {
		const struct process_row *row = &all.rows[i];
		size_t shown = shown_ids(row);

		text_add_string(out, "  ");
		text_add_shown(out, row->image);
		if (row->name == row->image) {
			text_add_string(out, ": no rule matches");
		} else {
			text_add_string(out, " -> ");
			text_add_shown(out, row->name);
		}
		text_add_format(out, ", %" PRIu64 " process%s:", row->processes,
				row->processes == 1 ? "" : "es");
		for (size_t j = 0; j < shown; j++) {
			text_add_format(out, " %" PRIu32, row->ids[j]);
		}
		text_add_string(out, row->processes > shown ? " …\n" : "\n");
	}
	out->failed |= all.no_memory;
	free(all.rows);
}

/* Adds the member "processes" to an open object. */
static void process_rows_json(struct json *json, const struct recording *recording)
{
	struct process_rows all = rows_of(recording);

	json_member_array(json, "processes");
	for (size_t i = 0; i < all.count; i++) {
		const struct process_row *row = &all.rows[i];

		json_object_begin(json);
		json_member_string(json, "image", row->image);
		json_member_string(json, "name", row->name);
		json_member_u64(json, "processes", row->processes);
		json_member_array(json, "process_ids");
		for (size_t j = 0; j < shown_ids(row); j++) {
			json_u64(json, row->ids[j]);
		}
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	free(all.rows);
}

struct check_request {
	struct tool_arguments arguments;
	const char *recording; /* NULL: check only the configuration */
	uint64_t hosts;        /* 0: the report is about rules */
	bool strict;
	struct problems problems;
	/* Facts about the recording. */
	struct record_times times;
	struct class_rows classes;
	size_t unfit; /* unfit rules; only those of collectors that are not built in */
};

/* ---- a configuration alone ---- */

static void add_collectors(struct etw_text *out, const struct rule_set *set, bool on)
{
	const struct collector_info *info;
	const char *between = " ";

	text_add_string(out, on ? "collectors on:" : "collectors off:");
	for (size_t i = 0; (info = rule_set_collector(set, i)) != NULL; i++) {
		if (info->on == on) {
			text_add_format(out, "%s%s", between, info->name);
			between = ", ";
		}
	}
	text_add_char(out, '\n');
}

static void add_family(struct etw_text *out, const struct declared_family *family)
{
	text_add_format(out, "  %s %s", family_type_name(family->metric->type),
			family->metric->name);
	for (size_t i = 0; i < family->label_count; i++) {
		text_add_format(out, "%s%s", i == 0 ? "{" : ", ", family->labels[i]);
	}
	text_add_string(out, family->label_count > 0 ? "}\n" : "\n");
}

/*
 * Warns about settings that make the flight recorder useless. The folder need only exist where the
 * exporter runs, which may be another machine; there --check-config refuses the configuration.
 */
static void warn_of_recorder(const struct setup *setup)
{
	const struct config *config = setup->config;
	const struct yaml_node *recorder = yaml_find(yaml_root(config->tree), "recorder");
	char *dir = config->recorder.dir ? file_beside(config->path, config->recorder.dir) : NULL;

	if (dir && !file_is_folder(dir)) {
		yaml_warning(config->tree, yaml_find(recorder, "dir"),
			     "recorder: dir: '%s' is not a folder here", dir);
	}
	free(dir);
	recorder_rules_warn(setup);
}

static bool describe_configuration(struct check_request *request, const char *path,
				   struct etw_text *out, struct etw_error *err)
{
	const struct setup_options options = { .manifests = &request->arguments.manifests,
					       .switches = request->arguments.switches.rows,
					       .switch_count = request->arguments.switches.count,
					       .live = true };
	struct setup setup;
	const struct rule_set *set;

	if (!setup_open(&setup, config_load_or_collector(path, &request->problems, err), &options,
			err)) {
		return false;
	}
	warn_of_recorder(&setup);
	set = setup.rules;
	text_add_shown(out, path);
	text_add_string(out, ": good\n");
	add_collectors(out, set, true);
	add_collectors(out, set, false);
	text_add_string(out, "families of the collectors that are on:\n");
	for (size_t i = 0; i < set->family_count; i++) {
		if (set->families[i].family) {
			add_family(out, &set->families[i]);
		}
	}
	setup_close(&setup);
	return true;
}

/* ---- with a recording ---- */

static void add_count(struct etw_text *out, uint64_t count, const char *what)
{
	if (count > 0) {
		text_add_format(out, ", %" PRIu64 " %s", count, what);
	}
}

/*
 * For a rule whose event the recording lacks: returns a similar name of an event that it has, or
 * NULL.
 */
static const char *meant_event(const struct check_request *request, const struct rule *rule)
{
	enum { NEAR_MISS = 2 };
	const char *text = rule->event_at->text, *best = NULL;
	struct nearest whole = { .word = text, .size = strlen(text), .most = NEAR_MISS };
	struct nearest event = { .word = NULL };

	for (size_t i = 0; i < request->classes.count; i++) {
		const struct class_row *row = &request->classes.rows[i];
		const char *before = event.best;
		size_t size = strlen(row->provider);

		nearest_offer(&whole, row->name);
		/* An event of the rule's provider may be less similar. */
		if (size < whole.size && text[size] == '/' &&
		    text_equal_nocase(text, size, row->provider, size)) {
			event.word = text + size + 1;
			event.size = whole.size - size - 1;
			nearest_offer(&event, row->event);
			best = event.best != before ? row->name : best;
		}
	}
	return best ? best : whole.best;
}

/* For a field that the rule's event lacks: returns the nearest name of a field, or NULL. */
static const char *meant_field(const struct check_request *request, const char *field,
			       const struct rule *rule)
{
	const char *event = rule->event_at->text;
	struct nearest nearest = { .word = field, .size = strlen(field) };

	for (size_t i = 0; i < request->classes.count; i++) {
		const struct class_row *row = &request->classes.rows[i];

		if (!row->schema ||
		    !text_equal_nocase(row->name, strlen(row->name), event, strlen(event))) {
			continue;
		}
		for (unsigned k = 0; k < row->schema->field_count; k++) {
			nearest_offer(&nearest, row->schema->fields[k].name);
		}
	}
	return nearest.best;
}

static void add_meant(struct etw_text *out, const char *meant)
{
	if (meant) {
		text_add_string(out, "; did you mean '");
		text_add_shown(out, meant);
		text_add_string(out, "'?");
	}
}

static void add_rule_text(struct etw_text *out, const struct check_request *request,
			  const struct dry_run_rule *result)
{
	const struct rule *rule = result->rule;

	text_add_format(out, "  %s.%s <- ", rule->collector->name, rule->metric->name);
	text_add_shown(out, rule->event_at->text);
	text_add_format(out, " (line %u): ", rule->event_at->line);
	if (result->events == 0) {
		text_add_string(out, "no such event in the recording");
		add_meant(out, meant_event(request, rule));
		text_add_char(out, '\n');
		return;
	}
	text_add_format(out, "%" PRIu64 " event%s, %" PRIu64 " counted", result->events,
			result->events == 1 ? "" : "s", result->counted);
	add_count(out, result->left_out, "left out by a condition");
	add_count(out, result->cut, "cut short");
	add_count(out, result->wrong_type, "with a field of another type");
	for (size_t i = 0; i < result->missing_count; i++) {
		text_add_string(out, "; '");
		text_add_shown(out, result->missing[i].field);
		text_add_format(out, "' missing in %" PRIu64, result->missing[i].events);
		add_meant(out, meant_field(request, result->missing[i].field, rule));
	}
	text_add_char(out, '\n');
}

static void add_rule_json(struct json *json, const struct check_request *request,
			  const struct dry_run_rule *result)
{
	const struct rule *rule = result->rule;
	const char *meant = result->events == 0 ? meant_event(request, rule) : NULL;

	json_object_begin(json);
	json_member_string(json, "collector", rule->collector->name);
	json_member_string(json, "metric", rule->metric->name);
	json_member_string(json, "event", rule->event_at->text);
	json_member_u64(json, "line", rule->event_at->line);
	json_member_u64(json, "events", result->events);
	json_member_u64(json, "counted", result->counted);
	json_member_u64(json, "left_out", result->left_out);
	json_member_u64(json, "cut_short", result->cut);
	json_member_u64(json, "wrong_type", result->wrong_type);
	json_member_object(json, "missing");
	for (size_t i = 0; i < result->missing_count; i++) {
		json_member_u64(json, result->missing[i].field, result->missing[i].events);
	}
	json_object_end(json);
	if (meant) {
		json_member_string(json, "did_you_mean", meant);
	}
	json_object_end(json);
}

/*
 * Adds the exposition for people: labels may contain anything, so they are escaped, but lines stay.
 */
static void add_exposition_shown(struct etw_text *out, const struct etw_text *page)
{
	const char *line = page->data, *end;

	while (line && (end = strchr(line, '\n')) != NULL) {
		text_add_shown_bytes(out, line, (size_t)(end - line));
		text_add_char(out, '\n');
		line = end + 1;
	}
}

static void add_report(const struct check_request *request, const char *path,
		       const struct recording *recording, struct etw_text *out)
{
	const struct dry_run *dry_run = recording_dry_run(recording);
	const struct dry_run_rule *result;
	struct etw_text page = { 0 };
	struct json json;

	text_add_exposition(&page, recording_registry(recording));
	if (!request->arguments.as_json) {
		text_add_shown(out, path);
		text_add_string(out, ": tried on ");
		text_add_shown(out, request->recording);
		text_add_string(out, "\nrules:\n");
		for (size_t i = 0; (result = dry_run_at(dry_run, i)) != NULL; i++) {
			add_rule_text(out, request, result);
		}
		process_rows_text(out, recording);
		text_add_string(out, "exposition:\n");
		add_exposition_shown(out, &page);
		goto done;
	}
	json_init(&json, out, false);
	json_object_begin(&json);
	json_member_string(&json, "config", path);
	json_member_string(&json, "recording", request->recording);
	json_member_array(&json, "rules");
	for (size_t i = 0; (result = dry_run_at(dry_run, i)) != NULL; i++) {
		add_rule_json(&json, request, result);
	}
	json_array_end(&json);
	process_rows_json(&json, recording);
	json_key(&json, "exposition");
	json_text(&json, page.data ? page.data : "", page.size);
	json_object_end(&json);
	text_add_char(out, '\n');

done:
	out->failed |= page.failed;
	text_free(&page);
}

static void add_cost(const struct check_request *request, const char *path,
		     const struct recording *recording, uint64_t cpu_ns, struct etw_text *out)
{
	const struct budget_input input = {
		.config = path,
		.recording = request->recording,
		.registry = recording_registry(recording),
		.dry_run = recording_dry_run(recording),
		.hosts = request->hosts,
		.records = request->times.records,
		.duration_100ns = etw_time_between(request->times.first, request->times.last),
		.cpu_ns = cpu_ns,
	};

	add_budget(out, &input, request->arguments.as_json);
}

static void on_class(void *context, const struct etw_event_class *class)
{
	struct check_request *request = context;

	class_rows_class(&request->classes, class);
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct check_request *request = context;

	(void)recording;
	(void)class;
	record_times_add(&request->times, record);
}

/*
 * Counts rules that do not fit the recording. Built-in collectors do not count, because a recording
 * without their events is no mistake of the configuration.
 */
static void count_unfit(struct check_request *request, const struct recording *recording)
{
	const struct dry_run *dry_run = recording_dry_run(recording);
	const struct dry_run_rule *result;

	for (size_t i = 0; (result = dry_run_at(dry_run, i)) != NULL; i++) {
		request->unfit += !result->rule->collector->builtin &&
				  (result->events == 0 || result->missing_count > 0 ||
				   result->wrong_type > 0);
	}
}

static bool try_on_recording(struct check_request *request, const char *path, struct etw_text *out,
			     struct etw_error *err)
{
	const struct recording_options options = { .config_path = path,
						   .collector_too = true,
						   .switches = &request->arguments.switches,
						   .live = true,
						   .problems = &request->problems,
						   .context = request,
						   .on_class = on_class,
						   .on_record = on_record };
	struct recording *recording =
		recording_open(&request->arguments, request->recording, &options, err);
	uint64_t start_ns = os_thread_cpu_ns();
	bool done;

	request->times = RECORD_TIMES_NONE;
	done = recording && recording_run(recording, err);
	if (done && request->hosts > 0) {
		add_cost(request, path, recording, os_thread_cpu_ns() - start_ns, out);
	} else if (done) {
		add_report(request, path, recording, out);
	}
	if (done) {
		warn_of_recorder(recording_setup(recording));
		count_unfit(request, recording);
	}
	recording_close(recording);
	return done;
}

/* ---- the command ---- */

static const struct command_option option_rows[] = {
	{ "--with", "FILE", "try the rules on a recording", OPTION_TEXT,
	  .offset = offsetof(struct check_request, recording) },
	{ "--hosts", "N", "with --with: report what each family costs on N hosts", OPTION_COUNT,
	  .offset = offsetof(struct check_request, hosts) },
	{ "--strict", NULL, "exit status 1 if there is a warning or a rule that does not fit",
	  OPTION_SET, .offset = offsetof(struct check_request, strict) },
	{ NULL },
};

/* The sentence already has its position and "warning:". */
static void show_problem(void *context, const char *sentence, bool warning)
{
	(void)context;
	(void)warning;
	print_failure("%s", sentence);
}

static int run(struct tool_arguments *arguments)
{
	struct check_request *request = (struct check_request *)arguments;
	/* "check config FILE" is an older spelling. */
	size_t skipped = arguments->word_count > 0 && strcmp(arguments->words[0], "config") == 0;
	const char *path = arguments->words[skipped];
	struct etw_text out = { 0 };
	struct etw_error err = { 0 };
	bool good, warned;
	int status;

	if (arguments->word_count != skipped + 1) {
		return tool_complain(TOOL_BAD_USAGE, "check", "takes one configuration file");
	}
	if (text_ends_nocase(path, strlen(path), ".etl", 4)) {
		return tool_complain(TOOL_BAD_USAGE, "check",
				     "%s is a recording; etwtool check CONFIG --with %s tries a "
				     "configuration on it",
				     path, path);
	}
	if (arguments->as_json && !request->recording) {
		return tool_complain(TOOL_BAD_USAGE, "check", "--format needs --with FILE");
	}
	if (request->hosts > 0 && !request->recording) {
		return tool_complain(TOOL_BAD_USAGE, "check", "--hosts needs --with FILE");
	}
	good = (request->recording ? try_on_recording : describe_configuration)(request, path, &out,
										&err);
	problems_show(&request->problems, show_problem, NULL);
	if (!good && request->problems.errors == 0) {
		print_failure("%s", err.text);
	}
	warned = request->problems.count > 0;
	problems_done(&request->problems);
	if (!good) {
		text_free(&out);
		return err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	}
	status = tool_print("check", &out);
	if (request->strict && request->unfit > 0) {
		return tool_complain(TOOL_FAILED, "check",
				     "--strict: %zu rule%s not fit the recording", request->unfit,
				     request->unfit == 1 ? " does" : "s do");
	}
	return status == TOOL_DONE && request->strict && warned ? TOOL_FAILED : status;
}

static void done(struct tool_arguments *arguments)
{
	class_rows_done(&((struct check_request *)arguments)->classes);
}

const struct tool_command tool_check = {
	.name = "check",
	.synopsis = "FILE",
	.about = "Check a configuration and its collectors",
	.more = "With a recording, the report lists for each rule how many events match it, how many\n"
		"of them it counted, and why it did not count the others. With --hosts it lists for\n"
		"each family its series, samples a second at a scrape interval of 15 s, bytes of a\n"
		"scrape, memory and processor time.\n"
		"\n"
		"Exit status: 0 the exporter starts with the configuration; 1 the recording cannot be\n"
		"read, or --strict is given and there is a warning, or a rule of the configuration's own\n"
		"collectors that does not fit the recording: its event or a field is not there, or a\n"
		"field has another type; 2 bad usage or configuration.\n",
	.options = option_rows,
	.shared = TOOL_TEXT_OR_JSON | TOOL_SCHEMA | TOOL_POINTER_SIZE | TOOL_COLLECTORS,
	.words_most = 2,
	.too_many = "takes one configuration file, not also",
	.size = sizeof(struct check_request),
	.run = run,
	.done = done,
};
