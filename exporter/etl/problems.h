/* SPDX-License-Identifier: MIT */
/*
 * What is wrong inside a recording, as sentences for people; the statistics have the counts.
 *
 * Bounded: past ETL_PROBLEMS_MAX a sentence is only counted, so that a hostile recording cannot
 * fill memory with complaints.
 */
#ifndef ETL_PROBLEMS_H
#define ETL_PROBLEMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ETL_PROBLEMS_MAX = 100 };

/* Zero-initialise it. */
struct etl_problems {
	char *sentences[ETL_PROBLEMS_MAX]; /* owned */
	size_t count;                      /* of sentences */
	uint64_t dropped;                  /* problems without a sentence here */
};

/* problems may be NULL: nobody wants to know. */
void etl_problem(struct etl_problems *problems, const char *format, ...) PRINTF_LIKE(2, 3);
void etl_problems_done(struct etl_problems *problems);

#endif
