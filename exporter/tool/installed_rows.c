/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tool/json_indent.h"
#include "tool/session_rows.h"
#include "tool/tool.h"

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

/* Calls show for each that is asked for. */
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

static const char *type_of(const struct registered_provider *provider)
{
	return provider->manifest ? "manifest" : "mof";
}

static void show_text(void *context, const struct registered_provider *provider, const char *guid)
{
	text_add_format(context, "{%s}  %-8s  ", guid, type_of(provider));
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
	json_member_string(json, "kind", type_of(provider));
	json_object_end(json);
}

void installed_rows_json(struct text *out, struct registered_providers *providers, const char *word)
{
	struct text compact = { 0 };
	struct json json;

	json_init(&json, &compact, false);
	json_object_begin(&json);
	json_key(&json, "providers");
	json_array_begin(&json);
	each(providers, word, show_json, &json);
	json_array_end(&json);
	json_object_end(&json);
	json_indent(out, &compact);
	text_free(&compact);
}
