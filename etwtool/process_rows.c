/* SPDX-License-Identifier: MIT */
#include "etwtool/process_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "exporter/setup.h"
#include "exporter/track/process_names.h"

enum { IDS_SHOWN = 8 };

/* The texts are those of the registry. */
struct process_row {
	const char *name, *image;
	uint64_t processes;
	uint32_t ids[IDS_SHOWN]; /* of the first ones */
};

struct process_rows {
	const struct process_names *rules;
	struct process_row *rows; /* owned */
	size_t count, capacity;
	bool no_memory;
};

static void add_process(void *context, uint32_t process_id, const char *name, const char *image)
{
	struct process_rows *all = context;
	struct process_row *row, *rows;
	size_t i = 0;

	if (name == image && !process_names_ask_for(all->rules, image)) {
		return;
	}
	/* The same text of the registry is the same pointer. */
	while (i < all->count && (all->rows[i].name != name || all->rows[i].image != image)) {
		i++;
	}
	if (i == all->count) {
		rows = array_grow(all->rows, &all->capacity, all->count, sizeof *rows);
		if (!rows) {
			all->no_memory = true;
			return;
		}
		all->rows = rows;
		rows[all->count++] = (struct process_row){ .name = name, .image = image };
	}
	row = &all->rows[i];
	if (row->processes < IDS_SHOWN) {
		row->ids[row->processes] = process_id;
	}
	row->processes++;
}

static int by_id(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int by_name(const void *left, const void *right)
{
	const struct process_row *a = left, *b = right;
	int order = strcmp(a->image, b->image);

	return order != 0 ? order : strcmp(a->name, b->name);
}

static size_t shown_ids(const struct process_row *row)
{
	return row->processes < IDS_SHOWN ? (size_t)row->processes : IDS_SHOWN;
}

static struct process_rows rows_of(const struct recording *recording)
{
	struct process_rows all = { .rules = recording_setup(recording)->process_names };

	if (all.rules) {
		recording_each_process(recording, add_process, &all);
	}
	for (size_t i = 0; i < all.count; i++) {
		qsort(all.rows[i].ids, shown_ids(&all.rows[i]), sizeof all.rows[i].ids[0], by_id);
	}
	if (all.count > 0) {
		qsort(all.rows, all.count, sizeof *all.rows, by_name);
	}
	return all;
}

void process_rows_text(struct etw_text *out, const struct recording *recording)
{
	struct process_rows all = rows_of(recording);

	if (all.rules) {
		text_add_string(out, "names of processes:\n");
	}
	for (size_t i = 0; i < all.count; i++) {
		const struct process_row *row = &all.rows[i];
		size_t shown = shown_ids(row);

		text_add_string(out, "  ");
		text_add_shown(out, row->image);
		if (row->name == row->image) {
			text_add_string(out, ": no rule matches");
		} else {
			text_add_string(out, " -> ");
			text_add_shown(out, row->name);
		}
		text_add_format(out, ", %" PRIu64 " process%s:", row->processes,
				row->processes == 1 ? "" : "es");
		for (size_t j = 0; j < shown; j++) {
			text_add_format(out, " %" PRIu32, row->ids[j]);
		}
		text_add_string(out, row->processes > shown ? " …\n" : "\n");
	}
	out->failed |= all.no_memory;
	free(all.rows);
}

void process_rows_json(struct json *json, const struct recording *recording)
{
	struct process_rows all = rows_of(recording);

	json_member_array(json, "processes");
	for (size_t i = 0; i < all.count; i++) {
		const struct process_row *row = &all.rows[i];

		json_object_begin(json);
		json_member_string(json, "image", row->image);
		json_member_string(json, "name", row->name);
		json_member_u64(json, "processes", row->processes);
		json_member_array(json, "process_ids");
		for (size_t j = 0; j < shown_ids(row); j++) {
			json_u64(json, row->ids[j]);
		}
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	free(all.rows);
}
