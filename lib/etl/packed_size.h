/* SPDX-License-Identifier: MIT */
/* What packed files state about their unpacked size. */
#ifndef LIB_ETL_PACKED_SIZE_H
#define LIB_ETL_PACKED_SIZE_H

#include <stdint.h>

#include "base/os.h"

/*
 * Returns the size that a file of gzip, xz or zstd states; 0 if it states none. The statement can
 * be wrong. gzip states the size of its last member modulo 4 GiB, xz that of its last stream, zstd
 * that of its first frame, so the file may unpack to more.
 */
uint64_t etl_packed_stated_size(struct os_file *file);

#endif
