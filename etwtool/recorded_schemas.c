/* SPDX-License-Identifier: MIT */
/*
 * Collects manifests and descriptions while a recording is read, and groups them by provider.
 *
 * A description names its value maps, which may come later in the recording. So descriptions are
 * kept as bytes, and become events of a manifest at the end. Each process and session repeats the
 * same descriptions and manifests; each is kept once. Two processes can have two versions of one
 * EventSource. Then the events come from the manifest that was announced last, as in decoding
 * (lib/decode/trace_manifests.h), and from the other one come the events that only it has.
 *
 * Everything comes from the recording, so both number and bytes are bounded. What does not fit is
 * counted, and the command reports it.
 */
#include "etwtool/recorded_schemas.h"

#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/schema.h>

#include "base/array.h"
#include "base/guid.h"
#include "base/map.h"
#include "base/text.h"

enum {
	SCHEMAS_MOST = 1 << 16, /* bound of schemas, and of maps */
	BYTES_MOST = 256 << 20,
	/*
	 * bound of descriptions and manifests that are remembered, even if they did not fit; also
	 * of maps
	 */
	KNOWN_MOST = 1 << 20,
};

/* A manifest, or the payload of an EventInfo record. */
struct recorded_schema {
	struct etw_guid provider;
	/* when the manifest was announced last; 0 for a description */
	int64_t time;
	size_t order;                  /* its position in the order of the recording */
	struct etw_manifest *manifest; /* owned; NULL if this is a description */
	uint8_t *info;                 /* owned */
	uint32_t info_size;
};

struct recorded_schemas {
	struct recorded_schema *schemas; /* owned, with everything that they own */
	size_t count, capacity;
	size_t orders;               /* order that the next schema gets */
	struct etw_value_map **maps; /* owned, and so is each map */
	size_t map_count, map_capacity;
	/* Hashes of descriptions and of texts of manifests -> index + 1; 0: it did not fit. */
	struct map known;
	/* hash of provider and name -> index + 1; 0: it did not fit, or is no map */
	struct map map_keys;
	struct etw_manifest_assembly assembly;
	size_t bytes;
	uint64_t refused;
	uint64_t seed;
	bool failed; /* memory ran out */
};

struct recorded_schemas *recorded_schemas_new(struct etw_error *err)
{
	struct recorded_schemas *recorded = calloc(1, sizeof *recorded);

	if (!recorded) {
		error_no_memory(err, "the schemas of a recording");
		return NULL;
	}
	recorded->seed = hash_seed();
	return recorded;
}

void recorded_schemas_free(struct recorded_schemas *recorded)
{
	if (!recorded) {
		return;
	}
	for (size_t i = 0; i < recorded->count; i++) {
		etw_manifest_free(recorded->schemas[i].manifest);
		free(recorded->schemas[i].info);
	}
	for (size_t i = 0; i < recorded->map_count; i++) {
		free(recorded->maps[i]);
	}
	free(recorded->schemas);
	free(recorded->maps);
	map_done(&recorded->known);
	map_done(&recorded->map_keys);
	etw_manifest_assembly_done(&recorded->assembly);
	free(recorded);
}

uint64_t recorded_schemas_refused(const struct recorded_schemas *recorded)
{
	return recorded->refused + recorded->assembly.dropped;
}

/* ---- collecting ---- */

/*
 * Reserves size bytes for one more item. Counts the item as refused and returns false if there is
 * no room.
 */
static bool has_room(struct recorded_schemas *recorded, size_t count, size_t size)
{
	if (count == SCHEMAS_MOST || size > BYTES_MOST || recorded->bytes > BYTES_MOST - size) {
		recorded->refused++;
		return false;
	}
	recorded->bytes += size;
	return true;
}

/*
 * Finds or adds a hash; sets *added if it is new. Returns NULL without memory, or if nothing more
 * can be remembered, which counts as refused.
 */
static uint64_t *find_known(struct recorded_schemas *recorded, struct map *known, uint64_t hash,
			    bool *added)
{
	uint64_t *found;

	*added = false;
	if (known->count >= KNOWN_MOST) {
		found = map_find(known, hash);
		recorded->refused += !found;
		return found;
	}
	found = map_put(known, hash, added);
	recorded->failed |= !found;
	return found;
}

/* Takes ownership of what the schema owns. Returns its index + 1; 0 without memory. */
static uint64_t add_schema(struct recorded_schemas *recorded, struct recorded_schema schema)
{
	struct recorded_schema *grown =
		array_grow(recorded->schemas, &recorded->capacity, recorded->count, sizeof *grown);

	if (!grown) {
		recorded->failed = true;
		etw_manifest_free(schema.manifest);
		free(schema.info);
		return 0;
	}
	recorded->schemas = grown;
	schema.order = recorded->orders++;
	grown[recorded->count++] = schema;
	return recorded->count;
}

static void learn_info(struct recorded_schemas *recorded, const struct etw_record *record)
{
	struct etw_event_info info;
	uint8_t *copy;
	bool added;

	if (!etw_event_info_read(record, &info) || info.source != ETW_EVENT_INFO_MANIFEST) {
		return;
	}
	find_known(recorded, &recorded->known,
		   guid_hash(&info.provider, recorded->seed) ^
			   hash_seeded((uint64_t)info.id << 8 | info.version, recorded->seed),
		   &added);
	if (!added || !has_room(recorded, recorded->count, info.size)) {
		return;
	}
	copy = malloc(info.size);
	if (!copy) {
		recorded->failed = true;
		return;
	}
	memcpy(copy, info.bytes, info.size);
	add_schema(recorded, (struct recorded_schema){ .provider = info.provider,
						       .info = copy,
						       .info_size = info.size });
}

/* Computes the hash of a map. Returns false without a name or without memory. */
static bool map_key(struct recorded_schemas *recorded, const struct etw_guid *provider,
		    const uint8_t *bytes, uint32_t size, uint32_t name, uint64_t *key)
{
	struct etw_text text = { 0 };
	bool named = etw_event_info_string(bytes, size, name, &text) && text.size > 0;

	recorded->failed |= text.failed;
	if (named && !text.failed) {
		*key = text_hash(text.data, text.size, guid_hash(provider, recorded->seed));
	}
	named = named && !text.failed;
	text_free(&text);
	return named;
}

static void learn_map(struct recorded_schemas *recorded, const struct etw_record *record)
{
	struct etw_event_map map;
	struct etw_value_map **grown;
	uint64_t key, *known;
	bool added;

	if (!etw_event_map_read(record, &map) ||
	    !map_key(recorded, &map.provider, map.bytes, map.size, map.name, &key)) {
		return;
	}
	known = find_known(recorded, &recorded->map_keys, key, &added);
	if (!added || !has_room(recorded, recorded->map_count, 2 * (size_t)map.size)) {
		return;
	}
	grown = array_grow(recorded->maps, &recorded->map_capacity, recorded->map_count,
			   sizeof(struct etw_value_map *));
	recorded->maps = grown ? grown : recorded->maps;
	if (!grown) {
		recorded->failed = true;
		return;
	}
	grown[recorded->map_count] = etw_event_map_make(&map);
	if (grown[recorded->map_count]) {
		*known = ++recorded->map_count; /* otherwise maps of this type are not supported */
	}
}

/* Returns the index + 1 of the schema; 0 if there is no room or the text is no manifest. */
static uint64_t add_manifest(struct recorded_schemas *recorded, const struct etw_guid *provider,
			     const struct etw_text *xml)
{
	struct etw_error err = { 0 };
	struct etw_manifest *manifest = etw_manifest_read(xml->data, xml->size, &err);

	recorded->failed |= err.code == ETW_ERROR_NO_MEMORY;
	if (!manifest || !has_room(recorded, recorded->count, etw_manifest_bytes(manifest))) {
		etw_manifest_free(manifest);
		return 0;
	}
	return add_schema(recorded, (struct recorded_schema){ .time = recorded->assembly.began,
							      .provider = *provider,
							      .manifest = manifest });
}

/* Notes that the same manifest was announced again. */
static void note_repeat(struct recorded_schemas *recorded, struct recorded_schema *schema)
{
	if (recorded->assembly.began >= schema->time) {
		schema->time = recorded->assembly.began;
		schema->order = recorded->orders++;
	}
}

static void learn_chunk(struct recorded_schemas *recorded, const struct etw_record *record)
{
	struct etw_text xml = { 0 };
	uint64_t *known = NULL;
	bool added;

	if (!etw_manifest_assembly_add(&recorded->assembly, record, &xml)) {
		return;
	}
	recorded->failed |= xml.failed;
	if (xml.size > 0 && !xml.failed) {
		known = find_known(recorded, &recorded->known,
				   text_hash(xml.data, xml.size,
					     guid_hash(record->provider, recorded->seed)),
				   &added);
	}
	if (known && added) {
		*known = add_manifest(recorded, record->provider, &xml);
	} else if (known && *known != 0) {
		note_repeat(recorded, &recorded->schemas[*known - 1]);
	}
	text_free(&xml);
}

void recorded_schemas_learn(struct recorded_schemas *recorded, const struct etw_record *record)
{
	if (etw_record_is_meta_data(record)) {
		learn_info(recorded, record);
		learn_map(recorded, record);
	} else if (!record->classic && record->id == ETW_MANIFEST_EVENT_ID) {
		learn_chunk(recorded, record);
	}
}

/* ---- the providers ---- */

/* Sorts by provider, then manifests before descriptions, then the manifest announced last first. */
static int compare_schemas(const void *left, const void *right)
{
	const struct recorded_schema *a = left, *b = right;
	int order = memcmp(&a->provider, &b->provider, sizeof a->provider);

	if (order != 0) {
		return order;
	}
	if ((a->manifest != NULL) != (b->manifest != NULL)) {
		return a->manifest ? -1 : 1;
	}
	if (a->time != b->time) {
		return a->time > b->time ? -1 : 1; /* both are manifests */
	}
	return (a->order < b->order) == (a->manifest == NULL) ? -1 : 1;
}

static const struct etw_value_map *find_map(void *context, const struct etw_event_info *info,
					    uint32_t name)
{
	struct recorded_schemas *recorded = context;
	const uint64_t *known;
	uint64_t key;

	if (!map_key(recorded, &info->provider, info->bytes, info->size, name, &key)) {
		return NULL;
	}
	known = map_find(&recorded->map_keys, key);
	return known && *known != 0 ? recorded->maps[*known - 1] : NULL;
}

static void add_name(const struct recorded_schema *schema, struct etw_text *name)
{
	struct etw_event_info info;

	if (schema->manifest) {
		text_add_string(name, etw_manifest_provider_name(schema->manifest, 0));
	} else if (etw_event_info_view(schema->info, schema->info_size, &info)) {
		etw_event_info_string(info.bytes, info.size, info.provider_name, name);
	}
}

static void write_schema(struct recorded_schemas *recorded, const struct recorded_schema *schema,
			 struct etw_manifest_writer *writer)
{
	struct etw_event_info info;

	if (schema->manifest) {
		etw_manifest_writer_provider(writer, schema->manifest, 0);
	} else if (etw_event_info_view(schema->info, schema->info_size, &info)) {
		etw_manifest_writer_info(writer, &info, find_map, recorded);
	}
}

/* Returns the index after the last schema of the provider that begins at `first`. */
static size_t provider_end(const struct recorded_schemas *recorded, size_t first)
{
	const struct etw_guid *provider = &recorded->schemas[first].provider;
	size_t end = first + 1;

	while (end < recorded->count &&
	       etw_guid_equal(&recorded->schemas[end].provider, provider)) {
		end++;
	}
	return end;
}

static void visit_provider(struct recorded_schemas *recorded, size_t first, size_t end,
			   recorded_schemas_visitor *visit, void *context)
{
	const struct etw_guid *provider = &recorded->schemas[first].provider;
	struct etw_manifest_writer *writer = NULL;
	struct etw_text name = { 0 };

	text_add_string(&name, "");
	for (size_t i = first; i < end && name.size == 0; i++) {
		add_name(&recorded->schemas[i], &name);
	}
	if (!name.failed) {
		writer = etw_manifest_writer_new(provider, name.data, NULL);
	}
	recorded->failed |= !writer;
	for (size_t i = first; i < end && writer; i++) {
		write_schema(recorded, &recorded->schemas[i], writer);
	}
	if (!recorded->failed) {
		visit(context, provider, name.data, writer);
	}
	etw_manifest_writer_free(writer);
	text_free(&name);
}

bool recorded_schemas_visit(struct recorded_schemas *recorded, recorded_schemas_visitor *visit,
			    void *context, struct etw_error *err)
{
	if (recorded->count > 0) {
		sort_items(recorded->schemas, recorded->count, sizeof *recorded->schemas,
			   compare_schemas);
	}
	for (size_t i = 0, end; i < recorded->count && !recorded->failed; i = end) {
		end = provider_end(recorded, i);
		visit_provider(recorded, i, end, visit, context);
	}
	return !recorded->failed || error_no_memory(err, "the schemas of a recording");
}
