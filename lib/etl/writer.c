/* SPDX-License-Identifier: MIT */
/*
 * Buffers of a recording, their headers and the logfile header; the records in them are written by
 * out_record.c.
 *
 * A buffer is appended to the file when it is full, so the buffers of the processors are
 * interleaved, as ETW writes them. The first buffer stays in memory until the end, because its
 * header record contains the end time and the number of buffers.
 */
#include "lib/etl/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/print.h"
#include "lib/etl/scan.h"
#include "lib/etl/unpack.h"

enum { BUFFER_LEAST = 512 };

enum { PRINT_CHUNK = 1 << 16 };

/*
 * ---- where the bytes go ----
 *
 * A recording is written to a file, to growing memory, or to the standard output.
 *
 * The header at the start of a recording contains the numbers of buffers and losses, which are
 * known only at the end. A recording for the standard output therefore waits in a temporary file
 * (os_file_temporary()) until then, and a file gets its name then (os_file_new()).
 */

struct output {
	struct os_file *file; /* owned; NULL: the output is in memory */
	bool standard;        /* the file is for the standard output */
	bool temporary;       /* the file gets no name */
	uint8_t *memory;      /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

bool etw_output_is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* path: NULL keeps the bytes in memory, "-" is the standard output. */
static bool output_open(struct output *output, const char *path, enum etw_visibility visibility,
			struct etw_error *err)
{
	if (!path) {
		return true;
	}
	output->standard = etw_output_is_standard(path);
	output->temporary = visibility == ETW_VISIBLE_NEVER;
	output->file = output->standard ? os_file_temporary(err) :
					  os_file_new(path, visibility == ETW_VISIBLE_ALWAYS, err);
	return output->file != NULL;
}

static bool reserve(struct output *output, size_t size, struct etw_error *err)
{
	size_t needed = (size_t)output->size + size;
	size_t capacity = output->memory_capacity ? output->memory_capacity : 65536;
	uint8_t *memory;

	if (needed <= output->memory_capacity) {
		return true;
	}
	while (capacity < needed) {
		capacity *= 2;
	}
	memory = realloc(output->memory, capacity);
	if (!memory) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for a recording of %zu bytes",
				 needed);
	}
	output->memory = memory;
	output->memory_capacity = capacity;
	return true;
}

static bool output_write(struct output *output, const uint8_t *bytes, size_t size,
			 struct etw_error *err)
{
	if (output->file) {
		if (!os_file_append(output->file, bytes, size, err)) {
			return false;
		}
	} else {
		if (!reserve(output, size, err)) {
			return false;
		}
		memcpy(output->memory + output->size, bytes, size);
	}
	output->size += size;
	return true;
}

/* Prints `start`, and then the rest of the temporary file after its first size bytes. */
static bool print_all(struct output *output, const uint8_t *start, size_t size,
		      struct etw_error *err)
{
	uint8_t *chunk = malloc(PRINT_CHUNK);
	uint64_t at = size;
	size_t got = 0;
	bool good;

	if (!chunk) {
		return error_no_memory(err, "the output");
	}
	good = print_bytes((const char *)start, size, err);
	for (; good && at < output->size; at += got) {
		good = os_file_read(output->file, at, chunk, PRINT_CHUNK, &got, err) && got > 0 &&
		       print_bytes((const char *)chunk, got, err);
	}
	free(chunk);
	return good;
}

/*
 * Overwrites the first size bytes of the output, which must have been written before, and gives the
 * file its name. Nothing can be written afterwards. The standard output gets everything now. If its
 * reader has closed the pipe, this returns false without setting an error (base/print.h).
 */
static bool output_finish(struct output *output, const uint8_t *bytes, size_t size,
			  struct etw_error *err)
{
	if (output->standard) {
		return print_all(output, bytes, size, err);
	}
	if (!output->file) {
		memcpy(output->memory, bytes, size);
		return true;
	}
	return os_file_overwrite(output->file, bytes, size, err) &&
	       (output->temporary || os_file_publish(output->file, err));
}

/* Removes a file that was not finished. */
static void output_close(struct output *output)
{
	os_file_close(output->file);
	free(output->memory);
	*output = (struct output){ 0 };
}

/* ---- a writer ---- */

struct buffer {
	uint8_t *bytes; /* owned; NULL until the first record of the processor */
	uint32_t used;  /* end of the last record, from the start of the buffer, rounded up to 8 */
	int64_t last_raw;
};

struct etw_writer {
	struct etw_writer_options options; /* with defaults filled in, without the names */
	struct output output;
	struct buffer header;   /* the first buffer */
	bool given;             /* the caller has given the first buffer */
	struct buffer *buffers; /* one for each processor */
	uint8_t *packed;        /* owned; room for a whole packed buffer */
	uint32_t buffers_written;
	uint32_t largest; /* bytes of the largest buffer that was filled with added records */
	uint64_t sequence;
	int64_t latest_raw;
	struct etw_error failure; /* first failure; ETW_ERROR_NONE: none so far */
};

static bool failed(const struct etw_writer *writer)
{
	return writer->failure.code != ETW_ERROR_NONE;
}

int64_t etl_writer_raw_time(const struct etw_writer *writer, uint64_t ns)
{
	uint64_t frequency = logfile_ticks_per_second(&writer->options);
	uint64_t ticks = ns / 1000000000 * frequency + ns % 1000000000 * frequency / 1000000000;

	return (int64_t)((uint64_t)writer->options.start_raw + ticks);
}

static void write_bytes(struct etw_writer *writer, const uint8_t *bytes, size_t size)
{
	if (!failed(writer)) {
		output_write(&writer->output, bytes, size, &writer->failure);
	}
}

/* ---- buffers ---- */

static void store_buffer_header(const struct etw_writer *writer, uint8_t *at,
				const struct buffer *buffer, uint32_t size, uint16_t flags,
				enum etl_buffer_type type)
{
	const struct etw_writer_options *options = &writer->options;
	bool first = type == ETL_BUFFER_HEADER;
	size_t processor = first ? 0 : (size_t)(buffer - writer->buffers);

	memset(at, 0, ETL_BUFFER_HEADER_SIZE);
	store_u32(at + 0x00, size);
	store_u32(at + 0x04, buffer->used); /* SavedOffset */
	store_u32(at + 0x08, buffer->used); /* CurrentOffset */
	store_u64(at + 0x10, first ? 0 : (uint64_t)buffer->last_raw);
	store_u64(at + 0x18, first ? 0 : writer->sequence);
	store_u64(at + 0x20, logfile_ticks_per_second(options) << 3 | (uint64_t)options->clock);
	store_u16(at + 0x28, (uint16_t)processor);
	store_u16(at + 0x2a, options->logger_id);
	store_u32(at + 0x2c, 3);
	store_u32(at + 0x30, buffer->used); /* Offset */
	store_u16(at + 0x34,
		  (uint16_t)(flags | (options->processor_index ? ETL_BUFFER_PROCESSOR_INDEX : 0)));
	store_u16(at + 0x36, (uint16_t)type);
}

static void write_buffer(struct etw_writer *writer, struct buffer *buffer, uint16_t flags)
{
	uint32_t size = writer->options.buffer_size;
	uint8_t *bytes = buffer->bytes;

	if (buffer->used <= ETL_BUFFER_HEADER_SIZE || failed(writer)) {
		return;
	}
	if (writer->options.compressed) {
		size_t stream = etl_compress(bytes + ETL_BUFFER_HEADER_SIZE,
					     buffer->used - ETL_BUFFER_HEADER_SIZE,
					     writer->packed + ETL_BUFFER_HEADER_SIZE);

		if (stream < buffer->used - ETL_BUFFER_HEADER_SIZE) {
			bytes = writer->packed;
			size = (uint32_t)stream + ETL_BUFFER_HEADER_SIZE;
			flags |= ETL_BUFFER_COMPRESSED;
		}
	}
	if (bytes == buffer->bytes) {
		memset(bytes + buffer->used, 0xff, size - buffer->used);
	}
	writer->sequence++;
	store_buffer_header(writer, bytes, buffer, size, flags, ETL_BUFFER_GENERIC);
	write_bytes(writer, bytes, size);
	writer->buffers_written++;
	writer->largest = size > writer->largest ? size : writer->largest;
	buffer->used = ETL_BUFFER_HEADER_SIZE;
}

/*
 * Returns room for a record of size bytes in a buffer of limit bytes; the padding to a multiple of
 * 8 is zeroed. Sets the failure and returns NULL if no buffer is large enough for the record, or a
 * reader would not accept so small a record.
 */
static uint8_t *place(struct etw_writer *writer, struct buffer *buffer, uint32_t limit, size_t size,
		      int64_t raw_time)
{
	uint32_t padded = (uint32_t)(size + 7) & ~UINT32_C(7);
	uint8_t *at;

	if (size < ETL_RECORD_SIZE_MIN) {
		error_set(&writer->failure, ETW_ERROR_LIMIT,
			  "record of %zu bytes: the least are %d", size, (int)ETL_RECORD_SIZE_MIN);
		return NULL;
	}
	if (size > UINT16_MAX) {
		error_set(&writer->failure, ETW_ERROR_LIMIT, "record of %zu bytes: the most are %d",
			  size, UINT16_MAX);
		return NULL;
	}
	if (padded > limit - buffer->used) {
		error_set(&writer->failure, ETW_ERROR_LIMIT,
			  "record of %zu bytes does not fit into a buffer of %u", size,
			  (unsigned)limit);
		return NULL;
	}
	at = buffer->bytes + buffer->used;
	memset(at + size, 0, padded - size);
	buffer->used += padded;
	buffer->last_raw = raw_time;
	return at;
}

static uint8_t *place_on_processor(struct etw_writer *writer, uint16_t processor, size_t size,
				   int64_t raw_time)
{
	uint32_t limit = writer->options.buffer_size;
	struct buffer *buffer;

	if (failed(writer)) {
		return NULL;
	}
	if (processor >= writer->options.processors) {
		error_set(&writer->failure, ETW_ERROR_LIMIT,
			  "record of processor %u in a recording of %u processors",
			  (unsigned)processor, (unsigned)writer->options.processors);
		return NULL;
	}
	buffer = &writer->buffers[processor];
	if (!buffer->bytes) {
		buffer->bytes = malloc(limit);
		if (!buffer->bytes) {
			error_set(&writer->failure, ETW_ERROR_NO_MEMORY,
				  "no memory for a buffer of %u bytes", (unsigned)limit);
			return NULL;
		}
		buffer->used = ETL_BUFFER_HEADER_SIZE;
	}
	if (size > limit - buffer->used) {
		write_buffer(writer, buffer, 0);
	}
	if (raw_time > writer->latest_raw) {
		writer->latest_raw = raw_time;
	}
	return place(writer, buffer, limit, size, raw_time);
}

void etw_writer_add(struct etw_writer *writer, const struct etw_out_record *record)
{
	size_t size = etw_out_record_size(record);
	uint8_t *at = place_on_processor(writer, record->processor, size, record->raw_time);

	if (at) {
		etl_out_record_store(record, writer->options.pointer_size, at);
	}
}

void etl_writer_add_payload(struct etw_writer *writer, const struct etw_out_record *record,
			    const struct etw_payload *payload)
{
	struct etw_out_record whole = *record;

	if (payload->failed && !failed(writer)) {
		error_set(&writer->failure, ETW_ERROR_NO_MEMORY, "a payload could not be built");
	}
	whole.payload = payload->bytes;
	whole.payload_size = payload->size;
	etw_writer_add(writer, &whole);
}

void etl_writer_add_raw(struct etw_writer *writer, uint16_t processor, int64_t raw_time,
			const void *bytes, size_t size)
{
	uint8_t *at = place_on_processor(writer, processor, size, raw_time);

	if (at && size > 0) {
		memcpy(at, bytes, size);
	}
}

void etl_writer_flush(struct etw_writer *writer)
{
	struct buffer *last = NULL;

	for (size_t i = 0; i < writer->options.processors; i++) {
		if (writer->buffers[i].used > ETL_BUFFER_HEADER_SIZE) {
			last = &writer->buffers[i];
		}
	}
	for (size_t i = 0; i < writer->options.processors; i++) {
		struct buffer *buffer = &writer->buffers[i];

		write_buffer(writer, buffer, buffer == last ? ETL_BUFFER_FLUSH : 0);
	}
}

void etl_writer_set_compressed(struct etw_writer *writer, bool compressed)
{
	writer->options.compressed = compressed;
	if (compressed) {
		writer->options.log_file_mode |= ETW_MODE_COMPRESSED;
	}
}

void etw_writer_set_losses(struct etw_writer *writer, uint32_t events, uint32_t buffers)
{
	writer->options.events_lost = events;
	writer->options.buffers_lost = buffers;
}

void etl_writer_add_buffer(struct etw_writer *writer, const uint8_t *bytes, size_t used,
			   size_t size)
{
	uint8_t filler[4096];

	write_bytes(writer, bytes, used);
	if (used < size) {
		memset(filler, 0xff, sizeof filler);
	}
	for (size_t left = size - used; left > 0 && !failed(writer);) {
		size_t part = left < sizeof filler ? left : sizeof filler;

		write_bytes(writer, filler, part);
		left -= part;
	}
	writer->buffers_written++;
	writer->sequence++;
}

uint32_t etl_writer_buffers(const struct etw_writer *writer)
{
	return writer->buffers_written;
}

uint32_t etl_writer_largest_buffer(const struct etw_writer *writer)
{
	return writer->largest;
}

uint64_t etw_writer_written(const struct etw_writer *writer)
{
	return writer->output.size;
}

/* ---- the first buffer ---- */

static void store_first_record(struct etw_writer *writer, const struct etw_payload *payload)
{
	struct etw_writer_options *o = &writer->options;
	struct buffer *buffer = &writer->header;
	struct etw_out_record record = { .type = ETW_RECORD_SYSTEM,
					 .version = 2,
					 .raw_time = o->start_raw,
					 .process_id = o->process_id,
					 .thread_id = o->thread_id,
					 .payload = payload->bytes,
					 .payload_size = payload->size };
	size_t needed = (ETL_BUFFER_HEADER_SIZE + etw_out_record_size(&record) + 7) & ~(size_t)7;
	uint8_t *at;

	if (payload->failed) {
		error_set(&writer->failure, ETW_ERROR_NO_MEMORY,
			  "no memory for the logfile header");
		return;
	}
	if (needed > o->header_buffer_size) {
		o->header_buffer_size = needed < ETL_BUFFER_MAX ? (uint32_t)needed : ETL_BUFFER_MAX;
	}
	buffer->bytes = malloc(o->header_buffer_size);
	if (!buffer->bytes) {
		error_set(&writer->failure, ETW_ERROR_NO_MEMORY, "no memory for the first buffer");
		return;
	}
	buffer->used = ETL_BUFFER_HEADER_SIZE;
	at = place(writer, buffer, o->header_buffer_size, etw_out_record_size(&record),
		   o->start_raw);
	if (at) {
		etl_out_record_store(&record, o->pointer_size, at);
	}
}

/* Writes the first buffer as in a running session, to reserve its place in the file. */
static bool open_first_buffer(struct etw_writer *writer, const char *session_name,
			      const char *file_name)
{
	struct buffer *buffer = &writer->header;
	uint32_t size;
	struct etw_payload payload;

	etw_payload_init(&payload, writer->options.pointer_size);
	logfile_header_build(&payload, &writer->options, NULL, session_name ? session_name : "",
			     file_name ? file_name : "");
	store_first_record(writer, &payload);
	etw_payload_done(&payload);
	if (failed(writer)) {
		return false;
	}
	size = writer->options.header_buffer_size;
	memset(buffer->bytes + buffer->used, 0xff, size - buffer->used);
	store_buffer_header(writer, buffer->bytes, buffer, size, ETL_BUFFER_FLUSH,
			    ETL_BUFFER_HEADER);
	write_bytes(writer, buffer->bytes, size);
	writer->buffers_written++;
	return !failed(writer);
}

static bool take_first_buffer(struct etw_writer *writer, const uint8_t *bytes, size_t size)
{
	writer->given = true;
	writer->options.header_buffer_size = (uint32_t)size;
	writer->header.bytes = malloc(size);
	if (!writer->header.bytes) {
		return error_no_memory(&writer->failure, "the first buffer");
	}
	memcpy(writer->header.bytes, bytes, size);
	write_bytes(writer, bytes, size);
	writer->buffers_written++;
	return !failed(writer);
}

uint8_t *etl_writer_first_buffer(struct etw_writer *writer)
{
	return writer->header.bytes;
}

void etl_writer_add_to_header(struct etw_writer *writer, const struct etw_out_record *record)
{
	uint8_t *at;

	if (failed(writer)) {
		return;
	}
	at = place(writer, &writer->header, writer->options.header_buffer_size,
		   etw_out_record_size(record), record->raw_time);
	if (at) {
		etl_out_record_store(record, writer->options.pointer_size, at);
	}
}

static void complete_first_buffer(struct etw_writer *writer)
{
	struct buffer *buffer = &writer->header;
	struct logfile_ending ending = { .latest_raw = writer->latest_raw,
					 .buffers_written = writer->buffers_written };
	struct etw_payload payload;

	/* Everything except the names, which follow and do not change. */
	etw_payload_init(&payload, writer->options.pointer_size);
	logfile_header_build(&payload, &writer->options, writer->options.unclosed ? NULL : &ending,
			     NULL, NULL);
	if (payload.failed) {
		error_set(&writer->failure, ETW_ERROR_NO_MEMORY,
			  "no memory for the logfile header");
	} else {
		memcpy(buffer->bytes + ETL_BUFFER_HEADER_SIZE + ETL_SYSTEM_HEADER_SIZE,
		       payload.bytes, payload.size);
	}
	etw_payload_done(&payload);
	store_buffer_header(writer, buffer->bytes, buffer, writer->options.header_buffer_size,
			    ETL_BUFFER_FLUSH, ETL_BUFFER_HEADER);
}

static void finish_first_buffer(struct etw_writer *writer)
{
	if (!writer->given) {
		complete_first_buffer(writer);
	}
	if (!failed(writer)) {
		output_finish(&writer->output, writer->header.bytes,
			      writer->options.header_buffer_size, &writer->failure);
	}
}

/* ---- a recording ---- */

static struct etw_writer_options with_defaults(const struct etw_writer_options *given)
{
	struct etw_writer_options o = *given;

	o.pointer_size = o.pointer_size ? o.pointer_size : 8;
	o.processors = o.processors ? o.processors : 1;
	o.buffer_size = o.buffer_size ? o.buffer_size : 65536;
	o.header_buffer_size = o.header_buffer_size ? o.header_buffer_size : o.buffer_size;
	o.clock = o.clock ? o.clock : ETW_CLOCK_QPC;
	o.perf_frequency = o.perf_frequency ? o.perf_frequency : 10000000;
	o.cpu_mhz = o.cpu_mhz ? o.cpu_mhz : 2400;
	o.start_time = o.start_time ? o.start_time : INT64_C(133601436000000000);
	o.boot_time = o.boot_time ? o.boot_time : etw_time_add(o.start_time, -INT64_C(36000000000));
	o.log_file_mode = o.log_file_mode ? o.log_file_mode : ETW_MODE_SEQUENTIAL;
	o.log_file_mode |= o.compressed ? ETW_MODE_COMPRESSED : 0;
	o.os_build = o.os_build ? o.os_build : 17763;
	o.os_major = o.os_major ? o.os_major : 10;
	o.session_name = NULL;
	o.file_name = NULL;
	return o;
}

static bool check(const struct etw_writer_options *options, struct etw_error *err)
{
	if (options->pointer_size != 4 && options->pointer_size != 8) {
		return error_set(err, ETW_ERROR_LIMIT, "pointer size %u is neither 4 nor 8",
				 (unsigned)options->pointer_size);
	}
	if (options->buffer_size < BUFFER_LEAST || options->buffer_size > ETL_BUFFER_MAX ||
	    options->buffer_size % 8 != 0) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "buffer size %u is not a multiple of 8 from %u to %u",
				 (unsigned)options->buffer_size, (unsigned)BUFFER_LEAST,
				 (unsigned)ETL_BUFFER_MAX);
	}
	return true;
}

static struct etw_writer *open_writer(const char *path, const struct etw_writer_options *options,
				      const uint8_t *first, size_t first_size,
				      struct etw_error *err)
{
	struct etw_writer *writer = calloc(1, sizeof *writer);

	if (!writer) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to write a recording");
		return NULL;
	}
	writer->options = with_defaults(options);
	writer->latest_raw = writer->options.start_raw;
	if (!check(&writer->options, &writer->failure)) {
		goto fail;
	}
	writer->buffers = calloc(writer->options.processors, sizeof *writer->buffers);
	writer->packed =
		malloc(ETL_BUFFER_HEADER_SIZE + etl_compress_bound(writer->options.buffer_size));
	if (!writer->buffers || !writer->packed) {
		error_set(&writer->failure, ETW_ERROR_NO_MEMORY, "no memory to write a recording");
		goto fail;
	}
	if (!output_open(&writer->output, path, options->visibility, &writer->failure)) {
		goto fail;
	}
	if (first ? !take_first_buffer(writer, first, first_size) :
		    !open_first_buffer(writer, options->session_name, options->file_name)) {
		goto fail;
	}
	return writer;

fail:
	error_set(err, writer->failure.code, "%s%s%s", path ? path : "", path ? ": " : "",
		  writer->failure.text);
	etw_writer_close(writer);
	return NULL;
}

struct etw_writer *etw_writer_open(const char *path, const struct etw_writer_options *options,
				   struct etw_error *err)
{
	return open_writer(path, options, NULL, 0, err);
}

struct etw_writer *etl_writer_open_with(const char *path, const struct etw_writer_options *options,
					const uint8_t *first, size_t size, struct etw_error *err)
{
	return open_writer(path, options, first, size, err);
}

int64_t etl_writer_latest_raw(const struct etw_writer *writer)
{
	return writer->latest_raw;
}

bool etw_writer_failed(const struct etw_writer *writer)
{
	return failed(writer);
}

bool etw_writer_good(const struct etw_writer *writer, struct etw_error *err)
{
	return !failed(writer) || error_set(err, writer->failure.code, "%s", writer->failure.text);
}

bool etw_writer_finish(struct etw_writer *writer, struct etw_error *err)
{
	etl_writer_flush(writer);
	finish_first_buffer(writer);
	return etw_writer_good(writer, err);
}

const uint8_t *etl_writer_bytes(const struct etw_writer *writer, size_t *size)
{
	*size = (size_t)writer->output.size;
	return writer->output.memory;
}

const struct os_file *etl_writer_file(const struct etw_writer *writer)
{
	return writer->output.file;
}

char *etw_writer_leave(struct etw_writer *writer)
{
	return writer->output.file ? os_file_leave(writer->output.file) : NULL;
}

void etw_writer_close(struct etw_writer *writer)
{
	if (!writer) {
		return;
	}
	for (size_t i = 0; writer->buffers && i < writer->options.processors; i++) {
		free(writer->buffers[i].bytes);
	}
	output_close(&writer->output);
	free(writer->buffers);
	free(writer->packed);
	free(writer->header.bytes);
	free(writer);
}

/* ---- records that are added later ---- */

struct etw_added_record {
	int64_t raw_time;
	size_t at; /* in bytes */
	uint16_t size;
	uint16_t processor;
};

bool etw_added_records_keep(struct etw_added_records *added, const struct etw_out_record *record,
			    uint8_t pointer_size, uint32_t processors, struct etw_error *err)
{
	size_t size = etw_out_record_size(record), at = added->bytes.size;
	struct etw_added_record *grown;

	if (record->processor >= processors) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "cpu: expected a number from 0 to %" PRIu32 ", found %u",
				 processors > 0 ? processors - 1 : 0, (unsigned)record->processor);
	}
	assert(size <= UINT16_MAX);
	grown = array_grow(added->records, &added->capacity, added->count, sizeof *grown);
	if (grown) {
		added->records = grown;
		etw_payload_zeros(&added->bytes, size);
	}
	if (!grown || added->bytes.failed) {
		return error_no_memory(err, "the records to add");
	}
	etl_out_record_store(record, pointer_size, added->bytes.bytes + at);
	added->records[added->count++] =
		(struct etw_added_record){ .raw_time = record->raw_time,
					   .at = at,
					   .size = (uint16_t)size,
					   .processor = record->processor };
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct etw_added_record *x = a, *y = b;

	if (x->raw_time != y->raw_time) {
		return x->raw_time < y->raw_time ? -1 : 1;
	}
	return x->at < y->at ? -1 : x->at > y->at;
}

void etw_added_records_write(struct etw_added_records *added, struct etw_writer *writer)
{
	if (added->count > 0) {
		qsort(added->records, added->count, sizeof *added->records, compare);
	}
	for (size_t i = 0; i < added->count; i++) {
		const struct etw_added_record *record = &added->records[i];

		etl_writer_add_raw(writer, record->processor, record->raw_time,
				   added->bytes.bytes + record->at, record->size);
	}
}

void etw_added_records_done(struct etw_added_records *added)
{
	etw_payload_done(&added->bytes);
	free(added->records);
	*added = (struct etw_added_records){ .records = NULL };
}
