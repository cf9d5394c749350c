/* SPDX-License-Identifier: MIT */
/*
 * Whom an event belongs to (docs/etl-format.md section 16.1), requests, the scheduler, drivers, and
 * what the statistics say.
 */
#include "exporter/track/tracker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exporter/track/derived_fields.h"
#include "tests/support/tracker_run.h"

/* Processes 100 alpha and 200 beta, with threads 1000 and 2000. */
static void put_two_processes(struct tape *tape)
{
	tape_process(tape, 3, 1, 100, "alpha.exe");
	tape_process(tape, 3, 1, 200, "beta.exe");
	tape_thread(tape, 3, 2, 1000, 100);
	tape_thread(tape, 3, 2, 2000, 200);
}

static const struct tracker_options everything = {
	.process_gauges = true,
	.disk_info = true,
	.image_info = true,
	.top_paths = true,
	.disk_cause = true,
	.features = TRACK_SERVICES | TRACK_FILES | TRACK_REQUESTS | TRACK_DRIVERS | TRACK_SCHEDULER,
};

enum { NONE = -1, NO_PROCESS = 999, NO_THREAD = 9999 };

struct owner_case {
	const char *name;
	const char *class_name;
	uint32_t opcode;
	uint32_t version;
	const char *field; /* NULL: none is set */
	uint32_t value;
	int process_id; /* of the header */
	int thread_id;
	const char *process;
	const char *of_process;
};

static const struct owner_case owner_cases[] = {
	/* Processes, threads and images say whom they are about. */
	{ "Process: payload before header", "Process", 39, 4, "ProcessId", 200, 100, 1000, "beta",
	  "beta" },
	{ "Process terminate", "Process", 11, 2, "ProcessId", 200, 100, 1000, "beta", "beta" },
	{ "Process counters", "Process", 32, 2, "ProcessId", 200, 100, 1000, "beta", "beta" },
	{ "Thread start", "Thread", 1, 3, "ProcessId", 200, 100, 1000, "beta", "beta" },
	{ "Thread rundown", "Thread", 4, 3, "ProcessId", 200, 100, 1000, "beta", "beta" },
	{ "Thread set name: header, about the payload's", "Thread", 72, 2, "ProcessId", 200, 100,
	  1000, "alpha", "beta" },
	{ "CSwitch: the new thread", "Thread", 36, 4, "NewThreadId", 2000, NONE, NONE, "beta",
	  "_none" },
	{ "ReadyThread: the one that is ready", "Thread", 50, 2, "TThreadId", 2000, NONE, NONE,
	  "beta", "_none" },
	{ "Image load", "Image", 10, 3, "ProcessId", 200, 100, 1000, "beta", "beta" },
	{ "Image unload", "Image", 2, 2, "ProcessId", 200, 100, 1000, "beta", "beta" },
	{ "Image of version 0 names no process", "Image", 10, 0, NULL, 0, 100, 1000, "alpha",
	  "_none" },
	/* The network. */
	{ "TcpIp send", "TcpIp", 10, 2, "PID", 200, 100, 1000, "beta", "_none" },
	{ "TcpIp version 0", "TcpIp", 11, 0, "PID", 200, 100, 1000, "beta", "_none" },
	{ "TcpIp receive IPv6", "TcpIp", 27, 2, "PID", 200, 100, 1000, "beta", "_none" },
	{ "TcpIp fail has no PID", "TcpIp", 17, 2, NULL, 0, 100, 1000, "alpha", "_none" },
	{ "UdpIp send", "UdpIp", 10, 2, "PID", 200, 100, 1000, "beta", "_none" },
	{ "PID of no process: the next rule", "TcpIp", 10, 2, "PID", ETW_RECORD_NO_ID, 100, 1000,
	  "alpha", "_none" },
	{ "PID that no event named", "TcpIp", 10, 2, "PID", NO_PROCESS, 100, 1000, "_unknown",
	  "_none" },
	/* Disks: from version 3 on. */
	{ "DiskIo read", "DiskIo", 10, 3, "IssuingThreadId", 2000, 100, 1000, "beta", "_none" },
	{ "DiskIo flush has a layout of its own", "DiskIo", 14, 3, "IssuingThreadId", 2000, 100,
	  1000, "beta", "_none" },
	{ "DiskIo init", "DiskIo", 12, 3, "IssuingThreadId", 2000, 100, 1000, "beta", "_none" },
	{ "DiskIo newer than known", "DiskIo", 10, 9, "IssuingThreadId", 2000, 100, 1000, "beta",
	  "_none" },
	{ "DiskIo version 2 has no thread", "DiskIo", 10, 2, NULL, 0, 100, 1000, "alpha", "_none" },
	{ "issuing thread unknown: the header's process", "DiskIo", 10, 3, "IssuingThreadId",
	  NO_THREAD, 100, 1000, "alpha", "_none" },
	{ "issuing thread unknown, no process: the header's thread", "DiskIo", 10, 3,
	  "IssuingThreadId", NO_THREAD, NONE, 1000, "alpha", "_none" },
	{ "issuing thread 0", "DiskIo", 10, 3, "IssuingThreadId", 0, 100, 1000, "Idle", "_none" },
	/* Memory. */
	{ "hard fault", "PageFault", 32, 2, "TThreadId", 2000, 100, 1000, "beta", "_none" },
	{ "VirtualAlloc", "PageFault", 98, 2, "ProcessId", 200, 100, 1000, "beta", "_none" },
	{ "VirtualFree", "PageFault", 99, 2, "ProcessId", 200, 100, 1000, "beta", "_none" },
	{ "VirtualAlloc rundown", "PageFault", 128, 2, "ProcessId", 200, 100, 1000, "beta",
	  "_none" },
	{ "demand zero: header", "PageFault", 11, 2, NULL, 0, 100, 1000, "alpha", "_none" },
	/* Profiling. */
	{ "sample", "PerfInfo", 46, 2, "ThreadId", 2000, NONE, NONE, "beta", "_none" },
	{ "sample of the idle thread", "PerfInfo", 46, 2, "ThreadId", 0, NONE, NONE, "Idle",
	  "_none" },
	{ "sample of an unknown thread", "PerfInfo", 46, 2, "ThreadId", NO_THREAD, NONE, NONE,
	  "_unknown", "_none" },
	{ "sample of another source", "PerfInfo", 47, 2, "ThreadId", 2000, NONE, NONE, "beta",
	  "_none" },
	{ "sample of no thread", "PerfInfo", 46, 2, "ThreadId", ETW_RECORD_NO_ID, NONE, NONE,
	  "_none", "_none" },
	{ "DPC has no process", "PerfInfo", 68, 2, NULL, 0, NONE, NONE, "_none", "_none" },
	{ "stack", "StackWalk", 32, 2, "StackProcess", 200, 100, 1000, "beta", "_none" },
	{ "stack key of the kernel", "StackWalk", 37, 2, "StackProcess", 200, 100, 1000, "beta",
	  "_none" },
	{ "stack key of a program", "StackWalk", 38, 2, "StackProcess", 200, NONE, NONE, "beta",
	  "_none" },
	{ "definition of a stack key: header", "StackWalk", 36, 2, NULL, 0, NONE, NONE, "_none",
	  "_none" },
	/* Files: only when the header says nothing. */
	{ "FileIo: header first", "FileIo", 68, 3, "TTID", 2000, 100, 1000, "alpha", "_none" },
	{ "FileIo without a header process", "FileIo", 68, 3, "TTID", 2000, NONE, NONE, "beta",
	  "_none" },
	{ "FileIo version 2", "FileIo", 64, 2, "TTID", 2000, NONE, NONE, "beta", "_none" },
	{ "FileIo: TTID before the header's thread", "FileIo", 67, 3, "TTID", 2000, NONE, 1000,
	  "beta", "_none" },
	{ "FileIo operation end", "FileIo", 76, 3, NULL, 0, NONE, NONE, "_none", "_none" },
	{ "FileIo operation end: header's thread", "FileIo", 76, 3, NULL, 0, NONE, 1000, "alpha",
	  "_none" },
	{ "FileIo map file: payload before header", "FileIo", 37, 2, "ProcessId", 200, 100, 1000,
	  "beta", "_none" },
	{ "FileIo unmap file of version 3", "FileIo", 38, 3, "ProcessId", 200, 100, 1000, "beta",
	  "_none" },
	{ "FileIo name record: header", "FileIo", 36, 2, NULL, 0, 100, 1000, "alpha", "_none" },
	/* The header. */
	{ "header process", "Registry", 10, 2, NULL, 0, 100, 2000, "alpha", "_none" },
	{ "header thread", "Registry", 10, 2, NULL, 0, NONE, 2000, "beta", "_none" },
	{ "header process without a name", "Registry", 10, 2, NULL, 0, NO_PROCESS, 2000, "_unknown",
	  "_none" },
	{ "no id", "Registry", 10, 2, NULL, 0, NONE, NONE, "_none", "_none" },
	{ "an unknown opcode", "DiskIo", 99, 3, NULL, 0, 100, 1000, "alpha", "_none" },
};

/* What is left when the payload says nothing. */
static const char *process_of_header(const struct owner_case *row)
{
	if (row->process_id != NONE) {
		return row->process_id == 100 ? "alpha" : "_unknown";
	}
	if (row->thread_id != NONE) {
		return row->thread_id == 1000 ? "alpha" : "beta";
	}
	return "_none";
}

static void play_owner_case(const struct owner_case *row, uint8_t pointer_size, bool cut)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	player_init(&player, &everything);
	tape_init(&tape, pointer_size);
	put_two_processes(&tape);
	event = tape_zeros(&tape, row->class_name, (uint8_t)row->opcode, (uint8_t)row->version, 50);
	if (row->field) {
		tape_poke(event, row->field, row->value);
	}
	event->record.process_id = row->process_id == NONE ? ETW_RECORD_NO_ID :
							     (uint32_t)row->process_id;
	event->record.thread_id = row->thread_id == NONE ? ETW_RECORD_NO_ID :
							   (uint32_t)row->thread_id;
	event->process = row->process;
	event->of_process = row->of_process;
	if (cut) {
		event->record.payload_size = 0;
		event->process = process_of_header(row);
		event->of_process = "_none";
	}
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void an_event_belongs_to_the_process_that_section_16_1_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof owner_cases / sizeof owner_cases[0]; i++) {
		print_message("  %s\n", owner_cases[i].name);
		play_owner_case(&owner_cases[i], 8, false);
		play_owner_case(&owner_cases[i], 4, false);
		play_owner_case(&owner_cases[i], 8, true);
	}
}

static void a_payload_is_believed_only_of_a_classic_event(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_two_processes(&tape);
	event = tape_zeros(&tape, "TcpIp", 10, 2, 50);
	tape_poke(event, "PID", 200);
	event->record.classic = false;
	event->record.type = ETW_RECORD_EVENT;
	event->record.process_id = 100;
	event->process = "alpha";
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

/* An event of the process or, without it, of the thread. */
static void put_asked(struct tape *tape, int64_t time, uint32_t process_id, uint32_t thread_id,
		      const char *process)
{
	tape_header(tape, time, process_id, thread_id)->process = process;
}

/*
 * The process of an id is kept from record to record, and an id means another one later, and also
 * of a record that comes late.
 */
static void an_id_that_was_asked_for_before_is_reused(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 10, 100, "alpha.exe");
	tape_process(&tape, 1, 10, 200, "beta.exe");
	tape_thread(&tape, 1, 11, 1000, 100);
	put_asked(&tape, 12, 100, 1000, "alpha");
	put_asked(&tape, 13, ETW_RECORD_NO_ID, 1000, "alpha");
	put_asked(&tape, 14, ETW_RECORD_NO_ID, ETW_RECORD_NO_ID, "_none");
	put_asked(&tape, 15, 100, 1000, "alpha");
	tape_thread(&tape, 2, 20, 1000, 100);
	tape_thread(&tape, 1, 21, 1000, 200); /* the thread's id is reused … */
	put_asked(&tape, 22, ETW_RECORD_NO_ID, 1000, "beta");
	put_asked(&tape, 23, 100, 1000, "alpha");
	put_asked(&tape, 19, ETW_RECORD_NO_ID, 1000, "alpha"); /* late */
	put_asked(&tape, 24, ETW_RECORD_NO_ID, 1000, "beta");
	tape_process(&tape, 2, 30, 100, "alpha.exe");
	tape_process(&tape, 1, 31, 100, "gamma.exe"); /* … and the process's */
	put_asked(&tape, 32, 100, 1, "gamma");
	put_asked(&tape, 33, 100, 1, "gamma");
	put_asked(&tape, 29, 100, 1, "alpha"); /* late */
	put_asked(&tape, 34, 100, 1, "gamma");
	tape_process(&tape, 1, 25, 300, "delta.exe"); /* a start that comes late */
	put_asked(&tape, 35, 300, 1, "delta");
	put_asked(&tape, 36, 400, 1, "_unknown");
	tape_process(&tape, 3, 37, 400, "epsilon.exe");
	put_asked(&tape, 38, 400, 1, "epsilon");
	player_play(&player, &tape, UNSORTED);
	tape_done(&tape);
	player_done(&player);
}

/* A thread that was asked for belongs to a process whose id is reused, and other processes and
 * threads come and go meanwhile. */
static void a_thread_that_was_asked_for_before_has_another_process(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 10, 100, "alpha.exe");
	tape_thread(&tape, 1, 11, 1000, 100);
	put_asked(&tape, 12, ETW_RECORD_NO_ID, 1000, "alpha");
	tape_process(&tape, 1, 13, 104, "beta.exe");
	tape_thread(&tape, 1, 14, 1004, 104);
	put_asked(&tape, 15, ETW_RECORD_NO_ID, 1000, "alpha");
	put_asked(&tape, 15, ETW_RECORD_NO_ID, 1004, "beta");
	tape_thread(&tape, 2, 16, 1004, 104);
	/* The same place as 1000, by the last digits of the id. */
	tape_thread(&tape, 1, 17, 1000 + 4 * 1024, 104);
	put_asked(&tape, 18, ETW_RECORD_NO_ID, 1000, "alpha");
	put_asked(&tape, 18, ETW_RECORD_NO_ID, 1000 + 4 * 1024, "beta");
	put_asked(&tape, 18, ETW_RECORD_NO_ID, 1000, "alpha");
	tape_process(&tape, 1, 20, 100, "gamma.exe"); /* the stop of alpha was lost */
	put_asked(&tape, 21, ETW_RECORD_NO_ID, 1000, "gamma");
	put_asked(&tape, 19, ETW_RECORD_NO_ID, 1000, "alpha"); /* late */
	put_asked(&tape, 22, ETW_RECORD_NO_ID, 1000, "gamma");
	player_play(&player, &tape, UNSORTED);
	tape_done(&tape);
	player_done(&player);
}

/* Places of tables that others need are those of the last processes too. */
static void what_was_asked_for_before_can_be_evicted(void **state)
{
	const struct tracker_options two = { .processes = 2, .threads = 2 };
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &two);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 10, 100, "alpha.exe");
	put_asked(&tape, 11, 100, 1, "alpha");
	tape_process(&tape, 2, 12, 100, "alpha.exe");
	put_asked(&tape, 13, 100, 1, "alpha");
	tape_process(&tape, 1, 14, 200, "beta.exe");
	put_asked(&tape, 15, 100, 1, "alpha");
	tape_process(&tape, 1, 16, 304, "gamma.exe");
	put_asked(&tape, 17, 100, 1, "_unknown");
	put_asked(&tape, 17, 200, 1, "beta");
	player_play(&player, &tape, UNSORTED);
	tape_done(&tape);
	player_done(&player);
}

static void instances_have_numbers_of_their_own(void **state)
{
	struct player player;
	struct tape tape;
	struct etw_event_table *event_table = etw_event_table_new(100, NULL, NULL);
	uint64_t first = 0, second, ended;
	uint32_t id;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 10, 7, "a.exe");
	tape_header(&tape, 15, 7, 1);
	tape_process(&tape, 2, 20, 7, "a.exe");
	tape_process(&tape, 1, 30, 7, "a.exe");
	tape_header(&tape, 35, 7, 1);
	tape_header(&tape, 35, 8, 1);
	for (unsigned passes = 0; passes < 2; passes++) {
		for (size_t i = 0; i < tape.count; i++) {
			const struct etw_record *record = &tape.events[i].record;
			bool added;
			struct etw_event_class *class =
				etw_event_table_find(event_table, record, &added);

			assert_true(!added || tracker_prepare(player.tracker, class));
			tracker_observe(player.tracker, record, class);
			second = tracker_instance(player.tracker);
			ended = 0;
			id = 0;
			assert_int_equal(tracker_ended_process(player.tracker, &id, &ended),
					 class->kernel_class == ETW_KERNEL_PROCESS);
			assert_int_equal(id, class->kernel_class == ETW_KERNEL_PROCESS ? 7 : 0);
			switch (i) {
			case 0:
			case 1:
				first = second;
				assert_int_not_equal(first, 0);
				assert_int_equal(ended, 0);
				break;
			case 2:
				assert_int_equal(ended, first);
				break;
			case 3:
			case 4:
				assert_int_not_equal(second, 0);
				assert_int_not_equal(second, first);
				break;
			default:
				assert_int_equal(second, 0);
			}
			tracker_release(class);
			assert_true(tracker_prepare(player.tracker, class));
		}
		tracker_reset(player.tracker);
		assert_int_equal(tracker_instance(player.tracker), 0);
	}
	for (size_t i = 0; i < tape.count; i++) {
		bool added;

		tracker_release(etw_event_table_find(event_table, &tape.events[i].record, &added));
	}
	etw_event_table_free(event_table);
	tape_done(&tape);
	player_done(&player);
}

/* ---- requests ---- */

static struct tape_event *put_request(struct tape *tape, uint8_t opcode, int64_t time, uint64_t irp)
{
	struct tape_event *event = tape_zeros(tape, "FileIo", opcode, 3, time);

	tape_poke(event, "IrpPtr", irp);
	return event;
}

static void an_operation_ends_with_the_irp_it_began_with(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_request(&tape, 68, 100, 0x1000)->duration = NOT_KNOWN;
	put_request(&tape, 67, 110, 0x2000);
	event = put_request(&tape, 76, 150, 0x1000);
	event->duration = 5000; /* 50 ticks of 100 ns */
	event->started = 68;
	event = put_request(&tape, 76, 160, 0x1000); /* ended before */
	event->duration = NOT_KNOWN;
	event->started = -2;
	event = put_request(&tape, 76, 170, 0x2000);
	event->duration = 6000;
	event->started = 67;
	put_request(&tape, 64, 200, 0x1000);
	put_request(&tape, 75, 210, 0x1000); /* its end was lost: the later one counts */
	event = put_request(&tape, 76, 220, 0x1000);
	event->duration = 1000;
	event->started = 75;
	put_request(&tape, 68, 225, 0x3000); /* likewise */
	put_request(&tape, 77, 230, 0x3000); /* DirNotify, which waits for a change */
	event = put_request(&tape, 76, 240, 0x3000);
	event->duration = 1000;
	event->started = 77;
	event = tape_header(&tape, 250, 1, 1);
	event->duration = NOT_KNOWN;
	event->started = -2;
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void requests_that_never_end_make_room_and_are_counted(void **state)
{
	enum { REQUESTS = 100000 };
	struct player player;
	struct tape tape;
	struct tape_event *event;
	struct tracker_statistics statistics;
	struct etw_event_class *class;
	struct etw_event_table *event_table = etw_event_table_new(100, NULL, NULL);
	bool added;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	event = put_request(&tape, 68, 1, 0);
	class = etw_event_table_find(event_table, &event->record, &added);
	assert_true(tracker_prepare(player.tracker, class));
	for (uint64_t i = 0; i < REQUESTS; i++) {
		tape_poke(event, "IrpPtr", 0xffff800000000000 + i * 0x40);
		event->record.raw_time++;
		tracker_observe(player.tracker, &event->record, class);
	}
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.entries[TABLE_IRP] + statistics.evictions[TABLE_IRP], REQUESTS);
	assert_true(statistics.entries[TABLE_IRP] > 30000 &&
		    statistics.entries[TABLE_IRP] <= 32768);
	tracker_release(class);
	etw_event_table_free(event_table);
	tape_done(&tape);
	player_done(&player);
}

/* ---- the scheduler ---- */

static void a_thread_runs_from_its_switch_in_to_its_switch_out(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_two_processes(&tape);
	tape_switch(&tape, 10, 0, 2000, 1000)->on_cpu = NOT_KNOWN; /* its start was not seen */
	tape_switch(&tape, 20, 300, 0, 2000)->on_cpu = NOT_KNOWN;  /* another processor */
	event = tape_switch(&tape, 35, 0, 1000, 0);
	event->on_cpu = 2500;
	event->process = "Idle";
	event->old_process = "alpha";
	event = tape_switch(&tape, 50, 0, 0, 2000);
	event->on_cpu = 1500;
	event->process = "beta";
	event->old_process = "Idle";
	event = tape_switch(&tape, 60, 0, 1000,
			    2000); /* not who was switched in: something was lost */
	event->on_cpu = NOT_KNOWN;
	event->ready = NOT_KNOWN;
	tape_ready(&tape, 61, 1000);
	tape_ready(&tape, 65, 1000);
	event = tape_switch(&tape, 70, 0, 2000, 1000);
	event->on_cpu = 1000;
	event->ready = 500;
	event = tape_switch(&tape, 75, 300, 2000, 1000); /* ready only once */
	event->on_cpu = 5500;
	event->ready = NOT_KNOWN;
	event = tape_header(&tape, 80, 100, 1);
	event->on_cpu = NOT_KNOWN;
	event->ready = NOT_KNOWN;
	event->old_process = "_none";
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

/* A call of a minifilter has the thread in its header; where that has none, it is the one that runs
 * on the processor. */
static void a_call_of_a_minifilter_is_of_the_thread_that_runs(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_two_processes(&tape);
	tape_zeros(&tape, "FileIo", 98, 3, 10)->process = "_none"; /* before the first switch */
	tape_switch(&tape, 20, 0, 0, 1000);
	tape_switch(&tape, 21, 1, 0, 2000);
	tape_zeros(&tape, "FileIo", 98, 3, 30)->process = "alpha";
	event = tape_zeros(&tape, "FileIo", 99, 3, 31);
	event->record.processor = 1;
	event->process = "beta";
	event = tape_zeros(&tape, "FileIo", 101, 3, 32); /* the header goes before */
	event->record.thread_id = 2000;
	event->process = "beta";
	event = tape_zeros(&tape, "FileIo", 98, 3, 33);
	event->record.processor = 7; /* no switch was seen there */
	event->process = "_none";
	/* Other records without ids are of no process. */
	tape_zeros(&tape, "PerfInfo", 68, 2, 34)->process = "_none";
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

/* Page faults have no thread in their payload, and perhaps none in their header. */
static void a_page_fault_is_of_the_thread_that_runs(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_two_processes(&tape);
	for (uint8_t opcode = 10; opcode <= 15; opcode++) {
		tape_zeros(&tape, "PageFault", opcode, 2, opcode)->process = "_none";
	}
	tape_switch(&tape, 20, 0, 0, 1000);
	for (uint8_t opcode = 10; opcode <= 15; opcode++) {
		tape_zeros(&tape, "PageFault", opcode, 2, 20 + opcode)->process = "alpha";
	}
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

/* ---- drivers ---- */

static void put_image(struct tape *tape, uint8_t opcode, int64_t time, uint32_t process_id,
		      uint64_t base, uint64_t size, const char *path)
{
	etw_payload_pointer(&tape->payload, base);
	etw_payload_pointer(&tape->payload, size);
	etw_payload_u32(&tape->payload, process_id);
	etw_payload_u32(&tape->payload, 0xabc);
	etw_payload_zeros(&tape->payload, 8);
	etw_payload_pointer(&tape->payload, base);
	etw_payload_zeros(&tape->payload, 16);
	etw_payload_wstring(&tape->payload, path);
	tape_add(tape, "Image", opcode, 3, time);
}

static void ask_driver(struct tape *tape, int64_t time, uint64_t routine, const char *driver)
{
	struct tape_event *event = tape_zeros(tape, "PerfInfo", 68, 2, time);

	tape_poke(event, "Routine", routine);
	event->driver = driver;
}

static void a_routine_lies_in_the_kernel_image_of_the_time(void **state)
{
	static const uint64_t kernel = 0xfffff80000000000;

	(void)state;
	for (unsigned passes = ONE_PASS; passes <= TWO_PASSES; passes++) {
		struct player player;
		struct tape tape;

		player_init(&player, &everything);
		tape_init(&tape, 8);
		put_image(&tape, 3, 1, 0, kernel, 0x1000, "\\SystemRoot\\system32\\NTOSKRNL.exe");
		put_image(&tape, 10, 2, 0, kernel + 0x8000, 0x1000,
			  "\\Device\\HarddiskVolume1\\drivers\\Ntfs.sys");
		put_image(&tape, 10, 2, 77, 0x400000, 0x1000, "\\Device\\HarddiskVolume1\\app.exe");
		put_image(&tape, 10, 2, 0, kernel + 0xa000, 0x1000, "plain.sys");
		ask_driver(&tape, 5, kernel, "ntoskrnl.exe");
		ask_driver(&tape, 5, kernel + 0xfff, "ntoskrnl.exe");
		ask_driver(&tape, 5, kernel + 0x1000, "_unknown");
		ask_driver(&tape, 5, kernel + 0x8010, "ntfs.sys");
		ask_driver(&tape, 5, kernel + 0xa010, "plain.sys");
		ask_driver(&tape, 5, 0x400010, "_unknown");
		ask_driver(&tape, 5, 0, "_unknown");
		ask_driver(&tape, 5, UINT64_MAX, "_unknown");
		/* The place of one driver goes to another, which begins below it. */
		put_image(&tape, 2, 10, 0, kernel + 0x8000, 0x1000,
			  "\\Device\\HarddiskVolume1\\drivers\\Ntfs.sys");
		ask_driver(&tape, 12, kernel + 0x8010, "ntfs.sys");
		put_image(&tape, 10, 15, 0, kernel + 0x7000, 0x2000, "\\Driver\\other.sys");
		ask_driver(&tape, 20, kernel + 0x8010, "other.sys");
		put_image(&tape, 10, 30, 0, kernel + 0x8000, 0x10, "\\Driver\\small.sys");
		ask_driver(&tape, 31, kernel + 0x8008, "small.sys");
		ask_driver(&tape, 31, kernel + 0x8010, "other.sys");
		tape_header(&tape, 40, 1, 1)->driver = "_unknown";
		player_play(&player, &tape, (enum passes)passes);
		tape_done(&tape);
		player_done(&player);
	}
}

static void a_rundown_at_the_end_names_drivers_for_earlier_events(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	ask_driver(&tape, 5, 0x80001010, "tcpip.sys");
	put_image(&tape, 4, 90, 0, 0x80001000, 0x1000, "\\Driver\\TCPIP.SYS");
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void any_number_of_images_is_bounded(void **state)
{
	struct player player;
	struct tape tape;
	struct tracker_statistics statistics;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	for (uint64_t round = 0; round < 20; round++) {
		tape_rewind(&tape);
		for (uint64_t i = 0; i < 1000; i++) {
			put_image(&tape, 10, (int64_t)(1 + round), 0,
				  0xffff0000 - (round * 1000 + i) * 16, 16, "x.sys");
		}
		player_play(&player, &tape, ONE_PASS);
	}
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.entries[TABLE_IMAGE], 16384);
	assert_int_equal(statistics.evictions[TABLE_IMAGE], 20000 - 16384);
	tape_done(&tape);
	player_done(&player);
}

/* ---- statistics ---- */

static void what_could_not_be_attributed_is_counted_once_an_event(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;
	struct tracker_statistics statistics;

	(void)state;
	player_init(&player, &everything);
	tape_init(&tape, 8);
	put_two_processes(&tape);
	tape_poke(tape_zeros(&tape, "PerfInfo", 46, 2, 50), "ThreadId", NO_THREAD);
	tape_header(&tape, 51, NO_PROCESS, 1);
	tape_header(&tape, 52, ETW_RECORD_NO_ID, NO_THREAD);
	tape_header(&tape, 53, 100, NO_THREAD); /* the thread is not asked */
	event = tape_zeros(&tape, "FileIo", 67, 3, 54);
	event->record.process_id = 100;
	event->volume = "_unknown";
	event->path = "";
	tape_poke(tape_zeros(&tape, "SystemConfig", 11, 2, 55), "DiskNumber", 1);
	tape_poke(tape_zeros(&tape, "DiskIo", 10, 3, 56), "DiskNumber", 1);
	tape_poke(tape_zeros(&tape, "DiskIo", 10, 3, 57), "DiskNumber", 2);
	tape_poke(tape_zeros(&tape, "DiskIo", 10, 3, 58), "DiskNumber", 0xffffffff);
	for (size_t i = 0; i < tape.count; i++) {
		struct tape_event *each = &tape.events[i];

		if (each->record.raw_time >= 50 && each->record.raw_time <= 54) {
			each->process = i == 6 ? "_none" : i == 4 || i == 5 ? "_unknown" : "alpha";
		}
	}
	player_play(&player, &tape, TWO_PASSES);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.unattributed[MISS_THREAD], 2);
	assert_int_equal(statistics.unattributed[MISS_PROCESS], 1);
	assert_int_equal(statistics.unattributed[MISS_FILE], 1);
	assert_int_equal(statistics.unattributed[MISS_DISK], 2);
	assert_int_equal(statistics.entries[TABLE_PROCESS], 2);
	assert_int_equal(statistics.entries[TABLE_THREAD], 2);
	tape_done(&tape);
	player_done(&player);
}

/* A live session describes its disks later than their first transfers. */
static void live_a_disk_is_missed_only_when_others_are_known(void **state)
{
	static const struct tracker_options live = { .disk_info = true, .live = true };
	struct tracker_statistics statistics;
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &live);
	tape_init(&tape, 8);
	tape_poke(tape_zeros(&tape, "DiskIo", 10, 3, 56), "DiskNumber", 1);
	player_play(&player, &tape, ONE_PASS);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.unattributed[MISS_DISK], 0);
	tracker_find_disk(player.tracker, 255, "", 512);
	player_play(&player, &tape, ONE_PASS);
	tracker_find_disk(player.tracker, 1, "", 512);
	player_play(&player, &tape, ONE_PASS);
	tracker_find_disk(player.tracker, 1, NULL, 0);
	player_play(&player, &tape, ONE_PASS);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.unattributed[MISS_DISK], 2);
	/* After a restart nothing is known. */
	tracker_reset(player.tracker);
	player_play(&player, &tape, ONE_PASS);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.unattributed[MISS_DISK], 2);
	tape_done(&tape);
	player_done(&player);
}

static void tables_and_misses_have_the_names_of_the_metrics(void **state)
{
	(void)state;
	assert_string_equal(tracker_table_name(TABLE_PROCESS), "process");
	assert_string_equal(tracker_table_name(TABLE_THREAD), "thread");
	assert_string_equal(tracker_table_name(TABLE_FILE), "file");
	assert_string_equal(tracker_table_name(TABLE_IRP), "irp");
	assert_string_equal(tracker_table_name(TABLE_IMAGE), "image");
	assert_string_equal(tracker_miss_name(MISS_THREAD), "thread");
	assert_string_equal(tracker_miss_name(MISS_PROCESS), "process");
	assert_string_equal(tracker_miss_name(MISS_FILE), "file");
	assert_string_equal(tracker_miss_name(MISS_DISK), "disk");
}

static void tables_too_small_for_the_recording_are_counted_and_bounded(void **state)
{
	static const struct tracker_options small = { .processes = 10,
						      .threads = 20,
						      .files = 30,
						      .features = TRACK_FILES,
						      .process_gauges = true };

	(void)state;
	for (unsigned passes = ONE_PASS; passes <= TWO_PASSES; passes++) {
		struct player player;
		struct tape tape;
		struct tracker_statistics statistics;

		player_init(&player, &small);
		tape_init(&tape, 8);
		for (uint32_t i = 1; i <= 400; i++) {
			tape_process(&tape, 1, (int64_t)i, i, "a.exe");
			tape_thread(&tape, 1, (int64_t)i, 1000 + i, i);
			etw_payload_pointer(&tape.payload, i);
			etw_payload_wstring(&tape.payload, "\\Device\\X\\a");
			tape_add(&tape, "FileIo", 32, 2, (int64_t)i);
			/* Right after its start it is known, however full the tables are. */
			tape_header(&tape, (int64_t)i, ETW_RECORD_NO_ID, 1000 + i)->process = "a";
		}
		player_play(&player, &tape, (enum passes)passes);
		tracker_statistics(player.tracker, &statistics);
		assert_int_equal(statistics.entries[TABLE_PROCESS], 10);
		assert_int_equal(statistics.entries[TABLE_THREAD], 20);
		assert_int_equal(statistics.entries[TABLE_FILE], 30);
		assert_true(statistics.evictions[TABLE_PROCESS] >= 390);
		assert_true(statistics.evictions[TABLE_THREAD] >= 380);
		assert_true(statistics.evictions[TABLE_FILE] >= 370);
		tape_done(&tape);
		player_done(&player);
	}
}

/* A small generator of our own: the same numbers everywhere. */
static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

static void put_anything(struct tape *tape, uint64_t *seed)
{
	static const char *const classes[] = { "Process", "Thread",    "Image",        "FileIo",
					       "DiskIo",  "SysConfig", "SystemConfig", "PerfInfo" };
	static const uint8_t opcodes[] = { 0,  1,  2,  3,  4,  10, 11, 12, 32, 35,
					   36, 46, 50, 64, 67, 68, 70, 76, 66 };
	uint32_t size = next_random(seed) % 120;
	int64_t time = next_random(seed) % 40 == 0 ? ETW_RECORD_NO_TIME :
						     (int64_t)(next_random(seed) % 200);
	struct tape_event *event;

	for (uint32_t i = 0; i < size; i++) {
		/* Mostly small bytes: ids meet again. */
		etw_payload_u8(&tape->payload, next_random(seed) % 4 ? next_random(seed) % 2 :
								       (uint8_t)next_random(seed));
	}
	event = tape_add(tape, classes[next_random(seed) % 8],
			 opcodes[next_random(seed) % sizeof opcodes],
			 (uint8_t)(next_random(seed) % 6), time);
	event->record.process_id = next_random(seed) % 2 ? next_random(seed) % 4 : ETW_RECORD_NO_ID;
	event->record.thread_id = next_random(seed) % 2 ? next_random(seed) % 4 : ETW_RECORD_NO_ID;
	event->record.processor = (uint16_t)next_random(seed);
}

/* The sanitizers see what is wrong; here only that all can be asked, and that tables stay small. */
static void any_bytes_are_taken(void **state)
{
	static const struct tracker_options small = {
		.process_gauges = true,
		.disk_info = true,
		.image_info = true,
		.features = TRACK_FILES | TRACK_REQUESTS | TRACK_DRIVERS | TRACK_SCHEDULER,
		.processes = 8,
		.threads = 8,
		.files = 8,
		.strings_bytes = 4096,
	};
	struct player player;
	struct tape tape;
	struct tracker_statistics statistics;
	uint64_t seed = 5;

	(void)state;
	player_init(&player, &small);
	for (unsigned round = 0; round < 60; round++) {
		tape_init(&tape, round % 2 ? 4 : 8);
		for (unsigned i = 0; i < 1000; i++) {
			put_anything(&tape, &seed);
		}
		player.ask_all = true;
		player_play(&player, &tape, round % 3 == 0 ? ONE_PASS : TWO_PASSES);
		tracker_statistics(player.tracker, &statistics);
		assert_true(statistics.entries[TABLE_PROCESS] <= 8);
		assert_true(statistics.entries[TABLE_THREAD] <= 8);
		assert_true(statistics.entries[TABLE_FILE] <= 16);
		if (round % 4) {
			tracker_reset(player.tracker);
		}
		tape_done(&tape);
	}
	player_done(&player);
}

/* The rows of the table, which the check of rules and the rule engine trust. */
static void every_derived_field_is_whole(void **state)
{
	const struct derived_field *row;

	(void)state;
	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		print_message("  %s\n", row->name);
		assert_ptr_equal(derived_find(row->name), row); /* no name stands twice */
		assert_int_equal(row->read == NULL, row->constant != NULL);
		assert_int_equal(row->type == TYPE_TEXT, row->form != FORM_NUMBER);
		assert_true(row->origin || !row->reads_origin);
		assert_true(row->field || row->item == 0);
	}
	assert_null(derived_find("path"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_derived_field_is_whole),
		cmocka_unit_test(an_event_belongs_to_the_process_that_section_16_1_says),
		cmocka_unit_test(a_payload_is_believed_only_of_a_classic_event),
		cmocka_unit_test(an_id_that_was_asked_for_before_is_reused),
		cmocka_unit_test(a_thread_that_was_asked_for_before_has_another_process),
		cmocka_unit_test(what_was_asked_for_before_can_be_evicted),
		cmocka_unit_test(instances_have_numbers_of_their_own),
		cmocka_unit_test(an_operation_ends_with_the_irp_it_began_with),
		cmocka_unit_test(requests_that_never_end_make_room_and_are_counted),
		cmocka_unit_test(a_thread_runs_from_its_switch_in_to_its_switch_out),
		cmocka_unit_test(a_call_of_a_minifilter_is_of_the_thread_that_runs),
		cmocka_unit_test(a_page_fault_is_of_the_thread_that_runs),
		cmocka_unit_test(a_routine_lies_in_the_kernel_image_of_the_time),
		cmocka_unit_test(a_rundown_at_the_end_names_drivers_for_earlier_events),
		cmocka_unit_test(any_number_of_images_is_bounded),
		cmocka_unit_test(what_could_not_be_attributed_is_counted_once_an_event),
		cmocka_unit_test(live_a_disk_is_missed_only_when_others_are_known),
		cmocka_unit_test(tables_and_misses_have_the_names_of_the_metrics),
		cmocka_unit_test(tables_too_small_for_the_recording_are_counted_and_bounded),
		cmocka_unit_test(any_bytes_are_taken),
	};

	return cmocka_run_group_tests_name("tracker", tests, NULL, NULL);
}
