/* SPDX-License-Identifier: MIT */
#include "tests/support/poke.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/decode/kernel_class.h"

/* Where the field lies. */
static struct etw_field_slice find_field(const struct etw_record *record, const char *name,
					 const struct etw_field **field)
{
	const struct etw_schema *schema = etw_kernel_schema_of(record);
	int index = schema ? etw_schema_find_field(schema, name) : -1;
	struct etw_field_slice slice;

	if (index < 0) {
		fail_msg("there is no field %s", name);
	}
	*field = &schema->fields[index];
	assert_true(etw_field_locate(schema, (unsigned)index, record, &slice));
	return slice;
}

void poke_field(const struct etw_record *record, uint8_t *payload, const char *name, uint64_t value)
{
	const struct etw_field *field;
	struct etw_field_slice slice = find_field(record, name, &field);

	for (uint32_t i = 0; i < slice.size; i++) {
		payload[(slice.at - payload) + (ptrdiff_t)i] = (uint8_t)(value >> (8 * i));
	}
}

void poke_text(const struct etw_record *record, uint8_t *payload, const char *name,
	       const char *text)
{
	const struct etw_field *field;
	struct etw_field_slice slice = find_field(record, name, &field);
	ptrdiff_t at = slice.at - payload;
	int width = field->type == ETW_FIELD_ASTRING ? 1 : 2;

	for (; *text; text++, at += width) {
		assert_true(at + width < (ptrdiff_t)record->payload_size);
		payload[at] = (uint8_t)*text;
	}
}
