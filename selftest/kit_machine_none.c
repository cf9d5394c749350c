/* SPDX-License-Identifier: MIT */
/* Replaces kit_machine_win32.c on other systems, which have none of these facts. */
#include "selftest/kit_machine.h"

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
