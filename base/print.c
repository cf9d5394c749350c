/* SPDX-License-Identifier: MIT */
#include "base/print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"

bool print_bytes(const char *bytes, size_t size, struct etw_error *err)
{
	errno = 0;
	if ((size > 0 && fwrite(bytes, 1, size, stdout) != size) || fflush(stdout) != 0) {
		return !os_reader_is_gone() &&
		       error_set(err, ETW_ERROR_SYSTEM, "standard output cannot be written: %s",
				 strerror(errno));
	}
	return true;
}

bool print_text(struct etw_text *text, struct etw_error *err)
{
	bool written = text->failed ? error_no_memory(err, "the output") :
				      print_bytes(text->data, text->size, err);

	text_free(text);
	return written;
}

void print_failure(const char *format, ...)
{
	struct etw_text line = { 0 };
	va_list arguments;

	va_start(arguments, format);
	text_add_arguments(&line, format, arguments);
	va_end(arguments);
	text_add_char(&line, '\n');
	if (line.failed) {
		static const char no_memory[] = "no memory\n";

		os_stderr_write(no_memory, sizeof no_memory - 1);
	} else {
		os_stderr_write(line.data, line.size);
	}
	text_free(&line);
}

/* ---- progress ---- */

#define NS_PER_MS UINT64_C(1000000)

static bool allowed;

/* A progress line is on the terminal at present. */
static bool shown;

void progress_allow(void)
{
	allowed = true;
}

bool progress_is_watched(enum progress_output output, bool errors_to_terminal, bool output_to_file)
{
	return errors_to_terminal && (output == OUTPUT_AT_END || output_to_file);
}

void progress_start(struct progress *progress, const char *program, const char *command,
		    enum progress_output output)
{
	*progress = (struct progress){
		.start_ns = os_monotonic_ns(),
		.passes = 2,
		.watched = allowed &&
			   progress_is_watched(output, os_is_terminal(stderr), os_is_file(stdout)),
	};
	progress->next_ns = progress->start_ns + PROGRESS_AFTER_MS * NS_PER_MS;
	snprintf(progress->command, sizeof progress->command, "%s%s%s", program, command ? " " : "",
		 command ? command : "");
}

double progress_share(struct progress *progress, uint64_t read, uint64_t size, uint64_t before,
		      uint64_t total)
{
	double done;

	if (before != progress->before) {
		progress->before = before;
		progress->second_pass = false;
	} else if (read < progress->read) {
		progress->second_pass = true;
	}
	progress->read = read;
	done = (double)read + (progress->second_pass ? (double)size : 0);
	return total == 0 ? 1 : ((double)before + done / progress->passes) / (double)total;
}

/* Returns whether it is time to print the next line. */
static bool is_due(struct progress *progress, uint64_t now_ns)
{
	if (now_ns < progress->next_ns) {
		return false;
	}
	progress->next_ns = now_ns + PROGRESS_EVERY_MS * NS_PER_MS;
	return true;
}

bool progress_line(struct progress *progress, double share, uint64_t now_ns,
		   char line[PROGRESS_LINE_SIZE])
{
	double percent = share < 0 ? 0 : share > 1 ? 100 : 100 * share;

	if (!is_due(progress, now_ns)) {
		return false;
	}
	snprintf(line, PROGRESS_LINE_SIZE, "\r%s: %3.0f %%, %.0f s ", progress->command, percent,
		 (double)(now_ns - progress->start_ns) / 1e9);
	return true;
}

bool progress_bytes_line(struct progress *progress, uint64_t bytes, uint64_t now_ns,
			 char line[PROGRESS_LINE_SIZE])
{
	if (!is_due(progress, now_ns)) {
		return false;
	}
	snprintf(line, PROGRESS_LINE_SIZE, "\r%s: %" PRIu64 " MB, %.0f s ", progress->command,
		 bytes / 1000000, (double)(now_ns - progress->start_ns) / 1e9);
	return true;
}

static void show_line(const char *line)
{
	os_stderr_write(line, strlen(line));
	shown = true;
}

void progress_show(struct progress *progress, uint64_t read, uint64_t size, uint64_t before,
		   uint64_t total)
{
	char line[PROGRESS_LINE_SIZE];

	if (progress->watched &&
	    progress_line(progress, progress_share(progress, read, size, before, total),
			  os_monotonic_ns(), line)) {
		show_line(line);
	}
}

void progress_show_bytes(struct progress *progress, uint64_t bytes)
{
	char line[PROGRESS_LINE_SIZE];

	if (progress->watched && progress_bytes_line(progress, bytes, os_monotonic_ns(), line)) {
		show_line(line);
	}
}

void progress_end(struct progress *progress)
{
	progress->watched = false;
	progress_clear();
}

void progress_clear(void)
{
	static const char blank[] = "\r                                                \r";

	if (shown) {
		os_stderr_write(blank, sizeof blank - 1);
		shown = false;
	}
}
