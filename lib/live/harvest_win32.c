/* SPDX-License-Identifier: MIT */
/*
 * The harvest: a second session that runs for a moment and finds what existed before the start.
 *
 * Windows writes the names of open files, and the list of disks, volumes and services, when a
 * system logger *stops*. A session that runs for months never gets them, so reads and writes of
 * files that were already open would have no file name. Therefore a separate thread, the harvester,
 * starts a private system logger with the flags for files and disks, consumes it, and stops it
 * after about 100 ms. Only the records that trackers need are kept (known_win32.c); none is counted
 * as an event. The harvester first requests the names from the kernel's rundown provider, which may
 * write them as events of the session itself. No page documents whether it does, and it does not
 * report disks and services.
 *
 * It begins when the session has delivered its first buffer, because names that arrive before
 * anything is consumed fill the buffers. It is repeated after a restart, and after losses, because
 * the lost events may have been names. After losses it runs at most once a minute, and less often
 * while losses continue, to save the time of a busy machine.
 *
 * The harvest session has a name and a GUID of its own. A crashing program stops it like every
 * session, and the next start stops one that is left over nevertheless. It is one of at most six
 * private system loggers; if there are six already, the harvest fails, which is reported once, and
 * is tried again later.
 *
 * Source: docs/windows.md section 2; "Configuring and Starting a SystemTraceProvider Session",
 * "EVENT_TRACE_PROPERTIES structure", Microsoft Learn.
 */
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>

#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"

enum {
	QPC_CLOCK = 1, /* Wnode.ClientContext */
	STALE_TRIES = 5,
	STALE_WAIT_MS = 100,
	/* A stop before Windows has attached the consumer loses everything. Then the harvest
	 * is tried again and runs twice as long. */
	LATE_TRIES = 6,
	HARVEST_MS = 100,
	HARVEST_AGAIN_MS = 60000,
	BUFFER_KB = 1024,
	BUFFERS_LEAST = 64, /* as many MB as all names take at once */
	BUFFERS_MOST = 200,
};

#define NS_PER_MS      UINT64_C(1000000)
#define INTERVAL_MOST  (UINT64_C(3600000) * NS_PER_MS)
#define WAIT_AT_MOST   (UINT64_C(60000) * NS_PER_MS)
#define WHAT_IS_MISSED "names of files that were open before, disks and services are not known: "

#define FILE_FLAGS \
	(ETW_KERNEL_FLAG_DISK_FILE_IO | ETW_KERNEL_FLAG_FILE_IO | ETW_KERNEL_FLAG_FILE_IO_INIT)

/* One harvest session. */
struct harvest_run {
	struct live *live;
	struct known_batch *batch;
	TRACEHANDLE session, trace;
	unsigned emergency_number;
	struct os_thread consumer;
	bool consuming; /* guarded by lock: ProcessTrace() runs or is about to */
	bool consumed;  /* guarded by lock: ProcessTrace() has returned */
	ULONG status;   /* status of ProcessTrace() */
	uint64_t lost;
};

/* ---- the harvest session ---- */

static void stop_stale(const struct live *live)
{
	struct session_properties properties;
	ULONG status;

	session_properties_init(&properties);
	status = ControlTraceW(0, live->harvest.wide_name, &properties.base,
			       EVENT_TRACE_CONTROL_STOP);
	/* HistoricalContext is the handle; Wine succeeds without one. */
	if ((status == ERROR_SUCCESS || status == ERROR_MORE_DATA) &&
	    properties.base.Wnode.HistoricalContext != 0) {
		live_report(live, ETW_SESSION_STALE,
			    "a harvest session was left over and is stopped");
	}
}

/* Returns the modes that Windows accepted for the session itself; it would refuse the others here,
 * too. */
static ULONG kept_modes(struct live *live)
{
	ULONG mode;

	os_mutex_lock(&live->lock);
	mode = live->mode != 0 ? live->mode : SESSION_MODE;
	os_mutex_unlock(&live->lock);
	return mode & SESSION_MODE;
}

/* Returns the size of a buffer in KB: 1 MB, or less where all processors have two of their own and
 * would take more than buffers of 1 MB for all. */
static ULONG buffer_kb(const struct live *live, ULONG mode)
{
	ULONG most = 2 * live->source.facts.processors;

	return (mode & EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING) || most <= BUFFERS_LEAST ?
		       BUFFER_KB :
		       BUFFER_KB * BUFFERS_LEAST / most;
}

/* buffers_min: of 1 MB. */
static void fill_properties(const struct live *live, ULONG mode,
			    struct session_properties *properties, ULONG buffers_min)
{
	const struct harvest *harvest = &live->harvest;
	ULONG size_kb = buffer_kb(live, mode);

	session_properties_init(properties);
	properties->base.LogFileNameOffset = 0; /* no file */
	properties->base.Wnode.ClientContext = QPC_CLOCK;
	properties->base.Wnode.Guid = harvest->guid;
	properties->base.BufferSize = size_kb;
	properties->base.MinimumBuffers = buffers_min * BUFFER_KB / size_kb;
	properties->base.MaximumBuffers = BUFFERS_MOST * BUFFER_KB / size_kb;
	properties->base.LogFileMode = mode;
	properties->base.EnableFlags = EVENT_TRACE_FLAG_DISK_IO |
				       (harvest->names ? EVENT_TRACE_FLAG_DISK_FILE_IO : 0);
}

static ULONG start_session(struct live *live, struct harvest_run *run)
{
	/* Fewer if memory is short. One thread writes the names, so processors without buffers of
	 * their own lose nothing, and the memory, which is not paged, does not grow with their
	 * number. */
	ULONG buffers_min = live->harvest.names ? BUFFERS_LEAST : 2;
	ULONG mode = kept_modes(live) | EVENT_TRACE_SYSTEM_LOGGER_MODE |
		     EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING;
	struct session_properties properties;
	ULONG status;

	for (unsigned tries = 0;; tries++) {
		fill_properties(live, mode, &properties, buffers_min);
		status = StartTraceW(&run->session, live->harvest.wide_name, &properties.base);
		if (tries == STALE_TRIES) {
			return status;
		}
		if (status == ERROR_NO_SYSTEM_RESOURCES && buffers_min > 8) {
			buffers_min = 8;
		} else if (status == ERROR_INVALID_PARAMETER &&
			   (mode & EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING)) {
			/* Not documented: whether every Windows allows it here. */
			mode &= ~(ULONG)EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING;
		} else if (status == ERROR_ALREADY_EXISTS) {
			if (tries > 0) {
				Sleep(STALE_WAIT_MS);
			}
			stop_stale(live);
		} else {
			return status;
		}
	}
}

static void stop_session(struct harvest_run *run)
{
	struct session_properties properties;
	ULONG status;

	session_properties_init(&properties);
	status = ControlTraceW(run->session, NULL, &properties.base, EVENT_TRACE_CONTROL_STOP);
	if (status == ERROR_SUCCESS || status == ERROR_MORE_DATA) {
		run->lost =
			(uint64_t)properties.base.EventsLost + properties.base.RealTimeBuffersLost;
	}
}

/* ---- consuming it ---- */

static VOID WINAPI on_record(PEVENT_RECORD from)
{
	struct harvest_run *run = from->UserContext;

	if (known_needed(&from->EventHeader)) {
		known_add(run->batch, from);
	}
}

static ULONG open_trace(struct live *live, struct harvest_run *run)
{
	EVENT_TRACE_LOGFILEW log_file = { 0 };
	ULONG status;

	log_file.LoggerName = live->harvest.wide_name;
	log_file.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD |
				    PROCESS_TRACE_MODE_RAW_TIMESTAMP;
	log_file.EventRecordCallback = on_record;
	log_file.Context = run;
	run->trace = OpenTraceW(&log_file);
	if (run->trace != INVALID_PROCESSTRACE_HANDLE) {
		return ERROR_SUCCESS;
	}
	status = GetLastError();
	return status == ERROR_SUCCESS ? ERROR_INVALID_HANDLE : status;
}

static void set(struct harvest_run *run, bool *what)
{
	os_mutex_lock(&run->live->lock);
	*what = true;
	os_condition_wake_all(&run->live->changed);
	os_mutex_unlock(&run->live->lock);
}

static void consume(void *context)
{
	struct harvest_run *run = context;

	set(run, &run->consuming);
	run->status = consume_trace(run->trace);
	set(run, &run->consumed);
}

/* Returns whether the source ends. The caller holds the lock. */
static bool is_ending(const struct live *live)
{
	return live->ended || etw_source_stopping(&live->source);
}

/* Waits for a change, at most until the time `then`. The caller holds the lock. */
static void wait_until(struct live *live, uint64_t now, uint64_t then)
{
	uint64_t wait = then > now ? then - now : 0;

	os_condition_wait(&live->changed, &live->lock, wait < WAIT_AT_MOST ? wait : WAIT_AT_MOST);
}

/* Waits until *what is true, at most for ns nanoseconds. Returns false if the source ends
 * meanwhile. */
static bool wait_for(struct harvest_run *run, const bool *what, uint64_t ns)
{
	struct live *live = run->live;
	uint64_t now = os_monotonic_ns();
	uint64_t then = now + ns;
	bool ending;

	os_mutex_lock(&live->lock);
	ending = is_ending(live);
	while (!ending && !*what && now < then) {
		wait_until(live, now, then);
		now = os_monotonic_ns();
		ending = is_ending(live);
	}
	os_mutex_unlock(&live->lock);
	return !ending;
}

/* ---- one harvest ---- */

/* Consumes the harvest session, which runs with an open trace, and stops it after the given
 * time. */
static ULONG consume_for(struct harvest_run *run, uint64_t ns)
{
	bool goes_on;

	if (!os_thread_start(&run->consumer, consume, run, NULL)) {
		CloseTrace(run->trace);
		stop_session(run);
		return ERROR_NOT_ENOUGH_MEMORY;
	}
	goes_on = wait_for(run, &run->consuming, INTERVAL_MOST) &&
		  wait_for(run, &run->consumed, ns);
	if (!goes_on) {
		CloseTrace(run->trace); /* the names are not needed any more */
	}
	stop_session(run);
	if (goes_on) {
		/* ProcessTrace() returns after it has delivered all events of the session. */
		wait_for(run, &run->consumed, WAIT_AT_MOST);
		CloseTrace(run->trace);
	}
	os_thread_join(&run->consumer);
	return run->status;
}

static ULONG harvest_once(struct live *live, struct harvest_run *run, uint64_t ns)
{
	ULONG status;

	/* Add it before the start, so that a crash never leaves the session behind. */
	run->emergency_number = emergency_stop_add(live->harvest.wide_name, 0, NULL);
	status = start_session(live, run);
	if (status == ERROR_SUCCESS) {
		status = open_trace(live, run);
		if (status == ERROR_SUCCESS) {
			status = consume_for(run, ns);
		} else {
			stop_session(run);
		}
	}
	emergency_stop_remove(run->emergency_number);
	return status;
}

/* ---- results ---- */

static void count(struct live *live, enum etw_harvest_result result, uint64_t lost)
{
	os_mutex_lock(live->source.mutex);
	live->source.statistics.harvests[result]++;
	live->source.statistics.names_lost += lost;
	os_mutex_unlock(live->source.mutex);
}

/* Reports why a harvest found nothing: once, until a harvest succeeds again. */
static void report_failure(struct live *live, enum etw_harvest_result result, ULONG status)
{
	char text[160];

	if (live->harvest.failure_reported) {
		return;
	}
	live->harvest.failure_reported = true;
	if (result == ETW_HARVEST_EMPTY) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    WHAT_IS_MISSED "Windows reported none of them when a session stopped");
	} else if (status == ERROR_NO_SYSTEM_RESOURCES) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    WHAT_IS_MISSED
			    "no place is free for another session with kernel events, or no "
			    "memory for its buffers (error 1450)");
	} else {
		live_report(live, ETW_SESSION_PROVIDER_FAILED, WHAT_IS_MISSED "%s",
			    live_error_text(status, text));
	}
}

/* Repeats the harvest until Windows has attached the consumer in time. run->batch is NULL if there
 * is no memory. */
static ULONG harvest_in_time(struct live *live, struct harvest_run *run)
{
	uint64_t ns = live->options.harvest_ms * NS_PER_MS;

	for (unsigned tries = 1;; tries++, ns *= 2) {
		ULONG status;

		*run = (struct harvest_run){ .live = live, .batch = known_new() };
		if (!run->batch) {
			return ERROR_NOT_ENOUGH_MEMORY;
		}
		status = harvest_once(live, run, ns);
		if (tries == LATE_TRIES || status != ERROR_WMI_INSTANCE_NOT_FOUND ||
		    known_count(run->batch) > 0) {
			return status;
		}
		known_free(run->batch);
	}
}

/* Runs one harvest. at_once: deliver the results without waiting for earlier records of the stream.
 * Returns false if the harvest must be tried again. */
static bool harvest_now(struct live *live, bool at_once)
{
	struct harvest_run run;
	ULONG status = harvest_in_time(live, &run);
	enum etw_harvest_result result = run.batch && known_count(run.batch) > 0 ?
						 ETW_HARVEST_DONE :
					 run.batch && status == ERROR_SUCCESS ? ETW_HARVEST_EMPTY :
										ETW_HARVEST_FAILED;
	uint64_t lost;
	bool ending;

	os_mutex_lock(&live->lock);
	ending = is_ending(live);
	os_mutex_unlock(&live->lock);
	if (ending) {
		known_free(run.batch);
		return true;
	}
	lost = run.lost + (run.batch ? known_refused(run.batch) : 0);
	if (result == ETW_HARVEST_DONE) {
		live->harvest.failure_reported = false;
		known_publish(live, run.batch, at_once);
	} else {
		report_failure(live, result, status);
		known_free(run.batch);
	}
	count(live, result, lost);
	return result != ETW_HARVEST_FAILED;
}

/* ---- when ---- */

/* The reasons for a harvest. */
struct reasons {
	bool started; /* the consumer has just begun */
	bool first;   /* it is the first one of the session */
	bool lost;    /* there were losses */
};

/* Waits until a harvest is due. Returns false if the source ends. */
static bool wait_until_due(struct live *live, struct reasons *reasons)
{
	struct harvest *harvest = &live->harvest;
	bool ending;

	os_mutex_lock(&live->lock);
	for (;;) {
		uint64_t now = os_monotonic_ns();

		uint64_t due_ns = harvest->needed ? harvest->due_ns : UINT64_MAX;

		ending = is_ending(live);
		if (ending || (harvest->needed && harvest->started) || now >= due_ns) {
			break;
		}
		wait_until(live, now, due_ns);
	}
	*reasons = (struct reasons){ .started = harvest->started,
				     .first = harvest->first,
				     .lost = harvest->lost };
	harvest->started = false;
	harvest->first = false;
	harvest->lost = false;
	harvest->due_ns = UINT64_MAX;
	os_mutex_unlock(&live->lock);
	return !ending;
}

/* Sets the least time to the next harvest. It doubles while every harvest starts as early as it
 * may. The caller holds the lock. */
static void choose_interval(struct live *live, bool started)
{
	struct harvest *harvest = &live->harvest;
	uint64_t least = live->options.harvest_again_ms * NS_PER_MS;
	uint64_t now = os_monotonic_ns();

	if (started || now - harvest->last_ns > 2 * harvest->interval_ns) {
		harvest->interval_ns = least;
	} else {
		harvest->interval_ns = 2 * harvest->interval_ns < INTERVAL_MOST ?
					       2 * harvest->interval_ns :
					       INTERVAL_MOST;
	}
	harvest->last_ns = now;
}

static void ask_provider(struct live *live)
{
	TRACEHANDLE session = session_ours(live);

	/* Providers cannot be enabled in the NT Kernel Logger. */
	if (live->harvest.names && session != 0 && live->options.logger == ETW_LIVE_PRIVATE) {
		enable_rundown(live, session);
	}
}

static void harvester(void *context)
{
	struct live *live = context;
	struct harvest *harvest = &live->harvest;
	struct reasons reasons;

	while (wait_until_due(live, &reasons)) {
		bool done;

		if (reasons.started) {
			ask_provider(live);
		}
		done = harvest_now(live, reasons.first);
		if (!done && reasons.lost) {
			/* Request them again: after a failed harvest nothing else names files. */
			ask_provider(live);
		}
		os_mutex_lock(&live->lock);
		choose_interval(live, reasons.started);
		if (!done) {
			harvest->due_ns = harvest->last_ns + harvest->interval_ns;
		}
		os_mutex_unlock(&live->lock);
	}
}

void harvest_look(struct live *live)
{
	struct harvest *harvest = &live->harvest;
	const struct etw_source_statistics *statistics = &live->source.statistics;
	uint64_t losses;

	if (!harvest->on) {
		return;
	}
	os_mutex_lock(live->source.mutex);
	losses = statistics->events_lost + statistics->buffers_lost +
		 statistics->realtime_buffers_lost;
	os_mutex_unlock(live->source.mutex);
	if (losses == harvest->losses) {
		return;
	}
	harvest->losses = losses;
	os_mutex_lock(&live->lock);
	harvest->lost = true;
	/* Until the first harvest has run, losses need no further one. */
	if (harvest->last_ns != 0 && harvest->due_ns == UINT64_MAX) {
		harvest->due_ns = harvest->last_ns + harvest->interval_ns;
		os_condition_wake_all(&live->changed);
	}
	os_mutex_unlock(&live->lock);
}

/* ---- life ---- */

static bool is_needed(uint32_t kernel_flags, bool services)
{
	return (kernel_flags & (FILE_FLAGS | ETW_KERNEL_FLAG_DISK_IO)) != 0 || services;
}

void harvest_open(struct live *live)
{
	struct harvest *harvest = &live->harvest;
	struct etw_live_options *options = &live->options;
	uint32_t flags = kernel_flags_of(live);
	struct etw_text name = { 0 };

	options->harvest_ms = options->harvest_ms ? options->harvest_ms : HARVEST_MS;
	options->harvest_again_ms = options->harvest_again_ms ? options->harvest_again_ms :
								HARVEST_AGAIN_MS;
	harvest->due_ns = UINT64_MAX;
	harvest->interval_ns = options->harvest_again_ms * NS_PER_MS;
	if (options->logger == ETW_LIVE_USER || is_attached(live)) {
		return;
	}
	/* The GUIDs of our sessions differ only in their last part, which depends on the name. */
	harvest->guid = live->guid;
	harvest->guid.Data2 ^= 1;
	text_add_string(&name, live->name);
	text_add_string(&name, ETW_HARVEST_SUFFIX);
	harvest->on = !name.failed && live_wide(name.data, harvest->wide_name, SESSION_NAME_MAX);
	text_free(&name);
	if (!harvest->on) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    WHAT_IS_MISSED "the name of the session is too long");
		return;
	}
	/* Do this even if no harvest is needed now: one may have run when the program crashed. */
	stop_stale(live);
	harvest->on = options->rundown;
	harvest->names = (flags & FILE_FLAGS) != 0;
	harvest->needed = is_needed(flags, options->services);
}

void harvest_change(struct live *live, bool services)
{
	struct harvest *harvest = &live->harvest;
	uint32_t flags = kernel_flags_of(live);
	bool names = (flags & FILE_FLAGS) != 0;
	bool needed = is_needed(flags, services);

	os_mutex_lock(&live->lock);
	/* Treat it like losses, unless it is the first harvest of the session. */
	if ((needed && !harvest->needed) || (names && !harvest->names)) {
		harvest->lost = true;
		harvest->due_ns = 0;
	}
	harvest->needed = needed;
	harvest->names = names;
	os_condition_wake_all(&live->changed);
	os_mutex_unlock(&live->lock);
}

void harvest_start(struct live *live)
{
	struct harvest *harvest = &live->harvest;
	struct etw_error err;

	if (!harvest->on) {
		return;
	}
	harvest->thread_started = os_thread_start(&harvest->thread, harvester, live, &err);
	if (!harvest->thread_started) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED, WHAT_IS_MISSED "%s", err.text);
	}
}

void harvest_end(struct live *live)
{
	if (live->harvest.thread_started) {
		os_thread_join(&live->harvest.thread);
		live->harvest.thread_started = false;
	}
}
