/* SPDX-License-Identifier: MIT */
/*
 * etw_exporter as a Windows service: installed, removed, and run by the service manager.
 *
 * The service runs as LocalSystem: Windows lets administrators and LocalSystem alone control the
 * session of kernel events ("StartTraceW function", Microsoft Learn). Its token is cut down to the
 * privileges that it needs, see service_win32.c.
 *
 * Elsewhere than on Windows each function is an error that says so.
 */
#ifndef EXPORTER_SERVICE_H
#define EXPORTER_SERVICE_H

#include <stdbool.h>

#include "base/error.h"

#define SERVICE_KEY_NAME "etw_exporter"

enum service_action { SERVICE_NONE, SERVICE_INSTALL, SERVICE_UNINSTALL, SERVICE_RUN };

/*
 * Registers the service and its source of event log entries, or brings those that exist up to date;
 * a service that runs goes on as it is until it is started again. argc and argv are the program's:
 * what is in them, the service gets (service_model.h). What this Windows does not know is left
 * out, with a warning in the log.
 */
bool service_install(int argc, char **argv, struct error *err);

/* Stops the service, waits for that, and removes it and its source of event log entries. */
bool service_uninstall(struct error *err);

/*
 * Lets the service manager run the program: run(context) is called on a thread of its own, while
 * the calling thread, the main one, is the manager's. os_stop_catch_service() comes first. *status
 * is what run returned, and the service's exit code. False: the service manager did not start this
 * process.
 */
bool service_run(int (*run)(void *context), void *context, int *status, struct error *err);

/*
 * Called by run, whether or not it runs as a service: the start makes progress; the program serves;
 * the stop makes progress. Any thread.
 */
void service_starting(void);
void service_serving(void);
void service_stopping(void);

#endif
