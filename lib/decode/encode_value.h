/* SPDX-License-Identifier: MIT */
/* One value of a payload from its text: the inverse of etw_field_text(). For a whole payload see
 * lib/decode/encode.h. */
#ifndef LIB_DECODE_ENCODE_VALUE_H
#define LIB_DECODE_ENCODE_VALUE_H

#include <stdbool.h>

#include <etw/mirror.h>

#include "base/error.h"
#include "base/json_read.h"
#include "lib/decode/schema.h"

/* Whether a located element of the field already has this value, as dumps show it. */
bool encode_is_same(const struct etw_field *field, const struct etw_field_slice *element,
		    const struct etw_json_value *value);

#endif
