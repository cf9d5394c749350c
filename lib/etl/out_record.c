/* SPDX-License-Identifier: MIT */
/*
 * Writes record headers, with one function for each type, and the logfile header, which is the
 * payload of the first record. The offsets are from docs/etl-format.md sections 4 and 5.
 */
#include "lib/etl/writer.h"

#include <string.h>

#include "base/cursor.h"

enum {
	COMPACT_HEADER_SIZE = 24,
	PERFINFO_HEADER_SIZE = 16,
	EVENT_HEADER_SIZE = 80,
	FULL_HEADER_SIZE = 48,
	INSTANCE_HEADER_SIZE = 72,
	MESSAGE_HEADER_SIZE = 8,
	OTHER_HEADER_SIZE = 4,
};

enum message_option {
	MESSAGE_SEQUENCE = 0x01,
	MESSAGE_GUID = 0x02,
	MESSAGE_COMPONENT = 0x04,
	MESSAGE_TIME = 0x08,
	MESSAGE_PERF_TIME = 0x10,
	MESSAGE_IDS = 0x20,
};

enum { VERSION_HAS_PEBS = 0x8000, VERSION_COUNTER_SHIFT = 8 };
enum { EVENT_HAS_ITEMS = 0x0001, EVENT_IS_STRING = 0x0004 };

static size_t extras_size(const struct etw_out_record *record)
{
	return (record->pebs_index ? 8 : 0) + (size_t)8 * (record->counter_count & 7);
}

static size_t item_size(const struct etw_out_item *item)
{
	return 8 + (((size_t)item->size + 7) & ~(size_t)7);
}

static size_t items_size(const struct etw_out_record *record)
{
	size_t size = 0;

	for (size_t i = 0; i < record->item_count; i++) {
		size += item_size(&record->items[i]);
	}
	return size;
}

static size_t message_size(uint16_t options)
{
	size_t size = MESSAGE_HEADER_SIZE;

	size += options & MESSAGE_SEQUENCE ? 4 : 0;
	size += options & MESSAGE_GUID ? 16 : options & MESSAGE_COMPONENT ? 4 : 0;
	size += options & (MESSAGE_TIME | MESSAGE_PERF_TIME) ? 8 : 0;
	size += options & MESSAGE_IDS ? 8 : 0;
	return size;
}

static size_t header_size(const struct etw_out_record *record)
{
	switch (record->type) {
	case ETW_RECORD_SYSTEM:
		return ETL_SYSTEM_HEADER_SIZE + extras_size(record);
	case ETW_RECORD_COMPACT:
		return COMPACT_HEADER_SIZE + extras_size(record);
	case ETW_RECORD_PERFINFO:
		return PERFINFO_HEADER_SIZE + extras_size(record);
	case ETW_RECORD_EVENT:
	case ETW_RECORD_STRING:
		return EVENT_HEADER_SIZE + items_size(record);
	case ETW_RECORD_FULL:
		return FULL_HEADER_SIZE;
	case ETW_RECORD_INSTANCE:
		return INSTANCE_HEADER_SIZE;
	case ETW_RECORD_MESSAGE:
		return message_size(record->flags);
	default:
		break;
	}
	return OTHER_HEADER_SIZE;
}

static uint8_t header_type(enum etw_record_type type, uint8_t pointer_size)
{
	static const uint8_t types[ETW_RECORD_TYPE_COUNT][2] = {
		[ETW_RECORD_SYSTEM] = { 0x01, 0x02 },        [ETW_RECORD_COMPACT] = { 0x03, 0x04 },
		[ETW_RECORD_PERFINFO] = { 0x10, 0x11 },      [ETW_RECORD_EVENT] = { 0x12, 0x13 },
		[ETW_RECORD_FULL] = { 0x0a, 0x14 },          [ETW_RECORD_INSTANCE] = { 0x0b, 0x15 },
		[ETW_RECORD_STRING] = { 0x12, 0x13 },        [ETW_RECORD_TIMED] = { 0x0c, 0x0c },
		[ETW_RECORD_ERROR] = { 0x0d, 0x0d },         [ETW_RECORD_WNODE] = { 0x0e, 0x0e },
		[ETW_RECORD_MESSAGE_TYPED] = { 0x0f, 0x0f }, [ETW_RECORD_UNKNOWN] = { 0x7f, 0x7f },
	};

	return types[type][pointer_size == 8];
}

static void store_guid(uint8_t *at, const struct etw_guid *guid)
{
	if (guid) {
		memcpy(at, guid->bytes, sizeof guid->bytes);
	} else {
		memset(at, 0, sizeof guid->bytes);
	}
}

/* SYSTEM, COMPACT and PERFINFO: the version word comes first, the size second; additional fields
 * follow the header. */
static void store_kernel(const struct etw_out_record *record, uint16_t size, uint8_t *at)
{
	unsigned word = record->version;

	word |= record->pebs_index ? VERSION_HAS_PEBS : 0;
	word |= (record->counter_count & 7u) << VERSION_COUNTER_SHIFT;
	store_u16(at, (uint16_t)word);
	store_u16(at + 4, size);
	at[6] = record->opcode;
	at[7] = record->group;
	if (record->type == ETW_RECORD_PERFINFO) {
		store_u64(at + 8, (uint64_t)record->raw_time);
		at += PERFINFO_HEADER_SIZE;
	} else {
		store_u32(at + 8, record->thread_id);
		store_u32(at + 12, record->process_id);
		store_u64(at + 16, (uint64_t)record->raw_time);
		at += COMPACT_HEADER_SIZE;
	}
	if (record->type == ETW_RECORD_SYSTEM) {
		store_u32(at, record->kernel_time);
		store_u32(at + 4, record->user_time);
		at += 8;
	}
	if (record->pebs_index) {
		store_u64(at, *record->pebs_index);
		at += 8;
	}
	for (size_t i = 0; i < (record->counter_count & 7); i++) {
		store_u64(at + 8 * i, record->counters[i]);
	}
}

static void store_event(const struct etw_out_record *record, uint8_t *at)
{
	uint16_t flags = record->item_count > 0 ? record->flags | EVENT_HAS_ITEMS : record->flags;

	flags |= record->type == ETW_RECORD_STRING ? EVENT_IS_STRING : 0;
	store_u16(at + 0x04, flags);
	store_u16(at + 0x06, record->property);
	store_u32(at + 0x08, record->thread_id);
	store_u32(at + 0x0c, record->process_id);
	store_u64(at + 0x10, (uint64_t)record->raw_time);
	store_guid(at + 0x18, record->provider);
	store_u16(at + 0x28, record->id);
	at[0x2a] = record->version;
	at[0x2b] = record->channel;
	at[0x2c] = record->level;
	at[0x2d] = record->opcode;
	store_u16(at + 0x2e, record->task);
	store_u64(at + 0x30, record->keyword);
	store_u32(at + 0x38, record->kernel_time);
	store_u32(at + 0x3c, record->user_time);
	store_guid(at + 0x40, record->activity);
	at += EVENT_HEADER_SIZE;
	for (size_t i = 0; i < record->item_count; i++) {
		const struct etw_out_item *item = &record->items[i];
		size_t size = item_size(item);

		memset(at, 0, size);
		store_u16(at, (uint16_t)size);
		store_u16(at + 2, item->type);
		store_u16(at + 4, i + 1 < record->item_count);
		store_u16(at + 6, item->size);
		if (item->size > 0) {
			memcpy(at + 8, item->data, item->size);
		}
		at += size;
	}
}

static void store_full(const struct etw_out_record *record, uint8_t *at)
{
	at[0x04] = record->opcode;
	at[0x05] = record->level;
	store_u16(at + 0x06, record->version);
	store_u32(at + 0x08, record->thread_id);
	store_u32(at + 0x0c, record->process_id);
	store_u64(at + 0x10, (uint64_t)record->raw_time);
	store_guid(at + 0x18, record->provider);
	store_u32(at + 0x28, record->kernel_time);
	store_u32(at + 0x2c, record->user_time);
	if (record->type == ETW_RECORD_INSTANCE) {
		store_u32(at + 0x30, record->instance_id);
		store_u32(at + 0x34, record->parent_instance_id);
		store_guid(at + 0x38, record->activity);
	}
}

static void store_message(const struct etw_out_record *record, uint8_t *at)
{
	uint16_t options = record->flags;

	store_u16(at + 2, 0x9000);
	store_u16(at + 4, record->id);
	store_u16(at + 6, options);
	at += MESSAGE_HEADER_SIZE;
	if (options & MESSAGE_SEQUENCE) {
		store_u32(at, record->sequence);
		at += 4;
	}
	if (options & MESSAGE_GUID) {
		store_guid(at, record->provider);
		at += 16;
	} else if (options & MESSAGE_COMPONENT) {
		store_u32(at, record->component);
		at += 4;
	}
	if (options & (MESSAGE_TIME | MESSAGE_PERF_TIME)) {
		store_u64(at, (uint64_t)record->raw_time);
		at += 8;
	}
	if (options & MESSAGE_IDS) {
		store_u32(at, record->thread_id);
		store_u32(at + 4, record->process_id);
	}
}

size_t etw_out_record_size(const struct etw_out_record *record)
{
	return header_size(record) + record->payload_size;
}

void etl_out_record_store(const struct etw_out_record *record, uint8_t pointer_size, uint8_t *at)
{
	uint16_t size = (uint16_t)etw_out_record_size(record);

	store_u16(at, size);
	at[2] = header_type(record->type,
			    record->pointer_size ? record->pointer_size : pointer_size);
	at[3] = 0xc0;
	switch (record->type) {
	case ETW_RECORD_SYSTEM:
	case ETW_RECORD_COMPACT:
	case ETW_RECORD_PERFINFO:
		store_kernel(record, size, at);
		break;
	case ETW_RECORD_EVENT:
	case ETW_RECORD_STRING:
		store_event(record, at);
		break;
	case ETW_RECORD_FULL:
	case ETW_RECORD_INSTANCE:
		store_full(record, at);
		break;
	case ETW_RECORD_MESSAGE:
		store_message(record, at);
		break;
	default:
		break;
	}
	if (record->payload_size > 0) {
		memcpy(at + header_size(record), record->payload, record->payload_size);
	}
}

/* ---- the logfile header ---- */

uint64_t logfile_ticks_per_second(const struct etw_writer_options *options)
{
	switch (options->clock) {
	case ETW_CLOCK_SYSTEM_TIME:
		return 10000000;
	case ETW_CLOCK_CPU_CYCLE:
		return (uint64_t)options->cpu_mhz * 1000000;
	case ETW_CLOCK_QPC:
		break;
	}
	return options->perf_frequency;
}

/* Converts a raw time that is not before the start to 100 ns since 1601 UTC. */
static int64_t wall_time(const struct etw_writer_options *options, int64_t raw)
{
	uint64_t frequency = logfile_ticks_per_second(options);
	uint64_t ticks = (uint64_t)raw - (uint64_t)options->start_raw;
	uint64_t rest = ticks % frequency * 10000000 / frequency;

	return (int64_t)((uint64_t)options->start_time + ticks / frequency * 10000000 + rest);
}

void logfile_header_build(struct etw_payload *payload, const struct etw_writer_options *options,
			  const struct logfile_ending *ending, const char *session_name,
			  const char *file_name)
{
	int64_t end_time = 0;

	if (ending) {
		end_time = options->end_time ? options->end_time :
					       wall_time(options, ending->latest_raw);
	}
	etw_payload_u32(payload, options->buffer_size);
	etw_payload_u8(payload, options->os_major);
	etw_payload_u8(payload, options->os_minor);
	etw_payload_u8(payload, 1);
	etw_payload_u8(payload, 5);
	etw_payload_u32(payload, options->os_build);
	etw_payload_u32(payload, options->processors);
	etw_payload_u64(payload, (uint64_t)end_time);
	etw_payload_u32(payload, 156250); /* TimerResolution */
	etw_payload_u32(payload, options->maximum_file_mb);
	etw_payload_u32(payload, options->log_file_mode);
	etw_payload_u32(payload, ending ? ending->buffers_written : 1);
	etw_payload_u32(payload, 1); /* StartBuffers */
	etw_payload_u32(payload, options->pointer_size);
	etw_payload_u32(payload, options->events_lost);
	etw_payload_u32(payload, options->cpu_mhz);
	etw_payload_pointer(payload, 0);
	etw_payload_pointer(payload, 0);
	etw_payload_u32(payload, (uint32_t)options->bias_minutes);
	etw_payload_bytes(payload, options->time_zone_rest, sizeof options->time_zone_rest);
	etw_payload_u32(payload, 0); /* padding to 8 */
	etw_payload_u64(payload, (uint64_t)options->boot_time);
	etw_payload_u64(payload, options->perf_frequency);
	etw_payload_u64(payload, (uint64_t)options->start_time);
	etw_payload_u32(payload, (uint32_t)options->clock);
	etw_payload_u32(payload, options->buffers_lost);
	if (session_name && file_name) {
		etw_payload_wstring(payload, session_name);
		etw_payload_wstring(payload, file_name);
	}
}

bool logfile_header_change(uint8_t *payload, size_t size, uint8_t pointer_size,
			   const struct logfile_changes *changes)
{
	/* docs/etl-format.md section 5. Members after the two pointers of the names are 8 bytes
	 * later if pointers have 8 bytes; members before them have the same offset. */
	enum { BOOT_TIME_32 = 0xf0, POINTERS_32 = 8 };
	uint8_t *late = payload + BOOT_TIME_32 + 2 * (size_t)pointer_size - POINTERS_32;

	if (size < (size_t)(late - payload) + 0x20) {
		return false;
	}
	store_u32(payload + 0x00, changes->buffer_size);
	store_u32(payload + 0x0c, changes->processors);
	store_u64(payload + 0x10, (uint64_t)changes->end_time);
	store_u32(payload + 0x20, changes->log_file_mode);
	store_u32(payload + 0x24, changes->buffers_written);
	store_u32(payload + 0x30, changes->events_lost);
	store_u64(late + 0x10, (uint64_t)changes->start_time);
	store_u32(late + 0x1c, changes->buffers_lost);
	return true;
}
