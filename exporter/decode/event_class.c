/* SPDX-License-Identifier: MIT */
#include "decode/event_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "decode/event_schema.h"

/* "Windows Kernel", or the provider's name by any origin; NULL: no name is known. */
static const char *known_name(const struct schema_origins *origins, const struct guid *provider)
{
	return kernel_class_is_kernel(provider) ? "Windows Kernel" :
						  event_provider_name(origins, provider);
}

/* Changes when a provider gets a name. */
static uint64_t name_count(const struct schema_origins *origins)
{
	return origins->trace ? trace_schemas_name_count(origins->trace) : 0;
}

static char *event_name(const struct event_record *record, const struct schema *schema)
{
	const char *kernel_class = record->classic ? kernel_class_name(record->provider) : NULL;
	const char *event = kernel_class ? kernel_event_name(record->provider, record->opcode) :
					   NULL;
	char text[160];

	if (schema && schema->origin != SCHEMA_KERNEL && schema->event[0]) {
		struct text name = { 0 };

		event_schema_name(schema, &name);
		if (name.failed) {
			text_free(&name);
		}
		return name.data;
	}
	if (event) {
		snprintf(text, sizeof text, "%s/%s", kernel_class, event);
	} else if (kernel_class) {
		snprintf(text, sizeof text, "%s/%u", kernel_class, record->opcode);
	} else {
		/* Classic events have no id; the documentation of a class numbers its events by
		 * opcode. */
		snprintf(text, sizeof text, "%u",
			 (unsigned)(record->classic ? record->opcode : record->id));
	}
	return text_duplicate(text, strlen(text));
}

bool event_class_resolve(const struct schema_origins *origins,
			 struct tracelogging_cache *tracelogging, const struct event_record *record,
			 struct event_class *class)
{
	struct schema_terms terms;
	const struct schema *schema = event_schema(origins, tracelogging, record, &terms);
	const char *known = known_name(origins, record->provider);
	char guid[GUID_TEXT_SIZE], *provider, *event;

	guid_format(record->provider, guid);
	provider = text_duplicate(known ? known : guid, strlen(known ? known : guid));
	event = event_name(record, schema);
	if (!provider || !event) {
		free(provider);
		free(event);
		return false;
	}
	*class = (struct event_class){
		.provider = *record->provider,
		.id = record->id,
		.version = record->version,
		.opcode = record->opcode,
		.pointer_size = record->pointer_size,
		.classic = record->classic,
		.record_type = record->type,
		.kernel_class = KERNEL_NONE,
		.overridable = terms.manifest_id == 0 &&
			       event_schema_overridable(origins, record, schema),
		.stale = (uint8_t)((known ? 0 : STALE_NAME) | (terms.later ? STALE_SYSTEM : 0)),
		.names = name_count(origins),
		.manifest_id = terms.manifest_id,
		.schema = schema,
		.provider_name = provider,
		.event_name = event,
	};
	if (record->classic && record->type < RECORD_MESSAGE) {
		class->kernel_class = (uint8_t)kernel_class_of(record->provider);
	}
	return true;
}

bool event_class_changed(const struct schema_origins *origins,
			 struct tracelogging_cache *tracelogging, const struct event_record *record,
			 struct event_class *class)
{
	struct schema_terms terms;

	if (class->stale & STALE_SCHEMA) {
		return true;
	}
	if (class->stale & STALE_SYSTEM) {
		event_schema(origins, tracelogging, record, &terms);
		if (!terms.later) {
			return true;
		}
	}
	if ((class->stale & STALE_NAME) == 0 || class->names == name_count(origins)) {
		return false;
	}
	class->names = name_count(origins);
	return known_name(origins, &class->provider) != NULL;
}

void event_class_free_names(struct event_class *class)
{
	/* The names are owned; they are const only for the readers of the struct. */
	free((void *)(uintptr_t) class->provider_name);
	free((void *)(uintptr_t) class->event_name);
	class->provider_name = NULL;
	class->event_name = NULL;
}
