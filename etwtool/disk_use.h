/* SPDX-License-Identifier: MIT */
/*
 * Sums disk use by process, as the collectors disk and disk_cause count it: the bytes that a
 * process caused, and the bytes of the requests that its threads issued.
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
	char *process; /* value of the process label, without escapes; owned */
	uint64_t bytes[DISK_USE_COLUMNS];
};

/* Zero-initialise it. */
struct disk_use {
	struct disk_use_row *rows; /* owned; sorted by bytes caused or issued, greatest first */
	size_t count, capacity;
	struct map by_name;               /* hash of the name -> index */
	uint64_t total[DISK_USE_COLUMNS]; /* sums of all rows */
	/* part of the totals: bytes caused with how="unknown" */
	uint64_t unknown_written, unknown_read;
	bool failed; /* memory ran out */
};

/* Fills in the collectors that must be on. The caller frees them with collector_switches_done(). */
bool disk_use_collectors(struct collector_switches *switches, struct etw_error *err);

/*
 * Reads the families of the registry into a zero-initialised struct. Returns false without memory.
 */
bool disk_use_read(struct disk_use *use, struct registry *registry, struct etw_error *err);
void disk_use_done(struct disk_use *use);

#endif
