/* SPDX-License-Identifier: MIT */
/* The TDH calls that live code uses, answered from a script. */
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 4096 };

struct event {
	GUID provider;
	EVENT_DESCRIPTOR descriptor;
	bool classic;
	void *bytes; /* owned */
	ULONG size;
};

struct map {
	GUID provider;
	WCHAR name[256];
	void *bytes; /* owned */
	ULONG size;
};

struct keyword {
	GUID provider;
	WCHAR name[256];
	uint64_t mask;
};

struct provider {
	GUID guid;
	WCHAR name[256];
	bool manifest;
};

static struct event events[ENTRIES];
static size_t event_count;
static struct map maps[ENTRIES];
static size_t map_count;
static struct keyword keywords[ENTRIES];
static size_t keyword_count;
static struct provider providers[ENTRIES];
static size_t provider_count;

static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size + 1);

	if (!copy) {
		abort();
	}
	memcpy(copy, bytes, size);
	return copy;
}

void fake_tdh_reset(void)
{
	fake_lock();
	while (event_count > 0) {
		free(events[--event_count].bytes);
	}
	while (map_count > 0) {
		free(maps[--map_count].bytes);
	}
	provider_count = 0;
	keyword_count = 0;
	fake_unlock();
}

void fake_etw_tdh_event(const GUID *provider, const EVENT_DESCRIPTOR *descriptor, bool classic,
			const void *information, size_t size)
{
	fake_lock();
	if (event_count == ENTRIES) {
		abort();
	}
	events[event_count++] = (struct event){ *provider, *descriptor, classic,
						copy_of(information, size), (ULONG)size };
	fake_unlock();
}

void fake_etw_tdh_map(const GUID *provider, const char *name, const void *map, size_t size)
{
	fake_lock();
	if (map_count == ENTRIES || !fake_wide_from_utf8(name, maps[map_count].name, 256)) {
		abort();
	}
	maps[map_count].provider = *provider;
	maps[map_count].bytes = copy_of(map, size);
	maps[map_count].size = (ULONG)size;
	map_count++;
	fake_unlock();
}

void fake_etw_tdh_keyword(const GUID *provider, const char *name, uint64_t mask)
{
	fake_lock();
	if (keyword_count == ENTRIES ||
	    !fake_wide_from_utf8(name, keywords[keyword_count].name, 256)) {
		abort();
	}
	keywords[keyword_count].provider = *provider;
	keywords[keyword_count].mask = mask;
	keyword_count++;
	fake_unlock();
}

void fake_etw_tdh_provider(const GUID *provider, const char *name, bool manifest)
{
	fake_lock();
	if (provider_count == ENTRIES ||
	    !fake_wide_from_utf8(name, providers[provider_count].name, 256)) {
		abort();
	}
	providers[provider_count].guid = *provider;
	providers[provider_count].manifest = manifest;
	provider_count++;
	fake_unlock();
}

/* The usual protocol: *size is what there is room for, and becomes what is needed. */
static uint32_t copy_out(const void *bytes, ULONG needed, void *buffer, ULONG *size)
{
	ULONG room = *size;

	*size = needed;
	if (!buffer || room < needed) {
		return ERROR_INSUFFICIENT_BUFFER;
	}
	memcpy(buffer, bytes, needed);
	return 0;
}

static bool same_event(const struct event *event, const EVENT_RECORD *record)
{
	const EVENT_DESCRIPTOR *descriptor = &record->EventHeader.EventDescriptor;
	bool classic = (record->EventHeader.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) != 0;

	if (!fake_guid_equal(&event->provider, &record->EventHeader.ProviderId) ||
	    event->classic != classic || event->descriptor.Version != descriptor->Version) {
		return false;
	}
	return classic ? event->descriptor.Opcode == descriptor->Opcode :
			 event->descriptor.Id == descriptor->Id;
}

ULONG WINAPI TdhGetEventInformation(PEVENT_RECORD record, ULONG context_count,
				    PTDH_CONTEXT contexts, PTRACE_EVENT_INFO buffer, ULONG *size)
{
	uint32_t error = fake_enter(CALL_TdhGetEventInformation);

	if (error == 0 && (!record || !size || (context_count > 0 && !contexts))) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		error = ERROR_NOT_FOUND;
		for (size_t i = 0; i < event_count; i++) {
			if (same_event(&events[i], record)) {
				error = copy_out(events[i].bytes, events[i].size, buffer, size);
				break;
			}
		}
	}
	fake_unlock();
	return error;
}

ULONG WINAPI TdhGetEventMapInformation(PEVENT_RECORD record, LPWSTR name, PEVENT_MAP_INFO buffer,
				       ULONG *size)
{
	uint32_t error = fake_enter(CALL_TdhGetEventMapInformation);

	if (error == 0 && (!record || !name || !size)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		error = ERROR_NOT_FOUND;
		for (size_t i = 0; i < map_count; i++) {
			if (fake_guid_equal(&maps[i].provider, &record->EventHeader.ProviderId) &&
			    fake_wide_equal(maps[i].name, name)) {
				error = copy_out(maps[i].bytes, maps[i].size, buffer, size);
				break;
			}
		}
	}
	fake_unlock();
	return error;
}

const TRACE_EVENT_INFO *fake_tdh_information(const GUID *provider, uint16_t id, uint8_t version)
{
	for (size_t i = 0; i < event_count; i++) {
		if (!events[i].classic && fake_guid_equal(&events[i].provider, provider) &&
		    events[i].descriptor.Id == id && events[i].descriptor.Version == version) {
			return events[i].bytes;
		}
	}
	return NULL;
}

/* The descriptors of all events that a test described. */
static uint32_t enumerate_events(const GUID *provider, PPROVIDER_EVENT_INFO buffer, ULONG *size)
{
	PROVIDER_EVENT_INFO *list = calloc(1, sizeof *list + sizeof events);
	size_t header = offsetof(PROVIDER_EVENT_INFO, EventDescriptorsArray);
	uint32_t error = ERROR_NOT_FOUND;

	if (!list) {
		abort();
	}
	for (size_t i = 0; i < event_count; i++) {
		if (!events[i].classic && fake_guid_equal(&events[i].provider, provider)) {
			list->EventDescriptorsArray[list->NumberOfEvents++] = events[i].descriptor;
		}
	}
	if (list->NumberOfEvents > 0) {
		error = copy_out(list,
				 (ULONG)(header + list->NumberOfEvents * sizeof(EVENT_DESCRIPTOR)),
				 buffer, size);
	}
	free(list);
	return error;
}

ULONG WINAPI TdhEnumerateManifestProviderEvents(LPGUID provider, PPROVIDER_EVENT_INFO buffer,
						ULONG *size)
{
	uint32_t error = fake_enter(CALL_TdhEnumerateManifestProviderEvents);

	if (error == 0 && (!provider || !size)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		error = enumerate_events(provider, buffer, size);
	}
	fake_unlock();
	return error;
}

static uint32_t enumerate(PPROVIDER_ENUMERATION_INFO buffer, ULONG *size)
{
	size_t header = offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray);
	size_t names = header + provider_count * sizeof(TRACE_PROVIDER_INFO);
	size_t total = names;
	uint8_t *bytes;
	uint32_t error;
	PROVIDER_ENUMERATION_INFO *information;

	for (size_t i = 0; i < provider_count; i++) {
		total += (fake_wide_length(providers[i].name) + 1) * sizeof(WCHAR);
	}
	bytes = calloc(1, total < sizeof(*information) ? sizeof(*information) : total);
	if (!bytes) {
		abort();
	}
	information = (PROVIDER_ENUMERATION_INFO *)(void *)bytes;
	information->NumberOfProviders = (ULONG)provider_count;
	for (size_t i = 0; i < provider_count; i++) {
		TRACE_PROVIDER_INFO one = { providers[i].guid, providers[i].manifest ? 0 : 1,
					    (ULONG)names };
		size_t length = (fake_wide_length(providers[i].name) + 1) * sizeof(WCHAR);

		memcpy(bytes + header + i * sizeof(one), &one, sizeof(one));
		memcpy(bytes + names, providers[i].name, length);
		names += length;
	}
	error = copy_out(bytes, (ULONG)total, buffer, size);
	free(bytes);
	return error;
}

ULONG WINAPI TdhEnumerateProviders(PPROVIDER_ENUMERATION_INFO buffer, ULONG *size)
{
	uint32_t error = fake_enter(CALL_TdhEnumerateProviders);

	if (error == 0 && !size) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		error = enumerate(buffer, size);
	}
	fake_unlock();
	return error;
}

ULONG WINAPI TdhGetManifestEventInformation(LPGUID provider, PEVENT_DESCRIPTOR descriptor,
					    PTRACE_EVENT_INFO buffer, ULONG *size)
{
	uint32_t error = fake_enter(CALL_TdhGetManifestEventInformation);

	if (error == 0 && (!provider || !descriptor || !size)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		EVENT_RECORD record = { .EventHeader = { .ProviderId = *provider,
							 .EventDescriptor = *descriptor } };

		error = ERROR_NOT_FOUND;
		for (size_t i = 0; i < event_count; i++) {
			if (same_event(&events[i], &record)) {
				error = copy_out(events[i].bytes, events[i].size, buffer, size);
				break;
			}
		}
	}
	fake_unlock();
	return error;
}

/* The keywords of a provider; the fake knows no other fields. */
static uint32_t enumerate_keywords(const GUID *provider, PPROVIDER_FIELD_INFOARRAY buffer,
				   ULONG *size)
{
	size_t header = offsetof(PROVIDER_FIELD_INFOARRAY, FieldInfoArray);
	size_t count = 0, names, total;
	PROVIDER_FIELD_INFOARRAY *list;
	uint32_t error;

	for (size_t i = 0; i < keyword_count; i++) {
		count += fake_guid_equal(&keywords[i].provider, provider);
	}
	if (count == 0) {
		return ERROR_NOT_FOUND;
	}
	names = header + count * sizeof list->FieldInfoArray[0];
	total = names + count * sizeof keywords[0].name;
	list = calloc(1, total);
	if (!list) {
		abort();
	}
	list->FieldType = EventKeywordInformation;
	for (size_t i = 0; i < keyword_count; i++) {
		if (fake_guid_equal(&keywords[i].provider, provider)) {
			size_t length = (fake_wide_length(keywords[i].name) + 1) * sizeof(WCHAR);

			list->FieldInfoArray[list->NumberOfElements++] =
				(PROVIDER_FIELD_INFO){ .NameOffset = (ULONG)names,
						       .Value = keywords[i].mask };
			memcpy((uint8_t *)list + names, keywords[i].name, length);
			names += length;
		}
	}
	error = copy_out(list, (ULONG)names, buffer, size);
	free(list);
	return error;
}

ULONG WINAPI TdhEnumerateProviderFieldInformation(LPGUID provider, EVENT_FIELD_TYPE field_type,
						  PPROVIDER_FIELD_INFOARRAY buffer, ULONG *size)
{
	uint32_t error = fake_enter(CALL_TdhEnumerateProviderFieldInformation);

	if (error == 0 && (!provider || !size)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		error = field_type == EventKeywordInformation ?
				enumerate_keywords(provider, buffer, size) :
				ERROR_NOT_FOUND;
	}
	fake_unlock();
	return error;
}

IMPORTED(TdhGetEventInformation);
IMPORTED(TdhGetEventMapInformation);
IMPORTED(TdhGetManifestEventInformation);
IMPORTED(TdhEnumerateManifestProviderEvents);
IMPORTED(TdhEnumerateProviders);
IMPORTED(TdhEnumerateProviderFieldInformation);
