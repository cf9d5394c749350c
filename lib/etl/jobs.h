/* SPDX-License-Identifier: MIT */
/*
 * Divides work among threads: one thread makes jobs and needs their results, usually in the order
 * in which it made them; helper threads do the jobs.
 *
 * Jobs are begun in the order of their submission by whichever thread is free: a helper, or the
 * submitter itself while it waits for one of them. So a machine without a second processor loses
 * nothing but the cost of a lock for each job, and with one helper both threads work.
 *
 * How many jobs are under way, and so the memory, is up to the submitter.
 */
#ifndef LIB_ETL_JOBS_H
#define LIB_ETL_JOBS_H

#include <stdbool.h>

enum { JOBS_THREADS_MOST = 8 }; /* with the submitter */

/*
 * The part of a job that this module needs; put it into the struct with the rest, and zero it. From
 * submission to the end of the wait the job belongs to the thread that does it.
 */
struct job {
	struct job *next;
	bool submitted; /* the submitter's: submitted, and not waited for yet */
	bool done;      /* with the lock */
};

typedef void jobs_do(struct job *job);

struct jobs; /* opaque */

/*
 * Starts helpers, so that there are `threads` threads with the caller's; at most JOBS_THREADS_MOST,
 * or fewer if the system has no more. NULL without memory, or without any helper: the caller does
 * its jobs itself then.
 */
struct jobs *jobs_start(unsigned threads, jobs_do *run);

/* The submitter's thread: submits a job, which must stay where it is until jobs_wait(). */
void jobs_submit(struct jobs *jobs, struct job *job);

/* The submitter's thread: waits until a job is done, and does others meanwhile. Returns at once if
 * the job was not submitted. */
void jobs_wait(struct jobs *jobs, struct job *job);

/* Ends the helpers. Jobs that no thread has begun are not done. NULL is allowed. */
void jobs_stop(struct jobs *jobs);

#endif
