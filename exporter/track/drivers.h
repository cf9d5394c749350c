/* SPDX-License-Identifier: MIT */
/*
 * Drivers: which kernel image contains an address. Only one consumer uses it, so it has no lock.
 *
 * Kernel images are those of Image records with process id 0. They are loaded and unloaded, so an
 * address identifies an image only together with a time.
 */
#ifndef TRACK_DRIVERS_H
#define TRACK_DRIVERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "exporter/track/lifetimes.h"
#include "metrics/registry.h"

struct driver_image; /* private */

struct drivers {
	struct timeline timeline;    /* base address -> index in images + 1 */
	struct registry *registry;   /* borrowed */
	struct driver_image *images; /* owned */
	uint32_t image_count;
	size_t image_capacity;
	struct map by_base; /* base address -> index of the latest image loaded there */
	uint64_t *bases;    /* owned; every base address once, sorted */
	uint32_t base_count;
	size_t base_capacity;
	uint64_t refused; /* images that were refused because of the limit */
};

void drivers_init(struct drivers *drivers, struct registry *registry);
void drivers_clear(struct drivers *drivers); /* frees all memory */

/* Sorts the bases at the end of the first pass, which adds them unsorted. */
void drivers_sort(struct drivers *drivers);

/* Announces that an image is loaded, exists or is unloaded. path: UTF-8, as recorded. size:
 * bytes of the image in memory. time: raw. */
void drivers_announce(struct drivers *drivers, enum lifetime_change change, uint64_t base,
		      uint64_t size, const char *path, size_t path_size, int64_t time);

/* Returns the label id of the image that contains an address at a raw time: its base name in
 * lower case. INTERN_NONE if there is no such image. */
uint32_t drivers_label(struct drivers *drivers, uint64_t address, int64_t time);

#endif
