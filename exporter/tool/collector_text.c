/* SPDX-License-Identifier: MIT */
/*
 * Two halves: fields and some of their values are collected from events, and written as a
 * collector.
 *
 * Rows are told apart by name and type, because versions of an event may give one field two types,
 * and each would need a rule of its own. Of arrays of structures the members of the first element
 * are shown. Values are looked for in a limited number of events, and long ones are left out.
 *
 * The text must be valid YAML that the exporter accepts as it is, whatever names a provider has
 * chosen: each is written plain only if no reader of YAML could take it for something else, and an
 * event whose name would mean another one in a rule is written with GUID and number.
 */
#include "tool/collector_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "rules/language/event_pattern.h"
#include "tool/event_fields.h"
#include "tool/tool.h"

enum { COMMENT_COLUMN = 48 };

/* ---- fields ---- */

static bool same_text(const struct text *a, const struct text *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* The place of a field with this name and type; count when there is none. */
static size_t find_field(const struct field_samples *samples, const struct text *name,
			 const struct text *type)
{
	size_t i = 0;

	while (i < samples->count && !(same_text(&samples->fields[i].name, name) &&
				       same_text(&samples->fields[i].type, type))) {
		i++;
	}
	return i;
}

/* Takes over name and type. False without room. */
static bool append(struct field_samples *samples, const struct field *field, struct text *name,
		   struct text *type)
{
	if (samples->count == samples->capacity) {
		size_t capacity = samples->capacity ? samples->capacity * 2 : 32;
		struct sampled_field *grown =
			capacity <= SAMPLES_FIELDS_MOST ?
				realloc(samples->fields, capacity * sizeof *grown) :
				NULL;

		if (!grown) {
			return false;
		}
		samples->fields = grown;
		samples->capacity = capacity;
	}
	samples->fields[samples->count++] = (struct sampled_field){
		.name = *name,
		.type = *type,
		.number = field_is_integer(field),
		.list = field->count_type != FIELD_SCALAR && !field_is_text_of_chars(field),
		.structures = field->type == FIELD_STRUCT,
	};
	*name = (struct text){ 0 };
	*type = (struct text){ 0 };
	return true;
}

/* The row of a field, made when new; NULL without room. */
static struct sampled_field *row_of(struct field_samples *samples, const struct schema *schema,
				    unsigned index)
{
	uint64_t *place = map_put(&samples->rows, (uintptr_t)&schema->fields[index], NULL);
	struct text name = { 0 }, type = { 0 };

	if (place && *place == 0) {
		field_name_add(schema, index, &name);
		field_type_add(&schema->fields[index], &type);
		*place = find_field(samples, &name, &type) + 1;
		if (*place > samples->count &&
		    !append(samples, &schema->fields[index], &name, &type)) {
			*place = 0;
		}
		samples->failed |= name.failed || type.failed;
		text_free(&name);
		text_free(&type);
	}
	if (!place || *place == 0) {
		samples->failed = true;
		return NULL;
	}
	return &samples->fields[*place - 1];
}

static void add_sample(struct sampled_field *row, const struct field *field,
		       const struct field_slice *slice)
{
	struct text value = { 0 };

	field_text(field, slice, &value);
	for (size_t i = 0; i < row->sample_count; i++) {
		if (same_text(&row->samples[i], &value)) {
			text_free(&value);
			return;
		}
	}
	if (value.failed || value.size == 0 || value.size > SAMPLE_SIZE_MOST) {
		text_free(&value);
		return;
	}
	row->samples[row->sample_count++] = value;
}

/*
 * Fields first … end - 1; of arrays of structures the first element. has_values: they are located.
 */
static void add_fields(struct field_samples *samples, struct event_fields *fields, unsigned first,
		       unsigned end, bool has_values)
{
	const struct schema *schema = fields->schema;
	unsigned i = first;

	while (i < end) {
		const struct field *field = &schema->fields[i];
		struct sampled_field *row;
		uint32_t offset = 0;

		has_values = has_values && (first > 0 || i < fields->end);
		if (field->type == FIELD_STRUCT && !field_is_struct_array(field)) {
			i++;
			continue;
		}
		row = row_of(samples, schema, i);
		if (field_is_struct_array(field)) {
			bool element = has_values && field_next_struct(schema, i, fields->record,
								       fields->slices, &offset);

			add_fields(samples, fields, i + 1, i + 1U + field->span, element);
		} else if (row && has_values && row->sample_count < SAMPLES_MOST &&
			   fields->slices[i].at) {
			add_sample(row, field, &fields->slices[i]);
		}
		i = field_behind(schema, i);
	}
}

void field_samples_add(struct field_samples *samples, const struct schema *schema,
		       const struct event_record *record)
{
	struct event_fields fields;

	if (samples->events == SAMPLES_EVENTS) {
		return;
	}
	samples->events++;
	event_fields_locate(&fields, schema, record);
	add_fields(samples, &fields, 0, schema->field_count, true);
	event_fields_done(&fields);
}

void field_samples_done(struct field_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		text_free(&samples->fields[i].name);
		text_free(&samples->fields[i].type);
		for (size_t j = 0; j < samples->fields[i].sample_count; j++) {
			text_free(&samples->fields[i].samples[j]);
		}
	}
	free(samples->fields);
	map_done(&samples->rows);
}

/* ---- the collector ---- */

/* Plain where no reader of YAML can take it for anything else, else in quotes: JSON's are YAML's.
 */
static void add_scalar(struct text *out, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
	struct json json;

	if (text[0] != '\0' && strspn(text, plain) == strlen(text) &&
	    strspn(text, "0123456789.-/") == 0) {
		text_add_string(out, text);
		return;
	}
	json_init(&json, out, false);
	json_string(&json, text);
}

/* "TransferSize" becomes transfer_size, "st[0].x" st_0_x. */
static void add_label_name(struct text *out, const char *field)
{
	bool small = false, gap = false;

	for (const char *at = field; *at; at++) {
		bool digit = *at >= '0' && *at <= '9';
		bool upper = *at >= 'A' && *at <= 'Z';

		if (!digit && !upper && !(*at >= 'a' && *at <= 'z')) {
			gap = true;
			continue;
		}
		if (at == field && digit) {
			text_add_string(out, "field_");
		} else if (at > field && (gap || (upper && small))) {
			text_add_char(out, '_');
		}
		text_add_char(out, ascii_lower(*at));
		gap = false;
		small = !upper;
	}
	if (field[0] == '\0') {
		text_add_string(out, "field");
	}
}

/* What a rule says behind `event:`. */
static void add_event(struct text *out, const struct class_row *row)
{
	struct text name = { 0 };
	struct event_pattern pattern;
	char guid[GUID_TEXT_SIZE];

	class_row_name(row, &name);
	/* A name that reads as something else in a rule is replaced by GUID and number. */
	if (name.failed || !name.data ||
	    !event_pattern_parse(name.data, name.size, &pattern, NULL) ||
	    (pattern.scope == EVENTS_KERNEL) != (row->kernel_class != KERNEL_NONE)) {
		text_clear(&name);
		guid_format(&row->guid, guid);
		text_add_format(&name, "{%s}/%u", guid, row->number);
	}
	add_scalar(out, name.data ? name.data : "");
	text_free(&name);
}

/*
 * The kernel flag that brings events of a class, by their opcodes ("EVENT_TRACE_PROPERTIES
 * structure", Microsoft Learn; docs/etl-format.md section 15).
 */
static const char *kernel_flag(const struct class_row *row)
{
	static const struct {
		uint8_t kernel_class, first, last;
		const char *flag;
	} flags[] = {
		{ KERNEL_PROCESS, 0, 255, "PROCESS" },
		{ KERNEL_THREAD, 36, 36, "CSWITCH" },
		{ KERNEL_THREAD, 50, 50, "DISPATCHER" },
		{ KERNEL_THREAD, 0, 255, "THREAD" },
		{ KERNEL_IMAGE, 0, 255, "IMAGE_LOAD" },
		{ KERNEL_DISK_IO, 0, 255, "DISK_IO" },
		{ KERNEL_FILE_IO, 64, 75, "FILE_IO_INIT" },
		{ KERNEL_FILE_IO, 77, 77, "FILE_IO_INIT" },
		{ KERNEL_FILE_IO, 76, 76, "FILE_IO" },
		{ KERNEL_FILE_IO, 0, 36, "DISK_FILE_IO" },
		{ KERNEL_TCP_IP, 0, 255, "NETWORK_TCPIP" },
		{ KERNEL_UDP_IP, 0, 255, "NETWORK_TCPIP" },
		{ KERNEL_PAGE_FAULT, 10, 14, "MEMORY_PAGE_FAULTS" },
		{ KERNEL_PAGE_FAULT, 32, 32, "MEMORY_HARD_FAULTS" },
		{ KERNEL_PAGE_FAULT, 98, 99, "VIRTUAL_ALLOC" },
		{ KERNEL_PERF_INFO, 46, 46, "PROFILE" },
		{ KERNEL_PERF_INFO, 67, 67, "INTERRUPT" },
		{ KERNEL_PERF_INFO, 66, 69, "DPC" },
		{ KERNEL_REGISTRY, 0, 255, "REGISTRY" },
	};

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		if (flags[i].kernel_class == row->kernel_class && row->number >= flags[i].first &&
		    row->number <= flags[i].last) {
			return flags[i].flag;
		}
	}
	return NULL;
}

static void add_needs(struct text *out, const struct class_row *row)
{
	const char *flag = kernel_flag(row);
	char guid[GUID_TEXT_SIZE];

	if (flag) {
		text_add_format(out, "needs: { kernel: [%s] }", flag);
	} else if (row->kernel_class == KERNEL_NONE && !row->classic) {
		guid_format(&row->guid, guid);
		text_add_format(out, "needs: { providers: ['{%s}'] }", guid);
	} else {
		return;
	}
	text_add_string(out, "    # of a live session; a replay takes what is in the recording\n");
}

static void pad(struct text *out, size_t line_start)
{
	do {
		text_add_char(out, ' ');
	} while (!out->failed && out->size - line_start < COMMENT_COLUMN);
}

static void add_samples(struct text *out, const struct sampled_field *field)
{
	for (size_t i = 0; i < field->sample_count; i++) {
		text_add_string(out, i > 0 ? ", " : ": ");
		text_add_shown(out, field->samples[i].data);
	}
}

static void add_label(struct text *out, const struct sampled_field *field)
{
	size_t start = out->size;
	const char *name = field->name.data ? field->name.data : "";

	text_add_string(out, "      # ");
	if (field->structures) {
		text_add_shown(out, name);
		text_add_string(out, ".count: how many; [0] below is the first of them\n");
		return;
	}
	add_label_name(out, name);
	text_add_string(out, ": ");
	add_scalar(out, name);
	pad(out, start);
	text_add_string(out, "# ");
	text_add_string(out, field->type.data ? field->type.data : "");
	add_samples(out, field);
	if (field->list) {
		text_add_string(out, "; one of them: ");
		text_add_shown(out, name);
		text_add_string(out, "[0], how many: ");
		text_add_shown(out, name);
		text_add_string(out, ".count");
	}
	text_add_char(out, '\n');
}

/* A number that looks like an amount; else the first number; NULL: there is none. */
static const struct sampled_field *amount_of(const struct field_samples *samples)
{
	static const char *const words[] = { "Size", "Bytes", "Amount", "Length" };
	const struct sampled_field *first = NULL;

	for (size_t i = 0; i < samples->count; i++) {
		const struct sampled_field *field = &samples->fields[i];

		if (!field->number || !field->name.data) {
			continue;
		}
		first = first ? first : field;
		for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
			if (strstr(field->name.data, words[j])) {
				return field;
			}
		}
	}
	return first;
}

/* A condition on the first field that has a value; of numbers one that a rule can be given. */
static void add_condition(struct text *out, const struct field_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct sampled_field *field = &samples->fields[i];
		const struct text *value = &field->samples[0];
		int64_t number;

		if (field->sample_count == 0 || field->list || !field->name.data ||
		    (field->number && !parse_i64(value->data, value->size, &number))) {
			continue;
		}
		text_add_string(out, "        # where: [{ field: ");
		add_scalar(out, field->name.data);
		text_add_string(out, ", eq: ");
		if (field->number) {
			text_add_string(out, value->data);
		} else {
			add_scalar(out, value->data);
		}
		text_add_string(out, " }]\n");
		return;
	}
}

static void add_rule(struct text *out, const struct class_row *row,
		     const struct field_samples *samples)
{
	const struct sampled_field *amount = amount_of(samples);
	size_t start;

	text_add_string(out, "    events:\n      - event: ");
	add_event(out, row);
	text_add_char(out, '\n');
	if (amount) {
		start = out->size;
		text_add_string(out, "        # value: ");
		add_scalar(out, amount->name.data);
		pad(out, start);
		text_add_string(out, "# adds the number; without it each event counts 1\n");
	}
	add_condition(out, samples);
}

static void add_head(struct text *out, const char *file, const struct class_row *row)
{
	struct text name = { 0 };

	class_row_name(row, &name);
	text_add_string(out, "# ");
	text_add_shown(out, name.data ? name.data : "");
	text_add_format(out, ": %" PRIu64 " events in ", row->records);
	text_add_shown(out, file);
	text_add_format(out, ", %s %u, version ", row->classic ? "opcode" : "id", row->number);
	class_row_versions(row, out);
	text_add_string(out, ".\n# Counts them. Take the # away where you want a field as a label: "
			     "one of few different values.\n");
	text_add_string(out, "collector: my_collector    # as the file is called: "
			     "my_collector.yaml\nhelp: ");
	text_clear(&name);
	text_add_string(&name, "Events ");
	class_row_name(row, &name);
	text_add_char(&name, '.');
	add_scalar(out, name.data ? name.data : "");
	text_add_string(out, "\ndefault: on\n");
	add_needs(out, row);
	text_add_string(out,
			"metrics:\n  - name: etw_my_events_total\n    type: counter\n    help: ");
	add_scalar(out, name.data ? name.data : "");
	text_add_string(out, "\n    labels:\n      process: Process\n");
	text_free(&name);
}

void collector_text(struct text *out, const char *file, const struct class_row *row,
		    const struct field_samples *samples)
{
	add_head(out, file, row);
	for (size_t i = 0; i < samples->count; i++) {
		add_label(out, &samples->fields[i]);
	}
	if (!row->schema) {
		text_add_string(out,
				"      # no layout is known: of its payload nothing can be told\n");
	}
	add_rule(out, row, samples);
	out->failed |= samples->failed;
}
