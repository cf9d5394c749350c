/* SPDX-License-Identifier: MIT */
/*
 * Which pairs the events of a kind begin, carry something for and end, and what is done when one
 * comes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "rules/plan.h"

/* ---- the plan ---- */

/* The labels that the events carry to their stop. */
static enum fate plan_carry(struct builder *builder, const struct pair *pair,
			    struct plan_pair *planned)
{
	bool carries = planned->side == PAIR_MIDDLE ||
		       (planned->side == PAIR_START && !pair->middle.keys);

	if (!carries) {
		return RULE_APPLIES;
	}
	planned->carry_count = (uint8_t)pair->carry_count;
	return plan_label_set(builder, pair->carry, pair->carry_count, &planned->carry);
}

static enum fate plan_end(struct builder *builder, size_t number, enum pair_side side,
			  const struct pair_end *end)
{
	const struct pair *pair = builder->engine->set->pairs[number];
	struct plan_pair added = { .pair = (uint16_t)number,
				   .side = (uint8_t)side,
				   .state = SLOT_UNKNOWN };
	struct plan *plan = builder->plan;
	struct plan_pair **planned = side == PAIR_STOP ? &plan->stops : &plan->starts;
	size_t *count = side == PAIR_STOP ? &plan->stop_count : &plan->start_count;
	struct plan_pair *grown;
	enum fate fate;

	if (!event_pattern_matches(&end->event, builder->class)) {
		return RULE_NEVER;
	}
	for (size_t i = 0; i < pair->key_count; i++) {
		uint16_t slot = plan_find_slot(builder, &end->keys[i]);

		if (slot == NO_SLOT) {
			return plan_lacks_field(builder, &end->keys[i]);
		}
		added.keys[added.key_count++] = slot;
	}
	fate = plan_carry(builder, pair, &added);
	if (fate != RULE_APPLIES) {
		return fate;
	}
	grown = realloc(*planned, (*count + 1) * sizeof *grown);
	if (!grown) {
		return RULE_FAILED;
	}
	*planned = grown;
	grown[(*count)++] = added;
	return RULE_APPLIES;
}

/* Pairs of the same beginning are one, which each of their ends ends. */
static bool ends_pair(const struct plan *plan, size_t pair)
{
	return plan->stop_count > 0 && plan->stops[plan->stop_count - 1].pair == pair;
}

bool plan_pairs(struct builder *builder)
{
	const struct rule_set *set = builder->engine->set;
	struct plan *plan = builder->plan;

	builder->kernel = builder->class->kernel_class != KERNEL_NONE;
	for (size_t i = 0; i < set->pair_count && !plan->undecodable; i++) {
		const struct pair *pair = set->pairs[i];

		if (plan_end(builder, i, PAIR_START, &pair->start) == RULE_FAILED ||
		    (pair->middle.keys &&
		     plan_end(builder, i, PAIR_MIDDLE, &pair->middle) == RULE_FAILED)) {
			return false;
		}
		for (size_t j = 0; j < set->rule_count; j++) {
			const struct active_rule *rule = &set->rules[j];

			if (rule->pair == i && !ends_pair(plan, i) &&
			    plan_end(builder, i, PAIR_STOP, &rule->rule->pair->stop) ==
				    RULE_FAILED) {
				return false;
			}
		}
	}
	return true;
}

uint16_t plan_find_stop(const struct plan *plan, size_t pair)
{
	for (size_t i = 0; i < plan->stop_count; i++) {
		if (plan->stops[i].pair == pair) {
			return (uint16_t)i;
		}
	}
	return NO_SLOT;
}

/* ---- events ---- */

/* Text without the NUL that may end it. */
static size_t text_size(const struct slot *slot)
{
	uint8_t type = slot->field ? slot->field->type : FIELD_BINARY;
	size_t unit = type == FIELD_WSTRING || type == FIELD_WCHAR ? 2 : 1;
	size_t size = slot->read.slice.size;
	const uint8_t *at = slot->read.slice.at;

	if (type == FIELD_WSTRING || type == FIELD_WCHAR || type == FIELD_ASTRING ||
	    type == FIELD_ACHAR) {
		while (size >= unit && at[size - 1] == 0 && at[size - unit] == 0) {
			size -= unit;
		}
	}
	return size;
}

/* What the key's fields of a record come to, as a hash with a seed of the run. */
static enum slot_state read_key(struct rule_engine *engine, struct plan *plan,
				const struct event_record *record, const struct plan_pair *pair,
				uint64_t *key)
{
	*key = engine->seed;
	for (unsigned i = 0; i < pair->key_count; i++) {
		struct slot *slot = &plan->slots[pair->keys[i]];
		enum slot_state state = slot_get(engine, plan, record, slot);
		uint64_t value = slot->read.number;

		if (state != SLOT_HAS) {
			return state;
		}
		if (slot->form == FORM_ID && slot->read.number == INTERN_FULL) {
			return SLOT_UNKNOWN;
		}
		if (slot->form == FORM_TEXT) {
			value = text_hash((const char *)slot->read.slice.at, text_size(slot),
					  engine->seed);
		}
		*key = hash_seeded(*key ^ value, engine->seed + i);
	}
	return record->raw_time != RECORD_NO_TIME ? SLOT_HAS : SLOT_UNKNOWN;
}

void engine_end_pairs(struct rule_engine *engine, struct plan *plan,
		      const struct event_record *record)
{
	for (size_t i = 0; i < plan->stop_count; i++) {
		struct plan_pair *stop = &plan->stops[i];
		uint64_t key, ticks;

		stop->state = (uint8_t)read_key(engine, plan, record, stop, &key);
		if (stop->state != SLOT_HAS) {
			pairs_miss(engine->pairs, false);
		} else if (pairs_end(engine->pairs, stop->pair, key, record->raw_time, &ticks,
				     stop->carried)) {
			stop->duration_ns = ticks_to_ns(ticks, engine->clock.frequency);
		} else {
			stop->state = SLOT_UNKNOWN;
		}
	}
	engine_publish(engine);
}

/* Makes the labels that the event carries. False: the payload ends before one. */
static bool carry(struct rule_engine *engine, struct plan *plan, const struct event_record *record,
		  struct plan_pair *pair, uint32_t *carried)
{
	for (unsigned i = 0; i < pair->carry.varying_count; i++) {
		struct plan_label *label = &plan->labels[pair->carry.varying[i].label];

		if (label_get(engine, plan, record, label) == SLOT_CUT) {
			return false;
		}
	}
	memcpy(carried, label_set_ids(plan, &pair->carry), pair->carry_count * sizeof *carried);
	return true;
}

/* An event that carries something for a pair that did not begin, or whose key cannot be told, is
 * no loss of its own: the stop will miss its start. */
static bool begin_pair(struct rule_engine *engine, struct plan *plan,
		       const struct event_record *record, struct plan_pair *pair)
{
	bool start = pair->side == PAIR_START;
	uint32_t *carried;
	uint64_t key;
	enum slot_state state = read_key(engine, plan, record, pair, &key);

	if (state != SLOT_HAS) {
		if (start) {
			pairs_miss(engine->pairs, true);
		}
		return state == SLOT_UNKNOWN;
	}
	carried = start ? pairs_begin(engine->pairs, pair->pair, key, record->raw_time) :
			  pairs_carried(engine->pairs, pair->pair, key, record->raw_time);
	return !carried || pair->carry_count == 0 || carry(engine, plan, record, pair, carried);
}

bool engine_begin_pairs(struct rule_engine *engine, struct plan *plan,
			const struct event_record *record)
{
	bool cut = false;

	for (size_t i = 0; i < plan->start_count; i++) {
		cut |= !begin_pair(engine, plan, record, &plan->starts[i]);
	}
	engine_publish(engine);
	return cut;
}

/* ---- statistics ---- */

static void publish_table(struct rule_engine *engine, enum engine_table table, uint64_t entries,
			  uint64_t evictions)
{
	atomic_store_explicit(&engine->tables[table], entries, memory_order_relaxed);
	atomic_store_explicit(&engine->evictions[table], evictions, memory_order_relaxed);
}

static void publish_unmatched(struct rule_engine *engine, unsigned side, uint64_t count)
{
	if (engine->unmatched[side]) {
		cell_add(engine->unmatched[side], count - engine->told_unmatched[side]);
	}
	engine->told_unmatched[side] = count;
}

void engine_publish(struct rule_engine *engine)
{
	const struct pairs_statistics *pairs = pairs_statistics(engine->pairs);

	publish_table(engine, ENGINE_PAIRS, pairs->entries, pairs->evictions);
	publish_table(engine, ENGINE_GAUGES, gauges_count(engine->gauges),
		      gauges_evictions(engine->gauges));
	publish_unmatched(engine, 0, pairs->unmatched_starts);
	publish_unmatched(engine, 1, pairs->unmatched_stops);
}

void rule_engine_statistics(const struct rule_engine *engine,
			    struct rule_engine_statistics *statistics)
{
	for (unsigned i = 0; i < ENGINE_TABLES; i++) {
		statistics->entries[i] =
			atomic_load_explicit(&engine->tables[i], memory_order_relaxed);
		statistics->evictions[i] =
			atomic_load_explicit(&engine->evictions[i], memory_order_relaxed);
	}
}
