/* SPDX-License-Identifier: MIT */
#include "etl/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "etl/buffer.h"
#include "etl/decompress.h"

#define WAIT_NS \
	UINT64_C(1000000000) /* every wait is woken; this bounds what a lost wake could cost */

struct etl_unpacker {
	struct os_thread thread;
	struct os_mutex mutex; /* guards what follows, and the jobs */
	struct os_condition changed;
	struct etl_unpack_job *first; /* queued, in the order in which they are wanted */
	struct etl_unpack_job **last;
	bool stopping;
};

uint32_t etl_unpack(const uint8_t *packed, size_t packed_size, struct etl_block *out, uint32_t end,
		    bool *good)
{
	size_t made;

	memcpy(out->bytes, packed, ETL_BUFFER_HEADER_SIZE);
	*good = etl_decompress(packed + ETL_BUFFER_HEADER_SIZE,
			       packed_size - ETL_BUFFER_HEADER_SIZE,
			       out->bytes + ETL_BUFFER_HEADER_SIZE, end - ETL_BUFFER_HEADER_SIZE,
			       &made);
	return ETL_BUFFER_HEADER_SIZE + (uint32_t)made;
}

/* Does the first queued job; called, and returns, with the lock held. */
static void run_first(struct etl_unpacker *unpacker)
{
	struct etl_unpack_job *job = unpacker->first;

	unpacker->first = job->next;
	if (!unpacker->first) {
		unpacker->last = &unpacker->first;
	}
	os_mutex_unlock(&unpacker->mutex);
	job->end = etl_unpack(job->packed->bytes, job->packed_size, job->out, job->end, &job->good);
	os_mutex_lock(&unpacker->mutex);
	job->done = true;
	os_condition_wake_all(&unpacker->changed);
}

static void help(void *context)
{
	struct etl_unpacker *unpacker = context;

	os_mutex_lock(&unpacker->mutex);
	while (!unpacker->stopping) {
		if (unpacker->first) {
			run_first(unpacker);
		} else {
			os_condition_wait(&unpacker->changed, &unpacker->mutex, WAIT_NS);
		}
	}
	os_mutex_unlock(&unpacker->mutex);
}

struct etl_unpacker *etl_unpacker_start(void)
{
	struct etl_unpacker *unpacker = calloc(1, sizeof *unpacker);

	if (!unpacker) {
		return NULL;
	}
	os_mutex_init(&unpacker->mutex);
	os_condition_init(&unpacker->changed);
	unpacker->last = &unpacker->first;
	if (!os_thread_start(&unpacker->thread, help, unpacker, NULL)) {
		os_condition_done(&unpacker->changed);
		os_mutex_done(&unpacker->mutex);
		free(unpacker);
		return NULL;
	}
	return unpacker;
}

void etl_unpacker_submit(struct etl_unpacker *unpacker, struct etl_unpack_job *job)
{
	job->next = NULL;
	job->submitted = true;
	job->done = false;
	os_mutex_lock(&unpacker->mutex);
	*unpacker->last = job;
	unpacker->last = &job->next;
	os_condition_wake_all(&unpacker->changed);
	os_mutex_unlock(&unpacker->mutex);
}

void etl_unpacker_wait(struct etl_unpacker *unpacker, struct etl_unpack_job *job)
{
	os_mutex_lock(&unpacker->mutex);
	while (!job->done) {
		if (unpacker->first) {
			run_first(unpacker);
		} else {
			os_condition_wait(&unpacker->changed, &unpacker->mutex, WAIT_NS);
		}
	}
	os_mutex_unlock(&unpacker->mutex);
	job->submitted = false;
}

void etl_unpacker_stop(struct etl_unpacker *unpacker)
{
	if (!unpacker) {
		return;
	}
	os_mutex_lock(&unpacker->mutex);
	unpacker->stopping = true;
	os_condition_wake_all(&unpacker->changed);
	os_mutex_unlock(&unpacker->mutex);
	os_thread_join(&unpacker->thread);
	os_condition_done(&unpacker->changed);
	os_mutex_done(&unpacker->mutex);
	free(unpacker);
}
