/* SPDX-License-Identifier: MIT */
/*
 * The terminal of a program that shows a page and reads keys: the whole screen, its size, keys one
 * by one, and the state that the terminal had before. terminal_posix.c is for Linux,
 * terminal_win32.c for consoles since Windows 10.
 *
 * os_stop_catch() comes first. One thread, the main one, uses it, and a program opens one terminal
 * at a time.
 */
#ifndef ETWTOOL_TOP_TERMINAL_H
#define ETWTOOL_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* All control sequences that the program sends ("ECMA-48"; those with ? are xterm's, and "Console
 * Virtual Terminal Sequences", Microsoft Learn, has them too). */
#define TERMINAL_SCREEN_ON    "\033[?1049h\033[?25l" /* a screen of our own, no cursor */
#define TERMINAL_SCREEN_OFF   "\033[0m\033[?25h\033[?1049l"
#define TERMINAL_HOME         "\033[H"
#define TERMINAL_ERASE_LINE   "\033[K" /* from the cursor to the end of the line */
#define TERMINAL_STYLE_NONE   "\033[0m"
#define TERMINAL_STYLE_BOLD   "\033[1m"
#define TERMINAL_STYLE_INVERT "\033[7m"
#define TERMINAL_STYLE_RED    "\033[1;31m"

/* Keys: a code point (Enter is \n, Backspace \b, Escape \033) or one of these. */
enum terminal_key {
	KEY_NONE = 0x110000, /* one that nothing uses */
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
	TERMINAL_REDRAW, /* the size has changed, or the program goes on after it was stopped */
	TERMINAL_STOP,   /* a request to end the program, or the terminal is gone */
};

struct terminal; /* opaque */

/* Whether standard input and output are a terminal that takes the sequences above. */
bool terminal_is_here(void);

/* Takes the screen over; terminal_close() gives it back as it was. NULL may be closed. */
struct terminal *terminal_open(struct etw_error *err);
void terminal_close(struct terminal *terminal);

/* The size now; 80 x 24 when the terminal does not say. Both are at least 1. */
void terminal_size(const struct terminal *terminal, unsigned *columns, unsigned *rows);

/*
 * Waits for what comes next, at most timeout_ns. *key is set for TERMINAL_KEY. A stop by the
 * terminal (Ctrl-Z) is handled here: the terminal is as it was until the program goes on.
 */
enum terminal_event terminal_wait(struct terminal *terminal, uint64_t timeout_ns, uint32_t *key);

/* Writes bytes, with one call if the system takes them all. False: the terminal is gone. */
bool terminal_write(struct terminal *terminal, const char *bytes, size_t size);

/*
 * Takes one key from bytes as a terminal sends them. Returns the number of bytes that it has; 0: a
 * sequence that is not complete, unless `all` says that no more bytes follow. For the two systems'
 * files and tests (terminal_keys.c).
 */
size_t terminal_take_key(const char *bytes, size_t size, bool all, uint32_t *key);

#endif
