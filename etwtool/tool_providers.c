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
 * Windows has registered (below).
 */
#include <etw/describe.h>
#include <etw/manifest.h>
#include <etw/provider.h>
#include <etw/session.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/utf8.h"
#include "etwtool/class_rows.h"
#include "etwtool/event_fields.h"
#include "etwtool/recorded_schemas.h"
#include "etwtool/recording.h"
#include "etwtool/tool.h"

/* ---- --export-manifests ---- */

/*
 * Exports manifests into a folder.
 *
 * The providers come from a recording (recorded_schemas.c) or from Windows
 * (include/etw/describe.h). Both sources fill a writer for each provider, and the steps after that
 * are the same. Windows has more than a thousand providers, and some of their manifests are damaged
 * or missing. A failure is reported in one line and counted, and the export continues.
 *
 * Files are named after providers, whose names other programs chose. A file name keeps only
 * characters that every file system allows. If the name is taken, the provider's GUID is appended,
 * and also a number if that name is taken, too. An existing file is replaced only if it begins as
 * files of this command do, so an export can be repeated, and a manifest that a person wrote is
 * never lost.
 */

enum { FILE_NAME_SIZE_MOST = 120 }; /* without GUID and ending */

struct export
{
	const char *folder;
	const char *const *patterns; /* providers to export; empty: all */
	size_t pattern_count;
	bool found[TOOL_WORDS_MOST]; /* whether a provider matched the pattern */
	struct map files;            /* hashes of names that are taken, ignoring case */
	size_t providers, events, replaced;
	size_t cut;         /* events written without their last fields */
	size_t undescribed; /* events that Windows does not describe */
	size_t without;     /* providers without a manifest */
	size_t failed;      /* providers of which nothing could be written */
};

/* ---- names ---- */

static bool is_allowed(uint32_t codepoint)
{
	return codepoint >= ' ' && !utf8_steers_terminal(codepoint) &&
	       codepoint != UTF8_REPLACEMENT &&
	       (codepoint >= 0x80 || !strchr("<>:\"/\\|?*", (int)codepoint));
}

/* Returns whether Windows reserves the name for a device, with or without an ending. */
static bool is_device(const char *name, size_t size)
{
	static const char *const devices[] = { "con", "prn", "aux", "nul" };
	static const char *const numbered[] = { "com", "lpt" };
	const char *dot = memchr(name, '.', size);

	size = dot ? (size_t)(dot - name) : size;
	while (size > 0 && name[size - 1] == ' ') {
		size--;
	}
	for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
		if (text_equal_nocase(name, size, devices[i], 3)) {
			return true;
		}
	}
	for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++) {
		if (size == 4 && text_equal_nocase(name, 3, numbered[i], 3) && name[3] >= '0' &&
		    name[3] <= '9') {
			return true;
		}
	}
	return false;
}

void export_manifests_file_name(struct etw_text *out, const char *name,
				const struct etw_guid *provider, unsigned copy)
{
	bool unique = copy > 0;
	const char *end = name + strlen(name);
	char guid[GUID_TEXT_SIZE];
	size_t start = out->size;

	guid_format(provider, guid);
	if (name[0] == '.' || is_device(name, strlen(name))) {
		text_add_char(out, '_');
	}
	while (name < end && out->size - start < FILE_NAME_SIZE_MOST) {
		uint32_t codepoint;
		char bytes[4];

		name += utf8_decode(name, (size_t)(end - name), &codepoint);
		codepoint = is_allowed(codepoint) ? codepoint : '_';
		/* File systems differ in which letters of other scripts are equal ignoring case. */
		unique = unique || codepoint >= 0x80;
		text_add(out, bytes, utf8_encode(codepoint, bytes));
	}
	if (out->size == start || unique) {
		text_add_format(out, "%s%s", out->size > start ? "-" : "", guid);
	}
	if (copy > 1) {
		text_add_format(out, "-%u", copy);
	}
	text_add_string(out, ".man");
}

/* Chooses the path of the provider's file; the caller frees it. */
static void add_path(struct export *export, struct etw_text *path, const struct etw_guid *provider,
		     const char *name)
{
	bool added = false;

	for (unsigned copy = 0; !added && !path->failed; copy++) {
		size_t start;

		text_clear(path);
		text_add_string(path, export->folder);
		text_add_char(path, '/');
		start = path->size;
		export_manifests_file_name(path, name, provider, copy);
		path->failed = path->failed ||
			       !map_put(&export->files,
					text_hash_nocase(path->data + start, path->size - start,
							 hash_seed()),
					&added);
	}
}

static bool matches(const char *pattern, const struct etw_guid *provider, const char *name)
{
	struct etw_guid guid;

	return glob_matches_nocase(pattern, name) ||
	       (etw_guid_parse(pattern, &guid) && etw_guid_equal(&guid, provider));
}

static bool is_chosen(struct export *export, const struct etw_guid *provider, const char *name)
{
	bool chosen = export->pattern_count == 0;

	for (size_t i = 0; i < export->pattern_count; i++) {
		if (matches(export->patterns[i], provider, name)) {
			export->found[i] = chosen = true;
		}
	}
	return chosen;
}

/* ---- files ---- */

static bool write_file(struct export *export, const struct etw_guid *provider, const char *name,
		       const struct etw_text *xml, struct etw_error *err)
{
	static const char refusal[] = "no manifest of this command, so it stays as it is";
	struct etw_text path = { 0 };
	bool replaces = false, good;

	add_path(export, &path, provider, name);
	good = (!path.failed || error_no_memory(err, "a path")) &&
	       tool_may_write(path.data, ETW_MANIFEST_WRITER_START, refusal, &replaces, err) &&
	       tool_write_file(path.data, xml, err);
	export->replaced += good && replaces;
	text_free(&path);
	return good;
}

static void complain_about(const char *name, const char *why)
{
	tool_complain(TOOL_FAILED, "providers", "%s: %s", name, why);
}

static void finish_provider(struct export *export, const struct etw_guid *provider,
			    const char *name, struct etw_manifest_writer *writer)
{
	struct etw_manifest_writer_counts counts;
	struct etw_error err = { 0 };
	struct etw_text xml = { 0 };

	etw_manifest_writer_count(writer, &counts);
	if (counts.events == 0) {
		export->without++;
	} else if (etw_manifest_writer_finish(writer, &xml, &err) &&
		   write_file(export, provider, name, &xml, &err)) {
		export->providers++;
		export->events += counts.events;
		export->cut += counts.cut;
	} else {
		export->failed++;
		complain_about(name, err.text);
	}
	text_free(&xml);
}

/* ---- sources ---- */

/* Returns the name, or the GUID as text for a provider without one. */
static const char *name_or_guid(const char *name, const struct etw_guid *provider,
				char guid[GUID_TEXT_SIZE])
{
	guid_format(provider, guid);
	if (!name || !name[0]) {
		name = etw_provider_name(provider);
	}
	return name ? name : guid;
}

static void export_recorded_provider(void *context, const struct etw_guid *provider,
				     const char *name, struct etw_manifest_writer *writer)
{
	struct export *export = context;
	char guid[GUID_TEXT_SIZE];

	name = name_or_guid(name, provider, guid);
	if (is_chosen(export, provider, name)) {
		finish_provider(export, provider, name, writer);
	}
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	(void)recording;
	(void)class;
	recorded_schemas_learn(context, record);
}

static bool export_recorded(struct tool_arguments *arguments, struct export *export,
			    struct etw_error *err)
{
	struct recorded_schemas *recorded = recorded_schemas_new(err);
	struct recording *recording =
		recorded ? recording_open(arguments, arguments->words[0],
					  &(struct recording_options){ .context = recorded,
								       .on_record = on_record },
					  err) :
			   NULL;
	bool good = recording && recording_run(recording, err);
	uint64_t refused = recorded ? recorded_schemas_refused(recorded) : 0;

	/* A manifest with a part missing looks complete, so it is not written. */
	if (good && memory_has_losses()) {
		good = error_no_memory(err, "the schemas of a recording");
	}
	good = good && recorded_schemas_visit(recorded, export_recorded_provider, export, err);
	if (good && refused > 0) {
		good = error_set(err, ETW_ERROR_LIMIT,
				 "the recording describes more than there is room for: %" PRIu64
				 " manifests, events and maps are left out",
				 refused);
	}
	if (good && export->pattern_count == 0 && export->providers + export->failed == 0) {
		good = error_set(err, ETW_ERROR_FORMAT,
				 "%s has no manifest and no description of an event",
				 arguments->words[0]);
	}
	recording_close(recording);
	recorded_schemas_free(recorded);
	return good;
}

static bool export_provider(struct export *export, const struct etw_registered_provider *provider,
			    struct etw_error *err)
{
	struct etw_error why = { 0 };
	struct etw_manifest_writer *writer;
	char guid[GUID_TEXT_SIZE];
	const char *name = name_or_guid(provider->name, &provider->guid, guid);

	if (!is_chosen(export, &provider->guid, name)) {
		return true;
	}
	if (!provider->manifest) {
		export->without++;
		return true;
	}
	writer = etw_manifest_writer_new(&provider->guid, name, err);
	if (!writer) {
		return false;
	}
	switch (etw_tdh_add_events(writer, &provider->guid, &export->undescribed, &why)) {
	case ETW_TDH_EVENTS_ADDED:
		finish_provider(export, &provider->guid, name, writer);
		break;
	case ETW_TDH_EVENTS_NONE:
		export->without++;
		if (export->pattern_count > 0) {
			complain_about(name, why.text);
		}
		break;
	case ETW_TDH_EVENTS_FAILED:
		export->failed++;
		complain_about(name, why.text);
		break;
	}
	etw_manifest_writer_free(writer);
	return true;
}

static bool export_installed(struct export *export, struct etw_error *err)
{
	struct etw_registered_providers providers = { .list = NULL };
	struct progress progress;
	bool good = etw_registered_read(&providers, err);

	progress_start(&progress, "etwtool", "providers", OUTPUT_AT_END);
	progress.passes = 1;
	for (size_t i = 0; good && i < providers.count; i++) {
		progress_show(&progress, i, providers.count, 0, providers.count);
		good = export_provider(export, &providers.list[i], err);
	}
	progress_end(&progress);
	etw_registered_done(&providers);
	return good;
}

/* ---- exporting ---- */

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static int print_summary(const struct export *export)
{
	struct etw_text out = { 0 };

	text_add_format(&out, "%zu provider%s, %zu event%s in ", export->providers,
			plural(export->providers), export->events, plural(export->events));
	text_add_shown(&out, export->folder);
	if (export->replaced > 0) {
		text_add_format(&out, "; %zu file%s replaced", export->replaced,
				plural(export->replaced));
	}
	if (export->without > 0) {
		text_add_format(&out, "; %zu provider%s no manifest", export->without,
				export->without == 1 ? " has" : "s have");
	}
	if (export->undescribed > 0) {
		text_add_format(&out, "; %zu event%s not described by Windows", export->undescribed,
				export->undescribed == 1 ? " is" : "s are");
	}
	if (export->cut > 0) {
		text_add_format(&out,
				"; %zu event%s without the last fields, which no manifest can "
				"describe",
				export->cut, plural(export->cut));
	}
	if (export->failed > 0) {
		text_add_format(&out, "; %zu provider%s failed", export->failed,
				plural(export->failed));
	}
	text_add_char(&out, '\n');
	return tool_print("providers", &out);
}

/* Returns whether each pattern matched a provider. Otherwise complains and returns false. */
static bool all_found(const struct export *export, bool installed)
{
	bool all = true;

	for (size_t i = 0; i < export->pattern_count; i++) {
		if (!export->found[i]) {
			all = false;
			complain_about(export->patterns[i],
				       installed ? "there is no such provider" :
						   "the recording describes no such provider");
		}
	}
	return all;
}

/*
 * Writes the manifests in the recording that the first word names; with `installed`, those that
 * Windows has registered. Further words limit the providers, by name or GUID, with * and ?. Returns
 * an exit status.
 */
static int export_manifests(struct tool_arguments *arguments, const char *folder, bool installed)
{
	size_t first = installed ? 0 : 1;
	struct export export = { .folder = folder,
				 .patterns = arguments->words + first,
				 .pattern_count = arguments->word_count - first };
	struct etw_error err = { 0 };
	bool made = false;
	bool good = os_folder_make(folder, &made, &err);

	if (!good) {
		return tool_complain(TOOL_FAILED, "providers", "%s", err.text);
	}
	good = installed ? export_installed(&export, &err) :
			   export_recorded(arguments, &export, &err);
	map_done(&export.files);
	if (made && export.providers == 0) {
		os_folder_remove(folder);
	}
	if (!good) {
		tool_complain(TOOL_FAILED, "providers", "%s", err.text);
	}
	if (good || export.providers > 0) {
		good = print_summary(&export) == TOOL_DONE && good;
	}
	/*
	 * After an error some providers were not seen, so patterns without a match prove nothing.
	 */
	return good && all_found(&export, installed) && export.failed == 0 ? TOOL_DONE :
									     TOOL_FAILED;
}

/* ---- listing ---- */

static void count_record(void *context, struct recording *recording,
			 const struct etw_record *record, const struct etw_event_class *class)
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
static size_t move_matching_first(struct class_rows *rows, const char *word)
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

static int list_providers(struct tool_arguments *arguments, const char *word)
{
	struct class_rows rows = { .count = 0 }, shown;
	struct recording *recording =
		recording_read(arguments, &(struct recording_options){ .context = &rows,
								       .on_class = class_rows_class,
								       .on_record = count_record });
	struct etw_text out = { 0 };
	int status = TOOL_FAILED;

	if (recording) {
		class_rows_sort(&rows);
		shown = rows;
		shown.count = word ? move_matching_first(&rows, word) : rows.count;
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

struct providers_request {
	struct tool_arguments arguments;
	bool installed;
	const char *export; /* folder; NULL: no export */
};

static const struct command_option option_rows[] = {
	{ "--installed", NULL, "list the providers registered on this Windows; WORD selects some",
	  OPTION_SET, .offset = offsetof(struct providers_request, installed) },
	{ "--export-manifests", "DIR",
	  "write a manifest (.man) for each provider that FILE describes, or that is registered",
	  OPTION_TEXT, .offset = offsetof(struct providers_request, export) },
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
static int run_export(struct providers_request *request)
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
				     "name a recording; without one, the manifests of this machine "
				     "are exported, but %s",
				     err.text);
	}
	return export_manifests(arguments, request->export, installed);
}

static int run(struct tool_arguments *arguments)
{
	struct providers_request *request = (struct providers_request *)arguments;
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
		return tool_complain(TOOL_BAD_USAGE, "providers", "name a recording");
	}
	return list_providers(arguments, arguments->words[1]);
}

const struct tool_command tool_providers = {
	.name = "providers",
	.synopsis = "FILE [WORD] | --installed [WORD] | --export-manifests DIR [FILE] [NAME…]",
	.about = "List the providers of a recording, their events and fields",
	.more = "The names are those that the rules of collectors use: kernel events as shown, other\n"
		"events with their provider in front, as Provider/Name. With WORD, only those are\n"
		"listed that have it in their name or GUID, or in that of their provider.\n"
		"\n"
		"--export-manifests takes what a recording contains: the manifests of EventSources, and\n"
		"the descriptions that a merge adds. On Windows, without FILE, it takes all that is\n"
		"registered. NAME limits it to providers of that name or GUID, with * and ?. The\n"
		"folder is then a value of --schema and of schemas: in a configuration. A file of\n"
		"an earlier export is replaced, any other stays.\n",
	.options = option_rows,
	.shared = TOOL_TEXT_OR_JSON | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = TOOL_WORDS_MOST,
	.size = sizeof(struct providers_request),
	.run = run,
};
