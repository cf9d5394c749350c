/* SPDX-License-Identifier: MIT */
/*
 * Brings the buffers of an index back for the second pass, in the index's order; compressed ones
 * are unpacked ahead.
 */
#ifndef ETL_LOAD_H
#define ETL_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etl/block.h"
#include "etl/index.h"
#include "etl/input.h"
#include "etl/unpack.h"

enum { ETL_LOAD_AHEAD = 8 };

struct etl_loader {
	struct etl_input *input; /* borrowed, as is what follows */
	struct etl_blocks *blocks;
	struct etl_index *index;
	struct etl_unpacker *unpacker; /* owned; NULL until there is enough to unpack */
	unsigned unpacked;             /* buffers so far, up to what it takes to start one */
	size_t next;                   /* entry that comes behind those submitted */
	struct etl_unpack_job jobs[ETL_LOAD_AHEAD]; /* of entry i: i modulo their number */
};

void etl_loader_start(struct etl_loader *loader, struct etl_input *input, struct etl_blocks *blocks,
		      struct etl_index *index);

/*
 * The bytes of an entry, unpacked, in a block that becomes the caller's; *end is where they end,
 * less than the entry's when the file was changed meanwhile. NULL when they cannot be read. Entries
 * are asked for in order, each once.
 */
struct etl_block *etl_loader_take(struct etl_loader *loader, size_t entry, uint32_t *end,
				  struct error *err);
void etl_loader_done(struct etl_loader *loader);

#endif
