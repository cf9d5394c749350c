/* SPDX-License-Identifier: MIT */
#include "etl/input.h"

#include <string.h>

bool etl_input_open(struct etl_input *input, const char *path, struct error *err)
{
	struct os_file *file = os_file_open(path, err);

	if (!file) {
		return false;
	}
	*input = (struct etl_input){ .size_bytes = os_file_size(file), .file = file };
	return true;
}

void etl_input_over(struct etl_input *input, const void *bytes, size_t size)
{
	*input = (struct etl_input){ .size_bytes = size, .memory = bytes };
}

void etl_input_close(struct etl_input *input)
{
	os_file_close(input->file);
	*input = (struct etl_input){ 0 };
}

bool etl_input_read(struct etl_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
		    struct error *err)
{
	if (input->file) {
		return os_file_read(input->file, offset, bytes, size, got, err);
	}
	if (offset >= input->size_bytes) {
		*got = 0;
		return true;
	}
	*got = size;
	if (size > input->size_bytes - offset) {
		*got = (size_t)(input->size_bytes - offset);
	}
	if (*got > 0) {
		memcpy(bytes, input->memory + offset, *got);
	}
	return true;
}
