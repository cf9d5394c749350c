/* SPDX-License-Identifier: MIT */
/* Where there are no Windows services. */
#include "windows/service.h"

static bool fail(struct error *err)
{
	return error_set(err, ERROR_CONFIG, "--service is for Windows");
}

bool service_install(int argc, char **argv, struct error *err)
{
	(void)argc;
	(void)argv;
	return fail(err);
}

bool service_uninstall(struct error *err)
{
	return fail(err);
}

bool service_run(int (*run)(void *context), void *context, int *status, struct error *err)
{
	(void)run;
	(void)context;
	(void)status;
	return fail(err);
}

void service_starting(void)
{
}

void service_serving(void)
{
}

void service_stopping(void)
{
}
