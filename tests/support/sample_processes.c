/* SPDX-License-Identifier: MIT */
#include "tests/support/sample_machine.h"

#include <stdio.h>
#include <string.h>

#define SYSTEM32 "\\Device\\HarddiskVolume3\\Windows\\System32\\"

struct known_image {
	const char *file_name;
	uint64_t base;
	uint64_t size;
	uint32_t checksum;
};

/* What nearly every process loads, in this order. */
static const struct known_image libraries[] = {
	{ SYSTEM32 "ntdll.dll", 0x7ffb1c4a0000, 0x1ed000, 0x1f23c6 },
	{ SYSTEM32 "kernel32.dll", 0x7ffb1ac30000, 0xb3000, 0xbd3a3 },
	{ SYSTEM32 "KernelBase.dll", 0x7ffb186f0000, 0x295000, 0x29d8a1 },
	{ SYSTEM32 "msvcrt.dll", 0x7ffb1b2f0000, 0x9e000, 0xa0b4e },
	{ SYSTEM32 "sechost.dll", 0x7ffb1af10000, 0x9e000, 0xa4c21 },
	{ SYSTEM32 "rpcrt4.dll", 0x7ffb1a870000, 0x122000, 0x12a7d4 },
	{ SYSTEM32 "advapi32.dll", 0x7ffb1c110000, 0xa3000, 0xa9e55 },
	{ SYSTEM32 "user32.dll", 0x7ffb1b600000, 0x197000, 0x19b7f2 },
	{ SYSTEM32 "ws2_32.dll", 0x7ffb1c3d0000, 0x6d000, 0x73b19 },
	{ SYSTEM32 "combase.dll", 0x7ffb1a9b0000, 0x32d000, 0x3331a0 },
	{ SYSTEM32 "ucrtbase.dll", 0x7ffb18460000, 0xfa000, 0x104d8c },
	{ SYSTEM32 "bcrypt.dll", 0x7ffb17f90000, 0x26000, 0x2c317 },
};

static const struct known_image drivers[] = {
	{ "\\SystemRoot\\system32\\ntoskrnl.exe", 0xfffff80253a00000, 0xab7000, 0x9aa2e1 },
	{ "\\SystemRoot\\system32\\hal.dll", 0xfffff80254700000, 0xaa000, 0xa8c12 },
	{ "\\SystemRoot\\System32\\drivers\\storport.sys", 0xfffff80a4c310000, 0x9d000, 0xa1b33 },
	{ "\\SystemRoot\\System32\\drivers\\storahci.sys", 0xfffff80a4c2d0000, 0x31000, 0x3b4d7 },
	{ "\\SystemRoot\\system32\\drivers\\ndis.sys", 0xfffff80a4c8e0000, 0x16d000, 0x16a1c9 },
	{ "\\SystemRoot\\System32\\drivers\\tcpip.sys", 0xfffff80a4cd00000, 0x2ed000, 0x2f0d06 },
	{ "\\SystemRoot\\System32\\Drivers\\Ntfs.sys", 0xfffff80a4c5f0000, 0x2b1000, 0x2a40e8 },
	{ "\\SystemRoot\\System32\\drivers\\fltmgr.sys", 0xfffff80a4be10000, 0x72000, 0x7a2f4 },
	{ "\\SystemRoot\\system32\\drivers\\wd\\WdFilter.sys", 0xfffff80a4c4a0000, 0x5e000,
	  0x62b1f },
	{ "\\SystemRoot\\system32\\drivers\\luafv.sys", 0xfffff80a4e2b0000, 0x27000, 0x2c9d1 },
};

enum {
	DRIVER_KERNEL = 0,
	DRIVER_STORPORT = 2,
	DRIVER_STORAHCI = 3,
	DRIVER_NDIS = 4,
	DRIVER_SCANNER = 8,
	DRIVER_VIRTUALISATION = 9,
};

uint64_t driver_routine(enum driver_routine routine)
{
	switch (routine) {
	case ROUTINE_STORAGE_ISR:
		return drivers[DRIVER_STORAHCI].base + 0x1a30;
	case ROUTINE_STORAGE_DPC:
		return drivers[DRIVER_STORPORT].base + 0x29c0;
	case ROUTINE_NIC_ISR:
		return drivers[DRIVER_NDIS].base + 0x6110;
	case ROUTINE_NIC_DPC:
		return drivers[DRIVER_NDIS].base + 0x3b80;
	case ROUTINE_TIMER_DPC:
		return drivers[DRIVER_KERNEL].base + 0x7e3a0;
	case ROUTINE_SCANNER:
		return drivers[DRIVER_SCANNER].base + 0x4c10;
	case ROUTINE_VIRTUALISATION:
		return drivers[DRIVER_VIRTUALISATION].base + 0x1d70;
	case ROUTINE_KERNEL:
		break;
	}
	return drivers[DRIVER_KERNEL].base + 0x1b2400;
}

static void add_image(struct machine *m, enum lifetime_opcode opcode,
		      const struct known_image *image, uint32_t process_id)
{
	struct kernel_image event = { .base = image->base,
				      .size = image->size,
				      .process_id = process_id,
				      .checksum = image->checksum,
				      .time_stamp = 0x5c8f3a21 ^ image->checksum,
				      .file_name = image->file_name };

	event_image(&m->events, opcode, &event);
}

void drivers_rundown(struct machine *m, enum lifetime_opcode opcode)
{
	for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
		add_image(m, opcode, &drivers[i], 0);
		let_time_pass(m, 700);
	}
}

void driver_load(struct machine *m, const char *file_name)
{
	const struct known_image image = { file_name, 0xfffff80a50230000, 0x1b000, 0x1f3c2 };

	add_image(m, OP_IMAGE_LOAD, &image, 0);
}

/* --- counts ------------------------------------------------------------------------------------
 */

static bool is_named(const char *name, const char *image)
{
	size_t size = strlen(name);

	return strncmp(name, image, size) == 0 &&
	       (image[size] == '\0' || strcmp(image + size, ".exe") == 0 ||
		strcmp(image + size, ".EXE") == 0);
}

/* The totals of an image's name; names are those of the scenario, a few. */
static struct sample_process_totals *totals_of(struct machine *m, const char *image)
{
	static const char *const names[] = { "Idle",     "System",     "Registry", "smss",
					     "csrss",    "wininit",    "services", "lsass",
					     "svchost",  "sqlservr",   "w3wp",     "MsMpEng",
					     "WmiPrvSE", "powershell", "conhost",  "Robocopy",
					     "WerFault", "cmd",        "spoolsv",  "taskhostw",
					     "java",     "python",     "EXCEL" };
	struct sample_totals *totals = m->totals;

	for (size_t i = 0; i < totals->process_count; i++) {
		if (is_named(totals->processes[i].name, image)) {
			return &totals->processes[i];
		}
	}
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (is_named(names[i], image)) {
			totals->processes[totals->process_count].name = names[i];
			return &totals->processes[totals->process_count++];
		}
	}
	m->failed = true;
	return &totals->processes[0];
}

/* --- processes -------------------------------------------------------------------------------- */

static uint32_t next_id(struct machine *m)
{
	m->next_id += (uint32_t)(4 + 4 * chance(m, 40));
	return m->next_id;
}

void process_init(struct machine *m, struct process *process, const struct process_type *type,
		  uint32_t id, uint32_t parent_id, uint64_t number)
{
	*process =
		(struct process){ .image = type->image,
				  .command_line = type->command_line,
				  .sid = type->sid,
				  .directory = type->directory,
				  .image_size = type->image_size,
				  .id = id,
				  .parent_id = parent_id,
				  .session_id = type->session_id,
				  .key = UINT64_C(0xffffc88b5a200080) + number * UINT64_C(0x2b440),
				  .alive = true,
				  .totals = totals_of(m, type->image) };
	process->totals->alive++;
}

static struct process *next_process(struct machine *m)
{
	if (m->process_count == PROCESSES_MOST) {
		m->failed = true;
		return &m->processes[0];
	}
	return &m->processes[m->process_count++];
}

void process_init_existing(struct machine *m, struct process *process,
			   const struct process_type *type, uint32_t id, uint32_t parent_id,
			   uint64_t number)
{
	process_init(m, process, type, id, parent_id, number);
	for (size_t i = 0; i < type->threads && i < THREADS_MOST; i++) {
		/* Every processor has an idle thread; all of them have the id 0. */
		process->threads[process->thread_count++] = id == 0 ? 0 : id + 4 + 4 * (uint32_t)i;
	}
}

struct process *process_existing(struct machine *m, const struct process_type *type, uint32_t id,
				 uint32_t parent_id)
{
	struct process *process = next_process(m);

	process_init_existing(m, process, type, id, parent_id, m->process_count);
	return process;
}

static void add_process(struct machine *m, enum lifetime_opcode opcode,
			const struct process *process, uint32_t status)
{
	struct kernel_process event = { .id = process->id,
					.parent_id = process->parent_id,
					.session_id = process->session_id,
					.exit_status = status,
					.key = process->key,
					.sid = process->sid,
					.image = process->image,
					.command_line = process->command_line };

	event_process(&m->events, opcode, &event);
}

static void add_thread(struct machine *m, enum lifetime_opcode opcode,
		       const struct process *process, uint32_t thread_id)
{
	struct kernel_thread event = {
		.process_id = process->id,
		.id = thread_id,
		.start_address = process->id <= 4 ? driver_routine(ROUTINE_KERNEL) : 0x7ffb1c4f0f90,
		.stack_base = UINT64_C(0xffffa30b1c000000) + thread_id * UINT64_C(0x8000),
		.affinity = 0xff,
		.base_priority = process->id == 0 ? 0 : 8,
		.name = ""
	};

	event_thread(&m->events, opcode, &event);
}

void process_add_thread(struct machine *m, struct process *process)
{
	uint32_t thread_id;

	if (process->thread_count == THREADS_MOST) {
		return;
	}
	thread_id = next_id(m);
	process->threads[process->thread_count++] = thread_id;
	add_thread(m, OP_START, process, thread_id);
	process->totals->threads_started++;
	let_time_pass(m, between(m, 20000, 90000));
}

/* What a process loads besides the libraries that all load: its own image, first. */
static struct known_image own_image(const struct process *process, char path[PATH_MOST])
{
	snprintf(path, PATH_MOST, "%s\\%s", process->directory, process->image);
	return (struct known_image){ .file_name = path,
				     .base = 0x7ff6a3b00000,
				     .size = process->image_size,
				     .checksum = (uint32_t)(process->image_size >> 4 ^ 0x2f11) };
}

struct process *process_start(struct machine *m, const struct process_type *type,
			      struct process *parent)
{
	struct process *process = next_process(m);
	char path[PATH_MOST];
	struct known_image image;

	process_init(m, process, type, next_id(m), parent->id, m->process_count);
	image = own_image(process, path);
	enter_thread(m, parent, any_thread(m, parent));
	add_process(m, OP_START, process, 259);
	process->totals->starts++;
	let_time_pass(m, between(m, 50000, 200000));
	process_add_thread(m, process);
	leave_thread(m, 20000);

	enter_thread(m, process, process->threads[0]);
	add_image(m, OP_IMAGE_LOAD, &image, process->id);
	let_time_pass(m, between(m, 30000, 90000));
	for (size_t i = 0; i < type->images && i < sizeof libraries / sizeof libraries[0]; i++) {
		add_image(m, OP_IMAGE_LOAD, &libraries[i], process->id);
		let_time_pass(m, between(m, 40000, 200000));
	}
	for (size_t i = 1; i < type->threads; i++) {
		process_add_thread(m, process);
	}
	leave_thread(m, between(m, 2 * MS, 15 * MS));
	return process;
}

void process_exit(struct machine *m, struct process *process, uint32_t status)
{
	enter_thread(m, process, process->threads[0]);
	event_process_terminate(&m->events, process->id);
	let_time_pass(m, between(m, 20000, 60000));
	for (size_t i = process->thread_count; i > 0; i--) {
		add_thread(m, OP_STOP, process, process->threads[i - 1]);
		let_time_pass(m, between(m, 5000, 20000));
	}
	for (size_t i = 0; i < 3; i++) {
		add_image(m, OP_IMAGE_UNLOAD, &libraries[i], process->id);
		let_time_pass(m, between(m, 2000, 9000));
	}
	add_process(m, OP_STOP, process, status);
	let_time_pass(m, 1000);
	process->alive = false;
	process->totals->alive--;
	process->totals->exits++;
	if (status >= UINT32_C(0xc0000000)) {
		process->totals->exits_crash++;
	} else if (status != 0) {
		process->totals->exits_error++;
	}
	leave_thread(m, 5000);
}

uint32_t any_thread(struct machine *m, const struct process *process)
{
	return process->threads[chance(m, process->thread_count)];
}

struct process *process_of_thread(struct machine *m, uint32_t thread_id)
{
	for (size_t i = m->process_count; i > 0; i--) {
		struct process *process = &m->processes[i - 1];

		for (size_t j = 0; j < process->thread_count; j++) {
			if (process->threads[j] == thread_id) {
				return process;
			}
		}
	}
	return NULL;
}

void process_rundown(struct machine *m, const struct process *process, enum lifetime_opcode opcode)
{
	add_process(m, opcode, process, process->id == 0 ? 0 : 259);
	let_time_pass(m, 900);
	for (size_t i = 0; i < process->thread_count; i++) {
		add_thread(m, opcode, process, process->threads[i]);
		let_time_pass(m, 400);
	}
	if (process->directory[0] != '\0') {
		char path[PATH_MOST];
		struct known_image image = own_image(process, path);

		add_image(m, opcode, &image, process->id);
	}
	for (size_t i = 0; process->id > 4 && i < 4; i++) {
		add_image(m, opcode, &libraries[i], process->id);
		let_time_pass(m, 500);
	}
}

void processes_rundown(struct machine *m, enum lifetime_opcode opcode)
{
	for (size_t i = 0; i < m->process_count; i++) {
		if (m->processes[i].alive) {
			process_rundown(m, &m->processes[i], opcode);
		}
	}
}
