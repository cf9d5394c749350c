/* SPDX-License-Identifier: MIT */
/*
 * A mutator of libFuzzer for targets whose input is a recording, followed by one byte that is a
 * choice of the target. It mutates recordings by what they consist of: buffers, records, fields of
 * headers, payloads, extended items.
 *
 * A recording that is changed byte by byte is mostly one that ends early: a size no longer fits, a
 * compressed buffer does not unpack, and nothing behind it is read. So the recording is taken apart
 * (recording_parts.h), one to four parts of it are changed, and it is put together with sizes that
 * fit. Numbers are often taken from another record, because most of the code is about ids that two
 * records share: processes, threads, files, activities, providers. New records come from
 * recordings that lib/etl/writer.h writes, with events of every kernel class that has a meaning for
 * the program.
 *
 * Every fourth mutation is one of libFuzzer on the bytes as they are, for faults of sizes and of
 * packed buffers, and a part of the others ends in a file that is cut. The last byte, the choice
 * of the target, is changed by itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "tests/fuzz/recording_parts.h"
#include "tests/support/every_class.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most); /* of libFuzzer */

enum {
	WRITTEN_FORMS = 48, /* pointer size, clock, compression, parts: write_recording() */
	PAYLOAD_MOST = 8192,
	GUID_SIZE = 16,
	EVENT_HEADER32 = 0x12,
	EVENT_HEADER64 = 0x13,
};

/* ---- chance ---- */

struct chance {
	uint64_t state;
};

/* A number below limit, 0 for none ("xorshift64*", Vigna, ACM Transactions on Mathematical Software
 * 42). */
static size_t below(struct chance *chance, size_t limit)
{
	chance->state ^= chance->state >> 12;
	chance->state ^= chance->state << 25;
	chance->state ^= chance->state >> 27;
	return limit > 0 ? (size_t)(chance->state * UINT64_C(0x2545f4914f6cdd1d) >> 33) % limit : 0;
}

static uint64_t interesting_number(struct chance *chance)
{
	static const uint64_t numbers[] = { 0,          1,          2,
					    4,          7,          8,
					    16,         100,        0x7f,
					    0x80,       0xff,       0x100,
					    0x7fff,     0x8000,     0xffff,
					    0x10000,    0x7fffffff, 0x80000000,
					    0xffffffff, 1ULL << 32, UINT64_MAX >> 1,
					    1ULL << 63, UINT64_MAX };

	return numbers[below(chance, sizeof numbers / sizeof numbers[0])] + below(chance, 3) - 1;
}

static void store(uint8_t *at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		at[i] = (uint8_t)(value >> 8 * i);
	}
}

/* ---- records to take from ---- */

/* Writes a recording, in a form by number; returns its size, or 0 if that is more than most. */
static size_t write_recording(unsigned number, uint8_t *data, size_t most)
{
	static void (*const add[])(struct etw_writer *, uint8_t) = {
		every_class_add,
		every_class_add_kernel,
		every_class_add_programs,
		every_class_add_rare,
	};
	const uint8_t pointer_size = number % 2 == 0 ? 8 : 4;
	const enum etw_clock_type clock = ETW_CLOCK_QPC + number / 2 % 3;
	const struct etw_writer_options options =
		every_class_options(pointer_size, clock, number / 6 % 2 == 1);
	struct etw_writer *writer = etw_writer_open(NULL, &options, NULL);
	const uint8_t *bytes;
	size_t size = 0;

	if (!writer) {
		abort();
	}
	add[number / 12 % (sizeof add / sizeof add[0])](writer, pointer_size);
	if (!etw_writer_finish(writer, NULL)) {
		abort();
	}
	bytes = etl_writer_bytes(writer, &size);
	size = size <= most ? size : 0;
	memcpy(data, bytes, size);
	etw_writer_close(writer);
	return size;
}

static bool has_records(const struct recording_parts *parts)
{
	return parts->record_count > 1 && parts->buffer_count > 0;
}

/* Every class of event with pointers of 8 or 4 bytes; read once. What is put together without a
 * change must be what it was. */
static struct recording_parts *written(unsigned pointer_size_4)
{
	static struct recording_parts all[2];
	static uint8_t bytes[EVERY_CLASS_SIZE_MOST], again[EVERY_CLASS_SIZE_MOST];

	for (unsigned i = 0; i < 2 && all[i].record_count == 0; i++) {
		size_t size = write_recording(i, bytes, sizeof bytes);

		parts_read(&all[i], bytes, size);
		if (!has_records(&all[i]) || parts_store(&all[i], again, sizeof again) != size ||
		    memcmp(bytes, again, size) != 0) {
			abort();
		}
	}
	return &all[pointer_size_4];
}

static bool copy_record(struct recording_parts *to, size_t index, struct recording_parts *from,
			size_t which)
{
	struct part_record record = from->records[which];
	uint8_t *room = parts_room(to, record.size);

	if (!room) {
		return false;
	}
	memcpy(room, parts_bytes(from, &record), record.size);
	record.at = (uint32_t)(room - to->bytes);
	return parts_insert(to, index, record);
}

/* ---- changes ---- */

typedef bool change_fn(struct recording_parts *parts, struct chance *chance);

/* Gives the record size bytes, the first of which are the old ones; NULL: no room. */
static uint8_t *renew(struct recording_parts *parts, struct part_record *record, size_t size)
{
	uint8_t *room = size <= UINT16_MAX ? parts_room(parts, size) : NULL;

	if (room) {
		memcpy(room, parts_bytes(parts, record), size < record->size ? size : record->size);
		record->at = (uint32_t)(room - parts->bytes);
		record->size = (uint32_t)size;
	}
	return room;
}

static struct part_record *any_record(struct recording_parts *parts, struct chance *chance)
{
	return &parts->records[below(chance, parts->record_count)];
}

/* Where the payload begins, if the record has no extras or items. */
static size_t payload_at(struct recording_parts *parts, const struct part_record *record)
{
	const struct header_form *form = header_form_of(parts_bytes(parts, record), record->size);

	return form ? form->size : ETL_RECORD_SIZE_MIN;
}

/* What libFuzzer does to the payload, with its dictionary and what it saw in comparisons. */
static bool change_payload(struct recording_parts *parts, struct chance *chance)
{
	static uint8_t bytes[PAYLOAD_MOST];
	struct part_record *record = any_record(parts, chance);
	size_t start = payload_at(parts, record);
	size_t size = record->size > start ? record->size - start : 0;
	uint8_t *renewed;

	if (record->size < start || size > PAYLOAD_MOST) {
		return false;
	}
	memcpy(bytes, parts_bytes(parts, record) + start, size);
	size = LLVMFuzzerMutate(bytes, size, PAYLOAD_MOST);
	renewed = renew(parts, record, start + size);
	if (renewed) {
		memcpy(renewed + start, bytes, size);
	}
	return renewed != NULL;
}

/* A number in the payload, from nowhere or from the payload of another record. */
static bool change_number(struct recording_parts *parts, struct chance *chance)
{
	static const uint8_t sizes[] = { 1, 2, 4, 4, 4, 8, 8 };
	struct part_record *record = any_record(parts, chance);
	struct part_record *other = any_record(parts, chance);
	size_t start = payload_at(parts, record), from = payload_at(parts, other);
	size_t size = sizes[below(chance, sizeof sizes)];
	uint8_t *renewed;
	size_t at;

	if (record->size < start + size) {
		return false;
	}
	at = start + below(chance, (record->size - start) / size) * size;
	renewed = renew(parts, record, record->size);
	if (!renewed) {
		return false;
	}
	if (below(chance, 2) == 0 && other->size >= from + size) {
		from += below(chance, (other->size - from) / size) * size;
		memcpy(renewed + at, parts_bytes(parts, other) + from, size);
	} else {
		store(renewed + at, interesting_number(chance), size);
	}
	return true;
}

static bool cut_payload(struct recording_parts *parts, struct chance *chance)
{
	struct part_record *record = any_record(parts, chance);
	size_t start = payload_at(parts, record);

	if (record->size <= start) {
		return false;
	}
	record->size = (uint32_t)(start + below(chance, record->size - start));
	return true;
}

/* A field of the header: as in another record, or any number. */
static bool change_header(struct recording_parts *parts, struct chance *chance)
{
	struct part_record *record = any_record(parts, chance);
	struct part_record *other = any_record(parts, chance);
	const struct header_form *form = header_form_of(parts_bytes(parts, record), record->size);
	const struct header_form *theirs = header_form_of(parts_bytes(parts, other), other->size);
	uint8_t *bytes = form && theirs ? renew(parts, record, record->size) : NULL;
	const uint8_t *from;

	if (!bytes) {
		return false;
	}
	from = parts_bytes(parts, other);
	switch (below(chance, 8)) {
	case 0:
		bytes[2] = header_forms[below(chance, header_form_count)].type;
		break;
	case 1:
		if (form->time_at && theirs->time_at) {
			store(bytes + form->time_at,
			      etw_load_u64(from + theirs->time_at) + below(chance, 3) - 1, 8);
		}
		break;
	case 2:
		if (form->time_at) {
			store(bytes + form->time_at, interesting_number(chance), 8);
		}
		break;
	case 3:
		if (form->ids_at && theirs->ids_at) {
			memcpy(bytes + form->ids_at, from + theirs->ids_at, 8);
		}
		break;
	case 4:
		if (form->provider_at && theirs->provider_at) {
			memcpy(bytes + form->provider_at, from + theirs->provider_at, GUID_SIZE);
			bytes[form->opcode_at] = from[theirs->opcode_at];
		}
		break;
	case 5:
		bytes[form->version_at] = (uint8_t)below(chance, 8);
		break;
	case 6:
		bytes[form->opcode_at] = theirs->opcode_at && below(chance, 2) == 0 ?
						 from[theirs->opcode_at] :
						 (uint8_t)below(chance, 256);
		break;
	default: /* group, flags, id, channel, level, keyword, activity */
		bytes[4 + below(chance, form->size - 4U)] = (uint8_t)interesting_number(chance);
		break;
	}
	return true;
}

static bool repeat_record(struct recording_parts *parts, struct chance *chance)
{
	return copy_record(parts, below(chance, parts->record_count + 1), parts,
			   below(chance, parts->record_count));
}

static bool remove_record(struct recording_parts *parts, struct chance *chance)
{
	parts_remove(parts, 1 + below(chance, parts->record_count - 1)); /* the header stays */
	return true;
}

static bool exchange_records(struct recording_parts *parts, struct chance *chance)
{
	struct part_record *a = &parts->records[1 + below(chance, parts->record_count - 1)];
	struct part_record *b = &parts->records[1 + below(chance, parts->record_count - 1)];
	const struct part_record kept = *a;

	*a = *b;
	*b = kept;
	return a != b;
}

static bool add_written_record(struct recording_parts *parts, struct chance *chance)
{
	struct recording_parts *from = written((unsigned)below(chance, 2));

	return copy_record(parts, 1 + below(chance, parts->record_count), from,
			   1 + below(chance, from->record_count - 1));
}

/* An extended item in front of the payload of an event: docs/etl-format.md section 9. */
static bool add_item(struct recording_parts *parts, struct chance *chance)
{
	enum { FLAGS_AT = 4, HEADER = 8, TYPES = 20, DATA_MOST = 64 };
	struct part_record *record = any_record(parts, chance);
	const uint8_t *bytes = parts_bytes(parts, record);
	const struct header_form *form = header_form_of(bytes, record->size);
	size_t size = below(chance, DATA_MOST), whole = (HEADER + size + 7) / 8 * 8;
	size_t old_size = record->size;
	uint8_t *renewed;
	bool had_items;

	if (!form || (form->type != EVENT_HEADER32 && form->type != EVENT_HEADER64)) {
		return false;
	}
	renewed = renew(parts, record, old_size + whole);
	if (!renewed) {
		return false;
	}
	had_items = renewed[FLAGS_AT] & 1;
	renewed[FLAGS_AT] |= 1;
	memmove(renewed + form->size + whole, renewed + form->size, old_size - form->size);
	renewed += form->size;
	memset(renewed, 0, whole);
	store(renewed, whole, 2);
	store(renewed + 2, below(chance, TYPES), 2);
	store(renewed + 4, had_items, 2); /* another one follows */
	store(renewed + 6, size, 2);
	for (size_t i = 0; i < size; i++) {
		renewed[HEADER + i] = (uint8_t)below(chance, 4) == 0 ? (uint8_t)below(chance, 256) :
								       (uint8_t)below(chance, 2);
	}
	return true;
}

/* ---- changes of buffers ---- */

static size_t first_of(const struct recording_parts *parts, size_t buffer)
{
	size_t first = 0;

	for (size_t i = 0; i < buffer; i++) {
		first += parts->buffers[i].records;
	}
	return first;
}

/* A buffer with the same header begins at a record within this one. */
static bool split_buffer(struct recording_parts *parts, struct chance *chance)
{
	size_t index = below(chance, parts->buffer_count);
	struct part_buffer *buffer = &parts->buffers[index];
	size_t kept;

	if (parts->buffer_count == PARTS_BUFFERS_MOST || buffer->records < 2) {
		return false;
	}
	memmove(buffer + 1, buffer, (parts->buffer_count - index) * sizeof *buffer);
	parts->buffer_count++;
	kept = 1 + below(chance, buffer->records - 1);
	buffer[1].records = buffer->records - kept;
	buffer->records = kept;
	return true;
}

static bool join_buffers(struct recording_parts *parts, struct chance *chance)
{
	size_t index = below(chance, parts->buffer_count - 1);
	struct part_buffer *buffer = &parts->buffers[index];

	if (parts->buffer_count < 2) {
		return false;
	}
	buffer->records += buffer[1].records;
	memmove(buffer + 1, buffer + 2, (parts->buffer_count - index - 2) * sizeof *buffer);
	parts->buffer_count--;
	return true;
}

static bool remove_buffer(struct recording_parts *parts, struct chance *chance)
{
	size_t index = below(chance, parts->buffer_count);
	size_t first = first_of(parts, index), count = parts->buffers[index].records;

	if (index == 0) {
		return false;
	}
	memmove(parts->records + first, parts->records + first + count,
		(parts->record_count - first - count) * sizeof parts->records[0]);
	memmove(parts->buffers + index, parts->buffers + index + 1,
		(parts->buffer_count - index - 1) * sizeof parts->buffers[0]);
	parts->record_count -= count;
	parts->buffer_count--;
	return true;
}

static bool change_buffer(struct recording_parts *parts, struct chance *chance)
{
	struct part_buffer *buffer = &parts->buffers[below(chance, parts->buffer_count)];
	uint8_t *header = buffer->header;

	switch (below(chance, 6)) {
	case 0:
		header[BUFFER_FLAGS_AT] ^= BUFFER_FLAG_COMPRESSED;
		break;
	case 1: /* losses among them */
		header[BUFFER_FLAGS_AT] ^= (uint8_t)(1U << below(chance, 6));
		break;
	case 2:
		header[BUFFER_TYPE_AT] = (uint8_t)below(chance, 9);
		break;
	case 3:
		header[BUFFER_PROCESSOR_AT] = (uint8_t)below(chance, 6);
		break;
	case 4:
		buffer->filler = (uint32_t)below(chance, 256) * 8;
		break;
	default:
		header[8 + below(chance, ETL_BUFFER_HEADER_SIZE - 8)] =
			(uint8_t)interesting_number(chance);
		break;
	}
	return true;
}

/* The logfile header, on which every time depends: docs/etl-format.md section 5. */
static bool change_logfile_header(struct recording_parts *parts, struct chance *chance)
{
	enum { WORDS = 0x118 / 4, ZONE_FROM = 0x48 / 4, ZONE_TO = 0xf0 / 4 };
	struct part_record *record = &parts->records[0];
	size_t start = payload_at(parts, record), word = below(chance, WORDS);
	uint8_t *renewed;

	if (word >= ZONE_FROM && word < ZONE_TO) {
		word = ZONE_TO + below(chance, WORDS - ZONE_TO);
	}
	if (record->size < start + word * 4 + 8) {
		return false;
	}
	renewed = renew(parts, record, record->size);
	if (renewed) {
		store(renewed + start + word * 4, interesting_number(chance),
		      below(chance, 2) == 0 ? 4 : 8);
	}
	return renewed != NULL;
}

/* Some stand twice because they lead further. */
static change_fn *const changes[] = {
	change_payload, change_payload,        change_payload,     change_number,
	change_number,  change_number,         cut_payload,        change_header,
	change_header,  change_header,         repeat_record,      remove_record,
	remove_record,  exchange_records,      add_written_record, add_written_record,
	add_item,       split_buffer,          join_buffers,       remove_buffer,
	change_buffer,  change_logfile_header,
};

/* ---- for libFuzzer ---- */

static struct recording_parts mutated;

/* Changes the recording alone, without the choice behind it. 0: it is none, or would be too long.
 */
static size_t change_some(uint8_t *data, size_t size, size_t most, struct chance *chance)
{
	static uint8_t stored[PARTS_BYTES_MOST];
	size_t count = 1 + below(chance, 4);
	bool changed = false;

	parts_read(&mutated, data, size);
	for (size_t tries = 0; count > 0 && tries < 16; tries++) {
		if (!has_records(&mutated)) {
			break;
		}
		if (changes[below(chance, sizeof changes / sizeof changes[0])](&mutated, chance)) {
			changed = true;
			count--;
		}
	}
	size = changed ?
		       parts_store(&mutated, stored, most < sizeof stored ? most : sizeof stored) :
		       0;
	memcpy(data, stored, size);
	if (size > 0 && below(chance, 32) == 0) {
		size -= below(chance, size);
	}
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	/* Seeds that follow each other must not begin alike. */
	struct chance chance = { ((uint64_t)seed + 1) * UINT64_C(0x9e3779b97f4a7c15) };
	uint8_t choice = size > 0 ? data[size - 1] : 0;
	size_t changed = 0;

	if (most < 2) {
		return LLVMFuzzerMutate(data, size, most);
	}
	if (size <= ETL_BUFFER_HEADER_SIZE) { /* no recording: begin with one */
		changed = write_recording((unsigned)below(&chance, WRITTEN_FORMS), data, most - 1);
		choice = (uint8_t)below(&chance, 256);
	} else if (below(&chance, 8) == 0) {
		data[size - 1] = (uint8_t)below(&chance, 256);
		return size;
	} else if (below(&chance, 4) != 0) {
		changed = change_some(data, size - 1, most - 1, &chance);
	}
	if (changed == 0) {
		return LLVMFuzzerMutate(data, size, most);
	}
	data[changed] = choice;
	return changed + 1;
}

/* The first recording, with some records of the second. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t most, unsigned seed)
{
	static struct recording_parts other;
	struct chance chance = { ((uint64_t)seed + 1) * UINT64_C(0x9e3779b97f4a7c15) };
	size_t from, to, count, size;

	if (first_size < 2 || second_size < 2 || most < 2) {
		return 0;
	}
	parts_read(&mutated, first, first_size - 1);
	parts_read(&other, second, second_size - 1);
	if (!has_records(&mutated) || !has_records(&other)) {
		return 0;
	}
	from = 1 + below(&chance, other.record_count - 1);
	to = 1 + below(&chance, mutated.record_count);
	count = 1 + below(&chance, 16);
	for (size_t i = 0; i < count && from + i < other.record_count; i++) {
		if (!copy_record(&mutated, to + i, &other, from + i)) {
			break;
		}
	}
	size = parts_store(&mutated, out, most - 1);
	if (size == 0) {
		return 0;
	}
	out[size] = first[first_size - 1];
	return size + 1;
}
