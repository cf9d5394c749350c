/* SPDX-License-Identifier: MIT */
/*
 * A provider to enable in a session, as in the configuration and in the `needs` of collectors:
 * which provider, and which of its events.
 */
#ifndef LIB_SOURCE_PROVIDER_SPEC_H
#define LIB_SOURCE_PROVIDER_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/provider.h>

#include "base/error.h"
#include "base/guid.h"

/* ---- payload filters ---- */

/* Conditions on the payload of an event, which Windows checks before it writes the event. */

void payload_filter_done(struct etw_payload_filter *filter);

/* After a failure (no memory) the caller must free *to as well. */
bool payload_filter_copy(struct etw_payload_filter *to, const struct etw_payload_filter *from);

/* ---- providers ---- */

/* After a failure (no memory) the caller must free *to as well. */
bool provider_spec_copy(struct etw_provider_spec *to, const struct etw_provider_spec *from);

/* Returns whether both request the same events of the same provider. GUIDs are compared, not names.
 */
bool provider_spec_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b);

#endif
