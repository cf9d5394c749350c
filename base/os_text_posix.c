/* SPDX-License-Identifier: MIT */
/* Texts of errors on Linux, the encoding of the C library, and terminals. */
#include "base/os.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void os_error_text(int number, char *text, size_t text_size)
{
	if (strerror_r(number, text, text_size) != 0) {
		snprintf(text, text_size, "error %d", number);
	}
}

const char *os_listen_advice(int number)
{
	return number == EACCES ? "ports below 1024 need the capability CAP_NET_BIND_SERVICE" :
				  NULL;
}

void *os_utf8_start(void)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);

	if (utf8) {
		uselocale(utf8);
	}
	return utf8;
}

void os_utf8_end(void *started)
{
	if (started) {
		uselocale(LC_GLOBAL_LOCALE);
		freelocale(started);
	}
}

/* ---- standard streams and terminals ---- */

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
