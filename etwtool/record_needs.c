/* SPDX-License-Identifier: MIT */
/*
 * Writes what collectors need in the form of the tools of Windows.
 *
 * A live session enables kernel events by flags. A profile of Windows Performance Recorder has
 * keywords instead; some stand for two flags, so each keyword is written once
 * (etw_kernel_flag_keywords). Providers have GUID, level and keywords in both tools. Neither can do
 * all that a live session of the exporter does: WPR with the schema used here and logman have no
 * filters by event id, payload or process, so a recording has more events than the rules count, and
 * logman has no groups beyond the 32 flags. Neither passes arguments to a provider; the profile
 * says so where one needs them. The NT Kernel Logger accepts no other provider, so logman writes
 * two files, one for the kernel and one for the rest; WPR merges its two files.
 *
 * Source: "WPRControlProfiles Schema", "EventProvider", "2. System and Event Provider Definitions",
 * "WPR Command-Line Options" (Microsoft Learn) for profiles: elements have this order, the Id of a
 * profile is Name.DetailLevel.LoggingMode, and values of keywords are unique in their list. "logman
 * create trace", "logman update trace" (Microsoft Learn) for the lines. Neither has been tried on
 * Windows yet, so the output says that they are expected to work.
 */
#include <etw/kernel.h>
#include <etw/provider.h>

#include "etwtool/record_needs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/rule_set.h"

enum { BUFFER_KIB = 1024, BUFFERS_LEAST = 64, BUFFERS_MOST = 256 };

/* ---- needs ---- */

static bool guid_in(const struct etw_manifest_set *set, const char *name, struct etw_guid *guid)
{
	struct etw_manifest_set_provider provider;

	for (size_t i = 0; etw_manifest_set_provider(set, i, &provider); i++) {
		const char *known = etw_manifest_set_provider_name(set, provider.guid);

		if (known && text_equal_nocase(known, strlen(known), name, strlen(name))) {
			*guid = *provider.guid;
			return true;
		}
	}
	return false;
}

/* Finds the GUID of a provider given by name. Returns false if it is unknown. */
static bool find_guid(const struct etw_provider_spec *provider,
		      const struct etw_configured_manifests *manifests, struct etw_guid *guid)
{
	if (!etw_provider_spec_nameless(provider)) {
		*guid = provider->guid;
		return true;
	}
	return etw_provider_guid(provider->name, guid) ||
	       guid_in(manifests->configured, provider->name, guid) ||
	       guid_in(manifests->builtin, provider->name, guid);
}

static bool is_same(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	if (!etw_provider_spec_nameless(a) && !etw_provider_spec_nameless(b)) {
		return etw_guid_equal(&a->guid, &b->guid);
	}
	return a->name && b->name &&
	       text_equal_nocase(a->name, strlen(a->name), b->name, strlen(b->name));
}

bool record_needs_add_provider(struct record_needs *needs, const struct etw_provider_spec *provider,
			       const struct etw_configured_manifests *manifests,
			       struct etw_error *err)
{
	struct etw_provider_spec spec = *provider, *grown;

	find_guid(provider, manifests, &spec.guid);
	for (size_t i = 0; i < needs->count; i++) {
		struct etw_provider_spec *known = &needs->providers[i];

		if (is_same(known, &spec)) {
			etw_provider_spec_widen(known, &spec);
			known->properties |= spec.properties;
			known->capture_at_start |= spec.capture_at_start;
			known->capture_at_stop |= spec.capture_at_stop;
			if (!known->arguments) {
				known->arguments = spec.arguments;
				known->arguments_size = spec.arguments_size;
			}
			return true;
		}
	}
	grown = array_grow(needs->providers, &needs->capacity, needs->count, sizeof *grown);
	if (!grown) {
		return error_no_memory(err, "the needs of collectors");
	}
	needs->providers = grown;
	grown[needs->count++] = spec;
	return true;
}

bool record_needs_add_collector(struct record_needs *needs, const struct collector *collector,
				const struct etw_configured_manifests *manifests,
				struct etw_error *err)
{
	needs->flags |= collector_kernel_flags(collector);
	needs->groups |= collector->kernel_groups;
	for (size_t i = 0; i < collector->provider_count; i++) {
		if (!record_needs_add_provider(needs, &collector->providers[i], manifests, err)) {
			return false;
		}
	}
	return true;
}

void record_needs_done(struct record_needs *needs)
{
	free(needs->providers);
	*needs = (struct record_needs){ .flags = 0 };
}

bool record_needs_empty(const struct record_needs *needs)
{
	return needs->flags == 0 && needs->groups == 0 && needs->count == 0;
}

void text_add_kernel_names(struct etw_text *out, uint32_t flags, uint32_t groups)
{
	const char *between = "";

	for (unsigned i = 0; etw_kernel_flag_names[i]; i++) {
		if (etw_kernel_flag_among(i, flags, groups)) {
			text_add_format(out, "%s%s", between, etw_kernel_flag_names[i]);
			between = ", ";
		}
	}
}

/* ---- the profile ---- */

/* Adds a comment on its own line. Two dashes in a row would end it, so they are changed. */
static void add_comment(struct etw_text *out, const char *string)
{
	struct etw_text escaped = { 0 };

	text_add_html(&escaped, string);
	text_add_string(out, "    <!-- ");
	for (size_t i = 0; i < escaped.size; i++) {
		text_add_char(out, escaped.data[i]);
		text_add_string(out, escaped.data[i] == '-' && i + 1 < escaped.size &&
						     escaped.data[i + 1] == '-' ?
					     " " :
					     "");
	}
	text_add_string(out, " -->\n");
	out->failed |= escaped.failed;
	text_free(&escaped);
}

static void add_collector(struct etw_text *out, const char *element, const char *id,
			  const char *name)
{
	text_add_format(out,
			"    <%s Id=\"%s\" Name=\"%s\">\n"
			"      <BufferSize Value=\"%d\"/>\n"
			"      <Buffers Value=\"%d\"/>\n"
			"    </%s>\n",
			element, id, name, BUFFER_KIB, BUFFERS_MOST, element);
}

static void add_system_provider(struct etw_text *out, const struct record_needs *needs)
{
	uint32_t flags = needs->flags, groups = needs->groups;

	text_add_string(out, "    <SystemProvider Id=\"SystemProvider_etw\">\n      <Keywords>\n");
	for (unsigned i = 0; etw_kernel_flag_names[i]; i++) {
		bool written = false;

		for (unsigned k = 0; k < i; k++) {
			written |= etw_kernel_flag_among(k, flags, groups) &&
				   strcmp(etw_kernel_flag_keywords[k],
					  etw_kernel_flag_keywords[i]) == 0;
		}
		if (!written && etw_kernel_flag_among(i, flags, groups)) {
			text_add_format(out, "        <Keyword Value=\"%s\"/>\n",
					etw_kernel_flag_keywords[i]);
		}
	}
	text_add_string(out, "      </Keywords>\n    </SystemProvider>\n");
}

/* Adds a list of keywords; adds nothing if it is empty. */
static void add_keywords(struct etw_text *out, const char *element, uint64_t keywords)
{
	if (keywords != 0) {
		text_add_format(out,
				"      <%s>\n        <Keyword Value=\"0x%" PRIX64
				"\"/>\n      </%s>\n",
				element, keywords, element);
	}
}

static void add_event_provider(struct etw_text *out, const struct etw_provider_spec *spec,
			       size_t number)
{
	char guid[GUID_TEXT_SIZE];

	guid_format(&spec->guid, guid);
	if (spec->name && !etw_provider_spec_nameless(spec)) {
		add_comment(out, spec->name);
	}
	if (spec->arguments) {
		add_comment(out, "WPR passes no arguments; without them this provider writes no "
				 "counters");
	}
	text_add_format(out, "    <EventProvider Id=\"EventProvider_%zu\" Name=\"", number + 1);
	if (etw_provider_spec_nameless(spec)) {
		text_add_html(out, spec->name);
	} else {
		text_add_string(out, guid);
	}
	text_add_string(out, "\" NonPagedMemory=\"true\"");
	text_add_string(out, spec->properties & ETW_PROVIDER_STACK ? " Stack=\"true\"" : "");
	text_add_string(out, spec->properties & ETW_PROVIDER_SID ? " SID=\"true\"" : "");
	text_add_string(out, spec->properties & ETW_PROVIDER_SESSION_ID ? " TSID=\"true\"" : "");
	text_add_format(out, " Level=\"%u\">\n", spec->level);
	add_keywords(out, "Keywords", spec->any);
	add_keywords(out, "CaptureStateOnStart", spec->capture_at_start);
	add_keywords(out, "CaptureStateOnSave", spec->capture_at_stop);
	text_add_string(out, "    </EventProvider>\n");
}

static void add_profile(struct etw_text *out, const struct record_needs *needs, bool system)
{
	text_add_string(out, "    <Profile Id=\"etw_exporter.Verbose.File\" Name=\"etw_exporter\" "
			     "Description=\"What collectors of etw_exporter count\" "
			     "DetailLevel=\"Verbose\" LoggingMode=\"File\">\n"
			     "      <Collectors>\n");
	if (system) {
		text_add_string(out, "        <SystemCollectorId Value=\"SystemCollector_etw\">\n"
				     "          <SystemProviderId Value=\"SystemProvider_etw\"/>\n"
				     "        </SystemCollectorId>\n");
	}
	if (needs->count > 0) {
		text_add_string(out, "        <EventCollectorId Value=\"EventCollector_etw\">\n"
				     "          <EventProviders>\n");
		for (size_t i = 0; i < needs->count; i++) {
			text_add_format(out,
					"            <EventProviderId "
					"Value=\"EventProvider_%zu\"/>\n",
					i + 1);
		}
		text_add_string(out, "          </EventProviders>\n"
				     "        </EventCollectorId>\n");
	}
	text_add_string(out, "      </Collectors>\n    </Profile>\n");
}

void text_add_wprp(struct etw_text *out, const struct record_needs *needs)
{
	bool system = needs->flags != 0 || needs->groups != 0;

	text_add_string(
		out,
		"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
		"<!-- Written by etwtool doctor, from the documented schema of these profiles; "
		"expected to work,\n     but not yet run on a real Windows. Start and stop: "
		"wpr -start FILE.wprp!etw_exporter -filemode,\n     wpr -stop OUT.etl -->\n"
		"<WindowsPerformanceRecorder Version=\"1.0\" Author=\"etwtool doctor\">\n"
		"  <Profiles>\n");
	if (system) {
		add_collector(out, "SystemCollector", "SystemCollector_etw", "NT Kernel Logger");
	}
	if (needs->count > 0) {
		add_collector(out, "EventCollector", "EventCollector_etw", "etw_exporter");
	}
	if (system) {
		add_system_provider(out, needs);
	}
	for (size_t i = 0; i < needs->count; i++) {
		add_event_provider(out, &needs->providers[i], i);
	}
	add_profile(out, needs, system);
	text_add_string(out, "  </Profiles>\n</WindowsPerformanceRecorder>\n");
}

/* ---- command lines ---- */

void text_add_wpr_lines(struct etw_text *out, const char *indent, const char *profile)
{
	text_add_format(out, "%swpr -start \"", indent);
	text_add_shown(out, profile ? profile : "OUT.wprp");
	text_add_format(out, "!etw_exporter\" -filemode%s\n%swpr -stop OUT.etl\n",
			profile ? "" : "    (--profile OUT.wprp writes the profile)", indent);
}

static void add_quoted_provider(struct etw_text *out, const struct etw_provider_spec *spec)
{
	char label[GUID_TEXT_SIZE + 2];
	struct etw_provider_spec by_guid = *spec;

	if (!etw_provider_spec_nameless(spec)) {
		by_guid.name = NULL;
	}
	text_add_char(out, '"');
	text_add_shown(out, etw_provider_spec_label(&by_guid, label));
	text_add_char(out, '"');
}

void text_add_logman_stop(struct etw_text *out, const char *indent,
			  const struct record_needs *needs)
{
	if (needs->flags != 0) {
		text_add_format(out, "%slogman stop \"NT Kernel Logger\" -ets\n", indent);
	}
	if (needs->count > 0) {
		text_add_format(out, "%slogman stop etw_exporter -ets\n", indent);
	}
}

void text_add_logman_start(struct etw_text *out, const char *indent,
			   const struct record_needs *needs)
{
	if (needs->flags != 0) {
		text_add_format(out,
				"%slogman start \"NT Kernel Logger\" -p \"Windows Kernel Trace\" "
				"0x%" PRIx32 " -o kernel.etl -bs %d -nb %d %d -ets\n",
				indent, needs->flags, BUFFER_KIB, BUFFERS_LEAST, BUFFERS_MOST);
	}
	for (size_t i = 0; i < needs->count; i++) {
		const struct etw_provider_spec *spec = &needs->providers[i];

		text_add_format(out, "%slogman %s etw_exporter -p ", indent,
				i == 0 ? "start" : "update trace");
		add_quoted_provider(out, spec);
		text_add_format(out, " 0x%" PRIx64 " %u", spec->any, spec->level);
		if (i == 0) {
			text_add_format(out, " -o events.etl -bs %d -nb %d %d", BUFFER_KIB,
					BUFFERS_LEAST, BUFFERS_MOST);
		}
		text_add_string(out, " -ets\n");
	}
	if (needs->groups != 0) {
		text_add_format(out, "%s(logman cannot enable ", indent);
		text_add_kernel_names(out, 0, needs->groups);
		text_add_string(out, "; wpr can)\n");
	}
}

void json_add_needs(struct json *json, const struct record_needs *needs)
{
	json_member_array(json, "kernel");
	for (unsigned i = 0; etw_kernel_flag_names[i]; i++) {
		if (etw_kernel_flag_among(i, needs->flags, needs->groups)) {
			json_string(json, etw_kernel_flag_names[i]);
		}
	}
	json_array_end(json);
	json_member_array(json, "providers");
	for (size_t i = 0; i < needs->count; i++) {
		const struct etw_provider_spec *spec = &needs->providers[i];
		char keywords[32];

		json_object_begin(json);
		json_member_string(json, "name", spec->name);
		if (!etw_provider_spec_nameless(spec)) {
			json_member_guid(json, "guid", &spec->guid);
		}
		json_member_u64(json, "level", spec->level);
		snprintf(keywords, sizeof keywords, "0x%" PRIx64, spec->any);
		json_member_string(json, "keywords", keywords);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- the needs of events of one name ---- */

/*
 * Builds the `needs` of a collector for one event: for a kernel event the flag that enables it, for
 * others the provider with level, id and keywords. The recording may have been made with everything
 * enabled, and a provider with all its keywords at level 5 can emit a million events a second. So
 * the result enables only what the recorded events need.
 */

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
			"needs:    # for a live session: provider:level:ids:keywords, as seen in "
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
		text_add_string(out, "] }    # for a live session; a replay takes what is in the "
				     "recording\n");
	} else if (row->kernel_class == ETW_KERNEL_NONE && !row->classic) {
		add_provider(out, row, seen);
	} else if (row->kernel_class == ETW_KERNEL_NONE) {
		text_add_string(out, "# needs: for a live session, the provider that writes the "
				     "event; a classic event does not name it\n");
	}
}
