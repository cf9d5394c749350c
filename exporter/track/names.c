/* SPDX-License-Identifier: MIT */
/*
 * Names of processes as label values.
 */
#include "track/names.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"

enum { PROBES = 32 }; /* names of one hash; by chance there are never so many */

struct names {
	struct registry *registry; /* borrowed */
	/* hash of the name in lower case, or one of the numbers after it -> label id */
	struct map by_hash;
	size_t most;
	bool lower_case;
};

struct names *names_new(struct registry *registry, size_t most, bool lower_case, struct error *err)
{
	struct names *names = calloc(1, sizeof *names);

	if (!names) {
		error_no_memory(err, "the names of processes");
		return NULL;
	}
	names->registry = registry;
	names->most = most;
	names->lower_case = lower_case;
	return names;
}

void names_free(struct names *names)
{
	if (names) {
		map_done(&names->by_hash);
		free(names);
	}
}

static uint32_t add_label(struct names *names, const char *name, size_t size)
{
	struct intern *strings = registry_strings(names->registry);
	uint32_t label;

	if (names->lower_case) {
		struct text lowered = { 0 };

		for (size_t i = 0; i < size; i++) {
			text_add_char(&lowered, ascii_lower(name[i]));
		}
		label = lowered.failed ? INTERN_FULL :
					 intern_add(strings, lowered.data, lowered.size);
		text_free(&lowered);
	} else {
		label = intern_add(strings, name, size);
	}
	return label;
}

uint32_t names_label(struct names *names, const char *image, size_t size)
{
	uint64_t hash;
	uint64_t *slot = NULL;
	uint32_t label;

	if (size == 0) {
		return INTERN_NONE;
	}
	if (text_ends_nocase(image, size, ".exe", 4)) {
		size -= 4;
	}
	if (size == 0) {
		return registry_unknown(names->registry);
	}
	hash = text_hash_nocase(image, size, hash_seed());
	for (unsigned probe = 0; probe < PROBES; probe++, hash++) {
		size_t known_size;
		const char *known;

		slot = map_find(&names->by_hash, hash);
		if (!slot) {
			break;
		}
		known = intern_text(registry_strings(names->registry), (uint32_t)*slot,
				    &known_size);
		if (text_equal_nocase(known, known_size, image, size)) {
			return (uint32_t)*slot;
		}
	}
	label = slot || names->by_hash.count >= names->most ? INTERN_FULL :
							      add_label(names, image, size);
	if (label != INTERN_FULL) {
		slot = map_put(&names->by_hash, hash, NULL);
		if (slot) {
			*slot = label;
			return label;
		}
	}
	return registry_other(names->registry);
}
