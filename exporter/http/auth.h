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

/* ---- the rate limit ---- */

/*
 * A token bucket: it has `burst` tokens at first, gets one more in each interval, and never has
 * more than `burst`.
 *
 * The state is the time at which the bucket will be full. A request takes a token by moving that
 * time one interval later. There is no token if that time would then be more than `burst` intervals
 * away.
 */

enum { RATE_BURST_MOST = 100000 };
#define RATE_INTERVAL_MOST_NS (UINT64_C(86400) * 1000000000)

struct rate_limit {
	uint64_t interval_ns; /* at most RATE_INTERVAL_MOST_NS; 0: no limit */
	uint64_t burst;       /* at most RATE_BURST_MOST */
	uint64_t full_ns;     /* 0 at first */
};

/* Takes a token and returns true, or returns false if there is none. now_ns: of os_monotonic_ns().
 * One thread at a time may call it. */
static inline bool rate_limit_take(struct rate_limit *limit, uint64_t now_ns)
{
	uint64_t full = limit->full_ns > now_ns ? limit->full_ns : now_ns;

	if (limit->interval_ns == 0) {
		return true;
	}
	full += limit->interval_ns;
	if (full - now_ns > limit->burst * limit->interval_ns) {
		return false;
	}
	limit->full_ns = full;
	return true;
}

/* ---- hashes of passwords ---- */

/* Checks passwords against bcrypt hashes, which libxcrypt computes. */

/*
 * The bounds of the cost. Each step doubles the time of one check. A check at cost 16 takes
 * seconds, in which other logins wait; bcrypt does not allow less than 4.
 */
enum { PASSWORD_COST_LEAST = 4, PASSWORD_COST_MOST = 16, PASSWORD_HASH_SIZE = 60 };

/*
 * Returns whether a text is a hash that password_matches() can check: "$2y$10$", or with 2a or 2b,
 * then 22 letters of salt and 31 of the hash. The error does not repeat the hash.
 */
bool password_check_hash(const char *hash, struct etw_error *err);

/*
 * Computes the hash of a password and compares it. This is slow on purpose: about 70 ms at cost 10.
 * Returns false without memory. Any thread may call it.
 */
bool password_matches(const char *password, const char *hash);

/* ---- users ---- */

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
