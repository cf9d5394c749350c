/* SPDX-License-Identifier: MIT */
#include "tool/field_path.h"

unsigned field_next(const struct schema *schema, unsigned index)
{
	while (index < schema->field_count && schema->fields[index].type == FIELD_STRUCT &&
	       !field_is_struct_array(&schema->fields[index])) {
		index++;
	}
	return index;
}

void field_path(const struct schema *schema, unsigned index, struct text *out)
{
	for (unsigned i = 0; i < index; i++) {
		if (schema->fields[i].type == FIELD_STRUCT && index <= i + schema->fields[i].span) {
			text_add_string(out, schema->fields[i].name);
			text_add_char(out, '.');
		}
	}
	text_add_string(out, schema->fields[index].name);
}
