/* SPDX-License-Identifier: MIT */
/*
 * Messages to systemd: a datagram of lines such as READY=1 to the socket that the variable
 * NOTIFY_SOCKET names (base/os.h sends it).
 *
 * The heartbeat reads the state of every session before it says that the program is alive. That
 * takes the locks which consumers and scrapes take, so a program in which one of them hangs falls
 * silent, and systemd starts it again after WatchdogSec=. A manager that does not take a message is
 * reported in the log, where a limit applies, and changes nothing else.
 */
#include "notify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"

#define BEAT_NS       UINT64_C(10000000000)
#define BEAT_LEAST_NS UINT64_C(10000000)

static void send_lines(const char *lines)
{
	struct error err = { 0 };

	if (!os_service_notify(lines, &err)) {
		log_warning("Service manager does not answer", log_text("message", lines),
			    log_text("error", err.text));
	}
}

void notify_ready(void)
{
	send_lines("READY=1");
}

void notify_reloading(void)
{
	struct text lines = { 0 };

	text_add_format(&lines, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, os_monotonic_ns() / 1000);
	if (!lines.failed) {
		send_lines(lines.data);
	}
	text_free(&lines);
}

void notify_stopping(void)
{
	send_lines("STOPPING=1");
}

void notify_status(struct text *out, struct runner *runner)
{
	uint64_t up = 0, records = 0, lost = 0;
	size_t count = 0; /* of those that the configuration has */
	struct runner_totals totals;

	for (size_t i = 0; i < runner_session_count(runner); i++) {
		struct runner_session session;

		runner_session(runner, i, &session);
		count += !session.gone;
		up += session.up;
		records += session.statistics.records;
		lost += session.lost_events;
	}
	if (runner_is_live(runner)) {
		text_add_format(out, "Consuming %" PRIu64 " of %zu session%s", up, count,
				count == 1 ? "" : "s");
	} else {
		runner_totals(runner, &totals);
		text_add_format(out, "%s %zu recording%s",
				totals.finished ? "Has replayed" : "Replaying", count,
				count == 1 ? "" : "s");
	}
	text_add_format(out, ": %" PRIu64 " events, %" PRIu64 " lost", records, lost);
}

/* ---- the heartbeat ---- */

struct heartbeat {
	struct runner *runner;
	uint64_t interval_ns;
	struct os_thread thread;
	struct os_mutex lock;
	struct os_condition changed;
	bool stopping; /* under the lock */
};

uint64_t heartbeat_interval_ns(uint64_t watchdog_ns)
{
	/* sd_watchdog_enabled(3) recommends half of the time; a busy machine may need more. */
	uint64_t interval_ns = watchdog_ns > 0 ? watchdog_ns / 3 : BEAT_NS;

	return interval_ns < BEAT_LEAST_NS ? BEAT_LEAST_NS :
	       interval_ns > BEAT_NS       ? BEAT_NS :
					     interval_ns;
}

static void beat(const struct heartbeat *heartbeat)
{
	struct text lines = { 0 };

	text_add_string(&lines, "STATUS=");
	notify_status(&lines, heartbeat->runner);
	text_add_string(&lines, "\nWATCHDOG=1");
	if (!lines.failed) {
		send_lines(lines.data);
	}
	text_free(&lines);
	log_report_suppressed(false);
}

static void run(void *context)
{
	struct heartbeat *heartbeat = context;
	bool stopping = false;

	while (!stopping) {
		uint64_t due = os_monotonic_ns() + heartbeat->interval_ns;

		beat(heartbeat);
		os_mutex_lock(&heartbeat->lock);
		while (!heartbeat->stopping &&
		       os_condition_wait_until(&heartbeat->changed, &heartbeat->lock, due)) {
		}
		stopping = heartbeat->stopping;
		os_mutex_unlock(&heartbeat->lock);
	}
}

struct heartbeat *heartbeat_start(struct runner *runner, struct error *err)
{
	struct heartbeat *heartbeat = calloc(1, sizeof *heartbeat);

	if (!heartbeat) {
		error_no_memory(err, "the heartbeat");
		return NULL;
	}
	heartbeat->runner = runner;
	heartbeat->interval_ns = heartbeat_interval_ns(os_service_watchdog_ns());
	os_mutex_init(&heartbeat->lock);
	os_condition_init(&heartbeat->changed);
	if (!os_thread_start(&heartbeat->thread, run, heartbeat, err)) {
		os_condition_done(&heartbeat->changed);
		os_mutex_done(&heartbeat->lock);
		free(heartbeat);
		return NULL;
	}
	return heartbeat;
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
	if (!heartbeat) {
		return;
	}
	os_mutex_lock(&heartbeat->lock);
	heartbeat->stopping = true;
	os_condition_wake_all(&heartbeat->changed);
	os_mutex_unlock(&heartbeat->lock);
	os_thread_join(&heartbeat->thread);
	os_condition_done(&heartbeat->changed);
	os_mutex_done(&heartbeat->lock);
	free(heartbeat);
}
