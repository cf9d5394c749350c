/* SPDX-License-Identifier: MIT */
/*
 * The encoder on everything that recordings hold: what a dump shows of a payload leads back to it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/json.h"
#include "base/map.h"
#include "etwtool/event_fields.h"
#include "tests/support/each_event.h"
#include "tests/support/thorough.h"

#define TRACES SOURCE_DIR "/../shared/traces"

/* What is counted over all recordings. */
struct figures {
	size_t records, undecoded, fields, texts, equal, otherwise;
	struct map classes; /* of those that are not equal when they are made of values alone */
};

static struct figures figures;

static const struct etw_record *record_with(const struct etw_record *record,
					    const struct etw_payload *payload)
{
	static struct etw_record changed;

	changed = *record;
	changed.payload = payload->size > 0 ? payload->bytes : (const uint8_t *)"";
	changed.payload_size = (uint32_t)payload->size;
	return &changed;
}

/* All fields of a payload, as a dump has them. */
static void add_fields(struct etw_text *out, struct etw_event_fields *fields)
{
	struct json json;

	json_init(&json, out, false);
	json_object_begin(&json);
	etw_event_fields_members(fields, 0, fields->end, &json);
	if (fields->rest > 0) {
		json_member_u64(&json, "_rest", fields->rest);
	}
	if (fields->truncated) {
		json_key(&json, "_truncated");
		json_bool(&json, true);
	}
	json_object_end(&json);
}

static void dump_fields(struct etw_text *out, const struct etw_schema *schema,
			const struct etw_record *record)
{
	static struct etw_event_fields fields;

	etw_event_fields_locate(&fields, schema, record);
	add_fields(out, &fields);
	etw_event_fields_done(&fields);
}

/* ---- every field with its own value ---- */

static void replace_by_itself(void *context, const struct seen_event *event)
{
	const struct etw_record *record = event->record;
	const struct etw_schema *schema = event->schema;
	static struct etw_encode_change changes[ETW_SCHEMA_FIELDS_MOST];
	static struct json_document document;
	const struct etw_json_value *root, *value;
	struct etw_text text = { 0 };
	struct etw_payload out;
	struct etw_error err = { 0 };
	size_t count = 0;

	(void)context;
	if (event->seen_often) {
		return;
	}
	figures.records++;
	if (!schema) {
		figures.undecoded++;
		return;
	}
	dump_fields(&text, schema, record);
	root = json_read(&document, text.data, text.size, &err);
	if (!root) {
		fail_msg("%s: %s", err.text, text.data);
		return;
	}
	value = root->first;
	for (unsigned i = 0; value && value->key[0] != '_' && i < schema->field_count;
	     i = etw_field_after(schema, i), value = value->next) {
		assert_string_equal(value->key, schema->fields[i].name);
		changes[count++] = (struct etw_encode_change){ .index = i, .value = value };
	}
	figures.fields += count;
	etw_payload_init(&out, record->pointer_size);
	if (!etw_encode_changed(schema, record, changes, count, NULL, NULL, &out, &err)) {
		fail_msg("%s: %s", schema->event, err.text);
	}
	assert_int_equal(out.size, record->payload_size);
	if (out.size > 0) {
		assert_memory_equal(out.bytes, record->payload, out.size);
	}
	etw_payload_done(&out);
	text_free(&text);
	json_document_done(&document);
}

static void by_itself(const char *path)
{
	for_each_event(path, replace_by_itself, NULL);
}

static void every_field_replaced_by_its_own_value_gives_the_same_bytes(void **state)
{
	(void)state;
	figures = (struct figures){ 0 };
	for_each_recording(TRACES, by_itself);
	print_message("  %zu records (%zu without a schema), %zu fields\n", figures.records,
		      figures.undecoded, figures.fields);
	assert_true(figures.fields > (is_thorough() ? 100000 : 10000));
}

/* ---- the payload made anew of what a dump shows ---- */

/* Why the bytes may differ where all values are equal. */
static const char *reason_of(const struct etw_schema *schema, const struct etw_record *record,
			     const struct etw_payload *out, const char *dumped)
{
	static struct etw_event_fields fields;
	const char *reason = strstr(dumped, "\xef\xbf\xbd") ? "an unpaired surrogate" : NULL;

	etw_event_fields_locate(&fields, schema, record);
	if (fields.rest > 0) {
		reason = "bytes behind the last field";
	} else if (fields.truncated) {
		reason = "cut short";
	}
	for (unsigned i = 0; !reason && i < fields.end; i++) {
		const struct etw_field *field = &schema->fields[i];
		const struct etw_field_slice *slice = &fields.slices[i];

		if (field->type == ETW_FIELD_KERNEL_SID) {
			reason = "the words in front of a SID";
		} else if (field->type == ETW_FIELD_WCHAR || field->type == ETW_FIELD_ACHAR ||
			   field->length_type != ETW_FIELD_LENGTH_TYPE) {
			reason = "bytes behind the NUL in a text of fixed length";
		} else if (field->type >= ETW_FIELD_BOOL8 && field->type <= ETW_FIELD_BOOL32 &&
			   slice->at && slice->size > 0 && slice->at[0] > 1) {
			reason = "a bool that is neither 0 nor 1";
		} else if (etw_field_is_text(field) && out->size != record->payload_size) {
			reason = "a text that is not UTF-8, or a count that includes a terminator";
		}
	}
	etw_event_fields_done(&fields);
	return reason;
}

static void make_anew(void *context, const struct seen_event *event)
{
	const struct etw_record *record = event->record;
	const struct etw_schema *schema = event->schema;
	static struct json_document document;
	const struct etw_json_value *root;
	struct etw_text text = { 0 }, again = { 0 };
	struct etw_payload out;
	struct etw_error err = { 0 };

	(void)context;
	if (event->seen_often) {
		return;
	}
	figures.records++;
	if (!schema) {
		return;
	}
	dump_fields(&text, schema, record);
	root = json_read(&document, text.data, text.size, &err);
	assert_non_null(root);
	etw_payload_init(&out, record->pointer_size);
	if (!etw_encode_fields(schema, root, record->payload_size, &out, &err)) {
		fail_msg("%s: %s", schema->event, err.text);
	}
	dump_fields(&again, schema, record_with(record, &out));
	assert_string_equal(again.data, text.data);
	if (out.size == record->payload_size &&
	    (out.size == 0 || memcmp(out.bytes, record->payload, out.size) == 0)) {
		figures.equal++;
	} else {
		const char *reason = reason_of(schema, record, &out, text.data);
		uint64_t key = text_hash(schema->event, strlen(schema->event), 0);
		bool added;

		figures.otherwise++;
		map_put(&figures.classes, key, &added);
		if (added) {
			print_message("    %s: other bytes, %s\n", schema->event,
				      reason ? reason : "for no known reason");
		}
		assert_non_null(reason);
	}
	etw_payload_done(&out);
	text_free(&text);
	text_free(&again);
	json_document_done(&document);
}

static void anew(const char *path)
{
	for_each_event(path, make_anew, NULL);
}

static void a_payload_made_of_what_a_dump_shows_dumps_alike(void **state)
{
	(void)state;
	figures = (struct figures){ 0 };
	for_each_recording(TRACES, anew);
	print_message("  %zu payloads equal byte for byte, %zu in all values only\n", figures.equal,
		      figures.otherwise);
	map_done(&figures.classes);
}

/* ---- texts ---- */

/* Whether another field gives the length or count of this one, directly. */
static bool is_reference_of(const struct etw_schema *schema, unsigned index, unsigned dependent)
{
	const struct etw_field *field = &schema->fields[dependent];

	return (field->count_type == ETW_FIELD_COUNT_FIELD && field->count == index) ||
	       (field->length_type == ETW_FIELD_LENGTH_FIELD && field->length == index);
}

static void replace_text(const struct etw_record *record, const struct etw_schema *schema,
			 const struct etw_event_fields *before, unsigned index,
			 const char *new_text)
{
	static struct etw_event_fields after;
	const struct etw_json_value value = { .type = JSON_TEXT,
					      .text = new_text,
					      .size = strlen(new_text) };
	const struct etw_encode_change change = { .index = index, .value = &value };
	struct etw_text old_value = { 0 }, new_value = { 0 };
	struct etw_payload out;
	struct etw_error err = { 0 };

	etw_payload_init(&out, record->pointer_size);
	if (!etw_encode_changed(schema, record, &change, 1, NULL, NULL, &out, &err)) {
		fail_msg("%s: %s", schema->event, err.text);
	}
	etw_event_fields_locate(&after, schema, record_with(record, &out));
	assert_int_equal(after.end, before->end);
	assert_int_equal(after.rest, before->rest);
	assert_int_equal(after.truncated, before->truncated);
	for (unsigned i = 0; i < after.end; i = etw_field_after(schema, i)) {
		struct etw_event_fields old = *before;
		struct json json;

		if (is_reference_of(schema, i, index)) {
			continue;
		}
		text_clear(&old_value);
		text_clear(&new_value);
		json_init(&json, &new_value, false);
		etw_event_fields_json(&after, i, &json);
		json_init(&json, &old_value, false);
		if (i == index) {
			json_string(&json, new_text);
		} else {
			old.scratch = (struct etw_text){ 0 };
			etw_event_fields_json(&old, i, &json);
			text_free(&old.scratch);
		}
		assert_string_equal(new_value.data, old_value.data);
	}
	etw_event_fields_done(&after);
	etw_payload_done(&out);
	text_free(&old_value);
	text_free(&new_value);
	figures.texts++;
}

static void replace_texts(void *context, const struct seen_event *event)
{
	const struct etw_record *record = event->record;
	const struct etw_schema *schema = event->schema;
	static struct etw_event_fields fields;
	static const char longer[] = "C:\\Pr\xc3\xbc"
				     "fstand\\\xf0\x9f\x94\xa7\\ein recht langer Name.txt";

	(void)context;
	if (!schema || event->seen_often) {
		return;
	}
	etw_event_fields_locate(&fields, schema, record);
	for (unsigned i = 0; i < fields.end; i = etw_field_after(schema, i)) {
		const struct etw_field *field = &schema->fields[i];
		size_t room = etw_encode_room(field, &fields.slices[i]);

		if (!etw_field_is_text(field) || etw_field_is_list(field)) {
			continue;
		}
		if (room >= sizeof longer) {
			replace_text(record, schema, &fields, i, longer);
		}
		replace_text(record, schema, &fields, i, room > 0 ? "x" : "");
		replace_text(record, schema, &fields, i, "");
	}
	etw_event_fields_done(&fields);
}

static void texts(const char *path)
{
	for_each_event(path, replace_texts, NULL);
}

static void a_longer_and_a_shorter_text_leave_all_others_equal(void **state)
{
	(void)state;
	figures = (struct figures){ 0 };
	for_each_recording(TRACES, texts);
	print_message("  %zu texts replaced\n", figures.texts);
	assert_true(figures.texts > (is_thorough() ? 10000 : 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_replaced_by_its_own_value_gives_the_same_bytes),
		cmocka_unit_test(a_payload_made_of_what_a_dump_shows_dumps_alike),
		cmocka_unit_test(a_longer_and_a_shorter_text_leave_all_others_equal),
	};

	return cmocka_run_group_tests_name("encode_recordings", tests, NULL, NULL);
}
