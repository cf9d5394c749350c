/* SPDX-License-Identifier: MIT */
/*
 * etwtool sessions, and providers --installed: what Windows reports about running sessions and
 * registered providers, as text for people and as JSON for programs.
 *
 * Both are written from the structs that source/running.h and source/registered.h fill, so what is
 * written is tested without Windows. Bit masks are shown as words, and bits without a word in
 * hexadecimal, so that nothing is left out. Names come from other programs and may hold anything;
 * in text they are escaped.
 */
#include "tool/session_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/kernel_flags.h"
#include "source/provider_names.h"
#include "tool/tool.h"

/* "Logging Mode Constants", Microsoft Learn. */
static const struct {
	uint32_t bit;
	const char *word;
} modes[] = {
	{ 0x00000001, "sequential" },    { 0x00000002, "circular" },
	{ 0x00000004, "append" },        { 0x00000008, "new_file" },
	{ 0x00000040, "nonstoppable" },  { 0x00000080, "secure" },
	{ 0x00000100, "real_time" },     { 0x00000400, "buffering" },
	{ 0x00000800, "private" },       { 0x00020000, "private_in_process" },
	{ 0x02000000, "system_logger" }, { 0x04000000, "compressed" },
	{ 0x08000000, "independent" },   { 0x10000000, "no_per_processor_buffers" },
};

typedef void add_word(void *context, const char *word);

/* Bits that have no word are added in hexadecimal. */
static void add_rest(uint32_t bits, add_word *add, void *context)
{
	char rest[16];

	if (bits != 0) {
		snprintf(rest, sizeof rest, "0x%" PRIx32, bits);
		add(context, rest);
	}
}

static void each_mode(uint32_t mode, add_word *add, void *context)
{
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if ((mode & modes[i].bit) != 0) {
			add(context, modes[i].word);
			mode &= ~modes[i].bit;
		}
	}
	add_rest(mode, add, context);
}

static void each_flag(uint32_t flags, add_word *add, void *context)
{
	for (size_t i = 0; i < KERNEL_FLAG_COUNT; i++) {
		if ((flags & kernel_flag_values[i]) != 0) {
			add(context, kernel_flag_names[i]);
			flags &= ~kernel_flag_values[i];
		}
	}
	add_rest(flags, add, context);
}

static const char *name_of(const struct guid *guid, const struct registered_providers *names)
{
	const char *name = registered_name(names, guid);

	return name ? name : provider_name(guid);
}

/* ---- sessions as text ---- */

static void add_text_word(void *context, const char *word)
{
	text_add_char(context, ' ');
	text_add_string(context, word);
}

static void add_provider(struct text *out, const struct running_provider *provider,
			 const struct registered_providers *names)
{
	const char *name = name_of(&provider->guid, names);
	char guid[GUID_TEXT_SIZE];

	guid_format(&provider->guid, guid);
	text_add_string(out, "  provider ");
	text_add_shown(out, name ? name : guid);
	text_add_format(out, "  level %u  any 0x%" PRIx64 "  all 0x%" PRIx64 "\n", provider->level,
			provider->any, provider->all);
}

void session_rows_text(struct text *out, const struct running_sessions *sessions,
		       const struct registered_providers *names)
{
	text_add_string(out, "    KB   used   free    min    max    written  events lost  buffers "
			     "lost  session\n");
	for (size_t i = 0; i < sessions->count; i++) {
		const struct running_session *session = &sessions->list[i];

		text_add_format(out,
				"%6" PRIu64 " %6" PRIu32 " %6" PRIu32 " %6" PRIu32 " %6" PRIu32
				" %10" PRIu32 " %12" PRIu32 " %13" PRIu64 "  ",
				session->buffer_size_bytes / 1024, session->buffers,
				session->buffers_free, session->buffers_min, session->buffers_max,
				session->buffers_written, session->events_lost,
				(uint64_t)session->log_buffers_lost +
					session->realtime_buffers_lost);
		text_add_shown(out, session->name);
		text_add_string(out, "\n  mode");
		each_mode(session->mode, add_text_word, out);
		if (session->file[0]) {
			text_add_string(out, "\n  file ");
			text_add_shown(out, session->file);
		}
		if (session->kernel_flags != 0) {
			text_add_string(out, "\n  kernel");
			each_flag(session->kernel_flags, add_text_word, out);
		}
		text_add_char(out, '\n');
		for (size_t j = 0; j < session->provider_count; j++) {
			add_provider(out, &session->providers[j], names);
		}
	}
}

/* ---- sessions as JSON ---- */

static void add_json_word(void *context, const char *word)
{
	json_string(context, word);
}

static void add_session_json(struct json *json, const struct running_session *session,
			     const struct registered_providers *names)
{
	json_object_begin(json);
	json_member_string(json, "name", session->name);
	json_member_u64(json, "id", session->id);
	json_member_string(json, "file", session->file[0] ? session->file : NULL);
	json_member_array(json, "mode");
	each_mode(session->mode, add_json_word, json);
	json_array_end(json);
	json_member_array(json, "kernel_flags");
	each_flag(session->kernel_flags, add_json_word, json);
	json_array_end(json);
	json_member_u64(json, "buffer_size_bytes", session->buffer_size_bytes);
	json_member_u64(json, "buffers_min", session->buffers_min);
	json_member_u64(json, "buffers_max", session->buffers_max);
	json_member_u64(json, "buffers", session->buffers);
	json_member_u64(json, "buffers_free", session->buffers_free);
	json_member_u64(json, "buffers_written", session->buffers_written);
	json_member_u64(json, "events_lost", session->events_lost);
	json_member_u64(json, "log_buffers_lost", session->log_buffers_lost);
	json_member_u64(json, "realtime_buffers_lost", session->realtime_buffers_lost);
	json_member_array(json, "providers");
	for (size_t i = 0; i < session->provider_count; i++) {
		const struct running_provider *provider = &session->providers[i];
		char guid[GUID_TEXT_SIZE];

		guid_format(&provider->guid, guid);
		json_object_begin(json);
		json_member_string(json, "name", name_of(&provider->guid, names));
		json_member_string(json, "guid", guid);
		json_member_u64(json, "level", provider->level);
		json_member_u64(json, "any", provider->any);
		json_member_u64(json, "all", provider->all);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

/* What the JSON of sessions is made of. */
struct session_rows {
	const struct running_sessions *sessions;
	const struct registered_providers *names;
};

static void add_sessions(struct json *json, const void *context)
{
	const struct session_rows *rows = context;

	json_member_array(json, "sessions");
	for (size_t i = 0; i < rows->sessions->count; i++) {
		add_session_json(json, &rows->sessions->list[i], rows->names);
	}
	json_array_end(json);
}

void session_rows_json(struct text *out, const struct running_sessions *sessions,
		       const struct registered_providers *names)
{
	text_add_json(out, add_sessions, &(struct session_rows){ sessions, names });
}

/* ---- installed providers ---- */

static int compare_names(const void *a, const void *b)
{
	const struct registered_provider *one = a, *two = b;
	int order = strcmp(one->name, two->name);

	return order != 0 ? order : memcmp(&one->guid, &two->guid, sizeof one->guid);
}

static bool has_word(const char *text, const char *word)
{
	for (; *text; text++) {
		if (text_starts_nocase(text, strlen(text), word, strlen(word))) {
			return true;
		}
	}
	return word[0] == '\0';
}

/* Calls show for each whose name or GUID has the word in it. */
static void each(struct registered_providers *providers, const char *word,
		 void (*show)(void *context, const struct registered_provider *provider,
			      const char *guid),
		 void *context)
{
	if (providers->count > 0) {
		qsort(providers->list, providers->count, sizeof *providers->list, compare_names);
	}
	for (size_t i = 0; i < providers->count; i++) {
		char guid[GUID_TEXT_SIZE];

		guid_format(&providers->list[i].guid, guid);
		if (!word || has_word(providers->list[i].name, word) || has_word(guid, word)) {
			show(context, &providers->list[i], guid);
		}
	}
}

static const char *schema_kind(const struct registered_provider *provider)
{
	return provider->manifest ? "manifest" : "mof";
}

static void show_text(void *context, const struct registered_provider *provider, const char *guid)
{
	text_add_format(context, "{%s}  %-8s  ", guid, schema_kind(provider));
	text_add_shown(context, provider->name);
	text_add_char(context, '\n');
}

void installed_rows_text(struct text *out, struct registered_providers *providers, const char *word)
{
	each(providers, word, show_text, out);
}

static void show_json(void *context, const struct registered_provider *provider, const char *guid)
{
	struct json *json = context;

	json_object_begin(json);
	json_member_string(json, "name", provider->name);
	json_member_string(json, "guid", guid);
	json_member_string(json, "kind", schema_kind(provider));
	json_object_end(json);
}

/* What the JSON of installed providers is made of. */
struct installed {
	struct registered_providers *providers;
	const char *word;
};

static void add_installed(struct json *json, const void *context)
{
	const struct installed *installed = context;

	json_member_array(json, "providers");
	each(installed->providers, installed->word, show_json, json);
	json_array_end(json);
}

void installed_rows_json(struct text *out, struct registered_providers *providers, const char *word)
{
	text_add_json(out, add_installed, &(struct installed){ providers, word });
}

/* ---- the commands ---- */

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
