/* SPDX-License-Identifier: MIT */
/*
 * What differs between operating systems: threads, clocks, files, being stopped, facts about our
 * own process. os_posix.c serves Linux, os_win32.c Windows. Atomics are C11's, everywhere.
 *
 * Text is UTF-8 on both: arguments, paths, names of files.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#ifndef _WIN32
#include <pthread.h>
#endif

#include "base/error.h"

#ifdef _WIN32
struct os_thread {
	void *handle;
};
struct os_mutex {
	void *lock; /* SRWLOCK */
};
struct os_condition {
	void *variable; /* CONDITION_VARIABLE */
};
struct os_once {
	void *state; /* INIT_ONCE */
};
#define OS_ONCE_INIT NULL
#else
struct os_thread {
	pthread_t handle;
};
struct os_mutex {
	pthread_mutex_t handle;
};
struct os_condition {
	pthread_cond_t handle; /* measured against the monotonic clock */
};
struct os_once {
	pthread_once_t state;
};
#define OS_ONCE_INIT PTHREAD_ONCE_INIT
#endif

/*
 * The first thing a program's main() does: its arguments become UTF-8, and what it writes to
 * standard output and error arrives byte by byte. The arguments live as long as the program.
 */
bool os_program_start(int *argc, char ***argv, struct error *err);

/*
 * From here on, what asks the program to end no longer ends it but is kept for os_stop_wait():
 * SIGINT, SIGTERM and SIGHUP; on Windows, Ctrl-C, Ctrl-Break and the closing of the console,
 * log-off and shutdown, which leave a few seconds. Nor does a connection end it whose other side
 * has gone. Main thread, once, before any other thread starts.
 */
bool os_stop_catch(struct error *err);
/*
 * The same for a service, which os_stop_ask() alone ends: Windows tells every service of each
 * user's log-off, which is none of its business.
 */
bool os_stop_catch_service(struct error *err);
/* Asks the program to end, for a reason that stays valid. Any thread, after one of the two above.
 */
void os_stop_ask(const char *reason);
/*
 * Waits until the program is asked to end, and returns what asked ("SIGTERM"). On Linux the main
 * thread's; on Windows any thread's. os_stop_wait_for() returns NULL when the time runs out first.
 */
const char *os_stop_wait(void);
const char *os_stop_wait_for(uint64_t timeout_ns);

/* The thread starts with signals blocked (but for those of faults): they are the main thread's. */
bool os_thread_start(struct os_thread *thread, void (*run)(void *context), void *context,
		     struct error *err);
void os_thread_join(struct os_thread *thread);

void os_mutex_init(struct os_mutex *mutex);
void os_mutex_done(struct os_mutex *mutex);
void os_mutex_lock(struct os_mutex *mutex);
void os_mutex_unlock(struct os_mutex *mutex);

void os_condition_init(struct os_condition *condition);
void os_condition_done(struct os_condition *condition);
/*
 * Waits at most timeout_ns; false when the time ran out. May return early without reason: check the
 * condition again.
 */
bool os_condition_wait(struct os_condition *condition, struct os_mutex *mutex, uint64_t timeout_ns);
void os_condition_wake_all(struct os_condition *condition);

/* Runs it if no call with this once, static and { OS_ONCE_INIT }, did; returns when it has run. */
void os_once(struct os_once *once, void (*run)(void));

uint64_t os_monotonic_ns(void);
uint64_t os_thread_cpu_ns(void); /* CPU time of the calling thread */
/*
 * CPU time of another thread of ours that is not joined yet, user and system; any thread may ask.
 * 0: not known, or it has ended.
 */
uint64_t os_thread_cpu_ns_of(const struct os_thread *thread);
uint64_t os_unix_time_ns(void);
void os_utc(time_t unix_seconds, struct tm *utc);

/* Facts for the process_* metrics; a value that the system does not tell is UINT64_MAX. */
struct os_process_stats {
	uint64_t cpu_ns;
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t start_time_unix_ns;
	uint64_t open_fds;
	uint64_t max_fds;
};

void os_process_stats(struct os_process_stats *stats);

/* Gives memory that was freed back to the system, where the C library keeps it. Slow: after large
 * work. */
void os_release_memory(void);

/*
 * Writes to standard error, unbuffered and with one call as far as the system lets us. Errors have
 * nowhere to go. Any thread.
 */
void os_stderr_write(const char *bytes, size_t size);

/* Whether somebody watches the stream: stdout or stderr of this program is a terminal. */
bool os_is_terminal(FILE *stream);

/* Whether a terminal behind the stream understands the escape sequences of ECMA-48 for colours. */
bool os_has_colours(FILE *stream);

/* The system's sentence for an error number of its own (errno; on Windows GetLastError()). */
void os_error_text(int number, char *text, size_t text_size);

/* The part of a path after its last separator: `/`, on Windows `\` and the `:` of a drive, too. */
const char *os_path_name(const char *path);
bool os_path_is_absolute(const char *path);

/*
 * Calls each with the name of each entry of a folder, in no order, until it returns false. A folder
 * that cannot be read has none. Returns what each returned last, else true.
 */
bool os_folder_list(const char *path, bool (*each)(void *context, const char *name), void *context);

/*
 * A file that is read by position, into the caller's memory. Its size is that at opening; what is
 * appended later is not seen. Nothing is mapped: a mapping of a file that another program cuts
 * short kills the process that reads it, a read only fails.
 *
 * The sentences of errors do not name the path; the caller puts it in front.
 */
struct os_file; /* opaque; one thread at a time */

/* Refuses directories, pipes, devices: all but regular files. */
struct os_file *os_file_open(const char *path, struct error *err);
void os_file_close(struct os_file *file); /* NULL is fine */
uint64_t os_file_size(const struct os_file *file);
/*
 * Reads up to size bytes at offset; *got < size only at the end of the file. A file that became
 * shorter is an error.
 */
bool os_file_read(struct os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
		  struct error *err);

#endif
