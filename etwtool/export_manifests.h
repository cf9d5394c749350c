/* SPDX-License-Identifier: MIT */
/*
 * etwtool providers --export-manifests: a manifest (.man) for each provider in a folder, which
 * --schema and `schemas:` of a configuration read.
 */
#ifndef ETWTOOL_EXPORT_MANIFESTS_H
#define ETWTOOL_EXPORT_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"
#include "etwtool/tool.h"

/*
 * Writes what the recording contains that is the first word, or, with `installed`, what Windows has
 * registered. The other words limit it to providers by name or GUID, with * and ?. Returns an exit
 * status.
 */
int export_manifests(struct tool_arguments *arguments, const char *folder, bool installed);

/* ---- a part of it, for tests ---- */

/*
 * Adds the name of the file, without its folder, for a provider: its name, with _ in place of what
 * a file name cannot have, on Windows or elsewhere. copy: how many of the names that this function
 * gives are those of other files: behind the first the GUID follows, later also a number.
 */
void export_manifests_file_name(struct etw_text *out, const char *name,
				const struct etw_guid *provider, unsigned copy);

#endif
