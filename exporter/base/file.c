/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <stdlib.h>

#include "base/os.h"

bool file_read_whole(const char *path, size_t most, char **bytes, size_t *size, struct error *err)
{
	struct os_file *file = os_file_open(path, err);
	char *read = NULL;
	bool done = false;
	uint64_t length;

	if (!file) {
		return false;
	}
	length = os_file_size(file);
	if (length > most) {
		error_set(err, ERROR_CONFIG, "%llu bytes; a file may have %zu MiB",
			  (unsigned long long)length, most >> 20);
		goto done;
	}
	read = malloc((size_t)length + 1);
	if (!read) {
		error_set(err, ERROR_NO_MEMORY, "no memory to read the file");
		goto done;
	}
	done = os_file_read(file, 0, read, (size_t)length, size, err);
	if (done) {
		*bytes = read;
		read = NULL;
	}

done:
	free(read);
	os_file_close(file);
	return done;
}
