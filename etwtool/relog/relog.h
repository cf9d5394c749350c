/* SPDX-License-Identifier: MIT */
/* The decisions of etwtool relog about records. */
#ifndef ETWTOOL_RELOG_RELOG_H
#define ETWTOOL_RELOG_RELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/chosen.h"
#include "etwtool/event_filter.h"
#include "etwtool/relog/relog_changes.h"
#include "etwtool/relog/set_fields.h"
#include "etwtool/relog/split.h"
#include "etwtool/tool.h"
#include "exporter/track/describing.h"
#include "exporter/track/repeats.h"

struct relog_request {
	struct tool_arguments arguments; /* must be the first member */
	struct event_filter filter;
	const char *output;
	bool compress;
	uint8_t threads; /* threads that compress; 0: one for each processor */
	bool plain;
	bool drop_stacks;
	struct split_by split;
	bool exact; /* keep nothing that the filter leaves out */
	struct set_fields set;
	struct added_files added;
	bool anonymise;
	bool keep_undescribed;
	const char *key_file; /* NULL: a random key */
};

/*
 * The state of the decisions about each record of the inputs, in file order. Zero-initialise it,
 * then set what is requested.
 */
struct relog_decision {
	bool choosing; /* a filter has filled `chosen` */
	/* Only chosen records stay, and with `describe` those that describe others. */
	bool filtered;
	bool describe;
	bool drop_stacks;
	/*
	 * There are several inputs: equal describing records are kept once, not once for each
	 * input.
	 */
	bool merging;
	/* Changes of the chosen records, or of all; borrowed; NULL: none. */
	struct relog_changes *changes;

	/* For all inputs, one after the other. Owned, as are the members below. */
	struct chosen chosen;
	uint64_t before; /* number of records in earlier inputs */
	uint64_t seen;   /* number of records seen in the present input */
	struct describing describing;
	struct repeats repeats;   /* finds repeated describing records, when merging */
	struct repeats stacks;    /* finds repeated StackWalk records, when merging */
	uint64_t changed;         /* number of records that assignments changed */
	struct etw_error failure; /* cause of the last ETW_MIRROR_STOP */
	uint8_t record[UINT16_MAX + 1];
};

bool relog_decision_needed(const struct relog_decision *decision);

/*
 * An etw_mirror_decide(). It stops the copy when a value does not fit; `failure` then says which.
 */
enum etw_mirror_action relog_decide(void *decision, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes);

/* Call it after each input. */
void relog_next_input(struct relog_decision *decision);

void relog_decision_done(struct relog_decision *decision);

#endif
