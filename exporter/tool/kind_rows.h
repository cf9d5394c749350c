/* SPDX-License-Identifier: MIT */
/*
 * The kinds of events in a recording as people tell them apart: by provider and event, whatever
 * version and pointer size.
 */
#ifndef TOOL_KIND_ROWS_H
#define TOOL_KIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "decode/kinds.h"

struct kind_row {
	char *provider; /* label value; owned */
	char *event;    /* as rules take it behind the provider; owned */
	struct guid guid;
	uint16_t number; /* id; of classic events the opcode */
	bool classic;
	uint8_t class; /* enum kernel_class */
	uint64_t records;
	uint64_t versions[4]; /* bit v % 64 of word v / 64: version v */
	const struct schema
		*schema; /* the one with most fields; NULL: none; as long as the kinds */
};

enum { KIND_ROWS_MOST = 1 << 16 };

/* Zero-initialise it. */
struct kind_rows {
	struct kind_row *rows; /* owned */
	size_t count, capacity;
	struct map by_key;  /* hash of what tells rows apart -> index + 1 */
	struct map by_kind; /* struct event_kind * -> index + 1; 0: no room */
	uint64_t refused;   /* records of kinds for which there was none */
};

void kind_rows_kind(struct kind_rows *rows, const struct event_kind *kind);
/* The row that counted the record; NULL: there is no room for its kind. */
struct kind_row *kind_rows_count(struct kind_rows *rows, const struct event_kind *kind);

/* Providers with most records first, then their events likewise. Nothing can be counted afterwards.
 */
void kind_rows_sort(struct kind_rows *rows);
void kind_rows_done(struct kind_rows *rows);

/* "event: " of a rule for such events: the kernel's own names, others' behind their provider. */
void kind_row_name(const struct kind_row *row, struct text *out);

/* "1, 2" */
void kind_row_versions(const struct kind_row *row, struct text *out);

/* As `decoded_by` in dumps; NULL: no layout is known. */
const char *kind_row_origin(const struct kind_row *row);

#endif
