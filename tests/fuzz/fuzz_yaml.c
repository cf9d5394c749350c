/* SPDX-License-Identifier: MIT */
/*
 * A collector of anything at all: read, checked, registered and, when it is well-formed, compiled
 * for every kernel event. For any text the answer is rules or one sentence.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/event_table.h>

#include "config/config.h"
#include "config/yaml.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/rules/rules.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config *config;

static const struct etw_source_clock ticking = {
	.type = ETW_CLOCK_QPC,
	.frequency = 10000000,
	.perf_frequency = 10000000,
};

/* The collector's name as its file would have to be called; an empty one is refused later. */
static const char *name_of(const struct yaml_tree *tree)
{
	const struct yaml_node *root = yaml_root(tree);
	const struct yaml_node *name =
		root && root->type == YAML_MAP ? yaml_find(root, "collector") : NULL;

	return name && name->type == YAML_TEXT ? name->text : "fuzz";
}

/* ---- events for the rules ---- */

enum { PROVIDERS_MOST = 128, OPCODES = 128, CLASSES_MOST = PROVIDERS_MOST * OPCODES };

/* One event of every kernel event class that has a layout or a name, and of one that has neither of
 * each provider. They and their classes stay from one input to the next, since finding them takes a
 * hundred times as long as a collector. The table has room for all, so that no class is evicted. */
static struct event {
	struct etw_record record;
	struct etw_event_class *class;
} events[CLASSES_MOST];
static size_t event_count;
static struct etw_guid providers[PROVIDERS_MOST];
static struct etw_event_table *event_table;

static void find_events(void)
{
	struct etw_guid guid;

	event_table = etw_event_table_new(CLASSES_MOST, NULL, NULL);
	if (!event_table) {
		abort();
	}
	for (unsigned i = 0; etw_kernel_class_at(i, &guid); i++) {
		bool unknown = false; /* one that has neither is there */

		if (i == PROVIDERS_MOST) {
			abort();
		}
		providers[i] = guid;
		for (unsigned opcode = 0; opcode < OPCODES; opcode++) {
			const struct etw_record record = {
				.provider = &providers[i],
				.payload = (const uint8_t *)"",
				.opcode = (uint8_t)opcode,
				.version = 3,
				.pointer_size = 8,
				.type = ETW_RECORD_FULL,
				.classic = true,
				.kernel_group = 0xff,
				.process_id = 4,
				.thread_id = 8,
			};
			bool added, known;
			struct etw_event_class *class =
				etw_event_table_find(event_table, &record, &added);

			if (!class) {
				abort();
			}
			known = class->schema || etw_kernel_event_name(&guid, record.opcode);
			if (known || !unknown) {
				unknown = unknown || !known;
				events[event_count++] = (struct event){ record, class };
			}
		}
	}
}

/* Compiles and applies the rules for each event. */
static void compile_all(const struct rule_set *set, struct registry *registry)
{
	struct shard *shard = registry_shard(registry, false, NULL);
	struct tracker_options tracker_options = { .registry = registry,
						   .shard = shard,
						   .clock = &ticking };
	struct tracker *tracker = tracker_new(&tracker_options, NULL);
	struct rule_engine_options options = { .set = set,
					       .registry = registry,
					       .shard = shard,
					       .tracker = tracker,
					       .clock = &ticking,
					       .session = "fuzz" };
	struct rule_engine *engine = rule_engine_new(&options, NULL);

	if (event_count == 0) {
		find_events();
	}
	rule_set_make_samples(set, registry);
	for (const struct event *event = events; event < events + event_count; event++) {
		tracker_prepare(tracker, event->class);
		rule_engine_prepare(engine, event->class);
		tracker_observe(tracker, &event->record, event->class);
		rule_engine_apply(engine, &event->record, event->class);
		tracker_release(event->class);
		rule_engine_release(event->class);
	}
	rule_engine_free(engine);
	tracker_free(tracker);
}

/* ---- libFuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct registry_limits limits = { .strings_bytes = 1 << 20 };
	struct rule_set_options options = { 0 };
	struct etw_error err = { 0 };
	struct yaml_tree *tree;
	struct registry *registry;
	struct rule_set *set;

	if (!config) {
		config = config_default(NULL); /* lives as long as the program */
		if (!config) {
			abort();
		}
	}
	options.config = config;
	tree = yaml_open_text("fuzz.yaml", (const char *)data, size, NULL, &err);
	if (!tree) {
		assert(err.text[0] != '\0');
		return 0;
	}
	registry = registry_new(&limits, NULL);
	set = calloc(1, sizeof *set);
	if (!registry || !set) {
		abort();
	}
	if (rule_set_add(set, tree, name_of(tree), false, &err) &&
	    rule_set_finish(set, &options, registry, &err)) {
		compile_all(set, registry);
	} else {
		/* A refusal says why, in one line. */
		assert(err.text[0] != '\0' && !strchr(err.text, '\n'));
	}
	rule_set_free(set);
	registry_free(registry);
	return 0;
}
