/* SPDX-License-Identifier: MIT */
/*
 * A few dozen providers, sorted by GUID; those of one GUID in the order in which they were added.
 */
#include "decode/manifest/set.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	struct guid guid;
	const struct manifest *manifest; /* one of manifests */
	size_t index;                    /* of the provider in it */
};

struct manifest_set {
	struct manifest **manifests; /* owned, as are they */
	size_t manifest_count;
	struct entry *entries; /* owned */
	size_t entry_count;
};

struct manifest_set *manifest_set_new(struct error *err)
{
	struct manifest_set *set = calloc(1, sizeof *set);

	if (!set) {
		error_set(err, ERROR_NO_MEMORY, "no memory for manifests");
	}
	return set;
}

void manifest_set_free(struct manifest_set *set)
{
	if (!set) {
		return;
	}
	for (size_t i = 0; i < set->manifest_count; i++) {
		manifest_free(set->manifests[i]);
	}
	free(set->manifests);
	free(set->entries);
	free(set);
}

/* Behind those that are less or equal. */
static void insert(struct manifest_set *set, const struct entry *entry)
{
	size_t at = set->entry_count++;

	while (at > 0 && memcmp(&set->entries[at - 1].guid, &entry->guid, sizeof entry->guid) > 0) {
		set->entries[at] = set->entries[at - 1];
		at--;
	}
	set->entries[at] = *entry;
}

bool manifest_set_add(struct manifest_set *set, struct manifest *manifest, struct error *err)
{
	size_t count = manifest_provider_count(manifest);
	struct manifest **manifests =
		realloc(set->manifests, (set->manifest_count + 1) * sizeof(struct manifest *));
	struct entry *entries;

	if (!manifests) {
		goto fail;
	}
	set->manifests = manifests;
	entries = realloc(set->entries, (set->entry_count + count) * sizeof *entries);
	if (!entries) {
		goto fail;
	}
	set->entries = entries;
	set->manifests[set->manifest_count++] = manifest;
	for (size_t i = 0; i < count; i++) {
		struct entry entry = { .manifest = manifest, .index = i };

		if (manifest_provider_guid(manifest, i, &entry.guid)) {
			insert(set, &entry);
		}
	}
	return true;

fail:
	manifest_free(manifest);
	return error_set(err, ERROR_NO_MEMORY, "no memory for manifests");
}

/* The first entry of a provider; entry_count: none. */
static size_t find(const struct manifest_set *set, const struct guid *provider)
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
	return first < set->entry_count && guid_equal(&set->entries[first].guid, provider) ?
		       first :
		       set->entry_count;
}

typedef const struct schema *(finder)(const struct manifest *manifest, size_t index, uint16_t id,
				      uint8_t version);

static const struct schema *find_schema(const struct manifest_set *set, const struct guid *provider,
					uint16_t id, uint8_t version, finder *find_in)
{
	const struct schema *schema = NULL;

	if (!set) {
		return NULL;
	}
	for (size_t i = find(set, provider);
	     !schema && i < set->entry_count && guid_equal(&set->entries[i].guid, provider); i++) {
		schema = find_in(set->entries[i].manifest, set->entries[i].index, id, version);
	}
	return schema;
}

const struct schema *manifest_set_schema(const struct manifest_set *set,
					 const struct guid *provider, uint16_t id, uint8_t version)
{
	return find_schema(set, provider, id, version, manifest_schema);
}

const struct schema *manifest_set_schema_older(const struct manifest_set *set,
					       const struct guid *provider, uint16_t id,
					       uint8_t version)
{
	return find_schema(set, provider, id, version, manifest_schema_older);
}

const char *manifest_set_provider_name(const struct manifest_set *set, const struct guid *provider)
{
	size_t at = set ? find(set, provider) : 0;
	const char *name;

	if (!set || at == set->entry_count) {
		return NULL;
	}
	name = manifest_provider_name(set->entries[at].manifest, set->entries[at].index);
	return name[0] ? name : NULL;
}

bool manifest_set_provider(const struct manifest_set *set, size_t number,
			   struct manifest_set_provider *provider)
{
	if (!set || number >= set->entry_count) {
		return false;
	}
	*provider = (struct manifest_set_provider){ &set->entries[number].guid,
						    set->entries[number].manifest,
						    set->entries[number].index };
	return true;
}
