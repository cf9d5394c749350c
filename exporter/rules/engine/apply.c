/* SPDX-License-Identifier: MIT */
/*
 * Applies the compiled rules of an event class to its events: the inner loop of the program.
 *
 * Each event gets a new generation number. Values, labels and caches have the generation that they
 * were last read for, so that a value that many rules use is read once and nothing has to be
 * cleared between events. The order for an event is fixed: filters, spans that it stops (their time
 * is a value of its rules), the rules, spans that it starts.
 *
 * A rule checks its conditions, reads its value, finds its sample and adds to it. The sample is
 * found in the label-set cache of the rule: the ids of the labels make a key, the key selects an
 * entry, and the entry has a cell for each rule of the cache. Only a label set that is not in the
 * cache leads to the registry. Nothing here allocates or works on text unless a value is new.
 *
 * A payload that ends within a field that a rule needs makes the event undecodable, even if other
 * rules counted it; the outcome of an event is the most serious one of its rules.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "exporter/rules/engine/engine.h"

/* ---- filters ---- */

static bool filter_keeps(struct rule_engine *engine, uint32_t process)
{
	const char *name = "_other";
	size_t size = 6;

	if (process != INTERN_FULL) {
		name = intern_text(engine->strings, process, &size);
	}
	return filters_keep_process(engine->set, engine->matcher, name, size);
}

/* Returns the filter's verdict about the record's process, which is found once for each name. */
static NOINLINE bool keeps_process(struct rule_engine *engine)
{
	uint32_t process = tracker_process(engine->tracker, NULL);

	if (process == INTERN_FULL) {
		return filter_keeps(engine, process);
	}
	if (process >= engine->kept_size) {
		size_t size = ((size_t)process + 1) * 2;
		uint8_t *kept = realloc(engine->kept, size);

		if (!kept) {
			return filter_keeps(engine, process);
		}
		memset(kept + engine->kept_size, 0, size - engine->kept_size);
		engine->kept = kept;
		engine->kept_size = size;
	}
	if (engine->kept[process] == 0) {
		engine->kept[process] = filter_keeps(engine, process) ? 1 : 2;
	}
	return engine->kept[process] == 1;
}

/* ---- one rule ---- */

/* Counts a time that is no valid duration, which the rule left out, in
 * etw_invalid_durations_total. */
static NOINLINE void count_no_duration(struct rule_engine *engine, const struct compiled_rule *rule,
				       enum duration_verdict verdict)
{
	uint32_t ids[] = { intern_string(engine->strings, family_name(rule->family)),
			   intern_own(engine->strings, duration_verdict_name(verdict)) };
	cell *at = family_cells(engine->set->invalid_durations, engine->shard, ids, NULL);

	if (at) {
		cell_count(at);
	}
}

/* Returns whether a time that ends with the record is a valid duration. If not, it is counted by
 * the reason. */
static bool is_duration(struct rule_engine *engine, const struct compiled_rule *rule,
			const struct etw_record *record, bool negative, uint64_t ns)
{
	enum duration_verdict verdict =
		duration_judge(&engine->clock, record->raw_time, negative, ns);

	if (verdict != DURATION_FITS) {
		count_no_duration(engine, rule, verdict);
	}
	return verdict == DURATION_FITS;
}

static bool bad_amount(struct rule_engine *engine, struct compiled_rules *compiled)
{
	engine_count_problem(engine, compiled, PROBLEM_BAD_TYPE);
	return false;
}

/* Returns what a real number is multiplied by. */
static double real_factor(const struct compiled_rule *rule)
{
	return rule->factor ? (double)rule->factor : 1e9 / (double)rule->frequency;
}

/* Converts the real number of a gauge, which may be negative, and rounds it to the digits that the
 * gauge keeps. A whole number stays what it is. Returns false if the gauge cannot show it. */
static bool real_gauge(struct rule_engine *engine, struct compiled_rules *compiled,
		       const struct compiled_rule *rule, double number, uint64_t *amount)
{
	double factor = real_factor(rule), whole = 0, rest;

	/* NaN compares as false. */
	if (!(fabs(number) * factor < (double)INT64_MAX)) {
		return bad_amount(engine, compiled);
	}
	rest = rule->factor ? modf(number, &whole) : number;
	*amount = (uint64_t)etw_i64_of_double(whole) * rule->factor +
		  (uint64_t)etw_i64_of_double(nearbyint(rest * factor));
	return true;
}

/* Converts a real number to the unit that is counted, then drops its fraction. Returns false if
 * the rule must not count it. */
static bool real_amount(struct rule_engine *engine, struct compiled_rules *compiled,
			const struct compiled_rule *rule, const struct etw_record *record,
			uint64_t *amount)
{
	double number = etw_field_double(rule->value->field, &rule->value->read.slice);

	if (rule->op != GAUGE_NONE) {
		return real_gauge(engine, compiled, rule, number, amount);
	}
	number *= real_factor(rule);
	*amount = etw_u64_of_double(number);
	if (rule->duration && !isnan(number)) {
		return is_duration(engine, rule, record, number < 0, *amount);
	}
	/* NaN compares as false and so is a bad amount. */
	return (number >= 0 && *amount <= INT64_MAX) || bad_amount(engine, compiled);
}

/* Sets *amount to the time from the raw time in the field to the record. Returns false if it is
 * no valid duration. */
static bool since_amount(struct rule_engine *engine, const struct compiled_rule *rule,
			 const struct etw_record *record, uint64_t *amount)
{
	enum duration_verdict verdict;

	if (record->raw_time == ETW_RECORD_NO_TIME) {
		return false;
	}
	verdict = duration_between(&engine->clock, (int64_t)rule->value->read.number,
				   record->raw_time, amount);
	if (verdict != DURATION_FITS) {
		count_no_duration(engine, rule, verdict);
	}
	return verdict == DURATION_FITS;
}

static uint64_t times(uint64_t value, uint64_t factor)
{
	return factor > 1 && value > UINT64_MAX / factor ? UINT64_MAX : value * factor;
}

/* Converts a value to the unit that is counted; saturates. */
static uint64_t scaled(const struct compiled_rule *rule, uint64_t value)
{
	return rule->factor ? times(value, rule->factor) : etw_ticks_to_ns(value, rule->frequency);
}

/* Converts the value of a gauge, which may be negative; its absolute value is limited to 2^63 -
 * 1. */
static uint64_t gauge_amount(const struct compiled_rule *rule, uint64_t number, bool negative)
{
	uint64_t amount = scaled(rule, negative ? 0 - number : number);

	amount = amount > INT64_MAX ? INT64_MAX : amount;
	return negative ? 0 - amount : amount;
}

/* Sets *amount to the amount to add, which is no real number and no time since another. Returns
 * false if the rule must not count this record. */
static inline bool whole_amount(struct rule_engine *engine, struct compiled_rules *compiled,
				const struct compiled_rule *rule, const struct etw_record *record,
				uint64_t *amount)
{
	const struct value *value = rule->value;
	bool negative;

	if (!value) {
		*amount = rule->factor;
		return true;
	}
	negative = value->is_signed && (int64_t)value->read.number < 0;
	if (rule->op != GAUGE_NONE) {
		*amount = gauge_amount(rule, value->read.number, negative);
		return true;
	}
	*amount = scaled(rule, value->read.number);
	if (rule->duration) {
		/* Windows also writes negative times into unsigned fields. */
		negative = (int64_t)value->read.number < 0;
		return is_duration(engine, rule, record, negative, *amount);
	}
	/* No event counts 2^63 of anything, so this is a negative number, an address or a
	 * damaged field. */
	return (!negative && *amount <= INT64_MAX) || bad_amount(engine, compiled);
}

/* Before a process is announced, its instance is made of its id alone. */
static uint64_t unannounced_instance(uint32_t process_id)
{
	return UINT64_C(1) << 32 | process_id;
}

/* Returns the process instance that sets the gauge. When a process has been announced, the
 * values that it set before are removed from their samples. */
static uint64_t gauge_instance(struct rule_engine *engine)
{
	uint64_t instance = tracker_instance(engine->tracker);
	uint64_t unannounced;
	uint32_t process_id;

	tracker_process(engine->tracker, &process_id);
	unannounced = unannounced_instance(process_id);

	if (instance == 0) {
		return unannounced;
	}
	gauges_end_instance(engine->gauges, unannounced, INT64_MAX);
	return instance;
}

static NOINLINE void set_gauge(struct rule_engine *engine, cell *cells, uint64_t amount,
			       const struct etw_record *record)
{
	if (!tracker_outlived(engine->tracker)) {
		gauges_set(engine->gauges, gauge_instance(engine), cells, amount, record->raw_time);
		engine_publish_gauges(engine);
	}
}

static void add_to_cells(struct rule_engine *engine, const struct compiled_rule *rule, cell *cells,
			 uint64_t amount, const struct etw_record *record)
{
	if (rule->histogram) {
		cells_observe(rule->family, engine->shard, cells, amount);
		return;
	}
	switch ((enum gauge_op)rule->op) {
	case GAUGE_NONE:
		cell_add(cells, amount);
		break;
	case GAUGE_INC:
		cells_move(cells, amount);
		break;
	case GAUGE_DEC:
		cells_move(cells, 0 - amount);
		break;
	case GAUGE_SET:
		set_gauge(engine, cells, amount, record);
		break;
	}
}

static NOINLINE void empty_entry(const struct label_set_cache *cache, union entry_word *entry,
				 uint64_t key)
{
	memset(entry, 0, cache->entry_size * sizeof *entry);
	entry->key = key;
}

/* Selects the entry of a label set, and clears it if it was that of another label set. */
static inline void choose_entry(struct label_set_cache *cache, uint64_t key, uint64_t place)
{
	union entry_word *entry = &cache->entries[place * cache->entry_size];

	cache->entry = entry;
	if (entry->key != key) {
		empty_entry(cache, entry, key);
	}
}

/* Reads one or two labels and selects the entry of their label set. */
static NOINLINE enum value_state find_keyed(struct rule_engine *engine,
					    struct compiled_rules *compiled,
					    const struct etw_record *record,
					    struct label_set_cache *cache)
{
	uint32_t first, second = 0;
	uint64_t key;

	if (!label_get(engine, compiled, record, cache->labels[0], &first) ||
	    (cache->label_count > 1 &&
	     !label_get(engine, compiled, record, cache->labels[1], &second))) {
		return VALUE_CUT;
	}
	key = (uint64_t)second << 32 | first;
	/* The product's highest bits depend on all bits of both ids. */
	choose_entry(cache, key, key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LABEL_SETS_BITS));
	return VALUE_KNOWN;
}

/* As find_keyed(), for labels that do not fit into a key: their ids are compared instead. */
static NOINLINE enum value_state find_hashed(struct rule_engine *engine,
					     struct compiled_rules *compiled,
					     const struct etw_record *record,
					     struct label_set_cache *cache)
{
	uint32_t ids[FAMILY_LABELS_MAX], *kept;
	size_t size = cache->label_count * sizeof ids[0];
	uint64_t hash = 0, place;

	for (unsigned i = 0; i < cache->label_count; i++) {
		if (!label_get(engine, compiled, record, cache->labels[i], &ids[i])) {
			return VALUE_CUT;
		}
		hash = hash_u64(hash + ids[i]);
	}
	place = hash % CACHED_LABEL_SETS;
	kept = &cache->ids[place * cache->label_count];
	choose_entry(cache, 0, place);
	if (memcmp(kept, ids, size) != 0) {
		memcpy(kept, ids, size);
		empty_entry(cache, cache->entry, 0);
	}
	return VALUE_KNOWN;
}

/* Selects the entry of the event's label set, once for an event. Most rules are by process; the
 * ids of processes are small numbers, in the order in which the names came. */
static inline void find_label_set(struct rule_engine *engine, struct compiled_rules *compiled,
				  const struct etw_record *record, struct label_set_cache *cache)
{
	uint32_t process;

	cache->generation = compiled->generation;
	switch ((enum label_set_type)cache->type) {
	case SET_CONSTANT:
		break;
	case SET_BY_PROCESS:
		process = tracker_process_label(engine->tracker);
		choose_entry(cache, process, process % CACHED_PROCESSES);
		break;
	case SET_KEYED:
		cache->state = (uint8_t)find_keyed(engine, compiled, record, cache);
		break;
	case SET_HASHED:
		cache->state = (uint8_t)find_hashed(engine, compiled, record, cache);
		break;
	}
}

/* Returns the ids of a label set whose labels were read. */
static uint32_t *label_set_ids(struct rule_engine *engine, const struct compiled_rules *compiled,
			       struct compiled_label_set *set)
{
	for (unsigned i = 0; i < set->varying_count; i++) {
		const struct compiled_label *label = &compiled->labels[set->varying[i].label];

		set->ids[set->varying[i].position] =
			label->process ? tracker_process_label(engine->tracker) : label->id;
	}
	return set->ids;
}

/* Finds the cells of a rule's sample that are not in the cache, or not yet, in the registry. */
static NOINLINE cell *find_cells(struct rule_engine *engine, const struct compiled_rules *compiled,
				 struct compiled_rule *rule)
{
	uint32_t *ids = label_set_ids(engine, compiled, &rule->labels);
	bool overflowed;
	cell *cells = family_cells(rule->family, engine->shard, ids, &overflowed);

	if (!overflowed) {
		rule->cache->entry[rule->index].cells = cells;
	}
	return cells;
}

static inline bool condition_fits(struct rule_engine *engine,
				  const struct compiled_condition *condition,
				  const struct value *value)
{
	switch ((enum condition_type)condition->type) {
	case NUMBER_IS:
		return value->read.number == condition->equal;
	case NUMBER_IS_NOT:
		return value->read.number != condition->equal;
	case CONDITION_OTHER:
		break;
	}
	return condition_holds(engine, condition, value);
}

/* Returns APPLIED if all conditions hold. */
static inline enum event_result check_conditions(struct rule_engine *engine,
						 struct compiled_rules *compiled,
						 const struct compiled_rule *rule,
						 const struct etw_record *record)
{
	for (const struct compiled_condition *condition = rule->conditions;
	     condition < rule->conditions_end; condition++) {
		enum value_state state = value_get(engine, compiled, record, condition->value);

		if (state != VALUE_KNOWN) {
			return state == VALUE_CUT ? CUT_SHORT : NOT_APPLIED;
		}
		if (!condition_fits(engine, condition, condition->value)) {
			return NOT_APPLIED;
		}
	}
	return APPLIED;
}

/* Returns the cells of the rule for the label set that was read; NULL without memory, which is
 * counted as overflow. */
static inline cell *get_cells(struct rule_engine *engine, const struct compiled_rules *compiled,
			      struct compiled_rule *rule)
{
	cell *cells = rule->cache->entry[rule->index].cells;

	return cells ? cells : find_cells(engine, compiled, rule);
}

static inline enum event_result add_to_sample(struct rule_engine *engine,
					      const struct compiled_rules *compiled,
					      struct compiled_rule *rule,
					      const struct etw_record *record, uint64_t amount)
{
	cell *cells = get_cells(engine, compiled, rule);

	if (cells) {
		add_to_cells(engine, rule, cells, amount, record);
	}
	return APPLIED;
}

/* Adds a real number or a time since another. */
static NOINLINE enum event_result add_other_amount(struct rule_engine *engine,
						   struct compiled_rules *compiled,
						   struct compiled_rule *rule,
						   const struct etw_record *record)
{
	uint64_t amount;
	bool found = rule->amount_type == AMOUNT_REAL ?
			     real_amount(engine, compiled, rule, record, &amount) :
			     since_amount(engine, rule, record, &amount);

	return found ? add_to_sample(engine, compiled, rule, record, amount) : NOT_APPLIED;
}

/* Adds the amount of a rule that is not plain. Its value and its label set have been read. */
static NOINLINE enum event_result add_amount(struct rule_engine *engine,
					     struct compiled_rules *compiled,
					     struct compiled_rule *rule,
					     const struct etw_record *record)
{
	uint64_t amount;

	if (rule->amount_type >= AMOUNT_REAL) {
		return add_other_amount(engine, compiled, rule, record);
	}
	return whole_amount(engine, compiled, rule, record, &amount) ?
		       add_to_sample(engine, compiled, rule, record, amount) :
		       NOT_APPLIED;
}

static NOINLINE enum event_result
without_value(struct rule_engine *engine, const struct compiled_rule *rule, enum value_state state)
{
	if (state == VALUE_NO_DURATION) {
		count_no_duration(engine, rule, (enum duration_verdict)rule->value->read.number);
	}
	return state == VALUE_CUT ? CUT_SHORT : NOT_APPLIED;
}

static inline enum event_result apply_rule(struct rule_engine *engine,
					   struct compiled_rules *compiled,
					   struct compiled_rule *rule,
					   const struct etw_record *record)
{
	enum event_result held = check_conditions(engine, compiled, rule, record);
	struct label_set_cache *cache;
	uint64_t amount = 1;
	cell *cells;

	if (held != APPLIED) {
		return held;
	}
	if (rule->value) {
		enum value_state state = value_get(engine, compiled, record, rule->value);

		if (state != VALUE_KNOWN) {
			return without_value(engine, rule, state);
		}
		amount = rule->value->read.number;
	}
	cache = rule->cache;
	if (cache->generation != compiled->generation) {
		find_label_set(engine, compiled, record, cache);
	}
	if (cache->state == VALUE_CUT) {
		return CUT_SHORT;
	}
	if (!rule->plain && !rule->observes) {
		return add_amount(engine, compiled, rule, record);
	}
	cells = get_cells(engine, compiled, rule);
	if (cells && rule->plain) {
		cell_add(cells, amount);
	} else if (cells) {
		cells_observe(rule->family, engine->shard, cells, amount);
	}
	return APPLIED;
}

/* ---- spans ---- */

/* Returns the size of a text without the NUL that may end it. */
static size_t text_size(const struct value *value)
{
	uint8_t type = value->field ? value->field->type : ETW_FIELD_BINARY;
	size_t unit = type == ETW_FIELD_WSTRING || type == ETW_FIELD_WCHAR ? 2 : 1;
	size_t size = value->read.slice.size;
	const uint8_t *at = value->read.slice.at;

	if (type == ETW_FIELD_WSTRING || type == ETW_FIELD_WCHAR || type == ETW_FIELD_ASTRING ||
	    type == ETW_FIELD_ACHAR) {
		while (size >= unit && at[size - 1] == 0 && at[size - unit] == 0) {
			size -= unit;
		}
	}
	return size;
}

/* value_get(), in a way that is fast for addresses. */
static inline enum value_state get_key_part(struct rule_engine *engine,
					    struct compiled_rules *compiled,
					    const struct etw_record *record, struct value *value)
{
	if (value->type != VALUE_U64 || record->payload_size < value->reader.end) {
		return value_get(engine, compiled, record, value);
	}
	value->read.number = etw_load_u64(record->payload + value->reader.offset);
	value->generation = compiled->generation;
	value->state = VALUE_KNOWN;
	return VALUE_KNOWN;
}

/* Makes *key from the values of the span's key fields: a hash with a seed of this run. */
static enum value_state make_key(struct rule_engine *engine, struct compiled_rules *compiled,
				 const struct etw_record *record, const struct compiled_span *span,
				 uint64_t *key)
{
	*key = engine->seed;
	for (unsigned i = 0; i < span->key_count; i++) {
		struct value *value = &compiled->values[span->keys[i]];
		enum value_state state = get_key_part(engine, compiled, record, value);
		uint64_t part = value->read.number;

		if (state != VALUE_KNOWN) {
			return state;
		}
		if (value->form == FORM_ID && value->read.number == INTERN_FULL) {
			return VALUE_UNKNOWN;
		}
		if (value->form == FORM_TEXT) {
			part = text_hash((const char *)value->read.slice.at, text_size(value),
					 engine->seed);
		}
		*key = hash_seeded(*key ^ part, engine->seed + i);
	}
	return record->raw_time != ETW_RECORD_NO_TIME ? VALUE_KNOWN : VALUE_UNKNOWN;
}

/* The key of the span that was read last. The next one often has the same. */
struct span_key {
	enum value_state state;
	uint64_t key; /* if the state is VALUE_KNOWN */
};

/* Reads the key of a span, unless that of the span before it in the array serves. */
static inline void read_key(struct rule_engine *engine, struct compiled_rules *compiled,
			    const struct etw_record *record, const struct compiled_span *span,
			    struct span_key *key)
{
	if (!span->same_keys) {
		key->state = make_key(engine, compiled, record, span, &key->key);
	}
}

/* Stores the time since the start, which rules read as a value of the stop. */
static void set_duration(const struct rule_engine *engine, struct compiled_span *stop,
			 int64_t start, int64_t end)
{
	enum duration_verdict verdict =
		duration_between(&engine->clock, start, end, &stop->duration);

	stop->duration_state = VALUE_KNOWN;
	if (verdict != DURATION_FITS) {
		stop->duration = verdict;
		stop->duration_state = VALUE_NO_DURATION;
	}
}

/* Ends the spans that the event stops. Call it before the rules. */
static NOINLINE void stop_spans(struct rule_engine *engine, struct compiled_rules *compiled,
				const struct etw_record *record)
{
	struct span_key key = { 0 };

	for (size_t i = 0; i < compiled->stop_count; i++) {
		struct compiled_span *stop = &compiled->stops[i];
		int64_t start;

		read_key(engine, compiled, record, stop, &key);
		stop->state = (uint8_t)key.state;
		if (stop->state != VALUE_KNOWN) {
			spans_miss(engine->spans, false);
		} else if (stop->keep) {
			stop->state = spans_use(engine->spans, stop->span, key.key,
						record->raw_time, stop->captured) ?
					      VALUE_KNOWN :
					      VALUE_UNKNOWN;
		} else if (!spans_stop(engine->spans, stop->span, key.key, record->raw_time, &start,
				       stop->captured)) {
			stop->state = VALUE_UNKNOWN;
		} else {
			set_duration(engine, stop, start, record->raw_time);
			continue;
		}
		stop->duration_state = stop->state;
	}
}

/* Captures the labels of the event. Returns false if the payload ends before one of them. */
static bool capture(struct rule_engine *engine, struct compiled_rules *compiled,
		    const struct etw_record *record, struct compiled_span *span, uint32_t *captured)
{
	for (unsigned i = 0; i < span->labels.varying_count; i++) {
		struct compiled_label *label = &compiled->labels[span->labels.varying[i].label];
		uint32_t id;

		if (!label_get(engine, compiled, record, label, &id)) {
			return false;
		}
	}
	memcpy(captured, label_set_ids(engine, compiled, &span->labels),
	       span->captured_count * sizeof *captured);
	return true;
}

/* Starts a span with the key, or captures labels for it. An event in between that has no start, or
 * an unknown key, is not counted as unmatched, because its stop will be counted. Returns false if
 * the payload ends too early. */
static bool start_span(struct rule_engine *engine, struct compiled_rules *compiled,
		       const struct etw_record *record, struct compiled_span *span,
		       const struct span_key *key)
{
	bool start = span->side == SPAN_START;
	uint32_t *captured;

	if (key->state != VALUE_KNOWN) {
		if (start) {
			spans_miss(engine->spans, true);
		}
		return key->state == VALUE_UNKNOWN;
	}
	captured = start ? spans_start(engine->spans, span->span, key->key, record->raw_time) :
			   spans_captured(engine->spans, span->span, key->key, record->raw_time);
	return !captured || span->captured_count == 0 ||
	       capture(engine, compiled, record, span, captured);
}

/* Starts the spans of the event. Call it after the rules. Returns true if the payload ends
 * within a key or a captured label. */
static NOINLINE bool start_spans(struct rule_engine *engine, struct compiled_rules *compiled,
				 const struct etw_record *record)
{
	struct span_key key = { 0 };
	bool cut = false;

	for (size_t i = 0; i < compiled->start_count; i++) {
		read_key(engine, compiled, record, &compiled->starts[i], &key);
		cut |= !start_span(engine, compiled, record, &compiled->starts[i], &key);
	}
	return cut;
}

/* ---- one record ---- */

/* Counts the rules from `first` on whose cells may not be in the entry yet. */
static NOINLINE void count_anew(struct rule_engine *engine, struct compiled_rules *compiled,
				size_t first)
{
	for (size_t i = first; i < compiled->always_count; i++) {
		cell *at = get_cells(engine, compiled, &compiled->rules[i]);

		if (at) {
			cell_count(at);
		}
	}
}

/* Applies the rules that count every event of the class. */
static inline void count_always(struct rule_engine *engine, struct compiled_rules *compiled,
				const struct etw_record *record, struct label_set_cache *cache)
{
	size_t count = compiled->always_count;
	const union entry_word *word, *end;

	find_label_set(engine, compiled, record, cache);
	word = cache->entry + 1;
	end = word + count;
	do {
		if (!word->cells) {
			count_anew(engine, compiled, count - (size_t)(end - word));
			return;
		}
		cell_count(word->cells);
		word++;
	} while (word < end);
}

/*
 * Applies the rules from `first` on. dry_run: may be NULL. Returns bits of enum event_result:
 * APPLIED if a rule that is not for every event has counted it; CUT_SHORT if the payload ends
 * before a field that a rule needs.
 */
static inline unsigned run_rules(struct rule_engine *engine, struct compiled_rules *compiled,
				 const struct etw_record *record, size_t first,
				 struct dry_run *dry_run)
{
	struct compiled_rule *end = compiled->rules + compiled->rule_count;
	unsigned seen = NOT_APPLIED;

	for (struct compiled_rule *rule = compiled->rules + first; rule < end; rule++) {
		enum event_result result = apply_rule(engine, compiled, rule, record);

		if (dry_run) {
			dry_run_result(dry_run, compiled, rule, result);
		}
		seen |= result & rule->seen_mask;
	}
	return seen;
}

/* Returns the outcome of an event that no rule has counted, except rules for every event. */
static inline enum record_outcome not_counted(const struct compiled_rules *compiled)
{
	return compiled->schema ? OUTCOME_NO_RULE : OUTCOME_NO_SCHEMA;
}

static enum record_outcome apply_rules(struct rule_engine *engine, struct compiled_rules *compiled,
				       const struct etw_record *record)
{
	struct dry_run *dry_run = engine->dry_run;
	unsigned seen;
	bool cut;

	if (compiled->dropped || (engine->filters_processes && !keeps_process(engine))) {
		return OUTCOME_FILTERED;
	}
	compiled->generation++;
	if (dry_run) {
		dry_run_event(dry_run, compiled);
	}
	if (compiled->stop_count > 0) {
		stop_spans(engine, compiled, record);
	}
	seen = run_rules(engine, compiled, record, 0, dry_run);
	if (compiled->start_count > 0 && start_spans(engine, compiled, record)) {
		seen |= CUT_SHORT;
	}
	if (compiled->stop_count + compiled->start_count > 0) {
		engine_publish_spans(engine);
	}
	cut = (seen & CUT_SHORT) != 0;
	if (compiled->undecodable || cut) {
		engine_count_problem(engine, compiled, cut ? PROBLEM_TRUNCATED : PROBLEM_BAD_TYPE);
		return OUTCOME_UNDECODABLE;
	}
	if (compiled->lacks_schema) {
		engine_count_problem(engine, compiled, PROBLEM_NO_SCHEMA);
	}
	return (seen & APPLIED) != 0 ? OUTCOME_COUNTED : not_counted(compiled);
}

/* When a process ends, removes the gauge values that it has set from their samples. */
static NOINLINE void end_instance(struct rule_engine *engine, const struct etw_record *record)
{
	uint64_t instance;
	uint32_t process_id;

	if (!tracker_ended_process(engine->tracker, &process_id, &instance)) {
		return;
	}
	/* After a late start record, the values set after its time belong to the process that
	 * started. */
	gauges_end_instance(engine->gauges, unannounced_instance(process_id), record->raw_time);
	if (instance != 0) {
		gauges_end_instance(engine->gauges, instance, INT64_MAX);
	}
	engine_publish_gauges(engine);
}

static NOINLINE enum record_outcome apply_all(struct rule_engine *engine,
					      struct compiled_rules *compiled,
					      const struct etw_record *record)
{
	enum record_outcome outcome = apply_rules(engine, compiled, record);

	if (compiled->ends_instance) {
		end_instance(engine, record);
	}
	return outcome;
}

/* Applies the rules that do not count every event of the class. Call it after those that do. */
static NOINLINE enum record_outcome apply_others(struct rule_engine *engine,
						 struct compiled_rules *compiled,
						 const struct etw_record *record)
{
	unsigned seen = run_rules(engine, compiled, record, compiled->always_count, NULL);

	if ((seen & CUT_SHORT) != 0) {
		engine_count_problem(engine, compiled, PROBLEM_TRUNCATED);
		return OUTCOME_UNDECODABLE;
	}
	return (seen & APPLIED) != 0 ? OUTCOME_COUNTED :
				       (enum record_outcome)compiled->always_outcome;
}

/* Applies the rules of a class whose events need only their rules. */
static NOINLINE enum record_outcome apply_usual(struct rule_engine *engine,
						struct compiled_rules *compiled,
						const struct etw_record *record)
{
	compiled->generation++;
	if (compiled->always) {
		count_always(engine, compiled, record, compiled->always);
	}
	return compiled->always_count == compiled->rule_count ?
		       (enum record_outcome)compiled->always_outcome :
		       apply_others(engine, compiled, record);
}

enum record_outcome rule_engine_apply(struct rule_engine *engine, const struct etw_record *record,
				      const struct etw_event_class *class)
{
	struct compiled_rules *compiled = class->compiled;

	if (!compiled) {
		return OUTCOME_UNDECODABLE;
	}
	if (!compiled->usual) {
		return apply_all(engine, compiled, record);
	}
	return compiled->rule_count == 0 ? (enum record_outcome)compiled->always_outcome :
					   apply_usual(engine, compiled, record);
}

bool rule_engine_probe(struct rule_engine *engine, const struct etw_record *record,
		       const struct etw_event_class *class)
{
	struct compiled_rules *compiled = class->compiled;

	if (!compiled || !compiled->probed) {
		return false;
	}
	compiled->generation++; /* filtered events do not get a generation */
	return check_conditions(engine, compiled, &compiled->probe, record) == APPLIED;
}
