/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one record: its header by type, then extended items, then the payload.
 * lib/etl/writer.h says what is in it.
 */
#ifndef LIB_ETL_OUT_RECORD_H
#define LIB_ETL_OUT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/guid.h"
#include "lib/source/event_record.h"

enum { ETL_SYSTEM_HEADER_SIZE = 32 }; /* of a SYSTEM record without extras */

#endif
