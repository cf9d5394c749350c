/* SPDX-License-Identifier: MIT */
/*
 * Error codes of the tracing functions as sentences, texts and GUIDs as Windows has them.
 *
 * Our own words instead of FormatMessage(), whose language is the machine's and whose texts do not
 * know what a session is.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "live/live_internal_win32.h"

/* "StartTraceW", "EnableTraceEx2", "OpenTraceW", "ProcessTrace" functions, Microsoft Learn. */
static const struct {
	ULONG status;
	const char *text;
} words[] = {
	{ ERROR_ACCESS_DENIED, "access is denied" },
	{ ERROR_INVALID_HANDLE, "the handle is not valid" },
	{ ERROR_NOT_ENOUGH_MEMORY, "no memory" },
	{ ERROR_OUTOFMEMORY, "no memory" },
	{ ERROR_BAD_LENGTH, "a size is wrong" },
	{ ERROR_NOT_SUPPORTED, "this Windows does not support it" },
	{ ERROR_INVALID_PARAMETER, "a parameter is not valid" },
	{ ERROR_CALL_NOT_IMPLEMENTED, "this Windows does not have it" },
	{ ERROR_BAD_PATHNAME, "the name is not valid" },
	{ ERROR_ALREADY_EXISTS, "one of that name or GUID exists" },
	{ ERROR_MORE_DATA, "there is more data than room" },
	{ ERROR_NOACCESS, "an address is not valid" },
	{ ERROR_NOT_FOUND, "it is not there" },
	{ ERROR_CANCELLED, "it was cancelled" },
	{ ERROR_NO_SUCH_PRIVILEGE, "a privilege is missing" },
	{ ERROR_PRIVILEGE_NOT_HELD, "a privilege is missing" },
	{ ERROR_NO_SYSTEM_RESOURCES, "Windows has no room for it" },
	{ ERROR_TIMEOUT, "it took too long" },
	{ ERROR_WMI_GUID_NOT_FOUND, "no such provider" },
	{ ERROR_WMI_INSTANCE_NOT_FOUND, "no such session runs" },
};

const char *live_error_text(ULONG status, char text[160])
{
	const char *word = NULL;

	for (size_t i = 0; i < sizeof words / sizeof words[0] && !word; i++) {
		if (words[i].status == status) {
			word = words[i].text;
		}
	}
	if (word) {
		snprintf(text, 160, "%s (error %lu)", word, (unsigned long)status);
	} else {
		snprintf(text, 160, "error %lu", (unsigned long)status);
	}
	return text;
}

bool live_wide(const char *text, WCHAR *wide, size_t size)
{
	return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, (int)size) > 0;
}

bool live_narrow(const WCHAR *wide, char *text, size_t size)
{
	return WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) > 0;
}

void live_news(const struct live *live, enum live_news news, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	if (!live->options.on_news) {
		return;
	}
	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	live->options.on_news(live->options.news_context, news, sentence);
}

/* In memory both are the same 16 bytes on every machine that Windows runs on. */
_Static_assert(sizeof(GUID) == sizeof(struct guid), "GUID");

struct guid live_guid(const GUID *guid)
{
	struct guid ours;

	memcpy(&ours, guid, sizeof ours);
	return ours;
}

GUID live_windows_guid(const struct guid *guid)
{
	GUID theirs;

	memcpy(&theirs, guid, sizeof theirs);
	return theirs;
}
