/* SPDX-License-Identifier: MIT */
/*
 * Files of one recording: a session in the mode EVENT_TRACE_FILE_MODE_NEWFILE begins another file
 * when one is full, and numbers them ("Logging Mode Constants", Microsoft Learn); so does etwtool
 * relog --split.
 */
#ifndef LIB_ETL_FILE_SET_H
#define LIB_ETL_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum { ETW_FILE_SET_MAX = 900 /* files; all of them are open at once */ };

struct etw_file_set {
	struct etw_numbered {
		char *path; /* owned */
		uint64_t number;
	} * files; /* owned; by number */
	size_t count;
};

/*
 * Finds the files of a set: the path has one * in its last component, which stands for a number.
 * None if the path has no such *, or a file has that very name. False when there are too many, two
 * with the same number, or no memory.
 */
bool etw_file_set_find(struct etw_file_set *set, const char *path, struct etw_error *err);

/*
 * Finds the files that a shell would put in the place of a path with * or ? in its last component,
 * by name: those of Windows, cmd and PowerShell, do not. They are recordings of their own, with the
 * number 0. None if the path has neither, or a file has that very name, or it names a file in an
 * archive. False when no file matches, there are too many, or no memory.
 */
bool etw_file_set_match(struct etw_file_set *set, const char *path, struct etw_error *err);
void etw_file_set_done(struct etw_file_set *set);

/* Adds a sentence about numbers that are not there; nothing if all are. */
void etw_file_set_add_gaps(const struct etw_file_set *set, struct etw_text *out);

#endif
