/* SPDX-License-Identifier: MIT */
/*
 * Kernel events by system provider, where Windows has them. One that Windows refuses is replaced by
 * the flags that it stands for, so that nothing is missing either way.
 *
 * Source: "System Providers", "Configuring and Starting a SystemTraceProvider Session", Microsoft
 * Learn. Whether TraceQueryInformation() tells what they turned on is written nowhere: nothing here
 * relies on it.
 */
#include "live/live_internal_win32.h"

#include "source/system_providers.h"

static uint32_t windows_build(void)
{
	RTL_OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof version };

	/* GetVersionEx() tells what the program's manifest asks for instead. */
	return RtlGetVersion(&version) == 0 ? version.dwBuildNumber : 0;
}

bool system_choose(struct live *live, struct error *err)
{
	uint32_t build = windows_build();
	bool there = build >= SYSTEM_PROVIDERS_BUILD;

	if (live->options.logger == LIVE_SYSTEM_PROVIDERS && !there) {
		return error_set(err, ERROR_CONFIG,
				 "session %s: system providers need Windows 11 or Server 2022 "
				 "(build %d), and this is build %u; use logger: private",
				 live->name, SYSTEM_PROVIDERS_BUILD, (unsigned)build);
	}
	if (live->options.logger == LIVE_AUTO || live->options.logger == LIVE_SYSTEM_PROVIDERS) {
		live->options.logger = LIVE_PRIVATE;
		live->system_providers = there;
	}
	return true;
}

uint32_t system_flags(const struct live *live)
{
	return live->system_providers ? system_provider_flags(live->options.kernel_flags) : 0;
}

static ULONG add_flags(TRACEHANDLE session, uint32_t flags)
{
	ULONG masks[KERNEL_MASKS];

	if (!session_ask_masks(session, masks)) {
		return ERROR_NOT_SUPPORTED;
	}
	masks[0] |= flags;
	return TraceSetInformation(session, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks);
}

ULONG system_enable(const struct live *live, TRACEHANDLE session)
{
	struct guid guid;
	uint64_t keywords;
	uint32_t flags;

	for (size_t i = 0; system_provider(system_flags(live), i, &guid, &keywords, &flags); i++) {
		ENABLE_TRACE_PARAMETERS parameters = { .Version =
							       ENABLE_TRACE_PARAMETERS_VERSION_2 };
		GUID provider = live_windows_guid(&guid);
		char label[GUID_TEXT_SIZE];
		char text[160];
		ULONG status = EnableTraceEx2(session, &provider,
					      EVENT_CONTROL_CODE_ENABLE_PROVIDER,
					      TRACE_LEVEL_INFORMATION, keywords, 0, 0, &parameters);

		if (status == ERROR_SUCCESS) {
			continue;
		}
		guid_format(&guid, label);
		live_news(live, NEWS_PROVIDER,
			  "system provider {%s}: %s; its flags are set instead", label,
			  live_error_text(status, text));
		status = add_flags(session, flags);
		if (status != ERROR_SUCCESS) {
			return status;
		}
	}
	return ERROR_SUCCESS;
}
