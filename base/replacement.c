/* SPDX-License-Identifier: MIT */
#include "base/replacement.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

bool replacement_init(struct replacement *replacement, const char *path, struct etw_error *err)
{
	static atomic_uint named; /* temporary names made in this run */
	size_t path_size = strlen(path), size = path_size + sizeof ".00000000.partial";

	replacement->path = text_duplicate(path, path_size);
	replacement->temporary = malloc(size);
	if (!replacement->path || !replacement->temporary) {
		return error_no_memory(err, "the name of a file");
	}
	/* Another run may write the same file; hash_seed() differs from run to run. */
	snprintf(replacement->temporary, size, "%s.%08x.partial", path,
		 (unsigned)hash_seed() + atomic_fetch_add(&named, 1));
	return true;
}

bool replacement_finish(struct replacement *replacement, struct etw_error *err)
{
	if (memory_has_losses()) {
		return error_no_memory(err, "everything in it");
	}
	if (!os_file_publish(replacement->temporary, replacement->path, err)) {
		return false;
	}
	free(replacement->temporary);
	replacement->temporary = NULL;
	return true;
}

void replacement_done(struct replacement *replacement)
{
	if (replacement->temporary) {
		os_file_remove(replacement->temporary, NULL);
	}
	free(replacement->path);
	free(replacement->temporary);
	*replacement = (struct replacement){ 0 };
}

bool replacement_write_whole(const char *path, const char *bytes, size_t size,
			     struct etw_error *err)
{
	struct replacement replacement = { 0 };
	bool written = replacement_init(&replacement, path, err) &&
		       os_file_write_whole(replacement.temporary, bytes, size, err) &&
		       replacement_finish(&replacement, err);

	replacement_done(&replacement);
	return written || error_prefix(err, "%s", path);
}
