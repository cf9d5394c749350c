/* SPDX-License-Identifier: MIT */
/* What crypt-bcrypt.c of libxcrypt needs of its crypt-port.h. */
#ifndef CRYPT_PORT_H
#define CRYPT_PORT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crypt.h"

#define INCLUDE_bcrypt       1 /* one function for all prefixes: $2a$, $2b$, $2y$ */
#define XCRYPT_USE_BIGENDIAN 0
#define ALG_SPECIFIC_SIZE    sizeof(((struct crypt_data *)0)->scratch)
#define ARG_UNUSED(name)     name __attribute__((__unused__))

void crypt_bcrypt_rn(const char *phrase, size_t phrase_size, const char *setting,
		     size_t setting_size, uint8_t *output, size_t output_size, void *scratch,
		     size_t scratch_size);
void gensalt_bcrypt_rn(unsigned long count, const uint8_t *random, size_t random_size,
		       uint8_t *output, size_t output_size);

#endif
