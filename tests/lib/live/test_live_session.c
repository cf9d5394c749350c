/* SPDX-License-Identifier: MIT */
/*
 * Live sessions as a source, against tests/fake_etw: what is asked of Windows, and what comes back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/session.h>
#include <etw/source.h>
#include <etw/stack_walk.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"

static const GUID nt_kernel_guid = {
	0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 }
};

/* ---- the session ---- */

static void a_private_session_asks_for_what_does_not_lose(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run_open(run, &run->options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_SYSTEM_LOGGER_MODE,
			 EVENT_TRACE_SYSTEM_LOGGER_MODE);
	assert_int_equal(session.mode & EVENT_TRACE_REAL_TIME_MODE, EVENT_TRACE_REAL_TIME_MODE);
	assert_int_equal(session.mode & EVENT_TRACE_INDEPENDENT_SESSION_MODE,
			 EVENT_TRACE_INDEPENDENT_SESSION_MODE);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	assert_memory_not_equal(&session.guid, &nt_kernel_guid, sizeof(GUID));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD);
	assert_int_equal(session.buffer_size_kb, 256);
	assert_int_equal(session.minimum_buffers, 64);
	assert_int_equal(session.maximum_buffers, 128);
	assert_int_equal(session.flush_timer, 1);
	assert_int_equal(session.clock, 1);
	assert_string_equal(etw_source_facts(run->source)->name, "etw_test");
	assert_string_equal(etw_source_facts(run->source)->type, "system_logger");
	assert_string_equal(etw_source_facts(run->source)->mode,
			    "real_time,persist_on_hybrid_shutdown,system_logger,independent");
	assert_int_equal(etw_source_facts(run->source)->clock.type, ETW_CLOCK_QPC);
	run_end(run); /* closing one that never ran stops the session */
	assert_false(fake_etw_session("etw_test", &session));
}

/* On a machine whose processors are all busy, buffers are lost when ProcessTrace() is late. */
static void a_session_is_consumed_with_priority(void **state)
{
	struct run *run = *state;

	run->options.kernel_flags |= ETW_KERNEL_FLAG_DISK_IO;
	run->options.rundown = true;
	run->options.harvest_ms = WAIT_MS;
	run_start_and_wait(run, &run->options);
	assert_int_equal(fake_etw_consumer_priority("etw_test"), THREAD_PRIORITY_HIGHEST);
	emit_process_start(8);
	fake_etw_flush("etw_test");
	assert_true(fake_etw_wait_consumer("etw_test_harvest", WAIT_MS));
	assert_int_equal(fake_etw_consumer_priority("etw_test_harvest"), THREAD_PRIORITY_HIGHEST);
	run_stop(run);
	run_end(run);
}

/* A server with 4,000 processes: more than all buffers and the playback file have room for. */
static void images_of_a_large_machine_are_not_lost(void **state)
{
	enum { IMAGES = 400000, DC_START = 3 };
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE,
							ETW_LIVE_SYSTEM_PROVIDERS };
	static const GUID image_class = {
		0x2cb15d1d, 0x5fc1, 0x11d2, { 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18 }
	};
	static const char payload[160];

	(void)state;
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		struct run run;

		fake_etw_reset(NULL);
		for (unsigned j = 0; j < IMAGES; j++) {
			fake_etw_add_existing(&image_class, DC_START, payload, sizeof payload);
		}
		run_begin(&run);
		run.options.logger = loggers[i];
		run.options.kernel_flags |= ETW_KERNEL_FLAG_IMAGE_LOAD;
		run_start_and_wait(&run, &run.options);
		assert_true(run_wait(&run, &run.events, IMAGES));
		assert_int_equal(run_statistics(&run).events_lost, 0);
		assert_int_equal(run.events, IMAGES);
		run_stop(&run);
		run_end(&run);
	}
	fake_etw_reset(NULL);
}

/* A reload comes when the session is started and not consumed yet. */
static void a_change_before_the_first_buffer_loses_no_image(void **state)
{
	enum { IMAGES = 20000, DC_START = 3 };
	static const GUID image_class = {
		0x2cb15d1d, 0x5fc1, 0x11d2, { 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18 }
	};
	static const char payload[160];
	struct etw_live_change *change;
	struct run *run = *state;

	for (unsigned i = 0; i < IMAGES; i++) {
		fake_etw_add_existing(&image_class, DC_START, payload, sizeof payload);
	}
	run->options.buffer_size_bytes = 65536;
	run->options.buffers_min = 8;
	run->options.buffers_max = 16;
	run->options.kernel_flags |= ETW_KERNEL_FLAG_IMAGE_LOAD;
	run_open(run, &run->options);
	run->options.kernel_flags |= ETW_KERNEL_FLAG_DISK_IO;
	change = etw_live_change_new(run->source, &run->options, NULL);
	assert_non_null(change);
	etw_live_change_apply(change);
	etw_live_change_free(change);
	assert_true(os_thread_start(&run->thread, run_source_thread, run, NULL));
	assert_true(fake_etw_wait_flag("etw_test", ETW_KERNEL_FLAG_IMAGE_LOAD, WAIT_MS));
	assert_true(fake_etw_wait_flag("etw_test", ETW_KERNEL_FLAG_DISK_IO, WAIT_MS));
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	run_stop(run);
	assert_int_equal(run_statistics(run).events_lost, 0);
	assert_int_equal(run->events, IMAGES);
	run_end(run);
	fake_etw_reset(NULL);
}

static void many_processors_need_more_buffers(void **state)
{
	static const unsigned processors[] = { 8, 32, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof processors / sizeof processors[0]; i++) {
		uint32_t buffers; /* under Windows the processors are the real ones */
		struct fake_etw_session session;
		struct run run;

		fake_etw_reset(&(struct fake_etw_options){ .processors = processors[i] });
		buffers = 4 * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
		buffers = buffers > 64 ? buffers : 64;
		run_begin(&run);
		run_open(&run, &run.options);
		assert_true(fake_etw_session("etw_test", &session));
		assert_in_range(session.minimum_buffers, buffers, 2 * processors[i] + buffers);
		assert_in_range(session.maximum_buffers, 2 * buffers,
				2 * processors[i] + 2 * buffers);
		run_end(&run);
	}
}

static void a_session_begins_with_few_buffers_where_memory_is_short(void **state)
{
	static const struct fake_etw_options machine = { .memory_kb = 4096 };
	struct fake_etw_session session;
	struct run *run = *state;
	uint32_t most;

	fake_etw_reset(NULL);
	run_open(run, &run->options);
	assert_true(fake_etw_session("etw_test", &session));
	most = session.maximum_buffers;
	run_end(run);
	fake_etw_reset(&machine);
	run_begin(run);
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_in_range(session.minimum_buffers, 2, 16);
	assert_int_equal(session.maximum_buffers, most);
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_non_null(strstr(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			       "no memory for the first 64 buffers of 256 KB"));
	run_end(run);
}

/* More processors than a group has, which is 64. */
static void events_of_all_processor_groups_arrive_in_order(void **state)
{
	static const struct fake_etw_options machine = { .processors = 256, .manual_flush = true };
	static const uint16_t order[] = { 255, 0, 64, 63, 128 };
	struct run *run = *state;

	fake_etw_reset(&machine);
	run_start_and_wait(run, &run->options);
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		assert_int_equal(fake_etw_emit(&(struct fake_etw_event){
					 .provider = process_class,
					 .descriptor = { .Opcode = 1, .Version = 4 },
					 .classic = true,
					 .processor = order[i] }),
				 1);
		fake_etw_flush("etw_test");
		assert_true(run_wait(run, &run->events, i + 1));
		assert_int_equal(run->record.processor, order[i]);
	}
	run_stop(run);
	assert_int_equal(run_statistics(run).late_records, 0);
	run_end(run);
}

static void buffers_are_those_of_the_configuration(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run->options.logger = ETW_LIVE_USER;
	run->options.kernel_flags = 0;
	run->options.buffer_size_bytes = 65536;
	run->options.buffers_min = 70;
	run->options.buffers_max = 75;
	run->options.flush_ms = 3000;
	run_open(run, &run->options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_INDEPENDENT_SESSION_MODE,
			 EVENT_TRACE_INDEPENDENT_SESSION_MODE);
	assert_int_equal(session.mode & EVENT_TRACE_SYSTEM_LOGGER_MODE, 0);
	assert_int_equal(session.buffer_size_kb, 64);
	assert_int_equal(session.minimum_buffers, 70);
	assert_int_equal(session.maximum_buffers, 75);
	assert_int_equal(session.flush_timer, 3);
	run_end(run);
}

/* "Logging Mode Constants", Microsoft Learn: that is what INDEPENDENT is for. */
static void an_event_that_another_session_has_no_room_for_arrives(void **state)
{
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE, ETW_LIVE_SYSTEM_PROVIDERS,
							ETW_LIVE_USER };
	const struct fake_etw_event event = { .provider = some_provider };
	struct etw_provider_spec provider;

	(void)state;
	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		struct fake_etw_session session;
		struct run run;

		fake_etw_reset(NULL);
		run_begin(&run);
		run.options.logger = loggers[i];
		run.options.kernel_flags = loggers[i] == ETW_LIVE_USER ? 0 :
									 ETW_KERNEL_FLAG_PROCESS;
		run.options.providers = &provider;
		run.options.provider_count = 1;
		run_start_and_wait(&run, &run.options);
		assert_true(fake_etw_other_start("full", EVENT_TRACE_REAL_TIME_MODE, 0));
		assert_true(fake_etw_other_enable("full", &some_provider, 0, 0));
		fake_etw_fill("full", true);
		for (unsigned j = 0; j < 10; j++) {
			assert_int_equal(fake_etw_emit(&event), 2);
		}
		assert_true(fake_etw_session("etw_test", &session));
		assert_int_equal(session.withheld, 0);
		assert_true(run_wait(&run, &run.events, 10));
		run_stop(&run);
		assert_true(fake_etw_other_stop("full"));
		run_end(&run);
	}
	etw_provider_spec_done(&provider);
}

static void a_mode_that_windows_leaves_out_is_one_warning(void **state)
{
	static const struct {
		uint32_t stripped;
		const char *mode, *sentence;
	} cases[] = {
		{ EVENT_TRACE_INDEPENDENT_SESSION_MODE,
		  "real_time,persist_on_hybrid_shutdown,system_logger",
		  "Windows left out the logging mode independent: an event of a provider that "
		  "another session has no room for is lost here, too, and is counted nowhere" },
		{ EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN, "real_time,system_logger",
		  "Windows left out the logging mode independent: an event of a provider that "
		  "another session has no room for is lost here, too, and is counted nowhere" },
		{ EVENT_TRACE_USE_MS_FLUSH_TIMER, /* which was not asked for */
		  "real_time,persist_on_hybrid_shutdown,system_logger,independent", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct fake_etw_options machine = { .stripped_modes = cases[i].stripped };
		unsigned warnings = 0;
		struct run run;

		fake_etw_reset(&machine);
		run_begin(&run);
		run_start_and_wait(&run, &run.options);
		assert_string_equal(etw_source_facts(run.source)->mode, cases[i].mode);
		assert_true(fake_etw_other_stop("etw_test"));
		assert_true(run_wait(&run, &run.restarts, 1));
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
		run_stop(&run);
		for (size_t j = 0; j < run.session_event_count; j++) {
			warnings += run.session_events[j] == ETW_SESSION_PROVIDER_FAILED;
		}
		assert_int_equal(warnings, cases[i].sentence[0] ? 1 : 0);
		assert_string_equal(run_sentence(&run, ETW_SESSION_PROVIDER_FAILED),
				    cases[i].sentence);
		run_end(&run);
	}
}

/* Events are missing sooner there, but there are events. */
static void a_session_does_without_modes_that_windows_refuses(void **state)
{
	static const struct fake_etw_options machine = {
		.refused_modes = EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN
	};
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE, ETW_LIVE_NT_KERNEL };

	(void)state;
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		struct run run;

		fake_etw_reset(&machine);
		run_begin(&run);
		run.options.logger = loggers[i];
		run.options.name = loggers[i] == ETW_LIVE_NT_KERNEL ? "NT Kernel Logger" :
								      "etw_test";
		run_start_and_wait(&run, &run.options);
		assert_string_equal(etw_source_facts(run.source)->mode, "real_time,system_logger");
		assert_non_null(strstr(run_sentence(&run, ETW_SESSION_PROVIDER_FAILED),
				       "left out the logging mode independent: "));
		emit_process_start(8);
		assert_true(run_wait(&run, &run.events, 1));
		run_stop(&run);
		run_end(&run);
	}
}

static void samples_need_a_privilege_that_is_switched_on(void **state)
{
	struct run *run = *state;

	run->options.kernel_flags |= ETW_KERNEL_FLAG_PROFILE;
	run_open(run, &run->options);
	run_end(run);
}

/* PERF_POOL is 0x20000040 and PERF_OB_HANDLE 0x80000040: their top three bits are the word. */
static void groups_beyond_the_flags_are_switched_on(void **state)
{
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE, ETW_LIVE_SYSTEM_PROVIDERS,
							ETW_LIVE_NT_KERNEL };
	static const GUID pool_class = {
		0x0268a8b6, 0x74fd, 0x4302, { 0x9d, 0xd0, 0x6e, 0x8f, 0x17, 0x95, 0xc0, 0xcf }
	};
	const struct fake_etw_event pool = { .provider = pool_class,
					     .descriptor = { .Opcode = 32, .Version = 2 },
					     .classic = true };

	(void)state;
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		struct run run;
		struct fake_etw_session session;

		fake_etw_reset(NULL);
		run_begin(&run);
		run.options.logger = loggers[i];
		run.options.name = loggers[i] == ETW_LIVE_NT_KERNEL ? "NT Kernel Logger" :
								      run.options.name;
		for (uint32_t j = 0; j < ETW_KERNEL_GROUP_COUNT; j++) {
			if (strcmp(etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + j], "POOL") == 0 ||
			    strcmp(etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + j], "OB_HANDLE") ==
				    0) {
				run.options.kernel_groups |= 1U << j;
			}
		}
		run_open(&run, &run.options);
		assert_true(fake_etw_session(run.options.name, &session));
		assert_int_equal(session.masks[1], 0x40);
		assert_int_equal(session.masks[4], 0x40);
		assert_int_equal(fake_etw_emit(&pool), 1);
		run_end(&run);
	}
}

static void a_session_does_without_groups_that_windows_refuses(void **state)
{
	struct run *run = *state;

	run->options.kernel_groups = 1;
	fake_etw_fail("TraceSetInformation", ERROR_NOT_SUPPORTED, 0);
	run_start_and_wait(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "kernel events beyond the flags could not be enabled: this Windows "
			    "does not support it (error 50)");
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	run_end(run);
}

/* One of each event with a stack, and one without. */
static void emit_start_and_stop(void)
{
	for (UCHAR opcode = ETW_KERNEL_OPCODE_START; opcode <= ETW_KERNEL_OPCODE_STOP; opcode++) {
		const struct fake_etw_event event = { .provider = process_class,
						      .descriptor = { .Opcode = opcode },
						      .classic = true,
						      .process_id = 4,
						      .thread_id = 8 };

		assert_int_equal(fake_etw_emit(&event), 1);
	}
}

static void count_stacks(void *context, const struct etw_record *record)
{
	struct etw_stack_walk walk;
	uint64_t *stacks = context;

	if (etw_stack_walk_read(record, &walk)) {
		assert_int_equal(walk.process_id, 4);
		assert_int_equal(walk.thread_id, 8);
		assert_int_equal(walk.address_count, 2);
		++*stacks;
	}
}

/* Also in the session that is started again after another program stopped it. */
static void stacks_come_with_the_kernel_events_that_are_listed(void **state)
{
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE, ETW_LIVE_SYSTEM_PROVIDERS,
							ETW_LIVE_NT_KERNEL };
	struct etw_kernel_event stops = { .opcode = ETW_KERNEL_OPCODE_STOP };

	(void)state;
	assert_true(etw_kernel_class_find("Process", strlen("Process"), &stops.class_guid));
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		uint64_t stacks = 0;
		struct run run;

		fake_etw_reset(NULL);
		run_begin(&run);
		run.options.logger = loggers[i];
		run.options.name = loggers[i] == ETW_LIVE_NT_KERNEL ? "NT Kernel Logger" :
								      run.options.name;
		run.options.stacks = &stops;
		run.options.stack_count = 1;
		run.on_record = count_stacks;
		run.context = &stacks;
		run_start_and_wait(&run, &run.options);
		emit_start_and_stop();
		assert_true(run_wait(&run, &run.events, 3));
		assert_true(fake_etw_other_stop(run.options.name));
		assert_true(run_wait(&run, &run.restarts, 1));
		assert_true(fake_etw_wait_consumer(run.options.name, WAIT_MS));
		emit_start_and_stop();
		assert_true(run_wait(&run, &run.events, 6));
		run_stop(&run);
		assert_int_equal(run.events, 6);
		assert_int_equal(stacks, 2);
		run_end(&run);
	}
}

static void a_session_does_without_stacks_that_windows_refuses(void **state)
{
	struct etw_kernel_event no_class = { .opcode = 1 };
	struct run *run = *state;

	run->options.stacks = &no_class;
	run->options.stack_count = 1;
	run_start_and_wait(run, &run->options);
	assert_string_equal(
		run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
		"kernel events get no call stacks: a parameter is not valid (error 87)");
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	run_end(run);
}

static void the_sample_interval_is_known_while_samples_are_taken(void **state)
{
	TRACE_PROFILE_INTERVAL interval = { 0, 2500 };
	struct run *run = *state;

	run->options.kernel_flags |= EVENT_TRACE_FLAG_PROFILE;
	run_start_and_wait(run, &run->options);
	assert_int_equal(run_statistics(run).sample_interval_100ns, 10000);
	/* Another program may change it. */
	assert_int_equal(TraceSetInformation(0, TraceSampledProfileIntervalInfo, &interval,
					     sizeof interval),
			 ERROR_SUCCESS);
	WAIT_UNTIL(run_statistics(run).sample_interval_100ns == 2500);
	run_stop(run);
	run_end(run);
}

static void without_samples_there_is_no_interval(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	assert_true(run_statistics(run).sample_interval_100ns == UINT64_MAX);
	run_stop(run);
	run_end(run);
}

/* Toolhelp says "Memory Compression", events of the kernel "MemCompression": one process, one name.
 */
static void a_process_has_the_name_that_events_give_it(void **state)
{
	struct run *run = *state;
	bool found = false;

	fake_etw_add_process(2400, 4, "Memory Compression");
	run_start_and_wait(run, &run->options);
	run_stop(run);
	for (size_t i = 0; i < run->name_count; i++) {
		found = found || strcmp(run->names[i], "2400 = MemCompression") == 0;
	}
	assert_true(found);
	run_end(run);
}

/* Two are Windows' own, six are other programs'. */
static void all_eight_system_loggers_in_use_are_reported(void **state)
{
	static const struct fake_etw_options machine = { .foreign_system_loggers = 6 };
	struct run *run = *state;
	struct etw_error err = { 0 };

	fake_etw_reset(&machine);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text,
			    "session etw_test: Windows has no resources for it (error 1450): all "
			    "64 sessions, or all 8 with kernel events, are in use, its "
			    "buffers are too large, or "
			    "%SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup has no room; "
			    "`kernel_events: off` in the configuration needs none of the 8");
	run->options.logger = ETW_LIVE_USER;
	run->options.kernel_flags = 0;
	run_open(run, &run->options); /* which is none of them */
	run_end(run);
}

static void the_number_of_sessions_is_that_of_the_machine(void **state)
{
	static const struct {
		struct fake_etw_options machine;
		unsigned sessions;
	} cases[] = {
		{ { .max_loggers = 32, .foreign_sessions = 32 }, 32 },
		{ { .max_loggers = 200, .foreign_sessions = 200 }, 200 },
		{ { .os_build = 15063, .foreign_sessions = 64 }, 64 }, /* cannot be queried */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char expected[320];
		struct etw_error err = { 0 };
		struct run run;

		fake_etw_reset(&cases[i].machine);
		run_begin(&run);
		assert_null(etw_source_open_live(&run.options, &err));
		snprintf(expected, sizeof expected,
			 "session etw_test: Windows has no resources for it (error 1450): all %u "
			 "sessions, or all 8 with kernel events, are in use, its buffers are too "
			 "large, or %%SystemRoot%%\\System32\\LogFiles\\WMI\\RtBackup has no room; "
			 "`kernel_events: off` in the configuration needs none of the 8",
			 cases[i].sessions);
		assert_string_equal(err.text, expected);
		run_end(&run);
	}
}

/* ---- events ---- */

static void an_event_arrives_as_it_was_written(void **state)
{
	static const uint8_t sid[] = { 1, 2, 3, 4, 5 };
	static const uint64_t key = 0x1122334455667788;
	const struct fake_etw_item items[] = {
		{ .type = ETW_EXTENDED_SID, .size = sizeof sid, .data = sid },
		{ .type = ETW_EXTENDED_PROCESS_START_KEY, .size = sizeof key, .data = &key },
	};
	struct fake_etw_event event = {
		.provider = some_provider,
		.descriptor = { .Id = 300,
				.Version = 2,
				.Channel = 3,
				.Level = 4,
				.Opcode = 5,
				.Task = 600,
				.Keyword = 0x10 },
		.process_id = 77,
		.thread_id = 78,
		.processor = 3,
		.pointer_size = 4,
		.activity = { 1, 2, 3, { 4 } },
		.items = items,
		.item_count = 2,
		.payload = "payload",
		.payload_size = 7,
	};
	struct etw_provider_spec provider;
	struct run *run = *state;
	struct etw_extended_item item;

	assert_true(
		etw_provider_spec_parse(&provider, "{11111111-2222-3333-4444-555555555555}", NULL));
	run->options.providers = &provider;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_memory_equal(run->provider.bytes, &some_provider, 16);
	assert_int_equal(run->record.id, 300);
	assert_int_equal(run->record.version, 2);
	assert_int_equal(run->record.channel, 3);
	assert_int_equal(run->record.level, 4);
	assert_int_equal(run->record.opcode, 5);
	assert_int_equal(run->record.task, 600);
	assert_int_equal(run->record.keyword, 0x10);
	assert_int_equal(run->record.process_id, 77);
	assert_int_equal(run->record.thread_id, 78);
	assert_int_equal(run->record.processor, 3);
	assert_int_equal(run->record.pointer_size, 4);
	assert_int_equal(run->record.type, ETW_RECORD_EVENT);
	assert_false(run->record.classic);
	assert_true(run->had_activity);
	assert_int_equal(run->activity.bytes[0], 1);
	assert_int_equal(run->record.payload_size, 7);
	assert_memory_equal(run->payload, "payload", 7);
	assert_true(run->record.raw_time > 0);
	assert_int_equal(run->record.time, etw_clock_time(&etw_source_facts(run->source)->clock,
							  run->record.raw_time));
	assert_int_equal(run->record.extended_size, 32);
	assert_true(etw_record_find_extended(&run->record, ETW_EXTENDED_SID, &item));
	assert_int_equal(item.size, 5);
	assert_memory_equal(item.data, sid, 5);
	assert_true(etw_record_find_extended(&run->record, ETW_EXTENDED_PROCESS_START_KEY, &item));
	assert_int_equal(item.size, 8);
	assert_memory_equal(item.data, &key, 8);
	run_end(run);
	etw_provider_spec_done(&provider);
}

static void an_item_without_its_data_is_left_out_and_counted(void **state)
{
	static const uint64_t key = 0x1122334455667788;
	const struct fake_etw_item items[] = {
		{ .type = ETW_EXTENDED_SID, .size = 5 },
		{ .type = ETW_EXTENDED_SESSION_ID },
		{ .type = ETW_EXTENDED_PROCESS_START_KEY, .size = sizeof key, .data = &key },
	};
	const struct fake_etw_event event = { .provider = some_provider,
					      .descriptor = { .Id = 300 },
					      .items = items,
					      .item_count = 3 };
	struct etw_provider_spec provider;
	struct run *run = *state;
	struct etw_extended_item item;

	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	run->options.providers = &provider;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_int_equal(run->record.id, 300);
	assert_int_equal(run->record.payload_size, 0);
	assert_int_equal(run_statistics(run).bad_records, 1);
	assert_false(etw_record_find_extended(&run->record, ETW_EXTENDED_SID, &item));
	assert_true(etw_record_find_extended(&run->record, ETW_EXTENDED_SESSION_ID, &item));
	assert_int_equal(item.size, 0);
	assert_true(etw_record_find_extended(&run->record, ETW_EXTENDED_PROCESS_START_KEY, &item));
	assert_memory_equal(item.data, &key, 8);
	run_end(run);
	etw_provider_spec_done(&provider);
}

static void a_kernel_event_is_a_classic_one(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_true(run->record.classic);
	assert_int_equal(run->record.type, ETW_RECORD_FULL);
	assert_int_equal(run->record.opcode, 1);
	assert_int_equal(run->record.version, 4);
	assert_int_equal(run->record.id, 0);
	assert_int_equal(run->record.pointer_size, 8);
	assert_int_equal(run->record.process_id, 8);
	assert_false(run->had_activity);
	assert_memory_equal(run->provider.bytes, &process_class, 16);
	run_end(run);
}

static void what_the_session_holds_at_the_stop_is_delivered(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	for (uint32_t i = 0; i < 500; i++) {
		emit_process_start(i);
	}
	run_stop(run); /* not flushed before */
	assert_int_equal(run->events, 500);
	assert_int_equal(run_statistics(run).records, 500);
	assert_true(run_statistics(run).buffers > 0);
	assert_true(run_statistics(run).last_time == run->record.time);
	run_end(run);
}

static void lose_at_the_end(void *context, const struct etw_record *record)
{
	const uint64_t *seen = context;

	(void)record;
	if (*seen == 999) { /* the last one, which is delivered while the stop waits for it */
		fake_etw_lose_events("etw_test", 3);
	}
}

/* The statistics are those of the moment before the consumer is closed. */
static void losses_of_the_last_moment_count(void **state)
{
	struct run *run = *state;

	run->on_record = lose_at_the_end;
	run->context = &run->events;
	run->options.buffer_size_bytes = 16384;
	run->options.watch_ms = 60000;
	run_start_and_wait(run, &run->options);
	for (uint32_t i = 0; i < 1000; i++) {
		emit_process_start(i);
	}
	run_stop(run);
	assert_int_equal(run->events, 1000);
	assert_int_equal(run_statistics(run).events_lost, 3);
	run_end(run);
}

static void slow(void *context, const struct etw_record *record)
{
	unsigned *seen = context;

	(void)record;
	if (++*seen % 50 == 0) {
		Sleep(1);
	}
}

static void emit_state(void *context, const struct fake_etw_callback *callback)
{
	const struct fake_etw_event event = { .provider = some_provider,
					      .descriptor = { .Keyword = 2 } };

	(void)context;
	if (callback->is_enabled == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		(void)fake_etw_emit(&event);
	}
}

/* Longer than a provider gets at the start. */
static void emit_state_late(void *context, const struct fake_etw_callback *callback)
{
	if (callback->is_enabled == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		Sleep(1500);
	}
	emit_state(context, callback);
}

static void state_that_a_slow_provider_writes_at_the_stop_is_delivered(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	struct fake_etw_provider *emitter;
	struct etw_provider_spec provider;
	struct run *run = *state;

	fake_etw_reset(&machine);
	emitter = fake_etw_provider_open(&some_provider, emit_state_late, NULL);
	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	provider.any = 1;
	provider.capture_at_stop = 2;
	run->options.providers = &provider;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	run_stop(run);
	assert_int_equal(run->events, 1);
	assert_memory_equal(run->provider.bytes, &some_provider, 16);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	fake_etw_provider_close(emitter);
	run_end(run);
	etw_provider_spec_done(&provider);
}

/* A provider gets the time that is configured for it, also when it never answers. */
static void a_provider_that_never_answers_delays_the_stop_for_its_time(void **state)
{
	struct fake_etw_provider *blocked;
	struct etw_provider_spec provider;
	struct run *run = *state;
	uint64_t began;

	blocked = fake_etw_provider_open(&some_provider, NULL, NULL);
	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	provider.any = 1;
	provider.capture_at_stop = 2;
	provider.capture_timeout_ms = 1100;
	run->options.providers = &provider;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	fake_etw_provider_block(blocked, true);
	began = os_monotonic_ns();
	run_stop(run);
	assert_true(os_monotonic_ns() - began >= UINT64_C(1000000000));
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "provider " SOME_PROVIDER ": its state could not be captured: it took "
			    "too long (error 1460)");
	fake_etw_provider_block(blocked, false);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	fake_etw_provider_close(blocked);
	run_end(run);
	etw_provider_spec_done(&provider);
}

/* The state that is captured at the stop, and what a slow consumer has not got yet. */
static void a_stop_delivers_first_and_closes_the_consumer(void **state)
{
	static const struct fake_etw_options machines[] = {
		{ .manual_flush = true },
		{ .manual_flush = true, .close_drops = true },
		{ .manual_flush = true, .lost_at_stop = 9 },
	};
	enum { EVENTS = 2000 };
	struct etw_provider_spec provider;

	(void)state;
	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	provider.any = 1;
	provider.capture_at_stop = 2;
	for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
		struct fake_etw_provider *emitter;
		unsigned seen = 0;
		struct run run;

		print_message("  machine %zu\n", i);
		fake_etw_reset(&machines[i]);
		emitter = fake_etw_provider_open(&some_provider, emit_state, NULL);
		run_begin(&run);
		run.options.providers = &provider;
		run.options.provider_count = 1;
		run.options.buffer_size_bytes = 16384; /* so that there are many */
		run.on_record = slow;
		run.context = &seen;
		run_start_and_wait(&run, &run.options);
		for (uint32_t j = 0; j < EVENTS; j++) {
			emit_process_start(j);
		}
		run_stop(&run);
		assert_int_equal(run.events, EVENTS + 1);
		assert_memory_equal(run.provider.bytes, &some_provider, 16); /* the last one */
		assert_int_equal(run_statistics(&run).events_lost, 0);
		assert_int_equal(fake_etw_stops_while_consumed(), 0);
		assert_string_equal(run_sentence(&run, ETW_SESSION_STOPPED), "stopped");
		fake_etw_provider_close(emitter);
		run_end(&run);
	}
	etw_provider_spec_done(&provider);
}

/* A consumer that does not return must not keep the session, which costs memory of the kernel. */
static void a_stop_does_not_wait_for_ever(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run->options.stop_grace_ms = 50;
	run_start_and_wait(run, &run->options);
	fake_etw_hold_consumer("etw_test", true);
	emit_process_start(8);
	etw_source_stop(run->source);
	WAIT_UNTIL(!fake_etw_session("etw_test", &session));
	fake_etw_hold_consumer("etw_test", false);
	os_thread_join(&run->thread);
	run_end(run);
}

static void what_exists_is_reported_before_events(void **state)
{
	struct run *run = *state;

	fake_etw_add_process(4, 0, "System");
	fake_etw_add_process(8, 4,
			     "notep\xc3\xa4"
			     "d.exe");
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	fake_etw_add_volume("D:", "\\??\\C:\\folder");
	run_start_and_wait(run, &run->options);
	run_stop(run);
	assert_int_equal(run->snapshots, 1);
	assert_int_equal(run->restarts, 0);
	assert_true(run->name_count >= 2);
	for (size_t i = 0; i < 2; i++) {
		const char *expected = i == 0 ? "4 = System" :
						"8 = notep\xc3\xa4"
						"d.exe";
		bool found = false;

		for (size_t j = 0; j < run->name_count; j++) {
			found = found || strcmp(run->names[j], expected) == 0;
		}
		assert_true(found);
	}
	assert_int_equal(run->volume_count, 1);
	assert_string_equal(run->volumes[0], "\\Device\\HarddiskVolume3 = C:");
	run_end(run);
}

/* ---- losses ---- */

static void losses_are_counted_over_restarts(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	fake_etw_lose_events("etw_test", 7);
	WAIT_UNTIL(run_statistics(run).events_lost == 7);
	assert_true(fake_etw_other_stop("etw_test"));
	WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_STOPPED] == 1);
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	fake_etw_lose_events("etw_test", 5);
	run_stop(run); /* the last statistics are those that the stop returns */
	assert_int_equal(run_statistics(run).events_lost, 12);
	run_end(run);
}

static void losses_survive_a_wrap(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	for (unsigned i = 1; i <= 3; i++) {
		fake_etw_lose_events("etw_test", 0x70000000);
		WAIT_UNTIL(run_statistics(run).events_lost == i * UINT64_C(0x70000000));
	}
	run_stop(run);
	assert_true(run_statistics(run).events_lost == UINT64_C(0x150000000));
	run_end(run);
}

static void buffers_are_reported(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	WAIT_UNTIL(run_statistics(run).up);
	WAIT_UNTIL(run_statistics(run).buffers_allocated > 0);
	assert_int_equal(run_statistics(run).buffers_max, 128);
	assert_int_equal(run_statistics(run).buffer_size_bytes, 262144);
	run_stop(run);
	assert_false(run_statistics(run).up);
	run_end(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_private_session_asks_for_what_does_not_lose, run_set_up),
		cmocka_unit_test_setup(a_session_is_consumed_with_priority, run_set_up),
		cmocka_unit_test(images_of_a_large_machine_are_not_lost),
		cmocka_unit_test_setup(events_of_all_processor_groups_arrive_in_order, run_set_up),
		cmocka_unit_test_setup(a_change_before_the_first_buffer_loses_no_image, run_set_up),
		cmocka_unit_test_setup(a_session_begins_with_few_buffers_where_memory_is_short,
				       run_set_up),
		cmocka_unit_test_setup(many_processors_need_more_buffers, run_set_up),
		cmocka_unit_test_setup(buffers_are_those_of_the_configuration, run_set_up),
		cmocka_unit_test_setup(an_event_that_another_session_has_no_room_for_arrives,
				       run_reset),
		cmocka_unit_test_setup(a_mode_that_windows_leaves_out_is_one_warning, run_reset),
		cmocka_unit_test_setup(a_session_does_without_modes_that_windows_refuses,
				       run_reset),
		cmocka_unit_test_setup(samples_need_a_privilege_that_is_switched_on, run_set_up),
		cmocka_unit_test_setup(groups_beyond_the_flags_are_switched_on, run_reset),
		cmocka_unit_test_setup(a_session_does_without_groups_that_windows_refuses,
				       run_set_up),
		cmocka_unit_test_setup(stacks_come_with_the_kernel_events_that_are_listed,
				       run_reset),
		cmocka_unit_test_setup(a_session_does_without_stacks_that_windows_refuses,
				       run_set_up),
		cmocka_unit_test_setup(the_sample_interval_is_known_while_samples_are_taken,
				       run_set_up),
		cmocka_unit_test_setup(without_samples_there_is_no_interval, run_set_up),
		cmocka_unit_test_setup(a_process_has_the_name_that_events_give_it, run_set_up),
		cmocka_unit_test_setup(all_eight_system_loggers_in_use_are_reported, run_set_up),
		cmocka_unit_test_setup(the_number_of_sessions_is_that_of_the_machine, run_reset),
		cmocka_unit_test_setup(an_event_arrives_as_it_was_written, run_set_up),
		cmocka_unit_test_setup(an_item_without_its_data_is_left_out_and_counted,
				       run_set_up),
		cmocka_unit_test_setup(a_kernel_event_is_a_classic_one, run_set_up),
		cmocka_unit_test_setup(what_the_session_holds_at_the_stop_is_delivered,
				       run_set_up_manual),
		cmocka_unit_test_setup(a_stop_delivers_first_and_closes_the_consumer, run_reset),
		cmocka_unit_test_setup(state_that_a_slow_provider_writes_at_the_stop_is_delivered,
				       run_set_up),
		cmocka_unit_test_setup(a_provider_that_never_answers_delays_the_stop_for_its_time,
				       run_set_up),
		cmocka_unit_test_setup(losses_of_the_last_moment_count, run_set_up_manual),
		cmocka_unit_test_setup(a_stop_does_not_wait_for_ever, run_set_up_manual),
		cmocka_unit_test_setup(what_exists_is_reported_before_events, run_set_up),
		cmocka_unit_test_setup(losses_are_counted_over_restarts, run_set_up),
		cmocka_unit_test_setup(losses_survive_a_wrap, run_set_up),
		cmocka_unit_test_setup(buffers_are_reported, run_set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
