/* SPDX-License-Identifier: MIT */
#include "lib/decode/schema_hash.h"

#include <string.h>

static void add_bytes(struct etw_text *text, const void *bytes, size_t size)
{
	text_add(text, bytes, size);
}

/* Adds the string and its NUL, so that "ab", "c" and "a", "bc" give different bytes. */
static void add_name(struct etw_text *text, const char *name)
{
	const char *known = name ? name : "";

	text_add(text, known, strlen(known) + 1);
}

/* Returns the hash of the bytes that were added since `start`, and removes them. */
static uint64_t take_hash(struct schema_hashes *hashes, size_t start)
{
	uint64_t hash = 0;

	if (hashes->bytes.failed) {
		hashes->failed = true;
		return 0;
	}
	if (hashes->bytes.size > start) {
		hash = text_hash(hashes->bytes.data + start, hashes->bytes.size - start,
				 hash_seed());
		hashes->bytes.size = start;
	}
	return hash;
}

static uint64_t hash_value_map(struct schema_hashes *hashes, const struct etw_value_map *map)
{
	const uint64_t *known = map ? map_find(&hashes->known, (uintptr_t)map) : NULL;
	size_t start = hashes->bytes.size;
	uint64_t hash, *made;

	if (!map || known) {
		return known ? *known : 0;
	}
	add_bytes(&hashes->bytes, &map->bits, sizeof map->bits);
	for (uint32_t i = 0; i < map->count; i++) {
		add_bytes(&hashes->bytes, &map->names[i].value, sizeof map->names[i].value);
		add_name(&hashes->bytes, map->names[i].name);
	}
	hash = take_hash(hashes, start);
	made = map_put(&hashes->known, (uintptr_t)map, NULL);
	if (made) {
		*made = hash;
	}
	return hash;
}

static uint64_t hash_fields(struct schema_hashes *hashes, const struct etw_schema *schema)
{
	const uint64_t *known = map_find(&hashes->known, (uintptr_t)schema->fields);
	size_t start = hashes->bytes.size;
	uint64_t hash, *made;

	if (!schema->fields || known) {
		return known ? *known : 0;
	}
	for (unsigned i = 0; i < schema->field_count; i++) {
		const struct etw_field *field = &schema->fields[i];
		const uint8_t types[] = { field->type, field->count_type, field->length_type,
					  field->form };
		const uint16_t numbers[] = { field->count, field->length, field->span };
		uint64_t map = hash_value_map(hashes, field->map);

		add_name(&hashes->bytes, field->name);
		add_bytes(&hashes->bytes, types, sizeof types);
		add_bytes(&hashes->bytes, numbers, sizeof numbers);
		add_bytes(&hashes->bytes, &map, sizeof map);
	}
	hash = take_hash(hashes, start);
	made = map_put(&hashes->known, (uintptr_t)schema->fields, NULL);
	if (made) {
		*made = hash;
	}
	return hash;
}

uint64_t schema_hash(struct schema_hashes *hashes, const struct etw_schema *schema)
{
	uint64_t fields = hash_fields(hashes, schema);

	add_bytes(&hashes->bytes, &fields, sizeof fields);
	add_name(&hashes->bytes, schema->event);
	add_name(&hashes->bytes, schema->symbol);
	return take_hash(hashes, 0);
}

void schema_hashes_done(struct schema_hashes *hashes)
{
	map_done(&hashes->known);
	text_free(&hashes->bytes);
	*hashes = (struct schema_hashes){ .failed = false };
}
