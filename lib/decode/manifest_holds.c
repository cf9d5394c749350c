/* SPDX-License-Identifier: MIT */
/*
 * Finds the period in which each manifest of a process holds.
 *
 * A process id is reused, and an EventSource announces its manifest when it is enabled, when the
 * session ends, or both. So an announcement holds from its time to the next one of the same id and
 * provider. The first one of a process holds from the start of the process, because its events may
 * precede it. No announcement holds beyond the start or the end of a process with this id. A
 * process without any announcement has no manifest of its own, even if an earlier process with its
 * id had one.
 *
 * Records come in file order, which is not time order, so nothing is decided before
 * manifest_holds_finish(). That function sorts the announcements by provider, process and time, and
 * the starts and ends of processes by process and time; each announcement then becomes a period,
 * `[from, to)`, unless it repeats the one before. A look-up is a binary search. If the recording
 * has no starts and ends of processes, an id is taken for one process, and the last announcement
 * before an event holds.
 *
 * Everything is bounded; beyond a bound new items are not kept, and the functions return false.
 */
#include "lib/decode/manifest_holds.h"

#include <stdlib.h>

#include <etw/kernel.h>
#include <etw/provider.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/memory.h"
#include "lib/decode/kernel_class.h"

enum {
	ANNOUNCEMENTS_MOST = 1 << 20,
	CHANGES_MOST = 1 << 18,
};

/* A start or an end of a process. From `time` on, the id means another process. */
struct process_change {
	uint32_t process_id;
	int64_t time;
};

/* The period [from, to) in which a manifest decodes the events of a process. It ends earlier if the
 * next hold of the process begins before `to`. */
struct manifest_hold {
	uint32_t provider;
	uint32_t process_id;
	int64_t from, to;
	uint32_t manifest;
};

bool manifest_holds_add(struct manifest_holds *holds, struct manifest_announcement *announcement)
{
	struct manifest_announcement *grown =
		holds->announcement_count < ANNOUNCEMENTS_MOST ?
			array_grow(holds->announcements, &holds->announcement_capacity,
				   holds->announcement_count, sizeof *grown) :
			NULL;

	if (!grown) {
		return false;
	}
	holds->announcements = grown;
	announcement->order = (uint32_t)holds->announcement_count;
	holds->announcements[holds->announcement_count++] = *announcement;
	return true;
}

static bool read_process(const struct etw_record *record, uint32_t *process_id)
{
	const struct etw_schema *schema;
	struct etw_field_reader reader;

	if (!record->classic) {
		/* ProcessID is the first field of both, in all versions. */
		if (record->payload_size < 4 ||
		    (record->id != ETW_PROCESS_EVENT_START &&
		     record->id != ETW_PROCESS_EVENT_STOP) ||
		    !etw_provider_is(record->provider, ETW_PROVIDER_KERNEL_PROCESS)) {
			return false;
		}
		*process_id = etw_load_u32(record->payload);
		return true;
	}
	if ((record->opcode != ETW_KERNEL_OPCODE_START &&
	     record->opcode != ETW_KERNEL_OPCODE_STOP) ||
	    !etw_guid_equal(record->provider, etw_kernel_group_guid(ETW_KERNEL_GROUP_PROCESS))) {
		return false;
	}
	schema = kernel_schema(record->provider, record->opcode, record->version);
	if (!schema) {
		return false;
	}
	reader = etw_field_reader_of(schema, etw_schema_find_field(schema, "ProcessId"),
				     record->pointer_size);
	return etw_field_read_u32(&reader, schema, record, process_id);
}

bool process_change_read(const struct etw_record *record, uint32_t *process_id, int64_t *time)
{
	/* Both providers use the opcode numbers: 1 start, 2 end. */
	bool starts = (record->classic ? record->opcode : record->id) == ETW_KERNEL_OPCODE_START;

	if (record->time == ETW_RECORD_NO_TIME || !read_process(record, process_id)) {
		return false;
	}
	/* A record with the same time still belongs to the process that ends. */
	*time = record->time + (!starts && record->time < INT64_MAX);
	return true;
}

bool manifest_holds_look(struct manifest_holds *holds, const struct etw_record *record)
{
	struct process_change change;
	struct process_change *grown;

	if (!process_change_read(record, &change.process_id, &change.time)) {
		return true;
	}
	grown = holds->change_count < CHANGES_MOST ?
			array_grow(holds->changes, &holds->change_capacity, holds->change_count,
				   sizeof *grown) :
			NULL;
	if (!grown) {
		return false;
	}
	holds->changes = grown;
	holds->changes[holds->change_count++] = change;
	return true;
}

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_announcements(const void *left, const void *right)
{
	const struct manifest_announcement *a = left, *b = right;
	int order = compare(a->provider, b->provider);

	order = order ? order : compare(a->process_id, b->process_id);
	order = order ? order : compare(a->time, b->time);
	return order ? order : compare(a->order, b->order);
}

static int compare_changes(const void *left, const void *right)
{
	const struct process_change *a = left, *b = right;
	int order = compare(a->process_id, b->process_id);

	return order ? order : compare(a->time, b->time);
}

/* Returns the index of the first change that has a higher process id, or this id and a later
 * time. */
static size_t changes_after(const struct manifest_holds *holds, uint32_t process_id, int64_t time)
{
	const struct process_change key = { .process_id = process_id, .time = time };
	size_t low = 0, high = holds->change_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_changes(&holds->changes[middle], &key) <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Sets hold->from and hold->to to the known lifetime of the process that had this id at the
 * time. */
static void find_process(const struct manifest_holds *holds, struct manifest_hold *hold,
			 int64_t time)
{
	size_t next = changes_after(holds, hold->process_id, time);

	hold->from = INT64_MIN;
	hold->to = INT64_MAX;
	if (next > 0 && holds->changes[next - 1].process_id == hold->process_id) {
		hold->from = holds->changes[next - 1].time;
	}
	if (next < holds->change_count && holds->changes[next].process_id == hold->process_id) {
		hold->to = holds->changes[next].time;
	}
}

void manifest_holds_finish(struct manifest_holds *holds)
{
	size_t count = holds->announcement_count;

	free(holds->holds);
	holds->count = 0;
	holds->holds = count > 0 ? calloc(count, sizeof *holds->holds) : NULL;
	if (!holds->holds) {
		if (count > 0) {
			memory_note_loss();
		}
		return;
	}
	sort_items(holds->announcements, count, sizeof *holds->announcements,
		   compare_announcements);
	if (holds->change_count > 0) {
		sort_items(holds->changes, holds->change_count, sizeof *holds->changes,
			   compare_changes);
	}
	for (size_t i = 0; i < count; i++) {
		const struct manifest_announcement *announcement = &holds->announcements[i];
		struct manifest_hold *before = holds->count > 0 ? &holds->holds[holds->count - 1] :
								  NULL;
		struct manifest_hold hold = { .provider = announcement->provider,
					      .process_id = announcement->process_id,
					      .manifest = announcement->manifest };

		find_process(holds, &hold, announcement->time);
		if (before && before->provider == hold.provider &&
		    before->process_id == hold.process_id && before->to == hold.to) {
			if (before->manifest == hold.manifest) {
				continue; /* the same process announced it again */
			}
			hold.from = announcement->time;
		}
		holds->holds[holds->count++] = hold;
	}
}

uint32_t manifest_holds_find(const struct manifest_holds *holds, uint32_t provider,
			     const struct etw_record *record)
{
	size_t low = 0, high = holds->count;
	const struct manifest_hold *hold;

	/* Finds the first hold that begins after the time. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order;

		hold = &holds->holds[middle];
		order = compare(hold->provider, provider);
		order = order ? order : compare(hold->process_id, record->process_id);
		order = order ? order : compare(hold->from, record->time);
		if (order <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == 0) {
		return NO_MANIFEST;
	}
	hold = &holds->holds[low - 1];
	return hold->provider == provider && hold->process_id == record->process_id &&
			       record->time < hold->to ?
		       hold->manifest :
		       NO_MANIFEST;
}

void manifest_holds_done(struct manifest_holds *holds)
{
	free(holds->announcements);
	free(holds->changes);
	free(holds->holds);
	*holds = (struct manifest_holds){ .count = 0 };
}
