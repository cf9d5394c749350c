/* SPDX-License-Identifier: MIT */
/*
 * etwtool providers: which providers wrote events into a recording, and for each of its events the
 * name that a rule uses, the number of records, where its schema comes from, and its fields.
 *
 * The recording is read by the whole pipeline with the built-in manifests, because the names shown
 * must be those by which the rules of the exporter find events. With --installed nothing is read:
 * then the providers that are registered on this Windows are listed (tool_sessions.c). An event is
 * a row of class_rows.h, so all its versions are one row, with the fields of its largest schema.
 * The number of rows is limited; records beyond them are counted and reported at the end.
 */
#include <inttypes.h>
#include <string.h>

#include "tool/class_rows.h"
#include "tool/event_fields.h"
#include "tool/recording.h"
#include "tool/tool.h"

static void on_record(void *context, struct recording *recording, const struct event_record *record,
		      const struct event_class *class)
{
	(void)recording;
	(void)record;
	class_rows_count(context, class);
}

static void add_event_text(struct text *out, const struct class_row *row)
{
	struct field_walk field = { 0 };
	const char *between = "  ";

	text_add_format(out, "  %10" PRIu64 "  ", row->records);
	text_add_shown(out, row->event);
	text_add_format(out, " (%s %u)", row->classic ? "opcode" : "id", row->number);
	for (; field_walk_next(&field, row->schema); between = ", ") {
		text_add_string(out, between);
		text_add_shown(out, field.name.data ? field.name.data : "");
	}
	text_add_string(out, row->schema ? "\n" : "  (no layout)\n");
}

static void add_text(struct text *out, const struct class_rows *rows)
{
	for (size_t i = 0; i < rows->count;) {
		const struct class_row *row = &rows->rows[i];
		char guid[GUID_TEXT_SIZE];
		size_t end = class_rows_provider_end(rows, i);

		guid_format(&row->guid, guid);
		text_add_string(out, i > 0 ? "\n" : "");
		text_add_shown(out, row->provider);
		if (row->kernel_class == KERNEL_NONE && strcmp(guid, row->provider) != 0) {
			text_add_format(out, " {%s}", guid);
		}
		text_add_format(out, ": %" PRIu64 " events\n", row->provider_records);
		for (; i < end; i++) {
			add_event_text(out, &rows->rows[i]);
		}
	}
	if (rows->refused > 0) {
		text_add_format(out, "\n%" PRIu64 " records of too many event classes to list\n",
				rows->refused);
	}
}

static void add_event_json(struct json *json, const struct class_row *row)
{
	struct field_walk field = { 0 };

	json_object_begin(json);
	json_member_string(json, "event", row->name);
	json_member_guid(json, "guid", &row->guid);
	json_member_u64(json, row->classic ? "opcode" : "id", row->number);
	json_member_array(json, "versions");
	for (unsigned version = 0; (version = class_row_version(row, version)) < 256; version++) {
		json_u64(json, version);
	}
	json_array_end(json);
	json_member_u64(json, "records", row->records);
	json_member_string(json, "decoded_by", schema_origin_name(row->schema));
	json_member_array(json, "fields");
	while (field_walk_next(&field, row->schema)) {
		json_string(json, field.name.data ? field.name.data : "");
	}
	json_array_end(json);
	json_object_end(json);
}

static void add_json(struct text *out, const struct class_rows *rows)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);

	json_member_array(json, "providers");
	for (size_t i = 0; i < rows->count;) {
		size_t end = class_rows_provider_end(rows, i);

		json_object_begin(json);
		json_member_string(json, "name", rows->rows[i].provider);
		json_member_u64(json, "records", rows->rows[i].provider_records);
		json_member_array(json, "events");
		for (; i < end; i++) {
			add_event_json(json, &rows->rows[i]);
		}
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	json_member_u64(json, "refused", rows->refused);
	tool_json_end(&page, out);
}

static int list(struct tool_arguments *arguments)
{
	struct class_rows rows = { .count = 0 };
	struct recording *recording =
		recording_read(arguments, &(struct recording_options){ .context = &rows,
								       .on_class = class_rows_class,
								       .on_record = on_record });
	struct text out = { 0 };
	int status = TOOL_FAILED;

	if (recording) {
		class_rows_sort(&rows);
		(arguments->as_json ? add_json : add_text)(&out, &rows);
		status = tool_print("providers", &out);
	}
	class_rows_done(&rows);
	recording_close(recording);
	return status;
}

/* ---- the command ---- */

struct request {
	struct tool_arguments arguments;
	bool installed;
};

static const struct command_option option_rows[] = {
	{ "--installed", NULL,
	  "list those registered on this Windows; a word in place of FILE filters", OPTION_SET,
	  .offset = offsetof(struct request, installed) },
	{ NULL },
};

static int run(struct tool_arguments *arguments)
{
	if (((struct request *)arguments)->installed) {
		return tool_installed(arguments->words[0], arguments->as_json != 0);
	}
	if (arguments->word_count == 0) {
		return tool_complain(TOOL_BAD_USAGE, "providers", "which recording?");
	}
	return list(arguments);
}

const struct tool_command tool_providers = {
	.name = "providers",
	.synopsis = "FILE | --installed [WORD]",
	.about = "List the providers of a recording, their events and fields",
	.more = "The names are those that the rules of collectors use: kernel events as shown, other\n"
		"events with their provider in front, as Provider/Name.\n",
	.options = option_rows,
	.shared = TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_THREADS | TOOL_SCHEMA,
	.words_most = 1,
	.size = sizeof(struct request),
	.run = run,
};
