/* SPDX-License-Identifier: MIT */
/*
 * The event classes of the kernel, read from kernel_classes.txt.
 *
 * Kernel events do not describe themselves, and a recording is seldom read on the system that wrote
 * it, so the program contains the layouts. They are a text table because people write and check
 * them: its head explains the format, docs/kernel-events.csv has the same layouts with their
 * offsets, and a test compares the two. The build embeds the table; the first call of any function
 * below parses it, once for all threads, in well under a millisecond. After that the table is
 * constant, so that callers keep pointers into it for as long as the program runs.
 *
 * All storage is static and of a fixed size. The callers look up a name or a layout and could not
 * report missing memory, and a table of known size needs no more. Names point into a copy of
 * the text, in which the parser ends each word with a NUL. A mistake in the table, or a table that
 * has outgrown the storage, is a bug of ours: the program names the line and aborts.
 *
 * Look-ups search the 36 classes and the layouts of one class in order. This is fast enough because
 * the answers are kept with each resolved event class; nothing here runs for every event.
 */
#include "lib/decode/kernel_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"

/* Storage limits, above what the table needs today. */
enum {
	TEXT_MOST = 64 * 1024,
	CLASSES_MOST = 48,
	EVENTS_MOST = 512,
	LAYOUTS_MOST = 320,
	FIELDS_MOST = 1792,
};

struct event_name {
	const char *name;
	uint8_t opcode;
};

/* One version of the payload of some opcodes. */
struct kernel_layout {
	struct etw_schema schema;
	uint8_t opcodes[256 / 8]; /* bit opcode % 8 of byte opcode / 8 */
	uint8_t version;
	bool sized; /* a payload of another size has another layout, or an unknown one */
};

struct class_row {
	const char *name;
	struct etw_guid guid;
	enum etw_kernel_class class;
	const struct event_name *events;
	const struct kernel_layout *layouts;
	unsigned event_count;
	unsigned layout_count;
};

static struct {
	struct os_once once;
	unsigned class_count, event_count, layout_count, field_count;
	struct class_row classes[CLASSES_MOST];
	/* Events of one class are consecutive; so are its layouts, and the fields of a layout. */
	struct event_name events[EVENTS_MOST];
	struct kernel_layout layouts[LAYOUTS_MOST];
	struct etw_field fields[FIELDS_MOST];
	char text[TEXT_MOST];
} table = { .once = { OS_ONCE_INIT } };

/* ---- reading the table ---- */

struct reader {
	char *at;                     /* position in table.text, after the last word */
	struct class_row *class;      /* class to which words belong; NULL: none yet */
	struct kernel_layout *layout; /* layout to which words belong; NULL: none yet */
};

static _Noreturn void damaged(const char *word, const char *why)
{
	const char *text = builtin_kernel_tables[0].text;
	const char *end = text + (word - table.text);
	unsigned line = 1;

	for (; text < end; text++) {
		line += *text == '\n';
	}
	fprintf(stderr, "kernel_classes.txt:%u: \"%s\" %s\n", line, word, why);
	abort();
}

/* Takes the next of `most` elements of the table and returns its index. Aborts and names the word
 * if all are taken. */
static unsigned next_element(unsigned *count, unsigned most, const char *word)
{
	if (*count == most) {
		damaged(word, "is more than kernel_class.c has room for");
	}
	return (*count)++;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the next word; an empty one at the end of the table. It does not use strspn(), because
 * AddressSanitizer checks the whole rest of the table in each call of that. */
static char *next_word(struct reader *reader)
{
	char *at = reader->at;
	bool comment = false;
	char *word;

	for (; *at && (comment || is_space(*at) || *at == '#'); at++) {
		comment = *at != '\n' && (comment || *at == '#');
	}
	word = at;
	while (*at && !is_space(*at)) {
		at++;
	}
	if (*at) {
		*at++ = '\0';
	}
	reader->at = at;
	return word;
}

/* Cuts a word in two at the separator. Returns the second part; NULL if the word has no
 * separator. */
static char *cut(char *word, char separator)
{
	char *at = strchr(word, separator);

	if (at) {
		*at++ = '\0';
	}
	return at;
}

static uint8_t byte_of(const char *digits)
{
	uint64_t value;

	if (!parse_u64(digits, strlen(digits), &value) || value > UINT8_MAX) {
		damaged(digits, "is no number up to 255");
	}
	return (uint8_t)value;
}

static enum etw_kernel_class class_of_name(const char *name)
{
	static const char *const names[ETW_KERNEL_OTHER] = {
		[ETW_KERNEL_EVENT_TRACE] = "EventTrace",
		[ETW_KERNEL_PROCESS] = "Process",
		[ETW_KERNEL_THREAD] = "Thread",
		[ETW_KERNEL_IMAGE] = "Image",
		[ETW_KERNEL_DISK_IO] = "DiskIo",
		[ETW_KERNEL_FILE_IO] = "FileIo",
		[ETW_KERNEL_TCP_IP] = "TcpIp",
		[ETW_KERNEL_UDP_IP] = "UdpIp",
		[ETW_KERNEL_PAGE_FAULT] = "PageFault",
		[ETW_KERNEL_PERF_INFO] = "PerfInfo",
		[ETW_KERNEL_REGISTRY] = "Registry",
		[ETW_KERNEL_STACK_WALK] = "StackWalk",
		[ETW_KERNEL_SYSTEM_CONFIG] = "SystemConfig",
		[ETW_KERNEL_SYS_CONFIG] = "SysConfig",
		[ETW_KERNEL_IMAGE_ID] = "ImageID",
		[ETW_KERNEL_LOST_EVENT] = "LostEvent",
		[ETW_KERNEL_META_DATA] = "MetaData",
	};

	for (unsigned i = ETW_KERNEL_NONE + 1; i < ETW_KERNEL_OTHER; i++) {
		if (strcmp(names[i], name) == 0) {
			return (enum etw_kernel_class)i;
		}
	}
	return ETW_KERNEL_OTHER;
}

static struct class_row *add_class(const char *name)
{
	struct class_row *class =
		&table.classes[next_element(&table.class_count, CLASSES_MOST, name)];

	class->name = name;
	class->class = class_of_name(name);
	class->events = &table.events[table.event_count];
	class->layouts = &table.layouts[table.layout_count];
	return class;
}

static void add_event(struct class_row *class, const char *opcode, const char *name)
{
	struct event_name *event =
		&table.events[next_element(&table.event_count, EVENTS_MOST, name)];

	event->opcode = byte_of(opcode);
	event->name = name;
	class->event_count++;
}

static struct kernel_layout *add_layout(struct reader *reader)
{
	char *opcodes = next_word(reader);
	char *version = next_word(reader), *name;
	struct kernel_layout *layout =
		&table.layouts[next_element(&table.layout_count, LAYOUTS_MOST, opcodes)];

	if (*version != 'v') {
		damaged(version, "is no version");
	}
	layout->version = byte_of(version + 1);
	name = next_word(reader);
	layout->sized = strcmp(name, "sized") == 0;
	if (layout->sized && reader->class->layout_count >= ETW_KERNEL_FORM_UNKNOWN - 1) {
		damaged(name, "follows more layouts than kernel_form() can count");
	}
	layout->schema.event = layout->sized ? next_word(reader) : name;
	layout->schema.fields = &table.fields[table.field_count];
	while (opcodes) {
		char *others = cut(opcodes, ',');
		uint8_t opcode = byte_of(opcodes);

		layout->opcodes[opcode / 8] |= (uint8_t)(1U << opcode % 8);
		opcodes = others;
	}
	reader->class->layout_count++;
	return layout;
}

/* Reads the text in the brackets after a type. */
static void read_count(const struct etw_schema *schema, struct etw_field *field, bool is_length,
		       const char *count)
{
	uint64_t number;
	int index;

	if (*count == '\0') {
		field->count_type = ETW_FIELD_COUNT_REST;
	} else if (!parse_u64(count, strlen(count), &number)) {
		index = etw_schema_find_field(schema, count);
		if (index < 0) {
			damaged(count, "is no field before this one");
		}
		field->count_type = ETW_FIELD_COUNT_FIELD;
		field->count = (uint16_t)index;
	} else if (number > UINT16_MAX) {
		damaged(count, "is above 65535");
	} else if (is_length) {
		field->length_type = ETW_FIELD_LENGTH_FIXED;
		field->length = (uint16_t)number;
	} else {
		field->count_type = ETW_FIELD_COUNT_FIXED;
		field->count = (uint16_t)number;
	}
}

static void add_field(struct etw_schema *schema, const char *name, char *type)
{
	static const struct {
		const char *word;
		enum etw_field_type type;
		bool has_length; /* the number in brackets is a length */
	} types[] = {
		{ "i8", ETW_FIELD_I8, false },          { "u8", ETW_FIELD_U8, false },
		{ "i16", ETW_FIELD_I16, false },        { "u16", ETW_FIELD_U16, false },
		{ "i32", ETW_FIELD_I32, false },        { "u32", ETW_FIELD_U32, false },
		{ "i64", ETW_FIELD_I64, false },        { "u64", ETW_FIELD_U64, false },
		{ "bool32", ETW_FIELD_BOOL32, false },  { "ptr", ETW_FIELD_POINTER, false },
		{ "sizet", ETW_FIELD_SIZE, false },     { "port", ETW_FIELD_PORT, false },
		{ "ip4", ETW_FIELD_IP4, false },        { "ip6", ETW_FIELD_IP6, false },
		{ "guid", ETW_FIELD_GUID, false },      { "wstr", ETW_FIELD_WSTRING, false },
		{ "astr", ETW_FIELD_ASTRING, false },   { "wchar", ETW_FIELD_WSTRING, true },
		{ "sid", ETW_FIELD_KERNEL_SID, false }, { "bin", ETW_FIELD_BINARY, true },
	};
	enum { TYPES = sizeof types / sizeof types[0] };
	struct etw_field *field =
		&table.fields[next_element(&table.field_count, FIELDS_MOST, name)];
	char *count = cut(type, '[');
	unsigned row = 0;

	while (row < TYPES && strcmp(types[row].word, type) != 0) {
		row++;
	}
	if (row == TYPES) {
		damaged(type, "is no type");
	}
	field->name = name;
	field->type = (uint8_t)types[row].type;
	if (count) {
		if (!cut(count, ']')) {
			damaged(count, "has no closing bracket");
		}
		read_count(schema, field, types[row].has_length, count);
	}
	if (types[row].has_length != (field->length_type == ETW_FIELD_LENGTH_FIXED)) {
		damaged(type, "needs a length in brackets");
	}
	schema->field_count++;
}

static void read_word(struct reader *reader, char *word)
{
	char *value;

	if (strcmp(word, "class") == 0) {
		reader->class = add_class(next_word(reader));
		reader->layout = NULL;
		word = next_word(reader);
		if (!etw_guid_parse(word, &reader->class->guid)) {
			damaged(word, "is no GUID");
		}
	} else if (!reader->class) {
		damaged(word, "comes before the first class");
	} else if (strcmp(word, "layout") == 0) {
		reader->layout = add_layout(reader);
	} else if ((value = cut(word, '='))) {
		add_event(reader->class, word, value);
	} else if (reader->layout && (value = cut(word, ':'))) {
		add_field(&reader->layout->schema, word, value);
	} else {
		damaged(word, "belongs to nothing");
	}
}

static void read_table(void)
{
	struct reader reader = { .at = table.text };
	struct etw_field *fields = table.fields;
	char *word;

	if (builtin_kernel_tables[0].size >= TEXT_MOST) {
		damaged(table.text, "is more text than kernel_class.c has room for");
	}
	memcpy(table.text, builtin_kernel_tables[0].text, builtin_kernel_tables[0].size);
	while (*(word = next_word(&reader))) {
		read_word(&reader, word);
	}
	for (unsigned i = 0; i < table.layout_count; i++) {
		struct etw_schema *schema = &table.layouts[i].schema;

		schema->first_variable = fields_place(fields, schema->field_count);
		fields += schema->field_count;
	}
	/* This class is not of the kernel: its records describe the events of other providers
	 * (docs/etl-format.md section 12). */
	add_class("MetaData")->guid = (struct etw_guid)ETW_META_DATA_CLASS;
}

/* ---- look-ups ---- */

static const struct class_row *find_class(const struct etw_guid *guid)
{
	os_once(&table.once, read_table);
	for (unsigned i = 0; i < table.class_count; i++) {
		if (etw_guid_equal(&table.classes[i].guid, guid)) {
			return &table.classes[i];
		}
	}
	return NULL;
}

enum etw_kernel_class etw_kernel_class_of(const struct etw_guid *guid)
{
	const struct class_row *class = find_class(guid);

	return class ? class->class : ETW_KERNEL_NONE;
}

const char *etw_kernel_class_name(const struct etw_guid *guid)
{
	const struct class_row *class = find_class(guid);

	return class ? class->name : NULL;
}

bool etw_kernel_class_is_kernel(const struct etw_guid *guid)
{
	enum etw_kernel_class class = etw_kernel_class_of(guid);

	return class != ETW_KERNEL_NONE && class != ETW_KERNEL_META_DATA;
}

const char *etw_kernel_event_name(const struct etw_guid *guid, uint8_t opcode)
{
	const struct class_row *class = find_class(guid);

	for (unsigned i = 0; class && i < class->event_count; i++) {
		if (class->events[i].opcode == opcode) {
			return class->events[i].name;
		}
	}
	return NULL;
}

bool etw_kernel_class_find(const char *class_name, size_t class_size, struct etw_guid *guid)
{
	struct etw_guid found;
	const char *name;

	for (unsigned i = 0; (name = etw_kernel_class_at(i, &found)); i++) {
		if (text_equal_nocase(name, strlen(name), class_name, class_size)) {
			*guid = found;
			return true;
		}
	}
	return false;
}

bool etw_kernel_event_find(const struct etw_guid *guid, const char *event_name, size_t size,
			   uint8_t *opcode)
{
	const struct class_row *class = find_class(guid);

	for (unsigned i = 0; class && i < class->event_count; i++) {
		const char *name = class->events[i].name;

		if (text_equal_nocase(name, strlen(name), event_name, size)) {
			*opcode = class->events[i].opcode;
			return true;
		}
	}
	return false;
}

const char *etw_kernel_class_at(unsigned index, struct etw_guid *guid)
{
	os_once(&table.once, read_table);
	if (index >= table.class_count) {
		return NULL;
	}
	if (guid) {
		*guid = table.classes[index].guid;
	}
	return table.classes[index].name;
}

static bool has_opcode(const struct kernel_layout *layout, uint8_t opcode)
{
	return layout->opcodes[opcode / 8] >> opcode % 8 & 1;
}

const struct etw_schema *etw_kernel_schema_at(const struct etw_guid *guid, uint8_t opcode,
					      unsigned index, uint8_t *version)
{
	const struct class_row *class = find_class(guid);

	for (unsigned i = 0; class && i < class->layout_count; i++) {
		const struct kernel_layout *layout = &class->layouts[i];

		if (has_opcode(layout, opcode) && index-- == 0) {
			if (version) {
				*version = layout->version;
			}
			return &layout->schema;
		}
	}
	return NULL;
}

/* Returns whether this version of a layout is nearer to the event's version than the best so
 * far. */
static bool is_nearer(uint8_t version, uint8_t best, uint8_t event)
{
	return version <= event ? best > event || version >= best : version < best;
}

const struct etw_schema *kernel_schema(const struct etw_guid *guid, uint8_t opcode, uint8_t version)
{
	const struct etw_schema *best = NULL, *next;
	uint8_t best_version = 0, next_version;

	for (unsigned i = 0; (next = etw_kernel_schema_at(guid, opcode, i, &next_version)); i++) {
		if (!best || is_nearer(next_version, best_version, version)) {
			best = next;
			best_version = next_version;
		}
	}
	return best;
}

/* Returns the payload size of a sized layout, whose fields all have constant offsets. */
static uint32_t size_of(const struct kernel_layout *layout, bool wide)
{
	const struct etw_field *last = &layout->schema.fields[layout->schema.field_count - 1];

	return (uint32_t)last->offset[wide] + last->size[wide];
}

uint8_t etw_kernel_form(const struct etw_record *record)
{
	const struct class_row *class = record->classic ? find_class(record->provider) : NULL;
	uint8_t form = 0, best_version = 0;

	for (unsigned i = 0; class && i < class->layout_count; i++) {
		const struct kernel_layout *layout = &class->layouts[i];

		if (!layout->sized || !has_opcode(layout, record->opcode)) {
			continue;
		}
		if (form == 0) {
			form = ETW_KERNEL_FORM_UNKNOWN;
		}
		if (size_of(layout, record->pointer_size == 8) == record->payload_size &&
		    (form == ETW_KERNEL_FORM_UNKNOWN ||
		     is_nearer(layout->version, best_version, record->version))) {
			form = (uint8_t)(i + 1);
			best_version = layout->version;
		}
	}
	return form;
}

const struct etw_schema *etw_kernel_schema_of(const struct etw_record *record)
{
	uint8_t form = etw_kernel_form(record);

	if (form == 0) {
		return kernel_schema(record->provider, record->opcode, record->version);
	}
	return form == ETW_KERNEL_FORM_UNKNOWN ?
		       NULL :
		       &find_class(record->provider)->layouts[form - 1].schema;
}
