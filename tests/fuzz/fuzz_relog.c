/* SPDX-License-Identifier: MIT */
/*
 * Any bytes at all as a recording that is written again: what was read is what is written is what
 * is read.
 *
 * The last byte says in which form, and what becomes of the records: all stay, some are left out,
 * some are replaced by a copy of themselves. The result must have no damage, except for extended
 * items, which are copied as they are; it must have the records that stayed, in the same order, and
 * a mirror of it must have the same bytes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition) {
		abort();
	}
}

/* ---- what is read ---- */

struct read {
	uint64_t seed; /* of the choice of records */
	bool all;
	uint64_t records;
	uint64_t sum; /* of those that are chosen; depends on their order */
};

/* Any choice will do that depends on nothing but the record's place among all. */
static bool is_left_out(uint64_t seed, uint64_t index)
{
	return index > 0 && (index * UINT64_C(0x9e3779b97f4a7c15) + seed) >> 62 == 0;
}

static void add(struct read *read, uint64_t value)
{
	read->sum = (read->sum ^ value) * UINT64_C(0x100000001b3);
}

static void see(void *context, const struct etw_record *record)
{
	struct read *read = context;

	if (!read->all && is_left_out(read->seed, record->index)) {
		return;
	}
	read->records++;
	if (record->index == 0) {
		return; /* its count of buffers and its mode change */
	}
	add(read, (uint64_t)record->raw_time);
	add(read, (uint64_t)record->time);
	add(read, record->keyword);
	add(read, (uint64_t)record->type << 32 | record->processor);
	add(read, (uint64_t)record->id << 32 | (uint64_t)record->opcode << 8 | record->version);
	for (uint32_t i = 0; i < record->payload_size; i++) {
		add(read, record->payload[i]);
	}
	for (uint32_t i = 0; i < record->extended_size; i++) {
		add(read, record->extended[i]);
	}
}

/* In file order, then in time order. */
static void read_both(const uint8_t *bytes, size_t size, struct read read[2],
		      struct etw_damage *damage)
{
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_over(bytes, size, 0, &err);
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = ETL_KEEP_MAX };
	struct etw_visitor look = { .record_context = &read[0], .on_record = see };
	struct etw_visitor deliver = { .record_context = &read[1], .on_record = see };
	struct etl_progress progress = { 0 };

	must(file != NULL);
	must(etl_index_build(&index, file, damage, &look, &err));
	must(etl_order_run(file, &index, ETL_OPEN_MAX, &progress, &deliver, &err));
	etl_index_done(&index);
	etw_file_close(file);
}

/* ---- what is written ---- */

struct decision {
	uint64_t seed;
	bool replace;
	uint8_t copy[UINT16_MAX + 1];
};

static enum etw_mirror_action decide(void *context, const struct etw_record *record,
				     struct etw_mirror_bytes *bytes)
{
	struct decision *decision = context;

	if (is_left_out(decision->seed, record->index)) {
		return ETW_MIRROR_DROP;
	}
	if (!decision->replace || record->index % 3 != 1) {
		return ETW_MIRROR_KEEP;
	}
	must(bytes->size <= sizeof decision->copy);
	memcpy(decision->copy, bytes->at, bytes->size);
	bytes->at = decision->copy;
	return ETW_MIRROR_REPLACE;
}

static struct etw_mirror *mirror(const uint8_t *bytes, size_t size, enum etw_packing packing,
				 const struct etw_mirror_visitor *visitor, struct etw_file **file)
{
	struct etw_error err = { 0 };
	struct etw_damage damage = { 0 };
	struct etw_mirror *mirror;

	*file = etw_file_over(bytes, size, 0, &err);
	must(*file != NULL);
	mirror = etw_mirror_open(NULL, (struct etw_mirror_form){ packing, 0 }, file, 1, &err);
	must(mirror != NULL);
	must(etw_mirror_copy(mirror, *file, visitor, &damage, &err));
	must(etw_mirror_finish(mirror, &err));
	return mirror;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct decision decision;
	unsigned choice = size ? data[size - 1] : 0;
	enum etw_packing packing = (enum etw_packing)(choice % 3);
	const struct etw_mirror_visitor visitor = { .context = &decision,
						    .decide = choice & 4 ? decide : NULL };
	const struct etw_mirror_visitor all = { 0 };
	struct read before[2] = { 0 }, after[2] = { 0 };
	struct etw_damage damage = { 0 }, rest = { 0 };
	struct etw_file *file = etw_file_over(data, size, 0, NULL), *second_file;
	struct etw_mirror *first, *second;
	const uint8_t *bytes, *again;
	size_t bytes_size, again_size;

	if (!file) {
		return 0;
	}
	etw_file_close(file);
	decision.seed = (uint64_t)choice << 56;
	decision.replace = choice & 8;
	for (unsigned i = 0; i < 2; i++) {
		before[i] = (struct read){ .seed = decision.seed, .all = !visitor.decide };
		after[i].all = true;
	}
	read_both(data, size, before, &damage);
	first = mirror(data, size, packing, &visitor, &file);
	bytes = etw_mirror_bytes(first, &bytes_size);
	read_both(bytes, bytes_size, after, &rest);
	for (unsigned i = 0; i < 2; i++) {
		must(before[i].records == after[i].records);
		/* Small buffers are joined; that keeps the order of time only. */
		must(before[i].sum == after[i].sum || (i == 0 && visitor.decide));
	}
	must(!rest.truncated && rest.bad_buffers == 0 && rest.bad_records <= damage.bad_records);

	second = mirror(bytes, bytes_size, ETW_AS_READ, &all, &second_file);
	again = etw_mirror_bytes(second, &again_size);
	must(again_size == bytes_size && memcmp(again, bytes, bytes_size) == 0);
	etw_mirror_close(second);
	etw_file_close(second_file);
	etw_mirror_close(first);
	etw_file_close(file);
	return 0;
}
