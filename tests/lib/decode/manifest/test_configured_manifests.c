/* SPDX-License-Identifier: MIT */
/*
 * Manifests of real providers: that all of them load, that the built-in ones agree with them, and
 * that an event has the same fields by whichever schema it is decoded: the description in its
 * recording, a manifest that was given, the built-in one.
 */
#include <etw/recording.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/trace_schemas.h"
#include "lib/source/provider_names.h"

#define REFERENCE SOURCE_DIR "/../shared/reference/manifests"
#define RECORDING SOURCE_DIR "/../shared/traces/net.4.5.2.x64.etl"

static void skip_without(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file) {
		print_message("%s is absent: skipped\n", path);
		skip();
	}
	fclose(file);
}

/* What is expected below rests on all of them. */
static void skip_without_reference(void)
{
	static const char *const names[] = { "ClrEtwAll.man",
					     "Microsoft-Windows-DNS-Client.xml",
					     "Microsoft-Windows-DotNETRuntime.xml",
					     "Microsoft-Windows-HttpService.xml",
					     "Microsoft-Windows-Kernel-Disk.xml",
					     "Microsoft-Windows-Kernel-EventTracing.xml",
					     "Microsoft-Windows-Kernel-File.xml",
					     "Microsoft-Windows-Kernel-Memory.xml",
					     "Microsoft-Windows-Kernel-Network.xml",
					     "Microsoft-Windows-Kernel-Process.xml",
					     "Microsoft-Windows-Kernel-Registry.xml",
					     "Microsoft-Windows-SMBServer.xml",
					     "Microsoft-Windows-StorPort.xml",
					     "Microsoft-Windows-TCPIP.xml" };
	char path[1024];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", REFERENCE, names[i]);
		skip_without(path);
	}
}

static struct etw_configured_manifests load_all(void)
{
	struct etw_configured_manifests configured = { .configured = NULL };
	struct etw_error err = { 0 };

	etw_configured_manifests_add(&configured, REFERENCE, false, &err);
	assert_string_equal(err.text, "");
	etw_configured_manifests_add_builtin(&configured, &err);
	assert_string_equal(err.text, "");
	return configured;
}

static size_t count_providers(const struct etw_manifest_set *set)
{
	struct etw_manifest_set_provider provider;
	size_t count = 0;

	while (etw_manifest_set_provider(set, count, &provider)) {
		count++;
	}
	return count;
}

static void every_manifest_at_hand_loads(void **state)
{
	struct etw_configured_manifests configured;

	(void)state;
	skip_without_reference();
	configured = load_all();
	assert_true(count_providers(configured.configured) >= 4 + 13);
	etw_configured_manifests_done(&configured);
}

static void every_built_in_manifest_loads(void **state)
{
	struct etw_configured_manifests configured = { .configured = NULL };
	struct etw_manifest_set_provider provider;
	struct etw_error err = { 0 };

	(void)state;
	assert_true(etw_configured_manifests_add_builtin(&configured, &err));
	assert_true(etw_configured_manifests_add_builtin(&configured, &err)); /* once is enough */
	assert_int_equal(count_providers(configured.builtin), builtin_manifest_count);
	assert_int_equal(builtin_manifest_count, 10);
	for (size_t i = 0; etw_manifest_set_provider(configured.builtin, i, &provider); i++) {
		size_t index;
		const struct etw_manifest *manifest =
			etw_manifest_set_manifest(configured.builtin, i, &index);
		struct etw_guid guid;

		assert_non_null(manifest);
		/* What is known of it before it is read. */
		assert_int_equal(manifest_provider_count(manifest), 1);
		assert_int_equal(index, 0);
		assert_string_equal(provider.name, etw_manifest_provider_name(manifest, 0));
		assert_true(manifest_provider_guid(manifest, 0, &guid));
		assert_true(etw_guid_equal(provider.guid, &guid));
	}
	etw_configured_manifests_done(&configured);
}

static void assert_names_agree(const struct etw_manifest_set *set)
{
	struct etw_manifest_set_provider provider;

	for (size_t i = 0; etw_manifest_set_provider(set, i, &provider); i++) {
		const char *name = provider.name, *known = etw_provider_name(provider.guid);
		struct etw_guid guid;

		if (known) {
			assert_string_equal(known, name);
		}
		if (etw_provider_guid(name, &guid)) {
			assert_true(etw_guid_equal(&guid, provider.guid));
		}
	}
}

static void manifests_and_the_table_of_providers_agree(void **state)
{
	struct etw_configured_manifests configured = { .configured = NULL };

	(void)state;
	assert_true(etw_configured_manifests_add_builtin(&configured, NULL));
	assert_names_agree(configured.builtin);
	if (etw_configured_manifests_add(&configured, REFERENCE, false, NULL)) {
		assert_names_agree(configured.configured);
	}
	etw_configured_manifests_done(&configured);
}

static const struct etw_field *field_of(const struct etw_schema *schema, unsigned index)
{
	return &schema->fields[index];
}

/* Names and sizes, so that an out-type which only one of them has makes no difference. */
static void assert_same_layout(const struct etw_schema *a, const struct etw_schema *b)
{
	assert_int_equal(a->field_count, b->field_count);
	for (unsigned i = 0; i < a->field_count; i++) {
		assert_string_equal(field_of(a, i)->name, field_of(b, i)->name);
		if (field_of(b, i)->type != ETW_FIELD_BINARY || field_of(b, i)->length != 0) {
			/* Windows reports IPv6 addresses without their length. */
			assert_memory_equal(field_of(a, i)->size, field_of(b, i)->size,
					    sizeof field_of(a, i)->size);
		}
	}
}

static size_t compare_events(const struct etw_configured_manifests *configured, size_t number,
			     const struct etw_manifest_set_provider *provider)
{
	size_t index;
	const struct etw_manifest *manifest =
		etw_manifest_set_manifest(configured->builtin, number, &index);
	const char *name = provider->name;
	struct etw_manifest_event event;
	size_t compared = 0;

	assert_string_equal(name,
			    etw_manifest_set_provider_name(configured->configured, provider->guid));
	for (size_t i = 0; etw_manifest_event(manifest, index, i, &event); i++) {
		const struct etw_schema *real =
			etw_manifest_set_schema(configured->configured, provider->guid, event.id,
						event.version, event.opcode, false);

		print_message("  %s %u.%u\n", name, event.id, event.version);
		if (real) {
			assert_same_layout(event.schema, real);
			compared++;
		}
	}
	return compared;
}

static void the_built_in_manifests_say_what_the_real_ones_say(void **state)
{
	struct etw_configured_manifests configured;
	struct etw_manifest_set_provider provider;
	size_t compared = 0;

	(void)state;
	skip_without_reference();
	configured = load_all();
	for (size_t i = 0; etw_manifest_set_provider(configured.builtin, i, &provider); i++) {
		compared += compare_events(&configured, i, &provider);
	}
	assert_true(compared > 150);
	etw_configured_manifests_done(&configured);
}

/* ---- one event, three schemas ---- */

struct comparison {
	struct etw_configured_manifests configured;
	struct etw_trace_schemas *trace;
	size_t by_manifest, by_builtin; /* events compared */
};

static void value_text(const struct etw_schema *schema, unsigned index, bool plain,
		       const struct etw_record *record, struct etw_text *out)
{
	struct etw_field field = schema->fields[index];
	struct etw_field_slice slice;

	if (plain) {
		field.map = NULL;
		field.form = ETW_FIELD_FORM_PLAIN;
	}
	text_clear(out);
	text_add_string(out, "");
	if (etw_field_locate(schema, index, record, &slice) && field.type != ETW_FIELD_STRUCT) {
		etw_field_text(&field, &slice, out);
	}
}

/* A recording has not all maps, and not every manifest at hand has the out-types. */
static void assert_same_fields(const struct etw_record *record, const struct etw_schema *recorded,
			       const struct etw_schema *configured, bool with_forms)
{
	struct etw_text a = { 0 }, b = { 0 };

	assert_int_equal(recorded->field_count, configured->field_count);
	for (unsigned i = 0; i < recorded->field_count; i++) {
		bool plain = !with_forms || !recorded->fields[i].map != !configured->fields[i].map;

		assert_string_equal(recorded->fields[i].name, configured->fields[i].name);
		assert_int_equal(recorded->fields[i].span, configured->fields[i].span);
		value_text(recorded, i, plain, record, &a);
		value_text(configured, i, plain, record, &b);
		assert_string_equal(a.data, b.data);
	}
	text_free(&a);
	text_free(&b);
}

static void look(void *context, const struct etw_record *record)
{
	struct comparison *comparison = context;

	etw_trace_schemas_look(comparison->trace, record);
}

static void look_end(void *context)
{
	struct comparison *comparison = context;

	etw_trace_schemas_finish(comparison->trace);
}

static void compare(void *context, const struct etw_record *record)
{
	struct comparison *comparison = context;
	const struct etw_schema *recorded, *configured, *builtin;

	if (record->classic || record->type >= ETW_RECORD_MESSAGE) {
		return;
	}
	recorded = trace_schemas_find(comparison->trace, record, NULL);
	if (!recorded || recorded->origin != ETW_SCHEMA_EVENT_INFO) {
		return;
	}
	configured = etw_manifest_set_schema(comparison->configured.configured, record->provider,
					     record->id, record->version, record->opcode, false);
	builtin = etw_manifest_set_schema(comparison->configured.builtin, record->provider,
					  record->id, record->version, record->opcode, false);
	if (configured) {
		assert_same_fields(record, recorded, configured, false);
		comparison->by_manifest++;
	}
	if (builtin) {
		assert_same_fields(record, recorded, builtin, true);
		comparison->by_builtin++;
	}
}

static void an_event_has_the_same_fields_by_whichever_schema(void **state)
{
	const struct etw_source_file_options options = { 0 };
	struct comparison comparison = { .by_manifest = 0 };
	const struct etw_event_sink sink = { .context = &comparison,
					     .on_first_pass = look,
					     .on_first_pass_end = look_end,
					     .on_event = compare };
	struct etw_error err = { 0 };
	struct etw_source *source;

	(void)state;
	skip_without_reference();
	skip_without(RECORDING);
	comparison.configured = load_all();
	comparison.trace = etw_trace_schemas_new(&err);
	source = etw_source_open_file(RECORDING, &options, &err);
	assert_non_null(source);
	assert_true(etw_source_run(source, &sink, &err));
	print_message("  %zu events by manifests, %zu by built-in ones\n", comparison.by_manifest,
		      comparison.by_builtin);
	assert_true(comparison.by_manifest > 10000);
	assert_true(comparison.by_builtin > 10000);
	etw_source_close(source);
	etw_trace_schemas_free(comparison.trace);
	etw_configured_manifests_done(&comparison.configured);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manifests_and_the_table_of_providers_agree),
		cmocka_unit_test(every_manifest_at_hand_loads),
		cmocka_unit_test(every_built_in_manifest_loads),
		cmocka_unit_test(the_built_in_manifests_say_what_the_real_ones_say),
		cmocka_unit_test(an_event_has_the_same_fields_by_whichever_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
