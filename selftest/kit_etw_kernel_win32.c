/* SPDX-License-Identifier: MIT */
/*
 * Records every kernel event that the exporter can enable for some seconds, into a file that
 * Windows writes: its layouts, record headers and group masks answer what no page says.
 *
 * Flags are given at the start, groups are added afterwards, as a live session does it. A group
 * that Windows refuses together with the others is tried alone, so the table says which one it was.
 * The masks are read back after each step, because Windows keeps some flags in other words.
 *
 * Source: "StartTraceW function", "EVENT_TRACE_PROPERTIES structure", "TraceSetInformation
 * function", Microsoft Learn.
 */
#include <string.h>

#include <etw/kernel.h>

#include "selftest/kit_etw_internal_win32.h"

enum { BUFFER_KB = 1024, BUFFERS_MIN = 64, BUFFERS_MAX = 256, FILE_MB = 256 };

#define OR_FLAG(name, value, keyword) | (value)

static const ULONG all_flags = 0 ETW_KERNEL_FLAGS(OR_FLAG);

static void add_masks(struct etw_text *csv, const char *step, ULONG status,
		      const ULONG masks[KERNEL_MASKS])
{
	text_add_format(csv, "%s,%lu", step, (unsigned long)status);
	for (unsigned i = 0; i < KERNEL_MASKS; i++) {
		text_add_format(csv, ",0x%08lx", (unsigned long)masks[i]);
	}
	text_add_char(csv, '\n');
}

static void add_masks_of(struct etw_text *csv, const char *step,
			 const struct probe_session *session)
{
	ULONG masks[KERNEL_MASKS];
	ULONG status = probe_masks(session->handle, masks);

	add_masks(csv, step, status, masks);
}

/* Adds groups to those of the session. */
static ULONG enable_groups(const struct probe_session *session, uint32_t groups)
{
	ULONG masks[KERNEL_MASKS];
	ULONG status = probe_masks(session->handle, masks);

	if (status != ERROR_SUCCESS) {
		return status;
	}
	for (size_t i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
		if (groups & (1U << i)) {
			masks[etw_kernel_groups[i].word] |= etw_kernel_groups[i].bit;
		}
	}
	return TraceSetInformation(session->handle, TraceSystemTraceEnableFlagsInfo, masks,
				   sizeof masks);
}

static void enable_all_groups(struct etw_text *csv, const struct probe_session *session)
{
	const uint32_t all = (1U << ETW_KERNEL_GROUP_COUNT) - 1;
	ULONG status = enable_groups(session, all);
	static const ULONG none[KERNEL_MASKS];

	add_masks(csv, "TraceSetInformation with all groups", status, none);
	for (size_t i = 0; status != ERROR_SUCCESS && i < ETW_KERNEL_GROUP_COUNT; i++) {
		add_masks(csv, etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + i],
			  enable_groups(session, 1U << i), none);
	}
}

/* Starts the session; without the privilege for samples, without them. */
static ULONG start(struct probe_session *session, const WCHAR *path, ULONG flags)
{
	const struct probe_settings settings = { .mode = EVENT_TRACE_SYSTEM_LOGGER_MODE |
							 EVENT_TRACE_FILE_MODE_SEQUENTIAL,
						 .flags = flags,
						 .buffer_kb = BUFFER_KB,
						 .buffers_min = BUFFERS_MIN,
						 .buffers_max = BUFFERS_MAX };
	EVENT_TRACE_PROPERTIES *base = &session->properties.base;

	probe_prepare(session, 1, &settings);
	base->MaximumFileSize = FILE_MB;
	base->LogFileNameOffset = (ULONG)offsetof(struct session_properties, log_file_name);
	memcpy(session->properties.log_file_name, path, sizeof session->properties.log_file_name);
	return probe_start_prepared(session);
}

bool kit_record_kernel(const char *path, unsigned ms, struct etw_text *csv)
{
	static struct probe_session session;
	static WCHAR wide[SESSION_NAME_MAX];
	ULONG requested[KERNEL_MASKS] = { all_flags };
	ULONG flags = all_flags;
	ULONG status;

	text_add_string(csv, "step,status,mask0,mask1,mask2,mask3,mask4,mask5,mask6,mask7\n");
	if (!live_wide(path, wide, SESSION_NAME_MAX)) {
		return false;
	}
	if (!probe_profile_privilege(true)) {
		flags &= ~(ULONG)EVENT_TRACE_FLAG_PROFILE;
	}
	requested[0] = flags;
	status = start(&session, wide, flags);
	add_masks(csv, "StartTraceW with all flags", status, requested);
	if (status == ERROR_SUCCESS) {
		add_masks_of(csv, "the masks after it", &session);
		enable_all_groups(csv, &session);
		add_masks_of(csv, "the masks after the groups", &session);
		Sleep(ms);
		add_masks_of(csv, "the masks before the stop", &session);
		status = probe_stop(&session);
		text_add_format(csv, "STOP,%lu,,,,,,,,\nevents lost,%lu,,,,,,,,\n",
				(unsigned long)status,
				(unsigned long)session.properties.base.EventsLost);
	}
	probe_profile_privilege(false);
	kit_etw_clean();
	return status == ERROR_SUCCESS || status == ERROR_MORE_DATA;
}
