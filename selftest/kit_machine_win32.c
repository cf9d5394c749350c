/* SPDX-License-Identifier: MIT */
/*
 * Implements what the kit needs of Windows except event tracing: facts about the machine and the
 * account, performance counters, child processes, a thread without rights.
 *
 * Every call may fail on some version of Windows; then only its line is missing. Performance
 * counters are read through pdh.dll, which is loaded when it is needed, so that the program does
 * not depend on it. They are added by their English paths: "typeperf" wants the names in the
 * language of the machine. Raw values are the sums that Windows keeps, so that two readings give
 * exactly the bytes between them.
 *
 * Source: "PdhAddEnglishCounterW function", "PdhGetRawCounterArrayW function",
 * "CreateRestrictedToken function", "ImpersonateLoggedOnUser function", "GetTokenInformation
 * function", "RegGetValueW function", Microsoft Learn.
 */
#include "selftest/kit_machine.h"

#include <windows.h>

#include <inttypes.h>
#include <pdh.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/os.h"
#include "base/os_win32.h"
#include "exporter/windows/service.h"
#include "selftest/kit_files.h"

enum { TEXT_CHARACTERS = 512, PROFILES_MAX = 200 };

/* ---- facts ---- */

static void add_text(struct etw_text *csv, const char *name, const wchar_t *value)
{
	char *narrow = narrow_from(value);

	if (narrow) {
		text_add_format(csv, "%s,", name);
		csv_add(csv, narrow);
		text_add_char(csv, '\n');
	}
	free(narrow);
}

static void add_number(struct etw_text *csv, const char *name, uint64_t value)
{
	text_add_format(csv, "%s,%" PRIu64 "\n", name, value);
}

/* Adds a value of HKEY_LOCAL_MACHINE, or nothing if it does not exist. */
static void add_registry(struct etw_text *csv, const char *name, const wchar_t *key,
			 const wchar_t *value)
{
	wchar_t words[TEXT_CHARACTERS];
	DWORD number = 0;
	DWORD size = sizeof words;

	if (RegGetValueW(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_SZ, NULL, words, &size) ==
	    ERROR_SUCCESS) {
		add_text(csv, name, words);
		return;
	}
	size = sizeof number;
	if (RegGetValueW(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_DWORD, NULL, &number, &size) ==
	    ERROR_SUCCESS) {
		add_number(csv, name, number);
	}
}

static void add_privileges(struct etw_text *csv, HANDLE token)
{
	DWORD size = 0;
	TOKEN_PRIVILEGES *privileges;

	GetTokenInformation(token, TokenPrivileges, NULL, 0, &size);
	privileges = calloc(1, size + 1);
	if (privileges && GetTokenInformation(token, TokenPrivileges, privileges, size, &size)) {
		for (DWORD i = 0; i < privileges->PrivilegeCount; i++) {
			LUID_AND_ATTRIBUTES *privilege = &privileges->Privileges[i];
			wchar_t wide[64];
			DWORD wide_size = sizeof wide / sizeof wide[0];
			char *name =
				LookupPrivilegeNameW(NULL, &privilege->Luid, wide, &wide_size) ?
					narrow_from(wide) :
					NULL;

			text_add_format(csv, "privilege %s,%s\n", name ? name : "unknown",
					privilege->Attributes & SE_PRIVILEGE_ENABLED ? "enabled" :
										       "disabled");
			free(name);
		}
	}
	free(privileges);
}

static bool is_administrator(void)
{
	SID_IDENTIFIER_AUTHORITY authority = { SECURITY_NT_AUTHORITY };
	BOOL member = FALSE;
	PSID group;

	if (AllocateAndInitializeSid(&authority, 2, SECURITY_BUILTIN_DOMAIN_RID,
				     DOMAIN_ALIAS_RID_ADMINS, 0, 0, 0, 0, 0, 0, &group)) {
		CheckTokenMembership(NULL, group, &member);
		FreeSid(group);
	}
	return member;
}

void kit_machine_facts(struct etw_text *csv)
{
	static const wchar_t windows[] = L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
	static const wchar_t bios[] = L"HARDWARE\\DESCRIPTION\\System\\BIOS";
	MEMORYSTATUSEX memory = { .dwLength = sizeof memory };
	HANDLE token;

	add_registry(csv, "product", windows, L"ProductName");
	add_registry(csv, "display_version", windows, L"DisplayVersion");
	add_registry(csv, "revision_of_build", windows, L"UBR");
	add_registry(csv, "installation", windows, L"InstallationType");
	/* These values identify a virtual machine: "Virtual Machine", "VMware…", "KVM". */
	add_registry(csv, "manufacturer", bios, L"SystemManufacturer");
	add_registry(csv, "model", bios, L"SystemProductName");
	add_registry(csv, "container_type", L"SYSTEM\\CurrentControlSet\\Control",
		     L"ContainerType");
	add_registry(csv, "EtwMaxLoggers", L"SYSTEM\\CurrentControlSet\\Control\\WMI",
		     L"EtwMaxLoggers");
	if (GlobalMemoryStatusEx(&memory)) {
		add_number(csv, "memory_bytes", memory.ullTotalPhys);
	}
	add_number(csv, "uptime_ms", GetTickCount64());
	text_add_format(csv, "administrator,%s\n", is_administrator() ? "yes" : "no");
	if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
		add_privileges(csv, token);
		CloseHandle(token);
	}
}

/* ---- names ---- */

static void each_of_environment(void (*each)(void *context, const char *name, const char *what),
				void *context, const wchar_t *variable, const char *what)
{
	wchar_t value[TEXT_CHARACTERS];
	DWORD size = GetEnvironmentVariableW(variable, value, TEXT_CHARACTERS);
	char *name = size > 0 && size < TEXT_CHARACTERS ? narrow_from(value) : NULL;

	if (name) {
		each(context, name, what);
	}
	free(name);
}

struct profiles {
	void (*each)(void *context, const char *name, const char *what);
	void *context;
	unsigned count;
};

/* Calls each() with the name of a user's folder, except for folders that every machine has. */
static bool each_profile(void *context, const char *name)
{
	static const char *const public_names[] = { ".",          "..",           "Public",
						    "Default",    "Default User", "All Users",
						    "desktop.ini" };
	struct profiles *profiles = context;

	for (size_t i = 0; i < sizeof public_names / sizeof public_names[0]; i++) {
		if (strcmp(name, public_names[i]) == 0) {
			return true;
		}
	}
	profiles->each(profiles->context, name, "user");
	return ++profiles->count < PROFILES_MAX;
}

void kit_machine_names(void (*each)(void *context, const char *name, const char *what),
		       void *context)
{
	static const COMPUTER_NAME_FORMAT formats[] = { ComputerNameNetBIOS,
							ComputerNameDnsHostname,
							ComputerNameDnsDomain,
							ComputerNameDnsFullyQualified };
	struct profiles profiles = { .each = each, .context = context };
	wchar_t wide[TEXT_CHARACTERS];
	char *folder;

	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		DWORD size = TEXT_CHARACTERS;
		char *name = GetComputerNameExW(formats[i], wide, &size) ? narrow_from(wide) : NULL;

		if (name) {
			each(context, name, i == 2 ? "domain" : "machine");
		}
		free(name);
	}
	each_of_environment(each, context, L"USERNAME", "user");
	each_of_environment(each, context, L"USERDOMAIN", "domain");
	each_of_environment(each, context, L"USERDNSDOMAIN", "domain");
	if (ExpandEnvironmentStringsW(L"%SystemDrive%\\Users", wide, TEXT_CHARACTERS) > 0) {
		folder = narrow_from(wide);
		if (folder) {
			os_folder_list(folder, each_profile, &profiles);
		}
		free(folder);
	}
}

/* ---- rights ---- */

bool kit_without_rights(void (*run)(void *context), void *context, struct etw_error *err)
{
	SID_IDENTIFIER_AUTHORITY authority = { SECURITY_NT_AUTHORITY };
	SID_AND_ATTRIBUTES disabled = { 0 };
	HANDLE token = NULL, restricted = NULL;
	bool done = false;

	if (!AllocateAndInitializeSid(&authority, 2, SECURITY_BUILTIN_DOMAIN_RID,
				      DOMAIN_ALIAS_RID_ADMINS, 0, 0, 0, 0, 0, 0, &disabled.Sid)) {
		return error_set_last(err, "not tested: no group of administrators");
	}
	/* The thread first gets a copy of the token of the process, then a restricted copy of
	 * that. */
	if (!ImpersonateSelf(SecurityImpersonation) ||
	    !OpenThreadToken(GetCurrentThread(), TOKEN_ALL_ACCESS, TRUE, &token) ||
	    !CreateRestrictedToken(token, DISABLE_MAX_PRIVILEGE, 1, &disabled, 0, NULL, 0, NULL,
				   &restricted) ||
	    !SetThreadToken(NULL, restricted)) {
		error_set_last(err, "not tested: no token without rights");
	} else {
		run(context);
		done = true;
	}
	RevertToSelf();
	if (restricted) {
		CloseHandle(restricted);
	}
	if (token) {
		CloseHandle(token);
	}
	FreeSid(disabled.Sid);
	return done;
}

/* ---- performance counters ---- */

static const struct {
	const wchar_t *path;
	const char *name;
} counters[KIT_COUNTERS] = {
#define COUNTER(text)         \
	{                     \
		L##text, text \
	}
	[KIT_DISK_READ] = COUNTER("\\PhysicalDisk(_Total)\\Disk Read Bytes/sec"),
	[KIT_DISK_WRITTEN] = COUNTER("\\PhysicalDisk(_Total)\\Disk Write Bytes/sec"),
	[KIT_IO_READ] = COUNTER("\\Process(_Total)\\IO Read Bytes/sec"),
	[KIT_IO_WRITTEN] = COUNTER("\\Process(_Total)\\IO Write Bytes/sec"),
	[KIT_NETWORK_SENT] = COUNTER("\\Network Interface(*)\\Bytes Sent/sec"),
	[KIT_NETWORK_RECEIVED] = COUNTER("\\Network Interface(*)\\Bytes Received/sec"),
#undef COUNTER
};

const char *kit_counter_name(enum kit_counter counter)
{
	return counters[counter].name;
}

struct pdh {
	HMODULE library;
	PDH_STATUS(WINAPI *open)(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *query);
	PDH_STATUS(WINAPI *add)
	(PDH_HQUERY query, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *counter);
	PDH_STATUS(WINAPI *collect)(PDH_HQUERY query);
	PDH_STATUS(WINAPI *raw)
	(PDH_HCOUNTER counter, LPDWORD size, LPDWORD count, PPDH_RAW_COUNTER_ITEM_W items);
	PDH_STATUS(WINAPI *close)(PDH_HQUERY query);
};

/* Finds a function of the DLL by its name. The pointer is copied, because a cast between function
 * pointers causes a warning. */
static bool find_function(const struct pdh *pdh, const char *name, void *function)
{
	FARPROC found = GetProcAddress(pdh->library, name);

	memcpy(function, &found, sizeof found);
	return found != NULL;
}

static bool load_pdh(struct pdh *pdh)
{
	pdh->library = LoadLibraryExW(L"pdh.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
	return pdh->library && find_function(pdh, "PdhOpenQueryW", &pdh->open) &&
	       find_function(pdh, "PdhAddEnglishCounterW", &pdh->add) &&
	       find_function(pdh, "PdhCollectQueryData", &pdh->collect) &&
	       find_function(pdh, "PdhGetRawCounterArrayW", &pdh->raw) &&
	       find_function(pdh, "PdhCloseQuery", &pdh->close);
}

/* Returns the sum over all instances of a counter. */
static struct kit_counter_value raw_sum(const struct pdh *pdh, PDH_HCOUNTER counter)
{
	struct kit_counter_value value = { 0 };
	PDH_RAW_COUNTER_ITEM_W *items;
	DWORD size = 0, count = 0;

	pdh->raw(counter, &size, &count, NULL);
	items = calloc(1, size + 1);
	if (items && size > 0 && pdh->raw(counter, &size, &count, items) == ERROR_SUCCESS) {
		for (DWORD i = 0; i < count; i++) {
			value.bytes += (uint64_t)items[i].RawValue.FirstValue;
		}
		value.known = count > 0;
	}
	free(items);
	return value;
}

bool kit_counters_read(struct kit_counter_value values[KIT_COUNTERS], struct etw_error *err)
{
	PDH_HCOUNTER handles[KIT_COUNTERS] = { 0 };
	struct pdh pdh = { 0 };
	PDH_HQUERY query = NULL;
	bool any = false;

	memset(values, 0, KIT_COUNTERS * sizeof values[0]);
	if (load_pdh(&pdh) && pdh.open(NULL, 0, &query) == ERROR_SUCCESS) {
		for (unsigned i = 0; i < KIT_COUNTERS; i++) {
			if (pdh.add(query, counters[i].path, 0, &handles[i]) != ERROR_SUCCESS) {
				handles[i] = NULL;
			}
		}
		if (pdh.collect(query) == ERROR_SUCCESS) {
			for (unsigned i = 0; i < KIT_COUNTERS; i++) {
				if (handles[i]) {
					values[i] = raw_sum(&pdh, handles[i]);
					any = any || values[i].known;
				}
			}
		}
		pdh.close(query);
	}
	if (pdh.library) {
		FreeLibrary(pdh.library);
	}
	return any || error_set(err, ETW_ERROR_SYSTEM, "this machine has no performance counters");
}

/* ---- child processes ---- */

/* Returns the command line for a program in the system folder, which the caller frees. */
static wchar_t *child_line(const char *program, const char *const *arguments)
{
	wchar_t folder[MAX_PATH];
	UINT size = GetSystemDirectoryW(folder, MAX_PATH);
	char *narrow = size > 0 && size < MAX_PATH ? narrow_from(folder) : NULL;
	struct etw_text path = { 0 };
	struct etw_text line = { 0 };
	wchar_t *wide = NULL;

	text_add_format(&path, "%s\\%s.exe", narrow ? narrow : "", program);
	if (narrow && !path.failed) {
		service_add_argument(&line, path.data);
		for (; *arguments; arguments++) {
			text_add_char(&line, ' ');
			service_add_argument(&line, *arguments);
		}
		wide = line.failed ? NULL : wide_from(line.data);
	}
	text_free(&line);
	text_free(&path);
	free(narrow);
	return wide;
}

bool kit_child(const char *program, const char *const *arguments, uint32_t ms,
	       struct etw_error *err)
{
	wchar_t *line = child_line(program, arguments);
	STARTUPINFOW start = { .cb = sizeof start };
	PROCESS_INFORMATION child;
	DWORD status = 1;
	bool ended;

	if (!line) {
		return error_no_memory(err, "a child process");
	}
	if (!CreateProcessW(NULL, line, NULL, NULL, FALSE, CREATE_NO_WINDOW, NULL, NULL, &start,
			    &child)) {
		error_set_last(err, program);
		free(line);
		return false;
	}
	free(line);
	ended = WaitForSingleObject(child.hProcess, ms) == WAIT_OBJECT_0;
	if (!ended) {
		TerminateProcess(child.hProcess, 1);
		error_set(err, ETW_ERROR_SYSTEM, "%s did not end within %u seconds", program,
			  (unsigned)(ms / 1000));
	} else if (!GetExitCodeProcess(child.hProcess, &status) || status != 0) {
		error_set(err, ETW_ERROR_SYSTEM, "%s ended with status %lu", program,
			  (unsigned long)status);
	}
	CloseHandle(child.hThread);
	CloseHandle(child.hProcess);
	return ended && status == 0;
}

/* ---- the life of a service ---- */

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

#define PROBE_SERVICE L"etw_exporter_probe"
#define EXPORTER      "etw_exporter.exe"

enum { STEP_MS = 15000, LOOK_MS = 100, RESTART_MS = 1000, FAILURE_RESET_S = 60 };

#define NS_PER_MS UINT64_C(1000000)

struct service_cycle {
	SC_HANDLE manager;
	SC_HANDLE service;
	struct etw_text *csv;
	uint64_t step_ns; /* when the step began */
	struct etw_error *err;
};

static SERVICE_STATUS_PROCESS status_of(const struct service_cycle *cycle)
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
static bool end_step(struct service_cycle *cycle, const char *what, bool worked)
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
static bool wait_for_state(const struct service_cycle *cycle, DWORD state, DWORD not_process)
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

static bool kill_process(DWORD id)
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
static bool remove_service(struct service_cycle *cycle)
{
	SERVICE_STATUS status;
	DWORD error;
	bool removed;

	if (ControlService(cycle->service, SERVICE_CONTROL_STOP, &status)) {
		wait_for_state(cycle, SERVICE_STOPPED, 0);
	}
	removed = DeleteService(cycle->service);
	error = GetLastError();
	CloseServiceHandle(cycle->service);
	cycle->service = NULL;
	SetLastError(error);
	return removed;
}

static bool install_service(struct service_cycle *cycle, const wchar_t *line)
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
	return end_step(cycle, "install", cycle->service != NULL) &&
	       end_step(cycle, "restart after a crash",
			ChangeServiceConfig2W(cycle->service, SERVICE_CONFIG_FAILURE_ACTIONS,
					      &failure));
}

static bool run_through_life(struct service_cycle *cycle)
{
	SERVICE_STATUS status;
	DWORD process;
	bool restarted;

	if (!end_step(cycle, "start", StartServiceW(cycle->service, 0, NULL)) ||
	    !end_step(cycle, "runs", wait_for_state(cycle, SERVICE_RUNNING, 0))) {
		return false;
	}
	process = status_of(cycle).dwProcessId;
	if (!end_step(cycle, "kill", kill_process(process))) {
		return false;
	}
	restarted = end_step(cycle, "runs again", wait_for_state(cycle, SERVICE_RUNNING, process));
	if (!restarted) { /* the stop is tried even so */
		StartServiceW(cycle->service, 0, NULL);
		wait_for_state(cycle, SERVICE_RUNNING, process);
	}
	return end_step(cycle, "stop",
			ControlService(cycle->service, SERVICE_CONTROL_STOP, &status)) &&
	       end_step(cycle, "stopped", wait_for_state(cycle, SERVICE_STOPPED, 0)) && restarted;
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
	struct service_cycle cycle = { .csv = csv, .step_ns = os_monotonic_ns(), .err = err };
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
	if (end_step(&cycle, "service manager", cycle.manager != NULL)) {
		done = install_service(&cycle, line) && run_through_life(&cycle);
		if (cycle.service) {
			done = end_step(&cycle, "remove", remove_service(&cycle)) && done;
		}
		CloseServiceHandle(cycle.manager);
	}
	free(line);
	return done;
}
