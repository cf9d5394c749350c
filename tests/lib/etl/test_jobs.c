/* SPDX-License-Identifier: MIT */
/*
 * Jobs are done once each, whichever thread is free, and the submitter never waits for one while
 * another could be begun.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os.h"
#include "lib/etl/unpack.h"
#include "tests/support/patience.h"
#include "tests/support/system.h"

enum { RING = 16, JOBS = 10000 };

struct sum {
	struct job job; /* the first member */
	uint64_t to;
	uint64_t result; /* 1 + 2 + … + to */
	unsigned times;
};

static void add_up(struct job *job)
{
	struct sum *sum = (struct sum *)(void *)job;

	sum->result = 0;
	for (uint64_t i = 1; i <= sum->to; i++) {
		sum->result += i;
	}
	sum->times++;
}

static void each_job_is_done_once(void **state)
{
	(void)state;
	for (unsigned count = 2; count <= JOBS_THREADS_MOST; count += 3) {
		struct sum ring[RING] = { { .to = 0 } };
		struct jobs *jobs = jobs_start(count, add_up);

		assert_non_null(jobs);
		for (uint64_t i = 0; i < JOBS + RING; i++) {
			struct sum *sum = &ring[i % RING];

			jobs_wait(jobs, &sum->job);
			if (i >= RING) {
				assert_int_equal(sum->times, 1);
				assert_int_equal(sum->result, sum->to * (sum->to + 1) / 2);
			}
			if (i < JOBS) {
				sum->times = 0;
				sum->to = i % 300;
				jobs_submit(jobs, &sum->job);
			}
		}
		jobs_stop(jobs);
	}
}

/* ---- a helper that is stuck ---- */

struct stuck {
	struct job job; /* the first member */
	atomic_bool begun, released;
};

static void get_stuck(struct job *job)
{
	struct stuck *stuck = (struct stuck *)(void *)job;

	atomic_store(&stuck->begun, true);
	while (!atomic_load(&stuck->released)) {
		system_sleep_ms(1);
	}
}

static void the_submitter_does_what_no_other_thread_has_begun(void **state)
{
	struct stuck first = { .released = false }, second = { .released = true };
	struct jobs *jobs = jobs_start(2, get_stuck);

	(void)state;
	assert_non_null(jobs);
	jobs_submit(jobs, &first.job);
	for (int i = 0; i < WAIT_MS && !atomic_load(&first.begun); i++) {
		system_sleep_ms(1);
	}
	assert_true(atomic_load(&first.begun));
	jobs_submit(jobs, &second.job);
	jobs_wait(jobs, &second.job); /* while the only helper is stuck */
	assert_true(atomic_load(&second.begun));
	atomic_store(&first.released, true);
	jobs_wait(jobs, &first.job);
	jobs_stop(jobs);
}

static void jobs_that_no_thread_has_begun_can_be_left(void **state)
{
	struct sum ring[RING] = { { .to = 0 } };
	struct jobs *jobs = jobs_start(2, add_up);

	(void)state;
	assert_non_null(jobs);
	for (int i = 0; i < RING; i++) {
		ring[i].to = 1000000;
		jobs_submit(jobs, &ring[i].job);
	}
	jobs_stop(jobs);
	for (int i = 0; i < RING; i++) {
		assert_int_equal(ring[i].times, ring[i].result > 0);
	}
	jobs_stop(NULL);
}

static void one_thread_needs_no_jobs(void **state)
{
	struct job job = { .next = NULL };

	(void)state;
	assert_null(jobs_start(1, add_up));
	jobs_wait(NULL, &job); /* which was not submitted */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_job_is_done_once),
		cmocka_unit_test(the_submitter_does_what_no_other_thread_has_begun),
		cmocka_unit_test(jobs_that_no_thread_has_begun_can_be_left),
		cmocka_unit_test(one_thread_needs_no_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
