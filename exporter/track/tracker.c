/* SPDX-License-Identifier: MIT */
/*
 * A tracker: its parts, its two passes over a recording, and its statistics.
 *
 * Events name processes, threads, files and drivers by ids, and only other events say what an id
 * means. Ids are reused, so each meaning has a lifetime: from its start to its stop, or from a
 * rundown record on. The tracker collects these lifetimes in timelines (lifetimes.h) and answers
 * what an id meant at the time of a record.
 *
 * Live, events arrive in time order, and tracker_observe() adds what each record announces before
 * rules read it. A recording can contain a name after the events that need it, because the rundown
 * at its end names what ran all the time. Therefore it is read twice. The first pass only collects
 * changes, in file order; tracker_first_pass_end() sorts them and builds the timelines. The second
 * pass is like a live session, except that complete timelines ignore the changes that they already
 * have. Facts without a lifetime are collected in the second pass only: requests under way, the
 * scheduler, and the values of state gauges.
 *
 * The set `enabled` of announcements decides what a tracker collects. It always includes those of
 * processes and threads; the others are added by a feature that a derived field needs, or by a
 * gauge of a collector. Event classes are resolved against this set (attribution.c), so a record
 * that announces nothing costs one comparison. A new announcement needs a bit, rows in
 * attribution.c, a function in announce.c and, unless it is always on, a place in
 * tracker_enabled_by().
 *
 * Only the consumer uses the tables. It publishes their statistics as atomics for other threads.
 */
#include <etw/kernel.h>

#include "exporter/track/tracker.h"
#include "exporter/track/tracker_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	PROCESSES = 20000,
	THREADS = 200000,
	FILES = 200000,
	REQUEST_SETS = 8192,
	/* How long after its end an instance may still be meant, in addition to the time by
	 * which events may be late. A full table loses nothing by dropping instances that ended
	 * before that. */
	GRACE_MS = 10000,
};

#define STRINGS_BYTES ((size_t)64 << 20)

/* Stands for the current record when there is none. */
static const struct etw_guid no_provider;
static const struct etw_record no_record = {
	.provider = &no_provider,
	.payload = no_provider.bytes,
	.process_id = ETW_RECORD_NO_ID,
	.thread_id = ETW_RECORD_NO_ID,
	.pointer_size = 8,
	.raw_time = ETW_RECORD_NO_TIME,
	.time = ETW_RECORD_NO_TIME,
};

/* ---- statistics: written by the consumer, read by any thread ---- */

static void publish_table(struct tracker *tracker, enum tracker_table table, uint64_t entries,
			  uint64_t evictions)
{
	atomic_store_explicit(&tracker->entries[table], entries, memory_order_relaxed);
	atomic_store_explicit(&tracker->evictions[table], evictions, memory_order_relaxed);
}

static void publish_requests(struct tracker *tracker)
{
	publish_table(tracker, TABLE_IRP, tracker->requests.count, tracker->requests.evictions);
}

void tracker_publish_disk_cause(struct tracker *tracker)
{
	publish_table(tracker, TABLE_DISK_CAUSE, disk_cause_entries(&tracker->disk_cause),
		      disk_cause_evictions(&tracker->disk_cause));
}

void tracker_publish_shares(struct tracker *tracker)
{
	publish_table(tracker, TABLE_SHARE, tracker->files.volumes.shares.count,
		      tracker->files.volumes.refused_shares);
}

void tracker_publish_all(struct tracker *tracker)
{
	const struct lifetimes *processes = &tracker->processes.timeline.table;
	const struct lifetimes *process_images = &tracker->processes.images.table;
	const struct lifetimes *threads = &tracker->threads.timeline.table;
	const struct lifetimes *keys = &tracker->files.keys.table;
	const struct lifetimes *objects = &tracker->files.objects.table;
	const struct lifetimes *images = &tracker->drivers.timeline.table;

	publish_table(tracker, TABLE_PROCESS, (uint64_t)processes->count + process_images->count,
		      processes->evictions + process_images->evictions +
			      tracker->gauges.refused_processes + tracker->image_info.refused +
			      tracker->process_info.refused + tracker->memory.refused +
			      tracker->processes.identities.refused +
			      names_refused(tracker->processes.names));
	publish_table(tracker, TABLE_THREAD, threads->count,
		      threads->evictions + tracker->gauges.refused_threads +
			      tracker->scheduler.ready.evictions + tracker->stack_owners.evictions +
			      tracker->services.tags.table.evictions + tracker->services.refused);
	publish_table(tracker, TABLE_FILE, (uint64_t)keys->count + objects->count,
		      keys->evictions + objects->evictions);
	publish_table(tracker, TABLE_IMAGE, images->count,
		      images->evictions + tracker->drivers.refused);
	tracker_publish_disk_cause(tracker);
	tracker_publish_shares(tracker);
	publish_requests(tracker);
}

const char *tracker_table_name(enum tracker_table table)
{
	static const char *const names[TABLE_COUNT] = { "process", "thread", "file",
							"irp",     "image",  "disk_cause",
							"share",   "pair",   "gauge" };

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
	for (unsigned i = 0; i < FILE_BYTES_COUNT; i++) {
		statistics->file_bytes[i] =
			atomic_load_explicit(&tracker->file_bytes[i], memory_order_relaxed);
	}
	statistics->repeated = atomic_load_explicit(&tracker->repeated, memory_order_relaxed);
}

/* ---- making and ending ---- */

/* What each feature collects from records, and the kernel flags that enable the events for it. */
static const struct {
	uint32_t feature, announces, kernel_flags;
} features[] = {
	{ TRACK_FILES,
	  ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT | ANNOUNCES_VOLUME | ANNOUNCES_FILE_BYTES,
	  ETW_KERNEL_FLAG_DISK_FILE_IO | ETW_KERNEL_FLAG_FILE_IO_INIT },
	{ TRACK_REQUESTS, ANNOUNCES_REQUEST | ANNOUNCES_REQUEST_END,
	  ETW_KERNEL_FLAG_FILE_IO | ETW_KERNEL_FLAG_FILE_IO_INIT },
	{ TRACK_DRIVERS, ANNOUNCES_IMAGE, ETW_KERNEL_FLAG_IMAGE_LOAD },
	{ TRACK_SCHEDULER, ANNOUNCES_SWITCH | ANNOUNCES_READY,
	  ETW_KERNEL_FLAG_CSWITCH | ETW_KERNEL_FLAG_DISPATCHER },
	{ TRACK_SERVICES, ANNOUNCES_TAG | ANNOUNCES_SERVICE, 0 },
	{ TRACK_OWNERS, 0, 0 },
	{ TRACK_SOURCES, 0, 0 },
};

uint32_t tracker_kernel_flags(uint32_t enabled)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		flags |= (enabled & features[i].feature) ? features[i].kernel_flags : 0;
	}
	return flags;
}

uint32_t tracker_enabled_by(const struct tracker_options *options)
{
	uint32_t enabled = ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE | ANNOUNCES_LATER |
			   ANNOUNCES_THREAD | ANNOUNCES_STACK;

	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		enabled |= (options->features & features[i].feature) ? features[i].announces : 0;
	}
	if (options->top_paths) {
		enabled |= ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT | ANNOUNCES_VOLUME |
			   ANNOUNCES_WRITE;
	}
	if (options->disk_cause) {
		enabled |= ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT | ANNOUNCES_FILE_USE |
			   ANNOUNCES_DISK_BYTES | ANNOUNCES_VIEW | ANNOUNCES_ID_CHANGE;
	}
	if (options->image_info) {
		enabled |= ANNOUNCES_IMAGE | ANNOUNCES_VOLUME;
	}
	if (options->process_memory) {
		enabled |= ANNOUNCES_MEMORY;
	}
	if (options->disk_info) {
		enabled |= ANNOUNCES_DISK | ANNOUNCES_PARTITION | ANNOUNCES_TRANSFER;
	}
	return enabled;
}

void tracker_forget_record(struct tracker *tracker)
{
	tracker->now =
		(struct tracker_record){ .record = &no_record, .attribution = &no_attribution };
}

static void set_grace(struct tracker *tracker)
{
	const struct tracker_options *options = &tracker->options;
	struct timeline *timelines[] = {
		&tracker->processes.timeline, &tracker->processes.images,
		&tracker->threads.timeline,   &tracker->services.tags,
		&tracker->files.keys,         &tracker->files.objects,
		&tracker->drivers.timeline,
	};

	for (size_t i = 0; i < sizeof timelines / sizeof timelines[0]; i++) {
		timelines[i]->table.grace_ticks =
			etw_ticks_of_ms(options->late_ms + GRACE_MS, options->clock->frequency);
	}
}

/* Returns the role of the current record's file. An unknown path is not counted as a miss here. */
static enum file_role role_of_file(void *context)
{
	struct tracker *tracker = context;
	size_t size;
	const char *path = files_path(&tracker->files, tracker_find_file(tracker), &size);

	return path ? file_role_of(path, size) : FILE_ROLE_UNKNOWN;
}

bool tracker_make_disk_cause(struct tracker *tracker, struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;

	disk_cause_init(&tracker->disk_cause, CAUSE_FILES, role_of_file, tracker);
	return !options->disk_cause ||
	       disk_cause_count_in(&tracker->disk_cause, options->registry, options->shard, err);
}

static bool make_parts(struct tracker *tracker, struct etw_error *err)
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
	processes_init(&tracker->processes, registry, names, options->processes,
		       options->strings_bytes);
	if (options->find_account) {
		tracker->account_lookup = account_lookup_new(options->find_account, err);
		if (!tracker->account_lookup) {
			return false;
		}
	}
	tracker->processes.identities.lookup = tracker->account_lookup;
	tracker->processes.identities.keeps = options->live;
	if (!processes_set_rules(&tracker->processes, options->process_names,
				 options->process_names_most,
				 (options->features & TRACK_OWNERS) != 0, err)) {
		return false;
	}
	threads_init(&tracker->threads, options->threads);
	tracker->stack_owners.limit = (size_t)options->threads * STACKS_PER_THREAD;
	drivers_init(&tracker->drivers, registry);
	recent_init(&tracker->requests, REQUEST_SETS);
	scheduler_init(&tracker->scheduler);
	services_init(&tracker->services, registry, options->threads);
	tracker->texts = intern_new(options->strings_bytes, err);
	if (!tracker->texts ||
	    !files_init(&tracker->files, registry, tracker->texts, options->files, err) ||
	    !files_set_groups(&tracker->files, options->path_groups, options->path_group_count,
			      err)) {
		return false;
	}
	files_set_shares(&tracker->files, options->shares);
	set_grace(tracker);
	if (options->path_group_count > 0 &&
	    !files_count_ungrouped(&tracker->files, options->shard, err)) {
		return false;
	}
	if (options->process_gauges &&
	    !process_gauges_init(&tracker->gauges, registry, options->shard, options->processes,
				 options->threads, err)) {
		return false;
	}
	if (options->process_memory &&
	    !process_memory_init(&tracker->memory, registry, options->shard, options->processes,
				 err)) {
		return false;
	}
	if (options->image_info &&
	    !info_metric_init(&tracker->image_info, &image_info_family, registry, options->shard,
			      options->processes, err)) {
		return false;
	}
	if (options->process_info &&
	    !info_metric_init(&tracker->process_info, &process_info_family, registry,
			      options->shard, options->processes, err)) {
		return false;
	}
	if (options->top_paths && !top_paths_init(&tracker->top_paths, registry, options->shard,
						  &tracker->files, options->top_path_count, err)) {
		return false;
	}
	if (!tracker_make_disk_cause(tracker, err)) {
		return false;
	}
	return !options->disk_info || disks_init(&tracker->disks, registry, options->shard, err);
}

void tracker_set_defaults(struct tracker_options *options)
{
	options->processes = options->processes ? options->processes : PROCESSES;
	options->threads = options->threads ? options->threads : THREADS;
	options->files = options->files ? options->files : FILES;
	options->strings_bytes = options->strings_bytes ? options->strings_bytes : STRINGS_BYTES;
	options->top_path_count = options->top_path_count ? options->top_path_count : TOP_PATHS;
}

struct tracker *tracker_new(const struct tracker_options *options, struct etw_error *err)
{
	struct tracker *tracker = calloc(1, sizeof *tracker);

	if (!tracker) {
		error_no_memory(err, "a tracker");
		return NULL;
	}
	tracker->options = *options;
	tracker_set_defaults(&tracker->options);
	tracker->enabled = tracker_enabled_by(options);
	tracker->kernel_subjects = options->kernel_subjects;
	tracker->none = registry_none(options->registry);
	tracker->observed_time = ETW_RECORD_NO_TIME;
	tracker_forget_record(tracker);
	if (!make_parts(tracker, err)) {
		tracker_free(tracker);
		return NULL;
	}
	return tracker;
}

/* Clears what belongs to one pass and frees its memory. */
static void clear_tables(struct tracker *tracker)
{
	processes_clear(&tracker->processes);
	threads_clear(&tracker->threads);
	stack_owners_clear(&tracker->stack_owners);
	tracker_note_drops(tracker);
	files_clear(&tracker->files);
	drivers_clear(&tracker->drivers);
	recent_clear(&tracker->requests);
	scheduler_clear(&tracker->scheduler);
	services_clear(&tracker->services);
	disk_cause_clear(&tracker->disk_cause);
}

void tracker_reset(struct tracker *tracker)
{
	tracker_forget_record(tracker);
	tracker->in_first_pass = false;
	tracker->observed_time = ETW_RECORD_NO_TIME;
	clear_tables(tracker);
	process_gauges_clear(&tracker->gauges);
	process_memory_clear(&tracker->memory);
	info_metric_clear(&tracker->image_info);
	info_metric_clear(&tracker->process_info);
	disks_clear(&tracker->disks);
	top_paths_clear(&tracker->top_paths);
	for (unsigned i = 0; i < FILE_BYTES_COUNT; i++) {
		atomic_store_explicit(&tracker->file_bytes[i], 0, memory_order_relaxed);
	}
	tracker_publish_all(tracker);
}

/* The gauges keep their last values, because they may be shown after the tracker is freed. */
void tracker_free(struct tracker *tracker)
{
	if (!tracker) {
		return;
	}
	clear_tables(tracker);
	processes_done(&tracker->processes);
	account_lookup_free(tracker->account_lookup);
	files_done(&tracker->files);
	process_gauges_done(&tracker->gauges);
	process_memory_done(&tracker->memory);
	info_metric_done(&tracker->image_info);
	info_metric_done(&tracker->process_info);
	top_paths_done(&tracker->top_paths);
	names_free(tracker->own_names);
	intern_free(tracker->texts);
	text_free(&tracker->scratch);
	text_free(&tracker->second_scratch);
	text_free(&tracker->third_scratch);
	free(tracker);
}

/* ---- the first pass ---- */

/* Applies a function to the timelines that need no other work. That of processes does: names are
 * resolved between the passes. */
static void for_each_timeline(struct tracker *tracker, void (*apply)(struct timeline *timeline))
{
	apply(&tracker->threads.timeline);
	apply(&tracker->services.tags);
	apply(&tracker->files.keys);
	apply(&tracker->files.objects);
	apply(&tracker->drivers.timeline);
}

static void begin_first_pass(struct tracker *tracker)
{
	tracker->in_first_pass = true;
	memset(tracker->announced_threads, 0, sizeof tracker->announced_threads);
	processes_begin_first_pass(&tracker->processes);
	for_each_timeline(tracker, timeline_begin_first_pass);
}

bool tracker_first_pass(struct tracker *tracker, const struct etw_record *record,
			const struct etw_event_class *class)
{
	uint32_t announces = class->attribution->announces & ANNOUNCES_IN_FIRST_PASS;

	if (!tracker->in_first_pass) {
		begin_first_pass(tracker);
	}
	if (announces) {
		tracker->now.record = record;
		tracker->now.attribution = class->attribution;
		if (announces == ANNOUNCES_STACK) {
			tracker_announce_stack(tracker);
		} else {
			tracker_announce(tracker, announces);
		}
	}
	return (announces & ANNOUNCES_LATER) != 0;
}

static bool is_unknown_thread(void *context, uint32_t thread_id)
{
	struct tracker *tracker = context;

	return threads_process(&tracker->threads, thread_id, LIFETIME_ALWAYS) == ETW_RECORD_NO_ID;
}

void tracker_first_pass_end(struct tracker *tracker)
{
	if (!tracker->in_first_pass) {
		begin_first_pass(
			tracker); /* the recording had no records, so no first pass has begun */
	}
	tracker->in_first_pass = false;
	tracker_forget_record(tracker);
	processes_build(&tracker->processes, (tracker->kernel_subjects & SUBJECT_PROCESSES) != 0);
	for_each_timeline(tracker, timeline_build);
	stack_owners_keep(&tracker->stack_owners, is_unknown_thread, tracker);
	tracker_note_drops(tracker);
	drivers_sort(&tracker->drivers);
	tracker_publish_all(tracker);
}

/* ---- in time order ---- */

/* Returns whether tracker_count() must be called for the record. */
static inline bool has_counts(const struct tracker *tracker, uint32_t announces)
{
	return (announces & ANNOUNCES_COUNTED) || tracker->options.top_paths;
}

/* A function of its own, as few events announce something. */
static NOINLINE bool announce_observed(struct tracker *tracker, uint32_t announces)
{
	uint32_t now = announces & ~(uint32_t)ANNOUNCES_ELSEWHERE;

	tracker->now.started = false;
	tracker->now.switched = (struct scheduler_switch){ ETW_RECORD_NO_TIME, ETW_RECORD_NO_TIME };
	tracker_announce(tracker, now);
	if (now & (ANNOUNCES_IN_FIRST_PASS | ANNOUNCES_PARTITION)) {
		tracker_publish_all(tracker);
	} else if (now & (ANNOUNCES_REQUEST | ANNOUNCES_REQUEST_END)) {
		publish_requests(tracker);
	}
	return has_counts(tracker, announces);
}

bool tracker_observe(struct tracker *tracker, const struct etw_record *record,
		     const struct etw_event_class *class)
{
	struct tracker_record *now = &tracker->now;
	uint32_t announces = class->attribution->announces;

	now->record = record;
	now->attribution = class->attribution;
	now->process_known = false;
	now->file_known = false;
	if (record->raw_time > tracker->observed_time) { /* it may be late */
		tracker->observed_time = record->raw_time;
	}
	return announces & ~(uint32_t)ANNOUNCES_ELSEWHERE ? announce_observed(tracker, announces) :
							    has_counts(tracker, announces);
}

void tracker_learn(struct tracker *tracker, const struct etw_record *record,
		   const struct etw_event_class *class)
{
	uint32_t announces =
		class->attribution->announces &
		(ANNOUNCES_FILE_KEY | ANNOUNCES_DISK | ANNOUNCES_PARTITION | ANNOUNCES_SERVICE);

	if (announces == 0) {
		return;
	}
	tracker_forget_record(tracker);
	tracker->now.record = record;
	tracker->now.attribution = class->attribution;
	tracker->now.learned = true;
	tracker_announce(tracker, announces);
	tracker_forget_record(tracker);
	tracker_publish_all(tracker);
}

void tracker_report_alive(struct tracker *tracker, const struct etw_record *next)
{
	processes_report_alive(&tracker->processes, tracker->options.clock, next->raw_time,
			       next->time);
}

void tracker_each_process(const struct tracker *tracker,
			  void (*visit)(void *context, uint32_t process_id, uint32_t name,
					uint32_t image),
			  void *context)
{
	processes_each(&tracker->processes, visit, context);
}

void tracker_end(struct tracker *tracker)
{
	top_paths_end(&tracker->top_paths);
}

/* ---- what a live session found ---- */

void tracker_name_process(struct tracker *tracker, uint32_t process_id, const char *name,
			  size_t size)
{
	processes_found(&tracker->processes, process_id, name, size);
}

void tracker_own_thread(struct tracker *tracker, uint32_t thread_id, uint32_t process_id)
{
	threads_found(&tracker->threads, thread_id, process_id);
}

bool tracker_uses_volumes(const struct tracker *tracker)
{
	return (tracker->enabled & ANNOUNCES_VOLUME) != 0;
}

bool tracker_uses_disks(const struct tracker *tracker)
{
	return (tracker->enabled & ANNOUNCES_DISK) != 0;
}

bool tracker_uses_memory(const struct tracker *tracker)
{
	return (tracker->enabled & ANNOUNCES_MEMORY) != 0;
}

bool tracker_uses_services(const struct tracker *tracker)
{
	return (tracker->enabled & ANNOUNCES_SERVICE) != 0;
}

void tracker_map_volume(struct tracker *tracker, const char *nt_path, const char *dos_path)
{
	if (tracker_uses_volumes(tracker)) {
		files_find_volume(&tracker->files, nt_path, dos_path);
	}
}

void tracker_find_disk(struct tracker *tracker, uint32_t disk, const char *model,
		       uint32_t bytes_per_sector)
{
	disks_find(&tracker->disks, disk, model, bytes_per_sector);
}

void tracker_find_partition(struct tracker *tracker, uint32_t disk, uint32_t partition,
			    const char *volume, const char *file_system)
{
	disks_find_volume(&tracker->disks, disk, partition, volume, file_system);
}

void tracker_find_service(struct tracker *tracker, uint32_t process_id, uint32_t tag,
			  const char *name)
{
	if (tracker_uses_services(tracker)) {
		services_find(&tracker->services, process_id, tag, name);
	}
}

static uint32_t label_of_process(void *context, uint32_t process_id)
{
	return tracker_label(context, process_id);
}

void tracker_read_memory(struct tracker *tracker, const struct etw_process_memory *list,
			 size_t count)
{
	struct etw_record now = *tracker->now.record;

	/* The labels are those at the time of the latest record. */
	now.raw_time = tracker->observed_time;
	tracker->now.record = &now;
	process_memory_read_list(&tracker->memory, list, count, label_of_process, tracker);
	tracker_forget_record(tracker);
	tracker_publish_all(tracker);
}

size_t tracker_unseen_processes(struct tracker *tracker)
{
	return processes_unseen(&tracker->processes);
}

/* ---- state gauges ---- */

#define MEMORY_EVENTS \
	"PageFault/ProcessMemInfo, Microsoft-Windows-Kernel-Memory/2, the system's list of processes"

const struct state_gauge state_gauges[] = {
	{ "etw_process_instances", "process", "Process/*, Microsoft-Windows-Kernel-Process", true },
	{ "etw_process_threads", "process",
	  "Thread/Start, Thread/Stop, Thread/DCStart, Thread/DCStop", false },
	{ "etw_process_working_set_bytes", "process_memory", MEMORY_EVENTS, true },
	{ "etw_process_private_working_set_bytes", "process_memory", MEMORY_EVENTS, true },
	{ "etw_process_commit_bytes", "process_memory", MEMORY_EVENTS, true },
	{ "etw_process_handles", "process_memory", "the system's list of processes", true },
	{ "etw_process_image_info", "image",
	  "Process/Start, Process/DCStart, Image/Load, Image/DCStart", false },
	{ "etw_process_info", "process_info", "Process/*, Microsoft-Windows-Kernel-Process", true },
	{ "etw_file_top_written_bytes", "file_top",
	  "FileIo/Write, Microsoft-Windows-Kernel-File/16", true },
	{ "etw_disk_info", "disk", "SystemConfig/PhyDisk", false },
	{ "etw_disk_volume_info", "disk", "SystemConfig/LogDisk", false },
	{ "etw_disk_caused_read_bytes_total", "disk_cause",
	  "DiskIo/Read, FileIo/Read, FileIo/FltRead", false },
	{ "etw_disk_caused_written_bytes_total", "disk_cause",
	  "DiskIo/Write, FileIo/Write, FileIo/FltWrite, FileIo/MapFile", false },
	{ NULL, NULL, NULL, false },
};

bool state_gauges_without_kernel(const char *collector)
{
	for (const struct state_gauge *row = state_gauges; row->family; row++) {
		if (row->without_kernel && strcmp(row->collector, collector) == 0) {
			return true;
		}
	}
	return false;
}

bool state_gauges_have_series(struct registry *registry, const char *collector)
{
	for (const struct state_gauge *row = state_gauges; row->family; row++) {
		const struct family *family = strcmp(row->collector, collector) == 0 ?
						      registry_find_family(registry, row->family) :
						      NULL;

		if (family && family_series(family) > 0) {
			return true;
		}
	}
	return false;
}
