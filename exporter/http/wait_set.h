/* SPDX-License-Identifier: MIT */
/*
 * Waits for many connections at once. Most of them are silent and add little to the cost of a wait.
 */
#ifndef EXPORTER_HTTP_WAIT_SET_H
#define EXPORTER_HTTP_WAIT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/http/connection.h"
#include "exporter/http/sockets.h"

enum {
	WAIT_SET_SILENT_MS = 100, /* a connection is silent if it sent nothing for this long */
	WAIT_SET_FEW = 64,        /* this many silent connections are waited for like others */
	WAIT_SET_KEPT = 64,       /* if there are more: those waited for that had a request */
	WAIT_SET_SLICES = 10,     /* the others are polled in this many slices, one after another */
};

struct wait_set; /* opaque; one thread */

/* others: the number of sockets that are not connections; most: the most connections. Returns NULL
 * without memory. */
struct wait_set *wait_set_new(size_t others, size_t most);
void wait_set_free(struct wait_set *set); /* NULL is fine */

/*
 * Waits until one of the other sockets or an idle connection of the list can be read, can be
 * written (if TLS waits for that), or is closed by its client. Returns after wait_ms even if
 * nothing is ready, and after some milliseconds while silent connections are polled in slices.
 * now_ns: of os_monotonic_ns() at the time of the call.
 */
void wait_set_wait(struct wait_set *set, const socket_handle *others, size_t other_count,
		   const struct connection_list *list, unsigned wait_ms, uint64_t now_ns);

/* Returns whether one of the other sockets was ready after the wait. index: in `others`. */
bool wait_set_other_ready(const struct wait_set *set, size_t index);

/* Returns the connections that were ready after the wait, each once. The array is valid until the
 * next wait, except for connections that have ended meanwhile. */
struct connection *const *wait_set_ready(const struct wait_set *set, size_t *count);

#endif
