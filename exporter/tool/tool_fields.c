/* SPDX-License-Identifier: MIT */
/*
 * etwtool fields: the fields of one event, written as a collector to begin with. It counts the
 * events of one class, and the fields that these were seen to have stand ready in comments, with
 * types and some values.
 *
 * First, fields and some of their values are collected from the events. Fields are distinguished by
 * name and type, because versions of an event may give one field two types, and each would need a
 * rule of its own. Of arrays of structures the members of the first element are shown. Values are
 * looked for in a limited number of events, and long ones are left out.
 *
 * Then the collector is written. It must be valid YAML that the exporter accepts as it is, for any
 * names that a provider has chosen. A name is therefore written plain only if no reader of YAML
 * could take it for something else, and an event whose name would mean another one in a rule is
 * written with GUID and number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/os.h"
#include "rules/language/event_pattern.h"
#include "tool/class_rows.h"
#include "tool/event_fields.h"
#include "tool/event_filter.h"
#include "tool/tool.h"

enum {
	SAMPLES_MOST = 3,
	SAMPLE_SIZE_MOST = 40,  /* bytes; longer values are left out */
	SAMPLES_EVENTS = 10000, /* that are examined for values */
	SAMPLES_FIELDS_MOST = 2 * SCHEMA_FIELDS_MOST,
	COMMENT_COLUMN = 48,
};

struct sampled_field {
	char *name;       /* owned */
	const char *type; /* "u32", of a list that of its elements */
	bool number;      /* to rules */
	bool list;        /* rules take elements ("a[0]") and their number ("a.count"), too */
	bool structures;  /* a list whose members are fields of their own */
	struct text samples[SAMPLES_MOST]; /* owned */
	size_t sample_count;
};

/* Zero-initialise it. */
struct field_samples {
	/* Owned; in payload order of the first event class, then those that others add. */
	struct sampled_field *fields;
	size_t count, capacity;
	struct map rows; /* address of a field in its schema -> its place + 1 */
	uint64_t events;
	bool failed; /* no memory: something is missing */
};

/* ---- fields ---- */

/* The place of a row with the same name and type, made when new; count without room. */
static size_t place_of(struct field_samples *samples, const struct sampled_field *row)
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

/* The row of a field; NULL without room. */
static struct sampled_field *row_of(struct field_samples *samples, const struct schema *schema,
				    unsigned index)
{
	const struct field *field = &schema->fields[index];
	uint64_t *place = map_put(&samples->rows, (uintptr_t)field, NULL);
	struct text name = { 0 };

	if (place && *place == 0) {
		struct sampled_field row = {
			.type = field_type_name(field),
			.number = field_is_integer(field),
			.list = field_is_list(field),
			.structures = field->type == FIELD_STRUCT,
		};
		size_t found;

		text_add_string(&name, "");
		field_name_add(schema, index, &name);
		row.name = name.data;
		found = name.failed ? samples->count : place_of(samples, &row);
		*place = found < samples->count ? found + 1 : 0;
		text_free(&name);
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
	bool known = false;

	field_text(field, slice, &value);
	for (size_t i = 0; i < row->sample_count && value.data; i++) {
		known |= row->samples[i].size == value.size &&
			 memcmp(row->samples[i].data, value.data, value.size) == 0;
	}
	if (known || value.failed || value.size == 0 || value.size > SAMPLE_SIZE_MOST) {
		text_free(&value);
	} else {
		row->samples[row->sample_count++] = value;
	}
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

			add_fields(samples, fields, i + 1, field_behind(schema, i), element);
		} else if (row && has_values && row->sample_count < SAMPLES_MOST &&
			   fields->slices[i].at) {
			add_sample(row, field, &fields->slices[i]);
		}
		i = field_behind(schema, i);
	}
}

static void field_samples_add(struct field_samples *samples, const struct schema *schema,
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

static void field_samples_done(struct field_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		free(samples->fields[i].name);
		for (size_t j = 0; j < samples->fields[i].sample_count; j++) {
			text_free(&samples->fields[i].samples[j]);
		}
	}
	free(samples->fields);
	map_done(&samples->rows);
}

/* ---- the collector ---- */

/* Adds text as it is where no reader of YAML can take it for anything else, else as in JSON. */
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

/*
 * Adds what a rule has behind `event:`. A name that reads as something else in a rule is replaced
 * by GUID and number.
 */
static void add_event(struct text *out, const struct class_row *row)
{
	struct event_pattern pattern;
	char guid[GUID_TEXT_SIZE], number[GUID_TEXT_SIZE + 16];

	if (event_pattern_parse(row->name, strlen(row->name), &pattern, NULL) &&
	    (pattern.scope == EVENTS_KERNEL) == (row->kernel_class != KERNEL_NONE)) {
		add_scalar(out, row->name);
		return;
	}
	guid_format(&row->guid, guid);
	snprintf(number, sizeof number, "{%s}/%u", guid, row->number);
	add_scalar(out, number);
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

	text_add_string(out, "      # ");
	if (field->structures) {
		text_add_shown(out, field->name);
		text_add_string(out, ".count: how many; [0] below is the first of them\n");
		return;
	}
	add_label_name(out, field->name);
	text_add_string(out, ": ");
	add_scalar(out, field->name);
	pad(out, start);
	text_add_format(out, "# %s%s", field->list ? "list of " : "", field->type);
	add_samples(out, field);
	if (field->list) {
		text_add_string(out, "; one of them: ");
		text_add_shown(out, field->name);
		text_add_string(out, "[0], how many: ");
		text_add_shown(out, field->name);
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

		if (!field->number || field->name[0] == '\0') {
			continue;
		}
		first = first ? first : field;
		for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
			if (strstr(field->name, words[j])) {
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

		if (field->sample_count == 0 || field->list || field->name[0] == '\0' ||
		    (field->number && !parse_i64(value->data, value->size, &number))) {
			continue;
		}
		text_add_string(out, "        # where: [{ field: ");
		add_scalar(out, field->name);
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
		add_scalar(out, amount->name);
		pad(out, start);
		text_add_string(out, "# adds the number; without it each event counts 1\n");
	}
	add_condition(out, samples);
}

static void add_head(struct text *out, const char *file, const struct class_row *row)
{
	struct text help = { 0 };

	text_add_string(out, "# ");
	text_add_shown(out, row->name);
	text_add_format(out, ": %" PRIu64 " events in ", row->records);
	text_add_shown(out, file);
	text_add_format(out, ", %s %u, version ", row->classic ? "opcode" : "id", row->number);
	for (unsigned version = class_row_version(row, 0), next; version < 256; version = next) {
		next = class_row_version(row, version + 1);
		text_add_format(out, "%u%s", version, next < 256 ? ", " : "");
	}
	text_add_string(out, ".\n# Counts them. Take the # away where you want a field as a label: "
			     "one of few different values.\n"
			     "collector: my_collector    # as the file is called: "
			     "my_collector.yaml\nhelp: ");
	text_add_format(&help, "Events %s.", row->name);
	add_scalar(out, help.data ? help.data : "");
	text_add_string(out, "\ndefault: on\n");
	add_needs(out, row);
	text_add_string(out,
			"metrics:\n  - name: etw_my_events_total\n    type: counter\n    help: ");
	add_scalar(out, help.data ? help.data : "");
	text_add_string(out, "\n    labels:\n      process: Process\n");
	text_free(&help);
}

static void add_collector(struct text *out, const char *file, const struct class_row *row,
			  const struct field_samples *samples)
{
	add_head(out, file, row);
	for (size_t i = 0; i < samples->count; i++) {
		add_label(out, &samples->fields[i]);
	}
	if (!row->schema) {
		text_add_string(
			out,
			"      # no layout is known, so no field of its payload can be shown\n");
	}
	add_rule(out, row, samples);
	out->failed |= samples->failed;
}

/* ---- the command ---- */

struct search {
	struct requested_name provider; /* no name: any */
	struct requested_name event;
	struct class_rows rows; /* of the events that match */
	struct field_samples samples;
};

static void on_class(void *context, const struct event_class *class)
{
	struct search *search = context;

	if ((!search->provider.name || is_requested_provider(&search->provider, class)) &&
	    is_requested_event(&search->event, class)) {
		class_rows_class(&search->rows, class);
	} else {
		map_remove(&search->rows.by_class, (uintptr_t) class);
	}
}

static void on_record(void *context, struct recording *recording, const struct event_record *record,
		      const struct event_class *class)
{
	struct search *search = context;

	(void)recording;
	if (map_find(&search->rows.by_class, (uintptr_t) class) &&
	    class_rows_count(&search->rows, class) && class->schema) {
		field_samples_add(&search->samples, class->schema, record);
	}
}

static int complain_of_several(const struct search *search)
{
	const struct class_rows *rows = &search->rows;
	struct text names = { 0 };

	for (size_t i = 0; i < rows->count && i < 5; i++) {
		text_add_format(&names, "%s%s", i > 0 ? ", " : "", rows->rows[i].name);
	}
	tool_complain(TOOL_BAD_USAGE, "fields", "'%s' is several events: %s%s", search->event.name,
		      names.data ? names.data : "", rows->count > 5 ? ", …" : "");
	text_free(&names);
	return TOOL_BAD_USAGE;
}

static int print(struct search *search, const char *path)
{
	struct text out = { 0 };

	if (search->provider.name && !search->provider.met) {
		return complain_of_missing(&search->provider, "fields", "provider");
	}
	if (search->rows.count == 0) {
		return complain_of_missing(&search->event, "fields", "event");
	}
	if (search->rows.count > 1) {
		return complain_of_several(search);
	}
	add_collector(&out, os_path_name(path), &search->rows.rows[0], &search->samples);
	return tool_print("fields", &out);
}

static int run(struct tool_arguments *arguments)
{
	const char *const *words = arguments->words;
	size_t count = arguments->word_count;
	struct recording *recording;
	struct search search;
	int status = TOOL_FAILED;

	if (count < 2) {
		return tool_complain(TOOL_BAD_USAGE, "fields",
				     "which event? etwtool providers lists them");
	}
	search = (struct search){ .provider.name = count == 3 ? words[1] : NULL,
				  .event.name = words[count - 1] };
	recording =
		recording_read(arguments, &(struct recording_options){ .context = &search,
								       .on_class = on_class,
								       .on_record = on_record });
	if (recording) {
		status = print(&search, words[0]);
	}
	class_rows_done(&search.rows);
	field_samples_done(&search.samples);
	recording_close(recording);
	return status;
}

const struct tool_command tool_fields = {
	.name = "fields",
	.synopsis = "FILE [PROVIDER] EVENT",
	.about = "The fields of an event, with values, as a collector to begin with",
	.more = "PROVIDER: name or GUID; EVENT: name or id, or as a rule has it, without a provider in\n"
		"front: DiskIo/Read. In both * and ? stand for others.\n",
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = 3,
	.too_many = "one event at a time, not also",
	.size = sizeof(struct tool_arguments),
	.run = run,
};
