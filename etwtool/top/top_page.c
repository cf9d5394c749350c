/* SPDX-License-Identifier: MIT */
/*
 * Reads the lines of a page of metrics. Samples are `name{label="value",…} number`; a family that
 * no column and no fact uses is skipped by its name. Label values have three escapes (\\, \", \n).
 * The page of another machine is input from outside: the numbers of processes and bytes are
 * bounded, and a line that is no sample is skipped.
 *
 * A process has many samples (one for each volume, protocol, operation), which are summed. Sums are
 * doubles: bytes stay exact up to 2^53.
 */
#include "etwtool/top/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* clang-format off */
const struct top_column_row top_columns[TOP_COLUMNS] = {
	[TOP_WRITTEN] = { "WRITTEN", 'w', UNIT_BYTES, "bytes written to files and pipes, without paging I/O",
		{ "etw_file_written_bytes_total" } },
	[TOP_READ] = { "READ", 'r', UNIT_BYTES, "bytes read from files and pipes, without paging I/O",
		{ "etw_file_read_bytes_total" } },
	[TOP_FILE_OPERATIONS] = { "FILEOPS", 'o', UNIT_COUNT, "file operations, with paging I/O",
		{ "etw_file_operations_total" } },
	[TOP_NETWORK] = { "NET", 'n', UNIT_BYTES, "bytes sent and received over TCP and UDP",
		{ "etw_network_sent_bytes_total", "etw_network_received_bytes_total" } },
	[TOP_CPU] = { "CPU", 'c', UNIT_SECONDS, "CPU time (collector sched); 100 % is one processor",
		{ "etw_process_cpu_seconds_total" } },
	[TOP_WAITS] = { "WAITS", 'a', UNIT_COUNT, "waits that its threads began (collector sched)",
		{ "etw_thread_process_waits_total" } },
	[TOP_DISK] = { "DISK", 'd', UNIT_SECONDS, "time that its disk requests took",
		{ "etw_disk_process_io_seconds_total" } },
	[TOP_FAULTS] = { "FAULTS", 'f', UNIT_COUNT, "hard page faults",
		{ "etw_memory_hard_faults_total" } },
	[TOP_EVENTS] = { "EVENTS", 'e', UNIT_COUNT, "events of any kind",
		{ "etw_events_total" } },
};
/* clang-format on */

static const struct {
	const char *family;
	enum top_fact fact;
	const char *label; /* a label that the sample must have; NULL: any sample */
} fact_rows[] = {
	{ "etw_consumer_records_total", FACT_RECORDS, NULL },
	{ "etw_consumer_records_total", FACT_UNDECODABLE, "=\"undecodable\"" },
	{ "etw_session_events_lost_total", FACT_EVENTS_LOST, NULL },
	{ "etw_session_realtime_buffers_lost_total", FACT_BUFFERS_LOST, NULL },
	{ "etw_session_log_buffers_lost_total", FACT_BUFFERS_LOST, NULL },
	{ "etw_consumer_bad_buffers_total", FACT_BAD_BUFFERS, NULL },
	{ "etw_consumer_bad_records_total", FACT_BAD_RECORDS, NULL },
	{ "etw_consumer_unattributed_events_total", FACT_UNATTRIBUTED, NULL },
	{ "etw_session_up", FACT_SESSIONS_UP, NULL },
	{ "etw_replay_position_timestamp_seconds", FACT_POSITION, NULL },
	{ "etw_replay_progress_ratio", FACT_PROGRESS, NULL },
	{ "etw_replay_finished", FACT_FINISHED, NULL },
	{ "etw_exporter_build_info", FACT_IS_EXPORTER, NULL },
};

struct page_sample {
	const char *name;
	size_t name_size;
	const char *labels; /* text after the brace; NULL: none */
	size_t labels_size;
	double value;
};

/* Returns the brace that ends the labels; braces inside values are skipped. */
static const char *end_of_labels(const char *at, const char *end)
{
	bool quoted = false;

	for (; at < end; at++) {
		if (quoted && *at == '\\') {
			at++;
		} else if (*at == '"') {
			quoted = !quoted;
		} else if (*at == '}' && !quoted) {
			return at;
		}
	}
	return NULL;
}

static bool read_sample(const char *line, size_t size, struct page_sample *sample)
{
	const char *end = line + size;
	const char *at = line;
	char number[64];
	char *rest;
	size_t digits;

	while (at < end && *at != '{' && *at != ' ') {
		at++;
	}
	*sample = (struct page_sample){ .name = line, .name_size = (size_t)(at - line) };
	if (at < end && *at == '{') {
		sample->labels = at + 1;
		at = end_of_labels(sample->labels, end);
		if (!at) {
			return false;
		}
		sample->labels_size = (size_t)(at - sample->labels);
		at++;
	}
	if (at == end || *at != ' ') {
		return false;
	}
	at++;
	for (digits = 0; at + digits < end && at[digits] != ' ' && digits < sizeof number - 1;) {
		digits++;
	}
	memcpy(number, at, digits);
	number[digits] = '\0';
	sample->value = strtod(number, &rest);
	return digits > 0 && *rest == '\0' && isfinite(sample->value);
}

static bool is_named(const struct page_sample *sample, const char *family)
{
	return family && strlen(family) == sample->name_size &&
	       memcmp(family, sample->name, sample->name_size) == 0;
}

/* Replaces *value by the unescaped value of the label. Returns false if there is none. */
static bool label_value(const struct page_sample *sample, const char *label, struct etw_text *value)
{
	const char *at = sample->labels, *end = at ? at + sample->labels_size : NULL;
	size_t label_size = strlen(label);

	text_clear(value);
	while (at && at < end) {
		const char *equals = memchr(at, '=', (size_t)(end - at));
		bool matches = equals && (size_t)(equals - at) == label_size &&
			       memcmp(at, label, label_size) == 0;

		if (!equals || end - equals < 2 || equals[1] != '"') {
			return false;
		}
		for (at = equals + 2; at < end && *at != '"'; at++) {
			char c = *at;

			if (c == '\\' && at + 1 < end) {
				c = *++at == 'n' ? '\n' : *at;
			}
			if (matches && c != '\0') {
				text_add_char(value, c);
			}
		}
		if (matches) {
			return !value->failed;
		}
		at++; /* skips the quote */
		at += at < end && *at == ',';
	}
	return false;
}

static struct top_process *process_of(struct top_page *page, const struct etw_text *name)
{
	const char *text = name->data ? name->data : "";
	bool added = false;
	uint64_t *index;

	if (page->count == page->room) {
		size_t room = page->room > 0 ? 2 * page->room : 64;
		struct top_process *more = page->count < TOP_PROCESSES_MOST ?
						   realloc(page->processes, room * sizeof *more) :
						   NULL;

		if (more) {
			page->processes = more;
			page->room = room;
		} else if (page->count < TOP_PROCESSES_MOST) {
			memory_note_loss();
		}
	}
	index = map_find(&page->by_name, text_hash(text, name->size, hash_seed()));
	if (!index && page->count < page->room && page->count < TOP_PROCESSES_MOST) {
		index = map_put(&page->by_name, text_hash(text, name->size, hash_seed()), &added);
	}
	if (index && added) {
		struct top_process process = { .name = text_duplicate(text, name->size) };

		if (!process.name) {
			map_remove(&page->by_name, text_hash(text, name->size, hash_seed()));
			index = NULL;
		} else {
			*index = page->count;
			page->processes[page->count++] = process;
		}
	}
	page->full |= !index;
	return index ? &page->processes[*index] : NULL;
}

static void add_to_column(struct top_page *page, enum top_column column,
			  const struct page_sample *sample, struct etw_text *name)
{
	struct top_process *process;

	if (!label_value(sample, "process", name)) {
		return;
	}
	process = process_of(page, name);
	if (process) {
		process->values[column] += sample->value;
		page->present[column] = true;
	}
}

static bool has_text(const struct page_sample *sample, const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i + size <= sample->labels_size; i++) {
		if (memcmp(sample->labels + i, text, size) == 0) {
			return true;
		}
	}
	return false;
}

static void add_sample(struct top_page *page, const struct page_sample *sample,
		       struct etw_text *name)
{
	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		if (is_named(sample, top_columns[i].families[0]) ||
		    is_named(sample, top_columns[i].families[1])) {
			add_to_column(page, i, sample, name);
			return;
		}
	}
	for (size_t i = 0; i < sizeof fact_rows / sizeof fact_rows[0]; i++) {
		if (is_named(sample, fact_rows[i].family) &&
		    (!fact_rows[i].label || has_text(sample, fact_rows[i].label))) {
			page->facts[fact_rows[i].fact] += sample->value;
			page->has_fact[fact_rows[i].fact] = true;
		}
	}
}

void top_page_read(struct top_page *page, const char *text, size_t size)
{
	const char *end = text + size;
	struct etw_text name = { 0 };

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);
		struct page_sample sample;

		if (length > 4 && memcmp(text, "etw_", 4) == 0 &&
		    read_sample(text, length, &sample)) {
			add_sample(page, &sample, &name);
		}
		text += length + 1;
	}
	text_free(&name);
}

void top_page_done(struct top_page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		free(page->processes[i].name);
	}
	free(page->processes);
	map_done(&page->by_name);
	memset(page, 0, sizeof *page);
}

const struct top_process *top_page_find(const struct top_page *page, const char *name)
{
	const uint64_t *index =
		map_find(&page->by_name, text_hash(name, strlen(name), hash_seed()));

	return index ? &page->processes[*index] : NULL;
}

double top_growth(double before, double now)
{
	return now < before ? now : now - before;
}
