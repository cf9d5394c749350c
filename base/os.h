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
	pthread_cond_t handle; /* waits by the monotonic clock */
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
 * As os_stop_catch(), for a Windows service. Only os_stop_ask() ends it, because Windows reports
 * the log-off of each user to every service, and that must not end it.
 */
bool os_stop_catch_service(struct etw_error *err);
/* Requests the end of the program. reason: a string that stays valid. Any thread may call it, after
 * one of the two functions above. */
void os_stop_ask(const char *reason);
/* Requests a reload, as SIGHUP does. Any thread may call it, after one of the two functions above.
 */
void os_reload_ask(void);
/*
 * Waits for a request to end the program and returns its reason ("SIGTERM"), or NULL after the
 * timeout; with UINT64_MAX there is no timeout. When a reload is requested meanwhile, it calls
 * on_reload on this thread; several requests that came before the call result in one call. NULL:
 * these requests are ignored. On Linux only the main thread may call it, on Windows any thread.
 */
const char *os_stop_wait(uint64_t timeout_ns, void (*on_reload)(void *context), void *context);

/* Starts a thread. It blocks all signals except those of faults; the main thread takes the others.
 */
bool os_thread_start(struct os_thread *thread, void (*run)(void *context), void *context,
		     struct etw_error *err);
void os_thread_join(struct os_thread *thread);
/* To be called instead of os_thread_join() for a thread that may never end. The thread must not use
 * anything that its starter frees. */
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
 * Sets a flag for the calling thread: while *fatal is true, a fault of this thread (such as an
 * access violation) must end the process, even if code further up its stack would catch the
 * exception and continue. The thread owns the flag and may write it at any time, for instance at
 * the beginning and the end of a callback. NULL, the initial state: faults are not fatal. On
 * Windows exporter/windows/crash.h acts on the flag; other systems end the process anyway.
 */
void os_use_fault_flag(volatile bool *fatal);

/* Sets the flag of the calling thread, if it has one. Returns its former value. */
bool os_set_faults_fatal(bool fatal);
bool os_faults_fatal(void);

uint32_t os_process_id(void); /* of this process */

/* Returns how many processors this program may use at once; at least 1. */
unsigned os_processors(void);

/* Writes the name of this computer in DNS, on Windows with its domain. Without one: "". */
void os_computer_name(char *name, size_t size);

uint64_t os_monotonic_ns(void);
uint64_t os_thread_cpu_ns(void); /* CPU time of the calling thread */

/*
 * As os_condition_wait(), until os_monotonic_ns() reaches the deadline; then it returns false. Use
 * it instead of comparing and then subtracting: that reads the clock twice, and if the thread is
 * suspended in between, the difference wraps and it waits for centuries.
 */
static inline bool os_condition_wait_until(struct os_condition *condition, struct os_mutex *mutex,
					   uint64_t deadline_ns)
{
	uint64_t now = os_monotonic_ns();

	return now < deadline_ns && os_condition_wait(condition, mutex, deadline_ns - now);
}

/*
 * Returns the CPU time (user and system) of another thread of this program that is not joined yet;
 * 0 if it is not known or the thread has ended. Any thread may call it.
 */
uint64_t os_thread_cpu_ns_of(const struct os_thread *thread);
uint64_t os_unix_time_ns(void);
void os_utc(time_t unix_seconds, struct tm *utc);

/* Returns the name that this machine has for an account, "DOMAIN\\user", by its SID as text; NULL
 * if it has none, and on other systems than Windows. It may take long, because Windows may ask a
 * domain controller. The caller frees it. */
char *os_account_name(const char *sid);

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
 * Allocate and free memory for large amounts of data, directly from the system. size must be a
 * multiple of OS_LARGE_PAGE_SIZE; freeing takes the size of the allocation. The content is
 * undefined. The system may use large pages, and adds each when it is first touched. Allocating
 * returns NULL when memory runs out.
 */
enum { OS_LARGE_PAGE_SIZE = 2 << 20 };
void *os_large_alloc(size_t size);
void os_large_free(void *memory, size_t size);

/* Allocate and free zeroed memory directly from the system, which adds each page when it is first
 * touched; freeing takes the size of the allocation. Allocating returns NULL when memory runs out.
 */
void *os_pages_alloc(size_t size);
void os_pages_free(void *memory, size_t size);

/*
 * For a program with many threads that seldom allocate: makes them share a few heaps of the C
 * library, so that memory that one thread frees is available to others. Call it before other
 * threads start.
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

/* Returns whether the last write to standard output failed because the reader has closed the pipe.
 * Call it directly after that write. */
bool os_reader_is_gone(void);

/* Returns whether the stream (stdout or stderr of this program) is a terminal. */
bool os_is_terminal(FILE *stream);

/* Returns whether the stream is a file on a disk, not a terminal, pipe or device. */
bool os_is_file(FILE *stream);

/* Returns whether the stream is a terminal that supports the escape sequences of ECMA-48 for
 * colours. */
bool os_has_colours(FILE *stream);

/* Writes the system's text for an error number (errno; on Windows GetLastError()). */
void os_error_text(int number, char *text, size_t text_size);

/* Returns advice for the user about an error of listening on a port; NULL if there is none beyond
 * the text of the error. The advice is static. */
const char *os_listen_advice(int number);

/* Returns the part of a path after its last separator: `/`; on Windows also `\` and the `:` of a
 * drive. */
const char *os_path_name(const char *path);
bool os_path_is_absolute(const char *path);
/* Returns the absolute path, which the caller frees; links and patterns in it are not resolved.
 * NULL when memory runs out, or if the working directory is not known. */
char *os_path_absolute(const char *path);

/* Fills bytes with unpredictable random bytes. Returns false if the system provides none. */
bool os_random(void *bytes, size_t size);

/*
 * Calls each() with the name of every entry of a folder, in any order, until it returns false. A
 * folder that cannot be read counts as empty. Returns the last result of each(); true if there was
 * no call.
 */
bool os_folder_list(const char *path, bool (*each)(void *context, const char *name), void *context);
/* As os_folder_list(), but returns false with an error if a folder exists and cannot be read to its
 * end, so that no name is missed. */
bool os_folder_read(const char *path, bool (*each)(void *context, const char *name), void *context,
		    struct etw_error *err);

/* Makes a folder, whose parent must exist; an existing folder is no error. *made (may be NULL) is
 * set to whether this call made it. */
bool os_folder_make(const char *path, bool *made, struct etw_error *err);

/* If accounts besides the user of this program, administrators and the system may make, rename or
 * remove files in the folder, returns advice how to prevent that; otherwise NULL. The advice is
 * static. */
const char *os_folder_open_to_others(const char *path);

/* Removes a folder if it is empty. */
void os_folder_remove(const char *path);

/* Removes a file; it is no error if the file does not exist. */
bool os_file_remove(const char *path, struct etw_error *err);
/* Returns whether the path leads to a regular file; a link does not count as one. */
bool os_file_is_regular(const char *path);
/* Returns how many bytes this program may still write to the disk of a folder; UINT64_MAX if it is
 * not known. */
uint64_t os_disk_free_bytes(const char *folder);

/*
 * A file that is read by position into memory of the caller. Its size is that at the time of
 * opening; data that is appended later is not visible. The file is not mapped, because an access to
 * a mapped file kills the process if another program has truncated it, while a read only fails.
 *
 * The texts of errors do not contain the path; the caller adds it.
 */
struct os_file; /* opaque; one thread at a time */

/* Opens a file for reading. Directories, pipes and devices are refused. */
struct os_file *os_file_open(const char *path, struct etw_error *err);
void os_file_close(struct os_file *file); /* NULL is allowed */
uint64_t os_file_size(const struct os_file *file);
/*
 * Returns what happened to the file since it was opened, or since the last call that did not return
 * NULL: "was overwritten", "has become longer", "has become shorter" or "was removed"; NULL if the
 * system shows no change.
 */
const char *os_file_change(struct os_file *file);
/* Identifies the contents of a file: if the file changes, at least one member differs. */
struct os_file_stamp {
	uint64_t volume, number, size, written, changed; /* all 0: the file does not exist */
};

/* Reads the stamp of the file at path; follows symbolic links. */
void os_file_stamp(const char *path, struct os_file_stamp *stamp);
/* Returns whether users other than the owner and the group may read the file. Always false on
 * Windows, where access lists are not checked. */
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
/* Returns whether the file has no positions, so that os_file_next() must read it, once, and
 * os_file_read() cannot. */
bool os_file_is_stream(const struct os_file *file);
/* Reads the next bytes of a stream, and waits for them; *got is 0 only at the end. */
bool os_file_next(struct os_file *file, void *bytes, size_t size, size_t *got,
		  struct etw_error *err);

/*
 * A new file, which gets its name when it is complete.
 *
 * Every file that the programs write is made here. Nothing that exists is opened, so a link, a pipe
 * or a file of another user in the folder is never written to. Until it is complete, the file is
 * beside its later place: without a name if the disk has such files (O_TMPFILE), otherwise under a
 * random one (os_partial_name()). So an interrupted program, a full disk or a loss of power leaves
 * the former file, and who has that open can still read it. Only the owner may read a new file; on
 * Windows also administrators and the system. It inherits no rights from its folder. The texts of
 * errors do not contain the path.
 */

/* Makes a new file for the path. visible: the file has its random name from the start, and stays
 * there if the program is killed. */
struct os_file *os_file_new(const char *path, bool visible, struct etw_error *err);
bool os_file_append(struct os_file *file, const void *bytes, size_t size, struct etw_error *err);
/* Overwrites the first bytes, which must have been written before. */
bool os_file_overwrite(struct os_file *file, const void *bytes, size_t size, struct etw_error *err);
/*
 * Gives a complete file its name; a file or link of that name is replaced. It first waits until the
 * bytes are on the disk, so that after a loss of power the name leads to the whole new file or to
 * the former one. A file that is closed without this is removed.
 */
bool os_file_publish(struct os_file *file, struct etw_error *err);
/* Leaves an incomplete file under its random name. Returns its path, which the caller frees; NULL
 * if it has no name. */
char *os_file_leave(struct os_file *file);
/* Makes and publishes a file with these bytes. */
bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err);

enum { OS_PARTIAL_TRIES = 8 }; /* names that are tried until one is free */
/* Returns "NAME.0123456789abcdef.partial" with random digits, which the caller frees; NULL when
 * memory runs out or the system has no random bytes. */
char *os_partial_name(const char *name);

/*
 * Makes a temporary file that other programs cannot find, in os_temporary_folder(). The system
 * removes it when it is closed, also when the program is killed. os_file_change() of it always
 * returns NULL.
 */
struct os_file *os_file_temporary(struct etw_error *err);
bool os_file_is_temporary(const struct os_file *file);
/* Opens the same file a second time; the result must be closed, too. A new file that has no name
 * yet is a temporary file there. */
struct os_file *os_file_share(const struct os_file *file, struct etw_error *err);

/* Returns the path of the folder of temporary files, which the caller frees: TMPDIR or else /tmp;
 * on Windows that of GetTempPathW(). NULL when memory runs out. */
char *os_temporary_folder(void);
extern const char os_temporary_variable[]; /* the environment variable that names it */

/* ---- text ---- */

/*
 * Between start and end, functions of the C library treat text as UTF-8 on this thread, if the
 * system has such a locale. On Windows they do nothing, because the manifest of the programs sets
 * UTF-8. Pass the result of the start to the end.
 */
void *os_utf8_start(void);
void os_utf8_end(void *started);

#endif
