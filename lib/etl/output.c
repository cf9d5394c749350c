/* SPDX-License-Identifier: MIT */
#include "lib/etl/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/print.h"

enum { CHUNK = 1 << 16 };

bool etw_output_is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

bool etl_output_open(struct etl_output *output, const char *path, enum etw_visibility visibility,
		     struct etw_error *err)
{
	if (!path) {
		return true;
	}
	output->standard = etw_output_is_standard(path);
	output->temporary = visibility == ETW_VISIBLE_NEVER;
	output->file = output->standard ? os_file_temporary(err) :
					  os_file_new(path, visibility == ETW_VISIBLE_ALWAYS, err);
	return output->file != NULL;
}

static bool reserve(struct etl_output *output, size_t size, struct etw_error *err)
{
	size_t needed = (size_t)output->size + size;
	size_t capacity = output->memory_capacity ? output->memory_capacity : 65536;
	uint8_t *memory;

	if (needed <= output->memory_capacity) {
		return true;
	}
	while (capacity < needed) {
		capacity *= 2;
	}
	memory = realloc(output->memory, capacity);
	if (!memory) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for a recording of %zu bytes",
				 needed);
	}
	output->memory = memory;
	output->memory_capacity = capacity;
	return true;
}

bool etl_output_write(struct etl_output *output, const uint8_t *bytes, size_t size,
		      struct etw_error *err)
{
	if (output->file) {
		if (!os_file_append(output->file, bytes, size, err)) {
			return false;
		}
	} else {
		if (!reserve(output, size, err)) {
			return false;
		}
		memcpy(output->memory + output->size, bytes, size);
	}
	output->size += size;
	return true;
}

/* Prints `start`, and then the rest of the temporary file after its first size bytes. */
static bool print_all(struct etl_output *output, const uint8_t *start, size_t size,
		      struct etw_error *err)
{
	uint8_t *chunk = malloc(CHUNK);
	uint64_t at = size;
	size_t got = 0;
	bool good;

	if (!chunk) {
		return error_no_memory(err, "the output");
	}
	good = print_bytes((const char *)start, size, err);
	for (; good && at < output->size; at += got) {
		good = os_file_read(output->file, at, chunk, CHUNK, &got, err) && got > 0 &&
		       print_bytes((const char *)chunk, got, err);
	}
	free(chunk);
	return good;
}

bool etl_output_finish(struct etl_output *output, const uint8_t *bytes, size_t size,
		       struct etw_error *err)
{
	if (output->standard) {
		return print_all(output, bytes, size, err);
	}
	if (!output->file) {
		memcpy(output->memory, bytes, size);
		return true;
	}
	return os_file_overwrite(output->file, bytes, size, err) &&
	       (output->temporary || os_file_publish(output->file, err));
}

void etl_output_close(struct etl_output *output)
{
	os_file_close(output->file);
	free(output->memory);
	*output = (struct etl_output){ 0 };
}
