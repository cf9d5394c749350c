/* SPDX-License-Identifier: MIT */
/*
 * Providers with manifests that report what kernel classes report too: their events belong to the
 * process that the payload names, as those of the kernel do, and not to the one that happened to
 * run. Payloads are zeros except for the id, at its place in the layouts of the provider's
 * manifest; the recordings have no manifest of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/source/provider_names.h"
#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/rule_run.h"
#include "tests/support/temporary.h"

#define SECOND INT64_C(10000000) /* ticks of the recordings */

enum { ALPHA = 100, BETA = 200, RUNNING_THREAD = 101, SIZE = 400 };

static const struct twin {
	const char *provider;
	uint16_t id;
	uint8_t version;
	uint8_t pointers; /* in front of the id */
	bool names_none;  /* the layout has no id: the process of the header */
} twins[] = {
#define NETWORK(id)                                                 \
	{                                                           \
		"Microsoft-Windows-Kernel-Network", id, 0, 0, false \
	}
	NETWORK(10),
	NETWORK(11),
	NETWORK(12),
	NETWORK(13),
	NETWORK(14),
	NETWORK(15),
	NETWORK(16),
	NETWORK(18),
	NETWORK(26),
	NETWORK(27),
	NETWORK(28),
	NETWORK(29),
	NETWORK(30),
	NETWORK(31),
	NETWORK(32),
	NETWORK(34),
	NETWORK(42),
	NETWORK(43),
	NETWORK(58),
	NETWORK(59),
	{ "Microsoft-Windows-Kernel-Network", 17, 0, 0, true },
	{ "Microsoft-Windows-Kernel-Network", 49, 0, 0, true },
#define PROCESS(id, version, pointers)                                           \
	{                                                                        \
		"Microsoft-Windows-Kernel-Process", id, version, pointers, false \
	}
	PROCESS(1, 0, 0),
	PROCESS(1, 3, 0),
	PROCESS(2, 0, 0),
	PROCESS(2, 2, 0),
	PROCESS(3, 0, 0),
	PROCESS(3, 1, 0),
	PROCESS(4, 0, 0),
	PROCESS(4, 1, 0),
	PROCESS(5, 0, 2),
	PROCESS(6, 0, 2),
	PROCESS(15, 0, 0),
	PROCESS(15, 1, 0),
#define MEMORY(id, version)                                              \
	{                                                                \
		"Microsoft-Windows-Kernel-Memory", id, version, 0, false \
	}
	MEMORY(4, 0),
	MEMORY(4, 1),
	MEMORY(5, 0),
	MEMORY(5, 1),
	MEMORY(6, 0),
	MEMORY(6, 1),
	MEMORY(7, 0),
	MEMORY(9, 0),
	{ "Microsoft-Windows-Kernel-Memory", 8, 0, 0, true },
	{ "Microsoft-Windows-Kernel-Disk", 10, 0, 0, true },
	{ "Microsoft-Windows-Kernel-Disk", 11, 0, 0, true },
	{ "Microsoft-Windows-Kernel-Disk", 14, 0, 0, true },
	{ "Microsoft-Windows-Kernel-Registry", 1, 0, 0, true },
	{ "Microsoft-Windows-Kernel-Registry", 5, 0, 0, true },
};

enum { TWINS = sizeof twins / sizeof twins[0] };

static void put_process(struct kernel_events *k, uint32_t id, const char *image)
{
	const struct kernel_process process = {
		.id = id, .parent_id = 4, .image = image, .command_line = image
	};

	event_process(k, OP_START, &process);
}

static void check_twin(const struct twin *twin, uint8_t pointer_size)
{
	const struct etw_writer_options options = { .pointer_size = pointer_size };
	struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					 .pointer_size = pointer_size,
					 .raw_time = 2 * SECOND,
					 .process_id = ALPHA,
					 .thread_id = RUNNING_THREAD,
					 .id = twin->id,
					 .version = twin->version,
					 .level = 4 };
	char path[TEMPORARY_PATH_SIZE], line[256];
	struct etw_writer *writer;
	struct kernel_events k;
	struct etw_payload payload;
	struct etw_guid provider;
	struct etw_error err = { 0 };
	struct etw_text page;

	temporary_path(path, "etl");
	writer = etw_writer_open(path, &options, &err);
	assert_non_null(writer);
	kernel_events_init(&k, writer, pointer_size);
	kernel_events_at(&k, 0, SECOND, 4, 8);
	put_process(&k, ALPHA, "alpha.exe");
	put_process(&k, BETA, "beta.exe");
	etw_payload_init(&payload, pointer_size);
	for (unsigned i = 0; i < twin->pointers; i++) {
		etw_payload_pointer(&payload, 0);
	}
	etw_payload_u32(&payload, BETA);
	etw_payload_zeros(&payload, SIZE);
	assert_true(etw_provider_guid(twin->provider, &provider));
	record.provider = &provider;
	etl_writer_add_payload(writer, &record, &payload);
	etw_payload_done(&payload);
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, &err));
	etw_writer_close(writer);
	page = program_replay(path, NULL, &(struct setup_options){ 0 },
			      (struct runner_options){ 0 });
	snprintf(line, sizeof line, "\netw_events_total{process=\"%s\",provider=\"%s\"} 1\n",
		 twin->names_none ? "alpha" : "beta", twin->provider);
	if (!strstr(page.data, line)) {
		fail_msg("event %u of version %u: not on the page: %s\n%s", twin->id, twin->version,
			 line, page.data);
	}
	text_free(&page);
}

static void events_belong_to_the_process_of_the_payload(void **state)
{
	(void)state;
	for (size_t i = 0; i < TWINS; i++) {
		check_twin(&twins[i], 8);
		check_twin(&twins[i], 4);
	}
}

/* ---- what rules see ---- */

#define NETWORK_GUID "7dd42a49-5329-4832-8dfd-43d979153a88"
#define DISK_GUID    "c7bde69a-e1e0-4177-b6ef-283ad1525271"
#define ONE_FIELD(name)                                                            \
	"<events><event value='1' symbol='E' template='t'/></events><templates>"   \
	"<template tid='t'><data name='" name "' inType='win:UInt32'/></template>" \
	"</templates>"

static void rules_see_it_too(void **state)
{
	static const char collector[] =
		"collector: x\nhelp: h\ndefault: on\nmetrics:\n"
		"- { name: a_total, type: counter, help: h, labels: { process: Process, of: OfProcess, "
		"pid: ProcessId }, events: [{ event: '{" NETWORK_GUID "}/1' }] }\n";
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector, NULL);
	rule_run_announce(&run, NETWORK_GUID, "Twin", ONE_FIELD("PID"));
	rule_run_process(&run, "Process/Start", BETA, "beta.exe", 0);
	rule_run_other(&run, NETWORK_GUID, 1);
	etw_payload_u32(&run.payload, BETA);
	rule_run_feed(&run);
	rule_run_expect(&run, "a_total{process=\"beta\",of=\"beta\",pid=\"200\"} 1");
	/* An id that means no process: that of the header. */
	rule_run_other(&run, NETWORK_GUID, 1);
	etw_payload_u32(&run.payload, ETW_RECORD_NO_ID);
	run.record.process_id = 4;
	rule_run_feed(&run);
	rule_run_expect(&run, "a_total{process=\"System\",of=\"_none\",pid=\"4\"} 1");
	rule_run_close(&run);
}

/* Versions of Kernel-Disk that say which thread issued the request, as DiskIo does. */
static void a_thread_in_the_payload_leads_to_its_process(void **state)
{
	static const char collector[] =
		"collector: x\nhelp: h\ndefault: on\nmetrics:\n"
		"- { name: a_total, type: counter, help: h, labels: { process: Process }, events: [{ "
		"event: '{" DISK_GUID "}/1' }] }\n";
	struct rule_run run;

	(void)state;
	rule_run_open(&run, collector, NULL);
	rule_run_announce(&run, DISK_GUID, "Twin", ONE_FIELD("IssuingThreadId"));
	rule_run_process(&run, "Process/Start", BETA, "beta.exe", 0);
	rule_run_blank(&run, "Thread/Start");
	rule_run_set(&run, "ProcessId", BETA);
	rule_run_set(&run, "TThreadId", 10 * BETA);
	rule_run_feed(&run);
	rule_run_other(&run, DISK_GUID, 1);
	etw_payload_u32(&run.payload, 10 * BETA);
	run.record.process_id = 4;
	rule_run_feed(&run);
	rule_run_expect(&run, "a_total{process=\"beta\"} 1");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_belong_to_the_process_of_the_payload),
		cmocka_unit_test(rules_see_it_too),
		cmocka_unit_test(a_thread_in_the_payload_leads_to_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
