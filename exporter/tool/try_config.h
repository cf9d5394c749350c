/* SPDX-License-Identifier: MIT */
/*
 * Tries a configuration on a recording: what each rule found there, and what would be exposed.
 */
#ifndef TOOL_TRY_CONFIG_H
#define TOOL_TRY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "decode/manifest/load.h"

struct try_options {
	const char *config; /* paths */
	const char *recording;
	uint8_t pointer_size;                   /* 0: as recorded */
	struct configured_manifests *manifests; /* those of the configuration are added */
	bool json;
};

/* Adds the report. False when the configuration is refused or the recording cannot be read. */
bool try_config(const struct try_options *options, struct text *out, struct error *err);

#endif
