/* SPDX-License-Identifier: MIT */
/*
 * Which handshakes of TLS go on in one pass of the reception.
 *
 * The thread that waits for all clients also computes their handshakes: a millisecond for a key of
 * RSA with 2048 bits, six with 4096. A client that begins hundreds at once would delay all others
 * by seconds. So each address has one step in a pass; what else it has goes on in the passes after
 * it, which follow at once.
 */
#ifndef EXPORTER_HTTP_HANDSHAKE_TURNS_H
#define EXPORTER_HTTP_HANDSHAKE_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/client_address.h"

struct handshake_turns {
	struct client_address *taken; /* owned; by these, in this pass */
	size_t count, most;
};

/* most: turns in a pass; beyond it handshakes wait. False without memory. */
bool handshake_turns_init(struct handshake_turns *turns, size_t most);
void handshake_turns_done(struct handshake_turns *turns);

/* A pass begins. */
void handshake_turns_begin(struct handshake_turns *turns);

/* Takes the turn of an address. False: it had its turn in this pass. */
bool handshake_turns_take(struct handshake_turns *turns, const struct client_address *address);

#endif
