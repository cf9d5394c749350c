/* SPDX-License-Identifier: MIT */
/*
 * A collector to begin with, as YAML: it counts the events of one kind; their fields stand ready in
 * comments.
 */
#ifndef TOOL_COLLECTOR_TEXT_H
#define TOOL_COLLECTOR_TEXT_H

#include "base/text.h"
#include "tool/class_rows.h"
#include "tool/field_samples.h"

/* file: the recording's name, for the comment on top. */
void collector_text(struct text *out, const char *file, const struct class_row *row,
		    const struct field_samples *samples);

#endif
