/* SPDX-License-Identifier: MIT */
#include "self_test_flags.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/os.h"
#include "base/print.h"
#include "live/live_source.h"
#include "live/running.h"
#include "windows/crash.h"
#include "windows/kit.h"
#include "windows/self_test.h"

static bool wait_unless_stopped(void *context, uint64_t ms)
{
	(void)context;
	return os_stop_wait(ms * 1000000, NULL, NULL) == NULL;
}

/* Without --self-test.out a table, else a summary of the files. */
static bool make_report(const struct options *flags, const struct self_test_options *self_test,
			struct text *report, bool *passed, struct error *err)
{
	const struct kit_options options = { .folder = flags->self_test_folder,
					     .private_names = flags->self_test_private,
					     .service = flags->self_test_service,
					     .self_test = *self_test };

	return options.folder ? etw_here(err) && kit_run(&options, report, passed, err) :
				self_test_run(self_test, report, passed, err);
}

bool self_test_flags_fit(const struct options *flags, struct error *err)
{
	const struct {
		const char *flag;
		bool given, needs_folder;
	} rows[] = {
		{ "--self-test.out", flags->self_test_folder != NULL, false },
		{ "--self-test.system-providers", flags->self_test_system_providers, false },
		{ "--self-test.private", flags->self_test_private, true },
		{ "--self-test.service", flags->self_test_service, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].given && !flags->self_test) {
			return error_set(err, ERROR_CONFIG, "%s needs --self-test", rows[i].flag);
		}
		if (rows[i].given && rows[i].needs_folder && !flags->self_test_folder) {
			return error_set(err, ERROR_CONFIG, "%s needs --self-test.out=DIR",
					 rows[i].flag);
		}
	}
	return true;
}

bool self_test_flags_run(const struct options *flags, struct error *err)
{
	const struct activity_work_options activity = { .wait = wait_unless_stopped };
	struct activity_work *work = activity_open(&activity, err);
	char *process = work ? activity_process(err) : NULL;
	const struct self_test_options options = {
		.prepare = activity_prepare,
		.act = activity_run,
		.context = work,
		.process = process,
		.wait = wait_unless_stopped,
		.system_providers = flags->self_test_system_providers,
		.idle_ms = 3000,
		.duration_ms = 15000,
	};
	struct text report = { 0 };
	bool passed = false;
	bool done;

	log_configure(flags->log_level_set ? flags->log_level : LOG_WARNING, flags->log_format);
	if (process && os_is_terminal(stderr)) {
		fprintf(stderr, "etw_exporter: the self-test takes about half a minute\n");
	}
	done = process && os_stop_catch(err) && crash_catch(live_emergency_stop, err) &&
	       make_report(flags, &options, &report, &passed, err);
	done = done && print_text(&report, err);
	text_free(&report);
	free(process);
	activity_close(work);
	return done && (passed || error_set(err, ERROR_SYSTEM, "the self-test failed"));
}
