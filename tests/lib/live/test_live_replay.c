/* SPDX-License-Identifier: MIT */
/*
 * A machine that plays a recording through live sessions counts as the replay of that recording
 * does, family by family.
 *
 * Left out are facts of sessions and of our own process, and the records that no live session
 * delivers. A replay has a first pass and knows what is named at the end only; a live session then
 * knows less: part of what the replay counts for a process stands under `_unknown`, and nothing
 * else differs.
 *
 * In disorder an event may come before the one that names its process or file, so names differ, and
 * sums do not. A stop that comes before its start is an operation without a time: it is missing in
 * the histogram, and counted as unmatched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "lib/decode/kernel_class.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/kernel_events.h"
#include "tests/support/sample.h"
#include "tests/support/temporary.h"
#include "tests/support/thorough.h"

enum { LINES_MAX = 5000 };

/* ---- a machine that plays a recording ---- */

/* Which records a session gets. */
enum part { EVERYTHING, KERNEL, PROVIDERS };

static bool is_left_out(void *context, const struct etw_record *record)
{
	enum part part = *(const enum part *)context;

	return part != EVERYTHING &&
	       etw_kernel_class_is_kernel(record->provider) != (part == KERNEL);
}

/* Also what the session has not enabled; what no live session delivers is left out. */
static void play(const char *path, const char *session, enum part part)
{
	const struct fake_etw_play_options options = { .only = session,
						       .skip = is_left_out,
						       .context = &part };
	struct fake_etw_played played;
	struct etw_error err = { 0 };

	assert_true(fake_etw_wait_consumer(session, WAIT_MS));
	if (part != PROVIDERS) {
		assert_true(fake_etw_wait_flag(session, EVENT_TRACE_FLAG_IMAGE_LOAD, WAIT_MS));
	}
	assert_true(fake_etw_play(path, &options, &played, &err));
	assert_true(played.emitted > 0 || part != EVERYTHING);
	assert_int_equal(played.unwanted, 0);
	assert_true(fake_etw_drain(session, WAIT_MS));
}

/* ---- comparing ---- */

/* Facts of sessions, of our own process, of how tables were filled; and counts of the header
 * record. */
static const char *const left_out[] = { "etw_session_",
					"etw_replay_",
					"etw_process_working_set_", /* of the machine's list */
					"etw_process_private_working_set_",
					"etw_process_commit_",
					"etw_process_handles",
					"process_",
					"etw_exporter_config",
					"etw_exporter_log_",
					"etw_exporter_scrape",
					"etw_exporter_series",
					"etw_consumer_",
					"etw_schema_cache_",
					"etw_state_",
					NULL };

/* Of a recording by another clock than the performance counter: it is played in ticks of that one,
 * so that durations are rounded elsewhere. Starts in payloads stay in ticks of the other clock, and
 * the times since them are no durations. */
static const char *const rounded[] = { "_seconds_bucket", "_seconds_sum",     "_seconds_total",
				       "_seconds_count",  "_durations_total", NULL };

/* One sample: its labels except the process, and the process. */
struct line {
	char key[512];
	char process[256];
	int64_t whole;
	int64_t nanos;
};

struct lines {
	struct line *lines; /* owned */
	size_t count;
};

static int compare_lines(const void *a, const void *b)
{
	const struct line *first = a, *second = b;
	int order = strcmp(first->key, second->key);

	return order != 0 ? order : strcmp(first->process, second->process);
}

static void read_value(struct line *line, const char *text)
{
	char *end;
	int64_t unit = 100000000;

	line->whole = strtoll(text, &end, 10);
	line->nanos = 0;
	if (*end == '.') {
		for (end++; *end >= '0' && *end <= '9'; end++) {
			line->nanos += unit * (*end - '0');
			unit /= 10;
		}
	}
	assert_int_equal(*end, '\0');
}

static void read_line(struct line *line, const char *text)
{
	static const char label[] = "process=\"";
	const char *value = strrchr(text, ' ');
	const char *process = strstr(text, label);
	const char *behind;

	assert_non_null(value);
	memset(line, 0, sizeof *line);
	read_value(line, value + 1);
	if (process) {
		process += strlen(label);
		behind = strchr(process, '"');
		assert_non_null(behind);
		snprintf(line->process, sizeof line->process, "%.*s", (int)(behind - process),
			 process);
	} else {
		process = behind = value;
	}
	assert_true((size_t)(value - text) < sizeof line->key);
	snprintf(line->key, sizeof line->key, "%.*s%.*s", (int)(process - text), text,
		 (int)(value - behind), behind);
}

static bool is_compared(const char *text, bool durations)
{
	size_t name = strcspn(text, "{ ");

	if (*text == '#') {
		return false;
	}
	for (size_t i = 0; rounded[i] && !durations; i++) {
		size_t size = strlen(rounded[i]);

		if (name > size && strncmp(text + name - size, rounded[i], size) == 0) {
			return false;
		}
	}
	for (size_t i = 0; left_out[i]; i++) {
		if (strncmp(text, left_out[i], strlen(left_out[i])) == 0) {
			return false;
		}
	}
	return true;
}

static void read_page(struct lines *lines, const struct etw_text *page, bool durations)
{
	char *at = page->data;
	const char *page_end = at + page->size;

	lines->count = 0;
	lines->lines = calloc(LINES_MAX, sizeof *lines->lines);
	assert_non_null(lines->lines);
	while (at < page_end) {
		char *end = memchr(at, '\n', (size_t)(page_end - at));

		assert_non_null(end);
		*end = '\0';
		if (is_compared(at, durations)) {
			assert_true(lines->count < LINES_MAX);
			read_line(&lines->lines[lines->count++], at);
		}
		*end = '\n';
		at = end + 1;
	}
	qsort(lines->lines, lines->count, sizeof *lines->lines, compare_lines);
}

/* Live sessions leave requests for files to the kernel's events, which the configuration enables,
 * whether or not the recording that is played has them (config/README.md, "Two sources of the same
 * events"). */
static void drop_second_source(struct lines *lines)
{
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const char *key = lines->lines[i].key;

		if (strncmp(key, "etw_file_", strlen("etw_file_")) != 0 ||
		    !strstr(key, "provider=\"Microsoft-Windows-Kernel-File\"")) {
			lines->lines[kept++] = lines->lines[i];
		}
	}
	lines->count = kept;
}

/* On Windows a live session asks the machine for the names of accounts, and a replay does not. */
static void drop_accounts(struct lines *lines)
{
#ifdef _WIN32
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++) {
		if (strncmp(lines->lines[i].key, "etw_process_info{",
			    strlen("etw_process_info{")) != 0) {
			lines->lines[kept++] = lines->lines[i];
		}
	}
	lines->count = kept;
#else
	(void)lines;
#endif
}

/* The live value less that of the replay, of one sample. */
struct difference {
	int64_t whole;
	int64_t nanos;
};

static void add(struct difference *sum, const struct line *line, int sign)
{
	sum->whole += sign * line->whole;
	sum->nanos += sign * line->nanos;
	if (sum->nanos < 0) {
		sum->nanos += 1000000000;
		sum->whole--;
	} else if (sum->nanos >= 1000000000) {
		sum->nanos -= 1000000000;
		sum->whole++;
	}
}

/* Below, at or above zero. */
static int sign_of(const struct difference *difference)
{
	return difference->whole < 0 ? -1 : difference->whole > 0 || difference->nanos > 0 ? 1 : 0;
}

enum likeness {
	THE_SAME,
	UNKNOWN_PROCESSES, /* part of the replay's processes is the live one's `_unknown` */
	OTHER_PROCESSES,   /* the sums over processes are the same */
	OTHER_NAMES,       /* the sums over all label sets of a family are */
};

/* Of one sample, both sides: returns whether they may differ like that. */
static bool is_alike(const struct line *line, const struct difference *difference,
		     enum likeness likeness)
{
	int sign = sign_of(difference);

	if (sign == 0) {
		return true;
	}
	if (likeness == UNKNOWN_PROCESSES) {
		return line->process[0] != '\0' &&
		       (strcmp(line->process, "_unknown") == 0 ? sign > 0 : sign < 0);
	}
	return likeness == OTHER_NAMES || (likeness == OTHER_PROCESSES && line->process[0] != '\0');
}

/* Whether both stand under one sum. */
static bool is_together(const struct line *a, const struct line *b, enum likeness likeness)
{
	size_t size = strcspn(a->key, "{");

	if (likeness == OTHER_NAMES) {
		return size == strcspn(b->key, "{") && strncmp(a->key, b->key, size) == 0;
	}
	return strcmp(a->key, b->key) == 0;
}

/*
 * Samples of idle processors are left out, and which threads idle may be reported at the end. Of
 * the most written paths, which are by process, those that do not fit the list are left out. A
 * session that no process event reaches keeps the last value of a process that has exited.
 */
static bool may_differ(const struct line *line, enum likeness likeness)
{
	static const struct {
		const char *name;
		enum likeness from;
	} families[] = {
		{ "etw_dotnet_gc_heap_bytes{", UNKNOWN_PROCESSES },
		{ "etw_dotnet_threadpool_threads{", UNKNOWN_PROCESSES },
		{ "etw_process_cpu_samples_total{", OTHER_NAMES },
		{ "etw_file_top_written_bytes{", OTHER_PROCESSES },
	};

	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		if (likeness >= families[i].from &&
		    strncmp(line->key, families[i].name, strlen(families[i].name)) == 0) {
			return true;
		}
	}
	return false;
}

/* Families of times between two events, of which one came too late for the other. */
static bool is_of_pairs(const struct line *line)
{
	static const char *const families[] = {
		"etw_dns_query_duration_seconds",
		"etw_dotnet_contention_seconds",
		"etw_dotnet_gc_pause_seconds",
		"etw_file_operation_duration_seconds",
		"etw_file_process_operation_duration_seconds",
		"etw_file_volume_operation_duration_seconds",
		"etw_http_request_duration_seconds",
		"etw_tcp_connect_duration_seconds",
		"etw_thread_ready_duration_seconds",
	};

	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		if (strncmp(line->key, families[i], strlen(families[i])) == 0) {
			return true;
		}
	}
	return false;
}

/* May a sum differ? *unpaired counts those that are smaller because events came out of order. */
static bool may_sum_differ(const struct line *line, const struct difference *sum,
			   enum likeness likeness, size_t *unpaired)
{
	if (unpaired && is_of_pairs(line) && sign_of(sum) < 0) {
		++*unpaired;
		return true;
	}
	return sign_of(sum) == 0 || may_differ(line, likeness);
}

/* unpaired: NULL where all events come in order. */
static size_t count_differences(const struct lines *replay, const struct lines *live,
				enum likeness likeness, size_t *unpaired)
{
	struct difference sum = { 0 };
	size_t i = 0, j = 0, different = 0;
	const struct line *last = NULL;

	while (i < replay->count || j < live->count) {
		int order = i == replay->count ? 1 :
			    j == live->count   ? -1 :
						 compare_lines(&replay->lines[i], &live->lines[j]);
		const struct line *line = order <= 0 ? &replay->lines[i] : &live->lines[j];
		struct difference difference = { 0 };

		if (last && !is_together(last, line, likeness)) {
			if (!may_sum_differ(last, &sum, likeness, unpaired)) {
				print_message("  the sum: %s\n", last->key);
				different++;
			}
			sum = (struct difference){ 0 };
		}
		if (order >= 0) {
			add(&difference, &live->lines[j], 1);
			add(&sum, &live->lines[j++], 1);
		}
		if (order <= 0) {
			add(&difference, &replay->lines[i], -1);
			add(&sum, &replay->lines[i++], -1);
		}
		/* That a sample is there at all counts too, where all must be the same. */
		if (!is_alike(line, &difference, likeness) ||
		    (likeness == THE_SAME && order != 0)) {
			print_message("  %s %s %s: %lld\n",
				      order == 0 ? "both" :
				      order < 0  ? "replay" :
						   "live",
				      line->key, line->process, (long long)difference.whole);
			different++;
		}
		last = line;
	}
	return different + !may_sum_differ(last, &sum, likeness, unpaired);
}

/* The sum of the samples that have this text in front ("\nname{") and this one as last label. */
static int64_t sum_of(const struct side *side, const char *front, const char *last)
{
	const char *at = side->page.data;
	int64_t sum = 0;

	while ((at = strstr(at, front)) != NULL) {
		size_t size = strcspn(++at, "\n");

		while (at[size - 1] != ' ') {
			size--;
		}
		if (strncmp(at + size - 1 - strlen(last), last, strlen(last)) == 0) {
			sum += strtoll(at + size, NULL, 10);
		}
	}
	return sum;
}

/* Operations of which only one event could be used, by all that count them. */
static int64_t count_unmatched(const struct side *side)
{
	return sum_of(side, "\netw_state_unmatched_total{", "}") +
	       sum_of(side, "\netw_consumer_unattributed_events_total{", "reason=\"file\"}");
}

static void assert_alike(const struct side *replay, const struct side *live, enum likeness likeness,
			 bool in_disorder)
{
	struct lines ours, theirs;
	struct runner_session session;
	bool durations;
	size_t different, unpaired = 0;

	runner_session(replay->runner, 0, &session);
	durations = session.facts.clock.type == ETW_CLOCK_QPC;
	if (!durations && likeness < OTHER_PROCESSES) {
		likeness = OTHER_PROCESSES; /* an event may now be in the tick in which one ends */
	}
	read_page(&theirs, &replay->page, durations);
	read_page(&ours, &live->page, durations);
	drop_second_source(&theirs);
	drop_accounts(&theirs);
	drop_accounts(&ours);
	different = count_differences(&theirs, &ours, likeness, in_disorder ? &unpaired : NULL);
	print_message("    %zu samples, %zu of which differ, %zu sums lack late events\n",
		      theirs.count, different, unpaired);
	assert_true(unpaired == 0 || count_unmatched(live) > count_unmatched(replay));
	assert_true(theirs.count > 50);
	free(theirs.lines);
	free(ours.lines);
	assert_int_equal(different, 0);
}

/*
 * The machines that play the recordings: each behaves worse in one respect
 * (tests/fake_etw/BEHAVIOUR.md). What the respect costs is at_worst: the likeness to the replay is
 * that of the comparison, or worse.
 */
static const struct machine {
	const char *name;
	struct fake_etw_options options;
	enum likeness at_worst;
} machines[] = {
	{ "as documented", { 0 }, THE_SAME },
	/* C20: an event may come before the one that names its process, file or volume. */
	{ "in disorder", { .disorder_ms = 1000, .disorder_seed = 1 }, OTHER_NAMES },
	{ "in other disorder", { .disorder_ms = 1000, .disorder_seed = 2 }, OTHER_NAMES },
	{ "in small disorder", { .disorder_ms = 20, .disorder_seed = 3 }, OTHER_NAMES },
	/* What the recording says at its end is harvested at the start. */
	{ "that reports its end at STOP only",
	  { .rundown_provider = FAKE_ETW_NAMES_NEVER, .end_rundown_at_stop = true },
	  THE_SAME },
	/* Names that are asked for come late, and what comes before a consumer has little room. */
	{ "names late, small playback file",
	  { .rundown_provider = FAKE_ETW_NAMES_LATE, .playback_buffers = 1 },
	  THE_SAME },
	/* The event that a session is stopped also comes in its own last buffer. */
	{ "own stop is reported", { .own_stop_is_reported = true }, THE_SAME },
	/* Identity, modes and masks: nothing of a recording depends on them. */
	{ "other GUIDs, handles used again",
	  { .other_guid = true, .reused_handles = true },
	  THE_SAME },
	{ "INDEPENDENT stripped, the full session decides",
	  { .stripped_modes = EVENT_TRACE_INDEPENDENT_SESSION_MODE, .full_decides = true },
	  THE_SAME },
	{ "masks gain bits at once", { .mask_gain = FAKE_ETW_MASKS_GAIN_AT_ONCE }, THE_SAME },
	{ "masks gain bits later", { .mask_gain = FAKE_ETW_MASKS_GAIN_LATER }, THE_SAME },
	/* All that was flushed is delivered before the trace is closed. */
	{ "CloseTrace drops buffers, STOP loses records",
	  { .close_drops = true, .lost_at_stop = 1000 },
	  THE_SAME },
	{ "256 sessions", { .max_loggers = 256 }, THE_SAME },
	/* Drives that no recording has come and go; those of the recording are none of them. */
	{ "restless drives", { .restless_drives = true }, THE_SAME },
};

enum { MACHINES = sizeof machines / sizeof machines[0] };

/* Taken out before any counter: what no live session delivers (records of old types have no
 * provider at all), and the exporter's own events and those about its sessions, which no recording
 * has. */
#define FILTERS "filters: { events: [ " LEFT_OUT " ] }\n"
#define LEFT_OUT                                                   \
	"{ event: EventTrace/* }, { event: ImageID/* }, "          \
	"{ event: '{bbccf6c1-6cd1-48c4-80ff-839482e37671}/*' }, "  \
	"{ event: '{00000000-0000-0000-0000-000000000000}/*' }, "  \
	"{ event: '{07f70771-7647-53cf-f7a8-a8c8660b66d7}/*' }, "  \
	"{ event: '{b675ec37-bdb6-4648-bc92-f3fdc74d3ca2}/11' }, " \
	"{ event: '{b675ec37-bdb6-4648-bc92-f3fdc74d3ca2}/12' }, " \
	"{ event: '{b675ec37-bdb6-4648-bc92-f3fdc74d3ca2}/15' }"

/* And what a session gets when it starts and stops, which is then no part of the stream. It is
 * learned from all the same. */
#define FILTERS_OF_THE_END                                                                       \
	"filters: { events: [ " LEFT_OUT ", { event: SystemConfig/* }, "                         \
	"{ event: FileIo/FileRundown }, { event: Process/DCStart }, { event: Process/DCStop }, " \
	"{ event: Thread/DCStart }, { event: Thread/DCStop }, "                                  \
	"{ event: Image/DCStart }, { event: Image/DCStop } ] }\n"

static const char *filters_of(const struct machine *machine)
{
	return machine->options.end_rundown_at_stop ? FILTERS_OF_THE_END : FILTERS;
}

static void replay_of(struct side *side, const char *path, bool single_pass,
		      const struct machine *machine)
{
	open_side(side, filters_of(machine));
	run_replay(side, path, single_pass);
}

/* One event, which is filtered out, lets the session begin its harvest; waits until it is over. */
static void wait_for_harvest(struct side *side, int64_t time)
{
	static const GUID own_provider = {
		0x07f70771, 0x7647, 0x53cf, { 0xf7, 0xa8, 0xa8, 0xc8, 0x66, 0x0b, 0x66, 0xd7 }
	};
	const struct fake_etw_event event = { .provider = own_provider,
					      .timed = true,
					      .raw_time = time };
	struct runner_session session;
	uint64_t over;

	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	assert_true(fake_etw_emit(&event) > 0);
	fake_etw_flush("one");
	do {
		Sleep(1);
		runner_session(side->runner, 0, &session);
		over = session.statistics.harvests[ETW_HARVEST_DONE] +
		       session.statistics.harvests[ETW_HARVEST_EMPTY];
	} while (over == 0); /* the time limit of the test ends what hangs */
}

/* The machine plays the recording; what it counted is on the page. */
static void live_of(struct side *side, const char *path, bool two_sessions,
		    const struct machine *machine)
{
	static const char one[] = "sessions: { one: {} }\n";
	static const char two[] = "sessions: { one: {}, two: { logger: user, providers: "
				  "[ '{11111111-2222-3333-4444-555555555555}' ] } }\n";
	struct fake_etw_options options = machine->options;
	char config[1024];
	LARGE_INTEGER start;

	options.manual_flush = true;
	/* Those events have the time of now, and would stand out of order between the played ones.
	 */
	options.changes_unreported = !options.own_stop_is_reported;
	fake_etw_reset(&options);
	assert_true(fake_etw_clock_like(path, NULL));
	QueryPerformanceCounter(&start);
	if (machine->options.end_rundown_at_stop) {
		assert_true(fake_etw_exist_like(path, NULL));
	}
	snprintf(config, sizeof config, "%s%s", filters_of(machine), two_sessions ? two : one);
	open_side(side, config);
	open_live_unwatched(side);
	if (machine->options.end_rundown_at_stop || machine->options.open_files > 0) {
		wait_for_harvest(side, start.QuadPart);
	}
	play(path, "one", two_sessions ? KERNEL : EVERYTHING);
	if (two_sessions) {
		play(path, "two", PROVIDERS);
	}
	stop_live(side);
	take_page(side);
}

static void assert_plays_like(const struct side *replay, const char *path, bool two_sessions,
			      enum likeness likeness, const struct machine *machine)
{
	struct side live;

	print_message("  %s: %s session%s, machine %s\n", os_path_name(path),
		      two_sessions ? "two" : "one", two_sessions ? "s" : "", machine->name);
	live_of(&live, path, two_sessions, machine);
	assert_alike(replay, &live, likeness > machine->at_worst ? likeness : machine->at_worst,
		     machine->options.disorder_ms > 0);
	close_side(&live);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
}

static void assert_plays_as_it_replays(const char *path, bool single_pass, bool two_sessions,
				       enum likeness likeness, const struct machine *machine)
{
	struct side replay;

	replay_of(&replay, path, single_pass, machine);
	assert_plays_like(&replay, path, two_sessions, likeness, machine);
	close_side(&replay);
}

/* ---- recordings ---- */

static void report(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t id,
		   const char *image)
{
	const struct kernel_process process = {
		.id = id, .parent_id = 4, .image = image, .command_line = image
	};
	const struct kernel_thread thread = { .process_id = id, .id = id + 1 };

	event_process(k, opcode, &process);
	event_thread(k, opcode, &thread);
}

/* A machine that reports at the start what exists, as a live session does. */
static void write_reported_at_the_start(const char *path)
{
	const struct etw_writer_options options = { .processors = 2 };
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = 101
	};
	const struct kernel_disk disk = { .size = 512, .response_ticks = 100, .thread_id = 201 };
	const struct kernel_hard_fault fault = { .thread_id = 101, .size = 4096 };
	struct etw_writer *writer = etw_writer_open(path, &options, NULL);
	struct kernel_events k;
	int64_t time = 1000;

	assert_non_null(writer);
	kernel_events_init(&k, writer, 8);
	kernel_events_at(&k, 0, time, 4, 8);
	event_volume_mapping(&k, "\\Device\\HarddiskVolume3\\", "C:\\");
	report(&k, OP_DC_START, 100, "alpha.exe");
	report(&k, OP_DC_START, 200, "Beta.EXE");
	event_file_name(&k, OP_FILE_NAME, 0xbee, "\\Device\\HarddiskVolume3\\data\\log.txt");
	for (unsigned i = 0; i < 2000; i++) {
		time += 10;
		kernel_events_at(&k, (uint16_t)(i % 2), time, i % 3 ? 100 : 200, i % 3 ? 101 : 201);
		event_file_transfer(&k, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
		event_disk(&k, OP_DISK_READ, &disk);
		event_hard_fault(&k, &fault);
		event_sample(&k, 0x1000, i % 2 ? 101 : 201);
		if (i % 100 == 0) {
			report(&k, OP_START, 300 + i, "gamma.exe");
		} else if (i % 100 == 50) {
			report(&k, OP_STOP, 300 + i - 50, "gamma.exe");
		}
	}
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
}

static void what_is_reported_at_the_start_counts_as_in_a_replay(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	write_reported_at_the_start(path);
	assert_plays_as_it_replays(path, false, false, THE_SAME, &machines[0]);
	assert_plays_as_it_replays(path, false, true, THE_SAME, &machines[0]);
	remove(path);
}

/* Names, disks and services that only the end of a recording has. */
static void write_named_at_the_end(const char *path)
{
	const struct etw_writer_options options = { .processors = 2 };
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = 101
	};
	const struct kernel_disk transfer = {
		.size = 512, .response_ticks = 100, .file_key = 0xbee, .thread_id = 101
	};
	const struct kernel_physical_disk disk = { .bytes_per_sector = 512,
						   .model = "Contoso SSD",
						   .boot_drive = "C" };
	const struct kernel_logical_disk volume = { .partition = 3,
						    .drive = "C:\\",
						    .file_system = "NTFS" };
	struct etw_writer *writer = etw_writer_open(path, &options, NULL);
	struct kernel_events k;

	assert_non_null(writer);
	kernel_events_init(&k, writer, 8);
	kernel_events_at(&k, 0, 1000, 4, 8);
	report(&k, OP_DC_START, 100, "alpha.exe");
	for (unsigned i = 0; i < 100; i++) {
		kernel_events_at(&k, (uint16_t)(i % 2), 1010 + 10 * (int64_t)i, 100, 101);
		event_file_transfer(&k, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
		event_disk(&k, OP_DISK_READ, &transfer);
	}
	kernel_events_at(&k, 0, 3000, 4, 8);
	event_file_name(&k, OP_FILE_NAME_RUNDOWN, 0xbee,
			"\\Device\\HarddiskVolume3\\data\\log.txt");
	event_system_physical_disk(&k, &disk);
	event_system_logical_disk(&k, &volume);
	report(&k, OP_DC_STOP, 100, "alpha.exe");
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
}

static void what_is_named_at_the_end_counts_as_in_a_replay(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	write_named_at_the_end(path);
	assert_plays_as_it_replays(path, false, false, OTHER_NAMES, &machines[0]);
	for (size_t i = 0; i < MACHINES; i++) {
		if (machines[i].options.end_rundown_at_stop) {
			assert_plays_as_it_replays(path, false, false, THE_SAME, &machines[i]);
		}
	}
	remove(path);
}

/* A large machine, whose names come in one burst; one recording is enough for that. */
static void many_open_files_change_nothing(void **state)
{
	static const struct machine large = { "with 150,000 open files",
					      { .open_files = 150000,
						.rundown_provider = FAKE_ETW_NAMES_NEVER },
					      THE_SAME };
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(sample_write(path, NULL, &err));
	assert_plays_as_it_replays(path, true, false, THE_SAME, &large);
	remove(path);
}

static void the_sample_counts_as_in_a_replay(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(sample_write(path, NULL, &err));
	assert_plays_as_it_replays(path, true, false, THE_SAME, &machines[0]);
	assert_plays_as_it_replays(path, true, true, UNKNOWN_PROCESSES, &machines[0]);
	remove(path);
}

struct folder {
	char path[512];
	unsigned recordings;
};

/* Recordings whose end, or a merge, reports more than processes: files, drives, schemas. */
static bool is_named_at_the_end(const char *name)
{
	static const char *const names[] = { "net.4.5.2.x64.etl", "synthetic-cycles-cut.etl",
					     "synthetic-qpc.etl", "synthetic-systime.etl" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* The header of this one says 32 bits and its payloads have 64, so that all its processes have the
 * id 0, stop, and exist at its end: no machine can be in that state. */
static bool is_playable(const char *name, const struct machine *machine)
{
	return !machine->options.end_rundown_at_stop || strcmp(name, "process_data_64_v2.etl") != 0;
}

/* The two largest recordings. */
static bool takes_long(const char *name)
{
	return strcmp(name, "net.4.5.2.x64.etl") == 0 ||
	       strcmp(name, "ShutdownPerfDiagLogger.etl") == 0;
}

static bool try_recording(void *context, const char *name)
{
	struct folder *folder = context;
	const char *ending = strrchr(name, '.');
	enum likeness likeness = is_named_at_the_end(name) ? OTHER_NAMES : UNKNOWN_PROCESSES;
	/* Or a part of them: as documented, and in disorder. */
	const size_t tried_machines = is_thorough() ? MACHINES : 2;
	char path[1024];
	struct side replay;

	if (!ending || strcmp(ending, ".etl") != 0 || (takes_long(name) && !is_thorough())) {
		return true;
	}
	folder->recordings++;
	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	replay_of(&replay, path, true, &machines[0]);
	assert_plays_like(&replay, path, false, THE_SAME, &machines[0]);
	assert_plays_like(&replay, path, true, UNKNOWN_PROCESSES, &machines[0]);
	close_side(&replay);
	/* With its first pass; each machine costs one more play of every recording. */
	replay_of(&replay, path, false, &machines[0]);
	for (size_t i = 0; i < tried_machines; i++) {
		if (!machines[i].options.end_rundown_at_stop) {
			assert_plays_like(&replay, path, false, likeness, &machines[i]);
		}
	}
	close_side(&replay);
	for (size_t i = 0; i < tried_machines; i++) {
		if (machines[i].options.end_rundown_at_stop && is_playable(name, &machines[i])) {
			assert_plays_as_it_replays(path, false, false, likeness, &machines[i]);
		}
	}
	return true;
}

/* Where they are at hand. */
static void every_recording_counts_as_in_a_replay(void **state)
{
	struct folder folder = { .recordings = 0 };

	(void)state;
	snprintf(folder.path, sizeof folder.path, "%s/../shared/traces", SOURCE_DIR);
	assert_true(os_folder_list(folder.path, try_recording, &folder));
	if (folder.recordings == 0) {
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_reported_at_the_start_counts_as_in_a_replay),
		cmocka_unit_test(what_is_named_at_the_end_counts_as_in_a_replay),
		cmocka_unit_test(the_sample_counts_as_in_a_replay),
		cmocka_unit_test(many_open_files_change_nothing),
		cmocka_unit_test(every_recording_counts_as_in_a_replay),
	};
	int failed = cmocka_run_group_tests_name("live_replay", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}
