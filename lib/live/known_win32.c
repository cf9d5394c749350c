/* SPDX-License-Identifier: MIT */
/*
 * Passes the results of a harvest (harvest_win32.c) to the consumer thread.
 *
 * The trackers belong to the consumer thread, so the harvester cannot call them. It copies the
 * records that it needs into a batch, and publishes the batch when the harvest has ended. The
 * consumer delivers them to the sink between two records of its own: one comparison for each record
 * shows whether a batch is due.
 *
 * A machine has up to 140,000 open files, whose names take 40 MB; a batch has room for more, and
 * counts what does not fit. It consists of blocks, so it grows without copying.
 *
 * Source: "FileIo_Name class", "SystemConfig class", Microsoft Learn; docs/windows.md section 2.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/live/live_source_internal_win32.h"

enum {
	BLOCK_BYTES = 1 << 20,
	BLOCKS_MAX = 64,
	FILE_RUNDOWN = 36, /* opcodes */
	PHYSICAL_DISK = 11,
	LOGICAL_DISK = 12,
	SERVICES = 15,
};

/* GUID and struct etw_guid have the same bytes ("FileIo class", "SystemConfig class"). */
static const GUID file_io_class = {
	0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
};
static const GUID system_config_class = {
	0x01853a65, 0x418f, 0x4f36, { 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35 }
};

/* One record; its payload follows, and the next record at a multiple of 8 bytes. */
struct known_record {
	int64_t raw_time;
	uint32_t process_id;
	uint32_t thread_id;
	uint16_t payload_size;
	uint8_t opcode;
	uint8_t version;
	uint8_t pointer_size;
	bool of_file;
};

struct known_block {
	struct known_block *next;
	size_t used;
	uint64_t bytes[BLOCK_BYTES / sizeof(uint64_t)];
};

struct known_batch {
	struct known_block *first, *last; /* owned */
	size_t blocks;
	size_t count;
	uint64_t refused;
	int64_t raw_time; /* raw time of the last record */
};

/* ---- what is kept ---- */

static bool is_classic(const EVENT_HEADER *header)
{
	return (header->Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) != 0;
}

bool known_is_file_name(const EVENT_HEADER *header)
{
	return header->EventDescriptor.Opcode == FILE_RUNDOWN && is_classic(header) &&
	       memcmp(&header->ProviderId, &file_io_class, sizeof file_io_class) == 0;
}

static bool is_config(const EVENT_HEADER *header)
{
	UCHAR opcode = header->EventDescriptor.Opcode;

	return (opcode == PHYSICAL_DISK || opcode == LOGICAL_DISK || opcode == SERVICES) &&
	       is_classic(header) &&
	       memcmp(&header->ProviderId, &system_config_class, sizeof system_config_class) == 0;
}

bool known_needed(const EVENT_HEADER *header)
{
	return known_is_file_name(header) || is_config(header);
}

/* ---- a batch ---- */

struct known_batch *known_new(void)
{
	return calloc(1, sizeof(struct known_batch));
}

void known_free(struct known_batch *batch)
{
	struct known_block *block = batch ? batch->first : NULL;

	while (block) {
		struct known_block *next = block->next;

		free(block);
		block = next;
	}
	free(batch);
}

/* Returns room for this number of bytes in the batch; NULL if there is none. */
static struct known_record *place(struct known_batch *batch, size_t size)
{
	struct known_block *block = batch->last;

	if (!block || size > sizeof block->bytes - block->used) {
		block = batch->blocks < BLOCKS_MAX ? malloc(sizeof *block) : NULL;
		if (!block) {
			return NULL;
		}
		block->next = NULL;
		block->used = 0;
		if (batch->last) {
			batch->last->next = block;
		} else {
			batch->first = block;
		}
		batch->last = block;
		batch->blocks++;
	}
	block->used += size;
	return (struct known_record *)(void *)((uint8_t *)block->bytes + block->used - size);
}

static size_t size_of(uint16_t payload_size)
{
	return sizeof(struct known_record) + (((size_t)payload_size + 7) & ~(size_t)7);
}

void known_add(struct known_batch *batch, const EVENT_RECORD *from)
{
	const EVENT_HEADER *header = &from->EventHeader;
	uint16_t payload_size = from->UserData ? from->UserDataLength : 0;
	struct known_record *to = place(batch, size_of(payload_size));

	if (!to) {
		batch->refused++;
		return;
	}
	*to = (struct known_record){
		.raw_time = header->TimeStamp.QuadPart,
		.process_id = header->ProcessId,
		.thread_id = header->ThreadId,
		.payload_size = payload_size,
		.opcode = header->EventDescriptor.Opcode,
		.version = header->EventDescriptor.Version,
		.pointer_size = consume_pointer_size(header->Flags),
		.of_file = known_is_file_name(header),
	};
	if (payload_size > 0) {
		memcpy(to + 1, from->UserData, payload_size);
	}
	batch->raw_time = to->raw_time;
	batch->count++;
}

size_t known_count(const struct known_batch *batch)
{
	return batch->count;
}

uint64_t known_refused(const struct known_batch *batch)
{
	return batch->refused;
}

/* ---- to the consumer thread ---- */

void known_publish(struct live *live, struct known_batch *batch, bool at_once)
{
	int64_t due = at_once ? INT64_MIN : batch->raw_time;
	struct known_batch *old;

	os_mutex_lock(&live->lock);
	old = live->known; /* the newer batch contains its facts */
	live->known = batch;
	atomic_store_explicit(&live->known_due, due, memory_order_release);
	os_mutex_unlock(&live->lock);
	known_free(old);
}

static void deliver_one(struct live *live, const struct known_record *known)
{
	const GUID *provider = known->of_file ? &file_io_class : &system_config_class;
	const struct etw_record record = {
		.provider = (const struct etw_guid *)(const void *)provider,
		.payload = (const uint8_t *)(known + 1),
		.payload_size = known->payload_size,
		.process_id = known->process_id,
		.thread_id = known->thread_id,
		.version = known->version,
		.opcode = known->opcode,
		.pointer_size = known->pointer_size,
		.type = ETW_RECORD_FULL,
		.classic = true,
		.kernel_group = ETW_RECORD_NO_GROUP,
		.raw_time = known->raw_time,
		.time = etw_clock_time(&live->clock, known->raw_time),
	};

	live->names[ETW_NAMES_HARVEST] += known->of_file;
	if (live->sink->on_known) {
		live->sink->on_known(live->sink->context, &record);
	}
}

void known_deliver(struct live *live)
{
	struct known_batch *batch;

	os_mutex_lock(&live->lock);
	batch = live->known;
	live->known = NULL;
	atomic_store_explicit(&live->known_due, INT64_MAX, memory_order_relaxed);
	os_mutex_unlock(&live->lock);
	for (const struct known_block *block = batch ? batch->first : NULL; block;
	     block = block->next) {
		for (size_t at = 0; at < block->used;) {
			const struct known_record *known =
				(const void *)((const uint8_t *)block->bytes + at);

			deliver_one(live, known);
			at += size_of(known->payload_size);
		}
	}
	known_free(batch);
}

void known_first_buffer(struct live *live)
{
	if (!live->awaits_buffer) {
		return;
	}
	live->awaits_buffer = false;
	os_mutex_lock(&live->lock);
	live->harvest.started = true;
	live->late_due_ns = live->flags_wait ? 0 : UINT64_MAX;
	os_condition_wake_all(&live->changed);
	os_mutex_unlock(&live->lock);
}
