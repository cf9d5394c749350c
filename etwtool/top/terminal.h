/* SPDX-License-Identifier: MIT */
/*
 * The terminal of a program that shows a page and reads keys. It controls the whole screen, reports
 * its size, reads single keys, and restores the terminal at the end. terminal_posix.c is for Linux,
 * terminal_win32.c for consoles since Windows 10.
 *
 * Call os_stop_catch() first. Only the main thread may use it, and a program opens one terminal at
 * a time.
 */
#ifndef ETWTOOL_TOP_TERMINAL_H
#define ETWTOOL_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
 * Takes one key from the bytes that a terminal sent. Returns how many bytes it used; 0 if the
 * sequence is incomplete. `all` says that no more bytes follow; the result is then above 0. Only
 * terminal_*.c and tests use it (terminal_keys.c).
 */
size_t terminal_take_key(const char *bytes, size_t size, bool all, uint32_t *key);

#endif
