/* SPDX-License-Identifier: MIT */
/*
 * Groups of files by their paths: the first of the configuration's path groups that has a pattern
 * for a path, as a label value.
 */
#ifndef TRACK_FILE_GROUPS_H
#define TRACK_FILE_GROUPS_H

#include "config/config.h"
#include "metrics/registry.h"

/* A longer path belongs to no group: whoever names files decides what it costs to match them. */
enum { GROUPED_PATH_SIZE_MAX = 4096 };

struct file_groups; /* opaque, immutable */

/* groups: not needed any more after the call. */
struct file_groups *file_groups_new(struct registry *registry,
				    const struct config_path_group *groups, size_t count,
				    struct error *err);
void file_groups_free(struct file_groups *groups); /* NULL is fine */

/* path: as users write it ("D:\logs\a"). `_none`: of no group. */
uint32_t file_groups_label(const struct file_groups *groups, const char *path, size_t size);

#endif
