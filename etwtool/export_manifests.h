/* SPDX-License-Identifier: MIT */
/*
 * etwtool providers --export-manifests: writes a manifest (.man) for each provider into a folder.
 * --schema and `schemas:` of a configuration read such files.
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
 * Writes the manifests in the recording that the first word names; with `installed`, those that
 * Windows has registered. Further words limit the providers, by name or GUID, with * and ?. Returns
 * an exit status.
 */
int export_manifests(struct tool_arguments *arguments, const char *folder, bool installed);

/* ---- exposed for tests ---- */

/*
 * Adds the file name, without folder, for the manifest of a provider. Characters that a file name
 * cannot have on Windows or elsewhere become _. copy is the number of names that were tried before
 * and are taken: the GUID is appended from 1 on, and later a number as well.
 */
void export_manifests_file_name(struct etw_text *out, const char *name,
				const struct etw_guid *provider, unsigned copy);

#endif
