/* SPDX-License-Identifier: MIT */
/*
 * Manifests, read with expat.
 *
 * Prefixes of names vary between writers, so local names are compared and namespaces are not
 * resolved. Events may stand before the templates that they name: who has which fields is settled
 * at the end. Texts are collected in one block and known by their offset until then.
 */
#include "decode/manifest_xml.h"

#include <expat.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "decode/schema_build.h"
#include "decode/tdh_types.h"

enum {
	DEPTH_MOST = 64,
	PROVIDERS_MOST = 1 << 10,
	EVENTS_MOST = 1 << 16,
	TEMPLATES_MOST = 1 << 16,
	TEXTS_SIZE_MOST = 64 << 20,
	NO_TEXT = UINT32_MAX,
};

struct template
{
	struct built_fields fields; /* owned */
};

struct event {
	struct schema schema;
	uint32_t provider; /* index */
	uint16_t id;
	uint8_t version;
	uint32_t order; /* in the manifest: of two descriptions of one event the first serves */
	/* Offsets in texts; NO_TEXT: none. */
	uint32_t name, symbol, template;
};

struct provider {
	uint32_t name;
	struct guid guid;
	bool has_guid;
	size_t first_event; /* in events, once they are sorted */
	size_t event_count;
};

struct manifest {
	struct provider *providers; /* owned */
	size_t provider_count, provider_capacity;
	struct event *events; /* owned */
	size_t event_count, event_capacity;
	struct template *templates; /* owned */
	size_t template_count, template_capacity;
	struct text texts;
	size_t field_bytes;
};

/* ---- the elements ---- */

enum place {
	AT_TOP,
	IN_MANIFEST,
	IN_INSTRUMENTATION,
	IN_EVENTS,
	IN_PROVIDER,
	IN_EVENT_LIST,
	IN_EVENT,
	IN_TEMPLATE_LIST,
	IN_TEMPLATE,
	IN_STRUCT,
	IN_DATA,
	ELSEWHERE,
};

static const struct {
	enum place in;
	const char *element;
	enum place place;
} places[] = {
	{ AT_TOP, "instrumentationManifest", IN_MANIFEST },
	{ IN_MANIFEST, "instrumentation", IN_INSTRUMENTATION },
	{ IN_INSTRUMENTATION, "events", IN_EVENTS },
	{ IN_EVENTS, "provider", IN_PROVIDER },
	{ IN_PROVIDER, "events", IN_EVENT_LIST },
	{ IN_EVENT_LIST, "event", IN_EVENT },
	{ IN_PROVIDER, "templates", IN_TEMPLATE_LIST },
	{ IN_TEMPLATE_LIST, "template", IN_TEMPLATE },
	{ IN_TEMPLATE, "data", IN_DATA },
	{ IN_TEMPLATE, "struct", IN_STRUCT },
	{ IN_STRUCT, "data", IN_DATA },
	{ IN_STRUCT, "struct", IN_STRUCT },
};

struct reader {
	XML_Parser parser;
	struct manifest *manifest;
	uint8_t places[DEPTH_MOST]; /* enum place, of the elements that are open */
	unsigned depth;
	struct schema_builder builder; /* of the template that is open */
	uint32_t template_id;
	struct map templates; /* hash of provider and id -> index + 1 */
	uint64_t seed;
	bool failed;         /* no memory */
	const char *refused; /* why we stopped */
};

/* What an element may say; NULL: it does not. */
struct attributes {
	const char *name, *guid;
	const char *value, *version, *symbol, *task, *opcode, *template;
	const char *tid;
	const char *in_type, *out_type, *count, *length;
};

static const char *local_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static struct attributes find_attributes(const char **pairs)
{
	static const struct {
		const char *name;
		size_t offset;
	} known[] = {
		{ "name", offsetof(struct attributes, name) },
		{ "guid", offsetof(struct attributes, guid) },
		{ "value", offsetof(struct attributes, value) },
		{ "version", offsetof(struct attributes, version) },
		{ "symbol", offsetof(struct attributes, symbol) },
		{ "task", offsetof(struct attributes, task) },
		{ "opcode", offsetof(struct attributes, opcode) },
		{ "template", offsetof(struct attributes, template) },
		{ "tid", offsetof(struct attributes, tid) },
		{ "inType", offsetof(struct attributes, in_type) },
		{ "outType", offsetof(struct attributes, out_type) },
		{ "count", offsetof(struct attributes, count) },
		{ "length", offsetof(struct attributes, length) },
	};
	struct attributes found = { .name = NULL };

	for (; *pairs; pairs += 2) {
		const char *name = local_name(pairs[0]);

		for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
			if (known[i].name[0] == name[0] && strcmp(known[i].name, name) == 0) {
				memcpy((char *)&found + known[i].offset, &pairs[1],
				       sizeof pairs[1]);
				break;
			}
		}
	}
	return found;
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
	uint64_t value;

	if (!text || !parse_u64(text, strlen(text), &value) || value > most) {
		return false;
	}
	*number = value;
	return true;
}

static uint32_t keep_text(struct reader *reader, const char *text)
{
	struct text *texts = &reader->manifest->texts;
	uint32_t offset = (uint32_t)texts->size;

	if (!text || texts->size > TEXTS_SIZE_MOST) {
		return NO_TEXT;
	}
	text_add(texts, text, strlen(text) + 1);
	if (texts->failed) {
		reader->failed = true;
		return NO_TEXT;
	}
	return offset;
}

static const char *text_at(const struct manifest *manifest, uint32_t offset)
{
	return offset != NO_TEXT ? manifest->texts.data + offset : NULL;
}

/* Room for one more element of `size` bytes; false past the bound and without memory. */
static bool make_room(struct reader *reader, void *array, size_t *capacity, size_t count,
		      size_t most, size_t size)
{
	size_t wanted = *capacity ? 2 * *capacity : 16;
	void *old, *grown;

	if (count < *capacity) {
		return true;
	}
	if (count >= most) {
		return false;
	}
	memcpy(&old, array, sizeof old);
	grown = realloc(old, wanted * size);
	if (!grown) {
		reader->failed = true;
		return false;
	}
	memcpy(array, &grown, sizeof grown);
	*capacity = wanted;
	return true;
}

/* ---- what is in them ---- */

static void read_provider(struct reader *reader, const struct attributes *attributes)
{
	struct manifest *manifest = reader->manifest;
	const char *name = attributes->name;
	const char *guid = attributes->guid;
	struct provider *provider;

	if (!make_room(reader, &manifest->providers, &manifest->provider_capacity,
		       manifest->provider_count, PROVIDERS_MOST, sizeof *manifest->providers)) {
		reader->refused = "too many providers";
		return;
	}
	provider = &manifest->providers[manifest->provider_count];
	*provider = (struct provider){ .name = keep_text(reader, name ? name : "") };
	provider->has_guid = guid && guid_parse(guid, &provider->guid);
	if (provider->name == NO_TEXT) {
		reader->refused = "too much text";
		return;
	}
	manifest->provider_count++;
}

/* "Task/Opcode"; where there is no task the symbol, else the opcode, else the id. */
static uint32_t event_name(struct reader *reader, const struct attributes *attributes, uint16_t id)
{
	static const char prefix[] = "win:";
	const char *task = attributes->task;
	const char *opcode = attributes->opcode;
	const char *symbol = attributes->symbol;
	struct text name = { 0 };
	uint32_t kept;

	if (opcode && strncmp(opcode, prefix, sizeof prefix - 1) == 0) {
		opcode += sizeof prefix - 1;
	}
	if (task && *task) {
		text_add_string(&name, task);
		if (opcode && *opcode) {
			text_add_char(&name, '/');
			text_add_string(&name, opcode);
		}
	} else if (symbol && *symbol) {
		text_add_string(&name, symbol);
	} else if (opcode && *opcode) {
		text_add_string(&name, opcode);
	} else {
		text_add_u64(&name, id);
	}
	reader->failed |= name.failed;
	kept = name.failed ? (uint32_t)NO_TEXT : keep_text(reader, name.data);
	text_free(&name);
	return kept;
}

static void read_event(struct reader *reader, const struct attributes *attributes)
{
	struct manifest *manifest = reader->manifest;
	const char *version_text = attributes->version;
	uint64_t id, version = 0;
	struct event event;

	if (!read_number(attributes->value, UINT16_MAX, &id) ||
	    (version_text && !read_number(version_text, UINT8_MAX, &version)) ||
	    !make_room(reader, &manifest->events, &manifest->event_capacity, manifest->event_count,
		       EVENTS_MOST, sizeof *manifest->events)) {
		return;
	}
	event = (struct event){
		.provider = (uint32_t)(manifest->provider_count - 1),
		.id = (uint16_t)id,
		.version = (uint8_t)version,
		.order = (uint32_t)manifest->event_count,
		.name = event_name(reader, attributes, (uint16_t)id),
		.symbol = keep_text(reader, attributes->symbol),
		.template = keep_text(reader, attributes->template),
	};
	if (event.name != NO_TEXT) {
		manifest->events[manifest->event_count++] = event;
	}
}

/* Sets a count or length that is a number or an earlier field's name. */
static void read_told(const struct reader *reader, const char *text, uint8_t fixed,
		      uint8_t by_field, uint8_t *kind, uint16_t *told)
{
	uint64_t number;
	int index;

	if (!text) {
		return;
	}
	if (read_number(text, UINT16_MAX, &number)) {
		*kind = fixed;
		*told = (uint16_t)number;
		return;
	}
	index = schema_build_find(&reader->builder, text);
	if (index >= 0) {
		*kind = by_field;
		*told = (uint16_t)index;
	}
}

static void read_count(const struct reader *reader, const struct attributes *attributes,
		       struct field *field)
{
	read_told(reader, attributes->count, FIELD_COUNT_FIXED, FIELD_COUNT_FIELD,
		  &field->count_kind, &field->count);
}

static void read_data(struct reader *reader, const struct attributes *attributes)
{
	const char *name = attributes->name;
	const char *in_name = attributes->in_type;
	const char *out_name = attributes->out_type;
	int in_type = in_name ? tdh_in_type(in_name) : -1;
	unsigned out_type = out_name ? (unsigned)tdh_out_type(out_name) : TDH_OUT_DEFAULT;
	struct field field = { .count_kind = FIELD_SCALAR };

	if (in_type < 0 || !tdh_field_type(&field, (unsigned)in_type, out_type)) {
		schema_build_stop(&reader->builder);
		return;
	}
	read_count(reader, attributes, &field);
	read_told(reader, attributes->length, FIELD_LENGTH_FIXED, FIELD_LENGTH_FIELD,
		  &field.length_kind, &field.length);
	tdh_field_finish(&field, out_type);
	schema_build_add(&reader->builder, &field, name ? name : "", name ? strlen(name) : 0);
}

static void open_struct(struct reader *reader, const struct attributes *attributes)
{
	const char *name = attributes->name;
	struct field field = { .type = FIELD_STRUCT };

	read_count(reader, attributes, &field);
	schema_build_add(&reader->builder, &field, name ? name : "", name ? strlen(name) : 0);
}

static uint64_t template_key(const struct reader *reader, uint64_t provider, const char *id)
{
	return hash_seeded(text_hash(id, strlen(id), reader->seed) + provider, reader->seed);
}

static void close_template(struct reader *reader)
{
	struct manifest *manifest = reader->manifest;
	const char *id = text_at(manifest, reader->template_id);
	struct template *template;
	uint64_t *known;

	if (!id ||
	    !make_room(reader, &manifest->templates, &manifest->template_capacity,
		       manifest->template_count, TEMPLATES_MOST, sizeof *manifest->templates)) {
		schema_build_done(&reader->builder);
		return;
	}
	template = &manifest->templates[manifest->template_count];
	*template = (struct template){ .fields = { .fields = NULL } };
	known = map_put(&reader->templates, template_key(reader, manifest->provider_count - 1, id),
			NULL);
	if (!known || !schema_build_finish(&reader->builder, &template->fields)) {
		schema_build_done(&reader->builder);
		reader->failed = true;
		return;
	}
	manifest->field_bytes += template->fields.bytes;
	*known = ++manifest->template_count;
}

/* ---- expat's calls ---- */

static void stop(struct reader *reader)
{
	XML_StopParser(reader->parser, XML_FALSE);
}

static void refuse(struct reader *reader, const char *why)
{
	reader->refused = why;
	stop(reader);
}

static enum place place_of(enum place in, const char *name)
{
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if (places[i].in == in && strcmp(places[i].element, name) == 0) {
			return places[i].place;
		}
	}
	return ELSEWHERE;
}

static void on_start(void *context, const char *name, const char **pairs)
{
	struct reader *reader = context;
	const char *none = NULL;
	struct attributes attributes;
	unsigned depth = reader->depth;
	enum place in, place;

	if (depth >= DEPTH_MOST) {
		refuse(reader, "elements are nested too deep");
		return;
	}
	in = depth > 0 ? (enum place)reader->places[depth - 1] : AT_TOP;
	place = place_of(in, local_name(name));
	reader->places[reader->depth++] = (uint8_t)place;
	attributes = find_attributes(place != ELSEWHERE ? pairs : &none);
	switch (place) {
	case IN_PROVIDER:
		read_provider(reader, &attributes);
		break;
	case IN_EVENT:
		read_event(reader, &attributes);
		break;
	case IN_TEMPLATE:
		reader->template_id = keep_text(reader, attributes.tid);
		break;
	case IN_DATA:
		read_data(reader, &attributes);
		break;
	case IN_STRUCT:
		open_struct(reader, &attributes);
		break;
	default:
		break;
	}
	if (reader->failed || reader->builder.failed || reader->refused) {
		stop(reader);
	}
}

static void on_end(void *context, const char *name)
{
	struct reader *reader = context;
	enum place place = (enum place)reader->places[--reader->depth];

	(void)name;
	if (place == IN_STRUCT) {
		schema_build_close(&reader->builder);
	} else if (place == IN_TEMPLATE) {
		close_template(reader);
	}
	if (reader->failed) {
		stop(reader);
	}
}

static void on_doctype(void *context, const char *name, const char *system_id,
		       const char *public_id, int has_internal_subset)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	refuse(context, "a document type is not accepted");
}

/* ---- the whole ---- */

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

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

/* Events get their fields and stand by provider, id and version. */
static void settle(struct reader *reader)
{
	struct manifest *manifest = reader->manifest;

	for (size_t i = 0; i < manifest->event_count; i++) {
		struct event *event = &manifest->events[i];
		const char *template = text_at(manifest, event->template);
		const uint64_t *known =
			template ? map_find(&reader->templates,
					    template_key(reader, event->provider, template)) :
				   NULL;

		event->schema = (struct schema){
			.event = text_at(manifest, event->name),
			.symbol = text_at(manifest, event->symbol),
			.origin = SCHEMA_MANIFEST,
		};
		if (known) {
			const struct built_fields *fields = &manifest->templates[*known - 1].fields;

			event->schema.fields = fields->fields;
			event->schema.field_count = fields->count;
			event->schema.first_variable = fields->first_variable;
		}
	}
	if (manifest->event_count > 0) {
		qsort(manifest->events, manifest->event_count, sizeof *manifest->events,
		      compare_events);
	}
	for (size_t i = 0, provider = 0; provider < manifest->provider_count; provider++) {
		manifest->providers[provider].first_event = i;
		while (i < manifest->event_count && manifest->events[i].provider == provider) {
			i++;
		}
		manifest->providers[provider].event_count =
			i - manifest->providers[provider].first_event;
	}
}

static bool parse(struct reader *reader, const char *xml, size_t size, struct error *err)
{
	enum XML_Status status = XML_Parse(reader->parser, xml, (int)size, 1);

	if (reader->failed || reader->builder.failed) {
		return error_set(err, ERROR_NO_MEMORY, "no memory to read a manifest");
	}
	if (status != XML_STATUS_OK) {
		return error_set(err, ERROR_FORMAT, "line %lu: %s",
				 (unsigned long)XML_GetCurrentLineNumber(reader->parser),
				 reader->refused ?
					 reader->refused :
					 XML_ErrorString(XML_GetErrorCode(reader->parser)));
	}
	if (reader->manifest->provider_count == 0) {
		return error_set(err, ERROR_FORMAT, "the manifest has no provider");
	}
	return true;
}

struct manifest *manifest_read(const char *xml, size_t size, struct error *err)
{
	struct reader reader = { .seed = hash_seed() };
	bool done = false;

	if (size > INT_MAX) {
		error_set(err, ERROR_LIMIT, "a manifest of %zu bytes is too large", size);
		return NULL;
	}
	reader.manifest = calloc(1, sizeof *reader.manifest);
	reader.parser = reader.manifest ? XML_ParserCreate(NULL) : NULL;
	if (!reader.parser) {
		manifest_free(reader.manifest);
		error_set(err, ERROR_NO_MEMORY, "no memory to read a manifest");
		return NULL;
	}
	XML_SetUserData(reader.parser, &reader);
	XML_SetElementHandler(reader.parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(reader.parser, on_doctype);
	done = parse(&reader, xml, size, err);
	if (done) {
		settle(&reader);
	}
	XML_ParserFree(reader.parser);
	schema_build_done(&reader.builder);
	map_done(&reader.templates);
	if (!done) {
		manifest_free(reader.manifest);
		return NULL;
	}
	return reader.manifest;
}

void manifest_free(struct manifest *manifest)
{
	if (!manifest) {
		return;
	}
	for (size_t i = 0; i < manifest->template_count; i++) {
		free(manifest->templates[i].fields.fields);
	}
	free(manifest->providers);
	free(manifest->events);
	free(manifest->templates);
	text_free(&manifest->texts);
	free(manifest);
}

size_t manifest_provider_count(const struct manifest *manifest)
{
	return manifest->provider_count;
}

const char *manifest_provider_name(const struct manifest *manifest, size_t index)
{
	return text_at(manifest, manifest->providers[index].name);
}

bool manifest_provider_guid(const struct manifest *manifest, size_t index, struct guid *guid)
{
	if (manifest->providers[index].has_guid) {
		*guid = manifest->providers[index].guid;
	}
	return manifest->providers[index].has_guid;
}

/* The first event that is not before (id, version); may be the one behind the provider's last. */
static size_t lower_bound(const struct manifest *manifest, const struct provider *provider,
			  uint16_t id, uint8_t version)
{
	size_t low = provider->first_event, high = low + provider->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct event *event = &manifest->events[middle];

		if (event->id < id || (event->id == id && event->version < version)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const struct schema *find_event(const struct manifest *manifest,
				       const struct provider *provider, uint16_t id,
				       uint8_t version)
{
	size_t at = lower_bound(manifest, provider, id, version);
	const struct event *event;

	if (at >= provider->first_event + provider->event_count) {
		return NULL;
	}
	event = &manifest->events[at];
	return event->id == id && event->version == version ? &event->schema : NULL;
}

const struct schema *manifest_schema(const struct manifest *manifest, size_t index, uint16_t id,
				     uint8_t version)
{
	const struct provider *provider = &manifest->providers[index];
	const struct schema *schema = find_event(manifest, provider, id, version);

	return schema || version == 0 ? schema : find_event(manifest, provider, id, 0);
}

size_t manifest_bytes(const struct manifest *manifest)
{
	return sizeof *manifest + manifest->provider_capacity * sizeof *manifest->providers +
	       manifest->event_capacity * sizeof *manifest->events +
	       manifest->template_capacity * sizeof *manifest->templates +
	       manifest->texts.capacity + manifest->field_bytes;
}
