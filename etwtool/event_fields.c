/* SPDX-License-Identifier: MIT */
/*
 * A schema lists fields in payload order, and the members of a structure follow it
 * (include/etw/schema.h). Rules address a member as "structure.member", and a member of an array of
 * structures by an index, "array[0].member". This file builds names in that form, so that users can
 * copy what the tool shows into a rule.
 */
#include "etwtool/event_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- names ---- */

/*
 * Adds the whole name of the field. A member of an array of structures gets the name that it has in
 * the first element.
 */
static void add_field_name(const struct etw_schema *schema, unsigned index, struct etw_text *out)
{
	for (unsigned i = 0; i < index; i++) {
		if (schema->fields[i].type == ETW_FIELD_STRUCT &&
		    index <= i + schema->fields[i].span) {
			text_add_string(out, schema->fields[i].name);
			text_add_string(
				out, etw_field_is_struct_array(&schema->fields[i]) ? "[0]." : ".");
		}
	}
	text_add_string(out, schema->fields[index].name);
}

bool field_walk_next(struct field_walk *walk, const struct etw_schema *schema)
{
	unsigned index = walk->next;

	while (schema && index < schema->field_count &&
	       schema->fields[index].type == ETW_FIELD_STRUCT &&
	       !etw_field_is_struct_array(&schema->fields[index])) {
		index++;
	}
	if (!schema || index >= schema->field_count) {
		text_free(&walk->name);
		return false;
	}
	walk->index = index;
	walk->next = etw_field_after(schema, index);
	text_clear(&walk->name);
	add_field_name(schema, index, &walk->name);
	return true;
}

/* Returns the type of the value, or of the elements of a list: "u32", "text", "guid". */
static const char *type_name(const struct etw_field *field)
{
	static const char *const names[] = {
		[ETW_FIELD_I8] = "i8",
		[ETW_FIELD_U8] = "u8",
		[ETW_FIELD_I16] = "i16",
		[ETW_FIELD_U16] = "u16",
		[ETW_FIELD_I32] = "i32",
		[ETW_FIELD_U32] = "u32",
		[ETW_FIELD_I64] = "i64",
		[ETW_FIELD_U64] = "u64",
		[ETW_FIELD_BOOL8] = "bool",
		[ETW_FIELD_BOOL16] = "bool",
		[ETW_FIELD_BOOL32] = "bool",
		[ETW_FIELD_POINTER] = "pointer",
		[ETW_FIELD_SIZE] = "size",
		[ETW_FIELD_FILETIME] = "filetime",
		[ETW_FIELD_PORT] = "port",
		[ETW_FIELD_FLOAT] = "float",
		[ETW_FIELD_DOUBLE] = "double",
		[ETW_FIELD_IP4] = "address",
		[ETW_FIELD_IP6] = "address",
		[ETW_FIELD_GUID] = "guid",
		[ETW_FIELD_SYSTEMTIME] = "systemtime",
		[ETW_FIELD_BINARY] = "binary",
		[ETW_FIELD_BINARY16] = "binary",
		[ETW_FIELD_BINARY32] = "binary",
		[ETW_FIELD_SID] = "sid",
		[ETW_FIELD_KERNEL_SID] = "sid",
		[ETW_FIELD_NULL] = "nothing",
		[ETW_FIELD_STRUCT] = "structures",
	};
	const char *name = field->type < sizeof names / sizeof names[0] ? names[field->type] : NULL;

	return name ? name : "text";
}

/* ---- values for people ---- */

enum { BINARY_SHOWN_MOST = 32 };

bool name_ends_in_one_of(const char *name, const char *const *ends)
{
	size_t size = strlen(name);

	while (*ends && !text_ends_nocase(name, size, *ends, strlen(*ends))) {
		ends++;
	}
	return *ends != NULL;
}

/*
 * Schemas do not say what a number means (manifests could), but providers use similar names for
 * such fields.
 */
static const char *const flags_ends[] = { "Flags",   "Mask",   "Keyword",    "Keywords",
					  "Options", "Access", "Attributes", NULL };
static const char *const status_ends[] = { "NtStatus", "HResult", NULL };
/*
 * These fields have a status or a plain number. An error status has its top bit set ([MS-ERREF]
 * 2.1, 2.3).
 */
static const char *const result_ends[] = { "Status", "Code", "Result", "Error", "hr", NULL };

/*
 * The kernel's descriptions give sizes the type of an address where both depend on the pointer
 * size.
 */
static const char *const amount_ends[] = { "Size", "Bytes", "Count", "Length", NULL };

static bool is_address(const struct etw_field *field)
{
	return field->type == ETW_FIELD_POINTER && !name_ends_in_one_of(field->name, amount_ends);
}

/* Returns whether a number of the field is a set of flags or a status, which cannot be added up. */
static bool is_code(const struct etw_field *field)
{
	return field->type <= ETW_FIELD_SIZE && (name_ends_in_one_of(field->name, flags_ends) ||
						 name_ends_in_one_of(field->name, status_ends) ||
						 name_ends_in_one_of(field->name, result_ends));
}

/* Returns the decoder of rules for the field's statuses ("ntstatus"), NULL if there is none. */
static const char *status_decoder(const struct etw_field *field)
{
	if (!etw_field_is_integer(field) || !name_ends_in_one_of(field->name, status_ends)) {
		return NULL;
	}
	return text_ends_nocase(field->name, strlen(field->name), "NtStatus", 8) ? "ntstatus" :
										   "hresult";
}

static bool is_shown_in_hex(const struct etw_field *field, uint64_t value)
{
	bool wide = field->type == ETW_FIELD_I32 || field->type == ETW_FIELD_U32;

	return is_address(field) ||
	       (field->type <= ETW_FIELD_SIZE && (name_ends_in_one_of(field->name, flags_ends) ||
						  name_ends_in_one_of(field->name, status_ends))) ||
	       (wide && (uint32_t)value >> 31 != 0 &&
		name_ends_in_one_of(field->name, result_ends));
}

static void add_number_shown(const struct etw_field *field, const struct etw_field_slice *slice,
			     struct etw_text *out)
{
	uint64_t value = etw_field_u64(field, slice);
	bool bits32 = etw_field_is_signed(field) && field->type != ETW_FIELD_I64;

	if (field->type == ETW_FIELD_BOOL8 || field->type == ETW_FIELD_BOOL16 ||
	    field->type == ETW_FIELD_BOOL32) {
		text_add_string(out, value != 0 ? "true" : "false");
	} else if (!field->map && is_shown_in_hex(field, value)) {
		text_add_format(out, "0x%" PRIx64, bits32 ? (uint32_t)value : value);
	} else {
		struct etw_text number = { 0 };

		/* the name comes from the recording */
		etw_field_number_text(field, value, &number);
		text_add_shown(out, number.data ? number.data : "");
		out->failed |= number.failed;
		text_free(&number);
	}
}

void text_add_quoted_shown(struct etw_text *out, const char *bytes, size_t size)
{
	bool has_double = size > 0 && memchr(bytes, '"', size);
	bool has_single = size > 0 && memchr(bytes, '\'', size);
	char quote = has_double && !has_single ? '\'' : '"';
	size_t at = 0;

	text_add_char(out, quote);
	while (at < size) {
		size_t plain = at;

		while (plain < size && bytes[plain] != quote) {
			plain++;
		}
		text_add_shown_bytes(out, bytes + at, plain - at);
		if (plain < size) {
			text_add_escape(out, (uint32_t)quote);
			plain++;
		}
		at = plain;
	}
	text_add_char(out, quote);
}

static void add_one_shown(const struct etw_field *field, const struct etw_field_slice *slice,
			  struct etw_text *out)
{
	struct etw_text value = { 0 };
	bool binary = field->type == ETW_FIELD_BINARY || field->type == ETW_FIELD_BINARY16 ||
		      field->type == ETW_FIELD_BINARY32;

	if (field->type <= ETW_FIELD_PORT) {
		add_number_shown(field, slice, out);
		return;
	}
	if (binary && field->form == ETW_FIELD_FORM_PLAIN && slice->size > BINARY_SHOWN_MOST) {
		text_add_hex(out, slice->at, BINARY_SHOWN_MOST);
		text_add_format(out, "…(%" PRIu32 " bytes)", slice->size);
		return;
	}
	etw_field_text(field, slice, &value);
	if (etw_field_is_text(field)) {
		text_add_quoted_shown(out, value.data ? value.data : "", value.size);
	} else {
		text_add(out, value.size > 0 ? value.data : "-", value.size > 0 ? value.size : 1);
	}
	out->failed |= value.failed;
	text_free(&value);
}

void field_shown(const struct etw_field *field, const struct etw_field_slice *slice,
		 struct etw_text *out)
{
	struct etw_field one = *field;
	struct etw_field_slice element;
	uint32_t offset = 0;
	const char *between = "[";

	if (!etw_field_is_list(field)) {
		add_one_shown(field, slice, out);
		return;
	}
	one.count_type = ETW_FIELD_SCALAR;
	while (etw_field_next_element(field, slice, &offset, &element)) {
		text_add_string(out, between);
		add_one_shown(&one, &element, out);
		between = ",";
	}
	text_add_string(out, *between == '[' ? "[]" : "]");
}

static void add_members_shown(struct etw_event_fields *fields, unsigned index, struct etw_text *out)
{
	const struct etw_schema *schema = fields->schema;
	const char *between = "{";

	for (unsigned i = index + 1; i < etw_field_after(schema, index);
	     i = etw_field_after(schema, i)) {
		text_add_string(out, between);
		text_add_shown(out, schema->fields[i].name);
		text_add_char(out, '=');
		event_fields_shown(fields, i, out);
		between = ",";
	}
	text_add_string(out, *between == '{' ? "{}" : "}");
}

void event_fields_shown(struct etw_event_fields *fields, unsigned index, struct etw_text *out)
{
	const struct etw_field *field = &fields->schema->fields[index];
	const char *between = "[";
	uint32_t offset = 0;

	if (field->type != ETW_FIELD_STRUCT) {
		field_shown(field, &fields->slices[index], out);
	} else if (field->count_type == ETW_FIELD_SCALAR) {
		add_members_shown(fields, index, out);
	} else {
		while (etw_field_next_struct(fields->schema, index, fields->record, fields->slices,
					     &offset)) {
			text_add_string(out, between);
			add_members_shown(fields, index, out);
			between = ",";
		}
		text_add_string(out, *between == '[' ? "[]" : "]");
	}
}

/* ---- samples of the values of fields ---- */

/*
 * Collects fields and some of their values from the events of a recording.
 *
 * Fields are distinguished by name and type, because versions of an event may give a field
 * different types, and each type needs its own rule. For an array of structures the members of the
 * first element are shown. Only a limited number of events is searched for values, and long values
 * are skipped. A derived field is listed if an event had a value of it.
 */

enum {
	SAMPLE_SIZE_MOST = 80,  /* bytes; longer values are skipped */
	SAMPLES_EVENTS = 10000, /* events that are searched for values */
	SAMPLES_FIELDS_MOST = 2 * ETW_SCHEMA_FIELDS_MOST,
};

/*
 * Finds or adds the row with the same name and type and returns its index; samples->count if there
 * is no room.
 */
static size_t index_of_field(struct field_samples *samples, const struct sampled_field *row)
{
	struct sampled_field *grown;
	size_t i = 0;

	while (i < samples->count && (strcmp(samples->fields[i].name, row->name) != 0 ||
				      strcmp(samples->fields[i].type, row->type) != 0 ||
				      samples->fields[i].list != row->list)) {
		i++;
	}
	if (i < samples->count || samples->count == SAMPLES_FIELDS_MOST) {
		return i;
	}
	grown = array_grow(samples->fields, &samples->capacity, samples->count, sizeof *grown);
	if (grown) {
		samples->fields = grown;
		samples->fields[i] = *row;
		samples->fields[i].name = text_duplicate(row->name, strlen(row->name));
		samples->count += samples->fields[i].name != NULL;
	}
	return i;
}

/* Finds or adds the row of a field. Returns NULL if there is no room. */
static struct sampled_field *row_of(struct field_samples *samples, const struct etw_schema *schema,
				    unsigned index)
{
	const struct etw_field *field = &schema->fields[index];
	uint64_t *place = map_put(&samples->rows, (uintptr_t)field, NULL);
	struct etw_text name = { 0 };

	if (place && *place == 0) {
		struct sampled_field row = {
			.type = type_name(field),
			.number = etw_field_is_integer(field),
			.list = etw_field_is_list(field),
			.structures = field->type == ETW_FIELD_STRUCT,
			.address = is_address(field),
			.code = is_code(field),
			.decoder = status_decoder(field),
		};
		size_t found;

		text_add_string(&name, "");
		add_field_name(schema, index, &name);
		row.name = name.data;
		found = name.failed ? samples->count : index_of_field(samples, &row);
		*place = found < samples->count ? found + 1 : 0;
		text_free(&name);
	}
	if (!place || *place == 0) {
		samples->failed = true;
		return NULL;
	}
	return &samples->fields[*place - 1];
}

/* Takes the value as a sample, unless it is already one, too long, or empty. */
static void add_sample_text(struct sampled_field *row, struct etw_text *value)
{
	bool known = false;

	for (size_t i = 0; i < row->sample_count && value->data; i++) {
		known |= row->samples[i].size == value->size &&
			 memcmp(row->samples[i].data, value->data, value->size) == 0;
	}
	if (known || value->failed || value->size == 0 || value->size > SAMPLE_SIZE_MOST) {
		text_free(value);
	} else {
		row->samples[row->sample_count++] = *value;
	}
}

static void add_sample(struct sampled_field *row, const struct etw_field *field,
		       const struct etw_field_slice *slice)
{
	struct etw_text value = { 0 };

	(row->number ? field_shown : etw_field_text)(field, slice, &value);
	add_sample_text(row, &value);
}

/*
 * Adds the fields from first to end - 1, and for an array of structures those of the first element.
 * has_values: the fields of this event are located.
 */
static void add_fields(struct field_samples *samples, struct etw_event_fields *fields,
		       unsigned first, unsigned end, bool has_values)
{
	const struct etw_schema *schema = fields->schema;
	unsigned i = first;

	while (i < end) {
		const struct etw_field *field = &schema->fields[i];
		struct sampled_field *row;
		uint32_t offset = 0;

		has_values = has_values && (first > 0 || i < fields->end);
		if (field->type == ETW_FIELD_STRUCT && !etw_field_is_struct_array(field)) {
			i++;
			continue;
		}
		row = row_of(samples, schema, i);
		if (etw_field_is_struct_array(field)) {
			bool element = has_values &&
				       etw_field_next_struct(schema, i, fields->record,
							     fields->slices, &offset);

			add_fields(samples, fields, i + 1, etw_field_after(schema, i), element);
		} else if (row && has_values && row->sample_count < SAMPLES_MOST &&
			   fields->slices[i].at) {
			add_sample(row, field, &fields->slices[i]);
		}
		i = etw_field_after(schema, i);
	}
}

static bool enter_derived(struct sampled_field *field, const struct derived_field *row)
{
	static const char *const types[] = {
		[TYPE_INTEGER] = "integer",
		[TYPE_TEXT] = "text",
		[TYPE_DURATION] = "duration",
	};

	if (!field->name) {
		field->name = text_duplicate(row->name, strlen(row->name));
		field->type = types[row->type];
		field->number = row->type != TYPE_TEXT;
	}
	return field->name != NULL;
}

static void add_derived(struct field_samples *samples, const struct recording *recording,
			const struct etw_record *record, const struct etw_event_class *class)
{
	const struct derived_field *row;

	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		struct sampled_field *field = &samples->derived[i];
		struct etw_text value = { 0 };

		if (row->of_record || field->sample_count == SAMPLES_MOST ||
		    !derived_applies(row, class) ||
		    !recording_derived(recording, row, record, class, &value)) {
			continue;
		}
		if (enter_derived(field, row)) {
			add_sample_text(field, &value);
		} else {
			samples->failed = true;
			text_free(&value);
		}
	}
}

void field_samples_add(struct field_samples *samples, const struct recording *recording,
		       const struct etw_record *record, const struct etw_event_class *class)
{
	const struct etw_schema *schema = class->schema;
	struct etw_event_fields fields;

	if (samples->events == SAMPLES_EVENTS) {
		return;
	}
	samples->events++;
	add_derived(samples, recording, record, class);
	if (schema) {
		etw_event_fields_locate(&fields, schema, record);
		add_fields(samples, &fields, 0, schema->field_count, true);
		etw_event_fields_done(&fields);
	}
}

static void sampled_field_done(struct sampled_field *field)
{
	free(field->name);
	for (size_t i = 0; i < field->sample_count; i++) {
		text_free(&field->samples[i]);
	}
}

void field_samples_done(struct field_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		sampled_field_done(&samples->fields[i]);
	}
	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		sampled_field_done(&samples->derived[i]);
	}
	free(samples->fields);
	map_done(&samples->rows);
}
