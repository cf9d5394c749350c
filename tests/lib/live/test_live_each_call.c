/* SPDX-License-Identifier: MIT */
/*
 * Each function of Windows that a live session calls fails once, with each error that its page
 * documents (Microsoft Learn) and some that others return, at its first calls. A session that
 * cannot be opened says why. One that runs goes on, or starts again, and delivers what comes then.
 * Nothing is left open.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/session.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"

/* Without those that end something, such as CloseTrace(): after a failure of them it stays. */
static const char *const calls[] = {
	"StartTraceW",
	"QueryAllTracesW",
	"EnableTraceEx2",
	"TraceSetInformation",
	"TraceQueryInformation",
	"EnumerateTraceGuidsEx",
	"OpenTraceW",
	"ProcessTrace",
	"CreateToolhelp32Snapshot",
	"Process32FirstW",
	"Thread32First",
	"QueryDosDeviceW",
	"GetLogicalDrives",
	"OpenProcessToken",
	"LookupPrivilegeValueW",
	"AdjustTokenPrivileges",
	"FindFirstVolumeW",
	"GetVolumePathNamesForVolumeNameW",
	"GetVolumeInformationW",
	"CreateFileW",
	"DeviceIoControl",
	"OpenSCManagerW",
	"EnumServicesStatusExW",
	"I_QueryTagInformation",
	"RegGetValueW",
	"NtQuerySystemInformation",
};

static const uint32_t errors[] = {
	ERROR_ACCESS_DENIED, ERROR_INVALID_HANDLE,      ERROR_NOT_ENOUGH_MEMORY,
	ERROR_BAD_LENGTH,    ERROR_INVALID_PARAMETER,   ERROR_INVALID_FUNCTION,
	ERROR_DISK_FULL,     ERROR_ALREADY_EXISTS,      ERROR_BAD_PATHNAME,
	ERROR_MORE_DATA,     ERROR_NO_SYSTEM_RESOURCES, ERROR_TIMEOUT,
	ERROR_CANCELLED,     ERROR_NOT_SUPPORTED,       ERROR_WMI_INSTANCE_NOT_FOUND,
};

enum {
	CALLS = sizeof calls / sizeof calls[0],
	ERRORS = sizeof errors / sizeof errors[0],
	FIRST = 2
};

static struct etw_provider_spec provider;

static bool delivers(struct run *run)
{
	uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);

	/* What comes while a session starts again is not for it. */
	do {
		emit_process_start(8);
		fake_etw_flush(NULL);
		Sleep(1);
	} while (run->events == 0 && os_monotonic_ns() < until);
	return run_wait(run, &run->events, 1);
}

static void fail_once(const char *call, uint32_t error, unsigned after)
{
	struct etw_error err = { 0 };
	struct run run;

	fake_etw_reset(NULL);
	fake_etw_add_process(4, 0, "System");
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	fake_etw_attach_disk(0, "Contoso", "Disk", 512);
	fake_etw_add_service("Service", 4, 1);
	run_begin(&run);
	run.options.kernel_flags |= ETW_KERNEL_FLAG_FILE_IO_INIT | ETW_KERNEL_FLAG_DISK_IO;
	run.options.providers = &provider;
	run.options.provider_count = 1;
	fake_etw_fail(call, error, after);
	run.source = etw_source_open_live(&run.options, &err);
	if (!run.source) {
		assert_string_not_equal(err.text, "");
		fake_etw_fail_never(call);
		run_open(&run, &run.options); /* nothing is in the way */
	}
	assert_true(os_thread_start(&run.thread, run_source_thread, &run, NULL));
	assert_true(delivers(&run));
	run_stop(&run);
	run_end(&run);
}

static void a_call_that_fails_once_ends_nothing(void **state)
{
	(void)state;
	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	for (size_t call = 0; call < CALLS; call++) {
		print_message("  %s\n", calls[call]);
		for (size_t error = 0; error < ERRORS; error++) {
			for (unsigned after = 0; after < FIRST; after++) {
				fail_once(calls[call], errors[error], after);
			}
		}
	}
	etw_provider_spec_done(&provider);
	print_message("%d calls, each with %d errors, at its first %d calls\n", (int)CALLS,
		      (int)ERRORS, (int)FIRST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_call_that_fails_once_ends_nothing, run_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
