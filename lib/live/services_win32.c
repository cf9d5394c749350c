/* SPDX-License-Identifier: MIT */
/*
 * Reads which services run in which process, from the service control manager.
 *
 * Threads of a process that hosts several services differ by their tags, and only
 * I_QueryTagInformation() lists the tags of services. It is an undocumented function whose argument
 * layout is known, so it is looked up by name at run time; without it the services of such a
 * process stay unknown. The only service of a process needs no tag: all threads of the process that
 * have one work for it.
 *
 * Source: "EnumServicesStatusExW function", "ENUM_SERVICE_STATUS_PROCESSW structure", Microsoft
 * Learn; winsiderss/systeminformer phnt/include/subprocesstag.h.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/live/live_source_internal_win32.h"

#include <winsvc.h>

enum {
	LIST_BYTES = 256 * 1024, /* the most bytes that one call returns */
	CALLS_MOST = 32,
	NAME_MOST = 256, /* characters of a service's name ("CreateServiceW function") */
	TAGS_MOST = 1024,
	SERVICES_MOST = 4096,
};

struct service {
	uint32_t process_id;
	char name[3 * NAME_MOST + 1];
};

struct services {
	struct service *list; /* owned; SERVICES_MOST */
	size_t count;
};

/* Converts a text, which must end inside the answer, to UTF-8. */
static bool text_in(const void *answer, size_t size, const WCHAR *text, char *out, size_t out_size)
{
	uintptr_t at = (uintptr_t)text, begin = (uintptr_t)answer;
	size_t units, length = 0;

	if (at < begin || at - begin >= size) {
		return false;
	}
	units = (size - (at - begin)) / sizeof *text;
	while (length < units && text[length] != 0) {
		length++;
	}
	return length < units && length > 0 && live_narrow(text, out, out_size);
}

static void take_services(struct services *services, const void *answer, DWORD count)
{
	for (DWORD i = 0; i < count && services->count < SERVICES_MOST &&
			  i < LIST_BYTES / sizeof(ENUM_SERVICE_STATUS_PROCESSW);
	     i++) {
		struct service *service = &services->list[services->count];
		ENUM_SERVICE_STATUS_PROCESSW entry;

		memcpy(&entry, (const char *)answer + i * sizeof entry, sizeof entry);
		service->process_id = entry.ServiceStatusProcess.dwProcessId;
		if (service->process_id != 0 && text_in(answer, LIST_BYTES, entry.lpServiceName,
							service->name, sizeof service->name)) {
			services->count++;
		}
	}
}

static bool list_services(SC_HANDLE manager, void *answer, struct services *services)
{
	DWORD resume = 0;

	for (unsigned i = 0; i < CALLS_MOST; i++) {
		DWORD needed = 0, count = 0;
		BOOL done = EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32,
						  SERVICE_ACTIVE, answer, LIST_BYTES, &needed,
						  &count, &resume, NULL);

		if (!done && GetLastError() != ERROR_MORE_DATA) {
			return false;
		}
		take_services(services, answer, count);
		if (done) {
			return true;
		}
	}
	return false;
}

static void add_service(struct machine *machine, uint32_t process_id, uint32_t tag, char *name)
{
	machine_add(machine,
		    &(struct machine_fact){
			    .type = MACHINE_SERVICE, .id = process_id, .part = tag, .text = name });
}

/* ---- tags ---- */

enum { NAME_TAG_MAPPING = 3, TAG_OF_SERVICE = 1 };

struct tag_element {
	ULONG type;
	ULONG tag;
	const WCHAR *name;
	const WCHAR *group;
};

struct tag_list {
	ULONG count;
	const struct tag_element *elements;
};

struct tag_query {
	ULONG process_id;
	struct tag_list *list; /* of LocalAlloc() */
};

typedef ULONG WINAPI query_tags(const WCHAR *machine, ULONG level, void *query);

/* Returns NULL if this Windows lacks the function. */
static query_tags *find_query_tags(void)
{
	static const WCHAR name[] = {
		'a', 'd', 'v', 'a', 'p', 'i', '3', '2', '.', 'd', 'l', 'l', 0
	};
	HMODULE module = GetModuleHandleW(name);

	return module ? (query_tags *)(void (*)(void))GetProcAddress(module,
								     "I_QueryTagInformation") :
			NULL;
}

static void add_tagged_services(struct machine *machine, query_tags *call, uint32_t process_id)
{
	struct tag_query query = { .process_id = process_id };
	char name[3 * NAME_MOST + 1];

	if (!call || call(NULL, NAME_TAG_MAPPING, &query) != ERROR_SUCCESS || !query.list) {
		return;
	}
	for (ULONG i = 0; query.list->elements && i < query.list->count && i < TAGS_MOST; i++) {
		const struct tag_element *element = &query.list->elements[i];

		if (element->type == TAG_OF_SERVICE && element->tag != 0 && element->name &&
		    live_narrow(element->name, name, sizeof name)) {
			add_service(machine, process_id, element->tag, name);
		}
	}
	LocalFree(query.list);
}

/* ---- reading ---- */

static int by_process(const void *a, const void *b)
{
	const struct service *first = a, *second = b;

	return first->process_id < second->process_id ? -1 : first->process_id > second->process_id;
}

static void add_services(struct machine *machine, struct services *services)
{
	query_tags *call = find_query_tags();
	size_t end;

	qsort(services->list, services->count, sizeof *services->list, by_process);
	for (size_t i = 0; i < services->count; i = end) {
		struct service *first = &services->list[i];

		for (end = i + 1; end < services->count &&
				  services->list[end].process_id == first->process_id;) {
			end++;
		}
		if (end == i + 1) {
			add_service(machine, first->process_id, 0, first->name);
		} else {
			add_tagged_services(machine, call, first->process_id);
		}
	}
}

bool machine_read_services(struct machine *machine)
{
	SC_HANDLE manager =
		OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE);
	struct services services = { .list = calloc(SERVICES_MOST, sizeof *services.list) };
	void *answer = calloc(1, LIST_BYTES);
	bool done = manager && services.list && answer && list_services(manager, answer, &services);

	if (done) {
		add_services(machine, &services);
	}
	if (manager) {
		CloseServiceHandle(manager);
	}
	free(services.list);
	free(answer);
	return done;
}
