/* SPDX-License-Identifier: MIT */
/*
 * Waits for many connections at once, mostly silent ones, at the cost of the few that are not.
 */
#ifndef EXPORTER_HTTP_WAIT_SET_H
#define EXPORTER_HTTP_WAIT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/http/connection_list.h"
#include "exporter/http/sockets.h"

enum {
	WAIT_SET_SILENT_MS = 100, /* what has sent nothing for that long is silent */
	WAIT_SET_FEW = 64,        /* up to so many silent connections are waited for like others */
	WAIT_SET_KEPT = 64,       /* of more, so many that are kept for a further request */
	WAIT_SET_SLICES = 10,     /* the others are looked at in so many slices */
};

struct wait_set; /* opaque; one thread */

/* others: sockets that are no connections; most: connections. NULL without memory. */
struct wait_set *wait_set_new(size_t others, size_t most);
void wait_set_free(struct wait_set *set); /* NULL is fine */

/*
 * Waits until one of the other sockets, or an idle connection of the list, can be read, or written
 * if that is what it wants, or is closed by its client. Returns after wait_ms at the latest, and
 * after some milliseconds while silent connections are looked at in slices, even if nothing is
 * ready. now_ns: of os_monotonic_ns(), when it is called.
 */
void wait_set_wait(struct wait_set *set, const socket_handle *others, size_t other_count,
		   const struct connection_list *list, unsigned wait_ms, uint64_t now_ns);

/* Whether the socket was ready after the wait; index: in `others`. */
bool wait_set_other_ready(const struct wait_set *set, size_t index);

/* The connections that were ready after the wait, each once. Valid until the next wait, except
 * those that have ended. */
struct connection *const *wait_set_ready(const struct wait_set *set, size_t *count);

#endif
