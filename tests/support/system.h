/* SPDX-License-Identifier: MIT */
/*
 * What tests ask of the operating system, beyond base/os.h: files, folders, the time zone, TCP
 * clients. Paths are UTF-8.
 */
#ifndef SUPPORT_SYSTEM_H
#define SUPPORT_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "tests/support/patience.h"

/* True when the folder is there afterwards. */
bool system_make_folder(const char *path);
bool system_remove_folder(const char *path);

/* As remove(). */
bool system_remove_file(const char *path);

/* Overrides it for this process, in the form of POSIX ("XXX-5"); NULL: as it was. */
void system_set_time_zone(const char *zone);

/* The inverse of gmtime(). */
int64_t system_unix_seconds(struct tm *utc);

/* Of this process; no other has the same at the same time. */
unsigned long system_process_id(void);

void system_sleep_ms(unsigned ms);

/* A connection to this machine. Reading fails after WAIT_MS, so that no test hangs. */
typedef intptr_t connection; /* -1: none */

extern const int system_address_in_use; /* the error number */

connection connection_open(unsigned port);      /* to 127.0.0.1 */
connection connection_open_ipv6(unsigned port); /* to ::1 */
bool connection_ipv6_works(void);
/* Two ends of one connection; neither waits. */
bool connection_pair(connection pair[2]);

/* How many bytes of it went; 0 when the other side has closed, or failed. */
size_t connection_send(connection c, const void *bytes, size_t size);
size_t connection_receive(connection c, void *bytes, size_t size);
/* As connection_receive(), which then still finds the bytes. */
size_t connection_peek(connection c, void *bytes, size_t size);
/* Whether receiving would not wait, if only because the other side has closed. */
bool connection_is_readable(connection c);
void connection_close(connection c); /* -1 is fine */

#endif
