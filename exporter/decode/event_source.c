/* SPDX-License-Identifier: MIT */
/*
 * Assembles EventSource manifests from chunks.
 *
 * An EventSource writes its manifest as events of one id, each with a part of the XML and the
 * number of parts. The parts of one manifest arrive in the order of their numbers, but parts of
 * other processes and providers may be between them. So there is a stream for each process and
 * provider. If a part is missing, the stream is dropped and starts again with the next part 0.
 *
 * A recording can contain any number of incomplete manifests, so streams are bounded in number and
 * bytes. If a process has too many streams, one of its own is dropped; if there are too many in
 * total, the oldest one is.
 */
#include "decode/event_source.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/guid.h"

enum {
	CHUNK_FORMAT = 1,
	CHUNK_MAGIC = 0x5b,
	STREAMS_MOST = 256,
	STREAMS_MOST_OF_PROCESS = 32,
	MANIFEST_SIZE_MOST = 16 << 20, /* docs/etl-format.md section 18 */
	ASSEMBLY_SIZE_MOST = 64 << 20,
};

struct manifest_stream {
	struct guid provider;
	uint32_t process_id;
	uint16_t total; /* 0: free, or waiting for a chunk 0 */
	uint16_t next;
	struct text xml;
};

bool manifest_chunk_read(const struct event_record *record, struct manifest_chunk *chunk)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct manifest_chunk read = { 0 };
	struct extended_item item;

	if (record->type != RECORD_EVENT || record->classic || record->id != MANIFEST_EVENT_ID ||
	    record_find_extended(record, EXTENDED_TRACELOGGING, &item)) {
		return false;
	}
	read.format = cursor_u8(&c);
	read.major = cursor_u8(&c);
	read.minor = cursor_u8(&c);
	read.magic = cursor_u8(&c);
	read.total = cursor_u16(&c);
	read.number = cursor_u16(&c);
	if (c.overrun || read.format != CHUNK_FORMAT || read.magic != CHUNK_MAGIC ||
	    read.number >= read.total) {
		return false;
	}
	read.xml = c.at;
	read.xml_size = (uint32_t)cursor_left(&c);
	*chunk = read;
	return true;
}

static struct manifest_stream *find_stream(struct manifest_assembly *assembly,
					   const struct event_record *record)
{
	for (size_t i = 0; i < assembly->count; i++) {
		struct manifest_stream *stream = &assembly->streams[i];

		if (stream->total != 0 && stream->process_id == record->process_id &&
		    guid_equal(&stream->provider, record->provider)) {
			return stream;
		}
	}
	return NULL;
}

static void give_up(struct manifest_assembly *assembly, struct manifest_stream *stream)
{
	assembly->bytes -= stream->xml.size;
	text_free(&stream->xml);
	*stream = (struct manifest_stream){ .total = 0 };
}

static void give_up_oldest(struct manifest_assembly *assembly)
{
	give_up(assembly, &assembly->streams[assembly->oldest]);
	assembly->oldest = (assembly->oldest + 1) % assembly->count;
}

/* A stream of the process to drop if the process has too many; else NULL. */
static struct manifest_stream *stream_too_many(struct manifest_assembly *assembly,
					       uint32_t process_id)
{
	struct manifest_stream *own = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < assembly->count; i++) {
		struct manifest_stream *stream = &assembly->streams[i];

		if (stream->total != 0 && stream->process_id == process_id) {
			own = stream;
			count++;
		}
	}
	return count < STREAMS_MOST_OF_PROCESS ? NULL : own;
}

/* Returns a free stream; drops one if needed. NULL without memory. */
static struct manifest_stream *new_stream(struct manifest_assembly *assembly, uint32_t process_id)
{
	struct manifest_stream *stream;

	if (!assembly->streams) {
		assembly->streams = calloc(STREAMS_MOST, sizeof *assembly->streams);
		if (!assembly->streams) {
			return NULL;
		}
	}
	stream = stream_too_many(assembly, process_id);
	if (stream) {
		give_up(assembly, stream);
		return stream;
	}
	for (size_t i = 0; i < assembly->count; i++) {
		if (assembly->streams[i].total == 0) {
			return &assembly->streams[i];
		}
	}
	if (assembly->count < STREAMS_MOST) {
		return &assembly->streams[assembly->count++];
	}
	stream = &assembly->streams[assembly->oldest];
	give_up_oldest(assembly);
	return stream;
}

bool manifest_assembly_add(struct manifest_assembly *assembly, const struct event_record *record,
			   const struct manifest_chunk *chunk, struct text *xml)
{
	struct manifest_stream *stream = find_stream(assembly, record);
	size_t most = assembly->size_most ? assembly->size_most : MANIFEST_SIZE_MOST;

	if (stream && (chunk->number != stream->next || chunk->total != stream->total ||
		       chunk->xml_size > most - stream->xml.size)) {
		give_up(assembly, stream);
		stream = NULL;
	}
	if (!stream) {
		if (chunk->number != 0 || chunk->xml_size > most) {
			return false;
		}
		stream = new_stream(assembly, record->process_id);
		if (!stream) {
			return false;
		}
		stream->provider = *record->provider;
		stream->process_id = record->process_id;
		stream->total = chunk->total;
	}
	text_add(&stream->xml, (const char *)chunk->xml, chunk->xml_size);
	assembly->bytes += chunk->xml_size;
	stream->next++;
	if (stream->xml.failed) {
		assembly->bytes -= chunk->xml_size;
		give_up(assembly, stream);
		return false;
	}
	if (stream->next == stream->total) {
		*xml = stream->xml;
		assembly->bytes -= stream->xml.size;
		*stream = (struct manifest_stream){ .total = 0 };
		return true;
	}
	while (assembly->bytes > ASSEMBLY_SIZE_MOST) {
		give_up_oldest(assembly);
	}
	return false;
}

void manifest_assembly_done(struct manifest_assembly *assembly)
{
	for (size_t i = 0; i < assembly->count; i++) {
		text_free(&assembly->streams[i].xml);
	}
	free(assembly->streams);
	*assembly = (struct manifest_assembly){ .size_most = assembly->size_most };
}
