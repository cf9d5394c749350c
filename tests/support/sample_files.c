/* SPDX-License-Identifier: MIT */
#include "tests/support/sample_remarks.h"

#include <stdio.h>
#include <string.h>

enum {
	INFO_CLASS_DISPOSITION = 13,
	INFO_CLASS_RENAME = 10,
	INFO_CLASS_STANDARD = 5,
	INFO_CLASS_NAMES = 37
};

enum { STATUS_SUCCESS = 0 };
#define STATUS_OBJECT_NAME_NOT_FOUND UINT32_C(0xc0000034)

static const char *const devices[SAMPLE_DISKS] = { "\\Device\\HarddiskVolume3",
						   "\\Device\\HarddiskVolume5" };

static uint64_t new_key(struct machine *m)
{
	return m->next_key += 0x290;
}

static struct file *new_file(struct machine *m, unsigned disk, const char *path)
{
	struct file *file;

	if (m->file_count == FILES_MOST) {
		m->failed = true;
		return &m->files[0];
	}
	file = &m->files[m->file_count++];
	*file = (struct file){ .disk = disk, .lbn = (chance(m, 0x1000000) + 0x10000) * 4096 };
	snprintf(file->path, sizeof file->path, "%s%s", devices[disk], path);
	return file;
}

struct file *file_existing(struct machine *m, unsigned disk, const char *path, uint64_t size)
{
	struct file *file = new_file(m, disk, path);

	file->size = size;
	file->key = new_key(m);
	return file;
}

struct file *file_absent(struct machine *m, unsigned disk, const char *path)
{
	return new_file(m, disk, path);
}

/* --- disks ------------------------------------------------------------------------------------ */

static void disk_done(struct machine *m, void *subject, uint64_t unused)
{
	struct transfer *t = subject;
	struct sample_process_totals *totals = t->process->totals;
	struct kernel_disk event = { .disk = t->file->disk,
				     .irp_flags = t->fault ? 0x60043 : 0x60a01,
				     .size = t->size,
				     .offset = t->file->lbn + t->offset,
				     .file_key = t->file->key,
				     .irp = t->irp,
				     .thread_id = t->thread_id };

	(void)unused;
	interrupt(m, driver_routine(ROUTINE_STORAGE_ISR), driver_routine(ROUTINE_STORAGE_DPC));
	event.response_ticks = (m->now_ns - t->begun_ns) / 100;
	event_disk(&m->events, t->opcode, &event);
	let_time_pass(m, between(m, 500, 2000));
	event_file_end(&m->events, t->irp, t->size, STATUS_SUCCESS);
	let_time_pass(m, 300);
	switch (t->opcode) {
	case OP_DISK_READ:
		totals->disk_reads++;
		totals->disk_read_bytes += t->size;
		break;
	case OP_DISK_WRITE:
		totals->disk_writes++;
		totals->disk_written_bytes += t->size;
		break;
	default:
		totals->disk_flushes++;
		break;
	}
	if (t->fault) {
		struct kernel_hard_fault fault = { .initial_raw = etl_writer_raw_time(
							   m->writer, t->begun_ns - 400),
						   .offset = t->offset,
						   .address = UINT64_C(0x7ffb1c4a0000) + t->offset,
						   .file_key = t->file->key,
						   .thread_id = t->thread_id,
						   .size = t->size };

		let_time_pass(m, between(m, 2000, 9000));
		event_hard_fault(&m->events, &fault);
		totals->hard_faults++;
		totals->hard_fault_bytes += t->size;
	}
}

/* The first disk answers fast, the second has arms and a queue. */
static void disk_begin(struct machine *m, const struct transfer *transfer)
{
	struct transfer *t = &m->transfers[m->next_transfer++ % TRANSFERS_MOST];
	unsigned disk = transfer->file->disk;
	uint64_t service = disk == 0 ? mostly_low(m, 60000, 900000) + transfer->size * UINT64_C(2) :
				       mostly_low(m, 250000, 9 * MS) + transfer->size * UINT64_C(5);
	uint64_t start = m->disk_free_ns[disk] > m->now_ns ? m->disk_free_ns[disk] : m->now_ns;

	*t = *transfer;
	t->begun_ns = m->now_ns;
	m->disk_free_ns[disk] = start + service / (disk == 0 ? 16 : 4); /* so many at a time */
	machine_schedule(m, start - m->now_ns + service, disk_done, t, 0);
}

/* --- operations ------------------------------------------------------------------------------- */

static struct kernel_file operation(struct machine *m, const struct open_file *open)
{
	return (struct kernel_file){ .irp = m->next_irp += 0x1b0,
				     .object = open->object,
				     .key = open->file->key,
				     .thread_id = m->events.thread_id };
}

static void end_at_once(struct machine *m, uint64_t irp, uint64_t extra, uint32_t status)
{
	let_time_pass(m, mostly_low(m, 1500, 60000));
	event_file_end(&m->events, irp, extra, status);
	let_time_pass(m, between(m, 500, 3000));
}

struct open_file file_open(struct machine *m, const struct process *process, struct file *file)
{
	struct open_file open = { .file = file,
				  .object = m->next_object += 0x150,
				  .process = process };
	bool fresh = file->key == 0;
	struct kernel_file op;

	if (fresh) {
		file->key = new_key(m);
		file->size = 0;
		file->dirty_bytes = 0;
	}
	op = operation(m, &open);
	event_file_create(&m->events, &op, file->path, fresh ? 0x05000060 : 0x01000060, 7);
	process->totals->file_creates++;
	remark_filtered_open(m, process, &op, file);
	if (fresh) {
		let_time_pass(m, between(m, 4000, 9000));
		event_file_name(&m->events, OP_FILE_NAME_CREATE, file->key, file->path);
	}
	end_at_once(m, op.irp, fresh ? 2 : 1, STATUS_SUCCESS);
	return open;
}

void file_not_found(struct machine *m, const struct process *process, const char *path)
{
	struct kernel_file op = { .irp = m->next_irp += 0x1b0,
				  .object = m->next_object += 0x150,
				  .thread_id = m->events.thread_id };

	event_file_create(&m->events, &op, path, 0x01000060, 7);
	process->totals->file_creates++;
	remark_filtered_open(m, process, &op, NULL);
	end_at_once(m, op.irp, 0, STATUS_OBJECT_NAME_NOT_FOUND);
}

static struct kernel_file transfer_event(struct machine *m, enum file_opcode opcode,
					 const struct open_file *open, uint64_t offset,
					 uint32_t size, uint32_t flags)
{
	struct kernel_file op = operation(m, open);
	struct sample_process_totals *totals = open->process->totals;
	bool paging = flags & 2;
	bool read = opcode == OP_FILE_READ;
	uint64_t *bytes = read   ? paging ? totals->paging_read_bytes : totals->file_read_bytes :
			  paging ? totals->paging_written_bytes :
				   totals->file_written_bytes;

	event_file_transfer(&m->events, opcode, &op, offset, size, flags);
	bytes[open->file->disk] += size;
	totals->file_reads += read;
	totals->file_writes += !read;
	return op;
}

void file_read(struct machine *m, const struct open_file *open, uint64_t offset, uint32_t size)
{
	struct kernel_file op =
		transfer_event(m, OP_FILE_READ, open, offset, size, FILE_IO_CACHED_READ);

	end_at_once(m, op.irp, size, STATUS_SUCCESS);
}

void file_write(struct machine *m, const struct open_file *open, uint64_t offset, uint32_t size)
{
	struct kernel_file op =
		transfer_event(m, OP_FILE_WRITE, open, offset, size, FILE_IO_CACHED_WRITE);

	remark_filtered_write(m, open->process, &op);
	open->file->dirty_bytes += size;
	if (offset + size > open->file->size) {
		open->file->size = offset + size;
	}
	end_at_once(m, op.irp, size, STATUS_SUCCESS);
}

static void disk_transfer(struct machine *m, const struct open_file *open, enum disk_opcode opcode,
			  uint64_t irp, uint64_t offset, uint32_t size, bool fault)
{
	struct transfer transfer = { .opcode = opcode,
				     .fault = fault,
				     .file = open->file,
				     .process = open->process,
				     .thread_id = m->events.thread_id,
				     .irp = irp,
				     .offset = offset,
				     .size = size };

	let_time_pass(m, between(m, 2000, 12000));
	disk_begin(m, &transfer);
}

void file_read_disk(struct machine *m, const struct open_file *open, uint64_t offset, uint32_t size)
{
	struct kernel_file op = transfer_event(m, OP_FILE_READ, open, offset, size, 0);

	disk_transfer(m, open, OP_DISK_READ, op.irp, offset, size, false);
}

void file_write_disk(struct machine *m, const struct open_file *open, uint64_t offset,
		     uint32_t size)
{
	struct kernel_file op = transfer_event(m, OP_FILE_WRITE, open, offset, size, 0);

	disk_transfer(m, open, OP_DISK_WRITE, op.irp, offset, size, false);
}

void file_flush(struct machine *m, const struct open_file *open)
{
	struct kernel_file op = operation(m, open);

	event_file_simple(&m->events, OP_FILE_FLUSH, &op);
	open->process->totals->file_flushes++;
	disk_transfer(m, open, OP_DISK_FLUSH, op.irp, 0, 0, false);
}

void file_query(struct machine *m, const struct open_file *open)
{
	struct kernel_file op = operation(m, open);

	event_file_info(&m->events, OP_FILE_QUERY_INFO, &op, 0, INFO_CLASS_STANDARD);
	end_at_once(m, op.irp, 24, STATUS_SUCCESS);
}

void file_list(struct machine *m, const struct open_file *open, const char *pattern)
{
	struct kernel_file op = operation(m, open);

	event_file_dir_enum(&m->events, OP_FILE_DIR_ENUM, &op, 4096, INFO_CLASS_NAMES, pattern);
	end_at_once(m, op.irp, 3120, STATUS_SUCCESS);
}

void file_close(struct machine *m, const struct open_file *open)
{
	struct kernel_file op = operation(m, open);

	event_file_simple(&m->events, OP_FILE_CLEANUP, &op);
	end_at_once(m, op.irp, 0, STATUS_SUCCESS);
	op = operation(m, open);
	event_file_simple(&m->events, OP_FILE_CLOSE, &op);
	end_at_once(m, op.irp, 0, STATUS_SUCCESS);
}

void file_delete(struct machine *m, const struct open_file *open)
{
	struct kernel_file op = operation(m, open);

	event_file_info(&m->events, OP_FILE_DELETE, &op, 1, INFO_CLASS_DISPOSITION);
	let_time_pass(m, 900);
	event_file_path(&m->events, OP_FILE_DELETE_PATH, &op, INFO_CLASS_DISPOSITION,
			open->file->path);
	open->process->totals->file_deletes++;
	end_at_once(m, op.irp, 0, STATUS_SUCCESS);
	file_close(m, open);
	event_file_name(&m->events, OP_FILE_NAME_DELETE, open->file->key, open->file->path);
	open->file->key = 0;
	open->file->dirty_bytes = 0;
}

void file_rename(struct machine *m, const struct open_file *open, struct file *target)
{
	struct kernel_file op = operation(m, open);
	struct file *file = open->file;

	event_file_info(&m->events, OP_FILE_RENAME, &op, 0, INFO_CLASS_RENAME);
	let_time_pass(m, 900);
	event_file_path(&m->events, OP_FILE_RENAME_PATH, &op, INFO_CLASS_RENAME, target->path);
	open->process->totals->file_renames++;
	end_at_once(m, op.irp, 0, STATUS_SUCCESS);
	event_file_name(&m->events, OP_FILE_NAME_DELETE, file->key, file->path);
	let_time_pass(m, 400);
	event_file_name(&m->events, OP_FILE_NAME_CREATE, file->key, target->path);
	target->key = file->key;
	target->size = file->size;
	target->lbn = file->lbn;
	target->dirty_bytes = file->dirty_bytes;
	file->key = 0;
	file->dirty_bytes = 0;
}

void page_in(struct machine *m, const struct process *process, struct file *file, uint32_t size)
{
	struct open_file section = { .file = file, .object = m->next_object, .process = process };
	uint64_t pages = file->size / 4096 > 16 ? file->size / 4096 - 16 : 1;
	uint64_t offset = chance(m, pages) * 4096;
	struct kernel_file op;

	if (file->key == 0) {
		return;
	}
	op = transfer_event(m, OP_FILE_READ, &section, offset, size, FILE_IO_PAGING);
	disk_transfer(m, &section, OP_DISK_READ, op.irp, offset, size, true);
}

void write_back(struct machine *m, const struct process *system, struct file *file, uint64_t most)
{
	struct open_file section = { .file = file,
				     .object = file->key ^ 0x1110,
				     .process = system };

	while (file->key != 0 && file->dirty_bytes > 0 && most > 0) {
		uint64_t bytes = file->dirty_bytes < 262144 ? file->dirty_bytes : 262144;
		uint32_t size = (uint32_t)((bytes + 4095) & ~UINT64_C(4095));
		uint64_t offset = file->size > bytes ? (file->size - bytes) & ~UINT64_C(4095) : 0;
		struct kernel_file op =
			transfer_event(m, OP_FILE_WRITE, &section, offset, size, FILE_IO_PAGING);

		disk_transfer(m, &section, OP_DISK_WRITE, op.irp, offset, size, false);
		file->dirty_bytes -= bytes;
		most -= most < bytes ? most : bytes;
	}
}

void files_rundown(struct machine *m)
{
	for (size_t i = 0; i < m->file_count; i++) {
		if (m->files[i].key != 0) {
			event_file_name(&m->events, OP_FILE_NAME_RUNDOWN, m->files[i].key,
					m->files[i].path);
			let_time_pass(m, 300);
		}
	}
}
