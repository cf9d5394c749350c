/* SPDX-License-Identifier: MIT */
#include "config/path_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/text.h"

static bool copy_text(char **to, const struct yaml_node *node, struct error *err)
{
	*to = text_duplicate(node->text, node->size);
	return *to || error_set(err, ERROR_NO_MEMORY, "no memory for path groups");
}

static bool read_name(const struct yaml_tree *tree, const struct yaml_node *node,
		      struct config *config, struct config_path_group *group, struct error *err)
{
	if (!yaml_is_text(tree, node, "name", err)) {
		return false;
	}
	if (node->size == 0 || node->size > PATH_GROUP_NAME_MAX) {
		return yaml_error(tree, node, err, "name: expected 1 to %d bytes",
				  PATH_GROUP_NAME_MAX);
	}
	if (node->text[0] == '_') {
		return yaml_error(tree, node, err,
				  "name: '%s' begins with _ as words for what is missing do",
				  node->text);
	}
	for (size_t i = 0; i < config->path_group_count; i++) {
		if (strcmp(config->path_groups[i].name, node->text) == 0) {
			return yaml_error(tree, node, err,
					  "path group '%s' stands in line %u already", node->text,
					  config->path_groups[i].line);
		}
	}
	group->line = node->line;
	group->column = node->column;
	return copy_text(&group->name, node, err);
}

/* A path begins with a drive or, on a volume without one, with a backslash. */
static bool begins_as_paths_do(const char *glob)
{
	char first = ascii_lower(glob[0]);

	return first == '\\' || first == '/' || first == '*' || first == '?' ||
	       (first >= 'a' && first <= 'z' &&
		(glob[1] == ':' || glob[1] == '*' || glob[1] == '?'));
}

static bool check_glob(const struct yaml_tree *tree, const struct yaml_node *node, size_t count,
		       struct error *err)
{
	if (!yaml_is_text(tree, node, "match", err)) {
		return false;
	}
	if (node->size == 0 || node->size > PATH_GLOB_SIZE_MAX) {
		return yaml_error(tree, node, err, "match: expected 1 to %d bytes",
				  PATH_GLOB_SIZE_MAX);
	}
	if (count == PATH_GROUP_GLOBS_MAX) {
		return yaml_error(tree, node, err,
				  "match: more than %d patterns in all path groups",
				  PATH_GROUP_GLOBS_MAX);
	}
	return begins_as_paths_do(node->text) ||
	       yaml_error(tree, node, err,
			  "match: '%s' can match no path: it begins with neither a drive (C:\\), a "
			  "backslash nor **\\",
			  node->text);
}

static bool read_globs(const struct yaml_tree *tree, const struct yaml_node *node, size_t *count,
		       struct config_path_group *group, struct error *err)
{
	if (!yaml_is_list(tree, node, "match", err)) {
		return false;
	}
	if (node->size == 0) {
		return yaml_error(tree, node, err, "match: at least one pattern is needed");
	}
	group->globs = calloc(node->size, sizeof *group->globs);
	if (!group->globs) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for path groups");
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!check_glob(tree, entry, *count, err) ||
		    !copy_text(&group->globs[group->glob_count], entry, err)) {
			return false;
		}
		group->glob_count++;
		++*count;
	}
	return true;
}

static bool read_group(const struct yaml_tree *tree, const struct yaml_node *node, size_t *globs,
		       struct config *config, struct error *err)
{
	static const char *const keys[] = { "name", "match", NULL };
	struct config_path_group *group = &config->path_groups[config->path_group_count];
	const struct yaml_node *name, *match;

	if (!yaml_is_map(tree, node, "path_groups", err) || !yaml_keys_are(tree, node, keys, err)) {
		return false;
	}
	name = yaml_find(node, "name");
	match = yaml_find(node, "match");
	if (!name || !match) {
		return yaml_error(tree, node, err, "path_groups: '%s' is missing",
				  name ? "match" : "name");
	}
	if (!read_name(tree, name, config, group, err)) {
		return false;
	}
	config->path_group_count++;
	return read_globs(tree, match, globs, group, err);
}

bool path_groups_read(const struct yaml_tree *tree, const struct yaml_node *node,
		      struct config *config, struct error *err)
{
	size_t globs = 0;

	if (!yaml_is_list(tree, node, "path_groups", err)) {
		return false;
	}
	if (node->size > PATH_GROUPS_MAX) {
		return yaml_error(tree, node, err, "path_groups: more than %d groups",
				  PATH_GROUPS_MAX);
	}
	config->path_groups = calloc(node->size + 1, sizeof *config->path_groups);
	if (!config->path_groups) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for path groups");
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!read_group(tree, entry, &globs, config, err)) {
			return false;
		}
	}
	return true;
}

void path_groups_free(struct config *config)
{
	for (size_t i = 0; i < config->path_group_count; i++) {
		struct config_path_group *group = &config->path_groups[i];

		for (size_t j = 0; j < group->glob_count; j++) {
			free(group->globs[j]);
		}
		free(group->globs);
		free(group->name);
	}
	free(config->path_groups);
}
