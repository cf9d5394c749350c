/* SPDX-License-Identifier: MIT */
/*
 * What existed before the start: names of open files, disks, volumes and services, by the rundown
 * provider and by a harvest session. Against tests/fake_etw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/session.h>

#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/kernel_events.h"
#include "tests/support/temporary.h"

enum { CPU = 10, DISK = 11, VOLUME = 12, SERVICE = 15, FILE_RUNDOWN = 36, MANY = 150000 };

#define HARVEST "etw_test_harvest"

/* Three names, and one of each of SystemConfig; that of the processors is of no use. */
static void add_machine(void)
{
	fake_etw_add_open_files(3);
	fake_etw_add_existing(&fake_config_class, CPU, "0000", 4);
	fake_etw_add_existing(&fake_config_class, DISK, "0000", 4);
	fake_etw_add_existing(&fake_config_class, VOLUME, "0000", 4);
	fake_etw_add_existing(&fake_config_class, SERVICE, "0000", 4);
}

enum { NAMES = 3, OTHERS = 3 };

static const struct fake_etw_options never = { .manual_flush = true,
					       .rundown_provider = FAKE_ETW_NAMES_NEVER };

/* A new machine, and a session that needs the names of files. */
static struct run *begin(const struct fake_etw_options *machine)
{
	static struct run run; /* tests follow one another */

	fake_etw_reset(machine);
	run_begin(&run);
	run.options.kernel_flags = EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_IO |
				   EVENT_TRACE_FLAG_DISK_FILE_IO | EVENT_TRACE_FLAG_FILE_IO_INIT;
	run.options.rundown = true;
	return &run;
}

/* Something happens, and is delivered. */
static void deliver_one(struct run *run)
{
	uint64_t events;

	os_mutex_lock(&run->lock);
	events = run->events;
	os_mutex_unlock(&run->lock);
	emit_process_start(8);
	fake_etw_flush("etw_test");
	assert_true(run_wait(run, &run->events, events + 1));
}

static uint64_t harvests(struct run *run, enum etw_harvest_result result)
{
	return run_statistics(run).harvests[result];
}

static uint64_t from_provider(struct run *run)
{
	return run_statistics(run).names[ETW_NAMES_RUNDOWN_PROVIDER];
}

static uint64_t from_harvest(struct run *run)
{
	return run_statistics(run).names[ETW_NAMES_HARVEST];
}

/* Starts the session, and waits until the first harvest is over. */
static void start_and_harvest(struct run *run)
{
	run_start_and_wait(run, &run->options);
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) >= 1);
}

static void names_disks_and_services_are_known_soon(void **state)
{
	struct run *run = begin(&never);

	(void)state;
	add_machine();
	start_and_harvest(run);
	deliver_one(run);
	assert_int_equal(run->known_files, NAMES);
	assert_int_equal(run->known_others, OTHERS);
	WAIT_UNTIL(from_harvest(run) == NAMES);
	assert_int_equal(from_provider(run), 0);
	assert_int_equal(run_statistics(run).names_lost, 0);
	assert_false(fake_etw_session(HARVEST, &(struct fake_etw_session){ 0 }));
	run_stop(run);
	/* They are no events: those are two starts, and what the session gets when it stops. */
	assert_int_equal(run_statistics(run).records, run->events);
	run_end(run);
}

static void the_rundown_provider_is_asked_after_the_first_buffer(void **state)
{
	static const struct {
		enum fake_etw_rundown_provider provider;
		unsigned at_once, late;
	} cases[] = {
		{ FAKE_ETW_NAMES_AT_ONCE, NAMES, NAMES },
		{ FAKE_ETW_NAMES_LATE, 0, NAMES },
		{ FAKE_ETW_NAMES_NEVER, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct fake_etw_options machine = { .manual_flush = true,
							  .rundown_provider = cases[i].provider };
		struct run *run = begin(&machine);

		add_machine();
		run_start_and_wait(run, &run->options);
		assert_int_equal(fake_etw_calls("EnableTraceEx2"), 0);
		deliver_one(run);
		WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 1);
		assert_int_equal(fake_etw_calls("EnableTraceEx2"), 1);
		assert_true(fake_etw_drain("etw_test", WAIT_MS));
		WAIT_UNTIL(from_provider(run) == cases[i].at_once);
		fake_etw_report_late_names();
		assert_true(fake_etw_drain("etw_test", WAIT_MS));
		WAIT_UNTIL(from_provider(run) == cases[i].late);
		deliver_one(run);
		assert_int_equal(run->known_files, NAMES);
		run_stop(run);
		run_end(run);
	}
}

/* On a machine with a small playback file, and with so many open files. */
static void many_names_are_not_lost(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .playback_buffers = 8 };
	struct run *run = begin(&machine);

	(void)state;
	fake_etw_add_open_files(MANY);
	fake_etw_add_existing(&fake_config_class, DISK, "0000", 4);
	start_and_harvest(run);
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	deliver_one(run);
	assert_int_equal(run->known_files, MANY);
	WAIT_UNTIL(from_provider(run) == MANY);
	WAIT_UNTIL(from_harvest(run) == MANY);
	assert_int_equal(run_statistics(run).names_lost, 0);
	WAIT_UNTIL(run_statistics(run).buffers_written > 0); /* the watcher has looked */
	assert_int_equal(run_statistics(run).events_lost, 0);
	run_stop(run);
	run_end(run);
}

/* More bytes than the session has buffers for: the harvest has them all the same. */
static void names_that_the_session_loses_are_harvested(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	struct run *run = begin(&machine);

	(void)state;
	fake_etw_add_open_files(MANY);
	run->options.buffer_size_bytes = 65536;
	run->options.buffers_min = 8;
	run->options.buffers_max = 16;
	start_and_harvest(run);
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	deliver_one(run);
	assert_int_equal(run->known_files, MANY);
	assert_true(from_provider(run) < MANY);
	WAIT_UNTIL(run_statistics(run).events_lost > 0);
	run_stop(run);
	run_end(run);
}

static void names_beyond_the_memory_are_counted(void **state)
{
	enum { NAME_BYTES = 60000, COUNT = 1200 };
	char *payload = calloc(1, NAME_BYTES);
	struct run *run = begin(&never);

	(void)state;
	assert_non_null(payload);
	for (unsigned i = 0; i < COUNT; i++) {
		fake_etw_add_existing(&fake_file_class, FILE_RUNDOWN, payload, NAME_BYTES);
	}
	free(payload);
	start_and_harvest(run);
	deliver_one(run);
	assert_true(run->known_files > COUNT / 2 && run->known_files < COUNT);
	assert_int_equal(run->known_files + run_statistics(run).names_lost, COUNT);
	run_stop(run);
	run_end(run);
}

static unsigned count_of(struct run *run, enum etw_session_event event)
{
	unsigned count = 0;

	os_mutex_lock(&run->lock);
	for (size_t i = 0; i < run->session_event_count; i++) {
		count += run->session_events[i] == event;
	}
	os_mutex_unlock(&run->lock);
	return count;
}

static void without_a_place_it_is_reported_once_and_tried_again(void **state)
{
	static const char *const others[] = { "a", "b", "c", "d", "e" };
	struct run *run = begin(&never);

	(void)state;
	add_machine();
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		assert_true(fake_etw_other_start(
			others[i], EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE, 0));
	}
	run_start_and_wait(run, &run->options);
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_FAILED) >= 3);
	assert_int_equal(count_of(run, ETW_SESSION_PROVIDER_FAILED), 1);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "names of files that were open before, disks and services are not "
			    "known: no place is free for another session with kernel events, or "
			    "no memory for its buffers (error 1450)");
	assert_true(fake_etw_other_stop("c"));
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 1);
	assert_int_equal(count_of(run, ETW_SESSION_PROVIDER_FAILED), 1);
	deliver_one(run);
	assert_int_equal(run->known_files, NAMES);
	run_stop(run);
	run_end(run);
}

static void without_a_place_losses_let_the_provider_be_asked_again(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .foreign_system_loggers = 5 };
	struct run *run = begin(&machine);

	(void)state;
	add_machine();
	run_start_and_wait(run, &run->options);
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_FAILED) >= 2);
	assert_int_equal(fake_etw_calls("EnableTraceEx2"), 1);
	fake_etw_lose_events("etw_test", 5);
	WAIT_UNTIL(fake_etw_calls("EnableTraceEx2") == 2);
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	WAIT_UNTIL(from_provider(run) == 2 * NAMES);
	run_stop(run);
	run_end(run);
}

static void each_failure_leaves_nothing(void **state)
{
	static const char *const calls[] = { "StartTraceW", "OpenTraceW", "ProcessTrace" };

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		struct run *run = begin(&never);

		print_message("  %s\n", calls[i]);
		add_machine();
		run_start_and_wait(run, &run->options);
		fake_etw_fail(calls[i], ERROR_ACCESS_DENIED, 0);
		deliver_one(run);
		WAIT_UNTIL(harvests(run, ETW_HARVEST_FAILED) == 1);
		assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
				    "names of files that were open before, disks and services are "
				    "not known: access is denied (error 5)");
		WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 1);
		deliver_one(run);
		assert_int_equal(run->known_files, NAMES);
		run_stop(run);
		run_end(run);
	}
}

static void a_machine_that_reports_nothing_is_said(void **state)
{
	struct run *run = begin(&never);

	(void)state;
	run_start_and_wait(run, &run->options);
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_EMPTY) == 1);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "names of files that were open before, disks and services are not "
			    "known: Windows reported none of them when a session stopped");
	run_stop(run);
	run_end(run);
}

static void a_harvest_session_that_a_crash_left_is_stopped(void **state)
{
	static const uint32_t mode = EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE;
	struct run *run = begin(&never);

	(void)state;
	add_machine();
	assert_true(fake_etw_other_start(HARVEST, mode, 0));
	run_start_and_wait(run, &run->options);
	assert_false(fake_etw_session(HARVEST, &(struct fake_etw_session){ 0 }));
	assert_string_equal(run_sentence(run, ETW_SESSION_STALE),
			    "a harvest session was left over and is stopped");
	assert_true(fake_etw_other_start(HARVEST, mode, 0));
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 1);
	assert_int_equal(count_of(run, ETW_SESSION_STALE), 2);
	run_stop(run);
	run_end(run);
}

/* From before any harvest. */
static void emit_old(void)
{
	const struct fake_etw_event old = { .provider = process_class,
					    .descriptor = { .Opcode = 1, .Version = 4 },
					    .classic = true,
					    .timed = true,
					    .raw_time = 1000,
					    .payload = "0000",
					    .payload_size = 4 };

	fake_etw_emit(&old);
	fake_etw_flush("etw_test");
}

static void losses_bring_another_which_waits_for_the_stream(void **state)
{
	struct run *run = begin(&never);
	uint64_t events;

	(void)state;
	add_machine();
	start_and_harvest(run);
	deliver_one(run);
	assert_int_equal(run->known_files, NAMES);
	fake_etw_lose_events("etw_test", 5);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 2);
	events = run->events;
	emit_old();
	assert_true(run_wait(run, &run->events, events + 2)); /* one says that there were losses */
	assert_int_equal(run->known_files, NAMES);
	deliver_one(run);
	assert_int_equal(run->known_files, 2 * NAMES);
	fake_etw_lose_buffers("etw_test", 1);
	emit_process_start(8);
	fake_etw_flush("etw_test");
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 3);
	run_stop(run);
	run_end(run);
}

/* The new session has said nothing yet that must come first. */
static void a_restart_brings_another_which_is_used_at_once(void **state)
{
	struct run *run = begin(&never);
	uint64_t events;

	(void)state;
	add_machine();
	start_and_harvest(run);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait(run, &run->restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 2);
	events = run->events;
	emit_old();
	assert_true(run_wait(run, &run->events, events + 1));
	assert_int_equal(run->known_files, 2 * NAMES);
	run_stop(run);
	run_end(run);
}

/* The session still holds what came before the harvest. */
static void a_consumer_that_ends_brings_another_which_waits_for_the_stream(void **state)
{
	struct run *run = begin(&never);
	uint64_t events;

	(void)state;
	add_machine();
	start_and_harvest(run);
	fake_etw_end_consumer("etw_test", ERROR_CANCELLED);
	WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_ERROR] == 1);
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	deliver_one(run);
	WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 2);
	assert_int_equal(run->restarts, 0);
	events = run->events;
	emit_old();
	assert_true(run_wait(run, &run->events, events + 1));
	assert_int_equal(run->known_files, NAMES);
	deliver_one(run);
	assert_int_equal(run->known_files, 2 * NAMES);
	run_stop(run);
	run_end(run);
}

static void what_is_not_needed_is_not_harvested(void **state)
{
	static const struct {
		const char *name;
		enum etw_live_logger logger;
		uint32_t flags;
		bool rundown, services;
		uint32_t harvest_flags; /* 0: no harvest */
	} cases[] = {
		{ "switched off", ETW_LIVE_PRIVATE, EVENT_TRACE_FLAG_DISK_FILE_IO, false, true, 0 },
		{ "no files", ETW_LIVE_PRIVATE, EVENT_TRACE_FLAG_PROCESS, true, false, 0 },
		{ "kernel logger", ETW_LIVE_NT_KERNEL, EVENT_TRACE_FLAG_DISK_FILE_IO, true, true,
		  EVENT_TRACE_FLAG_DISK_IO | EVENT_TRACE_FLAG_DISK_FILE_IO },
		{ "user", ETW_LIVE_USER, 0, true, true, 0 },
		{ "services", ETW_LIVE_PRIVATE, EVENT_TRACE_FLAG_PROCESS, true, true,
		  EVENT_TRACE_FLAG_DISK_IO },
		{ "disks", ETW_LIVE_PRIVATE, EVENT_TRACE_FLAG_DISK_IO, true, false,
		  EVENT_TRACE_FLAG_DISK_IO },
		{ "files", ETW_LIVE_SYSTEM_PROVIDERS, EVENT_TRACE_FLAG_FILE_IO_INIT, true, false,
		  EVENT_TRACE_FLAG_DISK_IO | EVENT_TRACE_FLAG_DISK_FILE_IO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct run *run = begin(&never);
		struct fake_etw_session harvest;

		print_message("  %s\n", cases[i].name);
		run->options.name = cases[i].logger == ETW_LIVE_NT_KERNEL ? "NT Kernel Logger" :
									    "etw_test";
		run->options.logger = cases[i].logger;
		run->options.kernel_flags = cases[i].flags;
		run->options.rundown = cases[i].rundown;
		run->options.services = cases[i].services;
		run->options.harvest_ms = WAIT_MS;
		run_start_and_wait(run, &run->options);
		if (cases[i].flags & EVENT_TRACE_FLAG_PROCESS) {
			deliver_one(run);
		} else {
			const struct fake_etw_event event = { .provider = process_class,
							      .descriptor = { .Opcode = 1 },
							      .classic = true };

			assert_true(cases[i].harvest_flags == 0 ||
				    fake_etw_other_set_flags(run->options.name,
							     cases[i].flags |
								     EVENT_TRACE_FLAG_PROCESS));
			fake_etw_emit(&event);
			fake_etw_flush(run->options.name);
		}
		if (cases[i].harvest_flags != 0) {
			const char *name = cases[i].logger == ETW_LIVE_NT_KERNEL ?
						   "NT Kernel Logger_harvest" :
						   HARVEST;

			assert_true(fake_etw_wait_consumer(name, WAIT_MS));
			assert_true(fake_etw_session(name, &harvest));
			assert_int_equal(harvest.flags, cases[i].harvest_flags);
		}
		run_stop(run); /* also in the middle of a harvest */
		assert_int_equal(fake_etw_calls("StartTraceW"), cases[i].harvest_flags ? 2 : 1);
		run_end(run);
	}
}

static void a_program_that_dies_in_a_harvest_leaves_no_session(void **state)
{
	char names[4][64];
	struct run *run = begin(&never);

	(void)state;
	add_machine();
	run->options.harvest_ms = WAIT_MS;
	run->options.retry_ms = WAIT_MS;
	run_start_and_wait(run, &run->options);
	deliver_one(run);
	assert_true(fake_etw_wait_consumer(HARVEST, WAIT_MS));
	assert_int_equal(fake_etw_sessions(names, 4), 2);
	etw_live_emergency_stop();
	assert_int_equal(fake_etw_sessions(names, 4), 0);
	run_stop(run);
	run_end(run);
}

static bool count_entry(void *context, const char *name)
{
	(void)name;
	++*(unsigned *)context;
	return true;
}

/* How many threads the program has; 0 where that cannot be counted. */
static unsigned threads(void)
{
	unsigned count = 0;

	os_folder_list("/proc/self/task", count_entry, &count);
	return count;
}

static void a_thousand_sessions_with_harvests_leave_nothing(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	struct os_process_stats before = { 0 }, after;
	unsigned threads_before = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct run *run = begin(&machine);

		add_machine();
		run_start_and_wait(run, &run->options);
		deliver_one(run);
		if (i % 4 != 0) { /* the others stop it at any moment */
			WAIT_UNTIL(harvests(run, ETW_HARVEST_DONE) == 1);
		}
		run_stop(run);
		run_end(run); /* no session, trace or handle is open */
		if (i == 100) {
			os_process_stats(&before);
			threads_before = threads();
		}
	}
	os_process_stats(&after);
	assert_int_equal(threads(), threads_before);
	assert_int_equal(after.open_fds, before.open_fds); /* handles of Windows */
}

/* ---- through the trackers ---- */

static void write_machine(const char *path)
{
	const struct kernel_physical_disk disk = { .number = 0,
						   .bytes_per_sector = 512,
						   .model = "Contoso SSD",
						   .partitions = 1,
						   .boot_drive = "C" };
	const struct kernel_logical_disk volume = {
		.disk = 0, .partition = 3, .drive = "C:\\", .file_system = "NTFS"
	};
	const struct etw_writer_options options = { .processors = 1 };
	struct etw_writer *writer = etw_writer_open(path, &options, NULL);
	struct kernel_events k;

	assert_non_null(writer);
	kernel_events_init(&k, writer, 8);
	kernel_events_at(&k, 0, 1000, 4, 8);
	event_file_name(&k, OP_FILE_NAME_RUNDOWN, 0xbee,
			"\\Device\\HarddiskVolume3\\data\\log.txt");
	event_system_physical_disk(&k, &disk);
	event_system_logical_disk(&k, &volume);
	etw_payload_u32(&k.payload, 100);
	etw_payload_u32(&k.payload, 4); /* it runs */
	etw_payload_u32(&k.payload, 7); /* its tag */
	etw_payload_wstring(&k.payload, "Dhcp");
	etw_payload_wstring(&k.payload, "DHCP Client");
	etw_payload_wstring(&k.payload, "svchost.exe");
	event_add(&k, ETW_RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, SERVICE, 2);
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
}

static void write_events(const char *path)
{
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = 101
	};
	const struct kernel_process process = {
		.id = 100, .parent_id = 4, .image = "svchost.exe", .command_line = "svchost.exe"
	};
	const struct kernel_thread thread = { .process_id = 100, .id = 101, .sub_process_tag = 7 };
	const struct etw_writer_options options = { .processors = 1 };
	struct etw_writer *writer = etw_writer_open(path, &options, NULL);
	struct kernel_events k;

	assert_non_null(writer);
	kernel_events_init(&k, writer, 8);
	kernel_events_at(&k, 0, 1000, 100, 101);
	event_process(&k, OP_DC_START, &process);
	event_thread(&k, OP_DC_START, &thread);
	event_file_transfer(&k, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
}

static void play(const char *path)
{
	const struct fake_etw_play_options options = { .only = "etw_exporter", .now = true };
	struct fake_etw_played played;
	struct etw_error err;

	assert_true(fake_etw_play(path, &options, &played, &err));
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
}

static struct etw_source_statistics statistics_of(struct side *side)
{
	struct runner_session session;

	runner_session(side->runner, 0, &session);
	return session.statistics;
}

/* It has the name of its file, which no other test writes. */
#define COLLECTOR_FILE "test_live_harvest.yaml"
#define COLLECTOR                                              \
	"collector: test_live_harvest\n"                       \
	"help: h\n"                                            \
	"default: on\n"                                        \
	"metrics:\n"                                           \
	"  - name: etw_service_writes_total\n"                 \
	"    type: counter\n"                                  \
	"    help: h\n"                                        \
	"    labels: { process: Process, service: Service }\n" \
	"    events: [ { event: FileIo/Write } ]\n"

static void names_disks_and_services_are_on_the_page(void **state)
{
	static const struct fake_etw_options machine = {
		.manual_flush = true,
		.rundown_provider = FAKE_ETW_NAMES_NEVER,
		.end_rundown_at_stop = true,
	};
	char path[TEMPORARY_PATH_SIZE];
	struct side side;

	(void)state;
	temporary_path(path, "etl");
	temporary_write(COLLECTOR_FILE, COLLECTOR, strlen(COLLECTOR));
	fake_etw_reset(&machine);
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	write_machine(path);
	assert_true(fake_etw_exist_like(path, NULL));
	start_live(&side, "collector_files: [" COLLECTOR_FILE "]\n");
	write_events(path);
	play(path); /* nothing has a name yet */
	WAIT_UNTIL(statistics_of(&side).harvests[ETW_HARVEST_DONE] == 1);
	play(path);
	assert_int_equal(value_of(&side, "\netw_file_written_bytes_total{process=\"svchost\","
					 "provider=\"Windows Kernel\",volume=\"C:\"} "),
			 4096);
	assert_int_equal(value_of(&side, "\netw_service_writes_total{process=\"svchost\","
					 "service=\"Dhcp\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_disk_info{disk=\"0\",model=\"Contoso SSD\","
					 "bytes_per_sector=\"512\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_disk_volume_info{disk=\"0\",partition=\"3\","
					 "volume=\"C:\",file_system=\"NTFS\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_session_names_harvested_total{session=\""
					 "etw_exporter\",source=\"harvest\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_session_harvests_total{session=\"etw_exporter\","
					 "result=\"done\"} "),
			 1);
	end_live(&side);
	remove(path);
	remove(COLLECTOR_FILE);
}

/* A harvest has one writer: its memory does not grow with the processors. */
static void many_processors_do_not_make_a_harvest_large(void **state)
{
	static const struct fake_etw_options many = { .manual_flush = true,
						      .processors = 256,
						      .rundown_provider = FAKE_ETW_NAMES_NEVER };
	/* The second machine refuses the mode. */
	static const struct fake_etw_options refusing = {
		.manual_flush = true,
		.processors = 4,
		.rundown_provider = FAKE_ETW_NAMES_NEVER,
		.refused_modes = EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING
	};
	/* On the third, each processor has two buffers at least. */
	static const struct fake_etw_options both = {
		.manual_flush = true,
		.processors = 256,
		.rundown_provider = FAKE_ETW_NAMES_NEVER,
		.refused_modes = EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING
	};
	static const struct fake_etw_options *const machines[] = { &many, &refusing, &both };

	(void)state;
	for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
		struct run *run = begin(machines[i]);
		struct fake_etw_session harvest;

		if (machines[i] == &both &&
		    GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) != both.processors) {
			run_end(run); /* under Windows the processors are the real ones */
			continue;
		}
		run->options.harvest_ms = WAIT_MS;
		run_start_and_wait(run, &run->options);
		deliver_one(run);
		assert_true(fake_etw_wait_consumer(HARVEST, WAIT_MS));
		assert_true(fake_etw_session(HARVEST, &harvest));
		assert_int_equal(harvest.minimum_buffers * harvest.buffer_size_kb, 64 * 1024);
		assert_int_equal(harvest.maximum_buffers * harvest.buffer_size_kb, 200 * 1024);
		run_stop(run);
		run_end(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_disks_and_services_are_known_soon),
		cmocka_unit_test(many_processors_do_not_make_a_harvest_large),
		cmocka_unit_test(the_rundown_provider_is_asked_after_the_first_buffer),
		cmocka_unit_test(many_names_are_not_lost),
		cmocka_unit_test(names_that_the_session_loses_are_harvested),
		cmocka_unit_test(names_beyond_the_memory_are_counted),
		cmocka_unit_test(without_a_place_it_is_reported_once_and_tried_again),
		cmocka_unit_test(without_a_place_losses_let_the_provider_be_asked_again),
		cmocka_unit_test(each_failure_leaves_nothing),
		cmocka_unit_test(a_machine_that_reports_nothing_is_said),
		cmocka_unit_test(a_harvest_session_that_a_crash_left_is_stopped),
		cmocka_unit_test(losses_bring_another_which_waits_for_the_stream),
		cmocka_unit_test(a_restart_brings_another_which_is_used_at_once),
		cmocka_unit_test(a_consumer_that_ends_brings_another_which_waits_for_the_stream),
		cmocka_unit_test(what_is_not_needed_is_not_harvested),
		cmocka_unit_test(a_program_that_dies_in_a_harvest_leaves_no_session),
		cmocka_unit_test(a_thousand_sessions_with_harvests_leave_nothing),
		cmocka_unit_test(names_disks_and_services_are_on_the_page),
	};
	int failed = cmocka_run_group_tests_name("live_harvest", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}
