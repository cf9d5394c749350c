/* SPDX-License-Identifier: MIT */
/*
 * The providers that the program knows by itself: those that code asks for, and those whose names
 * the shipped collectors use. One table has the name and the GUID of each; it also serves where
 * nothing else knows the one by the other.
 */
#ifndef SOURCE_PROVIDER_NAMES_H
#define SOURCE_PROVIDER_NAMES_H

#include <stdbool.h>

#include "base/guid.h"

enum known_provider {
	PROVIDER_ETW_EXPORTER,
	PROVIDER_DNS_CLIENT,
	PROVIDER_DOTNET_RUNTIME,
	PROVIDER_HTTP_SERVICE,
	PROVIDER_KERNEL_DISK,
	PROVIDER_KERNEL_FILE,
	PROVIDER_KERNEL_PROCESS,
	PROVIDER_TCPIP,
	KNOWN_PROVIDERS
};

/* Event ids of PROVIDER_KERNEL_PROCESS, as in its manifest. */
enum { PROCESS_EVENT_START = 1, PROCESS_EVENT_STOP = 2, PROCESS_EVENT_RUNDOWN = 15 };

extern const struct known_provider_row {
	const char *name;
	struct guid guid;
} known_providers[KNOWN_PROVIDERS];

static inline bool provider_is(const struct guid *guid, enum known_provider provider)
{
	return guid_equal(guid, &known_providers[provider].guid);
}

/* Upper or lower case, as Windows does. False: not among them. */
bool provider_guid(const char *name, struct guid *guid);

/* NULL: not among them. */
const char *provider_name(const struct guid *guid);

#endif
