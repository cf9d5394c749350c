/* SPDX-License-Identifier: MIT */
#include "tests/support/collected.h"

#include <stdlib.h>
#include <string.h>

static uint64_t add_to_hash(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++) {
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	}
	return hash;
}

static uint64_t add_u64(uint64_t hash, uint64_t value)
{
	return add_to_hash(hash, &value, sizeof value);
}

static uint64_t record_hash(const struct etw_record *record)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct etw_extended_item item;
	uint32_t offset = 0;

	hash = add_to_hash(hash, record->provider, sizeof *record->provider);
	hash = add_to_hash(hash, record->payload, record->payload_size);
	hash = add_u64(hash, record->payload_size);
	hash = add_u64(hash, (uint64_t)record->process_id << 32 | record->thread_id);
	hash = add_u64(hash, (uint64_t)record->id << 48 | (uint64_t)record->task << 32 |
				     (uint64_t)record->processor << 16 |
				     (uint64_t)record->version << 8 | record->opcode);
	hash = add_u64(hash, (uint64_t)record->level << 32 | (uint64_t)record->channel << 24 |
				     (uint64_t)record->pointer_size << 16 |
				     (uint64_t)record->type << 8 | record->kernel_group);
	hash = add_u64(hash, record->classic);
	hash = add_u64(hash, record->keyword);
	hash = add_u64(hash, (uint64_t)record->raw_time);
	hash = add_u64(hash, (uint64_t)record->time);
	hash = add_u64(hash, record->index);
	if (record->activity) {
		hash = add_to_hash(hash, record->activity, sizeof *record->activity);
	}
	while (etw_record_next_extended(record, &offset, &item)) {
		hash = add_u64(hash, item.type);
		hash = add_to_hash(hash, item.data, item.size);
	}
	return hash;
}

void collect(void *context, const struct etw_record *record)
{
	struct collected *collected = context;
	uint64_t hash = record_hash(record);

	collected->touched += hash;
	if (collected->count_only) {
		collected->count++;
		return;
	}
	if (collected->count == collected->capacity) {
		collected->capacity = collected->capacity ? collected->capacity * 2 : 1024;
		collected->records = realloc(collected->records,
					     collected->capacity * sizeof *collected->records);
		if (!collected->records) {
			abort();
		}
	}
	collected->records[collected->count++] =
		(struct collected_record){ record->index, record->raw_time, hash };
}

/* Straight insertion of runs would do; merging is as short and does not mind long inputs. */
void collected_sort(struct collected *collected)
{
	struct collected_record *from = collected->records;
	struct collected_record *to;
	size_t count = collected->count;

	if (count < 2) {
		return;
	}
	to = calloc(count, sizeof *to);
	if (!to) {
		abort();
	}
	for (size_t run = 1; run < count; run *= 2) {
		struct collected_record *merged = to;

		for (size_t start = 0; start < count; start += 2 * run) {
			size_t middle = start + run < count ? start + run : count;
			size_t end = middle + run < count ? middle + run : count;
			size_t a = start;
			size_t b = middle;

			for (size_t i = start; i < end; i++) {
				bool first = a < middle &&
					     (b == end || from[a].raw_time <= from[b].raw_time);

				merged[i] = first ? from[a++] : from[b++];
			}
		}
		to = from;
		from = merged;
	}
	free(to);
	collected->records = from;
	collected->capacity = count;
}

bool collected_equal(const struct collected *a, const struct collected *b)
{
	if (a->count != b->count) {
		return false;
	}
	for (size_t i = 0; i < a->count; i++) {
		if (a->records[i].index != b->records[i].index ||
		    a->records[i].raw_time != b->records[i].raw_time ||
		    a->records[i].hash != b->records[i].hash) {
			return false;
		}
	}
	return true;
}

void collected_done(struct collected *collected)
{
	free(collected->records);
	*collected = (struct collected){ 0 };
}
