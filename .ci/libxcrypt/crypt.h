/* SPDX-License-Identifier: MIT */
/* crypt_r() for hashes of bcrypt, as <crypt.h> of libxcrypt declares it. */
#ifndef CRYPT_H
#define CRYPT_H

#include <stdalign.h>
#include <stddef.h>

enum {
	CRYPT_OUTPUT_SIZE = 61,
	CRYPT_MAX_PASSPHRASE_SIZE = 512,
};

struct crypt_data {
	char output[CRYPT_OUTPUT_SIZE];
	alignas(max_align_t) char scratch[8192]; /* what the hash was made from: to be wiped */
};

/* Returns data->output, or NULL for a setting that is not of bcrypt and for a phrase that is too
 * long. */
char *crypt_r(const char *phrase, const char *setting, struct crypt_data *data);

#endif
