/* SPDX-License-Identifier: MIT */
/*
 * Finds the manifest of a recording that decodes an event.
 *
 * This file keeps the distinct manifests; manifest_holds.c knows which process announced which of
 * them, and when. Nothing is decided before trace_manifests_finish(), which sorts everything that
 * was added; every look-up is a binary search.
 *
 * Most providers have one manifest, however many processes announced it, and need nothing else. For
 * the others, `events` lists what each manifest says about each event, the newest manifest first.
 * Manifests of two versions describe most events alike. So the layouts are compared, by a hash over
 * all that a schema contains, and only an event that has several layouts depends on its process.
 * The id of such an event is that of the newest manifest with the same layout, so that there is one
 * event class for each layout and not for each manifest.
 *
 * An event whose version no manifest describes is decoded as version 0 if a manifest has that. The
 * exact version is first looked for in all manifests: a description of this version by another
 * process is better than a description of another version by the event's own process.
 *
 * Everything is bounded, in total and for each process, so that a process that announces too much
 * loses only its own manifests. Beyond a bound new items are not kept but counted.
 */
#include "lib/decode/trace_manifests.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/manifest_holds.h"

/* ---- hashes of schemas ---- */

/* Zero-initialise the struct. Do not free a schema that was hashed while the struct is in use. */
struct schema_hashes {
	/* Maps the address of field arrays and value maps, which many schemas share, to their
	 * hash. */
	struct map known;
	struct etw_text bytes;
	bool failed; /* no memory; the hashes cannot be used */
};

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

/*
 * Returns the hash of a schema. Schemas that decode alike, with the same names of the event, its
 * fields and its values, have equal hashes. The hash is seeded, so that no author of schemas
 * can choose two with equal hashes.
 */
static uint64_t schema_hash(struct schema_hashes *hashes, const struct etw_schema *schema)
{
	uint64_t fields = hash_fields(hashes, schema);

	add_bytes(&hashes->bytes, &fields, sizeof fields);
	add_name(&hashes->bytes, schema->event);
	add_name(&hashes->bytes, schema->symbol);
	return take_hash(hashes, 0);
}

static void schema_hashes_done(struct schema_hashes *hashes)
{
	map_done(&hashes->known);
	text_free(&hashes->bytes);
	*hashes = (struct schema_hashes){ .failed = false };
}

enum {
	/* Manifests that one process announced first. */
	MANIFESTS_MOST_OF_PROCESS = TRACE_MANIFESTS_MOST / 8,
	BYTES_MOST_OF_PROCESS = 64 << 20, /* bytes of these manifests */
	ANNOUNCEMENTS_MOST_OF_PROCESS = 1 << 16,
	PROCESSES_MOST = 1 << 16, /* processes that announce anything */
};

/* A distinct manifest, which any number of processes announced. */
struct kept_manifest {
	struct etw_manifest *manifest; /* owned */
	uint32_t provider;
	int64_t time;   /* time of its last announcement … */
	uint32_t order; /* … and its number, because times can be equal */
	uint32_t rank;  /* rank among the provider's manifests; 0: the newest */
};

/* Counts of what one process has announced. */
struct process {
	uint32_t announcements;
	/* Announced manifests that no other process had announced before, and their size in
	 * bytes. */
	uint32_t manifests;
	size_t bytes;
};

/* An event in one of several manifests of its provider. */
struct described_event {
	const struct etw_schema *schema; /* borrowed from the manifest */
	uint64_t order;                  /* order_of() */
	uint64_t layout;                 /* hash */
	uint32_t kept;                   /* index of the newest manifest with this layout */
	bool differs;                    /* the event has several layouts */
};

/* The manifests of a provider: a range of `sorted`. */
struct source_manifests {
	uint32_t first, count;
};

struct trace_manifests {
	struct kept_manifest *kept; /* owned, as are all arrays */
	size_t kept_count, kept_capacity;
	struct map by_text; /* hash of provider and text -> index + 1 */
	size_t bytes;       /* approximate size of all manifests */
	uint64_t dropped;
	struct manifest_holds holds;
	struct process *processes;
	size_t process_count, process_capacity;
	struct map by_process; /* process id -> index + 1 */

	/* Made by trace_manifests_finish(). */
	uint32_t *sorted; /* indices of `kept` by provider, the newest first */
	struct source_manifests *sources;
	uint32_t source_count;          /* highest number of a provider, plus one */
	struct described_event *events; /* sorted by provider, id, version and rank */
	size_t event_count, event_capacity;
	bool differ;
};

struct trace_manifests *trace_manifests_new(struct etw_error *err)
{
	struct trace_manifests *manifests = calloc(1, sizeof *manifests);

	if (!manifests) {
		error_no_memory(err, "the manifests of a recording");
	}
	return manifests;
}

/* Frees what trace_manifests_finish() made. */
static void unmake(struct trace_manifests *manifests)
{
	free(manifests->sorted);
	free(manifests->sources);
	free(manifests->events);
	manifests->sorted = NULL;
	manifests->sources = NULL;
	manifests->source_count = 0;
	manifests->events = NULL;
	manifests->event_count = manifests->event_capacity = 0;
	manifests->differ = false;
}

void trace_manifests_free(struct trace_manifests *manifests)
{
	if (!manifests) {
		return;
	}
	unmake(manifests);
	for (size_t i = 0; i < manifests->kept_count; i++) {
		etw_manifest_free(manifests->kept[i].manifest);
	}
	free(manifests->kept);
	manifest_holds_done(&manifests->holds);
	free(manifests->processes);
	map_done(&manifests->by_text);
	map_done(&manifests->by_process);
	free(manifests);
}

/* ---- what the recording says ---- */

/* Finds or adds the process. Returns NULL beyond the bound or if there is no memory. */
static struct process *need_process(struct trace_manifests *manifests, uint32_t process_id)
{
	uint64_t *index = map_find(&manifests->by_process, process_id);
	struct process *grown;

	if (index) {
		return &manifests->processes[*index - 1];
	}
	if (manifests->process_count == PROCESSES_MOST) {
		return NULL;
	}
	grown = array_grow(manifests->processes, &manifests->process_capacity,
			   manifests->process_count, sizeof *grown);
	if (!grown) {
		return NULL;
	}
	manifests->processes = grown;
	index = map_put(&manifests->by_process, process_id, NULL);
	if (!index) {
		return NULL;
	}
	manifests->processes[manifests->process_count++] = (struct process){ 0 };
	*index = manifests->process_count;
	return &manifests->processes[manifests->process_count - 1];
}

/* Takes ownership of the manifest and returns its index; NO_MANIFEST beyond the bounds or if there
 * is no memory. */
static uint32_t keep(struct trace_manifests *manifests, const struct announced_manifest *announced,
		     struct etw_manifest *manifest, size_t bytes_most)
{
	struct process *process = need_process(manifests, announced->process_id);
	size_t bytes = etw_manifest_bytes(manifest);
	struct kept_manifest *grown = NULL;

	if (process && manifests->kept_count < TRACE_MANIFESTS_MOST &&
	    process->manifests < MANIFESTS_MOST_OF_PROCESS &&
	    bytes <= BYTES_MOST_OF_PROCESS - process->bytes && bytes <= bytes_most &&
	    manifests->bytes <= bytes_most - bytes) {
		grown = array_grow(manifests->kept, &manifests->kept_capacity,
				   manifests->kept_count, sizeof *grown);
	}
	if (!grown) {
		etw_manifest_free(manifest);
		return NO_MANIFEST;
	}
	manifests->kept = grown;
	manifests->bytes += bytes;
	process->manifests++;
	process->bytes += bytes;
	manifests->kept[manifests->kept_count] = (struct kept_manifest){
		.manifest = manifest, .provider = announced->provider, .time = INT64_MIN
	};
	return (uint32_t)manifests->kept_count++;
}

static void note_announcement(struct trace_manifests *manifests,
			      const struct announced_manifest *announced, uint32_t kept)
{
	struct process *process = need_process(manifests, announced->process_id);
	struct kept_manifest *manifest = &manifests->kept[kept];
	struct manifest_announcement announcement = { .provider = announced->provider,
						      .process_id = announced->process_id,
						      .time = announced->time,
						      .manifest = kept };

	if (!process || process->announcements == ANNOUNCEMENTS_MOST_OF_PROCESS ||
	    !manifest_holds_add(&manifests->holds, &announcement)) {
		manifests->dropped++;
		return;
	}
	process->announcements++;
	if (announced->time >= manifest->time) {
		manifest->time = announced->time;
		manifest->order = announcement.order;
	}
}

void trace_manifests_add(struct trace_manifests *manifests,
			 const struct announced_manifest *announced, size_t bytes_most,
			 struct etw_text *name)
{
	uint64_t key = text_hash(announced->xml->data, announced->xml->size,
				 hash_seeded(announced->provider, hash_seed()));
	const uint64_t *known = map_find(&manifests->by_text, key);
	uint32_t kept = known ? (uint32_t)*known - 1 : NO_MANIFEST;
	struct etw_manifest *manifest;
	uint64_t *index;

	if (known) {
		manifest = manifests->kept[kept].manifest;
		text_add_string(name, etw_manifest_provider_name(manifest, 0));
	} else {
		manifest = etw_manifest_read(announced->xml->data, announced->xml->size, NULL);
		if (!manifest) {
			return;
		}
		text_add_string(name, etw_manifest_provider_name(manifest, 0));
		kept = keep(manifests, announced, manifest, bytes_most);
		index = kept != NO_MANIFEST ? map_put(&manifests->by_text, key, NULL) : NULL;
		if (index) {
			*index = (uint64_t)kept + 1;
		}
	}
	if (kept != NO_MANIFEST) {
		note_announcement(manifests, announced, kept);
	} else {
		manifests->dropped++;
	}
}

void trace_manifests_look(struct trace_manifests *manifests, const struct etw_record *record)
{
	manifests->dropped += !manifest_holds_look(&manifests->holds, record);
}

/* ---- what the manifests of a provider say ---- */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Returns the sort key of an event: provider, id, version and rank of the manifest. */
static uint64_t order_of(uint32_t provider, uint16_t id, uint8_t version, uint32_t rank)
{
	return (uint64_t)provider << 38 | (uint64_t)id << 22 | (uint64_t)version << 14 | rank;
}

_Static_assert(TRACE_MANIFESTS_MOST <= 1 << 14, "a rank has 14 bits");

/* Returns whether the key `other` has the same provider, id and version. */
static bool same_event(const struct described_event *event, uint64_t other)
{
	return event->order >> 14 == other >> 14;
}

/* Adds the events of one manifest. Returns false if there is no memory. */
static bool add_events(struct trace_manifests *manifests, struct schema_hashes *hashes,
		       uint32_t kept)
{
	const struct kept_manifest *manifest = &manifests->kept[kept];
	struct etw_manifest_event event;
	struct described_event *grown;

	for (size_t i = 0; etw_manifest_event(manifest->manifest, 0, i, &event); i++) {
		const struct described_event described = {
			.schema = event.schema,
			.order = order_of(manifest->provider, event.id, event.version,
					  manifest->rank),
			.layout = schema_hash(hashes, event.schema),
			.kept = kept
		};
		const struct described_event *before =
			manifests->event_count > 0 ?
				&manifests->events[manifests->event_count - 1] :
				NULL;

		if (before && before->order == described.order) {
			continue; /* if a manifest describes an event twice, the first is used */
		}
		grown = array_grow(manifests->events, &manifests->event_capacity,
				   manifests->event_count, sizeof *grown);
		if (!grown) {
			return false;
		}
		manifests->events = grown;
		if (hashes->failed) {
			return false;
		}
		manifests->events[manifests->event_count++] = described;
	}
	return true;
}

static int compare_events(const void *left, const void *right)
{
	const struct described_event *a = left, *b = right;

	return (a->order > b->order) - (a->order < b->order);
}

/* Joins equal layouts of one event, whose descriptions are [first, end). Returns false if there is
 * no memory. */
static bool join_layouts(struct trace_manifests *manifests, size_t first, size_t end)
{
	struct map newest = { .seed = hash_seed() }; /* layout -> index of the manifest */
	struct described_event *events = manifests->events;
	bool differs = false, joined = true;

	for (size_t i = first; i < end && end - first > 1 && joined; i++) {
		bool added;
		uint64_t *kept = map_put(&newest, events[i].layout, &added);

		joined = kept != NULL;
		if (kept && added) {
			*kept = events[i].kept;
			differs |= i > first;
		} else if (kept) {
			events[i].kept = (uint32_t)*kept;
		}
	}
	for (size_t i = first; i < end; i++) {
		events[i].differs = differs;
	}
	manifests->differ |= differs;
	map_done(&newest);
	return joined;
}

/* Fills in `events`. If there is no memory, `events` stays empty, and the newest manifest of each
 * provider decodes all its events. */
static void make_events(struct trace_manifests *manifests)
{
	struct schema_hashes hashes = { .known = { .seed = hash_seed() } };
	bool made = true;

	for (uint32_t provider = 0; provider < manifests->source_count && made; provider++) {
		const struct source_manifests *source = &manifests->sources[provider];

		for (uint32_t i = 0; i < source->count && source->count > 1 && made; i++) {
			made = add_events(manifests, &hashes, manifests->sorted[source->first + i]);
		}
	}
	if (manifests->event_count > 0) {
		sort_items(manifests->events, manifests->event_count, sizeof *manifests->events,
			   compare_events);
	}
	for (size_t first = 0, end; first < manifests->event_count && made; first = end) {
		for (end = first + 1;
		     end < manifests->event_count &&
		     same_event(&manifests->events[first], manifests->events[end].order);
		     end++) {
		}
		made = join_layouts(manifests, first, end);
	}
	if (!made) {
		memory_note_loss();
		manifests->event_count = 0;
		manifests->differ = false;
	}
	schema_hashes_done(&hashes);
}

/* ---- ready for look-ups ---- */

/* An element that sort_manifests() sorts. It leads to all keys, because a comparison gets nothing
 * else. */
struct ranked {
	const struct kept_manifest *manifest;
	uint32_t kept;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct kept_manifest *a = ((const struct ranked *)left)->manifest;
	const struct kept_manifest *b = ((const struct ranked *)right)->manifest;
	int order = compare(a->provider, b->provider);

	order = order ? order : compare(b->time, a->time);
	return order ? order : compare(b->order, a->order);
}

/* Fills in `sorted` and `sources`. Returns false if there is no memory. */
static bool sort_manifests(struct trace_manifests *manifests)
{
	size_t count = manifests->kept_count;
	struct ranked *ranked = calloc(count, sizeof *ranked);
	uint32_t sources;

	manifests->sorted = calloc(count, sizeof *manifests->sorted);
	if (!ranked || !manifests->sorted) {
		free(ranked);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		ranked[i] = (struct ranked){ &manifests->kept[i], (uint32_t)i };
	}
	sort_items(ranked, count, sizeof *ranked, compare_ranks);
	sources = ranked[count - 1].manifest->provider + 1;
	manifests->sources = calloc(sources, sizeof *manifests->sources);
	manifests->source_count = manifests->sources ? sources : 0;
	for (uint32_t i = 0; i < count && manifests->sources; i++) {
		struct kept_manifest *kept = &manifests->kept[ranked[i].kept];
		struct source_manifests *source = &manifests->sources[kept->provider];

		source->first = source->count == 0 ? i : source->first;
		kept->rank = source->count++;
		manifests->sorted[i] = ranked[i].kept;
	}
	free(ranked);
	return manifests->sources != NULL;
}

void trace_manifests_finish(struct trace_manifests *manifests)
{
	unmake(manifests);
	if (manifests->kept_count == 0) {
		return;
	}
	if (!sort_manifests(manifests)) {
		memory_note_loss();
		return;
	}
	make_events(manifests);
	if (manifests->differ) {
		manifest_holds_finish(&manifests->holds);
	}
}

/* ---- look-ups ---- */

/* Returns the first event whose order is not below this one; the end of the array if there is
 * none. */
static const struct described_event *lower_bound(const struct trace_manifests *manifests,
						 uint64_t order)
{
	size_t low = 0, high = manifests->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (manifests->events[middle].order < order) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return manifests->events + low;
}

/* Returns the description in the newest manifest that has exactly this event. If the layouts differ
 * and the manifest of the event's process has the event, it returns that one. Returns NULL if no
 * manifest has the event. */
static const struct described_event *find_event(const struct trace_manifests *manifests,
						uint32_t provider, const struct etw_record *record,
						uint8_t version)
{
	const struct described_event *end = manifests->events + manifests->event_count;
	uint64_t order = order_of(provider, record->id, version, 0);
	const struct described_event *newest = lower_bound(manifests, order), *own;
	uint32_t kept;

	if (newest == end || !same_event(newest, order)) {
		return NULL;
	}
	kept = newest->differs ? manifest_holds_find(&manifests->holds, provider, record) :
				 NO_MANIFEST;
	if (kept == NO_MANIFEST) {
		return newest;
	}
	order |= manifests->kept[kept].rank;
	own = lower_bound(manifests, order);
	return own != end && own->order == order ? own : newest;
}

const struct etw_schema *trace_manifests_find(const struct trace_manifests *manifests,
					      uint32_t provider, const struct etw_record *record,
					      uint32_t *manifest_id)
{
	const struct source_manifests *source =
		provider < manifests->source_count ? &manifests->sources[provider] : NULL;
	const struct described_event *event;

	*manifest_id = 0;
	if (!source || source->count == 0) {
		return NULL;
	}
	if (source->count == 1 || manifests->event_count == 0) {
		return manifest_schema(manifests->kept[manifests->sorted[source->first]].manifest,
				       0, record->id, record->version, record->opcode);
	}
	event = find_event(manifests, provider, record, record->version);
	if (!event && record->version != 0) {
		event = find_event(manifests, provider, record, 0);
	}
	if (!event) {
		return NULL;
	}
	if (event->differs) {
		*manifest_id = event->kept + 1;
	}
	return event->schema;
}

bool trace_manifests_differ(const struct trace_manifests *manifests)
{
	return manifests->differ;
}

size_t trace_manifests_bytes(const struct trace_manifests *manifests)
{
	return manifests->bytes;
}

uint64_t trace_manifests_dropped(const struct trace_manifests *manifests)
{
	return manifests->dropped;
}
