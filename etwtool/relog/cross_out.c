/* SPDX-License-Identifier: MIT */
#include "etwtool/relog/anonymise.h"

#include <etw/manifest.h>

#include "base/guid.h"
#include "base/text.h"

/*
 * Attributes of the instrumentation manifest whose values are paths or links of its author. The
 * first character of each string occurs in it only once, so a failed match can restart at the
 * current character.
 */
static const char *const crossed_out[] = { "FileName=\"", "helpLink=\"" };

enum { CROSSED_OUT_COUNT = sizeof crossed_out / sizeof crossed_out[0] };

/* The state of the search for a value, between two chunks of a manifest. */
struct crossing {
	bool in_value;
	uint8_t matched[CROSSED_OUT_COUNT]; /* number of matched characters of each attribute */
};

static struct crossing crossing_load(uint64_t bits)
{
	struct crossing crossing = { .in_value = (bits & 1) != 0 };

	for (size_t i = 0; i < CROSSED_OUT_COUNT; i++) {
		crossing.matched[i] = (uint8_t)(bits >> 8 * (i + 1));
	}
	return crossing;
}

static uint64_t crossing_store(const struct crossing *crossing)
{
	uint64_t bits = crossing->in_value;

	for (size_t i = 0; i < CROSSED_OUT_COUNT; i++) {
		bits |= (uint64_t)crossing->matched[i] << 8 * (i + 1);
	}
	return bits;
}

/* Takes the next character and returns whether a value begins after it. */
static bool value_begins(struct crossing *crossing, char c)
{
	bool begins = false;

	for (size_t i = 0; i < CROSSED_OUT_COUNT; i++) {
		uint8_t *matched = &crossing->matched[i];

		*matched = c == crossed_out[i][*matched] ? *matched + 1 : c == crossed_out[i][0];
		if (crossed_out[i][*matched] == '\0') {
			*matched = 0;
			begins = true;
		}
	}
	return begins;
}

static bool is_of_a_word(char c)
{
	return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
	       (unsigned char)c >= 0x80;
}

unsigned cross_out_files(struct cross_out *cross_out, const struct etw_record *record,
			 const struct etw_manifest_chunk *chunk, char *xml)
{
	enum { MANIFESTS_MOST = 1 << 16 };
	uint64_t key = guid_hash(record->provider, hash_seed()) ^ hash_u64(record->process_id);
	uint64_t *state = cross_out->manifests.count < MANIFESTS_MOST ?
				  map_put(&cross_out->manifests, key, NULL) :
				  map_find(&cross_out->manifests, key);
	unsigned ended = 0;
	struct crossing crossing = crossing_load(state && chunk->number > 0 ? *state : 0);

	for (size_t i = 0; i < chunk->xml_size; i++) {
		if (!crossing.in_value) {
			crossing.in_value = value_begins(&crossing, xml[i]);
		} else if (xml[i] == '"') {
			crossing.in_value = false;
			ended++;
		} else if (is_of_a_word(xml[i])) {
			xml[i] = 'x';
		}
	}
	if (state) {
		*state = crossing_store(&crossing);
	}
	return ended;
}

void cross_out_done(struct cross_out *cross_out)
{
	map_done(&cross_out->manifests);
}
