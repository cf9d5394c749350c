/* SPDX-License-Identifier: MIT */
/*
 * The exporter, whole (main.c with its HTTP server), on a machine that is the fake: what it would
 * ask of Windows it asks of tests/fake_etw. Arguments are the exporter's. Built with another
 * PROGRAM_MAIN it is etwtool on the fake.
 *
 * The machine has a disk, a service, and a provider whose events Windows alone can describe; with
 * FAKE_LARGE_DESCRIPTION in the environment the description is too large for a record of a
 * recording. With FAKE_NO_RIGHTS the program may not control sessions. With FAKE_NO_SYSTEM_LOGGER
 * others have all eight sessions with kernel events that there can be. With FAKE_OTHER_SESSION
 * another program has a session of that name, with kernel events and the provider whose events are
 * written, and has it still at the end.
 *
 * A thread beside it makes the machine's events, as lines on standard input say. "flood FILE
 * SECONDS" plays the recording over and over, and writes events of a provider, as fast as the
 * sessions take them: the writer waits for a buffer. It goes on until there are FLOOD_LEAST events
 * of the provider, however slow the machine is. "overflow FILE COUNT" does the same
 * without waiting, while the consumers are held up until every session has lost that many events;
 * then they go on, beside the writers. "burst FILE COUNT" plays it once and writes that many
 * events, as "flood" does. "lose FILE COUNT" makes nothing: the next buffers of each session, so
 * many, will be lost. "start IMAGE ID" writes the event of Microsoft-Windows-Kernel-Process that a
 * process with this id has started; those of the provider are written by process 4712.
 *
 * "pace FILE RATE SECONDS" lets one consumer have the records of the recording at that many a
 * second, without a copy of the fake's: for measurements. Its line says what was delivered, and
 * how much time of the processor the program took, and the consumer's thread alone. The first such
 * line also plays the recording once, which fills the tables.
 *
 * Behind each, when everything has been delivered or lost, one line of JSON a session says on
 * standard output what it was given and what it lost since it started. The line "totals" asks for
 * these once more: sessions also get events about other sessions, at any time. The line "stop" ends
 * the program. The line "quit", or the end of the input, ends the thread, which the end of the
 * program waits for unless it has failed. With --version as the first argument there is no such
 * thread.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/session.h>

#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/event_info_blob.h"

enum { SESSIONS = 64, LINE = 4096, A_MOMENT_MS = 10, FLOOD_LEAST = 20000 };

#define NS_PER_S UINT64_C(1000000000)

/* Wine, where this runs, has no event tracing, but the fake is one. */
bool etw_here(struct etw_error *err)
{
	(void)err;
	return true;
}

#ifndef PROGRAM_MAIN
#define PROGRAM_MAIN exporter_main
#endif
/* main() of main.c. */
int PROGRAM_MAIN(int argc, char **argv);

static atomic_bool has_begun; /* the thread */
static atomic_bool has_ended; /* the program, except for the thread */

/* What both writers are to do. */
struct work {
	const char *recording;
	bool waiting;            /* for a buffer */
	_Atomic(uint64_t) until; /* os_monotonic_ns() */
	unsigned events;         /* of the provider; 0: any number */
	unsigned least;          /* before `until` counts */
	atomic_uint written;
	atomic_bool failed;
};

static bool over(const struct work *work)
{
	return atomic_load(&work->failed) || atomic_load(&has_ended) ||
	       (atomic_load(&work->written) >= work->least &&
		os_monotonic_ns() >= atomic_load(&work->until));
}

/* A program that has ended says itself why. */
static void fail(struct work *work, const char *what)
{
	if (!atomic_load(&has_ended)) {
		fprintf(stderr, "exporter_on_fake: %s\n", what);
	}
	atomic_store(&work->failed, true);
}

/* ---- writers ---- */

static bool leave_out(void *context, const struct etw_record *record)
{
	(void)record;
	return over(context);
}

static void play(void *context)
{
	struct work *work = context;
	const struct fake_etw_play_options options = {
		.now = true, .lossy = !work->waiting, .skip = leave_out, .context = work
	};
	struct fake_etw_played played;
	struct etw_error err = { 0 };

	do {
		if (!fake_etw_play(work->recording, &options, &played, &err)) {
			fail(work, err.text);
		}
	} while (!over(work) && work->events == 0);
}

/* A TraceLogging provider "Contoso-Load" and its event Work { UInt32 value; }. */
static void write_events(void *context)
{
	static const char traits[] = "\x0f\0Contoso-Load";
	static const char metadata[] = "\x0f\0\0Work\0value\0\x08";
	const struct fake_etw_item items[] = {
		{ EVENT_HEADER_EXT_TYPE_PROV_TRAITS, sizeof traits, traits },
		{ EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL, sizeof metadata - 1, metadata },
	};
	struct work *work = context;
	uint32_t value = 0;
	const struct fake_etw_event event = {
		.provider = { 0x10adf00d, 0x10ad, 0x10ad, { 1, 2, 3, 4, 5, 6, 7, 8 } },
		.descriptor = { .Channel = 11, .Level = 4, .Keyword = 1 },
		.process_id = 4712,
		.thread_id = 4716,
		.processor = 3,
		.items = items,
		.item_count = 2,
		.payload = &value,
		.payload_size = sizeof value,
	};

	while (!over(work) && (work->events == 0 || value < work->events)) {
		value++;
		if (!work->waiting) {
			fake_etw_emit(&event);
		} else if (!fake_etw_emit_waiting(&event, WAIT_MS)) {
			fail(work, "nobody makes room for an event");
		}
		atomic_store(&work->written, value);
	}
}

/* ---- the machine ---- */

static const GUID described = { 0x10adf00d, 0x10ad, 0x10ad, { 1, 2, 3, 4, 5, 6, 7, 9 } };
static const EVENT_DESCRIPTOR described_event = { .Id = 7, .Version = 2, .Level = 4, .Keyword = 1 };

static void describe_machine(void)
{
	static const GUID classic = { 0x10adf00d, 0x10ad, 0x10ad, { 1, 2, 3, 4, 5, 6, 7, 10 } };
	static const struct blob_map_entry state_names[] = { { 1, "Up" }, { 2, "Down" } };
	static const struct blob_property properties[] = { { "State", 0, 8, 0, 1, 4 } };
	static const char *const maps[] = { "States" };
	struct etw_guid provider;
	const struct event_map_blob states = {
		.provider = &provider, .name = "States", .entries = state_names, .entry_count = 2
	};
	const struct event_info_blob event = { .provider = &provider,
					       .id = described_event.Id,
					       .version = described_event.Version,
					       .provider_name = "Contoso-Described",
					       .task = "Change",
					       .properties = properties,
					       .property_count = 1,
					       .top_level_count = 1,
					       .maps = maps };
	struct etw_payload payload;

	memcpy(&provider, &described, sizeof provider);
	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &event);
	if (getenv("FAKE_LARGE_DESCRIPTION")) {
		etw_payload_zeros(&payload, 1 << 16);
	}
	fake_etw_tdh_event(&described, &described_event, false, payload.bytes, payload.size);
	etw_payload_clear(&payload);
	payload_event_map(&payload, &states);
	/* Behind the GUID, which only a recording has. */
	fake_etw_tdh_map(&described, states.name, payload.bytes + sizeof provider,
			 payload.size - sizeof provider);
	etw_payload_done(&payload);
	fake_etw_tdh_provider(&described, event.provider_name, true);
	fake_etw_tdh_keyword(&described, "Changes", described_event.Keyword);
	fake_etw_tdh_provider(&classic, "Contoso-Classic", false);
	fake_etw_attach_disk(5, "Contoso", "Disk of a test", 4096);
	/* Windows is asked for the tags of services that share a process. */
	fake_etw_add_service("ContosoService", 4712, 77);
	fake_etw_add_service("ContosoOther", 4712, 78);
}

static void write_described(void)
{
	static const uint32_t state = 2;
	const struct fake_etw_event event = { .provider = described,
					      .descriptor = described_event,
					      .process_id = 4712,
					      .thread_id = 4716,
					      .payload = &state,
					      .payload_size = sizeof state };

	fake_etw_emit(&event);
}

/* ---- phases ---- */

static bool each_session(bool (*done)(void *context, const char *name), void *context)
{
	char names[SESSIONS][64];
	unsigned count = fake_etw_sessions(names, SESSIONS);

	for (unsigned i = 0; i < count; i++) {
		if (!done(context, names[i])) {
			return false;
		}
	}
	return count > 0;
}

static bool wait_consumer(void *context, const char *name)
{
	(void)context;
	return fake_etw_wait_consumer(name, A_MOMENT_MS);
}

static bool hold(void *context, const char *name)
{
	fake_etw_hold_consumer(name, *(const bool *)context);
	return true;
}

static bool has_lost(void *context, const char *name)
{
	struct fake_etw_session session;

	return fake_etw_session(name, &session) &&
	       session.events_lost >= *(const uint64_t *)context;
}

/* ProcessStart, version 0: config/manifests/Microsoft-Windows-Kernel-Process.man. */
static void write_start(const char *image, uint32_t process_id)
{
	struct fake_etw_event event = {
		.descriptor = { .Id = ETW_PROCESS_EVENT_START,
				.Level = 4,
				.Opcode = 1,
				.Keyword = 0x10 },
		.process_id = 4,
		.thread_id = 8,
	};
	struct etw_payload payload;

	memcpy(&event.provider, &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].guid,
	       sizeof event.provider);
	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, process_id);
	etw_payload_zeros(&payload, 16); /* CreateTime, ParentProcessID, SessionID */
	etw_payload_wstring(&payload, image);
	event.payload = payload.bytes;
	event.payload_size = payload.size;
	fake_etw_emit(&event);
	etw_payload_done(&payload);
}

static bool drain(void *context, const char *name)
{
	(void)context;
	return fake_etw_drain(name, A_MOMENT_MS);
}

static bool lose_buffers(void *context, const char *name)
{
	fake_etw_lose_buffers(name, *(const unsigned *)context);
	return true;
}

struct phase {
	const char *name;
	uint64_t ns;
};

static bool print_totals(void *context, const char *name)
{
	const struct phase *phase = context;
	struct fake_etw_session session;

	if (fake_etw_session(name, &session)) {
		printf("{\"phase\":\"%s\",\"session\":\"%s\",\"seconds\":%.3f,\"emitted\":%llu,"
		       "\"lost\":%llu}\n",
		       phase->name, name, (double)phase->ns / 1e9,
		       (unsigned long long)session.emitted,
		       (unsigned long long)session.events_lost);
	}
	return true;
}

/* Holds the consumers up until enough is lost in every session; then all go on for a second. */
static void lose(struct work *work, uint64_t count)
{
	uint64_t give_up = os_monotonic_ns() + WAIT_MS / 1000 * NS_PER_S;
	bool held = true;

	each_session(hold, &held);
	while (!each_session(has_lost, &count) && !over(work)) {
		if (os_monotonic_ns() > give_up) {
			fail(work, "too few events are lost");
		}
		Sleep(1);
	}
	held = false;
	each_session(hold, &held);
	if (!over(work)) {
		atomic_store(&work->until, os_monotonic_ns() + NS_PER_S);
	}
}

/* Waits until that is so of all sessions, and that there is one. */
static bool wait_for_sessions(bool (*done)(void *context, const char *name))
{
	uint64_t give_up = os_monotonic_ns() + WAIT_MS / 1000 * NS_PER_S;

	while (!each_session(done, NULL)) {
		if (os_monotonic_ns() > give_up || atomic_load(&has_ended)) {
			return false;
		}
		Sleep(1);
	}
	return true;
}

/* Waits until all is delivered or lost, and says what came of it. */
static bool report(struct phase *phase, struct work *work, uint64_t began)
{
	/* A program that records up to a size ends its sessions meanwhile. */
	if (fake_etw_open_things().sessions > 0 && !wait_for_sessions(drain) &&
	    fake_etw_open_things().sessions > 0) {
		fail(work, "the sessions are not drained");
	}
	phase->ns = os_monotonic_ns() - began;
	each_session(print_totals, phase);
	fflush(stdout);
	return !atomic_load(&work->failed);
}

/* False when something went wrong, which was said. */
static bool run_phase(const char *name, struct work *work, uint64_t lost)
{
	struct phase phase = { .name = name };
	struct os_thread machine, provider;
	uint64_t began = os_monotonic_ns();

	if (!wait_for_sessions(wait_consumer)) {
		fail(work, "nobody consumes the sessions");
		return false;
	}
	if (work->events > 0) {
		play(work);
		write_described();
		write_events(work);
		return report(&phase, work, began);
	}
	if (!os_thread_start(&machine, play, work, NULL)) {
		fail(work, "no thread");
		return false;
	}
	write_described();
	if (os_thread_start(&provider, write_events, work, NULL)) {
		if (!work->waiting) {
			lose(work, lost);
		}
		os_thread_join(&provider);
	} else {
		fail(work, "no thread");
	}
	os_thread_join(&machine);
	return report(&phase, work, began);
}

/* ---- at a pace ---- */

/* The records of the recording, as the session's consumer gets them. */
static bool keep_records(struct work *work, const char *session, struct fake_etw_kept *kept)
{
	const struct fake_etw_play_options options = { .only = session };
	struct fake_etw_played played;
	struct etw_error err = { 0 };

	if (!fake_etw_keep(session, kept)) {
		fail(work, "nobody consumes the session");
		return false;
	}
	if (!fake_etw_play(work->recording, &options, &played, &err) ||
	    !fake_etw_drain(session, WAIT_MS)) {
		fail(work, err.text[0] ? err.text : "the session is not drained");
		return false;
	}
	return fake_etw_keep(session, NULL);
}

static void run_pace(struct work *work, struct fake_etw_kept *kept, unsigned rate, unsigned seconds)
{
	char names[SESSIONS][64];
	struct fake_etw_paced paced;

	if (!wait_for_sessions(wait_consumer) || fake_etw_sessions(names, SESSIONS) == 0) {
		fail(work, "nobody consumes the sessions");
		return;
	}
	if (kept->count == 0 && !keep_records(work, names[0], kept)) {
		return;
	}
	if (!fake_etw_pace(names[0], kept, rate, seconds, &paced)) {
		fail(work, "the session ended");
		return;
	}
	printf("{\"phase\":\"pace\",\"session\":\"%s\",\"asked\":%u,\"delivered\":%llu,"
	       "\"seconds\":%.3f,\"cpu_seconds\":%.4f,\"consumer_cpu_seconds\":%.4f}\n",
	       names[0], rate, (unsigned long long)paced.delivered, (double)paced.ns / 1e9,
	       (double)paced.process_cpu_ns / 1e9, (double)paced.consumer_cpu_ns / 1e9);
	fflush(stdout);
}

#if defined(_WIN32)
static void spare_thread(void)
{
}
#else
/* Of the library of tests/e2e/failing_calls.c, where that is preloaded. */
void failing_calls_spare_thread(void) __attribute__((weak));

/* The calls of the machine do not fail. */
static void spare_thread(void)
{
	if (failing_calls_spare_thread) {
		failing_calls_spare_thread();
	}
}
#endif

static void control(void *context)
{
	char line[LINE], name[16], recording[LINE];
	struct fake_etw_kept kept = { 0 };
	unsigned number, seconds;
	bool good = true;

	atomic_store(&has_begun, true);
	spare_thread();
	while (good && fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
		struct work work = { .recording = recording };
		int words;

		if (strcmp(line, "stop\n") == 0) {
			os_stop_ask("the test has ended");
			continue;
		}
		words = sscanf(line, "%15s %4095s %u %u", name, recording, &number, &seconds);
		if (words == 1 && strcmp(name, "totals") == 0) {
			report(&(struct phase){ .name = name }, &work, os_monotonic_ns());
		} else if (words == 4 && strcmp(name, "pace") == 0) {
			run_pace(&work, &kept, number, seconds);
		} else if (words != 3) {
			fail(&work, "a command is a word, a file and a number");
		} else if (strcmp(name, "flood") == 0) {
			work.waiting = true;
			work.least = FLOOD_LEAST;
			atomic_store(&work.until, os_monotonic_ns() + number * NS_PER_S);
			run_phase(name, &work, 0);
		} else if (strcmp(name, "overflow") == 0) {
			atomic_store(&work.until, UINT64_MAX);
			run_phase(name, &work, number);
		} else if (strcmp(name, "burst") == 0) {
			work.waiting = true;
			work.events = number;
			atomic_store(&work.until, UINT64_MAX);
			run_phase(name, &work, 0);
		} else if (strcmp(name, "lose") == 0) {
			if (!wait_for_sessions(wait_consumer)) {
				fail(&work, "nobody consumes the sessions");
			}
			each_session(lose_buffers, &number);
		} else if (strcmp(name, "start") == 0) {
			if (!wait_for_sessions(wait_consumer)) {
				fail(&work, "nobody consumes the sessions");
			}
			write_start(recording, number);
		} else {
			fail(&work, "what is to be done: flood, overflow, burst, lose, start, pace "
				    "or totals");
		}
		good = !atomic_load(&work.failed);
	}
	fake_etw_kept_done(&kept);
	*(bool *)context = good;
}

static void start_other_session(const char *name)
{
	static const GUID provider = { 0x10adf00d, 0x10ad, 0x10ad, { 1, 2, 3, 4, 5, 6, 7, 8 } };

	if (name && (!fake_etw_other_start(
			     name, EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE,
			     EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_IO) ||
		     !fake_etw_other_enable(name, &provider, 5, UINT64_MAX))) {
		abort();
	}
}

/* ThreadSanitizer reports a thread that is left; the input of its tests ends. */
#if defined(__SANITIZE_THREAD__)
enum { JOINS_ALWAYS = true };
#else
enum { JOINS_ALWAYS = false };
#endif

int main(int argc, char **argv)
{
	struct fake_etw_options machine = { .processors = 8 };
	/* The thread may outlive this function: a program that has failed does not wait for it. */
	static bool good;
	const char *other = getenv("FAKE_OTHER_SESSION");
	struct os_thread thread;
	struct etw_error err = { 0 };
	bool left;
	int status;

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		return PROGRAM_MAIN(argc, argv);
	}
	machine.foreign_system_loggers = getenv("FAKE_NO_SYSTEM_LOGGER") ? 8 : 0;
	fake_etw_reset(&machine);
	describe_machine();
	if (getenv("FAKE_NO_RIGHTS")) {
		fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	}
	start_other_session(other);
	/* Events of the exporter's own would go on when all else stands still. */
	fake_etw_fail_always("EventWriteTransfer", ERROR_NOT_ENOUGH_MEMORY);
	if (!os_thread_start(&thread, control, &good, &err)) {
		fprintf(stderr, "exporter_on_fake: %s\n", err.text);
		return EXIT_FAILURE;
	}
	/* A thread that begins only when the program has failed would leave memory. */
	while (!atomic_load(&has_begun)) {
		Sleep(1);
	}
	status = PROGRAM_MAIN(argc, argv);
	atomic_store(&has_ended, true);
	left = fake_etw_open_things().sessions + fake_etw_open_things().traces > (other ? 1 : 0);
	if (left) {
		fprintf(stderr, "exporter_on_fake: sessions are left behind\n");
	}
	if (status != EXIT_SUCCESS && !JOINS_ALWAYS) {
		return status;
	}
	os_thread_join(&thread);
	if (other && !fake_etw_other_stop(other)) {
		fprintf(stderr, "exporter_on_fake: the session of another program is gone\n");
		good = false;
	}
	fake_etw_reset(NULL);
	return status == EXIT_SUCCESS && (!good || left) ? EXIT_FAILURE : status;
}
