/* SPDX-License-Identifier: MIT */
/*
 * Record headers are written here byte by byte, from the tables of etl-format.md sections 4 and 9.
 * The buffer's block ends where its records end.
 */
#include "source/etl_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/etl_buffer.h"
#include "source/kernel_group.h"
#include "tests/support/exact_copy.h"

enum { BUFFER_MAX = 70000 };

static const struct guid disk_io =
	GUID_INIT(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const struct guid image =
	GUID_INIT(0x2cb15d1d, 0x5fc1, 0x11d2, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18);
static const struct guid zero_guid;
static const struct guid some_guid =
	GUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x00, 0x01);

/* A buffer under construction. */
struct bytes {
	uint8_t data[BUFFER_MAX];
	size_t size;
	size_t record; /* where the last record starts */
};

static void put(struct bytes *b, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		b->data[b->size++] = (uint8_t)(i < 8 ? value >> 8 * i : 0);
	}
}

static void put_guid(struct bytes *b, const struct guid *guid)
{
	memcpy(b->data + b->size, guid->bytes, 16);
	b->size += 16;
}

static void put_text(struct bytes *b, const char *text)
{
	memcpy(b->data + b->size, text, strlen(text));
	b->size += strlen(text);
}

static struct bytes *new_buffer(void)
{
	struct bytes *b = calloc(1, sizeof *b);

	assert_non_null(b);
	b->size = ETL_BUFFER_HEADER_SIZE;
	return b;
}

static void begin(struct bytes *b)
{
	while (b->size % 8 != 0) {
		b->data[b->size++] = 0xee; /* unspecified */
	}
	b->record = b->size;
}

/* Completes the record's size field. */
static void end(struct bytes *b, unsigned size_at)
{
	size_t size = b->size - b->record;

	b->data[b->record + size_at] = (uint8_t)size;
	b->data[b->record + size_at + 1] = (uint8_t)(size >> 8);
}

static void kernel_record(struct bytes *b, uint8_t type, uint16_t version, uint8_t opcode,
			  uint8_t group)
{
	begin(b);
	put(b, version, 2);
	put(b, type, 1);
	put(b, 0xc0, 1);
	put(b, 0, 2);
	put(b, opcode, 1);
	put(b, group, 1);
	if (type != 0x10 && type != 0x11) {
		put(b, 0x1111, 4); /* thread */
		put(b, 0x2222, 4);
	}
	put(b, 1007, 8);
	if (type == 0x01 || type == 0x02) {
		put(b, 0x33, 4); /* times */
		put(b, 0x44, 4);
	}
}

static void classic_record(struct bytes *b, uint8_t type)
{
	begin(b);
	put(b, 0, 2);
	put(b, type, 1);
	put(b, 0xc0, 1);
	put(b, 9, 1);      /* opcode */
	put(b, 3, 1);      /* level */
	put(b, 0x0102, 2); /* version */
	put(b, 0x1111, 4);
	put(b, 0x2222, 4);
	put(b, 1007, 8);
	put_guid(b, &some_guid);
	put(b, 0x33, 4);
	put(b, 0x44, 4);
}

static void event_record(struct bytes *b, uint8_t type, uint16_t flags)
{
	begin(b);
	put(b, 0, 2);
	put(b, type, 1);
	put(b, 0xc0, 1);
	put(b, flags, 2);
	put(b, 0, 2);
	put(b, 0x1111, 4);
	put(b, 0x2222, 4);
	put(b, 1007, 8);
	put_guid(b, &some_guid);
	put(b, 0xfffe, 2); /* id */
	put(b, 5, 1);      /* version */
	put(b, 11, 1);     /* channel */
	put(b, 4, 1);      /* level */
	put(b, 240, 1);    /* opcode */
	put(b, 0x1234, 2); /* task */
	put(b, UINT64_C(0x8000000000000012), 8);
	put(b, 0, 8);
	put_guid(b, &image); /* activity */
}

static void item(struct bytes *b, uint16_t size, uint16_t type, uint16_t linkage,
		 uint16_t data_size)
{
	put(b, size, 2);
	put(b, type, 2);
	put(b, linkage, 2);
	put(b, data_size, 2);
}

static struct etl_format format_of(uint8_t pointer_size, uint8_t override)
{
	static const struct source_clock clock = { CLOCK_QPC, 10000000, 10000000, 7, 50000 };
	struct etl_format format;

	etl_format_init(&format, &clock, pointer_size, override);
	return format;
}

/* Walks over a copy that ends with the data; the copy stays for the record to point into. */
static uint8_t *walk_over(struct etl_walk *walk, const struct bytes *b,
			  const struct etl_format *format)
{
	uint8_t *copy = exact_copy(b->data, b->size);

	etl_walk_start(walk, format, copy, (uint32_t)b->size, 3, 100);
	return copy;
}

static void kernel_headers_of_every_kind_are_read(void **state)
{
	static const struct {
		uint8_t type;
		enum record_kind kind;
		uint8_t pointer_size;
		bool has_ids;
	} cases[] = {
		{ 0x01, RECORD_SYSTEM, 4, true },    { 0x02, RECORD_SYSTEM, 8, true },
		{ 0x03, RECORD_COMPACT, 4, true },   { 0x04, RECORD_COMPACT, 8, true },
		{ 0x10, RECORD_PERFINFO, 4, false }, { 0x11, RECORD_PERFINFO, 8, false },
	};
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes *b = new_buffer();
		struct etl_walk walk;
		uint8_t *copy;

		kernel_record(b, cases[i].type, 3, 10, 0x01);
		put_text(b, "payload");
		end(b, 4);
		copy = walk_over(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.kind, cases[i].kind);
		assert_int_equal(walk.record.pointer_size, cases[i].pointer_size);
		assert_true(walk.record.classic);
		assert_int_equal(walk.record.kernel_group, 0x01);
		assert_true(guid_equal(walk.record.provider, &disk_io));
		assert_int_equal(walk.record.opcode, 10);
		assert_int_equal(walk.record.version, 3);
		assert_int_equal(walk.record.id, 0);
		assert_int_equal(walk.record.level, 0);
		assert_int_equal(walk.record.thread_id, cases[i].has_ids ? 0x1111 : RECORD_NO_ID);
		assert_int_equal(walk.record.process_id, cases[i].has_ids ? 0x2222 : RECORD_NO_ID);
		assert_int_equal(walk.record.raw_time, 1007);
		assert_int_equal(walk.record.time, 51000);
		assert_int_equal(walk.record.processor, 3);
		assert_int_equal(walk.record.index, 100);
		assert_null(walk.record.activity);
		assert_null(walk.record.extended);
		assert_int_equal(walk.record.payload_size, 7);
		assert_memory_equal(walk.record.payload, "payload", 7);
		assert_false(etl_walk_next(&walk));
		assert_null(walk.stopped);
		free(copy);
		free(b);
	}
}

static void extras_of_the_version_word_precede_the_payload(void **state)
{
	static const struct {
		uint16_t version;
		unsigned extras;
	} cases[] = { { 0x0003, 0 },  { 0x8003, 8 },  { 0x0103, 8 }, { 0x0703, 56 },
		      { 0x8203, 24 }, { 0x8703, 64 }, { 0x7803, 0 } };
	static const uint8_t types[] = { 0x02, 0x04, 0x11 };
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t t = 0; t < sizeof types; t++) {
			struct bytes *b = new_buffer();
			struct etl_walk walk;
			uint8_t *copy;

			kernel_record(b, types[t], cases[i].version, 10, 0x01);
			for (unsigned j = 0; j < cases[i].extras; j++) {
				put(b, 0xaa, 1);
			}
			put_text(b, "xyz");
			end(b, 4);
			copy = walk_over(&walk, b, &format);
			assert_true(etl_walk_next(&walk));
			assert_int_equal(walk.record.version, 3);
			assert_int_equal(walk.record.payload_size, 3);
			assert_memory_equal(walk.record.payload, "xyz", 3);
			free(copy);
			if (cases[i].extras > 0) { /* a record too short for its extras */
				b->size -= 4;
				end(b, 4);
				copy = walk_over(&walk, b, &format);
				assert_false(etl_walk_next(&walk));
				assert_non_null(walk.stopped);
				free(copy);
			}
			free(b);
		}
	}
}

static void opcode_10_of_the_process_group_is_an_image_load(void **state)
{
	struct etl_format format = format_of(8, 0);
	struct bytes *b = new_buffer();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	kernel_record(b, 0x02, 2, 10, 0x03);
	end(b, 4);
	kernel_record(b, 0x02, 2, 1, 0x03);
	end(b, 4);
	kernel_record(b, 0x02, 2, 1, 0x1f);
	end(b, 4);
	copy = walk_over(&walk, b, &format);
	assert_true(etl_walk_next(&walk));
	assert_true(guid_equal(walk.record.provider, &image));
	assert_int_equal(walk.record.kernel_group, 0x03);
	assert_true(etl_walk_next(&walk));
	assert_true(guid_equal(walk.record.provider, kernel_group_guid(0x03)));
	assert_true(etl_walk_next(&walk));
	assert_true(guid_equal(walk.record.provider, &zero_guid));
	assert_int_equal(walk.record.index, 102);
	free(copy);
	free(b);
}

static void classic_headers_are_read(void **state)
{
	static const struct {
		uint8_t type;
		enum record_kind kind;
		uint8_t pointer_size;
		unsigned rest; /* of the header */
	} cases[] = {
		{ 0x0a, RECORD_FULL, 4, 0 },      { 0x14, RECORD_FULL, 8, 0 },
		{ 0x0b, RECORD_INSTANCE, 4, 24 }, { 0x15, RECORD_INSTANCE, 8, 24 },
		{ 0x15, RECORD_INSTANCE, 8, 8 },
	};
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes *b = new_buffer();
		struct etl_walk walk;
		uint8_t *copy;

		classic_record(b, cases[i].type);
		put(b, 0, cases[i].rest);
		put_text(b, "abc");
		end(b, 0);
		copy = walk_over(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.kind, cases[i].kind);
		assert_int_equal(walk.record.pointer_size, cases[i].pointer_size);
		assert_true(walk.record.classic);
		assert_int_equal(walk.record.kernel_group, 0xff);
		assert_true(guid_equal(walk.record.provider, &some_guid));
		assert_int_equal(walk.record.opcode, 9);
		assert_int_equal(walk.record.level, 3);
		assert_int_equal(walk.record.version, 2);
		assert_int_equal(walk.record.thread_id, 0x1111);
		assert_int_equal(walk.record.process_id, 0x2222);
		assert_int_equal(walk.record.time, 51000);
		assert_int_equal(walk.record.payload_size, 3);
		assert_memory_equal(walk.record.payload, "abc", 3);
		free(copy);
		free(b);
	}
}

static void event_headers_are_read(void **state)
{
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (int classic = 0; classic < 2; classic++) {
		for (uint8_t type = 0x12; type <= 0x13; type++) {
			struct bytes *b = new_buffer();
			struct etl_walk walk;
			uint8_t *copy;

			event_record(b, type, classic ? 0x0100 : 0);
			put_text(b, "abc");
			end(b, 0);
			copy = walk_over(&walk, b, &format);
			assert_true(etl_walk_next(&walk));
			assert_int_equal(walk.record.kind, RECORD_EVENT);
			assert_int_equal(walk.record.pointer_size, type == 0x12 ? 4 : 8);
			assert_int_equal(walk.record.classic, classic);
			assert_int_equal(walk.record.kernel_group, 0xff);
			assert_true(guid_equal(walk.record.provider, &some_guid));
			assert_int_equal(walk.record.id, 0xfffe);
			assert_int_equal(walk.record.version, 5);
			assert_int_equal(walk.record.channel, 11);
			assert_int_equal(walk.record.level, 4);
			assert_int_equal(walk.record.opcode, 240);
			assert_int_equal(walk.record.task, 0x1234);
			assert_true(walk.record.keyword == UINT64_C(0x8000000000000012));
			assert_int_equal(walk.record.thread_id, 0x1111);
			assert_int_equal(walk.record.process_id, 0x2222);
			assert_int_equal(walk.record.time, 51000);
			assert_true(guid_equal(walk.record.activity, &image));
			assert_null(walk.record.extended);
			assert_int_equal(walk.record.payload_size, 3);
			assert_memory_equal(walk.record.payload, "abc", 3);
			free(copy);
			free(b);
		}
	}
}

static void extended_items_precede_the_payload(void **state)
{
	struct etl_format format = format_of(8, 0);
	struct bytes *b = new_buffer();
	struct extended_item found;
	struct etl_walk walk;
	uint32_t offset = 0;
	uint8_t *copy;

	(void)state;
	event_record(b, 0x13, 0x0001);
	item(b, 24, EXTENDED_RELATED_ACTIVITY, 1, 16);
	put_guid(b, &image);
	item(b, 8, 99, 0xffff, 0);
	item(b, 24, EXTENDED_STACK64, 2, 13);
	put_text(b, "0123456789abcPAD");
	put_text(b, "the payload");
	end(b, 0);
	copy = walk_over(&walk, b, &format);
	assert_true(etl_walk_next(&walk));
	assert_int_equal(walk.record.extended_size, 56);
	assert_int_equal(walk.record.payload_size, 11);
	assert_memory_equal(walk.record.payload, "the payload", 11);
	assert_true(record_next_extended(&walk.record, &offset, &found));
	assert_int_equal(found.type, EXTENDED_RELATED_ACTIVITY);
	assert_int_equal(found.size, 16);
	assert_memory_equal(found.data, image.bytes, 16);
	assert_true(record_next_extended(&walk.record, &offset, &found));
	assert_int_equal(found.type, 99);
	assert_int_equal(found.size, 0);
	assert_true(record_next_extended(&walk.record, &offset, &found));
	assert_int_equal(found.type, EXTENDED_STACK64);
	assert_false(record_next_extended(&walk.record, &offset, &found));
	assert_true(record_find_extended(&walk.record, EXTENDED_STACK64, &found));
	assert_int_equal(found.size, 13);
	assert_memory_equal(found.data, "0123456789abc", 13);
	assert_false(record_find_extended(&walk.record, EXTENDED_SID, &found));
	assert_int_equal(walk.bad_items, 0);
	free(copy);
	free(b);
}

static void bad_extended_items_cost_the_payload_only(void **state)
{
	static const struct {
		const char *name;
		uint16_t size, linkage, data_size;
		unsigned bytes; /* of the item that are there */
	} cases[] = {
		{ "no item", 0, 0, 0, 0 },
		{ "half a header", 8, 0, 0, 4 },
		{ "size 0", 0, 0, 0, 16 },
		{ "size below the header", 4, 0, 0, 16 },
		{ "size no multiple of 8", 12, 0, 4, 16 },
		{ "size beyond the record", 24, 0, 4, 16 },
		{ "largest size", 0xfff8, 0, 4, 16 },
		{ "data beyond the item", 16, 0, 9, 16 },
		{ "most data", 16, 0, 0xffff, 16 },
		{ "a next item that is not there", 16, 1, 8, 16 },
	};
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes *b = new_buffer();
		struct extended_item found;
		struct etl_walk walk;
		uint32_t offset = 0;
		uint8_t *copy;

		print_message("  %s\n", cases[i].name);
		event_record(b, 0x13, 0x0001);
		item(b, 16, 77, 1, 8);
		put(b, 5, 8);
		item(b, cases[i].size, 78, cases[i].linkage, cases[i].data_size);
		put(b, 0, 8);
		b->size = b->size - 16 + cases[i].bytes;
		end(b, 0);
		copy = walk_over(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.bad_items, 1);
		assert_int_equal(walk.bad_items_at, 72);
		assert_int_equal(walk.record.payload_size, 0);
		assert_non_null(walk.record.payload);
		assert_true(record_next_extended(&walk.record, &offset, &found));
		assert_int_equal(found.type, 77);
		assert_false(etl_walk_next(&walk));
		assert_null(walk.stopped);
		free(copy);
		free(b);
	}
}

static void a_record_without_good_items_has_none(void **state)
{
	struct etl_format format = format_of(8, 0);
	struct bytes *b = new_buffer();
	struct extended_item found;
	struct etl_walk walk;
	uint32_t offset = 0;
	uint8_t *copy;

	(void)state;
	event_record(b, 0x13, 0x0001);
	end(b, 0);
	copy = walk_over(&walk, b, &format);
	assert_true(etl_walk_next(&walk));
	assert_int_equal(walk.bad_items, 1);
	assert_false(record_next_extended(&walk.record, &offset, &found));
	free(copy);
	free(b);
}

static void a_message_has_the_parts_that_its_flags_name(void **state)
{
	struct etl_format format = format_of(8, 0);
	static const struct guid component = GUID_INIT(0x1234, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

	(void)state;
	for (unsigned flags = 0; flags < 256; flags++) {
		struct bytes *b = new_buffer();
		bool timed = flags & 0x18;
		struct etl_walk walk;
		uint8_t *copy;

		begin(b);
		put(b, 0, 2);
		put(b, 0x9000, 2);
		put(b, 42, 2);
		put(b, flags, 2);
		if (flags & 0x01) {
			put(b, 99, 4);
		}
		if (flags & 0x02) {
			put_guid(b, &some_guid);
		} else if (flags & 0x04) {
			put(b, 0x1234, 4);
		}
		if (timed) {
			put(b, 1007, 8);
		}
		if (flags & 0x20) {
			put(b, 0x1111, 4);
			put(b, 0x2222, 4);
		}
		put_text(b, "wpp");
		end(b, 0);
		copy = walk_over(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.kind, RECORD_MESSAGE);
		assert_int_equal(walk.record.id, 42);
		assert_true(guid_equal(walk.record.provider, flags & 0x02 ? &some_guid :
							     flags & 0x04 ? &component :
									    &zero_guid));
		assert_true(walk.record.raw_time == (timed ? 1007 : RECORD_NO_TIME));
		assert_true(walk.record.time == (timed ? 51000 : RECORD_NO_TIME));
		assert_int_equal(walk.record.thread_id, flags & 0x20 ? 0x1111 : RECORD_NO_ID);
		assert_int_equal(walk.record.process_id, flags & 0x20 ? 0x2222 : RECORD_NO_ID);
		assert_int_equal(walk.record.pointer_size, flags & 0x40 ? 4 : 8);
		assert_int_equal(walk.record.payload_size, 3);
		assert_memory_equal(walk.record.payload, "wpp", 3);
		free(copy);
		if (flags & 0x3f) { /* a message too short for its parts */
			b->size = b->record + 9;
			end(b, 0);
			copy = walk_over(&walk, b, &format);
			assert_false(etl_walk_next(&walk));
			assert_non_null(walk.stopped);
			free(copy);
		}
		free(b);
	}
}

static void kinds_that_are_not_read_are_delivered_by_size(void **state)
{
	static const struct {
		uint8_t type;
		enum record_kind kind;
	} cases[] = {
		{ 0x0c, RECORD_TIMED },         { 0x0d, RECORD_ERROR },   { 0x0e, RECORD_WNODE },
		{ 0x0f, RECORD_MESSAGE_TYPED }, { 0x00, RECORD_UNKNOWN }, { 0x16, RECORD_UNKNOWN },
		{ 0xff, RECORD_UNKNOWN },
	};
	struct etl_format format = format_of(4, 0);
	struct bytes *b = new_buffer();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin(b);
		put(b, 0, 2);
		put(b, cases[i].type, 1);
		put(b, 0xc0, 1);
		put(b, 1, 4);
		put_text(b, "12345");
		end(b, 0);
	}
	copy = walk_over(&walk, b, &format);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.kind, cases[i].kind);
		assert_int_equal(walk.record.pointer_size, 4);
		assert_true(walk.record.raw_time == RECORD_NO_TIME);
		assert_true(guid_equal(walk.record.provider, &zero_guid));
		assert_int_equal(walk.record.process_id, RECORD_NO_ID);
		assert_int_equal(walk.record.payload_size, 5);
		assert_int_equal(walk.record.index, 100 + i);
	}
	assert_false(etl_walk_next(&walk));
	free(copy);
	free(b);
}

static void an_override_of_the_pointer_size_is_for_classic_payloads(void **state)
{
	struct etl_format format = format_of(4, 8);
	struct bytes *b = new_buffer();
	struct etl_walk walk;
	uint8_t *copy;
	static const uint8_t expected[] = { 8, 8, 4, 8, 4 };

	(void)state;
	kernel_record(b, 0x01, 2, 1, 3);
	end(b, 4);
	classic_record(b, 0x0a);
	end(b, 0);
	event_record(b, 0x12, 0);
	end(b, 0);
	event_record(b, 0x12, 0x0100);
	end(b, 0);
	begin(b);
	put(b, UINT64_C(0x90000008), 8); /* a message */
	copy = walk_over(&walk, b, &format);
	for (size_t i = 0; i < sizeof expected; i++) {
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.pointer_size, expected[i]);
	}
	free(copy);
	free(b);
}

static void filler_ends_a_walk_quietly(void **state)
{
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (int ones = 0; ones < 2; ones++) {
		struct bytes *b = new_buffer();
		struct etl_walk walk;
		uint8_t *copy;

		kernel_record(b, 0x11, 2, 46, 0x0f);
		end(b, 4);
		begin(b);
		put(b, ones ? UINT64_MAX : 0, 8);
		kernel_record(b, 0x11, 2, 46, 0x0f);
		end(b, 4);
		copy = walk_over(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_false(etl_walk_next(&walk));
		assert_null(walk.stopped);
		free(copy);
		free(b);
	}
}

static void a_record_that_makes_no_sense_stops_the_walk(void **state)
{
	static const struct {
		const char *name;
		uint64_t start; /* first 8 bytes of the record, 100 bytes in all */
	} cases[] = {
		{ "system: size 0", UINT64_C(0x030a0000c0020002) },
		{ "system: size below the header", UINT64_C(0x030a001fc0020002) },
		{ "system: size beyond the end", UINT64_C(0x030a0065c0020002) },
		{ "system: largest size", UINT64_C(0x030affffc0020002) },
		{ "compact: size below the header", UINT64_C(0x030a0017c0040002) },
		{ "perfinfo: size 0", UINT64_C(0x030a0000c0110002) },
		{ "perfinfo: size below the header", UINT64_C(0x030a000fc0110002) },
		{ "full: size 0", UINT64_C(0x00000000c0140000) },
		{ "full: size below the header", UINT64_C(0x00000000c014002f) },
		{ "full: largest size", UINT64_C(0x00000000c014ffff) },
		{ "instance: size below the header", UINT64_C(0x00000000c0150037) },
		{ "event: size 0", UINT64_C(0x00000000c0130000) },
		{ "event: size below the header", UINT64_C(0x00000000c013004f) },
		{ "event: size beyond the end", UINT64_C(0x00000000c0130065) },
		{ "message: size 0", UINT64_C(0x0000000090000000) },
		{ "message: size below the header", UINT64_C(0x0000000090000007) },
		{ "message: size beyond the end", UINT64_C(0x0000000090000065) },
		{ "error: size below the header", UINT64_C(0x00000000c00d0007) },
		{ "unknown type: size 0", UINT64_C(0x00000000c0550000) },
		{ "unknown marker", UINT64_C(0x0000000012345678) },
	};
	struct etl_format format = format_of(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes *b = new_buffer();
		struct etl_walk walk;
		uint8_t *copy;

		print_message("  %s\n", cases[i].name);
		kernel_record(b, 0x11, 2, 46, 0x0f);
		end(b, 4);
		begin(b);
		put(b, cases[i].start, 8);
		b->size += 92;
		copy = walk_over(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_false(etl_walk_next(&walk));
		assert_non_null(walk.stopped);
		assert_int_equal(walk.stopped_at, 88);
		assert_false(etl_walk_next(&walk));
		assert_int_equal(walk.next_index, 101);
		free(copy);
		free(b);
	}
}

/* Whatever the first bytes say, nothing outside the block is read, and each step goes forward. */
static void headers_of_chance_stay_inside(void **state)
{
	struct etl_format format = format_of(8, 0);
	uint64_t chance = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct bytes *b = new_buffer();
		struct extended_item found;
		struct etl_walk walk;
		uint32_t last = 0;
		uint8_t *copy;

		for (unsigned i = 0; i < 40; i++) {
			chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
			put(b, i % 4 == 0 ? (chance >> 40 & 0x001f003f) | 0xc0000000 : chance >> 33,
			    4);
		}
		b->size -= round % 8;
		copy = walk_over(&walk, b, &format);
		while (etl_walk_next(&walk)) {
			uint32_t offset = 0;
			unsigned sum = 0;

			for (uint32_t i = 0; i < walk.record.payload_size; i++) {
				sum += walk.record.payload[i];
			}
			while (record_next_extended(&walk.record, &offset, &found)) {
				sum += found.size ? found.data[found.size - 1] : 0;
			}
			assert_true(sum < 1 << 20);
			assert_true(walk.at > last);
			last = walk.at;
		}
		free(copy);
		free(b);
	}
}

static void a_walk_can_go_back_to_a_record(void **state)
{
	struct etl_format format = format_of(8, 0);
	struct bytes *b = new_buffer();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	kernel_record(b, 0x11, 2, 46, 0x0f);
	end(b, 4);
	kernel_record(b, 0x11, 2, 47, 0x0f);
	end(b, 4);
	copy = walk_over(&walk, b, &format);
	assert_true(etl_walk_seek(&walk, 88, 101));
	assert_int_equal(walk.record.opcode, 47);
	assert_int_equal(walk.record.index, 101);
	assert_true(etl_walk_seek(&walk, 72, 100));
	assert_int_equal(walk.record.opcode, 46);
	assert_int_equal(walk.record.index, 100);
	free(copy);
	free(b);
}

static void kinds_have_the_names_of_the_summaries(void **state)
{
	(void)state;
	assert_string_equal(record_kind_name(RECORD_SYSTEM), "system");
	assert_string_equal(record_kind_name(RECORD_PERFINFO), "perfinfo");
	assert_string_equal(record_kind_name(RECORD_ERROR), "error");
	for (unsigned kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		assert_non_null(record_kind_name((enum record_kind)kind));
	}
	assert_string_equal(record_kind_name(RECORD_KIND_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_headers_of_every_kind_are_read),
		cmocka_unit_test(extras_of_the_version_word_precede_the_payload),
		cmocka_unit_test(opcode_10_of_the_process_group_is_an_image_load),
		cmocka_unit_test(classic_headers_are_read),
		cmocka_unit_test(event_headers_are_read),
		cmocka_unit_test(extended_items_precede_the_payload),
		cmocka_unit_test(bad_extended_items_cost_the_payload_only),
		cmocka_unit_test(a_record_without_good_items_has_none),
		cmocka_unit_test(a_message_has_the_parts_that_its_flags_name),
		cmocka_unit_test(kinds_that_are_not_read_are_delivered_by_size),
		cmocka_unit_test(an_override_of_the_pointer_size_is_for_classic_payloads),
		cmocka_unit_test(filler_ends_a_walk_quietly),
		cmocka_unit_test(a_record_that_makes_no_sense_stops_the_walk),
		cmocka_unit_test(headers_of_chance_stay_inside),
		cmocka_unit_test(a_walk_can_go_back_to_a_record),
		cmocka_unit_test(kinds_have_the_names_of_the_summaries),
	};

	return cmocka_run_group_tests_name("etl_record", tests, NULL, NULL);
}
