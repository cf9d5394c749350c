/* SPDX-License-Identifier: MIT */
/*
 * The program around one exposition, set up as main.c does it, for tests that inspect the whole
 * from inside.
 *
 * Only the thread of the test may use it. A failure fails the test.
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

/* Returns a configuration from YAML; text NULL: the built-in one. */
struct config *config_of(const char *text);

/* Sets up and opens the recordings with the default collectors and no manifests; speed 0. */
void program_open(struct program *program, const char *const *paths, size_t count, bool loop);

/* Do the same in two steps. The first makes the set-up, with the options of setup_open(). */
void program_set_up(struct program *program, const char *config,
		    const struct setup_options *options);
/* The second starts the run; the set-up of the program is added to the options. */
void program_run(struct program *program, struct runner_options options);

/* Frees a program that no longer runs. */
void program_close(struct program *program);

/* Replays a recording, removes its file, and returns the exposition, which the caller frees with
 * text_free(). options: all but the path. */
struct etw_text program_replay(const char *path, const char *config,
			       const struct setup_options *setup, struct runner_options options);

/* Returns the exposition, which the caller frees with text_free(). */
struct etw_text program_page(struct program *program);

/* A line of the exposition without its line feed. Zero-initialise it before the first line. */
struct page_line {
	const char *text;
	size_t size;
};

bool page_next_line(const struct etw_text *page, struct page_line *line);
/* Returns the integer part of the value at the end of a line. */
uint64_t page_line_value(const struct page_line *line);

/* Returns the value of the line that begins with name_and_labels, or, for a name without labels,
 * the sum of the family; UINT64_MAX if there is none. */
uint64_t page_value(const struct etw_text *page, const char *name_and_labels);

#endif
