/* SPDX-License-Identifier: MIT */
/* Standard streams and terminals of Linux. */
#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void os_stderr_write(const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(STDERR_FILENO, bytes, size);

		if (written < 0 && errno == EINTR) {
			continue;
		}
		if (written <= 0) {
			return;
		}
		bytes += written;
		size -= (size_t)written;
	}
}

bool os_reader_is_gone(void)
{
	return errno == EPIPE;
}

bool os_is_terminal(FILE *stream)
{
	return isatty(fileno(stream)) == 1;
}

bool os_is_file(FILE *stream)
{
	struct stat facts;

	return fstat(fileno(stream), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool os_has_colours(FILE *stream)
{
	const char *terminal = getenv("TERM");

	return os_is_terminal(stream) && terminal && terminal[0] && strcmp(terminal, "dumb") != 0;
}
