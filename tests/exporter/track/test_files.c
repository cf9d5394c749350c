/* SPDX-License-Identifier: MIT */
/*
 * Names and volumes of files: docs/etl-format.md section 16.3, sentence by sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/track/files.h"
#include "tests/support/tracker_run.h"

static const struct tracker_options files_only = { .features = TRACK_FILES };

/*
 * A line of a story is "TIME OPCODE KEY OBJECT PATH". Opcodes 0, 32, 35, 36 name KEY, 64 names
 * OBJECT, the others ask for the path of KEY and OBJECT ("." for none).
 */
static void put_line(struct tape *tape, const char *line)
{
	const char *path = line;
	int64_t time = story_number(&path);
	uint32_t opcode = story_number(&path);
	uint32_t key = story_number(&path);
	uint32_t object = story_number(&path);
	struct tape_event *event;

	path = strcmp(path, ".") == 0 ? "" : path;
	if (opcode < 64) {
		etw_payload_pointer(&tape->payload, key);
		etw_payload_wstring(&tape->payload, path);
		tape_add(tape, "FileIo", (uint8_t)opcode, 2, time);
	} else if (opcode == 64) {
		etw_payload_pointer(&tape->payload, 0x9999);
		etw_payload_pointer(&tape->payload, object);
		etw_payload_zeros(&tape->payload, 16);
		etw_payload_wstring(&tape->payload, path);
		event = tape_add(tape, "FileIo", 64, 3, time);
		event->path = path; /* a create is about the file it names */
	} else {
		event = tape_zeros(tape, "FileIo", (uint8_t)opcode, 3, time);
		tape_poke(event, "FileKey", key);
		tape_poke(event, "FileObject", object);
		event->path = path;
	}
}

static void a_read_finds_its_file(void **state)
{
	static const struct story stories[] = {
		{ "by key: named", { "1 0 7 0 a", "2 67 7 9 a" }, TWO_PASSES },
		{ "by key: created", { "1 32 7 0 a", "2 67 7 9 a" }, TWO_PASSES },
		{ "by key: rundown at the end", { "2 67 7 9 a", "90 36 7 0 a" }, TWO_PASSES },
		{ "by key: delete without a create",
		  { "2 68 7 9 a", "5 35 7 0 a", "6 68 7 9 a" },
		  TWO_PASSES },
		{ "a key used again",
		  { "1 32 7 0 a", "5 35 7 0 a", "9 32 7 0 b", "2 67 7 0 a", "5 67 7 0 a",
		    "8 67 7 0 a", "9 67 7 0 b" },
		  TWO_PASSES },
		{ "a key used again without a delete",
		  { "1 32 7 0 a", "9 32 7 0 b", "8 67 7 0 a", "9 67 7 0 b" },
		  TWO_PASSES },
		{ "a name record leaves an open instance",
		  { "1 32 7 0 a", "5 0 7 0 b", "6 67 7 0 a" },
		  TWO_PASSES },
		{ "after a delete it begins a new one at the end of the old",
		  { "1 32 7 0 a", "5 35 7 0 a", "9 36 7 0 b", "4 67 7 0 a", "5 67 7 0 b",
		    "7 67 7 0 b" },
		  TWO_PASSES },
		{ "by object, when no key is named", { "1 64 0 9 a", "2 67 7 9 a" }, TWO_PASSES },
		{ "each create opens anew",
		  { "1 64 0 9 a", "5 64 0 9 b", "2 67 7 9 a", "5 67 7 9 b", "6 67 7 9 b" },
		  TWO_PASSES },
		{ "cleanup and close end nothing",
		  { "1 64 0 9 a", "2 65 7 9 a", "3 66 7 9 a", "4 67 7 9 a" },
		  TWO_PASSES },
		{ "the key is right when both are named",
		  { "1 64 0 9 a", "1 32 7 0 b", "2 67 7 9 b" },
		  TWO_PASSES },
		{ "even when the key is named last",
		  { "1 64 0 9 a", "2 67 7 9 b", "90 36 7 0 b" },
		  TWO_PASSES },
		{ "a key named with nothing names nothing",
		  { "1 32 7 0 .", "1 64 0 9 a", "2 67 7 9 a" },
		  TWO_PASSES },
		{ "keys and objects are two worlds",
		  { "1 64 0 7 a", "2 67 7 9 .", "3 67 9 7 a" },
		  TWO_PASSES },
		{ "key 0 and object 0 are keys as others",
		  { "1 32 0 0 a", "2 67 0 0 a" },
		  TWO_PASSES },
		{ "no event names it", { "2 67 7 9 ." }, TWO_PASSES },
		{ "other operations too",
		  { "1 32 7 0 a", "2 70 7 9 a", "2 71 7 9 a", "2 73 7 9 a" },
		  TWO_PASSES },
		{ "before its create an object has the first name",
		  { "1 67 7 9 a", "5 64 0 9 a" },
		  TWO_PASSES },
		{ "read once: what came before counts",
		  { "1 67 7 9 .", "2 36 7 0 a", "3 67 7 9 a" },
		  ONE_PASS },
	};

	(void)state;
	play_stories(stories, sizeof stories / sizeof stories[0], &files_only, put_line);
}

struct mapping {
	const char *nt;
	const char *dos;
};

static void a_path_has_the_volume_of_section_16_3(void **state)
{
	static const struct {
		const char *name;
		const char *path;
		const char *volume;
		struct mapping mappings[5];
	} cases[] = {
		{ "mapped",
		  "\\Device\\HarddiskVolume2\\x\\y",
		  "C:",
		  { { "\\Device\\HarddiskVolume2\\", "C:\\" } } },
		{ "mapped without backslashes",
		  "\\Device\\HarddiskVolume2\\x",
		  "C:",
		  { { "\\Device\\HarddiskVolume2", "C:" } } },
		{ "the volume itself",
		  "\\Device\\HarddiskVolume2",
		  "C:",
		  { { "\\Device\\HarddiskVolume2\\", "C:\\" } } },
		{ "only up to a backslash",
		  "\\Device\\HarddiskVolume25\\x",
		  "HarddiskVolume25",
		  { { "\\Device\\HarddiskVolume2\\", "C:\\" } } },
		{ "letters without case, the drive in upper case",
		  "\\DEVICE\\harddiskvolume2\\x",
		  "D:",
		  { { "\\Device\\HarddiskVolume2\\", "d:\\" } } },
		{ "the longest one, in any order",
		  "\\Device\\HarddiskVolume2\\mount\\x",
		  "E:",
		  { { "\\Device\\HarddiskVolume2\\", "C:\\" },
		    { "\\Device\\HarddiskVolume2\\mount\\", "E:\\" } } },
		{ "the longest one, announced first",
		  "\\Device\\HarddiskVolume2\\mount\\x",
		  "E:",
		  { { "\\Device\\HarddiskVolume2\\mount\\", "E:\\" },
		    { "\\Device\\HarddiskVolume2\\", "C:\\" } } },
		{ "beside the longest one",
		  "\\Device\\HarddiskVolume2\\mounted\\x",
		  "C:",
		  { { "\\Device\\HarddiskVolume2\\mount\\", "E:\\" },
		    { "\\Device\\HarddiskVolume2\\", "C:\\" } } },
		{ "mappings to no drive do not count",
		  "\\Device\\Mup\\server\\share",
		  "Mup",
		  { { "\\Device\\Mup\\", "\\\\" },
		    { "\\??\\", "" },
		    { "\\Device\\Mup\\server\\", "1:\\" } } },
		{ "SystemRoot can be mapped",
		  "\\SystemRoot\\x",
		  "C:",
		  { { "\\SystemRoot\\", "C:\\Windows\\" } } },
		{ "an empty native path maps nothing",
		  "\\x",
		  "_unknown",
		  { { "\\", "C:\\" }, { "", "D:\\" } } },
		{ "announced twice, the later one wins",
		  "\\Device\\A\\x",
		  "D:",
		  { { "\\Device\\A\\", "C:" }, { "\\device\\a", "D:" } } },
		{ "a device", "\\Device\\HarddiskVolume3\\x", "HarddiskVolume3", { { 0 } } },
		{ "a device alone", "\\Device\\HarddiskVolume3", "HarddiskVolume3", { { 0 } } },
		{ "a device in another case", "\\dEVICE\\Abc\\x", "Abc", { { 0 } } },
		{ "a device without a name", "\\Device\\", "_unknown", { { 0 } } },
		{ "a device with an empty name", "\\Device\\\\x", "_unknown", { { 0 } } },
		{ "a drive", "c:\\x", "C:", { { 0 } } },
		{ "a drive alone", "C:", "C:", { { 0 } } },
		{ "a drive of the DOS devices", "\\??\\d:\\x", "D:", { { 0 } } },
		{ "mapped before the drive", "C:\\mount\\x", "E:", { { "C:\\mount", "E:" } } },
		{ "a shadow copy, without its number",
		  "\\Device\\HarddiskVolumeShadowCopy12\\x",
		  "HarddiskVolumeShadowCopy",
		  { { 0 } } },
		{ "shadow copies in another case, one of them without a number",
		  "\\device\\harddiskvolumeshadowcopy",
		  "HarddiskVolumeShadowCopy",
		  { { 0 } } },
		{ "something behind the number",
		  "\\Device\\HarddiskVolumeShadowCopy12b\\x",
		  "HarddiskVolumeShadowCopy12b",
		  { { 0 } } },
		{ "a shadow copy with a letter",
		  "\\Device\\HarddiskVolumeShadowCopy12\\x",
		  "S:",
		  { { "\\Device\\HarddiskVolumeShadowCopy12\\", "S:\\" } } },
		{ "a record maps to a drive, not to a folder",
		  "\\Device\\HarddiskVolume7\\x",
		  "D:",
		  { { "\\Device\\HarddiskVolume7\\", "D:\\data\\" } } },
		{ "no letter", "1:\\x", "_unknown", { { 0 } } },
		{ "the DOS devices without a drive", "\\??\\Volume{1}\\x", "_unknown", { { 0 } } },
		{ "something else", "\\SystemRoot\\x", "_unknown", { { 0 } } },
		{ "no backslash in front", "Device\\HarddiskVolume3\\x", "_unknown", { { 0 } } },
		{ "empty", "", "_unknown", { { 0 } } },
		{ "other letters keep their case",
		  "\\Device\\\xc3\x84\\x",
		  "\xc3\x84",
		  { { "\\Device\\\xc3\xa4\\", "C:" } } },
	};
	static const struct registry_limits limits;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct registry *registry = registry_new(&limits, NULL);
		struct volumes volumes;
		uint32_t label;

		print_message("  %s\n", cases[i].name);
		volumes_init(&volumes, registry);
		for (const struct mapping *mapping = cases[i].mappings; mapping->nt; mapping++) {
			volumes_map(&volumes, mapping->nt, strlen(mapping->nt), mapping->dos,
				    strlen(mapping->dos), false);
		}
		label = volumes_label(&volumes, cases[i].path, strlen(cases[i].path));
		assert_string_equal(intern_text(registry_strings(registry), label, NULL),
				    cases[i].volume);
		volumes_done(&volumes);
		registry_free(registry);
	}
}

static void put_mapping(struct tape *tape, int64_t time, const char *nt, const char *dos)
{
	etw_payload_wstring(&tape->payload, nt);
	etw_payload_wstring(&tape->payload, dos);
	tape_add(tape, "SysConfig", 35, 0, time);
}

static void put_file(struct tape *tape, int64_t time, uint64_t key, const char *path)
{
	etw_payload_pointer(&tape->payload, key);
	etw_payload_wstring(&tape->payload, path);
	tape_add(tape, "FileIo", 32, 2, time);
}

static struct tape_event *ask_volume(struct tape *tape, int64_t time, uint64_t key,
				     const char *volume)
{
	struct tape_event *event = tape_zeros(tape, "FileIo", 68, 3, time);

	tape_poke(event, "FileKey", key);
	event->volume = volume;
	return event;
}

static void mappings_hold_for_the_whole_trace_at_any_place(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &files_only);
	tape_init(&tape, 4);
	put_file(&tape, 1, 7, "\\Device\\HarddiskVolume2\\x");
	ask_volume(&tape, 2, 7, "C:");
	put_mapping(&tape, 900, "\\Device\\HarddiskVolume2\\", "C:\\");
	ask_volume(&tape, 950, 7, "C:");
	player_play(&player, &tape, TWO_PASSES);
	/* Without a first pass they apply from then on. */
	tracker_reset(player.tracker);
	tape.events[1].volume = "HarddiskVolume2";
	player_play(&player, &tape, ONE_PASS);
	tape_done(&tape);
	player_done(&player);
}

/* What a live session finds: letters and mount folders that come, change and go. */
static void volumes_found_live_change_and_go(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &files_only);
	tape_init(&tape, 8);
	put_file(&tape, 1, 7, "\\Device\\HarddiskVolume7\\x");
	put_file(&tape, 1, 9, "\\Device\\HarddiskVolume9\\x");
	tracker_map_volume(player.tracker, "\\Device\\HarddiskVolume7", "e:");
	ask_volume(&tape, 2, 7, "E:");
	ask_volume(&tape, 3, 9, "HarddiskVolume9");
	player_play(&player, &tape, ONE_PASS);
	/* The letter moves, and the old volume is mounted in a folder. */
	tracker_map_volume(player.tracker, "\\Device\\HarddiskVolume7", NULL);
	tracker_map_volume(player.tracker, "\\Device\\HarddiskVolume9", "E:");
	tape.events[2].volume = "HarddiskVolume7";
	tape.events[3].volume = "E:";
	player_play(&player, &tape, ONE_PASS);
	tracker_map_volume(player.tracker, "\\Device\\HarddiskVolume7", "d:\\data\\");
	tape.events[2].volume = "D:\\data";
	player_play(&player, &tape, ONE_PASS);
	/* One that never had a letter goes. */
	tracker_map_volume(player.tracker, "\\Device\\HarddiskVolume8", NULL);
	tracker_map_volume(player.tracker, "", NULL);
	tracker_reset(player.tracker);
	tape.events[2].volume = "HarddiskVolume7";
	tape.events[3].volume = "HarddiskVolume9";
	player_play(&player, &tape, ONE_PASS);
	tape_done(&tape);
	player_done(&player);
}

static void a_path_has_its_mount_folder(void **state)
{
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	const char *nt = "\\Device\\HarddiskVolume7", *path = "\\Device\\HarddiskVolume7\\a\\b";
	struct etw_text out = { 0 };
	struct volumes volumes;

	(void)state;
	volumes_init(&volumes, registry);
	assert_true(volumes_map(&volumes, nt, strlen(nt), "d:\\data\\", 8, true));
	assert_false(volumes_map(&volumes, nt, strlen(nt), "D:\\data", 7, true));
	volumes_dos_path(&volumes, path, strlen(path), &out);
	assert_int_equal(out.size, 11);
	assert_memory_equal(out.data, "D:\\data\\a\\b", 11);
	assert_true(volumes_unmap(&volumes, nt, strlen(nt)));
	assert_false(volumes_unmap(&volumes, nt, strlen(nt)));
	text_free(&out);
	volumes_done(&volumes);
	registry_free(registry);
}

static void a_file_without_a_name_has_an_unknown_volume_and_no_path(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &files_only);
	tape_init(&tape, 8);
	ask_volume(&tape, 1, 7, "_unknown")->path = "";
	event = tape_header(&tape, 2, 1, 1); /* nor has an event that is about no file */
	event->volume = "_unknown";
	event->path = "";
	event = ask_volume(&tape, 3, 7, "_unknown"); /* nor one that ends before its key */
	event->record.payload_size = 8;
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void disk_transfers_name_the_file_by_its_key(void **state)
{
	struct player player;
	struct tape tape;
	struct tape_event *event;

	(void)state;
	player_init(&player, &files_only);
	tape_init(&tape, 8);
	put_file(&tape, 1, 7, "\\Device\\HarddiskVolume2\\x");
	event = tape_zeros(&tape, "DiskIo", 10, 3, 5);
	tape_poke(event, "FileObject", 7);
	event->path = "\\Device\\HarddiskVolume2\\x";
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void lone_surrogates_in_a_path_become_replacement_characters(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &files_only);
	tape_init(&tape, 8);
	etw_payload_pointer(&tape.payload, 7);
	etw_payload_u16(&tape.payload, 'C');
	etw_payload_u16(&tape.payload, ':');
	etw_payload_u16(&tape.payload, 0xd800);
	tape_add(&tape, "FileIo", 32, 2, 1);
	ask_volume(&tape, 2, 7, "C:")->path = "C:\xef\xbf\xbd";
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void when_paths_no_longer_fit_volumes_are_still_known(void **state)
{
	enum { FILES = 500 };
	static const struct tracker_options little = { .features = TRACK_FILES,
						       .strings_bytes = 4096 };

	(void)state;
	for (unsigned passes = ONE_PASS; passes <= TWO_PASSES; passes++) {
		struct player player;
		struct tape tape;
		char path[64];

		player_init(&player, &little);
		tape_init(&tape, 8);
		put_mapping(&tape, 1, "\\Device\\HarddiskVolume2\\", "C:\\");
		for (uint64_t i = 1; i <= FILES; i++) {
			snprintf(path, sizeof path, "\\Device\\HarddiskVolume%u\\%u",
				 (unsigned)(i % 4), (unsigned)i);
			put_file(&tape, (int64_t)i, i, path);
			ask_volume(&tape, (int64_t)i, i,
				   i % 4 == 2 ? "C:" :
				   i % 4 == 3 ? "HarddiskVolume3" :
				   i % 4 == 1 ? "HarddiskVolume1" :
						"HarddiskVolume0");
		}
		ask_volume(&tape, FILES + 1, FILES, "HarddiskVolume0")->path = "";
		player_play(&player, &tape, (enum passes)passes);
		tape_done(&tape);
		player_done(&player);
	}
}

static void what_decides_the_volume_is_the_start_of_the_path(void **state)
{
	static const struct {
		const char *path;
		const char *prefix;
	} cases[] = {
		{ "\\Device\\HarddiskVolume3\\a\\b", "\\Device\\HarddiskVolume3" },
		{ "\\Device\\HarddiskVolume3", "\\Device\\HarddiskVolume3" },
		{ "\\??\\C:\\a\\b", "\\??\\C:" },
		{ "C:\\a\\b", "C:" },
		{ "C:", "C:" },
		{ "\\", "\\" },
		{ "", "" },
		{ "a", "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(volumes_prefix(cases[i].path, strlen(cases[i].path), false),
				 strlen(cases[i].prefix));
	}
}

static void files_are_not_tracked_unless_enabled(void **state)
{
	static const struct tracker_options none;
	struct player player;
	struct tape tape;
	struct tracker_statistics statistics;

	(void)state;
	player_init(&player, &none);
	tape_init(&tape, 8);
	put_file(&tape, 1, 7, "\\Device\\HarddiskVolume2\\x");
	ask_volume(&tape, 2, 7, "_unknown");
	player_play(&player, &tape, TWO_PASSES);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.entries[TABLE_FILE], 0);
	tape_done(&tape);
	player_done(&player);
}

/* What happens to one key, or is found, or is asked. */
struct step {
	enum { START, STOP, FOUND, ASK } what;
	int64_t time;
	const char *path;
	int64_t known_until; /* FOUND: the records up to this time are known */
};

static void a_found_name_is_true_at_its_time(void **state)
{
	static const struct {
		const char *name;
		struct step steps[8];
	} stories[] = {
		{ "of an unknown key, always",
		  { { FOUND, 100, "a", 50 }, { ASK, 60, "a", 0 }, { ASK, 110, "a", 0 } } },
		{ "of a key that the records reused later, not",
		  { { START, 150, "b", 0 }, { FOUND, 100, "a", 200 }, { ASK, 160, "b", 0 } } },
		{ "where records were lost, from then on",
		  { { START, 50, "a", 0 },
		    { FOUND, 100, "b", 200 },
		    { ASK, 60, "a", 0 },
		    { ASK, 110, "b", 0 } } },
		{ "where records are still to come, as they say",
		  { { START, 50, "a", 0 },
		    { FOUND, 100, "b", 60 },
		    { STOP, 70, "a", 0 },
		    { START, 80, "b", 0 },
		    { ASK, 65, "a", 0 },
		    { ASK, 90, "b", 0 } } },
		{ "of a key that has ended, from its end on",
		  { { START, 50, "a", 0 },
		    { STOP, 70, "a", 0 },
		    { FOUND, 100, "b", 200 },
		    { ASK, 60, "a", 0 },
		    { ASK, 80, "b", 0 } } },
		{ "of the same path, nothing new",
		  { { START, 50, "a", 0 },
		    { FOUND, 100, "a", 200 },
		    { STOP, 90, "a", 0 }, /* a late record */
		    { START, 95, "b", 0 },
		    { ASK, 96, "b", 0 } } },
		{ "of a key that was used without a name, always",
		  { { START, 50, "", 0 }, { FOUND, 100, "a", 200 }, { ASK, 60, "a", 0 } } },
	};
	const uint64_t key = 7;

	(void)state;
	for (size_t i = 0; i < sizeof stories / sizeof stories[0]; i++) {
		static const struct registry_limits limits;
		struct registry *registry = registry_new(&limits, NULL);
		struct intern *texts = intern_new(1000, NULL);
		struct files files;

		print_message("  %s\n", stories[i].name);
		assert_non_null(registry);
		assert_non_null(texts);
		assert_true(files_init(&files, registry, texts, 10, NULL));
		for (const struct step *step = stories[i].steps; step->path; step++) {
			size_t size = strlen(step->path);

			if (step->what == FOUND) {
				files_found_key(&files, key, step->time, step->known_until,
						step->path, size);
			} else if (step->what == ASK) {
				const char *path = files_path(
					&files, files_of_key(&files, key, step->time), &size);

				assert_non_null(path);
				assert_string_equal(path, step->path);
			} else {
				files_name_key(&files,
					       step->what == START ? LIFETIME_START : LIFETIME_STOP,
					       key, step->time, step->path, size);
			}
		}
		files_done(&files);
		intern_free(texts);
		registry_free(registry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_finds_its_file),
		cmocka_unit_test(a_path_has_the_volume_of_section_16_3),
		cmocka_unit_test(mappings_hold_for_the_whole_trace_at_any_place),
		cmocka_unit_test(volumes_found_live_change_and_go),
		cmocka_unit_test(a_path_has_its_mount_folder),
		cmocka_unit_test(a_file_without_a_name_has_an_unknown_volume_and_no_path),
		cmocka_unit_test(disk_transfers_name_the_file_by_its_key),
		cmocka_unit_test(lone_surrogates_in_a_path_become_replacement_characters),
		cmocka_unit_test(when_paths_no_longer_fit_volumes_are_still_known),
		cmocka_unit_test(what_decides_the_volume_is_the_start_of_the_path),
		cmocka_unit_test(files_are_not_tracked_unless_enabled),
		cmocka_unit_test(a_found_name_is_true_at_its_time),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
