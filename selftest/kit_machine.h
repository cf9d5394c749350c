/* SPDX-License-Identifier: MIT */
/*
 * The parts of the kit (selftest/kit.h) that need Windows, but not event tracing: facts about the
 * machine, performance counters, child processes, rights, and a service. On other systems these
 * functions fail.
 */
#ifndef SELFTEST_KIT_MACHINE_H
#define SELFTEST_KIT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* Adds lines "name,value" about the machine, the account and its rights. */
void kit_machine_facts(struct etw_text *csv);

/* Calls each() with every name of the machine and of its users, and with what it is ("machine",
 * "user"). A name is valid during the call. */
void kit_machine_names(void (*each)(void *context, const char *name, const char *what),
		       void *context);

/*
 * Calls run(context) on this thread without the rights of administrators: with a token that has
 * neither their group nor privileges. Returns false if this is not possible; then run() was not
 * called.
 */
bool kit_without_rights(void (*run)(void *context), void *context, struct etw_error *err);

/* Counters of bytes, which Windows counts from some time in the past. */
enum kit_counter {
	KIT_DISK_READ,
	KIT_DISK_WRITTEN,
	KIT_IO_READ,
	KIT_IO_WRITTEN,
	KIT_NETWORK_SENT,
	KIT_NETWORK_RECEIVED,
	KIT_COUNTERS
};

struct kit_counter_value {
	bool known;
	uint64_t bytes;
};

/* Returns the English path of a performance counter. */
const char *kit_counter_name(enum kit_counter counter);
/* Reads all counters. Returns false if this machine has none. */
bool kit_counters_read(struct kit_counter_value values[KIT_COUNTERS], struct etw_error *err);

/*
 * Runs a program of Windows without a window and drops its output. program: its name without folder
 * and .exe; arguments: ends with NULL. After `ms` it is terminated. Returns false if it could not
 * run, was terminated, or did not return 0.
 */
bool kit_child(const char *program, const char *const *arguments, uint32_t ms,
	       struct etw_error *err);

/*
 * Installs a service with its own name that runs the etw_exporter.exe of this program's folder with
 * the given configuration. Starts it, kills its process, waits until Windows has restarted it,
 * stops it and removes it. Adds a line of CSV for each step. Returns false if a step failed; the
 * service is removed in any case.
 */
bool kit_service_cycle(const char *config_file, struct etw_text *csv, struct etw_error *err);

#endif
