/* SPDX-License-Identifier: MIT */
/*
 * Changes the configuration of a running tracker.
 *
 * The tables stay, because nothing announces their contents again: a process that started an hour
 * ago keeps its name. Tables that no rule needs any more are emptied, and a new feature learns from
 * the next record on, as at the start of a session. Running processes and threads are known without
 * any feature, so their gauges begin with them. A live session announces its disks again
 * (sink_changed in source.h); a recording describes them at its own places.
 *
 * When a gauge is switched off, the tracker subtracts what it has added. The family leaves the
 * page, but may return in a later configuration, and must not show values that are out of date
 * then.
 */
#include <string.h>

#include "exporter/track/tracker_internal.h"

/* ---- families ---- */

struct prepared {
	struct registry *registry;
	struct family **families;
	size_t *count;
	struct etw_error *err;
};

static bool prepare(const struct prepared *to, const struct family_options *options)
{
	struct family *family = registry_prepare(to->registry, options, to->err);

	if (family) {
		to->families[(*to->count)++] = family;
	}
	return family != NULL;
}

bool tracker_prepare_gauges(struct registry *registry, const struct tracker_options *options,
			    struct family **families, size_t *count, struct etw_error *err)
{
	const struct prepared to = { registry, families, count, err };

	_Static_assert(TRACKER_GAUGES == PROCESS_GAUGES + PROCESS_MEMORY_FAMILIES + DISKS_FAMILIES +
						 CAUSE_FAMILIES + 3,
		       "all of them");
	for (unsigned i = 0; options->process_memory && i < PROCESS_MEMORY_FAMILIES; i++) {
		if (!prepare(&to, &process_memory_families[i])) {
			return false;
		}
	}
	return (!options->process_gauges || (prepare(&to, &process_gauges_families[0]) &&
					     prepare(&to, &process_gauges_families[1]))) &&
	       (!options->disk_info ||
		(prepare(&to, &disks_families[0]) && prepare(&to, &disks_families[1]))) &&
	       (!options->disk_cause ||
		(prepare(&to, &disk_cause_families[0]) && prepare(&to, &disk_cause_families[1]))) &&
	       (!options->image_info || prepare(&to, &image_info_family)) &&
	       (!options->process_info || prepare(&to, &process_info_family)) &&
	       (!options->top_paths || prepare(&to, &top_paths_family));
}

/* ---- gauges ---- */

/* Calls visit for each process that runs and that the gauges count. */
static void each_process(struct tracker *tracker, void (*visit)(void *context, uint64_t key,
								const struct lifetime *instance))
{
	struct processes *processes = &tracker->processes;
	int64_t time = tracker->now.record->raw_time;

	lifetimes_each_at(&processes->timeline.table, time, visit, tracker);
	if (tracker_counts_images(tracker)) {
		lifetimes_each_at(&processes->images.table, time, visit, tracker);
	}
}

static void add_process(void *context, uint64_t key, const struct lifetime *instance)
{
	struct tracker *tracker = context;

	(void)instance;
	process_gauges_process(&tracker->gauges, LIFETIME_EXISTS, (uint32_t)key,
			       tracker_label(tracker, (uint32_t)key),
			       tracker_counts_images(tracker) ? tracker->gauges.second_provider :
								tracker->gauges.provider);
}

static void add_thread(void *context, uint64_t key, const struct lifetime *instance)
{
	struct tracker *tracker = context;
	uint32_t process_id = instance->value > 0 ? instance->value - 1 : ETW_RECORD_NO_ID;

	process_gauges_thread(&tracker->gauges, LIFETIME_EXISTS, (uint32_t)key, process_id,
			      process_id == ETW_RECORD_NO_ID ?
				      registry_unknown(tracker->options.registry) :
				      tracker_label(tracker, process_id));
}

static bool start_process_gauges(struct tracker *tracker, struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;
	const struct process_gauges before = tracker->gauges;
	struct etw_record now = *tracker->now.record;
	bool good = process_gauges_init(&tracker->gauges, options->registry, options->shard,
					options->processes, options->threads, err);

	tracker->gauges.refused_processes = before.refused_processes;
	tracker->gauges.refused_threads = before.refused_threads;
	if (!good || tracker->in_first_pass || tracker->observed_time == ETW_RECORD_NO_TIME) {
		return good;
	}
	/* The labels are those at the time of the latest record. */
	now.raw_time = tracker->observed_time;
	tracker->now.record = &now;
	each_process(tracker, add_process);
	lifetimes_each_at(&tracker->threads.timeline.table, now.raw_time, add_thread, tracker);
	tracker_forget_record(tracker);
	return true;
}

/* Returns whether the processes that a provider announces are shown from now on, or no longer,
 * because another session has become the first. */
static bool images_have_moved(const struct tracker *tracker, const struct tracker_options *before)
{
	return before->processes_of_provider != tracker->options.processes_of_provider &&
	       (tracker->kernel_subjects & SUBJECT_PROCESSES) == 0;
}

static bool change_process_gauges(struct tracker *tracker, const struct tracker_options *before,
				  struct etw_error *err)
{
	bool on = tracker->options.process_gauges;
	bool anew = images_have_moved(tracker, before);

	if (before->process_gauges && (!on || anew)) {
		process_gauges_clear(&tracker->gauges);
		tracker->gauges.instances = tracker->gauges.threads = NULL;
	}
	if (on && (!before->process_gauges || anew)) {
		return start_process_gauges(tracker, err);
	}
	tracker->gauges.process_limit = tracker->options.processes;
	tracker->gauges.thread_limit = tracker->options.threads;
	return true;
}

static bool change_process_memory(struct tracker *tracker, bool was_on, struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;
	struct process_memory *memory = &tracker->memory;
	uint64_t refused = memory->refused;
	bool good = true;

	if (was_on && !options->process_memory) {
		process_memory_clear(memory);
		memory->families[0] = NULL;
	}
	if (!was_on && options->process_memory) {
		good = process_memory_init(memory, options->registry, options->shard,
					   options->processes, err);
		memory->refused = refused;
	}
	memory->limit = options->processes;
	return good;
}

/* Turns an info metric on or off. */
static bool change_info(struct tracker *tracker, struct info_metric *info,
			const struct family_options *declaration, bool on, struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;
	uint64_t refused = info->refused;
	bool good = true;

	if (info->family && !on) {
		info_metric_clear(info);
		info->family = NULL;
	}
	if (!info->family && on) {
		good = info_metric_init(info, declaration, options->registry, options->shard,
					options->processes, err);
		info->refused = refused;
	}
	info->limit = options->processes;
	return good;
}

static void add_info(void *context, uint64_t key, const struct lifetime *instance)
{
	struct tracker *tracker = context;
	uint32_t ids[INFO_LABELS_MAX];

	(void)instance;
	if (tracker_info_labels(tracker, (uint32_t)key, ids)) {
		info_metric_set(&tracker->process_info, (uint32_t)key, ids, LIFETIME_ALWAYS);
	}
}

/* Call it after change_names(), which decides the owners. */
static bool change_process_info(struct tracker *tracker, const struct tracker_options *before,
				struct etw_error *err)
{
	struct info_metric *info = &tracker->process_info;
	struct etw_record now = *tracker->now.record;
	bool had;

	if (info->family && images_have_moved(tracker, before)) {
		info_metric_clear(info);
		info->family = NULL;
	}
	had = info->family != NULL;
	if (!change_info(tracker, info, &process_info_family, tracker->options.process_info, err)) {
		return false;
	}
	if (!had && info->family && !tracker->in_first_pass &&
	    tracker->observed_time != ETW_RECORD_NO_TIME) {
		now.raw_time = tracker->observed_time;
		tracker->now.record = &now;
		each_process(tracker, add_info);
		tracker_forget_record(tracker);
	}
	return true;
}

/* The tracker knows which disks are described with and without the gauges. */
static bool change_disk_info(struct tracker *tracker, bool was_on, struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;
	struct disks *disks = &tracker->disks;
	uint64_t named[DISKS / 64];
	bool good = true;

	if (was_on == options->disk_info) {
		return true;
	}
	memcpy(named, disks->named, sizeof named);
	if (was_on) {
		disks_clear(disks);
		disks->disk_info = disks->volume_info = NULL;
	} else {
		good = disks_init(disks, options->registry, options->shard, err);
	}
	memcpy(disks->named, named, sizeof named);
	return good;
}

static bool change_top_paths(struct tracker *tracker, const struct tracker_options *before,
			     struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;
	struct top_paths *top = &tracker->top_paths;

	if (before->top_paths == options->top_paths &&
	    (!options->top_paths || before->top_path_count == options->top_path_count)) {
		return true;
	}
	if (before->top_paths) {
		family_hide_all(top->family, options->shard);
		top_paths_done(top);
	}
	return !options->top_paths || top_paths_init(top, options->registry, options->shard,
						     &tracker->files, options->top_path_count, err);
}

/* What was counted stays in the counters, so that they continue if they are enabled again. */
static bool change_disk_cause(struct tracker *tracker, bool was_on, struct etw_error *err)
{
	uint64_t evictions = disk_cause_evictions(&tracker->disk_cause);
	bool good = true;

	if (was_on != tracker->options.disk_cause) {
		disk_cause_clear(&tracker->disk_cause);
		good = tracker_make_disk_cause(tracker, err);
		tracker->disk_cause.evictions = evictions;
	}
	return good;
}

static bool change_path_groups(struct tracker *tracker, const struct tracker_options *next,
			       struct etw_error *err)
{
	struct files *files = &tracker->files;
	bool good = files_set_groups(files, next->path_groups, next->path_group_count, err);

	return (next->path_group_count == 0 ||
		files_count_ungrouped(files, tracker->options.shard, err)) &&
	       good;
}

/* ---- names ---- */

/* Returns the label id of a process now; INTERN_NONE if the tables have dropped it. */
static uint32_t label_now(void *context, uint32_t process_id)
{
	struct tracker *tracker = context;

	return processes_label(&tracker->processes, process_id, tracker->now.record->raw_time,
			       NULL);
}

/* An info_labels_function of etw_process_image_info. */
static bool image_labels_now(void *context, uint32_t process_id, uint32_t *ids)
{
	uint32_t label = label_now(context, process_id);

	if (label == INTERN_NONE) {
		return false;
	}
	ids[0] = label;
	return true;
}

/* Names all processes anew. Counters keep what they counted for the former names; gauges move. */
static bool change_names(struct tracker *tracker, struct etw_error *err)
{
	const struct tracker_options *options = &tracker->options;
	struct etw_record now = *tracker->now.record;

	if (!processes_set_rules(&tracker->processes, options->process_names,
				 options->process_names_most,
				 (options->features & TRACK_OWNERS) != 0, err)) {
		return false;
	}
	memset(tracker->recent_owners, 0, sizeof tracker->recent_owners);
	if (!tracker->in_first_pass && tracker->observed_time != ETW_RECORD_NO_TIME) {
		now.raw_time = tracker->observed_time;
		tracker->now.record = &now;
		process_gauges_rename(&tracker->gauges, label_now, tracker);
		info_metric_refresh(&tracker->image_info, image_labels_now, tracker);
		info_metric_refresh(&tracker->process_info, tracker_info_labels, tracker);
		tracker_forget_record(tracker);
	}
	return true;
}

/* ---- tables ---- */

static void set_limits(struct tracker *tracker)
{
	const struct tracker_options *options = &tracker->options;

	timeline_set_limit(&tracker->processes.timeline, options->processes);
	timeline_set_limit(&tracker->processes.images, options->processes);
	threads_set_limit(&tracker->threads, options->threads);
	tracker->stack_owners.limit = (size_t)options->threads * STACKS_PER_THREAD;
	timeline_set_limit(&tracker->files.keys, options->files);
	timeline_set_limit(&tracker->files.objects, options->files);
	files_set_shares(&tracker->files, options->shares);
}

/* gone: set of enum announcement that is no longer collected. */
static void empty_tables(struct tracker *tracker, uint32_t gone)
{
	if (gone & ANNOUNCES_FILE_KEY) {
		timeline_clear(&tracker->files.keys);
		timeline_clear(&tracker->files.objects);
	}
	if (gone & ANNOUNCES_REQUEST) {
		recent_clear(&tracker->requests);
	}
	if (gone & ANNOUNCES_IMAGE) {
		drivers_clear(&tracker->drivers);
	}
	if (gone & ANNOUNCES_SWITCH) {
		scheduler_clear(&tracker->scheduler);
	}
	if (gone & ANNOUNCES_TAG) {
		services_clear(&tracker->services);
	}
}

/* Copies the members that a configuration decides from next. */
static void take_options(struct tracker_options *options, const struct tracker_options *next)
{
	struct tracker_options taken = *next;

	tracker_set_defaults(&taken);
	options->processes = taken.processes;
	options->threads = taken.threads;
	options->files = taken.files;
	options->process_names = taken.process_names;
	options->process_names_most = taken.process_names_most;
	options->path_groups = NULL; /* files_set_groups() has copied them, as at the start */
	options->path_group_count = 0;
	options->process_gauges = taken.process_gauges;
	options->disk_info = taken.disk_info;
	options->process_memory = taken.process_memory;
	options->image_info = taken.image_info;
	options->process_info = taken.process_info;
	options->processes_of_provider = taken.processes_of_provider;
	options->disk_cause = taken.disk_cause;
	options->top_paths = taken.top_paths;
	options->top_path_count = taken.top_path_count;
	options->shares = taken.shares;
	options->features = taken.features;
	options->kernel_subjects = taken.kernel_subjects;
}

bool tracker_change(struct tracker *tracker, const struct tracker_options *next,
		    struct etw_error *err)
{
	const struct tracker_options before = tracker->options;
	uint32_t enabled = tracker->enabled;
	bool good;

	tracker_forget_record(tracker);
	take_options(&tracker->options, next);
	tracker->enabled = tracker_enabled_by(&tracker->options);
	if (tracker->options.live && !tracker->options.attached) {
		tracker->kernel_subjects = next->kernel_subjects;
	}
	if (!tracker->in_first_pass) { /* a first pass still collects changes of all of them */
		empty_tables(tracker, enabled & ~tracker->enabled);
	}
	set_limits(tracker);
	good = change_names(tracker, err);
	good = change_process_gauges(tracker, &before, err) && good;
	good = change_process_memory(tracker, before.process_memory, err) && good;
	good = change_info(tracker, &tracker->image_info, &image_info_family,
			   tracker->options.image_info, err) &&
	       good;
	good = change_process_info(tracker, &before, err) && good;
	good = change_disk_info(tracker, before.disk_info, err) && good;
	good = change_top_paths(tracker, &before, err) && good;
	good = change_disk_cause(tracker, before.disk_cause, err) && good;
	good = change_path_groups(tracker, next, err) && good;
	tracker_publish_all(tracker);
	return good;
}
