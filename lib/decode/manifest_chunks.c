/* SPDX-License-Identifier: MIT */
/*
 * Assembles manifests from chunks.
 *
 * An EventSource writes its manifest as events of one id, each with a part of the XML and the
 * number of parts. It writes them in the order of their numbers, but each processor has buffers of
 * its own: a thread that moves to another processor between two parts leaves them in two buffers,
 * which can be in a file in any order, and arrive late in a live session. So a part is taken
 * whenever it comes, and the parts are put in order when all are there.
 *
 * A process may write the manifest of a provider several times, when the provider is enabled and
 * when the session ends, and a part can be lost. So each text that is not complete yet is a stream,
 * and a part goes to the stream that lacks its number and whose last part is nearest in time; if
 * several are equally near, to the one that began last. An EventSource writes all parts at once, so
 * a stream takes only parts at most APART_MOST_100NS away; it takes the part directly after those
 * that it has at any time. A part that no stream takes begins a new stream.
 *
 * A recording can contain any number of incomplete manifests, so streams are bounded in number and
 * bytes. The oldest stream is dropped: first of the provider in this process, then of the process,
 * then of all. A stream has a bit for each of its parts, because there may be 65,535 and each of
 * them may come again.
 */

#include <stdlib.h>

#include <etw/manifest.h>
#include <etw/record.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/memory.h"
#include "base/text.h"

enum {
	CHUNK_FORMAT = 1,
	CHUNK_MAGIC = 0x5b,
	STREAMS_MOST = 256,
	STREAMS_MOST_OF_PROCESS = 32,
	STREAMS_MOST_OF_PROVIDER = 4,  /* streams of one provider in one process */
	MANIFEST_SIZE_MOST = 16 << 20, /* docs/etl-format.md section 18 */
	ASSEMBLY_SIZE_MOST = 64 << 20,
	/* Greatest distance in time between the parts of one text. */
	APART_MOST_100NS = 10 * 10 * 1000000,
};

struct part {
	uint32_t offset, size; /* in the stream's `xml` */
	uint16_t number;
};

struct etw_manifest_stream {
	struct etw_guid provider;
	uint32_t process_id;
	uint16_t total;      /* 0: the stream is free */
	uint64_t number;     /* number of streams that began before this one */
	int64_t began;       /* time of chunk 0, 100 ns since 1601 UTC */
	int64_t time;        /* time of the chunk that came last */
	struct etw_text xml; /* the parts in the order in which they came */
	uint8_t *present;    /* owned: a bit for each part */
	struct part *parts;  /* owned */
	size_t count, capacity;
	bool disordered; /* a part came before one with a lower number */
	size_t bytes;
};

bool etw_manifest_chunk_read(const struct etw_record *record, struct etw_manifest_chunk *chunk)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct etw_manifest_chunk read = { 0 };
	struct etw_extended_item item;

	if (record->type != ETW_RECORD_EVENT || record->classic ||
	    record->id != ETW_MANIFEST_EVENT_ID ||
	    etw_record_find_extended(record, ETW_EXTENDED_TRACELOGGING, &item)) {
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

/* ---- streams ---- */

static bool has_part(const struct etw_manifest_stream *stream, uint16_t number)
{
	return (stream->present[number / 8] >> number % 8 & 1) != 0;
}

static uint64_t distance(int64_t a, int64_t b)
{
	return a < b ? etw_time_between(a, b) : etw_time_between(b, a);
}

static bool is_of(const struct etw_manifest_stream *stream, const struct etw_record *record)
{
	return stream->total != 0 && stream->process_id == record->process_id &&
	       etw_guid_equal(&stream->provider, record->provider);
}

/* Returns whether this is the part directly after those that the stream has. */
static bool is_next(const struct etw_manifest_stream *stream, uint16_t number)
{
	return !stream->disordered && stream->count == number &&
	       stream->parts[number - 1U].number + 1U == number;
}

/* Returns the stream that the chunk continues; NULL if there is none. */
static struct etw_manifest_stream *find_stream(struct etw_manifest_assembly *assembly,
					       const struct etw_record *record,
					       const struct etw_manifest_chunk *chunk)
{
	struct etw_manifest_stream *nearest = NULL;
	uint64_t least = 0;

	for (size_t i = 0; i < assembly->count; i++) {
		struct etw_manifest_stream *stream = &assembly->streams[i];
		uint64_t apart;

		if (!is_of(stream, record) || stream->total != chunk->total ||
		    has_part(stream, chunk->number)) {
			continue;
		}
		apart = distance(stream->time, record->time);
		if (apart > APART_MOST_100NS && !is_next(stream, chunk->number)) {
			continue;
		}
		if (!nearest || apart < least ||
		    (apart == least && stream->number > nearest->number)) {
			nearest = stream;
			least = apart;
		}
	}
	return nearest;
}

static void end_stream(struct etw_manifest_assembly *assembly, struct etw_manifest_stream *stream)
{
	assembly->bytes -= stream->bytes;
	text_free(&stream->xml);
	free(stream->present);
	free(stream->parts);
	*stream = (struct etw_manifest_stream){ .total = 0 };
}

static void drop(struct etw_manifest_assembly *assembly, struct etw_manifest_stream *stream)
{
	end_stream(assembly, stream);
	assembly->dropped++;
}

static struct etw_manifest_stream *older(struct etw_manifest_stream *a,
					 struct etw_manifest_stream *b)
{
	return !a || b->number < a->number ? b : a;
}

/* Returns a free stream. Drops one first if there are too many. */
static struct etw_manifest_stream *make_place(struct etw_manifest_assembly *assembly,
					      const struct etw_record *record)
{
	struct etw_manifest_stream *of_provider = NULL, *of_process = NULL, *oldest = NULL;
	struct etw_manifest_stream *place = NULL;
	unsigned by_provider = 0, by_process = 0;

	for (size_t i = 0; i < assembly->count; i++) {
		struct etw_manifest_stream *stream = &assembly->streams[i];

		if (stream->total == 0) {
			place = stream;
			continue;
		}
		oldest = older(oldest, stream);
		if (stream->process_id == record->process_id) {
			by_process++;
			of_process = older(of_process, stream);
		}
		if (is_of(stream, record)) {
			by_provider++;
			of_provider = older(of_provider, stream);
		}
	}
	if (by_provider >= STREAMS_MOST_OF_PROVIDER) {
		place = of_provider;
	} else if (by_process >= STREAMS_MOST_OF_PROCESS) {
		place = of_process;
	} else if (!place && assembly->count < STREAMS_MOST) {
		return &assembly->streams[assembly->count++];
	} else if (!place) {
		place = oldest;
	}
	if (place->total != 0) {
		drop(assembly, place);
	}
	return place;
}

/* Starts a stream. Returns NULL if there is no memory. */
static struct etw_manifest_stream *new_stream(struct etw_manifest_assembly *assembly,
					      const struct etw_record *record, uint16_t total)
{
	size_t bits = (size_t)total / 8 + 1;
	uint8_t *present = calloc(bits, 1);
	struct etw_manifest_stream *stream;

	if (!assembly->streams) {
		assembly->streams = calloc(STREAMS_MOST, sizeof *assembly->streams);
	}
	if (!present || !assembly->streams) {
		memory_note_loss();
		free(present);
		return NULL;
	}
	stream = make_place(assembly, record);
	*stream = (struct etw_manifest_stream){ .provider = *record->provider,
						.process_id = record->process_id,
						.total = total,
						.number = assembly->started++,
						.present = present,
						.bytes = bits };
	assembly->bytes += bits;
	return stream;
}

/* ---- parts ---- */

/* Adds a part to the stream. Returns false if there is no memory. */
static bool add_part(struct etw_manifest_assembly *assembly, struct etw_manifest_stream *stream,
		     const struct etw_manifest_chunk *chunk)
{
	size_t bytes = chunk->xml_size + sizeof *stream->parts;
	struct part *grown =
		array_grow(stream->parts, &stream->capacity, stream->count, sizeof *grown);

	if (!grown) {
		return false;
	}
	stream->parts = grown;
	grown[stream->count] = (struct part){ .offset = (uint32_t)stream->xml.size,
					      .size = chunk->xml_size,
					      .number = chunk->number };
	stream->disordered |= stream->count > 0 && grown[stream->count - 1].number > chunk->number;
	stream->count++;
	stream->present[chunk->number / 8] |= (uint8_t)(1U << chunk->number % 8);
	text_add(&stream->xml, (const char *)chunk->xml, chunk->xml_size);
	stream->bytes += bytes;
	assembly->bytes += bytes;
	return !stream->xml.failed;
}

static int compare_parts(const void *left, const void *right)
{
	return (int)((const struct part *)left)->number - (int)((const struct part *)right)->number;
}

/* Moves the text of a complete stream to *xml. Returns false if there is no memory. */
static bool join(struct etw_manifest_stream *stream, struct etw_text *xml)
{
	struct etw_text whole = { 0 };

	if (!stream->disordered) {
		*xml = stream->xml;
		stream->xml = (struct etw_text){ 0 };
		return true;
	}
	sort_items(stream->parts, stream->count, sizeof *stream->parts, compare_parts);
	for (size_t i = 0; i < stream->count; i++) {
		text_add(&whole, stream->xml.data + stream->parts[i].offset, stream->parts[i].size);
	}
	if (whole.failed) {
		text_free(&whole);
		return false;
	}
	*xml = whole;
	return true;
}

/* Returns the oldest stream; NULL if there is none. */
static struct etw_manifest_stream *oldest_stream(const struct etw_manifest_assembly *assembly)
{
	struct etw_manifest_stream *oldest = NULL;

	for (size_t i = 0; i < assembly->count; i++) {
		if (assembly->streams[i].total != 0) {
			oldest = older(oldest, &assembly->streams[i]);
		}
	}
	return oldest;
}

/* Drops the oldest streams while the bytes of all exceed the bound. */
static void bound_bytes(struct etw_manifest_assembly *assembly)
{
	struct etw_manifest_stream *oldest;

	while (assembly->bytes > ASSEMBLY_SIZE_MOST && (oldest = oldest_stream(assembly)) != NULL) {
		drop(assembly, oldest);
	}
}

/* Adds the part to a stream. Returns true if this completed the text, which is then moved to
 * *xml. */
static bool continue_stream(struct etw_manifest_assembly *assembly,
			    struct etw_manifest_stream *stream, const struct etw_record *record,
			    const struct etw_manifest_chunk *chunk, struct etw_text *xml)
{
	bool whole = false;

	stream->time = record->time;
	if (chunk->number == 0) {
		stream->began = record->time;
	}
	if (!add_part(assembly, stream, chunk)) {
		end_stream(assembly, stream);
	} else if (stream->count == stream->total) {
		whole = join(stream, xml);
		assembly->began = stream->began;
		end_stream(assembly, stream);
	} else {
		bound_bytes(assembly);
	}
	return whole;
}

bool etw_manifest_assembly_add(struct etw_manifest_assembly *assembly,
			       const struct etw_record *record, struct etw_text *xml)
{
	size_t most = assembly->size_most ? assembly->size_most : MANIFEST_SIZE_MOST;
	struct etw_manifest_stream *stream;
	struct etw_manifest_chunk chunk;

	if (!etw_manifest_chunk_read(record, &chunk)) {
		return false;
	}
	stream = chunk.total > 1 ? find_stream(assembly, record, &chunk) : NULL;
	if (chunk.xml_size > most - (stream ? stream->xml.size : 0)) {
		if (stream) {
			end_stream(assembly, stream);
		}
		assembly->dropped++;
		return false;
	}
	if (chunk.total == 1) {
		assembly->began = record->time;
		text_add(xml, (const char *)chunk.xml, chunk.xml_size);
		if (xml->failed) {
			text_free(xml);
			return false;
		}
		return true;
	}
	stream = stream ? stream : new_stream(assembly, record, chunk.total);
	return stream && continue_stream(assembly, stream, record, &chunk, xml);
}

void etw_manifest_assembly_done(struct etw_manifest_assembly *assembly)
{
	for (size_t i = 0; i < assembly->count; i++) {
		if (assembly->streams[i].total != 0) {
			end_stream(assembly, &assembly->streams[i]);
		}
	}
	free(assembly->streams);
	*assembly = (struct etw_manifest_assembly){ .size_most = assembly->size_most,
						    .dropped = assembly->dropped };
}
