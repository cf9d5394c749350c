/* SPDX-License-Identifier: MIT */
/*
 * Who wins: the order in which origins are asked for schemas and names, in a recording and in a
 * live session.
 */
#include "lib/decode/event_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/trace_schemas.h"
#include "tests/support/inband_manifest.h"

enum { HONEST = 40, HOSTILE = 66 };

static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid beta = { { 0xbe } };
static const struct etw_guid process_class =
	ETW_GUID_INIT(0x3d6fa8d0, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const struct etw_guid services =
	GUID_PARTS(0x0063715b, 0xeeda, 0x4007, 0x9429, 0xad526f62696e);
static const struct etw_guid kernel_process =
	ETW_GUID_INIT(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16);

struct fixture {
	struct etw_trace_schemas *trace;
	struct etw_inband_manifests *inband;
	struct etw_manifest_set *configured;
	struct etw_manifest_set *builtin;
	struct etw_tracelogging_cache *tracelogging;
	unsigned queries; /* the system, for schemas */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	fixture->trace = etw_trace_schemas_new(NULL);
	fixture->inband = etw_inband_manifests_new(NULL, NULL, NULL);
	fixture->configured = manifest_set_new(NULL);
	fixture->builtin = manifest_set_new(NULL);
	fixture->tracelogging = etw_tracelogging_cache_new(NULL);
	assert_true(fixture->trace && fixture->inband && fixture->configured && fixture->builtin &&
		    fixture->tracelogging);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	etw_tracelogging_cache_free(fixture->tracelogging);
	manifest_set_free(fixture->builtin);
	manifest_set_free(fixture->configured);
	etw_inband_manifests_free(fixture->inband);
	etw_trace_schemas_free(fixture->trace);
	free(fixture);
	return 0;
}

/* An operating system that knows events 1 to 4 of every provider, and calls each the same. */
static const struct etw_schema *system_schema(void *context, const struct etw_record *record,
					      struct etw_system_answer *answer)
{
	static const struct etw_schema schema = { .event = "system",
						  .origin = ETW_SCHEMA_EVENT_INFO };
	struct fixture *fixture = context;

	(void)answer;
	fixture->queries++;
	return record->id <= 4 ? &schema : NULL;
}

static const char *system_name(void *context, const struct etw_guid *provider)
{
	(void)context;
	return etw_guid_equal(provider, &alpha) ? "Registered" : NULL;
}

static struct etw_schema_origins origins_of(struct fixture *fixture, bool live)
{
	return (struct etw_schema_origins){ .live = live,
					    .trace = fixture->trace,
					    .inband = fixture->inband,
					    .configured = fixture->configured,
					    .builtin = fixture->builtin,
					    .builtin_names = true,
					    .system = { fixture, system_schema, system_name } };
}

/* Events 1 … most, called after where they come from. */
static struct etw_text events_called(const char *symbol, unsigned most)
{
	struct etw_text events = { 0 };

	text_add_string(&events, "<events>");
	for (unsigned id = 1; id <= most; id++) {
		text_add_format(&events, "<event value='%u' symbol='%s'/>", id, symbol);
	}
	text_add_string(&events, "</events>");
	return events;
}

static void give(struct etw_manifest_set *set, const char *name, const char *symbol, unsigned most)
{
	struct etw_text xml = { 0 }, events = events_called(symbol, most);
	struct etw_manifest *manifest;

	text_add_format(&xml,
			"<instrumentationManifest><instrumentation><events><provider name='%s' "
			"guid='{000000a1-0000-0000-0000-000000000000}'>%s"
			"</provider></events></instrumentation></instrumentationManifest>",
			name, events.data);
	manifest = etw_manifest_read(xml.data, xml.size, NULL);
	assert_non_null(manifest);
	assert_true(manifest_set_add(set, manifest, NULL));
	text_free(&xml);
	text_free(&events);
}

static void add_to_inband(void *context, const struct etw_record *record)
{
	struct fixture *fixture = context;
	const char *name = inband_manifests_add(fixture->inband, record);

	if (name) {
		trace_schemas_claim_name(fixture->trace, record->provider, name);
	}
}

static void look_at_trace(void *context, const struct etw_record *record)
{
	struct fixture *fixture = context;

	etw_trace_schemas_look(fixture->trace, record);
}

static void announce(struct fixture *fixture, bool ahead, uint32_t process_id, const char *name,
		     const char *symbol, unsigned most)
{
	struct etw_text events = events_called(symbol, most);
	const struct inband_manifest manifest = {
		.provider = &alpha, .process_id = process_id, .name = name, .inside = events.data
	};

	announce_chunks(&manifest, ahead ? look_at_trace : add_to_inband, fixture);
	text_free(&events);
}

static struct etw_record event(uint16_t id, uint32_t process_id)
{
	return (struct etw_record){ .provider = &alpha,
				    .type = ETW_RECORD_EVENT,
				    .id = id,
				    .process_id = process_id,
				    .payload = (const uint8_t *)"",
				    .pointer_size = 8,
				    .kernel_group = 0xff };
}

static void assert_schema(struct fixture *fixture, bool live, const struct etw_record *record,
			  const char *name)
{
	const struct etw_schema_origins origins = origins_of(fixture, live);
	struct etw_schema_terms terms = { .manifest_id = 77 };
	const struct etw_schema *schema =
		etw_event_schema(&origins, fixture->tracelogging, record, &terms);

	assert_string_equal(schema ? schema->event : "none", name);
	assert_int_equal(terms.manifest_id != 0, strncmp(name, "told", 4) == 0);
}

static void the_descriptions_of_a_recording_come_before_all_others(void **state)
{
	static const char *const order[] = { "held", "told", "configured", "builtin", "none" };
	struct fixture *fixture = *state;

	announce(fixture, true, HONEST, "Held", "held", 1);
	etw_trace_schemas_finish(fixture->trace);
	announce(fixture, false, HONEST, "Told", "told", 2);
	give(fixture->configured, "Configured", "configured", 3);
	give(fixture->builtin, "Builtin", "builtin", 4);
	for (uint16_t id = 1; id <= 5; id++) {
		const struct etw_record record = event(id, HONEST);

		assert_schema(fixture, false, &record, order[id - 1]);
	}
	assert_int_equal(fixture->queries, 0); /* a replay is the same on every system */
}

static void a_live_session_prefers_origins_that_events_cannot_change(void **state)
{
	static const char *const order[] = { "configured", "builtin", "system", "system",
					     "told",       "told",    "none" };
	struct fixture *fixture = *state;

	give(fixture->configured, "Configured", "configured", 1);
	give(fixture->builtin, "Builtin", "builtin", 2);
	announce(fixture, false, HONEST, "Told", "told", 6);
	for (uint16_t id = 1; id <= 7; id++) {
		const struct etw_record record = event(id, HONEST);

		assert_schema(fixture, true, &record, order[id - 1]);
	}
}

static void an_inband_manifest_decodes_the_events_of_its_process_alone(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_record honest = event(9, HONEST), hostile = event(9, HOSTILE);

	for (unsigned live = 0; live < 2; live++) {
		assert_schema(fixture, live, &honest, "none");
	}
	announce(fixture, false, HOSTILE, "Mine", "told-badly", 9);
	assert_schema(fixture, true, &honest, "none");
	assert_schema(fixture, true, &hostile, "told-badly");
	assert_schema(fixture, false, &hostile, "told-badly");
	announce(fixture, false, HONEST, "Alpha", "told", 9);
	announce(fixture, false, HOSTILE, "Mine", "told-worse", 9);
	for (unsigned live = 0; live < 2; live++) {
		assert_schema(fixture, live, &honest, "told");
		assert_schema(fixture, live, &hostile, "told-worse");
	}
}

/* A recording is trusted, so what one process says about a provider helps all; the newest first. */
static void an_inband_manifest_of_a_recording_helps_where_the_own_one_lacks_an_event(void **state)
{
	enum { SILENT = 70 };
	static const struct {
		uint16_t id;
		uint32_t process_id;
		const char *name, *live;
	} cases[] = {
		{ 1, HONEST, "told-short", "told-short" }, { 5, HONEST, "told-new", "none" },
		{ 1, HOSTILE, "told-new", "told-new" },    { 9, HOSTILE, "told-long", "none" },
		{ 1, SILENT, "told-new", "none" },         { 5, SILENT, "told-new", "none" },
		{ 9, SILENT, "told-long", "none" },        { 10, SILENT, "none", "none" },
	};
	struct fixture *fixture = *state;

	announce(fixture, false, 71, "Alpha", "told-long", 9);
	announce(fixture, false, HOSTILE, "Alpha", "told-new", 5);
	announce(fixture, false, HONEST, "Alpha", "told-short", 1);
	announce(fixture, false, HOSTILE, "Alpha", "told-new", 5); /* again: the newest */
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_record record = event(cases[i].id, cases[i].process_id);

		assert_schema(fixture, false, &record, cases[i].name);
		if (cases[i].id > 4) { /* the system of the fixture knows the others */
			assert_schema(fixture, true, &record, cases[i].live);
		}
	}
}

static void another_provider_of_the_same_process_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	struct etw_record record = event(9, HOSTILE);

	announce(fixture, false, HOSTILE, "Mine", "told", 9);
	record.provider = &beta;
	assert_schema(fixture, true, &record, "none");
}

static void the_system_is_queried_for_what_only_it_can_know(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t chunk[] = { 1, 1, 0, 0x5b, 1, 0, 0, 0, '<' };
	uint8_t metadata[32] = {
		32, [2] = ETW_EXTENDED_TRACELOGGING, [6] = 8, [8] = 8, [11] = 'S'
	};
	struct etw_record kernel = event(0, 4), self = event(1, 4), manifest = event(1, 4);
	struct etw_record message = event(1, 4), mof = event(0, 4);

	kernel.provider = &process_class;
	kernel.classic = true;
	kernel.opcode = 1;
	kernel.version = 4;
	assert_schema(fixture, true, &kernel, "Process_V4_TypeGroup1");
	kernel.opcode = 200; /* no such event */
	assert_schema(fixture, true, &kernel, "none");
	self.extended = metadata;
	self.extended_size = sizeof metadata;
	assert_schema(fixture, true, &self, "S");
	metadata[6] = 4; /* cut short: TraceLogging all the same */
	assert_schema(fixture, true, &self, "none");
	manifest.id = ETW_MANIFEST_EVENT_ID;
	manifest.payload = chunk;
	manifest.payload_size = sizeof chunk;
	assert_schema(fixture, true, &manifest, "none");
	message.type = ETW_RECORD_MESSAGE;
	assert_schema(fixture, true, &message, "none");
	assert_int_equal(fixture->queries, 0);

	mof.classic = true; /* of a class that is not the kernel's */
	assert_schema(fixture, true, &mof, "system");
	assert_int_equal(fixture->queries, 1);
}

static void assert_name(struct fixture *fixture, bool live, const struct etw_guid *provider,
			const char *name)
{
	const struct etw_schema_origins origins = origins_of(fixture, live);
	const char *found = etw_event_provider_name(&origins, provider);

	assert_string_equal(found ? found : "none", name);
}

static void a_recording_names_its_providers(void **state)
{
	struct fixture *fixture = *state;

	assert_name(fixture, false, &alpha, "none"); /* the system is not asked */
	assert_name(fixture, false, &kernel_process, "Microsoft-Windows-Kernel-Process");
	assert_name(fixture, false, &services, "Microsoft-Windows-Services");
	give(fixture->builtin, "Builtin", "x", 1);
	assert_name(fixture, false, &alpha, "Builtin");
	give(fixture->configured, "Configured", "x", 1);
	assert_name(fixture, false, &alpha, "Configured");
	/* What is known from the start stays, also where everything comes only once. */
	trace_schemas_claim_name(fixture->trace, &alpha, "Claimed");
	assert_name(fixture, false, &alpha, "Configured");
	trace_schemas_claim_name(fixture->trace, &kernel_process, "Mine");
	assert_name(fixture, false, &kernel_process, "Microsoft-Windows-Kernel-Process");
	trace_schemas_claim_name(fixture->trace, &beta, "Claimed");
	assert_name(fixture, false, &beta, "Claimed");
	announce(fixture, true, HONEST, "Held", "x", 1);
	assert_name(fixture, false, &alpha, "Held");
}

/* Dumps and summaries show what the recording itself says. */
static void names_of_the_table_can_be_left_out(void **state)
{
	struct etw_schema_origins origins = origins_of(*state, false);

	assert_string_equal(etw_event_provider_name(&origins, &services),
			    "Microsoft-Windows-Services");
	origins.builtin_names = false;
	assert_null(etw_event_provider_name(&origins, &services));
}

static void a_name_that_events_claim_serves_when_none_is_known(void **state)
{
	struct fixture *fixture = *state;

	trace_schemas_claim_name(fixture->trace, &beta, "First");
	trace_schemas_claim_name(fixture->trace, &beta, "Second");
	trace_schemas_claim_name(fixture->trace, &alpha, "Mine");
	trace_schemas_claim_name(fixture->trace, &kernel_process, "Mine");
	assert_name(fixture, true, &beta, "First");
	assert_name(fixture, true, &kernel_process, "Microsoft-Windows-Kernel-Process");
	assert_name(fixture, true, &alpha, "Registered");
	give(fixture->builtin, "Builtin", "x", 1);
	assert_name(fixture, true, &alpha, "Builtin");
	give(fixture->configured, "Configured", "x", 1);
	assert_name(fixture, true, &alpha, "Configured");
}

static void manifests_of_one_provider_complete_each_other(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_record both = event(1, HONEST), second = event(2, HONEST);

	give(fixture->configured, "", "first", 1);
	give(fixture->configured, "Later", "second", 2);
	assert_schema(fixture, true, &both, "first");
	assert_schema(fixture, true, &second, "second");
	assert_name(fixture, true, &alpha, "Registered"); /* the first one says nothing */
	assert_null(etw_manifest_set_schema(NULL, &alpha, 1, 0, 0, false));
	assert_null(etw_manifest_set_provider_name(NULL, &alpha));
	assert_null(etw_manifest_set_schema(fixture->configured, &beta, 1, 0, 0, false));
	assert_null(etw_manifest_set_provider_name(fixture->builtin, &alpha));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_descriptions_of_a_recording_come_before_all_others),
		TEST(a_live_session_prefers_origins_that_events_cannot_change),
		TEST(an_inband_manifest_decodes_the_events_of_its_process_alone),
		TEST(an_inband_manifest_of_a_recording_helps_where_the_own_one_lacks_an_event),
		TEST(another_provider_of_the_same_process_is_left_alone),
		TEST(the_system_is_queried_for_what_only_it_can_know),
		TEST(a_recording_names_its_providers),
		TEST(names_of_the_table_can_be_left_out),
		TEST(a_name_that_events_claim_serves_when_none_is_known),
		TEST(manifests_of_one_provider_complete_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
