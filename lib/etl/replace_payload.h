/* SPDX-License-Identifier: MIT */
/*
 * A record as it stands in a recording, with another payload.
 */
#ifndef LIB_ETL_REPLACE_PAYLOAD_H
#define LIB_ETL_REPLACE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/source/event_record.h"

enum { ETW_RECORD_SIZE_MOST = UINT16_MAX };

/* Whether the payload of a record is all that follows its header and extended items. It is not
 * where these are damaged. */
bool etw_payload_is_whole(const struct etw_record *record, const uint8_t *bytes, size_t size);

/*
 * Writes the record (its header and extended items are copied) with the new payload to out, which
 * has room for ETW_RECORD_SIZE_MOST bytes. Returns its size; 0 if that would be more, or the old
 * payload is not whole.
 */
size_t etw_replace_payload(const struct etw_record *record, const uint8_t *bytes, size_t size,
			   const void *payload, size_t payload_size, uint8_t *out);

#endif
