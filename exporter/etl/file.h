/* SPDX-License-Identifier: MIT */
/*
 * A recording, open: its bytes, its header, and what all of its records share.
 *
 * Source: docs/etl-format.md sections 1.2 and 5.
 */
#ifndef ETL_FILE_H
#define ETL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etl/block.h"
#include "etl/header.h"
#include "etl/input.h"
#include "etl/record.h"

struct etl_file {
	struct etl_input input;
	struct etl_blocks blocks; /* of the one thread that reads */
	struct etl_header header;
	struct etl_format format;
	const char *clock_doubt; /* what is odd about the clock; NULL: nothing */
};

/*
 * Opens a recording and reads its header. A file whose first record is not a logfile header is
 * none.
 *
 * @pointer_size: 4 or 8 is taken for classic payloads; 0: as recorded.
 */
struct etl_file *etl_file_open(const char *path, uint8_t pointer_size, struct error *err);
/* The same over a block of memory, which must outlive it. */
struct etl_file *etl_file_over(const void *bytes, size_t size, uint8_t pointer_size,
			       struct error *err);
void etl_file_close(struct etl_file *file); /* NULL is fine */

#endif
