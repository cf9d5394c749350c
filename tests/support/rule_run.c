/* SPDX-License-Identifier: MIT */
#include "tests/support/rule_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/builtin.h"
#include "exporter/rules/engine/engine.h"
#include "tests/support/exact_copy.h"
#include "tests/support/inband_manifest.h"
#include "tests/support/one_collector.h"
#include "tests/support/page.h"
#include "tests/support/poke.h"
#include "tests/support/temporary.h"

enum { BLANK_SIZE = 800 };

static void stop_on(const void *made, const struct etw_error *err)
{
	if (!made) {
		fail_msg("%s", err->text);
	}
}

static struct config *load_config(const char *text)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };
	struct config *config;

	if (!text) {
		config = config_default(&err);
		stop_on(config, &err);
		return config;
	}
	temporary_path(path, "yaml");
	temporary_write(path, text, strlen(text));
	config = config_load(path, NULL, &err);
	remove(path);
	stop_on(config, &err);
	return config;
}

void rule_run_open(struct rule_run *run, const char *collector, const char *configuration)
{
	rule_run_open_probe(run, collector, configuration, NULL);
}

void rule_run_open_shipped(struct rule_run *run, const char *name)
{
	rule_run_open_shipped_with(run, name, NULL);
}

void rule_run_open_shipped_with(struct rule_run *run, const char *name, const char *configuration)
{
	for (size_t i = 0; i < builtin_collector_count; i++) {
		const struct builtin_file *file = &builtin_collectors[i];
		const char *at = strstr(file->text, "\ncollector: ");
		char text[16 * 1024];

		if (strcmp(file->name, name) == 0) {
			/* one_collector() calls it x */
			assert_non_null(at);
			at += strlen("\ncollector: ");
			assert_true(file->size < sizeof text);
			snprintf(text, sizeof text, "%.*sx%s", (int)(at - file->text), file->text,
				 at + strlen(name));
			rule_run_open(run, text, configuration);
			return;
		}
	}
	fail_msg("no collector %s", name);
}

void rule_run_open_probe(struct rule_run *run, const char *collector, const char *configuration,
			 const struct probe *probe)
{
	struct etw_error err = { 0 };
	struct registry_limits limits = { 0 };
	struct tracker_options tracker = { 0 };
	struct rule_engine_options engine = { 0 };

	*run = (struct rule_run){ 0 };
	run->clock = (struct etw_source_clock){ .type = ETW_CLOCK_QPC,
						.frequency = RUN_FREQUENCY,
						.perf_frequency = RUN_PERF_FREQUENCY,
						.anchor_time = INT64_C(133000000000000000) };
	run->config = load_config(configuration);
	limits.series_per_family = run->config->limits.series_per_family;
	limits.series = run->config->limits.series;
	limits.strings_bytes = run->config->limits.strings_bytes;
	run->registry = registry_new(&limits, &err);
	stop_on(run->registry, &err);
	run->set = one_collector(collector, run->config, run->registry, &err);
	stop_on(run->set, &err);
	run->shard = registry_shard(run->registry, false, &err);
	stop_on(run->shard, &err);
	tracker = (struct tracker_options){ .registry = run->registry,
					    .shard = run->shard,
					    .clock = &run->clock,
					    .processes = run->config->limits.processes,
					    .threads = run->config->limits.threads,
					    .files = run->config->limits.files,
					    .path_groups = run->config->path_groups,
					    .path_group_count = run->config->path_group_count,
					    .features = rule_set_features(run->set) |
							(probe ? probe_features(probe) : 0) };
	run->tracker = tracker_new(&tracker, &err);
	stop_on(run->tracker, &err);
	engine = (struct rule_engine_options){ .set = run->set,
					       .probe = probe,
					       .registry = run->registry,
					       .shard = run->shard,
					       .tracker = run->tracker,
					       .clock = &run->clock,
					       .session = "test.etl" };
	rule_set_make_samples(run->set, run->registry);
	run->engine = rule_engine_new(&engine, &err);
	stop_on(run->engine, &err);
	run->schemas = etw_trace_schemas_new(&err);
	stop_on(run->schemas, &err);
	run->event_table = etw_event_table_new(
		1024, &(struct etw_schema_origins){ .trace = run->schemas, .builtin_names = true },
		&err);
	stop_on(run->event_table, &err);
	etw_payload_init(&run->payload, 8);
	run->record = (struct etw_record){
		.process_id = 4, .thread_id = 40, .pointer_size = 8, .kernel_group = 0xff
	};
}

static size_t list_families(const struct rule_set *set, struct family *list[8])
{
	size_t count = 0, at = 0;

	while ((list[count] = rule_set_family(set, &at)) != NULL) {
		assert_true(++count < 8);
	}
	return count;
}

void rule_run_reload(struct rule_run *run, const char *collector)
{
	struct rule_set *former = run->set;
	struct family *before[8], *after[8];
	size_t before_count = list_families(former, before), after_count;
	struct tracker_options tracker = { 0 };
	struct etw_error err = { 0 };

	run->set = next_collector(collector, run->config, run->registry, &err);
	stop_on(run->set, &err);
	after_count = list_families(run->set, after);
	assert_true(
		registry_exchange(run->registry, before, before_count, after, after_count, &err));
	tracker.features = rule_set_features(run->set);
	assert_true(tracker_change(run->tracker, &tracker, &err));
	assert_true(rule_engine_replace(run->engine, run->set, false, &err));
	etw_event_table_renew(run->event_table, NULL);
	rule_set_free(former);
}

void rule_run_reload_with(struct rule_run *run, const char *collector, const char *configuration)
{
	struct config *former = run->config;

	run->config = load_config(configuration);
	rule_run_reload(run, collector);
	config_free(former);
}

static void release(void *context, struct etw_event_class *class)
{
	(void)context;
	tracker_release(class);
	rule_engine_release(class);
}

void rule_run_close(struct rule_run *run)
{
	etw_event_table_each(run->event_table, release, NULL);
	etw_event_table_free(run->event_table);
	etw_trace_schemas_free(run->schemas);
	rule_engine_free(run->engine);
	tracker_free(run->tracker);
	rule_set_free(run->set);
	registry_free(run->registry);
	config_free(run->config);
	etw_payload_done(&run->payload);
}

void rule_run_uptime(struct rule_run *run, uint64_t uptime_ns)
{
	run->clock.uptime_ns = run->engine->clock.uptime_ns = uptime_ns;
}

void rule_run_try(struct rule_run *run, struct dry_run *dry_run)
{
	run->engine->dry_run = dry_run;
}

void rule_run_version(struct rule_run *run, const char *event, uint8_t version)
{
	const char *slash = strchr(event, '/');
	uint8_t opcode;

	assert_true(etw_kernel_class_find(event, (size_t)(slash - event), &run->provider));
	assert_true(etw_kernel_event_find(&run->provider, slash + 1, strlen(slash + 1), &opcode));
	run->record.provider = &run->provider;
	run->record.id = 0;
	run->record.opcode = opcode;
	run->record.version = version;
	run->record.type = ETW_RECORD_SYSTEM;
	run->record.classic = true;
	etw_payload_clear(&run->payload);
}

void rule_run_event(struct rule_run *run, const char *event)
{
	uint8_t version = 0, latest = 0;

	rule_run_version(run, event, 0);
	for (unsigned i = 0; etw_kernel_schema_at(&run->provider, run->record.opcode, i, &version);
	     i++) {
		latest = version > latest ? version : latest;
	}
	run->record.version = latest;
}

void rule_run_blank(struct rule_run *run, const char *event)
{
	rule_run_event(run, event);
	rule_run_zeros(run);
}

void rule_run_zeros(struct rule_run *run)
{
	etw_payload_zeros(&run->payload, BLANK_SIZE);
	run->record.payload = run->payload.bytes;
	run->record.payload_size = (uint32_t)run->payload.size;
}

void rule_run_set(struct rule_run *run, const char *field, uint64_t value)
{
	poke_field(&run->record, run->payload.bytes, field, value);
}

void rule_run_set_text(struct rule_run *run, const char *field, const char *text)
{
	poke_text(&run->record, run->payload.bytes, field, text);
}

void rule_run_announce(struct rule_run *run, const char *guid, const char *name, const char *inside)
{
	struct etw_guid provider;

	assert_true(etw_guid_parse(guid, &provider));
	announce_manifest(run->schemas, &provider, name, inside);
	etw_trace_schemas_finish(run->schemas);
}

void rule_run_other(struct rule_run *run, const char *guid, uint16_t id)
{
	assert_true(etw_guid_parse(guid, &run->provider));
	run->record.provider = &run->provider;
	run->record.id = id;
	run->record.opcode = 0;
	run->record.version = 0;
	run->record.type = ETW_RECORD_EVENT;
	run->record.classic = false;
	etw_payload_clear(&run->payload);
}

enum record_outcome rule_run_feed(struct rule_run *run)
{
	uint8_t *payload = exact_copy(run->payload.bytes, run->payload.size);
	enum record_outcome outcome;
	struct etw_event_class *class;
	bool added;

	run->record.payload = payload;
	run->record.payload_size = (uint32_t)run->payload.size;
	if (run->record.raw_time != ETW_RECORD_NO_TIME) {
		run->record.time = etw_clock_time(&run->clock, run->record.raw_time);
	}
	class = etw_event_table_find(run->event_table, &run->record, &added);
	assert_non_null(class);
	if (added) {
		assert_true(tracker_prepare(run->tracker, class));
		assert_true(rule_engine_prepare(run->engine, class));
	}
	tracker_observe(run->tracker, &run->record, class);
	outcome = rule_engine_apply(run->engine, &run->record, class);
	run->fulfils = rule_engine_probe(run->engine, &run->record, class);
	run->record.index++;
	run->record.raw_time++;
	free(payload);
	etw_payload_clear(&run->payload);
	return outcome;
}

void rule_run_process(struct rule_run *run, const char *event, uint32_t id, const char *image,
		      uint32_t exit_status)
{
	rule_run_event(run, event);
	etw_payload_pointer(&run->payload, 0x1000 + id);
	etw_payload_u32(&run->payload, id);
	etw_payload_u32(&run->payload, 4);
	etw_payload_u32(&run->payload, 0);
	etw_payload_u32(&run->payload, exit_status);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u32(&run->payload, 0);
	etw_payload_user_sid(&run->payload, NULL);
	etw_payload_astring(&run->payload, image);
	etw_payload_wstring(&run->payload, "");
	etw_payload_wstring(&run->payload, "");
	etw_payload_wstring(&run->payload, "");
	run->record.process_id = id;
	run->record.thread_id = 10 * id;
	rule_run_feed(run);
}

void rule_run_expect(struct rule_run *run, const char *line)
{
	char text[2048];

	snprintf(text, sizeof text, "\n%s\n", line);
	page_expect(run->registry, text);
}

void rule_run_expect_none(struct rule_run *run, const char *start)
{
	struct etw_text page = page_of(run->registry);
	char text[2048];

	snprintf(text, sizeof text, "\n%s", start);
	if (strstr(page.data, text)) {
		print_message("%s\n", page.data);
		text_free(&page);
		fail_msg("there is a line %s", start);
	}
	text_free(&page);
}
