/* SPDX-License-Identifier: MIT */
/*
 * The operating system layer for Linux.
 *
 * Signals need most care. SIGTERM and the other requests to end are blocked before any thread
 * starts, so that no thread is interrupted by them; the main thread takes them in os_stop_wait().
 * Threads inherit the blocked signals. SIGHUP means two things, see asks_to_reload(). Only the
 * signals that a fault of the thread itself raises stay enabled, and SIGPROF for profilers. A
 * request from inside the program sends SIGTERM to itself and stores its reason.
 *
 * Waits use the monotonic clock, so that setting the time of the machine does not change them. The
 * values of process metrics come from /proc; a value that cannot be read is UINT64_MAX. The lock
 * functions only fail after mistakes in our own code, so their results are asserted.
 */
#define _DEFAULT_SOURCE /* madvise(), MAP_ANONYMOUS */
#include "base/os.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#define NS_PER_SECOND UINT64_C(1000000000)

struct thread_start {
	void (*run)(void *context);
	void *context;
};

struct os_file {
	int fd;
	uint64_t size;
	struct stat seen; /* by os_file_change() */
	bool is_stream;   /* it is read from its beginning to its end, once */
	bool temporary;   /* nothing else can change it */
};

/* These calls only fail after a mistake in our own code, such as a lock that is not initialised. */
static void must_succeed(int result)
{
	assert(result == 0);
	(void)result;
}

static uint64_t timespec_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_nsec;
}

/* Returns 0 if the clock cannot be read. */
static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) == 0 ? timespec_ns(&now) : 0;
}

/*
 * A program can be started with closed standard streams. The next file or socket that it opens
 * would get the number, and warnings would be written into it. So these numbers get a file that is
 * open for the wrong direction: reading or writing the stream fails with EBADF, as before.
 */
static bool hold_standard_streams(struct etw_error *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* The lowest free number is the one that open() returns. */
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

/* Whether a closing terminal would end the program: it has one, and was not started by nohup(1). */
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
 * Whether the signal asks to reload. A daemon gets SIGHUP from an administrator or from a service
 * manager. The kernel and the shell send it when the terminal of the program is closed; it has no
 * controlling terminal then any more (setsid(2), tty(4)).
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

/* The reason of os_stop_ask(), for os_stop_wait(); SIGTERM only says that there is a request. */
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

static _Thread_local volatile bool *fault_flag;

void os_use_fault_flag(volatile bool *fatal)
{
	fault_flag = fatal;
}

bool os_set_faults_fatal(bool fatal)
{
	bool before = os_faults_fatal();

	if (fault_flag) {
		*fault_flag = fatal;
	}
	return before;
}

bool os_faults_fatal(void)
{
	return fault_flag && *fault_flag;
}

static void *thread_main(void *argument)
{
	struct thread_start *argument_start = argument;
	struct thread_start start = *argument_start;

	free(argument_start);
	start.run(start.context);
	return NULL;
}

bool os_thread_start(struct os_thread *thread, void (*run)(void *context), void *context,
		     struct etw_error *err)
{
	struct thread_start *start = calloc(1, sizeof *start);
	sigset_t blocked, before;
	pthread_t handle;
	int result;

	if (!start) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory to start a thread");
	}
	start->run = run;
	start->context = context;
	sigfillset(&blocked);
	sigdelset(&blocked, SIGSEGV);
	sigdelset(&blocked, SIGBUS);
	sigdelset(&blocked, SIGFPE);
	sigdelset(&blocked, SIGILL);
	sigdelset(&blocked, SIGABRT);
	sigdelset(&blocked, SIGTRAP);
	sigdelset(&blocked, SIGSYS);
	sigdelset(&blocked, SIGPROF); /* profilers sample every thread */
	must_succeed(pthread_sigmask(SIG_SETMASK, &blocked, &before));
	result = pthread_create(&handle, NULL, thread_main, start);
	must_succeed(pthread_sigmask(SIG_SETMASK, &before, NULL));
	if (result != 0) {
		free(start);
		errno = result;
		return error_set(err, ETW_ERROR_SYSTEM, "a thread cannot be started: %m");
	}
	thread->handle = handle;
	return true;
}

void os_thread_join(struct os_thread *thread)
{
	must_succeed(pthread_join(thread->handle, NULL));
}

void os_thread_detach(struct os_thread *thread)
{
	must_succeed(pthread_detach(thread->handle));
}

void os_mutex_init(struct os_mutex *mutex)
{
	must_succeed(pthread_mutex_init(&mutex->handle, NULL));
}

void os_mutex_done(struct os_mutex *mutex)
{
	must_succeed(pthread_mutex_destroy(&mutex->handle));
}

void os_mutex_lock(struct os_mutex *mutex)
{
	must_succeed(pthread_mutex_lock(&mutex->handle));
}

void os_mutex_unlock(struct os_mutex *mutex)
{
	must_succeed(pthread_mutex_unlock(&mutex->handle));
}

void os_condition_init(struct os_condition *condition)
{
	pthread_condattr_t attributes;

	must_succeed(pthread_condattr_init(&attributes));
	must_succeed(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
	must_succeed(pthread_cond_init(&condition->handle, &attributes));
	must_succeed(pthread_condattr_destroy(&attributes));
}

void os_condition_done(struct os_condition *condition)
{
	must_succeed(pthread_cond_destroy(&condition->handle));
}

bool os_condition_wait(struct os_condition *condition, struct os_mutex *mutex, uint64_t timeout_ns)
{
	uint64_t now = os_monotonic_ns();
	uint64_t until = timeout_ns > INT64_MAX - now ? (uint64_t)INT64_MAX : now + timeout_ns;
	struct timespec deadline = {
		.tv_sec = (time_t)(until / NS_PER_SECOND),
		.tv_nsec = (long)(until % NS_PER_SECOND),
	};
	int result = pthread_cond_timedwait(&condition->handle, &mutex->handle, &deadline);

	assert(result == 0 || result == ETIMEDOUT);
	return result == 0;
}

void os_condition_wake_all(struct os_condition *condition)
{
	must_succeed(pthread_cond_broadcast(&condition->handle));
}

void os_condition_wake_one(struct os_condition *condition)
{
	must_succeed(pthread_cond_signal(&condition->handle));
}

void os_once(struct os_once *once, void (*run)(void))
{
	must_succeed(pthread_once(&once->state, run));
}

uint64_t os_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t os_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_thread_cpu_ns_of(const struct os_thread *thread)
{
	clockid_t clock;

	/* A thread that has ended has no clock: ESRCH here, or EINVAL when the clock is read. */
	if (pthread_getcpuclockid(thread->handle, &clock) != 0) {
		return 0;
	}
	return clock_ns(clock);
}

uint64_t os_unix_time_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void os_utc(time_t unix_seconds, struct tm *utc)
{
	*utc = (struct tm){ 0 };
	gmtime_r(&unix_seconds, utc);
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

void *os_large_alloc(size_t size)
{
	/* Room to begin at a multiple of the page's size: only whole large pages can be used. */
	size_t mapped = size + OS_LARGE_PAGE_SIZE;
	char *start =
		mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (start == MAP_FAILED) {
		return NULL;
	}
	before = OS_LARGE_PAGE_SIZE - (uintptr_t)start % OS_LARGE_PAGE_SIZE;
	munmap(start, before);
	if (mapped - before > size) {
		munmap(start + before + size, mapped - before - size);
	}
#if defined(MADV_HUGEPAGE)
	/* Without large pages it is memory like any other. */
	madvise(start + before, size, MADV_HUGEPAGE);
#endif
	return start + before;
}

void os_large_free(void *memory, size_t size)
{
	munmap(memory, size);
}

void os_share_heaps(void)
{
#if defined(__GLIBC__)
	/* By default there are up to eight for each processor. */
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

void os_stderr_write(const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(STDERR_FILENO, bytes, size);

		if (written < 0 && errno == EINTR) {
			continue;
		}
		if (written <= 0) {
			return;
		}
		bytes += written;
		size -= (size_t)written;
	}
}

bool os_is_terminal(FILE *stream)
{
	return isatty(fileno(stream)) == 1;
}

bool os_is_file(FILE *stream)
{
	struct stat facts;

	return fstat(fileno(stream), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool os_has_colours(FILE *stream)
{
	const char *terminal = getenv("TERM");

	return os_is_terminal(stream) && terminal && terminal[0] && strcmp(terminal, "dumb") != 0;
}

void os_error_text(int number, char *text, size_t text_size)
{
	if (strerror_r(number, text, text_size) != 0) {
		snprintf(text, text_size, "error %d", number);
	}
}

const char *os_listen_advice(int number)
{
	return number == EACCES ? "ports below 1024 need the capability CAP_NET_BIND_SERVICE" :
				  NULL;
}

const char *os_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool os_path_is_absolute(const char *path)
{
	return path[0] == '/';
}

char *os_path_absolute(const char *path)
{
	char *folder = os_path_is_absolute(path) ? strdup("") : getcwd(NULL, 0);
	size_t size = folder ? strlen(folder) + strlen(path) + sizeof "/" : 0;
	char *absolute = folder ? malloc(size) : NULL;

	if (absolute) {
		snprintf(absolute, size, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", path);
	}
	free(folder);
	return absolute;
}

bool os_random(void *bytes, size_t size)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	uint8_t *at = bytes;
	ssize_t got = 0;

	/* read(2) of it may be interrupted, and then gives fewer bytes. */
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

/* Returns 0, or why the folder could not be read to its end. */
static int read_folder(const char *path, bool (*each)(void *context, const char *name),
		       void *context, bool *more)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int number = 0;

	*more = true;
	if (!folder) {
		return errno;
	}
	do {
		errno = 0;
		entry = readdir(folder);
		*more = !entry || each(context, entry->d_name);
	} while (entry && *more);
	number = *more ? errno : 0;
	closedir(folder);
	return number;
}

bool os_folder_list(const char *path, bool (*each)(void *context, const char *name), void *context)
{
	bool more;

	read_folder(path, each, context, &more);
	return more;
}

bool os_folder_read(const char *path, bool (*each)(void *context, const char *name), void *context,
		    struct etw_error *err)
{
	bool more;

	errno = read_folder(path, each, context, &more);
	return errno == 0 || errno == ENOENT || errno == ENOTDIR ||
	       error_set(err, errno == ENOMEM ? ETW_ERROR_NO_MEMORY : ETW_ERROR_SYSTEM,
			 "%s: the folder cannot be read: %m", path);
}

bool os_folder_make(const char *path, bool *made, struct etw_error *err)
{
	bool new = mkdir(path, 0700) == 0;
	struct stat facts;

	if (!new && (errno != EEXIST || stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))) {
		return error_set(err, ETW_ERROR_SYSTEM, "%s: the folder cannot be made: %m", path);
	}
	if (made) {
		*made = new;
	}
	return true;
}

void os_folder_remove(const char *path)
{
	rmdir(path);
}

FILE *os_file_stream(const char *path, const char *mode)
{
	return fopen(path, mode);
}

static int create_private(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
}

FILE *os_file_create(const char *path, struct etw_error *err)
{
	int fd = create_private(path);
	FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

	if (!file) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot create: %m");
		if (fd >= 0) {
			close(fd);
		}
	}
	return file;
}

/* False: errno says why. */
static bool flush_to_disk(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool flushed = fd >= 0 && fsync(fd) == 0;
	int error = errno;

	if (fd >= 0) {
		close(fd);
	}
	errno = error;
	return flushed;
}

bool os_file_publish(const char *from, const char *to, struct etw_error *err)
{
	if (!flush_to_disk(from)) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot be written to the disk: %m");
	}
	return rename(from, to) == 0 || error_set(err, ETW_ERROR_SYSTEM, "cannot be renamed: %m");
}

bool os_file_remove(const char *path, struct etw_error *err)
{
	return unlink(path) == 0 || errno == ENOENT ||
	       error_set(err, ETW_ERROR_SYSTEM, "cannot be removed: %m");
}

uint64_t os_disk_free_bytes(const char *folder)
{
	struct statvfs disk;

	return statvfs(folder, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : UINT64_MAX;
}

bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err)
{
	int fd = create_private(path);
	bool written = fd >= 0;

	for (size_t at = 0; written && at < size;) {
		ssize_t more = write(fd, bytes + at, size - at);

		written = more >= 0 || errno == EINTR;
		at += more > 0 ? (size_t)more : 0;
	}
	if (!written) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be written: %m");
	}
	if (fd >= 0 && close(fd) != 0 && written) {
		written = error_set(err, ETW_ERROR_SYSTEM, "cannot be written: %m");
	}
	return written;
}

/* Takes the descriptor over, also when it fails. */
static struct os_file *file_over(int fd, bool any, struct etw_error *err)
{
	struct os_file *file = calloc(1, sizeof *file);
	struct stat facts;

	if (!file) {
		close(fd);
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to open a file");
		return NULL;
	}
	file->fd = fd;
	if (fstat(fd, &facts) != 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be examined: %m");
		goto fail;
	}
	file->is_stream = any && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode) ||
				  (S_ISCHR(facts.st_mode) && !isatty(fd)));
	if (!S_ISREG(facts.st_mode) && !file->is_stream) {
		error_set(err, ETW_ERROR_UNSUPPORTED, "is %s, not a regular file",
			  S_ISDIR(facts.st_mode)        ? "a directory" :
			  any && S_ISCHR(facts.st_mode) ? "a terminal" :
							  "a device, pipe or socket");
		goto fail;
	}
	file->size = file->is_stream ? 0 : (uint64_t)facts.st_size;
	file->seen = facts;
	return file;

fail:
	os_file_close(file);
	return NULL;
}

struct os_file *os_file_open(const char *path, struct etw_error *err)
{
	/* Without O_NONBLOCK, opening a pipe would wait for its writer before we can refuse it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened: %m");
		return NULL;
	}
	return file_over(fd, false, err);
}

struct os_file *os_file_open_any(const char *path, struct etw_error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) :
					  open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened: %m");
		return NULL;
	}
	return file_over(fd, true, err);
}

bool os_file_is_stream(const struct os_file *file)
{
	return file->is_stream;
}

bool os_file_next(struct os_file *file, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	ssize_t step;

	do {
		step = read(file->fd, bytes, size);
	} while (step < 0 && errno == EINTR);
	if (step < 0) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot be read: %m");
	}
	*got = (size_t)step;
	return true;
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] ? folder : "/tmp";
}

struct os_file *os_file_temporary(struct etw_error *err)
{
	const char *folder = temporary_folder();
	size_t size = strlen(folder) + sizeof "/etw_XXXXXX";
	char *path = malloc(size);
	struct os_file *file;
	int fd;

	if (!path) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for a temporary file");
		return NULL;
	}
	snprintf(path, size, "%s/etw_XXXXXX", folder);
	fd = mkstemp(path);
	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "no temporary file can be made in %s: %m", folder);
		free(path);
		return NULL;
	}
	unlink(path);
	free(path);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	file = file_over(fd, false, err);
	if (file) {
		file->temporary = true;
	}
	return file;
}

bool os_file_is_temporary(const struct os_file *file)
{
	return file->temporary;
}

bool os_file_append(struct os_file *file, const void *bytes, size_t size, struct etw_error *err)
{
	for (size_t done = 0; done < size;) {
		ssize_t step = pwrite(file->fd, (const char *)bytes + done, size - done,
				      (off_t)(file->size + done));

		if (step < 0 && errno != EINTR) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "a temporary file in %s cannot be written: %m",
					 temporary_folder());
		}
		done += step > 0 ? (size_t)step : 0;
	}
	file->size += size;
	return true;
}

struct os_file *os_file_share(const struct os_file *file, struct etw_error *err)
{
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	struct os_file *shared;

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened once more: %m");
		return NULL;
	}
	shared = file_over(fd, file->is_stream, err);
	if (shared) {
		shared->temporary = file->temporary;
	}
	return shared;
}

void os_file_close(struct os_file *file)
{
	if (!file) {
		return;
	}
	if (file->fd >= 0) {
		close(file->fd);
	}
	free(file);
}

uint64_t os_file_size(const struct os_file *file)
{
	return file->size;
}

const char *os_file_change(struct os_file *file)
{
	struct stat before = file->seen, now;

	if (file->temporary || fstat(file->fd, &now) != 0) {
		return NULL;
	}
	file->seen = now;
	return now.st_size > before.st_size             ? "has become longer" :
	       now.st_size < before.st_size             ? "has become shorter" :
	       now.st_nlink == 0 && before.st_nlink > 0 ? "was removed" :
	       now.st_mtim.tv_sec != before.st_mtim.tv_sec ||
			       now.st_mtim.tv_nsec != before.st_mtim.tv_nsec ?
							  "was overwritten" :
							  NULL;
}

void os_file_stamp(const char *path, struct os_file_stamp *stamp)
{
	struct stat facts;

	*stamp = (struct os_file_stamp){ 0 };
	if (stat(path, &facts) == 0) {
		stamp->volume = facts.st_dev;
		stamp->number = facts.st_ino;
		stamp->size = (uint64_t)facts.st_size;
		stamp->written = timespec_ns(&facts.st_mtim);
		stamp->changed = timespec_ns(&facts.st_ctim);
	}
}

bool os_file_is_public(const char *path)
{
	struct stat facts;

	return stat(path, &facts) == 0 && (facts.st_mode & S_IROTH) != 0;
}

bool os_file_read(struct os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	size_t done = 0;

	if (offset >= file->size) {
		*got = 0;
		return true;
	}
	if (size > file->size - offset) {
		size = (size_t)(file->size - offset);
	}
	while (done < size) {
		ssize_t step =
			pread(file->fd, (char *)bytes + done, size - done, (off_t)(offset + done));

		if (step < 0 && errno == EINTR) {
			continue;
		}
		if (step < 0) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "%zu bytes at %" PRIu64 " cannot be read: %m", size - done,
					 offset + done);
		}
		if (step == 0) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "ends at %" PRIu64 ", but had %" PRIu64
					 " bytes when it was opened: cut short meanwhile",
					 offset + done, file->size);
		}
		done += (size_t)step;
	}
	*got = done;
	return true;
}

/* ---- text ---- */

void *os_utf8_start(void)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);

	if (utf8) {
		uselocale(utf8);
	}
	return utf8;
}

void os_utf8_end(void *started)
{
	if (started) {
		uselocale(LC_GLOBAL_LOCALE);
		freelocale(started);
	}
}
