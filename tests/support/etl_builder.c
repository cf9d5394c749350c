/* SPDX-License-Identifier: MIT */
/*
 * Buffers of a recording, their headers and the logfile header; the records in them are written by
 * built_record.c.
 *
 * A buffer's place in the file is decided when it is full, so a recording is one sequence of
 * buffers with the processors interleaved, as ETW writes it. The first buffer stays in memory to
 * the end, because its header record says when the session ended and how many buffers it wrote.
 */
#include "tests/support/etl_builder.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/built_record.h"
#include "tests/support/logfile_header.h"
#include "tests/support/lz77_compress.h"
#include "tests/support/recording_output.h"
#include "tests/support/store.h"

enum {
	BUFFER_HEADER_SIZE = 0x48,
	BUFFER_LEAST = 512,
	BUFFER_MOST = 16 << 20,
};

enum buffer_flag {
	FLAG_FLUSH = 0x01,
	FLAG_PROCESSOR_INDEX = 0x20,
	FLAG_COMPRESSED = 0x40,
};

enum buffer_type { BUFFER_GENERIC = 0, BUFFER_LOGFILE_HEADER = 4 };

enum { MODE_SEQUENTIAL = 0x1, MODE_COMPRESSED = 0x04000000 };

struct buffer {
	uint8_t *bytes; /* owned; NULL until the processor's first record */
	uint32_t used;  /* end of the last record, from the start of the buffer, rounded up to 8 */
	int64_t last_raw;
};

struct etl_builder {
	struct etl_builder_options options; /* with the defaults, without the names */
	struct recording_output output;
	struct buffer header;   /* the first buffer */
	struct buffer *buffers; /* one a processor */
	uint8_t *packed;        /* owned; a whole packed buffer */
	uint32_t buffers_written;
	uint64_t sequence;
	int64_t latest_raw;
	struct error failure; /* ERROR_NONE: all well */
};

static bool failed(const struct etl_builder *builder)
{
	return builder->failure.code != ERROR_NONE;
}

int64_t etl_builder_raw_time(const struct etl_builder *builder, uint64_t ns)
{
	return logfile_raw_time(&builder->options, ns);
}

static void write_bytes(struct etl_builder *builder, const uint8_t *bytes, size_t size)
{
	if (!failed(builder)) {
		recording_output_write(&builder->output, bytes, size, &builder->failure);
	}
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void store_buffer_header(const struct etl_builder *builder, uint8_t *at,
				const struct buffer *buffer, uint32_t size, uint16_t flags,
				enum buffer_type type)
{
	const struct etl_builder_options *options = &builder->options;
	bool first = type == BUFFER_LOGFILE_HEADER;
	size_t processor = first ? 0 : (size_t)(buffer - builder->buffers);

	memset(at, 0, BUFFER_HEADER_SIZE);
	store_u32(at + 0x00, size);
	store_u32(at + 0x04, buffer->used); /* SavedOffset */
	store_u32(at + 0x08, buffer->used); /* CurrentOffset */
	store_u64(at + 0x10, first ? 0 : (uint64_t)buffer->last_raw);
	store_u64(at + 0x18, first ? 0 : builder->sequence);
	store_u64(at + 0x20, logfile_ticks_per_second(options) << 3 | (uint64_t)options->clock);
	store_u16(at + 0x28, (uint16_t)processor);
	store_u16(at + 0x2a, options->logger_id);
	store_u32(at + 0x2c, 3);
	store_u32(at + 0x30, buffer->used); /* Offset */
	store_u16(at + 0x34,
		  (uint16_t)(flags | (options->processor_index ? FLAG_PROCESSOR_INDEX : 0)));
	store_u16(at + 0x36, (uint16_t)type);
}

static void write_buffer(struct etl_builder *builder, struct buffer *buffer, uint16_t flags)
{
	uint32_t size = builder->options.buffer_size;
	uint8_t *bytes = buffer->bytes;

	if (buffer->used <= BUFFER_HEADER_SIZE || failed(builder)) {
		return;
	}
	if (builder->options.compressed) {
		size_t stream = lz77_compress(bytes + BUFFER_HEADER_SIZE,
					      buffer->used - BUFFER_HEADER_SIZE,
					      builder->packed + BUFFER_HEADER_SIZE);

		if (stream < buffer->used - BUFFER_HEADER_SIZE) {
			bytes = builder->packed;
			size = (uint32_t)stream + BUFFER_HEADER_SIZE;
			flags |= FLAG_COMPRESSED;
		}
	}
	if (bytes == buffer->bytes) {
		memset(bytes + buffer->used, 0xff, size - buffer->used);
	}
	builder->sequence++;
	store_buffer_header(builder, bytes, buffer, size, flags, BUFFER_GENERIC);
	write_bytes(builder, bytes, size);
	builder->buffers_written++;
	buffer->used = BUFFER_HEADER_SIZE;
}

/*
 * Room for a record of size bytes in a buffer of limit bytes, zeroed up to the next multiple of 8.
 * NULL (and a failure) when no buffer is large enough for it.
 */
static uint8_t *place(struct etl_builder *builder, struct buffer *buffer, uint32_t limit,
		      size_t size, int64_t raw_time)
{
	uint32_t padded = (uint32_t)(size + 7) & ~UINT32_C(7);
	uint8_t *at;

	if (size > UINT16_MAX || padded > limit - buffer->used) {
		error_set(&builder->failure, ERROR_LIMIT,
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

static uint8_t *place_on_processor(struct etl_builder *builder, uint16_t processor, size_t size,
				   int64_t raw_time)
{
	uint32_t limit = builder->options.buffer_size;
	struct buffer *buffer;

	if (failed(builder)) {
		return NULL;
	}
	if (processor >= builder->options.processors) {
		error_set(&builder->failure, ERROR_LIMIT,
			  "record of processor %u in a recording of %u processors",
			  (unsigned)processor, (unsigned)builder->options.processors);
		return NULL;
	}
	buffer = &builder->buffers[processor];
	if (!buffer->bytes) {
		buffer->bytes = malloc(limit);
		if (!buffer->bytes) {
			error_set(&builder->failure, ERROR_NO_MEMORY,
				  "no memory for a buffer of %u bytes", (unsigned)limit);
			return NULL;
		}
		buffer->used = BUFFER_HEADER_SIZE;
	}
	if (size > limit - buffer->used) {
		write_buffer(builder, buffer, 0);
	}
	if (raw_time > builder->latest_raw) {
		builder->latest_raw = raw_time;
	}
	return place(builder, buffer, limit, size, raw_time);
}

void etl_builder_add(struct etl_builder *builder, const struct built_record *record)
{
	size_t size = built_record_size(record);
	uint8_t *at = place_on_processor(builder, record->processor, size, record->raw_time);

	if (at) {
		built_record_store(record, builder->options.pointer_size, at);
	}
}

void etl_builder_add_payload(struct etl_builder *builder, const struct built_record *record,
			     const struct payload *payload)
{
	struct built_record whole = *record;

	if (payload->failed && !failed(builder)) {
		error_set(&builder->failure, ERROR_NO_MEMORY, "a payload could not be built");
	}
	whole.payload = payload->bytes;
	whole.payload_size = payload->size;
	etl_builder_add(builder, &whole);
}

void etl_builder_add_raw(struct etl_builder *builder, uint16_t processor, int64_t raw_time,
			 const void *bytes, size_t size)
{
	uint8_t *at = place_on_processor(builder, processor, size, raw_time);

	if (at && size > 0) {
		memcpy(at, bytes, size);
	}
}

void etl_builder_flush(struct etl_builder *builder)
{
	struct buffer *last = NULL;

	for (size_t i = 0; i < builder->options.processors; i++) {
		if (builder->buffers[i].used > BUFFER_HEADER_SIZE) {
			last = &builder->buffers[i];
		}
	}
	for (size_t i = 0; i < builder->options.processors; i++) {
		struct buffer *buffer = &builder->buffers[i];

		write_buffer(builder, buffer, buffer == last ? FLAG_FLUSH : 0);
	}
}

void etl_builder_set_compressed(struct etl_builder *builder, bool compressed)
{
	builder->options.compressed = compressed;
	if (compressed) {
		builder->options.log_file_mode |= MODE_COMPRESSED;
	}
}

void etl_builder_set_losses(struct etl_builder *builder, uint32_t events, uint32_t buffers)
{
	builder->options.events_lost = events;
	builder->options.buffers_lost = buffers;
}

uint64_t etl_builder_written(const struct etl_builder *builder)
{
	return builder->output.size;
}

/* --- the first buffer ------------------------------------------------------------------------- */

static void store_first_record(struct etl_builder *builder, const struct payload *payload)
{
	struct etl_builder_options *o = &builder->options;
	struct buffer *buffer = &builder->header;
	struct built_record record = { .type = RECORD_SYSTEM,
				       .version = 2,
				       .raw_time = o->start_raw,
				       .process_id = o->process_id,
				       .thread_id = o->thread_id,
				       .payload = payload->bytes,
				       .payload_size = payload->size };
	size_t needed = (BUFFER_HEADER_SIZE + built_record_size(&record) + 7) & ~(size_t)7;
	uint8_t *at;

	if (payload->failed) {
		error_set(&builder->failure, ERROR_NO_MEMORY, "no memory for the logfile header");
		return;
	}
	if (needed > o->header_buffer_size) {
		o->header_buffer_size = needed < BUFFER_MOST ? (uint32_t)needed : BUFFER_MOST;
	}
	buffer->bytes = malloc(o->header_buffer_size);
	if (!buffer->bytes) {
		error_set(&builder->failure, ERROR_NO_MEMORY, "no memory for the first buffer");
		return;
	}
	buffer->used = BUFFER_HEADER_SIZE;
	at = place(builder, buffer, o->header_buffer_size, built_record_size(&record),
		   o->start_raw);
	if (at) {
		built_record_store(&record, o->pointer_size, at);
	}
}

/* Writes the first buffer as a session that is running has it, to hold its place. */
static bool open_first_buffer(struct etl_builder *builder, const char *session_name,
			      const char *file_name)
{
	struct buffer *buffer = &builder->header;
	uint32_t size;
	struct payload payload;

	payload_init(&payload, builder->options.pointer_size);
	logfile_header_build(&payload, &builder->options, NULL, session_name ? session_name : "",
			     file_name ? file_name : "");
	store_first_record(builder, &payload);
	payload_done(&payload);
	if (failed(builder)) {
		return false;
	}
	size = builder->options.header_buffer_size;
	memset(buffer->bytes + buffer->used, 0xff, size - buffer->used);
	store_buffer_header(builder, buffer->bytes, buffer, size, FLAG_FLUSH,
			    BUFFER_LOGFILE_HEADER);
	write_bytes(builder, buffer->bytes, size);
	builder->buffers_written++;
	return !failed(builder);
}

void etl_builder_add_to_header(struct etl_builder *builder, const struct built_record *record)
{
	uint8_t *at;

	if (failed(builder)) {
		return;
	}
	at = place(builder, &builder->header, builder->options.header_buffer_size,
		   built_record_size(record), record->raw_time);
	if (at) {
		built_record_store(record, builder->options.pointer_size, at);
	}
}

static void finish_first_buffer(struct etl_builder *builder)
{
	struct buffer *buffer = &builder->header;
	struct logfile_ending ending = { .latest_raw = builder->latest_raw,
					 .buffers_written = builder->buffers_written };
	struct payload payload;

	/* All but the names, which stand behind and stay. */
	payload_init(&payload, builder->options.pointer_size);
	logfile_header_build(&payload, &builder->options,
			     builder->options.unclosed ? NULL : &ending, NULL, NULL);
	if (payload.failed) {
		error_set(&builder->failure, ERROR_NO_MEMORY, "no memory for the logfile header");
	} else {
		memcpy(buffer->bytes + BUFFER_HEADER_SIZE + BUILT_SYSTEM_HEADER_SIZE, payload.bytes,
		       payload.size);
	}
	payload_done(&payload);
	store_buffer_header(builder, buffer->bytes, buffer, builder->options.header_buffer_size,
			    FLAG_FLUSH, BUFFER_LOGFILE_HEADER);
	if (!failed(builder)) {
		recording_output_rewrite_start(&builder->output, buffer->bytes,
					       builder->options.header_buffer_size,
					       &builder->failure);
	}
}

/* --- a recording ------------------------------------------------------------------------------ */

static struct etl_builder_options with_defaults(const struct etl_builder_options *given)
{
	struct etl_builder_options o = *given;

	o.pointer_size = o.pointer_size ? o.pointer_size : 8;
	o.processors = o.processors ? o.processors : 1;
	o.buffer_size = o.buffer_size ? o.buffer_size : 65536;
	o.header_buffer_size = o.header_buffer_size ? o.header_buffer_size : o.buffer_size;
	o.clock = o.clock ? o.clock : CLOCK_QPC;
	o.perf_frequency = o.perf_frequency ? o.perf_frequency : 10000000;
	o.cpu_mhz = o.cpu_mhz ? o.cpu_mhz : 2400;
	o.start_time = o.start_time ? o.start_time : INT64_C(133601436000000000);
	o.boot_time = o.boot_time ? o.boot_time : o.start_time - INT64_C(36000000000);
	o.log_file_mode = o.log_file_mode ? o.log_file_mode : MODE_SEQUENTIAL;
	o.log_file_mode |= o.compressed ? MODE_COMPRESSED : 0;
	o.os_build = o.os_build ? o.os_build : 17763;
	o.os_major = o.os_major ? o.os_major : 10;
	o.session_name = NULL;
	o.file_name = NULL;
	return o;
}

static bool check(const struct etl_builder_options *options, struct error *err)
{
	if (options->pointer_size != 4 && options->pointer_size != 8) {
		return error_set(err, ERROR_LIMIT, "pointer size %u is neither 4 nor 8",
				 (unsigned)options->pointer_size);
	}
	if (options->buffer_size < BUFFER_LEAST || options->buffer_size > BUFFER_MOST ||
	    options->buffer_size % 8 != 0) {
		return error_set(err, ERROR_LIMIT,
				 "buffer size %u is not a multiple of 8 from %u to %u",
				 (unsigned)options->buffer_size, (unsigned)BUFFER_LEAST,
				 (unsigned)BUFFER_MOST);
	}
	return true;
}

struct etl_builder *etl_builder_open(const char *path, const struct etl_builder_options *options,
				     struct error *err)
{
	struct etl_builder *builder = calloc(1, sizeof *builder);

	if (!builder) {
		error_set(err, ERROR_NO_MEMORY, "no memory to write a recording");
		return NULL;
	}
	builder->options = with_defaults(options);
	builder->latest_raw = builder->options.start_raw;
	if (!check(&builder->options, &builder->failure)) {
		goto fail;
	}
	builder->buffers = calloc(builder->options.processors, sizeof *builder->buffers);
	builder->packed = malloc(BUFFER_HEADER_SIZE + lz77_bound(builder->options.buffer_size));
	if (!builder->buffers || !builder->packed) {
		error_set(&builder->failure, ERROR_NO_MEMORY, "no memory to write a recording");
		goto fail;
	}
	if (!recording_output_open(&builder->output, path, &builder->failure)) {
		goto fail;
	}
	if (!open_first_buffer(builder, options->session_name, options->file_name)) {
		goto fail;
	}
	return builder;

fail:
	error_set(err, builder->failure.code, "%s%s%s", path ? path : "", path ? ": " : "",
		  builder->failure.text);
	etl_builder_close(builder);
	return NULL;
}

bool etl_builder_failed(const struct etl_builder *builder)
{
	return failed(builder);
}

bool etl_builder_finish(struct etl_builder *builder, struct error *err)
{
	etl_builder_flush(builder);
	finish_first_buffer(builder);
	if (failed(builder)) {
		return error_set(err, builder->failure.code, "%s", builder->failure.text);
	}
	return true;
}

const uint8_t *etl_builder_bytes(const struct etl_builder *builder, size_t *size)
{
	*size = (size_t)builder->output.size;
	return builder->output.memory;
}

void etl_builder_close(struct etl_builder *builder)
{
	if (!builder) {
		return;
	}
	for (size_t i = 0; builder->buffers && i < builder->options.processors; i++) {
		free(builder->buffers[i].bytes);
	}
	recording_output_close(&builder->output);
	free(builder->buffers);
	free(builder->packed);
	free(builder->header.bytes);
	free(builder);
}
