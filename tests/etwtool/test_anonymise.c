/* SPDX-License-Identifier: MIT */
/*
 * Anonymised recordings: no name of the original is left, they decode as before, and the exposition
 * has the same sums. The names are those that the independent expectations beside the reference
 * recordings show, and what scanning the bytes of the sample for words finds.
 */
#include "etwtool/relog/anonymise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/map.h"
#include "config/builtin.h"
#include "etwtool/event_fields.h"
#include "lib/decode/event_info.h"
#include "lib/decode/inband_manifests.h"
#include "lib/etl/file.h"
#include "lib/etl/writer.h"
#include "tests/support/each_event.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"
#include "tests/support/thorough.h"

#define TRACES SOURCE_DIR "/../shared/traces"

enum { NAME_LEAST = 4 };

/* Hashes of words in lower case. */
static struct map well_known, names;

static uint64_t hash_of(const char *word, size_t size)
{
	return text_hash_nocase(word, size, 1);
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static void load_well_known(void)
{
	const char *at = builtin_well_known_names[0].text;

	while (*at != '\0') {
		size_t size = strcspn(at, " \t\n");

		if (*at == '#') {
			at += strcspn(at, "\n");
		} else if (size > 0) {
			map_put(&well_known, hash_of(at, size), NULL);
		}
		at += *at == '#' ? 0 : size;
		at += strspn(at, " \t\n");
	}
}

static bool is_well_known(const char *word, size_t size)
{
	char stem[64];

	if (map_find(&well_known, hash_of(word, size))) {
		return true;
	}
	while (size > 0 && is_digit(word[size - 1])) {
		size--;
	}
	if (size == 0 || size >= sizeof stem - 1) {
		return size == 0;
	}
	memcpy(stem, word, size);
	stem[size] = '#';
	return map_find(&well_known, hash_of(stem, size + 1)) != NULL;
}

/* Calls with each word of ASCII letters and digits that has a letter. */
static void each_word(const char *text, size_t size, void (*visit)(const char *word, size_t size))
{
	for (size_t at = 0; at < size;) {
		size_t start = at;
		bool letters = false;

		while (at < size && (is_letter(text[at]) || is_digit(text[at]))) {
			letters |= is_letter(text[at]);
			at++;
		}
		if (letters && at - start >= NAME_LEAST && at - start < 64) {
			visit(text + start, at - start);
		}
		at += at < size;
	}
}

/* The words of bytes as ANSI, and as UTF-16 at both parities. */
static void each_word_of_bytes(const uint8_t *bytes, size_t size,
			       void (*visit)(const char *word, size_t size))
{
	static char text[UINT16_MAX + 1];

	each_word((const char *)bytes, size, visit);
	for (size_t parity = 0; parity < 2; parity++) {
		size_t filled = 0;

		for (size_t i = parity; i + 1 < size; i += 2) {
			text[filled++] = bytes[i + 1] == 0 && bytes[i] < 0x80 ? (char)bytes[i] :
										' ';
		}
		each_word(text, filled, visit);
	}
}

/* ---- names of the original ---- */

static void add_name(const char *word, size_t size)
{
	if (!is_well_known(word, size)) {
		map_put(&names, hash_of(word, size), NULL);
	}
}

static void add_texts(const struct etw_json_value *value)
{
	if (value->type == JSON_TEXT) {
		if (strspn(value->text, "0123456789abcdef-") != value->size) { /* no bytes, GUID */
			each_word(value->text, value->size, add_name);
		}
		return;
	}
	for (const struct etw_json_value *item = value->first; item; item = item->next) {
		add_texts(item);
	}
}

/* Texts of the fields in NAME.events.jsonl, except of records that describe events. */
static void add_names_beside(const char *path)
{
	char beside[1024];
	char *bytes, *line;
	size_t size;
	struct json_document document = { 0 };
	struct etw_error err = { 0 };

	snprintf(beside, sizeof beside, "%.*s.events.jsonl", (int)strlen(path) - 4, path);
	if (!file_read_whole(beside, 64 << 20, &bytes, &size, &err)) {
		return;
	}
	bytes[size] = '\0';
	for (line = bytes; *line != '\0';) {
		const char *stop = memchr(line, '\n', size - (size_t)(line - bytes));
		size_t length = stop ? (size_t)(stop - line) : strlen(line);
		const struct etw_json_value *root = json_read(&document, line, length, &err);
		const struct etw_json_value *by = json_member(root, "decoded_by");
		const struct etw_json_value *fields = json_member(root, "fields");

		if (fields && by && strcmp(by->text, "metadata") != 0 &&
		    strcmp(by->text, "manifestdata") != 0) {
			add_texts(fields);
		}
		line += length + (line[length] == '\n');
	}
	json_document_done(&document);
	free(bytes);
}

static bool is_about_events(const struct etw_record *record)
{
	struct etw_event_info info;
	struct etw_event_map map;
	struct etw_manifest_chunk chunk;

	return etw_event_info_read(record, &info) || etw_event_map_read(record, &map) ||
	       etw_manifest_chunk_read(record, &chunk);
}

/* Words of the texts in the sample, all of which its events have as UTF-16 somewhere: printable
 * characters in a row. Shorter rows are numbers by chance. */
static void add_names_inside(void *context, const struct seen_event *event)
{
	enum { ROW_LEAST = 6 };
	const uint8_t *at = event->record->payload;
	size_t size = event->record->payload_size;

	(void)context;
	for (size_t i = 0; i + 1 < size && !is_about_events(event->record); i++) {
		char row[4096];
		size_t filled = 0;

		if (i > 0 && at[i - 1] >= 0x20 && at[i - 1] < 0x7f) {
			continue; /* the last character of an ANSI text */
		}
		while (i + 1 < size && at[i] >= 0x20 && at[i] < 0x7f && at[i + 1] == 0 &&
		       filled < sizeof row) {
			row[filled++] = (char)at[i];
			i += 2;
		}
		if (filled >= ROW_LEAST) {
			each_word(row, filled, add_name);
		}
	}
}

/* ---- what is left of them ---- */

static unsigned long left;

static void look_for_name(const char *word, size_t size)
{
	if (map_find(&names, hash_of(word, size))) {
		if (left++ < 20) {
			print_message("    still there: %.*s\n", (int)size, word);
		}
	}
}

/* Different names that were found in the original. */
static size_t found_before;

static void find_name(const char *word, size_t size)
{
	uint64_t *times = map_find(&names, hash_of(word, size));

	found_before += times && ++*times == 1;
}

struct run {
	struct anonymiser *anonymiser;
	/* Of one processor. Not NULL: the records are written, and names are looked for elsewhere.
	 */
	struct etw_writer *same, *changed;
	unsigned long records, whole;
};

/* The record and its payload are read again from the new bytes. */
static struct etw_record read_again(const struct seen_event *event, const uint8_t *bytes,
				    size_t size)
{
	struct etw_record again = *event->record;
	size_t header = event->size - event->record->payload_size;

	again.payload = bytes + header;
	again.payload_size = (uint32_t)(size - header);
	return again;
}

static void assert_decodes_alike(const struct etw_schema *schema, const struct etw_record *before,
				 const struct etw_record *after)
{
	static struct etw_event_fields old_fields, new_fields;

	etw_event_fields_locate(&old_fields, schema, before);
	etw_event_fields_locate(&new_fields, schema, after);
	assert_int_equal(new_fields.end, old_fields.end);
	assert_int_equal(new_fields.rest, old_fields.rest);
	assert_int_equal(new_fields.truncated, old_fields.truncated);
	etw_event_fields_done(&old_fields);
	etw_event_fields_done(&new_fields);
}

static void anonymise_one(void *context, const struct seen_event *event)
{
	struct run *run = context;
	const uint8_t *bytes = event->bytes;
	size_t size = event->size;
	struct etw_error err = { 0 };
	struct etw_record again;
	enum anonymise_answer answer = anonymise_record(run->anonymiser, event->record,
							event->schema, false, &bytes, &size, &err);

	assert_true(answer == ANONYMISE_SAME || answer == ANONYMISE_REPLACED);
	run->records++;
	if (run->same) {
		if (event->record->index > 0) { /* the writer has a header of its own */
			etl_writer_add_raw(run->same, 0, event->record->raw_time, event->bytes,
					   event->size);
			etl_writer_add_raw(run->changed, 0, event->record->raw_time, bytes, size);
		}
		return;
	}
	again = read_again(event, bytes, size);
	if (!is_about_events(event->record) && !event->seen_often) {
		each_word_of_bytes(event->record->payload, event->record->payload_size, find_name);
		each_word_of_bytes(again.payload, again.payload_size, look_for_name);
		if (event->schema) {
			assert_decodes_alike(event->schema, event->record, &again);
			run->whole++;
		}
	}
}

static void collect_names(const char *path)
{
	map_done(&names);
	names = (struct map){ .slots = NULL };
	if (strncmp(path, TRACES, strlen(TRACES)) == 0) {
		add_names_beside(path);
	} else {
		for_each_event(path, add_names_inside, NULL);
	}
}

static struct anonymiser *anonymiser_of(const char *key)
{
	struct etw_error err = { 0 };
	struct anonymiser *anonymiser = anonymiser_new(
		&(struct anonymise_options){ .key = key, .key_size = strlen(key) }, &err);

	assert_non_null(anonymiser);
	return anonymiser;
}

static void no_name_is_left_in(const char *path)
{
	struct run run = { .anonymiser = anonymiser_of("a key") };
	struct anonymise_counts counts;
	struct etw_text report = { 0 };

	collect_names(path);
	left = 0;
	found_before = 0;
	for_each_event(path, anonymise_one, &run);
	anonymiser_counts(run.anonymiser, &counts);
	anonymise_report(&counts, &report);
	print_message("    %zu names, %zu of them seen, %lu records, %lu decoded\n%s", names.count,
		      found_before, run.records, run.whole, report.data);
	/* The search finds them in the original, except what is text in the dump alone. */
	assert_true(found_before >= names.count - names.count / 4 || !is_thorough());
	assert_int_equal(left, 0);
	assert_int_equal(counts.damaged, 0);
	text_free(&report);
	anonymiser_free(run.anonymiser);
}

static void no_name_of_a_recording_is_left(void **state)
{
	(void)state;
	load_well_known();
	for_each_recording(TRACES, no_name_is_left_in);
}

/* ---- sums ---- */

static struct etw_writer *writer_like(const char *path, const char *out)
{
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_open(path, 0, &err);
	struct etw_writer *writer;
	struct etw_writer_options options;

	assert_non_null(file);
	options = (struct etw_writer_options){
		.pointer_size = (uint8_t)file->header.pointer_size,
		.buffer_size = 1 << 17,
		.clock = (enum etw_clock_type)file->header.clock_type,
		.perf_frequency = (uint64_t)file->header.perf_frequency,
		.cpu_mhz = file->header.cpu_mhz,
		.start_raw = file->header.raw_time,
		.start_time = file->header.start_time,
		.end_time = file->header.end_time,
		.boot_time = file->header.boot_time,
		.bias_minutes = file->header.timezone_bias_minutes,
		.os_build = file->header.os_build,
	};
	writer = etw_writer_open(out, &options, &err);
	assert_non_null(writer);
	etw_file_close(file);
	return writer;
}

static struct etw_text page_of_recording(const char *path)
{
	const char *paths[] = { path };
	struct etw_error err = { 0 };
	struct program program;
	struct etw_text page;

	program_set_up(&program, NULL, &(struct setup_options){ .every_collector = true });
	program_run(&program, (struct runner_options){ .paths = paths, .path_count = 1 });
	if (!runner_run(program.runner, &err)) {
		fail_msg("%s", err.text);
	}
	page = program_page(&program);
	program_close(&program);
	return page;
}

/* Of the name at the beginning. Not strcspn(), which the address sanitizer makes read the whole
 * page for each line. */
static size_t name_size(const struct page_line *line)
{
	size_t size = 0;

	while (size < line->size && line->text[size] != '{' && line->text[size] != ' ') {
		size++;
	}
	return size;
}

/* The sum of all samples of a name; NAN when there are none. */
static double sum_of(const struct etw_text *page, const char *name, size_t size)
{
	struct page_line line = { 0 };
	double sum = 0;
	bool found = false;

	while (page_next_line(page, &line)) {
		if (line.text[0] != '#' && line.size > size &&
		    strncmp(line.text, name, size) == 0 &&
		    (line.text[size] == '{' || line.text[size] == ' ')) {
			const char *value = line.text + line.size;

			while (value[-1] != ' ') {
				value--;
			}
			sum += strtod(value, NULL);
			found = true;
		}
	}
	return found ? sum : (double)NAN;
}

/* About the program itself, and about the size of payloads. */
static bool is_about_us(const char *name, size_t size)
{
	static const char *const starts[] = { "etw_exporter_", "etw_consumer_", "process_",
					      "etw_session_", "etw_event_payload_bytes_total" };

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (size >= strlen(starts[i]) && strncmp(name, starts[i], strlen(starts[i])) == 0) {
			return true;
		}
	}
	return false;
}

static void sums_stay_of(const char *path)
{
	char same[TEMPORARY_PATH_SIZE], changed[TEMPORARY_PATH_SIZE];
	struct run run = { .anonymiser = anonymiser_of("a key") };
	struct etw_text before, after;
	struct page_line line = { 0 };
	struct etw_error err = { 0 };
	const char *name = "";
	unsigned sums = 0, different = 0;

	temporary_path(same, "same.etl");
	temporary_path(changed, "changed.etl");
	run.same = writer_like(path, same);
	run.changed = writer_like(path, changed);
	for_each_event(path, anonymise_one, &run);
	if (!etw_writer_finish(run.same, &err) || !etw_writer_finish(run.changed, &err)) {
		fail_msg("%s", err.text);
	}
	before = page_of_recording(same);
	after = page_of_recording(changed);
	while (page_next_line(&before, &line)) {
		size_t size = name_size(&line);
		double sum;

		if (line.text[0] == '#' || is_about_us(line.text, size) ||
		    strncmp(line.text, name, size + 1) == 0) {
			continue;
		}
		name = line.text; /* the samples of a family are one behind the other */
		sum = sum_of(&before, line.text, size);
		sums++;
		if (fabs(sum - sum_of(&after, line.text, size)) > fabs(sum) * 1e-12) {
			print_message("    %.*s: %.17g, now %.17g\n", (int)size, line.text, sum,
				      sum_of(&after, line.text, size));
			different++;
		}
	}
	print_message("    %u sums\n", sums);
	assert_int_equal(different, 0);
	text_free(&before);
	text_free(&after);
	etw_writer_close(run.same);
	etw_writer_close(run.changed);
	anonymiser_free(run.anonymiser);
	remove(same);
	remove(changed);
}

static void the_sums_of_the_exposition_stay(void **state)
{
	(void)state;
	for_each_recording(TRACES, sums_stay_of);
	map_done(&names);
	map_done(&well_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_name_of_a_recording_is_left),
		cmocka_unit_test(the_sums_of_the_exposition_stay),
	};

	return cmocka_run_group_tests_name("anonymise", tests, NULL, NULL);
}
