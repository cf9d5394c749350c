/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions: PCRE2, unanchored, without case, over UTF-8. The only file that knows PCRE2
 * is regex.c.
 *
 * An expression is compiled once, when the rules are read, and all consumers share it; each
 * consumer has a matcher with the memory for matching. The work of a match is limited: beyond the
 * limit the text counts as not matching.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct regex;         /* opaque; immutable */
struct regex_matcher; /* opaque; belongs to one consumer */

enum { REGEX_SIZE_MAX = 1024 };

/* Compiles an expression. The error does not say where the expression is written; the caller adds
 * that. */
struct regex *regex_new(const char *pattern, size_t size, struct etw_error *err);
void regex_free(struct regex *regex);

/* Checks the references in a replacement: `$1`, `${1}`, `${name}`, `$$`. */
bool regex_check_replacement(const struct regex *regex, const char *replacement,
			     struct etw_error *err);

struct regex_matcher *regex_matcher_new(struct etw_error *err);
void regex_matcher_free(struct regex_matcher *matcher);

bool regex_matches(struct regex_matcher *matcher, const struct regex *regex, const char *text,
		   size_t size);

/* Adds text to out with every match replaced. Adds the text unchanged if nothing matches, and
 * "_unknown" if matching takes too long or the result exceeds 4 KiB. */
void regex_replace(struct regex_matcher *matcher, const struct regex *regex,
		   const char *replacement, const char *text, size_t size, struct etw_text *out);

/* Adds the replacement for the first match to out, and nothing of the text around it. Returns
 * false and adds nothing if nothing matches, matching takes too long, or the result exceeds
 * 4 KiB. */
bool regex_expand(struct regex_matcher *matcher, const struct regex *regex, const char *replacement,
		  const char *text, size_t size, struct etw_text *out);

#endif
