/* SPDX-License-Identifier: MIT */
/*
 * Compresses a buffer to a plain LZ77 stream, as in compressed recordings (docs/etl-format.md
 * section 2).
 */
#ifndef LIB_ETL_PACK_H
#define LIB_ETL_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Returns the most bytes that the stream of size bytes can have: only literals, and a flag word for
 * every 32 of them. */
static inline size_t etl_compress_bound(size_t size)
{
	return size + 4 * (size / 32 + 1);
}

/*
 * Compresses size bytes to out, which must have etl_compress_bound(size) bytes, and returns the
 * size of the stream. The search is greedy: the only candidate for a copy is the last place with
 * the same three bytes. Any thread may call it.
 *
 * Source: MS-XCA, sections 2.3 and 2.4.
 */
size_t etl_compress(const uint8_t *bytes, size_t size, uint8_t *out);

#endif
