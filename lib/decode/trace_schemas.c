/* SPDX-License-Identifier: MIT */
/*
 * Collects describing records of providers: manifests in chunks, descriptions of events (EventInfo)
 * and of maps (EventMapInfo), names in provider traits.
 *
 * Every record of a recording is looked at here before anything is decoded, so a common record
 * costs only a few comparisons. A recording contains descriptions once for each process and
 * session, so each is recognised by a hash of what distinguishes it and kept once. Maps may come
 * after the descriptions that use them; the uses are noted and resolved at the end, in
 * etw_trace_schemas_finish(). Manifests are assembled here and kept by trace_manifests.c, because a
 * provider may have several.
 *
 * A provider may have names from three origins, of which the best is shown. Everything that is kept
 * is bounded in number and bytes. Beyond a bound, new items are not kept but counted, and the
 * recording is still decoded with those that are.
 */
#include "lib/decode/trace_schemas.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/manifest.h>
#include <etw/provider.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/trace_manifests.h"

enum {
	PROVIDERS_MOST = 1 << 13,
	DESCRIPTIONS_MOST = 1 << 20, /* counted … */
	SCHEMAS_MOST = 1 << 16,      /* … and kept as schemas */
	BYTES_MOST = 256 << 20,      /* bytes of memory for schemas */
	NAME_SIZE_MOST = 1024,       /* longer names are ignored */
};

/* Origins of a provider's name; the best comes first. */
enum name_origin { FROM_MANIFEST, FROM_EVENT_INFO, CLAIMED, ORIGINS };

struct provider {
	struct etw_guid guid;
	char *names[ORIGINS]; /* owned; NULL: none */
	uint32_t next;        /* index + 1 of the next provider with the same hash; 0: none */
};

/* A field with a value map, and the hash that identifies the map. */
struct map_use {
	uint64_t map;
	uint16_t field; /* index */
};

/* An EventInfo description. */
struct description {
	struct etw_guid guid; /* GUID of the provider; for MOF of the event class */
	uint16_t number;      /* id; for MOF the opcode */
	uint8_t version;
	bool mof;
	struct described_schema made; /* owned */
	struct map_use *uses;         /* owned; NULL: none, or resolved */
	size_t use_count;
};

struct etw_trace_schemas {
	struct provider *providers; /* owned */
	size_t provider_count;
	size_t provider_capacity;
	struct map by_guid; /* hash of a GUID -> index + 1 of the latest provider with that hash */
	/* Hash that identifies a description -> index + 1; 0: counted only. */
	struct map event_infos;
	struct description **descriptions; /* owned, as are they */
	size_t description_count;
	size_t description_capacity;
	size_t bytes;    /* approximate size of descriptions and maps */
	struct map maps; /* hash that identifies a map -> index + 1; 0: counted only */
	struct etw_value_map **value_maps; /* owned, as are they */
	size_t value_map_count;
	size_t value_map_capacity;
	struct etw_manifest_assembly assembly;
	struct trace_manifests *kept; /* owned */
	uint64_t manifests;
	uint64_t name_count; /* names that became known, replacements included */
	uint64_t homeless;   /* manifests whose provider had no room */
	_Atomic(uint64_t) dropped_manifests, dropped_descriptions; /* see the statistics */
};

struct etw_trace_schemas *etw_trace_schemas_new(struct etw_error *err)
{
	struct etw_trace_schemas *schemas = calloc(1, sizeof *schemas);

	if (!schemas) {
		error_no_memory(err, "the schemas of a recording");
		return NULL;
	}
	schemas->kept = trace_manifests_new(err);
	if (!schemas->kept) {
		free(schemas);
		return NULL;
	}
	return schemas;
}

static void free_description(struct description *description)
{
	described_schema_done(&description->made);
	free(description->uses);
	free(description);
}

void etw_trace_schemas_free(struct etw_trace_schemas *schemas)
{
	if (!schemas) {
		return;
	}
	for (size_t i = 0; i < schemas->provider_count; i++) {
		for (unsigned origin = 0; origin < ORIGINS; origin++) {
			free(schemas->providers[i].names[origin]);
		}
	}
	for (size_t i = 0; i < schemas->description_count; i++) {
		free_description(schemas->descriptions[i]);
	}
	for (size_t i = 0; i < schemas->value_map_count; i++) {
		free(schemas->value_maps[i]);
	}
	free(schemas->value_maps);
	free(schemas->descriptions);
	free(schemas->providers);
	map_done(&schemas->by_guid);
	map_done(&schemas->event_infos);
	map_done(&schemas->maps);
	etw_manifest_assembly_done(&schemas->assembly);
	trace_manifests_free(schemas->kept);
	free(schemas);
}

static struct provider *find_provider(const struct etw_trace_schemas *schemas,
				      const struct etw_guid *guid)
{
	const uint64_t *first = map_find(&schemas->by_guid, guid_hash(guid, hash_seed()));

	for (uint64_t at = first ? *first : 0; at != 0;) {
		struct provider *provider = &schemas->providers[at - 1];

		if (etw_guid_equal(&provider->guid, guid)) {
			return provider;
		}
		at = provider->next;
	}
	return NULL;
}

/* Finds or adds the provider. Returns NULL beyond the bound or if there is no memory. */
static struct provider *need_provider(struct etw_trace_schemas *schemas,
				      const struct etw_guid *guid)
{
	struct provider *provider = find_provider(schemas, guid);
	struct provider *grown;
	uint64_t *first;

	if (provider) {
		return provider;
	}
	if (schemas->provider_count == PROVIDERS_MOST) {
		return NULL;
	}
	grown = array_grow(schemas->providers, &schemas->provider_capacity, schemas->provider_count,
			   sizeof *grown);
	if (!grown) {
		return NULL;
	}
	schemas->providers = grown;
	first = map_put(&schemas->by_guid, guid_hash(guid, hash_seed()), NULL);
	if (!first) {
		return NULL;
	}
	provider = &schemas->providers[schemas->provider_count++];
	*provider = (struct provider){ .guid = *guid, .next = (uint32_t)*first };
	*first = schemas->provider_count;
	return provider;
}

/* ---- what is not kept; only the owner writes the counters ---- */

static void drop_description(struct etw_trace_schemas *schemas)
{
	uint64_t before =
		atomic_load_explicit(&schemas->dropped_descriptions, memory_order_relaxed);

	atomic_store_explicit(&schemas->dropped_descriptions, before + 1, memory_order_relaxed);
}

static void publish_dropped_manifests(struct etw_trace_schemas *schemas)
{
	atomic_store_explicit(&schemas->dropped_manifests,
			      schemas->homeless + schemas->assembly.dropped +
				      trace_manifests_dropped(schemas->kept),
			      memory_order_relaxed);
}

/* ---- names and descriptions ---- */

/* Takes ownership of the text and makes it the name of the provider, unless it is empty. */
static void name_provider(struct etw_trace_schemas *schemas, const struct etw_guid *guid,
			  enum name_origin origin, struct etw_text *name)
{
	struct provider *provider;

	if (!name->failed && name->size > 0 && name->size <= NAME_SIZE_MOST) {
		provider = need_provider(schemas, guid);
		if (provider) {
			free(provider->names[origin]);
			provider->names[origin] = name->data;
			schemas->name_count++;
			return;
		}
		drop_description(schemas);
	}
	text_free(name);
}

/*
 * Adds a description or map by the hash that identifies it. Returns its entry, which is 0 at first;
 * NULL beyond the bound or if there is no memory.
 */
static uint64_t *count_distinct(struct map *map, uint64_t key, bool *added)
{
	*added = false;
	return map->count < DESCRIPTIONS_MOST ? map_put(map, key, added) : NULL;
}

static uint64_t description_key(const struct etw_guid *guid, bool mof, uint16_t number,
				uint8_t version)
{
	return hash_seeded(guid_hash(guid, hash_seed()) ^ (uint64_t)mof << 32 ^
				   (uint64_t)number << 8 ^ version,
			   hash_seed());
}

/* Computes the hash that identifies a map. Returns false if there is no memory. */
static bool map_key(const struct etw_guid *provider, const uint8_t *bytes, uint32_t size,
		    uint32_t name, uint64_t *hash)
{
	struct etw_text key = { 0 };
	bool made;

	text_add(&key, (const char *)provider->bytes, sizeof provider->bytes);
	etw_event_info_string(bytes, size, name, &key);
	made = !key.failed;
	if (made) {
		*hash = text_hash(key.data, key.size, hash_seed());
	}
	text_free(&key);
	return made;
}

/* Notes which fields have maps, because the maps may come later. Returns false if there is no
 * memory. */
static bool note_uses(struct description *description, const struct etw_event_info *info,
		      const uint32_t *map_names)
{
	for (uint16_t i = 0; i < description->made.fields.count; i++) {
		struct map_use use = { .field = i };

		if (map_names[i] == 0 ||
		    !map_key(&info->provider, info->bytes, info->size, map_names[i], &use.map)) {
			continue;
		}
		if (!description->uses) {
			description->uses =
				calloc(description->made.fields.count, sizeof *description->uses);
			if (!description->uses) {
				memory_note_loss();
				return false;
			}
		}
		description->uses[description->use_count++] = use;
	}
	return true;
}

static struct description *new_description(const struct etw_event_info *info)
{
	bool mof = info->source == ETW_EVENT_INFO_MOF;
	struct description *description = calloc(1, sizeof *description);
	uint32_t map_names[ETW_SCHEMA_FIELDS_MOST];

	if (!description) {
		memory_note_loss();
		return NULL;
	}
	if (!event_info_schema(info, &description->made, map_names) ||
	    !note_uses(description, info, map_names)) {
		free_description(description);
		return NULL;
	}
	description->guid = mof ? info->event_class : info->provider;
	description->number = mof ? info->opcode : info->id;
	description->version = info->version;
	description->mof = mof;
	return description;
}

/* Returns whether the kept schemas take all the memory that they may take. */
static bool is_full(const struct etw_trace_schemas *schemas)
{
	return schemas->bytes + trace_manifests_bytes(schemas->kept) > BYTES_MOST;
}

/* Keeps a description. Returns its index + 1; 0 beyond the bounds or if there is no memory. */
static uint64_t keep_description(struct etw_trace_schemas *schemas,
				 const struct etw_event_info *info)
{
	struct description *description, **grown;

	if (schemas->description_count == SCHEMAS_MOST || is_full(schemas)) {
		drop_description(schemas);
		return 0;
	}
	grown = array_grow(schemas->descriptions, &schemas->description_capacity,
			   schemas->description_count, sizeof(struct description *));
	if (!grown) {
		return 0;
	}
	schemas->descriptions = grown;
	description = new_description(info);
	if (!description) {
		return 0;
	}
	schemas->bytes += sizeof *description + description->made.fields.bytes;
	schemas->descriptions[schemas->description_count++] = description;
	return schemas->description_count;
}

static void look_at_event_info(struct etw_trace_schemas *schemas, const struct etw_record *record)
{
	struct etw_text name = { 0 };
	struct etw_event_info info;
	uint64_t *known;
	bool mof, added;

	if (!etw_event_info_read(record, &info)) {
		return;
	}
	mof = info.source == ETW_EVENT_INFO_MOF;
	known = count_distinct(&schemas->event_infos,
			       description_key(mof ? &info.event_class : &info.provider, mof,
					       mof ? info.opcode : info.id, info.version),
			       &added);
	if (known && added) {
		*known = keep_description(schemas, &info);
	} else if (!known) {
		drop_description(schemas);
	}
	etw_event_info_string(info.bytes, info.size, info.provider_name, &name);
	name_provider(schemas, &info.provider, FROM_EVENT_INFO, &name);
}

/* Keeps a map. Returns its index + 1; 0 beyond the bounds, if there is no memory, or if the type of
 * the map is unknown. */
static uint64_t keep_value_map(struct etw_trace_schemas *schemas, const struct etw_event_map *map)
{
	struct etw_value_map *made, **grown;

	if (schemas->value_map_count == SCHEMAS_MOST || is_full(schemas)) {
		drop_description(schemas);
		return 0;
	}
	grown = array_grow(schemas->value_maps, &schemas->value_map_capacity,
			   schemas->value_map_count, sizeof(struct etw_value_map *));
	if (!grown) {
		return 0;
	}
	schemas->value_maps = grown;
	made = etw_event_map_make(map);
	if (!made) {
		return 0;
	}
	schemas->bytes += sizeof *made + 2 * (size_t)map->size;
	schemas->value_maps[schemas->value_map_count++] = made;
	return schemas->value_map_count;
}

static void look_at_event_map(struct etw_trace_schemas *schemas, const struct etw_record *record)
{
	struct etw_event_map map;
	uint64_t key, *known;
	bool added;

	if (!etw_event_map_read(record, &map) ||
	    !map_key(&map.provider, map.bytes, map.size, map.name, &key)) {
		return;
	}
	known = count_distinct(&schemas->maps, key, &added);
	if (known && added) {
		*known = keep_value_map(schemas, &map);
	} else if (!known) {
		drop_description(schemas);
	}
}

static uint32_t number_of(const struct etw_trace_schemas *schemas, const struct provider *provider)
{
	return (uint32_t)(provider - schemas->providers);
}

static void look_at_manifest(struct etw_trace_schemas *schemas, const struct etw_record *record)
{
	struct etw_text xml = { 0 }, name = { 0 };
	struct announced_manifest announced = { .process_id = record->process_id, .xml = &xml };
	struct provider *provider;

	if (!etw_manifest_assembly_add(&schemas->assembly, record, &xml)) {
		publish_dropped_manifests(schemas);
		return;
	}
	schemas->manifests++;
	provider = xml.size > 0 ? need_provider(schemas, record->provider) : NULL;
	if (provider) {
		announced.provider = number_of(schemas, provider);
		announced.time = schemas->assembly.began;
		trace_manifests_add(schemas->kept, &announced,
				    schemas->bytes < BYTES_MOST ? BYTES_MOST - schemas->bytes : 0,
				    &name);
		name_provider(schemas, record->provider, FROM_MANIFEST, &name);
	} else if (xml.size > 0) {
		schemas->homeless++;
	}
	publish_dropped_manifests(schemas);
	text_free(&xml);
}

static void look_at_process(struct etw_trace_schemas *schemas, const struct etw_record *record)
{
	if (etw_process_change_possible(record)) {
		trace_manifests_look(schemas->kept, record);
		publish_dropped_manifests(schemas);
	}
}

void trace_schemas_look_at_name(struct etw_trace_schemas *schemas, const struct etw_record *record)
{
	struct etw_extended_item item;
	struct etw_text name = { 0 };
	size_t size;

	if (!record->extended ||
	    !etw_record_find_extended(record, ETW_EXTENDED_PROVIDER_TRAITS, &item) ||
	    item.size < 2 || trace_schemas_claimed_name(schemas, record->provider)) {
		return;
	}
	size = etw_load_u16(item.data);
	size = (size < item.size ? size : item.size) - (size_t)2;
	if (etw_load_u16(item.data) > 2) {
		const char *at = (const char *)item.data + 2;
		const char *nul = memchr(at, 0, size);

		text_add_utf8_clean(&name, at, nul ? (size_t)(nul - at) : size);
		name_provider(schemas, record->provider, CLAIMED, &name);
	}
}

void etw_trace_schemas_choose_ids(struct etw_id_choice *ids)
{
	etw_id_choose(ids, ETW_MANIFEST_EVENT_ID);
	etw_id_choose(ids, ETW_PROCESS_EVENT_START); /* etw_process_change_possible() */
	etw_id_choose(ids, ETW_PROCESS_EVENT_STOP);
}

void etw_trace_schemas_look(struct etw_trace_schemas *schemas, const struct etw_record *record)
{
	if (record->classic) {
		if (etw_record_is_meta_data(record)) {
			look_at_event_info(schemas, record);
			look_at_event_map(schemas, record);
		}
		look_at_process(schemas, record);
		return;
	}
	trace_schemas_look_at_name(schemas, record);
	look_at_process(schemas, record);
	if (record->id == ETW_MANIFEST_EVENT_ID) {
		look_at_manifest(schemas, record);
	}
}

void trace_schemas_claim_name(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			      const char *name)
{
	struct etw_text copy = { 0 };

	if (!trace_schemas_claimed_name(schemas, provider)) {
		text_add_string(&copy, name);
		name_provider(schemas, provider, CLAIMED, &copy);
	}
}

static void resolve_maps(struct etw_trace_schemas *schemas, struct description *description)
{
	for (size_t i = 0; i < description->use_count; i++) {
		const struct map_use *use = &description->uses[i];
		const uint64_t *known = map_find(&schemas->maps, use->map);

		if (known && *known != 0) {
			description->made.fields.fields[use->field].map =
				schemas->value_maps[*known - 1];
		}
	}
	free(description->uses);
	description->uses = NULL;
	description->use_count = 0;
}

void etw_trace_schemas_finish(struct etw_trace_schemas *schemas)
{
	for (size_t i = 0; i < schemas->description_count; i++) {
		resolve_maps(schemas, schemas->descriptions[i]);
	}
	trace_manifests_finish(schemas->kept);
	etw_manifest_assembly_done(&schemas->assembly); /* incomplete manifests are dropped */
}

const char *trace_schemas_provider_name(const struct etw_trace_schemas *schemas,
					const struct etw_guid *guid)
{
	const struct provider *provider = find_provider(schemas, guid);

	for (unsigned origin = 0; provider && origin < CLAIMED; origin++) {
		if (provider->names[origin]) {
			return provider->names[origin];
		}
	}
	return NULL;
}

const char *trace_schemas_claimed_name(const struct etw_trace_schemas *schemas,
				       const struct etw_guid *guid)
{
	const struct provider *provider = find_provider(schemas, guid);

	return provider ? provider->names[CLAIMED] : NULL;
}

uint64_t trace_schemas_name_count(const struct etw_trace_schemas *schemas)
{
	return schemas->name_count;
}

static const struct etw_schema *find_description(const struct etw_trace_schemas *schemas,
						 const struct etw_record *record)
{
	bool mof = record->classic;
	uint16_t number = mof ? record->opcode : record->id;
	const uint64_t *known =
		map_find(&schemas->event_infos,
			 description_key(record->provider, mof, number, record->version));
	const struct description *description;

	if (!known || *known == 0) {
		return NULL;
	}
	description = schemas->descriptions[*known - 1];
	if (description->mof != mof || description->number != number ||
	    description->version != record->version ||
	    !etw_guid_equal(&description->guid, record->provider)) {
		return NULL; /* another description with the same hash */
	}
	return &description->made.schema;
}

const struct etw_schema *trace_schemas_find(const struct etw_trace_schemas *schemas,
					    const struct etw_record *record, uint32_t *manifest_id)
{
	const struct etw_schema *schema = NULL;
	uint32_t found = 0;

	if (!record->classic) {
		const struct provider *provider = find_provider(schemas, record->provider);

		if (provider) {
			schema = trace_manifests_find(schemas->kept, number_of(schemas, provider),
						      record, &found);
		}
	}
	if (manifest_id) {
		*manifest_id = found;
	}
	return schema ? schema : find_description(schemas, record);
}

bool trace_schemas_differ(const struct etw_trace_schemas *schemas)
{
	return trace_manifests_differ(schemas->kept);
}

void etw_trace_schemas_count(const struct etw_trace_schemas *schemas,
			     struct etw_trace_schemas_counts *counts)
{
	*counts = (struct etw_trace_schemas_counts){
		.manifests = schemas->manifests,
		.event_infos = schemas->event_infos.count,
		.maps = schemas->maps.count,
	};
}

void etw_trace_schemas_statistics(const struct etw_trace_schemas *schemas,
				  struct etw_trace_schemas_statistics *statistics)
{
	statistics->dropped_manifests =
		atomic_load_explicit(&schemas->dropped_manifests, memory_order_relaxed);
	statistics->dropped_descriptions =
		atomic_load_explicit(&schemas->dropped_descriptions, memory_order_relaxed);
}
