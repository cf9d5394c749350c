/* SPDX-License-Identifier: MIT */
/*
 * This process on Linux: its start, requests to end it, its memory and numbers about it.
 *
 * Signals need the most care. SIGTERM and the other requests to end are blocked before any thread
 * starts, so that no thread is interrupted by them; the main thread takes them in os_stop_wait().
 * Threads inherit the blocked signals. SIGHUP has two meanings; see asks_to_reload(). A request
 * from inside the program sends SIGTERM to itself and stores its reason.
 *
 * The values of process metrics come from /proc; a value that cannot be read is UINT64_MAX.
 */
#define _GNU_SOURCE /* madvise(), MAP_ANONYMOUS; sched_getaffinity(), CPU_COUNT() */
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/os_posix.h"

/*
 * A program can be started with closed standard streams. The next file or socket that it opens
 * would get such a descriptor number, and warnings would be written into it. So these numbers are
 * assigned to /dev/null, opened for the wrong direction: using the stream fails with EBADF, as
 * before.
 */
static bool hold_standard_streams(struct etw_error *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open() returns the lowest free number, which is this one. */
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
			return error_set(err, ETW_ERROR_SYSTEM, "/dev/null cannot be opened: %m");
		}
	}
	return true;
}

bool os_program_start(int *argc, char ***argv, struct etw_error *err)
{
	(void)argc;
	(void)argv;
	signal(SIGXFSZ, SIG_IGN);
	return hold_standard_streams(err);
}

static const struct {
	int number;
	const char *name;
} stop_signals[] = { { SIGINT, "SIGINT" },

		     { SIGTERM, "SIGTERM" },
		     { SIGHUP, "SIGHUP: the terminal was closed" } };

static void stop_signal_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof stop_signals / sizeof stop_signals[0]; i++) {
		sigaddset(set, stop_signals[i].number);
	}
}

/* Whether SIGHUP from a closing terminal ends the program: it has a terminal and was not started by
 * nohup(1). */
static bool ends_with_terminal;

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0) {
		close(fd);
	}
	return fd >= 0;
}

/*
 * Returns whether the signal requests a reload. A daemon gets SIGHUP from an administrator or from
 * a service manager. The kernel and the shell send it when the terminal of the program is closed;
 * the program then has no controlling terminal any more (setsid(2), tty(4)).
 */
static bool asks_to_reload(int number)
{
	return number == SIGHUP && !(ends_with_terminal && !has_terminal());
}

/* These signals are blocked before any thread starts; only os_stop_wait() takes them. */
bool os_stop_catch(struct etw_error *err)
{
	struct sigaction hang_up;
	sigset_t signals;

	(void)err;
	must_succeed(sigaction(SIGHUP, NULL, &hang_up));
	ends_with_terminal = hang_up.sa_handler != SIG_IGN && has_terminal();
	stop_signal_set(&signals);
	must_succeed(pthread_sigmask(SIG_BLOCK, &signals, NULL));
	signal(SIGPIPE, SIG_IGN);
	return true;
}

bool os_stop_catch_service(struct etw_error *err)
{
	return os_stop_catch(err);
}

/* The reason that os_stop_ask() passes to os_stop_wait(); SIGTERM itself only signals the request.
 */
static _Atomic(const char *) requested_reason;

void os_stop_ask(const char *reason)
{
	atomic_store_explicit(&requested_reason, reason, memory_order_release);
	kill(getpid(), SIGTERM);
}

static const char *reason_of(int number)
{
	const char *reason = atomic_load_explicit(&requested_reason, memory_order_acquire);

	if (reason) {
		return reason;
	}
	for (size_t i = 0; i < sizeof stop_signals / sizeof stop_signals[0]; i++) {
		if (stop_signals[i].number == number) {
			return stop_signals[i].name;
		}
	}
	return "signal";
}

void os_reload_ask(void)
{
	kill(getpid(), SIGHUP);
}

const char *os_stop_wait(uint64_t timeout_ns, void (*on_reload)(void *context), void *context)
{
	uint64_t start = os_monotonic_ns(), passed = 0;
	sigset_t signals;

	stop_signal_set(&signals);
	do {
		const uint64_t left = timeout_ns - passed;
		const struct timespec timeout = { .tv_sec = (time_t)(left / NS_PER_SECOND),
						  .tv_nsec = (long)(left % NS_PER_SECOND) };
		int number = sigtimedwait(&signals, NULL, &timeout);

		if (number > 0 && !asks_to_reload(number)) {
			return reason_of(number);
		}
		if (number > 0 && on_reload) {
			on_reload(context);
		}
		passed = os_monotonic_ns() - start;
	} while (passed < timeout_ns);
	return NULL;
}

uint32_t os_process_id(void)
{
	return (uint32_t)getpid();
}

unsigned os_processors(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
		return (unsigned)CPU_COUNT(&set);
	}
	online = sysconf(_SC_NPROCESSORS_ONLN); /* the machine has more processors than cpu_set_t
						   has room for */
	return online > 0 ? (unsigned)online : 1;
}

void os_computer_name(char *name, size_t size)
{
	name[0] = '\0';
	if (gethostname(name, size) != 0 || !memchr(name, '\0', size)) {
		name[0] = '\0';
	}
}

/* Reads a small file of /proc as a string; false if it does not exist. */
static bool read_proc(const char *path, char *text, size_t text_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0) {
		return false;
	}
	do {
		got = read(fd, text, text_size - 1);
	} while (got < 0 && errno == EINTR);
	close(fd);
	if (got <= 0) {
		return false;
	}
	text[got] = '\0';
	return true;
}

/*
 * The time when this process started. The kernel provides it in clock ticks since boot
 * ("starttime", field 22 of /proc/self/stat, proc_pid_stat(5)). Like this value, the boot clock
 * continues during sleep.
 */
static uint64_t read_start_time(void)
{
	uint64_t unix_now = clock_ns(CLOCK_REALTIME);
	uint64_t boot_now = clock_ns(CLOCK_BOOTTIME);
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	uint64_t start_ns;
	char stat[1024];
	const char *at;

	if (ticks_per_second <= 0 || !read_proc("/proc/self/stat", stat, sizeof stat)) {
		return UINT64_MAX;
	}
	/* Field 2 is the name of the program in parentheses; it can contain any bytes. */
	at = strrchr(stat, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at + 1, ' ');
	}
	if (!at) {
		return UINT64_MAX;
	}
	start_ns = strtoull(at, NULL, 10) * (NS_PER_SECOND / (uint64_t)ticks_per_second);
	if (unix_now < boot_now) {
		return UINT64_MAX;
	}
	return unix_now - boot_now + start_ns;
}

static uint64_t start_time_unix_ns;

static void read_start_time_once(void)
{
	start_time_unix_ns = read_start_time();
}

static uint64_t count_open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t count = 0;

	if (!directory) {
		return UINT64_MAX;
	}
	while ((entry = readdir(directory))) {
		count += entry->d_name[0] != '.';
	}
	closedir(directory);
	return count - 1; /* without the descriptor of the directory */
}

void *os_pages_alloc(size_t size)
{
	void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return start != MAP_FAILED ? start : NULL;
}

void os_pages_free(void *memory, size_t size)
{
	munmap(memory, size);
}

void *os_large_alloc(size_t size)
{
	/* The extra size allows the block to begin at a multiple of the page size; only whole large
	 * pages can be used. */
	size_t mapped = size + OS_LARGE_PAGE_SIZE;
	char *start = os_pages_alloc(mapped);
	size_t before;

	if (!start) {
		return NULL;
	}
	before = OS_LARGE_PAGE_SIZE - (uintptr_t)start % OS_LARGE_PAGE_SIZE;
	munmap(start, before);
	if (mapped - before > size) {
		munmap(start + before + size, mapped - before - size);
	}
#if defined(MADV_HUGEPAGE)
	/* If the system has no large pages, this fails and the memory works with small ones. */
	madvise(start + before, size, MADV_HUGEPAGE);
#endif
	return start + before;
}

void os_large_free(void *memory, size_t size)
{
	os_pages_free(memory, size);
}

void os_share_heaps(void)
{
#if defined(__GLIBC__)
	/* The default is up to eight arenas for each processor. */
	mallopt(M_ARENA_MAX, 2);
#endif
}

void os_release_memory(void)
{
#if defined(__GLIBC__)
	malloc_trim(0);
#endif
}

void os_process_stats(struct os_process_stats *stats)
{
	static struct os_once once = { OS_ONCE_INIT };
	long page_size = sysconf(_SC_PAGESIZE);
	uint64_t virtual_pages, resident_pages;
	struct rlimit limit;
	char statm[256];

	/* Read only once: it depends on the clock, and a changed value would look like a restart.
	 */
	os_once(&once, read_start_time_once);
	*stats = (struct os_process_stats){
		.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.resident_bytes = UINT64_MAX,
		.virtual_bytes = UINT64_MAX,
		.start_time_unix_ns = start_time_unix_ns,
		.open_fds = count_open_fds(),
		.max_fds = UINT64_MAX,
	};
	/* "size resident ...", in pages: proc_pid_statm(5). */
	if (page_size > 0 && read_proc("/proc/self/statm", statm, sizeof statm) &&
	    sscanf(statm, "%" SCNu64 " %" SCNu64, &virtual_pages, &resident_pages) == 2) {
		stats->virtual_bytes = virtual_pages * (uint64_t)page_size;
		stats->resident_bytes = resident_pages * (uint64_t)page_size;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
		stats->max_fds = limit.rlim_cur;
	}
}

bool os_random(void *bytes, size_t size)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	uint8_t *at = bytes;
	ssize_t got = 0;

	/* A signal may interrupt read(2), which then returns fewer bytes. */
	while (fd >= 0 && size > 0 &&
	       ((got = read(fd, at, size)) > 0 || (got < 0 && errno == EINTR))) {
		at += got > 0 ? got : 0;
		size -= got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0) {
		close(fd);
	}
	return fd >= 0 && size == 0;
}

char *os_account_name(const char *sid)
{
	(void)sid;
	return NULL;
}
