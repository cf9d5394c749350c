/* SPDX-License-Identifier: MIT */
/*
 * The most written paths.
 *
 * Counting every path would need memory for every path. A sketch counts only the heaviest ones; its
 * key has the label id of the process in its upper half, with the source of the event in the top
 * bit, and the file number in its lower half. The sketch knows for each key an upper bound of the
 * bytes and the greatest possible error, and the difference is shown: at least these bytes were
 * written.
 *
 * The last minute is a ring of slices of ten seconds, each with a sketch of its own. An event adds
 * only to the sketch of the current slice. When a slice ends, the sketches of the whole minute are
 * added up by key and the keys are ranked; then the oldest slice is dropped. A sum of lower bounds
 * is a lower bound. The bytes of a key that is already listed count twice, which keeps the list
 * stable. Beyond the limit of series several paths share the overflow series, so samples with equal
 * labels are added up.
 *
 * Slices follow event time, not the clock of the machine, so a replay gives the same list. Slices
 * in which nothing was written are empty, so the list is empty a minute after the last write. A
 * time far before the current slice means that the clock was set back or an earlier time was wrong;
 * then the slice begins again at that time, and the older slices of the ring are dropped one by one
 * as usual.
 *
 * The list stays shown when the tracker is reset and when it is freed: a replay in a loop makes a
 * new tracker for each pass, and the samples must not be absent until its first slice has ended.
 */
#include <etw/provider.h>
#include <etw/record.h>

#include "exporter/track/top_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

/* ---- the sketch of the heaviest keys ---- */

/*
 * The space-saving sketch.
 *
 * Each counter is in two structures at once. A binary heap has the counter with the lowest count on
 * top, so that the counter to take over is found at once. A hash table with chains finds the
 * counter of a key. Counts only grow, so an updated counter only sinks in the heap; only a new
 * counter rises. All memory is allocated by top_sketch_init(): an update allocates nothing and
 * takes time logarithmic in the number of counters. Counts saturate at UINT64_MAX.
 */

enum { NO_COUNTER = UINT32_MAX };

bool top_sketch_init(struct top_sketch *sketch, uint32_t size, struct etw_error *err)
{
	uint32_t buckets = 1;

	while (buckets < 2 * size) {
		buckets *= 2;
	}
	*sketch = (struct top_sketch){ .size = size, .mask = buckets - 1 };
	sketch->counters = calloc(size, sizeof *sketch->counters);
	sketch->heap = calloc(size, sizeof *sketch->heap);
	sketch->buckets = calloc(buckets, sizeof *sketch->buckets);
	if (!sketch->counters || !sketch->heap || !sketch->buckets) {
		top_sketch_done(sketch);
		return error_no_memory(err, "the most written paths");
	}
	top_sketch_clear(sketch);
	return true;
}

void top_sketch_done(struct top_sketch *sketch)
{
	free(sketch->counters);
	free(sketch->heap);
	free(sketch->buckets);
	*sketch = (struct top_sketch){ 0 };
}

void top_sketch_clear(struct top_sketch *sketch)
{
	sketch->count = 0;
	if (sketch->buckets) {
		memset(sketch->buckets, 0xff, (sketch->mask + 1) * sizeof *sketch->buckets);
	}
}

/* Programs choose file names, and so the keys. The seed prevents them from choosing keys with
 * equal hashes. */
static uint32_t *bucket_of(const struct top_sketch *sketch, uint64_t key)
{
	return &sketch->buckets[hash_seeded(key, hash_seed()) & sketch->mask];
}

static uint32_t find(const struct top_sketch *sketch, uint64_t key)
{
	uint32_t number = *bucket_of(sketch, key);

	while (number != NO_COUNTER && sketch->counters[number].key != key) {
		number = sketch->counters[number].next;
	}
	return number;
}

static void put_in_list(struct top_sketch *sketch, uint32_t number)
{
	uint32_t *bucket = bucket_of(sketch, sketch->counters[number].key);

	sketch->counters[number].next = *bucket;
	*bucket = number;
}

static void remove_from_chain(struct top_sketch *sketch, uint32_t number)
{
	uint32_t *link = bucket_of(sketch, sketch->counters[number].key);

	while (*link != number) {
		link = &sketch->counters[*link].next;
	}
	*link = sketch->counters[number].next;
}

static uint64_t count_at(const struct top_sketch *sketch, uint32_t place)
{
	return sketch->counters[sketch->heap[place]].count;
}

static void place_at(struct top_sketch *sketch, uint32_t place, uint32_t number)
{
	sketch->heap[place] = number;
	sketch->counters[number].place = place;
}

static void sink(struct top_sketch *sketch, uint32_t place)
{
	uint32_t number = sketch->heap[place];
	uint64_t count = sketch->counters[number].count;

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= sketch->count) {
			break;
		}
		if (child + 1 < sketch->count &&
		    count_at(sketch, child + 1) < count_at(sketch, child)) {
			child++;
		}
		if (count_at(sketch, child) >= count) {
			break;
		}
		place_at(sketch, place, sketch->heap[child]);
		place = child;
	}
	place_at(sketch, place, number);
}

static void rise(struct top_sketch *sketch, uint32_t place)
{
	uint32_t number = sketch->heap[place];
	uint64_t count = sketch->counters[number].count;

	while (place > 0 && count_at(sketch, (place - 1) / 2) > count) {
		place_at(sketch, place, sketch->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	place_at(sketch, place, number);
}

void top_sketch_add(struct top_sketch *sketch, uint64_t key, uint64_t weight)
{
	uint32_t number = find(sketch, key);
	struct top_counter *counter;

	if (number == NO_COUNTER && sketch->count < sketch->size) {
		number = sketch->count++;
		sketch->counters[number] = (struct top_counter){ .key = key, .count = weight };
		put_in_list(sketch, number);
		sketch->heap[number] = number;
		rise(sketch, number);
		return;
	}
	if (number == NO_COUNTER) {
		number = sketch->heap[0];
		remove_from_chain(sketch, number);
		sketch->counters[number].key = key;
		sketch->counters[number].error = sketch->counters[number].count;
		put_in_list(sketch, number);
	}
	counter = &sketch->counters[number];
	counter->count = top_sum(counter->count, weight);
	sink(sketch, counter->place);
}

/* A sketch of 1000 counters contains every path that has more than a thousandth of the slice's
 * bytes. */
enum { LABELS = 3, COUNTERS_PER_PLACE = 10, COUNTERS_LEAST = 1000 };

/* A bit in the upper half of a key. No label id is so high: that many texts would not fit into
 * memory. */
#define SECOND_SOURCE UINT32_C(0x80000000)

struct top_path {
	uint64_t key;
	uint64_t bytes;
	uint32_t ids[LABELS]; /* path, process, provider */
};

struct top_ranked {
	uint64_t key;
	uint64_t bytes;
	uint64_t claim; /* the rank: its bytes, doubled if it is already listed */
};

const struct family_options top_paths_family = {
	.name = "etw_file_top_written_bytes",
	.help = "Lower bound of the bytes that programs asked to write to the most-written files in the last minute. Excludes paging I/O.",
	.type = FAMILY_GAUGE,
	.labels = { "path", "process", "provider" },
	.label_count = LABELS,
	.dynamic_labels = 0x3,
};

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct etw_error *err)
{
	uint32_t counters = COUNTERS_PER_PLACE * places;

	*top = (struct top_paths){ .registry = registry,
				   .shard = shard,
				   .files = files,
				   .places = places,
				   .start = ETW_RECORD_NO_TIME };
	top->providers[0] = intern_own(registry_strings(registry), "Windows Kernel");
	top->providers[1] = intern_own(registry_strings(registry),
				       etw_known_providers[ETW_PROVIDER_KERNEL_FILE].name);
	top->family = registry_family(registry, &top_paths_family, err);
	counters = counters > COUNTERS_LEAST ? counters : COUNTERS_LEAST;
	for (unsigned i = 0; i < TOP_PATHS_SLICES; i++) {
		if (!top->family || !top_sketch_init(&top->slices[i], counters, err)) {
			return false;
		}
	}
	top->order = calloc((size_t)TOP_PATHS_SLICES * counters, sizeof *top->order);
	top->listed = calloc((size_t)2 * places, sizeof *top->listed);
	return (top->order && top->listed) || error_no_memory(err, "the most written paths");
}

void top_paths_done(struct top_paths *top)
{
	for (unsigned i = 0; i < TOP_PATHS_SLICES; i++) {
		top_sketch_done(&top->slices[i]);
	}
	free(top->order);
	free(top->listed);
	*top = (struct top_paths){ 0 };
}

/* ---- choosing ---- */

static int by_key(uint64_t a, uint64_t b)
{
	return a > b ? 1 : a < b ? -1 : 0;
}

static int compare_listed(const void *a, const void *b)
{
	return by_key(((const struct top_path *)a)->key, ((const struct top_path *)b)->key);
}

static int compare_keys(const void *a, const void *b)
{
	return by_key(((const struct top_ranked *)a)->key, ((const struct top_ranked *)b)->key);
}

/* Sorts by claim, the highest first. */
static int compare_claims(const void *a, const void *b)
{
	const struct top_ranked *x = a, *y = b;

	if (x->claim != y->claim) {
		return x->claim > y->claim ? -1 : 1;
	}
	return by_key(x->key, y->key);
}

/* Writes the bytes of each key in the whole ring to top->order. Returns the number of keys. */
static size_t add_up_slices(struct top_paths *top)
{
	size_t count = 0, keys = 0;

	for (unsigned i = 0; i < TOP_PATHS_SLICES; i++) {
		const struct top_sketch *slice = &top->slices[i];

		for (uint32_t j = 0; j < slice->count; j++) {
			uint64_t bytes = top_counter_least(&slice->counters[j]);

			if (bytes > 0) {
				top->order[count++] =
					(struct top_ranked){ .key = slice->counters[j].key,
							     .bytes = bytes };
			}
		}
	}
	if (count > 0) {
		qsort(top->order, count, sizeof *top->order, compare_keys);
	}
	for (size_t i = 0; i < count; i++) {
		if (keys > 0 && top->order[keys - 1].key == top->order[i].key) {
			top->order[keys - 1].bytes =
				top_sum(top->order[keys - 1].bytes, top->order[i].bytes);
		} else {
			top->order[keys++] = top->order[i];
		}
	}
	return keys;
}

static bool is_listed(const struct top_paths *top, uint64_t key)
{
	const struct top_path like = { .key = key };

	return top->count > 0 &&
	       bsearch(&like, top->listed, top->count, sizeof *top->listed, compare_listed) != NULL;
}

/* Fills `chosen` with the next list, in the order of keys, and returns its length. */
static uint32_t choose(struct top_paths *top, struct top_path *chosen)
{
	size_t keys = add_up_slices(top);
	uint32_t count = keys < top->places ? (uint32_t)keys : top->places;

	for (size_t i = 0; i < keys; i++) {
		struct top_ranked *ranked = &top->order[i];

		ranked->claim = is_listed(top, ranked->key) ?
					top_sum(ranked->bytes, ranked->bytes) :
					ranked->bytes;
	}
	if (keys > 0) {
		qsort(top->order, keys, sizeof *top->order, compare_claims);
	}
	for (uint32_t i = 0; i < count; i++) {
		chosen[i] =
			(struct top_path){ .key = top->order[i].key, .bytes = top->order[i].bytes };
	}
	if (count > 0) {
		qsort(chosen, count, sizeof *chosen, compare_listed);
	}
	return count;
}

/* ---- showing ---- */

static uint32_t path_label(const struct top_paths *top, uint32_t file)
{
	struct etw_text path = { 0 }, clean = { 0 };
	uint32_t label;
	size_t size;

	if (!files_path(top->files, file, &size)) {
		return file == FILE_UNKNOWN ? registry_unknown(top->registry) :
					      registry_other(top->registry);
	}
	files_dos_path(top->files, file, &path);
	size = path.size < TOP_PATH_SIZE_MAX ? path.size : TOP_PATH_SIZE_MAX;
	text_add_utf8_clean(&clean, path.data, path.failed ? 0 : size);
	label = clean.failed ? INTERN_FULL :
			       intern_add(registry_strings(top->registry),
					  clean.data ? clean.data : "", clean.size);
	text_free(&path);
	text_free(&clean);
	return label == INTERN_FULL ? registry_other(top->registry) : label;
}

/* Finds the label ids of a path. Beyond the limit of series several paths share the overflow
 * series, which shows their sum. */
static void find_labels(struct top_paths *top, struct top_path *path)
{
	bool overflowed = false;

	path->ids[0] = path_label(top, (uint32_t)path->key);
	path->ids[1] = (uint32_t)(path->key >> 32) & ~SECOND_SOURCE;
	path->ids[2] = top->providers[(path->key >> 63) & 1];
	family_cells(top->family, top->shard, path->ids, &overflowed);
	if (overflowed) {
		path->ids[0] = path->ids[1] = registry_other(top->registry);
	}
}

/* Makes the list from the whole ring and shows it in place of the previous list. */
static void show_list(struct top_paths *top)
{
	struct top_path *chosen = top->listed + top->places;
	uint32_t count = choose(top, chosen);

	for (uint32_t i = 0; i < count; i++) {
		find_labels(top, &chosen[i]);
	}
	family_hide_all(top->family, top->shard);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t bytes = 0;

		for (uint32_t j = 0; j < count; j++) {
			if (memcmp(chosen[i].ids, chosen[j].ids, sizeof chosen[i].ids) == 0) {
				bytes = top_sum(bytes, chosen[j].bytes);
			}
		}
		family_set(top->family, top->shard, chosen[i].ids,
			   bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
	}
	if (count > 0) {
		memcpy(top->listed, chosen, count * sizeof *chosen);
	}
	top->count = count;
}

/* ---- the stream ---- */

static void next_slice(struct top_paths *top)
{
	top->present = (top->present + 1) % TOP_PATHS_SLICES;
	top_sketch_clear(&top->slices[top->present]);
}

void top_paths_clear(struct top_paths *top)
{
	for (unsigned i = 0; i < TOP_PATHS_SLICES; i++) {
		top_sketch_clear(&top->slices[i]);
	}
	top->count = 0;
	top->start = ETW_RECORD_NO_TIME;
}

void top_paths_time(struct top_paths *top, int64_t time)
{
	uint64_t passed, ended;

	if (time == ETW_RECORD_NO_TIME) {
		return;
	}
	if (top->start == ETW_RECORD_NO_TIME) {
		top->start = time;
	}
	if (time < top->start) {
		/* More than a minute earlier: the start of this slice was wrong, or the clock
		 * was set back. */
		if ((uint64_t)top->start - (uint64_t)time > (uint64_t)TOP_PATHS_MINUTE) {
			top->start = time;
		}
		return;
	}
	passed = (uint64_t)time - (uint64_t)top->start;
	if (passed < (uint64_t)TOP_PATHS_SLICE) {
		return;
	}
	top->start = time - (int64_t)(passed % (uint64_t)TOP_PATHS_SLICE);
	ended = passed / (uint64_t)TOP_PATHS_SLICE;
	/* Slices between the one that ended and this time are empty. After a whole ring of empty
	 * slices, more of them change nothing. */
	for (uint64_t i = 1; i < ended && i <= TOP_PATHS_SLICES; i++) {
		next_slice(top);
	}
	show_list(top);
	next_slice(top);
}

void top_paths_add(struct top_paths *top, const struct top_write *write)
{
	uint32_t upper = write->process | (write->second_source ? SECOND_SOURCE : 0);

	top_sketch_add(&top->slices[top->present], (uint64_t)upper << 32 | write->file,
		       write->bytes);
}

void top_paths_end(struct top_paths *top)
{
	if (top->family && top->start != ETW_RECORD_NO_TIME) {
		show_list(top);
	}
}
