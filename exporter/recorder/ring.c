/* SPDX-License-Identifier: MIT */
/*
 * Implements a ring of blocks, each of which has a sequence number.
 *
 * The consumer fills one block after another and then overwrites the oldest. The number of a block
 * rises with each use, and is 0 while the block is emptied. A reader copies a block and reads the
 * number before and after. If the numbers differ, the consumer has begun to overwrite the block:
 * the copy is dropped, and its records are counted as lost. Therefore the consumer never waits for
 * a reader, and a reader never sees half a record. All words are atomic, because both sides may
 * touch one at the same time; stores release and loads acquire, so that a reader that has seen one
 * word of the next use also sees that the number has changed. On x86 these are plain moves.
 *
 * A reader begins with the oldest block, which is the one that the consumer overwrites next. To
 * give the reader time, only the newest seven eighths of the ring count as its contents, the
 * window. A block in the last eighth no longer counts, but can still be read.
 *
 * Some records state what exists: a process, the name of a file. When their block leaves the
 * window, they are copied into the facts, which therefore describe the machine at the time of the
 * oldest record in the window. A reader copies the facts together with the number of the last block
 * that they include, and continues after that block, so that nothing is missing or read twice. Both
 * sides take a flag for this. The consumer only tries to take it: while a reader copies, the facts
 * of blocks that leave the window wait, and the consumer takes them when it begins one of the next
 * blocks. It has time for that until it overwrites the last eighth.
 *
 * The records of a block that state facts are chained, so that the consumer need not read the
 * others.
 */
#include "exporter/recorder/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

enum {
	BLOCK_WORDS = RING_BLOCK_BYTES / sizeof(uint64_t),
	MARGIN_SHARE = 8, /* one of this many blocks is outside the window */
	NO_FACT = UINT32_MAX,
};

_Static_assert((size_t)KEPT_WORDS_MAX <= (size_t)BLOCK_WORDS, "a block holds the largest record");
_Static_assert(sizeof(struct kept_record) % sizeof(uint64_t) == 0, "whole words");

typedef _Atomic(uint64_t) word;

struct block {
	word number;      /* sequence number, from 1; 0: the block is being emptied */
	word used;        /* words */
	word first_index; /* running number of its first record */
	word first_time;  /* raw time of that record or, if it has none, of the record before */
	/* Only the consumer uses these. */
	uint32_t first_fact, last_fact; /* their offsets in words; NO_FACT: none */
};

struct ring {
	word *words;
	struct block *blocks;
	uint64_t count, window; /* blocks */
	/* The consumer writes these and readers load them. */
	word head;  /* number of the block that is being filled */
	word first; /* number of the first block since ring_begin() */
	word added;
	word overwritten;
	word too_large;
	word facts_dropped;
	word last_time; /* raw time of the last record that has one */
	/* Only the consumer uses these: the block that it fills, the block's words, and how many
	 * are used. NULL: no block since ring_begin(). */
	struct block *current;
	word *current_words;
	uint64_t current_used;
	uint64_t *scratch;   /* owned; one record; only the consumer uses it */
	uint64_t facts_lost; /* blocks overwritten before their facts were taken; only the
				consumer's */
	atomic_bool held;    /* guards the next three */
	struct facts *facts;
	uint64_t noted;              /* number of the last block whose facts are taken */
	uint64_t noted_index;        /* running number of the first record after that block */
	struct os_mutex lock;        /* held in ring_reader_open() and ring_begin(); guards clock */
	struct os_condition changed; /* it is never signalled: a wait on it is only a pause */
	struct etw_source_clock clock;
};

static uint64_t get(const word *at)
{
	return atomic_load_explicit(at, memory_order_acquire);
}

static void set(word *at, uint64_t value)
{
	atomic_store_explicit(at, value, memory_order_release);
}

/* Adds 1 to a number that only the consumer writes, so no atomic addition is needed. */
static void count_one(word *at)
{
	set(at, atomic_load_explicit(at, memory_order_relaxed) + 1);
}

static struct block *block_of(const struct ring *ring, uint64_t number)
{
	return &ring->blocks[number % ring->count];
}

static word *words_of(const struct ring *ring, uint64_t number)
{
	return ring->words + number % ring->count * BLOCK_WORDS;
}

/* Writes to each page of memory once, so that the consumer does not wait for the system to provide
 * it later. */
static void touch_pages(const struct ring *ring)
{
	enum { PAGE_WORDS = 4096 / sizeof(word) };

	for (size_t i = 0; i < ring->count * BLOCK_WORDS; i += PAGE_WORDS) {
		atomic_store_explicit((volatile word *)&ring->words[i], 0, memory_order_relaxed);
	}
}

struct ring *ring_new(size_t memory_bytes, struct etw_error *err)
{
	struct ring *ring = calloc(1, sizeof *ring);
	size_t records = memory_bytes / 4 * 3;

	if (!ring) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	os_mutex_init(&ring->lock);
	os_condition_init(&ring->changed);
	ring->clock = (struct etw_source_clock){ .type = ETW_CLOCK_QPC,
						 .frequency = 10000000,
						 .perf_frequency = 10000000 };
	atomic_init(&ring->first, 1);
	ring->count = records / RING_BLOCK_BYTES;
	if (ring->count < RING_BLOCKS_LEAST) {
		ring->count = RING_BLOCKS_LEAST;
	}
	ring->window = ring->count - (ring->count + MARGIN_SHARE - 1) / MARGIN_SHARE;
	ring->words = calloc(ring->count * BLOCK_WORDS, sizeof *ring->words);
	ring->blocks = calloc(ring->count, sizeof *ring->blocks);
	ring->scratch = calloc(KEPT_WORDS_MAX, sizeof *ring->scratch);
	ring->facts = facts_new(memory_bytes - records, err);
	if (!ring->words || !ring->blocks || !ring->scratch || !ring->facts) {
		error_no_memory(err, "the flight recorder");
		ring_free(ring);
		return NULL;
	}
	touch_pages(ring);
	return ring;
}

void ring_free(struct ring *ring)
{
	if (ring) {
		facts_free(ring->facts);
		free(ring->scratch);
		free(ring->blocks);
		free(ring->words);
		os_condition_done(&ring->changed);
		os_mutex_done(&ring->lock);
		free(ring);
	}
}

/* ---- facts ---- */

static bool try_hold(struct ring *ring)
{
	bool held = false;

	return atomic_compare_exchange_strong_explicit(&ring->held, &held, true,
						       memory_order_acquire, memory_order_relaxed);
}

static void let_go(struct ring *ring)
{
	atomic_store_explicit(&ring->held, false, memory_order_release);
}

/* Takes over the facts of a block. The caller holds the flag. */
static void note_block(struct ring *ring, uint64_t number)
{
	const struct block *block = block_of(ring, number);
	const word *words = words_of(ring, number);
	const struct kept_record *kept = (const struct kept_record *)(const void *)ring->scratch;
	uint32_t at = block->first_fact;

	ring->noted = number;
	if (get(&block->number) != number) {
		ring->facts_lost++; /* a reader held the flag until the block was overwritten */
		return;
	}
	while (at != NO_FACT) {
		for (unsigned i = 0; i < KEPT_WORDS; i++) {
			ring->scratch[i] =
				atomic_load_explicit(&words[at + i], memory_order_relaxed);
		}
		for (uint32_t i = KEPT_WORDS; i < kept->words; i++) {
			ring->scratch[i] =
				atomic_load_explicit(&words[at + i], memory_order_relaxed);
		}
		facts_update(ring->facts, kept);
		at = kept->next_fact ? kept->next_fact : NO_FACT;
	}
	ring->noted_index = get(&block_of(ring, number + 1)->first_index);
}

/* Takes over the facts of the blocks up to `last`, unless a reader is copying the facts. */
static void note_until(struct ring *ring, uint64_t last)
{
	if (!try_hold(ring)) {
		return;
	}
	while (ring->noted < last) {
		note_block(ring, ring->noted + 1);
	}
	set(&ring->facts_dropped, ring->facts_lost + facts_dropped(ring->facts));
	let_go(ring);
}

/* ---- the consumer ---- */

/* Begins to fill the next block. */
static void begin_block(struct ring *ring)
{
	uint64_t number = get(&ring->head) + 1;
	struct block *block = block_of(ring, number);

	/* This comes first, because the facts of the block that is overwritten may not be taken
	 * yet. */
	if (number >= get(&ring->first) + ring->window) {
		uint64_t leaves = number - ring->window;

		/* The first index of the next block shows how many records this block has. */
		set(&ring->overwritten, get(&block_of(ring, leaves + 1)->first_index));
		note_until(ring, leaves);
	}
	set(&block->number, 0);
	set(&block->used, 0);
	set(&block->first_index, get(&ring->added));
	set(&block->first_time, get(&ring->last_time));
	block->first_fact = NO_FACT;
	block->last_fact = NO_FACT;
	set(&block->number, number);
	set(&ring->head, number);
	ring->current = block;
	ring->current_words = words_of(ring, number);
	ring->current_used = 0;
}

void ring_begin(struct ring *ring, const struct etw_source_clock *clock)
{
	os_mutex_lock(&ring->lock);
	while (!try_hold(ring)) {
		os_condition_wait(&ring->changed, &ring->lock, 1000000);
	}
	ring->clock = *clock;
	ring->current = NULL;
	set(&ring->last_time, (uint64_t)clock->anchor_raw);
	facts_clear(ring->facts);
	ring->noted = get(&ring->head);
	ring->noted_index = get(&ring->added);
	set(&ring->first, ring->noted + 1);
	set(&ring->overwritten, ring->noted_index);
	let_go(ring);
	os_mutex_unlock(&ring->lock);
}

/* Copies bytes into words, pads the last word with zeros, and returns the position after it. */
static word *put_words(word *to, const void *from, size_t size)
{
	const uint8_t *bytes = from;
	uint64_t value;

	for (; size >= sizeof value; size -= sizeof value, bytes += sizeof value) {
		memcpy(&value, bytes, sizeof value);
		set(to++, value);
	}
	if (size > 0) {
		value = 0;
		memcpy(&value, bytes, size);
		set(to++, value);
	}
	return to;
}

/* Makes the record at `at` the last of the block's chain. */
static void chain_fact(struct block *block, word *words, uint32_t at)
{
	/* next_fact is the upper half of the first word of a header. */
	if (block->last_fact == NO_FACT) {
		block->first_fact = at;
	} else {
		struct kept_record former;
		word *first = &words[block->last_fact];
		uint64_t value = get(first);

		memcpy(&former, &value, sizeof value);
		former.next_fact = at;
		memcpy(&value, &former, sizeof value);
		set(first, value);
	}
	block->last_fact = at;
}

void ring_add(struct ring *ring, const struct etw_record *record, const struct ring_fact *fact)
{
	struct kept_piece pieces[KEPT_PIECES];
	struct kept_record kept;
	size_t count;
	word *to;

	if (!kept_describe(&kept, record, fact->type)) {
		count_one(&ring->too_large);
		return;
	}
	kept.known = fact->known;
	kept.flags |= fact->hidden ? KEPT_HIDDEN : 0;
	if (record->raw_time != ETW_RECORD_NO_TIME) {
		set(&ring->last_time, (uint64_t)record->raw_time);
	}
	if (!ring->current || kept.words > BLOCK_WORDS - ring->current_used) {
		begin_block(ring);
	}
	to = put_words(ring->current_words + ring->current_used, &kept, sizeof kept);
	count = kept_pieces(&kept, record, &fact->key, pieces);
	for (size_t i = 0; i < count; i++) {
		to = put_words(to, pieces[i].bytes, pieces[i].size);
	}
	if (fact->type != FACT_NONE) {
		chain_fact(ring->current, ring->current_words, (uint32_t)ring->current_used);
	}
	/* The record becomes visible before it is counted, so that a reader that sees the count
	 * also sees the record and does not count it as lost. */
	ring->current_used += kept.words;
	set(&ring->current->used, ring->current_used);
	count_one(&ring->added);
}

/* ---- readers ---- */

static uint64_t oldest(const struct ring *ring, uint64_t head)
{
	uint64_t first = get(&ring->first);

	return head >= first + ring->window ? head - ring->window + 1 : first;
}

static uint64_t span_ns(const struct ring *ring)
{
	uint64_t head = get(&ring->head);
	int64_t from, to;

	if (head < get(&ring->first)) {
		return 0;
	}
	from = etw_clock_time(&ring->clock,
			      (int64_t)get(&block_of(ring, oldest(ring, head))->first_time));
	to = etw_clock_time(&ring->clock, (int64_t)get(&ring->last_time));
	return etw_time_between(from, to) * 100;
}

void ring_statistics(struct ring *ring, struct ring_statistics *statistics)
{
	os_mutex_lock(&ring->lock);
	*statistics = (struct ring_statistics){
		.added = get(&ring->added),
		.overwritten = get(&ring->overwritten),
		.too_large = get(&ring->too_large),
		.facts_dropped = get(&ring->facts_dropped),
		.span_ns = span_ns(ring),
	};
	os_mutex_unlock(&ring->lock);
}

int64_t ring_newest(const struct ring *ring)
{
	return (int64_t)get(&ring->last_time);
}

/* Lets the reader read what the ring has now. The count is read first: see ring_add(). */
static void set_end(struct ring_reader *reader)
{
	const struct ring *ring = reader->ring;

	reader->last_index = get(&ring->added);
	reader->end = get(&ring->head);
	reader->end_words = get(&block_of(ring, reader->end)->used);
}

bool ring_reader_open(struct ring_reader *reader, struct ring *ring, struct etw_error *err)
{
	bool good;

	*reader = (struct ring_reader){ .ring = ring };
	reader->words = malloc(BLOCK_WORDS * sizeof *reader->words);
	if (!reader->words) {
		return error_no_memory(err, "a recording");
	}
	os_mutex_lock(&ring->lock);
	while (!try_hold(ring)) {
		os_condition_wait(&ring->changed, &ring->lock, 1000000);
	}
	reader->clock = ring->clock;
	reader->next = ring->noted + 1;
	reader->expected = ring->noted_index;
	set_end(reader);
	good = facts_copy(ring->facts, &reader->facts, err);
	let_go(ring);
	os_mutex_unlock(&ring->lock);
	if (!good) {
		ring_reader_close(reader);
	}
	return good;
}

/* Copies the words of block `number` from index `from` on, and sets *used to the number of words
 * used. Returns false if the block has been overwritten. */
static bool copy_words(struct ring_reader *reader, uint64_t number, uint64_t from, uint64_t *used,
		       uint64_t *first_index)
{
	const struct ring *ring = reader->ring;
	const struct block *block = block_of(ring, number);
	const word *words = words_of(ring, number);

	if (get(&block->number) != number) {
		return false;
	}
	*used = get(&block->used);
	*first_index = get(&block->first_index);
	if (number == reader->end && *used > reader->end_words) {
		*used = reader->end_words;
	}
	for (uint64_t i = from; i < *used; i++) {
		reader->words[i] = get(&words[i]);
	}
	return get(&block->number) == number;
}

/* Copies the next block. Returns false if it has been overwritten. */
static bool copy_block(struct ring_reader *reader)
{
	uint64_t number = reader->next++, used, first_index;

	if (!copy_words(reader, number, 0, &used, &first_index)) {
		return false;
	}
	reader->copied = number;
	if (first_index > reader->expected) {
		reader->lost += first_index - reader->expected;
	}
	reader->expected = first_index;
	reader->count = (size_t)used;
	reader->at = 0;
	return true;
}

const struct kept_record *ring_reader_next(struct ring_reader *reader)
{
	const struct kept_record *kept;

	do {
		while (reader->at == reader->count) {
			if (reader->next > reader->end) {
				if (reader->last_index > reader->expected) {
					reader->lost += reader->last_index - reader->expected;
					reader->expected = reader->last_index;
				}
				return NULL;
			}
			copy_block(reader);
		}
		kept = (const struct kept_record *)(const void *)(reader->words + reader->at);
		reader->at += kept->words;
		reader->expected++;
	} while (kept->flags & KEPT_HIDDEN);
	return kept;
}

void ring_reader_more(struct ring_reader *reader)
{
	uint64_t used, first_index;

	set_end(reader);
	/* The block that was copied last may have received further records since, or its first
	 * one. */
	if (reader->copied != 0 && reader->copied == reader->next - 1 &&
	    copy_words(reader, reader->copied, reader->count, &used, &first_index)) {
		reader->count = (size_t)used;
	}
}

bool ring_reader_is_late(const struct ring_reader *reader)
{
	uint64_t head = get(&reader->ring->head);

	return head >= reader->next && head - reader->next > reader->ring->window / 2;
}

void ring_reader_close(struct ring_reader *reader)
{
	free(reader->words);
	free(reader->facts.words);
	*reader = (struct ring_reader){ 0 };
}
