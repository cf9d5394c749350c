/* SPDX-License-Identifier: MIT */
/* What authentication needs of OpenSSL, and its memory. Any thread. */
#ifndef EXPORTER_HTTP_CRYPTO_H
#define EXPORTER_HTTP_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SIZE = 32 };

/* From now on what OpenSSL finds no memory for is noted, there and in base/memory.h. Call it once,
 * before anything else of OpenSSL. */
void crypto_note_losses(void);
/* Whether OpenSSL has found no memory in this thread since the last call. What it says of it itself
 * may be anything: that a key does not belong to its certificate, for example. */
bool crypto_lacked_memory(void);

/* HMAC with SHA-256 (RFC 2104). Returns false without memory. */
bool crypto_digest(const uint8_t key[DIGEST_SIZE], const char *bytes, size_t size,
		   uint8_t digest[DIGEST_SIZE]);

/* Takes the same time wherever they differ. */
bool crypto_equal(const void *a, const void *b, size_t size);

/* Overwrites; the compiler does not leave it out. */
void crypto_wipe(void *bytes, size_t size);

/*
 * Decodes base64 with its padding (RFC 4648, section 4). The caller frees *bytes, which has a NUL
 * behind its size. Returns false for anything else, and without memory.
 */
bool crypto_base64_decode(const char *text, size_t text_size, char **bytes, size_t *size);

#endif
