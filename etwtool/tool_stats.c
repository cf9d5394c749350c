/* SPDX-License-Identifier: MIT */
/*
 * etwtool stats: shows which processes, providers and events have most records in a recording, and
 * which processes used its disks most.
 *
 * One run of the pipeline counts records per process name and per event. Afterwards three tables
 * are filled from these counts, each sorted by records: processes, events under the names that
 * rules use, and providers as sums of their events. Only the first rows of each table are shown,
 * and below them the sum of the others. Rates are per second of recorded time, from the first
 * record with a time to the last. Labels that stand for no process (`_none`) are explained below
 * the table of processes, with the events that have them, because they are often its first row.
 * Names in the tables are borrowed from the recording and from the rows of class_rows.h, so both
 * must live until the tables are written.
 *
 * The table of disk bytes comes from the collectors disk and disk_cause, which run at the same
 * time. It is left out if no disk has read or written anything.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/os.h"
#include "base/text.h"
#include "base/utc.h"
#include "etwtool/class_rows.h"
#include "etwtool/recording.h"
#include "etwtool/tool.h"
#include "metrics/registry.h"
#include "metrics/visit.h"

/* ---- disk use by process ---- */

enum disk_use_column {
	DISK_CAUSED_WRITTEN,
	DISK_ISSUED_WRITTEN,
	DISK_CAUSED_READ,
	DISK_ISSUED_READ,
	DISK_USE_COLUMNS
};

struct disk_use_row {
	char *process; /* value of the process label, without escapes; owned */
	uint64_t bytes[DISK_USE_COLUMNS];
};

/* Zero-initialise it. */
struct disk_use {
	struct disk_use_row *rows; /* owned; sorted by bytes caused or issued, greatest first */
	size_t count, capacity;
	struct map by_name;               /* hash of the name -> index */
	uint64_t total[DISK_USE_COLUMNS]; /* sums of all rows */
	/* part of the totals: bytes caused with how="unknown" */
	uint64_t unknown_written, unknown_read;
	bool failed; /* memory ran out */
};

static const char *const families[DISK_USE_COLUMNS] = {
	[DISK_CAUSED_WRITTEN] = "etw_disk_caused_written_bytes_total",
	[DISK_ISSUED_WRITTEN] = "etw_disk_process_written_bytes_total",
	[DISK_CAUSED_READ] = "etw_disk_caused_read_bytes_total",
	[DISK_ISSUED_READ] = "etw_disk_process_read_bytes_total",
};

/* Fills in the collectors that must be on. The caller frees them with collector_switches_done(). */
static bool disk_use_collectors(struct collector_switches *switches, struct etw_error *err)
{
	return collector_switches_read(switches, "--collector.disk", err) &&
	       collector_switches_read(switches, "--collector.disk_cause", err);
}

/* Returns the column of a family; DISK_USE_COLUMNS if it has none. */
static unsigned column_of(const struct family *family)
{
	unsigned column = 0;

	while (column < DISK_USE_COLUMNS && strcmp(families[column], family_name(family)) != 0) {
		column++;
	}
	return column;
}

static bool is_needed(void *context, const struct family *family)
{
	(void)context;
	return column_of(family) < DISK_USE_COLUMNS;
}

/* Finds or adds the row of a process. Returns NULL without memory. */
static struct disk_use_row *row_of(struct disk_use *use, const char *name)
{
	uint64_t hash = text_hash(name, strlen(name), hash_seed());
	bool added;
	uint64_t *index = map_put(&use->by_name, hash, &added);
	struct disk_use_row *rows;

	if (index && added) {
		*index = use->count;
		rows = array_grow(use->rows, &use->capacity, use->count, sizeof *rows);
		if (!rows) {
			return NULL;
		}
		use->rows = rows;
		rows[use->count] =
			(struct disk_use_row){ .process = text_duplicate(name, strlen(name)) };
		if (!rows[use->count].process) {
			return NULL;
		}
		use->count++;
	}
	return index ? &use->rows[*index] : NULL;
}

static void add_sample(void *context, const struct visited_sample *sample)
{
	struct disk_use *use = context;
	unsigned column = column_of(sample->family);
	struct disk_use_row *row = row_of(use, sample_label(sample, "process"));

	if (!row) {
		use->failed = true;
		return;
	}
	row->bytes[column] += sample->value;
	use->total[column] += sample->value;
	if (strcmp(sample_label(sample, "how"), "unknown") == 0) {
		*(column == DISK_CAUSED_WRITTEN ? &use->unknown_written : &use->unknown_read) +=
			sample->value;
	}
}

/*
 * The greater of the two sums: so System, which issues much and causes little, is among the first
 * rows.
 */
static uint64_t caused_or_issued(const struct disk_use_row *row)
{
	uint64_t caused = row->bytes[DISK_CAUSED_WRITTEN] + row->bytes[DISK_CAUSED_READ];
	uint64_t issued = row->bytes[DISK_ISSUED_WRITTEN] + row->bytes[DISK_ISSUED_READ];

	return caused > issued ? caused : issued;
}

static int compare_use(const void *a, const void *b)
{
	const struct disk_use_row *x = a, *y = b;
	uint64_t of_x = caused_or_issued(x), of_y = caused_or_issued(y);

	if (of_x != of_y) {
		return of_x < of_y ? 1 : -1;
	}
	return strcmp(x->process, y->process);
}

/*
 * Reads the families of the registry into a zero-initialised struct. Returns false without memory.
 */
static bool disk_use_read(struct disk_use *use, struct registry *registry, struct etw_error *err)
{
	const struct registry_visitor visitor = { .wants = is_needed,
						  .on_sample = add_sample,
						  .context = use };

	if (!registry_visit(registry, &visitor) || use->failed) {
		return error_no_memory(err, "the bytes of disks");
	}
	if (use->count > 0) {
		sort_items(use->rows, use->count, sizeof *use->rows, compare_use);
	}
	return true;
}

static void disk_use_done(struct disk_use *use)
{
	for (size_t i = 0; i < use->count; i++) {
		free(use->rows[i].process);
	}
	free(use->rows);
	map_done(&use->by_name);
	*use = (struct disk_use){ .rows = NULL };
}

enum { TOP_DEFAULT = 10 };

struct table_row {
	const char *name; /* borrowed */
	uint64_t records;
};

struct stats_table {
	const char *title;
	const char *key;        /* key in JSON */
	struct table_row *rows; /* owned */
	size_t count;
};

enum { PROCESSES, PROVIDERS, EVENTS, STATS_TABLES };

struct stats_request {
	struct tool_arguments arguments;
	uint64_t top; /* rows of each table; 0: TOP_DEFAULT */
};

struct stats {
	const char *path;
	struct class_rows classes;
	struct map processes; /* name, owned by the recording -> records */
	struct record_times times;
	uint64_t events_lost, buffers_lost; /* from the recording's header */
	struct stats_table tables[STATS_TABLES];
	struct disk_use disks;
	uint64_t top; /* rows of each table that are shown */
};

static void on_class(void *context, const struct etw_event_class *class)
{
	struct stats *stats = context;

	class_rows_class(&stats->classes, class);
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct stats *stats = context;
	uint32_t id;
	const char *name = recording_process(recording, &id);
	uint64_t *process = map_put(&stats->processes, (uintptr_t)name, NULL);
	struct class_row *row = class_rows_count(&stats->classes, class);

	if (process) {
		++*process;
	}
	if (row && strcmp(name, "_none") == 0) {
		row->of_no_process++;
	}
	record_times_add(&stats->times, record);
}

/* ---- tables ---- */

static void add_row(struct stats_table *table, const char *name, uint64_t records)
{
	table->rows[table->count++] = (struct table_row){ name, records };
}

static int compare_rows(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;

	if (x->records != y->records) {
		return x->records < y->records ? 1 : -1;
	}
	return strcmp(x->name, y->name);
}

/* Fills and sorts the tables. Returns false without memory. */
static bool fill_tables(struct stats *stats)
{
	const struct class_rows *classes = &stats->classes;
	const struct map_slot *slot;
	size_t at = 0;

	for (size_t i = 0; i < STATS_TABLES; i++) {
		size_t rows_most = i == PROCESSES ? stats->processes.count : classes->count;

		stats->tables[i].rows = calloc(rows_most + 1, sizeof(struct table_row));
		if (!stats->tables[i].rows) {
			return false;
		}
	}
	while ((slot = map_next(&stats->processes, &at)) != NULL) {
		add_row(&stats->tables[PROCESSES], (const char *)(uintptr_t)slot->key, slot->value);
	}
	for (size_t i = 0; i < classes->count; i = class_rows_provider_end(classes, i)) {
		add_row(&stats->tables[PROVIDERS], classes->rows[i].provider,
			classes->rows[i].provider_records);
	}
	for (size_t i = 0; i < classes->count; i++) {
		add_row(&stats->tables[EVENTS], classes->rows[i].name, classes->rows[i].records);
	}
	for (size_t i = 0; i < STATS_TABLES; i++) {
		sort_items(stats->tables[i].rows, stats->tables[i].count, sizeof(struct table_row),
			   compare_rows);
	}
	return true;
}

/* ---- output ---- */

/* Returns records per second; 0 if no time has passed. */
static double rate(const struct stats *stats, uint64_t records)
{
	double seconds = record_times_seconds(&stats->times);

	return seconds > 0 ? (double)records / seconds : 0;
}

enum { EXPLAINED_MOST = 3 };

/*
 * Returns the event with most records of no process that comes after `last` (NULL: from the start);
 * NULL if there is none.
 */
static const struct class_row *next_of_no_process(const struct class_rows *classes,
						  const struct class_row *last)
{
	const struct class_row *next = NULL;

	for (size_t i = 0; i < classes->count; i++) {
		const struct class_row *row = &classes->rows[i];
		bool after = !last || row->of_no_process < last->of_no_process ||
			     (row->of_no_process == last->of_no_process && row > last);

		if (row->of_no_process > 0 && after &&
		    (!next || row->of_no_process > next->of_no_process)) {
			next = row;
		}
	}
	return next;
}

/* Explains a label that stands for no process, if the table shows it. */
static void explain(struct etw_text *out, const struct stats *stats, const struct table_row *row)
{
	const struct class_row *event = NULL;
	unsigned shown = 0;

	if (strcmp(row->name, "_none") == 0) {
		text_add_string(out, "  _none: events that belong to no process");
		while (shown < EXPLAINED_MOST &&
		       (event = next_of_no_process(&stats->classes, event)) != NULL) {
			text_add_string(out, shown++ == 0 ? ", most of them " : ", ");
			text_add_shown(out, event->name);
		}
		text_add_char(out, '\n');
	} else if (strcmp(row->name, "_unknown") == 0) {
		text_add_string(out,
				"  _unknown: a process id that no event of the recording names\n");
	} else if (strcmp(row->name, "_other") == 0) {
		text_add_string(out, "  _other: names beyond the limit of the table\n");
	}
}

static void add_numbers(struct etw_text *out, const struct stats *stats, uint64_t records)
{
	text_add_format(out, "%12" PRIu64 " %5.1f %% %12.1f  ", records,
			100 * (double)records /
				(double)(stats->times.records > 0 ? stats->times.records : 1),
			rate(stats, records));
}

static void add_text_table(struct etw_text *out, const struct stats *stats,
			   const struct stats_table *table)
{
	size_t shown = table->count < stats->top ? table->count : (size_t)stats->top;
	uint64_t others = stats->times.records;

	text_add_format(out, "\n%12s %7s %12s  %s\n", "records", "share", "per second",
			table->title);
	for (size_t i = 0; i < shown; i++) {
		add_numbers(out, stats, table->rows[i].records);
		text_add_shown(out, table->rows[i].name);
		text_add_char(out, '\n');
		others -= table->rows[i].records;
	}
	if (table->count > shown) {
		add_numbers(out, stats, others);
		text_add_format(out, "(%zu more)\n", table->count - shown);
	} else if (others > 0) { /* because of CLASS_ROWS_MOST */
		add_numbers(out, stats, others);
		text_add_string(out, "(too many names to list)\n");
	}
	add_numbers(out, stats, stats->times.records);
	text_add_format(out, "(all %zu)\n", table->count);
	for (size_t i = 0; i < shown && table == &stats->tables[PROCESSES]; i++) {
		explain(out, stats, &table->rows[i]);
	}
}

static void add_disk_row(struct etw_text *out, const uint64_t bytes[DISK_USE_COLUMNS])
{
	for (unsigned column = 0; column < DISK_USE_COLUMNS; column++) {
		text_add_format(out, "%15" PRIu64 " ", bytes[column]);
	}
	text_add_char(out, ' ');
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static bool has_disk_bytes(const struct disk_use *disks)
{
	return disks->total[DISK_CAUSED_WRITTEN] + disks->total[DISK_CAUSED_READ] > 0;
}

static void add_disk_text(struct etw_text *out, const struct stats *stats)
{
	const struct disk_use *disks = &stats->disks;
	size_t shown = disks->count < stats->top ? disks->count : (size_t)stats->top;
	uint64_t others[DISK_USE_COLUMNS];

	memcpy(others, disks->total, sizeof others);
	text_add_string(out,
			"\nwho makes the disks busy: bytes that the process caused, and bytes of "
			"requests that its threads issued\n");
	text_add_format(out, "%15s %15s %15s %15s  process\n", "written: caused", "issued",
			"read: caused", "issued");
	for (size_t i = 0; i < shown; i++) {
		add_disk_row(out, disks->rows[i].bytes);
		text_add_shown(out, disks->rows[i].process);
		text_add_char(out, '\n');
		for (unsigned column = 0; column < DISK_USE_COLUMNS; column++) {
			others[column] -= disks->rows[i].bytes[column];
		}
	}
	if (disks->count > shown) {
		add_disk_row(out, others);
		text_add_format(out, "(%zu more)\n", disks->count - shown);
	}
	add_disk_row(out, disks->total);
	text_add_format(out, "(all %zu)\n", disks->count);
	text_add_format(
		out,
		"  cause unknown: %.1f %% of the bytes written, %.1f %% of the bytes read; they "
		"stay with the process that issued them\n",
		share(disks->unknown_written, disks->total[DISK_CAUSED_WRITTEN]),
		share(disks->unknown_read, disks->total[DISK_CAUSED_READ]));
}

static void add_text(struct etw_text *out, const struct stats *stats)
{
	char first[UTC_TEXT_SIZE], last[UTC_TEXT_SIZE];

	text_add_shown(out, os_path_name(stats->path));
	text_add_format(out, ": %" PRIu64 " records", stats->times.records);
	if (utc_format(stats->times.first, first) && utc_format(stats->times.last, last)) {
		text_add_format(out, " from %s to %s, %.1f s, %.1f per second", first, last,
				record_times_seconds(&stats->times),
				rate(stats, stats->times.records));
	}
	text_add_format(out,
			"\nlost while it was recorded: %" PRIu64 " events, %" PRIu64 " buffers\n",
			stats->events_lost, stats->buffers_lost);
	for (size_t i = 0; i < STATS_TABLES; i++) {
		add_text_table(out, stats, &stats->tables[i]);
	}
	if (has_disk_bytes(&stats->disks)) {
		add_disk_text(out, stats);
	}
}

static void add_json_table(struct json *json, const struct stats *stats,
			   const struct stats_table *table)
{
	json_member_array(json, table->key);
	for (size_t i = 0; i < table->count && i < stats->top; i++) {
		const struct table_row *row = &table->rows[i];

		json_object_begin(json);
		json_member_string(json, "name", row->name);
		json_member_u64(json, "records", row->records);
		json_member_double(json, "per_second", rate(stats, row->records));
		json_object_end(json);
	}
	json_array_end(json);
}

static const char *const disk_keys[DISK_USE_COLUMNS] = {
	[DISK_CAUSED_WRITTEN] = "caused_written_bytes",
	[DISK_ISSUED_WRITTEN] = "issued_written_bytes",
	[DISK_CAUSED_READ] = "caused_read_bytes",
	[DISK_ISSUED_READ] = "issued_read_bytes",
};

static void add_disk_json(struct json *json, const struct stats *stats)
{
	const struct disk_use *disks = &stats->disks;

	json_member_object(json, "disks");
	for (unsigned column = 0; column < DISK_USE_COLUMNS; column++) {
		json_member_u64(json, disk_keys[column], disks->total[column]);
	}
	json_member_u64(json, "unknown_written_bytes", disks->unknown_written);
	json_member_u64(json, "unknown_read_bytes", disks->unknown_read);
	json_member_array(json, "processes");
	for (size_t i = 0; i < disks->count && i < stats->top; i++) {
		json_object_begin(json);
		json_member_string(json, "name", disks->rows[i].process);
		for (unsigned column = 0; column < DISK_USE_COLUMNS; column++) {
			json_member_u64(json, disk_keys[column], disks->rows[i].bytes[column]);
		}
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void add_json(struct etw_text *out, const struct stats *stats)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);

	json_member_string(json, "file", os_path_name(stats->path));
	json_member_u64(json, "records", stats->times.records);
	utc_member(json, "first", stats->times.first);
	utc_member(json, "last", stats->times.last);
	json_member_double(json, "seconds", record_times_seconds(&stats->times));
	json_member_double(json, "per_second", rate(stats, stats->times.records));
	json_member_u64(json, "events_lost", stats->events_lost);
	json_member_u64(json, "buffers_lost", stats->buffers_lost);
	for (size_t i = 0; i < STATS_TABLES; i++) {
		add_json_table(json, stats, &stats->tables[i]);
	}
	add_disk_json(json, stats);
	tool_json_end(&page, out);
}

/* ---- the command ---- */

static const struct command_option option_rows[] = {
	{ "--top", "N", "rows of each table; default 10", OPTION_COUNT,
	  .offset = offsetof(struct stats_request, top) },
	{ NULL },
};

/* Called after the run. Returns false without memory. */
static bool finish(struct stats *stats, struct recording *recording, struct etw_error *err)
{
	struct etw_source_statistics source;

	recording_statistics(recording, &source);
	stats->events_lost = source.events_lost;
	stats->buffers_lost = source.buffers_lost;
	class_rows_sort(&stats->classes);
	return (fill_tables(stats) || error_no_memory(err, "a table")) &&
	       disk_use_read(&stats->disks, recording_registry(recording), err);
}

static void stats_done(struct stats *stats)
{
	for (size_t i = 0; i < STATS_TABLES; i++) {
		free(stats->tables[i].rows);
	}
	disk_use_done(&stats->disks);
	class_rows_done(&stats->classes);
	map_done(&stats->processes);
}

static int run(struct tool_arguments *arguments)
{
	const struct stats_request *request = (const struct stats_request *)arguments;
	struct stats stats = {
		.path = arguments->words[0],
		.times = RECORD_TIMES_NONE,
		.tables = { [PROCESSES] = { .title = "process", .key = "processes" },
			    [PROVIDERS] = { .title = "provider", .key = "providers" },
			    [EVENTS] = { .title = "event", .key = "events" } },
		.top = request->top ? request->top : TOP_DEFAULT,
	};
	struct collector_switches collectors = { .rows = NULL };
	struct recording *recording = NULL;
	struct etw_text out = { 0 };
	struct etw_error err = { 0 };
	int status = TOOL_FAILED;

	if (!disk_use_collectors(&collectors, &err)) {
		tool_complain(TOOL_FAILED, "stats", "%s", err.text);
	} else {
		recording = recording_read(arguments,
					   &(struct recording_options){ .switches = &collectors,
									.context = &stats,
									.on_class = on_class,
									.on_record = on_record });
	}
	if (recording && !finish(&stats, recording, &err)) {
		tool_complain(TOOL_FAILED, "stats", "%s", err.text);
	} else if (recording) {
		(arguments->as_json ? add_json : add_text)(&out, &stats);
		status = tool_print("stats", &out);
	}
	stats_done(&stats);
	recording_close(recording);
	collector_switches_done(&collectors);
	return status;
}

const struct tool_command tool_stats = {
	.name = "stats",
	.synopsis = "FILE",
	.about = "List who and what has the most records, and who makes the disks busy",
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = 1,
	.size = sizeof(struct stats_request),
	.run = run,
};
