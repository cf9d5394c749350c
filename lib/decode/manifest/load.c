/* SPDX-License-Identifier: MIT */
/*
 * Reads manifests into sets, and finds the schema of an event in them.
 *
 * A run has a few dozen providers with manifests, so a set is an array sorted by GUID. Entries of
 * one GUID are in the order in which they were added, and the first one that has an event wins.
 * These manifests are checked: unlike in an in-band manifest, a mistake is a configuration error. A
 * path may name a file or a folder of manifests. If a path names several files, a file with a
 * mistake is left out with a warning.
 *
 * Files are limited in size before they are read. The built-in manifests are compiled into the
 * program, so they need no path and cannot be missing. Parsing all of them took a quarter of the
 * program's start, and a run needs few, so each is parsed when its events are first needed. Until
 * then the set knows the provider by the file's name and the GUID in its text. Any thread may be
 * the first that needs a manifest, so it is parsed under a lock and then published.
 */
#include "lib/decode/manifest/manifest.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

/* A manifest; a built-in one may not be parsed yet. */
struct manifest_source {
	_Atomic(struct etw_manifest *) manifest; /* owned; NULL: not read yet */
	const struct builtin_file *file;         /* NULL: not a built-in manifest */
	struct os_mutex reading;
};

struct provider_entry {
	struct etw_guid guid;
	struct manifest_source *source; /* one of sources */
	size_t index;                   /* index of the provider in its manifest */
};

struct etw_manifest_set {
	struct manifest_source **sources; /* owned, as are they */
	size_t source_count;
	struct provider_entry *entries; /* owned */
	size_t entry_count;
};

struct etw_manifest_set *manifest_set_new(struct etw_error *err)
{
	struct etw_manifest_set *set = calloc(1, sizeof *set);

	if (!set) {
		error_no_memory(err, "manifests");
	}
	return set;
}

void manifest_set_free(struct etw_manifest_set *set)
{
	if (!set) {
		return;
	}
	for (size_t i = 0; i < set->source_count; i++) {
		etw_manifest_free(atomic_load(&set->sources[i]->manifest));
		os_mutex_done(&set->sources[i]->reading);
		free(set->sources[i]);
	}
	free(set->sources);
	free(set->entries);
	free(set);
}

/* Inserts the entry after all entries that are less or equal. */
static void insert(struct etw_manifest_set *set, const struct provider_entry *entry)
{
	size_t at = set->entry_count++;

	while (at > 0 && memcmp(&set->entries[at - 1].guid, &entry->guid, sizeof entry->guid) > 0) {
		set->entries[at] = set->entries[at - 1];
		at--;
	}
	set->entries[at] = *entry;
}

/* Adds a source with room for the entries of its providers. Returns NULL if there is no memory. */
static struct manifest_source *add_source(struct etw_manifest_set *set, size_t providers)
{
	struct manifest_source **sources =
		realloc(set->sources, (set->source_count + 1) * sizeof(struct manifest_source *));
	struct provider_entry *entries = NULL;
	struct manifest_source *source;

	if (sources) {
		set->sources = sources;
		entries = realloc(set->entries, (set->entry_count + providers) * sizeof *entries);
	}
	if (entries) {
		set->entries = entries;
	}
	source = entries ? calloc(1, sizeof *source) : NULL;
	if (source) {
		os_mutex_init(&source->reading);
		set->sources[set->source_count++] = source;
	}
	return source;
}

bool manifest_set_add(struct etw_manifest_set *set, struct etw_manifest *manifest,
		      struct etw_error *err)
{
	size_t count = manifest_provider_count(manifest);
	struct manifest_source *source = add_source(set, count);

	if (!source) {
		etw_manifest_free(manifest);
		return error_no_memory(err, "manifests");
	}
	atomic_init(&source->manifest, manifest);
	for (size_t i = 0; i < count; i++) {
		struct provider_entry entry = { .source = source, .index = i };

		if (manifest_provider_guid(manifest, i, &entry.guid)) {
			insert(set, &entry);
		}
	}
	return true;
}

/* Adds a built-in manifest without parsing it. It has one provider, whose name is that of the file
 * and whose GUID is the first one in the text. */
static bool add_unread(struct etw_manifest_set *set, const struct builtin_file *file,
		       struct etw_error *err)
{
	static const char before[] = " guid=\"";
	char guid[GUID_TEXT_SIZE + 2] = ""; /* in braces */
	const char *at = strstr(file->text, before);
	struct provider_entry entry = { .index = 0 };

	if (at) {
		snprintf(guid, sizeof guid, "%.*s", (int)sizeof guid - 1, at + sizeof before - 1);
	}
	if (!etw_guid_parse(guid, &entry.guid)) {
		return error_set(err, ETW_ERROR_CONFIG, "%s: no GUID of a provider", file->name);
	}
	entry.source = add_source(set, 1);
	if (!entry.source) {
		return error_no_memory(err, "manifests");
	}
	entry.source->file = file;
	insert(set, &entry);
	return true;
}

/* Returns the manifest of a source, which is parsed now if it was not; NULL if there is no
 * memory. */
static const struct etw_manifest *manifest_of(struct manifest_source *source)
{
	/* Pairs with the release below. */
	struct etw_manifest *manifest =
		atomic_load_explicit(&source->manifest, memory_order_acquire);

	if (manifest) {
		return manifest;
	}
	os_mutex_lock(&source->reading);
	manifest = atomic_load_explicit(&source->manifest, memory_order_relaxed);
	if (!manifest) {
		manifest =
			manifest_read_checked(source->file->text, source->file->size, NULL, NULL);
		atomic_store_explicit(&source->manifest, manifest, memory_order_release);
	}
	os_mutex_unlock(&source->reading);
	if (!manifest) {
		memory_note_loss();
	}
	return manifest;
}

static const char *name_of(const struct provider_entry *entry)
{
	return entry->source->file ?
		       entry->source->file->name :
		       etw_manifest_provider_name(manifest_of(entry->source), entry->index);
}

/* Returns the index of the provider's first entry; entry_count if there is none. */
static size_t find(const struct etw_manifest_set *set, const struct etw_guid *provider)
{
	size_t first = 0, end = set->entry_count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (memcmp(&set->entries[middle].guid, provider, sizeof *provider) < 0) {
			first = middle + 1;
		} else {
			end = middle;
		}
	}
	return first < set->entry_count && etw_guid_equal(&set->entries[first].guid, provider) ?
		       first :
		       set->entry_count;
}

const struct etw_schema *etw_manifest_set_schema(const struct etw_manifest_set *set,
						 const struct etw_guid *provider, uint16_t id,
						 uint8_t version, uint8_t opcode, bool older)
{
	const struct etw_schema *schema = NULL;

	if (!set) {
		return NULL;
	}
	for (size_t i = find(set, provider);
	     !schema && i < set->entry_count && etw_guid_equal(&set->entries[i].guid, provider);
	     i++) {
		size_t index = set->entries[i].index;
		const struct etw_manifest *manifest = manifest_of(set->entries[i].source);

		if (manifest) {
			schema = older ? manifest_schema_older(manifest, index, id, version,
							       opcode) :
					 manifest_schema(manifest, index, id, version, opcode);
		}
	}
	return schema;
}

const char *etw_manifest_set_provider_name(const struct etw_manifest_set *set,
					   const struct etw_guid *provider)
{
	size_t at = set ? find(set, provider) : 0;
	const char *name;

	if (!set || at == set->entry_count) {
		return NULL;
	}
	name = name_of(&set->entries[at]);
	return name[0] ? name : NULL;
}

bool etw_manifest_set_provider(const struct etw_manifest_set *set, size_t number,
			       struct etw_manifest_set_provider *provider)
{
	if (!set || number >= set->entry_count) {
		return false;
	}
	*provider = (struct etw_manifest_set_provider){ &set->entries[number].guid,
							name_of(&set->entries[number]) };
	return true;
}

size_t etw_manifest_set_provider_count(const struct etw_manifest_set *set)
{
	return set ? set->entry_count : 0;
}

const struct etw_manifest *etw_manifest_set_manifest(const struct etw_manifest_set *set,
						     size_t number, size_t *index)
{
	*index = set->entries[number].index;
	return manifest_of(set->entries[number].source);
}

/* ---- reading them ---- */

/* Context for the warnings about one file. */
struct warned_file {
	const struct etw_manifest_warnings *warnings; /* the path is put in front of each warning */
	const char *path;
};

static void warn_of_place(void *context, const char *sentence)
{
	const struct warned_file *file = context;
	struct etw_text text = { 0 };

	text_add_format(&text, "%s:%s", file->path, sentence);
	if (!text.failed) {
		file->warnings->warn(file->warnings->context, text.data);
	}
	text_free(&text);
}

static bool add_text(struct etw_configured_manifests *configured, const char *path, const char *xml,
		     size_t size, struct etw_error *err)
{
	struct warned_file file = { &configured->warnings, path };
	const struct etw_manifest_warnings warnings = { configured->warnings.warn ? warn_of_place :
										    NULL,
							&file };
	struct etw_error why = { 0 };
	struct etw_manifest *manifest = manifest_read_checked(xml, size, &warnings, &why);

	if (!manifest) {
		enum etw_error_code code = why.code == ETW_ERROR_FORMAT ? ETW_ERROR_CONFIG :
									  why.code;

		return error_set(err, code, "%s:%s", path, why.text);
	}
	return manifest_set_add(configured->configured, manifest, err);
}

static bool add_file(struct etw_configured_manifests *configured, const char *path,
		     struct etw_error *err)
{
	size_t size;
	char *xml;
	bool added;

	if (!file_read_whole(path, MANIFEST_FILE_SIZE_MOST, &xml, &size, err)) {
		return error_prefix(err, "%s", path);
	}
	added = add_text(configured, path, xml, size, err);
	free(xml);
	return added;
}

/* Adds one of several files; a faulty one causes a warning. Returns false if there is no memory. */
static bool add_one_of(struct etw_configured_manifests *configured, const char *path,
		       struct etw_error *err)
{
	struct etw_error why = { 0 };
	struct etw_text warning = { 0 };
	size_t place = strlen(path);

	if (add_file(configured, path, &why)) {
		return true;
	}
	if (why.code == ETW_ERROR_NO_MEMORY) {
		return error_set(err, why.code, "%s", why.text);
	}
	if (strncmp(why.text, path, place) != 0) {
		place = 0; /* the path is longer than the error's text */
	}
	place += strspn(why.text + place, "0123456789:");
	text_add(&warning, why.text, place);
	text_add_format(&warning, " warning:%s; this file is left out", why.text + place);
	if (configured->warnings.warn && !warning.failed) {
		configured->warnings.warn(configured->warnings.context, warning.data);
	}
	text_free(&warning);
	return true;
}

static bool add_folder(struct etw_configured_manifests *configured, const char *path,
		       struct etw_error *err)
{
	static const char *const patterns[] = { "*.man", "*.xml" };
	struct file_list files = { 0 };
	struct etw_text beside = { 0 };
	bool added;

	text_add_string(&beside, path);
	text_add_char(&beside, '/');
	added = !beside.failed || error_no_memory(err, "a path");
	for (size_t i = 0; added && i < sizeof patterns / sizeof patterns[0]; i++) {
		added = file_list_add(&files, beside.data, patterns[i], err);
	}
	for (size_t i = 0; added && i < files.count; i++) {
		added = add_one_of(configured, files.paths[i], err);
	}
	if (added && files.count == 0) {
		added = error_set(err, ETW_ERROR_CONFIG,
				  "%s: the folder has no *.man and no *.xml file", path);
	}
	file_list_free(&files);
	text_free(&beside);
	return added;
}

bool etw_configured_manifests_add(struct etw_configured_manifests *configured, const char *path,
				  bool several, struct etw_error *err)
{
	if (!configured->configured) {
		configured->configured = manifest_set_new(err);
		if (!configured->configured) {
			return false;
		}
	}
	if (file_is_folder(path)) {
		return add_folder(configured, path, err);
	}
	return several ? add_one_of(configured, path, err) : add_file(configured, path, err);
}

bool etw_configured_manifests_add_builtin(struct etw_configured_manifests *configured,
					  struct etw_error *err)
{
	struct etw_manifest_set *set = configured->builtin ? NULL : manifest_set_new(err);

	if (!set) {
		return configured->builtin != NULL;
	}
	for (size_t i = 0; i < builtin_manifest_count; i++) {
		if (!add_unread(set, &builtin_manifests[i], err)) {
			manifest_set_free(set);
			return false;
		}
	}
	configured->builtin = set;
	return true;
}

void etw_configured_manifests_done(struct etw_configured_manifests *configured)
{
	manifest_set_free(configured->configured);
	manifest_set_free(configured->builtin);
	*configured = (struct etw_configured_manifests){ .configured = NULL };
}
