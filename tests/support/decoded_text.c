/* SPDX-License-Identifier: MIT */
#include "tests/support/decoded_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"
#include "tests/support/exact_copy.h"

struct decoded {
	const struct etw_schema *schema;
	const struct etw_record *record;
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	struct etw_text out;
};

/* Fields from `first` on, up to `end` and to `whole`, the first that is not whole. */
static void add_fields(struct decoded *decoded, unsigned first, unsigned end, unsigned whole)
{
	struct etw_text *out = &decoded->out;

	for (unsigned i = first; i < end && i < whole; i += 1U + decoded->schema->fields[i].span) {
		const struct etw_field *field = &decoded->schema->fields[i];
		unsigned behind = i + 1U + field->span;
		uint32_t offset = 0;

		if (out->size > 0 && out->data[out->size - 1] != '{') {
			text_add_char(out, ' ');
		}
		text_add_string(out, field->name);
		text_add_char(out, '=');
		if (field->type != ETW_FIELD_STRUCT) {
			etw_field_text(field, &decoded->slices[i], out);
		} else if (field->count_type == ETW_FIELD_SCALAR) {
			text_add_char(out, '{');
			add_fields(decoded, i + 1, behind, whole);
			text_add_char(out, '}');
		}
		while (etw_field_is_struct_array(field) &&
		       etw_field_next_struct(decoded->schema, i, decoded->record, decoded->slices,
					     &offset)) {
			text_add_char(out, '{');
			add_fields(decoded, i + 1, behind, UINT16_MAX);
			text_add_char(out, '}');
		}
	}
}

void assert_decoded(const struct etw_schema *schema, const void *payload, size_t size,
		    uint8_t pointer_size, const char *expected, uint32_t expected_rest)
{
	uint8_t *copy = exact_copy(payload, size);
	struct etw_record record = { .payload = copy,
				     .payload_size = (uint32_t)size,
				     .pointer_size = pointer_size };
	struct decoded *decoded = calloc(1, sizeof *decoded);
	uint32_t rest = (uint32_t)size;
	unsigned whole = 0;

	assert_non_null(schema);
	assert_non_null(decoded);
	decoded->schema = schema;
	decoded->record = &record;
	if (schema->field_count > 0) {
		whole = etw_fields_walk(schema, schema->field_count - 1U, &record, decoded->slices,
					&rest);
	}
	text_add_string(&decoded->out, "");
	add_fields(decoded, 0, schema->field_count, whole);
	assert_string_equal(decoded->out.data ? decoded->out.data : "", expected);
	assert_int_equal(rest, expected_rest);
	text_free(&decoded->out);
	free(decoded);
	free(copy);
}
