/* SPDX-License-Identifier: MIT */
#include "base/print.h"

#include <errno.h>
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
