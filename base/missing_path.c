/* SPDX-License-Identifier: MIT */
#include "base/missing_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/os.h"

/* A search for a name among the entries of a folder. */
struct look {
	const char *name;
	bool exists;  /* the folder exists */
	bool present; /* an entry has exactly this name */
	struct nearest nearest;
	struct etw_text best;  /* copy of nearest.best */
	struct etw_text first; /* the first name by strcmp() that does not begin with a dot */
};

static bool look_at(void *context, const char *name)
{
	struct look *look = context;
	const char *best = look->nearest.best;

	look->exists = true;
	look->present |= strcmp(name, look->name) == 0;
	if (name[0] == '.') {
		return true;
	}
	nearest_offer(&look->nearest, name);
	if (look->nearest.best != best) {
		text_clear(&look->best);
		text_add_string(&look->best, name);
		look->nearest.best = look->best.data;
	}
	if (!look->first.data || strcmp(name, look->first.data) < 0) {
		text_clear(&look->first);
		text_add_string(&look->first, name);
	}
	return true;
}

static void look_into(struct look *look, const char *folder, const char *name)
{
	*look = (struct look){ .name = name, .nearest = { .word = name, .size = strlen(name) } };
	os_folder_list(folder[0] != '\0' ? folder : ".", look_at, look);
}

static void look_done(struct look *look)
{
	text_free(&look->best);
	text_free(&look->first);
}

static size_t folder_size(const char *path)
{
	return (size_t)(os_path_name(path) - path);
}

/* Cuts separators off the end of a path and returns its last component. */
static char *cut_name(char *path)
{
	char *end = path + strlen(path);

	while (end > path && (end[-1] == '/' || end[-1] == '\\')) {
		*--end = '\0';
	}
	return path + folder_size(path);
}

/* Says that a name is not in a folder. shown: the folder as the user wrote it. */
static void add_hint(struct etw_text *out, const char *shown, bool whole, bool examples,
		     const struct look *look)
{
	if (!whole) {
		text_add_string(out, "; there is no folder '");
		text_add_shown(out, shown);
		text_add_shown(out, look->name);
		text_add_string(out, "'");
	}
	if (look->nearest.best) {
		text_add_string(out, "; did you mean '");
		text_add_shown(out, shown);
		text_add_shown(out, look->nearest.best);
		text_add_string(out, "'?");
	} else if (whole && examples && look->first.data) {
		text_add_string(out, "; there is '");
		text_add_shown(out, shown);
		text_add_shown(out, look->first.data);
		text_add_string(out, "', for example");
	} else if (whole && examples) {
		text_add_string(out, "; the folder is empty");
	}
}

static void look_for(const char *beside, const char *given, bool examples, struct etw_text *out)
{
	size_t own = os_path_is_absolute(given) ? 0 : folder_size(beside);
	struct etw_text path = { 0 };
	bool whole = true; /* the missing name is the last component of the path */

	text_add(&path, beside, own);
	text_add_string(&path, given);
	/* Starts at the last component and goes up until the folder of the component exists. */
	for (bool more = !path.failed && path.data; more; whole = false) {
		char *name = cut_name(path.data);
		char *folder = text_duplicate(path.data, (size_t)(name - path.data));
		struct look look = { .exists = false };

		more = folder && name > path.data + own;
		if (folder) {
			look_into(&look, folder, name);
		}
		if (look.exists && !look.present) {
			add_hint(out, folder + (strlen(folder) < own ? 0 : own), whole, examples,
				 &look);
		}
		more = more && !look.exists;
		look_done(&look);
		free(folder);
		*name = '\0';
	}
	text_free(&path);
}

void missing_path_suggest(const char *beside, const char *path, struct etw_text *out)
{
	look_for(beside, path, false, out);
}

void missing_path_explain(const char *beside, const char *path, struct etw_text *out)
{
	look_for(beside, path, true, out);
}
