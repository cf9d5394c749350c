/* SPDX-License-Identifier: MIT */
#include "etwtool/disk_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "metrics/visit.h"

static const char *const families[DISK_USE_COLUMNS] = {
	[DISK_CAUSED_WRITTEN] = "etw_disk_caused_written_bytes_total",
	[DISK_ISSUED_WRITTEN] = "etw_disk_process_written_bytes_total",
	[DISK_CAUSED_READ] = "etw_disk_caused_read_bytes_total",
	[DISK_ISSUED_READ] = "etw_disk_process_read_bytes_total",
};

bool disk_use_collectors(struct collector_switches *switches, struct etw_error *err)
{
	return collector_switches_read(switches, "--collector.disk", err) &&
	       collector_switches_read(switches, "--collector.disk_cause", err);
}

/* Returns the column of a family; DISK_USE_COLUMNS if it has none. */
static unsigned column_of(const struct family *family)
{
	unsigned column = 0;

	while (column < DISK_USE_COLUMNS && strcmp(families[column], family_name(family)) != 0) {
		column++;
	}
	return column;
}

static bool is_needed(void *context, const struct family *family)
{
	(void)context;
	return column_of(family) < DISK_USE_COLUMNS;
}

/* Finds or adds the row of a process. Returns NULL without memory. */
static struct disk_use_row *row_of(struct disk_use *use, const char *name)
{
	uint64_t hash = text_hash(name, strlen(name), hash_seed());
	bool added;
	uint64_t *index = map_put(&use->by_name, hash, &added);
	struct disk_use_row *rows;

	if (index && added) {
		*index = use->count;
		rows = array_grow(use->rows, &use->capacity, use->count, sizeof *rows);
		if (!rows) {
			return NULL;
		}
		use->rows = rows;
		rows[use->count] =
			(struct disk_use_row){ .process = text_duplicate(name, strlen(name)) };
		if (!rows[use->count].process) {
			return NULL;
		}
		use->count++;
	}
	return index ? &use->rows[*index] : NULL;
}

static void add_sample(void *context, const struct visited_sample *sample)
{
	struct disk_use *use = context;
	unsigned column = column_of(sample->family);
	struct disk_use_row *row = row_of(use, sample_label(sample, "process"));

	if (!row) {
		use->failed = true;
		return;
	}
	row->bytes[column] += sample->value;
	use->total[column] += sample->value;
	if (strcmp(sample_label(sample, "how"), "unknown") == 0) {
		*(column == DISK_CAUSED_WRITTEN ? &use->unknown_written : &use->unknown_read) +=
			sample->value;
	}
}

/*
 * The greater of the two sums: so System, which issues much and causes little, is among the first
 * rows.
 */
static uint64_t caused_or_issued(const struct disk_use_row *row)
{
	uint64_t caused = row->bytes[DISK_CAUSED_WRITTEN] + row->bytes[DISK_CAUSED_READ];
	uint64_t issued = row->bytes[DISK_ISSUED_WRITTEN] + row->bytes[DISK_ISSUED_READ];

	return caused > issued ? caused : issued;
}

static int compare_rows(const void *a, const void *b)
{
	const struct disk_use_row *x = a, *y = b;
	uint64_t of_x = caused_or_issued(x), of_y = caused_or_issued(y);

	if (of_x != of_y) {
		return of_x < of_y ? 1 : -1;
	}
	return strcmp(x->process, y->process);
}

bool disk_use_read(struct disk_use *use, struct registry *registry, struct etw_error *err)
{
	const struct registry_visitor visitor = { .wants = is_needed,
						  .on_sample = add_sample,
						  .context = use };

	if (!registry_visit(registry, &visitor) || use->failed) {
		return error_no_memory(err, "the bytes of disks");
	}
	if (use->count > 0) {
		qsort(use->rows, use->count, sizeof *use->rows, compare_rows);
	}
	return true;
}

void disk_use_done(struct disk_use *use)
{
	for (size_t i = 0; i < use->count; i++) {
		free(use->rows[i].process);
	}
	free(use->rows);
	map_done(&use->by_name);
	*use = (struct disk_use){ .rows = NULL };
}
