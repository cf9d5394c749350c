/* SPDX-License-Identifier: MIT */
/*
 * Compares a decoded payload with one line of text: "name=value st={x=1 in={y=2}}{x=3 in={y=4}}".
 */
#ifndef SUPPORT_DECODED_TEXT_H
#define SUPPORT_DECODED_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/decode/schema.h"

/*
 * Fails the test unless the payload has these fields and this number of bytes after the last one.
 * It is decoded in a heap block that ends with it.
 */
void assert_decoded(const struct etw_schema *schema, const void *payload, size_t size,
		    uint8_t pointer_size, const char *expected, uint32_t expected_rest);

#endif
