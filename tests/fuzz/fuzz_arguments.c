/* SPDX-License-Identifier: MIT */
/*
 * What a person writes behind the flags of both programs: conditions (--where), assignments
 * (--set), lines of events (--add), comparisons (--fail-if), series, times, addresses, providers,
 * patterns of paths.
 *
 * The first byte says which of them the text behind it is. Lines of the text are arguments of their
 * own. What is refused is refused with a sentence of one line. What is accepted is used: on every
 * record of a written recording, where the result must be a record again, and on texts, where what
 * is printed must mean the same when it is read again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/event_table.h>

#include "base/client_address.h"
#include "base/cursor.h"
#include "base/glob.h"
#include "base/series.h"
#include "base/text.h"
#include "base/utc.h"
#include "etwtool/diff/diff.h"
#include "etwtool/dump/dump.h"
#include "etwtool/event_filter.h"
#include "etwtool/relog/relog.h"
#include "exporter/rules/rules.h"
#include "lib/etl/file.h"
#include "lib/etl/writer.h"
#include "lib/source/provider_names.h"
#include "tests/support/every_class.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MOST = 4, RECORDS_MOST = 256, CLASSES_MOST = 512 /* more than there are records */ };

static void must(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* True if accepted; a refusal is a sentence of one line. */
static bool judged(bool accepted, const struct etw_error *err)
{
	must(accepted || (err->text[0] != '\0' && !strchr(err->text, '\n')));
	return accepted;
}

/* ---- a recording to apply them to ---- */

struct known_record {
	struct etl_walk walk; /* at the record */
	uint8_t *bytes;
	size_t size;
	const struct etw_event_class *class;
};

static struct known_record known[RECORDS_MOST];
static size_t known_count;
static struct etl_format format;
static struct etw_schema_origins origins = { .builtin_names = true };
static struct etw_event_table *table;
static struct etw_tracelogging_cache *tracelogging;

/* Whether the bytes are one record, and nothing more. */
static bool read_record(struct etl_walk *walk, const uint8_t *bytes, size_t size)
{
	etl_walk_start(walk, &format, bytes, (uint32_t)size, 0, 0);
	return etl_walk_seek(walk, 0, 1) && walk->record_size == size;
}

static void know_record(const struct etl_walk *walk)
{
	struct known_record *record = &known[known_count];

	if (known_count == RECORDS_MOST) {
		return;
	}
	record->size = walk->record_size;
	record->bytes = malloc(record->size);
	must(record->bytes != NULL);
	memcpy(record->bytes, walk->bytes + etl_walk_record_at(walk), record->size);
	must(read_record(&record->walk, record->bytes, record->size));
	etw_trace_schemas_look(origins.trace, &record->walk.record);
	known_count++;
}

static void know_records(void)
{
	const struct etw_writer_options options = every_class_options(8, ETW_CLOCK_QPC, false);
	struct etw_writer *writer = etw_writer_open(NULL, &options, NULL);
	struct etw_damage damage = { 0 };
	struct etl_buffer buffer;
	struct etw_file *file;
	struct etl_scan scan;
	const uint8_t *bytes;
	bool added;
	size_t size;

	must(writer != NULL);
	every_class_add(writer, 8);
	must(etw_writer_finish(writer, NULL));
	bytes = etl_writer_bytes(writer, &size);
	file = etw_file_over(bytes, size, 0, NULL);
	origins.trace = etw_trace_schemas_new(NULL);
	tracelogging = etw_tracelogging_cache_new(NULL);
	table = etw_event_table_new(CLASSES_MOST, &origins, NULL);
	must(file && origins.trace && tracelogging && table);
	format = file->format;
	etl_file_scan(file, &scan, &damage, 0, 0);
	while (etl_scan_next(&scan, &buffer, NULL) == ETL_STEP_BUFFER) {
		struct etl_walk walk;

		etl_walk_start(&walk, &format, buffer.bytes, buffer.place.end, 0, 0);
		while (etl_walk_next(&walk)) {
			know_record(&walk);
		}
	}
	etl_scan_done(&scan);
	etw_file_close(file);
	etw_writer_close(writer);
	etw_trace_schemas_finish(origins.trace);
	for (size_t i = 0; i < known_count; i++) {
		known[i].class = etw_event_table_find(table, &known[i].walk.record, &added);
		must(known[i].class != NULL);
	}
}

/* ---- each of them ---- */

static void read_conditions(char *const *lines, size_t count)
{
	struct probe *probe = probe_new(NULL);
	struct etw_error err = { 0 };

	must(probe != NULL);
	for (size_t i = 0; i < count && judged(probe_add(probe, lines[i], &err), &err); i++) {
		must(probe_field(probe, i) != NULL);
	}
	probe_free(probe);
}

static bool same_class(const struct etw_record *a, const struct etw_record *b)
{
	return memcmp(a->provider, b->provider, sizeof *a->provider) == 0 && a->id == b->id &&
	       a->version == b->version && a->opcode == b->opcode &&
	       a->pointer_size == b->pointer_size && a->classic == b->classic;
}

/* An assignment that changed a record finds its value there. */
static void apply_again(struct set_fields *set, const uint8_t *bytes, size_t size,
			const struct known_record *old)
{
	struct etw_error err = { 0 };
	struct etl_walk walk;
	uint8_t *copy = malloc(size);
	const uint8_t *again = copy;

	must(copy != NULL);
	memcpy(copy, bytes, size);
	must(read_record(&walk, copy, size));
	if (set->count == 1 && same_class(&walk.record, &old->walk.record)) {
		must(set_fields_apply(set, &walk.record, old->class, &again, &size, &err) ==
		     SET_SAME);
	}
	free(copy);
}

static void read_assignments(char *const *lines, size_t count)
{
	static struct set_fields set; /* large */
	struct etw_error err = { 0 };
	bool accepted = true;

	for (size_t i = 0; i < count && accepted; i++) {
		accepted = judged(set_fields_add(&set, lines[i], &err), &err);
	}
	for (size_t i = 0; accepted && i < known_count; i++) {
		const uint8_t *bytes = known[i].bytes;
		size_t size = known[i].size;

		switch (set_fields_apply(&set, &known[i].walk.record, known[i].class, &bytes, &size,
					 &err)) {
		case SET_SAME:
			must(bytes == known[i].bytes && size == known[i].size);
			break;
		case SET_CHANGED:
			apply_again(&set, bytes, size, &known[i]);
			break;
		case SET_FAILED:
			judged(false, &err);
			break;
		}
	}
	if (accepted) {
		err = (struct etw_error){ 0 };
		judged(set_fields_found(&set, "the recording", &err), &err);
	}
	set_fields_done(&set);
	memset(&set, 0, sizeof set);
}

/* The record of a line; false: the line is refused. Its dump is in *dump. */
static bool dump_line(struct event_lines *lines, const char *line, size_t size,
		      struct etw_text *dump)
{
	static uint8_t bytes[UINT16_MAX + 8];
	struct etw_out_record record;
	struct etw_error err = { 0 };
	struct etl_walk walk;
	size_t record_size;

	if (!judged(event_lines_read(lines, line, size, &record, &err), &err)) {
		return false;
	}
	record_size = etw_out_record_size(&record);
	must(record_size <= UINT16_MAX);
	memset(bytes, 0, record_size);
	etl_out_record_store(&record, format.pointer_size, bytes);
	must(read_record(&walk, bytes, record_size));
	dump_add_line(dump, &walk.record, &origins, tracelogging, NULL);
	if (etw_tracelogging_cache_full(tracelogging)) {
		etw_tracelogging_cache_clear(tracelogging);
	}
	return true;
}

static void read_lines(char *const *texts, size_t count)
{
	const struct event_lines_options options = { .origins = &origins,
						     .clock = &format.clock,
						     .pointer_size = format.pointer_size };
	struct event_lines *lines = event_lines_new(&options, NULL);
	struct etw_text first = { 0 }, second = { 0 };

	must(lines != NULL);
	for (size_t i = 0; i < count; i++) {
		text_clear(&first);
		text_clear(&second);
		if (dump_line(lines, texts[i], strlen(texts[i]), &first) &&
		    dump_line(lines, first.data, first.size, &second)) {
			must(first.size == second.size &&
			     memcmp(first.data, second.data, first.size) == 0);
		}
	}
	text_free(&first);
	text_free(&second);
	event_lines_free(lines);
}

static void read_comparison(char *const *lines, size_t count)
{
	struct etw_error err = { 0 };
	struct fail_if *condition = fail_if_parse(lines[0], &err);
	struct series series = { .labels = lines[count - 1] };

	if (judged(condition != NULL, &err)) {
		must(fail_if_metric(condition)[0] != '\0' && fail_if_text(condition) != NULL);
		fail_if_selects(condition, fail_if_metric(condition), &series);
		fail_if_holds(condition, 1, 2);
		fail_if_holds(condition, 0, 0);
	}
	fail_if_free(condition);
}

static void read_series(char *const *lines, size_t count)
{
	struct etw_error err = { 0 };
	struct series_selector *selector = series_selector_of(lines[0], &err);

	if (judged(selector != NULL, &err)) {
		series_selector_matches(selector, lines[count - 1]);
	}
	series_selector_free(selector);
}

static void read_time(const char *text)
{
	char printed[UTC_TEXT_SIZE];
	struct utc_moment time = { 0 };
	int64_t again;

	if (utc_moment_read(&time, text, NULL) && !time.relative &&
	    utc_format(time.time_100ns, printed)) {
		must(utc_parse(printed, &again) && again == time.time_100ns);
	}
}

static void read_address(const char *text)
{
	struct listen_address address = { .port = 0 };
	struct address_range range, other;
	char printed[CLIENT_ADDRESS_TEXT_SIZE];

	must(!listen_address_parse(text, &address) || address.port <= UINT16_MAX);
	if (address_range_parse(text, &range)) {
		struct client_address client = { .local = false };

		memcpy(client.bytes, range.bytes, sizeof client.bytes);
		must(range.bits <= 128 && address_range_contains(&range, &client));
		client_address_text(&client, printed);
		must(address_range_parse(printed, &other) &&
		     memcmp(other.bytes, range.bytes, sizeof range.bytes) == 0);
	}
}

static void read_provider(const char *text)
{
	struct etw_provider_spec spec, copy;
	struct etw_error err = { 0 };

	etw_provider_spec_init(&spec);
	etw_provider_spec_init(&copy);
	if (judged(etw_provider_spec_parse(&spec, text, &err), &err)) {
		must(provider_spec_copy(&copy, &spec) && provider_spec_equal(&copy, &spec));
	}
	etw_provider_spec_done(&copy);
	etw_provider_spec_done(&spec);
}

/* The literal end of a pattern never decides otherwise than the pattern. */
static void match_path(const char *pattern, const char *path)
{
	size_t size = strlen(path);
	uint64_t steps = 100000;
	enum path_glob_result result = path_glob_match(pattern, path, size, &steps);

	must(result != PATH_GLOB_MATCHES ||
	     path_glob_ends(pattern, path_glob_end_size(pattern), path, size));
	must(!glob_matches(pattern, path) || glob_matches_nocase(pattern, path));
}

static void read_others(char *const *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		read_time(lines[i]);
		read_address(lines[i]);
		read_provider(lines[i]);
		match_path(lines[0], lines[i]);
	}
}

/* ---- libFuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parts[])(char *const *lines, size_t count) = {
		read_conditions, read_assignments, read_lines,
		read_comparison, read_series,      read_others,
	};
	char *text, *lines[LINES_MOST];
	size_t count = 0;

	if (size == 0) {
		return 0;
	}
	if (known_count == 0) {
		know_records();
	}
	text = calloc(size, 1); /* a NUL in place of the first byte */
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	for (char *at = text; at && count < LINES_MOST; count++) {
		lines[count] = at;
		at = strchr(at, '\n');
		if (at) {
			*at++ = '\0';
		}
	}
	parts[data[0] % (sizeof parts / sizeof parts[0])](lines, count);
	free(text);
	return 0;
}
