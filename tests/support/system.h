/* SPDX-License-Identifier: MIT */
/*
 * Functions of the operating system for tests, in addition to base/os.h: files, folders, the time
 * zone, TCP clients. Paths are UTF-8.
 */
#ifndef SUPPORT_SYSTEM_H
#define SUPPORT_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "tests/support/patience.h"

/* Makes a folder unless it exists. Returns whether it exists afterwards. */
bool system_make_folder(const char *path);
bool system_remove_folder(const char *path);

/* Does what remove() does. */
bool system_remove_file(const char *path);

/* Sets the time zone of this process, in the form of POSIX ("XXX-5"); NULL: restores it. */
void system_set_time_zone(const char *zone);

/* The inverse of gmtime(). */
int64_t system_unix_seconds(struct tm *utc);

/* Returns the id of this process. */
unsigned long system_process_id(void);

void system_sleep_ms(unsigned ms);

/* A connection to this machine. Reading fails after WAIT_MS, so that no test hangs. */
typedef intptr_t connection; /* -1: none */

extern const int system_address_in_use; /* the error number */

connection connection_open(unsigned port);      /* to 127.0.0.1 */
connection connection_open_ipv6(unsigned port); /* to ::1 */
bool connection_ipv6_works(void);
/* Makes a connection and returns both ends, which do not block. */
bool connection_pair(connection pair[2]);

/* Return how many bytes were transferred; 0 if the other side has closed, or on failure. */
size_t connection_send(connection c, const void *bytes, size_t size);
size_t connection_receive(connection c, void *bytes, size_t size);
/* Does the same as connection_receive(), but leaves the bytes there. */
size_t connection_peek(connection c, void *bytes, size_t size);
/* Returns whether receiving would not wait, also because the other side has closed. */
bool connection_is_readable(connection c);
void connection_close(connection c); /* -1 is fine */

#endif
