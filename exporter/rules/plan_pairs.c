/* SPDX-License-Identifier: MIT */
/*
 * Which pairs the events of a kind begin and end, and what is done when one comes.
 */
#include <stdlib.h>

#include "base/map.h"
#include "rules/plan.h"

/* ---- the plan ---- */

static enum fate plan_end(struct builder *builder, size_t pair, const struct pair_end *end,
			  struct plan_pair **planned, size_t *count)
{
	struct plan_pair added = { .pair = (uint16_t)pair, .state = SLOT_UNKNOWN };
	struct plan_pair *grown;
	size_t key_count = builder->engine->set->pairs[pair]->key_count;

	if (!event_pattern_matches(&end->event, builder->kind)) {
		return RULE_NEVER;
	}
	for (size_t i = 0; i < key_count; i++) {
		uint16_t slot = plan_find_slot(builder, &end->keys[i]);

		if (slot == NO_SLOT) {
			return plan_lacks_field(builder, &end->keys[i]);
		}
		added.keys[added.key_count++] = slot;
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

	builder->kernel = builder->kind->class != KERNEL_NONE;
	for (size_t i = 0; i < set->pair_count && !plan->undecodable; i++) {
		if (plan_end(builder, i, &set->pairs[i]->start, &plan->starts,
			     &plan->start_count) == RULE_FAILED) {
			return false;
		}
		for (size_t j = 0; j < set->rule_count; j++) {
			const struct active_rule *rule = &set->rules[j];

			if (rule->pair == i && !ends_pair(plan, i) &&
			    plan_end(builder, i, &rule->rule->pair->stop, &plan->stops,
				     &plan->stop_count) == RULE_FAILED) {
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
	size_t size = slot->slice.size;
	const uint8_t *at = slot->slice.at;

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
		uint64_t value = slot->value;

		if (state != SLOT_HAS) {
			return state;
		}
		if (slot->form == FORM_ID && slot->value == INTERN_FULL) {
			return SLOT_UNKNOWN;
		}
		if (slot->form == FORM_TEXT) {
			value = text_hash((const char *)slot->slice.at, text_size(slot),
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
		} else if (pairs_end(engine->pairs, stop->pair, key, record->raw_time, &ticks)) {
			stop->duration_ns = ticks_to_ns(ticks, engine->clock.frequency);
		} else {
			stop->state = SLOT_UNKNOWN;
		}
	}
	engine_publish(engine);
}

bool engine_begin_pairs(struct rule_engine *engine, struct plan *plan,
			const struct event_record *record)
{
	bool cut = false;

	for (size_t i = 0; i < plan->start_count; i++) {
		struct plan_pair *start = &plan->starts[i];
		uint64_t key;

		start->state = (uint8_t)read_key(engine, plan, record, start, &key);
		cut |= start->state == SLOT_CUT;
		if (start->state == SLOT_HAS) {
			pairs_begin(engine->pairs, start->pair, key, record->raw_time);
		} else {
			pairs_miss(engine->pairs, true);
		}
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
