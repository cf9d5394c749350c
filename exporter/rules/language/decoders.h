/* SPDX-License-Identifier: MIT */
/*
 * Decoders of labels: a number, bytes or text become text (config/README.md, `decode`).
 */
#ifndef RULES_DECODERS_H
#define RULES_DECODERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "exporter/rules/language/collector.h"

struct etw_field; /* lib/decode/schema.h */

/* What a decoder works on; the first step of a chain gets the value of the event. */
struct decoded {
	const struct decode_step *step; /* the current one and its state; set by decode_chain() */
	struct regex_matcher *matcher;
	bool is_number;
	bool is_signed;
	uint64_t number;
	const char *text; /* UTF-8 */
	size_t size;
	const struct etw_field *field; /* NULL: a derived one */
	const uint8_t *bytes;          /* of binary data, as it is; NULL: there is none */
	size_t byte_count;
};

/* Values that a decoder is for. */
enum decoder_reads {
	READS_NUMBERS, /* text is left as it is */
	READS_TEXT,    /* a number is written in decimal */
	READS_BYTES,   /* binary data, or text that says the same */
	READS_ALL,
};

struct decoder {
	const char *name;
	enum decoder_reads reads;
	void (*decode)(const struct decoded *from, struct etw_text *out);
	bool with_arguments; /* written as a map only */
	/* The texts that it makes of numbers, each once; NULL behind the last. No function: they
	 * are too many to be listed. */
	const char *(*text_at)(size_t index);
};

/* In the order of the table; NULL behind the last. */
const struct decoder *decoder_at(unsigned number);

/* NULL: there is no such decoder. */
const struct decoder *decoder_find(const char *name);

/* Text of a label is cut here, at a character. */
enum { LABEL_TEXT_SIZE_MAX = 1024 };

/*
 * Runs the steps; *out is emptied first. Without steps a number is written in decimal, text as it
 * is. scratch: room for the text between two steps; both keep their memory.
 */
void decode_chain(const struct decode_step *steps, size_t count, struct regex_matcher *matcher,
		  const struct decoded *from, struct etw_text *scratch, struct etw_text *out);

#endif
