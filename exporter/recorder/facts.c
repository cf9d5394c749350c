/* SPDX-License-Identifier: MIT */
#include <etw/kernel.h>

#include "exporter/recorder/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* ---- kept records ---- */

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

/* Returns the key of the fact; 0 without KEPT_KEY. */
static uint64_t kept_key(const struct kept_record *kept)
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

/* ---- facts ---- */

struct fact {
	struct fact *older, *newer;
	uint64_t key;
	size_t words;
	uint8_t type;   /* enum fact_type, which selects the list */
	uint64_t order; /* running number over all facts, in the order in which they became true */
	uint64_t record[]; /* struct kept_record and what follows it */
};

struct fact_list {
	struct fact *oldest, *newest;
	size_t bytes;
};

struct facts {
	struct map by_key; /* key -> struct fact *, owned */
	struct fact_list lists[FACT_TYPES];
	size_t bytes_max;
	size_t bytes, words; /* of all */
	uint64_t order;
	uint64_t dropped;
};

struct facts *facts_new(size_t memory_bytes, struct etw_error *err)
{
	struct facts *facts = calloc(1, sizeof *facts);

	if (!facts) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	facts->by_key.seed = hash_seed();
	facts->bytes_max = memory_bytes;
	return facts;
}

static size_t bytes_of(const struct fact *fact)
{
	/* The size includes the slot in the map and the overhead of the heap. */
	return sizeof *fact + fact->words * sizeof(uint64_t) + 48;
}

static void remove_fact(struct facts *facts, struct fact *fact)
{
	struct fact_list *list = &facts->lists[fact->type];

	*(fact->older ? &fact->older->newer : &list->oldest) = fact->newer;
	*(fact->newer ? &fact->newer->older : &list->newest) = fact->older;
	list->bytes -= bytes_of(fact);
	facts->bytes -= bytes_of(fact);
	facts->words -= fact->words;
	map_remove(&facts->by_key, fact->key);
	free(fact);
}

void facts_clear(struct facts *facts)
{
	for (unsigned i = 0; i < FACT_TYPES; i++) {
		while (facts->lists[i].oldest) {
			remove_fact(facts, facts->lists[i].oldest);
		}
	}
}

void facts_free(struct facts *facts)
{
	if (facts) {
		facts_clear(facts);
		map_done(&facts->by_key);
		free(facts);
	}
}

static struct fact *find_fact(const struct facts *facts, uint64_t key)
{
	const uint64_t *value = map_find(&facts->by_key, key);

	return value ? (struct fact *)(uintptr_t)*value : NULL;
}

uint64_t facts_dropped(const struct facts *facts)
{
	return facts->dropped;
}

/* Drops the oldest facts of the type that uses most memory. So images, threads, names of files, and
 * descriptions of events, which any program may write, do not displace processes. */
static void make_room(struct facts *facts)
{
	while (facts->bytes > facts->bytes_max) {
		struct fact_list *largest = &facts->lists[0];

		for (unsigned i = 1; i < FACT_TYPES; i++) {
			if (facts->lists[i].bytes > largest->bytes) {
				largest = &facts->lists[i];
			}
		}
		remove_fact(facts, largest->oldest);
		facts->dropped++;
	}
}

static bool add_fact(struct facts *facts, uint64_t key, const struct kept_record *record)
{
	struct fact *fact = malloc(sizeof *fact + record->words * sizeof(uint64_t));
	uint64_t *value = fact ? map_put(&facts->by_key, key, NULL) : NULL;
	struct fact_list *list;

	if (!value) {
		free(fact);
		facts->dropped++;
		return false;
	}
	*value = (uint64_t)(uintptr_t)fact;
	fact->key = key;
	fact->words = record->words;
	fact->type = record->fact;
	fact->order = facts->order++;
	memcpy(fact->record, record, fact->words * sizeof(uint64_t));
	list = &facts->lists[fact->type];
	fact->newer = NULL;
	fact->older = list->newest;
	*(list->newest ? &list->newest->newer : &list->oldest) = fact;
	list->newest = fact;
	list->bytes += bytes_of(fact);
	facts->bytes += bytes_of(fact);
	facts->words += fact->words;
	make_room(facts);
	return true;
}

bool facts_update(struct facts *facts, const struct kept_record *record)
{
	uint64_t key = kept_key(record);
	struct fact *former = find_fact(facts, key);

	if (former) {
		remove_fact(facts, former);
	}
	return record->fact == FACT_ENDS || add_fact(facts, key, record);
}

bool facts_copy(const struct facts *facts, struct fact_copy *copy, struct etw_error *err)
{
	const struct fact *next[FACT_TYPES];
	size_t count = 0;

	*copy = (struct fact_copy){ .words = malloc((facts->words + 1) * sizeof(uint64_t)) };
	if (!copy->words) {
		return error_no_memory(err, "a recording");
	}
	for (unsigned i = 0; i < FACT_TYPES; i++) {
		next[i] = facts->lists[i].oldest;
	}
	for (;;) {
		unsigned first = FACT_TYPES;

		for (unsigned i = 0; i < FACT_TYPES; i++) {
			if (next[i] &&
			    (first == FACT_TYPES || next[i]->order < next[first]->order)) {
				first = i;
			}
		}
		if (first == FACT_TYPES) {
			break;
		}
		memcpy(copy->words + count, next[first]->record,
		       next[first]->words * sizeof(uint64_t));
		count += next[first]->words;
		next[first] = next[first]->newer;
	}
	copy->count = count;
	return true;
}
