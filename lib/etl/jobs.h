/* SPDX-License-Identifier: MIT */
/*
 * Divides work among threads: one thread makes jobs and needs their results, usually in the order
 * in which it made them; helper threads do the jobs.
 *
 * Jobs are begun in the order of their submission by whichever thread is free: a helper, or the
 * submitter itself while it waits for one of them. So a machine without a second processor loses
 * nothing but the cost of a lock for each job, and with one helper both threads work.
 *
 * The submitter decides how many jobs exist at a time, and so how much memory they take.
 */
#ifndef LIB_ETL_JOBS_H
#define LIB_ETL_JOBS_H

#include <stdbool.h>

enum { JOBS_THREADS_MOST = 8 }; /* including the submitter's thread */

/*
 * The part of a job that this module needs. Embed it in the struct of the whole job, and zero it.
 * From submission to the end of the wait the job belongs to the thread that does it.
 */
struct job {
	struct job *next;
	bool submitted; /* for the submitter's thread only: submitted, and not waited for yet */
	bool done;      /* under the lock */
};

typedef void jobs_do(struct job *job);

struct jobs; /* opaque */

/*
 * Starts helpers, so that there are `threads` threads including the caller's; at most
 * JOBS_THREADS_MOST, and fewer if the system refuses more. Returns NULL when memory runs out, or if
 * no helper could be started; the caller must then do its jobs itself.
 */
struct jobs *jobs_start(unsigned threads, jobs_do *run);

/* Submits a job, which must not move until jobs_wait(). Only the submitter's thread may call it. */
void jobs_submit(struct jobs *jobs, struct job *job);

/* Waits until a job is done, and does other jobs meanwhile. Returns at once if the job was not
 * submitted. Only the submitter's thread may call it. */
void jobs_wait(struct jobs *jobs, struct job *job);

/* Ends the helpers. Jobs that no thread has begun are not done. NULL is allowed. */
void jobs_stop(struct jobs *jobs);

#endif
