/* SPDX-License-Identifier: MIT */
/* One value of a payload from its text: the inverse of etw_field_text(). For a whole payload see
 * lib/decode/encode.h. */
#ifndef LIB_DECODE_ENCODE_VALUE_H
#define LIB_DECODE_ENCODE_VALUE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json_read.h"
#include "lib/decode/schema.h"
#include "lib/source/payload.h"

/*
 * Adds the data of one element: of a text its characters, without a count, a terminator or padding.
 * False when the value is of another type, out of range or malformed; the sentence does not name
 * the field.
 */
bool etw_encode_value(const struct etw_field *field, const struct etw_json_value *value,
		      struct etw_payload *out, struct etw_error *err);

/* Whether a located element of the field already has this value, as dumps show it. */
bool encode_is_same(const struct etw_field *field, const struct etw_field_slice *element,
		    const struct etw_json_value *value);

#endif
