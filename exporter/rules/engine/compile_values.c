/* SPDX-License-Identifier: MIT */
/*
 * Compiles the values of rules for an event class: where each comes from, the labels made of them,
 * and the spans that the events start or stop.
 *
 * Rules name fields; an event class has one layout. compile_find_value() resolves a name to a value
 * in the order that config/README.md gives: the captured labels of a span, the derived fields that
 * take precedence over the payload, the payload, the other derived fields, and last the parts of
 * payload fields. Rules that name the same field share its value, so that it is read once for an
 * event. Labels of the same value are shared as well.
 *
 * A label of a constant value becomes an id here and costs nothing later. The others are indexes
 * into compiled->labels, and rules whose samples differ by the same labels share a cache that leads
 * from label ids to samples. Values, labels and caches are in arrays of the engine's draft, which
 * grow while a class is compiled, so they refer to each other by index; compile.c copies them into
 * a block of their own and turns the indexes into pointers when the draft is complete.
 *
 * A rule may name a field that the layout lacks. A label of that field then reads "_unknown", and a
 * rule that needs it for its value or a condition does not apply to the class; both are noted for
 * the dry run.
 */
#include "exporter/rules/engine/engine.h"

#include <string.h>

#include "base/array.h"

enum {
	NOT_CAPTURED = SPAN_CAPTURED_MAX,
	/* The numbers have 16 bits. The limits in rule_set.h keep it below these: a span
	 * has its duration and its captured labels as values, and some derived fields have the
	 * field that they are computed from. */
	VALUES_MAX = NO_VALUE,
	LABELS_MAX = NO_VALUE,
};

_Static_assert((int)RULE_FIELDS_MOST + (int)RULE_SPANS_MOST * (1 + (int)SPAN_CAPTURED_MAX) <
		       (int)VALUES_MAX - 1024,
	       "all values of a rule set have numbers");
_Static_assert((int)RULE_LABELS_MOST < (int)LABELS_MAX, "all labels of a rule set have numbers");

/* ---- what does not fit ---- */

void compile_add_note(struct builder *builder, const struct dry_run_note *note)
{
	struct compiled_rules *compiled = builder->compiled;
	struct dry_run_note *grown;

	if (!builder->engine->dry_run) {
		return;
	}
	grown = array_grow(compiled->notes, &builder->engine->draft.note_capacity,
			   compiled->note_count, sizeof *grown);
	if (!grown) {
		builder->failed = true;
		return;
	}
	compiled->notes = grown;
	grown[compiled->note_count++] = *note;
}

/* Notes a field that the layout lacks for the dry run, if a rule of the set names it. */
static void add_missing(struct builder *builder, const struct field_ref *field)
{
	if (builder->rule) {
		compile_add_note(builder, &(struct dry_run_note){
						  .missing = field->name,
						  .number = (uint32_t)(builder->rule -
								       builder->engine->set->rules),
					  });
	}
}

static void note_problem(struct builder *builder, const struct field_ref *field)
{
	builder->problem_field = builder->problem_field ? builder->problem_field : field;
}

enum rule_result compile_lacks_field(struct builder *builder, const struct field_ref *field)
{
	if (builder->failed) {
		return RULE_FAILED;
	}
	add_missing(builder, field);
	builder->lacks = true;
	if (builder->compiled->schema) {
		builder->problem_rule = true;
		note_problem(builder, field);
	} else {
		builder->compiled->lacks_schema = true;
	}
	return RULE_NEVER;
}

enum rule_result compile_wrong_type(struct builder *builder, const struct field_ref *field)
{
	builder->problem_type = true;
	note_problem(builder, field);
	builder->wrong_type = true;
	return RULE_NEVER;
}

/* ---- values ---- */

/* Returns the index in compiled.stops; NO_VALUE if the class does not stop the span. */
static uint16_t find_stop(const struct compiled_rules *compiled, size_t span)
{
	for (size_t i = 0; i < compiled->stop_count; i++) {
		if (compiled->stops[i].span == span) {
			return (uint16_t)i;
		}
	}
	return NO_VALUE;
}

static uint16_t add_value(struct builder *builder, const struct value *value)
{
	struct compiled_rules *compiled = builder->compiled;
	struct value *values;

	for (size_t i = 0; i < compiled->value_count; i++) {
		if (compiled->values[i].type == value->type &&
		    compiled->values[i].read.row == value->read.row &&
		    compiled->values[i].field == value->field &&
		    ((value->type != VALUE_SPAN && value->type != VALUE_CAPTURED) ||
		     compiled->values[i].index == value->index)) {
			return (uint16_t)i;
		}
	}
	values = compiled->value_count < VALUES_MAX ?
			 array_grow(compiled->values, &builder->engine->draft.value_capacity,
				    compiled->value_count, sizeof *values) :
			 NULL;
	if (!values) {
		builder->failed = true;
		return NO_VALUE;
	}
	compiled->values = values;
	values[compiled->value_count] = *value;
	return (uint16_t)compiled->value_count++;
}

static int layout_index(const struct builder *builder, const char *name)
{
	return builder->compiled->schema ? etw_schema_find_field(builder->compiled->schema, name) :
					   -1;
}

/* Returns the source of a number at a constant offset. */
static enum value_source source_of(const struct value *value)
{
	if (value->reader.size == 8) {
		return VALUE_U64;
	}
	return value->reader.size == 4 && !value->is_signed &&
			       value->field->type != ETW_FIELD_BOOL32 ?
		       VALUE_U32 :
		       VALUE_FIXED;
}

static uint16_t add_layout_value(struct builder *builder, int index)
{
	const struct etw_schema *schema = builder->compiled->schema;
	const struct etw_field *field = &schema->fields[index];
	struct value value = { .index = (uint16_t)index, .field = field, .state = VALUE_CUT };

	if (!etw_field_is_integer(field)) {
		value.type = VALUE_TEXT;
		value.form = FORM_TEXT;
		return add_value(builder, &value);
	}
	value.form = FORM_NUMBER;
	value.is_signed = etw_field_is_signed(field);
	value.reader = etw_field_reader_of(schema, index, builder->class->pointer_size);
	if (value.reader.end != ETW_FIELD_READER_WALKS) {
		value.type = (uint8_t)source_of(&value);
		return add_value(builder, &value);
	}
	value.type = VALUE_WALKED;
	if (index > builder->compiled->last_walked) {
		builder->compiled->last_walked = (uint16_t)index;
	}
	return add_value(builder, &value);
}

/* Returns whether finding the text of a field takes a walk over the fields before it. */
static bool text_walks(const struct builder *builder, const struct value *value)
{
	unsigned wide = builder->class->pointer_size == 8;

	return value->type == VALUE_TEXT && (value->field->size[wide] == 0 ||
					     value->field->offset[wide] == ETW_FIELD_OFFSET_VARIES);
}

void compile_share_walk(struct builder *builder)
{
	struct compiled_rules *compiled = builder->compiled;
	unsigned walks = 0;

	for (size_t i = 0; i < compiled->value_count; i++) {
		walks += compiled->values[i].type == VALUE_WALKED ||
			 compiled->values[i].type == VALUE_PART ||
			 text_walks(builder, &compiled->values[i]);
	}
	for (size_t i = 0; i < compiled->value_count && walks > 1; i++) {
		struct value *value = &compiled->values[i];

		if (text_walks(builder, value)) {
			value->type = VALUE_WALKED_TEXT;
			if (value->index > compiled->last_walked) {
				compiled->last_walked = value->index;
			}
		}
	}
}

static bool is_same_part(const struct etw_field_path *a, const struct etw_field_path *b)
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

void compile_link_parts(struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->value_count; i++) {
		if (compiled->values[i].type == VALUE_PART) {
			compiled->values[i].field =
				&compiled->parts[compiled->values[i].index].value;
		}
	}
}

static const struct etw_field_path *add_part(struct builder *builder,
					     const struct etw_field_path *path, uint16_t *index)
{
	struct compiled_rules *compiled = builder->compiled;
	struct etw_field_path *parts;

	for (size_t i = 0; i < compiled->part_count; i++) {
		if (is_same_part(&compiled->parts[i], path)) {
			*index = (uint16_t)i;
			return &compiled->parts[i];
		}
	}
	parts = compiled->part_count < VALUES_MAX ?
			array_grow(compiled->parts, &builder->engine->draft.part_capacity,
				   compiled->part_count, sizeof *parts) :
			NULL;
	if (!parts) {
		return NULL;
	}
	compiled->parts = parts;
	compile_link_parts(compiled);
	*index = (uint16_t)compiled->part_count;
	parts[compiled->part_count] = *path;
	return &parts[compiled->part_count++];
}

/* Adds the value of an element, of a member of one, or of a count. NO_VALUE: the layout has no
 * such part, or builder->failed. */
static uint16_t add_part_value(struct builder *builder, const char *name)
{
	struct compiled_rules *compiled = builder->compiled;
	struct value value = { .type = VALUE_PART };
	struct etw_field_path path;
	const struct etw_field_path *part;

	if (!compiled->schema || !etw_field_path_find(compiled->schema, name, &path)) {
		return NO_VALUE;
	}
	part = add_part(builder, &path, &value.index);
	if (!part) {
		builder->failed = true;
		return NO_VALUE;
	}
	value.field = &part->value;
	value.form = etw_field_is_integer(value.field) ? FORM_NUMBER : FORM_TEXT;
	value.is_signed = value.form == FORM_NUMBER && etw_field_is_signed(value.field);
	if (part->top > compiled->last_walked) {
		compiled->last_walked = part->top;
	}
	return add_value(builder, &value);
}

/* Adds the value of a derived field. NO_VALUE: the layout lacks the field that it is computed
 * from, or builder->failed. */
static uint16_t add_derived_value(struct builder *builder, const struct derived_field *row)
{
	struct value value = { .type = VALUE_DERIVED,
			       .form = (uint8_t)row->form,
			       .state = VALUE_UNKNOWN,
			       .read = { .row = row, .tracker = builder->engine->tracker },
			       .field = row->field };

	if (row->constant) {
		value.type = VALUE_CONSTANT;
		value.state = VALUE_KNOWN;
		value.read.number = row->constant(
			&(struct derived_class){ .class = builder->class,
						 .strings = builder->engine->strings,
						 .provider = builder->compiled->provider,
						 .session = builder->engine->session });
	}
	if (row->origin) {
		int index = derived_origin(row, builder->compiled->schema);

		if (index < 0) {
			return NO_VALUE;
		}
		if (row->reads_origin) {
			value.type = VALUE_COMPUTED;
			value.index = add_layout_value(builder, index);
			if (value.index == NO_VALUE) {
				return NO_VALUE;
			}
		}
	}
	return add_value(builder, &value);
}

/* Adds a value that a stop gets from its span: Duration, or a captured label. */
static uint16_t add_span_value(struct builder *builder, size_t captured)
{
	struct value value = { .type = VALUE_SPAN, .form = FORM_NUMBER };
	uint16_t stop = find_stop(builder->compiled, builder->rule->span);

	if (stop == NO_VALUE) {
		return NO_VALUE;
	}
	value.index = stop;
	if (captured != NOT_CAPTURED) {
		value = (struct value){ .type = VALUE_CAPTURED, .form = FORM_ID };
		value.index = (uint16_t)(stop * SPAN_CAPTURED_MAX + captured);
	}
	return add_value(builder, &value);
}

static size_t find_captured(const struct builder *builder, const struct field_ref *field)
{
	const struct span *span = builder->rule->rule->span;
	size_t captured = span_find_captured(span, field->name);

	return captured < span->captured_count ? captured : NOT_CAPTURED;
}

/* Returns the index of the value; NO_VALUE: this class has no such field, or builder->failed. */
uint16_t compile_find_value(struct builder *builder, const struct field_ref *field)
{
	int index;

	if (builder->rule && builder->rule->span != NO_SPAN) {
		size_t captured = find_captured(builder, field);

		if (field_has_role(field, ROLE_DURATION) || captured != NOT_CAPTURED) {
			return add_span_value(builder, captured);
		}
	}
	if (field->derived && field->derived->before_layout) {
		return add_derived_value(builder, field->derived);
	}
	index = layout_index(builder, field->name);
	if (index >= 0) {
		return add_layout_value(builder, index);
	}
	return field->derived ? add_derived_value(builder, field->derived) :
				add_part_value(builder, field->name);
}

/* ---- labels ---- */

uint32_t compile_add_numbers(struct builder *builder, size_t count)
{
	struct compiled_rules *compiled = builder->compiled;
	struct number_literal *numbers =
		array_grow(compiled->numbers, &builder->engine->draft.number_capacity,
			   compiled->number_count + count, sizeof *numbers);
	size_t index = compiled->number_count;

	if (!numbers || index + count >= NO_NUMBERS) {
		builder->failed = true;
		return NO_NUMBERS;
	}
	compiled->numbers = numbers;
	compiled->number_count += count;
	return (uint32_t)index;
}

/* Sets *index to a label that another rule or span has made of the same value. Returns false if
 * there is none. */
static bool find_label(const struct compiled_rules *compiled, const struct compiled_label *label,
		       uint16_t *index)
{
	for (size_t i = 0; i < compiled->label_count; i++) {
		if (compiled->labels[i].value_index == label->value_index &&
		    labels_decode_equally(compiled->labels[i].label, label->label)) {
			*index = (uint16_t)i;
			return true;
		}
	}
	return false;
}

static enum rule_result add_label(struct builder *builder, struct compiled_label *label,
				  uint8_t position, struct compiled_label_set *set)
{
	struct compiled_rules *compiled = builder->compiled;
	struct compiled_label *labels;
	uint16_t index;

	if (find_label(compiled, label, &index)) {
		compiled->number_count = label->number_index;
	} else {
		labels = compiled->label_count < LABELS_MAX ?
				 array_grow(compiled->labels,
					    &builder->engine->draft.label_capacity,
					    compiled->label_count, sizeof *labels) :
				 NULL;
		if (!labels) {
			return RULE_FAILED;
		}
		compiled->labels = labels;
		label->owner = ++builder->engine->owners;
		index = (uint16_t)compiled->label_count++;
		labels[index] = *label;
	}
	set->varying[set->varying_count].position = position;
	set->varying[set->varying_count].label = index;
	set->varying_count++;
	return RULE_APPLIES;
}

/* Converts the literals of a map to numbers that the value can be compared with. */
static enum rule_result map_numbers(struct builder *builder, const struct value *value,
				    struct compiled_label *label)
{
	size_t count = value->form == FORM_NUMBER ? label->label->entry_count : 0;

	label->number_index = compile_add_numbers(builder, count);
	if (label->number_index == NO_NUMBERS) {
		return RULE_FAILED;
	}
	label->numbers = &builder->compiled->numbers[label->number_index];
	for (size_t i = 0; i < count; i++) {
		if (!literal_for(&label->label->entries[i].from, value, &label->numbers[i])) {
			return compile_wrong_type(builder, &label->label->field);
		}
	}
	return RULE_APPLIES;
}

static enum rule_result compile_label(struct builder *builder, const struct label *label,
				      uint8_t position, struct compiled_label_set *set)
{
	struct compiled_label compiled = { .label = label };
	const struct value *value;
	enum rule_result result;

	if (label->source == LABEL_TEXT) {
		set->ids[position] = intern_own(builder->engine->strings, label->text);
		return RULE_APPLIES;
	}
	compiled.value_index = compile_find_value(builder, &label->field);
	if (compiled.value_index == NO_VALUE) {
		if (builder->failed) {
			return RULE_FAILED;
		}
		/* Old layouts of kernel events may lack the field. If another provider's layout
		 * lacks it, the rule may be wrong. */
		add_missing(builder, &label->field);
		if (builder->compiled->schema && !builder->kernel) {
			builder->problem_rule = true;
			note_problem(builder, &label->field);
		}
		builder->compiled->lacks_schema |= !builder->compiled->schema;
		set->ids[position] = builder->engine->unknown;
		return RULE_APPLIES;
	}
	value = &builder->compiled->values[compiled.value_index];
	compiled.plain = value->form == FORM_ID && label->source == LABEL_FIELD;
	compiled.process = compiled.plain && value->type == VALUE_DERIVED &&
			   value->read.row->role == ROLE_PROCESS;
	if (label->step_count > 0 && value->form == FORM_NUMBER) {
		compiled.same = label->steps[0].decoder->same;
	}
	result = map_numbers(builder, value, &compiled);
	if (result == RULE_APPLIES && value->type == VALUE_CONSTANT) {
		set->ids[position] = compiled.plain ?
					     (uint32_t)value->read.number :
					     label_compute(builder->engine, &compiled, value);
	} else if (result == RULE_APPLIES) {
		return add_label(builder, &compiled, position, set);
	}
	builder->compiled->number_count = compiled.number_index;
	return result;
}

static enum label_set_type type_of(const struct compiled_rules *compiled,
				   const struct label_set_cache *cache)
{
	if (cache->label_count == 0) {
		return SET_CONSTANT;
	}
	if (cache->label_count == 1 && compiled->labels[cache->label_indexes[0]].process) {
		return SET_BY_PROCESS;
	}
	return cache->label_count <= 2 ? SET_KEYED : SET_HASHED;
}

/* Gives the rule the cache of its labels, which rules with the same labels share. */
static enum rule_result join_cache(struct builder *builder, struct compiled_rule *rule)
{
	struct compiled_rules *compiled = builder->compiled;
	struct label_set_cache cache = { 0 };
	struct label_set_cache *caches;
	size_t index;

	for (unsigned label = 0; label < compiled->label_count; label++) {
		for (unsigned i = 0; i < rule->labels.varying_count; i++) {
			if (rule->labels.varying[i].label == label) {
				cache.label_indexes[cache.label_count++] = (uint16_t)label;
				break;
			}
		}
	}
	cache.type = (uint8_t)type_of(compiled, &cache);
	for (index = 0; index < compiled->cache_count; index++) {
		if (compiled->caches[index].label_count == cache.label_count &&
		    memcmp(compiled->caches[index].label_indexes, cache.label_indexes,
			   sizeof cache.label_indexes) == 0) {
			break;
		}
	}
	if (index == compiled->cache_count) {
		caches = array_grow(compiled->caches, &builder->engine->draft.cache_capacity,
				    compiled->cache_count, sizeof *caches);
		if (!caches) {
			return RULE_FAILED;
		}
		compiled->caches = caches;
		caches[compiled->cache_count++] = cache;
	}
	rule->cache_index = (uint32_t)index;
	return RULE_APPLIES;
}

static enum rule_result compile_label_set(struct builder *builder, const struct label *labels,
					  size_t count, struct compiled_label_set *set)
{
	for (size_t i = 0; i < count; i++) {
		enum rule_result result = compile_label(builder, &labels[i], (uint8_t)i, set);

		if (result != RULE_APPLIES) {
			return result;
		}
	}
	return builder->failed ? RULE_FAILED : RULE_APPLIES;
}

enum rule_result compile_labels(struct builder *builder, const struct rule *from,
				struct compiled_rule *rule)
{
	enum rule_result result =
		compile_label_set(builder, from->labels, from->label_count, &rule->labels);

	return result == RULE_APPLIES ? join_cache(builder, rule) : result;
}

/* ---- spans ---- */

/* Compiles the labels that the events capture for the stop of the span. */
static enum rule_result compile_captured(struct builder *builder, const struct span *span,
					 struct compiled_span *compiled)
{
	bool captures = compiled->side == SPAN_MIDDLE ||
			(compiled->side == SPAN_START && !span->middle.keys);

	if (!captures) {
		return RULE_APPLIES;
	}
	compiled->captured_count = (uint8_t)span->captured_count;
	return compile_label_set(builder, span->captured, span->captured_count, &compiled->labels);
}

static bool has_same_keys(const struct compiled_span *a, const struct compiled_span *b)
{
	return a->key_count == b->key_count &&
	       memcmp(a->keys, b->keys, a->key_count * sizeof a->keys[0]) == 0;
}

static enum rule_result compile_span_event(struct builder *builder, size_t number,
					   enum span_side side, const struct span_event *end)
{
	const struct span *span = builder->engine->set->spans[number];
	struct compiled_span added = { .span = (uint16_t)number,
				       .side = (uint8_t)side,
				       .keep = span->keep,
				       .state = VALUE_UNKNOWN };
	struct compiled_rules *compiled = builder->compiled;
	struct compiled_span **spans = side == SPAN_STOP ? &compiled->stops : &compiled->starts;
	size_t *count = side == SPAN_STOP ? &compiled->stop_count : &compiled->start_count;
	struct draft *draft = &builder->engine->draft;
	struct compiled_span *grown;
	enum rule_result result;

	if (!event_pattern_matches(&end->event, builder->class)) {
		return RULE_NEVER;
	}
	for (size_t i = 0; i < span->key_count; i++) {
		uint16_t value = compile_find_value(builder, &end->keys[i]);

		if (value == NO_VALUE) {
			return compile_lacks_field(builder, &end->keys[i]);
		}
		added.keys[added.key_count++] = value;
	}
	result = compile_captured(builder, span, &added);
	if (result != RULE_APPLIES) {
		return result;
	}
	grown = array_grow(*spans,
			   side == SPAN_STOP ? &draft->stop_capacity : &draft->start_capacity,
			   *count, sizeof *grown);
	if (!grown) {
		return RULE_FAILED;
	}
	*spans = grown;
	added.same_keys = *count > 0 && has_same_keys(&added, &grown[*count - 1]);
	grown[(*count)++] = added;
	return RULE_APPLIES;
}

/* Returns whether the class already stops the span: spans with the same start are one, which each
 * of their stop events stops. */
static bool stops_span(const struct compiled_rules *compiled, size_t span)
{
	return compiled->stop_count > 0 && compiled->stops[compiled->stop_count - 1].span == span;
}

bool compile_spans(struct builder *builder)
{
	const struct rule_set *set = builder->engine->set;
	struct compiled_rules *compiled = builder->compiled;

	builder->kernel = builder->class->kernel_class != ETW_KERNEL_NONE;
	for (size_t i = 0; i < set->span_count && !compiled->undecodable; i++) {
		const struct span *span = set->spans[i];

		if (compile_span_event(builder, i, SPAN_START, &span->start) == RULE_FAILED ||
		    (span->middle.keys &&
		     compile_span_event(builder, i, SPAN_MIDDLE, &span->middle) == RULE_FAILED)) {
			return false;
		}
		for (size_t j = 0; j < set->rule_count; j++) {
			const struct active_rule *rule = &set->rules[j];

			if (rule->span == i && !stops_span(compiled, i) &&
			    rule_has_version(rule->rule, builder->class->version) &&
			    compile_span_event(builder, i, SPAN_STOP, &rule->rule->span->stop) ==
				    RULE_FAILED) {
				return false;
			}
		}
	}
	return true;
}
