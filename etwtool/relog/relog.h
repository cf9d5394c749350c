/* SPDX-License-Identifier: MIT */
/*
 * What etwtool relog makes of records.
 */
#ifndef ETWTOOL_RELOG_RELOG_H
#define ETWTOOL_RELOG_RELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etwtool/event_filter.h"
#include "etwtool/relog/relog_changes.h"
#include "etwtool/relog/set_fields.h"
#include "etwtool/relog/split.h"
#include "etwtool/tool.h"
#include "exporter/track/describing.h"
#include "exporter/track/repeats.h"
#include "lib/etl/chosen.h"
#include "lib/etl/mirror.h"

struct relog_request {
	struct tool_arguments arguments; /* first */
	struct event_filter filter;
	const char *output;
	bool compress;
	uint8_t threads; /* that compress; 0: one for each processor */
	bool plain;
	bool drop_stacks;
	struct split_by split;
	bool exact; /* nothing is kept that the filter leaves out */
	struct set_fields set;
	struct added_files added;
	bool anonymise;
	bool keep_undescribed;
	const char *key_file; /* NULL: a random key */
};

/*
 * The decision about each record of the inputs, in file order. Zero-initialise it, then set what is
 * requested.
 */
struct relog_decision {
	bool choosing; /* a filter has filled `chosen` */
	bool filtered; /* only those chosen stay, and with `describe` those that describe others */
	bool describe;
	bool drop_stacks;
	bool merging; /* several inputs: what describes is kept once, not once an input */
	struct relog_changes *changes; /* of those chosen, or of all; borrowed; NULL: none */

	struct chosen chosen; /* of all inputs, one behind the other; owned, as is the rest */
	uint64_t before;      /* records, in the inputs before */
	uint64_t seen;        /* likewise, in the present one so far */
	struct describing describing;
	struct repeats repeats;   /* of describing records, when merging */
	uint64_t changed;         /* records, by assignments */
	struct etw_error failure; /* of the last ETW_MIRROR_STOP */
	uint8_t record[UINT16_MAX + 1];
};

bool relog_decision_needed(const struct relog_decision *decision);

/* An etw_mirror_decide(). It stops the copy when a value does not fit; `failure` says which. */
enum etw_mirror_action relog_decide(void *decision, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes);

/* After an input. */
void relog_next_input(struct relog_decision *decision);

void relog_decision_done(struct relog_decision *decision);

#endif
