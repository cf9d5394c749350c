/* SPDX-License-Identifier: MIT */
/*
 * etwtool providers: lists which providers wrote events into a recording, and for each of their
 * events the name that a rule uses, the number of records, where its schema comes from, and its
 * fields.
 *
 * The whole pipeline reads the recording with the built-in manifests, because the names shown must
 * be those by which the rules of the exporter find events. --installed reads no recording; it lists
 * the providers that are registered on this Windows (tool_sessions.c). An event is a row of
 * class_rows.h, so all its versions are one row, with the fields of its largest schema. The number
 * of rows is limited; records beyond them are counted and reported at the end.
 *
 * --export-manifests lists nothing; it writes manifests of what the recording contains or of what
 * Windows has registered (export_manifests.h).
 */
#include <inttypes.h>
#include <string.h>

#include <etw/session.h>

#include "base/os.h"
#include "etwtool/class_rows.h"
#include "etwtool/event_fields.h"
#include "etwtool/export_manifests.h"
#include "etwtool/recording.h"
#include "etwtool/tool.h"

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	(void)recording;
	(void)record;
	class_rows_count(context, class);
}

static void add_event_text(struct etw_text *out, const struct class_row *row)
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

static void add_text(struct etw_text *out, const struct class_rows *rows)
{
	for (size_t i = 0; i < rows->count;) {
		const struct class_row *row = &rows->rows[i];
		char guid[GUID_TEXT_SIZE];
		size_t end = class_rows_provider_end(rows, i);

		guid_format(&row->guid, guid);
		text_add_string(out, i > 0 ? "\n" : "");
		text_add_shown(out, row->provider);
		if (row->kernel_class == ETW_KERNEL_NONE && strcmp(guid, row->provider) != 0) {
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
	json_member_string(json, "decoded_by", etw_schema_origin_name(row->schema));
	json_member_array(json, "fields");
	while (field_walk_next(&field, row->schema)) {
		json_string(json, field.name.data ? field.name.data : "");
	}
	json_array_end(json);
	json_object_end(json);
}

static void add_json(struct etw_text *out, const struct class_rows *rows)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);

	json_member_array(json, "providers");
	for (size_t i = 0; i < rows->count;) {
		size_t end = class_rows_provider_end(rows, i);

		json_object_begin(json);
		json_member_string(json, "name", rows->rows[i].provider);
		if (rows->rows[i].kernel_class == ETW_KERNEL_NONE) {
			json_member_guid(json, "guid", &rows->rows[i].guid);
		}
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

/*
 * Moves the rows whose provider or event contains the word to the front, keeps their order, and
 * returns their number.
 */
static size_t pick(struct class_rows *rows, const char *word)
{
	size_t picked = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct class_row row = rows->rows[i];
		char guid[GUID_TEXT_SIZE];

		guid_format(&row.guid, guid);
		if (tool_has_word(row.provider, word) || tool_has_word(guid, word) ||
		    tool_has_word(row.name, word)) {
			rows->rows[i] = rows->rows[picked];
			rows->rows[picked++] = row;
		}
	}
	return picked;
}

static int list(struct tool_arguments *arguments, const char *word)
{
	struct class_rows rows = { .count = 0 }, shown;
	struct recording *recording =
		recording_read(arguments, &(struct recording_options){ .context = &rows,
								       .on_class = class_rows_class,
								       .on_record = on_record });
	struct etw_text out = { 0 };
	int status = TOOL_FAILED;

	if (recording) {
		class_rows_sort(&rows);
		shown = rows;
		shown.count = word ? pick(&rows, word) : rows.count;
	}
	if (recording && word && shown.count == 0) {
		tool_complain(TOOL_FAILED, "providers",
			      "the recording has no provider or event with '%s' in its name", word);
	} else if (recording) {
		(arguments->as_json ? add_json : add_text)(&out, &shown);
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
	const char *export; /* folder; NULL: no export */
};

static const struct command_option option_rows[] = {
	{ "--installed", NULL,
	  "list those registered on this Windows; a word in place of FILE filters", OPTION_SET,
	  .offset = offsetof(struct request, installed) },
	{ "--export-manifests", "DIR",
	  "write a manifest (.man) for each provider that FILE describes, or that is registered",
	  OPTION_TEXT, .offset = offsetof(struct request, export) },
	{ NULL },
};

static bool is_file(const char *path)
{
	struct os_file_stamp stamp;

	os_file_stamp(path, &stamp);
	return stamp.volume != 0 || stamp.number != 0;
}

/*
 * Without --installed the first word names a recording if that file exists, or if this machine has
 * no registered providers (not Windows).
 */
static int run_export(struct request *request)
{
	struct tool_arguments *arguments = &request->arguments;
	struct etw_error err = { 0 };
	bool here = etw_here(&err);
	bool installed = request->installed || arguments->word_count == 0 ||
			 (here && !is_file(arguments->words[0]));

	if (arguments->as_json) {
		return tool_complain(TOOL_BAD_USAGE, "providers",
				     "--format is of no use with --export-manifests");
	}
	if (installed && !here) {
		return tool_complain(TOOL_BAD_USAGE, "providers",
				     "which recording? Without one, the manifests of this machine "
				     "are exported, but %s",
				     err.text);
	}
	return export_manifests(arguments, request->export, installed);
}

static int run(struct tool_arguments *arguments)
{
	struct request *request = (struct request *)arguments;
	size_t words_most = request->installed ? 1 : 2;
	struct etw_error err;

	if (request->export) {
		return run_export(request);
	}
	if (arguments->word_count > 1 && !request->installed && is_file(arguments->words[1])) {
		recording_refuse_second(arguments->words[0], arguments->words[1], &err);
		return tool_complain(TOOL_BAD_USAGE, "providers", "%s", err.text);
	}
	if (arguments->word_count > words_most) {
		return tool_complain(TOOL_BAD_USAGE, "providers",
				     "one word at a time, not also \"%s\"",
				     arguments->words[words_most]);
	}
	if (request->installed) {
		return tool_installed(arguments->words[0], arguments->as_json != 0);
	}
	if (arguments->word_count == 0) {
		return tool_complain(TOOL_BAD_USAGE, "providers", "which recording?");
	}
	return list(arguments, arguments->words[1]);
}

const struct tool_command tool_providers = {
	.name = "providers",
	.synopsis = "FILE [WORD] | --installed [WORD] | --export-manifests DIR [FILE] [NAME…]",
	.about = "List the providers of a recording, their events and fields",
	.more = "The names are those that the rules of collectors use: kernel events as shown, other\n"
		"events with their provider in front, as Provider/Name. WORD shows those only that have it in\n"
		"their name or GUID, or in that of their provider.\n"
		"\n"
		"--export-manifests takes what a recording contains: the manifests of EventSources, and\n"
		"the descriptions that a merge adds. On Windows, without FILE, it takes all that is\n"
		"registered. NAME limits it to providers of that name or GUID, with * and ?. The\n"
		"folder is then a value of --schema and of schemas: in a configuration. A file of\n"
		"an earlier export is replaced, any other stays.\n",
	.options = option_rows,
	.shared = TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = TOOL_WORDS_MOST,
	.size = sizeof(struct request),
	.run = run,
};
