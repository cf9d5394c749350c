/* SPDX-License-Identifier: MIT */
/*
 * Making and freeing a tracker, the set of announcements that it collects, and its statistics.
 *
 * A tracker and its tables belong to one consumer; other threads read only the statistics, which
 * the consumer publishes as atomics. A tracker collects a set of announcements (enum announcement):
 * some are always collected, some are needed by a feature of derived fields, some by a state gauge.
 * attribution.c applies this set once to each event class, so a record without a requested
 * announcement costs one comparison. announce.c reads records into the tables; ask.c and
 * derived_fields.c have the look-ups for the current record. Every table is bounded and counts its
 * evictions.
 */
#include "track/tracker.h"

#include <stdlib.h>

#include "source/kernel_flags.h"
#include "track/tracker_internal.h"

enum {
	PROCESSES = 20000,
	THREADS = 200000,
	FILES = 200000,
	REQUEST_SETS = 8192,
};

#define STRINGS_BYTES ((size_t)64 << 20)

/* Before the first record: a record without any fields. */
static const struct attribution no_attribution = { .name = -1, .name_too = -1 };
static const struct guid no_provider;
static const struct event_record no_record = {
	.provider = &no_provider,
	.payload = no_provider.bytes,
	.process_id = RECORD_NO_ID,
	.thread_id = RECORD_NO_ID,
	.pointer_size = 8,
	.raw_time = RECORD_NO_TIME,
	.time = RECORD_NO_TIME,
};

/* ---- event classes ---- */

bool tracker_prepare(struct tracker *tracker, struct event_class *class)
{
	if (!class->attribution) {
		class->attribution = malloc(sizeof *class->attribution);
		if (!class->attribution) {
			return false;
		}
	}
	attribution_fill(class->attribution, class, tracker->requested);
	return true;
}

void tracker_release(struct event_class *class)
{
	free(class->attribution);
	class->attribution = NULL;
}

/* ---- statistics: written by the consumer, read by any thread ---- */

static void publish_table(struct tracker *tracker, enum tracker_table table, uint64_t entries,
			  uint64_t evictions)
{
	atomic_store_explicit(&tracker->entries[table], entries, memory_order_relaxed);
	atomic_store_explicit(&tracker->evictions[table], evictions, memory_order_relaxed);
}

void tracker_publish_requests(struct tracker *tracker)
{
	publish_table(tracker, TABLE_IRP, tracker->requests.count, tracker->requests.evictions);
}

void tracker_publish(struct tracker *tracker)
{
	const struct lifetimes *processes = &tracker->processes.timeline.table;
	const struct lifetimes *process_images = &tracker->processes.images.table;
	const struct lifetimes *threads = &tracker->threads.timeline.table;
	const struct lifetimes *keys = &tracker->files.keys.table;
	const struct lifetimes *objects = &tracker->files.objects.table;
	const struct lifetimes *images = &tracker->drivers.timeline.table;

	publish_table(tracker, TABLE_PROCESS, (uint64_t)processes->count + process_images->count,
		      processes->evictions + process_images->evictions +
			      tracker->gauges.refused_processes + tracker->image_info.refused);
	publish_table(tracker, TABLE_THREAD, threads->count,
		      threads->evictions + tracker->gauges.refused_threads +
			      tracker->scheduler.ready.evictions +
			      tracker->services.tags.table.evictions + tracker->services.refused);
	publish_table(tracker, TABLE_FILE, (uint64_t)keys->count + objects->count,
		      keys->evictions + objects->evictions);
	publish_table(tracker, TABLE_IMAGE, images->count,
		      images->evictions + tracker->drivers.refused);
	tracker_publish_requests(tracker);
}

const char *tracker_table_name(enum tracker_table table)
{
	static const char *const names[TABLE_COUNT] = { "process", "thread", "file", "irp",
							"image",   "pair",   "gauge" };

	return names[table];
}

const char *tracker_miss_name(enum tracker_miss reason)
{
	static const char *const names[MISS_COUNT] = { "thread", "process", "file", "disk" };

	return names[reason];
}

void tracker_statistics(const struct tracker *tracker, struct tracker_statistics *statistics)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		statistics->entries[i] =
			atomic_load_explicit(&tracker->entries[i], memory_order_relaxed);
		statistics->evictions[i] =
			atomic_load_explicit(&tracker->evictions[i], memory_order_relaxed);
	}
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		statistics->unattributed[i] =
			atomic_load_explicit(&tracker->unattributed[i], memory_order_relaxed);
	}
}

/* ---- making and freeing ---- */

/* The announcements that each feature needs, and the kernel flags for them in a live session. */
static const struct {
	uint32_t feature, announces, kernel_flags;
} features[] = {
	{ TRACK_FILES, ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT | ANNOUNCES_VOLUME,
	  KERNEL_FLAG_DISK_FILE_IO | KERNEL_FLAG_FILE_IO_INIT },
	{ TRACK_REQUESTS, ANNOUNCES_REQUEST | ANNOUNCES_REQUEST_END,
	  KERNEL_FLAG_FILE_IO | KERNEL_FLAG_FILE_IO_INIT },
	{ TRACK_DRIVERS, ANNOUNCES_IMAGE, KERNEL_FLAG_IMAGE_LOAD },
	{ TRACK_SCHEDULER, ANNOUNCES_SWITCH | ANNOUNCES_READY,
	  KERNEL_FLAG_CSWITCH | KERNEL_FLAG_DISPATCHER },
	{ TRACK_SERVICES, ANNOUNCES_TAG | ANNOUNCES_SERVICE, 0 },
};

uint32_t tracker_kernel_flags(uint32_t enabled_features)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		flags |= (enabled_features & features[i].feature) ? features[i].kernel_flags : 0;
	}
	return flags;
}

static uint32_t requested_announcements(const struct tracker_options *options)
{
	uint32_t requested = ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE | ANNOUNCES_LATER |
			     ANNOUNCES_THREAD;

	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		requested |= (options->features & features[i].feature) ? features[i].announces : 0;
	}
	if (options->top_paths) {
		requested |= ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT | ANNOUNCES_VOLUME |
			     ANNOUNCES_WRITE;
	}
	if (options->image_info) {
		requested |= ANNOUNCES_IMAGE;
	}
	if (options->disk_info) {
		requested |= ANNOUNCES_DISK | ANNOUNCES_PARTITION | ANNOUNCES_TRANSFER;
	}
	return requested;
}

static void forget_record(struct tracker *tracker)
{
	tracker->now =
		(struct tracker_record){ .record = &no_record, .attribution = &no_attribution };
}

static bool make_parts(struct tracker *tracker, struct error *err)
{
	const struct tracker_options *options = &tracker->options;
	struct registry *registry = options->registry;
	struct names *names = options->names;

	if (!names) {
		names = names_new(registry, options->processes, options->lower_case, err);
		tracker->own_names = names;
	}
	if (!names) {
		return false;
	}
	processes_init(&tracker->processes, registry, names, options->processes);
	threads_init(&tracker->threads, options->threads);
	drivers_init(&tracker->drivers, registry);
	recent_init(&tracker->requests, REQUEST_SETS);
	scheduler_init(&tracker->scheduler);
	services_init(&tracker->services, registry, options->threads);
	tracker->texts = intern_new(options->strings_bytes, err);
	if (!tracker->texts ||
	    !files_init(&tracker->files, registry, tracker->texts, options->files, err)) {
		return false;
	}
	if (options->path_group_count > 0) {
		tracker->file_groups = file_groups_new(registry, options->path_groups,
						       options->path_group_count, err);
		tracker->files.groups = tracker->file_groups;
		if (!tracker->file_groups) {
			return false;
		}
	}
	if (options->process_gauges &&
	    !process_gauges_init(&tracker->gauges, registry, options->shard, options->processes,
				 options->threads, err)) {
		return false;
	}
	if (options->image_info && !image_info_init(&tracker->image_info, registry, options->shard,
						    options->processes, err)) {
		return false;
	}
	if (options->top_paths &&
	    !top_paths_init(&tracker->top_paths, registry, options->shard, &tracker->files,
			    options->top_path_count ? options->top_path_count : TOP_PATHS, err)) {
		return false;
	}
	return disks_init(&tracker->disks, registry, options->shard, options->disk_info, err);
}

struct tracker *tracker_new(const struct tracker_options *options, struct error *err)
{
	struct tracker *tracker = calloc(1, sizeof *tracker);

	if (!tracker) {
		error_set(err, ERROR_NO_MEMORY, "no memory for a tracker");
		return NULL;
	}
	tracker->options = *options;
	tracker->options.processes = options->processes ? options->processes : PROCESSES;
	tracker->options.threads = options->threads ? options->threads : THREADS;
	tracker->options.files = options->files ? options->files : FILES;
	tracker->options.strings_bytes = options->strings_bytes ? options->strings_bytes :
								  STRINGS_BYTES;
	tracker->requested = requested_announcements(options);
	forget_record(tracker);
	if (!make_parts(tracker, err)) {
		tracker_free(tracker);
		return NULL;
	}
	return tracker;
}

void tracker_reset(struct tracker *tracker)
{
	forget_record(tracker);
	tracker->in_first_pass = false;
	processes_clear(&tracker->processes);
	threads_clear(&tracker->threads);
	files_clear(&tracker->files);
	drivers_clear(&tracker->drivers);
	recent_clear(&tracker->requests);
	scheduler_clear(&tracker->scheduler);
	services_clear(&tracker->services);
	process_gauges_clear(&tracker->gauges);
	image_info_clear(&tracker->image_info);
	disks_clear(&tracker->disks);
	top_paths_clear(&tracker->top_paths);
	tracker_publish(tracker);
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker) {
		return;
	}
	processes_done(&tracker->processes);
	threads_done(&tracker->threads);
	files_done(&tracker->files);
	file_groups_free(tracker->file_groups);
	drivers_done(&tracker->drivers);
	recent_done(&tracker->requests);
	scheduler_done(&tracker->scheduler);
	services_done(&tracker->services);
	process_gauges_done(&tracker->gauges);
	image_info_done(&tracker->image_info);
	disks_done(&tracker->disks);
	top_paths_done(&tracker->top_paths);
	names_free(tracker->own_names);
	intern_free(tracker->texts);
	text_free(&tracker->scratch);
	text_free(&tracker->scratch_too);
	free(tracker);
}
