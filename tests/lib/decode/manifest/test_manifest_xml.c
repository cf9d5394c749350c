/* SPDX-License-Identifier: MIT */
/*
 * Manifests: names of events, templates with every in-type, counts and lengths by number and by
 * field, structures, versions, and XML that is not what it says.
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
#define SIZED(text)  text, sizeof(text) - 1

#define BEFORE                                                                 \
	"<m:instrumentationManifest xmlns:m='urn:m'><instrumentation><events>" \
	"<provider name='Synth' guid='{AAAAAAAA-BBBB-CCCC-DDDD-EEEEEEEE0001}'>"
#define AFTER "</provider></events></instrumentation></m:instrumentationManifest>"
#define ONE_TEMPLATE(data)                                                   \
	BEFORE "<events><event value='1' template='T'/></events><templates>" \
	       "<template tid='T'>" data "</template></templates>" AFTER

static struct etw_manifest *read_text(const char *xml)
{
	char *copy = exact_copy(xml, strlen(xml));
	struct etw_error err = { 0 };
	struct etw_manifest *manifest = etw_manifest_read(copy, strlen(xml), &err);

	assert_string_equal(err.text, "");
	assert_non_null(manifest);
	free(copy);
	return manifest;
}

static void events_are_called_by_task_and_opcode_or_by_their_symbol(void **state)
{
	static const struct {
		const char *attributes;
		const char *name;
		const char *symbol;
	} cases[] = {
		{ "task='Work' opcode='win:Start'", "Work/Start", NULL },
		{ "task='Work' opcode='Own' symbol='S'", "Work/Own", "S" },
		{ "task='Work' symbol='S'", "Work", "S" },
		{ "symbol='Done'", "Done", "Done" },
		{ "symbol='Done' opcode='win:Stop'", "Done", "Done" },
		{ "opcode='win:Stop'", "Stop", NULL },
		{ "task='' opcode='' symbol=''", "7", "" },
		{ "", "7", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text xml = { 0 };
		struct etw_manifest *manifest;
		const struct etw_schema *schema;

		text_add_format(&xml, BEFORE "<events><event value='7' %s/></events>" AFTER,
				cases[i].attributes);
		manifest = read_text(xml.data);
		schema = manifest_schema(manifest, 0, 7, 0, 0);
		assert_non_null(schema);
		assert_string_equal(schema->event, cases[i].name);
		assert_int_equal(schema->origin, ETW_SCHEMA_MANIFEST);
		assert_int_equal(schema->field_count, 0);
		if (cases[i].symbol) {
			assert_string_equal(schema->symbol, cases[i].symbol);
		} else {
			assert_null(schema->symbol);
		}
		etw_manifest_free(manifest);
		text_free(&xml);
	}
}

static void every_in_type(void **state)
{
	static const struct {
		const char *data; /* attributes behind the name */
		const char *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{ "inType='win:UnicodeString'", SIZED("a\0\xf6\0\0\0"), "a\xc3\xb6" },
		{ "inType='win:UnicodeString' length='3'", SIZED("a\0\0\0b\0"), "a" },
		{ "inType='win:AnsiString'", SIZED("ab\0"), "ab" },
		{ "inType='win:AnsiString' length='b'", SIZED("abc"), "abc" },
		{ "inType='win:Int8'", SIZED("\xff"), "-1" },
		{ "inType='win:UInt8'", SIZED("\xff"), "255" },
		{ "inType='win:Int16'", SIZED("\xfe\xff"), "-2" },
		{ "inType='win:UInt16'", SIZED("\xfe\xff"), "65534" },
		{ "inType='win:Int32'", SIZED("\0\0\0\x80"), "-2147483648" },
		{ "inType='win:UInt32'", SIZED("\0\0\0\x80"), "2147483648" },
		{ "inType='other:UInt32'", SIZED("\0\0\0\x80"), "2147483648" },
		{ "inType='win:UInt32' length='4'", SIZED("\x01\0\0\0"), "1" },
		{ "inType='win:Int64'", SIZED("\xff\xff\xff\xff\xff\xff\xff\xff"), "-1" },
		{ "inType='win:UInt64'", SIZED("\x01\0\0\0\x01\0\0\0"), "4294967297" },
		{ "inType='win:Float'", SIZED("\xcd\xcc\xcc\x3d"), "0.1" },
		{ "inType='win:Double'", SIZED("\0\0\0\0\0\0\x04\xc0"), "-2.5" },
		{ "inType='win:Boolean'", SIZED("\0\x01\0\0"), "1" },
		{ "inType='win:UInt8' outType='xs:boolean'", SIZED("\x05"), "1" },
		{ "inType='win:Binary' length='2'", SIZED("\xde\xad"), "dead" },
		{ "inType='win:Binary' length='b'", SIZED("\x01\x02\x03"), "010203" },
		{ "inType='win:Binary' length='16' outType='win:IPv6'",
		  SIZED("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"), "::1" },
		{ "inType='win:Binary' length='8' outType='win:SocketAddress'",
		  SIZED("\x02\0\0\x50\x0a\0\0\x01"), "10.0.0.1:80" },
		{ "inType='win:GUID'",
		  SIZED("\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"),
		  "01020304-0506-0708-090a-0b0c0d0e0f10" },
		{ "inType='win:Pointer'", SIZED("\x01\0\0\0\0\0\0\x80"), "9223372036854775809" },
		{ "inType='win:FILETIME'", SIZED("\x07\0\0\0\0\0\0\0"), "7" },
		{ "inType='win:SYSTEMTIME'",
		  SIZED("\xe8\x07\x02\0\x04\0\x1d\0\x17\0\x3b\0\x3a\0\x05\0"),
		  "2024-02-29T23:59:58.005" },
		{ "inType='win:SID'", SIZED("\x01\x01\0\0\0\0\0\x05\x12\0\0\0"), "S-1-5-18" },
		{ "inType='win:HexInt32'", SIZED("\xff\xff\xff\xff"), "4294967295" },
		{ "inType='win:HexInt64'", SIZED("\x0a\0\0\0\0\0\0\0"), "10" },
		{ "inType='win:UInt16' outType='win:Port'", SIZED("\x1f\x90"), "8080" },
		{ "inType='win:UInt32' outType='win:IPv4'", SIZED("\xc0\xa8\x01\x02"),
		  "192.168.1.2" },
		{ "inType='win:CountedUnicodeString'", SIZED("\x04\0A\0B\0"), "AB" },
		{ "inType='trace:SizeT'", SIZED("\x09\0\0\0\0\0\0\0"), "9" },
		{ "inType='trace:UnicodeChar'", SIZED("x\0"), "x" },

		{ "inType='win:UInt16' count='2'", SIZED("\x01\0\x02\0"), "1,2" },
		{ "inType='win:UInt16' count='0'", SIZED(""), "" },
		{ "inType='win:UInt8' count='b'", SIZED("\x01\x02\x03"), "1,2,3" },
		{ "inType='win:AnsiString' count='2'", SIZED("a\0b\0"), "a,b" },
		{ "inType='win:AnsiString' count='2' length='b'", SIZED("abcdef"), "abc,def" },
		{ "inType='win:Binary' count='b' length='2'", SIZED("\1\2\3\4\5\6"),
		  "0102,0304,0506" },
		/* The field does not exist, stands later, or is no number: a single value. */
		{ "inType='win:UInt8' count='nobody'", SIZED("\x01"), "1" },
		{ "inType='win:UInt8' count='e'", SIZED("\x01"), "1" },
		{ "inType='win:UInt8' count='v'", SIZED("\x01"), "1" },
		{ "inType='win:UInt8' count='-1'", SIZED("\x01"), "1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text xml = { 0 }, payload = { 0 }, expected = { 0 };
		struct etw_manifest *manifest;

		text_add_format(&xml,
				ONE_TEMPLATE(
					"<data name='b' inType='win:UInt8'/>"
					"<data name='v' %s/><data name='e' inType='win:UInt16'/>"),
				cases[i].data);
		text_add(&payload, "\x03", 1);
		text_add(&payload, cases[i].bytes, cases[i].size);
		text_add(&payload, "\x22\x01", 2);
		text_add_format(&expected, "b=3 v=%s e=290", cases[i].text);
		manifest = read_text(xml.data);
		assert_decoded(manifest_schema(manifest, 0, 1, 0, 0), payload.data, payload.size, 8,
			       expected.data, 0);
		etw_manifest_free(manifest);
		text_free(&xml);
		text_free(&payload);
		text_free(&expected);
	}
}

static void structures_and_arrays_of_them(void **state)
{
	struct etw_manifest *manifest = read_text(
		ONE_TEMPLATE("<data name='Count' inType='win:UInt8'/>"
			     "<struct name='Values' count='Count'>"
			     "<data name='Id' inType='win:UInt8'/>"
			     "<data name='Parts' inType='win:UInt8'/>"
			     "<data name='Part' inType='win:UInt8' count='Parts'/></struct>"
			     "<struct name='One'><data name='X' inType='win:UInt8'/></struct>"
			     "<data name='Last' inType='win:UInt8'/>"));
	const struct etw_schema *schema = manifest_schema(manifest, 0, 1, 0, 0);

	(void)state;
	assert_decoded(schema, "\2\7\2\1\2\x08\0\x63\x64", 9, 8,
		       "Count=2 Values={Id=7 Parts=2 Part=1,2}{Id=8 Parts=0 Part=} One={X=99} "
		       "Last=100",
		       0);
	assert_int_equal(etw_schema_find_field(schema, "One.X"), 6);
	etw_manifest_free(manifest);
}

/* A counter inside an array counts for its own element only. */
static void a_counter_inside_an_array_counts_inside_it_only(void **state)
{
	struct etw_manifest *manifest = read_text(ONE_TEMPLATE(
		"<struct name='A' count='0'><data name='N' inType='win:UInt8'/></struct>"
		"<data name='V' inType='win:UInt8' count='N'/>"));

	(void)state;
	assert_decoded(manifest_schema(manifest, 0, 1, 0, 0), "\5", 1, 8, "A= V=5", 0);
	etw_manifest_free(manifest);
}

static void an_unknown_type_ends_the_fields(void **state)
{
	struct etw_manifest *manifest =
		read_text(ONE_TEMPLATE("<data name='a' inType='win:UInt8'/>"
				       "<data name='b' inType='win:Nonsense'/>"
				       "<data name='c' inType='win:UInt8'/>"));

	(void)state;
	assert_decoded(manifest_schema(manifest, 0, 1, 0, 0), "\1\2\3", 3, 8, "a=1", 2);
	etw_manifest_free(manifest);
}

static void versions_fall_back_to_0(void **state)
{
	struct etw_manifest *manifest = read_text(
		BEFORE
		"<events><event value='5' version='2' symbol='two'/>"
		"<event value='0x5' version='0' symbol='zero'/><event value='6' version='1'/>"
		"<event value='5' version='2' symbol='again'/>"
		"<event value='70000'/><event version='9'/><event value='8' version='300'/>"
		"</events>" AFTER);

	(void)state;
	assert_string_equal(manifest_schema(manifest, 0, 5, 2, 0)->event, "two");
	assert_string_equal(manifest_schema(manifest, 0, 5, 0, 0)->event, "zero");
	assert_string_equal(manifest_schema(manifest, 0, 5, 1, 0)->event, "zero");
	assert_null(manifest_schema(manifest, 0, 6, 2, 0));
	assert_non_null(manifest_schema(manifest, 0, 6, 1, 0));
	assert_null(manifest_schema(manifest, 0, 8, 0, 0));
	assert_null(manifest_schema(manifest, 0, 4, 0, 0));
	assert_null(manifest_schema(manifest, 0, 65535, 255, 0));
	etw_manifest_free(manifest);
}

static void providers_are_apart(void **state)
{
	struct etw_manifest *manifest = read_text(
		BEFORE "<templates><template tid='T'><data name='a' inType='win:UInt8'/></template>"
		       "</templates><events><event value='1' template='T'/></events></provider>"
		       "<provider name='Other'><events><event value='1' template='T'/>"
		       "<event value='2' symbol='S'/></events>" AFTER);
	struct etw_guid guid;
	char text[GUID_TEXT_SIZE];

	(void)state;
	assert_int_equal(manifest_provider_count(manifest), 2);
	assert_string_equal(etw_manifest_provider_name(manifest, 1), "Other");
	assert_true(manifest_provider_guid(manifest, 0, &guid));
	guid_format(&guid, text);
	assert_string_equal(text, "aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001");
	assert_false(manifest_provider_guid(manifest, 1, &guid));
	assert_int_equal(manifest_schema(manifest, 0, 1, 0, 0)->field_count, 1);
	assert_int_equal(manifest_schema(manifest, 1, 1, 0, 0)->field_count, 0);
	assert_null(manifest_schema(manifest, 0, 2, 0, 0));
	assert_non_null(manifest_schema(manifest, 1, 2, 0, 0));
	assert_true(etw_manifest_bytes(manifest) > 0);
	etw_manifest_free(manifest);
}

static void elements_out_of_place_are_passed_over(void **state)
{
	struct etw_manifest *manifest = read_text(
		BEFORE "<event value='1'/><data name='x' inType='win:UInt8'/>"
		       "<events><events><event value='2'/></events><event value='3'/></events>"
		       "<templates><data name='x' inType='win:UInt8'/><template><data/></template>"
		       "</templates>" AFTER);

	(void)state;
	assert_null(manifest_schema(manifest, 0, 1, 0, 0));
	assert_null(manifest_schema(manifest, 0, 2, 0, 0));
	assert_non_null(manifest_schema(manifest, 0, 3, 0, 0));
	etw_manifest_free(manifest);
}

static void hostile_manifests_are_bounded(void **state)
{
	struct etw_text xml = { 0 };
	struct etw_manifest *manifest;

	(void)state;
	text_add_string(&xml, BEFORE "<events>");
	for (unsigned i = 0; i < 70000; i++) {
		text_add_format(&xml, "<event value='%u' template='T'/>", i & 0xffff);
	}
	text_add_string(&xml, "</events><templates><template tid='T'>");
	for (unsigned i = 0; i < 3000; i++) {
		text_add_string(&xml, "<struct name='s'>");
		text_add_format(&xml, "<data name='d' inType='win:UInt8' count='d'/></struct>");
	}
	text_add_string(&xml, "</template></templates>" AFTER);
	manifest = read_text(xml.data);
	assert_int_equal(manifest_schema(manifest, 0, 60000, 0, 0)->field_count,
			 ETW_SCHEMA_FIELDS_MOST);
	assert_true(etw_manifest_bytes(manifest) < 16 << 20);
	etw_manifest_free(manifest);
	text_free(&xml);

	text_add_string(&xml, BEFORE "<templates><template tid='T'>");
	for (unsigned i = 0; i < 40; i++) {
		text_add_string(&xml, "<struct name='s'>");
	}
	for (unsigned i = 0; i < 40; i++) {
		text_add_string(&xml, "</struct>");
	}
	text_add_string(&xml, "</template></templates><events><event value='1' template='T'/>"
			      "</events>" AFTER);
	manifest = read_text(xml.data);
	assert_int_equal(manifest_schema(manifest, 0, 1, 0, 0)->field_count, ETW_SCHEMA_DEPTH_MOST);
	etw_manifest_free(manifest);
	text_free(&xml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_called_by_task_and_opcode_or_by_their_symbol),
		cmocka_unit_test(every_in_type),
		cmocka_unit_test(structures_and_arrays_of_them),
		cmocka_unit_test(a_counter_inside_an_array_counts_inside_it_only),
		cmocka_unit_test(an_unknown_type_ends_the_fields),
		cmocka_unit_test(versions_fall_back_to_0),
		cmocka_unit_test(providers_are_apart),
		cmocka_unit_test(elements_out_of_place_are_passed_over),
		cmocka_unit_test(hostile_manifests_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
