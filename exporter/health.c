/* SPDX-License-Identifier: MIT */
/*
 * One row per family: name, help, type, where its value comes from. Adding a figure is adding a row
 * and its case.
 */
#include "health.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "version.h"

enum figure {
	/* by session */
	SESSION_UP,
	SESSION_EVENTS_LOST,
	SESSION_REALTIME_BUFFERS_LOST,
	SESSION_LOG_BUFFERS_LOST,
	SESSION_BUFFERS_WRITTEN,
	SESSION_BUFFERS,
	SESSION_BUFFERS_FREE,
	SESSION_BUFFERS_MAX,
	SESSION_BUFFER_SIZE,
	SESSION_CANARY_SENT,
	SESSION_CANARY_RECEIVED,
	CONSUMER_BUFFERS,
	CONSUMER_LAG,
	CONSUMER_BUSY,
	CONSUMER_LATE_RECORDS,
	CONSUMER_BAD_BUFFERS,
	CONSUMER_BAD_RECORDS,
	/* of the whole program */
	SCHEMA_CACHE_ENTRIES,
	REPLAY_PROGRESS,
	REPLAY_POSITION,
	REPLAY_FINISHED,
	PROCESS_CPU,
	PROCESS_RESIDENT,
	PROCESS_VIRTUAL,
	PROCESS_START_TIME,
	PROCESS_OPEN_FDS,
	PROCESS_MAX_FDS,
	/* with a second label */
	SESSION_INFO,
	SESSION_RESTARTS,
	CONSUMER_UNATTRIBUTED,
	SCHEMA_CACHE_LOOKUPS,
	STATE_ENTRIES,
	STATE_EVICTIONS,
	REPLAY_INFO,
	BUILD_INFO,
	COLLECTOR_ENABLED,
	FIGURE_COUNT
};

#define BY_SESSION .labels = { "session" }, .label_count = 1
#define BY_2(a, b) .labels = { a, b }, .label_count = 2
/* clang-format off */
#define COUNTER(family, text, ...) { .type = FAMILY_COUNTER, .name = family, .help = text, __VA_ARGS__ }
#define GAUGE(family, text, ...) { .type = FAMILY_GAUGE, .name = family, .help = text, __VA_ARGS__ }

static const struct family_options figures[FIGURE_COUNT] = {
	[SESSION_UP] = GAUGE("etw_session_up",
		"1 while the consumer of the session runs.",
		BY_SESSION),
	[SESSION_EVENTS_LOST] = COUNTER("etw_session_events_lost_total",
		"Events that the session lost, as Windows tells it.",
		BY_SESSION),
	[SESSION_REALTIME_BUFFERS_LOST] = COUNTER("etw_session_realtime_buffers_lost_total",
		"Buffers that could not be delivered to a real-time consumer.",
		BY_SESSION),
	[SESSION_LOG_BUFFERS_LOST] = COUNTER("etw_session_log_buffers_lost_total",
		"Buffers that could not be written to the session's file.",
		BY_SESSION),
	[SESSION_BUFFERS_WRITTEN] = COUNTER("etw_session_buffers_written_total",
		"Buffers that the session has written.",
		BY_SESSION),
	[SESSION_BUFFERS] = GAUGE("etw_session_buffers",
		"Buffers allocated to the session; 0 for a recording.",
		BY_SESSION),
	[SESSION_BUFFERS_FREE] = GAUGE("etw_session_buffers_free",
		"Buffers of the session that are allocated and free; 0 for a recording.",
		BY_SESSION),
	[SESSION_BUFFERS_MAX] = GAUGE("etw_session_buffers_max",
		"Most buffers that the session may allocate; 0 when not told.",
		BY_SESSION),
	[SESSION_BUFFER_SIZE] = GAUGE("etw_session_buffer_size_bytes",
		"Size of one buffer of the session.",
		BY_SESSION),
	[SESSION_CANARY_SENT] = COUNTER("etw_session_canary_sent_total",
		"Events that the exporter's own provider wrote into the session.",
		BY_SESSION),
	[SESSION_CANARY_RECEIVED] = COUNTER("etw_session_canary_received_total",
		"Events that the exporter's own provider wrote into the session and that came back.",
		BY_SESSION),
	[CONSUMER_BUFFERS] = COUNTER("etw_consumer_buffers_total",
		"Buffers whose events were delivered to the consumer.",
		BY_SESSION),
	[CONSUMER_LAG] = GAUGE("etw_consumer_lag_seconds",
		"How far the consumer is behind: delivery behind event time; for a replay, behind its schedule.",
		.decimals = 9, BY_SESSION),
	[CONSUMER_BUSY] = COUNTER("etw_consumer_busy_seconds_total",
		"CPU time of the consumer thread spent on the session; loss is near when its rate nears 1.",
		.decimals = 9, BY_SESSION),
	[CONSUMER_LATE_RECORDS] = COUNTER("etw_consumer_late_records_total",
		"Records delivered out of time order, because too many buffers overlapped in time.",
		BY_SESSION),
	[CONSUMER_BAD_BUFFERS] = COUNTER("etw_consumer_bad_buffers_total",
		"Buffers left out because their header or compressed data make no sense.",
		BY_SESSION),
	[CONSUMER_BAD_RECORDS] = COUNTER("etw_consumer_bad_records_total",
		"Places in buffers from which the rest was left out because a record makes no sense.",
		BY_SESSION),
	[SCHEMA_CACHE_ENTRIES] = GAUGE("etw_schema_cache_entries",
		"Kinds of events that the running consumers remember.",
		.decimals = 0),
	[REPLAY_PROGRESS] = GAUGE("etw_replay_progress_ratio",
		"Part of the recordings' bytes that is replayed, of the present pass.",
		.decimals = 6),
	[REPLAY_POSITION] = GAUGE("etw_replay_position_timestamp_seconds",
		"Time of the last event replayed, in the recording's clock.",
		.decimals = 7),
	[REPLAY_FINISHED] = GAUGE("etw_replay_finished",
		"1 when every recording has been replayed.",
		.decimals = 0),
	[PROCESS_CPU] = COUNTER("process_cpu_seconds_total",
		"Total user and system CPU time spent in seconds.",
		.decimals = 9),
	[PROCESS_RESIDENT] = GAUGE("process_resident_memory_bytes",
		"Resident memory size in bytes.",
		.decimals = 0),
	[PROCESS_VIRTUAL] = GAUGE("process_virtual_memory_bytes",
		"Virtual memory size in bytes.",
		.decimals = 0),
	[PROCESS_START_TIME] = GAUGE("process_start_time_seconds",
		"Start time of the process since unix epoch in seconds.",
		.decimals = 9),
	[PROCESS_OPEN_FDS] = GAUGE("process_open_fds",
		"Number of open file descriptors.",
		.decimals = 0),
	[PROCESS_MAX_FDS] = GAUGE("process_max_fds",
		"Maximum number of open file descriptors.",
		.decimals = 0),
	[SESSION_INFO] = GAUGE("etw_session_info",
		"What the session is: its kind, clock and mode.",
		.labels = { "session", "kind", "clock", "mode" }, .label_count = 4),
	[SESSION_RESTARTS] = COUNTER("etw_session_restarts_total",
		"Times the session had to be started again, by reason.",
		BY_2("session", "reason")),
	[CONSUMER_UNATTRIBUTED] = COUNTER("etw_consumer_unattributed_events_total",
		"Events whose thread, process, file or disk no event has named.",
		BY_2("session", "reason")),
	[SCHEMA_CACHE_LOOKUPS] = COUNTER("etw_schema_cache_lookups_total",
		"Look-ups of the kind of an event: known already, or worked out anew.",
		.labels = { "result" }, .label_count = 1),
	[STATE_ENTRIES] = GAUGE("etw_state_entries",
		"Entries in the tables that remember what earlier events said.",
		.labels = { "table" }, .label_count = 1),
	[STATE_EVICTIONS] = COUNTER("etw_state_evictions_total",
		"Entries that were dropped from a table because it was full.",
		.labels = { "table" }, .label_count = 1),
	[REPLAY_INFO] = GAUGE("etw_replay_info",
		"A recording that is replayed: its file, and the build and processors of the machine that wrote it.",
		.labels = { "file", "os_build", "cpus" }, .label_count = 3),
	[BUILD_INFO] = GAUGE("etw_exporter_build_info",
		"How this program was built.",
		.labels = { "version", "revision", "compiler", "arch" }, .label_count = 4),
	[COLLECTOR_ENABLED] = GAUGE("etw_exporter_collector_enabled",
		"Whether a collector is switched on.",
		.labels = { "collector" }, .label_count = 1),
};
/* clang-format on */

/* 100 ns units between 1601-01-01 and 1970-01-01. */
static const int64_t unix_epoch_100ns = INT64_C(116444736000000000);

struct health {
	struct registry *registry;
	struct replay *replay;    /* NULL: live */
	struct live_runner *live; /* NULL: replay */
	struct shard *shard;      /* used by the hook alone */
	struct family *families[FIGURE_COUNT];
};

static uint32_t word(const struct health *health, const char *text)
{
	return intern_string(registry_strings(health->registry), text);
}

static void set(struct health *health, enum figure figure, const uint32_t *labels, uint64_t value)
{
	family_set(health->families[figure], health->shard, labels, (int64_t)value);
}

/* ---- what changes: set before each scrape ---- */

/* What recordings and live sessions have in common. */
static void show_statistics(struct health *health, uint32_t name,
			    const struct source_statistics *statistics)
{
	set(health, SESSION_REALTIME_BUFFERS_LOST, &name, statistics->realtime_buffers_lost);
	set(health, SESSION_BUFFERS_WRITTEN, &name, statistics->buffers_written);
	set(health, SESSION_BUFFERS, &name, statistics->buffers_allocated);
	set(health, SESSION_BUFFERS_FREE, &name, statistics->buffers_free);
	set(health, SESSION_BUFFER_SIZE, &name, statistics->buffer_size_bytes);
	set(health, CONSUMER_LATE_RECORDS, &name, statistics->late_records);
	set(health, CONSUMER_BAD_BUFFERS, &name, statistics->bad_buffers);
	set(health, CONSUMER_BAD_RECORDS, &name, statistics->bad_records);
	for (unsigned i = 0; i < RESTART_COUNT; i++) {
		uint32_t labels[] = { name,
				      word(health, restart_reason_name((enum restart_reason)i)) };

		set(health, SESSION_RESTARTS, labels, statistics->restarts[i]);
	}
}

static void show_unattributed(struct health *health, uint32_t name,
			      const uint64_t unattributed[MISS_COUNT])
{
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		uint32_t labels[] = { name, word(health, tracker_miss_name(i)) };

		set(health, CONSUMER_UNATTRIBUTED, labels, unattributed[i]);
	}
}

static void show_live_session(struct health *health, size_t index)
{
	struct live_session session;
	uint32_t name;

	live_session(health->live, index, &session);
	name = word(health, session.name);
	show_statistics(health, name, &session.statistics);
	show_unattributed(health, name, session.unattributed);
	set(health, SESSION_UP, &name, session.statistics.up);
	set(health, SESSION_EVENTS_LOST, &name, session.statistics.events_lost);
	set(health, SESSION_LOG_BUFFERS_LOST, &name, session.statistics.buffers_lost);
	set(health, SESSION_BUFFERS_MAX, &name, session.statistics.buffers_max);
	set(health, SESSION_CANARY_SENT, &name, session.statistics.canary_sent);
	set(health, SESSION_CANARY_RECEIVED, &name, session.statistics.canary_received);
	set(health, CONSUMER_BUFFERS, &name, session.statistics.buffers);
	set(health, CONSUMER_LAG, &name, session.statistics.lag_ns);
	set(health, CONSUMER_BUSY, &name, session.busy_ns);
}

static void show_session(struct health *health, size_t index)
{
	struct replay_session session;
	struct replay_totals totals;
	uint32_t name;

	replay_session(health->replay, index, &session);
	replay_totals(health->replay, &totals);
	name = word(health, session.name);
	show_statistics(health, name, &session.statistics);
	show_unattributed(health, name, session.unattributed);
	set(health, SESSION_UP, &name, session.running);
	set(health, SESSION_EVENTS_LOST, &name, session.lost_events);
	set(health, SESSION_LOG_BUFFERS_LOST, &name, session.lost_buffers);
	set(health, SESSION_BUFFERS_MAX, &name, session.facts->buffers_max);
	set(health, CONSUMER_BUFFERS, &name, session.buffers);
	set(health, CONSUMER_LAG, &name, session.running ? totals.lag_ns : 0);
	set(health, CONSUMER_BUSY, &name, session.busy_ns);
}

static void show_table(struct health *health, const char *name, uint64_t entries,
		       uint64_t evictions)
{
	uint32_t table = word(health, name);

	set(health, STATE_ENTRIES, &table, entries);
	set(health, STATE_EVICTIONS, &table, evictions);
}

static void show_tables(struct health *health, const struct pipeline_statistics *statistics)
{
	const struct event_table_statistics *event_table = &statistics->event_table;
	const struct tracker_statistics *tracker = &statistics->tracker;
	uint32_t result;

	set(health, SCHEMA_CACHE_ENTRIES, NULL, event_table->entries);
	result = word(health, "hit");
	set(health, SCHEMA_CACHE_LOOKUPS, &result, event_table->hits);
	result = word(health, "miss");
	set(health, SCHEMA_CACHE_LOOKUPS, &result, event_table->misses);
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		show_table(health, tracker_table_name(i), tracker->entries[i],
			   tracker->evictions[i]);
	}
	show_table(health, "kind", event_table->entries, event_table->evictions);
}

static void show_totals(struct health *health)
{
	struct replay_totals totals;

	replay_totals(health->replay, &totals);
	show_tables(health, &totals.pipeline);
	set(health, REPLAY_PROGRESS, NULL, (uint64_t)(totals.progress * 1e6));
	set(health, REPLAY_FINISHED, NULL, totals.finished);
	set(health, REPLAY_POSITION, NULL,
	    totals.position == RECORD_NO_TIME ? 0 : (uint64_t)(totals.position - unix_epoch_100ns));
}

static void show_process(struct health *health)
{
	struct os_process_stats stats;
	const struct {
		enum figure figure;
		uint64_t value;
	} rows[] = {
		{ PROCESS_CPU, (os_process_stats(&stats), stats.cpu_ns) },
		{ PROCESS_RESIDENT, stats.resident_bytes },
		{ PROCESS_VIRTUAL, stats.virtual_bytes },
		{ PROCESS_START_TIME, stats.start_time_unix_ns },
		{ PROCESS_OPEN_FDS, stats.open_fds },
		{ PROCESS_MAX_FDS, stats.max_fds },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].value != UINT64_MAX) { /* what the system does not tell is left out */
			set(health, rows[i].figure, NULL, rows[i].value);
		}
	}
}

static void on_scrape(void *context)
{
	struct health *health = context;

	if (health->live) {
		struct pipeline_statistics totals;

		for (size_t i = 0; i < live_session_count(health->live); i++) {
			show_live_session(health, i);
		}
		live_totals(health->live, &totals);
		show_tables(health, &totals);
		/* A recording that is looked at ahead knows its manifests all at once, and keeps no
		 * such table. */
		show_table(health, "manifest", totals.inband.entries, totals.inband.dropped);
	} else {
		for (size_t i = 0; i < replay_session_count(health->replay); i++) {
			show_session(health, i);
		}
		show_totals(health);
	}
	show_process(health);
}

/* ---- what stays: set once ---- */

static void show_session_info(struct health *health, const char *name,
			      const struct source_facts *facts)
{
	uint32_t labels[] = { word(health, name), word(health, facts->type),
			      word(health, clock_type_name(facts->clock.type)),
			      word(health, facts->mode) };

	set(health, SESSION_INFO, labels, 1);
}

static void show_replay_info(struct health *health, const char *name,
			     const struct source_facts *facts)
{
	const uint32_t numbers[] = { facts->os_build, facts->processors };
	uint32_t labels[3] = { word(health, name) };

	for (size_t i = 0; i < 2; i++) {
		struct text number = { 0 };

		text_add_u64(&number, numbers[i]);
		labels[i + 1] = number.failed ? registry_unknown(health->registry) :
						word(health, number.data);
		text_free(&number);
	}
	set(health, REPLAY_INFO, labels, 1);
}

static void show_info(struct health *health, const struct rule_set *rules)
{
	uint32_t build[] = { word(health, version_number()), word(health, version_revision()),
			     word(health, version_compiler()), word(health, version_arch()) };
	const struct collector_info *collector;

	set(health, BUILD_INFO, build, 1);
	for (size_t i = 0; (collector = rule_set_collector(rules, i)) != NULL; i++) {
		uint32_t name = word(health, collector->name);

		set(health, COLLECTOR_ENABLED, &name, collector->on);
	}
	for (size_t i = 0; health->replay && i < replay_session_count(health->replay); i++) {
		struct replay_session session;

		replay_session(health->replay, i, &session);
		show_session_info(health, session.name, session.facts);
		show_replay_info(health, session.name, session.facts);
	}
	for (size_t i = 0; health->live && i < live_session_count(health->live); i++) {
		struct live_session session;

		live_session(health->live, i, &session);
		show_session_info(health, session.name, session.facts);
	}
}

/* Families that only a replay has. */
static bool is_of_replay(enum figure figure)
{
	return figure == REPLAY_PROGRESS || figure == REPLAY_POSITION ||
	       figure == REPLAY_FINISHED || figure == REPLAY_INFO;
}

bool health_declare(struct registry *registry, struct error *err)
{
	bool good = true;

	for (unsigned i = 0; good && i < FIGURE_COUNT; i++) {
		good = registry_family(registry, &figures[i], err) != NULL;
	}
	return good;
}

/* Families that only live sessions have. */
static bool is_of_live(enum figure figure)
{
	return figure == SESSION_CANARY_SENT || figure == SESSION_CANARY_RECEIVED;
}

static struct health *make(struct registry *registry, struct replay *replay,
			   struct live_runner *live, const struct rule_set *rules,
			   struct error *err)
{
	struct health *health = calloc(1, sizeof *health);

	if (!health) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the health families");
		return NULL;
	}
	health->registry = registry;
	health->replay = replay;
	health->live = live;
	health->shard = registry_shard(registry, false, err);
	if (!health->shard) {
		goto fail;
	}
	for (unsigned i = 0; i < FIGURE_COUNT; i++) {
		if (replay ? is_of_live((enum figure)i) : is_of_replay((enum figure)i)) {
			continue;
		}
		health->families[i] = registry_family(registry, &figures[i], err);
		if (!health->families[i]) {
			goto fail;
		}
	}
	show_info(health, rules);
	if (!registry_on_scrape(registry, on_scrape, health, err)) {
		goto fail;
	}
	return health;

fail:
	health_free(health);
	return NULL;
}

struct health *health_new(struct registry *registry, struct replay *replay,
			  const struct rule_set *rules, struct error *err)
{
	return make(registry, replay, NULL, rules, err);
}

struct health *health_new_live(struct registry *registry, struct live_runner *live,
			       const struct rule_set *rules, struct error *err)
{
	return make(registry, NULL, live, rules, err);
}

void health_free(struct health *health)
{
	free(health);
}
