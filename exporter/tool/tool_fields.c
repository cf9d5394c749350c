/* SPDX-License-Identifier: MIT */
/*
 * etwtool fields: the fields of one event, written as a collector to begin with. It counts the
 * events of one class, and the fields that these were seen to have stand ready in comments, with
 * types and some values.
 *
 * Fields and some of their values are collected from the events (field_samples.h). What a live
 * session would have to enable is collected, too: the levels and keywords that the events had. The
 * collector asks for these and no more, because a provider with all its keywords at level 5 can
 * emit a million events a second.
 *
 * The collector must be valid YAML that the exporter accepts as it is, for any
 * names that a provider has chosen. A name is therefore written plain only if no reader of YAML
 * could take it for something else, and an event whose name would mean another one in a rule is
 * written with GUID and number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "rules/language/event_pattern.h"
#include "tool/class_rows.h"
#include "tool/event_fields.h"
#include "tool/event_filter.h"
#include "tool/field_samples.h"
#include "tool/tool.h"

enum { COMMENT_COLUMN = 48 };

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

/* ---- what a live session must enable ---- */

/*
 * Bits 48 to 63 of a keyword are Windows' own; the upper ones name channels ("Defining Keywords
 * Used to Classify Types of Events", Microsoft Learn). The highest of a provider's bits is hardly
 * used.
 */
#define PROVIDER_KEYWORDS (UINT64_MAX >> 16)
#define HIGHEST_KEYWORD   (UINT64_C(1) << 47)

/* What the events of a class row had. Zero-initialise it. */
struct seen {
	uint8_t level;       /* the highest */
	uint64_t keywords;   /* of all events, or-ed */
	uint64_t in_process; /* events that belong to a process */
	bool registered;     /* Windows knows the provider by its name */
};

/*
 * Whether a live session finds the provider by the name in the recording: the program knows it, or
 * Windows had it registered where the recording was made. Providers of TraceLogging and EventSource
 * are not registered.
 */
static bool is_registered(const struct configured_manifests *manifests,
			  const struct event_class *class)
{
	const char *const names[] = {
		manifest_set_provider_name(manifests->configured, &class->provider),
		manifest_set_provider_name(manifests->builtin, &class->provider),
		provider_name(&class->provider),
	};

	if (strpbrk(class->provider_name, ":{")) {
		return false; /* it would read as something else */
	}
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (names[i] && strcmp(names[i], class->provider_name) == 0) {
			return true;
		}
	}
	return class->schema && class->schema->origin == SCHEMA_EVENT_INFO;
}

static void seen_add(struct seen *seen, const struct event_record *record, const char *process)
{
	seen->level = record->level > seen->level ? record->level : seen->level;
	seen->keywords |= record->keyword;
	seen->in_process += strcmp(process, "_none") != 0;
}

/* "Provider:level:id:keywords", as docs/rules.md has it. */
static void add_provider(struct text *out, const struct class_row *row, const struct seen *seen)
{
	uint64_t keywords = seen->keywords & PROVIDER_KEYWORDS;
	char guid[GUID_TEXT_SIZE];
	struct text spec = { 0 };
	struct json json;

	guid_format(&row->guid, guid);
	if (seen->registered) {
		text_add_string(&spec, row->provider);
	} else {
		text_add_format(&spec, "{%s}", guid);
	}
	/* Events of level 0 always come, and level 0 of a session means all levels. */
	text_add_format(&spec, ":%u:", seen->level > 0 ? seen->level : 1U);
	if (row->number > 0) { /* all events of TraceLogging have the id 0 */
		text_add_u64(&spec, row->number);
	}
	/* Events without keywords always come, and a mask of 0 means all. */
	text_add_format(&spec, ":0x%" PRIx64,
			keywords != 0       ? keywords :
			seen->keywords != 0 ? seen->keywords :
					      HIGHEST_KEYWORD);
	text_add_string(out,
			"needs:    # of a live session: provider:level:ids:keywords, as seen in "
			"the recording\n  providers: [");
	json_init(&json, out, false);
	json_string(&json, spec.data ? spec.data : "");
	text_add_string(out, "]    # ");
	if (seen->registered) {
		text_add_format(out, "{%s}\n", guid);
	} else {
		text_add_shown(out, row->provider);
		text_add_char(out, '\n');
	}
	out->failed |= spec.failed;
	text_free(&spec);
}

static void add_needs(struct text *out, const struct class_row *row, const struct seen *seen)
{
	const char *flag = kernel_flag(row);

	if (flag) {
		text_add_format(out,
				"needs: { kernel: [%s] }    # of a live session; a replay "
				"takes what is in the recording\n",
				flag);
	} else if (row->kernel_class == KERNEL_NONE && !row->classic) {
		add_provider(out, row, seen);
	} else if (row->kernel_class == KERNEL_NONE) {
		text_add_string(out, "# needs: of a live session, the provider that writes the "
				     "event; a classic event does not name it\n");
	}
}

/* ---- fields and values ---- */

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

static void add_label(struct text *out, const struct sampled_field *field, bool derived)
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

/* Derived fields first: they answer most questions. */
static void add_labels(struct text *out, const struct field_samples *samples)
{
	const char *before = "      # addresses, of no use as label or value: ";

	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		if (samples->derived[i].name && !is_duration(i)) {
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

static bool ends_in(const char *name, const char *const *ends)
{
	size_t size = strlen(name);

	while (*ends && !text_ends_nocase(name, size, *ends, strlen(*ends))) {
		ends++;
	}
	return *ends != NULL;
}

/* A number that looks like an amount; else the first that may be one; NULL: there is none. */
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
		if (!first && !ends_in(field->name, others)) {
			first = field;
		}
	}
	return first;
}

static void add_value(struct text *out, const char *name, const char *comment)
{
	size_t start = out->size;

	text_add_string(out, "        # value: ");
	add_scalar(out, name);
	pad(out, start);
	text_add_string(out, comment);
}

/* A condition on the first value of a field; of numbers one that a rule can be given. */
static bool add_condition(struct text *out, const struct sampled_field *field)
{
	const struct text *value = &field->samples[0];
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

/* On what is particular to the events: derived fields that all events can have come last. */
static void add_first_condition(struct text *out, const struct field_samples *samples)
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

static void add_rule(struct text *out, const struct class_row *row,
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

/* The label of the process: of the one that began the operation where the event has none itself. */
static void add_process(struct text *out, const struct seen *seen,
			const struct field_samples *samples)
{
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
	} else if (seen->in_process == 0) {
		pad(out, start);
		text_add_string(out, "# always _none: these events belong to no process");
	}
	text_add_char(out, '\n');
}

static void add_head(struct text *out, const char *file, const struct class_row *row,
		     const struct seen *seen)
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
	add_needs(out, row, seen);
	text_add_string(out,
			"metrics:\n  - name: etw_my_events_total\n    type: counter\n    help: ");
	add_scalar(out, help.data ? help.data : "");
	text_add_string(out, "\n    labels:\n");
	text_free(&help);
}

static void add_collector(struct text *out, const char *file, const struct class_row *row,
			  const struct seen *seen, const struct field_samples *samples)
{
	add_head(out, file, row, seen);
	add_process(out, seen, samples);
	add_labels(out, samples);
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
	const struct configured_manifests *manifests;
	struct requested_name provider; /* no name: any */
	struct requested_name event;
	struct class_rows rows; /* of the events that match */
	struct seen seen;
	struct field_samples samples;
};

static void on_class(void *context, const struct event_class *class)
{
	struct search *search = context;

	if ((!search->provider.name || is_requested_provider(&search->provider, class)) &&
	    is_requested_event(&search->event, class)) {
		class_rows_class(&search->rows, class);
		search->seen.registered |= is_registered(search->manifests, class);
	} else {
		map_remove(&search->rows.by_class, (uintptr_t) class);
	}
}

static void on_record(void *context, struct recording *recording, const struct event_record *record,
		      const struct event_class *class)
{
	struct search *search = context;
	uint32_t process_id;

	if (map_find(&search->rows.by_class, (uintptr_t) class) &&
	    class_rows_count(&search->rows, class)) {
		seen_add(&search->seen, record, recording_process(recording, &process_id));
		field_samples_add(&search->samples, recording, record, class);
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
	add_collector(&out, os_path_name(path), &search->rows.rows[0], &search->seen,
		      &search->samples);
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
	search = (struct search){ .manifests = &arguments->manifests,
				  .provider.name = count == 3 ? words[1] : NULL,
				  .event.name = words[count - 1] };
	recording =
		recording_read(arguments, &(struct recording_options){ .derived = true,
								       .context = &search,
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
