/* SPDX-License-Identifier: MIT */
#include "rules/derived.h"

#include <string.h>

#include "source/provider_names.h"

static const struct derived_field fields[DERIVED_COUNT] = {
	[DERIVED_PROCESS] = { "Process", TYPE_TEXT, true },
	[DERIVED_PROCESS_ID] = { "ProcessId", TYPE_INTEGER, false },
	[DERIVED_OF_PROCESS] = { "OfProcess", TYPE_TEXT, true },
	[DERIVED_OLD_PROCESS] = { "OldProcess", TYPE_TEXT, true },
	[DERIVED_THREAD_ID] = { "ThreadId", TYPE_INTEGER, false },
	[DERIVED_CPU] = { "Cpu", TYPE_INTEGER, false },
	[DERIVED_LEVEL] = { "Level", TYPE_INTEGER, false },
	[DERIVED_OPCODE] = { "Opcode", TYPE_INTEGER, false },
	[DERIVED_PAYLOAD_SIZE] = { "PayloadSize", TYPE_INTEGER, false },
	[DERIVED_SESSION] = { "Session", TYPE_TEXT, true },
	[DERIVED_PROVIDER] = { "Provider", TYPE_TEXT, true },
	[DERIVED_EVENT] = { "Event", TYPE_TEXT, true },
	[DERIVED_PATH] = { "Path", TYPE_TEXT, false },
	[DERIVED_PATH_GROUP] = { "PathGroup", TYPE_TEXT, false },
	[DERIVED_VOLUME] = { "Volume", TYPE_TEXT, false },
	[DERIVED_PAGING] = { "Paging", TYPE_INTEGER, false },
	[DERIVED_EXIT_RESULT] = { "ExitResult", TYPE_TEXT, false },
	[DERIVED_DRIVER] = { "Driver", TYPE_TEXT, false },
	[DERIVED_SERVICE] = { "Service", TYPE_TEXT, false },
	[DERIVED_DURATION] = { "Duration", TYPE_DURATION, false },
	[DERIVED_STARTED] = { "Started", TYPE_TEXT, false },
	[DERIVED_STARTED_BY] = { "StartedBy", TYPE_TEXT, false },
	[DERIVED_ON_CPU] = { "OnCpu", TYPE_DURATION, false },
	[DERIVED_READY] = { "Ready", TYPE_DURATION, false },
	[DERIVED_ACTIVITY] = { "Event.ActivityId", TYPE_TEXT, true },
	[DERIVED_RELATED_ACTIVITY] = { "Event.RelatedActivityId", TYPE_TEXT, true },
	[DERIVED_SID] = { "Event.Sid", TYPE_TEXT, true },
	[DERIVED_TERMINAL_SESSION] = { "Event.TerminalSession", TYPE_INTEGER, true },
	[DERIVED_STACK_DEPTH] = { "Event.StackDepth", TYPE_INTEGER, true },
	[DERIVED_STACK_MATCH_ID] = { "Event.StackMatchId", TYPE_INTEGER, true },
	[DERIVED_EVENT_KEY] = { "Event.EventKey", TYPE_INTEGER, true },
	[DERIVED_PROCESS_START_KEY] = { "Event.ProcessStartKey", TYPE_INTEGER, true },
	[DERIVED_CONTAINER_ID] = { "Event.ContainerId", TYPE_TEXT, true },
};

enum derived derived_find(const char *name)
{
	for (unsigned i = DERIVED_NONE + 1; i < DERIVED_COUNT; i++) {
		if (strcmp(fields[i].name, name) == 0) {
			return (enum derived)i;
		}
	}
	return DERIVED_NONE;
}

const struct derived_field *derived_field(enum derived derived)
{
	return &fields[derived];
}

const char *derived_origin(enum derived derived)
{
	switch (derived) {
	case DERIVED_PAGING:
		return "IoFlags";
	case DERIVED_EXIT_RESULT:
		return "ExitStatus";
	case DERIVED_DRIVER:
		return "Routine";
	default:
		return NULL;
	}
}

static bool is_provider(const struct event_pattern *pattern, enum known_provider provider)
{
	return event_pattern_is_provider(pattern, known_providers[provider].name,
					 &known_providers[provider].guid);
}

static bool is_file(const struct event_pattern *pattern)
{
	return event_pattern_is_class(pattern, KERNEL_FILE_IO) ||
	       is_provider(pattern, PROVIDER_KERNEL_FILE);
}

static bool is_kernel_event(const struct event_pattern *pattern, enum kernel_class class,
			    uint8_t opcode)
{
	return event_pattern_is_class(pattern, class) && !pattern->every &&
	       pattern->opcode == opcode;
}

/* Whether some layout of the events has the field. Only kernel classes can be asked before their
 * events arrive. */
static bool layout_has(const struct event_pattern *pattern, const char *name)
{
	for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++) {
		const struct schema *schema;
		uint8_t version;

		if (!pattern->every && opcode != pattern->opcode) {
			continue;
		}
		for (unsigned i = 0; (schema = kernel_schema_at(&pattern->guid, (uint8_t)opcode, i,
								&version)) != NULL;
		     i++) {
			if (schema_find_field(schema, name) >= 0) {
				return true;
			}
		}
	}
	return false;
}

bool derived_fits(enum derived derived, const struct event_pattern *pattern)
{
	switch (derived) {
	case DERIVED_OF_PROCESS:
		return event_pattern_is_class(pattern, KERNEL_PROCESS) ||
		       event_pattern_is_class(pattern, KERNEL_THREAD) ||
		       event_pattern_is_class(pattern, KERNEL_IMAGE) ||
		       is_provider(pattern, PROVIDER_KERNEL_PROCESS) ||
		       is_provider(pattern, PROVIDER_TCPIP);
	case DERIVED_PATH:
	case DERIVED_PATH_GROUP:
	case DERIVED_VOLUME:
		return is_file(pattern);
	case DERIVED_PAGING:
		return is_file(pattern) && (pattern->scope != EVENTS_KERNEL ||
					    layout_has(pattern, derived_origin(derived)));
	case DERIVED_EXIT_RESULT:
	case DERIVED_DRIVER:
		return pattern->scope == EVENTS_KERNEL &&
		       layout_has(pattern, derived_origin(derived));
	case DERIVED_DURATION:
	case DERIVED_STARTED:
	case DERIVED_STARTED_BY:
		return is_kernel_event(pattern, KERNEL_FILE_IO,
				       KERNEL_OPCODE_FILE_IO_OPERATION_END);
	case DERIVED_OLD_PROCESS:
	case DERIVED_ON_CPU:
	case DERIVED_READY:
		return is_kernel_event(pattern, KERNEL_THREAD, KERNEL_OPCODE_THREAD_CSWITCH);
	case DERIVED_NONE:
	case DERIVED_COUNT:
		return false;
	default:
		return true;
	}
}

const char *exit_result_name(enum exit_result result)
{
	static const char *const names[EXIT_RESULTS] = {
		[EXIT_SUCCESS_RESULT] = "success",
		[EXIT_CRASH_RESULT] = "crash",
		[EXIT_ERROR_RESULT] = "error",
	};

	return names[result];
}

enum exit_result exit_result_of(uint32_t status)
{
	if (status == 0) {
		return EXIT_SUCCESS_RESULT;
	}
	/*
	 * NTSTATUS errors are what the kernel ends a process with that nobody caught an exception
	 * of; breakpoint, CLR and C++ exceptions have codes of their own ("NTSTATUS Values",
	 * [MS-ERREF]; corexcep.h; ehdata.h).
	 */
	if ((status >= 0xc0000000U && status <= 0xcfffffffU) || status == 0x80000003U ||
	    status == 0xe0434352U || status == 0xe06d7363U) {
		return EXIT_CRASH_RESULT;
	}
	return EXIT_ERROR_RESULT;
}
