/* SPDX-License-Identifier: MIT */
/*
 * etwtool record: writes everything that the sessions of a configuration deliver into one
 * recording.
 *
 * Windows can write the file of a session itself. This command does not use that, for four reasons.
 * Windows writes a separate file for each session; here all sessions are in one file, in time
 * order. Windows' file does not describe the events of manifest providers, so only a machine with
 * the provider installed can decode it; here the schemas that Windows knows are written into the
 * file. Windows writes the names of open files, disks and services only when a session stops, and a
 * circular file has overwritten the start of every long-running process; here the command queries
 * what exists at the start, and keeps that apart from the events that a ring overwrites. And
 * Windows' file would show the losses of a session only since its last start.
 *
 * So the sessions run as in the exporter, with a pipeline for each, and the flight recorder's taps
 * copy each record into a ring (exporter/recorder/ring.h). A thread follows the rings and writes
 * the file (exporter/recorder/recording.h). No consumer waits for the disk: if the disk is too slow
 * for longer than the rings can bridge, the oldest records are lost, counted, and reported in the
 * header of the file together with the losses of the sessions. With --ring nothing is written
 * before the end; the contents of the rings then become the recording.
 *
 * The sessions have their own names (NAME-record), so that they do not disturb an exporter on the
 * same machine. Only the NT Kernel Logger keeps its name, because there can be only one, and a
 * session that is attached to, because it is another program's.
 *
 * Source: "Logging Mode Constants", "EVENT_TRACE_PROPERTIES structure", Microsoft Learn.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/session.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/utc.h"
#include "etwtool/recording.h"
#include "etwtool/relog/relog.h"
#include "etwtool/tool.h"
#include "exporter/recorder/recording.h"
#include "exporter/recorder/tap.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "exporter/windows/crash.h"

#define NS_PER_MS       UINT64_C(1000000)
#define FOLLOW_EVERY    (100 * NS_PER_MS)
#define FOLLOW_MEMORY   (UINT64_C(128) << 20)
#define SESSION_WAIT    (UINT64_C(3000) * NS_PER_MS) /* because a buffer is flushed each second */
#define RING_LEAST      (UINT64_C(4) << 20)
#define RECORDING_LEAST (UINT64_C(1) << 20)

struct record_request {
	struct tool_arguments arguments;
	const char *config;
	uint64_t duration_ms; /* 0: no limit */
	uint64_t size_bytes;  /* 0: no limit */
	uint64_t ring_bytes;  /* 0: no ring, everything is written */
};

/* A run of the command; record_run_done() frees what it owns. */
struct record_run {
	const struct record_request *request;
	const char *path;
	struct recording_result result;
	/* Losses of the sessions; Windows does not count the events in a lost buffer. */
	uint64_t events_lost, buffers_lost;
	uint64_t too_large; /* events too large for any ring */
	struct problems problems;
	struct setup setup;
	struct config_recorder everything;
	struct taps *taps;
	struct runner *runner;
	struct ring_writer *recording;
	struct progress progress;
	struct os_thread thread; /* follows the rings */
	struct os_mutex lock;
	struct os_condition changed;
	bool over; /* the sessions have ended; guarded by the lock */
	/* The thread owns these until it has ended. */
	bool failed;
	struct etw_error err;
};

/* ---- the sessions ---- */

static bool open_set_up(struct record_run *run, struct etw_error *err)
{
	const struct record_request *request = run->request;
	const struct setup_options options = {
		.switches = request->arguments.switches.rows,
		.switch_count = request->arguments.switches.count,
	};

	return setup_open(&run->setup, setup_config(request->config, &run->problems, err), &options,
			  err);
}

static bool open_runner(struct record_run *run, struct etw_error *err)
{
	struct runner_options options = { .setup = &run->setup, .on_fault = crash_end };

	if (!sessions_rename(run->setup.config, "-record", err) ||
	    !sessions_are_free(run->setup.config, "another etwtool may be recording", err)) {
		return false;
	}
	run->everything.memory_bytes = run->request->ring_bytes > 0 ? run->request->ring_bytes :
								      FOLLOW_MEMORY;
	run->taps = taps_new(&run->everything, run->setup.config->session_count, false, err);
	options.taps = run->taps;
	if (!run->taps || !os_stop_catch(err) || !crash_catch(etw_live_emergency_stop, err)) {
		return false;
	}
	run->runner = runner_new(&options, err);
	return run->runner != NULL;
}

/* ---- the recording ---- */

static bool open_recording(struct record_run *run, struct etw_error *err)
{
	struct tap *taps[TAPS_MOST];
	size_t count = taps_list(run->taps, taps);

	run->recording = ring_writer_open(run->path, taps, count, SESSION_WAIT, err);
	return run->recording != NULL;
}

/* Copies once from the rings. Returns false if the recording failed or is as long as requested. */
static bool follow_once(struct record_run *run, uint64_t start_ns)
{
	const struct record_request *request = run->request;

	if (run->recording && !ring_writer_follow(run->recording, false, &run->err)) {
		run->failed = true;
		error_prefix(&run->err, "%s", run->path);
		os_stop_ask("the recording cannot be written");
		return false;
	}
	if (run->recording && run->progress.watched) {
		progress_show_bytes(&run->progress, ring_writer_result(run->recording)->bytes);
	}
	if ((request->duration_ms > 0 &&
	     (os_monotonic_ns() - start_ns) / NS_PER_MS >= request->duration_ms) ||
	    (run->recording && request->size_bytes > 0 &&
	     ring_writer_result(run->recording)->bytes >= request->size_bytes)) {
		os_stop_ask("the recording is complete");
	}
	return true;
}

/* The thread's function. */
static void follow(void *context)
{
	struct record_run *run = context;
	uint64_t start_ns = os_monotonic_ns();
	bool over = false;

	while (!over && follow_once(run, start_ns)) {
		os_mutex_lock(&run->lock);
		if (!run->over) {
			os_condition_wait(&run->changed, &run->lock, FOLLOW_EVERY);
		}
		over = run->over;
		os_mutex_unlock(&run->lock);
	}
}

/*
 * Stops the sessions, which deliver what they still hold, and then the thread, which writes that.
 */
static void end_sessions(struct record_run *run)
{
	runner_stop(run->runner);
	runner_join(run->runner);
	os_mutex_lock(&run->lock);
	run->over = true;
	os_condition_wake_all(&run->changed);
	os_mutex_unlock(&run->lock);
	os_thread_join(&run->thread);
}

static bool finish(struct record_run *run, struct etw_error *err)
{
	struct tap *taps[TAPS_MOST];
	size_t count = taps_list(run->taps, taps);

	for (size_t i = 0; i < count; i++) {
		struct ring_statistics ring;

		ring_statistics(tap_ring(taps[i]), &ring);
		run->too_large += ring.too_large;
	}
	for (size_t i = 0; i < runner_session_count(run->runner); i++) {
		struct runner_session session;

		runner_session(run->runner, i, &session);
		run->events_lost += session.statistics.events_lost;
		run->buffers_lost +=
			session.statistics.buffers_lost + session.statistics.realtime_buffers_lost;
	}
	if (!ring_writer_follow(run->recording, true, err) ||
	    (memory_has_losses() && !error_no_memory(err, "everything in it")) ||
	    !ring_writer_finish(run->recording, run->events_lost, run->buffers_lost, err)) {
		return error_prefix(err, "%s", run->path);
	}
	run->result = *ring_writer_result(run->recording);
	ring_writer_close(run->recording);
	run->recording = NULL;
	return true;
}

/* ---- the command ---- */

/* Fails before anything runs if no file can be made for the output. */
static bool try_file(const struct record_run *run, struct etw_error *err)
{
	struct os_file *file;

	if (!tool_may_replace(run->path, err)) {
		return false;
	}
	file = os_file_new(run->path, false, err);
	os_file_close(file);
	return file || error_prefix(err, "%s", run->path);
}

/* Called after a failure: keeps what was recorded under its random name. */
static void keep_file(struct record_run *run)
{
	char *path = run->recording ? ring_writer_leave(run->recording) : NULL;

	if (path) {
		tool_complain(TOOL_FAILED, "record", "what was recorded until then is in %s", path);
	}
	free(path);
}

static bool record_sessions(struct record_run *run, struct etw_error *err)
{
	bool good;

	if (!etw_here(err) || !open_set_up(run, err) || !try_file(run, err) ||
	    !open_runner(run, err) ||
	    (run->request->ring_bytes == 0 && !open_recording(run, err)) ||
	    !os_thread_start(&run->thread, follow, run, err)) {
		return false;
	}
	good = runner_start(run->runner, err);
	if (good) {
		os_stop_wait(UINT64_MAX, NULL, NULL);
	}
	end_sessions(run);
	if (run->failed) {
		*err = run->err;
	}
	return good && !run->failed && (run->recording || open_recording(run, err)) &&
	       finish(run, err);
}

static int print_result(const struct record_run *run)
{
	const struct recording_result *result = &run->result;
	struct etw_text out = { 0 };

	text_add_format(&out,
			"%s: %" PRIu64 " events in %" PRIu64 ".%" PRIu64 " s, %" PRIu64
			" records of what existed before, %" PRIu64 " bytes, %" PRIu64
			" events lost\n",
			run->path, result->records, result->span_ns / UINT64_C(1000000000),
			result->span_ns / UINT64_C(100000000) % 10, result->facts, result->bytes,
			run->events_lost + result->lost);
	if (run->events_lost > 0) {
		tool_complain(TOOL_DONE, "record",
			      "warning: the sessions lost %" PRIu64
			      " events: more buffers (sessions: NAME: buffers) help",
			      run->events_lost);
	}
	if (run->buffers_lost > 0) {
		tool_complain(TOOL_DONE, "record",
			      "warning: the sessions lost %" PRIu64
			      " buffers, and the events in them, which are not in the number of "
			      "events lost: more buffers (sessions: NAME: buffers) help",
			      run->buffers_lost);
	}
	if (result->lost > 0) {
		tool_complain(TOOL_DONE, "record",
			      "warning: %" PRIu64 " events came faster than %s could be written",
			      result->lost, run->path);
	}
	if (run->too_large + result->too_large > 0) {
		tool_complain(
			TOOL_DONE, "record",
			"warning: %" PRIu64
			" events or descriptions of events are left out: they are larger than a "
			"recording can have them",
			run->too_large + result->too_large);
	}
	if (result->other_clock > 0) {
		tool_complain(
			TOOL_DONE, "record",
			"warning: %" PRIu64
			" events are left out: their session has another clock than the first",
			result->other_clock);
	}
	return tool_print("record", &out);
}

static void record_run_done(struct record_run *run)
{
	ring_writer_close(run->recording);
	runner_free(run->runner);
	taps_free(run->taps);
	setup_close(&run->setup);
	problems_done(&run->problems);
	os_condition_done(&run->changed);
	os_mutex_done(&run->lock);
}

static int run(struct tool_arguments *arguments)
{
	const struct record_request *request = (const struct record_request *)arguments;
	struct record_run run = { .request = request, .path = arguments->words[0] };
	struct etw_error err = { 0 };
	int status;
	bool good;

	if (arguments->word_count == 0) {
		return tool_complain(TOOL_BAD_USAGE, "record", "name the file to write: OUT.etl");
	}
	if (request->ring_bytes > 0 && request->size_bytes > 0) {
		return tool_complain(TOOL_BAD_USAGE, "record",
				     "--ring limits the recording: --size cannot be given as well");
	}
	log_configure(LOG_WARNING, LOG_LOGFMT);
	os_mutex_init(&run.lock);
	os_condition_init(&run.changed);
	progress_start(&run.progress, "etwtool", "record", OUTPUT_AT_END);
	good = record_sessions(&run, &err);
	progress_end(&run.progress);
	tool_show_problems("record", &run.problems);
	if (good) {
		status = print_result(&run);
	} else {
		status = err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
		if (run.problems.errors == 0) {
			tool_complain(status, "record", "%s", err.text);
		}
		keep_file(&run);
	}
	record_run_done(&run);
	return status;
}

/* ---- options ---- */

static bool read_size(uint64_t *bytes, const char *value, uint64_t least)
{
	struct split_by by;

	if (!split_by_read(&by, value, NULL) || by.size_bytes < least) {
		return false;
	}
	*bytes = by.size_bytes;
	return true;
}

static bool read_recording_size(void *bytes, const char *value, struct etw_error *err)
{
	(void)err;
	return read_size(bytes, value, RECORDING_LEAST);
}

static bool read_ring_size(void *bytes, const char *value, struct etw_error *err)
{
	(void)err;
	return read_size(bytes, value, RING_LEAST);
}

#define AT(member) .offset = offsetof(struct record_request, member)

static const struct command_option option_rows[] = {
	{ "--duration", "TIME", "end after this time: 30s, 5m, 2h", OPTION_READ, AT(duration_ms),
	  .takes = UTC_MS_TAKES, .read = utc_read_ms },
	{ "--size", "SIZE", "end when the file has this size: 500MB, 2GiB", OPTION_READ,
	  AT(size_bytes), .takes = "a size from 1MiB, such as 500MB or 2GiB",
	  .read = read_recording_size },
	{ "--ring", "SIZE", "keep the last events in memory of this size, write them at the end",
	  OPTION_READ, AT(ring_bytes), .takes = "a size from 4MiB, such as 256MiB",
	  .read = read_ring_size },
	{ "--config.file", "FILE", "collectors, sessions and limits, as for the exporter",
	  OPTION_TEXT, AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ NULL },
};

const struct tool_command tool_record = {
	.name = "record",
	.synopsis = "OUT.etl",
	.about = "Record what the sessions of a configuration deliver (Windows)",
	.more = "Starts the sessions of the configuration under names of their own (NAME-record), beside an\n"
		"exporter that may run, and writes their events into one file, in order of time, with the\n"
		"processes, files, disks and services that exist already and the schemas that Windows\n"
		"knows. Ends with Ctrl-C, after --duration or at --size; the file is complete then.\n"
		"Events that the sessions lose, or that come faster than they can be written, are counted\n"
		"and reported in the header of the file.\n",
	.options = option_rows,
	.shared = TOOL_COLLECTORS,
	.words_most = 1,
	.too_many = "writes one recording, not also",
	.size = sizeof(struct record_request),
	.run = run,
};
