/* SPDX-License-Identifier: MIT */
#include "etwtool/disk_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/series.h"
#include "base/text.h"
#include "metrics/exposition.h"

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

/* DISK_USE_COLUMNS: none. */
static unsigned column_of(const char *name, size_t size)
{
	unsigned column = 0;

	while (column < DISK_USE_COLUMNS &&
	       (strlen(families[column]) != size || memcmp(families[column], name, size) != 0)) {
		column++;
	}
	return column;
}

static bool is_needed(void *context, const struct family *family)
{
	const char *name = family_name(family);

	(void)context;
	return column_of(name, strlen(name)) < DISK_USE_COLUMNS;
}

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* NULL without memory. */
static struct disk_use_row *row_of(struct disk_use *use, const struct etw_text *process)
{
	const char *name = process->data ? process->data : "";
	uint64_t hash = text_hash(name, process->size, hash_seed());
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
			(struct disk_use_row){ .process = text_duplicate(name, process->size) };
		if (!rows[use->count].process) {
			return NULL;
		}
		use->count++;
	}
	return index ? &use->rows[*index] : NULL;
}

/* line: "name{labels} value", which is cut behind the labels. False without memory. */
static bool add_line(struct disk_use *use, char *line, struct etw_text *label)
{
	size_t size = strcspn(line, "{ ");
	unsigned column = line[size] == '{' ? column_of(line, size) : DISK_USE_COLUMNS;
	const char *labels = line + size + 1;
	char *brace = strrchr(line, '}');
	struct disk_use_row *row;
	uint64_t bytes;

	if (column == DISK_USE_COLUMNS || !brace) {
		return true;
	}
	bytes = strtoull(brace + 1, NULL, 10);
	*brace = '\0';
	if (!series_find_label(labels, "process", label)) {
		return false;
	}
	row = row_of(use, label);
	if (!row || !series_find_label(labels, "how", label)) {
		return false;
	}
	row->bytes[column] += bytes;
	use->total[column] += bytes;
	if (label->data && strcmp(label->data, "unknown") == 0) {
		*(column == DISK_CAUSED_WRITTEN ? &use->unknown_written : &use->unknown_read) +=
			bytes;
	}
	return true;
}

/* System may issue much and cause little; it is one of the first nevertheless. */
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
	const struct exposition_options options = { .requested = is_needed };
	struct etw_text page = { 0 }, label = { 0 };
	bool good = exposition_write_as(registry, &options, add_chunk, &page) && !page.failed;
	char *line = page.data, *end;

	for (; good && line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		good = add_line(use, line, &label);
	}
	text_free(&page);
	text_free(&label);
	if (!good) {
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
