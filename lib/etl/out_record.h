/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one record: its header by type, then extended items, then the payload. struct
 * etw_out_record describes its contents.
 */
#ifndef LIB_ETL_OUT_RECORD_H
#define LIB_ETL_OUT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/guid.h"
#include "lib/source/event_record.h"

enum {
	ETL_SYSTEM_HEADER_SIZE = 32
}; /* bytes of the header of a SYSTEM record without additional fields */

#endif
