/* SPDX-License-Identifier: MIT */
/*
 * Remarks of the kernel on memory, the registry and files that are on no disk: the running threads
 * touch new pages, programs take address space and give it back, services read their settings, the
 * web site asks the database through a pipe, which copies its log to another machine.
 */
#include "tests/support/sample_remarks.h"

enum { REGISTRY_ID = 104 }; /* processes up to this id are the system's own */

/* --- page faults that need no disk ------------------------------------------------------------ */

static void soft_fault(struct machine *m, const struct process *process)
{
	static const enum soft_fault_opcode opcodes[SAMPLE_SOFT_FAULTS] = { OP_FAULT_TRANSITION,
									    OP_FAULT_DEMAND_ZERO,
									    OP_FAULT_COPY_ON_WRITE,
									    OP_FAULT_GUARD_PAGE };
	uint64_t dice = chance(m, 100);
	size_t kind = dice < 28 ? 0 : dice < 88 ? 1 : dice < 97 ? 2 : 3;

	event_soft_fault(&m->events, opcodes[kind],
			 UINT64_C(0x1f4a0000000) + chance(m, 0x10000) * 4096,
			 UINT64_C(0x7ff6a3b01000) + chance(m, 0x100000));
	process->totals->soft_faults[kind]++;
}

static void soft_faults(struct machine *m, void *subject, uint64_t unused)
{
	(void)unused;
	for (size_t i = 0; i < SAMPLE_PROCESSORS; i++) {
		uint32_t thread_id = m->processors[i].thread_id;
		struct process *process = thread_id ? process_of_thread(m, thread_id) : NULL;

		if (process && process->alive) {
			struct remark_place place = remark_on(m, i, process);
			uint64_t faults = between(m, 1, 4);

			for (uint64_t fault = 0; fault < faults; fault++) {
				soft_fault(m, process);
			}
			remark_end(m, &place);
		}
	}
	machine_schedule(m, 45 * MS, soft_faults, subject, 0);
}

/* --- address space ---------------------------------------------------------------------------- */

static void free_space(struct machine *m, void *subject, uint64_t size)
{
	struct process *process = subject;
	struct remark_place place;

	if (!process->alive) {
		return;
	}
	place = remark_begin(m, process, process->threads[0]);
	event_virtual(&m->events, OP_VIRTUAL_FREE, m->remarks->next_address, size, process->id);
	process->totals->virtual_freed_bytes += size;
	remark_end(m, &place);
}

/* Half of the space is taken by the database and the web site, the rest by any program. */
static struct process *who_allocates(struct machine *m)
{
	struct scenario *s = m->scenario;

	switch (chance(m, 8)) {
	case 0:
	case 1:
		return s->database;
	case 2:
	case 3:
		return s->web;
	case 4:
		return s->scanner;
	default:
		return &m->processes[chance(m, m->process_count)];
	}
}

static void take_space(struct machine *m, void *subject, uint64_t unused)
{
	struct remark_place place = remark_begin(m, m->scenario->system, 0);
	struct process *process = who_allocates(m);
	uint64_t size = UINT64_C(65536) << mostly_low(m, 0, 6);
	uint64_t kept_ns = between(m, 100 * MS, 4 * SECOND);
	bool given_back = chance(m, 4) > 0;

	(void)unused;
	if (process->alive && process->id > REGISTRY_ID) {
		m->events.process_id = process->id;
		m->events.thread_id = any_thread(m, process);
		m->remarks->next_address += size;
		event_virtual(&m->events, OP_VIRTUAL_ALLOC, m->remarks->next_address, size,
			      process->id);
		process->totals->virtual_allocated_bytes += size;
		if (given_back) {
			machine_schedule(m, kept_ns, free_space, process, size);
		}
	}
	machine_schedule(m, mostly_low(m, 30 * MS, 220 * MS), take_space, subject, 0);
	remark_end(m, &place);
}

/* --- the registry ----------------------------------------------------------------------------- */

#define STATUS_OBJECT_NAME_NOT_FOUND UINT32_C(0xc0000034)
#define STATUS_BUFFER_OVERFLOW       UINT32_C(0x80000005)
#define STATUS_NO_MORE_ENTRIES       UINT32_C(0x8000001a)
#define STATUS_ACCESS_DENIED         UINT32_C(0xc0000022)

static void registry(struct machine *m, const struct process *process, enum registry_opcode opcode,
		     uint32_t status, uint64_t key, const char *name)
{
	uint64_t took_ns = mostly_low(m, 900, opcode == OP_REGISTRY_SET_VALUE ? 900000 : 60000);
	struct kernel_registry event = { .initial_raw =
						 m->events.raw_time - (int64_t)(took_ns / 100),
					 .status = status,
					 .key = key,
					 .name = name };

	event_registry(&m->events, opcode, &event);
	process->totals->registry_operations++;
	process->totals->registry_failures += status != 0;
}

/* A key is opened, some of its values are read, now and then one is written, and it is closed. */
static void use_key(struct machine *m, const struct process *process)
{
	static const char *const keys[] = {
		"System\\CurrentControlSet\\Services\\Tcpip\\Parameters",
		"Software\\Policies\\Contoso", "Software\\Microsoft\\Windows NT\\CurrentVersion"
	};
	static const char *const values[] = { "Start", "DisplayName", "ImagePath", "Hostname" };
	uint64_t key = UINT64_C(0xffffa30b2c0052a0) + chance(m, 4096) * 0x90;
	uint64_t reads = between(m, 1, 4), dice = chance(m, 24);

	if (dice < 4) { /* there is no such key, or it is closed to the program */
		registry(m, process, OP_REGISTRY_OPEN,
			 dice ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_ACCESS_DENIED, 0, keys[1]);
		return;
	}
	registry(m, process, dice == 4 ? OP_REGISTRY_CREATE : OP_REGISTRY_OPEN, 0, key,
		 keys[dice % 2 * 2]);
	for (uint64_t i = 0; i < reads; i++) {
		uint64_t answer = chance(m, 12);

		registry(m, process, OP_REGISTRY_QUERY_VALUE,
			 answer == 0 ? STATUS_BUFFER_OVERFLOW :
			 answer == 1 ? STATUS_OBJECT_NAME_NOT_FOUND :
				       0,
			 key, values[chance(m, 4)]);
	}
	if (dice < 8) {
		registry(m, process, OP_REGISTRY_ENUMERATE_KEY, 0, key, "");
		registry(m, process, OP_REGISTRY_ENUMERATE_KEY, STATUS_NO_MORE_ENTRIES, key, "");
	}
	if (dice > 20) {
		registry(m, process, OP_REGISTRY_SET_VALUE, 0, key, values[0]);
	}
	registry(m, process, OP_REGISTRY_CLOSE, 0, key, "");
}

static void settings(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = m->scenario;
	struct remark_place place = remark_begin(m, s->system, 0);
	struct process *process = chance(m, 3) ? &m->processes[chance(m, m->process_count)] :
						 s->scheduler;

	(void)unused;
	if (process->alive && process->id > REGISTRY_ID) {
		m->events.process_id = process->id;
		m->events.thread_id = any_thread(m, process);
		use_key(m, process);
	}
	machine_schedule(m, mostly_low(m, 40 * MS, 350 * MS), settings, subject, 0);
	remark_end(m, &place);
}

/* --- pipes and the network -------------------------------------------------------------------- */

enum { PIPE_BYTES = 1024, LOG_COPY_BYTES = 65536 };

/* A program opens a file that is on no disk, reads or writes, and closes it. The random numbers
 * that it draws are drawn again, so that all other remarks stay as they were without it. */
static void use_elsewhere(struct machine *m, const struct process *process, const char *path,
			  enum file_opcode opcode, uint32_t size)
{
	uint64_t random = m->remarks->random;
	struct remark_place place = remark_begin(m, process, process->threads[0]);
	uint64_t number = m->remarks->next_elsewhere++;
	const struct kernel_file file = { .irp = UINT64_C(0xffffc88b7e000010) + number * 0x1b0,
					  .object = UINT64_C(0xffffc88b7f004080) + number * 0x150,
					  .key = UINT64_C(0xffffa30b7a401170) + number * 0x290,
					  .thread_id = process->threads[0] };

	event_file_create(&m->events, &file, path, 0x01000060, 7);
	event_file_end(&m->events, file.irp, 1, 0);
	event_file_transfer(&m->events, opcode, &file, 0, size, FILE_IO_CACHED_WRITE);
	event_file_end(&m->events, file.irp, size, 0);
	event_file_simple(&m->events, OP_FILE_CLEANUP, &file);
	event_file_end(&m->events, file.irp, 0, 0);
	event_file_simple(&m->events, OP_FILE_CLOSE, &file);
	event_file_end(&m->events, file.irp, 0, 0);
	process->totals->file_creates++;
	process->totals->file_reads += opcode == OP_FILE_READ;
	process->totals->file_writes += opcode == OP_FILE_WRITE;
	remark_end(m, &place);
	m->remarks->random = random;
}

static void ask_through_pipe(struct machine *m, void *subject, uint64_t unused)
{
	static const char pipe[] = "\\Device\\NamedPipe\\sql\\query";
	struct scenario *s = m->scenario;

	(void)unused;
	if (s->web->alive) {
		use_elsewhere(m, s->web, pipe, OP_FILE_WRITE, PIPE_BYTES);
		use_elsewhere(m, s->database, pipe, OP_FILE_READ, PIPE_BYTES);
		s->web->totals->pipe_written_bytes += PIPE_BYTES;
		s->database->totals->pipe_read_bytes += PIPE_BYTES;
	}
	machine_schedule(m, 1500 * MS, ask_through_pipe, subject, 0);
}

static void copy_log(struct machine *m, void *subject, uint64_t unused)
{
	struct process *database = m->scenario->database;

	(void)unused;
	use_elsewhere(m, database, "\\Device\\Mup\\backup01\\Logs\\Shop_log.trn", OP_FILE_WRITE,
		      LOG_COPY_BYTES);
	database->totals->network_written_bytes += LOG_COPY_BYTES;
	machine_schedule(m, 6 * SECOND, copy_log, subject, 0);
}

void kernel_remarks_begin(struct machine *m)
{
	machine_schedule(m, 23 * MS, soft_faults, NULL, 0);
	machine_schedule(m, 150 * MS, take_space, NULL, 0);
	machine_schedule(m, 90 * MS, settings, NULL, 0);
	machine_schedule(m, 700 * MS, ask_through_pipe, NULL, 0);
	machine_schedule(m, 3 * SECOND, copy_log, NULL, 0);
}
