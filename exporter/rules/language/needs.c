/* SPDX-License-Identifier: MIT */
/*
 * Finds what a live session must enable so that the rules get their events.
 *
 * A replay counts what is in the recording. A live session delivers only the events that it
 * enables, so a rule of other events counts nothing, and its family is silently missing. Kernel
 * events are enabled by flags that follow from class and opcode: the flags of a rule's events are
 * added to those of its collector, so `needs` may leave them out. Two cases need an entry in
 * `needs`. The opcodes of a whole class, as in a rule for all FileIo events, may have several
 * flags, some of them expensive. And for calls of minifilters either of two groups may be enough.
 *
 * Providers are never added. An event of a rule does not determine which level and keywords are
 * enough, and a provider with all of them can emit a million events a second. Instead there is a
 * warning, at the place of the rule. A provider is enabled by the `needs` of the rule's own
 * collector, by those of any collector that is on, because a session gets the needs of all, and by
 * the sessions of the configuration. If the program cannot know, it does not warn: a provider may
 * be given once by a name and once by a GUID that only its own machine maps to each other.
 */
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/provider.h>

#include "base/nearest.h"
#include "base/text.h"
#include "exporter/rules/language/event_pattern.h"
#include "exporter/rules/language/rule_set.h"

/* A name that differs by more letters from a known one is taken as another name, not as a
 * mistake. */
enum { NEAR_MISS = 2 };

/* ---- kernel flags ---- */

static bool has_any(const struct collector *collector, const struct etw_kernel_event_flags *flags)
{
	return (collector->kernel_flags & flags->flags) != 0 ||
	       (collector->kernel_groups & flags->groups) != 0;
}

static void add_flags_of(struct collector *collector, const struct event_pattern *event)
{
	enum etw_kernel_class kernel_class = etw_kernel_class_of(&event->guid);
	struct etw_kernel_event_flags by =
		event->every ? etw_kernel_class_flags(kernel_class) :
			       etw_kernel_event_flags(kernel_class, event->opcode, NULL);
	bool one_flag = by.groups == 0 && (by.flags & (by.flags - 1)) == 0;

	if (event->scope == EVENTS_KERNEL && !has_any(collector, &by) &&
	    (one_flag || !event->every)) {
		collector->kernel_flags |= by.flags;
		collector->kernel_groups |= by.groups;
	}
}

void collector_add_event_flags(struct collector *collector)
{
	const struct rule *rule = NULL;

	while ((rule = collector_next_rule(collector, rule)) != NULL) {
		add_flags_of(collector, &rule->event);
		if (rule->span) {
			add_flags_of(collector, &rule->span->start.event);
		}
		if (rule->span && rule->span->middle.keys) {
			add_flags_of(collector, &rule->span->middle.event);
		}
	}
}

static void warn_of_kernel_event(const struct collector *collector,
				 const struct event_pattern *event, const struct yaml_node *at)
{
	enum etw_kernel_class kernel_class = etw_kernel_class_of(&event->guid);
	struct etw_kernel_event_flags all = etw_kernel_class_flags(kernel_class);
	struct etw_text names = { 0 };
	bool never = false;

	if (!event->every) {
		all = etw_kernel_event_flags(kernel_class, event->opcode, &never);
	}
	if (etw_kernel_class_needs_no_flag(kernel_class) || has_any(collector, &all)) {
		return;
	}
	for (unsigned i = 0; etw_kernel_flag_names[i]; i++) {
		if (etw_kernel_flag_among(i, all.flags, all.groups)) {
			text_add_format(&names, "%s%s", names.size > 0 ? ", " : "",
					etw_kernel_flag_names[i]);
		}
	}
	if (names.size > 0) {
		yaml_warning(collector->tree, at,
			     "no session is asked for '%s': add a kernel flag to 'needs', at least "
			     "one of %s",
			     at->text, names.failed ? "those of the class" : names.data);
	} else if (never) {
		yaml_warning(collector->tree, at,
			     "no session delivers '%s': no kernel flag of 'needs' enables it",
			     at->text);
	} else if (collector->kernel_flags == 0 && collector->kernel_groups == 0) {
		yaml_warning(collector->tree, at,
			     "no session delivers '%s': 'needs' names no kernel flag", at->text);
	}
	text_free(&names);
}

/* ---- providers ---- */

/* A provider that a session enables. */
struct enabled_provider {
	const struct etw_provider_spec *spec;
	const struct collector
		*collector; /* the collector that has it in `needs`; NULL: a session has it */
	bool counts;        /* it enables events for rules of all collectors */
	const struct yaml_tree *tree;
	const struct yaml_node *at;
	const char *name; /* NULL: not known */
	struct etw_guid guid;
	bool has_guid;
};

struct enabled_providers {
	const struct rule_set *set;
	const struct etw_configured_manifests *manifests;
	struct enabled_provider *list; /* owned */
	size_t count;
};

static bool is_name(const char *a, const char *b)
{
	return text_equal_nocase(a, strlen(a), b, strlen(b));
}

/* Returns the name of the provider with this index among those that the program knows; NULL
 * after the last. */
static const char *known_name(const struct etw_configured_manifests *manifests, size_t number,
			      struct etw_guid *guid)
{
	const struct etw_manifest_set *const sets[] = { manifests->configured, manifests->builtin };
	const struct etw_known_provider_row *row = NULL;

	if (number < ETW_KNOWN_PROVIDERS) {
		row = &etw_known_providers[number];
	} else if (number - ETW_KNOWN_PROVIDERS < etw_well_known_provider_count) {
		row = &etw_well_known_providers[number - ETW_KNOWN_PROVIDERS];
	}
	if (row) {
		*guid = row->guid;
		return row->name;
	}
	number -= ETW_KNOWN_PROVIDERS + etw_well_known_provider_count;
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		struct etw_manifest_set_provider provider;

		if (etw_manifest_set_provider(sets[i], number, &provider)) {
			*guid = *provider.guid;
			return provider.name;
		}
		number -= etw_manifest_set_provider_count(sets[i]);
	}
	return NULL;
}

static void resolve(const struct enabled_providers *enabled, struct enabled_provider *provider)
{
	bool by_name = etw_provider_spec_nameless(provider->spec);
	const char *name;
	struct etw_guid guid;

	provider->name = provider->spec->name;
	provider->guid = provider->spec->guid;
	provider->has_guid = !by_name;
	for (size_t i = 0; (name = known_name(enabled->manifests, i, &guid)) != NULL; i++) {
		if (by_name ? is_name(name, provider->name) :
			      etw_guid_equal(&guid, &provider->guid)) {
			provider->name = name;
			provider->guid = guid;
			provider->has_guid = true;
			return;
		}
	}
}

static void add_provider(struct enabled_providers *enabled, const struct enabled_provider *provider)
{
	struct enabled_provider *to = &enabled->list[enabled->count++];

	*to = *provider;
	resolve(enabled, to);
}

/* Returns the node that names the provider in an entry of a list. */
static const struct yaml_node *entry_at(const struct yaml_node *list, size_t index)
{
	const struct yaml_node *entry = list->first;

	while (index-- > 0) {
		entry = entry->next;
	}
	return entry->type == YAML_MAP ? yaml_find(entry, "provider") : entry;
}

/* kernel: sessions have kernel events, so that providers that replace them are not asked for. */
static void add_needs(struct enabled_providers *enabled, const struct collector *collector, bool on,
		      bool kernel)
{
	const struct yaml_node *needs = yaml_find(yaml_root(collector->tree), "needs");
	struct enabled_provider provider = { .collector = collector,
					     .counts = on,
					     .tree = collector->tree };

	for (size_t i = 0; i < collector->provider_count; i++) {
		provider.spec = &collector->providers[i];
		provider.at = entry_at(yaml_find(needs, "providers"), i);
		add_provider(enabled, &provider);
	}
	provider.counts = on && !kernel;
	for (size_t i = 0; i < collector->substitute_count; i++) {
		provider.spec = &collector->substitutes[i];
		provider.at = entry_at(yaml_find(needs, "without_kernel"), i);
		add_provider(enabled, &provider);
	}
}

static void add_session(struct enabled_providers *enabled, const struct config *config,
			const struct config_session *session)
{
	const struct yaml_node *sessions = yaml_find(yaml_root(config->tree), "sessions");
	struct enabled_provider provider = { .counts = true, .tree = config->tree };

	for (size_t i = 0; i < session->provider_count; i++) {
		const struct yaml_node *keys = yaml_find(sessions, session->name);

		provider.spec = &session->providers[i];
		provider.at = entry_at(yaml_find(keys, "providers"), i);
		add_provider(enabled, &provider);
	}
}

static bool list_providers(struct enabled_providers *enabled, const struct config *config)
{
	const struct rule_set *set = enabled->set;
	size_t count = 0;

	for (size_t i = 0; i < set->collector_count; i++) {
		count += set->collectors[i]->provider_count + set->collectors[i]->substitute_count;
	}
	for (size_t i = 0; i < config->session_count; i++) {
		count += config->sessions[i].provider_count;
	}
	enabled->list = calloc(count + 1, sizeof *enabled->list);
	if (!enabled->list) {
		return false;
	}
	for (size_t i = 0; i < set->collector_count; i++) {
		add_needs(enabled, set->collectors[i], set->infos[i].on, config->kernel_events);
	}
	for (size_t i = 0; i < config->session_count; i++) {
		add_session(enabled, config, &config->sessions[i]);
	}
	return true;
}

/* ---- events of providers ---- */

/* Returns whether the `needs` of the collector contain the request. */
static bool is_of(const struct enabled_provider *provider, const struct collector *collector)
{
	return provider->collector && provider->collector == collector;
}

/* Returns whether the request may be about the provider of the pattern. */
static bool is_about(const struct enabled_provider *provider, const struct event_pattern *event)
{
	if (event->by_guid ? !provider->has_guid : !provider->name) {
		return true; /* the program cannot know */
	}
	return event_pattern_is_provider(event, provider->name ? provider->name : "",
					 &provider->guid);
}

static bool takes_id(const struct etw_provider_spec *spec, uint16_t id)
{
	bool listed = spec->id_count == 0;

	for (size_t i = 0; i < spec->id_count && !listed; i++) {
		listed = spec->ids[i] == id;
	}
	return listed != (spec->ids_out && spec->id_count > 0);
}

/* Returns whether a provider's request lets an event with these keywords pass. Bits 48 to 63 belong
 * to Windows, such as those of channels, and manifests may omit them. */
static bool takes_keywords(const struct etw_provider_spec *spec, uint64_t keywords)
{
	return keywords == 0 || spec->any == 0 || spec->any >> 48 != 0 ||
	       ((keywords & spec->any) != 0 && (keywords & spec->all) == spec->all);
}

/* Returns whether some event of the pattern passes the level, ids and keywords of the request. */
static bool passes(const struct etw_provider_spec *spec, const struct event_pattern *event,
		   const struct known_events *known)
{
	if (event->every || known->failed || (known->count == 0 && !event->by_id)) {
		return true;
	}
	for (size_t i = 0; i < known->count; i++) {
		const struct known_event *one = &known->events[i];

		if (takes_id(spec, one->id) && takes_keywords(spec, one->keywords) &&
		    (spec->level == 0 || one->level <= spec->level)) {
			return true;
		}
	}
	return known->count == 0 && takes_id(spec, event->id);
}

/* Offers the names of providers that the program knows, and of those that are requested. */
static void offer_names(const struct enabled_providers *enabled, struct nearest *nearest)
{
	struct etw_guid guid;
	const char *name;

	for (size_t i = 0; (name = known_name(enabled->manifests, i, &guid)) != NULL; i++) {
		nearest_offer(nearest, name);
	}
	for (size_t i = 0; nearest->size > 0 && i < enabled->count; i++) {
		if (enabled->list[i].name) {
			nearest_offer(nearest, enabled->list[i].name);
		}
	}
}

/* Arguments for "%s%s%s": the question about a known name that differs by a letter or two. */
#define IS_MEANT(nearest) \
	((nearest).best && (nearest).distance > 0 && (nearest).distance <= NEAR_MISS)
#define MEANT(nearest)                                                                        \
	IS_MEANT(nearest) ? "; did you mean '" : "", IS_MEANT(nearest) ? (nearest).best : "", \
		IS_MEANT(nearest) ? "'?" : ""

static void warn_of_missing(const struct enabled_providers *enabled,
			    const struct collector *collector, const struct event_pattern *event,
			    const struct yaml_node *at)
{
	struct nearest nearest = { .word = event->provider };

	if (!event->by_guid) {
		nearest.size = event->provider_size;
		offer_names(enabled, &nearest);
	}
	yaml_warning(collector->tree, at,
		     "no session is asked for '%s': 'needs' does not name this provider%s%s%s",
		     at->text, MEANT(nearest));
}

static void warn_of_event(const struct enabled_providers *enabled,
			  const struct collector *collector, const struct event_pattern *event,
			  const struct yaml_node *at)
{
	struct known_events known;
	bool named = false, good = event->scope != EVENTS_PROVIDER;

	known_events_find(&known, event, enabled->manifests);
	for (size_t i = 0; i < enabled->count && !good; i++) {
		const struct enabled_provider *provider = &enabled->list[i];

		if ((provider->counts || is_of(provider, collector)) && is_about(provider, event)) {
			named = true;
			good = passes(provider->spec, event, &known);
		}
	}
	known_events_done(&known);
	if (!good && named) {
		yaml_warning(
			collector->tree, at,
			"no session is asked for '%s': 'needs' names this provider, but leaves "
			"the event out by its id, level or keywords",
			at->text);
	} else if (!good) {
		warn_of_missing(enabled, collector, event, at);
	}
}

/* ---- names that look misspelt ---- */

/* Returns whether rules may count events of the provider, whose name is not known: they name it, or
 * they count events of every provider, or of one that is also unknown. */
static bool may_be_used(const struct enabled_providers *enabled,
			const struct enabled_provider *provider)
{
	const struct rule_set *set = enabled->set;

	for (size_t i = 0; i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];
		const struct rule *rule = NULL;

		while ((rule = collector_next_rule(collector, rule)) != NULL) {
			const struct event_pattern *event = &rule->event;

			if (event->scope == EVENTS_ALL ?
				    is_of(provider, collector) :
				    event->scope == EVENTS_PROVIDER && is_about(provider, event)) {
				return true;
			}
		}
	}
	return false;
}

static void warn_of_name(const struct enabled_providers *enabled,
			 const struct enabled_provider *provider)
{
	struct enabled_providers known = { .manifests = enabled->manifests };
	struct nearest nearest = { .word = provider->name };

	if (provider->has_guid || !provider->name) {
		return;
	}
	nearest.size = strlen(provider->name);
	offer_names(&known, &nearest);
	if (IS_MEANT(nearest)) {
		yaml_warning(provider->tree, provider->at, "no provider '%s' is known%s%s%s",
			     provider->name, MEANT(nearest));
	} else if (provider->collector && !may_be_used(enabled, provider)) {
		yaml_warning(provider->tree, provider->at,
			     "no provider '%s' is known, and no rule is about its events",
			     provider->name);
	}
}

/* ---- arguments ---- */

static bool is_same_provider(const struct enabled_provider *a, const struct enabled_provider *b)
{
	if (a->has_guid && b->has_guid) {
		return etw_guid_equal(&a->guid, &b->guid);
	}
	return a->name && b->name && is_name(a->name, b->name);
}

/* Warns of arguments that a provider does not get: an entry of a session is used as it is, and
 * otherwise the first collector that has arguments decides. */
static void warn_of_arguments(const struct enabled_providers *enabled,
			      const struct enabled_provider *provider)
{
	const struct enabled_provider *used = NULL;

	if (!provider->counts || !provider->collector || !provider->spec->arguments) {
		return;
	}
	for (size_t i = 0; i < enabled->count; i++) {
		const struct enabled_provider *other = &enabled->list[i];

		if (other->counts && is_same_provider(provider, other) &&
		    (!other->collector || (!used && other->spec->arguments))) {
			used = other;
		}
	}
	if (!used || etw_provider_spec_same_arguments(used->spec, provider->spec)) {
		return;
	}
	yaml_warning(provider->tree, provider->at,
		     "these arguments are not used: '%s' is in %s%s%s with other arguments, or "
		     "none",
		     provider->name ? provider->name : provider->at->text,
		     used->collector ? "the collector '" : "'sessions'",
		     used->collector ? used->collector->name : "", used->collector ? "'" : "");
}

/* ---- the whole ---- */

static void warn_of_rule(const struct enabled_providers *enabled, const struct rule *rule,
			 bool kernel)
{
	const struct span_event events[] = {
		{ .event = rule->event, .event_at = rule->event_at },
		rule->span ? rule->span->start : (struct span_event){ .event_at = NULL },
		rule->span ? rule->span->middle : (struct span_event){ .event_at = NULL },
	};

	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
		const struct event_pattern *event = &events[i].event;

		if (!events[i].event_at) {
			continue;
		}
		if (event->scope == EVENTS_PROVIDER) {
			warn_of_event(enabled, rule->collector, event, events[i].event_at);
		} else if (event->scope == EVENTS_KERNEL && kernel) {
			warn_of_kernel_event(rule->collector, event, events[i].event_at);
		}
	}
}

void rule_set_warn_of_needs(const struct rule_set *set, const struct config *config,
			    const struct etw_configured_manifests *manifests)
{
	struct enabled_providers enabled = { .set = set, .manifests = manifests };

	if (!list_providers(&enabled, config)) {
		return; /* without memory there are no warnings */
	}
	for (size_t i = 0; i < enabled.count; i++) {
		warn_of_name(&enabled, &enabled.list[i]);
		warn_of_arguments(&enabled, &enabled.list[i]);
	}
	for (size_t i = 0; i < set->collector_count; i++) {
		const struct rule *rule = NULL;

		while ((rule = collector_next_rule(set->collectors[i], rule)) != NULL) {
			warn_of_rule(&enabled, rule, config->kernel_events);
		}
	}
	free(enabled.list);
}
