/* SPDX-License-Identifier: MIT */
/* etwtool top: where its pages come from, what it reads from them, and how it shows that. */
#ifndef ETWTOOL_TOP_TOP_H
#define ETWTOOL_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "config/problems.h"
#include "etwtool/tool.h"

#define UNITS_PER_S 1e7 /* units of 100 ns, in which times are counted */

/* ---- the feed ---- */

/*
 * Where etwtool top gets its pages from: a recording that it replays, the sessions of a
 * configuration (Windows), or an exporter that runs elsewhere. The caller requests a page and then
 * polls until it is there.
 */

struct feed; /* opaque */

struct feed_options {
	/* borrowed; words[0] is a recording or a URL; without words: live */
	struct tool_arguments *arguments;
	const char *config;        /* NULL: the built-in one; unused for a URL */
	struct problems *problems; /* problems that loading the configuration finds */
	/* Options for a URL, see exporter/http/fetch.h. */
	const char *user, *password_path, *authorities_path;
};

/*
 * Fails if the configuration or recording cannot be used, or if the URL does not answer with a
 * page. Call os_stop_catch() first, because live sessions must be stopped at the end.
 */
struct feed *feed_open(const struct feed_options *options, struct etw_error *err);
void feed_close(struct feed *feed); /* stops the replay or the sessions */

bool feed_is_replay(const struct feed *feed);

/*
 * Requests a page. For a replay it is the page after another advance_100ns of recorded time
 * (INT64_MAX: at the end of the recording), which has everything recorded before that moment and
 * nothing after it. Otherwise it is the current page.
 */
void feed_request(struct feed *feed, int64_t advance_100ns);

struct feed_page {
	struct etw_text text; /* owned */
	/*
	 * Time of the page by the source's clock, in 100 ns since 1601 UTC; ETW_RECORD_NO_TIME:
	 * unknown.
	 */
	int64_t time;
	/* Seconds since the previous page, of recorded time for a replay, otherwise by a monotonic
	 * clock; 0: unknown. */
	double seconds;
	bool ended; /* the replay has ended, so later pages have nothing new */
};

enum feed_state { FEED_NOT_YET, FEED_PAGE, FEED_FAILED };

/*
 * Gets the requested page into a zero-initialised struct, if it is there. After FEED_FAILED the
 * next page may be requested; but a replay or session that has failed delivers none.
 */
enum feed_state feed_poll(struct feed *feed, struct feed_page *page, struct etw_error *err);

/*
 * Returns the time of the next event of a replay that waits for a request; otherwise
 * ETW_RECORD_NO_TIME.
 */
int64_t feed_next_event(struct feed *feed);
/* Returns how much of the recording is read, in both passes together, from 0 to 1. */
double feed_progress(struct feed *feed);

/* ---- pages ---- */

/*
 * Reads a page of metrics for etwtool top: the sums for each process, one for each column, and the
 * facts in the header. The page comes from an exporter, in this process or elsewhere.
 */

enum top_unit { UNIT_BYTES, UNIT_COUNT, UNIT_SECONDS };

/* The columns, in the order of display. */
enum top_column {
	TOP_WRITTEN,
	TOP_READ,
	TOP_FILE_OPERATIONS,
	TOP_NETWORK,
	TOP_CPU,
	TOP_WAITS,
	TOP_DISK,
	TOP_FAULTS,
	TOP_EVENTS,
	TOP_COLUMNS
};

struct top_column_row {
	const char *title; /* at most 7 characters, so that a mark and a blank fit */
	char key;          /* the key that sorts by it */
	enum top_unit unit;
	const char *about;       /* explanation in the help */
	const char *families[2]; /* families whose samples are added; the second may be NULL */
};

extern const struct top_column_row top_columns[TOP_COLUMNS];

/* Sums over the samples of a page. The samples are counters unless the comment says "gauge". */
enum top_fact {
	FACT_RECORDS, /* records delivered, with any outcome */
	FACT_EVENTS_LOST,
	FACT_BUFFERS_LOST, /* lost in real time and for log files */
	FACT_BAD_BUFFERS,
	FACT_BAD_RECORDS,
	FACT_UNDECODABLE,
	FACT_UNATTRIBUTED,
	FACT_SESSIONS_UP, /* a gauge */
	FACT_POSITION,    /* position of a replay in seconds since 1970; a gauge */
	FACT_PROGRESS,    /* progress of a replay from 0 to 1; a gauge */
	FACT_FINISHED,    /* 1: the replay has ended; a gauge */
	FACT_IS_EXPORTER, /* 1: an exporter wrote the page; a gauge */
	TOP_FACTS
};

enum { TOP_PROCESSES_MOST = 100000 };

struct top_process {
	char *name; /* label value, which may be any UTF-8; owned */
	double values[TOP_COLUMNS];
};

/* Zero-initialise it. */
struct top_page {
	struct top_process *processes; /* owned */
	size_t count, room;
	struct map by_name;        /* hash of the name -> index */
	bool present[TOP_COLUMNS]; /* the page has a sample for the column */
	double facts[TOP_FACTS];
	bool has_fact[TOP_FACTS];
	bool full; /* processes were left out: more than TOP_PROCESSES_MOST, or no memory */
};

/*
 * Reads a page in the text format of Prometheus or OpenMetrics into a zero-initialised struct.
 * Lines that it does not need or understand are skipped.
 */
void top_page_read(struct top_page *page, const char *text, size_t size);
void top_page_done(struct top_page *page); /* frees the memory; the struct is empty then */

/* Returns NULL if the page has no such process. */
const struct top_process *top_page_find(const struct top_page *page, const char *name);

/* Returns the growth of a counter. If the value has fallen, the counter began again at 0. */
double top_growth(double before, double now);

/* ---- the view ---- */

/*
 * Draws what etwtool top shows: a frame of lines for a terminal, or a plain table. It makes text
 * from two pages and the state of the view, without input or output.
 */

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
	bool terminal;          /* use the control sequences TERMINAL_… */
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

/* ---- the terminal ---- */

/*
 * The terminal of a program that shows a page and reads keys. It controls the whole screen, reports
 * its size, reads single keys, and restores the terminal at the end. terminal_posix.c is for Linux,
 * terminal_win32.c for consoles since Windows 10.
 *
 * Call os_stop_catch() first. Only the main thread may use it, and a program opens one terminal at
 * a time.
 */

/*
 * All control sequences that the program sends: those of "ECMA-48"; those with ? are xterm's and
 * also documented in "Console Virtual Terminal Sequences", Microsoft Learn.
 */
#define TERMINAL_SCREEN_ON    "\033[?1049h\033[?25l" /* alternate screen, no cursor */
#define TERMINAL_SCREEN_OFF   "\033[0m\033[?25h\033[?1049l"
#define TERMINAL_HOME         "\033[H"
#define TERMINAL_ERASE_LINE   "\033[K" /* erases from the cursor to the end of the line */
#define TERMINAL_STYLE_NONE   "\033[0m"
#define TERMINAL_STYLE_BOLD   "\033[1m"
#define TERMINAL_STYLE_INVERT "\033[7m"
#define TERMINAL_STYLE_RED    "\033[1;31m"

/* Keys: a code point (Enter is \n, Backspace \b, Escape \033) or one of these. */
enum terminal_key {
	KEY_NONE = 0x110000, /* a key that nothing uses */
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
};

enum terminal_event {
	TERMINAL_TIMEOUT,
	TERMINAL_KEY,
	TERMINAL_REDRAW, /* the size has changed, or the stopped program continues */
	TERMINAL_STOP,   /* the program shall end, or the terminal is gone */
};

struct terminal; /* opaque */

/* Returns whether standard input and output are a terminal that supports these sequences. */
bool terminal_is_here(void);

/*
 * Takes over the screen; terminal_close() restores it and takes NULL, too. Returns NULL on failure.
 */
struct terminal *terminal_open(struct etw_error *err);
void terminal_close(struct terminal *terminal);

/* Gets the size; 80 x 24 if the terminal does not report it. Both are at least 1. */
void terminal_size(const struct terminal *terminal, unsigned *columns, unsigned *rows);

/*
 * Waits for the next event, at most timeout_ns. Sets *key for TERMINAL_KEY. A stop by the terminal
 * (Ctrl-Z) is handled here: the terminal is restored until the program continues.
 */
enum terminal_event terminal_wait(struct terminal *terminal, uint64_t timeout_ns, uint32_t *key);

/* Writes bytes, with one system call if that accepts all. Returns false if the terminal is gone. */
bool terminal_write(struct terminal *terminal, const char *bytes, size_t size);

/*
 * Parses one key from the bytes that a terminal sent. Returns how many bytes it has; 0 if the
 * sequence is incomplete. `all` says that no more bytes follow; the result is then above 0. Only
 * terminal_posix.c has this function; it is exposed for tests.
 */
size_t terminal_parse_key(const char *bytes, size_t size, bool all, uint32_t *key);

#endif
