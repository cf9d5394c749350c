/* SPDX-License-Identifier: MIT */
/*
 * Reloads of live sessions against tests/fake_etw: providers, kernel events and sessions come and
 * go while events flow, and every event that Windows gives to a session is counted.
 */
#include <etw/kernel.h>

#include "exporter/reload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/log.h"
#include "base/os.h"
#include "config/builtin.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/temporary.h"

#define OTHER_PROVIDER "{22222222-2222-3333-4444-555555555555}"

static const GUID other_provider = {
	0x22222222, 0x2222, 0x3333, { 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 }
};

#define SESSION(providers) "sessions: { noise: { logger: user, providers: [" providers "] } }\n"
#define ONE                SESSION("'" SOME_PROVIDER "'")
#define BOTH               SESSION("'" SOME_PROVIDER "', '" OTHER_PROVIDER "'")
#define COUNT(provider)    "\netw_consumer_events_total{session=\"noise\",provider=\"" provider "\"} "

struct reloading {
	struct side side;
	struct setup_options setup;
	struct reload *reload;
	char path[TEMPORARY_PATH_SIZE];
};

static void write_config(const struct reloading *reloading, const char *config)
{
	remove(reloading->path);
	temporary_write(reloading->path, config, strlen(config));
}

static void begin(struct reloading *reloading, const char *config, bool watched)
{
	struct etw_error err = { 0 };

	memset(reloading, 0, sizeof *reloading);
	temporary_path(reloading->path, "yaml");
	write_config(reloading, config);
	program_set_up(&reloading->side.program, config, &reloading->setup);
	if (watched) {
		open_live(&reloading->side);
	} else {
		open_live_unwatched(&reloading->side);
	}
	reloading->reload =
		reload_new(&(struct reload_options){ .config_file = reloading->path,
						     .setup = &reloading->setup,
						     .current = &reloading->side.program.setup,
						     .runner = reloading->side.runner,
						     .health = reloading->side.program.health,
						     .log_level_set = true,
						     .log_level = LOG_WARNING },
			   &err);
	assert_string_equal(err.text, "");
}

static void begin_consumed(struct reloading *reloading, const char *config, bool watched)
{
	begin(reloading, config, watched);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
}

static void reload_with(struct reloading *reloading, const char *config)
{
	struct etw_error err = { 0 };

	write_config(reloading, config);
	reload_now(reloading->reload, &err);
	assert_string_equal(err.text, "");
}

static struct registry *registry_now;

static void keep_registry(void *context, const struct setup *setup)
{
	(void)context;
	registry_now = setup->registry;
}

/* As take_page() and value_of(), with the set-up that is in force. The program's own stays as it
 * is, because its consumers may use it. */
static const char *page_now(struct reloading *reloading)
{
	struct side *side = &reloading->side;
	struct program now = side->program;

	reload_use_setup(reloading->reload, keep_registry, NULL);
	now.setup.registry = registry_now;
	text_free(&side->page);
	side->page = program_page(&now);
	return side->page.data;
}

static uint64_t value_now(struct reloading *reloading, const char *line)
{
	const char *at = strstr(page_now(reloading), line);

	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

static void end(struct reloading *reloading)
{
	stop_live(&reloading->side);
	reload_end(reloading->reload);
	health_free(reloading->side.program.health);
	runner_free(reloading->side.runner);
	reload_free(reloading->reload);
	setup_close(&reloading->side.program.setup);
	text_free(&reloading->side.page);
	remove(reloading->path);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
	assert_int_equal(fake_etw_open_things().registrations, 0);
}

static uint32_t flags_of(const char *session)
{
	struct fake_etw_session now;

	return fake_etw_session(session, &now) ? now.flags : 0;
}

/* ---- a thread that writes events of two providers ---- */

struct writer {
	struct os_thread thread;
	_Atomic(bool) stopping;
	_Atomic(uint64_t) written;
	uint64_t taken[2]; /* by the session, of each provider */
};

static void write_events(void *context)
{
	struct writer *writer = context;

	while (!atomic_load(&writer->stopping)) {
		for (int i = 0; i < 2; i++) {
			struct fake_etw_event event = {
				.provider = i == 0 ? some_provider : other_provider,
				.descriptor = { .Id = 1, .Level = 4, .Keyword = 1 },
				.process_id = 8,
				.payload = "",
			};

			writer->taken[i] += fake_etw_emit(&event);
		}
		atomic_fetch_add(&writer->written, 1);
		if (atomic_load(&writer->written) % 50 == 0) {
			fake_etw_drain("noise", WAIT_MS);
		}
	}
}

static void every_event_counts_while_providers_come_and_go(void **state)
{
	struct reloading reloading;
	struct writer writer = { .written = 0 };
	struct etw_error err = { 0 };

	(void)state;
	begin_consumed(&reloading, ONE, false);
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	assert_true(os_thread_start(&writer.thread, write_events, &writer, &err));
	for (int i = 0; i < 20; i++) {
		uint64_t before = atomic_load(&writer.written);

		reload_with(&reloading, i % 2 == 0 ? BOTH : ONE);
		WAIT_UNTIL(atomic_load(&writer.written) > before + 20);
	}
	atomic_store(&writer.stopping, true);
	os_thread_join(&writer.thread);
	assert_true(fake_etw_drain("noise", WAIT_MS));
	/* The one that stays has no gap. */
	assert_int_equal(writer.taken[0], writer.written);
	assert_int_equal(value_now(&reloading, COUNT("11111111-2222-3333-4444-555555555555")),
			 writer.taken[0]);
	assert_in_range(writer.taken[1], 1, writer.written - 1);
	assert_int_equal(value_now(&reloading, COUNT("22222222-2222-3333-4444-555555555555")),
			 writer.taken[1]);
	assert_int_equal(value_now(&reloading, "\netw_exporter_config_last_reload_successful "), 1);
	end(&reloading);
}

static void kernel_events_follow_the_collectors(void **state)
{
	struct reloading reloading;

	(void)state;
	begin_consumed(&reloading, "collectors: { sched: off }\n", true);
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH, 0);
	reload_with(&reloading, "collectors: { sched: on, network: off }\n");
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH,
			 ETW_KERNEL_FLAG_CSWITCH);
	assert_int_equal(flags_of("etw_exporter") & EVENT_TRACE_FLAG_NETWORK_TCPIP, 0);
	/* Another program takes them away: the watcher restores what is in force now. */
	assert_true(fake_etw_other_set_flags("etw_exporter", ETW_KERNEL_FLAG_PROCESS));
	WAIT_UNTIL((flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH) != 0);
	assert_int_equal(flags_of("etw_exporter") & EVENT_TRACE_FLAG_NETWORK_TCPIP, 0);
	/* Started again, it has them, too. */
	assert_true(fake_etw_other_stop("etw_exporter"));
	WAIT_UNTIL((flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH) != 0);
	reload_with(&reloading, "{}\n");
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH, 0);
	assert_int_equal(flags_of("etw_exporter") & EVENT_TRACE_FLAG_NETWORK_TCPIP,
			 EVENT_TRACE_FLAG_NETWORK_TCPIP);
	end(&reloading);
}

/* A send of 1,000 bytes by process 8, as the kernel (TcpIp/SendIPV4) and as its second source say
 * it; returns how many sessions take the two. */
static unsigned emit_send(void)
{
	static const GUID tcp_ip = {
		0x9a280ac0, 0xc8e0, 0x11d1, { 0x84, 0xe2, 0x00, 0xc0, 0x4f, 0xb9, 0x98, 0xa2 }
	};
	static const GUID kernel_network = {
		0x7dd42a49, 0x5329, 0x4832, { 0x8d, 0xfd, 0x43, 0xd9, 0x79, 0x15, 0x3a, 0x88 }
	};
	static const uint8_t payload[44] = { 8, 0, 0, 0, 0xe8, 3 };
	struct fake_etw_event event = { .provider = tcp_ip,
					.descriptor = { .Opcode = 10, .Version = 2 },
					.classic = true,
					.process_id = 4,
					.thread_id = 20,
					.payload = payload,
					.payload_size = sizeof payload };
	unsigned taken = fake_etw_emit(&event);

	event.classic = false;
	event.provider = kernel_network;
	event.descriptor =
		(EVENT_DESCRIPTOR){ .Id = 10, .Level = 4, .Opcode = 10, .Keyword = 0x10 };
	return taken + fake_etw_emit(&event);
}

#define SENT          "\netw_network_sent_bytes_total{process=\"notepad\",provider=\""
#define SENT_BY(from) SENT from "\",protocol=\"tcp\"} "

/* What both sources report counts once, by the kernel's events or where there are none by the
 * provider's, also after its collector was off for a while. */
static void a_second_source_stays_one_through_reloads(void **state)
{
	static const char both[] = "sessions: { net: { logger: user, providers: "
				   "['Microsoft-Windows-Kernel-Network:4::0x10'] } }\n";
	static const char alone[] = "kernel_events: off\n";

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct reloading reloading;
		struct etw_text off = { 0 };
		unsigned taken = i == 0 ? 2 : 1;

		fake_etw_add_process(8, 4, "notepad.exe");
		begin_consumed(&reloading, i == 0 ? both : alone, false);
		assert_true(i == 1 || fake_etw_wait_consumer("net", WAIT_MS));
		assert_int_equal(emit_send(), taken);
		assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
		assert_true(i == 1 || fake_etw_drain("net", WAIT_MS));
		text_add_format(&off, "%scollectors: { network: off }\n", i == 0 ? both : alone);
		reload_with(&reloading, off.data);
		text_free(&off);
		emit_send();
		assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
		assert_true(i == 1 || fake_etw_drain("net", WAIT_MS));
		reload_with(&reloading, i == 0 ? both : alone);
		assert_int_equal(emit_send(), taken);
		assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
		assert_true(i == 1 || fake_etw_drain("net", WAIT_MS));
		assert_int_equal(value_now(&reloading,
					   i == 0 ? SENT_BY("Windows Kernel") :
						    SENT_BY("Microsoft-Windows-Kernel-Network")),
				 2000);
		assert_null(strstr(page_now(&reloading),
				   i == 0 ? SENT_BY("Microsoft-Windows-Kernel-Network") :
					    SENT_BY("Windows Kernel")));
		end(&reloading);
	}
}

static void find_words(void *context, const struct setup *setup)
{
	etw_kernel_words(rule_set_kernel_flags(setup->rules), rule_set_kernel_groups(setup->rules),
			 context);
}

static void assert_masks_are_those_asked_for(const struct reloading *reloading)
{
	struct fake_etw_session now;
	uint32_t words[ETW_KERNEL_WORDS];

	reload_use_setup(reloading->reload, find_words, words);
	assert_true(fake_etw_session("etw_exporter", &now));
	assert_memory_equal(now.masks, words, sizeof words);
}

/* Windows keeps CSWITCH, PROFILE and others in another word than the one that sets them. */
static void collectors_that_go_take_their_kernel_events_along(void **state)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(_WIN32)
	enum { RELOADS = 104 }; /* twice each way; the others only take longer there */
#else
	enum { RELOADS = 1000 };
#endif
	struct reloading reloading;
	char config[128];

	(void)state;
	snprintf(config, sizeof config, "sessions: { etw_exporter: { rundown: off } }\n");
	begin_consumed(&reloading, config, true);
	for (size_t i = 0; i < RELOADS; i++) {
		snprintf(config, sizeof config,
			 "sessions: { etw_exporter: { rundown: off } }\ncollectors: { %s: %s }\n",
			 builtin_collectors[i / 2 % builtin_collector_count].name,
			 i % 2 == 0 ? "on" : "off");
		reload_with(&reloading, config);
		assert_masks_are_those_asked_for(&reloading);
	}
	end(&reloading);
}

/* How many sessions take an event of the class Thread. */
static unsigned emit_thread(uint8_t opcode)
{
	static const GUID thread_class = {
		0x3d6fa8d1, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};

	return fake_etw_emit(&(struct fake_etw_event){
		.provider = thread_class, .descriptor = { .Opcode = opcode }, .classic = true });
}

static const char by_provider[] = "sessions: { etw_exporter: { logger: system_providers, rundown: "
				  "off } }\n";
static const char by_provider_with_sched[] =
	"sessions: { etw_exporter: { logger: system_providers, rundown: off } }\n"
	"collectors: { sched: on }\n";

static void system_providers_follow_the_collectors(void **state)
{
	enum { START = 1, CONTEXT_SWITCH = 36 };
	struct reloading reloading;

	(void)state;
	begin_consumed(&reloading, by_provider_with_sched, true);
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH, 0);
	assert_int_equal(emit_thread(CONTEXT_SWITCH), 1);
	reload_with(&reloading, by_provider);
	assert_int_equal(emit_thread(CONTEXT_SWITCH), 0);
	assert_int_equal(emit_thread(START), 1); /* the provider of threads stays */
	reload_with(&reloading, by_provider_with_sched);
	assert_int_equal(emit_thread(CONTEXT_SWITCH), 1);
	end(&reloading);
}

static void flags_in_place_of_refused_providers_follow_the_collectors(void **state)
{
	struct reloading reloading;

	(void)state;
	fake_etw_fail_always("EnableTraceEx2", ERROR_ACCESS_DENIED);
	begin_consumed(&reloading, by_provider_with_sched, true);
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH,
			 ETW_KERNEL_FLAG_CSWITCH);
	reload_with(&reloading, by_provider);
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH, 0);
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_PROCESS,
			 ETW_KERNEL_FLAG_PROCESS);
	reload_with(&reloading, by_provider_with_sched);
	assert_int_equal(flags_of("etw_exporter") & ETW_KERNEL_FLAG_CSWITCH,
			 ETW_KERNEL_FLAG_CSWITCH);
	end(&reloading);
}

static void what_stays_is_left_alone(void **state)
{
	/* No harvest, which enables a provider, too. */
	static const char quiet[] = "sessions: { etw_exporter: { rundown: off }, noise: { logger: "
				    "user, providers: ['" SOME_PROVIDER "'] } }\n";
	static const char other[] = "sessions: { etw_exporter: { rundown: off }, noise: { logger: "
				    "user, providers: ['" SOME_PROVIDER ":2'] } }\n";
	struct reloading reloading;
	unsigned enabled, set;

	(void)state;
	begin_consumed(&reloading, quiet, true);
	enabled = fake_etw_calls("EnableTraceEx2");
	set = fake_etw_calls("TraceSetInformation");
	reload_with(&reloading, quiet);
	assert_int_equal(fake_etw_calls("EnableTraceEx2"), enabled);
	assert_int_equal(fake_etw_calls("TraceSetInformation"), set);
	/* It has another level: one call. */
	reload_with(&reloading, other);
	assert_int_equal(fake_etw_calls("EnableTraceEx2"), enabled + 1);
	end(&reloading);
}

/* Emits the start of a process, by Microsoft-Windows-Kernel-Process, into both sessions. */
static void emit_start(uint32_t process_id, const char *path)
{
	static const GUID kernel_process = {
		0x22fb2cd6, 0x0e7b, 0x422b, { 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16 }
	};
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, process_id);
	etw_payload_u64(&payload, 0); /* CreateTime */
	etw_payload_u32(&payload, 4); /* ParentProcessID */
	etw_payload_zeros(&payload, 8);
	etw_payload_wstring(&payload, path);
	fake_etw_emit(&(struct fake_etw_event){
		.provider = kernel_process,
		.descriptor = { .Id = 1, .Version = 1, .Level = 4, .Keyword = 0x10 },
		.payload = payload.bytes,
		.payload_size = payload.size });
	etw_payload_done(&payload);
}

/* Waits until a page shows the value. Meanwhile both sessions get events, so that their consumers
 * look for new facts, and the starts of some processes, which may say again what is known. */
static void wait_for_value(struct reloading *reloading, const char *line, uint64_t value,
			   unsigned starts)
{
	struct fake_etw_event event = { .descriptor = { .Id = 1, .Level = 4, .Keyword = 1 },
					.process_id = 8,
					.payload = "" };
	uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000), now;

	do {
		const char *at;

		event.provider = some_provider;
		fake_etw_emit(&event);
		event.provider = other_provider;
		fake_etw_emit(&event);
		for (unsigned i = 0; i < starts; i++) {
			emit_start(8 + 4 * i, "\\Device\\HarddiskVolume3\\notepad.exe");
		}
		Sleep(2);
		at = strstr(page_now(reloading), line);
		now = at ? strtoull(at + strlen(line), NULL, 10) : UINT64_MAX;
	} while (now != value && os_monotonic_ns() < until);
	assert_int_equal(now, value);
}

/* What one session shows for all, the next first one shows after it. */
static void the_session_that_becomes_the_first_shows_the_processes(void **state)
{
#define A "a: { logger: user, providers: ['" SOME_PROVIDER "'] }"
#define B "b: { logger: user, providers: ['" OTHER_PROVIDER "'] }"
	static const char *const next[] = {
		"kernel_events: off\nsessions: { " B " }\n",
		"kernel_events: off\nsessions: { " B ", " A " }\n",
	};
	static const char memory[] =
		"\netw_process_commit_bytes{process=\"notepad\",provider=\"Windows Kernel\"} ";
	static const char runs[] = "\netw_process_instances{process=\"notepad\","
				   "provider=\"Microsoft-Windows-Kernel-Process\"} ";

	(void)state;
#ifdef _WIN32
	skip(); /* under Wine the list of processes is not that of the fake */
#endif
	for (size_t i = 0; i < sizeof next / sizeof next[0]; i++) {
		struct reloading reloading;

		fake_etw_add_process(8, 4, "notepad.exe");
		fake_etw_set_memory(8, 5000, 3000, 9000, 70);
		begin(&reloading, "kernel_events: off\nsessions: { " A ", " B " }\n", true);
		assert_true(fake_etw_wait_consumer("a", WAIT_MS));
		assert_true(fake_etw_wait_consumer("b", WAIT_MS));
		wait_for_value(&reloading, memory, 9000, 0);
		wait_for_value(&reloading, runs, 2, 2);
		reload_with(&reloading, next[i]);
		fake_etw_set_memory(8, 5000, 3000, 7000, 70);
		wait_for_value(&reloading, memory, 7000, 0);
		wait_for_value(&reloading, runs, 2, 0); /* they started before it was the first */
		wait_for_value(&reloading, runs, 3, 3);
		end(&reloading);
		fake_etw_reset(NULL);
	}
#undef A
#undef B
}

/* Its consumer has no events and takes nothing over; the session starts with what is in force. */
static void a_session_that_waits_is_reloaded_without_it(void **state)
{
	static const char waiting[] =
		"sessions: { NT Kernel Logger: { logger: nt_kernel_logger } }\n";
	struct reloading reloading;
	char config[256];

	(void)state;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 EVENT_TRACE_FLAG_PROCESS));
	begin(&reloading, waiting, true);
	for (int i = 0; i < 3; i++) {
		snprintf(config, sizeof config, "%scollectors: { sched: %s }\n", waiting,
			 i % 2 == 0 ? "on" : "off");
		reload_with(&reloading, config);
	}
	assert_int_equal(value_now(&reloading, "\netw_exporter_collector_enabled"
					       "{collector=\"sched\"} "),
			 1);
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	assert_true(fake_etw_wait_consumer("NT Kernel Logger", WAIT_MS));
	assert_int_equal(flags_of("NT Kernel Logger") & ETW_KERNEL_FLAG_CSWITCH,
			 ETW_KERNEL_FLAG_CSWITCH);
	end(&reloading);
}

static void sessions_come_and_go(void **state)
{
	struct reloading reloading;
	struct fake_etw_session now;
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = { .Id = 1, .Level = 4, .Keyword = 1 },
					.process_id = 8,
					.payload = "" };
	static const char lost[] = "\netw_session_events_lost_total{session=\"noise\"} ";

	(void)state;
	begin_consumed(&reloading, "{}\n", true);
	assert_false(fake_etw_session("noise", &now));
	for (int i = 0; i < 3; i++) {
		reload_with(&reloading, ONE);
		assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
		fake_etw_emit(&event);
		assert_true(fake_etw_drain("noise", WAIT_MS));
		/* Its counters go on where they were. */
		WAIT_UNTIL(value_now(&reloading, COUNT("11111111-2222-3333-4444-555555555555")) ==
			   (uint64_t)i + 1);
		WAIT_UNTIL(value_now(&reloading, "\netw_session_up{session=\"noise\"} ") == 1);
		/* Losses too, of the time before it was gone. */
		assert_int_equal(value_now(&reloading, lost), 3 * i);
		fake_etw_lose_events("noise", 3);
		WAIT_UNTIL(value_now(&reloading, lost) == 3 * (uint64_t)i + 3);
		reload_with(&reloading, "{}\n");
		assert_int_equal(value_now(&reloading, lost), 3 * i + 3);
		assert_false(fake_etw_session("noise", &now));
		assert_null(strstr(page_now(&reloading), "etw_session_up{session=\"noise\"}"));
		assert_null(strstr(page_now(&reloading), "etw_session_info{session=\"noise\""));
	}
	end(&reloading);
}

static void what_cannot_work_changes_nothing(void **state)
{
	static const char *const refused[][2] = {
		{ SESSION("'Nobody-Knows-This'"), "no provider called 'Nobody-Knows-This'" },
		{ "sessions: { more: { logger: user, providers: ['" OTHER_PROVIDER
		  "'] }, noise: { logger: user, providers: ['Nobody-Knows-This'] } }\n",
		  "no provider called 'Nobody-Knows-This'" },
		{ "kernel_events: off\n", "kernel_events: a reload cannot change it" },
	};
	struct reloading reloading;
	struct fake_etw_session before, after;

	(void)state;
	begin_consumed(&reloading, ONE, true);
	assert_true(fake_etw_session("noise", &before));
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct etw_error err = { 0 };

		write_config(&reloading, refused[i][0]);
		log_configure(LOG_ERROR + 1, LOG_LOGFMT);
		assert_false(reload_now(reloading.reload, &err));
		log_configure(LOG_ERROR, LOG_LOGFMT);
		assert_non_null(strstr(err.text, refused[i][1]));
		assert_true(fake_etw_session("noise", &after));
		assert_int_equal(after.handle, before.handle);
		assert_int_equal(after.providers, before.providers);
		assert_false(fake_etw_session("more", &after));
		assert_int_equal(
			value_now(&reloading, "\netw_exporter_config_last_reload_successful "), 0);
	}
	reload_with(&reloading, ONE);
	assert_int_equal(value_now(&reloading, "\netw_exporter_config_last_reload_successful "), 1);
	end(&reloading);
}

/* A session that was there before is started again, and stopped because the next one is refused. */
static void a_refused_return_leaves_the_program_ready(void **state)
{
	static const char refused[] =
		"sessions: { noise: { logger: user, providers: ['" SOME_PROVIDER "'] }, "
		"other: { logger: user, providers: [Nobody-Knows-This] } }\n";
	struct reloading reloading;
	struct fake_etw_session now;

	(void)state;
	begin_consumed(&reloading, "{}\n", true);
	WAIT_UNTIL(runner_ready(reloading.side.runner));
	reload_with(&reloading, ONE);
	reload_with(&reloading, "{}\n");
	assert_true(runner_ready(reloading.side.runner));
	write_config(&reloading, refused);
	log_configure(LOG_ERROR + 1, LOG_LOGFMT);
	assert_false(reload_now(reloading.reload, NULL));
	log_configure(LOG_ERROR, LOG_LOGFMT);
	assert_false(fake_etw_session("noise", &now));
	assert_true(runner_ready(reloading.side.runner));
	end(&reloading);
}

/* What was found on the machine is shown between two records: canaries, if no others. */
static bool page_now_has(struct reloading *reloading, const char *text)
{
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	return strstr(page_now(reloading), text) != NULL;
}

static void volumes_that_change_while_no_one_needs_disks_are_known_later(void **state)
{
	static const struct fake_etw_volume volume = { .device = "\\Device\\HarddiskVolume3",
						       .file_system = "NTFS",
						       .disks = { 0 },
						       .disk_count = 1,
						       .partition = 1 };
	struct reloading reloading;
	unsigned reads;

	(void)state;
	fake_etw_attach_disk(0, NULL, "Disk", 512);
	fake_etw_attach_volume(&volume);
	fake_etw_add_volume("E:", volume.device);
	begin_consumed(&reloading, "{}\n", true);
	WAIT_UNTIL(page_now_has(&reloading, "\netw_disk_volume_info{disk=\"0\",partition=\"1\","
					    "volume=\"E:\","));
	reload_with(&reloading, "collectors: { disk: off }\n");
	WAIT_UNTIL(!page_now_has(&reloading, "\netw_disk_volume_info{"));
	fake_etw_remove_drive("E:");
	fake_etw_add_volume("F:", volume.device);
	/* The volumes were read from beginning to end since then. */
	reads = fake_etw_calls("FindFirstVolumeW");
	WAIT_UNTIL(fake_etw_calls("FindFirstVolumeW") >= reads + 3);
	reload_with(&reloading, "{}\n");
	WAIT_UNTIL(page_now_has(&reloading, "\netw_disk_volume_info{disk=\"0\",partition=\"1\","
					    "volume=\"F:\","));
	assert_null(strstr(page_now(&reloading), "volume=\"E:\""));
	end(&reloading);
}

/* ---- state that is captured ---- */

#define CAPTURED(every)                       \
	SESSION("{ provider: '" SOME_PROVIDER \
		"', any: 1, capture_state: { at_start: 2, every: " every " } }")

static void a_shorter_interval_of_captures_holds_at_once(void **state)
{
	static const char lost[] = "\netw_session_events_lost_total{session=\"noise\"} ";
	struct fake_etw_provider *provider;
	struct reloading reloading;
	size_t before;

	(void)state;
	provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	begin_consumed(&reloading, CAPTURED("24h"), true);
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	/* The watcher has come by and knows when the next capture is due. */
	for (uint64_t i = 1; i <= 2; i++) {
		fake_etw_lose_events("noise", 1);
		WAIT_UNTIL(value_now(&reloading, lost) == i);
	}
	reload_with(&reloading, CAPTURED("1s"));
	assert_true(fake_etw_wait_idle(WAIT_MS));
	before = fake_etw_provider_callbacks(provider, NULL, 0);
	/* A capture makes three: with its keywords, the request, and without them. */
	WAIT_UNTIL(fake_etw_provider_callbacks(provider, NULL, 0) >= before + 6);
	end(&reloading);
	fake_etw_provider_close(provider);
}

/* What is logged about settings; other threads log, too. */
static struct os_mutex lines_lock;
static char lines[4096];

static void keep_line(void *context, enum log_level level, const char *line, size_t size)
{
	size_t used;

	(void)context;
	(void)level;
	os_mutex_lock(&lines_lock);
	used = strlen(lines);
	if (size < sizeof lines - used - 1) {
		memcpy(lines + used, line, size);
		lines[used + size] = '\0';
	}
	os_mutex_unlock(&lines_lock);
}

static bool was_logged(const char *text)
{
	bool found;

	os_mutex_lock(&lines_lock);
	found = strstr(lines, text) != NULL;
	os_mutex_unlock(&lines_lock);
	return found;
}

static void forget_lines(void)
{
	os_mutex_lock(&lines_lock);
	lines[0] = '\0';
	os_mutex_unlock(&lines_lock);
}

static void settings_that_need_a_restart_are_named_each_time(void **state)
{
	static const char *const settings[] = { "session=noise setting=flush",
						"session=noise setting=buffers.size",
						"session=etw_exporter setting=rundown",
						"session=etw_exporter setting=kernel_stacks",
						"setting=limits.strings",
						"setting=web.allow" };
	struct reloading reloading;

	(void)state;
	os_mutex_init(&lines_lock);
	log_to(keep_line, NULL);
	begin_consumed(&reloading, ONE, true);
	for (int i = 0; i < 2; i++) {
		forget_lines();
		reload_with(
			&reloading,
			"sessions: { etw_exporter: { rundown: off, kernel_stacks: "
			"[DiskIo/Read] }, noise: { logger: user, flush: 2s, buffers: { size: 128KiB }, providers: ['" SOME_PROVIDER
			"'] } }\nlimits: { strings: 32MiB, series: 1000 }\n"
			"web: { allow: [127.0.0.1] }\n");
		for (size_t j = 0; j < sizeof settings / sizeof settings[0]; j++) {
			assert_true(was_logged(settings[j]));
		}
		assert_false(was_logged("setting=logger"));
		assert_false(was_logged("setting=limits.series"));
	}
	forget_lines();
	reload_with(&reloading, ONE);
	assert_false(was_logged("needs a restart"));
	end(&reloading);
	log_to(NULL, NULL);
	os_mutex_done(&lines_lock);
}

/* Nothing needs FLT_IO_INIT, the group of FltPreOpInit. */
static void a_stack_of_an_event_that_does_not_come_is_reported(void **state)
{
	struct reloading reloading;

	(void)state;
	os_mutex_init(&lines_lock);
	log_configure(LOG_WARNING, LOG_LOGFMT);
	log_to(keep_line, NULL);
	forget_lines();
	begin_consumed(
		&reloading,
		"sessions: { etw_exporter: { kernel_stacks: [DiskIo/Read, FileIo/FltPreOpInit] } }\n",
		false);
	assert_true(was_logged("no collector that is on brings the event\" session=etw_exporter "
			       "event=FileIo/FltPreOpInit"));
	assert_false(was_logged("event=DiskIo/Read"));
	end(&reloading);
	log_to(NULL, NULL);
	os_mutex_done(&lines_lock);
}

static int set_up(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&machine);
	log_configure(LOG_ERROR, LOG_LOGFMT);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_event_counts_while_providers_come_and_go, set_up),
		cmocka_unit_test_setup(kernel_events_follow_the_collectors, set_up),
		cmocka_unit_test_setup(a_second_source_stays_one_through_reloads, set_up),
		cmocka_unit_test_setup(collectors_that_go_take_their_kernel_events_along, set_up),
		cmocka_unit_test_setup(system_providers_follow_the_collectors, set_up),
		cmocka_unit_test_setup(flags_in_place_of_refused_providers_follow_the_collectors,
				       set_up),
		cmocka_unit_test_setup(what_stays_is_left_alone, set_up),
		cmocka_unit_test_setup(a_session_that_waits_is_reloaded_without_it, set_up),
		cmocka_unit_test_setup(the_session_that_becomes_the_first_shows_the_processes,
				       set_up),
		cmocka_unit_test_setup(sessions_come_and_go, set_up),
		cmocka_unit_test_setup(what_cannot_work_changes_nothing, set_up),
		cmocka_unit_test_setup(a_refused_return_leaves_the_program_ready, set_up),
		cmocka_unit_test_setup(volumes_that_change_while_no_one_needs_disks_are_known_later,
				       set_up),
		cmocka_unit_test_setup(a_shorter_interval_of_captures_holds_at_once, set_up),
		cmocka_unit_test_setup(settings_that_need_a_restart_are_named_each_time, set_up),
		cmocka_unit_test_setup(a_stack_of_an_event_that_does_not_come_is_reported, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
