/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one record: its header by type, then extended items, then the payload. etl_builder.h
 * says what is in it.
 */
#ifndef SUPPORT_BUILT_RECORD_H
#define SUPPORT_BUILT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "tests/support/etl_builder.h"

enum { BUILT_SYSTEM_HEADER_SIZE = 32 }; /* of a SYSTEM record without extras */

/* Bytes of the whole record, without padding. May be more than a record can have. */
size_t built_record_size(const struct built_record *record);

/* Writes exactly built_record_size() bytes, at most 65535. pointer_size: for a record that does not
 * say. */
void built_record_store(const struct built_record *record, uint8_t pointer_size, uint8_t *at);

#endif
