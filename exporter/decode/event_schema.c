/* SPDX-License-Identifier: MIT */
/*
 * Which schema an event is decoded by.
 */
#include "decode/event_schema.h"

#include <string.h>

#include "decode/kernel_class.h"

const struct schema *event_schema(const struct trace_schemas *trace,
				  struct tracelogging_cache *tracelogging,
				  const struct event_record *record)
{
	const struct schema *schema = NULL;
	struct extended_item metadata;

	if (record->kind >= RECORD_MESSAGE) {
		return NULL;
	}
	if (record->classic) {
		schema = kernel_schema(record->provider, record->opcode, record->version);
	} else if (tracelogging_metadata(record, &metadata)) {
		return tracelogging_schema(tracelogging, &metadata);
	}
	return schema || !trace ? schema : trace_schemas_find(trace, record);
}

void event_schema_name(const struct schema *schema, struct text *out)
{
	static const char standard[] = "/win:";
	const char *opcode;

	if (schema->origin != SCHEMA_EVENT_INFO) {
		text_add_string(out, schema->event);
		return;
	}
	/* Descriptions of events say opcodes as their manifest's writer does not need to. */
	opcode = strstr(schema->event, standard);
	if (!opcode) {
		text_add_string(out, schema->event);
		return;
	}
	text_add(out, schema->event, (size_t)(opcode - schema->event));
	if (strcmp(opcode, "/win:Info") != 0) {
		text_add_char(out, '/');
		text_add_string(out, opcode + sizeof standard - 1);
	}
}
