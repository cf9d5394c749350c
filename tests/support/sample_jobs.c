/* SPDX-License-Identifier: MIT */
/*
 * Jobs of the sample's server that come and go: scheduled scripts, a nightly copy, the report of a
 * crash.
 */
#include "tests/support/sample_remarks.h"
#include "tests/support/sample_scenario.h"

#include <stdio.h>

#define SYSTEM32  "\\Device\\HarddiskVolume3\\Windows\\System32"
#define ADMIN_SID "S-1-5-21-3623811015-3361044348-30300820-1013"

enum { SCRIPTS = 6 };

static const struct process_type conhost = {
	"conhost.exe", "\\??\\C:\\Windows\\system32\\conhost.exe 0x4", ADMIN_SID, SYSTEM32, 0, 3, 6,
	0xd3000
};
static const struct process_type powershell = {
	"powershell.exe",
	"powershell.exe -NoProfile -File C:\\Scripts\\Collect-Inventory.ps1",
	ADMIN_SID,
	SYSTEM32 "\\WindowsPowerShell\\v1.0",
	0,
	6,
	12,
	0x72000
};
static const struct process_type cmd = {
	"cmd.exe", "C:\\Windows\\system32\\cmd.exe /c C:\\Scripts\\nightly.cmd",
	ADMIN_SID, SYSTEM32,
	0,         1,
	5,         0x5e000
};
static const struct process_type robocopy = {
	"Robocopy.exe", "robocopy D:\\Shares C:\\Backup /MIR /R:1", ADMIN_SID, SYSTEM32, 0, 3, 7,
	0x23000
};
static const struct process_type werfault = {
	"WerFault.exe",
	"C:\\Windows\\system32\\WerFault.exe -u -p 3920 -s 1412",
	"S-1-5-18",
	SYSTEM32,
	0,
	3,
	9,
	0x69000
};
static const struct process_type wmiprvse = { "WmiPrvSE.exe",
					      "C:\\Windows\\system32\\wbem\\wmiprvse.exe",
					      "S-1-5-20",
					      SYSTEM32 "\\wbem",
					      0,
					      5,
					      8,
					      0x7f000 };
static const struct process_type taskhostw = {
	"taskhostw.exe", "taskhostw.exe", ADMIN_SID, SYSTEM32, 0, 3, 7, 0x15000
};

/* --- a script every nine seconds -------------------------------------------------------------- */

static void script_end(struct machine *m, void *subject, uint64_t status)
{
	struct process *process = subject;

	process_exit(m, process, (uint32_t)status);
}

static void script_work(struct machine *m, void *subject, uint64_t left)
{
	struct process *process = subject;
	struct scenario *s = m->scenario;
	char path[64];
	struct file *output;
	struct open_file open;

	enter_thread(m, process, any_thread(m, process));
	if (left > 0) {
		open = file_open(m, process, s->libraries[chance(m, LIBRARIES)]);
		file_read(m, &open, left * 4096, (uint32_t)mostly_low(m, 2048, 65536));
		page_in(m, process, open.file, 32768);
		file_close(m, &open);
		leave_thread(m, mostly_low(m, 3 * MS, 45 * MS));
		machine_schedule(m, between(m, 30 * MS, 150 * MS), script_work, process, left - 1);
		return;
	}
	snprintf(path, sizeof path, "\\Scripts\\out\\inventory-%u.csv", (unsigned)process->id);
	output = file_absent(m, 0, path);
	open = file_open(m, process, output);
	for (uint64_t at = 0; at < 12; at++) {
		file_write(m, &open, at * 4096, 4096);
	}
	file_close(m, &open);
	leave_thread(m, between(m, MS, 3 * MS));
}

static void script(struct machine *m, void *subject, uint64_t number)
{
	struct process *parent = subject;
	struct process *process = process_start(m, &powershell, parent);
	struct process *console = process_start(m, &conhost, process);

	remark_runtime(m, process, false);
	if (number == 3) {
		remark_script_fails(m, 4900 * MS, process);
	}
	machine_schedule(m, 40 * MS, script_work, process, between(m, 12, 24));
	machine_schedule(m, 5 * SECOND, script_end, process,
			 number == 3 ? 1 : 0); /* one of them does not succeed */
	machine_schedule(m, 5 * SECOND + 30 * MS, script_end, console, 0);
	if (number + 1 < SCRIPTS) {
		machine_schedule(m, 9 * SECOND, script, parent, number + 1);
	}
}

/* --- the nightly copy from the second disk to the first --------------------------------------- */

static void copy_finish(struct machine *m, struct process *process, struct file *temporary,
			struct file *target)
{
	struct open_file open;

	if (target->key != 0) { /* the copy of yesterday */
		open = file_open(m, process, target);
		file_delete(m, &open);
	}
	open = file_open(m, process, temporary);
	file_rename(m, &open, target);
	open.file = target;
	file_close(m, &open);
}

/* One file: read a piece from the second disk, write it to the cache, until it is done. */
static void copy_step(struct machine *m, void *subject, uint64_t number)
{
	struct process *process = subject;
	uint64_t which = number >> 16;
	uint64_t piece = number & 0xffff;
	char path[64];
	struct file *source;
	struct file *temporary;
	struct open_file in;
	struct open_file out;
	struct scenario *s = m->scenario;

	if (which == COPIES) {
		process_exit(m, process, 1); /* robocopy: files were copied */
		return;
	}
	source = s->shares[which];
	temporary = s->temporaries[which];
	if (!temporary) {
		snprintf(path, sizeof path, "\\Backup\\report-%u.tmp", (unsigned)which);
		temporary = s->temporaries[which] = file_absent(m, 0, path);
	}
	enter_thread(m, process, any_thread(m, process));
	in = file_open(m, process, source);
	out = file_open(m, process, temporary);
	for (int i = 0; i < 4; i++) {
		file_read_disk(m, &in, piece * 262144, 262144);
		file_write(m, &out, piece * 262144, 262144);
		piece++;
	}
	file_close(m, &in);
	file_close(m, &out);
	if (piece * 262144 >= source->size) {
		copy_finish(m, process, temporary, s->copies[which]);
		piece = 0;
		which++;
	}
	leave_thread(m, mostly_low(m, 2 * MS, 12 * MS));
	machine_schedule(m, between(m, 40 * MS, 130 * MS), copy_step, process, which << 16 | piece);
}

static void nightly_end(struct machine *m, void *subject, uint64_t unused)
{
	(void)unused;
	process_exit(m, subject, 0);
}

static void nightly(struct machine *m, void *subject, uint64_t unused)
{
	struct process *parent = subject;
	struct process *shell = process_start(m, &cmd, parent);
	struct process *process = process_start(m, &robocopy, shell);

	(void)unused;
	machine_schedule(m, 60 * MS, copy_step, process, 0);
	machine_schedule(m, 16 * SECOND, nightly_end, shell, 0);
}

/* --- others ----------------------------------------------------------------------------------- */

static void dump_memory(struct machine *m, void *subject, uint64_t left)
{
	struct process *process = subject;
	struct scenario *s = m->scenario;
	struct open_file open;

	if (left == 0) {
		process_exit(m, process, 0);
		return;
	}
	enter_thread(m, process, process->threads[0]);
	open = file_open(m, process, s->dump);
	for (int i = 0; i < 4; i++) {
		file_write(m, &open, s->dump->size, 131072);
	}
	file_flush(m, &open);
	file_close(m, &open);
	leave_thread(m, 8 * MS);
	machine_schedule(m, 70 * MS, dump_memory, process, left - 1);
}

void jobs_report_crash(struct machine *m, struct process *parent)
{
	struct process *process = process_start(m, &werfault, parent);

	m->scenario->dump =
		file_absent(m, 0, "\\ProgramData\\Microsoft\\Windows\\WER\\Temp\\WER6B1F.tmp.mdmp");
	machine_schedule(m, 30 * MS, dump_memory, process, 12);
}

static void instrumentation(struct machine *m, void *subject, uint64_t left)
{
	struct process *process = subject;
	struct scenario *s = m->scenario;
	struct open_file open;

	if (left == 0) {
		process_exit(m, process, 0);
		return;
	}
	enter_thread(m, process, any_thread(m, process));
	open = file_open(m, process, s->libraries[6]);
	file_read(m, &open, chance(m, 100) * 4096, 16384);
	file_close(m, &open);
	if (left % 3 == 0) {
		process_add_thread(m, process);
	}
	leave_thread(m, mostly_low(m, MS, 30 * MS));
	machine_schedule(m, between(m, 500 * MS, 1500 * MS), instrumentation, process, left - 1);
}

static void start_instrumentation(struct machine *m, void *subject, uint64_t runs)
{
	machine_schedule(m, 50 * MS, instrumentation, process_start(m, &wmiprvse, subject), runs);
}

static void maintenance(struct machine *m, void *subject, uint64_t status)
{
	struct process *process = process_start(m, &taskhostw, subject);

	machine_schedule(m, 2 * SECOND, script_end, process, status);
}

void jobs_begin(struct machine *m, struct process *parent)
{
	struct scenario *s = m->scenario;
	char path[64];

	for (unsigned i = 0; i < COPIES; i++) {
		snprintf(path, sizeof path, "\\Shares\\Finance\\report-%u.xlsx", i);
		s->shares[i] = file_existing(m, 1, path, UINT64_C(1048576) * (3 + 2 * i));
		snprintf(path, sizeof path, "\\Backup\\report-%u.xlsx", i);
		s->copies[i] = i % 2 ? file_absent(m, 0, path) : file_existing(m, 0, path, 1048576);
	}
	machine_schedule(m, 4 * SECOND, script, parent, 0);
	machine_schedule(m, 26 * SECOND, nightly, parent, 0);
	machine_schedule(m, 2 * SECOND, start_instrumentation, parent, 9);
	machine_schedule(m, 33 * SECOND, start_instrumentation, parent,
			 60); /* lives on at the end */
	machine_schedule(m, 17 * SECOND, maintenance, parent, 0);
	machine_schedule(m, 48 * SECOND, maintenance, parent,
			 UINT32_C(0x800710e0)); /* the task was refused */
}
