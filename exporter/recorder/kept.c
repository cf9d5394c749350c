/* SPDX-License-Identifier: MIT */
#include "exporter/recorder/kept.h"

#include <string.h>

#include <etw/kernel.h>

/* A record of a recording has 16 bits for its size (docs/etl-format.md section 3). */
enum { RECORD_BYTES_MAX = UINT16_MAX };

static const uint8_t nothing[8];

static size_t words_of(size_t bytes)
{
	return (bytes + 7) / 8;
}

static bool is_kernel(uint8_t type)
{
	return type == ETW_RECORD_SYSTEM || type == ETW_RECORD_COMPACT ||
	       type == ETW_RECORD_PERFINFO;
}

bool kept_describe(struct kept_record *kept, const struct etw_record *record, enum fact_type fact)
{
	size_t words = KEPT_WORDS;

	if (record->payload_size > RECORD_BYTES_MAX || record->extended_size > RECORD_BYTES_MAX) {
		return false;
	}
	*kept = (struct kept_record){
		.raw_time = record->raw_time,
		.process_id = record->process_id,
		.thread_id = record->thread_id,
		.payload_size = record->payload_size,
		.extended_size = record->extended ? record->extended_size : 0,
		.id = record->id,
		.task = record->task,
		.processor = record->processor,
		.version = record->version,
		.opcode = record->opcode,
		.level = record->level,
		.channel = record->channel,
		.pointer_size = record->pointer_size,
		.type = record->type,
		.kernel_group = record->kernel_group,
		.flags = (uint8_t)((is_kernel(record->type) ? 0 : KEPT_PROVIDER) |
				   (record->activity ? KEPT_ACTIVITY : 0) |
				   (fact != FACT_NONE ? KEPT_KEY : 0) |
				   (record->classic ? KEPT_CLASSIC : 0)),
		.fact = (uint8_t)fact,
	};
	words += kept->flags & KEPT_PROVIDER ? 3 : 0;
	words += kept->flags & KEPT_ACTIVITY ? 2 : 0;
	words += kept->flags & KEPT_KEY ? 1 : 0;
	words += words_of(kept->payload_size) + words_of(kept->extended_size);
	kept->words = (uint32_t)words;
	return words < KEPT_WORDS_MAX;
}

size_t kept_pieces(const struct kept_record *kept, const struct etw_record *record,
		   const uint64_t *key, struct kept_piece pieces[KEPT_PIECES])
{
	size_t count = 0;

	if (kept->flags & KEPT_PROVIDER) {
		pieces[count++] = (struct kept_piece){ record->provider, sizeof(struct etw_guid) };
		pieces[count++] = (struct kept_piece){ &record->keyword, sizeof record->keyword };
	}
	if (kept->flags & KEPT_ACTIVITY) {
		pieces[count++] = (struct kept_piece){ record->activity, sizeof(struct etw_guid) };
	}
	if (kept->flags & KEPT_KEY) {
		pieces[count++] = (struct kept_piece){ key, sizeof *key };
	}
	pieces[count++] = (struct kept_piece){ record->payload, kept->payload_size };
	pieces[count++] = (struct kept_piece){ record->extended, kept->extended_size };
	return count;
}

static const uint64_t *behind_header(const struct kept_record *kept)
{
	return (const uint64_t *)kept + KEPT_WORDS;
}

uint64_t kept_key(const struct kept_record *kept)
{
	const uint64_t *at = behind_header(kept);

	at += kept->flags & KEPT_PROVIDER ? 3 : 0;
	at += kept->flags & KEPT_ACTIVITY ? 2 : 0;
	return kept->flags & KEPT_KEY ? *at : 0;
}

void kept_read(const struct kept_record *kept, struct etw_record *record)
{
	const uint64_t *at = behind_header(kept);

	*record = (struct etw_record){
		.provider = etw_kernel_record_guid(kept->kernel_group, kept->opcode),
		.payload_size = kept->payload_size,
		.process_id = kept->process_id,
		.thread_id = kept->thread_id,
		.id = kept->id,
		.task = kept->task,
		.processor = kept->processor,
		.version = kept->version,
		.opcode = kept->opcode,
		.level = kept->level,
		.channel = kept->channel,
		.pointer_size = kept->pointer_size,
		.type = kept->type,
		.classic = (kept->flags & KEPT_CLASSIC) != 0,
		.kernel_group = kept->kernel_group,
		.raw_time = kept->raw_time,
		.extended_size = kept->extended_size,
	};
	if (kept->flags & KEPT_PROVIDER) {
		record->provider = (const struct etw_guid *)(const void *)at;
		record->keyword = at[2];
		at += 3;
	}
	if (kept->flags & KEPT_ACTIVITY) {
		record->activity = (const struct etw_guid *)(const void *)at;
		at += 2;
	}
	at += kept->flags & KEPT_KEY ? 1 : 0;
	record->payload = kept->payload_size > 0 ? (const uint8_t *)at : nothing;
	at += words_of(kept->payload_size);
	record->extended = kept->extended_size > 0 ? (const uint8_t *)at : NULL;
}
