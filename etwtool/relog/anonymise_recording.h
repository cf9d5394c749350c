/* SPDX-License-Identifier: MIT */
/*
 * Writes a recording again without the names in it.
 */
#ifndef ETWTOOL_RELOG_ANONYMISE_RECORDING_H
#define ETWTOOL_RELOG_ANONYMISE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/recording.h>

#include "base/error.h"
#include "etwtool/relog/anonymise.h"

struct anonymise_request {
	struct anonymise_options options;
	/* Layouts in addition to those of the recording and of the kernel; borrowed. */
	const struct etw_configured_manifests *manifests;
	const char *output;
	/* Gets the result, opened with this pointer size, if that is a temporary file beside the
	 * output; NULL: it is the output. */
	struct etw_file **file;
	uint8_t pointer_size;
	struct etw_mirror_form form;
	void *context;
	/* Called after each buffer, in both passes over the input; may be NULL. */
	void (*on_buffer)(void *context, uint64_t bytes_read);
};

struct anonymise_result {
	struct anonymise_counts replaced;
	struct etw_mirror_counts written;
	struct etw_damage damage; /* damage of the input */
};

/*
 * Writes the output. Every buffer is built anew, from whole records. Returns false if the input
 * cannot be read or the output cannot be written; then there is no output file. The error contains
 * the path of the output if writing failed.
 */
bool anonymise_recording(struct etw_file *input, const struct anonymise_request *request,
			 struct anonymise_result *result, struct etw_error *err);

#endif
