/* SPDX-License-Identifier: MIT */
/* The head of a session's properties; see windows.h in this folder. */
#ifndef FAKE_ETW_COMPAT_WMISTR_H
#define FAKE_ETW_COMPAT_WMISTR_H

#include "windows.h"

#define WNODE_FLAG_TRACED_GUID          0x00020000u
#define WNODE_FLAG_VERSIONED_PROPERTIES 0x00800000u

typedef struct _WNODE_HEADER {
	ULONG BufferSize;
	ULONG ProviderId;
	union {
		ULONG64 HistoricalContext;
		struct {
			ULONG Version;
			ULONG Linkage;
		};
	};
	union {
		ULONG CountLost;
		HANDLE KernelHandle;
		LARGE_INTEGER TimeStamp;
	};
	GUID Guid;
	ULONG ClientContext;
	ULONG Flags;
} WNODE_HEADER, *PWNODE_HEADER;

_Static_assert(sizeof(WNODE_HEADER) == 48, "size");

#endif
