/* SPDX-License-Identifier: MIT */
/*
 * Kernel events by system provider: which flags they stand for, and what becomes of the session
 * where Windows lacks or refuses them. Against tests/fake_etw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/session.h>

#include "lib/source/provider_names.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

static struct etw_live_options session_with(struct run *run, enum etw_live_logger logger,
					    uint32_t flags)
{
	struct etw_live_options options = run_private_session(run);

	options.logger = logger;
	options.kernel_flags = flags;
	return options;
}

static void open_with(struct run *run, enum etw_live_logger logger, uint32_t flags)
{
	struct etw_live_options options = session_with(run, logger, flags);

	run_begin(run);
	run_open(run, &options);
}

/* Some flags are set when the session is consumed. */
static void start_with(struct run *run, uint32_t flags)
{
	struct etw_live_options options = session_with(run, ETW_LIVE_SYSTEM_PROVIDERS, flags);

	run_begin(run);
	run_start_and_wait(run, &options);
}

/* Which cannot be opened. */
static void assert_refused(enum etw_live_logger logger, const char *sentence)
{
	struct run run;
	struct etw_live_options options = session_with(&run, logger, ETW_KERNEL_FLAG_PROCESS);
	struct etw_error err;

	run_begin(&run);
	run.source = etw_source_open_live(&options, &err);
	assert_null(run.source);
	assert_string_equal(err.text, sentence);
	run_end(&run);
}

static int reset_before_windows_11(void **state)
{
	static const struct fake_etw_options windows_10 = { .os_build = 19045 };

	(void)state;
	fake_etw_reset(&windows_10);
	return 0;
}

/* One event that each flag alone brings: class and opcode by docs/kernel-events.csv. */
static const struct {
	const char *name;
	uint32_t flag;
	uint32_t guid_first;
	uint8_t opcode;
	bool by_provider;
} flags[] = {
	{ "PROCESS", ETW_KERNEL_FLAG_PROCESS, 0x3d6fa8d0, 1, true },
	{ "THREAD", ETW_KERNEL_FLAG_THREAD, 0x3d6fa8d1, 1, true },
	{ "IMAGE_LOAD", ETW_KERNEL_FLAG_IMAGE_LOAD, 0x2cb15d1d, 10, true },
	{ "DISK_IO", ETW_KERNEL_FLAG_DISK_IO, 0x3d6fa8d4, 10, true },
	{ "DISK_FILE_IO", ETW_KERNEL_FLAG_DISK_FILE_IO, 0x90cbdc39, 36, true },
	{ "FILE_IO", ETW_KERNEL_FLAG_FILE_IO, 0x90cbdc39, 76, true },
	{ "FILE_IO_INIT", ETW_KERNEL_FLAG_FILE_IO_INIT, 0x90cbdc39, 68, false },
	{ "NETWORK_TCPIP", ETW_KERNEL_FLAG_NETWORK_TCPIP, 0x9a280ac0, 10, true },
	{ "MEMORY_HARD_FAULTS", ETW_KERNEL_FLAG_MEMORY_HARD_FAULTS, 0x3d6fa8d3, 32, true },
	{ "MEMORY_PAGE_FAULTS", ETW_KERNEL_FLAG_MEMORY_PAGE_FAULTS, 0x3d6fa8d3, 11, true },
	{ "VIRTUAL_ALLOC", ETW_KERNEL_FLAG_VIRTUAL_ALLOC, 0x3d6fa8d3, 98, true },
	{ "VAMAP", ETW_KERNEL_FLAG_VAMAP, 0x90cbdc39, 37, true },
	{ "PROFILE", ETW_KERNEL_FLAG_PROFILE, 0xce1dbfb4, 46, true },
	{ "CSWITCH", ETW_KERNEL_FLAG_CSWITCH, 0x3d6fa8d1, 36, true },
	{ "DISPATCHER", ETW_KERNEL_FLAG_DISPATCHER, 0x3d6fa8d1, 50, true },
	{ "DPC", ETW_KERNEL_FLAG_DPC, 0xce1dbfb4, 68, true },
	{ "INTERRUPT", ETW_KERNEL_FLAG_INTERRUPT, 0xce1dbfb4, 67, true },
	{ "REGISTRY", ETW_KERNEL_FLAG_REGISTRY, 0xae53722e, 10, true },
};

enum { FLAGS = sizeof flags / sizeof flags[0] };

/* Classes by the first part of their GUID. */
static GUID class_of(uint32_t first)
{
	static const GUID classes[] = {
		{ 0x2cb15d1d, 0x5fc1, 0x11d2, { 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18 } },
		{ 0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 } },
		{ 0x9a280ac0, 0xc8e0, 0x11d1, { 0x84, 0xe2, 0x00, 0xc0, 0x4f, 0xb9, 0x98, 0xa2 } },
		{ 0xce1dbfb4, 0x137e, 0x4da6, { 0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc } },
		{ 0xae53722e, 0xc863, 0x11d2, { 0x86, 0x59, 0x00, 0xc0, 0x4f, 0xa3, 0x21, 0xa1 } },
	};
	GUID disk_and_others = {
		first, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};

	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
		if (classes[i].Data1 == first) {
			return classes[i];
		}
	}
	return disk_and_others;
}

static bool arrives(size_t index)
{
	struct fake_etw_event event = { .provider = class_of(flags[index].guid_first),
					.descriptor = { .Opcode = flags[index].opcode },
					.classic = true };

	return fake_etw_emit(&event) == 1;
}

static void every_flag_but_one_has_its_system_provider(void **state)
{
	(void)state;
	for (size_t i = 0; i < ETW_KERNEL_FLAG_COUNT; i++) {
		bool known = false;

		for (size_t j = 0; j < FLAGS; j++) {
			known = known || flags[j].flag == etw_kernel_flag_values[i];
		}
		assert_true(known); /* the table above is complete */
	}
	for (size_t i = 0; i < FLAGS; i++) {
		struct run run;
		struct fake_etw_session session;

		print_message("  %s\n", flags[i].name);
		start_with(&run, flags[i].flag);
		WAIT_UNTIL(arrives(i));
		assert_true(fake_etw_session("etw_test", &session));
		assert_int_equal(session.flags, flags[i].by_provider ? 0 : flags[i].flag);
		assert_int_equal(session.providers, flags[i].by_provider ? 1 : 0);
		for (size_t j = 0; j < FLAGS; j++) {
			assert_int_equal(arrives(j), i == j);
		}
		run_stop(&run);
		run_end(&run);
	}
}

static void one_provider_is_enabled_with_all_its_keywords(void **state)
{
	uint32_t all = 0;
	struct fake_etw_session session;
	struct run run;

	(void)state;
	for (size_t i = 0; i < FLAGS; i++) {
		all |= flags[i].flag;
	}
	start_with(&run, all);
	for (size_t i = 0; i < FLAGS; i++) {
		WAIT_UNTIL(arrives(i));
	}
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_FILE_IO_INIT);
	assert_int_equal(session.providers, 7);
	assert_string_equal(run_sentence(&run, ETW_SESSION_STARTED),
			    "started, with system providers");
	run_stop(&run);
	run_end(&run);
}

static void the_logger_decides_with_the_build(void **state)
{
	static const struct {
		const char *name;
		enum etw_live_logger logger;
		uint32_t os_build;
		bool providers;
	} cases[] = {
		{ "system_providers, Server 2022", ETW_LIVE_SYSTEM_PROVIDERS, 20348, true },
		{ "system_providers, Windows 11", ETW_LIVE_SYSTEM_PROVIDERS, 22000, true },
		{ "private, the last build without", ETW_LIVE_PRIVATE, 20347, false },
		{ "private, Windows 11", ETW_LIVE_PRIVATE, 22000, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct fake_etw_options machine = { .os_build = cases[i].os_build };
		struct fake_etw_session session;
		struct run run;

		print_message("  %s\n", cases[i].name);
		fake_etw_reset(&machine);
		open_with(&run, cases[i].logger, ETW_KERNEL_FLAG_PROCESS);
		assert_true(fake_etw_session("etw_test", &session));
		assert_int_equal(session.flags, cases[i].providers ? 0 : ETW_KERNEL_FLAG_PROCESS);
		assert_int_equal(session.providers, cases[i].providers ? 1 : 0);
		assert_true(arrives(0));
		assert_string_equal(etw_source_facts(run.source)->type, "system_logger");
		run_end(&run);
	}
}

/* On a Windows that has them too, and in the session that runs without any configuration. */
static void system_providers_are_used_by_choice_only(void **state)
{
	static const struct {
		const char *config, *session;
		bool providers;
	} cases[] = {
		{ "", "etw_exporter", false },
		{ "sessions: { one: {} }\n", "one", false },
		{ "sessions: { one: { logger: auto } }\n", "one", false },
		{ "sessions: { one: { logger: private } }\n", "one", false },
		{ "sessions: { one: { logger: system_providers } }\n", "one", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct fake_etw_session session;
		struct side side;

		print_message("  %s", cases[i].config);
		begin_live(&side, cases[i].config); /* the fake's Windows 11 */
		open_live(&side);
		assert_true(fake_etw_session(cases[i].session, &session));
		assert_int_equal((session.flags & ETW_KERNEL_FLAG_PROCESS) == 0,
				 cases[i].providers);
		assert_true(arrives(0));
		end_live(&side);
	}
}

static void asking_for_them_on_older_windows_is_one_error(void **state)
{
	(void)state;
	assert_refused(ETW_LIVE_SYSTEM_PROVIDERS,
		       "session etw_test: system providers need Windows 11 or Server 2022 (build "
		       "20348), and this is build 19045; use logger: private");
}

static void a_refused_one_is_replaced_by_its_flags(void **state)
{
	struct run run;
	struct fake_etw_session session;

	(void)state;
	fake_etw_fail("EnableTraceEx2", ERROR_ACCESS_DENIED, 0);
	open_with(&run, ETW_LIVE_SYSTEM_PROVIDERS,
		  ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_DISK_IO);
	assert_string_equal(run_sentence(&run, ETW_SESSION_PROVIDER_FAILED),
			    "system provider {151f55dc-467d-471f-83b5-5f889d46ff66}: access is "
			    "denied (error 5); its flags are set instead");
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_PROCESS);
	assert_int_equal(session.providers, 1); /* that of the disks */
	assert_true(arrives(0));
	assert_true(arrives(3));
	run_end(&run);
}

static void without_provider_and_flags_the_session_does_not_start(void **state)
{
	(void)state;
	fake_etw_fail("EnableTraceEx2", ERROR_ACCESS_DENIED, 0);
	fake_etw_fail("TraceSetInformation", ERROR_ACCESS_DENIED, 0);
	assert_refused(ETW_LIVE_SYSTEM_PROVIDERS,
		       "session etw_test: access is denied (error 5): run as administrator; "
		       "if you do, look whether the account SYSTEM may write to "
		       "%SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_flag_but_one_has_its_system_provider, run_reset),
		cmocka_unit_test_setup(one_provider_is_enabled_with_all_its_keywords, run_reset),
		cmocka_unit_test_setup(the_logger_decides_with_the_build, run_reset),
		cmocka_unit_test_setup(system_providers_are_used_by_choice_only, run_reset),
		cmocka_unit_test_setup(asking_for_them_on_older_windows_is_one_error,
				       reset_before_windows_11),
		cmocka_unit_test_setup(a_refused_one_is_replaced_by_its_flags, run_reset),
		cmocka_unit_test_setup(without_provider_and_flags_the_session_does_not_start,
				       run_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
