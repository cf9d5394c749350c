/* SPDX-License-Identifier: MIT */
/*
 * The Application event log of Windows as the place of the program's log lines.
 *
 * Its only message, in the program's own resources, is the line as it is (messages.mc).
 */
#ifndef EXPORTER_EVENT_LOG_H
#define EXPORTER_EVENT_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* The name of the service and of its source of event log entries. */
#define SERVICE_WIDE_NAME L"etw_exporter"

/* Makes the source known, with program (a full path, UTF-8) as the file that has its message. */
bool event_log_register(const char *program, struct error *err);
/* Nothing to remove is fine. */
bool event_log_unregister(struct error *err);

/*
 * From here to event_log_close(), lines of the log go there instead of to standard error. The
 * program never waits for the event log: lines that it does not take are lost (base/log.h),
 * whether it fails or hangs. To be called while no other thread logs.
 */
bool event_log_open(struct error *err);
void event_log_close(void); /* waits a little for what is still to be written */

#endif
