/* SPDX-License-Identifier: MIT */
/*
 * Processes: which name a process id had at a time.
 */
#include "track/processes.h"

#include <stdlib.h>

enum { TEXTS_BYTES = 16 << 20 };

void processes_init(struct processes *processes, struct registry *registry, struct names *names,
		    uint32_t limit)
{
	*processes = (struct processes){ .registry = registry, .names = names };
	timeline_init(&processes->timeline, limit);
	processes->idle = names_label(names, "Idle", 4);
	processes->system = names_label(names, "System", 6);
}

static void forget_texts(struct processes *processes)
{
	intern_free(processes->texts);
	processes->texts = NULL;
}

void processes_done(struct processes *processes)
{
	timeline_done(&processes->timeline);
	forget_texts(processes);
}

void processes_clear(struct processes *processes)
{
	timeline_clear(&processes->timeline);
	forget_texts(processes);
}

bool processes_look_ahead(struct processes *processes)
{
	processes->texts = intern_new(TEXTS_BYTES, NULL);
	if (processes->texts) {
		timeline_look_ahead(&processes->timeline);
	}
	return processes->texts != NULL;
}

void processes_tell(struct processes *processes, enum lifetime_change change, uint32_t process_id,
		    int64_t time, const char *name, size_t name_size)
{
	uint32_t value;

	if (processes->timeline.looking_ahead) {
		value = intern_add(processes->texts, name, name_size);
	} else {
		value = names_label(processes->names, name, name_size);
	}
	timeline_tell(&processes->timeline, change, process_id, time, value);
}

/* The label of a recorded name, looked up once for each name: labels[] is by text id, INTERN_NONE
 * where not asked yet. */
static uint32_t label_of(struct processes *processes, uint32_t *labels, uint32_t text)
{
	const char *name;
	size_t size;

	if (text == INTERN_FULL) {
		return registry_other(processes->registry);
	}
	if (labels[text] == INTERN_NONE) {
		name = intern_text(processes->texts, text, &size);
		labels[text] = names_label(processes->names, name, size);
	}
	return labels[text];
}

void processes_build(struct processes *processes)
{
	struct timeline *timeline = &processes->timeline;
	uint32_t *labels;

	if (!timeline->looking_ahead) {
		return;
	}
	labels = calloc(intern_count(processes->texts), sizeof *labels);
	timeline_sort(timeline);
	/* The spelling that a start or rundown record has first, then that of stop records for the
	 * names left. */
	for (unsigned stops = 0; labels && stops < 2; stops++) {
		for (size_t i = 0; i < timeline->count; i++) {
			struct timeline_change *change = &timeline->changes[i];

			if ((timeline_change_of(change) == LIFETIME_STOP) == (stops == 1)) {
				change->value = label_of(processes, labels, change->value);
			}
		}
	}
	for (size_t i = 0; !labels && i < timeline->count; i++) {
		timeline->changes[i].value = registry_other(processes->registry);
	}
	free(labels);
	forget_texts(processes);
	timeline_build(timeline);
}

uint32_t processes_label(struct processes *processes, uint32_t process_id, int64_t time,
			 uint32_t *serial)
{
	const struct lifetime *instance =
		lifetimes_at(&processes->timeline.table, process_id, time);

	if (serial) {
		*serial = instance ? instance->serial : 0;
	}
	if (instance && instance->value != INTERN_NONE) {
		return instance->value;
	}
	if (process_id == PROCESS_IDLE) {
		return processes->idle;
	}
	return process_id == PROCESS_SYSTEM ? processes->system : INTERN_NONE;
}
