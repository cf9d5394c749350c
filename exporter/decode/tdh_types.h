/* SPDX-License-Identifier: MIT */
/*
 * In- and out-types of manifests and of TRACE_EVENT_INFO, by number and by name.
 *
 * Sources: tdh.h of the Windows SDK (TDH_INTYPE_…, TDH_OUTTYPE_…); "InputType Complex Type",
 * Microsoft Learn; docs/etl-format.md sections 11 and 12.1. TraceLogging has numbers of its own.
 */
#ifndef DECODE_TDH_TYPES_H
#define DECODE_TDH_TYPES_H

#include <stdbool.h>

#include "decode/schema.h"

enum { TDH_OUT_DEFAULT = 0 };

/*
 * Sets type, length kind and form of a field; its count and a length that was given are the
 * caller's: lengths after this call, for it tells by them what binary data is. False: nobody knows
 * how many bytes such a field takes.
 */
bool tdh_field_type(struct field *field, unsigned in_type, unsigned out_type);

/* With the length in place: binary of 16 bytes is an address or a GUID, if it is said to be. */
void tdh_field_finish(struct field *field, unsigned out_type);

/*
 * "win:UInt32" and so on, whatever stands before the colon; -1: unknown. Out-types that change
 * nothing are TDH_OUT_DEFAULT.
 */
int tdh_in_type(const char *name);
int tdh_out_type(const char *name);

#endif
