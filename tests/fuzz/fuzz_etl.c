/* SPDX-License-Identifier: MIT */
/*
 * Any bytes at all as a recording: both passes, the single pass, with limits small enough to be
 * reached.
 *
 * Every pass must deliver the same records; the sink reads all that a record points to. A scan that
 * starts at any buffer must find the same ones behind it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct touched {
	uint64_t records;
	uint64_t sum;
};

static void touch(void *context, const struct etw_record *record)
{
	struct touched *touched = context;
	struct etw_extended_item item;
	uint32_t offset = 0;
	uint64_t sum = record->index ^ (uint64_t)record->time ^ record->keyword;

	for (size_t i = 0; i < sizeof record->provider->bytes; i++) {
		sum += record->provider->bytes[i];
		sum += record->activity ? record->activity->bytes[i] : 0;
	}
	for (uint32_t i = 0; i < record->payload_size; i++) {
		sum += record->payload[i];
	}
	while (etw_record_next_extended(record, &offset, &item)) {
		for (uint16_t i = 0; i < item.size; i++) {
			sum += item.data[i];
		}
	}
	if (record->pointer_size != 4 && record->pointer_size != 8) {
		abort();
	}
	touched->records++;
	touched->sum += sum;
}

static void must(bool condition)
{
	if (!condition) {
		abort();
	}
}

enum { PLACES_MOST = 64 };

/* The places of the first buffers from an offset on. */
static unsigned list_buffers(struct etw_file *file, uint64_t offset,
			     struct etl_place places[PLACES_MOST])
{
	struct etw_damage damage = { 0 };
	struct etw_error err = { 0 };
	struct etl_buffer buffer;
	struct etl_scan scan;
	enum etl_step step = ETL_STEP_BUFFER;
	unsigned count = 0;

	etl_file_scan(file, &scan, &damage, offset, 0);
	while (count < PLACES_MOST &&
	       (step = etl_scan_next(&scan, &buffer, &err)) == ETL_STEP_BUFFER) {
		places[count++] = buffer.place;
	}
	etl_scan_done(&scan);
	must(step != ETL_STEP_FAILED && damage.gap_bytes <= damage.bad_bytes);
	must(damage.bad_bytes <= file->input.size_bytes);
	return count;
}

/* which: the buffer where another scan starts */
static void compare_scans(struct etw_file *file, unsigned which)
{
	struct etl_place all[PLACES_MOST], rest[PLACES_MOST];
	unsigned count = list_buffers(file, 0, all), first = count > 0 ? which % count : 0;
	unsigned rest_count = count > 0 ? list_buffers(file, all[first].offset, rest) : 0;

	must(rest_count >= count - first);
	for (unsigned i = first; i < count; i++) {
		must(rest[i - first].offset == all[i].offset);
		must(rest[i - first].disk_size == all[i].disk_size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct touched looked = { 0 };
	struct touched delivered = { 0 };
	struct touched streamed = { 0 };
	struct etw_visitor look = { .record_context = &looked, .on_record = touch };
	struct etw_visitor deliver = { .record_context = &delivered, .on_record = touch };
	struct etw_visitor stream = { .record_context = &streamed, .on_record = touch };
	/* The last byte varies the limits. */
	unsigned limits = size ? data[size - 1] : 0;
	struct etl_index index = {
		.entries_max = limits & 1 ? 3 : ETL_INDEX_MAX,
		.keep_bytes = limits & 2 ? 2000 : ETL_KEEP_MAX,
	};
	struct etw_problems problems = { 0 };
	struct etw_damage damage = { .problems = &problems };
	struct etl_progress progress = { 0 };
	struct etw_error err = { 0 };
	struct etw_file *file = etw_file_over(data, size, limits & 4 ? 8 : 0, &err);

	if (!file) {
		must(err.code != ETW_ERROR_NONE);
		return 0;
	}
	must(etl_index_build(&index, file, &damage, &look, &err));
	must(etl_order_run(file, &index, limits & 8 ? 5000 : ETL_OPEN_MAX, &progress, &deliver,
			   &err));
	must(limits & 8 || index.entries_max == 3 || progress.late_records == 0);
	compare_scans(file, limits >> 4);
	must(etl_order_stream(file, 10000, &damage, &progress, &stream, &err));
	must(looked.records == delivered.records && looked.sum == delivered.sum);
	must(looked.records == streamed.records && looked.sum == streamed.sum);
	etl_index_done(&index);
	etw_problems_done(&problems);
	etw_file_close(file);
	return 0;
}
