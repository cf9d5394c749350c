/* SPDX-License-Identifier: MIT */
/*
 * Paths of the web server, as the configuration and the server check them.
 */
#ifndef CONFIG_WEB_PATH_H
#define CONFIG_WEB_PATH_H

#include <stdbool.h>

/* The size of a path with its NUL. */
enum { WEB_PATH_SIZE_MAX = 256 };

/* Letters and digits, of which paths and hosts consist beside other signs. */
#define WEB_LETTERS_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Returns whether a text is a slash followed by characters that are allowed. "//host" is refused
 * because a browser takes it for another host, and dots because a browser resolves them before it
 * sends the request. */
bool web_path_is_valid(const char *path);

/* Returns whether a page of the program other than the metrics has this path, or may have it: all
 * that begin with /-/. */
bool web_path_is_taken(const char *path);

#endif
