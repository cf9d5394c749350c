/* SPDX-License-Identifier: MIT */
/*
 * Changes the providers and kernel events of a running session.
 *
 * Enabling a provider once more replaces its level, keywords and filters in the session, without a
 * gap ("EnableTraceEx2 function", Microsoft Learn). So an unchanged provider is not touched, a
 * changed one is enabled again, and one that is no longer configured is disabled; events that it
 * wrote before are still delivered. A provider with other arguments than before is disabled first,
 * because its processes take arguments only when a session is new to them. All errors in the
 * configuration are found earlier, when the change is made.
 */
#include <stdlib.h>

#include "lib/live/live_source_internal_win32.h"
#include "lib/live/session_changes.h"
#include "lib/source/provider_names.h"

struct etw_live_change {
	struct live *live;
	struct provider_list list; /* owned; holds the former list once the change is applied */
	uint32_t kernel_flags, kernel_groups;
	bool services;
};

struct etw_live_change *etw_live_change_new(struct etw_source *source,
					    const struct etw_live_options *options,
					    struct etw_error *err)
{
	struct live *live = (struct live *)source;
	struct etw_live_change *change = calloc(1, sizeof *change);

	if (!change) {
		error_no_memory(err, "a live session");
		return NULL;
	}
	change->live = live;
	change->kernel_flags = options->kernel_flags;
	change->kernel_groups = options->kernel_groups;
	change->services = options->services;
	if (!provider_list_init(live, options, &change->list, err)) {
		etw_live_change_free(change);
		return NULL;
	}
	return change;
}

void etw_live_change_free(struct etw_live_change *change)
{
	if (change) {
		provider_list_done(&change->list);
		free(change);
	}
}

/* Returns the index of the provider in a list; list->count if it is not there. */
static size_t find_guid(const struct provider_list *list, const struct etw_guid *guid)
{
	size_t i = 0;

	while (i < list->count && !etw_guid_equal(&list->providers[i].guid, guid)) {
		i++;
	}
	return i;
}

static size_t find(const struct provider_list *list, const struct etw_provider_spec *provider)
{
	return find_guid(list, &provider->guid);
}

/* enabled: providers are enabled in the session, which is ours. */
static void disable_removed(struct etw_live_change *change, TRACEHANDLE session, bool enabled)
{
	struct live *live = change->live;
	uint64_t began_ns = os_monotonic_ns();

	for (size_t i = 0; i < live->list.count; i++) {
		const struct etw_provider_spec *provider = &live->list.providers[i];

		if (find(&change->list, provider) < change->list.count) {
			continue;
		}
		arguments_withdraw(session, provider);
		if (enabled) {
			disable_provider(live, session, provider, began_ns);
		}
	}
}

static void enable_changed(struct etw_live_change *change, TRACEHANDLE session)
{
	struct live *live = change->live;
	const struct provider_list *former = &change->list;

	for (size_t i = 0; i < live->list.count; i++) {
		const struct etw_provider_spec *provider = &live->list.providers[i];
		size_t before = find(former, provider);

		if (before < former->count &&
		    provider_spec_equal(provider, &former->providers[before])) {
			continue;
		}
		if (before < former->count &&
		    !etw_provider_spec_same_arguments(provider, &former->providers[before])) {
			disable_for_arguments(session, &former->providers[before]);
		}
		enable_provider(live, session, i);
	}
	/* The former configuration had the provider that reports changes; we still need it, so
	 * enable it again. */
	if (find_guid(former, &session_changes_provider) < former->count) {
		enable_changes(live, session, true);
	}
}

/* Copies the watchdog state of providers that stay. A changed provider is captured when it is
 * enabled again, and from then on at its new interval. */
static void keep_known(struct provider_list *list, const struct provider_list *former)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t before = find(former, &list->providers[i]);

		if (before == former->count) {
			continue;
		}
		list->watchdogs[i] = former->watchdogs[before];
		if (provider_spec_equal(&list->providers[i], &former->providers[before])) {
			list->payloads[i].refused = former->payloads[before].refused;
		} else {
			list->watchdogs[i].capture_due_ns = 0;
			list->watchdogs[i].refused = ERROR_SUCCESS;
		}
	}
}

void etw_live_change_apply(struct etw_live_change *change)
{
	struct live *live = change->live;
	struct provider_list next = change->list;
	TRACEHANDLE session, ours;
	bool enabled;

	os_mutex_lock(&live->settings);
	/* One that has ended is started again with the next settings. */
	ours = session_ours(live);
	os_mutex_lock(&live->lock);
	session = live->session;
	enabled = ours != 0 && live->providers_enabled;
	os_mutex_unlock(&live->lock);
	if (session != 0) {
		disable_removed(change, session, enabled);
	}
	keep_known(&next, &live->list);
	change->list = live->list;
	live->list = next;
	session_change_kernel(live, ours, change->kernel_flags, change->kernel_groups);
	if (is_attached(live) && ours != 0) {
		attach_report_missing(live, ours);
	}
	if (enabled) {
		enable_changed(change, ours);
	}
	os_mutex_unlock(&live->settings);
	harvest_change(live, change->services);
}
