/* SPDX-License-Identifier: MIT */
/*
 * Assignments: how they are read, which events they are about, what becomes of a record.
 */
#include <etw/mirror.h>

#include "etwtool/relog/relog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "lib/decode/kernel_class.h"
#include "tests/support/one_record.h"

static struct set_fields set;

static int tear_down(void **state)
{
	(void)state;
	set_fields_done(&set);
	return 0;
}

static void add_assignment(const char *text)
{
	struct etw_error err = { 0 };

	if (!set_fields_add(&set, text, &err)) {
		fail_msg("%s", err.text);
	}
}

/* A record of the Image class, or of a provider without a schema. */
struct made {
	struct one_record one;
	struct etw_event_class class;
};

static void make_record(struct made *made, const struct etw_out_record *out)
{
	const struct etw_record *record = &made->one.walk.record;

	one_record_make(&made->one, out);
	made->class = (struct etw_event_class){
		.provider = *record->provider,
		.id = record->id,
		.version = record->version,
		.opcode = record->opcode,
		.pointer_size = 8,
		.classic = record->classic,
		.kernel_class = (uint8_t)etw_kernel_class_of(record->provider),
		.schema = etw_kernel_schema_of(record),
	};
	made->class.provider_name = made->class.schema ? "Windows Kernel" : "Contoso";
	made->class.event_name = made->class.schema ? "Image/Load" : "5";
}

/* An image load as Windows 7 writes it: Image_Load, version 2 (docs/etl-format.md section 15). */
static void make_image_load(struct made *made, const char *name)
{
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_pointer(&payload, 0x7ff600000000);
	etw_payload_pointer(&payload, 4096);
	etw_payload_u32(&payload, 42);   /* ProcessId */
	etw_payload_zeros(&payload, 12); /* checksum, time stamp, reserved */
	etw_payload_pointer(&payload, 0x7ff600000000);
	etw_payload_zeros(&payload, 16);
	etw_payload_wstring(&payload, name);
	make_record(made, &(struct etw_out_record){ .type = ETW_RECORD_SYSTEM,
						    .group = 3,
						    .opcode = 10,
						    .version = 2,
						    .process_id = 42,
						    .thread_id = 43,
						    .payload = payload.bytes,
						    .payload_size = payload.size });
	etw_payload_done(&payload);
	assert_non_null(made->class.schema);
}

static const uint8_t *apply(struct made *made, enum set_answer expected, size_t *size)
{
	const uint8_t *bytes = made->one.bytes;
	struct etw_error err = { 0 };
	enum set_answer answer;

	*size = made->one.size;
	answer = set_fields_apply(&set, &made->one.walk.record, &made->class, &bytes, size, &err);
	if (answer == SET_FAILED && expected != SET_FAILED) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(answer, expected);
	return bytes;
}

static void a_field_is_replaced_and_the_rest_stays(void **state)
{
	struct made before, after;
	const uint8_t *bytes;
	size_t size;

	(void)state;
	make_image_load(&before, "\\a.dll");
	make_image_load(&after, "C:\\Plugins\\b.dll");
	add_assignment("Image/Load.FileName=C:\\Plugins\\b.dll");
	bytes = apply(&before, SET_CHANGED, &size);
	assert_int_equal(size, after.one.size);
	assert_memory_equal(bytes, after.one.bytes, size);
	apply(&after, SET_SAME, &size);
	assert_true(set_fields_found(&set, "the recording", NULL));
}

static void an_event_that_it_is_not_about_stays(void **state)
{
	struct made made;
	struct etw_error err = { 0 };
	size_t size;

	(void)state;
	make_image_load(&made, "\\a.dll");
	add_assignment("Process/Start.ImageFileName=x.exe");
	assert_ptr_equal(apply(&made, SET_SAME, &size), made.one.bytes);
	assert_ptr_equal(apply(&made, SET_SAME, &size), made.one.bytes);
	assert_false(set_fields_found(&set, "the recording", &err));
	assert_string_equal(
		err.text, "\"Process/Start.ImageFileName=x.exe\": the recording has no such event");
}

static void numbers_are_decimal_or_hexadecimal(void **state)
{
	struct made made;
	const uint8_t *bytes;
	size_t size;

	(void)state;
	make_image_load(&made, "\\a.dll");
	add_assignment("Image/Load.ImageBase=0x10");
	add_assignment("Image/Load.ProcessId=77");
	bytes = apply(&made, SET_CHANGED, &size);
	assert_int_equal(etw_load_u64(bytes + ETL_SYSTEM_HEADER_SIZE), 0x10);
	assert_int_equal(etw_load_u32(bytes + ETL_SYSTEM_HEADER_SIZE + 16), 77);
}

static void values_of_the_header_can_be_set(void **state)
{
	static const struct etw_guid provider = { { 1, 2, 3 } };
	struct made made;
	const uint8_t *bytes;
	size_t size;

	(void)state;
	make_record(&made, &(struct etw_out_record){ .type = ETW_RECORD_EVENT,
						     .provider = &provider,
						     .id = 5,
						     .payload = "ab",
						     .payload_size = 2 });
	add_assignment("Contoso/5.@id=6");
	add_assignment("Contoso/5.@provider=04030201-0605-0807-090a-0b0c0d0e0f10");
	add_assignment("Contoso/5.@pid=9");
	bytes = apply(&made, SET_CHANGED, &size);
	assert_int_equal(size, made.one.size);
	assert_int_equal(etw_load_u16(bytes + 0x28), 6);
	assert_int_equal(etw_load_u32(bytes + 0x0c), 9);
	assert_memory_equal(bytes + 0x18, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", 10);
	assert_memory_equal(bytes + size - 2, "ab", 2);
	assert_true(set_fields_found(&set, "the recording", NULL));
}

/* The reader gives an empty payload a place outside the record. */
static void the_header_of_an_event_without_payload_can_be_set(void **state)
{
	static const struct etw_guid provider = { { 1, 2, 3 } };
	struct made made;
	const uint8_t *bytes;
	size_t size;

	(void)state;
	make_record(&made, &(struct etw_out_record){
				   .type = ETW_RECORD_EVENT, .provider = &provider, .id = 5 });
	add_assignment("Contoso/5.@id=6");
	bytes = apply(&made, SET_CHANGED, &size);
	assert_int_equal(size, made.one.size);
	assert_int_equal(etw_load_u16(bytes + 0x28), 6);
}

static void what_does_not_fit_is_an_error(void **state)
{
	struct made made;
	struct etw_error err = { 0 };
	const uint8_t *bytes;
	size_t size;

	(void)state;
	make_image_load(&made, "\\a.dll");
	add_assignment("Image/Load.ProcessId=x");
	bytes = made.one.bytes;
	size = made.one.size;
	assert_int_equal(set_fields_apply(&set, &made.one.walk.record, &made.class, &bytes, &size,
					  &err),
			 SET_FAILED);
	assert_string_equal(err.text, "Image/Load of event 7: ProcessId: expected a whole number "
				      "from 0 to 4294967295, found \"x\"");
}

static void a_field_that_no_event_has_gets_a_suggestion(void **state)
{
	struct made made;
	struct etw_error err = { 0 };
	size_t size;

	(void)state;
	make_image_load(&made, "\\a.dll");
	add_assignment("Image/Load.Filenam=x");
	apply(&made, SET_SAME, &size);
	assert_false(set_fields_found(&set, "the recording", &err));
	assert_string_equal(err.text, "\"Image/Load.Filenam=x\": none of these events has a field "
				      "Filenam; did you mean \"FileName\"?");
}

static void mistakes_on_the_command_line_are_named(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "Image/Load",
		  "expected EVENT.FIELD=VALUE, as in 'Image/Load.FileName=C:\\x.dll', "
		  "found \"Image/Load\"" },
		{ "Image/Load=x", "expected EVENT.FIELD=VALUE, as in "
				  "'Image/Load.FileName=C:\\x.dll', found \"Image/Load=x\"" },
		{ "Image/Load.@cpu=1",
		  "\"Image/Load.@cpu=1\": a header has no value @cpu; it has @provider, @id, "
		  "@version, @opcode, @level, @task, @keyword, @pid and @tid" },
		{ "Image/Load.@pid=x", "\"Image/Load.@pid=x\": expected a number after the =" },
		{ "Contoso/5.@provider=x",
		  "\"Contoso/5.@provider=x\": expected a GUID after the =" },
		{ "Image/Load.A=[1", "\"Image/Load.A=[1\": the value is no JSON: expected a comma "
				     "or ] at character 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		assert_false(set_fields_add(&set, cases[i].text, &err));
		assert_string_equal(err.text, cases[i].sentence);
	}
}

int main(void)
{
#define RUN(test) cmocka_unit_test_teardown(test, tear_down)
	const struct CMUnitTest tests[] = {
		RUN(a_field_is_replaced_and_the_rest_stays),
		RUN(an_event_that_it_is_not_about_stays),
		RUN(numbers_are_decimal_or_hexadecimal),
		RUN(values_of_the_header_can_be_set),
		RUN(the_header_of_an_event_without_payload_can_be_set),
		RUN(what_does_not_fit_is_an_error),
		RUN(a_field_that_no_event_has_gets_a_suggestion),
		RUN(mistakes_on_the_command_line_are_named),
	};

	return cmocka_run_group_tests_name("set_fields", tests, NULL, NULL);
}
