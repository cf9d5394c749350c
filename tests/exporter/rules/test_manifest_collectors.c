/* SPDX-License-Identifier: MIT */
/*
 * The shipped collectors of providers that are known from their manifests alone
 * (repnz/etw-providers-docs, Manifests-Win10-18990): the layouts are those of the manifests, the
 * bytes are made up. Whether Windows writes the events so was never seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

enum { MS = RUN_FREQUENCY / 1000 };

#define FIELD(name, type) "<data name='" name "' inType='win:" type "'/>"
#define TEXT(name)                     \
	FIELD(name "Length", "UInt16") \
	"<data name='" name "' inType='win:UnicodeString' length='" name "Length'/>"
#define TEMPLATE(id, inside) "<template tid='" id "'>" inside "</template>"

/* ---- SMB server ---- */

#define SMB "d48ce617-33a2-4bc3-a5c7-11aa4f29619e"

#define SMB_HEAD                                                                                   \
	FIELD("SessionId", "UInt64")                                                               \
	FIELD("ProcessId", "UInt32")                                                               \
	FIELD("TreeId", "UInt32")                                                                  \
	FIELD("MessageId", "UInt64") FIELD("MasterMessageId", "UInt64") FIELD("Command", "UInt16") \
		FIELD("CreditsGranted", "UInt16") FIELD("Flags", "UInt32") FIELD(                  \
			"Status", "UInt32") FIELD("ProcessingHits", "UInt32")                      \
			FIELD("ProcessingCycles", "UInt64") FIELD("QueueHits", "UInt32") FIELD(    \
				"QueueCycles", "UInt64") FIELD("FileSystemFastHits", "UInt32")     \
				FIELD("FileSystemFastCycles",                                      \
				      "UInt64") FIELD("FileSystemSlowHits", "UInt32")              \
					FIELD("FileSystemSlowCycles",                              \
					      "UInt64") FIELD("TransportFastHits", "UInt32")       \
						FIELD("TransportFastCycles", "UInt64") FIELD(      \
							"TransportSlowHits", "UInt32")             \
							FIELD("TransportSlowCycles", "UInt64")     \
								FIELD("SecurityHits", "UInt32")    \
									FIELD("SecurityCycles",    \
									      "UInt64")
#define SMB_TAIL                        \
	FIELD("ConnectionGUID", "GUID") \
	FIELD("SessionGUID", "GUID") FIELD("TreeConnectGUID", "GUID") FIELD("FileGUID", "GUID")

static const char smb_events[] =
	"<events><event value='108' version='2' symbol='Create' template='create'/>"
	"<event value='111' version='2' symbol='Read' template='read'/>"
	"<event value='112' version='2' symbol='Write' template='write'/>"
	"<event value='600' symbol='TreeConnect' template='tree'/></events><templates>" TEMPLATE(
		"create",
		SMB_HEAD FIELD("OplockLevel", "UInt8") FIELD("CreateAction", "UInt32")
			FIELD("CreationTime", "UInt64") FIELD("LastAccessTime", "UInt64") FIELD(
				"LastWriteTime", "UInt64") FIELD("LastChangeTime", "UInt64")
				FIELD("AllocationSize", "UInt64") FIELD("EndOfFile", "UInt64")
					FIELD("FileAttributes", "UInt32") FIELD("FileId", "UInt64")
						FIELD("CreateContextsCount",
						      "UInt32") FIELD("LeaseKey", "GUID")
							FIELD("LeaseLevel", "UInt32") SMB_TAIL)
		TEMPLATE("read", SMB_HEAD FIELD("LengthRead", "UInt32") SMB_TAIL) TEMPLATE(
			"write",
			SMB_HEAD FIELD("LengthWritten", "UInt32") FIELD("Remaining", "UInt32")
				FIELD("WriteChannelInfoOffset", "UInt16")
					FIELD("WriteChannelInfoLength", "UInt16") SMB_TAIL)
			TEMPLATE("tree",
				 FIELD("TreeConnectGUID", "GUID") FIELD("SessionGUID", "GUID")
					 FIELD("ConnectionGUID", "GUID") FIELD("ShareGUID", "GUID")
						 TEXT("ShareName") TEXT("ScopeName")
							 FIELD("ShareProperties",
							       "UInt32")) "</templates>";

/* A GUID of zeros with this last byte. */
static void guid(struct rule_run *run, uint8_t last)
{
	etw_payload_zeros(&run->payload, 15);
	etw_payload_u8(&run->payload, last);
}

static void counted_text(struct rule_run *run, const char *text)
{
	etw_payload_u16(&run->payload, (uint16_t)strlen(text)); /* in characters */
	etw_payload_utf16(&run->payload, text, strlen(text), SIZE_MAX);
}

static void tree_connect(struct rule_run *run, uint8_t tree, const char *share)
{
	rule_run_other(run, SMB, 600);
	guid(run, tree);
	guid(run, 101);
	guid(run, 102);
	guid(run, 103);
	counted_text(run, share);
	counted_text(run, "*");
	etw_payload_u32(&run->payload, 0);
	rule_run_feed(run);
}

static void response(struct rule_run *run, uint16_t id, uint8_t tree, uint32_t status,
		     uint32_t bytes)
{
	rule_run_other(run, SMB, id);
	run->record.version = 2;
	etw_payload_zeros(&run->payload, 8 + 4 + 4 + 8 + 8 + 2 + 2 + 4);
	etw_payload_u32(&run->payload, status);
	etw_payload_zeros(&run->payload, 7 * (4 + 8));
	if (id == 108) {
		etw_payload_zeros(&run->payload, 1 + 4 + 6 * 8 + 4 + 8 + 4 + 16 + 4);
	} else {
		etw_payload_u32(&run->payload, bytes);
		etw_payload_zeros(&run->payload, id == 112 ? 4 + 2 + 2 : 0);
	}
	guid(run, 102);
	guid(run, 101);
	guid(run, tree);
	guid(run, 200);
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
}

static void opens_and_bytes_of_smb_clients_count_by_share(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "smb_server");
	rule_run_announce(&run, SMB, "Microsoft-Windows-SMBServer", smb_events);
	run.record.raw_time = MS;
	tree_connect(&run, 1, "\\\\*\\Data");
	tree_connect(&run, 2, "Home");
	tree_connect(&run, 3, "\\\\FS1\\data");
	for (unsigned i = 0; i < 3; i++) {
		response(&run, 108, 1, 0, 0);
	}
	response(&run, 111, 1, 0, 4096);
	response(&run, 111, 1, 0, 100);
	response(&run, 112, 2, 0, 7);
	response(&run, 111, 3, 0, 4);
	/* A client that was connected before. */
	response(&run, 112, 9, 0, 65536);
	rule_run_expect(&run, "etw_smb_server_tree_connects_total{share=\"data\"} 2");
	rule_run_expect(&run, "etw_smb_server_tree_connects_total{share=\"home\"} 1");
	rule_run_expect(&run, "etw_smb_server_opens_total{share=\"data\"} 3");
	rule_run_expect(&run, "etw_smb_server_read_bytes_total{share=\"data\"} 4200");
	rule_run_expect(&run, "etw_smb_server_written_bytes_total{share=\"home\"} 7");
	rule_run_expect(&run, "etw_smb_server_written_bytes_total{share=\"_unknown\"} 65536");
	rule_run_close(&run);
}

/* ---- Defender ---- */

#define DEFENDER "0a002690-3839-4e3a-b3b6-96d8df868d99"

static const char defender_events[] =
	"<events><event value='5' version='1' symbol='Start' template='scan'/>"
	"<event value='6' version='1' symbol='Stop' template='scan'/></events><templates>" TEMPLATE(
		"scan", FIELD("Id", "UInt32") FIELD("Path", "UnicodeString")
				FIELD("Process", "UnicodeString") FIELD("Reason", "UInt32")
					FIELD("ThreadTime", "FILETIME")
						FIELD("PID", "UInt32")) "</templates>";

static void scan(struct rule_run *run, int64_t time, uint16_t event, uint32_t id,
		 const char *process)
{
	rule_run_other(run, DEFENDER, event);
	run->record.version = 1;
	run->record.raw_time = time;
	run->record.process_id = 40;
	etw_payload_u32(&run->payload, id);
	etw_payload_wstring(&run->payload, "C:\\Data\\a.docx");
	etw_payload_wstring(&run->payload, process);
	etw_payload_u32(&run->payload, 1);
	etw_payload_u64(&run->payload, 0);
	etw_payload_u32(&run->payload, 8);
	rule_run_feed(run);
}

static void scans_count_for_the_process_that_uses_the_file(void **state)
{
	static const char word[] = "\\Device\\HarddiskVolume3\\Office\\WINWORD.EXE";
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "defender");
	rule_run_announce(&run, DEFENDER, "Microsoft-Antimalware-Engine", defender_events);
	run.record.raw_time = 1;
	rule_run_process(&run, "Process/Start", 40, "MsMpEng.exe", 0);
	scan(&run, 10 * MS, 5, 1, word);
	scan(&run, 11 * MS, 5, 2, "C:\\Windows\\explorer.exe");
	scan(&run, 14 * MS, 6, 1, word);
	scan(&run, 211 * MS, 6, 2, "C:\\Windows\\explorer.exe");
	rule_run_expect(
		&run,
		"etw_defender_scan_duration_seconds_sum{process=\"WINWORD\",provider=\"Microsoft-Antimalware-Engine\"} 0.004");
	rule_run_expect(
		&run,
		"etw_defender_scan_duration_seconds_bucket{process=\"WINWORD\",provider=\"Microsoft-Antimalware-Engine\",le=\"0.001\"} 0");
	rule_run_expect(
		&run,
		"etw_defender_scan_duration_seconds_bucket{process=\"WINWORD\",provider=\"Microsoft-Antimalware-Engine\",le=\"0.008\"} 1");
	rule_run_expect(
		&run,
		"etw_defender_scan_duration_seconds_sum{process=\"explorer\",provider=\"Microsoft-Antimalware-Engine\"} 0.2");
	rule_run_close(&run);
}

/* ---- PowerShell ---- */

#define WINDOWS_POWERSHELL "a0c1853b-5c40-4b15-8766-3cf1c58f985a"
#define POWERSHELL_7       "f90714a8-5509-434a-bf6d-b1624c8a19a2"

static const char powershell_events[] =
	"<events><event value='4104' version='1' symbol='Block' template='block'/></events>"
	"<templates>" TEMPLATE(
		"block", FIELD("MessageNumber", "Int32") FIELD("MessageTotal", "Int32")
				 FIELD("ScriptBlockText", "UnicodeString")
					 FIELD("ScriptBlockId", "UnicodeString")
						 FIELD("Path", "UnicodeString")) "</templates>";

static void script_block(struct rule_run *run, const char *provider, uint8_t level, uint32_t part)
{
	rule_run_other(run, provider, 4104);
	run->record.version = 1;
	run->record.level = level;
	run->record.process_id = 8;
	etw_payload_u32(&run->payload, part);
	etw_payload_u32(&run->payload, 2);
	etw_payload_wstring(&run->payload, "$secret = 'hunter2'");
	etw_payload_wstring(&run->payload, "00000000-0000-0000-0000-000000000001");
	etw_payload_wstring(&run->payload, "C:\\Scripts\\a.ps1");
	rule_run_feed(run);
}

/* Of the account S-1-5-18. */
static void start_powershell(struct rule_run *run, uint32_t id)
{
	rule_run_event(run, "Process/Start");
	etw_payload_pointer(&run->payload, 0x1000);
	etw_payload_u32(&run->payload, id);
	etw_payload_zeros(&run->payload, 3 * 4);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u32(&run->payload, 0);
	etw_payload_user_sid(&run->payload, "S-1-5-18");
	etw_payload_astring(&run->payload, "powershell.exe");
	etw_payload_zeros(&run->payload, 3 * 2);
	rule_run_feed(run);
}

static void script_blocks_count_once_and_show_no_text(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "powershell");
	rule_run_announce(&run, WINDOWS_POWERSHELL, "Microsoft-Windows-PowerShell",
			  powershell_events);
	rule_run_announce(&run, POWERSHELL_7, "PowerShellCore", powershell_events);
	start_powershell(&run, 8);
	script_block(&run, WINDOWS_POWERSHELL, 5, 1);
	script_block(&run, WINDOWS_POWERSHELL, 5, 2);
	script_block(&run, WINDOWS_POWERSHELL, 3, 1);
	script_block(&run, POWERSHELL_7, 5, 1);
	rule_run_expect(
		&run,
		"etw_powershell_script_blocks_total{process=\"powershell\",owner=\"NT AUTHORITY\\\\SYSTEM\","
		"provider=\"Microsoft-Windows-PowerShell\",level=\"verbose\"} 1");
	rule_run_expect(
		&run,
		"etw_powershell_script_blocks_total{process=\"powershell\",owner=\"NT AUTHORITY\\\\SYSTEM\","
		"provider=\"Microsoft-Windows-PowerShell\",level=\"warning\"} 1");
	rule_run_expect(
		&run,
		"etw_powershell_script_blocks_total{process=\"powershell\",owner=\"NT AUTHORITY\\\\SYSTEM\","
		"provider=\"PowerShellCore\",level=\"verbose\"} 1");
	rule_run_close(&run);
}

/* ---- Storport ---- */

#define STORPORT "c4636a1e-7986-4646-bf10-7bc3b4a76e8e"

static const char storport_events[] =
	"<events><event value='200' version='2' symbol='Device' template='request'/>"
	"<event value='201' version='2' symbol='Request' template='request'/></events><templates>" TEMPLATE(
		"request",
		FIELD("RequestDuration_100ns", "UInt64") FIELD("Irp", "Pointer") FIELD(
			"Command", "UInt8") FIELD("SrbStatus", "UInt8")
			FIELD("OriginalIrp", "Pointer") FIELD("Port", "UInt8") FIELD("Bus", "UInt8")
				FIELD("Target", "UInt8") FIELD("LUN", "UInt8")
					FIELD("ScsiStatus", "UInt8")
						FIELD("ByteLengthOfTransfer", "UInt32")
							FIELD("BuildIoDuration_100ns", "UInt64")
								FIELD("StartIoDuration_100ns",
								      "UInt64")) "</templates>";

static void served(struct rule_run *run, uint16_t event, uint64_t microseconds, uint8_t target)
{
	rule_run_other(run, STORPORT, event);
	run->record.version = 2;
	run->record.pointer_size = 8;
	etw_payload_u64(&run->payload, 10 * microseconds);
	etw_payload_u64(&run->payload, 0xffffc00000000000);
	etw_payload_zeros(&run->payload, 2);
	etw_payload_u64(&run->payload, 0xffffc00000000100);
	etw_payload_u8(&run->payload, 2);
	etw_payload_u8(&run->payload, 0);
	etw_payload_u8(&run->payload, target);
	etw_payload_u8(&run->payload, 1);
	etw_payload_u8(&run->payload, 0);
	etw_payload_u32(&run->payload, 4096);
	etw_payload_zeros(&run->payload, 2 * 8);
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
}

static void devices_have_service_times(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "storport");
	rule_run_announce(&run, STORPORT, "Microsoft-Windows-StorPort", storport_events);
	run.record.raw_time = RUN_FREQUENCY;
	served(&run, 200, 90, 0);
	served(&run, 201, 300, 0);
	served(&run, 200, 5000, 7);
	rule_run_expect(
		&run,
		"etw_storport_device_duration_seconds_sum{port=\"2\",bus=\"0\",target=\"0\",lun=\"1\"} 0.00009");
	rule_run_expect(
		&run,
		"etw_storport_device_duration_seconds_sum{port=\"2\",bus=\"0\",target=\"7\",lun=\"1\"} 0.005");
	rule_run_expect(
		&run,
		"etw_storport_request_duration_seconds_sum{port=\"2\",bus=\"0\",target=\"0\",lun=\"1\"} 0.0003");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_and_bytes_of_smb_clients_count_by_share),
		cmocka_unit_test(scans_count_for_the_process_that_uses_the_file),
		cmocka_unit_test(script_blocks_count_once_and_show_no_text),
		cmocka_unit_test(devices_have_service_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
