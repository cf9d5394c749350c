/* SPDX-License-Identifier: MIT */
/*
 * The families of a rule set.
 *
 * Several collectors can add to one family. They must agree on its type, help, labels and buckets,
 * and an error names both places. The first collector that declares a family fixes the order of its
 * labels; the labels of all other rules are brought into that order. Built-in collectors are
 * declared first, so a collector of the user cannot change what they show, and an error names the
 * user's file.
 *
 * A family with samples of several providers must have the label `provider`, and so must a family
 * whose rules are for every event: otherwise their samples would add up to nonsense. Labels whose
 * values come from events are dynamic labels: beyond the limit of series they read "_other".
 *
 * Samples of rules whose labels are all fixed exist at 0 from the start, because rate() and
 * increase() lose the first value of a series that appears.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/config.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/track/durations.h"

struct declared_family *rule_set_find_family(const struct rule_set *set, const char *name)
{
	uint64_t hash = text_hash(name, strlen(name), hash_seed());
	const uint64_t *index;

	/* If another name has this hash, the name has the next free number. */
	while ((index = map_find(&set->family_by_name, hash++)) != NULL) {
		if (strcmp(set->families[*index].metric->name, name) == 0) {
			return &set->families[*index];
		}
	}
	return NULL;
}

/* Adds a family whose name the set does not have. Returns NULL without memory. */
static struct declared_family *add_family(struct rule_set *set, const char *name)
{
	uint64_t hash = text_hash(name, strlen(name), hash_seed());
	uint64_t *index;
	bool added;

	do {
		index = map_put(&set->family_by_name, hash++, &added);
	} while (index && !added);
	if (!index) {
		return NULL;
	}
	*index = set->family_count;
	return &set->families[set->family_count++];
}

static bool same_buckets(const struct metric *a, const struct metric *b)
{
	return a->bucket_count == b->bucket_count &&
	       (a->bucket_count == 0 ||
		memcmp(a->buckets, b->buckets, a->bucket_count * sizeof a->buckets[0]) == 0);
}

static bool agrees(const struct collector *collector, const struct metric *metric,
		   const struct declared_family *declared, struct etw_error *err)
{
	const struct metric *first = declared->metric;
	const char *what = metric->type != first->type             ? "type" :
			   strcmp(metric->help, first->help) != 0  ? "help" :
			   !same_buckets(metric, first)            ? "set of buckets" :
			   metric->max_series != first->max_series ? "max_series" :
			   metric->decimals != first->decimals     ? "number of decimals" :
								     NULL;

	if (what && declared->collector->builtin) {
		return yaml_error(
			collector->tree, metric->name_at, err,
			"'%s' is already a family of the shipped collector '%s', with another %s",
			metric->name, declared->collector->name, what);
	}
	return !what ||
	       yaml_error(collector->tree, metric->name_at, err,
			  "'%s' has another %s than in %s:%u", metric->name, what,
			  yaml_name(declared->collector->tree), (unsigned)first->name_at->line);
}

enum { PLACE_SIZE = 256 };

/* Returns the place of a family's first rule, "x.yaml:12". A built-in collector has no file. */
static const char *place_of(const struct declared_family *declared, char place[PLACE_SIZE])
{
	const struct collector *collector = declared->collector;

	if (collector->builtin) {
		snprintf(place, PLACE_SIZE, "the shipped collector '%s'", collector->name);
	} else {
		snprintf(place, PLACE_SIZE, "%s:%u", yaml_name(collector->tree),
			 (unsigned)declared->metric->rules[0].at->line);
	}
	return place;
}

static size_t label_index(const struct declared_family *declared, const char *name)
{
	size_t index = 0;

	while (index < declared->label_count && strcmp(declared->labels[index], name) != 0) {
		index++;
	}
	return index;
}

/* Returns whether events decide the values of the label; they read "_other" beyond a limit. */
static bool is_open(const struct label *label)
{
	return label->source == LABEL_DECODE ||
	       (label->source == LABEL_FIELD && !field_has_role(&label->field, ROLE_PROVIDER));
}

/* Brings the labels of a rule into the family's order. */
static bool order_labels(const struct collector *collector, struct rule *rule,
			 struct declared_family *declared, struct etw_error *err)
{
	struct label ordered[FAMILY_LABELS_MAX];
	char place[PLACE_SIZE];

	if (rule->label_count != declared->label_count) {
		return yaml_error(collector->tree, rule->at, err,
				  "'%s' has %zu labels here, %zu in %s", declared->metric->name,
				  rule->label_count, declared->label_count,
				  place_of(declared, place));
	}
	for (size_t i = 0; i < rule->label_count; i++) {
		size_t index = label_index(declared, rule->labels[i].name);

		if (index == declared->label_count) {
			return yaml_error(collector->tree, rule->labels[i].at, err,
					  "'%s' has no label '%s' in %s", declared->metric->name,
					  rule->labels[i].name, place_of(declared, place));
		}
		ordered[index] = rule->labels[i];
		if (is_open(&rule->labels[i])) {
			declared->dynamic_labels |= UINT32_C(1) << index;
		}
		if (strcmp(rule->labels[i].name, "provider") == 0 ||
		    field_has_role(&rule->labels[i].field, ROLE_PROVIDER)) {
			declared->has_provider = true;
		}
	}
	memcpy(rule->labels, ordered, rule->label_count * sizeof ordered[0]);
	return true;
}

/* Returns whether the rule leaves out events that the family's first source counts, so that no
 * request is counted twice. */
static bool stands_back(const struct rule *rule)
{
	for (size_t i = 0; i < rule->condition_count; i++) {
		const struct condition *condition = &rule->conditions[i];

		if (field_has_role(&condition->field, ROLE_SECOND_SOURCE) &&
		    condition->comparison == COMPARE_EQ && condition->literals[0].integer &&
		    condition->literals[0].number == 0) {
			return true;
		}
	}
	return false;
}

static bool check_source(const struct collector *collector, const struct rule *rule,
			 const struct declared_family *declared, struct etw_error *err)
{
	const struct rule *first = &declared->metric->rules[0];
	char place[PLACE_SIZE];

	if (declared->has_provider) {
		return true;
	}
	if (rule->event.scope == EVENTS_ALL) {
		return yaml_error(collector->tree, rule->event_at, err,
				  "'%s' of every provider needs the label 'provider'",
				  declared->metric->name);
	}
	if (!event_pattern_same_source(&first->event, &rule->event) && !stands_back(rule)) {
		return yaml_error(
			collector->tree, rule->event_at, err,
			"a second source of '%s', whose first is %s in %s: it needs the label 'provider'",
			declared->metric->name, first->event_at->text, place_of(declared, place));
	}
	return true;
}

static bool declare_metric(struct rule_set *set, const struct collector *collector,
			   struct metric *metric, struct etw_error *err)
{
	struct declared_family *declared = rule_set_find_family(set, metric->name);

	if (declared && !agrees(collector, metric, declared, err)) {
		return false;
	}
	if (!declared) {
		declared = add_family(set, metric->name);
		if (!declared) {
			return error_no_memory(err, "the families of collectors");
		}
		declared->collector = collector;
		declared->metric = metric;
		declared->label_count = metric->rules[0].label_count;
		for (size_t i = 0; i < declared->label_count; i++) {
			declared->labels[i] = metric->rules[0].labels[i].name;
		}
	}
	for (size_t i = 0; i < metric->rule_count; i++) {
		if (!order_labels(collector, &metric->rules[i], declared, err)) {
			return false;
		}
	}
	for (size_t i = 0; i < metric->rule_count; i++) {
		const struct rule *rule = &metric->rules[i];

		if (!check_source(collector, rule, declared, err)) {
			return false;
		}
		if ((rule->op == GAUGE_SET) != (declared->metric->rules[0].op == GAUGE_SET)) {
			return yaml_error(collector->tree, rule->at, err,
					  "'%s' is either set or counted up and down",
					  metric->name);
		}
	}
	return true;
}

/* Declares the families of the built-in collectors, or those of all others. */
static bool declare_all(struct rule_set *set, bool builtin, struct etw_error *err)
{
	bool good = true;

	for (size_t i = 0; i < set->collector_count; i++) {
		struct collector *collector = set->collectors[i];

		for (size_t j = 0; collector->builtin == builtin && j < collector->metric_count;
		     j++) {
			good = declare_metric(set, collector, &collector->metrics[j], err) && good;
		}
	}
	return good;
}

bool rule_set_declare_families(struct rule_set *set, struct etw_error *err)
{
	size_t most = 0;
	bool good;

	for (size_t i = 0; i < set->collector_count; i++) {
		most += set->collectors[i]->metric_count;
	}
	set->families = calloc(most + 1, sizeof *set->families);
	if (!set->families) {
		return error_no_memory(err, "the families of collectors");
	}
	good = declare_all(set, true, err);
	return declare_all(set, false, err) && good;
}

struct family *rule_set_family(const struct rule_set *set, size_t *at)
{
	struct family *family = NULL;

	while (!family && *at < set->family_count) {
		family = set->families[(*at)++].family;
	}
	return family;
}

bool rule_set_has_family(const struct rule_set *set, const struct family *family)
{
	const struct declared_family *declared = rule_set_find_family(set, family_name(family));

	return declared && declared->family == family;
}

static bool register_family(const struct rule_set *set, struct declared_family *declared,
			    struct registry *registry, struct etw_error *err)
{
	struct family_options options = {
		.name = declared->metric->name,
		.help = declared->metric->help,
		.type = declared->metric->type,
		.decimals = metric_decimals(declared->metric),
		.label_count = declared->label_count,
		.dynamic_labels = declared->dynamic_labels,
		.max_series = declared->metric->max_series,
		.buckets = declared->metric->buckets,
		.bucket_count = declared->metric->bucket_count,
	};
	struct etw_error why;

	memcpy(options.labels, declared->labels, sizeof options.labels);
	declared->family = set->prepare ? registry_prepare(registry, &options, &why) :
					  registry_family(registry, &options, &why);
	if (set->prepare && declared->family && !family_has_help(declared->family, options.help)) {
		yaml_warning(declared->collector->tree, declared->metric->name_at,
			     "the new help of '%s' needs a restart", options.name);
	}
	if (!declared->family) {
		return yaml_error(declared->collector->tree, declared->metric->name_at, err, "%s",
				  why.text);
	}
	return true;
}

/* Returns the tracker features that a field needs. span: that of its rule; NULL: none. */
static uint32_t field_features(const struct span *span, const struct field_ref *field)
{
	if (!field->derived || (span && field->derived->role == ROLE_DURATION)) {
		return 0;
	}
	return field->derived->features;
}

static uint32_t span_features(const struct span *span)
{
	uint32_t features = 0;

	for (size_t i = 0; i < span->key_count; i++) {
		features |= field_features(NULL, &span->start.keys[i]) |
			    field_features(NULL, &span->stop.keys[i]);
		if (span->middle.keys) {
			features |= field_features(NULL, &span->middle.keys[i]);
		}
	}
	for (size_t i = 0; i < span->captured_count; i++) {
		features |= field_features(NULL, &span->captured[i].field);
	}
	return features;
}

/* Returns whether the rule is about ends of requests, whose file is that of their start. Rules on
 * every event of a class do not cost a live session the events of the ends. */
static bool ends_requests(const struct event_pattern *event)
{
	const struct etw_known_provider_row *provider =
		&etw_known_providers[ETW_PROVIDER_KERNEL_FILE];

	if (event->every) {
		return false;
	}
	return (event_pattern_is_class(event, ETW_KERNEL_FILE_IO) &&
		event->opcode == ETW_KERNEL_OPCODE_FILE_IO_OPERATION_END) ||
	       (event_pattern_is_provider(event, provider->name, &provider->guid) && event->by_id &&
		event->id == ETW_FILE_EVENT_OPERATION_END);
}

uint32_t rule_features(const struct rule *rule)
{
	uint32_t features = field_features(rule->span, &rule->value) |
			    field_features(rule->span, &rule->since);

	for (size_t i = 0; i < rule->condition_count; i++) {
		features |= field_features(rule->span, &rule->conditions[i].field);
	}
	for (size_t i = 0; i < rule->label_count; i++) {
		features |= field_features(rule->span, &rule->labels[i].field);
	}
	if ((features & TRACK_FILES) != 0 && ends_requests(&rule->event)) {
		features |= TRACK_REQUESTS;
	}
	return rule->span ? features | span_features(rule->span) : features;
}

bool labels_decode_equally(const struct label *a, const struct label *b)
{
	bool equal = a->source == b->source && a->step_count == b->step_count &&
		     a->entry_count == b->entry_count &&
		     (a->source != LABEL_MAP || strcmp(a->text, b->text) == 0);

	for (size_t i = 0; equal && i < a->step_count; i++) {
		equal = yaml_equal(a->steps[i].itself, b->steps[i].itself);
	}
	for (size_t i = 0; equal && i < a->entry_count; i++) {
		equal = strcmp(a->entries[i].from.text, b->entries[i].from.text) == 0 &&
			strcmp(a->entries[i].to, b->entries[i].to) == 0;
	}
	return equal;
}

static bool captured_equal(const struct span *a, const struct span *b)
{
	bool equal = yaml_equal(a->captured_at, b->captured_at);

	for (size_t i = 0; equal && i < a->captured_count; i++) {
		equal = labels_decode_equally(&a->captured[i], &b->captured[i]);
	}
	return equal;
}

bool span_equal(const struct span *a, const struct span *b)
{
	return a->timeout_ms == b->timeout_ms && a->keep == b->keep &&
	       yaml_equal(a->start.event_at, b->start.event_at) &&
	       yaml_equal(a->key_at, b->key_at) && captured_equal(a, b) &&
	       yaml_equal(a->middle.event_at, b->middle.event_at);
}

/* Sets *index to that of the rule's span in the set, which is added if it is new. Returns false if
 * there are too many; set->spans has room for one of each rule. */
static bool add_span(struct rule_set *set, const struct rule *rule, uint16_t *index,
		     struct etw_error *err)
{
	const struct span *span = rule->span;
	size_t i = 0;

	if (!span) {
		*index = NO_SPAN;
		return true;
	}
	while (i < set->span_count && !span_equal(set->spans[i], span)) {
		i++;
	}
	if (i == RULE_SPANS_MOST) {
		return yaml_error(rule->collector->tree, span->at, err,
				  "the collectors that are on have more than %d different pairs "
				  "together",
				  (int)RULE_SPANS_MOST);
	}
	if (i == set->span_count) {
		set->spans[set->span_count++] = span;
	}
	*index = (uint16_t)i;
	return true;
}

bool rule_set_register(struct rule_set *set, struct registry *registry, struct etw_error *err)
{
	size_t most = 0;

	for (size_t i = 0; i < set->collector_count; i++) {
		for (size_t j = 0; set->infos[i].on && j < set->collectors[i]->metric_count; j++) {
			most += set->collectors[i]->metrics[j].rule_count;
		}
	}
	set->rules = calloc(most + 1, sizeof *set->rules);
	set->spans = calloc(most + 1, sizeof(const struct span *));
	if (!set->rules || !set->spans) {
		return error_no_memory(err, "rules");
	}
	for (size_t i = 0; i < set->collector_count; i++) {
		for (size_t j = 0; set->infos[i].on && j < set->collectors[i]->metric_count; j++) {
			const struct metric *metric = &set->collectors[i]->metrics[j];
			struct declared_family *declared = rule_set_find_family(set, metric->name);

			if (!declared->family && !register_family(set, declared, registry, err)) {
				return false;
			}
			for (size_t k = 0; k < metric->rule_count; k++) {
				struct active_rule *active = &set->rules[set->rule_count];

				*active = (struct active_rule){ .rule = &metric->rules[k],
								.declared = declared };
				if (!add_span(set, &metric->rules[k], &active->span, err)) {
					return false;
				}
				set->rule_count++;
				set->features |= rule_features(&metric->rules[k]);
			}
		}
	}
	return true;
}

/* ---- samples that are known before the first event ---- */

/* Returns whether every label of the rule is a literal or the result of a map: its samples are then
 * known and exist at 0 from the start. */
static bool has_fixed_labels(const struct rule *rule)
{
	for (size_t i = 0; i < rule->label_count; i++) {
		if (rule->labels[i].source != LABEL_TEXT && rule->labels[i].source != LABEL_MAP) {
			return false;
		}
	}
	return true;
}

/* Returns the text of a label's n-th possible value; NULL after the last. */
static const char *fixed_text(const struct label *label, size_t n)
{
	if (label->source == LABEL_TEXT) {
		return n == 0 ? label->text : NULL;
	}
	return n < label->entry_count  ? label->entries[n].to :
	       n == label->entry_count ? label->text :
					 NULL;
}

enum { FIXED_SERIES_MAX = 1024 };

/* Makes the samples of all combinations of label values, like a counter with one digit for each
 * label. */
static void make_fixed(const struct active_rule *active, struct intern *strings)
{
	const struct rule *rule = active->rule;
	size_t digits[FAMILY_LABELS_MAX] = { 0 };

	for (unsigned made = 0; made < FIXED_SERIES_MAX; made++) {
		uint32_t ids[FAMILY_LABELS_MAX];
		size_t i = 0;

		for (size_t j = 0; j < rule->label_count; j++) {
			ids[j] = intern_own(strings, fixed_text(&rule->labels[j], digits[j]));
		}
		family_keep(active->declared->family, ids);
		while (i < rule->label_count && !fixed_text(&rule->labels[i], ++digits[i])) {
			digits[i++] = 0;
		}
		if (i == rule->label_count) {
			return;
		}
	}
}

/* Makes the samples of the family's invalid durations, at 0. */
static void make_invalid(const struct rule_set *set, const struct family *family,
			 struct intern *strings)
{
	for (int verdict = DURATION_FITS + 1; verdict < DURATION_VERDICTS; verdict++) {
		uint32_t ids[] = {
			intern_string(strings, family_name(family)),
			intern_own(strings, duration_verdict_name((enum duration_verdict)verdict)),
		};

		family_keep(set->invalid_durations, ids);
	}
}

void rule_set_make_samples(const struct rule_set *set, struct registry *registry)
{
	struct intern *strings = registry_strings(registry);

	for (size_t i = 0; i < set->rule_count; i++) {
		if (has_fixed_labels(set->rules[i].rule)) {
			make_fixed(&set->rules[i], strings);
		}
		if (set->rules[i].rule->metric->seconds) {
			make_invalid(set, set->rules[i].declared->family, strings);
		}
	}
}

/* ---- labels that the configuration adds ---- */

/*
 * The labels that `labels:` of the configuration adds to families of the collectors cpu, disk, file
 * and network: the account of a process, its terminal session.
 *
 * They are added to every rule of such a family that has the process of its event as a label, also
 * to rules of other collectors, because all rules of a family have the same labels. Rules that have
 * a label of that name already keep their own.
 */

static const struct {
	const char *label, *field;
} rows[] = {
	[CONFIG_LABEL_OWNER] = { "owner", "Owner" },
	[CONFIG_LABEL_TERMINAL_SESSION] = { "terminal_session", "TerminalSession" },
};

/* Returns whether one of the collectors that get labels declares the metric. */
static bool gets_labels(const struct rule_set *set, const struct metric *metric)
{
	static const char *const collectors[] = { "cpu", "disk", "file", "network" };

	for (size_t i = 0; i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];
		size_t known = 0;

		while (known < sizeof collectors / sizeof collectors[0] &&
		       strcmp(collector->name, collectors[known]) != 0) {
			known++;
		}
		if (known == sizeof collectors / sizeof collectors[0]) {
			continue;
		}
		for (size_t j = 0; j < collector->metric_count; j++) {
			if (collector->metrics[j].name &&
			    strcmp(collector->metrics[j].name, metric->name) == 0) {
				return true;
			}
		}
	}
	return false;
}

static void add_label(struct rule *rule, enum config_label which)
{
	bool of_process = false;

	for (size_t i = 0; i < rule->label_count; i++) {
		const struct label *label = &rule->labels[i];

		of_process |= label->source == LABEL_FIELD &&
			      field_has_role(&label->field, ROLE_PROCESS);
		if (label->name && strcmp(label->name, rows[which].label) == 0) {
			return;
		}
	}
	if (of_process && rule->label_count < FAMILY_LABELS_MAX) {
		rule->labels[rule->label_count++] =
			(struct label){ .name = rows[which].label,
					.at = rule->at,
					.source = LABEL_FIELD,
					.field = { .name = rows[which].field,
						   .at = rule->at,
						   .derived = derived_find(rows[which].field) } };
	}
}

void rule_set_add_labels(struct rule_set *set, const struct config *config)
{
	for (size_t i = 0; config->label_count > 0 && i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];

		for (size_t j = 0; j < collector->metric_count; j++) {
			struct metric *metric = &collector->metrics[j];

			if (!metric->name || !gets_labels(set, metric)) {
				continue;
			}
			for (size_t k = 0; k < metric->rule_count * config->label_count; k++) {
				add_label(&metric->rules[k / config->label_count],
					  config->labels[k % config->label_count]);
			}
		}
	}
}
