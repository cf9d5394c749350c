/* SPDX-License-Identifier: MIT */
/*
 * How fast events are decoded with all their fields: every value found and, unless it is a number,
 * made text. The records are held in memory, so that nothing else is timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/event_table.h>
#include <etw/recording.h>

#include "base/os.h"
#include "base/text.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64, HELD_MOST = 512 << 20 };

/* A recording's records, copied. */
struct held {
	struct etw_trace_schemas *schemas;
	struct etw_record *records; /* owned; what they point to, too */
	size_t count, capacity;
	size_t bytes;
	bool failed;
};

static void look(void *context, const struct etw_record *record)
{
	struct held *held = context;

	etw_trace_schemas_look(held->schemas, record);
}

static void finish(void *context)
{
	struct held *held = context;

	etw_trace_schemas_finish(held->schemas);
}

static void hold(void *context, const struct etw_record *record)
{
	struct held *held = context;
	size_t size = sizeof(struct etw_guid) + record->payload_size + record->extended_size;
	uint8_t *copy = held->bytes < HELD_MOST ? malloc(size) : NULL;
	struct etw_record *held_record;

	if (held->count == held->capacity) {
		size_t capacity = held->capacity ? 2 * held->capacity : 4096;
		struct etw_record *grown = realloc(held->records, capacity * sizeof *held->records);

		held->failed |= !grown;
		held->records = grown ? grown : held->records;
		held->capacity = grown ? capacity : held->capacity;
	}
	if (!copy || held->count == held->capacity) {
		held->failed = true;
		free(copy);
		return;
	}
	held_record = &held->records[held->count++];
	*held_record = *record;
	memcpy(copy, record->provider, sizeof(struct etw_guid));
	memcpy(copy + sizeof(struct etw_guid), record->payload, record->payload_size);
	held_record->provider = (const struct etw_guid *)copy;
	held_record->payload = copy + sizeof(struct etw_guid);
	if (record->extended) {
		held_record->extended = held_record->payload + record->payload_size;
		memcpy(copy + sizeof(struct etw_guid) + record->payload_size, record->extended,
		       record->extended_size);
	}
	held->bytes += size;
}

static bool hold_recording(struct held *held, const char *path, struct etw_error *err)
{
	const struct etw_event_sink sink = { .context = held,
					     .on_first_pass = look,
					     .on_first_pass_end = finish,
					     .on_event = hold };
	struct etw_source *source = etw_source_open_file(path, NULL, err);
	bool done;

	held->schemas = source ? etw_trace_schemas_new(err) : NULL;
	done = held->schemas && etw_source_run(source, &sink, err);
	etw_source_close(source);
	if (done && held->failed) {
		return error_set(err, ETW_ERROR_LIMIT, "%s: too large to be held", path);
	}
	return done;
}

static void let_go(struct held *held)
{
	for (size_t i = 0; i < held->count; i++) {
		free((void *)(uintptr_t)held->records[i].provider);
	}
	free(held->records);
	etw_trace_schemas_free(held->schemas);
}

/* What the compiler must not leave out. */
static volatile uint64_t used;

/* The fields of one record; returns how many had a value. Arrays of structures count as one. */
static uint64_t decode_fields(const struct etw_schema *schema, const struct etw_record *record,
			      struct etw_field_slice *slices, struct etw_text *text)
{
	uint64_t sum = 0, fields = 0;
	unsigned whole = 0;

	if (schema->field_count > 0) {
		whole = etw_fields_walk(schema, schema->field_count - 1U, record, slices, NULL);
	}
	for (unsigned i = 0; i < whole; i += etw_field_is_struct_array(&schema->fields[i]) ?
						     1U + schema->fields[i].span :
						     1U) {
		const struct etw_field *field = &schema->fields[i];

		fields++;
		if (etw_field_is_integer(field)) {
			sum += etw_field_u64(field, &slices[i]);
		} else if (field->type != ETW_FIELD_STRUCT) {
			text_clear(text);
			etw_field_text(field, &slices[i], text);
			sum += text->size;
		}
	}
	used += sum;
	return fields;
}

/* One pass; the time of it, and the fields. */
static bool decode(const struct held *held, uint64_t *ns, uint64_t *fields, struct etw_error *err)
{
	static struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	const struct etw_schema_origins origins = { .trace = held->schemas };
	struct etw_event_table *event_table = etw_event_table_new(32768, &origins, err);
	struct etw_text text = { 0 };
	uint64_t start = os_monotonic_ns();

	*fields = 0;
	for (size_t i = 0; event_table && i < held->count; i++) {
		bool added;
		const struct etw_event_class *class =
			etw_event_table_find(event_table, &held->records[i], &added);

		if (class && class->schema) {
			*fields += decode_fields(class->schema, &held->records[i], slices, &text);
		}
	}
	*ns = os_monotonic_ns() - start;
	text_free(&text);
	etw_event_table_free(event_table);
	return event_table != NULL;
}

int bench_decode(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double records[RUNS_MOST], per_field[RUNS_MOST];
	struct held held = { .count = 0 };
	struct etw_error err = { 0 };
	bool done;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants decode FILE RUNS, RUNS at most %d\n", RUNS_MOST);
		return 2;
	}
	done = hold_recording(&held, argv[0], &err);
	for (size_t run = 0; done && run < runs; run++) {
		uint64_t ns = 0, fields = 0;

		done = decode(&held, &ns, &fields, &err);
		records[run] = (double)held.count * 1e3 / (double)(ns ? ns : 1);
		per_field[run] = (double)ns / (double)(fields ? fields : 1);
	}
	if (done) {
		bench_print("decode.all_fields.rate", records, runs, "Mrecords/s");
		bench_print("decode.all_fields.field", per_field, runs, "ns");
	} else {
		fprintf(stderr, "etw_bench: %s\n", err.text);
	}
	let_go(&held);
	return done ? 0 : 1;
}
