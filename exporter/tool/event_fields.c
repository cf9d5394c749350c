/* SPDX-License-Identifier: MIT */
/*
 * A schema lists fields in the order of the payload, and a structure is followed by its members
 * (decode/schema.h). Rules address a member as "structure.member" and that of an array of
 * structures by an index, "array[0].member". Names are built in that form here, so what the tool
 * shows can be copied into a rule. In JSON, structures are objects and arrays are lists.
 *
 * event_fields_locate() walks the payload once. A payload may end early; then the fields before the
 * cut are whole, and a structure is whole only together with all its members. The members of an
 * array of structures are located anew for each element, by the same slices.
 */
#include "tool/event_fields.h"

/* ---- names ---- */

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

bool field_walk_next(struct field_walk *walk, const struct schema *schema)
{
	unsigned index = walk->behind;

	while (schema && index < schema->field_count &&
	       schema->fields[index].type == FIELD_STRUCT &&
	       !field_is_struct_array(&schema->fields[index])) {
		index++;
	}
	if (!schema || index >= schema->field_count) {
		text_free(&walk->name);
		return false;
	}
	walk->index = index;
	walk->behind = field_behind(schema, index);
	text_clear(&walk->name);
	field_name_add(schema, index, &walk->name);
	return true;
}

const char *field_type_name(const struct field *field)
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

	return name ? name : "text";
}

const char *schema_origin_name(const struct schema *schema)
{
	static const char *const names[] = {
		[SCHEMA_KERNEL] = "kernel",
		[SCHEMA_TRACELOGGING] = "tracelogging",
		[SCHEMA_MANIFEST] = "manifest",
		[SCHEMA_EVENT_INFO] = "eventinfo",
	};

	return schema ? names[schema->origin] : NULL;
}

/* ---- values ---- */

static void add_number(struct json *json, const struct field *field,
		       const struct field_slice *slice)
{
	switch (field->type) {
	case FIELD_BOOL8:
	case FIELD_BOOL16:
	case FIELD_BOOL32:
		json_bool(json, field_u64(field, slice) != 0);
		break;
	case FIELD_FLOAT:
	case FIELD_DOUBLE:
		json_double(json, field_double(field, slice));
		break;
	default:
		if (field_is_signed(field)) {
			json_i64(json, (int64_t)field_u64(field, slice));
		} else {
			json_u64(json, field_u64(field, slice));
		}
		break;
	}
}

static void add_one(struct json *json, const struct field *field, const struct field_slice *slice,
		    struct text *scratch)
{
	struct field plain = *field;

	if (field->type <= FIELD_DOUBLE) {
		add_number(json, field, slice);
	} else if (field->type == FIELD_NULL ||
		   (field->type == FIELD_KERNEL_SID && slice->size == 0)) {
		json_null(json);
	} else {
		if (field->form == FIELD_FORM_SOCKADDR) {
			plain.form = FIELD_FORM_PLAIN; /* binary is binary in dumps */
		}
		text_clear(scratch);
		field_text(&plain, slice, scratch);
		json_text(json, scratch->data ? scratch->data : "", scratch->size);
	}
}

static void add_value(struct json *json, const struct field *field, const struct field_slice *slice,
		      struct text *scratch)
{
	struct field element_field = *field;
	struct field_slice element;
	uint32_t offset = 0;

	if (!field_is_list(field)) {
		add_one(json, field, slice, scratch);
		return;
	}
	element_field.count_type = FIELD_SCALAR;
	json_array_begin(json);
	while (field_next_element(field, slice, &offset, &element)) {
		add_one(json, &element_field, &element, scratch);
	}
	json_array_end(json);
}

static void add_struct(struct json *json, struct event_fields *fields, unsigned index)
{
	const struct field *field = &fields->schema->fields[index];
	unsigned end = field_behind(fields->schema, index);
	uint32_t offset = 0;

	if (field->count_type == FIELD_SCALAR) {
		json_object_begin(json);
		event_fields_members(fields, index + 1, end, json);
		json_object_end(json);
		return;
	}
	json_array_begin(json);
	while (field_next_struct(fields->schema, index, fields->record, fields->slices, &offset)) {
		json_object_begin(json);
		event_fields_members(fields, index + 1, end, json);
		json_object_end(json);
	}
	json_array_end(json);
}

void event_fields_json(struct event_fields *fields, unsigned index, struct json *json)
{
	const struct field *field = &fields->schema->fields[index];

	if (field->type == FIELD_STRUCT) {
		add_struct(json, fields, index);
	} else {
		add_value(json, field, &fields->slices[index], &fields->scratch);
	}
}

void event_fields_members(struct event_fields *fields, unsigned first, unsigned end,
			  struct json *json)
{
	for (unsigned i = first; i < end; i = field_behind(fields->schema, i)) {
		json_key(json, fields->schema->fields[i].name);
		event_fields_json(fields, i, json);
	}
}

/* The end of the top-level fields that are whole; `whole` is the first field that is not. */
static unsigned end_of_whole(const struct schema *schema, unsigned whole)
{
	unsigned end = 0;

	while (end < schema->field_count && field_behind(schema, end) <= whole) {
		end = field_behind(schema, end);
	}
	return end;
}

void event_fields_locate(struct event_fields *fields, const struct schema *schema,
			 const struct event_record *record)
{
	unsigned count = schema->field_count, whole = 0, end;

	fields->schema = schema;
	fields->record = record;
	fields->rest = record->payload_size;
	fields->scratch = (struct text){ 0 };
	if (count > 0) {
		whole = fields_walk(schema, count - 1, record, fields->slices, &fields->rest);
	}
	end = end_of_whole(schema, whole);
	fields->end = end;
	/* The payload ended inside a field, a structure among them. */
	fields->truncated =
		end < count &&
		(fields->slices[end].cut || fields->slices[whole].cut ||
		 (end < whole && fields->slices[end].at < record->payload + record->payload_size));
}

void event_fields_done(struct event_fields *fields)
{
	text_free(&fields->scratch);
}
