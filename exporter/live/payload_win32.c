/* SPDX-License-Identifier: MIT */
/*
 * Filters by fields of the payload: what the configuration says, made into the one filter for each
 * provider that EnableTraceEx2() takes.
 *
 * TDH makes a filter for one version of an event, with the manifest that is installed on the
 * machine; so every version that the manifest has gets one, and a provider without manifest cannot
 * be filtered. That events without a filter of their own are let through is expected, not
 * documented.
 *
 * Source: "TdhCreatePayloadFilter function", "TdhAggregatePayloadFilters function",
 * "TdhEnumerateManifestProviderEvents function", Microsoft Learn.
 */
#include <stdlib.h>
#include <string.h>

#include "live/live_internal_win32.h"

enum {
	TRIES = 4, /* what is needed may grow between two calls */
	EVENTS_SIZE_MOST = 4 << 20,
	PARTS_MAX = 256,  /* filters of one provider, before they are put together */
	VALUE_MAX = 1024, /* UTF-16 units of a field's name or value, the end included */
};

/* The filters of one provider, as they come. */
struct parts {
	PVOID filters[PARTS_MAX];
	ULONG count;
	ULONG refused; /* what Windows said to the first that it refused, or ERROR_SUCCESS */
};

static void refuse(struct parts *parts, ULONG status)
{
	if (parts->refused == ERROR_SUCCESS) {
		parts->refused = status;
	}
}

/* What the provider's manifest says of its events; owned by the caller. NULL: *status says why. */
static PROVIDER_EVENT_INFO *ask_events(const struct provider_spec *provider, ULONG *status)
{
	GUID guid = live_windows_guid(&provider->guid);
	PROVIDER_EVENT_INFO *events = NULL;
	ULONG size = 0;

	*status = ERROR_INSUFFICIENT_BUFFER;
	for (unsigned i = 0; i < TRIES && *status == ERROR_INSUFFICIENT_BUFFER; i++) {
		free(events);
		events = NULL;
		if (size > 0) {
			events = size <= EVENTS_SIZE_MOST ? malloc(size) : NULL;
			if (!events) {
				*status = ERROR_NOT_ENOUGH_MEMORY;
				return NULL;
			}
		}
		*status = TdhEnumerateManifestProviderEvents(&guid, events, &size);
	}
	if (*status == ERROR_SUCCESS && events) {
		return events;
	}
	free(events);
	return NULL;
}

/* Texts of one filter, as Windows wants them. */
struct predicates {
	PAYLOAD_FILTER_PREDICATE list[PAYLOAD_CONDITIONS_MAX];
	WCHAR fields[PAYLOAD_CONDITIONS_MAX][VALUE_MAX];
	WCHAR values[PAYLOAD_CONDITIONS_MAX][VALUE_MAX];
};

static bool fill_predicates(struct predicates *predicates, const struct payload_filter *filter)
{
	for (size_t i = 0; i < filter->condition_count; i++) {
		const struct payload_condition *condition = &filter->conditions[i];

		if (!live_wide(condition->field, predicates->fields[i], VALUE_MAX) ||
		    !live_wide(condition->value, predicates->values[i], VALUE_MAX)) {
			return false;
		}
		predicates->list[i] =
			(PAYLOAD_FILTER_PREDICATE){ .FieldName = predicates->fields[i],
						    .CompareOp = (USHORT)condition->op,
						    .Value = predicates->values[i] };
	}
	return true;
}

static void add_filter(struct parts *parts, const struct provider_spec *provider,
		       const struct payload_filter *filter, const PROVIDER_EVENT_INFO *events,
		       struct predicates *predicates)
{
	GUID guid = live_windows_guid(&provider->guid);
	bool found = false;

	if (!fill_predicates(predicates, filter)) {
		refuse(parts, ERROR_BAD_LENGTH);
		return;
	}
	for (ULONG i = 0; i < events->NumberOfEvents; i++) {
		const EVENT_DESCRIPTOR *event = &events->EventDescriptorsArray[i];
		ULONG status;

		if (event->Id != filter->event) {
			continue;
		}
		found = true;
		if (parts->count == PARTS_MAX) {
			refuse(parts, ERROR_INSUFFICIENT_BUFFER);
			return;
		}
		status = TdhCreatePayloadFilter(&guid, event, filter->any,
						(ULONG)filter->condition_count, predicates->list,
						&parts->filters[parts->count]);
		if (status == ERROR_SUCCESS) {
			parts->count++;
		} else {
			refuse(parts, status);
		}
	}
	if (!found) {
		refuse(parts, ERROR_NOT_FOUND);
	}
}

static bool prepare(struct live *live, const struct provider_spec *provider,
		    EVENT_FILTER_DESCRIPTOR *filter)
{
	struct predicates *predicates = malloc(sizeof *predicates);
	struct parts parts = { .refused = ERROR_SUCCESS };
	PROVIDER_EVENT_INFO *events;
	ULONG status;

	if (!predicates) {
		return false;
	}
	events = ask_events(provider, &status);
	if (!events) {
		enable_complain(live, provider,
				"its events are not filtered by their payload: Windows tells no "
				"manifest of it",
				status);
		free(predicates);
		return true;
	}
	for (size_t i = 0; i < provider->payload_count; i++) {
		add_filter(&parts, provider, &provider->payload[i], events, predicates);
	}
	if (parts.count > 0) {
		status = TdhAggregatePayloadFilters(parts.count, parts.filters, NULL, filter);
		if (status != ERROR_SUCCESS) {
			*filter = (EVENT_FILTER_DESCRIPTOR){ 0 };
			refuse(&parts, status);
		}
	}
	enable_complain(live, provider,
			parts.count > 0 && filter->Ptr != 0 ?
				"some of its events are not filtered by their payload" :
				"its events are not filtered by their payload",
			parts.refused);
	while (parts.count > 0) {
		TdhDeletePayloadFilter(&parts.filters[--parts.count]);
	}
	free(events);
	free(predicates);
	return true;
}

bool filter_prepare(struct live *live)
{
	live->payloads = calloc(live->provider_count + 1, sizeof *live->payloads);
	if (!live->payloads) {
		return false;
	}
	for (size_t i = 0; i < live->provider_count; i++) {
		if (live->providers[i].payload_count > 0 &&
		    !prepare(live, &live->providers[i], &live->payloads[i].filter)) {
			return false;
		}
	}
	return true;
}

void filter_done(struct live *live)
{
	for (size_t i = 0; live->payloads && i < live->provider_count; i++) {
		if (live->payloads[i].filter.Ptr != 0) {
			TdhCleanupPayloadEventFilterDescriptor(&live->payloads[i].filter);
		}
	}
	free(live->payloads);
	live->payloads = NULL;
}

static struct live_payload *payload_of(struct live *live, const struct provider_spec *provider)
{
	return &live->payloads[provider - live->providers];
}

bool filter_of(struct live *live, const struct provider_spec *provider,
	       EVENT_FILTER_DESCRIPTOR *filter)
{
	const struct live_payload *payload = payload_of(live, provider);
	bool refused;

	os_mutex_lock(&live->lock);
	refused = payload->refused;
	os_mutex_unlock(&live->lock);
	if (refused || payload->filter.Ptr == 0) {
		return false;
	}
	*filter = payload->filter;
	return true;
}

bool filter_give_up(struct live *live, const struct provider_spec *provider)
{
	struct live_payload *payload = payload_of(live, provider);
	bool first;

	os_mutex_lock(&live->lock);
	first = !payload->refused;
	payload->refused = true;
	os_mutex_unlock(&live->lock);
	return first;
}
