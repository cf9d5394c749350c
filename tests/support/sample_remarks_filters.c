/* SPDX-License-Identifier: MIT */
/*
 * Remarks of minifilters: each open calls those of the virus scanner and of file virtualisation,
 * and the scanner reads the beginning of some files that are opened; each write into the cache
 * calls the scanner's.
 */
#include "tests/support/sample_remarks.h"

enum { SCANNER, VIRTUALISATION };
enum { MAJOR_CREATE = 0, MAJOR_WRITE = 4, SCANNED_BYTES = 4096 };

#define STATUS_OBJECT_NAME_NOT_FOUND UINT32_C(0xc0000034)

static void call(struct machine *m, const struct process *process, size_t filter,
		 enum filter_opcode opcode, const struct kernel_file *operation, uint32_t major,
		 uint64_t most_ns)
{
	static const enum driver_routine routines[SAMPLE_FILTERS] = { ROUTINE_SCANNER,
								      ROUTINE_VIRTUALISATION };
	uint64_t ticks = mostly_low(m, 600, most_ns) / 100;
	const struct kernel_filter_call event = {
		.initial_raw = m->events.raw_time - (int64_t)ticks,
		.routine = driver_routine(routines[filter]),
		.object = operation->object,
		.irp = operation->irp,
		.major = major,
		.status = STATUS_OBJECT_NAME_NOT_FOUND,
	};

	event_filter_call(&m->events, opcode, &event);
	if (opcode == OP_FILTER_POST_FAILURE) {
		process->totals->filters[filter].failures++;
		return;
	}
	process->totals->filters[filter].ticks += ticks;
	process->totals->filters[filter].create_calls += major == MAJOR_CREATE;
	process->totals->filters[filter].write_calls += major == MAJOR_WRITE;
}

/* The scanner's own request, within its call. */
static void scan(struct machine *m, const struct process *process,
		 const struct kernel_file *operation, const struct file *file)
{
	struct kernel_file own = { .irp = m->remarks->next_irp += 0x1b0,
				   .object = operation->object,
				   .key = file->key,
				   .thread_id = operation->thread_id };

	event_file_transfer(&m->events, OP_FILE_FLT_READ, &own, 0, SCANNED_BYTES, 0);
	event_file_end(&m->events, own.irp, SCANNED_BYTES, 0);
	process->totals->filter_reads++;
	process->totals->filter_read_bytes[file->disk] += SCANNED_BYTES;
}

static struct remark_place begin_remark(struct machine *m, const struct process *process,
					uint32_t thread_id)
{
	struct remark_place place = remark_here(m, process, thread_id);

	m->random = m->remarks->filter_random;
	return place;
}

static void end_remark(struct machine *m, const struct remark_place *place)
{
	m->remarks->filter_random = m->random;
	m->random = m->remarks->random; /* as the other remarks have left it */
	remark_end(m, place);
}

void remark_filtered_open(struct machine *m, const struct process *process,
			  const struct kernel_file *operation, const struct file *file)
{
	struct remark_place place;

	if (!m->remarks) {
		return;
	}
	place = begin_remark(m, process, operation->thread_id);
	call(m, process, SCANNER, OP_FILTER_PRE_COMPLETION, operation, MAJOR_CREATE, 9000);
	call(m, process, VIRTUALISATION, OP_FILTER_PRE_COMPLETION, operation, MAJOR_CREATE, 2500);
	if (!file) {
		call(m, process, SCANNER, OP_FILTER_POST_FAILURE, operation, MAJOR_CREATE, 0);
	} else if (file->size >= SCANNED_BYTES && chance(m, 4) == 0) {
		scan(m, process, operation, file);
	}
	call(m, process, SCANNER, OP_FILTER_POST_COMPLETION, operation, MAJOR_CREATE, 400000);
	end_remark(m, &place);
}

void remark_filtered_write(struct machine *m, const struct process *process,
			   const struct kernel_file *operation)
{
	struct remark_place place;

	if (m->remarks) {
		place = begin_remark(m, process, operation->thread_id);
		call(m, process, SCANNER, OP_FILTER_PRE_COMPLETION, operation, MAJOR_WRITE, 6000);
		end_remark(m, &place);
	}
}
