/* SPDX-License-Identifier: MIT */
/*
 * The images of a recording by address: what is at an address of a process at a time. One thread.
 *
 * exporter/track/drivers.h knows the images of the kernel alone and learns them while events
 * arrive; here are those of all processes, and all are known before the first question.
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

/* For all records of the recording, in file order: takes the loads, unloads and rundowns of images
 * (class Image, and Microsoft-Windows-Kernel-Process). */
void images_look(struct images *images, const struct etw_record *record);

/* After the last record. False: there was no memory. */
bool images_finish(struct images *images);

/*
 * The base name, in UTF-8, of the image that the process, or else the kernel, has at an address at
 * a raw time, and how far behind its base that is. NULL: none is known.
 */
const char *images_find(const struct images *images, uint32_t process_id, uint64_t address,
			int64_t raw_time, uint64_t *offset);

#endif
