/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recording, through all of the program: trackers, every rule, the page, and every
 * command of etwtool that reads recordings.
 *
 * The last byte says which command reads the recording; so one run is short, and a mutation of the
 * recording is soon tried with other commands. The commands are those of etwtool, called by its
 * main(). They read a file in memory and write to a stream that checks what arrives.
 *
 * For all bytes: a command ends with status 0 or 1 (fields also with 2, if its pattern fits several
 * events), and with a message unless it is 0. What it prints is UTF-8, and no character steers a
 * terminal, except in the labels that backfill writes for promtool. The page is valid in its format
 * (tests/support/page_oracle.h), and each record that the reader delivered is counted exactly once
 * in each family that counts all of them.
 *
 * recording_mutator.c mutates the inputs.
 */
#define _GNU_SOURCE /* memfd_create, fopencookie */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "exporter/health.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "metrics/exposition.h"
#include "tests/support/page_oracle.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int etwtool_main(int argc, char **argv); /* main() of etwtool/main.c */

enum { WORDS_MOST = 10, OUTPUT_MOST = 8 << 20 /* bytes; then the disk is full */ };

static char config_path[4096] = SOURCE_DIR "/config/etw_exporter.yaml";
static char recording_path[64];
static char relogged_path[64];
static int recording_file;
/* Of the sanitizers, where there are any: where they report. */
extern void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

static FILE *messages; /* what goes to standard error in a run */

static void fail(const char *why, const char *detail, size_t size)
{
	fprintf(stderr, "fuzz_pipeline: %s: %.*s\n", why, (int)(size < 2000 ? size : 2000), detail);
	abort();
}

/* ---- the page ---- */

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* The sum of a family over its label sets; UINT64_MAX if it has none. */
static uint64_t family_sum(const struct etw_text *page, const char *name)
{
	size_t size = strlen(name);
	uint64_t sum = 0;
	bool found = false;

	for (const char *line = page->data; line; line = strchr(line, '\n')) {
		const char *value;

		line += *line == '\n';
		if (strncmp(line, name, size) != 0 || (line[size] != ' ' && line[size] != '{')) {
			continue;
		}
		value = line + strcspn(line, "\n");
		while (value[-1] != ' ') {
			value--;
		}
		sum += strtoull(value, NULL, 10);
		found = true;
	}
	return found ? sum : UINT64_MAX;
}

static void check_page(const struct etw_text *page, uint64_t records)
{
	static const char *const all_records[] = { "etw_consumer_events_total",
						   "etw_consumer_records_total", "etw_events_total",
						   "etw_provider_events_total" };
	const char *line;
	const char *fault = page_fault(page->data, page->size, &line);

	if (fault) {
		fail(fault, line, strcspn(line, "\n"));
	}
	for (size_t i = 0; i < sizeof all_records / sizeof all_records[0]; i++) {
		uint64_t sum = family_sum(page, all_records[i]);

		if (sum != records && !(sum == UINT64_MAX && records == 0)) {
			fprintf(stderr, "%llu of %llu records in %s\n", (unsigned long long)sum,
				(unsigned long long)records, all_records[i]);
			abort();
		}
	}
}

static void replay(const struct etw_source_file_options *file)
{
	const char *const paths[] = { recording_path };
	struct etw_error err = { 0 };
	struct setup setup;
	struct runner_session session;
	struct runner_options options = {
		.setup = &setup, .paths = paths, .path_count = 1, .file = *file
	};
	struct runner *runner;
	struct health *health;
	struct etw_text page = { 0 };

	if (!setup_open(&setup, setup_config(NULL, NULL, &err),
			&(struct setup_options){ .every_collector = true }, &err)) {
		fail("no set-up", err.text, strlen(err.text));
	}
	runner = runner_new(&options, &err);
	if (runner) {
		health = health_new(&setup, runner, &err);
		if (!health || !runner_run(runner, &err)) {
			fail("no run", err.text, strlen(err.text));
		}
		exposition_write(setup.registry, NULL, add_chunk, &page);
		runner_session(runner, 0, &session);
		check_page(&page, session.statistics.records);
		text_free(&page);
		health_free(health);
	}
	runner_free(runner);
	setup_close(&setup);
}

/* ---- the commands ---- */

static const char *const commands[][WORDS_MOST] = {
	{ "summary", recording_path },
	{ "summary", recording_path, "--builtin" },
	{ "stats", recording_path },
	{ "stats", recording_path, "--format", "json", "--top", "3" },
	{ "providers", recording_path },
	{ "providers", recording_path, "--format", "json" },
	{ "fields", recording_path, "*" },
	{ "fields", recording_path, "FileIo/*" },
	{ "fields", recording_path, "DiskIo/Read" },
	{ "dump", recording_path },
	{ "dump", recording_path, "--builtin", "--per-kind", "2", "--pointer-size", "4" },
	{ "dump", recording_path, "--format", "csv", "--stacks" },
	{ "dump", recording_path, "--format", "csv", "--provider", "*Kernel*", "--event", "*/*" },
	{ "dump", recording_path, "--format", "text", "--color", "always" },
	{ "dump", recording_path, "--format", "text", "--from", "1", "--to", "100000" },
	{ "dump", recording_path, "--format", "csv", "--from", "2020-07-29T00:07:00Z" },
	{ "dump", recording_path, "--format", "text", "--where", "Process ne x", "--where",
	  "Path matches ." },
	{ "dump", recording_path, "--format", "csv", "--process", "*", "--where", "Duration ge 0" },
	{ "backfill", recording_path, "--step", "1h", "--pages", "20" },
	{ "doctor", recording_path },
	{ "doctor", recording_path, "--format", "json", "--strict" },
	{ "diff", recording_path, recording_path, "--all", "--fail-if",
	  "etw_disk_read_bytes_total < 0" },
	{ "diff", recording_path, recording_path, "--all", "--format", "csv" },
	{ "relog", recording_path, "-o", relogged_path, "--drop-stacks", "--compress" },
	{ "relog", recording_path, "-o", relogged_path, "--process", "*", "--plain" },
	{ "report", recording_path, "-o", "-" },
	{ "top", recording_path, "--speed", "0", "--batch" },
	{ "check", "config", config_path, "--with", recording_path },
	{ "check", "config", config_path, "--with", recording_path, "--format", "json" },
	{ "relog", recording_path, "-o", relogged_path, "--anonymise", "--keep-undescribed" },
	{ "relog", recording_path, "-o", relogged_path, "--set", "*.@pid=7" },
	{ "dump", recording_path, "--stacks" },
	{ "relog", recording_path, "-o", relogged_path, "--event", "PerfInfo/SampleProf" },
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], REPLAYS = 11 };

struct output {
	size_t size;
	char *bytes;
};

/* Takes what a command writes, up to OUTPUT_MOST bytes. */
static ssize_t take(void *context, const char *bytes, size_t size)
{
	struct output *output = context;

	if (size > OUTPUT_MOST - output->size) {
		return 0;
	}
	memcpy(output->bytes + output->size, bytes, size);
	output->size += size;
	return (ssize_t)size;
}

/* Takes the colours of text out: ESC [ numbers m; and the tabs of the report's style and script. */
static void bleach(struct output *output)
{
	char *to = output->bytes;
	const char *end = to + output->size;

	for (const char *at = to; at < end; at++) {
		if (*at == '\x1b' && at + 1 < end && at[1] == '[') {
			at += 2 + strspn(at + 2, "0123456789;");
		} else {
			*to++ = *at == '\t' ? ' ' : *at;
		}
	}
	output->size = (size_t)(to - output->bytes);
}

static void run(const char *const words[WORDS_MOST])
{
	static char bytes[OUTPUT_MOST + 1];
	struct output output = { .bytes = bytes };
	FILE *standard_output = stdout;
	int standard_error = dup(STDERR_FILENO);
	char *arguments[WORDS_MOST + 2] = { (char *)(uintptr_t) "etwtool" };
	off_t said;
	int count = 1, status;
	bool raw;

	for (; words[count - 1]; count++) {
		arguments[count] = (char *)(uintptr_t)words[count - 1];
	}
	if (__sanitizer_set_report_fd) {
		__sanitizer_set_report_fd((void *)(intptr_t)standard_error);
	}
	lseek(fileno(messages), 0, SEEK_SET);
	dup2(fileno(messages), STDERR_FILENO);
	/* glibc has it as a variable ("Standard Streams", The GNU C Library). */
	stdout = fopencookie(&output, "w", (cookie_io_functions_t){ .write = take });
	status = etwtool_main(count, arguments);
	fclose(stdout);
	stdout = standard_output;
	said = lseek(fileno(messages), 0, SEEK_CUR);
	dup2(standard_error, STDERR_FILENO);
	if (__sanitizer_set_report_fd) {
		__sanitizer_set_report_fd((void *)(intptr_t)STDERR_FILENO);
	}
	close(standard_error);
	/* Both may find nothing that their words select. */
	if (status < 0 ||
	    status > (strcmp(words[0], "fields") == 0 || strcmp(words[0], "diff") == 0 ? 2 : 1)) {
		fail("a status that cannot be", words[0], strlen(words[0]));
	}
	if (status != 0 && said <= 0) {
		fail("no message", words[0], strlen(words[0]));
	}
	bytes[output.size] = '\0';
	bleach(&output);
	/* What is cut at the limit may end within a character. */
	raw = strcmp(words[0], "backfill") == 0;
	if (output.size < OUTPUT_MOST - 65536 &&
	    !(raw ? is_utf8 : is_clean_text)(output.bytes, output.size)) {
		fail("not UTF-8, or a character that steers a terminal", output.bytes, output.size);
	}
}

/* ---- libFuzzer ---- */

static void remove_relogged(void)
{
	unlink(relogged_path);
}

/* OSS-Fuzz runs the target where the sources are not, with this file beside it. */
static void find_config(const char *program)
{
	if (access(config_path, R_OK) != 0) {
		snprintf(config_path, sizeof config_path, "%.*setw_exporter.yaml",
			 (int)(os_path_name(program) - program), program);
	}
	if (access(config_path, R_OK) != 0) {
		fail("there is no configuration", config_path, strlen(config_path));
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	find_config((*argv)[0]);
	log_configure(LOG_ERROR, LOG_LOGFMT);
	recording_file = memfd_create("recording", 0);
	messages = tmpfile();
	if (recording_file < 0 || !messages) {
		fail("no file in memory", "", 0);
	}
	snprintf(recording_path, sizeof recording_path, "/proc/self/fd/%d", recording_file);
	/* relog writes a file that gets this name. */
	snprintf(relogged_path, sizeof relogged_path, "/tmp/fuzz_pipeline_%ld.etl", (long)getpid());
	atexit(remove_relogged);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned choice = size > 0 ? data[size - 1] % (REPLAYS + COMMAND_COUNT) : 0;

	if (ftruncate(recording_file, 0) != 0 ||
	    pwrite(recording_file, data, size, 0) != (ssize_t)size) {
		fail("no file in memory", "", 0);
	}
	if (choice < REPLAYS) {
		replay(&(struct etw_source_file_options){ .single_pass = choice % 4 == 3,
							  .pointer_size = choice == 1 ? 4 : 0 });
	} else {
		run(commands[choice - REPLAYS]);
	}
	return 0;
}
