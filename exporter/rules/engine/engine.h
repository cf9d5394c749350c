/* SPDX-License-Identifier: MIT */
/*
 * The inside of a rule_engine: what rules become for one event class.
 *
 * A struct value is one value that the rules of a class use: a payload field or a derived field. It
 * is read at most once for an event and then serves every condition, amount and label that needs
 * it. A label has a cache of the ids that values became, and a condition a cache of verdicts about
 * values, so that text is processed only when a value is new. A struct label_set_cache leads from
 * the ids of the labels to the cells of the samples.
 *
 * compile.c, with compile_values.c, compiles the rules for a class; apply.c applies them to events;
 * values.c reads values; engine.c creates, replaces and frees an engine.
 */
#ifndef RULES_ENGINE_H
#define RULES_ENGINE_H

#include <stdatomic.h>

#include <etw/schema.h>

#include "exporter/rules/engine/tables.h"
#include "exporter/rules/language/decoders.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/track/durations.h"

/* The source that a value is read from. */
enum value_source {
	VALUE_CONSTANT, /* a number, or a label id, that is the same for all events of the class */
	VALUE_FIXED,    /* payload: a number at a constant offset */
	VALUE_U32,      /* like VALUE_FIXED, but 4 bytes without sign: the most frequent case */
	VALUE_U64,      /* like VALUE_FIXED, but 8 bytes, as most keys of spans have */
	VALUE_WALKED,   /* payload: a number after fields of variable length */
	VALUE_TEXT,     /* payload: anything else, read as text */
	VALUE_WALKED_TEXT, /* like VALUE_TEXT, where the walk serves other values too */
	VALUE_PART,        /* payload: an element, a member, a count; compiled.parts[index] */
	VALUE_DERIVED,     /* a derived field */
	VALUE_COMPUTED,    /* a derived field that is computed from the value `index` */
	VALUE_SPAN,        /* nanoseconds of a span, or no duration; compiled.stops[index] */
	VALUE_CAPTURED,    /* label id; compiled.stops[index / SPAN_CAPTURED_MAX].captured */
};

enum value_state {
	VALUE_KNOWN,
	VALUE_UNKNOWN,     /* not known for this event */
	VALUE_NO_DURATION, /* the time is no valid duration; number is the enum duration_verdict */
	VALUE_CUT,         /* the payload ends before the value */
};

struct value {
	uint64_t generation;            /* generation of the event that state and read belong to */
	struct derived_read read;       /* the value that was read; row NULL: not a derived field */
	struct etw_field_reader reader; /* VALUE_FIXED, VALUE_U32, VALUE_U64 */
	uint16_t index; /* index of the field in the layout, or as enum value_source says */
	uint8_t state, type, form; /* enum value_state, value_source, value_form */
	bool is_signed;
	const struct etw_field
		*field; /* field of the payload or of the extended item; NULL: none */
};

/* A direct-mapped cache: a key has one place, and its result replaces the one there. */
enum { CACHE_BITS = 5, CACHE_SIZE = 1 << CACHE_BITS };

struct cache {
	uint64_t keys[CACHE_SIZE];
	uint32_t results[CACHE_SIZE];
	uint32_t used; /* bit i: place i is taken */
};

struct number_literal {
	uint64_t number;
	bool negative;
};

/* How a condition is checked. Most compare a number with one literal for equality. */
enum condition_type { CONDITION_OTHER, NUMBER_IS, NUMBER_IS_NOT };

struct compiled_condition {
	const struct condition *condition;
	uint64_t owner;      /* unique number within the engine, for text_entry */
	struct value *value; /* points into compiled.values */
	uint16_t value_index;
	uint8_t type;                   /* enum condition_type */
	uint32_t number_index;          /* index of the first of numbers in compiled.numbers */
	struct number_literal *numbers; /* the literals as numbers, for FORM_NUMBER */
	uint64_t equal;                 /* NUMBER_IS, NUMBER_IS_NOT: the literal to compare with */
	struct cache *cache;            /* verdicts by label id, for FORM_ID; NULL: no cache */
};

/* A label made of one value; rules that show the same value share it. */
struct compiled_label {
	uint64_t generation; /* generation of the event that state and id belong to */
	struct value *value;
	uint32_t id;   /* id of the label value */
	uint8_t state; /* enum value_state: VALUE_KNOWN or VALUE_CUT */
	bool plain;    /* the value is already a label id */
	bool process;  /* the value is the process of the record, which always has a label */
	uint16_t value_index;
	uint32_t number_index; /* index of the first of numbers in compiled.numbers */
	const struct label *label;
	uint64_t owner;                 /* unique number within the engine, for text_entry */
	struct number_literal *numbers; /* keys of a map as numbers, for FORM_NUMBER */
	struct cache *cache; /* ids by value, for FORM_NUMBER and FORM_ID; NULL: no cache */
	uint64_t (*same)(const struct decoded *from); /* of the decoder, for FORM_NUMBER; or NULL */
};

/* Which labels distinguish the entries of a label-set cache, and so how an entry is found. */
enum label_set_type {
	SET_CONSTANT,   /* no labels: there is one label set and one entry */
	SET_BY_PROCESS, /* one label, the process of the record */
	SET_KEYED,      /* one or two other labels: the key is made of their ids */
	SET_HASHED,     /* more labels: their ids are compared, and the keys are 0 */
};

/* Sizes of the caches in entries. Label sets of several labels are more numerous than processes. */
enum { CACHED_PROCESSES = 64, LABEL_SETS_BITS = 7, CACHED_LABEL_SETS = 1 << LABEL_SETS_BITS };

/*
 * An entry of a label-set cache begins with its key. A cell * for each rule of the cache follows,
 * NULL until the rule needs it. So an entry of zeros is a valid entry of the key 0.
 */
union entry_word {
	uint64_t key;
	cell *cells;
};

/*
 * The label-set cache of rules whose samples differ by the same labels. It has an entry for each of
 * the last few label sets.
 */
struct label_set_cache {
	uint64_t generation;     /* generation of the event that entry and state belong to */
	union entry_word *entry; /* the entry of the event's label set */
	union entry_word *entries;
	uint32_t entry_size; /* size of an entry in words */
	uint32_t rule_count;
	uint16_t label_count;
	uint8_t type;  /* enum label_set_type */
	uint8_t state; /* enum value_state: VALUE_KNOWN or VALUE_CUT */
	struct compiled_label *labels[FAMILY_LABELS_MAX];
	uint16_t label_indexes[FAMILY_LABELS_MAX]; /* indexes in compiled.labels, in rising order */
	uint32_t *ids; /* SET_HASHED: label_count ids for each entry, which identify it */
};

/* The number of words in all entries; 0: no rule uses the cache. */
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

/* The labels of a sample in their order: ids that are constant for the class, and the labels
 * that vary. */
struct compiled_label_set {
	uint8_t varying_count;
	struct {
		uint8_t position; /* index in ids */
		uint16_t label;   /* index in compiled.labels */
	} varying[FAMILY_LABELS_MAX];
	uint32_t ids[FAMILY_LABELS_MAX]; /* only the constant ones are filled in */
};

enum amount_type { AMOUNT_ONE, AMOUNT_VALUE, AMOUNT_REAL, AMOUNT_SINCE };

struct compiled_rule {
	const struct compiled_condition *conditions,
		*conditions_end; /* points into compiled.conditions */
	struct value *value;     /* the value to add; NULL: add 1 */
	struct label_set_cache *cache;
	struct family *family;
	uint64_t factor; /* the value is multiplied by this; 0: it is ticks of `frequency` */
	uint64_t frequency;
	uint16_t condition_count;
	uint32_t index;      /* index of the rule's cell in an entry of the cache, in words */
	uint8_t amount_type; /* enum amount_type */
	uint8_t op;          /* enum gauge_op */
	bool histogram;
	bool plain;        /* a counter that adds 1, or a field without conversion */
	bool observes;     /* a histogram of the same */
	bool duration;     /* the value is a duration that duration_judge() must check */
	uint8_t seen_mask; /* enum event_result bits that decide the outcome */
	uint32_t number;   /* number of the rule in the set */
	/* The members below are used for samples that are not in the cache. */
	uint16_t value_index;
	uint32_t cache_index;
	struct compiled_label_set labels;
};

/* The result of a rule for one event. The values are bits, so that those of several rules can be
 * combined. */
enum event_result { NOT_APPLIED = 0, APPLIED = 1, CUT_SHORT = 2 };

/* A note for a dry run: a rule is about the class, or needs a field that the class lacks. */
struct dry_run_note {
	const char *missing; /* the field that the class lacks; NULL: the note is about the rule */
	uint32_t number;     /* number of the rule in the set */
	bool left_out;       /* a condition has the same result for all events, and does not hold */
	bool wrong_type;
};

enum span_side { SPAN_START, SPAN_MIDDLE, SPAN_STOP };

/* What events of the class do to a span: they start it, capture labels for it, or stop it. */
struct compiled_span {
	uint16_t span; /* number of the span in the set */
	uint16_t key_count;
	uint16_t keys[SPAN_KEYS_MAX]; /* indexes in compiled.values */
	uint8_t side;                 /* enum span_side */
	uint8_t captured_count;
	bool keep;      /* the start serves further stops */
	bool same_keys; /* its keys are those of the span before it in the array */
	struct compiled_label_set labels; /* labels to capture; none for SPAN_STOP */
	/* The members below are about the current event, for SPAN_STOP. */
	uint8_t state;          /* enum value_state of captured */
	uint8_t duration_state; /* enum value_state of duration */
	uint64_t duration; /* nanoseconds; if there is no duration, the enum duration_verdict */
	uint32_t captured[SPAN_CAPTURED_MAX];
};

enum decode_problem {
	PROBLEM_TRUNCATED,
	PROBLEM_NO_SCHEMA,
	PROBLEM_BAD_TYPE,
	PROBLEM_RULE,
	PROBLEM_COUNT
};

/* The arrays, and what their items point to, follow the struct in one block of memory. */
struct compiled_rules {
	struct value *values;
	size_t value_count;
	struct etw_field_path *parts;
	size_t part_count;
	struct number_literal *numbers;
	size_t number_count;
	struct compiled_condition
		*conditions; /* those of the rules in order, then those of the probe */
	size_t condition_count;
	struct compiled_label *labels;
	size_t label_count;
	struct label_set_cache *caches;
	size_t cache_count;
	/*
	 * First the rules that count every event of the class, by process or in one sample; the
	 * other rules follow in their order. The first ones share a cache, which is by process if
	 * one of them counts by process. In each of its entries the cells of rule i follow those of
	 * rule i - 1.
	 */
	struct compiled_rule *rules;
	size_t rule_count;
	size_t always_count;            /* number of the rules that count every event */
	struct label_set_cache *always; /* cache of those rules; NULL: there are none */
	uint8_t always_outcome;         /* outcome of an event that no other rule counts */
	struct compiled_rule probe;     /* it has only the conditions of the probe */
	bool probed; /* events of the class may fulfil the conditions of the probe */
	struct compiled_span *starts, *stops;
	size_t start_count, stop_count;
	struct dry_run_note *notes; /* empty without a dry run */
	size_t note_count;
	uint64_t generation;
	const struct etw_schema *schema;
	uint16_t last_walked; /* index of the last field that the walk for VALUE_WALKED,
				 VALUE_WALKED_TEXT and VALUE_PART must reach */
	uint64_t walk;        /* generation of the event that the engine's slices belong to */
	bool dropped;         /* the configuration drops the events */
	bool ends_instance;   /* its events end a process */
	bool undecodable;     /* nothing except the header can be decoded */
	bool usual; /* its events need only their rules: no spans, no dry run, nothing of the above
		     */
	bool lacks_schema;             /* a rule needs fields, and no layout is known */
	uint32_t provider;             /* label id */
	unsigned whole_fields;         /* number of fields that are whole in the last walk */
	cell *problems[PROBLEM_COUNT]; /* cells of etw_decode_errors_total; NULL until made */
	uint8_t reported;              /* bits: problems that were counted once for the class */
};

/*
 * Compiled rules under construction, in arrays that are reused for the next class. The items refer
 * to each other by index, because the arrays can still grow and move.
 */
struct draft {
	struct compiled_rules compiled; /* owns its arrays */
	size_t value_capacity, part_capacity, number_capacity, condition_capacity, label_capacity;
	size_t cache_capacity, rule_capacity, start_capacity, stop_capacity, note_capacity;
};

/* A cache of labels and verdicts by the bytes of payload text. */
enum { TEXTS_SIZE = 1024, TEXT_SIZE_MAX = 512 };

struct text_entry {
	uint64_t owner; /* number of the label or condition; 0: the entry is free */
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
	uint64_t published_unmatched[2]; /* the counts of `spans` that were published last */
	struct text_entry *texts;        /* owned, TEXTS_SIZE */
	struct etw_field_slice *slices;  /* owned; the fields that the last walk found */
	size_t slice_count;
	uint8_t *kept; /* owned; verdicts of the process filter by label id: 0 not known yet, 1
			  keep, 2 drop */
	size_t kept_size;
	bool filters_processes;
	void (*on_schema_mismatch)(void *context, const char *sentence); /* NULL: not reported */
	void *schema_mismatch_context;
	bool *mismatches_reported; /* owned; by the number of the rule: its mismatch was reported */
	uint64_t seed, owners;
	bool names_only;
	uint32_t session; /* label ids of the session, of `_unknown` and of `_none` */
	uint32_t unknown, none;
	struct etw_text text, scratch; /* buffers for label text that is being made */
};

/* Reads a value of the record, at most once for an event. */
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

/* Makes the id of a label from its value, at most once for an event. */
void label_read(struct rule_engine *engine, struct compiled_rules *compiled,
		const struct etw_record *record, struct compiled_label *label);

/* Sets *id to the id of a label. Returns false if the payload ends before its value. */
static inline bool label_get(struct rule_engine *engine, struct compiled_rules *compiled,
			     const struct etw_record *record, struct compiled_label *label,
			     uint32_t *id)
{
	if (label->process) { /* by far the most frequent label */
		*id = tracker_process_label(engine->tracker);
		return true;
	}
	if (label->generation != compiled->generation) {
		label_read(engine, compiled, record, label);
	}
	*id = label->id;
	return label->state != VALUE_CUT;
}

/* Returns whether the value fulfils the condition, from the cache or computed. */
bool condition_holds(struct rule_engine *engine, const struct compiled_condition *condition,
		     const struct value *value);

/* Compute the label id, or the verdict of a condition, without a cache: for constant values. */
uint32_t label_compute(struct rule_engine *engine, const struct compiled_label *label,
		       const struct value *value);
bool condition_compute(struct rule_engine *engine, const struct compiled_condition *condition,
		       const struct value *value);

/*
 * Converts a literal to a number that the value can be compared with, in the range of a signed
 * field: 0xC0000005 becomes the number that an i32 of these bits reads. Returns false if the
 * literal is neither a number nor the name of a value.
 */
bool literal_for(const struct literal *literal, const struct value *value,
		 struct number_literal *number);

/* Frees the arrays of a draft, which may be empty (compile.c). */
void draft_free(struct draft *draft);

/* Publish the statistics of the tables of spans and of gauges (engine.c). */
void engine_publish_spans(struct rule_engine *engine);
void engine_publish_gauges(struct rule_engine *engine);

/* Note for the dry run that an event of the class came, and what a rule did with it (engine.c). */
void dry_run_event(struct dry_run *dry_run, const struct compiled_rules *compiled);
void dry_run_result(struct dry_run *dry_run, const struct compiled_rules *compiled,
		    const struct compiled_rule *rule, enum event_result result);

/* Counts a problem in etw_decode_errors_total. */
void engine_count_problem(struct rule_engine *engine, struct compiled_rules *compiled,
			  enum decode_problem problem);

enum { NO_VALUE = UINT16_MAX };

#define NO_NUMBERS UINT32_MAX

struct builder {
	struct rule_engine *engine;
	const struct etw_event_class *class;
	struct compiled_rules *compiled; /* of the engine's draft */
	const struct active_rule *rule;  /* the rule being compiled; NULL: the probe or a span */
	bool failed;                     /* no memory */
	bool kernel; /* kernel class: its rules were checked against its layouts when they were read
		      */
	bool lacks;  /* the current rule cannot apply: the layout lacks a field */
	bool wrong_type;   /* the current rule cannot apply: a field is of another type */
	bool problem_rule; /* some rule needs a field that the layout lacks */
	bool problem_type; /* some rule needs a field of another type */
	const struct field_ref *problem_field; /* the first such field of the current rule */
};

/* The result of compiling a rule for this class. */
enum rule_result { RULE_APPLIES, RULE_NEVER, RULE_FAILED };

/* Notes that the current rule cannot apply, because the layout lacks a field that its value or a
 * condition needs. */
enum rule_result compile_lacks_field(struct builder *builder, const struct field_ref *field);

/* Notes that the current rule cannot apply, because a field is of another type than it needs. */
enum rule_result compile_wrong_type(struct builder *builder, const struct field_ref *field);

/* Notes something for the dry run, if there is one. */
void compile_add_note(struct builder *builder, const struct dry_run_note *note);

/* Finds the spans that the class starts and stops. Call it before compiling the rules. Returns
 * false without memory. */
bool compile_spans(struct builder *builder);

/* Returns the index of a field's value in compiled.values, which is added if it is new.
 * NO_VALUE: this class has no such field, or builder->failed. */
uint16_t compile_find_value(struct builder *builder, const struct field_ref *field);

/* Lets values that take a walk over the payload share it. Call it when all values are found. */
void compile_share_walk(struct builder *builder);

/* Sets the pointers of values to their parts again, after compiled.parts has moved. */
void compile_link_parts(struct compiled_rules *compiled);

/* Adds room for the numbers of `count` literals; returns its index in compiled.numbers, or
 * NO_NUMBERS without memory. */
uint32_t compile_add_numbers(struct builder *builder, size_t count);

/* Compiles the labels of a rule: ids of constant labels go into the rule, the others into
 * compiled.labels. Sets the rule's label-set cache. */
enum rule_result compile_labels(struct builder *builder, const struct rule *from,
				struct compiled_rule *rule);

#endif
