/* SPDX-License-Identifier: MIT */
#include "etwtool/relog/relog.h"

#include <etw/kernel.h>
#include <etw/mirror.h>
#include <etw/stack_walk.h>

enum {
	/* Items with stacks and keys of stacks, docs/etl-format.md section 9. */
	STACK_ITEMS = 1 << ETW_EXTENDED_STACK32 | 1 << ETW_EXTENDED_STACK64 | 1 << 17 | 1 << 18,
};

bool relog_decision_needed(const struct relog_decision *decision)
{
	return decision->filtered || decision->drop_stacks || decision->merging ||
	       decision->changes;
}

/* Applies the assignments. *moved becomes the record with its new payload and the same items. */
static enum etw_mirror_action change(struct relog_decision *decision,
				     const struct etw_record *record,
				     struct etw_mirror_bytes *bytes, struct etw_record *moved)
{
	const struct etw_mirror_bytes before = *bytes;

	switch (relog_changes_apply(decision->changes, record, bytes, &decision->failure)) {
	case SET_FAILED:
		return ETW_MIRROR_STOP;
	case SET_SAME:
		return ETW_MIRROR_KEEP;
	case SET_CHANGED:
		break;
	}
	decision->changed++;
	if (etw_payload_is_whole(record, before.at, before.size)) {
		size_t header = before.size - record->payload_size;

		moved->payload = bytes->at + header;
		moved->payload_size = (uint32_t)(bytes->size - header);
	}
	return ETW_MIRROR_REPLACE;
}

enum etw_mirror_action relog_decide(void *context, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes)
{
	struct relog_decision *decision = context;
	bool stack = etw_is_stack_walk(record);
	bool describes = (decision->describe || decision->merging) &&
			 is_describing(&decision->describing, record);
	bool chosen = !decision->choosing ||
		      chosen_has(&decision->chosen, decision->before + record->index);
	enum etw_mirror_action action = ETW_MIRROR_KEEP;
	struct etw_record moved = *record;
	size_t size;

	decision->seen = record->index + 1;
	if (decision->drop_stacks && stack) {
		return ETW_MIRROR_DROP;
	}
	if (decision->merging && (describes || stack) &&
	    repeats_add(stack ? &decision->stacks : &decision->repeats, record)) {
		return ETW_MIRROR_DROP;
	}
	if (decision->filtered && !chosen && !(decision->describe && describes)) {
		return ETW_MIRROR_DROP;
	}
	if (decision->changes && chosen) {
		action = change(decision, record, bytes, &moved);
	}
	if (action != ETW_MIRROR_STOP && decision->drop_stacks && record->extended) {
		size = etw_strip_items(&moved, bytes->at, bytes->size, STACK_ITEMS,
				       decision->record);
		if (size > 0) {
			*bytes = (struct etw_mirror_bytes){ decision->record, size };
			return ETW_MIRROR_REPLACE;
		}
	}
	return action;
}

void relog_next_input(struct relog_decision *decision)
{
	/*
	 * An input counts at least one record, because relog_decide() does not get the logfile
	 * header of a later input.
	 */
	decision->before += decision->seen > 0 ? decision->seen : 1;
	decision->seen = 0;
	describing_done(&decision->describing);
	repeats_next_file(&decision->repeats);
	repeats_next_file(&decision->stacks);
}

void relog_decision_done(struct relog_decision *decision)
{
	chosen_done(&decision->chosen);
	describing_done(&decision->describing);
	repeats_done(&decision->repeats);
	repeats_done(&decision->stacks);
}
