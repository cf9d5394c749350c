/* SPDX-License-Identifier: MIT */
/*
 * Decoders of labels: a number or text becomes text (docs/rules.md, `decode`).
 */
#ifndef RULES_DECODERS_H
#define RULES_DECODERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "rules/collector.h"

struct field; /* decode/schema.h */

/* What the first step of a chain starts from. */
struct decoded {
	bool is_number;
	bool is_signed;
	uint64_t number;
	const char *text; /* UTF-8 */
	size_t size;
	const struct field *field; /* NULL: a derived one */
	const uint8_t *bytes;      /* of binary data, as it is; NULL: there is none */
	size_t byte_count;
};

/* Text of a label is cut here, at a character. */
enum { LABEL_TEXT_SIZE_MAX = 1024 };

/*
 * Runs the steps; *out is emptied first. A decoder for text gets a number in decimal, one for
 * numbers leaves text as it is. scratch: room for what stands between two steps; both keep their
 * memory.
 */
void decode_chain(const struct decode_step *steps, size_t count, struct regex_matcher *matcher,
		  const struct decoded *from, struct text *scratch, struct text *out);

/* Cuts text to most bytes, not within a character. */
void text_cut(struct text *text, size_t most);

#endif
