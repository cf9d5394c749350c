/* SPDX-License-Identifier: MIT */
/*
 * In- and out-types of manifests and of TRACE_EVENT_INFO, by number and by name.
 *
 * Sources: tdh.h of the Windows SDK (TDH_INTYPE_…, TDH_OUTTYPE_…); "InputType Complex Type",
 * Microsoft Learn; docs/etl-format.md sections 11 and 12.1. TraceLogging uses other numbers.
 */
#ifndef DECODE_TDH_TYPES_H
#define DECODE_TDH_TYPES_H

#include <stdbool.h>

#include "decode/schema.h"

enum { TDH_OUT_DEFAULT = 0 };

/*
 * Sets type, length_type and form of a field. The caller sets count, and after this call also
 * length. Returns false if the type is not known, so that the size of the field is not known.
 */
bool tdh_field_type(struct field *field, unsigned in_type, unsigned out_type);

/* To call after the length is set: binary data of 16 bytes becomes an address or a GUID if the
 * out-type says so. */
void tdh_field_finish(struct field *field, unsigned out_type);

/*
 * The number of a name such as "win:UInt32"; the prefix before the colon is ignored. An unknown
 * in-type gives -1; an out-type that changes nothing gives TDH_OUT_DEFAULT.
 */
int tdh_in_type(const char *name);
int tdh_out_type(const char *name);

#endif
