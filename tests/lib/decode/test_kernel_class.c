/* SPDX-License-Identifier: MIT */
/*
 * What the tables of kernel classes say: by hand for the layouts that matter most, against the
 * reference for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/schema.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct etw_guid class_guid(const char *name)
{
	struct etw_guid guid = { { 0 } };

	assert_true(etw_kernel_class_find(name, strlen(name), &guid));
	return guid;
}

static const struct etw_field *field_of(const struct etw_schema *schema, const char *name)
{
	int index = etw_schema_find_field(schema, name);

	assert_true(index >= 0);
	return &schema->fields[index];
}

static void classes_have_names_and_enumerators(void **state)
{
	static const struct {
		const char *guid;
		const char *name;
		enum etw_kernel_class class;
		bool is_kernel;
	} cases[] = {
		{ "68fdd900-4a3e-11d1-84f4-0000f80464e3", "EventTrace", ETW_KERNEL_EVENT_TRACE,
		  true },
		{ "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", "Process", ETW_KERNEL_PROCESS, true },
		{ "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", "Thread", ETW_KERNEL_THREAD, true },
		{ "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", "Image", ETW_KERNEL_IMAGE, true },
		{ "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c", "DiskIo", ETW_KERNEL_DISK_IO, true },
		{ "90cbdc39-4a3e-11d1-84f4-0000f80464e3", "FileIo", ETW_KERNEL_FILE_IO, true },
		{ "9a280ac0-c8e0-11d1-84e2-00c04fb998a2", "TcpIp", ETW_KERNEL_TCP_IP, true },
		{ "bf3a50c5-a9c9-4988-a005-2df0b7c80f80", "UdpIp", ETW_KERNEL_UDP_IP, true },
		{ "9b79ee91-b5fd-41c0-a243-4248e266e9d0", "SysConfig", ETW_KERNEL_SYS_CONFIG,
		  true },
		{ "6a399ae0-4bc6-4de9-870b-3657f8947e7e", "LostEvent", ETW_KERNEL_LOST_EVENT,
		  true },
		{ "3282fc76-feed-498e-8aa7-e70f459d430e", "Job", ETW_KERNEL_OTHER, true },
		{ "bbccf6c1-6cd1-48c4-80ff-839482e37671", "MetaData", ETW_KERNEL_META_DATA, false },
		{ "edd08927-9cc4-4e65-b970-c2560fb5c289", NULL, ETW_KERNEL_NONE, false },
		{ "00000000-0000-0000-0000-000000000000", NULL, ETW_KERNEL_NONE, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_guid guid, found;
		const char *name;

		assert_true(etw_guid_parse(cases[i].guid, &guid));
		name = etw_kernel_class_name(&guid);
		assert_int_equal(etw_kernel_class_of(&guid), cases[i].class);
		assert_int_equal(etw_kernel_class_is_kernel(&guid), cases[i].is_kernel);
		if (!cases[i].name) {
			assert_null(name);
			continue;
		}
		assert_string_equal(name, cases[i].name);
		assert_true(etw_kernel_class_find(name, strlen(name), &found));
		assert_true(etw_guid_equal(&found, &guid));
	}
}

static void names_are_found_without_case_and_whole(void **state)
{
	struct etw_guid guid;
	uint8_t opcode = 0;

	(void)state;
	assert_true(etw_kernel_class_find("diskio", 6, &guid));
	assert_false(etw_kernel_class_find("diskio", 5, &guid));
	assert_false(etw_kernel_class_find("", 0, &guid));
	guid = class_guid("DiskIo");
	assert_true(etw_kernel_event_find(&guid, "READ", 4, &opcode));
	assert_int_equal(opcode, 10);
	assert_false(etw_kernel_event_find(&guid, "Rea", 3, &opcode));
	assert_string_equal(etw_kernel_event_name(&guid, 14), "FlushBuffers");
	assert_null(etw_kernel_event_name(&guid, 99));
	guid = class_guid("Job");
	assert_null(etw_kernel_event_name(&guid, 32));
}

static void classes_are_listed_once_each(void **state)
{
	const char *names[64];
	struct etw_guid guid;
	unsigned count = 0;

	(void)state;
	for (const char *name; (name = etw_kernel_class_at(count, &guid)); count++) {
		assert_string_equal(etw_kernel_class_name(&guid), name);
		assert_true(count < COUNT(names));
		names[count] = name;
		for (unsigned i = 0; i < count; i++) {
			assert_string_not_equal(names[i], name);
		}
	}
	assert_int_equal(count, 36);
	assert_null(etw_kernel_class_at(count + 1, NULL));
}

static void versions_fall_back_to_the_nearest_below_then_to_the_lowest(void **state)
{
	static const struct {
		const char *class;
		uint8_t opcode;
		uint8_t version;
		const char *event;
	} cases[] = {
		{ "Process", 1, 0, "Process_V0_TypeGroup1" },
		{ "Process", 1, 3, "Process_V3_TypeGroup1" },
		{ "Process", 1, 4, "Process_V4_TypeGroup1" },
		{ "Process", 1, 255, "Process_V4_TypeGroup1" },
		{ "Process", 39, 0, "Process_V2_TypeGroup1" },
		{ "Process", 39, 5, "Process_Defunct_TypeGroup1" },
		{ "Process", 11, 0, "Process_Terminate_TypeGroup1" },
		{ "Thread", 2, 1, "Thread_V1_TypeGroup2" },
		{ "DiskIo", 14, 0, "DiskIo_V2_TypeGroup3" },
		{ "DiskIo", 14, 7, "DiskIo_TypeGroup3" },
		{ "SystemConfig", 10, 1, "SystemConfig_V1_CPU" },
		{ "SystemConfig", 22, 4, "SystemConfig_V4_PnP" },
		{ "DiskIo", 99, 0, NULL },
		{ "MetaData", 32, 0, NULL },
		{ "Job", 32, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_guid guid = class_guid(cases[i].class);
		const struct etw_schema *schema =
			kernel_schema(&guid, cases[i].opcode, cases[i].version);

		print_message("  %s %u, version %u\n", cases[i].class, cases[i].opcode,
			      cases[i].version);
		if (!cases[i].event) {
			assert_null(schema);
			continue;
		}
		assert_non_null(schema);
		assert_string_equal(schema->event, cases[i].event);
	}
}

static void the_size_decides_the_layout_of_a_few_events(void **state)
{
	static const struct {
		uint8_t opcode;
		uint8_t version;
		uint8_t pointer_size;
		uint32_t size;
		const char *event;
	} cases[] = {
		{ 83, 3, 8, 44, "FileIo_ReadWrite" },
		{ 83, 3, 4, 32, "FileIo_ReadWrite" },
		{ 84, 3, 8, 40, "FileIo_Info" },
		{ 86, 4, 4, 24, "FileIo_Info" },
		{ 85, 3, 8, 43, NULL },
		{ 85, 3, 4, 44, NULL },
		{ 83, 3, 8, 0, NULL },
		/* Others have their layout at any size. */
		{ 67, 3, 8, 1, "FileIo_ReadWrite" },
	};
	const struct etw_guid guid = class_guid("FileIo");

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct etw_record record = { .provider = &guid,
						   .classic = true,
						   .opcode = cases[i].opcode,
						   .version = cases[i].version,
						   .pointer_size = cases[i].pointer_size,
						   .payload_size = cases[i].size };
		const struct etw_schema *schema = etw_kernel_schema_of(&record);

		print_message("  %u of %u bytes\n", cases[i].opcode, (unsigned)cases[i].size);
		assert_int_equal(etw_kernel_form(&record) != 0, cases[i].opcode != 67);
		if (cases[i].event) {
			assert_non_null(schema);
			assert_string_equal(schema->event, cases[i].event);
		} else {
			assert_null(schema);
			assert_int_equal(etw_kernel_form(&record), ETW_KERNEL_FORM_UNKNOWN);
		}
	}
}

static void offsets_are_those_of_both_pointer_sizes(void **state)
{
	static const struct {
		const char *class;
		const char *field;
		uint8_t opcode;
		uint8_t version;
		uint16_t offset32;
		uint16_t offset64;
	} cases[] = {
		{ "DiskIo", "DiskNumber", 10, 3, 0, 0 },
		{ "DiskIo", "TransferSize", 10, 3, 8, 8 },
		{ "DiskIo", "HighResResponseTime", 10, 3, 32, 40 },
		{ "DiskIo", "IssuingThreadId", 10, 3, 40, 48 },
		{ "DiskIo", "HighResResponseTime", 14, 3, 8, 8 },
		{ "DiskIo", "IssuingThreadId", 14, 3, 20, 24 },
		{ "Process", "Flags", 1, 4, 24, 32 },
		{ "Process", "UserSID", 1, 4, 28, 36 },
		{ "Process", "ImageFileName", 1, 4, ETW_FIELD_OFFSET_VARIES,
		  ETW_FIELD_OFFSET_VARIES },
		{ "Process", "PrivatePageCount", 32, 2, 56, 96 },
		{ "Thread", "ThreadName", 1, 3, 44, 72 },
		{ "EventTrace", "BootTime", 0, 2, 240, 248 },
		{ "FileIo", "IoFlags", 67, 3, 28, 40 },
		{ "StackWalk", "Stack", 32, 2, 16, 16 },
		{ "SystemConfig", "HighestUserAddress", 10, 3, 804, 808 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_guid guid = class_guid(cases[i].class);
		const struct etw_schema *schema =
			kernel_schema(&guid, cases[i].opcode, cases[i].version);
		const struct etw_field *field;

		assert_non_null(schema);
		field = field_of(schema, cases[i].field);
		print_message("  %s.%s\n", schema->event, cases[i].field);
		assert_int_equal(field->offset[0], cases[i].offset32);
		assert_int_equal(field->offset[1], cases[i].offset64);
	}
}

static void opcodes_in_code_are_those_of_the_table(void **state)
{
	static const struct {
		const char *class;
		const char *event;
		enum etw_kernel_opcode opcode;
	} cases[] = {
		{ "Process", "Start", ETW_KERNEL_OPCODE_START },
		{ "Process", "Stop", ETW_KERNEL_OPCODE_STOP },
		{ "Process", "DCStart", ETW_KERNEL_OPCODE_DC_START },
		{ "Process", "DCStop", ETW_KERNEL_OPCODE_DC_STOP },
		{ "Thread", "Start", ETW_KERNEL_OPCODE_START },
		{ "Thread", "Stop", ETW_KERNEL_OPCODE_STOP },
		{ "Thread", "DCStart", ETW_KERNEL_OPCODE_DC_START },
		{ "Thread", "DCStop", ETW_KERNEL_OPCODE_DC_STOP },
		{ "Image", "Load", ETW_KERNEL_OPCODE_IMAGE_LOAD },
		{ "Image", "Unload", ETW_KERNEL_OPCODE_STOP },
		{ "Image", "DCStart", ETW_KERNEL_OPCODE_DC_START },
		{ "Image", "DCStop", ETW_KERNEL_OPCODE_DC_STOP },
		{ "DiskIo", "Read", ETW_KERNEL_OPCODE_DISK_IO_READ },
		{ "DiskIo", "Write", ETW_KERNEL_OPCODE_DISK_IO_WRITE },
		{ "EventTrace", "Header", ETW_KERNEL_OPCODE_EVENT_TRACE_HEADER },
		{ "Thread", "CSwitch", ETW_KERNEL_OPCODE_THREAD_CSWITCH },
		{ "Thread", "ReadyThread", ETW_KERNEL_OPCODE_THREAD_READY_THREAD },
		{ "Thread", "SubProcessTagChanged",
		  ETW_KERNEL_OPCODE_THREAD_SUB_PROCESS_TAG_CHANGED },
		{ "FileIo", "Name", ETW_KERNEL_OPCODE_FILE_IO_NAME },
		{ "FileIo", "FileCreate", ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE },
		{ "FileIo", "FileDelete", ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE },
		{ "FileIo", "FileRundown", ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN },
		{ "FileIo", "Create", ETW_KERNEL_OPCODE_FILE_IO_CREATE },
		{ "FileIo", "Write", ETW_KERNEL_OPCODE_FILE_IO_WRITE },
		{ "FileIo", "Delete", ETW_KERNEL_OPCODE_FILE_IO_DELETE },
		{ "FileIo", "Rename", ETW_KERNEL_OPCODE_FILE_IO_RENAME },
		{ "FileIo", "Flush", ETW_KERNEL_OPCODE_FILE_IO_FLUSH },
		{ "FileIo", "FSControl", ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL },
		{ "FileIo", "OperationEnd", ETW_KERNEL_OPCODE_FILE_IO_OPERATION_END },
		{ "FileIo", "FltRead", ETW_KERNEL_OPCODE_FILE_IO_FLT_READ },
		{ "FileIo", "FltWrite", ETW_KERNEL_OPCODE_FILE_IO_FLT_WRITE },
		{ "FileIo", "FltQueryInfo", ETW_KERNEL_OPCODE_FILE_IO_FLT_QUERY_INFO },
		{ "FileIo", "FltPreOpInit", ETW_KERNEL_OPCODE_FILE_IO_FLT_PRE_OP_INIT },
		{ "FileIo", "FltPostOpFailure", ETW_KERNEL_OPCODE_FILE_IO_FLT_POST_OP_FAILURE },
		{ "PageFault", "HardFault", ETW_KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT },
		{ "PageFault", "VirtualAlloc", ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC },
		{ "PageFault", "VirtualFree", ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_FREE },
		{ "PageFault", "VirtualAllocDCStart",
		  ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_START },
		{ "PageFault", "VirtualAllocDCStop",
		  ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_STOP },
		{ "PerfInfo", "SampleProf", ETW_KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF },
		{ "StackWalk", "Stack", ETW_KERNEL_OPCODE_STACK_WALK_STACK },
		{ "SystemConfig", "PhyDisk", ETW_KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK },
		{ "SystemConfig", "LogDisk", ETW_KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK },
		{ "SystemConfig", "Services", ETW_KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES },
		{ "SysConfig", "VolumeMapping", ETW_KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING },
		{ "LostEvent", "LostEvent", ETW_KERNEL_OPCODE_LOST_EVENT },
		{ "LostEvent", "LostBuffer", ETW_KERNEL_OPCODE_LOST_BUFFER },
		{ "LostEvent", "LostFile", ETW_KERNEL_OPCODE_LOST_FILE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_guid guid = class_guid(cases[i].class);
		uint8_t opcode = 0;

		print_message("  %s/%s\n", cases[i].class, cases[i].event);
		assert_true(etw_kernel_event_find(&guid, cases[i].event, strlen(cases[i].event),
						  &opcode));
		assert_int_equal(opcode, cases[i].opcode);
	}
}

static void kernel_groups_stand_for_classes_in_the_order_of_the_table(void **state)
{
	unsigned groups = 0;
	struct etw_guid guid;

	(void)state;
	while (groups < ETW_KERNEL_GROUPS &&
	       etw_kernel_class_of(etw_kernel_group_guid((uint8_t)groups))) {
		assert_non_null(etw_kernel_class_at(groups, &guid));
		assert_true(etw_guid_equal(&guid, etw_kernel_group_guid((uint8_t)groups)));
		groups++;
	}
	assert_int_equal(groups, 31);
}

/* ---- against the reference tables: in both directions, without exception ---- */

static FILE *open_reference(const char *name)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof path, "%s/docs/%s", SOURCE_DIR, name);
	file = fopen(path, "r");
	assert_non_null(file);
	return file;
}

/* Splits a line at its commas; fields are plain in these files. Missing ones are empty. */
static void split(char *line, char **cells, size_t count)
{
	static char nothing[1];

	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = 0; i < count; i++) {
		cells[i] = line ? line : nothing;
		line = line ? strchr(line, ',') : NULL;
		if (line) {
			*line++ = '\0';
		}
	}
}

static unsigned number(const char *text)
{
	uint64_t value = 0;

	assert_true(parse_u64(text, strlen(text), &value));
	assert_true(value <= UINT16_MAX);
	return (unsigned)value;
}

static int field_type_of(const char *word)
{
	static const struct {
		const char *word;
		enum etw_field_type type;
	} words[] = {
		{ "i8", ETW_FIELD_I8 },         { "u8", ETW_FIELD_U8 },
		{ "i16", ETW_FIELD_I16 },       { "u16", ETW_FIELD_U16 },
		{ "i32", ETW_FIELD_I32 },       { "u32", ETW_FIELD_U32 },
		{ "i64", ETW_FIELD_I64 },       { "u64", ETW_FIELD_U64 },
		{ "bool32", ETW_FIELD_BOOL32 }, { "ptr", ETW_FIELD_POINTER },
		{ "sizet", ETW_FIELD_SIZE },    { "port", ETW_FIELD_PORT },
		{ "ip4", ETW_FIELD_IP4 },       { "ip6", ETW_FIELD_IP6 },
		{ "guid", ETW_FIELD_GUID },     { "wstr", ETW_FIELD_WSTRING },
		{ "astr", ETW_FIELD_ASTRING },  { "wchar", ETW_FIELD_WSTRING },
		{ "bin", ETW_FIELD_BINARY },    { "sid", ETW_FIELD_KERNEL_SID },
	};

	for (size_t i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].word, word) == 0) {
			return (int)words[i].type;
		}
	}
	return -1;
}

static void assert_count(const struct etw_field *field, const char *count)
{
	if (*count == '\0') {
		assert_int_equal(field->count_type, ETW_FIELD_SCALAR);
	} else if (strcmp(count, "rest") == 0) {
		assert_int_equal(field->count_type, ETW_FIELD_COUNT_REST);
	} else if (strncmp(count, "field", 5) == 0) {
		assert_int_equal(field->count_type, ETW_FIELD_COUNT_FIELD);
		assert_int_equal(field->count + 1, number(count + 5));
	} else if (field->type == ETW_FIELD_WSTRING || field->type == ETW_FIELD_BINARY) {
		assert_int_equal(field->length_type, ETW_FIELD_LENGTH_FIXED);
		assert_int_equal(field->length, number(count));
	} else {
		assert_int_equal(field->count_type, ETW_FIELD_COUNT_FIXED);
		assert_int_equal(field->count, number(count));
	}
}

static void assert_offset(uint16_t offset, const char *text)
{
	assert_int_equal(offset, *text ? number(text) : ETW_FIELD_OFFSET_VARIES);
}

/* Rows that the reference has for our layouts when it has each of them: one for each field, or one
 * for a layout without fields. */
static unsigned count_layout_rows(void)
{
	const struct etw_schema *schema;
	struct etw_guid guid;
	unsigned rows = 0;

	for (unsigned class = 0; etw_kernel_class_at(class, &guid); class ++) {
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			for (unsigned i = 0;
			     (schema = etw_kernel_schema_at(&guid, (uint8_t)opcode, i, NULL));
			     i++) {
				rows += schema->field_count ? schema->field_count : 1;
			}
		}
	}
	return rows;
}

static unsigned count_event_names(void)
{
	struct etw_guid guid;
	unsigned names = 0;

	for (unsigned class = 0; etw_kernel_class_at(class, &guid); class ++) {
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			names += etw_kernel_event_name(&guid, (uint8_t)opcode) != NULL;
		}
	}
	return names;
}

static void every_layout_is_that_of_the_reference(void **state)
{
	enum {
		EVENT,
		CLASS_GUID,
		OPCODE,
		VERSION,
		INDEX,
		FIELD,
		TYPE,
		NUMBER,
		OFFSET32,
		OFFSET64,
		CELLS
	};
	FILE *file = open_reference("kernel-events.csv");
	char line[512], *cells[CELLS];
	unsigned rows = 0;

	(void)state;
	assert_non_null(fgets(line, sizeof line, file));
	while (fgets(line, sizeof line, file)) {
		const struct etw_schema *schema;
		const struct etw_field *field;
		struct etw_guid guid;
		uint8_t version, found = 0;
		unsigned index;

		split(line, cells, CELLS);
		assert_true(etw_guid_parse(cells[CLASS_GUID], &guid));
		version = (uint8_t)number(cells[VERSION]);
		/* An opcode may have several layouts of a version, which differ by their sizes. */
		for (unsigned i = 0; (schema = etw_kernel_schema_at(
					      &guid, (uint8_t)number(cells[OPCODE]), i, &found));
		     i++) {
			if (found == version && strcmp(schema->event, cells[EVENT]) == 0) {
				break;
			}
		}
		assert_non_null(schema);
		index = number(cells[INDEX]);
		rows++;
		if (index == 0) {
			assert_int_equal(schema->field_count, 0);
			continue;
		}
		assert_true(index <= schema->field_count);
		field = &schema->fields[index - 1];
		assert_string_equal(field->name, cells[FIELD]);
		assert_int_equal(field->type, field_type_of(cells[TYPE]));
		assert_count(field, cells[NUMBER]);
		assert_offset(field->offset[0], cells[OFFSET32]);
		assert_offset(field->offset[1], cells[OFFSET64]);
	}
	fclose(file);
	print_message("  %u rows\n", rows);
	assert_true(rows > 2000);
	assert_int_equal(rows, count_layout_rows());
}

static void every_event_has_the_name_of_the_reference(void **state)
{
	enum { CLASS, CLASS_GUID, OPCODE, NAME, CELLS };
	FILE *file = open_reference("kernel-event-names.csv");
	char line[512], *cells[CELLS];
	unsigned names = 0;

	(void)state;
	assert_non_null(fgets(line, sizeof line, file));
	while (fgets(line, sizeof line, file)) {
		struct etw_guid guid;
		uint8_t opcode = 0;

		split(line, cells, CELLS);
		assert_true(etw_guid_parse(cells[CLASS_GUID], &guid));
		assert_string_equal(etw_kernel_class_name(&guid), cells[CLASS]);
		assert_true(etw_kernel_class_is_kernel(&guid));
		if (*cells[OPCODE] == '\0') {
			continue;
		}
		assert_non_null(etw_kernel_event_name(&guid, (uint8_t)number(cells[OPCODE])));
		assert_string_equal(etw_kernel_event_name(&guid, (uint8_t)number(cells[OPCODE])),
				    cells[NAME]);
		assert_true(
			etw_kernel_event_find(&guid, cells[NAME], strlen(cells[NAME]), &opcode));
		assert_int_equal(opcode, number(cells[OPCODE]));
		names++;
	}
	fclose(file);
	print_message("  %u names\n", names);
	assert_int_equal(names, count_event_names());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_have_names_and_enumerators),
		cmocka_unit_test(names_are_found_without_case_and_whole),
		cmocka_unit_test(classes_are_listed_once_each),
		cmocka_unit_test(versions_fall_back_to_the_nearest_below_then_to_the_lowest),
		cmocka_unit_test(the_size_decides_the_layout_of_a_few_events),
		cmocka_unit_test(offsets_are_those_of_both_pointer_sizes),
		cmocka_unit_test(opcodes_in_code_are_those_of_the_table),
		cmocka_unit_test(kernel_groups_stand_for_classes_in_the_order_of_the_table),
		cmocka_unit_test(every_layout_is_that_of_the_reference),
		cmocka_unit_test(every_event_has_the_name_of_the_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
