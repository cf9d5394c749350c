/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the buffers of compressed recordings: the plain LZ77 form of Xpress (no Huffman codes).
 *
 * The stream consists of groups: a 32-bit flag word and the 32 items that its bits describe,
 * highest bit first. 0 is a literal byte, 1 is a copy of earlier output. Lengths above 9 need
 * further half bytes, and two items share one byte for them.
 *
 * One of two loops unpacks a group. While both blocks have room for the largest group of short
 * items, the fast loop copies 8 or 16 bytes at a time and writes beyond the item, where the next
 * item is written later. Near the end of either block the careful loop copies single bytes. The
 * fast loop is several times as fast, and neither block needs padding.
 *
 * Unpacking is most of the work on a compressed recording and needs only the bytes, so a second
 * core can do it (struct jobs); reading, merging and delivery stay on the thread of the source.
 * The helper thread starts after the first few compressed buffers of a recording.
 */
#include "lib/etl/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/os.h"
#include "lib/etl/record.h"

/* ---- helper threads ---- */

/* Every wait is woken by a signal; this timeout only limits the harm of a lost one. */
#define WAIT_NS UINT64_C(1000000000)

struct jobs {
	jobs_do *run;
	struct os_thread helpers[JOBS_THREADS_MOST - 1];
	unsigned helper_count;
	struct os_mutex lock; /* guards the following members, and `done` of the jobs */
	struct os_condition changed;
	struct job *first; /* jobs that no thread has begun, in the order of submission */
	struct job **last;
	bool stopping;
};

/* Does the first job that no thread has begun. Call it with the lock held; it is released during
 * the job. */
static void do_first(struct jobs *jobs)
{
	struct job *job = jobs->first;

	jobs->first = job->next;
	if (!jobs->first) {
		jobs->last = &jobs->first;
	}
	os_mutex_unlock(&jobs->lock);
	jobs->run(job);
	os_mutex_lock(&jobs->lock);
	job->done = true;
	os_condition_wake_all(&jobs->changed);
}

/* Does jobs until *until, which the lock guards, is true. */
static void do_until(struct jobs *jobs, const bool *until)
{
	os_mutex_lock(&jobs->lock);
	while (!*until) {
		if (jobs->first) {
			do_first(jobs);
		} else {
			os_condition_wait(&jobs->changed, &jobs->lock, WAIT_NS);
		}
	}
	os_mutex_unlock(&jobs->lock);
}

static void help(void *context)
{
	struct jobs *jobs = context;

	do_until(jobs, &jobs->stopping);
}

struct jobs *jobs_start(unsigned threads, jobs_do *run)
{
	struct jobs *jobs = calloc(1, sizeof *jobs);

	if (!jobs) {
		return NULL;
	}
	jobs->run = run;
	jobs->last = &jobs->first;
	os_mutex_init(&jobs->lock);
	os_condition_init(&jobs->changed);
	while (jobs->helper_count + 1 < threads && jobs->helper_count + 1 < JOBS_THREADS_MOST &&
	       os_thread_start(&jobs->helpers[jobs->helper_count], help, jobs, NULL)) {
		jobs->helper_count++;
	}
	if (jobs->helper_count == 0) {
		jobs_stop(jobs);
		return NULL;
	}
	return jobs;
}

void jobs_submit(struct jobs *jobs, struct job *job)
{
	*job = (struct job){ .submitted = true };
	os_mutex_lock(&jobs->lock);
	*jobs->last = job;
	jobs->last = &job->next;
	os_condition_wake_all(&jobs->changed);
	os_mutex_unlock(&jobs->lock);
}

void jobs_wait(struct jobs *jobs, struct job *job)
{
	if (job->submitted) {
		do_until(jobs, &job->done);
		job->submitted = false;
	}
}

void jobs_stop(struct jobs *jobs)
{
	if (!jobs) {
		return;
	}
	os_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	os_condition_wake_all(&jobs->changed);
	os_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->helper_count; i++) {
		os_thread_join(&jobs->helpers[i]);
	}
	os_condition_done(&jobs->changed);
	os_mutex_done(&jobs->lock);
	free(jobs);
}

/* ---- blocks of memory ---- */

/*
 * A replay of a compressed recording keeps its unpacked buffers from the first pass to the second
 * (index.c). Touching that much new memory page by page costs about a third of the time of
 * unpacking into it. So after the first few MiB, blocks are cut from slabs of 2 MiB, for each of
 * which the system can use one large page. A slab counts its blocks and is freed with the last one.
 * One small block can therefore keep a whole slab alive, and a hostile recording can make a pass
 * keep only such blocks. So the slabs of a pool are limited to the bytes that a pass may keep, and
 * further blocks come from the C library.
 */

enum {
	KEEP_BYTES = 8 << 20,
	GRAIN = 4096,
	SLAB_SIZE = OS_LARGE_PAGE_SIZE,
	SLABS_FROM = 4 << 20, /* bytes from the C library before the first slab; most recordings
				 need none */
	SLABS_MOST = 144, /* slabs for ETL_KEEP_MAX bytes, and an eighth more for blocks that are
			     not kept */
	CUT_MAX = SLAB_SIZE / 8,
	LOOK_AT = 8, /* unused blocks that are checked for the right size */
};

struct etl_slab {
	size_t used;       /* bytes used, with this header */
	size_t references; /* number of its blocks, and one more while blocks are cut from it */
};

static void release(struct etl_slab *slab)
{
	if (slab && --slab->references == 0) {
		os_large_free(slab, SLAB_SIZE);
	}
}

/* Cuts a block from a slab; NULL if the block is too large for a slab, the pool does not use slabs
 * yet, or no more slabs are available. */
static struct etl_block *cut(struct etl_blocks *blocks, size_t size)
{
	struct etl_slab *slab = blocks->slab;
	struct etl_block *block;

	size = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
	if (blocks->allocated_bytes < SLABS_FROM || size > CUT_MAX) {
		return NULL;
	}
	if (!slab || size > SLAB_SIZE - slab->used) {
		slab = blocks->slabs < SLABS_MOST ? os_large_alloc(SLAB_SIZE) : NULL;
		if (!slab) {
			return NULL;
		}
		blocks->slabs++;
		*slab = (struct etl_slab){ .used = sizeof(max_align_t), .references = 1 };
		release(blocks->slab);
		blocks->slab = slab;
	}
	block = (struct etl_block *)(void *)((char *)slab + slab->used);
	block->slab = slab;
	slab->used += size;
	slab->references++;
	return block;
}

static size_t capacity_for(size_t size)
{
	return (size + GRAIN - 1) / GRAIN * GRAIN;
}

size_t etl_block_cost(size_t size)
{
	return sizeof(struct etl_block) + capacity_for(size);
}

struct etl_block *etl_block_get(struct etl_blocks *blocks, size_t size)
{
	size_t capacity = capacity_for(size);
	struct etl_block **link = &blocks->unused, *block;

	/* Most files have buffers of one size, except that the last one of each processor is
	 * shorter. A block is reused only if it has at most twice the size that is needed, so that
	 * the limits on bytes in blocks also limit the memory. */
	for (unsigned i = 0; i < LOOK_AT && *link; i++, link = &(*link)->next) {
		block = *link;
		if (block->capacity >= size && block->capacity / 2 <= capacity) {
			*link = block->next;
			blocks->unused_bytes -= block->capacity;
			return block;
		}
	}
	block = cut(blocks, sizeof *block + capacity);
	if (!block) {
		block = malloc(sizeof *block + capacity);
		if (!block) {
			return NULL;
		}
		block->slab = NULL;
		blocks->allocated_bytes += blocks->allocated_bytes < SLABS_FROM ? capacity : 0;
	}
	block->capacity = capacity;
	return block;
}

void etl_block_free(struct etl_block *block)
{
	if (block && block->slab) {
		release(block->slab);
	} else {
		free(block);
	}
}

void etl_block_put(struct etl_blocks *blocks, struct etl_block *block)
{
	if (!block || blocks->unused_bytes + block->capacity > KEEP_BYTES) {
		etl_block_free(block);
		return;
	}
	block->next = blocks->unused;
	blocks->unused = block;
	blocks->unused_bytes += block->capacity;
}

void etl_blocks_done(struct etl_blocks *blocks)
{
	while (blocks->unused) {
		struct etl_block *next = blocks->unused->next;

		etl_block_free(blocks->unused);
		blocks->unused = next;
	}
	release(blocks->slab);
	*blocks = (struct etl_blocks){ .unused = NULL };
}

/* ---- the stream ---- */

enum {
	GROUP_ITEMS = 32,
	WIDE = 16, /* bytes that a wide copy may write or read beyond its item */
	/* A group reads at most its flags, and for each item a code word, a length byte and a long
	   length (u8, u16, u32). */
	GROUP_INPUT_MAX = 4 + GROUP_ITEMS * (2 + 1 + 1 + 2 + 4) + 2 * WIDE,
	LENGTH_BASE = 3,
	LENGTH_SPILLS = 7, /* value of the 3 bits in a code word after which a half byte follows */
	HALF_BYTE_SPILLS = 15, /* value of the half byte after which a byte follows */
	BYTE_SPILLS =
		255, /* value of the byte after which a u16 follows, and after a u16 of 0 a u32 */
	LONG_LENGTH_MIN = 22, /* 7 + 15: the u16 or u32 includes this again */
};

struct unpacker {
	const uint8_t *in;
	const uint8_t *in_end;
	uint8_t *out;
	uint8_t *out_start;
	uint8_t *out_end;
	const uint8_t *half_byte; /* byte whose upper half belongs to the next length; NULL: that
				     length reads a new byte */
};

static inline bool input_has(const struct unpacker *u, size_t size)
{
	return (size_t)(u->in_end - u->in) >= size;
}

/* Reads the rest of a length whose code word has 7. Returns false if the input ends. */
static bool long_length(struct unpacker *u, uint64_t *length)
{
	uint64_t value;

	if (u->half_byte) {
		value = *u->half_byte >> 4;
		u->half_byte = NULL;
	} else {
		if (!input_has(u, 1)) {
			return false;
		}
		u->half_byte = u->in;
		value = *u->in++ & 15;
	}
	if (value < HALF_BYTE_SPILLS) {
		*length = value + LENGTH_SPILLS + LENGTH_BASE;
		return true;
	}
	if (!input_has(u, 1)) {
		return false;
	}
	value = *u->in++;
	if (value < BYTE_SPILLS) {
		*length = value + HALF_BYTE_SPILLS + LENGTH_SPILLS + LENGTH_BASE;
		return true;
	}
	if (!input_has(u, 2)) {
		return false;
	}
	value = etw_load_u16(u->in);
	u->in += 2;
	if (value == 0) {
		if (!input_has(u, 4)) {
			return false;
		}
		value = etw_load_u32(u->in);
		u->in += 4;
	}
	if (value < LONG_LENGTH_MIN) {
		return false;
	}
	*length = value + LENGTH_BASE;
	return true;
}

/* Unpacks one copy item; the input has at least its code word of 2 bytes. */
static inline bool copy_item(struct unpacker *u)
{
	uint32_t code = etw_load_u16(u->in);
	size_t distance = (code >> 3) + 1;
	uint64_t length = (code & 7) + LENGTH_BASE;
	const uint8_t *from;
	uint8_t *to = u->out;
	uint8_t *end;

	u->in += 2;
	if ((code & 7) == LENGTH_SPILLS && !long_length(u, &length)) {
		return false;
	}
	if (distance > (size_t)(u->out - u->out_start) || length > (size_t)(u->out_end - u->out)) {
		return false;
	}
	from = u->out - distance;
	u->out += length;
	end = u->out;
	if ((size_t)(u->out_end - end) < WIDE) {
		while (to < end) {
			*to++ = *from++;
		}
		return true;
	}
	if (distance >= 16) {
		do {
			memcpy(to, from, 16);
			to += 16;
			from += 16;
		} while (to < end);
	} else if (distance >= 8) {
		do {
			memcpy(to, from, 8);
			to += 8;
			from += 8;
		} while (to < end);
	} else if (distance == 1) {
		memset(to, *from, (size_t)length);
	} else {
		while (to < end) {
			*to++ = *from++;
		}
	}
	return true;
}

static inline unsigned leading_zeros(uint32_t word)
{
#if defined(__GNUC__)
	return word ? (unsigned)__builtin_clz(word) : 32;
#else
	unsigned count = 0;

	for (; count < 32 && !(word >> 31); count++) {
		word <<= 1;
	}
	return count;
#endif
}

/*
 * Unpacks a group for which there is certainly enough input. It stops early if there is too little
 * room for wide copies; *flags and *left then describe the remaining items.
 */
static bool fast_group(struct unpacker *u, uint32_t *flags, unsigned *left)
{
	while (*left > 0) {
		unsigned literals = leading_zeros(*flags);

		if ((size_t)(u->out_end - u->out) < GROUP_ITEMS + WIDE) {
			return true;
		}
		if (literals > *left) {
			literals = *left;
		}
		/* Always 32 bytes: the next items overwrite the surplus. */
		if (literals > 0) {
			memcpy(u->out, u->in, 16);
			memcpy(u->out + 16, u->in + 16, 16);
			u->out += literals;
			u->in += literals;
			*left -= literals;
			if (*left == 0) {
				return true;
			}
			*flags <<= literals & 31;
		}
		*flags <<= 1;
		*left -= 1;
		if (!copy_item(u)) {
			return false;
		}
	}
	return true;
}

static bool careful_group(struct unpacker *u, uint32_t flags, unsigned left)
{
	for (; left > 0; left--, flags <<= 1) {
		if (u->out == u->out_end || u->in == u->in_end) {
			return true; /* the remaining flags are padding */
		}
		if (!(flags >> 31)) {
			*u->out++ = *u->in++;
			continue;
		}
		if (!input_has(u, 2) || !copy_item(u)) {
			return false;
		}
	}
	return true;
}

bool etl_decompress(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made)
{
	struct unpacker u = {
		.in = in,
		.in_end = in + in_size,
		.out = out,
		.out_start = out,
		.out_end = out + out_size,
	};
	bool good = true;

	while (good && u.out < u.out_end && u.in < u.in_end) {
		unsigned left = GROUP_ITEMS;
		uint32_t flags;
		bool fast = input_has(&u, GROUP_INPUT_MAX);

		if (!input_has(&u, 4)) {
			good = false;
			break;
		}
		flags = etw_load_u32(u.in);
		u.in += 4;
		if (fast) {
			good = fast_group(&u, &flags, &left);
		}
		if (good) {
			good = careful_group(&u, flags, left);
		}
	}
	*made = (size_t)(u.out - out);
	return good;
}

/* ---- jobs ---- */

enum { HELPER_FROM = 4 }; /* buffers; for fewer a thread costs more than it saves */

void etl_unpack_now(struct etl_unpack_job *job, const uint8_t *packed, size_t packed_size)
{
	size_t made;

	memcpy(job->out->bytes, packed, ETL_BUFFER_HEADER_SIZE);
	job->good = etl_decompress(packed + ETL_BUFFER_HEADER_SIZE,
				   packed_size - ETL_BUFFER_HEADER_SIZE,
				   job->out->bytes + ETL_BUFFER_HEADER_SIZE,
				   job->end - ETL_BUFFER_HEADER_SIZE, &made);
	job->end = ETL_BUFFER_HEADER_SIZE + (uint32_t)made;
}

static void unpack(struct job *link)
{
	struct etl_unpack_job *job = (struct etl_unpack_job *)(void *)link;

	etl_unpack_now(job, job->packed->bytes, job->packed_size);
}

bool etl_unpacker_expect(struct etl_unpacker *unpacker)
{
	if (unpacker->buffers < HELPER_FROM && ++unpacker->buffers == HELPER_FROM) {
		unpacker->jobs = jobs_start(2, unpack);
	}
	return unpacker->jobs != NULL;
}

void etl_unpacker_submit(struct etl_unpacker *unpacker, struct etl_unpack_job *job)
{
	jobs_submit(unpacker->jobs, &job->job);
}

void etl_unpacker_wait(struct etl_unpacker *unpacker, struct etl_unpack_job *job)
{
	jobs_wait(unpacker->jobs, &job->job);
	etl_block_put(unpacker->blocks, job->packed);
	job->packed = NULL;
}

void etl_unpacker_drop(struct etl_unpacker *unpacker, struct etl_unpack_job *job)
{
	etl_unpacker_wait(unpacker, job);
	etl_block_put(unpacker->blocks, job->out);
	job->out = NULL;
}

void etl_unpacker_done(struct etl_unpacker *unpacker)
{
	jobs_stop(unpacker->jobs);
	unpacker->jobs = NULL;
}

/* ---- packing ---- */

/*
 * Greedy plain-LZ77.
 *
 * One stream contains flag words, items, and half-bytes of long lengths, interleaved. A flag word
 * or a half-byte is reserved where the decoder first needs it, and filled in later.
 */

enum {
	MATCH_LEAST = 3,
	MATCH_MOST = 0xffff, /* a longer match would need a 32-bit length; it is split instead */
	DISTANCE_MOST = 8192,
	HASH_BITS = 13,
};

struct stream {
	uint8_t *out;
	size_t size;
	size_t flags_at;
	size_t half_at; /* offset of a byte whose high half is free; 0: none */
	uint32_t flags;
	unsigned flag_count;
};

static void put_u8(struct stream *s, size_t value)
{
	s->out[s->size++] = (uint8_t)value;
}

static void put_u16(struct stream *s, size_t value)
{
	put_u8(s, value);
	put_u8(s, value >> 8);
}

static void store_flags(struct stream *s)
{
	for (size_t i = 0; i < 4; i++) {
		s->out[s->flags_at + i] = (uint8_t)(s->flags >> (8 * i));
	}
}

/* The decoder reads a flag word only when it needs the next flag, which is directly before an item.
 */
static void put_flag(struct stream *s, uint32_t flag)
{
	if (s->flag_count == 32) {
		store_flags(s);
		s->flags_at = s->size;
		s->size += 4;
		s->flags = 0;
		s->flag_count = 0;
	}
	s->flags |= flag << (31 - s->flag_count);
	s->flag_count++;
}

static void put_match(struct stream *s, size_t distance, size_t length)
{
	size_t rest = length - MATCH_LEAST;
	size_t half;

	put_flag(s, 1);
	put_u16(s, (distance - 1) << 3 | (rest < 7 ? rest : 7));
	if (rest < 7) {
		return;
	}
	rest -= 7;
	half = rest < 15 ? rest : 15;
	if (s->half_at > 0) {
		s->out[s->half_at] = (uint8_t)(s->out[s->half_at] | half << 4);
		s->half_at = 0;
	} else {
		s->half_at = s->size;
		put_u8(s, half);
	}
	if (half < 15) {
		return;
	}
	rest -= 15;
	if (rest < 255) {
		put_u8(s, rest);
	} else {
		put_u8(s, 255);
		put_u16(s, rest + 15 + 7);
	}
}

static size_t hash(const uint8_t *at)
{
	uint32_t key = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;

	return key * UINT32_C(2654435761) >> (32 - HASH_BITS);
}

size_t etl_compress(const uint8_t *bytes, size_t size, uint8_t *out)
{
	uint32_t seen[1 << HASH_BITS] = {
		0
	}; /* position + 1 of the last place with this hash; 0: none */
	struct stream s = { .out = out, .size = 4 };
	size_t at = 0;

	while (at < size) {
		size_t length = 0;
		size_t candidate = 0;

		if (size - at >= MATCH_LEAST) {
			size_t slot = hash(bytes + at);

			if (seen[slot] > 0 && at - (seen[slot] - 1) <= DISTANCE_MOST) {
				size_t most = size - at < MATCH_MOST ? size - at : MATCH_MOST;

				candidate = seen[slot] - 1;
				while (length < most &&
				       bytes[candidate + length] == bytes[at + length]) {
					length++;
				}
			}
			seen[slot] = (uint32_t)at + 1;
		}
		if (length < MATCH_LEAST) {
			put_flag(&s, 0);
			put_u8(&s, bytes[at++]);
			continue;
		}
		put_match(&s, at - candidate, length);
		for (size_t i = 1; i < length && size - at - i >= MATCH_LEAST; i++) {
			seen[hash(bytes + at + i)] = (uint32_t)(at + i) + 1;
		}
		at += length;
	}
	/* Unused flags have no meaning; MS-XCA 2.3 sets them. */
	if (s.flag_count < 32) {
		s.flags |= UINT32_MAX >> s.flag_count;
	}
	store_flags(&s);
	return s.size;
}
