/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump --format text: a line an event, to be read and searched.
 *
 * Names and texts come from anybody: what a terminal would obey is escaped.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "tool/dump.h"
#include "tool/event_fields.h"
#include "tool/tool.h"
#include "tool/utc.h"

enum { RAW_BYTES_MOST = 32 };

struct text_dump {
	const struct dump_options *options;
	struct text out;
	bool failed;
};

enum part { PART_TIME, PART_PROCESS, PART_EVENT, PART_FIELD };

static void begin(struct text_dump *dump, enum part part)
{
	static const char *const colours[] = {
		[PART_TIME] = "\033[2m",
		[PART_PROCESS] = "\033[32m",
		[PART_EVENT] = "\033[1;36m",
		[PART_FIELD] = "\033[33m",
	};

	if (dump->options->colour) {
		text_add_string(&dump->out, colours[part]);
	}
}

static void end(struct text_dump *dump)
{
	if (dump->options->colour) {
		text_add_string(&dump->out, "\033[0m");
	}
}

static void add_id(struct text *out, uint32_t id)
{
	if (id == RECORD_NO_ID) {
		text_add_char(out, '-');
	} else {
		text_add_u64(out, id);
	}
}

static void add_raw(struct text *out, const struct event_record *record)
{
	uint32_t size = record->payload_size;
	uint32_t shown = size < RAW_BYTES_MOST ? size : RAW_BYTES_MOST;

	text_add_string(out, "  raw=");
	text_add_hex(out, record->payload, shown);
	if (shown < size) {
		text_add_format(out, "…(%" PRIu32 " bytes)", size);
	}
}

static void add_fields(struct text_dump *dump, const struct schema *schema,
		       const struct event_record *record)
{
	struct event_fields fields;
	struct json json;

	event_fields_locate(&fields, schema, record);
	for (unsigned i = 0; i < fields.end; i += 1U + schema->fields[i].span) {
		text_add_string(&dump->out, "  ");
		begin(dump, PART_FIELD);
		text_add_shown(&dump->out, schema->fields[i].name);
		end(dump);
		text_add_char(&dump->out, '=');
		json_init(&json, &dump->out, false);
		event_fields_json(&fields, i, &json);
	}
	if (fields.truncated) {
		text_add_string(&dump->out, "  (cut short)");
	}
	event_fields_done(&fields);
}

static bool show(void *context, const struct event_record *record, const struct event_class *class,
		 const char *process, uint32_t process_id)
{
	struct text_dump *dump = context;
	struct text *out = &dump->out;
	char time[UTC_TEXT_SIZE];

	begin(dump, PART_TIME);
	text_add_string(out, utc_format(record->time, time) ? time : "-");
	text_add_format(out, "  cpu %u", record->processor);
	end(dump);
	text_add_string(out, "  ");
	begin(dump, PART_PROCESS);
	text_add_shown(out, process);
	end(dump);
	text_add_char(out, ' ');
	add_id(out, process_id);
	text_add_char(out, '/');
	add_id(out, record->thread_id);
	text_add_string(out, "  ");
	if (class->kernel_class == KERNEL_NONE) {
		text_add_shown(out, class->provider_name);
		text_add_char(out, '/');
	}
	begin(dump, PART_EVENT);
	text_add_shown(out, class->event_name);
	end(dump);
	if (class->schema) {
		add_fields(dump, class->schema, record);
	} else if (record->payload_size > 0) {
		add_raw(out, record);
	}
	text_add_char(out, '\n');
	if (out->size >= DUMP_OUTPUT_SIZE || out->failed) {
		dump->failed = !tool_write("dump", out);
		text_clear(out);
	}
	return !dump->failed;
}

int dump_text(const struct dump_options *options)
{
	struct text_dump dump = { .options = options };
	struct dump_pass pass = { .options = options,
				  .context = &dump,
				  .show = show,
				  .limit.per_class = options->per_class };
	int status = dump_pass_run(&pass) ? TOOL_DONE : TOOL_FAILED;

	if (!dump.failed && !tool_write("dump", &dump.out)) {
		status = TOOL_FAILED;
	}
	text_free(&dump.out);
	dump_pass_done(&pass);
	return status;
}
