/* SPDX-License-Identifier: MIT */
/*
 * One table defines the health metrics: each row names a family, the place where its value is read,
 * and the runs in which it exists. To add a metric, add a row.
 *
 * Most rows name a member of a struct of statistics: of one session, of all sessions together, or
 * of the process. On each scrape these structs are filled, and the hook walks over the table and
 * copies the members, which are all uint64_t. A member that is an array has one sample for each
 * element, and the row has a function for the labels of the elements. Two rows may share a family;
 * their samples differ in the last label. The rows whose labels are texts that never change have a
 * function instead, which runs when the health is made, and again after a reload.
 */
#include "exporter/health.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/os.h"
#include "exporter/live.h"
#include "exporter/pipeline.h"
#include "exporter/runner.h"
#include "exporter/version.h"

/* The struct from which a row reads its value. */
enum from {
	FROM_SESSION,        /* struct runner_session, one sample for each session */
	FROM_TOTALS,         /* struct runner_totals */
	FROM_PROCESS,        /* struct os_process_stats */
	FROM_LOG,            /* struct log_statistics */
	FROM_MEMORY,         /* struct memory_statistics */
	FROM_RELOADS,        /* struct reloads */
	FROM_RECORDER,       /* struct flight_statistics; only with a flight recorder */
	FROM_LAST_RECORDING, /* flight_last_recording(); only with a flight recorder */
	FROM_NOTHING,        /* show() sets the samples, at the start and after each reload */
};

/* The runs in which a family exists. */
enum scope { ALWAYS, OF_REPLAY, OF_LIVE };

struct row {
	struct family_options family;
	enum from from;
	enum scope scope;
	size_t offset;                      /* of the member in the struct, in bytes */
	size_t count;                       /* number of elements; 0: the member is no array */
	const char *(*label)(size_t index); /* returns the last label value of an element */
	const char *text;                   /* value of the last label if the member is no array */
	void (*show)(struct health *health, struct family *family);
};

/* Results of reloads; the start counts as a successful one. */
struct reloads {
	uint64_t successful;           /* 1: the last reload succeeded */
	uint64_t success_time_unix_ns; /* when the last successful one was, since 1970 UTC */
};

struct health {
	struct registry *registry;
	struct runner *runner;
	struct os_mutex lock; /* held by the hook and by a reload; guards the next four */
	const struct setup *setup;
	struct reloads reloads;
	uint32_t last_recording[2]; /* ids of the label values that are shown; 0: none */
	struct shard *shard;
	struct family **families; /* owned; one for each row, NULL where this run has none */
};

/* Returns the id of a label value that comes from the program or its configuration. */
static uint32_t word(const struct health *health, const char *text)
{
	return intern_own(registry_strings(health->registry), text);
}

static void set(struct health *health, struct family *family, const uint32_t *labels,
		uint64_t value)
{
	family_set(family, health->shard, labels, (int64_t)value);
}

/* ---- labels of elements ---- */

static const char *restart_label(size_t index)
{
	return etw_restart_reason_name((enum etw_restart_reason)index);
}

static const char *name_label(size_t index)
{
	return etw_names_source_name((enum etw_names_source)index);
}

static const char *harvest_label(size_t index)
{
	return etw_harvest_result_name((enum etw_harvest_result)index);
}

static const char *miss_label(size_t index)
{
	return tracker_miss_name((enum tracker_miss)index);
}

static const char *table_label(size_t index)
{
	return tracker_table_name((enum tracker_table)index);
}

static const char *recorder_label(size_t index)
{
	return flight_result_name((enum flight_result)index);
}

/* ---- rows that are set once ---- */

static void show_build_info(struct health *health, struct family *family)
{
	const uint32_t labels[] = { word(health, program_version.number),
				    word(health, program_version.revision),
				    word(health, program_version.compiler),
				    word(health, program_version.arch) };

	set(health, family, labels, 1);
}

static void show_collectors(struct health *health, struct family *family)
{
	const struct collector_info *collector;

	for (size_t i = 0; (collector = rule_set_collector(health->setup->rules, i)) != NULL; i++) {
		uint32_t name = word(health, collector->name);

		set(health, family, &name, collector->on);
	}
}

static void show_session_info(struct health *health, struct family *family)
{
	for (size_t i = 0; i < runner_session_count(health->runner); i++) {
		struct runner_session session;
		uint32_t labels[4];

		runner_session(health->runner, i, &session);
		labels[0] = word(health, session.facts.name);
		labels[1] = word(health, session.facts.type);
		labels[2] = word(health, etw_clock_type_name(session.facts.clock.type));
		labels[3] = word(health, session.facts.mode);
		if (session.gone) {
			family_hide(family, health->shard, labels);
		} else {
			set(health, family, labels, 1);
		}
	}
}

static uint32_t number(const struct health *health, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof text, "%" PRIu32, value);
	return intern_string(registry_strings(health->registry), text);
}

static void show_replay_info(struct health *health, struct family *family)
{
	for (size_t i = 0; i < runner_session_count(health->runner); i++) {
		struct runner_session session;
		uint32_t labels[3];

		runner_session(health->runner, i, &session);
		labels[0] = word(health, session.facts.name);
		labels[1] = number(health, session.facts.os_build);
		labels[2] = number(health, session.facts.processors);
		set(health, family, labels, 1);
	}
}

/* ---- the table ---- */

/* clang-format off */
#define COUNTER(metric, text, ...) .family = { .type = FAMILY_COUNTER, .name = metric, .help = text, __VA_ARGS__ }
#define GAUGE(metric, text, ...) .family = { .type = FAMILY_GAUGE, .name = metric, .help = text, __VA_ARGS__ }
#define LABELS(count, ...) .labels = { __VA_ARGS__ }, .label_count = (count)
#define BY_SESSION LABELS(1, "session")
#define NO_LABELS .label_count = 0
#define SESSION(member) .from = FROM_SESSION, .offset = offsetof(struct runner_session, member)
#define SOURCE(member) SESSION(statistics.member)
#define TOTALS(member) .from = FROM_TOTALS, .offset = offsetof(struct runner_totals, member)
#define PROCESS(member) .from = FROM_PROCESS, .offset = offsetof(struct os_process_stats, member)
#define LOG(member) .from = FROM_LOG, .offset = offsetof(struct log_statistics, member)
#define MEMORY(member) .from = FROM_MEMORY, .offset = offsetof(struct memory_statistics, member)
#define RELOADS(member) .from = FROM_RELOADS, .offset = offsetof(struct reloads, member)
#define RECORDER(member) .from = FROM_RECORDER, .offset = offsetof(struct flight_statistics, member)
#define ONCE(function) .from = FROM_NOTHING, .show = (function)

/* Families of several rows. */
#define SCHEMA_CACHE_LOOKUPS COUNTER("etw_schema_cache_lookups_total", \
	"Schema cache lookups, by result (hit or miss).", LABELS(1, "result"))
#define STATE_ENTRIES GAUGE("etw_state_entries", \
	"Entries in the tables that keep state between events, by table.", LABELS(1, "table"))
#define STATE_EVICTIONS COUNTER("etw_state_evictions_total", \
	"Entries dropped from a state table because it was full, by table.", LABELS(1, "table"))

static const struct row rows[] = {
	{ SESSION(up), GAUGE("etw_session_up",
		"State of the session's consumer: 1 while it runs, otherwise 0.", BY_SESSION) },
	{ SESSION(lost_events), COUNTER("etw_session_events_lost_total",
		"Events lost by the session, as reported by Windows.", BY_SESSION) },
	{ SOURCE(realtime_buffers_lost), COUNTER("etw_session_realtime_buffers_lost_total",
		"Buffers lost because they could not be delivered to a real-time consumer.", BY_SESSION) },
	{ SESSION(lost_buffers), COUNTER("etw_session_log_buffers_lost_total",
		"Buffers lost because they could not be written to the log file.", BY_SESSION) },
	{ SOURCE(buffers_written), COUNTER("etw_session_buffers_written_total",
		"Buffers written by the session.", BY_SESSION) },
	{ SOURCE(buffers_allocated), .scope = OF_LIVE, GAUGE("etw_session_buffers",
		"Buffers allocated to the session.", BY_SESSION) },
	{ SOURCE(buffers_free), .scope = OF_LIVE, GAUGE("etw_session_buffers_free",
		"Buffers of the session that are allocated and free.", BY_SESSION) },
	{ SOURCE(buffers_max), .scope = OF_LIVE, GAUGE("etw_session_buffers_max",
		"Maximum number of buffers of the session; 0 when it is not known.", BY_SESSION) },
	{ SOURCE(buffer_size_bytes), GAUGE("etw_session_buffer_size_bytes",
		"Size of one buffer of the session.", BY_SESSION) },
	{ SOURCE(sample_interval_100ns), .scope = OF_LIVE, GAUGE("etw_session_sample_interval_seconds",
		"Time between two CPU profile samples of a processor; absent while none are taken.",
		.decimals = 7, BY_SESSION) },
	{ SOURCE(canary_sent), .scope = OF_LIVE, COUNTER("etw_session_canary_sent_total",
		"Test events (canaries) that the exporter wrote into the session.", BY_SESSION) },
	{ SOURCE(canary_received), .scope = OF_LIVE, COUNTER("etw_session_canary_received_total",
		"Test events (canaries) of the exporter that the session delivered back to it.",
		BY_SESSION) },
	{ SOURCE(canary_refused), .scope = OF_LIVE, COUNTER("etw_session_canary_refused_total",
		"Test events (canaries) that Windows refused to write because a session, not necessarily this one, had no room.",
		BY_SESSION) },
	{ SOURCE(buffers), COUNTER("etw_consumer_buffers_total",
		"Buffers whose events were delivered to the consumer.", BY_SESSION) },
	{ SESSION(lag_ns), GAUGE("etw_consumer_lag_seconds",
		"Delay between an event's timestamp and its processing (replay: delay against the schedule).",
		.decimals = 9, BY_SESSION) },
	{ SESSION(busy_ns), COUNTER("etw_consumer_busy_seconds_total",
		"CPU time of the session's consumer thread. Events may be lost when its rate approaches 1.",
		.decimals = 9, BY_SESSION) },
	{ SOURCE(late_records), COUNTER("etw_consumer_late_records_total",
		"Events delivered after an event with a later timestamp.", BY_SESSION) },
	{ SOURCE(bad_buffers), .scope = OF_REPLAY, COUNTER("etw_consumer_bad_buffers_total",
		"Buffers skipped because their header or compressed data is invalid.",
		BY_SESSION) },
	{ SOURCE(bad_bytes), .scope = OF_REPLAY, COUNTER("etw_consumer_bad_bytes_total",
		"Bytes of the recording that were skipped with damaged buffers.", BY_SESSION) },
	{ SOURCE(bad_records), COUNTER("etw_consumer_bad_records_total",
		"Malformed records. In a recording the rest of the buffer is skipped, in a live "
		"session an item that Windows adds to an event.",
		BY_SESSION) },
	{ TOTALS(pipeline.event_table.entries), GAUGE("etw_schema_cache_entries",
		"Event classes in the schema cache.", NO_LABELS) },
	{ TOTALS(progress_millionths), .scope = OF_REPLAY, GAUGE("etw_replay_progress_ratio",
		"Fraction of the recordings replayed in the current loop.",
		.decimals = 6) },
	{ TOTALS(position_100ns), .scope = OF_REPLAY, GAUGE("etw_replay_position_timestamp_seconds",
		"Timestamp of the last replayed event, as recorded.", .decimals = 7) },
	{ TOTALS(finished), .scope = OF_REPLAY, GAUGE("etw_replay_finished",
		"State of the replay: 1 when every recording has been replayed, otherwise 0.", NO_LABELS) },
	{ PROCESS(cpu_ns), COUNTER("process_cpu_seconds_total",
		"Total user and system CPU time spent in seconds.", .decimals = 9) },
	{ PROCESS(resident_bytes), GAUGE("process_resident_memory_bytes",
		"Resident memory size in bytes.", NO_LABELS) },
	{ PROCESS(virtual_bytes), GAUGE("process_virtual_memory_bytes",
		"Virtual memory size in bytes.", NO_LABELS) },
	{ PROCESS(start_time_unix_ns), GAUGE("process_start_time_seconds",
		"Start time of the process since unix epoch in seconds.", .decimals = 9) },
	{ PROCESS(open_fds), GAUGE("process_open_fds",
		"Number of open file descriptors.", NO_LABELS) },
	{ PROCESS(max_fds), GAUGE("process_max_fds",
		"Maximum number of open file descriptors.", NO_LABELS) },
	{ LOG(suppressed), COUNTER("etw_exporter_log_lines_suppressed_total",
		"Log lines that were not written because their message repeated.", NO_LABELS) },
	{ MEMORY(losses), COUNTER("etw_exporter_memory_losses_total",
		"Failed memory allocations; events, names or labels may be missing.", NO_LABELS) },
	{ RELOADS(successful), GAUGE("etw_exporter_config_last_reload_successful",
		"State of the last reload of the configuration, or of the start: 1 when it was put in force, otherwise 0.", NO_LABELS) },
	{ RELOADS(success_time_unix_ns), GAUGE("etw_exporter_config_last_reload_success_timestamp_seconds",
		"Time when the configuration in force was loaded, since unix epoch in seconds.", .decimals = 9) },
	{ RECORDER(recordings), .count = FLIGHT_RESULTS, .label = recorder_label,
	  COUNTER("etw_exporter_recorder_recordings_total",
		"Recordings of the flight recorder, by result. Refused ones came too soon after another one.",
		LABELS(1, "result")) },
	{ RECORDER(bytes), COUNTER("etw_exporter_recorder_written_bytes_total",
		"Bytes of the recordings that the flight recorder wrote.", NO_LABELS) },
	{ RECORDER(records), COUNTER("etw_exporter_recorder_records_total",
		"Events that the flight recorder copied into its memory.", NO_LABELS) },
	{ RECORDER(overwritten), COUNTER("etw_exporter_recorder_records_overwritten_total",
		"Events that the flight recorder no longer has in its memory because newer ones took their place.", NO_LABELS) },
	{ RECORDER(lost), COUNTER("etw_exporter_recorder_records_lost_total",
		"Events missing in recordings because newer ones took their place while the recording was written.", NO_LABELS) },
	{ RECORDER(left_out), COUNTER("etw_exporter_recorder_records_left_out_total",
		"Events that the flight recorder dropped because no recording can contain them: their size or clock does not fit.", NO_LABELS) },
	{ RECORDER(facts_dropped), COUNTER("etw_exporter_recorder_rundown_dropped_total",
		"Names of processes, threads, images and files that the flight recorder dropped for want of memory.", NO_LABELS) },
	{ RECORDER(span_ns), GAUGE("etw_exporter_recorder_span_seconds",
		"Time from the oldest event in the memory of the flight recorder to the newest; the shortest of all sessions.",
		.decimals = 9) },
	{ RECORDER(last_unix_ns), GAUGE("etw_exporter_recorder_last_recording_timestamp_seconds",
		"Time when the flight recorder wrote its last recording, since unix epoch in seconds.",
		.decimals = 9) },
	{ RECORDER(disk_free_bytes), GAUGE("etw_exporter_recorder_disk_free_bytes",
		"Bytes free on the disk of the flight recorder's folder.", NO_LABELS) },
	{ RECORDER(disk_needed_bytes), GAUGE("etw_exporter_recorder_disk_needed_bytes",
		"Bytes that must be free on the disk of the flight recorder's folder before a recording begins.", NO_LABELS) },
	{ .from = FROM_LAST_RECORDING, GAUGE("etw_exporter_recorder_last_recording_info",
		"Name of the file that the flight recorder wrote last, and the rule or request that it was written for; always 1.",
		LABELS(2, "file", "reason")) },
	{ ONCE(show_session_info), GAUGE("etw_session_info",
		"Sessions with their kind, clock and mode; always 1.", LABELS(4, "session", "kind", "clock",
		"mode")) },
	{ SOURCE(restarts), .count = ETW_RESTART_COUNT, .label = restart_label,
	  COUNTER("etw_session_restarts_total",
		"Restarts of the session, by reason.", LABELS(2, "session",
		"reason")) },
	{ SOURCE(names), .count = ETW_NAMES_COUNT, .label = name_label, .scope = OF_LIVE,
	  COUNTER("etw_session_names_harvested_total",
		"Names of files that were open before, by the source they came from.", LABELS(2, "session",
		"source")) },
	{ SOURCE(names_lost), .scope = OF_LIVE, COUNTER("etw_session_names_lost_total",
		"Records of harvest sessions that were lost or did not fit into memory.", BY_SESSION) },
	{ SOURCE(harvests), .count = ETW_HARVEST_COUNT, .label = harvest_label, .scope = OF_LIVE,
	  COUNTER("etw_session_harvests_total",
		"Harvest sessions, which find open files, disks and services, by result.", LABELS(2, "session",
		"result")) },
	{ SOURCE(restores_given_up), .scope = OF_LIVE, COUNTER("etw_session_restores_given_up_total",
		"Settings of the session that other programs changed so often that they are not restored for a while.",
		BY_SESSION) },
	{ SESSION(unattributed), .count = MISS_COUNT, .label = miss_label,
	  COUNTER("etw_consumer_unattributed_events_total",
		"Events that refer to a thread, process, file or disk that no event has named.", LABELS(2, "session",
		"reason")) },
	{ SESSION(repeated), COUNTER("etw_consumer_repeated_events_total",
		"Events of providers such as Microsoft-Windows-Kernel-File that rules did not count because events of the kernel report the same.",
		BY_SESSION) },
	{ SESSION(with_volume_millionths), GAUGE("etw_consumer_file_bytes_with_volume_ratio",
		"Fraction of file bytes whose volume is known, since the session started.",
		.decimals = 6, BY_SESSION) },
	{ SCHEMA_CACHE_LOOKUPS, TOTALS(pipeline.event_table.hits), .text = "hit" },
	{ SCHEMA_CACHE_LOOKUPS, TOTALS(pipeline.event_table.misses), .text = "miss" },
	{ STATE_ENTRIES, TOTALS(pipeline.tracker.entries), .count = TABLE_COUNT, .label = table_label },
	{ STATE_ENTRIES, TOTALS(pipeline.event_table.entries), .text = "kind" },
	/* A recording that is read twice collects all manifests in the first pass, and has no such
	 * table. */
	{ STATE_ENTRIES, TOTALS(pipeline.inband.entries), .text = "manifest", .scope = OF_LIVE },
	{ STATE_EVICTIONS, TOTALS(pipeline.tracker.evictions), .count = TABLE_COUNT, .label = table_label },
	{ STATE_EVICTIONS, TOTALS(pipeline.event_table.evictions), .text = "kind" },
	{ STATE_EVICTIONS, TOTALS(pipeline.inband.dropped), .text = "manifest" },
	{ STATE_EVICTIONS, TOTALS(pipeline.dropped_descriptions), .text = "description" },
	{ STATE_EVICTIONS, TOTALS(refused_texts), .text = "label" },
	{ ONCE(show_replay_info), .scope = OF_REPLAY, GAUGE("etw_replay_info",
		"Recordings with the Windows build and CPU count of the machine that wrote them; always 1.",
		LABELS(3, "file", "os_build", "cpus")) },
	{ ONCE(show_build_info), GAUGE("etw_exporter_build_info",
		"Version, source revision, compiler and architecture of the exporter; always 1.", LABELS(4, "version", "revision", "compiler",
		"arch")) },
	{ ONCE(show_collectors), GAUGE("etw_exporter_collector_enabled",
		"State of each collector: 1 enabled, 0 disabled.", LABELS(1, "collector")) },
};
/* clang-format on */

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* ---- the scrape ---- */

/* Sets the samples of a row from `values`, the struct that the row names. session: the label id of
 * a row of sessions, else ignored. gone: the session no longer exists, so its gauges leave the page
 * and its counters stay. */
static void show_row(struct health *health, size_t index, const void *values, uint32_t session,
		     bool gone)
{
	const struct row *row = &rows[index];
	const char *member = (const char *)values + row->offset;
	size_t count = row->count > 0 ? row->count : 1;
	uint32_t labels[FAMILY_LABELS_MAX] = { session };
	bool hides = gone && row->family.type == FAMILY_GAUGE;

	for (size_t i = 0; i < count; i++) {
		const char *label = row->label ? row->label(i) : row->text;
		uint64_t value;

		memcpy(&value, member + i * sizeof value, sizeof value);
		if (label) {
			labels[row->family.label_count - 1] = word(health, label);
		}
		if (value != UINT64_MAX && !hides) {
			set(health, health->families[index], labels, value);
		} else if (row->from == FROM_SESSION) { /* the value is unknown now; it may have
							   been shown before */
			family_hide(health->families[index], health->shard, labels);
		}
	}
}

static void show_rows(struct health *health, enum from from, const void *values, uint32_t session,
		      bool gone)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].from == from && health->families[i]) {
			show_row(health, i, values, session, gone);
		}
	}
}

static void show_last_recording(struct health *health)
{
	struct etw_text file = { 0 }, reason = { 0 };
	size_t row = 0;

	while (rows[row].from != FROM_LAST_RECORDING) {
		row++;
	}
	if (flight_last_recording(runner_recorder(health->runner), &file, &reason)) {
		struct intern *strings = registry_strings(health->registry);
		const uint32_t labels[] = { intern_string(strings, file.data),
					    intern_string(strings, reason.data) };

		if (memcmp(labels, health->last_recording, sizeof labels) != 0) {
			if (health->last_recording[0] != 0) {
				family_hide(health->families[row], health->shard,
					    health->last_recording);
			}
			memcpy(health->last_recording, labels, sizeof labels);
			set(health, health->families[row], labels, 1);
		}
	}
	text_free(&file);
	text_free(&reason);
}

static void on_scrape(void *context)
{
	struct health *health = context;
	struct runner_totals totals;
	struct os_process_stats process;
	struct memory_statistics memory;
	struct log_statistics log;

	runner_note_scrape(health->runner);
	os_mutex_lock(&health->lock);
	for (size_t i = 0; i < runner_session_count(health->runner); i++) {
		struct runner_session session;

		runner_session(health->runner, i, &session);
		show_rows(health, FROM_SESSION, &session, word(health, session.facts.name),
			  session.gone);
	}
	runner_totals(health->runner, &totals);
	show_rows(health, FROM_TOTALS, &totals, 0, false);
	os_process_stats(&process);
	show_rows(health, FROM_PROCESS, &process, 0, false);
	log_statistics(&log);
	show_rows(health, FROM_LOG, &log, 0, false);
	memory_statistics(&memory);
	show_rows(health, FROM_MEMORY, &memory, 0, false);
	show_rows(health, FROM_RELOADS, &health->reloads, 0, false);
	if (runner_recorder(health->runner)) {
		struct flight_statistics recorder;

		flight_statistics(runner_recorder(health->runner), &recorder);
		show_rows(health, FROM_RECORDER, &recorder, 0, false);
		show_last_recording(health);
	}
	os_mutex_unlock(&health->lock);
}

/* ---- making ---- */

static bool make_families(struct health *health, struct etw_error *err)
{
	enum scope other = runner_is_live(health->runner) ? OF_REPLAY : OF_LIVE;

	health->families = calloc(ROW_COUNT, sizeof(struct family *));
	if (!health->families) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the health families");
	}
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].scope == other ||
		    ((rows[i].from == FROM_RECORDER || rows[i].from == FROM_LAST_RECORDING) &&
		     !runner_recorder(health->runner))) {
			continue;
		}
		health->families[i] = registry_family(health->registry, &rows[i].family, err);
		if (!health->families[i]) {
			return false;
		}
		if (rows[i].show) {
			rows[i].show(health, health->families[i]);
		}
	}
	return true;
}

struct health *health_new(const struct setup *setup, struct runner *runner, struct etw_error *err)
{
	struct health *health = calloc(1, sizeof *health);

	if (!health) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the health families");
		return NULL;
	}
	health->registry = setup->registry;
	health->setup = setup;
	health->runner = runner;
	health->reloads =
		(struct reloads){ .successful = 1, .success_time_unix_ns = os_unix_time_ns() };
	os_mutex_init(&health->lock);
	health->shard = registry_shard(setup->registry, false, err);
	if (!health->shard || !make_families(health, err) ||
	    !registry_on_scrape(setup->registry, on_scrape, health, err)) {
		health_free(health);
		return NULL;
	}
	return health;
}

void health_free(struct health *health)
{
	if (health) {
		os_mutex_done(&health->lock);
		free(health->families);
		free(health);
	}
}

/* ---- reloads ---- */

/* Hides the collectors that no longer exist. The caller holds the lock. */
static void hide_collectors(struct health *health, struct family *family,
			    const struct rule_set *next)
{
	const struct collector_info *collector, *other;

	for (size_t i = 0; (collector = rule_set_collector(health->setup->rules, i)) != NULL; i++) {
		uint32_t name = word(health, collector->name);
		size_t j = 0;

		while ((other = rule_set_collector(next, j)) != NULL &&
		       strcmp(other->name, collector->name) != 0) {
			j++;
		}
		if (!other) {
			family_hide(family, health->shard, &name);
		}
	}
}

void health_reloaded(struct health *health, const struct setup *next)
{
	os_mutex_lock(&health->lock);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].show == show_collectors) {
			hide_collectors(health, health->families[i], next->rules);
		}
	}
	health->setup = next;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].show && health->families[i]) {
			rows[i].show(health, health->families[i]);
		}
	}
	health->reloads =
		(struct reloads){ .successful = 1, .success_time_unix_ns = os_unix_time_ns() };
	os_mutex_unlock(&health->lock);
}

void health_reload_failed(struct health *health)
{
	os_mutex_lock(&health->lock);
	health->reloads.successful = 0;
	os_mutex_unlock(&health->lock);
}

/* ---- scrapes ---- */

static const uint64_t duration_bounds_ns[] = { 1000000,    2500000,    5000000,    10000000,
					       25000000,   50000000,   100000000,  250000000,
					       500000000,  1000000000, 2500000000, 5000000000,
					       10000000000 };

/* clang-format off */
static const struct family_options scrape_rows[SCRAPE_FAMILIES] = {
	[SCRAPE_COUNT] = { .type = FAMILY_COUNTER, .name = "etw_exporter_scrapes_total",
		.help = "Scrapes answered, by HTTP status code. Code 499 means that the client closed the connection early.", LABELS(1, "code") },
	[SCRAPE_DURATION] = { .type = FAMILY_HISTOGRAM, .name = "etw_exporter_scrape_duration_seconds",
		.help = "Time to render and send the metrics page.", .decimals = 9, .buckets = duration_bounds_ns,
		.bucket_count = sizeof duration_bounds_ns / sizeof duration_bounds_ns[0] },
	[SCRAPE_SIZE] = { .type = FAMILY_GAUGE, .name = "etw_exporter_scrape_size_bytes",
		.help = "Size of the last metrics page." },
	[CONNECTIONS_OPEN] = { .type = FAMILY_GAUGE, .name = "etw_exporter_http_connections",
		.help = "Open connections of the web server." },
	[CONNECTIONS_CLOSED] = { .type = FAMILY_COUNTER, .name = "etw_exporter_http_connections_closed_total",
		.help = "Connections that ended, by reason.", LABELS(1, "reason") },
};
/* clang-format on */

static bool register_rows(struct registry *registry, const struct family_options *family_rows,
			  unsigned count, struct family **families, struct etw_error *err)
{
	bool good = true;

	for (unsigned i = 0; good && i < count; i++) {
		families[i] = registry_family(registry, &family_rows[i], err);
		good = families[i] != NULL;
	}
	return good;
}

bool scrape_families(struct registry *registry, struct family *families[SCRAPE_FAMILIES],
		     struct etw_error *err)
{
	return register_rows(registry, scrape_rows, SCRAPE_FAMILIES, families, err);
}

/* ---- the web configuration ---- */

/* clang-format off */
static const struct family_options web_rows[WEB_FAMILIES] = {
	[WEB_AUTH_FAILURES] = { .type = FAMILY_COUNTER, .name = "etw_exporter_http_auth_failures_total",
		.help = "Requests refused by authentication, by reason (denied, busy or penalty).",
		LABELS(1, "reason") },
	[WEB_RATE_LIMITED] = { .type = FAMILY_COUNTER, .name = "etw_exporter_http_rate_limited_total",
		.help = "Requests refused by the rate limit of the web configuration." },
	[WEB_TLS_FAILURES] = { .type = FAMILY_COUNTER, .name = "etw_exporter_tls_handshake_failures_total",
		.help = "TLS handshakes that failed: protocol errors and client certificates that are not accepted." },
	[WEB_CERTIFICATE_END] = { .type = FAMILY_GAUGE, .name = "etw_exporter_tls_certificate_not_after_timestamp_seconds",
		.help = "End of the validity of the web server's certificate, since unix epoch in seconds." },
	[WEB_READ] = { .type = FAMILY_GAUGE, .name = "etw_exporter_web_config_last_reload_successful",
		.help = "State of the web configuration: 1 when the files as they are now are in force, 0 after a mistake in them." },
	[WEB_READ_TIME] = { .type = FAMILY_GAUGE, .name = "etw_exporter_web_config_last_reload_success_timestamp_seconds",
		.help = "Time when the web configuration in force was read, since unix epoch in seconds.", .decimals = 9 },
};
/* clang-format on */

bool web_families(struct registry *registry, struct family *families[WEB_FAMILIES],
		  struct etw_error *err)
{
	return register_rows(registry, web_rows, WEB_FAMILIES, families, err);
}

/* ---- all of them ---- */

bool health_declare(struct registry *registry, struct etw_error *err)
{
	struct family *pipeline[PIPELINE_FAMILIES];
	struct family *scrapes[SCRAPE_FAMILIES];
	struct family *web[WEB_FAMILIES];
	bool good = pipeline_families(registry, pipeline, err) &&
		    live_delay_family(registry, err) != NULL &&
		    scrape_families(registry, scrapes, err) && web_families(registry, web, err);

	for (size_t i = 0; good && i < ROW_COUNT; i++) {
		good = registry_family(registry, &rows[i].family, err) != NULL;
	}
	return good;
}
