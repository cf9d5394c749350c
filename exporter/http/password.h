/* SPDX-License-Identifier: MIT */
/* Checks passwords against bcrypt hashes, which libxcrypt computes. */
#ifndef EXPORTER_HTTP_PASSWORD_H
#define EXPORTER_HTTP_PASSWORD_H

#include <stdbool.h>

#include "base/error.h"

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

#endif
