/* SPDX-License-Identifier: MIT */
/*
 * What an event of a live session costs, from the callback that ProcessTrace calls to the cells, by
 * collector.
 *
 * The program's own live source, pipeline and rules run as they do under Windows; in place of
 * Windows stands tests/fake_etw. A recording is played once, which lets the tables fill, and the
 * EVENT_RECORDs that the consumer got are kept. Then the callbacks get the same records again,
 * round after round, each round as much later as the recording is long. So the share of each event
 * class is that of the recording.
 *
 * Each collector gets all records, also those that a session with this collector alone would not
 * ask Windows for. "counted" says for how many of them it has a rule, apart from rules for every
 * event.
 *
 * What is timed is a buffer at once, by the time of the processor that the thread
 * takes. They are read before the clock starts, because Windows, too, has just written them to the
 * memory that the callback reads. Under callgrind the instructions of bench_live_deliver() are
 * counted (tests/bench/live.sh): those of one round more than are timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "config/builtin.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "tests/bench/bench.h"
#include "tests/fake_etw/fake_etw.h"

enum { ROUNDS_MOST = 64, LINE_BYTES = 64 };

#define SESSION "etw_exporter" /* the one that runs without a configuration */

/* A row of the table: which collectors are on. */
struct row {
	const char *name;
	bool every_collector;
	bool defaults;
	bool one; /* the collector of that name */
};

struct measurement {
	struct fake_etw_kept kept;
	int64_t length; /* of a round: ticks */
	unsigned rounds;
	double ns[ROUNDS_MOST]; /* for each record */
};

/* ---- on the consumer's thread ---- */

void bench_live_deliver(EVENT_TRACE_LOGFILEW *log_file, struct fake_etw_kept_record **records,
			size_t count);

/* What is timed and what callgrind counts. */
NOINLINE void bench_live_deliver(EVENT_TRACE_LOGFILEW *log_file,
				 struct fake_etw_kept_record **records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		log_file->EventRecordCallback(&records[i]->record);
	}
}

/* Moves a record to the next round, and reads it. */
static unsigned prepare(struct fake_etw_kept_record *kept, int64_t length)
{
	const volatile uint8_t *payload = kept->record.UserData;
	unsigned sum = 0;

	fake_etw_restamp(kept, kept->record.EventHeader.TimeStamp.QuadPart + length);
	for (unsigned i = 0; i < kept->record.UserDataLength; i += LINE_BYTES) {
		sum += payload[i];
	}
	return sum;
}

/* Returns the nanoseconds that the callbacks took. */
static uint64_t run_round(struct measurement *measurement, EVENT_TRACE_LOGFILEW *log_file)
{
	const struct fake_etw_kept *kept = &measurement->kept;
	uint64_t ns = 0;

	for (size_t from = 0, to; from < kept->count; from = to) {
		uint64_t start_ns;

		to = fake_etw_kept_buffer(kept, from, log_file->BufferSize);
		for (size_t i = from; i < to; i++) {
			prepare(kept->records[i], measurement->length);
		}
		start_ns = os_thread_cpu_ns();
		bench_live_deliver(log_file, &kept->records[from], to - from);
		ns += os_thread_cpu_ns() - start_ns;
		(void)log_file->BufferCallback(log_file);
	}
	return ns;
}

static void run_rounds(void *context, EVENT_TRACE_LOGFILEW *log_file)
{
	struct measurement *measurement = context;

	for (unsigned round = 0; round < measurement->rounds; round++) {
		measurement->ns[round] =
			(double)run_round(measurement, log_file) / (double)measurement->kept.count;
	}
}

/* ---- one row ---- */

static int64_t length_of(const struct fake_etw_kept *kept)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < kept->count; i++) {
		int64_t time = kept->records[i]->record.EventHeader.TimeStamp.QuadPart;

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	return last - first + 1;
}

/* The recording as the session gets it; the tables are full then. */
static bool keep_records(const char *path, struct measurement *measurement, struct etw_error *err)
{
	const struct fake_etw_play_options options = { .only = SESSION };
	struct fake_etw_played played;

	if (!fake_etw_wait_consumer(SESSION, WAIT_MS) ||
	    !fake_etw_keep(SESSION, &measurement->kept)) {
		return error_set(err, ETW_ERROR_LIMIT, "the session is not consumed");
	}
	if (!fake_etw_play(path, &options, &played, err)) {
		return false;
	}
	if (!fake_etw_drain(SESSION, WAIT_MS) || !fake_etw_keep(SESSION, NULL) ||
	    measurement->kept.count == 0) {
		return error_set(err, ETW_ERROR_LIMIT, "%s: no event is delivered", path);
	}
	measurement->length = length_of(&measurement->kept);
	return true;
}

static bool run_on_consumer(struct measurement *measurement, struct etw_error *err)
{
	return fake_etw_run_on_consumer(SESSION, run_rounds, measurement) ||
	       error_set(err, ETW_ERROR_LIMIT, "the session ended");
}

static uint64_t counted_by_rules(struct registry *registry)
{
	uint64_t outcomes[OUTCOME_COUNT] = { 0 };

	pipeline_add_outcomes(registry, SESSION, outcomes);
	return outcomes[OUTCOME_COUNTED];
}

static void print_row(const struct row *row, struct measurement *measurement, uint64_t counted)
{
	char name[96];

	snprintf(name, sizeof name, "live.%s.records", row->name);
	printf("%-46s %14zu records\n", name, measurement->kept.count);
	snprintf(name, sizeof name, "live.%s", row->name);
	bench_print(name, measurement->ns, measurement->rounds, "ns/record");
	snprintf(name, sizeof name, "live.%s.counted", row->name);
	bench_print_one(name,
			100.0 * (double)counted /
				((double)measurement->kept.count * measurement->rounds),
			"%");
}

bool bench_live_row(const char *path, const struct row *row, unsigned rounds,
		    struct registry *registry, struct etw_error *err);

/* With the session's consumer running. When it returns, callgrind writes down what it has counted.
 */
NOINLINE bool bench_live_row(const char *path, const struct row *row, unsigned rounds,
			     struct registry *registry, struct etw_error *err)
{
	struct measurement measurement = { .rounds = 1 };
	uint64_t before;
	bool good = keep_records(path, &measurement, err);

	/* One round more, so that what the recording names only at its end is known. */
	good = good && run_on_consumer(&measurement, err);
	before = counted_by_rules(registry);
	measurement.rounds = rounds;
	good = good && run_on_consumer(&measurement, err);
	if (good) {
		print_row(row, &measurement, counted_by_rules(registry) - before);
	}
	fake_etw_kept_done(&measurement.kept);
	return good;
}

static bool measure(const char *path, const struct row *row, unsigned rounds, struct etw_error *err)
{
	/* No event of the fake's own comes between those that are played. */
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .changes_unreported = true };
	char name[64];
	const struct config_switch collector = { .collector = name, .on = true };
	const struct setup_options options = { .switches = &collector,
					       .switch_count = row->one,
					       .disable_defaults = !row->defaults,
					       .every_collector = row->every_collector };
	struct setup setup;
	/* Nothing looks at the session meanwhile. */
	const struct runner_options live = { .setup = &setup, .watch_ms = 3600000 };
	struct runner *runner;
	bool good;

	snprintf(name, sizeof name, "%s", row->name);
	fake_etw_reset(&machine);
	if (!fake_etw_clock_like(path, err) ||
	    !setup_open(&setup, setup_config(NULL, NULL, err), &options, err)) {
		return false;
	}
	runner = runner_new(&live, err);
	good = runner && runner_start(runner, err);
	if (good) {
		good = bench_live_row(path, row, rounds, setup.registry, err);
		runner_stop(runner);
		runner_join(runner);
	}
	runner_free(runner);
	setup_close(&setup);
	fake_etw_reset(NULL);
	return good;
}

/* ---- the table ---- */

static bool is_asked_for(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], name) == 0) {
			return true;
		}
	}
	return argc == 2;
}

static bool measure_if_asked_for(const struct row *row, int argc, char **argv, unsigned rounds,
				 struct etw_error *err)
{
	return !is_asked_for(row->name, argc, argv) || measure(argv[0], row, rounds, err);
}

int bench_live(int argc, char **argv)
{
	static const struct row rows[] = {
		{ .name = "none" },
		{ .name = "default", .defaults = true },
		{ .name = "all", .defaults = true, .every_collector = true },
	};
	unsigned long rounds = argc >= 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct etw_error err = { 0 };
	bool good = true;

	if (rounds == 0 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "etw_bench: wants live FILE ROUNDS [ROW...], ROUNDS at most %d\n",
			ROUNDS_MOST);
		return 2;
	}
	log_configure(LOG_ERROR, LOG_LOGFMT);
	for (size_t i = 0; good && i < sizeof rows / sizeof rows[0]; i++) {
		good = measure_if_asked_for(&rows[i], argc, argv, (unsigned)rounds, &err);
	}
	for (size_t i = 0; good && i < builtin_collector_count; i++) {
		const struct row row = { .name = builtin_collectors[i].name, .one = true };

		good = measure_if_asked_for(&row, argc, argv, (unsigned)rounds, &err);
	}
	if (!good) {
		fprintf(stderr, "etw_bench: %s\n", err.text);
	}
	return good ? 0 : 1;
}
