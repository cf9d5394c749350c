/* SPDX-License-Identifier: MIT */
/*
 * The services that run on the machine, as the service control manager lists them, and the numbers
 * in its registry.
 *
 * Under Windows the rest of the program calls these functions too: what is not opened to list
 * services, and keys that no test has set, go to the real functions.
 */
#define _ADVAPI32_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { SERVICES = 4096, NAME = 300, NUMBERS = 8, LIST_MOST = 256 * 1024, TAG_MAPPING = 3 };

struct service {
	WCHAR name[NAME];
	uint32_t pid;
	uint32_t tag;
};

struct number {
	WCHAR key[NAME];
	WCHAR value[NAME];
	uint32_t number;
};

static struct service services[SERVICES];
static size_t service_count;
static struct number numbers[NUMBERS];
static size_t number_count;
static char manager; /* its address is the handle */
#ifndef _WIN32
static char kernel; /* likewise, of ntdll.dll */
#endif

void fake_services_reset(void)
{
	service_count = 0;
	number_count = 0;
	if (fake.options.container) {
		numbers[number_count++] =
			(struct number){ .key = u"SYSTEM\\CurrentControlSet\\Control",
					 .value = u"ContainerType",
					 .number = 1 };
	}
}

/* Of processes that no recording has. */
void fake_services_change(unsigned look)
{
	service_count = look % 4;
	for (size_t i = 0; i < service_count; i++) {
		services[i] = (struct service){ .pid = 0x70000000 + look % 3, .tag = 1 + look % 2 };
		fake_wide_from_utf8(look % 5 ? "Restless" : "Service", services[i].name, NAME);
	}
}

void fake_etw_add_service(const char *name, uint32_t pid, uint32_t tag)
{
	struct service *service;

	fake_lock();
	if (service_count == SERVICES) {
		abort();
	}
	service = &services[service_count++];
	service->pid = pid;
	service->tag = tag;
	if (!fake_wide_from_utf8(name, service->name, NAME)) {
		abort();
	}
	fake_unlock();
}

void fake_etw_remove_service(const char *name)
{
	WCHAR wide[NAME];

	if (!fake_wide_from_utf8(name, wide, NAME)) {
		abort();
	}
	fake_lock();
	for (size_t i = service_count; i > 0; i--) {
		if (fake_wide_equal(services[i - 1].name, wide)) {
			memmove(&services[i - 1], &services[i],
				(service_count - i) * sizeof services[0]);
			service_count--;
		}
	}
	fake_unlock();
}

void fake_etw_set_registry(const char *key, const char *value, uint32_t number)
{
	struct number *entry;

	fake_lock();
	if (number_count == NUMBERS) {
		abort();
	}
	entry = &numbers[number_count++];
	entry->number = number;
	if (!fake_wide_from_utf8(key, entry->key, NAME) ||
	    !fake_wide_from_utf8(value, entry->value, NAME)) {
		abort();
	}
	fake_unlock();
}

#ifdef _WIN32
/* The real function behind a name that is ours here. */
typedef void any_function(void);

static any_function *real(const char *name)
{
	return (any_function *)GetProcAddress(LoadLibraryA("advapi32.dll"), name);
}
#endif

/* ---- the service control manager ---- */

SC_HANDLE WINAPI OpenSCManagerW(LPCWSTR machine, LPCWSTR database, DWORD access)
{
	uint32_t error;

	if (access != (SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE)) {
#ifdef _WIN32
		typedef SC_HANDLE(WINAPI * open)(LPCWSTR, LPCWSTR, DWORD);

		return ((open)real("OpenSCManagerW"))(machine, database, access);
#else
		SetLastError(ERROR_NOT_SUPPORTED);
		return NULL;
#endif
	}
	error = fake_enter(CALL_OpenSCManagerW);
	if (error == 0 && (machine || database)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		fake.handles++;
	}
	return fake_leave(error) ? (SC_HANDLE)(void *)&manager : NULL;
}

BOOL WINAPI CloseServiceHandle(SC_HANDLE handle)
{
	if ((void *)handle != (void *)&manager) {
#ifdef _WIN32
		typedef BOOL(WINAPI * close)(SC_HANDLE);

		return ((close)real("CloseServiceHandle"))(handle);
#else
		SetLastError(ERROR_INVALID_HANDLE);
		return FALSE;
#endif
	}
	fake_lock();
	fake.handles--;
	return fake_leave(0);
}

static DWORD bytes_of(const struct service *service)
{
	return (DWORD)(sizeof(ENUM_SERVICE_STATUS_PROCESSW) +
		       2 * (fake_wide_length(service->name) + 1) * sizeof(WCHAR));
}

static bool shares_process(const struct service *service)
{
	for (size_t i = 0; i < service_count; i++) {
		if (&services[i] != service && services[i].pid == service->pid) {
			return true;
		}
	}
	return false;
}

/* Structures from the start, their texts from the end. */
static void put_service(const struct service *service, LPBYTE out, DWORD index, DWORD *end)
{
	ENUM_SERVICE_STATUS_PROCESSW entry = { 0 };
	DWORD name_size = (DWORD)(fake_wide_length(service->name) + 1) * sizeof(WCHAR);

	*end -= name_size;
	memcpy(out + *end, service->name, name_size);
	entry.lpServiceName = (LPWSTR)(void *)(out + *end);
	*end -= name_size;
	memcpy(out + *end, service->name, name_size);
	entry.lpDisplayName = (LPWSTR)(void *)(out + *end);
	entry.ServiceStatusProcess.dwServiceType =
		shares_process(service) ? SERVICE_WIN32_SHARE_PROCESS : SERVICE_WIN32_OWN_PROCESS;
	entry.ServiceStatusProcess.dwCurrentState = SERVICE_RUNNING;
	entry.ServiceStatusProcess.dwProcessId = service->pid;
	memcpy(out + index * sizeof entry, &entry, sizeof entry);
}

BOOL WINAPI EnumServicesStatusExW(SC_HANDLE handle, SC_ENUM_TYPE level, DWORD type, DWORD state,
				  LPBYTE out, DWORD size, LPDWORD needed, LPDWORD count,
				  LPDWORD resume, LPCWSTR group)
{
	uint32_t error = fake_enter(CALL_EnumServicesStatusExW);
	DWORD at, used = 0, end = size & ~(DWORD)7;

	if (error == 0 && (void *)handle != (void *)&manager) {
		error = ERROR_INVALID_HANDLE;
	} else if (error == 0 &&
		   (level != SC_ENUM_PROCESS_INFO || (type & SERVICE_WIN32) != SERVICE_WIN32 ||
		    state != SERVICE_ACTIVE || group || !resume || size > LIST_MOST)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error != 0) {
		return fake_leave(error);
	}
	*needed = 0;
	*count = 0;
	at = *resume;
	while (at < service_count && out && bytes_of(&services[at]) <= (size & ~7u) - used) {
		put_service(&services[at], out, *count, &end);
		used += bytes_of(&services[at++]);
		++*count;
	}
	*resume = at < service_count ? at : 0;
	for (; at < service_count; at++) {
		*needed += bytes_of(&services[at]);
	}
	return fake_leave(*needed > 0 ? ERROR_MORE_DATA : 0);
}

#ifndef _WIN32
/* ---- tags; found by name only, so natively only ---- */

/* The layouts of System Informer, phnt/include/subprocesstag.h. */
struct tag_element {
	ULONG type;
	ULONG tag;
	PWSTR name;
	PWSTR group;
};

struct tag_list {
	ULONG count;
	struct tag_element *elements;
	struct tag_element room[];
};

struct tag_query {
	ULONG pid;
	struct tag_list *list; /* for LocalFree() */
};

static ULONG WINAPI I_QueryTagInformation(PCWSTR machine, ULONG level, PVOID information)
{
	uint32_t error = fake_enter(CALL_I_QueryTagInformation);
	struct tag_query *query = information;
	size_t count = 0, at = 0, bytes;
	WCHAR *text;

	if (error == 0 && (machine || level != TAG_MAPPING)) {
		error = ERROR_INVALID_PARAMETER;
	}
	for (size_t i = 0; i < service_count; i++) {
		count += services[i].pid == query->pid;
	}
	if (error == 0 && count == 0) {
		error = ERROR_SERVICE_NOT_ACTIVE;
	}
	if (error == 0) {
		bytes = sizeof *query->list + count * sizeof(struct tag_element);
		query->list = calloc(1, bytes + count * NAME * sizeof(WCHAR));
		if (!query->list) {
			abort();
		}
		text = (WCHAR *)(void *)((char *)query->list + bytes);
		query->list->count = (ULONG)count;
		query->list->elements = query->list->room;
		for (size_t i = 0; i < service_count; i++) {
			if (services[i].pid != query->pid) {
				continue;
			}
			memcpy(text, services[i].name, sizeof services[i].name);
			query->list->room[at++] = (struct tag_element){ .type = 1,
									.tag = services[i].tag,
									.name = text };
			text += NAME;
		}
	}
	fake_unlock();
	return error;
}

PVOID WINAPI LocalFree(PVOID memory)
{
	free(memory);
	return NULL;
}

HMODULE WINAPI GetModuleHandleW(LPCWSTR name)
{
	return fake_wide_equal(name, u"advapi32.dll") ? (HMODULE)(void *)&manager :
	       fake_wide_equal(name, u"ntdll.dll")    ? (HMODULE)(void *)&kernel :
							   NULL;
}

FARPROC WINAPI GetProcAddress(HMODULE module, LPCSTR name)
{
	if ((void *)module == (void *)&kernel && strcmp(name, "NtQuerySystemInformation") == 0) {
		return (FARPROC)(void (*)(void))fake_machine_query_system;
	}
	return (void *)module == (void *)&manager && strcmp(name, "I_QueryTagInformation") == 0 ?
		       (FARPROC)(void (*)(void))I_QueryTagInformation :
		       NULL;
}
#endif

/* ---- the registry ---- */

LSTATUS WINAPI RegGetValueW(HKEY key, LPCWSTR sub_key, LPCWSTR value, DWORD flags, LPDWORD type,
			    PVOID data, LPDWORD size)
{
	uint32_t error = fake_enter(CALL_RegGetValueW);
	const struct number *found = NULL;

	for (size_t i = 0; key == HKEY_LOCAL_MACHINE && !found && i < number_count; i++) {
		if (fake_wide_equal(numbers[i].key, sub_key) &&
		    fake_wide_equal(numbers[i].value, value)) {
			found = &numbers[i];
		}
	}
	if (error == 0 && found && (!(flags & RRF_RT_REG_DWORD) || !data != !size)) {
		fake_refuse("RegGetValueW", "anything but numbers");
		error = ERROR_NOT_SUPPORTED;
	} else if (error == 0 && found && data && *size < sizeof found->number) {
		error = ERROR_MORE_DATA;
	} else if (error == 0 && found && data) {
		memcpy(data, &found->number, sizeof found->number);
		*size = sizeof found->number;
		if (type) {
			*type = REG_DWORD;
		}
	}
	fake_unlock();
	if (error == 0 && !found) {
#ifdef _WIN32
		typedef LSTATUS(WINAPI * get)(HKEY, LPCWSTR, LPCWSTR, DWORD, LPDWORD, PVOID,
					      LPDWORD);

		return ((get)real("RegGetValueW"))(key, sub_key, value, flags, type, data, size);
#else
		error = ERROR_FILE_NOT_FOUND;
#endif
	}
	return (LSTATUS)error;
}

IMPORTED(OpenSCManagerW);
IMPORTED(CloseServiceHandle);
IMPORTED(EnumServicesStatusExW);
IMPORTED(RegGetValueW);
