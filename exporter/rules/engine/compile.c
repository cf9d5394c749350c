/* SPDX-License-Identifier: MIT */
/*
 * Compiles the rules for an event class, when its first event arrives.
 *
 * A rule is written for events by name and may fit several event classes, each with a layout of its
 * own. For each class it becomes a compiled rule: conditions and an amount as values (places to
 * read from), literals as numbers of their field, labels as ids or as the values that they are made
 * of. What is the same for all events of the class is decided here: a condition that always holds
 * is left out, and a rule with a condition that never holds is not compiled. The per-event code in
 * apply.c does only what is left.
 *
 * Fields that a layout lacks can only be noticed here, since layouts of other providers are known
 * when their events arrive. A rule whose value or condition needs a missing field, or one of
 * another type, does not apply to the class. That is counted once, and reported in one sentence for
 * each rule, because every process may have its own version of an event.
 *
 * Live sessions may bring thousands of classes, and a class is compiled again when its schema
 * changes. The rules are therefore compiled into a draft, whose arrays the engine keeps, and then
 * copied into one block of exactly their size. A failure leaves nothing to free, and heaps that
 * search long lists of free blocks see one allocation for each class.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <etw/provider.h>

#include "base/array.h"
#include "base/nearest.h"
#include "exporter/rules/engine/engine.h"
#include "exporter/rules/rules.h"

/* ---- conditions ---- */

static bool fits_form(const struct condition *condition, const struct value *value)
{
	return value->form == FORM_NUMBER ? !compares_texts(condition->comparison) :
					    !compares_numbers(condition->comparison);
}

/* Decides a condition about the field itself, which is the same for all events of the class. */
static enum rule_result compile_exists(struct builder *builder, const struct condition *condition)
{
	bool exists = compile_find_value(builder, &condition->field) != NO_VALUE;

	if (builder->failed || (!exists && !builder->compiled->schema)) {
		return compile_lacks_field(builder, &condition->field);
	}
	return exists == (condition->literals->number != 0) ? RULE_APPLIES : RULE_NEVER;
}

/* Converts the literals to numbers: a literal is a number, or a name in the map of the field. */
static enum rule_result condition_numbers(struct builder *builder, const struct value *value,
					  struct compiled_condition *compiled)
{
	const struct condition *condition = compiled->condition;
	size_t count = value->form == FORM_NUMBER ? condition->literal_count : 0;

	compiled->number_index = compile_add_numbers(builder, count);
	if (compiled->number_index == NO_NUMBERS) {
		return RULE_FAILED;
	}
	compiled->numbers = &builder->compiled->numbers[compiled->number_index];
	for (size_t i = 0; i < count; i++) {
		if (!literal_for(&condition->literals[i], value, &compiled->numbers[i])) {
			return compile_wrong_type(builder, &condition->field);
		}
	}
	return RULE_APPLIES;
}

/* Returns the type of a condition: whether it compares with one number that the value can have. */
static enum condition_type type_of(const struct compiled_condition *compiled,
				   const struct value *value)
{
	const struct number_literal *number = compiled->numbers;
	enum comparison comparison = compiled->condition->comparison;

	if (value->form != FORM_NUMBER || (comparison != COMPARE_EQ && comparison != COMPARE_NE) ||
	    number->negative != (value->is_signed && (int64_t)number->number < 0)) {
		return CONDITION_OTHER;
	}
	return comparison == COMPARE_EQ ? NUMBER_IS : NUMBER_IS_NOT;
}

static enum rule_result compile_condition(struct builder *builder,
					  const struct condition *condition,
					  struct compiled_rule *rule)
{
	struct compiled_condition compiled = { .condition = condition };
	struct compiled_rules *to = builder->compiled;
	struct compiled_condition *conditions;
	const struct value *value;
	enum rule_result result;

	if (condition->comparison == COMPARE_EXISTS) {
		return compile_exists(builder, condition);
	}
	compiled.value_index = compile_find_value(builder, &condition->field);
	if (compiled.value_index == NO_VALUE) {
		return compile_lacks_field(builder, &condition->field);
	}
	value = &to->values[compiled.value_index];
	if (!fits_form(condition, value)) {
		return compile_wrong_type(builder, &condition->field);
	}
	result = condition_numbers(builder, value, &compiled);
	if (result != RULE_APPLIES) {
		return result;
	}
	if (value->type == VALUE_CONSTANT) {
		to->number_count = compiled.number_index;
		return condition_compute(builder->engine, &compiled, value) ? RULE_APPLIES :
									      RULE_NEVER;
	}
	compiled.type = (uint8_t)type_of(&compiled, value);
	if (compiled.type != CONDITION_OTHER) {
		compiled.equal = compiled.numbers->number;
	}
	conditions = array_grow(to->conditions, &builder->engine->draft.condition_capacity,
				to->condition_count, sizeof *conditions);
	if (!conditions) {
		return RULE_FAILED;
	}
	to->conditions = conditions;
	compiled.owner = ++builder->engine->owners;
	conditions[to->condition_count++] = compiled;
	rule->condition_count++;
	return RULE_APPLIES;
}

static enum rule_result compile_conditions(struct builder *builder, const struct rule *from,
					   struct compiled_rule *rule)
{
	for (size_t i = 0; i < from->condition_count; i++) {
		enum rule_result result = compile_condition(builder, &from->conditions[i], rule);

		if (result != RULE_APPLIES) {
			return result;
		}
	}
	return RULE_APPLIES;
}

/* ---- values ---- */

/* Returns the frequency of the ticks that a field counts. Response times of disks are ticks of
 * the performance counter, even if the session uses another clock. */
static uint64_t ticks_frequency(const struct builder *builder, const struct field_ref *field)
{
	if (strcmp(field->name, "HighResResponseTime") == 0) {
		return builder->engine->clock.perf_frequency;
	}
	return builder->engine->clock.frequency;
}

/* Returns what a value is multiplied by so that the family's integer has its fraction. */
static uint64_t fraction_of(const struct rule *rule)
{
	unsigned digits = rule->metric->seconds ? 0 : metric_decimals(rule->metric);
	uint64_t fraction = 1;

	for (digits -= rule->unit == UNIT_PERCENT ? 2 : 0; digits > 0; digits--) {
		fraction *= 10;
	}
	return fraction;
}

static enum rule_result compile_value(struct builder *builder, const struct rule *from,
				      struct compiled_rule *rule)
{
	static const uint64_t factors[] = {
		[UNIT_NONE] = 1,     [UNIT_KB] = 1024,      [UNIT_MB] = 1000000, [UNIT_PERCENT] = 1,
		[UNIT_TICKS] = 0,    [UNIT_NS] = 1,         [UNIT_100NS] = 100,  [UNIT_US] = 1000,
		[UNIT_MS] = 1000000, [UNIT_S] = 1000000000,
	};
	const struct field_ref *field = from->since.name ? &from->since : &from->value;
	const struct value *value;

	rule->factor = factors[from->unit] * fraction_of(from);
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
	if (value->form == FORM_TEXT && value->field && etw_field_is_real(value->field) &&
	    !from->since.name) {
		rule->amount_type = AMOUNT_REAL;
	} else if (value->form != FORM_NUMBER) {
		return compile_wrong_type(builder, field);
	}
	if (from->since.name) {
		rule->factor = 0;
		rule->frequency = builder->engine->clock.frequency;
	} else {
		rule->frequency = ticks_frequency(builder, field);
		/* a gauge may also show a point in time */
		rule->duration = from->unit >= UNIT_TICKS && rule->op == GAUGE_NONE;
	}
	return RULE_APPLIES;
}

/* ---- rules ---- */

static enum rule_result compile_rule(struct builder *builder, const struct active_rule *active,
				     struct compiled_rule *rule)
{
	const struct rule *from = active->rule;
	enum rule_result result;

	*rule = (struct compiled_rule){
		.family = active->declared->family,
		.seen_mask = CUT_SHORT | (from->event.scope != EVENTS_ALL ? APPLIED : 0),
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
		builder->compiled->condition_count -= rule->condition_count;
	}
	return result;
}

bool rule_engine_only_names(const struct rule_engine *engine, const struct etw_event_class *class)
{
	return engine->names_only && !class->classic &&
	       etw_provider_is(&class->provider, ETW_PROVIDER_KERNEL_PROCESS);
}

/* Reports a mismatch once for each rule, because every process may emit an event that does not
 * fit. */
static void report_schema_mismatch(const struct builder *builder, size_t index)
{
	struct rule_engine *engine = builder->engine;
	const struct rule *rule = engine->set->rules[index].rule;
	const struct etw_event_class *class = builder->class;
	const char *field = builder->problem_field->name;
	struct nearest nearest = { .word = field, .size = strlen(field) };
	struct etw_error err;

	if (engine->mismatches_reported[index]) {
		return;
	}
	engine->mismatches_reported[index] = true;
	if (!engine->on_schema_mismatch) {
		return;
	}
	for (unsigned i = 0; class->schema && i < class->schema->field_count; i++) {
		nearest_offer(&nearest, class->schema->fields[i].name);
	}
	if (builder->problem_type) {
		yaml_describe(
			rule->collector->tree, rule->at, &err,
			"%s: event %s of %s has the field '%s' in another type than the rule needs",
			rule->metric->name, class->event_name, class->provider_name, field);
	} else {
		yaml_describe(rule->collector->tree, rule->at, &err,
			      "%s: event %s of %s has no field '%s'%s%s%s", rule->metric->name,
			      class->event_name, class->provider_name, field,
			      nearest.best ? "; did you mean '" : "",
			      nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
	}
	engine->on_schema_mismatch(engine->schema_mismatch_context, err.text);
}

/* Compiles a rule, by its index in the set, and reports it if it does not fit the schema. */
static enum rule_result try_rule(struct builder *builder, size_t index)
{
	struct compiled_rules *compiled = builder->compiled;
	struct compiled_rule *rules = array_grow(compiled->rules,
						 &builder->engine->draft.rule_capacity,
						 compiled->rule_count, sizeof *rules);
	bool lacks = builder->problem_rule, differs = builder->problem_type;
	enum rule_result result;

	if (!rules) {
		return RULE_FAILED;
	}
	compiled->rules = rules;
	builder->problem_rule = builder->problem_type = false;
	builder->problem_field = NULL;
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

/* The order of compiled.rules. */
enum rule_sort { COUNTS_BY_PROCESS, COUNTS_IN_ONE, OTHER_RULE };

static enum rule_sort sort_of(const struct compiled_rules *compiled,
			      const struct compiled_rule *rule)
{
	const struct label_set_cache *cache = &compiled->caches[rule->cache_index];

	if (rule->op != GAUGE_NONE || rule->histogram || rule->amount_type != AMOUNT_ONE ||
	    rule->condition_count > 0) {
		return OTHER_RULE;
	}
	if (cache->type == SET_CONSTANT) {
		return COUNTS_IN_ONE;
	}
	return cache->type == SET_BY_PROCESS ? COUNTS_BY_PROCESS : OTHER_RULE;
}

/* Sorts the rules. Rules with conditions keep their order, because their conditions are in it. */
static void sort_rules(const struct compiled_rules *compiled)
{
	struct compiled_rule *rules = compiled->rules;

	for (size_t i = 1; i < compiled->rule_count; i++) {
		struct compiled_rule rule = rules[i];
		size_t at = i;

		for (; at > 0 && sort_of(compiled, &rules[at - 1]) > sort_of(compiled, &rule);
		     at--) {
			rules[at] = rules[at - 1];
		}
		rules[at] = rule;
	}
}

/* Counts the rules that count every event, and gives them one cache. */
static void join_always(struct compiled_rules *compiled)
{
	struct compiled_rule *rules = compiled->rules;
	unsigned seen = NOT_APPLIED;

	while (compiled->always_count < compiled->rule_count &&
	       sort_of(compiled, &rules[compiled->always_count]) != OTHER_RULE) {
		seen |= rules[compiled->always_count++].seen_mask & APPLIED;
	}
	for (size_t i = 1; i < compiled->always_count; i++) {
		rules[i].cache_index = rules[0].cache_index;
	}
	if (seen == APPLIED) {
		compiled->always_outcome = OUTCOME_COUNTED;
	} else {
		compiled->always_outcome = compiled->schema ? OUTCOME_NO_RULE : OUTCOME_NO_SCHEMA;
	}
}

/* Gives each rule its index in the entries of its cache. */
static void place_in_entries(struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->rule_count; i++) {
		struct compiled_rule *rule = &compiled->rules[i];
		struct label_set_cache *cache = &compiled->caches[rule->cache_index];

		rule->index = ++cache->rule_count; /* after the key */
		cache->entry_size = cache->rule_count + 1;
	}
}

static bool compile_rules(struct builder *builder)
{
	const struct rule_set *set = builder->engine->set;
	const struct etw_event_class *class = builder->class;
	struct compiled_rules *compiled = builder->compiled;
	/* Only the header of an undecodable record can be read, so its process is not known
	 * either. */
	bool only_every = compiled->undecodable || rule_engine_only_names(builder->engine, class);

	for (size_t i = 0; i < set->rule_count; i++) {
		const struct rule *rule = set->rules[i].rule;

		if (!event_pattern_matches(&rule->event, class) ||
		    !rule_has_version(rule, class->version)) {
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
	sort_rules(compiled);
	join_always(compiled);
	place_in_entries(compiled);
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

/* ---- the block ---- */

static bool condition_has_cache(const struct compiled_condition *condition,
				const struct value *values)
{
	return values[condition->value_index].form == FORM_ID;
}

static bool label_has_cache(const struct compiled_label *label, const struct value *values)
{
	return !label->plain && values[label->value_index].form != FORM_TEXT;
}

/* Returns the number of ids that the cache compares. */
static size_t id_count(const struct label_set_cache *cache)
{
	return cache->type == SET_HASHED ? (size_t)CACHED_LABEL_SETS * cache->label_count : 0;
}

/* A block of memory that is filled from its start. If bytes is NULL, the size is only measured. */
struct block {
	uint8_t *bytes;
	size_t size;
	struct cache *caches;      /* room for the caches of conditions and labels */
	union entry_word *entries; /* room for the entries of the label-set caches */
	uint32_t *ids;             /* room for the ids of the label-set caches */
};

/* Copies items into the block; if items is NULL, reserves zeroed room for them. */
static void *place(struct block *block, const void *items, size_t count, size_t item_size)
{
	const size_t alignment = _Alignof(max_align_t);
	uint8_t *placed = block->bytes ? block->bytes + block->size : NULL;

	if (placed && items && count > 0) {
		memcpy(placed, items, count * item_size);
	}
	block->size += (count * item_size + alignment - 1) / alignment * alignment;
	return placed;
}

/* Returns the copy of the draft in the block; NULL if the block is only measured. */
static struct compiled_rules *place_compiled(struct block *block, const struct compiled_rules *from)
{
	struct compiled_rules to = *from, *placed = place(block, NULL, 1, sizeof *placed);
	size_t caches = 0, entries = 0, ids = 0;

	for (size_t i = 0; i < from->condition_count; i++) {
		caches += condition_has_cache(&from->conditions[i], from->values);
	}
	for (size_t i = 0; i < from->label_count; i++) {
		caches += label_has_cache(&from->labels[i], from->values);
	}
	for (size_t i = 0; i < from->cache_count; i++) {
		entries += label_set_words(&from->caches[i]);
		ids += id_count(&from->caches[i]);
	}
	to.values = place(block, from->values, from->value_count, sizeof *to.values);
	to.parts = place(block, from->parts, from->part_count, sizeof *to.parts);
	to.numbers = place(block, from->numbers, from->number_count, sizeof *to.numbers);
	to.conditions =
		place(block, from->conditions, from->condition_count, sizeof *to.conditions);
	to.labels = place(block, from->labels, from->label_count, sizeof *to.labels);
	to.caches = place(block, from->caches, from->cache_count, sizeof *to.caches);
	to.rules = place(block, from->rules, from->rule_count, sizeof *to.rules);
	to.starts = place(block, from->starts, from->start_count, sizeof *to.starts);
	to.stops = place(block, from->stops, from->stop_count, sizeof *to.stops);
	to.notes = place(block, from->notes, from->note_count, sizeof *to.notes);
	block->caches = place(block, NULL, caches, sizeof *block->caches);
	block->entries = place(block, NULL, entries, sizeof *block->entries);
	block->ids = place(block, NULL, ids, sizeof *block->ids);
	if (placed) {
		*placed = to;
	}
	return placed;
}

/* Returns whether the value is below 2^63 in every event. */
static bool always_fits(const struct value *value)
{
	return !value->is_signed && (!value->field || value->field->size[1] < 8);
}

/* Sets the pointers of a rule. Call it after link_cache() of its cache. */
static void link_rule(struct compiled_rules *compiled, struct compiled_rule *rule)
{
	bool unchanged;

	rule->cache = &compiled->caches[rule->cache_index];
	if (rule->amount_type != AMOUNT_ONE) {
		rule->value = &compiled->values[rule->value_index];
	}
	unchanged = rule->op == GAUGE_NONE && rule->amount_type < AMOUNT_REAL && !rule->duration &&
		    (!rule->value || (rule->factor == 1 && always_fits(rule->value)));
	rule->plain = unchanged && !rule->histogram;
	rule->observes = unchanged && rule->histogram;
}

static void link_cache(struct compiled_rules *compiled, struct block *block,
		       struct label_set_cache *cache)
{
	for (unsigned i = 0; i < cache->label_count; i++) {
		cache->labels[i] = &compiled->labels[cache->label_indexes[i]];
	}
	cache->entries = cache->entry = block->entries;
	block->entries += label_set_words(cache);
	cache->ids = block->ids;
	block->ids += id_count(cache);
}

/* Sets the pointers to a rule's conditions. Returns the conditions of the next rule. */
static struct compiled_condition *link_conditions(struct compiled_rule *rule,
						  struct compiled_condition *conditions)
{
	rule->conditions = conditions;
	conditions += rule->condition_count;
	rule->conditions_end = conditions;
	return conditions;
}

/* Converts indexes to pointers. Nothing may move after this call. */
static void link_compiled(struct compiled_rules *compiled, struct block *block)
{
	struct compiled_condition *conditions = compiled->conditions;

	compile_link_parts(compiled);
	for (size_t i = 0; i < compiled->condition_count; i++) {
		conditions[i].value = &compiled->values[conditions[i].value_index];
		conditions[i].numbers = &compiled->numbers[conditions[i].number_index];
		if (condition_has_cache(&conditions[i], compiled->values)) {
			conditions[i].cache = block->caches++;
		}
	}
	for (size_t i = 0; i < compiled->label_count; i++) {
		struct compiled_label *label = &compiled->labels[i];

		label->value = &compiled->values[label->value_index];
		label->numbers = &compiled->numbers[label->number_index];
		if (label_has_cache(label, compiled->values)) {
			label->cache = block->caches++;
		}
	}
	for (size_t i = 0; i < compiled->cache_count; i++) {
		link_cache(compiled, block, &compiled->caches[i]);
	}
	for (size_t i = 0; i < compiled->rule_count; i++) {
		link_rule(compiled, &compiled->rules[i]);
		conditions = link_conditions(&compiled->rules[i], conditions);
	}
	link_conditions(&compiled->probe, conditions);
	if (compiled->always_count > 0) {
		compiled->always = compiled->rules[0].cache;
	}
}

/* Copies the draft into one block of memory. Returns NULL without memory. */
static struct compiled_rules *copy_draft(const struct draft *draft)
{
	struct block block = { 0 };
	struct compiled_rules *compiled;

	place_compiled(&block, &draft->compiled);
	block.bytes = calloc(1, block.size);
	if (!block.bytes) {
		return NULL;
	}
	block.size = 0;
	compiled = place_compiled(&block, &draft->compiled);
	link_compiled(compiled, &block);
	return compiled;
}

/* Empties the draft but keeps the memory of its arrays. */
static struct compiled_rules *empty_draft(struct draft *draft)
{
	struct compiled_rules *compiled = &draft->compiled;

	*compiled = (struct compiled_rules){
		.values = compiled->values,
		.parts = compiled->parts,
		.numbers = compiled->numbers,
		.conditions = compiled->conditions,
		.labels = compiled->labels,
		.caches = compiled->caches,
		.rules = compiled->rules,
		.starts = compiled->starts,
		.stops = compiled->stops,
		.notes = compiled->notes,
	};
	return compiled;
}

void draft_free(struct draft *draft)
{
	free(draft->compiled.values);
	free(draft->compiled.parts);
	free(draft->compiled.numbers);
	free(draft->compiled.conditions);
	free(draft->compiled.labels);
	free(draft->compiled.caches);
	free(draft->compiled.rules);
	free(draft->compiled.starts);
	free(draft->compiled.stops);
	free(draft->compiled.notes);
}

/* ---- classes ---- */

static bool make_slices(struct rule_engine *engine, size_t count)
{
	struct etw_field_slice *slices;

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

static bool ends_process(const struct etw_event_class *class)
{
	if (class->kernel_class == ETW_KERNEL_PROCESS) {
		return class->opcode == ETW_KERNEL_OPCODE_START ||
		       class->opcode == ETW_KERNEL_OPCODE_STOP;
	}
	return !class->classic &&
	       (class->id == ETW_PROCESS_EVENT_START || class->id == ETW_PROCESS_EVENT_STOP) &&
	       etw_provider_is(&class->provider, ETW_PROVIDER_KERNEL_PROCESS);
}

void rule_engine_release(struct etw_event_class *class)
{
	free(class->compiled);
	class->compiled = NULL;
}

/* Counts a problem once for the class, even if it is compiled again. */
static void report(struct rule_engine *engine, struct compiled_rules *compiled,
		   enum decode_problem problem)
{
	if ((compiled->reported >> problem & 1) == 0) {
		engine_count_problem(engine, compiled, problem);
	}
	compiled->reported |= (uint8_t)(1U << problem);
}

bool rule_engine_prepare(struct rule_engine *engine, struct etw_event_class *class)
{
	struct compiled_rules *draft = empty_draft(&engine->draft);
	struct builder builder = { .engine = engine, .class = class, .compiled = draft };
	uint8_t reported = class->again && class->compiled ? class->compiled->reported : 0;

	rule_engine_release(class);
	draft->undecodable = class->record_type >= ETW_RECORD_TIMED;
	draft->schema = draft->undecodable ? NULL : class->schema;
	draft->provider = intern_string(engine->strings, class->provider_name);
	draft->dropped = filters_drop_event(engine->set, class);
	draft->ends_instance = ends_process(class);
	if (!compile_spans(&builder) || !compile_rules(&builder) ||
	    (engine->probe && !compile_probe(&builder)) ||
	    !make_slices(engine, draft->schema ? draft->schema->field_count : 0U)) {
		return false;
	}
	compile_share_walk(&builder);
	class->compiled = copy_draft(&engine->draft);
	if (!class->compiled) {
		return false;
	}
	class->compiled->reported = reported;
	class->compiled->usual = !draft->dropped && !draft->undecodable && !draft->lacks_schema &&
				 draft->stop_count == 0 && draft->start_count == 0 &&
				 !draft->ends_instance && !engine->dry_run &&
				 !engine->filters_processes;
	if (builder.problem_rule) {
		report(engine, class->compiled, PROBLEM_RULE);
	}
	if (builder.problem_type) {
		report(engine, class->compiled, PROBLEM_BAD_TYPE);
	}
	return true;
}
