/* SPDX-License-Identifier: MIT */
/*
 * etwtool stats: who and what a recording is full of.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/os.h"
#include "tool/class_rows.h"
#include "tool/json_indent.h"
#include "tool/recording.h"
#include "tool/tool.h"
#include "tool/utc.h"

enum { TOP_DEFAULT = 10 };

static const struct tool_flag flags[] = {
	{ "--top", "N", "rows of each table; 10 without it" },
	{ NULL, NULL, NULL },
};

struct tally_row {
	struct text name; /* owned */
	uint64_t records;
};

/* Names and their records. Zero-initialise it. */
struct tally {
	struct tally_row *rows; /* owned */
	size_t count, capacity;
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

/* The row of a name, which is then the caller's to fill; NULL without memory. */
static struct tally_row *add_row(struct tally *tally, uint64_t records)
{
	if (tally->count == tally->capacity) {
		size_t capacity = tally->capacity ? tally->capacity * 2 : 64;
		struct tally_row *grown = realloc(tally->rows, capacity * sizeof *grown);

		if (!grown) {
			return NULL;
		}
		tally->rows = grown;
		tally->capacity = capacity;
	}
	tally->rows[tally->count] = (struct tally_row){ .records = records };
	return &tally->rows[tally->count++];
}

static int compare_rows(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	if (x->records != y->records) {
		return x->records < y->records ? 1 : -1;
	}
	return strcmp(x->name.data ? x->name.data : "", y->name.data ? y->name.data : "");
}

static void sort(struct tally *tally)
{
	if (tally->count > 0) {
		qsort(tally->rows, tally->count, sizeof *tally->rows, compare_rows);
	}
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

	while ((slot = map_next(&stats->processes, &at)) != NULL) {
		struct tally_row *row = add_row(tally, slot->value);

		if (!row) {
			return false;
		}
		text_add_string(&row->name, (const char *)(uintptr_t)slot->key);
	}
	sort(tally);
	return true;
}

/* Rows of one provider stand together. */
static bool tally_providers(struct stats *stats, struct tally *tally)
{
	const struct class_row *rows = stats->classes.rows;

	for (size_t i = 0; i < stats->classes.count; i++) {
		struct tally_row *row = tally->count > 0 ? &tally->rows[tally->count - 1] : NULL;

		if (row && strcmp(rows[i - 1].provider, rows[i].provider) == 0) {
			row->records += rows[i].records;
			continue;
		}
		row = add_row(tally, rows[i].records);
		if (!row) {
			return false;
		}
		text_add_string(&row->name, rows[i].provider);
	}
	sort(tally);
	return true;
}

static bool tally_events(struct stats *stats, struct tally *tally)
{
	for (size_t i = 0; i < stats->classes.count; i++) {
		struct tally_row *row = add_row(tally, stats->classes.rows[i].records);

		if (!row) {
			return false;
		}
		class_row_name(&stats->classes.rows[i], &row->name);
	}
	sort(tally);
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

static void add_text(struct text *out, const struct stats *stats, const char *path,
		     const struct table *tables, size_t count, uint64_t top)
{
	char first[UTC_TEXT_SIZE], last[UTC_TEXT_SIZE];

	text_add_shown(out, os_path_name(path));
	text_add_format(out, ": %" PRIu64 " records", stats->records);
	if (utc_format(stats->first, first) && utc_format(stats->last, last)) {
		text_add_format(out, " from %s to %s, %.1f s, %.1f per second", first, last,
				seconds_of(stats), rate(stats, stats->records));
	}
	text_add_char(out, '\n');
	for (size_t i = 0; i < count; i++) {
		add_text_table(out, stats, &tables[i], top);
	}
}

static void member_double(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

static void member_time(struct json *json, const char *key, int64_t time)
{
	char text[UTC_TEXT_SIZE];

	json_member_string(json, key, utc_format(time, text) ? text : NULL);
}

static void add_json_table(struct json *json, const struct stats *stats, const struct table *table,
			   uint64_t top)
{
	json_key(json, table->key);
	json_array_begin(json);
	for (size_t i = 0; i < table->tally.count && i < top; i++) {
		const struct tally_row *row = &table->tally.rows[i];

		json_object_begin(json);
		json_member_string(json, "name", row->name.data ? row->name.data : "");
		json_member_u64(json, "records", row->records);
		member_double(json, "per_second", rate(stats, row->records));
		json_object_end(json);
	}
	json_array_end(json);
}

static void add_json(struct text *out, const struct stats *stats, const char *path,
		     const struct table *tables, size_t count, uint64_t top)
{
	struct text compact = { 0 };
	struct json json;

	json_init(&json, &compact, false);
	json_object_begin(&json);
	json_member_string(&json, "file", os_path_name(path));
	json_member_u64(&json, "records", stats->records);
	member_time(&json, "first", stats->first);
	member_time(&json, "last", stats->last);
	member_double(&json, "seconds", seconds_of(stats));
	member_double(&json, "per_second", rate(stats, stats->records));
	for (size_t i = 0; i < count; i++) {
		add_json_table(&json, stats, &tables[i], top);
	}
	json_object_end(&json);
	json_indent(out, &compact);
	text_free(&compact);
}

static int print(struct stats *stats, const char *path, uint64_t top, bool as_json)
{
	struct table tables[] = {
		{ "process", "processes", tally_processes, { 0 } },
		{ "provider", "providers", tally_providers, { 0 } },
		{ "event", "events", tally_events, { 0 } },
	};
	const size_t count = sizeof tables / sizeof tables[0];
	struct text out = { 0 };
	bool good = true;
	int status;

	for (size_t i = 0; i < count; i++) {
		good = good && tables[i].fill(stats, &tables[i].tally);
	}
	if (good) {
		(as_json ? add_json : add_text)(&out, stats, path, tables, count, top);
		status = tool_write("stats", &out) ? TOOL_DONE : TOOL_FAILED;
	} else {
		status = tool_complain(TOOL_FAILED, "stats", "no memory for a table");
	}
	for (size_t i = 0; i < count; i++) {
		tally_done(&tables[i].tally);
	}
	text_free(&out);
	return status;
}

static int count(struct tool_arguments *arguments, uint64_t top)
{
	struct stats stats = { .first = RECORD_NO_TIME, .last = RECORD_NO_TIME };
	const struct recording_options options = {
		.command = "stats",
		.path = arguments->path,
		.pointer_size = arguments->pointer_size,
		.manifests = &arguments->manifests,
		.context = &stats,
		.on_class = on_class,
		.on_record = on_record,
	};
	struct error err = { 0 };
	int status;

	stats.recording = recording_open(&options, &err);
	if (stats.recording && recording_run(stats.recording, &err)) {
		recording_warn(stats.recording);
		class_rows_sort(&stats.classes);
		status = print(&stats, arguments->path, top, arguments->as_json);
	} else {
		status = tool_complain(TOOL_FAILED, "stats", "%s", err.text);
	}
	class_rows_done(&stats.classes);
	map_done(&stats.processes);
	recording_close(stats.recording);
	return status;
}

static int run(struct tool_arguments *arguments)
{
	const char *value;
	uint64_t top = TOP_DEFAULT;
	int next;

	while ((next = tool_next(arguments, &value)) != TOOL_END) {
		if (next == TOOL_STOP) {
			return arguments->status;
		}
		if (!tool_count("stats", "--top", value, &top)) {
			return TOOL_BAD_USAGE;
		}
	}
	if (!arguments->path) {
		return tool_complain(TOOL_BAD_USAGE, "stats", "which recording?");
	}
	return tool_add_builtin(arguments) ? count(arguments, top) : TOOL_FAILED;
}

const struct tool_command tool_stats = {
	.name = "stats",
	.synopsis = "FILE [OPTIONS]",
	.about = "What a recording is full of: processes, providers and events with most records",
	.flags = flags,
	.shared = TOOL_FILE | TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.run = run,
};
