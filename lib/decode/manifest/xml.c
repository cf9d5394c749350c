/* SPDX-License-Identifier: MIT */
/*
 * Reads the XML of manifests with expat.
 *
 * The meaning of an element depends on its place: only an "event" inside the "events" of a provider
 * is an event. So each open element has a place, found in a table by the place of its parent and
 * its name. An element that is not in the table is skipped with all its content. Prefixes of names
 * vary between writers, so local names are compared and namespaces are not resolved. elements.c
 * stores the content of elements; after the last one, manifest_resolve() resolves names.
 *
 * The XML may come from any process. A document type is refused, because it could declare entities
 * that grow without bound, and nesting is limited. The first refusal stops the parser.
 */
#include "lib/decode/manifest/manifest.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/decode/manifest/manifest_internal.h"

enum place {
	AT_TOP,
	IN_MANIFEST,
	IN_INSTRUMENTATION,
	IN_EVENTS,
	IN_PROVIDER,
	IN_EVENT_LIST,
	IN_EVENT,
	IN_TASK_LIST,
	IN_TASK,
	IN_OPCODE_LIST,
	IN_OPCODE,
	IN_LEVEL_LIST,
	IN_LEVEL,
	IN_KEYWORD_LIST,
	IN_KEYWORD,
	IN_MAP_LIST,
	IN_VALUE_MAP,
	IN_BIT_MAP,
	IN_MAP_ENTRY,
	IN_TEMPLATE_LIST,
	IN_TEMPLATE,
	IN_STRUCT,
	IN_DATA,
	IN_LOCALIZATION,
	IN_RESOURCES,
	IN_STRING_LIST,
	IN_STRING,
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
	{ IN_PROVIDER, "tasks", IN_TASK_LIST },
	{ IN_TASK_LIST, "task", IN_TASK },
	{ IN_TASK, "opcodes", IN_OPCODE_LIST },
	{ IN_PROVIDER, "opcodes", IN_OPCODE_LIST },
	{ IN_OPCODE_LIST, "opcode", IN_OPCODE },
	{ IN_PROVIDER, "levels", IN_LEVEL_LIST },
	{ IN_LEVEL_LIST, "level", IN_LEVEL },
	{ IN_PROVIDER, "keywords", IN_KEYWORD_LIST },
	{ IN_KEYWORD_LIST, "keyword", IN_KEYWORD },
	{ IN_PROVIDER, "maps", IN_MAP_LIST },
	{ IN_MAP_LIST, "valueMap", IN_VALUE_MAP },
	{ IN_MAP_LIST, "bitMap", IN_BIT_MAP },
	{ IN_VALUE_MAP, "map", IN_MAP_ENTRY },
	{ IN_BIT_MAP, "map", IN_MAP_ENTRY },
	{ IN_PROVIDER, "templates", IN_TEMPLATE_LIST },
	{ IN_TEMPLATE_LIST, "template", IN_TEMPLATE },
	{ IN_TEMPLATE, "data", IN_DATA },
	{ IN_TEMPLATE, "struct", IN_STRUCT },
	{ IN_TEMPLATE, "UserData", ELSEWHERE }, /* the form in event logs */
	{ IN_STRUCT, "data", IN_DATA },
	{ IN_STRUCT, "struct", IN_STRUCT },
	{ IN_MANIFEST, "localization", IN_LOCALIZATION },
	{ IN_LOCALIZATION, "resources", IN_RESOURCES },
	{ IN_RESOURCES, "stringTable", IN_STRING_LIST },
	{ IN_STRING_LIST, "string", IN_STRING },
};

/* A document while it is parsed. */
struct document {
	XML_Parser parser;
	struct manifest_reader reader;
	uint8_t places[MANIFEST_DEPTH_MOST]; /* enum place of each open element */
	unsigned depth;
};

static const char *local_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static struct manifest_attributes find_attributes(const char **pairs)
{
	static const struct {
		const char *name;
		size_t offset;
	} known[] = {
		{ "name", offsetof(struct manifest_attributes, name) },
		{ "guid", offsetof(struct manifest_attributes, guid) },
		{ "value", offsetof(struct manifest_attributes, value) },
		{ "version", offsetof(struct manifest_attributes, version) },
		{ "symbol", offsetof(struct manifest_attributes, symbol) },
		{ "task", offsetof(struct manifest_attributes, task) },
		{ "opcode", offsetof(struct manifest_attributes, opcode) },
		{ "level", offsetof(struct manifest_attributes, level) },
		{ "keywords", offsetof(struct manifest_attributes, keywords) },
		{ "template", offsetof(struct manifest_attributes, template) },
		{ "tid", offsetof(struct manifest_attributes, tid) },
		{ "inType", offsetof(struct manifest_attributes, in_type) },
		{ "outType", offsetof(struct manifest_attributes, out_type) },
		{ "count", offsetof(struct manifest_attributes, count) },
		{ "length", offsetof(struct manifest_attributes, length) },
		{ "map", offsetof(struct manifest_attributes, map) },
		{ "message", offsetof(struct manifest_attributes, message) },
		{ "mask", offsetof(struct manifest_attributes, mask) },
		{ "id", offsetof(struct manifest_attributes, id) },
		{ "culture", offsetof(struct manifest_attributes, culture) },
	};
	struct manifest_attributes found = { .name = NULL };

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

static void stop_if_over(struct document *document)
{
	const struct manifest_reader *reader = &document->reader;

	if (manifest_lacks_memory(reader) || reader->refused) {
		XML_StopParser(document->parser, XML_FALSE);
	}
}

static enum place place_of(struct document *document, enum place in, const char *name)
{
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if (places[i].in == in && strcmp(places[i].element, name) == 0) {
			return places[i].place;
		}
	}
	if (in == IN_TEMPLATE || in == IN_STRUCT) {
		/* If the element were skipped, payloads would be decoded wrongly. */
		MANIFEST_FAULT(&document->reader, &document->reader.at,
			       "unknown element '%s' among the fields", name);
	}
	return ELSEWHERE;
}

/* Returns whether strings of this culture are preferred. Manifests of Windows are in American
 * English. */
static bool is_preferred(const char *culture)
{
	return culture && text_equal_nocase(culture, strlen(culture), "en-US", 5);
}

static void begin_element(struct manifest_reader *reader, enum place place,
			  const struct manifest_attributes *attributes)
{
	switch (place) {
	case IN_PROVIDER:
		manifest_read_provider(reader, attributes);
		break;
	case IN_EVENT:
		manifest_read_event(reader, attributes);
		break;
	case IN_TASK:
		manifest_read_named(reader, attributes, WORD_TASK);
		break;
	case IN_OPCODE:
		manifest_read_named(reader, attributes, WORD_OPCODE);
		break;
	case IN_LEVEL:
		manifest_read_named(reader, attributes, WORD_LEVEL);
		break;
	case IN_KEYWORD:
		manifest_read_named(reader, attributes, WORD_KEYWORD);
		break;
	case IN_VALUE_MAP:
	case IN_BIT_MAP:
		manifest_read_map(reader, attributes, place == IN_BIT_MAP);
		break;
	case IN_MAP_ENTRY:
		manifest_read_map_entry(reader, attributes);
		break;
	case IN_TEMPLATE:
		manifest_open_template(reader, attributes);
		break;
	case IN_DATA:
		manifest_read_data(reader, attributes);
		break;
	case IN_STRUCT:
		manifest_open_struct(reader, attributes);
		break;
	case IN_RESOURCES:
		reader->preferred_strings = is_preferred(attributes->culture);
		break;
	case IN_STRING:
		manifest_read_string(reader, attributes);
		break;
	default:
		break;
	}
}

/* ---- callbacks of expat ---- */

static void note_place(struct document *document)
{
	document->reader.at.offset = (int64_t)XML_GetCurrentByteIndex(document->parser);
}

static void on_start(void *context, const char *name, const char **pairs)
{
	struct document *document = context;
	const char *none = NULL;
	struct manifest_attributes attributes;
	unsigned depth = document->depth;
	enum place in, place;

	note_place(document);
	if (depth >= MANIFEST_DEPTH_MOST) {
		manifest_refuse(&document->reader, &document->reader.at,
				"elements are nested too deep");
		stop_if_over(document);
		return;
	}
	in = depth > 0 ? (enum place)document->places[depth - 1] : AT_TOP;
	place = place_of(document, in, local_name(name));
	document->places[document->depth++] = (uint8_t)place;
	attributes = find_attributes(place != ELSEWHERE ? pairs : &none);
	begin_element(&document->reader, place, &attributes);
	stop_if_over(document);
}

static void on_end(void *context, const char *name)
{
	struct document *document = context;
	struct manifest_reader *reader = &document->reader;

	(void)name;
	switch ((enum place)document->places[--document->depth]) {
	case IN_STRUCT:
		schema_build_close(&reader->builder);
		break;
	case IN_TEMPLATE:
		manifest_close_template(reader);
		break;
	case IN_TASK:
		reader->task = NO_TEXT;
		break;
	default:
		break;
	}
	stop_if_over(document);
}

static void on_doctype(void *context, const char *name, const char *system_id,
		       const char *public_id, int has_internal_subset)
{
	struct document *document = context;

	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	note_place(document);
	manifest_refuse(&document->reader, &document->reader.at,
			"a document type declaration is not allowed");
	stop_if_over(document);
}

/* ---- the place of a mistake ---- */

struct sought {
	int64_t offset;
	unsigned line, column; /* both start at 1; 0: not found yet */
};

/* A search for the lines and columns of places in a document. The document is parsed again for it,
 * because counting lines for every element would slow the first parse by a tenth. */
struct place_search {
	XML_Parser parser;
	struct sought *sought;
	size_t count, found;
};

static void take_place(struct place_search *search, struct sought *place)
{
	place->line = (unsigned)XML_GetCurrentLineNumber(search->parser);
	place->column = (unsigned)XML_GetCurrentColumnNumber(search->parser) + 1;
	search->found++;
}

static void look_at_places(struct place_search *search)
{
	int64_t offset = (int64_t)XML_GetCurrentByteIndex(search->parser);

	for (size_t i = 0; i < search->count; i++) {
		if (search->sought[i].line == 0 && search->sought[i].offset == offset) {
			take_place(search, &search->sought[i]);
		}
	}
	if (search->found == search->count) {
		XML_StopParser(search->parser, XML_FALSE);
	}
}

static void on_start_again(void *context, const char *name, const char **pairs)
{
	(void)name;
	(void)pairs;
	look_at_places(context);
}

static void on_doctype_again(void *context, const char *name, const char *system_id,
			     const char *public_id, int has_internal_subset)
{
	struct place_search *search = context;

	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	look_at_places(search);
	search->sought[0].column = 1; /* expat reports some place inside it */
	XML_StopParser(search->parser, XML_FALSE);
}

/* Finds line and column of elements, of the document type, or else of the place where the XML is
 * malformed. */
static bool find_places(struct sought *sought, size_t count, const char *xml, size_t size)
{
	struct place_search search = { .sought = sought, .count = count };

	search.parser = XML_ParserCreate(NULL);
	if (!search.parser) {
		return false;
	}
	XML_SetUserData(search.parser, &search);
	XML_SetStartElementHandler(search.parser, on_start_again);
	XML_SetStartDoctypeDeclHandler(search.parser, on_doctype_again);
	(void)XML_Parse(search.parser, xml, (int)size, 1);
	for (size_t i = 0; i < count; i++) {
		if (sought[i].line == 0) {
			take_place(&search, &sought[i]);
		}
	}
	XML_ParserFree(search.parser);
	return true;
}

static void describe_refusal(const struct manifest_reader *reader, const char *xml, size_t size,
			     struct etw_error *err)
{
	struct sought place = { .offset = reader->why_at.offset };

	if (!err) {
		return;
	}
	if (place.offset < 0) {
		place.line = place.column = 1;
	} else if (!find_places(&place, 1, xml, size)) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to read a manifest");
		return;
	}
	error_set(err, reader->why.code, "%u:%u: %s", place.line, place.column, reader->why.text);
}

static void describe_warnings(const struct manifest_reader *reader, const char *xml, size_t size,
			      const struct etw_manifest_warnings *warnings)
{
	size_t count = reader->warning_count < MANIFEST_WARNINGS_MOST ? reader->warning_count :
									MANIFEST_WARNINGS_MOST;
	struct sought sought[MANIFEST_WARNINGS_MOST];
	char sentence[sizeof reader->warnings[0].sentence + 40];

	if (!warnings || !warnings->warn || count == 0) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sought[i] = (struct sought){ .offset = reader->warnings[i].at.offset };
	}
	if (!find_places(sought, count, xml, size)) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		snprintf(sentence, sizeof sentence, "%u:%u: warning: %s", sought[i].line,
			 sought[i].column, reader->warnings[i].sentence);
		warnings->warn(warnings->context, sentence);
	}
	if (reader->warning_count > count) {
		snprintf(sentence, sizeof sentence, "%u:%u: warning: and %zu more like these",
			 sought[count - 1].line, sought[count - 1].column,
			 reader->warning_count - count);
		warnings->warn(warnings->context, sentence);
	}
}

/* ---- the whole document ---- */

static bool parse(struct document *document, const char *xml, size_t size)
{
	static const struct manifest_at top = { .offset = -1 };
	struct manifest_reader *reader = &document->reader;
	enum XML_Status status = XML_Parse(document->parser, xml, (int)size, 1);

	if (XML_GetErrorCode(document->parser) == XML_ERROR_NO_MEMORY) {
		reader->failed = true;
	}
	if (manifest_lacks_memory(reader)) {
		return false;
	}
	if (status != XML_STATUS_OK) {
		note_place(document);
		manifest_refuse(reader, &reader->at, "invalid XML: %s",
				XML_ErrorString(XML_GetErrorCode(document->parser)));
		return false;
	}
	if (reader->manifest->providers_count == 0) {
		manifest_refuse(reader, &top, "the manifest has no provider");
		return false;
	}
	return manifest_resolve(reader);
}

static void reader_done(struct manifest_reader *reader)
{
	schema_build_done(&reader->builder);
	map_done(&reader->known_templates);
	map_done(&reader->known_maps);
	map_done(&reader->known_strings);
	map_done(&reader->known_named);
	free(reader->map_entries);
	free(reader->map_uses);
}

static struct etw_manifest *read_manifest(const char *xml, size_t size, bool checked,
					  const struct etw_manifest_warnings *warnings,
					  struct etw_error *err)
{
	struct document document = {
		.reader = { .checked = checked, .task = NO_TEXT, .seed = hash_seed() }
	};
	struct manifest_reader *reader = &document.reader;
	bool done;

	if (size > INT_MAX) {
		error_set(err, ETW_ERROR_LIMIT, "a manifest of %zu bytes is too large", size);
		return NULL;
	}
	reader->manifest = calloc(1, sizeof *reader->manifest);
	document.parser = reader->manifest ? XML_ParserCreate(NULL) : NULL;
	if (!document.parser) {
		etw_manifest_free(reader->manifest);
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to read a manifest");
		return NULL;
	}
	reader->manifest->checked = checked;
	XML_SetUserData(document.parser, &document);
	XML_SetElementHandler(document.parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(document.parser, on_doctype);
	done = parse(&document, xml, size);
	XML_ParserFree(document.parser);
	reader_done(reader);
	if (!done) {
		etw_manifest_free(reader->manifest);
		if (reader->refused) {
			describe_refusal(reader, xml, size, err);
		} else {
			error_set(err, ETW_ERROR_NO_MEMORY, "no memory to read a manifest");
		}
		return NULL;
	}
	describe_warnings(reader, xml, size, warnings);
	return reader->manifest;
}

struct etw_manifest *etw_manifest_read(const char *xml, size_t size, struct etw_error *err)
{
	return read_manifest(xml, size, false, NULL, err);
}

struct etw_manifest *manifest_read_checked(const char *xml, size_t size,
					   const struct etw_manifest_warnings *warnings,
					   struct etw_error *err)
{
	return read_manifest(xml, size, true, warnings, err);
}
