/* SPDX-License-Identifier: MIT */
/*
 * What a live session knows of the machine beside its events: drives, mount folders, disks and
 * services, which come and go while it runs. Against tests/fake_etw, whose rows M5 to M12 say
 * what Windows does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/os.h"
#include "base/text.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/temporary.h"

static const GUID disk_class = {
	0x3d6fa8d4, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};

static void emit(const GUID *class, uint8_t opcode, uint8_t version, struct etw_payload *payload)
{
	const struct fake_etw_event event = {
		.provider = *class,
		.descriptor = { .Opcode = opcode, .Version = version },
		.classic = true,
		.process_id = class == &fake_file_class ? 4 : UINT32_MAX,
		.thread_id = UINT32_MAX,
		.payload = payload->bytes,
		.payload_size = payload->size
	};

	fake_etw_emit(&event);
	etw_payload_done(payload);
}

/* FileIo/Name, version 2, and FileIo/Write, version 3, both of a file with this key. */
static void name_file(uint64_t key, const char *path)
{
	struct etw_payload payload = { .pointer_size = 8 };

	etw_payload_pointer(&payload, key);
	etw_payload_wstring(&payload, path);
	emit(&fake_file_class, 0, 2, &payload);
}

static void write_file(uint64_t key, uint32_t bytes)
{
	struct etw_payload payload = { .pointer_size = 8 };

	etw_payload_zeros(&payload, 24);
	etw_payload_pointer(&payload, key);
	etw_payload_u32(&payload, 0);
	etw_payload_u32(&payload, bytes);
	etw_payload_u32(&payload, 0);
	emit(&fake_file_class, 68, 3, &payload);
}

/* The bytes written to a volume so far, on a new page; 0 when it has no series. */
static uint64_t written(struct side *side, const char *volume)
{
	char line[200];
	const char *at;

	snprintf(line, sizeof line,
		 "\netw_file_written_bytes_total{process=\"System\",provider=\"Windows Kernel\","
		 "volume=\"%s\"} ",
		 volume);
	take_page(side);
	at = strstr(side->page.data, line);
	return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

/* Whether a write to the file is counted for this volume. */
static bool goes_to(struct side *side, uint64_t key, const char *volume)
{
	uint64_t before = written(side, volume);

	write_file(key, 100);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	return written(side, volume) == before + 100;
}

/* What was found on the machine is shown between two records: canaries, if no others. */
static bool page_has(struct side *side, const char *line)
{
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	take_page(side);
	return strstr(side->page.data, line) != NULL;
}

/* ---- volumes ---- */

static void a_volume_that_comes_later_has_its_letter(void **state)
{
	struct side side;

	(void)state;
	start_live(&side, "");
	name_file(7, "\\Device\\HarddiskVolume7\\data\\a");
	assert_true(goes_to(&side, 7, "HarddiskVolume7"));
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	WAIT_UNTIL(goes_to(&side, 7, "E:"));
	end_live(&side);
}

static void a_letter_that_moves_is_that_of_the_new_volume(void **state)
{
	uint64_t before;
	struct side side;

	(void)state;
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	start_live(&side, "");
	name_file(7, "\\Device\\HarddiskVolume7\\a");
	name_file(9, "\\Device\\HarddiskVolume9\\a");
	assert_true(goes_to(&side, 7, "E:"));
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume9");
	WAIT_UNTIL(goes_to(&side, 9, "E:"));
	before = written(&side, "E:");
	assert_true(before >= 200);
	assert_true(goes_to(&side, 7, "HarddiskVolume7"));
	assert_int_equal(written(&side, "E:"), before); /* the past stays */
	/* The volume is gone, and its letter with it. */
	fake_etw_remove_drive("E:");
	WAIT_UNTIL(goes_to(&side, 9, "HarddiskVolume9"));
	assert_true(written(&side, "E:") >= before);
	end_live(&side);
}

static void a_volume_without_a_letter_has_its_mount_folder(void **state)
{
	static const struct fake_etw_volume mounted = { .device = "\\Device\\HarddiskVolume8",
							.folders = { "D:\\sql\\data\\" } };
	struct side side;

	(void)state;
	fake_etw_attach_volume(&mounted);
	start_live(&side, "");
	name_file(8, "\\Device\\HarddiskVolume8\\a");
	WAIT_UNTIL(goes_to(&side, 8, "D:\\\\sql\\\\data"));
	/* A letter is shorter. */
	fake_etw_add_volume("F:", "\\Device\\HarddiskVolume8");
	WAIT_UNTIL(goes_to(&side, 8, "F:"));
	fake_etw_detach_volume("\\Device\\HarddiskVolume8");
	WAIT_UNTIL(goes_to(&side, 8, "HarddiskVolume8"));
	end_live(&side);
}

static void a_restart_knows_the_volumes_again(void **state)
{
	static const struct fake_etw_volume mounted = { .device = "\\Device\\HarddiskVolume8",
							.folders = { "D:\\data\\" } };
	struct side side;

	(void)state;
	fake_etw_attach_volume(&mounted);
	fake_etw_attach_disk(0, NULL, "Disk", 512);
	start_live(&side, "");
	name_file(8, "\\Device\\HarddiskVolume8\\a");
	WAIT_UNTIL(goes_to(&side, 8, "D:\\\\data"));
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"0\",model=\"Disk\","
				   "bytes_per_sector=\"512\"} 1\n"));
	assert_true(fake_etw_other_stop("etw_exporter"));
	WAIT_UNTIL(value_of(&side, "\netw_session_restarts_total{session=\"etw_exporter\","
				   "reason=\"stopped\"} ") != 0);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	name_file(8, "\\Device\\HarddiskVolume8\\a");
	assert_true(goes_to(&side, 8, "D:\\\\data")); /* from the first event on */
	assert_true(page_has(&side, "\netw_disk_info{disk=\"0\",model=\"Disk\","
				    "bytes_per_sector=\"512\"} 1\n"));
	end_live(&side);
}

/* Since the start, and anew since a restart. */
static void the_share_of_bytes_with_a_volume_is_shown(void **state)
{
	static const char line[] =
		"\netw_consumer_file_bytes_with_volume_ratio{session=\"etw_exporter\"} ";
	struct side side;

	(void)state;
	start_live(&side, "");
	assert_false(page_has(&side, line)); /* no bytes so far */
	write_file(1, 300);
	name_file(2, "\\Device\\HarddiskVolume2\\a");
	write_file(2, 100);
	assert_true(page_has(&side, "{session=\"etw_exporter\"} 0.25\n"));
	assert_true(fake_etw_other_stop("etw_exporter"));
	WAIT_UNTIL(value_of(&side, "\netw_session_restarts_total{session=\"etw_exporter\","
				   "reason=\"stopped\"} ") != 0);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_false(page_has(&side, line));
	name_file(2, "\\Device\\HarddiskVolume2\\a");
	write_file(2, 100);
	assert_true(page_has(&side, line));
	assert_int_equal(value_of(&side, line), 1);
	end_live(&side);
}

static void shadow_copies_are_one_volume(void **state)
{
	struct side side;

	(void)state;
	start_live(&side, "");
	name_file(1, "\\Device\\HarddiskVolumeShadowCopy12\\a");
	name_file(2, "\\Device\\HarddiskVolumeShadowCopy13\\a");
	write_file(1, 100);
	write_file(2, 100);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(written(&side, "HarddiskVolumeShadowCopy"), 200);
	end_live(&side);
}

/* Targets that are longer than any path, not UTF-16, or no device at all. */
static void hostile_names_of_drives_map_nothing(void **state)
{
	char folder[250] = "C:\\";
	struct side side;

	(void)state;
	memset(folder + 3, 'x', sizeof folder - 5);
	folder[sizeof folder - 2] = '\\';
	folder[sizeof folder - 1] = '\0';
	fake_etw_attach_volume(&(struct fake_etw_volume){
		.device = "\\Device\\HarddiskVolume5",
		.folders = { "", "no drive", "\xed\xa0\x80:\\", folder } });
	fake_etw_attach_volume(&(struct fake_etw_volume){ .device = "" });
	fake_etw_attach_volume(
		&(struct fake_etw_volume){ .device = "no device", .folders = { "C:\\y\\" } });
	fake_etw_attach_volume(&(struct fake_etw_volume){ .device = "\\Device\\HarddiskVolume6",
							  .folders = { "C:\\z\\" } });
	fake_etw_add_volume("G:", "\\??\\C:\\folder");
	fake_etw_add_volume("\xc3\x84:", "\\Device\\HarddiskVolume4");
	start_live(&side, "");
	name_file(4, "\\Device\\HarddiskVolume4\\a");
	name_file(6, "\\Device\\HarddiskVolume6\\a");
	WAIT_UNTIL(goes_to(&side, 6, "C:\\\\z"));
	assert_true(goes_to(&side, 4, "HarddiskVolume4"));
	end_live(&side);
}

static void paths_of_volumes_may_be_any_units(void **state)
{
	/* A folder, one with half of a surrogate pair, no drive, and one that never ends. */
	static const uint16_t units[] = { 'C', ':', '\\',   'l', 'o',  'n', 'g', '\\', 0,
					  'D', ':', 0xd800, 0,   '\\', 0,   'E', ':',  'x' };
	struct side side;

	(void)state;
	fake_etw_attach_volume(&(struct fake_etw_volume){ .device = "\\Device\\HarddiskVolume5" });
	fake_etw_volume_paths("\\Device\\HarddiskVolume5", units, sizeof units / sizeof *units);
	fake_etw_attach_volume(&(struct fake_etw_volume){ .device = "\\Device\\HarddiskVolume6" });
	fake_etw_volume_paths("\\Device\\HarddiskVolume6", units + 15, 3);
	fake_etw_add_volume("G:", "\\Device\\HarddiskVolume7");
	start_live(&side, "");
	name_file(5, "\\Device\\HarddiskVolume5\\a");
	name_file(6, "\\Device\\HarddiskVolume6\\a");
	WAIT_UNTIL(goes_to(&side, 5, "D:\xef\xbf\xbd")); /* the shortest */
	assert_true(goes_to(&side, 6, "HarddiskVolume6"));
	end_live(&side);
}

/* More than the tables hold: the rest have the names of their devices. */
static void more_volumes_than_fit_are_bounded(void **state)
{
	char device[64], folder[64];
	struct side side;

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		snprintf(device, sizeof device, "\\Device\\HarddiskVolume%u", 1000 + i);
		snprintf(folder, sizeof folder, "C:\\%u\\", i);
		fake_etw_attach_volume(
			&(struct fake_etw_volume){ .device = device, .folders = { folder } });
	}
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	start_live(&side, "");
	name_file(7, "\\Device\\HarddiskVolume7\\a");
	name_file(8, "\\Device\\HarddiskVolume1000\\a");
	WAIT_UNTIL(goes_to(&side, 8, "C:\\\\0"));
	assert_true(goes_to(&side, 7, "E:"));
	end_live(&side);
}

/* ---- disks ---- */

static void disks_are_described_from_the_start(void **state)
{
	static const struct fake_etw_volume system = { .device = "\\Device\\HarddiskVolume3",
						       .file_system = "NTFS",
						       .disks = { 0 },
						       .disk_count = 1,
						       .partition = 3 };
	static const struct fake_etw_volume spanned = { .device = "\\Device\\HarddiskVolume5",
							.folders = { "C:\\wide\\" },
							.file_system = "ReFS",
							.disks = { 4, 5 },
							.disk_count = 2 };
	struct side side;

	(void)state;
	fake_etw_attach_disk(0, "NVMe    ", " ACME 970 ", 512);
	fake_etw_attach_disk(4, NULL, "Virtual Disk", 4096);
	fake_etw_attach_volume(&system);
	fake_etw_attach_volume(&spanned);
	fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	start_live(&side, "");
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"0\",model=\"NVMe ACME 970\","
				   "bytes_per_sector=\"512\"} 1\n"));
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"4\",model=\"Virtual Disk\","
				   "bytes_per_sector=\"4096\"} 1\n"));
	WAIT_UNTIL(page_has(&side, "\netw_disk_volume_info{disk=\"0\",partition=\"3\","
				   "volume=\"C:\",file_system=\"NTFS\"} 1\n"));
	WAIT_UNTIL(page_has(&side, "\netw_disk_volume_info{disk=\"4\",partition=\"_unknown\","
				   "volume=\"C:\\\\wide\",file_system=\"ReFS\"} 1\n"));
	assert_true(page_has(&side, "\netw_disk_volume_info{disk=\"5\",partition=\"_unknown\","
				    "volume=\"C:\\\\wide\",file_system=\"ReFS\"} 1\n"));
	/* A disk comes, another one goes with its volume. */
	fake_etw_attach_disk(9, "USB", "Stick", 512);
	fake_etw_detach_disk(4);
	fake_etw_detach_volume(spanned.device);
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"9\",model=\"USB Stick\","
				   "bytes_per_sector=\"512\"} 1\n"));
	WAIT_UNTIL(!page_has(&side, "\netw_disk_info{disk=\"4\""));
	WAIT_UNTIL(!page_has(&side, "volume=\"C:\\\\wide\""));
	assert_true(page_has(&side, "\netw_disk_volume_info{disk=\"0\",partition=\"3\","
				    "volume=\"C:\",file_system=\"NTFS\"} 1\n"));
	end_live(&side);
}

static void several_sessions_describe_disks_once(void **state)
{
	struct side side;

	(void)state;
	fake_etw_attach_disk(0, NULL, "Disk", 512);
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	start_live(&side, "sessions: { noise: { logger: user, providers: "
			  "['" SOME_PROVIDER "'] } }\n");
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"0\",model=\"Disk\","
				   "bytes_per_sector=\"512\"} "));
	fake_etw_attach_disk(1, NULL, "Second", 512);
	WAIT_UNTIL(fake_etw_drain("noise", WAIT_MS) &&
		   page_has(&side, "\netw_disk_info{disk=\"1\",model=\"Second\","
				   "bytes_per_sector=\"512\"} "));
	assert_true(page_has(&side, "\netw_disk_info{disk=\"0\",model=\"Disk\","
				    "bytes_per_sector=\"512\"} 1\n"));
	end_live(&side);
}

static void read_disk(uint32_t disk)
{
	struct etw_payload payload = { .pointer_size = 8 };

	etw_payload_u32(&payload, disk);
	etw_payload_zeros(&payload, 48);
	emit(&disk_class, 10, 3, &payload);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
}

static uint64_t missed_disks(struct side *side)
{
	return value_of(side, "\netw_consumer_unattributed_events_total{session="
			      "\"etw_exporter\",reason=\"disk\"} ");
}

/* SystemConfig/PhyDisk, version 2. */
static void describe_disk(uint32_t disk, const char *model)
{
	struct etw_payload payload = { .pointer_size = 8 };

	etw_payload_u32(&payload, disk);
	etw_payload_u32(&payload, 512);
	etw_payload_zeros(&payload, 32);
	etw_payload_wchars(&payload, model, 256);
	etw_payload_zeros(&payload, 18);
	emit(&fake_config_class, 11, 2, &payload);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
}

static void a_transfer_is_missed_only_when_disks_are_known(void **state)
{
	struct side side;

	(void)state;
	start_live(&side, ""); /* of a machine whose disks cannot be read */
	read_disk(0);
	assert_int_equal(missed_disks(&side), 0);
	fake_etw_attach_disk(0, NULL, "Disk", 512);
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"0\""));
	read_disk(0);
	assert_int_equal(missed_disks(&side), 0);
	read_disk(1);
	assert_int_equal(missed_disks(&side), 1);
	end_live(&side);
}

static void what_a_record_says_of_a_disk_is_kept(void **state)
{
	struct side side;

	(void)state;
	fake_etw_attach_disk(0, NULL, "From the device", 512);
	/* A rundown that is slow would deliver the record once more, behind the other disk. */
	start_live(&side, "sessions: { etw_exporter: { rundown: off } }\n");
	WAIT_UNTIL(page_has(&side, "model=\"From the device\""));
	describe_disk(0, "From the record");
	assert_true(page_has(&side, "model=\"From the record\""));
	assert_false(page_has(&side, "model=\"From the device\""));
	/* Another disk of that number came later than the record. */
	fake_etw_attach_disk(0, NULL, "Another", 512);
	fake_etw_attach_disk(1, NULL, "Second", 512);
	WAIT_UNTIL(page_has(&side, "model=\"Second\""));
	WAIT_UNTIL(page_has(&side, "model=\"Another\""));
	end_live(&side);
}

static void a_device_that_hangs_holds_up_nothing_else(void **state)
{
	struct side side;

	(void)state;
	fake_etw_attach_disk(0, NULL, "Dead", 512);
	fake_etw_device_hang("PhysicalDrive0", true);
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	start_live(&side, "");
	WAIT_UNTIL(fake_etw_hanging() > 0);
	name_file(7, "\\Device\\HarddiskVolume7\\a");
	assert_true(goes_to(&side, 7, "E:"));
	stop_live(&side); /* ends although the device still hangs */
	assert_int_equal(written(&side, "E:"), 100);
	close_side(&side);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	fake_etw_device_hang("PhysicalDrive0", false);
	/* The thread that was left behind ends. */
	WAIT_UNTIL(fake_etw_hanging() == 0 && fake_etw_open_things().handles == 0);
}

static void hostile_answers_of_devices_describe_nothing(void **state)
{
	/* Offsets of the vendor and the product beyond the answer, at its end, and without a NUL.
	 */
	STORAGE_DEVICE_DESCRIPTOR wrong = { .Size = UINT32_MAX,
					    .VendorIdOffset = UINT32_MAX - 3,
					    .ProductIdOffset = 40 };
	struct {
		STORAGE_DEVICE_DESCRIPTOR head;
		char product[6];
	} endless = { .head = { .Size = 46, .VendorIdOffset = 8000, .ProductIdOffset = 40 } };
	const struct fake_etw_volume volume = { .device = "\\Device\\HarddiskVolume3",
						.disks = { 0 },
						.disk_count = 1 };
	VOLUME_DISK_EXTENTS extents = { .NumberOfDiskExtents = UINT32_MAX };
	struct side side;

	(void)state;
	memcpy(endless.product, "No\xffNUL", 6);
	for (uint32_t disk = 0; disk < 4; disk++) {
		fake_etw_attach_disk(disk, "ACME", "Disk", 512);
	}
	fake_etw_device_answer("PhysicalDrive0", IOCTL_STORAGE_QUERY_PROPERTY, 0, &wrong,
			       sizeof wrong);
	fake_etw_device_answer("PhysicalDrive1", IOCTL_STORAGE_QUERY_PROPERTY, 0, &endless,
			       sizeof endless);
	fake_etw_device_answer("PhysicalDrive2", IOCTL_STORAGE_QUERY_PROPERTY, ERROR_MORE_DATA,
			       &wrong, 8);
	fake_etw_device_answer("PhysicalDrive3", IOCTL_DISK_GET_DRIVE_GEOMETRY, 0, "abc", 3);
	fake_etw_attach_volume(&volume);
	fake_etw_device_answer(volume.device, IOCTL_STORAGE_GET_DEVICE_NUMBER, 0, "abc", 3);
	fake_etw_device_answer(volume.device, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, 0, &extents,
			       sizeof extents);
	start_live(&side, "");
	WAIT_UNTIL(page_has(&side, "\netw_disk_info{disk=\"3\",model=\"ACME Disk\","
				   "bytes_per_sector=\"0\"} 1\n"));
	assert_true(page_has(&side, "\netw_disk_info{disk=\"0\",model=\"_unknown\","
				    "bytes_per_sector=\"512\"} 1\n"));
	assert_true(page_has(&side, "\netw_disk_info{disk=\"1\",model=\"No\xef\xbf\xbdNUL\","
				    "bytes_per_sector=\"512\"} 1\n"));
	assert_true(page_has(&side, "\netw_disk_info{disk=\"2\",model=\"_unknown\","
				    "bytes_per_sector=\"512\"} 1\n"));
	end_live(&side);
}

/* ---- services ---- */

static const char service_collector[] =
	"collector: work\nhelp: Test.\ndefault: on\n"
	"metrics:\n"
	"  - name: etw_test_reads_total\n"
	"    type: counter\n    help: Reads.\n    labels: { service: Service }\n"
	"    events: [ { event: DiskIo/Read } ]\n";

static const GUID thread_class = {
	0x3d6fa8d1, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};

/* Thread/DCStart, version 3. */
static void emit_thread(uint32_t id, uint32_t process_id, uint32_t tag)
{
	struct etw_payload payload = { .pointer_size = 8 };

	etw_payload_u32(&payload, process_id);
	etw_payload_u32(&payload, id);
	etw_payload_zeros(&payload, 7 * 8);
	etw_payload_u32(&payload, tag);
	etw_payload_zeros(&payload, 4);
	emit(&thread_class, 3, 3, &payload);
}

/* A read that the thread issued, counted for this service. */
static bool works_for(struct side *side, uint32_t thread, const char *service)
{
	struct etw_payload payload = { .pointer_size = 8 };
	char line[100];
	uint64_t before = 0;
	const char *at;

	snprintf(line, sizeof line, "\netw_test_reads_total{service=\"%s\"} ", service);
	take_page(side);
	at = strstr(side->page.data, line);
	before = at ? strtoull(at + strlen(line), NULL, 10) : 0;
	etw_payload_zeros(&payload, 48);
	etw_payload_u32(&payload, thread);
	emit(&disk_class, 10, 3, &payload);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	take_page(side);
	at = strstr(side->page.data, line);
	return at && strtoull(at + strlen(line), NULL, 10) == before + 1;
}

static void start_with_services(struct side *side)
{
	const char *path = "./work.yaml";

	temporary_write(path, service_collector, strlen(service_collector));
	fake_etw_add_process(8, 4, "svchost.exe");
	fake_etw_add_process(12, 4, "svchost.exe");
	start_live(side, "collector_files: ['./work.yaml']\n");
	remove(path);
	emit_thread(80, 8, 5);
	emit_thread(120, 12, 6);
	emit_thread(124, 12, 7);
	emit_thread(128, 12, 0);
}

static void services_are_known_from_the_start(void **state)
{
	struct side side;

	(void)state;
	fake_etw_add_service("Dnscache", 8, 5);
	fake_etw_add_service("Schedule", 12, 6);
	fake_etw_add_service("Themes", 12, 7);
	start_with_services(&side);
	WAIT_UNTIL(works_for(&side, 80, "Dnscache"));
#ifndef _WIN32
	WAIT_UNTIL(works_for(&side, 120, "Schedule"));
	assert_true(works_for(&side, 124, "Themes"));
#endif
	assert_true(works_for(&side, 128, "_none"));
	/* The process ends, and another host has its id. */
	fake_etw_remove_service("Dnscache");
	fake_etw_add_service("BITS", 8, 5);
	WAIT_UNTIL(works_for(&side, 80, "BITS"));
	end_live(&side);
}

/* Where Windows does not list tags, the only service of a process is still known. */
static void a_process_with_one_service_works_for_it(void **state)
{
	struct side side;

	(void)state;
	fake_etw_fail_always("I_QueryTagInformation", ERROR_CALL_NOT_IMPLEMENTED);
	fake_etw_add_service("Dnscache", 8, 5);
	fake_etw_add_service("Schedule", 12, 6);
	fake_etw_add_service("Themes", 12, 7);
	start_with_services(&side);
	WAIT_UNTIL(works_for(&side, 80, "Dnscache"));
	assert_true(works_for(&side, 120, "_unknown"));
	fake_etw_remove_service("Schedule");
	WAIT_UNTIL(works_for(&side, 124, "Themes"));
	end_live(&side);
}

static void more_services_than_one_answer_holds_are_all_known(void **state)
{
	char name[200];
	struct side side;

	(void)state;
	for (uint32_t i = 0; i < 1500; i++) { /* more than 256 KB */
		snprintf(name, sizeof name, "%0100u", (unsigned)i);
		fake_etw_add_service(name, 1000 + i, 1);
	}
	fake_etw_add_service("Dnscache", 8, 5);
	start_with_services(&side);
	WAIT_UNTIL(works_for(&side, 80, "Dnscache"));
	end_live(&side);
}

static void without_the_service_manager_services_are_unknown(void **state)
{
	struct side side;

	(void)state;
	fake_etw_fail_always("OpenSCManagerW", ERROR_ACCESS_DENIED);
	fake_etw_add_service("Dnscache", 8, 5);
	start_with_services(&side);
	WAIT_UNTIL(fake_etw_calls("OpenSCManagerW") >= 2);
	assert_true(works_for(&side, 80, "_unknown"));
	end_live(&side);
}

/* Where Windows does not list volumes, their letters stay known, and follow changes. */
static void without_a_list_of_volumes_letters_are_known(void **state)
{
	struct side side;

	(void)state;
	fake_etw_fail_always("FindFirstVolumeW", ERROR_ACCESS_DENIED);
	fake_etw_add_volume("E:", "\\Device\\HarddiskVolume7");
	fake_etw_add_service("Dnscache", 8, 5);
	start_with_services(&side);
	name_file(7, "\\Device\\HarddiskVolume7\\a");
	name_file(9, "\\Device\\HarddiskVolume9\\a");
	WAIT_UNTIL(works_for(&side, 80, "Dnscache")); /* what was read has been reported */
	assert_true(goes_to(&side, 7, "E:"));
	fake_etw_add_volume("F:", "\\Device\\HarddiskVolume9");
	WAIT_UNTIL(goes_to(&side, 9, "F:"));
	end_live(&side);
}

/* Windows says that there is more, and not how much. */
static void an_answer_that_has_no_size_is_none(void **state)
{
	static const struct fake_etw_volume volume = { .device = "\\Device\\HarddiskVolume7",
						       .folders = { "D:\\data\\" } };
	struct side side;

	(void)state;
	fake_etw_attach_volume(&volume);
	fake_etw_fail_always("GetVolumePathNamesForVolumeNameW", ERROR_MORE_DATA);
	fake_etw_add_service("Dnscache", 8, 5);
	start_with_services(&side);
	name_file(7, "\\Device\\HarddiskVolume7\\a");
	WAIT_UNTIL(works_for(&side, 80, "Dnscache"));
	fake_etw_fail_never("GetVolumePathNamesForVolumeNameW");
	WAIT_UNTIL(goes_to(&side, 7, "D:\\\\data"));
	end_live(&side);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, run_reset_manual)
	const struct CMUnitTest tests[] = {
		TEST(a_volume_that_comes_later_has_its_letter),
		TEST(a_letter_that_moves_is_that_of_the_new_volume),
		TEST(a_volume_without_a_letter_has_its_mount_folder),
		TEST(a_restart_knows_the_volumes_again),
		TEST(the_share_of_bytes_with_a_volume_is_shown),
		TEST(shadow_copies_are_one_volume),
		TEST(hostile_names_of_drives_map_nothing),
		TEST(paths_of_volumes_may_be_any_units),
		TEST(more_volumes_than_fit_are_bounded),
		TEST(disks_are_described_from_the_start),
		TEST(several_sessions_describe_disks_once),
		TEST(a_transfer_is_missed_only_when_disks_are_known),
		TEST(what_a_record_says_of_a_disk_is_kept),
		TEST(a_device_that_hangs_holds_up_nothing_else),
		TEST(hostile_answers_of_devices_describe_nothing),
		TEST(services_are_known_from_the_start),
		TEST(a_process_with_one_service_works_for_it),
		TEST(more_services_than_one_answer_holds_are_all_known),
		TEST(without_the_service_manager_services_are_unknown),
		TEST(without_a_list_of_volumes_letters_are_known),
		TEST(an_answer_that_has_no_size_is_none),
	};

	return cmocka_run_group_tests_name("live_volumes", tests, NULL, NULL);
}
