/* SPDX-License-Identifier: MIT */
/*
 * GUIDs and names of well-known providers, for systems that cannot look them up, and the system
 * providers of Windows 11 and Server 2022. System providers enable kernel events by provider and
 * keyword instead of by flag; the events are the same in both cases. A specification says which
 * provider a session enables, and for which of its events.
 */
#ifndef LIB_SOURCE_PROVIDER_NAMES_H
#define LIB_SOURCE_PROVIDER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/provider.h>

#include "base/error.h"
#include "base/guid.h"

/* The exporter's own provider; TraceLogging computes the GUID of a provider from its name. */
#define CANARY_PROVIDER_NAME "etw_exporter"

#define CANARY_PROVIDER_GUID \
	ETW_GUID_INIT(0x07f70771, 0x7647, 0x53cf, 0xf7, 0xa8, 0xa8, 0xc8, 0x66, 0x0b, 0x66, 0xd7)

/* The first build of Windows that has system providers. */
enum { SYSTEM_PROVIDERS_BUILD = 20348 };

/*
 * Finds a system provider that replaces some of these ETW_KERNEL_FLAG_*. index: 0 for the first
 * such provider, and so on. Returns false if there are no more.
 *
 * @keywords: the keywords to enable it with.
 * @covered:  the flags that these keywords replace.
 */
bool system_provider(uint32_t flags, size_t index, struct etw_guid *guid, uint64_t *keywords,
		     uint32_t *covered);

/* Returns the flags that system providers can replace. The others must be enabled as flags. */
uint32_t system_provider_flags(uint32_t flags);

/* ---- specifications of providers to enable (<etw/provider.h>) ---- */

/* Frees what the filter owns; it is then empty. */
void payload_filter_done(struct etw_payload_filter *filter);

/* After a failure (no memory) the caller must free *to as well. */
bool provider_spec_copy(struct etw_provider_spec *to, const struct etw_provider_spec *from);

/* Returns whether both request the same events of the same provider. GUIDs are compared, not names.
 */
bool provider_spec_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b);

#endif
