/* SPDX-License-Identifier: MIT */
#include "etl/load.h"

#include <inttypes.h>

enum {
	HELPER_FROM = 4, /* buffers to unpack; for fewer a thread does not pay */
	AHEAD_SIZE_MAX = 1 << 20,
};

void etl_loader_start(struct etl_loader *loader, struct etl_input *input, struct etl_blocks *blocks,
		      struct etl_index *index)
{
	*loader = (struct etl_loader){ .input = input, .blocks = blocks, .index = index };
}

static struct etl_unpack_job *job_of(struct etl_loader *loader, size_t entry)
{
	return &loader->jobs[entry % ETL_LOAD_AHEAD];
}

static void release_job(struct etl_loader *loader, struct etl_unpack_job *job)
{
	if (job->submitted) {
		etl_unpacker_wait(loader->unpacker, job);
	}
	etl_block_put(loader->blocks, job->packed);
	job->packed = NULL;
}

void etl_loader_done(struct etl_loader *loader)
{
	for (size_t i = 0; i < ETL_LOAD_AHEAD; i++) {
		release_job(loader, &loader->jobs[i]);
		etl_block_put(loader->blocks, loader->jobs[i].out);
		loader->jobs[i].out = NULL;
	}
	etl_unpacker_stop(loader->unpacker);
	loader->unpacker = NULL;
}

/* The first size bytes of an entry as they stand in the file; NULL when they cannot be read. */
static struct etl_block *read_bytes(struct etl_loader *loader, const struct etl_entry *entry,
				    size_t size, struct error *err)
{
	struct etl_block *block = etl_block_get(loader->blocks, size);
	size_t got;

	if (!block) {
		error_set(err, ERROR_NO_MEMORY, "no memory for a buffer of %zu bytes", size);
		return NULL;
	}
	if (!etl_input_read(loader->input, entry->offset, block->bytes, size, &got, err)) {
		etl_block_put(loader->blocks, block);
		return NULL;
	}
	if (got < size) {
		error_set(err, ERROR_SYSTEM, "%zu bytes at %" PRIu64 " cannot be read", size,
			  entry->offset);
		etl_block_put(loader->blocks, block);
		return NULL;
	}
	return block;
}

/* Reads a compressed entry and gets a block for what it unpacks to. */
static bool prepare(struct etl_loader *loader, const struct etl_entry *entry,
		    struct etl_unpack_job *job, struct error *err)
{
	struct etl_block *packed = read_bytes(loader, entry, entry->disk_size, err);
	struct etl_block *out = packed ? etl_block_get(loader->blocks, entry->end) : NULL;

	if (packed && !out) {
		error_set(err, ERROR_NO_MEMORY, "no memory to unpack a buffer");
	}
	if (!out) {
		etl_block_put(loader->blocks, packed);
		return false;
	}
	*job = (struct etl_unpack_job){
		.packed = packed,
		.packed_size = entry->disk_size,
		.out = out,
		.end = entry->end,
	};
	return true;
}

/* Submits the entries up to ETL_LOAD_AHEAD behind this one. Whatever fails here is tried again, and
 * told, when its turn comes. */
static void submit_ahead(struct etl_loader *loader, size_t entry)
{
	const struct etl_index *index = loader->index;

	if (loader->next <= entry) {
		loader->next = entry + 1;
	}
	for (; loader->next < index->count && loader->next < entry + ETL_LOAD_AHEAD;
	     loader->next++) {
		const struct etl_entry *ahead = &index->entries[loader->next];
		struct etl_unpack_job *job = job_of(loader, loader->next);

		if (ahead->compressed && !ahead->unpacked && ahead->end <= AHEAD_SIZE_MAX &&
		    prepare(loader, ahead, job, NULL)) {
			etl_unpacker_submit(loader->unpacker, job);
		}
	}
}

struct etl_block *etl_loader_take(struct etl_loader *loader, size_t i, uint32_t *end,
				  struct error *err)
{
	struct etl_entry *entry = &loader->index->entries[i];
	struct etl_unpack_job *job = job_of(loader, i);
	struct etl_block *block = entry->unpacked;

	if (block) {
		entry->unpacked = NULL;
		loader->index->kept_bytes -= block->capacity;
		*end = entry->end;
		return block;
	}
	if (!entry->compressed) {
		*end = entry->end;
		return read_bytes(loader, entry, entry->end, err);
	}
	if (loader->unpacked < HELPER_FROM && ++loader->unpacked == HELPER_FROM) {
		loader->unpacker = etl_unpacker_start();
	}
	if (job->out) {
		/* What is behind it goes first, so that the helper has something to do while we
		 * wait. */
		submit_ahead(loader, i);
		release_job(loader, job);
	} else {
		if (!prepare(loader, entry, job, err)) {
			return NULL;
		}
		if (loader->unpacker) {
			submit_ahead(loader, i);
		}
		job->end = etl_unpack(job->packed->bytes, job->packed_size, job->out, job->end,
				      &job->good);
		release_job(loader, job);
	}
	block = job->out;
	job->out = NULL;
	*end = job->end;
	return block;
}
