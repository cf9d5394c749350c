/* SPDX-License-Identifier: MIT */
/*
 * A tracker for a thread that helps to count a recording.
 *
 * After a first pass that found room for everything, the tracker knows every process, thread, file
 * and driver of the recording with its times, and the second pass changes none of that. So several
 * threads may look it up at the same time. A helper borrows what the tracker knows, and has for
 * itself what a look-up writes: hints, the last processes, and the labels of paths.
 *
 * What the second pass does change stays with the tracker alone: requests under way, the scheduler,
 * and the state that gauges show. The records that change or read it are for the tracker's thread
 * (tracker_shares()). Where even a look-up depends on what came before, there are no helpers
 * (tracker_may_have_helpers()): a table that is too small for the recording drops old files for new
 * ones, shares of the network take places, path groups have a budget of work, services are
 * announced again, program files are hidden when their processes end, and the list of the most
 * written paths wants every record.
 */
#include <stdlib.h>
#include <string.h>

#include "track/tracker_internal.h"

/* What records of several threads may announce: they only add to a sum. The disks that a recording
 * describes are known after the first pass. */
enum { SHARED_ANNOUNCEMENTS = ANNOUNCES_FILE_BYTES | ANNOUNCES_TRANSFER };

bool tracker_may_have_helpers(const struct tracker *tracker)
{
	const struct tracker_options *options = &tracker->options;

	return !tracker->in_first_pass && tracker->processes.timeline.complete &&
	       tracker->processes.images.complete && tracker->threads.timeline.complete &&
	       tracker->drivers.timeline.complete && tracker->drivers.refused == 0 &&
	       tracker->files.keys.complete && tracker->files.objects.complete &&
	       options->shares == 0 && options->path_group_count == 0 && !options->top_paths &&
	       !options->image_info && !(options->features & TRACK_SERVICES);
}

bool tracker_shares(const struct tracker *tracker, const struct event_class *class)
{
	const struct attribution *attribution = class->attribution;
	bool by_scheduler = attribution->owner == OWNER_RUNNING &&
			    (tracker->enabled & ANNOUNCES_SWITCH);

	/* Whether a second source repeats the kernel may not be known from the beginning. */
	return (attribution->announces & ~(uint32_t)SHARED_ANNOUNCEMENTS) == 0 && !by_scheduler &&
	       !attribution->second_source;
}

static bool view_timeline(struct timeline *view, const struct timeline *timeline)
{
	*view = (struct timeline){ .complete = true };
	return lifetimes_view(&view->table, &timeline->table);
}

static bool view_tables(struct tracker *helper, const struct tracker *tracker)
{
	return view_timeline(&helper->files.keys, &tracker->files.keys) &&
	       view_timeline(&helper->files.objects, &tracker->files.objects) &&
	       view_timeline(&helper->processes.timeline, &tracker->processes.timeline) &&
	       view_timeline(&helper->processes.images, &tracker->processes.images) &&
	       view_timeline(&helper->threads.timeline, &tracker->threads.timeline) &&
	       view_timeline(&helper->drivers.timeline, &tracker->drivers.timeline);
}

struct tracker *tracker_new_helper(const struct tracker *tracker)
{
	struct tracker *helper = calloc(1, sizeof *helper);
	const struct drivers *drivers = &tracker->drivers;

	if (!helper) {
		return NULL;
	}
	helper->helps = true;
	helper->options = tracker->options;
	helper->enabled = tracker->enabled;
	helper->none = tracker->none;
	helper->has_file_requests = tracker->has_file_requests;
	helper->processes = (struct processes){ .registry = tracker->processes.registry,
						.idle = tracker->processes.idle,
						.system = tracker->processes.system };
	helper->files = (struct files){ .texts = tracker->files.texts,
					.prefixes = tracker->files.prefixes,
					.volumes = tracker->files.volumes };
	helper->drivers = (struct drivers){ .registry = drivers->registry,
					    .images = drivers->images,
					    .image_count = drivers->image_count,
					    .bases = drivers->bases,
					    .base_count = drivers->base_count };
	memcpy(helper->disks.named, tracker->disks.named, sizeof helper->disks.named);
	tracker_forget_record(helper);
	if (!view_tables(helper, tracker)) {
		tracker_free(helper);
		return NULL;
	}
	tracker_note_drops(helper);
	return helper;
}

void tracker_free_helper(struct tracker *helper)
{
	struct timeline *views[] = {
		&helper->processes.timeline, &helper->processes.images, &helper->threads.timeline,
		&helper->files.keys,         &helper->files.objects,    &helper->drivers.timeline,
	};

	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
		lifetimes_view_done(&views[i]->table);
	}
	free(helper->files.volume_labels.ids);
	free(helper->files.group_labels.ids);
	text_free(&helper->files.scratch);
	text_free(&helper->scratch);
	text_free(&helper->second_scratch);
	free(helper);
}

void tracker_statistics_add_helper(struct tracker_statistics *statistics,
				   const struct tracker *helper)
{
	struct tracker_statistics own;

	tracker_statistics(helper, &own);
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		statistics->unattributed[i] += own.unattributed[i];
	}
	for (unsigned i = 0; i < FILE_BYTES_COUNT; i++) {
		statistics->file_bytes[i] += own.file_bytes[i];
	}
	statistics->repeated += own.repeated;
}
