/* SPDX-License-Identifier: MIT */
/*
 * The pipeline has an entry for each event class: provider, id, opcode, version and pointer size.
 * People think of an event by its name, so several classes share a row here.
 *
 * A row is found in two ways: by a hash of names and numbers when the pipeline meets a new class,
 * and by the address of the class for each record. The pipeline may reuse an entry for another
 * class, so class_rows_class() always sets its row anew. The name of a row is built once, in the
 * form that rules use: kernel events have no prefix, others begin with their provider. If a row has
 * several schemas, the one with most fields is shown. Providers are sorted by the sum of their
 * records, so each of their rows stores that sum.
 */
#include "etwtool/class_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/guid.h"
#include "base/text.h"

static uint16_t number_of(const struct etw_event_class *class)
{
	return class->classic ? class->opcode : class->id;
}

static uint64_t key_of(const struct etw_event_class *class)
{
	return text_hash(class->event_name, strlen(class->event_name), hash_seed()) ^
	       guid_hash(&class->provider, hash_seed()) ^
	       hash_u64((uint64_t)number_of(class) << 1 | class->classic);
}

static bool add_row(struct class_rows *rows, const struct etw_event_class *class)
{
	bool kernel = class->kernel_class != ETW_KERNEL_NONE;
	struct etw_text name = { 0 };
	struct class_row *grown =
		rows->count < CLASS_ROWS_MOST ?
			array_grow(rows->rows, &rows->capacity, rows->count, sizeof *grown) :
			NULL;
	char *provider;

	if (!grown) {
		return false;
	}
	rows->rows = grown;
	provider = text_duplicate(class->provider_name, strlen(class->provider_name));
	text_add_string(&name, kernel ? "" : class->provider_name);
	text_add_string(&name, kernel ? "" : "/");
	text_add_string(&name, class->event_name);
	if (!provider || name.failed) {
		free(provider);
		text_free(&name);
		return false;
	}
	rows->rows[rows->count++] = (struct class_row){
		.provider = provider,
		.name = name.data,
		.event = name.data + name.size - strlen(class->event_name),
		.guid = class->provider,
		.number = number_of(class),
		.classic = class->classic,
		.kernel_class = class->kernel_class,
		.record_type = class->record_type,
	};
	return true;
}

void class_rows_class(void *context, const struct etw_event_class *class)
{
	struct class_rows *rows = context;
	uint64_t *known = map_put(&rows->by_class, (uintptr_t) class, NULL);
	uint64_t *index = known ? map_put(&rows->by_key, key_of(class), NULL) : NULL;
	struct class_row *row;

	if (!known) {
		return;
	}
	*known = 0;
	if (!index || (*index == 0 && !add_row(rows, class))) {
		return;
	}
	if (*index == 0) {
		*index = rows->count;
	}
	*known = *index;
	row = &rows->rows[*index - 1];
	row->versions[class->version / 64] |= UINT64_C(1) << class->version % 64;
	if (class->schema &&
	    (!row->schema || row->schema->field_count < class->schema->field_count)) {
		row->schema = class->schema;
	}
}

struct class_row *class_rows_count(struct class_rows *rows, const struct etw_event_class *class)
{
	const uint64_t *known = map_find(&rows->by_class, (uintptr_t) class);

	if (!known || *known == 0) {
		rows->refused++;
		return NULL;
	}
	rows->rows[*known - 1].records++;
	return &rows->rows[*known - 1];
}

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/*
 * Kernel classes have a GUID each but count as one provider. Providers with the same name and
 * different GUIDs stay separate, because any program may choose that name.
 */
static int compare_providers(const void *a, const void *b)
{
	const struct class_row *x = a, *y = b;
	int order = strcmp(x->provider, y->provider);

	if (order != 0 ||
	    (x->kernel_class != ETW_KERNEL_NONE && y->kernel_class != ETW_KERNEL_NONE)) {
		return order;
	}
	if ((x->kernel_class == ETW_KERNEL_NONE) != (y->kernel_class == ETW_KERNEL_NONE)) {
		return x->kernel_class == ETW_KERNEL_NONE ? 1 : -1;
	}
	return memcmp(&x->guid, &y->guid, sizeof x->guid);
}

static int compare_rows(const void *a, const void *b)
{
	const struct class_row *x = a, *y = b;
	int order = compare_counts(x->provider_records, y->provider_records);

	if (order == 0) {
		order = compare_providers(x, y);
	}
	if (order == 0) {
		order = compare_counts(x->records, y->records);
	}
	if (order == 0) {
		order = strcmp(x->event, y->event);
	}
	return order != 0 ? order : x->number - y->number;
}

size_t class_rows_provider_end(const struct class_rows *rows, size_t first)
{
	size_t end = first;

	while (end < rows->count && compare_providers(&rows->rows[first], &rows->rows[end]) == 0) {
		end++;
	}
	return end;
}

void class_rows_sort(struct class_rows *rows)
{
	if (rows->count == 0) {
		return;
	}
	sort_items(rows->rows, rows->count, sizeof *rows->rows, compare_providers);
	for (size_t first = 0, end; first < rows->count; first = end) {
		uint64_t records = 0;

		end = class_rows_provider_end(rows, first);
		for (size_t i = first; i < end; i++) {
			records += rows->rows[i].records;
		}
		for (size_t i = first; i < end; i++) {
			rows->rows[i].provider_records = records;
		}
	}
	sort_items(rows->rows, rows->count, sizeof *rows->rows, compare_rows);
	map_done(&rows->by_key);
	map_done(&rows->by_class);
}

void class_rows_done(struct class_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->rows[i].provider);
		free(rows->rows[i].name);
	}
	free(rows->rows);
	map_done(&rows->by_key);
	map_done(&rows->by_class);
}

unsigned class_row_version(const struct class_row *row, unsigned version)
{
	while (version < 256 && (row->versions[version / 64] >> version % 64 & 1) == 0) {
		version++;
	}
	return version;
}
