/* SPDX-License-Identifier: MIT */
/*
 * State gauges: processes and threads alive, disks, program files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exporter/track/process_gauges.h"
#include "tests/support/page.h"
#include "tests/support/tracker_run.h"

static const struct tracker_options gauges = { .process_gauges = true,
					       .disk_info = true,
					       .image_info = true };

/* A step: one record, then what the gauges of one process must read. */
struct step {
	char what; /* + = - of a process, s r e (start, rundown, end) of a thread */
	uint32_t id;
	const char *name; /* of the process; threads: NULL */
	uint32_t owner;   /* threads */
	const char *process;
	int64_t instances;
	int64_t threads;
};

enum { STEPS = 12 };

static void put_step(struct tape *tape, const struct step *step, int64_t time)
{
	static const struct {
		char what;
		uint8_t opcode;
	} opcodes[] = { { '+', 1 }, { '=', 3 }, { '-', 2 }, { 's', 1 }, { 'r', 3 }, { 'e', 2 } };

	for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
		if (opcodes[i].what != step->what) {
			continue;
		}
		if (step->name) {
			tape_process(tape, opcodes[i].opcode, time, step->id, step->name);
		} else {
			tape_thread(tape, opcodes[i].opcode, time, step->id, step->owner);
		}
	}
}

static void a_process_is_alive_from_start_or_rundown_to_stop(void **state)
{
	static const struct {
		const char *name;
		struct step steps[STEPS];
	} stories[] = {
		{ "start and stop",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 }, { '-', 7, "a.exe", 0, "a", 0, 0 } } },
		{ "rundown, twice",
		  { { '=', 7, "a.exe", 0, "a", 1, 0 }, { '=', 7, "a.exe", 0, "a", 1, 0 } } },
		{ "several of one name",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 },
		    { '+', 8, "A.EXE", 0, "a", 2, 0 },
		    { '-', 7, "a.exe", 0, "a", 1, 0 } } },
		{ "a stop of an unknown process takes nothing away",
		  { { '-', 7, "a.exe", 0, "a", 0, 0 }, { '+', 8, "a.exe", 0, "a", 1, 0 } } },
		{ "the id begins anew although the stop was lost",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 },
		    { '+', 7, "b.exe", 0, "a", 0, 0 },
		    { '-', 7, "b.exe", 0, "b", 0, 0 } } },
		{ "a rundown of another name does not rename who is alive",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 }, { '=', 7, "b.exe", 0, "a", 1, 0 } } },
		{ "threads",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 },
		    { 's', 70, NULL, 7, "a", 1, 1 },
		    { 's', 71, NULL, 7, "a", 1, 2 },
		    { 'r', 71, NULL, 7, "a", 1, 2 },
		    { 'e', 70, NULL, 7, "a", 1, 1 },
		    { 'e', 70, NULL, 7, "a", 1, 1 } } },
		{ "a thread id begins anew in another process",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 },
		    { '+', 8, "b.exe", 0, "b", 1, 0 },
		    { 's', 70, NULL, 7, "a", 1, 1 },
		    { 's', 70, NULL, 8, "a", 1, 0 },
		    { 'r', 70, NULL, 7, "b", 1, 1 } } },
		{ "threads count for the process that has the owner's id",
		  { { '+', 7, "a.exe", 0, "a", 1, 0 },
		    { 's', 70, NULL, 7, "a", 1, 1 },
		    { '-', 7, "a.exe", 0, "a", 0, 1 },
		    { '+', 7, "b.exe", 0, "a", 0, 0 },
		    { 'r', 70, NULL, 7, "b", 1, 1 },
		    { 'e', 70, NULL, 7, "b", 1, 0 } } },
		{ "thread 0 counts once, under Idle",
		  { { 'r', 0, NULL, 0, "Idle", 0, 1 }, { 'r', 0, NULL, 0, "Idle", 0, 1 } } },
		{ "an owner without a name", { { 's', 70, NULL, 9, "_unknown", 0, 1 } } },
	};
	struct tape tape;

	(void)state;
	tape_init(&tape, 8);
	for (size_t i = 0; i < sizeof stories / sizeof stories[0]; i++) {
		print_message("  %s\n", stories[i].name);
		for (unsigned steps = 1; steps <= STEPS && stories[i].steps[steps - 1].what;
		     steps++) {
			const struct step *last = &stories[i].steps[steps - 1];

			/* The future, which a first pass knows, changes nothing: both must agree.
			 */
			for (unsigned passes = ONE_PASS; passes <= TWO_PASSES; passes++) {
				struct player player;

				player_init(&player, &gauges);
				tape_rewind(&tape);
				for (unsigned step = 0; step < steps; step++) {
					put_step(&tape, &stories[i].steps[step], step + 1);
				}
				player_play(&player, &tape, (enum passes)passes);
				assert_int_equal(player_instances(&player, last->process),
						 last->instances);
				assert_int_equal(player_threads(&player, last->process),
						 last->threads);
				tracker_reset(player.tracker);
				assert_int_equal(player_instances(&player, last->process), 0);
				assert_int_equal(player_threads(&player, last->process), 0);
				player_done(&player);
			}
		}
	}
	tape_done(&tape);
}

static void a_name_that_comes_late_moves_what_was_counted(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &gauges);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 1, 7, "");
	tape_thread(&tape, 1, 2, 70, 7);
	player_play(&player, &tape, ONE_PASS);
	assert_int_equal(player_instances(&player, "_unknown"), 1);
	assert_int_equal(player_threads(&player, "_unknown"), 1);
	tape_rewind(&tape);
	tape_process(&tape, 4, 9, 7, "a.exe");
	player_play(&player, &tape, ONE_PASS);
	assert_int_equal(player_instances(&player, "_unknown"), 0);
	assert_int_equal(player_threads(&player, "_unknown"), 0);
	assert_int_equal(player_instances(&player, "a"), 1);
	assert_int_equal(player_threads(&player, "a"), 1);
	tape_done(&tape);
	player_done(&player);
}

static void gauges_that_are_not_enabled_do_not_exist(void **state)
{
	static const struct tracker_options none;
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &none);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 1, 7, "a.exe");
	tape_thread(&tape, 1, 2, 70, 7);
	tape_poke(tape_zeros(&tape, "SystemConfig", 11, 2, 3), "DiskNumber", 0);
	player_play(&player, &tape, TWO_PASSES);
	tracker_reset(player.tracker);
	assert_null(registry_find_family(player.registry, "etw_process_instances"));
	assert_null(registry_find_family(player.registry, "etw_process_threads"));
	assert_null(registry_find_family(player.registry, "etw_disk_info"));
	assert_null(registry_find_family(player.registry, "etw_process_image_info"));
	tape_done(&tape);
	player_done(&player);
}

/* ---- disks ---- */

static void put_disk(struct tape *tape, int64_t time, uint32_t disk, uint32_t bytes_per_sector,
		     const char *model)
{
	etw_payload_u32(&tape->payload, disk);
	etw_payload_u32(&tape->payload, bytes_per_sector);
	etw_payload_zeros(&tape->payload, 32);
	etw_payload_wchars(&tape->payload, model, 256);
	etw_payload_zeros(&tape->payload, 18);
	tape_add(tape, "SystemConfig", 11, 2, time);
}

static void put_partition(struct tape *tape, int64_t time, uint32_t disk, uint32_t partition,
			  const char *drive, const char *file_system)
{
	etw_payload_zeros(&tape->payload, 16);
	etw_payload_u32(&tape->payload, disk);
	etw_payload_zeros(&tape->payload, 8);
	etw_payload_wchars(&tape->payload, drive, 4);
	etw_payload_zeros(&tape->payload, 4);
	etw_payload_u32(&tape->payload, partition);
	etw_payload_zeros(&tape->payload, 28);
	etw_payload_wchars(&tape->payload, file_system, 16);
	etw_payload_zeros(&tape->payload, 8);
	tape_add(tape, "SystemConfig", 12, 2, time);
}

static void disks_and_their_volumes_are_described(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &gauges);
	tape_init(&tape, 8);
	put_disk(&tape, 1, 0, 512, "  Virtual HD  ");
	put_disk(&tape, 1, 1, 4096, "");
	put_disk(&tape, 1, 4000000000, 512, "too many");
	put_partition(&tape, 2, 0, 2, "C:", "NTFS");
	put_partition(&tape, 2, 0, 1, "", "");
	player_play(&player, &tape, TWO_PASSES);
	assert_true(player_shows(&player, "etw_disk_info", LABELS("0", "Virtual HD", "512")));
	assert_true(player_shows(&player, "etw_disk_info", LABELS("1", "_unknown", "4096")));
	assert_true(player_shows(&player, "etw_disk_volume_info", LABELS("0", "2", "C:", "NTFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("0", "1", "_unknown", "_unknown")));
	assert_int_equal(player_gauge(&player, "etw_disk_info", LABELS("0", "Virtual HD", "512")),
			 1);
	/* Described anew: the old description goes. */
	tape_rewind(&tape);
	put_disk(&tape, 3, 0, 512, "Another");
	put_partition(&tape, 3, 0, 2, "D:", "NTFS");
	player_play(&player, &tape, ONE_PASS);
	assert_false(player_shows(&player, "etw_disk_info", LABELS("0", "Virtual HD", "512")));
	assert_true(player_shows(&player, "etw_disk_info", LABELS("0", "Another", "512")));
	assert_false(player_shows(&player, "etw_disk_volume_info", LABELS("0", "2", "C:", "NTFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info", LABELS("0", "2", "D:", "NTFS")));
	tracker_reset(player.tracker);
	assert_false(player_shows(&player, "etw_disk_info", LABELS("0", "Another", "512")));
	assert_false(player_shows(&player, "etw_disk_volume_info", LABELS("0", "2", "D:", "NTFS")));
	tape_done(&tape);
	player_done(&player);
}

/* A live session finds disks; records of the same disks may come before or after. */
static void disks_found_live_stand_where_records_do_not(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &gauges);
	tape_init(&tape, 8);
	/* Found first: the record takes its place, except for what it leaves empty. */
	tracker_find_disk(player.tracker, 0, "Found", 4096);
	tracker_find_disk(player.tracker, 1, "Kept", 4096);
	tracker_find_partition(player.tracker, 0, 2, "D:\\data", "NTFS");
	assert_true(player_shows(&player, "etw_disk_info", LABELS("0", "Found", "4096")));
	put_disk(&tape, 1, 0, 512, "Recorded");
	put_disk(&tape, 1, 1, 512, "");
	put_disk(&tape, 1, 2, 512, "First");
	put_disk(&tape, 1, 3, 512, "");
	put_partition(&tape, 2, 0, 2, "", "ReFS");
	put_partition(&tape, 2, 0, 3, "C:", "");
	player_play(&player, &tape, ONE_PASS);
	assert_true(player_shows(&player, "etw_disk_info", LABELS("0", "Recorded", "512")));
	assert_false(player_shows(&player, "etw_disk_info", LABELS("0", "Found", "4096")));
	assert_true(player_shows(&player, "etw_disk_info", LABELS("1", "Kept", "512")));
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("0", "2", "D:\\data", "ReFS")));
	/* Recorded first: likewise. */
	tracker_find_disk(player.tracker, 2, "Second", 4096);
	tracker_find_disk(player.tracker, 3, "Filled in", 4096);
	tracker_find_partition(player.tracker, 0, 3, "E:", "FAT32");
	assert_true(player_shows(&player, "etw_disk_info", LABELS("2", "First", "512")));
	assert_true(player_shows(&player, "etw_disk_info", LABELS("3", "Filled in", "512")));
	assert_true(player_shows(&player, "etw_disk_volume_info", LABELS("0", "3", "C:", "FAT32")));
	/* Found once more: it has changed. */
	tracker_find_disk(player.tracker, 2, "Third", 4096);
	tracker_find_partition(player.tracker, 0, 3, "F:", "FAT32");
	assert_true(player_shows(&player, "etw_disk_info", LABELS("2", "Third", "4096")));
	assert_false(player_shows(&player, "etw_disk_info", LABELS("2", "First", "512")));
	assert_true(player_shows(&player, "etw_disk_volume_info", LABELS("0", "3", "F:", "FAT32")));
	/* Gone. */
	tracker_find_disk(player.tracker, 2, NULL, 0);
	tracker_find_disk(player.tracker, 200, NULL, 0);
	tracker_find_partition(player.tracker, 0, 2, "", NULL);
	tracker_find_partition(player.tracker, 7, 7, "", NULL);
	assert_false(player_shows(&player, "etw_disk_info", LABELS("2", "Third", "4096")));
	assert_false(player_shows(&player, "etw_disk_volume_info",
				  LABELS("0", "2", "D:\\data", "ReFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info", LABELS("0", "3", "F:", "FAT32")));
	tape_done(&tape);
	player_done(&player);
}

static void volumes_on_several_disks_have_no_partition(void **state)
{
	struct player player;

	(void)state;
	player_init(&player, &gauges);
	tracker_find_partition(player.tracker, 4, ETW_SOURCE_NO_PARTITION, "E:", "NTFS");
	tracker_find_partition(player.tracker, 5, ETW_SOURCE_NO_PARTITION, "E:", "NTFS");
	tracker_find_partition(player.tracker, 4, ETW_SOURCE_NO_PARTITION, "F:", "ReFS");
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("4", "_unknown", "E:", "NTFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("5", "_unknown", "E:", "NTFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("4", "_unknown", "F:", "ReFS")));
	tracker_find_partition(player.tracker, 4, ETW_SOURCE_NO_PARTITION, "E:", NULL);
	assert_false(player_shows(&player, "etw_disk_volume_info",
				  LABELS("4", "_unknown", "E:", "NTFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("4", "_unknown", "F:", "ReFS")));
	/* Beyond the table, and beyond the disks. */
	for (uint32_t i = 0; i < 2000; i++) {
		tracker_find_partition(player.tracker, 0, i, "", "NTFS");
		tracker_find_disk(player.tracker, i, "", 0);
	}
	for (uint32_t i = 2000; i > 0; i--) {
		tracker_find_partition(player.tracker, 0, i - 1, "", NULL);
		tracker_find_disk(player.tracker, i - 1, NULL, 0);
	}
	assert_false(player_shows(&player, "etw_disk_info", LABELS("0", "_unknown", "0")));
	assert_false(player_shows(&player, "etw_disk_volume_info",
				  LABELS("0", "0", "_unknown", "NTFS")));
	assert_true(player_shows(&player, "etw_disk_volume_info",
				 LABELS("4", "_unknown", "F:", "ReFS")));
	player_done(&player);
}

/* ---- program files ---- */

static void put_image(struct tape *tape, uint8_t opcode, int64_t time, uint32_t process_id,
		      uint32_t checksum, const char *path)
{
	etw_payload_pointer(&tape->payload, 0x400000);
	etw_payload_pointer(&tape->payload, 0x1000);
	etw_payload_u32(&tape->payload, process_id);
	etw_payload_u32(&tape->payload, checksum);
	etw_payload_zeros(&tape->payload, 8);
	etw_payload_pointer(&tape->payload, 0x400000);
	etw_payload_zeros(&tape->payload, 16);
	etw_payload_wstring(&tape->payload, path);
	tape_add(tape, "Image", opcode, 3, time);
}

static bool shows_image(struct player *player, const char *process, const char *path,
			const char *checksum)
{
	return player_shows(player, "etw_process_image_info",
			    LABELS(process, "Windows Kernel", path, checksum));
}

static void a_process_shows_the_image_it_is_named_after_while_it_runs(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &gauges);
	tape_init(&tape, 8);
	tape_process(&tape, 1, 1, 7, "App.exe");
	tape_process(&tape, 1, 1, 8, "app.exe");
	tape_process(&tape, 3, 1, 9, "averylongnameo"); /* as older systems cut it */
	put_image(&tape, 10, 2, 7, 0xabc, "\\dir\\ntdll.dll");
	put_image(&tape, 10, 2, 7, 0x1234abcd, "\\dir\\APP.EXE");
	put_image(&tape, 3, 2, 8, 0x1234abcd, "\\dir\\APP.EXE");
	put_image(&tape, 3, 2, 9, 1, "averylongnameofaprogram.exe");
	player_play(&player, &tape, ONE_PASS);
	assert_true(shows_image(&player, "App", "\\dir\\APP.EXE", "0x1234abcd"));
	assert_false(shows_image(&player, "App", "\\dir\\ntdll.dll", "0x00000abc"));
	assert_true(shows_image(&player, "averylongnameo", "averylongnameofaprogram.exe",
				"0x00000001"));
	tape_rewind(&tape);
	tape_process(&tape, 2, 5, 7, "App.exe");
	player_play(&player, &tape, ONE_PASS);
	assert_true(
		shows_image(&player, "App", "\\dir\\APP.EXE", "0x1234abcd")); /* another one runs */
	tape_rewind(&tape);
	tape_process(&tape, 2, 6, 8, "App.exe");
	player_play(&player, &tape, ONE_PASS);
	assert_false(shows_image(&player, "App", "\\dir\\APP.EXE", "0x1234abcd"));
	tape_rewind(&tape);
	tape_process(&tape, 1, 7, 8, "App.exe");
	put_image(&tape, 10, 8, 8, 0x1234abcd, "\\dir\\APP.EXE");
	player_play(&player, &tape, ONE_PASS);
	assert_true(shows_image(&player, "App", "\\dir\\APP.EXE", "0x1234abcd"));
	tracker_reset(player.tracker);
	assert_false(shows_image(&player, "App", "\\dir\\APP.EXE", "0x1234abcd"));
	tape_done(&tape);
	player_done(&player);
}

/* The path of a program is the one that file paths have: with a drive where the volume has one. */
static void the_path_of_a_program_has_its_drive(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &gauges);
	tape_init(&tape, 8);
	etw_payload_wstring(&tape.payload, "\\Device\\HarddiskVolume3\\");
	etw_payload_wstring(&tape.payload, "C:\\");
	tape_add(&tape, "SysConfig", 35, 2, 0);
	tape_process(&tape, 1, 1, 7, "app.exe");
	tape_process(&tape, 1, 1, 8, "tool.exe");
	put_image(&tape, 10, 2, 7, 1, "\\Device\\HarddiskVolume3\\bin\\app.exe");
	put_image(&tape, 10, 2, 8, 2, "\\Device\\HarddiskVolume9\\bin\\tool.exe");
	player_play(&player, &tape, ONE_PASS);
	assert_true(shows_image(&player, "app", "C:\\bin\\app.exe", "0x00000001"));
	assert_true(shows_image(&player, "tool", "\\Device\\HarddiskVolume9\\bin\\tool.exe",
				"0x00000002"));
	tape_done(&tape);
	player_done(&player);
}

static void gauges_are_bounded_like_the_tables(void **state)
{
	static const struct tracker_options few = {
		.process_gauges = true, .image_info = true, .processes = 5, .threads = 5
	};
	struct player player;
	struct tape tape;
	struct tracker_statistics statistics;

	(void)state;
	player_init(&player, &few);
	tape_init(&tape, 8);
	for (uint32_t i = 1; i <= 50; i++) {
		tape_process(&tape, 1, i, i, "a.exe");
		tape_thread(&tape, 1, i, i, 1);
		put_image(&tape, 10, i, i, i, "a.exe");
	}
	player_play(&player, &tape, ONE_PASS);
	assert_int_equal(player_instances(&player, "a"), 5);
	assert_int_equal(player_threads(&player, "a"), 5);
	tracker_statistics(player.tracker, &statistics);
	assert_true(statistics.evictions[TABLE_PROCESS] >= 45);
	assert_true(statistics.evictions[TABLE_THREAD] >= 45);
	tape_done(&tape);
	player_done(&player);
}

/* Beyond the limit on series, images of several processes share the overflow series. */
static void the_overflow_series_of_images_is_there_while_one_of_them_runs(void **state)
{
	static const char other[] = "etw_process_image_info{process=\"_other\",provider=\"Windows "
				    "Kernel\",path=\"_other\",checksum=\"_other\"} 1\n";
	static const char file[] = "C:\\app.exe";
	const struct registry_limits limits = { .series_per_family = 2 };
	struct registry *registry = registry_new(&limits, NULL);
	struct shard *shard = registry_shard(registry, false, NULL);
	uint32_t app = intern_string(registry_strings(registry), "app");
	struct info_metric images;

	(void)state;
	assert_true(info_metric_init(&images, &image_info_family, registry, shard, 10, NULL));
	for (uint32_t i = 0; i < 4; i++) {
		image_info_announce(&images, i, app, app, file, sizeof file - 1, i, 1);
	}
	page_expect(registry, other);
	info_metric_forget(&images, 3, 2);
	page_expect(registry, other); /* that of process 2 still runs */
	info_metric_forget(&images, 0, 2);
	info_metric_forget(&images, 1, 2);
	for (int64_t time = 0; time < 3; time++) {
		shard_tend(shard, time, time + 1); /* there is room again */
	}
	info_metric_forget(&images, 2, 2);
	page_expect_none(registry, other);
	info_metric_clear(&images);
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_alive_from_start_or_rundown_to_stop),
		cmocka_unit_test(a_name_that_comes_late_moves_what_was_counted),
		cmocka_unit_test(gauges_that_are_not_enabled_do_not_exist),
		cmocka_unit_test(disks_and_their_volumes_are_described),
		cmocka_unit_test(disks_found_live_stand_where_records_do_not),
		cmocka_unit_test(volumes_on_several_disks_have_no_partition),
		cmocka_unit_test(a_process_shows_the_image_it_is_named_after_while_it_runs),
		cmocka_unit_test(the_path_of_a_program_has_its_drive),
		cmocka_unit_test(gauges_are_bounded_like_the_tables),
		cmocka_unit_test(the_overflow_series_of_images_is_there_while_one_of_them_runs),
	};

	return cmocka_run_group_tests_name("tracker gauges", tests, NULL, NULL);
}
