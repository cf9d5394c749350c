/* SPDX-License-Identifier: MIT */
/*
 * Each load, unload and rundown of an image is noted. At the end the notes are sorted by process,
 * base and time, and become images, each with a period. It lasts from a load to the next unload at
 * the same base. Without a load it starts at the beginning of the recording; without an unload it
 * lasts to the end. A look-up finds the last image whose base is not above the address, and
 * examines a few before it, because images of different periods can overlap.
 */
#include "etwtool/dump/dump.h"

#include <stdlib.h>

#include <etw/kernel.h>
#include <etw/provider.h>
#include <etw/schema.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/intern.h"
#include "base/text.h"

enum {
	NOTES_MOST = 1 << 20, /* some hundred processes with some hundred images each */
	NAMES_BYTES = 16 << 20,
	BACK = 64, /* images before an address that are examined */
};

/* Ids of Microsoft-Windows-Kernel-Process. */
enum { PROCESS_EVENT_IMAGE_LOAD = 5, PROCESS_EVENT_IMAGE_UNLOAD = 6 };

enum change { IMAGE_LOADED, IMAGE_UNLOADED, IMAGE_THERE /* rundown */ };

/* First a note, and after images_finish() an image. */
struct image {
	uint64_t base;
	uint64_t size;
	int64_t from; /* raw times; in a note both are its own time */
	int64_t to;
	uint32_t process_id;
	uint32_t name; /* id in names */
	uint32_t order;
	enum change change; /* used in notes */
};

struct images {
	struct image *images; /* owned */
	size_t count, capacity;
	struct intern *names; /* owned */
	struct etw_text path; /* path of the present record; owned */
	bool no_memory;
};

struct images *images_new(struct etw_error *err)
{
	struct images *images = calloc(1, sizeof *images);

	if (!images) {
		error_no_memory(err, "the images of the recording");
		return NULL;
	}
	images->names = intern_new(NAMES_BYTES, err);
	if (!images->names) {
		images_free(images);
		return NULL;
	}
	return images;
}

void images_free(struct images *images)
{
	if (images) {
		intern_free(images->names);
		text_free(&images->path);
		free(images->images);
		free(images);
	}
}

/* ---- notes ---- */

static uint32_t base_name(struct images *images)
{
	const char *path = images->path.data ? images->path.data : "";
	size_t size = images->path.size, start = size;

	while (start > 0 && path[start - 1] != '\\' && path[start - 1] != '/') {
		start--;
	}
	return intern_add(images->names, path + start, size - start);
}

static void add_note(struct images *images, const struct etw_record *record, struct image image)
{
	struct image *grown;

	images->no_memory |= images->path.failed;
	image.name = base_name(images);
	/* If the names are far from their budget, the cause is missing memory. */
	images->no_memory |= image.name == INTERN_FULL &&
			     intern_spent(images->names) < NAMES_BYTES / 2;
	image.order = (uint32_t)images->count;
	image.from = image.to = record->raw_time;
	if (image.name == INTERN_FULL || image.name == INTERN_NONE || image.size == 0 ||
	    images->count == NOTES_MOST || record->raw_time == ETW_RECORD_NO_TIME) {
		return;
	}
	grown = array_grow(images->images, &images->capacity, images->count, sizeof *grown);
	if (!grown) {
		images->no_memory = true;
		return;
	}
	images->images = grown;
	images->images[images->count++] = image;
}

static bool read_number(const struct etw_schema *schema, const char *name,
			const struct etw_record *record, uint64_t *number)
{
	int index = etw_schema_find_field(schema, name);
	struct etw_field_slice slice;

	if (index < 0 || !etw_field_locate(schema, (unsigned)index, record, &slice)) {
		return false;
	}
	*number = etw_field_u64(&schema->fields[index], &slice);
	return true;
}

/* The oldest layout has no process, so its images are skipped. */
static void learn_kernel_event(struct images *images, const struct etw_record *record,
			       enum change change)
{
	const struct etw_schema *schema = etw_kernel_schema_of(record);
	struct image image = { .change = change };
	struct etw_field_slice slice;
	uint64_t process_id;
	int path;

	if (!schema || !read_number(schema, "ImageBase", record, &image.base) ||
	    !read_number(schema, "ImageSize", record, &image.size) ||
	    !read_number(schema, "ProcessId", record, &process_id)) {
		return;
	}
	path = etw_schema_find_field(schema, "FileName");
	if (path < 0 || !etw_field_locate(schema, (unsigned)path, record, &slice)) {
		return;
	}
	text_clear(&images->path);
	etw_field_text(&schema->fields[path], &slice, &images->path);
	image.process_id = (uint32_t)process_id;
	add_note(images, record, image);
}

/*
 * The fields are those of config/manifests/Microsoft-Windows-Kernel-Process.man: ImageBase,
 * ImageSize, ProcessID, ImageCheckSum, TimeDateStamp, DefaultBase, ImageName.
 */
static void learn_provider_event(struct images *images, const struct etw_record *record)
{
	static const struct etw_field name = { .name = "", .type = ETW_FIELD_WSTRING };
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct image image = { .change = record->id == PROCESS_EVENT_IMAGE_LOAD ? IMAGE_LOADED :
										  IMAGE_UNLOADED };
	struct etw_field_slice slice;
	bool wide = record->pointer_size == 8;

	image.base = wide ? cursor_u64(&c) : cursor_u32(&c);
	image.size = wide ? cursor_u64(&c) : cursor_u32(&c);
	image.process_id = cursor_u32(&c);
	cursor_skip(&c, 8 + (size_t)record->pointer_size);
	if (c.overrun) {
		return;
	}
	slice = (struct etw_field_slice){ .at = c.at,
					  .size = (uint32_t)cursor_left(&c),
					  .count = 1 };
	text_clear(&images->path);
	etw_field_text(&name, &slice, &images->path);
	add_note(images, record, image);
}

void images_learn(struct images *images, const struct etw_record *record)
{
	if (!record->classic) {
		if ((record->id == PROCESS_EVENT_IMAGE_LOAD ||
		     record->id == PROCESS_EVENT_IMAGE_UNLOAD) &&
		    etw_provider_is(record->provider, ETW_PROVIDER_KERNEL_PROCESS)) {
			learn_provider_event(images, record);
		}
		return;
	}
	if (!etw_guid_equal(record->provider, etw_kernel_group_guid(ETW_KERNEL_GROUP_IMAGE))) {
		return;
	}
	switch (record->opcode) {
	case ETW_KERNEL_OPCODE_IMAGE_LOAD:
		learn_kernel_event(images, record, IMAGE_LOADED);
		break;
	case ETW_KERNEL_OPCODE_STOP:
		learn_kernel_event(images, record, IMAGE_UNLOADED);
		break;
	case ETW_KERNEL_OPCODE_DC_START:
	case ETW_KERNEL_OPCODE_DC_STOP:
		learn_kernel_event(images, record, IMAGE_THERE);
		break;
	default:
		break;
	}
}

/* ---- images ---- */

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b)) {                  \
			return (a) < (b) ? -1 : 1; \
		}                                  \
	} while (0)

static int compare_notes(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	COMPARE(x->process_id, y->process_id);
	COMPARE(x->base, y->base);
	COMPARE(x->from, y->from);
	COMPARE(x->order, y->order);
	return 0;
}

/*
 * Applies a note to the previous image at the same base. Returns whether the note is another image.
 */
static bool follows(struct image *before, struct image *note)
{
	bool open = before->to == INT64_MAX;
	bool same = before->size == note->size && before->name == note->name;

	if (open && same && note->change != IMAGE_LOADED) {
		before->to = note->change == IMAGE_UNLOADED ? note->from : INT64_MAX;
		return false;
	}
	if (open) {
		before->to = note->from;
	}
	/*
	 * An image that was unloaded, without an earlier note, was loaded after the previous image.
	 */
	note->to = note->change == IMAGE_UNLOADED ? note->from : INT64_MAX;
	note->from = note->change == IMAGE_LOADED ? note->from : before->to;
	return true;
}

bool images_finish(struct images *images)
{
	size_t count = 0;

	if (images->count > 0) {
		sort_items(images->images, images->count, sizeof *images->images, compare_notes);
	}
	for (size_t i = 0; i < images->count; i++) {
		struct image *last = count > 0 ? &images->images[count - 1] : NULL;
		struct image image = images->images[i];

		if (!last || last->process_id != image.process_id || last->base != image.base) {
			image.to = image.change == IMAGE_UNLOADED ? image.from : INT64_MAX;
			image.from = image.change == IMAGE_LOADED ? image.from : INT64_MIN;
		} else if (!follows(last, &image)) {
			continue;
		}
		images->images[count++] = image;
	}
	images->count = count;
	return !images->no_memory;
}

/* ---- look-ups ---- */

/*
 * Returns the number of images of lower process ids, and of this process with a lower base, or with
 * this base and no later time.
 */
static size_t images_up_to(const struct images *images, uint32_t process_id, uint64_t address,
			   int64_t time)
{
	const struct image sought = {
		.process_id = process_id, .base = address, .from = time, .order = UINT32_MAX
	};
	size_t low = 0, high = images->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_notes(&images->images[middle], &sought) <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const struct image *find_image(const struct images *images, uint32_t process_id,
				      uint64_t address, int64_t time)
{
	size_t at = images_up_to(images, process_id, address, time);

	for (unsigned back = 0; at > 0 && back < BACK; back++) {
		const struct image *image = &images->images[--at];

		if (image->process_id != process_id) {
			return NULL;
		}
		if (address - image->base < image->size && image->from <= time &&
		    time <= image->to) {
			return image;
		}
	}
	return NULL;
}

const char *images_find(const struct images *images, uint32_t process_id, uint64_t address,
			int64_t raw_time, uint64_t *offset)
{
	const struct image *image = find_image(images, process_id, address, raw_time);

	if (!image && process_id != 0) {
		image = find_image(images, 0, address, raw_time);
	}
	if (!image) {
		return NULL;
	}
	*offset = address - image->base;
	return intern_text(images->names, image->name, NULL);
}
