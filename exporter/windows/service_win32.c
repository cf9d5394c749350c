/* SPDX-License-Identifier: MIT */
/*
 * The service while it runs: two threads, that of the service manager (the main one, inside
 * StartServiceCtrlDispatcherW) and the program's. Controls arrive on the first, and only ask the
 * second to end.
 *
 * Source: "Service Programs", "Writing a ServiceMain Function", Microsoft Learn.
 */
#include <assert.h>
#include <windows.h>

#include "base/log.h"
#include "base/os.h"
#include "base/os_win32.h"
#include "windows/service_internal_win32.h"
#include "windows/service_state.h"

/* Windows has one service a process; all of it is written before the manager's first call. */
static struct {
	int (*run)(void *context);
	void *context;
	int status;
	HANDLE finished; /* the last status is reported */
	SERVICE_STATUS_HANDLE handle;
	struct os_mutex lock;
	struct service_state state; /* guarded by lock */
} service;

/* ---- status ---- */

static void move(enum service_phase phase, int exit_status)
{
	struct service_report report;
	SERVICE_STATUS status;

	/* Nobody to tell: the program runs on its own. */
	if (!service.handle) {
		return;
	}
	os_mutex_lock(&service.lock);
	if (service_state_move(&service.state, phase, exit_status, &report)) {
		status = (SERVICE_STATUS){
			.dwServiceType = SERVICE_WIN32_OWN_PROCESS,
			.dwCurrentState = report.state,
			.dwControlsAccepted = report.accepted,
			.dwWin32ExitCode = report.exit_code,
			.dwServiceSpecificExitCode = report.specific_exit_code,
			.dwCheckPoint = report.checkpoint,
			.dwWaitHint = report.wait_hint_ms,
		};
		/* A report that fails has nowhere to go; the next one tells more. */
		SetServiceStatus(service.handle, &status);
	}
	os_mutex_unlock(&service.lock);
}

void service_starting(void)
{
	move(PHASE_STARTING, 0);
}

void service_serving(void)
{
	move(PHASE_SERVING, 0);
}

void service_stopping(void)
{
	move(PHASE_STOPPING, 0);
}

/* ---- what the manager calls ---- */

static DWORD WINAPI on_control(DWORD control, DWORD type, void *data, void *context)
{
	const char *reason;

	(void)type;
	(void)data;
	(void)context;
	switch (service_request_of(control, &reason)) {
	case REQUEST_STOP:
		service_stopping();
		os_stop_ask(reason);
		return NO_ERROR;
	case REQUEST_RELOAD:
		log_info("Parameters changed; start the service again to read them");
		return NO_ERROR;
	case REQUEST_NOTHING:
		return NO_ERROR;
	case REQUEST_UNKNOWN:
		break;
	}
	return ERROR_CALL_NOT_IMPLEMENTED;
}

/* The program has its arguments already; those of a start by hand are not taken. */
static void WINAPI service_main(DWORD argc, wchar_t **argv)
{
	(void)argc;
	(void)argv;
	service.handle = RegisterServiceCtrlHandlerExW(SERVICE_WIDE_NAME, on_control, NULL);
	service_starting();
	service.status = service.run(service.context);
	/* The dispatcher returns once this is reported: from here on nothing of ours is used. */
	move(PHASE_STOPPED, service.status);
	SetEvent(service.finished);
}

bool service_run(int (*run)(void *context), void *context, int *status, struct error *err)
{
	wchar_t name[] = SERVICE_WIDE_NAME;
	const SERVICE_TABLE_ENTRYW table[] = { { name, service_main }, { NULL, NULL } };

	static_assert(SERVICE_STOPPED == 1 && SERVICE_START_PENDING == 2 &&
			      SERVICE_STOP_PENDING == 3 && SERVICE_RUNNING == 4,
		      "the states of service_state.c");
	static_assert(SERVICE_ACCEPT_STOP == 1 && SERVICE_ACCEPT_SHUTDOWN == 4 &&
			      SERVICE_ACCEPT_PARAMCHANGE == 8 && SERVICE_ACCEPT_PRESHUTDOWN == 256,
		      "the controls that service_state.c accepts");
	static_assert(SERVICE_CONTROL_STOP == 1 && SERVICE_CONTROL_INTERROGATE == 4 &&
			      SERVICE_CONTROL_SHUTDOWN == 5 && SERVICE_CONTROL_PARAMCHANGE == 6 &&
			      SERVICE_CONTROL_PRESHUTDOWN == 15,
		      "the controls of service_state.c");
	static_assert(ERROR_SERVICE_SPECIFIC_ERROR == 1066, "the error of service_state.c");
	service.run = run;
	service.context = context;
	os_mutex_init(&service.lock);
	service.finished = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!service.finished) {
		return error_set_last(err, "the service cannot run");
	}
	if (!StartServiceCtrlDispatcherW(table)) {
		if (GetLastError() == ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) {
			return error_set(err, ERROR_CONFIG,
					 "--service=run is for the service manager; start the "
					 "service with: net start " SERVICE_KEY_NAME);
		}
		return error_set_last(err, "the service manager does not answer");
	}
	WaitForSingleObject(service.finished, INFINITE);
	*status = service.status;
	return true;
}
