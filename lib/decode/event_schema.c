/* SPDX-License-Identifier: MIT */
/*
 * Finds the schema of an event in the order of event_schema.h.
 *
 * An event with its own layout (TraceLogging, or one text) and an event of a kernel class are
 * decided at once. For the others each origin is searched in turn, and the first one that has a
 * schema wins. The order differs between a recording, which is trusted to describe itself, and a
 * live session, in which any process may write any event under any provider. A schema from an
 * in-band manifest is valid only until that manifest is dropped, and queries of the system are
 * limited. struct etw_schema_terms returns both conditions to the caller, which keeps the schema.
 */
#include "lib/decode/event_schema.h"

#include <string.h>

#include <etw/kernel.h>
#include <etw/provider.h>

#include "base/text.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/trace_schemas.h"

/* "EventWriteString function", Microsoft Learn. The payload is the text, up to a NUL or its end. */
static const struct etw_field string_field = { .name = "Message", .type = ETW_FIELD_WSTRING };
static const struct etw_schema string_schema = { .event = "EventWriteString",
						 .fields = &string_field,
						 .field_count = 1,
						 .origin = ETW_SCHEMA_STRING };

/* older: find the latest version before the event's, because its own version is not known. */
static const struct etw_schema *configured(const struct etw_schema_origins *origins,
					   const struct etw_record *record, bool older)
{
	const struct etw_manifest_set *const sets[] = { origins->configured, origins->builtin };
	const struct etw_schema *schema = NULL;

	/* Manifests have no classic events. */
	for (size_t i = 0; i < 2 && !schema && !record->classic; i++) {
		schema = etw_manifest_set_schema(sets[i], record->provider, record->id,
						 record->version, record->opcode, older);
	}
	return schema;
}

static const struct etw_schema *ask_system(const struct etw_schema_origins *origins,
					   const struct etw_record *record,
					   struct etw_schema_terms *terms)
{
	struct etw_system_answer answer = { .later = false };
	const struct etw_schema *schema;
	struct etw_manifest_chunk chunk;

	if (!origins->system.schema || etw_kernel_class_name(record->provider) ||
	    (record->id == ETW_MANIFEST_EVENT_ID && etw_manifest_chunk_read(record, &chunk))) {
		return NULL;
	}
	schema = origins->system.schema(origins->system.context, record, &answer);
	if (answer.provider_name && origins->trace) {
		trace_schemas_claim_name(origins->trace, record->provider, answer.provider_name);
	}
	if (terms) {
		terms->later = answer.later;
	}
	return schema;
}

static const struct etw_schema *ask_manifest_id(const struct etw_schema_origins *origins,
						const struct etw_record *record,
						struct etw_schema_terms *terms)
{
	const struct etw_schema *schema;
	uint32_t found;

	if (!origins->inband || record->classic || !terms) {
		return NULL;
	}
	schema = inband_manifests_find(origins->inband, record, !origins->live, &found);
	if (schema) {
		terms->manifest_id = found;
	}
	return schema;
}

static const struct etw_schema *search_origins(const struct etw_schema_origins *origins,
					       const struct etw_record *record,
					       struct etw_schema_terms *terms)
{
	const struct etw_schema *schema = NULL;

	if (origins->live) {
		schema = configured(origins, record, false);
		if (!schema) {
			schema = ask_system(origins, record, terms);
		}
	} else if (origins->trace) {
		schema = trace_schemas_find(origins->trace, record,
					    terms ? &terms->manifest_id : NULL);
	}
	if (!schema) {
		schema = ask_manifest_id(origins, record, terms);
	}
	if (!schema && !origins->live) {
		schema = configured(origins, record, false);
	}
	if (!schema) {
		schema = configured(origins, record, true);
		if (terms) {
			terms->older = schema != NULL;
		}
	}
	return schema;
}

const struct etw_schema *etw_event_schema(const struct etw_schema_origins *origins,
					  struct etw_tracelogging_cache *tracelogging,
					  const struct etw_record *record,
					  struct etw_schema_terms *terms)
{
	const struct etw_schema *schema = NULL;
	struct etw_extended_item metadata;

	if (terms) {
		*terms = (struct etw_schema_terms){ .manifest_id = 0 };
	}
	if (record->type >= ETW_RECORD_MESSAGE) {
		return NULL;
	}
	if (record->type == ETW_RECORD_STRING) {
		return &string_schema;
	}
	if (record->classic) {
		schema = etw_kernel_schema_of(record);
	} else if (etw_tracelogging_metadata(record, &metadata)) {
		return etw_tracelogging_schema(tracelogging, &metadata);
	}
	return schema || !origins ? schema : search_origins(origins, record, terms);
}

const struct etw_schema *etw_event_schema_naming(const struct etw_schema_origins *origins,
						 const struct etw_record *record,
						 const struct etw_schema *schema)
{
	const struct etw_schema *naming = NULL;

	if (record->type != ETW_RECORD_STRING || !origins) {
		return schema;
	}
	if (!origins->live && origins->trace) {
		naming = trace_schemas_find(origins->trace, record, NULL);
	}
	if (!naming) {
		naming = configured(origins, record, false);
	}
	return naming ? naming : schema;
}

static bool has_own_layout(const struct etw_record *record)
{
	struct etw_extended_item metadata;

	return record->type == ETW_RECORD_STRING || etw_tracelogging_metadata(record, &metadata);
}

uint32_t event_schema_manifest_id(const struct etw_schema_origins *origins,
				  const struct etw_record *record)
{
	bool trace = !origins->live && origins->trace && trace_schemas_differ(origins->trace);
	bool inband = origins->inband && inband_manifests_any(origins->inband);
	uint32_t manifest_id = 0;

	if ((!trace && !inband) || record->classic || record->type >= ETW_RECORD_MESSAGE ||
	    has_own_layout(record) ||
	    (trace && trace_schemas_find(origins->trace, record, &manifest_id)) || !inband) {
		return manifest_id;
	}
	return inband_manifests_find(origins->inband, record, !origins->live, &manifest_id) ?
		       manifest_id :
		       0;
}

void etw_event_schema_learn(const struct etw_schema_origins *origins,
			    const struct etw_record *record)
{
	const char *name;

	if (record->extended) {
		trace_schemas_look_at_name(origins->trace, record);
	}
	if (etw_process_change_possible(record)) {
		inband_manifests_look(origins->inband, record, !origins->live);
	}
	name = inband_manifests_add(origins->inband, record);
	if (name) {
		trace_schemas_claim_name(origins->trace, record->provider, name);
	}
}

bool event_schema_overridable(const struct etw_schema_origins *origins,
			      const struct etw_record *record, const struct etw_schema *schema)
{
	return origins && origins->inband && !record->classic &&
	       record->type < ETW_RECORD_MESSAGE && !(origins->live && schema) &&
	       !has_own_layout(record);
}

static const char *known_name(const struct etw_schema_origins *origins,
			      const struct etw_guid *provider)
{
	const char *name = etw_manifest_set_provider_name(origins->configured, provider);

	if (!name) {
		name = etw_manifest_set_provider_name(origins->builtin, provider);
	}
	if (!name && origins->builtin_names) {
		name = etw_provider_name(provider);
	}
	if (!name && origins->live && origins->system.provider_name) {
		name = origins->system.provider_name(origins->system.context, provider);
	}
	return name;
}

const char *etw_event_provider_name(const struct etw_schema_origins *origins,
				    const struct etw_guid *provider)
{
	const char *name = NULL;

	if (!origins) {
		return NULL;
	}
	if (origins->trace && !origins->live) {
		name = trace_schemas_provider_name(origins->trace, provider);
	}
	if (!name) {
		name = known_name(origins, provider);
	}
	if (!name && origins->trace) {
		name = trace_schemas_claimed_name(origins->trace, provider);
	}
	return name;
}

void etw_event_schema_name(const struct etw_schema *schema, struct etw_text *out)
{
	static const char standard[] = "/win:";
	const char *event = schema->event;
	size_t size = strlen(event);
	const char *opcode;

	if (schema->origin == ETW_SCHEMA_MANIFEST) {
		/* manifest.c makes the name without "win:". */
		bool ends = text_ends_nocase(event, size, "/Info", 5);

		text_add(out, event, ends ? size - 5 : size);
		return;
	}
	/* Descriptions contain the standard opcodes with their prefix. */
	opcode = schema->origin == ETW_SCHEMA_EVENT_INFO ? strstr(event, standard) : NULL;
	text_add(out, event, opcode ? (size_t)(opcode - event) : size);
	if (opcode && strcmp(opcode, "/win:Info") != 0) {
		text_add_char(out, '/');
		text_add_string(out, opcode + sizeof standard - 1);
	}
}
