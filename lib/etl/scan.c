/* SPDX-License-Identifier: MIT */
/*
 * Scans the buffers of a recording.
 *
 * A recording is a sequence of buffers, each with a header of 72 bytes and the records of one
 * processor. The size in the header of a buffer leads to the next buffer. The buffer size in the
 * logfile header cannot be used, because compressed buffers and the first one have other sizes. If
 * no buffer follows at that place, the scan searches for the next header (buffer_header.c), so that
 * only damaged buffers are lost. The scan depends only on the bytes from its place on and on the
 * logfile header, so all passes read the same buffers, wherever they start. No place is searched
 * twice, and a search ends after SEARCH_MOST bytes, because a sparse file can be much longer than
 * its contents.
 *
 * Bytes are read through a window that moves forward with the scan. Uncompressed buffers are used
 * in the window itself, so nothing is read ahead while one is in use. Compressed buffers are copied
 * out of the window: after the first few of them, up to ETL_UNPACK_AHEAD are read ahead, and a
 * helper thread unpacks them while the caller works on earlier ones.
 *
 * Recordings are untrusted input. Sizes are compared with the rest of the file before memory is
 * allocated for them, and a compressed buffer that claims to unpack to implausibly many bytes is
 * dropped. Every loss is counted in struct etw_damage and reported as a sentence; the number of
 * sentences is limited.
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
	SEARCH_MOST = 256 << 20,
	/* Limits for what hostile buffers unpack to (docs/etl-format.md section 18). */
	RATIO_CHECK_FROM = 1 << 20,
	RATIO_MAX = 1000,
};

/* ---- input ---- */

/* file: owned, also on failure; NULL: it could not be opened. */
static bool add_part(struct etl_input *input, struct os_file *file, const char *path,
		     struct etw_error *err)
{
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
		(struct etl_part){ .file = file, .path = copy, .end = input->size_bytes };
	return true;
}

static bool make_parts(struct etl_input *input, size_t count, struct etw_error *err)
{
	*input = (struct etl_input){ .parts = calloc(count, sizeof *input->parts) };
	return input->parts || error_no_memory(err, "a recording");
}

bool etl_input_open(struct etl_input *input, const char *path, struct etw_error *err)
{
	if (make_parts(input, 1, err) &&
	    add_part(input, etl_packed_open(path, &etl_packed_limits, err), path, err)) {
		return true;
	}
	etl_input_close(input);
	return false;
}

bool etl_input_share(struct etl_input *input, const struct os_file *file, const char *path,
		     struct etw_error *err)
{
	if (make_parts(input, 1, err) && add_part(input, os_file_share(file, err), path, err)) {
		return true;
	}
	etl_input_close(input);
	return false;
}

bool etl_input_open_all(struct etl_input *input, const char *const *paths, size_t count,
			struct etw_error *err)
{
	bool good = make_parts(input, count, err);

	for (size_t i = 0; good && i < count; i++) {
		good = add_part(input, etl_packed_open(paths[i], &etl_packed_limits, err), paths[i],
				err) ||
		       error_prefix(err, "%s", paths[i]);
	}
	if (!good) {
		etl_input_close(input);
	}
	return good;
}

void etl_input_over(struct etl_input *input, const void *bytes, size_t size)
{
	*input = (struct etl_input){ .size_bytes = size, .memory = bytes };
}

static void (*report_change)(const char *path,
			     const char *change); /* NULL: changes are not reported */

void etw_file_report_changes(void (*report)(const char *path, const char *change))
{
	report_change = report;
}

static void close_part(struct etl_part *part)
{
	const char *change = report_change ? os_file_change(part->file) : NULL;

	if (change) {
		report_change(part->path, change);
	}
	os_file_close(part->file);
	free(part->path);
}

void etl_input_close(struct etl_input *input)
{
	etl_blocks_done(&input->blocks);
	for (size_t i = 0; i < input->part_count; i++) {
		close_part(&input->parts[i]);
	}
	free(input->parts);
	*input = (struct etl_input){ 0 };
}

/* Returns the index of the file that contains the byte at the offset; part_count if none does. */
static size_t part_at(const struct etl_input *input, uint64_t offset)
{
	size_t i = 0;

	while (i < input->part_count && offset >= input->parts[i].end) {
		i++;
	}
	return i;
}

/* Returns the offset in the input where the file starts that contains this offset. */
static uint64_t file_start(const struct etl_input *input, uint64_t offset)
{
	size_t i = part_at(input, offset);

	return i > 0 ? input->parts[i - 1].end : 0;
}

/* Returns the offset where the file ends that contains this offset; size_bytes after the last file.
 */
static uint64_t input_file_end(const struct etl_input *input, uint64_t offset)
{
	size_t i = part_at(input, offset);

	return i < input->part_count ? input->parts[i].end : input->size_bytes;
}

const char *etl_input_change(const struct etl_input *input)
{
	const char *change = NULL;

	for (size_t i = 0; i < input->part_count && !change; i++) {
		change = os_file_change(input->parts[i].file);
	}
	return change;
}

static bool read_parts(struct etl_input *input, uint64_t offset, uint8_t *bytes, size_t size,
		       size_t *got, struct etw_error *err)
{
	*got = 0;
	for (size_t i = part_at(input, offset); i < input->part_count && *got < size; i++) {
		const struct etl_part *part = &input->parts[i];
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

bool etl_input_read(struct etl_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
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

/* Counts a buffer that is dropped as a whole. */
static void count_bad(struct etw_damage *damage, const struct etl_buffer *buffer)
{
	damage->bad_buffers++;
	damage->bad_bytes += buffer->place.disk_size;
}

void etl_damage_walk(struct etw_damage *damage, const struct etl_buffer *buffer,
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

void etl_damage_implausible(struct etw_damage *damage, const struct etl_buffer *buffer)
{
	buffer_problem(damage, buffer,
		       "%" PRIu32 " bytes that unpack to %" PRIu32
		       ", with the buffers before it more than is plausible: dropped",
		       buffer->place.disk_size, buffer->place.end);
	count_bad(damage, buffer);
}

/* ---- headers ---- */

/*
 * Returns whether a buffer of this type contains records. Undocumented types are assumed to contain
 * some.
 */
static bool has_records(const struct etw_buffer_header *header)
{
	return header->type != ETL_BUFFER_EMPTY_MARKER && header->type != ETL_BUFFER_DEBUG_INFO;
}

/* ---- the scan ---- */

void etl_scan_start(struct etl_scan *scan, struct etl_input *input, struct etw_damage *damage,
		    const struct etl_shape *shape, uint64_t offset, uint64_t sequence)
{
	*scan = (struct etl_scan){
		.input = input,
		.unpacker = { .blocks = &input->blocks },
		.damage = damage,
		.shape = shape ? *shape : (struct etl_shape){ 0 },
		.offset = offset,
		.sequence = sequence,
		.end = ETL_STEP_BUFFER,
	};
}

static struct etl_ahead *ahead_at(struct etl_scan *scan, unsigned i)
{
	return &scan->ahead[(scan->ahead_first + i) % ETL_UNPACK_AHEAD];
}

void etl_scan_done(struct etl_scan *scan)
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

struct etl_block *etl_scan_take_unpacked(struct etl_scan *scan)
{
	struct etl_block *block = scan->unpacked;

	scan->unpacked = NULL;
	return block;
}

/* Returns the capacity of a window for size bytes, which is not larger than a small input. */
static size_t window_capacity(const struct etl_input *input, size_t size)
{
	size_t most = input->size_bytes < WINDOW_SIZE ? (size_t)input->size_bytes : WINDOW_SIZE;

	return size > most ? size : most;
}

static bool cannot_be_read(uint64_t offset, size_t size, struct etw_error *err)
{
	return error_set(err, ETW_ERROR_SYSTEM, "%zu bytes at %" PRIu64 " cannot be read", size,
			 offset);
}

/* Returns the bytes in the window; NULL if the window does not contain all of them. */
static const uint8_t *in_window(const struct etl_scan *scan, uint64_t offset, size_t size)
{
	uint64_t skip = offset - scan->window_offset;

	return offset >= scan->window_offset && skip <= scan->window_size &&
			       size <= scan->window_size - (size_t)skip ?
		       scan->window + skip :
		       NULL;
}

/* Returns size bytes at an offset inside the input; NULL if they cannot be read. */
static const uint8_t *view(struct etl_scan *scan, uint64_t offset, size_t size,
			   struct etw_error *err)
{
	const uint8_t *bytes = in_window(scan, offset, size);
	size_t got;

	if (bytes) {
		return bytes;
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
		cannot_be_read(offset, size, err);
		return NULL;
	}
	return scan->window;
}

bool etl_packed_is_plausible(uint32_t packed, uint32_t end)
{
	return end <= RATIO_CHECK_FROM || end / RATIO_MAX <= packed;
}

/* Finds the end of the valid bytes. Returns false if there are none. */
static bool check_end(struct etl_scan *scan, struct etl_buffer *buffer)
{
	const struct etw_buffer_header *header = &buffer->header;
	struct etl_place *place = &buffer->place;

	if (header->end < ETL_BUFFER_HEADER_SIZE || header->end > ETL_BUFFER_MAX) {
		buffer_problem(scan->damage, buffer, "its data end at %" PRIu32 ": dropped",
			       header->end);
		count_bad(scan->damage, buffer);
		return false;
	}
	place->end = header->end;
	if (header->compressed) {
		uint32_t packed = place->disk_size - ETL_BUFFER_HEADER_SIZE;

		if (place->disk_size > ETL_PACKED_MAX ||
		    !etl_packed_is_plausible(packed, header->end)) {
			buffer_problem(scan->damage, buffer,
				       "%" PRIu32 " bytes cannot unpack to %" PRIu32 ": dropped",
				       packed, header->end);
			count_bad(scan->damage, buffer);
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
static bool start_unpacking(struct etl_scan *scan, struct etl_ahead *ahead, struct etw_error *err)
{
	const struct etl_place *place = &ahead->buffer.place;
	struct etl_unpack_job *job = &ahead->job;
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
	if (etl_unpacker_expect(&scan->unpacker) && place->end <= ETL_UNPACK_AHEAD_MAX) {
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
static void finish_unpacking(struct etl_scan *scan, struct etl_ahead *ahead)
{
	struct etl_buffer *buffer = &ahead->buffer;
	struct etl_unpack_job *job = &ahead->job;
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
			       job->end - ETL_BUFFER_HEADER_SIZE);
		count_bad(scan->damage, buffer);
		return;
	}
	if (job->end < whole && !cut) {
		buffer_problem(scan->damage, buffer,
			       "its compressed data end after %" PRIu32 " of %" PRIu32 " bytes",
			       job->end - ETL_BUFFER_HEADER_SIZE, whole - ETL_BUFFER_HEADER_SIZE);
		scan->damage->bad_records++;
	}
	buffer->bytes = scan->unpacked->bytes;
}

/* ---- the next buffer ---- */

#define NOWHERE UINT64_MAX

/*
 * Sets *good to whether the file ends at the offset, or something that looks like a buffer begins
 * there. The window does not move, because the headers of many hostile buffers can lead to the same
 * distant place.
 */
static bool leads_to_buffer(struct etl_scan *scan, uint64_t offset, uint64_t file_end, bool *good,
			    struct etw_error *err)
{
	struct etw_buffer_header next;
	uint8_t copy[ETL_BUFFER_HEADER_SIZE];
	const uint8_t *bytes;
	size_t got;

	*good = offset == file_end;
	if (offset > file_end || file_end - offset < ETL_BUFFER_HEADER_SIZE) {
		return true;
	}
	bytes = in_window(scan, offset, sizeof copy);
	if (!bytes) {
		if (!etl_input_read(scan->input, offset, copy, sizeof copy, &got, err)) {
			return false;
		}
		if (got < sizeof copy) {
			return cannot_be_read(offset, sizeof copy, err);
		}
		bytes = copy;
	}
	etl_buffer_header_read(&next, bytes);
	*good = etl_header_is_plausible(&next);
	return true;
}

/* The offset of the size in a record with a system header, such as the header of a recording. */
enum { RECORD_SIZE_AT = 4 };

/* The range in which a search may find a buffer: offsets in one file. */
struct search {
	uint64_t from, to;
	uint64_t data_end; /* before this offset is data of another buffer, so only a buffer that
			      leads to a further one counts */
	uint64_t file_end;
};

/* Searches for a buffer; *found is NOWHERE if there is none. */
static bool search(struct etl_scan *scan, const struct search *in, uint64_t *found,
		   struct etw_error *err)
{
	bool good = false;

	*found = NOWHERE;
	if (in->from < scan->none_from || in->from > scan->none_to) {
		scan->none_from = in->from;
		scan->none_to = in->from;
	}
	while (!good && scan->none_to < in->to && scan->none_to < in->file_end &&
	       in->file_end - scan->none_to >= ETL_FIND_SIZE) {
		uint64_t left = in->file_end - scan->none_to;
		const uint8_t *bytes = view(scan, scan->none_to, ETL_FIND_SIZE, err);
		size_t size, places;

		if (!bytes) {
			return false;
		}
		size = scan->window_size - (size_t)(bytes - scan->window);
		size = size < left ? size : (size_t)left;
		places = etl_find_buffer(&scan->shape, bytes, size);
		scan->none_to += places;
		good = places <= size - ETL_FIND_SIZE;
		if (good && scan->none_to < in->data_end) {
			uint64_t end = scan->none_to + etw_load_u32(bytes + places);

			if (!leads_to_buffer(scan, end, in->file_end, &good, err)) {
				return false;
			}
			scan->none_to += !good;
		}
	}
	if (good && scan->none_to < in->to) {
		*found = scan->none_to;
	}
	return true;
}

/*
 * Sets *size to the bytes of the buffer whose header was read at scan->offset. If the file is cut
 * short, that is more than is left of it. If there is no buffer, *size is 0 and *next is where the
 * next one begins.
 */
static bool measure(struct etl_scan *scan, const struct etw_buffer_header *header, uint64_t *size,
		    uint64_t *next, struct etw_error *err)
{
	uint64_t at = scan->offset, end = at + header->size_bytes;
	uint64_t file_end = input_file_end(scan->input, at);
	bool first = at == file_start(scan->input, at);
	bool plausible = etl_header_is_plausible(header), leads;
	uint64_t from = at + 1;

	*size = header->size_bytes;
	if (!leads_to_buffer(scan, end, file_end, &leads, err)) {
		return false;
	}
	leads = leads && header->size_bytes >= ETL_BUFFER_HEADER_SIZE;
	if (leads && header->size_bytes <= scan->shape.buffer_size) {
		return true;
	}
	/* The header of the recording is in the first buffer, and no buffer begins in it. */
	if (first && file_end - at >= ETL_BUFFER_HEADER_SIZE + ETL_RECORD_SIZE_MIN) {
		const uint8_t *bytes =
			view(scan, at, ETL_BUFFER_HEADER_SIZE + ETL_RECORD_SIZE_MIN, err);

		if (!bytes) {
			return false;
		}
		from = at + ETL_BUFFER_HEADER_SIZE +
		       etw_load_u16(bytes + ETL_BUFFER_HEADER_SIZE + RECORD_SIZE_AT);
	}
	/* A size that is too large can lead past other buffers to a later one or to the end. */
	if (!search(scan,
		    &(struct search){
			    .from = from,
			    .to = leads ? end : at + SEARCH_MOST,
			    .data_end = plausible && !header->compressed ? at + header->end : at,
			    .file_end = file_end,
		    },
		    next, err)) {
		return false;
	}
	if (*next < end || !(plausible || leads)) {
		/* The first buffer of a file is needed to read all others. Its header was good
		 * enough to open the file. */
		if (!first) {
			*size = 0;
		} else if (*next < end) {
			*size = *next - at;
			if (!plausible) {
				etw_problem(scan->damage->problems,
					    "buffer %" PRIu64 " at %" PRIu64
					    ": its header is wrong; the next buffer begins %" PRIu64
					    " bytes after it",
					    scan->sequence, at, *size);
				scan->damage->bad_records++;
			}
		}
	}
	return true;
}

/* Counts and reports bytes in which no buffer begins. */
static void report_gap(struct etl_scan *scan, uint64_t from, uint64_t to)
{
	struct etw_damage *damage = scan->damage;
	uint64_t bytes = to - from;

	if (bytes == 0 || scan->shape.buffer_size == 0) {
		return;
	}
	etw_problem(damage->problems,
		    "buffer %" PRIu64 " at %" PRIu64 ": no buffer begins in these %" PRIu64
		    " bytes: passed over",
		    scan->sequence, from, bytes);
	damage->bad_buffers += (bytes - 1) / scan->shape.buffer_size + 1;
	damage->bad_bytes += bytes;
	damage->gap_bytes += bytes;
}

/*
 * Moves scan->offset to the next buffer in the same file and reads its header. *size is set to the
 * bytes of the buffer, which exceed the rest of the file if that is cut short; 0 if the file ends
 * before another buffer.
 */
static bool next_header(struct etl_scan *scan, struct etw_buffer_header *header, uint64_t *size,
			struct etw_error *err)
{
	const uint64_t from = scan->offset;
	uint64_t file_end = input_file_end(scan->input, from), gap_end = from;

	*size = 0;
	while (*size == 0 && file_end - scan->offset >= ETL_BUFFER_HEADER_SIZE) {
		const uint8_t *bytes = view(scan, scan->offset, ETL_BUFFER_HEADER_SIZE, err);
		uint64_t next = NOWHERE;

		if (!bytes) {
			return false;
		}
		etl_buffer_header_read(header, bytes);
		*size = header->size_bytes;
		if (scan->shape.buffer_size > 0 && !measure(scan, header, size, &next, err)) {
			return false;
		}
		if (*size < ETL_BUFFER_HEADER_SIZE) {
			/* A preallocated file ends in zeros. */
			bool reserved = header->all_zero && scan->shape.preallocated;

			*size = 0;
			scan->offset = next != NOWHERE ? next : file_end;
			gap_end = next != NOWHERE || !reserved ? scan->offset : gap_end;
		}
	}
	report_gap(scan, from, gap_end);
	if (*size == 0 && scan->offset < file_end) {
		etw_problem(scan->damage->problems,
			    "buffer %" PRIu64 " at %" PRIu64 ": cut short: %" PRIu64
			    " of %d bytes of its header",
			    scan->sequence, scan->offset, file_end - scan->offset,
			    (int)ETL_BUFFER_HEADER_SIZE);
		scan->damage->truncated = true;
		scan->offset = file_end;
	}
	return true;
}

/* Reads one more buffer. Returns ETL_STEP_END at the end of the recording. */
static enum etl_step read_buffer(struct etl_scan *scan, struct etl_ahead *ahead,
				 struct etw_error *err)
{
	struct etl_buffer *buffer = &ahead->buffer;
	struct etl_place *place = &buffer->place;
	uint64_t size = 0, left;

	*ahead = (struct etl_ahead){ .buffer = { .sequence = scan->sequence } };
	while (size == 0) {
		if (scan->offset >= scan->input->size_bytes) {
			return ETL_STEP_END;
		}
		if (!next_header(scan, &buffer->header, &size, err)) {
			return ETL_STEP_FAILED;
		}
	}
	left = input_file_end(scan->input, scan->offset) - scan->offset;
	*place = (struct etl_place){ .offset = scan->offset,
				     .disk_size = (uint32_t)(size < left ? size : left),
				     .processor = buffer->header.processor,
				     .compressed = buffer->header.compressed };
	if (size > left) {
		buffer_problem(scan->damage, buffer, "cut short: %" PRIu64 " of %" PRIu32 " bytes",
			       left, buffer->header.size_bytes);
		scan->damage->truncated = true;
	}
	scan->sequence++;
	scan->offset += place->disk_size;
	if (!has_records(&buffer->header) || !check_end(scan, buffer)) {
		return ETL_STEP_BUFFER;
	}
	if (place->compressed) {
		return start_unpacking(scan, ahead, err) ? ETL_STEP_BUFFER : ETL_STEP_FAILED;
	}
	buffer->bytes = view(scan, place->offset, place->end, err);
	return buffer->bytes ? ETL_STEP_BUFFER : ETL_STEP_FAILED;
}

/* Returns whether another buffer can be read ahead. The bytes of an uncompressed buffer are in the
 * window, which must not move while they are used. */
static bool may_read_ahead(struct etl_scan *scan)
{
	if (scan->end != ETL_STEP_BUFFER || scan->ahead_count == ETL_UNPACK_AHEAD) {
		return false;
	}
	return scan->ahead_count == 0 ||
	       (scan->unpacker.jobs && !ahead_at(scan, scan->ahead_count - 1)->buffer.bytes);
}

enum etl_step etl_scan_next(struct etl_scan *scan, struct etl_buffer *buffer, struct etw_error *err)
{
	struct etl_ahead *ahead;

	etl_block_put(scan->unpacker.blocks, scan->unpacked);
	scan->unpacked = NULL;
	while (may_read_ahead(scan)) {
		scan->end = read_buffer(scan, ahead_at(scan, scan->ahead_count), &scan->error);
		scan->ahead_count += scan->end == ETL_STEP_BUFFER;
	}
	if (scan->ahead_count == 0) {
		*buffer = (struct etl_buffer){ .place.offset = scan->offset };
		if (scan->end == ETL_STEP_FAILED) {
			error_set(err, scan->error.code, "%s", scan->error.text);
		}
		return scan->end;
	}
	ahead = ahead_at(scan, 0);
	if (ahead->unpacking) {
		finish_unpacking(scan, ahead);
	}
	*buffer = ahead->buffer;
	scan->ahead_first = (scan->ahead_first + 1) % ETL_UNPACK_AHEAD;
	scan->ahead_count--;
	return ETL_STEP_BUFFER;
}
