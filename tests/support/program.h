/* SPDX-License-Identifier: MIT */
/*
 * The program around one exposition, set up as main.c does it, for tests that look at the whole
 * from inside.
 *
 * For the thread of the test; a failure ends it.
 */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "exporter/health.h"
#include "exporter/runner.h"
#include "exporter/setup.h"

struct program {
	struct setup setup;
	struct runner *runner;
	struct health *health;
};

/* A configuration from YAML; NULL: the built-in one. */
struct config *config_of(const char *text);

/* Sets up and opens the recordings with the default collectors and no manifests; speed 0. */
void program_open(struct program *program, const char *const *paths, size_t count, bool loop);

/* The same in two steps: the set-up, with the options of setup_open(), … */
void program_set_up(struct program *program, const char *config,
		    const struct setup_options *options);
/* … and what is run; the options get the set-up of the program. */
void program_run(struct program *program, struct runner_options options);

/* What does not run any more. */
void program_close(struct program *program);

/* The exposition of one recording when it has been replayed, to be freed with text_free(). The
 * recording is removed. options: except for the path. */
struct etw_text program_replay(const char *path, const char *config,
			       const struct setup_options *setup, struct runner_options options);

/* The exposition, to be freed with text_free(). */
struct etw_text program_page(struct program *program);

/* A line of the exposition, without its end. Zero-initialised before the first one. */
struct page_line {
	const char *text;
	size_t size;
};

bool page_next_line(const struct etw_text *page, struct page_line *line);
/* The whole part of the value at the end of a line. */
uint64_t page_line_value(const struct page_line *line);

/* The value of a line that begins with name_and_labels, or the sum of a family given by its bare
 * name; UINT64_MAX when there is none. */
uint64_t page_value(const struct etw_text *page, const char *name_and_labels);

#endif
