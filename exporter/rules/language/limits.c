/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "exporter/rules/language/rule_set.h"

/*
 * How many different labels, fields and pairs the enabled collectors have together.
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

static void add(struct counts *counts, struct count *count, uint64_t key, const char *what)
{
	counts->no_memory |= !map_put(&count->met, key, NULL);
	if (count->met.count > count->most && !counts->exceeded) {
		counts->exceeded = what;
		counts->most = count->most;
	}
}

static void add_field(struct counts *counts, const struct field_ref *field)
{
	if (field->name) {
		add(counts, &counts->fields, text_hash(field->name, strlen(field->name), 0),
		    "fields");
	}
}

/* Labels that show the same field are one, and so are those that a metric gives to its events. The
 * engine shares more, labels with equal decoders, so it never needs more numbers than are counted.
 */
static void add_label(struct counts *counts, const struct label *label)
{
	if (label->source == LABEL_TEXT) {
		return;
	}
	add_field(counts, &label->field);
	add(counts, &counts->labels,
	    label->source == LABEL_FIELD ?
		    text_hash(label->field.name, strlen(label->field.name), 0) :
		    (uint64_t)(uintptr_t)label->at,
	    "labels");
}

static void add_span_event(struct counts *counts, const struct span *span,
			   const struct span_event *event)
{
	for (size_t i = 0; event->keys && i < span->key_count; i++) {
		add_field(counts, &event->keys[i]);
	}
}

static void add_span(struct counts *counts, const struct span *span)
{
	add_span_event(counts, span, &span->start);
	add_span_event(counts, span, &span->middle);
	add_span_event(counts, span, &span->stop);
	for (size_t i = 0; i < span->captured_count; i++) {
		add_label(counts, &span->captured[i]);
	}
}

static void add_rule(struct counts *counts, const struct rule *rule)
{
	add_field(counts, &rule->value);
	add_field(counts, &rule->since);
	for (size_t i = 0; i < rule->condition_count; i++) {
		add_field(counts, &rule->conditions[i].field);
	}
	for (size_t i = 0; i < rule->label_count; i++) {
		add_label(counts, &rule->labels[i]);
	}
	if (rule->span) {
		add_span(counts, rule->span);
	}
}

bool rule_set_check_limits(const struct rule_set *set, struct etw_error *err)
{
	struct counts counts = { .labels.most = RULE_LABELS_MOST, .fields.most = RULE_FIELDS_MOST };
	bool good = true;

	for (size_t i = 0; i < set->rule_count && good; i++) {
		const struct rule *rule = set->rules[i].rule;

		add_rule(&counts, rule);
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
