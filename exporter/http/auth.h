/* SPDX-License-Identifier: MIT */
/*
 * Checks users by basic authentication (RFC 7617) against bcrypt hashes of their passwords.
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
	AUTH_BUSY,   /* too many passwords are being checked; the client should try again in 1 s */
	AUTH_LATER,  /* this client has just sent a wrong password, or does not wait until it should
			try again; it should in 1 s */
};

/* Counts since auth_new(). */
struct auth_statistics {
	uint64_t denied;
	uint64_t busy, later;
	uint64_t hashes;  /* bcrypt hashes computed */
	uint64_t digests; /* HMACs computed to look for a password in the cache */
};

enum {
	AUTH_CACHE_SIZE = 256,  /* right passwords that are remembered */
	AUTH_PLACES = 8,        /* requests at once whose password is checked or waits to be */
	AUTH_CLIENT_PLACES = 2, /* the most of these places that one client may have */
};

struct auth; /* opaque; any thread */

/* Returns whether a password has this hash. */
typedef bool auth_matches(const char *password, const char *hash);

/* clock_ns and matches: for tests; NULL: os_monotonic_ns() and password_matches(). */
struct auth *auth_new(uint64_t (*clock_ns)(void), auth_matches *matches, struct etw_error *err);
/* Call it after the last check has returned. NULL is fine. */
void auth_free(struct auth *auth);

/*
 * Replaces the users by copies of these. The passwords of those whose name and hash were there
 * before stay known. Without users every request is granted. On failure nothing changes.
 */
bool auth_set_users(struct auth *auth, const struct auth_user *users, size_t count,
		    struct etw_error *err);

/* Returns whether auth_check() grants this request without a hash. */
bool auth_knows(struct auth *auth, const char *authorization);

/*
 * Checks the Authorization header of a request (NULL: the request has none). May wait for other
 * checks and compute a hash. That takes at most as long as AUTH_PLACES calls of password_matches()
 * for a client that has sent no wrong password; another one also waits for those that have not.
 */
enum auth_result auth_check(struct auth *auth, const char *authorization,
			    const struct client_address *client);

/* Ends all waits in auth_check(), now and later. */
void auth_stop(struct auth *auth);

void auth_statistics(struct auth *auth, struct auth_statistics *statistics);

#endif
