/* SPDX-License-Identifier: MIT */
/*
 * Computes the command line and the states of the service as text and numbers.
 *
 * Windows keeps the command line of a service as one text, which CommandLineToArgvW() splits when
 * the service starts, so each argument is quoted by the rules of that function. The flag --service
 * of the installation becomes --service=run, and relative paths are made absolute, because a
 * service starts in another folder.
 *
 * The service manager expects states in a fixed order, and progress while the service starts or
 * stops. service_state_move() computes each report from the phase of the program, and refuses to go
 * back to an earlier phase.
 *
 * The numbers of states and controls are those of winsvc.h, repeated here so that this file
 * compiles everywhere; service_win32.c asserts that they are equal.
 */
#include "exporter/windows/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"

/* ---- the command line ---- */

enum { LINE_MAX_CHARACTERS = 32766 }; /* "CreateProcessW function": 32767 with the NUL */

static const char *const path_flags[] = { "--config.file", "--replay.file", "--web.config.file" };

static void add_backslashes(struct etw_text *line, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		text_add_char(line, '\\');
	}
}

void service_add_argument(struct etw_text *line, const char *argument)
{
	size_t backslashes = 0; /* number directly before `at`; already written once */

	if (*argument != '\0' && strpbrk(argument, " \t\n\v\"") == NULL) {
		text_add_string(line, argument);
		return;
	}
	text_add_char(line, '"');
	for (const char *at = argument; *at; at++) {
		if (*at == '"') {
			add_backslashes(line, backslashes + 1);
		}
		backslashes = *at == '\\' ? backslashes + 1 : 0;
		text_add_char(line, *at);
	}
	add_backslashes(line, backslashes);
	text_add_char(line, '"');
}

/* Returns what follows the name of the flag in an argument, "" or "=value"; NULL if it is another
 * flag. */
static const char *after_flag(const char *argument, const char *flag)
{
	size_t size = strlen(flag);

	if (strncmp(argument, flag, size) != 0 ||
	    (argument[size] != '\0' && argument[size] != '=')) {
		return NULL;
	}
	return argument + size;
}

/* Adds "flag=PATH" with the path made absolute. */
static void add_path(struct etw_text *line, const char *flag, const char *path,
		     service_absolute_path *absolute)
{
	struct etw_text argument = { 0 };
	char *full = absolute(path);

	text_add_string(&argument, flag);
	text_add_char(&argument, '=');
	text_add_string(&argument, full ? full : "");
	text_add_char(line, ' ');
	if (argument.failed || !full) {
		line->failed = true;
	} else {
		service_add_argument(line, argument.data);
	}
	text_free(&argument);
	free(full);
}

/* Adds the argument at *index. If the next argument is its value, adds that too and moves *index to
 * it. */
static void add_next(struct etw_text *line, int argc, char **argv, int *index,
		     service_absolute_path *absolute)
{
	const char *argument = argv[*index];
	const char *rest = after_flag(argument, "--service");

	if (rest) {
		*index += *rest == '\0';
		return;
	}
	for (size_t i = 0; i < sizeof path_flags / sizeof path_flags[0]; i++) {
		rest = after_flag(argument, path_flags[i]);
		if (rest && *rest == '=') {
			add_path(line, path_flags[i], rest + 1, absolute);
			return;
		}
		if (rest && *index + 1 < argc) {
			add_path(line, path_flags[i], argv[++*index], absolute);
			return;
		}
	}
	text_add_char(line, ' ');
	service_add_argument(line, argument);
}

bool service_command_line(struct etw_text *line, const char *program, int argc, char **argv,
			  service_absolute_path *absolute, struct etw_error *err)
{
	/* The path is always quoted: otherwise Windows would try each part before a blank as a
	 * program. */
	text_add_char(line, '"');
	text_add_string(line, program);
	text_add_string(line, "\" --service=run");
	for (int i = 1; i < argc; i++) {
		add_next(line, argc, argv, &i, absolute);
	}
	if (line->failed) {
		return error_set(err, ETW_ERROR_NO_MEMORY,
				 "no memory for the service's command line");
	}
	/* UTF-16 has at most as many characters as UTF-8 has bytes. */
	if (line->size > LINE_MAX_CHARACTERS) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "a service's command line has room for %d characters, not %zu",
				 LINE_MAX_CHARACTERS, line->size);
	}
	return true;
}

/* ---- states ---- */

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
	REPORTS_AGAIN = 12,    /* of ten seconds each: twice the longest capture_state.timeout */
	WAIT_HINT_MS = 30000, /* longer than a step of the start, or a stop with its grace period */
};

static bool takes_time(enum service_phase phase)
{
	return phase == PHASE_STARTING || phase == PHASE_STOPPING;
}

bool service_state_unfinished(const struct service_state *state)
{
	return takes_time(state->phase) && state->checkpoint <= REPORTS_AGAIN;
}

bool service_state_move(struct service_state *state, enum service_phase phase, int exit_status,
			struct service_report *report)
{
	static const uint32_t states[] = {
		[PHASE_STARTING] = STATE_START_PENDING,
		[PHASE_SERVING] = STATE_RUNNING,
		[PHASE_STOPPING] = STATE_STOP_PENDING,
		[PHASE_STOPPED] = STATE_STOPPED,
	};

	if (phase < state->phase || (phase == state->phase && !takes_time(phase))) {
		return false;
	}
	state->checkpoint = !takes_time(phase)    ? 0 :
			    phase == state->phase ? state->checkpoint + 1 :
						    1;
	state->phase = phase;
	*report = (struct service_report){
		.state = states[phase],
		.checkpoint = state->checkpoint,
		.wait_hint_ms = takes_time(phase) ? WAIT_HINT_MS : 0,
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
	case SERVICE_RECORD:
		return REQUEST_RECORD;
	case CONTROL_INTERROGATE:
		return REQUEST_NOTHING;
	default:
		return REQUEST_UNKNOWN;
	}
}

/* ---- recordings ---- */

static struct os_once record_once = { OS_ONCE_INIT };
static struct os_mutex record_lock; /* guards the next two, and is held while the function runs */
static void (*record_function)(void *context);
static void *record_context;

static void init_record_lock(void)
{
	os_mutex_init(&record_lock);
}

void service_on_record(void (*record)(void *context), void *context)
{
	os_once(&record_once, init_record_lock);
	os_mutex_lock(&record_lock);
	record_function = record;
	record_context = context;
	os_mutex_unlock(&record_lock);
}

bool service_record(void)
{
	bool there;

	os_once(&record_once, init_record_lock);
	os_mutex_lock(&record_lock);
	there = record_function != NULL;
	if (there) {
		record_function(record_context);
	}
	os_mutex_unlock(&record_lock);
	return there;
}
