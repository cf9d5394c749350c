/* SPDX-License-Identifier: MIT */
/*
 * The ledger of dirty pages alone: roles of files, bounds, splits, and a model of a small file page
 * by page, which the ledger must agree with.
 *
 * Streams are random; CAUSE_SEED repeats one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "exporter/track/disk_cause.h"

enum { PAGE = 4096, PAGING = 0x43, SYSTEM = 1, ALICE = 2, BOB = 3 };

static struct disk_cause cause;
static struct cause_part parts[CAUSE_RUNS];
static enum file_role role;

static enum file_role role_of_all(void *context)
{
	(void)context;
	return role;
}

static int set_up(void **state)
{
	(void)state;
	role = FILE_PLAIN;
	disk_cause_init(&cause, 4, role_of_all, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	disk_cause_clear(&cause);
	return 0;
}

static struct cause_request request(uint32_t process, uint64_t file, uint64_t offset,
				    uint32_t bytes, uint32_t flags)
{
	return (struct cause_request){ .file = file,
				       .offset = offset,
				       .bytes = bytes,
				       .flags = flags,
				       .process = process,
				       .thread = 10 * process,
				       .for_others = process == SYSTEM };
}

static void writes(uint32_t process, uint64_t file, uint64_t offset, uint32_t bytes)
{
	struct cause_request what = request(process, file, offset, bytes, 0);

	disk_cause_file_write(&cause, &what);
}

static void flushes(uint32_t process, uint64_t file, uint64_t offset, uint32_t bytes)
{
	struct cause_request what = request(process, file, offset, bytes, PAGING);

	disk_cause_file_write(&cause, &what);
}

/* A paging transfer that System issues. */
static size_t written(uint64_t file, uint32_t bytes)
{
	struct cause_request what = request(SYSTEM, file, 0, bytes, PAGING);

	return disk_cause_write(&cause, &what, parts);
}

static void expect(unsigned number, uint32_t process, enum cause_way way, uint64_t bytes)
{
	assert_int_equal(parts[number].process, process);
	assert_int_equal(parts[number].way, way);
	assert_int_equal(parts[number].bytes, bytes);
}

/* ---- roles ---- */

static void a_path_says_what_a_file_is_for(void **state)
{
	static const struct {
		const char *path;
		enum file_role role;
	} cases[] = {
		{ "\\Device\\HarddiskVolume3\\$Mft", FILE_METADATA },
		{ "\\Device\\HarddiskVolume3\\$Mft::$BITMAP", FILE_METADATA },
		{ "\\Device\\HarddiskVolume3\\$LogFile", FILE_METADATA },
		{ "\\Device\\HarddiskVolume3\\$Directory", FILE_METADATA },
		{ "\\Device\\HarddiskVolume3\\$Extend\\$UsnJrnl:$J", FILE_METADATA },
		{ "\\Device\\HarddiskVolume3\\Windows:$I30:$INDEX_ALLOCATION", FILE_METADATA },
		{ "C:\\$Mft", FILE_METADATA },
		{ "\\Device\\HarddiskVolume3\\$Recycle.Bin\\S-1-5-18\\a.txt", FILE_PLAIN },
		{ "\\Device\\HarddiskVolume3\\$Extension\\a.txt", FILE_PLAIN },
		{ "\\Device\\HarddiskVolume3\\data\\$Mft", FILE_PLAIN },
		{ "\\Device\\HarddiskVolume3\\a:$DATA", FILE_PLAIN },
		{ "\\Device\\HarddiskVolume3\\pagefile.sys", FILE_PAGE_FILE },
		{ "\\Device\\HarddiskVolume3\\PageFile.sys", FILE_PAGE_FILE },
		{ "D:\\swapfile.sys", FILE_PAGE_FILE },
		{ "D:\\backup\\pagefile.sys", FILE_PLAIN },
		{ "\\Device\\NamedPipe\\lsass", FILE_ELSEWHERE },
		{ "\\Device\\Mup\\server\\share\\a", FILE_ELSEWHERE },
		{ "\\Device\\HarddiskVolume3\\", FILE_PLAIN },
		{ "\\Device\\HarddiskVolume3", FILE_PLAIN },
		{ "\\", FILE_PLAIN },
		{ "", FILE_PLAIN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("  %s\n", cases[i].path);
		assert_int_equal(file_role_of(cases[i].path, strlen(cases[i].path)), cases[i].role);
	}
}

/* ---- splits ---- */

static void bytes_are_split_by_pages_without_a_rest(void **state)
{
	(void)state;
	writes(ALICE, 7, 0, 1);
	writes(BOB, 7, 0, 1);
	writes(4, 7, 0, 1);
	flushes(SYSTEM, 7, 0, PAGE);
	assert_int_equal(written(7, 4096), 3); /* 1365, 1365 and 1366 */
	assert_int_equal(parts[0].bytes + parts[1].bytes + parts[2].bytes, 4096);
	for (unsigned i = 0; i < 3; i++) {
		assert_in_range(parts[i].bytes, 1365, 1366);
	}
	assert_int_equal(written(7, 2), 3);
	assert_int_equal(parts[0].bytes + parts[1].bytes + parts[2].bytes, 2);
	assert_int_equal(written(7, 0), 3);
	assert_int_equal(parts[0].bytes + parts[1].bytes + parts[2].bytes, 0);
	assert_int_equal(written(7, UINT32_MAX), 3);
	assert_int_equal(parts[0].bytes + parts[1].bytes + parts[2].bytes, UINT32_MAX);
}

static void pages_written_twice_by_one_process_count_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		writes(ALICE, 7, 0, 100);
	}
	writes(BOB, 7, PAGE, 100);
	flushes(SYSTEM, 7, 0, 2 * PAGE);
	assert_int_equal(written(7, 2 * PAGE), 2);
	expect(0, ALICE, CAUSE_CACHED, PAGE);
	expect(1, BOB, CAUSE_CACHED, PAGE);
}

static void offsets_at_the_end_of_the_range_do_no_harm(void **state)
{
	(void)state;
	writes(ALICE, 7, INT64_MAX, UINT32_MAX);
	writes(BOB, 7, UINT64_MAX, UINT32_MAX); /* appends: the offset is not known */
	writes(BOB, 7, UINT64_MAX - 1, UINT32_MAX);
	flushes(SYSTEM, 7, UINT64_MAX - 10, UINT32_MAX);
	assert_int_equal(written(7, 100), 1);
	expect(0, BOB, CAUSE_CACHED, 100); /* the last writer; no page is dirty there */
	flushes(SYSTEM, 7, INT64_MAX, 1);
	assert_int_equal(written(7, 100), 1);
	expect(0, ALICE, CAUSE_CACHED, 100);
}

static void an_append_dirties_the_pages_behind_the_end(void **state)
{
	(void)state;
	writes(ALICE, 7, 0, 3 * PAGE);
	flushes(SYSTEM, 7, 0, 3 * PAGE);
	writes(BOB, 7, UINT64_MAX, PAGE);
	writes(ALICE, 7, 0, PAGE);
	flushes(SYSTEM, 7, 3 * PAGE, PAGE);
	assert_int_equal(written(7, PAGE), 1);
	expect(0, BOB, CAUSE_CACHED, PAGE);
}

/* ---- bounds ---- */

static void the_oldest_clean_file_goes_first_and_dirty_ones_are_counted(void **state)
{
	(void)state;
	writes(ALICE, 1, 0, PAGE); /* dirty, and the oldest */
	for (uint64_t file = 2; file <= 4; file++) {
		struct cause_request what = request(BOB, file, 0, PAGE, 0);

		disk_cause_file_read(&cause, &what);
	}
	assert_int_equal(disk_cause_entries(&cause), 4);
	for (uint64_t file = 5; file <= 7; file++) {
		writes(ALICE, file, 0, PAGE); /* in place of the clean ones */
	}
	assert_int_equal(disk_cause_entries(&cause), 4);
	assert_int_equal(cause.evictions, 0);
	flushes(SYSTEM, 1, 0, PAGE);
	assert_int_equal(written(1, PAGE), 1);
	expect(0, ALICE, CAUSE_CACHED, PAGE);
	writes(ALICE, 8, 0, PAGE); /* file 1 is clean now */
	assert_int_equal(cause.evictions, 0);
	writes(ALICE, 9, 0, PAGE);
	assert_int_equal(cause.evictions, 1);
	assert_int_equal(disk_cause_entries(&cause), 4);
	flushes(SYSTEM, 5, 0, PAGE); /* the oldest of the dirty ones */
	assert_int_equal(written(5, PAGE), 1);
	expect(0, SYSTEM, CAUSE_UNKNOWN, PAGE);
}

static void many_runs_of_one_process_become_one(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		writes(ALICE, 7, i * 7919 % 1000 * 2 * PAGE, PAGE);
	}
	assert_int_equal(cause.evictions, 0);
	flushes(SYSTEM, 7, 0, 2000 * PAGE);
	assert_int_equal(written(7, 500), 1);
	expect(0, ALICE, CAUSE_CACHED, 500);
}

static void a_ninth_process_drops_the_oldest_run(void **state)
{
	(void)state;
	for (uint32_t process = 2; process <= 10; process++) {
		writes(process, 7, (uint64_t)process * 10 * PAGE, PAGE);
	}
	assert_int_equal(cause.evictions, 1);
	flushes(SYSTEM, 7, 0, 1000 * PAGE);
	assert_int_equal(written(7, 800), 8);
	for (unsigned i = 0; i < 8; i++) {
		expect(i, 3 + i, CAUSE_CACHED, 100);
	}
}

static void pipes_and_shares_hold_no_dirty_pages(void **state)
{
	(void)state;
	role = FILE_ELSEWHERE;
	for (uint64_t file = 1; file <= 100; file++) {
		writes(ALICE, file, 0, PAGE);
	}
	assert_int_equal(cause.evictions, 0);
	assert_int_equal(disk_cause_entries(&cause), 4);
}

static void a_ledger_starts_again_after_it_was_cleared(void **state)
{
	(void)state;
	writes(ALICE, 7, 0, PAGE);
	disk_cause_clear(&cause);
	assert_int_equal(disk_cause_entries(&cause), 0);
	writes(BOB, 7, 0, PAGE);
	flushes(SYSTEM, 7, 0, PAGE);
	assert_int_equal(written(7, PAGE), 1);
	expect(0, BOB, CAUSE_CACHED, PAGE);
}

/* ---- against a model ---- */

static uint64_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 20) % end);
}

/* A file of eight pages and two writers never needs more runs than there are. */
enum { PAGES = 8, STEPS = 200000 };

struct model {
	bool dirty[2][PAGES]; /* of ALICE and BOB */
	uint32_t last_writer; /* 0: none */
};

static void model_writes(struct model *model)
{
	uint32_t who = random_below(2), first = random_below(PAGES),
		 count = 1 + random_below(PAGES - first), inside = random_below(PAGE),
		 bytes = count * PAGE - inside;

	writes(ALICE + who, 7, (uint64_t)first * PAGE + inside, bytes);
	for (uint32_t page = first; page < first + count; page++) {
		model->dirty[who][page] = true;
	}
	model->last_writer = ALICE + who;
}

static void model_flushes(struct model *model)
{
	uint32_t first = random_below(PAGES), count = 1 + random_below(PAGES - first),
		 bytes = random_below(count * PAGE + 1);
	uint64_t pages[2] = { 0 }, sum = 0, got[2] = { 0 };
	size_t found;

	flushes(SYSTEM, 7, (uint64_t)first * PAGE, count * PAGE);
	for (uint32_t page = first; page < first + count; page++) {
		for (unsigned who = 0; who < 2; who++) {
			pages[who] += model->dirty[who][page];
			model->dirty[who][page] = false;
		}
	}
	found = written(7, bytes);
	for (size_t i = 0; i < found; i++) {
		sum += parts[i].bytes;
		if (parts[i].way == CAUSE_CACHED) {
			got[parts[i].process - ALICE] += parts[i].bytes;
		}
	}
	assert_int_equal(sum, bytes);
	if (pages[0] + pages[1] == 0) {
		assert_int_equal(found, 1);
		expect(0, model->last_writer ? model->last_writer : SYSTEM,
		       model->last_writer ? CAUSE_CACHED : CAUSE_UNKNOWN, bytes);
		return;
	}
	for (unsigned who = 0; who < 2; who++) {
		uint64_t exact = bytes * pages[who] / (pages[0] + pages[1]);

		assert_in_range(got[who], exact, exact + 1);
	}
}

static void the_ledger_agrees_with_a_model_of_pages(void **state)
{
	const char *given = getenv("CAUSE_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : os_unix_time_ns() | 1;
	struct model model = { .last_writer = 0 };

	(void)state;
	print_message("  CAUSE_SEED=%llu\n", (unsigned long long)seed);
	random_state = seed;
	for (unsigned i = 0; i < STEPS; i++) {
		if (random_below(3) > 0) {
			model_writes(&model);
		} else {
			model_flushes(&model);
		}
		if (random_below(100) == 0) {
			disk_cause_name_gone(&cause, 7);
			model = (struct model){ .last_writer = 0 };
		}
	}
	assert_int_equal(cause.evictions, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_says_what_a_file_is_for),
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(bytes_are_split_by_pages_without_a_rest),
		TEST(pages_written_twice_by_one_process_count_once),
		TEST(offsets_at_the_end_of_the_range_do_no_harm),
		TEST(an_append_dirties_the_pages_behind_the_end),
		TEST(the_oldest_clean_file_goes_first_and_dirty_ones_are_counted),
		TEST(many_runs_of_one_process_become_one),
		TEST(a_ninth_process_drops_the_oldest_run),
		TEST(pipes_and_shares_hold_no_dirty_pages),
		TEST(a_ledger_starts_again_after_it_was_cleared),
		TEST(the_ledger_agrees_with_a_model_of_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
