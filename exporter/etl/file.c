/* SPDX-License-Identifier: MIT */
#include "etl/file.h"

#include <stdlib.h>

#include "etl/scan.h"

/* Until the header has told: the header's own raw time is all that is wanted then. */
static const struct source_clock no_clock = {
	.type = CLOCK_QPC,
	.frequency = 10000000,
	.perf_frequency = 10000000,
};

static bool read_header(struct etl_file *file, uint8_t pointer_size, struct error *err)
{
	struct etl_damage damage = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;
	struct etl_format format;
	struct etl_walk walk;
	struct source_clock clock;
	enum etl_step step;
	bool good = false;

	if (file->input.size_bytes == 0) {
		return error_set(err, ERROR_FORMAT, "is empty, not a recording");
	}
	etl_scan_start(&scan, &file->input, &file->blocks, &damage, 0, 0, 0);
	step = etl_scan_next(&scan, &buffer, err);
	if (step == ETL_STEP_FAILED) {
		goto done;
	}
	if (step == ETL_STEP_END || !buffer.bytes) {
		error_set(err, ERROR_FORMAT,
			  "is not a recording: it does not start with a buffer of records");
		goto done;
	}
	etl_format_init(&format, &no_clock, 8, 0);
	etl_walk_start(&walk, &format, buffer.bytes, buffer.place.end, 0, 0);
	if (!etl_walk_next(&walk) || !etl_header_is(&walk.record)) {
		error_set(err, ERROR_FORMAT,
			  "is not a recording: its first record is not a logfile header");
		goto done;
	}
	if (!etl_header_read(&file->header, &walk.record, err)) {
		goto done;
	}
	clock = etl_header_clock(&file->header, &file->clock_doubt);
	etl_format_init(&file->format, &clock, file->header.pointer_size == 4 ? 4 : 8,
			pointer_size);
	good = true;

done:
	etl_scan_done(&scan);
	return good;
}

struct etl_file *etl_file_open(const char *path, uint8_t pointer_size, struct error *err)
{
	struct etl_file *file = calloc(1, sizeof *file);

	if (!file) {
		error_set(err, ERROR_NO_MEMORY, "no memory to open a recording");
		return NULL;
	}
	if (!etl_input_open(&file->input, path, err) || !read_header(file, pointer_size, err)) {
		error_prefix(err, "%s", path);
		etl_file_close(file);
		return NULL;
	}
	return file;
}

struct etl_file *etl_file_over(const void *bytes, size_t size, uint8_t pointer_size,
			       struct error *err)
{
	struct etl_file *file = calloc(1, sizeof *file);

	if (!file) {
		error_set(err, ERROR_NO_MEMORY, "no memory to open a recording");
		return NULL;
	}
	etl_input_over(&file->input, bytes, size);
	if (!read_header(file, pointer_size, err)) {
		etl_file_close(file);
		return NULL;
	}
	return file;
}

void etl_file_close(struct etl_file *file)
{
	if (!file) {
		return;
	}
	etl_header_done(&file->header);
	etl_blocks_done(&file->blocks);
	etl_input_close(&file->input);
	free(file);
}
