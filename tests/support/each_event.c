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

#include "base/os.h"
#include "base/text.h"
#include "etl/file.h"
#include "etl/index.h"
#include "tests/support/sample.h"
#include "tests/support/temporary.h"

struct events {
	struct trace_schemas *trace;
	struct schema_origins origins;
	struct tracelogging_cache *tracelogging;
	each_event *visit;
	void *context;
};

static void look(void *context, const struct event_record *record)
{
	struct events *events = context;

	trace_schemas_look(events->trace, record);
}

static void show(void *context, const struct event_record *record)
{
	struct events *events = context;

	events->visit(events->context, record,
		      event_schema(&events->origins, events->tracelogging, record, NULL));
}

static void pass(struct events *events, struct etl_file *file,
		 void (*on_record)(void *context, const struct event_record *record))
{
	struct etl_visitor visitor = { .record_context = events, .on_record = on_record };
	struct etl_index index = { 0 };
	struct etl_damage damage = { 0 };
	struct error err = { 0 };

	if (!etl_index_build(&index, file, &damage, &visitor, &err)) {
		fail_msg("%s", err.text);
	}
	etl_index_done(&index);
}

void for_each_event(const char *path, each_event *visit, void *context)
{
	struct error err = { 0 };
	struct etl_file *file = etl_file_open(path, 0, &err);
	struct configured_manifests manifests = { 0 };
	struct events events = { .visit = visit, .context = context };

	if (!file) {
		fail_msg("%s", err.text);
		return;
	}
	events.trace = trace_schemas_new(&err);
	events.tracelogging = tracelogging_cache_new(&err);
	assert_true(configured_manifests_add_builtin(&manifests, &err));
	events.origins =
		(struct schema_origins){ .trace = events.trace, .builtin = manifests.builtin };
	pass(&events, file, look);
	trace_schemas_finish(events.trace);
	pass(&events, file, show);
	tracelogging_cache_free(events.tracelogging);
	trace_schemas_free(events.trace);
	configured_manifests_done(&manifests);
	etl_file_close(file);
}

struct found {
	const char *folder;
	char *paths[64];
	size_t count;
};

static bool find(void *context, const char *name)
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
	struct error err = { 0 };

	temporary_path(sample, "etl");
	assert_true(sample_write(sample, NULL, &err));
	visit(sample);
	remove(sample);
	os_folder_list(folder, find, &found);
	for (size_t i = 0; i < found.count; i++) {
		print_message("  %s\n", strrchr(found.paths[i], '/') + 1);
		visit(found.paths[i]);
		free(found.paths[i]);
	}
}
