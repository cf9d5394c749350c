/* SPDX-License-Identifier: MIT */
/*
 * Reads records: header types, extended items, payloads.
 *
 * Header types differ in the offset of the size and in the members before the payload. The header
 * type is the third byte of a record. There are kernel records with short headers, which have a
 * group and an opcode instead of a GUID; classic events of MOF classes; events with an EVENT_HEADER
 * and extended items; and WPP messages. A record is accepted only if its size covers its header and
 * is inside the valid bytes of the buffer, so every fixed offset below is inside the record.
 * Otherwise the walk stops, because without a size the next record cannot be found.
 *
 * Walking is the hot path of both passes: millions of records a second. So records that are not
 * chosen are skipped without a store, one table has the differences of the header types, the time
 * is computed without a division, and the bytes ahead are prefetched. A walk moves past a record
 * before it reads it, so that the reader of the header type is the last call of a step (a tail
 * call), and a step needs no stack.
 */
#include "lib/etl/record.h"

#include <etw/kernel.h>

#include "base/cursor.h"
#include "base/error.h"

/* TRACE_HEADER_TYPE_* (ntwmi.h) */
enum header_type {
	TYPE_SYSTEM32 = 0x01,
	TYPE_SYSTEM64 = 0x02,
	TYPE_COMPACT32 = 0x03,
	TYPE_COMPACT64 = 0x04,
	TYPE_FULL32 = 0x0a,
	TYPE_INSTANCE32 = 0x0b,
	TYPE_TIMED = 0x0c,
	TYPE_ERROR = 0x0d,
	TYPE_WNODE = 0x0e,
	TYPE_MESSAGE = 0x0f,
	TYPE_PERFINFO32 = 0x10,
	TYPE_PERFINFO64 = 0x11,
	TYPE_EVENT32 = 0x12,
	TYPE_EVENT64 = 0x13,
	TYPE_FULL64 = 0x14,
	TYPE_INSTANCE64 = 0x15,
};

enum {
	MARKER_TYPED = 0xc0, /* top byte of the first 32 bits of a record */
	MARKER_MESSAGE = 0x90,

	HEADER_MIN = ETL_RECORD_SIZE_MIN,
	HEADER_SYSTEM = 32,
	HEADER_COMPACT = 24,
	HEADER_PERFINFO = 16,
	HEADER_EVENT = 80,
	HEADER_FULL = 48,
	HEADER_INSTANCE = 56,      /* EVENT_INSTANCE_HEADER, which has no GUID of the parent */
	HEADER_INSTANCE_GUID = 72, /* EVENT_INSTANCE_GUID_HEADER */

	/* Flags in the high byte of the version word of kernel headers. */
	VERSION_PEBS_INDEX = 0x8000,
	VERSION_COUNTERS = 0x0700,
	VERSION_COUNTERS_SHIFT = 8,

	EVENT_FLAG_EXTENDED = 0x0001,
	EVENT_FLAG_STRING = 0x0004,
	EVENT_FLAG_CLASSIC = 0x0100,
	EVENT_FLAG_PRIVATE = 0x0002, /* one time of 64 bits in place of two */
	EVENT_FLAG_NO_CPU_TIMES = 0x0010,
	EVENT_FLAGS_SPECIAL = EVENT_FLAG_EXTENDED | EVENT_FLAG_STRING | EVENT_FLAG_CLASSIC |
			      EVENT_FLAG_PRIVATE | EVENT_FLAG_NO_CPU_TIMES,

	ITEM_HEADER_SIZE = 8,
	ITEM_LINKAGE_MORE = 1,

	/* TRACE_MESSAGE_*: which parts a message has (evntrace.h). */
	MESSAGE_SEQUENCE = 0x01,
	MESSAGE_GUID = 0x02,
	MESSAGE_COMPONENT = 0x04,
	MESSAGE_TIMESTAMP = 0x08 | 0x10,
	MESSAGE_SYSTEMINFO = 0x20,
	MESSAGE_POINTER32 = 0x40,
	MESSAGE_POINTER64 = 0x80,

	PREFETCH_AHEAD = 1024, /* bytes; prefetching doubles the speed of a walk, because hardware
				  cannot predict a chain of sizes */
};

static const struct etw_guid no_provider;

static const char *const size_below_header = "its size is below that of its header";
static const char *const size_beyond_end = "its size goes beyond the end of the data";

/* Which function reads a record. */
enum header_form {
	FORM_OPAQUE, /* for all types that are not in the table: only the size is known */
	FORM_PERFINFO,
	FORM_KERNEL, /* SYSTEM and COMPACT */
	FORM_EVENT,
	FORM_CLASSIC,
};

/*
 * The differences of typed records. Kernel headers start with the version word, and the size
 * follows the marker.
 */
static const struct header_parts {
	uint8_t size_offset;
	uint8_t time_offset;
	uint8_t form;         /* enum header_form */
	uint8_t record_type;  /* enum etw_record_type */
	uint8_t pointer_size; /* 0 for FORM_OPAQUE */
	uint16_t header_size; /* least bytes of a record of this type */
} header_parts[UINT8_MAX + 1] = {
	[TYPE_SYSTEM32] = { 4, 0x10, FORM_KERNEL, ETW_RECORD_SYSTEM, 4, HEADER_SYSTEM },
	[TYPE_SYSTEM64] = { 4, 0x10, FORM_KERNEL, ETW_RECORD_SYSTEM, 8, HEADER_SYSTEM },
	[TYPE_COMPACT32] = { 4, 0x10, FORM_KERNEL, ETW_RECORD_COMPACT, 4, HEADER_COMPACT },
	[TYPE_COMPACT64] = { 4, 0x10, FORM_KERNEL, ETW_RECORD_COMPACT, 8, HEADER_COMPACT },
	[TYPE_PERFINFO32] = { 4, 0x08, FORM_PERFINFO, ETW_RECORD_PERFINFO, 4, HEADER_PERFINFO },
	[TYPE_PERFINFO64] = { 4, 0x08, FORM_PERFINFO, ETW_RECORD_PERFINFO, 8, HEADER_PERFINFO },
	[TYPE_EVENT32] = { 0, 0x10, FORM_EVENT, ETW_RECORD_EVENT, 4, HEADER_EVENT },
	[TYPE_EVENT64] = { 0, 0x10, FORM_EVENT, ETW_RECORD_EVENT, 8, HEADER_EVENT },
	[TYPE_FULL32] = { 0, 0x10, FORM_CLASSIC, ETW_RECORD_FULL, 4, HEADER_FULL },
	[TYPE_FULL64] = { 0, 0x10, FORM_CLASSIC, ETW_RECORD_FULL, 8, HEADER_FULL },
	[TYPE_INSTANCE32] = { 0, 0x10, FORM_CLASSIC, ETW_RECORD_INSTANCE, 4, HEADER_INSTANCE },
	[TYPE_INSTANCE64] = { 0, 0x10, FORM_CLASSIC, ETW_RECORD_INSTANCE, 8, HEADER_INSTANCE },
};

static inline bool is_kernel(const struct header_parts *parts)
{
	return parts->size_offset > 0;
}

/* Sets the parts of class_key that the header type determines. */
static void set_class_keys(struct etl_format *format)
{
	for (unsigned i = 0; i < ETL_HEADER_TYPES; i++) {
		const struct header_parts *parts = &header_parts[i];
		bool classic = parts->form != FORM_EVENT;
		uint8_t forced = classic ? format->classic_pointer_size : 0;

		format->class_keys[i] = record_class_key(
			0, 0, 0, forced ? forced : parts->pointer_size, parts->record_type, classic,
			is_kernel(parts) ? 0 : ETW_RECORD_NO_GROUP);
	}
}

void etl_format_init(struct etl_format *format, const struct etw_source_clock *clock,
		     uint8_t pointer_size, uint8_t classic_pointer_size)
{
	double time_per_tick = 1e7 / (double)clock->frequency;
	double ticks = 0x1p50 / time_per_tick;

	*format = (struct etl_format){
		.clock = *clock,
		.pointer_size = pointer_size,
		.classic_pointer_size = classic_pointer_size,
		.time_per_tick = time_per_tick,
	};
	set_class_keys(format);
	/* Below 2^50 units of 100 ns (35 years) the estimate is off by less than one, and sums stay
	 * in range. */
	if (clock->anchor_time >= 0 && clock->anchor_time < INT64_MAX / 2 &&
	    clock->frequency < UINT64_C(1) << 60) {
		format->short_ticks = ticks < 0x1p61 ? (uint64_t)ticks : UINT64_C(1) << 61;
	}
	/* The difference to the anchor must not wrap to a small number: a raw time before the
	 * anchor must give more than short_ticks. */
	if (clock->anchor_raw > 0 &&
	    format->short_ticks > (uint64_t)(INT64_MAX - clock->anchor_raw)) {
		format->short_ticks = (uint64_t)(INT64_MAX - clock->anchor_raw);
	}
	format->plain_ticks = clock->frequency == 10000000 ? format->short_ticks : 0;
}

static inline uint64_t ticks_after_anchor(const struct etl_format *format, int64_t raw)
{
	return (uint64_t)raw - (uint64_t)format->clock.anchor_raw;
}

int64_t etl_format_time(const struct etl_format *format, int64_t raw)
{
	const struct etw_source_clock *clock = &format->clock;
	uint64_t ticks = ticks_after_anchor(format, raw);
	uint64_t time;
	int64_t rest;

	if (ticks > format->short_ticks) {
		return etw_clock_time(clock, raw);
	}
	if (ticks <= format->plain_ticks) {
		return clock->anchor_time + (int64_t)ticks;
	}
	/*
	 * An estimate in floating point, corrected with integers: the difference between
	 * ticks * 10^7 and time * frequency is small, so its low 64 bits suffice although the
	 * products may be larger.
	 */
	time = (uint64_t)(int64_t)((double)(int64_t)ticks * format->time_per_tick);
	rest = (int64_t)(ticks * 10000000 - time * clock->frequency);
	if (rest < 0) {
		time--;
	} else if ((uint64_t)rest >= clock->frequency) {
		time++;
	}
	return clock->anchor_time + (int64_t)time;
}

static inline void prefetch(const uint8_t *at)
{
#if defined(__GNUC__)
	/* The sum is computed as an integer, because the address may be outside the block. */
	__builtin_prefetch((const void *)((uintptr_t)at + PREFETCH_AHEAD));
#else
	(void)at;
#endif
}

void etl_walk_start(struct etl_walk *walk, const struct etl_format *format, const uint8_t *bytes,
		    uint32_t end, uint16_t processor, uint64_t index)
{
	*walk = (struct etl_walk){
		.format = format,
		.bytes = bytes,
		.at = ETL_BUFFER_HEADER_SIZE,
		.end = end,
		.record.index = index - 1, /* the first step adds 1 */
	};
	walk->record.processor = processor;
}

static RARE bool stop(struct etl_walk *walk, const char *why)
{
	walk->stopped = why;
	walk->stopped_at = walk->at;
	return false;
}

/* Moves the walk past a record whose header was checked. */
static inline void pass(struct etl_walk *walk, uint32_t size)
{
	walk->record.index++;
	walk->record_size = size;
	walk->at += (size + 7) & ~7U; /* at least HEADER_MIN */
}

static NOINLINE bool compute_time(struct etl_walk *walk)
{
	walk->record.time = etl_format_time(walk->format, walk->record.raw_time);
	return true;
}

/* Sets both times. Returns true so that a reader can end with this call. */
static inline bool set_time(struct etl_walk *walk, int64_t raw)
{
	uint64_t ticks = ticks_after_anchor(walk->format, raw);

	walk->record.raw_time = raw;
	if (ticks > walk->format->plain_ticks) {
		return compute_time(walk);
	}
	walk->record.time = walk->format->clock.anchor_time + (int64_t)ticks;
	return true;
}

static inline void set_payload(struct etw_record *record, const uint8_t *at, uint32_t size,
			       uint32_t header_size)
{
	record->payload = at + header_size;
	record->payload_size = size - header_size;
}

/* Clears the members that only some header types have, except those of class_key. */
static inline void clear(struct etw_record *record)
{
	record->task = 0;
	record->channel = 0;
	record->level = 0;
	record->keyword = 0;
	record->activity = NULL;
	record->extended = NULL;
	record->extended_size = 0;
}

/* Returns whether the version word says that additional fields follow the fixed header. */
static inline bool has_counters(uint16_t version)
{
	return version & (VERSION_PEBS_INDEX | VERSION_COUNTERS);
}

/* Returns the size of the header with the additional fields that the version word announces. */
static inline uint32_t whole_header_size(uint32_t fixed_size, uint16_t version)
{
	return fixed_size + (version & VERSION_PEBS_INDEX ? 8 : 0) +
	       8 * ((uint32_t)(version & VERSION_COUNTERS) >> VERSION_COUNTERS_SHIFT);
}

/* Reads the parts that all kernel records have. The ids of thread and process are not set. */
static inline bool read_hooked(struct etl_walk *walk, const uint8_t *at, uint32_t size,
			       uint32_t header_size, uint32_t time_offset)
{
	struct etw_record *record = &walk->record;
	uint8_t opcode = at[6], group = at[7];

	pass(walk, size);
	/* After another kernel record, and in a new walk, these members are clear already. */
	if (record->type > ETW_RECORD_PERFINFO) {
		clear(record);
	}
	record->class_key = walk->format->class_keys[at[2]] |
			    record_class_key(0, at[0], opcode, 0, 0, false, group);
	record->provider = etw_kernel_record_guid(group, opcode);
	set_payload(record, at, size, header_size);
	return set_time(walk, (int64_t)etw_load_u64(at + time_offset));
}

/* SYSTEM, COMPACT and PERFINFO differ in the parts between the group and the payload. */
static NOINLINE bool read_kernel(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	const struct header_parts *parts = &header_parts[at[2]];
	uint32_t header_size = whole_header_size(parts->header_size, etw_load_u16(at));
	bool has_ids = parts->record_type != ETW_RECORD_PERFINFO;

	if (size < header_size) {
		return stop(walk, size_below_header);
	}
	walk->record.thread_id = has_ids ? etw_load_u32(at + 0x08) : ETW_RECORD_NO_ID;
	walk->record.process_id = has_ids ? etw_load_u32(at + 0x0c) : ETW_RECORD_NO_ID;
	walk->record.cpu_times = parts->record_type == ETW_RECORD_SYSTEM ? etw_load_u64(at + 0x18) :
									   ETW_RECORD_NO_CPU_TIMES;
	return read_hooked(walk, at, size, header_size, parts->time_offset);
}

/* Reads a PERFINFO record without counters: most records of a busy machine have this form. */
static inline bool read_perfinfo(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	walk->record.thread_id = ETW_RECORD_NO_ID;
	walk->record.process_id = ETW_RECORD_NO_ID;
	walk->record.cpu_times = ETW_RECORD_NO_CPU_TIMES;
	return read_hooked(walk, at, size, HEADER_PERFINFO, 0x08);
}

/* Reads records with a FULL_HEADER or INSTANCE header: the events of MOF classes. */
static NOINLINE bool read_classic(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	const struct header_parts *parts = &header_parts[at[2]];
	struct etw_record *record = &walk->record;
	uint32_t header_size = parts->header_size;

	if (parts->record_type == ETW_RECORD_INSTANCE && size >= HEADER_INSTANCE_GUID) {
		header_size = HEADER_INSTANCE_GUID;
	}
	pass(walk, size);
	clear(record);
	record->class_key = walk->format->class_keys[at[2]] |
			    record_class_key(0, at[6], at[4], 0, 0, false, 0);
	record->level = at[5];
	record->thread_id = etw_load_u32(at + 0x08);
	record->process_id = etw_load_u32(at + 0x0c);
	record->cpu_times = parts->record_type == ETW_RECORD_FULL ? etw_load_u64(at + 0x28) :
								    ETW_RECORD_NO_CPU_TIMES;
	record->provider = (const struct etw_guid *)(at + 0x18);
	set_payload(record, at, size, header_size);
	return set_time(walk, (int64_t)etw_load_u64(at + parts->time_offset));
}

/*
 * Checks the extended items from offset 80 of a record on. Sets record->extended to the valid ones,
 * and the payload to the bytes after them. After an invalid item the payload cannot be found, so it
 * is left empty.
 */
static void read_extended(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	struct etw_record *record = &walk->record;
	uint32_t offset = HEADER_EVENT;
	bool more = true;

	record->extended = at + offset;
	while (more) {
		uint32_t item_size, data_size;

		if (size - offset < ITEM_HEADER_SIZE) {
			break;
		}
		item_size = etw_load_u16(at + offset);
		data_size = etw_load_u16(at + offset + 6);
		if (item_size < ITEM_HEADER_SIZE || item_size % 8 != 0 ||
		    item_size > size - offset || data_size > item_size - ITEM_HEADER_SIZE) {
			break;
		}
		more = etw_load_u16(at + offset + 4) & ITEM_LINKAGE_MORE;
		offset += item_size;
	}
	record->extended_size = offset - HEADER_EVENT;
	record->payload = at + offset;
	record->payload_size = size - offset;
	if (more) {
		record->payload_size = 0;
		walk->bad_items++;
		walk->bad_items_at = etl_walk_record_at(walk);
	}
}

/* Reads the rare events that have extended items or a payload of another form. */
static NOINLINE bool read_special(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	struct etw_record *record = &walk->record;
	uint16_t flags = etw_load_u16(at + 0x04);
	uint8_t forced = walk->format->classic_pointer_size;

	if (flags & EVENT_FLAG_CLASSIC) {
		record->classic = true;
		record->pointer_size = forced ? forced : record->pointer_size;
	} else if (flags & EVENT_FLAG_STRING) {
		record->type = ETW_RECORD_STRING;
	}
	if (flags & (EVENT_FLAG_PRIVATE | EVENT_FLAG_NO_CPU_TIMES)) {
		record->cpu_times = ETW_RECORD_NO_CPU_TIMES;
	}
	if (flags & EVENT_FLAG_EXTENDED) {
		read_extended(walk, at, size);
	}
	return set_time(walk, (int64_t)etw_load_u64(at + 0x10));
}

static inline bool read_event(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	struct etw_record *record = &walk->record;

	pass(walk, size);
	record->class_key =
		walk->format->class_keys[at[2]] |
		record_class_key(etw_load_u16(at + 0x28), at[0x2a], at[0x2d], 0, 0, false, 0);
	record->thread_id = etw_load_u32(at + 0x08);
	record->process_id = etw_load_u32(at + 0x0c);
	record->provider = (const struct etw_guid *)(at + 0x18);
	record->channel = at[0x2b];
	record->level = at[0x2c];
	record->task = etw_load_u16(at + 0x2e);
	record->keyword = etw_load_u64(at + 0x30);
	record->activity = (const struct etw_guid *)(at + 0x40);
	record->cpu_times = etw_load_u64(at + 0x38);
	record->extended = NULL;
	record->extended_size = 0;
	set_payload(record, at, size, HEADER_EVENT);
	if (etw_load_u16(at + 0x04) & EVENT_FLAGS_SPECIAL) {
		return read_special(walk, at, size);
	}
	return set_time(walk, (int64_t)etw_load_u64(at + 0x10));
}

/* Sets the members of a record that has none of the usual parts. */
static void set_bare(struct etl_walk *walk, enum etw_record_type type)
{
	struct etw_record *record = &walk->record;

	clear(record);
	record->class_key = record_class_key(0, 0, 0, walk->format->pointer_size, type, false,
					     ETW_RECORD_NO_GROUP);
	record->thread_id = ETW_RECORD_NO_ID;
	record->process_id = ETW_RECORD_NO_ID;
	record->cpu_times = ETW_RECORD_NO_CPU_TIMES;
	record->provider = &no_provider;
	record->raw_time = ETW_RECORD_NO_TIME;
	record->time = ETW_RECORD_NO_TIME;
}

/* Reads a WPP message: each part exists only if its flag is set, in this order and without
 * alignment. */
static RARE bool read_message(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	struct etw_record *record = &walk->record;
	struct cursor c = cursor_over(at, size);
	const uint8_t *guid = NULL;
	uint16_t options;

	set_bare(walk, ETW_RECORD_MESSAGE);
	cursor_skip(&c, 4);
	record->id = cursor_u16(&c);
	options = cursor_u16(&c);
	if (options & MESSAGE_SEQUENCE) {
		cursor_skip(&c, 4);
	}
	if (options & MESSAGE_GUID) {
		guid = cursor_take(&c, sizeof(struct etw_guid));
	} else if (options & MESSAGE_COMPONENT) {
		guid = cursor_take(&c, 4);
		if (guid) {
			walk->component = (struct etw_guid){ 0 };
			memcpy(walk->component.bytes, guid, 4);
			guid = walk->component.bytes;
		}
	}
	if (guid) {
		record->provider = (const struct etw_guid *)guid;
	}
	if (options & MESSAGE_TIMESTAMP) {
		set_time(walk, (int64_t)cursor_u64(&c));
	}
	if (options & MESSAGE_SYSTEMINFO) {
		record->thread_id = cursor_u32(&c);
		record->process_id = cursor_u32(&c);
	}
	if (options & MESSAGE_POINTER32) {
		record->pointer_size = 4;
	} else if (options & MESSAGE_POINTER64) {
		record->pointer_size = 8;
	}
	if (c.overrun) {
		return stop(walk, size_below_header);
	}
	record->payload = c.at;
	record->payload_size = (uint32_t)cursor_left(&c);
	pass(walk, size);
	return true;
}

/* Reads a record of a header type of which only the size is known: it is counted, but never
 * decoded. */
static RARE bool read_opaque(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	static const uint8_t known[] = {
		[TYPE_TIMED] = ETW_RECORD_TIMED,
		[TYPE_ERROR] = ETW_RECORD_ERROR,
		[TYPE_WNODE] = ETW_RECORD_WNODE,
		[TYPE_MESSAGE] = ETW_RECORD_MESSAGE_TYPED,
	};
	uint8_t type = at[2] < sizeof known ? known[at[2]] : 0;

	if (size < HEADER_MIN) {
		return stop(walk, size_below_header);
	}
	set_bare(walk, type ? type : ETW_RECORD_UNKNOWN);
	set_payload(&walk->record, at, size, HEADER_MIN);
	pass(walk, size);
	return true;
}

/* Reads a record without the marker of typed records. */
static RARE bool read_untyped(struct etl_walk *walk, const uint8_t *at, uint32_t left)
{
	uint32_t marker = etw_load_u32(at);
	uint32_t size = etw_load_u16(at);

	if (marker == 0 || marker == UINT32_MAX) {
		return stop(walk, "filler in its place");
	}
	if (marker >> 24 != MARKER_MESSAGE) {
		return stop(walk, "its marker is none of a record");
	}
	if (size > left) {
		return stop(walk, size_beyond_end);
	}
	if (size < HEADER_MIN) {
		return stop(walk, size_below_header);
	}
	return read_message(walk, at, size);
}

/* ---- walks ---- */

/* Returns whether a record may start at the present offset of the walk. */
static inline bool has_next(const struct etl_walk *walk)
{
	/* The sum cannot wrap: end is at most ETL_BUFFER_MAX, and at exceeds that at most by the
	 * padding of a record. */
	return walk->at + HEADER_MIN <= walk->end;
}

static NOINLINE bool read_other(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	switch ((enum header_form)header_parts[at[2]].form) {
	case FORM_EVENT:
		return read_event(walk, at, size);
	case FORM_PERFINFO:
	case FORM_KERNEL:
		return read_kernel(walk, at, size);
	case FORM_CLASSIC:
		return read_classic(walk, at, size);
	case FORM_OPAQUE:
		break;
	}
	return read_opaque(walk, at, size);
}

static inline bool step(struct etl_walk *walk)
{
	const uint8_t *at = walk->bytes + walk->at;
	const struct header_parts *parts;
	uint32_t size, left = walk->end - walk->at;

	if (!has_next(walk)) {
		return false;
	}
	prefetch(at);
	if (at[3] != MARKER_TYPED) {
		return read_untyped(walk, at, left);
	}
	parts = &header_parts[at[2]];
	size = etw_load_u16(at + parts->size_offset);
	if (size > left) {
		return stop(walk, size_beyond_end);
	}
	if (size < parts->header_size) {
		return stop(walk, size_below_header);
	}
	if (parts->form == FORM_PERFINFO && !has_counters(etw_load_u16(at))) {
		return read_perfinfo(walk, at, size);
	}
	return read_other(walk, at, size);
}

static RARE bool has_whole_header(const uint8_t *at, uint32_t size)
{
	return size >= whole_header_size(header_parts[at[2]].header_size, etw_load_u16(at));
}

/*
 * Returns the size of the record at `at` and sets its time if a walk can skip it: it is valid and
 * not chosen. Returns 0 if the walk must not skip it.
 */
static inline uint32_t size_left_out(const struct etl_walk *walk, const uint8_t *at, uint32_t left,
				     int64_t *raw_time)
{
	const struct header_parts *parts = &header_parts[at[2]];
	uint32_t size;

	if (at[3] != MARKER_TYPED) {
		return 0;
	}
	size = etw_load_u16(at + parts->size_offset);
	if (size > left || size < parts->header_size) {
		return 0;
	}
	if (is_kernel(parts)) {
		if (!walk->only || etw_hook_chosen(walk->only, etw_load_u16(at + 6)) ||
		    (has_counters(etw_load_u16(at)) && !has_whole_header(at, size))) {
			return 0;
		}
	} else if (parts->form != FORM_EVENT || !walk->only_ids ||
		   id_chosen(walk->only_ids, etw_load_u16(at + 0x28)) ||
		   (etw_load_u16(at + 0x04) & EVENT_FLAGS_SPECIAL)) {
		return 0;
	}
	*raw_time = (int64_t)etw_load_u64(at + parts->time_offset);
	return size;
}

/* Returns whether a walk must skip the record. This happens only with recordings of several files.
 */
static RARE bool is_passed_over(const struct etl_walk *walk)
{
	return chosen_has(walk->format->passed_over, walk->record.index);
}

/* Steps to the next record. Only the place and the time of a record that is not chosen are read;
 * *left_out is then true. */
static bool step_or_leave_out(struct etl_walk *walk, bool *left_out)
{
	const uint8_t *at = walk->bytes + walk->at;
	int64_t raw_time = 0;
	uint32_t size = has_next(walk) ? size_left_out(walk, at, walk->end - walk->at, &raw_time) :
					 0;

	*left_out = size > 0;
	if (size == 0) {
		return step(walk);
	}
	prefetch(at);
	pass(walk, size);
	walk->record.raw_time = raw_time;
	return true;
}

static NOINLINE bool next_but(struct etl_walk *walk)
{
	bool left_out;

	do {
		if (!step_or_leave_out(walk, &left_out)) {
			return false;
		}
	} while (walk->format->passed_over && is_passed_over(walk));
	return true;
}

bool etl_walk_next(struct etl_walk *walk)
{
	if (walk->only || walk->format->passed_over) {
		return next_but(walk);
	}
	return step(walk);
}

static inline void note_time(struct etl_times *times, int64_t time)
{
	times->records++;
	times->unordered |= time < times->last_time;
	times->first_time = time < times->first_time ? time : times->first_time;
	times->last_time = time;
}

/* Does a survey in which some records must be skipped because another file repeats them. */
static NOINLINE bool survey_several(struct etl_walk *walk, struct etl_times *times)
{
	bool left_out;

	while (step_or_leave_out(walk, &left_out)) {
		if (is_passed_over(walk)) {
			continue;
		}
		note_time(times, walk->record.raw_time);
		if (!left_out) {
			return true;
		}
	}
	return false;
}

/* Skips the records up to the first one that is chosen, and notes their times. This is the main
 * loop of a first pass; it stores nothing to memory before its end. */
static NOINLINE void leave_out(struct etl_walk *walk, struct etl_times *times)
{
	struct etl_times noted = *times;
	const uint8_t *bytes = walk->bytes;
	uint32_t at = walk->at, end = walk->end;
	uint32_t size;
	int64_t raw_time;

	while (at + HEADER_MIN <= end &&
	       (size = size_left_out(walk, bytes + at, end - at, &raw_time)) > 0) {
		prefetch(bytes + at);
		note_time(&noted, raw_time);
		at += (size + 7) & ~7U;
	}
	walk->at = at;
	walk->record.index += noted.records - times->records;
	*times = noted;
}

bool etl_walk_survey(struct etl_walk *walk, struct etl_times *times)
{
	if (walk->format->passed_over) {
		return survey_several(walk, times);
	}
	if (walk->only || walk->only_ids) {
		leave_out(walk, times);
	}
	if (!step(walk)) {
		return false;
	}
	note_time(times, walk->record.raw_time);
	return true;
}

bool etl_record_is_plausible(const uint8_t *at, uint32_t left)
{
	const struct header_parts *parts = &header_parts[at[2]];
	bool typed = at[3] == MARKER_TYPED;
	uint32_t least = typed ? parts->header_size : HEADER_MIN;
	uint32_t size = etw_load_u16(at + (typed ? parts->size_offset : 0));

	return (typed || at[3] == MARKER_MESSAGE) &&
	       (left == UINT32_MAX || (size >= least && size <= left));
}

bool etl_walk_seek(struct etl_walk *walk, uint32_t at, uint64_t index)
{
	walk->at = at;
	walk->record.index = index - 1;
	return etl_walk_next(walk);
}
