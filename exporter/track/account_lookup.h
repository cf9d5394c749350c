/* SPDX-License-Identifier: MIT */
/*
 * Asks the machine for the names of accounts, for live sessions. Windows may have to ask a domain
 * controller, which can take long, so a thread asks, and the consumer waits for a moment only. Each
 * SID is asked for once. The functions belong to one consumer.
 */
#ifndef TRACK_ACCOUNT_LOOKUP_H
#define TRACK_ACCOUNT_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct account_lookup; /* opaque */

enum { ACCOUNTS_MOST = 4096 }; /* most SIDs that are remembered; further ones are not known */

/* find: returns the name of the account with this SID, allocated, or NULL if it has none; it runs
 * on the thread and may take any time. */
struct account_lookup *account_lookup_new(char *(*find)(const char *sid), struct etw_error *err);
/* Does not wait for a call of find() that has not returned. */
void account_lookup_free(struct account_lookup *lookup);

enum account_answer {
	ACCOUNT_FOUND,
	ACCOUNT_HAS_NO_NAME,
	ACCOUNT_PENDING, /* ask again later */
};

/* Adds the name of the account. wait_ns: how long to wait for a SID that was not asked for before;
 * not at all while the thread is at another one. */
enum account_answer account_lookup_ask(struct account_lookup *lookup, const char *sid, size_t size,
				       uint64_t wait_ns, struct etw_text *name);

#endif
