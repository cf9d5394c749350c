/* SPDX-License-Identifier: MIT */
/*
 * Creates, updates and removes the service in the database of the service manager, and runs it.
 *
 * A running service has two threads. The main thread serves the service manager: it stays inside
 * StartServiceCtrlDispatcherW() until the service has reported that it stopped, and controls arrive
 * on it. The dispatcher makes the other thread, which runs the program. A control only requests
 * that this thread ends and never waits for it, because the manager waits for the control.
 *
 * Each report goes through service_state_move() under a lock, because both threads report, and a
 * report that is out of order would make the manager believe that the service hangs.
 *
 * Installing a service that exists changes it, so an update needs no removal. Settings that an
 * older version of Windows does not know are left out with a warning in the log.
 *
 * Source: "Service Programs", "Writing a ServiceMain Function", "Installing a Service",
 * "ChangeServiceConfig2W function" and the structures it takes, Microsoft Learn.
 */
#include "exporter/windows/service.h"

#include <windows.h>

#include <assert.h>
#include <stdlib.h>
#include <wchar.h>

#include "base/log.h"
#include "base/os.h"
#include "base/os_win32.h"

enum {
	PRESHUTDOWN_MS = 30000, /* as long as a stop with its grace period may take */
	RESET_SECONDS = 24 * 60 * 60,
	STOP_WAIT_MS = 60000,
	STOP_LOOK_MS = 100,
	PROGRESS_MS = 10000,
};

/* Returns the full path of this program, which the caller frees; NULL without memory. */
static char *program_path(void)
{
	wchar_t *wide = wide_program_path();
	char *path = wide ? narrow_from(wide) : NULL;

	free(wide);
	return path;
}

static bool fail(struct etw_error *err, const char *what)
{
	switch (GetLastError()) {
	case ERROR_ACCESS_DENIED:
		return error_set(err, ETW_ERROR_SYSTEM,
				 "%s: access is denied: run as administrator", what);
	case ERROR_SERVICE_DOES_NOT_EXIST:
		return error_set(err, ETW_ERROR_SYSTEM, "%s: it is not installed", what);
	case ERROR_SERVICE_MARKED_FOR_DELETE:
		return error_set(err, ETW_ERROR_SYSTEM,
				 "%s: it is removed when the programs that have it open (such as "
				 "services.msc) are closed",
				 what);
	default:
		return error_set_last(err, what);
	}
}

/* ---- installing ---- */

/* Applies a setting. If an older version of Windows does not know it, logs a warning; the service
 * runs without it. */
static void set_up(SC_HANDLE service, DWORD level, void *what, const char *name)
{
	struct etw_error why = { 0 };

	if (!ChangeServiceConfig2W(service, level, what)) {
		error_set_last(&why, name);
		log_warning("Service setting is not available", log_text("what", why.text));
	}
}

static void set_all_up(SC_HANDLE service)
{
	wchar_t text[] = L"Turns Event Tracing for Windows into metrics for Prometheus.";
	/* The token keeps only these privileges: to pass through folders, which every account may,
	 * and to enable processor samples. */
	wchar_t privileges[] = L"SeChangeNotifyPrivilege\0SeSystemProfilePrivilege\0";
	/* Each failure is followed by a longer wait, in ms; the last applies to all later
	 * failures. */
	SC_ACTION actions[] = { { SC_ACTION_RESTART, 5000 },
				{ SC_ACTION_RESTART, 30000 },
				{ SC_ACTION_RESTART, 300000 } };
	SERVICE_DESCRIPTIONW description = { text };
	SERVICE_DELAYED_AUTO_START_INFO delayed = { TRUE };
	SERVICE_FAILURE_ACTIONSW failure = { .dwResetPeriod = RESET_SECONDS,
					     .cActions = sizeof actions / sizeof actions[0],
					     .lpsaActions = actions };
	/* With this, an end with an error counts as a failure, not only a crash. */
	SERVICE_FAILURE_ACTIONS_FLAG on_error = { TRUE };
	SERVICE_REQUIRED_PRIVILEGES_INFOW required = { privileges };
	/* The default differs between versions of Windows. */
	SERVICE_PRESHUTDOWN_INFO preshutdown = { PRESHUTDOWN_MS };

	set_up(service, SERVICE_CONFIG_DESCRIPTION, &description, "description");
	set_up(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed, "delayed start");
	set_up(service, SERVICE_CONFIG_FAILURE_ACTIONS, &failure, "restart after a crash");
	set_up(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &on_error, "restart after an error");
	set_up(service, SERVICE_CONFIG_PRESHUTDOWN_INFO, &preshutdown, "time for a shutdown");
	set_up(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &required,
	       "reduction of its privileges");
}

/* Creates or updates the service with this command line. Returns NULL on failure; the caller closes
 * the handle. */
static SC_HANDLE create_or_change(SC_HANDLE manager, const wchar_t *line, struct etw_error *err)
{
	static const wchar_t shown[] = L"ETW exporter for Prometheus";
	const DWORD access = SERVICE_CHANGE_CONFIG | SERVICE_START;
	/* SERVICE_START is needed because setting a restart requires that right. Without an account
	 * the service runs as LocalSystem. */
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

static bool install_line(const wchar_t *line, struct etw_error *err)
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

bool service_install(int argc, char **argv, struct etw_error *err)
{
	char *program = program_path();
	struct etw_text line = { 0 };
	wchar_t *wide = NULL;
	bool installed = false;

	if (!program) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to install the service");
	} else if (service_command_line(&line, program, argc, argv, os_path_absolute, err)) {
		wide = wide_from(line.data);
		installed = wide ? install_line(wide, err) :
				   error_set(err, ETW_ERROR_NO_MEMORY,
					     "no memory to install the service");
	}
	if (installed) {
		installed = event_log_register(program, err);
	}
	free(wide);
	text_free(&line);
	free(program);
	return installed;
}

/* ---- removing ---- */

/* Requests that the service stops and waits for that. The caller removes it in any case. */
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
	log_warning("Service does not stop; it will be removed when it stops");
}

bool service_uninstall(struct etw_error *err)
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

/* ---- running ---- */

/* The state of the service; this process has only one. Everything is written before the manager's
 * first call. */
static struct {
	int (*run)(void *context);
	void *context;
	int status;
	HANDLE ended;    /* set when run() has returned */
	HANDLE finished; /* set when the last status has been reported */
	struct os_thread progress;
	SERVICE_STATUS_HANDLE handle;
	struct os_mutex lock;
	struct service_state state; /* guarded by lock */
} service;

/* ---- status ---- */

static void report_phase(enum service_phase phase, int exit_status)
{
	struct service_report report;
	SERVICE_STATUS status;

	if (!service.handle) { /* the program does not run as a service */
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
		/* A failure to report cannot be reported; the next report replaces this one. */
		SetServiceStatus(service.handle, &status);
	}
	os_mutex_unlock(&service.lock);
}

void service_move_to(enum service_phase phase)
{
	report_phase(phase, 0);
}

/* ---- callbacks of the service manager ---- */

static DWORD WINAPI on_control(DWORD control, DWORD type, void *data, void *context)
{
	const char *reason;

	(void)type;
	(void)data;
	(void)context;
	switch (service_request_of(control, &reason)) {
	case REQUEST_STOP:
		service_move_to(PHASE_STOPPING);
		os_stop_ask(reason);
		return NO_ERROR;
	case REQUEST_RELOAD:
		os_reload_ask();
		return NO_ERROR;
	case REQUEST_RECORD:
		return service_record() ? NO_ERROR : ERROR_SERVICE_NOT_ACTIVE;
	case REQUEST_NOTHING:
		return NO_ERROR;
	case REQUEST_UNKNOWN:
		break;
	}
	return ERROR_CALL_NOT_IMPLEMENTED;
}

/* Reports again and again that a start or a stop makes progress, because a session may wait longer
 * for the state of its providers than the manager does. */
static void report_progress(void *context)
{
	enum service_phase phase;
	bool unfinished;

	(void)context;
	while (WaitForSingleObject(service.ended, PROGRESS_MS) == WAIT_TIMEOUT) {
		os_mutex_lock(&service.lock);
		phase = service.state.phase;
		unfinished = service_state_unfinished(&service.state);
		os_mutex_unlock(&service.lock);
		if (unfinished) {
			service_move_to(phase);
		}
	}
}

/* Runs the program. It has its arguments already; arguments of a manual start are ignored. */
static void WINAPI service_main(DWORD argc, wchar_t **argv)
{
	struct etw_error err = { 0 };
	bool logged, progress;

	(void)argc;
	(void)argv;
	service.handle = RegisterServiceCtrlHandlerExW(SERVICE_WIDE_NAME, on_control, NULL);
	service_move_to(PHASE_STARTING);
	logged = event_log_open(&err);
	progress = os_thread_start(&service.progress, report_progress, NULL, &err);
	service.status = service.run(service.context);
	SetEvent(service.ended);
	if (progress) {
		os_thread_join(&service.progress);
	}
	if (logged) {
		event_log_close();
	}
	/* The dispatcher returns once this is reported, so nothing that main() frees may be used
	 * afterwards. */
	report_phase(PHASE_STOPPED, service.status);
	SetEvent(service.finished);
}

bool service_run(int (*run)(void *context), void *context, int *status, struct etw_error *err)
{
	wchar_t name[] = SERVICE_WIDE_NAME;
	const SERVICE_TABLE_ENTRYW table[] = { { name, service_main }, { NULL, NULL } };

	static_assert(SERVICE_STOPPED == 1 && SERVICE_START_PENDING == 2 &&
			      SERVICE_STOP_PENDING == 3 && SERVICE_RUNNING == 4,
		      "the states of service_model.c");
	static_assert(SERVICE_ACCEPT_STOP == 1 && SERVICE_ACCEPT_SHUTDOWN == 4 &&
			      SERVICE_ACCEPT_PARAMCHANGE == 8 && SERVICE_ACCEPT_PRESHUTDOWN == 256,
		      "the controls that service_model.c accepts");
	static_assert(SERVICE_CONTROL_STOP == 1 && SERVICE_CONTROL_INTERROGATE == 4 &&
			      SERVICE_CONTROL_SHUTDOWN == 5 && SERVICE_CONTROL_PARAMCHANGE == 6 &&
			      SERVICE_CONTROL_PRESHUTDOWN == 15,
		      "the controls of service_model.c");
	static_assert(ERROR_SERVICE_SPECIFIC_ERROR == 1066, "the error of service_model.c");
	service.run = run;
	service.context = context;
	os_mutex_init(&service.lock);
	service.ended = CreateEventW(NULL, TRUE, FALSE, NULL);
	service.finished = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!service.ended || !service.finished) {
		return error_set_last(err, "the service cannot run");
	}
	if (!StartServiceCtrlDispatcherW(table)) {
		if (GetLastError() == ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "--service=run is for the service manager; start the "
					 "service with: net start " SERVICE_KEY_NAME);
		}
		return error_set_last(err, "the service manager does not answer");
	}
	WaitForSingleObject(service.finished, INFINITE);
	*status = service.status;
	return true;
}

/* ---- the event log ---- */

/*
 * Writes log lines as entries of the Application event log.
 *
 * ReportEventW() is a call to another process, which may be stopped or hang, so lines go through a
 * queue with a thread of its own. An entry that is refused is tried once more with a new handle,
 * because handles become invalid when the event log service restarts; then it is lost. Closing the
 * log waits for the queue, but at most two seconds. If the event log still hangs then, the thread
 * and the handle stay open, and the program ends anyway. Entries of the registry name the program
 * as the file with the message, which is the log line itself.
 *
 * Source: "ReportEventW function", "Event Sources", Microsoft Learn.
 */

#define SOURCE_NAME SERVICE_WIDE_NAME
#define SOURCE_KEY  L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\" SOURCE_NAME

enum {
	MESSAGE_LINE = 1,         /* messages.mc */
	ENTRY_CHARACTERS = 31000, /* "ReportEventW function": 31839 is the most */
	LEVELS_KNOWN = 7,         /* EVENTLOG_ERROR_TYPE, _WARNING_TYPE, _INFORMATION_TYPE */
	CLOSE_WAIT_NS = 2000000000,
};

/* Only the queue's thread uses source between opening and closing. */
static HANDLE source;
static struct log_queue *queue;

static WORD entry_type(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return EVENTLOG_ERROR_TYPE;
	case LOG_WARNING:
		return EVENTLOG_WARNING_TYPE;
	case LOG_INFO:
	case LOG_DEBUG:
		break;
	}
	return EVENTLOG_INFORMATION_TYPE;
}

/* Returns the line in UTF-16, with a blank between a percent sign and a digit or another percent
 * sign: the viewer would replace %1 inside the text, but not "% 1". */
static wchar_t *entry_text(const char *line, size_t size)
{
	wchar_t *text = calloc(2 * size + 1, sizeof *text);
	wchar_t *wide;
	size_t length = 0;
	char *copy = text_duplicate(line, size);

	wide = copy ? wide_from(copy) : NULL;
	free(copy);
	if (!text || !wide) {
		free(text);
		free(wide);
		return NULL;
	}
	for (const wchar_t *at = wide; *at && length < ENTRY_CHARACTERS; at++) {
		text[length++] = *at;
		if (*at == L'%' && ((at[1] >= L'0' && at[1] <= L'9') || at[1] == L'%')) {
			text[length++] = L' ';
		}
	}
	free(wide);
	return text;
}

static bool report(WORD type, const wchar_t *text)
{
	return source &&
	       ReportEventW(source, type, 0, MESSAGE_LINE, NULL, 1, 0, (LPCWSTR *)&text, NULL);
}

static void write_entry(void *context, enum log_level level, const char *line, size_t size)
{
	wchar_t *text = entry_text(line, size);

	(void)context;
	if (text && !report(entry_type(level), text)) {
		if (source) {
			DeregisterEventSource(source);
		}
		source = RegisterEventSourceW(NULL, SOURCE_NAME);
		report(entry_type(level), text);
	}
	free(text);
}

bool event_log_open(struct etw_error *err)
{
	source = RegisterEventSourceW(NULL, SOURCE_NAME);
	queue = log_queue_open(write_entry, NULL, err);
	if (!queue) {
		event_log_close();
		return false;
	}
	log_to(log_queue_add, queue);
	return true;
}

void event_log_close(void)
{
	log_to(NULL, NULL);
	/* If the event log hangs, its queue and its handle are not freed. */
	if (log_queue_close(queue, CLOSE_WAIT_NS) && source) {
		DeregisterEventSource(source);
		source = NULL;
	}
	queue = NULL;
}

/* ---- the event log in the registry ---- */

static bool set_values(HKEY key, const wchar_t *program)
{
	const DWORD levels = LEVELS_KNOWN;
	size_t size = (wcslen(program) + 1) * sizeof *program;

	return RegSetValueExW(key, L"EventMessageFile", 0, REG_SZ, (const BYTE *)program,
			      (DWORD)size) == ERROR_SUCCESS &&
	       RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD, (const BYTE *)&levels,
			      sizeof levels) == ERROR_SUCCESS;
}

static bool fail_key(LSTATUS status, const char *what, struct etw_error *err)
{
	SetLastError((DWORD)status);
	return error_set_last(err, what);
}

bool event_log_register(const char *program, struct etw_error *err)
{
	static const char what[] = "the source of event log entries cannot be registered";
	wchar_t *wide = wide_from(program);
	LSTATUS status;
	HKEY key;
	bool set;

	if (!wide) {
		return error_set(err, ETW_ERROR_NO_MEMORY,
				 "no memory to register the event source");
	}
	status = RegCreateKeyExW(HKEY_LOCAL_MACHINE, SOURCE_KEY, 0, NULL, 0, KEY_SET_VALUE, NULL,
				 &key, NULL);
	if (status != ERROR_SUCCESS) {
		free(wide);
		return fail_key(status, what, err);
	}
	set = set_values(key, wide);
	RegCloseKey(key);
	free(wide);
	return set || error_set(err, ETW_ERROR_SYSTEM, "%s", what);
}

bool event_log_unregister(struct etw_error *err)
{
	LSTATUS status = RegDeleteKeyW(HKEY_LOCAL_MACHINE, SOURCE_KEY);

	return status == ERROR_SUCCESS || status == ERROR_FILE_NOT_FOUND ||
	       fail_key(status, "the source of event log entries cannot be removed", err);
}
