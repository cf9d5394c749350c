/* SPDX-License-Identifier: MIT */
/*
 * What etwtool top shows: a frame of lines for a terminal, or a plain table. Pure layout: from two
 * pages and the state of the view to text.
 */
#ifndef ETWTOOL_TOP_TOP_VIEW_H
#define ETWTOOL_TOP_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "etwtool/top/top_page.h"

/* Two pages, and the time between them. */
struct top_frame {
	struct top_page now, before; /* owned; before is empty for the first one */
	bool has_before;
	double seconds; /* between them, by the source's clock; 0: not known, so there are no rates
			 */
	int64_t time;   /* of now, 100 ns since 1601 UTC, or ETW_RECORD_NO_TIME */
	bool replay, ended;
};

enum { TOP_FILTER_MOST = 64 };

struct top_view {
	/* ---- what the user chooses ---- */
	enum top_column sort;
	bool totals; /* since the start, in place of what a second brought */
	bool exact;  /* whole numbers in place of 12.3M */
	bool paused, help;
	bool typing;                  /* the filter */
	char filter[TOP_FILTER_MOST]; /* processes that contain it, in any case of letters */
	size_t scroll;                /* processes above the first one shown */
	double speed;                 /* of a replay */
	/* ---- what is shown besides ---- */
	const char *name; /* of the recording, or a URL; borrowed */
	const char *note; /* a sentence for the last line; NULL: none */
	double progress;  /* of a replay without a page yet, from 0 to 1 */
	/* ---- how ---- */
	unsigned columns, rows; /* of the terminal; 0: unlimited, for plain tables */
	bool terminal;          /* with control sequences: TERMINAL_… of etwtool/top/terminal.h */
	bool colours;
};

/* Adds one frame. frame NULL: there is no page yet. */
void top_view_add(const struct top_view *view, const struct top_frame *frame, struct etw_text *out);

/* How many processes the frame shows when there is room, with the view's filter. */
size_t top_view_count(const struct top_view *view, const struct top_frame *frame);

/* ---- parts, for tests ---- */

/* Adds a value as a column has it: "0", "999", "12.3k", "1.50M"; at most six characters unless
 * exact. */
void top_add_value(struct etw_text *out, double value, enum top_unit unit, bool rate, bool exact);

/* Adds three digits and a unit of a value from 999.5 on: "1.23k", "12.3M", "123G". */
void top_add_scaled(struct etw_text *out, double value);

/* Adds text for people, cut so that it takes at most `columns` of a terminal; what steers it
 * becomes an escape. Returns the columns. */
unsigned top_add_cut(struct etw_text *out, const char *string, unsigned columns);

#endif
