/* SPDX-License-Identifier: MIT */
/*
 * Prints what the commands write: results on standard output, complaints on standard error.
 *
 * Names of providers, events and files come from outside and may contain any bytes.
 * text_add_shown() writes all text for people, so that names cannot control a terminal; a complaint
 * stays one line for the same reason. A result is built in memory and written at once. When the
 * reader has closed the pipe, the write fails with EPIPE. The person has then seen enough, so there
 * is no complaint, but the command still ends. JSON for people is written compactly first and then
 * indented, which keeps the writer of base/json.h simple.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <etw/source.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/print.h"
#include "config/problems.h"
#include "etwtool/tool.h"
#include "metrics/exposition.h"

int tool_complain(int status, const char *command, const char *format, ...)
{
	char sentence[1024];
	struct etw_text line = { 0 };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	text_add_shown(&line, sentence);
	progress_clear();
	print_failure("etwtool%s%s: %s", command ? " " : "", command ? command : "",
		      line.failed ? "no memory" : line.data);
	text_free(&line);
	return status;
}

static void show_problem(void *command, const char *sentence, bool warning)
{
	(void)warning; /* the sentence says so */
	tool_complain(TOOL_DONE, *(const char **)command, "%s", sentence);
}

void tool_show_problems(const char *command, const struct problems *problems)
{
	problems_show(problems, show_problem, &command);
}

bool tool_write(const char *command, const struct etw_text *text)
{
	struct etw_error err = { 0 };
	bool written = text->failed ? error_no_memory(&err, "the output") :
				      print_bytes(text->data, text->size, &err);

	if (err.code != ETW_ERROR_NONE) {
		tool_complain(TOOL_FAILED, command, "%s", err.text);
	}
	return written;
}

int tool_print(const char *command, struct etw_text *text)
{
	int status = tool_write(command, text) ? TOOL_DONE : TOOL_FAILED;

	text_free(text);
	return status;
}

bool tool_may_replace(const char *path, struct etw_error *err)
{
	struct os_file_stamp stamp;
	struct os_file *file;

	os_file_stamp(path, &stamp);
	if (stamp.number == 0 && stamp.volume == 0) {
		return true;
	}
	file = os_file_open(path, err);
	os_file_close(file);
	return file || error_prefix(err, "%s", path);
}

bool tool_may_write(const char *path, const char *start, const char *refusal, bool *replaces,
		    struct etw_error *err)
{
	char bytes[256];
	size_t size = strlen(start), got = 0;
	struct os_file_stamp stamp;
	struct os_file *file;
	bool read;

	assert(size <= sizeof bytes);
	os_file_stamp(path, &stamp);
	*replaces = memcmp(&stamp, &(struct os_file_stamp){ 0 }, sizeof stamp) != 0;
	if (!*replaces) {
		return true;
	}
	file = os_file_open(path, err);
	read = file && os_file_read(file, 0, bytes, size, &got, err);
	os_file_close(file);
	if (!read) {
		return error_prefix(err, "%s", path);
	}
	return (got == size && memcmp(bytes, start, size) == 0) ||
	       error_set(err, ETW_ERROR_SYSTEM, "%s exists and is %s", path, refusal);
}

bool tool_write_file(const char *path, const struct etw_text *text, struct etw_error *err)
{
	bool whole = !text->failed && !memory_has_losses();

	return (whole ? os_file_write_whole(path, text->data, text->size, err) :
			error_no_memory(err, "everything in it")) ||
	       error_prefix(err, "%s", path);
}

/* ---- JSON for people ---- */

static void new_line(struct etw_text *out, unsigned depth)
{
	text_add_char(out, '\n');
	for (unsigned i = 0; i < depth; i++) {
		text_add_char(out, ' ');
	}
}

static void add_indented(struct etw_text *out, const struct etw_text *compact)
{
	bool in_string = false;
	unsigned depth = 0;

	for (size_t i = 0; i < compact->size; i++) {
		char c = compact->data[i];
		bool empty = i + 1 < compact->size &&
			     (compact->data[i + 1] == '}' || compact->data[i + 1] == ']');

		if (in_string) {
			text_add_char(out, c);
			if (c == '\\' && i + 1 < compact->size) {
				text_add_char(out, compact->data[++i]);
			} else if (c == '"') {
				in_string = false;
			}
			continue;
		}
		if ((c == '}' || c == ']') && i > 0 && compact->data[i - 1] != '{' &&
		    compact->data[i - 1] != '[') {
			new_line(out, --depth);
		}
		text_add_char(out, c);
		switch (c) {
		case '"':
			in_string = true;
			break;
		case ':':
			text_add_char(out, ' ');
			break;
		case ',':
			new_line(out, depth);
			break;
		case '{':
		case '[':
			if (!empty) {
				new_line(out, ++depth);
			}
			break;
		default:
			break;
		}
	}
	text_add_char(out, '\n');
	out->failed |= compact->failed;
}

struct json *tool_json_begin(struct tool_json *page)
{
	page->compact = (struct etw_text){ 0 };
	json_init(&page->json, &page->compact, false);
	json_object_begin(&page->json);
	return &page->json;
}

void tool_json_end(struct tool_json *page, struct etw_text *out)
{
	json_object_end(&page->json);
	add_indented(out, &page->compact);
	text_free(&page->compact);
}

void text_add_counted(struct etw_text *out, uint64_t number, const char *noun)
{
	text_add_format(out, "%" PRIu64 " %s%s", number, noun, number == 1 ? "" : "s");
}

void text_add_damage(struct etw_text *out, const struct etw_source_statistics *statistics)
{
	if (statistics->bad_buffers > 0) {
		text_add_counted(out, statistics->bad_buffers, "buffer");
		text_add_string(out, " (");
		text_add_counted(out, statistics->bad_bytes, "byte");
		text_add_string(out, statistics->bad_records > 0 ? ") and " : ")");
	}
	if (statistics->bad_records > 0) {
		text_add_counted(out, statistics->bad_records, "record");
	}
}

/* ---- CSV ---- */

void text_add_csv(struct etw_text *out, const char *text, size_t size)
{
	bool plain = true;

	for (size_t i = 0; i < size && plain; i++) {
		plain = !strchr("\",\r\n", text[i]) || text[i] == '\0';
	}
	if (plain) {
		text_add(out, text, size);
		return;
	}
	text_add_char(out, '"');
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"') {
			text_add_char(out, '"');
		}
		text_add_char(out, text[i]);
	}
	text_add_char(out, '"');
}

/* ---- expositions ---- */

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

void text_add_exposition(struct etw_text *out, struct registry *registry)
{
	const struct exposition_options options = { .format = EXPOSITION_TEXT_0_0_4,
						    .sorted = true };

	out->failed |= !exposition_write(registry, &options, add_chunk, out);
}

void text_add_openmetrics(struct etw_text *out, struct registry *registry)
{
	const struct exposition_options options = { .format = EXPOSITION_OPENMETRICS_1_0_0 };

	out->failed |= !exposition_write(registry, &options, add_chunk, out);
}
