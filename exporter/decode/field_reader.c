/* SPDX-License-Identifier: MIT */
#include "decode/field_reader.h"

struct field_reader field_reader_of(const struct schema *schema, int index, uint8_t pointer_size)
{
	struct field_reader reader = { 0 };
	unsigned wide = pointer_size == 8;
	const struct field *field;

	if (!schema || index < 0 || !field_is_integer(&schema->fields[index])) {
		return reader;
	}
	field = &schema->fields[index];
	reader.index = (uint16_t)index;
	reader.offset = field->offset[wide];
	reader.size = (uint8_t)field->size[wide];
	reader.type = field->type;
	reader.end = reader.offset == FIELD_OFFSET_VARIES ? FIELD_READER_WALKS :
							    (uint32_t)reader.offset + reader.size;
	return reader;
}

bool field_read_by_walk(const struct field_reader *reader, const struct schema *schema,
			const struct event_record *record, uint64_t *value)
{
	struct field_slice slice;

	if (reader->size == 0 || !field_locate(schema, reader->index, record, &slice)) {
		return false;
	}
	*value = field_u64(&schema->fields[reader->index], &slice);
	return true;
}
