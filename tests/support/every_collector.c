/* SPDX-License-Identifier: MIT */
#include "tests/support/every_collector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "config/builtin.h"

struct rule_set *every_collector(const struct config *config, struct registry *registry)
{
	struct config_switch *switches = calloc(builtin_collector_count, sizeof *switches);
	struct rule_set_options options = { .config = config,
					    .switches = switches,
					    .switch_count = builtin_collector_count };
	struct error err = { 0 };
	struct rule_set *rules;

	assert_non_null(switches);
	for (size_t i = 0; i < builtin_collector_count; i++) {
		const char *name = builtin_collectors[i].name;

		switches[i].collector = text_duplicate(name, strlen(name));
		switches[i].on = true;
		assert_non_null(switches[i].collector);
	}
	rules = rule_set_new(&options, registry, &err);
	assert_string_equal(err.text, "");
	assert_non_null(rules);
	for (size_t i = 0; i < builtin_collector_count; i++) {
		free(switches[i].collector);
	}
	free(switches);
	return rules;
}
