/* SPDX-License-Identifier: MIT */
/*
 * What base/os.h promises of POSIX alone: signals, descriptors, pipes.
 */
#include "base/os.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temporary.h"

static void a_low_port_comes_with_advice(void **state)
{
	(void)state;
	assert_non_null(strstr(os_listen_advice(EACCES), "CAP_NET_BIND_SERVICE"));
	assert_null(os_listen_advice(EADDRINUSE));
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

static void a_signal_is_kept_until_os_stop_wait(void **state)
{
	static const struct {
		int number;
		const char *name;
	} cases[] = { { SIGTERM, "SIGTERM" }, { SIGINT, "SIGINT" } };

	(void)state;
	assert_true(os_stop_catch(NULL));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		kill(getpid(), cases[i].number);
		assert_string_equal(os_stop_wait(UINT64_MAX, NULL, NULL), cases[i].name);
	}
}

static unsigned reloads;

static void on_reload(void *context)
{
	(void)context;
	reloads++;
	kill(getpid(), SIGTERM);
}

static void a_hang_up_asks_to_reload_while_there_is_a_terminal_or_none_at_all(void **state)
{
	(void)state;
	kill(getpid(), SIGHUP);
	assert_string_equal(os_stop_wait(UINT64_MAX, on_reload, NULL), "SIGTERM");
	assert_int_equal(reloads, 1);
	kill(getpid(), SIGHUP);
	assert_null(os_stop_wait(1000000, NULL, NULL));
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGINT);
	assert_string_equal(os_stop_wait(UINT64_MAX, NULL, NULL), "SIGINT");
}

static void stop_after_reload(void *context)
{
	++*(unsigned *)context;
	os_stop_ask("reloaded");
}

static void the_program_asks_itself_to_reload(void **state)
{
	unsigned count = 0;

	(void)state;
	os_reload_ask();
	assert_string_equal(os_stop_wait(UINT64_MAX, stop_after_reload, &count), "reloaded");
	assert_int_equal(count, 1);
}

static void the_wait_returns_the_reason_of_the_stop(void **state)
{
	(void)state;
	assert_null(os_stop_wait(1000000, NULL, NULL));
	os_stop_ask("service stop");
	assert_string_equal(os_stop_wait(UINT64_C(60000000000), NULL, NULL), "service stop");
	os_stop_ask("shutdown");
	assert_string_equal(os_stop_wait(UINT64_MAX, NULL, NULL), "shutdown");
}

static void descriptors_and_memory_are_counted(void **state)
{
	struct os_process_stats stats, later;
	struct rlimit limit;
	int fd;

	(void)state;
	os_process_stats(&stats);
	assert_true(stats.cpu_ns > 0);
	assert_true(stats.resident_bytes < stats.virtual_bytes);
	assert_in_range(stats.open_fds, 1, 1000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(stats.max_fds ==
		    (limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur));
	fd = dup(STDOUT_FILENO);
	os_process_stats(&later);
	close(fd);
	assert_true(later.open_fds == stats.open_fds + 1);
}

static void a_pipe_is_read_to_its_end(void **state)
{
	struct etw_error err = { 0 };
	struct os_file *file;
	char path[64], bytes[16];
	int ends[2];
	size_t got;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	file = os_file_open_any(path, &err);
	assert_non_null(file);
	assert_true(os_file_is_stream(file));
	assert_int_equal(write(ends[1], "0123", 4), 4);
	assert_true(os_file_next(file, bytes, 3, &got, &err));
	assert_int_equal(got, 3);
	assert_memory_equal(bytes, "012", 3);
	close(ends[1]);
	assert_true(os_file_next(file, bytes, sizeof bytes, &got, &err));
	assert_int_equal(got, 1);
	assert_true(os_file_next(file, bytes, sizeof bytes, &got, &err));
	assert_int_equal(got, 0);
	os_file_close(file);
	close(ends[0]);
}

static void pipes_and_devices_are_no_files(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(path, "pipe");
	assert_null(os_file_open(path, &err));
	assert_string_equal(err.text, "cannot be opened: No such file or directory");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(os_file_open(path, &err)); /* and does not wait for a writer */
	remove(path);
	assert_string_equal(err.text, "is a device, pipe or socket, not a regular file");
	assert_int_equal(err.code, ETW_ERROR_UNSUPPORTED);
	assert_null(os_file_open("/dev/null", NULL));
}

static void a_removed_file_is_reported_once(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct os_file *file;

	(void)state;
	temporary_path(path, "gone");
	temporary_write(path, "x", 1);
	file = os_file_open(path, NULL);
	remove(path);
	assert_string_equal(os_file_change(file), "was removed");
	assert_null(os_file_change(file));
	os_file_close(file);
}

static unsigned rights_of(const char *path)
{
	struct stat facts;

	assert_int_equal(stat(path, &facts), 0);
	return facts.st_mode & 0777;
}

static void a_file_that_is_created_is_for_its_owner_alone(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	mode_t mask = umask(0);

	(void)state;
	temporary_path(path, "etl");
	assert_true(os_file_write_whole(path, "a", 1, NULL));
	assert_int_equal(rights_of(path), 0600);
	assert_int_equal(chmod(path, 0644), 0); /* also one that replaces another */
	assert_true(os_file_write_whole(path, "b", 1, NULL));
	assert_int_equal(rights_of(path), 0600);
	assert_int_equal(unlink(path), 0);
	umask(mask);
}

static void a_link_is_replaced_and_not_followed(void **state)
{
	char target[TEMPORARY_PATH_SIZE], path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };
	struct stat facts;

	(void)state;
	temporary_path(target, "victim");
	temporary_path(path, "etl");
	assert_true(os_file_write_whole(target, "whole", 5, &err));
	assert_int_equal(symlink(target, path), 0);
	assert_false(os_file_is_regular(path));
	assert_true(os_file_write_whole(path, "a", 1, &err));
	assert_true(os_file_is_regular(path));
	assert_int_equal(stat(target, &facts), 0);
	assert_int_equal(facts.st_size, 5);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(target), 0);
}

static void pipes_and_devices_are_not_replaced(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };
	struct stat facts;

	(void)state;
	temporary_path(path, "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(os_file_new(path, false, &err));
	assert_string_equal(err.text, "is a device, pipe or socket, not a regular file");
	assert_int_equal(stat(path, &facts), 0);
	assert_true(S_ISFIFO(facts.st_mode) && !os_file_is_regular(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_null(os_file_new(path, false, &err));
	assert_int_equal(unlink(path), 0);
}

static void a_folder_that_others_may_write_to_has_advice(void **state)
{
	static const struct {
		mode_t rights;
		bool open;
	} cases[] = { { 0700, false }, { 0755, false }, { 0757, true }, { 01777, true } };
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "folder");
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(chmod(path, cases[i].rights), 0);
		assert_int_equal(os_folder_open_to_others(path) != NULL, cases[i].open);
	}
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_low_port_comes_with_advice),
		cmocka_unit_test(signals_are_left_to_the_main_thread),
		cmocka_unit_test(descriptors_and_memory_are_counted),
		cmocka_unit_test(a_pipe_is_read_to_its_end),
		cmocka_unit_test(pipes_and_devices_are_no_files),
		cmocka_unit_test(a_link_is_replaced_and_not_followed),
		cmocka_unit_test(pipes_and_devices_are_not_replaced),
		cmocka_unit_test(a_folder_that_others_may_write_to_has_advice),
		cmocka_unit_test(a_removed_file_is_reported_once),
		cmocka_unit_test(a_signal_is_kept_until_os_stop_wait),
		cmocka_unit_test(a_hang_up_asks_to_reload_while_there_is_a_terminal_or_none_at_all),
		cmocka_unit_test(the_program_asks_itself_to_reload),
		cmocka_unit_test(the_wait_returns_the_reason_of_the_stop),
		cmocka_unit_test(a_file_that_is_created_is_for_its_owner_alone),
	};

	return cmocka_run_group_tests_name("os_posix", tests, NULL, NULL);
}
