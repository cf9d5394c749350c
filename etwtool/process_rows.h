/* SPDX-License-Identifier: MIT */
/*
 * Which processes of a recording got which name from process_names, for `etwtool check --with`: a
 * row for each name and program. Programs that no rule is about have no row.
 */
#ifndef ETWTOOL_PROCESS_ROWS_H
#define ETWTOOL_PROCESS_ROWS_H

#include "base/json.h"
#include "base/text.h"
#include "etwtool/recording.h"

/* Adds a section of a report; nothing if the configuration gives no names. */
void process_rows_text(struct etw_text *out, const struct recording *recording);

/* Adds the member "processes" to an open object. */
void process_rows_json(struct json *json, const struct recording *recording);

#endif
