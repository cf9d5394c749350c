/* SPDX-License-Identifier: MIT */
#include "lib/etl/packed.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include <etw/types.h>

enum {
	XZ_INDEX_MAX = 4 << 20, /* bytes of an index that is read; 2^20 blocks have less */
	XZ_INDEX_MEMORY = 64 << 20,
};

/* Reads bytes of the file. Returns false if it has not so many there. */
static bool read_exactly(struct os_file *file, uint64_t offset, void *bytes, size_t size)
{
	size_t got = 0;

	return os_file_read(file, offset, bytes, size, &got, NULL) && got == size;
}

/*
 * RFC 1952, 2.3.1: ISIZE is the last member of the trailer. A file that was cut short has other
 * bytes there; what deflate cannot reach is not believed.
 */
static uint64_t size_of_gzip(struct os_file *file)
{
	enum { RATIO_MAX = 1032 };
	uint64_t packed = os_file_size(file), size;
	uint8_t bytes[4];

	if (packed < sizeof bytes ||
	    !read_exactly(file, packed - sizeof bytes, bytes, sizeof bytes)) {
		return 0;
	}
	size = etw_load_u32(bytes);
	return size / RATIO_MAX <= packed ? size : 0;
}

/* "The .xz File Format", 2.1.2 and 4: the footer states the size of the index before it. */
static uint64_t size_of_xz(struct os_file *file)
{
	uint8_t footer[LZMA_STREAM_HEADER_SIZE];
	uint64_t end = os_file_size(file), memory = XZ_INDEX_MEMORY, size = 0;
	lzma_stream_flags flags;
	lzma_index *index = NULL;
	uint8_t *bytes;
	size_t at = 0;

	if (end < 2 * sizeof footer ||
	    !read_exactly(file, end - sizeof footer, footer, sizeof footer) ||
	    lzma_stream_footer_decode(&flags, footer) != LZMA_OK ||
	    flags.backward_size > XZ_INDEX_MAX || flags.backward_size > end - 2 * sizeof footer) {
		return 0;
	}
	bytes = malloc((size_t)flags.backward_size);
	if (bytes &&
	    read_exactly(file, end - sizeof footer - flags.backward_size, bytes,
			 (size_t)flags.backward_size) &&
	    lzma_index_buffer_decode(&index, &memory, NULL, bytes, &at,
				     (size_t)flags.backward_size) == LZMA_OK) {
		size = lzma_index_uncompressed_size(index);
		lzma_index_end(index, NULL);
	}
	free(bytes);
	return size;
}

/* RFC 8878, 3.1.1.1: the frame header after the magic number. */
static uint64_t size_of_zstd(struct os_file *file)
{
	static const uint8_t id_sizes[] = { 0, 1, 2, 4 };
	uint8_t bytes[18] = { 0 };
	size_t got = 0, at;
	bool single;

	if (!os_file_read(file, 0, bytes, sizeof bytes, &got, NULL) || got < 6) {
		return 0;
	}
	single = (bytes[4] >> 5 & 1) != 0;
	at = 5 + (single ? 0U : 1U) + id_sizes[bytes[4] & 3];
	switch (bytes[4] >> 6) {
	case 0:
		return single ? bytes[at] : 0;
	case 1:
		return etw_load_u16(bytes + at) + 256U;
	case 2:
		return etw_load_u32(bytes + at);
	default:
		return etw_load_u64(bytes + at);
	}
}

uint64_t etl_packed_stated_size(struct os_file *file)
{
	static const struct {
		uint8_t magic[6];
		size_t size;
		uint64_t (*stated)(struct os_file *file);
	} packings[] = {
		{ { 0x1f, 0x8b }, 2, size_of_gzip },
		{ { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, size_of_xz },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 4, size_of_zstd },
	};
	uint8_t magic[6];

	if (read_exactly(file, 0, magic, sizeof magic)) {
		for (size_t i = 0; i < sizeof packings / sizeof packings[0]; i++) {
			if (memcmp(magic, packings[i].magic, packings[i].size) == 0) {
				return packings[i].stated(file);
			}
		}
	}
	return 0;
}
