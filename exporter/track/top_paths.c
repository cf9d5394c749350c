/* SPDX-License-Identifier: MIT */
/*
 * The most written paths.
 *
 * Counting every path would need memory for every path. A sketch counts only the heaviest ones; its
 * key has the label id of the process in its upper half and the file number in its lower half. The
 * sketch knows for each key an upper bound of the bytes and the greatest possible error, and the
 * difference is shown: at least these bytes were written.
 *
 * At the end of a window the keys are ranked. The bytes of a key that is already listed count
 * twice, which keeps the list stable. Then all old samples are hidden and the new list is shown.
 * Beyond the limit of series several paths share the overflow series, so samples with equal labels
 * are added up.
 *
 * Windows follow event time, not the clock of the machine, so a replay gives the same list. A gap
 * of more than a window shows an empty list. A time far before the window means that an earlier
 * time was wrong, and the window starts again.
 */
#include "track/top_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "source/event_record.h"

/* With 1000 counters the sketch contains every path with more than a thousandth of the bytes. */
enum { LABELS = 3, COUNTERS_PER_PLACE = 50, COUNTERS_LEAST = 1000 };

struct top_path {
	uint64_t key;
	uint64_t bytes;
	uint32_t ids[LABELS]; /* path, process, provider */
};

struct top_ranked {
	uint64_t key;
	uint64_t bytes;
	uint64_t claim; /* rank: the bytes, doubled if already listed */
};

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct error *err)
{
	static const struct family_options options = {
		.name = "etw_file_top_written_bytes",
		.help = "The most written paths of the last minute, with the bytes that programs asked to write to them for sure. Paging is left out.",
		.type = FAMILY_GAUGE,
		.labels = { "path", "process", "provider" },
		.label_count = LABELS,
		.dynamic_labels = 0x3,
	};
	uint32_t counters = COUNTERS_PER_PLACE * places;

	*top = (struct top_paths){ .registry = registry,
				   .shard = shard,
				   .files = files,
				   .places = places,
				   .start = RECORD_NO_TIME };
	top->provider = intern_string(registry_strings(registry), "Windows Kernel");
	top->family = registry_family(registry, &options, err);
	if (!top->family ||
	    !top_sketch_init(&top->sketch, counters > COUNTERS_LEAST ? counters : COUNTERS_LEAST,
			     err)) {
		return false;
	}
	top->order = calloc(top->sketch.size, sizeof *top->order);
	top->listed = calloc((size_t)2 * places, sizeof *top->listed);
	return (top->order && top->listed) || error_no_memory(err, "the most written paths");
}

void top_paths_done(struct top_paths *top)
{
	top_sketch_done(&top->sketch);
	free(top->order);
	free(top->listed);
	*top = (struct top_paths){ 0 };
}

/* ---- choosing ---- */

static bool is_listed(const struct top_paths *top, uint64_t key)
{
	for (uint32_t i = 0; i < top->count; i++) {
		if (top->listed[i].key == key) {
			return true;
		}
	}
	return false;
}

/* Sorts by claim, the highest first. */
static int compare(const void *a, const void *b)
{
	const struct top_ranked *x = a, *y = b;

	if (x->claim != y->claim) {
		return x->claim > y->claim ? -1 : 1;
	}
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Fills chosen with the next list and returns its length. */
static uint32_t choose(struct top_paths *top, struct top_path *chosen)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < top->sketch.count; i++) {
		const struct top_counter *counter = &top->sketch.counters[i];
		uint64_t bytes = top_counter_least(counter);

		if (bytes > 0) {
			bool doubled = is_listed(top, counter->key) && bytes <= UINT64_MAX / 2;

			top->order[count++] = (struct top_ranked){
				.key = counter->key,
				.bytes = bytes,
				.claim = doubled ? 2 * bytes : bytes,
			};
		}
	}
	if (count > 0) {
		qsort(top->order, count, sizeof *top->order, compare);
	}
	count = count < top->places ? count : top->places;
	for (uint32_t i = 0; i < count; i++) {
		chosen[i] =
			(struct top_path){ .key = top->order[i].key, .bytes = top->order[i].bytes };
	}
	return count;
}

/* ---- showing ---- */

static uint32_t path_label(const struct top_paths *top, uint32_t file)
{
	struct text path = { 0 }, clean = { 0 };
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

/* Beyond the limit of series several paths share one sample, which has their sum. */
static void find_labels(struct top_paths *top, struct top_path *path)
{
	bool overflowed = false;

	path->ids[0] = path_label(top, (uint32_t)path->key);
	path->ids[1] = (uint32_t)(path->key >> 32);
	path->ids[2] = top->provider;
	family_cells(top->family, top->shard, path->ids, &overflowed);
	if (overflowed) {
		path->ids[0] = path->ids[1] = registry_other(top->registry);
	}
}

static void show(struct top_paths *top, const struct top_path *chosen, uint32_t count)
{
	for (uint32_t i = 0; i < top->count; i++) {
		family_hide(top->family, top->shard, top->listed[i].ids);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t bytes = 0;

		for (uint32_t j = 0; j < count; j++) {
			if (memcmp(chosen[i].ids, chosen[j].ids, sizeof chosen[i].ids) == 0) {
				bytes += chosen[j].bytes;
			}
		}
		family_set(top->family, top->shard, chosen[i].ids, (int64_t)(bytes & INT64_MAX));
	}
}

static void end_window(struct top_paths *top)
{
	struct top_path *chosen = top->listed + top->places;
	uint32_t count = choose(top, chosen);

	for (uint32_t i = 0; i < count; i++) {
		find_labels(top, &chosen[i]);
	}
	show(top, chosen, count);
	memcpy(top->listed, chosen, count * sizeof *chosen);
	top->count = count;
	top_sketch_clear(&top->sketch);
}

/* ---- the stream ---- */

void top_paths_clear(struct top_paths *top)
{
	if (top->family) {
		top_sketch_clear(&top->sketch);
		show(top, NULL, 0);
		top->count = 0;
		top->start = RECORD_NO_TIME;
	}
}

void top_paths_time(struct top_paths *top, int64_t time)
{
	uint64_t passed;

	if (time == RECORD_NO_TIME) {
		return;
	}
	if (top->start == RECORD_NO_TIME) {
		top->start = time;
	}
	if (time < top->start) {
		/* More than a window earlier: the start of this window was wrong. */
		if ((uint64_t)top->start - (uint64_t)time > (uint64_t)TOP_PATHS_WINDOW) {
			top->start = time;
		}
		return;
	}
	passed = (uint64_t)time - (uint64_t)top->start;
	if (passed < (uint64_t)TOP_PATHS_WINDOW) {
		return;
	}
	end_window(top);
	if (passed >= 2 * (uint64_t)TOP_PATHS_WINDOW) {
		end_window(top); /* the following window was empty */
	}
	top->start = time - (int64_t)(passed % (uint64_t)TOP_PATHS_WINDOW);
}

void top_paths_add(struct top_paths *top, uint32_t file, uint32_t process, uint64_t bytes)
{
	top_sketch_add(&top->sketch, (uint64_t)process << 32 | file, bytes);
}

void top_paths_end(struct top_paths *top)
{
	if (top->family && top->sketch.count > 0) {
		end_window(top);
	}
}
