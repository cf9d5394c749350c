/* SPDX-License-Identifier: MIT */
/*
 * Reads the values that compiled rules need, and turns them into label ids and verdicts.
 *
 * A struct value is one value of an event: a field of the payload, a part of one, a derived field,
 * the time of a span. It is read at most once for an event, and then serves every condition, amount
 * and label that uses it; the generation of the event says whether it has been read. Fields after
 * others of variable length, and parts of fields, share one walk over the payload.
 *
 * A value becomes a label id, or the verdict of a condition, by way of text: formatting, decoders,
 * comparisons. Text is processed only when a value is new. Results for numbers and ids are kept in
 * a small direct-mapped cache of the label or condition, and results for payload text in a table of
 * the engine by its bytes, so that most events cost a hash and a comparison. The functions whose
 * names end in _compute compute the result; the others look into the cache first. A constant value
 * has no cache: its result is computed once, when the rules are compiled.
 *
 * Some results are never cached: those of text beyond TEXT_SIZE_MAX, and the id INTERN_FULL, which
 * means that the string table is full now but may not be after a reset.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "exporter/rules/engine/engine.h"

static const char *const problem_names[PROBLEM_COUNT] = {
	[PROBLEM_TRUNCATED] = "truncated",
	[PROBLEM_NO_SCHEMA] = "no_schema",
	[PROBLEM_BAD_TYPE] = "bad_type",
	[PROBLEM_RULE] = "rule",
};

void engine_count_problem(struct rule_engine *engine, struct compiled_rules *compiled,
			  enum decode_problem problem)
{
	cell *at = compiled->problems[problem];

	if (!at) {
		uint32_t ids[] = { compiled->provider,
				   intern_own(engine->strings, problem_names[problem]) };
		bool overflowed;

		at = family_cells(engine->set->decode_errors, engine->shard, ids, &overflowed);
		if (!overflowed) {
			compiled->problems[problem] = at;
		}
	}
	if (at) {
		cell_add(at, 1);
	}
}

/* ---- reading ---- */

static enum value_state read_fixed(const struct etw_record *record, struct value *value)
{
	const struct etw_field_reader *reader = &value->reader;

	if (record->payload_size < reader->end) {
		return VALUE_CUT;
	}
	value->read.number = etw_field_integer((enum etw_field_type)reader->type,
					       record->payload + reader->offset, reader->size);
	return VALUE_KNOWN;
}

static void walk_once(struct rule_engine *engine, struct compiled_rules *compiled,
		      const struct etw_record *record)
{
	if (compiled->walk != compiled->generation) {
		compiled->walk = compiled->generation;
		compiled->whole_fields = etw_fields_walk(compiled->schema, compiled->last_walked,
							 record, engine->slices, NULL);
	}
}

static NOINLINE enum value_state read_walked(struct rule_engine *engine,
					     struct compiled_rules *compiled,
					     const struct etw_record *record, struct value *value)
{
	walk_once(engine, compiled, record);
	if (value->index >= compiled->whole_fields) {
		return VALUE_CUT;
	}
	value->read.number = etw_field_u64(value->field, &engine->slices[value->index]);
	return VALUE_KNOWN;
}

static NOINLINE enum value_state read_walked_text(struct rule_engine *engine,
						  struct compiled_rules *compiled,
						  const struct etw_record *record,
						  struct value *value)
{
	walk_once(engine, compiled, record);
	if (value->index >= compiled->whole_fields) {
		return VALUE_CUT;
	}
	value->read.slice = engine->slices[value->index];
	return VALUE_KNOWN;
}

/* Reads a part of a field. An array that lacks the element that a rule needs is counted as a
 * problem, because the value is then unknown, not 0. */
static NOINLINE enum value_state read_part(struct rule_engine *engine,
					   struct compiled_rules *compiled,
					   const struct etw_record *record, struct value *value)
{
	const struct etw_field_path *path = &compiled->parts[value->index];
	struct etw_field_slice slice;
	uint32_t count;

	walk_once(engine, compiled, record);
	switch (etw_field_path_locate(compiled->schema, path, record, engine->slices, &slice,
				      &count)) {
	case ETW_FIELD_PATH_FOUND:
		break;
	case ETW_FIELD_PATH_CUT:
		return VALUE_CUT;
	case ETW_FIELD_PATH_MISSING:
		engine_count_problem(engine, compiled, PROBLEM_RULE);
		return VALUE_UNKNOWN;
	}
	if (path->is_count) {
		value->read.number = count;
	} else if (value->form == FORM_NUMBER) {
		value->read.number = etw_field_u64(value->field, &slice);
	} else {
		value->read.slice = slice;
	}
	return VALUE_KNOWN;
}

static inline enum value_state read_derived(struct rule_engine *engine,
					    struct compiled_rules *compiled,
					    const struct etw_record *record, struct value *value)
{
	enum derived_result result;

	value->read.record = record;
	result = value->read.row->read(&value->read);
	if (result == DERIVED_MALFORMED) {
		engine_count_problem(engine, compiled, PROBLEM_BAD_TYPE);
	}
	if (result == DERIVED_NO_DURATION) {
		return VALUE_NO_DURATION;
	}
	return result == DERIVED_FOUND ? VALUE_KNOWN : VALUE_UNKNOWN;
}

/* Reads a derived field that is computed from a field of the payload. */
static NOINLINE enum value_state read_computed(struct rule_engine *engine,
					       struct compiled_rules *compiled,
					       const struct etw_record *record, struct value *value)
{
	struct value *origin = &compiled->values[value->index];
	enum value_state state = value_get(engine, compiled, record, origin);

	if (state != VALUE_KNOWN) {
		return state;
	}
	value->read.number = origin->read.number;
	return read_derived(engine, compiled, record, value);
}

static enum value_state read_captured(const struct compiled_rules *compiled, struct value *value)
{
	const struct compiled_span *stop = &compiled->stops[value->index / SPAN_CAPTURED_MAX];

	if (stop->state != VALUE_KNOWN) {
		return (enum value_state)stop->state;
	}
	value->read.number = stop->captured[value->index % SPAN_CAPTURED_MAX];
	return value->read.number != INTERN_NONE ? VALUE_KNOWN : VALUE_UNKNOWN;
}

static inline enum value_state read_by_source(struct rule_engine *engine,
					      struct compiled_rules *compiled,
					      const struct etw_record *record, struct value *value)
{
	switch ((enum value_source)value->type) {
	case VALUE_CONSTANT:
		return VALUE_KNOWN;
	case VALUE_FIXED:
	case VALUE_U32:
	case VALUE_U64:
		return read_fixed(record, value);
	case VALUE_WALKED:
		return read_walked(engine, compiled, record, value);
	case VALUE_TEXT:
		return etw_field_locate(compiled->schema, value->index, record,
					&value->read.slice) ?
			       VALUE_KNOWN :
			       VALUE_CUT;
	case VALUE_WALKED_TEXT:
		return read_walked_text(engine, compiled, record, value);
	case VALUE_PART:
		return read_part(engine, compiled, record, value);
	case VALUE_DERIVED:
		return read_derived(engine, compiled, record, value);
	case VALUE_COMPUTED:
		return read_computed(engine, compiled, record, value);
	case VALUE_SPAN:
		value->read.number = compiled->stops[value->index].duration;
		return (enum value_state)compiled->stops[value->index].duration_state;
	case VALUE_CAPTURED:
		return read_captured(compiled, value);
	}
	return VALUE_UNKNOWN;
}

enum value_state value_read(struct rule_engine *engine, struct compiled_rules *compiled,
			    const struct etw_record *record, struct value *value)
{
	enum value_state state = read_by_source(engine, compiled, record, value);

	value->generation = compiled->generation;
	value->state = (uint8_t)state;
	return state;
}

/* ---- caches ---- */

typedef uint32_t compute_result(struct rule_engine *engine, const void *what,
				const struct value *value);

/* Returns the result for a number or label id, by way of a direct-mapped cache. key: the number,
 * or one that stands for all those with the same result. */
static inline uint32_t resolve_value(struct rule_engine *engine, struct cache *cache, uint64_t key,
				     const struct value *value, compute_result *compute,
				     const void *what)
{
	/* The product's highest bits depend on all bits of the key. */
	unsigned place = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS));
	uint32_t result;

	if ((cache->used & UINT32_C(1) << place) != 0 && cache->keys[place] == key) {
		return cache->results[place];
	}
	result = compute(engine, what, value);
	if (result != INTERN_FULL) {
		cache->keys[place] = key;
		cache->results[place] = result;
		cache->used |= UINT32_C(1) << place;
	}
	return result;
}

static void remember_text(struct text_entry *entry, uint64_t owner, const uint8_t *text,
			  uint32_t size, uint32_t result)
{
	if (entry->capacity < size) {
		uint8_t *bytes = realloc(entry->bytes, size);

		if (!bytes) {
			return;
		}
		entry->bytes = bytes;
		entry->capacity = size;
	}
	if (size > 0) {
		memcpy(entry->bytes, text, size);
	}
	entry->owner = owner;
	entry->size = size;
	entry->result = result;
}

/* Returns the result for payload text, by way of the engine's table: by its bytes and the label
 * or condition. */
static uint32_t resolve_text(struct rule_engine *engine, uint64_t owner, const struct value *value,
			     compute_result *compute, const void *what)
{
	const uint8_t *text = value->read.slice.at;
	uint32_t size = value->read.slice.size;
	struct text_entry *entry;
	uint32_t result;

	if (size > TEXT_SIZE_MAX) {
		return compute(engine, what, value);
	}
	entry = &engine->texts[text_hash((const char *)text, size, engine->seed ^ owner) %
			       TEXTS_SIZE];
	if (entry->owner == owner && entry->size == size &&
	    (size == 0 || memcmp(entry->bytes, text, size) == 0)) {
		return entry->result;
	}
	result = compute(engine, what, value);
	if (result != INTERN_FULL) {
		remember_text(entry, owner, text, size, result);
	}
	return result;
}

/* ---- text of values ---- */

/* Returns whether the field is binary data. */
static bool holds_bytes(const struct etw_field *field)
{
	return field->type == ETW_FIELD_BINARY || field->type == ETW_FIELD_BINARY16 ||
	       field->type == ETW_FIELD_BINARY32 ||
	       (field->count_type != ETW_FIELD_SCALAR &&
		(field->type == ETW_FIELD_U8 || field->type == ETW_FIELD_I8));
}

/* Returns the value in the form that decoders read. Its text is in engine->scratch or in
 * engine->strings and is valid until that changes. */
static struct decoded decoded_of(struct rule_engine *engine, const struct value *value)
{
	struct decoded from = { .field = value->field };

	switch ((enum value_form)value->form) {
	case FORM_NUMBER:
		from.is_number = true;
		from.is_signed = value->is_signed;
		from.number = value->read.number;
		return from;
	case FORM_ID:
		from.text = intern_text(engine->strings, (uint32_t)value->read.number, &from.size);
		return from;
	case FORM_TEXT:
		break;
	}
	if (!value->field) { /* text of a derived field, such as a path, is UTF-8 already */
		from.text = (const char *)value->read.slice.at;
		from.size = value->read.slice.size;
		return from;
	}
	text_clear(&engine->scratch);
	etw_field_text(value->field, &value->read.slice, &engine->scratch);
	from.text = engine->scratch.data ? engine->scratch.data : "";
	from.size = engine->scratch.size;
	if (holds_bytes(value->field)) {
		from.bytes = value->read.slice.at;
		from.byte_count = value->read.slice.size;
	}
	return from;
}

/* ---- comparisons ---- */

static struct number_literal sign(struct number_literal number, const struct value *value)
{
	unsigned bits;

	if (!value->is_signed || number.negative || !value->field) {
		return number;
	}
	bits = 8U * (value->field->size[0] != 0 ? value->field->size[0] : 8U);
	if (bits < 64 && number.number >> bits == 0 && (number.number >> (bits - 1)) == 1) {
		number.number |= UINT64_MAX << bits;
		number.negative = true;
	} else if (bits == 64 && number.number >> 63 == 1) {
		number.negative = true;
	}
	return number;
}

bool literal_for(const struct literal *literal, const struct value *value,
		 struct number_literal *number)
{
	struct number_literal found = { .number = literal->number, .negative = literal->negative };
	uint32_t named;

	if (!literal->integer) {
		if (!value->field || !value->field->map ||
		    !etw_value_map_value(value->field->map, literal->text, literal->size, &named)) {
			return false;
		}
		found.number = named;
	}
	*number = sign(found, value);
	return true;
}

/* Compares two numbers, each signed or not. Returns a number below 0, 0, or above 0. */
static int compare_numbers(const struct value *value, const struct number_literal *literal)
{
	bool negative = value->is_signed && (int64_t)value->read.number < 0;

	if (negative != literal->negative) {
		return negative ? -1 : 1;
	}
	/* Two negative numbers in two's complement have the order of their unsigned values. */
	return value->read.number < literal->number ? -1 : value->read.number > literal->number;
}

static bool number_holds(const struct compiled_condition *condition, const struct value *value)
{
	const struct number_literal *numbers = condition->numbers;

	switch (condition->condition->comparison) {
	case COMPARE_EQ:
		return compare_numbers(value, numbers) == 0;
	case COMPARE_NE:
		return compare_numbers(value, numbers) != 0;
	case COMPARE_LT:
		return compare_numbers(value, numbers) < 0;
	case COMPARE_LE:
		return compare_numbers(value, numbers) <= 0;
	case COMPARE_GT:
		return compare_numbers(value, numbers) > 0;
	case COMPARE_GE:
		return compare_numbers(value, numbers) >= 0;
	case COMPARE_IN:
		for (size_t i = 0; i < condition->condition->literal_count; i++) {
			if (compare_numbers(value, &numbers[i]) == 0) {
				return true;
			}
		}
		return false;
	case COMPARE_HAS:
		return (value->read.number & numbers->number) == numbers->number;
	case COMPARE_LACKS:
		return (value->read.number & numbers->number) == 0;
	default:
		return false;
	}
}

static bool text_holds(struct rule_engine *engine, const struct condition *condition,
		       const char *text, size_t size)
{
	const struct literal *literals = condition->literals;

	switch (condition->comparison) {
	case COMPARE_EQ:
		return text_equal_nocase(text, size, literals->text, literals->size);
	case COMPARE_NE:
		return !text_equal_nocase(text, size, literals->text, literals->size);
	case COMPARE_IN:
		for (size_t i = 0; i < condition->literal_count; i++) {
			if (text_equal_nocase(text, size, literals[i].text, literals[i].size)) {
				return true;
			}
		}
		return false;
	case COMPARE_STARTS:
		return text_starts_nocase(text, size, literals->text, literals->size);
	case COMPARE_ENDS:
		return text_ends_nocase(text, size, literals->text, literals->size);
	case COMPARE_MATCHES:
		return regex_matches(engine->matcher, condition->regex, text, size);
	default:
		return false;
	}
}

bool condition_compute(struct rule_engine *engine, const struct compiled_condition *condition,
		       const struct value *value)
{
	struct decoded from;

	if (value->form == FORM_NUMBER) {
		return number_holds(condition, value);
	}
	if (value->form == FORM_ID && value->read.number == INTERN_FULL) {
		return false;
	}
	from = decoded_of(engine, value);
	return text_holds(engine, condition->condition, from.text, from.size);
}

static uint32_t compute_verdict(struct rule_engine *engine, const void *what,
				const struct value *value)
{
	return condition_compute(engine, what, value);
}

bool condition_holds(struct rule_engine *engine, const struct compiled_condition *condition,
		     const struct value *value)
{
	switch ((enum value_form)value->form) {
	case FORM_NUMBER:
		return number_holds(condition, value);
	case FORM_ID:
		return resolve_value(engine, condition->cache, value->read.number, value,
				     compute_verdict, condition) != 0;
	case FORM_TEXT:
		break;
	}
	return resolve_text(engine, condition->owner, value, compute_verdict, condition) != 0;
}

/* ---- labels ---- */

static const char *map_text(const struct compiled_label *compiled, const struct value *value,
			    const struct decoded *from)
{
	const struct label *label = compiled->label;

	for (size_t i = 0; i < label->entry_count; i++) {
		if (value->form == FORM_NUMBER ?
			    compare_numbers(value, &compiled->numbers[i]) == 0 :
			    text_equal_nocase(from->text, from->size, label->entries[i].from.text,
					      label->entries[i].from.size)) {
			return label->entries[i].to;
		}
	}
	return label->text;
}

/* Replaces a number by its name in the map of its field, if it has one. */
static void name_number(struct rule_engine *engine, const struct value *value, struct decoded *from)
{
	if (value->form != FORM_NUMBER || !value->field || !value->field->map) {
		return;
	}
	text_clear(&engine->scratch);
	etw_field_number_text(value->field, value->read.number, &engine->scratch);
	from->is_number = false;
	from->text = engine->scratch.data ? engine->scratch.data : "";
	from->size = engine->scratch.size;
}

uint32_t label_compute(struct rule_engine *engine, const struct compiled_label *compiled,
		       const struct value *value)
{
	const struct label *label = compiled->label;
	struct decoded from;

	if (value->form == FORM_ID && value->read.number == INTERN_FULL) {
		return INTERN_FULL;
	}
	from = decoded_of(engine, value);
	if (label->source == LABEL_MAP) {
		return intern_own(engine->strings, map_text(compiled, value, &from));
	}
	if (label->step_count == 0) {
		name_number(engine, value, &from);
	}
	decode_chain(label->steps, label->step_count, engine->matcher, &from, &engine->scratch,
		     &engine->text);
	if (engine->text.failed || engine->scratch.failed) {
		return INTERN_FULL;
	}
	return intern_add(engine->strings, engine->text.data ? engine->text.data : "",
			  engine->text.size);
}

static uint32_t compute_id(struct rule_engine *engine, const void *what, const struct value *value)
{
	return label_compute(engine, what, value);
}

/* Returns the number under which the label of a number is cached. */
static inline uint64_t cached_number(const struct compiled_label *label, const struct value *value)
{
	const struct decoded from = { .field = value->field,
				      .is_number = true,
				      .is_signed = value->is_signed,
				      .number = value->read.number };

	return label->same ? label->same(&from) : value->read.number;
}

/* Returns the label id of the value, from the cache or computed. */
static uint32_t label_resolve(struct rule_engine *engine, const struct compiled_label *label,
			      const struct value *value)
{
	if (label->plain) {
		return (uint32_t)value->read.number;
	}
	return value->form == FORM_TEXT ?
		       resolve_text(engine, label->owner, value, compute_id, label) :
		       resolve_value(engine, label->cache, cached_number(label, value), value,
				     compute_id, label);
}

void label_read(struct rule_engine *engine, struct compiled_rules *compiled,
		const struct etw_record *record, struct compiled_label *label)
{
	enum value_state state = value_get(engine, compiled, record, label->value);
	const struct derived_field *row;

	label->generation = compiled->generation;
	label->state = VALUE_KNOWN;
	if (state == VALUE_KNOWN) {
		label->id = label_resolve(engine, label, label->value);
	} else if (state == VALUE_CUT) {
		label->state = VALUE_CUT;
	} else {
		row = label->value->read.row;
		label->id = row && row->none_if_unknown ? engine->none : engine->unknown;
	}
}
