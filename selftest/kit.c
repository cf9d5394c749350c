/* SPDX-License-Identifier: MIT */
/*
 * Runs the parts of the kit one after another and writes what each reports.
 *
 * A part that calls event tracing runs on its own thread for a limited time, because a call that
 * hangs on an unknown machine must not prevent the other parts. A thread that does not end keeps
 * its memory, and no further part calls event tracing. The self-test runs on the calling thread: it
 * has its own time limits and stops when the program is requested to.
 *
 * Texts are written through kit_files_write(), which masks names. Files that other programs write
 * (event logs) cannot be masked, so they are left out if names must be masked.
 *
 * The summary is written last but read first: it has at most 30 lines, with the refuted assumptions
 * and the failed parts on top. The files have the details.
 */
#include "selftest/kit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "exporter/version.h"
#include "selftest/kit_etw.h"
#include "selftest/kit_files.h"
#include "selftest/kit_machine.h"

enum {
	CALL_MS = 60000,
	LOOK_MS = 100,
	EVENT_LOG_MS = 30000,
	LOG_BYTES_MAX = 4 << 20,
	SUMMARY_LINES = 30,
	SUMMARY_REFUTED = 10,
	SUMMARY_FAILED = 8,
	KERNEL_MS = 5000,
};

#define NS_PER_MS UINT64_C(1000000)

/* The moments of the self-test at which counters are read: before and after the activity. */
enum moment { BEFORE, AFTER, MOMENTS };

static const char *const moment_names[MOMENTS] = { "before", "after" };

struct sums {
	bool known;
	uint64_t ours[KIT_COUNTERS];
	struct kit_counter_value windows[KIT_COUNTERS];
};

struct limited_call;

struct kit {
	const struct kit_options *options;
	struct kit_mask *mask; /* NULL: names are not masked */
	struct kit_files *files;
	struct os_mutex log_lock;
	struct etw_text log; /* guarded by log_lock */
	bool stopped;        /* the program was requested to stop */
	struct limited_call
		*hangs; /* owned; a call of event tracing that did not return; NULL: none */
	struct etw_text failures; /* one line for each part */
	unsigned failure_count;
	uint64_t start_ns, start_unix_ns;

	/* The self-test. */
	struct etw_text table, results;
	struct etw_text failed_rows; /* one line for each row */
	unsigned row_count, failed_count;
	struct sums sums[MOMENTS];
	struct etw_text disks[MOMENTS]; /* the page's lines about bytes of disks */
	bool ran, passed;

	/* The assumptions. */
	struct etw_text details;  /* assumptions.txt */
	struct etw_text found[4]; /* rows by enum kit_state; the last are those without a probe */
	unsigned counts[4];
	struct etw_text refutations; /* one line for each refuted assumption */

	/* The recording of kernel events. */
	struct kit_kernel *kernel;  /* owned; NULL: there is none */
	struct etw_text answered;   /* rows of the assumptions that it answered */
	struct etw_text unanswered; /* rows for which it has no event */
};

enum { UNTESTABLE = KIT_REFUTED + 1 };

static void part_failed(struct kit *kit, const char *part, const char *why)
{
	text_add_format(&kit->failures, "  %s: %s\n", part, why);
	kit->failure_count++;
}

/* Returns whether the program was requested to stop. */
static bool stopping(struct kit *kit)
{
	const struct self_test_options *self_test = &kit->options->self_test;

	kit->stopped = kit->stopped || !self_test->wait(self_test->context, 0);
	return kit->stopped;
}

static bool is_file(const char *path)
{
	struct os_file *file = os_file_open(path, NULL);

	os_file_close(file);
	return file != NULL;
}

/* ---- limited time ---- */

struct limited_call {
	void (*run)(void *argument);
	void (*release)(void *argument);
	void *argument;
	struct os_mutex lock;
	struct os_condition changed;
	bool done;      /* guarded by lock */
	bool abandoned; /* guarded by lock */
	struct os_thread thread;
};

static void limited_call_free(struct limited_call *job)
{
	os_condition_done(&job->changed);
	os_mutex_done(&job->lock);
	free(job);
}

static void limited_call_run(void *context)
{
	struct limited_call *job = context;
	bool abandoned;

	job->run(job->argument);
	os_mutex_lock(&job->lock);
	job->done = true;
	abandoned = job->abandoned;
	os_condition_wake_all(&job->changed);
	os_mutex_unlock(&job->lock);
	if (abandoned) {
		job->release(job->argument);
		limited_call_free(job);
	}
}

/* Waits for a job. Returns false if it did not end within that time. */
static bool limited_call_wait(struct limited_call *job, uint32_t ms)
{
	uint64_t until = os_monotonic_ns() + ms * NS_PER_MS;
	bool done;

	os_mutex_lock(&job->lock);
	while (!job->done && os_monotonic_ns() < until) {
		os_condition_wait(&job->changed, &job->lock, LOOK_MS * NS_PER_MS);
	}
	done = job->done;
	os_mutex_unlock(&job->lock);
	return done;
}

/*
 * Calls run(argument) on its own thread and waits for a limited time. Returns false if there is no
 * thread or the call did not end in time; in the second case no other thread may call event tracing
 * any more. On failure argument is released: at once without a thread, otherwise when the call
 * returns after all.
 */
static bool run_with_limit(struct kit *kit, void (*run)(void *), void (*release)(void *),
			   void *argument, struct etw_error *err)
{
	struct limited_call *job = calloc(1, sizeof *job);

	if (!job) {
		release(argument);
		return error_no_memory(err, "a thread");
	}
	*job = (struct limited_call){ .run = run, .release = release, .argument = argument };
	os_mutex_init(&job->lock);
	os_condition_init(&job->changed);
	if (!os_thread_start(&job->thread, limited_call_run, job, err)) {
		release(argument);
		limited_call_free(job);
		return false;
	}
	if (!limited_call_wait(job, kit->options->call_ms > 0 ? kit->options->call_ms : CALL_MS)) {
		kit->hangs = job;
		return error_set(err, ETW_ERROR_SYSTEM, "it did not end in time");
	}
	os_thread_join(&job->thread);
	limited_call_free(job);
	return true;
}

/* Abandons a call that hangs. Before that, a call that was only slow gets time to stop its
 * session. */
static void abandon_call(const struct kit *kit)
{
	struct limited_call *job = kit->hangs;
	bool done;

	if (!job) {
		return;
	}
	limited_call_wait(job, CALL_MS);
	os_mutex_lock(&job->lock);
	done = job->done;
	job->abandoned = !done;
	os_mutex_unlock(&job->lock);
	if (done) {
		os_thread_join(&job->thread);
		job->release(job->argument);
		limited_call_free(job);
	}
}

/* ---- tables of event tracing ---- */

struct table_job {
	void (*table)(struct etw_text *csv);
	struct etw_text csv;
};

static void table_run(void *argument)
{
	struct table_job *job = argument;

	job->table(&job->csv);
}

static void table_free(void *argument)
{
	struct table_job *job = argument;

	text_free(&job->csv);
	free(job);
}

static void write_table(struct kit *kit, const char *name, const char *what,
			void (*table)(struct etw_text *csv))
{
	struct table_job *job = calloc(1, sizeof *job);
	struct etw_error err = { 0 };

	if (!job || stopping(kit) || kit->hangs) {
		part_failed(kit, name,
			    !job         ? "no memory" :
			    kit->stopped ? "the program was requested to stop" :
					   "an earlier call of event tracing hangs");
		free(job);
		return;
	}
	job->table = table;
	if (!run_with_limit(kit, table_run, table_free, job, &err)) {
		part_failed(kit, name, err.text);
		return;
	}
	kit_files_write(kit->files, name, what, &job->csv);
	free(job);
}

static void loggers_without_rights(void *csv)
{
	kit_loggers(csv, true);
}

static void loggers(struct etw_text *csv)
{
	struct etw_error err = { 0 };

	kit_loggers(csv, false);
	if (!kit_without_rights(loggers_without_rights, csv, &err)) {
		text_add_string(csv, "without rights,");
		csv_add(csv, err.text);
		text_add_string(csv, ",,,,,,,,\n");
	}
}

/* ---- assumptions ---- */

struct probe_job {
	const struct kit_assumption *assumption;
	struct kit_finding finding;
};

static void probe_run(void *argument)
{
	struct probe_job *job = argument;

	kit_probe(job->assumption, &job->finding);
}

static void probe_free(void *argument)
{
	struct probe_job *job = argument;

	text_free(&job->finding.seen);
	free(job);
}

static void add_finding(struct kit *kit, const struct kit_assumption *assumption, unsigned state,
			const char *seen)
{
	static const char *const words[] = { [KIT_NOT_TESTED] = "not tested",
					     [KIT_CONFIRMED] = "confirmed",
					     [KIT_REFUTED] = "REFUTED",
					     [UNTESTABLE] = "no probe" };

	kit->counts[state]++;
	text_add_format(&kit->found[state], " %s", assumption->row);
	text_add_format(&kit->details, "%-5s %-10s %s\n                 %s\n", assumption->row,
			words[state], assumption->sentence, seen);
	if (state == KIT_REFUTED && kit->counts[state] <= SUMMARY_REFUTED) {
		text_add_format(&kit->refutations, "  %s %s: %s\n", assumption->row,
				assumption->sentence, seen);
	}
}

/* Lets the recording of kernel events answer. */
static void test_by_recording(struct kit *kit, const struct kit_assumption *assumption)
{
	struct kit_finding finding = { .state = KIT_NOT_TESTED };

	if (!kit->kernel) {
		add_finding(kit, assumption, KIT_NOT_TESTED,
			    "there is no recording of kernel events");
		return;
	}
	assumption->recorded(kit->kernel, &finding);
	text_add_format(finding.state == KIT_NOT_TESTED ? &kit->unanswered : &kit->answered, " %s",
			assumption->row);
	add_finding(kit, assumption, finding.state, finding.seen.data ? finding.seen.data : "");
	text_free(&finding.seen);
}

static void test_assumption(struct kit *kit, const struct kit_assumption *assumption)
{
	struct probe_job *job = NULL;
	struct etw_error err = { 0 };

	if (assumption->recorded) {
		test_by_recording(kit, assumption);
	} else if (!assumption->probe) {
		add_finding(kit, assumption, UNTESTABLE, assumption->why_not);
	} else if (stopping(kit)) {
		add_finding(kit, assumption, KIT_NOT_TESTED, "the program was requested to stop");
	} else if (kit->hangs) {
		add_finding(kit, assumption, KIT_NOT_TESTED,
			    "an earlier call of event tracing hangs");
	} else if ((job = calloc(1, sizeof *job)) == NULL) {
		add_finding(kit, assumption, KIT_NOT_TESTED, "no memory");
	} else {
		job->assumption = assumption;
		if (!run_with_limit(kit, probe_run, probe_free, job, &err)) {
			add_finding(kit, assumption, KIT_NOT_TESTED, err.text);
			return;
		}
		add_finding(kit, assumption, job->finding.state,
			    job->finding.seen.data ? job->finding.seen.data : "");
		probe_free(job);
	}
}

static void test_assumptions(struct kit *kit)
{
	for (const struct kit_assumption *assumption = kit_assumptions; assumption->row;
	     assumption++) {
		test_assumption(kit, assumption);
	}
	kit_files_write(
		kit->files, "assumptions.txt",
		"each assumption about Windows: confirmed, refuted, or why it was not tested",
		&kit->details);
}

/* ---- the recording of kernel events ---- */

#define KERNEL_FILE "all-kernel.etl"

struct record_job {
	char *path; /* owned */
	unsigned ms;
	struct etw_text csv;
	bool recorded;
};

static void record_run(void *argument)
{
	struct record_job *job = argument;

	job->recorded = kit_record_kernel(job->path, job->ms, &job->csv);
}

static void record_free(void *argument)
{
	struct record_job *job = argument;

	text_free(&job->csv);
	free(job->path);
	free(job);
}

/* Counts what was recorded. The recording has names of files and users, so it does not stay if
 * names are masked. */
static void count_recording(struct kit *kit, const char *path)
{
	struct etw_text csv = { 0 };
	struct etw_error err = { 0 };

	kit->kernel = kit_kernel_read(path, &err);
	if (!kit->kernel) {
		part_failed(kit, KERNEL_FILE, err.text);
	} else {
		kit_kernel_table(kit->kernel, &csv);
		kit_files_write(kit->files, "kernel-counts.csv",
				"kernel events of five seconds by class, opcode, version, header "
				"and size of payload; how many have a process and an address",
				&csv);
	}
	if (kit->mask) {
		os_file_remove(path, NULL);
	} else {
		kit_files_list(kit->files, KERNEL_FILE,
			       "five seconds with all kernel events, written by Windows");
	}
}

static void record_kernel(struct kit *kit)
{
	const struct kit_options *options = kit->options;
	struct record_job *job = calloc(1, sizeof *job);
	struct etw_error err = { 0 };

	if (job) {
		job->path = kit_files_path(kit->files, KERNEL_FILE);
		job->ms = options->kernel_ms > 0 ? options->kernel_ms : KERNEL_MS;
	}
	if (!job || !job->path || stopping(kit) || kit->hangs) {
		part_failed(kit, KERNEL_FILE,
			    !job || !job->path ? "no memory" :
			    kit->stopped       ? "the program was requested to stop" :
						 "an earlier call of event tracing hangs");
		if (job) {
			record_free(job);
		}
		return;
	}
	if (!run_with_limit(kit, record_run, record_free, job, &err)) {
		part_failed(kit, KERNEL_FILE, err.text);
		return;
	}
	kit_files_write(kit->files, "kernel-masks.csv",
			"the kernel flags and groups that were requested, and the masks that "
			"Windows answered",
			&job->csv);
	if (job->recorded) {
		count_recording(kit, job->path);
	} else {
		part_failed(kit, KERNEL_FILE, "it was not recorded; kernel-masks.csv says why");
	}
	record_free(job);
}

/* ---- the self-test ---- */

static const char *const our_families[KIT_COUNTERS] = {
	[KIT_DISK_READ] = "etw_disk_read_bytes_total",
	[KIT_DISK_WRITTEN] = "etw_disk_written_bytes_total",
	[KIT_IO_READ] = "etw_file_read_bytes_total",
	[KIT_IO_WRITTEN] = "etw_file_written_bytes_total",
	[KIT_NETWORK_SENT] = "etw_network_sent_bytes_total",
	[KIT_NETWORK_RECEIVED] = "etw_network_received_bytes_total",
};

/* Returns the sum of all samples of a family of integers. */
static uint64_t family_sum(const struct etw_text *page, const char *family)
{
	size_t size = strlen(family);
	uint64_t sum = 0;

	for (const char *line = page->data; line && *line; line = strchr(line, '\n')) {
		const char *end, *value;

		line += *line == '\n';
		end = strchr(line, '\n');
		if (!end || strncmp(line, family, size) != 0 || line[size] != '{') {
			continue;
		}
		for (value = end; value[-1] != ' '; value--) {
		}
		sum += strtoull(value, NULL, 10);
	}
	return sum;
}

static const char *const disk_families[] = { "etw_disk_read_bytes_total{",
					     "etw_disk_written_bytes_total{" };

/* Copies the lines of the families of disks. */
static void copy_disk_lines(struct etw_text *kept, const struct etw_text *page)
{
	for (const char *line = page->data; line && *line;) {
		const char *end = strchr(line, '\n');
		size_t size = end ? (size_t)(end - line) + 1 : strlen(line);

		for (size_t i = 0; i < sizeof disk_families / sizeof disk_families[0]; i++) {
			if (strncmp(line, disk_families[i], strlen(disk_families[i])) == 0) {
				text_add(kept, line, size);
			}
		}
		line += size;
	}
}

/* Returns the value of the line that begins with these characters; 0 if there is none. */
static uint64_t value_of_line(const struct etw_text *lines, const char *start, size_t size)
{
	for (const char *line = lines->data; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, start, size) == 0) {
			return strtoull(line + size, NULL, 10);
		}
	}
	return 0;
}

/* Writes how much the counters of each disk have grown: a disk in a file (VHD) and the disk of that
 * file count the same bytes. */
static void write_disks(struct kit *kit)
{
	struct etw_text csv = { 0 };

	text_add_string(&csv, "family,disk,bytes\n");
	for (const char *line = kit->disks[AFTER].data; line && *line;) {
		const char *end = strchr(line, '\n');
		const char *label = strstr(line, "{disk=\""), *close = strstr(line, "\"} ");
		size_t size;

		if (!end || !label || !close || close > end) {
			break;
		}
		size = (size_t)(close - line) + strlen("\"} ");
		text_add(&csv, line, (size_t)(label - line));
		text_add_char(&csv, ',');
		label += strlen("{disk=\"");
		text_add(&csv, label, (size_t)(close - label));
		text_add_format(&csv, ",%" PRIu64 "\n",
				(uint64_t)strtoull(line + size, NULL, 10) -
					value_of_line(&kit->disks[BEFORE], line, size));
		line = end + 1;
	}
	kit_files_write(kit->files, "disks.csv",
			"bytes that the exporter counted for each disk during the activity", &csv);
}

static void on_page(void *context, const char *moment, const struct etw_text *page)
{
	struct kit *kit = context;
	struct etw_error err = { 0 };
	struct etw_text copy = { 0 };
	unsigned at = strcmp(moment, moment_names[BEFORE]) == 0 ? BEFORE : AFTER;
	struct sums *sums = &kit->sums[at];

	sums->known = kit_counters_read(sums->windows, &err);
	for (unsigned i = 0; i < KIT_COUNTERS; i++) {
		sums->ours[i] = family_sum(page, our_families[i]);
	}
	copy_disk_lines(&kit->disks[at], page);
	text_add(&copy, page->data, page->size);
	kit_files_write(kit->files, at == BEFORE ? "before.prom" : "after.prom",
			at == BEFORE ? "the metrics page before the known activity" :
				       "the metrics page after the known activity",
			&copy);
	if (!sums->known && (at == BEFORE || kit->sums[BEFORE].known)) { /* once */
		part_failed(kit, "ratios.csv", err.text);
	}
}

static void on_result(void *context, const struct self_test_result *result)
{
	static const char *const states[] = { [SELF_TEST_OK] = "ok",
					      [SELF_TEST_FAILED] = "FAILED",
					      [SELF_TEST_SKIPPED] = "skipped" };
	struct kit *kit = context;

	kit->row_count++;
	csv_add(&kit->results, result->what);
	text_add_format(&kit->results, ",%" PRIu64 ",%" PRIu64 ",%s,%s,", result->expected,
			result->counted, result->at_least ? "at least" : "exactly",
			states[result->state]);
	csv_add(&kit->results, result->look_at);
	text_add_char(&kit->results, '\n');
	if (result->state == SELF_TEST_FAILED && ++kit->failed_count <= SUMMARY_FAILED) {
		text_add_format(&kit->failed_rows,
				"  %s: %" PRIu64 ", expected %s%" PRIu64 "; check %s\n",
				result->what, result->counted, result->at_least ? "at least " : "",
				result->expected, result->look_at);
	}
}

static void write_ratios(struct kit *kit)
{
	struct etw_text csv = { 0 };

	if (!kit->sums[BEFORE].known || !kit->sums[AFTER].known) {
		return;
	}
	text_add_string(&csv, "family,bytes,performance_counter,counter_bytes,ratio\n");
	for (unsigned i = 0; i < KIT_COUNTERS; i++) {
		const struct kit_counter_value *before = &kit->sums[BEFORE].windows[i];
		const struct kit_counter_value *after = &kit->sums[AFTER].windows[i];
		uint64_t ours = kit->sums[AFTER].ours[i] - kit->sums[BEFORE].ours[i];

		text_add_format(&csv, "%s,%" PRIu64 ",", our_families[i], ours);
		csv_add(&csv, kit_counter_name((enum kit_counter)i));
		if (before->known && after->known && after->bytes > before->bytes) {
			uint64_t bytes = after->bytes - before->bytes;

			text_add_format(&csv, ",%" PRIu64 ",%.3f\n", bytes,
					(double)ours / (double)bytes);
		} else {
			text_add_string(&csv, before->known && after->known ? ",0,\n" : ",,\n");
		}
	}
	kit_files_write(kit->files, "ratios.csv",
			"bytes that the exporter counted during the activity, and what the "
			"performance counters say",
			&csv);
}

static void run_self_test(struct kit *kit)
{
	struct self_test_options options = kit->options->self_test;
	struct kit_samples *samples = NULL;
	struct etw_text csv = { 0 };
	struct etw_error err = { 0 };

	options.on_result = on_result;
	options.on_page = on_page;
	options.result_context = kit;
	text_add_string(&kit->results, "what,expected,counted,comparison,state,look_at\n");
	if (stopping(kit) || kit->hangs) {
		part_failed(kit, "self-test",
			    kit->stopped ? "the program was requested to stop" :
					   "an earlier call of event tracing hangs");
	} else {
		samples = kit_samples_start(SELF_TEST_SESSION, &err);
		if (!samples) {
			part_failed(kit, "session.csv", err.text);
		}
		kit->ran = self_test_run(&options, &kit->table, &kit->passed, &err);
		if (!kit->ran) {
			part_failed(kit, "self-test", err.text);
		}
	}
	if (samples) {
		kit_samples_end(samples, &csv);
		kit_files_write(kit->files, "session.csv",
				"what QUERY and the group masks of the session said over time",
				&csv);
	}
	if (kit->ran) {
		kit_files_write(kit->files, "self-test.txt", "what was counted, and what was done",
				&kit->table);
		kit_files_write(kit->files, "self-test.csv",
				"the same table as CSV, for comparison", &kit->results);
		write_ratios(kit);
		write_disks(kit);
	}
}

/* ---- Windows ---- */

static void export_event_log(struct kit *kit, const char *log, const char *name)
{
	/* The query selects entries of the last hour; wevtutil gets it as an argument. */
	char query[] = "/q:*[System[TimeCreated[timediff(@SystemTime) <= 3600000]]]";
	char *path = kit_files_path(kit->files, name);
	const char *const arguments[] = { "epl", log, path, query, "/ow:true", NULL };
	struct etw_error err = { 0 };

	if (!path || !kit_child("wevtutil", arguments, EVENT_LOG_MS, &err)) {
		part_failed(kit, name, path ? err.text : "no memory");
	} else if (!is_file(path)) {
		part_failed(kit, name, "wevtutil wrote no file");
	} else {
		kit_files_list(kit->files, name, "entries of that event log of the last hour");
	}
	free(path);
}

static void export_event_logs(struct kit *kit)
{
	if (!kit->mask && !stopping(kit)) {
		export_event_log(kit, "Application", "application.evtx");
		export_event_log(kit, "System", "system.evtx");
		export_event_log(kit, "Microsoft-Windows-Kernel-EventTracing/Admin",
				 "tracing.evtx");
	}
}

static void cycle_service(struct kit *kit)
{
	static const char config[] =
		"# The service that etw_selftest --service installs for a moment.\n"
		"web: { listen_addresses: [ '127.0.0.1:0' ] }\n"
		"sessions: { " KIT_SERVICE_SESSION ": {} }\n";
	struct etw_text text = { 0 };
	struct etw_text csv = { 0 };
	struct etw_error err = { 0 };
	char *path;

	if (!kit->options->service || stopping(kit)) {
		return;
	}
	text_add_string(&text, config);
	kit_files_write(kit->files, "service.yaml", "the configuration of the service of the cycle",
			&text);
	path = kit_files_path(kit->files, "service.yaml");
	if (!path || !kit_service_cycle(path, &csv, &err)) {
		part_failed(kit, "service.csv", path ? err.text : "no memory");
	}
	kit_files_write(kit->files, "service.csv",
			"a service: installed, started, killed, restarted, stopped, removed", &csv);
	free(path);
	if (!kit->hangs) {
		kit_etw_clean(); /* a killed service may have left its session running */
	}
}

static void write_facts(struct kit *kit)
{
	struct etw_text csv = { 0 };
	uint64_t counter_ns = os_monotonic_ns() - kit->start_ns;
	int64_t ahead_ns = (int64_t)(os_unix_time_ns() - kit->start_unix_ns - counter_ns);

	text_add_format(&csv, "name,value\nversion,%s\nrevision,%s\n", program_version.number,
			program_version.revision);
	if (!kit->hangs) {
		kit_etw_facts(&csv);
	}
	kit_machine_facts(&csv);
	text_add_format(&csv, "run_ms,%" PRIu64 "\nsystem_time_ahead_of_counter_us,%" PRId64 "\n",
			counter_ns / NS_PER_MS, ahead_ns / 1000);
	kit_files_write(kit->files, "machine.csv",
			"facts about the machine, the account, the clocks", &csv);
}

/* ---- the log ---- */

static void add_log_line(void *context, enum log_level level, const char *line, size_t size)
{
	struct kit *kit = context;
	char end = '\n';

	(void)level;
	os_mutex_lock(&kit->log_lock);
	if (kit->log.size < LOG_BYTES_MAX) {
		text_add(&kit->log, line, size);
		text_add(&kit->log, &end, 1);
	}
	os_stderr_write(line, size);
	os_stderr_write(&end, 1);
	os_mutex_unlock(&kit->log_lock);
}

/* ---- the summary ---- */

/* Adds the first `count` lines of a text. */
static void add_lines(struct etw_text *out, const struct etw_text *lines, unsigned count)
{
	const char *at = lines->data;

	for (; count > 0 && at && *at; count--) {
		const char *end = strchr(at, '\n');
		size_t size = end ? (size_t)(end - at) + 1 : strlen(at);

		text_add(out, at, size);
		at += size;
	}
}

static void add_rows(const struct kit *kit, struct etw_text *out, const char *what, unsigned state)
{
	if (kit->counts[state] > 0) {
		text_add_format(out, "%s (%u):%s\n", what, kit->counts[state],
				kit->found[state].data ? kit->found[state].data : "");
	}
}

static void add_summary(struct kit *kit, struct etw_text *out)
{
	const char *unwritten = kit_files_failures(kit->files);

	text_add_format(
		out,
		"etw_exporter %s (revision %s): the self-test and the assumptions about Windows\n",
		program_version.number, program_version.revision);
	if (kit->ran) {
		text_add_format(out, "Self-test: %u of %u rows failed%s\n", kit->failed_count,
				kit->row_count, kit->failed_count > 0 ? ":" : "");
		add_lines(out, &kit->failed_rows, SUMMARY_FAILED);
	} else {
		text_add_string(out, "Self-test: it did not run, see below\n");
	}
	text_add_format(out, "Assumptions refuted: %u%s\n", kit->counts[KIT_REFUTED],
			kit->counts[KIT_REFUTED] > SUMMARY_REFUTED ?
				" (all are in assumptions.txt):" :
			kit->counts[KIT_REFUTED] > 0 ? ":" :
						       "");
	add_lines(out, &kit->refutations, SUMMARY_REFUTED);
	add_rows(kit, out, "Confirmed", KIT_CONFIRMED);
	add_rows(kit, out, "Not tested, assumptions.txt says why", KIT_NOT_TESTED);
	add_rows(kit, out, "Without a probe, assumptions.txt says why", UNTESTABLE);
	if (kit->kernel) {
		text_add_format(out, "Recording of kernel events: %" PRIu64 " events; answered:%s",
				kit_kernel_records(kit->kernel),
				kit->answered.data ? kit->answered.data : " nothing");
		text_add_format(out, kit->unanswered.data ? "; no event for:%s\n" : "%s\n",
				kit->unanswered.data ? kit->unanswered.data : "");
		kit_kernel_lines(kit->kernel, out);
	}
	if (kit->failure_count > 0) {
		text_add_format(out, "Parts that failed: %u\n", kit->failure_count);
		add_lines(out, &kit->failures, SUMMARY_FAILED);
	}
	text_add_string(out, unwritten);
	if (kit->stopped) {
		text_add_string(out, "The program was requested to stop before the end.\n");
	}
}

static void write_summary(struct kit *kit, struct etw_text *report)
{
	struct etw_text summary = { 0 };

	add_summary(kit, &summary);
	text_add(report, summary.data, summary.size);
	kit_files_write(kit->files, "summary.txt", "read this first", &summary);
	if (kit->failure_count > SUMMARY_FAILED) {
		kit_files_write(kit->files, "failures.txt", "all parts that failed",
				&kit->failures);
	}
}

/* ---- the whole ---- */

static void add_name(void *context, const char *name, const char *what)
{
	struct kit *kit = context;

	if (kit->mask && !kit_mask_name(kit->mask, name, what)) {
		part_failed(kit, "masking", "there are too many names of users");
	}
}

static void run_parts(struct kit *kit)
{
	write_table(kit, "sessions-before.csv", "the sessions that ran at the start", kit_sessions);
	run_self_test(kit);
	write_table(kit, "timeline.csv",
		    "when records came in a session: processes, names of files, SystemConfig",
		    kit_timeline);
	write_table(kit, "loggers.csv",
		    "which sorts of sessions can be started, with and without rights", loggers);
	record_kernel(kit);
	test_assumptions(kit);
	cycle_service(kit);
	export_event_logs(kit);
	write_table(kit, "sessions-after.csv", "the sessions that ran at the end", kit_sessions);
	write_facts(kit);
}

static void kit_done(struct kit *kit)
{
	text_free(&kit->log);
	text_free(&kit->failures);
	text_free(&kit->table);
	text_free(&kit->results);
	text_free(&kit->failed_rows);
	text_free(&kit->details);
	text_free(&kit->refutations);
	text_free(&kit->disks[BEFORE]);
	text_free(&kit->disks[AFTER]);
	text_free(&kit->answered);
	text_free(&kit->unanswered);
	kit_kernel_free(kit->kernel);
	for (unsigned i = 0; i <= UNTESTABLE; i++) {
		text_free(&kit->found[i]);
	}
	kit_files_free(kit->files);
	kit_mask_free(kit->mask);
	os_mutex_done(&kit->log_lock);
}

bool kit_run(const struct kit_options *options, struct etw_text *report, bool *passed,
	     struct etw_error *err)
{
	struct kit kit = { .options = options,
			   .start_ns = os_monotonic_ns(),
			   .start_unix_ns = os_unix_time_ns() };
	bool opened;

	os_mutex_init(&kit.log_lock);
	kit.mask = options->private_names ? kit_mask_new() : NULL;
	if (options->private_names && !kit.mask) {
		kit_done(&kit);
		return error_no_memory(err, "the names to mask");
	}
	kit.files = kit_files_open(options->folder, kit.mask, err);
	opened = kit.files != NULL;
	if (opened) {
		kit_machine_names(add_name, &kit);
		log_to(add_log_line, &kit);
		run_parts(&kit);
		abandon_call(&kit);
		log_to(NULL, NULL);
		if (kit.log.size > 0) {
			kit_files_write(kit.files, "log.txt", "what the program logged", &kit.log);
		}
		write_summary(&kit, report);
		kit_files_finish(kit.files);
		text_add_format(report, "The files are in %s\n", kit_files_folder(kit.files));
		*passed = kit.ran && kit.passed;
	}
	kit_done(&kit);
	return opened;
}
