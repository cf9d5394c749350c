/* SPDX-License-Identifier: MIT */
/*
 * Threads, clocks, files and facts about ourselves, as this system has them.
 */
#include "base/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "tests/support/system.h"
#include "tests/support/temporary.h"

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

static void a_condition_wakes_the_waiting_thread(void **state)
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
	/* A time that is over, by however much, is not waited for. */
	assert_false(os_condition_wait_until(&never, &mutex, 0));
	assert_false(os_condition_wait_until(&never, &mutex, os_monotonic_ns()));
	start = os_monotonic_ns();
	while (os_condition_wait_until(&never, &mutex, start + 20 * NS_PER_MS)) {
	}
	assert_true(os_monotonic_ns() - start >= 20 * NS_PER_MS);
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

static void see_no_flag(void *context)
{
	bool *fatal = context;

	*fatal = os_faults_fatal() || os_set_faults_fatal(true) || os_faults_fatal();
}

static void faults_are_fatal_while_the_flag_of_the_thread_says_so(void **state)
{
	volatile bool flag = false;
	bool fatal_elsewhere = true;
	struct os_thread other;
	struct etw_error err;

	(void)state;
	assert_false(os_faults_fatal());
	os_use_fault_flag(&flag);
	assert_false(os_faults_fatal());
	flag = true;
	assert_true(os_faults_fatal());
	assert_true(os_thread_start(&other, see_no_flag, &fatal_elsewhere, &err));
	os_thread_join(&other);
	assert_false(fatal_elsewhere);
	assert_true(os_set_faults_fatal(false));
	assert_false(flag);
	assert_false(os_set_faults_fatal(true));
	assert_true(flag);
	os_use_fault_flag(NULL);
	assert_false(os_faults_fatal());
	assert_true(flag);
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
		assert_true(os_monotonic_ns() - start < WAIT_MS * NS_PER_MS);
	}
	os_thread_join(&thread);
}

static void facts_about_ourselves_are_plausible(void **state)
{
	struct os_process_stats stats, later;
	uint64_t now = os_unix_time_ns();

	(void)state;
	os_process_stats(&stats);
	assert_true(stats.cpu_ns < 3600 * 1000 * NS_PER_MS);
	assert_true(stats.resident_bytes >= 100 * 1024);
	assert_true(stats.virtual_bytes != UINT64_MAX);
	/* The kernel counts in hundredths of a second; a test does not run for an hour. */
	assert_true(stats.start_time_unix_ns <= now + 20 * NS_PER_MS);
	assert_true(stats.start_time_unix_ns > now - 3600 * 1000 * NS_PER_MS);
	assert_true(stats.open_fds <= stats.max_fds);

	os_process_stats(&later);
	assert_true(later.cpu_ns >= stats.cpu_ns);
	assert_true(later.start_time_unix_ns == stats.start_time_unix_ns);
}

/* A path of its own for each test. */
struct place {
	char path[TEMPORARY_PATH_SIZE];
};

static int make_place(void **state)
{
	static struct place place;

	temporary_path(place.path, "etl");
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	const struct place *place = *state;

	remove(place->path);
	return 0;
}

static void write_file(const char *path, const char *bytes)
{
	temporary_write(path, bytes, strlen(bytes));
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
	struct etw_error err = { 0 };
	char bytes[64];
	size_t got = 99;

	write_file(place->path, "0123456789");
	file = os_file_open(place->path, NULL);
	assert_int_equal(truncate(place->path, 4), 0);
	assert_false(os_file_read(file, 2, bytes, sizeof bytes, &got, &err));
	assert_int_equal(got, 99);
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_string_equal(err.text,
			    "ends at 4, but had 10 bytes when it was opened: cut short meanwhile");
	assert_true(os_file_read(file, 1, bytes, 3, &got, &err));
	assert_memory_equal(bytes, "123", 3);
	os_file_close(file);
}

static void a_change_of_an_open_file_is_reported_once(void **state)
{
	const struct place *place = *state;
	const char *change = NULL;
	struct os_file *file;

	write_file(place->path, "0123456789");
	file = os_file_open(place->path, NULL);
	assert_null(os_file_change(file));
	write_file(place->path, "0123456789 and more");
	assert_string_equal(os_file_change(file), "has become longer");
	assert_null(os_file_change(file));
	assert_int_equal(truncate(place->path, 4), 0);
	assert_string_equal(os_file_change(file), "has become shorter");
	assert_null(os_file_change(file));
	/* Times of files advance by ticks: a write within one is not seen. */
	while (!change) {
		write_file(place->path, "abcd");
		change = os_file_change(file);
	}
	assert_string_equal(change, "was overwritten");
	os_file_close(file);
}

static void what_is_not_a_file_is_refused(void **state)
{
	static const char failure[] = "cannot be opened: ";
	const struct place *place = *state;
	struct etw_error err = { 0 };

	assert_null(os_file_open(place->path, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_memory_equal(err.text, failure, sizeof failure - 1);
	assert_true(strlen(err.text) > sizeof failure); /* the system's sentence */
	assert_true(system_make_folder(place->path));
	assert_null(os_file_open(place->path, &err));
	assert_string_equal(err.text, "is a directory, not a regular file");
	assert_int_equal(err.code, ETW_ERROR_UNSUPPORTED);
	assert_true(system_remove_folder(place->path));
	os_file_close(NULL);
}

struct listing {
	const char *stop_at;
	unsigned a, b, others, calls;
};

static bool see_entry(void *context, const char *name)
{
	struct listing *listing = context;

	listing->calls++;
	listing->a += strcmp(name, "a.yaml") == 0;
	listing->b += strcmp(name, "b \xc3\xa9.yaml") == 0;
	listing->others += name[0] != '.' && !strstr(name, ".yaml");
	return !listing->stop_at || strcmp(name, listing->stop_at) != 0;
}

static void a_temporary_file_is_written_and_read_and_never_changes(void **state)
{
	struct etw_error err = { 0 };
	struct os_file *file = os_file_temporary(&err), *other = os_file_temporary(&err), *shared;
	char bytes[16];
	size_t got;

	(void)state;
	assert_non_null(file);
	assert_non_null(other);
	assert_true(os_file_is_temporary(file) && !os_file_is_stream(file));
	assert_true(os_file_size(file) == 0);
	assert_true(os_file_append(file, "0123", 4, &err) && os_file_append(file, "456", 3, &err));
	assert_true(os_file_append(other, "another", 7, &err));
	assert_true(os_file_size(file) == 7);
	assert_null(os_file_change(file));
	shared = os_file_share(file, &err);
	os_file_close(file);
	assert_non_null(shared);
	assert_true(os_file_is_temporary(shared) && os_file_size(shared) == 7);
	assert_true(os_file_read(shared, 2, bytes, sizeof bytes, &got, &err));
	assert_int_equal(got, 5);
	assert_memory_equal(bytes, "23456", 5);
	assert_null(os_file_change(shared));
	os_file_close(shared);
	os_file_close(other);
}

static void any_file_opens_where_streams_do(void **state)
{
	const struct place *place = *state;
	struct etw_error err = { 0 };
	struct os_file *file;

	assert_null(os_file_open_any(place->path, &err));
	assert_memory_equal(err.text, "cannot be opened: ", 18);
	write_file(place->path, "0123");
	file = os_file_open_any(place->path, &err);
	assert_non_null(file);
	assert_true(!os_file_is_stream(file) && !os_file_is_temporary(file));
	assert_true(os_file_size(file) == 4);
	os_file_close(file);
	remove(place->path);
	assert_true(system_make_folder(place->path));
	assert_null(os_file_open_any(place->path, &err));
	assert_string_equal(err.text, "is a directory, not a regular file");
	assert_true(system_remove_folder(place->path));
}

static void folders_and_files_are_written(void **state)
{
	const struct place *place = *state;
	struct etw_error err = { 0 };
	char inside[sizeof place->path + 8];
	struct os_file *file;
	char bytes[8];
	size_t got;
	bool made;

	snprintf(inside, sizeof inside, "%s/\xc3\xa9.txt", place->path);
	assert_false(os_file_write_whole(inside, "x", 1, &err)); /* no folder */
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_null(strstr(err.text, place->path));
	assert_true(os_folder_make(place->path, &made, &err));
	assert_true(made);
	assert_true(os_folder_make(place->path, &made, &err)); /* it exists */
	assert_false(made);
	assert_true(os_file_write_whole(inside, "longer", 6, &err));
	assert_true(os_file_write_whole(inside, "abc", 3, &err));
	file = os_file_open(inside, &err);
	assert_non_null(file);
	assert_true(os_file_read(file, 0, bytes, sizeof bytes, &got, &err));
	assert_int_equal(got, 3);
	assert_memory_equal(bytes, "abc", 3);
	os_file_close(file);
	assert_false(os_folder_make(inside, NULL, &err)); /* a file */
	assert_non_null(strstr(err.text, inside));
	assert_true(os_file_write_whole(inside, NULL, 0, &err));
	os_folder_remove(place->path); /* it is not empty */
	assert_true(system_remove_file(inside));
	os_folder_remove(place->path);
	assert_false(system_remove_folder(place->path)); /* it is gone */
}

static void the_names_in_a_folder_are_listed(void **state)
{
	static const char *const names[] = { "a.yaml", "b \xc3\xa9.yaml" };
	const struct place *place = *state;
	struct listing all = { 0 }, first = { .stop_at = "a.yaml" };
	char paths[2][2 * TEMPORARY_PATH_SIZE];

	assert_true(os_folder_list(place->path, see_entry, &all)); /* not there */
	assert_true(os_folder_read(place->path, see_entry, &all, NULL));
	assert_int_equal(all.calls, 0);
	assert_true(system_make_folder(place->path));
	for (size_t i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof paths[i], "%s/%s", place->path, names[i]);
		assert_true(system_make_folder(paths[i]));
	}
	assert_true(os_folder_read(place->path, see_entry, &all, NULL));
	assert_false(os_folder_list(place->path, see_entry, &first));
	for (size_t i = 0; i < 2; i++) {
		assert_true(system_remove_folder(paths[i]));
	}
	assert_true(system_remove_folder(place->path));
	assert_int_equal(all.a, 1);
	assert_int_equal(all.b, 1);
	assert_int_equal(all.others, 0);
	assert_int_equal(first.a, 1);
}

static void a_path_has_a_name(void **state)
{
	static const struct {
		const char *path, *name, *name_on_windows;
		bool absolute, absolute_on_windows;
	} cases[] = {
		{ "a.etl", "a.etl", "a.etl", false, false },
		{ "", "", "", false, false },
		{ "/", "", "", true, true },
		{ "/x/y/a.etl", "a.etl", "a.etl", true, true },
		{ "x/a.etl", "a.etl", "a.etl", false, false },
		{ "x/", "", "", false, false },
		{ "x\\a.etl", "x\\a.etl", "a.etl", false, false },
		{ "\\\\host\\x\\a.etl", "\\\\host\\x\\a.etl", "a.etl", false, true },
		{ "C:a.etl", "C:a.etl", "a.etl", false, true },
		{ "c:\\x/a.etl", "a.etl", "a.etl", false, true },
		{ "1:a.etl", "1:a.etl", "1:a.etl", false, false },
	};
#ifdef _WIN32
	bool windows = true;
#else
	bool windows = false;
#endif

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *path = cases[i].path;

		assert_string_equal(os_path_name(path),
				    windows ? cases[i].name_on_windows : cases[i].name);
		assert_int_equal(os_path_is_absolute(path),
				 windows ? cases[i].absolute_on_windows : cases[i].absolute);
	}
}

static void a_path_is_made_absolute_without_a_look_at_it(void **state)
{
	char *relative = os_path_absolute("none/a*.yaml"), *again = os_path_absolute(relative);

	(void)state;
	assert_non_null(relative);
	assert_true(os_path_is_absolute(relative));
	assert_string_equal(os_path_name(relative), "a*.yaml");
	assert_string_equal(again, relative);
	free(relative);
	free(again);
}

static unsigned once_runs; /* written by the only run, read after the threads */

static void count_run(void)
{
	once_runs++;
}

static void run_once(void *once)
{
	os_once(once, count_run);
	assert_int_equal(once_runs, 1);
}

static void once_runs_the_function_exactly_once(void **state)
{
	static struct os_once once = { OS_ONCE_INIT };
	struct os_thread threads[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(os_thread_start(&threads[i], run_once, &once, NULL));
	}
	for (size_t i = 0; i < 4; i++) {
		os_thread_join(&threads[i]);
	}
	assert_int_equal(once_runs, 1);
}

static void a_file_is_removed_once(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(os_file_write_whole(path, "new", 3, &err));
	assert_true(os_file_is_regular(path));
	assert_true(os_file_remove(path, &err));
	assert_false(os_file_is_regular(path));
	assert_true(os_file_remove(path, &err)); /* it is gone */
	assert_true(os_disk_free_bytes(".") > 0);
	assert_true(os_disk_free_bytes("./no such folder") == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_runs_and_its_writes_are_seen_after_the_join),
		cmocka_unit_test(a_condition_wakes_the_waiting_thread),
		cmocka_unit_test(a_wait_ends_when_its_time_ran_out),
		cmocka_unit_test(clocks_go_forward),
		cmocka_unit_test(the_cpu_time_of_a_running_thread_is_known),
		cmocka_unit_test(a_thread_that_has_ended_has_no_cpu_time),
		cmocka_unit_test(faults_are_fatal_while_the_flag_of_the_thread_says_so),
		cmocka_unit_test(facts_about_ourselves_are_plausible),
		cmocka_unit_test_setup_teardown(a_file_is_read_by_position, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(what_is_appended_after_opening_is_not_seen,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_file_cut_short_while_open_is_an_error, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_change_of_an_open_file_is_reported_once,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(what_is_not_a_file_is_refused, make_place,
						remove_place),
		cmocka_unit_test(a_temporary_file_is_written_and_read_and_never_changes),
		cmocka_unit_test_setup_teardown(any_file_opens_where_streams_do, make_place, NULL),
		cmocka_unit_test_setup_teardown(folders_and_files_are_written, make_place, NULL),
		cmocka_unit_test_setup_teardown(the_names_in_a_folder_are_listed, make_place, NULL),
		cmocka_unit_test(a_path_has_a_name),
		cmocka_unit_test(a_path_is_made_absolute_without_a_look_at_it),
		cmocka_unit_test(once_runs_the_function_exactly_once),
		cmocka_unit_test(a_file_is_removed_once),
	};

	return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}
