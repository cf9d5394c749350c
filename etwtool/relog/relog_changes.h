/* SPDX-License-Identifier: MIT */
/*
 * What etwtool relog changes in records (--set), and the records that it adds (--add).
 *
 * Both need to know the layouts of events, which often stand at the end of a recording. So the
 * order of calls is: relog_changes_learn() for each input, relog_changes_ready(), then
 * relog_changes_apply() for the records of the copy, and relog_changes_add() behind the last one.
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

/* Adds a file to a struct added_files. An option_read. */
bool added_files_read(void *files, const char *path, struct etw_error *err);

struct relog_changes; /* opaque; one thread */

/* What it points to is borrowed. */
struct relog_changes_options {
	struct set_fields *set;
	const struct added_files *added;
	const struct etw_configured_manifests *manifests;
	struct etw_file *const *inputs; /* records are added by the clock of the first one */
	size_t input_count;
};

struct relog_changes *relog_changes_new(const struct relog_changes_options *options,
					struct etw_error *err);
void relog_changes_free(struct relog_changes *changes);

/*
 * A pass over an input, which learns layouts and names.
 *
 * @on_buffer: called after each buffer with the bytes that are read so far; may be NULL.
 */
bool relog_changes_learn(struct relog_changes *changes, struct etw_file *input,
			 void (*on_buffer)(void *context, uint64_t bytes_read), void *context,
			 struct etw_error *err);

/*
 * After the last input: makes the records of the files. False, with "PATH:LINE: sentence", when a
 * line is wrong.
 */
bool relog_changes_ready(struct relog_changes *changes, struct etw_error *err);

/* Applies the assignments to a record. *bytes: the whole record, or what takes its place, which is
 * valid until the next call. */
enum set_answer relog_changes_apply(struct relog_changes *changes, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes, struct etw_error *err);

/* Adds the records of the files, in time order; returns how many they are. */
size_t relog_changes_add(struct relog_changes *changes, struct etw_writer *writer);

#endif
