/* SPDX-License-Identifier: MIT */
/*
 * Wine is recognised by a function that only its ntdll has ("Developer FAQ", WineHQ).
 */

#include <windows.h>

#include <etw/session.h>

#include "base/error.h"

bool etw_here(struct etw_error *err)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

	if (ntdll && GetProcAddress(ntdll, "wine_get_version")) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "Wine has no event tracing sessions, only Windows has");
	}
	return true;
}
