/* SPDX-License-Identifier: MIT */
/*
 * Counts the events of a recording of kernel events, and answers what only such a recording shows.
 *
 * The recording is one of Windows' own (kit_record_kernel() of selftest/kit_etw.h), so that its
 * layouts and its record headers are those of this version of Windows.
 */
#ifndef SELFTEST_KIT_KERNEL_H
#define SELFTEST_KIT_KERNEL_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct kit_finding;
struct kit_kernel; /* opaque */

/* Reads the recording. Returns NULL on failure. */
struct kit_kernel *kit_kernel_read(const char *path, struct etw_error *err);
void kit_kernel_free(struct kit_kernel *kernel); /* NULL is fine */

uint64_t kit_kernel_records(const struct kit_kernel *kernel);

/* Writes a line for each class, opcode, version, type of header and size of payload: how many
 * records there are, how many headers have a process and a thread, and how many of the addresses of
 * drivers and their routines are 0. */
void kit_kernel_table(const struct kit_kernel *kernel, struct etw_text *csv);

/* Adds the versions of context switches, and whether page faults have a thread: two lines for the
 * summary. Adds nothing if the recording has neither. */
void kit_kernel_lines(const struct kit_kernel *kernel, struct etw_text *out);

/* The answers to rows of kit_assumptions[] that name one of them. Not tested: the recording has no
 * such event. */
void recorded_addresses(const struct kit_kernel *kernel, struct kit_finding *finding);
void recorded_filter_calls(const struct kit_kernel *kernel, struct kit_finding *finding);
void recorded_filter_requests(const struct kit_kernel *kernel, struct kit_finding *finding);

#endif
