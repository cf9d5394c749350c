/* SPDX-License-Identifier: MIT */
/*
 * Reads records: header types, extended items, payloads.
 *
 * Header types differ in two ways: in the place of the size, and in what precedes the payload. The
 * header type is the third byte of a record. There are kernel records with short headers, which
 * have a group and an opcode instead of a GUID; classic events of MOF classes; events with an
 * EVENT_HEADER and extended items; and WPP messages. A record is accepted only if its size covers
 * its header and is inside the valid bytes of the buffer, so every fixed offset below is inside the
 * record. Otherwise the walk stops, because without a size the next record cannot be found.
 *
 * Walking is the hot path of a first pass: millions of records a second. So records that are not
 * chosen are stepped over, the time is computed without a division, and the bytes ahead are
 * prefetched.
 */
#include "etl/record.h"

#include "base/cursor.h"
#include "base/error.h"
#include "source/kernel_group.h"

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
	MARKER_TYPED = 0xc0, /* top byte of a record's first 32 bits */
	MARKER_MESSAGE = 0x90,

	HEADER_MIN = ETL_RECORD_SIZE_MIN,
	HEADER_SYSTEM = 32,
	HEADER_COMPACT = 24,
	HEADER_PERFINFO = 16,
	HEADER_EVENT = 80,
	HEADER_FULL = 48,
	HEADER_INSTANCE = 56,      /* EVENT_INSTANCE_HEADER: without the parent's GUID */
	HEADER_INSTANCE_GUID = 72, /* EVENT_INSTANCE_GUID_HEADER */

	/* High byte of the version word in kernel headers. */
	VERSION_PEBS_INDEX = 0x8000,
	VERSION_COUNTERS = 0x0700,
	VERSION_COUNTERS_SHIFT = 8,

	EVENT_FLAG_EXTENDED = 0x0001,
	EVENT_FLAG_CLASSIC = 0x0100,

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

	PREFETCH_AHEAD = 1024, /* doubles the speed of a walk: no hardware prefetches a chain of
				  sizes */
};

static const struct guid no_provider;

static const char *const size_below_header = "its size is below that of its header";
static const char *const size_beyond_end = "its size goes beyond the end of the data";

void etl_format_init(struct etl_format *format, const struct source_clock *clock,
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
	/* Below 2^50 units of 100 ns (35 years) the estimate is off by less than one, and sums stay
	 * in range. */
	if (clock->anchor_time >= 0 && clock->anchor_time < INT64_MAX / 2 &&
	    clock->frequency < UINT64_C(1) << 60) {
		format->short_ticks = ticks < 0x1p61 ? (uint64_t)ticks : UINT64_C(1) << 61;
	}
}

int64_t etl_format_time(const struct etl_format *format, int64_t raw)
{
	const struct source_clock *clock = &format->clock;
	uint64_t ticks = (uint64_t)raw - (uint64_t)clock->anchor_raw;
	uint64_t time;
	int64_t rest;

	if (ticks > format->short_ticks || raw < clock->anchor_raw) {
		return clock_time(clock, raw);
	}
	if (clock->frequency == 10000000) {
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
	/* As an integer, because the address may be beyond the block. */
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
		.next_index = index,
	};
	walk->record.processor = processor;
}

static RARE bool stop(struct etl_walk *walk, const char *why)
{
	walk->stopped = why;
	walk->stopped_at = walk->at;
	return false;
}

/* Sets the payload to the bytes after header_size. Returns false if the record is shorter. */
static inline bool payload_after(struct event_record *record, const uint8_t *at, uint32_t size,
				 uint32_t header_size)
{
	if (size < header_size) {
		return false;
	}
	record->payload = at + header_size;
	record->payload_size = size - header_size;
	return true;
}

static inline void set_raw_time(struct etl_walk *walk, int64_t raw)
{
	walk->record.raw_time = raw;
	walk->record.time = etl_format_time(walk->format, raw);
}

static inline void set_classic(struct etl_walk *walk, uint8_t recorded_pointer_size)
{
	uint8_t forced = walk->format->classic_pointer_size;

	walk->record.classic = true;
	walk->record.pointer_size = forced ? forced : recorded_pointer_size;
}

/* Sets the members that most header types leave empty. */
static inline void clear(struct event_record *record, enum record_type type, uint8_t pointer_size)
{
	record->type = (uint8_t)type;
	record->pointer_size = pointer_size;
	record->classic = false;
	record->kernel_group = RECORD_NO_GROUP;
	record->id = 0;
	record->task = 0;
	record->version = 0;
	record->opcode = 0;
	record->level = 0;
	record->channel = 0;
	record->keyword = 0;
	record->activity = NULL;
	record->extended = NULL;
	record->extended_size = 0;
}

/* The header size, with the parts after the fixed one according to the version word. */
static inline uint32_t whole_header_size(uint32_t fixed_size, uint16_t version)
{
	return fixed_size + (version & VERSION_PEBS_INDEX ? 8 : 0) +
	       8 * ((uint32_t)(version & VERSION_COUNTERS) >> VERSION_COUNTERS_SHIFT);
}

/* SYSTEM, COMPACT and PERFINFO differ in the parts between the group and the payload. */
static inline bool read_kernel(struct etl_walk *walk, const uint8_t *at, uint32_t size,
			       enum record_type type, uint32_t header_size, uint8_t pointer_size)
{
	struct event_record *record = &walk->record;
	uint16_t version;
	uint8_t group;

	if (size < header_size) {
		return stop(walk, size_below_header);
	}
	clear(record, type, pointer_size);
	set_classic(walk, pointer_size);
	version = load_u16(at);
	group = at[7];
	record->kernel_group = group;
	record->version = (uint8_t)version;
	record->opcode = at[6];
	record->provider = kernel_record_guid(group, record->opcode);
	if (type == RECORD_PERFINFO) {
		record->thread_id = RECORD_NO_ID;
		record->process_id = RECORD_NO_ID;
	} else {
		record->thread_id = load_u32(at + 0x08);
		record->process_id = load_u32(at + 0x0c);
	}
	set_raw_time(walk, (int64_t)load_u64(at + (type == RECORD_PERFINFO ? 0x08 : 0x10)));
	if (!payload_after(record, at, size, whole_header_size(header_size, version))) {
		return stop(walk, size_below_header);
	}
	return true;
}

/* FULL_HEADER and INSTANCE: the events of MOF classes. */
static inline bool read_classic(struct etl_walk *walk, const uint8_t *at, uint32_t size,
				enum record_type type, uint32_t header_size, uint8_t pointer_size)
{
	struct event_record *record = &walk->record;

	if (size < header_size) {
		return stop(walk, size_below_header);
	}
	if (type == RECORD_INSTANCE && size >= HEADER_INSTANCE_GUID) {
		header_size = HEADER_INSTANCE_GUID;
	}
	clear(record, type, pointer_size);
	set_classic(walk, pointer_size);
	record->opcode = at[4];
	record->level = at[5];
	record->version = at[6];
	record->thread_id = load_u32(at + 0x08);
	record->process_id = load_u32(at + 0x0c);
	record->provider = (const struct guid *)(at + 0x18);
	set_raw_time(walk, (int64_t)load_u64(at + 0x10));
	return payload_after(record, at, size, header_size);
}

/*
 * Checks the extended items from offset 80 of a record on. Sets record->extended to the valid ones,
 * and the payload to the bytes after them. After an invalid item the payload cannot be found, so it
 * is left empty.
 */
static NOINLINE void read_extended(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	struct event_record *record = &walk->record;
	uint32_t offset = HEADER_EVENT;
	bool more = true;

	record->extended = at + offset;
	while (more) {
		uint32_t item_size, data_size;

		if (size - offset < ITEM_HEADER_SIZE) {
			break;
		}
		item_size = load_u16(at + offset);
		data_size = load_u16(at + offset + 6);
		if (item_size < ITEM_HEADER_SIZE || item_size % 8 != 0 ||
		    item_size > size - offset || data_size > item_size - ITEM_HEADER_SIZE) {
			break;
		}
		more = load_u16(at + offset + 4) & ITEM_LINKAGE_MORE;
		offset += item_size;
	}
	record->extended_size = offset - HEADER_EVENT;
	record->payload = at + offset;
	record->payload_size = size - offset;
	if (more) {
		record->payload_size = 0;
		walk->bad_items++;
		walk->bad_items_at = walk->at;
	}
}

static inline bool read_event(struct etl_walk *walk, const uint8_t *at, uint32_t size,
			      uint8_t pointer_size)
{
	struct event_record *record = &walk->record;
	uint16_t flags;

	if (size < HEADER_EVENT) {
		return stop(walk, size_below_header);
	}
	flags = load_u16(at + 0x04);
	record->type = RECORD_EVENT;
	record->pointer_size = pointer_size;
	record->classic = false;
	record->kernel_group = RECORD_NO_GROUP;
	record->thread_id = load_u32(at + 0x08);
	record->process_id = load_u32(at + 0x0c);
	record->provider = (const struct guid *)(at + 0x18);
	record->id = load_u16(at + 0x28);
	record->version = at[0x2a];
	record->channel = at[0x2b];
	record->level = at[0x2c];
	record->opcode = at[0x2d];
	record->task = load_u16(at + 0x2e);
	record->keyword = load_u64(at + 0x30);
	record->activity = (const struct guid *)(at + 0x40);
	record->extended = NULL;
	record->extended_size = 0;
	record->payload = at + HEADER_EVENT;
	record->payload_size = size - HEADER_EVENT;
	set_raw_time(walk, (int64_t)load_u64(at + 0x10));
	if (flags & EVENT_FLAG_CLASSIC) {
		set_classic(walk, pointer_size);
	}
	if (flags & EVENT_FLAG_EXTENDED) {
		read_extended(walk, at, size);
	}
	return true;
}

/* WPP messages: each part exists only if its flag is set, in this order and without alignment. */
static RARE bool read_message(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	struct event_record *record = &walk->record;
	struct cursor c = cursor_over(at, size);
	const uint8_t *guid = NULL;
	uint16_t options;

	clear(record, RECORD_MESSAGE, walk->format->pointer_size);
	record->thread_id = RECORD_NO_ID;
	record->process_id = RECORD_NO_ID;
	record->provider = &no_provider;
	record->raw_time = RECORD_NO_TIME;
	record->time = RECORD_NO_TIME;
	cursor_skip(&c, 4);
	record->id = cursor_u16(&c);
	options = cursor_u16(&c);
	if (options & MESSAGE_SEQUENCE) {
		cursor_skip(&c, 4);
	}
	if (options & MESSAGE_GUID) {
		guid = cursor_take(&c, sizeof(struct guid));
	} else if (options & MESSAGE_COMPONENT) {
		guid = cursor_take(&c, 4);
		if (guid) {
			walk->component = (struct guid){ 0 };
			memcpy(walk->component.bytes, guid, 4);
			guid = walk->component.bytes;
		}
	}
	if (guid) {
		record->provider = (const struct guid *)guid;
	}
	if (options & MESSAGE_TIMESTAMP) {
		set_raw_time(walk, (int64_t)cursor_u64(&c));
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
	return true;
}

/* Header types of which only the size is read: such records are counted, never decoded. */
static RARE bool read_opaque(struct etl_walk *walk, const uint8_t *at, uint32_t size,
			     enum record_type type)
{
	struct event_record *record = &walk->record;

	if (size < HEADER_MIN) {
		return stop(walk, size_below_header);
	}
	clear(record, type, walk->format->pointer_size);
	record->thread_id = RECORD_NO_ID;
	record->process_id = RECORD_NO_ID;
	record->provider = &no_provider;
	record->raw_time = RECORD_NO_TIME;
	record->time = RECORD_NO_TIME;
	return payload_after(record, at, size, HEADER_MIN);
}

static NOINLINE bool read_typed(struct etl_walk *walk, const uint8_t *at, uint32_t size)
{
	uint8_t type = at[2];

	switch (type) {
	case TYPE_PERFINFO32:
	case TYPE_PERFINFO64:
		return read_kernel(walk, at, size, RECORD_PERFINFO, HEADER_PERFINFO,
				   type == TYPE_PERFINFO64 ? 8 : 4);
	case TYPE_SYSTEM32:
	case TYPE_SYSTEM64:
		return read_kernel(walk, at, size, RECORD_SYSTEM, HEADER_SYSTEM,
				   type == TYPE_SYSTEM64 ? 8 : 4);
	case TYPE_COMPACT32:
	case TYPE_COMPACT64:
		return read_kernel(walk, at, size, RECORD_COMPACT, HEADER_COMPACT,
				   type == TYPE_COMPACT64 ? 8 : 4);
	case TYPE_EVENT32:
	case TYPE_EVENT64:
		return read_event(walk, at, size, type == TYPE_EVENT64 ? 8 : 4);
	case TYPE_FULL32:
	case TYPE_FULL64:
		return read_classic(walk, at, size, RECORD_FULL, HEADER_FULL,
				    type == TYPE_FULL64 ? 8 : 4);
	case TYPE_INSTANCE32:
	case TYPE_INSTANCE64:
		return read_classic(walk, at, size, RECORD_INSTANCE, HEADER_INSTANCE,
				    type == TYPE_INSTANCE64 ? 8 : 4);
	case TYPE_TIMED:
		return read_opaque(walk, at, size, RECORD_TIMED);
	case TYPE_ERROR:
		return read_opaque(walk, at, size, RECORD_ERROR);
	case TYPE_WNODE:
		return read_opaque(walk, at, size, RECORD_WNODE);
	case TYPE_MESSAGE:
		return read_opaque(walk, at, size, RECORD_MESSAGE_TYPED);
	default:
		return read_opaque(walk, at, size, RECORD_UNKNOWN);
	}
}

/*
 * Where typed records have what a walk needs of those that it leaves out. Kernel headers start with
 * their version and have the size after the marker.
 */
static const struct header_parts {
	uint8_t size_offset;
	uint8_t time_offset;
	uint8_t header_size; /* 0: records of this type are never left out */
	bool kernel;
} header_parts[UINT8_MAX + 1] = {
	[TYPE_SYSTEM32] = { 4, 0x10, HEADER_SYSTEM, true },
	[TYPE_SYSTEM64] = { 4, 0x10, HEADER_SYSTEM, true },
	[TYPE_COMPACT32] = { 4, 0x10, HEADER_COMPACT, true },
	[TYPE_COMPACT64] = { 4, 0x10, HEADER_COMPACT, true },
	[TYPE_PERFINFO32] = { 4, 0x08, HEADER_PERFINFO, true },
	[TYPE_PERFINFO64] = { 4, 0x08, HEADER_PERFINFO, true },
	[TYPE_EVENT32] = { 0, 0x10, HEADER_EVENT, false },
	[TYPE_EVENT64] = { 0, 0x10, HEADER_EVENT, false },
};

/* Whether the record is neither chosen, nor has a size below that of its header. */
static inline bool is_left_out(const struct etl_walk *walk, const struct header_parts *parts,
			       const uint8_t *at, uint32_t size)
{
	if (parts->header_size == 0 || size < parts->header_size) {
		return false;
	}
	if (parts->kernel) {
		uint16_t version = load_u16(at);

		return walk->only && !kernel_chosen(walk->only, at[7], at[6]) &&
		       ((version & (VERSION_PEBS_INDEX | VERSION_COUNTERS)) == 0 ||
			size >= whole_header_size(parts->header_size, version));
	}
	return walk->only_ids && !id_chosen(walk->only_ids, load_u16(at + 0x28)) &&
	       (load_u16(at + 0x04) & (EVENT_FLAG_CLASSIC | EVENT_FLAG_EXTENDED)) == 0;
}

static inline bool step(struct etl_walk *walk, bool may_leave_out)
{
	const uint8_t *at = walk->bytes + walk->at;
	uint32_t left = walk->end - walk->at;
	uint32_t marker, size;

	if (walk->at >= walk->end || left < HEADER_MIN) {
		return false;
	}
	prefetch(at);
	walk->left_out = false;
	marker = load_u32(at);
	if (marker >> 24 == MARKER_TYPED) {
		const struct header_parts *parts = &header_parts[at[2]];

		size = load_u16(at + parts->size_offset);
		if (size > left) {
			return stop(walk, size_beyond_end);
		}
		if (may_leave_out && is_left_out(walk, parts, at, size)) {
			walk->record.raw_time = (int64_t)load_u64(at + parts->time_offset);
			walk->left_out = true;
		} else if (!read_typed(walk, at, size)) {
			return false;
		}
	} else if (marker >> 24 == MARKER_MESSAGE) {
		size = load_u16(at);
		if (size > left) {
			return stop(walk, size_beyond_end);
		}
		if (size < HEADER_MIN) {
			return stop(walk, size_below_header);
		}
		if (!read_message(walk, at, size)) {
			return false;
		}
	} else if (marker == 0 || marker == UINT32_MAX) {
		return false; /* filler */
	} else {
		return stop(walk, "its marker is none of a record");
	}
	walk->record.index = walk->next_index++;
	walk->record_size = size;
	/* At least HEADER_MIN forward: the reader of each header type has checked this. */
	walk->at += (size + 7) & ~7U;
	return true;
}

/* Only records of several files are passed over. */
static RARE bool is_passed_over(const struct etl_walk *walk)
{
	return chosen_has(walk->format->passed_over, walk->record.index);
}

bool etl_walk_next(struct etl_walk *walk)
{
	do {
		if (!step(walk, walk->only != NULL)) {
			return false;
		}
	} while (walk->format->passed_over && is_passed_over(walk));
	return true;
}

/* The loop of a first pass, most records of which are left out. */
bool etl_walk_survey(struct etl_walk *walk, struct etl_times *times)
{
	const struct chosen *passed_over = walk->format->passed_over;
	bool may_leave_out = walk->only || walk->only_ids;

	while (step(walk, may_leave_out)) {
		int64_t time = walk->record.raw_time;

		if (passed_over && is_passed_over(walk)) {
			continue;
		}
		times->records++;
		times->unordered |= time < times->last_time;
		times->first_time = time < times->first_time ? time : times->first_time;
		times->last_time = time;
		if (!walk->left_out) {
			return true;
		}
	}
	return false;
}

bool etl_walk_seek(struct etl_walk *walk, uint32_t at, uint64_t index)
{
	walk->at = at;
	walk->next_index = index;
	return etl_walk_next(walk);
}
