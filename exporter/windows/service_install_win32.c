/* SPDX-License-Identifier: MIT */
/*
 * The service in the service manager's database: made, brought up to date, removed.
 *
 * Source: "Installing a Service", "ChangeServiceConfig2W function" and the structures it takes,
 * Microsoft Learn.
 */
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

#include "base/log.h"
#include "base/os.h"
#include "base/os_win32.h"
#include "windows/event_log.h"
#include "windows/service_arguments.h"
#include "windows/service_internal_win32.h"

enum {
	PATH_CHARACTERS = 32768, /* the longest path of Windows, with its end */
	RESET_SECONDS = 24 * 60 * 60,
	STOP_WAIT_MS = 60000,
	STOP_LOOK_MS = 100,
};

/* The program that runs, as a full path to be freed; NULL without memory. */
static char *program_path(void)
{
	wchar_t *wide = calloc(PATH_CHARACTERS, sizeof *wide);
	char *path = NULL;

	if (wide && GetModuleFileNameW(NULL, wide, PATH_CHARACTERS) < PATH_CHARACTERS) {
		path = narrow_from(wide);
	}
	free(wide);
	return path;
}

static char *absolute_path(const char *path)
{
	wchar_t *wide = wide_from(path);
	wchar_t *full = calloc(PATH_CHARACTERS, sizeof *full);
	DWORD size = wide && full ? GetFullPathNameW(wide, PATH_CHARACTERS, full, NULL) : 0;
	char *absolute = size > 0 && size < PATH_CHARACTERS ? narrow_from(full) : NULL;

	free(wide);
	free(full);
	return absolute;
}

/* ---- what is said on failure ---- */

static bool fail(struct error *err, const char *what)
{
	switch (GetLastError()) {
	case ERROR_ACCESS_DENIED:
		return error_set(err, ERROR_SYSTEM, "%s: access is denied: run as administrator",
				 what);
	case ERROR_SERVICE_DOES_NOT_EXIST:
		return error_set(err, ERROR_SYSTEM, "%s: it is not installed", what);
	case ERROR_SERVICE_MARKED_FOR_DELETE:
		return error_set(err, ERROR_SYSTEM,
				 "%s: its removal waits for programs that look at it (such as "
				 "services.msc) to be closed",
				 what);
	default:
		return error_set_last(err, what);
	}
}

/* ---- how it is set up ---- */

/* Tells what an older Windows does not know; the service runs without it. */
static void set_up(SC_HANDLE service, DWORD level, void *what, const char *name)
{
	struct error why = { 0 };

	if (!ChangeServiceConfig2W(service, level, what)) {
		error_set_last(&why, name);
		log_warning("Service goes without", log_text("what", why.text));
	}
}

static void set_all_up(SC_HANDLE service)
{
	wchar_t text[] = L"Turns Event Tracing for Windows into metrics for Prometheus.";
	/* The token keeps these alone: to be told of changes in folders and pass through them, as
	 * everybody is, and to switch processor samples on. */
	wchar_t privileges[] = L"SeChangeNotifyPrivilege\0SeSystemProfilePrivilege\0";
	/* After each failure a longer wait; the last is for all that follow. */
	SC_ACTION actions[] = { { SC_ACTION_RESTART, 5000 },
				{ SC_ACTION_RESTART, 30000 },
				{ SC_ACTION_RESTART, 300000 } };
	SERVICE_DESCRIPTIONW description = { text };
	SERVICE_DELAYED_AUTO_START_INFO delayed = { TRUE };
	SERVICE_FAILURE_ACTIONSW failure = { .dwResetPeriod = RESET_SECONDS,
					     .cActions = sizeof actions / sizeof actions[0],
					     .lpsaActions = actions };
	/* Ending with an error is a failure, too, not only a crash. */
	SERVICE_FAILURE_ACTIONS_FLAG on_error = { TRUE };
	SERVICE_REQUIRED_PRIVILEGES_INFOW required = { privileges };

	set_up(service, SERVICE_CONFIG_DESCRIPTION, &description, "description");
	set_up(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed, "delayed start");
	set_up(service, SERVICE_CONFIG_FAILURE_ACTIONS, &failure, "restart after a crash");
	set_up(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &on_error, "restart after an error");
	set_up(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &required,
	       "reduction of its privileges");
}

/* The service with this command line, new or brought up to date; NULL on failure. */
static SC_HANDLE create_or_change(SC_HANDLE manager, const wchar_t *line, struct error *err)
{
	static const wchar_t shown[] = L"ETW exporter for Prometheus";
	const DWORD access = SERVICE_CHANGE_CONFIG | SERVICE_START;
	/* SERVICE_START: setting a restart asks for that right. No account: LocalSystem. */
	SC_HANDLE service = CreateServiceW(manager, SERVICE_WIDE_NAME, shown, access,
					   SERVICE_WIN32_OWN_PROCESS, SERVICE_AUTO_START,
					   SERVICE_ERROR_NORMAL, line, NULL, NULL, NULL, NULL,
					   NULL);

	if (service) {
		return service;
	}
	if (GetLastError() != ERROR_SERVICE_EXISTS) {
		fail(err, "the service cannot be installed");
		return NULL;
	}
	service = OpenServiceW(manager, SERVICE_WIDE_NAME, access);
	if (!service || !ChangeServiceConfigW(service, SERVICE_WIN32_OWN_PROCESS,
					      SERVICE_AUTO_START, SERVICE_ERROR_NORMAL, line, NULL,
					      NULL, NULL, L"LocalSystem", L"", shown)) {
		fail(err, "the service cannot be changed");
		if (service) {
			CloseServiceHandle(service);
		}
		return NULL;
	}
	return service;
}

static bool install_line(const wchar_t *line, struct error *err)
{
	SC_HANDLE manager =
		OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE);
	SC_HANDLE service;

	if (!manager) {
		return fail(err, "the service cannot be installed");
	}
	service = create_or_change(manager, line, err);
	CloseServiceHandle(manager);
	if (!service) {
		return false;
	}
	set_all_up(service);
	CloseServiceHandle(service);
	return true;
}

bool service_install(int argc, char **argv, struct error *err)
{
	char *program = program_path();
	struct text line = { 0 };
	wchar_t *wide = NULL;
	bool installed = false;

	if (!program) {
		error_set(err, ERROR_NO_MEMORY, "no memory to install the service");
	} else if (service_command_line(&line, program, argc, argv, absolute_path, err)) {
		wide = wide_from(line.data);
		installed =
			wide ? install_line(wide, err) :
			       error_set(err, ERROR_NO_MEMORY, "no memory to install the service");
	}
	if (installed) {
		installed = event_log_register(program, err);
	}
	free(wide);
	text_free(&line);
	free(program);
	return installed;
}

/* ---- removing it ---- */

/* Asks it to stop, and waits for that; it is removed in any case. */
static void stop(SC_HANDLE service)
{
	SERVICE_STATUS status;

	if (!ControlService(service, SERVICE_CONTROL_STOP, &status)) {
		return;
	}
	for (unsigned waited = 0; waited < STOP_WAIT_MS; waited += STOP_LOOK_MS) {
		if (!QueryServiceStatus(service, &status) ||
		    status.dwCurrentState == SERVICE_STOPPED) {
			return;
		}
		Sleep(STOP_LOOK_MS);
	}
	log_warning("Service does not stop; it is removed when it does");
}

bool service_uninstall(struct error *err)
{
	static const char what[] = "the service cannot be removed";
	SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
	SC_HANDLE service;
	bool removed;

	if (!manager) {
		return fail(err, what);
	}
	service = OpenServiceW(manager, SERVICE_WIDE_NAME,
			       DELETE | SERVICE_STOP | SERVICE_QUERY_STATUS);
	if (!service) {
		fail(err, what);
		CloseServiceHandle(manager);
		return false;
	}
	stop(service);
	removed = DeleteService(service) || fail(err, what);
	CloseServiceHandle(service);
	CloseServiceHandle(manager);
	return removed && event_log_unregister(err);
}
