/* SPDX-License-Identifier: MIT */
/*
 * etwtool fields: the fields of one kind of event, as the collector that one would begin with.
 */
#include <string.h>

#include "base/os.h"
#include "tool/collector_text.h"
#include "tool/event_filter.h"
#include "tool/tool.h"

enum { WORDS_MOST = 3 };

struct search {
	struct wanted_name provider; /* no name: any, the event says it */
	struct wanted_name event;
	struct class_rows rows; /* of the wanted kinds */
	struct field_samples samples;
};

static void on_class(void *context, const struct event_class *class)
{
	struct search *search = context;

	if ((!search->provider.name || wanted_provider(&search->provider, class)) &&
	    wanted_event(&search->event, class)) {
		class_rows_class(&search->rows, class);
	} else {
		map_remove(&search->rows.by_class, (uintptr_t) class);
	}
}

static void on_record(void *context, const struct event_record *record,
		      const struct event_class *class, struct tracker *tracker)
{
	struct search *search = context;

	(void)tracker;
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
		text_add_string(&names, i > 0 ? ", " : "");
		class_row_name(&rows->rows[i], &names);
	}
	tool_complain(TOOL_BAD_USAGE, "fields", "'%s' is several events: %s%s", search->event.name,
		      names.data ? names.data : "", rows->count > 5 ? ", …" : "");
	text_free(&names);
	return TOOL_BAD_USAGE;
}

static int print(struct search *search, const char *path)
{
	struct text out = { 0 };
	int status;

	if (search->provider.name && !search->provider.met) {
		return wanted_missing(&search->provider, "fields", "provider");
	}
	if (search->rows.count == 0) {
		return wanted_missing(&search->event, "fields", "event");
	}
	if (search->rows.count > 1) {
		return complain_of_several(search);
	}
	collector_text(&out, os_path_name(path), &search->rows.rows[0], &search->samples);
	status = tool_write("fields", &out) ? TOOL_DONE : TOOL_FAILED;
	text_free(&out);
	return status;
}

static int show_fields(struct tool_arguments *arguments, const char *const *words, size_t count)
{
	struct search search = { .provider.name = count == 3 ? words[1] : NULL,
				 .event.name = words[count - 1] };
	const struct recording_options options = {
		.command = "fields",
		.manifests = &arguments->manifests,
		.path = words[0],
		.pointer_size = arguments->pointer_size,
		.context = &search,
		.on_class = on_class,
		.on_record = on_record,
	};
	struct error err = { 0 };
	struct recording *recording = recording_open(&options, &err);
	int status;

	if (recording && recording_run(recording, &err)) {
		recording_warn(recording);
		status = print(&search, words[0]);
	} else {
		status = tool_complain(TOOL_FAILED, "fields", "%s", err.text);
	}
	class_rows_done(&search.rows);
	field_samples_done(&search.samples);
	recording_close(recording);
	return status;
}

static int run(struct tool_arguments *arguments)
{
	const char *words[WORDS_MOST];
	const char *value;
	size_t count = 0;
	int next;

	while ((next = tool_next(arguments, &value)) != TOOL_END) {
		if (next == TOOL_STOP) {
			return arguments->status;
		}
		if (count == WORDS_MOST) {
			return tool_complain(TOOL_BAD_USAGE, "fields",
					     "one event at a time, not also \"%s\"", value);
		}
		words[count++] = value;
	}
	if (count < 2) {
		return tool_complain(TOOL_BAD_USAGE, "fields",
				     count == 0 ? "which recording?" :
						  "which event? etwtool providers lists them");
	}
	/* Rules know events by the built-in manifests, too, and names are what this is for. */
	return tool_add_builtin(arguments) ? show_fields(arguments, words, count) : TOOL_FAILED;
}

const struct tool_command tool_fields = {
	.name = "fields",
	.synopsis = "FILE [PROVIDER] EVENT",
	.about = "The fields of an event, with values, as a collector to begin with",
	.more = "PROVIDER: name or GUID; EVENT: name or id, or as a rule has it, without a provider in\n"
		"front: DiskIo/Read. In both * and ? stand for others.\n",
	.shared = TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.run = run,
};
