/* SPDX-License-Identifier: MIT */
/*
 * A manifest as an EventSource writes it into the trace.
 */
#ifndef SUPPORT_TOLD_MANIFEST_H
#define SUPPORT_TOLD_MANIFEST_H

#include "base/guid.h"
#include "decode/trace_schemas.h"

/* inside: what stands in the element `provider`, events and templates. In two chunks. */
void tell_manifest(struct trace_schemas *trace, const struct guid *provider, const char *name,
		   const char *inside);

#endif
