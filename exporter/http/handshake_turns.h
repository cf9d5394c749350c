/* SPDX-License-Identifier: MIT */
/*
 * Decides which TLS handshakes continue in one pass of the reception.
 *
 * The thread that waits for all clients also computes their handshakes: this takes 1 ms for an RSA
 * key of 2048 bits, 6 ms for one of 4096. A client that begins hundreds at once would delay all
 * others by seconds. Therefore each address gets one handshake step in a pass; its other handshakes
 * continue in the next passes, which follow at once.
 */
#ifndef EXPORTER_HTTP_HANDSHAKE_TURNS_H
#define EXPORTER_HTTP_HANDSHAKE_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/client_address.h"

struct handshake_turns {
	struct client_address *taken; /* owned; the addresses that had their turn in this pass */
	size_t count, most;
};

/* most: the number of turns in a pass; further handshakes wait. Returns false without memory. */
bool handshake_turns_init(struct handshake_turns *turns, size_t most);
void handshake_turns_done(struct handshake_turns *turns);

/* Begins a pass, in which every address has its turn again. */
void handshake_turns_begin(struct handshake_turns *turns);

/* Takes the turn of an address. Returns false if the address had its turn in this pass, or the pass
 * has no turns left. */
bool handshake_turns_take(struct handshake_turns *turns, const struct client_address *address);

#endif
