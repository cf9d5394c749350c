/* SPDX-License-Identifier: MIT */
/*
 * What etwtool relog changes in records (--set), and the records that it adds (--add).
 *
 * Both need the layouts of events, which often come at the end of a recording. So the order of
 * calls is: relog_changes_learn() for each input, relog_changes_ready(), then relog_changes_apply()
 * for each record of the copy, and relog_changes_add() after the last one.
 */
#ifndef ETWTOOL_RELOG_RELOG_CHANGES_H
#define ETWTOOL_RELOG_RELOG_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/record.h>
#include <etw/recording.h>

#include "base/error.h"
#include "etwtool/relog/set_fields.h"

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

#endif
