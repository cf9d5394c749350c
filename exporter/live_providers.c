/* SPDX-License-Identifier: MIT */
/*
 * Source: Microsoft-Windows-Kernel-Process as registered in Windows 10 (WINEVENT_KEYWORD_PROCESS:
 * starts and exits, and the processes that run when its state is captured).
 */
#include "live_providers.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "source/provider_names.h"

enum { PROCESS_KEYWORD = 0x10, INFORMATIONAL = 4 };

static char names_provider[] = "Microsoft-Windows-Kernel-Process";

static bool guid_of(const struct provider_spec *spec, struct guid *guid)
{
	if (!provider_spec_nameless(spec)) {
		*guid = spec->guid;
		return true;
	}
	return provider_guid(spec->name, guid);
}

/* One that Windows knows by name and the other by GUID are found to be the same only when the name
 * is among the built-in ones. */
static bool same(const struct provider_spec *a, const struct provider_spec *b)
{
	struct guid guid_a, guid_b;

	if (guid_of(a, &guid_a) && guid_of(b, &guid_b)) {
		return guid_equal(&guid_a, &guid_b);
	}
	return a->name && b->name &&
	       text_equal_nocase(a->name, strlen(a->name), b->name, strlen(b->name));
}

static bool among(const struct provider_spec *list, size_t count, const struct provider_spec *spec)
{
	for (size_t i = 0; i < count; i++) {
		if (same(&list[i], spec)) {
			return true;
		}
	}
	return false;
}

static bool configured(const struct config *config, const struct provider_spec *spec)
{
	for (size_t i = 0; i < config->session_count; i++) {
		if (among(config->sessions[i].providers, config->sessions[i].provider_count,
			  spec)) {
			return true;
		}
	}
	return false;
}

static void merge_ids(struct provider_spec *into, const struct provider_spec *from)
{
	if (into->id_count + from->id_count > PROVIDER_IDS_MAX || into->id_count == 0 ||
	    from->id_count == 0) {
		into->id_count = 0; /* every event */
		return;
	}
	memcpy(&into->ids[into->id_count], from->ids, from->id_count * sizeof from->ids[0]);
	into->id_count += from->id_count;
}

/* What both ask for; needs have the short form only. */
static void merge(struct provider_spec *into, const struct provider_spec *from)
{
	into->level = from->level > into->level ? from->level : into->level;
	into->any |= from->any;
	into->all &= from->all;
	merge_ids(into, from);
}

static void add_need(struct live_providers *providers, const struct provider_spec *need)
{
	for (size_t i = 0; i < providers->count; i++) {
		if (same(&providers->list[i], need)) {
			merge(&providers->list[i], need);
			return;
		}
	}
	providers->list[providers->count++] = *need;
}

static void add_names(struct live_providers *providers)
{
	struct provider_spec spec;

	provider_spec_init(&spec);
	spec.name = names_provider;
	spec.level = INFORMATIONAL;
	spec.any = PROCESS_KEYWORD;
	spec.capture_at_start = PROCESS_KEYWORD;
	if (!among(providers->list, providers->count, &spec)) {
		providers->list[providers->count++] = spec;
		providers->names_only = true;
	}
}

bool live_providers_init(struct live_providers *providers, const struct config *config,
			 const struct rule_set *rules, size_t index, struct error *err)
{
	const struct config_session *session = &config->sessions[index];
	size_t needed = 0;

	while (index == 0 && rule_set_provider(rules, needed)) {
		needed++;
	}
	*providers = (struct live_providers){ .list = calloc(session->provider_count + needed + 1,
							     sizeof *providers->list) };
	if (!providers->list) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for the providers of a session");
	}
	for (size_t i = 0; i < needed; i++) {
		const struct provider_spec *need = rule_set_provider(rules, i);

		if (!configured(config, need)) {
			add_need(providers, need);
		}
	}
	for (size_t i = 0; i < session->provider_count; i++) {
		providers->list[providers->count++] = session->providers[i];
	}
	if (session->logger == LOGGER_USER) {
		add_names(providers);
	}
	return true;
}

void live_providers_done(struct live_providers *providers)
{
	free(providers->list);
	providers->list = NULL;
}
