/* SPDX-License-Identifier: MIT */
/*
 * Samples that are known before the first event: those of rules whose labels are all fixed. They
 * exist at 0 from the start, because rate() and increase() lose the first value of a series that
 * appears.
 */
#include "rules/rule_set.h"

/* Every label of the rule is a literal or a map's result: its samples are known now and exist at 0
 * from the start. */
static bool has_fixed_labels(const struct rule *rule)
{
	for (size_t i = 0; i < rule->label_count; i++) {
		if (rule->labels[i].source != LABEL_TEXT && rule->labels[i].source != LABEL_MAP) {
			return false;
		}
	}
	return true;
}

/* The text of a label's n-th possible value; NULL behind the last. */
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

/* Goes through all combinations like a counter with one digit a label. */
static void make_fixed(const struct active_rule *active, struct intern *strings,
		       struct shard *shard)
{
	const struct rule *rule = active->rule;
	size_t digits[FAMILY_LABELS_MAX] = { 0 };

	for (unsigned made = 0; made < FIXED_SERIES_MAX; made++) {
		uint32_t ids[FAMILY_LABELS_MAX];
		size_t i = 0;

		for (size_t j = 0; j < rule->label_count; j++) {
			ids[j] = intern_string(strings, fixed_text(&rule->labels[j], digits[j]));
		}
		family_cells(active->plan->family, shard, ids, NULL);
		while (i < rule->label_count && !fixed_text(&rule->labels[i], ++digits[i])) {
			digits[i++] = 0;
		}
		if (i == rule->label_count) {
			return;
		}
	}
}

void rule_set_make_samples(const struct rule_set *set, struct registry *registry,
			   struct shard *shard)
{
	struct intern *strings = registry_strings(registry);

	for (size_t i = 0; i < set->rule_count; i++) {
		if (has_fixed_labels(set->rules[i].rule)) {
			make_fixed(&set->rules[i], strings, shard);
		}
	}
}
