/* SPDX-License-Identifier: MIT */
/*
 * Draws what etwtool top shows: a frame of lines for a terminal, or a plain table. It makes text
 * from two pages and the state of the view, without input or output.
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
	struct top_page now, before; /* owned; before is empty in the first frame */
	bool has_before;
	/* Time between the pages by the source's clock; 0: unknown, so there are no rates. */
	double seconds;
	int64_t time; /* time of `now`, 100 ns since 1601 UTC, or ETW_RECORD_NO_TIME */
	bool replay, ended;
};

enum { TOP_FILTER_MOST = 64 };

struct top_view {
	/* ---- what the user chooses ---- */
	enum top_column sort;
	bool totals; /* show totals since the start, not rates */
	bool exact;  /* show whole numbers, not 12.3M */
	bool paused, help;
	bool typing;                  /* the user is typing the filter */
	char filter[TOP_FILTER_MOST]; /* shows processes that contain it, ignoring case */
	size_t scroll;                /* processes above the first shown one */
	double speed;                 /* speed of a replay */
	/* ---- what else is shown ---- */
	const char *name; /* recording or URL; borrowed */
	const char *note; /* sentence for the last line; NULL: none */
	double progress;  /* progress of a replay that has no page yet, from 0 to 1 */
	/* ---- how ---- */
	unsigned columns, rows; /* size of the terminal; 0: unlimited, for plain tables */
	bool terminal;          /* use control sequences: TERMINAL_… of etwtool/top/terminal.h */
	bool colours;
};

/* Adds one frame. frame is NULL while there is no page. */
void top_view_add(const struct top_view *view, const struct top_frame *frame, struct etw_text *out);

/* Returns how many processes match the view's filter, and would be shown with enough rows. */
size_t top_view_count(const struct top_view *view, const struct top_frame *frame);

/* ---- exposed for tests ---- */

/*
 * Adds a value as a column shows it: "0", "999", "12.3k", "1.50M"; at most six characters unless
 * exact.
 */
void top_add_value(struct etw_text *out, double value, enum top_unit unit, bool rate, bool exact);

/* Adds a value of at least 999.5 as three digits and a unit: "1.23k", "12.3M", "123G". */
void top_add_scaled(struct etw_text *out, double value);

/*
 * Adds text for people, cut to at most `columns` columns of a terminal; control characters are
 * escaped. Returns the columns used.
 */
unsigned top_add_cut(struct etw_text *out, const char *string, unsigned columns);

#endif
