/* SPDX-License-Identifier: MIT */
/*
 * The sample's server as the recording finds and leaves it: its processes, its files, its disks.
 */
#include "tests/support/sample_scenario.h"

#include "tests/support/sample_remarks.h"

#define SERVICE_SID      "S-1-5-20"
#define LOCAL_SYSTEM_SID "S-1-5-18"
#define POOL_SID         "S-1-5-82-3006700770-424185619-1745488364-794895919-4004696415"
#define SQL_SID          "S-1-5-80-3880718306-3832830129-1677859214-2598158968-1052248003"
#define SYSTEM32         "\\Device\\HarddiskVolume3\\Windows\\System32"

#define NO_SESSION UINT32_MAX

static const struct process_type idle = { "Idle", "",         LOCAL_SYSTEM_SID,
					  "",     NO_SESSION, SAMPLE_PROCESSORS,
					  0,      0 };
static const struct process_type system_type = { "System", "", LOCAL_SYSTEM_SID, "", NO_SESSION, 12,
						 0,        0 };
static const struct process_type registry = { "Registry", "", LOCAL_SYSTEM_SID, "", NO_SESSION, 3,
					      0,          0 };
static const struct process_type smss = { "smss.exe",
					  "\\SystemRoot\\System32\\smss.exe",
					  LOCAL_SYSTEM_SID,
					  SYSTEM32,
					  NO_SESSION,
					  2,
					  0,
					  0x28000 };
static const struct process_type csrss = {
	"csrss.exe",
	"%SystemRoot%\\system32\\csrss.exe ObjectDirectory=\\Windows SharedSection=1024,20480,768",
	LOCAL_SYSTEM_SID,
	SYSTEM32,
	0,
	8,
	0,
	0x7000
};
static const struct process_type wininit = {
	"wininit.exe", "wininit.exe", LOCAL_SYSTEM_SID, SYSTEM32, 0, 2, 0, 0x63000
};
static const struct process_type services = {
	"services.exe", "C:\\Windows\\system32\\services.exe", LOCAL_SYSTEM_SID, SYSTEM32, 0, 6, 0,
	0xa9000
};
static const struct process_type lsass = {
	"lsass.exe", "C:\\Windows\\system32\\lsass.exe", LOCAL_SYSTEM_SID, SYSTEM32, 0, 9, 0, 0xf000
};
static const struct process_type svchost_system = {
	"svchost.exe",
	"C:\\Windows\\system32\\svchost.exe -k netsvcs -p -s Schedule",
	LOCAL_SYSTEM_SID,
	SYSTEM32,
	0,
	10,
	0,
	0xe000
};
static const struct process_type svchost_network = {
	"svchost.exe",
	"C:\\Windows\\system32\\svchost.exe -k NetworkService -p -s Dnscache",
	SERVICE_SID,
	SYSTEM32,
	0,
	7,
	0,
	0xe000
};
static const struct process_type spoolsv = {
	"spoolsv.exe", "C:\\Windows\\System32\\spoolsv.exe", LOCAL_SYSTEM_SID, SYSTEM32, 0, 6, 0,
	0xc2000
};
static const struct process_type msmpeng = {
	"MsMpEng.exe",
	"\"C:\\ProgramData\\Microsoft\\Windows Defender\\platform\\4.18.24040.4-0\\MsMpEng.exe\"",
	LOCAL_SYSTEM_SID,
	"\\Device\\HarddiskVolume3\\ProgramData\\Microsoft\\Windows Defender\\platform\\4.18.24040.4-0",
	0,
	12,
	0,
	0x25000
};
static const struct process_type sqlservr = {
	"sqlservr.exe",
	"\"C:\\Program Files\\Microsoft SQL Server\\MSSQL15.MSSQLSERVER\\MSSQL\\Binn\\sqlservr.exe\" -sMSSQLSERVER",
	SQL_SID,
	"\\Device\\HarddiskVolume3\\Program Files\\Microsoft SQL Server\\MSSQL15.MSSQLSERVER\\MSSQL\\Binn",
	0,
	12,
	0,
	0x9d000
};
static const struct process_type w3wp = {
	"w3wp.exe",
	"c:\\windows\\system32\\inetsrv\\w3wp.exe -ap \"shop\" -v \"v4.0\" -l \"webengine4.dll\"",
	POOL_SID,
	SYSTEM32 "\\inetsrv",
	0,
	9,
	11,
	0xa000
};

static void open_files(struct machine *m, struct scenario *s)
{
	static const char *const pages[PAGES] = {
		"\\inetpub\\shop\\default.aspx",        "\\inetpub\\shop\\basket.aspx",
		"\\inetpub\\shop\\web.config",          "\\inetpub\\shop\\bin\\Contoso.Shop.dll",
		"\\inetpub\\shop\\images\\sprites.png", "\\inetpub\\shop\\scripts\\app.js"
	};
	static const char *const libraries[LIBRARIES] = {
		"\\Windows\\System32\\ntdll.dll",
		"\\Windows\\System32\\KernelBase.dll",
		"\\Windows\\System32\\combase.dll",
		"\\Windows\\System32\\inetsrv\\w3core.dll",
		"\\Windows\\System32\\crypt32.dll",
		"\\Windows\\Microsoft.NET\\Framework64\\v4.0.30319\\clr.dll",
		"\\Windows\\System32\\config\\SYSTEM",
		"\\Windows\\System32\\winevt\\Logs\\Security.evtx",
	};

	for (size_t i = 0; i < PAGES; i++) {
		s->pages[i] = file_existing(m, 0, pages[i], 4096 * (i * i + 2));
	}
	for (size_t i = 0; i < LIBRARIES; i++) {
		s->libraries[i] = file_existing(m, 0, libraries[i], 300000 * (i + 2));
	}
	s->web_log =
		file_existing(m, 0, "\\inetpub\\logs\\LogFiles\\W3SVC1\\u_ex240514.log", 1843200);
	s->directory = file_existing(m, 0, "\\Windows\\System32", 0);
	s->database_data = file_existing(m, 1, "\\MSSQL\\Data\\Shop.mdf", UINT64_C(21474836480));
	s->database_log = file_existing(m, 1, "\\MSSQL\\Log\\Shop_log.ldf", UINT64_C(4294967296));
	s->database_object = m->next_object += 0x2a0;
	s->web_log_object = m->next_object += 0x150;
	s->database_port = 49688;
}

static void start_processes(struct machine *m, struct scenario *s)
{
	process_existing(m, &idle, 0, 0);
	s->system = process_existing(m, &system_type, 4, 0);
	process_existing(m, &registry, 104, 4);
	process_existing(m, &smss, 368, 4);
	process_existing(m, &csrss, 492, 480);
	process_existing(m, &wininit, 572, 480);
	process_existing(m, &services, 708, 572);
	s->logon = process_existing(m, &lsass, 756, 572);
	s->scheduler = process_existing(m, &svchost_system, 1044, 708);
	s->names = process_existing(m, &svchost_network, 1188, 708);
	process_existing(m, &spoolsv, 2140, 708);
	s->scanner = process_existing(m, &msmpeng, 2304, 708);
	s->database = process_existing(m, &sqlservr, 2688, 708);
	s->web = process_existing(m, &w3wp, 3920, 1044);
}

static void configuration(struct machine *m)
{
	const struct kernel_cpu cpu = { 2394, SAMPLE_PROCESSORS, 16384, "SHOP01",
					"contoso.example" };
	const struct kernel_physical_disk disks[SAMPLE_DISKS] = {
		{ 0, 512, 15566, "Samsung SSD 883 DCT 240GB", 3, "C" },
		{ 1, 512, 121601, "SEAGATE ST1000NX0313", 1, "" }
	};
	const struct kernel_logical_disk volumes[SAMPLE_DISKS] = {
		{ 608174080, 127430295552, 0, 3, "C:", "NTFS", 31110912, 12288417 },
		{ 16777216, 1000186310656, 1, 1, "D:", "NTFS", 244186110, 87205511 }
	};
	const struct kernel_nic nic = { 0x00155d040a11, 6, "Intel(R) Ethernet Connection X722",
					"2001:db8:14:4::17;10.20.4.17",
					"10.20.0.10;2001:db8:14:4::53" };

	event_system_cpu(&m->events, &cpu);
	let_time_pass(m, 4000);
	for (size_t i = 0; i < SAMPLE_DISKS; i++) {
		event_system_physical_disk(&m->events, &disks[i]);
		let_time_pass(m, 4000);
		event_system_logical_disk(&m->events, &volumes[i]);
		let_time_pass(m, 4000);
	}
	event_system_nic(&m->events, &nic);
	let_time_pass(m, 4000);
}

static void volume_mappings(struct machine *m)
{
	static const char *const mappings[][2] = { { "\\??\\", "" },
						   { "\\SystemRoot\\", "C:\\Windows\\" },
						   { "\\Device\\Mup\\", "\\\\" },
						   { "\\Device\\HarddiskVolume3\\", "C:\\" },
						   { "\\Device\\HarddiskVolume5\\", "D:\\" } };

	for (size_t i = 0; i < sizeof mappings / sizeof mappings[0]; i++) {
		event_volume_mapping(&m->events, mappings[i][0], mappings[i][1]);
		let_time_pass(m, 500);
		m->totals->sys_config_records++;
	}
	event_build_info(&m->events, "17763.1.amd64fre.rs5_release.180914-1434",
			 "Windows Server 2019 Standard");
	m->totals->sys_config_records++;
}

/* Flags of the session: PROCESS THREAD IMAGE CSWITCH DPC INTERRUPT DISPATCHER DISK_IO DISK_FILE_IO
 * PAGE_FAULTS HARD_FAULTS VIRTUAL_ALLOC VAMAP NETWORK REGISTRY PROFILE FILE_IO(_INIT) */
#define GROUPS_1 UINT32_C(0x0703fb77)

void cast_enter(struct machine *m)
{
	struct scenario *s = m->scenario;

	start_processes(m, s);
	open_files(m, s);
	m->now_ns = 2 * MS;
	enter_thread(m, s->scheduler, s->scheduler->threads[1]);
	event_trace_extension(&m->events, 5, GROUPS_1, 2, false);
	let_time_pass(m, 9000);
	configuration(m);
	volume_mappings(m);
	processes_rundown(m, OP_DC_START);
	drivers_rundown(m, OP_DC_START);
	event_trace_rundown_complete(&m->events);
	leave_thread(m, MS);
}

struct process *cast_start_web(struct machine *m, struct process *parent)
{
	return process_start(m, &w3wp, parent);
}

void cast_leave(struct machine *m)
{
	struct scenario *s = m->scenario;

	enter_thread(m, s->scheduler, s->scheduler->threads[1]);
	event_trace_extension(&m->events, 32, GROUPS_1, 2, false);
	let_time_pass(m, 5000);
	files_rundown(m);
	processes_rundown(m, OP_DC_STOP);
	guests_rundown(m);
	drivers_rundown(m, OP_DC_STOP);
	event_trace_extension(&m->events, 5, 0, 0, false);
	let_time_pass(m, 1000);
	event_trace_rundown_complete(&m->events);
}
