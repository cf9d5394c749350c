/* SPDX-License-Identifier: MIT */
/*
 * The `needs` of a collector for one event: for events of the kernel the flag that brings them, for
 * others the provider with level, id and keywords. A recording was perhaps made with everything
 * enabled, and a provider with all its keywords at level 5 can emit a million events a second, so
 * nothing is asked for that the events at hand do not need.
 */
#include "tool/needs.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "source/kernel_flags.h"
#include "source/provider_names.h"
#include "tool/record_needs.h"

#define GROUP(name) (UINT32_C(1) << KERNEL_GROUP_##name)

/*
 * The kernel flag or the groups that bring events of a class, by their opcodes
 * ("EVENT_TRACE_PROPERTIES structure", Microsoft Learn; docs/etl-format.md section 15); none:
 * `needs` has no name for it. The flags that derived fields need besides are added when a rule uses
 * one (tracker_kernel_flags()).
 */
uint32_t class_row_kernel_flag(const struct class_row *row, uint32_t *groups)
{
	static const struct {
		uint8_t kernel_class, first, last;
		uint32_t flag, groups;
	} flags[] = {
		{ KERNEL_PROCESS, 0, 255, KERNEL_FLAG_PROCESS, 0 },
		{ KERNEL_THREAD, 36, 36, KERNEL_FLAG_CSWITCH, 0 },
		{ KERNEL_THREAD, 50, 50, KERNEL_FLAG_DISPATCHER, 0 },
		{ KERNEL_THREAD, 0, 255, KERNEL_FLAG_THREAD, 0 },
		{ KERNEL_IMAGE, 0, 255, KERNEL_FLAG_IMAGE_LOAD, 0 },
		{ KERNEL_DISK_IO, 12, 13, 0, 0 }, /* DISK_IO_INIT, which no collector can need */
		{ KERNEL_DISK_IO, 15, 15, 0, 0 },
		{ KERNEL_DISK_IO, 0, 255, KERNEL_FLAG_DISK_IO, 0 },
		{ KERNEL_FILE_IO, 64, 75, KERNEL_FLAG_FILE_IO_INIT, 0 },
		{ KERNEL_FILE_IO, 77, 77, KERNEL_FLAG_FILE_IO_INIT, 0 },
		{ KERNEL_FILE_IO, 83, 86, KERNEL_FLAG_FILE_IO_INIT, 0 },
		{ KERNEL_FILE_IO, 96, 97, 0, GROUP(FLT_IO_INIT) },
		{ KERNEL_FILE_IO, 98, 99, 0, GROUP(FLT_IO) | GROUP(FLT_FASTIO) },
		{ KERNEL_FILE_IO, 100, 101, 0, GROUP(FLT_IO_FAILURE) },
		{ KERNEL_FILE_IO, 76, 76, KERNEL_FLAG_FILE_IO, 0 },
		{ KERNEL_FILE_IO, 0, 36, KERNEL_FLAG_DISK_FILE_IO, 0 },
		{ KERNEL_FILE_IO, 37, 40, KERNEL_FLAG_VAMAP, 0 },
		{ KERNEL_TCP_IP, 0, 255, KERNEL_FLAG_NETWORK_TCPIP, 0 },
		{ KERNEL_UDP_IP, 0, 255, KERNEL_FLAG_NETWORK_TCPIP, 0 },
		{ KERNEL_PAGE_FAULT, 10, 14, KERNEL_FLAG_MEMORY_PAGE_FAULTS, 0 },
		{ KERNEL_PAGE_FAULT, 32, 32, KERNEL_FLAG_MEMORY_HARD_FAULTS, 0 },
		{ KERNEL_PAGE_FAULT, 98, 99, KERNEL_FLAG_VIRTUAL_ALLOC, 0 },
		{ KERNEL_PERF_INFO, 46, 46, KERNEL_FLAG_PROFILE, 0 },
		{ KERNEL_PERF_INFO, 67, 67, KERNEL_FLAG_INTERRUPT, 0 },
		{ KERNEL_PERF_INFO, 66, 69, KERNEL_FLAG_DPC, 0 },
		{ KERNEL_REGISTRY, 0, 255, KERNEL_FLAG_REGISTRY, 0 },
	};

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		if (flags[i].kernel_class == row->kernel_class && row->number >= flags[i].first &&
		    row->number <= flags[i].last) {
			*groups = flags[i].groups;
			return flags[i].flag;
		}
	}
	*groups = 0;
	return 0;
}

/*
 * Bits 48 to 63 of a keyword are Windows' own; the upper ones name channels ("Defining Keywords
 * Used to Classify Types of Events", Microsoft Learn). The highest of a provider's bits is hardly
 * used.
 */
#define PROVIDER_KEYWORDS (UINT64_MAX >> 16)
#define HIGHEST_KEYWORD   (UINT64_C(1) << 47)

/*
 * Whether a live session finds the provider by the name in the recording: the program knows it, or
 * Windows had it registered where the recording was made. Providers of TraceLogging and EventSource
 * are not registered.
 */
static bool is_registered(const struct configured_manifests *manifests,
			  const struct event_class *class)
{
	const char *const names[] = {
		manifest_set_provider_name(manifests->configured, &class->provider),
		manifest_set_provider_name(manifests->builtin, &class->provider),
		provider_name(&class->provider),
	};

	if (strpbrk(class->provider_name, ":{")) {
		return false; /* it would read as something else */
	}
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (names[i] && strcmp(names[i], class->provider_name) == 0) {
			return true;
		}
	}
	return class->schema && class->schema->origin == SCHEMA_EVENT_INFO;
}

void seen_class(struct seen *seen, const struct configured_manifests *manifests,
		const struct event_class *class)
{
	seen->registered |= is_registered(manifests, class);
}

void seen_record(struct seen *seen, const struct event_record *record)
{
	seen->level = record->level > seen->level ? record->level : seen->level;
	seen->keywords |= record->keyword;
}

/* "Provider:level:id:keywords", as docs/rules.md has it. */
static void add_provider(struct text *out, const struct class_row *row, const struct seen *seen)
{
	uint64_t keywords = seen->keywords & PROVIDER_KEYWORDS;
	char guid[GUID_TEXT_SIZE];
	struct text spec = { 0 };
	struct json json;

	guid_format(&row->guid, guid);
	if (seen->registered) {
		text_add_string(&spec, row->provider);
	} else {
		text_add_format(&spec, "{%s}", guid);
	}
	/* Events of level 0 always come, and level 0 of a session means all levels. */
	text_add_format(&spec, ":%u:", seen->level > 0 ? seen->level : 1U);
	if (row->number > 0) { /* all events of TraceLogging have the id 0 */
		text_add_u64(&spec, row->number);
	}
	/* Events without keywords always come, and a mask of 0 means all. */
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

void text_add_needs(struct text *out, const struct class_row *row, const struct seen *seen)
{
	uint32_t groups, flag = class_row_kernel_flag(row, &groups);

	if (flag != 0 || groups != 0) {
		text_add_string(out, "needs: { kernel: [");
		text_add_kernel_names(out, flag, groups);
		text_add_string(out, "] }    # of a live session; a replay takes what is in the "
				     "recording\n");
	} else if (row->kernel_class == KERNEL_NONE && !row->classic) {
		add_provider(out, row, seen);
	} else if (row->kernel_class == KERNEL_NONE) {
		text_add_string(out, "# needs: of a live session, the provider that writes the "
				     "event; a classic event does not name it\n");
	}
}
