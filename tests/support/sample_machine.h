/* SPDX-License-Identifier: MIT */
/*
 * The machine behind the sample recording: a clock, eight processors, processes, files, disks and a
 * network, and a schedule of actions.
 *
 * An action is a function that is called at its time. It runs a thread on a processor, lets it do
 * things (each is one or a few records, microseconds apart) and schedules further actions. The end
 * of a disk request is an action, too. Records of one processor are in time order; between
 * processors the order of the buffers is that in which they fill, as in a real session.
 */
#ifndef SUPPORT_SAMPLE_MACHINE_H
#define SUPPORT_SAMPLE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/etl/writer.h"
#include "tests/support/kernel_events.h"
#include "tests/support/sample.h"

enum {
	PROCESSES_MOST = 96,
	THREADS_MOST = 12, /* in one process */
	FILES_MOST = 160,
	PATH_MOST = 160,
	TRANSFERS_MOST = 1024, /* at the same time */
};

#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

struct process {
	const char *image;
	const char *command_line;
	const char *sid;
	const char
		*directory; /* folder of the image; empty: the kernel itself, which has no file */
	uint64_t image_size;
	uint32_t id;
	uint32_t parent_id;
	uint32_t session_id;
	uint64_t key;
	uint32_t threads[THREADS_MOST];
	size_t thread_count;
	bool alive;
	struct sample_process_totals *totals;
};

struct file {
	char path[PATH_MOST]; /* \Device\HarddiskVolume… */
	unsigned disk;        /* 0: C:, 1: D: */
	uint64_t key;         /* 0: the file does not exist (yet) */
	uint64_t size;
	uint64_t dirty_bytes; /* bytes in the cache that are not on the disk yet */
	uint64_t lbn;         /* its position on the disk, in bytes */
};

struct machine;
struct scenario;
struct remarks;
typedef void action_fn(struct machine *m, void *subject, uint64_t argument);

struct action {
	uint64_t time_ns;
	uint64_t sequence; /* equal times keep their order */
	action_fn *run;
	void *subject;
	uint64_t argument;
};

struct processor {
	int64_t last_raw;   /* time of its latest record */
	uint32_t thread_id; /* the thread that runs; 0: none */
	uint64_t stint; /* number of threads that ran here, by which a late switch is recognised */
};

/* A request that a disk processes. */
struct transfer {
	enum disk_opcode opcode;
	bool fault; /* a hard fault waits for it */
	struct file *file;
	const struct process *process;
	uint32_t thread_id;
	uint64_t irp;
	uint64_t offset; /* in the file */
	uint32_t size;
	uint64_t begun_ns;
};

struct machine {
	struct kernel_events events;
	struct etw_writer *writer;
	bool failed;
	uint64_t now_ns; /* time since the start: of the action, then of each thing that it does */
	uint64_t random;
	struct action *actions; /* a heap, earliest first; owned */
	size_t action_count, action_capacity;
	uint64_t action_sequence;
	struct processor processors[SAMPLE_PROCESSORS];
	struct process processes[PROCESSES_MOST];
	size_t process_count;
	struct file files[FILES_MOST];
	size_t file_count;
	struct transfer transfers[TRANSFERS_MOST]; /* used in turn */
	size_t next_transfer;
	uint64_t disk_free_ns[SAMPLE_DISKS]; /* when the disk will have finished all requests */
	uint32_t next_id;
	uint64_t next_key, next_object, next_irp, next_connection;
	struct sample_totals *totals;
	struct scenario *scenario; /* owned */
	struct remarks *remarks;   /* owned; sample_remarks.h */
};

/* --- sample_machine.c: time, chance, processors ----------------------------------------------- */

void machine_init(struct machine *m, struct etw_writer *writer, struct sample_totals *totals);
void machine_done(struct machine *m);

/* Runs the actions up to a time; later ones stay in the schedule. */
void machine_run(struct machine *m, uint64_t until_ns);
void machine_schedule(struct machine *m, uint64_t delay_ns, action_fn *run, void *subject,
		      uint64_t argument);

uint64_t chance(struct machine *m, uint64_t below);               /* 0 … below - 1 */
uint64_t between(struct machine *m, uint64_t low, uint64_t high); /* evenly */
uint64_t mostly_low(struct machine *m, uint64_t low,
		    uint64_t high); /* for latencies: many are short, few are long */
uint64_t wave(const struct machine *m, uint64_t period_s,
	      uint64_t phase_s); /* 0 … 1000 … 0 over a period */

/*
 * enter_thread() gives a thread a processor, with records of its wake-up and switch; the records
 * that follow belong to it. let_time_pass() lets it work for a while. It leaves the processor
 * `busy_ns` after leave_thread(), and has no further records until then.
 */
void enter_thread(struct machine *m, const struct process *process, uint32_t thread_id);
void let_time_pass(struct machine *m, uint64_t ns);
void leave_thread(struct machine *m, uint64_t busy_ns);

/* Adds an interrupt and its DPC on some processor; its records are those of the interrupted thread.
 */
void interrupt(struct machine *m, uint64_t isr_routine, uint64_t dpc_routine);
void sample_processors(struct machine *m);

/* --- sample_processes.c ----------------------------------------------------------------------- */

struct process_type {
	const char *image;
	const char *command_line;
	const char *sid;
	const char *directory; /* folder of the image, \Device\… */
	uint32_t session_id;
	size_t threads; /* at the start */
	size_t images;  /* loaded at the start */
	uint64_t image_size;
};

/* number: unique for each process */
void process_init(struct machine *m, struct process *process, const struct process_type *type,
		  uint32_t id, uint32_t parent_id, uint64_t number);
/* Does the same for a process that started before the recording. */
void process_init_existing(struct machine *m, struct process *process,
			   const struct process_type *type, uint32_t id, uint32_t parent_id,
			   uint64_t number);
struct process *process_existing(struct machine *m, const struct process_type *type, uint32_t id,
				 uint32_t parent_id);
struct process *process_start(struct machine *m, const struct process_type *type,
			      struct process *parent);
void process_exit(struct machine *m, struct process *process, uint32_t status);
void process_add_thread(struct machine *m, struct process *process);
uint32_t any_thread(struct machine *m, const struct process *process);
struct process *process_of_thread(struct machine *m, uint32_t thread_id);

/* Add rundown: opcode 3 at the start, 4 at the end. */
void process_rundown(struct machine *m, const struct process *process, enum lifetime_opcode opcode);
void processes_rundown(struct machine *m, enum lifetime_opcode opcode);
void drivers_rundown(struct machine *m, enum lifetime_opcode opcode);

/* Addresses inside drivers that the rundown lists. */
enum driver_routine {
	ROUTINE_STORAGE_ISR,
	ROUTINE_STORAGE_DPC,
	ROUTINE_NIC_ISR,
	ROUTINE_NIC_DPC,
	ROUTINE_TIMER_DPC,
	ROUTINE_SCANNER,        /* in wdfilter.sys */
	ROUTINE_VIRTUALISATION, /* in luafv.sys */
	ROUTINE_KERNEL
};
uint64_t driver_routine(enum driver_routine routine);
void driver_load(struct machine *m, const char *file_name);

/* --- sample_files.c --------------------------------------------------------------------------- */

/* Adds a file that exists when the recording begins. */
struct file *file_existing(struct machine *m, unsigned disk, const char *path, uint64_t size);
struct file *file_absent(struct machine *m, unsigned disk,
			 const char *path); /* the first open creates it */

struct open_file {
	struct file *file;
	uint64_t object;
	const struct process *process;
};

/* Call these after enter_thread() with a thread of the process. Cached I/O ends at once, other I/O
 * when the disk has finished. */
struct open_file file_open(struct machine *m, const struct process *process, struct file *file);
void file_read(struct machine *m, const struct open_file *open, uint64_t offset, uint32_t size);
void file_write(struct machine *m, const struct open_file *open, uint64_t offset, uint32_t size);
void file_read_disk(struct machine *m, const struct open_file *open, uint64_t offset,
		    uint32_t size);
void file_write_disk(struct machine *m, const struct open_file *open, uint64_t offset,
		     uint32_t size);
void file_flush(struct machine *m, const struct open_file *open);
void file_query(struct machine *m, const struct open_file *open);
void file_delete(struct machine *m, const struct open_file *open);
void file_rename(struct machine *m, const struct open_file *open, struct file *target);
void file_list(struct machine *m, const struct open_file *open, const char *pattern);
void file_close(struct machine *m, const struct open_file *open);
void file_not_found(struct machine *m, const struct process *process, const char *path);

/* Adds a hard fault of a page that is not in memory: a paging read, a disk read, and the fault when
 * the disk has finished. */
void page_in(struct machine *m, const struct process *process, struct file *file, uint32_t size);
/* Lets the lazy writer write dirty pages to the disk. */
void write_back(struct machine *m, const struct process *system, struct file *file, uint64_t most);
void files_rundown(struct machine *m);

/* --- sample_network.c ------------------------------------------------------------------------- */

struct connection {
	struct kernel_network network;
	const struct process *process;
	uint16_t http_code; /* status of the answer to its request */
};

struct connection connection_v4(struct machine *m, const struct process *process,
				const char *remote, uint16_t remote_port, uint16_t local_port);
struct connection connection_v6(struct machine *m, const struct process *process,
				uint16_t remote_tail, uint16_t remote_port, uint16_t local_port);
void tcp_event(struct machine *m, const struct connection *connection, enum network_opcode opcode,
	       uint32_t size);
void tcp_failure(struct machine *m, uint16_t code);
void udp_event(struct machine *m, const struct connection *connection, enum network_opcode opcode,
	       uint32_t size);
uint16_t ephemeral_port(struct machine *m);

#endif
