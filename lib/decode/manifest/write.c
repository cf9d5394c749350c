/* SPDX-License-Identifier: MIT */
/*
 * Writes a manifest event by event, from schemas of any origin.
 *
 * Every part of a manifest is a list of elements: tasks, opcodes, levels, keywords, maps,
 * templates, events, strings. An event adds what it needs to each list that does not have it yet,
 * so all lists grow side by side as texts, and the manifest is their concatenation. What a list
 * already has is known by the hash of a name or of a whole element: the templates of many events
 * are the same.
 *
 * Elements refer to each other by name, and the names come from other programs. They are escaped,
 * and characters that XML does not have become U+FFFD. If two different elements have one name, the
 * second gets another name if we choose the name (maps, templates). Otherwise (tasks, opcodes) it
 * keeps the name and gets the number of the first: rules find events by a name made from task and
 * opcode, while the numbers are only shown.
 *
 * A count or a length may be the value of an earlier field, to which a manifest refers by name. If
 * a field between the two has the same name, or the name is a number, the reference would mean
 * something else. The template then ends before the top-level field that contains the faulty
 * reference; it also ends before a field whose type manifests do not have. The fields before
 * decode.
 *
 * A manifest with a mistake is useless as `schemas:` of a configuration. Therefore the finished
 * text is read back before it is returned.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/utf8.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/manifest/manifest_internal.h"
#include "lib/decode/tdh_types.h"

enum {
	/* Keywords with a name of the provider; the bits of further ones get made-up names. */
	KEYWORDS_MOST = 1024,
	CHANNEL_KEYWORDS = 56 /* first of the bits that are channels */
};

struct written_task {
	struct etw_text start; /* the start tag of the element, without its end */
	struct etw_text opcodes;
};

struct written_keyword {
	uint64_t mask;
	size_t name; /* offset in keyword_names */
};

struct etw_manifest_writer {
	struct etw_guid provider;
	struct etw_text name; /* name of the provider; the other texts are elements */
	struct etw_text levels, opcodes, keywords, maps, templates, events, strings;
	struct written_task *tasks; /* owned */
	size_t task_count, task_capacity;
	struct written_keyword *keyword_rows; /* owned */
	size_t keyword_count, keyword_capacity;
	struct etw_text keyword_names, map_names; /* escaped names, each with a NUL */
	/* Hashes of what the lists have. */
	struct map known_events, known_opcodes, known_keywords, known_map_names;
	struct map known_tasks, known_templates; /* -> index + 1 */
	struct map known_maps;                   /* -> offset in map_names + 1 */
	size_t template_count, map_count;
	bool known_levels[256];
	struct etw_manifest_writer_counts counts;
	uint64_t seed;
	bool failed; /* no memory */
};

/* ---- texts ---- */

/* Adds the value of an attribute without quotes. White space is escaped, because XML turns it into
 * blanks. */
static void add_escaped(struct etw_text *out, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		uint32_t codepoint;
		char bytes[4];

		text += utf8_decode(text, (size_t)(end - text), &codepoint);
		if (strchr("&<>\"'\t\r\n", (int)codepoint) && codepoint < 0x80) {
			text_add_format(out, "&#%" PRIu32 ";", codepoint);
			continue;
		}
		if (codepoint < ' ' || codepoint == 0xfffe || codepoint == 0xffff) {
			codepoint = UTF8_REPLACEMENT;
		}
		text_add(out, bytes, utf8_encode(codepoint, bytes));
	}
}

static void add_attribute(struct etw_text *out, const char *name, const char *value)
{
	text_add_format(out, " %s=\"", name);
	add_escaped(out, value);
	text_add_char(out, '"');
}

static bool is_named(const char *name)
{
	return name && name[0];
}

static uint64_t key_of(const struct etw_manifest_writer *writer, const char *text, size_t size)
{
	return text_hash(text, size, writer->seed);
}

/* Finds the entry or adds it with the value 0. Returns NULL if there is no memory. */
static uint64_t *entry_of(struct etw_manifest_writer *writer, struct map *map, uint64_t key,
			  bool *added)
{
	uint64_t *entry = map_put(map, key, added);

	writer->failed |= !entry;
	return entry;
}

/* ---- the writer ---- */

struct etw_manifest_writer *etw_manifest_writer_new(const struct etw_guid *provider,
						    const char *name, struct etw_error *err)
{
	struct etw_manifest_writer *writer = calloc(1, sizeof *writer);

	if (!writer) {
		error_no_memory(err, "a manifest");
		return NULL;
	}
	writer->provider = *provider;
	writer->seed = hash_seed();
	add_escaped(&writer->name, name);
	return writer;
}

void etw_manifest_writer_free(struct etw_manifest_writer *writer)
{
	if (!writer) {
		return;
	}
	for (size_t i = 0; i < writer->task_count; i++) {
		text_free(&writer->tasks[i].start);
		text_free(&writer->tasks[i].opcodes);
	}
	free(writer->tasks);
	free(writer->keyword_rows);
	text_free(&writer->name);
	text_free(&writer->levels);
	text_free(&writer->opcodes);
	text_free(&writer->keywords);
	text_free(&writer->maps);
	text_free(&writer->templates);
	text_free(&writer->events);
	text_free(&writer->strings);
	text_free(&writer->keyword_names);
	text_free(&writer->map_names);
	map_done(&writer->known_events);
	map_done(&writer->known_opcodes);
	map_done(&writer->known_keywords);
	map_done(&writer->known_map_names);
	map_done(&writer->known_tasks);
	map_done(&writer->known_maps);
	map_done(&writer->known_templates);
	free(writer);
}

void etw_manifest_writer_count(const struct etw_manifest_writer *writer,
			       struct etw_manifest_writer_counts *counts)
{
	*counts = writer->counts;
}

/* ---- names with numbers ---- */

static void define_keyword(struct etw_manifest_writer *writer, const char *name, uint64_t mask)
{
	struct written_keyword *grown = array_grow(writer->keyword_rows, &writer->keyword_capacity,
						   writer->keyword_count, sizeof *grown);
	struct etw_text value = { 0 };
	bool added = false;

	add_escaped(&value, name);
	if (!grown || value.failed) {
		writer->failed = true;
		text_free(&value);
		return;
	}
	for (size_t i = 0; i < value.size; i++) {
		/* The keywords of an event are a list separated by blanks, so a name cannot contain
		 * one. */
		value.data[i] = value.data[i] == ' ' ? '_' : value.data[i];
	}
	writer->keyword_rows = grown;
	entry_of(writer, &writer->known_keywords, key_of(writer, value.data, value.size), &added);
	if (added) {
		grown[writer->keyword_count++] =
			(struct written_keyword){ mask, writer->keyword_names.size };
		text_add(&writer->keyword_names, value.data, value.size + 1);
		text_add_format(&writer->keywords,
				"          <keyword name=\"%s\" mask=\"0x%" PRIx64 "\"/>\n",
				value.data, mask);
	}
	text_free(&value);
}

void manifest_writer_keyword(struct etw_manifest_writer *writer, const char *name, uint64_t mask)
{
	if (mask != 0 && is_named(name) && writer->keyword_count < KEYWORDS_MOST) {
		define_keyword(writer, name, mask);
	}
}

/* Adds the names of a mask's keywords: names of the provider, predefined names, and made-up
 * ones. */
static void add_keywords(struct etw_manifest_writer *writer, struct etw_text *out, uint64_t mask)
{
	struct etw_text names = { 0 };
	uint64_t rest = mask;

	for (size_t i = 0; i < writer->keyword_count && rest != 0; i++) {
		const struct written_keyword *row = &writer->keyword_rows[i];

		if ((row->mask & ~mask) == 0 && (row->mask & rest) != 0) {
			text_add_string(&names, names.size > 0 ? " " : "");
			text_add_string(&names, writer->keyword_names.data + row->name);
			rest &= ~row->mask;
		}
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t value = rest & UINT64_C(1) << bit;
		const char *name = manifest_standard_name(WORD_KEYWORD, value);
		char made_up[32];

		if (value != 0 && !name && bit < CHANNEL_KEYWORDS) {
			snprintf(made_up, sizeof made_up, "Keyword_0x%" PRIx64, value);
			define_keyword(writer, made_up, value);
			name = made_up;
		}
		if (name) {
			text_add_string(&names, names.size > 0 ? " " : "");
			text_add_string(&names, name);
		}
	}
	writer->failed |= names.failed;
	if (names.size > 0 && !names.failed) {
		text_add_format(out, " keywords=\"%s\"", names.data);
	}
	text_free(&names);
}

static void add_level(struct etw_manifest_writer *writer, struct etw_text *out, uint8_t level)
{
	const char *standard = manifest_standard_name(WORD_LEVEL, level);

	if (standard) {
		add_attribute(out, "level", standard);
		return;
	}
	text_add_format(out, " level=\"Level_%u\"", level);
	if (!writer->known_levels[level]) {
		writer->known_levels[level] = true;
		text_add_format(&writer->levels,
				"          <level name=\"Level_%u\" value=\"%u\"/>\n", level,
				level);
	}
}

/* Finds or adds the task. Returns its index + 1; 0 if there is no memory. */
static uint64_t task_of(struct etw_manifest_writer *writer, const char *name, uint16_t value)
{
	uint64_t *known =
		entry_of(writer, &writer->known_tasks, key_of(writer, name, strlen(name)), NULL);
	struct written_task *grown;

	if (!known || *known != 0) {
		return known ? *known : 0;
	}
	grown = array_grow(writer->tasks, &writer->task_capacity, writer->task_count,
			   sizeof *grown);
	if (!grown) {
		writer->failed = true;
		return 0;
	}
	writer->tasks = grown;
	grown[writer->task_count] = (struct written_task){ .start = { 0 } };
	text_add_string(&grown[writer->task_count].start, "          <task");
	add_attribute(&grown[writer->task_count].start, "name", name);
	text_add_format(&grown[writer->task_count].start, " value=\"%u\"", value);
	*known = ++writer->task_count;
	return *known;
}

/* Adds an opcode of a task (index + 1), or of no task (0), unless it exists. */
static void need_opcode(struct etw_manifest_writer *writer, uint64_t task, const char *name,
			uint8_t value)
{
	uint64_t key = hash_seeded(key_of(writer, name, strlen(name)) + task, writer->seed);
	struct etw_text *list = task > 0 ? &writer->tasks[task - 1].opcodes : &writer->opcodes;
	uint64_t standard;
	bool added = false;

	if (manifest_standard_value(WORD_OPCODE, name, &standard) && standard == value) {
		return;
	}
	if (entry_of(writer, &writer->known_opcodes, key, &added) && added) {
		text_add_string(list, task > 0 ? "              <opcode" : "          <opcode");
		add_attribute(list, "name", name);
		text_add_format(list, " value=\"%u\"/>\n", value);
	}
}

/* ---- maps ---- */

/* Adds a name that no other map has. */
static void add_map_name(struct etw_manifest_writer *writer, struct etw_text *out,
			 const struct etw_value_map *map)
{
	size_t start = out->size, number = writer->map_count;
	bool added = false;

	add_escaped(out, is_named(map->name) ? map->name : "Map");
	while (!out->failed &&
	       entry_of(writer, &writer->known_map_names,
			key_of(writer, out->data + start, out->size - start), &added) &&
	       !added) {
		text_add_format(out, "_%zu", ++number);
	}
	writer->failed |= out->failed;
}

static void write_map(struct etw_manifest_writer *writer, const struct etw_value_map *map,
		      const char *name)
{
	const char *element = map->bits ? "bitMap" : "valueMap";
	size_t number = ++writer->map_count;

	text_add_format(&writer->maps, "          <%s name=\"%s\">\n", element, name);
	for (uint32_t i = 0; i < map->count; i++) {
		text_add_format(&writer->maps,
				"            <map value=\"0x%" PRIx32
				"\" message=\"$(string.map%zu.%" PRIu32 ")\"/>\n",
				map->names[i].value, number, i);
		text_add_format(&writer->strings, "        <string id=\"map%zu.%" PRIu32 "\"",
				number, i);
		add_attribute(&writer->strings, "value", map->names[i].name);
		text_add_string(&writer->strings, "/>\n");
	}
	text_add_format(&writer->maps, "          </%s>\n", element);
}

/* Returns a hash of everything that distinguishes a map from others. */
static uint64_t key_of_map(struct etw_manifest_writer *writer, const struct etw_value_map *map)
{
	struct etw_text all = { 0 };
	uint64_t key = 0;

	text_add_string(&all, map->name ? map->name : "");
	text_add_char(&all, map->bits ? '\2' : '\1');
	for (uint32_t i = 0; i < map->count; i++) {
		text_add_u64(&all, map->names[i].value);
		text_add_char(&all, '\1');
		text_add(&all, map->names[i].name, strlen(map->names[i].name) + 1);
	}
	writer->failed |= all.failed;
	if (!all.failed) {
		key = key_of(writer, all.data, all.size);
	}
	text_free(&all);
	return key;
}

/* Returns the escaped name by which fields refer to the map, valid until the next call. Returns
 * NULL if there is no memory. */
static const char *map_name_of(struct etw_manifest_writer *writer, const struct etw_value_map *map)
{
	struct etw_text *names = &writer->map_names;
	uint64_t *known = entry_of(writer, &writer->known_maps, key_of_map(writer, map), NULL);

	if (known && *known == 0) {
		*known = names->size + 1;
		add_map_name(writer, names, map);
		text_add_char(names, '\0');
		writer->failed |= names->failed;
		if (!writer->failed) {
			write_map(writer, map, names->data + *known - 1);
		}
	}
	return writer->failed ? NULL : names->data + *known - 1;
}

/* ---- templates ---- */

/* Returns whether a reader finds the earlier field `field` by its name, from field `by`. */
static bool is_found(const struct etw_schema *schema, unsigned field, unsigned by)
{
	const char *name = schema->fields[field].name;
	uint64_t number;

	if (parse_u64(name, strlen(name), &number) && number <= UINT16_MAX) {
		return false;
	}
	for (unsigned i = field + 1; i < by; i++) {
		if (strcmp(schema->fields[i].name, name) == 0) {
			return false;
		}
	}
	return field < by;
}

static bool is_writable(const struct etw_schema *schema, unsigned index)
{
	const struct etw_field *field = &schema->fields[index];
	struct tdh_names names;

	if (field->type != ETW_FIELD_STRUCT && !tdh_names_of(field, &names)) {
		return false;
	}
	if (field->count_type == ETW_FIELD_COUNT_REST ||
	    field->count_type == ETW_FIELD_COUNT_PREFIX ||
	    (field->count_type == ETW_FIELD_COUNT_FIELD &&
	     !is_found(schema, field->count, index))) {
		return false;
	}
	return !field_has_length(field) || field->length_type != ETW_FIELD_LENGTH_FIELD ||
	       is_found(schema, field->length, index);
}

/* Returns the index of the first top-level field that a manifest cannot describe. */
static unsigned end_of_writable(const struct etw_schema *schema)
{
	unsigned end = 0;

	while (end < schema->field_count) {
		unsigned after = etw_field_after(schema, end);

		for (unsigned i = end; i < after; i++) {
			if (!is_writable(schema, i)) {
				return end;
			}
		}
		end = after;
	}
	return end;
}

/* Adds an attribute whose value is a number, or the name of the field that contains the number. */
static void add_number(struct etw_text *out, const struct etw_schema *schema, const char *name,
		       bool by_field, uint16_t number)
{
	if (by_field) {
		add_attribute(out, name, schema->fields[number].name);
	} else {
		text_add_format(out, " %s=\"%u\"", name, number);
	}
}

static void add_data(struct etw_manifest_writer *writer, struct etw_text *out,
		     const struct etw_schema *schema, const struct etw_field *field)
{
	struct tdh_names names = { .in_type = "" };
	const char *map = field->map ? map_name_of(writer, field->map) : NULL;

	tdh_names_of(field, &names);
	text_add_string(out, "<data");
	add_attribute(out, "name", field->name);
	text_add_format(out, " inType=\"win:%s\"", names.in_type);
	if (names.out_type) {
		text_add_format(out, " outType=\"%s\"", names.out_type);
	}
	if (field->count_type != ETW_FIELD_SCALAR) {
		add_number(out, schema, "count", field->count_type == ETW_FIELD_COUNT_FIELD,
			   field->count);
	}
	if (names.length > 0) {
		add_number(out, schema, "length", false, names.length);
	} else if (field_has_length(field) && (field->length_type == ETW_FIELD_LENGTH_FIXED ||
					       field->length_type == ETW_FIELD_LENGTH_FIELD)) {
		add_number(out, schema, "length", field->length_type == ETW_FIELD_LENGTH_FIELD,
			   field->length);
	}
	if (map) {
		text_add_format(out, " map=\"%s\"", map);
	}
	text_add_string(out, "/>\n");
}

static void add_fields(struct etw_manifest_writer *writer, struct etw_text *out,
		       const struct etw_schema *schema, unsigned end)
{
	/* Ends of the structures that contain the field. */
	unsigned open[ETW_SCHEMA_DEPTH_MOST + 1];
	unsigned depth = 0;

	for (unsigned i = 0; i <= end; i++) {
		const struct etw_field *field = &schema->fields[i];

		while (depth > 0 && open[depth - 1] == i) {
			text_add_format(out, "%*s</struct>\n", (int)(12 + 2 * --depth), "");
		}
		if (i == end) {
			break;
		}
		text_add_format(out, "%*s", (int)(12 + 2 * depth), "");
		if (field->type != ETW_FIELD_STRUCT) {
			add_data(writer, out, schema, field);
			continue;
		}
		text_add_string(out, "<struct");
		add_attribute(out, "name", field->name);
		if (field->count_type != ETW_FIELD_SCALAR) {
			add_number(out, schema, "count", field->count_type == ETW_FIELD_COUNT_FIELD,
				   field->count);
		}
		text_add_string(out, ">\n");
		open[depth++] = etw_field_after(schema, i);
	}
}

/* Finds or adds the template with these fields. Returns its number, from 1; 0 if there is no
 * memory. */
static uint64_t template_of(struct etw_manifest_writer *writer, const struct etw_schema *schema,
			    unsigned end)
{
	struct etw_text body = { 0 };
	uint64_t *known = NULL;

	add_fields(writer, &body, schema, end);
	writer->failed |= body.failed;
	if (!writer->failed) {
		known = entry_of(writer, &writer->known_templates,
				 key_of(writer, body.data, body.size), NULL);
	}
	if (known && *known == 0) {
		*known = ++writer->template_count;
		text_add_format(&writer->templates, "          <template tid=\"T%" PRIu64 "\">\n",
				*known);
		text_add(&writer->templates, body.data, body.size);
		text_add_string(&writer->templates, "          </template>\n");
	}
	text_free(&body);
	return known ? *known : 0;
}

/* ---- events ---- */

/* incomplete: the schema lacks fields that the event has. */
static void add_event(struct etw_manifest_writer *writer, const struct etw_manifest_event *event,
		      bool incomplete)
{
	const struct etw_schema *schema = event->schema;
	struct etw_text *out = &writer->events;
	unsigned end = end_of_writable(schema);
	uint64_t task = 0, template;
	bool added = false;

	entry_of(writer, &writer->known_events, (uint64_t)event->id << 8 | event->version, &added);
	if (!added) {
		return;
	}
	template = end > 0 ? template_of(writer, schema, end) : 0;
	text_add_format(out, "          <event value=\"%u\" version=\"%u\"", event->id,
			event->version);
	if (is_named(schema->symbol)) {
		add_attribute(out, "symbol", schema->symbol);
	}
	add_level(writer, out, event->level);
	if (is_named(event->task_name)) {
		task = task_of(writer, event->task_name, event->task);
		add_attribute(out, "task", event->task_name);
	}
	if (is_named(event->opcode_name)) {
		need_opcode(writer, task, event->opcode_name, event->opcode);
		add_attribute(out, "opcode", event->opcode_name);
	}
	add_keywords(writer, out, event->keywords);
	if (template > 0) {
		text_add_format(out, " template=\"T%" PRIu64 "\"", template);
	}
	text_add_string(out, "/>\n");
	writer->counts.events++;
	writer->counts.cut += incomplete || end < schema->field_count;
}

void manifest_writer_event(struct etw_manifest_writer *writer,
			   const struct etw_manifest_event *event)
{
	add_event(writer, event, false);
}

void etw_manifest_writer_provider(struct etw_manifest_writer *writer,
				  const struct etw_manifest *manifest, size_t index)
{
	struct etw_manifest_event event;
	const char *name;
	uint64_t mask;

	for (size_t at = 0; manifest_keyword(manifest, index, &at, &name, &mask);) {
		manifest_writer_keyword(writer, name, mask);
	}
	for (size_t i = 0; etw_manifest_event(manifest, index, i, &event); i++) {
		manifest_writer_event(writer, &event);
	}
}

bool etw_manifest_writer_info(struct etw_manifest_writer *writer, const struct etw_event_info *info,
			      etw_manifest_writer_find_map *find, void *context)
{
	struct described_schema made;
	struct etw_manifest_event event;
	uint32_t map_names[ETW_SCHEMA_FIELDS_MOST];
	struct etw_text task = { 0 }, opcode = { 0 };

	if (info->source != ETW_EVENT_INFO_MANIFEST) {
		return false;
	}
	if (!event_info_schema(info, &made, map_names)) {
		writer->failed = true;
		return true;
	}
	for (uint16_t i = 0; i < made.fields.count; i++) {
		made.fields.fields[i].map = map_names[i] != 0 ? find(context, info, map_names[i]) :
								NULL;
	}
	etw_event_info_string(info->bytes, info->size, info->task_name, &task);
	etw_event_info_string(info->bytes, info->size, info->opcode_name, &opcode);
	writer->failed |= task.failed || opcode.failed;
	event = (struct etw_manifest_event){ .schema = &made.schema,
					     .task_name = task.data,
					     .opcode_name = opcode.data,
					     .keywords = info->keywords,
					     .id = info->id,
					     .task = info->task,
					     .version = info->version,
					     .opcode = info->opcode,
					     .level = info->level };
	add_event(writer, &event, made.fields.count < info->property_count);
	text_free(&task);
	text_free(&opcode);
	described_schema_done(&made);
	return true;
}

/* ---- the end ---- */

static void add_list(struct etw_manifest_writer *writer, struct etw_text *out, const char *name,
		     const struct etw_text *list)
{
	writer->failed |= list->failed;
	if (list->size > 0 && !list->failed) {
		text_add_format(out, "        <%s>\n", name);
		text_add(out, list->data, list->size);
		text_add_format(out, "        </%s>\n", name);
	}
}

static void add_tasks(struct etw_manifest_writer *writer, struct etw_text *out)
{
	struct etw_text list = { 0 };

	for (size_t i = 0; i < writer->task_count; i++) {
		const struct written_task *task = &writer->tasks[i];

		writer->failed |= task->start.failed || task->opcodes.failed;
		if (writer->failed) {
			break;
		}
		text_add(&list, task->start.data, task->start.size);
		if (task->opcodes.size > 0) {
			text_add_string(&list, ">\n            <opcodes>\n");
			text_add(&list, task->opcodes.data, task->opcodes.size);
			text_add_string(&list, "            </opcodes>\n          </task>\n");
		} else {
			text_add_string(&list, "/>\n");
		}
	}
	add_list(writer, out, "tasks", &list);
	text_free(&list);
}

static void add_manifest(struct etw_manifest_writer *writer, struct etw_text *out)
{
	char guid[GUID_TEXT_SIZE];

	guid_format(&writer->provider, guid);
	text_add_format(
		out,
		ETW_MANIFEST_WRITER_START
		"<instrumentationManifest "
		"xmlns=\"http://schemas.microsoft.com/win/2004/08/events\"\n"
		"    xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\"\n"
		"    xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\n"
		"  <instrumentation>\n    <events>\n"
		"      <provider name=\"%s\" guid=\"{%s}\">\n",
		writer->name.data ? writer->name.data : "", guid);
	add_list(writer, out, "keywords", &writer->keywords);
	add_list(writer, out, "levels", &writer->levels);
	add_tasks(writer, out);
	add_list(writer, out, "opcodes", &writer->opcodes);
	add_list(writer, out, "maps", &writer->maps);
	add_list(writer, out, "templates", &writer->templates);
	add_list(writer, out, "events", &writer->events);
	text_add_string(out, "      </provider>\n    </events>\n  </instrumentation>\n");
	if (writer->strings.size > 0) {
		text_add_string(out, "  <localization>\n    <resources culture=\"en-US\">\n");
		add_list(writer, out, "stringTable", &writer->strings);
		text_add_string(out, "    </resources>\n  </localization>\n");
	}
	text_add_string(out, "</instrumentationManifest>\n");
	writer->failed |= writer->name.failed || writer->keyword_names.failed ||
			  writer->map_names.failed || out->failed;
}

bool etw_manifest_writer_finish(struct etw_manifest_writer *writer, struct etw_text *xml,
				struct etw_error *err)
{
	struct etw_manifest *manifest;
	struct etw_manifest_event event;
	bool same;

	add_manifest(writer, xml);
	if (writer->failed) {
		return error_no_memory(err, "a manifest");
	}
	if (xml->size > MANIFEST_FILE_SIZE_MOST) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "the manifest has %zu bytes, more than the %d of a manifest that "
				 "can be read",
				 xml->size, MANIFEST_FILE_SIZE_MOST);
	}
	manifest = manifest_read_checked(xml->data, xml->size, NULL, err);
	if (!manifest) {
		return error_prefix(err, "the manifest cannot be read back");
	}
	same = manifest_provider_count(manifest) == 1 &&
	       (writer->counts.events == 0 ||
		etw_manifest_event(manifest, 0, writer->counts.events - 1, &event)) &&
	       !etw_manifest_event(manifest, 0, writer->counts.events, &event);
	etw_manifest_free(manifest);
	return same || error_set(err, ETW_ERROR_FORMAT,
				 "the manifest is not read back with all of its events");
}
