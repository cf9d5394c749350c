/* SPDX-License-Identifier: MIT */
/* Texts of errors on Linux, and the encoding of the C library. */
#include "base/os.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

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
