/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump: writes the events of a recording in one of three formats.
 *
 * jsonl (dump_jsonl.c) is for programs and shows records in file order. csv (dump_csv.c) and text
 * are for people: they show records in time order, each with its process, which takes a run of the
 * whole pipeline. dump_pass_run() is that run: it applies the filter of the command line and the
 * limit of --per-kind, and calls the format for each record that is left. The csv format runs it
 * twice, because the first line of its output needs all columns; jsonl runs it first if there is a
 * filter, to learn which records to show.
 *
 * The filter learns during the run which names the recording has. A requested name that did not
 * occur is therefore reported at the end, with the nearest name that did.
 *
 * Names and texts come from the recording, so the text format escapes what a terminal would obey.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>

#include "base/os.h"
#include "etwtool/dump/dump.h"
#include "etwtool/event_fields.h"
#include "etwtool/tool.h"
#include "base/utc.h"

/* ---- a pass in time order ---- */

enum {
	OUTPUT_SIZE = 1 << 16,
	CLASSES_MOST = 1 << 20, /* events of further classes have no limit */
};

bool dump_limit_allows(struct dump_limit *limit, const struct etw_record *record)
{
	char class[sizeof(struct etw_guid) + 7];
	uint64_t key, *shown;

	if (limit->per_class == 0) {
		return true;
	}
	memcpy(class, record->provider->bytes, sizeof(struct etw_guid));
	class[16] = (char)record->type;
	class[17] = (char)record->pointer_size;
	class[18] = (char)record->version;
	class[19] = (char)record->opcode;
	class[20] = (char)record->id;
	class[21] = (char)(record->id >> 8);
	class[22] = 0;
	key = text_hash(class, sizeof class, hash_seed());
	shown = limit->shown.count < CLASSES_MOST ? map_put(&limit->shown, key, NULL) :
						    map_find(&limit->shown, key);
	if (!shown) {
		return true;
	}
	return ++*shown <= limit->per_class;
}

bool dump_flush(struct etw_text *out)
{
	bool written = true;

	if (out->size >= OUTPUT_SIZE || out->failed) {
		written = tool_write("dump", out);
		text_clear(out);
	}
	return written;
}

static void on_class(void *context, const struct etw_event_class *class)
{
	struct dump_pass *pass = context;

	event_filter_class(&pass->request->filter, class);
	map_remove(&pass->derived, (uintptr_t) class);
	if (pass->on_class) {
		pass->on_class(pass->context, class);
	}
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct dump_pass *pass = context;

	if (pass->stopped ||
	    !event_filter_keeps(&pass->request->filter, recording, record, class) ||
	    !dump_limit_allows(&pass->limit, record)) {
		return;
	}
	pass->process = recording_process(recording, &pass->process_id);
	if (!pass->show(pass, record, class) || !dump_flush(&pass->out)) {
		pass->stopped = true;
		recording_stop(recording);
	}
}

/* Returns whether a condition of the command line uses the field. */
static bool is_in_condition(const struct event_filter *filter, const struct derived_field *row)
{
	const char *name;

	for (size_t i = 0; filter->probe && (name = probe_field(filter->probe, i)) != NULL; i++) {
		if (strcmp(name, row->name) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * Returns the set of numbers of a class's derived fields, which is computed when the class is first
 * shown.
 */
static uint64_t derived_of(struct dump_pass *pass, const struct etw_event_class *class)
{
	uint64_t *known = map_put(&pass->derived, (uintptr_t) class, NULL);
	const struct derived_field *row;
	uint64_t set = 0;

	if (known && *known != 0) {
		return *known;
	}
	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		bool shown = !row->of_record &&
			     (derived_applies(row, class) ||
			      (!row->origin && is_in_condition(&pass->request->filter, row)));

		set |= shown ? UINT64_C(1) << i : 0;
	}
	if (known) {
		*known = set;
	}
	return set;
}

const struct derived_field *dump_derived_next(struct dump_pass *pass,
					      const struct etw_event_class *class, unsigned *number)
{
	uint64_t left = *number < DERIVED_MOST ? derived_of(pass, class) >> *number : 0;

	while (left != 0 && (left & 1) == 0) {
		left >>= 1;
		++*number;
	}
	return left != 0 ? derived_at((*number)++) : NULL;
}

bool dump_pass_run(struct dump_pass *pass)
{
	struct tool_arguments *arguments = &pass->request->arguments;
	struct event_filter *filter = &pass->request->filter;
	const struct recording_options options = {
		.probe = filter->probe,
		.derived = pass->request->format != DUMP_JSONL,
		.context = pass,
		.on_class = on_class,
		.on_record = on_record,
	};
	struct etw_error err = { 0 };

	if (!pass->recording) {
		pass->recording = recording_open(arguments, arguments->words[0], &options, &err);
	}
	map_done(&pass->limit.shown);
	map_done(&pass->derived);
	if (!pass->recording || !recording_run(pass->recording, &err)) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
		return false;
	}
	return !pass->stopped &&
	       event_filter_found(filter, recording_times(pass->recording), "dump");
}

bool dump_pass_stack(struct dump_pass *pass, const struct etw_record *record, size_t *count)
{
	const struct dump_request *request = pass->request;
	struct etw_error err = { 0 };

	*count = 0;
	if (!pass->stacks) {
		if (!request->stacks && !dump_stacks_in(record)) {
			return true;
		}
		pass->stacks = dump_stacks_new(request->stacks, &err);
		if (!pass->stacks || !dump_stacks_read(pass->stacks, request->arguments.words[0],
						       request->arguments.pointer_size, &err)) {
			tool_complain(TOOL_FAILED, "dump", "%s", err.text);
			return false;
		}
		dump_stacks_warn(pass->stacks);
	}
	if (!dump_stacks_of(pass->stacks, record, count)) {
		tool_complain(TOOL_FAILED, "dump", "no memory for the stack of an event");
		return false;
	}
	return true;
}

void dump_pass_done(struct dump_pass *pass)
{
	dump_stacks_free(pass->stacks);

	recording_close(pass->recording);
	map_done(&pass->limit.shown);
	map_done(&pass->derived);
	text_free(&pass->value);
	text_free(&pass->out);
}

/* ---- text ---- */

enum { RAW_BYTES_MOST = 32 };

#define COLOUR_OF_TIME    "\033[2m"
#define COLOUR_OF_PROCESS "\033[32m"
#define COLOUR_OF_EVENT   "\033[1;36m"
#define COLOUR_OF_FIELD   "\033[33m"
#define COLOUR_OF_DERIVED "\033[35m"
#define COLOUR_END        "\033[0m"

static void colour(struct dump_pass *pass, const char *code)
{
	text_add_string(&pass->out, pass->request->colour == COLOUR_ALWAYS ? code : "");
}

static void add_coloured(struct dump_pass *pass, const char *code, const char *name)
{
	colour(pass, code);
	text_add_shown(&pass->out, name);
	colour(pass, COLOUR_END);
}

static void add_id(struct etw_text *out, uint32_t id)
{
	if (id == ETW_RECORD_NO_ID) {
		text_add_char(out, '-');
	} else {
		text_add_u64(out, id);
	}
}

static void add_raw(struct etw_text *out, const struct etw_record *record)
{
	uint32_t size = record->payload_size;
	uint32_t shown = size < RAW_BYTES_MOST ? size : RAW_BYTES_MOST;

	text_add_string(out, "  raw=");
	text_add_hex(out, record->payload, shown);
	if (shown < size) {
		text_add_format(out, "…(%" PRIu32 " bytes)", size);
	}
}

static void add_fields(struct dump_pass *pass, const struct etw_schema *schema,
		       const struct etw_record *record)
{
	struct etw_event_fields fields;

	etw_event_fields_locate(&fields, schema, record);
	for (unsigned i = 0; i < fields.end; i = etw_field_behind(schema, i)) {
		text_add_string(&pass->out, "  ");
		add_coloured(pass, COLOUR_OF_FIELD, schema->fields[i].name);
		text_add_char(&pass->out, '=');
		event_fields_shown(&fields, i, &pass->out);
	}
	if (fields.truncated) {
		text_add_string(&pass->out, "  (cut short)");
	}
	etw_event_fields_done(&fields);
}

static void add_stack(struct dump_pass *pass, size_t count)
{
	const char *between = "=[";

	for (size_t i = 0; i < count; i++) {
		text_add_string(&pass->out, between);
		text_clear(&pass->value);
		dump_stacks_add(pass->stacks, i, &pass->value);
		pass->out.failed |= pass->value.failed;
		text_add_shown_bytes(&pass->out, pass->value.data ? pass->value.data : "",
				     pass->value.size);
		between = ", ";
	}
	text_add_char(&pass->out, ']');
}

/* Adds the derived fields and the stack, which are not in the payload. */
static bool add_derived(struct dump_pass *pass, const struct etw_record *record,
			const struct etw_event_class *class)
{
	const struct derived_field *row;
	const char *before = "  |  ";
	size_t stack;

	for (unsigned i = 0; (row = dump_derived_next(pass, class, &i)) != NULL;) {
		text_clear(&pass->value);
		if (!recording_derived(pass->recording, row, record, class, &pass->value)) {
			continue;
		}
		text_add_string(&pass->out, before);
		add_coloured(pass, COLOUR_OF_DERIVED, row->name);
		text_add_char(&pass->out, '=');
		if (row->type == TYPE_TEXT) {
			text_add_quoted_shown(&pass->out, pass->value.data ? pass->value.data : "",
					      pass->value.size);
		} else {
			text_add(&pass->out, pass->value.data, pass->value.size);
			text_add_string(&pass->out, row->type == TYPE_DURATION ? "ns" : "");
		}
		pass->out.failed |= pass->value.failed;
		before = "  ";
	}
	if (!dump_pass_stack(pass, record, &stack)) {
		return false;
	}
	if (stack > 0) {
		text_add_string(&pass->out, before);
		add_coloured(pass, COLOUR_OF_DERIVED, DUMP_STACK);
		add_stack(pass, stack);
	}
	return true;
}

static bool show(struct dump_pass *pass, const struct etw_record *record,
		 const struct etw_event_class *class)
{
	struct etw_text *out = &pass->out;
	char time[UTC_TEXT_SIZE];

	colour(pass, COLOUR_OF_TIME);
	text_add_string(out, utc_format(record->time, time) ? time : "-");
	text_add_format(out, "  cpu %u", record->processor);
	colour(pass, COLOUR_END);
	text_add_string(out, "  ");
	add_coloured(pass, COLOUR_OF_PROCESS, pass->process);
	text_add_char(out, ' ');
	add_id(out, pass->process_id);
	text_add_char(out, '/');
	add_id(out, record->thread_id);
	text_add_string(out, "  ");
	if (class->kernel_class == ETW_KERNEL_NONE) {
		text_add_shown(out, class->provider_name);
		text_add_char(out, '/');
	}
	add_coloured(pass, COLOUR_OF_EVENT, class->event_name);
	if (class->schema) {
		add_fields(pass, class->schema, record);
	} else if (record->payload_size > 0) {
		add_raw(out, record);
	}
	if (!add_derived(pass, record, class)) {
		return false;
	}
	text_add_char(out, '\n');
	return true;
}

static int dump_text(struct dump_request *request)
{
	struct dump_pass pass = { .request = request,
				  .show = show,
				  .limit.per_class = request->per_class };
	int status = dump_pass_run(&pass) ? TOOL_DONE : TOOL_FAILED;

	if (!pass.stopped && !tool_write("dump", &pass.out)) {
		status = TOOL_FAILED;
	}
	dump_pass_done(&pass);
	return status;
}

/* ---- the command ---- */

#define AT(member) .offset = offsetof(struct dump_request, member)

static const char *const formats[] = { "jsonl", "csv", "text", NULL };
static const char *const colours[] = { "auto", "always", "never", NULL };

static const struct command_option option_rows[] = {
	EVENT_FILTER_OPTIONS(struct dump_request, filter),
	{ "--per-kind", "N", "only the first N events of each event class", OPTION_COUNT,
	  AT(per_class) },
	{ "--format", "FORMAT", "jsonl (default), csv or text", OPTION_WORD, AT(format),
	  .words = formats },
	{ "--stacks", NULL, "show call stacks, those of the kernel with their events, see below",
	  OPTION_SET, AT(stacks) },
	{ "--color", "WHEN", "colours of text: auto (default), always or never", OPTION_WORD,
	  AT(colour), .words = colours },
	{ NULL },
};

static const char more[] = EVENT_FILTER_HELP
	"\n"
	"jsonl: each record as it stands in the file, in file order, names as the layout has them;\n"
	"fields that only the built-in manifests know are shown with --builtin.\n"
	"csv: a column for each field of the events shown; text: a line an event. Both in time order,\n"
	"with the process that an event belongs to and the names that rules take, and with derived\n"
	"fields (Path, Volume, Duration in ns and so on; in text behind a |). Text shows pointers, flags\n"
	"and statuses in hexadecimal. Characters that control a terminal are shown as \\u001b; text in\n"
	"a cell of csv that a spreadsheet would take for a formula (= + - @) has a ' in front.\n"
	"\n"
	"Event.Stack has the addresses of an event's call stack, the innermost first, each with image and\n"
	"offset where the recording has the load or rundown of its images: \"0x7ff8000000b1 ntdll.dll+0xb1\".\n"
	"Text and csv show the stacks that events carry; with --stacks all formats do, and also those that\n"
	"the kernel writes as events of their own (StackWalk), with the event that they belong to.\n"
	"\n"
	"A name that is nowhere in the recording, and a time range outside it, end it with status 1.\n";

/* NO_COLOR: "NO_COLOR: disabling ANSI color output by default", no-color.org. */
static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return (!no || !no[0]) && os_has_colours(stdout);
}

/* Seconds count from the start time in the header of the recording. */
static bool find_start(struct dump_request *request)
{
	struct event_filter *filter = &request->filter;
	struct etw_file *file;
	struct etw_error err;

	if (!filter->from.set && !filter->to.set) {
		return true;
	}
	file = etw_file_open(request->arguments.words[0], 0, &err);
	if (!file) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
		return false;
	}
	filter->start = etw_file_header(file)->start_time;
	etw_file_close(file);
	return true;
}

static int run(struct tool_arguments *arguments)
{
	static int (*const dumps[])(struct dump_request * request) = {
		[DUMP_JSONL] = dump_jsonl, [DUMP_CSV] = dump_csv, [DUMP_TEXT] = dump_text
	};
	struct dump_request *request = (struct dump_request *)arguments;

	if (request->colour == COLOUR_AUTO && wants_colour()) {
		request->colour = COLOUR_ALWAYS;
	}
	if (!find_start(request) || !tool_use_builtin(arguments)) {
		return TOOL_FAILED;
	}
	if (event_filter_is_empty(&request->filter)) {
		return tool_complain(TOOL_BAD_USAGE, "dump", "--to is not later than --from");
	}
	return dumps[request->format](request);
}

static void done(struct tool_arguments *arguments)
{
	event_filter_done(&((struct dump_request *)arguments)->filter);
}

const struct tool_command tool_dump = {
	.name = "dump",
	.synopsis = "FILE",
	.about = "Print the events of a recording as JSON, CSV or text",
	.more = more,
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_BUILTIN,
	.words_most = 1,
	.output = OUTPUT_STREAMS,
	.size = sizeof(struct dump_request),
	.run = run,
	.done = done,
};
