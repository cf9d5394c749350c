/* SPDX-License-Identifier: MIT */
/*
 * What differs between operating systems: threads, clocks, files, facts about our own process.
 *
 * os_posix.c serves Linux (os_win32.c comes with live sessions). Atomics are C11's, everywhere.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct os_thread {
	pthread_t handle;
};
struct os_mutex {
	pthread_mutex_t handle;
};
struct os_condition {
	pthread_cond_t handle; /* measured against the monotonic clock */
};

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

uint64_t os_monotonic_ns(void);
uint64_t os_thread_cpu_ns(void); /* CPU time of the calling thread */
/*
 * CPU time of another thread of ours that is not joined yet, user and system; any thread may ask.
 * 0: not known, or it has ended.
 */
uint64_t os_thread_cpu_ns_of(const struct os_thread *thread);
uint64_t os_unix_time_ns(void);

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

/* Gives memory that was freed back to the system, where the C library keeps it. Slow: after large work. */
void os_release_memory(void);

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
