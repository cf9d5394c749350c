/* SPDX-License-Identifier: MIT */
/*
 * etwtool providers: who wrote events into a recording, which, how many, and what fields they have.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "tool/class_rows.h"
#include "tool/field_names.h"
#include "tool/json_indent.h"
#include "tool/recording.h"
#include "tool/tool.h"
#include "tool/tool_installed.h"

static const struct tool_flag flags[] = {
	{ "--installed", NULL, "those registered on this Windows; a word instead of FILE filters" },
	{ NULL, NULL, NULL },
};

static void on_class(void *context, const struct event_class *class)
{
	class_rows_class(context, class);
}

static void on_record(void *context, const struct event_record *record,
		      const struct event_class *class, struct tracker *tracker)
{
	(void)record;
	(void)tracker;
	class_rows_count(context, class);
}

/* The end of the rows of one provider, and its records. */
static size_t provider_end(const struct class_rows *rows, size_t first, uint64_t *records)
{
	size_t end = first;

	*records = 0;
	for (;
	     end < rows->count && strcmp(rows->rows[first].provider, rows->rows[end].provider) == 0;
	     end++) {
		*records += rows->rows[end].records;
	}
	return end;
}

/* Calls add for the name of each field. */
static void each_field(const struct schema *schema,
		       void (*add)(void *context, const char *name, bool first), void *context)
{
	struct text name = { 0 };
	bool first = true;

	for (unsigned i = schema ? field_next(schema, 0) : 0; schema && i < schema->field_count;
	     i = field_next(schema, field_behind(schema, i))) {
		text_clear(&name);
		field_name_add(schema, i, &name);
		add(context, name.data ? name.data : "", first);
		first = false;
	}
	text_free(&name);
}

static void add_field_text(void *context, const char *name, bool first)
{
	text_add_string(context, first ? "  " : ", ");
	text_add_shown(context, name);
}

static void add_event_text(struct text *out, const struct class_row *row)
{
	text_add_format(out, "  %10" PRIu64 "  ", row->records);
	text_add_shown(out, row->event);
	text_add_format(out, " (%s %u)", row->classic ? "opcode" : "id", row->number);
	each_field(row->schema, add_field_text, out);
	text_add_string(out, row->schema ? "\n" : "  (no layout)\n");
}

static void add_text(struct text *out, const struct class_rows *rows)
{
	for (size_t i = 0; i < rows->count;) {
		const struct class_row *row = &rows->rows[i];
		char guid[GUID_TEXT_SIZE];
		uint64_t records;
		size_t end = provider_end(rows, i, &records);

		guid_format(&row->guid, guid);
		text_add_string(out, i > 0 ? "\n" : "");
		text_add_shown(out, row->provider);
		if (row->kernel_class == KERNEL_NONE && strcmp(guid, row->provider) != 0) {
			text_add_format(out, " {%s}", guid);
		}
		text_add_format(out, ": %" PRIu64 " events\n", records);
		for (; i < end; i++) {
			add_event_text(out, &rows->rows[i]);
		}
	}
	if (rows->refused > 0) {
		text_add_format(out, "\n%" PRIu64 " records of too many kinds to tell apart\n",
				rows->refused);
	}
}

static void add_field_json(void *context, const char *name, bool first)
{
	(void)first;
	json_string(context, name);
}

static void add_event_json(struct json *json, const struct class_row *row)
{
	struct text name = { 0 };
	char guid[GUID_TEXT_SIZE];

	class_row_name(row, &name);
	guid_format(&row->guid, guid);
	json_object_begin(json);
	json_member_string(json, "event", name.data);
	text_free(&name);
	json_member_string(json, "guid", guid);
	json_member_u64(json, row->classic ? "opcode" : "id", row->number);
	json_key(json, "versions");
	json_array_begin(json);
	for (unsigned version = 0; version < 256; version++) {
		if ((row->versions[version / 64] >> version % 64 & 1) != 0) {
			json_u64(json, version);
		}
	}
	json_array_end(json);
	json_member_u64(json, "records", row->records);
	json_member_string(json, "decoded_by", class_row_origin(row));
	json_key(json, "fields");
	json_array_begin(json);
	each_field(row->schema, add_field_json, json);
	json_array_end(json);
	json_object_end(json);
}

static void add_json(struct text *out, const struct class_rows *rows)
{
	struct text compact = { 0 };
	struct json json;

	json_init(&json, &compact, false);
	json_object_begin(&json);
	json_key(&json, "providers");
	json_array_begin(&json);
	for (size_t i = 0; i < rows->count;) {
		uint64_t records;
		size_t end = provider_end(rows, i, &records);

		json_object_begin(&json);
		json_member_string(&json, "name", rows->rows[i].provider);
		json_member_u64(&json, "records", records);
		json_key(&json, "events");
		json_array_begin(&json);
		for (; i < end; i++) {
			add_event_json(&json, &rows->rows[i]);
		}
		json_array_end(&json);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_member_u64(&json, "refused", rows->refused);
	json_object_end(&json);
	json_indent(out, &compact);
	text_free(&compact);
}

static int list(struct tool_arguments *arguments)
{
	struct class_rows rows = { .count = 0 };
	const struct recording_options options = {
		.command = "providers",
		.manifests = &arguments->manifests,
		.path = arguments->path,
		.pointer_size = arguments->pointer_size,
		.context = &rows,
		.on_class = on_class,
		.on_record = on_record,
	};
	struct error err = { 0 };
	struct recording *recording = recording_open(&options, &err);
	struct text out = { 0 };
	int status;

	if (recording && recording_run(recording, &err)) {
		recording_warn(recording);
		class_rows_sort(&rows);
		(arguments->as_json ? add_json : add_text)(&out, &rows);
		status = tool_write("providers", &out) ? TOOL_DONE : TOOL_FAILED;
	} else {
		status = tool_complain(TOOL_FAILED, "providers", "%s", err.text);
	}
	text_free(&out);
	class_rows_done(&rows);
	recording_close(recording);
	return status;
}

static int run(struct tool_arguments *arguments)
{
	const char *value;
	bool installed = false;
	int next;

	while ((next = tool_next(arguments, &value)) != TOOL_END) {
		if (next == TOOL_STOP) {
			return arguments->status;
		}
		installed = true;
	}
	if (installed) {
		return tool_installed(arguments->path, arguments->as_json);
	}
	if (!arguments->path) {
		return tool_complain(TOOL_BAD_USAGE, "providers", "which recording?");
	}
	/* Rules know events by the built-in manifests, too. */
	return tool_add_builtin(arguments) ? list(arguments) : TOOL_FAILED;
}

const struct tool_command tool_providers = {
	.name = "providers",
	.synopsis = "FILE [OPTIONS]",
	.about = "Who wrote events into a recording: providers, their events, fields and counts",
	.more = "Names are those that a collector's rules take: kernel events as they stand, the others\n"
		"behind their provider, as Provider/Name.\n",
	.flags = flags,
	.shared = TOOL_FILE | TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.run = run,
};
