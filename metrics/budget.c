/* SPDX-License-Identifier: MIT */
/*
 * The budget of series: which label sets have a series of their own, when there are more than the
 * budget allows.
 *
 * The budget is a limit on the label sets of all families together, and those beyond it count under
 * "_other". So that not the first ones stay for ever, the label sets compete for the series. After
 * each minute of event time in which some found no room, unless there is room for all of them by
 * then, at most an eighth of the series is given back, for the label sets without one that had the
 * most events in that minute. They have a minute to show what they amount to.
 *
 * The series that matter least are given back. Families count bytes, seconds and events, so amounts
 * are made comparable: the rank of a label set is its part of what its family counted in the last
 * minute. Gauges that are not 0 stay, like everywhere else.
 *
 * A family that is full by its own limit is a contest of its own: series of others make no room in
 * it, so it gives back at most an eighth of its own ones for those that wait for it, and label sets
 * of other families neither wait nor go because of it.
 *
 * Which label sets wait is not remembered exactly, for there may be any number of them. Each shard
 * has a table of places. A label set has one place by its hash; another one of the same place takes
 * from its count, and at 0 the place is taken over. So a label set with most of the events of a
 * place has it in the end.
 *
 * With a budget, what a label set has counted is added to the "_other" of its family when it is
 * given back, for any reason, and in the same moment for every scrape. So the sum over a
 * family is always that of all events. The series "_other" rises by what it takes over.
 */
#include <stdlib.h>

#include "base/map.h"
#include "metrics/registry_internal.h"

/* 100 ns */
#define ROUND (INT64_C(60) * 10000000)

/* ---- who waits ---- */

/* A place is a hash << 32 | count. Behind the places a shard has the hashes that are admitted. */
enum { PLACES = 1024 };

bool budget_shard(struct registry *registry, struct shard *shard)
{
	if (registry->limits.budget > 0) {
		shard->waiting = arena_alloc(&registry->arena,
					     (size_t)2 * PLACES * sizeof *shard->waiting,
					     sizeof *shard->waiting);
	}
	return registry->limits.budget == 0 || shard->waiting;
}

/* Of the tag of a label set that waits: its family is full by its own limit. */
#define OF_FULL UINT32_C(2)

/* Never 0, and without OF_FULL. */
static uint32_t tag_of(const struct family *family, const uint32_t *ids)
{
	uint32_t hash = (uint32_t)(hash_seeded(family_hash(family, ids), hash_seed()) >> 32);

	return (hash & ~OF_FULL) | 1;
}

static bool is_full(const struct family *family)
{
	return atomic_load_explicit(&family->limited_count, memory_order_relaxed) >=
	       atomic_load_explicit(&family->max_series, memory_order_relaxed);
}

static bool is_contested(const struct family *family)
{
	return atomic_load_explicit(&family->contested, memory_order_relaxed);
}

/* Two label sets that share a place in one round do not share it in the next. */
static _Atomic(uint64_t) *place_of(const struct family *family, const struct shard *shard,
				   uint32_t tag)
{
	uint32_t round =
		atomic_load_explicit(&family->registry->eviction.round, memory_order_relaxed);

	return &shard->waiting[hash_seeded(tag, round) % PLACES];
}

static _Atomic(uint64_t) *admission_of(const struct shard *shard, uint32_t tag)
{
	return &shard->waiting[PLACES + hash_u64(tag) % PLACES];
}

bool budget_admits(const struct family *family, const struct shard *shard, const uint32_t *ids)
{
	uint32_t tag;

	if (family->dynamic_labels == 0 || !shard->waiting ||
	    (!is_contested(family) &&
	     !atomic_load_explicit(&family->registry->eviction.contested, memory_order_relaxed))) {
		return true;
	}
	tag = tag_of(family, ids);
	return atomic_load_explicit(admission_of(shard, tag), memory_order_relaxed) == tag;
}

void budget_wait(const struct family *family, const struct shard *shard, const uint32_t *ids)
{
	_Atomic(uint64_t) *at;
	uint64_t place;
	uint32_t tag, count;

	if (family->dynamic_labels == 0 || !shard->waiting) {
		return;
	}
	/* What a full family has given back is for those that wait for it. */
	tag = tag_of(family, ids) | (is_full(family) || is_contested(family) ? OF_FULL : 0);
	at = place_of(family, shard, tag);
	place = atomic_load_explicit(at, memory_order_relaxed);
	count = (uint32_t)place;
	if (count == 0) {
		place = (uint64_t)tag << 32 | 1;
	} else if (place >> 32 != tag) {
		place--;
	} else if (count < UINT32_MAX) {
		place++;
	}
	atomic_store_explicit(at, place, memory_order_relaxed);
}

/* A place, and the shard that it is of. */
struct waiting {
	const struct shard *shard;
	uint32_t tag, count;
};

/* Those of full families come last. */
static int compare_counts(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if ((x->tag & OF_FULL) != (y->tag & OF_FULL)) {
		return (x->tag & OF_FULL) == 0 ? -1 : 1;
	}
	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* Empties the places and the admissions of all shards. Returns how many label sets waited. */
static size_t take_waiting(const struct registry *registry, struct waiting *all)
{
	size_t count = 0;

	for (unsigned w = 0; w < registry_shards(registry); w++) {
		for (size_t i = 0; i < (size_t)2 * PLACES; i++) {
			uint64_t place = atomic_exchange_explicit(&registry->shards[w]->waiting[i],
								  0, memory_order_relaxed);

			if (i < PLACES && (uint32_t)place > 0) {
				all[count++] = (struct waiting){ registry->shards[w],
								 (uint32_t)(place >> 32),
								 (uint32_t)place };
			}
		}
	}
	return count;
}

/* How many more label sets have room without others making it. */
static size_t room_left(const struct registry *registry)
{
	uint32_t used = atomic_load_explicit(&registry->series, memory_order_relaxed);
	uint32_t most = atomic_load_explicit(&registry->series_limit, memory_order_relaxed);

	return used < most ? most - used : 0;
}

/* How many samples a full family gives back for the label sets that wait for it, each of which has
 * had an event; 0: it is not full. */
static size_t full_room(const struct family *family)
{
	uint64_t waited = atomic_load_explicit(&family->overflow, memory_order_relaxed) -
			  family->round_overflow;
	size_t room = atomic_load_explicit(&family->max_series, memory_order_relaxed) / ROOM;

	if (family->dynamic_labels == 0 || !is_full(family)) {
		return 0;
	}
	room = room > 0 ? room : 1;
	return room < waited ? room : (size_t)waited;
}

static size_t all_full_room(struct registry *registry)
{
	size_t room = 0;

	for (struct family *family = registry_next_family(registry, NULL); family;
	     family = registry_next_family(registry, family)) {
		room += full_room(family);
	}
	return room;
}

static void admit_first(const struct waiting *waiting, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t tag = waiting[i].tag & ~OF_FULL;

		atomic_store_explicit(admission_of(waiting[i].shard, tag), tag,
				      memory_order_relaxed);
	}
}

/* How many label sets a round admits. */
struct admitted {
	size_t of_all;  /* because of the budget; none if there is room for all by now */
	size_t of_full; /* because of the limits of their families */
};

/* Begins to count anew, and admits those with the most events, at most an eighth of the budget, and
 * of full families as many as these give back. */
static struct admitted admit(struct registry *registry)
{
	struct waiting *all = calloc((size_t)SHARD_SLOTS * PLACES, sizeof *all);
	size_t count = 0, of_all = 0, room = registry->limits.budget / ROOM;
	struct admitted admitted;

	if (all) {
		os_mutex_lock(&registry->mutex); /* no shard comes meanwhile */
		count = take_waiting(registry, all);
		os_mutex_unlock(&registry->mutex);
	}
	if (count > 0) {
		qsort(all, count, sizeof *all, compare_counts);
	}
	while (of_all < count && (all[of_all].tag & OF_FULL) == 0) {
		of_all++;
	}
	room = room > 0 ? room : 1;
	admitted.of_full = all_full_room(registry);
	admitted.of_full = count - of_all < admitted.of_full ? count - of_all : admitted.of_full;
	admitted.of_all = of_all <= room_left(registry) ? 0 : of_all < room ? of_all : room;
	if (count > 0) {
		admit_first(all, admitted.of_all);
		admit_first(all + of_all, admitted.of_full);
	}
	free(all);
	atomic_fetch_add_explicit(&registry->eviction.round, 1, memory_order_relaxed);
	return admitted;
}

/* ---- who has a series ---- */

/* What the rank is made from; of a histogram the number of observations. */
static uint64_t amount_of(const struct family *family, uint32_t sample)
{
	size_t counts = family->type == FAMILY_HISTOGRAM ? family->bucket_count + 1 : 1;
	uint64_t amount = 0;
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	for (unsigned w = 0; w < registry_shards(family->registry); w++) {
		const cell *cells = family_segment(family, w, segment);

		for (size_t i = 0; cells && i < counts; i++) {
			const cell *at = &cells[(size_t)index * family->cells_per_sample + i];

			amount = count_sum(amount, atomic_load_explicit(at, memory_order_relaxed));
		}
	}
	return amount;
}

/* Ranks the samples of a family that have been there for a whole round. */
static void rank_family(struct choice *choice, struct family *family)
{
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_acquire);
	size_t first = choice->count;
	uint64_t total = 0;

	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + count; sample++) {
		struct candidate candidate = { .family = family, .sample = sample };
		struct sample_life *life;
		uint64_t amount, gain;
		struct look look;

		if (!sample_prefix(family, sample)) {
			continue;
		}
		life = sample_life(family, sample);
		if (!life ||
		    atomic_load_explicit(&life->state, memory_order_relaxed) != LIFE_COUNTED) {
			continue;
		}
		amount = amount_of(family, sample);
		gain = amount > life->amount ? amount - life->amount : 0;
		look = eviction_look(family, sample);
		life->amount = amount;
		total = count_sum(total, gain);
		if (life->ranked && !look.needed && !look.hidden) {
			candidate.sum = look.sum;
			candidate.share = (double)gain;
			choice_add(choice, &candidate);
		}
		life->ranked = true;
	}
	for (size_t i = first; i < choice->count && total > 0; i++) {
		choice->candidates[i].share /= (double)total;
	}
}

static int compare_shares(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->share != y->share) {
		return x->share < y->share ? -1 : 1;
	}
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int compare_families(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->family != y->family) {
		return (uintptr_t)x->family < (uintptr_t)y->family ? -1 : 1;
	}
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Whether label sets found no room since the last round. */
static bool any_overflowed(struct registry *registry)
{
	struct family *family = registry_next_family(registry, NULL);

	while (family && atomic_load_explicit(&family->overflow, memory_order_relaxed) ==
				 family->round_overflow) {
		family = registry_next_family(registry, family);
	}
	return family != NULL;
}

/* Ranks the samples of a family. Of a full one the last must go, at most `most`; returns how many.
 */
static size_t choose_of_family(struct choice *choice, struct family *family, size_t most)
{
	size_t first = choice->count, room = full_room(family);

	room = room < most ? room : most;
	family->round_overflow = atomic_load_explicit(&family->overflow, memory_order_relaxed);
	rank_family(choice, family);
	atomic_store_explicit(&family->contested, room > 0, memory_order_relaxed);
	room = room < choice->count - first ? room : choice->count - first;
	if (room > 0) {
		qsort(choice->candidates + first, choice->count - first, sizeof *choice->candidates,
		      compare_shares);
	}
	for (size_t i = 0; i < room; i++) {
		choice->candidates[first + i].share = -1;
	}
	return room;
}

void budget_choose(struct registry *registry, struct choice *choice)
{
	struct eviction *eviction = &registry->eviction;
	uint64_t since_round = (uint64_t)choice->now - (uint64_t)eviction->round_time;
	struct admitted admitted = { 0 };
	size_t room;

	if (registry->limits.budget == 0 || since_round < (uint64_t)ROUND) {
		return;
	}
	eviction->round_time = choice->now;
	if (any_overflowed(registry)) {
		admitted = admit(registry);
	}
	room = admitted.of_all;
	atomic_store_explicit(&eviction->contested, room > 0, memory_order_relaxed);
	for (struct family *family = registry_next_family(registry, NULL); family;
	     family = registry_next_family(registry, family)) {
		room += choose_of_family(choice, family, admitted.of_full);
	}
	if (choice->count > room) {
		qsort(choice->candidates, choice->count, sizeof *choice->candidates,
		      compare_shares);
		choice->count = room;
	}
	if (choice->count > 0) {
		qsort(choice->candidates, choice->count, sizeof *choice->candidates,
		      compare_families);
	}
}
