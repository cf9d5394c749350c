/* SPDX-License-Identifier: MIT */
/*
 * Kernel images by address.
 *
 * An image covers the addresses from its base up to its size. Images do not overlap at one time,
 * but over the time of a trace one image can be unloaded and another one can be loaded at an
 * overlapping address. A look-up therefore searches the sorted array of base addresses for the
 * last base that is not above the address, and examines a few bases before it. Of the images that
 * contain the address it prefers the one that was loaded at that time, then one that was unloaded
 * before, then one that was loaded later.
 *
 * The timeline maps a base address to the image that was there at a time. If the same image is
 * announced again (rundown, second pass), no second one may be created, so the latest image of each
 * base is remembered. In the first pass the bases are appended and sorted once, at the end;
 * afterwards a new base is inserted in sorted order.
 */
#include "exporter/track/drivers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct driver_image {
	uint64_t base;
	uint64_t size;
	uint32_t label;
};

enum {
	IMAGES = 16384, /* a machine has a few hundred */
	/* number of bases below an address to examine, because images may overlap over time */
	BACK = 8,
};

void drivers_init(struct drivers *drivers, struct registry *registry)
{
	*drivers = (struct drivers){ .registry = registry };
	timeline_init(&drivers->timeline, IMAGES);
}

void drivers_clear(struct drivers *drivers)
{
	timeline_clear(&drivers->timeline);
	map_done(&drivers->by_base);
	free(drivers->images);
	free(drivers->bases);
	drivers->images = NULL;
	drivers->bases = NULL;
	drivers->image_count = drivers->base_count = 0;
	drivers->image_capacity = drivers->base_capacity = 0;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

void drivers_sort(struct drivers *drivers)
{
	if (drivers->base_count > 1) {
		qsort(drivers->bases, drivers->base_count, sizeof *drivers->bases, by_value);
	}
}

static uint32_t base_name_label(struct drivers *drivers, const char *path, size_t size)
{
	struct etw_text name = { 0 };
	uint32_t label;

	for (size_t i = size; i > 0; i--) {
		if (path[i - 1] == '\\' || path[i - 1] == '/') {
			path += i;
			size -= i;
			break;
		}
	}
	for (size_t i = 0; i < size; i++) {
		text_add_char(&name, ascii_lower(path[i]));
	}
	label = name.failed ? INTERN_FULL :
			      intern_add(registry_strings(drivers->registry), name.data, name.size);
	text_free(&name);
	return label == INTERN_FULL ? registry_other(drivers->registry) : label;
}

/* Makes room for one more image and one more base address. */
static bool reserve(struct drivers *drivers)
{
	struct driver_image *images = array_grow(drivers->images, &drivers->image_capacity,
						 drivers->image_count, sizeof *images);
	uint64_t *bases;

	if (!images) {
		return false;
	}
	drivers->images = images;
	bases = array_grow(drivers->bases, &drivers->base_capacity, drivers->base_count,
			   sizeof *bases);
	if (!bases) {
		return false;
	}
	drivers->bases = bases;
	return true;
}

/* Returns the number of bases that are not above address. */
static uint32_t bases_up_to(const struct drivers *drivers, uint64_t address)
{
	uint32_t low = 0, high = drivers->base_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (drivers->bases[middle] <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Adds a new base. In the first pass the bases are sorted once, at the end. */
static void add_base(struct drivers *drivers, uint64_t base)
{
	uint32_t at = drivers->timeline.in_first_pass ? drivers->base_count :
							bases_up_to(drivers, base);

	memmove(drivers->bases + at + 1, drivers->bases + at,
		(drivers->base_count - at) * sizeof *drivers->bases);
	drivers->bases[at] = base;
	drivers->base_count++;
}

/* Sets *number to the number of an image, which is added if it differs from the latest one at
 * its base. Returns false if the image was refused. */
static bool find_image(struct drivers *drivers, const struct driver_image *image, uint32_t *number)
{
	uint64_t *last = map_find(&drivers->by_base, image->base);

	if (last && drivers->images[*last].size == image->size &&
	    drivers->images[*last].label == image->label) {
		*number = (uint32_t)*last;
		return true;
	}
	if (drivers->image_count == IMAGES || !reserve(drivers)) {
		return false;
	}
	if (!last) {
		last = map_put(&drivers->by_base, image->base, NULL);
		if (!last) {
			return false;
		}
		add_base(drivers, image->base);
	}
	*number = drivers->image_count;
	*last = drivers->image_count;
	drivers->images[drivers->image_count++] = *image;
	return true;
}

void drivers_announce(struct drivers *drivers, enum lifetime_change change, uint64_t base,
		      uint64_t size, const char *path, size_t path_size, int64_t time)
{
	struct driver_image image = { base, size, 0 };
	uint32_t number;

	image.label = base_name_label(drivers, path, path_size);
	if (!find_image(drivers, &image, &number)) {
		drivers->refused++;
		return;
	}
	timeline_announce(&drivers->timeline, change, base, time, number + 1);
}

/* Ranks how well an image matches a time; higher is better. An image that was loaded at the time
 * is best, then one that was unloaded before, then one that was loaded later. */
static unsigned rank_of(const struct lifetime *instance, int64_t time)
{
	if (instance->start > time) {
		return 1;
	}
	return instance->end < time ? 2 : 3;
}

uint32_t drivers_label(struct drivers *drivers, uint64_t address, int64_t time)
{
	uint32_t at = bases_up_to(drivers, address);
	uint32_t label = INTERN_NONE;
	unsigned best = 0;

	for (unsigned back = 0; at > 0 && back < BACK; back++) {
		uint64_t base = drivers->bases[--at];
		const struct lifetime *instance =
			lifetimes_at(&drivers->timeline.table, base, time);
		const struct driver_image *image =
			instance && instance->value ? &drivers->images[instance->value - 1] : NULL;

		if (image && address - base < image->size && rank_of(instance, time) > best) {
			best = rank_of(instance, time);
			label = image->label;
		}
	}
	return label;
}
