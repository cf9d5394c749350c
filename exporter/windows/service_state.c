/* SPDX-License-Identifier: MIT */
#include "windows/service_state.h"

#include <stddef.h>

enum {
	STATE_STOPPED = 1,
	STATE_START_PENDING = 2,
	STATE_STOP_PENDING = 3,
	STATE_RUNNING = 4,
	ACCEPT_STOP = 0x1,
	ACCEPT_SHUTDOWN = 0x4,
	ACCEPT_PARAMCHANGE = 0x8,
	ACCEPT_PRESHUTDOWN = 0x100,
	CONTROL_STOP = 1,
	CONTROL_INTERROGATE = 4,
	CONTROL_SHUTDOWN = 5,
	CONTROL_PARAMCHANGE = 6,
	CONTROL_PRESHUTDOWN = 15,
	SPECIFIC_ERROR = 1066, /* ERROR_SERVICE_SPECIFIC_ERROR */
	WAIT_HINT_MS = 30000,  /* more than a step of the start, or a stop with its grace, takes */
};

bool service_state_move(struct service_state *state, enum service_phase phase, int exit_status,
			struct service_report *report)
{
	static const uint32_t states[] = {
		[PHASE_STARTING] = STATE_START_PENDING,
		[PHASE_SERVING] = STATE_RUNNING,
		[PHASE_STOPPING] = STATE_STOP_PENDING,
		[PHASE_STOPPED] = STATE_STOPPED,
	};
	bool takes_time = phase == PHASE_STARTING || phase == PHASE_STOPPING;

	if (phase < state->phase || (phase == state->phase && !takes_time)) {
		return false;
	}
	state->checkpoint = !takes_time ? 0 : phase == state->phase ? state->checkpoint + 1 : 1;
	state->phase = phase;
	*report = (struct service_report){
		.state = states[phase],
		.checkpoint = state->checkpoint,
		.wait_hint_ms = takes_time ? WAIT_HINT_MS : 0,
	};
	if (phase == PHASE_SERVING) {
		report->accepted = ACCEPT_STOP | ACCEPT_SHUTDOWN | ACCEPT_PARAMCHANGE |
				   ACCEPT_PRESHUTDOWN;
	}
	if (phase == PHASE_STOPPED && exit_status != 0) {
		report->exit_code = SPECIFIC_ERROR;
		report->specific_exit_code = (uint32_t)exit_status;
	}
	return true;
}

enum service_request service_request_of(uint32_t control, const char **reason)
{
	*reason = NULL;
	switch (control) {
	case CONTROL_STOP:
		*reason = "service stop";
		return REQUEST_STOP;
	case CONTROL_SHUTDOWN:
	case CONTROL_PRESHUTDOWN:
		*reason = "shutdown";
		return REQUEST_STOP;
	case CONTROL_PARAMCHANGE:
		return REQUEST_RELOAD;
	case CONTROL_INTERROGATE:
		return REQUEST_NOTHING;
	default:
		return REQUEST_UNKNOWN;
	}
}
