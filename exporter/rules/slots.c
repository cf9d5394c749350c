/* SPDX-License-Identifier: MIT */
/*
 * Finds the values that the rules of a kind ask for, each at most once for an event.
 */
#include <stdio.h>
#include <string.h>

#include "rules/engine.h"
#include "rules/event_items.h"

static enum slot_state read_fixed(const struct event_record *record, struct slot *slot)
{
	const struct field *field = slot->field;
	unsigned wide = record->pointer_size == 8;
	struct field_slice slice = { .at = record->payload + field->offset[wide],
				     .size = field->size[wide] };

	if (record->payload_size < slot->end) {
		return SLOT_CUT;
	}
	slot->value = field_u64(field, &slice);
	return SLOT_HAS;
}

static void walk_once(struct rule_engine *engine, struct plan *plan,
		      const struct event_record *record)
{
	if (plan->walk != plan->generation) {
		plan->walk = plan->generation;
		plan->whole_fields =
			fields_walk(plan->schema, plan->last_walked, record, engine->slices, NULL);
	}
}

static enum slot_state read_walked(struct rule_engine *engine, struct plan *plan,
				   const struct event_record *record, struct slot *slot)
{
	walk_once(engine, plan, record);
	if (slot->index >= plan->whole_fields) {
		return SLOT_CUT;
	}
	slot->value = field_u64(slot->field, &engine->slices[slot->index]);
	return SLOT_HAS;
}

/* An array without the element that a rule asks for is counted: it is no 0. */
static enum slot_state read_part(struct rule_engine *engine, struct plan *plan,
				 const struct event_record *record, struct slot *slot)
{
	const struct field_path *path = plan->parts[slot->index];
	struct field_slice slice;
	uint32_t count;

	walk_once(engine, plan, record);
	switch (field_path_locate(plan->schema, path, record, engine->slices, &slice, &count)) {
	case FIELD_PATH_FOUND:
		break;
	case FIELD_PATH_CUT:
		return SLOT_CUT;
	case FIELD_PATH_MISSING:
		engine_count_problem(engine, plan, PROBLEM_RULE);
		return SLOT_UNKNOWN;
	}
	if (path->is_count) {
		slot->value = count;
	} else if (slot->form == FORM_NUMBER) {
		slot->value = field_u64(slot->field, &slice);
	} else {
		slot->slice = slice;
	}
	return SLOT_HAS;
}

static enum slot_state read_item(struct rule_engine *engine, struct plan *plan,
				 const struct event_record *record, struct slot *slot)
{
	struct field_slice slice;

	switch (event_item_read(slot->derived, record, &slice, &slot->value)) {
	case EVENT_ITEM_FOUND:
		break;
	case EVENT_ITEM_NONE:
		return SLOT_UNKNOWN;
	case EVENT_ITEM_MALFORMED:
		engine_count_problem(engine, plan, PROBLEM_BAD_TYPE);
		return SLOT_UNKNOWN;
	}
	if (slot->form == FORM_TEXT) {
		slot->slice = slice;
	} else if (slot->derived != DERIVED_STACK_DEPTH) {
		slot->value = field_u64(slot->field, &slice);
	}
	return SLOT_HAS;
}

static enum slot_state read_path(struct rule_engine *engine, struct slot *slot)
{
	size_t size = 0;
	const char *path = tracker_path(engine->tracker, &size);

	if (!path) {
		return SLOT_UNKNOWN;
	}
	slot->slice = (struct field_slice){ .at = (const uint8_t *)path, .size = (uint32_t)size };
	return SLOT_HAS;
}

/* Names of operations by opcode, made when first seen. */
static enum slot_state read_started(struct rule_engine *engine, const struct event_record *record,
				    struct slot *slot)
{
	uint8_t opcode;

	if (!tracker_started(engine->tracker, &opcode)) {
		return SLOT_UNKNOWN;
	}
	if (engine->started[opcode] == INTERN_NONE) {
		const char *class = kernel_class_name(record->provider);
		const char *event = kernel_event_name(record->provider, opcode);
		char name[128];

		if (event) {
			snprintf(name, sizeof name, "%s/%s", class ? class : "", event);
		} else {
			snprintf(name, sizeof name, "%s/%u", class ? class : "", opcode);
		}
		engine->started[opcode] = intern_string(engine->strings, name);
	}
	slot->value = engine->started[opcode];
	return SLOT_HAS;
}

static enum slot_state read_origin(struct rule_engine *engine, struct plan *plan,
				   const struct event_record *record, struct slot *slot)
{
	struct slot *origin = &plan->slots[slot->index];
	enum slot_state state = slot_get(engine, plan, record, origin);

	if (state != SLOT_HAS) {
		return state;
	}
	if (slot->type == SLOT_PAGING) {
		slot->value = (origin->value & 2) != 0;
	} else {
		slot->value = engine->exit_results[exit_result_of((uint32_t)origin->value)];
	}
	return SLOT_HAS;
}

static enum slot_state known(bool is_known)
{
	return is_known ? SLOT_HAS : SLOT_UNKNOWN;
}

static enum slot_state read_carried(const struct plan *plan, struct slot *slot)
{
	const struct plan_pair *stop = &plan->stops[slot->index / PAIR_CARRIED_MAX];

	if (stop->state != SLOT_HAS) {
		return (enum slot_state)stop->state;
	}
	slot->value = stop->carried[slot->index % PAIR_CARRIED_MAX];
	return known(slot->value != INTERN_NONE);
}

static enum slot_state read_value(struct rule_engine *engine, struct plan *plan,
				  const struct event_record *record, struct slot *slot)
{
	uint32_t id = RECORD_NO_ID;

	switch ((enum slot_kind)slot->type) {
	case SLOT_CONSTANT:
		return SLOT_HAS;
	case SLOT_FIXED:
	case SLOT_U32:
		return read_fixed(record, slot);
	case SLOT_WALKED:
		return read_walked(engine, plan, record, slot);
	case SLOT_TEXT:
		return field_locate(plan->schema, slot->index, record, &slot->slice) ? SLOT_HAS :
										       SLOT_CUT;
	case SLOT_PART:
		return read_part(engine, plan, record, slot);
	case SLOT_ITEM:
		return read_item(engine, plan, record, slot);
	case SLOT_PATH:
		return read_path(engine, slot);
	case SLOT_PROCESS:
		slot->value = tracker_process(engine->tracker, NULL);
		return SLOT_HAS;
	case SLOT_OF_PROCESS:
		slot->value = tracker_of_process(engine->tracker);
		return SLOT_HAS;
	case SLOT_OLD_PROCESS:
		slot->value = tracker_old_process(engine->tracker);
		return SLOT_HAS;
	case SLOT_VOLUME:
		slot->value = tracker_volume(engine->tracker);
		return SLOT_HAS;
	case SLOT_PATH_GROUP:
		slot->value = tracker_path_group(engine->tracker);
		return SLOT_HAS;
	case SLOT_DRIVER:
		slot->value = tracker_driver(engine->tracker);
		return SLOT_HAS;
	case SLOT_SERVICE:
		slot->value = tracker_service(engine->tracker);
		return SLOT_HAS;
	case SLOT_STARTED:
		return read_started(engine, record, slot);
	case SLOT_STARTED_BY:
		slot->value = tracker_started_by(engine->tracker);
		return SLOT_HAS;
	case SLOT_EXIT_RESULT:
	case SLOT_PAGING:
		return read_origin(engine, plan, record, slot);
	case SLOT_PROCESS_ID:
		tracker_process(engine->tracker, &id);
		slot->value = id;
		return known(id != RECORD_NO_ID);
	case SLOT_THREAD_ID:
		slot->value = record->thread_id;
		return known(record->thread_id != RECORD_NO_ID);
	case SLOT_CPU:
		slot->value = record->processor;
		return SLOT_HAS;
	case SLOT_LEVEL:
		slot->value = record->level;
		return SLOT_HAS;
	case SLOT_PAYLOAD_SIZE:
		slot->value = record->payload_size;
		return SLOT_HAS;
	case SLOT_PAIR:
		slot->value = plan->stops[slot->index].duration_ns;
		return (enum slot_state)plan->stops[slot->index].state;
	case SLOT_CARRIED:
		return read_carried(plan, slot);
	case SLOT_DURATION:
		return known(tracker_duration(engine->tracker, &slot->value));
	case SLOT_ON_CPU:
		return known(tracker_on_cpu(engine->tracker, &slot->value));
	case SLOT_READY:
		return known(tracker_ready(engine->tracker, &slot->value));
	}
	return SLOT_UNKNOWN;
}

enum slot_state slot_read(struct rule_engine *engine, struct plan *plan,
			  const struct event_record *record, struct slot *slot)
{
	enum slot_state state = read_value(engine, plan, record, slot);

	slot->generation = plan->generation;
	slot->state = (uint8_t)state;
	return state;
}
