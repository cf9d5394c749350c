/* SPDX-License-Identifier: MIT */
/*
 * Source: the providers' manifests as registered in Windows 10 (`logman query providers`); the
 * first is our own.
 */
#include "source/provider_names.h"

#include <string.h>

#include "base/text.h"
#include "live/canary.h"

static const struct {
	const char *name;
	struct guid guid;
} providers[] = {
	{ "etw_exporter", CANARY_PROVIDER_GUID },
	{ "Microsoft-Windows-DNS-Client",
	  GUID_INIT(0x1c95126e, 0x7eea, 0x49a9, 0xa3, 0xfe, 0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d) },
	{ "Microsoft-Windows-DotNETRuntime",
	  GUID_INIT(0xe13c0d23, 0xccbc, 0x4e12, 0x93, 0x1b, 0xd9, 0xcc, 0x2e, 0xee, 0x27, 0xe4) },
	{ "Microsoft-Windows-HttpService",
	  GUID_INIT(0xdd5ef90a, 0x6398, 0x47a4, 0xad, 0x34, 0x4d, 0xce, 0xcd, 0xef, 0x79, 0x5f) },
	{ "Microsoft-Windows-Kernel-Disk",
	  GUID_INIT(0xc7bde69a, 0xe1e0, 0x4177, 0xb6, 0xef, 0x28, 0x3a, 0xd1, 0x52, 0x52, 0x71) },
	{ "Microsoft-Windows-Kernel-File",
	  GUID_INIT(0xedd08927, 0x9cc4, 0x4e65, 0xb9, 0x70, 0xc2, 0x56, 0x0f, 0xb5, 0xc2, 0x89) },
	{ "Microsoft-Windows-Kernel-Process",
	  GUID_INIT(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16) },
	{ "Microsoft-Windows-TCPIP",
	  GUID_INIT(0x2f07e2ee, 0x15db, 0x40f1, 0x90, 0xef, 0x9d, 0x7b, 0xa2, 0x82, 0x18, 0x8a) },
};

bool provider_guid(const char *name, struct guid *guid)
{
	for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++) {
		if (text_equal_nocase(name, strlen(name), providers[i].name,
				      strlen(providers[i].name))) {
			*guid = providers[i].guid;
			return true;
		}
	}
	return false;
}

const char *provider_name(const struct guid *guid)
{
	for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++) {
		if (guid_equal(guid, &providers[i].guid)) {
			return providers[i].name;
		}
	}
	return NULL;
}
