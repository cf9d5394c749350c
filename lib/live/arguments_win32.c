/* SPDX-License-Identifier: MIT */
/*
 * Arguments of providers: for processes that register a provider after it was enabled.
 *
 * EnableTraceEx2() passes arguments as a filter, and Windows gives that filter only to the
 * processes that have registered the provider at that moment; level and keywords are remembered for
 * later ones, arguments are not. An EventSource that finds itself enabled without arguments
 * therefore looks for them in the registry, under its GUID and the number of the session. We write
 * them there when the provider is enabled, and delete them when the session ends. The key is
 * volatile: what a crash leaves is gone when Windows starts again.
 *
 * A process reads the arguments of a session once, when the session is new to it. So a session that
 * changes them disables the provider first (enable_win32.c).
 *
 * Source: dotnet/runtime, EventProvider.cs (GetFilterData, GetSessions); microsoft/perfview,
 * TraceEventSession.cs (EnableProvider, SetFilterDataForEtwSession). The key is that of 32-bit
 * programs also for 64-bit ones, as both have it.
 */
#include <stdio.h>

#include "lib/live/live_source_internal_win32.h"

enum { PATH_SIZE = 160, NAME_SIZE = 32, LOGGER_ID = 0xffff /* bits of a session's handle */ };

/* Sets the names of the key and of the value. */
static bool place_of(TRACEHANDLE session, const struct etw_provider_spec *provider,
		     WCHAR key[PATH_SIZE], WCHAR value[NAME_SIZE])
{
	char guid[GUID_TEXT_SIZE], text[PATH_SIZE], name[NAME_SIZE];

	guid_format(&provider->guid, guid);
	snprintf(text, sizeof text,
		 "SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\CurrentVersion\\Winevt\\Publishers\\"
		 "{%s}",
		 guid);
	snprintf(name, sizeof name, "ControllerData_Session_%u", (unsigned)(session & LOGGER_ID));
	return live_wide(text, key, PATH_SIZE) && live_wide(name, value, NAME_SIZE);
}

ULONG arguments_publish(TRACEHANDLE session, const struct etw_provider_spec *provider)
{
	WCHAR path[PATH_SIZE], name[NAME_SIZE];
	LSTATUS status;
	HKEY key;

	if (!provider->arguments) {
		return ERROR_SUCCESS;
	}
	if (!place_of(session, provider, path, name)) {
		return ERROR_INVALID_PARAMETER;
	}
	status = RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, NULL, REG_OPTION_VOLATILE,
				 KEY_SET_VALUE, NULL, &key, NULL);
	if (status == ERROR_SUCCESS) {
		status = RegSetValueExW(key, name, 0, REG_BINARY, (const BYTE *)provider->arguments,
					(DWORD)provider->arguments_size);
		RegCloseKey(key);
	}
	return (ULONG)status;
}

void arguments_withdraw(TRACEHANDLE session, const struct etw_provider_spec *provider)
{
	WCHAR path[PATH_SIZE], name[NAME_SIZE];

	if (provider->arguments && place_of(session, provider, path, name)) {
		RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, path, name);
	}
}
