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
#include "exporter/landing.h"

#include <inttypes.h>

#include "base/text.h"
#include "exporter/runner.h"
#include "exporter/setup.h"

/* ---- texts ---- */

/* Adds a number with a comma before each group of three digits. */
static void add_count(struct etw_text *html, uint64_t value)
{
	if (value >= 1000) {
		add_count(html, value / 1000);
		text_add_format(html, ",%03u", (unsigned)(value % 1000));
	} else {
		text_add_u64(html, value);
	}
}

/* Adds "1 event" or "1,234 events". */
static void add_counted(struct etw_text *html, uint64_t count, const char *noun)
{
	add_count(html, count);
	text_add_format(html, " %s%s", noun, count == 1 ? "" : "s");
}

static void add_number_cell(struct etw_text *html, uint64_t value)
{
	text_add_string(html, "<td class=\"n\">");
	add_count(html, value);
}

/* Adds the word of a state after a sign, for readers who cannot distinguish the colours. */
static void add_state_word(struct etw_text *html, const char *class, const char *sign,
			   const char *word)
{
	text_add_format(html, "<span class=\"%s\"><span aria-hidden=\"true\">%s</span> %s</span>",
			class, sign, word);
}

#define SIGN_GOOD "\xe2\x9c\x93" /* check mark */
#define SIGN_BAD  "\xe2\x9a\xa0" /* warning sign */
#define SIGN_OFF  "\xe2\x97\x8b" /* circle */

/* ---- losses ---- */

static struct landing_losses losses_of(struct runner *runner)
{
	struct landing_losses losses = { .live = runner_is_live(runner) };

	for (size_t i = 0; i < runner_session_count(runner); i++) {
		struct runner_session session;

		runner_session(runner, i, &session);
		losses.events += session.lost_events;
		losses.buffers += session.lost_buffers + session.statistics.realtime_buffers_lost;
		losses.damaged += session.statistics.bad_buffers + session.statistics.bad_records;
		losses.sources += !session.gone;
		losses.up += session.up != 0;
	}
	return losses;
}

/* Adds "5 events, 1 buffer with an unknown number of events, 2 damaged places". */
static void add_known_losses(struct etw_text *html, const struct landing_losses *losses)
{
	const struct {
		uint64_t count;
		const char *noun, *more;
	} parts[] = {
		{ losses->events, "event", "" },
		{ losses->buffers, "buffer", " with an unknown number of events" },
		{ losses->damaged, "damaged place", losses->live ? "" : " of a recording" },
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (parts[i].count > 0) {
			text_add_string(html, between);
			add_counted(html, parts[i].count, parts[i].noun);
			text_add_string(html, parts[i].more);
			between = ", ";
		}
	}
}

void landing_add_losses(struct etw_text *html, const struct landing_losses *losses)
{
	bool lost = losses->events > 0 || losses->buffers > 0 || losses->damaged > 0;
	const char *since = losses->live ? "since the exporter started" :
			    lost         ? "when the recordings were made or read" :
					   "when the recordings were made, nor in reading them";
	size_t down = losses->sources - losses->up;

	text_add_string(html, "<p class=\"sentence\">");
	if (lost) {
		add_state_word(html, "bad sentence", SIGN_BAD, "Lost");
		text_add_format(html, " %s: ", since);
		add_known_losses(html, losses);
		text_add_string(html, ". The counters are too low by what these would have added.");
	} else if (losses->live && losses->up == 0) {
		add_state_word(html, "bad sentence", SIGN_BAD, "No session runs.");
		text_add_string(html, " No event arrives, so nothing is counted. The log of the "
				      "exporter says why.");
	} else {
		add_state_word(html, "good sentence", SIGN_GOOD, "No event was lost");
		text_add_format(html, " %s.", since);
	}
	text_add_string(html, "</p>\n");
	if (losses->live && down > 0 && (losses->up > 0 || lost)) {
		text_add_string(html, "<p class=\"sentence\">");
		add_state_word(html, "bad sentence", SIGN_BAD, "Events are missing:");
		text_add_char(html, ' ');
		add_counted(html, down, "session");
		text_add_format(html, " of %zu %s not run.</p>\n", losses->sources,
				down == 1 ? "does" : "do");
	}
}

static void add_losses(struct etw_text *html, struct runner *runner)
{
	const struct landing_losses losses = losses_of(runner);

	text_add_string(html, "<section aria-labelledby=\"losses-title\">\n"
			      "<h2 id=\"losses-title\">Losses</h2>\n");
	landing_add_losses(html, &losses);
	text_add_string(html, "</section>\n");
}

/* ---- sources ---- */

static void add_source_state(struct etw_text *html, const struct runner_session *session, bool live,
			     bool finished)
{
	if (live && session->up) {
		add_state_word(html, "good", SIGN_GOOD, "runs");
	} else if (live) {
		add_state_word(html, "bad", SIGN_BAD, "does not run");
	} else if (session->up) {
		add_state_word(html, "good", SIGN_GOOD, "replaying");
	} else {
		add_state_word(html, "off", SIGN_OFF, finished ? "replayed" : "waits");
	}
}

static void add_lost_cell(struct etw_text *html, uint64_t events, uint64_t buffers)
{
	text_add_string(html, "<td class=\"n\">");
	if (events > 0 || buffers == 0) {
		add_counted(html, events, "event");
	}
	text_add_string(html, events > 0 && buffers > 0 ? ",<br>" : "");
	if (buffers > 0) {
		add_counted(html, buffers, "buffer");
	}
}

static void add_source(struct etw_text *html, const struct setup *setup, struct runner *runner,
		       size_t index, bool finished)
{
	bool live = runner_is_live(runner);
	struct runner_session session;
	uint64_t outcomes[OUTCOME_COUNT] = { 0 };
	uint64_t records = 0;

	runner_session(runner, index, &session);
	if (session.gone) {
		return;
	}
	pipeline_add_outcomes(setup->registry, session.facts.name, outcomes);
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		records += outcomes[i];
	}
	text_add_string(html, "<tr><th scope=\"row\"><bdi>");
	text_add_html(html, session.facts.name);
	text_add_string(html, "</bdi>");
	if (live) {
		text_add_string(html, "<small>");
		text_add_html(html, session.facts.type);
		text_add_string(html, "</small>");
	}
	text_add_string(html, "<td>");
	add_source_state(html, &session, live, finished);
	add_number_cell(html, records);
	add_lost_cell(html, session.lost_events,
		      session.lost_buffers + session.statistics.realtime_buffers_lost);
	text_add_char(html, '\n');
}

static void add_sources(struct etw_text *html, const struct setup *setup, struct runner *runner,
			const char *config_file)
{
	bool live = runner_is_live(runner);
	struct runner_totals totals;

	runner_totals(runner, &totals);
	text_add_format(
		html,
		"<section aria-labelledby=\"sources-title\">\n"
		"<h2 id=\"sources-title\">%s</h2>\n"
		"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
		"aria-labelledby=\"sources-title\">\n<table class=\"sources\">\n"
		"<caption>%s</caption>\n"
		"<thead><tr><th scope=\"col\">%s<th scope=\"col\">State<th scope=\"col\" class=\"n\">Records"
		"<th scope=\"col\" class=\"n\">Lost\n<tbody>\n",
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

void landing_add_state(struct etw_text *html, const struct setup *setup, struct runner *runner,
		       const char *config_file)
{
	add_losses(html, runner);
	add_sources(html, setup, runner, config_file);
}

/* ---- collectors ---- */

/* Adds a name in which a browser may break the line after each underscore. */
static void add_breakable(struct etw_text *html, const char *name)
{
	for (; *name != '\0'; name++) {
		const char character[] = { *name, '\0' };

		text_add_html(html, character);
		text_add_string(html, *name == '_' ? "<wbr>" : "");
	}
}

/* Adds a help text, in which a pair of backticks encloses code, as in Markdown. */
static void add_help(struct etw_text *html, const char *help)
{
	struct etw_text escaped = { 0 };
	const char *at, *tick, *end;

	text_add_html(&escaped, help);
	at = escaped.data ? escaped.data : "";
	while ((tick = strchr(at, '`')) != NULL && (end = strchr(tick + 1, '`')) != NULL) {
		text_add(html, at, (size_t)(tick - at));
		text_add_string(html, "<code>");
		text_add(html, tick + 1, (size_t)(end - tick - 1));
		text_add_string(html, "</code>");
		at = end + 1;
	}
	text_add_string(html, at);
	html->failed |= escaped.failed;
	text_free(&escaped);
}

static void add_collector(struct etw_text *html, const struct collector_info *collector,
			  const char *metrics)
{
	text_add_string(html, "<tr><th scope=\"row\">");
	if (collector->on) {
		text_add_string(html, "<a href=\"");
		text_add_html(html, metrics);
		text_add_string(html, "?collect%5B%5D=");
		text_add_html(html, collector->name);
		text_add_string(html, "\">");
	}
	add_breakable(html, collector->name);
	text_add_string(html, collector->on ? "</a><td>" : "<td>");
	add_help(html, collector->help);
	text_add_char(html, '\n');
}

/* Adds the table of the collectors that are on, or of those that are off. Returns the number of its
 * rows. */
static size_t add_collector_table(struct etw_text *html, const struct rule_set *rules, bool on,
				  const char *metrics)
{
	const struct collector_info *collector;
	size_t count = 0;

	text_add_format(html,
			"<table class=\"collectors\">\n<caption>Collectors that are %s</caption>\n"
			"<thead><tr><th scope=\"col\">Collector<th scope=\"col\">What it counts\n"
			"<tbody>\n",
			on ? "on" : "off");
	for (size_t i = 0; (collector = rule_set_collector(rules, i)) != NULL; i++) {
		if (collector->on == on) {
			add_collector(html, collector, metrics);
			count++;
		}
	}
	text_add_string(html, "</table>\n");
	return count;
}

void landing_add_collectors(struct etw_text *html, const struct rule_set *rules,
			    const char *metrics)
{
	struct etw_text off = { 0 };
	size_t off_count = add_collector_table(&off, rules, false, metrics);

	text_add_string(html, "<section aria-labelledby=\"collectors-title\">\n"
			      "<h2 id=\"collectors-title\">Collectors</h2>\n");
	if (add_collector_table(html, rules, true, metrics) == 0) {
		text_add_string(html, "<p>No collector is on: nothing is counted.</p>\n");
	}
	if (off_count > 0) {
		text_add_string(html, "<details>\n<summary>");
		add_counted(html, off_count, "collector");
		text_add_format(html, " %s off</summary>\n", off_count == 1 ? "is" : "are");
		text_add(html, off.data, off.size);
		text_add_string(html, "</details>\n");
	}
	html->failed |= off.failed;
	text_free(&off);
	text_add_string(html, "</section>\n");
}
