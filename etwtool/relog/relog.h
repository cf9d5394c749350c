/* SPDX-License-Identifier: MIT */
/* What etwtool relog reads, keeps and changes. */
#ifndef ETWTOOL_RELOG_RELOG_H
#define ETWTOOL_RELOG_RELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/describe.h>
#include <etw/event_table.h>
#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/record.h>
#include <etw/recording.h>
#include <etw/stack_walk.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/os.h"
#include "etwtool/event_filter.h"
#include "etwtool/tool.h"
#include "exporter/track/repeats.h"

/* ---- parts (split.c) ---- */

/* Splits a recording by time into parts that can each be read alone. */

/* Exactly one of the two is above 0. */
struct split_by {
	uint64_t size_bytes; /* most bytes of a part; a part has at least one buffer */
	uint64_t duration_ms;
};

/* An option_read: reads a struct split_by from "100MB", "64MiB", "30s" or "1m". */
bool split_by_read(void *by, const char *text, struct etw_error *err);

struct split_request {
	struct split_by by;
	const char *output; /* "out.etl" gives out_000001.etl and so on */
	struct etw_mirror_form form;
	/*
	 * Upper bound, at least 2, of the notes about positions and times of buffers. With more
	 * buffers one note covers several.
	 */
	size_t notes_most;
	void *context;
	/* Called after each buffer, with the bytes of the input that this pass has read. */
	void (*on_buffer)(void *context, uint64_t bytes_read);
	/* Returns whether a part may be written to the path. A file of that name is replaced. */
	bool (*may_write)(void *context, const char *path, struct etw_error *err);
	/* Called when a part is complete. */
	void (*on_part)(void *context, const char *path, const struct etw_mirror_counts *counts);
};

/*
 * Writes the parts. Each has the records of its time span, and from all other times the records
 * that describe others (exporter/track/repeats.h). A time span without records has no part.
 * Damage of the input is counted once.
 */
bool split_recording(struct etw_file *input, const struct split_request *request,
		     struct etw_damage *damage, struct etw_error *err);

/* ---- --set (set_fields.c) ---- */

/*
 * Changes events as the command line says: "Image/Load.FileName=C:\x.dll".
 *
 * The text before the field names an event as a rule does (config/README.md): "Class/Event",
 * "Provider/Event", "Provider/ID"; * means all events. The field is one of the payload, a member as
 * "structure.member", or with an @ a value of the record's header under the name that dumps use:
 * "@provider", "@id", "@version", "@pid" and so on. The value is a number, a text, or JSON for
 * lists and structures.
 */

struct assignment; /* opaque */

/* Zero-initialise it. One thread. */
struct set_fields {
	struct assignment *assignments; /* owned */
	size_t count, capacity;
	struct map idle; /* struct etw_event_class * of classes without an assignment */
	struct etw_encode_change *changes; /* changes of one record; owned */
	struct etw_payload payload;
	uint8_t record[ETW_RECORD_SIZE_MOST];
};

/* An option_read: adds an assignment to a struct set_fields. The text must outlive the struct. */
bool set_fields_add(void *set_fields, const char *text, struct etw_error *err);
void set_fields_done(struct set_fields *set_fields);

/* Call it when an event class is new, or when its struct is reused for another class. */
void set_fields_class(struct set_fields *set_fields, const struct etw_event_class *class);

enum set_answer {
	SET_SAME,    /* no assignment applies, or all values are there already */
	SET_CHANGED, /* *bytes and *size are the new record */
	SET_FAILED,  /* a value does not fit; err is set */
};

/*
 * Applies the assignments to a record, in their order.
 *
 * @class:  event class of the record.
 * @bytes:  in: the whole record that *record was read from, header included. Out: the new one,
 * which is valid until the next call.
 */
enum set_answer set_fields_apply(struct set_fields *set_fields, const struct etw_record *record,
				 const struct etw_event_class *class, const uint8_t **bytes,
				 size_t *size, struct etw_error *err);

/*
 * Call it after the last record: returns false with an error if no event matched an assignment, or
 * if none that matched has its field.
 *
 * @where:  names what had the records, for the error: "the recording".
 */
bool set_fields_found(const struct set_fields *set_fields, const char *where,
		      struct etw_error *err);

/* ---- stacks that stay (kept_stacks.c) ---- */

/*
 * Decides which call stacks stay when a filter keeps some events of a recording: the stacks of
 * these events, and the definitions of the keys that they use (include/etw/stack_walk.h).
 */

struct kept_event; /* private */

/*
 * Zero-initialise it. Its memory is bounded; beyond the bounds too many stacks are kept, never too
 * few.
 */
struct kept_stacks {
	bool named; /* the filter is about StackWalk itself, so the stacks that it keeps stay */

	struct map events;         /* hash of time and thread -> number of the last such event */
	struct kept_event *recent; /* ring of the last kept events; owned */
	uint64_t count;            /* of kept events */
	int64_t forgotten;         /* events up to this raw time may be missing from the map */
	struct map keys;           /* keys referred to, and not defined since */
	bool keys_full;            /* any key may be missing from `keys` */
	bool no_memory;
};

/*
 * Notes an event that stays and is not a StackWalk record. Call this and kept_stacks_keep() in time
 * order.
 */
void kept_stacks_note(struct kept_stacks *stacks, const struct etw_record *record);

/* Returns whether a StackWalk record stays. kept says whether the filter keeps it. */
bool kept_stacks_keep(struct kept_stacks *stacks, const struct etw_record *record, bool kept);

void kept_stacks_done(struct kept_stacks *stacks);

/* ---- stacks of a part ---- */

/*
 * Finds the definitions of stacks that a part of a recording needs although they come after its
 * end. A reference means the first definition of its key at or after its own time
 * (include/etw/stack_walk.h).
 */

/*
 * Zero-initialise it. Call part_stacks_refer() for all references of the part, then
 * part_stacks_define() for all definitions of the recording, then part_stacks_need(); each in any
 * order. Memory is bounded: when there are too many keys, every definition counts as needed.
 */
struct part_stacks {
	struct map references; /* key -> raw time of its last reference in the part */
	/* key -> raw time of the definition that the last reference means */
	struct map definitions;
	bool full;
	bool no_memory;
};

void part_stacks_refer(struct part_stacks *stacks, uint64_t key, int64_t raw_time);
void part_stacks_define(struct part_stacks *stacks, uint64_t key, int64_t raw_time);

/* Returns whether a definition is the one that the last reference means, or an earlier one. */
bool part_stacks_need(const struct part_stacks *stacks, uint64_t key, int64_t raw_time);

/* Frees the memory; the struct can be used again. */
void part_stacks_done(struct part_stacks *stacks);

/* ---- --add (event_lines.c) ---- */

/*
 * Makes records from lines as `etwtool dump` (jsonl) writes them.
 *
 * A line may be shorter than one of a dump: `fields` or `raw`, a `provider` and a time are enough;
 * a kernel event also needs opcode and version. What a dump does not show cannot be restored:
 * extended items other than a TraceLogging layout and a provider name, processor times and
 * activities of headers, and the payloads of records that describe others (EventInfo, manifests).
 */

struct event_lines; /* opaque; one thread */

struct event_lines_options {
	/*
	 * Schemas of events that are neither kernel events nor TraceLogging; complete before the
	 * first line. NULL: none.
	 */
	const struct etw_schema_origins *origins;
	const struct etw_source_clock *clock; /* clock of the recording that gets the records */
	uint8_t pointer_size;                 /* pointer size of records that do not state one */
};

/* Copies the options; what they point to is borrowed. Returns NULL without memory. */
struct event_lines *event_lines_new(const struct event_lines_options *options,
				    struct etw_error *err);
void event_lines_free(struct event_lines *lines);

/*
 * Learns the layout of a TraceLogging event, so that lines about this event get the same layout. An
 * event whose layout is unknown gets one that its values suggest: texts in UTF-16, integers of 64
 * bits, bool, double, and lists and structures of these. Returns false without memory.
 */
bool event_lines_learn(struct event_lines *lines, const struct etw_record *record,
		       struct etw_error *err);

/*
 * Makes the record of a line, which has no line feed. Everything in *record is borrowed until the
 * next call. On failure returns false with an error such as "KEY: expected …", without the number
 * of the line.
 */
bool event_lines_read(struct event_lines *lines, const char *line, size_t size,
		      struct etw_out_record *record, struct etw_error *err);

/*
 * Makes the records of a file of at most 1 GiB and calls each() with them, in the order of the
 * lines; empty lines are skipped. Stops at the first line that is wrong or for which each() returns
 * false; then returns false with the error "PATH:LINE: sentence".
 */
bool event_lines_each(struct event_lines *lines, const char *path,
		      bool (*each)(void *context, const struct etw_out_record *record,
				   struct etw_error *err),
		      void *context, struct etw_error *err);

/* ---- changes ---- */

/*
 * What etwtool relog changes in records (--set), and the records that it adds (--add).
 *
 * Both need the layouts of events, which often come at the end of a recording. So the order of
 * calls is: relog_changes_learn() for each input, relog_changes_ready(), then relog_decide() for
 * each record of the copy, and relog_changes_add() after the last one.
 */

enum { ADDED_FILES_MOST = 16 };

/* The files of --add. Zero-initialise it. */
struct added_files {
	const char *paths[ADDED_FILES_MOST]; /* borrowed */
	size_t count;
};

/* An option_read: adds a file to a struct added_files. */
bool added_files_read(void *files, const char *path, struct etw_error *err);

struct relog_changes; /* opaque; one thread */

/* Everything that it points to is borrowed. */
struct relog_changes_options {
	struct set_fields *set;
	const struct added_files *added;
	const struct etw_configured_manifests *manifests;
	struct etw_file *const *inputs; /* the first one's clock gives added records their times */
	size_t input_count;
};

struct relog_changes *relog_changes_new(const struct relog_changes_options *options,
					struct etw_error *err);
void relog_changes_free(struct relog_changes *changes);

/*
 * Reads an input once and learns layouts and names. Returns false if reading fails.
 *
 * @on_buffer: called after each buffer with the bytes that are read so far; may be NULL.
 */
bool relog_changes_learn(struct relog_changes *changes, struct etw_file *input,
			 void (*on_buffer)(void *context, uint64_t bytes_read), void *context,
			 struct etw_error *err);

/*
 * Call it after the last input: makes the records of the files. Returns false with the error
 * "PATH:LINE: sentence" when a line is wrong.
 */
bool relog_changes_ready(struct relog_changes *changes, struct etw_error *err);

/* Adds the records of the files in time order, and returns their number. */
size_t relog_changes_add(struct relog_changes *changes, struct etw_writer *writer);

/* ---- what stays ---- */

struct relog_request {
	struct tool_arguments arguments; /* must be the first member */
	struct event_filter filter;
	const char *output;
	bool compress;
	uint8_t threads; /* threads that compress; 0: one for each processor */
	bool plain;
	bool drop_stacks;
	struct split_by split;
	bool exact; /* keep nothing that the filter leaves out */
	struct set_fields set;
	struct added_files added;
	bool anonymise;
	bool keep_undescribed;
	const char *key_file; /* NULL: a random key */
};

/*
 * The state of the decisions about each record of the inputs, in file order. Zero-initialise it,
 * then set what is requested.
 */
struct relog_decision {
	bool choosing; /* a filter has filled `chosen` */
	/* Only chosen records stay, and with `describe` those that describe others. */
	bool filtered;
	bool describe;
	bool drop_stacks;
	/*
	 * There are several inputs: equal describing records are kept once, not once for each
	 * input.
	 */
	bool merging;
	/* Changes of the chosen records, or of all; borrowed; NULL: none. */
	struct relog_changes *changes;

	/* For all inputs, one after the other. Owned, as are the members below. */
	struct chosen chosen;
	uint64_t before; /* number of records in earlier inputs */
	uint64_t seen;   /* number of records seen in the present input */
	struct describing describing;
	struct repeats repeats;   /* finds repeated describing records, when merging */
	struct repeats stacks;    /* finds repeated StackWalk records, when merging */
	uint64_t changed;         /* number of records that assignments changed */
	struct etw_error failure; /* cause of the last ETW_MIRROR_STOP */
	uint8_t record[UINT16_MAX + 1];
};

bool relog_decision_needed(const struct relog_decision *decision);

/*
 * An etw_mirror_decide(). It stops the copy when a value does not fit; `failure` then says which.
 */
enum etw_mirror_action relog_decide(void *decision, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes);

/* Call it after each input. */
void relog_next_input(struct relog_decision *decision);

void relog_decision_done(struct relog_decision *decision);

/* ---- inputs ---- */

/*
 * The recordings that etwtool relog reads: it finds them by the words of the command line, opens
 * them, and compares them with each other and with the output.
 */

/* Zero-initialise it. */
struct relog_inputs {
	/*
	 * For each word the files of a set, or those that a pattern matches; empty for a single
	 * file.
	 */
	struct etw_file_set sets[TOOL_WORDS_MOST];
	const char *paths[ETW_FILE_SET_MAX]; /* paths of all inputs; borrowed from words and sets */
	size_t path_count;
	/* These are set while the files are open. */
	struct etw_file *files[ETW_FILE_SET_MAX];      /* owned */
	struct os_file_stamp stamps[ETW_FILE_SET_MAX]; /* identities of the files */
	size_t count;
	uint64_t size_bytes; /* size of all files together */
};

/* Finds the paths. Warns about numbers that are missing in a set. */
bool relog_inputs_find(struct relog_inputs *inputs, const struct tool_arguments *arguments,
		       struct etw_error *err);

/*
 * Opens all files. Fails if they cannot become one recording (etw_mirror_fits()), if two are the
 * same file, or if one is the output.
 */
bool relog_inputs_open(struct relog_inputs *inputs, uint8_t pointer_size, const char *output,
		       struct etw_error *err);

/*
 * Returns whether a file with this name may be written; false if it is one of the inputs. It may be
 * called after relog_inputs_close() as well.
 */
bool relog_inputs_spare(const struct relog_inputs *inputs, const char *path, struct etw_error *err);

/* Returns when the first input started, in 100 ns since 1601 UTC. The files must be open. */
int64_t relog_inputs_start(const struct relog_inputs *inputs);

/* Closes the files; the paths stay. */
void relog_inputs_close(struct relog_inputs *inputs);
void relog_inputs_done(struct relog_inputs *inputs);

#endif
