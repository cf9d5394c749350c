/* SPDX-License-Identifier: MIT */
/*
 * Turns the rules into a plan for a kind of event, when the kind first arrives.
 *
 * What is the same for all events of the kind is settled here: conditions on it are gone, labels
 * are ids. What this layout lacks can only be settled here as well: a label reads "_unknown" then,
 * a rule whose value or condition is missing does not apply and is counted once.
 */
#include "rules/engine.h"

#include <stdlib.h>
#include <string.h>

#include "rules/filters.h"

enum { NO_SLOT = UINT16_MAX, SLOTS_MAX = 4096 };

/* A plan under construction. */
struct builder {
	struct rule_engine *engine;
	const struct event_kind *kind;
	struct plan *plan;
	bool failed;       /* no memory */
	bool kernel;       /* its rules were held against its layouts when they were read */
	bool problem_rule; /* a rule asks for what the layout lacks */
	bool problem_type; /* a rule asks for another type */
};

/* What became of a rule for this kind. */
enum fate { RULE_APPLIES, RULE_NEVER, RULE_FAILED };

static const struct guid kernel_process =
	GUID_INIT(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16);

enum { PROCESS_STOP = 2 };

/* ---- slots ---- */

static uint16_t add_slot(struct builder *builder, const struct slot *slot)
{
	struct plan *plan = builder->plan;
	struct slot *slots;

	for (size_t i = 0; i < plan->slot_count; i++) {
		if (plan->slots[i].kind == slot->kind && plan->slots[i].derived == slot->derived &&
		    plan->slots[i].field == slot->field) {
			return (uint16_t)i;
		}
	}
	slots = plan->slot_count < SLOTS_MAX ?
			realloc(plan->slots, (plan->slot_count + 1) * sizeof *slots) :
			NULL;
	if (!slots) {
		builder->failed = true;
		return NO_SLOT;
	}
	plan->slots = slots;
	slots[plan->slot_count] = *slot;
	return (uint16_t)plan->slot_count++;
}

static int layout_index(const struct builder *builder, const char *name)
{
	return builder->plan->schema ? schema_find_field(builder->plan->schema, name) : -1;
}

static uint16_t add_layout_slot(struct builder *builder, int index)
{
	const struct schema *schema = builder->plan->schema;
	const struct field *field = &schema->fields[index];
	unsigned wide = builder->kind->pointer_size == 8;
	struct slot slot = { .index = (uint16_t)index, .field = field, .state = SLOT_CUT };

	if (!field_is_integer(field)) {
		slot.kind = SLOT_TEXT;
		slot.form = FORM_TEXT;
		return add_slot(builder, &slot);
	}
	slot.form = FORM_NUMBER;
	slot.is_signed = field_is_signed(field);
	if (field->offset[wide] != FIELD_OFFSET_VARIES && field->size[wide] != 0) {
		slot.kind = SLOT_FIXED;
		slot.end = (uint32_t)field->offset[wide] + field->size[wide];
		return add_slot(builder, &slot);
	}
	slot.kind = SLOT_WALKED;
	if (index > builder->plan->last_walked) {
		builder->plan->last_walked = (uint16_t)index;
	}
	return add_slot(builder, &slot);
}

/* A derived field that is worked out of one of the layout. */
static uint16_t add_origin_slot(struct builder *builder, struct slot *slot)
{
	int index = layout_index(builder, derived_origin(slot->derived));

	if (index < 0 || !field_is_integer(&builder->plan->schema->fields[index])) {
		return NO_SLOT;
	}
	if (slot->kind != SLOT_DRIVER) {
		slot->index = add_layout_slot(builder, index);
		if (slot->index == NO_SLOT) {
			return NO_SLOT;
		}
	}
	return add_slot(builder, slot);
}

static uint32_t constant_text(struct builder *builder, const char *text)
{
	return intern_string(builder->engine->strings, text);
}

static uint16_t add_derived_slot(struct builder *builder, enum derived derived)
{
	static const struct {
		uint8_t kind, form;
	} slots[DERIVED_COUNT] = {
		[DERIVED_PROCESS] = { SLOT_PROCESS, FORM_ID },
		[DERIVED_PROCESS_ID] = { SLOT_PROCESS_ID, FORM_NUMBER },
		[DERIVED_OF_PROCESS] = { SLOT_OF_PROCESS, FORM_ID },
		[DERIVED_OLD_PROCESS] = { SLOT_OLD_PROCESS, FORM_ID },
		[DERIVED_THREAD_ID] = { SLOT_THREAD_ID, FORM_NUMBER },
		[DERIVED_CPU] = { SLOT_CPU, FORM_NUMBER },
		[DERIVED_LEVEL] = { SLOT_LEVEL, FORM_NUMBER },
		[DERIVED_OPCODE] = { SLOT_CONSTANT, FORM_NUMBER },
		[DERIVED_SESSION] = { SLOT_CONSTANT, FORM_ID },
		[DERIVED_PROVIDER] = { SLOT_CONSTANT, FORM_ID },
		[DERIVED_EVENT] = { SLOT_CONSTANT, FORM_ID },
		[DERIVED_PATH] = { SLOT_PATH, FORM_TEXT },
		[DERIVED_VOLUME] = { SLOT_VOLUME, FORM_ID },
		[DERIVED_PAGING] = { SLOT_PAGING, FORM_NUMBER },
		[DERIVED_EXIT_RESULT] = { SLOT_EXIT_RESULT, FORM_ID },
		[DERIVED_DRIVER] = { SLOT_DRIVER, FORM_ID },
		[DERIVED_DURATION] = { SLOT_DURATION, FORM_NUMBER },
		[DERIVED_STARTED] = { SLOT_STARTED, FORM_ID },
		[DERIVED_ON_CPU] = { SLOT_ON_CPU, FORM_NUMBER },
		[DERIVED_READY] = { SLOT_READY, FORM_NUMBER },
	};
	struct slot slot = { .kind = slots[derived].kind,
			     .form = slots[derived].form,
			     .derived = derived };

	slot.state = slot.kind == SLOT_CONSTANT ? SLOT_HAS : SLOT_UNKNOWN;
	switch (derived) {
	case DERIVED_OPCODE:
		slot.value = builder->kind->opcode;
		break;
	case DERIVED_SESSION:
		slot.value = builder->engine->session;
		break;
	case DERIVED_PROVIDER:
		slot.value = builder->plan->provider;
		break;
	case DERIVED_EVENT:
		slot.value = constant_text(builder, builder->kind->event_name);
		break;
	default:
		break;
	}
	return derived_origin(derived) ? add_origin_slot(builder, &slot) : add_slot(builder, &slot);
}

/* NO_SLOT: this kind has no such field. */
static uint16_t find_slot(struct builder *builder, const struct field_ref *field)
{
	int index;

	if (field->derived != DERIVED_NONE && derived_field(field->derived)->before_layout) {
		return add_derived_slot(builder, field->derived);
	}
	index = layout_index(builder, field->name);
	if (index >= 0) {
		return add_layout_slot(builder, index);
	}
	return field->derived != DERIVED_NONE ? add_derived_slot(builder, field->derived) :
						(uint16_t)NO_SLOT;
}

/* A rule cannot apply, because its value or a condition asks for a field that is not there. */
static enum fate lacks_field(struct builder *builder)
{
	if (builder->failed) {
		return RULE_FAILED;
	}
	if (builder->plan->schema) {
		builder->problem_rule = true;
	} else {
		builder->plan->lacks_schema = true;
	}
	return RULE_NEVER;
}

static enum fate wrong_type(struct builder *builder)
{
	builder->problem_type = true;
	return RULE_NEVER;
}

/* ---- conditions ---- */

static bool fits_form(const struct condition *condition, const struct slot *slot)
{
	enum comparison comparison = condition->comparison;
	bool numbers = (comparison >= COMPARE_LT && comparison <= COMPARE_GE) ||
		       comparison == COMPARE_HAS || comparison == COMPARE_LACKS;

	if (slot->form != FORM_NUMBER) {
		return !numbers;
	}
	if (comparison >= COMPARE_STARTS) {
		return false;
	}
	for (size_t i = 0; i < condition->literal_count; i++) {
		if (!condition->literals[i].integer) {
			return false;
		}
	}
	return true;
}

static enum fate plan_condition(struct builder *builder, const struct condition *condition,
				struct plan_rule *rule)
{
	struct plan_condition planned = { .condition = condition,
					  .slot = find_slot(builder, &condition->field) };
	const struct slot *slot;
	bool holds;

	if (planned.slot == NO_SLOT) {
		return lacks_field(builder);
	}
	slot = &builder->plan->slots[planned.slot];
	if (!fits_form(condition, slot)) {
		return wrong_type(builder);
	}
	if (slot->form == FORM_NUMBER) {
		planned.numbers = calloc(condition->literal_count, sizeof *planned.numbers);
		if (!planned.numbers) {
			return RULE_FAILED;
		}
		for (size_t i = 0; i < condition->literal_count; i++) {
			planned.numbers[i] = literal_for(&condition->literals[i], slot);
		}
	}
	if (slot->kind == SLOT_CONSTANT) {
		holds = condition_compute(builder->engine, &planned, slot);
		free(planned.numbers);
		return holds ? RULE_APPLIES : RULE_NEVER;
	}
	if (slot->form == FORM_ID) {
		planned.memo = memo_new();
		if (!planned.memo) {
			return RULE_FAILED;
		}
	}
	planned.owner = ++builder->engine->owners;
	rule->conditions[rule->condition_count++] = planned;
	return RULE_APPLIES;
}

static enum fate plan_conditions(struct builder *builder, const struct rule *from,
				 struct plan_rule *rule)
{
	if (from->condition_count == 0) {
		return RULE_APPLIES;
	}
	rule->conditions = calloc(from->condition_count, sizeof *rule->conditions);
	if (!rule->conditions) {
		return RULE_FAILED;
	}
	for (size_t i = 0; i < from->condition_count; i++) {
		enum fate fate = plan_condition(builder, &from->conditions[i], rule);

		if (fate != RULE_APPLIES) {
			return fate;
		}
	}
	return RULE_APPLIES;
}

/* ---- labels ---- */

static enum fate plan_label(struct builder *builder, const struct label *label, uint8_t position,
			    struct plan_rule *rule)
{
	struct plan_label planned = { .label = label, .position = position };
	const struct slot *slot;

	if (label->source == LABEL_TEXT) {
		rule->ids[position] = constant_text(builder, label->text);
		return RULE_APPLIES;
	}
	planned.slot = find_slot(builder, &label->field);
	if (planned.slot == NO_SLOT) {
		if (builder->failed) {
			return RULE_FAILED;
		}
		/* An old layout without the field is no mistake; a new one without it may be, of
		 * the rule. */
		builder->problem_rule |= builder->plan->schema && !builder->kernel;
		builder->plan->lacks_schema |= !builder->plan->schema;
		rule->ids[position] = builder->engine->unknown;
		return RULE_APPLIES;
	}
	slot = &builder->plan->slots[planned.slot];
	planned.plain = slot->form == FORM_ID && label->source == LABEL_FIELD;
	if (slot->form == FORM_NUMBER && label->entry_count > 0) {
		planned.numbers = calloc(label->entry_count, sizeof *planned.numbers);
		if (!planned.numbers) {
			return RULE_FAILED;
		}
		for (size_t i = 0; i < label->entry_count; i++) {
			if (!label->entries[i].from.integer) {
				free(planned.numbers);
				return wrong_type(builder);
			}
			planned.numbers[i] = literal_for(&label->entries[i].from, slot);
		}
	}
	if (slot->kind == SLOT_CONSTANT) {
		rule->ids[position] = planned.plain ?
					      (uint32_t)slot->value :
					      label_compute(builder->engine, &planned, slot);
		free(planned.numbers);
		return RULE_APPLIES;
	}
	if (!planned.plain && slot->form != FORM_TEXT) {
		planned.memo = memo_new();
		if (!planned.memo) {
			free(planned.numbers);
			return RULE_FAILED;
		}
	}
	planned.owner = ++builder->engine->owners;
	rule->labels[rule->label_count++] = planned;
	return RULE_APPLIES;
}

static enum fate plan_labels(struct builder *builder, const struct rule *from,
			     struct plan_rule *rule)
{
	if (from->label_count > 0) {
		rule->labels = calloc(from->label_count, sizeof *rule->labels);
		if (!rule->labels) {
			return RULE_FAILED;
		}
	}
	for (size_t i = 0; i < from->label_count; i++) {
		enum fate fate = plan_label(builder, &from->labels[i], (uint8_t)i, rule);

		if (fate != RULE_APPLIES) {
			return fate;
		}
	}
	rule->two_labels = rule->label_count <= 2;
	return RULE_APPLIES;
}

/* ---- values ---- */

/* Whose ticks a field counts: response times of disks are taken with the performance counter,
 * whatever the session's clock. */
static uint64_t ticks_frequency(const struct builder *builder, const struct field_ref *field)
{
	if (strcmp(field->name, "HighResResponseTime") == 0) {
		return builder->engine->clock.perf_frequency;
	}
	return builder->engine->clock.frequency;
}

static enum fate plan_value(struct builder *builder, const struct rule *from,
			    struct plan_rule *rule)
{
	static const uint64_t factors[] = {
		[UNIT_NONE] = 1,  [UNIT_KB] = 1024,    [UNIT_TICKS] = 0,      [UNIT_100NS] = 100,
		[UNIT_US] = 1000, [UNIT_MS] = 1000000, [UNIT_S] = 1000000000,
	};
	const struct field_ref *field = from->since.name ? &from->since : &from->value;

	rule->factor = factors[from->unit];
	if (!field->name) {
		rule->value_kind = VALUE_ONE;
		return RULE_APPLIES;
	}
	rule->value_kind = from->since.name ? VALUE_SINCE : VALUE_SLOT;
	rule->value_slot = find_slot(builder, field);
	if (rule->value_slot == NO_SLOT) {
		return lacks_field(builder);
	}
	if (builder->plan->slots[rule->value_slot].form != FORM_NUMBER) {
		return wrong_type(builder);
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

static void free_rule(struct plan_rule *rule)
{
	for (unsigned i = 0; i < rule->condition_count; i++) {
		free(rule->conditions[i].numbers);
		free(rule->conditions[i].memo);
	}
	for (unsigned i = 0; i < rule->label_count; i++) {
		free(rule->labels[i].numbers);
		free(rule->labels[i].memo);
	}
	free(rule->conditions);
	free(rule->labels);
}

static enum fate plan_rule(struct builder *builder, const struct active_rule *active,
			   struct plan_rule *rule)
{
	const struct rule *from = active->rule;
	enum fate fate;

	*rule = (struct plan_rule){
		.rule = from,
		.family = active->plan->family,
		.named = from->event.scope != EVENTS_ALL,
		.histogram = from->metric->type == FAMILY_HISTOGRAM,
		.op = (uint8_t)from->op,
	};
	builder->kernel = from->event.scope != EVENTS_PROVIDER;
	fate = plan_conditions(builder, from, rule);
	if (fate == RULE_APPLIES) {
		fate = plan_value(builder, from, rule);
	}
	if (fate == RULE_APPLIES) {
		fate = plan_labels(builder, from, rule);
	}
	if (builder->failed) {
		fate = RULE_FAILED;
	}
	if (fate != RULE_APPLIES) {
		free_rule(rule);
	}
	return fate;
}

static bool has_version(const struct rule *rule, uint8_t version)
{
	return rule->every_version || (rule->versions[version / 64] >> version % 64 & 1) != 0;
}

static bool plan_rules(struct builder *builder)
{
	const struct rule_set *set = builder->engine->set;
	const struct event_kind *kind = builder->kind;
	struct plan *plan = builder->plan;
	size_t most = 0;

	for (size_t i = 0; i < set->rule_count; i++) {
		most += event_pattern_matches(&set->rules[i].rule->event, kind) &&
			has_version(set->rules[i].rule, kind->version);
	}
	plan->rules = calloc(most + 1, sizeof *plan->rules);
	if (!plan->rules) {
		return false;
	}
	for (size_t i = 0; i < set->rule_count; i++) {
		const struct rule *rule = set->rules[i].rule;

		if (!event_pattern_matches(&rule->event, kind) ||
		    !has_version(rule, kind->version)) {
			continue;
		}
		/* Beyond the header nothing is known of such a record, its process included. */
		if (plan->undecodable && rule->event.scope != EVENTS_ALL) {
			continue;
		}
		switch (plan_rule(builder, &set->rules[i], &plan->rules[plan->rule_count])) {
		case RULE_APPLIES:
			plan->rule_count++;
			break;
		case RULE_NEVER:
			break;
		case RULE_FAILED:
			return false;
		}
	}
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

static bool ends_process(const struct event_kind *kind)
{
	if (kind->class == KERNEL_PROCESS) {
		return kind->opcode == PROCESS_STOP;
	}
	return !kind->classic && kind->id == PROCESS_STOP &&
	       guid_equal(&kind->provider, &kernel_process);
}

static void free_plan(struct plan *plan)
{
	for (size_t i = 0; i < plan->rule_count; i++) {
		free_rule(&plan->rules[i]);
	}
	free(plan->rules);
	free(plan->slots);
	free(plan);
}

void rule_engine_release(struct event_kind *kind)
{
	if (kind->plan) {
		free_plan(kind->plan);
		kind->plan = NULL;
	}
}

bool rule_engine_prepare(struct rule_engine *engine, struct event_kind *kind)
{
	struct builder builder = { .engine = engine, .kind = kind };
	struct plan *plan = calloc(1, sizeof *plan);

	rule_engine_release(kind);
	if (!plan) {
		return false;
	}
	builder.plan = plan;
	plan->undecodable = kind->record_kind >= RECORD_TIMED;
	plan->schema = plan->undecodable ? NULL : kind->schema;
	plan->provider = intern_string(engine->strings, kind->provider_name);
	plan->dropped = filters_drop_event(engine->set, kind);
	plan->ends_instance = ends_process(kind);
	if (!plan_rules(&builder) ||
	    !make_slices(engine, plan->schema ? plan->schema->field_count : 0U)) {
		free_plan(plan);
		return false;
	}
	if (builder.problem_rule) {
		engine_count_problem(engine, plan, PROBLEM_RULE);
	}
	if (builder.problem_type) {
		engine_count_problem(engine, plan, PROBLEM_BAD_TYPE);
	}
	kind->plan = plan;
	return true;
}
