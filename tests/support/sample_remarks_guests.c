/* SPDX-License-Identifier: MIT */
/*
 * Programs beside those of the story: two more application pools, a search server on Java, and what
 * two users run in their terminal sessions. Their command lines and owners say which w3wp it is and
 * whose EXCEL. They write to files and send to the network, and nothing else.
 *
 * Also the memory of all processes, which the kernel lists every half second if a session enables
 * its group MEMINFO_WS.
 */
#include "tests/support/sample_remarks.h"

#include <string.h>

#define PROGRAM_FILES "\\Device\\HarddiskVolume3\\Program Files"
#define INETSRV       "\\Device\\HarddiskVolume3\\Windows\\System32\\inetsrv"
#define DOMAIN        "S-1-5-21-3623811015-3361044348-30300820-"
#define POOL          "c:\\windows\\system32\\inetsrv\\w3wp.exe -ap "
#define WEB_LOGS      "\\Device\\HarddiskVolume3\\inetpub\\logs\\LogFiles"

struct guest {
	struct process_type type;
	uint32_t id, parent_id;
	const char *path; /* of the file that it writes to */
	unsigned disk;
	uint32_t written, sent; /* bytes, each time */
	uint64_t every_ms;
};

static const struct guest guests[GUESTS] = {
	{ .type = { "w3wp.exe", POOL "\"intranet\" -v \"v4.0\"",
		    "S-1-5-82-271721585-897601226-2024613209-625570482-296978595", INETSRV, 0, 4, 0,
		    0xa000 },
	  .id = 4212,
	  .parent_id = 1044,
	  .path = WEB_LOGS "\\W3SVC2\\u_ex240514.log",
	  .written = 1800,
	  .sent = 42000,
	  .every_ms = 2500 },
	{ .type = { "w3wp.exe", POOL "\"api\" -v \"v4.0\"", DOMAIN "1602", INETSRV, 0, 4, 0,
		    0xa000 },
	  .id = 4348,
	  .parent_id = 1044,
	  .path = WEB_LOGS "\\W3SVC3\\u_ex240514.log",
	  .written = 2600,
	  .sent = 9000,
	  .every_ms = 1700 },
	{ .type = { "java.exe",
		    "\"C:\\Program Files\\Java\\bin\\java.exe\" -Xmx1g -jar "
		    "C:\\Apps\\search\\search.jar --password=hunter2",
		    DOMAIN "1603", PROGRAM_FILES "\\Java\\bin", 0, 6, 0, 0x30000 },
	  .id = 4480,
	  .parent_id = 708,
	  .path = "\\Device\\HarddiskVolume5\\Search\\segments_4.dat",
	  .disk = 1,
	  .written = 65536,
	  .sent = 1400,
	  .every_ms = 3000 },
	{ .type = { "EXCEL.EXE",
		    "\"C:\\Program Files\\Microsoft Office\\Office16\\EXCEL.EXE\" /dde",
		    DOMAIN "1105", PROGRAM_FILES "\\Microsoft Office\\Office16", 2, 3, 0,
		    0x2a5000 },
	  .id = 4616,
	  .parent_id = 4572,
	  .path = "\\Device\\HarddiskVolume5\\Shares\\Finance\\budget.xlsx",
	  .disk = 1,
	  .written = 65536,
	  .every_ms = 7000 },
	{ .type = { "EXCEL.EXE",
		    "\"C:\\Program Files\\Microsoft Office\\Office16\\EXCEL.EXE\" /dde",
		    DOMAIN "1106", PROGRAM_FILES "\\Microsoft Office\\Office16", 3, 3, 0,
		    0x2a5000 },
	  .id = 4712,
	  .parent_id = 4668,
	  .path = "\\Device\\HarddiskVolume5\\Shares\\Finance\\orders.xlsx",
	  .disk = 1,
	  .written = 49152,
	  .every_ms = 11000 },
	{ .type = { "python.exe",
		    "C:\\Python312\\python.exe D:\\Shares\\Finance\\monthly.py --month 4",
		    DOMAIN "1105", "\\Device\\HarddiskVolume3\\Python312", 2, 2, 0, 0x18000 },
	  .id = 4804,
	  .parent_id = 4572,
	  .path = "\\Device\\HarddiskVolume5\\Shares\\Finance\\monthly.csv",
	  .disk = 1,
	  .written = 8192,
	  .sent = 700,
	  .every_ms = 5000 },
};

static void write_to_file(struct machine *m, const struct process *process,
			  const struct guest *guest)
{
	uint64_t number = m->remarks->next_guest_request++;
	const struct kernel_file file = { .irp = UINT64_C(0xffffc88b7c000010) + number * 0x1b0,
					  .object = UINT64_C(0xffffc88b7d004080) + number * 0x150,
					  .key = UINT64_C(0xffffa30b7b401170) + guest->id * 0x10,
					  .thread_id = process->threads[0] };

	event_file_create(&m->events, &file, guest->path, 0x01000060, 7);
	event_file_end(&m->events, file.irp, 1, 0);
	event_file_transfer(&m->events, OP_FILE_WRITE, &file, 0, guest->written,
			    FILE_IO_CACHED_WRITE);
	event_file_end(&m->events, file.irp, guest->written, 0);
	event_file_simple(&m->events, OP_FILE_CLEANUP, &file);
	event_file_end(&m->events, file.irp, 0, 0);
	event_file_simple(&m->events, OP_FILE_CLOSE, &file);
	event_file_end(&m->events, file.irp, 0, 0);
	process->totals->file_creates++;
	process->totals->file_writes++;
	process->totals->file_written_bytes[guest->disk] += guest->written;
}

/* Draws no number but the one of the processor, and puts that back. */
static void work(struct machine *m, void *subject, uint64_t which)
{
	const struct guest *guest = &guests[which];
	struct process *process = &m->remarks->guests[which];
	uint64_t random = m->remarks->random;
	struct remark_place place = remark_begin(m, process, process->threads[0]);

	write_to_file(m, process, guest);
	if (guest->sent > 0) {
		const struct kernel_network sent = {
			.process_id = guest->id,
			.size = guest->sent,
			.remote = { 10, 20, 7, (uint8_t)(40 + which) },
			.local = { 10, 20, 4, 17 },
			.remote_port = (uint16_t)(51000 + which),
			.local_port = 443,
			.connection = UINT64_C(0xffffc88b60e31260) + which * 0x1a0,
		};

		event_network(&m->events, OP_NET_SEND, &sent);
		process->totals->tcp_sent_bytes += guest->sent;
	}
	remark_end(m, &place);
	m->remarks->random = random;
	machine_schedule(m, guest->every_ms * MS, work, subject, which);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* About what a process has in RAM. */
static uint64_t megabytes_of(const struct process *process)
{
	static const struct {
		const char *name;
		uint64_t megabytes;
	} large[] = { { "sqlservr", 2100 },
		      { "java", 860 },
		      { "MsMpEng", 210 },
		      { "w3wp", 190 },
		      { "EXCEL", 160 } };

	for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
		if (strcmp(process->totals->name, large[i].name) == 0) {
			return large[i].megabytes;
		}
	}
	return 2 + 2 * process->thread_count;
}

static struct kernel_process_memory memory_of(const struct process *process, uint64_t reading)
{
	uint64_t megabytes = megabytes_of(process);
	uint64_t pages = megabytes * 256 + (reading * 37 + process->id) % (megabytes * 4);
	struct kernel_process_memory memory = { .process_id = process->id,
						.working_set_pages = pages,
						.private_working_set_pages = pages * 3 / 4,
						.commit_pages = pages * 5 / 4 };
	struct sample_process_totals *totals = process->totals;

	totals->working_set_bytes += 4096 * memory.working_set_pages;
	totals->private_working_set_bytes += 4096 * memory.private_working_set_pages;
	totals->commit_bytes += 4096 * memory.commit_pages;
	return memory;
}

static void read_memory(struct machine *m, void *subject, uint64_t reading)
{
	struct kernel_process_memory list[PROCESSES_MOST + GUESTS];
	size_t count = 0;
	uint64_t random = m->remarks->random;
	struct remark_place place = remark_begin(m, m->scenario->system, 0);

	for (size_t i = 0; i < m->totals->process_count; i++) {
		struct sample_process_totals *totals = &m->totals->processes[i];

		totals->working_set_bytes = 0;
		totals->private_working_set_bytes = 0;
		totals->commit_bytes = 0;
	}
	for (size_t i = 0; i < m->process_count; i++) {
		if (m->processes[i].alive) {
			list[count++] = memory_of(&m->processes[i], reading);
		}
	}
	for (size_t i = 0; i < GUESTS; i++) {
		list[count++] = memory_of(&m->remarks->guests[i], reading);
	}
	event_process_memory(&m->events, list, count);
	remark_end(m, &place);
	m->remarks->random = random;
	machine_schedule(m, 500 * MS, read_memory, subject, reading + 1);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void begin_guests(struct machine *m, void *subject, uint64_t unused)
{
	uint64_t random = m->remarks->random;
	struct remark_place place =
		remark_begin(m, m->scenario->scheduler, m->scenario->scheduler->threads[1]);

	(void)unused;
	for (size_t i = 0; i < GUESTS; i++) {
		struct process *process = &m->remarks->guests[i];

		process_init_existing(m, process, &guests[i].type, guests[i].id,
				      guests[i].parent_id, PROCESSES_MOST + 1 + i);
		process_rundown(m, process, OP_DC_START);
		machine_schedule(m, (600 + 130 * i) * MS, work, subject, i);
	}
	machine_schedule(m, 500 * MS, read_memory, subject, 0);
	remark_end(m, &place);
	m->remarks->random = random;
}

void guest_remarks_begin(struct machine *m)
{
	machine_schedule(m, 7 * MS, begin_guests, NULL, 0);
}

void guests_rundown(struct machine *m)
{
	for (size_t i = 0; i < GUESTS; i++) {
		process_rundown(m, &m->remarks->guests[i], OP_DC_STOP);
	}
}
