/* SPDX-License-Identifier: MIT */
/* Where there are no services, no event log and no ETW: what is known of Windows alone fails. */
#include "windows/activity.h"
#include "windows/event_log.h"
#include "windows/service.h"

/* ---- service.h ---- */

static bool no_service(struct error *err)
{
	return error_set(err, ERROR_CONFIG, "--service is for Windows");
}

bool service_install(int argc, char **argv, struct error *err)
{
	(void)argc;
	(void)argv;
	return no_service(err);
}

bool service_uninstall(struct error *err)
{
	return no_service(err);
}

bool service_run(int (*run)(void *context), void *context, int *status, struct error *err)
{
	(void)run;
	(void)context;
	(void)status;
	return no_service(err);
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

/* ---- event_log.h ---- */

static bool no_event_log(struct error *err)
{
	return error_set(err, ERROR_UNSUPPORTED, "the event log is that of Windows");
}

bool event_log_register(const char *program, struct error *err)
{
	(void)program;
	return no_event_log(err);
}

bool event_log_unregister(struct error *err)
{
	return no_event_log(err);
}

bool event_log_open(struct error *err)
{
	return no_event_log(err);
}

void event_log_close(void)
{
}

/* ---- activity.h ---- */

bool activity_run(void *context, struct activity *done, struct error *err)
{
	(void)context;
	(void)done;
	return error_set(err, ERROR_UNSUPPORTED, "the self-test needs Windows");
}

char *activity_process(void)
{
	static const char name[] = "etw_exporter";

	return text_duplicate(name, sizeof name - 1);
}
