/* SPDX-License-Identifier: MIT */
/*
 * The inside of a rule_engine: what rules become for one event class.
 *
 * A struct value is one value that the rules of a class use: a field at its offset, a derived
 * field. It is read at most once for an event and then serves every condition, amount and label
 * that needs it. A label has a cache of the ids that values became, and a condition a cache of
 * verdicts about values, so that text is only worked on when a value is new. A struct
 * label_set_cache leads from the ids of the labels to the cells of the samples.
 *
 * compile.c compiles the rules for a class, with compile_values.c; apply.c applies them to
 * events; values.c reads values; engine.c has the life of an engine.
 */
#ifndef RULES_ENGINE_H
#define RULES_ENGINE_H

#include <stdatomic.h>

#include <etw/schema.h>

#include "exporter/rules/engine/gauges.h"
#include "exporter/rules/engine/spans.h"
#include "exporter/rules/language/decoders.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/track/durations.h"

/* Where a value comes from. */
enum value_source {
	VALUE_CONSTANT, /* a number, or a label id, that all events of the class share */
	VALUE_FIXED,    /* payload: a number at a constant offset */
	VALUE_U32,      /* the same, of 4 bytes without sign: most of them */
	VALUE_WALKED,   /* payload: a number behind fields of variable length */
	VALUE_TEXT,     /* payload: anything else, read as text */
	VALUE_PART,     /* payload: an element, a member, a count; compiled.parts[index] */
	VALUE_DERIVED,  /* a derived field */
	VALUE_COMPUTED, /* a derived field of the value `index` */
	VALUE_SPAN,     /* nanoseconds, or no duration; compiled.stops[index] */
	VALUE_CAPTURED, /* label id; compiled.stops[index / SPAN_CAPTURED_MAX].captured */
};

enum value_state {
	VALUE_KNOWN,
	VALUE_UNKNOWN,     /* not known for this event */
	VALUE_NO_DURATION, /* likewise: a time that is none; number is the enum duration_verdict */
	VALUE_CUT,         /* the payload ends before it */
};

struct value {
	uint64_t generation;            /* of the event that state and read are about */
	struct derived_read read;       /* the value; row NULL: no derived field */
	struct etw_field_reader reader; /* VALUE_FIXED, VALUE_U32 */
	uint16_t index;                 /* of the field in the layout, or as its source says */
	uint8_t state, type, form;      /* enum value_state, value_source, value_form */
	bool is_signed;
	const struct etw_field *field; /* of the payload or the item; NULL: none */
};

/* A direct-mapped cache: the last results of a few keys. */
enum { CACHE_SIZE = 32 };

struct cache {
	uint64_t keys[CACHE_SIZE];
	uint32_t results[CACHE_SIZE];
	uint32_t used; /* bit i: place i is taken */
};

struct number_literal {
	uint64_t number;
	bool negative;
};

/* How a condition is checked: most compare a number with one that it can be. */
enum condition_type { CONDITION_OTHER, NUMBER_IS, NUMBER_IS_NOT };

struct compiled_condition {
	const struct condition *condition;
	uint64_t owner;      /* a number unique in the engine, for text_entry */
	struct value *value; /* of compiled.values */
	uint16_t value_index;
	uint8_t type;                   /* enum condition_type */
	uint32_t number_index;          /* of the first of numbers in compiled.numbers */
	struct number_literal *numbers; /* of the literals, FORM_NUMBER */
	uint64_t equal;                 /* NUMBER_IS, NUMBER_IS_NOT: the literal */
	struct cache *cache;            /* verdicts by label id, FORM_ID; NULL: none */
};

/* What one value becomes as a label; rules that show the same value share it. */
struct compiled_label {
	uint64_t generation; /* of the event that state and id are about */
	struct value *value;
	uint32_t id;   /* label value */
	uint8_t state; /* enum value_state: VALUE_KNOWN or VALUE_CUT */
	bool plain;    /* the value is the id already */
	bool process;  /* the value is the process of the record, which is always known */
	uint16_t value_index;
	uint32_t number_index; /* as in compiled_condition */
	const struct label *label;
	uint64_t owner;                 /* as in compiled_condition */
	struct number_literal *numbers; /* of a map, FORM_NUMBER */
	struct cache *cache;            /* ids by value, FORM_NUMBER and FORM_ID; NULL: none */
};

/* What the labels of a label-set cache are. */
enum label_set_type {
	SET_CONSTANT,   /* none: one label set, one entry */
	SET_BY_PROCESS, /* one, the process of the record */
	SET_KEYED,      /* one or two others: a key of their ids */
	SET_HASHED,     /* more: their ids are kept, and the keys are 0 */
};

/* Sets of several labels are more than processes. */
enum { CACHED_PROCESSES = 64, LABEL_SETS_BITS = 7, CACHED_LABEL_SETS = 1 << LABEL_SETS_BITS };

/*
 * An entry of a label-set cache begins with its key, and has then a cell * for each rule of the
 * cache, NULL until the rule needs it. So an entry of zeros is one of the key 0.
 */
union entry_word {
	uint64_t key;
	cell *cells;
};

/*
 * The label-set cache of the rules whose samples differ by the same labels. It has an entry for
 * each of the last few label sets.
 */
struct label_set_cache {
	uint64_t generation;     /* of the event that entry and state are about */
	union entry_word *entry; /* of this label set */
	union entry_word *entries;
	uint32_t entry_size; /* words */
	uint32_t rule_count;
	uint16_t label_count;
	uint8_t type;  /* enum label_set_type */
	uint8_t state; /* enum value_state: VALUE_KNOWN or VALUE_CUT */
	struct compiled_label *labels[FAMILY_LABELS_MAX];
	uint16_t label_indexes[FAMILY_LABELS_MAX]; /* rising */
	uint32_t *ids; /* SET_HASHED: of each entry label_count ids, which decide */
};

/* How many words all entries have; 0: no rule uses the cache. */
static inline size_t label_set_words(const struct label_set_cache *cache)
{
	static const size_t entries[] = {
		[SET_CONSTANT] = 1,
		[SET_BY_PROCESS] = CACHED_PROCESSES,
		[SET_KEYED] = CACHED_LABEL_SETS,
		[SET_HASHED] = CACHED_LABEL_SETS,
	};

	return cache->rule_count > 0 ? entries[cache->type] * cache->entry_size : 0;
}

/* Labels in their order: ids that are the same for all events, and what the others are made of. */
struct compiled_label_set {
	uint8_t varying_count;
	struct {
		uint8_t position; /* in ids */
		uint16_t label;   /* in compiled.labels */
	} varying[FAMILY_LABELS_MAX];
	uint32_t ids[FAMILY_LABELS_MAX]; /* the constant ones are filled in */
};

enum amount_type { AMOUNT_ONE, AMOUNT_VALUE, AMOUNT_REAL, AMOUNT_SINCE };

struct compiled_rule {
	const struct compiled_condition *conditions, *conditions_end; /* of compiled.conditions */
	struct value *value;                                          /* NULL: 1 */
	struct label_set_cache *cache;
	struct family *family;
	uint64_t factor; /* the value times this; 0: ticks of frequency */
	uint64_t frequency;
	uint16_t condition_count;
	uint32_t index;      /* in the entries of the cache, in words */
	uint8_t amount_type; /* enum amount_type */
	uint8_t op;          /* enum gauge_op */
	bool histogram;
	bool plain;        /* a counter of events, or of a field as it is */
	bool duration;     /* the value is one that duration_judge() has not seen yet */
	uint8_t seen_mask; /* of an enum event_result: what it says about the event */
	uint32_t number;   /* in the set's rules */
	/* From here on for samples that are not in the cache. */
	uint16_t value_index, cache_index;
	struct compiled_label_set labels;
};

/* What became of a rule for one event; bits, so that those of several rules can be joined. */
enum event_result { NOT_APPLIED = 0, APPLIED = 1, CUT_SHORT = 2 };

/* For a dry run: a rule that is about the class, or a field that the class lacks. */
struct dry_run_note {
	const char *missing; /* NULL: it is about the rule */
	uint32_t number;     /* of the rule in the set's */
	bool left_out;       /* a condition is the same for all events, and does not hold */
	bool wrong_type;
};

enum span_side { SPAN_START, SPAN_MIDDLE, SPAN_STOP };

/* A span that the events of the class start, capture labels for, or stop. */
struct compiled_span {
	uint16_t span; /* number in the set's */
	uint16_t key_count;
	uint16_t keys[SPAN_KEYS_MAX]; /* values */
	uint8_t side;                 /* enum span_side */
	uint8_t captured_count;
	struct compiled_label_set labels; /* captured; none for SPAN_STOP */
	/* Of the current event, SPAN_STOP: */
	uint8_t state;          /* enum value_state, of captured */
	uint8_t duration_state; /* likewise, of duration */
	uint64_t duration;      /* ns, or why it is none */
	uint32_t captured[SPAN_CAPTURED_MAX];
};

enum decode_problem {
	PROBLEM_TRUNCATED,
	PROBLEM_NO_SCHEMA,
	PROBLEM_BAD_TYPE,
	PROBLEM_RULE,
	PROBLEM_COUNT
};

/* The arrays, and what their items point to, lie behind the structure in one block of memory. */
struct compiled_rules {
	struct value *values;
	size_t value_count;
	struct etw_field_path *parts;
	size_t part_count;
	struct number_literal *numbers;
	size_t number_count;
	struct compiled_condition *conditions; /* of the rules in their order, then of the probe */
	size_t condition_count;
	struct compiled_label *labels;
	size_t label_count;
	struct label_set_cache *caches;
	size_t cache_count;
	/*
	 * First the rules that count each event of the class, by process or in one sample, then the
	 * others in their order. The first ones share a cache: that by process, if one of them
	 * counts so. In each entry of it the cells of rule i follow those of rule i - 1.
	 */
	struct compiled_rule *rules;
	size_t rule_count;
	size_t always_count;            /* of the first ones */
	struct label_set_cache *always; /* their cache; NULL: there are none */
	uint8_t always_outcome;         /* of an event that no other rule counts */
	struct compiled_rule probe;     /* its conditions are all it has */
	bool probed;                    /* events of the class can fulfil them */
	struct compiled_span *starts, *stops;
	size_t start_count, stop_count;
	struct dry_run_note *notes; /* empty without a dry run */
	size_t note_count;
	uint64_t generation;
	const struct etw_schema *schema;
	uint16_t last_walked;          /* the walk for VALUE_WALKED and VALUE_PART ends here */
	uint64_t walk;                 /* the generation that the engine's slices are of */
	bool dropped;                  /* by the configuration */
	bool ends_instance;            /* a process has ended */
	bool undecodable;              /* nothing but the header is known */
	bool usual;                    /* its events need nothing but their rules: no spans, no dry
					  run, nothing of the above */
	bool lacks_schema;             /* a rule needs fields, and no layout is known */
	uint32_t provider;             /* label id */
	unsigned whole_fields;         /* of the walk */
	cell *problems[PROBLEM_COUNT]; /* once they are made */
	uint8_t reported; /* bit: a problem that was counted for the class as a whole */
};

/*
 * Compiled rules under construction, in arrays that are reused for the next class. The items refer
 * to each other by index as long as the arrays can grow.
 */
struct draft {
	struct compiled_rules compiled; /* owns its arrays */
	size_t value_capacity, part_capacity, number_capacity, condition_capacity, label_capacity;
	size_t cache_capacity, rule_capacity, start_capacity, stop_capacity, note_capacity;
};

/* Labels of payload text, and verdicts about it, by its bytes. */
enum { TEXTS_SIZE = 1024, TEXT_SIZE_MAX = 512 };

struct text_entry {
	uint64_t owner; /* 0: free */
	uint8_t *bytes; /* owned */
	uint32_t size, capacity;
	uint32_t result;
};

struct rule_engine {
	const struct rule_set *set;
	const struct probe *probe; /* NULL: none */
	struct dry_run *dry_run;   /* NULL: none */
	struct registry *registry;
	struct intern *strings;
	struct shard *shard;
	struct tracker *tracker;
	struct etw_source_clock clock;
	struct regex_matcher *matcher; /* owned */
	struct gauges *gauges;         /* owned */
	struct spans *spans;           /* owned */
	struct draft draft;
	/* Written by the consumer, read by any thread: rule_engine_statistics(). */
	_Atomic(uint64_t) tables[ENGINE_TABLES], evictions[ENGINE_TABLES];
	cell *unmatched[2];              /* starts, stops; NULL without memory */
	uint64_t published_unmatched[2]; /* of what spans has counted */
	struct text_entry *texts;        /* owned, TEXTS_SIZE */
	struct etw_field_slice *slices;  /* owned; of the last walk */
	size_t slice_count;
	uint8_t *kept; /* owned; verdicts of the process filter by label id: 0 not yet found, 1
			  keep, 2 drop */
	size_t kept_size;
	bool filters_processes;
	void (*on_schema_mismatch)(void *context, const char *sentence); /* NULL: not reported */
	void *schema_mismatch_context;
	bool *mismatches_reported; /* owned; by rule of the set: it was reported */
	uint64_t seed, owners;
	bool names_only;
	uint32_t session; /* label ids … */
	uint32_t unknown, none;
	struct etw_text text, scratch; /* being made */
};

/* Reads a value of the record, once. */
enum value_state value_read(struct rule_engine *engine, struct compiled_rules *compiled,
			    const struct etw_record *record, struct value *value);

static inline enum value_state value_get(struct rule_engine *engine,
					 struct compiled_rules *compiled,
					 const struct etw_record *record, struct value *value)
{
	if (value->generation == compiled->generation) {
		return (enum value_state)value->state;
	}
	if (value->type == VALUE_U32 && record->payload_size >= value->reader.end) {
		value->read.number = etw_load_u32(record->payload + value->reader.offset);
		value->generation = compiled->generation;
		value->state = VALUE_KNOWN;
		return VALUE_KNOWN;
	}
	return value_read(engine, compiled, record, value);
}

/* Makes the id of a label from its value, once for an event. */
void label_read(struct rule_engine *engine, struct compiled_rules *compiled,
		const struct etw_record *record, struct compiled_label *label);

/* The id of a label. False: the payload ends before its value. */
static inline bool label_get(struct rule_engine *engine, struct compiled_rules *compiled,
			     const struct etw_record *record, struct compiled_label *label,
			     uint32_t *id)
{
	if (label->process) { /* the most frequent label, by far */
		*id = tracker_process_label(engine->tracker);
		return true;
	}
	if (label->generation != compiled->generation) {
		label_read(engine, compiled, record, label);
	}
	*id = label->id;
	return label->state != VALUE_CUT;
}

/* Whether the value fulfils the condition. */
bool condition_holds(struct rule_engine *engine, const struct compiled_condition *condition,
		     const struct value *value);

/* Label id, or verdict, of a constant value: without a cache. */
uint32_t label_compute(struct rule_engine *engine, const struct compiled_label *label,
		       const struct value *value);
bool condition_compute(struct rule_engine *engine, const struct compiled_condition *condition,
		       const struct value *value);

/*
 * A literal as a number to compare the value with, in the range of a signed field: 0xC0000005 is
 * the number that an i32 of these bits reads. False: it is neither a number nor the name of a
 * value.
 */
bool literal_for(const struct literal *literal, const struct value *value,
		 struct number_literal *number);

/* Frees the arrays of a draft (compile.c). */
void draft_free(struct draft *draft);

/* Publishes the statistics of the tables of gauges and spans (engine.c). */
void engine_publish(struct rule_engine *engine);

/* An event of the class comes; what a rule did with it (dry_run.c). */
void dry_run_event(struct dry_run *dry_run, const struct compiled_rules *compiled);
void dry_run_result(struct dry_run *dry_run, const struct compiled_rules *compiled,
		    const struct compiled_rule *rule, enum event_result result);

/* Counts a time that a rule left out in etw_invalid_durations_total. */
void engine_count_no_duration(struct rule_engine *engine, const struct compiled_rule *rule,
			      enum duration_verdict verdict);

/* Counts a problem in etw_decode_errors_total. */
void engine_count_problem(struct rule_engine *engine, struct compiled_rules *compiled,
			  enum decode_problem problem);

enum { NO_VALUE = UINT16_MAX };

#define NO_NUMBERS UINT32_MAX

struct builder {
	struct rule_engine *engine;
	const struct etw_event_class *class;
	struct compiled_rules *compiled; /* of the engine's draft */
	const struct active_rule *rule;  /* NULL: none of the set's */
	bool failed;                     /* no memory */
	bool kernel;       /* its rules were held against its layouts when they were read */
	bool lacks;        /* the current rule cannot apply: a field is missing */
	bool wrong_type;   /* … of a field of the right type */
	bool problem_rule; /* a rule needs what the layout lacks */
	bool problem_type; /* a rule needs another type */
	const struct field_ref *problem_field; /* of the current rule, the first such field */
};

/* What became of a rule for this class. */
enum rule_result { RULE_APPLIES, RULE_NEVER, RULE_FAILED };

/* A rule cannot apply, because its value or a condition needs a field that the layout lacks. */
enum rule_result compile_lacks_field(struct builder *builder, const struct field_ref *field);

/* A rule needs another type than that of its field. */
enum rule_result compile_wrong_type(struct builder *builder, const struct field_ref *field);

/* Notes something for the dry run, if there is one. */
void compile_add_note(struct builder *builder, const struct dry_run_note *note);

/* Finds out which spans the class starts and stops; before the rules. False without memory. */
bool compile_spans(struct builder *builder);

/* The index of a field's value. NO_VALUE: this class has no such field, or builder->failed. */
uint16_t compile_find_value(struct builder *builder, const struct field_ref *field);

/* Lets values point to the parts that they are, after parts were moved. */
void compile_link_parts(struct compiled_rules *compiled);

/* The index of room for the numbers of count literals; NO_NUMBERS without memory. */
uint32_t compile_add_numbers(struct builder *builder, size_t count);

/* Label values that are constant go into the rule's ids, the others into compiled.labels; the
 * rule gets the cache of its label sets. */
enum rule_result compile_labels(struct builder *builder, const struct rule *from,
				struct compiled_rule *rule);

#endif
