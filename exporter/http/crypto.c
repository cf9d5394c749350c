/* SPDX-License-Identifier: MIT */
#include "exporter/http/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static _Thread_local bool lacked_memory;

static void *noted(void *block, size_t size)
{
	if (!block && size > 0) {
		lacked_memory = true;
		memory_note_loss();
	}
	return block;
}

static void *allocate(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return noted(malloc(size), size);
}

static void *reallocate(void *block, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return noted(realloc(block, size), size);
}

static void release(void *block, const char *file, int line)
{
	(void)file;
	(void)line;
	free(block);
}

void crypto_note_losses(void)
{
	CRYPTO_set_mem_functions(allocate, reallocate, release);
}

bool crypto_lacked_memory(void)
{
	bool lacked = lacked_memory;

	lacked_memory = false;
	return lacked;
}

bool crypto_digest(const uint8_t key[DIGEST_SIZE], const char *bytes, size_t size,
		   uint8_t digest[DIGEST_SIZE])
{
	unsigned digest_size = 0;

	return HMAC(EVP_sha256(), key, DIGEST_SIZE, (const unsigned char *)bytes, size, digest,
		    &digest_size) &&
	       digest_size == DIGEST_SIZE;
}

bool crypto_equal(const void *a, const void *b, size_t size)
{
	return CRYPTO_memcmp(a, b, size) == 0;
}

void crypto_wipe(void *bytes, size_t size)
{
	OPENSSL_cleanse(bytes, size);
}

/* Returns whether the text is strict base64. EVP_DecodeBlock() alone would accept blanks around the
 * text and padding inside it. */
static bool is_base64(const char *text, size_t size, size_t *padding)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	*padding = 0;
	while (*padding < 2 && *padding < size && text[size - 1 - *padding] == '=') {
		(*padding)++;
	}
	return size % 4 == 0 && strspn(text, digits) >= size - *padding;
}

bool crypto_base64_decode(const char *text, size_t text_size, char **bytes, size_t *size)
{
	size_t padding;
	int decoded_size = 0;
	char *decoded;

	if (text_size > INT32_MAX || !is_base64(text, text_size, &padding)) {
		return false;
	}
	decoded = malloc(text_size / 4 * 3 + 1);
	if (!decoded) {
		return false;
	}
	if (text_size > 0) {
		decoded_size = EVP_DecodeBlock((unsigned char *)decoded,
					       (const unsigned char *)text, (int)text_size);
	}
	if (decoded_size < 0) {
		free(decoded);
		return false;
	}
	*size = (size_t)decoded_size - padding;
	*bytes = decoded;
	decoded[*size] = '\0';
	return true;
}
