/* SPDX-License-Identifier: MIT */
/*
 * What the other providers of the sample's session say about its story: the .NET runtime, the DNS
 * client, TCPIP and HTTP.sys, and the kernel about soft page faults, address space, the registry,
 * pipes, files on the network, further programs and the memory of all processes.
 *
 * A remark follows the story and never changes it: it takes no processor time and draws its random
 * numbers from a sequence of its own. So further remarks add records to the recording, and leave
 * all that the story does as it was.
 *
 * remark_begin() is for an action of its own, remark_here() for the middle of an action of the
 * story. Until remark_end(), records stand at the place that they have chosen.
 */
#ifndef SUPPORT_SAMPLE_REMARKS_H
#define SUPPORT_SAMPLE_REMARKS_H

#include "tests/support/sample_scenario.h"

enum {
	RUNTIMES_MOST = 16, /* .NET programs, over the whole minute */
	HEAP_GENERATIONS = 4,
	GUESTS = 6, /* programs beside those of the story */
};

/* A program that runs on .NET. */
struct runtime {
	struct process *process;
	uint64_t heap[HEAP_GENERATIONS]; /* bytes; the last one holds the large objects */
	uint64_t allocations;
	uint32_t collections;
	uint32_t generation; /* of the collection that goes on */
	uint32_t workers;    /* of the thread pool */
	uint32_t waiting_thread;
	int64_t waiting_raw; /* since when that thread waits for a lock */
};

struct remarks {
	uint64_t random;
	struct runtime runtimes[RUNTIMES_MOST];
	size_t runtime_count;
	uint64_t lookups_under_way; /* a bit for each row of the table of lookups */
	uint64_t next_address;
	uint64_t filter_random;  /* the sequence of minifilters alone, which have many remarks */
	uint64_t next_irp;       /* of their requests */
	uint64_t next_elsewhere; /* number of a file that is on no disk */
	struct process guests[GUESTS];
	uint64_t next_guest_request;
};

/* Where the story's next record stands, kept while remarks are made. */
struct remark_place {
	uint64_t random;
	int64_t raw_time;
	uint16_t processor;
	uint32_t process_id;
	uint32_t thread_id;
};

/* Records that follow are those of a thread of `process`, now, on a processor that is not ahead. */
struct remark_place remark_begin(struct machine *m, const struct process *process,
				 uint32_t thread_id);
/* The same, on the processor and at the time of the story's latest record. */
struct remark_place remark_here(struct machine *m, const struct process *process,
				uint32_t thread_id);
/* The same, on the processor that runs a thread: behind its latest record. */
struct remark_place remark_on(struct machine *m, size_t processor, const struct process *process);
void remark_end(struct machine *m, const struct remark_place *place);

/* An event of a provider with a manifest; the payload built so far is its payload. */
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

/* --- sample_remarks.c: begins them all -------------------------------------------------------- */

void remarks_begin(struct machine *m);

/* --- sample_remarks_network.c: DNS, TCPIP, HTTP.sys ------------------------------------------- */

void network_remarks_begin(struct machine *m);

/* An outbound connection of `process` that will be made, or fail, after `delay_ns`: its request,
 * somewhat before. */
void remark_connect_request(struct machine *m, uint64_t delay_ns, struct process *process,
			    uint64_t number);
void remark_connected(struct machine *m, const struct connection *connection, uint64_t number);
void remark_connect_failed(struct machine *m, const struct process *process, uint64_t number);

/* A request of the web site: it arrives, is handed to the program, is answered, has been sent. */
void remark_http_arrived(struct machine *m, const struct connection *connection);
void remark_http_delivered(struct machine *m, struct connection *connection, bool order);
void remark_http_answered(struct machine *m, const struct connection *connection, bool order);
void remark_http_sent(struct machine *m, const struct connection *connection);

/* --- sample_remarks_runtime.c: .NET ----------------------------------------------------------- */

/* The program `process` has loaded the runtime. `warm`: a while ago, and its code is compiled. */
void remark_runtime(struct machine *m, struct process *process, bool warm);
/* After `delay_ns` the program throws an exception because its script does not succeed. */
void remark_script_fails(struct machine *m, uint64_t delay_ns, struct process *process);
/* The web site is about to crash: exceptions, and answers with the code 500. */
bool remark_web_fails(const struct machine *m);

/* --- sample_remarks_kernel.c: soft faults, address space, the registry, pipes, the network ---- */

void kernel_remarks_begin(struct machine *m);

/* --- sample_remarks_guests.c: further programs, and the memory of all ------------------------- */

void guest_remarks_begin(struct machine *m);
/* The rundown at the end. */
void guests_rundown(struct machine *m);

/* --- sample_remarks_filters.c: minifilters ---------------------------------------------------- */

/* A program opens a file (NULL: one that does not exist), or writes to one; operation: its request.
 */
void remark_filtered_open(struct machine *m, const struct process *process,
			  const struct kernel_file *operation, const struct file *file);
void remark_filtered_write(struct machine *m, const struct process *process,
			   const struct kernel_file *operation);

#endif
