/* SPDX-License-Identifier: MIT */
#include "base/print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool print_bytes(const char *bytes, size_t size, struct error *err)
{
	errno = 0;
	if ((size > 0 && fwrite(bytes, 1, size, stdout) != size) || fflush(stdout) != 0) {
		return errno != EPIPE &&
		       error_set(err, ERROR_SYSTEM, "standard output cannot be written: %s",
				 strerror(errno));
	}
	return true;
}

bool print_text(struct text *text, struct error *err)
{
	bool written = text->failed ? error_no_memory(err, "the output") :
				      print_bytes(text->data, text->size, err);

	text_free(text);
	return written;
}
