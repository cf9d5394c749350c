/* SPDX-License-Identifier: MIT */
/*
 * The sample recording: a minute of an invented Windows server, the same bytes every time.
 *
 * A database, a web server, a virus scanner, a backup and the usual services share eight processors
 * and two disks. Everything is played by a small simulation (sample_machine.h), which keeps counts
 * of its own: what a replay counts can be compared with them.
 */
#ifndef SUPPORT_SAMPLE_H
#define SUPPORT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	SAMPLE_SECONDS = 60,
	SAMPLE_PROCESSORS = 8,
	SAMPLE_DISKS = 2,
	SAMPLE_NAMES_MOST = 32,
	SAMPLE_SOFT_FAULTS = 4,
	SAMPLE_GENERATIONS = 3,
	SAMPLE_FILTERS = 2,       /* wdfilter.sys, luafv.sys */
	SAMPLE_HTTP_ANSWERS = 16, /* two sites by five codes, and some room */
};

/* What all processes of one name did. Rundown counts only in kernel_counts.
 */
struct sample_process_totals {
	const char *name; /* as in metrics, without .exe */
	uint64_t starts, exits, exits_error, exits_crash, threads_started;
	uint64_t alive; /* at the end */
	uint64_t file_reads, file_writes, file_creates, file_deletes, file_renames, file_flushes;
	uint64_t file_read_bytes[SAMPLE_DISKS],
		file_written_bytes[SAMPLE_DISKS]; /* application; 0: C:, 1: D: */
	uint64_t pipe_read_bytes, pipe_written_bytes, network_written_bytes;
	uint64_t paging_read_bytes[SAMPLE_DISKS], paging_written_bytes[SAMPLE_DISKS];
	uint64_t disk_reads, disk_writes, disk_flushes, disk_read_bytes, disk_written_bytes;
	uint64_t tcp_sent_bytes, tcp_received_bytes, udp_sent_bytes, udp_received_bytes;
	uint64_t connects, accepts, disconnects, retransmits;
	uint64_t hard_faults, hard_fault_bytes;
	uint64_t cpu_samples;

	uint64_t
		soft_faults[SAMPLE_SOFT_FAULTS]; /* transition, demand zero, copy on write, guard */
	uint64_t virtual_allocated_bytes, virtual_freed_bytes;
	uint64_t registry_operations, registry_failures; /* the latter are among the former */
	/* in the last reading */
	uint64_t working_set_bytes, private_working_set_bytes, commit_bytes;

	struct {
		uint64_t create_calls, write_calls, failures;
		uint64_t ticks; /* duration of all its calls, in 100 ns */
	} filters[SAMPLE_FILTERS];
	uint64_t filter_reads,
		filter_read_bytes[SAMPLE_DISKS]; /* reads by minifilters themselves */

	uint64_t dns_queries, dns_failures;
	uint64_t tcp_refused; /* outbound connections that could not be made */
	uint64_t collections[SAMPLE_GENERATIONS], collection_pauses, allocated_bytes;
	uint64_t exceptions, contentions, contention_ns, methods_compiled;
};

/* One way in which HTTP.sys answered. */
struct sample_http_totals {
	const char *site;
	uint16_t code;
	uint64_t gets, posts;
};

struct sample_totals {
	uint64_t records;                /* all records, including the logfile header */
	uint32_t kernel_counts[32][128]; /* by group and opcode (kernel_events.h) */
	uint64_t sys_config_records;
	uint64_t application_records; /* records of the TraceLogging provider Contoso.Shop */
	uint64_t remark_records;      /* records of manifest providers */
	uint64_t connect_failures;
	uint64_t tcp_connects; /* outbound connections that TCPIP reports as made */
	uint64_t http_connections,
		http_sent; /* HTTP.sys: accepted connections; answers that were sent */
	struct sample_http_totals http[SAMPLE_HTTP_ANSWERS];
	size_t http_count;
	struct sample_process_totals processes[SAMPLE_NAMES_MOST];
	size_t process_count;
};

/* Writes the recording. totals may be NULL. */
bool sample_write(const char *path, struct sample_totals *totals, struct etw_error *err);

#endif
