/* SPDX-License-Identifier: MIT */
/*
 * The recordings that etwtool relog reads: found by the words of the command line, opened, and
 * compared with each other and with the output.
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
	/* Of each word: the files of a set, or those that a pattern matches; none for a single one.
	 */
	struct etw_file_set sets[TOOL_WORDS_MOST];
	const char *paths[ETW_FILE_SET_MAX]; /* of all inputs; borrowed from words and sets */
	size_t path_count;
	/* While they are open. */
	struct etw_file *files[ETW_FILE_SET_MAX];      /* owned */
	struct os_file_stamp stamps[ETW_FILE_SET_MAX]; /* of the files */
	size_t count;
	uint64_t size_bytes; /* of all */
};

/* Finds the paths. Warns of numbers that a set does not have. */
bool relog_inputs_find(struct relog_inputs *inputs, const struct tool_arguments *arguments,
		       struct etw_error *err);

/*
 * Opens them all. Fails if they cannot become one recording (etw_mirror_fits()), if two are the
 * same file, or if one is the output.
 */
bool relog_inputs_open(struct relog_inputs *inputs, uint8_t pointer_size, const char *output,
		       struct etw_error *err);

/* Whether a file of this name may be written: false if it is one of them. Also after
 * relog_inputs_close(). */
bool relog_inputs_spare(const struct relog_inputs *inputs, const char *path, struct etw_error *err);

/* When the first of them started; 100 ns since 1601 UTC. They are open. */
int64_t relog_inputs_start(const struct relog_inputs *inputs);

/* Closes the files; the paths stay. */
void relog_inputs_close(struct relog_inputs *inputs);
void relog_inputs_done(struct relog_inputs *inputs);

#endif
