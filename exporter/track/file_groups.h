/* SPDX-License-Identifier: MIT */
/*
 * Path groups: the first path group of the configuration that has a matching pattern, as a label
 * value. One consumer's.
 */
#ifndef TRACK_FILE_GROUPS_H
#define TRACK_FILE_GROUPS_H

#include "config/config.h"
#include "metrics/registry.h"

/* A longer path is in no group. Programs choose paths and thereby the cost of matching them. */
enum { GROUPED_PATH_SIZE_MAX = 4096 };

struct file_groups; /* opaque, immutable */

/* groups: no longer needed after the call. */
struct file_groups *file_groups_new(struct registry *registry,
				    const struct config_path_group *groups, size_t count,
				    struct error *err);
void file_groups_free(struct file_groups *groups); /* NULL is allowed */

/* path: as users write it ("D:\logs\a"). `_none`: in no group. */
uint32_t file_groups_label(const struct file_groups *groups, const char *path, size_t size);

#endif
