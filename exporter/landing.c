/* SPDX-License-Identifier: MIT */
/*
 * The sections of the landing page that the program writes: what was lost, the sources, the
 * collectors.
 *
 * The first sentence answers the question of an administrator at night: can the numbers be
 * trusted? Events can be lost in three ways. Windows counts events for which a session had no room.
 * It also counts buffers that it could not write or deliver; how many events they had is not known.
 * And the exporter skips parts of a recording that are damaged. All three are named with their
 * numbers, and when there are none, the page says this as well. Without a source that runs, nothing
 * can be said.
 */
#include "landing.h"

#include <inttypes.h>

#include "base/html.h"
#include "runner.h"
#include "setup.h"

/* ---- texts ---- */

/* A number with commas between thousands. */
static void add_count(struct text *html, uint64_t value)
{
	if (value >= 1000) {
		add_count(html, value / 1000);
		text_add_format(html, ",%03u", (unsigned)(value % 1000));
	} else {
		text_add_u64(html, value);
	}
}

/* "1 event", "1,234 events" */
static void add_counted(struct text *html, uint64_t count, const char *noun)
{
	add_count(html, count);
	text_add_format(html, " %s%s", noun, count == 1 ? "" : "s");
}

static void add_number_cell(struct text *html, uint64_t value)
{
	text_add_string(html, "<td class=\"n\">");
	add_count(html, value);
}

/* A word with a sign before it, so that colour is not all that says it. */
static void add_state_word(struct text *html, const char *class, const char *sign, const char *word)
{
	text_add_format(html, "<span class=\"%s\"><span aria-hidden=\"true\">%s</span> %s</span>",
			class, sign, word);
}

#define SIGN_GOOD "\xe2\x9c\x93" /* check mark */
#define SIGN_BAD  "\xe2\x9a\xa0" /* warning sign */
#define SIGN_OFF  "\xe2\x97\x8b" /* circle */

/* ---- losses ---- */

struct losses {
	uint64_t events;
	uint64_t buffers;
	uint64_t damaged; /* buffers and records that were skipped */
	size_t sources, up;
};

static struct losses losses_of(struct runner *runner)
{
	struct losses losses = { .sources = runner_session_count(runner) };

	for (size_t i = 0; i < losses.sources; i++) {
		struct runner_session session;

		runner_session(runner, i, &session);
		losses.events += session.lost_events;
		losses.buffers += session.lost_buffers + session.statistics.realtime_buffers_lost;
		losses.damaged += session.statistics.bad_buffers + session.statistics.bad_records;
		losses.up += session.up != 0;
	}
	return losses;
}

static void add_known_losses(struct text *html, const struct losses *losses)
{
	const char *between = "";

	if (losses->events > 0) {
		add_counted(html, losses->events, "event");
		between = ", ";
	}
	if (losses->buffers > 0) {
		text_add_string(html, between);
		add_counted(html, losses->buffers, "buffer");
		text_add_string(html, " with an unknown number of events");
		between = ", ";
	}
	if (losses->damaged > 0) {
		text_add_string(html, between);
		add_counted(html, losses->damaged, "damaged part");
		text_add_format(html, " of %s",
				losses->sources == 1 ? "the source" : "the sources");
	}
}

static void add_losses(struct text *html, struct runner *runner)
{
	bool live = runner_is_live(runner);
	struct losses losses = losses_of(runner);
	bool lost = losses.events > 0 || losses.buffers > 0 || losses.damaged > 0;
	const char *since = live ? "since the exporter started" :
				   "when the recordings were made, and in reading them";

	text_add_string(html, "<section aria-labelledby=\"losses-title\">\n"
			      "<h2 id=\"losses-title\">Losses</h2>\n<p class=\"sentence\">");
	if (lost) {
		add_state_word(html, "bad sentence", SIGN_BAD, "Lost: ");
		add_known_losses(html, &losses);
		text_add_format(html,
				", %s. All counters are too low by what these would have "
				"added.</p>\n",
				since);
	} else if (live && losses.up == 0) {
		add_state_word(html, "bad sentence", SIGN_BAD, "No session runs.");
		text_add_string(html, " No event arrives, so nothing is counted. The log of the "
				      "exporter says why a session does not start.</p>\n");
	} else {
		add_state_word(html, "good sentence", SIGN_GOOD, "No event was lost");
		text_add_format(html, " %s.</p>\n", since);
	}
	if (live && losses.up > 0 && losses.up < losses.sources) {
		text_add_string(html, "<p class=\"sentence\">");
		add_state_word(html, "bad sentence", SIGN_BAD, "");
		add_counted(html, losses.sources - losses.up, "session");
		text_add_format(html, " of %zu %s not run; its events are missing.</p>\n",
				losses.sources, losses.sources - losses.up == 1 ? "does" : "do");
	}
	text_add_string(html, "</section>\n");
}

/* ---- sources ---- */

static void add_source_state(struct text *html, const struct runner_session *session, bool live,
			     bool finished)
{
	if (live && session->up) {
		add_state_word(html, "good", SIGN_GOOD, "runs");
	} else if (live) {
		add_state_word(html, "bad", SIGN_BAD, "does not run");
	} else if (session->up) {
		add_state_word(html, "good", SIGN_GOOD, "is being replayed");
	} else {
		add_state_word(html, "off", SIGN_OFF, finished ? "replayed" : "not being replayed");
	}
}

static void add_source(struct text *html, const struct setup *setup, struct runner *runner,
		       size_t index, bool finished)
{
	struct runner_session session;
	uint64_t outcomes[OUTCOME_COUNT] = { 0 };
	uint64_t records = 0;

	runner_session(runner, index, &session);
	pipeline_add_outcomes(setup->registry, session.facts.name, outcomes);
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		records += outcomes[i];
	}
	text_add_string(html, "<tr><th scope=\"row\"><bdi>");
	text_add_html(html, session.facts.name);
	text_add_string(html, "</bdi><td>");
	text_add_html(html, session.facts.type);
	text_add_string(html, "<td>");
	add_source_state(html, &session, runner_is_live(runner), finished);
	add_number_cell(html, records);
	add_number_cell(html, session.lost_events);
	add_number_cell(html, session.lost_buffers + session.statistics.realtime_buffers_lost);
	text_add_char(html, '\n');
}

static void add_sources(struct text *html, const struct setup *setup, struct runner *runner,
			const char *config_file)
{
	bool live = runner_is_live(runner);
	struct runner_totals totals;

	runner_totals(runner, &totals);
	text_add_format(html,
			"<section aria-labelledby=\"sources-title\">\n"
			"<h2 id=\"sources-title\">%s</h2>\n"
			"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
			"aria-labelledby=\"sources-title\">\n<table>\n"
			"<caption>%s</caption>\n"
			"<thead><tr><th scope=\"col\">%s<th scope=\"col\">Kind"
			"<th scope=\"col\">State<th scope=\"col\" class=\"n\">Records"
			"<th scope=\"col\" class=\"n\">Lost events"
			"<th scope=\"col\" class=\"n\">Lost buffers\n<tbody>\n",
			live ? "Sessions" : "Recordings",
			live ? "The trace sessions of the exporter" :
			       "What is replayed in place of live sessions",
			live ? "Session" : "Recording");
	for (size_t i = 0; i < runner_session_count(runner); i++) {
		add_source(html, setup, runner, i, totals.finished != 0);
	}
	text_add_string(html, "</table>\n</div>\n<p class=\"note\">Configuration: <bdi>");
	text_add_html(html, config_file ? config_file : "built-in");
	text_add_string(html, "</bdi></p>\n</section>\n");
}

void landing_add_state(struct text *html, const struct setup *setup, struct runner *runner,
		       const char *config_file)
{
	add_losses(html, runner);
	add_sources(html, setup, runner, config_file);
}

/* ---- collectors ---- */

void landing_add_collectors(struct text *html, const struct rule_set *rules, const char *metrics)
{
	const struct collector_info *collector;

	text_add_string(html, "<section aria-labelledby=\"collectors-title\">\n"
			      "<h2 id=\"collectors-title\">Collectors</h2>\n<table>\n"
			      "<caption>What is counted. The name of a collector leads to its "
			      "metrics</caption>\n"
			      "<thead><tr><th scope=\"col\">Collector<th scope=\"col\">State"
			      "<th scope=\"col\">What it counts\n<tbody>\n");
	for (size_t i = 0; (collector = rule_set_collector(rules, i)) != NULL; i++) {
		text_add_string(html, "<tr><th scope=\"row\">");
		if (collector->on) {
			text_add_string(html, "<a href=\"");
			text_add_html(html, metrics);
			text_add_string(html, "?collect%5B%5D=");
			text_add_html(html, collector->name);
			text_add_string(html, "\">");
		}
		text_add_html(html, collector->name);
		text_add_string(html, collector->on ? "</a><td>" : "<td>");
		add_state_word(html, collector->on ? "good" : "off",
			       collector->on ? SIGN_GOOD : SIGN_OFF, collector->on ? "on" : "off");
		text_add_string(html, "<td>");
		text_add_html(html, collector->help);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n</section>\n");
}
