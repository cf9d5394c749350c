/* SPDX-License-Identifier: MIT */
/*
 * The gauges of process memory: working set, private working set, commit and handles, summed over
 * the processes of one name.
 *
 * A reading lists all processes of the machine: an event that the kernel writes every half second
 * if a session enables it (PageFault/ProcessMemInfo, or Microsoft-Windows-Kernel-Memory/2), or in a
 * live session a reading of the system's list of processes. Each reading replaces the one before.
 * One source of readings feeds the gauges at a time: events of the kernel, else those of the
 * provider, else the list.
 *
 * Only the consumer uses it.
 *
 * Source: microsoft/perfview src/TraceEvent/Parsers/KernelTraceEventParser.cs
 * (MemoryProcessMemInfoTraceData), the fields by version; the same layout in the symbols of Windows
 * 10 and 11 (_PERFINFO_WORKINGSET_INFORMATION). No recording with these events was seen.
 */
#ifndef TRACK_PROCESS_MEMORY_H
#define TRACK_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/source.h>

#include "base/error.h"
#include "base/map.h"
#include "metrics/registry.h"

enum { PROCESS_MEMORY_FAMILIES = 4 };

extern const struct family_options process_memory_families[PROCESS_MEMORY_FAMILIES];

/* In ascending priority. */
enum memory_reader {
	MEMORY_OF_NOBODY,
	MEMORY_OF_LIST,
	MEMORY_OF_PROVIDER,
	MEMORY_OF_KERNEL,
};

struct memory_row; /* the processes of one name */

struct process_memory {
	struct family *families[PROCESS_MEMORY_FAMILIES]; /* NULL: the gauges are off */
	struct shard *shard;                              /* borrowed */
	uint32_t providers[MEMORY_OF_KERNEL + 1];         /* label ids */
	enum memory_reader reader;                        /* whose readings are shown */
	unsigned lists;     /* lists since the last event; the events may have ended */
	uint32_t limit;     /* the most names */
	uint64_t refused;   /* processes for whose name there was no place */
	struct map by_name; /* label id -> struct memory_row, owned */
};

bool process_memory_init(struct process_memory *memory, struct registry *registry,
			 struct shard *shard, uint32_t limit, struct etw_error *err);

/* Frees it; the gauges keep their values. */
void process_memory_done(struct process_memory *memory);

/* Sets the gauges back to 0. */
void process_memory_clear(struct process_memory *memory);

typedef uint32_t memory_label_function(void *context, uint32_t process_id);

/*
 * Show the reading of an event, or that of a list. The payload of the event may be damaged:
 * processes that it does not contain whole are left out. label returns the label id of a process.
 */
void process_memory_read_event(struct process_memory *memory, enum memory_reader reader,
			       const struct etw_record *record, memory_label_function *label,
			       void *context);
void process_memory_read_list(struct process_memory *memory, const struct etw_process_memory *list,
			      size_t count, memory_label_function *label, void *context);

#endif
