/* SPDX-License-Identifier: MIT */
/*
 * Evicts samples whose label sets are no longer in use.
 *
 * Programs that run once would fill a family for ever, and every later program would count as
 * "_other". So the label sets that did not change for the longest time are evicted: those of
 * processes that ended, if their family is nearly full; with limits.idle all that did not change
 * for a time; and gauges that are hidden, such as those of paths that have left a list.
 *
 * Changes are found without work on the per-event path. Every ten seconds of event time a consumer
 * examines the samples of families that are half full (shard_tend()). If the sum of a sample's
 * cells differs from the last time, the events in between have changed it. Trackers report which
 * names of processes are alive (registry_alive()), so that a process which runs but does nothing
 * keeps its series. All times are those of events, so that a replay behaves like the session.
 *
 * Consumers cache the cells of samples and must not write into a sample that has new labels. So
 * samples are evicted in batches, in three steps, and no thread waits for another. The smaller
 * tables that a large family had before it grew are freed in step 2, also with a batch of no
 * samples.
 *
 *  1. Retired. The family gets a table without them, and the epoch rises. Each consumer forgets its
 *     caches between two records and then stores the epoch that it has seen. A consumer that waits
 *     for events has seen 0: it will forget its caches before its next record. A label set that
 *     comes back meanwhile is put into the table again with its counts (revive() in samples.c).
 *  2. When all consumers have passed, nothing can write into the samples. One whose sum has changed
 *     is put back. The others lose their prefix, so that scrapes leave them out.
 *  3. When all scrapes that began before have ended, the cells are zero, and the number and the
 *     text are free. So no scrape shows the labels of one sample with the value of another.
 *
 * A gauge that is not 0 stays, because what was added will be subtracted again; so does one whose
 * cells a consumer holds (cells_hold()). Samples of the overflow series stay, and so do samples
 * whose labels are fixed by a rule.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "metrics/registry_internal.h"

/* How long ago a process must have ended before its label sets are evicted, so that its last values
 * have been scraped; 100 ns. A longer time would let names that are renewed ten times a second fill
 * a family of 2000 for good. */
#define EVICT_AFTER (INT64_C(60) * 10000000)

enum {
	WATCHED = 2,      /* a family is watched if less than this part of its limit is left */
	NEARLY_FULL = 16, /* a family is nearly full if less than this part of its limit is left */
	ROOM = 8,         /* evictions make at least this part of the limit free */
	LARGE_TABLE = 4096, /* buckets; the table of a family of more than 2048 series */
};

/* What the cells of a sample contain. */
struct cell_values {
	uint64_t sum; /* sum of all its cells */
	bool hidden;
	bool needed; /* a gauge that is not 0, or is held; it must stay */
};

/* A sample that may be evicted. */
struct candidate {
	struct family *family;
	uint32_t sample;
	int64_t alive; /* time at which it was last alive */
	uint64_t sum;
};

/* The samples to evict, those of one family next to each other. */
struct choice {
	int64_t before; /* time of the last event before now */
	int64_t now;
	uint64_t idle_100ns;
	struct candidate *candidates; /* owned */
	size_t count, capacity;
};

void eviction_init(struct registry *registry)
{
	struct eviction *eviction = &registry->eviction;

	atomic_init(&eviction->epoch, 1);
	eviction->scrape_clock = 1;
	eviction->idle_100ns = registry->limits.idle_100ns ? registry->limits.idle_100ns :
							     UINT64_MAX;
}

void eviction_done(struct registry *registry)
{
	struct eviction *eviction = &registry->eviction;

	for (size_t i = 0; i < eviction->table_count; i++) {
		family_free_tables(eviction->tables[i]);
	}
	for (size_t i = 0; eviction->stage == BATCH_HIDDEN && i < eviction->batch_count; i++) {
		free(eviction->batch[i].prefix);
	}
	free((void *)eviction->tables);
	free(eviction->batch);
}

/* ---- what is known of a sample ---- */

/* Returns the life of a sample in a family with dynamic labels. */
static struct sample_life *life_of(const struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	return &family->lives[segment][index];
}

/* Returns how many cells of a sample have values: all except the last if that has the address of
 * the native cells. */
static uint32_t value_cells(const struct family *family)
{
	return family->cells_per_sample - (family->native ? 1 : 0);
}

static struct cell_values read_values(const struct family *family, uint32_t sample)
{
	struct cell_values values = { .sum = 0 };
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	for (unsigned w = 0; w < registry_shards(family->registry); w++) {
		const cell *cells = family_segment(family, w, segment);

		if (!cells || family->registry->shards[w]->held_of) {
			continue;
		}
		cells += (size_t)index * family->cells_per_sample;
		for (uint32_t i = 0; i < value_cells(family); i++) {
			uint64_t value = atomic_load_explicit(&cells[i], memory_order_relaxed);

			values.sum += value;
			if (family->type == FAMILY_GAUGE && value == CELL_HIDDEN) {
				values.hidden = true;
			} else if (family->type == FAMILY_GAUGE && value != 0) {
				values.needed = true;
			}
		}
	}
	return values;
}

static uint64_t time_since(int64_t then, int64_t now)
{
	return now > then ? (uint64_t)now - (uint64_t)then : 0;
}

/* Limits a time to now. A loop of a replay sets the clock back, so stored times can be later. */
static int64_t not_later(int64_t time, int64_t now)
{
	return time > now ? now : time;
}

enum { SECOND_100NS = 10000000 };

/* Returns an event time as struct sample_life stores it. */
static uint32_t stored_time(int64_t time)
{
	uint32_t stored = (uint32_t)(time / SECOND_100NS + (time % SECOND_100NS > 0)) + 1;

	return stored != CHANGE_UNKNOWN ? stored : stored + 1;
}

/* Returns when a sample changed that was examined before; at the latest now. */
static int64_t changed_at(const struct sample_life *life, int64_t now)
{
	int64_t seconds = now / SECOND_100NS;
	int32_t ago = (int32_t)((uint32_t)seconds + 1 - life->changed);

	if (ago < 0) {
		return now;
	}
	/* A damaged recording may have times that begin with the earliest that there is. */
	return seconds - ago >= INT64_MIN / SECOND_100NS ? (seconds - ago) * SECOND_100NS :
							   INT64_MIN;
}

/* Returns when a process with this name last ran. */
static int64_t name_alive(struct intern *strings, uint32_t id, int64_t now)
{
	int64_t alive = intern_note(strings, id);

	if (alive > now) {
		intern_set_note(strings, id, now);
	}
	return not_later(alive, now);
}

/* Returns when the label set was last alive: when it changed, or when a process with one of its
 * names ran. */
static int64_t last_alive(const struct family *family, uint32_t sample, int64_t now)
{
	const struct registry *registry = family->registry;
	int64_t alive = changed_at(life_of(family, sample), now);
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	const uint32_t *ids = family->ids[segment] + (size_t)index * family->label_count;

	for (uint32_t i = 0; i < family->label_count; i++) {
		if ((family->dynamic_labels >> i & 1) != 0) {
			int64_t named = name_alive(registry->strings, ids[i], now);

			alive = named > alive ? named : alive;
		}
	}
	return alive;
}

/* ---- choosing ---- */

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->alive != y->alive) {
		return x->alive < y->alive ? -1 : 1;
	}
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Returns whether less than 1/part of the limit is left. */
static bool is_short(uint64_t used, uint64_t most, unsigned part)
{
	return used + most / part >= most;
}

static bool registry_is_short(const struct registry *registry, unsigned part)
{
	size_t budget = atomic_load_explicit(&registry->prefix_bytes, memory_order_relaxed);
	size_t left = atomic_load_explicit(&registry->prefix_bytes_left, memory_order_relaxed);

	return is_short(atomic_load_explicit(&registry->series, memory_order_relaxed),
			atomic_load_explicit(&registry->series_limit, memory_order_relaxed),
			part) ||
	       is_short(budget - left, budget, part);
}

static uint32_t max_series_of(const struct family *family)
{
	return atomic_load_explicit(&family->max_series, memory_order_relaxed);
}

/* Returns whether the samples of a family are examined. Those of other families will not be evicted
 * soon. */
static bool is_watched(const struct family *family)
{
	const struct registry *registry = family->registry;
	uint32_t used = atomic_load_explicit(&family->limited_count, memory_order_relaxed);

	return family->dynamic_labels != 0 &&
	       (registry->eviction.idle_100ns != UINT64_MAX ||
		atomic_load_explicit(&family->hides, memory_order_relaxed) ||
		is_short(used, max_series_of(family), WATCHED) ||
		registry_is_short(registry, WATCHED));
}

/* Returns how many samples of the family should be evicted to make room. */
static uint32_t room_needed(const struct family *family)
{
	uint32_t used = atomic_load_explicit(&family->limited_count, memory_order_relaxed);
	uint32_t room = 0;

	if (is_short(used, max_series_of(family), NEARLY_FULL)) {
		room = max_series_of(family) / ROOM;
	} else if (registry_is_short(family->registry, NEARLY_FULL)) {
		room = used / ROOM;
	} else {
		return 0;
	}
	return room > 0 ? room : 1;
}

static void choice_add(struct choice *choice, const struct candidate *candidate)
{
	struct candidate *grown =
		array_grow(choice->candidates, &choice->capacity, choice->count, sizeof *grown);

	if (grown) {
		choice->candidates = grown;
		grown[choice->count++] = *candidate;
	}
}

/* Notes whether the sample has changed. Returns true if it may be evicted now, whether its
 * family is full or not. */
static bool note_change(struct choice *choice, struct sample_life *life,
			const struct cell_values *values)
{
	bool changed = life->changed == CHANGE_UNKNOWN || life->sum != (uint32_t)values->sum;
	int64_t at = changed ? choice->before : changed_at(life, choice->now);

	life->sum = (uint32_t)values->sum;
	life->changed = stored_time(at);
	return !changed && (values->hidden || time_since(at, choice->now) >= choice->idle_100ns);
}

/*
 * Examines all samples of a family and adds those to evict to the candidates: first those that are
 * idle or hidden, then, if more room is needed, those that did not change for the longest time.
 */
static void look_at_family(struct choice *choice, struct family *family)
{
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_acquire);
	uint32_t room = room_needed(family);
	size_t first = choice->count, at_once = 0;

	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + count; sample++) {
		struct candidate candidate = { .family = family, .sample = sample };
		struct cell_values values;
		bool now;

		if (!sample_prefix(family, sample) ||
		    sample_state(family, sample) != LIFE_COUNTED) {
			continue;
		}
		values = read_values(family, sample);
		now = note_change(choice, life_of(family, sample), &values);
		if (values.needed || (!now && room == 0)) {
			continue;
		}
		candidate.sum = values.sum;
		candidate.alive = now ? INT64_MIN : last_alive(family, sample, choice->now);
		if (now || time_since(candidate.alive, choice->now) >= (uint64_t)EVICT_AFTER) {
			choice_add(choice, &candidate);
			at_once += now;
		}
	}
	if (choice->count > first) {
		qsort(choice->candidates + first, choice->count - first, sizeof *choice->candidates,
		      compare_candidates);
	}
	room = at_once > room ? (uint32_t)at_once : room;
	if (choice->count - first > room) {
		choice->count = first + room;
	}
}

/* ---- step 1 ---- */

/* Call it with the mutex: makes room for one more table in the batch. Returns false without
 * memory. */
static bool table_room(struct eviction *eviction)
{
	struct sample_table **grown = array_grow((void *)eviction->tables,
						 &eviction->table_capacity, eviction->table_count,
						 sizeof *grown);

	if (grown) {
		eviction->tables = grown;
	}
	return grown != NULL;
}

/* Call it with the mutex: removes the retired samples from the family's table. Returns false
 * without memory. */
static bool shrink_table(struct eviction *eviction, struct family *family)
{
	struct sample_table *old = table_room(eviction) ? family_shrink_table(family) : NULL;

	if (old) {
		eviction->tables[eviction->table_count++] = old;
	}
	return old != NULL;
}

/* Returns the tables that a large family had before it grew; NULL if there are none. For a small
 * family they are not worth that consumers forget their cells. Only the thread that tends changes
 * those of a table in use. */
static struct sample_table **former_tables(const struct family *family)
{
	struct sample_table *table = atomic_load_explicit(&family->table, memory_order_acquire);

	return family->dynamic_labels != 0 && table->mask + 1 >= LARGE_TABLE && table->older ?
		       &table->older :
		       NULL;
}

/* Call it with the mutex: adds the former tables of large families to the batch. */
static void retire_tables(struct registry *registry)
{
	struct eviction *eviction = &registry->eviction;

	for (struct family *family = next_shown(registry, NULL); family;
	     family = next_shown(registry, family)) {
		struct sample_table **former = former_tables(family);

		if (former && table_room(eviction)) {
			eviction->tables[eviction->table_count++] = *former;
			*former = NULL;
		}
	}
}

/* Call it with the mutex: retires the candidates of one family. */
static void retire_family(struct eviction *eviction, const struct candidate *candidates,
			  size_t count)
{
	size_t first = eviction->batch_count;

	for (size_t i = 0; i < count; i++) {
		if (sample_state(candidates[i].family, candidates[i].sample) != LIFE_COUNTED) {
			continue; /* family_keep() was called meanwhile */
		}
		eviction->batch[eviction->batch_count++] =
			(struct retired_sample){ .family = candidates[i].family,
						 .sample = candidates[i].sample,
						 .sum = candidates[i].sum };
		sample_set_state(candidates[i].family, candidates[i].sample, LIFE_RETIRED);
	}
	if (!shrink_table(eviction, candidates->family)) {
		for (size_t i = first; i < eviction->batch_count; i++) {
			sample_set_state(candidates->family, eviction->batch[i].sample,
					 LIFE_COUNTED);
		}
		eviction->batch_count = first;
		return;
	}
	for (size_t i = first; i < eviction->batch_count; i++) {
		family_count_limited(candidates->family, false);
	}
}

/* Begins a batch, unless there is one with samples. */
static void retire(struct registry *registry, const struct choice *choice)
{
	struct eviction *eviction = &registry->eviction;
	size_t at = 0;

	os_mutex_lock(&registry->mutex);
	if (eviction->batch_count > 0 || eviction->stage == BATCH_HIDDEN) {
		os_mutex_unlock(&registry->mutex);
		return;
	}
	if (!eviction->batch && choice->count > 0) {
		eviction->batch = calloc(RETIRED_MAX, sizeof *eviction->batch);
	}
	while (eviction->batch && at < choice->count && eviction->batch_count < RETIRED_MAX) {
		const struct candidate *first = &choice->candidates[at];
		size_t count = 1;

		while (at + count < choice->count && first[count].family == first->family &&
		       eviction->batch_count + count < RETIRED_MAX) {
			count++;
		}
		retire_family(eviction, first, count);
		at += count;
	}
	retire_tables(registry);
	if (eviction->batch_count > 0 || eviction->table_count > 0) {
		eviction->stage = BATCH_RETIRED;
		atomic_store(&eviction->pending, true);
		atomic_fetch_add(&eviction->epoch, 1);
	}
	os_mutex_unlock(&registry->mutex);
}

/* ---- steps 2 and 3 ---- */

/* Call it with the mutex: whether no consumer has cells from before the epoch. */
static bool consumers_have_passed(const struct registry *registry)
{
	uint64_t epoch = atomic_load(&registry->eviction.epoch);

	for (unsigned i = 0; i < registry_shards(registry); i++) {
		const struct shard *shard = registry->shards[i];
		/* Pairs with the stores in shard_enter() and shard_leave(). */
		uint64_t seen = atomic_load(&shard->seen);

		if (shard->owner.forget_cells && seen != 0 && seen < epoch) {
			return false;
		}
	}
	return true;
}

/* Step 2, with the mutex: puts samples that have changed back, and takes the others off the
 * page. */
static void hide_batch(struct registry *registry)
{
	struct eviction *eviction = &registry->eviction;
	size_t kept = 0;

	for (size_t i = 0; i < eviction->batch_count; i++) {
		const struct retired_sample *retired = &eviction->batch[i];
		struct family *family = retired->family;
		struct cell_values values = read_values(family, retired->sample);
		uint32_t index;
		unsigned segment = segment_of(retired->sample, &index);

		if (values.needed || values.sum != retired->sum) {
			family_put_back(family, retired->sample);
			continue;
		}
		atomic_fetch_add_explicit(&registry->prefix_bytes_left,
					  sample_prefix(family, retired->sample)->size,
					  memory_order_relaxed);
		/* The text is freed in step 3, from the batch. */
		eviction->batch[kept] = *retired;
		eviction->batch[kept++].prefix =
			atomic_exchange(&family->prefixes[segment][index], NULL);
		family->slots_used--;
		atomic_fetch_sub_explicit(&family->live_count, 1, memory_order_relaxed);
		if (!values.hidden) {
			atomic_fetch_add_explicit(&family->evicted, 1, memory_order_relaxed);
		}
	}
	eviction->batch_count = kept;
	for (size_t i = 0; i < eviction->table_count; i++) {
		family_free_tables(eviction->tables[i]);
	}
	eviction->table_count = 0;
	eviction->stage = BATCH_HIDDEN;
	eviction->hidden_at = ++eviction->scrape_clock;
}

static bool scrapes_have_ended(const struct eviction *eviction)
{
	for (const struct scrape *scrape = eviction->scrapes; scrape; scrape = scrape->next) {
		if (scrape->start < eviction->hidden_at) {
			return false;
		}
	}
	return true;
}

static void clear_cells(const struct family *family, uint32_t sample)
{
	uint32_t index, count = value_cells(family);
	unsigned segment = segment_of(sample, &index);

	for (unsigned w = 0; w < registry_shards(family->registry); w++) {
		cell *cells = family_segment(family, w, segment);

		if (!cells) {
			continue;
		}
		cells += (size_t)index * family->cells_per_sample;
		for (uint32_t i = 0; i < count; i++) {
			atomic_store_explicit(&cells[i], 0, memory_order_relaxed);
		}
		if (family->native) {
			native_clear(&cells[count]);
		}
	}
}

/* Step 3, with the mutex: frees the texts of the batch, and its numbers for other labels. */
static void free_batch(struct eviction *eviction)
{
	for (size_t i = 0; i < eviction->batch_count; i++) {
		struct retired_sample *retired = &eviction->batch[i];
		struct family *family = retired->family;

		free(retired->prefix);
		clear_cells(family, retired->sample);
		sample_set_state(family, retired->sample, LIFE_FREE);
		life_of(family, retired->sample)->sum = family->free_sample;
		family->free_sample = retired->sample;
	}
	eviction->batch_count = 0;
	eviction->stage = BATCH_NONE;
	atomic_store(&eviction->pending, false);
}

/* Advances the batch as far as possible. The caller must have set `tending`. */
static void move_on(struct registry *registry)
{
	struct eviction *eviction = &registry->eviction;

	os_mutex_lock(&registry->mutex);
	if (eviction->stage == BATCH_RETIRED && consumers_have_passed(registry)) {
		hide_batch(registry);
	}
	if (eviction->stage == BATCH_HIDDEN && scrapes_have_ended(eviction)) {
		free_batch(eviction);
	}
	os_mutex_unlock(&registry->mutex);
}

static bool begin_tending(struct eviction *eviction)
{
	return !atomic_exchange(&eviction->tending, true);
}

static void end_tending(struct eviction *eviction)
{
	atomic_store(&eviction->tending, false);
}

/* Advances the batch unless another thread tends; that thread, or a later one, will do it. */
static void try_to_move_on(struct registry *registry)
{
	struct eviction *eviction = &registry->eviction;

	if (atomic_load(&eviction->pending) && begin_tending(eviction)) {
		move_on(registry);
		end_tending(eviction);
	}
}

/* ---- scrapes ---- */

void scrape_begin(struct registry *registry, struct scrape *scrape)
{
	struct eviction *eviction = &registry->eviction;

	os_mutex_lock(&registry->mutex);
	scrape->start = eviction->scrape_clock;
	scrape->next = eviction->scrapes;
	scrape->link = &eviction->scrapes;
	if (scrape->next) {
		scrape->next->link = &scrape->next;
	}
	eviction->scrapes = scrape;
	os_mutex_unlock(&registry->mutex);
}

void scrape_end(struct registry *registry, struct scrape *scrape)
{
	os_mutex_lock(&registry->mutex);
	*scrape->link = scrape->next;
	if (scrape->next) {
		scrape->next->link = scrape->link;
	}
	os_mutex_unlock(&registry->mutex);
	try_to_move_on(registry);
}

/* ---- consumers ---- */

void shard_attend(struct shard *shard, const struct shard_owner *owner)
{
	struct registry *registry = shard->registry;

	os_mutex_lock(&registry->mutex);
	shard->owner = owner ? *owner : (struct shard_owner){ .context = NULL };
	shard->passed = 0;
	atomic_store(&shard->seen, 0);
	os_mutex_unlock(&registry->mutex);
}

uint64_t shard_enter(struct shard *shard)
{
	struct registry *registry = shard->registry;
	uint64_t epoch;

	if (atomic_load_explicit(&shard->seen, memory_order_relaxed) == 0) {
		/*
		 * The owner continues with the cells that it had when it left. A batch that saw 0
		 * before has raised the epoch already, which is read next; a later batch waits for
		 * this owner.
		 */
		atomic_exchange(&shard->seen, shard->passed > 0 ? shard->passed : 1);
	}
	epoch = atomic_load(&registry->eviction.epoch);
	if (shard->passed != epoch) {
		if (shard->owner.forget_cells) {
			shard->owner.forget_cells(shard->owner.context);
		}
		shard->passed = epoch;
		atomic_store(&shard->seen, epoch);
		try_to_move_on(registry);
	}
	return epoch;
}

void shard_leave(struct shard *shard)
{
	atomic_store(&shard->seen, 0);
	try_to_move_on(shard->registry);
}

void shard_tend(struct shard *shard, int64_t before, int64_t now)
{
	struct registry *registry = shard->registry;
	struct eviction *eviction = &registry->eviction;
	struct choice choice = { .before = before, .now = now, .idle_100ns = eviction->idle_100ns };
	bool reported = false, grown = false;

	if (!begin_tending(eviction)) {
		return; /* another consumer is examining the samples */
	}
	move_on(registry);
	for (struct family *family = next_shown(registry, NULL); family;
	     family = next_shown(registry, family)) {
		if (is_watched(family)) {
			if (!reported && shard->owner.report_alive) {
				shard->owner.report_alive(shard->owner.context);
			}
			reported = true;
			look_at_family(&choice, family);
		}
		grown |= former_tables(family) != NULL;
	}
	if (choice.count > 0 || grown) {
		retire(registry, &choice);
	}
	free(choice.candidates);
	end_tending(eviction);
	/* Forgets its own cells first: if it is the only consumer, the room is free at once. */
	shard_enter(shard);
}

const _Atomic(uint64_t) *registry_epoch(const struct registry *registry)
{
	return &registry->eviction.epoch;
}

void registry_alive(struct registry *registry, uint32_t id, int64_t time)
{
	if (id != INTERN_FULL && intern_note(registry->strings, id) < time) {
		intern_set_note(registry->strings, id, time);
	}
}
