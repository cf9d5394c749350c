/* SPDX-License-Identifier: MIT */
/*
 * The recording (.etl) that Windows writes of a session beside real time.
 *
 * The file belongs to the session. It begins when the session starts, and is complete when the
 * session has stopped: then it also has the rundown that Windows writes at a stop only. A session
 * that is started again cannot go on in the same file, because Windows appends to a file only
 * without real time and only with the clock of the system. So each start of the session has a file
 * of its own: NAME.etl, NAME.2.etl, NAME.3.etl.
 *
 * The maximum is that of all these files together, so that a session that is started again and
 * again does not fill the disk. Two pages of Microsoft differ in what a full file ends: the session
 * ("StartTraceW function"), or the writing alone ("Logging Mode Constants"). Both are expected. A
 * session that ended is started again without a file.
 *
 * A session runs without a file that cannot be written, and reports it, because metrics are what
 * most users want. Only who wants nothing but the recording requires the first file.
 *
 * A session in real time is flushed each second, and a buffer takes its whole size in the file
 * however little is in it. So a file grows by up to one buffer a second for each processor.
 *
 * Source: "EVENT_TRACE_PROPERTIES structure", "Logging Mode Constants", Microsoft Learn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "live/live_source_internal_win32.h"

#define MEBIBYTE        (UINT64_C(1) << 20) /* the unit of MaximumFileSize */
#define MAXIMUM_DEFAULT (UINT64_C(1) << 30)

/* ---- the file's name ---- */

/* Adds "NAME.2.etl" for the second file of "NAME.etl", and so on. */
static void add_name(struct text *name, const char *path, unsigned number)
{
	const char *ending = strrchr(os_path_name(path), '.');
	size_t stem = ending ? (size_t)(ending - path) : strlen(path);

	text_add(name, path, stem);
	if (number > 1) {
		text_add_format(name, ".%u", number);
	}
	text_add_string(name, path + stem);
}

static bool wide_name(const char *path, unsigned number, WCHAR wide[SESSION_NAME_MAX])
{
	struct text name = { 0 };
	bool fits;

	add_name(&name, path, number);
	fits = !name.failed && live_wide(name.data, wide, SESSION_NAME_MAX);
	text_free(&name);
	return fits;
}

static bool size_of(const struct recording *recording, unsigned number, uint64_t *size)
{
	struct text name = { 0 };
	struct os_file *file = NULL;

	add_name(&name, recording->path, number);
	if (!name.failed) {
		file = os_file_open(name.data, NULL);
	}
	if (file) {
		*size = os_file_size(file);
		os_file_close(file);
	}
	text_free(&name);
	return file != NULL;
}

/* ---- opening and closing ---- */

bool recording_init(struct live *live, const struct live_options *options, struct error *err)
{
	struct recording *recording = &live->recording;
	const char *path = options->recording_path;
	WCHAR wide[SESSION_NAME_MAX];

	if (!path) {
		return true;
	}
	/* With room for a number of many digits. */
	if (*path == '\0' || !wide_name(path, UINT32_MAX, wide)) {
		return error_set(err, ERROR_CONFIG,
				 "session %s: the path of its recording is empty, not UTF-8 or too "
				 "long",
				 live->name);
	}
	recording->maximum_bytes = options->recording_max_bytes ? options->recording_max_bytes :
								  MAXIMUM_DEFAULT;
	if (recording->maximum_bytes < MEBIBYTE) {
		recording->maximum_bytes = MEBIBYTE;
	} else if (recording->maximum_bytes > UINT32_MAX * MEBIBYTE) {
		recording->maximum_bytes = UINT32_MAX * MEBIBYTE;
	}
	recording->left_bytes = recording->maximum_bytes;
	recording->path = text_duplicate(path, strlen(path));
	return recording->path || error_no_memory(err, "the path of a recording");
}

void recording_done(struct live *live)
{
	free(live->recording.path);
}

/* ---- the maximum ---- */

static void end(struct live *live, const char *sentence)
{
	bool over;

	os_mutex_lock(&live->lock);
	over = live->recording.over;
	live->recording.over = true;
	os_mutex_unlock(&live->lock);
	if (!over) {
		live_report(live, SESSION_RECORDING_ENDED, "%s", sentence);
	}
}

static void end_full(struct live *live)
{
	char sentence[80];

	snprintf(sentence, sizeof sentence, "its recording has reached its maximum of %llu MiB",
		 (unsigned long long)(live->recording.maximum_bytes / MEBIBYTE));
	end(live, sentence);
}

/* What is known of the last file. */
struct last_file {
	unsigned number; /* 0: there was none */
	uint64_t most;   /* bytes that the maximum leaves for it */
	bool runs;       /* the session that runs, or ran last, has it */
	bool over;
};

static struct last_file last_file(struct live *live)
{
	const struct recording *recording = &live->recording;
	struct last_file last;

	os_mutex_lock(&live->lock);
	last = (struct last_file){ .number = recording->files,
				   .most = recording->left_bytes / MEBIBYTE * MEBIBYTE,
				   .runs = recording->runs,
				   .over = recording->over };
	os_mutex_unlock(&live->lock);
	return last;
}

bool recording_is_full(struct live *live)
{
	struct last_file last = last_file(live);
	uint64_t size;

	if (!last.runs || last.over) {
		return last.runs;
	}
	/* A file whose size is not known has what it had: Windows keeps to the maximum, too. */
	if (!size_of(&live->recording, last.number, &size)) {
		return false;
	}
	os_mutex_lock(&live->lock);
	live->recording.last_bytes = size;
	os_mutex_unlock(&live->lock);
	if (size + live->options.buffer_size_bytes <= last.most) {
		return false;
	}
	end_full(live);
	return true;
}

/* The session has ended: its file has taken its part of the maximum. */
static void count_file(struct live *live)
{
	struct recording *recording = &live->recording;

	os_mutex_lock(&live->lock);
	recording->left_bytes -= recording->last_bytes < recording->left_bytes ?
					 recording->last_bytes :
					 recording->left_bytes;
	recording->last_bytes = 0;
	recording->runs = false;
	os_mutex_unlock(&live->lock);
}

/* ---- the session ---- */

bool recording_fill(struct live *live, struct session_properties *properties)
{
	EVENT_TRACE_PROPERTIES *base = &properties->base;
	struct last_file last;

	if (!live->recording.path) {
		return false;
	}
	recording_is_full(live);
	count_file(live);
	last = last_file(live);
	if (last.most == 0) {
		end_full(live);
	}
	if (last.most == 0 || last.over ||
	    !wide_name(live->recording.path, last.number + 1, properties->log_file_name)) {
		return false;
	}
	base->LogFileNameOffset = (ULONG)offsetof(struct session_properties, log_file_name);
	base->LogFileMode |= EVENT_TRACE_FILE_MODE_SEQUENTIAL;
	base->MaximumFileSize = (ULONG)(last.most / MEBIBYTE);
	return true;
}

void recording_begin(struct live *live)
{
	os_mutex_lock(&live->lock);
	live->recording.files++;
	live->recording.runs = true;
	os_mutex_unlock(&live->lock);
}

bool recording_refuse(struct live *live, ULONG status)
{
	char text[160];
	char sentence[240];

	if (live->recording.files == 0 && live->options.recording_required) {
		live->recording.refused = true;
		return false;
	}
	snprintf(sentence, sizeof sentence, "its %srecording cannot be written: %s",
		 live->recording.files > 0 ? "next " : "", live_error_text(status, text));
	end(live, sentence);
	return true;
}

void recording_describe(struct live *live, struct text *text)
{
	struct last_file last = last_file(live);

	if (last.runs) {
		text_add_string(text, ", recording to ");
		add_name(text, live->recording.path, last.number);
	}
}
