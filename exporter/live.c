/* SPDX-License-Identifier: MIT */
/*
 * Turns a session of the configuration into the options of a live source.
 *
 * The first session of the configuration takes the kernel events and every provider that collectors
 * need and that the configuration names in no session. The other sessions take only their own
 * providers. Entries of collectors for the same provider are merged, because Windows would keep
 * only the later call. Where no session has kernel events, the providers that collectors name in
 * their place are needed too. In a session that is attached to nothing can be enabled, so the next
 * one takes these providers. An entry of the configuration is never merged: it is used as it is. A
 * user session also enables the provider of process names, because it has no kernel events; if a
 * collector needs that provider, its entry is made to deliver the names, too. Each session writes
 * canaries, counts their delays in a histogram, and queries TDH for schemas that
 * neither events nor manifests contain. What the watcher of a session reports is logged here.
 *
 * Source: Microsoft-Windows-Kernel-Process as registered in Windows 10 (WINEVENT_KEYWORD_PROCESS:
 * starts and exits, and the processes that run when its state is captured).
 */
#include "exporter/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/provider.h>

#include "base/guid.h"
#include "base/log.h"
#include "base/text.h"

/* ---- providers ---- */

enum { PROCESS_KEYWORD = 0x10, INFORMATIONAL = 4 };

static char names_provider[] = "Microsoft-Windows-Kernel-Process";

static bool guid_of(const struct etw_provider_spec *spec, struct etw_guid *guid)
{
	if (!etw_provider_spec_nameless(spec)) {
		*guid = spec->guid;
		return true;
	}
	return etw_provider_guid(spec->name, guid);
}

bool live_same_provider(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	struct etw_guid guid_a, guid_b;

	if (guid_of(a, &guid_a) && guid_of(b, &guid_b)) {
		return etw_guid_equal(&guid_a, &guid_b);
	}
	return a->name && b->name &&
	       text_equal_nocase(a->name, strlen(a->name), b->name, strlen(b->name));
}

static bool among(const struct etw_provider_spec *list, size_t count,
		  const struct etw_provider_spec *spec)
{
	for (size_t i = 0; i < count; i++) {
		if (live_same_provider(&list[i], spec)) {
			return true;
		}
	}
	return false;
}

static bool configured(const struct config *config, const struct etw_provider_spec *spec)
{
	for (size_t i = 0; i < config->session_count; i++) {
		if (among(config->sessions[i].providers, config->sessions[i].provider_count,
			  spec)) {
			return true;
		}
	}
	return false;
}

static bool has_id(const struct etw_provider_spec *spec, uint16_t id)
{
	for (size_t i = 0; i < spec->id_count; i++) {
		if (spec->ids[i] == id) {
			return true;
		}
	}
	return false;
}

/* Merges the lists of event ids. If there are more ids than a filter takes, the list becomes empty,
 * which requests every event. */
static void merge_ids(struct etw_provider_spec *into, const struct etw_provider_spec *from)
{
	if (into->id_count == 0 || from->id_count == 0) {
		into->id_count = 0; /* every event */
		return;
	}
	for (size_t i = 0; i < from->id_count; i++) {
		if (has_id(into, from->ids[i])) {
			continue;
		}
		if (into->id_count == ETW_PROVIDER_IDS_MAX) {
			into->id_count = 0;
			return;
		}
		into->ids[into->id_count++] = from->ids[i];
	}
}

/* Makes *into request what both request. Needs of collectors have the short form of a provider,
 * and arguments. */
static void merge(struct etw_provider_spec *into, const struct etw_provider_spec *from)
{
	etw_provider_spec_widen(into, from);
	merge_ids(into, from);
	if (!into->arguments) { /* otherwise rule_set_warn_of_needs() warns if they differ */
		into->arguments = from->arguments;
		into->arguments_size = from->arguments_size;
	}
}

static void add_need(struct live_providers *providers, const struct etw_provider_spec *need)
{
	for (size_t i = 0; i < providers->count; i++) {
		if (live_same_provider(&providers->list[i], need)) {
			merge(&providers->list[i], need);
			return;
		}
	}
	providers->list[providers->count++] = *need;
}

/* Makes a need of collectors include the events that name processes, too. names: the entry that
 * enables only these. */
static void add_name_events(struct etw_provider_spec *need, const struct etw_provider_spec *names)
{
	static const uint16_t ids[] = { ETW_PROCESS_EVENT_START, ETW_PROCESS_EVENT_STOP,
					ETW_PROCESS_EVENT_RUNDOWN };
	struct etw_provider_spec with = *names;

	with.all = PROCESS_KEYWORD; /* they pass a mask of this keyword */
	with.id_count = sizeof ids / sizeof ids[0];
	memcpy(with.ids, ids, sizeof ids);
	etw_provider_spec_widen(need, &with);
	merge_ids(need, &with);
	need->capture_at_start |= PROCESS_KEYWORD;
}

/* needed: the number of providers at the start of the list that are there for collectors. */
static void add_names(struct live_providers *providers, size_t needed)
{
	struct etw_provider_spec spec;

	etw_provider_spec_init(&spec);
	spec.name = names_provider;
	spec.level = INFORMATIONAL;
	spec.any = PROCESS_KEYWORD;
	spec.capture_at_start = PROCESS_KEYWORD;
	for (size_t i = 0; i < needed; i++) {
		if (live_same_provider(&providers->list[i], &spec)) {
			add_name_events(&providers->list[i], &spec);
			return;
		}
	}
	if (!among(providers->list, providers->count, &spec)) {
		providers->list[providers->count++] = spec;
		providers->names_only = true;
	}
}

/* Returns a provider that the collectors need, by its number; NULL after the last one. If no
 * session has kernel events, the providers that replace them are included. */
static const struct etw_provider_spec *need_of(const struct config *config,
					       const struct rule_set *rules, size_t number)
{
	size_t count = 0;

	while (rule_set_provider(rules, count)) {
		count++;
	}
	if (number < count) {
		return rule_set_provider(rules, number);
	}
	return config->kernel_events ? NULL : rule_set_substitute(rules, number - count);
}

/* Returns the index of the session that enables what the collectors need; the count of sessions if
 * none can. */
static size_t session_of_needs(const struct config *config)
{
	return config->sessions[0].logger == LOGGER_ATTACH ? 1 : 0;
}

bool live_providers_init(struct live_providers *providers, const struct config *config,
			 const struct rule_set *rules, size_t index, struct etw_error *err)
{
	const struct config_session *session = &config->sessions[index];
	size_t needed = 0, merged;

	while (index == session_of_needs(config) && need_of(config, rules, needed)) {
		needed++;
	}
	*providers = (struct live_providers){ .list = calloc(session->provider_count + needed + 1,
							     sizeof *providers->list) };
	if (!providers->list) {
		return error_no_memory(err, "the providers of a session");
	}
	for (size_t i = 0; i < needed; i++) {
		const struct etw_provider_spec *need = need_of(config, rules, i);

		if (!configured(config, need)) {
			add_need(providers, need);
		}
	}
	merged = providers->count;
	for (size_t i = 0; i < session->provider_count; i++) {
		providers->list[providers->count++] = session->providers[i];
	}
	if (session->logger == LOGGER_USER) {
		add_names(providers, merged);
	}
	return true;
}

void live_providers_done(struct live_providers *providers)
{
	free(providers->list);
	providers->list = NULL;
}

/* ---- the session ---- */

/* Buckets of the delay. Windows delivers events when it flushes buffers, so one second is usual. */
static const uint64_t delay_bounds_ns[] = { 1000000,     10000000,    100000000,  250000000,
					    500000000,   1000000000,  2000000000, 5000000000,
					    10000000000, 30000000000, 60000000000 };

static const struct family_options delay_family = {
	.name = "etw_session_canary_delay_seconds",
	.help = "Time from writing a test event (canary) to its delivery.",
	.type = FAMILY_HISTOGRAM,
	.decimals = 9,
	.labels = { "session" },
	.label_count = 1,
	.buckets = delay_bounds_ns,
	.bucket_count = sizeof delay_bounds_ns / sizeof delay_bounds_ns[0],
};

struct family *live_delay_family(struct registry *registry, struct etw_error *err)
{
	return registry_family(registry, &delay_family, err);
}

/* Makes the histogram of the session's canaries, so that it shows 0 from the start. */
static bool make_delay(struct live_session *session, struct registry *registry,
		       struct etw_error *err)
{
	uint32_t label = intern_own(registry_strings(registry), session->name);
	struct family *delay = live_delay_family(registry, err);

	if (!delay) {
		return false;
	}
	session->delay = delay;
	session->delay_cells = family_cells(delay, session->shard, &label, NULL);
	return session->delay_cells || error_no_memory(err, "the counters of a session");
}

static void on_canary(void *context, uint64_t delay_ns)
{
	const struct live_session *session = context;

	cells_observe(session->delay, session->shard, session->delay_cells, delay_ns);
}

static void on_session_event(void *context, enum etw_session_event event, const char *sentence)
{
	const struct live_session *session = context;
	static const struct {
		enum log_level level;
		const char *message;
	} lines[] = {
		[ETW_SESSION_STARTED] = { LOG_INFO, "Session started" },
		[ETW_SESSION_STALE] = { LOG_WARNING, "Session existed already" },
		[ETW_SESSION_CONFLICT] = { LOG_WARNING, "Session belongs to another program" },
		[ETW_SESSION_LOST] = { LOG_WARNING, "Session ended; starting it again" },
		[ETW_SESSION_RESTORED] = { LOG_WARNING, "Session was changed" },
		[ETW_SESSION_GIVEN_UP] = { LOG_WARNING, "Session is changed again and again" },
		[ETW_SESSION_EXPLAINED] = { LOG_WARNING,
					    "Program that ended or changed the session" },
		[ETW_SESSION_NOT_RESTARTED] = { LOG_ERROR,
						"Session cannot be restarted; retrying" },
		[ETW_SESSION_PROVIDER_FAILED] = { LOG_WARNING,
						  "Optional session feature is not available" },
		[ETW_SESSION_ATTACHED] = { LOG_INFO, "Session of another program is read" },
		[ETW_SESSION_ABSENT] = { LOG_WARNING,
					 "Session of another program does not run; waiting" },
		[ETW_SESSION_STOPPED] = { LOG_INFO, "Session stopped" },
		[ETW_SESSION_NOT_STOPPED] = { LOG_WARNING,
					      "Session cannot be stopped and goes on running" },
	};

	log_line(lines[event].level, lines[event].message, log_text("session", session->name),
		 log_text("what", sentence));
}

/* Fills in the options of the live source; the providers are borrowed. session is NULL for a
 * reload, which changes a running session. Returns false if the options do not fit together. */
static bool fill_options(struct live_session *session, const struct live_session_options *options,
			 const struct live_providers *providers, struct etw_live_options *live,
			 struct etw_error *err)
{
	static const enum etw_live_logger loggers[] = {
		[LOGGER_AUTO] = ETW_LIVE_PRIVATE,
		[LOGGER_PRIVATE] = ETW_LIVE_PRIVATE,
		[LOGGER_SYSTEM_PROVIDERS] = ETW_LIVE_SYSTEM_PROVIDERS,
		[LOGGER_NT_KERNEL] = ETW_LIVE_NT_KERNEL,
		[LOGGER_USER] = ETW_LIVE_USER,
		[LOGGER_ATTACH] = ETW_LIVE_ATTACH,
	};
	const struct setup *setup = options->setup;
	const struct config_session *configured = &setup->config->sessions[options->index];
	bool first = options->index == 0;
	bool kernel = first && setup->config->kernel_events;

	*live = (struct etw_live_options){
		.name = options->name,
		.logger = loggers[configured->logger],
		.takeover = configured->takeover,
		.kernel_flags = kernel ? rule_set_kernel_flags(setup->rules) : 0,
		.kernel_groups = kernel ? rule_set_kernel_groups(setup->rules) : 0,
		.stacks = configured->kernel_stacks,
		.stack_count = configured->kernel_stack_count,
		.buffer_size_bytes = configured->buffer_size_bytes,
		.buffers_min = configured->buffers_min,
		.buffers_max = configured->buffers_max,
		.flush_ms = configured->flush_ms,
		.rundown = configured->rundown,
		.services = first && (rule_set_features(setup->rules) & TRACK_SERVICES) != 0,
		.providers = providers->list,
		.provider_count = providers->count,
		.canary = options->canary,
		.on_canary = on_canary,
		.canary_context = session,
		.changes = options->changes,
		.on_session_event = on_session_event,
		.session_event_context = session,
		.on_fault = options->on_fault,
		.wants_memory = options->wants_memory,
		.memory_context = options->memory_context,
		.watch_ms = options->watch_ms,
		.retry_ms = options->retry_ms,
		.stop_grace_ms = options->stop_grace_ms,
		.snapshot_ms = options->snapshot_ms,
	};
	return live->logger != ETW_LIVE_NT_KERNEL || live->provider_count == 0 ||
	       error_set(err, ETW_ERROR_CONFIG,
			 "session %s: the collectors that are on need providers, which the NT "
			 "Kernel Logger does not support; add a user session",
			 configured->name);
}

/* Logs which providers of collectors no session can enable. */
static void warn_of_unmet(const struct config *config, const struct rule_set *rules,
			  const char *session)
{
	struct etw_text names = { 0 };
	const struct etw_provider_spec *need;
	char label[GUID_TEXT_SIZE + 2];

	for (size_t i = 0; session_of_needs(config) == config->session_count &&
			   (need = need_of(config, rules, i)) != NULL;
	     i++) {
		text_add_format(&names, "%s%s", i > 0 ? ", " : "",
				etw_provider_spec_label(need, label));
	}
	if (names.size > 0) {
		log_warning("Providers that collectors need cannot be enabled in a session of "
			    "another program; add a session with logger: user",
			    log_text("session", session), log_text("providers", names.data));
	}
	text_free(&names);
}

/* Logs which call stacks cannot come, because no collector that is on needs their events. */
static void warn_of_stacks(const struct etw_live_options *live)
{
	for (size_t i = 0; i < live->stack_count; i++) {
		const struct etw_kernel_event *event = &live->stacks[i];
		struct etw_kernel_event_flags by = etw_kernel_event_flags(
			etw_kernel_class_of(&event->class_guid), event->opcode, NULL);
		char name[128];

		if ((by.flags & live->kernel_flags) == 0 &&
		    (by.groups & live->kernel_groups) == 0 && (by.flags != 0 || by.groups != 0)) {
			snprintf(name, sizeof name, "%s/%s",
				 etw_kernel_class_name(&event->class_guid),
				 etw_kernel_event_name(&event->class_guid, event->opcode));
			log_warning("kernel_stacks: no collector that is on brings the event",
				    log_text("session", live->name), log_text("event", name));
		}
	}
}

struct etw_source *live_session_open(struct live_session *session,
				     const struct live_session_options *options,
				     struct etw_error *err)
{
	const struct setup *setup = options->setup;
	struct live_providers providers;
	struct etw_live_options live;
	struct etw_source *source = NULL;

	session->name = options->name;
	session->shard = options->shard;
	if (!make_delay(session, setup->registry, err)) {
		return NULL;
	}
	session->tdh = etw_tdh_new(err);
	if (!session->tdh ||
	    !live_providers_init(&providers, setup->config, setup->rules, options->index, err)) {
		return NULL;
	}
	session->names_only = providers.names_only;
	if (options->index == 0) {
		warn_of_unmet(setup->config, setup->rules, session->name);
	}
	if (fill_options(session, options, &providers, &live, err)) {
		warn_of_stacks(&live);
		source = etw_source_open_live(&live, err);
	}
	live_providers_done(&providers);
	return source;
}

struct etw_live_change *live_session_prepare(struct etw_source *source,
					     const struct live_session_options *options,
					     bool *names_only, struct etw_error *err)
{
	const struct setup *setup = options->setup;
	struct live_providers providers;
	struct etw_live_options live;
	struct etw_live_change *change = NULL;

	if (!live_providers_init(&providers, setup->config, setup->rules, options->index, err)) {
		return NULL;
	}
	*names_only = providers.names_only;
	if (fill_options(NULL, options, &providers, &live, err)) {
		change = etw_live_change_new(source, &live, err);
	}
	live_providers_done(&providers);
	return change;
}

void live_session_done(struct live_session *session)
{
	etw_tdh_free(session->tdh);
}
