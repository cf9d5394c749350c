/* SPDX-License-Identifier: MIT */
/*
 * Writes the buffers of a mirror.
 *
 * A filter leaves a few records in each of many buffers, and an uncompressed buffer takes its whole
 * size in the file. So small pieces of one processor are joined: they wait in a list, in the order
 * of their buffers, and a later piece is added to a waiting one of the same processor. Its records
 * then come before those of the pieces between the two. A reader notices that only if times are
 * equal, because it sorts by time first. If any times are equal, or the piece does not fit, the
 * list is written up to the earlier piece, and the later piece waits at the end of the list. Before
 * a buffer is written at once, because it is large or unchanged, the whole list is written.
 *
 * If the content of a compressed buffer has changed, it is compressed again (lib/etl/unpack.c).
 * That takes several times as long as all other work and needs only the buffer, so helper threads
 * do it (lib/etl/unpack.h). The pieces that are being compressed are in a ring buffer and are
 * written in order. Readers limit what compressed buffers may unpack to at a place in the file
 * (lib/etl/index.h); the place is known when a buffer is written, and a buffer beyond the limit is
 * written uncompressed.
 */
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/os.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/mirror_internal.h"
#include "lib/etl/record.h"
#include "lib/etl/scan.h"
#include "lib/etl/unpack.h"
#include "lib/etl/writer.h"

enum { RECORD_TIME = 0x10 /* offset of the raw time in a SYSTEM header */ };

/* Pieces to compress before helpers start; for fewer a thread costs more than it saves. */
enum { THREADS_FROM = 4 };

/* ---- memory ---- */

bool mirror_reserve(struct mirror_block *block, size_t size, struct etw_error *err)
{
	uint8_t *bytes;
	size_t capacity = block->capacity ? block->capacity : MIRROR_USUAL_SIZE;

	if (size <= block->capacity) {
		return true;
	}
	while (capacity < size) {
		capacity *= 2;
	}
	bytes = realloc(block->bytes, capacity);
	if (!bytes) {
		return error_no_memory(err, "a buffer of the recording");
	}
	block->bytes = bytes;
	block->capacity = capacity;
	return true;
}

void mirror_piece_done(struct mirror_piece *piece)
{
	free(piece->block.bytes);
	free(piece->times.at);
	*piece = (struct mirror_piece){ 0 };
}

/* ---- one buffer ---- */

bool mirror_add_time(struct mirror_piece *piece, int64_t time, struct etw_error *err)
{
	struct mirror_times *times = &piece->times;
	int64_t *at = array_grow(times->at, &times->capacity, times->count, sizeof *at);

	if (!at) {
		return error_no_memory(err, "a buffer of the recording");
	}
	times->at = at;
	times->at[times->count++] = time;
	return true;
}

uint32_t mirror_usual_size(const struct etw_mirror *mirror)
{
	uint32_t stated = mirror->header.buffer_size;

	return stated >= 4096 && stated <= MIRROR_STANDARD_MAX ? stated & ~7U : MIRROR_USUAL_SIZE;
}

/* Returns the bytes of an uncompressed buffer on disk. */
static uint32_t plain_size(const struct etw_mirror *mirror, const struct mirror_piece *piece)
{
	const struct etw_buffer_header *from = &piece->from.header;
	uint32_t standard = mirror->header.buffer_size;

	if (!from->compressed && from->size_bytes >= piece->used &&
	    from->size_bytes <= ETL_BUFFER_MAX) {
		return from->size_bytes;
	}
	if (standard >= piece->used && standard <= MIRROR_STANDARD_MAX && standard % 8 == 0) {
		return standard;
	}
	return (piece->used + 7) & ~7U;
}

/* ---- the header of the result ---- */

/* Finds the logfile header in the first buffer, which a reader has accepted. */
static bool find_header(struct etw_mirror *mirror, const uint8_t *bytes, uint32_t size,
			struct etw_error *err)
{
	/* The header type of the record determines the layout, not a pointer size that the user
	 * requested. */
	struct etl_format format = mirror->inputs[0]->format;
	struct etl_walk walk;

	format.classic_pointer_size = 0;
	etl_walk_start(&walk, &format, bytes, size, 0, 0);
	if (!etl_walk_next(&walk) || walk.record.type != ETW_RECORD_SYSTEM ||
	    walk.record.kernel_group != ETW_KERNEL_GROUP_EVENT_TRACE ||
	    walk.record.opcode != ETW_KERNEL_OPCODE_EVENT_TRACE_HEADER) {
		return error_set(err, ETW_ERROR_FORMAT, "its first record is no logfile header");
	}
	mirror->header_payload = (size_t)(walk.record.payload - bytes);
	mirror->header_payload_size = walk.record.payload_size;
	mirror->header_pointer_size = walk.record.pointer_size;
	return true;
}

/* Returns the latest end time of the inputs, or the time of an added record if that is later; 0 for
 * a session that was not stopped. */
static int64_t end_time(const struct etw_mirror *mirror)
{
	int64_t latest = etl_writer_latest_raw(mirror->writer);
	int64_t added = etw_clock_time(&mirror->inputs[0]->format.clock, latest);
	int64_t end = mirror->header.end_time;

	return end != 0 && latest > mirror->start_raw && added > end ? added : end;
}

bool mirror_header_store(struct etw_mirror *mirror, uint8_t *bytes, bool running,
			 struct etw_error *err)
{
	struct logfile_changes header = mirror->header;
	uint32_t added = running ? 0 : etl_writer_largest_buffer(mirror->writer);
	uint32_t largest = added > mirror->largest ? added : mirror->largest;

	header.buffer_size = largest > header.buffer_size ? largest : header.buffer_size;
	header.buffers_written = running ? 1 : etl_writer_buffers(mirror->writer);
	header.end_time = running ? 0 : end_time(mirror);
	if (!logfile_header_change(bytes + mirror->header_payload, mirror->header_payload_size,
				   mirror->header_pointer_size, &header)) {
		return error_set(err, ETW_ERROR_FORMAT, "its logfile header is too short");
	}
	store_u64(bytes + ETL_BUFFER_HEADER_SIZE + RECORD_TIME, (uint64_t)mirror->start_raw);
	return true;
}

/* ---- writing plain buffers ---- */

static bool open_writer(struct etw_mirror *mirror, const struct mirror_piece *piece, uint32_t size,
			struct etw_error *err)
{
	const struct etw_header *first = &mirror->inputs[0]->header;
	uint32_t processors = mirror->header.processors;
	const struct etw_writer_options options = {
		.pointer_size = first->pointer_size == 4 ? 4 : 8,
		.processors = processors < UINT16_MAX ? (uint16_t)processors : UINT16_MAX,
		.processor_index = processors > UINT8_MAX + 1,
		.compressed = mirror->form.packing == ETW_COMPRESSED,
		.clock = mirror->inputs[0]->format.clock.type,
		.perf_frequency = mirror->inputs[0]->format.clock.perf_frequency,
		.cpu_mhz = first->cpu_mhz,
		.start_raw = mirror->start_raw,
		.start_time = mirror->header.start_time,
		.visibility = mirror->visibility,
	};
	struct mirror_block whole = { 0 };

	if (!find_header(mirror, piece->block.bytes, piece->used, err) ||
	    !mirror_header_store(mirror, piece->block.bytes, true, err) ||
	    !mirror_reserve(&whole, size, err)) {
		return false;
	}
	memset(whole.bytes, 0xff, size);
	memcpy(whole.bytes, piece->block.bytes, piece->used);
	mirror->writer = etl_writer_open_with(mirror->path, &options, whole.bytes, size, err);
	free(whole.bytes);
	mirror->output_failed = !mirror->writer;
	return mirror->writer != NULL;
}

bool mirror_failed(const struct etw_mirror *mirror, struct etw_error *err)
{
	return mirror->path && !etw_output_is_standard(mirror->path) ?
		       error_prefix(err, "%s", mirror->path) :
		       false;
}

/* Returns whether everything could be written so far. */
static bool is_written(struct etw_mirror *mirror, struct etw_error *err)
{
	if (etw_writer_good(mirror->writer, err)) {
		return true;
	}
	mirror->output_failed = true;
	return mirror_failed(mirror, err);
}

/* Returns the place of the buffer that is written next. used: its unpacked bytes; size: its bytes
 * in the file. */
static struct etl_place place_of(const struct etw_mirror *mirror, uint32_t used, uint32_t size,
				 bool compressed)
{
	return (struct etl_place){
		.offset = mirror->writer ? etw_writer_written(mirror->writer) : 0,
		.disk_size = size,
		.end = used,
		.compressed = compressed,
	};
}

static void count(struct etw_mirror *mirror, const struct etl_place *place, uint64_t records)
{
	etl_so_far_add(&mirror->written, place, records);
	mirror->counts.records += records;
}

static void store_sizes(const struct mirror_piece *piece, uint8_t *bytes, uint32_t size,
			uint16_t flags)
{
	store_u32(bytes + 0x00, size);
	if (!piece->whole) {
		store_u32(bytes + 0x04, piece->used); /* SavedOffset */
		store_u32(bytes + 0x08, piece->used); /* CurrentOffset */
		store_u32(bytes + 0x30, piece->used); /* Offset */
	}
	store_u16(bytes + 0x34, flags);
}

/*
 * Notes the size of a buffer that has other records than the one it was made from, or has become
 * larger. A reader doubts a buffer that is larger than the header states: it looks for others in
 * it, and a payload may imitate one.
 */
static void note_size(struct etw_mirror *mirror, const struct mirror_piece *piece, uint32_t size)
{
	if ((!piece->whole || size > piece->from.header.size_bytes) && size > mirror->largest) {
		mirror->largest = size;
	}
}

static bool write_plain(struct etw_mirror *mirror, struct mirror_piece *piece,
			struct etw_error *err)
{
	uint32_t size = plain_size(mirror, piece);
	struct etl_place place = place_of(mirror, piece->used, size, false);

	store_sizes(piece, piece->block.bytes, size,
		    piece->from.header.flags & (uint16_t)~ETL_BUFFER_COMPRESSED);
	if (mirror->writer) {
		etl_writer_add_buffer(mirror->writer, piece->block.bytes, piece->used, size);
	} else if (!open_writer(mirror, piece, size, err)) {
		return false;
	}
	note_size(mirror, piece, size);
	count(mirror, &place, piece->records);
	return is_written(mirror, err);
}

/* ---- packing ---- */

static void pack(struct job *job)
{
	struct mirror_pack *pack = (struct mirror_pack *)(void *)job;

	pack->size = ETL_BUFFER_HEADER_SIZE +
		     (uint32_t)etl_compress(pack->piece.block.bytes + ETL_BUFFER_HEADER_SIZE,
					    pack->piece.used - ETL_BUFFER_HEADER_SIZE,
					    pack->packed.bytes + ETL_BUFFER_HEADER_SIZE);
}

/* Writes a compressed piece, or its uncompressed bytes if compression did not help or is not
 * allowed at this place. */
static bool write_packed(struct etw_mirror *mirror, struct mirror_pack *pack, struct etw_error *err)
{
	struct mirror_piece *piece = &pack->piece;
	struct etl_place place = place_of(mirror, piece->used, pack->size, true);

	if (pack->size >= piece->used ||
	    !etl_packed_is_plausible(pack->size - ETL_BUFFER_HEADER_SIZE, piece->used) ||
	    !etl_so_far_admits(&mirror->written, &place, piece->records)) {
		return write_plain(mirror, piece, err);
	}
	memcpy(pack->packed.bytes, piece->block.bytes, ETL_BUFFER_HEADER_SIZE);
	store_sizes(piece, pack->packed.bytes, pack->size,
		    piece->from.header.flags | ETL_BUFFER_COMPRESSED);
	etl_writer_add_buffer(mirror->writer, pack->packed.bytes, pack->size, pack->size);
	note_size(mirror, piece, pack->size);
	count(mirror, &place, piece->records);
	return is_written(mirror, err);
}

static bool write_oldest_pack(struct etw_mirror *mirror, struct etw_error *err)
{
	struct mirror_pack *pack = &mirror->packs[mirror->packs_written++ % MIRROR_PACKS];

	jobs_wait(mirror->jobs, &pack->job);
	return write_packed(mirror, pack, err);
}

static bool write_packs(struct etw_mirror *mirror, struct etw_error *err)
{
	bool good = true;

	while (good && mirror->packs_written < mirror->packs_begun) {
		good = write_oldest_pack(mirror, err);
	}
	return good;
}

/* Takes the piece, which is empty afterwards, and compresses it or submits it to a helper. */
static bool begin_pack(struct etw_mirror *mirror, struct mirror_piece *piece, struct etw_error *err)
{
	struct mirror_pack *next = &mirror->packs[mirror->packs_begun % MIRROR_PACKS];
	struct mirror_piece empty;
	size_t body = piece->used - ETL_BUFFER_HEADER_SIZE;

	if (mirror->packs_begun - mirror->packs_written == MIRROR_PACKS &&
	    !write_oldest_pack(mirror, err)) {
		return false;
	}
	if (!mirror_reserve(&next->packed, ETL_BUFFER_HEADER_SIZE + etl_compress_bound(body),
			    err)) {
		return false;
	}
	empty = next->piece;
	next->piece = *piece;
	*piece = empty;
	piece->used = 0;
	mirror->packs_begun++;
	if (mirror->packs_begun == THREADS_FROM) {
		unsigned threads = mirror->form.threads;

		mirror->jobs = jobs_start(threads ? threads : os_processors(), pack);
	}
	if (!mirror->jobs || body > MIRROR_STANDARD_MAX) {
		pack(&next->job);
		return write_packs(mirror, err);
	}
	jobs_submit(mirror->jobs, &next->job);
	return true;
}

/* ---- writing ---- */

/* Writes a piece, compressed or not as required, after all earlier pieces. */
static bool write_piece(struct etw_mirror *mirror, struct mirror_piece *piece,
			struct etw_error *err)
{
	bool packed = mirror->form.packing == ETW_AS_READ ? piece->from.header.compressed :
							    mirror->form.packing == ETW_COMPRESSED;

	if (packed && mirror->writer) {
		return begin_pack(mirror, piece, err);
	}
	return write_packs(mirror, err) && write_plain(mirror, piece, err);
}

bool mirror_write_as_it_is(struct etw_mirror *mirror, struct etw_file *input,
			   const struct etl_buffer *buffer, uint64_t records, bool *done,
			   struct etw_error *err)
{
	const struct etl_place *from = &buffer->place;
	uint32_t end = buffer->bytes ? from->end : from->disk_size;
	struct etl_place place;
	const uint8_t *bytes = buffer->bytes;
	size_t size = from->end, got;

	*done = false;
	if (!mirror_flush(mirror, err)) {
		return false;
	}
	place = place_of(mirror, end, from->disk_size, from->compressed);
	if (!mirror->writer ||
	    (from->compressed && bytes && !etl_so_far_admits(&mirror->written, &place, records))) {
		return true;
	}
	if (from->compressed || !bytes) {
		size = from->disk_size;
		if (!mirror_reserve(&mirror->as_it_is, size, err) ||
		    !etl_input_read(&input->input, from->offset, mirror->as_it_is.bytes, size, &got,
				    err)) {
			return false;
		}
		if (got < size) {
			return error_set(err, ETW_ERROR_SYSTEM, "has become shorter");
		}
		bytes = mirror->as_it_is.bytes;
	}
	etl_writer_add_buffer(mirror->writer, bytes, size, from->disk_size);
	*done = true;
	if (buffer->bytes) {
		count(mirror, &place, records);
	}
	return is_written(mirror, err);
}

/* ---- joining ---- */

static bool is_ordered(const struct mirror_times *times)
{
	for (size_t i = 1; i < times->count; i++) {
		if (times->at[i] < times->at[i - 1]) {
			return false;
		}
	}
	return true;
}

/* Returns whether two sorted lists of times have a time in common. */
static bool share_a_time(const struct mirror_times *a, const struct mirror_times *b)
{
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		if (a->at[i] == b->at[j]) {
			return true;
		}
		if (a->at[i] < b->at[j]) {
			i++;
		} else {
			j++;
		}
	}
	return false;
}

/* Returns whether the headers allow the records of both pieces in one buffer. */
static bool is_of_the_same(const struct mirror_piece *a, const struct mirror_piece *b)
{
	enum { PROCESSOR_AND_LOGGER = 0x28 };

	return a->from.header.compressed == b->from.header.compressed &&
	       a->from.header.type == b->from.header.type &&
	       memcmp(a->block.bytes + PROCESSOR_AND_LOGGER, b->block.bytes + PROCESSOR_AND_LOGGER,
		      4) == 0;
}

/* Returns the index of the waiting piece that this one can join; pending_count if there is none. */
static size_t find_pending(const struct etw_mirror *mirror, const struct mirror_piece *piece)
{
	size_t i = 0;

	while (i < mirror->pending_count && !is_of_the_same(&mirror->pending[i], piece)) {
		i++;
	}
	return i;
}

static bool can_join(const struct etw_mirror *mirror, size_t at, const struct mirror_piece *piece)
{
	const struct mirror_piece *before = &mirror->pending[at];

	if (piece->used - ETL_BUFFER_HEADER_SIZE > mirror_usual_size(mirror) - before->used ||
	    before->times.at[before->times.count - 1] > piece->times.at[0]) {
		return false;
	}
	for (size_t i = at + 1; i < mirror->pending_count; i++) {
		if (share_a_time(&mirror->pending[i].times, &piece->times)) {
			return false;
		}
	}
	return true;
}

static bool join(struct mirror_piece *before, const struct mirror_piece *piece,
		 struct etw_error *err)
{
	enum { TIME_STAMP = 0x10 };
	uint32_t size = piece->used - ETL_BUFFER_HEADER_SIZE;

	if (!mirror_reserve(&before->block, (size_t)before->used + size, err)) {
		return false;
	}
	for (size_t i = 0; i < piece->times.count; i++) {
		if (!mirror_add_time(before, piece->times.at[i], err)) {
			return false;
		}
	}
	memcpy(before->block.bytes + before->used, piece->block.bytes + ETL_BUFFER_HEADER_SIZE,
	       size);
	/* The joined buffer gets the later time of writing. */
	memcpy(before->block.bytes + TIME_STAMP, piece->block.bytes + TIME_STAMP, 8);
	before->from.header.flags |= piece->from.header.flags;
	before->used += size;
	before->records += piece->records;
	return true;
}

/* Writes the first `count` waiting pieces. */
static bool write_pending(struct etw_mirror *mirror, size_t count, struct etw_error *err)
{
	bool good = true;

	for (size_t i = 0; good && i < count; i++) {
		good = write_piece(mirror, &mirror->pending[i], err);
	}
	/* Moves the written pieces to the end, so that later pieces reuse their memory. */
	for (size_t i = count; i < mirror->pending_count; i++) {
		struct mirror_piece written = mirror->pending[i - count];

		mirror->pending[i - count] = mirror->pending[i];
		mirror->pending[i] = written;
	}
	mirror->pending_count -= count;
	return good;
}

static bool write_all_pending(struct etw_mirror *mirror, struct etw_error *err)
{
	return write_pending(mirror, mirror->pending_count, err);
}

bool mirror_flush(struct etw_mirror *mirror, struct etw_error *err)
{
	return write_all_pending(mirror, err) && write_packs(mirror, err);
}

bool mirror_write(struct etw_mirror *mirror, struct etw_error *err)
{
	bool good = write_all_pending(mirror, err) && write_piece(mirror, &mirror->piece, err);

	mirror->piece.used = 0;
	return good;
}

/* Adds the piece to the end of the waiting ones. */
static bool wait_for_more(struct etw_mirror *mirror, struct etw_error *err)
{
	struct mirror_piece *pending, empty;

	if (!mirror->pending) {
		mirror->pending = calloc(MIRROR_PENDING_MOST, sizeof *mirror->pending);
		if (!mirror->pending) {
			return error_no_memory(err, "buffers of the recording");
		}
	}
	if (mirror->pending_count == MIRROR_PENDING_MOST && !write_all_pending(mirror, err)) {
		return false;
	}
	pending = &mirror->pending[mirror->pending_count++];
	empty = *pending;
	*pending = mirror->piece;
	mirror->piece = empty;
	return true;
}

bool mirror_write_or_join(struct etw_mirror *mirror, struct etw_error *err)
{
	struct mirror_piece *piece = &mirror->piece;
	size_t at;
	bool good;

	/* The times of all records are known only if a callback decides about records. */
	if (!mirror->writer || piece->whole || piece->used > mirror_usual_size(mirror) / 2 ||
	    piece->times.count != piece->records || piece->records == 0 ||
	    !is_ordered(&piece->times)) {
		return mirror_write(mirror, err);
	}
	at = find_pending(mirror, piece);
	if (at < mirror->pending_count && can_join(mirror, at, piece)) {
		good = join(&mirror->pending[at], piece, err);
	} else {
		good = (at == mirror->pending_count || write_pending(mirror, at + 1, err)) &&
		       wait_for_more(mirror, err);
	}
	mirror->piece.used = 0;
	return good;
}
