/* SPDX-License-Identifier: MIT */
/*
 * Source: the providers' manifests as registered in Windows 10 (`logman query providers`); the
 * first is our own.
 */
#include "source/provider_names.h"

#include <string.h>

#include "base/text.h"
#include "live/canary.h"

const struct known_provider_row known_providers[KNOWN_PROVIDERS] = {
	[PROVIDER_ETW_EXPORTER] = { CANARY_PROVIDER_NAME, CANARY_PROVIDER_GUID },
	[PROVIDER_DNS_CLIENT] = { "Microsoft-Windows-DNS-Client",
				  GUID_INIT(0x1c95126e, 0x7eea, 0x49a9, 0xa3, 0xfe, 0xa3, 0x78,
					    0xb0, 0x3d, 0xdb, 0x4d) },
	[PROVIDER_DOTNET_RUNTIME] = { "Microsoft-Windows-DotNETRuntime",
				      GUID_INIT(0xe13c0d23, 0xccbc, 0x4e12, 0x93, 0x1b, 0xd9, 0xcc,
						0x2e, 0xee, 0x27, 0xe4) },
	[PROVIDER_HTTP_SERVICE] = { "Microsoft-Windows-HttpService",
				    GUID_INIT(0xdd5ef90a, 0x6398, 0x47a4, 0xad, 0x34, 0x4d, 0xce,
					      0xcd, 0xef, 0x79, 0x5f) },
	[PROVIDER_KERNEL_DISK] = { "Microsoft-Windows-Kernel-Disk",
				   GUID_INIT(0xc7bde69a, 0xe1e0, 0x4177, 0xb6, 0xef, 0x28, 0x3a,
					     0xd1, 0x52, 0x52, 0x71) },
	[PROVIDER_KERNEL_FILE] = { "Microsoft-Windows-Kernel-File",
				   GUID_INIT(0xedd08927, 0x9cc4, 0x4e65, 0xb9, 0x70, 0xc2, 0x56,
					     0x0f, 0xb5, 0xc2, 0x89) },
	[PROVIDER_KERNEL_PROCESS] = { "Microsoft-Windows-Kernel-Process",
				      GUID_INIT(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad,
						0x1f, 0xd0, 0xe7, 0x16) },
	[PROVIDER_TCPIP] = { "Microsoft-Windows-TCPIP",
			     GUID_INIT(0x2f07e2ee, 0x15db, 0x40f1, 0x90, 0xef, 0x9d, 0x7b, 0xa2,
				       0x82, 0x18, 0x8a) },
};

bool provider_guid(const char *name, struct guid *guid)
{
	for (size_t i = 0; i < KNOWN_PROVIDERS; i++) {
		const char *known = known_providers[i].name;

		if (text_equal_nocase(name, strlen(name), known, strlen(known))) {
			*guid = known_providers[i].guid;
			return true;
		}
	}
	return false;
}

const char *provider_name(const struct guid *guid)
{
	for (unsigned i = 0; i < KNOWN_PROVIDERS; i++) {
		if (provider_is(guid, (enum known_provider)i)) {
			return known_providers[i].name;
		}
	}
	return NULL;
}
