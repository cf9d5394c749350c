/* SPDX-License-Identifier: MIT */
/*
 * Decoders of labels, which convert a number, bytes or text to text (config/README.md, `decode`).
 */
#ifndef RULES_DECODERS_H
#define RULES_DECODERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "exporter/rules/language/collector.h"

struct etw_field; /* lib/decode/schema.h */

/* The input of a decoder; the first step of a chain gets the value of the event. */
struct decoded {
	const struct decode_step
		*step; /* the current step and its arguments; set by decode_chain() */
	struct regex_matcher *matcher;
	bool is_number;
	bool is_signed;
	uint64_t number;
	const char *text; /* UTF-8 */
	size_t size;
	const struct etw_field *field; /* field of the payload; NULL: a derived field */
	const uint8_t *bytes;          /* binary data as recorded; NULL: the value is not binary */
	size_t byte_count;
};

/* The values that a decoder reads. */
enum decoder_reads {
	READS_NUMBERS, /* leaves text as it is */
	READS_TEXT,    /* reads a number as decimal text */
	READS_BYTES,   /* binary data, or text of the same meaning */
	READS_ALL,
};

struct decoder {
	const char *name;
	enum decoder_reads reads;
	void (*decode)(const struct decoded *from, struct etw_text *out);
	bool with_arguments; /* it needs arguments, so it is written as a map */
	/* Returns the texts that it can make of numbers, each once; NULL after the last. The
	 * member is NULL if these texts cannot be listed. */
	const char *(*text_at)(size_t index);
	/* Numbers for which it returns the same become the same text, so that a cache needs one
	 * place for them. NULL: it is the number itself. */
	uint64_t (*same)(const struct decoded *from);
};

/* Returns the decoder with this index, in table order; NULL after the last. */
const struct decoder *decoder_at(unsigned number);

/* Returns the decoder with this name; NULL if there is none. */
const struct decoder *decoder_find(const char *name);

/* Text of a label is cut at this many bytes, between two characters. */
enum { LABEL_TEXT_SIZE_MAX = 1024 };

/*
 * Runs the steps and writes the text to *out, which is emptied first. Without steps a number is
 * written in decimal, and text as it is. scratch: a buffer for the text between two steps. The
 * caller owns both buffers and may reuse them.
 */
void decode_chain(const struct decode_step *steps, size_t count, struct regex_matcher *matcher,
		  const struct decoded *from, struct etw_text *scratch, struct etw_text *out);

#endif
