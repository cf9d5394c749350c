/* SPDX-License-Identifier: MIT */
/*
 * Decides about records.
 *
 * Recordings that are merged often are parts of one (etwtool relog --split, or two filters), and
 * each part has the records that describe the others. The merged recording is to have each of them
 * once: the n-th record with the same bytes in an input stays only if no input before had n of
 * them. So what an input repeats by itself stays repeated.
 */
#include "tool/relog.h"

#include "base/text.h"
#include "decode/kernel_class.h"
#include "etl/replace_payload.h"
#include "etl/strip_items.h"

enum {
	/* Of different describing records that are compared between inputs; more are kept. */
	COMPARED_MOST = 1 << 20,
	/* docs/etl-format.md section 9: stacks and the keys of stacks. */
	STACK_ITEMS = 1 << EXTENDED_STACK32 | 1 << EXTENDED_STACK64 | 1 << 17 | 1 << 18,
};

bool relog_decision_needed(const struct relog_decision *decision)
{
	return decision->filtered || decision->drop_stacks || decision->merging ||
	       decision->changes;
}

/* Whether an earlier input had this record, counted. */
static bool is_repeated(struct relog_decision *decision, const struct event_record *record,
			const struct etl_mirror_bytes *bytes)
{
	uint64_t hash = text_hash((const char *)bytes->at, bytes->size, hash_seed()) ^
			hash_u64((uint64_t)record->processor + 1);
	const uint64_t *before = map_find(&decision->earlier, hash);
	uint64_t *now = decision->present.count < COMPARED_MOST ?
				map_put(&decision->present, hash, NULL) :
				map_find(&decision->present, hash);

	return now && ++*now <= (before ? *before : 0);
}

/* Applies the assignments. *moved: the record with its new payload; its items are the same. */
static enum etl_mirror_action change(struct relog_decision *decision,
				     const struct event_record *record,
				     struct etl_mirror_bytes *bytes, struct event_record *moved)
{
	const struct etl_mirror_bytes before = *bytes;

	switch (relog_changes_apply(decision->changes, record, bytes, &decision->failure)) {
	case SET_FAILED:
		return ETL_MIRROR_STOP;
	case SET_SAME:
		return ETL_MIRROR_KEEP;
	case SET_CHANGED:
		break;
	}
	decision->changed++;
	if (etl_payload_is_whole(record, before.at, before.size)) {
		size_t header = before.size - record->payload_size;

		moved->payload = bytes->at + header;
		moved->payload_size = (uint32_t)(bytes->size - header);
	}
	return ETL_MIRROR_REPLACE;
}

enum etl_mirror_action relog_decide(void *context, const struct event_record *record,
				    struct etl_mirror_bytes *bytes)
{
	struct relog_decision *decision = context;
	bool describes = (decision->describe || decision->merging) &&
			 is_describing(&decision->describing, record);
	bool chosen = !decision->choosing || chosen_has(&decision->chosen, record->index);
	enum etl_mirror_action action = ETL_MIRROR_KEEP;
	struct event_record moved = *record;
	size_t size;

	if (decision->merging && describes && is_repeated(decision, record, bytes)) {
		return ETL_MIRROR_DROP;
	}
	if (decision->drop_stacks && kernel_class_of(record->provider) == KERNEL_STACK_WALK) {
		return ETL_MIRROR_DROP;
	}
	if (decision->filtered && !chosen && !(decision->describe && describes)) {
		return ETL_MIRROR_DROP;
	}
	if (decision->changes && chosen) {
		action = change(decision, record, bytes, &moved);
	}
	if (action != ETL_MIRROR_STOP && decision->drop_stacks && record->extended) {
		size = etl_strip_items(&moved, bytes->at, bytes->size, STACK_ITEMS,
				       decision->record);
		if (size > 0) {
			*bytes = (struct etl_mirror_bytes){ decision->record, size };
			return ETL_MIRROR_REPLACE;
		}
	}
	return action;
}

void relog_next_input(struct relog_decision *decision)
{
	const struct map_slot *slot;
	size_t at = 0;

	chosen_clear(&decision->chosen);
	describing_done(&decision->describing);
	while ((slot = map_next(&decision->present, &at)) != NULL) {
		uint64_t *before = decision->earlier.count < COMPARED_MOST ?
					   map_put(&decision->earlier, slot->key, NULL) :
					   map_find(&decision->earlier, slot->key);

		if (before && *before < slot->value) {
			*before = slot->value;
		}
	}
	map_done(&decision->present);
}

void relog_decision_done(struct relog_decision *decision)
{
	chosen_done(&decision->chosen);
	describing_done(&decision->describing);
	map_done(&decision->earlier);
	map_done(&decision->present);
}
