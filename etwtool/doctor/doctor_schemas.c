/* SPDX-License-Identifier: MIT */
/*
 * The check of etwtool doctor for events without a schema: it adds a note for each provider, with
 * the description that would help.
 *
 * The description depends on how the provider writes: a manifest for events that have an id, a MOF
 * file for classic ones, and the developer's symbols for messages of software tracing (WPP). A
 * recording can name any number of providers, so only the first ones, which have most records, get
 * a note each.
 *
 * The name of a provider comes from the recording, and people paste command lines into a shell. So
 * a command line contains a name only if every shell reads it as the same word.
 */
#include <inttypes.h>
#include <string.h>

#include <etw/describe.h>

#include "etwtool/doctor/doctor.h"

/*
 * Adds the command. Names of providers may have spaces; the name is added only if no shell splits
 * or executes it.
 */
static void add_dump_command(struct etw_text *out, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_";
	static const char command[] = ": etwtool providers --export-manifests DIR ";
	static const char quoted[] = " {}";
	bool word = name[strspn(name, plain)] == '\0', safe = name[0] != '\0' && name[0] != '-';

	for (const char *at = name; *at != '\0'; at++) {
		safe = safe && (strchr(plain, *at) || strchr(quoted, *at));
	}
	if (!safe) {
		text_add_string(out, ", with --export-manifests.");
	} else {
		text_add_format(out, word ? "%s%s." : "%s\"%s\".", command, name);
	}
}

/*
 * Adds a note that says what such events of a provider are called, and which description would
 * help.
 */
static void add_missing_schema(struct doctor *doctor, const struct class_row *row, uint64_t records,
			       size_t events)
{
	bool kernel = row->kernel_class != ETW_KERNEL_NONE;
	struct finding *finding = doctor_found(
		doctor, SEVERITY_NOTE, "no_schema",
		kernel ?
			"Report it with the build of Windows: this program does not know the "
			"layout." :
		row->record_type == ETW_RECORD_MESSAGE ?
			"Leave them, or decode them with tracefmt and the developer's PDB or TMF "
			"files: they are messages of software tracing (WPP)." :
		row->classic ?
			"Leave them, or decode them with tracerpt where the provider is "
			"installed: they are classic events, which no manifest describes." :
			"Give the instrumentation manifest of the provider with --schema; "
			"etwtool providers writes it on a Windows where the provider is registered");
	char guid[GUID_TEXT_SIZE];

	guid_format(&row->guid, guid);
	text_add_format(&finding->what, "The fields of %" PRIu64 " record%s (%zu event%s) of ",
			records, records == 1 ? "" : "s", events, events == 1 ? "" : "s");
	text_add_shown(&finding->what, row->provider);
	if (!strstr(row->provider, guid)) {
		text_add_format(&finding->what, " {%s}", guid);
	}
	text_add_string(&finding->what, " cannot be read, because no layout is known.");
	if (!kernel && !row->classic && row->record_type != ETW_RECORD_MESSAGE) {
		add_dump_command(&finding->to_do, row->provider);
	}
}

static bool lacks_schema(const struct class_row *row)
{
	/* True for records that describe events, and for manifests that arrive as events. */
	bool describes = row->kernel_class == ETW_KERNEL_META_DATA ||
			 (!row->classic && row->number == ETW_MANIFEST_EVENT_ID);

	return !row->schema && !describes && row->record_type < ETW_RECORD_TIMED &&
	       row->records > 0;
}

void doctor_check_schemas(struct doctor *doctor)
{
	enum { PROVIDERS_MOST = 20 };
	const struct class_rows *classes = &doctor->classes;
	size_t shown = 0, more = 0;

	for (size_t first = 0, end; first < classes->count; first = end) {
		const struct class_row *one = NULL;
		uint64_t records = 0;
		size_t events = 0;

		end = class_rows_provider_end(classes, first);
		for (size_t i = first; i < end; i++) {
			if (lacks_schema(&classes->rows[i])) {
				one = one ? one : &classes->rows[i];
				records += classes->rows[i].records;
				events++;
			}
		}
		if (one && shown < PROVIDERS_MOST) {
			add_missing_schema(doctor, one, records, events);
			shown++;
		} else if (one) {
			more++;
		}
	}
	if (more > 0) {
		text_add_format(&doctor_found(doctor, SEVERITY_NOTE, "no_schema",
					      "etwtool providers lists all of them.")
					 ->what,
				"Events of %zu more provider%s have no layout.", more,
				more == 1 ? "" : "s");
	}
}
