/* SPDX-License-Identifier: MIT */
/*
 * etwtool doctor: shows what is wrong with a recording or missing in it, and how to make a better
 * one.
 *
 * For a recording, one replay with all built-in collectors (or those of --config.file) gathers
 * facts, and doctor_checks.c turns them into findings. The report has the findings, then a line for
 * each collector, then how to record what the requested collectors need. Requested are the
 * collectors that are on in the configuration, by default the built-in one, as changed by
 * --[no-]collector.NAME. For a configuration (a file whose name ends in .yaml or .yml) there is no
 * recording: only that last part is shown, with the providers of its sessions as well.
 *
 * The exit status is 0 even with findings, because they are the result. --strict makes it 1 if
 * there is a warning, for CI.
 */
#include <stdlib.h>
#include <string.h>

#include "config/problems.h"
#include "etwtool/doctor/doctor.h"
#include "etwtool/record_needs.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/setup.h"

struct doctor_request {
	struct tool_arguments arguments;
	const char *config, *profile; /* NULL: not given */
	bool strict, all;
};

/* ---- the profile ---- */

static bool write_profile(const struct doctor_request *request, const struct record_needs *needs,
			  struct etw_error *err)
{
	struct etw_text profile = { 0 };
	bool good;

	if (!request->profile) {
		return true;
	}
	if (record_needs_empty(needs)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "--profile: the requested collectors need nothing");
	}
	text_add_wprp(&profile, needs);
	good = tool_may_replace(request->profile, err) &&
	       tool_write_file(request->profile, &profile, err);
	text_free(&profile);
	return good;
}

/* ---- a recording ---- */

static void on_class(void *context, const struct etw_event_class *class)
{
	struct doctor *doctor = context;

	class_rows_class(&doctor->classes, class);
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	doctor_add_record(context, recording, record, class);
}

/* Reads the facts that only the header has. */
static bool read_header(struct doctor *doctor, const struct doctor_request *request,
			struct etw_error *err)
{
	struct etw_file *file =
		etw_file_open(request->arguments.words[0], request->arguments.pointer_size, err);

	if (!file) {
		return false;
	}
	doctor->header = *etw_file_header(file);
	doctor->header.logger_name = NULL;
	doctor->header.log_file_name = NULL;
	doctor->clock_doubt = etw_file_clock_doubt(file);
	etw_file_close(file);
	return true;
}

static bool add_requested(struct record_needs *needs, const struct doctor *doctor,
			  struct etw_error *err)
{
	for (size_t i = 0; i < doctor->collector_count; i++) {
		const struct collector_report *report = &doctor->collectors[i];

		if (report->requested &&
		    !record_needs_add_collector(needs, report->collector, doctor->manifests, err)) {
			return false;
		}
	}
	return true;
}

/* Returns the exit status of a report with these findings. */
static int status_of(const struct doctor_request *request, const struct findings *findings)
{
	for (size_t i = 0; i < findings->count && request->strict; i++) {
		if (findings->rows[i].severity == SEVERITY_WARNING) {
			return tool_complain(TOOL_FAILED, "doctor",
					     "--strict: the report has a warning");
		}
	}
	return TOOL_DONE;
}

/* Returns whether there was memory for all findings and their texts. */
static bool findings_complete(const struct findings *findings)
{
	bool complete = !findings->failed;

	for (size_t i = 0; i < findings->count; i++) {
		complete &= !findings->rows[i].what.failed && !findings->rows[i].to_do.failed;
	}
	return complete;
}

/* Call it after the run: fills in the collectors and the findings. Returns false without memory. */
static bool add_findings(struct doctor *doctor, const struct recording *recording,
			 bool requested_by_default, const struct collector_switches *switches,
			 struct etw_error *err)
{
	recording_statistics(recording, &doctor->source);
	recording_pipeline_statistics(recording, &doctor->pipeline);
	recording_outcomes(recording, doctor->outcomes);
	class_rows_sort(&doctor->classes);
	doctor_check(doctor);
	return doctor_report_collectors(doctor, recording, requested_by_default, switches, err) &&
	       (findings_complete(&doctor->findings) || error_no_memory(err, "the findings"));
}

static void findings_done(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		text_free(&findings->rows[i].what);
		text_free(&findings->rows[i].to_do);
	}
	text_free(&findings->lost.what);
	text_free(&findings->lost.to_do);
	free(findings->rows);
	*findings = (struct findings){ .rows = NULL };
}

static void doctor_done(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->collector_count; i++) {
		record_needs_done(&doctor->collectors[i].needs);
		record_needs_done(&doctor->collectors[i].missing);
	}
	free(doctor->collectors);
	class_rows_done(&doctor->classes);
	findings_done(&doctor->findings);
}

static bool report_on_recording(struct doctor_request *request, struct problems *problems,
				struct etw_text *out, int *status, struct etw_error *err)
{
	struct doctor doctor = { .path = request->arguments.words[0],
				 .profile = request->profile,
				 .all = request->all,
				 .times = RECORD_TIMES_NONE,
				 .previous = ETW_RECORD_NO_TIME,
				 .manifests = &request->arguments.manifests };
	const struct recording_options options = { .collectors = true,
						   .config_path = request->config,
						   .problems = problems,
						   .switches = &request->arguments.switches,
						   .every_collector = !request->config,
						   .context = &doctor,
						   .on_class = on_class,
						   .on_record = on_record };
	struct record_needs needs = { .flags = 0 };
	struct recording *recording = NULL;
	bool good = read_header(&doctor, request, err);

	if (good) {
		recording = recording_open(&request->arguments, request->arguments.words[0],
					   &options, err);
	}
	good = recording && recording_run(recording, err) &&
	       add_findings(&doctor, recording, !request->config, &request->arguments.switches,
			    err) &&
	       add_requested(&needs, &doctor, err) && write_profile(request, &needs, err);
	if (good) {
		(request->arguments.as_json ? doctor_add_json : doctor_add_text)(out, &doctor,
										 &needs);
		*status = status_of(request, &doctor.findings);
	}
	record_needs_done(&needs);
	doctor_done(&doctor);
	recording_close(recording);
	return good;
}

/* ---- a configuration ---- */

static bool add_configured(struct record_needs *needs, const struct setup *setup,
			   const struct etw_configured_manifests *manifests, struct etw_error *err)
{
	const struct rule_set *set = setup->rules;

	for (size_t i = 0; i < set->collector_count; i++) {
		if (set->infos[i].on &&
		    !record_needs_add_collector(needs, set->collectors[i], manifests, err)) {
			return false;
		}
	}
	for (size_t i = 0; i < setup->config->session_count; i++) {
		const struct config_session *session = &setup->config->sessions[i];

		for (size_t k = 0; k < session->provider_count; k++) {
			if (!record_needs_add_provider(needs, &session->providers[k], manifests,
						       err)) {
				return false;
			}
		}
	}
	return true;
}

static void add_configuration(struct etw_text *out, const struct doctor_request *request,
			      const struct setup *setup, const struct record_needs *needs)
{
	const char *path = request->arguments.words[0];
	struct etw_text names = { 0 };
	struct tool_json page;
	struct json *json;

	setup_add_collectors(setup, &names);
	text_add_string(&names, "");
	if (request->arguments.as_json) {
		json = tool_json_begin(&page);
		json_member_string(json, "config", path);
		json_member_string(json, "collectors", names.data);
		doctor_add_how_json(json, request->profile, needs);
		tool_json_end(&page, out);
	} else {
		text_add_shown(out, path);
		text_add_string(out, ": collectors on: ");
		text_add_string(out, names.size > 0 ? names.data : "none");
		text_add_char(out, '\n');
		doctor_add_how_text(out, request->profile, needs);
	}
	out->failed |= names.failed;
	text_free(&names);
}

static bool report_on_configuration(struct doctor_request *request, struct problems *problems,
				    struct etw_text *out, struct etw_error *err)
{
	struct etw_configured_manifests *manifests = &request->arguments.manifests;
	const struct setup_options options = { .manifests = manifests,
					       .live = true,
					       .switches = request->arguments.switches.rows,
					       .switch_count = request->arguments.switches.count };
	struct record_needs needs = { .flags = 0 };
	struct setup setup;
	bool good;

	if (!setup_open(&setup,
			config_load_or_collector(request->arguments.words[0], problems, err),
			&options, err)) {
		return false;
	}
	good = add_configured(&needs, &setup, manifests, err) &&
	       write_profile(request, &needs, err);
	if (good) {
		add_configuration(out, request, &setup, &needs);
	}
	record_needs_done(&needs);
	setup_close(&setup);
	return good;
}

/* ---- the command ---- */

#define AT(member) .offset = offsetof(struct doctor_request, member)

static const struct command_option option_rows[] = {
	{ "--profile", "FILE", "write the profile for wpr (.wprp)", OPTION_TEXT, AT(profile) },
	{ "--config.file", "FILE",
	  "for a recording: the collectors that this configuration switches on", OPTION_TEXT,
	  AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ "--all", NULL, "show the logman lines of all collectors, not only of requested ones",
	  OPTION_SET, AT(all) },
	{ "--strict", NULL, "exit status 1 if there is a warning", OPTION_SET, AT(strict) },
	{ NULL },
};

static bool is_configuration(const char *path)
{
	return text_ends_nocase(path, strlen(path), ".yaml", 5) ||
	       text_ends_nocase(path, strlen(path), ".yml", 4);
}

/* Returns whether a file that is not a readable recording may be a configuration. */
static bool may_be_configuration(const char *path, const struct etw_error *err)
{
	return err->code == ETW_ERROR_FORMAT && !is_configuration(path) &&
	       !text_ends_nocase(path, strlen(path), ".etl", 4);
}

static int run(struct tool_arguments *arguments)
{
	struct doctor_request *request = (struct doctor_request *)arguments;
	struct problems problems = { 0 };
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };
	int status = TOOL_DONE, printed;
	bool good;

	if (arguments->word_count == 0) {
		return tool_complain(TOOL_BAD_USAGE, "doctor",
				     "name a recording or a configuration");
	}
	if (!is_configuration(arguments->words[0])) {
		good = report_on_recording(request, &problems, &out, &status, &err);
	} else if (request->config) {
		return tool_complain(TOOL_BAD_USAGE, "doctor", "--config.file is for a recording");
	} else {
		good = report_on_configuration(request, &problems, &out, &err);
	}
	tool_show_problems("doctor", &problems);
	if (!good) {
		status = err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
		if (problems.errors == 0) {
			tool_complain(status, "doctor", "%s%s", err.text,
				      may_be_configuration(arguments->words[0], &err) ?
					      "; a configuration has a name that ends in .yaml" :
					      "");
		}
		problems_done(&problems);
		text_free(&out);
		return status;
	}
	status = request->strict && problems.count > 0 ? TOOL_FAILED : status;
	problems_done(&problems);
	printed = tool_print("doctor", &out);
	return printed != TOOL_DONE ? printed : status;
}

const struct tool_command tool_doctor = {
	.name = "doctor",
	.synopsis = "FILE|CONFIG",
	.about = "Report what a recording lacks, and how to record what collectors need",
	.more = "For a recording, the report lists losses, damage, missing names and schemas, and doubts\n"
		"about its clock, each with what to do; which collectors it feeds; and how to record what\n"
		"the requested collectors need (those that are on by default or in --config.file). The\n"
		"last lines say what to do first. For a configuration (.yaml, .yml), it shows how to\n"
		"record what its collectors and the providers of its sessions need.\n"
		"\n"
		"A recording may have more events than the rules count: profiles and logman have no\n"
		"filters by event id.\n"
		"\n"
		"Exit status: 0 the report is complete, also with findings; 1 the recording cannot be\n"
		"read, the profile cannot be written, or --strict is given and there is a warning; 2 bad\n"
		"usage or configuration.\n",
	.options = option_rows,
	.shared = TOOL_COLLECTORS | TOOL_TEXT_OR_JSON | TOOL_SCHEMA | TOOL_POINTER_SIZE,
	.words_most = 1,
	.too_many = "one recording or configuration at a time, not also",
	.size = sizeof(struct doctor_request),
	.run = run,
};
