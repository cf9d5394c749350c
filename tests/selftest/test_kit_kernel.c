/* SPDX-License-Identifier: MIT */
/*
 * What the kit reads from a recording of kernel events: its table, and the answers to assumptions,
 * each confirmed, refuted and left open.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/mirror.h>

#include "selftest/kit_etw.h"
#include "tests/support/temporary.h"

enum { START_RAW = 1000000, NOW_RAW = 2000000 };

/* One record of the kernel; its payload is numbers of 64 bits. */
struct one {
	enum etw_record_type type;
	uint8_t group, opcode, version;
	uint32_t thread_id;
	uint64_t numbers[7];
	size_t payload_size;
};

static struct kit_kernel *read_of(const struct one *records, size_t count)
{
	char path[TEMPORARY_PATH_SIZE];
	const struct etw_writer_options options = { .start_raw = START_RAW };
	struct etw_writer *writer;
	struct kit_kernel *kernel;
	struct etw_error err = { 0 };

	temporary_path(path, "etl");
	writer = etw_writer_open(path, &options, NULL);
	assert_non_null(writer);
	for (size_t i = 0; i < count; i++) {
		etw_writer_add(writer,
			       &(struct etw_out_record){ .type = records[i].type,
							 .raw_time = NOW_RAW + (int64_t)i,
							 .process_id = records[i].thread_id,
							 .thread_id = records[i].thread_id,
							 .group = records[i].group,
							 .opcode = records[i].opcode,
							 .version = records[i].version,
							 .payload = records[i].numbers,
							 .payload_size = records[i].payload_size });
	}
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
	kernel = kit_kernel_read(path, &err);
	remove(path);
	assert_string_equal(err.text, "");
	assert_non_null(kernel);
	return kernel;
}

enum { FILE_IO = ETW_KERNEL_GROUP_FILE_IO, PERF = ETW_KERNEL_GROUP_PERF_INFO };

#define IMAGE(base, process)                                                                      \
	{                                                                                         \
		ETW_RECORD_SYSTEM, ETW_KERNEL_GROUP_IMAGE, 3, 3, 4, { base, 0x1000, process }, 56 \
	}
#define DPC(routine)                                                          \
	{                                                                     \
		ETW_RECORD_PERFINFO, PERF, 68, 2, 0, { NOW_RAW, routine }, 16 \
	}
#define CALL(type, start)                              \
	{                                              \
		type, FILE_IO, 99, 3, 8, { start }, 48 \
	}
#define REQUEST(size)                                             \
	{                                                         \
		ETW_RECORD_SYSTEM, FILE_IO, 83, 3, 8, { 0 }, size \
	}
#define DRIVER_AT UINT64_C(0xfffff80a10000000)

static void each_answer_can_be_yes_no_and_unknown(void **state)
{
	static const struct {
		void (*recorded)(const struct kit_kernel *kernel, struct kit_finding *finding);
		struct one records[2];
		enum kit_state expected;
	} cases[] = {
		{ recorded_addresses, { IMAGE(DRIVER_AT, 0), DPC(DRIVER_AT + 16) }, KIT_CONFIRMED },
		{ recorded_addresses, { IMAGE(0, 0), DPC(DRIVER_AT) }, KIT_REFUTED },
		{ recorded_addresses, { IMAGE(DRIVER_AT, 0), DPC(0) }, KIT_REFUTED },
		/* An image of a program, wherever it is, says nothing of drivers. */
		{ recorded_addresses, { IMAGE(0, 8), REQUEST(44) }, KIT_NOT_TESTED },
		{ recorded_filter_calls,
		  { CALL(ETW_RECORD_SYSTEM, START_RAW), CALL(ETW_RECORD_SYSTEM, 0) },
		  KIT_CONFIRMED },
		{ recorded_filter_calls,
		  { CALL(ETW_RECORD_SYSTEM, START_RAW), CALL(ETW_RECORD_PERFINFO, START_RAW) },
		  KIT_REFUTED },
		{ recorded_filter_calls,
		  { CALL(ETW_RECORD_SYSTEM, START_RAW), CALL(ETW_RECORD_SYSTEM, NOW_RAW * 2) },
		  KIT_REFUTED },
		{ recorded_filter_calls, { REQUEST(44), REQUEST(40) }, KIT_NOT_TESTED },
		{ recorded_filter_requests, { REQUEST(44), REQUEST(40) }, KIT_CONFIRMED },
		{ recorded_filter_requests, { REQUEST(44), REQUEST(52) }, KIT_REFUTED },
		{ recorded_filter_requests,
		  { IMAGE(DRIVER_AT, 0), DPC(DRIVER_AT) },
		  KIT_NOT_TESTED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct kit_kernel *kernel = read_of(cases[i].records, 2);
		struct kit_finding finding = { .state = KIT_NOT_TESTED };

		cases[i].recorded(kernel, &finding);
		if (finding.state != cases[i].expected) {
			print_message("case %zu: %s\n", i, finding.seen.data);
			fail();
		}
		text_free(&finding.seen);
		kit_kernel_free(kernel);
	}
}

static void the_table_tells_headers_and_sizes_apart(void **state)
{
	static const struct one records[] = {
		CALL(ETW_RECORD_SYSTEM, START_RAW),
		CALL(ETW_RECORD_SYSTEM, START_RAW),
		CALL(ETW_RECORD_PERFINFO, START_RAW),
		REQUEST(44),
		REQUEST(52),
		DPC(0),
	};
	static const char *const lines[] = {
		"class,event,opcode,version,header,payload_size,records,with_process,with_thread,",
		",FileIo,FltPostOpCompletion,99,3,system,48,2,2,2,0,0\n",
		",FileIo,FltPostOpCompletion,99,3,perfinfo,48,1,0,0,0,0\n",
		",FileIo,FltRead,83,3,system,44,1,1,1,0,0\n",
		",FileIo,FltRead,83,3,system,52,1,1,1,0,0\n",
		",PerfInfo,DPC,68,2,perfinfo,16,1,0,0,1,1\n",
	};
	struct kit_kernel *kernel = read_of(records, sizeof records / sizeof records[0]);
	struct etw_text csv = { 0 };

	(void)state;
	kit_kernel_table(kernel, &csv);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		if (!strstr(csv.data, lines[i])) {
			print_message("no %s in:\n%s", lines[i], csv.data);
			fail();
		}
	}
	text_free(&csv);
	kit_kernel_free(kernel);
}

/* Sizes of payloads are not bounded: the table is. */
static void very_many_sizes_are_counted_together(void **state)
{
	enum { COUNT = 7000 };
	static struct one records[COUNT];
	struct kit_kernel *kernel;
	struct etw_text csv = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		records[i] = (struct one)DPC(1);
		records[i].opcode = (uint8_t)(i % 250);
		records[i].version = (uint8_t)(i / 250);
	}
	kernel = read_of(records, COUNT);
	assert_int_equal(kit_kernel_records(kernel), COUNT + 1); /* with the header of the file */
	kit_kernel_table(kernel, &csv);
	assert_non_null(strstr(csv.data, "\n,,others,,,,,"));
	text_free(&csv);
	kit_kernel_free(kernel);
}

static void the_summary_says_how_context_switches_and_faults_look(void **state)
{
	static const struct one records[] = {
		{ ETW_RECORD_PERFINFO, ETW_KERNEL_GROUP_THREAD, 36, 5, 0, { 0 }, 28 },
		{ ETW_RECORD_PERFINFO, ETW_KERNEL_GROUP_PAGE_FAULT, 11, 2, 0, { 0 }, 16 },
		{ ETW_RECORD_SYSTEM, ETW_KERNEL_GROUP_PAGE_FAULT, 12, 2, 8, { 0 }, 16 },
	};
	struct kit_kernel *kernel = read_of(records, 3);
	struct etw_text lines = { 0 };

	(void)state;
	kit_kernel_lines(kernel, &lines);
	assert_string_equal(lines.data, "Context switches: version 5 with 28 bytes\n"
					"Page faults (10 to 15): 2, with a thread in their header: "
					"1\n");
	text_free(&lines);
	kit_kernel_free(kernel);
}

static void what_is_no_recording_is_an_error(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	assert_null(kit_kernel_read("no/such.etl", &err));
	assert_string_not_equal(err.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer_can_be_yes_no_and_unknown),
		cmocka_unit_test(the_table_tells_headers_and_sizes_apart),
		cmocka_unit_test(very_many_sizes_are_counted_together),
		cmocka_unit_test(the_summary_says_how_context_switches_and_faults_look),
		cmocka_unit_test(what_is_no_recording_is_an_error),
	};

	return cmocka_run_group_tests_name("kit_kernel", tests, NULL, NULL);
}
