/* SPDX-License-Identifier: MIT */
#include "tests/support/same_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/decode/event_schema.h"

static void assert_same_map(const struct etw_value_map *a, const struct etw_value_map *b)
{
	assert_int_equal(a != NULL, b != NULL);
	if (!a) {
		return;
	}
	assert_int_equal(a->bits, b->bits);
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_int_equal(a->names[i].value, b->names[i].value);
		assert_string_equal(a->names[i].name, b->names[i].name);
	}
}

static void assert_same_field(const struct etw_field *a, const struct etw_field *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->form, b->form);
	assert_int_equal(a->span, b->span);
	assert_int_equal(a->count_type, b->count_type);
	if (a->count_type == ETW_FIELD_COUNT_FIXED || a->count_type == ETW_FIELD_COUNT_FIELD) {
		assert_int_equal(a->count, b->count);
	}
	assert_int_equal(a->length_type, b->length_type);
	if (a->length_type == ETW_FIELD_LENGTH_FIXED || a->length_type == ETW_FIELD_LENGTH_FIELD) {
		assert_int_equal(a->length, b->length);
	}
	assert_memory_equal(a->offset, b->offset, sizeof a->offset);
	assert_memory_equal(a->size, b->size, sizeof a->size);
	assert_same_map(a->map, b->map);
}

void assert_same_schema(const struct etw_schema *a, const struct etw_schema *b)
{
	struct etw_text a_name = { 0 }, b_name = { 0 };

	etw_event_schema_name(a, &a_name);
	etw_event_schema_name(b, &b_name);
	assert_string_equal(a_name.data, b_name.data);
	text_free(&a_name);
	text_free(&b_name);
	assert_int_equal(a->field_count, b->field_count);
	for (uint16_t i = 0; i < a->field_count; i++) {
		assert_same_field(&a->fields[i], &b->fields[i]);
	}
}

void assert_same_provider(const struct etw_manifest *a, size_t a_index,
			  const struct etw_manifest *b, size_t b_index)
{
	struct etw_manifest_event ours, theirs;
	size_t count = 0;

	assert_string_equal(etw_manifest_provider_name(a, a_index),
			    etw_manifest_provider_name(b, b_index));
	while (etw_manifest_event(a, a_index, count, &ours)) {
		assert_true(etw_manifest_event(b, b_index, count++, &theirs));
		assert_int_equal(ours.id, theirs.id);
		assert_int_equal(ours.version, theirs.version);
		assert_int_equal(ours.task, theirs.task);
		assert_int_equal(ours.opcode, theirs.opcode);
		assert_int_equal(ours.level, theirs.level);
		assert_int_equal(ours.keywords, theirs.keywords);
		assert_int_equal(ours.schema->symbol != NULL, theirs.schema->symbol != NULL);
		if (ours.schema->symbol) {
			assert_string_equal(ours.schema->symbol, theirs.schema->symbol);
		}
		assert_same_schema(ours.schema, theirs.schema);
	}
	assert_false(etw_manifest_event(b, b_index, count, &theirs));
}
