/* SPDX-License-Identifier: MIT */
#include "tests/support/wiring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/page.h"
#include "tests/support/temporary.h"

struct config *config_of(const char *text)
{
	char path[TEMPORARY_PATH_SIZE];
	struct error err = { 0 };
	struct config *config;

	if (text) {
		temporary_path(path, "yaml");
		temporary_write(path, text, strlen(text));
	}
	config = setup_config(text ? path : NULL, &err);
	if (text) {
		remove(path);
	}
	assert_string_equal(err.text, "");
	assert_non_null(config);
	return config;
}

void wiring_set_up(struct wiring *wiring, const char *config, const struct setup_options *options)
{
	struct error err = { 0 };

	memset(wiring, 0, sizeof *wiring);
	setup_open(&wiring->setup, config_of(config), options, &err);
	assert_string_equal(err.text, "");
}

void wiring_run(struct wiring *wiring, struct runner_options options)
{
	struct error err = { 0 };

	options.setup = &wiring->setup;
	wiring->runner = runner_new(&options, &err);
	assert_string_equal(err.text, "");
	wiring->health = health_new(&wiring->setup, wiring->runner, &err);
	assert_non_null(wiring->health);
}

void wiring_open(struct wiring *wiring, const char *const *paths, size_t count, bool loop)
{
	wiring_set_up(wiring, NULL, &(struct setup_options){ .no_manifests = true });
	wiring_run(wiring,
		   (struct runner_options){ .paths = paths, .path_count = count, .loop = loop });
}

void wiring_close(struct wiring *wiring)
{
	health_free(wiring->health);
	runner_free(wiring->runner);
	setup_close(&wiring->setup);
}

struct text wiring_page(struct wiring *wiring)
{
	return page_of(wiring->setup.registry);
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
