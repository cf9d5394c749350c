/* SPDX-License-Identifier: MIT */
#include "tool/try_config.h"

#include <string.h>

#include "base/json.h"
#include "metrics/exposition.h"
#include "rules/engine/dry_run.h"
#include "rules/language/collector.h"
#include "tool/tool.h"

struct report {
	const struct try_options *options;
	struct text *out;
	struct json json; /* of options->json */
};

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* ---- text ---- */

static void add_count(struct text *out, const char *between, uint64_t count, const char *what)
{
	if (count > 0) {
		text_add_format(out, "%s%llu %s", between, (unsigned long long)count, what);
	}
}

static void add_text(struct text *out, const struct dry_run_rule *tried)
{
	const struct rule *rule = tried->rule;

	text_add_format(out, "  %s.%s <- %s (line %u): ", rule->collector->name, rule->metric->name,
			rule->event_at->text, rule->event_at->line);
	if (tried->events == 0) {
		text_add_string(out, "no such event in the recording\n");
		return;
	}
	text_add_format(out, "%llu event%s, %llu counted", (unsigned long long)tried->events,
			tried->events == 1 ? "" : "s", (unsigned long long)tried->counted);
	add_count(out, ", ", tried->left_out, "left out by a condition");
	add_count(out, ", ", tried->cut, "cut short");
	add_count(out, ", ", tried->wrong_type, "with a field of another type");
	for (size_t i = 0; i < tried->missing_count; i++) {
		text_add_format(out, "; '%s' missing in %llu", tried->missing[i].field,
				(unsigned long long)tried->missing[i].events);
	}
	text_add_char(out, '\n');
}

/* ---- JSON ---- */

static void add_json(struct json *json, const struct dry_run_rule *tried)
{
	const struct rule *rule = tried->rule;

	json_object_begin(json);
	json_member_string(json, "collector", rule->collector->name);
	json_member_string(json, "metric", rule->metric->name);
	json_member_string(json, "event", rule->event_at->text);
	json_member_u64(json, "line", rule->event_at->line);
	json_member_u64(json, "events", tried->events);
	json_member_u64(json, "counted", tried->counted);
	json_member_u64(json, "left_out", tried->left_out);
	json_member_u64(json, "cut_short", tried->cut);
	json_member_u64(json, "wrong_type", tried->wrong_type);
	json_key(json, "missing");
	json_object_begin(json);
	for (size_t i = 0; i < tried->missing_count; i++) {
		json_member_u64(json, tried->missing[i].field, tried->missing[i].events);
	}
	json_object_end(json);
	json_object_end(json);
}

/* ---- the whole ---- */

static void add_rules(struct report *report, const struct dry_run *dry_run)
{
	const struct dry_run_rule *tried;

	for (size_t i = 0; (tried = dry_run_at(dry_run, i)) != NULL; i++) {
		if (report->options->json) {
			add_json(&report->json, tried);
		} else {
			add_text(report->out, tried);
		}
	}
}

static void add_report(struct report *report, const struct recording *recording)
{
	const struct try_options *options = report->options;
	struct json *json = &report->json;
	struct text page = { 0 };

	exposition_write(recording_registry(recording), add_chunk, &page);
	if (!options->json) {
		text_add_format(report->out, "%s: tried on %s\nrules:\n", options->config,
				options->recording);
		add_rules(report, recording_dry_run(recording));
		text_add_string(report->out, "exposition:\n");
		text_add(report->out, page.data ? page.data : "", page.size);
	} else {
		json_init(json, report->out, false);
		json_object_begin(json);
		json_member_string(json, "config", options->config);
		json_member_string(json, "recording", options->recording);
		json_key(json, "rules");
		json_array_begin(json);
		add_rules(report, recording_dry_run(recording));
		json_array_end(json);
		json_key(json, "exposition");
		json_text(json, page.data ? page.data : "", page.size);
		json_object_end(json);
		text_add_char(report->out, '\n');
	}
	report->out->failed |= page.failed;
	text_free(&page);
}

bool try_config(const struct try_options *options, struct text *out, struct error *err)
{
	const struct recording_options opened = { .command = "check",
						  .path = options->recording,
						  .pointer_size = options->pointer_size,
						  .manifests = options->manifests,
						  .config_path = options->config };
	struct recording *recording = recording_open(&opened, err);
	struct report report = { .options = options, .out = out };
	bool done = recording && recording_run(recording, err);

	if (done) {
		tool_warn_of_damage("check", recording);
		add_report(&report, recording);
	}
	recording_close(recording);
	return done;
}
