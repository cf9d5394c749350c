/* SPDX-License-Identifier: MIT */
/*
 * etwtool providers --installed.
 */
#ifndef TOOL_TOOL_INSTALLED_H
#define TOOL_TOOL_INSTALLED_H

#include <stdbool.h>

/* The providers registered on this Windows whose name or GUID has the word in it; NULL: all.
 * Returns an exit status; what is wrong is told. */
int tool_installed(const char *word, bool as_json);

#endif
