/* SPDX-License-Identifier: MIT */
/*
 * etw_disk_caused_read_bytes_total and etw_disk_caused_written_bytes_total, from events: stories
 * with the samples that docs/caused-writes.md promises, computed by hand, and what must hold for
 * any stream: the samples of each disk add up to the bytes of its transfers.
 *
 * Streams are random; CAUSED_SEED repeats one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>

#include "base/os.h"
#include "exporter/track/disk_cause.h"
#include "tests/support/page.h"
#include "tests/support/tracker_run.h"

/* Threads have ten times the id of their process. */
enum { SYSTEM = 4, ALICE = 8, BOB = 12 };
enum { CACHED = 0x60a00, NOT_CACHED = 0x60a01, PAGING = 0x43, DIRECT = 0x60a01 };

enum { PAGE = 4096, KEY = 0x1000, OTHER_KEY = 0x2000 };
enum { PLAY_EVERY = 1000 }; /* events of a long stream */

static struct tape tape;
static struct player player;
static int64_t now;

static const struct tracker_options options = { .disk_cause = true };

static void starts(uint32_t id, const char *image)
{
	tape_process(&tape, ETW_KERNEL_OPCODE_START, ++now, id, image);
	tape_thread(&tape, ETW_KERNEL_OPCODE_START, ++now, 10 * id, id);
}

static int set_up(void **state)
{
	(void)state;
	now = 0;
	tape_init(&tape, 8);
	player_init(&player, &options);
	starts(SYSTEM, "System");
	starts(ALICE, "alice.exe");
	starts(BOB, "bob.exe");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	player_done(&player);
	tape_done(&tape);
	return 0;
}

/* ---- events ---- */

static void names(uint8_t opcode, uint64_t key, const char *path)
{
	etw_payload_pointer(&tape.payload, key);
	etw_payload_wstring(&tape.payload, path);
	tape_add(&tape, "FileIo", opcode, 2, ++now);
}

static void file_event(uint8_t opcode, uint32_t process, uint64_t key, uint64_t offset,
		       uint32_t bytes, uint32_t flags)
{
	struct tape_event *event = tape_zeros(&tape, "FileIo", opcode, 3, ++now);

	tape_poke(event, "FileKey", key);
	tape_poke(event, "TTID", 10 * process);
	if (opcode == ETW_KERNEL_OPCODE_FILE_IO_READ || opcode == ETW_KERNEL_OPCODE_FILE_IO_WRITE) {
		tape_poke(event, "Offset", offset);
		tape_poke(event, "IoSize", bytes);
		tape_poke(event, "IoFlags", flags);
	}
}

static void writes(uint32_t process, uint64_t key, uint64_t offset, uint32_t bytes, uint32_t flags)
{
	file_event(ETW_KERNEL_OPCODE_FILE_IO_WRITE, process, key, offset, bytes, flags);
}

static void reads(uint32_t process, uint64_t key, uint64_t offset, uint32_t bytes, uint32_t flags)
{
	file_event(ETW_KERNEL_OPCODE_FILE_IO_READ, process, key, offset, bytes, flags);
}

enum { READ_ONLY = 1, READ_WRITE = 4, WRITE_COPY = 5, PROGRAM = 0x47 };

/* protection: bits 48 and above of MiscInfo. */
static void views(uint8_t opcode, uint32_t process, uint64_t key, uint64_t address,
		  uint64_t protection)
{
	struct tape_event *event = tape_zeros(&tape, "FileIo", opcode, 3, ++now);

	tape_poke(event, "FileObject", key);
	tape_poke(event, "ProcessId", process);
	tape_poke(event, "ViewBase", address);
	tape_poke(event, "MiscInfo", protection << 48);
}

static void maps(uint32_t process, uint64_t key, uint64_t address, uint64_t protection)
{
	views(ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE, process, key, address, protection);
}

static void unmaps(uint32_t process, uint64_t key, uint64_t address)
{
	views(ETW_KERNEL_OPCODE_FILE_IO_UNMAP_FILE, process, key, address, READ_WRITE);
}

static void ends(uint32_t id, const char *image)
{
	tape_thread(&tape, ETW_KERNEL_OPCODE_STOP, ++now, 10 * id, id);
	tape_process(&tape, ETW_KERNEL_OPCODE_STOP, ++now, id, image);
}

static void disk_event(uint8_t opcode, uint32_t process, uint64_t key, uint32_t bytes,
		       uint32_t flags, uint32_t disk)
{
	struct tape_event *event = tape_zeros(&tape, "DiskIo", opcode, 3, ++now);

	tape_poke(event, "DiskNumber", disk);
	tape_poke(event, "FileObject", key);
	tape_poke(event, "IssuingThreadId", 10 * process);
	tape_poke(event, "TransferSize", bytes);
	tape_poke(event, "IrpFlags", flags);
}

static void disk_writes(uint32_t process, uint64_t key, uint32_t bytes, uint32_t flags)
{
	disk_event(ETW_KERNEL_OPCODE_DISK_IO_WRITE, process, key, bytes, flags, 0);
}

static void disk_reads(uint32_t process, uint64_t key, uint32_t bytes, uint32_t flags)
{
	disk_event(ETW_KERNEL_OPCODE_DISK_IO_READ, process, key, bytes, flags, 0);
}

/* A paging write of the process, and the transfer that it leads to. */
static void flushes(uint32_t process, uint64_t key, uint64_t offset, uint32_t bytes)
{
	writes(process, key, offset, bytes, PAGING);
	disk_writes(process, key, bytes, PAGING);
}

/* ---- samples ---- */

static unsigned count_of(const char *page, const char *start)
{
	unsigned count = 0;

	for (const char *at = page; (at = strstr(at, start)) != NULL; at++) {
		count++;
	}
	return count;
}

#define WRITTEN(process, how, bytes)                             \
	"etw_disk_caused_written_bytes_total{process=\"" process \
	"\",provider=\"Windows Kernel\",disk=\"0\",how=\"" how "\"} " bytes "\n"
#define READ(process, how, bytes)                             \
	"etw_disk_caused_read_bytes_total{process=\"" process \
	"\",provider=\"Windows Kernel\",disk=\"0\",how=\"" how "\"} " bytes "\n"

/* Plays the tape; the two families have these samples and no other. */
#define EXPECT(...) expect((const char *const[]){ __VA_ARGS__, NULL })
static void expect(const char *const *lines)
{
	struct etw_text page;
	unsigned count = 0;

	player_play(&player, &tape, ONE_PASS);
	tape_rewind(&tape);
	page = page_of(player.registry);
	for (; lines[count]; count++) {
		if (!strstr(page.data, lines[count])) {
			fail_msg("%s is missing:\n%s", lines[count], page.data);
		}
	}
	assert_int_equal(count_of(page.data, "\netw_disk_caused_"), count);
	text_free(&page);
}

/* ---- the stories ---- */

static void what_system_flushes_counts_for_the_writer(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, 10000, CACHED);
	flushes(SYSTEM, KEY, 0, 3 * PAGE);
	EXPECT(WRITTEN("alice", "cached", "12288"));
}

static void unbuffered_and_written_through_is_direct(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, 8192, NOT_CACHED);
	disk_writes(ALICE, KEY, 8192, DIRECT);
	writes(BOB, OTHER_KEY, 0, 100, CACHED);
	flushes(BOB, OTHER_KEY, 0, PAGE); /* in the same request */
	EXPECT(WRITTEN("alice", "direct", "8192"), WRITTEN("bob", "direct", "4096"));
	writes(BOB, OTHER_KEY, 0, 100, CACHED);
	file_event(ETW_KERNEL_OPCODE_FILE_IO_FLUSH, BOB, OTHER_KEY, 0, 0, 0);
	flushes(BOB, OTHER_KEY, 0, PAGE); /* in another one */
	/* A thread of System issues what Alice asked for. */
	disk_writes(SYSTEM, KEY, 512, DIRECT);
	EXPECT(WRITTEN("alice", "direct", "8704"), WRITTEN("bob", "direct", "4096"),
	       WRITTEN("bob", "cached", "4096"));
}

static void a_flush_by_another_process_counts_for_the_writer(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, PAGE, CACHED);
	file_event(ETW_KERNEL_OPCODE_FILE_IO_FLUSH, BOB, KEY, 0, 0, 0);
	flushes(BOB, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "cached", "4096"));
}

static void pages_of_a_mapped_file_count_for_the_process_that_has_them(void **state)
{
	(void)state;
	reads(ALICE, KEY, 0, 2 * PAGE, PAGING); /* a fault */
	disk_reads(ALICE, KEY, 2 * PAGE, PAGING);
	flushes(SYSTEM, KEY, 0, PAGE);
	flushes(BOB, OTHER_KEY, 0, 3 * PAGE); /* FlushViewOfFile() */
	EXPECT(READ("alice", "mapped", "8192"), WRITTEN("alice", "mapped", "4096"),
	       WRITTEN("bob", "mapped", "12288"));
}

static void what_is_stored_to_a_mapped_file_counts_for_the_process_that_maps_it(void **state)
{
	(void)state;
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	maps(BOB, KEY, 0x10000, READ_ONLY);   /* a virus scanner, */
	reads(BOB, KEY, 0, 2 * PAGE, PAGING); /* which reads it all */
	maps(BOB, KEY, 0x20000, WRITE_COPY);
	maps(BOB, KEY, 0x30000, PROGRAM);
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "mapped", "4096"));
	views(ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE_DC_START, BOB, OTHER_KEY, 0x40000, READ_WRITE);
	disk_writes(SYSTEM, OTHER_KEY, PAGE, PAGING); /* its paging write is lost */
	EXPECT(WRITTEN("alice", "mapped", "4096"), WRITTEN("bob", "mapped", "4096"));
}

static void several_processes_that_map_a_file_share_it_equally(void **state)
{
	(void)state;
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	maps(ALICE, KEY, 0x20000, READ_WRITE); /* another part of it */
	maps(BOB, KEY, 0x10000, READ_WRITE);
	flushes(SYSTEM, KEY, 0, 2 * PAGE);
	flushes(BOB, KEY, 0, PAGE); /* FlushViewOfFile() */
	EXPECT(WRITTEN("alice", "mapped", "4096"), WRITTEN("bob", "mapped", "8192"));
}

static void dirty_pages_come_before_views(void **state)
{
	(void)state;
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	writes(BOB, KEY, 0, PAGE, CACHED);
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("bob", "cached", "4096"));
	flushes(SYSTEM, KEY, 4 * PAGE, PAGE);
	EXPECT(WRITTEN("bob", "cached", "4096"), WRITTEN("alice", "mapped", "4096"));
}

static void the_view_that_ended_last_counts_until_the_file_has_another_one(void **state)
{
	(void)state;
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	maps(BOB, KEY, 0x10000, READ_WRITE);
	unmaps(ALICE, KEY, 0x10000);
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("bob", "mapped", "4096"));
	ends(BOB, "bob.exe"); /* without FileIo/UnmapFile */
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("bob", "mapped", "8192"));
	starts(BOB, "carol.exe"); /* Windows uses the id again */
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("bob", "mapped", "8192"), WRITTEN("alice", "mapped", "4096"));
}

static void views_of_a_deleted_file_say_nothing_about_the_next_one(void **state)
{
	(void)state;
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE, KEY, "\\Device\\HarddiskVolume3\\a.tmp");
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("System", "unknown", "4096"));
}

static void a_file_deleted_before_the_flush_counts_for_no_process(void **state)
{
	(void)state;
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE, KEY, "\\Device\\HarddiskVolume3\\a.tmp");
	writes(ALICE, KEY, 0, 8192, CACHED);
	file_event(ETW_KERNEL_OPCODE_FILE_IO_DELETE, ALICE, KEY, 0, 0, 0);
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE, KEY, "\\Device\\HarddiskVolume3\\a.tmp");
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE, KEY, "\\Device\\HarddiskVolume3\\b.txt");
	writes(BOB, KEY, 4096, PAGE, CACHED); /* Windows uses the key again */
	flushes(SYSTEM, KEY, 0, 2 * PAGE);
	EXPECT(WRITTEN("bob", "cached", "8192"));
}

static void two_writers_of_one_page_share_it(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, 100, CACHED);
	writes(BOB, KEY, 100, 3000, CACHED);
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "cached", "2048"), WRITTEN("bob", "cached", "2048"));
	writes(ALICE, KEY, 0, 3 * PAGE, CACHED);
	writes(BOB, KEY, 3 * PAGE, PAGE, CACHED);
	flushes(SYSTEM, KEY, 0, 4 * PAGE);
	EXPECT(WRITTEN("alice", "cached", "14336"), WRITTEN("bob", "cached", "6144"));
}

static void a_renamed_file_keeps_its_writers(void **state)
{
	(void)state;
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE, KEY, "\\Device\\HarddiskVolume3\\a.part");
	writes(ALICE, KEY, 0, PAGE, CACHED);
	file_event(ETW_KERNEL_OPCODE_FILE_IO_RENAME, BOB, KEY, 0, 0, 0);
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE, KEY, "\\Device\\HarddiskVolume3\\a.part");
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE, KEY, "\\Device\\HarddiskVolume3\\a.iso");
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "cached", "4096"));
	writes(ALICE, KEY, 0, PAGE, CACHED);
	file_event(ETW_KERNEL_OPCODE_FILE_IO_RENAME, BOB, KEY, 0, 0, 0);
	file_event(ETW_KERNEL_OPCODE_FILE_IO_DELETE, BOB, KEY, 0, 0, 0);
	names(ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE, KEY, "\\Device\\HarddiskVolume3\\b.iso");
	flushes(SYSTEM, KEY, 0, PAGE); /* of another file */
	EXPECT(WRITTEN("alice", "cached", "4096"), WRITTEN("System", "unknown", "4096"));
}

static void compressed_bytes_are_split_as_the_pages_were(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, 12 * PAGE, CACHED);
	writes(BOB, KEY, 12 * PAGE, 4 * PAGE, CACHED);
	writes(SYSTEM, KEY, 0, 16 * PAGE, PAGING);
	disk_writes(SYSTEM, KEY, 8192, PAGING);  /* 6144 and 2048 */
	disk_writes(SYSTEM, KEY, 16384, PAGING); /* 12288 and 4096 */
	EXPECT(WRITTEN("alice", "cached", "18432"), WRITTEN("bob", "cached", "6144"));
}

static void pages_of_a_sparse_file_lie_far_apart(void **state)
{
	static const uint64_t distant = UINT64_C(1) << 40;

	(void)state;
	writes(ALICE, KEY, distant, PAGE, CACHED);
	writes(BOB, KEY, 0, PAGE, CACHED);
	flushes(SYSTEM, KEY, distant, PAGE);
	EXPECT(WRITTEN("alice", "cached", "4096"));
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "cached", "4096"), WRITTEN("bob", "cached", "4096"));
}

static void the_page_file_is_memory(void **state)
{
	(void)state;
	names(ETW_KERNEL_OPCODE_FILE_IO_NAME, KEY, "\\Device\\HarddiskVolume3\\pagefile.sys");
	flushes(SYSTEM, KEY, 0, 65536);
	disk_reads(ALICE, KEY, PAGE, PAGING);
	EXPECT(WRITTEN("System", "mapped", "65536"), READ("alice", "mapped", "4096"));
}

static void the_log_of_the_file_system_is_metadata(void **state)
{
	(void)state;
	names(ETW_KERNEL_OPCODE_FILE_IO_NAME, KEY, "\\Device\\HarddiskVolume3\\$LogFile");
	flushes(SYSTEM, KEY, 0, PAGE);
	flushes(ALICE, KEY, PAGE, 2 * PAGE); /* her thread waits for it */
	disk_reads(SYSTEM, KEY, 512, PAGING);
	EXPECT(WRITTEN("System", "metadata", "4096"), WRITTEN("alice", "metadata", "8192"),
	       READ("System", "metadata", "512"));
}

static void a_process_that_has_ended_keeps_its_name(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, PAGE, CACHED);
	ends(ALICE, "alice.exe");
	starts(ALICE, "carol.exe"); /* Windows uses the id again */
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "cached", "4096"));
}

static void what_no_event_explains_stays_with_the_issuer(void **state)
{
	(void)state;
	flushes(SYSTEM, KEY, 0, PAGE);
	disk_writes(SYSTEM, 0, 512, DIRECT);
	disk_reads(SYSTEM, OTHER_KEY, 1024, PAGING);
	EXPECT(WRITTEN("System", "unknown", "4608"), READ("System", "unknown", "1024"));
}

static void a_page_written_while_it_is_flushed_counts_for_its_writer(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, PAGE, CACHED);
	flushes(SYSTEM, KEY, 0, PAGE);
	flushes(SYSTEM, KEY, 0, PAGE); /* the data came after the first flush had begun */
	disk_writes(SYSTEM, KEY, PAGE, PAGING);
	EXPECT(WRITTEN("alice", "cached", "12288"));
}

static void a_transfer_whose_paging_write_is_lost_counts_for_all_writers(void **state)
{
	(void)state;
	writes(ALICE, KEY, 0, 3 * PAGE, CACHED);
	writes(BOB, KEY, 3 * PAGE, PAGE, CACHED);
	disk_writes(SYSTEM, KEY, 4 * PAGE, PAGING);
	EXPECT(WRITTEN("alice", "cached", "12288"), WRITTEN("bob", "cached", "4096"));
}

static void read_ahead_counts_for_the_reader(void **state)
{
	(void)state;
	reads(ALICE, KEY, 0, 100, 0);
	reads(ALICE, KEY, 0, PAGE, PAGING);
	disk_reads(ALICE, KEY, PAGE, PAGING); /* what the cache lacked */
	reads(SYSTEM, KEY, PAGE, 65536, PAGING);
	disk_reads(SYSTEM, KEY, 65536, PAGING);
	reads(BOB, OTHER_KEY, 0, 8192, NOT_CACHED);
	disk_reads(BOB, OTHER_KEY, 8192, DIRECT);
	EXPECT(READ("alice", "cached", "69632"), READ("bob", "direct", "8192"));
}

/* A request that a minifilter makes itself, in a thread of the process: exactly as long as one of a
 * program. */
static void filter_event(uint8_t opcode, uint32_t process, uint64_t key, uint32_t bytes,
			 uint32_t flags)
{
	etw_payload_u64(&tape.payload, 0);
	etw_payload_pointer(&tape.payload, 0);
	etw_payload_pointer(&tape.payload, 0);
	etw_payload_pointer(&tape.payload, key);
	etw_payload_u32(&tape.payload, 10 * process);
	etw_payload_u32(&tape.payload, bytes);
	etw_payload_u32(&tape.payload, flags);
	tape_add(&tape, "FileIo", opcode, 3, ++now);
}

static void what_a_minifilter_does_itself_counts_for_the_process_that_it_does_it_in(void **state)
{
	(void)state;
	filter_event(ETW_KERNEL_OPCODE_FILE_IO_FLT_WRITE, ALICE, KEY, PAGE, CACHED);
	flushes(SYSTEM, KEY, 0, PAGE);
	filter_event(ETW_KERNEL_OPCODE_FILE_IO_FLT_READ, BOB, OTHER_KEY, PAGE, CACHED);
	disk_reads(SYSTEM, OTHER_KEY, 2 * PAGE, PAGING);
	EXPECT(WRITTEN("alice", "cached", "4096"), READ("bob", "cached", "8192"));
}

static void a_reload_keeps_the_counters_and_starts_the_ledger_anew(void **state)
{
	static const struct tracker_options off;
	struct etw_error err = { 0 };

	(void)state;
	writes(ALICE, KEY, 0, PAGE, CACHED);
	flushes(SYSTEM, KEY, 0, PAGE);
	writes(ALICE, OTHER_KEY, 0, PAGE, CACHED);
	EXPECT(WRITTEN("alice", "cached", "4096"));
	assert_true(tracker_change(player.tracker, &options, &err)); /* the same: nothing is lost */
	flushes(SYSTEM, OTHER_KEY, 0, PAGE);
	writes(ALICE, KEY, 0, PAGE, CACHED);
	EXPECT(WRITTEN("alice", "cached", "8192"));
	assert_true(tracker_change(player.tracker, &off, &err));
	flushes(SYSTEM, KEY, 0, PAGE); /* not counted */
	EXPECT(WRITTEN("alice", "cached", "8192"));
	assert_true(tracker_change(player.tracker, &options, &err));
	flushes(SYSTEM, KEY, 0, PAGE);
	EXPECT(WRITTEN("alice", "cached", "8192"), WRITTEN("System", "unknown", "4096"));
}

static uint64_t evictions(void)
{
	struct tracker_statistics statistics;

	tracker_statistics(player.tracker, &statistics);
	return statistics.evictions[TABLE_DISK_CAUSE];
}

static void a_reload_keeps_the_number_of_mappings_that_were_dropped(void **state)
{
	static const struct tracker_options off;
	struct etw_error err = { 0 };

	(void)state;
	for (uint64_t i = 0; i < CAUSE_VIEWS + 10; i++) {
		maps(ALICE, KEY + i % 100, i << 16, READ_WRITE);
		if (i % PLAY_EVERY == PLAY_EVERY - 1) {
			player_play(&player, &tape, ONE_PASS);
			tape_rewind(&tape);
		}
	}
	player_play(&player, &tape, ONE_PASS);
	tape_rewind(&tape);
	assert_int_equal(evictions(), 10);
	assert_true(tracker_change(player.tracker, &off, &err));
	assert_int_equal(evictions(), 10);
	assert_true(tracker_change(player.tracker, &options, &err));
	maps(ALICE, KEY, 0x10000, READ_WRITE);
	player_play(&player, &tape, ONE_PASS);
	tape_rewind(&tape);
	assert_int_equal(evictions(), 10);
}

/* ---- any stream ---- */

enum { EVENTS = 20000, DISKS = 3, KEYS = 6, PROCESSES = 5 };

static uint64_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 20) % end);
}

static uint64_t moved[2][DISKS]; /* bytes of the stream's transfers: read, written */

static uint32_t random_flags(void)
{
	static const uint32_t flags[] = { 0, CACHED, NOT_CACHED, PAGING, PAGING, UINT32_MAX };

	return flags[random_below(sizeof flags / sizeof flags[0])];
}

static void random_event(void)
{
	static const char *const paths[] = { "\\Device\\HarddiskVolume3\\$Mft", "C:\\pagefile.sys",
					     "\\Device\\NamedPipe\\a", "C:\\a", "" };
	static const uint8_t name_opcodes[] = { 0, 32, 35, 36 };
	static const uint8_t simple[] = { 65, 66, 69, 70, 71, ETW_KERNEL_OPCODE_FILE_IO_FLUSH };
	static const uint8_t protections[] = { READ_ONLY, READ_WRITE, READ_WRITE, PROGRAM };
	uint32_t process = 4 * random_below(PROCESSES), disk = random_below(DISKS),
		 written = random_below(2), bytes;
	uint64_t key = random_below(KEYS);
	uint64_t offset = random_below(20) == 0 ? UINT64_MAX - random_below(3) :
						  random_below(40) * UINT64_C(1000);

	bytes = random_below(50) == 0 ? UINT32_MAX : random_below(100000);
	switch (random_below(11)) {
	case 0:
		names(name_opcodes[random_below(4)], key, paths[random_below(5)]);
		break;
	case 1:
		file_event(simple[random_below(6)], process, key, 0, 0, 0);
		break;
	case 2:
		tape_process(&tape,
			     random_below(2) ? ETW_KERNEL_OPCODE_START : ETW_KERNEL_OPCODE_STOP,
			     ++now, process, random_below(2) ? "x.exe" : "y.exe");
		break;
	case 3:
		views((uint8_t)(ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE + random_below(4)), process, key,
		      random_below(3), protections[random_below(4)]);
		break;
	case 4:
	case 5:
		reads(process, key, offset, bytes, random_flags());
		break;
	case 6:
	case 7:
	case 8:
		writes(process, key, offset, bytes, random_flags());
		break;
	default:
		disk_event(written ? ETW_KERNEL_OPCODE_DISK_IO_WRITE :
				     ETW_KERNEL_OPCODE_DISK_IO_READ,
			   process, key, bytes, random_flags(), disk);
		moved[written][disk] += bytes;
		break;
	}
}

/* The samples of a disk add up to what was moved. */
static void check_sums(const char *page)
{
	static const char *const families[] = { "\netw_disk_caused_read_bytes_total{",
						"\netw_disk_caused_written_bytes_total{" };
	uint64_t sums[2][DISKS] = { { 0 } };

	for (unsigned written = 0; written < 2; written++) {
		for (const char *at = page; (at = strstr(at, families[written])) != NULL; at++) {
			const char *disk = strstr(at, "disk=\"") + strlen("disk=\"");

			sums[written][*disk - '0'] += strtoull(strstr(at, "} ") + 2, NULL, 10);
		}
	}
	assert_memory_equal(sums, moved, sizeof sums);
}

static void every_byte_of_a_disk_has_one_cause(void **state)
{
	const char *given = getenv("CAUSED_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : os_unix_time_ns() | 1;

	(void)state;
	print_message("  CAUSED_SEED=%llu\n", (unsigned long long)seed);
	random_state = seed;
	memset(moved, 0, sizeof moved);
	for (unsigned i = 0; i < EVENTS; i++) {
		random_event();
		if (i % PLAY_EVERY == PLAY_EVERY - 1) {
			struct etw_text page;

			player_play(&player, &tape, ONE_PASS);
			tape_rewind(&tape);
			page = page_of(player.registry);
			check_sums(page.data);
			text_free(&page);
		}
	}
	for (unsigned disk = 0; disk < DISKS; disk++) {
		assert_true(moved[0][disk] > 0 && moved[1][disk] > 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_system_flushes_counts_for_the_writer),
		TEST(unbuffered_and_written_through_is_direct),
		TEST(a_flush_by_another_process_counts_for_the_writer),
		TEST(pages_of_a_mapped_file_count_for_the_process_that_has_them),
		TEST(what_is_stored_to_a_mapped_file_counts_for_the_process_that_maps_it),
		TEST(several_processes_that_map_a_file_share_it_equally),
		TEST(dirty_pages_come_before_views),
		TEST(the_view_that_ended_last_counts_until_the_file_has_another_one),
		TEST(views_of_a_deleted_file_say_nothing_about_the_next_one),
		TEST(a_file_deleted_before_the_flush_counts_for_no_process),
		TEST(two_writers_of_one_page_share_it),
		TEST(a_renamed_file_keeps_its_writers),
		TEST(compressed_bytes_are_split_as_the_pages_were),
		TEST(pages_of_a_sparse_file_lie_far_apart),
		TEST(the_page_file_is_memory),
		TEST(the_log_of_the_file_system_is_metadata),
		TEST(a_process_that_has_ended_keeps_its_name),
		TEST(what_no_event_explains_stays_with_the_issuer),
		TEST(a_page_written_while_it_is_flushed_counts_for_its_writer),
		TEST(a_transfer_whose_paging_write_is_lost_counts_for_all_writers),
		TEST(read_ahead_counts_for_the_reader),
		TEST(what_a_minifilter_does_itself_counts_for_the_process_that_it_does_it_in),
		TEST(a_reload_keeps_the_counters_and_starts_the_ledger_anew),
		TEST(a_reload_keeps_the_number_of_mappings_that_were_dropped),
		TEST(every_byte_of_a_disk_has_one_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
