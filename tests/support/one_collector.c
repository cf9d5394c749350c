/* SPDX-License-Identifier: MIT */
#include "tests/support/one_collector.h"

#include <stdlib.h>
#include <string.h>

static char name_x[] = "x", name_y[] = "y", name_z[] = "z";

static struct rule_set *make_rule_set(const char *const texts[3], const struct config *config,
				      struct registry *registry, bool prepare,
				      struct etw_error *err)
{
	static const char *const files[] = { "x.yaml", "y.yaml", "z.yaml" };
	static char *const names[] = { name_x, name_y, name_z };
	struct config_switch switches[3];
	struct rule_set_options options = { .config = config, .switches = switches };
	struct rule_set *set = calloc(1, sizeof *set);

	*err = (struct etw_error){ 0 };
	if (set) {
		set->prepare = prepare;
	}
	for (size_t i = 0; set && i < 3; i++) {
		struct yaml_tree *tree;

		if (!texts[i]) {
			continue;
		}
		tree = yaml_open_text(files[i], texts[i], strlen(texts[i]),
				      yaml_problems(config->tree), err);
		if (!tree || !rule_set_add(set, tree, names[i], false, err)) {
			goto fail;
		}
		switches[options.switch_count++] =
			(struct config_switch){ .collector = names[i], .on = true };
	}
	if (set && rule_set_finish(set, &options, registry, err)) {
		return set;
	}

fail:
	rule_set_free(set);
	return NULL;
}

struct rule_set *three_collectors(const char *const texts[3], const struct config *config,
				  struct registry *registry, struct etw_error *err)
{
	return make_rule_set(texts, config, registry, false, err);
}

struct rule_set *next_collector(const char *text, const struct config *config,
				struct registry *registry, struct etw_error *err)
{
	const char *const texts[3] = { text, NULL, NULL };

	return make_rule_set(texts, config, registry, true, err);
}

struct rule_set *one_collector(const char *text, const struct config *config,
			       struct registry *registry, struct etw_error *err)
{
	const char *const texts[3] = { text, NULL, NULL };

	return three_collectors(texts, config, registry, err);
}
