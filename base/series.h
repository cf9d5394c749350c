/* SPDX-License-Identifier: MIT */
/*
 * Selects series of a metrics page as PromQL does:
 *
 *     etw_file_written_bytes_total{process="sqlservr",volume!="C:",provider=~"Microsoft-.*"}
 *
 * A selector is the name of a series and matchers of its labels with = != =~ !~. A missing label
 * counts as empty, and a regular expression must match the whole value.
 */
#ifndef BASE_SERIES_H
#define BASE_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct series_selector; /* opaque; one thread at a time */

/* Reads a selector and the blanks after it, and moves *at past them. Returns NULL on failure; the
 * sentence says what was expected, and where. err may be NULL; otherwise zero-initialise it. */
struct series_selector *series_selector_read(const char **at, struct etw_error *err);
/* Reads a selector from a text that contains nothing else. */
struct series_selector *series_selector_of(const char *text, struct etw_error *err);
void series_selector_free(struct series_selector *selector); /* NULL is allowed */

const char *series_selector_name(const struct series_selector *selector);
/* Returns the label of the matcher with this index; NULL after the last. */
const char *series_selector_label(const struct series_selector *selector, size_t index);

/* Returns whether the selector matches a series of its name with these labels. labels: as on a
 * page, without braces. */
bool series_selector_matches(const struct series_selector *selector, const char *labels);

/* As series_selector_matches(), for a series whose label values a function returns; it returns ""
 * for a missing label. */
typedef const char *series_label_value(const void *series, const char *label);
bool series_selector_accepts(const struct series_selector *selector, series_label_value *value_of,
			     const void *series);

/* ---- labels of a page ---- */

/*
 * Reads the next label of a series. *at starts at the labels and moves past each label. The
 * contents of name and value are replaced; the value is without escapes. Returns false after the
 * last label.
 */
bool series_next_label(const char **at, struct etw_text *name, struct etw_text *value);

/* Sets *value to the value of a label; "" if it is missing. Returns false when memory runs out. */
bool series_find_label(const char *labels, const char *name, struct etw_text *value);

/* ---- for readers of texts with selectors in them ---- */

/* Skips blanks. If the token follows, moves past it and returns true. */
bool series_take(const char **at, const char *token);
/* Returns false and sets the error "expected WHAT before …", unless err already reports that memory
 * ran out. */
bool series_expected(struct etw_error *err, const char *what, const char *at);

#endif
