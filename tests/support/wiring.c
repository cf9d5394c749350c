/* SPDX-License-Identifier: MIT */
#include "tests/support/wiring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/exposition.h"

void wiring_open(struct wiring *wiring, const char *const *paths, size_t count, bool loop)
{
	struct error err = { 0 };
	struct rule_set_options rules = { 0 };
	struct replay_options replay = { .paths = paths, .path_count = count, .loop = loop };

	memset(wiring, 0, sizeof *wiring);
	wiring->config = config_default(&err);
	assert_non_null(wiring->config);
	wiring->registry = registry_new(&(struct registry_limits){ 0 }, &err);
	assert_non_null(wiring->registry);
	rules.config = wiring->config;
	wiring->rules = rule_set_new(&rules, wiring->registry, &err);
	assert_string_equal(err.text, "");
	assert_non_null(wiring->rules);
	replay.registry = wiring->registry;
	replay.rules = wiring->rules;
	replay.config = wiring->config;
	wiring->replay = replay_new(&replay, &err);
	assert_string_equal(err.text, "");
	assert_non_null(wiring->replay);
	wiring->health = health_new(wiring->registry, wiring->replay, wiring->rules, &err);
	assert_non_null(wiring->health);
}

void wiring_close(struct wiring *wiring)
{
	health_free(wiring->health);
	replay_free(wiring->replay);
	rule_set_free(wiring->rules);
	registry_free(wiring->registry);
	config_free(wiring->config);
}

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

struct text wiring_page(struct wiring *wiring)
{
	struct text page = { 0 };

	assert_true(exposition_write(wiring->registry, add_chunk, &page) > 0);
	assert_false(page.failed);
	return page;
}

uint64_t page_value(const struct text *page, const char *name_and_labels)
{
	size_t size = strlen(name_and_labels);
	uint64_t sum = 0;
	bool found = false;

	for (const char *line = page->data; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *value;

		if (strncmp(line, name_and_labels, size) != 0 ||
		    (line[size] != ' ' && line[size] != '{')) {
			continue;
		}
		value = line + strcspn(line, "\n");
		while (value[-1] != ' ') {
			value--;
		}
		sum += strtoull(value, NULL, 10);
		found = true;
	}
	return found ? sum : UINT64_MAX;
}
