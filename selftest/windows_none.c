/* SPDX-License-Identifier: MIT */
/* Replaces activity_win32.c and kit_machine_win32.c on other systems, where all of it fails. */
#include "selftest/kit_machine.h"
#include "selftest/self_test.h"

/* ---- the machine ---- */

static bool only_windows(struct etw_error *err)
{
	return error_set(err, ETW_ERROR_UNSUPPORTED, "only Windows has this");
}

void kit_machine_facts(struct etw_text *csv)
{
	(void)csv;
}

void kit_machine_names(void (*each)(void *context, const char *name, const char *what),
		       void *context)
{
	(void)each;
	(void)context;
}

bool kit_without_rights(void (*run)(void *context), void *context, struct etw_error *err)
{
	(void)run;
	(void)context;
	return only_windows(err);
}

const char *kit_counter_name(enum kit_counter counter)
{
	(void)counter;
	return "";
}

bool kit_counters_read(struct kit_counter_value values[KIT_COUNTERS], struct etw_error *err)
{
	(void)values;
	return only_windows(err);
}

bool kit_child(const char *program, const char *const *arguments, uint32_t ms,
	       struct etw_error *err)
{
	(void)program;
	(void)arguments;
	(void)ms;
	return only_windows(err);
}

bool kit_service_cycle(const char *config_file, struct etw_text *csv, struct etw_error *err)
{
	(void)config_file;
	(void)csv;
	return only_windows(err);
}

/* ---- the activity ---- */

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
