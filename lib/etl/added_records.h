/* SPDX-License-Identifier: MIT */
/*
 * Records that are added to a mirror. They wait as bytes, in memory, and may come in any order:
 * they are sorted by time, and those of one time stay in the order in which they came.
 */
#ifndef LIB_ETL_ADDED_RECORDS_H
#define LIB_ETL_ADDED_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/etl/out_record.h"
#include "lib/etl/writer.h"
#include "lib/source/payload.h"

/* Zero-initialise it. */
struct added_records {
	struct added_record *records; /* owned */
	size_t count, capacity;
	struct etw_payload bytes; /* of the records */
};

/*
 * Adds a record, which has at most 65,535 bytes. pointer_size: for a record that does not say.
 *
 * @processors: of the machine, as the header of the recording says: a reader takes others for
 * damage.
 */
bool added_records_keep(struct added_records *added, const struct etw_out_record *record,
			uint8_t pointer_size, uint32_t processors, struct etw_error *err);

/* After the last copy: adds them to the writer of the mirror. */
void added_records_write(struct added_records *added, struct etw_writer *writer);

void added_records_done(struct added_records *added);

#endif
