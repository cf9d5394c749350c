/* SPDX-License-Identifier: MIT */
/*
 * Lays out a frame of etwtool top.
 *
 * A frame is a list of lines, each at most as wide as the terminal. The header consists of pieces
 * (the recording, its time, events, losses …), which take as many lines as they need, so that
 * losses stay visible on a terminal of any size. Then come one line of headings, one of sums, and
 * the processes, sorted; the last line has a note or the keys.
 *
 * The name of a process is the last item of its line. How many columns a terminal uses for a
 * character is not always known (base/utf8.h overestimates), and at the end of the line a wrong
 * guess moves nothing else. On a narrow terminal, columns are left out from the right, except the
 * one that sorts. A process without a value in any column is not shown.
 *
 * On a terminal, a frame begins at the upper left corner and overwrites the previous one line by
 * line, in one write. Nothing is erased first, so nothing flickers. A line as wide as the terminal
 * gets no erase sequence, which would delete its last character.
 */
#include "etwtool/top/top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/record.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/utc.h"
#include "base/utf8.h"

enum { VALUE_WIDTH = 9, VALUE_WIDTH_EXACT = 20, NAME_LEAST = 12, PIECES_MOST = 12 };

/* ---- text ---- */

unsigned top_add_cut(struct etw_text *out, const char *string, unsigned columns)
{
	struct etw_text shown = { 0 };
	unsigned used = 0;
	size_t at = 0;

	text_add_shown(&shown, string);
	out->failed |= shown.failed;
	while (at < shown.size) {
		uint32_t codepoint;
		size_t size = utf8_decode(shown.data + at, shown.size - at, &codepoint);
		unsigned wide = utf8_columns(codepoint);

		if (used + wide > columns) {
			break;
		}
		text_add(out, shown.data + at, size);
		used += wide;
		at += size;
	}
	text_free(&shown);
	return used;
}

void top_add_scaled(struct etw_text *out, double value)
{
	static const char units[] = { 'k', 'M', 'G', 'T', 'P', 'E' };
	size_t unit = 0;

	value /= 1000;
	while (value >= 999.5 && unit + 1 < sizeof units) {
		value /= 1000;
		unit++;
	}
	if (value >= 999.5) {
		text_add_string(out, ">999E");
		return;
	}
	text_add_format(out, "%.*f%c",
			value < 9.995 ? 2 :
			value < 99.95 ? 1 :
					0,
			value, units[unit]);
}

void top_add_value(struct etw_text *out, double value, enum top_unit unit, bool rate, bool exact)
{
	bool percent = unit == UNIT_SECONDS && rate;

	value = percent ? 100 * value : value;
	if (exact) {
		text_add_format(out, "%.*f", unit == UNIT_SECONDS || rate ? 3 : 0, value);
	} else if (value >= 999.5) {
		top_add_scaled(out, value);
	} else if (unit == UNIT_SECONDS || (rate && value > 0 && value < 9.95)) {
		text_add_format(out, "%.*f", value < 99.95 ? 1 : 0, value);
	} else {
		text_add_format(out, "%.0f", value);
	}
	if (percent) {
		text_add_char(out, '%');
	} else if (unit == UNIT_SECONDS) {
		text_add_char(out, 's');
	}
}

/* ---- lines ---- */

struct frame_lines {
	const struct top_view *view;
	struct etw_text *out;
	struct etw_text line; /* the present line without styles; added when complete */
	const char *style;    /* style of the whole line; NULL: none */
	unsigned left;        /* number of lines that still fit */
	unsigned width;
};

static void end_line(struct frame_lines *lines)
{
	const bool terminal = lines->view->terminal;
	unsigned used;

	if (lines->left > 0) {
		if (terminal && lines->style) {
			text_add_string(lines->out, lines->style);
		}
		/* The text of the line is escaped already, so this does not change it. */
		used = top_add_cut(lines->out, lines->line.data ? lines->line.data : "",
				   lines->width);
		if (terminal && lines->style) {
			text_add_string(lines->out, TERMINAL_STYLE_NONE);
		}
		if (terminal && used < lines->width) {
			text_add_string(lines->out, TERMINAL_ERASE_LINE);
		}
		lines->left--;
		if (!terminal) {
			text_add_char(lines->out, '\n');
		} else if (lines->left > 0) {
			text_add_string(lines->out, "\r\n");
		}
	}
	lines->out->failed |= lines->line.failed;
	text_clear(&lines->line);
	lines->style = NULL;
}

static void add_line(struct frame_lines *lines, const char *style, const char *text)
{
	text_add_string(&lines->line, text);
	lines->style = style;
	end_line(lines);
}

static unsigned width_of(const char *text)
{
	unsigned width = 0;

	for (size_t i = 0, size = strlen(text); i < size;) {
		uint32_t codepoint;

		i += utf8_decode(text + i, size - i, &codepoint);
		width += utf8_columns(codepoint);
	}
	return width;
}

/* ---- the header ---- */

struct header_piece {
	char text[160];
	bool alarm;
};

struct header_pieces {
	struct header_piece list[PIECES_MOST];
	size_t count;
};

static void add_piece(struct header_pieces *pieces, bool alarm, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);

static void add_piece(struct header_pieces *pieces, bool alarm, const char *format, ...)
{
	struct header_piece *piece = &pieces->list[pieces->count];
	va_list arguments;

	if (pieces->count < PIECES_MOST) {
		va_start(arguments, format);
		vsnprintf(piece->text, sizeof piece->text, format, arguments);
		va_end(arguments);
		piece->alarm = alarm;
		pieces->count++;
	}
}

static double fact_of(const struct top_frame *frame, enum top_fact fact)
{
	return frame->now.facts[fact];
}

/* Adds "lost 12 (+3)", with the growth since the previous page. always: also if the count is 0. */
static void add_count(struct header_pieces *pieces, const struct top_frame *frame,
		      enum top_fact fact, bool always, const char *what)
{
	double now = fact_of(frame, fact);
	double growth = frame->has_before ? top_growth(frame->before.facts[fact], now) : 0;
	char number[64], grown[64];

	snprintf(number, sizeof number, "%.0f", now);
	grown[0] = '\0';
	if (growth > 0) {
		snprintf(grown, sizeof grown, " (+%.0f)", growth);
	}
	if (always || now > 0) {
		add_piece(pieces, now > 0, "%s %s%s", what, number, grown);
	}
}

static void add_state(struct header_pieces *pieces, const struct top_view *view,
		      const struct top_frame *frame)
{
	char time[UTC_TEXT_SIZE];

	if (utc_format(frame->time, time)) {
		time[10] = ' ';
		snprintf(time + 19, 5, " UTC");
		add_piece(pieces, false, "%s", time);
	}
	if (view->paused) {
		add_piece(pieces, true, "PAUSED");
	} else if (frame->ended) {
		add_piece(pieces, false, "end of the recording");
	} else if (frame->replay) {
		add_piece(pieces, false, "speed %g", view->speed);
	}
	add_piece(pieces, false, "%s", view->totals ? "totals" : "per second");
	if (frame->now.has_fact[FACT_SESSIONS_UP] && fact_of(frame, FACT_SESSIONS_UP) == 0 &&
	    !frame->ended) {
		add_piece(pieces, !frame->now.has_fact[FACT_FINISHED], "%s",
			  frame->now.has_fact[FACT_FINISHED] ? "replay has ended" :
							       "NO SESSION RUNS");
	}
}

static void collect_pieces(struct header_pieces *pieces, const struct top_view *view,
			   const struct top_frame *frame)
{
	struct etw_text events = { 0 }, name = { 0 };
	double records = fact_of(frame, FACT_RECORDS);
	double seconds = frame->seconds;

	top_add_cut(&name, view->name, 60);
	add_piece(pieces, false, "%s", name.data ? name.data : "");
	text_free(&name);
	add_state(pieces, view, frame);
	if (view->totals) {
		top_add_value(&events, records, UNIT_COUNT, false, view->exact);
		add_piece(pieces, false, "events %s", events.failed ? "" : events.data);
	} else if (seconds > 0) {
		double before = frame->has_before ? frame->before.facts[FACT_RECORDS] : 0;

		top_add_value(&events, top_growth(before, records) / seconds, UNIT_COUNT, true,
			      view->exact);
		add_piece(pieces, false, "events %s/s", events.failed ? "" : events.data);
	} else {
		add_piece(pieces, false, "events -");
	}
	text_free(&events);
	add_count(pieces, frame, FACT_EVENTS_LOST, true, "lost events");
	add_count(pieces, frame, FACT_BUFFERS_LOST, false, "lost buffers");
	add_count(pieces, frame, FACT_BAD_BUFFERS, true, "bad buffers");
	add_count(pieces, frame, FACT_BAD_RECORDS, false, "bad records");
	add_count(pieces, frame, FACT_UNDECODABLE, false, "undecodable events");
	if (frame->now.full) {
		add_piece(pieces, true, "PROCESSES LEFT OUT");
	}
}

static void end_header_line(struct frame_lines *lines, bool alarm)
{
	if (alarm) {
		lines->style = lines->view->colours ? TERMINAL_STYLE_RED : TERMINAL_STYLE_BOLD;
	}
	end_line(lines);
}

/* Adds the pieces on as many lines as they need; a line with an alarm is highlighted. */
static void add_pieces(struct frame_lines *lines, const struct header_pieces *pieces)
{
	unsigned used = 0;
	bool alarm = false;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct header_piece *piece = &pieces->list[i];
		unsigned wide = width_of(piece->text);
		/*
		 * On a terminal an alarm gets its own line, because a style is that of a whole
		 * line.
		 */
		bool parts = lines->view->terminal && alarm != piece->alarm;

		if (used > 0 && (parts || used + 2 + wide > lines->width)) {
			end_header_line(lines, alarm);
			used = 0;
		}
		text_add_string(&lines->line, used > 0 ? "  " : "");
		text_add_string(&lines->line, piece->text);
		used += wide + (used > 0 ? 2 : 0);
		alarm = piece->alarm;
	}
	end_header_line(lines, alarm);
}

/* ---- the table ---- */

struct shown_process {
	const struct top_process *process;
	double values[TOP_COLUMNS];
};

struct process_table {
	enum top_column columns[TOP_COLUMNS]; /* columns that fit */
	size_t column_count;
	struct shown_process *rows; /* owned; sorted */
	size_t count;
	double sums[TOP_COLUMNS]; /* sums of all processes, including those that the filter hides */
	bool known;               /* the values are known; false: there is no rate yet */
	unsigned value_width;
};

static void choose_columns(struct process_table *table, const struct top_view *view, unsigned width)
{
	unsigned room;
	bool sorts = false;

	table->value_width = view->exact ? VALUE_WIDTH_EXACT : VALUE_WIDTH;
	room = width < NAME_LEAST ? 0 : (width - NAME_LEAST) / table->value_width;
	room = room < 1 ? 1 : room;
	for (unsigned i = 0; i < TOP_COLUMNS && table->column_count < room; i++) {
		table->columns[table->column_count++] = i;
		sorts |= i == view->sort;
	}
	if (!sorts) {
		table->columns[table->column_count - 1] = view->sort;
	}
}

/* Returns whether the text contains the word, ignoring the case of ASCII letters. */
static bool contains(const char *text, const char *word)
{
	size_t size = strlen(text), word_size = strlen(word);

	for (size_t i = 0; i + word_size <= size; i++) {
		if (text_equal_nocase(text + i, word_size, word, word_size)) {
			return true;
		}
	}
	return false;
}

static bool compute_values(const struct top_view *view, const struct top_frame *frame,
			   const struct top_process *process, double values[TOP_COLUMNS])
{
	const struct top_process *before =
		frame->has_before ? top_page_find(&frame->before, process->name) : NULL;
	bool any = false;

	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		values[i] = process->values[i];
		if (!view->totals) {
			values[i] = top_growth(before ? before->values[i] : 0, values[i]) /
				    frame->seconds;
		}
		any |= values[i] > 0;
	}
	return any;
}

static void collect_rows(struct process_table *table, const struct top_view *view,
			 const struct top_frame *frame)
{
	table->known = view->totals || frame->seconds > 0;
	table->rows = table->known ? calloc(frame->now.count + 1, sizeof *table->rows) : NULL;
	if (table->known && !table->rows) {
		memory_note_loss();
	}
	for (size_t i = 0; table->rows && i < frame->now.count; i++) {
		const struct top_process *process = &frame->now.processes[i];
		struct shown_process *row = &table->rows[table->count];

		row->process = process;
		if (!compute_values(view, frame, process, row->values)) {
			continue;
		}
		for (unsigned k = 0; k < TOP_COLUMNS; k++) {
			table->sums[k] += row->values[k];
		}
		table->count += contains(process->name, view->filter);
	}
}

/* Global because a comparison has no argument for it; only one thread shows frames. */
static enum top_column sort_column;

static int compare_rows(const void *a, const void *b)
{
	const struct shown_process *left = a, *right = b;
	double x = left->values[sort_column], y = right->values[sort_column];

	return x > y ? -1 : x < y ? 1 : strcmp(left->process->name, right->process->name);
}

static void add_padded(struct etw_text *out, const char *text, unsigned width)
{
	size_t size = strlen(text);

	for (; size < width; size++) {
		text_add_char(out, ' ');
	}
	text_add_string(out, text);
}

static void add_row(struct frame_lines *lines, const struct process_table *table,
		    const struct top_frame *frame, const double values[TOP_COLUMNS],
		    const char *name, const char *style)
{
	const struct top_view *view = lines->view;
	unsigned used = (unsigned)table->column_count * table->value_width;

	for (size_t i = 0; i < table->column_count; i++) {
		enum top_column column = table->columns[i];
		struct etw_text value = { 0 };

		if (frame->now.present[column] && table->known) {
			top_add_value(&value, values[column], top_columns[column].unit,
				      !view->totals, view->exact);
		}
		add_padded(&lines->line, value.data ? value.data : "-", table->value_width);
		text_free(&value);
	}
	text_add_string(&lines->line, "  ");
	top_add_cut(&lines->line, name, lines->width > used + 2 ? lines->width - used - 2 : 0);
	lines->style = style;
	end_line(lines);
}

static void add_headings(struct frame_lines *lines, const struct process_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const struct top_column_row *column = &top_columns[table->columns[i]];
		char title[16];

		snprintf(title, sizeof title, "%s%s",
			 table->columns[i] == lines->view->sort ? ">" : "", column->title);
		add_padded(&lines->line, title, table->value_width);
	}
	text_add_string(&lines->line, "  PROCESS");
	lines->style = TERMINAL_STYLE_INVERT;
	end_line(lines);
}

static void add_table(struct frame_lines *lines, const struct top_frame *frame)
{
	const struct top_view *view = lines->view;
	struct process_table table = { 0 };
	char all[64];
	size_t scroll;

	choose_columns(&table, view, lines->width);
	collect_rows(&table, view, frame);
	sort_column = view->sort;
	if (table.count > 0) {
		sort_items(table.rows, table.count, sizeof *table.rows, compare_rows);
	}
	add_headings(lines, &table);
	snprintf(all, sizeof all, "= all of %zu", frame->now.count);
	add_row(lines, &table, frame, table.sums, all, TERMINAL_STYLE_BOLD);
	scroll = view->scroll < table.count ? view->scroll : 0;
	for (size_t i = scroll; i < table.count && lines->left > (view->terminal ? 1 : 0); i++) {
		add_row(lines, &table, frame, table.rows[i].values, table.rows[i].process->name,
			NULL);
	}
	free(table.rows);
}

size_t top_view_count(const struct top_view *view, const struct top_frame *frame)
{
	struct process_table table = { 0 };

	collect_rows(&table, view, frame);
	free(table.rows);
	return table.count;
}

/* ---- the frame ---- */

static void add_help(struct frame_lines *lines)
{
	char line[128];

	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		snprintf(line, sizeof line, "%c %-8s  %s", top_columns[i].key, top_columns[i].title,
			 top_columns[i].about);
		add_line(lines, NULL, line);
	}
	add_line(lines, NULL, "left, right  sort by the column beside; up, down, pages  scroll");
	add_line(lines, NULL, "t  totals or per second    x  exact numbers    /  filter by name");
	add_line(lines, NULL, "p  pause, resume           q  quit             ?  this help");
	add_line(lines, NULL, "+ -  speed of a replay     j  jump to the next event");
	add_line(lines, NULL, "A column reads - if nothing on the page feeds it.");
}

static void add_last_line(struct frame_lines *lines)
{
	const struct top_view *view = lines->view;

	if (view->typing || view->filter[0]) {
		text_add_format(&lines->line, "filter: %s%s", view->filter,
				view->typing ? "_" : "  (/ changes it)");
	} else if (view->note) {
		text_add_string(&lines->line, view->note);
	} else {
		text_add_string(&lines->line,
				"? help  q quit  p pause  / filter  t totals  letters sort");
	}
	end_line(lines);
}

void top_view_add(const struct top_view *view, const struct top_frame *frame, struct etw_text *out)
{
	struct frame_lines lines = { .view = view,
				     .out = out,
				     .left = view->rows > 0 ? view->rows : UINT32_MAX,
				     .width = view->columns > 0 ? view->columns : UINT32_MAX };
	struct header_pieces pieces = { 0 };

	if (view->terminal) {
		text_add_string(out, TERMINAL_HOME);
	}
	if (frame) {
		collect_pieces(&pieces, view, frame);
	} else {
		add_piece(&pieces, false, "reading %.100s", view->name);
		add_piece(&pieces, false, "%.0f %%", 100 * view->progress);
	}
	add_pieces(&lines, &pieces);
	if (view->help) {
		add_help(&lines);
	} else if (frame) {
		add_table(&lines, frame);
	}
	if (view->terminal) {
		while (lines.left > 1) {
			end_line(&lines);
		}
		add_last_line(&lines);
	}
	text_free(&lines.line);
}
