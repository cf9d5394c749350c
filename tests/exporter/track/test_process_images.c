/* SPDX-License-Identifier: MIT */
/*
 * Names of processes from Microsoft-Windows-Kernel-Process, whose schema comes after its events:
 * for those that the kernel's own events leave without a name.
 */
#include "exporter/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/decode/event_info.h"
#include "lib/etl/writer.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct etw_guid kernel_process =
	ETW_GUID_INIT(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16);
static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid meta_data = ETW_META_DATA_CLASS;

static char path[TEMPORARY_PATH_SIZE];

enum { START = 1, STOP = 2, RUNDOWN = 15 };

static struct etw_writer *open_recording(void)
{
	const struct etw_writer_options options = { .pointer_size = 8 };
	struct etw_error err = { 0 };
	struct etw_writer *writer;

	temporary_path(path, "etl");
	writer = etw_writer_open(path, &options, &err);
	assert_non_null(writer);
	return writer;
}

/* An event of Microsoft-Windows-Kernel-Process: ProcessID, ImageName. That of a stop is in ANSI,
 * and cut. */
static void add_image(struct etw_writer *writer, int64_t time, uint16_t id, uint32_t process_id,
		      const char *image)
{
	const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					       .raw_time = time,
					       .process_id = 4,
					       .thread_id = 8,
					       .provider = &kernel_process,
					       .id = id };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, process_id);
	if (id == STOP) {
		char cut[15];

		snprintf(cut, sizeof cut, "%.14s", image);
		etw_payload_astring(&payload, cut);
	} else {
		etw_payload_wstring(&payload, image);
	}
	etl_writer_add_payload(writer, &record, &payload);
	etw_payload_done(&payload);
}

static void add_event(struct etw_writer *writer, int64_t time, uint32_t process_id)
{
	const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					       .raw_time = time,
					       .process_id = process_id,
					       .thread_id = process_id + 1,
					       .provider = &alpha,
					       .id = 1 };

	etw_writer_add(writer, &record);
}

static void add_schemas(struct etw_writer *writer, int64_t time)
{
	static const struct blob_property properties[] = {
		{ "ProcessID", 0, 8, 20, 1, 4 },
		{ "ImageName", 0, 1, 1, 1, 0 },
	};
	static const struct blob_property stop_properties[] = {
		{ "ProcessID", 0, 8, 20, 1, 4 },
		{ "ImageName", 0, 2, 1, 1, 0 },
	};
	static const uint16_t ids[] = { START, STOP, RUNDOWN };

	for (size_t i = 0; i < COUNT(ids); i++) {
		const struct etw_out_record record = { .type = ETW_RECORD_FULL,
						       .raw_time = time,
						       .provider = &meta_data,
						       .opcode = META_DATA_EVENT_INFO };
		const struct event_info_blob blob = {
			.provider = &kernel_process,
			.id = ids[i],
			.task = "Process",
			.opcode_name = ids[i] == START ? "win:Start" : "win:Info",
			.properties = ids[i] == STOP ? stop_properties : properties,
			.property_count = COUNT(properties),
			.top_level_count = COUNT(properties),
		};
		struct etw_payload payload;

		etw_payload_init(&payload, 8);
		payload_event_info(&payload, &blob);
		etl_writer_add_payload(writer, &record, &payload);
		etw_payload_done(&payload);
	}
}

/* The exposition of the recording, which is removed. */
static struct etw_text page_of(struct etw_writer *writer)
{
	struct etw_error err = { 0 };

	assert_true(etw_writer_finish(writer, &err));
	etw_writer_close(writer);
	return program_replay(path, NULL, &(struct setup_options){ .no_manifests = true },
			      (struct runner_options){ 0 });
}

static uint64_t events_of(const struct etw_text *page, const char *process)
{
	char line[160];

	snprintf(
		line, sizeof line,
		"etw_events_total{process=\"%s\",provider=\"000000a1-0000-0000-0000-000000000000\"}",
		process);
	return page_value(page, line);
}

static void images_name_processes_that_nothing_else_names(void **state)
{
	struct etw_writer *writer = open_recording();
	struct etw_text page;

	(void)state;
	add_event(writer, 1000, 100); /* the rundown that names it comes last */
	add_image(writer, 2000, START, 200, "\\Device\\HarddiskVolume3\\bin\\Worker.exe");
	add_event(writer, 2500, 200);
	add_image(writer, 3000, STOP, 200, "Worker.exe");
	add_image(writer, 4000, START, 200, "\\Device\\HarddiskVolume3\\bin\\other.exe");
	add_event(writer, 4500, 200);
	add_event(writer, 4600, 200);
	add_event(writer, 4700, 300); /* no event names this process */
	add_image(writer, 5000, RUNDOWN, 100, "C:\\x\\service.exe");
	add_schemas(writer, 6000);
	page = page_of(writer);
	assert_int_equal(events_of(&page, "service"), 1);
	assert_int_equal(events_of(&page, "Worker"), 1);
	assert_int_equal(events_of(&page, "other"), 2);
	assert_int_equal(events_of(&page, "_unknown"), 1);
	assert_int_equal(page_value(&page, "etw_provider_events_total{provider=\"Microsoft-Windows-"
					   "Kernel-Process\",event=\"Process/Start\"}"),
			 2);
	text_free(&page);
}

static void a_stop_completes_its_name_from_others(void **state)
{
	const struct kernel_process kernel = { .id = 700,
					       .parent_id = 4,
					       .exit_status = 259,
					       .image = "backgroundTaskHost.exe",
					       .command_line = "" };
	struct etw_writer *writer = open_recording();
	struct kernel_events events;
	struct etw_text page;

	(void)state;
	kernel_events_init(&events, writer, 8);
	/* The first event of this process is its stop. Later events name the program. */
	add_event(writer, 1000, 100);
	add_image(writer, 1100, STOP, 100, "SearchProtocolHost.exe");
	add_event(writer, 1200, 100);
	add_image(writer, 2000, START, 200, "\\Device\\HarddiskVolume3\\SearchProtocolHost.exe");
	add_event(writer, 2100, 200);
	add_image(writer, 2200, STOP, 200, "SearchProtocolHost.exe");
	/* Another process names it in a rundown, and one that the kernel names. */
	add_event(writer, 3000, 300);
	add_image(writer, 3100, STOP, 300, "StartMenuExperienceHost.exe");
	add_image(writer, 3200, RUNDOWN, 301, "C:\\x\\StartMenuExperienceHost.exe");
	add_event(writer, 3300, 400);
	add_image(writer, 3400, STOP, 400, "backgroundTaskHost.exe");
	kernel_events_at(&events, 0, 9000, 4, 8);
	event_process(&events, OP_DC_STOP, &kernel);
	/* Two programs begin so. */
	add_image(writer, 4000, RUNDOWN, 501, "C:\\x\\SkypeBackgroundHost.exe");
	add_image(writer, 4000, RUNDOWN, 502, "C:\\x\\SkypeBackgroundUpdater.exe");
	add_event(writer, 4100, 500);
	add_image(writer, 4200, STOP, 500, "SkypeBackgroundHost.exe");
	/* No other event names it. */
	add_event(writer, 5000, 600);
	add_image(writer, 5100, STOP, 600, "RuntimeBroker.exe");
	add_event(writer, 5200, 601);
	add_image(writer, 5300, STOP, 601, "MemCompression");
	add_schemas(writer, 6000);
	kernel_events_done(&events);
	page = page_of(writer);
	assert_int_equal(events_of(&page, "SearchProtocolHost"), 3);
	assert_int_equal(events_of(&page, "StartMenuExperienceHost"), 1);
	assert_int_equal(events_of(&page, "backgroundTaskHost"), 1);
	assert_int_equal(events_of(&page, "RuntimeBroker"), 1);
	assert_int_equal(events_of(&page, "MemCompression"), 1);
	assert_int_equal(events_of(&page, "_unknown"), 1);
	assert_null(strstr(page.data, "process=\"SearchProtocol\""));
	assert_null(strstr(page.data, "process=\"SkypeBackgroun\""));
	text_free(&page);
}

static void the_kernels_names_go_first(void **state)
{
	const struct kernel_process process = { .id = 100,
						.parent_id = 4,
						.exit_status = 259,
						.image = "kernel.exe",
						.command_line = "kernel" };
	struct etw_writer *writer = open_recording();
	struct kernel_events events;
	struct etw_text page;

	(void)state;
	kernel_events_init(&events, writer, 8);
	add_image(writer, 1000, START, 100, "\\image.exe");
	kernel_events_at(&events, 0, 2000, 4, 8);
	event_process(&events, OP_START, &process);
	add_event(writer, 3000, 100);
	add_image(writer, 3500, RUNDOWN, 4, "\\ntoskrnl.exe");
	add_event(writer, 3600, 4); /* "System" only when nothing names it */
	add_schemas(writer, 4000);
	kernel_events_done(&events);
	page = page_of(writer);
	assert_int_equal(events_of(&page, "kernel"), 1);
	assert_int_equal(events_of(&page, "ntoskrnl"), 1);
	text_free(&page);
}

static void without_a_schema_there_is_no_name(void **state)
{
	struct etw_writer *writer = open_recording();
	struct etw_text page;

	(void)state;
	add_image(writer, 1000, START, 100, "\\image.exe");
	add_event(writer, 2000, 100);
	page = page_of(writer);
	assert_int_equal(events_of(&page, "_unknown"), 1);
	text_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_name_processes_that_nothing_else_names),
		cmocka_unit_test(a_stop_completes_its_name_from_others),
		cmocka_unit_test(the_kernels_names_go_first),
		cmocka_unit_test(without_a_schema_there_is_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
