/* SPDX-License-Identifier: MIT */
/*
 * The field Service: what a thread of svchost works for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "exporter/track/processes.h"
#include "tests/support/rule_run.h"
#include "tests/support/tracker_run.h"

enum { HOST = 8, OTHER = 12, SECOND_HOST = 16 };

static const char collector[] =
	"collector: x\n"
	"help: h\n"
	"default: on\n"
	"metrics:\n"
	"  - name: etw_x_total\n"
	"    type: counter\n"
	"    help: h\n"
	"    labels: { process: Process, service: Service, provider: Provider }\n"
	"    events:\n"
	"      - { event: DiskIo/Read }\n"
	"      - { event: FileIo/Write }\n"
	"      - { event: TcpIp/SendIPV4 }\n";

static void thread(struct rule_run *run, const char *event, uint32_t id, uint32_t process,
		   uint32_t tag)
{
	rule_run_blank(run, event);
	rule_run_set(run, "TThreadId", id);
	rule_run_set(run, "ProcessId", process);
	rule_run_set(run, "SubProcessTag", tag);
	rule_run_feed(run);
}

static void service(struct rule_run *run, uint32_t process, uint32_t tag, const char *name)
{
	rule_run_blank(run, "SystemConfig/Services");
	rule_run_set(run, "ProcessId", process);
	rule_run_set(run, "SubProcessTag", tag);
	rule_run_set_text(run, "ServiceName", name);
	rule_run_feed(run);
}

static void disk_read(struct rule_run *run, uint32_t thread_id)
{
	rule_run_blank(run, "DiskIo/Read");
	rule_run_set(run, "IssuingThreadId", thread_id);
	run->record.process_id = ETW_RECORD_NO_ID;
	run->record.thread_id = ETW_RECORD_NO_ID;
	rule_run_feed(run);
}

static void begin(struct rule_run *run)
{
	rule_run_open(run, collector, NULL);
	rule_run_process(run, "Process/DCStart", HOST, "SvcHost.exe", 0);
	rule_run_process(run, "Process/DCStart", OTHER, "other.exe", 0);
	rule_run_process(run, "Process/DCStart", SECOND_HOST, "svchost.exe", 0);
	thread(run, "Thread/DCStart", 81, HOST, 5);
	thread(run, "Thread/DCStart", 82, HOST, 6);
	thread(run, "Thread/DCStart", 83, HOST, 0);
	thread(run, "Thread/DCStart", 84, HOST, 7);
	thread(run, "Thread/DCStart", 121, OTHER, 5);
	thread(run, "Thread/Start", 161, SECOND_HOST, 9);
	service(run, HOST, 5, "Dnscache");
	service(run, HOST, 6, "Schedule");
	service(run, OTHER, 5, "NotOfAHost");
	service(run, SECOND_HOST, 9, "Themes");
	service(run, HOST, 0, "Stopped");
}

#define EXPECT(process, service, count)                                                \
	rule_run_expect(&run, "etw_x_total{process=\"" process "\",service=\"" service \
			      "\",provider=\"Windows Kernel\"} " count)

static void a_thread_of_a_host_works_for_the_service_of_its_tag(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	for (uint32_t id = 81; id <= 84; id++) {
		disk_read(&run, id);
	}
	disk_read(&run, 82);
	disk_read(&run, 121);
	disk_read(&run, 161);
	disk_read(&run, 9999);
	EXPECT("SvcHost", "Dnscache", "1");
	EXPECT("SvcHost", "Schedule", "2");
	EXPECT("SvcHost", "_none", "1");    /* thread 83 */
	EXPECT("SvcHost", "_unknown", "1"); /* thread 84, whose tag no service has */
	EXPECT("other", "_none", "1");
	EXPECT("SvcHost", "Themes", "1"); /* a name has one spelling, that of its first process */
	EXPECT("_none", "_none", "1");
	rule_run_close(&run);
}

static void the_thread_of_the_header_counts_where_it_is_of_the_process(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	rule_run_blank(&run, "FileIo/Write");
	run.record.process_id = HOST;
	run.record.thread_id = 81;
	rule_run_feed(&run);
	EXPECT("SvcHost", "Dnscache", "1");
	/* A packet of the host, sent in any thread. */
	rule_run_blank(&run, "TcpIp/SendIPV4");
	rule_run_set(&run, "PID", HOST);
	run.record.process_id = OTHER;
	run.record.thread_id = 121;
	rule_run_feed(&run);
	EXPECT("SvcHost", "_unknown", "1");
	rule_run_close(&run);
}

static void a_thread_goes_to_another_service(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	rule_run_event(&run, "Thread/SubProcessTagChanged");
	etw_payload_u32(&run.payload, 5);
	etw_payload_u32(&run.payload, 6);
	run.record.process_id = HOST;
	run.record.thread_id = 81;
	rule_run_feed(&run);
	disk_read(&run, 81);
	EXPECT("SvcHost", "Schedule", "1");
	/* Its id again, in another host. */
	thread(&run, "Thread/Stop", 81, HOST, 6);
	thread(&run, "Thread/Start", 81, SECOND_HOST, 9);
	disk_read(&run, 81);
	EXPECT("SvcHost", "Themes", "1");
	rule_run_close(&run);
}

/* A live session reads services directly: with tags, or only that a process has a single one. */
static void services_found_live_are_those_of_their_tag_or_the_only_one(void **state)
{
	struct rule_run run;

	(void)state;
	begin(&run);
	tracker_find_service(run.tracker, HOST, 7, "Found");
	disk_read(&run, 84);
	EXPECT("SvcHost", "Found", "1");
	tracker_find_service(run.tracker, HOST, 7, NULL);
	disk_read(&run, 84);
	EXPECT("SvcHost", "_unknown", "1");
	tracker_find_service(run.tracker, HOST, 0, "Only");
	disk_read(&run, 84);
	disk_read(&run, 81); /* its tag has a name */
	disk_read(&run, 83); /* it has no tag */
	EXPECT("SvcHost", "Only", "1");
	EXPECT("SvcHost", "Dnscache", "1");
	EXPECT("SvcHost", "_none", "1");
	tracker_find_service(run.tracker, HOST, 0, NULL);
	tracker_find_service(run.tracker, HOST, 99, NULL);
	disk_read(&run, 84);
	EXPECT("SvcHost", "_unknown", "2");
	rule_run_close(&run);
}

/* Recordings contain the services, and often the threads, at their end. */
static void services_named_at_the_end_of_a_recording_are_known_from_its_start(void **state)
{
	static const struct tracker_options options = { .features = TRACK_SERVICES };
	struct tape_event *event;
	struct player player;
	struct tape tape;

	(void)state;
	tape_init(&tape, 8);
	player_init(&player, &options);
	event = tape_header(&tape, 1, HOST, 81);
	event->service = "Dnscache";
	tape_process(&tape, 4, 90, HOST, "svchost.exe");
	event = tape_thread(&tape, 4, 91, 81, HOST);
	tape_poke(event, "SubProcessTag", 5);
	etw_payload_u32(&tape.payload, HOST);
	etw_payload_u32(&tape.payload, 4);
	etw_payload_u32(&tape.payload, 5);
	etw_payload_wstring(&tape.payload, "Dnscache");
	etw_payload_zeros(&tape.payload, 8);
	tape_add(&tape, "SystemConfig", 15, 3, 92);
	player_play(&player, &tape, TWO_PASSES);
	tracker_reset(player.tracker);
	player_play(&player, &tape, TWO_PASSES);
	player_done(&player);
	tape_done(&tape);
}

static void the_table_of_services_is_bounded(void **state)
{
	static const struct tracker_options options = { .features = TRACK_SERVICES };
	struct player player;
	struct services services;

	(void)state;
	player_init(&player, &options);
	services_init(&services, player.registry, 100);
	for (uint32_t i = 1; i <= SERVICES_MAX + 10; i++) {
		services_name(&services, i, 1, "name", 4);
	}
	assert_int_equal(services.names.count, SERVICES_MAX);
	assert_int_equal(services.refused, 10);
	services_name(&services, 1, 1, "other", 5); /* one that it has */
	assert_int_equal(services.refused, 10);
	services_clear(&services);
	player_done(&player);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_of_a_host_works_for_the_service_of_its_tag),
		cmocka_unit_test(the_thread_of_the_header_counts_where_it_is_of_the_process),
		cmocka_unit_test(a_thread_goes_to_another_service),
		cmocka_unit_test(services_found_live_are_those_of_their_tag_or_the_only_one),
		cmocka_unit_test(services_named_at_the_end_of_a_recording_are_known_from_its_start),
		cmocka_unit_test(the_table_of_services_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
