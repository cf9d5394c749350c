/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions by PCRE2.
 *
 * Patterns come from collectors and the configuration, text from event payloads, so both are from
 * outside. A pattern is limited in size and cannot match single bytes within a character. A match
 * is limited in steps, depth and memory: one that needs more does not match, and a replacement that
 * needs more reads "_unknown". All consumers share the compiled expression; each has match data of
 * its own.
 *
 * A replacement is checked when rules are read, because PCRE2 reports a bad one only when it is
 * used. Its syntax is tested with an expression that matches anything, and each group that it names
 * must exist in the real expression.
 */
#include "base/regex.h"

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of a match. A match that reaches them has run for about a millisecond, which no useful one
 * does. */
enum {
	MATCH_LIMIT = 100000,
	DEPTH_LIMIT = 1000,
	HEAP_LIMIT_KIB = 256,
	GROUPS_MAX = 32,
	GROUP_NAME_SIZE = 129, /* bytes of a group name with its NUL in PCRE2 10.44 and later;
				  earlier versions allow 32 */
	REPLACED_SIZE_MAX = 4096
};

struct regex {
	pcre2_code *code;
};

struct regex_matcher {
	pcre2_match_context *context;
	pcre2_match_data *data;
};

struct regex *regex_new(const char *pattern, size_t size, struct etw_error *err)
{
	struct regex *regex;
	PCRE2_SIZE offset = 0;
	int code = 0;

	if (size > REGEX_SIZE_MAX) {
		error_set(err, ETW_ERROR_CONFIG,
			  "a regular expression of %zu bytes; %d are allowed", size,
			  REGEX_SIZE_MAX);
		return NULL;
	}
	regex = calloc(1, sizeof *regex);
	if (!regex) {
		error_no_memory(err, "a regular expression");
		return NULL;
	}
	/* A pattern can neither match single bytes (\C) nor switch off UTF or the limits. */
	regex->code = pcre2_compile((PCRE2_SPTR)pattern, size,
				    PCRE2_UTF | PCRE2_CASELESS | PCRE2_NEVER_BACKSLASH_C |
					    PCRE2_DOLLAR_ENDONLY,
				    &code, &offset, NULL);
	if (!regex->code && code == PCRE2_ERROR_HEAP_FAILED) {
		error_no_memory(err, "a regular expression");
		free(regex);
		return NULL;
	}
	if (!regex->code) {
		PCRE2_UCHAR message[160] = { 0 };

		pcre2_get_error_message(code, message, sizeof message);
		error_set(err, ETW_ERROR_CONFIG, "regular expression '%.*s': %s at character %zu",
			  (int)size, pattern, (const char *)message, (size_t)offset + 1);
		free(regex);
		return NULL;
	}
	/* If there is no just-in-time compiler, the interpreter is used. */
	(void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
	return regex;
}

void regex_free(struct regex *regex)
{
	if (regex) {
		pcre2_code_free(regex->code);
		free(regex);
	}
}

/*
 * Reads the group number or name at *at, sets *group to its number and moves *at past it. Anything
 * else gives 0, the whole match; the later test of the whole replacement finds it if it is wrong.
 */
static bool group_number(const struct regex *regex, const char **at, unsigned *group,
			 struct etw_error *err)
{
	size_t digits = strspn(*at, "0123456789");
	size_t size = strspn(*at, "0123456789_abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	char name[GROUP_NAME_SIZE];
	int number;

	*group = 0;
	if (digits > 0) {
		for (size_t i = 0; i < digits && *group < 10000; i++) {
			*group = *group * 10 + (unsigned)((*at)[i] - '0');
		}
		*at += digits;
		return true;
	}
	if (size == 0) {
		return true;
	}
	snprintf(name, sizeof name, "%.*s", (int)size, *at);
	number = size < sizeof name ?
			 pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name) :
			 PCRE2_ERROR_NOSUBSTRING;
	if (number == PCRE2_ERROR_NOSUBSTRING) {
		return error_set(err, ETW_ERROR_CONFIG, "the expression has no group '%.*s'",
				 (int)size, *at);
	}
	/* If several groups share a name, pcre2 gives no single number, and uses the first group
	 * that is set. */
	*group = number > 0 ? (unsigned)number : 0;
	*at += size;
	return true;
}

/* Finds the highest group number that a replacement refers to. */
static bool highest_group(const struct regex *regex, const char *replacement, unsigned *highest,
			  struct etw_error *err)
{
	*highest = 0;
	for (const char *at = strchr(replacement, '$'); at; at = strchr(at, '$')) {
		unsigned group;

		at++;
		if (*at == '$') {
			at++;
			continue;
		}
		at += *at == '{';
		if (!group_number(regex, &at, &group, err)) {
			return error_prefix(err, "replacement '%s'", replacement);
		}
		*highest = group > *highest ? group : *highest;
	}
	return true;
}

bool regex_check_replacement(const struct regex *regex, const char *replacement,
			     struct etw_error *err)
{
	PCRE2_UCHAR out[REPLACED_SIZE_MAX];
	PCRE2_SIZE size = sizeof out;
	uint32_t groups = 0;
	unsigned highest;
	pcre2_code *empty;
	PCRE2_SIZE offset;
	int result;

	pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (!highest_group(regex, replacement, &highest, err)) {
		return false;
	}
	if (highest > groups) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "replacement '%s': the expression has %u groups", replacement,
				 (unsigned)groups);
	}
	/* The match data of a consumer has no room for more; group 0 is the whole match. */
	if (highest >= GROUPS_MAX) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "replacement '%s': groups up to %d are allowed", replacement,
				 GROUPS_MAX - 1);
	}
	/* An expression that matches anything shows whether the replacement can be read at all. */
	empty = pcre2_compile((PCRE2_SPTR) "", 0, PCRE2_UTF, &result, &offset, NULL);
	if (!empty) {
		return error_no_memory(err, "a regular expression");
	}
	result = pcre2_substitute(empty, (PCRE2_SPTR) "", 0, 0,
				  PCRE2_SUBSTITUTE_UNKNOWN_UNSET | PCRE2_SUBSTITUTE_UNSET_EMPTY,
				  NULL, NULL, (PCRE2_SPTR)replacement, strlen(replacement), out,
				  &size);
	pcre2_code_free(empty);
	if (result == PCRE2_ERROR_NOMEMORY && strlen(replacement) < sizeof out) {
		return error_no_memory(err, "a regular expression");
	}
	if (result < 0) {
		return error_set(err, ETW_ERROR_CONFIG, "replacement '%s' cannot be read",
				 replacement);
	}
	return true;
}

struct regex_matcher *regex_matcher_new(struct etw_error *err)
{
	struct regex_matcher *matcher = calloc(1, sizeof *matcher);

	if (matcher) {
		matcher->context = pcre2_match_context_create(NULL);
		matcher->data = pcre2_match_data_create(GROUPS_MAX, NULL);
	}
	if (!matcher || !matcher->context || !matcher->data) {
		regex_matcher_free(matcher);
		error_no_memory(err, "regular expressions");
		return NULL;
	}
	pcre2_set_match_limit(matcher->context, MATCH_LIMIT);
	pcre2_set_depth_limit(matcher->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(matcher->context, HEAP_LIMIT_KIB);
	return matcher;
}

void regex_matcher_free(struct regex_matcher *matcher)
{
	if (matcher) {
		pcre2_match_data_free(matcher->data);
		pcre2_match_context_free(matcher->context);
		free(matcher);
	}
}

bool regex_matches(struct regex_matcher *matcher, const struct regex *regex, const char *text,
		   size_t size)
{
	return pcre2_match(regex->code, (PCRE2_SPTR)text, size, 0, 0, matcher->data,
			   matcher->context) >= 0;
}

void regex_replace(struct regex_matcher *matcher, const struct regex *regex,
		   const char *replacement, const char *text, size_t size, struct etw_text *out)
{
	PCRE2_UCHAR replaced[REPLACED_SIZE_MAX];
	PCRE2_SIZE replaced_size = sizeof replaced;
	int count = pcre2_substitute(regex->code, (PCRE2_SPTR)text, size, 0,
				     PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNKNOWN_UNSET |
					     PCRE2_SUBSTITUTE_UNSET_EMPTY,
				     matcher->data, matcher->context, (PCRE2_SPTR)replacement,
				     strlen(replacement), replaced, &replaced_size);

	if (count > 0) {
		text_add(out, (const char *)replaced, replaced_size);
	} else if (count == 0) {
		text_add(out, text, size);
	} else {
		text_add_string(out, "_unknown");
	}
}

bool regex_expand(struct regex_matcher *matcher, const struct regex *regex, const char *replacement,
		  const char *text, size_t size, struct etw_text *out)
{
	PCRE2_UCHAR expanded[REPLACED_SIZE_MAX];
	PCRE2_SIZE expanded_size = sizeof expanded;

	if (pcre2_substitute(regex->code, (PCRE2_SPTR)text, size, 0,
			     PCRE2_SUBSTITUTE_REPLACEMENT_ONLY | PCRE2_SUBSTITUTE_UNKNOWN_UNSET |
				     PCRE2_SUBSTITUTE_UNSET_EMPTY,
			     matcher->data, matcher->context, (PCRE2_SPTR)replacement,
			     strlen(replacement), expanded, &expanded_size) <= 0) {
		return false;
	}
	text_add(out, (const char *)expanded, expanded_size);
	return true;
}
