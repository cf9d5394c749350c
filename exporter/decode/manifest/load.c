/* SPDX-License-Identifier: MIT */
/*
 * Reads manifests into sets.
 */
#include "decode/manifest/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "config/builtin.h"
#include "config/files.h"
#include "decode/manifest/xml.h"

enum { FILE_SIZE_MOST = 16 << 20 };

static bool add_text(struct manifest_set *set, const char *name, const char *xml, size_t size,
		     struct error *err)
{
	struct error why = { 0 };
	struct manifest *manifest = manifest_read_checked(xml, size, &why);

	if (!manifest) {
		enum error_code code = why.code == ERROR_FORMAT ? ERROR_CONFIG : why.code;

		return error_set(err, code, "%s:%s", name, why.text);
	}
	return manifest_set_add(set, manifest, err);
}

static bool add_file(struct manifest_set *set, const char *path, struct error *err)
{
	size_t size;
	char *xml;
	bool added;

	if (!file_read_whole(path, FILE_SIZE_MOST, &xml, &size, err)) {
		return error_prefix(err, "%s", path);
	}
	added = add_text(set, path, xml, size, err);
	free(xml);
	return added;
}

static bool note_entry(void *context, const char *name)
{
	bool *found = context;

	(void)name;
	*found = true;
	return false;
}

/* A folder with something in it: the others are for os_file_open() to complain about. */
static bool is_folder(const char *path)
{
	bool found = false;

	os_folder_list(path, note_entry, &found);
	return found;
}

static bool add_folder(struct manifest_set *set, const char *path, struct error *err)
{
	static const char *const patterns[] = { "*.man", "*.xml" };
	struct file_list files = { 0 };
	struct text beside = { 0 };
	bool added;

	text_add_string(&beside, path);
	text_add_char(&beside, '/');
	added = !beside.failed || error_set(err, ERROR_NO_MEMORY, "no memory for a path");
	for (size_t i = 0; added && i < sizeof patterns / sizeof patterns[0]; i++) {
		added = file_list_add(&files, beside.data, patterns[i], err);
	}
	for (size_t i = 0; added && i < files.count; i++) {
		added = add_file(set, files.paths[i], err);
	}
	if (added && files.count == 0) {
		added = error_set(err, ERROR_CONFIG, "%s: no *.man and no *.xml in this folder",
				  path);
	}
	file_list_free(&files);
	text_free(&beside);
	return added;
}

bool configured_manifests_add(struct configured_manifests *configured, const char *path,
			      struct error *err)
{
	if (!configured->configured) {
		configured->configured = manifest_set_new(err);
		if (!configured->configured) {
			return false;
		}
	}
	return is_folder(path) ? add_folder(configured->configured, path, err) :
				 add_file(configured->configured, path, err);
}

bool configured_manifests_add_builtin(struct configured_manifests *configured, struct error *err)
{
	struct manifest_set *set = configured->builtin ? NULL : manifest_set_new(err);

	if (!set) {
		return configured->builtin != NULL;
	}
	for (size_t i = 0; i < builtin_manifest_count; i++) {
		const struct builtin_file *file = &builtin_manifests[i];

		if (!add_text(set, file->name, file->text, file->size, err)) {
			manifest_set_free(set);
			return false;
		}
	}
	configured->builtin = set;
	return true;
}

bool configured_manifests_load(struct configured_manifests *configured, const struct config *config,
			       struct error *err)
{
	for (size_t i = 0; i < config->schema_count; i++) {
		if (!configured_manifests_add(configured, config->schemas[i], err)) {
			return false;
		}
	}
	return configured_manifests_add_builtin(configured, err);
}

void configured_manifests_done(struct configured_manifests *configured)
{
	manifest_set_free(configured->configured);
	manifest_set_free(configured->builtin);
	*configured = (struct configured_manifests){ .configured = NULL };
}
