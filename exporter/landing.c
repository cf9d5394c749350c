/* SPDX-License-Identifier: MIT */
#include "landing.h"

#include <inttypes.h>

#include "base/html.h"
#include "runner.h"
#include "setup.h"

static void add_cell(struct text *html, const char *text)
{
	text_add_string(html, "<td>");
	text_add_html(html, text);
}

static void add_number(struct text *html, uint64_t value)
{
	text_add_format(html, "<td class=\"n\">%" PRIu64, value);
}

static const char *state_of(const struct runner_session *session, bool live, bool finished)
{
	if (live) {
		return session->up ? "runs" : "does not run";
	}
	return session->up ? "is being replayed" : finished ? "replayed" : "not being replayed";
}

static void add_sessions(struct text *html, const struct setup *setup, struct runner *runner)
{
	struct runner_totals totals;

	runner_totals(runner, &totals);
	text_add_string(html, "<h2>Sessions</h2>\n<table>\n"
			      "<tr><th>Session<th>Kind<th>State<th>Records<th>Lost events"
			      "<th>Lost buffers\n");
	for (size_t i = 0; i < runner_session_count(runner); i++) {
		struct runner_session session;
		uint64_t outcomes[OUTCOME_COUNT] = { 0 };
		uint64_t records = 0;

		runner_session(runner, i, &session);
		pipeline_add_outcomes(setup->registry, session.facts.name, outcomes);
		for (unsigned j = 0; j < OUTCOME_COUNT; j++) {
			records += outcomes[j];
		}
		text_add_string(html, "<tr>");
		add_cell(html, session.facts.name);
		add_cell(html, session.facts.type);
		add_cell(html, state_of(&session, runner_is_live(runner), totals.finished != 0));
		add_number(html, records);
		add_number(html, session.lost_events);
		add_number(html, session.lost_buffers + session.statistics.realtime_buffers_lost);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n");
}

static void add_collectors(struct text *html, const struct rule_set *rules)
{
	const struct collector_info *collector;

	text_add_string(html, "<h2>Collectors</h2>\n<table>\n"
			      "<tr><th>Collector<th>State<th>What it counts\n");
	for (size_t i = 0; (collector = rule_set_collector(rules, i)) != NULL; i++) {
		text_add_string(html, "<tr>");
		add_cell(html, collector->name);
		add_cell(html, collector->on ? "on" : "off");
		add_cell(html, collector->help);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n");
}

void landing_add(struct text *html, const struct setup *setup, struct runner *runner,
		 const char *config_file)
{
	text_add_string(html, "<p>Configuration: ");
	text_add_html(html, config_file ? config_file : "built-in");
	text_add_string(html, "</p>\n");
	add_sessions(html, setup, runner);
	add_collectors(html, setup->rules);
}
