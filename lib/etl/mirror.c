/* SPDX-License-Identifier: MIT */
/*
 * Copies the buffers of recordings.
 *
 * A reader sorts records by time, and records of the same time by their place in the file. A copy
 * that must be read in the same order therefore needs the same buffers in the same order; sorting
 * the records into new buffers would lose the order of equal times. So each buffer is copied
 * separately: it is walked as by a reader, and the records that stay are moved together. A buffer
 * without a change is written with its old bytes, also if it is compressed; but what a reader would
 * skip is left out. The unused end of a buffer is not copied, because it may contain remains of
 * older records.
 *
 * A changed buffer is built in a piece: the header of the input buffer, followed by records. When
 * replaced records do not fit any more, the piece is written and another one begins with the same
 * header, so the order stays. The piece of the very first buffer becomes the first buffer of the
 * result. That is never compressed, because it is written again at the end. Until then its logfile
 * header is that of a session that still runs, so that an incomplete file can be read up to its
 * last whole buffer.
 */

#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/mirror.h>

#include "base/cursor.h"
#include "base/memory.h"
#include "base/text.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/mirror_internal.h"
#include "lib/etl/record.h"
#include "lib/etl/scan.h"
#include "lib/etl/writer.h"

enum { BUFFER_TYPE = 0x36 /* offset in the header */ };

/* ---- one buffer ---- */

struct copy {
	struct etw_mirror *mirror;
	struct etw_file *input;
	const struct etw_mirror_visitor *visitor;
	const struct etl_buffer *buffer; /* the buffer that is being copied */
	uint32_t limit;                  /* most bytes of a piece */
	bool merged;                     /* it is a copy of a second or later input */
};

/* Begins the piece of a buffer whose first change is at offset up_to; the bytes before are copied.
 */
static bool begin_piece(struct copy *copy, uint32_t up_to, struct etw_error *err)
{
	struct mirror_piece *piece = &copy->mirror->piece;

	if (piece->used > 0) {
		return true;
	}
	if (!mirror_reserve(&piece->block, copy->limit, err)) {
		return false;
	}
	memcpy(piece->block.bytes, copy->buffer->bytes, up_to);
	if (copy->merged && copy->buffer->sequence == 0) {
		store_u16(piece->block.bytes + BUFFER_TYPE, ETL_BUFFER_GENERIC);
	}
	piece->used = up_to;
	return true;
}

/* Resets the counts and times of records for the next piece. */
static void start_counting(struct copy *copy)
{
	struct mirror_piece *piece = &copy->mirror->piece;

	piece->from = *copy->buffer;
	piece->used = 0;
	piece->records = 0;
	piece->times.count = 0;
	piece->whole = false;
}

/* Adds a record to the piece. If no piece was begun, the record is only counted. */
static bool add_record(struct copy *copy, const struct etw_record *record, const uint8_t *bytes,
		       size_t size, struct etw_error *err)
{
	struct mirror_piece *piece = &copy->mirror->piece;
	uint32_t padded = (uint32_t)(size + 7) & ~7U;

	if (size < ETL_RECORD_SIZE_MIN || size > UINT16_MAX) {
		return error_set(err, ETW_ERROR_LIMIT, "a record of %zu bytes cannot be stored",
				 size);
	}
	if (piece->used > ETL_BUFFER_HEADER_SIZE &&
	    (piece->used > copy->limit || padded > copy->limit - piece->used)) {
		if (!mirror_write(copy->mirror, err)) {
			return false;
		}
		start_counting(copy);
		if (!begin_piece(copy, ETL_BUFFER_HEADER_SIZE, err)) {
			return false;
		}
	}
	if (piece->used > 0) {
		if (!mirror_reserve(&piece->block, (size_t)piece->used + padded, err)) {
			return false;
		}
		memcpy(piece->block.bytes + piece->used, bytes, size);
		memset(piece->block.bytes + piece->used + size, 0, padded - size);
		piece->used += padded;
	}
	piece->records++;
	return !copy->visitor->decide || mirror_add_time(piece, record->raw_time, err);
}

/* Returns whether the record is the logfile header of its input. */
static bool is_first(const struct copy *copy, const struct etl_walk *walk)
{
	return walk->record.index == 0 && copy->buffer->sequence == 0;
}

static bool copy_record(struct copy *copy, const struct etl_walk *walk, struct etw_error *err)
{
	const struct etw_mirror_visitor *visitor = copy->visitor;
	struct etw_mirror_counts *counts = &copy->mirror->counts;
	uint32_t at = etl_walk_record_at(walk);
	struct etw_mirror_bytes bytes = { copy->buffer->bytes + at, walk->record_size };
	enum etw_mirror_action action = ETW_MIRROR_KEEP;

	if (copy->merged && is_first(copy, walk)) {
		return begin_piece(copy, at, err);
	}
	if (visitor->decide) {
		action = visitor->decide(visitor->context, &walk->record, &bytes);
	}
	if (action == ETW_MIRROR_STOP) {
		return error_set(err, ETW_ERROR_FORMAT, "the copy was stopped");
	}
	if (action == ETW_MIRROR_DROP && !is_first(copy, walk)) {
		counts->dropped++;
		return begin_piece(copy, at, err);
	}
	if (action == ETW_MIRROR_REPLACE) {
		counts->replaced++;
		if (!begin_piece(copy, at, err)) {
			return false;
		}
	}
	return add_record(copy, &walk->record, bytes.at, bytes.size, err);
}

/* Returns the most bytes of a piece: the size of the input buffer or the usual size, whichever is
 * larger. A single record may exceed it. */
static uint32_t limit_of(const struct copy *copy)
{
	uint32_t usual = mirror_usual_size(copy->mirror);
	uint32_t end = (copy->buffer->place.end + 7) & ~7U;

	return end > usual ? end : usual;
}

/* Returns whether the reader used the buffer up to the end that its header states. */
static bool is_whole(const struct etl_buffer *buffer, const struct etl_walk *walk)
{
	return !walk->stopped && buffer->place.end == buffer->header.end &&
	       buffer->place.disk_size == buffer->header.size_bytes;
}

static bool copy_buffer(struct copy *copy, const struct etl_buffer *buffer,
			struct etl_so_far *so_far, struct etw_damage *damage, struct etw_error *err)
{
	static const struct etw_kernel_choice none;
	struct etw_mirror *mirror = copy->mirror;
	bool same_form = mirror->form.packing == ETW_AS_READ ||
			 (mirror->form.packing == ETW_COMPRESSED) == buffer->header.compressed;
	struct mirror_piece *piece = &mirror->piece;
	struct etl_walk walk;
	bool done = false;
	uint32_t end;

	copy->buffer = buffer;
	copy->limit = limit_of(copy);
	start_counting(copy);
	etl_walk_start(&walk, &copy->input->format, buffer->bytes, buffer->place.end,
		       buffer->place.processor, so_far->records);
	walk.only = copy->visitor->decide ? NULL : &none;
	while (etl_walk_next(&walk)) {
		if (!copy_record(copy, &walk, err)) {
			return false;
		}
	}
	etl_damage_walk(damage, buffer, &walk);
	etl_so_far_add(so_far, &buffer->place, etl_walk_next_index(&walk) - so_far->records);
	piece->whole = piece->used == 0 && is_whole(buffer, &walk);
	if (piece->whole && same_form &&
	    !mirror_write_as_it_is(mirror, copy->input, buffer, piece->records, &done, err)) {
		return false;
	}
	if (done) {
		return true;
	}
	/* Bytes after the last record are filler or damaged. */
	end = piece->whole || walk.at > buffer->place.end ? buffer->place.end : walk.at;
	return begin_piece(copy, end, err) &&
	       ((piece->used == ETL_BUFFER_HEADER_SIZE && !piece->whole) ||
		mirror_write_or_join(mirror, err));
}

/* Copies a buffer of a type that has no records. There is nothing for a callback to decide. */
static bool copy_without_records(struct copy *copy, const struct etl_buffer *buffer,
				 struct etw_error *err)
{
	bool whole = buffer->place.disk_size == buffer->header.size_bytes &&
		     buffer->header.size_bytes <= ETL_BUFFER_MAX &&
		     (buffer->header.type == ETL_BUFFER_EMPTY_MARKER ||
		      buffer->header.type == ETL_BUFFER_DEBUG_INFO);
	bool done;

	return copy->visitor->decide || !whole ||
	       mirror_write_as_it_is(copy->mirror, copy->input, buffer, 0, &done, err);
}

/* ---- the inputs and their headers ---- */

static bool are_of_one_session(const struct etw_header *a, const struct etw_header *b)
{
	return a->start_time == b->start_time && a->raw_time == b->raw_time &&
	       strcmp(a->logger_name, b->logger_name) == 0;
}

/* Adds up the losses of the inputs. Parts of one session, such as those of --split, are counted
 * like the files of one recording. */
static uint32_t merged_losses(const struct etw_mirror *mirror, bool of_buffers)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < mirror->input_count; i++) {
		const struct etw_header *first = &mirror->inputs[i]->header;
		struct etl_losses losses = { 0 };
		bool counted = false;

		for (size_t j = 0; j < i && !counted; j++) {
			counted = are_of_one_session(&mirror->inputs[j]->header, first);
		}
		for (size_t j = i; j < mirror->input_count && !counted; j++) {
			const struct etw_header *part = &mirror->inputs[j]->header;

			if (are_of_one_session(first, part)) {
				etl_losses_add(&losses,
					       of_buffers ? part->buffers_lost : part->events_lost);
			}
		}
		sum += etl_losses_of_all(&losses);
	}
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* Sets the header of the result to that of the first input, changed by what the others have. */
static void merge_headers(struct etw_mirror *mirror)
{
	const struct etw_header *first = &mirror->inputs[0]->header;
	struct logfile_changes *header = &mirror->header;

	*header = (struct logfile_changes){
		.buffer_size = first->buffer_size_bytes,
		.processors = first->processors,
		.log_file_mode = first->mode,
		.start_time = first->start_time,
		.end_time = first->end_time,
		.events_lost = merged_losses(mirror, false),
		.buffers_lost = merged_losses(mirror, true),
	};
	mirror->start_raw = first->raw_time;
	for (size_t i = 1; i < mirror->input_count; i++) {
		const struct etw_header *next = &mirror->inputs[i]->header;

		if (next->start_time < header->start_time) {
			header->start_time = next->start_time;
			mirror->start_raw = next->raw_time;
		}
		if (next->end_time > header->end_time) {
			header->end_time = next->end_time;
		}
		if (next->buffer_size_bytes > header->buffer_size) {
			header->buffer_size = next->buffer_size_bytes;
		}
		if (next->processors > header->processors) {
			header->processors = next->processors;
		}
		header->log_file_mode |= next->mode & ETW_MODE_COMPRESSED;
	}
	if (mirror->form.packing == ETW_PLAIN) {
		header->log_file_mode &= ~(uint32_t)ETW_MODE_COMPRESSED;
	} else if (mirror->form.packing == ETW_COMPRESSED) {
		header->log_file_mode |= ETW_MODE_COMPRESSED;
	}
}

/* ---- a mirror ---- */

struct etw_mirror *etw_mirror_open(const char *path, struct etw_mirror_form form,
				   struct etw_file *const *inputs, size_t input_count,
				   struct etw_error *err)
{
	struct etw_mirror *mirror = calloc(1, sizeof *mirror);

	if (!mirror) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	mirror->form = form;
	mirror->inputs = inputs;
	mirror->input_count = input_count;
	for (size_t i = 1; i < input_count; i++) {
		if (!etw_mirror_fits(inputs[0], inputs[i], err)) {
			goto fail;
		}
	}
	merge_headers(mirror);
	mirror->path = path ? text_duplicate(path, strlen(path)) : NULL;
	if (path && !mirror->path) {
		error_no_memory(err, "a recording");
		goto fail;
	}
	return mirror;

fail:
	etw_mirror_close(mirror);
	return NULL;
}

struct etw_mirror *etw_mirror_open_temporary(const char *beside, struct etw_mirror_form form,
					     struct etw_file *const *inputs, size_t input_count,
					     struct etw_error *err)
{
	struct etw_mirror *mirror = etw_mirror_open(beside, form, inputs, input_count, err);

	if (mirror) {
		mirror->visibility = ETW_VISIBLE_NEVER;
	}
	return mirror;
}

/* Moves the scan to the buffer that the visitor requests next. Returns false if there is none. */
static bool seek(const struct etw_mirror_visitor *visitor, struct etw_file *input,
		 struct etl_scan *scan, struct etw_mirror_place *at, struct etl_so_far *so_far,
		 struct etw_damage *damage)
{
	const uint64_t expected = at->offset;

	if (!visitor->seek) {
		return true;
	}
	if (!visitor->seek(visitor->seek_context, at)) {
		return false;
	}
	so_far->records = at->records;
	if (at->offset != expected) {
		etl_scan_done(scan);
		etl_file_scan(input, scan, damage, at->offset, at->buffers);
	}
	return true;
}

bool etw_mirror_copy(struct etw_mirror *mirror, struct etw_file *input,
		     const struct etw_mirror_visitor *visitor, struct etw_damage *damage,
		     struct etw_error *err)
{
	struct copy copy = {
		.mirror = mirror, .input = input, .visitor = visitor, .merged = mirror->begun
	};
	struct etl_so_far so_far = { 0 };
	struct etw_mirror_place at = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;
	enum etl_step step = ETL_STEP_END;
	bool good = true;

	mirror->begun = true;
	etl_file_scan(input, &scan, damage, 0, 0);
	while (good && seek(visitor, input, &scan, &at, &so_far, damage) &&
	       (step = etl_scan_next(&scan, &buffer, err)) == ETL_STEP_BUFFER) {
		if (!buffer.bytes) {
			good = copy_without_records(&copy, &buffer, err);
		} else if (!etl_buffer_is_plausible(input, &buffer, &so_far)) {
			etl_damage_implausible(damage, &buffer);
		} else {
			good = copy_buffer(&copy, &buffer, &so_far, damage, err);
		}
		at = (struct etw_mirror_place){ buffer.place.offset + buffer.place.disk_size,
						buffer.sequence + 1, so_far.records };
		if (visitor->on_buffer) {
			visitor->on_buffer(visitor->buffer_context, at.offset);
		}
	}
	etl_scan_done(&scan);
	good = good && step != ETL_STEP_FAILED && mirror_flush(mirror, err);
	if (good && !visitor->seek) {
		etl_check_count(input, at.buffers, damage);
	}
	return good;
}

bool etw_mirror_output_failed(const struct etw_mirror *mirror)
{
	return mirror->output_failed;
}

struct etw_writer *etw_mirror_writer(struct etw_mirror *mirror)
{
	return mirror->writer;
}

static bool finish(struct etw_mirror *mirror, struct etw_error *err)
{
	if (!mirror->writer) {
		return error_set(err, ETW_ERROR_FORMAT, "there is nothing to write");
	}
	etl_writer_flush(mirror->writer);
	mirror->counts.buffers = etl_writer_buffers(mirror->writer);
	if (memory_has_losses()) {
		return error_no_memory(err, "everything in it");
	}
	return mirror_header_store(mirror, etl_writer_first_buffer(mirror->writer), false, err) &&
	       etw_writer_finish(mirror->writer, err);
}

bool etw_mirror_finish(struct etw_mirror *mirror, struct etw_error *err)
{
	return finish(mirror, err) || mirror_failed(mirror, err);
}

struct etw_file *etw_mirror_result(const struct etw_mirror *mirror, uint8_t pointer_size,
				   struct etw_error *err)
{
	return etl_file_open_shared(etl_writer_file(mirror->writer), mirror->path, pointer_size,
				    err);
}

void etw_mirror_counts(const struct etw_mirror *mirror, struct etw_mirror_counts *counts)
{
	*counts = mirror->counts;
}

const uint8_t *etw_mirror_bytes(const struct etw_mirror *mirror, size_t *size)
{
	return etl_writer_bytes(mirror->writer, size);
}

void etw_mirror_close(struct etw_mirror *mirror)
{
	if (!mirror) {
		return;
	}
	jobs_stop(mirror->jobs);
	for (size_t i = 0; i < MIRROR_PACKS; i++) {
		mirror_piece_done(&mirror->packs[i].piece);
		free(mirror->packs[i].packed.bytes);
	}
	etw_writer_close(mirror->writer);
	free(mirror->path);
	mirror_piece_done(&mirror->piece);
	for (size_t i = 0; mirror->pending && i < MIRROR_PENDING_MOST; i++) {
		mirror_piece_done(&mirror->pending[i]);
	}
	free(mirror->pending);
	free(mirror->as_it_is.bytes);
	free(mirror);
}
