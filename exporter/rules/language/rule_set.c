/* SPDX-License-Identifier: MIT */
/*
 * All collectors, the built-in ones and those of the configuration that replace or extend them, and
 * which of them are on.
 *
 * A rule set is made in steps. Collectors are read, each from one YAML text; one of the
 * configuration replaces the built-in one of its name. Then all of them are checked, on or off, so
 * that a collector which is switched on later causes no errors. Families are declared over all
 * collectors (families.c), switches are applied in order (first the configuration, then the command
 * line), and last the families of the collectors that are on are registered. After that the set is
 * immutable and shared by all consumers.
 *
 * Most built-in collectors are off, and reading and checking these took more than half of the start
 * of the exporter. With `skip_off` only their heads are read, which have the help and the needs,
 * unless something in the configuration may depend on their families. Tests check them all.
 *
 * Filters of the configuration are here too: they drop events before any counter. A process is
 * dropped if its name matches an exclude pattern, or if there are include patterns and it matches
 * none. Events are dropped by event patterns, which the engine matches once for each event class.
 *
 * What a live session must enable follows from the collectors that are on: what they list under
 * `needs`, what enables the kernel events of their rules, and what the tracker needs for the
 * derived fields in them.
 */
#include "exporter/rules/language/rule_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>

#include "base/map.h"
#include "base/nearest.h"
#include "base/text.h"
#include "config/builtin.h"
#include "exporter/track/tracker.h"

static struct collector **find_collector(struct rule_set *set, const char *name)
{
	for (size_t i = 0; i < set->collector_count; i++) {
		if (strcmp(set->collectors[i]->name, name) == 0) {
			return &set->collectors[i];
		}
	}
	return NULL;
}

/* Adds a collector and takes ownership of it. */
static bool add_collector(struct rule_set *set, struct collector *collector, bool builtin,
			  struct etw_error *err)
{
	struct collector **collectors, **place;

	collector->builtin = builtin;
	place = find_collector(set, collector->name);
	if (place && (builtin || !(*place)->builtin)) {
		yaml_error(collector->tree, collector->at, err,
			   "collector '%s' is already defined in %s", collector->name,
			   yaml_name((*place)->tree));
		collector_free(collector);
		return false;
	}
	if (place) {
		collector_free(*place);
		*place = collector;
		return true;
	}
	collectors =
		realloc(set->collectors, (set->collector_count + 1) * sizeof(struct collector *));
	if (!collectors) {
		collector_free(collector);
		return error_no_memory(err, "a collector");
	}
	set->collectors = collectors;
	set->collectors[set->collector_count++] = collector;
	return true;
}

bool rule_set_add(struct rule_set *set, struct yaml_tree *tree, const char *name, bool builtin,
		  struct etw_error *err)
{
	struct collector *collector = collector_load(tree, name, err);

	return collector && add_collector(set, collector, builtin, err);
}

/* ---- built-in collectors ---- */

/* Returns whether something in the configuration may depend on collectors that are off: families of
 * other collectors are compared with theirs, `labels` add labels to families that collectors share,
 * and triggers name families. */
static bool uses_all(const struct config *config)
{
	return config->broken || config->collector_files.count > 0 || config->label_count > 0 ||
	       config->recorder.dir != NULL;
}

static bool apply_switches(const struct config_switch *switches, size_t count, const char *name,
			   bool on)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(switches[i].collector, name) == 0) {
			on = switches[i].on;
		}
	}
	return on;
}

static bool will_be_on(const struct rule_set_options *options, const struct collector *collector)
{
	const struct config *config = options->config;
	bool on = options->every_collector || (collector->default_on && !options->disable_defaults);

	on = apply_switches(config->switches, config->switch_count, collector->name, on);
	return apply_switches(options->switches, options->switch_count, collector->name, on);
}

static struct collector *load_text(const struct builtin_file *file, const char *text, size_t size,
				   struct problems *problems, struct etw_error *err)
{
	char name[128];
	struct yaml_tree *tree;

	snprintf(name, sizeof name, "%s.yaml", file->name);
	tree = yaml_open_text(name, text, size, problems, err);
	return tree ? collector_load(tree, file->name, err) : NULL;
}

/* Loads a built-in collector without its metrics, which are the last key of its file. */
static struct collector *load_head(const struct builtin_file *file, struct problems *problems,
				   struct etw_error *err)
{
	const char *metrics = strstr(file->text, "\nmetrics:");
	struct etw_text head = { 0 };
	struct collector *collector = NULL;

	text_add(&head, file->text, metrics ? (size_t)(metrics - file->text) : file->size);
	text_add_string(&head, "\nmetrics: []\n");
	if (head.failed) {
		error_no_memory(err, "a collector");
	} else {
		collector = load_text(file, head.data, head.size, problems, err);
	}
	text_free(&head);
	return collector;
}

static bool add_texts(struct rule_set *set, const struct rule_set_options *options,
		      const struct builtin_file *files, size_t count, struct etw_error *err)
{
	struct problems *problems = yaml_problems(options->config->tree);
	bool skip = options->skip_off && !uses_all(options->config);

	for (size_t i = 0; i < count; i++) {
		const struct builtin_file *file = &files[i];
		struct collector *collector =
			skip ? load_head(file, problems, err) :
			       load_text(file, file->text, file->size, problems, err);

		if (skip && collector && will_be_on(options, collector)) {
			collector_free(collector);
			collector = load_text(file, file->text, file->size, problems, err);
		}
		if (!collector || !add_collector(set, collector, true, err)) {
			return false;
		}
	}
	return true;
}

/* Sets name to the name of the collector in this file. Returns false if the file is no ".yaml". */
static bool file_collector(const char *path, char *name, size_t size)
{
	const char *base = path;
	size_t base_size;

	for (const char *at = path; *at != '\0'; at++) {
		if (*at == '/' || *at == '\\') {
			base = at + 1;
		}
	}
	base_size = strlen(base);
	if (!text_ends_nocase(base, base_size, ".yaml", 5) || base_size - 5 >= size) {
		return false;
	}
	memcpy(name, base, base_size - 5);
	name[base_size - 5] = '\0';
	return true;
}

static bool add_file(struct rule_set *set, const char *path, struct problems *problems,
		     struct etw_error *err)
{
	struct yaml_tree *tree;
	char name[128];

	if (!file_collector(path, name, sizeof name)) {
		error_set(err, ETW_ERROR_CONFIG,
			  "%s: a collector file must have a name of the form NAME.yaml", path);
		problems_add_file(problems, err->text, false);
		return false;
	}
	tree = yaml_open_file(path, path, problems, err);
	return tree && rule_set_add(set, tree, name, false, err);
}

/* Adds the files that can be read. Returns false if there are others, or without memory. */
static bool add_files(struct rule_set *set, const struct config *config, struct etw_error *err)
{
	bool good = true;

	for (size_t i = 0; i < config->collector_files.count; i++) {
		good = add_file(set, config->collector_files.paths[i], yaml_problems(config->tree),
				err) &&
		       good;
		if (!good && err->code != ETW_ERROR_CONFIG) {
			return false;
		}
	}
	return good;
}

static int compare_names(const void *a, const void *b)
{
	const struct collector *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Reports an error of the configuration at a place in its file; line 0 means the command line. */
static bool config_error(const struct config *config, unsigned line, unsigned column,
			 struct etw_error *err, const char *sentence)
{
	const struct yaml_node at = { .line = line, .column = column };

	if (line > 0) {
		return yaml_error(config->tree, &at, err, "%s", sentence);
	}
	error_set(err, ETW_ERROR_CONFIG, "%s", sentence);
	problems_add_file(yaml_problems(config->tree), err->text, false);
	return false;
}

static bool unknown_collector(const struct rule_set *set, const struct config *config,
			      const struct config_switch *at, struct etw_error *err)
{
	struct etw_text sentence = { 0 };
	struct nearest nearest = { .word = at->collector, .size = strlen(at->collector) };

	for (size_t i = 0; i < set->collector_count; i++) {
		nearest_offer(&nearest, set->collectors[i]->name);
	}
	text_add_format(&sentence, "unknown collector '%s'%s%s%s known: ", at->collector,
			nearest.best ? "; did you mean '" : ";", nearest.best ? nearest.best : "",
			nearest.best ? "'?" : "");
	for (size_t i = 0; i < set->collector_count; i++) {
		text_add_format(&sentence, "%s%s", i > 0 ? ", " : "", set->collectors[i]->name);
	}
	if (sentence.failed) {
		error_no_memory(err, "the names of collectors");
	} else {
		config_error(config, at->line, at->column, err, sentence.data);
	}
	text_free(&sentence);
	return false;
}

static struct collector_info *find_info(const struct rule_set *set, const char *name)
{
	size_t i = 0;

	while (i < set->collector_count && strcmp(set->infos[i].name, name) != 0) {
		i++;
	}
	return i < set->collector_count ? &set->infos[i] : NULL;
}

static bool switch_all(struct rule_set *set, const struct config *config,
		       const struct config_switch *switches, size_t count, struct etw_error *err)
{
	bool good = true;

	for (size_t i = 0; i < count; i++) {
		struct collector_info *info = find_info(set, switches[i].collector);

		if (info) {
			info->on = switches[i].on;
		} else {
			good = unknown_collector(set, config, &switches[i], err);
		}
	}
	return good;
}

/* ---- filters ---- */

static bool load_patterns(const struct config *config, const struct config_pattern *patterns,
			  size_t count, struct regex ***regexes, size_t *loaded,
			  struct etw_error *err)
{
	bool good = true;

	*regexes = calloc(count + 1, sizeof(struct regex *));
	if (!*regexes) {
		return error_no_memory(err, "filters");
	}
	for (size_t i = 0; i < count; i++) {
		const struct config_pattern *pattern = &patterns[i];
		struct etw_error why;

		if (!pattern->text) { /* the configuration has errors */
			continue;
		}
		(*regexes)[*loaded] = regex_new(pattern->text, strlen(pattern->text), &why);
		if ((*regexes)[*loaded]) {
			++*loaded;
		} else if (why.code == ETW_ERROR_CONFIG) {
			good = config_error(config, pattern->line, pattern->column, err, why.text);
		} else {
			return error_set(err, why.code, "%s", why.text);
		}
	}
	return good;
}

static bool load_dropped(struct rule_set *set, const struct config *config, struct etw_error *err)
{
	size_t texts = 0;
	bool good = true;

	set->dropped = calloc(config->dropped_event_count + 1, sizeof *set->dropped);
	set->dropped_texts = calloc(config->dropped_event_count + 1, sizeof *set->dropped_texts);
	if (!set->dropped || !set->dropped_texts) {
		return error_no_memory(err, "filters");
	}
	for (size_t i = 0; i < config->dropped_event_count; i++) {
		const struct config_event_filter *filter = &config->dropped_events[i];
		struct event_pattern *pattern = &set->dropped[set->dropped_count];
		struct etw_error why;
		char *text;

		if (!filter->event) { /* the configuration has errors */
			continue;
		}
		text = text_duplicate(filter->event, strlen(filter->event));
		if (!text) {
			return error_no_memory(err, "filters");
		}
		set->dropped_texts[texts++] = text;
		if (event_pattern_parse(text, strlen(text), pattern, &why)) {
			set->dropped_count++;
		} else {
			good = config_error(config, filter->line, filter->column, err, why.text);
		}
	}
	return good;
}

static bool load_filters(struct rule_set *set, const struct config *config, struct etw_error *err)
{
	bool include = load_patterns(config, config->include_processes,
				     config->include_process_count, &set->include,
				     &set->include_count, err);
	bool exclude = load_patterns(config, config->exclude_processes,
				     config->exclude_process_count, &set->exclude,
				     &set->exclude_count, err);

	return load_dropped(set, config, err) && include && exclude;
}

static void free_filters(struct rule_set *set)
{
	for (size_t i = 0; i < set->include_count; i++) {
		regex_free(set->include[i]);
	}
	for (size_t i = 0; i < set->exclude_count; i++) {
		regex_free(set->exclude[i]);
	}
	for (size_t i = 0; set->dropped_texts && set->dropped_texts[i]; i++) {
		free(set->dropped_texts[i]);
	}
	free(set->include);
	free(set->exclude);
	free(set->dropped);
	free(set->dropped_texts);
}

bool filters_look_at_processes(const struct rule_set *set)
{
	return set->include_count > 0 || set->exclude_count > 0;
}

static bool any_matches(struct regex *const *regexes, size_t count, struct regex_matcher *matcher,
			const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (regex_matches(matcher, regexes[i], name, size)) {
			return true;
		}
	}
	return false;
}

bool filters_keep_process(const struct rule_set *set, struct regex_matcher *matcher,
			  const char *name, size_t size)
{
	return (set->include_count == 0 ||
		any_matches(set->include, set->include_count, matcher, name, size)) &&
	       !any_matches(set->exclude, set->exclude_count, matcher, name, size);
}

bool filters_drop_event(const struct rule_set *set, const struct etw_event_class *class)
{
	for (size_t i = 0; i < set->dropped_count; i++) {
		if (event_pattern_matches(&set->dropped[i], class)) {
			return true;
		}
	}
	return false;
}

/* ---- limits of all rules together ---- */

/*
 * Counts how many different labels, fields and pairs the enabled collectors have together.
 *
 * Compiled rules refer to labels, values and spans by numbers of 16 bits, and all rules may be
 * about one event class (compile_values.c). So these limits hold for the whole set: a configuration
 * that exceeds them is refused when it is read, and not when the first event arrives.
 */

struct count {
	struct map met; /* keys of what was counted */
	size_t most;
};

struct counts {
	struct count labels, fields;
	const char *exceeded; /* what there is too much of; NULL: nothing */
	size_t most;
	bool no_memory;
};

static void count_key(struct counts *counts, struct count *count, uint64_t key, const char *what)
{
	counts->no_memory |= !map_put(&count->met, key, NULL);
	if (count->met.count > count->most && !counts->exceeded) {
		counts->exceeded = what;
		counts->most = count->most;
	}
}

static void count_field(struct counts *counts, const struct field_ref *field)
{
	if (field->name) {
		count_key(counts, &counts->fields, text_hash(field->name, strlen(field->name), 0),
			  "fields");
	}
}

/* Labels that show the same field are one, and so are those that a metric gives to its events. The
 * engine shares more, labels with equal decoders, so it never needs more numbers than are counted.
 */
static void count_label(struct counts *counts, const struct label *label)
{
	if (label->source == LABEL_TEXT) {
		return;
	}
	count_field(counts, &label->field);
	count_key(counts, &counts->labels,
		  label->source == LABEL_FIELD ?
			  text_hash(label->field.name, strlen(label->field.name), 0) :
			  (uint64_t)(uintptr_t)label->at,
		  "labels");
}

static void count_span_event(struct counts *counts, const struct span *span,
			     const struct span_event *event)
{
	for (size_t i = 0; event->keys && i < span->key_count; i++) {
		count_field(counts, &event->keys[i]);
	}
}

static void count_span(struct counts *counts, const struct span *span)
{
	count_span_event(counts, span, &span->start);
	count_span_event(counts, span, &span->middle);
	count_span_event(counts, span, &span->stop);
	for (size_t i = 0; i < span->captured_count; i++) {
		count_label(counts, &span->captured[i]);
	}
}

static void count_rule(struct counts *counts, const struct rule *rule)
{
	count_field(counts, &rule->value);
	count_field(counts, &rule->since);
	for (size_t i = 0; i < rule->condition_count; i++) {
		count_field(counts, &rule->conditions[i].field);
	}
	for (size_t i = 0; i < rule->label_count; i++) {
		count_label(counts, &rule->labels[i]);
	}
	if (rule->span) {
		count_span(counts, rule->span);
	}
}

/* Checks the numbers of labels and fields of the enabled rules. The problems of the trees get an
 * error. */
static bool check_limits(const struct rule_set *set, struct etw_error *err)
{
	struct counts counts = { .labels.most = RULE_LABELS_MOST, .fields.most = RULE_FIELDS_MOST };
	bool good = true;

	for (size_t i = 0; i < set->rule_count && good; i++) {
		const struct rule *rule = set->rules[i].rule;

		count_rule(&counts, rule);
		if (counts.no_memory) {
			good = error_no_memory(err, "rules");
		} else if (counts.exceeded) {
			good = yaml_error(
				rule->collector->tree, rule->at, err,
				"the collectors that are on have more than %zu different %s "
				"together",
				counts.most, counts.exceeded);
		}
	}
	map_done(&counts.labels.met);
	map_done(&counts.fields.met);
	return good;
}

/* ---- the whole ---- */

static bool register_own(struct rule_set *set, struct registry *registry, struct etw_error *err)
{
	static const struct family_options errors = {
		.name = "etw_decode_errors_total",
		.help = "Events that a rule could not evaluate, by reason. A missing field counts once for each event class, a missing array element each time.",
		.type = FAMILY_COUNTER,
		.labels = { "provider", "reason" },
		.label_count = 2,
	};
	static const struct family_options unmatched = {
		.name = "etw_state_unmatched_total",
		.help = "Start events without a stop in time (side=\"start\") and stop events without a start (side=\"stop\").",
		.type = FAMILY_COUNTER,
		.labels = { "table", "side" },
		.label_count = 2,
	};
	static const struct family_options durations = {
		.name = "etw_invalid_durations_total",
		.help = "Durations that a family did not count because they are invalid, by family and reason (negative, or longer than the machine had been running).",
		.type = FAMILY_COUNTER,
		.labels = { "metric", "reason" },
		.label_count = 2,
	};

	set->decode_errors = registry_family(registry, &errors, err);
	set->unmatched = registry_family(registry, &unmatched, err);
	set->invalid_durations = registry_family(registry, &durations, err);
	return set->decode_errors && set->unmatched && set->invalid_durations;
}

/* Checks each collector, also after errors in another one. */
static bool check_all(struct rule_set *set, const struct rule_set_options *options,
		      struct etw_error *err)
{
	bool good = true;

	for (size_t i = 0; i < set->collector_count; i++) {
		struct collector *collector = set->collectors[i];

		set->infos[i] = (struct collector_info){
			.name = collector->name,
			.help = collector->help,
			.default_on = collector->default_on,
			.on = options->every_collector ||
			      (collector->default_on && !options->disable_defaults),
		};
		good = collector_check(collector, &options->manifests, err) && good;
		if (!good && err->code != ETW_ERROR_CONFIG) {
			return false;
		}
	}
	return good;
}

static bool check_and_register(struct rule_set *set, const struct rule_set_options *options,
			       struct registry *registry, struct etw_error *err)
{
	const struct config *config = options->config;
	bool good;

	rule_set_add_labels(set, config);
	good = check_all(set, options, err) && !set->incomplete;
	if (!good && err->code != ETW_ERROR_NONE && err->code != ETW_ERROR_CONFIG) {
		return false;
	}
	good = load_filters(set, config, err) && good;
	if (!config->broken && !set->incomplete) {
		good = switch_all(set, config, config->switches, config->switch_count, err) && good;
		good = switch_all(set, config, options->switches, options->switch_count, err) &&
		       good;
	}
	return good && rule_set_declare_families(set, err) &&
	       rule_set_register(set, registry, err) && check_limits(set, err) &&
	       register_own(set, registry, err);
}

bool rule_set_finish(struct rule_set *set, const struct rule_set_options *options,
		     struct registry *registry, struct etw_error *err)
{
	struct etw_error why = { 0 };
	bool good;

	if (set->collector_count > 0) {
		qsort(set->collectors, set->collector_count, sizeof(struct collector *),
		      compare_names);
	}
	set->infos = calloc(set->collector_count + 1, sizeof *set->infos);
	if (!set->infos) {
		return error_no_memory(err, "collectors");
	}
	good = check_and_register(set, options, registry, &why);
	if (!good && (why.code == ETW_ERROR_NONE || why.code == ETW_ERROR_CONFIG)) {
		problems_first_error(yaml_problems(options->config->tree), &why);
	}
	if (!good && err) {
		*err = why;
	}
	return good;
}

struct rule_set *rule_set_new(const struct rule_set_options *options, struct registry *registry,
			      struct etw_error *err)
{
	const struct config *config = options->config;
	struct rule_set *set = calloc(1, sizeof *set);
	struct etw_error why = { 0 };

	if (!set) {
		error_no_memory(err, "rules");
		return NULL;
	}
	set->prepare = options->prepare;
	if (!add_texts(set, options, builtin_collectors, builtin_collector_count, &why) ||
	    !add_texts(set, options, options->collectors, options->collector_count, &why)) {
		goto fail;
	}
	set->incomplete = !add_files(set, config, &why);
	if (set->incomplete && why.code != ETW_ERROR_CONFIG) {
		goto fail;
	}
	if (rule_set_finish(set, options, registry, &why)) {
		return set;
	}

fail:
	if (why.code == ETW_ERROR_CONFIG) {
		problems_first_error(yaml_problems(config->tree), &why);
	}
	if (err) {
		*err = why;
	}
	rule_set_free(set);
	return NULL;
}

void rule_set_free(struct rule_set *set)
{
	if (!set) {
		return;
	}
	for (size_t i = 0; i < set->collector_count; i++) {
		collector_free(set->collectors[i]);
	}
	free_filters(set);
	free(set->collectors);
	free(set->infos);
	free(set->families);
	map_done(&set->family_by_name);
	free(set->rules);
	free(set->spans);
	free(set);
}

const struct collector_info *rule_set_collector(const struct rule_set *set, size_t index)
{
	return index < set->collector_count ? &set->infos[index] : NULL;
}

bool rule_set_on(const struct rule_set *set, const char *collector)
{
	const struct collector_info *info = find_info(set, collector);

	return info && info->on;
}

const struct family *rule_set_next_family(const struct rule_set *set, const char *collector,
					  size_t *at)
{
	while (*at < set->rule_count) {
		const struct active_rule *active = &set->rules[(*at)++];

		if (strcmp(active->rule->collector->name, collector) == 0) {
			return active->declared->family;
		}
	}
	return NULL;
}

uint32_t rule_set_features(const struct rule_set *set)
{
	return set->features;
}

uint32_t rule_set_kernel_groups(const struct rule_set *set)
{
	uint32_t groups = 0;

	for (size_t i = 0; i < set->collector_count; i++) {
		if (set->infos[i].on) {
			groups |= set->collectors[i]->kernel_groups;
		}
	}
	return groups;
}

uint32_t collector_kernel_flags(const struct collector *collector)
{
	uint32_t features = 0, flags = collector->kernel_flags;
	const struct rule *rule = NULL;

	while ((rule = collector_next_rule(collector, rule)) != NULL) {
		features |= rule_features(rule);
		/* events are counted by process */
		flags |= ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD;
	}
	return flags | tracker_kernel_flags(features);
}

bool rule_set_only_kernel(const struct rule_set *set, size_t index)
{
	const struct collector *collector = set->collectors[index];
	const struct rule *rule = NULL;

	while ((rule = collector_next_rule(collector, rule)) != NULL) {
		if (rule->event.scope != EVENTS_KERNEL) {
			return false;
		}
	}
	return collector_kernel_flags(collector) != 0 && collector->substitute_count == 0 &&
	       !state_gauges_without_kernel(collector->name);
}

uint32_t rule_set_kernel_flags(const struct rule_set *set)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < set->collector_count; i++) {
		if (set->infos[i].on) {
			flags |= collector_kernel_flags(set->collectors[i]);
		}
	}
	return flags;
}

/* Returns the provider with this index among those that the enabled collectors list; NULL after
 * the last. */
static const struct etw_provider_spec *needed_provider(const struct rule_set *set, size_t index,
						       bool substitutes)
{
	for (size_t i = 0; i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];
		size_t count = substitutes ? collector->substitute_count :
					     collector->provider_count;

		if (!set->infos[i].on) {
			continue;
		}
		if (index < count) {
			return substitutes ? &collector->substitutes[index] :
					     &collector->providers[index];
		}
		index -= count;
	}
	return NULL;
}

const struct etw_provider_spec *rule_set_provider(const struct rule_set *set, size_t index)
{
	return needed_provider(set, index, false);
}

const struct etw_provider_spec *rule_set_substitute(const struct rule_set *set, size_t index)
{
	return needed_provider(set, index, true);
}
