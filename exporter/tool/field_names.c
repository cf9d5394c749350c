/* SPDX-License-Identifier: MIT */
#include "tool/field_names.h"

unsigned field_next(const struct schema *schema, unsigned index)
{
	while (index < schema->field_count && schema->fields[index].type == FIELD_STRUCT &&
	       !field_is_struct_array(&schema->fields[index])) {
		index++;
	}
	return index;
}

void field_name_add(const struct schema *schema, unsigned index, struct text *out)
{
	for (unsigned i = 0; i < index; i++) {
		if (schema->fields[i].type == FIELD_STRUCT && index <= i + schema->fields[i].span) {
			text_add_string(out, schema->fields[i].name);
			text_add_string(out,
					field_is_struct_array(&schema->fields[i]) ? "[0]." : ".");
		}
	}
	text_add_string(out, schema->fields[index].name);
}

void field_type_add(const struct field *field, struct text *out)
{
	static const char *const names[] = {
		[FIELD_I8] = "i8",
		[FIELD_U8] = "u8",
		[FIELD_I16] = "i16",
		[FIELD_U16] = "u16",
		[FIELD_I32] = "i32",
		[FIELD_U32] = "u32",
		[FIELD_I64] = "i64",
		[FIELD_U64] = "u64",
		[FIELD_BOOL8] = "bool",
		[FIELD_BOOL16] = "bool",
		[FIELD_BOOL32] = "bool",
		[FIELD_POINTER] = "pointer",
		[FIELD_SIZE] = "size",
		[FIELD_FILETIME] = "filetime",
		[FIELD_PORT] = "port",
		[FIELD_FLOAT] = "float",
		[FIELD_DOUBLE] = "double",
		[FIELD_IP4] = "address",
		[FIELD_IP6] = "address",
		[FIELD_GUID] = "guid",
		[FIELD_SYSTEMTIME] = "systemtime",
		[FIELD_BINARY] = "binary",
		[FIELD_BINARY16] = "binary",
		[FIELD_BINARY32] = "binary",
		[FIELD_SID] = "sid",
		[FIELD_KERNEL_SID] = "sid",
		[FIELD_NULL] = "nothing",
		[FIELD_STRUCT] = "structures",
	};
	const char *name = field->type < sizeof names / sizeof names[0] ? names[field->type] : NULL;

	if (field->count_type != FIELD_SCALAR && !field_is_text_of_chars(field)) {
		text_add_string(out, "list of ");
	}
	text_add_string(out, name ? name : "text");
}
