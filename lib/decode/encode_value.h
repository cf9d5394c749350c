/* SPDX-License-Identifier: MIT */
/* Converts the text of one value to the bytes of a payload: the inverse of etw_field_text().
 * encode.c does this for a whole payload. */
#ifndef LIB_DECODE_ENCODE_VALUE_H
#define LIB_DECODE_ENCODE_VALUE_H

#include <stdbool.h>

#include <etw/mirror.h>

#include "base/error.h"
#include "base/json.h"
#include "lib/decode/schema.h"

/* Returns whether a located element of the field already has this value in the form that dumps
 * show. */
bool encode_is_same(const struct etw_field *field, const struct etw_field_slice *element,
		    const struct etw_json_value *value);

#endif
