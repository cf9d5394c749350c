/* SPDX-License-Identifier: MIT */
/*
 * etwtool top: shows processes by what they write, read, send and compute, refreshed once a second.
 *
 * Pages of metrics come from a feed (top_feed.c): a replay, live sessions, or an exporter. Two of
 * them make a frame, and top_view.c lays it out. A terminal and plain tables differ only in how the
 * program waits: for the terminal, which also reports keys, or for requests to stop.
 *
 * Each tick of the clock (--delay) requests the next page; the frame is shown when the page
 * arrives. In between, keys change the view, and the frame on the screen is laid out again from the
 * same two pages. During a pause no page is requested, except for a jump to the next event: a
 * replay then stands still, and live sessions continue unseen.
 *
 * Every exit goes through terminal_close(), and messages on standard error come after it. The log
 * of live sessions would overwrite the screen, so its last line is shown on the last line instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/record.h>

#include "base/log.h"
#include "base/os.h"
#include "base/print.h"
#include "base/utc.h"
#include "base/utf8.h"
#include "config/problems.h"
#include "etwtool/tool.h"
#include "etwtool/top/top.h"

#define NS_PER_S 1e9

enum { NOT_YET_NS = 20000000, WIDTH_MOST = 10000, NOTE_SIZE = 512 };

static const double speed_least = 1.0 / 1024, speed_most = 1 << 30;

enum { SHOW_DEFAULT, SHOW_RATE, SHOW_TOTAL };

struct top_request {
	struct tool_arguments arguments;
	const char *config, *user, *password_path, *authorities_path;
	double speed; /* 0: as fast as possible */
	bool speed_given;
	double delay_s; /* 0: 1 */
	bool batch, exact;
	uint64_t count, width;
	unsigned show;            /* SHOW_… */
	unsigned sort;            /* index of sort_words; 0: WRITTEN */
	struct problems problems; /* problems of the configuration */
};

/* ---- options ---- */

static bool read_number(const char *value, double most, double *number)
{
	char *end;

	if (value[0] < '0' || value[0] > '9') {
		return false;
	}
	*number = strtod(value, &end);
	return *end == '\0' && *number >= 0 && *number <= most;
}

static bool read_speed(void *target, const char *value, struct etw_error *err)
{
	struct top_request *request = target;

	(void)err;
	request->speed_given = read_number(value, speed_most, &request->speed);
	return request->speed_given && (request->speed == 0 || request->speed >= speed_least);
}

static bool read_delay(void *target, const char *value, struct etw_error *err)
{
	double *delay = target;
	int64_t time_100ns;

	(void)err;
	if (!utc_parse_duration(value, &time_100ns)) {
		return false;
	}
	*delay = (double)time_100ns / UNITS_PER_S;
	return *delay >= 0.1 && *delay <= 3600;
}

#define AT(member) .offset = offsetof(struct top_request, member)

static const char *const show_words[] = { "auto", "rate", "total", NULL };
/* Indexed by enum top_column. */
static const char *const sort_words[] = { "written", "read", "fileops", "net",    "cpu",
					  "waits",   "disk", "faults",  "events", NULL };

static const struct command_option option_rows[] = {
	{ "--speed", "N", "speed of a replay: 1 as recorded (default), 0 as fast as possible",
	  OPTION_READ, AT(arguments), .takes = "0, or a number from 0.001 to 1000000000",
	  .read = read_speed },
	{ "--delay", "TIME", "time between two frames, such as 0.5 or 2s; default 1s", OPTION_READ,
	  AT(delay_s), .takes = "a number from 0.1 to 3600, or a time such as 500ms or 2s",
	  .read = read_delay },
	{ "--sort", "COLUMN",
	  "written (default), read, fileops, net, cpu, waits, disk, faults or events", OPTION_WORD,
	  AT(sort), .words = sort_words },
	{ "--show", "WHAT",
	  "rate (per second), total (since the start), or auto: total at --speed 0", OPTION_WORD,
	  AT(show), .words = show_words },
	{ "--exact", NULL, "whole numbers in place of 12.3M", OPTION_SET, AT(exact) },
	{ "--batch", NULL, "plain tables, one below the other; also without a terminal", OPTION_SET,
	  AT(batch) },
	{ "--count", "N", "end after N frames", OPTION_COUNT, AT(count) },
	{ "--width", "N", "cut the lines of plain tables after N columns", OPTION_COUNT,
	  AT(width) },
	{ "--config.file", "FILE", "collectors, sessions and limits, as for the exporter",
	  OPTION_TEXT, AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ "--user", "NAME", "for a URL: user of basic authentication", OPTION_TEXT, AT(user) },
	{ "--password-file", "FILE", "for a URL: its first line is the user's password",
	  OPTION_TEXT, AT(password_path) },
	{ "--ca-file", "FILE", "for https: certificates of the authorities to trust (PEM)",
	  OPTION_TEXT, AT(authorities_path) },
	{ NULL },
};

/* ---- the run ---- */

struct top {
	struct top_request *request;
	struct feed *feed;
	struct terminal *terminal; /* NULL: plain tables */
	struct top_view view;
	struct top_frame frame;
	bool has_frame;
	bool requested; /* a page was requested */
	bool last;      /* the replay has ended, so no further page is requested */
	enum {
		JUMP_NONE,
		JUMP_BY_KEY,    /* jump to the next event after the requested page */
		JUMP_UNDER_WAY, /* the requested page is that of the next event */
	} jump;
	uint64_t next_ns;
	uint64_t frames;      /* frames shown, or pages that did not come */
	uint64_t tables;      /* tables printed */
	struct etw_error err; /* the reason that the run failed */
	bool failed;
	bool last_failed; /* the last requested page did not come */
	char note[NOTE_SIZE];
	bool keeps_note; /* the note is a line of the log, which stays until a key is pressed */
	/* The last line of the log that is not a note yet; guarded by the lock. */
	struct os_mutex lock;
	char logged[NOTE_SIZE];
	bool has_logged;
};

/* A log_sink: keeps the line for the screen. Any thread may call it. */
static void store_log_line(void *context, enum log_level level, const char *line, size_t size)
{
	struct top *top = context;

	(void)level;
	os_mutex_lock(&top->lock);
	snprintf(top->logged, sizeof top->logged, "%.*s",
		 (int)(size < NOTE_SIZE ? size : NOTE_SIZE), line);
	top->has_logged = true;
	os_mutex_unlock(&top->lock);
}

static void set_note(struct top *top, const char *text)
{
	snprintf(top->note, sizeof top->note, "%s", text);
}

/* Sets a note that the next page may replace, unless the note is a line of the log. */
static void set_passing_note(struct top *top, const char *text)
{
	if (!top->keeps_note) {
		set_note(top, text);
	}
}

/* Chooses the text of the last line: a log line, a note that is set, or a hint. */
static void choose_note(struct top *top)
{
	int64_t event = feed_next_event(top->feed);

	os_mutex_lock(&top->lock);
	if (top->has_logged) {
		set_note(top, top->logged);
		top->keeps_note = true;
	}
	top->has_logged = false;
	os_mutex_unlock(&top->lock);
	top->view.note = top->note[0] ? top->note : NULL;
	if (!top->view.note && top->has_frame && event != ETW_RECORD_NO_TIME &&
	    (double)etw_time_between(top->frame.time, event) > 5 * UNITS_PER_S * top->view.speed) {
		top->view.note = "no events for a while: j jumps to the next one";
	}
}

static void fail(struct top *top, enum etw_error_code code, const char *sentence)
{
	error_set(&top->err, code, "%s", sentence);
	top->failed = true;
}

/* Shows the frame. Returns false if nothing can be written. */
static bool show_frame(struct top *top)
{
	struct etw_text out = { 0 };
	bool good;

	if (top->terminal) {
		terminal_size(top->terminal, &top->view.columns, &top->view.rows);
	}
	choose_note(top);
	top->view.progress = feed_progress(top->feed);
	top_view_add(&top->view, top->has_frame ? &top->frame : NULL, &out);
	if (out.failed) {
		fail(top, ETW_ERROR_NO_MEMORY, "no memory for a frame");
		good = false;
	} else if (top->terminal) {
		good = terminal_write(top->terminal, out.data, out.size);
	} else {
		good = print_bytes(out.data, out.size, &top->err);
		top->failed = !good && top->err.code != ETW_ERROR_NONE;
	}
	text_free(&out);
	return good;
}

/* ---- frames ---- */

/* Uses the recording's clock, if the page comes from an exporter that replays. */
static void use_clock_of_page(struct top_frame *frame)
{
	double before = frame->before.facts[FACT_POSITION];
	double now = frame->now.facts[FACT_POSITION];

	if (!frame->now.has_fact[FACT_POSITION]) {
		return;
	}
	/*
	 * 0 means that no event was replayed yet. If the position went back, the recording began
	 * again.
	 */
	frame->time = now > 0 ? etw_time_add(ETW_TIME_1970, etw_i64_of_double(now * UNITS_PER_S)) :
				ETW_RECORD_NO_TIME;
	frame->seconds = before > 0 && now > before ? now - before : 0;
}

static void use_page(struct top *top, struct feed_page *page)
{
	struct top_frame *frame = &top->frame;

	top_page_done(&frame->before);
	frame->before = frame->now;
	frame->has_before = top->has_frame;
	memset(&frame->now, 0, sizeof frame->now);
	top_page_read(&frame->now, page->text.data ? page->text.data : "", page->text.size);
	frame->time = page->time;
	frame->seconds = page->seconds;
	frame->replay = feed_is_replay(top->feed);
	frame->ended = page->ended;
	if (!frame->replay) {
		use_clock_of_page(frame);
	}
	top->has_frame = true;
	top->last = page->ended;
	set_passing_note(top, "");
	if (page->ended && top->terminal && !top->view.totals) {
		top->view.totals = true;
		set_passing_note(top, "the recording has ended: these are its totals (t, q)");
	}
}

/* Checks for the requested page; returns true if it has come or has failed. */
static bool poll_page(struct top *top)
{
	struct feed_page page = { .time = ETW_RECORD_NO_TIME };
	struct etw_error err = { 0 };
	enum feed_state state = top->requested ? feed_poll(top->feed, &page, &err) : FEED_NOT_YET;

	switch (state) {
	case FEED_PAGE:
		top->requested = false;
		top->last_failed = false;
		top->jump = top->jump == JUMP_UNDER_WAY ? JUMP_NONE : top->jump;
		use_page(top, &page);
		if (page.text.failed) {
			fail(top, ETW_ERROR_NO_MEMORY, "no memory for a page");
		} else if (!top->frame.now.has_fact[FACT_IS_EXPORTER]) {
			fail(top, ETW_ERROR_FORMAT, "the page is not that of an etw_exporter");
		}
		text_free(&page.text);
		return true;
	case FEED_FAILED:
		top->requested = false;
		top->last_failed = true;
		if (feed_is_replay(top->feed)) {
			fail(top, err.code, err.text);
		} else if (top->terminal) {
			set_passing_note(top, err.text);
		} else {
			tool_complain(TOOL_FAILED, "top", "%s", err.text);
		}
		return true;
	case FEED_NOT_YET:
		break;
	}
	return false;
}

static void request_page(struct top *top, int64_t advance)
{
	feed_request(top->feed, advance);
	top->requested = true;
}

/* Requests the page of the next event, if there is one. */
static void request_jump(struct top *top)
{
	int64_t event = feed_next_event(top->feed);

	top->jump = JUMP_NONE;
	if (event != ETW_RECORD_NO_TIME && top->has_frame && !top->last) {
		uint64_t gap = etw_time_between(top->frame.time, event);

		request_page(top, gap < INT64_MAX ? (int64_t)gap + 1 : INT64_MAX);
		top->next_ns = os_monotonic_ns() + (uint64_t)(top->request->delay_s * NS_PER_S);
		top->jump = JUMP_UNDER_WAY;
	}
}

/*
 * Returns whether pages are taken now. A page that was requested before a pause waits for its end,
 * unless a jump needs it.
 */
static bool wants_page(const struct top *top)
{
	return !top->view.paused || top->jump != JUMP_NONE;
}

static void tick(struct top *top)
{
	double delay_s = top->request->delay_s;
	uint64_t now = os_monotonic_ns();

	if (top->jump == JUMP_BY_KEY && !top->requested) {
		request_jump(top);
	}
	if (now < top->next_ns || top->requested || top->last || top->view.paused) {
		return;
	}
	top->next_ns += (uint64_t)(delay_s * NS_PER_S);
	/* the machine was too slow: skip ticks */
	top->next_ns = top->next_ns < now ? now : top->next_ns;
	request_page(top, top->view.speed == 0 ?
				  INT64_MAX :
				  etw_i64_of_double(delay_s * top->view.speed * UNITS_PER_S));
}

static uint64_t wait_ns(const struct top *top)
{
	uint64_t now = os_monotonic_ns();

	if (top->last || !wants_page(top)) {
		return UINT64_C(1000000000);
	}
	if (top->requested) {
		return top->has_frame ? NOT_YET_NS : 5 * NOT_YET_NS;
	}
	return top->next_ns > now ? top->next_ns - now : 0;
}

/* ---- keys ---- */

static void edit_filter(struct top *top, uint32_t key)
{
	char *filter = top->view.filter;
	size_t size = strlen(filter);
	char bytes[4];
	size_t more;

	top->view.scroll = 0;
	switch (key) {
	case '\n':
		top->view.typing = false;
		break;
	case '\033':
		top->view.typing = false;
		filter[0] = '\0';
		break;
	case '\b':
		while (size > 0 && ((unsigned char)filter[--size] & 0xc0) == 0x80) {
		}
		filter[size] = '\0';
		break;
	default:
		more = key < KEY_NONE && !utf8_steers_terminal(key) ? utf8_encode(key, bytes) : 0;
		if (more > 0 && size + more < TOP_FILTER_MOST) {
			memcpy(filter + size, bytes, more);
			filter[size + more] = '\0';
		}
		break;
	}
}

static void scroll_by(struct top *top, int64_t lines)
{
	int64_t count = top->has_frame ? (int64_t)top_view_count(&top->view, &top->frame) : 0;
	int64_t at = (int64_t)top->view.scroll + lines;

	at = at >= count ? count - 1 : at;
	top->view.scroll = at < 0 ? 0 : (size_t)at;
}

static void change_speed(struct top *top, double factor)
{
	double speed = top->view.speed * factor;

	if (feed_is_replay(top->feed) && speed >= speed_least && speed <= speed_most) {
		top->view.speed = speed;
	}
}

static void jump_to_next_event(struct top *top)
{
	if (feed_is_replay(top->feed) && top->jump == JUMP_NONE && !top->last) {
		top->jump = JUMP_BY_KEY;
	}
}

static void sort_by_key(struct top *top, uint32_t key)
{
	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		if (key == (unsigned char)top_columns[i].key) {
			top->view.sort = i;
		}
	}
}

static void pause_or_go_on(struct top *top)
{
	top->view.paused = !top->view.paused;
	top->next_ns = os_monotonic_ns();
}

/* Handles a key. Returns false if the user quits. */
static bool handle_key(struct top *top, uint32_t key)
{
	struct top_view *view = &top->view;
	const int64_t page = view->rows > 8 ? view->rows - 8 : 1;

	if (view->typing) {
		edit_filter(top, key);
		return true;
	}
	top->keeps_note = false;
	set_passing_note(top, "");
	switch (key) {
	case 'q':
		return false;
	case 'p':
	case ' ':
		pause_or_go_on(top);
		break;
	case '?':
	case 'h':
		view->help = !view->help;
		break;
	case '\033':
		view->help = false;
		view->filter[0] = '\0';
		break;
	case '/':
		view->typing = true;
		view->help = false;
		break;
	case 't':
		view->totals = !view->totals;
		break;
	case 'x':
		view->exact = !view->exact;
		break;
	case '+':
		change_speed(top, 2);
		break;
	case '-':
		change_speed(top, 0.5);
		break;
	case 'j':
		jump_to_next_event(top);
		break;
	case KEY_LEFT:
		view->sort = view->sort > 0 ? view->sort - 1 : TOP_COLUMNS - 1;
		break;
	case KEY_RIGHT:
		view->sort = view->sort + 1 < TOP_COLUMNS ? view->sort + 1 : 0;
		break;
	case KEY_UP:
		scroll_by(top, -1);
		break;
	case KEY_DOWN:
		scroll_by(top, 1);
		break;
	case KEY_PAGE_UP:
		scroll_by(top, -page);
		break;
	case KEY_PAGE_DOWN:
		scroll_by(top, page);
		break;
	case KEY_HOME:
		view->scroll = 0;
		break;
	case KEY_END:
		scroll_by(top, INT32_MAX);
		break;
	default:
		sort_by_key(top, key);
		break;
	}
	return true;
}

/* ---- loops ---- */

static bool is_done(const struct top *top)
{
	return top->failed || (top->request->count > 0 && top->frames >= top->request->count);
}

static void run_on_terminal(struct top *top)
{
	bool good = show_frame(top);

	while (good && !is_done(top)) {
		bool changed = false;
		uint32_t key;

		tick(top);
		switch (terminal_wait(top->terminal, wait_ns(top), &key)) {
		case TERMINAL_STOP:
			return;
		case TERMINAL_KEY:
			if (!handle_key(top, key)) {
				return;
			}
			changed = true;
			break;
		case TERMINAL_REDRAW:
			changed = true;
			break;
		case TERMINAL_TIMEOUT:
			changed = !top->has_frame; /* shows the progress of the replay */
			break;
		}
		if (wants_page(top) && poll_page(top)) {
			top->frames++;
			changed = true;
		}
		good = !top->failed && (!changed || show_frame(top));
	}
}

/* Returns whether there is something to print. The first page of a live source has no rates. */
static bool has_values(const struct top *top)
{
	return top->view.totals || top->frame.has_before || top->frame.replay;
}

/*
 * Prints a frame. A page that did not come counts as a frame, so that --count also ends a run that
 * waits for an exporter.
 */
static bool print_frame(struct top *top)
{
	if (top->last_failed) {
		top->frames++;
		return true;
	}
	if (!has_values(top)) {
		return true;
	}
	top->frames++;
	top->tables++;
	/* An empty line separates tables. */
	return (top->tables == 1 || print_bytes("\n", 1, &top->err)) && show_frame(top);
}

/*
 * Shows progress. A replay reads the whole recording before its first table, and at full speed
 * again before the table comes.
 */
static void show_progress(struct top *top, struct progress *progress)
{
	enum { WHOLE = 1000000 };
	uint64_t done = (uint64_t)(feed_progress(top->feed) * WHOLE);

	if (feed_is_replay(top->feed) && !top->has_frame) {
		progress_show(progress, done, WHOLE, 0, WHOLE);
	}
}

static void run_plain(struct top *top)
{
	struct progress progress;
	bool good = true;

	progress_start(&progress, "etwtool", tool_top.name, OUTPUT_AT_END);
	progress.passes = top->view.speed == 0 ? 2 : 1;
	while (good && !is_done(top) && !(top->last && !top->requested)) {
		tick(top);
		if (poll_page(top)) {
			progress_end(&progress);
			good = !top->failed && print_frame(top);
			continue;
		}
		show_progress(top, &progress);
		if (os_stop_wait(wait_ns(top), NULL, NULL)) {
			break;
		}
	}
	progress_end(&progress);
}

static bool open_top(struct top *top, struct etw_error *err)
{
	struct top_request *request = top->request;
	const struct feed_options feed = {
		.arguments = &request->arguments,
		.config = request->config,
		.problems = &request->problems,
		.user = request->user,
		.password_path = request->password_path,
		.authorities_path = request->authorities_path,
	};
	const char *no_color = getenv("NO_COLOR"); /* no-color.org */
	bool plain = request->batch || !terminal_is_here();

	log_configure(LOG_WARNING, LOG_LOGFMT);
	if (!os_stop_catch(err)) {
		return false;
	}
	if (!plain) {
		log_to(store_log_line, top);
	}
	top->feed = feed_open(&feed, err);
	tool_show_problems("top", &request->problems);
	if (!top->feed) {
		return false;
	}
	if (!plain) {
		top->terminal = terminal_open(err);
	}
	top->view.terminal = !plain;
	top->view.colours = !no_color || !no_color[0];
	top->view.columns = (unsigned)request->width;
	top->next_ns = os_monotonic_ns();
	return plain || top->terminal;
}

static int run_top(struct top *top)
{
	struct etw_error err = { 0 };
	int status = TOOL_DONE;

	os_mutex_init(&top->lock);
	if (!open_top(top, &err)) {
		status = err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	} else if (top->terminal) {
		run_on_terminal(top);
	} else {
		run_plain(top);
	}
	terminal_close(top->terminal);
	feed_close(top->feed);
	log_to(NULL, NULL);
	if (top->failed) {
		status = TOOL_FAILED;
		err = top->err;
	}
	if (status == TOOL_DONE && !top->view.terminal && top->last_failed) {
		status = TOOL_FAILED; /* the reason was reported before */
	} else if (status != TOOL_DONE &&
		   (top->request->problems.errors == 0 || err.code != ETW_ERROR_CONFIG)) {
		tool_complain(status, "top", "%s", err.text);
	}
	top_page_done(&top->frame.now);
	top_page_done(&top->frame.before);
	os_mutex_done(&top->lock);
	return status;
}

static int run(struct tool_arguments *arguments)
{
	struct top_request *request = (struct top_request *)arguments;
	struct top top = {
		.request = request,
		.view = { .sort = request->sort,
			  .exact = request->exact,
			  .speed = request->speed_given ? request->speed : 1,
			  .name = arguments->words[0] ? arguments->words[0] : "live sessions" },
	};
	int status;

	if (request->width > WIDTH_MOST) {
		return tool_complain(TOOL_BAD_USAGE, "top", "--width is at most %d", WIDTH_MOST);
	}
	request->delay_s = request->delay_s > 0 ? request->delay_s : 1;
	top.view.totals = request->show == SHOW_TOTAL ||
			  (request->show == SHOW_DEFAULT && top.view.speed == 0);
	status = run_top(&top);
	problems_done(&request->problems);
	return status;
}

const struct tool_command tool_top = {
	.name = "top",
	.synopsis = "[FILE|URL]",
	.about = "Show the processes that write, read, send, compute or wait most",
	.more = "FILE is a recording, which is replayed. URL is an exporter that runs (http://host:9189),\n"
		"whose page is /metrics unless the URL has a path.\n"
		"Without either, the sessions of the configuration run as long as the command (Windows).\n"
		"\n"
		"Keys: the first letters of columns and arrows sort, p pauses, / filters, t shows totals,\n"
		"? shows the others, q quits. Without a terminal, or with TERM=dumb, tables are printed.\n"
		"\n"
		"Exit status: 0 the end of the recording, of --count or by the user (q, Ctrl-C, SIGTERM);\n"
		"1 the recording cannot be read, the sessions cannot start, or the last page of an\n"
		"exporter did not come; 2 bad usage or configuration.\n",
	.options = option_rows,
	.shared = TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_COLLECTORS,
	.words_most = 1,
	.too_many = "one recording or URL at a time, not also",
	.output = OUTPUT_STREAMS,
	.size = sizeof(struct top_request),
	.run = run,
};
