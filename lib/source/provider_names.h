/* SPDX-License-Identifier: MIT */
/*
 * GUIDs and names of well-known providers, for systems that cannot look them up, and the system
 * providers of Windows 11 and Server 2022. System providers enable kernel events by provider and
 * keyword instead of by flag; the events are the same in both cases.
 */
#ifndef LIB_SOURCE_PROVIDER_NAMES_H
#define LIB_SOURCE_PROVIDER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"

/* The exporter's own provider; TraceLogging computes the GUID of a provider from its name. */
#define CANARY_PROVIDER_NAME "etw_exporter"
#define CANARY_PROVIDER_GUID \
	ETW_GUID_INIT(0x07f70771, 0x7647, 0x53cf, 0xf7, 0xa8, 0xa8, 0xc8, 0x66, 0x0b, 0x66, 0xd7)

enum etw_known_provider {
	ETW_PROVIDER_ETW_EXPORTER,
	ETW_PROVIDER_DNS_CLIENT,
	ETW_PROVIDER_DOTNET_RUNTIME,
	ETW_PROVIDER_HTTP_SERVICE,
	ETW_PROVIDER_KERNEL_DISK,
	ETW_PROVIDER_KERNEL_FILE,
	PROVIDER_KERNEL_MEMORY,
	PROVIDER_KERNEL_NETWORK,
	ETW_PROVIDER_KERNEL_PROCESS,
	ETW_PROVIDER_TCPIP,
	ETW_KNOWN_PROVIDERS
};

/* Event ids of ETW_PROVIDER_KERNEL_PROCESS, as in its manifest. */
enum { ETW_PROCESS_EVENT_START = 1, ETW_PROCESS_EVENT_STOP = 2, ETW_PROCESS_EVENT_RUNDOWN = 15 };

/* Likewise those of ETW_PROVIDER_KERNEL_FILE, the second source of file events (docs/windows.md
 * section 7). Version 1 differs from version 0 in its layouts, not in its meaning. */
enum {
	ETW_FILE_EVENT_NAME_CREATE = 10,
	ETW_FILE_EVENT_NAME_DELETE = 11,
	ETW_FILE_EVENT_CREATE = 12,
	ETW_FILE_EVENT_CLEANUP = 13,
	ETW_FILE_EVENT_CLOSE = 14,
	ETW_FILE_EVENT_READ = 15,
	ETW_FILE_EVENT_WRITE = 16,
	ETW_FILE_EVENT_SET_INFORMATION = 17,
	ETW_FILE_EVENT_SET_DELETE = 18,
	ETW_FILE_EVENT_RENAME = 19,
	ETW_FILE_EVENT_DIR_ENUM = 20,
	ETW_FILE_EVENT_FLUSH = 21,
	ETW_FILE_EVENT_QUERY_INFORMATION = 22,
	ETW_FILE_EVENT_FSCTL = 23,
	ETW_FILE_EVENT_OPERATION_END = 24,
	ETW_FILE_EVENT_DIR_NOTIFY = 25,
	ETW_FILE_EVENT_DELETE_PATH = 26,
	ETW_FILE_EVENT_CREATE_NEW_FILE = 30,
};

extern const struct etw_known_provider_row {
	const char *name;
	struct etw_guid guid;
} known_providers[ETW_KNOWN_PROVIDERS];

/* Other well-known providers, in the order of the texts of their GUIDs. The build makes the table
 * of etw_well_known_providers.txt. */
extern const struct etw_known_provider_row etw_well_known_providers[];
extern const size_t etw_well_known_provider_count;

static inline bool etw_provider_is(const struct etw_guid *guid, enum etw_known_provider provider)
{
	return etw_guid_equal(guid, &known_providers[provider].guid);
}

/* Finds a GUID by name, without regard to case, as Windows does. Returns false if it is unknown. */
bool etw_provider_guid(const char *name, struct etw_guid *guid);

/* NULL if the GUID is unknown. */
const char *etw_provider_name(const struct etw_guid *guid);

/* The first build of Windows that has system providers. */
enum { SYSTEM_PROVIDERS_BUILD = 20348 };

/*
 * Finds the system provider number `index`, from 0, of those that replace some of these
 * KERNEL_FLAG_*. Returns false if there are no more.
 *
 * @keywords: the keywords to enable it with.
 * @covered:  the flags that these keywords replace.
 */
bool etw_system_provider(uint32_t flags, size_t index, struct etw_guid *guid, uint64_t *keywords,
			 uint32_t *covered);

/* Those of the flags that a system provider can replace. The others remain flags. */
uint32_t system_provider_flags(uint32_t flags);

#endif
