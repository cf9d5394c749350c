/* SPDX-License-Identifier: MIT */
/*
 * Files by Microsoft-Windows-Kernel-File, the second source of file events: alone it says what the
 * kernel's FileIo says, and beside FileIo it counts nothing. Payloads are built by hand from the
 * provider's manifest, in both versions of the layouts, and expected values are sums of the numbers
 * in this file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/source/provider_names.h"
#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define SECOND INT64_C(10000000) /* ticks of the recordings */
#define OURS   "provider=\"Microsoft-Windows-Kernel-File\""
#define KERNEL "provider=\"Windows Kernel\""
#define ALL_ON                                                                               \
	"collectors: { file_other: on, file_latency: on, file_errors: on, file_groups: on, " \
	"file_top: on, disk_cause: on }\n"                                                   \
	"path_groups: [{ name: logs, match: ['**\\*.log'] }]\n"

enum {
	ALPHA = 100,
	ALPHA_THREAD = 101,
	IRP = 0x1000,
	OBJECT = 0xf00,
	KEY = 0xbee,
	CACHED = 0x60900, /* flags of requests without IRP_PAGING_IO */
	PAGING = 0x60043,
	NOT_FOUND = (int)0xC0000034,
};

static const char path_of_log[] = "\\Device\\HarddiskVolume3\\logs\\a.log";

/* ---- recordings ---- */

struct making {
	char path[TEMPORARY_PATH_SIZE];
	struct etw_writer *writer;
	struct kernel_events k;
	struct etw_payload payload;
	int64_t now;
	uint8_t version;
};

static void begin(struct making *making, uint8_t version, uint8_t pointer_size)
{
	const struct etw_writer_options options = { .pointer_size = pointer_size };
	const struct kernel_process process = {
		.id = ALPHA, .parent_id = 4, .image = "alpha.exe", .command_line = "alpha"
	};
	const struct kernel_thread thread = { .process_id = ALPHA, .id = ALPHA_THREAD };
	struct etw_error err = { 0 };

	*making = (struct making){ .version = version, .now = SECOND };
	temporary_path(making->path, "etl");
	making->writer = etw_writer_open(making->path, &options, &err);
	assert_non_null(making->writer);
	kernel_events_init(&making->k, making->writer, pointer_size);
	etw_payload_init(&making->payload, pointer_size);
	kernel_events_at(&making->k, 0, making->now, ALPHA, ALPHA_THREAD);
	event_process(&making->k, OP_START, &process);
	event_thread(&making->k, OP_START, &thread);
}

/* The payload so far becomes an event of the provider, a millisecond after the one before. */
static void put(struct making *making, uint16_t id)
{
	struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					 .pointer_size = making->payload.pointer_size,
					 .process_id = ALPHA,
					 .thread_id = ALPHA_THREAD,
					 .provider =
						 &etw_known_providers[ETW_PROVIDER_KERNEL_FILE].guid,
					 .id = id,
					 .version = making->version,
					 .level = 4 };

	making->now += SECOND / 1000;
	record.raw_time = making->now;
	/* Events of names, and the end of an operation, have version 0 alone. */
	record.version = id == ETW_FILE_EVENT_NAME_CREATE || id == ETW_FILE_EVENT_NAME_DELETE ||
					 id == ETW_FILE_EVENT_OPERATION_END ?
				 0 :
				 making->version;
	etl_writer_add_payload(making->writer, &record, &making->payload);
	etw_payload_clear(&making->payload);
}

/* Irp, then the thread and the file, whose order the version decides. */
static void put_request(struct making *making, uint64_t irp, bool has_key)
{
	etw_payload_pointer(&making->payload, irp);
	if (making->version == 0) {
		etw_payload_pointer(&making->payload, ALPHA_THREAD);
	}
	etw_payload_pointer(&making->payload, OBJECT);
	if (has_key) {
		etw_payload_pointer(&making->payload, KEY);
	}
}

static void put_name(struct making *making, uint16_t id, uint64_t key, const char *path)
{
	etw_payload_pointer(&making->payload, key);
	etw_payload_wstring(&making->payload, path);
	put(making, id);
}

static void put_create(struct making *making, uint16_t id, uint64_t irp, const char *path)
{
	put_request(making, irp, false);
	if (making->version == 1) {
		etw_payload_u32(&making->payload, ALPHA_THREAD);
	}
	etw_payload_u32(&making->payload, 0x01000020);
	etw_payload_u32(&making->payload, 0x80);
	etw_payload_u32(&making->payload, 7);
	etw_payload_wstring(&making->payload, path);
	put(making, id);
}

static void put_transfer(struct making *making, uint16_t id, uint64_t irp, uint32_t size,
			 uint32_t flags)
{
	etw_payload_u64(&making->payload, 0);
	put_request(making, irp, true);
	if (making->version == 1) {
		etw_payload_u32(&making->payload, ALPHA_THREAD);
	}
	etw_payload_u32(&making->payload, size);
	etw_payload_u32(&making->payload, flags);
	if (making->version == 1) {
		etw_payload_u32(&making->payload, 0);
	}
	put(making, id);
}

/* Cleanup, Close and Flush have no more than this, the others two fields besides. */
static void put_simple(struct making *making, uint16_t id, uint64_t irp, bool info)
{
	put_request(making, irp, true);
	if (info) {
		etw_payload_pointer(&making->payload, 0);
	}
	if (making->version == 1) {
		etw_payload_u32(&making->payload, ALPHA_THREAD);
	}
	if (info) {
		etw_payload_u32(&making->payload, 10);
	}
	put(making, id);
}

static void put_directory(struct making *making, uint16_t id, uint64_t irp)
{
	put_request(making, irp, true);
	if (making->version == 1) {
		etw_payload_u32(&making->payload, ALPHA_THREAD);
	}
	etw_payload_u32(&making->payload, 4096);
	etw_payload_u32(&making->payload, 3);
	etw_payload_u32(&making->payload, 0);
	etw_payload_wstring(&making->payload, "*.txt");
	put(making, id);
}

static void put_end(struct making *making, uint64_t irp, uint32_t status)
{
	etw_payload_pointer(&making->payload, irp);
	etw_payload_pointer(&making->payload, 0);
	etw_payload_u32(&making->payload, status);
	put(making, ETW_FILE_EVENT_OPERATION_END);
}

static struct etw_text replay_with(struct making *making, const char *config, bool single_pass)
{
	struct etw_error err = { 0 };

	kernel_events_done(&making->k);
	etw_payload_done(&making->payload);
	assert_true(etw_writer_finish(making->writer, &err));
	etw_writer_close(making->writer);
	return program_replay(making->path, config, &(struct setup_options){ 0 },
			      (struct runner_options){ .file = { .single_pass = single_pass } });
}

static void expect(const struct etw_text *page, const char *line)
{
	if (!strstr(page->data, line)) {
		fail_msg("not on the page: %s\n%s", line, page->data);
	}
}

static void expect_none(const struct etw_text *page, const char *start)
{
	const char *at = strstr(page->data, start);

	if (at) {
		fail_msg("on the page: %.200s", at);
	}
}

/* ---- the provider alone ---- */

/* Each operation once, the end a millisecond after each start. */
static void put_story(struct making *making)
{
	static const struct {
		uint16_t id;
		bool info;
	} others[] = { { ETW_FILE_EVENT_SET_INFORMATION, true },
		       { ETW_FILE_EVENT_QUERY_INFORMATION, true },
		       { ETW_FILE_EVENT_FSCTL, true },
		       { ETW_FILE_EVENT_FLUSH, false },
		       { ETW_FILE_EVENT_RENAME, true },
		       { ETW_FILE_EVENT_SET_DELETE, true },
		       { ETW_FILE_EVENT_CLEANUP, false },
		       { ETW_FILE_EVENT_CLOSE, false } };

	put_create(making, ETW_FILE_EVENT_CREATE, IRP, path_of_log);
	put_end(making, IRP, 0);
	put_create(making, ETW_FILE_EVENT_CREATE_NEW_FILE, IRP, path_of_log);
	put_transfer(making, ETW_FILE_EVENT_WRITE, IRP, 1000, CACHED);
	put_end(making, IRP, 0);
	put_transfer(making, ETW_FILE_EVENT_WRITE, IRP, 30000, PAGING);
	put_end(making, IRP, 0);
	put_transfer(making, ETW_FILE_EVENT_READ, IRP, 200, CACHED);
	put_end(making, IRP, 0);
	put_transfer(making, ETW_FILE_EVENT_READ, IRP, 4000, PAGING);
	put_end(making, IRP, 0);
	put_directory(making, ETW_FILE_EVENT_DIR_ENUM, IRP);
	put_end(making, IRP, 0);
	put_directory(making, ETW_FILE_EVENT_DIR_NOTIFY, IRP);
	put_end(making, IRP, 0);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		put_simple(making, others[i].id, IRP, others[i].info);
		put_end(making, IRP,
			others[i].id == ETW_FILE_EVENT_RENAME ? (uint32_t)NOT_FOUND : 0);
	}
}

static void check_story(const struct etw_text *page)
{
	static const char *const operations[] = { "create",     "dir_enum",   "set_info",
						  "query_info", "fs_control", "flush",
						  "rename",     "delete",     "cleanup",
						  "close" };
	char line[200];

	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
		snprintf(line, sizeof line,
			 "etw_file_operations_total{process=\"alpha\"," OURS
			 ",operation=\"%s\"} 1\n",
			 operations[i]);
		expect(page, line);
		snprintf(line, sizeof line,
			 "etw_file_process_operation_duration_seconds_sum{process=\"alpha\"," OURS
			 ",operation=\"%s\"} 0.001\n",
			 operations[i]);
		expect(page, line);
		snprintf(line, sizeof line,
			 "etw_file_operation_duration_seconds_sum{operation=\"%s\"} 0.001\n",
			 operations[i]);
		expect(page, line);
	}
	expect(page, "etw_file_process_operation_duration_seconds_sum{process=\"alpha\"," OURS
		     ",operation=\"dir_notify\"} 0.001\n");
	expect(page,
	       "etw_file_operations_total{process=\"alpha\"," OURS ",operation=\"read\"} 2\n");
	expect(page,
	       "etw_file_operations_total{process=\"alpha\"," OURS ",operation=\"write\"} 2\n");
#define ON_VOLUME "{process=\"alpha\"," OURS ",volume=\"HarddiskVolume3\"} "
	expect(page, "etw_file_read_bytes_total" ON_VOLUME "200\n");
	expect(page, "etw_file_written_bytes_total" ON_VOLUME "1000\n");
	expect(page, "etw_file_paging_read_bytes_total" ON_VOLUME "4000\n");
	expect(page, "etw_file_paging_written_bytes_total" ON_VOLUME "30000\n");
#define IN_GROUP "{group=\"logs\",process=\"alpha\"," OURS
	expect(page, "etw_file_group_written_bytes_total" IN_GROUP "} 1000\n");
	expect(page, "etw_file_group_read_bytes_total" IN_GROUP "} 200\n");
	expect(page, "etw_file_group_operations_total" IN_GROUP ",operation=\"delete\"} 1\n");
	expect(page, "etw_file_operation_errors_total{process=\"alpha\"," OURS
		     ",operation=\"rename\",status=\"object_name_not_found\"} 1\n");
	expect(page, "etw_file_top_written_bytes{path=\"\\\\Device\\\\HarddiskVolume3\\\\logs\\\\"
		     "a.log\",process=\"alpha\"," OURS "} 1000\n");
	expect(page, "etw_consumer_repeated_events_total{session=\"");
	expect(page, "etw_consumer_file_bytes_with_volume_ratio");
	expect_none(page, "etw_file_operations_total{process=\"alpha\"," KERNEL);
}

static void alone_it_feeds_the_families_of_files(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) { /* version, pointer size, passes */
		struct making making;
		struct etw_text page;

		begin(&making, i & 1, i & 2 ? 4 : 8);
		put_story(&making);
		page = replay_with(&making, ALL_ON, (i & 4) != 0);
		check_story(&page);
		text_free(&page);
	}
}

/* ---- both ---- */

enum { THEIRS_FIRST, OURS_FIRST };

static void at_now(struct making *making)
{
	kernel_events_at(&making->k, 0, making->now, ALPHA, ALPHA_THREAD);
}

/* A file is opened and written, which both sources report: FileIo before the provider, or a
 * millisecond after it. */
static void put_both(struct making *making, unsigned order)
{
	const struct kernel_file file = {
		.irp = IRP, .object = OBJECT, .key = KEY, .thread_id = ALPHA_THREAD
	};

	for (unsigned i = 0; i < 2; i++) {
		if (i == order) {
			at_now(making);
			event_file_create(&making->k, &file, path_of_log, 0, 0);
		} else {
			put_create(making, ETW_FILE_EVENT_CREATE, IRP, path_of_log);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		if (i == order) {
			at_now(making);
			event_file_end(&making->k, IRP, 0, 0);
		} else {
			put_end(making, IRP, 0);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		if (i == order) {
			at_now(making);
			event_file_transfer(&making->k, OP_FILE_WRITE, &file, 0, 1000,
					    FILE_IO_CACHED_WRITE);
		} else {
			put_transfer(making, ETW_FILE_EVENT_WRITE, IRP, 1000, CACHED);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		if (i == order) {
			at_now(making);
			event_file_end(&making->k, IRP, 0, 0);
		} else {
			put_end(making, IRP, 0);
		}
	}
}

static void check_kernel_alone(const struct etw_text *page)
{
	expect_none(page, "{process=\"alpha\"," OURS ",operation=");
	expect_none(page, "{process=\"alpha\"," OURS ",volume=");
	expect(page,
	       "etw_file_operations_total{process=\"alpha\"," KERNEL ",operation=\"create\"} 1\n");
	expect(page,
	       "etw_file_operations_total{process=\"alpha\"," KERNEL ",operation=\"write\"} 1\n");
	expect(page, "etw_file_written_bytes_total{process=\"alpha\"," KERNEL
		     ",volume=\"HarddiskVolume3\"} 1000\n");
	expect(page, "etw_file_group_written_bytes_total{group=\"logs\",process=\"alpha\"," KERNEL
		     "} 1000\n");
	expect(page, "etw_file_process_operation_duration_seconds_count{process=\"alpha\"," KERNEL
		     ",operation=\"create\"} 1\n");
	expect(page, "etw_file_operation_duration_seconds_count{operation=\"write\"} 1\n");
	expect(page, "a.log\",process=\"alpha\"," KERNEL "} 1000\n");
	expect_none(page, "a.log\",process=\"alpha\"," OURS);
	/* every start of a request meets its end */
	expect(page, "etw_state_entries{table=\"irp\"} 0\n");
	assert_true(page_value(page, "etw_consumer_unattributed_events_total") == 0);
}

static void beside_the_kernel_it_counts_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct making making;
		struct etw_text page;

		begin(&making, i & 1, 8);
		put_both(&making, i & 2 ? OURS_FIRST : THEIRS_FIRST);
		page = replay_with(&making, ALL_ON, false);
		check_kernel_alone(&page);
		/* a create, a write, and two ends */
		assert_int_equal(page_value(&page, "etw_consumer_repeated_events_total"), 4);
		text_free(&page);
	}
}

/* The provider's events are long over when the first event of FileIo comes. A first pass knows it
 * all the same; without one they count, and later ones do not. */
static void what_a_recording_has_later_is_known_in_two_passes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		bool single_pass = i == 1;
		struct making making;
		struct etw_text page;

		begin(&making, 1, 8);
		put_create(&making, ETW_FILE_EVENT_CREATE, IRP, path_of_log);
		put_end(&making, IRP, 0);
		put_transfer(&making, ETW_FILE_EVENT_WRITE, IRP, 77, CACHED);
		put_end(&making, IRP, 0);
		making.now += SECOND;
		put_both(&making, THEIRS_FIRST);
		page = replay_with(&making, "", single_pass);
		expect(&page, "etw_file_written_bytes_total{process=\"alpha\"," KERNEL
			      ",volume=\"HarddiskVolume3\"} 1000\n");
		if (single_pass) {
			expect(&page, "etw_file_written_bytes_total{process=\"alpha\"," OURS
				      ",volume=\"HarddiskVolume3\"} 77\n");
		} else {
			expect_none(&page, "etw_file_written_bytes_total{process=\"alpha\"," OURS);
		}
		text_free(&page);
	}
}

/* Ends of operations, names and mapped files are no requests: without FILE_IO_INIT the kernel's
 * events count nothing that the provider's count too. */
static void other_events_of_the_kernel_leave_it_counting(void **state)
{
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making, 1, 8);
	at_now(&making);
	event_file_name(&making.k, OP_FILE_NAME_RUNDOWN, KEY, path_of_log);
	event_file_end(&making.k, 7 * IRP, 0, 0);
	put_transfer(&making, ETW_FILE_EVENT_WRITE, IRP, 1000, CACHED);
	page = replay_with(&making, "", false);
	expect(&page, "etw_file_written_bytes_total{process=\"alpha\"," OURS
		      ",volume=\"HarddiskVolume3\"} 1000\n");
	text_free(&page);
}

/* ---- names ---- */

/* A key means one file and, after NameDelete, another. */
static void keys_are_named_until_their_name_ends(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) { /* the second time, names by FileIo stand beside them */
		struct making making;
		struct etw_text page;

		begin(&making, 1, 8);
		for (unsigned volume = 3; volume < 5; volume++) {
			char path[64];

			snprintf(path, sizeof path, "\\Device\\HarddiskVolume%u\\a", volume);
			put_name(&making, ETW_FILE_EVENT_NAME_CREATE, KEY, path);
			at_now(&making);
			if (i == 1) {
				event_file_name(&making.k, OP_FILE_NAME_CREATE, KEY, path);
			}
			put_transfer(&making, ETW_FILE_EVENT_WRITE, IRP, volume, CACHED);
			put_name(&making, ETW_FILE_EVENT_NAME_DELETE, KEY, path);
			at_now(&making);
			if (i == 1) {
				event_file_name(&making.k, OP_FILE_NAME_DELETE, KEY, path);
			}
		}
		page = replay_with(&making, "", false);
		expect(&page, "etw_file_written_bytes_total{process=\"alpha\"," OURS
			      ",volume=\"HarddiskVolume3\"} 3\n");
		expect(&page, "etw_file_written_bytes_total{process=\"alpha\"," OURS
			      ",volume=\"HarddiskVolume4\"} 4\n");
		text_free(&page);
	}
}

/* DeletePath and CreateNewFile name what nothing else has named. */
static void other_events_with_a_path_name_files_too(void **state)
{
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making, 1, 8);
	put_create(&making, ETW_FILE_EVENT_CREATE_NEW_FILE, IRP, path_of_log);
	put_transfer(&making, ETW_FILE_EVENT_WRITE, IRP, 5, CACHED);
	put_request(&making, IRP, true);
	etw_payload_pointer(&making.payload, 0);
	etw_payload_u32(&making.payload, ALPHA_THREAD);
	etw_payload_u32(&making.payload, 13);
	etw_payload_wstring(&making.payload, "\\Device\\HarddiskVolume9\\b");
	put(&making, ETW_FILE_EVENT_DELETE_PATH);
	put_transfer(&making, ETW_FILE_EVENT_READ, IRP, 6, CACHED);
	page = replay_with(&making, "", true);
	expect(&page, "etw_file_written_bytes_total{process=\"alpha\"," OURS
		      ",volume=\"HarddiskVolume3\"} 5\n");
	expect(&page, "etw_file_read_bytes_total{process=\"alpha\"," OURS
		      ",volume=\"HarddiskVolume9\"} 6\n");
	/* CreateNewFile belongs to the Create before it, which would have counted. */
	expect_none(&page, ",operation=\"create\"}");
	text_free(&page);
}

/* ---- who causes disk transfers ---- */

/* System brings to the disk what alpha has written: known from either source, and counted once from
 * both. */
static void the_ledger_of_disk_bytes_takes_each_request_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) { /* FileIo, the provider, both */
		const struct kernel_file file = {
			.irp = IRP, .object = OBJECT, .key = KEY, .thread_id = ALPHA_THREAD
		};
		const struct kernel_disk disk = { .disk = 0,
						  .irp_flags = PAGING,
						  .size = 8192,
						  .file_key = KEY,
						  .irp = IRP,
						  .thread_id = 8 };
		const struct kernel_process system = { .id = 4,
						       .image = "System",
						       .command_line = "" };
		const struct kernel_thread thread = { .process_id = 4, .id = 8 };
		struct making making;
		struct etw_text page;

		begin(&making, 1, 8);
		at_now(&making);
		event_process(&making.k, OP_DC_START, &system);
		event_thread(&making.k, OP_DC_START, &thread);
		if (i != 1) {
			event_file_transfer(&making.k, OP_FILE_WRITE, &file, 0, 8192,
					    FILE_IO_CACHED_WRITE);
		}
		if (i != 0) {
			put_transfer(&making, ETW_FILE_EVENT_WRITE, IRP, 8192, CACHED);
		}
		making.now += SECOND;
		kernel_events_at(&making.k, 0, making.now, 4, 8);
		event_disk(&making.k, OP_DISK_WRITE, &disk);
		page = replay_with(&making, ALL_ON, false);
		expect(&page, "etw_disk_caused_written_bytes_total{process=\"alpha\"," KERNEL
			      ",disk=\"0\",how=\"cached\"} 8192\n");
		assert_int_equal(page_value(&page, "etw_disk_caused_written_bytes_total"), 8192);
		text_free(&page);
	}
}

/* A rename by both sources ends the old name twice; the bytes that are dirty stay those of alpha.
 */
static void a_rename_that_both_report_keeps_what_is_dirty(void **state)
{
	const struct kernel_file file = {
		.irp = IRP, .object = OBJECT, .key = KEY, .thread_id = ALPHA_THREAD
	};
	const struct kernel_disk disk = { .disk = 0,
					  .irp_flags = PAGING,
					  .size = 4096,
					  .file_key = KEY,
					  .irp = IRP,
					  .thread_id = 8 };
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making, 1, 8);
	at_now(&making);
	event_file_transfer(&making.k, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
	put_transfer(&making, ETW_FILE_EVENT_WRITE, IRP, 4096, CACHED);
	at_now(&making);
	event_file_info(&making.k, OP_FILE_RENAME, &file, 0, 10);
	put_simple(&making, ETW_FILE_EVENT_RENAME, IRP, true);
	at_now(&making);
	event_file_name(&making.k, OP_FILE_NAME_DELETE, KEY, path_of_log);
	put_name(&making, ETW_FILE_EVENT_NAME_DELETE, KEY, path_of_log);
	kernel_events_at(&making.k, 0, making.now, 4, 8);
	event_disk(&making.k, OP_DISK_WRITE, &disk);
	page = replay_with(&making, ALL_ON, false);
	expect(&page, "etw_disk_caused_written_bytes_total{process=\"alpha\"," KERNEL
		      ",disk=\"0\",how=\"cached\"} 4096\n");
	text_free(&page);
}

/* ---- hostile payloads ---- */

/* Every event, cut at every length, with names of nothing but surrogates: nothing is counted that
 * is not in the payload, and what is cut short is reported. */
static void payloads_cut_short_count_as_undecodable(void **state)
{
	struct making making;
	struct etw_text page;
	uint8_t zeros[80] = { 0 };

	(void)state;
	begin(&making, 1, 8);
	for (unsigned id = ETW_FILE_EVENT_NAME_CREATE; id <= 34; id++) {
		for (unsigned size = 0; size <= sizeof zeros; size++) {
			memset(zeros, size & 1 ? 0xd8 : 0xff, sizeof zeros);
			etw_payload_bytes(&making.payload, zeros, size);
			put(&making, (uint16_t)id);
		}
	}
	page = replay_with(&making, ALL_ON, false);
	/* 40 bytes of a write end before its size, those of 41 to 43 within it. */
	expect(&page,
	       "etw_file_operations_total{process=\"alpha\"," OURS ",operation=\"write\"} 81\n");
	expect(&page, "etw_consumer_bad_records_total{session=");
	text_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_it_feeds_the_families_of_files),
		cmocka_unit_test(beside_the_kernel_it_counts_nothing),
		cmocka_unit_test(what_a_recording_has_later_is_known_in_two_passes),
		cmocka_unit_test(other_events_of_the_kernel_leave_it_counting),
		cmocka_unit_test(keys_are_named_until_their_name_ends),
		cmocka_unit_test(other_events_with_a_path_name_files_too),
		cmocka_unit_test(the_ledger_of_disk_bytes_takes_each_request_once),
		cmocka_unit_test(a_rename_that_both_report_keeps_what_is_dirty),
		cmocka_unit_test(payloads_cut_short_count_as_undecodable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
