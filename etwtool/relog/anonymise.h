/* SPDX-License-Identifier: MIT */
/*
 * Takes names out of the records of a recording: of machines, users, programs, files, addresses and
 * accounts, command lines, and every other text. etwtool/relog/pseudonyms.h says what they become.
 *
 * Numbers, times and the layouts of events (their names, those of fields and of providers) stay, so
 * the recording decodes and counts as before. Bytes behind the last field of a layout are cleared,
 * and payloads that no layout explains are dropped; their records stay.
 */
#ifndef ETWTOOL_RELOG_ANONYMISE_H
#define ETWTOOL_RELOG_ANONYMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/schema.h>

#include "base/error.h"
#include "base/text.h"

/* What a replaced value was, by the type of its field and the name that the field has. */
enum anonymised {
	ANONYMISED_MACHINE,
	ANONYMISED_USER,
	ANONYMISED_PROGRAM,
	ANONYMISED_FILE,
	ANONYMISED_COMMAND_LINE,
	ANONYMISED_ADDRESS,
	ANONYMISED_ACCOUNT, /* SIDs */
	ANONYMISED_TEXT,    /* any other text */
	ANONYMISED_BYTES,   /* identifiers, and binary data, which is cleared */
	ANONYMISED_COUNT,
};

struct anonymise_counts {
	uint64_t values[ANONYMISED_COUNT]; /* replaced */
	uint64_t records;                  /* in which something was replaced */
	uint64_t dropped;                  /* payloads that no schema explains */
	uint64_t kept;                     /* the same, kept as they are */
	uint64_t damaged;                  /* records that were dropped as a whole */
};

struct anonymise_options {
	/* Any bytes: the same pseudonyms each time. They must be hard to guess. NULL: random ones.
	 */
	const void *key;
	size_t key_size;
	bool keep_undescribed; /* payloads that no schema explains stay as they are */
};

struct anonymiser; /* opaque; one thread */

struct anonymiser *anonymiser_new(const struct anonymise_options *options, struct etw_error *err);
void anonymiser_free(struct anonymiser *anonymiser);

enum anonymise_answer {
	ANONYMISE_SAME,     /* nothing to replace: the bytes are right as they are */
	ANONYMISE_REPLACED, /* *bytes and *size are a whole record in its place */
	ANONYMISE_DROPPED,  /* it is damaged: leave it out */
	ANONYMISE_FAILED,   /* no memory; err says so */
};

/*
 * Decides about one record of a recording, in file order. The logfile header is one, too.
 *
 * @schema:  NULL: unknown.
 * @older:   the schema is that of an earlier version of the event.
 * @bytes:   the whole record, header included, of which *record was read; then the new one, the
 *           anonymiser's until the next call.
 */
enum anonymise_answer anonymise_record(struct anonymiser *anonymiser,
				       const struct etw_record *record,
				       const struct etw_schema *schema, bool older,
				       const uint8_t **bytes, size_t *size, struct etw_error *err);

void anonymiser_counts(const struct anonymiser *anonymiser, struct anonymise_counts *counts);

/* Adds the counts as sentences, one a line. */
void anonymise_report(const struct anonymise_counts *counts, struct etw_text *out);

#endif
