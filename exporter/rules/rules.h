/* SPDX-License-Identifier: MIT */
/*
 * Rules: "for this event, add this value to this family under these labels". Written in YAML
 * (docs/rules.md), compiled once.
 *
 * A rule_set is all collectors that are on, checked and with their families registered. It is
 * immutable and shared by all consumers. A rule_engine belongs to one consumer: it compiles the
 * rules for each event class when that first arrives (which fields to locate, conditions, label
 * sources as interned ids, families, unit conversions) and applies them to its events.
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/manifest.h>
#include <etw/provider.h>
#include <etw/source.h>

#include "base/error.h"
#include "config/builtin.h"
#include "config/config.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

struct rule_set; /* opaque */
struct probe;    /* see below */
struct dry_run;  /* see below */

struct collector_info {
	const char *name;
	const char *help;
	bool default_on;
	bool on;
};

struct rule_set_options {
	const struct config *config; /* borrowed during the call */
	/* Manifests that describe events before any arrive; borrowed during the call. */
	struct etw_configured_manifests manifests;
	/* Switches of the command line, in order; they take precedence over the configuration. */
	const struct config_switch *switches;
	size_t switch_count;
	bool disable_defaults; /* --collector.disable-defaults */
	bool every_collector;  /* all collectors are on unless they are switched off */
	/* Built-in collectors that are off have no metrics in the set, unless something in the
	 * configuration may depend on them. */
	bool skip_off;
	/* Further collectors of the caller, beside the built-in ones; borrowed during the call. */
	const struct builtin_file *collectors;
	size_t collector_count;
	/* Another rule set is in use: families are prepared but not shown (registry_prepare()). */
	bool prepare;
};

/*
 * Reads the built-in collectors and the configured files (a file replaces the built-in collector of
 * its name), checks all of them, on or off (but see skip_off), and registers the families of those
 * that are on. Errors read "disk.yaml:12:7: sentence"; err is set to the first one, and the
 * problems of the configuration's tree get all. A switch that names an unknown collector is an
 * error, which lists the known ones. Free the set with rule_set_free().
 */
struct rule_set *rule_set_new(const struct rule_set_options *options, struct registry *registry,
			      struct etw_error *err);
void rule_set_free(struct rule_set *set);

/* Returns the collectors in the order of their names, including those without a family of their
 * own (only state gauges). */
const struct collector_info *rule_set_collector(const struct rule_set *set,
						size_t index); /* NULL after the last */
bool rule_set_on(const struct rule_set *set, const char *collector);
/* Returns the families that the rules of a collector add to, if it is on; NULL after the last.
 * Start with *at = 0. A family may come more than once, and other collectors may add to it too. */
const struct family *rule_set_next_family(const struct rule_set *set, const char *collector,
					  size_t *at);
/* Returns the families of the collectors that are on; NULL after the last. Start with *at = 0. */
struct family *rule_set_family(const struct rule_set *set, size_t *at);
/* Returns the features of the tracker that the rules of the enabled collectors need (enum
 * tracker_feature). */
uint32_t rule_set_features(const struct rule_set *set);

/* Makes the samples whose labels are all fixed by their rules, with the value 0. Any thread may
 * call it, before the first event of these rules. */
void rule_set_make_samples(const struct rule_set *set, struct registry *registry);

/* Returns the kernel flags (EVENT_TRACE_FLAG_*) that a live session needs for the collectors
 * that are on: those of their `needs`, and those of the events and derived fields of their
 * rules. */
uint32_t rule_set_kernel_flags(const struct rule_set *set);
/* Returns the kernel groups beyond the flags that they need: a set of the etw_kernel_groups[]
 * (include/etw/kernel.h). */
uint32_t rule_set_kernel_groups(const struct rule_set *set);

/* Returns whether the collector with this index counts nothing if no session has kernel events: its
 * rules and state gauges use only these, and no provider can replace them. */
bool rule_set_only_kernel(const struct rule_set *set, size_t index);

/* Returns the providers that a live session needs for the collectors that are on; NULL after the
 * last. */
const struct etw_provider_spec *rule_set_provider(const struct rule_set *set, size_t index);
/* Returns the providers that replace kernel events if no live session has these; NULL after the
 * last. */
const struct etw_provider_spec *rule_set_substitute(const struct rule_set *set, size_t index);

/*
 * Warns of rules whose events no live session would enable, and of providers in `needs` that look
 * misspelt; each warning names its place. config and manifests must be those that the rule set was
 * made with.
 */
void rule_set_warn_of_needs(const struct rule_set *set, const struct config *config,
			    const struct etw_configured_manifests *manifests);

struct rule_engine; /* opaque; one consumer's */

struct rule_engine_options {
	const struct rule_set *set; /* borrowed, as are all here */
	struct registry *registry;
	struct shard *shard;
	struct tracker *tracker;
	const struct etw_source_clock *clock;
	const char *session; /* value of the derived field Session */
	/*
	 * Microsoft-Windows-Kernel-Process is enabled only for the names of processes, and other
	 * sessions may have it too: only rules for every event (`*`) count its events.
	 */
	bool names_only;
	struct dry_run *dry_run;   /* NULL: none */
	const struct probe *probe; /* NULL: none */
	/*
	 * Reports that a rule names an event whose schema lacks a field that it needs, or has it
	 * with another type: one sentence with the place of the rule, once for each rule. NULL: not
	 * reported.
	 */
	void (*on_schema_mismatch)(void *context, const char *sentence);
	void *schema_mismatch_context;
};

struct rule_engine *rule_engine_new(const struct rule_engine_options *options,
				    struct etw_error *err);
void rule_engine_free(struct rule_engine *engine);

/*
 * Replaces the rule set from the next event on; event classes must be prepared again. Starts of
 * spans that both sets have continue to wait, and values of gauges stay if both sets have the
 * family; other starts count as unmatched. names_only: as in the options. Returns false without
 * memory: the engine is then unchanged. Only the consumer's thread may call it; the former set must
 * still exist.
 */
bool rule_engine_replace(struct rule_engine *engine, const struct rule_set *next, bool names_only,
			 struct etw_error *err);

/* Returns whether events of the class are delivered only for the names of processes (names_only of
 * the options). */
bool rule_engine_only_names(const struct rule_engine *engine, const struct etw_event_class *class);

/* Compiles the rules for a new event class into class->compiled. Returns false without memory. */
bool rule_engine_prepare(struct rule_engine *engine, struct etw_event_class *class);
void rule_engine_release(struct etw_event_class *class); /* frees class->compiled */
/* Clears the cells of families with dynamic labels from the caches of class->compiled. */
void rule_engine_forget_cells(struct etw_event_class *class);

/* Every record has exactly one outcome (etw_consumer_records_total). */
enum record_outcome {
	OUTCOME_COUNTED,     /* a rule that names this event (not only `*`) added to a family */
	OUTCOME_NO_RULE,     /* only rules for every event (`*`) counted it */
	OUTCOME_NO_SCHEMA,   /* as OUTCOME_NO_RULE, and no layout of the event is known */
	OUTCOME_UNDECODABLE, /* its header type cannot be decoded, or its payload ends before a
				field that a rule needs */
	OUTCOME_FILTERED,    /* a filter of the configuration dropped it before any counter */
	OUTCOME_COUNT
};
const char *record_outcome_name(enum record_outcome outcome); /* "counted", "no_rule", … */

/*
 * Applies the compiled rules of the record's class. Call it after tracker_observe() of the same
 * record. Decoding problems are counted in etw_decode_errors_total{provider,reason}.
 */
enum record_outcome rule_engine_apply(struct rule_engine *engine, const struct etw_record *record,
				      const struct etw_event_class *class);

/* Returns whether the record fulfils the probe's conditions. Call it after rule_engine_apply() of
 * the same record. */
bool rule_engine_probe(struct rule_engine *engine, const struct etw_record *record,
		       const struct etw_event_class *class);

/* Before another pass: `set` gauges forget their instances, and spans their starts. */
void rule_engine_reset(struct rule_engine *engine);

/* The tables of an engine, and their statistics, which any thread may read. */
enum engine_table { ENGINE_SPANS, ENGINE_GAUGES, ENGINE_TABLES };
struct rule_engine_statistics {
	uint64_t entries[ENGINE_TABLES];
	uint64_t evictions[ENGINE_TABLES];
};
void rule_engine_statistics(const struct rule_engine *engine,
			    struct rule_engine_statistics *statistics);

/* ---- dry runs ---- */

/*
 * A dry run: notes what each rule of a set does with the events of a recording, to help the author
 * of a collector. It belongs to one consumer and is read after that consumer's end.
 */

enum { DRY_RUN_MISSING_MAX = 16 };

struct dry_run_rule {
	const struct rule *rule;
	uint64_t events;     /* events that the rule is about */
	uint64_t counted;    /* events of these that it counted */
	uint64_t left_out;   /* events for which a condition did not hold */
	uint64_t cut;        /* events whose payload ends before a field */
	uint64_t wrong_type; /* events in which a field is of another type than the rule needs */
	struct {
		const char *field;
		uint64_t events;
	} missing[DRY_RUN_MISSING_MAX]; /* fields that events lacked; those beyond the maximum are
					   not listed */
	size_t missing_count;
};

/* The set is borrowed. The dry run covers the rules of the collectors that are on. */
struct dry_run *dry_run_new(const struct rule_set *set, struct etw_error *err);
void dry_run_free(struct dry_run *dry_run);

/* Returns the results of a rule, in the order of collectors and their files; NULL after the
 * last. */
const struct dry_run_rule *dry_run_at(const struct dry_run *dry_run, size_t index);

/* ---- conditions of tools ---- */

/*
 * Conditions on events of any class, for tools that select events. Each is written like a condition
 * of a rule's `where`, but as one text: "FIELD OPERATOR LITERAL".
 *
 * FIELD and OPERATOR are the words of docs/rules.md. The literal is the rest of the text, blanks
 * included; that of `in` is a list of literals with commas between them. A field is looked up in
 * the layout of each event class, as for rules on events of other providers: a class that lacks the
 * field, or has it with another type, does not fulfil the condition.
 */

struct rule;  /* exporter/rules/language/collector.h */
struct probe; /* opaque; immutable once all conditions are added */

enum { PROBE_CONDITIONS_MOST = 64 };

struct probe *probe_new(struct etw_error *err);
void probe_free(struct probe *probe);

/* Adds a condition; all conditions must hold. On failure err names the text. */
bool probe_add(struct probe *probe, const char *text, struct etw_error *err);

/* Returns the features of a tracker that its conditions need (enum tracker_feature). */
uint32_t probe_features(const struct probe *probe);

/* Returns the field of a condition; NULL after the last. */
const char *probe_field(const struct probe *probe, size_t index);

/* Returns the conditions as a rule on every event, which has nothing else. */
const struct rule *probe_rule(const struct probe *probe);

#endif
