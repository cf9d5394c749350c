/* SPDX-License-Identifier: MIT */
/*
 * The gauge etw_process_info: whose a running process is. It is 1 for each combination of name,
 * account and terminal session that at least one running process has, so that queries can join it
 * to families that have only the name. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/metrics.md.
 */
#ifndef TRACK_PROCESS_INFO_H
#define TRACK_PROCESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "metrics/registry.h"

enum { PROCESS_INFO_LABELS = 3 }; /* process, owner, terminal_session */

struct process_info {
	struct shard *shard;   /* borrowed */
	struct family *family; /* NULL: not enabled */
	struct map by_process; /* process id -> struct shown_process *, owned */
	struct map users;      /* cells, as a number -> number of processes that share them; beyond
				  a limit on series, those with different labels do */
	uint32_t limit;        /* the most processes */
	uint64_t refused;      /* processes that are not shown, because of the limit */
};

extern const struct family_options process_info_family;

bool process_info_init(struct process_info *info, struct registry *registry, struct shard *shard,
		       uint32_t limit, struct etw_error *err);
/* Frees it; the samples stay. */
void process_info_done(struct process_info *info);
/* Frees it, with its samples. */
void process_info_clear(struct process_info *info);

/* The process runs, with these label ids. */
void process_info_set(struct process_info *info, uint32_t process_id,
		      const uint32_t ids[PROCESS_INFO_LABELS]);
/* The process has ended. */
void process_info_forget(struct process_info *info, uint32_t process_id);

/* Asks for the labels of all processes again. labels_of returns false if a process is not known any
 * more: then its labels stay. */
void process_info_refresh(struct process_info *info,
			  bool (*labels_of)(void *context, uint32_t process_id,
					    uint32_t ids[PROCESS_INFO_LABELS]),
			  void *context);

#endif
