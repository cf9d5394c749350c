/* SPDX-License-Identifier: MIT */
/*
 * Scans the buffers of a recording.
 *
 * A recording is a sequence of buffers, each with a header of 72 bytes and the records of one
 * processor. Only the size in a buffer's own header leads to the next buffer; the buffer size in
 * the logfile header does not (compressed buffers differ in size, and so does the first one).
 * Therefore a bad size ends the scan, and any other damage costs one buffer.
 *
 * Bytes are read through a window that moves forward with the scan. Plain buffers are used in
 * place, so no other buffer is read ahead of them. Compressed buffers are copied out of the window:
 * after the first few of them, up to ETW_UNPACK_AHEAD are read ahead, and a helper thread unpacks
 * them while the caller works on earlier ones.
 *
 * Recordings are untrusted input. Sizes are compared with the rest of the file before memory is
 * allocated for them, and a compressed buffer that claims to unpack to implausibly many bytes is
 * dropped. Each drop is counted in struct etw_damage and reported as a sentence; the number of
 * sentences is bounded.
 */
#include "lib/etl/scan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text.h"
#include "lib/etl/packed.h"

enum {
	WINDOW_SIZE = 256 << 10,
	/* Bounds what hostile buffers unpack to (docs/etl-format.md section 18). */
	RATIO_CHECK_FROM = 1 << 20,
	RATIO_MAX = 1000,
	/* The largest packed size of ETW_BUFFER_MAX bytes: 4 bytes of flags for 32 literals. */
	PACKED_MAX = ETW_BUFFER_MAX / 8 * 9 + ETW_BUFFER_HEADER_SIZE + 4,

	FLAG_PROCESSOR_INDEX = 0x20,
	FLAG_COMPRESSED = 0x40,
};

/* ---- input ---- */

static bool add_part(struct etw_input *input, const char *path, struct etw_error *err)
{
	struct os_file *file = etl_packed_open(path, &etl_packed_limits, err);
	char *copy;

	if (!file) {
		return false;
	}
	copy = text_duplicate(path, strlen(path));
	if (!copy) {
		os_file_close(file);
		return error_no_memory(err, "a recording");
	}
	input->size_bytes += os_file_size(file);
	input->parts[input->part_count++] =
		(struct etw_part){ .file = file, .path = copy, .end = input->size_bytes };
	return true;
}

static bool make_parts(struct etw_input *input, size_t count, struct etw_error *err)
{
	*input = (struct etw_input){ .parts = calloc(count, sizeof *input->parts) };
	return input->parts || error_no_memory(err, "a recording");
}

bool etl_input_open(struct etw_input *input, const char *path, struct etw_error *err)
{
	if (make_parts(input, 1, err) && add_part(input, path, err)) {
		return true;
	}
	etl_input_close(input);
	return false;
}

bool etl_input_open_all(struct etw_input *input, const char *const *paths, size_t count,
			struct etw_error *err)
{
	bool good = make_parts(input, count, err);

	for (size_t i = 0; good && i < count; i++) {
		good = add_part(input, paths[i], err) || error_prefix(err, "%s", paths[i]);
	}
	if (!good) {
		etl_input_close(input);
	}
	return good;
}

void etl_input_over(struct etw_input *input, const void *bytes, size_t size)
{
	*input = (struct etw_input){ .size_bytes = size, .memory = bytes };
}

static void (*report_change)(const char *path, const char *change); /* NULL: nothing is reported */

void etw_file_report_changes(void (*report)(const char *path, const char *change))
{
	report_change = report;
}

static void close_part(struct etw_part *part)
{
	const char *change = report_change ? os_file_change(part->file) : NULL;

	if (change) {
		report_change(part->path, change);
	}
	os_file_close(part->file);
	free(part->path);
}

void etl_input_close(struct etw_input *input)
{
	etl_blocks_done(&input->blocks);
	for (size_t i = 0; i < input->part_count; i++) {
		close_part(&input->parts[i]);
	}
	free(input->parts);
	*input = (struct etw_input){ 0 };
}

/* The number of the file that has the byte at the offset; part_count: none has. */
static size_t part_at(const struct etw_input *input, uint64_t offset)
{
	size_t i = 0;

	while (i < input->part_count && offset >= input->parts[i].end) {
		i++;
	}
	return i;
}

uint64_t etw_input_file_end(const struct etw_input *input, uint64_t offset)
{
	size_t i = part_at(input, offset);

	return i < input->part_count ? input->parts[i].end : input->size_bytes;
}

const char *etw_input_change(const struct etw_input *input)
{
	const char *change = NULL;

	for (size_t i = 0; i < input->part_count && !change; i++) {
		change = os_file_change(input->parts[i].file);
	}
	return change;
}

static bool read_parts(struct etw_input *input, uint64_t offset, uint8_t *bytes, size_t size,
		       size_t *got, struct etw_error *err)
{
	*got = 0;
	for (size_t i = part_at(input, offset); i < input->part_count && *got < size; i++) {
		const struct etw_part *part = &input->parts[i];
		uint64_t start = i > 0 ? input->parts[i - 1].end : 0;
		uint64_t left = part->end - (offset + *got);
		size_t most = size - *got < left ? size - *got : (size_t)left;
		size_t read;

		if (!os_file_read(part->file, offset + *got - start, bytes + *got, most, &read,
				  err)) {
			return false;
		}
		*got += read;
		if (read < most) {
			break;
		}
	}
	return true;
}

bool etl_input_read(struct etw_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
		    struct etw_error *err)
{
	if (input->parts) {
		return read_parts(input, offset, bytes, size, got, err);
	}
	if (offset >= input->size_bytes) {
		*got = 0;
		return true;
	}
	*got = size;
	if (size > input->size_bytes - offset) {
		*got = (size_t)(input->size_bytes - offset);
	}
	if (*got > 0) {
		memcpy(bytes, input->memory + offset, *got);
	}
	return true;
}

/* ---- problems ---- */

void etw_problem(struct etw_problems *problems, const char *format, ...)
{
	char sentence[256];
	char *copy = NULL;
	va_list arguments;

	if (!problems) {
		return;
	}
	if (problems->count < ETW_PROBLEMS_MAX) {
		va_start(arguments, format);
		vsnprintf(sentence, sizeof sentence, format, arguments);
		va_end(arguments);
		copy = text_duplicate(sentence, strlen(sentence));
	}
	if (copy) {
		problems->sentences[problems->count++] = copy;
	} else {
		problems->dropped++;
	}
}

void etw_problems_done(struct etw_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++) {
		free(problems->sentences[i]);
	}
	*problems = (struct etw_problems){ 0 };
}

/* Reports damage of a buffer: "buffer 3 at 196608: …". */
#define buffer_problem(damage, buffer, format, ...)                                   \
	etw_problem((damage)->problems, "buffer %" PRIu64 " at %" PRIu64 ": " format, \
		    (buffer)->sequence, (buffer)->place.offset, __VA_ARGS__)

void etl_damage_walk(struct etw_damage *damage, const struct etw_buffer *buffer,
		     const struct etl_walk *walk)
{
	if (walk->stopped) {
		buffer_problem(damage, buffer, "record at %" PRIu32 " of %" PRIu32 ": %s",
			       walk->stopped_at, walk->end, walk->stopped);
		damage->bad_records++;
	}
	if (walk->bad_items > 0) {
		buffer_problem(damage, buffer,
			       "%" PRIu32 " records without payload because of bad extended "
			       "items, the last at %" PRIu32,
			       walk->bad_items, walk->bad_items_at);
		damage->bad_records += walk->bad_items;
	}
}

void etl_damage_implausible(struct etw_damage *damage, const struct etw_buffer *buffer)
{
	buffer_problem(damage, buffer,
		       "%" PRIu32 " bytes that unpack to %" PRIu32
		       ", with the buffers before it more than is plausible: dropped",
		       buffer->place.disk_size, buffer->place.end);
	damage->bad_buffers++;
}

/* ---- headers ---- */

void etl_buffer_header_read(struct etw_buffer_header *header, const uint8_t *bytes)
{
	uint32_t saved_offset = etw_load_u32(bytes + 0x04);
	uint32_t offset = etw_load_u32(bytes + 0x30);
	uint16_t flags = etw_load_u16(bytes + 0x34);
	uint16_t processor = etw_load_u16(bytes + 0x28);
	uint8_t any = 0;

	for (unsigned i = 0; i < ETW_BUFFER_HEADER_SIZE; i++) {
		any |= bytes[i];
	}
	*header = (struct etw_buffer_header){
		.size_bytes = etw_load_u32(bytes),
		/* SavedOffset can be stale: observed in process_data_32_v1.etl and
		   SelfDescribingSingleEvent.etl. */
		.end = offset ? offset : saved_offset,
		.flags = flags,
		.type = etw_load_u16(bytes + 0x36),
		/* Without the flag the high byte is an alignment: 0x080f is processor 15 in
		   image_data_32_v0.etl. */
		.processor = flags & FLAG_PROCESSOR_INDEX ? processor : processor & 0xff,
		.compressed = flags & FLAG_COMPRESSED,
		.all_zero = any == 0,
	};
}

/*
 * Whether a buffer of this type contains records. Types that are not documented are assumed to
 * contain some.
 */
static bool has_records(const struct etw_buffer_header *header)
{
	return header->type != ETL_BUFFER_EMPTY_MARKER && header->type != ETL_BUFFER_DEBUG_INFO;
}

/* ---- the scan ---- */

void etw_scan_start(struct etw_scan *scan, struct etw_input *input, struct etw_damage *damage,
		    bool preallocated, uint64_t offset, uint64_t sequence)
{
	*scan = (struct etw_scan){
		.input = input,
		.unpacker = { .blocks = &input->blocks },
		.damage = damage,
		.preallocated = preallocated,
		.offset = offset,
		.sequence = sequence,
		.end = ETW_STEP_BUFFER,
	};
}

static struct etw_ahead *ahead_at(struct etw_scan *scan, unsigned i)
{
	return &scan->ahead[(scan->ahead_first + i) % ETW_UNPACK_AHEAD];
}

void etw_scan_done(struct etw_scan *scan)
{
	for (; scan->ahead_count > 0; scan->ahead_count--) {
		etl_unpacker_drop(&scan->unpacker, &ahead_at(scan, scan->ahead_count - 1)->job);
	}
	etl_unpacker_done(&scan->unpacker);
	free(scan->window);
	scan->window = NULL;
	etl_block_put(scan->unpacker.blocks, scan->unpacked);
	scan->unpacked = NULL;
}

struct etw_block *etw_scan_take_unpacked(struct etw_scan *scan)
{
	struct etw_block *block = scan->unpacked;

	scan->unpacked = NULL;
	return block;
}

/* Of a window that has room for size bytes: no more than a small input has. */
static size_t window_capacity(const struct etw_input *input, size_t size)
{
	size_t most = input->size_bytes < WINDOW_SIZE ? (size_t)input->size_bytes : WINDOW_SIZE;

	return size > most ? size : most;
}

/* Returns size bytes at an offset inside the input; NULL if they cannot be read. */
static const uint8_t *view(struct etw_scan *scan, uint64_t offset, size_t size,
			   struct etw_error *err)
{
	uint64_t skip = offset - scan->window_offset;
	size_t got;

	if (offset >= scan->window_offset && skip <= scan->window_size &&
	    size <= scan->window_size - (size_t)skip) {
		return scan->window + skip;
	}
	if (size > scan->window_capacity || !scan->window) {
		size_t capacity = window_capacity(scan->input, size);

		free(scan->window);
		scan->window_size = 0;
		scan->window = malloc(capacity);
		scan->window_capacity = scan->window ? capacity : 0;
		if (!scan->window) {
			error_no_memory(err, "a buffer of the recording");
			return NULL;
		}
	}
	if (!etl_input_read(scan->input, offset, scan->window, scan->window_capacity, &got, err)) {
		return NULL;
	}
	scan->window_offset = offset;
	scan->window_size = got;
	if (got < size) {
		error_set(err, ETW_ERROR_SYSTEM, "%zu bytes at %" PRIu64 " cannot be read", size,
			  offset);
		return NULL;
	}
	return scan->window;
}

bool etl_packed_is_plausible(uint32_t packed, uint32_t end)
{
	return end <= RATIO_CHECK_FROM || end / RATIO_MAX <= packed;
}

/* Finds the end of the valid bytes. Returns false if there are none. */
static bool check_end(struct etw_scan *scan, struct etw_buffer *buffer)
{
	const struct etw_buffer_header *header = &buffer->header;
	struct etw_place *place = &buffer->place;

	if (header->end < ETW_BUFFER_HEADER_SIZE || header->end > ETW_BUFFER_MAX) {
		buffer_problem(scan->damage, buffer, "its data end at %" PRIu32 ": dropped",
			       header->end);
		scan->damage->bad_buffers++;
		return false;
	}
	place->end = header->end;
	if (header->compressed) {
		uint32_t packed = place->disk_size - ETW_BUFFER_HEADER_SIZE;

		if (place->disk_size > PACKED_MAX ||
		    !etl_packed_is_plausible(packed, header->end)) {
			buffer_problem(scan->damage, buffer,
				       "%" PRIu32 " bytes cannot unpack to %" PRIu32 ": dropped",
				       packed, header->end);
			scan->damage->bad_buffers++;
			return false;
		}
		return true;
	}
	if (place->end > header->size_bytes) {
		buffer_problem(scan->damage, buffer,
			       "its data end at %" PRIu32 ", beyond its size of %" PRIu32,
			       place->end, header->size_bytes);
		scan->damage->bad_records++;
		place->end = header->size_bytes;
	}
	if (place->end > place->disk_size) {
		place->end = place->disk_size;
	}
	return true;
}

/* Unpacks a compressed buffer, at once or with a job. */
static bool start_unpacking(struct etw_scan *scan, struct etw_ahead *ahead, struct etw_error *err)
{
	const struct etw_place *place = &ahead->buffer.place;
	struct etw_unpack_job *job = &ahead->job;
	const uint8_t *bytes = view(scan, place->offset, place->disk_size, err);

	if (!bytes) {
		return false;
	}
	job->out = etl_block_get(scan->unpacker.blocks, place->end);
	if (!job->out) {
		return error_no_memory(err, "an unpacked buffer");
	}
	ahead->unpacking = true;
	job->end = place->end;
	/* Large buffers would take too much memory if they were read ahead. */
	if (etl_unpacker_expect(&scan->unpacker) && place->end <= ETW_UNPACK_AHEAD_MAX) {
		job->packed = etl_block_get(scan->unpacker.blocks, place->disk_size);
	}
	if (!job->packed) {
		etl_unpack_now(job, bytes, place->disk_size);
		return true;
	}
	memcpy(job->packed->bytes, bytes, place->disk_size);
	job->packed_size = place->disk_size;
	etl_unpacker_submit(&scan->unpacker, job);
	return true;
}

/* Waits for the job of start_unpacking(), sets buffer->bytes and reports invalid data. */
static void finish_unpacking(struct etw_scan *scan, struct etw_ahead *ahead)
{
	struct etw_buffer *buffer = &ahead->buffer;
	struct etw_unpack_job *job = &ahead->job;
	uint32_t whole = buffer->place.end;
	/* A buffer that the end of the file cuts is already reported, and its bytes are used. */
	bool cut = buffer->place.disk_size < buffer->header.size_bytes;

	etl_unpacker_wait(&scan->unpacker, job);
	scan->unpacked = job->out;
	job->out = NULL;
	buffer->place.end = job->end;
	if (!job->good && !cut) {
		buffer_problem(scan->damage, buffer,
			       "its compressed data make no sense after %" PRIu32 " bytes: dropped",
			       job->end - ETW_BUFFER_HEADER_SIZE);
		scan->damage->bad_buffers++;
		return;
	}
	if (job->end < whole && !cut) {
		buffer_problem(scan->damage, buffer,
			       "its compressed data end after %" PRIu32 " of %" PRIu32 " bytes",
			       job->end - ETW_BUFFER_HEADER_SIZE, whole - ETW_BUFFER_HEADER_SIZE);
		scan->damage->bad_records++;
	}
	buffer->bytes = scan->unpacked->bytes;
}

/* Reads the next header. ETW_STEP_END: the recording ends here. */
static enum etw_step next_header(struct etw_scan *scan, struct etw_buffer *buffer,
				 struct etw_error *err)
{
	struct etw_buffer_header *header = &buffer->header;
	uint64_t left = etw_input_file_end(scan->input, scan->offset) - scan->offset;
	const uint8_t *bytes;

	if (left == 0) {
		return ETW_STEP_END;
	}
	if (left < ETW_BUFFER_HEADER_SIZE) {
		buffer_problem(scan->damage, buffer,
			       "cut short: %" PRIu64 " of %d bytes of its header", left,
			       (int)ETW_BUFFER_HEADER_SIZE);
		scan->damage->truncated = true;
		return ETW_STEP_END;
	}
	bytes = view(scan, scan->offset, ETW_BUFFER_HEADER_SIZE, err);
	if (!bytes) {
		return ETW_STEP_FAILED;
	}
	etl_buffer_header_read(header, bytes);
	if (header->size_bytes < ETW_BUFFER_HEADER_SIZE) {
		/* A preallocated file ends in zeros. */
		if (!header->all_zero || !scan->preallocated) {
			buffer_problem(scan->damage, buffer,
				       "size %" PRIu32 " is below the %d-byte header; the "
				       "recording cannot be followed beyond it",
				       header->size_bytes, (int)ETW_BUFFER_HEADER_SIZE);
			scan->damage->bad_buffers++;
		}
		return ETW_STEP_END;
	}
	buffer->place.disk_size = header->size_bytes;
	if (header->size_bytes > left) {
		buffer->place.disk_size = (uint32_t)left;
		buffer_problem(scan->damage, buffer, "cut short: %" PRIu64 " of %" PRIu32 " bytes",
			       left, header->size_bytes);
		scan->damage->truncated = true;
	}
	buffer->place.processor = header->processor;
	buffer->place.compressed = header->compressed;
	return ETW_STEP_BUFFER;
}

/* Reads one more buffer. */
static enum etw_step read_buffer(struct etw_scan *scan, struct etw_ahead *ahead,
				 struct etw_error *err)
{
	struct etw_buffer *buffer = &ahead->buffer;
	enum etw_step step;

	*ahead = (struct etw_ahead){
		.buffer = { .sequence = scan->sequence, .place.offset = scan->offset },
	};
	if (scan->offset > scan->input->size_bytes) {
		return ETW_STEP_END;
	}
	/* Where one file of several cannot be followed any more, the next one still can. */
	while ((step = next_header(scan, buffer, err)) == ETW_STEP_END &&
	       etw_input_file_end(scan->input, scan->offset) < scan->input->size_bytes) {
		scan->offset = etw_input_file_end(scan->input, scan->offset);
		buffer->place.offset = scan->offset;
	}
	if (step != ETW_STEP_BUFFER) {
		return step;
	}
	scan->sequence++;
	scan->offset += buffer->place.disk_size;
	if (!has_records(&buffer->header) || !check_end(scan, buffer)) {
		return ETW_STEP_BUFFER;
	}
	if (buffer->place.compressed) {
		return start_unpacking(scan, ahead, err) ? ETW_STEP_BUFFER : ETW_STEP_FAILED;
	}
	buffer->bytes = view(scan, buffer->place.offset, buffer->place.end, err);
	return buffer->bytes ? ETW_STEP_BUFFER : ETW_STEP_FAILED;
}

/* Whether another buffer can be read ahead. The bytes of a plain buffer are in the window, which
 * must not move while they are used. */
static bool may_read_ahead(struct etw_scan *scan)
{
	if (scan->end != ETW_STEP_BUFFER || scan->ahead_count == ETW_UNPACK_AHEAD) {
		return false;
	}
	return scan->ahead_count == 0 ||
	       (scan->unpacker.jobs && !ahead_at(scan, scan->ahead_count - 1)->buffer.bytes);
}

enum etw_step etw_scan_next(struct etw_scan *scan, struct etw_buffer *buffer, struct etw_error *err)
{
	struct etw_ahead *ahead;

	etl_block_put(scan->unpacker.blocks, scan->unpacked);
	scan->unpacked = NULL;
	while (may_read_ahead(scan)) {
		scan->end = read_buffer(scan, ahead_at(scan, scan->ahead_count), &scan->error);
		scan->ahead_count += scan->end == ETW_STEP_BUFFER;
	}
	if (scan->ahead_count == 0) {
		*buffer = (struct etw_buffer){ .place.offset = scan->offset };
		if (scan->end == ETW_STEP_FAILED) {
			error_set(err, scan->error.code, "%s", scan->error.text);
		}
		return scan->end;
	}
	ahead = ahead_at(scan, 0);
	if (ahead->unpacking) {
		finish_unpacking(scan, ahead);
	}
	*buffer = ahead->buffer;
	scan->ahead_first = (scan->ahead_first + 1) % ETW_UNPACK_AHEAD;
	scan->ahead_count--;
	return ETW_STEP_BUFFER;
}
