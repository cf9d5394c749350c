/* SPDX-License-Identifier: MIT */
#include "selftest/kit_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "selftest/kit_mask.h"

enum { FILES_MAX = 64, RUNS_MAX = 1000 };

struct kit_files {
	char *folder;          /* owned */
	struct kit_mask *mask; /* borrowed */
	struct {
		const char *name, *what;
	} files[FILES_MAX];
	size_t count;
	struct etw_text failures;
};

/* A callback of os_folder_list(); returns false at the first name that is not a dot entry. */
static bool is_dots(void *context, const char *name)
{
	(void)context;
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool is_empty(const char *folder)
{
	return os_folder_list(folder, is_dots, NULL);
}

/* Returns `folder`, or the path of a new one in it if it has files. Returns NULL on failure. */
static char *choose_folder(const char *folder, struct etw_error *err)
{
	struct etw_text path = { 0 };
	bool made;

	if (!os_folder_make(folder, NULL, err)) {
		return NULL;
	}
	text_add_string(&path, folder);
	made = is_empty(folder);
	/* A folder of that name that is there already may be a link. */
	for (unsigned run = 2; !path.failed && !made; run++) {
		text_clear(&path);
		text_add_format(&path, "%s/run-%u", folder, run);
		if (run > RUNS_MAX) {
			error_set(err, ETW_ERROR_LIMIT, "%s has more than %d runs", folder,
				  (int)RUNS_MAX);
			text_free(&path);
			return NULL;
		}
		if (!path.failed && !os_folder_make(path.data, &made, err)) {
			text_free(&path);
			return NULL;
		}
	}
	if (path.failed) {
		error_no_memory(err, "the folder of the results");
		text_free(&path);
	}
	return path.data;
}

struct kit_files *kit_files_open(const char *folder, struct kit_mask *mask, struct etw_error *err)
{
	struct kit_files *files = calloc(1, sizeof *files);

	if (!files) {
		error_no_memory(err, "the results");
		return NULL;
	}
	files->mask = mask;
	files->folder = choose_folder(folder, err);
	if (!files->folder) {
		free(files);
		return NULL;
	}
	return files;
}

void kit_files_free(struct kit_files *files)
{
	if (files) {
		text_free(&files->failures);
		free(files->folder);
		free(files);
	}
}

const char *kit_files_folder(const struct kit_files *files)
{
	return files->folder;
}

char *kit_files_path(const struct kit_files *files, const char *name)
{
	struct etw_text path = { 0 };

	text_add_format(&path, "%s/%s", files->folder, name);
	if (path.failed) {
		text_free(&path);
	}
	return path.data;
}

void kit_files_list(struct kit_files *files, const char *name, const char *what)
{
	if (files->count < FILES_MAX) {
		files->files[files->count].name = name;
		files->files[files->count++].what = what;
	}
}

static bool write_file(const struct kit_files *files, const char *name, const struct etw_text *text,
		       struct etw_error *err)
{
	char *path = kit_files_path(files, name);
	struct etw_text masked = { 0 };
	const struct etw_text *out = text;
	bool written;

	if (files->mask && text->data) {
		kit_mask_add(files->mask, &masked, text->data, text->size);
		out = &masked;
	}
	written = path && !text->failed && !out->failed ?
			  os_file_write_whole(path, out->data, out->size, err) :
			  error_no_memory(err, "its text");
	text_free(&masked);
	free(path);
	return written;
}

void kit_files_write(struct kit_files *files, const char *name, const char *what,
		     struct etw_text *text)
{
	struct etw_error err = { 0 };

	if (write_file(files, name, text, &err)) {
		kit_files_list(files, name, what);
	} else {
		text_add_format(&files->failures, "%s: %s\n", name, err.text);
	}
	text_free(text);
}

void kit_files_finish(struct kit_files *files)
{
	struct etw_text index = { 0 };

	text_add_string(&index, "What etw_selftest --out left on this machine. Read "
				"summary.txt first.\n\n");
	for (size_t i = 0; i < files->count; i++) {
		text_add_format(&index, "%-22s %s\n", files->files[i].name, files->files[i].what);
	}
	text_add_string(&index, files->mask ?
					"\nNames of the machine, of users and in paths are "
					"pseudonyms; equal names have equal ones. The event\nlogs "
					"were left out, because they cannot be masked.\n" :
					"\nThe files have names of this machine, of its users, "
					"programs and files. --private masks them.\n");
	kit_files_write(files, "README.txt", "this index", &index);
}

const char *kit_files_failures(const struct kit_files *files)
{
	return files->failures.size > 0 ? files->failures.data : "";
}
