/* SPDX-License-Identifier: MIT */
/*
 * etwtool sessions, and providers --installed: show what Windows reports about running sessions and
 * registered providers, as text for people and as JSON for programs.
 *
 * lib/live/running_win32.c fills the structs (include/etw/session.h), so the output can be tested
 * without Windows. Bit masks are shown as words, and bits without a word in hexadecimal, so that
 * nothing is left out. Names come from other programs and may contain any bytes, so text escapes
 * them. A provider that is enabled in a session is known only by its GUID; its name is looked up
 * among the registered providers and then among those that the program knows. Windows shows only
 * what the account's rights allow, so a list may be shorter than expected without an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/provider.h>
#include <etw/session.h>

#include "config/config.h"
#include "etwtool/tool.h"

struct bit_names {
	const unsigned *bits;
	const char *const *names;
	size_t count;
};

static const struct bit_names modes = { etw_logging_mode_bits, etw_logging_mode_names,
					ETW_LOGGING_MODE_COUNT };
static const struct bit_names flags = { etw_kernel_flag_values, etw_kernel_flag_names,
					ETW_KERNEL_FLAG_COUNT };

enum { WORD_SIZE = 16 };

/*
 * Takes one bit with a name from the mask, or all bits if none has a name. Returns the name, or the
 * bits in hexadecimal, which are written to rest. Returns NULL when the mask is empty.
 */
static const char *next_word(uint32_t *mask, const struct bit_names *names, char rest[WORD_SIZE])
{
	for (size_t i = 0; i < names->count; i++) {
		if ((*mask & names->bits[i]) != 0) {
			*mask &= ~names->bits[i];
			return names->names[i];
		}
	}
	if (*mask == 0) {
		return NULL;
	}
	snprintf(rest, WORD_SIZE, "0x%" PRIx32, *mask);
	*mask = 0;
	return rest;
}

static void add_words_text(struct etw_text *out, uint32_t mask, const struct bit_names *names)
{
	char rest[WORD_SIZE];
	const char *word;

	while ((word = next_word(&mask, names, rest)) != NULL) {
		text_add_format(out, " %s", word);
	}
}

static void member_words(struct json *json, const char *key, uint32_t mask,
			 const struct bit_names *names)
{
	char rest[WORD_SIZE];
	const char *word;

	json_member_array(json, key);
	while ((word = next_word(&mask, names, rest)) != NULL) {
		json_string(json, word);
	}
	json_array_end(json);
}

static const char *name_of(const struct etw_guid *guid,
			   const struct etw_registered_providers *names)
{
	const char *name = etw_registered_name(names, guid);

	return name ? name : etw_provider_name(guid);
}

/* ---- sessions as text ---- */

static void add_provider(struct etw_text *out, const struct etw_running_provider *provider,
			 const struct etw_registered_providers *names)
{
	const char *name = name_of(&provider->guid, names);
	char guid[GUID_TEXT_SIZE];

	guid_format(&provider->guid, guid);
	text_add_string(out, "  provider ");
	text_add_shown(out, name ? name : guid);
	text_add_format(out, "  level %u  any 0x%" PRIx64 "  all 0x%" PRIx64 "\n", provider->level,
			provider->any, provider->all);
}

static void add_session(struct etw_text *out, const struct etw_running_session *session,
			const struct etw_registered_providers *names)
{
	text_add_format(out,
			"%6" PRIu64 " %6" PRIu32 " %6" PRIu32 " %6" PRIu32 " %6" PRIu32
			" %10" PRIu32 " %12" PRIu32 " %13" PRIu64 "  ",
			session->buffer_size_bytes / 1024, session->buffers, session->buffers_free,
			session->buffers_min, session->buffers_max, session->buffers_written,
			session->events_lost,
			(uint64_t)session->log_buffers_lost + session->realtime_buffers_lost);
	text_add_shown(out, session->name);
	text_add_string(out, "\n  mode");
	add_words_text(out, session->mode, &modes);
	if (session->file[0]) {
		text_add_string(out, "\n  file ");
		text_add_shown(out, session->file);
	}
	text_add_string(out, session->kernel_flags != 0 ? "\n  kernel" : "");
	add_words_text(out, session->kernel_flags, &flags);
	text_add_char(out, '\n');
	for (size_t i = 0; i < session->provider_count; i++) {
		add_provider(out, &session->providers[i], names);
	}
}

/* ---- sessions as JSON ---- */

static void add_session_json(struct json *json, const struct etw_running_session *session,
			     const struct etw_registered_providers *names)
{
	json_object_begin(json);
	json_member_string(json, "name", session->name);
	json_member_u64(json, "id", session->id);
	json_member_string(json, "file", session->file[0] ? session->file : NULL);
	member_words(json, "mode", session->mode, &modes);
	member_words(json, "kernel_flags", session->kernel_flags, &flags);
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
		const struct etw_running_provider *provider = &session->providers[i];

		json_object_begin(json);
		json_member_string(json, "name", name_of(&provider->guid, names));
		json_member_guid(json, "guid", &provider->guid);
		json_member_u64(json, "level", provider->level);
		json_member_u64(json, "any", provider->any);
		json_member_u64(json, "all", provider->all);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void add_sessions(struct etw_text *out, const struct etw_running_sessions *sessions,
		  const struct etw_registered_providers *names, bool as_json)
{
	struct tool_json page;
	struct json *json;

	if (!as_json) {
		text_add_string(out, "    KB   used   free    min    max    written  events lost  "
				     "buffers lost  session\n");
		for (size_t i = 0; i < sessions->count; i++) {
			add_session(out, &sessions->list[i], names);
		}
		return;
	}
	json = tool_json_begin(&page);
	json_member_array(json, "sessions");
	for (size_t i = 0; i < sessions->count; i++) {
		add_session_json(json, &sessions->list[i], names);
	}
	json_array_end(json);
	tool_json_end(&page, out);
}

/* ---- installed providers ---- */

static int compare_names(const void *a, const void *b)
{
	const struct etw_registered_provider *one = a, *two = b;
	int order = strcmp(one->name, two->name);

	return order != 0 ? order : memcmp(&one->guid, &two->guid, sizeof one->guid);
}

bool tool_has_word(const char *text, const char *word)
{
	for (; *text; text++) {
		if (text_starts_nocase(text, strlen(text), word, strlen(word))) {
			return true;
		}
	}
	return word[0] == '\0';
}

/*
 * Returns the next provider from *at on whose name or GUID contains the word; NULL if there is
 * none.
 */
static const struct etw_registered_provider *
next_installed(const struct etw_registered_providers *providers, const char *word, size_t *at,
	       char guid[GUID_TEXT_SIZE])
{
	while (*at < providers->count) {
		const struct etw_registered_provider *provider = &providers->list[(*at)++];

		guid_format(&provider->guid, guid);
		if (!word || tool_has_word(provider->name, word) || tool_has_word(guid, word)) {
			return provider;
		}
	}
	return NULL;
}

static const char *schemas_of(const struct etw_registered_provider *provider)
{
	return provider->manifest ? "manifest" : "mof";
}

void add_installed(struct etw_text *out, struct etw_registered_providers *providers,
		   const char *word, bool as_json)
{
	const struct etw_registered_provider *provider;
	char guid[GUID_TEXT_SIZE];
	struct tool_json page;
	struct json *json;
	size_t at = 0;

	if (providers->count > 0) {
		qsort(providers->list, providers->count, sizeof *providers->list, compare_names);
	}
	if (!as_json) {
		while ((provider = next_installed(providers, word, &at, guid)) != NULL) {
			text_add_format(out, "{%s}  %-8s  ", guid, schemas_of(provider));
			text_add_shown(out, provider->name);
			text_add_char(out, '\n');
		}
		return;
	}
	json = tool_json_begin(&page);
	json_member_array(json, "providers");
	while ((provider = next_installed(providers, word, &at, guid)) != NULL) {
		json_object_begin(json);
		json_member_string(json, "name", provider->name);
		json_member_string(json, "guid", guid);
		json_member_string(json, "kind", schemas_of(provider));
		json_object_end(json);
	}
	json_array_end(json);
	tool_json_end(&page, out);
}

/* ---- sessions of a configuration ---- */

bool sessions_rename(struct config *config, const char *end, struct etw_error *err)
{
	for (size_t i = 0; i < config->session_count; i++) {
		struct config_session *session = &config->sessions[i];
		struct etw_text name = { 0 };

		if (session->logger == LOGGER_NT_KERNEL || session->logger == LOGGER_ATTACH) {
			continue;
		}
		text_add_format(&name, "%s%s", session->name, end);
		if (name.failed) {
			return error_no_memory(err, "the sessions");
		}
		free(session->name);
		session->name = name.data;
	}
	return true;
}

bool sessions_are_free(const struct config *config, const char *advice, struct etw_error *err)
{
	struct etw_running_sessions running = { 0 };
	bool good = etw_running_read(&running, err);

	for (size_t i = 0; good && i < running.count; i++) {
		for (size_t k = 0; good && k < config->session_count; k++) {
			const char *name = config->sessions[k].name;

			if (config->sessions[k].logger != LOGGER_ATTACH &&
			    text_equal_nocase(name, strlen(name), running.list[i].name,
					      strlen(running.list[i].name))) {
				error_set(err, ETW_ERROR_SYSTEM,
					  "the session \"%s\" runs already: %s", name, advice);
				good = false;
			}
		}
	}
	etw_running_done(&running);
	return good;
}

/* ---- the commands ---- */

static int run(struct tool_arguments *arguments)
{
	struct etw_registered_providers names = { .list = NULL };
	struct etw_running_sessions sessions = { .list = NULL };
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };

	if (!etw_here(&err) || !etw_running_read(&sessions, &err)) {
		etw_running_done(&sessions);
		return tool_complain(TOOL_FAILED, "sessions", "%s", err.text);
	}
	etw_registered_read(&names, NULL); /* on failure GUIDs are shown */
	add_sessions(&out, &sessions, &names, arguments->as_json != 0);
	etw_registered_done(&names);
	etw_running_done(&sessions);
	return tool_print("sessions", &out);
}

int tool_installed(const char *word, bool as_json)
{
	struct etw_registered_providers providers = { .list = NULL };
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };

	if (!etw_here(&err) || !etw_registered_read(&providers, &err)) {
		etw_registered_done(&providers);
		return tool_complain(TOOL_FAILED, "providers", "%s", err.text);
	}
	add_installed(&out, &providers, word, as_json);
	etw_registered_done(&providers);
	return tool_print("providers", &out);
}

const struct tool_command tool_sessions = {
	.name = "sessions",
	.synopsis = "",
	.about = "List the trace sessions that run on this Windows machine",
	.more = "Shows the buffers, losses and enabled providers of each session. Windows lists only\n"
		"what the account may see.\n",
	.shared = TOOL_TEXT_OR_JSON,
	.too_many = "takes no arguments, not",
	.size = sizeof(struct tool_arguments),
	.run = run,
};
