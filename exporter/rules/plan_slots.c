/* SPDX-License-Identifier: MIT */
/*
 * Where the values of a plan come from: fields of the kind's layout, derived ones.
 */
#include <stdlib.h>

#include "rules/plan.h"

enum { NOT_CARRIED = PAIR_CARRIED_MAX };

static uint16_t add_slot(struct builder *builder, const struct slot *slot)
{
	struct plan *plan = builder->plan;
	struct slot *slots;

	for (size_t i = 0; i < plan->slot_count; i++) {
		if (plan->slots[i].type == slot->type &&
		    plan->slots[i].read.row == slot->read.row &&
		    plan->slots[i].field == slot->field &&
		    ((slot->type != SLOT_PAIR && slot->type != SLOT_CARRIED) ||
		     plan->slots[i].index == slot->index)) {
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
	struct slot slot = { .index = (uint16_t)index, .field = field, .state = SLOT_CUT };

	if (!field_is_integer(field)) {
		slot.type = SLOT_TEXT;
		slot.form = FORM_TEXT;
		return add_slot(builder, &slot);
	}
	slot.form = FORM_NUMBER;
	slot.is_signed = field_is_signed(field);
	slot.reader = field_reader_of(schema, index, builder->class->pointer_size);
	if (slot.reader.end != FIELD_READER_WALKS) {
		slot.type = slot.reader.load == LOAD_U32 ? SLOT_U32 : SLOT_FIXED;
		return add_slot(builder, &slot);
	}
	slot.type = SLOT_WALKED;
	if (index > builder->plan->last_walked) {
		builder->plan->last_walked = (uint16_t)index;
	}
	return add_slot(builder, &slot);
}

static bool is_same_part(const struct field_path *a, const struct field_path *b)
{
	if (a->field != b->field || a->is_count != b->is_count || a->step_count != b->step_count) {
		return false;
	}
	for (unsigned i = 0; i < a->step_count; i++) {
		if (a->steps[i].array != b->steps[i].array ||
		    a->steps[i].element != b->steps[i].element) {
			return false;
		}
	}
	return true;
}

static struct field_path *add_part(struct plan *plan, const struct field_path *path,
				   uint16_t *index)
{
	struct field_path **parts;
	struct field_path *copy;

	for (size_t i = 0; i < plan->part_count; i++) {
		if (is_same_part(plan->parts[i], path)) {
			*index = (uint16_t)i;
			return plan->parts[i];
		}
	}
	parts = plan->part_count < SLOTS_MAX ?
			realloc(plan->parts, (plan->part_count + 1) * sizeof(struct field_path *)) :
			NULL;
	if (!parts) {
		return NULL;
	}
	plan->parts = parts;
	copy = malloc(sizeof *copy);
	if (copy) {
		*copy = *path;
		*index = (uint16_t)plan->part_count;
		parts[plan->part_count++] = copy;
	}
	return copy;
}

/* An element, a member of one, a count. NO_SLOT: the layout has none, or builder->failed. */
static uint16_t add_part_slot(struct builder *builder, const char *name)
{
	struct plan *plan = builder->plan;
	struct slot slot = { .type = SLOT_PART };
	struct field_path path, *part;

	if (!plan->schema || !field_path_find(plan->schema, name, &path)) {
		return NO_SLOT;
	}
	part = add_part(plan, &path, &slot.index);
	if (!part) {
		builder->failed = true;
		return NO_SLOT;
	}
	slot.field = &part->value;
	slot.form = field_is_integer(slot.field) ? FORM_NUMBER : FORM_TEXT;
	slot.is_signed = slot.form == FORM_NUMBER && field_is_signed(slot.field);
	if (part->top > plan->last_walked) {
		plan->last_walked = part->top;
	}
	return add_slot(builder, &slot);
}

/* NO_SLOT: the layout lacks the field that it is computed from, or builder->failed. */
static uint16_t add_derived_slot(struct builder *builder, const struct derived_field *row)
{
	struct slot slot = { .type = SLOT_DERIVED,
			     .form = (uint8_t)row->form,
			     .state = SLOT_UNKNOWN,
			     .read = { .row = row, .tracker = builder->engine->tracker },
			     .field = row->field };

	if (row->constant) {
		slot.type = SLOT_CONSTANT;
		slot.state = SLOT_HAS;
		slot.read.number = row->constant(
			&(struct derived_class){ .class = builder->class,
						 .strings = builder->engine->strings,
						 .provider = builder->plan->provider,
						 .session = builder->engine->session });
	}
	if (row->origin) {
		int index = layout_index(builder, row->origin);

		if (index < 0 || !field_is_integer(&builder->plan->schema->fields[index])) {
			return NO_SLOT;
		}
		if (row->reads_origin) {
			slot.type = SLOT_COMPUTED;
			slot.index = add_layout_slot(builder, index);
			if (slot.index == NO_SLOT) {
				return NO_SLOT;
			}
		}
	}
	return add_slot(builder, &slot);
}

/* What a pair gives its stop: Duration, or what it carries. */
static uint16_t add_pair_slot(struct builder *builder, size_t carried)
{
	struct slot slot = { .type = SLOT_PAIR, .form = FORM_NUMBER };
	uint16_t stop = plan_find_stop(builder->plan, builder->rule->pair);

	if (stop == NO_SLOT) {
		return NO_SLOT;
	}
	slot.index = stop;
	if (carried != NOT_CARRIED) {
		slot = (struct slot){ .type = SLOT_CARRIED, .form = FORM_ID };
		slot.index = (uint16_t)(stop * PAIR_CARRIED_MAX + carried);
	}
	return add_slot(builder, &slot);
}

static size_t find_carried(const struct builder *builder, const struct field_ref *field)
{
	const struct pair *pair = builder->rule->rule->pair;
	size_t carried = pair_find_carried(pair, field->name);

	return carried < pair->carry_count ? carried : NOT_CARRIED;
}

/* NO_SLOT: this kind has no such field. */
uint16_t plan_find_slot(struct builder *builder, const struct field_ref *field)
{
	int index;

	if (builder->rule && builder->rule->pair != NO_PAIR) {
		size_t carried = find_carried(builder, field);

		if (field_has_role(field, ROLE_DURATION) || carried != NOT_CARRIED) {
			return add_pair_slot(builder, carried);
		}
	}
	if (field->derived && field->derived->before_layout) {
		return add_derived_slot(builder, field->derived);
	}
	index = layout_index(builder, field->name);
	if (index >= 0) {
		return add_layout_slot(builder, index);
	}
	return field->derived ? add_derived_slot(builder, field->derived) :
				add_part_slot(builder, field->name);
}
