/* SPDX-License-Identifier: MIT */
/*
 * GUIDs and names of well-known providers, where nobody else knows the one by the other.
 */
#ifndef SOURCE_PROVIDER_NAMES_H
#define SOURCE_PROVIDER_NAMES_H

#include <stdbool.h>

#include "base/guid.h"

/* Upper or lower case, as Windows does. False: not among them. */
bool provider_guid(const char *name, struct guid *guid);

/* NULL: not among them. */
const char *provider_name(const struct guid *guid);

#endif
