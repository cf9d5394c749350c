/* SPDX-License-Identifier: MIT */
/*
 * etwtool stats: which processes, providers and events have most records in a recording.
 *
 * One run of the pipeline counts records per process name and per event. Afterwards three tables
 * are filled from these counts, each sorted by records: processes as they are, events under the
 * names that rules use, and providers as sums of their events. Only the first rows of each table
 * are shown. Rates are per second of recorded time, from the first record with a time to the last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tool/class_rows.h"
#include "tool/recording.h"
#include "tool/tool.h"
#include "tool/utc.h"

enum { TOP_DEFAULT = 10 };

struct tally_row {
	struct text name; /* owned */
	uint64_t records;
};

/* Names and their records. Zero-initialise it. */
struct tally {
	struct tally_row *rows; /* owned */
	size_t count;
};

struct stats {
	struct recording *recording;
	struct class_rows classes;
	struct map processes; /* name, a text of the recording -> records */
	uint64_t records;
	int64_t first, last; /* RECORD_NO_TIME: no record had a time */
};

static void on_class(void *context, const struct event_class *class)
{
	struct stats *stats = context;

	class_rows_class(&stats->classes, class);
}

static void on_record(void *context, const struct event_record *record,
		      const struct event_class *class, struct tracker *tracker)
{
	struct stats *stats = context;
	uint32_t id;
	uint64_t *process = map_put(&stats->processes,
				    (uintptr_t)recording_process(stats->recording, tracker, &id),
				    NULL);

	if (process) {
		++*process;
	}
	stats->records++;
	class_rows_count(&stats->classes, class);
	if (record->time == RECORD_NO_TIME) {
		return;
	}
	if (stats->first == RECORD_NO_TIME || record->time < stats->first) {
		stats->first = record->time;
	}
	if (record->time > stats->last) {
		stats->last = record->time;
	}
}

/* ---- tables ---- */

static bool tally_init(struct tally *tally, size_t rows_most)
{
	tally->rows = calloc(rows_most + 1, sizeof *tally->rows);
	return tally->rows != NULL;
}

static int compare_rows(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	if (x->records != y->records) {
		return x->records < y->records ? 1 : -1;
	}
	return strcmp(x->name.data ? x->name.data : "", y->name.data ? y->name.data : "");
}

static void tally_done(struct tally *tally)
{
	for (size_t i = 0; i < tally->count; i++) {
		text_free(&tally->rows[i].name);
	}
	free(tally->rows);
}

static bool tally_processes(struct stats *stats, struct tally *tally)
{
	const struct map_slot *slot;
	size_t at = 0;

	if (!tally_init(tally, stats->processes.count)) {
		return false;
	}
	while ((slot = map_next(&stats->processes, &at)) != NULL) {
		struct tally_row *row = &tally->rows[tally->count++];

		row->records = slot->value;
		text_add_string(&row->name, (const char *)(uintptr_t)slot->key);
	}
	return true;
}

static bool tally_providers(struct stats *stats, struct tally *tally)
{
	const struct class_rows *classes = &stats->classes;

	if (!tally_init(tally, classes->count)) {
		return false;
	}
	for (size_t i = 0; i < classes->count; i = kind_rows_provider_end(classes, i)) {
		struct tally_row *row = &tally->rows[tally->count++];

		row->records = classes->rows[i].provider_records;
		text_add_string(&row->name, classes->rows[i].provider);
	}
	return true;
}

static bool tally_events(struct stats *stats, struct tally *tally)
{
	if (!tally_init(tally, stats->classes.count)) {
		return false;
	}
	for (; tally->count < stats->classes.count; tally->count++) {
		struct tally_row *row = &tally->rows[tally->count];

		row->records = stats->classes.rows[tally->count].records;
		class_row_name(&stats->classes.rows[tally->count], &row->name);
	}
	return true;
}

/* ---- output ---- */

static double seconds_of(const struct stats *stats)
{
	return stats->first == RECORD_NO_TIME ? 0 : (double)(stats->last - stats->first) / 1e7;
}

/* Per second; 0 when no time has passed. */
static double rate(const struct stats *stats, uint64_t records)
{
	double seconds = seconds_of(stats);

	return seconds > 0 ? (double)records / seconds : 0;
}

struct table {
	const char *title;
	const char *key; /* in JSON */
	bool (*fill)(struct stats *stats, struct tally *tally);
	struct tally tally;
};

enum { TABLES = 3 };

/* What is printed. */
struct page {
	const struct stats *stats;
	const char *path;
	struct table tables[TABLES];
	uint64_t top; /* rows of each table */
};

static void add_text_table(struct text *out, const struct stats *stats, const struct table *table,
			   uint64_t top)
{
	text_add_format(out, "\n%12s %7s %12s  %s\n", "records", "share", "per second",
			table->title);
	for (size_t i = 0; i < table->tally.count && i < top; i++) {
		const struct tally_row *row = &table->tally.rows[i];

		text_add_format(out, "%12" PRIu64 " %5.1f %% %12.1f  ", row->records,
				100 * (double)row->records / (double)stats->records,
				rate(stats, row->records));
		text_add_shown(out, row->name.data ? row->name.data : "");
		text_add_char(out, '\n');
	}
	if (table->tally.count > top) {
		text_add_format(out, "%35s and %" PRIu64 " more\n", "…", table->tally.count - top);
	}
}

static void add_text(struct text *out, const struct page *page)
{
	const struct stats *stats = page->stats;
	char first[UTC_TEXT_SIZE], last[UTC_TEXT_SIZE];

	text_add_shown(out, os_path_name(page->path));
	text_add_format(out, ": %" PRIu64 " records", stats->records);
	if (utc_format(stats->first, first) && utc_format(stats->last, last)) {
		text_add_format(out, " from %s to %s, %.1f s, %.1f per second", first, last,
				seconds_of(stats), rate(stats, stats->records));
	}
	text_add_char(out, '\n');
	for (size_t i = 0; i < TABLES; i++) {
		add_text_table(out, stats, &page->tables[i], page->top);
	}
}

static void member_time(struct json *json, const char *key, int64_t time)
{
	char text[UTC_TEXT_SIZE];

	json_member_string(json, key, utc_format(time, text) ? text : NULL);
}

static void add_json_table(struct json *json, const struct stats *stats, const struct table *table,
			   uint64_t top)
{
	json_member_array(json, table->key);
	for (size_t i = 0; i < table->tally.count && i < top; i++) {
		const struct tally_row *row = &table->tally.rows[i];

		json_object_begin(json);
		json_member_string(json, "name", row->name.data ? row->name.data : "");
		json_member_u64(json, "records", row->records);
		json_member_double(json, "per_second", rate(stats, row->records));
		json_object_end(json);
	}
	json_array_end(json);
}

static void add_json(struct json *json, const void *context)
{
	const struct page *page = context;
	const struct stats *stats = page->stats;

	json_member_string(json, "file", os_path_name(page->path));
	json_member_u64(json, "records", stats->records);
	member_time(json, "first", stats->first);
	member_time(json, "last", stats->last);
	json_member_double(json, "seconds", seconds_of(stats));
	json_member_double(json, "per_second", rate(stats, stats->records));
	for (size_t i = 0; i < TABLES; i++) {
		add_json_table(json, stats, &page->tables[i], page->top);
	}
}

static int print(struct stats *stats, const char *path, uint64_t top, bool as_json)
{
	struct page page = {
		.stats = stats,
		.path = path,
		.tables = { { "process", "processes", tally_processes, { 0 } },
			    { "provider", "providers", tally_providers, { 0 } },
			    { "event", "events", tally_events, { 0 } } },
		.top = top,
	};
	struct text out = { 0 };
	bool good = true;
	int status;

	for (size_t i = 0; i < TABLES; i++) {
		struct tally *tally = &page.tables[i].tally;

		good = good && page.tables[i].fill(stats, tally);
		if (good) {
			qsort(tally->rows, tally->count, sizeof *tally->rows, compare_rows);
		}
	}
	if (!good) {
		status = tool_complain(TOOL_FAILED, "stats", "no memory for a table");
	} else {
		if (as_json) {
			text_add_json(&out, add_json, &page);
		} else {
			add_text(&out, &page);
		}
		status = tool_print("stats", &out);
	}
	for (size_t i = 0; i < TABLES; i++) {
		tally_done(&page.tables[i].tally);
	}
	return status;
}

/* ---- the command ---- */

struct request {
	struct tool_arguments arguments;
	uint64_t top; /* 0: TOP_DEFAULT */
};

static const struct command_option option_rows[] = {
	{ "--top", "N", "rows of each table; 10 without it", OPTION_COUNT,
	  .offset = offsetof(struct request, top) },
	{ NULL },
};

static int run(struct tool_arguments *arguments)
{
	const struct request *request = (const struct request *)arguments;
	struct stats stats = { .first = RECORD_NO_TIME, .last = RECORD_NO_TIME };
	int status = TOOL_FAILED;

	if (tool_read_recording(arguments,
				(struct recording_options){ .context = &stats,
							    .on_class = on_class,
							    .on_record = on_record },
				&stats.recording)) {
		class_rows_sort(&stats.classes);
		status = print(&stats, arguments->words[0],
			       request->top ? request->top : TOP_DEFAULT, arguments->as_json != 0);
	}
	class_rows_done(&stats.classes);
	map_done(&stats.processes);
	recording_close(stats.recording);
	return status;
}

const struct tool_command tool_stats = {
	.name = "stats",
	.synopsis = "FILE [OPTIONS]",
	.about = "What a recording is full of: processes, providers and events with most records",
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = 1,
	.size = sizeof(struct request),
	.run = run,
};
