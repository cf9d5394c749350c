/* SPDX-License-Identifier: MIT */
/*
 * The index of a recording, and the loader that uses it.
 *
 * A recording is replayed in two passes. The first pass walks every buffer once in file order,
 * notes its place and its lowest time, and counts damage; the notes, sorted by time, are the index.
 * The second pass reads a buffer again when the merge of order.c reaches its first time. So a
 * replay in time order needs memory only for the buffers that overlap in time, not for the whole
 * file.
 *
 * Unpacking is most of the work on compressed recordings. Therefore the first pass keeps the
 * unpacked bytes with the index while there is room. A helper thread unpacks the other buffers
 * again before the merge needs them. Another program may change the file between the two passes, so
 * a buffer may then end earlier than the index says, and the merge does not rely on more.
 */
#include "lib/etl/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

bool etl_so_far_admits(const struct etl_so_far *so_far, const struct etl_place *place,
		       uint64_t records)
{
	return so_far->work + place->end / ETL_WORK_BYTES + records <=
	       ETL_WORK_FREE + place->offset + place->disk_size;
}

void etl_so_far_add(struct etl_so_far *so_far, const struct etl_place *place, uint64_t records)
{
	so_far->records += records;
	if (place->compressed) {
		so_far->work += records + place->end / ETL_WORK_BYTES;
	}
}

bool etl_buffer_is_plausible(const struct etw_file *file, const struct etl_buffer *buffer,
			     const struct etl_so_far *so_far)
{
	const struct etl_place *place = &buffer->place;
	struct etl_walk walk;

	if (!place->compressed ||
	    etl_so_far_admits(so_far, place, place->end / ETL_RECORD_SIZE_MIN)) {
		return true;
	}
	/* Records that the walk skips have an index, too. */
	etl_walk_start(&walk, &file->format, buffer->bytes, place->end, place->processor, 0);
	while (etl_so_far_admits(so_far, place, etl_walk_next_index(&walk)) &&
	       etl_walk_next(&walk)) {
	}
	return etl_so_far_admits(so_far, place, etl_walk_next_index(&walk));
}

struct etl_times etl_survey_buffer(const struct etw_file *file, const struct etl_buffer *buffer,
				   struct etl_so_far *so_far, struct etw_damage *damage,
				   const struct etw_visitor *visitor)
{
	struct etl_times times = { .first_time = INT64_MAX, .last_time = INT64_MIN };
	struct etl_walk walk;

	if (!etl_buffer_is_plausible(file, buffer, so_far)) {
		etl_damage_implausible(damage, buffer);
		return times;
	}
	etl_walk_start(&walk, &file->format, buffer->bytes, buffer->place.end,
		       buffer->place.processor, so_far->records);
	walk.only = visitor->only;
	walk.only_ids = visitor->only_ids;
	while (!etl_visitor_stopping(visitor) && etl_walk_survey(&walk, &times)) {
		if (visitor->on_record) {
			visitor->on_record(visitor->record_context, &walk.record);
		}
	}
	etl_damage_walk(damage, buffer, &walk);
	etl_so_far_add(so_far, &buffer->place, etl_walk_next_index(&walk) - so_far->records);
	return times;
}

static int compare_entries(const void *a, const void *b)
{
	const struct etl_entry *x = a;
	const struct etl_entry *y = b;

	if (x->first_time != y->first_time) {
		return x->first_time < y->first_time ? -1 : 1;
	}
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void etl_check_count(const struct etw_file *file, uint64_t buffers, struct etw_damage *damage)
{
	const struct etw_header *header = &file->header;
	bool compressed = (header->mode & ETW_MODE_COMPRESSED) != 0;
	uint32_t least = compressed || header->buffer_size_bytes < ETL_BUFFER_HEADER_SIZE ?
				 ETL_BUFFER_HEADER_SIZE :
				 header->buffer_size_bytes;
	/* Buffers whose beginning cannot be recognised are not missing. */
	uint64_t most = buffers + damage->gap_bytes / least;

	/* Circular files contain fewer buffers than were written. It is not known whether the
	 * header of one of several files counts only the buffers of that file. */
	if (header->end_time != 0 && !damage->truncated && most < header->buffers_written &&
	    !(header->mode & (ETW_MODE_CIRCULAR | ETW_MODE_NEW_FILE))) {
		etw_problem(damage->problems,
			    "cut short: %" PRIu64 " of %" PRIu32 " buffers that were written",
			    buffers, header->buffers_written);
		damage->truncated = true;
	}
}

/* Adds the present buffer of the scan. */
static bool add_buffer(struct etl_index *index, struct etl_scan *scan,
		       const struct etl_buffer *buffer, const struct etl_times *times,
		       uint64_t first_record, struct etw_error *err)
{
	const struct etl_place *place = &buffer->place;
	struct etl_entry *entry =
		array_grow(index->entries, &index->capacity, index->count, sizeof *entry);

	if (!entry) {
		return error_no_memory(err, "the index of a recording");
	}
	index->entries = entry;
	entry += index->count++;
	*entry = (struct etl_entry){
		.offset = place->offset,
		.first_record = first_record,
		.first_time = times->first_time,
		.disk_size = place->disk_size,
		.end = place->end,
		.processor = place->processor,
		.compressed = place->compressed,
		.unordered = times->unordered,
	};
	if (place->compressed &&
	    scan->unpacked->capacity <= index->keep_bytes - index->kept_bytes) {
		entry->unpacked = etl_scan_take_unpacked(scan);
		index->kept_bytes += entry->unpacked->capacity;
	}
	return true;
}

bool etl_index_build(struct etl_index *index, struct etw_file *file, struct etw_damage *damage,
		     const struct etw_visitor *visitor, struct etw_error *err)
{
	struct etl_scan scan;
	struct etl_buffer buffer;
	enum etl_step step = ETL_STEP_BUFFER;
	struct etl_so_far so_far = { 0 };
	bool good = false;

	etl_index_done(index);
	etl_file_scan(file, &scan, damage, 0, 0);
	index->complete = true;
	while (!etl_visitor_stopping(visitor)) {
		struct etl_times times = { 0 };
		uint64_t first_record = so_far.records;

		step = etl_scan_next(&scan, &buffer, err);
		if (step != ETL_STEP_BUFFER) {
			break;
		}
		if (visitor->on_buffer_header) {
			visitor->on_buffer_header(visitor->buffer_context, buffer.place.offset,
						  &buffer.header);
		}
		if (index->complete && index->count == index->entries_max) {
			index->complete = false;
			index->rest_offset = buffer.place.offset;
			index->rest_sequence = buffer.sequence;
			index->rest = so_far;
		}
		if (buffer.bytes) {
			times = etl_survey_buffer(file, &buffer, &so_far, damage, visitor);
		}
		if (times.records > 0 && index->complete &&
		    !add_buffer(index, &scan, &buffer, &times, first_record, err)) {
			goto done;
		}
		index->buffers++;
		index->empty_buffers += index->complete && times.records == 0;
		/* As in a pass in time order, on_buffer() is not called for a buffer in which the
		 * visitor stopped. */
		if (visitor->on_buffer && !etl_visitor_stopping(visitor)) {
			visitor->on_buffer(visitor->buffer_context,
					   buffer.place.offset + buffer.place.disk_size);
		}
	}
	if (step == ETL_STEP_FAILED) {
		goto done;
	}
	if (step == ETL_STEP_END) {
		etl_check_count(file, index->buffers, damage);
	}
	if (index->count > 0) {
		sort_items(index->entries, index->count, sizeof *index->entries, compare_entries);
	}
	good = true;

done:
	etl_scan_done(&scan);
	return good;
}

bool etw_file_visit(struct etw_file *file, struct etw_damage *damage,
		    const struct etw_visitor *visitor, struct etw_error *err)
{
	struct etl_index index = { .entries_max = 0 };
	bool good = etl_index_build(&index, file, damage, visitor, err);

	etl_index_done(&index);
	return good;
}

void etl_index_done(struct etl_index *index)
{
	for (size_t i = 0; i < index->count; i++) {
		etl_block_free(index->entries[i].unpacked);
	}
	free(index->entries);
	*index = (struct etl_index){ .entries_max = index->entries_max,
				     .keep_bytes = index->keep_bytes };
}

/* ---- loading buffers ---- */

void etl_loader_start(struct etl_loader *loader, struct etl_input *input, struct etl_index *index)
{
	*loader = (struct etl_loader){ .input = input,
				       .index = index,
				       .unpacker = { .blocks = &input->blocks } };
}

static struct etl_unpack_job *job_of(struct etl_loader *loader, size_t entry)
{
	return &loader->jobs[entry % ETL_UNPACK_AHEAD];
}

void etl_loader_done(struct etl_loader *loader)
{
	for (size_t i = 0; i < ETL_UNPACK_AHEAD; i++) {
		etl_unpacker_drop(&loader->unpacker, &loader->jobs[i]);
	}
	etl_unpacker_done(&loader->unpacker);
}

/* Reads the first size bytes of an entry from the file, without unpacking; NULL if they cannot be
 * read. */
static struct etl_block *read_bytes(struct etl_loader *loader, const struct etl_entry *entry,
				    size_t size, struct etw_error *err)
{
	struct etl_block *block = etl_block_get(loader->unpacker.blocks, size);
	size_t got;

	if (!block) {
		error_no_memory(err, "a buffer of the recording");
		return NULL;
	}
	if (etl_input_read(loader->input, entry->offset, block->bytes, size, &got, err)) {
		if (got == size) {
			return block;
		}
		error_set(err, ETW_ERROR_SYSTEM, "%zu bytes at %" PRIu64 " cannot be read", size,
			  entry->offset);
	}
	etl_block_put(loader->unpacker.blocks, block);
	return NULL;
}

/* Reads a compressed entry and gets a block for its unpacked bytes. */
static bool prepare(struct etl_loader *loader, const struct etl_entry *entry,
		    struct etl_unpack_job *job, struct etw_error *err)
{
	struct etl_block *packed = read_bytes(loader, entry, entry->disk_size, err);
	struct etl_block *out = packed ? etl_block_get(loader->unpacker.blocks, entry->end) : NULL;

	if (packed && !out) {
		error_no_memory(err, "an unpacked buffer");
	}
	if (!out) {
		etl_block_put(loader->unpacker.blocks, packed);
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

/* Submits the entries up to ETL_UNPACK_AHEAD after this one. A failure is ignored here: the entry
 * is tried again when the merge needs it, and that reports the failure. */
static void submit_ahead(struct etl_loader *loader, size_t entry)
{
	const struct etl_index *index = loader->index;

	if (loader->next <= entry) {
		loader->next = entry + 1;
	}
	for (; loader->next < index->count && loader->next < entry + ETL_UNPACK_AHEAD;
	     loader->next++) {
		const struct etl_entry *ahead = &index->entries[loader->next];
		struct etl_unpack_job *job = job_of(loader, loader->next);

		if (ahead->compressed && !ahead->unpacked && ahead->end <= ETL_UNPACK_AHEAD_MAX &&
		    prepare(loader, ahead, job, NULL)) {
			etl_unpacker_submit(&loader->unpacker, job);
		}
	}
}

struct etl_block *etl_loader_take(struct etl_loader *loader, size_t i, uint32_t *end,
				  struct etw_error *err)
{
	struct etl_entry *entry = &loader->index->entries[i];
	struct etl_unpack_job *job = job_of(loader, i);
	struct etl_block *block = entry->unpacked;
	bool helped;

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
	helped = etl_unpacker_expect(&loader->unpacker);
	if (job->out) {
		/* Submit later entries first, so that the helper has work while we wait. */
		submit_ahead(loader, i);
	} else {
		if (!prepare(loader, entry, job, err)) {
			return NULL;
		}
		if (helped) {
			submit_ahead(loader, i);
		}
		etl_unpack_now(job, job->packed->bytes, job->packed_size);
	}
	etl_unpacker_wait(&loader->unpacker, job);
	block = job->out;
	job->out = NULL;
	*end = job->end;
	return block;
}
