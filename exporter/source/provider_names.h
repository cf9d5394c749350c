/* SPDX-License-Identifier: MIT */
/*
 * GUIDs of well-known providers by name, for sessions that are configured by name.
 */
#ifndef SOURCE_PROVIDER_NAMES_H
#define SOURCE_PROVIDER_NAMES_H

#include <stdbool.h>

#include "base/guid.h"

/* Upper or lower case, as Windows does. False: not among them. */
bool provider_guid(const char *name, struct guid *guid);

#endif
