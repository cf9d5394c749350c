/* SPDX-License-Identifier: MIT */
#include "tests/support/program.h"

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
	struct etw_error err = { 0 };
	struct config *config;

	if (text) {
		temporary_path(path, "yaml");
		temporary_write(path, text, strlen(text));
	}
	config = setup_config(text ? path : NULL, NULL, &err);
	if (text) {
		remove(path);
	}
	assert_string_equal(err.text, "");
	assert_non_null(config);
	return config;
}

void program_set_up(struct program *program, const char *config,
		    const struct setup_options *options)
{
	struct etw_error err = { 0 };

	memset(program, 0, sizeof *program);
	setup_open(&program->setup, config_of(config), options, &err);
	assert_string_equal(err.text, "");
}

void program_run(struct program *program, struct runner_options options)
{
	struct etw_error err = { 0 };

	options.setup = &program->setup;
	program->runner = runner_new(&options, &err);
	assert_string_equal(err.text, "");
	program->health = health_new(&program->setup, program->runner, &err);
	assert_non_null(program->health);
}

void program_open(struct program *program, const char *const *paths, size_t count, bool loop)
{
	program_set_up(program, NULL, &(struct setup_options){ .no_manifests = true });
	program_run(program,
		    (struct runner_options){ .paths = paths, .path_count = count, .loop = loop });
}

void program_close(struct program *program)
{
	health_free(program->health);
	runner_free(program->runner);
	setup_close(&program->setup);
}

struct etw_text program_page(struct program *program)
{
	return page_of(program->setup.registry);
}

struct etw_text program_replay(const char *path, const char *config,
			       const struct setup_options *setup, struct runner_options options)
{
	const char *const paths[] = { path };
	struct etw_error err = { 0 };
	struct program program;
	struct etw_text page;

	options.paths = paths;
	options.path_count = 1;
	program_set_up(&program, config, setup);
	program_run(&program, options);
	assert_true(runner_run(program.runner, &err));
	page = program_page(&program);
	program_close(&program);
	remove(path);
	return page;
}

/* memchr() and not strchr(), which the address sanitizer makes read the whole page for each line.
 */
bool page_next_line(const struct etw_text *page, struct page_line *line)
{
	const char *end = page->data + page->size, *stop;

	line->text = line->text ? line->text + line->size + 1 : page->data;
	if (!line->text || line->text >= end) {
		return false;
	}
	stop = memchr(line->text, '\n', (size_t)(end - line->text));
	line->size = (size_t)((stop ? stop : end) - line->text);
	return true;
}

uint64_t page_line_value(const struct page_line *line)
{
	const char *value = line->text + line->size;

	while (value > line->text && value[-1] != ' ') {
		value--;
	}
	return strtoull(value, NULL, 10);
}

uint64_t page_value(const struct etw_text *page, const char *name_and_labels)
{
	size_t size = strlen(name_and_labels);
	struct page_line line = { 0 };
	uint64_t sum = 0;
	bool found = false;

	while (page_next_line(page, &line)) {
		if (line.size > size && memcmp(line.text, name_and_labels, size) == 0 &&
		    (line.text[size] == ' ' || line.text[size] == '{')) {
			sum += page_line_value(&line);
			found = true;
		}
	}
	return found ? sum : UINT64_MAX;
}
