/* SPDX-License-Identifier: MIT */
/*
 * The events of the sample's session that other providers write about its story: the .NET runtime,
 * the DNS client, TCPIP and HTTP.sys, and the kernel about soft page faults, address space, the
 * registry, pipes, files on the network, further programs and the memory of all processes.
 *
 * A remark follows the story and never changes it: it takes no processor time and draws its random
 * numbers from a sequence of its own. So further remarks add records to the recording but do not
 * change the story.
 *
 * remark_begin() is for an action of its own, remark_here() for the middle of an action of the
 * story. Records until remark_end() have the processor, time and thread that these functions have
 * set.
 */
#ifndef SUPPORT_SAMPLE_REMARKS_H
#define SUPPORT_SAMPLE_REMARKS_H

#include "tests/support/sample_scenario.h"

enum {
	RUNTIMES_MOST = 16, /* .NET programs during the whole minute */
	HEAP_GENERATIONS = 4,
	GUESTS = 6, /* programs in addition to those of the story */
};

/* A program that runs on .NET. */
struct runtime {
	struct process *process;
	uint64_t heap[HEAP_GENERATIONS]; /* bytes; the last one holds the large objects */
	uint64_t allocations;
	uint32_t collections;
	uint32_t generation; /* generation of the collection that runs */
	uint32_t workers;    /* workers of the thread pool */
	uint32_t waiting_thread;
	int64_t waiting_raw; /* when that thread began to wait for a lock */
};

struct remarks {
	uint64_t random;
	struct runtime runtimes[RUNTIMES_MOST];
	size_t runtime_count;
	uint64_t lookups_under_way; /* a bit for each row of the table of lookups */
	uint64_t next_address;
	uint64_t filter_random;  /* a separate sequence for minifilters, which have many remarks */
	uint64_t next_irp;       /* next IRP of their requests */
	uint64_t next_elsewhere; /* number of the next file that is on no disk */
	struct process guests[GUESTS];
	uint64_t next_guest_request;
};

/* Processor, time and thread of the story's next record, saved while remarks are made. */
struct remark_place {
	uint64_t random;
	int64_t raw_time;
	uint16_t processor;
	uint32_t process_id;
	uint32_t thread_id;
};

/* The records that follow are those of a thread of `process` at the present time, on a processor
 * without later records. */
struct remark_place remark_begin(struct machine *m, const struct process *process,
				 uint32_t thread_id);
/* Does the same on the processor and at the time of the story's latest record. */
struct remark_place remark_here(struct machine *m, const struct process *process,
				uint32_t thread_id);
/* Does the same on a processor that runs a thread, after its latest record. */
struct remark_place remark_on(struct machine *m, size_t processor, const struct process *process);
void remark_end(struct machine *m, const struct remark_place *place);

/* An event of a manifest provider. Its payload is the one built so far. */
struct remark_event {
	const struct etw_guid *provider;
	uint16_t id;
	uint16_t task;
	uint8_t opcode;
	uint8_t version;
	uint8_t level;
	uint64_t keyword;
};

void remark_add(struct machine *m, const struct remark_event *event);

/* --- sample_remarks.c: starts all remarks --------------------------------------------------------
 */

void remarks_begin(struct machine *m);

/* --- sample_remarks_network.c: DNS, TCPIP, HTTP.sys ------------------------------------------- */

void network_remarks_begin(struct machine *m);

/* Adds the request of an outbound connection of `process`, some time before it is made, or fails,
 * after `delay_ns`. */
void remark_connect_request(struct machine *m, uint64_t delay_ns, struct process *process,
			    uint64_t number);
void remark_connected(struct machine *m, const struct connection *connection, uint64_t number);
void remark_connect_failed(struct machine *m, const struct process *process, uint64_t number);

/* The steps of a request to the web site: it arrives, the program gets it, answers it, and the
 * answer is sent. */
void remark_http_arrived(struct machine *m, const struct connection *connection);
void remark_http_delivered(struct machine *m, struct connection *connection, bool order);
void remark_http_answered(struct machine *m, const struct connection *connection, bool order);
void remark_http_sent(struct machine *m, const struct connection *connection);

/* --- sample_remarks_runtime.c: .NET ----------------------------------------------------------- */

/* Adds that `process` has loaded the runtime; `warm`: some time ago, so that its code is compiled.
 */
void remark_runtime(struct machine *m, struct process *process, bool warm);
/* After `delay_ns` the program throws an exception because its script does not succeed. */
void remark_script_fails(struct machine *m, uint64_t delay_ns, struct process *process);
/* Returns whether the web site is about to crash, and so throws exceptions and answers with status
 * 500. */
bool remark_web_fails(const struct machine *m);

/* --- sample_remarks_kernel.c: soft faults, address space, the registry, pipes, the network ---- */

void kernel_remarks_begin(struct machine *m);

/* --- sample_remarks_guests.c: further programs, and the memory of all ------------------------- */

void guest_remarks_begin(struct machine *m);
/* The rundown at the end. */
void guests_rundown(struct machine *m);

/* --- sample_remarks_filters.c: minifilters ---------------------------------------------------- */

/* Add what minifilters do when a program opens a file (NULL: one that does not exist) or writes to
 * one; operation: its request. */
void remark_filtered_open(struct machine *m, const struct process *process,
			  const struct kernel_file *operation, const struct file *file);
void remark_filtered_write(struct machine *m, const struct process *process,
			   const struct kernel_file *operation);

#endif
