/* SPDX-License-Identifier: MIT */
/*
 * The data set of the benchmarks: names as a Windows machine has them, and values.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/bench/bench.h"

static void format_name(char text[BENCH_TEXT_SIZE], const char *const *names, size_t count,
			uint64_t number, char mark)
{
	const char *name = names[number % count];
	uint64_t round = number / count;

	if (round > 0) {
		snprintf(text, BENCH_TEXT_SIZE, "%s%c%" PRIu64, name, mark, round);
	} else {
		snprintf(text, BENCH_TEXT_SIZE, "%s", name);
	}
}

void bench_process(char text[BENCH_TEXT_SIZE], uint64_t number)
{
	static const char *const names[] = {
		"svchost.exe",
		"chrome.exe",
		"System",
		"explorer.exe",
		"MsMpEng.exe",
		"lsass.exe",
		"services.exe",
		"csrss.exe",
		"SearchIndexer.exe",
		"OUTLOOK.EXE",
		"Teams.exe",
		"sqlservr.exe",
		"w3wp.exe",
		"powershell.exe",
		"WmiPrvSE.exe",
		"dwm.exe",
		"RuntimeBroker.exe",
		"Code.exe",
		"msedge.exe",
		"spoolsv.exe",
		"conhost.exe",
		"taskhostw.exe",
		"winlogon.exe",
		"smss.exe",
		"C:\\Program Files\\Contoso \"Agent\"\\agent.exe",
		"vmmem",
		"fontdrvhost.exe",
		"audiodg.exe",
		"dllhost.exe",
		"ctfmon.exe",
	};

	format_name(text, names, sizeof names / sizeof names[0], number, '#');
}

void bench_provider(char text[BENCH_TEXT_SIZE], uint64_t number)
{
	static const char *const names[] = {
		"Microsoft-Windows-Kernel-Process",
		"Microsoft-Windows-Kernel-File",
		"Microsoft-Windows-Kernel-Network",
		"Microsoft-Windows-Kernel-Registry",
		"Microsoft-Windows-DNS-Client",
		"Microsoft-Windows-DotNETRuntime",
		"Microsoft-Windows-TCPIP",
		"Microsoft-Windows-WinINet",
		"Microsoft-Antimalware-Scan-Interface",
		"Microsoft-Windows-RPC",
	};

	format_name(text, names, sizeof names / sizeof names[0], number, '/');
}

uint64_t bench_value(uint64_t series)
{
	static const uint64_t bounds[] = { 10,      100,      1000,       10000,        100000,
					   1000000, 10000000, 1000000000, 1000000000000 };
	uint64_t mixed = bench_mix(series);

	return (mixed >> 8) % bounds[mixed % 9];
}
