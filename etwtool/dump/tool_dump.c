/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump: writes the events of a recording in one of three formats, or live events
 * (dump_live.c).
 *
 * jsonl (dump_jsonl.c) is for programs and shows records in file order. csv (dump_csv.c) and text
 * are for people: they show records in time order, each with its process, which takes a run of the
 * whole pipeline (dump_pass.c).
 *
 * Names and texts come from the recording, so the text format escapes what a terminal would obey.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <etw/recording.h>

#include "base/os.h"
#include "base/utc.h"
#include "etwtool/dump/dump.h"
#include "etwtool/event_fields.h"
#include "etwtool/tool.h"

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
	for (unsigned i = 0; i < fields.end; i = etw_field_after(schema, i)) {
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

static bool show_record(struct dump_pass *pass, const struct etw_record *record,
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
				  .show = show_record,
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

static bool read_provider(void *target, const char *text, struct etw_error *err)
{
	struct dump_request *request = target;

	if (request->provider_count == DUMP_PROVIDERS_MOST) {
		return error_set(err, ETW_ERROR_CONFIG, "--provider: at most %d providers",
				 DUMP_PROVIDERS_MOST);
	}
	request->filter.provider.name = text;
	request->providers[request->provider_count++] = text;
	return true;
}

static const struct command_option option_rows[] = {
	{ "--provider", "NAME", EVENT_FILTER_PROVIDER "; live: see below", OPTION_READ,
	  .read = read_provider },
	EVENT_FILTER_FURTHER_OPTIONS(struct dump_request, filter),
	{ "--per-kind", "N", "only the first N events of each event class", OPTION_COUNT,
	  AT(per_class) },
	{ "--format", "FORMAT", "jsonl (default), csv or text", OPTION_WORD, AT(format),
	  .words = formats },
	{ "--stacks", NULL, "show call stacks, those of the kernel with their events, see below",
	  OPTION_SET, AT(stacks) },
	{ "--color", "WHEN", "colours of text: auto (default), always or never", OPTION_WORD,
	  AT(colour), .words = colours },
	{ "--config.file", "FILE", "live: the sessions of a configuration", OPTION_TEXT,
	  AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ "--session", "NAME", "live: name of the session of --provider", OPTION_TEXT,
	  AT(session) },
	{ "--duration", "TIME", "live: end after this time: 30s, 5m, 2h", OPTION_READ,
	  AT(duration_ms), .takes = UTC_MS_TAKES, .read = utc_read_ms },
	{ NULL },
};

static const char more[] = EVENT_FILTER_HELP
	"\n"
	"jsonl: each record as it is in the file, in file order, names as the layout has them;\n"
	"fields that only the built-in manifests know are shown with --builtin.\n"
	"csv: a column for each field of the events shown; text: a line an event. Both in time order,\n"
	"with the process that an event belongs to and the names that rules take, and with derived\n"
	"fields (Path, Volume, Duration in ns and so on; in text after a |). Text shows pointers, flags\n"
	"and statuses in hexadecimal. Characters that control a terminal are shown as \\u001b; text in\n"
	"a cell of csv that a spreadsheet would take for a formula (= + - @) has a ' in front.\n"
	"\n"
	"Event.Stack has the addresses of an event's call stack, the innermost first, each with image and\n"
	"offset where the recording has the load or rundown of its images: \"0x7ff8000000b1 ntdll.dll+0xb1\".\n"
	"Text and csv show the stacks that events carry; with --stacks all formats do, and also those that\n"
	"the kernel writes as events of their own (StackWalk), with the event that they belong to.\n"
	"\n"
	"If the recording lacks a name, or the time range is outside it, the exit status is 1.\n"
	"\n"
	"Without FILE, on Windows, events are followed live and printed as jsonl until Ctrl-C:\n"
	"  --provider NAME[:LEVEL[:IDS[:KEYWORDS]]]  these events of a provider; repeatable, up to 64:\n"
	"      --provider Microsoft-Windows-DNS-Client  --provider '{GUID}:4:1,2:0x10'\n"
	"  --config.file FILE  what the sessions of a configuration deliver, with its collectors, in\n"
	"      sessions of their own (NAME-dump); --provider then selects events by name\n"
	"At the end the losses are printed to standard error; the status is 1 if events were lost.\n";

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

/* Complains and returns false if there is an option of live sessions beside a recording. */
static bool check_usage(const struct dump_request *request)
{
	const char *option = request->config                       ? "--config.file" :
			     request->session                      ? "--session" :
			     request->duration_ms > 0              ? "--duration" :
			     request->arguments.switches.count > 0 ? "--collector" :
								     NULL;

	if (option) {
		tool_complain(TOOL_BAD_USAGE, "dump",
			      "%s is for live sessions, and %s is a recording", option,
			      request->arguments.words[0]);
		return false;
	}
	if (request->provider_count > 1) {
		tool_complain(TOOL_BAD_USAGE, "dump", DUMP_ONE_PROVIDER);
		return false;
	}
	return true;
}

static int run(struct tool_arguments *arguments)
{
	static int (*const dumps[])(struct dump_request * request) = {
		[DUMP_JSONL] = dump_jsonl, [DUMP_CSV] = dump_csv, [DUMP_TEXT] = dump_text
	};
	struct dump_request *request = (struct dump_request *)arguments;

	if (arguments->word_count == 0) {
		return tool_use_builtin(arguments) ? dump_live(request) : TOOL_FAILED;
	}
	if (!check_usage(request)) {
		return TOOL_BAD_USAGE;
	}
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
	.synopsis = "[FILE]",
	.about = "Print the events of a recording, or live events (Windows)",
	.more = more,
	.options = option_rows,
	.shared = TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_BUILTIN | TOOL_COLLECTORS,
	.words_most = 1,
	.output = OUTPUT_STREAMS,
	.size = sizeof(struct dump_request),
	.run = run,
	.done = done,
};
