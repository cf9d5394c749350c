/* SPDX-License-Identifier: MIT */
/*
 * Records that a live session delivers late: the buffer of a quiet processor comes up to a flush
 * interval after newer records of others. Records stand on the tape in the order in which they
 * come, with the times at which they happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"
#include "tests/support/tracker_run.h"

static const struct tracker_options everything = { .process_gauges = true,
						   .image_info = true,
						   .features = TRACK_FILES | TRACK_REQUESTS |
							       TRACK_SCHEDULER };

enum { START = 1, STOP = 2, DC_START = 3 };

/* Plays what is on the tape, and empties it. */
static void play(struct player *player, struct tape *tape)
{
	player_play(player, tape, UNSORTED);
	tape_rewind(tape);
}

static void a_late_start_names_its_thread_and_process_from_then_on(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_header(&tape, 20, ETW_RECORD_NO_ID, 71)->process = "_none";
	tape_thread(&tape, START, 10, 71, 7);
	tape_header(&tape, 21, ETW_RECORD_NO_ID, 71)->process = "_unknown";
	tape_process(&tape, START, 9, 7, "a.exe");
	tape_header(&tape, 22, ETW_RECORD_NO_ID, 71)->process = "a";
	tape_header(&tape, 12, ETW_RECORD_NO_ID, 71)->process = "a"; /* late too */
	play(&player, &tape);
	assert_int_equal(player_instances(&player, "a"), 1);
	assert_int_equal(player_threads(&player, "a"), 1);
	tape_done(&tape);
	player_done(&player);
}

static void what_stopped_does_not_run_again_by_its_late_start(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_thread(&tape, STOP, 20, 71, 7);
	tape_process(&tape, STOP, 21, 7, "a.exe");
	tape_process(&tape, START, 10, 7, "a.exe");
	tape_thread(&tape, START, 11, 71, 7);
	play(&player, &tape);
	assert_int_equal(player_instances(&player, "a"), 0);
	assert_int_equal(player_threads(&player, "a"), 0);
	/* The next ones of the ids are others. */
	tape_process(&tape, START, 30, 7, "b.exe");
	tape_thread(&tape, START, 30, 71, 7);
	tape_header(&tape, 15, ETW_RECORD_NO_ID, 71)->process = "a";
	tape_header(&tape, 31, ETW_RECORD_NO_ID, 71)->process = "b";
	play(&player, &tape);
	assert_int_equal(player_instances(&player, "b"), 1);
	assert_int_equal(player_threads(&player, "b"), 1);
	tape_done(&tape);
	player_done(&player);
}

static void a_late_stop_does_not_end_the_next_one_of_the_id(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_process(&tape, START, 10, 7, "a.exe");
	tape_thread(&tape, START, 10, 71, 7);
	tape_process(&tape, START, 30, 7, "b.exe");
	tape_thread(&tape, START, 30, 71, 7);
	tape_thread(&tape, STOP, 20, 71, 7);
	tape_process(&tape, STOP, 20, 7, "a.exe");
	tape_header(&tape, 40, 7, 71)->process = "b";
	play(&player, &tape);
	assert_int_equal(player_instances(&player, "a"), 0);
	assert_int_equal(player_instances(&player, "b"), 1);
	assert_int_equal(player_threads(&player, "a"), 0);
	assert_int_equal(player_threads(&player, "b"), 1);
	tape_process(&tape, STOP, 50, 7, "b.exe");
	tape_thread(&tape, STOP, 50, 71, 7);
	play(&player, &tape);
	assert_int_equal(player_instances(&player, "b"), 0);
	assert_int_equal(player_threads(&player, "b"), 0);
	tape_done(&tape);
	player_done(&player);
}

static void put_image(struct tape *tape, int64_t time, uint32_t process_id)
{
	etw_payload_pointer(&tape->payload, 0x400000);
	etw_payload_pointer(&tape->payload, 0x1000);
	etw_payload_u32(&tape->payload, process_id);
	etw_payload_zeros(&tape->payload, 12);
	etw_payload_pointer(&tape->payload, 0x400000);
	etw_payload_zeros(&tape->payload, 16);
	etw_payload_wstring(&tape->payload, "C:\\a.exe");
	tape_add(tape, "Image", 10, 3, time);
}

static bool shows_image(struct player *player)
{
	return player_shows(player, "etw_process_image_info",
			    LABELS("a", "Windows Kernel", "C:\\a.exe", "0x00000000"));
}

static void an_image_is_shown_while_its_process_runs(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_process(&tape, DC_START, 10, 7, "a.exe");
	put_image(&tape, 31, 7);
	tape_process(&tape, START, 30, 7, "a.exe"); /* the stop of the one before was lost */
	play(&player, &tape);
	assert_true(shows_image(&player));
	tape_process(&tape, STOP, 40, 7, "a.exe");
	put_image(&tape, 35, 7);
	play(&player, &tape);
	assert_false(shows_image(&player));
	tape_done(&tape);
	player_done(&player);
}

static struct tape_event *put_request(struct tape *tape, uint8_t opcode, int64_t time)
{
	struct tape_event *event = tape_zeros(tape, "FileIo", opcode, 3, time);

	tape_poke(event, "IrpPtr", 0xffff800000001000);
	if (opcode != 76) {
		tape_poke(event, "FileKey", 7);
	}
	return event;
}

static void put_name(struct tape *tape, int64_t time, const char *path)
{
	etw_payload_pointer(&tape->payload, 7);
	etw_payload_wstring(&tape->payload, path);
	tape_add(tape, "FileIo", 32, 2, time);
}

static void a_late_name_names_its_file_from_then_on(void **state)
{
	struct player player;
	struct tape tape;
	struct tracker_statistics statistics;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_request(&tape, 68, 20)->path = "";
	put_name(&tape, 10, "C:\\log");
	put_request(&tape, 68, 21)->path = "C:\\log";
	put_request(&tape, 67, 11)->volume = "C:";
	/* An older file of that key does not replace it. */
	put_name(&tape, 5, "D:\\old");
	put_request(&tape, 68, 22)->path = "C:\\log";
	play(&player, &tape);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.unattributed[MISS_FILE], 1);
	tape_done(&tape);
	player_done(&player);
}

static void an_end_goes_with_no_start_that_is_later(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_request(&tape, 67, 100);
	event = put_request(&tape, 76, 90); /* of the request before, whose start comes next */
	event->duration = NOT_KNOWN;
	event->started = -2;
	put_request(&tape, 68, 80); /* it does not replace the one that waits */
	event = put_request(&tape, 76, 120);
	event->duration = 2000; /* 20 ticks of 100 ns */
	event->started = 67;
	play(&player, &tape);
	tape_done(&tape);
	player_done(&player);
}

static void a_thread_was_not_ready_since_before_it_last_ran(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_switch(&tape, 20, 0, 0, 1000)->ready = NOT_KNOWN;
	tape_ready(&tape, 15, 1000); /* why it runs already */
	tape_switch(&tape, 30, 0, 1000, 0)->on_cpu = 1000;
	tape_switch(&tape, 40, 0, 0, 1000)->ready = NOT_KNOWN;
	tape_switch(&tape, 50, 0, 1000, 0)->on_cpu = 1000;
	/* The switch of another processor comes late: the thread became ready after it. */
	tape_ready(&tape, 62, 1000);
	tape_switch(&tape, 60, 1, 0, 1000)->ready = NOT_KNOWN;
	tape_switch(&tape, 61, 1, 1000, 0)->on_cpu = 100;
	tape_switch(&tape, 65, 0, 0, 1000)->ready = 300;
	play(&player, &tape);
	tape_done(&tape);
	player_done(&player);
}

/* ---- with rules ---- */

#define PROVIDER "a1a1a1a1-0000-0000-0000-000000000001"

static const char heap[] = "<events><event value='5' symbol='Heap' template='t'/></events>"
			   "<templates><template tid='t'>"
			   "<data name='Bytes' inType='win:UInt32'/></template></templates>";

static void set(struct rule_run *run, int64_t time, uint32_t bytes)
{
	rule_run_other(run, PROVIDER, 5);
	etw_payload_u32(&run->payload, bytes);
	run->record.process_id = 7;
	run->record.raw_time = time;
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
}

static void report(struct rule_run *run, int64_t time, const char *event)
{
	run->record.raw_time = time;
	rule_run_process(run, event, 7, "a.exe", 0);
}

static void a_gauge_has_the_last_value_by_time(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
		      "- { name: a, type: gauge, help: h, op: set, events: [{ event: '{" PROVIDER
		      "}/5', value: Bytes }] }\n",
		      NULL);
	rule_run_announce(&run, PROVIDER, "Alpha", heap);
	set(&run, 12, 300);
	report(&run, 10, "Process/Start");
	rule_run_expect(&run, "a 300"); /* set by the process that the late start announces */
	set(&run, 20, 100);
	set(&run, 15, 999);
	rule_run_expect(&run, "a 100");
	report(&run, 30, "Process/Stop");
	rule_run_expect(&run, "a 0");
	set(&run, 25, 999); /* the process has gone */
	rule_run_expect(&run, "a 0");
	report(&run, 40, "Process/Start");
	set(&run, 41, 5);
	rule_run_expect(&run, "a 5");
	set(&run, 26, 999);
	rule_run_expect(&run, "a 5");
	rule_run_close(&run);
}

/* FileIo/Read and its OperationEnd, as in test_file_requests.c. */
static void transfer(struct rule_run *run, int64_t begin, int64_t end, bool named_between)
{
	rule_run_event(run, "FileIo/Read");
	run->record.raw_time = begin;
	run->record.process_id = ETW_RECORD_NO_ID;
	etw_payload_u64(&run->payload, 0);
	etw_payload_u64(&run->payload, 0x1000);
	etw_payload_zeros(&run->payload, 16);
	etw_payload_u32(&run->payload, 70); /* TTID */
	etw_payload_zeros(&run->payload, 12);
	rule_run_feed(run);
	if (named_between) {
		report(run, 5, "Process/Start"); /* with its thread 70 */
	}
	rule_run_event(run, "FileIo/OperationEnd");
	run->record.raw_time = end;
	run->record.process_id = ETW_RECORD_NO_ID;
	run->record.thread_id = ETW_RECORD_NO_ID;
	etw_payload_u64(&run->payload, 0x1000);
	etw_payload_zeros(&run->payload, 12);
	rule_run_feed(run);
}

static void a_request_that_waits_gets_the_name_that_came_late(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_latency");
	transfer(&run, 10, 20, false);
	rule_run_event(&run, "Thread/Start");
	run.record.raw_time = 6;
	etw_payload_u32(&run.payload, 7);
	etw_payload_u32(&run.payload, 70);
	etw_payload_zeros(&run.payload, 80);
	rule_run_feed(&run);
	transfer(&run, 30, 40, true);
	rule_run_expect(&run, "etw_file_process_operation_duration_seconds_count{process=\"_none\","
			      "provider=\"Windows Kernel\",operation=\"read\"} 1");
	rule_run_expect(&run, "etw_file_process_operation_duration_seconds_count{process=\"a\","
			      "provider=\"Windows Kernel\",operation=\"read\"} 1");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_start_names_its_thread_and_process_from_then_on),
		cmocka_unit_test(what_stopped_does_not_run_again_by_its_late_start),
		cmocka_unit_test(a_late_stop_does_not_end_the_next_one_of_the_id),
		cmocka_unit_test(an_image_is_shown_while_its_process_runs),
		cmocka_unit_test(a_late_name_names_its_file_from_then_on),
		cmocka_unit_test(an_end_goes_with_no_start_that_is_later),
		cmocka_unit_test(a_thread_was_not_ready_since_before_it_last_ran),
		cmocka_unit_test(a_gauge_has_the_last_value_by_time),
		cmocka_unit_test(a_request_that_waits_gets_the_name_that_came_late),
	};

	return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
