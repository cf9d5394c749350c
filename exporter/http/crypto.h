/* SPDX-License-Identifier: MIT */
/* The functions of OpenSSL that authentication needs, and a check for lack of memory. Any thread
 * may call them. */
#ifndef EXPORTER_HTTP_CRYPTO_H
#define EXPORTER_HTTP_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SIZE = 32 };

/* Notes from now on each allocation of OpenSSL that fails, for crypto_lacked_memory() and in
 * base/memory.h. Call it once, before any other function of OpenSSL. */
void crypto_note_losses(void);
/* Returns whether an allocation of OpenSSL has failed in this thread since the last call. OpenSSL
 * itself may report such a failure as another error, for example that a key does not belong to its
 * certificate. */
bool crypto_lacked_memory(void);

/* Computes an HMAC with SHA-256 (RFC 2104). Returns false without memory. */
bool crypto_digest(const uint8_t key[DIGEST_SIZE], const char *bytes, size_t size,
		   uint8_t digest[DIGEST_SIZE]);

/* Compares in a time that does not depend on where they differ. */
bool crypto_equal(const void *a, const void *b, size_t size);

/* Overwrites the bytes; the compiler cannot remove the call. */
void crypto_wipe(void *bytes, size_t size);

/*
 * Decodes base64 with its padding (RFC 4648, section 4). The caller frees *bytes, which has a NUL
 * after its last byte. Returns false for anything else, and without memory.
 */
bool crypto_base64_decode(const char *text, size_t text_size, char **bytes, size_t *size);

#endif
