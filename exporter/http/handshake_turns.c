/* SPDX-License-Identifier: MIT */
#include "exporter/http/handshake_turns.h"

#include <stdlib.h>

bool handshake_turns_init(struct handshake_turns *turns, size_t most)
{
	turns->taken = calloc(most, sizeof *turns->taken);
	turns->most = most;
	return turns->taken != NULL;
}

void handshake_turns_done(struct handshake_turns *turns)
{
	free(turns->taken);
}

void handshake_turns_begin(struct handshake_turns *turns)
{
	turns->count = 0;
}

bool handshake_turns_take(struct handshake_turns *turns, const struct client_address *address)
{
	for (size_t i = 0; i < turns->count; i++) {
		if (client_address_alike(&turns->taken[i], address)) {
			return false;
		}
	}
	if (turns->count == turns->most) {
		return false;
	}
	turns->taken[turns->count++] = *address;
	return true;
}
