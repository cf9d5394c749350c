/* SPDX-License-Identifier: MIT */
/*
 * A whole exposition in memory, for tests.
 */
#include "tests/support/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/exposition.h"

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

struct etw_text page_of(struct registry *registry)
{
	struct etw_text page = { 0 };

	assert_true(exposition_write(registry, NULL, append, &page));
	assert_false(page.failed);
	return page;
}

void page_expect(struct registry *registry, const char *text)
{
	struct etw_text page = page_of(registry);

	if (!strstr(page.data, text)) {
		print_message("%s", page.data);
		fail_msg("not on the page: %s", text);
	}
	text_free(&page);
}

void page_expect_none(struct registry *registry, const char *text)
{
	struct etw_text page = page_of(registry);

	if (strstr(page.data, text)) {
		print_message("%s", page.data);
		fail_msg("on the page: %s", text);
	}
	text_free(&page);
}

void page_expect_exactly(struct registry *registry, const char *text)
{
	static const char self[] = "etw_exporter_series";
	struct etw_text page = page_of(registry), rest = { 0 };

	text_add(&rest, "", 0);
	for (char *line = page.data; line && *line;) {
		char *end = strchr(line, '\n');
		bool comment = strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0;

		if (strncmp(line + (comment ? 7 : 0), self, strlen(self)) != 0) {
			text_add(&rest, line, (size_t)(end + 1 - line));
		}
		line = end + 1;
	}
	assert_string_equal(rest.data ? rest.data : "", text);
	text_free(&page);
	text_free(&rest);
}
