/* SPDX-License-Identifier: MIT */
/*
 * Conditions on the payload of an event, which Windows checks before the event costs a buffer.
 */
#ifndef SOURCE_PAYLOAD_FILTER_H
#define SOURCE_PAYLOAD_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MAX_PAYLOAD_PREDICATES (tdh.h). */
enum { PAYLOAD_CONDITIONS_MAX = 8 };

/* As Windows numbers them: PAYLOAD_OPERATOR (tdh.h). Texts are compared without case. */
enum payload_operator {
	PAYLOAD_EQ = 0,
	PAYLOAD_NE = 1,
	PAYLOAD_LE = 2,
	PAYLOAD_GT = 3,
	PAYLOAD_LT = 4,
	PAYLOAD_GE = 5,
	PAYLOAD_BETWEEN = 6, /* both ends included */
	PAYLOAD_NOT_BETWEEN = 7,
	PAYLOAD_MODULO = 8,
	PAYLOAD_CONTAINS = 20,
	PAYLOAD_CONTAINS_NOT = 21,
	PAYLOAD_IS = 30,
	PAYLOAD_IS_NOT = 31,
};

struct payload_condition {
	char *field; /* owned, as is the value */
	enum payload_operator op;
	char *value; /* "7", "-7", "1,5" for a range, or a text */
};

/* What of one event is let in; other events of the provider are not concerned. */
struct payload_filter {
	uint16_t event; /* its id, of whatever version */
	bool any;       /* one condition is enough; else all must hold */
	struct payload_condition conditions[PAYLOAD_CONDITIONS_MAX];
	size_t condition_count;
};

void payload_filter_done(struct payload_filter *filter);

/* On failure (no memory) *to is to be freed all the same. */
bool payload_filter_copy(struct payload_filter *to, const struct payload_filter *from);

#endif
