/* SPDX-License-Identifier: MIT */
/*
 * Builds the `needs` of a collector for one event: for a kernel event the flag that enables it, for
 * others the provider with level, id and keywords. The recording may have been made with everything
 * enabled, and a provider with all its keywords at level 5 can emit a million events a second. So
 * the result enables only what the recorded events need.
 */
#include "etwtool/needs.h"

#include <inttypes.h>
#include <string.h>

#include <etw/provider.h>

#include "base/json.h"
#include "etwtool/record_needs.h"

struct etw_kernel_event_flags class_row_kernel_flags(const struct class_row *row)
{
	return etw_kernel_event_flags((enum etw_kernel_class)row->kernel_class, row->number, NULL);
}

/*
 * Bits 48 to 63 of a keyword are defined by Windows; the upper ones name channels ("Defining
 * Keywords Used to Classify Types of Events", Microsoft Learn). Providers hardly use the highest of
 * their own bits.
 */
#define PROVIDER_KEYWORDS (UINT64_MAX >> 16)
#define HIGHEST_KEYWORD   (UINT64_C(1) << 47)

/*
 * Returns whether a live session finds the provider by the name in the recording: the program knows
 * the name, or the provider was registered on the recorded machine. Providers of TraceLogging and
 * EventSource are not registered.
 */
static bool is_registered(const struct etw_configured_manifests *manifests,
			  const struct etw_event_class *class)
{
	const char *const names[] = {
		etw_manifest_set_provider_name(manifests->configured, &class->provider),
		etw_manifest_set_provider_name(manifests->builtin, &class->provider),
		etw_provider_name(&class->provider),
	};

	if (strpbrk(class->provider_name, ":{")) {
		return false; /* the name would parse as something else */
	}
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (names[i] && strcmp(names[i], class->provider_name) == 0) {
			return true;
		}
	}
	return class->schema && class->schema->origin == ETW_SCHEMA_EVENT_INFO;
}

void seen_class(struct seen *seen, const struct etw_configured_manifests *manifests,
		const struct etw_event_class *class)
{
	seen->registered |= is_registered(manifests, class);
}

void seen_record(struct seen *seen, const struct etw_record *record)
{
	seen->level = record->level > seen->level ? record->level : seen->level;
	seen->keywords |= record->keyword;
}

/* Adds "Provider:level:id:keywords"; docs/rules.md describes the form. */
static void add_provider(struct etw_text *out, const struct class_row *row, const struct seen *seen)
{
	uint64_t keywords = seen->keywords & PROVIDER_KEYWORDS;
	char guid[GUID_TEXT_SIZE];
	struct etw_text spec = { 0 };
	struct json json;

	guid_format(&row->guid, guid);
	if (seen->registered) {
		text_add_string(&spec, row->provider);
	} else {
		text_add_format(&spec, "{%s}", guid);
	}
	/* Windows always delivers events of level 0, and level 0 of a session means all levels. */
	text_add_format(&spec, ":%u:", seen->level > 0 ? seen->level : 1U);
	if (row->number > 0) { /* all TraceLogging events have id 0 */
		text_add_u64(&spec, row->number);
	}
	/* Windows always delivers events without keywords, and a mask of 0 means all. */
	text_add_format(&spec, ":0x%" PRIx64,
			keywords != 0       ? keywords :
			seen->keywords != 0 ? seen->keywords :
					      HIGHEST_KEYWORD);
	text_add_string(out,
			"needs:    # of a live session: provider:level:ids:keywords, as seen in "
			"the recording\n  providers: [");
	json_init(&json, out, false);
	json_string(&json, spec.data ? spec.data : "");
	text_add_string(out, "]    # ");
	if (seen->registered) {
		text_add_format(out, "{%s}\n", guid);
	} else {
		text_add_shown(out, row->provider);
		text_add_char(out, '\n');
	}
	out->failed |= spec.failed;
	text_free(&spec);
}

void text_add_needs(struct etw_text *out, const struct class_row *row, const struct seen *seen)
{
	const struct etw_kernel_event_flags by = class_row_kernel_flags(row);

	if (by.flags != 0 || by.groups != 0) {
		text_add_string(out, "needs: { kernel: [");
		text_add_kernel_names(out, by.flags, by.groups);
		text_add_string(out, "] }    # of a live session; a replay takes what is in the "
				     "recording\n");
	} else if (row->kernel_class == ETW_KERNEL_NONE && !row->classic) {
		add_provider(out, row, seen);
	} else if (row->kernel_class == ETW_KERNEL_NONE) {
		text_add_string(out, "# needs: of a live session, the provider that writes the "
				     "event; a classic event does not name it\n");
	}
}
