/* SPDX-License-Identifier: MIT */
/*
 * Manifests of anything at all, as configured and as events bring them, and a payload
 * decoded by every event of theirs. The input is the XML, and its size says which allocation fails
 * when it is read once more.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"
#include "tests/fuzz/failing_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAYLOAD_SIZE = 96, FIELDS_SHOWN = 64, EVENTS_SHOWN = 256, FAILS_MOST = 256 };

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void check_warning(void *context, const char *sentence)
{
	unsigned *count = context;

	check(strstr(sentence, ": warning: ") != NULL);
	check(++*count <= 11); /* and one about the others */
}

/* Small numbers, so that counts and lengths by field lead somewhere. */
static uint8_t *make_payload(void)
{
	uint8_t *payload = malloc(PAYLOAD_SIZE);

	check(payload != NULL);
	for (unsigned i = 0; i < PAYLOAD_SIZE; i++) {
		payload[i] = (uint8_t)(i % 4 == 0 ? 1 + i % 7 : 0);
	}
	return payload;
}

static void check_fields(const struct etw_schema *schema, const struct etw_record *record)
{
	struct etw_text text = { 0 };

	for (unsigned i = 0; i < schema->field_count && i < FIELDS_SHOWN; i++) {
		const struct etw_field *field = &schema->fields[i];
		struct etw_field_slice slice;

		check(i + 1U + field->span <= schema->field_count);
		check(!field->map || field->type <= ETW_FIELD_PORT);
		if (etw_field_locate(schema, i, record, &slice)) {
			check(slice.at >= record->payload &&
			      slice.size <=
				      (size_t)(record->payload + record->payload_size - slice.at));
		}
		if (slice.at && field->type != ETW_FIELD_STRUCT) {
			text_clear(&text);
			etw_field_text(field, &slice, &text);
		}
	}
	text_clear(&text);
	etw_event_schema_name(schema, &text);
	check(text.size > 0 || schema->event[0] == '\0');
	text_free(&text);
}

static void check_manifest(const struct etw_manifest *manifest, const struct etw_record *record)
{
	for (size_t i = 0; i < manifest_provider_count(manifest) && i < 8; i++) {
		struct etw_manifest_event event, before = { 0 };
		size_t number = 0, at = 0;
		const char *name;
		uint64_t mask;

		check(etw_manifest_provider_name(manifest, i) != NULL);
		for (; number < EVENTS_SHOWN && etw_manifest_event(manifest, i, number, &event);
		     number++) {
			check(number == 0 || before.id < event.id ||
			      (before.id == event.id && before.version <= event.version));
			check(manifest_schema(manifest, i, event.id, event.version, event.opcode) ==
			      event.schema);
			check_fields(event.schema, record);
			before = event;
		}
		while (manifest_keyword(manifest, i, &at, &name, &mask)) {
			check(name != NULL);
		}
	}
}

/* What is written of a manifest is read again with all of its events, or the writer says why not.
 */
static void check_written(const struct etw_manifest *manifest)
{
	for (size_t i = 0; i < manifest_provider_count(manifest) && i < 8; i++) {
		struct etw_guid guid = { { 0xa1 } };
		struct etw_manifest_writer *writer;
		struct etw_error err = { 0 };
		struct etw_text xml = { 0 };
		bool written;

		manifest_provider_guid(manifest, i, &guid);
		writer = etw_manifest_writer_new(&guid, "Alpha", &err);
		check(writer != NULL);
		etw_manifest_writer_provider(writer, manifest, i);
		written = etw_manifest_writer_finish(writer, &xml, &err);
		check(written == (err.text[0] == '\0'));
		check(written || err.code == ETW_ERROR_LIMIT || xml.size > 1 << 20);
		etw_manifest_writer_free(writer);
		text_free(&xml);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *xml = malloc(size > 0 ? size : 1);
	uint8_t *payload = make_payload();
	struct etw_record record = { .payload = payload,
				     .payload_size = PAYLOAD_SIZE,
				     .pointer_size = size % 2 ? 4 : 8 };
	unsigned count = 0;
	const struct etw_manifest_warnings warnings = { check_warning, &count };
	struct etw_error err = { 0 };
	struct etw_manifest *given, *found;

	check(xml != NULL);
	memcpy(xml, data, size);
	given = manifest_read_checked(xml, size, &warnings, &err);
	found = etw_manifest_read(xml, size, NULL);
	check((given == NULL) == (err.text[0] != '\0'));
	check(!given || found); /* what is right can be taken as found */
	if (given) {
		check(etw_manifest_bytes(given) == etw_manifest_bytes(found));
		check_manifest(given, &record);
	}
	if (found) {
		check_written(found);
		check_manifest(found, &record);
	}
	etw_manifest_free(given);
	etw_manifest_free(found);
	failing_memory_start((unsigned)(size % FAILS_MOST));
	etw_manifest_free(manifest_read_checked(xml, size, NULL, NULL));
	(void)failing_memory_stop();
	free(payload);
	free(xml);
	return 0;
}
