/* SPDX-License-Identifier: MIT */
/*
 * A text file that is part of a program. The build (cmake/embed.cmake) generates arrays of them.
 */
#ifndef BASE_BUILTIN_FILE_H
#define BASE_BUILTIN_FILE_H

#include <stddef.h>

struct builtin_file {
	const char *name; /* file name without its extension, e.g. "disk" */
	const char *text; /* NUL-terminated */
	size_t size;      /* bytes of text, without the NUL */
};

#endif
