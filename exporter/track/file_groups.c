/* SPDX-License-Identifier: MIT */
#include "track/file_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/text.h"

struct group_glob {
	char *glob; /* owned */
	uint32_t label;
};

struct file_groups {
	struct group_glob *globs; /* owned; of all groups, in their order */
	size_t count;
	uint32_t none;
};

struct file_groups *file_groups_new(struct registry *registry,
				    const struct config_path_group *groups, size_t count,
				    struct error *err)
{
	struct file_groups *made = calloc(1, sizeof *made);
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		most += groups[i].glob_count;
	}
	if (made) {
		made->none = registry_none(registry);
		made->globs = calloc(most + 1, sizeof *made->globs);
	}
	if (!made || !made->globs) {
		error_set(err, ERROR_NO_MEMORY, "no memory for path groups");
		goto fail;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t label = intern_string(registry_strings(registry), groups[i].name);

		for (size_t j = 0; j < groups[i].glob_count; j++) {
			struct group_glob *to = &made->globs[made->count];

			to->label = label == INTERN_FULL ? registry_other(registry) : label;
			to->glob = text_duplicate(groups[i].globs[j], strlen(groups[i].globs[j]));
			if (!to->glob) {
				error_set(err, ERROR_NO_MEMORY, "no memory for path groups");
				goto fail;
			}
			made->count++;
		}
	}
	return made;

fail:
	file_groups_free(made);
	return NULL;
}

void file_groups_free(struct file_groups *groups)
{
	if (!groups) {
		return;
	}
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->globs[i].glob);
	}
	free(groups->globs);
	free(groups);
}

uint32_t file_groups_label(const struct file_groups *groups, const char *path, size_t size)
{
	for (size_t i = 0; size <= GROUPED_PATH_SIZE_MAX && i < groups->count; i++) {
		if (path_glob_matches(groups->globs[i].glob, path, size)) {
			return groups->globs[i].label;
		}
	}
	return groups->none;
}
