/* SPDX-License-Identifier: MIT */
/*
 * Tests the life of a service: it is installed, started, killed, restarted by the service manager,
 * stopped and removed. An exporter that is installed and runs is not touched, because this service
 * has another name, and its configuration names another session and a free port.
 *
 * Each step adds a line with its status, the state of the service, its process, and the time of the
 * step. A step that fails ends the cycle; the removal is tried in any case. A service that an
 * earlier run left behind is removed first.
 *
 * Source: "Installing a Service", "Starting a Service", "QueryServiceStatusEx function",
 * "SERVICE_FAILURE_ACTIONSW structure", Microsoft Learn.
 */
#include "selftest/kit_machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

#include "base/os.h"
#include "base/os_win32.h"
#include "exporter/windows/service.h"

#define PROBE_SERVICE L"etw_exporter_probe"
#define EXPORTER      "etw_exporter.exe"

enum { STEP_MS = 15000, LOOK_MS = 100, RESTART_MS = 1000, FAILURE_RESET_S = 60 };

#define NS_PER_MS UINT64_C(1000000)

struct cycle {
	SC_HANDLE manager;
	SC_HANDLE service;
	struct etw_text *csv;
	uint64_t step_ns; /* when the step began */
	struct etw_error *err;
};

static SERVICE_STATUS_PROCESS status_of(const struct cycle *cycle)
{
	SERVICE_STATUS_PROCESS status = { 0 };
	DWORD size;

	if (cycle->service) {
		QueryServiceStatusEx(cycle->service, SC_STATUS_PROCESS_INFO, (BYTE *)&status,
				     sizeof status, &size);
	}
	return status;
}

/* Ends a step and adds its line. If the step failed, its status is GetLastError(). */
static bool step(struct cycle *cycle, const char *what, bool worked)
{
	DWORD error = worked ? ERROR_SUCCESS : GetLastError();
	SERVICE_STATUS_PROCESS status = status_of(cycle);

	text_add_format(cycle->csv, "%s,%lu,%lu,%lu,%lu,%" PRIu64 "\n", what, (unsigned long)error,
			(unsigned long)status.dwCurrentState, (unsigned long)status.dwProcessId,
			(unsigned long)status.dwWin32ExitCode,
			(os_monotonic_ns() - cycle->step_ns) / NS_PER_MS);
	cycle->step_ns = os_monotonic_ns();
	if (!worked) {
		SetLastError(error);
		error_set_last(cycle->err, what);
	}
	return worked;
}

/* Waits until the service is in this state with a process other than not_process. */
static bool reaches(const struct cycle *cycle, DWORD state, DWORD not_process)
{
	for (unsigned waited = 0; waited < STEP_MS; waited += LOOK_MS) {
		SERVICE_STATUS_PROCESS status = status_of(cycle);

		if (status.dwCurrentState == state &&
		    (not_process == 0 || status.dwProcessId != not_process)) {
			return true;
		}
		Sleep(LOOK_MS);
	}
	SetLastError(ERROR_TIMEOUT);
	return false;
}

static bool kill(DWORD id)
{
	HANDLE process = OpenProcess(PROCESS_TERMINATE | SYNCHRONIZE, FALSE, id);
	bool killed;

	if (!process) {
		return false;
	}
	killed = TerminateProcess(process, 1) &&
		 WaitForSingleObject(process, STEP_MS) == WAIT_OBJECT_0;
	CloseHandle(process);
	return killed;
}

/* Removes the service. On failure returns false and sets GetLastError(). */
static bool remove_service(struct cycle *cycle)
{
	SERVICE_STATUS status;
	DWORD error;
	bool removed;

	if (ControlService(cycle->service, SERVICE_CONTROL_STOP, &status)) {
		reaches(cycle, SERVICE_STOPPED, 0);
	}
	removed = DeleteService(cycle->service);
	error = GetLastError();
	CloseServiceHandle(cycle->service);
	cycle->service = NULL;
	SetLastError(error);
	return removed;
}

static bool install(struct cycle *cycle, const wchar_t *line)
{
	SC_ACTION restart = { SC_ACTION_RESTART, RESTART_MS };
	SERVICE_FAILURE_ACTIONSW failure = { .dwResetPeriod = FAILURE_RESET_S,
					     .cActions = 1,
					     .lpsaActions = &restart };

	cycle->service = OpenServiceW(cycle->manager, PROBE_SERVICE, SERVICE_ALL_ACCESS);
	if (cycle->service) {
		remove_service(cycle);
	}
	cycle->service = CreateServiceW(cycle->manager, PROBE_SERVICE,
					L"ETW exporter for Prometheus (probe)", SERVICE_ALL_ACCESS,
					SERVICE_WIN32_OWN_PROCESS, SERVICE_DEMAND_START,
					SERVICE_ERROR_NORMAL, line, NULL, NULL, NULL, NULL, NULL);
	return step(cycle, "install", cycle->service != NULL) &&
	       step(cycle, "restart after a crash",
		    ChangeServiceConfig2W(cycle->service, SERVICE_CONFIG_FAILURE_ACTIONS,
					  &failure));
}

static bool live(struct cycle *cycle)
{
	SERVICE_STATUS status;
	DWORD process;
	bool restarted;

	if (!step(cycle, "start", StartServiceW(cycle->service, 0, NULL)) ||
	    !step(cycle, "runs", reaches(cycle, SERVICE_RUNNING, 0))) {
		return false;
	}
	process = status_of(cycle).dwProcessId;
	if (!step(cycle, "kill", kill(process))) {
		return false;
	}
	restarted = step(cycle, "runs again", reaches(cycle, SERVICE_RUNNING, process));
	if (!restarted) { /* the stop is tried even so */
		StartServiceW(cycle->service, 0, NULL);
		reaches(cycle, SERVICE_RUNNING, process);
	}
	return step(cycle, "stop", ControlService(cycle->service, SERVICE_CONTROL_STOP, &status)) &&
	       step(cycle, "stopped", reaches(cycle, SERVICE_STOPPED, 0)) && restarted;
}

/* Returns the path of the exporter in the folder of this program, which the caller frees. Returns
 * NULL on failure. */
static char *exporter_path(struct etw_error *err)
{
	wchar_t *wide = wide_program_path();
	char *own = wide ? narrow_from(wide) : NULL;
	struct etw_text path = { 0 };
	struct os_file *file;

	free(wide);
	if (own) {
		text_add(&path, own, (size_t)(os_path_name(own) - own));
		text_add_string(&path, EXPORTER);
	}
	free(own);
	if (path.failed || !path.data) {
		text_free(&path);
		error_no_memory(err, "the service");
		return NULL;
	}
	file = os_file_open(path.data, NULL);
	if (!file) {
		error_set(err, ETW_ERROR_SYSTEM,
			  "%s is missing: it must be in the folder of this program", path.data);
		text_free(&path);
		return NULL;
	}
	os_file_close(file);
	return path.data;
}

/* Returns the command line: "program" --service=run "--config.file=…". */
static wchar_t *service_line(const char *program, const char *config_file)
{
	wchar_t full[MAX_PATH];
	wchar_t *wide_config = wide_from(config_file);
	DWORD size = wide_config ? GetFullPathNameW(wide_config, MAX_PATH, full, NULL) : 0;
	char *config = size > 0 && size < MAX_PATH ? narrow_from(full) : NULL;
	struct etw_text option = { 0 };
	struct etw_text line = { 0 };
	wchar_t *wide = NULL;

	if (config) {
		text_add_format(&option, "--config.file=%s", config);
		service_add_argument(&line, program);
		text_add_string(&line, " --service=run ");
		service_add_argument(&line, option.failed ? "" : option.data);
		wide = line.failed || option.failed ? NULL : wide_from(line.data);
	}
	text_free(&line);
	text_free(&option);
	free(config);
	free(wide_config);
	return wide;
}

bool kit_service_cycle(const char *config_file, struct etw_text *csv, struct etw_error *err)
{
	struct cycle cycle = { .csv = csv, .step_ns = os_monotonic_ns(), .err = err };
	char *program = exporter_path(err);
	wchar_t *line = program ? service_line(program, config_file) : NULL;
	bool done = false;

	text_add_string(csv, "step,status,state,process,exit_code,ms\n");
	if (!program) {
		return false;
	}
	free(program);
	if (!line) {
		return error_no_memory(err, "the service");
	}
	cycle.manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE);
	if (step(&cycle, "service manager", cycle.manager != NULL)) {
		done = install(&cycle, line) && live(&cycle);
		if (cycle.service) {
			done = step(&cycle, "remove", remove_service(&cycle)) && done;
		}
		CloseServiceHandle(cycle.manager);
	}
	free(line);
	return done;
}
