/* SPDX-License-Identifier: MIT */
/*
 * Network addresses as text. Bytes are in network order.
 */
#ifndef DECODE_ADDRESS_H
#define DECODE_ADDRESS_H

#include <stdint.h>

#include "base/text.h"

/* "10.0.0.1" */
void text_add_ip4(struct text *text, const uint8_t bytes[4]);

/* "2001:db8::1", "::ffff:10.0.0.1" for mapped IPv4 addresses: RFC 5952. */
void text_add_ip6(struct text *text, const uint8_t bytes[16]);

#endif
