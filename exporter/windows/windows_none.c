/* SPDX-License-Identifier: MIT */
/* Replaces the Windows code on other systems, where functions for services fail. */
#include <stdlib.h>

#include "base/log.h"
#include "exporter/windows/crash.h"
#include "exporter/windows/service.h"

/* ---- service.h ---- */

static bool no_service(struct etw_error *err)
{
	return error_set(err, ETW_ERROR_CONFIG, "--service is for Windows");
}

bool service_install(int argc, char **argv, struct etw_error *err)
{
	(void)argc;
	(void)argv;
	return no_service(err);
}

bool service_uninstall(struct etw_error *err)
{
	return no_service(err);
}

bool service_run(int (*run)(void *context), void *context, int *status, struct etw_error *err)
{
	(void)run;
	(void)context;
	(void)status;
	return no_service(err);
}

void service_move_to(enum service_phase phase)
{
	(void)phase;
}

/* ---- crash.h ---- */

_Noreturn void crash_end(const char *reason)
{
	log_always(LOG_ERROR, "Ending at once", log_text("reason", reason));
	_Exit(CRASH_STATUS);
}

bool crash_catch(void (*last_act)(void), struct etw_error *err)
{
	(void)last_act;
	(void)err;
	return true;
}
