/* SPDX-License-Identifier: MIT */
/*
 * Resolves the names in a manifest that has been read, and has the look-up functions.
 *
 * In XML, events name their templates, fields their maps, and all of them strings and named
 * numbers, often before those are declared. So the reader stores names as texts, and this file
 * replaces them by their elements once all elements are known. Texts do not move any more then, so
 * that schemas and maps can point into them.
 *
 * Manifests that Windows writes about its own providers refer to maps and templates that they do
 * not define, and describe an event twice. So neither is an error. A field without its map has
 * plain numbers, and an event of a checked manifest without its template is left out. If an event
 * is described twice, the description with the right opcode is used, else the first. Finally the
 * events are sorted by provider, id and version, so a look-up is a binary search.
 */
#include "lib/decode/manifest/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "lib/decode/manifest/manifest_internal.h"

/* ---- strings and maps ---- */

enum { NAME_SIZE_MOST = 1024 };

/* Removes white space at the end, which some messages have. Longer texts than NAME_SIZE_MOST are
 * cut. */
static void trim(char *text)
{
	size_t size = strlen(text);

	if (size > NAME_SIZE_MOST) {
		for (size = NAME_SIZE_MOST; ((unsigned char)text[size] & 0xc0) == 0x80; size--) {
		}
		text[size] = '\0';
	}
	while (size > 0 && (unsigned char)text[size - 1] <= ' ') {
		text[--size] = '\0';
	}
}

/*
 * Returns the text of a message: "$(string.ID)" stands for the string with this id. Files written
 * by tools of Windows may lack the string; then the id is the text.
 */
static const char *message_text(struct manifest_reader *reader, uint32_t offset)
{
	static const char before[] = "$(string.";
	struct etw_text *texts = &reader->manifest->texts;
	const uint64_t *known;
	char *text, *end;

	if (offset == NO_TEXT) {
		return NULL;
	}
	text = texts->data + offset;
	trim(text);
	end = strchr(text, ')');
	if (strncmp(text, before, sizeof before - 1) == 0 && end && !end[1]) {
		text += sizeof before - 1;
		*end = '\0';
		known = map_find(&reader->known_strings, manifest_key(reader, 0, 0, text));
		if (known && *known != 0) {
			text = texts->data + *known - 1;
			trim(text);
		}
	}
	return *text ? text : NULL;
}

static void resolve_maps(struct manifest_reader *reader)
{
	struct etw_manifest *manifest = reader->manifest;

	manifest->value_names =
		calloc(reader->map_entries_count + 1, sizeof *manifest->value_names);
	if (!manifest->value_names) {
		reader->failed = true;
		return;
	}
	manifest->value_name_count = reader->map_entries_count;
	for (size_t i = 0; i < manifest->maps_count; i++) {
		struct manifest_map *map = &manifest->maps[i];
		uint32_t count = map->map.count;

		map->map.name = manifest_text(manifest, map->name);
		map->map.names = manifest->value_names + map->first;
		map->map.count = 0;
		for (uint32_t j = 0; j < count; j++) {
			const struct manifest_map_entry *entry =
				&reader->map_entries[map->first + j];
			const char *name = message_text(reader, entry->message);

			if (name) {
				map->map.names[map->map.count++] =
					(struct etw_value_name){ .value = entry->value,
								 .name = name };
			}
		}
		value_map_sort(&map->map);
	}
}

static void resolve_map_uses(struct manifest_reader *reader)
{
	struct etw_manifest *manifest = reader->manifest;

	for (size_t i = 0; i < reader->map_uses_count; i++) {
		const struct manifest_map_use *use = &reader->map_uses[i];
		const struct built_fields *fields = &manifest->templates[use->template];
		const char *name = manifest_text(manifest, use->name);
		const uint64_t *known =
			name ? map_find(&reader->known_maps,
					manifest_key(reader, use->provider, 0, name)) :
			       NULL;

		if (!known) {
			manifest_warn(reader, &use->at,
				      "there is no map '%.80s', so the values have no names",
				      name ? name : "");
		} else if (use->field < fields->count) {
			fields->fields[use->field].map = &manifest->maps[*known - 1].map;
		}
	}
}

/* ---- names with numbers ---- */

/* "winmeta.xml" of the Windows SDK. */
static const struct {
	uint64_t value;
	const char *name;
	enum manifest_word word;
} standard[] = {
	{ 0, "win:Info", WORD_OPCODE },
	{ 1, "win:Start", WORD_OPCODE },
	{ 2, "win:Stop", WORD_OPCODE },
	{ 3, "win:DC_Start", WORD_OPCODE },
	{ 4, "win:DC_Stop", WORD_OPCODE },
	{ 5, "win:Extension", WORD_OPCODE },
	{ 6, "win:Reply", WORD_OPCODE },
	{ 7, "win:Resume", WORD_OPCODE },
	{ 8, "win:Suspend", WORD_OPCODE },
	{ 9, "win:Send", WORD_OPCODE },
	{ 240, "win:Receive", WORD_OPCODE },
	{ 0, "win:LogAlways", WORD_LEVEL },
	{ 1, "win:Critical", WORD_LEVEL },
	{ 2, "win:Error", WORD_LEVEL },
	{ 3, "win:Warning", WORD_LEVEL },
	{ 4, "win:Informational", WORD_LEVEL },
	{ 5, "win:Verbose", WORD_LEVEL },
	{ UINT64_C(1) << 48, "win:ResponseTime", WORD_KEYWORD },
	{ UINT64_C(1) << 49, "win:WDIContext", WORD_KEYWORD },
	{ UINT64_C(1) << 50, "win:WDIDiag", WORD_KEYWORD },
	{ UINT64_C(1) << 51, "win:SQM", WORD_KEYWORD },
	{ UINT64_C(1) << 52, "win:AuditFailure", WORD_KEYWORD },
	{ UINT64_C(1) << 53, "win:AuditSuccess", WORD_KEYWORD },
	{ UINT64_C(1) << 54, "win:CorrelationHint", WORD_KEYWORD },
	{ UINT64_C(1) << 55, "win:EventlogClassic", WORD_KEYWORD },
};

enum { STANDARD = sizeof standard / sizeof standard[0] };

bool manifest_standard_value(enum manifest_word word, const char *name, uint64_t *value)
{
	for (size_t i = 0; i < STANDARD; i++) {
		if (standard[i].word == word && strcmp(standard[i].name, name) == 0) {
			*value = standard[i].value;
			return true;
		}
	}
	return false;
}

const char *manifest_standard_name(enum manifest_word word, uint64_t value)
{
	for (size_t i = 0; i < STANDARD; i++) {
		if (standard[i].word == word && standard[i].value == value) {
			return standard[i].name;
		}
	}
	return NULL;
}

static uint64_t named_value(const struct manifest_reader *reader, uint64_t key)
{
	const uint64_t *known = map_find(&reader->known_named, key);

	return known && *known != 0 ? reader->manifest->named[*known - 1].value : UINT64_MAX;
}

/* Returns the value of a name; 0 if it is not defined. The numbers are only shown. */
static uint64_t value_of(const struct manifest_reader *reader, uint32_t provider,
			 enum manifest_word word, const char *task, const char *name)
{
	uint64_t key, value = UINT64_MAX;

	if (!name) {
		return 0;
	}
	key = manifest_key(reader, provider, word, name);
	if (task) {
		value = named_value(reader, key ^ manifest_key(reader, 0, WORD_TASK, task));
	}
	if (value == UINT64_MAX) {
		value = named_value(reader, key);
	}
	if (value == UINT64_MAX && !manifest_standard_value(word, name, &value)) {
		return 0;
	}
	return value;
}

/* Returns the union of the masks of a list of names separated by blanks. It changes the text. */
static uint64_t keyword_mask(const struct manifest_reader *reader, uint32_t provider,
			     uint32_t offset)
{
	char *at = offset != NO_TEXT ? reader->manifest->texts.data + offset : NULL;
	uint64_t mask = 0;

	while (at && *at) {
		size_t size = strcspn(at, " \t\r\n");
		char *next = at + size + (at[size] != '\0');

		at[size] = '\0';
		mask |= *at ? value_of(reader, provider, WORD_KEYWORD, NULL, at) : 0;
		at = next;
	}
	return mask;
}

/* ---- events ---- */

/* Resolves the names of an event. Returns false if the event must be left out. */
static bool resolve_event(struct manifest_reader *reader, struct manifest_event_row *event)
{
	struct etw_manifest *manifest = reader->manifest;
	const char *template = manifest_text(manifest, event->template);
	const char *task = manifest_text(manifest, event->task_name);
	const uint64_t *known =
		template ? map_find(&reader->known_templates,
				    manifest_key(reader, event->provider, 0, template)) :
			   NULL;

	event->schema = (struct etw_schema){
		.event = manifest_text(manifest, event->name),
		.symbol = manifest_text(manifest, event->symbol),
		.origin = ETW_SCHEMA_MANIFEST,
	};
	if (known) {
		const struct built_fields *fields = &manifest->templates[*known - 1];

		event->schema.fields = fields->fields;
		event->schema.field_count = fields->count;
		event->schema.first_variable = fields->first_variable;
	} else if (template) {
		manifest_warn(reader, &event->at,
			      "event %u: there is no template '%.80s', so the event has no layout",
			      event->id, template);
	}
	event->task = (uint16_t)value_of(reader, event->provider, WORD_TASK, NULL, task);
	event->opcode = (uint8_t)value_of(reader, event->provider, WORD_OPCODE, task,
					  manifest_text(manifest, event->opcode_name));
	event->level = (uint8_t)value_of(reader, event->provider, WORD_LEVEL, NULL,
					 manifest_text(manifest, event->level_name));
	event->keywords = keyword_mask(reader, event->provider, event->keyword_names);
	return known || !template || !reader->checked;
}

static void resolve_events(struct manifest_reader *reader)
{
	struct etw_manifest *manifest = reader->manifest;
	size_t kept = 0;

	for (size_t i = 0; i < manifest->events_count; i++) {
		if (resolve_event(reader, &manifest->events[i])) {
			manifest->events[kept++] = manifest->events[i];
		}
	}
	manifest->events_count = kept;
}

static int compare_events(const void *left, const void *right)
{
	const struct manifest_event_row *a = left, *b = right;

	if (a->provider != b->provider) {
		return a->provider < b->provider ? -1 : 1;
	}
	if (a->id != b->id) {
		return a->id < b->id ? -1 : 1;
	}
	if (a->version != b->version) {
		return a->version < b->version ? -1 : 1;
	}
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool same_event(const struct manifest_event_row *a, const struct manifest_event_row *b)
{
	return a->provider == b->provider && a->id == b->id && a->version == b->version;
}

/* Removes events that an earlier one with the same id, version and opcode hides. So one id and
 * version has at most as many events as there are opcodes, and look-ups are short. */
static void drop_hidden_events(struct manifest_reader *reader)
{
	struct etw_manifest *manifest = reader->manifest;
	uint8_t opcodes[(UINT8_MAX + 1) / 8] = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < manifest->events_count; i++) {
		const struct manifest_event_row *event = &manifest->events[i];
		uint8_t bit = (uint8_t)(1U << event->opcode % 8);

		if (kept == 0 || !same_event(&manifest->events[kept - 1], event)) {
			memset(opcodes, 0, sizeof opcodes);
		}
		if (opcodes[event->opcode / 8] & bit) {
			manifest_warn(reader, &event->at,
				      "event %u of version %u is defined twice with opcode %u; the "
				      "first one counts",
				      event->id, event->version, event->opcode);
			continue;
		}
		opcodes[event->opcode / 8] |= bit;
		manifest->events[kept++] = *event;
	}
	manifest->events_count = kept;
}

/* Events are sorted by provider, id and version. */
static void sort_events(struct manifest_reader *reader)
{
	struct etw_manifest *manifest = reader->manifest;

	if (manifest->events_count > 0) {
		sort_items(manifest->events, manifest->events_count, sizeof *manifest->events,
			   compare_events);
	}
	drop_hidden_events(reader);
	for (size_t i = 0, provider = 0; provider < manifest->providers_count; provider++) {
		manifest->providers[provider].first_event = i;
		while (i < manifest->events_count && manifest->events[i].provider == provider) {
			i++;
		}
		manifest->providers[provider].event_count =
			i - manifest->providers[provider].first_event;
	}
}

bool manifest_resolve(struct manifest_reader *reader)
{
	resolve_maps(reader);
	if (reader->failed) {
		return false;
	}
	resolve_map_uses(reader);
	resolve_events(reader);
	sort_events(reader);
	return !reader->failed && !reader->refused;
}

/* ---- look-ups ---- */

void etw_manifest_free(struct etw_manifest *manifest)
{
	if (!manifest) {
		return;
	}
	for (size_t i = 0; i < manifest->templates_count; i++) {
		free(manifest->templates[i].fields);
	}
	free(manifest->providers);
	free(manifest->events);
	free(manifest->templates);
	free(manifest->named);
	free(manifest->maps);
	free(manifest->value_names);
	text_free(&manifest->texts);
	free(manifest);
}

size_t manifest_provider_count(const struct etw_manifest *manifest)
{
	return manifest->providers_count;
}

const char *etw_manifest_provider_name(const struct etw_manifest *manifest, size_t index)
{
	return manifest_text(manifest, manifest->providers[index].name);
}

bool manifest_provider_guid(const struct etw_manifest *manifest, size_t index,
			    struct etw_guid *guid)
{
	if (manifest->providers[index].has_guid) {
		*guid = manifest->providers[index].guid;
	}
	return manifest->providers[index].has_guid;
}

/* Returns the index of the provider's first event that is not before (id, version); it can be the
 * index after its last event. */
static size_t lower_bound(const struct etw_manifest *manifest,
			  const struct manifest_provider *provider, uint16_t id, uint8_t version)
{
	size_t low = provider->first_event, high = low + provider->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct manifest_event_row *event = &manifest->events[middle];

		if (event->id < id || (event->id == id && event->version < version)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const struct etw_schema *find_event(const struct etw_manifest *manifest,
					   const struct manifest_provider *provider, uint16_t id,
					   uint8_t version, uint8_t opcode)
{
	size_t end = provider->first_event + provider->event_count;
	const struct manifest_event_row *first = NULL;

	for (size_t at = lower_bound(manifest, provider, id, version); at < end; at++) {
		const struct manifest_event_row *event = &manifest->events[at];

		if (event->id != id || event->version != version) {
			break;
		}
		if (event->opcode == opcode) {
			return &event->schema;
		}
		first = first ? first : event;
	}
	return first ? &first->schema : NULL;
}

const struct etw_schema *manifest_schema_exact(const struct etw_manifest *manifest, size_t index,
					       uint16_t id, uint8_t version, uint8_t opcode)
{
	return find_event(manifest, &manifest->providers[index], id, version, opcode);
}

const struct etw_schema *manifest_schema(const struct etw_manifest *manifest, size_t index,
					 uint16_t id, uint8_t version, uint8_t opcode)
{
	const struct manifest_provider *provider = &manifest->providers[index];
	const struct etw_schema *schema = find_event(manifest, provider, id, version, opcode);

	return schema || version == 0 || manifest->checked ?
		       schema :
		       find_event(manifest, provider, id, 0, opcode);
}

const struct etw_schema *manifest_schema_older(const struct etw_manifest *manifest, size_t index,
					       uint16_t id, uint8_t version, uint8_t opcode)
{
	const struct manifest_provider *provider = &manifest->providers[index];
	size_t at = lower_bound(manifest, provider, id, version);
	const struct manifest_event_row *event;

	if (at == provider->first_event) {
		return NULL;
	}
	event = &manifest->events[at - 1];
	return event->id == id ? find_event(manifest, provider, id, event->version, opcode) : NULL;
}

bool etw_manifest_event(const struct etw_manifest *manifest, size_t index, size_t number,
			struct etw_manifest_event *event)
{
	const struct manifest_provider *provider = &manifest->providers[index];
	const struct manifest_event_row *row;

	if (number >= provider->event_count) {
		return false;
	}
	row = &manifest->events[provider->first_event + number];
	*event = (struct etw_manifest_event){
		.schema = &row->schema,
		.task_name = manifest_text(manifest, row->task_name),
		.opcode_name = manifest_text(manifest, row->opcode_name),
		.keywords = row->keywords,
		.id = row->id,
		.task = row->task,
		.version = row->version,
		.opcode = row->opcode,
		.level = row->level,
	};
	return true;
}

bool manifest_keyword(const struct etw_manifest *manifest, size_t index, size_t *at,
		      const char **name, uint64_t *mask)
{
	while (*at < manifest->named_count) {
		const struct manifest_named *named = &manifest->named[(*at)++];

		if (named->word == WORD_KEYWORD && named->provider == index) {
			*name = manifest_text(manifest, named->name);
			*mask = named->value;
			return true;
		}
	}
	return false;
}

size_t etw_manifest_bytes(const struct etw_manifest *manifest)
{
	return sizeof *manifest + manifest->providers_capacity * sizeof *manifest->providers +
	       manifest->events_capacity * sizeof *manifest->events +
	       manifest->templates_capacity * sizeof *manifest->templates +
	       manifest->named_capacity * sizeof *manifest->named +
	       manifest->maps_capacity * sizeof *manifest->maps +
	       manifest->value_name_count * sizeof *manifest->value_names +
	       manifest->texts.capacity + manifest->field_bytes;
}
