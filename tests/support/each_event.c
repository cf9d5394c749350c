/* SPDX-License-Identifier: MIT */
#include "tests/support/each_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/os.h"
#include "base/text.h"
#include "lib/etl/file.h"
#include "lib/etl/scan.h"
#include "tests/support/sample.h"
#include "tests/support/temporary.h"
#include "tests/support/thorough.h"

/* How many records of an event and size a test tries that does not try all. */
enum { TRIED_ALIKE = 10 };

struct events {
	struct etw_trace_schemas *trace;
	struct etw_schema_origins origins;
	struct etw_tracelogging_cache *tracelogging;
	each_event *visit;
	void *context;
	struct map
		alike; /* event and size -> number of records so far; not filled if all are tried */
};

static bool is_seen_often(struct events *events, const struct etw_record *record)
{
	uint64_t key = hash_u64(text_hash((const char *)record->provider, sizeof *record->provider,
					  record->class_key) +
				record->payload_size);

	return ++*map_put(&events->alike, key, NULL) > TRIED_ALIKE;
}

static void learn_event(struct events *events, const struct seen_event *event)
{
	etw_trace_schemas_look(events->trace, event->record);
}

static void visit_event(struct events *events, const struct seen_event *event)
{
	struct seen_event known = *event;

	known.origins = &events->origins;
	known.tracelogging = events->tracelogging;
	known.seen_often = !is_thorough() && is_seen_often(events, event->record);
	known.schema =
		etw_event_schema(&events->origins, events->tracelogging, event->record, NULL);
	events->visit(events->context, &known);
}

static void walk(struct events *events, struct etl_walk *walk,
		 void (*on_event)(struct events *events, const struct seen_event *event))
{
	for (uint32_t start = walk->at; etl_walk_next(walk); start = walk->at) {
		const uint8_t *at = walk->bytes + start;
		bool kernel = walk->record.type <= ETW_RECORD_PERFINFO;
		const struct seen_event event = { .record = &walk->record,
						  .bytes = at,
						  .size = etw_load_u16(kernel ? at + 4 : at),
						  .format = walk->format };

		on_event(events, &event);
	}
}

static void visit_file(struct events *events, struct etw_file *file,
		       void (*on_event)(struct events *events, const struct seen_event *event))
{
	struct etw_damage damage = { .problems = NULL };
	struct etl_scan scan;
	struct etl_buffer buffer;
	struct etw_error err = { 0 };
	enum etl_step step;
	uint64_t records = 0;

	etl_file_scan(file, &scan, &damage, 0, 0);
	while ((step = etl_scan_next(&scan, &buffer, &err)) == ETL_STEP_BUFFER) {
		struct etl_walk records_of;

		if (!buffer.bytes) {
			continue;
		}
		etl_walk_start(&records_of, &file->format, buffer.bytes, buffer.place.end,
			       buffer.place.processor, records);
		walk(events, &records_of, on_event);
		records = etl_walk_next_index(&records_of);
	}
	etl_scan_done(&scan);
	if (step != ETL_STEP_END) {
		fail_msg("%s", err.text);
	}
}

void for_each_event(const char *path, each_event *visit, void *context)
{
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_open(path, 0, &err);
	struct etw_configured_manifests manifests = { 0 };
	struct events events = { .visit = visit, .context = context };

	if (!file) {
		fail_msg("%s", err.text);
		return;
	}
	events.trace = etw_trace_schemas_new(&err);
	events.tracelogging = etw_tracelogging_cache_new(&err);
	assert_true(etw_configured_manifests_add_builtin(&manifests, &err));
	events.origins =
		(struct etw_schema_origins){ .trace = events.trace, .builtin = manifests.builtin };
	visit_file(&events, file, learn_event);
	etw_trace_schemas_finish(events.trace);
	visit_file(&events, file, visit_event);
	map_done(&events.alike);
	etw_tracelogging_cache_free(events.tracelogging);
	etw_trace_schemas_free(events.trace);
	etw_configured_manifests_done(&manifests);
	etw_file_close(file);
}

struct found {
	const char *folder;
	char *paths[64];
	size_t count;
};

static bool add_if_recording(void *context, const char *name)
{
	struct found *found = context;
	size_t size = strlen(name);
	char path[1024];

	if (size > 4 && strcmp(name + size - 4, ".etl") == 0 && found->count < 64) {
		snprintf(path, sizeof path, "%s/%s", found->folder, name);
		found->paths[found->count++] = text_duplicate(path, strlen(path));
	}
	return true;
}

void for_each_recording(const char *folder, void (*visit)(const char *path))
{
	struct found found = { .folder = folder };
	char sample[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	temporary_path(sample, "etl");
	assert_true(sample_write(sample, NULL, &err));
	visit(sample);
	remove(sample);
	os_folder_list(folder, add_if_recording, &found);
	for (size_t i = 0; i < found.count; i++) {
		print_message("  %s\n", strrchr(found.paths[i], '/') + 1);
		visit(found.paths[i]);
		free(found.paths[i]);
	}
}
