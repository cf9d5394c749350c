/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets start from; fuzz_seeds.c writes it into files.
 *
 * A function fuzz_TARGET_seed() adds the seed with an index to an initialised payload, in the form
 * that the target takes, and sets *name, which is valid until the next call. It returns false after
 * the last seed.
 */
#ifndef SUPPORT_FUZZ_SEEDS_H
#define SUPPORT_FUZZ_SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>
#include <etw/record.h>

bool fuzz_events_seed(unsigned index, struct etw_payload *seed, const char **name);
/* Adds a record of a recording to a seed that has begun with its first byte. */
void fuzz_events_add(struct etw_payload *seed, const struct etw_record *record);

/* Schemas from outside, with payloads. */
bool fuzz_schema_seed(unsigned index, struct etw_payload *seed, const char **name);
/* What is announced to a live session. */
bool fuzz_inband_seed(unsigned index, struct etw_payload *seed, const char **name);
/* Arguments of command lines. */
bool fuzz_arguments_seed(unsigned index, struct etw_payload *seed, const char **name);
/* Requests, headers and web configurations. */
bool fuzz_http_seed(unsigned index, struct etw_payload *seed, const char **name);

/* ---- seeds that are files ---- */

struct fuzz_text {
	const char *name;
	const char *text;
};

/* Short manifests, which have every element and attribute somewhere. */
extern const struct fuzz_text fuzz_manifests[];
extern const size_t fuzz_manifest_count;

/* Collectors and configurations: every word of the language, right and wrong. */
extern const struct fuzz_text fuzz_yaml_snippets[];
extern const size_t fuzz_yaml_snippet_count;

struct archive_seed {
	const char *name;
	const uint8_t *bytes;
	size_t size;
};

extern const struct archive_seed archive_seeds[]; /* the last one has no name */

#endif
