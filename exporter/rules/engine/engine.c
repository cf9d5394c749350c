/* SPDX-License-Identifier: MIT */
/*
 * Makes, resets, replaces and frees a rule engine, and publishes its statistics.
 *
 * An engine belongs to one consumer and shares the rule set with the others. Event classes are
 * compiled by compile.c when they first arrive and applied by apply.c to each event; what they
 * share is in engine.h. The statistics of the tables are atomics that the consumer writes after
 * each change, because other threads read them. A reset (a new pass over a recording) forgets
 * starts of spans and set gauges, but keeps what was counted. A reload gives the engine another
 * rule set: the engine stays, because other threads read its statistics. The seed of its hashes
 * stays, and so do the entries of its tables whose spans and families both sets have.
 */
#include "exporter/rules/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "exporter/rules/rules.h"

/* ---- dry runs ---- */

struct dry_run {
	size_t count;
	struct dry_run_rule rules[]; /* in the order of the set's rules */
};

struct dry_run *dry_run_new(const struct rule_set *set, struct etw_error *err)
{
	struct dry_run *dry_run =
		calloc(1, sizeof *dry_run + set->rule_count * sizeof dry_run->rules[0]);

	if (!dry_run) {
		error_no_memory(err, "a dry run of rules");
		return NULL;
	}
	dry_run->count = set->rule_count;
	for (size_t i = 0; i < dry_run->count; i++) {
		dry_run->rules[i].rule = set->rules[i].rule;
	}
	return dry_run;
}

void dry_run_free(struct dry_run *dry_run)
{
	free(dry_run);
}

const struct dry_run_rule *dry_run_at(const struct dry_run *dry_run, size_t index)
{
	return index < dry_run->count ? &dry_run->rules[index] : NULL;
}

static void miss(struct dry_run_rule *rule, const char *field)
{
	for (size_t i = 0; i < rule->missing_count; i++) {
		if (strcmp(rule->missing[i].field, field) == 0) {
			rule->missing[i].events++;
			return;
		}
	}
	if (rule->missing_count < DRY_RUN_MISSING_MAX) {
		rule->missing[rule->missing_count].field = field;
		rule->missing[rule->missing_count++].events = 1;
	}
}

void dry_run_event(struct dry_run *dry_run, const struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->note_count; i++) {
		const struct dry_run_note *note = &compiled->notes[i];
		struct dry_run_rule *rule = &dry_run->rules[note->number];

		if (note->missing) {
			miss(rule, note->missing);
			continue;
		}
		rule->events++;
		rule->left_out += note->left_out;
		rule->wrong_type += note->wrong_type;
	}
}

/* Returns whether the value is missing in the current event although other events have it. */
static bool lacks(const struct compiled_rules *compiled, const struct value *value)
{
	return value->type != VALUE_CONSTANT && value->generation == compiled->generation &&
	       value->state == VALUE_UNKNOWN;
}

void dry_run_result(struct dry_run *dry_run, const struct compiled_rules *compiled,
		    const struct compiled_rule *rule, enum event_result result)
{
	struct dry_run_rule *counts = &dry_run->rules[rule->number];
	bool missing = false;

	if (result == CUT_SHORT) {
		counts->cut++;
		return;
	}
	for (unsigned i = 0; i < rule->condition_count; i++) {
		if (lacks(compiled, rule->conditions[i].value)) {
			miss(counts, rule->conditions[i].condition->field.name);
			missing = true;
		}
	}
	if (!missing && rule->value && lacks(compiled, rule->value)) {
		miss(counts, counts->rule->since.name ? counts->rule->since.name :
							counts->rule->value.name);
		missing = true;
	}
	if (result == NOT_APPLIED) {
		counts->left_out += !missing;
		return;
	}
	counts->counted++;
	for (unsigned i = 0; i < rule->labels.varying_count; i++) {
		const struct compiled_label *label =
			&compiled->labels[rule->labels.varying[i].label];

		if (lacks(compiled, label->value)) {
			miss(counts, label->label->field.name);
		}
	}
}

const char *record_outcome_name(enum record_outcome outcome)
{
	static const char *const names[OUTCOME_COUNT] = {
		[OUTCOME_COUNTED] = "counted",     [OUTCOME_NO_RULE] = "no_rule",
		[OUTCOME_NO_SCHEMA] = "no_schema", [OUTCOME_UNDECODABLE] = "undecodable",
		[OUTCOME_FILTERED] = "filtered",
	};

	return names[outcome];
}

/* ---- statistics: written by the consumer, read by any thread ---- */

static void publish_table(struct rule_engine *engine, enum engine_table table, uint64_t entries,
			  uint64_t evictions)
{
	atomic_store_explicit(&engine->tables[table], entries, memory_order_relaxed);
	atomic_store_explicit(&engine->evictions[table], evictions, memory_order_relaxed);
}

static void publish_unmatched(struct rule_engine *engine, unsigned side, uint64_t count)
{
	uint64_t added = count - engine->published_unmatched[side];

	if (added > 0 && engine->unmatched[side]) {
		cell_add(engine->unmatched[side], added);
	}
	engine->published_unmatched[side] = count;
}

void engine_publish_spans(struct rule_engine *engine)
{
	const struct spans_statistics *spans = spans_statistics(engine->spans);

	publish_table(engine, ENGINE_SPANS, spans->entries, spans->evictions);
	publish_unmatched(engine, 0, spans->unmatched_starts);
	publish_unmatched(engine, 1, spans->unmatched_stops);
}

void engine_publish_gauges(struct rule_engine *engine)
{
	publish_table(engine, ENGINE_GAUGES, gauges_count(engine->gauges),
		      gauges_evictions(engine->gauges));
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

/* ---- making and ending ---- */

/* Processor clocks differ by far less; late buffers are later than this. */
enum { CLOCK_SKEW_MS = 1 };

static bool make_spans(struct rule_engine *engine, struct etw_error *err)
{
	static const char *const sides[] = { "start", "stop" };
	const struct rule_set *set = engine->set;
	uint64_t *timeouts = calloc(set->span_count + 1, sizeof *timeouts);

	if (!timeouts) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for pairs");
	}
	for (size_t i = 0; i < set->span_count; i++) {
		timeouts[i] = etw_ticks_of_ms(set->spans[i]->timeout_ms, engine->clock.frequency);
	}
	engine->spans = spans_new(timeouts, set->span_count,
				  etw_ticks_of_ms(CLOCK_SKEW_MS, engine->clock.frequency), err);
	free(timeouts);
	for (unsigned i = 0; engine->spans && i < 2; i++) {
		uint32_t ids[] = { intern_own(engine->strings, "pair"),
				   intern_own(engine->strings, sides[i]) };

		engine->unmatched[i] = family_cells(set->unmatched, engine->shard, ids, NULL);
	}
	return engine->spans != NULL;
}

struct rule_engine *rule_engine_new(const struct rule_engine_options *options,
				    struct etw_error *err)
{
	struct rule_engine *engine = calloc(1, sizeof *engine);

	if (!engine) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for rules");
		return NULL;
	}
	engine->set = options->set;
	engine->probe = options->probe;
	engine->names_only = options->names_only;
	engine->dry_run = options->dry_run;
	engine->registry = options->registry;
	engine->strings = registry_strings(options->registry);
	engine->shard = options->shard;
	engine->tracker = options->tracker;
	engine->clock = *options->clock;
	engine->seed = os_monotonic_ns();
	engine->session = intern_own(engine->strings, options->session);
	engine->unknown = registry_unknown(options->registry);
	engine->none = registry_none(options->registry);
	engine->filters_processes = filters_look_at_processes(options->set);
	engine->on_schema_mismatch = options->on_schema_mismatch;
	engine->schema_mismatch_context = options->schema_mismatch_context;
	engine->texts = calloc(TEXTS_SIZE, sizeof *engine->texts);
	engine->mismatches_reported =
		calloc(options->set->rule_count + 1, sizeof *engine->mismatches_reported);
	if (!engine->texts || !engine->mismatches_reported) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for rules");
		goto fail;
	}
	engine->matcher = regex_matcher_new(err);
	engine->gauges = engine->matcher ? gauges_new(err) : NULL;
	if (!engine->gauges || !make_spans(engine, err)) {
		goto fail;
	}
	return engine;

fail:
	rule_engine_free(engine);
	return NULL;
}

void rule_engine_free(struct rule_engine *engine)
{
	if (!engine) {
		return;
	}
	for (size_t i = 0; engine->texts && i < TEXTS_SIZE; i++) {
		free(engine->texts[i].bytes);
	}
	regex_matcher_free(engine->matcher);
	gauges_free(engine->gauges);
	spans_free(engine->spans);
	draft_free(&engine->draft);
	text_free(&engine->text);
	text_free(&engine->scratch);
	free(engine->texts);
	free(engine->slices);
	free(engine->kept);
	free(engine->mismatches_reported);
	free(engine);
}

void rule_engine_forget_cells(struct etw_event_class *class)
{
	struct compiled_rules *compiled = class->compiled;

	for (size_t i = 0; compiled && i < compiled->cache_count; i++) {
		struct label_set_cache *cache = &compiled->caches[i];

		memset(cache->entries, 0, label_set_words(cache) * sizeof cache->entries[0]);
	}
	if (compiled) {
		memset(compiled->problems, 0, sizeof compiled->problems);
	}
}

/* ---- another rule set ---- */

/* Replaces the spans by those of the set. Starts of spans that are in both sets are kept. */
static bool replace_spans(struct rule_engine *engine, const struct rule_set *former,
			  struct etw_error *err)
{
	const struct rule_set *set = engine->set;
	uint16_t *numbers = calloc(set->span_count + 1, sizeof *numbers);
	struct spans *spans = engine->spans;

	if (!numbers) {
		return error_no_memory(err, "pairs");
	}
	if (!make_spans(engine, err)) {
		engine->spans = spans;
		free(numbers);
		return false;
	}
	for (size_t i = 0; i < set->span_count; i++) {
		size_t j = 0;

		while (j < former->span_count && !span_equal(set->spans[i], former->spans[j])) {
			j++;
		}
		numbers[i] = j < former->span_count ? (uint16_t)j : SPAN_NEW;
	}
	spans_take_over(engine->spans, spans, numbers);
	spans_free(spans);
	free(numbers);
	return true;
}

/* Gauges that one set has and another one lacks. */
struct lone_gauges {
	const struct shard *shard;
	struct family **list; /* owned */
	size_t count;
};

/* Lists the gauges of a set that the other one lacks. Returns false without memory. */
static bool list_lone(struct lone_gauges *lone, const struct rule_set *set,
		      const struct rule_set *other)
{
	struct family *family;
	size_t at = 0;

	lone->list = calloc(set->family_count + 1, sizeof(struct family *));
	while (lone->list && (family = rule_set_family(set, &at)) != NULL) {
		if (family_type(family) == FAMILY_GAUGE && !rule_set_has_family(other, family)) {
			lone->list[lone->count++] = family;
		}
	}
	return lone->list != NULL;
}

static bool is_left(void *context, const cell *at)
{
	const struct lone_gauges *left = context;

	for (size_t i = 0; i < left->count; i++) {
		if (family_has_cell(left->list[i], left->shard, at)) {
			return true;
		}
	}
	return false;
}

/* Removes the values of gauges that the present set lacks. A gauge that the former set lacks starts
 * at 0, even if an earlier set counted it. */
static void replace_gauges(struct rule_engine *engine, struct lone_gauges *left,
			   const struct lone_gauges *come)
{
	if (left->count > 0) {
		gauges_leave(engine->gauges, is_left, left);
	}
	for (size_t i = 0; i < come->count; i++) {
		family_restart(come->list[i], engine->shard);
	}
}

bool rule_engine_replace(struct rule_engine *engine, const struct rule_set *next, bool names_only,
			 struct etw_error *err)
{
	const struct rule_set *former = engine->set;
	struct lone_gauges left = { .shard = engine->shard }, come = { .count = 0 };
	bool *reported = calloc(next->rule_count + 1, sizeof *reported);

	if (!reported || !list_lone(&left, former, next) || !list_lone(&come, next, former)) {
		error_no_memory(err, "rules");
		goto fail;
	}
	engine->set = next;
	if (!replace_spans(engine, former, err)) {
		engine->set = former;
		goto fail;
	}
	replace_gauges(engine, &left, &come);
	free(left.list);
	free(come.list);
	free(engine->mismatches_reported);
	engine->mismatches_reported = reported;
	engine->names_only = names_only;
	engine->filters_processes = filters_look_at_processes(next);
	if (engine->kept) {
		memset(engine->kept, 0,
		       engine->kept_size); /* they are verdicts of the former filters */
	}
	engine_publish_spans(engine);
	engine_publish_gauges(engine);
	return true;

fail:
	free(reported);
	free(left.list);
	free(come.list);
	return false;
}

void rule_engine_reset(struct rule_engine *engine)
{
	gauges_reset(engine->gauges);
	spans_reset(engine->spans);
	engine_publish_spans(engine);
	engine_publish_gauges(engine);
}
