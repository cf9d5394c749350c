/* SPDX-License-Identifier: MIT */
/*
 * The inside of a rule_engine: what a rule becomes for one kind of event.
 *
 * A *slot* is one value that the rules of a kind ask for: a field at its offset, a derived field.
 * It is found at most once for an event and then serves every condition, value and label that needs
 * it. A *memo* remembers what a value was turned into (a label, a verdict), so that text is only
 * worked on when a value is new.
 */
#ifndef RULES_ENGINE_H
#define RULES_ENGINE_H

#include "rules/decoders.h"
#include "rules/gauges.h"
#include "rules/rule_set.h"

enum slot_kind {
	SLOT_CONSTANT, /* a number, or a label id, that all events of the kind share */
	SLOT_FIXED,    /* payload: a number at a constant offset */
	SLOT_WALKED,   /* payload: a number behind fields that vary */
	SLOT_TEXT,     /* payload: anything else, read as text */
	SLOT_PATH,     /* the tracker's, text */
	SLOT_PROCESS,  /* label ids of the tracker … */
	SLOT_OF_PROCESS,
	SLOT_OLD_PROCESS,
	SLOT_VOLUME,
	SLOT_DRIVER,
	SLOT_STARTED,
	SLOT_EXIT_RESULT, /* label id, of the slot `of` */
	SLOT_PAGING,      /* number, of the slot `of` */
	SLOT_PROCESS_ID,  /* numbers of the record … */
	SLOT_THREAD_ID,
	SLOT_CPU,
	SLOT_LEVEL,
	SLOT_DURATION, /* nanoseconds of the tracker … */
	SLOT_ON_CPU,
	SLOT_READY,
};

enum slot_form { FORM_NUMBER, FORM_ID, FORM_TEXT };

enum slot_state {
	SLOT_HAS,
	SLOT_UNKNOWN, /* nothing tells it for this event */
	SLOT_CUT,     /* the payload ends before it */
};

struct slot {
	uint64_t generation;       /* of the event that state and value are about */
	uint64_t value;            /* FORM_NUMBER, FORM_ID */
	struct field_slice slice;  /* FORM_TEXT; of a path without count */
	uint32_t end;              /* SLOT_FIXED: payload bytes needed */
	uint16_t index;            /* of the field in the layout, or the slot it is worked out of */
	uint8_t state, kind, form; /* enum slot_state, slot_kind, slot_form */
	bool is_signed;
	const struct field *field; /* of the payload */
	enum derived derived;
};

/* A direct-mapped memory: the last results of a few keys. */
enum { MEMO_SIZE = 32, CELLS_SIZE = 16 };

struct memo {
	uint64_t keys[MEMO_SIZE];
	uint32_t results[MEMO_SIZE];
	uint32_t used; /* bit i: place i is taken */
};

struct number_literal {
	uint64_t number;
	bool negative;
};

struct plan_condition {
	const struct condition *condition;
	uint64_t owner; /* tells it apart among all of the engine, for text_entry */
	uint16_t slot;
	struct number_literal *numbers; /* owned; of the literals, FORM_NUMBER */
	struct memo *memo;              /* owned; verdicts by label id, FORM_ID */
};

struct plan_label {
	const struct label *label; /* NULL: constant, its id stands in plan_rule.ids */
	uint64_t owner;
	uint16_t slot;
	uint8_t position;               /* in ids */
	bool plain;                     /* the slot's value is the id */
	struct number_literal *numbers; /* owned; of a map, FORM_NUMBER */
	struct memo *memo;              /* owned; ids by value, FORM_NUMBER and FORM_ID */
};

enum value_kind { VALUE_ONE, VALUE_SLOT, VALUE_SINCE };

struct plan_rule {
	struct family *family;
	const struct rule *rule;
	struct plan_condition *conditions; /* owned */
	struct plan_label *labels;         /* owned; the ones that are not constant */
	uint16_t condition_count, label_count;
	uint16_t value_slot;
	uint8_t value_kind;
	bool named; /* not for every event */
	bool histogram;
	bool two_labels; /* at most two labels vary, so that a word tells them apart */
	uint8_t op;      /* enum gauge_op */
	uint64_t factor; /* the value times this; 0: ticks of frequency */
	uint64_t frequency;
	uint32_t ids[FAMILY_LABELS_MAX];
	cell *cells; /* without labels that vary, once they are made */
	struct {
		uint64_t key;
		cell *cells; /* NULL: free */
	} recent[CELLS_SIZE];
};

enum decode_problem {
	PROBLEM_TRUNCATED,
	PROBLEM_NO_SCHEMA,
	PROBLEM_BAD_TYPE,
	PROBLEM_RULE,
	PROBLEM_COUNT
};

struct plan {
	struct slot *slots; /* owned */
	size_t slot_count;
	struct plan_rule *rules; /* owned */
	size_t rule_count;
	uint64_t generation;
	const struct schema *schema;
	uint16_t last_walked;          /* the walk for SLOT_WALKED ends here */
	uint64_t walk;                 /* the generation that the engine's slices are of */
	bool dropped;                  /* by the configuration */
	bool ends_instance;            /* a process has ended */
	bool undecodable;              /* nothing but the header is known */
	bool lacks_schema;             /* a rule wants fields, and no layout is known */
	uint32_t provider;             /* label id */
	unsigned whole_fields;         /* of the walk */
	cell *problems[PROBLEM_COUNT]; /* once they are made */
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
	struct registry *registry;
	struct intern *strings;
	struct writer *writer;
	struct tracker *tracker;
	struct source_clock clock;
	struct regex_matcher *matcher; /* owned */
	struct gauges *gauges;         /* owned */
	struct text_entry *texts;      /* owned, TEXTS_SIZE */
	struct field_slice *slices;    /* owned; of the last walk */
	size_t slice_count;
	uint8_t *kept; /* owned; verdicts of the process filter by label id: 0 not asked, 1 keep, 2
			  drop */
	size_t kept_size;
	bool filters_processes;
	uint64_t seed, owners;
	uint32_t session; /* label ids … */
	uint32_t unknown, none;
	uint32_t exit_results[EXIT_RESULTS];
	uint32_t started[256];     /* of "FileIo/Read" by opcode; INTERN_NONE: not made yet */
	struct text text, scratch; /* being made */
};

/* Reads a slot for the record, once. */
enum slot_state slot_read(struct rule_engine *engine, struct plan *plan,
			  const struct event_record *record, struct slot *slot);

static inline enum slot_state slot_get(struct rule_engine *engine, struct plan *plan,
				       const struct event_record *record, struct slot *slot)
{
	if (slot->generation == plan->generation) {
		return (enum slot_state)slot->state;
	}
	return slot_read(engine, plan, record, slot);
}

/* The label id of what the slot holds (slots.c has read it). */
uint32_t label_resolve(struct rule_engine *engine, const struct plan_label *label,
		       const struct slot *slot);

/* Whether what the slot holds fulfils the condition. */
bool condition_holds(struct rule_engine *engine, const struct plan_condition *condition,
		     const struct slot *slot);

/* Label id, or verdict, of a constant slot: without a memo. */
uint32_t label_compute(struct rule_engine *engine, const struct plan_label *label,
		       const struct slot *slot);
bool condition_compute(struct rule_engine *engine, const struct plan_condition *condition,
		       const struct slot *slot);

/* Brings a literal into the range of a signed field: 0xC0000005 is the number that an i32 of these
 * bits reads. */
struct number_literal literal_for(const struct literal *literal, const struct slot *slot);

struct memo *memo_new(void);

/* Counts a problem in etw_decode_errors_total. */
void engine_count_problem(struct rule_engine *engine, struct plan *plan,
			  enum decode_problem problem);

#endif
