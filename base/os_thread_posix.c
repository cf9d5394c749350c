/* SPDX-License-Identifier: MIT */
/*
 * Clocks, threads and locks of Linux.
 *
 * A new thread blocks all signals except those that a fault of the thread itself raises, and
 * SIGPROF for profilers; the main thread takes the requests to the program (os_process_posix.c).
 * Waits use the monotonic clock, so that setting the time of the machine does not change them. The
 * lock functions only fail after mistakes in our own code, so their results are asserted.
 */
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/os_posix.h"

/* ---- clocks ---- */

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

	/* For a thread that has ended this fails with ESRCH, or reading the clock fails with
	 * EINVAL. */
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

struct thread_start {
	void (*run)(void *context);
	void *context;
};

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
