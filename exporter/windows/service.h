/* SPDX-License-Identifier: MIT */
/*
 * etw_exporter as a Windows service: installed, removed, and run by the service manager.
 *
 * The service runs as LocalSystem: Windows lets administrators and LocalSystem alone control the
 * session of kernel events ("StartTraceW function", Microsoft Learn). Its token is cut down to the
 * privileges that it needs, see service_win32.c.
 *
 * On other systems the functions that need Windows fail.
 */
#ifndef EXPORTER_SERVICE_H
#define EXPORTER_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* The name of the service and of its source of event log entries. */
#define SERVICE_KEY_NAME  "etw_exporter"
#define SERVICE_WIDE_NAME L"etw_exporter"

/* The phases of a service, in the order in which they follow each other. */
enum service_phase { PHASE_NONE, PHASE_STARTING, PHASE_SERVING, PHASE_STOPPING, PHASE_STOPPED };

enum service_action { SERVICE_NONE, SERVICE_INSTALL, SERVICE_UNINSTALL, SERVICE_RUN };

/*
 * Registers the service and its source of event log entries, or updates existing ones; a service
 * that runs uses the new settings when it is started again. argc and argv are the program's; the
 * service gets the same arguments, see service_command_line(). Settings that this version of
 * Windows does not know are left out, with a warning in the log.
 */
bool service_install(int argc, char **argv, struct etw_error *err);

/* Stops the service, waits until it has stopped, and removes it and its source of event log
 * entries. */
bool service_uninstall(struct etw_error *err);

/*
 * Connects to the service manager and calls run(context) on a thread of its own, with the log in
 * the Application event log, because a service has no standard error. The calling thread, which
 * must be the main one, receives the controls of the manager. os_stop_catch_service() comes first.
 * *status is what run returned, and the service's exit code. False: the service manager did not
 * start this process.
 */
bool service_run(int (*run)(void *context), void *context, int *status, struct etw_error *err);

/*
 * Reports to the service manager, if there is one, that the start makes progress, that the program
 * serves, or that the stop makes progress. Any thread may call it.
 */
void service_move_to(enum service_phase phase);

/*
 * The rest needs no Windows and is tested everywhere: the command line of the service, and the
 * states that it reports to the service manager.
 */

/* ---- the command line ---- */

/*
 * Adds one argument, quoted so that CommandLineToArgvW() returns it unchanged: backslashes stay as
 * they are unless a quote follows; before a quote each is doubled, and one more escapes the quote.
 *
 * Source: "CommandLineToArgvW function", "Parsing C command-line arguments", Microsoft Learn.
 */
void service_add_argument(struct etw_text *line, const char *argument);

/* Returns the path as an absolute one, which the caller frees; NULL without memory. */
typedef char *service_absolute_path(const char *path);

/*
 * Writes the command line with which the service manager starts the service: program,
 * --service=run, and the arguments in argv without the first one and without their own --service.
 * Paths of --config.file, --replay.file and --web.config.file become absolute, because a service
 * starts in the folder of the system.
 *
 * argv must be one that options_parse() accepted. Returns false without memory, or if the line is
 * longer than Windows allows (32767 characters).
 */
bool service_command_line(struct etw_text *line, const char *program, int argc, char **argv,
			  service_absolute_path *absolute, struct etw_error *err);

/* ---- states ---- */

/*
 * Phases only move forward: after a request to stop, a start that completes is no longer reported.
 * While the service starts or stops, each report has a greater checkpoint than the one before;
 * otherwise the manager assumes that the service hangs.
 *
 * Source: "SERVICE_STATUS structure", "Service State Transitions", Microsoft Learn.
 */

/* The last report; zero-initialised: none yet. */
struct service_state {
	enum service_phase phase;
	uint32_t checkpoint;
};

/* The members are those of SERVICE_STATUS. */
struct service_report {
	uint32_t state;
	uint32_t accepted;
	uint32_t exit_code;
	uint32_t specific_exit_code;
	uint32_t checkpoint;
	uint32_t wait_hint_ms;
};

/*
 * Moves to a later phase, or makes progress within one that takes time, and sets *report to what
 * must be reported. exit_status: the program's, for PHASE_STOPPED. Returns false if the phase is
 * over already, so that there is nothing to report.
 */
bool service_state_move(struct service_state *state, enum service_phase phase, int exit_status,
			struct service_report *report);

/*
 * Returns whether to report the phase again, because it takes time and was not reported more than
 * a dozen times: a service that hangs must be seen.
 */
bool service_state_unfinished(const struct service_state *state);

enum service_request {
	REQUEST_UNKNOWN, /* refused */
	REQUEST_NOTHING, /* accepted, but there is nothing to do */
	REQUEST_STOP,
	REQUEST_RELOAD,
	REQUEST_RECORD,
};

/* Returns what a control of the service manager requests. *reason: set for REQUEST_STOP, a literal
 * for the log. */
enum service_request service_request_of(uint32_t control, const char **reason);

/*
 * Sets the function for REQUEST_RECORD, which the control SERVICE_RECORD causes: record(context)
 * runs on the thread that receives the controls. NULL: the request is refused. After the call
 * returns, the former function does not run any more.
 */
enum { SERVICE_RECORD = 128 }; /* the first control that a service may define */
void service_on_record(void (*record)(void *context), void *context);
bool service_record(void); /* Returns false if it is refused. */

/* ---- the event log ---- */

/* Registers the source of event log entries. program: full path (UTF-8) of the file that has its
 * message. */
bool event_log_register(const char *program, struct etw_error *err);
/* Removes the source. It is fine if there is none. */
bool event_log_unregister(struct etw_error *err);

/*
 * Sends lines of the log to the event log, until event_log_close(), instead of to standard error.
 * The program never waits for the event log: if it fails or hangs, lines are lost (base/log.h).
 * Call it while no other thread logs.
 */
bool event_log_open(struct etw_error *err);
void event_log_close(void); /* waits at most 2 s for lines that are not written yet */

#endif
