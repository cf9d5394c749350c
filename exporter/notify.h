/* SPDX-License-Identifier: MIT */
/*
 * What the program reports to the service manager of Linux (systemd), and the heartbeat, a thread
 * that does so regularly. Without such a manager, and on Windows, nothing is reported; what a
 * Windows service reports is in windows/service.h.
 *
 * Source: sd_notify(3) and systemd.service(5), systemd 252.
 */
#ifndef EXPORTER_NOTIFY_H
#define EXPORTER_NOTIFY_H

#include "base/error.h"
#include "runner.h"

/* The program serves: at its start, and when a reload has ended. Any thread, like the next two. */
void notify_ready(void);
/* A reload begins; notify_ready() ends it, also when the new configuration is refused. */
void notify_reloading(void);
void notify_stopping(void);

struct heartbeat; /* opaque */

/*
 * Starts the heartbeat: every ten seconds, or more often if the manager watches the program
 * (WatchdogSec=), it sends what the runner does as the status of the unit, and that the program is
 * alive; and it logs which lines the log has suppressed. To be stopped before the runner is freed.
 */
struct heartbeat *heartbeat_start(struct runner *runner, struct error *err);
void heartbeat_stop(struct heartbeat *heartbeat); /* NULL is fine */

/* ---- parts of it, for tests ---- */

/* "Consuming 2 of 2 sessions: 1234 events, 0 lost". Adds a line without its end. */
void notify_status(struct text *out, struct runner *runner);

/* Time between two beats; watchdog_ns: os_service_watchdog_ns(). */
uint64_t heartbeat_interval_ns(uint64_t watchdog_ns);

#endif
