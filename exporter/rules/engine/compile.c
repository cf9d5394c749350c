/* SPDX-License-Identifier: MIT */
/*
 * Compiles the rules for an event class, when its first event arrives.
 *
 * A rule is written for events by name and may fit several event classes, each with a layout of its
 * own. For each class it becomes a compiled rule: conditions and an amount as values (places to
 * read from), literals as numbers of their field, labels as ids or as what makes them. What is the
 * same for all events of the class is decided here: a condition that always holds is left out, a
 * rule with one that never holds is not compiled. The per-event code in apply.c does only what is
 * left.
 *
 * What a layout lacks can be seen here only, since layouts of other providers are known when their
 * events arrive. A rule whose value or condition is missing, or of another type, does not apply to
 * the class. That is counted once, and reported in one sentence for each rule, because every
 * process may bring its own version of an event.
 *
 * A class is compiled again when its schema changes, so everything here must cope with being freed
 * half-built.
 */
#include <stdlib.h>
#include <string.h>

#include "rules/engine/compile_values.h"
#include "rules/language/probe.h"
#include "source/provider_names.h"

/* ---- conditions ---- */

static bool fits_form(const struct condition *condition, const struct value *value)
{
	return value->form == FORM_NUMBER ? !compares_texts(condition->comparison) :
					    !compares_numbers(condition->comparison);
}

/* The literals as numbers: their own, or those that the map of the field has for their names. */
static enum rule_result condition_numbers(struct builder *builder, const struct value *value,
					  struct compiled_condition *compiled)
{
	const struct condition *condition = compiled->condition;

	compiled->numbers = calloc(condition->literal_count, sizeof *compiled->numbers);
	if (!compiled->numbers) {
		return RULE_FAILED;
	}
	for (size_t i = 0; i < condition->literal_count; i++) {
		if (!literal_for(&condition->literals[i], value, &compiled->numbers[i])) {
			free(compiled->numbers);
			return compile_wrong_type(builder);
		}
	}
	return RULE_APPLIES;
}

static enum rule_result compile_condition(struct builder *builder,
					  const struct condition *condition,
					  struct compiled_rule *rule)
{
	struct compiled_condition compiled = { .condition = condition,
					       .value_index = compile_find_value(
						       builder, &condition->field) };
	const struct value *value;
	bool holds;

	if (compiled.value_index == NO_VALUE) {
		return compile_lacks_field(builder, &condition->field);
	}
	value = &builder->compiled->values[compiled.value_index];
	if (!fits_form(condition, value)) {
		return compile_wrong_type(builder);
	}
	if (value->form == FORM_NUMBER) {
		enum rule_result result = condition_numbers(builder, value, &compiled);

		if (result != RULE_APPLIES) {
			return result;
		}
	}
	if (value->type == VALUE_CONSTANT) {
		holds = condition_compute(builder->engine, &compiled, value);
		free(compiled.numbers);
		return holds ? RULE_APPLIES : RULE_NEVER;
	}
	if (value->form == FORM_ID) {
		compiled.cache = cache_new();
		if (!compiled.cache) {
			return RULE_FAILED;
		}
	}
	compiled.owner = ++builder->engine->owners;
	rule->conditions[rule->condition_count++] = compiled;
	return RULE_APPLIES;
}

static enum rule_result compile_conditions(struct builder *builder, const struct rule *from,
					   struct compiled_rule *rule)
{
	if (from->condition_count == 0) {
		return RULE_APPLIES;
	}
	rule->conditions = calloc(from->condition_count, sizeof *rule->conditions);
	if (!rule->conditions) {
		return RULE_FAILED;
	}
	for (size_t i = 0; i < from->condition_count; i++) {
		enum rule_result result = compile_condition(builder, &from->conditions[i], rule);

		if (result != RULE_APPLIES) {
			return result;
		}
	}
	return RULE_APPLIES;
}

/* ---- values ---- */

/* The frequency of the ticks that a field counts: response times of disks are taken with the
 * performance counter, also when the session has another clock. */
static uint64_t ticks_frequency(const struct builder *builder, const struct field_ref *field)
{
	if (strcmp(field->name, "HighResResponseTime") == 0) {
		return builder->engine->clock.perf_frequency;
	}
	return builder->engine->clock.frequency;
}

static enum rule_result compile_value(struct builder *builder, const struct rule *from,
				      struct compiled_rule *rule)
{
	static const uint64_t factors[] = {
		[UNIT_NONE] = 1,    [UNIT_KB] = 1024, [UNIT_TICKS] = 0,    [UNIT_NS] = 1,
		[UNIT_100NS] = 100, [UNIT_US] = 1000, [UNIT_MS] = 1000000, [UNIT_S] = 1000000000,
	};
	const struct field_ref *field = from->since.name ? &from->since : &from->value;
	const struct value *value;

	rule->factor = factors[from->unit];
	if (!field->name) {
		rule->amount_type = AMOUNT_ONE;
		return RULE_APPLIES;
	}
	rule->amount_type = from->since.name ? AMOUNT_SINCE : AMOUNT_VALUE;
	rule->value_index = compile_find_value(builder, field);
	if (rule->value_index == NO_VALUE) {
		return compile_lacks_field(builder, field);
	}
	value = &builder->compiled->values[rule->value_index];
	if (value->form == FORM_TEXT && value->field && field_is_real(value->field) &&
	    !from->since.name) {
		rule->amount_type = AMOUNT_REAL;
	} else if (value->form != FORM_NUMBER) {
		return compile_wrong_type(builder);
	}
	if (from->since.name) {
		rule->factor = 0;
		rule->frequency = builder->engine->clock.frequency;
	} else {
		rule->frequency = ticks_frequency(builder, field);
	}
	return RULE_APPLIES;
}

/* ---- rules ---- */

static void free_rule(struct compiled_rule *rule)
{
	for (unsigned i = 0; i < rule->condition_count; i++) {
		free(rule->conditions[i].numbers);
		free(rule->conditions[i].cache);
	}
	free(rule->conditions);
}

static enum rule_result compile_rule(struct builder *builder, const struct active_rule *active,
				     struct compiled_rule *rule)
{
	const struct rule *from = active->rule;
	enum rule_result result;

	*rule = (struct compiled_rule){
		.family = active->declared->family,
		.named = from->event.scope != EVENTS_ALL,
		.histogram = from->metric->type == FAMILY_HISTOGRAM,
		.op = (uint8_t)from->op,
	};
	builder->kernel = from->event.scope != EVENTS_PROVIDER;
	builder->rule = active;
	builder->lacks = builder->wrong_type = false;
	result = compile_conditions(builder, from, rule);
	if (result == RULE_APPLIES) {
		result = compile_value(builder, from, rule);
	}
	if (result == RULE_APPLIES) {
		result = compile_labels(builder, from, rule);
	}
	if (builder->failed) {
		result = RULE_FAILED;
	}
	if (result != RULE_APPLIES) {
		free_rule(rule);
	}
	return result;
}

static bool has_version(const struct rule *rule, uint8_t version)
{
	return rule->every_version || (rule->versions[version / 64] >> version % 64 & 1) != 0;
}

static bool is_for_names(const struct builder *builder)
{
	return builder->engine->names_only && !builder->class->classic &&
	       provider_is(&builder->class->provider, PROVIDER_KERNEL_PROCESS);
}

/* Once for each rule: every process may bring an event that fits none. */
static void report_schema_mismatch(const struct builder *builder, size_t index)
{
	struct rule_engine *engine = builder->engine;
	const struct rule *rule = engine->set->rules[index].rule;
	const struct event_class *class = builder->class;
	struct error err;

	if (engine->mismatches_reported[index]) {
		return;
	}
	engine->mismatches_reported[index] = true;
	if (engine->on_schema_mismatch) {
		yaml_error(rule->collector->tree, rule->at, &err, "%s: event %s of %s %s",
			   rule->metric->name, class->event_name, class->provider_name,
			   builder->problem_type ?
				   "has a field of another type than the rule needs" :
				   "lacks a field that the rule asks for");
		engine->on_schema_mismatch(engine->schema_mismatch_context, err.text);
	}
}

/* As compile_rule(), by the index in the set; a rule that does not fit the schema is reported. */
static enum rule_result try_rule(struct builder *builder, size_t index)
{
	struct compiled_rules *compiled = builder->compiled;
	bool lacks = builder->problem_rule, differs = builder->problem_type;
	enum rule_result result;

	builder->problem_rule = builder->problem_type = false;
	result = compile_rule(builder, &builder->engine->set->rules[index],
			      &compiled->rules[compiled->rule_count]);
	compile_add_note(builder, &(struct dry_run_note){
					  .number = (uint32_t)index,
					  .wrong_type = builder->wrong_type,
					  .left_out = result == RULE_NEVER &&
						      !builder->wrong_type && !builder->lacks,
				  });
	if (builder->problem_rule || builder->problem_type) {
		report_schema_mismatch(builder, index);
	}
	builder->problem_rule |= lacks;
	builder->problem_type |= differs;
	return result;
}

static bool compile_rules(struct builder *builder)
{
	const struct rule_set *set = builder->engine->set;
	const struct event_class *class = builder->class;
	struct compiled_rules *compiled = builder->compiled;
	/* Beyond the header nothing is known of an undecodable record, its process included. */
	bool only_every = compiled->undecodable || is_for_names(builder);
	size_t most = 0;

	for (size_t i = 0; i < set->rule_count; i++) {
		most += event_pattern_matches(&set->rules[i].rule->event, class) &&
			has_version(set->rules[i].rule, class->version);
	}
	compiled->rules = calloc(most + 1, sizeof *compiled->rules);
	if (!compiled->rules) {
		return false;
	}
	for (size_t i = 0; i < set->rule_count; i++) {
		const struct rule *rule = set->rules[i].rule;

		if (!event_pattern_matches(&rule->event, class) ||
		    !has_version(rule, class->version)) {
			continue;
		}
		if (only_every && rule->event.scope != EVENTS_ALL) {
			continue;
		}
		switch (try_rule(builder, i)) {
		case RULE_APPLIES:
			compiled->rules[compiled->rule_count].number = (uint32_t)i;
			compiled->rule_count++;
			break;
		case RULE_NEVER:
			break;
		case RULE_FAILED:
			return false;
		}
	}
	return true;
}

static bool compile_probe(struct builder *builder)
{
	struct compiled_rules *compiled = builder->compiled;
	enum rule_result result;

	builder->rule = NULL;
	result = compile_conditions(builder, probe_rule(builder->engine->probe), &compiled->probe);

	compiled->probed = result == RULE_APPLIES;
	return result != RULE_FAILED && !builder->failed;
}

/* Once nothing moves any more: parts point to parts. */
static void link_conditions(struct compiled_rules *compiled, struct compiled_rule *rule)
{
	for (unsigned i = 0; i < rule->condition_count; i++) {
		rule->conditions[i].value = &compiled->values[rule->conditions[i].value_index];
	}
}

static void link_rule(struct compiled_rules *compiled, struct compiled_rule *rule)
{
	bool counter = rule->op == GAUGE_NONE && !rule->histogram;

	rule->cache = &compiled->caches[rule->cache_index];
	if (rule->amount_type != AMOUNT_ONE) {
		rule->value = &compiled->values[rule->value_index];
	}
	link_conditions(compiled, rule);
	rule->plain = counter && rule->amount_type < AMOUNT_REAL &&
		      (!rule->value || (rule->factor == 1 && !rule->value->is_signed));
}

static bool link_compiled(struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->label_count; i++) {
		compiled->labels[i].value = &compiled->values[compiled->labels[i].value_index];
	}
	for (size_t i = 0; i < compiled->cache_count; i++) {
		struct label_set_cache *cache = &compiled->caches[i];

		for (unsigned j = 0; j < cache->label_count; j++) {
			cache->labels[j] = &compiled->labels[cache->label_indexes[j]];
		}
		cache->keyed = cache->label_count <= CACHED_LABELS_MAX;
		cache->entries =
			calloc((cache->keyed ? (size_t)CACHED_LABEL_SETS : 1U) * cache->rule_count,
			       sizeof(cell *));
		if (!cache->entries) {
			return false;
		}
		cache->entry = cache->entries;
	}
	for (size_t i = 0; i < compiled->rule_count; i++) {
		link_rule(compiled, &compiled->rules[i]);
	}
	link_conditions(compiled, &compiled->probe);
	return true;
}

static bool make_slices(struct rule_engine *engine, size_t count)
{
	struct field_slice *slices;

	if (engine->slice_count >= count) {
		return true;
	}
	slices = realloc(engine->slices, count * sizeof *slices);
	if (!slices) {
		return false;
	}
	engine->slices = slices;
	engine->slice_count = count;
	return true;
}

static bool ends_process(const struct event_class *class)
{
	if (class->kernel_class == KERNEL_PROCESS) {
		return class->opcode == KERNEL_OPCODE_START || class->opcode == KERNEL_OPCODE_STOP;
	}
	return !class->classic &&
	       (class->id == PROCESS_EVENT_START || class->id == PROCESS_EVENT_STOP) &&
	       provider_is(&class->provider, PROVIDER_KERNEL_PROCESS);
}

static void free_compiled(struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->rule_count; i++) {
		free_rule(&compiled->rules[i]);
	}
	free_rule(&compiled->probe);
	for (size_t i = 0; i < compiled->label_count; i++) {
		compiled_label_free(&compiled->labels[i]);
	}
	for (size_t i = 0; i < compiled->cache_count; i++) {
		free(compiled->caches[i].entries);
	}
	free(compiled->rules);
	for (size_t i = 0; i < compiled->part_count; i++) {
		free(compiled->parts[i]);
	}
	free(compiled->parts);
	free(compiled->notes);
	free(compiled->starts);
	free(compiled->stops);
	free(compiled->labels);
	free(compiled->caches);
	free(compiled->values);
	free(compiled);
}

void rule_engine_release(struct event_class *class)
{
	if (class->compiled) {
		free_compiled(class->compiled);
		class->compiled = NULL;
	}
}

bool rule_engine_prepare(struct rule_engine *engine, struct event_class *class)
{
	struct builder builder = { .engine = engine, .class = class };
	struct compiled_rules *compiled = calloc(1, sizeof *compiled);

	rule_engine_release(class);
	if (!compiled) {
		return false;
	}
	builder.compiled = compiled;
	compiled->undecodable = class->record_type >= RECORD_TIMED;
	compiled->schema = compiled->undecodable ? NULL : class->schema;
	compiled->provider = intern_string(engine->strings, class->provider_name);
	compiled->dropped = filters_drop_event(engine->set, class);
	compiled->ends_instance = ends_process(class);
	if (!compile_spans(&builder) || !compile_rules(&builder) ||
	    (engine->probe && !compile_probe(&builder)) || !link_compiled(compiled) ||
	    !make_slices(engine, compiled->schema ? compiled->schema->field_count : 0U)) {
		free_compiled(compiled);
		return false;
	}
	if (builder.problem_rule) {
		engine_count_problem(engine, compiled, PROBLEM_RULE);
	}
	if (builder.problem_type) {
		engine_count_problem(engine, compiled, PROBLEM_BAD_TYPE);
	}
	class->compiled = compiled;
	return true;
}
