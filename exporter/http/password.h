/* SPDX-License-Identifier: MIT */
/* Hashes of passwords by bcrypt, computed by libxcrypt. */
#ifndef EXPORTER_HTTP_PASSWORD_H
#define EXPORTER_HTTP_PASSWORD_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Each step doubles the time of one check. 16 takes seconds, in which other logins wait; below 4
 * bcrypt does not go.
 */
enum { PASSWORD_COST_LEAST = 4, PASSWORD_COST_MOST = 16, PASSWORD_HASH_SIZE = 60 };

/*
 * Whether a text is a hash that password_matches() can check: "$2y$10$", or with 2a or 2b, then 22
 * letters of salt and 31 of the hash. The error does not repeat the hash.
 */
bool password_check_hash(const char *hash, struct etw_error *err);

/*
 * Computes the hash of a password, and compares it. Takes long, on purpose: some 70 ms at cost 10.
 * Any thread. Without memory nothing matches.
 */
bool password_matches(const char *password, const char *hash);

#endif
