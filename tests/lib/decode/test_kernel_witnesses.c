/* SPDX-License-Identifier: MIT */
/*
 * The layouts of the kernel's classes against two foreign witnesses: event descriptions that were
 * exported from a Windows, and payloads that a Windows wrote, with the values that others read in
 * them. tests/lib/decode/data has both, and says where they come from.
 *
 * Every difference is a row here, with its reason and with the number of event versions that have
 * it, so that a new difference fails and one that has gone, too.
 */
#include "lib/decode/kernel_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/decode/schema.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { LINE_MOST = 8192 };

static FILE *open_data(const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s/tests/lib/decode/data/%s", SOURCE_DIR, name);
	file = fopen(path, "r");
	if (!file) {
		fail_msg("%s cannot be opened", path);
	}
	return file;
}

/* Cuts the next line that is no comment at its commas; the last cell has the rest. */
static bool next_line(FILE *file, char line[LINE_MOST], char **cells, size_t count)
{
	do {
		if (!fgets(line, LINE_MOST, file)) {
			return false;
		}
	} while (line[0] == '#');
	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = 0; i < count; i++) {
		cells[i] = line;
		line += i + 1 < count ? strcspn(line, ",") : 0;
		if (i + 1 < count) {
			assert_int_equal(*line, ',');
			*line++ = '\0';
		}
	}
	return true;
}

static uint8_t number(const char *text)
{
	uint64_t value = 0;

	assert_true(parse_u64(text, strlen(text), &value) && value <= UINT8_MAX);
	return (uint8_t)value;
}

/* The layout of exactly this version; NULL: there is none. */
static const struct etw_schema *layout_of(const struct etw_guid *guid, uint8_t opcode,
					  uint8_t version)
{
	const struct etw_schema *schema;
	uint8_t found;

	for (unsigned i = 0; (schema = etw_kernel_schema_at(guid, opcode, i, &found)) != NULL;
	     i++) {
		if (found == version) {
			return schema;
		}
	}
	return NULL;
}

/* ---- layouts ---- */

/* The witness has no types for the order of bytes of a port, bytes without a meaning, and the width
 * of a boolean. */
static const char *type_name(const struct etw_field *field)
{
	static const char *const names[ETW_FIELD_STRUCT + 1] = {
		[ETW_FIELD_I8] = "i8",       [ETW_FIELD_U8] = "u8",
		[ETW_FIELD_I16] = "i16",     [ETW_FIELD_U16] = "u16",
		[ETW_FIELD_I32] = "i32",     [ETW_FIELD_U32] = "u32",
		[ETW_FIELD_I64] = "i64",     [ETW_FIELD_U64] = "u64",
		[ETW_FIELD_BOOL32] = "bool", [ETW_FIELD_POINTER] = "ptr",
		[ETW_FIELD_SIZE] = "sizet",  [ETW_FIELD_PORT] = "u16",
		[ETW_FIELD_IP4] = "ip4",     [ETW_FIELD_IP6] = "ip6",
		[ETW_FIELD_GUID] = "guid",   [ETW_FIELD_ASTRING] = "astr",
		[ETW_FIELD_BINARY] = "u8",   [ETW_FIELD_KERNEL_SID] = "sid",
	};

	if (field->type == ETW_FIELD_WSTRING) {
		return field->length_type == ETW_FIELD_LENGTH_FIXED ? "wchar" : "wstr";
	}
	assert_non_null(names[field->type]);
	return names[field->type];
}

static void add_field(struct etw_text *out, const struct etw_schema *schema, unsigned index)
{
	const struct etw_field *field = &schema->fields[index];

	text_add_format(out, "%s:%s", field->name, type_name(field));
	if (field->count_type == ETW_FIELD_COUNT_REST) {
		text_add_string(out, "[]");
	} else if (field->count_type == ETW_FIELD_COUNT_FIELD) {
		text_add_format(out, "[%s]", schema->fields[field->count].name);
	} else if (field->count_type == ETW_FIELD_COUNT_FIXED) {
		text_add_format(out, "[%u]", field->count);
	} else if (field->length_type == ETW_FIELD_LENGTH_FIXED) {
		text_add_format(out, "[%u]", field->length);
	}
}

/* A field of the witness and ours in its place; "-": none. */
struct difference {
	const char *class;
	const char *theirs, *ours;
	unsigned events; /* that have it */
	const char *why;
};

static const struct difference differences[] = {
	/* What the export has no word for. */
	{ "StackWalk", "Stack1:ptr", "Stack:ptr[]", 1, "192 fields there are one array here" },
	{ "StackWalk", "StackFrame:ptr", "Stack:ptr[]", 3, "likewise, without a number there" },
	{ "SystemConfig", "Affinity:ptr", "Affinity:ptr[GroupCount]", 1, "a field has the count" },
	{ "SystemConfig", "NodeMap:u64", "NodeMap:u64[NodeCount]", 1, "likewise" },
	{ "SystemConfig", "ProcessorNumber:u32", "ProcessorNumber:u32[ProcessorCount]", 1,
	  "likewise" },
	{ "SystemConfig", "UpperFilters:wstr", "UpperFilters:wstr[UpperFiltersCount]", 2,
	  "likewise" },
	{ "SystemConfig", "LowerFilters:wstr", "LowerFilters:wstr[LowerFiltersCount]", 2,
	  "likewise" },
	{ "PerfInfo", "CounterName:wstr", "CounterName:wstr[CounterCount]", 1, "likewise" },
	{ "Thread", "Entries:ptr", "Entries:ptr[EntryCount]", 1, "likewise" },
	/* Types that the export took for others. */
	{ "FileIo", "InitialTime:ptr", "InitialTime:u64", 2,
	  "in the MOF an object with the extension WmiTime: 64 bits, also of 32-bit systems" },
	{ "PageFault", "InitialTime:ptr", "InitialTime:u64", 1, "likewise" },
	{ "PerfInfo", "InitialTime:ptr", "InitialTime:u64", 11, "likewise" },
	{ "TcpIp", "connid:u32", "connid:ptr", 28,
	  "in the MOF 32 bits with the qualifier Pointer: 64 bits of 64-bit systems" },
	{ "UdpIp", "connid:u32", "connid:ptr", 4, "likewise" },
	/* On purpose. */
	{ "Image", "BaseAddress:ptr", "ImageBase:ptr", 1,
	  "version 0 with the names of later ones, so that a rule has one name" },
	{ "Image", "ModuleSize:u32", "ImageSize:u32", 1, "likewise" },
	{ "Image", "ImageFileName:wstr", "FileName:wstr", 1, "likewise" },
	{ "StackWalk", "key:ptr", "StackKey:ptr", 3, "the name of the events that refer to it" },
	{ "Thread", "-", "ThreadName:wstr", 4,
	  "Windows 10 1903 writes it in version 3, which the exported Windows does not" },
	{ "EventTrace", "PartitionId:guid", "PartitionId:wstr", 1,
	  "a text in WindowsKernelTrace.mof of tekert/goetw; recordings have 32 bytes of zeros for "
	  "both, which either layout reads" },
	{ "EventTrace", "ParentId:guid", "ParentId:wstr", 1, "likewise" },
};

struct comparison {
	unsigned equal, different;
	unsigned used[COUNT(differences)];
};

static bool explain(struct comparison *comparison, const char *class, const char *theirs,
		    const char *ours)
{
	for (size_t i = 0; i < COUNT(differences); i++) {
		if (strcmp(differences[i].class, class) == 0 &&
		    strcmp(differences[i].theirs, theirs) == 0 &&
		    strcmp(differences[i].ours, ours) == 0) {
			comparison->used[i]++;
			return true;
		}
	}
	return false;
}

static void compare(struct comparison *comparison, const struct etw_guid *guid, uint8_t opcode,
		    uint8_t version, const char *fields)
{
	const struct etw_schema *schema = layout_of(guid, opcode, version);
	const char *class = etw_kernel_class_name(guid);
	struct etw_text ours = { 0 };
	bool differs = false, open = false;
	unsigned index = 0;

	if (!schema) {
		fail_msg("%s %u has no layout of version %u", class, opcode, version);
	}
	/* An array without an end stands for all fields that follow. */
	while ((*fields || index < schema->field_count) && !open) {
		size_t size = strcspn(fields, " ");
		char theirs[128] = "-";

		if (size > 0) {
			snprintf(theirs, sizeof theirs, "%.*s", (int)size, fields);
		}
		text_clear(&ours);
		if (index < schema->field_count) {
			add_field(&ours, schema, index);
		} else {
			text_add_char(&ours, '-');
		}
		if (strcmp(theirs, ours.data) != 0) {
			differs = true;
			open = index < schema->field_count &&
			       schema->fields[index].count_type == ETW_FIELD_COUNT_REST;
			if (!explain(comparison, class, theirs, ours.data)) {
				fail_msg("%s %u version %u: %s there, %s here", class, opcode,
					 version, theirs, ours.data);
			}
		}
		fields += size + (fields[size] == ' ');
		index++;
	}
	comparison->equal += !differs;
	comparison->different += differs;
	text_free(&ours);
}

static void layouts_are_those_that_were_exported_from_windows(void **state)
{
	enum { CLASS_GUID, OPCODES, VERSION, FIELDS, CELLS };
	FILE *file = open_data("kernel_layouts.csv");
	struct comparison comparison = { .equal = 0 };
	static char line[LINE_MOST];
	char *cells[CELLS];

	(void)state;
	while (next_line(file, line, cells, CELLS)) {
		struct etw_guid guid;

		assert_true(etw_guid_parse(cells[CLASS_GUID], &guid));
		for (char *opcode = strtok(cells[OPCODES], "|"); opcode;
		     opcode = strtok(NULL, "|")) {
			compare(&comparison, &guid, number(opcode), number(cells[VERSION]),
				cells[FIELDS]);
		}
	}
	fclose(file);
	for (size_t i = 0; i < COUNT(differences); i++) {
		if (comparison.used[i] != differences[i].events) {
			fail_msg("%s: %s there, %s here: %u events, not %u", differences[i].class,
				 differences[i].theirs, differences[i].ours, comparison.used[i],
				 differences[i].events);
		}
	}
	print_message("  %u event versions equal, %u different\n", comparison.equal,
		      comparison.different);
	assert_int_equal(comparison.equal, 440);
	assert_int_equal(comparison.different, 63);
}

/* ---- payloads ---- */

static size_t bytes_of_hex(const char *hex, uint8_t *bytes)
{
	size_t size = strlen(hex) / 2;

	for (size_t i = 0; i < size; i++) {
		char byte[5] = { '0', 'x', hex[2 * i], hex[2 * i + 1], '\0' };

		bytes[i] = number(byte);
	}
	return size;
}

static void check_value(const struct etw_schema *schema, const struct etw_record *record,
			const char *name, const char *expected)
{
	int index = etw_schema_find_field(schema, name);
	struct etw_field_slice slice;
	struct etw_text text = { 0 };
	uint64_t value;

	if (index < 0 || !etw_field_locate(schema, (unsigned)index, record, &slice)) {
		fail_msg("%s has no %s", schema->event, name);
	}
	if (etw_field_is_integer(&schema->fields[index])) {
		assert_true(parse_u64(expected, strlen(expected), &value));
		if (etw_field_u64(&schema->fields[index], &slice) != value) {
			fail_msg("%s: %s is %llu, not %s", schema->event, name,
				 (unsigned long long)etw_field_u64(&schema->fields[index], &slice),
				 expected);
		}
	} else {
		text_add_string(&text, "");
		etw_field_text(&schema->fields[index], &slice, &text);
		assert_string_equal(text.data, expected);
	}
	text_free(&text);
}

static void payloads_of_windows_have_the_values_that_others_read(void **state)
{
	enum { CLASS_GUID, OPCODE, VERSION, POINTER_SIZE, PAYLOAD, VALUES, CELLS };
	FILE *file = open_data("kernel_payloads.csv");
	static char line[LINE_MOST];
	static uint8_t bytes[LINE_MOST / 2];
	char *cells[CELLS];
	unsigned payloads = 0, values = 0;

	(void)state;
	for (; next_line(file, line, cells, CELLS); payloads++) {
		struct etw_record record = { .type = ETW_RECORD_SYSTEM, .classic = true };
		const struct etw_schema *schema;
		struct etw_guid guid;

		assert_true(etw_guid_parse(cells[CLASS_GUID], &guid));
		record.provider = &guid;
		record.opcode = number(cells[OPCODE]);
		record.version = number(cells[VERSION]);
		record.pointer_size = number(cells[POINTER_SIZE]);
		record.payload = bytes;
		record.payload_size = (uint32_t)bytes_of_hex(cells[PAYLOAD], bytes);
		schema = etw_kernel_schema_of(&record);
		assert_non_null(schema);
		for (char *at = cells[VALUES], *next; at; at = next, values++) {
			char *value = strchr(at, '=');

			assert_non_null(value);
			*value++ = '\0';
			next = strchr(value, '|');
			if (next) {
				*next++ = '\0';
			}
			check_value(schema, &record, at, value);
		}
	}
	fclose(file);
	print_message("  %u payloads, %u values\n", payloads, values);
	assert_int_equal(payloads, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_those_that_were_exported_from_windows),
		cmocka_unit_test(payloads_of_windows_have_the_values_that_others_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
