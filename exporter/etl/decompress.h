/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the plain LZ77 form of Xpress (no Huffman codes), in which Windows stores the buffers of
 * a compressed recording.
 *
 * Source: MS-XCA, "LZ77 Compression Algorithm" and "Plain LZ77 Decompression Algorithm Details",
 * Microsoft Learn; docs/etl-format.md section 2.
 */
#ifndef ETL_DECOMPRESS_H
#define ETL_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Unpacks in until out_size bytes are made or the input ends between two items. *made is set in any
 * case: on failure (a copy from before the start, input that ends inside an item, more output than
 * fits) to what was made before the bad item. Reads and writes nothing outside the two blocks,
 * which do not overlap. Any thread.
 */
bool etl_decompress(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made);

#endif
