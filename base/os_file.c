/* SPDX-License-Identifier: MIT */
/* What new files have in common on all systems. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

char *os_partial_name(const char *name)
{
	size_t size = strlen(name) + sizeof ".0123456789abcdef.partial";
	char *partial = malloc(size);
	uint64_t random;

	if (!partial || !os_random(&random, sizeof random)) {
		free(partial);
		return NULL;
	}
	snprintf(partial, size, "%s.%016" PRIx64 ".partial", name, random);
	return partial;
}

bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err)
{
	struct os_file *file = os_file_new(path, false, err);
	bool written = file && os_file_append(file, bytes, size, err) && os_file_publish(file, err);

	os_file_close(file);
	return written;
}
