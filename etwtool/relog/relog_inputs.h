/* SPDX-License-Identifier: MIT */
/*
 * The recordings that etwtool relog reads: it finds them by the words of the command line, opens
 * them, and compares them with each other and with the output.
 */
#ifndef ETWTOOL_RELOG_RELOG_INPUTS_H
#define ETWTOOL_RELOG_RELOG_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/error.h"
#include "base/os.h"
#include "etwtool/tool.h"

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
