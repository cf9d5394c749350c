/* SPDX-License-Identifier: MIT */
/*
 * The images of a recording by address: finds which image a process had at an address at a given
 * time. One thread uses it.
 *
 * exporter/track/drivers.h knows only images of the kernel, and learns them while events arrive.
 * This index has the images of all processes, and is complete before the first look-up.
 */
#ifndef ETWTOOL_DUMP_IMAGES_H
#define ETWTOOL_DUMP_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"

struct images; /* opaque; its memory is bounded */

struct images *images_new(struct etw_error *err);
void images_free(struct images *images); /* NULL is allowed */

/*
 * Call it with every record of the recording, in file order. It notes loads, unloads and rundowns
 * of images (class Image, and Microsoft-Windows-Kernel-Process).
 */
void images_look(struct images *images, const struct etw_record *record);

/* Call it after the last record. Returns false without memory. */
bool images_finish(struct images *images);

/*
 * Returns the base name, in UTF-8, of the image that the process had at the address at raw_time; if
 * there is none, of the kernel's image there. Sets *offset to the bytes from the base of the image.
 * Returns NULL if no image is known.
 */
const char *images_find(const struct images *images, uint32_t process_id, uint64_t address,
			int64_t raw_time, uint64_t *offset);

#endif
