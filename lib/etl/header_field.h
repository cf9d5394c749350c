/* SPDX-License-Identifier: MIT */
/*
 * The values in the header of a record as it stands in a recording, by the names that
 * `etwtool dump` gives them.
 *
 * Sources: docs/etl-format.md section 4.
 */
#ifndef LIB_ETL_HEADER_FIELD_H
#define LIB_ETL_HEADER_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/source/event_record.h"

struct etw_header_field; /* a row; constant */

/* "provider", "id", "version", "opcode", "level", "task", "keyword", "pid", "tid"; NULL: none. */
const struct etw_header_field *etw_header_field_find(const char *name);

/* The provider is a GUID, all others are numbers. */
bool etw_header_field_is_guid(const struct etw_header_field *field);

/* The highest value that the header of this type can have; 0: the header has no such value. */
uint64_t etw_header_field_most(const struct etw_header_field *field, enum etw_record_type type);

/* Overwrites the value, which is at most etw_header_field_most(), in a whole record. */
void etw_header_field_set(const struct etw_header_field *field, enum etw_record_type type,
			  uint64_t value, uint8_t *bytes);
void etw_header_field_set_guid(const struct etw_header_field *field, enum etw_record_type type,
			       const struct etw_guid *guid, uint8_t *bytes);

#endif
