/* SPDX-License-Identifier: MIT */
/*
 * Writes recordings of any size for benchmarks: records as of a busy file and web server, in
 * uncompressed buffers of eight processors.
 */
#ifndef SUPPORT_PLAIN_RECORDING_H
#define SUPPORT_PLAIN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct plain_totals {
	uint64_t records; /* all records, including the logfile header */
	uint64_t file_read_bytes, file_written_bytes, paging_read_bytes;
	uint64_t disk_read_bytes, disk_written_bytes;
	uint64_t tcp_sent_bytes, tcp_received_bytes;
	uint64_t hard_faults, process_starts, thread_starts;
};

/*
 * Writes a recording of about size_bytes, at least 1 MiB; the same size gives the same bytes.
 * Memory does not grow with the size. switches: every tenth record is a context switch. totals may
 * be NULL.
 */
bool plain_recording_write(const char *path, uint64_t size_bytes, bool switches,
			   struct plain_totals *totals, struct etw_error *err);

#endif
