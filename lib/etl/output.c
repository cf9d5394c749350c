/* SPDX-License-Identifier: MIT */
#include "lib/etl/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"

enum { CHUNK = 1 << 16 };

bool etw_output_is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

bool etw_output_open(struct etw_output *output, const char *path, struct etw_error *err)
{
	if (!path) {
		return true;
	}
	if (etw_output_is_standard(path)) {
		output->temporary = os_file_temporary(err);
		return output->temporary != NULL;
	}
	output->file = os_file_create(path, err);
	return output->file != NULL;
}

static bool reserve(struct etw_output *output, size_t size, struct etw_error *err)
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

bool etw_output_write(struct etw_output *output, const uint8_t *bytes, size_t size,
		      struct etw_error *err)
{
	if (output->file) {
		if (fwrite(bytes, 1, size, output->file) != size) {
			return error_set(err, ETW_ERROR_SYSTEM, "cannot write: %s",
					 strerror(errno));
		}
	} else if (output->temporary) {
		if (!os_file_append(output->temporary, bytes, size, err)) {
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
static bool print_all(struct etw_output *output, const uint8_t *start, size_t size,
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
		good = os_file_read(output->temporary, at, chunk, CHUNK, &got, err) && got > 0 &&
		       print_bytes((const char *)chunk, got, err);
	}
	free(chunk);
	return good;
}

/* Closes the file. A network drive may report only here that its disk is full. */
static bool close_file(struct etw_output *output)
{
	FILE *file = output->file;

	output->file = NULL;
	return fclose(file) == 0;
}

bool etl_output_rewrite_start(struct etw_output *output, const uint8_t *bytes, size_t size,
			      struct etw_error *err)
{
	if (output->temporary) {
		return print_all(output, bytes, size, err);
	}
	if (!output->file) {
		memcpy(output->memory, bytes, size);
		return true;
	}
	if (fseek(output->file, 0, SEEK_SET) != 0 || fwrite(bytes, 1, size, output->file) != size) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot write: %s", strerror(errno));
	}
	return close_file(output) ||
	       error_set(err, ETW_ERROR_SYSTEM, "cannot write: %s", strerror(errno));
}

void etl_output_close(struct etw_output *output)
{
	if (output->file) {
		fclose(output->file);
	}
	os_file_close(output->temporary);
	free(output->memory);
	*output = (struct etw_output){ 0 };
}
