/* SPDX-License-Identifier: MIT */
/*
 * A record as its bytes in a recording, and as the reader returns it.
 */
#ifndef SUPPORT_ONE_RECORD_H
#define SUPPORT_ONE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/etl/record.h"
#include "lib/etl/writer.h"

enum { ONE_RECORD_MOST = 4096 };

struct one_record {
	uint8_t bytes[ONE_RECORD_MOST];
	size_t size;
	struct etl_format format; /* 10 MHz, pointers of 8 bytes */
	struct etl_walk walk;     /* is at the record, whose index is 7 */
};

/* Makes the record. *one must not be moved, because what was read points into it. */
void one_record_make(struct one_record *one, const struct etw_out_record *out);

#endif
