/* SPDX-License-Identifier: MIT */
/*
 * Packs a buffer into a plain-LZ77 stream, the form in which compressed recordings hold their
 * buffers (docs/etl-format.md section 2).
 */
#ifndef LIB_ETL_PACK_H
#define LIB_ETL_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Room that is always enough for the stream of size bytes: nothing but literals, a flag word for
 * every 32. */
static inline size_t etl_compress_bound(size_t size)
{
	return size + 4 * (size / 32 + 1);
}

/*
 * Packs size bytes into out (etl_compress_bound(size) bytes at least) and returns the size of the
 * stream. Greedy: the last place where the same three bytes stood is the only candidate. Any
 * thread.
 *
 * Source: MS-XCA, sections 2.3 and 2.4.
 */
size_t etl_compress(const uint8_t *bytes, size_t size, uint8_t *out);

#endif
