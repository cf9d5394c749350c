/* SPDX-License-Identifier: MIT */
#include "etl/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

bool etl_output_open(struct etl_output *output, const char *path, struct error *err)
{
	if (!path) {
		return true;
	}
	output->file = os_file_stream(path, "wb");
	if (!output->file) {
		return error_set(err, ERROR_SYSTEM, "cannot create: %s", strerror(errno));
	}
	return true;
}

static bool reserve(struct etl_output *output, size_t size, struct error *err)
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
		return error_set(err, ERROR_NO_MEMORY, "no memory for a recording of %zu bytes",
				 needed);
	}
	output->memory = memory;
	output->memory_capacity = capacity;
	return true;
}

bool etl_output_write(struct etl_output *output, const uint8_t *bytes, size_t size,
		      struct error *err)
{
	if (output->file) {
		if (fwrite(bytes, 1, size, output->file) != size) {
			return error_set(err, ERROR_SYSTEM, "cannot write: %s", strerror(errno));
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

bool etl_output_rewrite_start(struct etl_output *output, const uint8_t *bytes, size_t size,
			      struct error *err)
{
	if (!output->file) {
		memcpy(output->memory, bytes, size);
		return true;
	}
	if (fseek(output->file, 0, SEEK_SET) != 0 || fwrite(bytes, 1, size, output->file) != size ||
	    fflush(output->file) != 0) {
		return error_set(err, ERROR_SYSTEM, "cannot write: %s", strerror(errno));
	}
	return true;
}

void etl_output_close(struct etl_output *output)
{
	if (output->file) {
		fclose(output->file);
	}
	free(output->memory);
	*output = (struct etl_output){ 0 };
}
