/* SPDX-License-Identifier: MIT */
/*
 * Copies the buffers of recordings.
 *
 * A reader orders records by time, and those of one time by their place in the file. So a recording
 * that is to be read like another one must have the same buffers in the same order; sorting the
 * records into new buffers would lose that. Each buffer is therefore copied by itself: it is walked
 * as a reader does, and the records that stay are moved together. A buffer without a change goes
 * out with the bytes it had, packed ones included; only what a reader would skip makes a
 * difference, because it is left out. The end of a buffer that a session never wrote to is filler
 * and is not copied, since it may hold remains of older records.
 *
 * A changed buffer is built in a "piece": the header of the buffer that it comes from, then
 * records. When replaced records do not fit any more, the piece is written and another one begins
 * with the same header, so the order stays. The piece of the very first buffer becomes the first
 * buffer of the result, which is always plain, because it is written once more at the end: until
 * then its logfile header reads like that of a session that still runs, and a file that is cut
 * meanwhile is readable up to its last whole buffer.
 *
 * Compressed buffers of a hostile recording may unpack to only so much for their place in the file
 * (etl/index.h). Leaving out buffers moves the rest forward, so the same limit is checked for the
 * place of a compressed buffer in the result; beyond it, the buffer is written plain.
 */
#include "etl/mirror.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "base/store.h"
#include "base/text.h"
#include "etl/pack.h"
#include "source/kernel_group.h"

enum {
	DEFAULT_BUFFER_SIZE = 64 << 10,
	STANDARD_MAX = 1 << 20, /* of a buffer size in a header that is believed */
	FLAG_COMPRESSED = 0x40,
	MODE_COMPRESSED = 0x04000000,
	RECORD_TIME = 0x10, /* of the raw time in a SYSTEM header */
};

struct block {
	uint8_t *bytes; /* owned */
	size_t capacity;
};

struct etl_mirror {
	char *path;      /* owned; NULL: in memory */
	char *temporary; /* owned; the name until the end */
	enum etl_mirror_form form;
	struct etl_file *const *inputs; /* borrowed */
	size_t input_count;
	size_t next_input;
	struct logfile_changes header; /* of the result; the count of buffers is still missing */
	int64_t start_raw;             /* the moment of start_time */
	size_t header_payload;         /* offset in the first buffer … */
	size_t header_payload_size;
	uint8_t header_pointer_size;
	struct etl_writer *writer; /* owned; NULL until the first buffer is complete */
	struct etl_so_far written; /* as a reader of the result sees it */
	struct etl_mirror_counts counts;
	struct block piece;
	struct block packed;
};

static bool reserve(struct block *block, size_t size, struct error *err)
{
	uint8_t *bytes;
	size_t capacity = block->capacity ? block->capacity : DEFAULT_BUFFER_SIZE;

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

/* ---- the header of the result ---- */

bool etl_mirror_fits(const struct etl_file *a, const struct etl_file *b, struct error *err)
{
	const struct etl_header *x = &a->header, *y = &b->header;
	const struct source_clock *p = &a->format.clock, *q = &b->format.clock;

	if (x->pointer_size != y->pointer_size) {
		return error_set(err, ERROR_UNSUPPORTED,
				 "has pointers of %" PRIu32 " bytes, not of %" PRIu32,
				 y->pointer_size, x->pointer_size);
	}
	if (x->clock_type != y->clock_type) {
		return error_set(err, ERROR_UNSUPPORTED, "has another clock: %s, not %s",
				 clock_type_name(q->type), clock_type_name(p->type));
	}
	if (p->frequency != q->frequency) {
		return error_set(err, ERROR_UNSUPPORTED,
				 "has a clock of %" PRIu64 " ticks per second, not %" PRIu64,
				 q->frequency, p->frequency);
	}
	if (x->boot_time != y->boot_time) {
		return error_set(err, ERROR_UNSUPPORTED,
				 "is of another machine, or of another boot of it: the boot times "
				 "are %" PRIu64 " s apart",
				 (time_between(x->boot_time, y->boot_time) +
				  time_between(y->boot_time, x->boot_time)) /
					 10000000);
	}
	return true;
}

static uint32_t add_losses(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void merge_headers(struct etl_mirror *mirror)
{
	const struct etl_header *first = &mirror->inputs[0]->header;
	struct logfile_changes *header = &mirror->header;

	*header = (struct logfile_changes){
		.buffer_size = first->buffer_size_bytes,
		.processors = first->processors,
		.log_file_mode = first->mode,
		.start_time = first->start_time,
		.end_time = first->end_time,
		.events_lost = first->events_lost,
		.buffers_lost = first->buffers_lost,
	};
	mirror->start_raw = first->raw_time;
	for (size_t i = 1; i < mirror->input_count; i++) {
		const struct etl_header *next = &mirror->inputs[i]->header;

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
		header->log_file_mode |= next->mode & MODE_COMPRESSED;
		header->events_lost = add_losses(header->events_lost, next->events_lost);
		header->buffers_lost = add_losses(header->buffers_lost, next->buffers_lost);
	}
	if (mirror->form == ETL_FORM_PLAIN) {
		header->log_file_mode &= ~(uint32_t)MODE_COMPRESSED;
	} else if (mirror->form == ETL_FORM_COMPRESSED) {
		header->log_file_mode |= MODE_COMPRESSED;
	}
}

/* Finds the logfile header in the first buffer, which a reader has accepted or will. */
static bool find_header(struct etl_mirror *mirror, const uint8_t *bytes, uint32_t size,
			struct error *err)
{
	/* The layout is that of the record's own pointer size, not of one that was asked for. */
	struct etl_format format = mirror->inputs[0]->format;
	struct etl_walk walk;

	format.classic_pointer_size = 0;
	etl_walk_start(&walk, &format, bytes, size, 0, 0);
	if (!etl_walk_next(&walk) || walk.record.type != RECORD_SYSTEM ||
	    walk.record.kernel_group != KERNEL_GROUP_EVENT_TRACE ||
	    walk.record.opcode != KERNEL_OPCODE_EVENT_TRACE_HEADER) {
		return error_set(err, ERROR_FORMAT, "its first record is no logfile header");
	}
	mirror->header_payload = (size_t)(walk.record.payload - bytes);
	mirror->header_payload_size = walk.record.payload_size;
	mirror->header_pointer_size = walk.record.pointer_size;
	return true;
}

/* Stores the header of the result in the first buffer, at its start as that of a running session.
 */
static bool store_header(struct etl_mirror *mirror, uint8_t *bytes, bool running, struct error *err)
{
	struct logfile_changes header = mirror->header;

	header.buffers_written = running ? 1 : etl_writer_buffers(mirror->writer);
	header.end_time = running ? 0 : header.end_time;
	if (!logfile_header_change(bytes + mirror->header_payload, mirror->header_payload_size,
				   mirror->header_pointer_size, &header)) {
		return error_set(err, ERROR_FORMAT, "its logfile header is too short");
	}
	store_u64(bytes + ETL_BUFFER_HEADER_SIZE + RECORD_TIME, (uint64_t)mirror->start_raw);
	return true;
}

/* ---- writing buffers ---- */

/* A buffer to be written. */
struct made {
	const struct etl_buffer *from;
	uint8_t *bytes; /* with room for nothing more than used; its header is changed */
	uint32_t used;
	uint64_t records;
	bool unchanged; /* a plain buffer, whose header can stay as it is */
};

/* The size of a plain buffer on disk. */
static uint32_t plain_size(const struct etl_mirror *mirror, const struct made *made)
{
	const struct etl_buffer_header *from = &made->from->header;
	uint32_t standard = mirror->header.buffer_size;

	if (!from->compressed && from->size_bytes >= made->used &&
	    from->size_bytes <= ETL_BUFFER_MAX) {
		return from->size_bytes;
	}
	if (standard >= made->used && standard <= STANDARD_MAX && standard % 8 == 0) {
		return standard;
	}
	return (made->used + 7) & ~7U;
}

static bool open_writer(struct etl_mirror *mirror, const struct made *made, uint32_t size,
			struct error *err)
{
	const struct etl_header *first = &mirror->inputs[0]->header;
	uint32_t processors = mirror->header.processors;
	const struct etl_writer_options options = {
		.pointer_size = first->pointer_size == 4 ? 4 : 8,
		.processors = processors < UINT16_MAX ? (uint16_t)processors : UINT16_MAX,
		.processor_index = processors > UINT8_MAX + 1,
		.compressed = mirror->form == ETL_FORM_COMPRESSED,
		.clock = mirror->inputs[0]->format.clock.type,
		.perf_frequency = mirror->inputs[0]->format.clock.perf_frequency,
		.cpu_mhz = first->cpu_mhz,
		.start_raw = mirror->start_raw,
		.start_time = mirror->header.start_time,
	};
	struct block whole = { 0 };

	if (!find_header(mirror, made->bytes, made->used, err) ||
	    !store_header(mirror, made->bytes, true, err) || !reserve(&whole, size, err)) {
		return false;
	}
	memset(whole.bytes, 0xff, size);
	memcpy(whole.bytes, made->bytes, made->used);
	mirror->writer = etl_writer_open_with(mirror->temporary, &options, whole.bytes, size, err);
	free(whole.bytes);
	return mirror->writer != NULL;
}

/* The place of a buffer that is written next: used bytes unpacked, size bytes in the file. */
static struct etl_place place_of(const struct etl_mirror *mirror, uint32_t used, uint32_t size,
				 bool compressed)
{
	return (struct etl_place){
		.offset = mirror->writer ? etl_writer_written(mirror->writer) : 0,
		.disk_size = size,
		.end = used,
		.compressed = compressed,
	};
}

static void count(struct etl_mirror *mirror, const struct etl_place *place, uint64_t records)
{
	etl_so_far_add(&mirror->written, place, records);
	mirror->counts.records += records;
}

static void store_sizes(uint8_t *bytes, uint32_t size, uint32_t used, uint16_t flags)
{
	store_u32(bytes + 0x00, size);
	store_u32(bytes + 0x04, used); /* SavedOffset */
	store_u32(bytes + 0x08, used); /* CurrentOffset */
	store_u32(bytes + 0x30, used); /* Offset */
	store_u16(bytes + 0x34, flags);
}

/* Packs the buffer into mirror->packed. Returns its size on disk; 0: it stays plain. */
static uint32_t pack(struct etl_mirror *mirror, const struct made *made, struct error *err)
{
	uint32_t body = made->used - ETL_BUFFER_HEADER_SIZE;
	size_t size;
	struct etl_place place;

	if (!reserve(&mirror->packed, ETL_BUFFER_HEADER_SIZE + etl_compress_bound(body), err)) {
		return 0;
	}
	size = ETL_BUFFER_HEADER_SIZE + etl_compress(made->bytes + ETL_BUFFER_HEADER_SIZE, body,
						     mirror->packed.bytes + ETL_BUFFER_HEADER_SIZE);
	place = place_of(mirror, made->used, (uint32_t)size, true);
	if (size >= made->used || !etl_so_far_admits(&mirror->written, &place, made->records)) {
		return 0;
	}
	memcpy(mirror->packed.bytes, made->bytes, ETL_BUFFER_HEADER_SIZE);
	return (uint32_t)size;
}

/* Writes a buffer that was made anew, in the form that it is to have. */
static bool write_made(struct etl_mirror *mirror, struct made *made, struct error *err)
{
	uint16_t flags = made->from->header.flags & (uint16_t)~FLAG_COMPRESSED;
	bool packed = mirror->form == ETL_FORM_AS_READ ? made->from->header.compressed :
							 mirror->form == ETL_FORM_COMPRESSED;
	uint32_t size = plain_size(mirror, made), packed_size = 0;
	struct etl_place place = place_of(mirror, made->used, size, false);
	struct error failure = { 0 };
	bool first = !mirror->writer;

	if (packed && !first) {
		packed_size = pack(mirror, made, &failure);
	}
	if (failure.code != ERROR_NONE) {
		return error_set(err, failure.code, "%s", failure.text);
	}
	if (packed_size > 0) {
		place = place_of(mirror, made->used, packed_size, true);
		store_sizes(mirror->packed.bytes, packed_size, made->used, flags | FLAG_COMPRESSED);
		etl_writer_add_buffer(mirror->writer, mirror->packed.bytes, packed_size,
				      packed_size);
	} else {
		if (!made->unchanged) {
			store_sizes(made->bytes, size, made->used, flags);
		}
		if (first && !open_writer(mirror, made, size, err)) {
			return false;
		}
		if (!first) {
			etl_writer_add_buffer(mirror->writer, made->bytes, made->used, size);
		}
	}
	count(mirror, &place, made->records);
	return etl_writer_good(mirror->writer, err);
}

/* Writes a buffer with the bytes that it has. *done: it could be. */
static bool write_as_it_is(struct etl_mirror *mirror, struct etl_file *input,
			   const struct etl_buffer *buffer, uint64_t records, bool *done,
			   struct error *err)
{
	const struct etl_place *from = &buffer->place;
	uint32_t end = buffer->bytes ? from->end : from->disk_size;
	struct etl_place place = place_of(mirror, end, from->disk_size, from->compressed);
	const uint8_t *bytes = buffer->bytes;
	size_t size = from->end, got;

	*done = false;
	if (!mirror->writer ||
	    (from->compressed && bytes && !etl_so_far_admits(&mirror->written, &place, records))) {
		return true;
	}
	if (from->compressed || !bytes) {
		size = from->disk_size;
		if (!reserve(&mirror->packed, size, err) ||
		    !etl_input_read(&input->input, from->offset, mirror->packed.bytes, size, &got,
				    err)) {
			return false;
		}
		if (got < size) {
			return error_set(err, ERROR_SYSTEM, "has become shorter");
		}
		bytes = mirror->packed.bytes;
	}
	etl_writer_add_buffer(mirror->writer, bytes, size, from->disk_size);
	*done = true;
	if (buffer->bytes) {
		count(mirror, &place, records);
	}
	return etl_writer_good(mirror->writer, err);
}

/* ---- one buffer ---- */

struct copy {
	struct etl_mirror *mirror;
	struct etl_file *input;
	const struct etl_mirror_visitor *visitor;
	const struct etl_buffer *buffer; /* the present one */
	uint32_t limit;                  /* of a piece */
	uint32_t used;                   /* of the piece; 0: nothing is changed so far */
	uint64_t records;                /* in the piece, or in the unchanged buffer */
	bool whole;                      /* the piece is the whole buffer, as it was */
	bool merged;                     /* not the first input */
};

static bool write_piece(struct copy *copy, struct error *err)
{
	struct made made = { .from = copy->buffer,
			     .bytes = copy->mirror->piece.bytes,
			     .used = copy->used,
			     .records = copy->records,
			     .unchanged = copy->whole && !copy->buffer->header.compressed };

	copy->records = 0;
	copy->used = ETL_BUFFER_HEADER_SIZE;
	return (made.used == ETL_BUFFER_HEADER_SIZE && !copy->whole) ||
	       write_made(copy->mirror, &made, err);
}

/* Begins the piece of a buffer that is changed from an offset on. */
static bool begin_piece(struct copy *copy, uint32_t up_to, struct error *err)
{
	if (copy->used > 0) {
		return true;
	}
	if (!reserve(&copy->mirror->piece, copy->limit, err)) {
		return false;
	}
	memcpy(copy->mirror->piece.bytes, copy->buffer->bytes, up_to);
	if (copy->merged && copy->buffer->sequence == 0) {
		store_u16(copy->mirror->piece.bytes + 0x36, ETL_BUFFER_GENERIC);
	}
	copy->used = up_to;
	return true;
}

/* Adds a record to the piece, if there is one. */
static bool add_record(struct copy *copy, const uint8_t *bytes, size_t size, struct error *err)
{
	uint32_t padded = (uint32_t)(size + 7) & ~7U;

	if (size < ETL_RECORD_SIZE_MIN || size > UINT16_MAX) {
		return error_set(err, ERROR_LIMIT, "a record of %zu bytes cannot be stored", size);
	}
	if (copy->used > 0) {
		if (padded > copy->limit - copy->used && copy->used > ETL_BUFFER_HEADER_SIZE &&
		    !write_piece(copy, err)) {
			return false;
		}
		if (!reserve(&copy->mirror->piece, (size_t)copy->used + padded, err)) {
			return false;
		}
		memcpy(copy->mirror->piece.bytes + copy->used, bytes, size);
		memset(copy->mirror->piece.bytes + copy->used + size, 0, padded - size);
		copy->used += padded;
	}
	copy->records++;
	return true;
}

/* Whether the record is the logfile header of its input. */
static bool is_first(const struct copy *copy, const struct etl_walk *walk)
{
	return walk->record.index == 0 && copy->buffer->sequence == 0;
}

static bool copy_record(struct copy *copy, const struct etl_walk *walk, struct error *err)
{
	const struct etl_mirror_visitor *visitor = copy->visitor;
	struct etl_mirror_counts *counts = &copy->mirror->counts;
	struct etl_mirror_bytes bytes = { copy->buffer->bytes + walk->record_at,
					  walk->record_size };
	enum etl_mirror_action action = ETL_MIRROR_KEEP;

	if (copy->merged && is_first(copy, walk)) {
		return begin_piece(copy, walk->record_at, err);
	}
	if (visitor->decide) {
		action = visitor->decide(visitor->context, &walk->record, &bytes);
	}
	if (action == ETL_MIRROR_DROP && !is_first(copy, walk)) {
		counts->dropped++;
		return begin_piece(copy, walk->record_at, err);
	}
	if (action == ETL_MIRROR_REPLACE) {
		counts->replaced++;
		if (!begin_piece(copy, walk->record_at, err)) {
			return false;
		}
	}
	return add_record(copy, bytes.at, bytes.size, err);
}

/* What a piece may have: as much as the buffer had, or as is usual. One record may be more. */
static uint32_t limit_of(const struct copy *copy)
{
	uint32_t usual = copy->mirror->header.buffer_size;
	uint32_t end = (copy->buffer->place.end + 7) & ~7U;

	usual = usual >= 4096 && usual <= STANDARD_MAX ? usual & ~7U : DEFAULT_BUFFER_SIZE;
	return end > usual ? end : usual;
}

/* Whether the reader used the buffer up to the end that its header states. */
static bool is_whole(const struct etl_buffer *buffer, const struct etl_walk *walk)
{
	return !walk->stopped && buffer->place.end == buffer->header.end &&
	       buffer->place.disk_size == buffer->header.size_bytes;
}

static bool copy_buffer(struct copy *copy, const struct etl_buffer *buffer,
			struct etl_so_far *so_far, struct etl_damage *damage, struct error *err)
{
	static const struct kernel_choice none;
	struct etl_mirror *mirror = copy->mirror;
	bool same_form = mirror->form == ETL_FORM_AS_READ ||
			 (mirror->form == ETL_FORM_COMPRESSED) == buffer->header.compressed;
	struct etl_walk walk;
	bool done = false;
	uint32_t end;

	copy->buffer = buffer;
	copy->whole = false;
	copy->used = 0;
	copy->records = 0;
	copy->limit = limit_of(copy);
	etl_walk_start(&walk, &copy->input->format, buffer->bytes, buffer->place.end,
		       buffer->place.processor, so_far->records);
	walk.only = copy->visitor->decide ? NULL : &none;
	while (etl_walk_next(&walk)) {
		if (!copy_record(copy, &walk, err)) {
			return false;
		}
	}
	etl_damage_walk(damage, buffer, &walk);
	etl_so_far_add(so_far, &buffer->place, walk.next_index - so_far->records);
	copy->whole = copy->used == 0 && is_whole(buffer, &walk);
	if (copy->whole && same_form &&
	    !write_as_it_is(mirror, copy->input, buffer, copy->records, &done, err)) {
		return false;
	}
	if (done) {
		return true;
	}
	/* What may follow the last record is filler, or damaged. */
	end = copy->whole || walk.at > buffer->place.end ? buffer->place.end : walk.at;
	return begin_piece(copy, end, err) && write_piece(copy, err);
}

/* A buffer of a type that has no records, which is nothing that a callback could look at. */
static bool copy_without_records(struct copy *copy, const struct etl_buffer *buffer,
				 struct error *err)
{
	bool whole = buffer->place.disk_size == buffer->header.size_bytes &&
		     buffer->header.size_bytes <= ETL_BUFFER_MAX &&
		     (buffer->header.type == ETL_BUFFER_EMPTY_MARKER ||
		      buffer->header.type == ETL_BUFFER_DEBUG_INFO);
	bool done;

	return copy->visitor->decide || !whole ||
	       write_as_it_is(copy->mirror, copy->input, buffer, 0, &done, err);
}

/* ---- a mirror ---- */

struct etl_mirror *etl_mirror_open(const char *path, enum etl_mirror_form form,
				   struct etl_file *const *inputs, size_t input_count,
				   struct error *err)
{
	struct etl_mirror *mirror = calloc(1, sizeof *mirror);
	size_t temporary_size = path ? strlen(path) + sizeof ".00000000.partial" : 0;

	if (!mirror) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	mirror->form = form;
	mirror->inputs = inputs;
	mirror->input_count = input_count;
	for (size_t i = 1; i < input_count; i++) {
		if (!etl_mirror_fits(inputs[0], inputs[i], err)) {
			goto fail;
		}
	}
	merge_headers(mirror);
	if (path) {
		mirror->path = text_duplicate(path, strlen(path));
		mirror->temporary = malloc(temporary_size);
		if (!mirror->path || !mirror->temporary) {
			error_no_memory(err, "the name of a recording");
			goto fail;
		}
		/* Another run may write the same file; hash_seed() differs from run to run. */
		snprintf(mirror->temporary, temporary_size, "%s.%08x.partial", path,
			 (unsigned)hash_seed());
	}
	return mirror;

fail:
	etl_mirror_close(mirror);
	return NULL;
}

bool etl_mirror_copy(struct etl_mirror *mirror, const struct etl_mirror_visitor *visitor,
		     struct etl_damage *damage, struct error *err)
{
	struct copy copy = { .mirror = mirror,
			     .input = mirror->inputs[mirror->next_input],
			     .visitor = visitor,
			     .merged = mirror->next_input > 0 };
	struct etl_so_far so_far = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;
	enum etl_step step = ETL_STEP_END;
	uint64_t buffers = 0;
	bool good = true;

	mirror->next_input++;
	etl_file_scan(copy.input, &scan, damage, 0, 0);
	while (good && (step = etl_scan_next(&scan, &buffer, err)) == ETL_STEP_BUFFER) {
		buffers++;
		if (!buffer.bytes) {
			good = copy_without_records(&copy, &buffer, err);
		} else if (!etl_buffer_is_plausible(copy.input, &buffer, &so_far)) {
			etl_damage_implausible(damage, &buffer);
		} else {
			good = copy_buffer(&copy, &buffer, &so_far, damage, err);
		}
		if (visitor->on_buffer) {
			visitor->on_buffer(visitor->buffer_context,
					   buffer.place.offset + buffer.place.disk_size);
		}
	}
	etl_scan_done(&scan);
	good = good && step == ETL_STEP_END;
	if (good) {
		etl_check_count(copy.input, buffers, damage);
	}
	return good;
}

struct etl_writer *etl_mirror_writer(struct etl_mirror *mirror)
{
	return mirror->writer;
}

bool etl_mirror_finish(struct etl_mirror *mirror, struct error *err)
{
	if (!mirror->writer) {
		return error_set(err, ERROR_FORMAT, "there is nothing to write");
	}
	etl_writer_flush(mirror->writer);
	mirror->counts.buffers = etl_writer_buffers(mirror->writer);
	if (!store_header(mirror, etl_writer_first_buffer(mirror->writer), false, err) ||
	    !etl_writer_finish(mirror->writer, err)) {
		return false;
	}
	if (mirror->path) {
		etl_writer_close(mirror->writer);
		mirror->writer = NULL;
		if (!os_file_rename(mirror->temporary, mirror->path, err)) {
			return false;
		}
		free(mirror->temporary);
		mirror->temporary = NULL;
	}
	return true;
}

void etl_mirror_counts(const struct etl_mirror *mirror, struct etl_mirror_counts *counts)
{
	*counts = mirror->counts;
}

const uint8_t *etl_mirror_bytes(const struct etl_mirror *mirror, size_t *size)
{
	return etl_writer_bytes(mirror->writer, size);
}

void etl_mirror_close(struct etl_mirror *mirror)
{
	if (!mirror) {
		return;
	}
	etl_writer_close(mirror->writer);
	if (mirror->temporary) {
		os_file_remove(mirror->temporary);
	}
	free(mirror->path);
	free(mirror->temporary);
	free(mirror->piece.bytes);
	free(mirror->packed.bytes);
	free(mirror);
}
