/* SPDX-License-Identifier: MIT */
/*
 * Selects series of a metrics page as PromQL does:
 *
 *     etw_file_written_bytes_total{process="sqlservr",volume!="C:",provider=~"Microsoft-.*"}
 *
 * The name of a series, and matchers of its labels with = != =~ !~. A label that a series does not
 * have counts as empty, and a regular expression must match the whole value.
 */
#ifndef BASE_SERIES_H
#define BASE_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct series_selector; /* opaque; one thread at a time */

/* Reads a selector and the blanks behind it; *at is then what follows. NULL with a sentence that
 * says what was expected, and where; err, if it is not NULL, is zero-initialised. */
struct series_selector *series_selector_read(const char **at, struct etw_error *err);
/* The same of a text that holds nothing else. */
struct series_selector *series_selector_of(const char *text, struct etw_error *err);
void series_selector_free(struct series_selector *selector); /* NULL is fine */

const char *series_selector_name(const struct series_selector *selector);
/* Of its matchers the label at an index, NULL behind the last. */
const char *series_selector_label(const struct series_selector *selector, size_t index);

/* Whether it selects a series of its name with these labels, as a page has them, without braces. */
bool series_selector_matches(const struct series_selector *selector, const char *labels);

/* The same of a series whose label values a function returns: "" if there is no such label. */
typedef const char *series_label_value(const void *series, const char *label);
bool series_selector_accepts(const struct series_selector *selector, series_label_value *value_of,
			     const void *series);

/* ---- labels of a page ---- */

/*
 * The next label of a series: *at begins as its labels and moves behind the label. The texts are
 * replaced; the value is without escapes. False behind the last.
 */
bool series_next_label(const char **at, struct etw_text *name, struct etw_text *value);

/* The value of one label, in *value; "" if there is no such label. False without memory. */
bool series_find_label(const char *labels, const char *name, struct etw_text *value);

/* ---- for readers of texts with selectors in them ---- */

/* Skips blanks, and takes the token if it comes then. */
bool series_take(const char **at, const char *token);
/* False, with the sentence "expected WHAT before …", unless err says already that there was no
 * memory.
 */
bool series_expected(struct etw_error *err, const char *what, const char *at);

#endif
