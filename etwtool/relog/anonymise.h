/* SPDX-License-Identifier: MIT */
/*
 * Replaces names in the records of a recording: of machines, users, programs, files, addresses and
 * accounts, command lines, and every other text. The section on pseudonyms describes the
 * replacements.
 *
 * Numbers, times and the layouts of events (their names, and those of fields and providers) stay,
 * so the recording decodes and counts as before. Bytes after the last field of a layout are
 * cleared. The payload of a record without a schema is dropped, but the record stays.
 */
#ifndef ETWTOOL_RELOG_ANONYMISE_H
#define ETWTOOL_RELOG_ANONYMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/describe.h>
#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/record.h>
#include <etw/recording.h>
#include <etw/schema.h>

#include "base/error.h"
#include "base/text.h"

/* ---- pseudonyms (pseudonyms.c) ---- */

/*
 * Replaces names by pseudonyms that say nothing about them but keep their structure.
 *
 * Under one key the same name always becomes the same pseudonym; the case of letters makes no
 * difference. A name is split into words at every ASCII character that is neither a letter nor a
 * digit. Each word gets a pseudonym, and the characters between words stay. So a path keeps its
 * depth, a file its extension, and "C:\Users\ann\x.txt" becomes the same in a command line and as a
 * path.
 *
 * These stay unchanged: the words of well_known_names.txt, words of one character, numbers of at
 * most two digits, and addresses and SIDs that mean the same on every machine. Longer numbers
 * become others of the same length; so do several short numbers in a row, such as telephone
 * numbers. Network addresses keep common prefixes, and private ones stay private.
 */

/* ---- the hash ---- */

/*
 * A hash whose results say nothing about its input to those who do not have the key: SipHash-2-4.
 *
 * Source: "SipHash: a fast short-input PRF", J.-P. Aumasson and D. J. Bernstein, INDOCRYPT 2012.
 */

struct hash_key {
	uint64_t words[2]; /* the bytes of the key, little-endian */
};

uint64_t keyed_hash(const struct hash_key *key, const void *bytes, size_t size);

/* ---- pseudonyms ---- */

struct pseudonyms; /* opaque; one thread */

/*
 * Makes pseudonyms from a key of any bytes, which is copied; the same key gives the same
 * pseudonyms. NULL: a random key.
 */
struct pseudonyms *pseudonyms_new(const void *key, size_t size, struct etw_error *err);
void pseudonyms_free(struct pseudonyms *pseudonyms);

/* Adds the replacement of a text; both are UTF-8. Returns whether it differs from the text. */
bool pseudonyms_text(const struct pseudonyms *pseudonyms, const char *text, size_t size,
		     struct etw_text *out);

/*
 * Change an address in network byte order, or a whole SID, in place. They return whether it
 * changed.
 */
bool pseudonyms_ip4(const struct pseudonyms *pseudonyms, uint8_t address[4]);
bool pseudonyms_ip6(const struct pseudonyms *pseudonyms, uint8_t address[16]);
bool pseudonyms_sid(const struct pseudonyms *pseudonyms, uint8_t *sid, size_t size);

/*
 * Changes the bytes of an identifier in place: a GUID, a hardware address. An identifier of zeros
 * stays. Returns whether it changed.
 */
bool pseudonyms_bytes(const struct pseudonyms *pseudonyms, uint8_t *bytes, size_t size);

/* ---- records ---- */

/* What a replaced value was, according to the type and the name of its field. */
enum anonymised {
	ANONYMISED_MACHINE,
	ANONYMISED_USER,
	ANONYMISED_PROGRAM,
	ANONYMISED_FILE,
	ANONYMISED_COMMAND_LINE,
	ANONYMISED_ADDRESS,
	ANONYMISED_ACCOUNT, /* SIDs */
	ANONYMISED_TEXT,    /* any other text */
	ANONYMISED_BYTES,   /* identifiers; binary data, which is cleared */
	ANONYMISED_COUNT,
};

struct anonymise_counts {
	uint64_t values[ANONYMISED_COUNT]; /* values that were replaced */
	uint64_t records;                  /* records with a replaced value */
	uint64_t dropped;                  /* payloads without a schema that were dropped */
	uint64_t kept;                     /* payloads without a schema that were kept */
	uint64_t damaged;                  /* damaged records, which were dropped */
};

struct anonymise_options {
	/*
	 * The key; may be any bytes. The same key gives the same pseudonyms, so it must be hard to
	 * guess. NULL: a random key.
	 */
	const void *key;
	size_t key_size;
	bool keep_undescribed; /* keep payloads without a schema as they are */
};

struct anonymiser; /* opaque; one thread */

struct anonymiser *anonymiser_new(const struct anonymise_options *options, struct etw_error *err);
void anonymiser_free(struct anonymiser *anonymiser);

enum anonymise_answer {
	ANONYMISE_SAME,     /* nothing to replace; the bytes stay valid */
	ANONYMISE_REPLACED, /* *bytes and *size are the new record */
	ANONYMISE_DROPPED,  /* the record is damaged: leave it out */
	ANONYMISE_FAILED,   /* memory ran out; err is set */
};

/*
 * Decides about one record of a recording. Call it in file order, for the logfile header as well.
 *
 * @schema:  NULL if unknown.
 * @older:   the schema is that of an earlier version of the event.
 * @bytes:   in: the whole record that *record was read from, header included. Out: the new one,
 *           which the anonymiser owns and which is valid until the next call.
 */
enum anonymise_answer anonymise_record(struct anonymiser *anonymiser,
				       const struct etw_record *record,
				       const struct etw_schema *schema, bool older,
				       const uint8_t **bytes, size_t *size, struct etw_error *err);

void anonymiser_counts(const struct anonymiser *anonymiser, struct anonymise_counts *counts);

/* Adds the counts as sentences, one on each line. */
void anonymise_report(const struct anonymise_counts *counts, struct etw_text *out);

/* ---- a whole recording ---- */

/*
 * Writes a recording again without the names in it.
 */

struct anonymise_request {
	struct anonymise_options options;
	/* Layouts in addition to those of the recording and of the kernel; borrowed. */
	const struct etw_configured_manifests *manifests;
	const char *output;
	/* Gets the result, opened with this pointer size, if that is a temporary file beside the
	 * output; NULL: it is the output. */
	struct etw_file **file;
	uint8_t pointer_size;
	struct etw_mirror_form form;
	void *context;
	/* Called after each buffer, in both passes over the input; may be NULL. */
	void (*on_buffer)(void *context, uint64_t bytes_read);
};

struct anonymise_result {
	struct anonymise_counts replaced;
	struct etw_mirror_counts written;
	struct etw_damage damage; /* damage of the input */
};

/*
 * Writes the output. Every buffer is built anew, from whole records. Returns false if the input
 * cannot be read or the output cannot be written; then there is no output file. The error contains
 * the path of the output if writing failed.
 */
bool anonymise_recording(struct etw_file *input, const struct anonymise_request *request,
			 struct anonymise_result *result, struct etw_error *err);

#endif
