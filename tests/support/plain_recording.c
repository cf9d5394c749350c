/* SPDX-License-Identifier: MIT */
/*
 * Draws one act after the other from a fixed mix. An act is one to four records on one processor, a
 * microsecond or so apart; time goes on for all processors, so that each one's records are in order
 * and the buffers overlap as those of a session do.
 */
#include "tests/support/plain_recording.h"

#include <stdio.h>

#include "lib/etl/writer.h"
#include "tests/support/kernel_events.h"

enum {
	PROCESSORS = 8,
	PROCESSES = 48,
	THREADS = 12, /* of each process */
	FILES = 3000,
	REMOTES = 200,
};

struct plain {
	struct kernel_events events;
	struct etw_writer *writer;
	struct plain_totals totals;
	uint64_t random;
	int64_t raw;
	uint32_t extra_process; /* id of the last process that was started */
	bool switches;
};

/* xorshift64*, public domain (Sebastiano Vigna, prng.di.unimi.it) */
static uint32_t draw(struct plain *p, uint32_t below)
{
	p->random ^= p->random >> 12;
	p->random ^= p->random << 25;
	p->random ^= p->random >> 27;
	return (uint32_t)(((p->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * below >> 32);
}

static uint32_t process_id(uint32_t process)
{
	return 400 + process * 100;
}

static uint32_t thread_id(uint32_t process, uint32_t thread)
{
	return process_id(process) + 4 + 4 * thread;
}

static const char *image_of(uint32_t process)
{
	static const char *const images[] = { "svchost.exe",  "sqlservr.exe", "w3wp.exe",
					      "MsMpEng.exe",  "lsass.exe",    "dns.exe",
					      "explorer.exe", "dfsrs.exe",    "spoolsv.exe",
					      "WmiPrvSE.exe", "msdtc.exe",    "java.exe" };

	return images[process % (sizeof images / sizeof images[0])];
}

static uint64_t file_key(uint32_t file)
{
	return UINT64_C(0xffffa30b20000170) + (uint64_t)file * 0x290;
}

static const char *file_path(uint32_t file, char path[96])
{
	snprintf(path, 96, "\\Device\\HarddiskVolume%u\\%s\\folder-%02u\\document-%05u.dat",
		 file % 3 ? 3 : 5, file % 3 ? "ProgramData\\Application" : "Shares\\Department",
		 (unsigned)(file / 100), (unsigned)file);
	return path;
}

static void next_moment(struct plain *p)
{
	p->raw += 2 + draw(p, 8);
	p->events.raw_time = p->raw;
}

static struct kernel_file operation(struct plain *p)
{
	uint32_t file = draw(p, FILES);

	return (struct kernel_file){
		.irp = UINT64_C(0xffffc88b5f20e010) + draw(p, 4096) * UINT64_C(0x1b0),
		.object = UINT64_C(0xffffc88b61a04080) + file * UINT64_C(0x150),
		.key = file_key(file),
		.thread_id = p->events.thread_id
	};
}

/* --- acts ------------------------------------------------------------------------------------- */

static void act_transfer(struct plain *p, bool read)
{
	struct kernel_file op = operation(p);
	uint32_t size = 512u << draw(p, 8);
	bool paging = draw(p, 10) == 0;
	uint64_t *bytes = !read  ? &p->totals.file_written_bytes :
			  paging ? &p->totals.paging_read_bytes :
				   &p->totals.file_read_bytes;
	uint32_t flags = !read  ? FILE_IO_CACHED_WRITE :
			 paging ? FILE_IO_PAGING :
				  FILE_IO_CACHED_READ;

	event_file_transfer(&p->events, read ? OP_FILE_READ : OP_FILE_WRITE, &op,
			    (uint64_t)draw(p, 65536) * 4096, size, flags);
	*bytes += size;
	next_moment(p);
	event_file_end(&p->events, op.irp, size, 0);
}

static void act_open(struct plain *p)
{
	struct kernel_file op = operation(p);
	char path[96];

	event_file_create(&p->events, &op,
			  file_path((uint32_t)((op.key - file_key(0)) / 0x290), path), 0x01000060,
			  7);
	next_moment(p);
	event_file_end(&p->events, op.irp, 1, 0);
	next_moment(p);
	event_file_simple(&p->events, OP_FILE_CLEANUP, &op);
	next_moment(p);
	event_file_simple(&p->events, OP_FILE_CLOSE, &op);
}

static void act_disk(struct plain *p, bool read)
{
	struct kernel_file op = operation(p);
	struct kernel_disk disk = { .disk = draw(p, 2),
				    .irp_flags = 0x60043,
				    .size = 4096u << draw(p, 5),
				    .file_key = op.key,
				    .irp = op.irp,
				    .response_ticks = 600 + draw(p, 40000),
				    .thread_id = op.thread_id };

	disk.offset = (uint64_t)draw(p, 1 << 28) * 512;
	event_disk(&p->events, read ? OP_DISK_READ : OP_DISK_WRITE, &disk);
	*(read ? &p->totals.disk_read_bytes : &p->totals.disk_written_bytes) += disk.size;
}

static void act_network(struct plain *p, uint32_t process)
{
	uint32_t remote = draw(p, REMOTES);
	struct kernel_network network = { .ipv6 = remote % 4 == 0,
					  .udp = remote % 16 == 1,
					  .process_id = process_id(process),
					  .size = 40 + draw(p, 16384),
					  .remote = { 10, 20, (uint8_t)(remote >> 4),
						      (uint8_t)remote },
					  .local = { 10, 20, 4, 17 },
					  .remote_port = (uint16_t)(49152 + remote),
					  .local_port = 443 };
	bool send = draw(p, 2);

	network.connection = UINT64_C(0xffffc88b60b31260) + remote * UINT64_C(0x1a0);
	event_network(&p->events, send ? OP_NET_SEND : OP_NET_RECEIVE, &network);
	if (!network.udp) {
		*(send ? &p->totals.tcp_sent_bytes : &p->totals.tcp_received_bytes) += network.size;
	}
}

static void act_hard_fault(struct plain *p)
{
	struct kernel_file op = operation(p);
	struct kernel_hard_fault fault = { .initial_raw = p->raw - 800 - (int64_t)draw(p, 40000),
					   .address = UINT64_C(0x7ffb18000000),
					   .file_key = op.key,
					   .thread_id = op.thread_id,
					   .size = 4096u << draw(p, 4) };

	event_hard_fault(&p->events, &fault);
	p->totals.hard_faults++;
}

static void act_switch(struct plain *p, uint32_t process)
{
	struct kernel_switch change = { .new_thread_id = p->events.thread_id,
					.old_thread_id = thread_id((process + 1) % PROCESSES,
								   draw(p, THREADS)),
					.new_priority = 8,
					.old_priority = 8,
					.old_wait_reason = 15,
					.old_state = 5 };

	event_context_switch(&p->events, &change);
}

static void add_process(struct plain *p, enum lifetime_opcode opcode, uint32_t id,
			const char *image, uint32_t status)
{
	struct kernel_process process = { .id = id,
					  .parent_id = 400,
					  .exit_status = status,
					  .key = UINT64_C(0xffffc88b5a200080) +
						 id * UINT64_C(0x2b0),
					  .sid = "S-1-5-18",
					  .image = image,
					  .command_line = image };

	event_process(&p->events, opcode, &process);
}

static void add_thread(struct plain *p, enum lifetime_opcode opcode, uint32_t process, uint32_t id)
{
	struct kernel_thread thread = { .process_id = process,
					.id = id,
					.start_address = 0x7ffb1c4f0f90,
					.stack_base = UINT64_C(0xffffa30b1c000000) +
						      id * UINT64_C(0x8000),
					.affinity = 0xff,
					.base_priority = 8,
					.name = "" };

	event_thread(&p->events, opcode, &thread);
}

/* A short process: ids are used again after a while, as Windows does. */
static void act_process(struct plain *p)
{
	static const char *const images[] = { "cmd.exe", "conhost.exe", "git.exe",
					      "powershell.exe" };
	uint32_t id = 20000 + (p->extra_process++ % 500) * 8;
	const char *image = images[id / 8 % 4];

	add_process(p, OP_START, id, image, 259);
	next_moment(p);
	add_thread(p, OP_START, id, id + 4);
	next_moment(p);
	add_thread(p, OP_STOP, id, id + 4);
	next_moment(p);
	add_process(p, OP_STOP, id, image, draw(p, 8) == 0);
	p->totals.process_starts++;
	p->totals.thread_starts++;
}

static void act(struct plain *p)
{
	uint32_t process = draw(p, PROCESSES);
	uint32_t what = draw(p, 1000);

	kernel_events_at(&p->events, (uint16_t)draw(p, PROCESSORS), p->raw, process_id(process),
			 thread_id(process, draw(p, THREADS)));
	if (p->switches && draw(p, 6) == 0) {
		act_switch(p, process);
	} else if (what < 300) {
		act_transfer(p, true);
	} else if (what < 500) {
		act_transfer(p, false);
	} else if (what < 580) {
		act_open(p);
	} else if (what < 660) {
		act_disk(p, true);
	} else if (what < 740) {
		act_disk(p, false);
	} else if (what < 968) {
		act_network(p, process);
	} else if (what < 998) {
		act_hard_fault(p);
	} else {
		act_process(p);
	}
	next_moment(p);
}

/* --- the recording ---------------------------------------------------------------------------- */

static void begin_recording(struct plain *p)
{
	kernel_events_at(&p->events, 0, p->raw, 400, 404);
	event_volume_mapping(&p->events, "\\Device\\HarddiskVolume3\\", "C:\\");
	event_volume_mapping(&p->events, "\\Device\\HarddiskVolume5\\", "D:\\");
	for (uint32_t i = 0; i < PROCESSES; i++) {
		add_process(p, OP_DC_START, process_id(i), image_of(i), 259);
		next_moment(p);
		for (uint32_t j = 0; j < THREADS; j++) {
			add_thread(p, OP_DC_START, process_id(i), thread_id(i, j));
			next_moment(p);
		}
	}
	event_trace_rundown_complete(&p->events);
}

static void end_recording(struct plain *p)
{
	char path[96];

	kernel_events_at(&p->events, 0, p->raw, 400, 404);
	for (uint32_t i = 0; i < FILES; i++) {
		event_file_name(&p->events, OP_FILE_NAME_RUNDOWN, file_key(i), file_path(i, path));
		next_moment(p);
	}
	event_trace_rundown_complete(&p->events);
}

bool plain_recording_write(const char *path, uint64_t size_bytes, bool switches,
			   struct plain_totals *totals, struct etw_error *err)
{
	const struct etw_writer_options options = {
		.processors = PROCESSORS,
		.processor_index = true,
		.start_raw = INT64_C(5000000000),
		.session_name = "Benchmark",
		.file_name = "C:\\PerfLogs\\benchmark.etl",
	};
	const uint64_t rest =
		UINT64_C(65536) * (PROCESSORS / 2 + 9); /* what flush and rundown will add, about */
	struct plain plain = { .random = UINT64_C(0x9e3779b97f4a7c15),
			       .raw = options.start_raw + 10000,
			       .switches = switches };
	bool written;

	plain.writer = etw_writer_open(path, &options, err);
	if (!plain.writer) {
		return false;
	}
	kernel_events_init(&plain.events, plain.writer, 8);
	begin_recording(&plain);
	while (etw_writer_written(plain.writer) + rest < size_bytes &&
	       !etw_writer_failed(plain.writer)) {
		for (int i = 0; i < 64; i++) {
			act(&plain);
		}
	}
	end_recording(&plain);
	written = etw_writer_finish(plain.writer, err);
	plain.totals.records = plain.events.records + 1;
	if (totals) {
		*totals = plain.totals;
	}
	kernel_events_done(&plain.events);
	etw_writer_close(plain.writer);
	return written;
}
