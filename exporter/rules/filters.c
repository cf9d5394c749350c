/* SPDX-License-Identifier: MIT */
#include "rules/filters.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static bool load_patterns(const struct config *config, const struct config_pattern *patterns,
			  size_t count, struct regex ***regexes, size_t *loaded, struct error *err)
{
	*regexes = calloc(count + 1, sizeof(struct regex *));
	if (!*regexes) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for filters");
	}
	for (size_t i = 0; i < count; i++) {
		struct error why;

		(*regexes)[i] = regex_new(patterns[i].text, strlen(patterns[i].text), &why);
		if (!(*regexes)[i]) {
			return error_set(err, ERROR_CONFIG, "%s:%u:%u: %s", config->path,
					 patterns[i].line, patterns[i].column, why.text);
		}
		++*loaded;
	}
	return true;
}

static bool load_dropped(struct rule_set *set, const struct config *config, struct error *err)
{
	set->dropped = calloc(config->dropped_event_count + 1, sizeof *set->dropped);
	set->dropped_texts = calloc(config->dropped_event_count + 1, sizeof *set->dropped_texts);
	if (!set->dropped || !set->dropped_texts) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for filters");
	}
	for (size_t i = 0; i < config->dropped_event_count; i++) {
		const struct config_event_filter *filter = &config->dropped_events[i];
		size_t size = strlen(filter->event);
		char *text = text_duplicate(filter->event, size);
		struct error why;

		if (!text) {
			return error_set(err, ERROR_NO_MEMORY, "no memory for filters");
		}
		set->dropped_texts[i] = text;
		if (!event_pattern_parse(text, size, &set->dropped[i], &why)) {
			return error_set(err, ERROR_CONFIG, "%s:%u:%u: %s", config->path,
					 filter->line, filter->column, why.text);
		}
		set->dropped_count++;
	}
	return true;
}

bool rule_set_load_filters(struct rule_set *set, const struct config *config, struct error *err)
{
	return load_patterns(config, config->include_processes, config->include_process_count,
			     &set->include, &set->include_count, err) &&
	       load_patterns(config, config->exclude_processes, config->exclude_process_count,
			     &set->exclude, &set->exclude_count, err) &&
	       load_dropped(set, config, err);
}

void rule_set_free_filters(struct rule_set *set)
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

bool filters_drop_event(const struct rule_set *set, const struct event_class *class)
{
	for (size_t i = 0; i < set->dropped_count; i++) {
		if (event_pattern_matches(&set->dropped[i], class)) {
			return true;
		}
	}
	return false;
}
