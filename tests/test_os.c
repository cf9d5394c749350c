/* SPDX-License-Identifier: MIT */
/*
 * Threads, clocks, files and facts about ourselves, as this system has them.
 */
#include "base/os.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

static void set_flag(void *context)
{
	*(bool *)context = true;
}

static void a_thread_runs_and_its_writes_are_seen_after_the_join(void **state)
{
	struct os_thread thread;
	bool ran = false;

	(void)state;
	assert_true(os_thread_start(&thread, set_flag, &ran, NULL));
	os_thread_join(&thread);
	assert_true(ran);
}

static void read_signal_mask(void *context)
{
	pthread_sigmask(SIG_SETMASK, NULL, context);
}

static void signals_are_left_to_the_main_thread(void **state)
{
	struct os_thread thread;
	sigset_t of_thread, ours;

	(void)state;
	assert_true(os_thread_start(&thread, read_signal_mask, &of_thread, NULL));
	os_thread_join(&thread);
	assert_int_equal(sigismember(&of_thread, SIGTERM), 1);
	assert_int_equal(sigismember(&of_thread, SIGINT), 1);
	assert_int_equal(sigismember(&of_thread, SIGHUP), 1);
	assert_int_equal(sigismember(&of_thread, SIGSEGV), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &ours);
	assert_int_equal(sigismember(&ours, SIGTERM), 0);
}

struct turns {
	struct os_mutex mutex;
	struct os_condition changed;
	unsigned turn;  /* guarded by mutex; even: ours, odd: the thread's */
	unsigned count; /* likewise */
};

static void take_100_turns(struct turns *turns, unsigned parity)
{
	for (unsigned i = 0; i < 100; i++) {
		os_mutex_lock(&turns->mutex);
		while (turns->turn % 2 != parity) {
			os_condition_wait(&turns->changed, &turns->mutex, UINT64_MAX);
		}
		turns->turn++;
		turns->count++;
		os_condition_wake_all(&turns->changed);
		os_mutex_unlock(&turns->mutex);
	}
}

static void take_the_odd_turns(void *context)
{
	take_100_turns(context, 1);
}

static void a_condition_wakes_the_one_who_waits(void **state)
{
	struct turns turns = { .turn = 0 };
	struct os_thread thread;

	(void)state;
	os_mutex_init(&turns.mutex);
	os_condition_init(&turns.changed);
	assert_true(os_thread_start(&thread, take_the_odd_turns, &turns, NULL));
	take_100_turns(&turns, 0);
	os_thread_join(&thread);
	assert_int_equal(turns.count, 200);
	os_condition_done(&turns.changed);
	os_mutex_done(&turns.mutex);
}

static void a_wait_ends_when_its_time_ran_out(void **state)
{
	struct os_mutex mutex;
	struct os_condition never;
	uint64_t start;

	(void)state;
	os_mutex_init(&mutex);
	os_condition_init(&never);
	os_mutex_lock(&mutex);
	start = os_monotonic_ns();
	while (os_condition_wait(&never, &mutex, 20 * NS_PER_MS)) {
		/* woken without reason */
	}
	assert_true(os_monotonic_ns() - start >= 20 * NS_PER_MS);
	while (os_condition_wait(&never, &mutex, 0)) {
	}
	os_mutex_unlock(&mutex);
	os_condition_done(&never);
	os_mutex_done(&mutex);
}

static void clocks_go_forward(void **state)
{
	uint64_t monotonic = os_monotonic_ns();
	uint64_t unix_time = os_unix_time_ns();
	uint64_t cpu = os_thread_cpu_ns();

	(void)state;
	assert_true(unix_time / 1000000000 > 1700000000); /* November 2023 */
	while (os_thread_cpu_ns() <= cpu) {
	}
	assert_true(os_monotonic_ns() > monotonic);
}

struct spinner {
	atomic_bool stop;
	atomic_bool spinning;
	uint64_t cpu_ns;
};

static void spin(void *context)
{
	struct spinner *spinner = context;

	while (os_thread_cpu_ns() < 5 * NS_PER_MS) {
	}
	atomic_store(&spinner->spinning, true);
	while (!atomic_load(&spinner->stop)) {
	}
	spinner->cpu_ns = os_thread_cpu_ns();
}

static void the_cpu_time_of_a_running_thread_is_known(void **state)
{
	struct spinner spinner = { .cpu_ns = 0 };
	struct os_thread thread;
	uint64_t seen;

	(void)state;
	assert_true(os_thread_start(&thread, spin, &spinner, NULL));
	while (!atomic_load(&spinner.spinning)) {
	}
	seen = os_thread_cpu_ns_of(&thread);
	atomic_store(&spinner.stop, true);
	os_thread_join(&thread);
	assert_true(seen >= 5 * NS_PER_MS);
	assert_true(seen <= spinner.cpu_ns);
}

static void do_nothing(void *context)
{
	(void)context;
}

/* Not that of the thread that asks, which a clock of thread 0 would be. */
static void a_thread_that_has_ended_has_no_cpu_time(void **state)
{
	struct os_thread thread;
	uint64_t start = os_monotonic_ns();

	(void)state;
	assert_true(os_thread_start(&thread, do_nothing, NULL, NULL));
	while (os_thread_cpu_ns_of(&thread) != 0) {
		assert_true(os_monotonic_ns() - start < 30000 * NS_PER_MS);
	}
	os_thread_join(&thread);
}

static void facts_about_ourselves_are_plausible(void **state)
{
	struct os_process_stats stats, later;
	struct rlimit limit;
	uint64_t now = os_unix_time_ns();
	int fd;

	(void)state;
	os_process_stats(&stats);
	assert_true(stats.cpu_ns > 0);
	assert_true(stats.cpu_ns < 3600 * 1000 * NS_PER_MS);
	assert_true(stats.resident_bytes >= 100 * 1024);
	assert_true(stats.resident_bytes < stats.virtual_bytes);
	assert_true(stats.virtual_bytes != UINT64_MAX);
	/* The kernel counts in hundredths of a second; a test does not run for an hour. */
	assert_true(stats.start_time_unix_ns <= now + 20 * NS_PER_MS);
	assert_true(stats.start_time_unix_ns > now - 3600 * 1000 * NS_PER_MS);
	assert_in_range(stats.open_fds, 1, 1000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(stats.max_fds ==
		    (limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur));

	fd = dup(STDOUT_FILENO);
	os_process_stats(&later);
	close(fd);
	assert_true(later.open_fds == stats.open_fds + 1);
	assert_true(later.cpu_ns >= stats.cpu_ns);
	assert_true(later.start_time_unix_ns == stats.start_time_unix_ns);
}

/* A directory of its own for each test, and a file name in it. */
struct place {
	char directory[32];
	char path[64];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof *place);

	if (!place) {
		return -1;
	}
	strcpy(place->directory, "/tmp/test_os.XXXXXX");
	if (!mkdtemp(place->directory)) {
		free(place);
		return -1;
	}
	snprintf(place->path, sizeof place->path, "%s/a.etl", place->directory);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	rmdir(place->directory);
	free(place);
	return 0;
}

static void write_file(const char *path, const char *bytes)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
	assert_int_equal(fclose(file), 0);
}

static void a_file_is_read_by_position(void **state)
{
	static const struct {
		uint64_t offset;
		size_t size;
		const char *bytes;
	} cases[] = {
		{ 0, 3, "012" }, { 7, 3, "789" },       { 8, 3, "89" }, { 10, 3, "" },
		{ 99, 3, "" },   { UINT64_MAX, 3, "" }, { 2, 0, "" },   { 0, 64, "0123456789" },
	};
	const struct place *place = *state;
	struct os_file *file;

	write_file(place->path, "0123456789");
	file = os_file_open(place->path, NULL);
	assert_non_null(file);
	assert_true(os_file_size(file) == 10);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char bytes[64];
		size_t got = 99;

		assert_true(os_file_read(file, cases[i].offset, bytes, cases[i].size, &got, NULL));
		assert_int_equal(got, strlen(cases[i].bytes));
		assert_memory_equal(bytes, cases[i].bytes, got);
	}
	os_file_close(file);
}

static void what_is_appended_after_opening_is_not_seen(void **state)
{
	const struct place *place = *state;
	struct os_file *file;
	char bytes[64];
	size_t got;

	write_file(place->path, "0123456789");
	file = os_file_open(place->path, NULL);
	write_file(place->path, "0123456789 and more");
	assert_true(os_file_read(file, 5, bytes, sizeof bytes, &got, NULL));
	assert_int_equal(got, 5);
	assert_memory_equal(bytes, "56789", 5);
	os_file_close(file);
}

static void a_file_cut_short_while_open_is_an_error(void **state)
{
	const struct place *place = *state;
	struct os_file *file;
	struct error err = { 0 };
	char bytes[64];
	size_t got = 99;

	write_file(place->path, "0123456789");
	file = os_file_open(place->path, NULL);
	assert_int_equal(truncate(place->path, 4), 0);
	assert_false(os_file_read(file, 2, bytes, sizeof bytes, &got, &err));
	assert_int_equal(got, 99);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.text,
			    "ends at 4, but had 10 bytes when it was opened: cut short meanwhile");
	assert_true(os_file_read(file, 1, bytes, 3, &got, &err));
	assert_memory_equal(bytes, "123", 3);
	os_file_close(file);
}

static void what_is_not_a_file_is_refused(void **state)
{
	const struct place *place = *state;
	struct error err = { 0 };

	assert_null(os_file_open(place->path, &err));
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.text, "cannot be opened: No such file or directory");
	assert_null(os_file_open(place->directory, &err));
	assert_string_equal(err.text, "is a directory, not a regular file");
	assert_int_equal(mkfifo(place->path, 0600), 0);
	assert_null(os_file_open(place->path, &err)); /* and does not wait for a writer */
	assert_string_equal(err.text, "is a device, pipe or socket, not a regular file");
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_null(os_file_open("/dev/null", NULL));
	os_file_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_runs_and_its_writes_are_seen_after_the_join),
		cmocka_unit_test(signals_are_left_to_the_main_thread),
		cmocka_unit_test(a_condition_wakes_the_one_who_waits),
		cmocka_unit_test(a_wait_ends_when_its_time_ran_out),
		cmocka_unit_test(clocks_go_forward),
		cmocka_unit_test(the_cpu_time_of_a_running_thread_is_known),
		cmocka_unit_test(a_thread_that_has_ended_has_no_cpu_time),
		cmocka_unit_test(facts_about_ourselves_are_plausible),
		cmocka_unit_test_setup_teardown(a_file_is_read_by_position, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(what_is_appended_after_opening_is_not_seen,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_file_cut_short_while_open_is_an_error, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(what_is_not_a_file_is_refused, make_place,
						remove_place),
	};

	return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}
