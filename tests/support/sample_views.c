/* SPDX-License-Identifier: MIT */
/*
 * A database of the sample's server that is mapped into memory: a service stores to it, which makes
 * no event, the virus scanner maps it too and reads it, and System writes its pages out. Who caused
 * these writes, only FileIo/MapFile says.
 *
 * It was added to the minute later. So that the rest of it stays as it was, it draws no number: the
 * machine's random state is put back after each action, and its file, its requests and its disk
 * times are its own.
 */
#include "tests/support/sample_scenario.h"

enum { STEP = 65536, WRITES = 11, READS = 4, DATABASE_SIZE = 32 << 20 };

static const char path[] =
	"\\Device\\HarddiskVolume3\\Windows\\System32\\wbem\\Repository\\OBJECTS.DATA";
static const uint64_t key = UINT64_C(0xffffa80c5d1e4170), lbn = UINT64_C(0x3a4000000);
enum { DISK_TIME_NS = 180000 };

static struct kernel_view view_of(const struct process *process, enum view_protection protection)
{
	return (struct kernel_view){ .base = UINT64_C(0x1f2a0000000),
				     .file_key = key,
				     .size = DATABASE_SIZE,
				     .process_id = process->id,
				     .protection = protection };
}

static struct kernel_file request(struct machine *m, uint64_t number)
{
	return (struct kernel_file){ .irp = UINT64_C(0xffffa80c60000010) + number * 0x1b0,
				     .object = key ^ 0x1110,
				     .key = key,
				     .thread_id = m->events.thread_id };
}

/* What the disk says after its time. */
static void end_request(struct machine *m, enum disk_opcode opcode,
			const struct kernel_file *request, uint64_t offset)
{
	struct kernel_disk event = { .disk = 0,
				     .irp_flags = 0x60043,
				     .size = STEP,
				     .offset = lbn + offset,
				     .file_key = key,
				     .irp = request->irp,
				     .thread_id = request->thread_id };

	event.response_ticks = DISK_TIME_NS / 100;
	let_time_pass(m, DISK_TIME_NS);
	event_disk(&m->events, opcode, &event);
	let_time_pass(m, 900);
	event_file_end(&m->events, request->irp, STEP, 0);
	let_time_pass(m, 300);
}

static void mapped_before(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;
	struct kernel_view view = view_of(s->scheduler, VIEW_READ_WRITE);
	uint64_t random = m->random;

	(void)unused;
	enter_thread(m, s->scheduler, s->scheduler->threads[1]);
	event_file_name(&m->events, OP_FILE_NAME_CREATE, key, path);
	let_time_pass(m, 300);
	event_view(&m->events, OP_FILE_MAP_DC_START, &view);
	leave_thread(m, 20000);
	m->random = random;
}

/* The mapped page writer. */
static void write_pages(struct machine *m, void *subject, uint64_t number)
{
	struct scenario *s = subject;
	struct sample_process_totals *totals = s->system->totals;
	uint64_t random = m->random, offset = number * 7 * STEP % DATABASE_SIZE;
	struct kernel_file op;

	enter_thread(m, s->system, s->system->threads[4]);
	op = request(m, number);
	event_file_transfer(&m->events, OP_FILE_WRITE, &op, offset, STEP, FILE_IO_PAGING);
	end_request(m, OP_DISK_WRITE, &op, offset);
	totals->file_writes++;
	totals->paging_written_bytes[0] += STEP;
	totals->disk_writes++;
	totals->disk_written_bytes += STEP;
	leave_thread(m, 50000);
	m->random = random;
	if (number + 1 < WRITES) {
		machine_schedule(m, 5 * SECOND, write_pages, s, number + 1);
	}
}

static void scan_database(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;
	struct sample_process_totals *totals = s->scanner->totals;
	struct kernel_view view = view_of(s->scanner, VIEW_READ_ONLY);
	uint64_t random = m->random;

	(void)unused;
	enter_thread(m, s->scanner, s->scanner->threads[2]);
	event_view(&m->events, OP_FILE_MAP, &view);
	for (uint64_t i = 0; i < READS; i++) {
		struct kernel_file op = request(m, WRITES + i);
		struct kernel_hard_fault fault = { .initial_raw = m->events.raw_time,
						   .offset = i * STEP,
						   .address = view.base + i * STEP,
						   .file_key = key,
						   .thread_id = op.thread_id,
						   .size = STEP };

		let_time_pass(m, 1200);
		event_file_transfer(&m->events, OP_FILE_READ, &op, i * STEP, STEP, FILE_IO_PAGING);
		end_request(m, OP_DISK_READ, &op, i * STEP);
		event_hard_fault(&m->events, &fault);
		let_time_pass(m, 9000);
	}
	totals->file_reads += READS;
	totals->paging_read_bytes[0] += READS * STEP;
	totals->disk_reads += READS;
	totals->disk_read_bytes += READS * STEP;
	totals->hard_faults += READS;
	totals->hard_fault_bytes += READS * STEP;
	event_view(&m->events, OP_FILE_UNMAP, &view);
	leave_thread(m, 50000);
	m->random = random;
}

void views_begin(struct machine *m)
{
	machine_schedule(m, 5 * MS, mapped_before, m->scenario, 0);
	machine_schedule(m, 6 * SECOND, write_pages, m->scenario, 0);
	machine_schedule(m, 20 * SECOND, scan_database, m->scenario, 0);
}
