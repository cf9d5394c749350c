/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump: which events, in which format.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "config/nearest.h"
#include "etl/file.h"
#include "tool/dump.h"
#include "tool/tool.h"

enum {
	FLAG_PROVIDER,
	FLAG_EVENT,
	FLAG_PROCESS,
	FLAG_WHERE,
	FLAG_FROM,
	FLAG_TO,
	FLAG_PER_CLASS,
	FLAG_FORMAT,
	FLAG_COLOR,
};

static const struct tool_flag flags[] = {
	[FLAG_PROVIDER] = { "--provider", "NAME", "name or GUID; * and ? stand for others" },
	[FLAG_EVENT] = { "--event", "NAME", "name, likewise, or id; Provider/Name as in a rule" },
	[FLAG_PROCESS] = { "--process", "NAME", "name, likewise, or id" },
	[FLAG_WHERE] = { "--where", "CONDITION",
			 "\"FIELD OPERATOR LITERAL\"; all that are given must hold" },
	[FLAG_FROM] = { "--from", "TIME", "first moment: 2020-07-29T00:07:00Z or seconds" },
	[FLAG_TO] = { "--to", "TIME", "the first moment that is left out, likewise" },
	[FLAG_PER_CLASS] = { "--per-kind", "N", "only the first N events of each kind" },
	[FLAG_FORMAT] = { "--format", "FORMAT", "jsonl (default), csv or text" },
	[FLAG_COLOR] = { "--color", "WHEN", "colours of text: auto (default), always or never" },
	{ NULL, NULL, NULL },
};

static const char more[] =
	"Conditions are those of a collector's `where`, written in one text:\n"
	"  --where 'TransferSize gt 4096'  --where 'Process in chrome, msedge'\n"
	"  --where 'Path matches \\.log$'\n"
	"  eq ne in (numbers and texts), lt le gt ge has lacks (numbers), starts ends matches (texts).\n"
	"  Fields are those of the events, as etwtool fields shows them, and those that rules have\n"
	"  besides: Process, Path, Volume, Level, Cpu, ThreadId, Duration and so on.\n"
	"Seconds count from the start of the recording.\n"
	"\n"
	"jsonl: each record as it stands in the file, in file order, names as the layout has them.\n"
	"csv: a column for each field of the events shown; text: a line an event. Both in time order,\n"
	"with the process that an event belongs to and the names that rules take.\n"
	"\n"
	"A name that is nowhere in the recording ends it with status 1.\n";

/* Everything that the command line says. */
struct request {
	struct dump_options options;
	struct event_filter filter;
	enum dump_format format;
};

static const char *const formats[] = { "jsonl", "csv", "text", NULL };
static const char *const colours[] = { "auto", "always", "never", NULL };

static bool take_time(const char *flag, const char *value, struct filter_time *time)
{
	if (!filter_time_parse(value, time)) {
		tool_complain(
			TOOL_BAD_USAGE, "dump",
			"%s: wants a time such as 2020-07-29T00:07:00Z, or seconds, not \"%s\"",
			flag, value);
		return false;
	}
	return true;
}

static bool take_where(struct event_filter *filter, const char *value)
{
	struct error err;

	if (!event_filter_where(filter, value, &err)) {
		tool_complain(TOOL_BAD_USAGE, "dump", "--where: %s", err.text);
		return false;
	}
	return true;
}

static bool take(struct request *request, int flag, const char *value)
{
	struct event_filter *filter = &request->filter;
	int word;

	switch (flag) {
	case FLAG_PROVIDER:
		filter->provider.name = value;
		return true;
	case FLAG_EVENT:
		filter->event.name = value;
		return true;
	case FLAG_PROCESS:
		filter->process.name = value;
		return true;
	case FLAG_WHERE:
		return take_where(filter, value);
	case FLAG_FROM:
		return take_time("--from", value, &filter->from);
	case FLAG_TO:
		return take_time("--to", value, &filter->to);
	case FLAG_PER_CLASS:
		return tool_count("dump", "--per-kind", value, &request->options.per_class);
	case FLAG_FORMAT:
		word = tool_choice("dump", "--format", value, formats);
		request->format = (enum dump_format)word;
		return word >= 0;
	default:
		word = tool_choice("dump", "--color", value, colours);
		request->options.colour = word == 0 ? request->options.colour : word == 1;
		return word >= 0;
	}
}

/* NO_COLOR: "NO_COLOR: disabling ANSI color output by default", no-color.org. */
static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return (!no || !no[0]) && os_has_colours(stdout);
}

/* Times in seconds count from the start that the recording's header tells. */
static bool find_start(struct request *request)
{
	struct event_filter *filter = &request->filter;
	struct etl_file *file;
	struct error err;

	if (!filter->from.relative && !filter->to.relative) {
		return true;
	}
	file = etl_file_open(request->options.path, 0, &err);
	if (!file) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
		return false;
	}
	filter->start = file->header.start_time;
	etl_file_close(file);
	return true;
}

static int dump(struct request *request)
{
	if (!request->options.path) {
		return tool_complain(TOOL_BAD_USAGE, "dump", "which recording?");
	}
	if (!find_start(request)) {
		return TOOL_FAILED;
	}
	request->options.filter = &request->filter;
	switch (request->format) {
	case DUMP_CSV:
		return dump_csv(&request->options);
	case DUMP_TEXT:
		return dump_text(&request->options);
	case DUMP_JSONL:
		break;
	}
	return dump_jsonl(&request->options);
}

static int run(struct tool_arguments *arguments)
{
	struct request request = { .options.colour = wants_colour() };
	const char *value;
	int status = TOOL_DONE;
	int next;

	while (status == TOOL_DONE && (next = tool_next(arguments, &value)) != TOOL_END) {
		if (next == TOOL_STOP) {
			event_filter_done(&request.filter);
			return arguments->status;
		}
		if (!take(&request, next, value)) {
			status = TOOL_BAD_USAGE;
		}
	}
	if (status == TOOL_DONE) {
		request.options.path = arguments->path;
		request.options.pointer_size = arguments->pointer_size;
		request.options.manifests = &arguments->manifests;
		status = dump(&request);
	}
	event_filter_done(&request.filter);
	return status;
}

const struct tool_command tool_dump = {
	.name = "dump",
	.synopsis = "FILE [OPTIONS]",
	.about = "The events of a recording, one JSON object a line, as a table or as text",
	.more = more,
	.flags = flags,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_BUILTIN,
	.run = run,
};
