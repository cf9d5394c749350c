/* SPDX-License-Identifier: MIT */
/* Replaces the activity on other systems, where its functions fail. */
#include "selftest/self_test.h"

static bool no_self_test(struct etw_error *err)
{
	return error_set(err, ETW_ERROR_UNSUPPORTED,
			 "the self-test is for Windows: it counts an activity in a live session");
}

struct activity_work *activity_open(const struct activity_work_options *options,
				    struct etw_error *err)
{
	(void)options;
	no_self_test(err);
	return NULL;
}

void activity_close(struct activity_work *work)
{
	(void)work;
}

bool activity_prepare(void *context, struct etw_error *err)
{
	(void)context;
	return no_self_test(err);
}

bool activity_run(void *context, struct activity *done, struct etw_error *err)
{
	(void)context;
	(void)done;
	return no_self_test(err);
}

bool activity_child(const char *work, struct etw_error *err)
{
	(void)work;
	return no_self_test(err);
}

char *activity_process(struct etw_error *err)
{
	no_self_test(err);
	return NULL;
}
