/* SPDX-License-Identifier: MIT */
/*
 * The providers that are registered on this machine: names, GUIDs, kinds.
 *
 * Source: "TdhEnumerateProviders function", Microsoft Learn.
 */
#ifndef LIVE_REGISTERED_H
#define LIVE_REGISTERED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/guid.h"

struct registered_provider {
	struct guid guid;
	char *name;    /* UTF-8; owned; "" when it has none */
	bool manifest; /* false: MOF */
};

/* Sorted by GUID. */
struct registered_providers {
	struct registered_provider *list; /* owned */
	size_t count;
};

/* Asks Windows, which takes a while: there are more than a thousand. */
bool registered_read(struct registered_providers *providers, struct error *err);
void registered_done(struct registered_providers *providers);

/* NULL: it is not registered, or has no name. */
const char *registered_name(const struct registered_providers *providers, const struct guid *guid);

#endif
