/* SPDX-License-Identifier: MIT */
/* What new files have in common on all systems. */
#include <inttypes.h>
#include <stdint.h>

#include "base/os.h"
#include "base/text.h"

char *os_partial_name(const char *name)
{
	struct etw_text partial = { 0 };
	uint64_t random;

	if (!os_random(&random, sizeof random)) {
		return NULL;
	}
	text_add_format(&partial, "%s.%016" PRIx64 ".partial", name, random);
	if (partial.failed) {
		text_free(&partial);
	}
	return partial.data;
}

bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err)
{
	struct os_file *file = os_file_new(path, false, err);
	bool written =
		file && os_file_append(file, bytes, size, err) && os_file_publish(file, err);

	os_file_close(file);
	return written;
}
