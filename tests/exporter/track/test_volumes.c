/* SPDX-License-Identifier: MIT */
/*
 * What is no volume: pipes, mail slots, and files on the network by their share.
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

#define FILE_SERVER "\\\\fs1\\data"

/* Labels of volumes, of a registry of its own. */
struct fixture {
	struct registry *registry;
	struct volumes volumes;
};

static void fixture_init(struct fixture *fixture, uint32_t share_limit)
{
	static const struct registry_limits limits;

	fixture->registry = registry_new(&limits, NULL);
	assert_non_null(fixture->registry);
	volumes_init(&fixture->volumes, fixture->registry);
	fixture->volumes.share_limit = share_limit;
}

static void fixture_done(struct fixture *fixture)
{
	volumes_done(&fixture->volumes);
	registry_free(fixture->registry);
}

/* Asks with a copy that ends with the path, so that the sanitizers see an overread. */
static const char *label_of(struct fixture *fixture, const char *path)
{
	size_t size = strlen(path);
	char *copy = malloc(size ? size : 1);
	uint32_t label;

	assert_non_null(copy);
	memcpy(copy, path, size);
	label = volumes_label(&fixture->volumes, copy, size);
	free(copy);
	return intern_text(registry_strings(fixture->registry), label, NULL);
}

static void what_is_no_volume_has_a_label_of_its_own(void **state)
{
	static const struct {
		const char *path;
		const char *label;    /* without shares */
		const char *by_share; /* NULL: the same */
	} cases[] = {
		{ "\\Device\\NamedPipe\\lsass", "pipe", NULL },
		{ "\\device\\namedpipe", "pipe", NULL },
		{ "\\Device\\NamedPipe\\", "pipe", NULL },
		{ "\\??\\pipe\\chrome.1", "pipe", NULL },
		{ "\\\\.\\pipe\\chrome.1", "pipe", NULL },
		{ "\\Device\\NamedPipes\\a", "NamedPipes", NULL },
		{ "\\??\\piper\\a", "_unknown", NULL },
		{ "\\Device\\Mailslot\\NET\\NETLOGON", "mailslot", NULL },
		{ "\\\\?\\mailslot\\a", "mailslot", NULL },
		{ "\\Device\\HarddiskVolume3\\a", "HarddiskVolume3", NULL },
		{ "\\??\\C:\\pipe\\a", "C:", NULL },
		{ "\\Device\\Mup\\fs1\\data\\a.txt", "Mup", FILE_SERVER },
		{ "\\DEVICE\\MUP\\FS1\\Data", "MUP", FILE_SERVER },
		{ "\\Device\\Mup\\;LanmanRedirector\\;X:00000000000003e7\\fs1\\data\\a", "Mup",
		  FILE_SERVER },
		{ "\\Device\\Mup\\;Csc\\.\\.\\fs1\\data\\a", "Mup", FILE_SERVER },
		{ "\\Device\\LanmanRedirector\\fs1\\data\\a", "LanmanRedirector", FILE_SERVER },
		{ "\\Device\\LanmanRedirector\\;X:00000000000003e7\\fs1\\data", "LanmanRedirector",
		  FILE_SERVER },
		{ "\\Device\\WebDavRedirector\\;Y:0\\Host@SSL\\DavWWWRoot\\a", "WebDavRedirector",
		  "\\\\host@ssl\\davwwwroot" },
		{ "\\Device\\RdpDr\\;C:2\\tsclient\\C\\a", "RdpDr", "\\\\tsclient\\c" },
		{ "\\Device\\hgfs\\;Z:0\\vmware-host\\Shared Folders\\a", "hgfs",
		  "\\\\vmware-host\\shared folders" },
		{ "\\Device\\VBoxMiniRdr\\;E:\\VBoxSvr\\share\\a", "VBoxMiniRdr",
		  "\\\\vboxsvr\\share" },
		{ "\\Device\\vmsmb\\VSMB-{dcc079ae}\\os\\a", "vmsmb", "\\\\vsmb-{dcc079ae}\\os" },
		{ "\\Device\\P9Rdr\\wsl.localhost\\Debian\\a", "P9Rdr",
		  "\\\\wsl.localhost\\debian" },
		/* DOS names; without shares they are as unknown as ever. */
		{ "\\??\\UNC\\fs1\\data\\a", "_unknown", FILE_SERVER },
		{ "\\\\?\\UNC\\fs1\\data\\a", "_unknown", FILE_SERVER },
		{ "\\\\fs1\\data\\a", "_unknown", FILE_SERVER },
		/* The path does not name server and share. */
		{ "\\Device\\Mup", "Mup", "network" },
		{ "\\Device\\Mup\\", "Mup", "network" },
		{ "\\Device\\Mup\\fs1", "Mup", "network" },
		{ "\\Device\\Mup\\fs1\\", "Mup", "network" },
		{ "\\Device\\Mup\\fs1\\\\data", "Mup", "network" },
		{ "\\Device\\Mup\\;LanmanRedirector\\;X:0", "Mup", "network" },
		{ "\\Device\\Mup\\;\\.\\\\fs1\\data", "Mup", FILE_SERVER },
		{ "\\\\", "_unknown", NULL },
		{ "\\\\\\a\\b", "_unknown", NULL },
		{ "\\\\a", "_unknown", "network" },
		{ "\\??\\UNC", "_unknown", "network" },
		/* ASCII letters in lower case, control characters and quotes as they stand. */
		{ "\\Device\\Mup\\F\"\n\x01\\\xc3\x84RGER", "Mup", "\\\\f\"\n\x01\\\xc3\x84rger" },
		{ "\\Device\\Mup\\fs\xff\\data", "Mup", "\\\\fs\xef\xbf\xbd\\data" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *by_share = cases[i].by_share ? cases[i].by_share : cases[i].label;
		struct fixture fixture;

		print_message("  %s\n", cases[i].path);
		fixture_init(&fixture, 0);
		assert_string_equal(label_of(&fixture, cases[i].path), cases[i].label);
		fixture_done(&fixture);
		fixture_init(&fixture, 8);
		assert_string_equal(label_of(&fixture, cases[i].path), by_share);
		assert_int_equal(fixture.volumes.refused_shares, 0);
		fixture_done(&fixture);
	}
}

/* A drive letter belongs to one logon, a share to all. A pipe has none, even if a record maps it.
 */
static void a_share_goes_before_its_drive_letter(void **state)
{
	static const char nt[] = "\\Device\\LanmanRedirector\\;X:03e7\\fs1\\data";
	static const char path[] = "\\Device\\LanmanRedirector\\;X:03e7\\fs1\\data\\a";
	static const char pipes[] = "\\Device\\NamedPipe\\";
	struct fixture fixture;

	(void)state;
	for (uint32_t limit = 0; limit < 2; limit++) {
		fixture_init(&fixture, limit);
		assert_true(volumes_map(&fixture.volumes, nt, sizeof nt - 1, "X:", 2, true));
		assert_true(volumes_map(&fixture.volumes, pipes, sizeof pipes - 1, "P:", 2, false));
		assert_string_equal(label_of(&fixture, path), limit ? FILE_SERVER : "X:");
		assert_string_equal(label_of(&fixture, "\\Device\\NamedPipe\\a"), "pipe");
		fixture_done(&fixture);
	}
}

static void shares_beyond_the_limit_are_network(void **state)
{
	struct fixture fixture;
	char path[600] = "\\Device\\Mup\\";

	(void)state;
	fixture_init(&fixture, 2);
	assert_string_equal(label_of(&fixture, "\\Device\\Mup\\a\\b\\c"), "\\\\a\\b");
	assert_string_equal(label_of(&fixture, "\\Device\\Mup\\a\\c\\c"), "\\\\a\\c");
	assert_string_equal(label_of(&fixture, "\\Device\\Mup\\b\\b\\c"), "network");
	assert_string_equal(label_of(&fixture, "\\Device\\Mup\\b\\c"), "network");
	assert_int_equal(fixture.volumes.refused_shares, 2);
	assert_string_equal(label_of(&fixture, "\\Device\\Mup\\A\\B"), "\\\\a\\b");
	assert_int_equal(fixture.volumes.shares.count, 2);
	assert_int_equal(fixture.volumes.refused_shares, 2);
	volumes_done(&fixture.volumes); /* another pass: all places are free */
	assert_string_equal(label_of(&fixture, "\\Device\\Mup\\b\\b\\c"), "\\\\b\\b");
	/* No server has a name of 256 bytes. */
	memset(path + strlen(path), 'x', 256);
	strcat(path, "\\y");
	assert_string_equal(label_of(&fixture, path), "network");
	assert_int_equal(fixture.volumes.shares.count, 1);
	fixture_done(&fixture);
}

static void a_share_is_part_of_what_decides_the_volume(void **state)
{
	static const struct {
		const char *path, *with, *without;
	} cases[] = {
		{ "\\Device\\Mup\\fs1\\data\\a\\b", "\\Device\\Mup\\fs1\\data", "\\Device\\Mup" },
		{ "\\Device\\Mup\\;X\\;Y:0\\fs1\\data\\a", "\\Device\\Mup\\;X\\;Y:0\\fs1\\data",
		  "\\Device\\Mup" },
		{ "\\Device\\Mup\\fs1", "\\Device\\Mup", "\\Device\\Mup" },
		{ "\\Device\\NamedPipe\\a\\b", "\\Device\\NamedPipe", "\\Device\\NamedPipe" },
		{ "\\Device\\HarddiskVolume3\\a\\b", "\\Device\\HarddiskVolume3",
		  "\\Device\\HarddiskVolume3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t size = strlen(cases[i].path);

		assert_int_equal(volumes_prefix(cases[i].path, size, true), strlen(cases[i].with));
		assert_int_equal(volumes_prefix(cases[i].path, size, false),
				 strlen(cases[i].without));
	}
}

static void put_file(struct tape *tape, int64_t time, uint64_t key, const char *path,
		     const char *volume)
{
	struct tape_event *event;

	etw_payload_pointer(&tape->payload, key);
	etw_payload_wstring(&tape->payload, path);
	tape_add(tape, "FileIo", 32, 2, time);
	event = tape_zeros(tape, "FileIo", 68, 3, time);
	tape_poke(event, "FileKey", key);
	event->volume = volume;
}

static void check_shares(struct player *player, uint64_t entries, uint64_t refused)
{
	struct tracker_statistics statistics;

	tracker_statistics(player->tracker, &statistics);
	assert_int_equal(statistics.entries[TABLE_SHARE], entries);
	assert_int_equal(statistics.evictions[TABLE_SHARE], refused);
}

/* A share is counted as refused once for each path, not for each event. */
static void a_tracker_counts_the_shares_and_those_without_a_place(void **state)
{
	static const struct tracker_options two = { .features = TRACK_FILES, .shares = 2 };
	struct player player;
	struct tape tape;

	(void)state;
	for (unsigned passes = ONE_PASS; passes <= TWO_PASSES; passes++) {
		player_init(&player, &two);
		tape_init(&tape, 8);
		put_file(&tape, 1, 1, "\\Device\\Mup\\a\\b\\1", "\\\\a\\b");
		put_file(&tape, 2, 2, "\\Device\\Mup\\A\\B\\2", "\\\\a\\b");
		put_file(&tape, 3, 3, "\\Device\\Mup\\c\\d\\1", "\\\\c\\d");
		put_file(&tape, 4, 4, "\\Device\\Mup\\e\\f\\1", "network");
		put_file(&tape, 5, 4, "\\Device\\Mup\\e\\f\\1", "network");
		put_file(&tape, 6, 5, "\\Device\\HarddiskVolume1\\1", "HarddiskVolume1");
		put_file(&tape, 7, 6, "\\Device\\NamedPipe\\1", "pipe");
		tape_process(&tape, 1, 8, 7, "a.exe");
		player_play(&player, &tape, (enum passes)passes);
		check_shares(&player, 2, 1);
		tracker_reset(player.tracker);
		player_play(&player, &tape, (enum passes)passes);
		check_shares(&player, 2, 2);
		tape_done(&tape);
		player_done(&player);
	}
}

static void another_limit_of_shares_is_taken_at_once(void **state)
{
	static const struct tracker_options none = { .features = TRACK_FILES };
	static const struct tracker_options one = { .features = TRACK_FILES, .shares = 1 };
	static const struct tracker_options *const options[] = { &none, &one, &none };
	static const char *const labels[] = { "Mup", "\\\\a\\b", "Mup" };
	struct etw_error err = { 0 };
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &none);
	tape_init(&tape, 8);
	put_file(&tape, 1, 1, "\\Device\\Mup\\a\\b\\1", "Mup");
	for (size_t i = 0; i < 3; i++) {
		assert_true(tracker_change(player.tracker, options[i], &err));
		tape.events[1].volume = labels[i];
		player_play(&player, &tape, ONE_PASS);
	}
	tape_done(&tape);
	player_done(&player);
}

static void when_paths_no_longer_fit_shares_are_still_known(void **state)
{
	enum { FILES = 500 };
	static const struct tracker_options little = { .features = TRACK_FILES,
						       .strings_bytes = 4096,
						       .shares = 2 };
	struct player player;
	struct tape tape;
	char path[64];

	(void)state;
	player_init(&player, &little);
	tape_init(&tape, 8);
	for (uint64_t i = 1; i <= FILES; i++) {
		snprintf(path, sizeof path, "\\Device\\Mup\\fs1\\share%u\\%u", (unsigned)(i % 2),
			 (unsigned)i);
		put_file(&tape, (int64_t)i, i, path, i % 2 ? "\\\\fs1\\share1" : "\\\\fs1\\share0");
	}
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

/* Patterns of path groups are written as users write paths. The native path still matches. */
static void a_file_on_a_share_is_in_the_group_of_its_unc_path(void **state)
{
	const char *unc[] = { "\\\\fs1\\data\\**" }, *native[] = { "\\Device\\Mup\\fs2\\**" };
	const struct config_path_group groups[] = {
		{ .name = "unc", .globs = unc, .glob_count = 1 },
		{ .name = "native", .globs = native, .glob_count = 1 },
	};
	static const struct {
		const char *path, *group;
	} cases[] = {
		{ "\\Device\\Mup\\FS1\\data\\a", "unc" },
		{ "\\Device\\Mup\\;LanmanRedirector\\;X:03e7\\fs1\\data\\a", "unc" },
		{ "\\Device\\Mup\\fs1\\other\\a", "_none" },
		{ "\\Device\\Mup\\fs2\\data\\a", "native" },
		{ "\\Device\\NamedPipe\\a", "_none" },
		{ "C:\\a", "_none" },
	};
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct intern *texts = intern_new(1 << 20, NULL);
	struct files files;

	(void)state;
	assert_true(files_init(&files, registry, texts, 100, NULL));
	assert_true(files_set_groups(&files, groups, 2, NULL));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const uint64_t key = i + 1;
		uint32_t file;

		files_name_key(&files, LIFETIME_START, key, 1, cases[i].path,
			       strlen(cases[i].path));
		file = files_of_key(&files, key, 2);
		assert_string_equal(intern_text(registry_strings(registry),
						files_group(&files, file, 1), NULL),
				    cases[i].group);
	}
	files_done(&files);
	intern_free(texts);
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_volume_has_a_label_of_its_own),
		cmocka_unit_test(a_share_goes_before_its_drive_letter),
		cmocka_unit_test(shares_beyond_the_limit_are_network),
		cmocka_unit_test(a_share_is_part_of_what_decides_the_volume),
		cmocka_unit_test(a_tracker_counts_the_shares_and_those_without_a_place),
		cmocka_unit_test(another_limit_of_shares_is_taken_at_once),
		cmocka_unit_test(when_paths_no_longer_fit_shares_are_still_known),
		cmocka_unit_test(a_file_on_a_share_is_in_the_group_of_its_unc_path),
	};

	return cmocka_run_group_tests_name("volumes", tests, NULL, NULL);
}
