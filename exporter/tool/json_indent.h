/* SPDX-License-Identifier: MIT */
/*
 * JSON for people: one member a line.
 */
#ifndef TOOL_JSON_INDENT_H
#define TOOL_JSON_INDENT_H

#include "base/text.h"

/*
 * Adds compact JSON with a newline and one blank a level before every member, as Python's
 * json.dumps(indent=1) does.
 */
void json_indent(struct text *out, const struct text *compact);

#endif
