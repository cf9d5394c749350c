/* SPDX-License-Identifier: MIT */
/*
 * Basic authentication (RFC 7617): users with bcrypt hashes of their passwords.
 */
#ifndef EXPORTER_HTTP_AUTH_H
#define EXPORTER_HTTP_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/client_address.h"
#include "base/error.h"

/* Texts are borrowed; the hash satisfies password_check_hash(). */
struct auth_user {
	const char *name;
	const char *hash;
};

enum auth_result {
	AUTH_GRANTED,
	AUTH_DENIED, /* no user, an unknown one, or a wrong password */
	AUTH_BUSY,   /* too many passwords are being checked: to be tried again in a second */
	AUTH_LATER,  /* this client has just given a wrong one: likewise */
};

/* What happened so far. */
struct auth_statistics {
	uint64_t denied;
	uint64_t busy, later;
	uint64_t hashes;  /* that were computed */
	uint64_t digests; /* of what clients sent, to look for it in the cache */
};

enum {
	AUTH_CACHE_SIZE = 256,  /* passwords that are known to be right */
	AUTH_PLACES = 4,        /* requests whose password is checked, or waits for it */
	AUTH_CLIENT_PLACES = 2, /* of them those of one client */
};

struct auth; /* opaque; any thread */

/* clock: as os_monotonic_ns(), which it is for NULL. */
struct auth *auth_new(uint64_t (*clock_ns)(void), struct etw_error *err);
/* After the last check has returned. NULL is fine. */
void auth_free(struct auth *auth);

/*
 * Sets the users, which are copied, in place of those before; what is known of passwords is
 * forgotten. Without users each request is granted. After an error nothing has changed.
 */
bool auth_set_users(struct auth *auth, const struct auth_user *users, size_t count,
		    struct etw_error *err);

/*
 * Checks the Authorization header of a request (NULL: there is none) of a client. May wait for
 * other checks and compute a hash, which takes as long as one password_matches() for each of
 * AUTH_PLACES at most.
 */
enum auth_result auth_check(struct auth *auth, const char *authorization,
			    const struct client_address *client);

/* Ends the waiting of auth_check() for ever. */
void auth_stop(struct auth *auth);

void auth_statistics(struct auth *auth, struct auth_statistics *statistics);

#endif
