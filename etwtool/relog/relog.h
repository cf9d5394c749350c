/* SPDX-License-Identifier: MIT */
/* What etwtool relog reads, keeps and changes. */
#ifndef ETWTOOL_RELOG_RELOG_H
#define ETWTOOL_RELOG_RELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/record.h>
#include <etw/recording.h>

#include "base/array.h"
#include "base/error.h"
#include "base/os.h"
#include "etwtool/event_filter.h"
#include "etwtool/relog/set_fields.h"
#include "etwtool/relog/split.h"
#include "etwtool/tool.h"
#include "exporter/track/describing.h"
#include "exporter/track/repeats.h"

/* ---- changes ---- */

/*
 * What etwtool relog changes in records (--set), and the records that it adds (--add).
 *
 * Both need the layouts of events, which often come at the end of a recording. So the order of
 * calls is: relog_changes_learn() for each input, relog_changes_ready(), then relog_changes_apply()
 * for each record of the copy, and relog_changes_add() after the last one.
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

/*
 * Applies the assignments to a record. *bytes is the whole record, and then the one that replaces
 * it, which is valid until the next call.
 */
enum set_answer relog_changes_apply(struct relog_changes *changes, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes, struct etw_error *err);

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
