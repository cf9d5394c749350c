/* SPDX-License-Identifier: MIT */
#include "lib/etl/jobs.h"

#include <stdlib.h>

#include "base/os.h"

/* Every wait is woken by a signal; this timeout only limits the harm of a lost one. */
#define WAIT_NS UINT64_C(1000000000)

struct jobs {
	jobs_do *run;
	struct os_thread helpers[JOBS_THREADS_MOST - 1];
	unsigned helper_count;
	struct os_mutex lock; /* guards the following members, and `done` of the jobs */
	struct os_condition changed;
	struct job *first; /* jobs that no thread has begun, in the order of submission */
	struct job **last;
	bool stopping;
};

/* Does the first job that no thread has begun. Call it with the lock held; it is released during
 * the job. */
static void do_first(struct jobs *jobs)
{
	struct job *job = jobs->first;

	jobs->first = job->next;
	if (!jobs->first) {
		jobs->last = &jobs->first;
	}
	os_mutex_unlock(&jobs->lock);
	jobs->run(job);
	os_mutex_lock(&jobs->lock);
	job->done = true;
	os_condition_wake_all(&jobs->changed);
}

/* Does jobs until *until, which the lock guards, is true. */
static void do_until(struct jobs *jobs, const bool *until)
{
	os_mutex_lock(&jobs->lock);
	while (!*until) {
		if (jobs->first) {
			do_first(jobs);
		} else {
			os_condition_wait(&jobs->changed, &jobs->lock, WAIT_NS);
		}
	}
	os_mutex_unlock(&jobs->lock);
}

static void help(void *context)
{
	struct jobs *jobs = context;

	do_until(jobs, &jobs->stopping);
}

struct jobs *jobs_start(unsigned threads, jobs_do *run)
{
	struct jobs *jobs = calloc(1, sizeof *jobs);

	if (!jobs) {
		return NULL;
	}
	jobs->run = run;
	jobs->last = &jobs->first;
	os_mutex_init(&jobs->lock);
	os_condition_init(&jobs->changed);
	while (jobs->helper_count + 1 < threads && jobs->helper_count + 1 < JOBS_THREADS_MOST &&
	       os_thread_start(&jobs->helpers[jobs->helper_count], help, jobs, NULL)) {
		jobs->helper_count++;
	}
	if (jobs->helper_count == 0) {
		jobs_stop(jobs);
		return NULL;
	}
	return jobs;
}

void jobs_submit(struct jobs *jobs, struct job *job)
{
	*job = (struct job){ .submitted = true };
	os_mutex_lock(&jobs->lock);
	*jobs->last = job;
	jobs->last = &job->next;
	os_condition_wake_all(&jobs->changed);
	os_mutex_unlock(&jobs->lock);
}

void jobs_wait(struct jobs *jobs, struct job *job)
{
	if (job->submitted) {
		do_until(jobs, &job->done);
		job->submitted = false;
	}
}

void jobs_stop(struct jobs *jobs)
{
	if (!jobs) {
		return;
	}
	os_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	os_condition_wake_all(&jobs->changed);
	os_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->helper_count; i++) {
		os_thread_join(&jobs->helpers[i]);
	}
	os_condition_done(&jobs->changed);
	os_mutex_done(&jobs->lock);
	free(jobs);
}
