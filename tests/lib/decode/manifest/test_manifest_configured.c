/* SPDX-License-Identifier: MIT */
/*
 * Configured manifests: maps and strings, numbers of names, encodings, what is refused
 * and where, and XML that means harm.
 */
#include "lib/decode/manifest/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "tests/support/decoded_text.h"
#include "tests/support/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define BEFORE                                               \
	"<instrumentationManifest><instrumentation><events>" \
	"<provider name='Synth' guid='{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}'>\n"
#define BEHIND "</provider></events></instrumentation>"
#define END    "</instrumentationManifest>"
#define AFTER  BEHIND END

static struct etw_manifest *read_checked(const char *xml, size_t size)
{
	char *copy = exact_copy(xml, size);
	struct etw_error err = { 0 };
	struct etw_manifest *manifest = manifest_read_checked(copy, size, NULL, &err);

	assert_string_equal(err.text, "");
	assert_non_null(manifest);
	free(copy);
	return manifest;
}

static struct etw_manifest *read_text(const char *xml)
{
	return read_checked(xml, strlen(xml));
}

/* Maps come after the template that uses them, strings after the provider. */
static void values_have_the_strings_of_their_map(void **state)
{
	struct etw_manifest *manifest = read_text(
		BEFORE
		"<events><event value='1' template='T'/></events>"
		"<templates><template tid='T'>"
		"<data name='Colour' inType='win:UInt32' map='Colours'/>"
		"<data name='Rights' inType='win:UInt8' map='Rights'/>"
		"<struct name='In' count='2'>"
		"<data name='Colour' inType='win:UInt8' map='Colours'/></struct>"
		"<data name='Text' inType='win:AnsiString' map='Colours'/>"
		"</template></templates><maps>"
		"<valueMap name='Colours'><map value='1' message='$(string.red)'/>"
		"<map value='0x2' message='plain '/><map value='3' message='$(string.gone)'/>"
		"<map value='4'/></valueMap>"
		"<bitMap name='Rights'><map value='0x4' message='$(string.run)'/>"
		"<map value='0x1' message='$(string.read)'/></bitMap></maps>" BEHIND
		"<localization><resources culture='de-DE'><stringTable>"
		"<string id='red' value='rot'/><string id='run' value='Lauf'/></stringTable></resources>"
		"<resources culture='en-us'><stringTable><string id='red' value='red&#10;'/>"
		"<string id='read' value='R\xc3\xa9"
		"ad'/></stringTable></resources></localization>" END);
	const struct etw_schema *schema = manifest_schema(manifest, 0, 1, 0, 0);

	(void)state;
	assert_decoded(schema, "\1\0\0\0\5\2\3x\0", 9, 8,
		       "Colour=red Rights=R\xc3\xa9"
		       "ad|Lauf In={Colour=plain}{Colour=gone} Text=x",
		       0);
	assert_decoded(schema, "\4\0\0\0\2\1\7\0", 8, 8,
		       "Colour=4 Rights=0x2 In={Colour=red}{Colour=7} Text=", 0);
	etw_manifest_free(manifest);
}

/* Alone in its manifest, such a map has no entry to stand on. */
static void maps_without_values_name_nothing(void **state)
{
	struct etw_manifest *manifest = read_text(
		BEFORE
		"<maps><valueMap name='M'/></maps>"
		"<events><event value='1' template='T'/></events><templates><template tid='T'>"
		"<data name='v' inType='win:UInt8' map='M'/></template></templates>" AFTER);

	(void)state;
	assert_decoded(manifest_schema(manifest, 0, 1, 0, 0), "\1", 1, 8, "v=1", 0);
	etw_manifest_free(manifest);
}

/* Two providers may each have a map of one name. */
static void maps_are_their_providers_own(void **state)
{
	struct etw_manifest *manifest = read_text(
		BEFORE
		"<maps><valueMap name='M'><map value='1' message='one'/></valueMap></maps>"
		"<events><event value='1' template='T'/></events><templates><template tid='T'>"
		"<data name='v' inType='win:UInt8' map='M'/></template></templates></provider>"
		"<provider name='Other' guid='{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0002}'>"
		"<maps><valueMap name='M'><map value='1' message='eins'/></valueMap></maps>"
		"<events><event value='1' template='T'/></events><templates><template tid='T'>"
		"<data name='v' inType='win:UInt8' map='M'/></template></templates>" AFTER);

	(void)state;
	assert_decoded(manifest_schema(manifest, 0, 1, 0, 0), "\1", 1, 8, "v=one", 0);
	assert_decoded(manifest_schema(manifest, 1, 1, 0, 0), "\1", 1, 8, "v=eins", 0);
	etw_manifest_free(manifest);
}

/* An opcode of the event's task before one of the provider before a standard one. */
static void names_stand_for_numbers(void **state)
{
	static const struct etw_manifest_event expected[] = {
		{ .id = 1, .task = 7, .opcode = 11, .level = 4, .keywords = 0x8000000000000005 },
		{ .id = 2, .task = 8, .opcode = 12, .level = 16 },
		{ .id = 2, .version = 1, .opcode = 1, .keywords = UINT64_C(1) << 48 },
		{ .id = 3, .opcode = 12 },
		{ .id = 4 },
	};
	struct etw_manifest *manifest = read_text(
		BEFORE
		"<keywords><keyword name='A' mask='0x1'/><keyword name='B' mask='0x4'/>"
		"<keyword name='Top' mask='0x8000000000000000'/></keywords>"
		"<levels><level name='Own' value='16'/></levels>"
		"<tasks><task name='First' value='7'><opcodes><opcode name='Go' value='11'/></opcodes>"
		"</task><task name='Second' value='8'/></tasks>"
		"<opcodes><opcode name='Go' value='12'/></opcodes><events>"
		"<event value='4' task='Nobody' opcode='win:Nothing' level='none' keywords='C'/>"
		"<event value='2' version='1' opcode='win:Start' keywords='win:ResponseTime'/>"
		"<event value='2' task='Second' opcode='Go' level='Own'/>"
		"<event value='1' task='First' opcode='Go' level='win:Informational'"
		" keywords='A  B\nTop'/>"
		"<event value='3' opcode='Go'/></events>" AFTER);
	struct etw_manifest_event event;
	const char *name;
	uint64_t mask;
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_true(etw_manifest_event(manifest, 0, i, &event));
		assert_int_equal(event.id, expected[i].id);
		assert_int_equal(event.version, expected[i].version);
		assert_int_equal(event.task, expected[i].task);
		assert_int_equal(event.opcode, expected[i].opcode);
		assert_int_equal(event.level, expected[i].level);
		assert_int_equal(event.keywords, expected[i].keywords);
		assert_ptr_equal(event.schema, manifest_schema(manifest, 0, event.id, event.version,
							       event.opcode));
	}
	assert_false(etw_manifest_event(manifest, 0, COUNT(expected), &event));
	assert_true(manifest_keyword(manifest, 0, &at, &name, &mask));
	assert_string_equal(name, "A");
	assert_int_equal(mask, 1);
	assert_true(manifest_keyword(manifest, 0, &at, &name, &mask));
	assert_true(manifest_keyword(manifest, 0, &at, &name, &mask));
	assert_string_equal(name, "Top");
	assert_false(manifest_keyword(manifest, 0, &at, &name, &mask));
	etw_manifest_free(manifest);
}

/* As Windows' own editors save it. */
static void utf_16_reads_like_utf_8(void **state)
{
	static const char xml[] = BEFORE "<events><event value='1' symbol='S'/></events>" AFTER;

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct etw_text wide = { 0 };
		struct etw_manifest *manifest;

		text_add(&wide, big ? "\xfe\xff" : "\xff\xfe", 2);
		for (size_t i = 0; i < sizeof xml - 1; i++) {
			const char unit[2] = { big ? 0 : xml[i], big ? xml[i] : 0 };

			text_add(&wide, unit, 2);
		}
		manifest = read_checked(wide.data, wide.size);
		assert_string_equal(etw_manifest_provider_name(manifest, 0), "Synth");
		assert_string_equal(manifest_schema(manifest, 0, 1, 0, 0)->symbol, "S");
		etw_manifest_free(manifest);
		text_free(&wide);
	}
}

static void add_warning(void *context, const char *sentence)
{
	text_add_string(context, sentence);
	text_add_char(context, '\n');
}

/* Providers of Windows have all of these. The provider stands on line 1, what is inside it on line
 * 2; event 14 is always right, and event 13 is decoded as "13" says, if it is. */
static void what_a_manifest_of_windows_lacks_costs_no_other_event(void **state)
{
#define RIGHT                                                                                     \
	"<templates><template tid='R'><data name='n' inType='win:UInt8'/></template></templates>" \
	"<events><event value='14' template='R'/></events>"
	static const struct {
		const char *inside;
		const char *decoded_13; /* NULL: not described */
		const char *warnings;
	} cases[] = {
		{ "<events><event value='13' template='T'/></events>" RIGHT, NULL,
		  "2:9: warning: event 13: there is no template 'T', so the event has no layout\n" },
		{ "<templates><template tid='T'><data name='a' inType='win:UInt8' map='M'/></template>"
		  "</templates><events><event value='13' template='T'/></events>" RIGHT,
		  "a=1", "2:30: warning: there is no map 'M', so the values have no names\n" },
		{ RIGHT
		  "<templates><template tid='T'><data name='a' inType='win:UInt8'/></template>"
		  "</templates><events><event value='13' template='T'/>\n"
		  "<event value='13' template='R'/>\n<event value='13'/></events>",
		  "a=1",
		  "3:1: warning: event 13 of version 0 is defined twice with opcode 0; the first one "
		  "counts\n"
		  "4:1: warning: event 13 of version 0 is defined twice with opcode 0; the first one "
		  "counts\n" },
		/* Another opcode is another event. */
		{ RIGHT "<opcodes><opcode name='O' value='128'/></opcodes><events>"
			"<event value='13' opcode='O'/><event value='13' template='R'/></events>",
		  "n=1", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text xml = { 0 }, said = { 0 };
		const struct etw_manifest_warnings warnings = { add_warning, &said };
		struct etw_error err = { 0 };
		struct etw_manifest *manifest;

		text_add_format(&xml, BEFORE "%s" AFTER, cases[i].inside);
		text_add_string(&said, "");
		manifest = manifest_read_checked(xml.data, xml.size, &warnings, &err);
		if (!manifest) {
			fail_msg("%s", err.text);
		}
		assert_decoded(manifest_schema(manifest, 0, 14, 0, 0), "\7", 1, 8, "n=7", 0);
		if (cases[i].decoded_13) {
			assert_decoded(manifest_schema(manifest, 0, 13, 0, 0), "\1", 1, 8,
				       cases[i].decoded_13, 0);
		} else {
			assert_null(manifest_schema(manifest, 0, 13, 0, 0));
		}
		assert_string_equal(said.data, cases[i].warnings);
		etw_manifest_free(manifest);
		/* Warnings are not needed. */
		manifest = manifest_read_checked(xml.data, xml.size, NULL, &err);
		assert_non_null(manifest);
		etw_manifest_free(manifest);
		text_free(&xml);
		text_free(&said);
	}
#undef RIGHT
}

static void of_two_events_of_one_id_and_version_the_opcode_decides(void **state)
{
	static const char xml[] = BEFORE
		"<opcodes><opcode name='O' value='128'/></opcodes>"
		"<events><event value='13' symbol='First'/>"
		"<event value='13' opcode='O' symbol='Other'/>"
		"<event value='13' opcode='win:Start' symbol='Start'/>"
		"<event value='13' version='1' symbol='One'/></events>" AFTER;
	static const struct {
		uint8_t version, opcode;
		const char *symbol;
	} cases[] = {
		{ 0, 0, "First" },   { 0, 1, "Start" },
		{ 0, 128, "Other" }, { 0, 77, "First" }, /* none has this opcode */
		{ 1, 128, "One" },
	};
	struct etw_manifest *manifest = read_checked(xml, sizeof xml - 1);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_string_equal(
			manifest_schema(manifest, 0, 13, cases[i].version, cases[i].opcode)->symbol,
			cases[i].symbol);
		/* Also where another version stands in for one that is not described. */
		if (cases[i].version == 0) {
			assert_string_equal(
				manifest_schema_older(manifest, 0, 13, 1, cases[i].opcode)->symbol,
				cases[i].symbol);
		}
	}
	etw_manifest_free(manifest);
}

static void many_warnings_are_one_sentence(void **state)
{
	struct etw_text xml = { 0 }, said = { 0 };
	const struct etw_manifest_warnings warnings = { add_warning, &said };
	struct etw_manifest *manifest;

	(void)state;
	text_add_string(&xml, BEFORE "<events>");
	for (unsigned i = 0; i < 5000; i++) {
		text_add_string(&xml, "<event value='1'/>");
	}
	text_add_string(&xml, "</events>" AFTER);
	manifest = manifest_read_checked(xml.data, xml.size, &warnings, NULL);
	assert_non_null(manifest);
	assert_non_null(strstr(said.data, "2:27: warning: event 1 of version 0"));
	assert_non_null(strstr(said.data, "2:189: warning: and 4989 more like these\n"));
	etw_manifest_free(manifest);
	text_free(&xml);
	text_free(&said);
}

/* The provider stands on line 1, what is inside it on line 2. */
static void errors_name_file_line_and_column(void **state)
{
	static const struct {
		const char *inside;
		const char *why;
	} cases[] = {
		{ "<events><event/></events>",
		  "2:9: the event's 'value' is not a number up to 65535" },
		{ "<events><event value='65536'/></events>",
		  "2:9: the event's 'value' is not a number up to 65535" },
		{ "<events><event value='5' version='256'/></events>",
		  "2:9: event 5: 'version' is not a number up to 255" },
		{ "<templates><template/></templates>", "2:12: the template has no 'tid'" },
		{ "<templates><template tid='T'/>\n<template tid='T'/></templates>",
		  "3:1: template 'T' is defined twice" },
		{ "<templates><template tid='T'><data name='a' inType='win:UInt33'/>"
		  "</template></templates>",
		  "2:30: unknown 'inType' 'win:UInt33' of field 'a'" },
		{ "<templates><template tid='T'><data name='a'/></template></templates>",
		  "2:30: unknown 'inType' '' of field 'a'" },
		{ "<templates><template tid='T'><data inType='win:UInt8'/></template></templates>",
		  "2:30: the field has no 'name'" },
		{ "<templates><template tid='T'><date name='a' inType='win:UInt8'/>"
		  "</template></templates>",
		  "2:30: unknown element 'date' among the fields" },
		/* A length must stand in front, a structure cannot count itself. */
		{ "<templates><template tid='T'><data name='a' inType='win:Binary' length='b'/>"
		  "<data name='b' inType='win:UInt8'/></template></templates>",
		  "2:30: length 'b' is neither a number up to 65535 nor an integer field before this one" },
		{ "<templates><template tid='T'><struct name='s' count='s'>"
		  "<data name='b' inType='win:UInt8'/></struct></template></templates>",
		  "2:30: count 's' is neither a number up to 65535 nor an integer field before this one" },
		{ "<templates><template tid='T'><data name='f' inType='win:Float'/>\n"
		  "<data name='a' inType='win:UInt8' count='f'/></template></templates>",
		  "3:1: count 'f' is neither a number up to 65535 nor an integer field before this one" },
		{ "<maps><valueMap name='M'><map value='red'/></valueMap></maps>",
		  "2:26: 'value' is missing or is not a number below 2^32" },
		{ "<maps><valueMap name='M'/><bitMap name='M'/></maps>",
		  "2:27: map 'M' is defined twice" },
		{ "<keywords><keyword name='K' mask='x'/></keywords>",
		  "2:11: 'x' is not a number" },
		{ "<tasks><task value='1'/></tasks>", "2:8: the element has no 'name'" },
		{ "</provider><provider name='P' guid='{1}'>",
		  "2:12: provider 'P' has no valid 'guid'" },
		{ "</provider><provider guid='{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0002}'>",
		  "2:12: the provider has no name" },
		{ "<events>", "2:11: invalid XML: mismatched tag" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text xml = { 0 };
		struct etw_error err = { 0 };
		char *copy;

		text_add_format(&xml, BEFORE "%s" AFTER, cases[i].inside);
		copy = exact_copy(xml.data, xml.size);
		assert_null(manifest_read_checked(copy, xml.size, NULL, &err));
		assert_string_equal(err.text, cases[i].why);
		free(copy);
		text_free(&xml);
	}
}

/* What came with events is taken as far as it goes. */
static void taken_as_found_nothing_of_it_is_an_error(void **state)
{
	static const char xml[] = BEFORE
		"<events><event value='5' template='T'/><event value='5' template='U'/>"
		"<event value='x'/></events><maps><valueMap name='M'><map value='red'/></valueMap>"
		"<valueMap name='M'/></maps><tasks><task/></tasks>"
		"<templates><template tid='T'><data name='a' inType='win:UInt8' map='N'/>"
		"<date/><data name='b' inType='win:Binary' length='c'/></template>"
		"<template/></templates>" AFTER;
	struct etw_error err = { 0 };
	struct etw_manifest *manifest = etw_manifest_read(xml, sizeof xml - 1, &err);

	(void)state;
	assert_non_null(manifest);
	assert_decoded(manifest_schema(manifest, 0, 5, 0, 0), "\7\1\2", 3, 8, "a=7 b=0102", 0);
	etw_manifest_free(manifest);
}

static void repeat(struct etw_text *text, const char *piece, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		text_add_string(text, piece);
	}
}

/* Entities in entities, nesting, attributes of megabytes, more of everything than there can be. */
static void xml_that_means_harm_is_refused_in_little_memory(void **state)
{
	static const struct {
		const char *before, *piece, *behind;
		unsigned times;
		const char *why;
	} cases[] = {
		{ "<!DOCTYPE a [<!ENTITY a0 'ha'>", "<!ENTITY a1 '&a0;&a0;'>", "]><a>&a1;</a>", 30,
		  "a document type declaration is not allowed" },
		{ "<!DOCTYPE a SYSTEM 'http://", "x", "'><a/>", 30,
		  "a document type declaration is not allowed" },
		{ BEFORE, "<a>", "", 1000000, "elements are nested too deep" },
		{ BEFORE "<templates><template tid='T'>", "<struct name='s'>", "", 40,
		  "more than 1024 fields, or structures more than 16 deep" },
		{ BEFORE "<templates><template tid='T'>", "<data name='a' inType='win:UInt8'/>", "",
		  1025, "more than 1024 fields, or structures more than 16 deep" },
		{ BEFORE "<templates>", "<template tid='T'/>", "", 2,
		  "template 'T' is defined twice" },
		{ BEFORE "<keywords>", "<keyword name='a'/>", "", 70000,
		  "more than 65536 elements of one type" },
		{ BEFORE,
		  "</provider><provider name='P' guid='aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001'>", "",
		  1025, "more than 1024 elements of one type" },
		{ BEFORE "<events><event value='1' symbol='", "very long ", "'/>", 1000000,
		  "no element found" },
		{ BEFORE "<a ", "b='' ", "/>", 2, "duplicate attribute" },
		{ "", "\xff", "", 10, "invalid XML: not well-formed (invalid token)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text xml = { 0 };
		struct etw_error err = { 0 };
		size_t size;

		text_add_string(&xml, cases[i].before);
		repeat(&xml, cases[i].piece, cases[i].times);
		text_add_string(&xml, cases[i].behind);
		assert_null(manifest_read_checked(xml.data, xml.size, NULL, &err));
		size = strlen(err.text) - strlen(cases[i].why);
		assert_string_equal(err.text + (size <= strlen(err.text) ? size : 0), cases[i].why);
		text_free(&xml);
	}
}

static void a_name_of_a_value_is_cut_at_a_page(void **state)
{
	struct etw_text xml = { 0 }, name = { 0 };
	struct etw_manifest *manifest;
	struct etw_record record = { .payload = (const uint8_t *)"\1", .payload_size = 1 };
	struct etw_field_slice slice;
	const struct etw_schema *schema;

	(void)state;
	text_add_string(&xml, BEFORE "<maps><valueMap name='M'><map value='1' message='x");
	repeat(&xml, "\xc3\xa9", 100000);
	text_add_string(&xml, "'/></valueMap></maps><templates><template tid='T'>"
			      "<data name='a' inType='win:UInt8' map='M'/></template></templates>"
			      "<events><event value='1' template='T'/></events>" AFTER);
	manifest = read_checked(xml.data, xml.size);
	schema = manifest_schema(manifest, 0, 1, 0, 0);
	assert_true(etw_field_locate(schema, 0, &record, &slice));
	etw_field_text(&schema->fields[0], &slice, &name);
	assert_int_equal(name.size, 1023); /* between two characters */
	etw_manifest_free(manifest);
	text_free(&name);
	text_free(&xml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_the_strings_of_their_map),
		cmocka_unit_test(maps_without_values_name_nothing),
		cmocka_unit_test(maps_are_their_providers_own),
		cmocka_unit_test(names_stand_for_numbers),
		cmocka_unit_test(utf_16_reads_like_utf_8),
		cmocka_unit_test(what_a_manifest_of_windows_lacks_costs_no_other_event),
		cmocka_unit_test(of_two_events_of_one_id_and_version_the_opcode_decides),
		cmocka_unit_test(many_warnings_are_one_sentence),
		cmocka_unit_test(errors_name_file_line_and_column),
		cmocka_unit_test(taken_as_found_nothing_of_it_is_an_error),
		cmocka_unit_test(xml_that_means_harm_is_refused_in_little_memory),
		cmocka_unit_test(a_name_of_a_value_is_cut_at_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
