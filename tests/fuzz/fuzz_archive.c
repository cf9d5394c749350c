/* SPDX-License-Identifier: MIT */
/*
 * Any bytes at all as a packed recording: gzip, xz, zstd, zip.
 *
 * Opening ends with a temporary file within the limits or with an error, never with both or
 * neither. What comes out is read as a recording.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/etl/file.h"
#include "lib/etl/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition) {
		abort();
	}
}

/* Reads it to the end, as a recording. */
static void read_recording(const char *path)
{
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_open(path, 0, &err);
	struct etw_damage damage = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;

	must(file || err.code != ETW_ERROR_NONE);
	if (!file) {
		return;
	}
	etl_file_scan(file, &scan, &damage, 0, 0);
	while (etl_scan_next(&scan, &buffer, &err) == ETL_STEP_BUFFER) {
	}
	etl_scan_done(&scan);
	etw_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Small, so that they are reached. */
	static const struct etl_packed_limits limits = { .bytes_max = 1 << 20,
							 .ratio_from = 1 << 16,
							 .ratio_max = 100 };
	static const char *const choices[] = { "", ":*", ":a.etl" };
	int fd = memfd_create("packed", 0);
	char path[64];
	bool packed = false;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
		struct etw_error err = { 0 };
		struct os_file *file;

		snprintf(path, sizeof path, "/proc/self/fd/%d%s", fd, choices[i]);
		file = etl_packed_open(path, &limits, &err);
		must((file != NULL) == (err.code == ETW_ERROR_NONE));
		must(!file || !os_file_is_stream(file));
		if (file && os_file_is_temporary(file)) {
			packed = true;
			must(os_file_size(file) <= limits.bytes_max);
			must(!os_file_change(file));
		}
		os_file_close(file);
	}
	if (packed) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		read_recording(path);
	}
	close(fd);
	return 0;
}
