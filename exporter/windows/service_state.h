/* SPDX-License-Identifier: MIT */
/*
 * What a service reports to the service manager, and what the manager's controls ask for.
 *
 * Phases only move forward: once a stop was asked for, a start that completes meanwhile is not
 * reported any more. While it starts or stops, each report has a greater checkpoint than the one
 * before, or the manager takes the service for hung.
 *
 * Numbers are those of winsvc.h; service_win32.c holds them against it.
 * Source: "SERVICE_STATUS structure", "Service State Transitions", Microsoft Learn.
 */
#ifndef EXPORTER_SERVICE_STATE_H
#define EXPORTER_SERVICE_STATE_H

#include <stdbool.h>
#include <stdint.h>

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
 * Moves on to phase, or on within one that takes time; *report is what to tell then. exit_status is
 * the program's, for PHASE_STOPPED. False, and nothing to tell: phase is over already.
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
