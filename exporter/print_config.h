/* SPDX-License-Identifier: MIT */
/*
 * --print-config prints the configuration that applies as a file.
 */
#ifndef EXPORTER_PRINT_CONFIG_H
#define EXPORTER_PRINT_CONFIG_H

#include "base/text.h"
#include "exporter/options.h"
#include "exporter/setup.h"

/*
 * Adds the configuration of a finished set-up as YAML: the defaults, what the file says, and what
 * the flags change. With the printed file and without these flags the program behaves the same. If
 * memory runs out, `out` is marked as failed.
 */
void print_config(struct etw_text *out, const struct options *options, const struct setup *setup);

#endif
