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
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "metrics/visit.h"

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

/* ---- the chart of the busiest processes ---- */

/*
 * The landing page shows a full chart when it is opened, so the exporter remembers what the page
 * would have read before. Every five seconds the main thread reads the counters by process, and
 * keeps the rates of the busiest processes of each measure. Consumers do nothing for it, and no
 * scrape hook runs, so that what is done only for scrapes is not done.
 *
 * A rate needs the counters of two steps: two tables of totals by process take turns. A table has
 * room for PROCESSES names; names beyond are not in the chart (Windows hosts run some hundred
 * programs, and the label is the name of a program). Names are texts of the registry, which stay
 * valid, and the registry has each only once, so two names are equal if their pointers are.
 *
 * The counters are read without a lock. The mutex protects what history_add_json() reads: the steps
 * and the table `now`. Only history_step() writes them, so it may read them without the mutex.
 */

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  1e9

enum {
	FAMILIES_MAX = 2,
	KEPT = 10, /* processes of a measure in each step, and on the page */
	PROCESSES = 512,
	SLOTS = 2 * PROCESSES, /* of a hash table, so that half of it is empty */
};

static const struct measure {
	const char *id, *title, *unit, *note;
	const char *families[FAMILIES_MAX]; /* counters by process, which are summed */
} measures[] = {
	{ "written",
	  "Bytes written to files",
	  "bytes",
	  "Bytes that programs ask to write to files, including writes into the cache.",
	  { "etw_file_written_bytes_total" } },
	{ "read",
	  "Bytes read from files",
	  "bytes",
	  "Bytes that programs ask to read from files, including reads from the cache.",
	  { "etw_file_read_bytes_total" } },
	{ "network",
	  "Network",
	  "bytes",
	  "Bytes sent and received over TCP and UDP.",
	  { "etw_network_sent_bytes_total", "etw_network_received_bytes_total" } },
	{ "disk",
	  "Disk",
	  "bytes",
	  "Bytes read from and written to physical disks. Windows writes most of the file cache "
	  "later, as the process System.",
	  { "etw_disk_process_read_bytes_total", "etw_disk_process_written_bytes_total" } },
	{ "cpu",
	  "CPU time",
	  "seconds",
	  "CPU time of all threads. One core is one processor that is busy all the time.",
	  { "etw_process_cpu_seconds_total" } },
	{ "cpu-samples",
	  "CPU samples",
	  "samples",
	  "Samples of the CPU profile in which a thread of the process was running.",
	  { "etw_process_cpu_samples_total" } },
};

enum { MEASURES = sizeof measures / sizeof measures[0] };

struct process_totals {
	const char *name; /* NULL: the slot is empty */
	uint64_t totals[MEASURES];
};

struct totals {
	uint64_t time_ns; /* 0: never read */
	bool fed[MEASURES];
	unsigned decimals[MEASURES];
	size_t count;
	struct process_totals slots[SLOTS];
};

struct busy_process {
	const char *name; /* NULL: the list ends here */
	uint64_t amount;  /* in the step */
};

struct step {
	uint64_t time_ns, length_ns;
	bool fed[MEASURES];
	struct busy_process busiest[MEASURES][KEPT];
};

struct history {
	struct registry *registry;
	struct os_mutex mutex;
	struct totals tables[2];
	struct totals *now, *next; /* next is only of history_step() */
	struct step steps[HISTORY_STEPS];
	size_t step_count; /* in all; step i is in steps[i % HISTORY_STEPS] */
	/* Only of history_step(): the measure whose family is being visited. */
	size_t measure;
};

struct history *history_new(struct registry *registry, struct etw_error *err)
{
	struct history *history = calloc(1, sizeof *history);

	if (!history) {
		error_no_memory(err, "the history of the landing page");
		return NULL;
	}
	history->registry = registry;
	history->now = &history->tables[0];
	history->next = &history->tables[1];
	os_mutex_init(&history->mutex);
	return history;
}

void history_free(struct history *history)
{
	if (history) {
		os_mutex_done(&history->mutex);
		free(history);
	}
}

/* ---- reading the counters ---- */

/* Returns the slot of a name, or the empty one where it would be. */
static struct process_totals *find_slot(struct totals *totals, const char *name)
{
	size_t at = (size_t)(((uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	while (totals->slots[at % SLOTS].name && totals->slots[at % SLOTS].name != name) {
		at++;
	}
	return &totals->slots[at % SLOTS];
}

static bool wants_family(void *context, const struct family *family)
{
	struct history *history = context;

	for (size_t m = 0; m < MEASURES; m++) {
		for (size_t i = 0; i < FAMILIES_MAX && measures[m].families[i]; i++) {
			if (strcmp(measures[m].families[i], family_name(family)) == 0) {
				history->measure = m;
				history->next->fed[m] = true;
				history->next->decimals[m] = family_decimals(family);
				return true;
			}
		}
	}
	return false;
}

static void add_total(void *context, const struct visited_sample *sample)
{
	struct history *history = context;
	struct totals *next = history->next;
	const char *name = sample_label(sample, "process");
	struct process_totals *process = find_slot(next, name);

	if (!process->name) {
		if (next->count == PROCESSES) {
			return;
		}
		process->name = name;
		next->count++;
	}
	process->totals[history->measure] += sample->value;
}

/* ---- steps ---- */

/* Puts a process into a list that is sorted by amounts, unless KEPT others have more. */
static void keep_busiest(struct busy_process *list, const char *name, uint64_t amount)
{
	size_t at = KEPT;

	while (at > 0 && (!list[at - 1].name || list[at - 1].amount < amount)) {
		at--;
	}
	if (at < KEPT) {
		memmove(&list[at + 1], &list[at], (KEPT - 1 - at) * sizeof *list);
		list[at] = (struct busy_process){ name, amount };
	}
}

/* Makes a step of the tables `now` and `next`. */
static void make_step(struct history *history, struct step *step)
{
	struct totals *now = history->now, *next = history->next;

	*step = (struct step){ .time_ns = next->time_ns,
			       .length_ns = next->time_ns - now->time_ns };
	for (size_t m = 0; m < MEASURES; m++) {
		/* A family that was off kept its values, so the first difference means nothing. */
		step->fed[m] = now->fed[m] && next->fed[m];
	}
	for (size_t i = 0; i < SLOTS; i++) {
		const struct process_totals *process = &next->slots[i];
		const struct process_totals *former =
			process->name ? find_slot(now, process->name) : process;

		/* A process that had no room in a full table has counted for an unknown time. */
		if (!process->name || (!former->name && now->count == PROCESSES)) {
			continue;
		}
		for (size_t m = 0; m < MEASURES; m++) {
			/* A sum falls when an old series ends. */
			if (step->fed[m] && process->totals[m] > former->totals[m]) {
				keep_busiest(step->busiest[m], process->name,
					     process->totals[m] - former->totals[m]);
			}
		}
	}
}

void history_step(struct history *history, uint64_t now_ns)
{
	const struct registry_visitor visitor = { .wants = wants_family,
						  .on_sample = add_total,
						  .counters_only = true,
						  .context = history };
	bool first = history->now->time_ns == 0;
	struct totals *former = history->now;
	struct step step = { .time_ns = 0 };

	memset(history->next, 0, sizeof *history->next);
	history->next->time_ns = now_ns;
	if (now_ns <= former->time_ns || !registry_visit(history->registry, &visitor)) {
		return;
	}
	if (!first) {
		make_step(history, &step);
	}
	os_mutex_lock(&history->mutex);
	if (!first) {
		history->steps[history->step_count++ % HISTORY_STEPS] = step;
	}
	history->now = history->next;
	history->next = former;
	os_mutex_unlock(&history->mutex);
}

/* ---- JSON ---- */

/* The steps that are shown: those of the last five minutes. */
struct window {
	const struct step *steps[HISTORY_STEPS]; /* oldest first */
	size_t count;
};

static struct window window_of(const struct history *history)
{
	struct window window = { .count = 0 };
	size_t end = history->step_count, i = end > HISTORY_STEPS ? end - HISTORY_STEPS : 0;

	for (; i < end; i++) {
		const struct step *step = &history->steps[i % HISTORY_STEPS];

		if (history->now->time_ns - step->time_ns < HISTORY_STEPS * HISTORY_STEP_NS) {
			window.steps[window.count++] = step;
		}
	}
	return window;
}

static const struct busy_process *find_busy(const struct step *step, size_t m, const char *name)
{
	for (size_t i = 0; i < KEPT && step->busiest[m][i].name; i++) {
		if (step->busiest[m][i].name == name) {
			return &step->busiest[m][i];
		}
	}
	return NULL;
}

static uint64_t amount_in(const struct window *window, size_t m, const char *name)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < window->count; i++) {
		const struct busy_process *busy = find_busy(window->steps[i], m, name);

		sum += busy ? busy->amount : 0;
	}
	return sum;
}

static void add_process(struct json *json, const struct window *window, size_t m,
			const struct busy_process *busy, uint64_t total)
{
	json_object_begin(json);
	json_member_string(json, "name", busy->name);
	json_member_u64(json, "total", total);
	json_member_u64(json, "window", busy->amount);
	json_member_array(json, "rates");
	for (size_t i = 0; i < window->count; i++) {
		const struct step *step = window->steps[i];
		const struct busy_process *then = find_busy(step, m, busy->name);

		if (!step->fed[m]) {
			json_null(json);
		} else {
			json_u64(json, then ? (uint64_t)((double)then->amount * NS_PER_S /
							 (double)step->length_ns) :
					      0);
		}
	}
	json_array_end(json);
	json_object_end(json);
}

static void add_measure(struct json *json, struct history *history, const struct window *window,
			size_t m)
{
	struct busy_process busiest[KEPT] = { { NULL, 0 } };

	json_object_begin(json);
	json_member_string(json, "id", measures[m].id);
	json_member_string(json, "title", measures[m].title);
	json_member_string(json, "note", measures[m].note);
	json_member_string(json, "unit", measures[m].unit);
	json_member_u64(json, "decimals", history->now->decimals[m]);
	json_member_array(json, "processes");
	for (size_t i = 0; i < SLOTS; i++) {
		const struct process_totals *process = &history->now->slots[i];
		uint64_t amount = process->name ? amount_in(window, m, process->name) : 0;

		if (amount > 0) {
			keep_busiest(busiest, process->name, amount);
		}
	}
	for (size_t i = 0; i < KEPT && busiest[i].name; i++) {
		add_process(json, window, m, &busiest[i],
			    find_slot(history->now, busiest[i].name)->totals[m]);
	}
	json_array_end(json);
	json_object_end(json);
}

void history_add_json(struct history *history, struct etw_text *out)
{
	struct window window;
	struct json json;

	json_init(&json, out, false);
	os_mutex_lock(&history->mutex);
	window = window_of(history);
	json_object_begin(&json);
	json_member_array(&json, "ages_ms");
	for (size_t i = 0; i < window.count; i++) {
		json_u64(&json, (history->now->time_ns - window.steps[i]->time_ns) / NS_PER_MS);
	}
	json_array_end(&json);
	json_member_array(&json, "measures");
	for (size_t m = 0; m < MEASURES; m++) {
		if (history->now->fed[m]) {
			add_measure(&json, history, &window, m);
		}
	}
	json_array_end(&json);
	json_object_end(&json);
	os_mutex_unlock(&history->mutex);
}
