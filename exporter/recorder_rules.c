/* SPDX-License-Identifier: MIT */
#include "exporter/setup.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/series.h"
#include "config/yaml.h"
#include "exporter/health.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/track/tracker.h"

/* The families against which rules are checked. */
struct rule_check {
	const struct setup *setup;
	struct registry *own; /* has the families of the program, which the set-up lacks */
};

static void warn(const struct rule_check *check, const struct config_recorder_rule *rule,
		 const char *before, const char *name, const char *after,
		 const struct nearest *near)
{
	const struct yaml_node at = { .line = rule->line, .column = rule->column };
	const char *meant = near ? near->best : NULL;

	yaml_warning(check->setup->config->tree, &at, "%s'%s'%s%s%s%s", before, name, after,
		     meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static void warn_of_unknown(const struct rule_check *check, const struct config_recorder_rule *rule,
			    const char *name)
{
	const struct rule_set *set = check->setup->rules;
	struct nearest nearest = { .word = name, .size = strlen(name) };
	struct family *family = NULL;

	for (size_t i = 0; i < set->family_count; i++) {
		nearest_offer(&nearest, set->families[i].metric->name);
	}
	for (const struct state_gauge *gauge = state_gauges; gauge->family; gauge++) {
		nearest_offer(&nearest, gauge->family);
	}
	while ((family = registry_next_family(check->own, family)) != NULL) {
		nearest_offer(&nearest, family_name(family));
	}
	warn(check, rule, "this rule never fires: there is no metric ", name, "", &nearest);
}

static void warn_if_off(const struct rule_check *check, const struct config_recorder_rule *rule,
			const char *name, const char *collector, bool on)
{
	char after[64];

	snprintf(after, sizeof after, " is off: %.40s", collector);
	if (!on) {
		warn(check, rule, "this rule never fires: the collector of ", name, after, NULL);
	}
}

static void check_labels(const struct rule_check *check, const struct config_recorder_rule *rule,
			 const struct series_selector *selector, const struct family *family)
{
	const char *label, *known;

	for (size_t i = 0; (label = series_selector_label(selector, i)) != NULL; i++) {
		struct nearest nearest = { .word = label, .size = strlen(label) };
		char after[128];
		bool found = false;

		for (size_t k = 0; (known = family_label(family, k)) != NULL; k++) {
			found |= strcmp(label, known) == 0;
			nearest_offer(&nearest, known);
		}
		snprintf(after, sizeof after, " has no label '%.100s'", label);
		if (!found) {
			warn(check, rule, "", family_name(family), after, &nearest);
		}
	}
}

static void check_rule(const struct rule_check *check, const struct config_recorder_rule *rule,
		       const struct series_selector *selector)
{
	const char *name = series_selector_name(selector);
	const struct declared_family *declared = rule_set_find_family(check->setup->rules, name);
	const struct family *family = registry_find_family(check->own, name);

	for (const struct state_gauge *gauge = state_gauges; gauge->family; gauge++) {
		if (strcmp(gauge->family, name) == 0) {
			warn_if_off(check, rule, name, gauge->collector,
				    rule_set_on(check->setup->rules, gauge->collector));
			return;
		}
	}
	if (declared) {
		warn_if_off(check, rule, name, declared->collector->name, declared->family != NULL);
		family = declared->family;
	} else if (!family) { /* every rule set adds two families of its own */
		family = registry_find_family(check->setup->registry, name);
	}
	if (!declared && !family) {
		warn_of_unknown(check, rule, name);
	} else if (family) {
		check_labels(check, rule, selector, family);
	}
}

void recorder_rules_warn(const struct setup *setup)
{
	const struct config_recorder *recorder = &setup->config->recorder;
	struct rule_check check = { .setup = setup };

	if (!recorder->dir || recorder->rule_count == 0) {
		return;
	}
	check.own = registry_new(NULL, NULL);
	if (check.own && !health_declare(check.own, NULL)) {
		registry_free(check.own);
		check.own = NULL;
	}
	for (size_t i = 0; check.own && i < recorder->rule_count; i++) {
		struct series_selector *selector =
			series_selector_of(recorder->rules[i].series, NULL);

		if (selector) { /* NULL only without memory: the file was read with this selector */
			check_rule(&check, &recorder->rules[i], selector);
		}
		series_selector_free(selector);
	}
	registry_free(check.own);
}
