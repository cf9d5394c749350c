/* SPDX-License-Identifier: MIT */
/*
 * Who makes the disks busy, as the collectors disk and disk_cause count it: by process the bytes
 * that it caused, and the bytes of the requests that its threads issued.
 */
#ifndef ETWTOOL_DISK_USE_H
#define ETWTOOL_DISK_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "etwtool/recording.h"
#include "metrics/registry.h"

enum disk_use_column {
	DISK_CAUSED_WRITTEN,
	DISK_ISSUED_WRITTEN,
	DISK_CAUSED_READ,
	DISK_ISSUED_READ,
	DISK_USE_COLUMNS
};

struct disk_use_row {
	char *process; /* label, without escapes; owned */
	uint64_t bytes[DISK_USE_COLUMNS];
};

/* Zero-initialise it. */
struct disk_use {
	struct disk_use_row *rows; /* owned; those that caused or issued most first */
	size_t count, capacity;
	struct map by_name;                     /* hash of the name -> index */
	uint64_t total[DISK_USE_COLUMNS];       /* of all rows */
	uint64_t unknown_written, unknown_read; /* of these: caused how="unknown" */
	bool failed;                            /* no memory */
};

/* The collectors that must be on; the caller frees them with collector_switches_done(). */
bool disk_use_collectors(struct collector_switches *switches, struct etw_error *err);

/* Reads the families of the registry into an empty struct. */
bool disk_use_read(struct disk_use *use, struct registry *registry, struct etw_error *err);
void disk_use_done(struct disk_use *use);

#endif
