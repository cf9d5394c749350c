/* SPDX-License-Identifier: MIT */
/*
 * The providers of a session: finding them by name, enabling them with their filters, capturing
 * their state.
 *
 * A provider emits only events that its enabled keywords allow, and this includes its state. To
 * capture state, the keywords of the state are therefore enabled as well, the state is requested,
 * and then the provider is enabled again without these keywords.
 *
 * A filter by fields of the payload is made once, when the session is opened. TDH makes such a
 * filter for one version of an event, from the manifest that is installed on the machine. So every
 * version in the manifest gets a filter, and a provider without a manifest cannot be filtered.
 * EnableTraceEx2() takes one filter for each provider, so all filters of a provider are aggregated.
 * Events without a filter of their own are expected to pass; this is not documented. A filter that
 * Windows refuses is left out from then on, because too many events are better than none.
 *
 * Source: "EnableTraceEx2 function", "EVENT_FILTER_DESCRIPTOR structure", "TdhCreatePayloadFilter
 * function", "TdhAggregatePayloadFilters function", "TdhEnumerateManifestProviderEvents function",
 * Microsoft Learn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/session.h>

#include "base/nearest.h"
#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"
#include "lib/live/session_changes.h"
#include "lib/source/provider_names.h"

enum {
	FILTERS_MAX = 6,
	NO_WAIT = 0, /* do not wait for the callbacks of providers */
	CAPTURE_LEAST_MS = 1000,
	/* State that is captured at the stop must be written before it. */
	CAPTURE_AT_STOP_MS = 10000,
	ARGUMENTS_WAIT_MS = 1000,
	RUNDOWN_KEYWORD = 0x10, /* names of files */
};

/* Microsoft-Windows-Kernel rundown: the names of files that are open (observed in System Informer,
 * plugins/ExtendedTools/etwmon.c). */
static const GUID rundown_provider = {
	0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
};

/* ---- names ---- */

/* Finds the GUID of a provider that is registered. If there is none, the error suggests the most
 * similar name. */
static bool registered_guid(const struct live *live, const char *name, struct etw_guid *guid,
			    struct etw_error *err)
{
	struct etw_registered_providers providers = { .list = NULL };
	struct nearest nearest = { .word = name, .size = strlen(name) };
	bool found = false;

	if (etw_registered_read(&providers, NULL)) {
		for (size_t i = 0; i < providers.count && !found; i++) {
			const char *known = providers.list[i].name;

			found = text_equal_nocase(known, strlen(known), name, strlen(name));
			if (found) {
				*guid = providers.list[i].guid;
			}
			nearest_offer(&nearest, known);
		}
	}
	if (!found) {
		error_set(err, ETW_ERROR_CONFIG,
			  "session %s: no provider called '%s' is registered; %s%s%s", live->name,
			  name, nearest.best ? "did you mean '" : "give its GUID",
			  nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
	}
	etw_registered_done(&providers);
	return found;
}

static bool wide_executables(const struct etw_provider_spec *provider,
			     WCHAR names[ETW_PROVIDER_EXECUTABLES_MAX + 1])
{
	return live_wide(provider->executables, names, ETW_PROVIDER_EXECUTABLES_MAX + 1);
}

/* Reports that an earlier entry of the list is the same provider, by its name or by its GUID:
 * Windows uses the settings of the later call ("EnableTraceEx2 function"). */
static void report_repeated(const struct live *live, const struct provider_list *list, size_t index)
{
	char first[GUID_TEXT_SIZE + 2], second[GUID_TEXT_SIZE + 2];

	for (size_t i = 0; i < index; i++) {
		if (etw_guid_equal(&list->providers[i].guid, &list->providers[index].guid)) {
			live_report(
				live, ETW_SESSION_PROVIDER_FAILED,
				"provider %s is the same as %s: only the settings of the latter "
				"are used",
				etw_provider_spec_label(&list->providers[i], first),
				etw_provider_spec_label(&list->providers[index], second));
			return;
		}
	}
}

static bool resolve(const struct live *live, struct provider_list *list, struct etw_error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct etw_provider_spec *provider = &list->providers[i];
		WCHAR executables[ETW_PROVIDER_EXECUTABLES_MAX + 1];
		char label[GUID_TEXT_SIZE + 2];

		/* Without this filter, the events of every program would be delivered. */
		if (provider->executables && !wide_executables(provider, executables)) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "session %s: provider %s: the names of its executables "
					 "have more than %d characters",
					 live->name, etw_provider_spec_label(provider, label),
					 ETW_PROVIDER_EXECUTABLES_MAX);
		}

		if (etw_provider_spec_nameless(provider) &&
		    !etw_provider_guid(provider->name, &provider->guid) &&
		    !registered_guid(live, provider->name, &provider->guid, err)) {
			return false;
		}
		report_repeated(live, list, i);
	}
	return true;
}

/* Reports a failure for a provider, unless status is ERROR_SUCCESS. */
static void complain(const struct live *live, const struct etw_provider_spec *provider,
		     const char *what, ULONG status)
{
	char label[GUID_TEXT_SIZE + 2];
	char text[160];

	if (status != ERROR_SUCCESS) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED, "provider %s: %s: %s",
			    etw_provider_spec_label(provider, label), what,
			    live_error_text(status, text));
	}
}

/* Reports that a provider could not be enabled, unless status is ERROR_SUCCESS. */
static void complain_of_enabling(const struct live *live, const struct etw_provider_spec *provider,
				 ULONG status)
{
	char label[GUID_TEXT_SIZE + 2];

	if (status == ERROR_NO_SYSTEM_RESOURCES) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "provider %s: it could not be enabled: eight sessions have it, and "
			    "Windows allows no more (error 1450); \"etwtool sessions\" lists them",
			    etw_provider_spec_label(provider, label));
	} else {
		complain(live, provider, "it could not be enabled", status);
	}
}

/* ---- filters by payload ---- */

enum {
	PARTS_MAX = 256,  /* filters of one provider, before aggregation */
	VALUE_MAX = 1024, /* UTF-16 units of a field's name or value, with its NUL */
};

/* The filters of one provider, in the order of their creation. */
struct parts {
	PVOID filters[PARTS_MAX];
	ULONG count;
	ULONG refused; /* status of the first refusal, or ERROR_SUCCESS */
};

static void refuse(struct parts *parts, ULONG status)
{
	if (parts->refused == ERROR_SUCCESS) {
		parts->refused = status;
	}
}

static ULONG ask_events(void *provider, void *answer, ULONG *size)
{
	return TdhEnumerateManifestProviderEvents(provider, answer, size);
}

/* The texts of one filter, in the form that Windows requires. */
struct predicates {
	PAYLOAD_FILTER_PREDICATE list[ETW_PAYLOAD_CONDITIONS_MAX];
	WCHAR fields[ETW_PAYLOAD_CONDITIONS_MAX][VALUE_MAX];
	WCHAR values[ETW_PAYLOAD_CONDITIONS_MAX][VALUE_MAX];
};

static bool fill_predicates(struct predicates *predicates, const struct etw_payload_filter *filter)
{
	for (size_t i = 0; i < filter->condition_count; i++) {
		const struct etw_payload_condition *condition = &filter->conditions[i];

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

static void add_payload_filter(struct parts *parts, const struct etw_provider_spec *provider,
			       const struct etw_payload_filter *filter,
			       const PROVIDER_EVENT_INFO *events, struct predicates *predicates)
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

static bool prepare(struct live *live, const struct etw_provider_spec *provider,
		    EVENT_FILTER_DESCRIPTOR *filter)
{
	struct predicates *predicates = malloc(sizeof *predicates);
	struct parts parts = { .refused = ERROR_SUCCESS };
	GUID guid = live_windows_guid(&provider->guid);
	PROVIDER_EVENT_INFO *events;
	ULONG size, status;

	if (!predicates) {
		return false;
	}
	events = live_ask(ask_events, &guid, &size, &status);
	if (!events) {
		complain(live, provider,
			 "its events are not filtered by their payload: Windows has no "
			 "manifest of it",
			 status);
		free(predicates);
		return true;
	}
	for (size_t i = 0; i < provider->payload_count; i++) {
		add_payload_filter(&parts, provider, &provider->payload[i], events, predicates);
	}
	if (parts.count > 0) {
		status = TdhAggregatePayloadFilters(parts.count, parts.filters, NULL, filter);
		if (status != ERROR_SUCCESS) {
			*filter = (EVENT_FILTER_DESCRIPTOR){ 0 };
			refuse(&parts, status);
		}
	}
	complain(live, provider,
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

static bool prepare_filters(struct live *live, struct provider_list *list)
{
	list->payloads = calloc(list->count + 1, sizeof *list->payloads);
	if (!list->payloads) {
		return false;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (list->providers[i].payload_count > 0 &&
		    !prepare(live, &list->providers[i], &list->payloads[i].filter)) {
			return false;
		}
	}
	return true;
}

/* ---- lists of providers ---- */

static bool copy_providers(struct provider_list *list, const struct etw_live_options *options)
{
	list->providers = calloc(options->provider_count + 1, sizeof *list->providers);
	if (!list->providers) {
		return false;
	}
	for (size_t i = 0; i < options->provider_count; i++) {
		list->count++;
		if (!provider_spec_copy(&list->providers[i], &options->providers[i])) {
			return false;
		}
	}
	return true;
}

bool provider_list_init(struct live *live, const struct etw_live_options *options,
			struct provider_list *list, struct etw_error *err)
{
	*list = (struct provider_list){ .count = 0 };
	if (!copy_providers(list, options)) {
		return error_no_memory(err, "a live session");
	}
	if (!resolve(live, list, err)) {
		return false;
	}
	if (canaries_add(live, list)) {
		list->watchdogs = calloc(list->count + 1, sizeof *list->watchdogs);
	}
	return (list->watchdogs && prepare_filters(live, list)) ||
	       error_no_memory(err, "a live session");
}

void provider_list_done(struct provider_list *list)
{
	for (size_t i = 0; list->payloads && i < list->count; i++) {
		if (list->payloads[i].filter.Ptr != 0) {
			TdhCleanupPayloadEventFilterDescriptor(&list->payloads[i].filter);
		}
	}
	for (size_t i = 0; i < list->count; i++) {
		etw_provider_spec_done(&list->providers[i]);
	}
	free(list->providers);
	free(list->payloads);
	free(list->watchdogs);
	*list = (struct provider_list){ .count = 0 };
}

/* Sets *filter to the payload filter of a provider. Returns false if there is none or Windows
 * refused it. */
static bool filter_of(struct live *live, const struct etw_provider_spec *provider,
		      EVENT_FILTER_DESCRIPTOR *filter)
{
	const struct live_payload *payload = &live->list.payloads[provider - live->list.providers];
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

/* Stops using the filter of the provider. Returns true the first time. */
static bool filter_give_up(struct live *live, const struct etw_provider_spec *provider)
{
	struct live_payload *payload = &live->list.payloads[provider - live->list.providers];
	bool first;

	os_mutex_lock(&live->lock);
	first = !payload->refused;
	payload->refused = true;
	os_mutex_unlock(&live->lock);
	return first;
}

/*
 * ---- arguments ----
 *
 * Arguments of providers, for processes that register a provider after it was enabled.
 *
 * EnableTraceEx2() passes arguments as a filter, and Windows gives that filter only to the
 * processes that have registered the provider at that moment; level and keywords are remembered for
 * later ones, arguments are not. An EventSource that finds itself enabled without arguments
 * therefore looks for them in the registry, under its GUID and the number of the session. We write
 * them there when the provider is enabled, and delete them when the session ends. The key is
 * volatile: what a crash leaves is gone when Windows starts again.
 *
 * A process reads the arguments of a session once, when the session is new to it. So a session that
 * changes them disables the provider first.
 *
 * Source: dotnet/runtime, EventProvider.cs (GetFilterData, GetSessions); microsoft/perfview,
 * TraceEventSession.cs (EnableProvider, SetFilterDataForEtwSession). The key is that of 32-bit
 * programs also for 64-bit ones, as both have it.
 */

enum { PATH_SIZE = 160, NAME_SIZE = 32, LOGGER_ID = 0xffff /* bits of a session's handle */ };

/* Sets the names of the key and of the value in the registry. */
static bool arguments_place(TRACEHANDLE session, const struct etw_provider_spec *provider,
			    WCHAR key[PATH_SIZE], WCHAR value[NAME_SIZE])
{
	char guid[GUID_TEXT_SIZE], text[PATH_SIZE], name[NAME_SIZE];

	guid_format(&provider->guid, guid);
	snprintf(text, sizeof text,
		 "SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\CurrentVersion\\Winevt\\Publishers\\"
		 "{%s}",
		 guid);
	snprintf(name, sizeof name, "ControllerData_Session_%u", (unsigned)(session & LOGGER_ID));
	return live_wide(text, key, PATH_SIZE) && live_wide(name, value, NAME_SIZE);
}

/* Writes the arguments of a provider, if it has any, to where processes look that register it
 * later. */
static ULONG arguments_publish(TRACEHANDLE session, const struct etw_provider_spec *provider)
{
	WCHAR path[PATH_SIZE], name[NAME_SIZE];
	LSTATUS status;
	HKEY key;

	if (!provider->arguments) {
		return ERROR_SUCCESS;
	}
	if (!arguments_place(session, provider, path, name)) {
		return ERROR_INVALID_PARAMETER;
	}
	status = RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, NULL, REG_OPTION_VOLATILE,
				 KEY_SET_VALUE, NULL, &key, NULL);
	if (status == ERROR_SUCCESS) {
		status = RegSetValueExW(key, name, 0, REG_BINARY, (const BYTE *)provider->arguments,
					(DWORD)provider->arguments_size);
		RegCloseKey(key);
	}
	return (ULONG)status;
}

void arguments_withdraw(TRACEHANDLE session, const struct etw_provider_spec *provider)
{
	WCHAR path[PATH_SIZE], name[NAME_SIZE];

	if (provider->arguments && arguments_place(session, provider, path, name)) {
		RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, path, name);
	}
}

/* ---- enabling ---- */

/* EVENT_FILTER_EVENT_ID, with all its ids */
struct id_filter {
	BOOLEAN filter_in;
	UCHAR reserved;
	USHORT count;
	USHORT ids[ETW_PROVIDER_IDS_MAX];
};

struct filters {
	EVENT_FILTER_DESCRIPTOR descriptors[FILTERS_MAX];
	ULONG count;
	struct id_filter ids, stack_ids;
	ULONG process_ids[ETW_PROVIDER_PROCESSES_MAX];
	WCHAR executables[ETW_PROVIDER_EXECUTABLES_MAX + 1];
};

static void add_filter(struct filters *filters, ULONG type, const void *data, size_t size)
{
	filters->descriptors[filters->count++] = (EVENT_FILTER_DESCRIPTOR){
		.Ptr = (ULONGLONG)(uintptr_t)data, .Size = (ULONG)size, .Type = type
	};
}

/* Adds a filter by event ids, unless there is none. */
static void add_ids(struct filters *filters, ULONG type, struct id_filter *filter,
		    const uint16_t *ids, size_t count, bool out)
{
	if (count == 0) {
		return;
	}
	filter->filter_in = !out;
	filter->reserved = 0;
	filter->count = (USHORT)count;
	for (size_t i = 0; i < count; i++) {
		filter->ids[i] = ids[i];
	}
	add_filter(filters, type, filter, 4 + 2 * count);
}

static void fill_filters(struct filters *filters, const struct etw_provider_spec *provider)
{
	filters->count = 0;
	if (provider->arguments) {
		/* An EventSource takes the type as a command: 0 stands for "update", anything else
		 * for no command that it knows (arguments_publish()). */
		add_filter(filters, EVENT_FILTER_TYPE_NONE, provider->arguments,
			   provider->arguments_size);
	}
	add_ids(filters, EVENT_FILTER_TYPE_EVENT_ID, &filters->ids, provider->ids,
		provider->id_count, provider->ids_out);
	if (provider->properties & ETW_PROVIDER_STACK) {
		add_ids(filters, EVENT_FILTER_TYPE_STACKWALK, &filters->stack_ids,
			provider->stack_ids, provider->stack_id_count, provider->stack_ids_out);
	}
	if (provider->process_id_count > 0) {
		for (size_t i = 0; i < provider->process_id_count; i++) {
			filters->process_ids[i] = provider->process_ids[i];
		}
		add_filter(filters, EVENT_FILTER_TYPE_PID, filters->process_ids,
			   provider->process_id_count * sizeof filters->process_ids[0]);
	}
	if (provider->executables && wide_executables(provider, filters->executables)) {
		size_t length = 0;

		while (filters->executables[length] != 0) {
			length++;
		}
		add_filter(filters, EVENT_FILTER_TYPE_EXECUTABLE_NAME, filters->executables,
			   (length + 1) * sizeof filters->executables[0]);
	}
}

#define CONTAINER_PROPERTIES \
	(EVENT_ENABLE_PROPERTY_ENABLE_SILOS | EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING)

static ULONG enable_property(uint32_t properties)
{
	static const struct {
		uint32_t ours;
		ULONG theirs;
	} pairs[] = {
		{ ETW_PROVIDER_SID, EVENT_ENABLE_PROPERTY_SID },
		{ ETW_PROVIDER_SESSION_ID, EVENT_ENABLE_PROPERTY_TS_ID },
		{ ETW_PROVIDER_STACK, EVENT_ENABLE_PROPERTY_STACK_TRACE },
		{ ETW_PROVIDER_PROCESS_START_KEY, EVENT_ENABLE_PROPERTY_PROCESS_START_KEY },
		{ ETW_PROVIDER_NO_KEYWORD_0, EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0 },
		{ ETW_PROVIDER_CONTAINER_ID, EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING },
	};
	/* Without it, events of programs in process-isolated containers stay in these. */
	ULONG property = EVENT_ENABLE_PROPERTY_ENABLE_SILOS;

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		if (properties & pairs[i].ours) {
			property |= pairs[i].theirs;
		}
	}
	return property;
}

/* Returns whether Windows accepted a call. A provider that does not answer in time gets the call
 * later. */
static bool was_taken(ULONG status)
{
	return status == ERROR_SUCCESS || status == ERROR_TIMEOUT;
}

/* Calls EnableTraceEx2(). Windows before 10 1809 does not know containers: it is called again
 * without them. */
static ULONG enable_trace(struct live *live, TRACEHANDLE session,
			  const struct etw_provider_spec *provider, ULONG code, uint64_t any,
			  ULONG timeout_ms, ENABLE_TRACE_PARAMETERS *parameters)
{
	GUID guid = live_windows_guid(&provider->guid);
	ULONG status = EnableTraceEx2(session, &guid, code, provider->level, any, provider->all,
				      timeout_ms, parameters);

	if (status != ERROR_INVALID_PARAMETER ||
	    (parameters->EnableProperty & CONTAINER_PROPERTIES) == 0) {
		return status;
	}
	parameters->EnableProperty &= ~(ULONG)CONTAINER_PROPERTIES;
	status = EnableTraceEx2(session, &guid, code, provider->level, any, provider->all,
				timeout_ms, parameters);
	if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER && was_taken(status) &&
	    (provider->properties & ETW_PROVIDER_CONTAINER_ID)) {
		complain(live, provider, "its events have no ids of containers",
			 ERROR_INVALID_PARAMETER);
	}
	return status;
}

/* Sends an EVENT_CONTROL_CODE_* and keywords to a provider, and waits timeout_ms for its answer. A
 * payload filter that Windows refuses is left out: too many events are better than none. */
static ULONG control(struct live *live, TRACEHANDLE session,
		     const struct etw_provider_spec *provider, ULONG code, uint64_t any,
		     ULONG timeout_ms)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2 };
	struct filters filters;
	ULONG status, without;
	bool by_payload;

	fill_filters(&filters, provider);
	by_payload = filter_of(live, provider, &filters.descriptors[filters.count]);
	parameters.EnableProperty = enable_property(provider->properties);
	parameters.FilterDescCount = filters.count + by_payload;
	parameters.EnableFilterDesc = parameters.FilterDescCount > 0 ? filters.descriptors : NULL;
	status = enable_trace(live, session, provider, code, any, timeout_ms, &parameters);
	if (!by_payload || was_taken(status)) {
		return status;
	}
	parameters.EnableProperty = enable_property(provider->properties);
	parameters.FilterDescCount = filters.count;
	parameters.EnableFilterDesc = filters.count > 0 ? filters.descriptors : NULL;
	without = enable_trace(live, session, provider, code, any, timeout_ms, &parameters);
	if (was_taken(without) && filter_give_up(live, provider)) {
		complain(live, provider, "its events are not filtered by their payload", status);
	}
	return without;
}

static ULONG enable(struct live *live, TRACEHANDLE session,
		    const struct etw_provider_spec *provider, uint64_t any, ULONG timeout_ms)
{
	return control(live, session, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, any,
		       timeout_ms);
}

/* How long a provider gets to capture its state. */
struct patience {
	uint64_t began_ns; /* of a stop; all providers have their time from then on */
	uint64_t usual_ms; /* unless the configuration has another time */
};

/* Returns how long to wait now: what is left of the time, but at least a second, also when other
 * providers have used up the time of a stop. */
static ULONG wait_of(const struct etw_provider_spec *provider, const struct patience *patience)
{
	uint64_t passed_ms = (os_monotonic_ns() - patience->began_ns) / 1000000;
	uint64_t all_ms = provider->capture_timeout_ms != 0 ? provider->capture_timeout_ms :
							      patience->usual_ms;

	return all_ms > passed_ms + CAPTURE_LEAST_MS ? (ULONG)(all_ms - passed_ms) :
						       CAPTURE_LEAST_MS;
}

/* Enables a provider with additional keywords, requests its state, and enables it again without
 * these keywords. */
static ULONG capture(struct live *live, TRACEHANDLE session,
		     const struct etw_provider_spec *provider, uint64_t keywords,
		     const struct patience *patience)
{
	/* 0 stands for all keywords, which include those of the state. */
	uint64_t any = provider->any != 0 ? provider->any | keywords : 0;
	ULONG enabled = enable(live, session, provider, any, wait_of(provider, patience));
	ULONG captured;

	if (!was_taken(enabled)) {
		return enabled;
	}
	captured = control(live, session, provider, EVENT_CONTROL_CODE_CAPTURE_STATE, any,
			   enabled == ERROR_TIMEOUT ? NO_WAIT : wait_of(provider, patience));
	complain(live, provider, "its state could not be captured",
		 captured != ERROR_SUCCESS ? captured : enabled);
	return enable(live, session, provider, provider->any, NO_WAIT);
}

/* Returns the patience for a capture in a session that keeps running. */
static struct patience patience_now(void)
{
	return (struct patience){ .began_ns = os_monotonic_ns(), .usual_ms = CAPTURE_LEAST_MS };
}

void enable_capture(struct live *live, TRACEHANDLE session,
		    const struct etw_provider_spec *provider, uint64_t keywords)
{
	struct patience patience = patience_now();

	complain_of_enabling(live, provider, capture(live, session, provider, keywords, &patience));
}

ULONG enable_provider(struct live *live, TRACEHANDLE session, size_t index)
{
	const struct etw_provider_spec *provider = &live->list.providers[index];
	struct provider_watchdog *watchdog = &live->list.watchdogs[index];
	struct patience patience = patience_now();
	ULONG status;

	complain(live, provider,
		 "programs that start from now on do not get its arguments, because these could "
		 "not be written to the registry",
		 arguments_publish(session, provider));
	status = provider->capture_at_start != 0 ?
			 capture(live, session, provider, provider->capture_at_start, &patience) :
			 enable(live, session, provider, provider->any, NO_WAIT);

	if (status != watchdog->refused) {
		complain_of_enabling(live, provider, status);
	}
	watchdog->refused = was_taken(status) ? ERROR_SUCCESS : status;
	if (status == ERROR_SUCCESS && live->canary && index == live->list.canary_index) {
		canaries_begin(live);
	}
	return status;
}

ULONG enable_plainly(TRACEHANDLE session, const GUID *provider, UCHAR level, uint64_t keywords)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2 };

	return EnableTraceEx2(session, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, level,
			      keywords, 0, NO_WAIT, &parameters);
}

/* Passes no level, keywords and filters, as other programs do: what Windows does with them here is
 * not documented. */
static ULONG disable(TRACEHANDLE session, const GUID *provider, ULONG timeout_ms)
{
	return EnableTraceEx2(session, provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0,
			      timeout_ms, NULL);
}

void enable_changes(struct live *live, TRACEHANDLE session, bool on)
{
	GUID guid = live_windows_guid(&session_changes_provider);
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2 };
	struct etw_provider_spec spec;
	struct filters filters;

	/* An entry of the configuration stays unchanged; its events are used, too. */
	for (size_t i = 0; i < live->list.count; i++) {
		if (etw_guid_equal(&live->list.providers[i].guid, &session_changes_provider)) {
			return;
		}
	}
	if (live->options.logger == ETW_LIVE_NT_KERNEL || is_attached(live) ||
	    !(on ? session_changes_report(live->change) : session_changes_reports(live->change))) {
		return;
	}
	if (!on) {
		disable(session, &guid, NO_WAIT);
		return;
	}
	etw_provider_spec_init(&spec);
	spec.id_count = CHANGE_TYPES;
	memcpy(spec.ids, session_changes_ids, sizeof session_changes_ids);
	fill_filters(&filters, &spec);
	parameters.EnableFilterDesc = filters.descriptors;
	parameters.FilterDescCount = filters.count;
	EnableTraceEx2(session, &guid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, SESSION_CHANGES_LEVEL,
		       SESSION_CHANGES_KEYWORDS, 0, NO_WAIT, &parameters);
}

void enable_rundown(struct live *live, TRACEHANDLE session)
{
	char text[160];
	ULONG status =
		enable_plainly(session, &rundown_provider, TRACE_LEVEL_NONE, RUNDOWN_KEYWORD);

	if (status != ERROR_SUCCESS) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "the kernel's rundown provider cannot be asked for the names of open "
			    "files: %s",
			    live_error_text(status, text));
	}
}

void disable_provider(struct live *live, TRACEHANDLE session,
		      const struct etw_provider_spec *provider, uint64_t began_ns)
{
	const struct patience patience = { .began_ns = began_ns, .usual_ms = CAPTURE_AT_STOP_MS };
	GUID guid = live_windows_guid(&provider->guid);
	ULONG status;

	if (provider->capture_at_stop != 0) {
		complain_of_enabling(live, provider,
				     capture(live, session, provider, provider->capture_at_stop,
					     &patience));
	}
	status = disable(session, &guid, NO_WAIT);
	if (status != ERROR_WMI_INSTANCE_NOT_FOUND) { /* with its session it was disabled, too */
		complain(live, provider, "it could not be disabled", status);
	}
}

void disable_for_arguments(TRACEHANDLE session, const struct etw_provider_spec *provider)
{
	GUID guid = live_windows_guid(&provider->guid);

	arguments_withdraw(session, provider);
	disable(session, &guid, ARGUMENTS_WAIT_MS);
}
