/* SPDX-License-Identifier: MIT */
/*
 * Anonymising takes two passes, because layouts of events often come at the end of a recording, and
 * a payload whose layout is not known yet looks like one without a schema. The first pass collects
 * the layouts, and the second copies the records.
 *
 * The copy replaces every record, even one without a name. Otherwise a buffer without a change
 * would be copied as stored, including the bytes between its records and after the last one, which
 * may be remains of other records.
 */
#include "etwtool/relog/anonymise.h"

#include <etw/describe.h>
#include <etw/recording.h>

struct passes {
	const struct anonymise_request *request;
	struct etw_trace_schemas *trace;
	struct etw_tracelogging_cache *tracelogging;
	struct etw_schema_origins origins;
	struct anonymiser *anonymiser;
	struct etw_error failure; /* the error of a record, which ends the copy */
};

static void learn_record(void *context, const struct etw_record *record)
{
	struct passes *passes = context;

	etw_trace_schemas_look(passes->trace, record);
}

static bool first_pass(struct passes *passes, struct etw_file *input, struct etw_error *err)
{
	const struct etw_visitor visitor = {
		.record_context = passes,
		.on_record = learn_record,
		.buffer_context = passes->request->context,
		.on_buffer = passes->request->on_buffer,
	};
	struct etw_damage damage = { 0 }; /* the second pass reports it */
	bool good = etw_file_visit(input, &damage, &visitor, err);

	etw_trace_schemas_finish(passes->trace);
	return good;
}

static enum etw_mirror_action replace_record(void *context, const struct etw_record *record,
					     struct etw_mirror_bytes *bytes)
{
	struct passes *passes = context;
	const struct etw_schema *schema;
	struct etw_schema_terms terms;

	if (passes->failure.code != ETW_ERROR_NONE) {
		return ETW_MIRROR_DROP;
	}
	schema = etw_event_schema(&passes->origins, passes->tracelogging, record, &terms);
	switch (anonymise_record(passes->anonymiser, record, schema, terms.older, &bytes->at,
				 &bytes->size, &passes->failure)) {
	case ANONYMISE_SAME:
	case ANONYMISE_REPLACED:
		return ETW_MIRROR_REPLACE;
	case ANONYMISE_DROPPED:
	case ANONYMISE_FAILED:
		break;
	}
	return ETW_MIRROR_DROP;
}

static bool second_pass(struct passes *passes, struct etw_file *input,
			struct anonymise_result *result, struct etw_error *err)
{
	const struct anonymise_request *request = passes->request;
	const struct etw_mirror_visitor visitor = {
		.context = passes,
		.decide = replace_record,
		.buffer_context = request->context,
		.on_buffer = request->on_buffer,
	};
	struct etw_mirror *mirror =
		request->file ?
			etw_mirror_open_temporary(request->output, request->form, &input, 1, err) :
			etw_mirror_open(request->output, request->form, &input, 1, err);
	bool good = mirror && etw_mirror_copy(mirror, input, &visitor, &result->damage, err);

	if (good && passes->failure.code != ETW_ERROR_NONE) {
		good = error_set(err, passes->failure.code, "%s", passes->failure.text);
	}
	if (good && etw_mirror_finish(mirror, err)) {
		etw_mirror_counts(mirror, &result->written);
		anonymiser_counts(passes->anonymiser, &result->replaced);
		if (request->file) {
			*request->file = etw_mirror_result(mirror, request->pointer_size, err);
			good = *request->file != NULL;
		}
	} else {
		good = false;
	}
	etw_mirror_close(mirror);
	return good;
}

bool anonymise_recording(struct etw_file *input, const struct anonymise_request *request,
			 struct anonymise_result *result, struct etw_error *err)
{
	struct passes passes = { .request = request };
	bool good;

	*result = (struct anonymise_result){ 0 };
	passes.trace = etw_trace_schemas_new(err);
	passes.tracelogging = passes.trace ? etw_tracelogging_cache_new(err) : NULL;
	passes.anonymiser = passes.tracelogging ? anonymiser_new(&request->options, err) : NULL;
	passes.origins = (struct etw_schema_origins){ .trace = passes.trace,
						      .configured = request->manifests->configured,
						      .builtin = request->manifests->builtin };
	good = passes.anonymiser && first_pass(&passes, input, err) &&
	       second_pass(&passes, input, result, err);
	anonymiser_free(passes.anonymiser);
	etw_tracelogging_cache_free(passes.tracelogging);
	etw_trace_schemas_free(passes.trace);
	return good;
}
