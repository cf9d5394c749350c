/* SPDX-License-Identifier: MIT */
/*
 * etwtool fields: writes the fields of one event as a first version of a collector. It counts the
 * events of one class, and has the fields that these events had in comments, with types and some
 * values.
 *
 * One run of the pipeline collects fields and some of their values (event_fields.h), and what a
 * live session must enable for these events (record_needs.h).
 *
 * The collector must be valid YAML that the exporter accepts, for any name that a provider has
 * chosen. A name is therefore written without quotes only if every reader of YAML takes it for a
 * string. An event whose name would mean another event in a rule is written with GUID and number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "etwtool/class_rows.h"
#include "etwtool/event_fields.h"
#include "etwtool/event_filter.h"
#include "etwtool/record_needs.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/event_pattern.h"

enum { COMMENT_COLUMN = 48 };

struct search {
	const struct etw_configured_manifests *manifests;
	struct requested_name provider; /* without a name: any provider */
	struct requested_name event;
	struct requested_name alone; /* the word for the event, tried as the name of a provider */
	struct class_rows rows;      /* rows of the matching events */
	struct seen seen;
	bool in_process; /* a matching event belongs to a process */
	struct field_samples samples;
};

/* ---- the collector ---- */

/* Adds text without quotes if every reader of YAML takes it for a string, otherwise as in JSON. */
static void add_scalar(struct etw_text *out, const char *text)
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

/*
 * Adds a label name: "TransferSize" becomes transfer_size, "st[0].x" becomes st_0_x. A name without
 * such letters becomes "field".
 */
static void add_label_name(struct etw_text *out, const char *field)
{
	bool small = false, gap = false;
	size_t start = out->size;

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
	if (out->size == start) {
		text_add_string(out, "field");
	}
}

/*
 * Adds the value of `event:` in a rule. A name that a rule would read as something else is replaced
 * by GUID and number.
 */
static void add_event(struct etw_text *out, const struct class_row *row)
{
	struct event_pattern pattern;
	char guid[GUID_TEXT_SIZE], number[GUID_TEXT_SIZE + 16];

	if (event_pattern_parse(row->name, strlen(row->name), &pattern, NULL) &&
	    (pattern.scope == EVENTS_KERNEL) == (row->kernel_class != ETW_KERNEL_NONE)) {
		add_scalar(out, row->name);
		return;
	}
	guid_format(&row->guid, guid);
	snprintf(number, sizeof number, "{%s}/%u", guid, row->number);
	add_scalar(out, number);
}

/* ---- fields and values ---- */

static void pad(struct etw_text *out, size_t line_start)
{
	do {
		text_add_char(out, ' ');
	} while (!out->failed && out->size - line_start < COMMENT_COLUMN);
}

static void add_samples(struct etw_text *out, const struct sampled_field *field)
{
	for (size_t i = 0; i < field->sample_count; i++) {
		text_add_string(out, i > 0 ? ", " : ": ");
		text_add_shown(out, field->samples[i].data);
	}
}

static void add_label(struct etw_text *out, const struct sampled_field *field, bool derived)
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
	text_add_format(out, "# %s%s%s", derived ? "derived, " : "", field->list ? "list of " : "",
			field->type);
	add_samples(out, field);
	if (field->list) {
		text_add_string(out, "; one of them: ");
		text_add_shown(out, field->name);
		text_add_string(out, "[0], how many: ");
		text_add_shown(out, field->name);
		text_add_string(out, ".count");
	} else if (field->decoder) {
		text_add_string(out, "; by name: { field: ");
		add_scalar(out, field->name);
		text_add_format(out, ", decode: [%s] }", field->decoder);
	}
	text_add_char(out, '\n');
}

static bool is_duration(unsigned number)
{
	return derived_at(number) && derived_at(number)->type == TYPE_DURATION;
}

/* Returns whether the field is 0 in all events, which says nothing about them. */
static bool is_always_zero(const struct sampled_field *field)
{
	return field->number && field->sample_count == 1 && field->samples[0].size == 1 &&
	       field->samples[0].data[0] == '0';
}

/* Derived fields come first, because they answer most questions. */
static void add_labels(struct etw_text *out, const struct field_samples *samples)
{
	const char *before = "      # addresses, of no use as label or value: ";

	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		if (samples->derived[i].name && !is_duration(i) &&
		    !is_always_zero(&samples->derived[i])) {
			add_label(out, &samples->derived[i], true);
		}
	}
	for (size_t i = 0; i < samples->count; i++) {
		if (!samples->fields[i].address) {
			add_label(out, &samples->fields[i], false);
		}
	}
	for (size_t i = 0; i < samples->count; i++) {
		if (samples->fields[i].address) {
			text_add_string(out, before);
			text_add_shown(out, samples->fields[i].name);
			before = ", ";
		}
	}
	text_add_string(out, *before == ',' ? "\n" : "");
}

/*
 * Returns a number whose name looks like an amount, or else the first that may be one; NULL if
 * there is none.
 */
static const struct sampled_field *amount_of(const struct field_samples *samples)
{
	static const char *const words[] = { "Size", "Bytes", "Amount", "Length" };
	static const char *const others[] = { "Id",      "Key",    "Index",    "Offset",
					      "Address", "Addr",   "Port",     "Version",
					      "Type",    "Class",  "Time",     "Level",
					      "Number",  "Handle", "Reserved", "Reserved0",
					      "State",   "Reason", "Priority", NULL };
	const struct sampled_field *first = NULL;

	for (size_t i = 0; i < samples->count; i++) {
		const struct sampled_field *field = &samples->fields[i];

		if (!field->number || field->name[0] == '\0' || field->address || field->code) {
			continue;
		}
		for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
			if (strstr(field->name, words[j])) {
				return field;
			}
		}
		if (!first && !name_ends_in_one_of(field->name, others)) {
			first = field;
		}
	}
	return first;
}

static void add_value(struct etw_text *out, const char *name, const char *comment)
{
	size_t start = out->size;

	text_add_string(out, "        # value: ");
	add_scalar(out, name);
	pad(out, start);
	text_add_string(out, comment);
}

/*
 * Adds a condition on the first value of a field. A number must be an integer that a rule accepts.
 * Returns false if there is no condition.
 */
static bool add_condition(struct etw_text *out, const struct sampled_field *field)
{
	const struct etw_text *value = &field->samples[0];
	int64_t number;

	if (!field->name || field->name[0] == '\0' || field->sample_count == 0 || field->list ||
	    field->address || field->structures ||
	    (field->number && !parse_i64(value->data, value->size, &number))) {
		return false;
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
	return true;
}

/*
 * Adds a condition on a field that is specific to these events; derived fields that all events can
 * have come last.
 */
static void add_first_condition(struct etw_text *out, const struct field_samples *samples)
{
	const struct derived_field *row;

	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		if ((row->events || row->origin) && !is_duration(i) &&
		    add_condition(out, &samples->derived[i])) {
			return;
		}
	}
	for (size_t i = 0; i < samples->count; i++) {
		if (add_condition(out, &samples->fields[i])) {
			return;
		}
	}
}

static void add_rule(struct etw_text *out, const struct class_row *row,
		     const struct field_samples *samples)
{
	const struct sampled_field *amount = amount_of(samples);

	text_add_string(out, "    events:\n      - event: ");
	add_event(out, row);
	text_add_char(out, '\n');
	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		if (samples->derived[i].name && is_duration(i)) {
			add_value(out, samples->derived[i].name,
				  "# derived; adds seconds: the metric's name must end in "
				  "_seconds_total\n");
		}
	}
	if (amount) {
		add_value(out, amount->name, "# adds the number; without it each event counts 1\n");
	}
	add_first_condition(out, samples);
}

/* Adds the process label: the process that began the operation if the event itself has none. */
static void add_process(struct etw_text *out, const struct search *search)
{
	const struct field_samples *samples = &search->samples;
	bool started_by = false;
	size_t start = out->size;

	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		started_by |= samples->derived[i].name &&
			      strcmp(samples->derived[i].name, "StartedBy") == 0;
	}
	text_add_format(out, "      process: %s", started_by ? "StartedBy" : "Process");
	if (started_by) {
		pad(out, start);
		text_add_string(out, "# derived: who began the operation; its end has no Process");
	} else if (!search->in_process) {
		pad(out, start);
		text_add_string(out, "# always _none: these events belong to no process");
	}
	text_add_char(out, '\n');
}

static void add_head(struct etw_text *out, const char *file, const struct class_row *row,
		     const struct search *search)
{
	struct etw_text help = { 0 };

	text_add_string(out, "# ");
	text_add_shown(out, row->name);
	text_add_format(out, ": %" PRIu64 " events in ", row->records);
	text_add_shown(out, file);
	text_add_format(out, ", %s %u, version ", row->classic ? "opcode" : "id", row->number);
	for (unsigned version = class_row_version(row, 0), next; version < 256; version = next) {
		next = class_row_version(row, version + 1);
		text_add_format(out, "%u%s", version, next < 256 ? ", " : "");
	}
	text_add_string(out, ".\n# Counts them. Uncomment a field to use it as a label; choose "
			     "fields with few distinct values.\n"
			     "collector: my_collector    # as the file is called: "
			     "my_collector.yaml\nhelp: ");
	text_add_format(&help, "Events %s.", row->name);
	add_scalar(out, help.data ? help.data : "");
	text_add_string(out, "\ndefault: on\n");
	text_add_needs(out, row, &search->seen);
	text_add_string(out,
			"metrics:\n  - name: etw_my_events_total\n    type: counter\n    help: ");
	add_scalar(out, help.data ? help.data : "");
	text_add_string(out, "\n    labels:\n");
	text_free(&help);
}

static void add_collector(struct etw_text *out, const char *file, const struct search *search)
{
	const struct class_row *row = &search->rows.rows[0];
	const struct field_samples *samples = &search->samples;

	add_head(out, file, row, search);
	add_process(out, search);
	add_labels(out, samples);
	if (!row->schema) {
		text_add_string(
			out,
			"      # no layout is known, so no field of its payload can be shown\n");
	}
	add_rule(out, row, samples);
	out->failed |= samples->failed;
}

/* ---- JSON ---- */

static void add_field_json(struct json *json, const struct sampled_field *field)
{
	json_object_begin(json);
	json_member_string(json, "name", field->name);
	json_member_string(json, "type", field->structures ? "structure" : field->type);
	json_key(json, "list");
	json_bool(json, field->list || field->structures);
	json_key(json, "address");
	json_bool(json, field->address);
	json_member_string(json, "decode", field->decoder); /* writes null if it is NULL */
	json_member_array(json, "values");
	for (size_t i = 0; i < field->sample_count; i++) {
		json_text(json, field->samples[i].data ? field->samples[i].data : "",
			  field->samples[i].size);
	}
	json_array_end(json);
	json_object_end(json);
}

static void add_json(struct etw_text *out, const struct search *search)
{
	const struct class_row *row = &search->rows.rows[0];
	const struct field_samples *samples = &search->samples;
	struct tool_json page;
	struct json *json = tool_json_begin(&page);

	json_member_string(json, "event", row->name);
	json_member_string(json, "provider", row->provider);
	json_member_guid(json, "guid", &row->guid);
	json_member_u64(json, row->classic ? "opcode" : "id", row->number);
	json_member_u64(json, "records", row->records);
	json_member_array(json, "derived");
	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		if (samples->derived[i].name) {
			add_field_json(json, &samples->derived[i]);
		}
	}
	json_array_end(json);
	json_member_array(json, "fields");
	for (size_t i = 0; i < samples->count; i++) {
		add_field_json(json, &samples->fields[i]);
	}
	json_array_end(json);
	tool_json_end(&page, out);
	out->failed |= samples->failed;
}

/* ---- the command ---- */

static void on_class(void *context, const struct etw_event_class *class)
{
	struct search *search = context;

	is_requested_provider(&search->alone, class);
	if ((!search->provider.name || is_requested_provider(&search->provider, class)) &&
	    is_requested_event(&search->event, class)) {
		class_rows_class(&search->rows, class);
		seen_class(&search->seen, search->manifests, class);
	} else {
		map_remove(&search->rows.by_class, (uintptr_t) class);
	}
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct search *search = context;
	uint32_t process_id;

	if (map_find(&search->rows.by_class, (uintptr_t) class) &&
	    class_rows_count(&search->rows, class)) {
		seen_record(&search->seen, record);
		search->in_process |= strcmp(recording_process(recording, &process_id), "_none") !=
				      0;
		field_samples_add(&search->samples, recording, record, class);
	}
}

/*
 * Sets *provider if another provider has an event with the same name, and *number if this provider
 * has one with another number.
 */
static void find_namesakes(const struct class_rows *rows, const struct class_row *row,
			   bool *provider, bool *number)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct class_row *other = &rows->rows[i];

		if (other != row && strcmp(other->name, row->name) == 0) {
			bool same = etw_guid_equal(&other->guid, &row->guid);

			*provider |= !same;
			*number |= same;
		}
	}
}

static int complain_of_several(const struct search *search)
{
	const struct class_rows *rows = &search->rows;
	bool guid_helps = false;
	struct etw_text names = { 0 };

	for (size_t i = 0; i < rows->count && i < 5; i++) {
		const struct class_row *row = &rows->rows[i];
		bool provider = false, number = false;
		char guid[GUID_TEXT_SIZE];

		find_namesakes(rows, row, &provider, &number);
		guid_helps |= provider;
		guid_format(&row->guid, guid);
		text_add_string(&names, i > 0 ? ", " : "");
		if (provider) {
			text_add_format(&names, "{%s}/", guid);
		} else {
			text_add(&names, row->name, (size_t)(row->event - row->name));
		}
		if (number) {
			text_add_u64(&names, row->number);
		} else {
			text_add_string(&names, row->event);
		}
	}
	tool_complain(TOOL_BAD_USAGE, "fields", "'%s' is several events: %s%s%s",
		      search->event.name, names.data ? names.data : "",
		      rows->count > 5 ? ", …" : "",
		      guid_helps ? "; a {guid} distinguishes providers of one name" : "");
	text_free(&names);
	return TOOL_BAD_USAGE;
}

static int print(struct search *search, const char *path, bool as_json)
{
	struct etw_text out = { 0 };

	if (search->provider.name && !search->provider.met) {
		return complain_of_missing(&search->provider, "fields", "provider");
	}
	if (search->rows.count == 0 && !search->provider.name && search->alone.met) {
		return tool_complain(TOOL_BAD_USAGE, "fields",
				     "'%s' is a provider; which of its events? etwtool providers "
				     "lists them",
				     search->event.name);
	}
	if (search->rows.count == 0) {
		return complain_of_missing(&search->event, "fields", "event");
	}
	if (search->rows.count > 1) {
		return complain_of_several(search);
	}
	if (as_json) {
		add_json(&out, search);
	} else {
		add_collector(&out, os_path_name(path), search);
	}
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
		return tool_complain(
			TOOL_BAD_USAGE, "fields",
			"name an event, such as DiskIo/Read; etwtool providers FILE lists "
			"them");
	}
	search = (struct search){ .manifests = &arguments->manifests,
				  .provider.name = count == 3 ? words[1] : NULL,
				  .event.name = words[count - 1],
				  .alone.name = words[count - 1] };
	recording =
		recording_read(arguments, &(struct recording_options){ .derived = true,
								       .context = &search,
								       .on_class = on_class,
								       .on_record = on_record });
	if (recording) {
		status = print(&search, words[0], arguments->as_json != 0);
	}
	class_rows_done(&search.rows);
	field_samples_done(&search.samples);
	recording_close(recording);
	return status;
}

const struct tool_command tool_fields = {
	.name = "fields",
	.synopsis = "FILE [PROVIDER] EVENT",
	.about = "Show the fields of an event, as a collector to start from",
	.more = "PROVIDER is a name or GUID. EVENT is a name or an id, or without PROVIDER the event as\n"
		"in a rule: DiskIo/Read. In both, * matches any text and ? one character.\n",
	.shared = TOOL_FILE | TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = 3,
	.too_many = "one event at a time, not also",
	.size = sizeof(struct tool_arguments),
	.run = run,
};
