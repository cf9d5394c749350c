/* SPDX-License-Identifier: MIT */
#include "tool/dump.h"

#include <string.h>

#include "base/text.h"
#include "tool/tool.h"

enum { CLASSES_MOST = 1 << 20 /* events of further kinds are all shown */ };

bool dump_limit_allows(struct dump_limit *limit, const struct event_record *record)
{
	char class[sizeof(struct guid) + 7];
	uint64_t key, *shown;

	if (limit->per_class == 0) {
		return true;
	}
	memcpy(class, record->provider->bytes, sizeof(struct guid));
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

static void on_class(void *context, const struct event_class *class)
{
	struct dump_pass *pass = context;

	event_filter_class(pass->options->filter, class);
	if (pass->on_class) {
		pass->on_class(pass->context, class);
	}
}

static void on_record(void *context, const struct event_record *record,
		      const struct event_class *class, struct tracker *tracker)
{
	struct dump_pass *pass = context;
	const char *process;
	uint32_t id;

	if (pass->stopped ||
	    !event_filter_keeps(pass->options->filter, pass->recording, record, class, tracker) ||
	    !dump_limit_allows(&pass->limit, record)) {
		return;
	}
	process = recording_process(pass->recording, tracker, &id);
	if (!pass->show(pass->context, record, class, process, id)) {
		pass->stopped = true;
		recording_stop(pass->recording);
	}
}

bool dump_pass_run(struct dump_pass *pass)
{
	const struct recording_options options = {
		.command = "dump",
		.path = pass->options->path,
		.pointer_size = pass->options->pointer_size,
		.manifests = pass->options->manifests,
		.probe = pass->options->filter->probe,
		.context = pass,
		.on_class = on_class,
		.on_record = on_record,
	};
	struct error err = { 0 };
	bool first = !pass->recording;

	if (first) {
		pass->recording = recording_open(&options, &err);
	}
	map_done(&pass->limit.shown);
	if (!pass->recording || !recording_run(pass->recording, &err)) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
		return false;
	}
	if (first) {
		recording_warn(pass->recording);
	}
	return !pass->stopped && event_filter_found(pass->options->filter, "dump");
}

void dump_pass_done(struct dump_pass *pass)
{
	recording_close(pass->recording);
	map_done(&pass->limit.shown);
}
