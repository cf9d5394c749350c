/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump --format csv: writes one row per event, as in RFC 4180, except that lines end in LF.
 *
 * All rows of a table have the same columns, but the fields are known only after all events were
 * seen. So the recording is read twice. The first pass gives each field name a column, in the order
 * in which names appear; events of different classes share the column of a name. A derived field
 * gets a column if an event has a value of it; if an event's layout has a field of that name, the
 * column shows that field, as a rule would read it. The second pass writes the rows, and an event
 * without a field leaves its column empty. For each event class the field of every column is
 * resolved once and kept, because there may be thousands of columns. The number of columns is
 * limited: a table with more would be useless.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utc.h"
#include "etwtool/dump/dump.h"
#include "etwtool/event_fields.h"
#include "etwtool/tool.h"

enum {
	COLUMNS_MOST = 4096,
	DERIVED_COLUMN =
		ETW_SCHEMA_FIELDS_MOST, /* in a column: derived fields are this + number + 1 */
	STACK_COLUMN = UINT16_MAX,      /* in a column: stands for the stack */
};

struct csv {
	struct etw_text *out;  /* owned by the pass */
	struct etw_text names; /* names of the field columns, each with its NUL */
	struct map by_name;    /* hash of a name -> column + 1 */
	size_t column_count;
	/*
	 * Key: struct etw_event_class *. In the first pass the value is 0: its columns are known.
	 * In the second pass it is an owned array with an entry for each column: field index + 1, 0
	 * for no field, above DERIVED_COLUMN for a derived field.
	 */
	struct map classes;
	uint64_t derived;            /* first pass: set of the derived fields that have a column */
	bool has_stacks;             /* first pass: stacks have a column */
	struct etw_text cell, shown; /* owned */
};

static bool fail(const char *sentence)
{
	tool_complain(TOOL_FAILED, "dump", "%s", sentence);
	return false;
}

/* ---- columns ---- */

/* Finds or adds the column of a name and returns its entry in by_name; NULL without memory. */
static uint64_t *column_of(struct csv *csv, const struct etw_text *name)
{
	if (name->failed || !name->data) {
		return NULL;
	}
	return map_put(&csv->by_name, text_hash(name->data, name->size, hash_seed()), NULL);
}

static const char *add_column(struct csv *csv, const struct etw_text *name)
{
	uint64_t *column = column_of(csv, name);

	if (!column) {
		return "no memory for columns";
	}
	if (*column == 0) {
		if (csv->column_count == COLUMNS_MOST) {
			return "too many different fields for one table: pick events with --event";
		}
		*column = ++csv->column_count;
		text_add(&csv->names, name->data, name->size + 1);
	}
	return NULL;
}

static bool collect_columns(struct dump_pass *pass, const struct etw_record *record,
			    const struct etw_event_class *class)
{
	struct csv *csv = pass->context;
	struct field_walk field = { 0 };
	const struct derived_field *row;
	const char *refused = NULL;
	size_t stack;
	bool added;

	if (!map_put(&csv->classes, (uintptr_t) class, &added)) {
		return fail("no memory for columns");
	}
	while (added && !refused && field_walk_next(&field, class->schema)) {
		refused = add_column(csv, &field.name);
	}
	for (unsigned i = 0; !refused && (row = dump_derived_next(pass, class, &i)) != NULL;) {
		uint64_t bit = UINT64_C(1) << (i - 1);

		text_clear(&csv->cell);
		if ((csv->derived & bit) == 0 &&
		    recording_derived(pass->recording, row, record, class, &csv->cell)) {
			csv->derived |= bit;
			text_clear(&csv->cell);
			text_add_string(&csv->cell, row->name);
			refused = add_column(csv, &csv->cell);
		}
	}
	text_free(&field.name);
	if (!refused && !csv->has_stacks) {
		if (!dump_pass_stack(pass, record, &stack)) {
			return false;
		}
		if (stack > 0) {
			csv->has_stacks = true;
			text_clear(&csv->cell);
			text_add_string(&csv->cell, DUMP_STACK);
			refused = add_column(csv, &csv->cell);
		}
	}
	return !refused || fail(refused);
}

static void forget_class(void *context, const struct etw_event_class *class)
{
	struct csv *csv = context;
	const uint64_t *known = map_find(&csv->classes, (uintptr_t) class);

	if (known) {
		free((void *)(uintptr_t)*known);
		map_remove(&csv->classes, (uintptr_t) class);
	}
}

/* ---- rows ---- */

/*
 * Adds text from outside as a cell, on one line and with characters that control a terminal
 * escaped. Spreadsheets evaluate a cell that begins with one of these signs ("CSV Injection",
 * OWASP). An apostrophe is put before such text, because spreadsheets then treat the cell as text.
 */
static void add_text_cell(struct csv *csv, const char *text, size_t size)
{
	text_clear(&csv->shown);
	if (size > 0 && text[0] != '\0' && strchr("=+-@", text[0])) {
		text_add_char(&csv->shown, '\'');
	}
	text_add_shown_bytes(&csv->shown, text, size);
	csv->out->failed |= csv->shown.failed;
	text_add_csv(csv->out, csv->shown.data ? csv->shown.data : "", csv->shown.size);
}

static void add_string(struct csv *csv, const char *string)
{
	add_text_cell(csv, string, strlen(string));
	text_add_char(csv->out, ',');
}

static void add_id(struct csv *csv, uint32_t id)
{
	if (id != ETW_RECORD_NO_ID) {
		text_add_u64(csv->out, id);
	}
	text_add_char(csv->out, ',');
}

/* Adds what csv->cell contains. Numbers and texts that this program makes are not escaped. */
static void add_cell(struct csv *csv, bool from_outside)
{
	const char *text = csv->cell.data ? csv->cell.data : "";

	csv->out->failed |= csv->cell.failed;
	if (from_outside) {
		add_text_cell(csv, text, csv->cell.size);
	} else {
		text_add_csv(csv->out, text, csv->cell.size);
	}
}

static void add_value(struct csv *csv, struct etw_event_fields *fields, unsigned index)
{
	const struct etw_field *field = &fields->schema->fields[index];
	struct json json;

	text_clear(&csv->cell);
	if (field->type == ETW_FIELD_STRUCT) {
		json_init(&json, &csv->cell, false);
		etw_event_fields_json(fields, index, &json);
	} else {
		etw_field_text(field, &fields->slices[index], &csv->cell);
	}
	add_cell(csv, etw_field_is_text(field) || field->type == ETW_FIELD_STRUCT || field->map);
}

/*
 * Returns the field in each column, resolved when the event class is first shown; NULL without
 * memory.
 */
static const uint16_t *fields_of(struct dump_pass *pass, const struct etw_event_class *class)
{
	struct csv *csv = pass->context;
	struct field_walk field = { 0 };
	uint64_t *known = map_put(&csv->classes, (uintptr_t) class, NULL);
	const struct derived_field *row;
	uint16_t *fields;

	if (!known || *known != 0) {
		return known ? (const uint16_t *)(uintptr_t)*known : NULL;
	}
	fields = calloc(csv->column_count + 1, sizeof *fields);
	if (!fields) {
		return NULL;
	}
	*known = (uintptr_t)fields;
	while (field_walk_next(&field, class->schema)) {
		const uint64_t *column = column_of(csv, &field.name);

		if (column && *column > 0 && fields[*column - 1] == 0) {
			fields[*column - 1] = (uint16_t)(field.index + 1);
		}
	}
	for (unsigned i = 0; (row = dump_derived_next(pass, class, &i)) != NULL;) {
		const uint64_t *column;

		text_clear(&csv->cell);
		text_add_string(&csv->cell, row->name);
		column = column_of(csv, &csv->cell);
		if (column && *column > 0 && fields[*column - 1] == 0) {
			fields[*column - 1] = (uint16_t)(DERIVED_COLUMN + i);
		}
	}
	if (csv->has_stacks) {
		const uint64_t *column;

		text_clear(&csv->cell);
		text_add_string(&csv->cell, DUMP_STACK);
		column = column_of(csv, &csv->cell);
		if (column && *column > 0 && fields[*column - 1] == 0) {
			fields[*column - 1] = STACK_COLUMN;
		}
	}
	return fields;
}

static bool add_stack(struct dump_pass *pass, const struct etw_record *record)
{
	struct csv *csv = pass->context;
	size_t count;

	if (!dump_pass_stack(pass, record, &count)) {
		return false;
	}
	text_clear(&csv->cell);
	for (size_t i = 0; i < count; i++) {
		text_add_string(&csv->cell, i > 0 ? ", " : "");
		dump_stacks_add(pass->stacks, i, &csv->cell);
	}
	add_cell(csv, true);
	return true;
}

static bool add_cells(struct dump_pass *pass, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct csv *csv = pass->context;
	const uint16_t *columns = fields_of(pass, class);
	struct etw_event_fields fields;

	if (!columns) {
		return false;
	}
	if (class->schema) {
		etw_event_fields_locate(&fields, class->schema, record);
	}
	for (size_t i = 0; i < csv->column_count; i++) {
		text_add_char(csv->out, ',');
		if (columns[i] == STACK_COLUMN) {
			if (!add_stack(pass, record)) {
				csv->out->failed = true;
			}
		} else if (columns[i] > DERIVED_COLUMN) {
			const struct derived_field *row =
				derived_at(columns[i] - DERIVED_COLUMN - 1U);

			text_clear(&csv->cell);
			recording_derived(pass->recording, row, record, class, &csv->cell);
			add_cell(csv, row->type == TYPE_TEXT);
		} else if (columns[i] > 0 && columns[i] - 1U < fields.end) {
			add_value(csv, &fields, columns[i] - 1U);
		}
	}
	if (class->schema) {
		etw_event_fields_done(&fields);
	}
	return true;
}

static bool show_row(struct dump_pass *pass, const struct etw_record *record,
		     const struct etw_event_class *class)
{
	struct csv *csv = pass->context;
	char time[UTC_TEXT_SIZE];

	add_string(csv, utc_format(record->time, time) ? time : "");
	add_string(csv, pass->process);
	add_id(csv, pass->process_id);
	add_id(csv, record->thread_id);
	add_id(csv, record->processor);
	add_string(csv, class->provider_name);
	add_string(csv, class->event_name);
	text_add_u64(csv->out, record->level);
	if (!add_cells(pass, record, class)) {
		return fail("no memory for a row");
	}
	text_add_char(csv->out, '\n');
	return true;
}

static void add_header(struct csv *csv)
{
	const char *name = csv->names.data;

	text_add_string(csv->out, "time,process,pid,tid,cpu,provider,event,level");
	for (size_t i = 0; i < csv->column_count && !csv->names.failed; i++) {
		size_t size = strlen(name);

		text_add_char(csv->out, ',');
		add_text_cell(csv, name, size);
		name += size + 1;
	}
	text_add_char(csv->out, '\n');
}

static void csv_done(struct csv *csv)
{
	struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&csv->classes, &at)) != NULL) {
		free((void *)(uintptr_t)slot->value);
	}
	map_done(&csv->classes);
	map_done(&csv->by_name);
	text_free(&csv->names);
	text_free(&csv->cell);
	text_free(&csv->shown);
}

int dump_csv(struct dump_request *request)
{
	struct csv csv = { .column_count = 0 };
	struct dump_pass pass = { .request = request,
				  .context = &csv,
				  .show = collect_columns,
				  .on_class = forget_class,
				  .limit.per_class = request->per_class };
	int status = TOOL_FAILED;

	csv.out = &pass.out;
	if (dump_pass_run(&pass)) {
		map_done(&csv.classes);
		add_header(&csv);
		pass.out.failed |= csv.names.failed;
		pass.show = show_row;
		if (dump_pass_run(&pass) && tool_write("dump", &pass.out)) {
			status = TOOL_DONE;
		}
	}
	dump_pass_done(&pass);
	csv_done(&csv);
	return status;
}
