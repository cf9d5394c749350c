/* SPDX-License-Identifier: MIT */
/*
 * What the service needs no Windows for, so that it is tested everywhere: its command line, and the
 * states that it reports to the service manager.
 */
#ifndef EXPORTER_SERVICE_MODEL_H
#define EXPORTER_SERVICE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* ---- the command line ---- */

/*
 * Adds one argument, quoted so that CommandLineToArgvW() gives it back: backslashes are themselves
 * unless a quote follows; before a quote each is doubled, and the quote gets one of its own.
 *
 * Source: "CommandLineToArgvW function", "Parsing C command-line arguments", Microsoft Learn.
 */
void service_add_argument(struct text *line, const char *argument);

/* The same path from the root, to be freed; NULL without memory. */
typedef char *service_absolute_path(const char *path);

/*
 * Writes the command line that the service manager starts the service with: program, --service=run
 * and what else is in argv (argc elements, the first of them left out), without its own --service.
 * Paths of --config.file and --replay.file become absolute, because a service starts in the folder
 * of the system.
 *
 * argv is one that options_parse() took. False without memory, and for a line that is longer than
 * Windows takes (32767 characters).
 */
bool service_command_line(struct text *line, const char *program, int argc, char **argv,
			  service_absolute_path *absolute, struct error *err);

/*
 * ---- states ----
 *
 * Phases only move forward: once a stop was asked for, a start that completes meanwhile is not
 * reported any more. While the service starts or stops, each report has a greater checkpoint than
 * the one before, or the manager takes the service for hung.
 *
 * Source: "SERVICE_STATUS structure", "Service State Transitions", Microsoft Learn.
 */

/* In the order of their time. */
enum service_phase { PHASE_NONE, PHASE_STARTING, PHASE_SERVING, PHASE_STOPPING, PHASE_STOPPED };

/* Zero-initialised: nothing reported yet. */
struct service_state {
	enum service_phase phase;
	uint32_t checkpoint;
};

/* As in SERVICE_STATUS. */
struct service_report {
	uint32_t state;
	uint32_t accepted;
	uint32_t exit_code;
	uint32_t specific_exit_code;
	uint32_t checkpoint;
	uint32_t wait_hint_ms;
};

/*
 * Moves on to phase, or on within one that takes time; *report is what to report then. exit_status
 * is the program's, for PHASE_STOPPED. False if the phase is over already: then there is nothing to
 * report.
 */
bool service_state_move(struct service_state *state, enum service_phase phase, int exit_status,
			struct service_report *report);

enum service_request {
	REQUEST_UNKNOWN, /* refused */
	REQUEST_NOTHING, /* taken, nothing to do */
	REQUEST_STOP,
	REQUEST_RELOAD,
};

/* *reason: of a REQUEST_STOP, for the log; a literal. */
enum service_request service_request_of(uint32_t control, const char **reason);

#endif
