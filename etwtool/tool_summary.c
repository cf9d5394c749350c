/* SPDX-License-Identifier: MIT */
/*
 * etwtool summary: describes a recording as JSON: its header, buffers, types of record headers,
 * times, providers, the schemas that it contains, and the number of records of each event.
 *
 * It makes one pass in file order, without the pipeline: nothing is sorted by time, and no process
 * is looked up. So the summary also works for damaged recordings, and shows the problems that the
 * reader met. Everything it counts is bounded, so it works for a recording of any size. Records are
 * counted per provider, id, version, opcode and level; a row is found by a hash of these five.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/recording.h>

#include "base/array.h"
#include "base/map.h"
#include "base/os.h"
#include "base/utc.h"
#include "etwtool/recording.h"
#include "etwtool/tool.h"

/* ---- records by event ---- */

enum { EVENT_COUNTS_MAX = 1 << 20 };

struct event_count {
	struct etw_guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
	uint64_t records;
};

/* Zero-initialise it. */
struct event_counts {
	struct event_count *rows; /* owned */
	size_t count;
	size_t capacity;
	struct map by_hash; /* hash of the first five members -> index + 1 */
	uint64_t refused;   /* records beyond EVENT_COUNTS_MAX rows, or without memory */
};

/* Packs the numbers of an event so that rows can be sorted by them. */
static uint64_t numbers_of(uint16_t id, uint8_t version, uint8_t opcode, uint8_t level)
{
	return (uint64_t)id << 24 | (uint64_t)version << 16 | (uint64_t)opcode << 8 | level;
}

static void event_counts_add(struct event_counts *counts, const struct etw_record *record)
{
	uint64_t numbers = numbers_of(record->id, record->version, record->opcode, record->level);
	uint64_t key = guid_hash(record->provider, hash_seed()) ^ hash_u64(numbers + 1);
	uint64_t *index = map_find(&counts->by_hash, key);
	struct event_count *grown;

	if (!index && counts->count < EVENT_COUNTS_MAX) {
		grown = array_grow(counts->rows, &counts->capacity, counts->count, sizeof *grown);
		counts->rows = grown ? grown : counts->rows;
		index = grown ? map_put(&counts->by_hash, key, NULL) : NULL;
	}
	if (!index) {
		counts->refused++;
		return;
	}
	if (*index == 0) {
		counts->rows[counts->count++] = (struct event_count){
			.provider = *record->provider,
			.id = record->id,
			.version = record->version,
			.opcode = record->opcode,
			.level = record->level,
		};
		*index = counts->count;
	}
	counts->rows[*index - 1].records++;
}

/* Sorts by the text of the GUID, then by numbers. */
static int compare_rows(const void *a, const void *b)
{
	const struct event_count *x = a, *y = b;
	uint64_t x_numbers = numbers_of(x->id, x->version, x->opcode, x->level);
	uint64_t y_numbers = numbers_of(y->id, y->version, y->opcode, y->level);
	char x_guid[GUID_TEXT_SIZE], y_guid[GUID_TEXT_SIZE];
	int order = 0;

	if (!etw_guid_equal(&x->provider, &y->provider)) {
		guid_format(&x->provider, x_guid);
		guid_format(&y->provider, y_guid);
		order = strcmp(x_guid, y_guid);
	}
	return order != 0 ? order : (x_numbers > y_numbers) - (x_numbers < y_numbers);
}

/* ---- the pass ---- */

enum { POINTER_SIZES = 2, BUFFER_TYPES = 1 << 16 };

struct summary {
	struct etw_configured_manifests manifests; /* borrowed */
	struct etw_file *file;
	struct etw_trace_schemas *schemas;
	struct etw_problems problems;
	uint64_t buffers;
	uint64_t compressed;
	uint64_t *buffer_types; /* array of BUFFER_TYPES counts; owned */
	uint64_t records;
	uint64_t types[ETW_RECORD_TYPE_COUNT][POINTER_SIZES];
	int64_t first_raw;
	int64_t last_raw;
	bool has_time;
	struct event_counts counts;
	struct progress progress;
};

static void count_record(void *context, const struct etw_record *record)
{
	struct summary *summary = context;

	summary->records++;
	summary->types[record->type == ETW_RECORD_STRING ? ETW_RECORD_EVENT : record->type]
		      [record->pointer_size == 8]++; /* counted by pointer size in the header */
	if (record->raw_time != ETW_RECORD_NO_TIME) {
		if (!summary->has_time || record->raw_time < summary->first_raw) {
			summary->first_raw = record->raw_time;
		}
		if (!summary->has_time || record->raw_time > summary->last_raw) {
			summary->last_raw = record->raw_time;
		}
		summary->has_time = true;
	}
	event_counts_add(&summary->counts, record);
	etw_trace_schemas_look(summary->schemas, record);
}

static void count_buffer(void *context, uint64_t offset, const struct etw_buffer_header *header)
{
	struct summary *summary = context;
	uint64_t size_bytes = etw_file_size_bytes(summary->file);

	progress_show(&summary->progress, offset, size_bytes, 0, size_bytes);
	summary->buffers++;
	summary->compressed += header->compressed;
	summary->buffer_types[header->type]++;
}

static bool read_recording(struct summary *summary, struct etw_error *err)
{
	struct etw_damage damage = { .problems = &summary->problems };
	struct etw_visitor visitor = { .record_context = summary,
				       .on_record = count_record,
				       .buffer_context = summary,
				       .on_buffer_header = count_buffer };
	const char *clock_doubt = etw_file_clock_doubt(summary->file);
	const char *set_doubt = etw_file_set_doubt(summary->file);
	bool good;

	if (clock_doubt) {
		etw_problem(&summary->problems, "%s", clock_doubt);
	}
	if (set_doubt) {
		etw_problem(&summary->problems, "%s", set_doubt);
	}
	progress_start(&summary->progress, "etwtool", tool_summary.name, tool_summary.output);
	summary->progress.passes = 1;
	good = etw_file_visit(summary->file, &damage, &visitor, err);
	progress_end(&summary->progress);
	if (!good) {
		return false;
	}
	if (summary->counts.count > 0) {
		sort_items(summary->counts.rows, summary->counts.count, sizeof(struct event_count),
			   compare_rows);
	}
	etw_trace_schemas_finish(summary->schemas);
	return true;
}

/* ---- output ---- */

static void write_header(struct json *json, const struct etw_header *header)
{
	char version[40];

	snprintf(version, sizeof version, "%u.%u.%" PRIu32, (unsigned)header->version_major,
		 (unsigned)header->version_minor, header->os_build);
	json_member_object(json, "header");
	json_member_u64(json, "buffer_size", header->buffer_size_bytes);
	json_member_string(json, "os_version", version);
	json_member_u64(json, "ncpu", header->processors);
	json_member_u64(json, "pointer_size", header->pointer_size);
	json_member_i64(json, "perf_freq", header->perf_frequency);
	json_member_u64(json, "cpu_mhz", header->cpu_mhz);
	json_member_u64(json, "clock_type", header->clock_type);
	json_member_string(json, "clock",
			   etw_clock_type_name((enum etw_clock_type)header->clock_type));
	json_member_i64(json, "start_filetime", header->start_time);
	json_member_i64(json, "end_filetime", header->end_time);
	json_member_i64(json, "boot_filetime", header->boot_time);
	utc_member(json, "start", header->start_time);
	utc_member(json, "end", header->end_time);
	json_member_i64(json, "header_raw_timestamp", header->raw_time);
	json_member_u64(json, "log_file_mode", header->mode);
	json_member_u64(json, "buffers_written", header->buffers_written);
	json_member_u64(json, "events_lost", header->events_lost);
	json_member_u64(json, "buffers_lost", header->buffers_lost);
	json_member_i64(json, "timezone_bias_minutes", header->timezone_bias_minutes);
	json_member_u64(json, "timer_resolution", header->timer_resolution_100ns);
	json_member_string(json, "logger_name", header->logger_name);
	json_member_string(json, "log_file_name", header->log_file_name);
	json_object_end(json);
}

/* Writes the files of a recording that has several. */
static void write_files(struct json *json, const struct etw_file *file)
{
	size_t count;
	const struct etw_file_part *parts = etw_file_parts(file, &count);

	if (count == 0) {
		return;
	}
	json_member_array(json, "files");
	for (size_t i = 0; i < count; i++) {
		const struct etw_file_part *part = &parts[i];

		json_object_begin(json);
		json_member_string(json, "file", os_path_name(part->path));
		json_member_u64(json, "bytes", part->size_bytes);
		json_member_u64(json, "events_lost", part->events_lost);
		json_member_u64(json, "buffers_lost", part->buffers_lost);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_buffers(struct json *json, const struct summary *summary)
{
	json_member_u64(json, "buffers", summary->buffers);
	json_member_object(json, "buffer_stats");
	if (summary->compressed > 0) {
		json_member_u64(json, "compressed", summary->compressed);
	}
	if (summary->buffers > summary->compressed) {
		json_member_u64(json, "plain", summary->buffers - summary->compressed);
	}
	for (unsigned type = 0; type < BUFFER_TYPES; type++) {
		char name[16];

		if (summary->buffer_types[type] > 0) {
			snprintf(name, sizeof name, "type%u", type);
			json_member_u64(json, name, summary->buffer_types[type]);
		}
	}
	json_object_end(json);
}

struct named_count {
	char name[24];
	uint64_t count;
};

static int compare_names(const void *a, const void *b)
{
	const struct named_count *x = a;
	const struct named_count *y = b;

	return strcmp(x->name, y->name);
}

static void write_classes(struct json *json, const struct summary *summary)
{
	struct named_count rows[ETW_RECORD_TYPE_COUNT * POINTER_SIZES];
	size_t count = 0;

	for (unsigned type = 0; type < ETW_RECORD_TYPE_COUNT; type++) {
		const uint64_t *by_size = summary->types[type];
		const char *name = etw_record_type_name((enum etw_record_type)type);

		/* The header of a message does not state the pointer size. */
		if (type == ETW_RECORD_MESSAGE) {
			snprintf(rows[count].name, sizeof rows[count].name, "%s", name);
			rows[count++].count = by_size[0] + by_size[1];
			continue;
		}
		for (unsigned size = 0; size < POINTER_SIZES; size++) {
			snprintf(rows[count].name, sizeof rows[count].name, "%s%s", name,
				 size ? "64" : "32");
			rows[count++].count = by_size[size];
		}
	}
	qsort(rows, count, sizeof rows[0], compare_names);
	json_member_object(json, "record_kinds");
	for (size_t i = 0; i < count; i++) {
		if (rows[i].count > 0) {
			json_member_u64(json, rows[i].name, rows[i].count);
		}
	}
	json_object_end(json);
}

static void write_times(struct json *json, const struct summary *summary)
{
	const struct etw_source_clock *clock = etw_file_clock(summary->file);
	static const char *const keys[] = { "first_raw_timestamp", "last_raw_timestamp",
					    "first_filetime", "last_filetime" };
	int64_t values[] = {
		summary->first_raw,
		summary->last_raw,
		etw_clock_time(clock, summary->first_raw),
		etw_clock_time(clock, summary->last_raw),
	};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (summary->has_time) {
			json_member_i64(json, keys[i], values[i]);
		} else {
			json_member_string(json, keys[i], NULL);
		}
	}
}

/*
 * Returns the name of a kernel class; for other providers the name in the recording, or else in a
 * manifest.
 */
static const char *name_of_provider(const struct summary *summary, const struct etw_guid *provider)
{
	const char *name = etw_kernel_class_name(provider);
	const struct etw_schema_origins origins = { .trace = summary->schemas,
						    .configured = summary->manifests.configured,
						    .builtin = summary->manifests.builtin };

	return name ? name : etw_event_provider_name(&origins, provider);
}

static void write_providers(struct json *json, const struct summary *summary)
{
	const struct event_counts *counts = &summary->counts;

	json_member_object(json, "providers");
	for (size_t i = 0; i < counts->count;) {
		const struct etw_guid *provider = &counts->rows[i].provider;
		uint64_t records = 0;
		char text[GUID_TEXT_SIZE];

		for (; i < counts->count && etw_guid_equal(provider, &counts->rows[i].provider);
		     i++) {
			records += counts->rows[i].records;
		}
		guid_format(provider, text);
		json_member_object(json, text);
		json_member_string(json, "name", name_of_provider(summary, provider));
		json_member_u64(json, "events", records);
		json_object_end(json);
	}
	json_object_end(json);
}

static void write_schemas(struct json *json, const struct summary *summary)
{
	struct etw_trace_schemas_counts counts;

	etw_trace_schemas_count(summary->schemas, &counts);
	json_member_object(json, "schemas");
	json_member_u64(json, "eventsource_manifests", counts.manifests);
	json_member_u64(json, "eventinfo", counts.event_infos);
	json_member_u64(json, "maps", counts.maps);
	json_object_end(json);
}

static void write_counts(struct json *json, const struct summary *summary)
{
	json_member_array(json, "counts");
	for (size_t i = 0; i < summary->counts.count; i++) {
		const struct event_count *row = &summary->counts.rows[i];

		json_object_begin(json);
		json_member_guid(json, "provider", &row->provider);
		json_member_u64(json, "id", row->id);
		json_member_u64(json, "version", row->version);
		json_member_u64(json, "opcode", row->opcode);
		json_member_u64(json, "level", row->level);
		json_member_u64(json, "count", row->records);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_problems(struct json *json, const struct summary *summary)
{
	const struct etw_problems *problems = &summary->problems;
	char text[80];

	json_member_array(json, "problems");
	for (size_t i = 0; i < problems->count; i++) {
		json_string(json, problems->sentences[i]);
	}
	if (problems->dropped > 0) {
		snprintf(text, sizeof text, "and %" PRIu64 " more", problems->dropped);
		json_string(json, text);
	}
	if (summary->counts.refused > 0) {
		snprintf(text, sizeof text,
			 "%" PRIu64 " records of too many event classes to count",
			 summary->counts.refused);
		json_string(json, text);
	}
	json_array_end(json);
}

static void write_summary(struct etw_text *out, const struct summary *summary, const char *path)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);

	json_member_string(json, "file", os_path_name(path));
	write_files(json, summary->file);
	write_header(json, etw_file_header(summary->file));
	write_buffers(json, summary);
	json_member_u64(json, "records", summary->records);
	write_classes(json, summary);
	write_times(json, summary);
	write_providers(json, summary);
	write_schemas(json, summary);
	write_counts(json, summary);
	write_problems(json, summary);
	tool_json_end(&page, out);
}

static int run(struct tool_arguments *arguments)
{
	struct summary summary = { .manifests = { NULL } };
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };
	int status = TOOL_FAILED;

	if (arguments->builtin && !tool_use_builtin(arguments)) {
		return TOOL_FAILED;
	}
	summary.manifests = arguments->manifests;
	/* 0: no override of the pointer size, so headers are counted as recorded. */
	summary.file = etw_file_open(arguments->words[0], 0, &err);
	summary.schemas = summary.file ? etw_trace_schemas_new(&err) : NULL;
	summary.buffer_types = calloc(BUFFER_TYPES, sizeof *summary.buffer_types);
	if (summary.schemas && !summary.buffer_types) {
		error_no_memory(&err, "a summary");
	} else if (summary.schemas && read_recording(&summary, &err)) {
		write_summary(&out, &summary, arguments->words[0]);
		status = tool_print("summary", &out);
	}
	if (err.code != ETW_ERROR_NONE) {
		tool_complain(TOOL_FAILED, "summary", "%s", err.text);
	}
	free(summary.counts.rows);
	map_done(&summary.counts.by_hash);
	etw_problems_done(&summary.problems);
	etw_trace_schemas_free(summary.schemas);
	free(summary.buffer_types);
	etw_file_close(summary.file);
	return status;
}

const struct tool_command tool_summary = {
	.name = "summary",
	.synopsis = "FILE",
	.about = "Summarise a recording (.etl) as JSON",
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_BUILTIN,
	.words_most = 1,
	.size = sizeof(struct tool_arguments),
	.run = run,
};
