/* SPDX-License-Identifier: MIT */
/*
 * Little-endian stores, byte by byte: the counterparts of etw_load_u16() and the like in
 * base/cursor.h.
 */
#ifndef BASE_STORE_H
#define BASE_STORE_H

#include <stdint.h>

static inline void store_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static inline void store_u32(uint8_t *at, uint32_t value)
{
	store_u16(at, (uint16_t)value);
	store_u16(at + 2, (uint16_t)(value >> 16));
}

static inline void store_u64(uint8_t *at, uint64_t value)
{
	store_u32(at, (uint32_t)value);
	store_u32(at + 4, (uint32_t)(value >> 32));
}

#endif
