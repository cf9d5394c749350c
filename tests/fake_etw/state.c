/* SPDX-License-Identifier: MIT */
/* The state of the fake, its lock, and failures that a test asked for. */
#include "tests/fake_etw/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_etw fake;

static const char *const call_names[] = {
#define FAKE_CALL(name) #name,
	FAKE_CALLS(FAKE_CALL)
#undef FAKE_CALL
};

/* Live code may call before a test does. */
__attribute__((constructor)) static void init(void)
{
	os_mutex_init(&fake.lock);
	os_condition_init(&fake.changed);
	fake_etw_reset(NULL);
}

void fake_lock(void)
{
	os_mutex_lock(&fake.lock);
}

void fake_unlock(void)
{
	os_mutex_unlock(&fake.lock);
}

uint32_t fake_enter(enum fake_call call)
{
	struct fake_failure *failure = &fake.failures[call];
	uint32_t error;

	fake_lock();
	error = failure->error;
	failure->calls++;
	if (error == 0) {
		return 0;
	}
	if (failure->after > 0) {
		failure->after--;
		return 0;
	}
	if (!failure->always) {
		failure->error = 0;
	}
	return error;
}

BOOL fake_leave(uint32_t error)
{
	fake_unlock();
	if (error != 0) {
		SetLastError(error);
	}
	return error == 0;
}

static enum fake_call call_of(const char *name)
{
	for (int call = 0; call < CALL_COUNT; call++) {
		if (strcmp(name, call_names[call]) == 0) {
			return (enum fake_call)call;
		}
	}
	fprintf(stderr, "fake_etw: there is no call %s\n", name);
	abort();
}

static void set_failure(const char *name, uint32_t error, unsigned after, bool always)
{
	enum fake_call call = call_of(name);

	fake_lock();
	fake.failures[call].error = error;
	fake.failures[call].after = after;
	fake.failures[call].always = always;
	fake_unlock();
}

void fake_etw_fail(const char *call, uint32_t error, unsigned after)
{
	set_failure(call, error, after, false);
}

void fake_etw_fail_always(const char *call, uint32_t error)
{
	set_failure(call, error, 0, true);
}

void fake_etw_fail_never(const char *call)
{
	set_failure(call, 0, 0, false);
}

void fake_etw_otherwise(const char *row)
{
	size_t i = 0;

	fake_lock();
	while (fake.otherwise[i]) {
		if (++i == sizeof fake.otherwise / sizeof fake.otherwise[0]) {
			abort();
		}
	}
	fake.otherwise[i] = row;
	fake_unlock();
}

bool fake_otherwise(const char *row)
{
	for (size_t i = 0; i < sizeof fake.otherwise / sizeof fake.otherwise[0]; i++) {
		if (fake.otherwise[i] && strcmp(fake.otherwise[i], row) == 0) {
			return true;
		}
	}
	return false;
}

unsigned fake_etw_calls(const char *name)
{
	enum fake_call call = call_of(name);
	unsigned calls;

	fake_lock();
	calls = fake.failures[call].calls;
	fake_unlock();
	return calls;
}

void fake_refuse(const char *call, const char *what)
{
	fprintf(stderr, "fake_etw: %s: the fake does not know %s\n", call, what);
}

static void complete(struct fake_etw_options *options)
{
	if (options->processors == 0) {
		options->processors = 4;
	}
	if (options->processors > FAKE_PROCESSORS) {
		options->processors = FAKE_PROCESSORS;
	}
	if (options->max_loggers == 0) {
		options->max_loggers = 64;
	}
	if (options->max_loggers > FAKE_SESSIONS) {
		options->max_loggers = FAKE_SESSIONS;
	}
	if (options->os_build == 0) {
		options->os_build = 22621;
	}
	if (options->other_pid == 0) {
		options->other_pid = 4242;
	}
	if (options->clock_type_error == 0) {
		options->clock_type_error = ERROR_INVALID_PARAMETER;
	}
}

void fake_etw_reset(const struct fake_etw_options *options)
{
	static const struct fake_etw_options defaults;

	fake_providers_reset(); /* joins the thread of the enable callbacks */
	fake_lock();
	for (size_t i = 0; i < FAKE_TRACES; i++) {
		struct fake_trace *trace = &fake.traces[i];

		if (trace->processing) {
			fprintf(stderr, "fake_etw: reset while ProcessTrace runs\n");
			abort();
		}
		fake_queue_done(&trace->queue);
		*trace = (struct fake_trace){ 0 };
	}
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used) {
			fake_session_stop(&fake.sessions[i], 0);
		}
	}
	memset(fake.failures, 0, sizeof fake.failures);
	memset(fake.otherwise, 0, sizeof fake.otherwise);
	fake.options = options ? *options : defaults;
	complete(&fake.options);
	fake_rundown_reset();
	fake_classic_reset();
	fake.handles = 0;
	fake.profile_interval = 10000;
	fake.stops_while_consumed = 0;
	fake_clock_reset();
	fake_unlock();
	fake_machine_reset();
	fake_tdh_reset();
	for (unsigned i = 0; i < fake.options.open_files; i++) {
		char path[64];

		snprintf(path, sizeof path, "\\Device\\HarddiskVolume3\\open\\%u.dat", i);
		fake_etw_add_open_file(UINT64_C(0xffffe00000000000) + 16 * (uint64_t)i, path);
	}
}

void fake_etw_set_rights(enum fake_etw_rights rights)
{
	fake_lock();
	fake.options.rights = rights;
	fake_unlock();
}

struct fake_etw_open fake_etw_open_things(void)
{
	struct fake_etw_open open = { .registrations = fake_providers_registered() };

	fake_lock();
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		open.sessions += fake.sessions[i].used && !fake.sessions[i].foreign;
	}
	for (size_t i = 0; i < FAKE_TRACES; i++) {
		open.traces += fake.traces[i].handle != 0;
	}
	open.handles = fake.handles;
	fake_unlock();
	return open;
}
