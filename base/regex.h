/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions: PCRE2, unanchored, without case, over UTF-8. The only file that knows PCRE2
 * is regex.c.
 *
 * An expression is compiled once, when the rules are read, and shared by all consumers; what a
 * match needs to work with belongs to one consumer. Matching is bounded: an expression that would
 * try forever on some text does not match it.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct regex;         /* opaque; immutable */
struct regex_matcher; /* opaque; one consumer's */

enum { REGEX_SIZE_MAX = 1024 };

/* The sentence of err has no place in front. */
struct regex *regex_new(const char *pattern, size_t size, struct etw_error *err);
void regex_free(struct regex *regex);

/* Whether the replacement makes sense: `$1`, `${1}`, `${name}`, `$$`. */
bool regex_check_replacement(const struct regex *regex, const char *replacement,
			     struct etw_error *err);

struct regex_matcher *regex_matcher_new(struct etw_error *err);
void regex_matcher_free(struct regex_matcher *matcher);

bool regex_matches(struct regex_matcher *matcher, const struct regex *regex, const char *text,
		   size_t size);

/* Adds text to out with every match replaced; the text as it is when nothing matches, "_unknown"
 * when matching takes too long or the result is over 4 KiB. */
void regex_replace(struct regex_matcher *matcher, const struct regex *regex,
		   const char *replacement, const char *text, size_t size, struct etw_text *out);

#endif
