/* SPDX-License-Identifier: MIT */
/*
 * Records of any type that are written: what is written is what is read.
 *
 * The input is a list of instructions: the form of the recording, then records with their header
 * type, processor, size and contents. The recording must have no damage and the same records, those
 * of each processor in the order in which they were added; so must a mirror of it in another form.
 * When the header of one buffer is lost, the records of all others must still be read.
 * A record that fits into no buffer, or is too short for a reader, fails the writer, which says so,
 * and nothing else does.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "base/cursor.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/scan.h"
#include "lib/etl/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PROCESSORS_MOST = 8,
	RECORDS_MOST = 4096,
	ITEMS_MOST = 3,
	HAS_ITEMS = 0x0001, /* flags of an EVENT header; the writer sets it */
	IS_STRING = 0x0004, /* likewise */
	IS_CLASSIC = 0x0100,
	HAS_TIME = 0x0018, /* options of a message */
	HAS_PROVIDER = 0x0002,
	OPAQUE_BYTES = 4,
	START_RAW = 1 << 30,
};

static void must(bool condition)
{
	if (!condition) {
		abort();
	}
}

/* ---- what is written, and what is read ---- */

struct sums {
	uint64_t records[PROCESSORS_MOST];
	uint64_t sum[PROCESSORS_MOST]; /* depends on the order */
};

static void mix(uint64_t *sum, uint64_t value)
{
	*sum = (*sum ^ value) * UINT64_C(0x100000001b3);
}

static void mix_bytes(uint64_t *sum, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	mix(sum, size);
	for (size_t i = 0; i < size; i++) {
		mix(sum, at[i]);
	}
}

static bool is_event(enum etw_record_type type)
{
	return type == ETW_RECORD_EVENT || type == ETW_RECORD_STRING;
}

/* What the header of the type has, by what was given. */
static void add_given(struct sums *sums, const struct etw_out_record *record)
{
	static const struct etw_guid none;
	uint64_t *sum = &sums->sum[record->processor];
	bool kernel = record->type <= ETW_RECORD_PERFINFO;
	bool classic = record->type == ETW_RECORD_FULL || record->type == ETW_RECORD_INSTANCE;
	bool message = record->type == ETW_RECORD_MESSAGE;

	sums->records[record->processor]++;
	mix(sum, record->type);
	if (kernel || classic || is_event(record->type) || (message && record->flags & HAS_TIME)) {
		mix(sum, (uint64_t)record->raw_time);
	}
	if (kernel || classic || is_event(record->type)) {
		mix(sum, (uint64_t)record->opcode << 8 | record->version);
	}
	if ((kernel && record->type != ETW_RECORD_PERFINFO) || classic || is_event(record->type)) {
		mix(sum, (uint64_t)record->process_id << 32 | record->thread_id);
	}
	if (kernel) {
		mix(sum, record->group);
	}
	if (classic || is_event(record->type) || (message && record->flags & HAS_PROVIDER)) {
		mix_bytes(sum, record->provider ? record->provider : &none, sizeof none);
	}
	if (classic || is_event(record->type)) {
		mix(sum, record->level);
	}
	if (message || is_event(record->type)) {
		mix(sum, record->id);
	}
	if (is_event(record->type)) {
		mix(sum, (uint64_t)record->task << 8 | record->channel);
		mix(sum, record->keyword);
		mix_bytes(sum, record->activity ? record->activity : &none, sizeof none);
		for (size_t i = 0; i < record->item_count; i++) {
			mix(sum, record->items[i].type);
			mix_bytes(sum, record->items[i].data, record->items[i].size);
		}
	}
	/* Of a header type that is not known the reader takes the first bytes as the header. */
	if (record->type > ETW_RECORD_MESSAGE) {
		mix_bytes(sum, (const uint8_t *)record->payload + OPAQUE_BYTES,
			  record->payload_size - OPAQUE_BYTES);
	} else {
		mix_bytes(sum, record->payload, record->payload_size);
	}
}

/* The items of an event, one after the other (docs/etl-format.md section 9). */
static void add_items(uint64_t *sum, const struct etw_record *record)
{
	for (uint32_t at = 0; at < record->extended_size;) {
		const uint8_t *item = record->extended + at;
		uint32_t size = etw_load_u16(item);

		must(size >= 8 && size <= record->extended_size - at);
		mix(sum, etw_load_u16(item + 2));
		mix_bytes(sum, item + 8, etw_load_u16(item + 6));
		at += size;
	}
}

static void add_read(void *context, const struct etw_record *record)
{
	struct sums *sums = context;
	uint64_t *sum;
	bool kernel = record->type <= ETW_RECORD_PERFINFO;
	bool classic = record->type == ETW_RECORD_FULL || record->type == ETW_RECORD_INSTANCE;
	bool event = is_event(record->type), message = record->type == ETW_RECORD_MESSAGE;

	if (record->index == 0) {
		return; /* the logfile header */
	}
	must(record->processor < PROCESSORS_MOST);
	sum = &sums->sum[record->processor];
	sums->records[record->processor]++;
	mix(sum, record->type);
	if (kernel || classic || event || (message && record->raw_time != ETW_RECORD_NO_TIME)) {
		mix(sum, (uint64_t)record->raw_time);
	}
	if (kernel || classic || event) {
		mix(sum, (uint64_t)record->opcode << 8 | record->version);
	}
	if ((kernel && record->type != ETW_RECORD_PERFINFO) || classic || event) {
		mix(sum, (uint64_t)record->process_id << 32 | record->thread_id);
	}
	if (kernel) {
		mix(sum, record->kernel_group);
	}
	if (classic || event || (message && record->provider->bytes[0] != 0)) {
		mix_bytes(sum, record->provider, sizeof *record->provider);
	}
	if (classic || event) {
		mix(sum, record->level);
	}
	if (message || event) {
		mix(sum, record->id);
	}
	if (event) {
		mix(sum, (uint64_t)record->task << 8 | record->channel);
		mix(sum, record->keyword);
		mix_bytes(sum, record->activity, sizeof *record->activity);
		add_items(sum, record);
	}
	mix_bytes(sum, record->payload, record->payload_size);
}

static void read_and_compare(const uint8_t *bytes, size_t size, const struct sums *given)
{
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_over(bytes, size, 0, &err);
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = ETL_KEEP_MAX };
	struct etw_damage damage = { 0 };
	struct sums found = { 0 };
	struct etw_visitor visitor = { .record_context = &found, .on_record = add_read };

	must(file != NULL);
	must(etl_index_build(&index, file, &damage, &visitor, &err));
	must(!damage.truncated && damage.bad_buffers == 0 && damage.bad_records == 0);
	must(memcmp(&found, given, sizeof found) == 0);
	etl_index_done(&index);
	etw_file_close(file);
}

/* ---- a lost header ---- */

/* Sums the records of all buffers but that at an offset. Returns the bytes that belong to none. */
static uint64_t sum_but(const uint8_t *bytes, size_t size, size_t left_out, struct sums *sums)
{
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_over(bytes, size, 0, &err);
	struct etw_visitor visitor = { .record_context = sums, .on_record = add_read };
	struct etl_so_far so_far = { 0 };
	struct etw_damage damage = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;

	must(file != NULL);
	etl_file_scan(file, &scan, &damage, 0, 0);
	while (etl_scan_next(&scan, &buffer, &err) == ETL_STEP_BUFFER) {
		if (buffer.bytes && buffer.place.offset != left_out) {
			etl_survey_buffer(file, &buffer, &so_far, &damage, &visitor);
		}
	}
	must(damage.bad_records == 0 && !damage.truncated);
	etl_scan_done(&scan);
	etw_file_close(file);
	return damage.gap_bytes;
}

/* Whether a buffer begins where none should: the payload of a record can be anything. */
static bool has_false_buffer(const uint8_t *bytes, size_t size)
{
	static const struct etw_source_clock clock = { .type = ETW_CLOCK_QPC, .frequency = 1 };
	const struct etl_shape any_time = { .clock = &clock,
					    .first_time = INT64_MIN,
					    .last_time = INT64_MAX };
	size_t next = 0, at = 0;

	for (;;) {
		size_t found = at + etl_find_buffer(&any_time, bytes + at, size - at);

		while (next < size && next < found) {
			next += etw_load_u32(bytes + next);
		}
		if (found + ETL_FIND_SIZE > size) {
			return false;
		}
		if (found != next) {
			return true;
		}
		at = found + 1;
	}
}

/* Without its header, a buffer is lost, and no other one is. */
static void lose_a_header(const uint8_t *bytes, size_t size, unsigned choice)
{
	struct sums expected = { 0 }, found = { 0 };
	size_t places[256], count = 0, lost, lost_size;
	uint8_t *copy;

	for (size_t at = 0; at < size && count < 256; at += etw_load_u32(bytes + at)) {
		places[count++] = at;
	}
	if (count < 2) {
		return;
	}
	lost = places[1 + choice % (count - 1)];
	lost_size = etw_load_u32(bytes + lost);
	if (has_false_buffer(bytes, size)) {
		return;
	}
	must(sum_but(bytes, size, lost, &expected) == 0);
	copy = malloc(size);
	must(copy != NULL);
	memcpy(copy, bytes, size);
	memset(copy + lost, choice % 2 ? 0 : 0xff, ETL_BUFFER_HEADER_SIZE);
	must(sum_but(copy, size, size, &found) == lost_size);
	must(memcmp(&found, &expected, sizeof found) == 0);
	free(copy);
}

/* ---- the instructions ---- */

static const struct etw_guid some_provider = { .bytes = { 0x57, 1, 2, 3, 4, 5, 6, 7, 8, 9 } };

/* As many bytes as the instruction requests; what the input lacks are copies of one byte. */
static const uint8_t *take(struct cursor *c, uint8_t *room, size_t size)
{
	size_t left = cursor_left(c);
	size_t part = size < left ? size : left;

	memset(room, (int)(size & 0xff), size);
	if (part > 0) {
		memcpy(room, cursor_take(c, part), part);
	}
	return room;
}

/* The next record, and what is to be done before it. */
static struct etw_out_record next_record(struct cursor *c, struct etw_writer *writer,
					 uint16_t processors, int64_t *time,
					 struct etw_out_item items[ITEMS_MOST])
{
	static uint8_t payload[UINT16_MAX], item_bytes[ITEMS_MOST][UINT8_MAX];
	uint8_t what = cursor_u8(c);
	struct etw_out_record record = { .type = (enum etw_record_type)(what %
									ETW_RECORD_TYPE_COUNT) };

	if (what >= 224) {
		etl_writer_flush(writer);
	}
	if (what >= 240) {
		etl_writer_set_compressed(writer, what & 1);
	}
	record.processor = cursor_u8(c) % processors;
	*time += cursor_u8(c);
	record.raw_time = *time;
	record.group = cursor_u8(c);
	record.opcode = cursor_u8(c);
	record.version = cursor_u8(c);
	record.level = cursor_u8(c);
	record.channel = record.level ^ record.opcode;
	record.id = cursor_u16(c);
	record.task = (uint16_t)(record.id * 3);
	record.keyword = record.id * UINT64_C(0x9e3779b97f4a7c15);
	record.process_id = record.id * 7U;
	record.thread_id = record.id * 11U;
	record.flags = cursor_u16(c) & (uint16_t)~HAS_ITEMS;
	record.provider = &some_provider;
	record.activity = record.flags & 2 ? &some_provider : NULL;
	if (record.type == ETW_RECORD_MESSAGE) {
		record.flags &= HAS_TIME | HAS_PROVIDER | 0x0020;
	}
	if (record.type == ETW_RECORD_EVENT) {
		record.flags &= (uint16_t)~IS_STRING;
	} else if (record.type == ETW_RECORD_STRING) {
		record.flags &= (uint16_t)~IS_CLASSIC; /* which decides, where both are set */
	}
	if (is_event(record.type)) {
		record.item_count = cursor_u8(c) % (ITEMS_MOST + 1);
		for (size_t i = 0; i < record.item_count; i++) {
			items[i].type = cursor_u16(c);
			items[i].size = cursor_u8(c);
			items[i].data = take(c, item_bytes[i], items[i].size);
		}
		record.items = items;
	}
	record.payload_size = cursor_u8(c);
	if (record.payload_size == UINT8_MAX) {
		record.payload_size = cursor_u16(c);
	}
	record.payload = take(c, payload, record.payload_size);
	return record;
}

/* Whether a recording was written that is to be compared. */
static bool write(struct cursor *c, struct etw_writer *writer, uint16_t processors, size_t room,
		  struct sums *given)
{
	struct etw_out_item items[ITEMS_MOST];
	struct etw_error err = { 0 };
	int64_t time = START_RAW;
	bool fits = true;

	for (unsigned i = 0; i < RECORDS_MOST && cursor_left(c) > 0 && fits; i++) {
		struct etw_out_record record = next_record(c, writer, processors, &time, items);
		size_t size = etw_out_record_size(&record);

		etw_writer_add(writer, &record);
		fits = size >= ETL_RECORD_SIZE_MIN && size <= UINT16_MAX &&
		       (size + 7) / 8 * 8 <= room;
		must(etw_writer_failed(writer) == !fits);
		if (fits) {
			add_given(given, &record);
		}
	}
	must(etw_writer_finish(writer, &err) == fits);
	must(fits || err.code == ETW_ERROR_LIMIT);
	return fits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	uint8_t choice = cursor_u8(&c), shape = cursor_u8(&c);
	struct etw_writer_options options = {
		.pointer_size = choice & 1 ? 4 : 8,
		.compressed = choice & 2,
		.processor_index = choice & 4,
		.unclosed = choice & 8,
		.clock = (enum etw_clock_type)((choice >> 4) % 3 + 1),
		.start_raw = START_RAW,
		.processors = shape % PROCESSORS_MOST + 1,
		.buffer_size = UINT32_C(512) << (shape / PROCESSORS_MOST % 9),
	};
	struct etw_error err = { 0 };
	struct etw_writer *writer = etw_writer_open(NULL, &options, &err);
	struct etw_mirror_visitor all = { 0 };
	struct etw_damage damage = { 0 };
	struct sums given = { 0 };
	struct etw_mirror *mirror;
	struct etw_file *file;
	const uint8_t *bytes;

	must(writer != NULL);
	if (write(&c, writer, options.processors, options.buffer_size - ETL_BUFFER_HEADER_SIZE,
		  &given)) {
		bytes = etl_writer_bytes(writer, &size);
		read_and_compare(bytes, size, &given);
		lose_a_header(bytes, size, choice ^ shape);
		file = etw_file_over(bytes, size, 0, &err);
		mirror = etw_mirror_open(
			NULL, (struct etw_mirror_form){ (enum etw_packing)((choice >> 6) % 3), 0 },
			&file, 1, &err);
		must(mirror && etw_mirror_copy(mirror, file, &all, &damage, &err) &&
		     etw_mirror_finish(mirror, &err));
		bytes = etw_mirror_bytes(mirror, &size);
		read_and_compare(bytes, size, &given);
		etw_mirror_close(mirror);
		etw_file_close(file);
	}
	etw_writer_close(writer);
	return 0;
}
