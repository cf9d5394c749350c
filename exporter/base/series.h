/* SPDX-License-Identifier: MIT */
/*
 * Chooses series of a metrics page, as Prometheus writes them:
 * etw_file_written_bytes_total{process="sqlservr",volume!="C:"}.
 */
#ifndef BASE_SERIES_H
#define BASE_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

enum { SERIES_LABELS_MAX = 16 };

struct series_label {
	char *name;   /* owned, as value */
	char *value;  /* with its escapes resolved */
	bool differs; /* != */
};

/* Zero-initialise it. */
struct series_choice {
	char *family; /* owned */
	struct series_label labels[SERIES_LABELS_MAX];
	size_t label_count;
};

/* The sentence of err says what is wrong with the text. */
bool series_choice_parse(struct series_choice *choice, const char *text, struct error *err);
void series_choice_done(struct series_choice *choice);

/*
 * Whether a line of a page in text format 0.0.4 is a sample with this name whose labels are chosen;
 * a label that it does not have counts as empty. Then *value is its value. name: the family's, or
 * that of its samples (`…_count` of a histogram).
 */
bool series_choice_matches(const struct series_choice *choice, const char *name, const char *line,
			   size_t size, double *value);

#endif
