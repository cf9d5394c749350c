/* SPDX-License-Identifier: MIT */
/*
 * What a recording says about its providers: names by origin, distinct counts, chunks of
 * manifests.
 */
#include <etw/mirror.h>

#include "lib/decode/trace_schemas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/manifest/manifest.h"
#include "tests/support/decoded_text.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/exact_copy.h"

#define XML_BEFORE     "<m:instrumentationManifest xmlns:m='urn:m'><instrumentation><events>"
#define XML_AFTER      "</events></instrumentation></m:instrumentationManifest>"
#define MANIFEST(name) XML_BEFORE "<provider name='" name "' guid='{1}'/>" XML_AFTER

static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid beta = { { 0xbe } };
static const struct etw_guid meta_data = ETW_META_DATA_CLASS;

static struct etw_trace_schemas *schemas_new(void)
{
	struct etw_error err;
	struct etw_trace_schemas *schemas = etw_trace_schemas_new(&err);

	assert_non_null(schemas);
	return schemas;
}

static void assert_counts(const struct etw_trace_schemas *schemas, uint64_t manifests,
			  uint64_t event_infos, uint64_t maps)
{
	struct etw_trace_schemas_counts counts;

	etw_trace_schemas_count(schemas, &counts);
	assert_int_equal(counts.manifests, manifests);
	assert_int_equal(counts.event_infos, event_infos);
	assert_int_equal(counts.maps, maps);
}

/* Shows a record whose payload and items end where their heap blocks end. */
static void assert_dropped(const struct etw_trace_schemas *schemas, uint64_t manifests,
			   uint64_t descriptions)
{
	struct etw_trace_schemas_statistics statistics;

	etw_trace_schemas_statistics(schemas, &statistics);
	assert_int_equal(statistics.dropped_manifests, manifests);
	assert_int_equal(statistics.dropped_descriptions, descriptions);
}

static void look(struct etw_trace_schemas *schemas, struct etw_record record,
		 const struct etw_payload *payload, const struct etw_payload *items)
{
	uint8_t *bytes = exact_copy(payload->bytes, payload->size);
	uint8_t *extended = items ? exact_copy(items->bytes, items->size) : NULL;

	assert_false(payload->failed);
	record.payload = bytes;
	record.payload_size = (uint32_t)payload->size;
	record.extended = extended;
	record.extended_size = items ? (uint32_t)items->size : 0;
	record.pointer_size = 8;
	etw_trace_schemas_look(schemas, &record);
	free(bytes);
	free(extended);
}

static void look_at_chunk(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			  uint32_t process_id, uint16_t number, uint16_t total, const char *xml,
			  size_t size)
{
	struct etw_record record = { .provider = provider,
				     .process_id = process_id,
				     .type = ETW_RECORD_EVENT,
				     .id = ETW_MANIFEST_EVENT_ID };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u8(&payload, 1);
	etw_payload_u8(&payload, 1);
	etw_payload_u8(&payload, 0);
	etw_payload_u8(&payload, 0x5b);
	etw_payload_u16(&payload, total);
	etw_payload_u16(&payload, number);
	etw_payload_bytes(&payload, xml, size);
	look(schemas, record, &payload, NULL);
	etw_payload_done(&payload);
}

static void look_at_manifest(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			     const char *xml)
{
	look_at_chunk(schemas, provider, 4, 0, 1, xml, strlen(xml));
}

/* An EventInfo of one property, its strings behind it. */
static void look_at_event_info(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			       const struct etw_guid *event_class, uint16_t id, uint32_t source,
			       const char *name, size_t cut)
{
	struct etw_record record = {
		.provider = &meta_data, .type = ETW_RECORD_FULL, .classic = true, .opcode = 32
	};
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_guid(&payload, provider);
	etw_payload_guid(&payload, event_class);
	etw_payload_u16(&payload, id);
	etw_payload_u8(&payload, 3); /* version */
	etw_payload_u8(&payload, 0);
	etw_payload_u8(&payload, 0);
	etw_payload_u8(&payload, (uint8_t)id); /* opcode */
	etw_payload_u16(&payload, 0);
	etw_payload_u64(&payload, 0);
	etw_payload_u32(&payload, source);
	etw_payload_u32(&payload, name ? 112 + 24 : 0);
	etw_payload_zeros(&payload, 100 - 56);
	etw_payload_u32(&payload, 1);
	etw_payload_u32(&payload, 1);
	etw_payload_u32(&payload, 0);
	etw_payload_zeros(&payload, 24);
	etw_payload_wstring(&payload, name ? name : "");
	payload.size -= cut;
	look(schemas, record, &payload, NULL);
	etw_payload_done(&payload);
}

static void look_at_map(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			const char *name, uint32_t entries)
{
	struct etw_record record = {
		.provider = &meta_data, .type = ETW_RECORD_FULL, .classic = true, .opcode = 33
	};
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_guid(&payload, provider);
	etw_payload_u32(&payload, 16 + 8);
	etw_payload_u32(&payload, 1);
	etw_payload_u32(&payload, entries);
	etw_payload_u32(&payload, 0);
	etw_payload_zeros(&payload, 8);
	etw_payload_wstring(&payload, name);
	look(schemas, record, &payload, NULL);
	etw_payload_done(&payload);
}

static void look_at_traits(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			   const char *name, uint16_t claimed)
{
	struct etw_record record = { .provider = provider, .type = ETW_RECORD_EVENT };
	uint16_t size = (uint16_t)(2 + strlen(name) + 1);
	uint16_t whole = (uint16_t)((8 + size + 7) / 8 * 8);
	struct etw_payload payload, items;

	etw_payload_init(&payload, 8);
	etw_payload_init(&items, 8);
	etw_payload_u16(&items, whole);
	etw_payload_u16(&items, ETW_EXTENDED_PROVIDER_TRAITS);
	etw_payload_u16(&items, 0);
	etw_payload_u16(&items, size);
	etw_payload_u16(&items, claimed ? claimed : size);
	etw_payload_astring(&items, name);
	etw_payload_zeros(&items, whole - items.size);
	look(schemas, record, &payload, &items);
	etw_payload_done(&payload);
	etw_payload_done(&items);
}

static void a_manifest_names_its_provider_before_event_info_and_traits_claim_once(void **state)
{
	struct etw_trace_schemas *schemas = schemas_new();

	(void)state;
	assert_null(trace_schemas_provider_name(schemas, &alpha));
	look_at_traits(schemas, &alpha, "first traits", 0);
	look_at_traits(schemas, &alpha, "second traits", 0);
	assert_null(trace_schemas_provider_name(schemas, &alpha));
	assert_string_equal(trace_schemas_claimed_name(schemas, &alpha), "first traits");
	look_at_event_info(schemas, &alpha, &beta, 7, ETW_EVENT_INFO_MANIFEST, "Event-Info ", 0);
	assert_string_equal(trace_schemas_provider_name(schemas, &alpha), "Event-Info");
	look_at_manifest(schemas, &alpha, MANIFEST("Manifest"));
	look_at_event_info(schemas, &alpha, &beta, 7, ETW_EVENT_INFO_MANIFEST, "Later", 0);
	look_at_traits(schemas, &alpha, "third traits", 0);
	etw_trace_schemas_finish(schemas);
	assert_string_equal(trace_schemas_provider_name(schemas, &alpha), "Manifest");
	assert_string_equal(trace_schemas_claimed_name(schemas, &alpha), "first traits");
	assert_null(trace_schemas_provider_name(schemas, &beta));
	assert_counts(schemas, 1, 1, 0);
	etw_trace_schemas_free(schemas);
}

static void descriptions_count_once_each(void **state)
{
	struct etw_trace_schemas *schemas = schemas_new();

	(void)state;
	for (unsigned pass = 0; pass < 2; pass++) {
		look_at_event_info(schemas, &alpha, &beta, 7, ETW_EVENT_INFO_MANIFEST, NULL, 0);
		look_at_event_info(schemas, &alpha, &beta, 8, ETW_EVENT_INFO_MANIFEST, NULL, 0);
		look_at_event_info(schemas, &beta, &beta, 8, ETW_EVENT_INFO_MANIFEST, NULL, 0);
		look_at_event_info(schemas, &alpha, &beta, 8, ETW_EVENT_INFO_MOF, NULL, 0);
		look_at_map(schemas, &alpha, "Colours", 1);
		look_at_map(schemas, &beta, "Colours", 1);
		look_at_map(schemas, &beta, "Shapes", 1);
	}
	assert_counts(schemas, 0, 4, 3);
	assert_null(trace_schemas_provider_name(schemas, &alpha));
	etw_trace_schemas_free(schemas);
}

static void look_at_meta_data(struct etw_trace_schemas *schemas, uint8_t opcode,
			      const struct etw_payload *payload)
{
	struct etw_record record = {
		.provider = &meta_data, .type = ETW_RECORD_FULL, .classic = true, .opcode = opcode
	};

	look(schemas, record, payload, NULL);
}

/* Before the description and after it, of another provider, and one that is nowhere. */
static void values_have_the_names_of_their_maps(void **state)
{
	static const struct blob_property properties[] = {
		{ "Colour", 0, 8, 0, 1, 4 },     { "Rights", 0, 4, 0, 1, 1 },
		{ "Shape", 0, 8, 0, 1, 4 },      { "Text", 0, 1, 0, 1, 0 },
		{ "Colours", 0x20, 4, 0, 2, 1 },
	};
	static const char *const maps[] = { "Colours ", "Rights", "Shapes", "Colours", "Colours" };
	static const struct blob_map_entry colours[] = {
		{ 7, "blue " }, { 1, "red" }, { 7, "again" }, { 2, "" }
	};
	static const struct blob_map_entry rights[] = { { 4, "Run" },
							{ 1, "Read" },
							{ 2, "Write" } };
	static const struct event_info_blob description = {
		.provider = &alpha,
		.id = 7,
		.task = "Paint",
		.properties = properties,
		.property_count = 5,
		.top_level_count = 5,
		.maps = maps,
	};
	const struct event_map_blob blobs[] = {
		{ .provider = &alpha, .name = "Colours", .entries = colours, .entry_count = 4 },
		{ .provider = &beta, .name = "Shapes", .entries = rights, .entry_count = 3 },
		{ .provider = &alpha,
		  .name = "Rights",
		  .bits = true,
		  .entries = rights,
		  .entry_count = 3 },
	};
	struct etw_trace_schemas *schemas = schemas_new();
	struct etw_record record = { .provider = &alpha, .type = ETW_RECORD_EVENT, .id = 7 };
	const struct etw_schema *schema;

	(void)state;
	for (size_t i = 0; i <= sizeof blobs / sizeof blobs[0]; i++) {
		struct etw_payload payload;

		etw_payload_init(&payload, 8);
		if (i == 2) {
			payload_event_info(&payload, &description);
			look_at_meta_data(schemas, META_DATA_EVENT_INFO, &payload);
		} else {
			payload_event_map(&payload, &blobs[i < 2 ? i : i - 1]);
			look_at_meta_data(schemas, META_DATA_EVENT_MAP_INFO, &payload);
		}
		etw_payload_done(&payload);
	}
	etw_trace_schemas_finish(schemas);
	assert_counts(schemas, 0, 1, 3);
	schema = trace_schemas_find(schemas, &record, NULL);
	assert_decoded(schema, "\7\0\0\0\x45\4\0\0\0A\0\0\0\1\3", 15, 8,
		       "Colour=blue Rights=Read|Run|0x40 Shape=4 Text=A Colours=red,3", 0);
	assert_decoded(schema, "\2\0\0\0\0\1\0\0\0\0\0\0\0", 13, 8,
		       "Colour=2 Rights=0 Shape=1 Text= Colours=0,0", 0);
	etw_trace_schemas_free(schemas);
}

static void descriptions_that_are_not_whole_do_not_count(void **state)
{
	struct etw_trace_schemas *schemas = schemas_new();

	(void)state;
	for (size_t cut = 4; cut <= 138; cut++) { /* the name's bytes, then the property … */
		look_at_event_info(schemas, &alpha, &beta, 7, ETW_EVENT_INFO_MANIFEST, "", cut);
	}
	look_at_map(schemas, &alpha, "Shapes", 1000);
	look_at_map(schemas, &alpha, "Shapes", UINT32_MAX);
	assert_counts(schemas, 0, 0, 0);
	etw_trace_schemas_free(schemas);
}

static void the_last_manifest_of_a_provider_wins(void **state)
{
	struct etw_trace_schemas *schemas = schemas_new();

	(void)state;
	look_at_manifest(schemas, &alpha, MANIFEST("Old"));
	look_at_manifest(schemas, &alpha, MANIFEST("New"));
	look_at_manifest(schemas, &beta, MANIFEST("Other"));
	assert_string_equal(trace_schemas_provider_name(schemas, &alpha), "New");
	assert_string_equal(trace_schemas_provider_name(schemas, &beta), "Other");
	assert_counts(schemas, 3, 0, 0);
	etw_trace_schemas_free(schemas);
}

static void chunks_come_together_by_provider_and_process(void **state)
{
	static const char xml[] = MANIFEST("In-Pieces");
	struct etw_trace_schemas *schemas = schemas_new();

	(void)state;
	look_at_chunk(schemas, &alpha, 1, 0, 3, xml, 10);
	look_at_chunk(schemas, &alpha, 2, 0, 2, "other text", 10);
	look_at_chunk(schemas, &beta, 1, 0, 2, "other text", 10);
	look_at_chunk(schemas, &alpha, 1, 1, 3, xml + 10, 50);
	assert_null(trace_schemas_provider_name(schemas, &alpha));
	look_at_chunk(schemas, &alpha, 1, 2, 3, xml + 60, sizeof xml - 1 - 60);
	assert_string_equal(trace_schemas_provider_name(schemas, &alpha), "In-Pieces");
	assert_counts(schemas, 1, 0, 0);
	etw_trace_schemas_free(schemas);
}

static void a_manifest_that_lacks_a_chunk_is_none_until_it_comes_again(void **state)
{
	static const char xml[] = MANIFEST("Whole");
	struct etw_trace_schemas *schemas = schemas_new();
	size_t half = sizeof xml / 2, rest = sizeof xml - 1 - half;

	(void)state;
	look_at_chunk(schemas, &alpha, 1, 1, 2, xml + half, rest); /* no first chunk */
	look_at_chunk(schemas, &alpha, 2, 0, 3, xml, half);
	look_at_chunk(schemas, &alpha, 2, 2, 3, xml + half, rest); /* 1 is missing */
	look_at_chunk(schemas, &alpha, 3, 0, 2, xml, half);
	look_at_chunk(schemas, &alpha, 3, 1, 3, xml + half, rest); /* of another total */
	look_at_chunk(schemas, &alpha, 4, 0, 2, xml, half);
	look_at_chunk(schemas, &beta, 4, 1, 2, xml + half, rest); /* of another provider */
	assert_counts(schemas, 0, 0, 0);
	assert_null(trace_schemas_provider_name(schemas, &alpha));
	look_at_chunk(schemas, &alpha, 5, 0, 2, "garbage", 7);
	look_at_chunk(schemas, &alpha, 5, 0, 2, xml, half); /* again from the start */
	look_at_chunk(schemas, &alpha, 5, 1, 2, xml + half, rest);
	assert_counts(schemas, 1, 0, 0);
	assert_string_equal(trace_schemas_provider_name(schemas, &alpha), "Whole");
	etw_trace_schemas_free(schemas);
}

static void manifests_that_never_end_are_bounded(void **state)
{
	static char block[60000];
	struct etw_trace_schemas *schemas = schemas_new();

	(void)state;
	for (uint32_t process = 0; process < 2000; process++) {
		look_at_chunk(schemas, &alpha, process, 0, 2, block, 100);
	}
	for (uint16_t number = 0; number < 1000; number++) { /* more than a manifest may have */
		look_at_chunk(schemas, &beta, 1, number, 60000, block, sizeof block);
	}
	/* 256 of the processes stay, until one of them makes room for beta. A manifest has at most
	 * 16 MiB, 279 blocks; the next one drops it. */
	assert_dropped(schemas, 2000 - 256 + 1 + 1000 / (279 + 1), 0);
	look_at_manifest(schemas, &alpha, MANIFEST("Still served"));
	assert_counts(schemas, 1, 0, 0);
	etw_trace_schemas_free(schemas);
}

static void what_only_looks_like_a_manifest_is_left_alone(void **state)
{
	static const uint8_t payloads[][9] = {
		{ 2, 1, 0, 0x5b, 1, 0, 0, 0, '<' }, /* format */
		{ 1, 1, 0, 0x5c, 1, 0, 0, 0, '<' }, /* magic */
		{ 1, 1, 0, 0x5b, 0, 0, 0, 0, '<' }, /* no chunks */
		{ 1, 1, 0, 0x5b, 1, 0, 1, 0, '<' }, /* number beyond */
	};

	(void)state;
	for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
		for (uint32_t size = 0; size <= sizeof payloads[0]; size++) {
			uint8_t *bytes = exact_copy(payloads[i], size);
			struct etw_record record = { .provider = &alpha,
						     .payload = bytes,
						     .payload_size = size,
						     .type = ETW_RECORD_EVENT,
						     .id = ETW_MANIFEST_EVENT_ID };
			struct etw_manifest_chunk chunk;

			assert_false(etw_manifest_chunk_read(&record, &chunk));
			free(bytes);
		}
	}
}

static void manifest_xml_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *xml;
		const char *why;
	} cases[] = {
		{ "", "1:1: invalid XML: no element found" },
		{ "<a>", "1:4: invalid XML: no element found" },
		{ "<a></b>", "1:6: invalid XML: mismatched tag" },
		{ "<a/>", "1:1: the manifest has no provider" },
		{ "<provider name='x'/>", "1:1: the manifest has no provider" },
		{ XML_BEFORE "<other><provider name='x'/></other>" XML_AFTER,
		  "1:1: the manifest has no provider" },
		{ "<!DOCTYPE a [<!ENTITY e 'x'>]>\n<a>&e;</a>",
		  "1:1: a document type declaration is not allowed" },
		{ "<!DOCTYPE a SYSTEM 'file:///etc/passwd'>\n<a/>",
		  "1:1: a document type declaration is not allowed" },
		{ "<?xml version='1.0' encoding='nonsense'?><a/>",
		  "1:31: invalid XML: unknown encoding" },
	};
	struct etw_text deep = { 0 };
	struct etw_error err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("  %s\n", cases[i].xml);
		assert_null(etw_manifest_read(cases[i].xml, strlen(cases[i].xml), &err));
		assert_string_equal(err.text, cases[i].why);
	}
	for (unsigned i = 0; i < 10000; i++) {
		text_add_string(&deep, "<a>");
	}
	assert_null(etw_manifest_read(deep.data, deep.size, &err));
	assert_string_equal(err.text, "1:193: elements are nested too deep");
	text_free(&deep);
}

static void manifest_xml_names_the_first_provider(void **state)
{
	static const char *const cases[] = {
		MANIFEST("A-B"),
		"\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\n" MANIFEST("A-B"),
		XML_BEFORE "<x:provider x:name='A-B' xmlns:x='y'/><provider name='C'/>" XML_AFTER,
	};
	struct etw_error err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *xml = exact_copy(cases[i], strlen(cases[i]));
		struct etw_manifest *manifest = etw_manifest_read(xml, strlen(cases[i]), &err);

		assert_non_null(manifest);
		assert_string_equal(etw_manifest_provider_name(manifest, 0), "A-B");
		etw_manifest_free(manifest);
		free(xml);
	}
}

static void traits_end_where_they_say_and_inside_their_item(void **state)
{
	static const struct {
		uint16_t claimed;
		const char *name;
	} cases[] = {
		{ 2 + 3, "Syn" },    { 2 + 7, "Synth.T" }, { 2 + 8, "Synth.T" },
		{ 1000, "Synth.T" }, { 2, NULL },          { 1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_trace_schemas *schemas = schemas_new();

		look_at_traits(schemas, &alpha, "Synth.T", cases[i].claimed);
		if (cases[i].name) {
			assert_string_equal(trace_schemas_claimed_name(schemas, &alpha),
					    cases[i].name);
		} else {
			assert_null(trace_schemas_claimed_name(schemas, &alpha));
		}
		etw_trace_schemas_free(schemas);
	}
}

static void providers_are_bounded(void **state)
{
	struct etw_trace_schemas *schemas = schemas_new();
	struct etw_guid guid = { { 1 } };

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		memcpy(guid.bytes + 4, &i, sizeof i);
		look_at_traits(schemas, &guid, "Many", 0);
	}
	assert_null(trace_schemas_claimed_name(schemas, &guid));
	assert_dropped(schemas, 0, 10000 - (1 << 13));
	look_at_manifest(schemas, &guid, MANIFEST("Of a provider without a place"));
	assert_dropped(schemas, 1, 10000 - (1 << 13));
	memset(guid.bytes + 4, 0, 4);
	assert_string_equal(trace_schemas_claimed_name(schemas, &guid), "Many");
	etw_trace_schemas_free(schemas);
}

static void descriptions_beyond_the_bound_are_counted(void **state)
{
	enum { MOST = 1 << 16 };
	struct etw_trace_schemas *schemas = schemas_new();
	struct etw_guid guid = { { 2 } };

	(void)state;
	for (uint32_t i = 0; i < MOST + 7; i++) {
		guid.bytes[4] = (uint8_t)(i >> 10);
		look_at_event_info(schemas, &guid, &beta, i & 1023, ETW_EVENT_INFO_MANIFEST, NULL,
				   0);
	}
	assert_counts(schemas, 0, MOST + 7, 0);
	assert_dropped(schemas, 0, 7);
	etw_trace_schemas_free(schemas);
}

/* Records of other ids may be stepped over before the first pass sees them. */
static void the_ids_that_are_needed_are_chosen(void **state)
{
	struct etw_id_choice ids = { { 0 } };

	(void)state;
	etw_trace_schemas_choose_ids(&ids);
	for (unsigned id = 0; id <= UINT16_MAX; id++) {
		/* Chunks of manifests, and ProcessStart and ProcessStop of Kernel-Process. */
		assert_int_equal(id_chosen(&ids, (uint16_t)id), id == 0xfffe || id == 1 || id == 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_manifest_names_its_provider_before_event_info_and_traits_claim_once),
		cmocka_unit_test(descriptions_count_once_each),
		cmocka_unit_test(values_have_the_names_of_their_maps),
		cmocka_unit_test(descriptions_that_are_not_whole_do_not_count),
		cmocka_unit_test(the_last_manifest_of_a_provider_wins),
		cmocka_unit_test(chunks_come_together_by_provider_and_process),
		cmocka_unit_test(a_manifest_that_lacks_a_chunk_is_none_until_it_comes_again),
		cmocka_unit_test(manifests_that_never_end_are_bounded),
		cmocka_unit_test(what_only_looks_like_a_manifest_is_left_alone),
		cmocka_unit_test(manifest_xml_is_refused_with_a_reason),
		cmocka_unit_test(manifest_xml_names_the_first_provider),
		cmocka_unit_test(traits_end_where_they_say_and_inside_their_item),
		cmocka_unit_test(providers_are_bounded),
		cmocka_unit_test(descriptions_beyond_the_bound_are_counted),
		cmocka_unit_test(the_ids_that_are_needed_are_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
