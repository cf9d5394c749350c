/* SPDX-License-Identifier: MIT */
/*
 * Counts the events of a recording by class, opcode, version, type of header and size of payload.
 *
 * Events with the same five are one row, which a hash table finds: a recording of five seconds may
 * have millions of events. The number of rows is bounded, because sizes of payloads are not; events
 * beyond it are counted together.
 *
 * Offsets are those of the layouts in lib/decode/kernel_classes.txt: an image begins with its base
 * and its size, which are pointers, and its process; an event of a deferred procedure call or an
 * interrupt begins with its start, a time, and the routine.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/recording.h>
#include <etw/source.h>

#include "base/guid.h"
#include "selftest/kit_etw.h"

enum { SLOTS = 8192, ROWS_MOST = 6144, TIME_SIZE = 8, HOUR_S = 3600 };

struct kernel_row {
	struct etw_guid class;
	uint8_t opcode, version, pointer_size;
	enum etw_record_type type;
	uint32_t payload_size;
	uint64_t records; /* 0: the slot is free */
	uint64_t with_process, with_thread;
	uint64_t addresses, zero_addresses;
	uint64_t wrong_starts; /* of calls of minifilters: not within the hour before the end */
};

struct kit_kernel {
	struct kernel_row rows[SLOTS];
	size_t row_count;
	uint64_t records, unlisted;
	uint64_t hour_ticks;
};

/* ---- reading ---- */

static size_t slot_of(const struct etw_record *record)
{
	uint64_t hash = record->class_key * UINT64_C(0x9e3779b97f4a7c15) + record->payload_size;

	hash ^= etw_load_u64(record->provider->bytes);
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32) % SLOTS;
}

static bool is_of_row(const struct kernel_row *row, const struct etw_record *record)
{
	return row->opcode == record->opcode && row->version == record->version &&
	       row->type == (enum etw_record_type)record->type &&
	       row->payload_size == record->payload_size &&
	       row->pointer_size == record->pointer_size &&
	       etw_guid_equal(&row->class, record->provider);
}

/* Returns the row of a record; NULL if there is none and no room for another one. */
static struct kernel_row *row_of(struct kit_kernel *kernel, const struct etw_record *record)
{
	size_t slot = slot_of(record);

	while (kernel->rows[slot].records > 0) {
		if (is_of_row(&kernel->rows[slot], record)) {
			return &kernel->rows[slot];
		}
		slot = (slot + 1) % SLOTS;
	}
	if (kernel->row_count == ROWS_MOST) {
		return NULL;
	}
	kernel->row_count++;
	kernel->rows[slot] = (struct kernel_row){
		.class = *record->provider,
		.opcode = record->opcode,
		.version = record->version,
		.pointer_size = record->pointer_size,
		.type = (enum etw_record_type)record->type,
		.payload_size = record->payload_size,
	};
	return &kernel->rows[slot];
}

/* Reads a pointer of the payload. Returns false if the payload ends before it. */
static bool pointer_at(const struct etw_record *record, uint32_t offset, uint64_t *pointer)
{
	if (record->payload_size < offset + record->pointer_size) {
		return false;
	}
	*pointer = record->pointer_size == 8 ? etw_load_u64(record->payload + offset) :
					       etw_load_u32(record->payload + offset);
	return true;
}

/* Returns whether the image is one of the kernel: those of programs have addresses of programs. */
static bool is_driver(const struct etw_record *record)
{
	uint32_t offset = 2U * record->pointer_size;

	return record->payload_size >= offset + 4 && etw_load_u32(record->payload + offset) == 0;
}

static void count_address(struct kernel_row *row, const struct etw_record *record)
{
	enum { ISR_MSI = 50, THREADED_DPC = 66, TIMER_DPC = 69 };
	enum etw_kernel_class class = etw_kernel_class_of(record->provider);
	uint64_t address = 0;
	bool found = false;

	if (class == ETW_KERNEL_PERF_INFO &&
	    (record->opcode == ISR_MSI ||
	     (record->opcode >= THREADED_DPC && record->opcode <= TIMER_DPC))) {
		found = pointer_at(record, TIME_SIZE, &address);
	} else if (class == ETW_KERNEL_IMAGE && is_driver(record)) {
		found = pointer_at(record, 0, &address);
	}
	row->addresses += found;
	row->zero_addresses += found && address == 0;
}

static bool is_filter_completion(const struct etw_record *record)
{
	enum { PRE_OP_COMPLETION = 98, POST_OP_COMPLETION = 99 };

	return etw_kernel_class_of(record->provider) == ETW_KERNEL_FILE_IO &&
	       (record->opcode == PRE_OP_COMPLETION || record->opcode == POST_OP_COMPLETION);
}

static void on_event(void *context, const struct etw_record *record)
{
	struct kit_kernel *kernel = context;
	struct kernel_row *row = row_of(kernel, record);

	kernel->records++;
	if (!row) {
		kernel->unlisted++;
		return;
	}
	row->records++;
	row->with_process += record->process_id != ETW_RECORD_NO_ID;
	row->with_thread += record->thread_id != ETW_RECORD_NO_ID;
	count_address(row, record);
	if (is_filter_completion(record) && record->payload_size >= TIME_SIZE) {
		uint64_t start = etw_load_u64(record->payload);
		uint64_t end = (uint64_t)record->raw_time;

		/* 0: the call began before the group was enabled. */
		row->wrong_starts += start != 0 &&
				     (start > end || end - start > kernel->hour_ticks);
	}
}

struct kit_kernel *kit_kernel_read(const char *path, struct etw_error *err)
{
	const struct etw_source_file_options options = { .single_pass = true };
	struct kit_kernel *kernel = calloc(1, sizeof *kernel);
	const struct etw_event_sink sink = { .context = kernel, .on_event = on_event };
	struct etw_source *source = NULL;

	if (!kernel) {
		error_no_memory(err, "the counts of kernel events");
		return NULL;
	}
	source = etw_source_open_file(path, &options, err);
	if (source) {
		kernel->hour_ticks = etw_source_facts(source)->clock.frequency * HOUR_S;
	}
	if (!source || !etw_source_run(source, &sink, err)) {
		etw_source_close(source);
		free(kernel);
		return NULL;
	}
	etw_source_close(source);
	return kernel;
}

void kit_kernel_free(struct kit_kernel *kernel)
{
	free(kernel);
}

uint64_t kit_kernel_records(const struct kit_kernel *kernel)
{
	return kernel->records;
}

/* ---- the table ---- */

/* A row of the table in its order. */
struct sorted_row {
	const struct kernel_row *row;
};

static int compare_rows(const void *a, const void *b)
{
	const struct kernel_row *x = ((const struct sorted_row *)a)->row;
	const struct kernel_row *y = ((const struct sorted_row *)b)->row;
	int by_class = memcmp(&x->class, &y->class, sizeof x->class);

	if (by_class != 0) {
		return by_class;
	}
	if (x->opcode != y->opcode) {
		return x->opcode < y->opcode ? -1 : 1;
	}
	if (x->version != y->version) {
		return x->version < y->version ? -1 : 1;
	}
	return x->payload_size < y->payload_size ? -1 : x->payload_size > y->payload_size;
}

static void add_row(struct etw_text *csv, const struct kernel_row *row)
{
	const char *class = etw_kernel_class_name(&row->class);
	const char *event = etw_kernel_event_name(&row->class, row->opcode);
	char guid[GUID_TEXT_SIZE];

	guid_format(&row->class, guid);
	text_add_format(csv,
			"%s,%s,%s,%u,%u,%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 "\n",
			guid, class ? class : "", event ? event : "", row->opcode, row->version,
			etw_record_type_name(row->type), row->payload_size, row->records,
			row->with_process, row->with_thread, row->addresses, row->zero_addresses);
}

void kit_kernel_table(const struct kit_kernel *kernel, struct etw_text *csv)
{
	struct sorted_row *sorted = calloc(kernel->row_count + 1, sizeof *sorted);
	size_t count = 0;

	text_add_string(csv, "guid,class,event,opcode,version,header,payload_size,records,"
			     "with_process,with_thread,addresses,zero_addresses\n");
	for (size_t i = 0; sorted && i < SLOTS; i++) {
		if (kernel->rows[i].records > 0) {
			sorted[count++].row = &kernel->rows[i];
		}
	}
	if (count > 0) {
		qsort(sorted, count, sizeof *sorted, compare_rows);
	}
	for (size_t i = 0; i < count; i++) {
		add_row(csv, sorted[i].row);
	}
	if (kernel->unlisted > 0) {
		text_add_format(csv, ",,others,,,,,%" PRIu64 ",,,,\n", kernel->unlisted);
	}
	free(sorted);
}

/* ---- answers ---- */

/* Adds the rows of a class whose opcode is in a range. */
static struct kernel_row sum_of(const struct kit_kernel *kernel, enum etw_kernel_class class,
				uint8_t first, uint8_t last)
{
	struct kernel_row sum = { .records = 0 };

	for (size_t i = 0; i < SLOTS; i++) {
		const struct kernel_row *row = &kernel->rows[i];

		if (row->records > 0 && row->opcode >= first && row->opcode <= last &&
		    etw_kernel_class_of(&row->class) == class) {
			sum.records += row->records;
			sum.with_process += row->with_process;
			sum.with_thread += row->with_thread;
			sum.addresses += row->addresses;
			sum.zero_addresses += row->zero_addresses;
			sum.wrong_starts += row->wrong_starts;
		}
	}
	return sum;
}

void kit_kernel_lines(const struct kit_kernel *kernel, struct etw_text *out)
{
	enum { TRANSITION = 10, LAST_FAULT = 15 };
	const struct kernel_row faults =
		sum_of(kernel, ETW_KERNEL_PAGE_FAULT, TRANSITION, LAST_FAULT);
	const char *before = "Context switches:";

	for (size_t i = 0; i < SLOTS; i++) {
		const struct kernel_row *row = &kernel->rows[i];

		if (row->records > 0 && row->opcode == ETW_KERNEL_OPCODE_THREAD_CSWITCH &&
		    etw_kernel_class_of(&row->class) == ETW_KERNEL_THREAD) {
			text_add_format(out, "%s version %u with %" PRIu32 " bytes", before,
					row->version, row->payload_size);
			before = ",";
		}
	}
	text_add_string(out, *before == ',' ? "\n" : "");
	if (faults.records > 0) {
		text_add_format(out,
				"Page faults (10 to 15): %" PRIu64
				", with a thread in their header: %" PRIu64 "\n",
				faults.records, faults.with_thread);
	}
}

/* Says what was seen, and sets the state. */
static void answer(struct kit_finding *finding, uint64_t records, bool holds)
{
	finding->state = records == 0 ? KIT_NOT_TESTED : holds ? KIT_CONFIRMED : KIT_REFUTED;
}

void recorded_addresses(const struct kit_kernel *kernel, struct kit_finding *finding)
{
	const struct kernel_row images = sum_of(kernel, ETW_KERNEL_IMAGE, 0, UINT8_MAX);
	const struct kernel_row calls = sum_of(kernel, ETW_KERNEL_PERF_INFO, 0, UINT8_MAX);

	text_add_format(&finding->seen,
			"address 0 in %" PRIu64 " of %" PRIu64 " images of drivers, %" PRIu64
			" of %" PRIu64 " routines",
			images.zero_addresses, images.addresses, calls.zero_addresses,
			calls.addresses);
	answer(finding, images.addresses + calls.addresses,
	       images.zero_addresses + calls.zero_addresses == 0);
}

void recorded_filter_calls(const struct kit_kernel *kernel, struct kit_finding *finding)
{
	const struct kernel_row calls = sum_of(kernel, ETW_KERNEL_FILE_IO,
					       ETW_KERNEL_OPCODE_FILE_IO_FLT_PRE_OP_INIT,
					       ETW_KERNEL_OPCODE_FILE_IO_FLT_POST_OP_FAILURE);

	text_add_format(&finding->seen,
			"%" PRIu64 " events of minifilters, %" PRIu64
			" with a thread in their header, %" PRIu64
			" with a start that is not in the session's clock",
			calls.records, calls.with_thread, calls.wrong_starts);
	answer(finding, calls.records,
	       calls.with_thread == calls.records && calls.wrong_starts == 0);
}

void recorded_filter_requests(const struct kit_kernel *kernel, struct kit_finding *finding)
{
	enum { READ_WRITE = 44, INFO = 40 };
	uint64_t records = 0, other_sizes = 0;

	for (size_t i = 0; i < SLOTS; i++) {
		const struct kernel_row *row = &kernel->rows[i];

		if (row->records > 0 && row->opcode >= ETW_KERNEL_OPCODE_FILE_IO_FLT_READ &&
		    row->opcode <= ETW_KERNEL_OPCODE_FILE_IO_FLT_QUERY_INFO &&
		    etw_kernel_class_of(&row->class) == ETW_KERNEL_FILE_IO) {
			records += row->records;
			other_sizes += row->payload_size != READ_WRITE &&
						       row->payload_size != INFO ?
					       row->records :
					       0;
		}
	}
	text_add_format(&finding->seen,
			"%" PRIu64 " requests of minifilters, %" PRIu64
			" with another size than 44 and 40 bytes",
			records, other_sizes);
	answer(finding, records, other_sizes == 0);
}
