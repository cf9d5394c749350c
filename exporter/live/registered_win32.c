/* SPDX-License-Identifier: MIT */
/*
 * The list of TdhEnumerateProviders, taken over.
 */
#include "live/registered.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "live/live_internal_win32.h"

#include <tdh.h>

enum { TRIES = 8 /* the list may grow between two calls */ };

static PROVIDER_ENUMERATION_INFO *enumerate(ULONG *size, struct error *err)
{
	PROVIDER_ENUMERATION_INFO *list = NULL;
	ULONG status = ERROR_INSUFFICIENT_BUFFER;
	char words[160];

	*size = 0;
	for (unsigned i = 0; i < TRIES && status == ERROR_INSUFFICIENT_BUFFER; i++) {
		PROVIDER_ENUMERATION_INFO *larger;

		if (*size > 0) {
			larger = realloc(list, *size);
			if (!larger) {
				status = ERROR_NOT_ENOUGH_MEMORY;
				break;
			}
			list = larger;
		}
		status = TdhEnumerateProviders(list, size);
	}
	if (status == ERROR_SUCCESS && list) {
		return list;
	}
	free(list);
	error_set(err, ERROR_SYSTEM, "the registered providers cannot be listed: %s",
		  live_error_text(status, words));
	return NULL;
}

/* The name at an offset of the list; "" when there is none. */
static char *name_at(const PROVIDER_ENUMERATION_INFO *list, ULONG size, ULONG offset)
{
	const WCHAR *name = (const WCHAR *)(const void *)((const uint8_t *)list + offset);
	size_t most = offset < size ? (size - offset) / sizeof *name : 0, length = 0;
	char text[1024] = "";

	while (length < most && name[length] != 0) {
		length++;
	}
	if (offset == 0 || offset % sizeof *name != 0 || length == most ||
	    !live_narrow(name, text, sizeof text)) {
		text[0] = '\0';
	}
	return text_duplicate(text, strlen(text));
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct guid));
}

bool registered_read(struct registered_providers *providers, struct error *err)
{
	struct registered_providers read = { .list = NULL };
	ULONG size;
	PROVIDER_ENUMERATION_INFO *list = enumerate(&size, err);
	size_t header = offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray);

	if (!list) {
		return false;
	}
	if (size < header ||
	    list->NumberOfProviders > (size - header) / sizeof list->TraceProviderInfoArray[0]) {
		error_set(err, ERROR_SYSTEM, "the list of registered providers is cut short");
		goto fail;
	}
	read.list = calloc(list->NumberOfProviders + 1U, sizeof *read.list);
	for (ULONG i = 0; read.list && i < list->NumberOfProviders; i++) {
		const TRACE_PROVIDER_INFO *info = &list->TraceProviderInfoArray[i];
		char *name = name_at(list, size, info->ProviderNameOffset);

		if (!name) {
			registered_done(&read);
			break;
		}
		read.list[read.count++] = (struct registered_provider){
			.guid = live_guid(&info->ProviderGuid),
			.name = name,
			.manifest = info->SchemaSource == 0,
		};
	}
	if (!read.list) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the registered providers");
		goto fail;
	}
	qsort(read.list, read.count, sizeof *read.list, compare);
	free(list);
	*providers = read;
	return true;

fail:
	free(list);
	return false;
}
