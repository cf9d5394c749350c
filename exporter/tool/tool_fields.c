/* SPDX-License-Identifier: MIT */
/*
 * etwtool fields: the fields of one event, written as a collector to begin with.
 */
#include <string.h>

#include "base/os.h"
#include "tool/collector_text.h"
#include "tool/event_filter.h"
#include "tool/tool.h"

struct search {
	struct wanted_name provider; /* no name: any */
	struct wanted_name event;
	struct class_rows rows; /* of the events that match */
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
				     count == 0 ? "which recording?" :
						  "which event? etwtool providers lists them");
	}
	search = (struct search){ .provider.name = count == 3 ? words[1] : NULL,
				  .event.name = words[count - 1] };
	if (tool_read_recording(arguments,
				(struct recording_options){ .context = &search,
							    .on_class = on_class,
							    .on_record = on_record },
				&recording)) {
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
	.shared = TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = 3,
	.too_many = "one event at a time, not also",
	.size = sizeof(struct tool_arguments),
	.run = run,
};
