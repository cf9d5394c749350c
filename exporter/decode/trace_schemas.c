/* SPDX-License-Identifier: MIT */
/*
 * Collects what a recording tells about its providers.
 *
 * Looked at with every record of a recording, so the common record costs a few comparisons.
 * Whatever is kept is bounded; past a bound more of the same is not kept, and nothing else breaks.
 */
#include "decode/trace_schemas.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/text.h"
#include "base/utf8.h"
#include "decode/event_info.h"
#include "decode/event_source.h"
#include "decode/manifest_xml.h"

enum {
	PROVIDERS_MOST = 1 << 13,
	DESCRIPTIONS_MOST = 1 << 20,
	NAME_SIZE_MOST = 1024, /* longer names are no names */
};

/* Where a name comes from, the best first. */
enum name_origin {
	FROM_MANIFEST,
	FROM_EVENT_INFO,
	FROM_TRAITS,
	ORIGINS
};

struct provider {
	struct guid guid;
	char *names[ORIGINS]; /* owned; NULL: none */
	uint32_t next; /* index + 1 of the next provider with the same hash; 0: none */
};

struct trace_schemas {
	struct provider *providers; /* owned */
	size_t provider_count;
	size_t provider_capacity;
	struct map by_guid; /* hash of a GUID -> index + 1 of the latest provider with that hash */
	struct map event_infos; /* hashes of what tells descriptions apart */
	struct map maps;
	struct manifest_assembly assembly;
	uint64_t manifests;
};

struct trace_schemas *trace_schemas_new(struct error *err)
{
	struct trace_schemas *schemas = calloc(1, sizeof *schemas);

	if (!schemas) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the schemas of a recording");
	}
	return schemas;
}

void trace_schemas_free(struct trace_schemas *schemas)
{
	if (!schemas) {
		return;
	}
	for (size_t i = 0; i < schemas->provider_count; i++) {
		for (unsigned origin = 0; origin < ORIGINS; origin++) {
			free(schemas->providers[i].names[origin]);
		}
	}
	free(schemas->providers);
	map_done(&schemas->by_guid);
	map_done(&schemas->event_infos);
	map_done(&schemas->maps);
	manifest_assembly_done(&schemas->assembly);
	free(schemas);
}

static struct provider *find_provider(const struct trace_schemas *schemas, const struct guid *guid)
{
	const uint64_t *first = map_find(&schemas->by_guid, guid_hash(guid, hash_seed()));

	for (uint64_t at = first ? *first : 0; at != 0;) {
		struct provider *provider = &schemas->providers[at - 1];

		if (guid_equal(&provider->guid, guid)) {
			return provider;
		}
		at = provider->next;
	}
	return NULL;
}

/* Finds or adds; NULL past the bound and without memory. */
static struct provider *need_provider(struct trace_schemas *schemas, const struct guid *guid)
{
	struct provider *provider = find_provider(schemas, guid);
	uint64_t *first;

	if (provider) {
		return provider;
	}
	if (schemas->provider_count == schemas->provider_capacity) {
		size_t capacity = schemas->provider_capacity ? 2 * schemas->provider_capacity : 16;
		struct provider *grown;

		if (capacity > PROVIDERS_MOST) {
			return NULL;
		}
		grown = realloc(schemas->providers, capacity * sizeof *grown);
		if (!grown) {
			return NULL;
		}
		schemas->providers = grown;
		schemas->provider_capacity = capacity;
	}
	first = map_put(&schemas->by_guid, guid_hash(guid, hash_seed()), NULL);
	if (!first) {
		return NULL;
	}
	provider = &schemas->providers[schemas->provider_count++];
	*provider = (struct provider){ .guid = *guid, .next = (uint32_t)*first };
	*first = schemas->provider_count;
	return provider;
}

/* Takes over the text of name: the name of a provider, unless it is empty. */
static void name_provider(struct trace_schemas *schemas, const struct guid *guid,
			  enum name_origin origin, struct text *name)
{
	struct provider *provider;

	if (!name->failed && name->size > 0 && name->size <= NAME_SIZE_MOST) {
		provider = need_provider(schemas, guid);
		if (provider) {
			free(provider->names[origin]);
			provider->names[origin] = name->data;
			return;
		}
	}
	text_free(name);
}

/* Remembers a description by the hash of what tells it from others. */
static void count_distinct(struct map *map, const struct text *key)
{
	if (!key->failed && map->count < DESCRIPTIONS_MOST) {
		(void)map_put(map, text_hash(key->data, key->size, hash_seed()), NULL);
	}
}

static void look_at_event_info(struct trace_schemas *schemas, const struct event_record *record)
{
	struct text key = { 0 }, name = { 0 };
	struct event_info info;
	bool by_opcode;

	if (!event_info_read(record, &info)) {
		return;
	}
	by_opcode = info.source == EVENT_INFO_MOF;
	text_add(&key, (const char *)(by_opcode ? &info.event_class : &info.provider),
		 sizeof info.provider);
	text_add_format(&key, "%d %u %u", by_opcode, by_opcode ? info.opcode : info.id,
			info.version);
	count_distinct(&schemas->event_infos, &key);
	text_free(&key);

	event_info_string(info.bytes, info.size, info.provider_name, &name);
	name_provider(schemas, &info.provider, FROM_EVENT_INFO, &name);
}

static void look_at_event_map(struct trace_schemas *schemas, const struct event_record *record)
{
	struct text key = { 0 };
	struct event_map map;

	if (!event_map_read(record, &map)) {
		return;
	}
	text_add(&key, (const char *)&map.provider, sizeof map.provider);
	event_info_string(map.bytes, map.size, map.name, &key);
	count_distinct(&schemas->maps, &key);
	text_free(&key);
}

static void look_at_manifest(struct trace_schemas *schemas, const struct event_record *record)
{
	struct text xml = { 0 }, name = { 0 };
	struct manifest_chunk chunk;

	if (!manifest_chunk_read(record, &chunk) ||
	    !manifest_assembly_add(&schemas->assembly, record, &chunk, &xml)) {
		return;
	}
	schemas->manifests++;
	if (xml.size > 0 && manifest_read(xml.data, xml.size, &name, NULL)) {
		name_provider(schemas, record->provider, FROM_MANIFEST, &name);
	}
	text_free(&xml);
}

static void look_at_traits(struct trace_schemas *schemas, const struct event_record *record)
{
	const struct provider *provider;
	struct extended_item item;
	struct text name = { 0 };
	size_t size;

	if (!record_find_extended(record, EXTENDED_PROVIDER_TRAITS, &item) || item.size < 2) {
		return;
	}
	provider = find_provider(schemas, record->provider);
	if (provider && provider->names[FROM_TRAITS]) {
		return;
	}
	size = load_u16(item.data);
	size = (size < item.size ? size : item.size) - (size_t)2;
	if (load_u16(item.data) > 2) {
		const char *at = (const char *)item.data + 2;
		const char *nul = memchr(at, 0, size);

		text_add_utf8_clean(&name, at, nul ? (size_t)(nul - at) : size);
		name_provider(schemas, record->provider, FROM_TRAITS, &name);
	}
}

void trace_schemas_look(struct trace_schemas *schemas, const struct event_record *record)
{
	if (record->classic) {
		if (record_is_meta_data(record)) {
			look_at_event_info(schemas, record);
			look_at_event_map(schemas, record);
		}
		return;
	}
	if (record->extended) {
		look_at_traits(schemas, record);
	}
	if (record->id == MANIFEST_EVENT_ID) {
		look_at_manifest(schemas, record);
	}
}

void trace_schemas_finish(struct trace_schemas *schemas)
{
	manifest_assembly_done(&schemas->assembly); /* what is still incomplete stays so */
}

const char *trace_schemas_provider_name(const struct trace_schemas *schemas,
					const struct guid *guid)
{
	const struct provider *provider = find_provider(schemas, guid);

	for (unsigned origin = 0; provider && origin < ORIGINS; origin++) {
		if (provider->names[origin]) {
			return provider->names[origin];
		}
	}
	return NULL;
}

void trace_schemas_count(const struct trace_schemas *schemas, struct trace_schemas_counts *counts)
{
	*counts = (struct trace_schemas_counts){
		.manifests = schemas->manifests,
		.event_infos = schemas->event_infos.count,
		.maps = schemas->maps.count,
	};
}
