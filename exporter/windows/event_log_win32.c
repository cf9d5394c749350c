/* SPDX-License-Identifier: MIT */
/*
 * Writes log lines as entries of the Application event log.
 *
 * ReportEventW() is a call to another process, which may be stopped or hang, so lines go through a
 * queue with a thread of its own. An entry that is refused is tried once more with a new handle,
 * because handles become invalid when the event log service restarts; then it is lost. Closing the
 * log waits for the queue, but at most two seconds. If the event log still hangs then, the thread
 * and the handle stay open, and the program ends anyway. Entries of the registry name the program
 * as the file with the message, which is the log line itself.
 *
 * Source: "ReportEventW function", "Event Sources", Microsoft Learn.
 */
#include "exporter/windows/service.h"

#include <stdlib.h>
#include <windows.h>

#include "base/log.h"
#include "base/os_win32.h"
#include "base/text.h"

#define SOURCE_NAME SERVICE_WIDE_NAME
#define SOURCE_KEY  L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\" SOURCE_NAME

enum {
	MESSAGE_LINE = 1,         /* messages.mc */
	ENTRY_CHARACTERS = 31000, /* "ReportEventW function": 31839 is the most */
	LEVELS_KNOWN = 7,         /* EVENTLOG_ERROR_TYPE, _WARNING_TYPE, _INFORMATION_TYPE */
	CLOSE_WAIT_NS = 2000000000,
};

/* Only the queue's thread uses source between opening and closing. */
static HANDLE source;
static struct log_queue *queue;

static WORD entry_type(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return EVENTLOG_ERROR_TYPE;
	case LOG_WARNING:
		return EVENTLOG_WARNING_TYPE;
	case LOG_INFO:
	case LOG_DEBUG:
		break;
	}
	return EVENTLOG_INFORMATION_TYPE;
}

/* Returns the line in UTF-16, with a blank between a percent sign and a digit or another percent
 * sign: the viewer would replace %1 inside the text, but not "% 1". */
static wchar_t *entry_text(const char *line, size_t size)
{
	wchar_t *text = calloc(2 * size + 1, sizeof *text);
	wchar_t *wide;
	size_t length = 0;
	char *copy = text_duplicate(line, size);

	wide = copy ? wide_from(copy) : NULL;
	free(copy);
	if (!text || !wide) {
		free(text);
		free(wide);
		return NULL;
	}
	for (const wchar_t *at = wide; *at && length < ENTRY_CHARACTERS; at++) {
		text[length++] = *at;
		if (*at == L'%' && ((at[1] >= L'0' && at[1] <= L'9') || at[1] == L'%')) {
			text[length++] = L' ';
		}
	}
	free(wide);
	return text;
}

static bool report(WORD type, const wchar_t *text)
{
	return source &&
	       ReportEventW(source, type, 0, MESSAGE_LINE, NULL, 1, 0, (LPCWSTR *)&text, NULL);
}

static void write_entry(void *context, enum log_level level, const char *line, size_t size)
{
	wchar_t *text = entry_text(line, size);

	(void)context;
	if (text && !report(entry_type(level), text)) {
		if (source) {
			DeregisterEventSource(source);
		}
		source = RegisterEventSourceW(NULL, SOURCE_NAME);
		report(entry_type(level), text);
	}
	free(text);
}

bool event_log_open(struct etw_error *err)
{
	source = RegisterEventSourceW(NULL, SOURCE_NAME);
	queue = log_queue_open(write_entry, NULL, err);
	if (!queue) {
		event_log_close();
		return false;
	}
	log_to(log_queue_add, queue);
	return true;
}

void event_log_close(void)
{
	log_to(NULL, NULL);
	/* If the event log hangs, its queue and its handle are not freed. */
	if (log_queue_close(queue, CLOSE_WAIT_NS) && source) {
		DeregisterEventSource(source);
		source = NULL;
	}
	queue = NULL;
}

/* ---- the registry ---- */

static bool set_values(HKEY key, const wchar_t *program)
{
	const DWORD levels = LEVELS_KNOWN;
	size_t size = (wcslen(program) + 1) * sizeof *program;

	return RegSetValueExW(key, L"EventMessageFile", 0, REG_SZ, (const BYTE *)program,
			      (DWORD)size) == ERROR_SUCCESS &&
	       RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD, (const BYTE *)&levels,
			      sizeof levels) == ERROR_SUCCESS;
}

static bool fail(LSTATUS status, const char *what, struct etw_error *err)
{
	SetLastError((DWORD)status);
	return error_set_last(err, what);
}

bool event_log_register(const char *program, struct etw_error *err)
{
	static const char what[] = "the source of event log entries cannot be registered";
	wchar_t *wide = wide_from(program);
	LSTATUS status;
	HKEY key;
	bool set;

	if (!wide) {
		return error_set(err, ETW_ERROR_NO_MEMORY,
				 "no memory to register the event source");
	}
	status = RegCreateKeyExW(HKEY_LOCAL_MACHINE, SOURCE_KEY, 0, NULL, 0, KEY_SET_VALUE, NULL,
				 &key, NULL);
	if (status != ERROR_SUCCESS) {
		free(wide);
		return fail(status, what, err);
	}
	set = set_values(key, wide);
	RegCloseKey(key);
	free(wide);
	return set || error_set(err, ETW_ERROR_SYSTEM, "%s", what);
}

bool event_log_unregister(struct etw_error *err)
{
	LSTATUS status = RegDeleteKeyW(HKEY_LOCAL_MACHINE, SOURCE_KEY);

	return status == ERROR_SUCCESS || status == ERROR_FILE_NOT_FOUND ||
	       fail(status, "the source of event log entries cannot be removed", err);
}
