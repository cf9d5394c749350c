/* SPDX-License-Identifier: MIT */
#include "tests/support/poke.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "decode/kernel_class.h"

void poke_field(const struct event_record *record, uint8_t *payload, const char *field,
		uint64_t value)
{
	const struct schema *schema =
		kernel_schema(record->provider, record->opcode, record->version);
	int index = schema ? schema_find_field(schema, field) : -1;
	struct field_slice slice;

	if (index < 0) {
		fail_msg("there is no field %s", field);
	}
	assert_true(field_locate(schema, (unsigned)index, record, &slice));
	for (uint32_t i = 0; i < slice.size; i++) {
		payload[(slice.at - payload) + (ptrdiff_t)i] = (uint8_t)(value >> (8 * i));
	}
}
