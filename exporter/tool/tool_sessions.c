/* SPDX-License-Identifier: MIT */
/*
 * etwtool sessions, and providers --installed: which sessions run on this machine and which
 * providers are registered.
 */
#include "tool/session_rows.h"
#include "tool/tool.h"

/* Writes what was made, or why there is nothing to write. */
static int finish(const char *command, bool good, const struct error *err, struct text *out)
{
	return good ? tool_print(command, out) :
		      tool_complain(TOOL_FAILED, command, "%s", err->text);
}

static int run(struct tool_arguments *arguments)
{
	struct registered_providers names = { .list = NULL };
	struct running_sessions sessions = { .list = NULL };
	struct error err = { 0 };
	struct text out = { 0 };
	bool good = etw_here(&err) && running_read(&sessions, &err);

	if (good) {
		registered_read(&names, NULL); /* without names, GUIDs are shown */
		(arguments->as_json ? session_rows_json : session_rows_text)(&out, &sessions,
									     &names);
	}
	registered_done(&names);
	running_done(&sessions);
	return finish("sessions", good, &err, &out);
}

int tool_installed(const char *word, bool as_json)
{
	struct registered_providers providers = { .list = NULL };
	struct error err = { 0 };
	struct text out = { 0 };
	bool good = etw_here(&err) && registered_read(&providers, &err);

	if (good) {
		(as_json ? installed_rows_json : installed_rows_text)(&out, &providers, word);
	}
	registered_done(&providers);
	return finish("providers", good, &err, &out);
}

const struct tool_command tool_sessions = {
	.name = "sessions",
	.synopsis = "[OPTIONS]",
	.about = "Trace sessions that run on this Windows: buffers, losses, what they have enabled",
	.more = "Windows shows an account no more than it has the rights for.\n",
	.shared = TOOL_TEXT_OR_JSON,
	.too_many = "takes no words, not",
	.size = sizeof(struct tool_arguments),
	.run = run,
};
