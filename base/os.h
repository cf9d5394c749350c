/* SPDX-License-Identifier: MIT */
/*
 * Everything that differs between operating systems: threads, clocks, files, requests to stop, and
 * facts about our own process. os_TOPIC_posix.c is for Linux, os_TOPIC_win32.c for Windows. Atomics
 * are those of C11 on both.
 *
 * All text is UTF-8 on both systems: arguments, paths, names of files.
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
 * Call first in main(). It converts the arguments to UTF-8 and prevents any conversion of standard
 * output and standard error. The arguments are valid until the program ends. Standard streams that
 * are closed stay unusable, and no file that is opened later takes their place.
 */
bool os_program_start(int *argc, char ***argv, struct etw_error *err);

/*
 * From now on, a request to end the program is kept for os_stop_wait() instead of ending it:
 * SIGINT, SIGTERM, and the SIGHUP of a terminal that closes; on Windows Ctrl-C, Ctrl-Break, closing
 * of the console, log-off and shutdown, which leave a few seconds. Any other SIGHUP is a request to
 * reload. Writing to a closed connection does not end the program either. Call once on the main
 * thread, before any other thread starts.
 */
bool os_stop_catch(struct etw_error *err);
/*
 * The same for a service. Only os_stop_ask() ends it: Windows informs every service about the
 * log-off of each user, which must not end it.
 */
bool os_stop_catch_service(struct etw_error *err);
/* Requests the end of the program. reason: a string that stays valid. Any thread, after one of the
 * two functions above. */
void os_stop_ask(const char *reason);
/* Requests a reload, as SIGHUP does. Any thread, likewise. */
void os_reload_ask(void);
/*
 * Waits for a request to end the program and returns its reason ("SIGTERM"), or NULL after the
 * timeout; with UINT64_MAX there is no timeout. For each request to reload before that, calls
 * on_reload on this thread, once for those that came meanwhile; NULL: such requests are ignored. On
 * Linux only the main thread may call it, on Windows any thread.
 */
const char *os_stop_wait(uint64_t timeout_ns, void (*on_reload)(void *context), void *context);

/* The thread starts with all signals blocked except those of faults; the main thread takes them. */
bool os_thread_start(struct os_thread *thread, void (*run)(void *context), void *context,
		     struct etw_error *err);
void os_thread_join(struct os_thread *thread);
/* Instead of os_thread_join(), for a thread that may never end: it is left to itself, and must not
 * use what its starter frees. */
void os_thread_detach(struct os_thread *thread);

void os_mutex_init(struct os_mutex *mutex);
void os_mutex_done(struct os_mutex *mutex);
void os_mutex_lock(struct os_mutex *mutex);
void os_mutex_unlock(struct os_mutex *mutex);

void os_condition_init(struct os_condition *condition);
void os_condition_done(struct os_condition *condition);
/*
 * Waits at most timeout_ns; false after the timeout. It may also return early without a reason, so
 * the caller must check its condition again.
 */
bool os_condition_wait(struct os_condition *condition, struct os_mutex *mutex, uint64_t timeout_ns);
void os_condition_wake_all(struct os_condition *condition);
void os_condition_wake_one(struct os_condition *condition);

/* Calls run unless an earlier call with the same once did; returns after run has returned. once
 * must be static and initialised with { OS_ONCE_INIT }. */
void os_once(struct os_once *once, void (*run)(void));

/*
 * A fault of the calling thread (an access violation and the like) must end the process while
 * *fatal, even if code further up its stack would catch the exception and go on. The thread owns
 * the flag and writes it as it likes, for instance at the begin and the end of a callback that is
 * called for every event. NULL, as at first: its faults are not fatal. exporter/windows/crash.h
 * acts on it; other systems end the process anyway.
 */
void os_use_fault_flag(volatile bool *fatal);

/* Writes the flag of the calling thread, if it has one. Returns what it was. */
bool os_set_faults_fatal(bool fatal);
bool os_faults_fatal(void);

/* How many processors this program may use at once; at least 1. */
unsigned os_processors(void);

uint64_t os_monotonic_ns(void);
uint64_t os_thread_cpu_ns(void); /* CPU time of the calling thread */

/*
 * Like os_condition_wait(), until os_monotonic_ns() has reached the deadline; false when it has. A
 * caller that compares and then subtracts reads the clock twice; if it loses its processor in
 * between, the difference wraps and it waits for centuries.
 */
static inline bool os_condition_wait_until(struct os_condition *condition, struct os_mutex *mutex,
					   uint64_t deadline_ns)
{
	uint64_t now = os_monotonic_ns();

	return now < deadline_ns && os_condition_wait(condition, mutex, deadline_ns - now);
}

/*
 * CPU time (user and system) of another thread of this program that is not joined yet. 0 if it is
 * not known or the thread has ended. Any thread.
 */
uint64_t os_thread_cpu_ns_of(const struct os_thread *thread);
uint64_t os_unix_time_ns(void);
void os_utc(time_t unix_seconds, struct tm *utc);

/* Values of the process_* metrics; UINT64_MAX if the system does not provide one. */
struct os_process_stats {
	uint64_t cpu_ns;
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t start_time_unix_ns;
	uint64_t open_fds;
	uint64_t max_fds;
};

void os_process_stats(struct os_process_stats *stats);

/*
 * Memory that is a multiple of OS_LARGE_PAGE_SIZE, for much data that comes at once: its content is
 * undefined, it does not come from the C library, and the system may back it by large pages, each
 * of which is there at its first touch. NULL without memory. The size is that of the allocation.
 */
enum { OS_LARGE_PAGE_SIZE = 2 << 20 };
void *os_large_alloc(size_t size);
void os_large_free(void *memory, size_t size);

/*
 * For a program with many threads that seldom allocate: they share few heaps of the C library, so
 * that what one of them frees is there for the others. Call it before there are threads.
 */
void os_share_heaps(void);

/* Returns freed memory to the system, if the C library keeps it. It is slow; call it after large
 * amounts of work. */
void os_release_memory(void);

/*
 * Writes to standard error, unbuffered and with one call if the system allows it. Errors are
 * ignored. Any thread.
 */
void os_stderr_write(const char *bytes, size_t size);

/* Whether the last write to standard output failed because the reader has closed the pipe. Call it
 * right behind that write. */
bool os_reader_is_gone(void);

/* Whether the stream (stdout or stderr of this program) is a terminal. */
bool os_is_terminal(FILE *stream);

/* Whether the stream is a file on a disk: no terminal, pipe or device. */
bool os_is_file(FILE *stream);

/* Whether the stream is a terminal that supports the escape sequences of ECMA-48 for colours. */
bool os_has_colours(FILE *stream);

/* The text of the system for an error number (errno; on Windows GetLastError()). */
void os_error_text(int number, char *text, size_t text_size);

/* What the reader can do about an error of listening on a port; NULL: the text of the error says
 * all that is known. */
const char *os_listen_advice(int number);

/* The part of a path after its last separator: `/`; on Windows also `\` and the `:` of a drive. */
const char *os_path_name(const char *path);
bool os_path_is_absolute(const char *path);
/* The path from the root, for the caller to free; links and patterns in it stay as they are. NULL
 * without memory, or when the working directory is not known. */
char *os_path_absolute(const char *path);

/* Fills bytes with random ones that cannot be predicted; false when the system gives none. */
bool os_random(void *bytes, size_t size);

/*
 * Calls each with the name of each entry of a folder, in any order, until it returns false. A
 * folder that cannot be read counts as empty. Returns the last result of each; true without a call.
 */
bool os_folder_list(const char *path, bool (*each)(void *context, const char *name), void *context);
/* The same where no name may be missing: false when a folder that exists cannot be read to its end.
 */
bool os_folder_read(const char *path, bool (*each)(void *context, const char *name), void *context,
		    struct etw_error *err);

/* Makes a folder, whose parent must exist; one that exists is fine. made: whether there was none;
 * may be NULL. */
bool os_folder_make(const char *path, bool *made, struct etw_error *err);

/* Removes a folder if it is empty. */
void os_folder_remove(const char *path);

/* As fopen(); the path is UTF-8. The error is in errno. */
FILE *os_file_stream(const char *path, const char *mode);

/*
 * Opens a file for writing bytes, empty. A new one may be read by its owner alone, on Windows also
 * by administrators and the system: it takes no rights from its folder. One that exists keeps the
 * rights that it has. The texts of errors do not contain the path.
 */
FILE *os_file_create(const char *path, struct etw_error *err);

/*
 * Gives a file that is complete another name on the same disk, in place of one that has it. Its
 * bytes are on the disk before, so that after a loss of power the name stands for all of them or
 * not for this file. Waits for the disk. The error names no path.
 */
bool os_file_publish(const char *from, const char *to, struct etw_error *err);
/* Removes a file; one that does not exist is fine. */
bool os_file_remove(const char *path, struct etw_error *err);
/* Bytes that this program may still write to the disk of a folder; UINT64_MAX: not known. */
uint64_t os_disk_free_bytes(const char *folder);

/* Writes a whole file, in place of one that exists, with the rights of os_file_create(). The texts
 * of errors do not contain the path. */
bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err);

/*
 * A file that is read by position into memory of the caller. Its size is that at the time of
 * opening; data that is appended later is not visible. The file is not mapped: if another program
 * truncates a mapped file, an access kills the process, while a read only fails.
 *
 * The texts of errors do not contain the path; the caller adds it.
 */
struct os_file; /* opaque; one thread at a time */

/* Accepts only regular files, no directories, pipes or devices. */
struct os_file *os_file_open(const char *path, struct etw_error *err);
void os_file_close(struct os_file *file); /* NULL is allowed */
uint64_t os_file_size(const struct os_file *file);
/*
 * What has become of the file since it was opened, or since the last call that said something: "was
 * overwritten", "has become longer", "has become shorter" or "was removed"; NULL: nothing that the
 * system shows.
 */
const char *os_file_change(struct os_file *file);
/* What differs between a file and what it was before. */
struct os_file_stamp {
	uint64_t volume, number, size, written, changed; /* all 0: there is no such file */
};

/* For a path; follows symbolic links. */
void os_file_stamp(const char *path, struct os_file_stamp *stamp);
/* Whether users other than its owner and its group may read the file. False on Windows, whose
 * access lists are not looked at. */
bool os_file_is_public(const char *path);
/*
 * Reads up to size bytes at offset; *got is below size only at the end of the file. It is an error
 * if the file became shorter.
 */
bool os_file_read(struct os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
		  struct etw_error *err);

/*
 * Opens a file, a pipe, a socket or a device; "-" is the standard input. Waits for the writer of a
 * named pipe. Directories and terminals are refused.
 */
struct os_file *os_file_open_any(const char *path, struct etw_error *err);
/* Whether it has no positions: os_file_read() is not for it, and os_file_next() reads it once. */
bool os_file_is_stream(const struct os_file *file);
/* Reads what comes next in a stream; *got is 0 only at its end. Waits for data. */
bool os_file_next(struct os_file *file, void *bytes, size_t size, size_t *got,
		  struct etw_error *err);

/*
 * A temporary file that no other program finds: in the folder TMPDIR, else /tmp; on Windows in that
 * of GetTempPathW(). The system removes it when it is closed, also when the program is killed. Its
 * errors name the folder. It never changes as os_file_change() says.
 */
struct os_file *os_file_temporary(struct etw_error *err);
bool os_file_is_temporary(const struct os_file *file);
bool os_file_append(struct os_file *file, const void *bytes, size_t size, struct etw_error *err);
/* The same file once more, to be closed as well. */
struct os_file *os_file_share(const struct os_file *file, struct etw_error *err);

/* ---- text ---- */

/*
 * Until the end, functions of the C library take text for UTF-8 on this thread, if the system has
 * such a locale. On Windows nothing changes: there the manifest of the programs says so. Returns
 * what the end takes.
 */
void *os_utf8_start(void);
void os_utf8_end(void *started);

#endif
