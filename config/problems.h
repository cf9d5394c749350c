/* SPDX-License-Identifier: MIT */
/*
 * The problems of a configuration's files: every mistake with its place, so that one run shows all
 * of them. Errors make the configuration invalid; warnings do not.
 */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* How many problems are kept, and how many problems_show() shows; all of them are counted. */
enum { PROBLEMS_KEPT = 1000, PROBLEMS_SHOWN = 20 };

struct problem {
	char *sentence; /* owned; "name:line:column: sentence", with "warning: " before the sentence
			   of a warning */
	unsigned file;  /* number from problems_new_file() */
	uint32_t line, column;
	bool warning;
};

/* Zero-initialise it. One thread at a time. */
struct problems {
	struct problem *list; /* owned; sorted by file, line and column */
	size_t count, capacity;
	size_t beyond; /* number of problems that are not kept */
	size_t errors; /* number of all errors, including those not kept */
	unsigned files;
};

/* Returns a number for a file that is about to be read. Problems are sorted by these numbers. */
unsigned problems_new_file(struct problems *problems);

/* Adds a problem. place: all members except the sentence, which is copied. The same sentence
 * about the same place is added only once, because labels of a metric are read for each of its
 * events. */
void problems_add(struct problems *problems, const struct problem *place, const char *sentence);

/* Adds a problem after those so far: one of a file as a whole, of a place that the sentence
 * names, or of the command line. */
void problems_add_file(struct problems *problems, const char *sentence, bool warning);

/* Sets err (ETW_ERROR_CONFIG) to the first error of the list, or leaves it unchanged if there is
 * none. Returns false. err may be NULL. */
bool problems_first_error(const struct problems *problems, struct etw_error *err);

/* Calls show with each of the first PROBLEMS_SHOWN problems, then with "and N more" if there are
 * more. */
void problems_show(const struct problems *problems,
		   void (*show)(void *context, const char *sentence, bool warning), void *context);

void problems_done(struct problems *problems);

#endif
